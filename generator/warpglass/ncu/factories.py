"""Groups of metrics by what one asks about: names for the profiler, labels for people.

``launch() + dram()`` collects and asserts with the same object: ``names()`` is what ``--metrics`` takes,
``labels()`` what a table shows (default roll-ups left out), ``values(launch)`` what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpglass.errors import UsageError
from warpglass.ncu.model import Launch, Value

__all__ = [
    "MetricGroup", "MetricRef", "dram", "executed", "l1tex", "launch", "metrics", "stalls", "tensor",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetricRef:
    """One metric: its full ``name`` and a readable ``label``."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """An ordered set of metrics; groups add with ``+``, the first label of a name stays."""

    refs: tuple[MetricRef, ...]

    def names(self) -> tuple[str, ...]:
        """Names for the profiler."""
        return tuple(ref.name for ref in self.refs)

    def labels(self) -> tuple[str, ...]:
        """Labels for people, in the order of :meth:`names`."""
        return tuple(ref.label for ref in self.refs)

    def values(self, launch: Launch) -> Mapping[str, Value]:
        """Values of a launch by label; None where it was not collected."""
        return {ref.label: launch.get(ref.name) for ref in self.refs}

    def __add__(self, other: MetricGroup) -> MetricGroup:
        merged = {ref.name: ref for ref in (*other.refs, *self.refs)}
        order = dict.fromkeys(ref.name for ref in (*self.refs, *other.refs))
        return MetricGroup(tuple(merged[name] for name in order))

    def __iter__(self) -> Iterator[MetricRef]:
        return iter(self.refs)

    def __len__(self) -> int:
        return len(self.refs)


def _label(name: str, default: str = "sum") -> str:
    """The name in words, its default roll-up left out."""
    return name.removesuffix(f".{default}")


def metrics(*names: str) -> MetricGroup:
    """Any metrics by their full names."""
    return MetricGroup(tuple(MetricRef(name, _label(name)) for name in names))


def launch() -> MetricGroup:
    """Grid, block, registers, shared memory, duration and occupancy."""
    return MetricGroup(
        (
            MetricRef("launch__grid_size", "grid size"),
            MetricRef("launch__block_size", "block size"),
            MetricRef("launch__registers_per_thread", "registers per thread"),
            MetricRef("launch__shared_mem_per_block_static", "static shared memory"),
            MetricRef("launch__shared_mem_per_block_dynamic", "dynamic shared memory"),
            MetricRef("launch__waves_per_multiprocessor", "waves per SM"),
            MetricRef("gpu__time_duration.sum", "duration"),
            MetricRef("sm__maximum_warps_per_active_cycle_pct", "theoretical occupancy"),
            MetricRef("sm__warps_active.avg.pct_of_peak_sustained_active", "achieved occupancy"),
        )
    )


def executed() -> MetricGroup:
    """Executed warp and thread instructions, and lanes of each."""
    return MetricGroup(
        (
            MetricRef("smsp__inst_executed.sum", "warp instructions"),
            MetricRef("smsp__thread_inst_executed.sum", "thread instructions"),
            MetricRef("smsp__thread_inst_executed_pred_on.sum", "thread instructions, predicate on"),
            MetricRef("smsp__thread_inst_executed_per_inst_executed.ratio", "active lanes"),
            MetricRef("smsp__inst_issued.sum", "issued instructions"),
        )
    )


_SPACES = ("global", "local", "shared")
_OPS = {"load": "ld", "store": "st"}
_L1TEX = ("instructions", "requests", "sectors")


def l1tex(
    spaces: tuple[str, ...] = _SPACES,
    ops: tuple[str, ...] = tuple(_OPS),
    what: tuple[str, ...] = _L1TEX,
) -> MetricGroup:
    """Loads and stores of memory spaces: instructions, requests, sectors (shared memory: wavefronts).

    Raises :class:`UsageError` for a word that is none of these.
    """
    for given, known in ((spaces, _SPACES), (ops, tuple(_OPS)), (what, _L1TEX)):
        wrong = [word for word in given if word not in known]
        if wrong:
            raise UsageError(f"{wrong[0]!r} is not one of {', '.join(known)}")
    refs = []
    for space in spaces:
        for op in ops:
            short = _OPS[op]
            place = f"pipe_lsu_mem_{space}_op_{short}"
            names = {
                "instructions": f"smsp__sass_inst_executed_op_{space}_{short}.sum",
                "requests": f"l1tex__t_requests_{place}.sum",
                "sectors": f"l1tex__t_sectors_{place}.sum",
            }
            labels = {kind: f"{space} {op} {kind}" for kind in names}
            if space == "shared":
                # Shared memory has no tag stage: its work is counted in passes of the data stage.
                names["requests"] = ""
                names["sectors"] = f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{short}.sum"
                labels["sectors"] = f"{space} {op} wavefronts"
            refs += [MetricRef(names[kind], labels[kind]) for kind in what if names[kind]]
    return MetricGroup(tuple(refs))


_STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip


def stalls() -> MetricGroup:
    """Warps stalled for each reason, per issued instruction."""
    return MetricGroup(
        tuple(
            MetricRef(
                f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio",
                f"stalled: {reason.replace('_', ' ')}",
            )
            for reason in _STALLS
        )
    )


def dram() -> MetricGroup:
    """Bytes and bandwidth of device memory, and how busy it was."""
    return MetricGroup(
        (
            MetricRef("dram__bytes_read.sum", "DRAM bytes read"),
            MetricRef("dram__bytes_write.sum", "DRAM bytes written"),
            MetricRef("dram__bytes_read.sum.per_second", "DRAM read bandwidth"),
            MetricRef("dram__bytes_write.sum.per_second", "DRAM write bandwidth"),
            MetricRef("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM throughput"),
        )
    )


def tensor() -> MetricGroup:
    """How busy the tensor cores were, and their instructions."""
    return MetricGroup(
        (
            MetricRef("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor pipe busy"),
            MetricRef("sm__inst_executed_pipe_tensor.sum", "tensor instructions"),
            MetricRef("sm__inst_executed_pipe_tensor_op_hmma.sum", "half-precision matrix instructions"),
            MetricRef("sm__inst_executed_pipe_tensor_op_imma.sum", "integer matrix instructions"),
            MetricRef("sm__inst_executed_pipe_tensor_op_dmma.sum", "double-precision matrix instructions"),
        )
    )
