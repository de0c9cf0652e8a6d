"""Where the report comes from: inputs, tools, choices and assumptions, with what would change each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view

TITLE = "Provenance"

#: Fields of a launch to the option that sets them.
_LAUNCH_OPTIONS = {
    "grid": "--grid",
    "block": "--block",
    "cluster": "--cluster",
    "shared_bytes": "--shared-bytes",
}
#: Options of the report, the value they have when nobody gives them, and what that means.
_OPTIONS: tuple[tuple[str, str, str], ...] = (
    ("arch", "--arch", "the input's own target, sm_80 for CUDA source"),
    ("gpu", "--gpu", "one stated model an architecture"),
    ("kernel", "--kernel", "the kernel with most thread instructions"),
    ("launch_file", "--launch", "no launch file"),
    ("seed", "--seed", "0"),
    ("blocks", "--blocks", "block 0 keeps its whole trace"),
    ("value_budget", "--value-budget", "250,000 bytes of register values and memory data"),
    ("max_warp_instructions", "--max-warp-instructions", "50,000,000 over the grid"),
    ("isa", "--isa", "SASS where it runs to the end, else PTX"),
    ("include_dirs", "-I", "none"),
    ("defines", "-D", "none"),
    ("std", "-std", "the compiler's own"),
    ("nvcc_flags", "--nvcc-flag", "none"),
    ("compile_commands", "--compile-commands", "none"),
    ("expect", "--expect", "no output is compared"),
    ("rtol", "--rtol", "1e-5"),
    ("fail_on", "--fail-on", "no finding changes the exit code"),
    ("time_ms", "--time-ms", "no measured time"),
    ("problem", "--problem", "no size of the problem is known"),
    ("with_session", "--with-session", "session and machine of a profile are left out"),
    ("kernel_layer", "--kernel-layer", "no kernel layer"),
    ("schedules", "--schedule", "every schedule tag"),
    ("knobs", "--knob", "the header's own sizes"),
    ("assume", "--assume", "no condition is taken as true"),
    ("refuse", "--refuse", "no condition is taken as false"),
    ("mode", "--mode", "the schedule first"),
    ("no_source", "--no-source", "sources are shown"),
    ("charts", "--charts", "interactive"),
    ("title", "--title", "the kernel's name"),
    ("notes", "--notes", "none"),
)


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Always present: a page that cannot say where it comes from is not worth trusting."""
    return {
        "inputs": [dict(one) for one in report.get("inputs") or []],
        "tools": [
            {**one, "flags": [str(flag) for flag in one.get("flags") or []]}
            for one in report.get("tools") or []
        ],
        "launches": [_launch(index, one) for index, one in enumerate(report.get("launches") or [])],
        "options": _options(report.get("options") or {}),
        "assumptions": _assumptions(report),
        "sources_shown": any(one.get("text") is not None for one in report.get("sources") or []),
        "schema": report.get("schema"),
        "tool": report.get("tool") or {},
        "evidence": list(view.EVIDENCE_HELP.items()),
    }


def _assumptions(report: Mapping[str, Any]) -> list[str]:
    """What the report and its runs take for granted, each once."""
    texts = [str(text) for text in report.get("assumptions") or []]
    for launch in report.get("launches") or []:
        for run in launch.get("runs") or []:
            texts += [str(text) for text in run.get("assumptions") or []]
    return list(dict.fromkeys(texts))


def _launch(index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    shape = launch.get("launch") or {}
    origin = shape.get("origin") or {}
    fields = _target(launch)
    for key, option in _LAUNCH_OPTIONS.items():
        value = shape.get(key)
        shown = view.num(value) if key == "shared_bytes" else view.dim(value)
        fields.append(
            {
                "name": key.replace("_", " "),
                "value": shown,
                "origin": str(origin.get(key) or "default"),
                "option": option,
            }
        )
    for arg in shape.get("args") or []:
        fields.append(
            {
                "name": f"argument {arg.get('name')}",
                "value": _argument(arg),
                "origin": str(arg.get("origin") or "default"),
                "option": f"--arg {arg.get('name')}=…",
            }
        )
    return {
        "index": index,
        "kernel": view.short_name(launch),
        "label": launch.get("label") or "",
        "fields": fields,
    }


def _target(launch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Architecture and GPU model, with the source of the model's numbers."""
    rows = [
        {
            "name": "architecture",
            "value": str(launch.get("arch") or "unknown"),
            "origin": "the input or an option",
            "option": "--arch",
        }
    ]
    gpu = launch.get("gpu")
    if gpu:
        chosen = "default for the architecture" if gpu.get("default") else "given"
        source = gpu.get("source")
        rows.append(
            {
                "name": "GPU model",
                "value": str(gpu.get("name") or "unknown"),
                "origin": f"{chosen}; numbers from {source}" if source else chosen,
                "option": "--gpu",
            }
        )
    return rows


def _argument(arg: Mapping[str, Any]) -> str:
    if arg.get("value") is not None:
        value = arg["value"]
        text = view.num(value) if not isinstance(value, list) else f"{len(value)} values"
        return f"{arg.get('type') or ''} {text}".strip()
    count = arg.get("count")
    size = f"[{view.num(count)}]" if count is not None else "[no size given]"
    return f"{arg.get('type') or ''}{size}: {arg.get('fill') or 'default'}".strip()


def _options(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for key, option, default in _OPTIONS:
        value = given.get(key)
        is_given = key in given and value not in (None, [], "", False)
        rows.append({"option": option, "given": is_given, "value": _text(value) if is_given else default})
    return rows


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return view.num(value) if isinstance(value, int | float) else str(value)
