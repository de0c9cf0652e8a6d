"""Executes a launch: lanes, memories, barriers, convergence and one trace, for two instruction sets."""

from __future__ import annotations

from warpglass.machine.execute import execute, find_kernel
from warpglass.machine.launch import Argument, Dim3, Launch
from warpglass.machine.result import COUNTERS, RunResult, Stop
from warpglass.machine.runoptions import RunOptions
from warpglass.machine.sass_execute import execute_sass

__all__ = [
    "COUNTERS",
    "Argument",
    "Dim3",
    "Launch",
    "RunOptions",
    "RunResult",
    "Stop",
    "execute",
    "execute_sass",
    "find_kernel",
]
