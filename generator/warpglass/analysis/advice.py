"""Ranked advice: every rule is asked, and what it says is ordered by what it would gain."""

from __future__ import annotations

from dataclasses import replace

from warpglass.analysis.advice_atomics import ATOMIC_RULES
from warpglass.analysis.advice_compute import COMPUTE_RULES
from warpglass.analysis.advice_last import LAST_RULES
from warpglass.analysis.advice_launch import LAUNCH_RULES
from warpglass.analysis.advice_memory import MEMORY_RULES
from warpglass.analysis.advice_model import LEAST_GAIN, Advice, Case
from warpglass.analysis.advice_products import PRODUCT_RULES
from warpglass.analysis.advice_reuse import REUSE_RULES

__all__ = ["LEAST_GAIN", "Advice", "Case", "advise"]

#: Said whatever it gains: the repair costs nothing, or nothing else is worth a word before it.
_FREE = frozenset({"alignment", "launch-too-small"})
#: Advice that another makes pointless or says already: what is copied asynchronously is in flight, an
#: implicit
#: GEMM is tiled and made for the tensor cores, shuffles need neither barriers nor padding.
_COVERED = {
    "memory-latency": ("async-copy", "coalescing"),
    "conversions": ("double",),
    "tensor-cores": ("implicit-gemm",),
    "larger-tile": ("implicit-gemm",),
}


def advise(case: Case) -> tuple[Advice, ...]:
    """Advice, foremost first: by the middle of its gain, then by what its best case gives.

    The same strategy at several places is one advice with all of its lines.
    """
    if not case.model.cycles or (case.counted == "executed" and case.model.nothing):
        return ()
    found = [
        one
        for rules in (MEMORY_RULES, ATOMIC_RULES, REUSE_RULES, PRODUCT_RULES, COMPUTE_RULES, LAUNCH_RULES)
        for rule in rules
        for one in rule(case)
    ]
    merged: dict[str, Advice] = {}
    for one in sorted(found, key=lambda a: (-a.score, -a.gain[1], a.id)):
        if one.gain[1] < LEAST_GAIN and one.id not in _FREE:
            continue
        first = merged.get(one.id)
        if first is None:
            merged[one.id] = one
        else:
            lines = tuple(dict.fromkeys((*first.lines, *one.lines)))
            merged[one.id] = replace(first, lines=lines, pcs=tuple(dict.fromkeys((*first.pcs, *one.pcs))))
    told = tuple(
        one for name, one in merged.items() if not any(by in merged for by in _COVERED.get(name, ()))
    )
    return told or tuple(one for rule in LAST_RULES for one in rule(case))
