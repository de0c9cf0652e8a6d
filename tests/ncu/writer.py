"""Writes small .ncu-rep containers for tests."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.ncu.messages import message_class


def entry(message: Any) -> bytes:
    """A length-prefixed message."""
    raw = message.SerializeToString()
    return struct.pack("<I", len(raw)) + raw


def value(content: object) -> Any:
    """A stored value; None stays unset (n/a)."""
    out = message_class("Value")()
    if isinstance(content, str):
        out.text = content.encode()
    elif isinstance(content, float):
        out.float64 = content
    elif isinstance(content, int):
        out.uint64 = content
    return out


class Writer:
    """Collects blocks; string tables are appended block by block, as the profiler does."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self.written = 0
        self.out = b"NVR\0" + entry(message_class("FileHeader")(version=7))

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def result(
        self, name: str, metrics: Sequence[tuple[str, object, Mapping[object, object] | None]], **fields: Any
    ) -> Any:
        result = message_class("ProfileResult")(function_name=name.encode(), **fields)
        result.grid.x, result.block.x = 4, 128
        for metric, content, instances in metrics:
            made = result.metrics.add(name_id=self.string(metric))
            made.value.CopyFrom(value(content))
            for key, one in (instances or {}).items():
                instance = made.instances.add()
                instance.correlation.CopyFrom(value(key))
                instance.value.CopyFrom(value(one))
        return result

    def block(self, sources: Sequence[Any] = (), results: Sequence[Any] = (), **header: Any) -> None:
        payload = b"".join(entry(m) for m in (*sources, *results))
        head = message_class("BlockHeader")(
            num_sources=len(sources), num_results=len(results), payload_size=len(payload), **header
        )
        head.strings.strings.extend(s.encode() for s in self.strings[self.written :])
        self.written = len(self.strings)
        self.out += entry(head) + payload


#: A load address as drivers choose them.
BASE = 0x7F00_0000_1000


def small_report(launches: int = 1) -> bytes:
    """One kernel: metrics of every kind, a rule, NVTX ranges, counts by instruction, a session."""
    w = Writer()
    made = message_class("BlockHeader")().session
    made.host.computer_name = b"secret-host"
    made.executable.path = b"/home/secret-user/app"
    made.executable.cwd = b"/home/secret-user"
    made.executable.environment = b"TOKEN=secret-token"
    made.command_line = b"ncu --secret-option"
    made.versions.add(provider=b"CUDA Version", version=b"12.5")
    device = made.devices.add(id=0, name=b"NVIDIA A100")
    device.attributes.add(name=b"x").value.uint64 = 1
    source = message_class("SourceData")(reference=5, sm_revision=8 << 16)
    source.functions.functions.add(name=b"_Z5scalePfi", address=BASE)
    source.imported.files.add(
        path=b"/home/secret-user/kernels/scale.cu", text=b"__global__ void scale() {}\n"
    )
    results = []
    for index in range(launches):
        pcs = {BASE: 10 + index, BASE + 16: 30, BASE + 32: None}
        result = w.result(
            "scale",
            [
                ("launch__registers_per_thread", 32, None),
                ("launch__block_size", 128, None),
                ("device__attribute_compute_capability_major", 8, None),
                ("device__attribute_compute_capability_minor", 0, None),
                ("device__attribute_display_name", "NVIDIA A100", None),
                ("gpu__time_duration.sum", 15200.0 + index, None),
                ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 15.5, None),
                ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 85.25, None),
                ("sm__warps_active.avg.pct_of_peak_sustained_active", 70.5, None),
                ("smsp__inst_executed.sum", 4096, None),
                ("dram__bytes_read.sum", 1_000_000, None),
                ("dram__bytes_write.sum", None, None),
                ("lts__t_sector_hit_rate.pct", float("nan"), None),
                ("inst_executed", 40, pcs),
                ("smsp__pcsamp_sample_count", 40, pcs),
                ("smsp__pcsamp_warps_issue_stalled_long_scoreboard", 40, pcs),
                ("memory_l2_theoretical_sectors_global", 64, {BASE + 16: 64}),
                ("memory_l2_theoretical_sectors_global_ideal", 16, {BASE + 16: 16}),
                ("nvlink__uuidDev0", "secret-uuid", None),
                ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 8.0, None),
                ("smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", 1.0, None),
            ],
            mangled_name=b"_Z5scalePfi",
            demangled_name=b"scale(float *, int)",
            thread_id=3,
        )
        result.source.reference = 5
        domain = result.nvtx.domains.add(id=1, name=b"train")
        thread = result.nvtx.threads.add(thread_id=3)
        thread.stacks.add(domain=domain.id).ranges.add(name=b"step")
        rule = result.rules.add(
            identifier=b"R", display_name=b"Uncoalesced", section_identifier=b"SourceCounters"
        )
        item = rule.body.items.add()
        item.message.text, item.message.type = (
            b"See @section:X:Source Counters@ and @url:guide:https://a.b/c@.",
            4,
        )
        item.speedup.type, item.speedup.percent = 2, 42.5
        rule.markers.add(kind=0, pc=BASE + 16, message=b"here")
        rule.markers.add(kind=1, line=1, file=b"/home/secret-user/kernels/scale.cu", message=b"there")
        _sections(result)
        results.append(result)
    w.block(sources=[source], results=results, session=made)
    return w.out


def _sections(result: Any) -> None:
    """Sections in the wrong order: a filtered header, bars, a child; and one for another GPU."""
    late = result.sections.add(identifier=b"Late", display_name=b"Late Section", order=20)
    metric = late.header.metrics.add(name=b"smsp__inst_executed.sum", label=b"Instructions")
    metric.filter.min_arch = 90
    metric.options.add(name=b"launch__block_size", label=b"Block Size").filter.max_arch = 89
    gone = late.header.metrics.add(name=b"smsp__inst_executed.sum", label=b"Gone")
    gone.filter.min_arch = 90
    first = result.sections.add(identifier=b"First", display_name=b"First Section", order=10)
    first.header.metrics.add(name=b"gpu__time_duration.sum", label=b"Duration")
    first.header.metrics.add(name=b"dram__bytes_write.sum", label=b"Written")
    item = first.body.add(display_name=b"Charts").items.add()
    bars = item.bar_chart
    bars.label = b"Throughput"
    bars.metrics.add(name=b"sm__throughput.avg.pct_of_peak_sustained_elapsed", label=b"SM")
    other = result.sections.add(identifier=b"Other", display_name=b"Other GPU", order=5)
    other.filter.min_arch = 90
    child = result.sections.add(identifier=b"First_Child", display_name=b"Child", order=99, extends=b"First")
    child.header.metrics.add(name=b"launch__block_size", label=b"Block Size")
