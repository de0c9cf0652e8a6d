"""The decision matrix: which situation a kernel is in. All rows, with this kernel's values, met or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpglass.analysis.number import figure
from warpglass.analysis.occupancy_view import OccupancyView
from warpglass.analysis.resources import LABELS, Model
from warpglass.analysis.roofline import Roofline
from warpglass.analysis.sass_loops import LoopView
from warpglass.machine.result import RunResult

__all__ = [
    "DecisionRow",
    "blocks_text",
    "both",
    "decide",
    "decision_rows",
    "tells",
    "undecided",
    "verdict_text",
]

_MEMORY = ("dram", "l2", "l1")
#: Characters of the reason why a run stopped; the findings hold it whole.
_MOST_WHY = 200
#: Resources whose label is a plural.
_PLURAL = ("shared", "l1", "atomics", "tensor")


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """``met`` is None where a value is missing; ``values`` are this kernel's, ``action`` what follows;
    ``evidence`` is the weakest of what ``met`` was decided from."""

    situation: str
    met: bool | None
    values: str
    action: str
    evidence: str

    @property
    def answer(self) -> str:
        """``met`` in words."""
        return "unknown" if self.met is None else "met" if self.met else "not met"


#: Every situation of the matrix with what follows from it.
_SITUATIONS = (
    (
        "memory-bound, low ratio, below the cliff",
        "more reuse: larger tile, one more asynchronous stage while shared memory allows",
    ),
    (
        "memory-bound, high ratio, enough warps",
        "fewer bytes: algorithmic change, narrower types, better coalescing",
    ),
    ("compute-bound on FFMA", "tensor cores, fewer instructions beside the FFMAs"),
    ("compute-bound on HMMA/HGMMA", "near the roof: tighter schedule, wider instructions"),
    ("compute-bound on IMMA", "wider IMMA shapes, fewer conversions"),
    ("latency-bound", "more independent work: warps, accumulators, loads in flight"),
    ("shared memory above the cliff", "fewer bytes a block: the nearest cliff says how many"),
)
#: Percent of a roof that clocks above the table's can reach; beyond, two inputs do not belong together.
_MOST_ATTAINED = 120.0


def decision_rows(found: Sequence[tuple[bool | None, str, str]]) -> tuple[DecisionRow, ...]:
    """The matrix from (met, this kernel's values, evidence) of each situation, in the matrix's order."""
    return tuple(
        DecisionRow(situation, met, values, action, evidence)
        for (situation, action), (met, values, evidence) in zip(_SITUATIONS, found, strict=True)
    )


def both(*parts: bool | None) -> bool | None:
    """Whether all parts hold: no where one does not, unknown where one is not known."""
    return False if False in parts else None if None in parts else True


def _share(model: Model, *names: str) -> float:
    """The largest of some resources over the largest of all."""
    top = model.overlapped
    return max((model.cycles.get(name, 0.0) for name in names), default=0.0) / top if top else 0.0


def decide(
    model: Model, roof: Roofline, occupancy: OccupancyView | None, loops: tuple[LoopView, ...]
) -> tuple[DecisionRow, ...]:
    """All rows of the matrix."""
    hot = next((loop for loop in loops if loop.loads and loop.compute), None)
    ratio = hot.ratio if hot is not None else None
    top = LABELS.get(model.top, model.top) if model.cycles else "nothing"
    busy = f"longest busy: {top}"
    memory = model.top in _MEMORY if model.cycles else None
    low = None if ratio is None or hot is None else ratio < hot.high
    ratio_text = (
        "no loop with loads and arithmetic"
        if ratio is None or hot is None
        else (f"{hot.compute_name} to loads {ratio:.3g}:1 (thresholds {hot.low:.3g}:1 and {hot.high:.3g}:1)")
    )
    shared = None if occupancy is None else occupancy.ask.static_shared + occupancy.ask.dynamic_shared
    above = None if occupancy is None else "shared memory" in occupancy.found.limiters
    shared_text = (
        "registers unknown"
        if occupancy is None
        else (f"{shared:,} bytes a block, {occupancy.found.blocks} blocks an SM")
    )
    enough = (
        occupancy.sufficiency.enough if occupancy is not None and occupancy.sufficiency is not None else None
    )
    warps_text = (
        "no loop with loads"
        if enough is None or occupancy is None or occupancy.sufficiency is None
        else (f"{occupancy.sufficiency.active} warps, {occupancy.sufficiency.needed} needed")
    )
    main = roof.main or "no arithmetic"
    tensor = main.startswith("tensor_") and not main.startswith("tensor_int")
    integer = main.startswith("tensor_int")
    compute = (
        model.top in ("fp32", "fp64", "fp16", "tensor", "int", "special", "issue") if model.cycles else None
    )
    latency = model.top == "latency" if model.cycles else None

    main_text = f"most arithmetic: {roof.peak.label if roof.peak is not None else main}"
    return decision_rows(
        (
            (
                both(memory, low, None if above is None else not above),
                f"{busy}; {ratio_text}; {shared_text}",
                "modelled",
            ),
            (
                both(memory, None if low is None else not low, enough),
                f"{busy}; {ratio_text}; {warps_text}",
                "modelled",
            ),
            (both(compute, main in ("fp32", "fp64", "fp16")), f"{busy}; {main_text}", "modelled"),
            (both(compute, tensor), f"{busy}; {main_text}", "modelled"),
            (both(compute, integer), f"{busy}; {main_text}", "modelled"),
            (latency, f"{busy}; latency is {_share(model, 'latency'):.0%} of it; {warps_text}", "modelled"),
            (above, shared_text, "static"),
        )
    )


def verdict_text(model: Model, roof: Roofline, rows: tuple[DecisionRow, ...]) -> tuple[str, str]:
    """(sentence, severity) for the head of the page."""
    if not model.cycles:
        return "not decided: nothing was executed", "info"
    if model.nothing:
        return (
            f"Launch-bound: an SM works for {model.overlapped:,.0f} cycles and touches no memory; "
            "starting the kernel takes longer.",
            "info",
        )
    top = model.top
    ordered = sorted(model.cycles.items(), key=lambda item: -item[1])
    kind = (
        "Memory-bound"
        if top in _MEMORY
        else "Latency-bound"
        if top == "latency"
        else "Contention-bound"
        if top == "atomics"
        else "Shared-memory-bound"
        if top == "shared"
        else "Compute-bound"
    )
    next_ = (
        f"; next is {LABELS[ordered[1][0]]} at {ordered[1][1] / ordered[0][1]:.0%} of it"
        if len(ordered) > 1
        else ""
    )
    longest = f"{ordered[0][1]:,.0f} cycles an SM"
    text = (
        f"{kind}: waiting for dependent instructions takes longest, {longest}{next_}"
        if top == "latency"
        else f"{kind}: {LABELS[top]} take{'' if top in _PLURAL else 's'} longest, {longest}{next_}"
    )
    if top == "latency" and model.chain is not None:
        parts = model.chain.parts
        part = max(parts, key=lambda name: parts[name])
        share = model.chain.parts[part] / max(model.chain.cycles, 1)
        text += f". {share:.0%} of one warp's chain is {part}"
    if roof.intensity.value is not None and roof.main is not None and roof.main in roof.balances:
        text += (
            f". {figure(roof.intensity.value)} FLOP a unique byte against a balance of "
            f"{figure(roof.balances[roof.main])}"
        )
    if roof.requested.value is None and roof.requested.why_unknown:
        text += f". Memory is not weighed: {roof.requested.why_unknown}"
    if roof.attained.value is not None:
        text += f"; {figure(roof.attained.value)} % of the roof attained"
        if roof.attained.value > _MOST_ATTAINED:
            text += ", which no GPU can: the time, the problem or --gpu is another's"
    return text + ".", "info"


def tells(result: RunResult) -> bool:
    """Whether a run went far enough, and not wrong, for what was counted to say something of the kernel."""
    if result.complete:
        return True
    stop = result.stopped
    return result.blocks_executed > 0 and (stop is None or stop.kind in ("budget", "unsupported"))


def blocks_text(result: RunResult) -> str:
    """How much of a partial run was counted: ``3 of 128 blocks``."""
    return f"{result.blocks_executed:,} of {result.launch.blocks:,} blocks"


def undecided(text: str, result: RunResult) -> tuple[str, str]:
    """(sentence, severity) for a run that did not end: ``text`` holds of what was executed alone."""
    stop = result.stopped
    why = f" ({stop.message.split(';')[0][:_MOST_WHY]})" if stop is not None else ""
    so_far = text[:1].lower() + text[1:]
    return (
        f"Not decided: the run stopped after {blocks_text(result)}{why}. As far as it ran: {so_far}",
        "warning",
    )
