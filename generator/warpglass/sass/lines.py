"""What one line of a listing is: the regular expressions, and nothing that remembers other lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpglass.sass.control import CONTROL_PREFIX, parse_prefix
from warpglass.sass.model import Control, Frame, LiveCounts

__all__ = [
    "ARCH", "FUNCTION", "INSTRUCTION", "LABEL", "Code", "LineInfo", "branch_targets", "hex_words",
    "parse_code", "parse_line_info", "parse_live", "strip_comments",
]  # fmt: skip

#: The architecture as the tools announce it: ``code for sm_90a``, ``.target sm_80``, ``arch = sm_75``.
ARCH = re.compile(r"^\s*(?:code for|\.target|arch\s*=)\s*(sm_\d{2,3}[af]?)\b")
#: ``Function : name``.
FUNCTION = re.compile(r"^\s*Function\s*:\s*(\S.*?)\s*$")
#: ``.L_x_3:`` or ``kernel:`` alone on a line.
LABEL = re.compile(r"^\s*([.$A-Za-z_][\w.$@<>:,~*&() -]*?)\s*:\s*(?://.*)?$")
_HEX = re.compile(r"/\*\s*(0x[0-9a-f]{16})\s*\*/", re.IGNORECASE)
_COMMENT = re.compile(r"/\*[^*]*\*/|\(\*[^*]*\*\)")
_TARGETS = re.compile(r'\(\*\s*"(?:BRANCH_TARGETS|INDIRECT[A-Z_]*)\s+([^"]*)"\s*\*\)')
_OFFSET = re.compile(r"^\s*/\*\s*(?:0x)?([0-9a-fA-F]{1,12})\s*\*/")
_ADDRESS = re.compile(r"^\s*(?:0x)?(?=[0-9a-f]*\d)([0-9a-f]{4,16})\s*:?\s+(?=[@A-Z{])")
_SCHEDULE = re.compile(r"\s+[&?][A-Za-z_]\S*")
INSTRUCTION = re.compile(
    r"^(?P<open>\{)?\s*(?:@(?P<guard>!?U?P(?:\d{1,2}|T))\s+)?"
    r"(?P<opcode>[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)"
    r"(?:\s+(?P<operands>[^;]*?))?\s*(?P<end>;)?\s*(?P<close>\})?\s*$"
)
_LINE = re.compile(
    r'//#*\s*File\s+"?([^"]*?)"?\s*,\s*line\s+(\d{1,9})'
    r'(?:\s*,?\s*(?:function\s+"?([^"]*?)"?))?'
    r'(?:\s+inlined at\s+"?([^"]*?)"?\s*,\s*line\s+(\d{1,9}))?\s*$'
)
_LIVE = re.compile(r"//\s*([|+].*)$")
_FIRST_NUMBER = re.compile(r"^\s*(\d+)\b")


@dataclass(frozen=True, slots=True)
class Code:
    """The instruction part of a line, still text. ``offset`` is None where the listing shows none."""

    offset: int | None
    guard: str | None
    opcode: str
    operands: str
    text: str
    words: tuple[int, ...]
    control: Control | None
    targets: tuple[str, ...]
    ended: bool
    opens: bool
    closes: bool


@dataclass(frozen=True, slots=True)
class LineInfo:
    """One ``File …, line …`` comment: the place, and its caller where it says ``inlined at``."""

    place: Frame
    caller: Frame | None


def hex_words(line: str) -> tuple[int, ...]:
    """The 64-bit words that stand in comments on the line."""
    return tuple(int(match, 16) for match in _HEX.findall(line))


def strip_comments(line: str) -> str:
    """The line without ``/*…*/``, ``(*…*)`` and ``//…``."""
    cut = line.find("//")
    if cut >= 0:
        line = line[:cut]
    return _COMMENT.sub(" ", line) if "*" in line else line


def branch_targets(line: str) -> tuple[str, ...]:
    """The labels of a ``BRANCH_TARGETS`` note."""
    match = _TARGETS.search(line)
    if match is None:
        return ()
    return tuple(part.strip() for part in match[1].split(",") if part.strip())


def parse_line_info(line: str) -> LineInfo | None:
    """A line-information comment of ``nvdisasm -g``, ``-gi`` or ``-gp``."""
    if "File" not in line:
        return None
    match = _LINE.search(line)
    if match is None:
        return None
    caller = Frame(match[4], int(match[5])) if match[4] is not None else None
    return LineInfo(Frame(match[1], int(match[2]), match[3]), caller)


def parse_live(line: str, columns: tuple[str, ...]) -> LiveCounts | None:
    """The ``#`` numbers of a live-range row; ``columns`` are the table's names (GPR, PRED, …).

    An empty cell means that none is live; a row of dots or dashes means nothing.
    """
    match = _LIVE.search(line)
    if match is None or not columns or match[1].startswith("+"):
        return None
    cells = match[1].strip().strip("|").split("|")
    if len(cells) < len(columns):
        return None
    counts: dict[str, int] = {}
    for name, cell in zip(columns, cells, strict=False):
        number = _FIRST_NUMBER.match(cell)
        counts[name] = int(number[1]) if number else 0
    return LiveCounts(counts.get("GPR"), counts.get("PRED"), counts.get("UGPR"), counts.get("UPRED"))


def parse_code(line: str) -> Code | None:
    """The instruction on a line, or None. Takes every layout the tools and people produce."""
    words = hex_words(line)
    targets = branch_targets(line) if "(*" in line else ()
    control: Control | None = None
    rest = line
    if "[B" in rest[:120] or rest.lstrip().startswith("B-"):
        prefix = CONTROL_PREFIX.search(rest[:120])
        if prefix is not None:
            control = parse_prefix(prefix)
            rest = rest[: prefix.start()] + rest[prefix.end() :]
    offset: int | None = None
    place = _OFFSET.match(rest)
    if place is not None:
        offset = int(place[1], 16)
        rest = rest[place.end() :]
    else:
        address = _ADDRESS.match(rest)
        if address is not None:
            offset = int(address[1], 16)
            rest = rest[address.end() :]
    body = strip_comments(rest).strip()
    if "&" in body or "?" in body:
        body = _SCHEDULE.sub("", body)
    if not body:
        return None
    match = INSTRUCTION.match(body)
    if match is None:
        return None
    operands = (match["operands"] or "").strip()
    guard = match["guard"]
    opens, closes = match["open"] is not None, match["close"] is not None
    if operands.endswith("}") and "{" not in operands:
        closes, operands = True, operands[:-1].rstrip()
    text = f"{match['opcode']} {operands}".strip()
    if guard is not None:
        text = f"@{guard} {text}"
    return Code(
        offset, guard, match["opcode"], operands, text, words, control, targets,
        match["end"] is not None, opens, closes,
    )  # fmt: skip
