"""A diagnosis as section data of the report: verdict, advice, occupancy, roofline, bottleneck, loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.analysis.advice import Advice, advise
from warpglass.analysis.diagnosis import Diagnosis
from warpglass.analysis.listing import Listing
from warpglass.analysis.measured import Measurement, measured_occupancy, measured_roofline
from warpglass.analysis.measured_case import measured_case
from warpglass.analysis.measured_decision import decide_measured
from warpglass.analysis.measured_loops import (
    ProfiledCode,
    executed_operations,
    measured_loops,
    with_loops,
)
from warpglass.analysis.number import Number
from warpglass.analysis.occupancy_view import OccupancyView, stage_costs
from warpglass.analysis.resources import LABELS
from warpglass.analysis.roofline import Roofline
from warpglass.analysis.stalls import Tightening
from warpglass.analysis.subject import Subject
from warpglass.gpu import Arch
from warpglass.report.diagnosis_blocks import matrix, table, words
from warpglass.report.diagnosis_loops import loop_blocks
from warpglass.report.measured_loops import decision_blocks, measured_loop_blocks

__all__ = ["SECTIONS", "diagnosis_json", "measurement_json", "merge_sections"]

#: Ids and titles of the sections that a diagnosis fills.
SECTIONS: Mapping[str, str] = {
    "verdict": "Verdict",
    "advice": "Advice",
    "occupancy": "Occupancy",
    "roofline": "Roofline",
    "bottleneck": "Bottleneck",
    "loops": "Inner loops",
}

Json = dict[str, Any]


def diagnosis_json(found: Diagnosis, ids: Mapping[str, int]) -> Json:
    """Data of each section for one launch; ``ids`` gives the page's source id of a path."""
    said = found.verdict
    return {
        "verdict": {"text": said[0], "evidence": "modelled", "severity": said[1]} if said else None,
        "advice": [_advice(one, ids) for one in found.advice],
        "occupancy": {"blocks": _occupancy(found.occupancy, found.subject.arch, found.subject.grid_given)},
        "roofline": {"blocks": _roofline(found.roof, found.subject)},
        "bottleneck": {"blocks": _bottleneck(found)},
        "loops": {"blocks": loop_blocks(found)} if found.loops else None,
    }


def measurement_json(
    found: Measurement,
    code: ProfiledCode | None = None,
    tight: Sequence[Tightening] = (),
    ids: Mapping[str, int] | None = None,
    listed_in: int | None = None,
) -> Json:
    """Data of the sections that a profiler's counters fill without an execution; ``code`` is the report's
    machine code with its counts by instruction, None where it has none that can be read, ``tight`` its
    fixed stalls that could be shorter. ``ids`` gives the page's source id of a path, ``listed_in`` that of
    the machine code: where advice has no line of its own, its instruction there is one."""
    loops = measured_loops(found, code) if code is not None else ()
    seen = with_loops(measured_occupancy(found), found, loops)
    operations = executed_operations(code) if code is not None else None
    roof = measured_roofline(found, operations)
    rows = decide_measured(found.launch, roof, seen, loops, operations, code is not None)
    case = measured_case(found, code, roof, loops, seen, tight)
    place = (code.listing, listed_in) if code is not None and listed_in is not None else None
    advice = [_advice(one, ids or {}, place) for one in advise(case)] if case is not None else []
    if code is not None:
        listed = measured_loop_blocks(loops, code, tight)
    else:
        listed = [
            words(
                "Unknown: the report has no machine code that can be read; a .ncu-rep with its cubin would."
            )
        ]
    return {
        "advice": advice,
        "roofline": {"blocks": _roofline(roof, found)},
        "occupancy": {
            "blocks": _occupancy(seen, found.arch, True)
            if seen is not None
            else [words("Unknown: GPU or registers are not told; --section LaunchStats would give them.")]
        },
        "bottleneck": {"blocks": decision_blocks(rows, found.launch)},
        "loops": {"blocks": listed},
    }


def merge_sections(listed: list[Json], diagnoses: Sequence[Json | None]) -> list[Json]:
    """The sections with each launch's diagnosis put where nothing stands yet: what was measured wins."""
    sections = {str(entry["id"]): entry for entry in listed}
    for name, title in SECTIONS.items():
        made = [d.get(name) if d is not None else None for d in diagnoses]
        # That there is no advice is an answer, too; a page without any other part has no such section.
        if not any(made) and not (name == "advice" and [] in made):
            continue
        entry = sections.setdefault(name, {"id": name, "title": title, "data": {"launches": []}})
        have = list(entry["data"].get("launches") or [])
        have += [None] * (len(made) - len(have))
        # A page where no kernel has a loop has no such section; beside one that has, the others say so.
        without: Any = {"blocks": [words("The kernel has no loop.")]}
        empty: Any = without if name == "loops" else None
        entry["data"] = {
            **entry["data"],
            "launches": [
                # Our own advice is of this kernel's lines; the profiler's rules follow.
                [*(new or []), *(old or [])] if name == "advice" else old or new or empty
                for old, new in zip(have, made, strict=False)
            ],
        }
    return list(sections.values())


def _advice(one: Advice, ids: Mapping[str, int], code: tuple[Listing, int] | None = None) -> Json:
    low, high = one.gain
    lines = [[ids[path], line] for path, line in one.lines if path in ids]
    gain = f"{low:.2f} to {high:.2f} times faster" if high >= 1.005 else "less than 1 %"
    out: Json = {
        "id": one.id,
        "title": one.title,
        "text": one.text,
        "severity": one.severity,
        "category": one.category,
        "evidence": one.evidence,
        "gain": gain,
        "gain_range": [low, high],
        "derivation": one.derivation,
        "conflicts": list(one.conflicts),
        "confirm": one.confirm,
        "lines": lines,
        "pcs": list(one.pcs),
    }
    if not lines and code is not None:
        lines = [[code[1], code[0].rows[pc].line] for pc in one.pcs]
    if lines:
        out["source"], out["line"] = lines[0]
    return out


def _occupancy(seen: OccupancyView | None, arch: Arch | None, grid_given: bool) -> list[Json]:
    if seen is None or arch is None:
        return [
            words(
                "Unknown: the registers of the kernel are not known. Compiling the source, or its cubin, "
                "would say."
            )
        ]
    o, ask = seen.found, seen.ask

    def limit(value: int | None) -> Any:
        return "no limit" if value is None else value

    named = ", ".join(o.limiters) or "nothing: full occupancy"
    others = [one for one in seen.limiters if one not in o.limiters]
    limiters = named + (f"; {', '.join(others)}" if others else "")
    blocks = [
        table(
            "Blocks an SM, by resource",
            ("resource", "asked", "blocks it allows"),
            (
                (
                    "registers",
                    f"{ask.registers} a thread, {o.registers_block:,} a block",
                    limit(o.by_registers),
                ),
                (
                    "shared memory",
                    f"{ask.static_shared + ask.dynamic_shared:,} bytes, {o.shared_block:,} allocated",
                    limit(o.by_shared),
                ),
                ("warps", f"{-(-ask.threads // 32)} a block of {o.max_warps}", o.by_warps),
                ("blocks", "1", o.by_blocks),
                ("barriers", str(ask.barriers), limit(o.by_barriers)),
                (
                    "result",
                    f"{o.warps} of {o.max_warps} warps, {o.fraction:.0%}; limited by {limiters}",
                    o.blocks,
                ),
            ),
            "static",
        ),
    ]
    said = [f"{cliff.sentence()}." for cliff in seen.cliffs]
    if o.needs_optin:
        said.append("More than 48 KB of shared memory: the launch has to opt in (cudaFuncSetAttribute).")
    if seen.waves is not None:
        w = seen.waves
        said.append(
            f"{w.blocks:,} block{'s' if w.blocks != 1 else ''} of {w.slots:,} that fit at once: "
            f"{w.waves:.3g} wave{'' if w.waves == 1 else 's'}; {w.efficiency:.0%} of the slots work"
            + (f", {w.idle_sms} SM{' stays' if w.idle_sms == 1 else 's stay'} idle." if w.idle_sms else ".")
        )
    elif not grid_given:
        said.append("Waves and tail: unknown, nobody gave a grid; --grid would say.")
    if seen.sufficiency is not None:
        s = seen.sufficiency
        by = f" {s.by_bandwidth} keep enough bytes in flight;" if s.by_bandwidth is not None else ""
        said.append(
            f"Little's law for the hottest loop: {s.rule}. {s.by_issue} warps hide it behind "
            f"instructions;{by} "
            f"{s.needed} are needed, {s.active} are active: {'enough' if s.enough else 'not enough'}."
        )
    blocks.append(words("\n".join(f"- {one}" for one in said)))
    total = ask.static_shared + ask.dynamic_shared
    if total:
        known = seen.stages
        rows = [
            (stages, size, count)
            for stages, size, count in stage_costs(arch, ask, known.tile if known is not None else total)
        ]
        blocks.append(
            table(
                "What each further stage of the present shared bytes would cost"
                if known is None
                else f"What each further stage of {known.tile:,} bytes would cost: a turn of the loop fills "
                f"{known.filled:,} of {total:,} bytes, {known.number} "
                f"stage{'s' if known.number != 1 else ''} now",
                ("further stages", "bytes a block", "blocks an SM"),
                rows,
                "static",
            )
        )
    for curve in seen.curves:
        at = min(range(len(curve.x)), key=lambda i: abs(curve.x[i] - curve.present))
        blocks.append(
            {
                "type": "lines",
                "caption": f"Warps an SM over {curve.name}",
                "x_title": f"{curve.name} ({curve.unit})",
                "y_title": "warps",
                "evidence": "static",
                "series": [{"name": "warps", "x": list(curve.x), "y": list(curve.warps)}],
                "points": [{"name": "here", "x": curve.present, "y": curve.warps[at] if at else o.warps}],
            }
        )
    return blocks


def _roofline(roof: Roofline, subject: Subject | Measurement) -> list[Json]:
    numbers = [
        _time(subject),
        *roof.ops.values(),
        roof.total,
        roof.unique,
        roof.requested,
        roof.reread,
        roof.intensity,
        roof.achieved,
        roof.achieved_bytes,
        roof.attained,
    ]
    blocks: list[Json] = [{"type": "numbers", "numbers": [n.to_json() for n in numbers]}]
    if subject.problem is not None:
        p = subject.problem
        # Stars of formulas are no Markdown.
        source = p.source.replace("*", "\\*")
        blocks.append(words(f"Problem: {p.text}. `{p.rule}`. Source: {source}."))
    if subject.expected is not None:
        value = roof.attained.value
        said = "unknown without a time" if value is None else f"{value:.3g} %"
        met = (
            ""
            if value is None
            else (" The expectation is met." if value >= 100 * subject.expected else " It is not met.")
        )
        blocks.append(words(f"Expected: {subject.expected:.0%} of the roof; attained: {said}.{met}"))
    if not roof.roofs or not roof.bandwidth:
        blocks.append(words("No roofs: the GPU is not known; --gpu names one."))
        return blocks
    rows = [
        (
            p.label,
            p.tflops,
            roof.balances.get(p.precision),
            "executed most" if p.precision == roof.main else "",
            p.source,
        )
        for p in roof.roofs
    ]
    blocks.append(
        table(
            f"Dense peaks of {_device(subject)} at {roof.bandwidth:,.0f} GB/s",
            ("precision", "Tflop/s", "balance, FLOP a byte", "", "source"),
            rows,
            "static",
        )
    )
    blocks.insert(1, _figure(roof))
    return blocks


def _time(subject: Subject | Measurement) -> Number:
    if subject.time_ms is None:
        why = "--time-ms, a profiler's report, or warpglass bench would give it"
        return Number("Time", None, "ms", "measured", "time of one launch", "whole grid", False, why)
    return Number("Time", subject.time_ms, "ms", "measured", subject.time_origin)


def _device(subject: Subject | Measurement) -> str:
    if isinstance(subject, Measurement):
        named = subject.launch.get("device__attribute_display_name")
        return str(named) if named else "the GPU"
    return subject.gpu.name if subject.gpu is not None else "the GPU"


def _figure(roof: Roofline) -> Json:
    bandwidth = roof.bandwidth or 1.0
    here = float(roof.intensity.value or 0)
    left = min(0.05, here / 2) if here > 0 else 0.05
    right = max(2000.0, here * 2, 4 * max(roof.balances.values(), default=1.0))
    series = []
    for peak in roof.roofs:
        ridge = peak.tflops * 1e3 / bandwidth
        series.append(
            {
                "name": peak.label,
                "main": peak.precision == roof.main,
                "x": [left, ridge, right],
                "y": [left * bandwidth, peak.tflops * 1e3, peak.tflops * 1e3],
            }
        )
    points = []
    if here > 0:
        top = roof.peak.tflops * 1e3 if roof.peak is not None else here * bandwidth
        points.append({"name": "attainable", "x": here, "y": min(top, here * bandwidth)})
        if roof.achieved.value:
            points.append({"name": "achieved", "x": here, "y": roof.achieved.value})
    return {
        "type": "lines",
        "caption": "Roofline: operations a second over operations a unique byte",
        "log": True,
        "x_title": "FLOP a byte",
        "y_title": "GFLOP/s",
        "series": series,
        "points": points,
        "evidence": "modelled",
    }


def _bottleneck(found: Diagnosis) -> list[Json]:
    model = found.model
    ordered = sorted(model.cycles.items(), key=lambda item: -item[1])
    blocks: list[Json] = [matrix(found.matrix)]
    if ordered:
        blocks.append(
            {
                "type": "bars",
                "caption": "Busy cycles of the busiest SM, by resource"
                + ("" if found.subject.result.complete else ", as far as the run went"),
                "unit": "cycles",
                "evidence": "modelled",
                "items": [{"label": LABELS[name], "value": round(value)} for name, value in ordered],
            }
        )
    if model.chain is not None:
        parts = ", ".join(f"{name} {value:,.0f}" for name, value in model.chain.parts.items())
        blocks.append(
            words(
                f"One warp alone takes {model.chain.cycles:,.0f} cycles ({parts}); an SM is filled "
                f"{'once' if model.rounds == 1 else f'{model.rounds} times'} with "
                f"{model.resident} block{'' if model.resident == 1 else 's'}. A sector comes from device "
                f"memory with a share of {model.dram_share:.0%}, from the L1 "
                f"with {model.l1_hits:.0%}. If everything overlaps, the launch takes "
                f"{model.overlapped:,.0f} cycles."
            )
        )
    else:
        blocks.append(
            words(
                "No block was traced, so that the chain of one warp is unknown; --blocks 0 would trace one."
            )
        )
    return blocks
