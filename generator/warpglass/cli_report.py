"""``report``, ``render`` and ``gallery``: make a report and write it, or fail on what it found."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpglass.cli_console import Shell, outputs, show_error, write_json
from warpglass.collect import MAX_INPUT
from warpglass.errors import InputError, UsageError, WarpglassError
from warpglass.files import folder_of, is_file, is_folder, read_file, read_head, refuse_inputs, write_file
from warpglass.inputs.sniff import sniff
from warpglass.launchspec import LAUNCH_FILE
from warpglass.options import ReportOptions

if TYPE_CHECKING:
    from warpglass.report.model import Report

__all__ = ["default_output", "failed_checks", "make_gallery", "make_page", "render_page"]

_SUFFIXES = (".html", ".htm", ".json", ".md", ".markdown")
_SOURCES = ("*.cu", "*.ptx")

#: Every kind of finding there is, so that a misspelt --fail-on is an error and no check that cannot fail.
FINDING_KINDS = frozenset({
    "memcheck", "racecheck", "initcheck", "synccheck", "deadlock", "budget", "trap", "assert",
    "stack-overflow", "division-by-zero", "default-data", "uncoalesced", "bank-conflict",
    "atomic-contention", "divergence", "idle-lanes", "expect",
})  # fmt: skip
_CATEGORIES = frozenset({
    "memory", "divergence", "occupancy", "registers", "synchronisation", "correctness", "arithmetic",
    "launch",
})  # fmt: skip
_SEVERITIES = frozenset({"info", "warning", "critical"})
#: Critical findings named on the terminal.
_MOST_TOLD = 5
_UNFINISHED = frozenset({"incomplete", "partial", "any"})


def make_page(
    inputs: Sequence[Path],
    options: ReportOptions,
    output: Path | None,
    json: str | None,
    show: bool,
    shell: Shell,
) -> int:
    """Make a report, write it and return the exit code."""
    if output is None and json is None:
        output = default_output(inputs)
    if output is not None:
        check_output(output)
    refuse_inputs(outputs(output, json), [*inputs, *options.files()])
    wanted_words(options.fail_on)
    with shell.working("report") as progress:
        report = build(inputs, options, progress)
        for text in report.data["assumptions"]:
            if text.startswith("warning: "):
                shell.note(text)
        if output is not None:
            progress(f"writing {output}")
            report.render(output)
    if json is not None:
        write_json(report.to_json(), json)
    quiet_stdout = json == "-"
    if output is not None and not quiet_stdout:
        shell.say(f"{output} ({output.stat().st_size / 1024:.0f} KiB)")
    if show and output is not None:
        webbrowser.open(output.resolve().as_uri())
    failures = failed_checks(report.data, options.fail_on, bool(options.expect))
    for failure in failures:
        shell.tell(f"failed: {failure}")
    if not failures:
        _tell_critical(report.data, shell)
    return 1 if failures else 0


def _tell_critical(report: Mapping[str, Any], shell: Shell) -> None:
    """What is broken, so that nobody has to open the page to hear of it."""
    shown = [
        {**launch, "runs": (launch.get("runs") or [])[(primary := launch.get("primary") or 0) : primary + 1]}
        for launch in report.get("launches") or []
    ]
    found = failed_checks({"launches": shown}, ("critical",), False)
    for text in found[:_MOST_TOLD]:
        shell.note(f"critical: {text}")
    if len(found) > _MOST_TOLD:
        shell.note(f"and {len(found) - _MOST_TOLD} more critical findings")


def build(inputs: Sequence[Path], options: ReportOptions, progress: Any = None) -> Report:
    """One report of ``inputs``; a finished one is read, not made again."""
    if len(inputs) == 1 and _is_report(inputs[0]):
        from warpglass.report.model import Report

        return Report.load(inputs[0])
    from warpglass.api import make_report

    return make_report(list(inputs), options, progress=progress)


def _is_report(path: Path) -> bool:
    try:
        head = read_head(path, 1 << 12)
        # Of a JSON object the mark of a report may stand anywhere; of anything else the head says enough.
        json = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        return sniff(read_file(path, MAX_INPUT) if json else head, path.name) == "report-json"
    except InputError:
        return False


def default_output(inputs: Sequence[Path]) -> Path:
    """``kernel.html`` in the current folder for ``…/kernel.cu``."""
    if not inputs:
        raise UsageError("no input file", hint="warpglass report kernel.cu -o report.html")
    return Path(f"{inputs[0].stem or 'report'}.html")


def check_output(path: Path) -> None:
    """Refuse a name that says no format, or a folder that is not there, before the work starts."""
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path.name}: a report is written as .html, .json or .md")
    if not is_folder(path.parent):
        raise UsageError(f"there is no folder {path.parent}")


def render_page(source: Path, output: Path | None, charts: str | None, show: bool, shell: Shell) -> int:
    """The page of a report.json alone."""
    from warpglass.report.model import Report

    output = output if output is not None else default_output([source])
    check_output(output)
    refuse_inputs([output], [source])
    with shell.working("render"):
        report = Report.load(source)
        if output.suffix.lower() in (".html", ".htm"):
            write_file(output, report.to_html(charts=charts).encode("utf-8"))
        else:
            report.render(output)
    shell.say(f"{output} ({output.stat().st_size / 1024:.0f} KiB)")
    if show:
        webbrowser.open(output.resolve().as_uri())
    return 0


def wanted_words(fail_on: Sequence[str]) -> tuple[str, ...]:
    """The words of --fail-on in lower case; raises :class:`UsageError` for one that nothing is called."""
    known = FINDING_KINDS | _CATEGORIES | _SEVERITIES | _UNFINISHED
    words = [word.strip().lower() for entry in fail_on for word in entry.split(",") if word.strip()]
    for word in words:
        if word not in known:
            raise UsageError(f"--fail-on: no finding is called {word[:60]!r}", hint=", ".join(sorted(known)))
    return tuple(words)


def failed_checks(report: Mapping[str, Any], fail_on: Sequence[str], expects: bool) -> list[str]:
    """A line for each check of the user's that the report fails.

    ``fail_on`` names kinds of findings (``memcheck``), categories, severities (``warning`` includes
    critical), ``incomplete`` for launches that did not run to the end, or ``any``. Findings of the kind
    ``expect`` fail whenever an expectation was given.
    """
    wanted = set(wanted_words(fail_on))
    if "warning" in wanted:
        wanted.add("critical")
    if "info" in wanted:
        wanted |= {"warning", "critical"}
    failures: dict[str, None] = {}
    for launch in report.get("launches") or []:
        kernel = launch.get("kernel") or {}
        name = kernel.get("bare") or kernel.get("demangled") or kernel.get("name") or "kernel"
        if launch.get("label"):
            name = f"{name} ({launch['label']})"
        for run in launch.get("runs") or []:
            if not run.get("complete", True) and wanted & _UNFINISHED:
                stopped = run.get("stopped") or {}
                failures[f"{name}: not run to the end: {stopped.get('message', 'stopped')}"] = None
            for finding in run.get("findings") or []:
                marks = {str(finding.get(key, "")).lower() for key in ("kind", "severity", "category")}
                if wanted & (marks | {"any"}) or (expects and "expect" in marks):
                    kind, place = finding.get("kind"), _place(finding)
                    failures[f"{name}: {kind}{place}: {finding.get('message')}"] = None
    return list(failures)


def _place(finding: Mapping[str, Any]) -> str:
    """Line, thread and block of a finding, as far as they are known."""
    said = f", line {finding['line']}" if finding.get("line") else ""
    for what in ("thread", "block"):
        if finding.get(what):
            said += f", {what} ({','.join(str(n) for n in finding[what])})"
    return said


def make_gallery(
    inputs: Sequence[Path], options: ReportOptions, output: Path, title: str, json: str | None, shell: Shell
) -> int:
    """Pages of all inputs and an index over them. Folders stand for the kernels and reports in them."""
    from warpglass.report.gallery import write_gallery

    units = [unit for path in inputs for unit in gallery_units(path)]
    if not units:
        raise UsageError(
            "nothing for a gallery", hint="name .cu, .ptx or report.json files, or folders of them"
        )
    failed: list[str] = []
    with shell.working("gallery") as progress:

        def reports() -> Iterator[tuple[str, Mapping[str, Any]]]:
            for number, (name, path, launch) in enumerate(units, 1):
                progress(f"{number} of {len(units)}: {name}")
                mine = replace(options, launch_file=launch) if launch is not None else options
                try:
                    data = build([path], mine).data
                except WarpglassError as error:
                    # One bad input must not cost the pages of the others.
                    failed.append(name)
                    show_error(error)
                    continue
                yield name, data

        written = write_gallery(reports(), output, title=title, charts=options.charts)
    if json is not None:
        write_json({"folder": str(output), "pages": [path.name for path in written]}, json)
    if json != "-":
        shell.say(f"{output / 'index.html'} ({len(written) - 1} pages)")
    if failed:
        shell.note(f"no page was made of {', '.join(failed)}")
    return 2 if failed else 0


def gallery_units(path: Path) -> list[tuple[str, Path, Path | None]]:
    """(name, input, launch file or None) of a file, or of all that a folder and its subfolders hold."""
    if not is_folder(path):
        read_head(path, 1)
        return [(_unit_name(path), path, _launch_beside(path))]
    found: list[Path] = []
    for folder in [path, *sorted(child for child in path.iterdir() if child.is_dir())]:
        for pattern in _SOURCES:
            found += sorted(folder.glob(pattern))
        found += [child for child in sorted(folder.glob("*.json")) if _is_report(child)]
    return [(_unit_name(child), child, _launch_beside(child)) for child in found]


def _unit_name(path: Path) -> str:
    return folder_of(path).name if path.stem in ("kernel", "report", "main") else path.stem


def _launch_beside(path: Path) -> Path | None:
    candidate = path.with_name(LAUNCH_FILE)
    return candidate if is_file(candidate) and path.suffix != ".json" else None
