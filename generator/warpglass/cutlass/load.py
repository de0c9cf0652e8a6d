"""The door to CUTLASS headers: read files, say what each is, run them, derive programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpglass.cutlass.derive import Derived, derive, with_traced
from warpglass.cutlass.kernels import kernel_function, role_streams
from warpglass.cutlass.lint import Finding, lint
from warpglass.cutlass.raw import RawUse, raw_uses
from warpglass.cutlass.streams import KNOBS, RoleStream, collective_streams, role_functions
from warpglass.cutlass.structure import Header, parse_header
from warpglass.cutlass.trace import trace_kernel

__all__ = ["PipelineModel", "header_kind", "is_pipeline_text", "parse"]

_PIPELINE = re.compile(
    r"producer_acquire|consumer_wait|PipelineTmaAsync|PipelineState|OrderedSequenceBarrier|CollectiveMainloop\b"
    r"|ClusterTransactionBarrier|mbarrier"
)


@dataclass(frozen=True, slots=True)
class PipelineModel:
    """Everything read from a set of headers."""

    headers: tuple[Header, ...]
    kinds: Mapping[str, str]
    streams: Mapping[str, tuple[RoleStream, ...]]
    derived: Derived
    findings: tuple[Finding, ...]
    raw: tuple[RawUse, ...]
    notes: tuple[str, ...]


def is_pipeline_text(text: str) -> bool:
    """Whether a source speaks of pipelines at all."""
    return _PIPELINE.search(text) is not None


def header_kind(header: Header) -> str:
    """mainloop, kernel, epilogue, raw (barriers without pipeline classes) or other."""
    function = kernel_function(header)
    names = set(header.functions)
    own = role_functions(header)
    if function is not None and re.search(
        r"collective_mainloop|CollectiveMainloop|mainloop\.", function.source
    ):
        return "kernel"
    if "mma" in names and own:
        return "mainloop"
    if "store" in names and ({"load", "store_tail"} & names):
        return "epilogue"
    if own:
        return "mainloop"
    if "store" in names and re.search(r"tma_store|store_pipeline|NamedBarrier", header.text):
        return "epilogue"
    if function is not None and re.search(r"Role|Category", function.source):
        return "kernel"
    return "raw" if re.search(r"Barrier|mbarrier", header.text) else "other"


def parse(
    files: Sequence[tuple[str, bytes]],
    kernel_layer: tuple[str, bytes] | None = None,
    knobs: Mapping[str, int] | None = None,
    decide: Mapping[str, bool] | None = None,
    helpers: Sequence[tuple[str, bytes]] = (),
) -> PipelineModel:
    """Parse and run ``files`` (name, content). Never raises: notes say what was not found.

    ``helpers`` are headers that the files include: calls are followed into them, no more.
    """
    headers = [parse_header(content, name) for name, content in files]
    kinds = {header.name: header_kind(header) for header in headers}
    if kernel_layer is not None:
        kernel_header = parse_header(kernel_layer[1], kernel_layer[0])
        headers.append(kernel_header)
        kinds[kernel_header.name] = "kernel"
    values = {**KNOBS, **(knobs or {})}
    notes: list[str] = []
    by_kind = {
        kind: next((h for h in headers if kinds[h.name] == kind), None)
        for kind in ("mainloop", "kernel", "epilogue")
    }
    mainloop, kernel, epilogue = by_kind["mainloop"], by_kind["kernel"], by_kind["epilogue"]
    mains = [h for h in headers if kinds[h.name] == "mainloop"]
    included = [parse_header(content, name) for name, content in helpers]
    streams: dict[str, tuple[RoleStream, ...]] = {}
    if mainloop is not None:
        # An attention kernel may have its loads in one header and its MMAs in another.
        streams["mainloop"] = tuple(
            stream
            for header in mains
            for stream in collective_streams(
                header, values, decide, [*(h for h in mains if h is not header), *included]
            )
        )
    if epilogue is not None:
        streams["epilogue"] = collective_streams(epilogue, values, decide, included)
    if kernel is not None:
        others = [*(h for h in (*mains, epilogue) if h is not None), *included]
        streams["kernel"] = role_streams(kernel, others, values, decide)
        if not streams["kernel"]:
            notes.append(f"{kernel.name}: no operator() with roles was found")
    raw: list[RawUse] = []
    for header in headers:
        if header.errors:
            notes.append(
                f"{header.name}: the grammar could not follow line {', '.join(map(str, header.errors[:5]))}"
            )
        notes += [f"{header.name}: {note}" for note in header.notes]
        if kinds[header.name] in ("raw", "other"):
            raw += raw_uses(header)
            notes.append(
                f"{header.name}: no pipeline of CUTLASS's classes: its barriers and loops are listed"
            )
    for group in streams.values():
        notes += [f"{stream.role}: {note}" for stream in group for note in stream.notes]
    derived = derive(mainloop, kernel, streams, "\n".join(h.text for h in mains))
    traced = kernel is not None and derived.family in (None, "attention")
    if traced and kernel is not None:
        others = [*(h for h in (*mains, epilogue) if h is not None), *included]
        program, why = trace_kernel(kernel, others, values, decide)
        derived = with_traced(derived, program, why, first=mainloop is None)
    if derived.family is None and headers:
        notes.append("no schedule is simulated: " + "; ".join(derived.reasons))
    findings = lint(streams, mainloop, values) if streams else ()
    return PipelineModel(tuple(headers), kinds, streams, derived, findings, tuple(raw), tuple(notes))
