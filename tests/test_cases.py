"""Public questions with right answers, about kernels that can be executed or parsed as PTX.

The questions lie beside the repository in ``../shared/cases.json``; each test has the name of its entry. The
kernels are cut down to what the question asks: counters a request do not depend on the size of the grid.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpglass
from warpglass import ptx
from warpglass.ptx.model import Address, Sink, Vector

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases.json"

#: Entries that other parts answer, and where their tests are.
ELSEWHERE = {
    "occ-92regs-224thr": "tests/analysis", "occ-85regs-cc52": "tests/analysis",
    "occ-pmpp-exercise": "tests/analysis", "occ-triton-softmax-formula": "tests/analysis",
    "csv-warning-before-header": "tests/ncu", "csv-locale": "tests/ncu",
    "line-inlined-at": "tests/sass", "ctrl-sm80-word": "tests/sass",
    "sass-operand-desc": "tests/sass",
}  # fmt: skip

HEAD = ".version 8.8\n.target sm_100\n.address_size 64\n"


def case(name: str) -> dict[str, Any]:
    """The entry, or a skip where the questions are not at hand."""
    if not CASES.exists():
        pytest.skip("../shared/cases.json is not there")
    return next(entry for entry in json.loads(CASES.read_text(encoding="utf-8")) if entry["id"] == name)


class Run:
    """One executed kernel, with counters by opcode."""

    def __init__(self, text: str, args: list[object], *, grid: Any = 1, block: Any = 32) -> None:
        self.kernel = ptx.parse(text).kernels[0]
        self.result = warpglass.run(text, kernel=self.kernel.name, grid=grid, block=block, args=args)
        assert self.result.stopped is None, self.result.stopped

    def total(self, counter: str, opcode: str, nth: int | None = None) -> int:
        """Sum of a counter over the instructions whose opcode starts so, or over the nth of them only."""
        places = [i for i, ins in enumerate(self.kernel.instructions) if ins.opcode.startswith(opcode)]
        assert places, opcode
        chosen = places if nth is None else [places[nth]]
        return sum(int(self.result.counters[counter][pc]) for pc in chosen)

    def per_request(self, counter: str, opcode: str, nth: int | None = None) -> float:
        return self.total(counter, opcode, nth) / self.total("requests", opcode, nth)

    def conflicts(self, opcode: str) -> int:
        return self.total("wavefronts", opcode) - self.total("wavefronts_ideal", opcode)

    def kinds(self) -> set[str]:
        return {finding.kind for finding in self.result.findings}


def test_every_case_has_a_test() -> None:
    if not CASES.exists():
        pytest.skip("../shared/cases.json is not there")
    names = {entry["id"] for entry in json.loads(CASES.read_text(encoding="utf-8"))}
    here = Path(__file__).read_text(encoding="utf-8")
    missing = []
    for name in sorted(names):
        if name in ELSEWHERE:
            files = (ROOT / ELSEWHERE[name]).rglob("*.py")
            if not any(name in file.read_text(encoding="utf-8") for file in files):
                missing.append(name)
        elif f'case("{name}")' not in here:
            missing.append(name)
    assert missing == []


def shared_loads(stride: int) -> Run:
    """32 lanes load 16 bytes each from shared memory, ``stride`` bytes apart, after filling it."""
    text = (
        HEAD
        + f"""
    .visible .entry k(.param .u64 out) {{
        .reg .b32 %r<12>; .reg .b64 %rd<4>; .reg .pred %p<2>;
        .shared .align 16 .b8 pool[32768];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, pool;
        shl.b32 %r3, %r1, 10;
        add.s32 %r3, %r3, %r2;
        mov.u32 %r4, 0;
    fill:
        st.shared.v4.b32 [%r3], {{%r1, %r1, %r1, %r1}};
        add.s32 %r3, %r3, 16;
        add.s32 %r4, %r4, 1;
        setp.lt.s32 %p1, %r4, 64;
        @%p1 bra fill;
        bar.sync 0;
        mad.lo.s32 %r5, %r1, {stride}, %r2;
        ld.shared.v4.b32 {{%r6, %r7, %r8, %r9}}, [%r5];
        ld.param.u64 %rd1, [out];
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.b32 [%rd3], %r6;
        ret;
    }}"""
    )
    return Run(text, [np.zeros(32, np.uint32)])


def test_smem_lds128_ideal_4() -> None:
    case("smem-lds128-ideal-4")
    worst, best = shared_loads(1024), shared_loads(16)
    assert worst.total("wavefronts", "ld.shared") == 32
    assert worst.conflicts("ld.shared") == 28
    assert best.total("wavefronts", "ld.shared") == 4
    assert best.conflicts("ld.shared") == 0


def test_smem_stride4_6conflicts() -> None:
    case("smem-stride4-6conflicts")
    text = (
        HEAD
        + """
    .visible .entry k(.param .u64 in, .param .u64 out) {
        .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
        .shared .align 4 .b8 s[1024];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, s;
        shl.b32 %r3, %r1, 2;
        add.s32 %r4, %r2, %r3;
        ld.param.u64 %rd1, [in];
        cvt.u64.u32 %rd2, %r3;
        add.s64 %rd3, %rd1, %rd2;
        ld.global.f32 %f1, [%rd3];
        st.shared.f32 [%r4], %f1;
        shl.b32 %r5, %r1, 4;
        add.s32 %r6, %r2, %r5;
        ld.shared.f32 %f2, [%r6];
        ld.param.u64 %rd4, [out];
        add.s64 %rd5, %rd4, %rd2;
        st.global.f32 [%rd5], %f2;
        ret;
    }"""
    )
    run = Run(text, [np.ones(32, np.float32), np.zeros(32, np.float32)], grid=2)
    assert run.conflicts("ld.shared") == 6
    assert run.conflicts("st.shared") == 0


def test_smem_dbl_transpose() -> None:
    case("smem-dbl-transpose")
    text = (
        HEAD
        + """
    .visible .entry k(.param .u64 in, .param .u64 out) {
        .reg .b32 %r<16>; .reg .b64 %rd<12>; .reg .f64 %d<4>;
        .shared .align 8 .b8 tile[8192];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %tid.y;
        mov.u32 %r3, tile;
        mad.lo.s32 %r4, %r2, 32, %r1;
        mad.lo.s32 %r5, %r1, 32, %r2;
        shl.b32 %r6, %r4, 3;
        shl.b32 %r7, %r5, 3;
        cvt.u64.u32 %rd1, %r6;
        ld.param.u64 %rd2, [in];
        add.s64 %rd3, %rd2, %rd1;
        ld.global.f64 %d1, [%rd3];
        add.s32 %r8, %r3, %r7;
        st.shared.f64 [%r8], %d1;
        bar.sync 0;
        add.s32 %r9, %r3, %r6;
        ld.shared.f64 %d2, [%r9];
        ld.param.u64 %rd4, [out];
        add.s64 %rd5, %rd4, %rd1;
        st.global.f64 [%rd5], %d2;
        ret;
    }"""
    )
    data = np.arange(1024.0)
    run = Run(text, [data, np.zeros(1024)], block=(32, 32))
    assert np.array_equal(run.result.buffers[1].array.reshape(32, 32), data.reshape(32, 32).T)
    assert run.per_request("wavefronts", "ld.shared") == 2
    assert run.conflicts("ld.shared") == 0
    assert run.per_request("wavefronts", "st.shared") == 32
    assert run.conflicts("st.shared") == 30 * run.total("requests", "st.shared")
    assert run.per_request("sectors", "ld.global") == run.per_request("sectors", "st.global") == 8


@pytest.mark.parametrize(
    ("bk", "bm", "wavefronts"), [(8, 128, 2), (16, 128, 4), (16, 130, 1), (8, 130, 2), (8, 132, 1)]
)
def test_smem_transposed_store_padding(bk: int, bm: int, wavefronts: int) -> None:
    case("smem-transposed-store-padding")
    vectors = bk // 4  # float4 a row
    text = (
        HEAD
        + f"""
    .visible .entry k() {{
        .reg .b32 %r<12>;
        .shared .align 16 .b8 as[{bk * bm * 4}];
        mov.u32 %r1, %tid.x;
        div.u32 %r2, %r1, {vectors};
        rem.u32 %r3, %r1, {vectors};
        mul.lo.u32 %r4, %r3, {4 * bm};
        add.u32 %r5, %r4, %r2;
        shl.b32 %r6, %r5, 2;
        mov.u32 %r7, as;
        add.u32 %r8, %r7, %r6;
        st.shared.b32 [%r8], %r1;
        st.shared.b32 [%r8+{4 * bm}], %r1;
        st.shared.b32 [%r8+{8 * bm}], %r1;
        st.shared.b32 [%r8+{12 * bm}], %r1;
        ret;
    }}"""
    )
    run = Run(text, [])
    assert run.per_request("wavefronts", "st.shared") == wavefronts


@pytest.mark.parametrize(("offset", "sectors"), [(0, 4), (16, 5), (32, 4), (128, 4)])
def test_gmem_16b_header_5_sectors(offset: int, sectors: int) -> None:
    case("gmem-16B-header-5-sectors")
    text = (
        HEAD
        + f"""
    .visible .entry k(.param .u64 in, .param .u64 out) {{
        .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<2>;
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd1, %r1, 4;
        ld.param.u64 %rd2, [in];
        add.s64 %rd3, %rd2, %rd1;
        ld.global.f32 %f1, [%rd3+{offset}];
        ld.param.u64 %rd4, [out];
        add.s64 %rd5, %rd4, %rd1;
        st.global.f32 [%rd5], %f1;
        ret;
    }}"""
    )
    run = Run(text, [np.ones(64, np.float32), np.zeros(32, np.float32)])
    assert run.total("sectors", "ld.global") == sectors
    assert run.total("sectors_ideal", "ld.global") == 4


@pytest.mark.parametrize(
    ("a_index", "b_index", "each", "mean"),
    [("row", "column", (1, 4), 2.5), ("row", "row", (1, 1), 1), ("column", "column", (4, 4), 4)],
)
def test_gmem_matmul_avg_2_5(a_index: str, b_index: str, each: tuple[int, int], mean: float) -> None:
    case("gmem-matmul-avg-2.5")

    def index(which: str) -> str:
        if which == "row":  # row * N + k
            return "mad.lo.s32 %r6, %r2, 64, %r5;"
        return "mad.lo.s32 %r6, %r5, 64, %r1;"  # k * N + column

    text = (
        HEAD
        + f"""
    .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {{
        .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<2>;
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %tid.y;
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        mov.u32 %r5, 0;
        mov.u32 %r9, 0;
    turn:
        {index(a_index)}
        mul.wide.s32 %rd3, %r6, 4;
        add.s64 %rd4, %rd1, %rd3;
        ld.global.u32 %r7, [%rd4];
        {index(b_index)}
        mul.wide.s32 %rd5, %r6, 4;
        add.s64 %rd6, %rd2, %rd5;
        ld.global.u32 %r8, [%rd6];
        mad.lo.s32 %r9, %r7, %r8, %r9;
        add.s32 %r5, %r5, 1;
        setp.lt.s32 %p1, %r5, 16;
        @%p1 bra turn;
        mad.lo.s32 %r6, %r2, 64, %r1;
        mul.wide.s32 %rd7, %r6, 4;
        ld.param.u64 %rd8, [c];
        add.s64 %rd9, %rd8, %rd7;
        st.global.u32 [%rd9], %r9;
        ret;
    }}"""
    )
    run = Run(
        text, [np.ones(4096, np.int32), np.ones(4096, np.int32), np.zeros(4096, np.int32)], block=(32, 16)
    )
    assert (run.per_request("sectors", "ld.global", 0), run.per_request("sectors", "ld.global", 1)) == each
    assert run.per_request("sectors", "ld.global") == mean
    # 4 is the ideal where 32 lanes want 32 different words: no excess in any variant
    assert run.total("sectors", "ld.global") == run.total("sectors_ideal", "ld.global")


def test_gmem_v8_256bit() -> None:
    case("gmem-v8-256bit")
    text = (
        HEAD
        + """
    .visible .entry k(.param .u64 in, .param .u64 out) {
        .reg .b32 %r<12>; .reg .b64 %rd<8>;
        mov.u32 %r10, %tid.x;
        mul.wide.u32 %rd1, %r10, 32;
        ld.param.u64 %rd2, [in];
        add.s64 %rd3, %rd2, %rd1;
        ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd3];
        ld.param.u64 %rd4, [out];
        add.s64 %rd5, %rd4, %rd1;
        st.global.v8.b32 [%rd5], {%r1, _, %r3, %r4, %r5, %r6, %r7, %r8};
        ret;
    }"""
    )
    data, before = np.arange(256, dtype=np.uint32), np.full(256, 7777, np.uint32)
    run = Run(text, [data, before.copy()])
    store = next(ins for ins in run.kernel.instructions if ins.opcode == "st.global.v8.b32")
    assert isinstance(store.operands[1], Vector)
    assert isinstance(store.operands[1].elements[1], Sink)
    want = data.copy()
    want[1::8] = 7777  # the sink leaves the word as it was
    assert np.array_equal(run.result.buffers[1].array, want)
    assert run.total("sectors", "ld.global") == run.total("sectors", "st.global") == 32


def test_sim_atomic_coalesce() -> None:
    case("sim-atomic-coalesce")
    text = (
        HEAD
        + """
    .visible .entry k(.param .u64 counter) {
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [counter];
        atom.global.add.u32 %r1, [%rd1], 1;
        ret;
    }"""
    )
    run = Run(text, [np.zeros(1, np.uint32)], grid=640, block=256)
    assert run.result.buffers[0].array[0] == 163840
    requests = run.total("requests", "atom.global")
    assert requests == 5120
    assert run.total("atomic_addresses", "atom.global") == 5120  # one address a request, not one a thread
    # Lanes of one address are merged by sixteens: two L2 atomics a full warp.
    merged = -(
        -run.total("thread_executed", "atom.global") // (16 * run.total("atomic_addresses", "atom.global"))
    )
    assert merged * run.total("atomic_addresses", "atom.global") == 10240


def test_ce_predicated_not_opcode() -> None:
    case("ce-predicated-not-opcode")
    text = (
        HEAD
        + """
    .visible .entry k(.param .u64 in) {
        .reg .b32 %r<13>; .reg .b64 %rd<4>; .reg .pred %p<3>;
        ld.param.u64 %rd3, [in];
        setp.ne.u64 %p1, %rd3, 0;
        setp.eq.u64 %p2, %rd3, 0;
        @%p1 ld.global.v4.b32 { %r9, %r10, %r11, %r12 }, [ %rd3 + 0 ];   @!%p2 bra $L__BB0_28;
        add.u32 %r1, %r9, %r10;
    $L__BB0_28:
        ret;
    }"""
    )
    kernel = ptx.parse(text).kernels[0]
    load, branch = kernel.instructions[3:5]
    assert (load.opcode, load.guard.register.name, load.guard.negated) == ("ld.global.v4.b32", "%p1", False)
    assert isinstance(load.operands[1], Address)
    assert load.operands[1].offset == 0
    assert (branch.opcode, branch.guard.register.name, branch.guard.negated) == ("bra", "%p2", True)
    run = Run(text, [np.arange(4, dtype=np.uint32)], block=1)
    assert run.total("bytes", "ld.global") == 16


def test_ptx_32bit_header() -> None:
    case("ptx-32bit-header")
    text = """.version 3.2
    .target sm_20
    .address_size 32
    .file 1 "old.cu", 1386108263, 233
    .visible .entry scale(.param .u32 data, .param .u32 factor) {
        .reg .s32 %r<8>;
        .loc 1 4 1
        ld.param.u32 %r1, [data];
        ld.param.u32 %r2, [factor];
        mov.u32 %r3, %tid.x;
        .loc 1 5 1
        mad.lo.s32 %r4, %r3, 4, %r1;
        ld.global.s32 %r5, [%r4];
        mad.lo.s32 %r6, %r5, %r2, %r3;
        st.global.s32 [%r4], %r6;
        ret;
    }"""
    module = ptx.parse(text)
    assert (module.version, module.address_size, module.target) == ((3, 2), 32, ("sm_20",))
    assert not [d for d in module.diagnostics if d.severity == "error"]
    assert module.kernels[0].instructions[3].opcode == "mad.lo.s32"
    assert module.kernels[0].instructions[3].loc.line == 5


def tail(barrier: str) -> str:
    """The end of a warp's reduction in volatile shared memory, with or without a warp barrier."""
    steps = "".join(
        f"""
        setp.lt.u32 %p1, %r1, {distance};
        ld.volatile.shared.u32 %r5, [%r4];
        ld.volatile.shared.u32 %r6, [%r4+{4 * distance}];
        add.u32 %r7, %r5, %r6;
        {barrier}
        @%p1 st.volatile.shared.u32 [%r4], %r7;
        {barrier}"""
        for distance in (16, 8, 4, 2, 1)
    )
    return (
        HEAD
        + f"""
    .visible .entry k(.param .u64 out) {{
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;
        .shared .align 4 .b8 sums[256];
        mov.u32 %r1, %tid.x;
        shl.b32 %r2, %r1, 2;
        mov.u32 %r3, sums;
        add.u32 %r4, %r3, %r2;
        st.volatile.shared.u32 [%r4], %r1;
        mov.u32 %r7, 0;
        st.volatile.shared.u32 [%r4+128], %r7;
        {barrier}{steps}
        ld.volatile.shared.u32 %r5, [sums];
        ld.param.u64 %rd1, [out];
        st.global.u32 [%rd1], %r5;
        ret;
    }}"""
    )


def test_reconv_syncwarp() -> None:
    case("reconv-syncwarp")
    lockstep = Run(tail(""), [np.zeros(1, np.uint32)])
    assert "racecheck" in lockstep.kinds()
    ordered = Run(tail("bar.warp.sync 0xffffffff;"), [np.zeros(1, np.uint32)])
    assert "racecheck" not in ordered.kinds()
    assert ordered.result.buffers[0].array[0] == 496
