"""A pipeline program with its knobs set, unrolled: for each lane the flat list of its operations.

Lane programs never depend on time, so loops, conditions and pipeline states can be resolved before the
simulation. ``static_js/pipeline-core.js`` does the same, operation for operation.

A program is plain JSON (docs/pipeline.md): ``knobs``, ``let``, ``pipes``, ``bars``, ``named``, ``engines``,
``lanes``. A pipe becomes two arrays of barriers, ``<pipe>.full`` and ``<pipe>.empty``.

Where a program says ``ctas``, everything in it is there once a CTA of the cluster: the copies of CTA 1 are
called ``<name>@1``. An operation means its own CTA's copy, or that of the CTA that its ``of`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpglass.errors import InputError
from warpglass.pipeline.expressions import evaluate

__all__ = ["MAX_OPERATIONS", "OPS", "Flat", "Operation", "Site", "expand", "knob_values"]

Json = Mapping[str, Any]

#: busy, wait, … by number; the numbers are the kinds of the simulator's events too.
OPS = (
    "busy", "wait", "arrive", "async", "mma", "wgwait", "tcarrive", "sync", "barrive", "store", "stwait",
)  # fmt: skip
_CODE = {name: number for number, name in enumerate(OPS)}
BUSY, WAIT, ARRIVE, ASYNC, MMA, WGWAIT, TCARRIVE, SYNC, BARRIVE, STORE, STWAIT = range(len(OPS))

#: Larger schedules are refused: they would neither fit a page nor a person's eye.
MAX_OPERATIONS = 400_000
_MAX_STEPS = 4_000_000
_MAX_BARRIERS = 4096
_MAX_CTAS = 16


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a lane. The meaning of ``a`` … ``d`` by code:

    ======== ============ =========== =========== =========
    code     a            b           c           d
    ======== ============ =========== =========== =========
    busy     duration
    wait     barrier      parity
    arrive   barrier      arrivals    expected tx
    async    engine       duration    barrier, -1 tx
    mma      engine       duration    full barrier read, -1
    wgwait   left over
    tcarrive barrier      arrivals    engine
    sync     named        arrivals needed
    barrive  named        arrivals needed
    store    engine       duration
    stwait   left over
    ======== ============ =========== =========== =========

    ``site`` numbers the place in the program; ``tile`` and ``step`` are the output tile and k-tile, -1 none.
    """

    code: int
    a: int
    b: int
    c: int
    d: int
    site: int
    tile: int
    step: int


@dataclass(frozen=True, slots=True)
class Site:
    """One place of the program: lane, kind of operation, label, source (id of a header, line), cause."""

    lane: int
    op: str
    label: str
    kind: str
    cause: str
    source: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Flat:
    """What the simulator runs. ``bars`` are (name, index, count); ``engines`` (name, kind, latency).

    ``pipes`` are the names of the pipelines, those of every CTA.
    """

    knobs: Mapping[str, int]
    lanes: tuple[tuple[Operation, ...], ...]
    lane_names: tuple[str, ...]
    bars: tuple[tuple[str, int, int], ...]
    bar_base: Mapping[str, int]
    bar_size: Mapping[str, int]
    named: tuple[str, ...]
    engines: tuple[tuple[str, str, int], ...]
    sites: tuple[Site, ...]
    pipes: tuple[str, ...] = ()

    @property
    def offsets(self) -> tuple[int, ...]:
        """Number of each lane's first operation, counted over all lanes."""
        found, total = [], 0
        for lane in self.lanes:
            found.append(total)
            total += len(lane)
        return tuple(found)

    def operations(self) -> list[tuple[int, Operation]]:
        """(lane, operation) by number."""
        return [(number, op) for number, lane in enumerate(self.lanes) for op in lane]


def knob_values(program: Json, given: Mapping[str, int] | None = None) -> dict[str, int]:
    """Every knob with its value, clamped to its range, then the derived names of ``let``.

    Raises :class:`InputError` for a knob that the program does not have.
    """
    values: dict[str, int] = {}
    given = given or {}
    known = {str(knob["name"]) for knob in program["knobs"]}
    for name in given:
        if name not in known:
            raise InputError(f"there is no knob {name[:40]!r}", hint=", ".join(sorted(known)))
    for knob in program["knobs"]:
        name = str(knob["name"])
        value = int(given.get(name, knob["value"]))
        values[name] = max(int(knob["min"]), min(int(knob["max"]), value))
    for name, expression in program.get("let", []):
        values[str(name)] = evaluate(expression, values)
    return values


def _copy(name: str, cta: int) -> str:
    """The name of a CTA's own copy: ``ml@1.full``."""
    if not cta:
        return name
    head, dot, tail = name.partition(".")
    return f"{head}@{cta}{dot}{tail}"


class _Lane:
    """Resolves one lane's program. Holds what its loops and states have come to."""

    def __init__(self, flat: _Tables, lane: int, values: Mapping[str, int], cta: int = 0) -> None:
        self.tables = flat
        self.lane = lane
        self.cta = cta
        self.names = {**values, "cta": cta}
        self.states: dict[str, list[int]] = {}
        self.code: list[Operation] = []

    def value(self, expression: Any) -> int:
        return evaluate(expression, self.names, self.states)

    def run(self, nodes: Sequence[Json], depth: int = 0) -> None:
        if depth > 30:
            raise InputError("the loops of a pipeline are nested too deeply")
        for node in nodes:
            self.tables.step()
            op = node.get("op")
            if op == "loop":
                count = self.value(node["n"])
                start = self.value(node.get("from", 0))
                step = int(node.get("step", 1))
                variable = node["var"]
                before = self.names.get(variable)
                for turn in range(count):
                    self.tables.step()
                    self.names[variable] = start + turn * step
                    self.run(node["body"], depth + 1)
                # Behind its loop a variable means what it meant before: an epilogue belongs to no k-tile.
                if before is not None:
                    self.names[variable] = before
                else:
                    self.names.pop(variable, None)
            elif op == "if":
                branch = node.get("then", ()) if self.value(node["cond"]) else node.get("else", ())
                self.run(branch, depth + 1)
            elif op == "state":
                self._state(node)
            elif op == "advance":
                self._known(node["state"])[3] += self.value(node.get("n", 1))
            elif op == "set":
                self.names[node["var"]] = self.value(node["value"])
            elif op in _CODE:
                self._operation(node, op)
            else:
                raise InputError(f"a pipeline has the unknown operation {str(op)[:30]!r}")

    def _known(self, name: str) -> list[int]:
        if name not in self.states:
            raise InputError(f"a pipeline uses the state {name[:40]!r} before it is made")
        return self.states[name]

    def _state(self, node: Json) -> None:
        if "copy" in node:
            self.states[node["name"]] = list(self._known(node["copy"]))
            return
        stages = self.value(node["stages"])
        if stages < 1:
            raise InputError("a pipeline has no stages")
        start, phase = self.value(node.get("index", 0)), self.value(node.get("phase", 0))
        self.states[node["name"]] = [start, phase, stages, 0]

    def _bar(self, node: Json, key: str = "bar") -> int:
        name = node[key]
        index = evaluate(["idx", node["at"]], {}, self.states) if "at" in node else 0
        if "index" in node:
            index = self.value(node["index"])
        return self.tables.bar(_copy(name, self.value(node["of"]) if "of" in node else self.cta), index)

    def _engine(self, name: str) -> int:
        return self.tables.engine(_copy(name, self.cta))

    def _operation(self, node: Json, op: str) -> None:
        a = b = c = d = 0
        if op == "busy":
            a = max(0, self.value(node["d"]))
        elif op == "wait":
            a = self._bar(node)
            b = self.value(node["parity"]) if "parity" in node else self.value(["ph", node["at"]])
            b = (b ^ int(node.get("flip", 0))) & 1
        elif op == "arrive":
            a, b, c = self._bar(node), self.value(node.get("n", 1)), self.value(node.get("tx", 0))
        elif op == "async":
            a, b = self._engine(node["engine"]), max(0, self.value(node["d"]))
            c = self._bar(node) if "bar" in node else -1
            d = self.value(node.get("tx", 1))
        elif op == "mma":
            a, b = self._engine(node.get("engine", "tc")), max(0, self.value(node["d"]))
            c = self._bar(node, "reads") if "reads" in node else -1
        elif op in ("wgwait", "stwait"):
            a = max(0, self.value(node["n"]))
        elif op == "tcarrive":
            a, b = self._bar(node), self.value(node.get("n", 1))
            c = self._engine(node.get("engine", "tc"))
        elif op in ("sync", "barrive"):
            a = self.tables.name(_copy(node["named"], self.cta), self.value(node.get("index", 0)))
            b = self.value(node["count"])
        elif op == "store":
            a, b = self._engine(node.get("engine", "st")), max(0, self.value(node["d"]))
        tile, step = self.names.get("o", -1), self.names.get("t", -1)
        if "tile" in node:
            tile = self.value(node["tile"])
        if "step" in node:
            step = self.value(node["step"])
        self.tables.count()
        self.code.append(Operation(_CODE[op], a, b, c, d, self.tables.site(node), tile, step))


class _Tables:
    """Numbers of barriers, engines, named barriers and sites."""

    def __init__(self, program: Json, values: Mapping[str, int]) -> None:
        self.bars: list[tuple[str, int, int]] = []
        self.base: dict[str, int] = {}
        self.size: dict[str, int] = {}
        self.steps = self.made = 0
        self.ctas = evaluate(program.get("ctas", 1), values)
        if not 1 <= self.ctas <= _MAX_CTAS:
            raise InputError(f"a cluster of {self.ctas} CTAs is not simulated", hint=f"1 to {_MAX_CTAS}")
        self.pipes = tuple(_copy(str(pipe["name"]), c) for c in range(self.ctas) for pipe in program["pipes"])
        for cta in range(self.ctas):
            self._barriers(program, values, cta)
        self.engines = tuple(
            (_copy(str(e["name"]), cta), str(e["kind"]), evaluate(e.get("latency", 0), values))
            for cta in range(self.ctas)
            for e in program["engines"]
        )
        self.engine_number = {name: number for number, (name, _, _) in enumerate(self.engines)}
        self.named: list[str] = []
        self.named_base: dict[str, tuple[int, int]] = {}
        for cta, entry in ((c, e) for c in range(self.ctas) for e in program.get("named", ())):
            size, name = evaluate(entry.get("size", 1), values), _copy(entry["name"], cta)
            self.named_base[name] = (len(self.named), size)
            self.named += [name if size == 1 else f"{name}[{i}]" for i in range(min(size, 64))]
        self.sites: list[Site] = []
        self.site_number: dict[int, int] = {}
        for lane, entry in enumerate(program["lanes"]):
            self._sites(lane, entry["body"])

    def _barriers(self, program: Json, values: Mapping[str, int], cta: int) -> None:
        for pipe in program["pipes"]:
            stages = evaluate(pipe["stages"], values)
            for side in ("full", "empty"):
                self._add(_copy(f"{pipe['name']}.{side}", cta), stages, evaluate(pipe[side], values))
        for bar in program.get("bars", ()):
            size = evaluate(bar.get("size", 1), values)
            self._add(_copy(bar["name"], cta), size, evaluate(bar["count"], values))

    def _add(self, name: str, size: int, count: int) -> None:
        if size < 0 or count < 0 or len(self.bars) + size > _MAX_BARRIERS:
            raise InputError(f"the barriers of {name} are too many or none")
        self.base[name], self.size[name] = len(self.bars), size
        self.bars += [(name, index, count) for index in range(size)]

    def _sites(self, lane: int, nodes: Sequence[Json], depth: int = 0) -> None:
        for node in nodes:
            for key in ("body", "then", "else"):
                if key in node and depth < 40:
                    self._sites(lane, node[key], depth + 1)
            if node.get("op") in _CODE:
                # A list of nodes may stand at several places of one lane: the first place names them all.
                self.site_number[id(node)] = len(self.sites)
                line = node.get("line")
                self.sites.append(
                    Site(
                        lane, node["op"], str(node.get("label", "")), str(node.get("kind", "")),
                        str(node.get("cause", "")), str(node.get("src", "")), line,
                    )
                )  # fmt: skip

    def site(self, node: Json) -> int:
        return self.site_number[id(node)]

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise InputError("the pipeline is too long to be unrolled", hint="fewer k-tiles or output tiles")

    def count(self) -> None:
        self.made += 1
        if self.made > MAX_OPERATIONS:
            raise InputError(
                f"the pipeline has more than {MAX_OPERATIONS} operations",
                hint="fewer k-tiles or output tiles",
            )

    def bar(self, name: str, index: int) -> int:
        if name not in self.base or not 0 <= index < self.size[name]:
            raise InputError(f"a pipeline has no barrier {name[:40]}[{index}]")
        return self.base[name] + index

    def engine(self, name: str) -> int:
        if name not in self.engine_number:
            raise InputError(f"a pipeline has no engine {name[:40]!r}")
        return self.engine_number[name]

    def name(self, name: str, index: int) -> int:
        base, size = self.named_base.get(name, (0, 0))
        if not 0 <= index < size:
            raise InputError(f"a pipeline has no named barrier {name[:40]}[{index}]")
        return base + index


def expand(program: Json, knobs: Mapping[str, int] | None = None) -> Flat:
    """Unroll ``program`` for ``knobs`` (the others at their defaults).

    Raises :class:`InputError` for a program that is malformed or too large.
    """
    try:
        values = knob_values(program, knobs)
        tables = _Tables(program, values)
        lanes, names = [], []
        for cta, number in ((c, n) for c in range(tables.ctas) for n in range(len(program["lanes"]))):
            entry = program["lanes"][number]
            if not evaluate(entry.get("when", 1), values):
                continue
            lane = _Lane(tables, number, values, cta)
            lane.run(entry["body"])
            lanes.append(tuple(lane.code))
            names.append(_copy(str(entry["name"]), cta))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"a pipeline program is malformed: {type(error).__name__}: {error}"[:200]) from None
    return Flat(
        values, tuple(lanes), tuple(names), tuple(tables.bars), tables.base, tables.size,
        tuple(tables.named), tables.engines, tuple(tables.sites), tables.pipes,
    )  # fmt: skip
