"""Machine code: listings, cubins and what they say about themselves.

``parse(text)`` reads a listing, ``load(path or bytes)`` any file that holds machine code.
"""

from __future__ import annotations

from warpglass.sass.listing import parse
from warpglass.sass.model import Control, Function, Instruction, Module

__all__ = ["Control", "Function", "Instruction", "Module", "parse"]
