"""Static pictures of a schedule: its waveform, and curves of totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from warpglass.pipeline import Run, StageRow
from warpglass.pipeline.expand import ASYNC, BUSY, MMA, STORE, STWAIT, SYNC, WAIT, WGWAIT
from warpglass.report.text import escaped

__all__ = ["curve_svg", "schedule_svg", "tile_letter"]

_LEFT, _WIDTH, _ROW = 132, 1180, 18
_MOST = 6000


def tile_letter(tile: int, step: int) -> str:
    """``A3``: output tile A, k-tile 3."""
    letter = chr(ord("A") + tile % 26) if tile >= 0 else ""
    return f"{letter}{step if step >= 0 else ''}"


def _spans(run: Run, rows: Sequence[StageRow]) -> list[tuple[str, list[tuple[int, int, str, str, int]]]]:
    """(row, spans of (start, end, class, text, tile))."""
    flat = run.flat
    ops = flat.operations()
    lanes: list[list[tuple[int, int, str, str, int]]] = [[] for _ in flat.lanes]
    cores: dict[int, list[tuple[int, int, str, str, int]]] = {
        number: [] for number, (_, kind, _) in enumerate(flat.engines) if kind == "tc"
    }
    for kind, who, start, end, operation, _ in run.events:
        if operation < 0 or end <= start:
            continue
        op = ops[operation][1]
        site = flat.sites[op.site]
        letter = tile_letter(op.tile, op.step)
        if kind == BUSY:
            lanes[who].append((start, end, f"pl-{site.kind}", letter, op.tile))
        elif kind in (WAIT, WGWAIT, STWAIT, SYNC):
            lanes[who].append((start, end, "pl-wait", "", op.tile))
        elif kind == MMA and who in cores:
            cores[who].append((start, end, "pl-mma", letter, op.tile))
        elif kind in (ASYNC, STORE):
            continue
    found = [(name, spans) for name, spans in zip(flat.lane_names, lanes, strict=True)]
    for number, spans in cores.items():
        _, at, cta = flat.engines[number][0].partition("@")
        found.append((f"tensor core{at}{cta}", spans))
    for row in rows:
        spans = [(s.start, s.end, f"pl-{s.state}", tile_letter(s.tile, s.step), s.tile) for s in row.spans]
        found.append((f"{row.pipe.removeprefix('pipeline_')}[{row.stage}]", spans))
    return found


def schedule_svg(run: Run, rows: Sequence[StageRow]) -> Markup:
    """A row a lane, one for the tensor core, one a stage; blocks lettered where there is room."""
    listed = _spans(run, rows)
    total = max(1, run.total)
    scale = (_WIDTH - _LEFT) / total
    height = len(listed) * _ROW + 20
    parts = [
        f'<svg class="fig pl-svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Schedule of '
        f'{len(run.flat.lanes)} roles and {len(rows)} stages over {total} units of time">'
    ]
    drawn = 0
    for number, (name, spans) in enumerate(listed):
        y = number * _ROW
        parts.append(
            f'<text class="t" x="{_LEFT - 6}" y="{y + 13}" text-anchor="end">{escaped(name[:22])}</text>'
        )
        for start, end, css, text, tile in spans:
            drawn += 1
            if drawn > _MOST:
                break
            x, wide = _LEFT + start * scale, (end - start) * scale
            shade = f" pt{tile % 4}" if tile >= 0 and css not in ("pl-wait",) else ""
            parts.append(
                f'<rect class="{css}{shade}" x="{x:.1f}" y="{y + 2}" '
                f'width="{max(wide, 0.4):.1f}" height="{_ROW - 4}"/>'
            )
            if text and wide > 7.5 * len(text):
                parts.append(f'<text class="pl-l" x="{x + wide / 2:.1f}" y="{y + 13}">{escape(text)}</text>')
    bottom = len(listed) * _ROW + 14
    parts.append(f'<text class="t" x="{_LEFT}" y="{bottom}">0</text>')
    parts.append(f'<text class="t" x="{_WIDTH}" y="{bottom}" text-anchor="end">{total}</text></svg>')
    return Markup("".join(parts))  # noqa: S704 - names were escaped, the rest is numbers and fixed words


def curve_svg(series: Mapping[str, Sequence[tuple[int, int | None]]], label: str) -> Markup:
    """Lines of totals over a knob, from zero; values that do not end are left out."""
    width, height, left, bottom = 460.0, 190.0, 44.0, 24.0
    points = [(x, y) for values in series.values() for x, y in values if y is not None]
    if not points:
        return Markup("")
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = max(y for _, y in points)
    span = max(1, high - low)
    parts = [
        f'<svg class="fig pl-curve" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{escaped(label)}">',
        f'<line class="axis" x1="{left}" y1="{height - bottom}" x2="{width - 8}" y2="{height - bottom}"/>',
    ]

    def place(x: int, y: int) -> tuple[float, float]:
        return left + (x - low) / span * (width - left - 100), 12 + (1 - y / top) * (height - bottom - 20)

    for number, (name, values) in enumerate(series.items()):
        known = [(x, y) for x, y in values if y is not None]
        path = " ".join(
            f"{'L' if i else 'M'}{place(x, y)[0]:.1f} {place(x, y)[1]:.1f}" for i, (x, y) in enumerate(known)
        )
        dash = "" if number == 0 else ' stroke-dasharray="5 3"'
        parts.append(f'<path class="pl-line s{number + 1}" d="{path}"{dash}/>')
        for x, y in known:
            px, py = place(x, y)
            parts.append(
                f'<circle class="s{number + 1}" cx="{px:.1f}" cy="{py:.1f}" r="2.5">'
                f"<title>{x}: {y}</title></circle>"
            )
        px, py = place(*known[-1])
        shift = 4 if number == 0 else -6
        parts.append(
            f'<text class="t" x="{px + 5:.1f}" y="{py + shift:.1f}">{escaped(name)} {known[-1][1]}</text>'
        )
    for x in range(low, high + 1, max(1, span // 8)):
        px, _ = place(x, 0)
        parts.append(f'<text class="t" x="{px:.1f}" y="{height - 8:.0f}" text-anchor="middle">{x}</text>')
    parts.append(f'<text class="t" x="{left - 6}" y="18" text-anchor="end">{top}</text>')
    parts.append(f'<text class="t" x="{left - 6}" y="{height - bottom}" text-anchor="end">0</text></svg>')
    return Markup("".join(parts))  # noqa: S704 - names were escaped, the rest is numbers
