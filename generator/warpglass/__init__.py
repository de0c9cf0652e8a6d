"""Warpglass: self-contained HTML reports that replay a CUDA kernel, without a GPU."""

from __future__ import annotations

__version__ = "0.1.0"
