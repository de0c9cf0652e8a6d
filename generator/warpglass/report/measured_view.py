"""A profiled launch for the page: metrics by index, values with scaled units, cells, bars, grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.report import view

__all__ = ["Measured", "scaled"]

Json = Mapping[str, Any]

_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "byte": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "byte/block": ((2**10, "KiB/block"), (1, "B/block")),
    "byte/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1, "B/s")),
    "hz": ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1, "Hz")),
    "1/s": ((1e12, "T/s"), (1e9, "G/s"), (1e6, "M/s"), (1, "/s")),
}


def scaled(value: Any, unit: str) -> tuple[str, str]:
    """(text, unit) for people: ``12.6``, ``µs``. Text values pass as they are."""
    if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) > 15:
        return f"{int(value):,}", unit
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ("n/a" if value is None else str(value)[:400]), ""
    for size, name in _STEPS.get(unit, ()):
        if abs(value) >= size or size == 1:
            return view.num(value if size == 1 else round(value / size, 4)), name
    if unit == "%":
        return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < 1000 else view.num(value), "%"
    if isinstance(value, float) and abs(value) < 1000:
        return view.num(round(value, 4)), unit
    return view.num(value), unit


class Measured:
    """One launch's metrics, looked up by index or name in the report's shared tables."""

    def __init__(self, report: Json, launch: Json) -> None:
        self.profile: Json = report["profile"]
        self.data: Json = launch["measured"]
        metrics = self.profile["metrics"]
        self._names: Sequence[str] = metrics["name"]
        self._units: Sequence[str] = metrics["unit"]
        self._about: Sequence[str | None] = metrics["about"]
        ids = self.profile["sets"][self.data["set"]]
        self._at = dict(zip(ids, self.data["values"], strict=False))
        self._marks = {ids[position]: mark for position, mark in self.data["marks"] if position < len(ids)}
        self._by_name = {self._names[index]: index for index in ids}

    def ids(self) -> list[int]:
        """Every metric of the launch."""
        return list(self._at)

    def index(self, name: str) -> int | None:
        """The index of a metric that this launch has."""
        return self._by_name.get(name)

    def number(self, name: str) -> float | None:
        """A metric's number, None where it was not collected."""
        index = self._by_name.get(name)
        value = self._at.get(index) if index is not None else None
        return float(value) if isinstance(value, (int, float)) else None

    def value(self, index: int | None) -> Any:
        """A metric's stored value."""
        return None if index is None else self._at.get(index)

    def name(self, index: int) -> str:
        """A metric's name."""
        return self._names[index]

    def cell(self, candidates: Sequence[int]) -> dict[str, Any]:
        """The first candidate that this launch has, formatted; ``m`` is -1 where it has none."""
        index = next((i for i in candidates if i in self._at), None)
        if index is None:
            return {"m": -1, "text": "n/a", "unit": "", "title": "", "value": None}
        value = self._at[index]
        text, unit = scaled(value, self._units[index])
        if index in self._marks:
            text = {"nan": "NaN", "inf": "∞", "-inf": "−∞"}.get(self._marks[index], "n/a")
        about = self._about[index]
        return {
            "m": index,
            "text": text,
            "unit": unit,
            "title": f"{self._names[index]}: {about}" if about else self._names[index],
            "value": value if isinstance(value, (int, float)) else None,
        }

    def section(self, section: Json) -> dict[str, Any] | None:
        """A section with what this launch has of it, None where that is nothing."""
        header = [{"label": c["label"], **self.cell(c["metrics"])} for c in section["header"]]
        blocks = [b for b in (self._block(section, block) for block in section["blocks"]) if b is not None]
        if not blocks and not any(c["m"] >= 0 for c in header):
            return None
        return {
            "id": section["id"],
            "title": section["title"],
            "child": bool(section["parent"]),
            "description": section["description"],
            "header": [c for c in header if c["m"] >= 0],
            "blocks": blocks,
        }

    def _block(self, section: Json, block: Json) -> dict[str, Any] | None:
        kind = block["kind"]
        if kind == "bars":
            return self._bars(block)
        if kind == "table":
            return self._breakdown(block)
        if kind == "grid":
            rows = [
                {"label": row["label"], "cells": [self.cell(c["metrics"]) for c in row["cells"]]}
                for row in block["rows"]
            ]
            rows = [row for row in rows if any(c["m"] >= 0 for c in row["cells"])]
            if not rows:
                return None
            _ratios(block["columns"], rows)
            return {"kind": "grid", "title": block["title"], "columns": block["columns"], "rows": rows}
        if kind == "roofline":
            found = next(
                (r for r in self.data["rooflines"]
                 if r["section"] == section["id"] and r["title"] == block["title"]), None,
            )  # fmt: skip
            axes = [*block["columns"], "", ""][:2]
            return (
                None
                if found is None
                else {"kind": "roofline", "title": block["title"], "roofline": found, "axes": axes}
            )
        if kind == "curve":
            drawn = next(
                (c for c in self.data.get("curves") or []
                 if c["section"] == section["id"] and c["title"] == block["title"]), None,
            )  # fmt: skip
            axes = [*block["columns"], "", ""][:2]
            return (
                None
                if drawn is None
                else {"kind": "curve", "title": block["title"], "curve": drawn, "axes": axes}
            )
        if kind == "links":
            table = next(
                (t for t in self.data.get("tables") or []
                 if t["section"] == section["id"] and t["title"] == block["title"]), None,
            )  # fmt: skip
            return None if table is None else self._links(table)
        if kind == "hotspots":
            names = [self._names[i] for cell in block["cells"] for i in cell["metrics"]]
            return {"kind": "hotspots", "title": block["title"], "metrics": names} if names else None
        if kind == "memory":
            links = {
                row["label"]: [{"label": c["label"], **self.cell(c["metrics"])} for c in row["cells"]]
                for row in block["rows"]
            }
            if not any(c["value"] is not None for cells in links.values() for c in cells):
                return None
            return {"kind": "memory", "title": block["title"], "links": links}
        return None

    @staticmethod
    def _links(table: Json) -> dict[str, Any]:
        """A row for each instance; the first two columns name it in every launch."""
        rows = []
        for row in table["rows"]:
            name = ":".join(str(value) for value in row[:2])
            rows.append(
                [
                    {"text": text, "unit": unit, "number": value if isinstance(value, (int, float)) else None,
                     "key": f"link:{table['title']}:{name}:{head}"}
                    for (head, base), value in zip(table["columns"], row, strict=False)
                    for text, unit in [scaled(value, base)]
                ]
            )  # fmt: skip
        return {
            "kind": "links", "title": table["title"], "columns": [head for head, _ in table["columns"]],
            "rows": rows,
        }  # fmt: skip

    def _bars(self, block: Json) -> dict[str, Any] | None:
        rows: list[dict[str, Any]] = []
        for cell in block["cells"]:
            if cell["instances"]:
                names = [self._names[i] for i in cell["metrics"]]
                for key, value in next(
                    (self.data["instances"][n] for n in names if n in self.data["instances"]), []
                ):
                    text, unit = scaled(value, "inst")
                    rows.append(
                        {"label": key, "m": -1, "text": text, "unit": unit, "title": names[0], "value": value,
                         "key": f"instance:{names[0]}:{key}", "number": value}
                    )  # fmt: skip
                continue
            made = self.cell(cell["metrics"])
            if made["value"] is not None:
                rows.append({"label": cell["label"], **made})
        return self._barred(block["title"], rows)

    def _breakdown(self, block: Json) -> dict[str, Any] | None:
        """A ``breakdown:`` metric names the metrics of its rows; other tables list their own."""
        rows: list[dict[str, Any]] = []
        for cell in block["cells"]:
            for index in cell["metrics"]:
                name, value = self._names[index], self._at.get(index)
                if name.startswith("breakdown:") and isinstance(value, str):
                    for part in value.split(",")[:60]:
                        found = self._by_name.get(part.strip())
                        if found is not None:
                            rows.append({"label": _readable(part.strip()), **self.cell([found])})
                elif index in self._at:
                    rows.append({"label": cell["label"], **self.cell([index])})
        rows = [row for row in rows if row["value"]]  # units that did nothing break nothing down
        rows.sort(key=lambda row: -row["value"])
        return self._barred(block["title"], rows)

    @staticmethod
    def _barred(title: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
        if not rows:
            return None
        percent = all(row["unit"] == "%" for row in rows)
        top = 100.0 if percent else max(abs(row["value"]) for row in rows)
        for row in rows:
            row["share"] = min(100.0, 100 * abs(row["value"]) / top) if top else 0.0
        return {"kind": "bars", "title": title, "rows": rows}


def _ratios(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Sectors a request where the profiler did not store the quotient itself."""
    needed = ("Requests", "Sectors", "Sectors/request")
    if not set(needed) <= set(columns):
        return
    requests, sectors, ratio = (columns.index(name) for name in needed)
    for row in rows:
        cells = row["cells"]
        top, bottom = cells[sectors]["value"], cells[requests]["value"]
        if cells[ratio]["m"] < 0 and top is not None and bottom:
            title = "sectors divided by requests"
            cells[ratio] = {
                "m": -2, "text": view.num(round(top / bottom, 3)), "unit": "", "title": title, "value": None,
                "key": f"ratio:{row['label']}", "number": top / bottom,
            }  # fmt: skip


def _readable(name: str) -> str:
    """``l1tex: data bank reads`` of ``l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed``."""
    unit, _, rest = name.partition(".")[0].partition("__")
    return f"{unit}: {rest.replace('_', ' ')}" if rest else name
