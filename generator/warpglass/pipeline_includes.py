"""Headers that a pipeline header includes by a path beside it: what its calls lead into."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from warpglass.errors import InputError
from warpglass.files import read_file

__all__ = ["MOST_INCLUDES", "included_headers"]

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([\w./+-]{1,200})"', re.MULTILINE)
_USEFUL = re.compile(rb"producer_acquire|consumer_wait|NamedBarrier|named_barrier|_barrier_idx")
_SUFFIXES = {".hpp", ".h", ".cuh", ".hh", ".inl"}
_LARGEST = 4 << 20
MOST_INCLUDES = 24


def included_headers(
    files: Sequence[tuple[Path, bytes]], include_dirs: Sequence[Path] = ()
) -> list[tuple[str, bytes]]:
    """(name, content) of the headers that ``files`` include, one level deep, that speak of pipelines.

    A path is looked for in the including file's folder, in that folder's parent and in ``include_dirs``, and
    must lie below one of these. CUTLASS's and CuTe's own headers are known and not read.
    """
    found: dict[Path, tuple[str, bytes]] = {}
    given = {path.resolve() for path, _ in files}
    for path, content in files:
        roots = [path.parent.resolve(), path.parent.resolve().parent, *(d.resolve() for d in include_dirs)]
        for match in _INCLUDE.finditer(content):
            name = match.group(1).decode("ascii", "replace")
            if name.startswith(("cutlass/", "cute/")) or Path(name).suffix.lower() not in _SUFFIXES:
                continue
            place = _place(name, roots)
            if place is None or place in given or place in found or len(found) >= MOST_INCLUDES:
                continue
            try:
                text = read_file(place, _LARGEST)
            except InputError:
                continue
            if _USEFUL.search(text):
                found[place] = (place.name, text)
    return list(found.values())


def _place(name: str, roots: Sequence[Path]) -> Path | None:
    """The file that ``name`` means, below one of the roots (of the first two, below the parent)."""
    for root in roots:
        place = (root / name).resolve()
        if place.is_file() and any(place.is_relative_to(one) for one in roots[1:]):
            return place
    return None
