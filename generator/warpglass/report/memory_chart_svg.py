"""The memory chart of a profiled launch: units from the kernel to the memories, and the traffic between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from warpglass.report.text import escaped

__all__ = ["memory_chart_svg"]

Json = Mapping[str, Any]

_WIDTH = 1080
_ROW = 56
_TOP = 14
#: Left edge and width of each column of units.
_COLUMNS = {
    "kernel": (4, 84),
    "space": (214, 92),
    "cache": (430, 112),
    "l2": (700, 104),
    "memory": (956, 120),
}
#: Width of a letter of the figure's text.
_LETTER = 6.4
#: A logical space is drawn where something used it; these two always.
_ALWAYS = ("global", "shared")
_SPACES = ("global", "local", "texture", "surface", "shared")


def _known(cells: Sequence[Json]) -> list[Json]:
    return [cell for cell in cells if cell["value"] is not None]


def _used(cells: Sequence[Json]) -> bool:
    return any(cell["value"] for cell in _known(cells))


def _label(x: float, y: float, text: str, kind: str = "t") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="middle">{escaped(text)}</text>'


def _box(column: str, y: float, height: float, name: str, notes: Sequence[str], kind: str) -> str:
    left, width = _COLUMNS[column]
    middle, first = left + width / 2, y + height / 2 - 7 * len(notes) + 4
    return (
        f'<rect class="unit-{kind}" x="{left}" y="{y:g}" width="{width}" height="{height:g}" rx="5"/>'
        + _label(middle, first, name, "unit-name")
        + "".join(_label(middle, first + 15 + 14 * i, note) for i, note in enumerate(notes))
    )


#: Counts in words where there is room for a word.
_WORDS = {"inst": "inst", "request": "requests"}


def _said(cell: Json) -> str:
    unit = _WORDS.get(cell["unit"], cell["unit"]) or ("wavefronts" if cell["label"] == "wavefronts" else "")
    return f"{cell['text']} {unit}".strip()


def _few(cell: Json) -> str:
    """A count in few letters, without its word: ``29.5k``."""
    number = float(cell["value"])
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size and cell["unit"] in ("", *_WORDS):
            return f"{number / size:.3g}{letter}"
    return str(cell["text"])


def _level(peak: float | None) -> str:
    """Class of a link by its share of peak: the line's width tells it as well as its colour."""
    if peak is None:
        return "p-unknown"
    return f"p{0 if peak < 1 else min(5, 1 + int(peak // 20))}"


def _arrow(start: float, end: float, y: float, cell: Json, peak: Json | None, *, back: bool) -> str:
    """One direction of a link with its value above the line, and its share of peak behind that."""
    share = peak["value"] if peak is not None else None
    value, title = _said(cell), f"{cell['label']}: {_said(cell)}"
    room = abs(end - start) - (42 if peak is not None and share is not None else 0)
    if len(value) * _LETTER > room and isinstance(cell["value"], (int, float)):
        value = _few(cell)  # the title has all digits
    if peak is not None and share is not None:
        value += f" · {share:.0f} %" if share >= 1 or not share else " · <1 %"
        title += f", {_said(peak)} of peak"
    tail, head, way = (end, start, -1) if back else (start, end, 1)
    name = str(cell["title"]).split(":")[0]
    return (
        f'<g class="mem-link {_level(share)}{"" if cell["value"] else " idle"}">'
        f"<title>{escaped(title)} ({escaped(name)})</title>"
        f'<line x1="{tail:g}" x2="{head - 7 * way:g}" y1="{y:g}" y2="{y:g}"/>'
        f'<path d="M{head:g} {y:g}l{-8 * way} -4.5v9z"/>{_label((start + end) / 2, y - 5, value)}</g>'
    )


def _link(from_: str, to: str, y: float, cells: Sequence[Json]) -> str:
    """Loads point to the kernel, stores away from it; a link with nothing collected is absent."""
    start = _COLUMNS[from_][0] + _COLUMNS[from_][1] + 2
    end = _COLUMNS[to][0] - 2
    flows: list[tuple[Json, Json | None]] = []
    for cell in cells:
        if cell["label"].endswith(", of peak"):
            if flows:
                flows[-1] = (flows[-1][0], cell)
        else:
            flows.append((cell, None))
    flows = [(cell, peak) for cell, peak in flows if cell["value"] is not None]
    out = ""
    for i, (cell, peak) in enumerate(flows):
        at = y + (0 if len(flows) == 1 else -9 + 22 * i)
        # In a chart of traffic an arrow shows where the data goes.
        back = cell["label"].startswith(("load", "read"))
        out += _arrow(start, end, at + 4, cell, peak, back=back)
    return out


def memory_chart_svg(links: Mapping[str, Sequence[Json]]) -> Markup:
    """The chart. ``links`` holds the cells of each link and unit of ``ncu.memory_chart.MEMORY_CHART``."""
    spaces = [
        name
        for name in _SPACES
        if _known(links[f"kernel-{name}"]) and (name in _ALWAYS or _used(links[f"kernel-{name}"]))
    ] or ["global"]
    memories = [("dram", "Device memory")]
    memories += [
        (name, label)
        for name, label in (("system", "System memory"), ("peer", "Peer memory"))
        if _used(links[f"l2-{name}"])
    ]
    rows = max(len(spaces), len(memories), 2)
    height = _TOP * 2 + rows * _ROW
    tall = height - 2 * _TOP
    centers = {name: _TOP + _ROW * (i + 0.5) for i, name in enumerate(spaces)}
    if len(spaces) == 1:
        centers = {spaces[0]: height / 2}
    cached = [name for name in spaces if name != "shared"]
    out = [_box("kernel", _TOP, tall, "Kernel", (), "kernel")]
    for name in spaces:
        y = centers[name]
        out.append(_box("space", y - 19, 38, name.capitalize(), (), "space"))
        out.append(_link("kernel", "space", y, links[f"kernel-{name}"]))
        out.append(_link("space", "cache", y, links["shared-smem" if name == "shared" else f"{name}-l1"]))
    cache_top, cache_bottom = _TOP, _TOP + _ROW * max(1, len(cached)) - (8 if "shared" in spaces else 0)
    if "shared" not in spaces:
        cache_bottom = height - _TOP
    if cached:
        hit = _known(links["l1"])
        notes = [f"hit rate {_said(hit[0])}"] if hit else []
        out.append(_box("cache", cache_top, cache_bottom - cache_top, "L1/TEX cache", notes, "cache"))
    if "shared" in spaces:
        out.append(_box("cache", centers["shared"] - 19, 38, "Shared memory", (), "memory"))
    hit = _known(links["l2"])
    out.append(_box("l2", _TOP, tall, "L2 cache", [f"hit rate {_said(hit[0])}"] if hit else [], "cache"))
    out.append(_link("cache", "l2", (cache_top + cache_bottom) / 2, links["l1-l2"]))
    step = tall / len(memories)
    for i, (name, label) in enumerate(memories):
        y = _TOP + step * (i + 0.5)
        box = min(step - 8, 64)
        out.append(_box("memory", y - box / 2, box, label, (), "memory"))
        out.append(_link("l2", "memory", y, links[f"l2-{name}"]))
    head = (
        f'<svg class="fig fig-memory" viewBox="0 0 {_WIDTH} {height:g}" width="{_WIDTH}" height="{height:g}" '
        f'role="img" aria-label="Memory chart. {escaped(_spoken(links))}">'
    )
    return Markup(head + "".join(out) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


_SPOKEN = (
    ("l1", "L1/TEX cache"), ("l1-l2", "L1/TEX cache and L2"), ("l2", "L2 cache"),
    ("l2-dram", "L2 and device memory"),
)  # fmt: skip


def _spoken(links: Mapping[str, Sequence[Json]]) -> str:
    said = []
    for key, words in _SPOKEN:
        values = ", ".join(f"{cell['label']} {_said(cell)}" for cell in _known(links[key]))
        if values:
            said.append(f"{words}: {values}")
    return "; ".join(said)
