"""Read what ``ptxas -v`` and nvcc print: resources of each function, advisories, warnings."""

from __future__ import annotations

import re
from dataclasses import replace

from warpglass.cuda.model import KernelFacts

__all__ = ["parse_ptxas", "parse_warnings"]

_ENTRY = re.compile(r"ptxas info\s*: (?:Compiling entry function|Function properties for) '?([^\s']+)'?")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
_ADVISORY = re.compile(r"ptxas (?:info|warning)\s*: *(.*)")
_IN_FUNCTION = re.compile(r"in (?:the )?function '([^']+)'|for '([^']+)' function")

# What a ``Used …`` line counts.
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_LOCAL = re.compile(r"(\d+) bytes lmem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[\d+\]")

#: Lines of ``-v`` that are no advice.
_ROUTINE = re.compile(
    r"\d+ bytes gmem|Compiling entry function|Function properties for|Used \d+|Compile time|"
    r"(?:Overriding|Setting) |\(C\d+\)\s*$"
)


def parse_ptxas(output: str) -> tuple[dict[str, KernelFacts], tuple[str, ...]]:
    """Facts of each function by mangled name, and the advisories that ptxas printed, in order.

    Absent facts of a function that ptxas described (no shared memory, no spills) are 0, as it leaves
    zeros out of a ``Used`` line; functions without such a line keep None.
    """
    facts: dict[str, KernelFacts] = {}
    advisories: dict[str, None] = {}
    compiling: str | None = None
    current: str | None = None
    for line in output.splitlines():
        entry = _ENTRY.search(line)
        frame = _FRAME.search(line)
        used = _USED.search(line)
        advice = _ADVISORY.match(line.strip())
        if entry:
            current = entry.group(1)
            compiling = current if "Compiling" in line else compiling
            facts.setdefault(current, KernelFacts())
        elif frame and current is not None:
            stack, stores, loads = (int(value) for value in frame.groups())
            facts[current] = replace(facts[current], stack=stack, spill_stores=stores, spill_loads=loads)
        elif used and compiling is not None:
            facts[compiling] = _with_used(facts[compiling], used.group(1), used.group(2))
        elif advice and not _ROUTINE.search(advice.group(1)):
            text = advice.group(1).strip()
            advisories[text] = None
            _attach(facts, text)
    return facts, tuple(advisories)


def _with_used(facts: KernelFacts, registers: str, rest: str) -> KernelFacts:
    def count(pattern: re.Pattern[str]) -> int:
        return sum(int(value) for value in pattern.findall(rest))

    return replace(
        facts,
        registers=int(registers),
        barriers=count(_BARRIERS),
        static_shared=count(_SHARED),
        local=count(_LOCAL) if _LOCAL.search(rest) else None,
        constant=count(_CONSTANT),
    )


def _attach(facts: dict[str, KernelFacts], text: str) -> None:
    """Give an advisory that names a function to that function."""
    place = _IN_FUNCTION.search(text)
    if place:
        name = place.group(1) or place.group(2)
        known = facts.setdefault(name, KernelFacts())
        facts[name] = replace(known, advisories=(*known.advisories, text))


def parse_warnings(output: str) -> tuple[str, ...]:
    """The first lines of nvcc's own warnings and remarks (``k.cu(3): warning #177-D: …``), each once."""
    kept = [line.strip() for line in output.splitlines() if re.search(r"\bwarning\b(?: #| ?:)", line)]
    return tuple(dict.fromkeys(line for line in kept if not line.startswith("ptxas")))
