"""The one door of this folder that reads files."""

from __future__ import annotations

from pathlib import Path

from warpglass.files import read_file
from warpglass.ptx.model import Module
from warpglass.ptx.parser import parse

__all__ = ["MAX_BYTES", "decode", "load"]

#: Larger texts are refused: no compiler writes them, and memory must stay bounded.
MAX_BYTES = 512 << 20


def decode(data: bytes) -> str:
    """Bytes of a PTX file as text: UTF-8, with UTF-16 where a byte-order mark says so.

    Bytes that are not UTF-8 (old compilers copied file names in local encodings) become U+FFFD.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace")


def load(source: str | Path | bytes, name: str | None = None) -> Module:
    """Read a file (or take its bytes) and parse it. Raises :class:`InputError` where it cannot be read."""
    if isinstance(source, bytes):
        return parse(decode(source), name or "<bytes>")
    path = Path(source)
    return parse(decode(read_file(path, MAX_BYTES)), name or str(source))
