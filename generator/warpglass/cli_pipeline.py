"""``pipeline``: a header's pipeline as text or JSON, its lint, its schedule as VCD or trace events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpglass.cli_console import Shell, outputs, write_json
from warpglass.collect import read_inputs
from warpglass.errors import InputError
from warpglass.files import refuse_inputs, write_file
from warpglass.options import ReportOptions

__all__ = ["show_pipeline"]


def show_pipeline(
    headers: Sequence[Path],
    options: ReportOptions,
    json: str | None,
    lint: bool,
    vcd: Path | None,
    perfetto: Path | None,
    shell: Shell,
) -> int:
    """Print what was found and return the exit code: 1 where ``lint`` was asked for and found something."""
    from warpglass.pipelines import pipeline_section

    refuse_inputs(outputs(json, vcd, perfetto), [*headers, *options.files()])
    files = read_inputs(headers)
    with shell.working("pipeline"):
        folders = [file.path.parent for file in files]
        section, _ = pipeline_section([(file.name, file.content) for file in files], options, folders)
    data = section["data"]
    parsed = data["parsed"]
    if json is not None:
        write_json(data, json)
    findings = parsed["findings"]
    for path, kind in ((vcd, "vcd"), (perfetto, "perfetto")):
        if path is not None:
            _export(data, path, kind)
    if json != "-":
        _show_findings(shell, findings) if lint else _show(shell, data)
    return 1 if lint and findings else 0


def _export(data: Mapping[str, Any], path: Path, kind: str) -> None:
    from warpglass.pipeline import run_program
    from warpglass.pipeline.export import to_perfetto, to_vcd

    if not data["programs"]:
        raise InputError("no schedule could be made of these headers", hint="--json - says why")
    program = data["programs"][0]
    run = run_program(program, data["knobs"])
    text = to_vcd(run, program) if kind == "vcd" else to_perfetto(run, program)
    write_file(path, text.encode("utf-8"))


def _show_findings(shell: Shell, findings: Sequence[Mapping[str, Any]]) -> None:
    for finding in findings:
        shell.say(f"{finding['header']}:{finding['line']}: {finding['kind']}: {finding['message']}")
    if not findings:
        shell.say("no findings")


def _show(shell: Shell, data: Mapping[str, Any]) -> None:
    parsed = data["parsed"]
    if parsed["driver"]:
        shell.say(parsed["driver"]["message"])
    for header in parsed["headers"]:
        shell.say(f"{header['name']}: {header['kind']}")
    for reason in parsed["reasons"]:
        shell.say(f"  {reason}")
    rows = [
        (group, stream["role"], ", ".join(f"{count} {kind}" for kind, count in stream["counts"].items()))
        for group, streams in parsed["streams"].items()
        for stream in streams
    ]
    if rows:
        shell.table(("of", "role", "operations"), rows)
    if parsed["decisions"]:
        shell.say(
            f"{len(parsed['decisions'])} conditions were decided by rule; --assume and --refuse change them:"
        )
        for decision in parsed["decisions"][:12]:
            word = "yes" if decision["taken"] else "no"
            shell.say(f"  {decision['header']}:{decision['line']}: {word}: {decision['condition']}")
    if data.get("results"):
        from warpglass.report.pipeline_words import verdict_words

        shell.say(verdict_words(data["programs"][0], data["results"]))
    for note in parsed["notes"]:
        shell.note(note)
    _show_findings(shell, parsed["findings"])
