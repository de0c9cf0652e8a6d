"""``counters``: what a profiler would count for a launch, from executed machine code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpglass.cli_console import Shell, outputs, write_json
from warpglass.errors import InputError
from warpglass.files import refuse_inputs
from warpglass.inputs.demangle import demangled
from warpglass.options import ReportOptions

if TYPE_CHECKING:
    from warpglass.collect import CodeUnit
    from warpglass.launchfile import PlannedLaunch

__all__ = ["count_file"]


def count_file(path: Path, options: ReportOptions, json: str | None, shell: Shell) -> int:
    """Execute the launches of ``path`` as SASS and print their counters; 1 where a run did not end."""
    refuse_inputs(outputs(json), [path, *options.files()])
    with shell.working("counters") as progress:
        launches = list(_launches(path, options, shell, progress))
    if not launches:
        raise InputError(f"there is no kernel to launch in {path.name}")
    if json is not None:
        write_json({"launches": launches}, json)
    if json != "-":
        for launch in launches:
            _print(launch, shell)
    return 0 if all(launch["complete"] for launch in launches) else 1


def _launches(path: Path, options: ReportOptions, shell: Shell, progress: Any) -> Iterator[dict[str, Any]]:
    from warpglass.api import plan_unit
    from warpglass.collect import collect, read_inputs

    for unit in collect(read_inputs([path]), options, progress):
        for problem in unit.problems:
            shell.note(problem.message)
        if unit.sass is None:
            raise InputError(
                f"{path.name} holds no machine code for {unit.arch}: counters are those of SASS",
                hint="give a .cu source or a cubin",
            )
        notes: list[str] = []
        planned = plan_unit(unit, options, notes, ())
        for note in dict.fromkeys(notes):
            shell.note(note)
        for plan in planned:
            progress(f"{demangled(plan.function.name).bare} on {unit.arch}")
            yield _count(unit, plan, options)


def _count(unit: CodeUnit, plan: PlannedLaunch, options: ReportOptions) -> dict[str, Any]:
    from warpglass import machine
    from warpglass.analysis.counters import counters, opcode_counts
    from warpglass.analysis.sass_listing import sass_listing
    from warpglass.machine.runoptions import RunOptions

    if unit.sass is None:
        raise InputError("there is no machine code")
    limits = RunOptions(
        seed=options.seed,
        max_warp_instructions=options.max_warp_instructions,
        trace_blocks=(),
        value_budget=0,
        racecheck=False,
    )
    result = machine.execute_sass(unit.sass, plan.function, plan.launch, limits)
    listing = sass_listing(unit.sass, plan.function.name, result.functions, links=False)
    names = demangled(plan.function.name)
    launch = plan.launch
    return {
        "kernel": {"name": names.mangled, "demangled": names.full, "bare": names.bare},
        "arch": unit.arch,
        "label": launch.label,
        "launch": {
            "grid": list(launch.grid),
            "block": list(launch.block),
            "cluster": list(launch.cluster),
            "shared_bytes": launch.shared_bytes,
        },
        "complete": result.complete,
        "stopped": None if result.stopped is None else result.stopped.message,
        "counters": [
            {"group": group, **number.to_json()} for group, number in counters(listing, result, unit.arch)
        ],
        "opcode_counts": [
            {"opcode": opcode, "warp": warp, "thread": thread}
            for opcode, (warp, thread) in opcode_counts(listing, result).items()
        ],
    }


def _print(launch: dict[str, Any], shell: Shell) -> None:
    shape = launch["launch"]
    grid, block = (" x ".join(map(str, _trimmed(shape[name]))) for name in ("grid", "block"))
    label = f" ({launch['label']})" if launch["label"] else ""
    shell.say(f"{launch['kernel']['demangled']}{label}, {launch['arch']}, grid {grid}, block {block}")
    if launch["stopped"]:
        shell.say(f"stopped: {launch['stopped']}")
    rows = [
        [
            number["name"],
            "unknown" if number["value"] is None else _amount(number["value"]),
            number["unit"],
            number["evidence"] + (", scaled" if number.get("scaled") else ""),
            number["why_unknown"] if number["value"] is None else number["rule"],
        ]
        for number in launch["counters"]
    ]
    counted = [
        [f"sass__inst_executed_per_opcode {row['opcode']}", _amount(row["warp"]), "inst", "executed", ""]
        for row in launch["opcode_counts"]
    ]
    if shell.level >= 0:
        shell.table(("counter", "value", "unit", "evidence", "rule"), [*rows, *counted])
        shell.say("")


def _trimmed(extents: Sequence[int]) -> list[int]:
    kept = list(extents)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _amount(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
