"""Reports that nobody means well with: broken bytes, texts that are markup, numbers beyond reason."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from ncu.made_hostile import hostile_report
from ncu.made_ranges import ranges_report
from ncu.made_rooflines import roofline_report
from ncu.writer import Writer, small_report
from warpglass import ncu
from warpglass.api import make_report
from warpglass.cli import main
from warpglass.errors import WarpglassError
from warpglass.ncu import container, decode
from warpglass.ncu.layout import layout
from warpglass.ncu.roofline import roofline
from warpglass.ncu.timeline import series
from warpglass.options import ReportOptions
from warpglass.report import view


def test_hostile_texts_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "evil.ncu-rep"
    path.write_bytes(hostile_report())
    report = make_report([path], ReportOptions(charts="static"))
    html = report.to_html()
    for odd in ("<img src=x", "<script>window.pwn", "\u202e", "\u202c", "\x00", "\u200b", "\x1b"):
        assert odd not in html, repr(odd)
    # No text of twenty thousand letters reaches the page, nor a word that a browser cannot break.
    assert max(map(len, re.findall("A+", html))) < 4_000
    measured = report.data["launches"][0]["measured"]
    gains = sorted(m["speedup"] for r in measured["rules"] for m in r["messages"] if m["speedup"] is not None)
    assert gains == [0.0, 50.0]
    assert max(len(name) for name in report.data["profile"]["metrics"]["name"]) <= 401
    assert str(ncu.load(path)).count("\n") > 3


def test_numbers_beyond_reason_are_short() -> None:
    assert view.num(1e308) == "1e+308"
    assert view.num(-1.5e300) == "-1.5e+300"
    assert view.num(2**63) == "9,223,372,036,854,775,808"


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A copy with a few bits, bytes or lengths changed, a part lost, doubled or zeroed, or an end cut off."""
    out = bytearray(content)
    at = rng.randrange(len(out))
    way = rng.randrange(7)
    if way == 0:
        for _ in range(rng.randrange(1, 30)):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif way == 1:
        del out[at : at + rng.randrange(1, 64)]
    elif way == 2:
        out[at:at] = rng.randbytes(rng.randrange(1, 64))
    elif way == 3:
        out[at:at] = out[at : at + rng.randrange(1, 2000)]
    elif way == 4:
        out[at : at + 16] = bytes(len(out[at : at + 16]))
    elif way == 5:
        del out[at:]
    else:
        out[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4), b"\0\0\0\x10"))
    return bytes(out)


@pytest.mark.parametrize("made", [small_report, roofline_report, ranges_report])
def test_broken_bytes_end_in_an_error_or_a_told_part(made: object) -> None:
    assert callable(made)
    content, rng = made(), random.Random(5)
    read = 0
    for _ in range(200):
        try:
            report = ncu.parse(mutated(content, rng), "broken.ncu-rep")
        except WarpglassError:
            continue
        read += 1
        assert isinstance(report.tree(), str)
        for launch in report:
            sections = layout(launch)
            for block in (block for section in sections for block in section.blocks):
                roofline(launch, block)
            series(launch, sections)
            launch.typed("dram__bytes_read")
    assert read > 100


@pytest.mark.slow
def test_pages_of_broken_bytes(tmp_path: Path) -> None:
    rng = random.Random(6)
    path = tmp_path / "broken.ncu-rep"
    pages = 0
    for made in (small_report, roofline_report, ranges_report) * 20:
        path.write_bytes(mutated(made(), rng))
        try:
            pages += "<section" in make_report([path], ReportOptions(charts="static")).to_html()
        except WarpglassError:
            continue
    assert pages > 20


def test_results_of_nothing_but_empty_parts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST_METRICS", "_MOST_RULES", "_MOST_SECTIONS"):
        monkeypatch.setattr(decode, name, 5)
    w = Writer()
    result = w.result("k", [(f"m{i}", i, None) for i in range(9)])
    for i in range(7):
        result.rules.add(identifier=b"%d" % i).body.items.add().message.text = b"x"
        result.sections.add(identifier=b"%d" % i, order=i)
    w.block(results=[result])
    report = ncu.parse(w.out)
    (launch,) = report
    assert (len(launch.metrics), len(launch.rules), len(launch.sections)) == (5, 5, 5)
    assert report.problems == (
        "a result claims 9 metrics; the first 5 are read",
        "a result claims 7 rules; the first 5 are read",
        "a result claims 7 sections; the first 5 are read",
    )


def test_a_result_of_a_quarter_gigabyte_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_MAX_ENTRY", 100)
    report = ncu.parse(small_report())
    assert len(report) == 0
    assert "a ProfileResult claims" in report.problems[0]


def test_sections_of_everything_are_bounded() -> None:
    w = Writer()
    result = w.result("k", [("a", 1, None)])
    for n in range(8):
        section = result.sections.add(identifier=b"S%d" % n, order=n)
        for _ in range(300):
            section.body.add().items.add().table.metrics.add(name=b"a")
        wide = section.body.add().items.add().bar_chart
        for _ in range(900):
            section.header.metrics.add(name=b"a")
            wide.metrics.add(name=b"a")
        deep = section.body.add()
        for _ in range(40):
            deep = deep.items.add().container
    w.block(results=[result])
    found = layout(ncu.parse(w.out).launches[0])
    assert [(len(s.header), len(s.blocks)) for s in found] == [(400, 100)] * 8


@pytest.mark.parametrize("args", [(), ("--tree",), ("--csv",), ("--json",)])
def test_a_terminal_obeys_nothing_of_a_report(
    tmp_path: Path, args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evil.ncu-rep"
    path.write_bytes(hostile_report(300))
    with pytest.raises(SystemExit) as ended:
        main(["metrics", str(path), *args])
    assert ended.value.code in (0, None)
    out = capsys.readouterr()
    for odd in ("\x1b", "\x00", *(() if args == ("--json",) else ("\u202e",))):
        assert odd not in out.out + out.err
