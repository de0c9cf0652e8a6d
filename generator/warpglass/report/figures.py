"""A figure of the page: a static SVG and, where charts are interactive, a Plotly figure that replaces it.

Colours in a Plotly figure are written as ``$series-1`` and the like: ``charts.js`` reads the page's CSS
variables, so that a chart follows the theme.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

__all__ = ["Figure", "bar_spec"]


@dataclass(frozen=True, slots=True)
class Figure:
    """``id`` is unique on the page; ``spec`` is ``{"data", "layout"}`` or None for a static figure."""

    id: str
    caption: str
    svg: Markup
    spec: dict[str, Any] | None = None
    evidence: str = ""


def bar_spec(
    names: list[Any], series: list[dict[str, Any]], *, horizontal: bool, x_title: str, y_title: str
) -> dict[str, Any]:
    """A Plotly bar chart. ``series`` holds ``{"name", "values", "color"}`` with a colour token."""
    data = []
    for one in series:
        along = {"x": one["values"], "y": names} if horizontal else {"x": names, "y": one["values"]}
        data.append(
            {
                "type": "bar",
                "orientation": "h" if horizontal else "v",
                "name": one["name"],
                "marker": {"color": one["color"]},
                **along,
            }
        )
    layout: dict[str, Any] = {
        "barmode": "group",
        "xaxis": {"title": {"text": x_title}, "showgrid": horizontal, "separatethousands": True},
        "yaxis": {
            "title": {"text": y_title},
            "showgrid": not horizontal,
            "separatethousands": True,
            **({"autorange": "reversed"} if horizontal else {}),
        },
        "height": max(220, 24 * len(names) + 70) if horizontal else 280,
        "showlegend": len(series) > 1,
    }
    return {"data": data, "layout": layout}
