"""The .ncu-rep container: header, blocks, and the messages inside (layout in docs/ncu.md).

Reads what is whole and says what is not: a truncated file gives every complete entry before the cut.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from google.protobuf.message import DecodeError

from warpglass.errors import FormatError
from warpglass.ncu.messages import message_class

__all__ = ["MAGIC", "Container", "read_container"]

MAGIC = b"NVR\0"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
#: Real headers are a few hundred kilobytes; anything beyond this is a broken or hostile length.
_MAX_HEADER = 64 << 20
#: Bytes of compressed data that are expanded at a time.
_PIECE = 1024
#: Entries a block may claim; the largest report seen holds 154 results.
_MAX_ENTRIES = 1_000_000
#: A result; real ones are a few megabytes, and what is decoded takes some thirty times the room.
_MAX_ENTRY = 256 << 20


@dataclass(slots=True)
class Container:
    """Decoded messages of a file, in file order. ``problem`` says where and why reading ended early.

    ``ranges`` counts results of ranges and graphs, which are skipped.
    """

    version: int
    headers: list[Any] = field(default_factory=list)
    sources: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    strings: list[bytes] = field(default_factory=list)
    problem: str | None = None
    ranges: int = 0

    @property
    def complete(self) -> bool:
        """True where the whole file was read."""
        return self.problem is None


class _Cut(Exception):
    """The data ended, or a length cannot be true, at ``offset``."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"{why} at byte {offset}")


def _take(data: memoryview, offset: int, kind: str, limit: int) -> tuple[memoryview, int]:
    """The length-prefixed entry at ``offset`` and the offset behind it."""
    if offset + 4 > len(data):
        raise _Cut(offset, f"the file ends inside the length of a {kind}")
    (length,) = struct.unpack_from("<I", data, offset)
    if length > limit:
        raise _Cut(offset, f"a {kind} claims {length:,} bytes")
    if offset + 4 + length > len(data):
        raise _Cut(offset, f"the file ends inside a {kind} of {length:,} bytes")
    return data[offset + 4 : offset + 4 + length], offset + 4 + length


def _decode(kind: str, raw: memoryview, offset: int) -> Any:
    try:
        return message_class(kind).FromString(bytes(raw))
    except (DecodeError, RecursionError) as error:
        raise _Cut(offset, f"a {kind} cannot be decoded") from error


def _entries(data: memoryview, offset: int, kind: str, count: int) -> Iterator[tuple[Any, int]]:
    if count > _MAX_ENTRIES:
        raise _Cut(offset, f"a block claims {count:,} entries")
    for _ in range(count):
        raw, after = _take(data, offset, kind, _MAX_ENTRY if kind == "ProfileResult" else len(data))
        yield _decode(kind, raw, offset), after
        offset = after


def _frames(
    content: bytes, make: Callable[[], Any], broken: type[Exception], limit: int
) -> tuple[bytearray, bool]:
    """(expanded content, whole): one frame behind the other, and not much more than ``limit`` bytes of them.

    Little is handed over at a time: a kilobyte of the densest data expands to some tens of megabytes.
    Raises ``broken`` where nothing can be expanded; what stands behind a good part is only left out.
    """
    out, at, worker = bytearray(), 0, make()
    while at < len(content) and len(out) <= limit:
        if worker.eof:
            worker = make()
        piece = content[at : at + _PIECE]
        try:
            out += worker.decompress(piece)
        except broken:
            if not out:
                raise
            return out, False
        at += len(piece) - len(worker.unused_data)
    return out, bool(worker.eof)


def _unpack(content: bytes, name: str, limit: int) -> tuple[bytes | bytearray, str | None]:
    """Content of a compressed report (``.ncu-repz``), at most ``limit`` bytes of it, and what it lacks."""
    if content[:4] == _ZSTD_MAGIC:
        try:
            import zstandard
        except ImportError:
            raise FormatError(
                "a zstd-compressed report needs the package zstandard",
                file=name,
                hint="pip install 'warpglass[ncu]', or decompress it with zstd -d",
            ) from None
        broken: type[Exception] = zstandard.ZstdError
        make: Callable[[], Any] = zstandard.ZstdDecompressor(max_window_size=128 << 20).decompressobj
    elif content[:2] == b"\x1f\x8b":
        broken, make = zlib.error, partial(zlib.decompressobj, 31)
    else:
        return content, None
    try:
        out, whole = _frames(content, make, broken, limit)
    except broken as error:
        raise FormatError(f"the compressed report is broken: {error}", file=name) from None
    if len(out) > limit:
        raise FormatError(f"the report expands beyond {limit >> 20} MiB", file=name)
    return out, None if whole else "the compressed data ends early or is broken"


def read_container(content: bytes, name: str = "<bytes>", *, limit: int = 2 << 30) -> Container:
    """Read a report. ``limit`` bounds the size after decompression, in bytes.

    Raises :class:`FormatError` where nothing of the file is a report; a cut or broken rest is told in
    :attr:`Container.problem`, with everything before it kept.
    """
    plain, lacks = _unpack(content, name, limit)
    data = memoryview(plain)
    if lacks is not None and len(data) < len(MAGIC):
        raise FormatError(f"{lacks}, before the report within it begins", file=name)
    if bytes(data[:4]) != MAGIC:
        raise FormatError("this is no Nsight Compute report: it does not start with NVR", file=name, offset=0)
    try:
        raw, offset = _take(data, 4, "file header", _MAX_HEADER)
        header = _decode("FileHeader", raw, 4)
    except _Cut as cut:
        raise FormatError(str(cut), file=name) from None
    out = Container(version=int(getattr(header, "version", 0)))
    try:
        while offset < len(data):
            start = offset
            raw, offset = _take(data, offset, "block header", _MAX_HEADER)
            if len(raw) == 0:
                raise _Cut(start, "an empty block header")
            block = _decode("BlockHeader", raw, start)
            out.headers.append(block)
            out.strings.extend(block.strings.strings)
            payload_end = offset + int(block.payload_size)
            for kind, count, target in (
                ("SourceData", int(block.num_sources), out.sources),
                ("ProfileResult", int(block.num_results), out.results),
            ):
                for entry, after in _entries(data, offset, kind, count):
                    target.append(entry)
                    offset = after
            # Range results follow in newer files; they are skipped by the payload size.
            out.ranges += int(block.num_range_results)
            if payload_end > offset:
                if payload_end > len(data):
                    raise _Cut(offset, "the file ends inside a block")
                offset = payload_end
    except _Cut as cut:
        out.problem = str(cut)
    if lacks is not None:
        out.problem = lacks
    return out
