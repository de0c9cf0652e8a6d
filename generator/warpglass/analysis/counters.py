"""Counters under the profiler's own names, from an executed SASS run.

Each rule says which instructions count and which counter column is summed. Where a rule was checked
against published or stored profiler results its docstring entry in docs/counters.md names them; a pipe
whose opcode mapping has no source is ``unknown``, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warpglass.analysis.listing import Listing, ListingRow
from warpglass.analysis.number import Number
from warpglass.machine.result import RunResult

__all__ = ["BRANCH_OPCODES", "CounterRule", "RULES", "counters", "opcode_counts"]

#: What ``smsp__inst_executed_op_branch`` counts: in stored reports it equals the sum of exactly these
#: opcodes' executions (BSSY and BAR are not among them); checked on five kernels of two architectures.
BRANCH_OPCODES = frozenset(
    {"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "BSYNC", "BREAK", "WARPSYNC", "YIELD"}
)  # fmt: skip
_FLOAT_OPS = ("FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2", "HFMA2")
#: Opcodes of the FMA pipe on compute capability 12.x, from published counters of GB10 (sm_121). The kernels
#: behind it executed none of the other floating-point opcodes, so a run that does is not decided by it.
_FMA_PIPE_12 = frozenset({"FFMA", "IMAD", "HFMA2"})
_FMA_PIPE_OPEN = frozenset({"FADD", "FMUL", "FFMA2", "FADD2", "FMUL2", "HADD2", "HMUL2"})

Select = Callable[[ListingRow], bool]


@dataclass(frozen=True, slots=True)
class CounterRule:
    """One counter: the rows it selects, the column it sums, its evidence and the rule in words."""

    name: str
    column: str
    unit: str
    select: Select
    rule: str
    evidence: str = "executed"
    group: str = "instructions"


def base_of(row: ListingRow) -> str:
    """The opcode without modifiers."""
    return row.opcode.split(".", 1)[0]


def _ops(*names: str) -> Select:
    wanted = frozenset(names)
    return lambda row: base_of(row) in wanted


def _every(row: ListingRow) -> bool:
    return True


def _inst(suffix: str, select: Select, what: str) -> tuple[CounterRule, CounterRule]:
    """Both spellings: ``op_`` counts predicated-off instructions, ``sass_…op_`` those with a lane on."""
    return (
        CounterRule(
            f"smsp__inst_executed_op_{suffix}.sum",
            "warp_executed",
            "inst",
            select,
            f"warp instructions {what}, predicated-off ones included",
        ),
        CounterRule(
            f"smsp__sass_inst_executed_op_{suffix}.sum",
            "warp_on",
            "inst",
            select,
            f"warp instructions {what} with at least one lane on",
        ),
    )


def _l1(space: str, operation: str, select: Select) -> tuple[CounterRule, CounterRule]:
    tail = f"pipe_lsu_mem_{space}_op_{operation}.sum"
    what = f"{space} {operation}"
    return (
        CounterRule(
            f"l1tex__t_requests_{tail}", "requests", "request", select,
            f"{what} instructions with a live lane", group="L1TEX",
        ),
        CounterRule(
            f"l1tex__t_sectors_{tail}", "sectors", "sector", select,
            f"distinct 32-byte sectors of each {what} request, over the full access width", group="L1TEX",
        ),
    )  # fmt: skip


def _shared(operation: str, select: Select) -> tuple[CounterRule, ...]:
    rule = (
        "largest number of distinct 4-byte words in one bank, by phase: whole warp to 32 bits, halves at 64, "
        "quarters at 128"
    )
    return (
        CounterRule(
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{operation}.sum",
            "wavefronts", "", select, rule, "modelled", "shared memory",
        ),
        CounterRule(
            f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{operation}.sum",
            "wavefronts", "", select, rule, "modelled", "shared memory",
        ),
    )  # fmt: skip


RULES: tuple[CounterRule, ...] = (
    CounterRule("smsp__inst_executed.sum", "warp_executed", "inst", _every,
                "every issued warp instruction, predicated off or not"),
    CounterRule("sm__inst_executed.sum", "warp_executed", "inst", _every, "the same, summed by SM"),
    CounterRule("smsp__thread_inst_executed.sum", "thread_active", "inst", _every,
                "active lanes of every warp instruction, predicated-off lanes included"),
    CounterRule("smsp__thread_inst_executed_pred_on.sum", "thread_executed", "inst", _every,
                "lanes on after the guard"),
    CounterRule("smsp__inst_executed_op_branch.sum", "warp_executed", "inst", _ops(*BRANCH_OPCODES),
                "branches, calls, exits and convergence-barrier instructions but BSSY"),
    *_inst("global_ld", _ops("LDG"), "loading from global memory (LDG)"),
    *_inst("global_st", _ops("STG"), "storing to global memory (STG)"),
    *_inst("local_ld", _ops("LDL"), "loading from local memory (LDL)"),
    *_inst("local_st", _ops("STL"), "storing to local memory (STL)"),
    *_inst("shared_ld", _ops("LDS"), "loading from shared memory (LDS)"),
    *_inst("shared_st", _ops("STS"), "storing to shared memory (STS)"),
    CounterRule("smsp__inst_executed_op_shared_atom.sum", "warp_executed", "inst", _ops("ATOMS"),
                "shared-memory atomics (ATOMS)"),
    CounterRule("smsp__inst_executed_op_global_red.sum", "warp_executed", "inst", _ops("RED", "REDG"),
                "global reductions without result (RED)"),
    CounterRule("smsp__inst_executed_op_ldgsts.sum", "warp_executed", "inst", _ops("LDGSTS"),
                "asynchronous copies (LDGSTS): neither LDG nor STS"),
    CounterRule("smsp__inst_executed_op_ldsm.sum", "warp_executed", "inst", _ops("LDSM"),
                "matrix loads from shared memory (LDSM)"),
    CounterRule("smsp__inst_executed_op_shared_stsm.sum", "warp_executed", "inst", _ops("STSM"),
                "matrix stores to shared memory (STSM)"),
    CounterRule("smsp__inst_executed_op_texture.sum", "warp_executed", "inst",
                _ops("TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ"), "texture instructions"),
    *(
        CounterRule(
            f"smsp__sass_thread_inst_executed_op_{op.lower().rstrip('2')}_pred_on.sum",
            "thread_executed", "inst", _ops(op), f"{op} lanes on after the guard", group="floating point",
        )
        for op in _FLOAT_OPS
    ),
    *_l1("global", "ld", _ops("LDG")),
    *_l1("global", "st", _ops("STG")),
    *_l1("global", "red", _ops("RED", "REDG")),
    *_l1("global", "atom", _ops("ATOMG")),
    *_l1("local", "ld", _ops("LDL")),
    *_l1("local", "st", _ops("STL")),
    *_shared("ld", _ops("LDS")),
    *_shared("st", _ops("STS")),
    *_shared("ldsm", _ops("LDSM"))[1:],
)  # fmt: skip

#: Pipes that the profiler counts and for which no sourced opcode mapping exists, by compute capability.
PIPES = ("adu", "alu", "cbu", "fma", "fp16", "fp64", "lsu", "tex", "uniform", "xu")


def counters(listing: Listing, result: RunResult, arch: str) -> tuple[tuple[str, Number], ...]:
    """(group, number) for every counter, unknown with a reason where run or mapping does not tell."""
    why = None if result.complete else (result.stopped.message if result.stopped else "the run was cut short")
    scaled = result.scaled is not None
    out: list[tuple[str, Number]] = []
    for rule in RULES:
        picked = [pc for pc, row in enumerate(listing.rows) if rule.select(row)]
        value = int(result.counters[rule.column][picked].sum()) if picked else 0
        out.append(
            (
                rule.group,
                Number(
                    rule.name,
                    None if why else value,
                    rule.unit,
                    rule.evidence,
                    rule.rule,
                    scaled=scaled,
                    why_unknown=why,
                ),
            )
        )
    out.extend(_conflicts(listing, result, why, scaled))
    out.extend(_ratios(result, why, scaled))
    out.extend(_pipes(listing, result, arch, why, scaled))
    return tuple(out)


def _conflicts(
    listing: Listing, result: RunResult, why: str | None, scaled: bool
) -> list[tuple[str, Number]]:
    out = []
    for operation, opcode in (("ld", "LDS"), ("st", "STS"), ("atom", "ATOMS")):
        picked = [pc for pc, row in enumerate(listing.rows) if base_of(row) == opcode]
        waves = int(result.counters["wavefronts"][picked].sum()) if picked else 0
        ideal = int(result.counters["wavefronts_ideal"][picked].sum()) if picked else 0
        name = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{operation}.sum"
        rule = "wavefronts - phases that have a live lane; hardware reads 0.1 to 6 % more, from arbitration"
        number = Number(
            name,
            None if why else waves - ideal,
            "",
            "modelled",
            rule,
            scaled=scaled,
            why_unknown=why,
        )
        out.append(("shared memory", number))
    return out


def _ratios(result: RunResult, why: str | None, scaled: bool) -> list[tuple[str, Number]]:
    totals = result.counts
    out = []
    for name, column in (
        ("smsp__thread_inst_executed_per_inst_executed.ratio", "thread_active"),
        ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "thread_executed"),
    ):
        executed = totals["warp_executed"]
        reason = why or (None if executed else "no instruction was executed")
        number = Number(
            name,
            None if reason else totals[column] / executed,
            "",
            "executed",
            f"{column.replace('_', ' ')} / warp instructions",
            scaled=scaled,
            why_unknown=reason,
        )
        out.append(("instructions", number))
    return out


def _pipes(
    listing: Listing, result: RunResult, arch: str, why: str | None, scaled: bool
) -> list[tuple[str, Number]]:
    counts = {op: warp for op, (warp, _) in opcode_counts(listing, result).items()}
    out = []
    for pipe in PIPES:
        name = f"sm__inst_executed_pipe_{pipe}.sum"
        value: int | None = None
        rule = "executions of the pipe's opcodes"
        reason = f"no source says which opcodes run on this pipe of {arch}; a profiler run would tell"
        if pipe == "fma" and arch.startswith("sm_12"):
            rule = "FFMA + IMAD (all forms) + HFMA2"
            undecided = sorted(_FMA_PIPE_OPEN & counts.keys())
            if not undecided:
                value = sum(counts.get(op, 0) for op in _FMA_PIPE_12)
            else:
                reason = f"no source says whether {', '.join(undecided)} run on this pipe"
        number = Number(
            name,
            None if why else value,
            "inst",
            "executed",
            rule,
            scaled=scaled,
            why_unknown=why or (reason if value is None else None),
        )
        out.append(("pipes", number))
    return out


def opcode_counts(listing: Listing, result: RunResult) -> Mapping[str, tuple[int, int]]:
    """``sass__inst_executed_per_opcode`` and its thread counterpart: base opcode to (warp, lanes on)."""
    out: dict[str, tuple[int, int]] = {}
    warp, lanes = result.counters["warp_executed"], result.counters["thread_executed"]
    for pc, row in enumerate(listing.rows):
        if warp[pc]:
            before = out.get(base_of(row), (0, 0))
            out[base_of(row)] = (before[0] + int(warp[pc]), before[1] + int(lanes[pc]))
    return dict(sorted(out.items(), key=lambda item: (-item[1][0], item[0])))
