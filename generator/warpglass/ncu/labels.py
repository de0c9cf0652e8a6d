"""Labels of the details page to metric names: what an export prints for people, found again by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from warpglass.ncu.layout import Block, Cell, SectionLayout
from warpglass.ncu.model import Instance, Metric, Value
from warpglass.ncu.units import unit_of

__all__ = ["add_labelled", "exported_layout", "metric_of"]


@cache
def _table() -> Mapping[tuple[str, str], str]:
    text = files("warpglass.ncu").joinpath("labels.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {(row[0], row[1]): row[2] for row in rows if len(row) == 3}


def metric_of(section: str, label: str) -> str | None:
    """The metric behind a label of a section, None where the label itself has to do."""
    return _table().get((section, label))


def add_labelled(
    metrics: dict[str, Metric],
    key: str,
    section: str,
    label: str,
    unit: str,
    value: Value,
    instances: Sequence[Instance] = (),
) -> Metric:
    """Add a labelled value under ``key``; known labels carry the metric's own name and stand under it too."""
    name = label if "__" in label else metric_of(section, label)
    made = Metric(name or key, value, unit or unit_of(name or ""), instances)
    metrics[key] = made
    if name is not None:
        metrics[name] = made
    return made


def exported_layout(
    rows: Iterable[tuple[str, str, str]], bodies: Iterable[tuple[str, str, str, str]] = ()
) -> tuple[SectionLayout, ...]:
    """Sections from (section, label, metric name) rows, in their order.

    ``bodies`` are rows of tables and charts below the header: (section, its item, label, metric name).
    """
    cells: dict[str, dict[str, Cell]] = {}
    for section, label, name in rows:
        cells.setdefault(section, {}).setdefault(name, Cell(label, name))
    items: dict[str, dict[str, list[tuple[str, tuple[Cell, ...]]]]] = {}
    for section, item, label, name in bodies:
        cells.setdefault(section, {})
        items.setdefault(section, {}).setdefault(item, []).append((label, (Cell("Value", name),)))
    return tuple(
        SectionLayout(
            section, section, order, "", "", tuple(found.values()),
            tuple(
                Block("grid", item, columns=("Value",), rows=tuple(of_item))
                for item, of_item in items.get(section, {}).items()
            ),
        )
        for order, (section, found) in enumerate(cells.items())
        if section
    )  # fmt: skip
