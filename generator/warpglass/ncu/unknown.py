"""What a report holds that this reader has no name for: newer versions add fields, and readers skip them.

Skipping is safe in this format, but a reader should know that it happened: every kind is told once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

__all__ = ["unknown_parts"]

#: Fields that were seen and are left alone: (message, field). Looks of charts, groups and domains of metrics,
#: expressions of metrics that are stored with their values, filters of range results, drawings of links.
_SEEN = frozenset(
    {
        ("BarChart", 3), ("BarChart", 4), ("BarChart", 6), ("BarChart", 7), ("BarChart", 8), ("BarChart", 9),
        ("CallFrame", 3),
        ("CallStack", 2), ("Filter", 4), ("Filter", 5), ("Named", 2), ("Named", 3), ("Named", 5),
        ("NvtxRange", 2), ("NvtxState", 4), ("ProfileResult", 24), ("ProfileResult", 25),
        ("ProfileResult", 31), ("ProfileResult", 35), ("Section", 10), ("Section", 12),
        ("Section", 13), ("SectionBody", 3), ("SectionMetric", 8), ("SectionMetric", 9),
        ("SectionMetric", 11), ("SessionDetails", 5), ("SessionDetails", 10), ("SourceData", 2),
        ("SourceData", 3), ("Table", 6), ("Table", 7),
    }
)  # fmt: skip
#: Messages of values: there are millions, and one of an unknown kind reads as n/a where it is decoded.
_BULK = frozenset({"Metric", "Instance", "FunctionAddress", "StringTable"})
#: Messages that are looked at; real reports have some thousand that differ.
_MAX_MESSAGES = 200_000
_MAX_TOLD = 12
_SMALL = 1 << 16
_MAX_FIELDS = 1_000_000


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _numbers(message: Any) -> set[int]:
    """Field numbers without a name. Large messages are walked by hand: a list of their unknown fields could
    be a hundred times as large as they are."""
    if message.ByteSize() <= _SMALL:
        unknown: Any = UnknownFieldSet(message)
        return {int(field.field_number) for field in unknown}
    raw: bytes = message.SerializeToString()
    at, found = 0, set()
    for _ in range(_MAX_FIELDS):
        if at >= len(raw):
            break
        key, at = _varint(raw, at)
        found.add(key >> 3)
        size, at = _varint(raw, at) if key & 7 in (0, 2) else ({1: 8, 5: 4}.get(key & 7, 0), at)
        at += 0 if key & 7 == 0 else size
    return found - set(message.DESCRIPTOR.fields_by_number)


class _Search:
    def __init__(self) -> None:
        self.found: dict[tuple[str, int], None] = {}
        self.seen: set[bytes] = set()
        self.left = _MAX_MESSAGES

    def look(self, message: Any) -> None:
        name = message.DESCRIPTOR.name
        for number in _numbers(message):
            if (name, number) not in _SEEN:
                self.found[(name, number)] = None
        for field, value in message.ListFields():
            if field.message_type is None or field.message_type.name in _BULK or self.left <= 0:
                continue
            for one in value if field.is_repeated else (value,):
                self.left -= 1
                if self.left <= 0:
                    break
                if field.message_type.name != "Section" or self._first(one):
                    self.look(one)

    def _first(self, section: Any) -> bool:
        """Whether this is no copy: every launch stores the same definitions again."""
        raw = section.SerializeToString()
        if raw in self.seen:
            return False
        self.seen.add(raw)
        return True


def unknown_parts(messages: Iterable[Sequence[Any]]) -> str | None:
    """One sentence on the fields without a name in these messages, None where there are none."""
    search = _Search()
    for group in messages:
        for message in group:
            search.look(message)
    if not search.found:
        return None
    names = [f"{message} {number}" for message, number in sorted(search.found)]
    more = f" and {len(names) - _MAX_TOLD} more" if len(names) > _MAX_TOLD else ""
    return f"parts that this reader has no name for are skipped: {', '.join(names[:_MAX_TOLD])}{more}"
