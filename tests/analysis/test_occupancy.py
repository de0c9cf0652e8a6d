"""Occupancy equals the toolkit's own header, and says what limits it."""

from __future__ import annotations

import csv
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from warpglass import gpu
from warpglass.analysis.occupancy import Resources, nearest_cliffs, occupancy

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
NAMES = ("registers", "shared memory", "warps", "blocks", "barriers")
BITS = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8, "barriers": 16}


def row_matches(row: dict[str, str]) -> bool:
    """Whether our answer equals a row of the oracle's in every column it has."""
    arch = gpu.find_arch("sm_" + row["cc"].replace(".", ""))
    assert arch is not None, row["cc"]
    carveout = int(row["carveout"])
    ask = Resources(
        int(row["threads"]),
        int(row["regs"]),
        int(row["static_smem"]),
        int(row["dyn_smem"]),
        int(row["barriers"]),
        None if carveout < 0 else carveout,
    )
    got = occupancy(arch, ask)

    def limit(value: int | None) -> str:
        return "-1" if value is None else str(value)

    mine = {
        "blocks": str(got.blocks),
        "warps": str(got.warps),
        "max_warps": str(got.max_warps),
        "lim_regs": limit(got.by_registers),
        "lim_smem": limit(got.by_shared),
        "lim_warps": limit(got.by_warps),
        "lim_blocks": limit(got.by_blocks),
        "lim_barriers": limit(got.by_barriers),
        "alloc_regs_block": str(got.registers_block),
        "alloc_smem_block": str(got.shared_block),
    }
    assert mine == {key: row[key] for key in mine}, row
    named = sum(BITS[name] for name in got.limiters if name in BITS)
    if got.blocks and got.warps < got.max_warps:
        mask = int(row["limit_mask"], 16)
        if mask & BITS["barriers"]:
            # The header adds the barriers' bit to those it set before it looked at barriers.
            assert named & ~mask == 0, row
            assert named & BITS["barriers"], row
        else:
            assert named == mask, row
    return True


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
def test_six_thousand_answers_of_the_header() -> None:
    with (DATA / "occupancy_sample.tsv").open() as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["blocks"]]
    assert len(rows) >= 6000
    assert all(row_matches(row) for row in rows if not row["blocks"].startswith("ERR"))


def header_folder() -> Path | None:
    """Where cuda_occupancy.h is: beside nvcc, or in the package nvidia-cuda-runtime."""
    from warpglass.inputs.toolchain import find_tool

    tool = find_tool("nvcc")
    candidates = []
    if tool is not None:
        real = Path(tool.path).resolve()
        candidates += [real.parent.parent / "include"]
        if "exec" in real.read_bytes()[:200].decode("latin-1"):
            wrapped = [w for w in real.read_text("latin-1").split() if w.endswith("/nvcc")]
            candidates += [Path(w).parent.parent / "include" for w in wrapped]
    import site

    candidates += [Path(p) / "nvidia" / "cu13" / "include" for p in site.getsitepackages()]
    return next((p for p in candidates if (p / "cuda_occupancy.h").is_file()), None)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
def test_fifty_thousand_more_from_the_header_itself(tmp_path: Path) -> None:
    include, compiler = header_folder(), shutil.which("g++")
    if include is None or compiler is None:
        pytest.skip("needs g++ and cuda_occupancy.h")
    program = tmp_path / "oracle"
    subprocess.run(
        [
            compiler,
            "-O1",
            "-std=c++17",
            f"-I{include}",
            "-o",
            str(program),
            str(DATA / "occupancy_oracle.cpp"),
        ],
        check=True,
        timeout=120,
    )
    grid = subprocess.run(
        [str(program), "grid"], check=True, capture_output=True, text=True, timeout=120
    ).stdout
    header, *lines = grid.splitlines()
    names = header.split("\t")
    chosen = random.Random(7).sample([line for line in lines if "ERR" not in line], 50_000)
    assert sum(row_matches(dict(zip(names, line.split("\t"), strict=True))) for line in chosen) == 50_000


@pytest.mark.parametrize(
    ("arch", "ask", "blocks", "warps", "limiters"),
    [
        # 92 -> 96 registers; a quarter of the file holds 5 warps, so 20 fit, so 2 blocks of 7 warps.
        ("sm_80", Resources(224, 92), 2, 14, ("registers",)),
        ("sm_50", Resources(128, 85), 5, 20, ("registers",)),
        ("sm_52", Resources(128, 85), 5, 20, ("registers",)),
        ("sm_80", Resources(128, 30), 16, 64, ()),
        ("sm_80", Resources(32, 29), 32, 32, ("blocks",)),
        ("sm_80", Resources(256, 34), 6, 48, ("registers",)),
        ("sm_80", Resources(256, 41), 5, 40, ("registers",)),
        ("sm_80", Resources(1024, 128), 0, 0, ("not launchable",)),
        ("sm_86", Resources(256, 32, 0, 49 * 1024), 2, 16, ("shared memory",)),
        ("sm_86", Resources(256, 32, 0, 50 * 1024), 1, 8, ("shared memory",)),
    ],
)
def test_worked_examples(
    arch: str, ask: Resources, blocks: int, warps: int, limiters: tuple[str, ...]
) -> None:
    """Among them the public questions occ-92regs-224thr, occ-85regs-cc52, occ-pmpp-exercise and
    occ-triton-softmax-formula, whose formula says 6 where the hardware holds 5."""
    got = occupancy(gpu.arch(arch), ask)
    assert (got.blocks, got.warps, got.limiters) == (blocks, warps, limiters)


def test_cliffs_in_words() -> None:
    arch = gpu.arch("sm_86")
    # 3 blocks need (100 KB / 3 rounded down to 128 B) - 1 KB reserved each.
    fits_three = (100 * 1024 // 3) // 128 * 128 - 1024
    cliffs = nearest_cliffs(arch, Resources(128, 32, 0, fits_three + 512))
    sentences = [cliff.sentence() for cliff in cliffs]
    assert "512 fewer bytes of shared memory a block give 3 blocks an SM" in sentences
    for cliff in cliffs:
        if cliff.resource == "shared memory":
            changed = Resources(128, 32, 0, fits_three + 512 + cliff.change)
            assert occupancy(arch, changed).blocks == cliff.blocks
            one_less = Resources(
                128, 32, 0, fits_three + 512 + cliff.change - (1 if cliff.change > 0 else -1)
            )
            assert (
                occupancy(arch, one_less).blocks
                == occupancy(arch, Resources(128, 32, 0, fits_three + 512)).blocks
            )


def test_cliffs_of_what_no_block_can_have() -> None:
    """A damaged file may name 2^31 registers or bytes: walking down from there would take hours."""
    arch = gpu.arch("sm_86")
    most = 2**31 - 1
    registers = nearest_cliffs(arch, Resources(128, most))[0]
    assert (registers.resource, most + registers.change, registers.blocks) == ("registers", 255, 2)
    shared = next(
        cliff for cliff in nearest_cliffs(arch, Resources(128, 32, most)) if cliff.resource == "shared memory"
    )
    assert (shared.change, shared.blocks) == (arch.smem_block_optin - most, 1)
