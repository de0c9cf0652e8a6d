"""One event simulator for warp-specialised pipelines: lanes, barriers, engines; see docs/pipeline.md."""

from warpglass.pipeline.expand import Flat, expand, knob_values
from warpglass.pipeline.results import (
    Summary,
    critical_path,
    least_stages,
    run_program,
    summarise,
    sweep,
    what_if,
)
from warpglass.pipeline.simulate import Run, simulate
from warpglass.pipeline.stages import StageRow, stage_rows

__all__ = [
    "Flat", "Run", "StageRow", "Summary", "critical_path", "expand", "knob_values", "least_stages",
    "run_program", "simulate", "stage_rows", "summarise", "sweep", "what_if",
]  # fmt: skip
