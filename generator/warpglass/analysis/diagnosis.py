"""Everything that the analysis of one launch finds, in one object."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warpglass.analysis.access import access_table
from warpglass.analysis.advice import Advice, Case, advise
from warpglass.analysis.decision import DecisionRow, blocks_text, decide, tells, undecided, verdict_text
from warpglass.analysis.occupancy_view import OccupancyView, view
from warpglass.analysis.reads import block_reads
from warpglass.analysis.resources import Model, build_model
from warpglass.analysis.roofline import Roofline, roofline
from warpglass.analysis.sass_loops import LoopView, inner_loops
from warpglass.analysis.stalls import Tightening, tightenings
from warpglass.analysis.subject import Subject

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``verdict`` is (sentence, severity), None where the run ended too early to decide; ``advice`` is
    ranked; the rest is what they rest on."""

    subject: Subject
    model: Model
    roof: Roofline
    occupancy: OccupancyView | None
    loops: tuple[LoopView, ...]
    tight: tuple[Tightening, ...]
    matrix: tuple[DecisionRow, ...]
    verdict: tuple[str, str] | None
    advice: tuple[Advice, ...]


def diagnose(subject: Subject) -> Diagnosis:
    """Analyse one executed launch."""
    model = build_model(subject)
    roof = roofline(subject)
    loops = inner_loops(subject)
    seen = view(subject, model, loops)
    tight: tuple[Tightening, ...] = ()
    if subject.function is not None and subject.sass_listing is not None:
        tight = tightenings(subject.function, subject.sass_listing, subject.arch)
    matrix = decide(model, roof, seen, loops)
    rows = access_table(subject.listing, subject.result)
    case = Case(subject, model, roof, rows, loops, seen, tight, block_reads(subject))
    if not tells(subject.result):  # why the run stopped comes first: its finding is the verdict
        return Diagnosis(subject, model, roof, seen, loops, tight, matrix, None, ())
    advice, verdict = advise(case), verdict_text(model, roof, matrix)
    if not subject.result.complete:
        verdict = undecided(verdict[0], subject.result)
        so_far = f"; counted in {blocks_text(subject.result)} only"
        advice = tuple(replace(one, derivation=one.derivation + so_far) for one in advice)
    elif not subject.grid_given and not model.nothing:
        stands = "Nobody gave a grid: the cycles are those of a GPU filled eight times."
        verdict = (f"{verdict[0]} {stands}", verdict[1])
    return Diagnosis(subject, model, roof, seen, loops, tight, matrix, verdict, advice)
