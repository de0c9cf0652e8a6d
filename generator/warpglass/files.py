"""Every file that a user names is read and written here, because any name may be anything.

A pipe would wait for ever, a device has no end, a file may grow while it is read, an array's header may
promise more than its file holds: reading is bounded, and only regular files are read. Writing is all or
nothing, and never lands on a file that was read.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpglass.errors import InputError, UsageError, WarpglassError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "folder_of", "is_file", "is_folder", "load_array", "read_file", "read_head", "reason_of", "refuse_inputs",
    "write_file",
]  # fmt: skip

_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def read_file(path: Path, limit: int, error: type[WarpglassError] = InputError) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises ``error``, which names the file and the reason: missing, a folder, a pipe or device, no
    permission, too large. A file that grows while it is read is cut off by ``limit`` as well.
    """
    try:
        with _open(path, error) as stream:
            content = stream.read(limit + 1)
    except (OSError, ValueError) as failure:
        raise error(_unreadable(path, failure)) from failure
    if len(content) > limit:
        raise error(f"{shown(path)} is larger than {_size(limit)}, the most that is read of such a file")
    return content


def read_head(path: Path, count: int) -> bytes:
    """The first ``count`` bytes of a regular file; raises as :func:`read_file` does."""
    try:
        with _open(path, InputError) as stream:
            return stream.read(count)
    except (OSError, ValueError) as failure:
        raise InputError(_unreadable(path, failure)) from failure


def _unreadable(path: Path, failure: Exception) -> str:
    if isinstance(failure, FileNotFoundError):
        return f"there is no file {shown(path)}"
    return f"{shown(path)} cannot be read: {reason_of(failure)}"


def _open(path: Path, error: type[WarpglassError]) -> io.BufferedReader:
    # Without O_NONBLOCK the opening of a pipe waits for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise error(f"{shown(path)} is a folder, where a file is wanted")
        if not stat.S_ISREG(mode):
            kind = _SPECIAL.get(stat.S_IFMT(mode), "no regular file")
            raise error(
                f"{shown(path)} is {kind}: only regular files are read", hint="write the content to a file"
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def is_file(path: Path) -> bool:
    """Whether there is a regular file; False too for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False too for a name that no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def folder_of(path: Path) -> Path:
    """The folder that holds ``path``, links followed; a circle of links counts as no link."""
    try:
        return path.resolve().parent
    except (OSError, RuntimeError, ValueError):
        return path.parent


def load_array(path: Path, limit: int, error: type[WarpglassError] = InputError) -> npt.NDArray[np.generic]:
    """The array of a .npy file of at most ``limit`` bytes, of numbers only.

    Pickled objects are refused: they would run code. So is a header that promises more elements than the
    file holds, before memory is taken for them. Raises ``error``.
    """
    import numpy as np

    content = read_file(path, limit, error)
    if content.startswith(b"PK"):
        raise error(f"{shown(path)} is a .npz of several arrays", hint="save one array with numpy.save")
    stream = io.BytesIO(content)
    layout: Any = np.lib.format
    try:
        version = layout.read_magic(stream)
        read = layout.read_array_header_1_0 if version == (1, 0) else layout.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if dtype.hasobject:
            raise error(f"{shown(path)} holds Python objects, which are not read: loading them runs code")
        elements = 1
        for extent in shape:
            if extent < 0:
                raise ValueError(f"an extent of {extent}")
            elements *= extent
        if elements * dtype.itemsize > len(content) - stream.tell():
            held = len(content) - stream.tell()
            raise error(f"{shown(path)} is cut off: {elements} elements of {dtype}, but {held} bytes")
        flat = np.frombuffer(content, dtype, elements, stream.tell())
        return flat.reshape(shape, order="F" if fortran else "C")
    except WarpglassError:
        raise
    except Exception as failure:  # what numpy raises for a bad header is not documented
        reason = " ".join(str(failure).split())[:200]
        raise error(f"{shown(path)} cannot be read as a numpy array: {reason}") from failure


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a reader never sees a half of it.

    A link is followed. Raises :class:`UsageError` where it cannot be written.
    """
    scratch: Path | None = None
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe: there is nothing to replace
            return
        scratch = target.with_name(f".warpglass-{os.getpid()}.tmp")
        scratch.write_bytes(data)
        scratch.replace(target)
    except (OSError, ValueError) as failure:
        raise UsageError(f"cannot write {shown(path)}: {reason_of(failure)}") from failure
    finally:
        if scratch is not None:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)


def refuse_inputs(outputs: Iterable[Path], inputs: Sequence[Path]) -> None:
    """Raise :class:`UsageError` where an output is one of the inputs, or two outputs are one file."""
    seen: list[Path] = []
    for output in outputs:
        if any(_same(output, one) for one in inputs):
            raise UsageError(
                f"{shown(output)} is an input and would be overwritten", hint="choose another name"
            )
        if any(_same(output, one) or output == one for one in seen):
            raise UsageError(f"{shown(output)} is named for two outputs", hint="choose another name for one")
        seen.append(output)


def _same(left: Path, right: Path) -> bool:
    try:
        return left.is_file() and left.samefile(right)
    except (OSError, ValueError):
        return False


def shown(path: Path) -> str:
    """A path as a message shows it: names may be megabytes long."""
    text = str(path)
    return text if len(text) <= 200 else f"…{text[-200:]}"


def reason_of(failure: BaseException) -> str:
    """Why the system refused, in its own words."""
    return getattr(failure, "strerror", None) or " ".join(str(failure).split())[:200]


def _size(count: int) -> str:
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << shift:
            return f"{count >> shift} {unit}"
    return f"{count} bytes"
