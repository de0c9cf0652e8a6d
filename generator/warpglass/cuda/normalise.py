"""Take out of compiler output whatever depends on the folder in which it ran."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["SOURCE_LINK", "normalise_output", "normalise_ptx", "stamp_files"]

#: The link in the compile folder that stands for the folder of the source.
SOURCE_LINK = "source"

_FILE = re.compile(r'^([ \t]*\.file[ \t]+\d+[ \t]+")([^"\n]*)("(?:[ \t]*,[ \t]*\d+[ \t]*,[ \t]*\d+)?)', re.M)
_TOOLKIT = re.compile(r"^.*/bin/\.\./(?:targets/[^/]+/)?include/(.*)$")
_SEPARATOR = r"\s*(?:,|\n\s*\.b8)\s*"
_HEX_BYTE = r"(?:4[89]|5[0-7]|9[7-9]|10[0-2])"


def normalise_ptx(
    ptx: str, folder: Path, source: str, roots: Mapping[str, Path]
) -> tuple[str, dict[str, Path]]:
    """The text with folder prefixes and the path hash taken out, and where each ``.file`` lies.

    ``folder`` is where nvcc ran, ``source`` the name of the file in it; ``roots`` maps the links in
    ``folder`` to what they stand for. nvcc builds the names of internal functions from a hash of the
    source's whole path, ``_<hash>_<length>_<file name>_<hash of the text>``: the first hash becomes zeros,
    in names as in the strings of the debug sections.
    """
    files: dict[str, Path] = {}

    def rename(match: re.Match[str]) -> str:
        name, path = _shown(match.group(2), folder, source, roots)
        files[name] = path
        return match.group(1) + name + match.group(3)

    return _zero_hash(_FILE.sub(rename, ptx), source), files


def _shown(path: str, folder: Path, source: str, roots: Mapping[str, Path]) -> tuple[str, Path]:
    """A name for the reader and the place of a file that ``.file`` calls ``path``."""
    prefix = f"{folder}/"
    inside = path[len(prefix) :] if path.startswith(prefix) else path
    if inside == source:
        return source, roots[SOURCE_LINK] / source
    if not inside.startswith("/"):
        head, _, tail = inside.partition("/")
        if head in roots and tail:
            place = Path(os.path.normpath(roots[head] / tail))
            name = tail if head == SOURCE_LINK else f"{head}/{tail}"
            return posixpath.normpath(name), place
        return inside, folder / inside
    toolkit = _TOOLKIT.match(inside)
    return (f"cuda/{toolkit.group(1)}" if toolkit else inside), Path(inside)


def _zero_hash(ptx: str, source: str) -> str:
    mangled = re.sub(r"\W", "_", source, flags=re.A)
    in_names = re.compile(rf"(?<=_)[0-9a-f]{{8}}(?=_\d+_{re.escape(mangled)}_[0-9a-f]{{8}})")
    spelled = _SEPARATOR.join(str(byte) for byte in f"_{len(mangled)}_{mangled}_".encode())
    in_bytes = re.compile(
        rf"(?<=\b95)({_SEPARATOR}{_HEX_BYTE}(?:{_SEPARATOR}{_HEX_BYTE}){{7}})(?={_SEPARATOR}{spelled})"
    )
    ptx = in_names.sub("0" * 8, ptx)
    return in_bytes.sub(lambda match: re.sub(_HEX_BYTE + r"\b", "48", match.group(1)), ptx)


def stamp_files(ptx: str) -> str:
    """The text for ptxas: every ``.file`` with a time and size of its own, lines as before.

    Without them ptxas asks the file system and writes the file's time into the cubin.
    """
    return _FILE.sub(lambda match: f'{match.group(1)}{match.group(2)}", 1, 1', ptx)


def normalise_output(text: str, folder: Path, source: str) -> str:
    """Compiler messages with the compile folder and the link to the source's folder taken out."""
    text = text.replace(f"{folder}/", "").replace(str(folder), ".")
    text = re.sub(rf"(?<![\w/.-]){SOURCE_LINK}/", "", text)
    mangled = re.sub(r"\W", "_", source, flags=re.A)
    return re.sub(rf"(?<=_)[0-9a-f]{{8}}(?=_\d+_{re.escape(mangled)}_[0-9a-f]{{8}})", "0" * 8, text)
