"""The opcode table: complete, in the report's words, and honest about pipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpglass.sass.opcodes import explain, kind, opcode_info, opcode_table, pipe

KINDS = {
    "alu", "fpu", "half", "double", "convert", "sfu", "tensor", "load", "store", "atomic", "async", "branch",
    "barrier", "call", "exit", "move", "predicate", "control",
}  # fmt: skip
PIPES = {
    None, "alu", "fma", "half", "fp64", "xu", "lsu", "tex", "tma", "tensor", "cbu", "uniform",
}  # fmt: skip
SHARED = Path(__file__).parents[3] / "shared" / "data" / "opcodes_sass_base.tsv"


def test_every_row() -> None:
    table = opcode_table()
    assert len(table) > 250
    for name, info in table.items():
        assert info.opcode == name
        assert info.kind in KINDS
        assert info.pipe in PIPES
        assert 10 < len(info.explanation) < 100
        assert not info.explanation.endswith(".")
    assert len({info.explanation for info in table.values()}) > 0.8 * len(table)


def test_every_opcode_of_the_survey() -> None:
    if not SHARED.exists():
        pytest.skip("../shared is not there")
    names = [row.split("\t")[0] for row in SHARED.read_text().splitlines()[1:]]
    assert [name for name in names if opcode_info(name) is None] == []


def test_pipes_follow_the_architecture() -> None:
    assert pipe("HFMA2.MMA", 80) == "fp16"
    assert pipe("HFMA2", 86) == "fma"
    assert pipe("HFMA2") is None
    assert pipe("FFMA", 75) == "fma"
    assert pipe("POPC", 90) is None
    assert pipe("NOSUCH", 90) is None


def test_words() -> None:
    assert kind("LDG.E.64") == "load"
    assert kind("LDGSTS.E.BYPASS.128") == "async"
    assert kind("PREEXIT") == "control"
    assert kind("NOSUCH") == "control"
    assert "64 bits a lane" in explain("LDG.E.64.CONSTANT")
    assert "not in the table" in explain("NOSUCH.X")
