"""The four tiles and the compile facts of a launch, from its primary run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view

__all__ = ["compile_facts", "run_state", "tiles"]

Json = Mapping[str, Any]


def run_state(run: Json | None) -> dict[str, Any]:
    """How far a run came, in words: ``{"ok", "text", "blocks", "why"}``."""
    if run is None:
        return {"ok": False, "text": "not executed", "blocks": "", "why": ""}
    blocks = run.get("blocks") or {}
    executed, total = blocks.get("executed"), blocks.get("total")
    of = f"{view.num(executed)} of {view.num(total)} {'block' if total == 1 else 'blocks'}"
    stopped = run.get("stopped") or {}
    if run.get("complete"):
        return {"ok": True, "text": f"executed, {of}", "blocks": of, "why": ""}
    why = str(stopped.get("message") or "")
    return {"ok": False, "text": f"partly executed, {of}", "blocks": f"executed, {of}", "why": why}


_NAMES = {
    "warp_executed": "Warp instructions",
    "thread_executed": "Thread instructions",
    "sectors": "Sectors",
    "sectors_ideal": "Ideal sectors",
    "wavefronts": "Shared wavefronts",
    "wavefronts_ideal": "Ideal wavefronts",
}


def _counter(run: Json, name: str, evidence: str) -> dict[str, Any]:
    """A whole-run count as a report number, by the run's own list where it has it.

    Where the run did not end, the list says unknown: the value is then the count so far, marked as such.
    """
    listed = dict(view.number_named(run, _NAMES[name]) or {"evidence": evidence})
    if listed.get("value") is None:
        listed["value"] = view.column_sum(run, name)
    if isinstance(listed["value"], str):  # an integer beyond 2**53
        listed["value"] = int(listed["value"])
    if listed["value"] is None and not listed.get("why_unknown"):
        listed["why_unknown"] = "the run did not count it"
    return listed


def _tile(run: Json, label: str, parts: list[dict[str, Any]], help_text: str) -> dict[str, Any]:
    state = run_state(run)
    return {
        "label": label,
        "value": None,
        "of": "",
        "detail": "",
        "fill": None,
        "level": "",
        "evidence": view.weakest(*(str(part.get("evidence", "modelled")) for part in parts)),
        "scaled": any(part.get("scaled") for part in parts),
        "partial": "" if state["ok"] else f"so far: {state['blocks']}",
        "why": next((str(part["why_unknown"]) for part in parts if part.get("why_unknown")), ""),
        "help": help_text,
        "isa": str(run.get("isa", "")).upper(),
    }


def _instructions(run: Json) -> dict[str, Any]:
    warp = _counter(run, "warp_executed", "executed")
    thread = _counter(run, "thread_executed", "executed")
    tile = _tile(run, "Warp instructions", [warp], "warp instructions issued, over all executed blocks")
    tile["value"] = None if warp["value"] is None else view.num(warp["value"])
    if thread["value"] is not None:
        tile["detail"] = f"{view.num(thread['value'])} thread instructions"
    return tile


def _lanes(run: Json) -> dict[str, Any]:
    warp = _counter(run, "warp_executed", "executed")
    thread = _counter(run, "thread_executed", "executed")
    tile = _tile(run, "Active lanes", [warp, thread], "lanes on after the guard, mean over warp instructions")
    mean = view.ratio(thread["value"], warp["value"])
    if mean is not None:
        tile.update(value=f"{mean:.1f}", of="of 32", fill=mean / 32, level=_level(32 / mean if mean else 32))
        tile["detail"] = f"{100 * mean / 32:.0f} % of the lanes of each issued instruction"
    return tile


def _level(factor: float) -> str:
    """How far from ideal a ratio is: a word the template also shows as a mark."""
    return "good" if factor < 1.1 else "fair" if factor < 2 else "poor"


def _over_ideal(
    run: Json, label: str, counter: str, evidence: str, unit: str, none: str, help_text: str
) -> dict[str, Any]:
    got = _counter(run, counter, evidence)
    ideal = _counter(run, f"{counter}_ideal", evidence)
    tile = _tile(run, label, [got, ideal], help_text)
    if got["value"] == 0 and not ideal["value"]:
        tile.update(value="–", detail=none, why="")
        return tile
    factor = view.ratio(got["value"], ideal["value"])
    if factor is not None:
        tile.update(
            value=f"{factor:.2f}×", fill=min(1.0, 1 / factor) if factor else None, level=_level(factor)
        )
        tile["detail"] = f"{view.num(got['value'])} {unit}, {view.num(ideal['value'])} at best"
    return tile


def tiles(run: Json | None) -> list[dict[str, Any]]:
    """Four tiles; without a run an empty list."""
    if run is None:
        return []
    return [
        _instructions(run),
        _lanes(run),
        _over_ideal(
            run, "Sectors ÷ ideal", "sectors", "executed", "sectors", "no global or local memory access",
            "32-byte sectors that requests touched, over ceil(distinct bytes ÷ 32)",
        ),
        _over_ideal(
            run, "Wavefronts ÷ ideal", "wavefronts", "modelled", "wavefronts", "no shared-memory access",
            "shared-memory wavefronts by the bank rule, over the phases that have a live lane",
        ),
    ]  # fmt: skip


#: Facts and whether a zero is worth saying.
_FACTS = (
    ("registers", "registers", "registers a thread", True),
    ("static_shared", "B static shared memory", "bytes of static shared memory a block", True),
    ("spill_stores", "B of spill stores", "bytes stored by register spills", False),
    ("spill_loads", "B of spill loads", "bytes loaded by register spills", False),
    ("stack", "B stack", "bytes of stack a thread", False),
    ("local", "B local memory", "bytes of local memory a thread", False),
    ("constant", "B constant", "bytes of constant memory", False),
    ("barriers", "barriers", "named barriers a block", True),
)


def compile_facts(launch: Json) -> dict[str, Any] | None:
    """What the compiler said, or None where it was not asked. Unknown facts are left out."""
    facts = launch.get("compile")
    if not facts:
        return None
    items = [
        {
            "value": view.num(facts[key]),
            "label": label.removesuffix("s") if facts[key] == 1 and label.endswith("rs") else label,
            "help": help_text,
            "bad": "spill" in key and bool(facts[key]),
        }
        for key, label, help_text, zero in _FACTS
        if facts.get(key) is not None and (zero or facts[key])
    ]
    if facts.get("spill_stores") == 0 and facts.get("spill_loads") == 0:
        items.append({"value": "no", "label": "spills", "help": "no register was spilled", "bad": False})
    return {"items": items, "advisories": [str(text) for text in facts.get("advisories") or []]}
