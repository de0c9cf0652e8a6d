"""The reader of listings: ``cuobjdump -sass``, ``nvdisasm`` in all its modes, and pasted text.

One pass over the lines fills one :class:`_Section` a function; :mod:`warpglass.sass.assemble` then turns
each into a frozen function (labels resolved, encodings joined, control fields decoded).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from warpglass.errors import ParseError
from warpglass.sass import lines
from warpglass.sass.assemble import RawFunction, RawInstruction, finish
from warpglass.sass.model import Diagnostic, Frame, Function, Member, Module

__all__ = ["parse"]

_MAX_LINE = 20_000
_MAX_DIAGNOSTICS = 200
#: Beyond this the models would take gigabytes; the largest kernels known have some hundred thousand.
_MAX_INSTRUCTIONS = 1_000_000
_SECTION = re.compile(r'^\s*\.section\s+"?([^",\s]+)"?')
_TYPE = re.compile(r"^\s*\.type\s+(\S+?)\s*,\s*@function")
_OTHER = re.compile(r'^\s*\.other\s+(\S+?)\s*,\s*@"?.*STO_CUDA_ENTRY')
_SIZE = re.compile(r"^\s*\.size\s+(\S+?)\s*,\s*\((\S+)\s*-\s*(\S+)\)")
_SECTIONINFO = re.compile(r'^\s*\.sectioninfo\s+@"SHI_(REGISTERS|BARRIERS)=(\d{1,9})"')
_COLUMNS = re.compile(r"//\s*\|((?:\s*(?:GPR|PRED|UGPR|UPRED|B|[A-Z]+)\s*\|)+)\s*$")
_DIRECTIVE = re.compile(r"^\s*\.[a-zA-Z_]")
_ACCELERATED = re.compile(r"EF_CUDA_SM(\d{2,3})\b.*EF_CUDA_ACCELERATORS")
_HEADER_ARCH = re.compile(r"EF_CUDA_SM(\d{2,3})\b")
_NOISE = re.compile(
    r"^\s*(?:\.{4,}|=+|-{4,}|Fatbin .*|code version.*|host = .*|compile_size.*|producer.*|compressed.*"
    r"|identifier(?: =|:).*|has debug info.*|//.*|[A-Za-z_ ]+:\s*)?$"
)


@dataclass(slots=True)
class _State:
    """What the pass remembers."""

    name: str
    arch: str | None = None
    kind: str = "pasted"
    current: RawFunction | None = None
    functions: list[RawFunction] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    dropped: int = 0
    frames: tuple[Frame, ...] = ()
    chain: list[lines.LineInfo] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    in_data: bool = False
    control_word: int | None = None
    count: int = 0
    entries: set[str] = field(default_factory=set)

    def note(self, severity: str, message: str, line: int, text: str = "") -> None:
        """Keep a diagnostic, up to a bound."""
        if len(self.diagnostics) >= _MAX_DIAGNOSTICS:
            self.dropped += 1
            return
        self.diagnostics.append(Diagnostic(severity, message, self.name, line, text[:200]))


def _begin(state: _State, name: str | None, line: int) -> RawFunction:
    function = RawFunction(name or "unnamed", name is not None, state.arch, line)
    state.functions.append(function)
    state.current = function
    state.frames, state.chain, state.control_word = (), [], None
    return function


def _resolve_chain(chain: list[lines.LineInfo]) -> tuple[Frame, ...]:
    """The comments before an instruction as frames, innermost first.

    ``line 5 inlined at line 3`` followed by ``line 3`` is one place: the second comment is the caller's frame
    of the first. A comment that does not continue the chain starts a new place.
    """
    frames: list[Frame] = []
    expected: Frame | None = None
    for info in chain:
        if expected is None or (info.place.file, info.place.line) != (expected.file, expected.line):
            frames = []
        frames.append(info.place)
        expected = info.caller
    if expected is not None:
        frames.append(expected)
    return tuple(frames)


def _take_frames(state: _State) -> tuple[Frame, ...]:
    if state.chain:
        state.frames = _resolve_chain(state.chain)
        state.chain = []
    return state.frames


def _directive(state: _State, line: str, number: int) -> bool:
    """Handle an assembler directive or a header line; True if the line is used up."""
    arch = lines.ARCH.match(line)
    if arch is not None:
        state.arch = arch[1]
        if "code for" in line:
            state.kind = "cuobjdump"
        return True
    function = lines.FUNCTION.match(line)
    if function is not None:
        state.kind = "cuobjdump"
        _begin(state, function[1], number)
        state.in_data = False
        return True
    section = _SECTION.match(line)
    if section is not None:
        state.kind = "nvdisasm"
        name = section[1]
        state.in_data = not name.startswith(".text")
        if not state.in_data:
            _begin(state, name.removeprefix(".text").lstrip(".") or None, number)
        else:
            state.current = None
        return True
    if not _DIRECTIVE.match(line):
        return False
    current = state.current
    entry = _OTHER.match(line)
    if entry is not None:
        state.entries.add(entry[1])
    if current is None:
        return ":" not in line
    symbol = _TYPE.match(line)
    if symbol is not None:
        current.symbols.append(symbol[1])
        return True
    size = _SIZE.match(line)
    if size is not None:
        current.size_labels[size[1]] = size[2]
        return True
    info = _SECTIONINFO.match(line)
    if info is not None:
        if info[1] == "REGISTERS":
            current.registers = int(info[2])
        else:
            current.barriers = int(info[2])
        return True
    if line.lstrip().startswith(".headerflags"):
        _header_flags(state, line)
        return True
    return lines.LABEL.match(line) is None


def _header_flags(state: _State, line: str) -> None:
    """Older tools name the architecture only here; the suffix hides in a flag of its own."""
    accelerated = _ACCELERATED.search(line)
    number = _HEADER_ARCH.search(line)
    if state.arch is None and number is not None:
        state.arch = f"sm_{number[1]}"
    if accelerated is not None and state.arch == f"sm_{accelerated[1]}":
        state.arch += "a"
    if state.current is not None:
        state.current.arch = state.arch


def _label(state: _State, line: str) -> bool:
    match = lines.LABEL.match(lines.strip_comments(line))
    if match is None or state.in_data:
        return False
    name = match[1]
    if state.current is None and state.kind == "pasted" and not name.startswith("."):
        _begin(state, name, 0)
    if state.current is None:
        return False
    state.current.labels[name] = len(state.current.instructions)
    return True


def _hex_only(state: _State, words: tuple[int, ...], number: int) -> None:
    """A line with nothing but an encoding: the upper half of the instruction before, or a control word."""
    current = state.current
    last = current.instructions[-1] if current is not None and current.instructions else None
    upper = (
        last is not None and len(last.words) == 1 and not _is_maxwell(state)
        and (last.offset is None or last.offset % 16 == 0)
    )  # fmt: skip
    if upper and last is not None:
        last.words = (*last.words, words[0])
        return
    state.control_word = words[0]
    if current is None and state.kind != "nvdisasm":
        _begin(state, None, number)
        state.control_word = words[0]


def _is_maxwell(state: _State) -> bool:
    arch = state.arch
    return (
        arch is not None
        and arch.removeprefix("sm_").rstrip("af").isdigit()
        and int(arch[3:].rstrip("af")) < 70
    )


def _instruction(state: _State, code: lines.Code, line: str, number: int) -> None:
    current = state.current
    state.count += 1
    if state.count > _MAX_INSTRUCTIONS:
        if current is not None:
            current.cut = True
        return
    if current is None:
        chain = state.chain
        current = _begin(state, None, number)
        state.chain = chain
    dual = bool(current.open_pair and not code.opens)
    current.open_pair = code.opens or (current.open_pair and not code.closes)
    if code.closes:
        current.open_pair = False
    current.instructions.append(
        RawInstruction(
            code=code, line=number, offset=code.offset, words=code.words, frames=_take_frames(state),
            control_word=state.control_word, dual=dual,
            live=lines.parse_live(line, state.columns) if state.columns else None,
        )
    )  # fmt: skip


def _line(state: _State, line: str, number: int, last: bool) -> None:
    if not line.strip():
        return
    if len(line) > _MAX_LINE:
        state.note("warning", f"line of {len(line)} characters ignored", number, line)
        return
    if "//" in line:
        columns = _COLUMNS.search(line)
        if columns is not None and "GPR" in columns[1]:
            state.columns = tuple(cell.strip() for cell in columns[1].split("|") if cell.strip())
            return
        info = lines.parse_line_info(line)
        if info is not None:
            state.chain.append(info)
            return
    if _directive(state, line, number):
        return
    if state.in_data or _label(state, line):
        return
    words = lines.hex_words(line)
    if words and not lines.strip_comments(line).strip():
        _hex_only(state, words, number)
        return
    code = lines.parse_code(line)
    if code is not None:
        _instruction(state, code, line, number)
    elif line.count(";") > 1:
        _several(state, line, number)
    elif not _NOISE.match(lines.strip_comments(line)):
        reason = "the text ends in the middle of an instruction" if last else "not an instruction; ignored"
        state.note("warning", reason, number, line.strip())
        if last and state.current is not None:
            state.current.cut = True


def _several(state: _State, line: str, number: int) -> None:
    """Line breaks lost in pasting: several instructions stand on one line."""
    for piece in lines.strip_comments(line).split(";"):
        if not piece.strip():
            continue
        code = lines.parse_code(piece + ";")
        if code is None:
            state.note("warning", "not an instruction; ignored", number, piece.strip())
        else:
            _instruction(state, code, piece, number)


def parse(text: str, name: str = "<string>", *, arch: str | None = None) -> Module:
    """A listing as a :class:`Module`.

    ``arch`` picks one architecture of a listing that holds several (``sm_90a`` is not ``sm_90``), and is that
    of a listing that names none; without it the highest is taken and the others are named in ``members``.
    What cannot be understood becomes a diagnostic. Raises :class:`~warpglass.errors.ParseError` where the
    text holds no instruction at all, or none for ``arch``.
    """
    state = _State(name)
    rows = text.splitlines()
    final = max((index for index, row in enumerate(rows) if row.strip()), default=-1)
    for index, row in enumerate(rows):
        _line(state, row, index + 1, index == final)
    found = [function for function in state.functions if function.instructions]
    if not found:
        first = next((row for row in rows if row.strip()), "")
        raise ParseError(
            "no SASS instruction found", file=name, line=1 if rows else 0, column=1,
            source_line=first, hint="give the output of cuobjdump -sass or nvdisasm -c -hex",
        )  # fmt: skip
    chosen, members, missing = _choose(found, arch, name)
    functions: list[Function] = []
    for raw in chosen:
        raw.arch = raw.arch or arch
        raw.is_entry = raw.name in state.entries if state.kind == "nvdisasm" and state.entries else None
        function, notes = finish(raw, name)
        functions.append(function)
        for note in notes:
            state.note(note.severity, note.message, note.line, note.source_line)
    if any(not raw.named for raw in chosen):
        state.note("warning", "the listing has no function header: name and architecture are not known", 1)
        missing.append("function header")
    if any(not function.complete for function in functions):
        missing.append("the end of the listing")
    if state.count > _MAX_INSTRUCTIONS:
        state.note("error", f"more than {_MAX_INSTRUCTIONS} instructions; the rest is left out", len(rows))
        missing.append(f"instructions beyond the first {_MAX_INSTRUCTIONS}")
    if state.dropped:
        message = f"{state.dropped} more messages left out"
        state.diagnostics.append(Diagnostic("info", message, name, 0))
    return Module(
        name, state.kind, chosen[0].arch, tuple(functions), tuple(state.diagnostics), text,
        members=members, missing=tuple(missing),
    )  # fmt: skip


def _choose(
    found: list[RawFunction], arch: str | None, name: str
) -> tuple[list[RawFunction], tuple[Member, ...], list[str]]:
    archs = list(dict.fromkeys(function.arch for function in found if function.arch))
    members = tuple(Member(name, "cubin", item) for item in archs) if len(archs) > 1 else ()
    if arch is not None and archs:
        chosen = [function for function in found if function.arch in (arch, None)]
        if not chosen:
            raise ParseError(
                f"no code for {arch} in the listing; it holds {', '.join(archs)}", file=name, line=1
            )
        return chosen, members, []
    if len(archs) <= 1:
        return found, members, []
    best = max(archs, key=lambda item: (int("".join(c for c in item if c.isdigit())), item))
    return [function for function in found if function.arch in (best, None)], members, []
