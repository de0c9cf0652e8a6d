"""What names in headers usually stand for: switches of attention kernels, sizes of warps, calls that count.

A switch that the headers leave to an instantiation is taken as the ordinary dense forward kernel has it,
recorded as a decision, and can be decided otherwise by its name (``--assume Is_causal``).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CALLS", "FLAGS", "NUMBERS", "TURNS", "WORK"]

#: Switch: its usual value. FlashAttention-3 (mainloop_fwd_sm90_tma_gmma_ws.hpp:31-90), flashinfer
#: (attention/hopper/prefill_sm90.cuh), CUTLASS examples 77 and 88.
FLAGS: Mapping[str, bool] = {
    "IntraWGOverlap": True, "UseSchedulerBarrier": True, "MmaPV_is_RS": True, "Use_TMA_O": True,
    "Is_causal": False, "Is_local": False, "Has_softcap": False, "Varlen": False, "PagedKVNonTMA": False,
    "AppendKV": False, "HasQv": False, "PackGQA": False, "Split": False, "V_colmajor": False, "Is_FP8": False,
    "LargeHeadDimV": False, "MmaPV_use_RS_WG1": False, "RescaleOBeforeGemm": False, "SameHeadDim": True,
    "CAUSAL": False, "LEFT_SLIDING_WINDOW": False, "MULTIITEMSCORING": False, "USE_TMA_LOAD_KV": True,
    "kIsPersistent": True, "kIsMainloopLocked": False, "kLoadsQSeparately": False, "kIsEpilogueLocked": False,
    "IsMla": False, "IsOrderLoadEpilogue": False,
}  # fmt: skip

#: Sizes that CUTLASS fixes (cutlass/cutlass.h) or that every such kernel has.
NUMBERS: Mapping[str, int] = {
    "NumThreadsPerWarp": 32, "NumThreadsPerWarpGroup": 128, "NumWarpsPerWarpGroup": 4,
    "NumMmaWarpGroups": 2, "NumMmaThreads": 256, "NumMmaThreadsQK": 256,
    "NumEpilogueThreads": 256, "NUM_MMA_THREADS": 256,
    "NUM_COPY_THREADS": 128, "NUM_WARPS": 12, "kOuterLoads": 1, "kHeadDim": 128, "StageCountQ": 2,
}  # fmt: skip

#: Calls whose value counts key blocks: all of them, or those that need a mask (none where dense).
CALLS: Mapping[str, str] = {
    "get_trip_count": "K", "get_unmasked_trip_count": "K", "get_num_kv_tiles": "K",
    "get_masked_trip_count": "0", "get_n_block_min_before_local_mask": "0",
}  # fmt: skip

#: Methods of a softmax object by what a warpgroup does in them.
WORK: Mapping[str, str] = {
    "online_softmax": "softmax", "online": "softmax", "update": "softmax", "step": "softmax",
    "rescale_o": "rescale", "finalize": "rescale", "tail": "rescale",
}  # fmt: skip

#: Turns that warpgroups take at the tensor core, where their class is in another header.
TURNS: Mapping[str, str] = {"barrier_sync": "sync", "barrier_arrive": "barrive"}
