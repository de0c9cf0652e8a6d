from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warpglass.report.highlight import highlight_line, highlight_lines

_TAG = re.compile(r"<[^>]*>")


def text_of(line: str) -> str:
    return html.unescape(_TAG.sub("", line))


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("cuda", "__global__ void k(int n) {", "kr:__global__ kt:void nf:k kt:int"),
        ("cuda", "int i = blockIdx.x; // c", "kt:int nb:blockIdx c:// c"),
        ("cuda", "#pragma unroll 4", "cp:#pragma unroll 4"),
        ("cuda", 'f("a\\"b", 0x1Fu, 1.5e-3f);', 'nf:f s:"a\\"b" m:0x1Fu m:1.5e-3f'),
        ("ptx", "  ld.global.f32 %f1, [%rd2+4];", "k:ld kt:.f32 m:4"),
        ("ptx", "$L__BB0_2:", "nl:$L__BB0_2:"),
        ("ptx", "@!%p1 bra $L;", "cp:@!%p1 na:bra"),
        ("ptx", ".visible .entry k(", "kr:.visible kr:.entry"),
        ("sass", "@P0 LDG.E.64 R2, [R4.64] ;", "cp:@P0 k:LDG.E.64"),
        ("sass", "/*0010*/ BRA `(.L_x_1) ;", "c:/*0010*/ na:BRA"),
    ],
)  # fmt: skip
def test_tokens_get_their_class(language: str, source: str, expected: str) -> None:
    (line,) = highlight_lines(source, language)
    spans = re.findall(r"<i class=(\w+)>(.*?)</i>", line)
    assert " ".join(f"{name}:{html.unescape(text)}" for name, text in spans) == expected


def test_lines_are_counted_as_compilers_count_them() -> None:
    source = "/* a\nb */ int x;\r\n\u2028y\x0cz\n\nlast"
    lines = highlight_lines(source, "cuda")
    assert [text_of(line) for line in lines] == ["/* a", "b */ int x;", "\\u2028y\\u000cz", "", "last"]
    assert lines[1].startswith("<i class=c>b ")


def test_a_comment_over_lines_stays_one() -> None:
    lines = highlight_lines("/* one\ntwo\nthree */ int", "ptx")
    assert all("class=c>" in line for line in lines)


@given(st.text(max_size=300), st.sampled_from(["cuda", "ptx", "sass", "python", "no such language"]))
@example("</span><script>alert(1)</script>\n<!--", "cuda")
@example('"\\\n', "cuda")
@example("\r\n\r\r\n\x00", "ptx")
def test_no_text_breaks_out_or_loses_lines(source: str, language: str) -> None:
    lines = highlight_lines(source, language)
    expected = source.split("\n")
    if len(expected) > 1 and not expected[-1]:
        expected.pop()
    assert len(lines) == len(expected)
    for line in lines:
        assert set(re.findall(r"</?(\w+)", _strip_entities(line))) <= {"i", "span"}
        assert "\n" not in line


def _strip_entities(line: str) -> str:
    return re.sub(r"&[#\w]+;", "", line)


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]) | st.just("\n"), max_size=200))
def test_plain_text_is_kept(source: str) -> None:
    for language in ("cuda", "ptx", "sass"):
        shown = [text_of(line) for line in highlight_lines(source, language)]
        expected = source.split("\n")
        assert shown == (expected[:-1] if len(expected) > 1 and not expected[-1] else expected)


def test_enormous_lines_are_shown_plain() -> None:
    (line,) = highlight_lines("int " + "x" * 5000, "cuda")
    assert "<" not in line


def test_one_line_alone() -> None:
    assert highlight_line("", "ptx") == ""
    assert text_of(highlight_line("add.s32 %r1, %r1, 1;", "ptx")) == "add.s32 %r1, %r1, 1;"
