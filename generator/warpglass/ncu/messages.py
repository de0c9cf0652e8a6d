"""The protobuf messages of an .ncu-rep file, as descriptors built from one table.

Field numbers come from NVIDIA's public descriptor files and from reading real reports (2020.3 to 2025.4);
those that only reports show have names of our own. Text fields are declared ``bytes``: a report may hold any
bytes, and protobuf would refuse a whole message over one broken character. Unknown fields are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["MESSAGES", "message_class"]

#: message -> {field number: "name type"}; ``*`` = repeated; b(ytes), u(int64), f(loat), d(ouble) or message.
MESSAGES: Mapping[str, Mapping[int, str]] = {
    "FileHeader": {1: "version u"},
    "BlockHeader": {
        1: "num_sources u", 2: "num_results u", 3: "session SessionDetails", 4: "strings StringTable",
        5: "payload_size u", 6: "process ProcessInfo", 7: "num_range_results u",
    },
    "StringTable": {1: "strings *b"},
    "ProcessInfo": {1: "process_id u", 2: "hostname b", 3: "process_name b"},
    "SessionDetails": {
        1: "process_id u", 2: "creation_time u", 3: "host SystemInfo", 4: "target SystemInfo",
        6: "devices *DeviceAttributes", 7: "comments b", 8: "versions *VersionInfo",
        9: "executable ExecutableSettings", 11: "command_line b",
    },
    "SystemInfo": {
        1: "os_name b", 2: "build b", 3: "processor b", 4: "architecture b", 5: "computer_name b",
        6: "platform u", 7: "addresses *NetAddress",
    },
    "NetAddress": {1: "address b", 2: "kind u"},
    "DeviceAttributes": {1: "id u", 2: "name b", 3: "attributes *Attribute"},
    "Attribute": {1: "name b", 2: "value Value"},
    "VersionInfo": {1: "provider b", 2: "version b"},
    "ExecutableSettings": {1: "path b", 2: "cwd b", 3: "arguments b", 4: "environment b"},
    "Value": {1: "text b", 2: "float32 f", 3: "float64 d", 4: "uint32 u", 5: "uint64 u"},
    "Instance": {1: "correlation Value", 2: "value Value"},
    "Metric": {1: "name_id u", 2: "value Value", 3: "instances *Instance", 4: "kind u"},
    "Dim": {1: "x u", 2: "y u", 3: "z u"},
    "SourceRef": {1: "reference u", 5: "sass_level u"},
    "ProfileResult": {
        1: "thread_id u", 2: "api_call_id u", 3: "program_handle u", 4: "kernel_id u", 5: "mangled_name b",
        6: "function_name b", 7: "demangled_name b", 8: "work_dimensions u", 9: "offset Dim", 10: "grid Dim",
        11: "block Dim", 12: "comments b", 13: "metrics *Metric", 14: "creation_time u",
        15: "source SourceRef", 16: "api u", 17: "sections *Section", 18: "section_comments *SectionComment",
        19: "rules *RuleResult", 20: "unsupported_device u", 21: "nvtx NvtxState", 22: "context_id u",
        23: "stream_id u", 28: "call_stack CallStack",
    },
    "SectionComment": {1: "section SectionId", 2: "name b", 3: "text b"},
    "SectionId": {1: "identifier b"},
    "CallStack": {1: "frames *CallFrame"},
    "CallFrame": {1: "module b", 2: "address u", 4: "function b", 5: "line u"},
    "SourceData": {
        1: "reference u", 4: "cubin b", 5: "sass_level u", 6: "sm_revision u", 7: "flags u",
        8: "imported ImportedSource", 9: "functions FunctionTable",
    },
    "ImportedSource": {1: "files *ImportedFile"},
    "ImportedFile": {1: "path b", 2: "text b"},
    "FunctionTable": {1: "functions *FunctionAddress"},
    "FunctionAddress": {1: "name b", 2: "address u", 3: "flags u"},
    "RuleResult": {
        1: "identifier b", 2: "display_name b", 3: "body RuleBody", 4: "section_identifier b",
        5: "markers *SourceMarker",
    },
    "RuleBody": {1: "items *RuleItem"},
    "RuleItem": {
        1: "message RuleMessage", 2: "table Table", 3: "bar_chart BarChart", 6: "proposal Proposal",
        8: "focus FocusMetric", 9: "source_table HotSpots", 10: "speedup Speedup",
    },
    "Proposal": {1: "identifier b"},
    "RuleMessage": {1: "text b", 2: "type u", 3: "id u", 4: "title b"},
    "FocusMetric": {1: "message_id u", 2: "metric b", 3: "value d", 4: "severity u", 5: "info b"},
    "Speedup": {1: "type u", 2: "percent d"},
    "SourceMarker": {1: "kind u", 2: "line u", 3: "pc u", 4: "message b", 5: "type u", 6: "file b"},
    "Section": {
        1: "identifier b", 2: "display_name b", 3: "order u", 4: "header SectionHeader",
        5: "body *SectionBody", 6: "metrics SectionMetrics", 7: "description b", 8: "sets *SetId",
        9: "extends b", 11: "filter Filter",
    },
    "SetId": {1: "identifier b"},
    "SectionHeader": {1: "rows u", 2: "metrics *SectionMetric"},
    "SectionMetrics": {1: "metrics *SectionMetric", 2: "order u"},
    "SectionMetric": {
        1: "name b", 2: "label b", 3: "hw_unit b", 4: "show_instances u", 5: "unit b", 6: "filter Filter",
        7: "options *SectionMetricOption", 13: "multiplier d",
    },
    "SectionMetricOption": {1: "name b", 2: "label b", 3: "filter Filter"},
    "Filter": {1: "min_arch u", 2: "max_arch u", 3: "ranges *ArchRange"},
    "ArchRange": {1: "low u", 2: "high u"},
    "SectionBody": {1: "items *BodyItem", 2: "display_name b"},
    "BodyItem": {
        1: "table Table", 2: "bar_chart BarChart", 4: "line_chart LineChart",
        5: "container BodyItems", 6: "roofline Roofline", 7: "hot_spots HotSpots",
        8: "metric_table MetricTable", 101: "shared_table Named", 102: "first_level_table Named",
        103: "second_level_table Named", 104: "dram_table Named", 105: "memory_chart Named",
        106: "l1tex_table Named", 107: "l2_table Named", 108: "nvlink_topology Named",
        109: "nvlink_properties Named", 110: "nvlink_throughput Named", 111: "eviction_table Named",
        112: "numa_table Named",
        113: "timeline Timeline", 200: "filter Filter",
    },
    "BodyItems": {1: "items *BodyItem"},
    "Named": {1: "label b"},
    "LineChart": {
        1: "label b", 2: "x_axis Named", 3: "y_axis Named", 4: "metrics *SectionMetric",
        5: "present SectionMetrics",
    },
    "HotSpots": {1: "label b", 3: "metrics *SectionMetric"},
    "Table": {1: "label b", 2: "rows u", 3: "columns u", 4: "order u", 5: "metrics *SectionMetric"},
    "BarChart": {1: "label b", 2: "direction u", 5: "metrics *SectionMetric"},
    "MetricTable": {1: "label b", 2: "columns *MetricTableColumns", 3: "rows *MetricTableRows"},
    "MetricTableColumns": {1: "columns *MetricTableColumn"},
    "MetricTableColumn": {1: "suffix b", 2: "header b"},
    "MetricTableRows": {1: "metrics *SectionMetric"},
    "Timeline": {2: "groups *TimelineGroup"},
    "TimelineGroup": {1: "label b", 3: "expanded u", 4: "rows *TimelineRow"},
    "TimelineRow": {4: "metrics *SectionMetric"},
    "Roofline": {
        1: "label b", 2: "x_axis Named", 3: "y_axis Named", 4: "roofs *Roof", 5: "achieved *Roof",
    },
    "Roof": {1: "work RoofValue", 2: "traffic RoofValue", 3: "caption Named"},
    "RoofValue": {2: "metric SectionMetric", 3: "per_cycle RoofPerCycle"},
    "RoofPerCycle": {1: "metrics *SectionMetric", 2: "cycles SectionMetric"},
    "NvtxState": {1: "domains *NvtxDomain", 2: "threads *NvtxThread", 3: "start_end *NvtxStartEnd"},
    "NvtxDomain": {1: "id u", 2: "name b"},
    "NvtxThread": {1: "thread_id u", 2: "stacks *NvtxStack"},
    "NvtxStack": {1: "domain u", 3: "ranges *NvtxRange"},
    "NvtxRange": {1: "name b"},
    "NvtxStartEnd": {1: "domain u", 3: "ranges *NvtxStartEndRange"},
    "NvtxStartEndRange": {1: "id u", 2: "name b"},
}  # fmt: skip

_TYPES = {"b": 12, "u": 4, "f": 2, "d": 1}  # FieldDescriptorProto.Type numbers
_TYPE_MESSAGE = 11
_PACKAGE = "warpglass.ncu.wire"


@lru_cache(maxsize=1)
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="warpglass_ncu.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in MESSAGES.items():
        made = file.message_type.add(name=name)
        for number, text in fields.items():
            field_name, kind = text.split(" ")
            field: Any = made.field.add(
                name=field_name, number=number, label=3 if kind.startswith("*") else 1
            )
            kind = kind.lstrip("*")
            if kind in _TYPES:
                field.type = _TYPES[kind]
            else:
                field.type = _TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


@cache
def message_class(name: str) -> Any:
    """The generated class of a message of :data:`MESSAGES` (typed Any: its fields exist at run time only)."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))
