"""How much of machine code is executed: by count over a large corpus, and what an unknown form does."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from machine.sass_ops.kernels import ARCHES
from warpglass import sass
from warpglass.machine import sass_control, sass_memory, sass_sync
from warpglass.machine.sass_ops import knows, lower

COUNTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "opcodes_sass_base.tsv"


def executed(base: str) -> bool:
    """Whether any table has the first part of the opcode."""
    tables = (sass_control.TABLE, sass_memory.TABLE, sass_sync.TABLE)
    return knows(base) or any(key.split(".")[0] == base for table in tables for key in table)


@pytest.mark.parametrize("arch", ARCHES)
def test_all_but_a_hundredth_is_executed(arch: str) -> None:
    if not COUNTS.exists():
        pytest.skip("shared/data/opcodes_sass_base.tsv is missing")
    with COUNTS.open(newline="") as file:
        counts = {row["opcode"]: int(row[arch]) for row in csv.DictReader(file, delimiter="\t")}
    total = sum(counts.values())
    known = sum(count for base, count in counts.items() if executed(base))
    missing = {base for base, count in counts.items() if count and not executed(base)}
    assert known >= 0.99 * total, missing
    textures = {"TEX", "TLD", "TLD4", "SULD", "SUST"}
    later = {
        "HGMMA", "UTMALDG", "UBLKRED", "UTCHMMA", "UTCATOMSWS", "UVIRTCOUNT", "STTM", "LDTM", "UTCBAR",
        "UTCCP",
    }  # fmt: skip
    assert missing <= textures | later


def _instruction(text: str) -> sass.Instruction:
    listing = (
        f'\t\tFunction : k\n\t.headerflags\t@"EF_CUDA_SM80"\n        /*0000*/                   {text} ;\n'
    )
    module = sass.parse(listing, "text")
    return module.functions[0].instructions[0]


@pytest.mark.parametrize(
    "text",
    [
        "IADD3 R0, R1",
        "FFMA R0, R1, R2",
        "FFMA R0, R1, R2, `(label)",
        "LOP3.LUT R0, R1, R2, R3, R4, !PT",
        "ISETP.XX.AND P0, PT, R0, R1, PT",
        "F2F.F32 R0",
        "HMMA.16816.F32 R0, R1, R2",
        "HMMA.999.F32 R0, R1, R2, R3",
        "SHFL.SIDEWAYS PT, R0, R1, R2, R3",
        "MUFU.WHAT R0, R1",
        "IMAD.WIDE P0, R1, R2, R3",
        "VOTE.MOST R0, PT, P0",
        "PRMT R0",
        "MOV",
        "NOSUCHOPCODE.AT.ALL R0, R1",
    ],
)
def test_what_is_not_understood_is_unknown(text: str) -> None:
    """Never an exception: the machine stops there and says so."""
    assert lower(_instruction(text), 80) is None


def test_older_architectures_are_unknown() -> None:
    assert lower(_instruction("FADD R0, R1, R2"), 61) is None
