"""What the command line shows: progress and errors on stderr, results on stdout, plain where piped."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from warpglass.cli_streams import StreamConsole
from warpglass.errors import WarpglassError
from warpglass.files import write_file

__all__ = ["Shell", "outputs", "printable", "show_error", "write_json"]

Progress = Callable[[str], None]

#: Control characters and bidirectional marks could rewrite the terminal; names in inputs are hostile.
#: Halves of surrogate pairs (bytes of a file name that are no UTF-8) cannot be written at all.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with what a terminal would obey shown as escapes."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


@dataclass(frozen=True, slots=True)
class Shell:
    """One command's way to talk. ``level`` is -1 (quiet), 0 or 1 (verbose)."""

    level: int = 0

    @property
    def out(self) -> StreamConsole:
        """Results."""
        return StreamConsole(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())

    @property
    def err(self) -> StreamConsole:
        """Progress, notes and errors."""
        return StreamConsole(file=sys.stderr, highlight=False, soft_wrap=not sys.stderr.isatty())

    def say(self, text: str) -> None:
        """A line of the result on stdout, unless quiet."""
        if self.level >= 0:
            self.out.print(Text(printable(text)))

    def note(self, text: str, *, verbose: bool = False) -> None:
        """A line on stderr, unless quiet; ``verbose`` ones only with -v."""
        if self.level >= (1 if verbose else 0):
            self.err.print(Text(printable(text), style="dim" if verbose else ""))

    def tell(self, text: str) -> None:
        """A line on stderr even where quiet: why the exit code is not 0."""
        self.err.print(Text(printable(text)))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of a result: folded to the width of a terminal, whole aligned lines elsewhere."""
        cells = [[printable(cell) for cell in row] for row in ([header, *rows] if any(header) else rows)]
        if self.out.is_terminal:
            shown = Table(box=None, pad_edge=False, show_header=any(header))
            for title in header:
                shown.add_column(title)
            for row in cells[1:] if any(header) else cells:
                shown.add_row(*(Text(cell) for cell in row))
            self.out.print(shown)
            return
        widths = [max(len(row[column]) for row in cells) for column in range(len(header))] if cells else []
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
        sys.stdout.write("".join(f"{line}\n" for line in lines))

    @contextmanager
    def working(self, title: str) -> Iterator[Progress]:
        """Show that something takes its time: a spinner on a terminal, plain lines with -v elsewhere."""
        started = time.monotonic()
        console = self.err
        if self.level < 0 or not console.is_terminal:
            yield lambda text: self.note(f"{title}: {text}", verbose=True)
        else:
            with console.status(Text(title)) as status:

                def show(text: str) -> None:
                    status.update(Text(f"{title}: {printable(text)}"))
                    if self.level > 0:
                        self.note(f"{title}: {text}", verbose=True)

                yield show
        self.note(f"{title}: {time.monotonic() - started:.1f} s", verbose=True)


def show_error(error: WarpglassError) -> None:
    """One clean message on stderr: what is wrong, the compiler's lines or a caret, and a hint."""
    console = StreamConsole(file=sys.stderr, highlight=False, soft_wrap=True)
    text = Text()
    text.append("error: ", style="bold red")
    text.append(printable(str(error)))
    console.print(text)


def outputs(*targets: Path | str | None) -> list[Path]:
    """The files among what a command writes; ``-`` is stdout."""
    return [Path(target) for target in targets if target is not None and str(target) != "-"]


def write_json(value: Mapping[str, Any] | list[Any] | str, target: str) -> None:
    """Write JSON (a value, or text that is JSON) to the file ``target``, or to stdout where it is ``-``.

    Raises :class:`UsageError` where the file cannot be written.
    """
    text = (
        value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    )
    data = (text.rstrip("\n") + "\n").encode("utf-8", "surrogatepass")
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    write_file(Path(target), data)
