"""Standard streams as they come: closed, full, of another encoding, or a pipe whose reader has left."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from rich.console import Console
from typer.core import TyperGroup

__all__ = [
    "ReaderGoneError",
    "RootCommand",
    "StreamConsole",
    "drop_streams",
    "flush_streams",
    "interactive",
    "open_streams",
]


class ReaderGoneError(Exception):
    """The reader of a pipe has what it wanted; there is nobody to tell more."""


class RootCommand(TyperGroup):
    """The command line. typer ends with 1 where a pipe is closed, which is no failed check."""

    def invoke(self, ctx: Any) -> Any:
        """As usual, but a closed pipe is a :class:`ReaderGoneError`."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGoneError from None


class StreamConsole(Console):
    """A console that says of a closed pipe what the rest of the package says."""

    def on_broken_pipe(self) -> None:
        """Instead of an exit with 1."""
        raise ReaderGoneError


def open_streams() -> None:
    """Make both streams writable: closed ones swallow, letters that an encoding lacks are escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the whole run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def interactive() -> bool:
    """Whether somebody looks at both streams; else help and errors are plain text too."""
    return bool(sys.stdout.isatty() and sys.stderr.isatty())


def flush_streams() -> None:
    """Write what is buffered. Raises OSError (a full disk) or :class:`ReaderGoneError`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGoneError from None


def drop_streams() -> None:
    """Let Python's own flush at exit go nowhere: it would complain once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):  # a stream of a test or a notebook, which has no number
            continue
