"""The profiler's details page as text (``details.txt``, or what a terminal showed)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from warpglass.errors import ParseError
from warpglass.ncu.exports import capability_metrics, normal_unit
from warpglass.ncu.labels import add_labelled, exported_layout
from warpglass.ncu.locale import infer_locale, to_value
from warpglass.ncu.model import Launch, Metric, Report, Rule, RuleMessage, Session

__all__ = ["parse_details_text"]

#: ``name(args) (grid)x(block), Context 1, Stream 7, Device 0, CC 8.6``, or older with a date for the shape.
_KERNEL = re.compile(
    r"^ {0,2}(?P<name>\S.*?)(?: \((?P<grid>\d+, ?\d+, ?\d+)\)x\((?P<block>\d+, ?\d+, ?\d+)\))?"
    r"(?:, \d{4}-\w{3}-\d{2} \d{2}:\d{2}:\d{2})?, Context (?P<context>\d+), Stream (?P<stream>\d+)"
    r"(?:, Device \d+, CC (?P<cc>[\d.]+))?\s*$"
)
_SECTION = re.compile(r"^ {4}Section: (?P<name>.+?)\s*$")
_RULE = re.compile(r"^ {4}(?P<type>INF|WRN|ERR|OPT)   (?P<text>.*)$")
_SPEEDUP = re.compile(r"^Est(?:\.|imated) (?P<local>Local )?Speedup: (?P<gain>[\d.,]+)%\s*(?P<text>.*)$")
#: The lines above and below a table: dashes as wide as each column.
_RULER = re.compile(r"^ {4}(-{3,}) (-{3,}) (-{3,})\s*$")
#: Without them, three columns set apart by at least two blanks: name, unit (may be missing), value.
_ROW = re.compile(r"^ {4}(?P<name>\S.*?)(?: {2,}(?P<unit>\S+))? {2,}(?P<value>[^\s].*?)\s*$")
_TYPES = {"INF": "info", "WRN": "warning", "ERR": "error", "OPT": "optimization"}


@dataclass(slots=True)
class _Draft:
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    context: int
    stream: int
    cc: str = ""
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    rules: list[tuple[str, str, list[str]]] = field(default_factory=list)


def _dims(text: str | None) -> tuple[int, int, int]:
    if text is None:
        return (0, 0, 0)
    x, y, z = (int(part) for part in text.split(","))
    return (x, y, z)


def _row(line: str, ruler: re.Match[str] | None) -> tuple[str, str, str] | None:
    """(name, unit, value) of a line of a table, by the columns of its ruler where there is one.

    A value as wide as its column stands one blank behind its unit, as words of a name do.
    """
    if ruler is not None and line.startswith("    ") and line[4:5].strip():
        gaps = [line[ruler.end(i) : ruler.end(i) + 1] for i in (1, 2)]
        parts = [
            line[ruler.start(1) : ruler.end(1)],
            line[ruler.start(2) : ruler.end(2)],
            line[ruler.start(3) :],
        ]
        name, unit, value = (part.strip() for part in parts)
        if gaps == [" ", " "] and name and value:
            return name, unit, value
    match = _ROW.match(line)
    return (match["name"], match["unit"] or "", match["value"]) if match else None


def parse_details_text(text: str, name: str = "<text>") -> Report:
    """Read a details page. Metric names are the page's labels, prefixed by their section.

    Raises :class:`ParseError` where no line names a kernel.
    """
    drafts: list[_Draft] = []
    problems: list[str] = []
    section = ""
    open_rule: list[str] | None = None
    ruler: re.Match[str] | None = None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1].startswith("    ") and lines[-1][4:5].strip() and not _RULE.match(lines[-1]):
        # Without a line end the number may be the start of a longer one.
        problems.append("the text ends inside a line, which is left out")
        lines.pop()
    for line in lines:
        if line.startswith("=="):
            continue
        if match := _KERNEL.match(line):
            drafts.append(
                _Draft(
                    match["name"],
                    _dims(match["grid"]),
                    _dims(match["block"]),
                    int(match["context"]),
                    int(match["stream"]),
                    match["cc"] or "",
                )
            )
            section, open_rule = "", None
            continue
        if not drafts:
            continue
        if match := _SECTION.match(line):
            section, open_rule, ruler = match["name"], None, None
        elif match := _RULE.match(line):
            open_rule = [match["text"].strip()]
            drafts[-1].rules.append((section, match["type"], open_rule))
        elif open_rule is not None and line.startswith(" " * 10):
            open_rule.append(line.strip())
        elif line.strip().startswith("-----") or not line.strip():
            open_rule = None
            ruler = _RULER.match(line) or (None if line.strip() else ruler)
        elif (row := _row(line, ruler)) and row[0] != "Metric Name":
            drafts[-1].rows.append((section, *row))
    if not drafts:
        if "No kernels were profiled" in text:
            raise ParseError(
                "the profiler says that no kernels were profiled", file=name, line=1, column=1,
                hint="check its kernel and NVTX filters, and that the program launches kernels",
            )  # fmt: skip
        hint = "export with `ncu --page details`, or hand over the report itself"
        raise ParseError("no kernel line found", file=name, line=1, column=1, hint=hint)
    locale = infer_locale((value, unit == "%") for d in drafts for _, _, unit, value in d.rows)
    launches = []
    for index, draft in enumerate(drafts):
        metrics: dict[str, Metric] = capability_metrics(draft.cc)
        rows: list[tuple[str, str, str]] = []
        for in_section, label, raw_unit, raw in draft.rows:
            unit, value = normal_unit(raw_unit, to_value(raw, locale))
            full = f"{in_section}: {label}" if in_section else label
            made = add_labelled(metrics, full, in_section, label, unit, value)
            rows.append((in_section, label, made.name))
        launches.append(
            Launch(
                index=index,
                mangled="",
                function=draft.name.split("(", 1)[0],
                demangled=draft.name,
                grid=draft.grid,
                block=draft.block,
                context=draft.context,
                stream=draft.stream,
                thread=0,
                process=None,
                metrics=metrics,
                rules=tuple(_rule(*rule) for rule in draft.rules),
                nvtx=(),
                call_stack=(),
                source_reference=None,
                sections=exported_layout(rows),
            )
        )
    session = Session(None, None, None, None, None, None, None, None, {}, {})
    return Report(name, 0, tuple(launches), {}, session, tuple(problems))


def _gain(text: str) -> float | None:
    """Percent, with either decimal mark; None for what is no number."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _rule(section: str, kind: str, lines: list[str]) -> Rule:
    text = " ".join(part for part in lines if part)
    gain: float | None = None
    scope: str | None = None
    if match := _SPEEDUP.match(text):
        gain = _gain(match["gain"])
        scope = "local" if match["local"] else "global"
        text = match["text"]
    message = RuleMessage(_TYPES[kind], "", text, gain, scope)
    return Rule(section or kind, section or kind, section, (message,))
