"""The one exception tree of the project.

::

    WarpglassError                 exit code 2 unless a subclass says otherwise
    +-- UsageError                 an option or argument that cannot be meant
    |   +-- LaunchError            a grid, block, argument or launch file that does not fit the kernel
    +-- InputError                 a file that cannot be read as what it claims to be
    |   +-- ParseError             text with a place: file, line, column and a caret
    |   +-- FormatError            bytes with a place: file and offset
    +-- CompileError               the compiler refused the source; holds the compiler's own lines
    +-- ToolchainError             exit code 3: a program is missing, timed out or died
    +-- ExecutionError             a kernel cannot be executed at all (nothing partial to show)

Whatever a hostile input does, callers see one of these or a result that says
what is missing; any other exception that leaves the package is a defect.
"""

from __future__ import annotations

__all__ = [
    "CompileError",
    "ExecutionError",
    "FormatError",
    "InputError",
    "LaunchError",
    "ParseError",
    "ToolchainError",
    "UsageError",
    "WarpglassError",
]


class WarpglassError(Exception):
    """Base of every error the project raises on purpose."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


class UsageError(WarpglassError):
    """An option or argument that cannot be meant."""


class LaunchError(UsageError):
    """A launch (grid, block, cluster, arguments, launch file) that does not fit the kernel."""


class InputError(WarpglassError):
    """A file that cannot be read as what it claims to be."""


class ParseError(InputError):
    """A syntax error with its place.

    ``line`` and ``column`` count from 1; ``source_line`` is the offending line
    without its line break. ``str()`` gives ``file:line:column: message``, the
    line and a caret under the column.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "<string>",
        line: int = 0,
        column: int = 0,
        source_line: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}:{self.column}: {self.message}"
        parts = [head]
        if self.source_line is not None:
            # A minified or hostile line may be megabytes long: show the neighbourhood only.
            start = max(0, self.column - 1 - 80)
            excerpt = self.source_line[start : start + 160].replace("\t", " ")
            parts += [f"  {excerpt}", "  " + " " * max(0, self.column - 1 - start) + "^"]
        if self.hint is not None:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


class FormatError(InputError):
    """A binary container that breaks its own format at ``offset`` (bytes from the start)."""

    def __init__(
        self, message: str, *, file: str = "<bytes>", offset: int | None = None, hint: str | None = None
    ) -> None:
        where = file if offset is None else f"{file}: byte {offset}"
        super().__init__(f"{where}: {message}", hint=hint)
        self.file = file
        self.offset = offset


class CompileError(WarpglassError):
    """The compiler refused the source. ``output`` holds its own lines, folder prefixes removed."""

    def __init__(self, message: str, *, output: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.output = output

    def __str__(self) -> str:
        body = f"{self.message}\n{self.output.rstrip()}" if self.output else self.message
        return body if self.hint is None else f"{body}\n  hint: {self.hint}"


class ToolchainError(WarpglassError):
    """A program is missing, was stopped at its time or memory limit, or died."""

    exit_code = 3


class ExecutionError(WarpglassError):
    """A kernel cannot be executed at all, so there is nothing partial to show."""
