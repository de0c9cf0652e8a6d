"""Control flow and liveness over either instruction set; knows no execution."""

from warpglass.flow.graph import Block, Cfg, Flow, build_cfg
from warpglass.flow.liveness import Access, Liveness, liveness
from warpglass.flow.loops import Loop
from warpglass.flow.ptx import PtxLiveness, ptx_cfg, ptx_liveness, reads_writes, register_units

__all__ = [
    "Access", "Block", "Cfg", "Flow", "Liveness", "Loop", "PtxLiveness", "build_cfg", "liveness", "ptx_cfg",
    "ptx_liveness", "reads_writes", "register_units",
]  # fmt: skip
