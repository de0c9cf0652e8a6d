"""Values of the interpreter: what a run of a header's functions computes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tree_sitter import Node

__all__ = ["BarrierRef", "Closure", "Op", "Pipe", "State", "Struct", "Unknown", "guess"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something a header does not say; ``path`` is how the source spells it."""

    path: str


@dataclass(slots=True)
class State:
    """A PipelineState (CUTLASS, pipeline/sm90_pipeline.hpp:171-247): index, phase and count."""

    stages: int
    index: int = 0
    phase: int = 0
    count: int = 0

    def advance(self, n: int) -> None:
        """Move on by ``n``; the phase turns over with each wrap."""
        passed = self.index + n
        self.index = passed % self.stages
        self.phase ^= (passed // self.stages) & 1
        self.count += n

    def copy(self) -> State:
        return State(self.stages, self.index, self.phase, self.count)


@dataclass(frozen=True, slots=True)
class Pipe:
    """A pipeline object, known by the name of the variable that holds it, and its class where declared."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class BarrierRef:
    """The barrier that ``producer_get_barrier`` gives."""

    pipe: str
    stage: int


@dataclass(slots=True)
class Struct:
    """An aggregate whose members are known by name or by place."""

    members: dict[str, Any] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    path: str = ""


@dataclass(frozen=True, slots=True)
class Closure:
    """A lambda with the scopes it was made in."""

    node: Node
    scopes: Any
    header: str


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a stream: what, at which pipe or barrier and stage, where in which header.

    ``kind`` is acquire, expect, copy, commit, wait, release, tail, mma, wgwait, sync, barrive, barrier_wait,
    barrier_arrive, order_wait, order_arrive, store, store_wait, softmax, rescale, tile, advance or call;
    ``count`` is how often the state of the operation has been advanced.
    """

    kind: str
    pipe: str = ""
    stage: int = -1
    phase: int = -1
    n: int = 0
    header: str = ""
    line: int = 0
    text: str = ""
    count: int = -1


_MAINLOOP_COUNTS = ("k_tile_count", "k_tiles", "num_k_tiles", "n_block_max", "n_block_count",
                    "mask_tile_count",
                    "trip_count", "k_tile_total", "num_tiles_k", "fusion_tile_count", "k_iters")  # fmt: skip


def plain_pipe(name: str) -> str:
    """A pipeline's name without the words that every such variable has."""
    base = name.rsplit(".", 1)[-1].rsplit("->", 1)[-1]
    return base.rstrip("_") or name


def guess(name: str, knobs: Mapping[str, int], type_: str = "") -> Any:
    """A value for a name that nothing declares: counts, states and pipelines are known by their names."""
    last = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1].rsplit("->", 1)[-1]
    low = last.lower()
    if last in knobs:
        return knobs[last]
    if low.endswith(("iter", "iterator")):
        return Unknown(name)
    if low.endswith("k_tile_count") or any(low.startswith(word) for word in _MAINLOOP_COUNTS):
        return knobs["K"]
    if ("pipelinestate" in type_.lower() or low.endswith(("_state", "state_")) or "smem_pipe_" in low
            or "pipe_read" in low or "pipe_write" in low or "pipe_release" in low):  # fmt: skip
        if "scale_d" in low or "tensormap" in low or low.endswith("producer_states"):
            return Unknown(name)
        producer = "write" in low or ("producer" in low and "consumer" not in low)
        return State(stages_of(f"{low} {type_.lower()}", knobs), 0, int(producer))
    if ("pipeline" in low or low.endswith("pipe")) and not low.endswith(
        ("params", "pipelines", "storage", "_s")
    ):
        return Pipe(plain_pipe(last), type_)
    if low in ("c_tile_count", "d_tile_count") and "NE" in knobs:
        return knobs["NE"]  # what get_load_pipe_increment and get_store_pipe_increment give: subtiles
    if low.startswith(("n_block_min", "n_block_new_min", "swa_begin_")):
        return 0
    if low.startswith("swa_end_"):
        return -1
    if low in ("kv_tile_idx_count", "num_kv_tiles"):
        return knobs["K"]
    if low in ("thread_idx", "work_idx") and low in knobs:
        return knobs[low]
    if low in ("pipelineasyncmmastages", "k_pipe_mmas"):
        return 1
    if low in ("stages", "k_pipe_max", "numstages", "kstages"):
        return knobs["S"]
    return Unknown(name)


def stages_of(text: str, knobs: Mapping[str, int]) -> int:
    """Stages of the pipeline that a state's or a type's name speaks of."""
    if "acc" in text:
        return knobs.get("A", 2)
    if "clc" in text or "sched" in text or "throttle" in text:
        return knobs.get("SS", 2)
    if "epi" in text:
        return max(1, knobs.get("SC", 0) or knobs.get("SD", 2))
    return knobs["S"]
