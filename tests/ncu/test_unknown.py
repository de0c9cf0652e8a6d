"""Fields, kinds and enum values of versions to come: skipped, told once, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ncu.made_ranges import ranges_report
from ncu.made_rooflines import roofline_report
from ncu.writer import Writer, entry, small_report, value
from warpglass import ncu
from warpglass.api import make_report
from warpglass.ncu import unknown
from warpglass.ncu.container import read_container
from warpglass.ncu.layout import layout
from warpglass.ncu.messages import MESSAGES, message_class
from warpglass.options import ReportOptions

REAL = Path(__file__).resolve().parents[3] / "shared" / "inputs" / "ncu"

#: A varint, a fixed 64, text, a fixed 32 and a group, all with a field number of their own.
STRANGE = (
    b"\xf8\x7f\x05\xf1\x7f" + bytes(8) + b"\xea\x7f\x03abc\xe5\x7f" + bytes(4) + b"\xdb\x7f\x08\x01\xdc\x7f"
)


def strew(message: Any, seen: set[str]) -> None:
    """Unknown fields into a message and everything in it."""
    for field, content in message.ListFields():
        if field.message_type is not None:
            for one in content if field.is_repeated else (content,):
                strew(one, seen)
    message.MergeFromString(STRANGE)
    seen.add(message.DESCRIPTOR.name)


def strewn(content: bytes) -> tuple[bytes, set[str]]:
    """The same report with unknown fields at every level, in one block a header."""
    container = read_container(content)
    seen: set[str] = set()
    for group in (container.headers, container.sources, container.results):
        for message in group:
            strew(message, seen)
    (head,) = container.headers
    payload = b"".join(entry(m) for m in (*container.sources, *container.results))
    head.payload_size = len(payload)
    return b"NVR\0" + entry(message_class("FileHeader")(version=7)) + entry(head) + payload, seen


def told(report: ncu.Report) -> list[str]:
    return [p for p in report.problems if "no name for" in p]


@pytest.mark.parametrize("made", [small_report, roofline_report, ranges_report])
def test_unknown_fields_change_nothing_but_are_told(made: Any, tmp_path: Path) -> None:
    plain = ncu.parse(made(), "made.ncu-rep")
    content, seen = strewn(made())
    report = ncu.parse(content, "made.ncu-rep")
    assert len(seen) > 10
    (problem,) = told(report)
    assert "BlockHeader 2043" in problem
    assert problem.startswith("parts that this reader has no name for are skipped: ")
    assert plain.problems == ()
    for mine, theirs in zip(report.launches, plain.launches, strict=True):
        assert list(map(repr, mine.metrics.values())) == list(map(repr, theirs.metrics.values()))
        assert all(list(m.instances) == list(theirs[n].instances) for n, m in mine.metrics.items())
        assert (mine.rules, mine.nvtx, mine.name) == (theirs.rules, theirs.nvtx, theirs.name)
        assert layout(mine) == layout(theirs)
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(content)
    html = make_report([path], ReportOptions(charts="static")).to_html()
    assert html.count("<b>Incomplete:</b> parts that this reader has no name for") == 1


def test_every_message_takes_unknown_fields() -> None:
    """Alone, each message with nothing but unknown fields is one that says nothing."""
    for name in MESSAGES:
        assert message_class(name).FromString(STRANGE).ListFields() == []


@pytest.mark.skipif(not REAL.is_dir(), reason="no ../shared/inputs/ncu")
def test_real_reports_hold_nothing_without_a_name() -> None:
    for path in REAL.glob("*.ncu-rep"):
        assert told(ncu.load(path)) == [], path.name


def test_large_messages_are_walked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    content, _ = strewn(small_report())
    first = told(ncu.parse(content))
    monkeypatch.setattr(unknown, "_SMALL", -1)
    assert told(ncu.parse(content))[0].split(" ")[:12] == first[0].split(" ")[:12]
    assert told(ncu.parse(small_report())) == []


def test_values_of_a_new_kind_read_na_and_are_told() -> None:
    w = Writer()
    result = w.result("k", [("new", None, None), ("none", None, None), ("old", 3, None), ("each", 1, {5: 2})])
    result.metrics[0].value.MergeFromString(b"\x32\x01x")  # field 6, a kind to come
    result.metrics[3].instances[0].value.Clear()
    result.metrics[3].instances[0].value.MergeFromString(b"\x38\x01")
    w.block(results=[result])
    report = ncu.parse(w.out)
    launch = report.launches[0]
    assert (launch.get("new"), launch.get("none"), launch.get("old")) == (None, None, 3)
    assert launch["each"].instances[0].value is None
    assert report.problems == ("values of a kind that this reader does not know read n/a",)


def test_new_body_items_leave_the_others_in_place() -> None:
    w = Writer()
    result = w.result("k", [("a", 1, None)])
    section = result.sections.add(identifier=b"S", display_name=b"S", order=1)
    body = section.body.add()
    body.items.add().MergeFromString(b"\xca\x07\x03\x0a\x01x")  # field 121: a chart to come
    table = body.items.add().table
    table.label = b"T"
    table.metrics.add(name=b"a", label=b"A")
    w.block(results=[result])
    report = ncu.parse(w.out)
    (only,) = layout(report.launches[0])
    assert [(b.kind, b.title) for b in only.blocks] == [("table", "T")]
    assert "BodyItem 121" in told(report)[0]


def test_enum_values_to_come_have_no_meaning() -> None:
    w = Writer()
    result = w.result("k", [("a", 1, None)], api=99)
    rule = result.rules.add(identifier=b"R", display_name=b"R")
    item = rule.body.items.add()
    item.message.text, item.message.type = b"text", 77
    item.speedup.type, item.speedup.percent = 88, 12.0
    rule.markers.add(kind=9, pc=5, line=6, message=b"somewhere")
    w.block(results=[result])
    (made,) = ncu.parse(w.out).launches[0].rules
    (message,) = made.messages
    assert (message.severity, message.scope, message.speedup) == ("info", None, 12.0)
    (marker,) = made.markers
    assert (marker.kind, marker.pc, marker.line, marker.message) == ("unknown", None, None, "somewhere")


def test_other_containers_and_results_are_told() -> None:
    w = Writer()
    w.block(results=[w.result("k", [("a", 1, None)])], num_range_results=3)
    report = ncu.parse(w.out.replace(b"\x08\x07", b"\x08\x08", 1))
    assert len(report.launches) == 1
    assert report.problems == (
        "the container's version is 8, 7 is the known one",
        "3 results of ranges or graphs are not read",
    )


def test_tables_of_rules_point_at_instructions() -> None:
    w = Writer()
    result = w.result("k", [("excess", 60, {4096: 10, 4112: 30, 4128: 0, 4144: 20, "x": 99})])
    rule = result.rules.add(identifier=b"R", display_name=b"R")
    rule.body.items.add().message.text = b"text"
    table = rule.body.items.add().source_table
    table.label = b"Excess"
    table.metrics.add(name=b"excess")
    table.metrics.add(name=b"not collected")
    w.block(results=[result])
    (made,) = ncu.parse(w.out).launches[0].rules
    assert [(m.pc, m.message) for m in made.markers] == [
        (4112, "Excess: 30"), (4144, "Excess: 20"), (4096, "Excess: 10"),
    ]  # fmt: skip
    assert value(None).ByteSize() == 0
