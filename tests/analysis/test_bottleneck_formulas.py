"""Formulas behind the verdict: each against an example worked by hand from its source."""

from __future__ import annotations

import numpy as np
import pytest

from warpglass import gpu
from warpglass.analysis.listing import ListingRow
from warpglass.analysis.occupancy import Resources, nearest_cliffs, occupancy
from warpglass.analysis.occupancy_view import curves, stage_costs, sufficiency, waves
from warpglass.analysis.operations import arithmetic, is_global_load
from warpglass.analysis.padding import Layout, find_remedy
from warpglass.analysis.resources import _ratios
from warpglass.analysis.sass_loops import TENSOR_THRESHOLDS, LoopView, thresholds
from warpglass.gpu.rates import peaks

A100 = gpu.model("A100 SXM4 40GB")
FULL = np.ones(32, dtype=bool)


def row(opcode: str, text: str = "", space: str | None = None, operation: str | None = None) -> ListingRow:
    return ListingRow(1, opcode, text or opcode, "fpu", "k", space=space, operation=operation)


@pytest.mark.parametrize(
    ("opcode", "isa", "precision", "warp_flop"),
    [
        # PTX ISA, "Matrix multiply-accumulate": 2 m n k for a warp; scalar ones times 32 lanes.
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ptx", "tensor_fp16_fp32acc", 4096),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "ptx", "tensor_fp16_fp16acc", 4096),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "ptx", "tensor_tf32", 2048),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "ptx", "tensor_int8", 8192),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "ptx", "tensor_fp16_fp32acc", 8192),
        (
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
            "ptx",
            "tensor_bf16",
            2 * 64 * 128 * 16 // 4,
        ),
        ("fma.rn.f32", "ptx", "fp32", 64),
        ("add.f64", "ptx", "fp64", 32),
        ("fma.rn.f16x2", "ptx", "fp16", 128),
        ("FFMA", "sass", "fp32", 64),
        ("HFMA2", "sass", "fp16", 128),
        ("dp4a.s32.s32", "ptx", "int8", 256),
        ("IDP.4A.S8.S8", "sass", "int8", 256),
        ("dp2a.lo.s32.s32", "ptx", "int8", 128),
        ("IDP.2A.LO.S16.S8", "sass", "int8", 128),
        ("FFMA2", "sass", "fp32", 128),
        ("HMMA.16816.F32", "sass", "tensor_fp16_fp32acc", 4096),
        ("HMMA.1688.F32.TF32", "sass", "tensor_tf32", 2048),
        ("IMMA.16832.S8.S8", "sass", "tensor_int8", 8192),
        ("DMMA.884", "sass", "tensor_fp64", 512),
        ("HGMMA.64x128x16.F32", "sass", "tensor_fp16_fp32acc", 65536),
    ],
)
def test_operations_of_an_instruction(opcode: str, isa: str, precision: str, warp_flop: int) -> None:
    work = arithmetic(row(opcode), isa)
    assert work is not None
    assert (work.precision, work.warp or 32 * work.lane) == (precision, warp_flop)


def test_what_does_no_operations() -> None:
    for opcode in ("mov.u32", "setp.lt.f32", "cvt.f32.f64", "add.s32", "min.f32"):
        assert arithmetic(row(opcode), "ptx") is None
    assert arithmetic(row("HFMA2.MMA", "HFMA2.MMA R13, -RZ, RZ, 0, 0"), "sass") is None


def test_asynchronous_copies_count_once() -> None:
    assert is_global_load(row("LDGSTS.E.BYPASS.128", space="global", operation="async"), "sass")
    assert not is_global_load(row("STS", space="shared", operation="store"), "sass")
    assert not is_global_load(row("cp.async.wait_group"), "ptx")


def test_dense_peaks() -> None:
    """A100 whitepaper, table 1; GA102 whitepaper: the figures of 174 and 696 that circulate are sparse."""
    a100 = {p.precision: p.tflops for p in peaks(gpu.arch("sm_80"), A100)}
    assert a100["tensor_tf32"] == pytest.approx(156, rel=0.01)
    assert a100["tensor_int8"] == pytest.approx(624, rel=0.01)
    ti = gpu.model("RTX 3070 Ti")
    dense = {p.precision: p.tflops for p in peaks(gpu.arch("sm_86"), ti)}
    assert dense["tensor_fp16_fp16acc"] == pytest.approx(87, rel=0.01)
    assert dense["tensor_fp16_fp32acc"] == pytest.approx(43.5, rel=0.01)
    assert dense["tensor_int8"] == pytest.approx(174, rel=0.01)
    assert dense["tensor_int4"] == pytest.approx(348, rel=0.01)
    h100 = {p.precision: p.tflops for p in peaks(gpu.arch("sm_90"), gpu.model("H100 SXM5"))}
    assert h100["tensor_fp8"] == pytest.approx(1979, rel=0.01)
    assert h100["tensor_fp64"] == pytest.approx(66.9, rel=0.01)
    assert all(p.source for p in peaks(gpu.arch("sm_80"), A100))


def test_waves_and_tail() -> None:
    # 865 blocks on 108 SMs with 8 each: one block makes a second wave.
    found = waves(865, 108, 8)
    assert found.slots == 864
    assert found.efficiency == pytest.approx(865 / 1728)
    assert found.tail_idle == pytest.approx(863 / 864)
    assert waves(864, 108, 8).tail_idle == 0
    assert waves(8, 108, 8).idle_sms == 100


def loop(**changed: object) -> LoopView:
    values: dict[str, object] = {
        "index": 0, "isa": "sass", "start": 0, "end": 20, "pcs": (), "instructions": 20,
        "compute_name": "FFMA",
        "compute": 8, "loads": 2, "asynchronous": 0, "shared_loads": 0, "shared_stores": 0, "barriers": 0,
        "conversions": 0, "integer": 0, "uniform": 0, "flops": 512.0, "bytes": 256.0, "low": 4.0,
        "high": 25.0,
        "threshold_rule": "", "line": None, "executions": None, "trips": None, "opcodes": (),
    }  # fmt: skip
    return LoopView(**{**values, **changed})  # type: ignore[arg-type]


def test_littles_law() -> None:
    """Volkov, GTC 2010: parallelism = latency x throughput."""
    full = occupancy(gpu.arch("sm_80"), Resources(256, 32))
    found = sufficiency(gpu.arch("sm_80"), A100, full, loop(), 500, 64)
    assert found is not None
    assert found.by_issue == 100  # 4 schedulers x 500 / 20
    assert found.by_bandwidth == 20  # 1555 GB/s / 1.41 GHz / 108 = 10.2 B a clock; x 500 / 256
    assert (found.needed, found.enough) == (20, True)
    few = sufficiency(gpu.arch("sm_80"), A100, full, loop(), 500, 8)
    assert few is not None
    assert not few.enough


def test_thresholds_of_loops() -> None:
    assert TENSOR_THRESHOLDS == (5.0, 20.0)
    low, high, rule = thresholds(gpu.arch("sm_80"), A100, 4)
    assert low == pytest.approx(4.0)
    assert high == pytest.approx(25.07, rel=0.01)
    assert "64 B a clock" in rule
    assert loop().ratio == 4.0
    assert loop().flop_per_byte == 2.0
    assert loop(loads=0).ratio is None


def test_stages_and_cliffs_of_shared_memory() -> None:
    """sm_86 has 100 KB an SM and reserves 1 KB a block: 49 KB give two blocks, 50 KB one."""
    arch = gpu.arch("sm_86")
    assert occupancy(arch, Resources(128, 32, dynamic_shared=49 * 1024)).blocks == 2
    assert occupancy(arch, Resources(128, 32, dynamic_shared=50 * 1024)).blocks == 1
    half = Resources(128, 32, dynamic_shared=49 * 1024 + 512)
    assert "512 fewer bytes of shared memory a block give 2 blocks an SM" in [
        c.sentence() for c in nearest_cliffs(arch, half)
    ]
    costs = stage_costs(arch, Resources(128, 32, dynamic_shared=16 * 1024), 16 * 1024)
    assert [blocks for _, _, blocks in costs[:4]] == [5, 3, 2, 1]


def test_curves_go_through_the_present_point() -> None:
    arch, ask = gpu.arch("sm_80"), Resources(256, 32)
    for curve in curves(arch, ask):
        assert len(curve.x) == len(curve.warps)
        if curve.present in curve.x:
            assert curve.warps[curve.x.index(curve.present)] == occupancy(arch, ask).warps


def shared(addresses: list[int], size: int = 4) -> Layout:
    return Layout(np.array([addresses], dtype=np.int64), FULL[None, :], size)


def test_padding_of_a_column() -> None:
    """float tile[32][32] read by columns: 32 wavefronts, 1 with a pitch of 132 bytes."""
    found = find_remedy([shared([lane * 128 for lane in range(32)])])
    assert found is not None
    assert (found.before, found.after, found.pitch, found.pad) == (32, 1, 128, 4)
    assert "pad rows of 128 bytes by 4 bytes" in found.sentence()


@pytest.mark.parametrize(("depth", "pad"), [(16, 8), (8, 16)])
def test_smem_transposed_store_padding(depth: int, pad: int) -> None:
    """Case smem-transposed-store-padding: +2 floats remove the conflict for BK=16 only, BK=8 needs +4."""
    lanes, per = range(32), depth // 4
    rows = [[((lane % per) * 4 + j) * 128 * 4 + (lane // per) * 4 for lane in lanes] for j in range(4)]
    stores = Layout(np.array(rows, dtype=np.int64), np.ones((4, 32), dtype=bool), 4)
    assert stores.waves(stores.addresses) == 4 * per
    found = find_remedy([stores])
    assert found is not None
    assert (found.pitch, found.pad) == (512, pad)
    assert found.after == found.ideal == 4


def test_no_remedy_where_none_helps() -> None:
    assert find_remedy([]) is None


def test_gain_is_between_overlap_and_none() -> None:
    low, high = _ratios({"a": 100.0, "b": 50.0}, {"a": 10.0, "b": 50.0})
    assert (low, high) == (2.0, 2.5)
    assert _ratios({"a": 100.0}, {"a": 100.0}) == (1.0, 1.0)
