"""A program made of what a kernel layer's roles do, operation for operation: for kernels of no known family.

Every lane is a role's stream with its loops folded (:mod:`folding`); pipelines get their classes from what is
done to them: copies by TMA fill, MMAs of the fifth generation commit and release by themselves, everything
else arrives. How many arrive a phase is counted over the roles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpglass.cutlass import build as b
from warpglass.cutlass.programs.folding import Folded, Step, fold, split_tiles
from warpglass.cutlass.values import Op

__all__ = ["FIRST_K", "RUNS", "Role", "traced_program"]

FIRST_K = 6
#: k-tiles of the three runs; each with three output tiles.
RUNS = (FIRST_K, FIRST_K + 1, FIRST_K + 3)

_Streams = Mapping[str, Sequence[Op]]


@dataclass(slots=True)
class Role:
    """A lane to be: name, streams of the three runs."""

    name: str
    runs: tuple[Sequence[Op], ...]

    @property
    def ops(self) -> Sequence[Op]:
        return self.runs[0]

    def has(self, *kinds: str) -> bool:
        """Whether the role does any of these."""
        return any(op.kind in kinds for op in self.ops)


@dataclass(slots=True)
class _Kernel:
    """What is known of all roles together."""

    roles: Sequence[Role]
    fifth: bool
    stages: Callable[[str], tuple[str, Any]]
    folded: bool = True
    filled: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    orders: dict[str, list[str]] = field(default_factory=dict)

    def knob(self, name: str) -> str:
        self.used.add(name)
        return name


def _fills(role: Role) -> dict[str, int]:
    """Copies by TMA that fill a stage (or a barrier) once."""
    acquired = Counter(op.pipe for op in role.ops if op.kind in ("acquire", "barrier_arrive"))
    copied = Counter(op.pipe for op in role.ops if op.kind == "copy")
    return {pipe: max(1, round(n / acquired[pipe])) for pipe, n in copied.items() if acquired.get(pipe)}


def _per_phase(roles: Sequence[Role], kinds: Sequence[str], pipe: str) -> int:
    """Roles that arrive in one phase of a pipeline."""
    seen: Counter[int] = Counter()
    for role in roles:
        for count in {op.count for op in role.ops if op.kind in kinds and op.pipe == pipe}:
            seen[count] += 1
    return Counter(seen.values()).most_common(1)[0][0] if seen else 0


def _named(op: Op) -> str:
    """A named barrier; uses of one number with different numbers of threads are kept apart."""
    return f"{op.pipe}/{op.n}" if op.n else op.pipe


def _arrivals(roles: Sequence[Role], name: str) -> int:
    """Arrivals that end a phase of a named barrier: those of each role between two waits for it."""
    uses = [
        [op.kind for op in role.ops if op.kind in ("sync", "barrive") and _named(op) == name]
        for role in roles
    ]
    phases = max((kinds.count("sync") for kinds in uses), default=0)
    if phases == 0:
        return max(1, sum(bool(kinds) for kinds in uses))
    return max(1, sum(round(len(kinds) / phases) for kinds in uses))


class _Lane:
    """Nodes of one role."""

    def __init__(self, kernel: _Kernel, role: Role) -> None:
        self.kernel = kernel
        self.role = role
        self.fills = _fills(role)
        self.mma = role.has("mma")
        self.idle = not role.has("mma", "softmax", "store", "copy")
        self.states: dict[str, b.Node] = {}
        self.read = ""
        self.orders: Counter[str] = Counter()

    def state(self, op: Op) -> str:
        """The state of this role at this pipeline for this kind of operation; made where it first stands."""
        name = f"{op.pipe}.{op.kind}"
        if name not in self.states:
            phase = int(op.kind in ("acquire", "tail"))
            counts = [next((o.count for o in run if o.kind == op.kind and o.pipe == op.pipe), op.count)
                      for run in self.role.runs]  # fmt: skip
            index = _line(counts[0], counts[1] - counts[0])
            self.states[name] = {"op": "state", "name": name, "stages": self.kernel.stages(op.pipe)[1],
                                 "phase": phase, "start": index}  # fmt: skip
        return name

    def raw_state(self, op: Op) -> str:
        """The parity of a barrier of the kernel's own turns over with every wait."""
        name = f"{op.pipe}.wait"
        if name not in self.states:
            first = next(o for o in self.role.ops if o.kind == op.kind and o.pipe == op.pipe)
            self.states[name] = {"op": "state", "name": name, "stages": 1, "phase": max(0, first.phase) ^ 1,
                                 "start": 0}  # fmt: skip
        return name

    def starts(self) -> list[b.Node]:
        found = []
        for entry in self.states.values():
            start = entry["start"]
            found.append({key: value for key, value in entry.items() if key != "start"})
            if start != 0:
                found.append(b.advance(entry["name"], start))
        return found

    def nodes(self, steps: Sequence[Step]) -> list[b.Node]:
        found: list[b.Node] = []
        for step in steps:
            made = getattr(self, f"do_{step.op.kind}", self.nothing)(step.op)
            for node in made:
                if step.op.line:
                    node["src"], node["line"] = step.op.header, step.op.line
            found += made
            name = f"{step.op.pipe}.{step.op.kind}"
            if name in self.states and step.op.count >= 0 and (step.base or step.slope):
                found.append(b.advance(name, _line(step.base or 0, step.slope)))
        return found

    # ---------------------------------------------------------------- operations
    def nothing(self, op: Op) -> list[b.Node]:
        return []

    def do_acquire(self, op: Op) -> list[b.Node]:
        name = self.state(op)
        made = [b.wait(f"{op.pipe}.empty", name, "pipe empty", label=f"acquire {op.pipe}")]
        if op.pipe in self.fills:
            made.append(b.arrive(f"{op.pipe}.full", name, tx=self.fills[op.pipe]))
            made.append(b.copy_state(f"{op.pipe}.now", name))
        return made

    def do_copy(self, op: Op) -> list[b.Node]:
        if op.pipe not in self.fills:
            return []
        number = self.fills[op.pipe]
        time: Any = ["max", 1, ["//", self.kernel.knob("X"), number]] if number > 1 else self.kernel.knob("X")
        made = [b.busy(self.kernel.knob("i"), f"TMA {op.pipe}")]
        if op.stage < 0:
            made.append(b.async_("tma", time, op.pipe, None, f"TMA {op.pipe}", index=0))
        else:
            made.append(b.async_("tma", time, f"{op.pipe}.full", f"{op.pipe}.now", f"TMA {op.pipe}"))
        return made

    def do_commit(self, op: Op) -> list[b.Node]:
        name = self.state(op)
        if self.mma and self.kernel.fifth:
            return [b.tcarrive(f"{op.pipe}.full", name)]
        if "load" in self.role.name.lower() and op.pipe not in self.fills:
            # cp.async: the threads issue the copies themselves and arrive; the data lands later.
            return [b.busy(self.kernel.knob("cpi"), f"cp.async {op.pipe}"),
                    b.arrive(f"{op.pipe}.full", name, tx=1),
                    b.async_("tma", self.kernel.knob("X"), f"{op.pipe}.full", name, op.pipe)]  # fmt: skip
        return [b.arrive(f"{op.pipe}.full", name, label=f"commit {op.pipe}")]

    def do_wait(self, op: Op) -> list[b.Node]:
        name = self.state(op)
        self.read = op.pipe
        made = [b.wait(f"{op.pipe}.full", name, "pipe full", label=f"wait {op.pipe}")]
        if self.mma:
            made.append(b.copy_state(f"{op.pipe}.last", name))
        if self.idle:
            made.append(self.work())
        return made

    def work(self) -> b.Node:
        """What a role does with what it has taken, where no operation of the source says it."""
        low = self.role.name.lower()
        if "softmax" in low:
            return b.busy(self.kernel.knob("SM"), "softmax", "softmax")
        if "corr" in low:
            return b.busy(self.kernel.knob("RS"), "rescale", "softmax")
        return b.busy(self.kernel.knob("EC"), self.role.name, "epilogue")

    def do_release(self, op: Op) -> list[b.Node]:
        name = self.state(op)
        if self.mma and self.kernel.fifth:
            return [b.tcarrive(f"{op.pipe}.empty", name)]
        return [b.arrive(f"{op.pipe}.empty", name, label=f"release {op.pipe}")]

    def do_tail(self, op: Op) -> list[b.Node]:
        start = f"{op.pipe}.acquire"
        if start not in self.states:
            return []
        wait = b.wait(f"{op.pipe}.empty", "tail", "tail", tail=1)
        stages = self.kernel.stages(op.pipe)[1]
        return [b.copy_state("tail", start), b.loop("s", stages, [wait, b.advance("tail")])]

    def do_mma(self, op: Op) -> list[b.Node]:
        # ``cute::gemm(tiled_mma_pv, …)``: the first argument says which product it is.
        low = op.text.lower().partition("(")[2].partition(",")[0]
        kind = ("MQ", "Q·K") if "qk" in low else ("MP", "P·V") if "pv" in low else ("M", "MMA")
        reads = f"{self.read}.full" if self.read else None
        at = f"{self.read}.last" if self.read else None
        return [b.mma(self.kernel.knob(kind[0]), kind[1], reads, at)]

    def do_softmax(self, op: Op) -> list[b.Node]:
        return [b.busy(self.kernel.knob("SM"), "softmax", "softmax")]

    def do_rescale(self, op: Op) -> list[b.Node]:
        return [b.busy(self.kernel.knob("RS"), "rescale", "softmax")]

    def do_wgwait(self, op: Op) -> list[b.Node]:
        return [b.wgwait(op.n, "MMA retire")]

    def do_store(self, op: Op) -> list[b.Node]:
        return [
            b.busy(self.kernel.knob("EC"), "epilogue", "epilogue"),
            b.store(self.kernel.knob("ES"), "store"),
        ]

    def do_store_wait(self, op: Op) -> list[b.Node]:
        return [b.stwait(op.n)]

    def do_barrier_wait(self, op: Op) -> list[b.Node]:
        name = self.raw_state(op)
        return [b.advance(name), b.wait(op.pipe, name, op.pipe)]

    def do_barrier_arrive(self, op: Op) -> list[b.Node]:
        tx = self.fills.get(op.pipe)
        return [b.arrive(op.pipe, None, index=0, tx=tx)]

    def do_sync(self, op: Op) -> list[b.Node]:
        return [b.sync(_named(op), _arrivals(self.kernel.roles, _named(op)), "named barrier")]

    def do_barrive(self, op: Op) -> list[b.Node]:
        return [b.barrive(_named(op), _arrivals(self.kernel.roles, _named(op)))]

    def order(self, op: Op) -> tuple[str, int, int]:
        """(state, this role's place, roles) of an ordered barrier."""
        groups = self.kernel.orders[op.pipe]
        name = f"{op.pipe}.order"
        place = groups.index(self.role.name)
        if name not in self.states:
            self.states[name] = {"op": "state", "name": name, "stages": self.kernel.stages(op.pipe)[1],
                                 "phase": int(place == 0), "start": 0}  # fmt: skip
        return name, place, len(groups)

    def do_order_wait(self, op: Op) -> list[b.Node]:
        name, place, count = self.order(op)
        index = ["+", ["*", ["idx", name], count], place]
        return [b.wait(op.pipe, None, "order barrier", index=index, parity=["ph", name])]

    def do_order_arrive(self, op: Op) -> list[b.Node]:
        name, place, count = self.order(op)
        index = ["+", ["*", ["idx", name], count], (place + 1) % count]
        return [b.arrive(op.pipe, None, index=index), b.advance(name)]


def _line(base: int, slope: int) -> Any:
    """``base`` at the first K, ``slope`` more with each k-tile."""
    return base if slope == 0 else ["+", base - slope * FIRST_K, ["*", slope, "K"]]


def _lane(kernel: _Kernel, role: Role, name: str) -> b.Node:
    """One lane: what stands before the output tiles, the first, every later one, what is behind."""
    lane = _Lane(kernel, role)
    parts = [split_tiles(run) for run in role.runs]
    before = lane.nodes(parts[0][0])
    body: list[b.Node] = []
    tiles = [part[1] for part in parts]
    if tiles[0]:
        usual = [t[1] if len(t) > 1 else t[0] for t in tiles]
        if [s.key for s in tiles[0][0]] == [s.key for s in usual[0]]:
            body.append(b.loop("o", "O", _tile(kernel, lane, usual)))
        else:
            first = _tile(kernel, lane, [t[0] for t in tiles])
            later = _tile(kernel, lane, usual)
            body.append(b.loop("o", "O", [b.when(["==", "o", 0], first, later)]))
    behind = lane.nodes(parts[0][2])
    # The graph puts loads on the left.
    does = "mainloop load" if lane.fills and not lane.mma else role.name
    return b.lane(name, does, [*lane.starts(), *before, *body, *behind])


def _tile(kernel: _Kernel, lane: _Lane, runs: Sequence[Sequence[Step]]) -> list[b.Node]:
    folded = fold(runs[0], runs[1], runs[2], FIRST_K)
    if folded is None:
        kernel.folded = False
        return lane.nodes(runs[0])
    return _nodes(lane, folded)


def _nodes(lane: _Lane, folded: Folded) -> list[b.Node]:
    head = lane.nodes(folded.head)
    if not folded.body:
        return head
    turns: Any = ["max", 0, ["+", "K", folded.extra]] if folded.extra else "K"
    loop = b.loop("t", turns, lane.nodes(folded.body), max(0, -folded.extra))
    for node in head:
        node.setdefault("step", 0)
    tail = lane.nodes(folded.tail)
    for node in tail:
        node.setdefault("step", ["-", "K", 1])
    return [*head, loop, *tail]


def traced_program(
    roles: Sequence[Role],
    fifth: bool,
    stages: Callable[[str], tuple[str, Any]],
    title: str = "",
) -> tuple[b.Node | None, str]:
    """(program, why there is none). ``stages`` gives class and stages (number or ``S``) of a pipeline."""
    used = [role for role in roles if role.has("wait", "acquire", "barrier_wait", "sync")]
    waits = {op.pipe for role in used for op in role.ops if op.kind == "wait"}
    fills = {op.pipe for role in used for op in role.ops if op.kind in ("acquire", "commit")}
    lonely = sorted(waits ^ fills)
    if not any(role.has("mma") for role in used) or not waits:
        return None, "no role waits for a pipeline and multiplies"
    if lonely:
        return None, f"{', '.join(lonely[:6])}: filled or taken by roles that were not followed"
    uneven = _uneven(used)
    if uneven:
        return None, uneven
    kernel = _Kernel(used, fifth, stages)
    for role in used:
        for op in role.ops:
            if op.kind == "order_wait" and role.name not in kernel.orders.setdefault(op.pipe, []):
                kernel.orders[op.pipe].append(role.name)
    lanes = [_lane(kernel, role, role.name.replace(" ", "")) for role in used]
    pipes, bars, named = _parts(kernel)
    defaults = {"K": FIRST_K if not kernel.folded else 8, "O": 2, "X": 3, "EC": 6, "ES": 4}
    limits = {"min": 2} if kernel.folded else {"min": FIRST_K, "max": FIRST_K}
    names = ["S", "SQ", "K", "O", "L", "X", "i", "cpi", "M", "MQ", "MP", "SM", "RS", "EC", "ES"]
    always = {"S", "K", "O", "L"} | ({"SQ"} if any(p["stages"] == "SQ" for p in pipes) else set())
    knobs = [b.knob(name, defaults.get(name), **(limits if name == "K" else {}))
             for name in names if name in kernel.used | always]  # fmt: skip
    made = b.program(
        "traced", title or "The roles as read",
        schedule="traced", knobs=knobs, pipes=pipes, bars=bars, named=named,
        engines=[b.engine("tma", "tma", "L"), b.engine("tc", "tc"), b.engine("st", "store")],
        lanes=lanes, work={"tiles": "O", "steps": "K", "tile_scale": 1},
        bounds=_bounds(lanes),
    )  # fmt: skip
    return made, "" if kernel.folded else "its loops could not be folded: the k-tiles are fixed"


def _uneven(roles: Sequence[Role]) -> str:
    """Which pipeline is not filled as often as it is taken; empty where all are."""
    filled = {pipe for role in roles for pipe in _fills(role)}
    told = []
    for pipe in dict.fromkeys(op.pipe for role in roles for op in role.ops if op.kind == "wait"):
        fill = "acquire" if pipe in filled else "commit"
        sides = [{op.count for role in roles for op in role.ops if op.kind == kind and op.pipe == pipe}
                 for kind in (fill, "wait", "release")]  # fmt: skip
        if not len(sides[0]) == len(sides[1]) == len(sides[2]):
            told.append(f"{pipe}: {len(sides[0])} fills, {len(sides[1])} waits, {len(sides[2])} releases")
    return "; ".join(told[:4])


def _parts(kernel: _Kernel) -> tuple[list[b.Node], list[b.Node], list[b.Node]]:
    """Pipelines, barriers of the kernel's own and named barriers with the arrivals that they count."""
    filled = {pipe for role in kernel.roles for pipe in _fills(role)}
    pipes, bars, named = [], [], []
    for pipe in dict.fromkeys(op.pipe for role in kernel.roles for op in role.ops if op.kind == "wait"):
        kind, stages = kernel.stages(pipe)
        if pipe in filled and kind == "PipelineAsync":
            kind = "PipelineTmaAsync"
        by = ("acquire",) if pipe in filled else ("commit",)
        full = max(1, _per_phase(kernel.roles, by, pipe))
        empty = max(1, _per_phase(kernel.roles, ("release",), pipe))
        pipes.append(b.pipe(pipe, kind, stages, full, empty, re.sub(r"^pipeline_|_$", "", pipe)))
    for bar in dict.fromkeys(op.pipe for r in kernel.roles for op in r.ops if op.kind.startswith("barrier_")):
        count = sum(any(o.kind == "barrier_arrive" and o.pipe == bar for o in r.ops) for r in kernel.roles)
        bars.append({"name": bar, "count": max(1, count)})
    for order, groups in kernel.orders.items():
        bars.append({"name": order, "size": ["*", kernel.stages(order)[1], len(groups)], "count": 1})
    for name in dict.fromkeys(
        _named(op) for r in kernel.roles for op in r.ops if op.kind in ("sync", "barrive")
    ):
        named.append({"name": name})
    return pipes, bars, named


def _bounds(lanes: Sequence[b.Node]) -> list[b.Node]:
    """Tensor-core and transfer time of one turn of the loops over k-tiles."""
    found: dict[str, list[Any]] = {"mma": [], "async": []}
    stack: list[tuple[b.Node, bool]] = [(node, False) for lane in lanes for node in lane["body"]]
    while stack:
        node, inside = stack.pop()
        inside = inside or (node["op"] == "loop" and node["var"] == "t")
        # Where the first output tile differs, the later ones are the steady state.
        for key in ("body", "else" if node.get("else") else "then"):
            stack += [(child, inside) for child in node.get(key, ())]
        if inside and node["op"] in found:
            found[node["op"]].append(node["d"])
    names = {"mma": "tensor core", "async": "transfer"}
    return [{"name": names[op], "value": ["+", *times]} for op, times in found.items() if times]
