"""Warpglass: self-contained HTML reports that replay a CUDA kernel, without a GPU.

``make_report`` makes pages, ``run`` executes one kernel and gives its memory back.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpglass.api import make_report
    from warpglass.api_run import run

__version__ = "0.1.0"

__all__ = ["__version__", "make_report", "run"]

_LAZY = {"make_report": "warpglass.api", "run": "warpglass.api_run"}
_PACKAGES = frozenset({"cuda", "gpu", "ncu", "ptx", "sass"})


def __getattr__(name: str) -> Any:
    # Reading PTX must not pay for the writers, nor the other way round.
    if name in _PACKAGES:
        return import_module(f"warpglass.{name}")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
