"""Errors: where they point, and what still comes out."""

from __future__ import annotations

import pytest

from warpglass import ptx
from warpglass.errors import InputError, ParseError

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
GOOD = ".visible .entry good(.param .u32 a)\n{\n\t.reg .b32 %r<3>;\n\tadd.u32 %r1, %r2, 1;\n\tret;\n}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("\tadd.u32 %r1 %r2;", 7, 14, "expected ',' or ';' after an operand, found '%r2'"),
        ("\tadd.u32 %r1, , %r2;", 7, 15, "expected an operand, found ','"),
        ("\tmov.u32 %r1, %r9;", 7, 2, "register '%r9' is not declared"),
        ("\tmov.u32 %r1, nothing;", 7, 2, "'nothing' is not declared"),
        ("\tbra NOWHERE;", 7, 2, "'NOWHERE' is not declared"),
        ("\tbra %r1;", 7, 2, "its target is no label of the function"),
        ("\tbra bad_param_0;", 7, 2, "'bad_param_0' is no label of the function"),
        ("L: ret;\nL: ret;", 8, 1, "'L' is declared twice"),
        ("\t.reg .b32 %r1;", 7, 12, "'%r1' is declared twice"),
        ("\tld.global.u32 %r1, [%r2;", 7, 25, "expected ']' at the end of an address, found ';'"),
        ("\tmov.b64 {%r1, %r2, %r1;", 7, 24, "expected '}' at the end of a list, found ';'"),
        ("\tmov.u32 %r1, 0f3F8;", 7, 15, "expected an operand, found '0'"),
        ("\tmov.u32 %r1, 1/0;", 7, 18, "division by zero in a constant expression"),
        ("\tmov.u32 %r1, %tid.q;", 7, 19, "'.q' is no vector component"),
        ("\t= 5;", 7, 2, "expected an instruction, found '='"),
        ("\t@ 5 ret;", 7, 4, "expected a predicate, found '5'"),
        ("\t.reg .wrong %q;", 7, 7, "unknown type or state space '.wrong'"),
        ("\tret", 8, 1, "expected ';' at the end of an instruction"),
        ("\tbrx.idx %r1, bad_param_0;", 7, 2, "'brx' without a '.branchtargets' of the function"),
        ("t: .branchtargets NO;\n\tbrx.idx %r1, t;", 7, 1, "'NO' is no label of the function"),
    ],
)
def test_place_message_and_recovery(text: str, line: int, column: int, message: str) -> None:
    bad = f".visible .entry bad(.param .u32 bad_param_0) {{\n\t.reg .b32 %r<3>;\n\tret;\n{text}\n}}\n"
    m = ptx.parse(HEAD + bad + GOOD, "file.ptx")
    (found,) = m.diagnostics
    assert (found.severity, found.file, found.line, found.column) == ("error", "file.ptx", line, column)
    assert found.message.startswith(message)
    assert found.source_line == (HEAD + bad + GOOD).split("\n")[line - 1]
    broken, good = m.kernels
    assert (broken.name, broken.has_body, broken.instructions) == ("bad", False, ())
    assert [p.name for p in broken.params] == ["bad_param_0"]
    assert good.has_body
    assert len(good.instructions) == 2


@pytest.mark.parametrize(
    "bad",
    [
        ".visible .entry bad(.param .u32 x {\n ret;\n}\n",
        ".visible .entry bad(.param .u32 x)\n{\n { ret;\n}\n",
        ".visible .entry bad(.param .u32 x)\n ret;\n}\n",
        ".visible .entry (.param .u32 x) { ret; }\n",
        ".visible .enty bad(.param .u32 x) { ret; }\n",
        "}}}\n",
        "stray words 1 2 3;\n",
        '.file "no number";\n',
        ".global .u32 x = {1,2;\n",
        "\x01\x02;\n",
        '"unterminated\n;',
    ],
)
def test_other_kernels_survive_damage(bad: str) -> None:
    m = ptx.parse(HEAD + GOOD + bad + GOOD.replace("good", "better"))
    kernels = {k.name: k.has_body for k in m.kernels}
    assert kernels["good"]
    assert kernels["better"]
    assert not kernels.get("bad", False)
    assert m.diagnostics


def test_nothing_readable_raises_with_a_caret() -> None:
    with pytest.raises(ParseError) as caught:
        ptx.parse(HEAD + ".entry k {\n\tadd.u32 %r1 5;\n}\n", "k.ptx")
    error = caught.value
    assert (error.file, error.line, error.column) == ("k.ptx", 5, 14)
    assert str(error) == (
        "k.ptx:5:14: expected ',' or ';' after an operand, found '5'\n   add.u32 %r1 5;\n               ^"
    )


@pytest.mark.parametrize(
    "text", ["", "\n\n", "// only a comment\n", "int main() { return 0; }", "\0\0", "{", ";;;"]
)
def test_what_is_no_ptx_raises(text: str) -> None:
    with pytest.raises(ParseError):
        ptx.parse(text)


def test_missing_version_is_a_warning_where_functions_come_out() -> None:
    m = ptx.parse(".target sm_80\n" + GOOD)
    assert [d.severity for d in m.diagnostics] == ["warning"]
    assert m.version == (0, 0)


def test_defined_twice() -> None:
    m = ptx.parse(HEAD + GOOD + GOOD)
    assert len(m.kernels) == 1
    assert "defined twice" in m.diagnostics[0].message


def test_unreadable_files(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for path in (tmp_path / "none.ptx", tmp_path, "a\0b"):
        with pytest.raises(InputError):
            ptx.load(path)


def test_models_are_frozen() -> None:
    m = ptx.parse(HEAD + GOOD)
    with pytest.raises(AttributeError):
        m.functions[0].name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        m.functions[0].labels["x"] = 1  # type: ignore[index]
    assert hash(m.functions[0].instructions[0]) == hash(ptx.parse(HEAD + GOOD).functions[0].instructions[0])
