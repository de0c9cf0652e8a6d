"""A driver .cu: it names a CollectiveBuilder and schedule tags, and the pipeline is in headers elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DriverChoice", "choose_headers", "is_driver"]

_DRIVER = re.compile(r"CollectiveBuilder\b|CollectiveMma\b|KernelScheduleAuto|GemmUniversalAdapter\b")
_ROOTS = ("include/cutlass", "cutlass/include/cutlass", "cutlass", ".")

#: schedule tag: (mainloop, kernel layer), for sm_90 operands from shared memory (CUTLASS,
#: gemm/collective/builders/sm90_gmma_builder.inl) and for sm_100 (sm100_umma_builder.inl).
_TAGS: tuple[tuple[str, str, str], ...] = (
    ("KernelTmaWarpSpecializedPingpongFP8FastAccum", "sm90_mma_tma_gmma_ss_warpspecialized", "sm90_gemm_tma_warpspecialized_pingpong"),
    ("KernelTmaWarpSpecializedCooperativeFP8FastAccum", "sm90_mma_tma_gmma_ss_warpspecialized", "sm90_gemm_tma_warpspecialized_cooperative"),
    ("KernelTmaWarpSpecializedFP8FastAccum", "sm90_mma_tma_gmma_ss_warpspecialized", "sm90_gemm_tma_warpspecialized"),
    ("KernelPtrArrayTmaWarpSpecializedPingpong", "sm90_mma_array_tma_gmma_ss_warpspecialized", "sm90_gemm_array_tma_warpspecialized_pingpong"),
    ("KernelPtrArrayTmaWarpSpecializedCooperative", "sm90_mma_array_tma_gmma_ss_warpspecialized", "sm90_gemm_array_tma_warpspecialized_cooperative"),
    ("KernelCpAsyncWarpSpecializedPingpong", "sm90_mma_multistage_gmma_ss_warpspecialized", "sm90_gemm_warpspecialized_pingpong"),
    ("KernelCpAsyncWarpSpecializedCooperative", "sm90_mma_multistage_gmma_ss_warpspecialized", "sm90_gemm_warpspecialized_cooperative"),
    ("KernelCpAsyncWarpSpecialized", "sm90_mma_multistage_gmma_ss_warpspecialized", "sm90_gemm_warpspecialized"),
    ("KernelTmaWarpSpecializedPingpong", "sm90_mma_tma_gmma_ss_warpspecialized", "sm90_gemm_tma_warpspecialized_pingpong"),
    ("KernelTmaWarpSpecializedCooperative", "sm90_mma_tma_gmma_ss_warpspecialized", "sm90_gemm_tma_warpspecialized_cooperative"),
    ("KernelTmaWarpSpecialized1SmNvf4Sm100", "sm100_blockscaled_mma_warpspecialized", "sm100_gemm_tma_warpspecialized"),
    ("KernelTmaWarpSpecialized2SmNvf4Sm100", "sm100_blockscaled_mma_warpspecialized", "sm100_gemm_tma_warpspecialized"),
    ("KernelTmaWarpSpecialized1SmMxf8f6f4Sm100", "sm100_blockscaled_mma_warpspecialized", "sm100_gemm_tma_warpspecialized"),
    ("KernelTmaWarpSpecialized2SmMxf8f6f4Sm100", "sm100_blockscaled_mma_warpspecialized", "sm100_gemm_tma_warpspecialized"),
    ("KernelTmaWarpSpecialized1SmSm100", "sm100_mma_warpspecialized", "sm100_gemm_tma_warpspecialized"),
    ("KernelTmaWarpSpecialized2SmSm100", "sm100_mma_warpspecialized", "sm100_gemm_tma_warpspecialized"),
    ("KernelTmaWarpSpecialized", "sm90_mma_tma_gmma_ss_warpspecialized", "sm90_gemm_tma_warpspecialized"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DriverChoice:
    """What a driver decides: architecture, tag, the headers it means (None: not decided) and candidates."""

    arch: str | None
    tag: str | None
    mainloop: str | None
    kernel: str | None
    paths: tuple[Path, ...]
    candidates: tuple[str, ...]
    message: str


def is_driver(text: str) -> bool:
    """Whether a source builds a kernel of CUTLASS's collectives instead of writing one."""
    return _DRIVER.search(text) is not None


def _tree(include_dirs: Sequence[Path]) -> Path | None:
    for folder in include_dirs:
        for root in _ROOTS:
            place = folder / root
            if (place / "gemm" / "collective").is_dir():
                return place
    return None


def choose_headers(
    text: str, include_dirs: Sequence[Path] = (), arch: str | None = None, tags: Sequence[str] = ()
) -> DriverChoice:
    """Which headers a driver means. ``arch`` (``sm_90``) and ``tags`` (schedule tags) win over the source's."""
    stated = re.search(r"\bArchTag\s*=\s*(?:cutlass::)?arch::(Sm\d+)", text) or re.search(r"arch::(Sm\d+)\b", text)
    chosen = arch.split(",")[0] if arch else (stated.group(1).lower().replace("sm", "sm_") if stated else None)
    words = set(tags) or set(re.findall(r"\bKernel\w+", text))
    auto = "KernelScheduleAuto" in words and not tags
    tag = next((entry for entry in _TAGS if entry[0] in words), None)
    if tag is not None and auto and not re.search(rf"\b{tag[0]}\b", re.sub(r"//[^\n]*", "", text)):
        tag = None
    tree = _tree(include_dirs)
    prefix = (chosen or "").replace("_", "").rstrip("a")
    candidates: list[str] = []
    if tree is not None:
        for folder in ("gemm/collective", "gemm/kernel"):
            candidates += [
                f"cutlass/{folder}/{path.name}"
                for path in sorted((tree / folder).glob(f"{prefix or 'sm'}*warpspecialized*.hpp"))
            ]
    paths: tuple[Path, ...] = ()
    if tag is not None:
        names = (f"gemm/collective/{tag[1]}.hpp", f"gemm/kernel/{tag[2]}.hpp")
        if tree is not None and all((tree / name).is_file() for name in names):
            paths = tuple(tree / name for name in names)
        listed = " and ".join(f"cutlass/{name}" for name in names)
        message = f"this is a driver: {tag[0]} means {listed}"
        if not paths:
            message += "; -I names the include tree that holds them"
        return DriverChoice(chosen, tag[0], names[0], names[1], paths, tuple(candidates), message)
    why = "KernelScheduleAuto leaves the schedule to the builder" if auto else "no schedule tag is named"
    message = f"this is a driver: its pipeline is in CUTLASS's headers, and {why}"
    if candidates:
        message += f"; for {chosen or 'its architecture'} the include tree has {len(candidates)} headers, among them "
        message += ", ".join(candidates[:4])
    else:
        message += "; -I names the include tree, --schedule a tag such as KernelTmaWarpSpecializedPingpong"
    return DriverChoice(chosen, None, None, None, (), tuple(candidates), message)
