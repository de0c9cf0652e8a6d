"""Kernel names and drivers: what CUTLASS's own spelling tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpglass.cutlass.driver import choose_headers, is_driver
from warpglass.cutlass.names import read_name

MANGLED = (
    "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEENS1_10collective13CollectiveMma"
    "INS1_34MainloopSm90TmaGmmaWarpSpecializedILi8ENS5_IJNS4_1CILi2EEENSA_ILi1EEESC_EEENS1_32KernelTmaWarpSpecialized"
    "PingpongEEENS5_IJNSA_ILi64EEENSA_ILi128EEESG_EEENS_6half_tE"
)
DEMANGLED = (
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
    "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<(int)7, "
    "cute::tuple<cute::C<(int)2>, cute::C<(int)1>, cute::C<(int)1>>, "
    "cutlass::gemm::KernelTmaWarpSpecializedCooperative>, "
    "cute::tuple<cute::C<(int)128>, cute::C<(int)256>, cute::C<(int)64>>, cutlass::float_e4m3_t, "
)


def test_a_demangled_name() -> None:
    found = read_name(DEMANGLED)
    assert found is not None
    assert (found.stages, found.cluster, found.tile, found.schedule) == (
        7,
        (2, 1, 1),
        (128, 256, 64),
        "cooperative",
    )
    assert found.knobs == {"S": 7, "bm": 128, "bn": 256, "bk": 64, "ba": 8, "bb": 8, "cm": 2, "cn": 1}


def test_a_mangled_name() -> None:
    found = read_name(MANGLED)
    assert found is not None
    assert (found.arch, found.stages, found.schedule) == ("sm_90", 8, "pingpong")


def test_blackwell_pairs() -> None:
    text = (
        "MainloopSm100TmaUmmaWarpSpecialized<5, 3, 2, cute::tuple<cute::C<2>, cute::C<1>, cute::C<1>>, …2Sm"
    )
    found = read_name(text)
    assert found is not None
    assert found.knobs["CTA"] == 2


@pytest.mark.parametrize("name", ["", "_Z3addPfS_", "MainloopSm90", "void gemm<8>(float*)"])
def test_other_names(name: str) -> None:
    assert read_name(name) is None


DRIVER = """
using CollectiveMainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, %s>::CollectiveOp;
"""


def tree(folder: Path) -> Path:
    for name in ("gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp",
                 "gemm/kernel/sm90_gemm_tma_warpspecialized_pingpong.hpp"):  # fmt: skip
        path = folder / "cutlass" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// a header")
    return folder


def test_a_driver_with_a_tag(tmp_path: Path) -> None:
    text = DRIVER % "cutlass::gemm::KernelTmaWarpSpecializedPingpong"
    assert is_driver(text)
    choice = choose_headers(text, (tree(tmp_path),))
    assert [path.name for path in choice.paths] == [
        "sm90_mma_tma_gmma_ss_warpspecialized.hpp", "sm90_gemm_tma_warpspecialized_pingpong.hpp",
    ]  # fmt: skip
    assert "this is a driver" in choice.message
    assert choose_headers(text).paths == ()


def test_a_driver_that_leaves_it_to_the_builder(tmp_path: Path) -> None:
    text = DRIVER % "cutlass::gemm::collective::KernelScheduleAuto"
    choice = choose_headers(text, (tree(tmp_path),))
    assert choice.paths == ()
    assert "KernelScheduleAuto leaves the schedule to the builder" in choice.message
    assert len(choice.candidates) == 2
    decided = choose_headers(text, (tree(tmp_path),), "sm_90", ("KernelTmaWarpSpecializedPingpong",))
    assert len(decided.paths) == 2


@pytest.mark.parametrize(
    ("tag", "element", "mainloop"),
    [
        ("Cooperative", "float_e4m3_t", "sm90_mma_tma_gmma_ss_warpspecialized_fp8"),
        ("CooperativeFP8FastAccum", "float_e4m3_t", "sm90_mma_tma_gmma_ss_warpspecialized"),
        ("Pingpong", "half_t", "sm90_mma_tma_gmma_ss_warpspecialized"),
    ],
)
def test_fp8_without_fast_accumulation_promotes(tag: str, element: str, mainloop: str) -> None:
    text = f"using ElementA = cutlass::{element};\nusing S = cutlass::gemm::KernelTmaWarpSpecialized{tag};\n"
    choice = choose_headers(f"{text}CollectiveBuilder<cutlass::arch::Sm90>")
    assert choice.mainloop == f"gemm/collective/{mainloop}.hpp"
