"""CUTLASS headers: parsed, run with concrete knobs, turned into pipeline programs; see docs/pipeline.md."""

from warpglass.cutlass.load import PipelineModel, header_kind, is_pipeline_text, parse

__all__ = ["PipelineModel", "header_kind", "is_pipeline_text", "parse"]
