"""The node graph of a pipeline program: roles, pipelines with their stages, engines, and who gives what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from warpglass.report.text import escaped

__all__ = ["graph_edges", "graph_svg"]

Json = Mapping[str, Any]


def _nodes(body: Sequence[Json]) -> Iterator[Json]:
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        if "bar" in node or "reads" in node or node.get("op") in ("store", "sync", "barrive"):
            yield node
        for key in ("else", "then", "body"):
            stack.extend(reversed(node.get(key, ())))


def graph_edges(program: Json) -> list[tuple[str, str, str]]:
    """(from, to, what) between lanes, pipes and barriers, each once: fill, take, release, order."""
    edges: dict[tuple[str, str, str], None] = {}
    for lane in program["lanes"]:
        for node in _nodes(lane["body"]):
            bar = str(node.get("bar") or node.get("reads") or node.get("named") or "")
            pipe, _, side = bar.partition(".")
            op = node["op"]
            if op == "wait" and side == "full":
                edges[pipe, lane["name"], "full"] = None
            elif op in ("async", "arrive") and side == "full":
                edges[lane["name"], pipe, "fill"] = None
            elif op in ("arrive", "tcarrive") and side == "empty":
                edges[lane["name"], pipe, "release"] = None
            elif op == "tcarrive" and side == "full":
                edges[lane["name"], pipe, "fill"] = None
            elif not side and bar and op in ("arrive", "async", "barrive", "sync"):
                edges[lane["name"], bar, "arrive"] = None
            if not side and bar and op in ("wait", "sync"):
                edges[bar, lane["name"], "wait"] = None
    return list(edges)


def _gives(role: str) -> bool:
    return "load" in role or role == "scheduler"


def graph_svg(program: Json, lanes: Sequence[str]) -> Markup:
    """Roles left and right of the pipelines: fills from the left, takes to the right, releases back."""
    # Roles that the knobs leave out (a second CTA, a third consumer) are no nodes.
    names = [str(lane["name"]) for lane in program["lanes"] if lane["name"] in lanes]
    away = {str(lane["name"]) for lane in program["lanes"]} - set(names)
    edges = [edge for edge in graph_edges(program) if not away & {*edge[:2]}]
    middle = [str(pipe["name"]) for pipe in program["pipes"]]
    middle += [str(bar["name"]) for bar in program.get("bars", ()) if "." not in str(bar["name"])]
    middle += [str(entry["name"]) for entry in program.get("named", ())]
    used = {one for edge in edges for one in edge[:2]}
    middle = [name for name in middle if name in used]
    gives = {str(lane["name"]) for lane in program["lanes"] if _gives(str(lane["role"]))}
    left = [name for name in names if name in gives]
    right = [name for name in names if name not in gives]
    step, wide = 46, 150
    places = {name: (10.0, 14.0 + i * step) for i, name in enumerate(left)}
    places.update({name: (300.0, 14.0 + i * step) for i, name in enumerate(middle)})
    places.update({name: (590.0, 14.0 + i * step) for i, name in enumerate(right)})
    height = 20 + step * max(len(left), len(middle), len(right), 1)
    titles = {str(pipe["name"]): f"{pipe['title']} ({pipe['class']})" for pipe in program["pipes"]}
    parts = [
        f'<svg class="fig pl-graph" viewBox="0 0 750 {height}" role="img" '
        f'aria-label="{escaped(_told(edges))}">'
        '<defs><marker id="pl-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>'
    ]
    for start, end, what in edges:
        if start not in places or end not in places:
            continue
        (x1, y1), (x2, y2) = places[start], places[end]
        forward = x1 < x2
        ax, bx = (x1 + wide, x2) if forward else (x1, x2 + wide)
        shift = {"fill": 8, "full": 8, "release": 24, "arrive": 16, "wait": 16}[what]
        bend = (ax + bx) / 2
        parts.append(
            f'<path class="pl-edge pl-edge-{what}" d="M{ax} {y1 + shift}C{bend} {y1 + shift} '
            f'{bend} {y2 + shift} {bx} {y2 + shift}" marker-end="url(#pl-arrow)">'
            f"<title>{escaped(f'{start} {what} {end}')}</title></path>"
        )
    for name, (x, y) in places.items():
        css = "pl-role" if name in names else "pl-pipe"
        parts.append(f'<rect class="{css}" x="{x}" y="{y}" width="{wide}" height="32" rx="4"/>')
        title = titles.get(name)
        parts.append(
            f'<text class="t" x="{x + wide / 2}" y="{y + 20}" text-anchor="middle">'
            f"{escaped(name[:22])}"
            f"{f'<title>{escaped(title)}</title>' if title else ''}</text>"
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - names were escaped


def _told(edges: Sequence[tuple[str, str, str]]) -> str:
    return "Roles and pipelines: " + "; ".join(f"{start} {what} {end}" for start, end, what in edges[:40])
