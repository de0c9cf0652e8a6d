"""Values of special registers, for both instruction sets under their PTX names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpglass.machine.state import State

__all__ = ["DYNAMIC", "container_of_special", "special_values"]

#: Specials that differ from read to read.
DYNAMIC = frozenset({"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"})

_WIDE = frozenset({"%clock64", "%globaltimer", "%gridid", "%current_graph_exec"})

#: Multiprocessors that blocks are dealt to, so that %smid and %nsmid fit each other.
SM_COUNT = 128


def container_of_special(name: str) -> str:
    """Register container of a special register."""
    if name == "%is_explicit_cluster":
        return "pred"
    return "b64" if name in _WIDE or (name.startswith("%pm") and name.endswith("_64")) else "b32"


def _axis(linear: npt.NDArray[np.int64], extents: tuple[int, int, int], axis: str) -> npt.NDArray[np.int64]:
    x, y, _ = extents
    if axis == "x":
        return linear % x
    if axis == "y":
        return linear // x % y
    if axis == "z":
        return linear // (x * y)
    return np.zeros_like(linear)


def _component(extents: tuple[int, int, int], axis: str) -> int:
    return extents["xyz".index(axis)] if axis in "xyz" else 0


def special_values(state: State, name: str) -> npt.NDArray[Any]:
    """The value of special register ``name`` for every lane: ``[W, 32]``."""
    dtype: Any = {"pred": np.bool_, "b32": np.uint32, "b64": np.uint64}[container_of_special(name)]
    value = _value(state, name)
    out: npt.NDArray[Any] = np.array(np.broadcast_to(value, state.shape)).astype(dtype)
    return out


def _value(s: State, name: str) -> Any:
    launch = s.launch
    base, _, axis = name.partition(".")
    warp = np.arange(s.W, dtype=np.int64)
    lane = np.arange(32, dtype=np.int64)
    blocks = np.repeat(s.blocks, s.wpb)
    if base == "%tid":
        linear = (warp % s.wpb)[:, None] * 32 + lane
        return _axis(linear, launch.block, axis)
    if base == "%ntid":
        return _component(launch.block, axis)
    if base == "%nctaid":
        return _component(launch.grid, axis)
    if base == "%ctaid":
        return _axis(blocks, launch.grid, axis)[:, None]
    if base in _CLUSTER:
        return _CLUSTER[base](blocks, launch, axis)
    if base == "%laneid":
        return lane
    if base == "%warpid":
        return (warp % s.wpb)[:, None]
    if base == "%warpsz":
        return 32
    if base == "%nwarpid":
        return 64
    if base == "%smid":
        return (blocks % SM_COUNT)[:, None]
    if base == "%nsmid":
        return SM_COUNT
    if base.startswith("%lanemask_"):
        return _lanemask(base[10:], lane)
    if base == "%total_smem_size":
        return s.shared_bytes
    if base == "%aggr_smem_size":
        return s.shared_bytes
    if base == "%dynamic_smem_size":
        return launch.shared_bytes
    if base == "%gridid":
        return 1
    if base.startswith("%envreg"):
        return s.run_state.extra.get(base, 0)
    # %reserved_smem_*, %pm*, %current_graph_exec and what newer versions add.
    return 0


def _lanemask(kind: str, lane: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    one = np.int64(1) << lane
    return {
        "eq": one, "lt": one - 1, "le": 2 * one - 1,
        "gt": 0xFFFFFFFF - (2 * one - 1), "ge": 0xFFFFFFFF - (one - 1),
    }.get(kind, one * 0)  # fmt: skip


def _cluster_parts(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> tuple[Any, Any]:
    """Block index along ``axis`` and cluster extent along it."""
    return _axis(blocks, launch.grid, axis), _component(launch.cluster, axis) or 1


def cluster_rank(blocks: npt.NDArray[np.int64], launch: Any) -> npt.NDArray[np.int64]:
    """Rank of each block in its cluster."""
    x, y, z = launch.cluster
    bx, by, bz = (_axis(blocks, launch.grid, a) for a in "xyz")
    return np.asarray(bx % x + x * (by % y + y * (bz % z)), dtype=np.int64)


def _ranks(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    return cluster_rank(blocks, launch)[:, None]


def _count(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    x, y, z = launch.cluster
    return x * y * z


def _inside(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    at, extent = _cluster_parts(blocks, launch, axis)
    return (at % extent)[:, None]


def _which(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    at, extent = _cluster_parts(blocks, launch, axis)
    return (at // extent)[:, None]


def _extent(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    return _component(launch.cluster, axis)


def _clusters(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    if axis not in "xyz":
        return 0
    index = "xyz".index(axis)
    return launch.grid[index] // launch.cluster[index]


def _explicit(blocks: npt.NDArray[np.int64], launch: Any, axis: str) -> Any:
    return launch.cluster != (1, 1, 1)


_CLUSTER = {
    "%clusterid": _which, "%nclusterid": _clusters, "%cluster_ctaid": _inside, "%cluster_nctaid": _extent,
    "%cluster_ctarank": _ranks, "%cluster_nctarank": _count, "%is_explicit_cluster": _explicit,
}  # fmt: skip
