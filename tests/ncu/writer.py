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
