"""A driver .cu: it names a CollectiveBuilder and schedule tags, and the pipeline is in headers elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DriverChoice", "choose_headers", "is_driver"]

_DRIVER = re.compile(r"CollectiveBuilder\b|CollectiveMma\b|KernelScheduleAuto|GemmUniversalAdapter\b")
_FP8 = re.compile(r"\bElement(?:Input)?A\w*\s*=\s*(?:cutlass::)?float_e[45]m[23]_t\b")
_PROMOTING = ("sm90_mma_tma_gmma_ss_warpspecialized", "sm90_mma_array_tma_gmma_ss_warpspecialized")
_ROOTS = ("include/cutlass", "cutlass/include/cutlass", "cutlass", ".")

#: End of a schedule tag, mainloop, kernel layer (``|`` stands for the common word), for sm_90 operands
#: from shared memory (CUTLASS, builders/sm90_gmma_builder.inl) and for sm_100 (sm100_umma_builder.inl).
_TAGS: tuple[tuple[str, str, str], ...] = (
    ("PingpongFP8FastAccum", "sm90_mma_tma_gmma_ss", "sm90_gemm_tma|_pingpong"),
    ("CooperativeFP8FastAccum", "sm90_mma_tma_gmma_ss", "sm90_gemm_tma|_cooperative"),
    ("FP8FastAccum", "sm90_mma_tma_gmma_ss", "sm90_gemm_tma|"),
    ("Pingpong", "sm90_mma_tma_gmma_ss", "sm90_gemm_tma|_pingpong"),
    ("Cooperative", "sm90_mma_tma_gmma_ss", "sm90_gemm_tma|_cooperative"),
    ("1SmNvf4Sm100", "sm100_blockscaled_mma", "sm100_gemm_tma|"),
    ("2SmNvf4Sm100", "sm100_blockscaled_mma", "sm100_gemm_tma|"),
    ("1SmMxf8f6f4Sm100", "sm100_blockscaled_mma", "sm100_gemm_tma|"),
    ("2SmMxf8f6f4Sm100", "sm100_blockscaled_mma", "sm100_gemm_tma|"),
    ("1SmSm100", "sm100_mma", "sm100_gemm_tma|"),
    ("2SmSm100", "sm100_mma", "sm100_gemm_tma|"),
    ("", "sm90_mma_tma_gmma_ss", "sm90_gemm_tma|"),
)
_MORE = (
    ("KernelPtrArrayTmaWarpSpecialized", "sm90_mma_array_tma_gmma_ss", "sm90_gemm_array_tma|"),
    ("KernelCpAsyncWarpSpecialized", "sm90_mma_multistage_gmma_ss", "sm90_gemm|"),
)


def _table() -> list[tuple[str, str, str]]:
    """(tag, mainloop, kernel layer), file names without their suffix."""
    rows = [("KernelTmaWarpSpecialized" + end, main, layer) for end, main, layer in _TAGS]
    for tag, main, layer in _MORE:
        rows += [(tag + end, main, layer + low) for end, low in (("Pingpong", "_pingpong"),
                 ("Cooperative", "_cooperative"), ("", ""))]  # fmt: skip
    word = "_warpspecialized"
    return [(tag, main + word, layer.replace("|", word)) for tag, main, layer in rows]


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
    """Which headers a driver means. ``arch`` (``sm_90``) and ``tags`` of schedules win over its own."""
    stated = re.search(r"\bArchTag\s*=\s*(?:cutlass::)?arch::(Sm\d+)", text) or re.search(
        r"arch::(Sm\d+)\b", text
    )
    chosen = (
        arch.split(",")[0] if arch else (stated.group(1).lower().replace("sm", "sm_") if stated else None)
    )
    words = set(tags) or set(re.findall(r"\bKernel\w+", text))
    auto = "KernelScheduleAuto" in words and not tags
    tag = next((entry for entry in _table() if entry[0] in words), None)
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
        # Without fast accumulation, fp8 operands get a mainloop that promotes (sm90_gmma_builder.inl).
        promotes = tag[1] in _PROMOTING and "FastAccum" not in tag[0] and _FP8.search(text) is not None
        names = (f"gemm/collective/{tag[1]}{'_fp8' if promotes else ''}.hpp", f"gemm/kernel/{tag[2]}.hpp")
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
        message += f"; for {chosen or 'its architecture'} the include tree has {len(candidates)} headers, "
        # Two of each: mainloops and kernel layers.
        shown = [[c for c in candidates if f"/{kind}/" in c][:2] for kind in ("collective", "kernel")]
        message += "among them " + ", ".join(shown[0] + shown[1])
    else:
        message += "; -I names the include tree, --schedule a tag such as KernelTmaWarpSpecializedPingpong"
    return DriverChoice(chosen, None, None, None, (), tuple(candidates), message)
