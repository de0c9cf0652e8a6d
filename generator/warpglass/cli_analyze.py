"""``analyze`` and ``occupancy``: what bounds a kernel, in the terminal, as Markdown, JSON or SARIF."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from warpglass import gpu
from warpglass.analysis.occupancy import Resources, nearest_cliffs, occupancy
from warpglass.cli_console import Shell, outputs, printable, write_json
from warpglass.errors import UsageError
from warpglass.files import refuse_inputs, write_file
from warpglass.options import ReportOptions
from warpglass.report import view, words

__all__ = ["analyze_files", "parse_size", "show_occupancy"]

_MOST_ADVICE = 5


def analyze_files(
    inputs: Sequence[Path],
    options: ReportOptions,
    markdown: bool,
    json: str | None,
    sarif: Path | None,
    shell: Shell,
) -> int:
    """Analyse the kernels of the inputs and say what bounds them."""
    from warpglass.api import make_report
    from warpglass.report.analysis_markdown import analysis_markdown
    from warpglass.report.sarif import to_sarif

    refuse_inputs(outputs(json, sarif), [*inputs, *options.files()])
    with shell.working("analyze") as progress:
        report = make_report(list(inputs), options, progress=progress)
    data = report.data
    if sarif is not None:
        paths = {path.name: path.as_posix() for path in inputs if not path.is_absolute()}
        write_file(sarif, to_sarif(data, paths).encode("utf-8", "surrogatepass"))
    if json is not None:
        write_json(_structured(data), json)
    if json == "-":
        return 0
    if markdown:
        shell.say(analysis_markdown(data).rstrip("\n"))
        return 0
    for index, launch in enumerate(data["launches"]):
        _show(data, index, launch, shell)
    return 0


def _structured(report: Mapping[str, Any]) -> dict[str, Any]:
    """The analysis without traces: launches by name, and the analysis' sections."""
    wanted = ("verdict", "advice", "occupancy", "roofline", "bottleneck", "loops")
    launches = []
    for index, launch in enumerate(report["launches"]):
        entry = {key: launch.get(key) for key in ("kernel", "arch", "gpu", "launch", "compile")}
        for name in wanted:
            listed = (view.section_data(report, name) or {}).get("launches") or []
            entry[name] = listed[index] if index < len(listed) else None
        run = view.primary_run(launch) or {}
        entry["isa"], entry["complete"] = run.get("isa"), run.get("complete")
        entry["numbers"], entry["findings"] = run.get("numbers") or [], run.get("findings") or []
        launches.append(entry)
    return {
        "schema": "warpglass-analysis/1",
        "tool": report["tool"],
        "options": report["options"],
        "assumptions": report["assumptions"],
        "sources": [{"id": s.get("id"), "name": s.get("name")} for s in report.get("sources") or []],
        "launches": launches,
    }


def _of(report: Mapping[str, Any], section: str, index: int) -> Any:
    listed = (view.section_data(report, section) or {}).get("launches") or []
    return listed[index] if index < len(listed) else None


def _show(report: Mapping[str, Any], index: int, launch: Mapping[str, Any], shell: Shell) -> None:
    if shell.level < 0:
        return
    said = words.verdict(report, index, launch)
    title = printable(f"{view.kernel_name(launch)} · {view.arch_text(launch)} · {view.labelled_text(launch)}")
    verdict = printable(said["text"] + (f" [{said['evidence']}]" if said["evidence"] else ""))
    if shell.out.is_terminal:
        shell.out.print(Text(title))  # wrapped: a panel's title would be cut
        shell.out.print(Panel(Text(verdict, style="bold")))
    else:
        shell.say(title)
        shell.say(verdict)
    rows, causes = [], set()
    for section in ("roofline",):
        for block in (_of(report, section, index) or {}).get("blocks") or []:
            for one in block.get("numbers") or [] if block.get("type") == "numbers" else []:
                value = "unknown" if one["value"] is None else f"{view.num(one['value'])} {one['unit']}"
                note = one.get("why_unknown") or (one.get("rule") if one["name"] == "Time" else "")
                if str(note).startswith("no time is known"):
                    note = "needs a time"  # the row of the time says what would give it
                cause = re.sub(r"^[A-Z][\w ]* is unknown: ", "", str(note or ""))
                note = "as above" if len(cause) > 40 and cause in causes else note
                causes.add(cause)
                rows.append([str(one["name"]), value, str(one["evidence"]), str(note or "")])
    for block in (_of(report, "bottleneck", index) or {}).get("blocks") or []:
        waits = str(block.get("caption")).startswith("What warps wait for")
        for item in (block.get("items") or [])[:6]:
            value = f"{view.num(item['value'])} {block['unit']}"
            rows.append(
                [f"{'wait' if waits else 'busy'}: {item['label']}", value, str(block["evidence"]), ""]
            )
    for block in (_of(report, "occupancy", index) or {}).get("blocks") or []:
        for row in block.get("rows") or []:
            if row and row[0] == "result":
                rows.append(["occupancy", str(row[1]), "static", ""])
    shell.table(("number", "value", "evidence", "note"), rows)
    for block in (_of(report, "roofline", index) or {}).get("blocks") or []:
        if block.get("type") == "markdown" and str(block.get("text")).startswith("Expected:"):
            shell.say(printable(str(block["text"])))
    items = _of(report, "advice", index) or []
    shell.say("")
    if not items:
        shell.say(f"No advice: {words.no_advice(launch)}.")
    for number, one in enumerate(items[:_MOST_ADVICE], 1):
        line = (
            f" {view.source_name(report, one.get('source'))}:{one['line']}"
            if one.get("line") is not None
            else ""
        )
        head = f"{number}. {one['title']} ({one.get('severity')}, {one.get('gain')}){line}"
        if shell.out.is_terminal:
            shell.out.print(Text(printable(head), style="bold"))
            shell.out.print(Padding(Text(printable(str(one["text"]))), (0, 0, 0, 3)))
        else:
            shell.say(head)
            shell.say(f"   {one['text']}")
    if len(items) > _MOST_ADVICE:
        shell.say(f"{len(items) - _MOST_ADVICE} more with --markdown or --json.")
    shell.say("")


def parse_size(text: str) -> int:
    """``54K``, ``1.5KB``, ``49152`` as bytes. Raises :class:`UsageError`."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*([kKmM]?)(?:i?[bB])?\s*", text)
    if match is None:
        raise UsageError(f"not a size: {text[:40]!r}", hint="54K or 55296")
    value = float(match[1]) * {"": 1, "k": 1024, "m": 1 << 20}[match[2].lower()]
    if value != int(value):
        raise UsageError(f"{text[:40]!r} is no whole number of bytes")
    return int(value)


def show_occupancy(
    arch: str, block: int, registers: int, shared: str, barriers: int, json: str | None, shell: Shell
) -> int:
    """Occupancy of one configuration in the terminal."""
    if not 1 <= block <= 1024:
        raise UsageError(f"--block is {block}; a block has 1 to 1024 threads")
    if not 0 <= registers <= 255:
        raise UsageError(f"--regs is {registers}; a thread has up to 255 registers")
    if not 0 <= barriers <= 16:
        raise UsageError(f"--barriers is {barriers}; a block names up to 16")
    machine = gpu.arch(arch)
    ask = Resources(block, registers, 0, parse_size(shared), barriers)
    found = occupancy(machine, ask)
    cliffs = nearest_cliffs(machine, ask)
    if json is not None:
        write_json(
            {
                "arch": machine.name,
                "threads": block,
                "registers": registers,
                "shared": ask.dynamic_shared,
                "blocks": found.blocks,
                "warps": found.warps,
                "max_warps": found.max_warps,
                "occupancy": found.fraction,
                "limiters": list(found.limiters),
                "needs_optin": found.needs_optin,
                "limits": {
                    "registers": found.by_registers,
                    "shared memory": found.by_shared,
                    "warps": found.by_warps,
                    "blocks": found.by_blocks,
                    "barriers": found.by_barriers,
                },
                "cliffs": [c.sentence() for c in cliffs],
            },
            json,
        )
    if json == "-":
        return 0

    def limit(value: int | None) -> str:
        return "no limit" if value is None else str(value)

    shell.say(
        f"{machine.name}: {found.blocks} block{'s' if found.blocks != 1 else ''} an SM, {found.warps} of "
        f"{found.max_warps} "
        f"warps ({found.fraction:.1%}); limited by {', '.join(found.limiters) or 'nothing: full occupancy'}"
    )
    shell.table(
        ("resource", "asked", "blocks it allows"),
        [
            [
                "registers",
                f"{registers} a thread, {found.registers_block:,} a block",
                limit(found.by_registers),
            ],
            [
                "shared memory",
                f"{ask.dynamic_shared:,} bytes, {found.shared_block:,} allocated",
                limit(found.by_shared),
            ],
            ["warps", f"{-(-block // 32)} of {found.max_warps}", limit(found.by_warps)],
            ["blocks", "1", limit(found.by_blocks)],
            ["barriers", str(barriers), limit(found.by_barriers)],
        ],
    )
    for cliff in cliffs:
        shell.say(f"{cliff.sentence()}.")
    if found.needs_optin:
        shell.say("More than 48 KB of shared memory: the launch has to opt in.")
    return 0
