"""Sections without a module of their own: what users add, and analyses whose data is blocks.

A section's ``data`` is ``{"blocks": [block]}``; a block is one of::

    {"type": "markdown", "text"}
    {"type": "numbers", "numbers": [number]}
    {"type": "table", "caption", "columns": [text], "rows": [[text or number]], "evidence"?}
    {"type": "code", "language", "text", "caption"?}
    {"type": "bars", "caption", "items": [{"label", "value"}], "unit"?, "evidence"?}
    {"type": "chart", "caption", "figure": {"data", "layout"}, "items"?, "evidence"?}   # Plotly
    {"type": "lines", "caption", "series": [{"name", "x", "y", "main"?}], "points"?: [{"name", "x", "y"}],
     "x_title"?, "y_title"?, "log"?, "evidence"?}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from warpglass.report import svg, view
from warpglass.report.figures import Figure, bar_spec
from warpglass.report.highlight import highlight_lines
from warpglass.report.plots import lines_spec, lines_svg
from warpglass.report.prose import markdown_html

__all__ = ["BLOCK_TYPES", "context"]

BLOCK_TYPES = ("markdown", "numbers", "table", "code", "bars", "chart", "lines")


def context(section: Mapping[str, Any], keyed: bool = False) -> dict[str, Any] | None:
    """What the partial ``custom.html.jinja`` draws, or None where the section has no block to draw.

    With ``keyed`` numbers get names that mean the same in every launch, by which the page finds those of a
    baseline.
    """
    data = section.get("data")
    blocks = data.get("blocks") if isinstance(data, Mapping) else None
    made = [_block(str(section["id"]), index, block) for index, block in enumerate(blocks or [])]
    shown = _side_by_side([block for block in made if block is not None])
    if keyed:
        _name_numbers(shown)
    return {"blocks": shown} if shown else None


def _name_numbers(blocks: list[dict[str, Any]]) -> None:
    """Give each number a ``key`` by its table, row and column; what a table names twice stays without."""
    for block in blocks:
        if block["type"] == "numbers":
            for one in block["numbers"]:
                one["key"] = f"number:{one['name']}"
        elif block["type"] == "table":
            names = Counter(row[0]["text"] for row in block["rows"] if row)
            heads = [column["text"] for column in block["columns"]]
            for row in block["rows"]:
                if row and names[row[0]["text"]] == 1:
                    for cell, head in zip(row[1:], heads[1:], strict=False):
                        cell["key"] = f"{block['caption']}:{row[0]['text']}:{head}"


def _side_by_side(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks with figures that follow each other in one block: they stand in a row where there is room."""
    out: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] != "figure":
            out.append(block)
        elif out and out[-1]["type"] == "figures":
            out[-1]["figures"].append(block["figure"])
        else:
            out.append({"type": "figures", "figures": [block["figure"]]})
    return out


def _block(section: str, index: int, block: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = block.get("type")
    name = f"{section}-{index}"
    if kind == "markdown":
        return {"type": "markdown", "html": markdown_html(str(block.get("text") or ""))}
    if kind == "numbers":
        return {"type": "numbers", "numbers": [_number(one) for one in block.get("numbers") or []]}
    if kind == "table":
        cells = [[_cell(cell) for cell in row] for row in block.get("rows") or []]
        columns = [str(column) for column in block.get("columns") or []]
        return {
            "type": "table",
            "caption": str(block.get("caption") or "Table"),
            "columns": [
                _head(name, [row[n] for row in cells if n < len(row)]) for n, name in enumerate(columns)
            ],
            "rows": cells,
            "narrow": len(columns) <= 4 and all(len(cell["text"]) < 48 for row in cells for cell in row),
            "evidence": block.get("evidence"),
        }
    if kind == "code":
        lines = highlight_lines(str(block.get("text") or ""), str(block.get("language") or "text"))
        return {"type": "code", "caption": str(block.get("caption") or "Code"), "lines": lines}
    if kind == "lines":
        drawn, caption = lines_svg(block), str(block.get("caption") or "Figure")
        made = Figure(name, caption, drawn, lines_spec(block), str(block.get("evidence") or ""))
        return {"type": "figure", "figure": made} if drawn else None
    if kind in ("bars", "chart"):
        figure = _figure(name, block)
        return None if figure is None else {"type": "figure", "figure": figure}
    return None


def _number(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": str(one.get("name") or ""),
        "value": one.get("value"),
        "unit": str(one.get("unit") or ""),
        "evidence": str(one.get("evidence") or "modelled"),
        "scaled": one.get("scaled"),
        "why_unknown": one.get("why_unknown"),
        "rule": str(one.get("rule") or ""),
    }


def _cell(cell: Any) -> dict[str, Any]:
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    text = view.num(cell) if is_number else "" if cell is None else str(cell)
    return {"text": text, "right": is_number, "short": len(text) <= 16, "number": cell if is_number else None}


def _head(name: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """A column's head stands over numbers where any of its cells is one."""
    return {"text": name, "right": any(cell["right"] for cell in cells)}


def _figure(name: str, block: Mapping[str, Any]) -> Figure | None:
    caption = str(block.get("caption") or "Figure")
    evidence = str(block.get("evidence") or "")
    items = [
        (str(item.get("label")), float(item["value"]))
        for item in block.get("items") or []
        if isinstance(item.get("value"), int | float) and item["value"] >= 0
    ]
    drawn = svg.bars([svg.Bar(label, value) for label, value in items], caption) if items else Markup("")
    if block.get("type") == "chart":
        given = block.get("figure")
        if not isinstance(given, Mapping):
            return None
        spec = {"data": given.get("data") or [], "layout": given.get("layout") or {}}
        return Figure(name, caption, drawn, spec, evidence)
    if not items:
        return None
    spec = bar_spec(
        [label for label, _ in items],
        [{"name": caption, "values": [value for _, value in items], "color": "$series-1"}],
        horizontal=True,
        x_title=str(block.get("unit") or ""),
        y_title="",
    )
    return Figure(name, caption, drawn, spec, evidence)
