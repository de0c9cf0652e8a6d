"""A few seconds of coverage-guided fuzzing in the suite; longer by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.run import APART

pytest.importorskip("atheris", reason="atheris is not installed")
SEEDS = [
    b"\0.version 8.0\n.target sm_80\n.address_size 64\n"
    b".visible .entry k(.param .u64 .ptr .global .align 4 a)\n.maxntid 128, 1, 1\n"
    b"{\n.reg .b32 %r<3>;\n.loc 1 2 3\nL:\n@%p1 bra L;\nret;\n}\n",
    b"\0.version 8.0\n.target sm_80\n.global .u32 a[2][3] = {{1,2},{0x3}};\n.global .u64 b = generic(a)+4;\n",
    b"\xffld.global.v4.u32 {%r1,%r2,_,%r4}, [%r1+-16]; setp.eq.u32 %p1|_, %r1, (1+2)*3; @!%p1 bra L; L: ret;",
    b"\xff{ .reg .u32 t; mov.u32 t, 1; } ts: .branchtargets A, B; brx.idx %r1, ts; A: B: call f;",
]


@pytest.mark.slow
def test_a_short_run_finds_nothing(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    script = Path(__file__).with_name("fuzz_ptx.py")
    limits = ["-max_total_time=8", "-timeout=10", "-seed=1", "-rss_limit_mb=2048"]
    command = [sys.executable, "-c", APART, sys.executable, str(script), *limits, str(corpus)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "DONE" in done.stderr
