"""Machine code: listings, cubins and what they say about themselves.

``parse(text)`` reads a listing, ``load(path or bytes)`` any file that holds machine code.
"""

from __future__ import annotations

from warpglass.sass.compact import compact
from warpglass.sass.link import Link, link
from warpglass.sass.listing import parse
from warpglass.sass.load import load
from warpglass.sass.model import Control, Frame, Function, Instruction, Module

__all__ = [
    "Control", "Frame", "Function", "Instruction", "Link", "Module", "compact", "link", "load", "parse",
]  # fmt: skip
