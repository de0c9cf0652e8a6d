"""The same arithmetic compiled by g++ for the host: in all four rounding modes, over hundreds of operands.

The CUDA headers' host paths are a second opinion on the small formats where they are installed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from machine.lanes import run

SOURCE = Path(__file__).with_name("host_oracle.cpp")
COUNT = 600


def _build(folder: Path, *flags: str) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing: nothing to compare with")
    program = folder / "oracle"
    options = ["-O1", "-std=c++17", "-frounding-math", "-ffp-contract=off", *flags]
    done = subprocess.run(
        [compiler, *options, str(SOURCE), "-o", str(program)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="session")
def oracle(tmp_path_factory):
    return _build(tmp_path_factory.mktemp("oracle"))


@pytest.fixture(scope="session")
def cuda_oracle(tmp_path_factory):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is missing: no CUDA headers to compare with")
    # nvcc may be a wrapper script: it says itself where it lives.
    said = subprocess.run([nvcc, "--dryrun", "-c", "x.cu"], capture_output=True, text=True, timeout=60).stderr
    top = next((line.partition("_HERE_=")[2] for line in said.splitlines() if "_HERE_=" in line), "")
    include = Path(top).parent / "include"
    if not (include / "cuda_fp4.h").exists():
        pytest.skip("these CUDA headers have no 4-bit floats")
    return _build(tmp_path_factory.mktemp("cuda_oracle"), "-DWITH_CUDA", f"-I{include}")


def ask(program, kind, mode, operands, dtype):
    done = subprocess.run(
        [str(program), kind, mode], input=operands.tobytes(), capture_output=True, timeout=60
    )
    assert done.returncode == 0, kind
    return np.frombuffer(done.stdout, dtype=dtype)


def operands(width, seed):
    """Ordinary numbers near 1, close to each other, with all exponents, and the special ones."""
    rng = np.random.default_rng(seed)
    word = np.uint32 if width == 32 else np.uint64
    real = np.float32 if width == 32 else np.float64
    wild = rng.integers(0, 2**width, COUNT, dtype=np.uint64).astype(word)
    near = (rng.uniform(-4, 4, COUNT)).astype(real).view(word)
    coarse = (rng.integers(-64, 65, COUNT) / 8).astype(real).view(word)
    tiny = (rng.uniform(-1, 1, COUNT) * (2.0**-130 if width == 32 else 2.0**-1026)).astype(real).view(word)
    return np.stack([wild, near, coarse, tiny])[rng.integers(0, 4, COUNT), np.arange(COUNT)]


def same(got, want, real):
    """Equal patterns, or both NaN."""
    nan = np.isnan(want.view(real))
    np.testing.assert_array_equal(np.isnan(got.view(real)), nan)
    np.testing.assert_array_equal(got[~nan], want[~nan])


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("op", ["add", "mul", "div", "sqrt", "fma"])
@pytest.mark.parametrize("width", [32, 64])
def test_float_arithmetic(oracle, width, op, mode):
    word, real = (np.uint32, np.float32) if width == 32 else (np.uint64, np.float64)
    a, b, c = (operands(width, seed) for seed in (1, 2, 3))
    if op == "fma":  # a third of the sums nearly cancel
        with np.errstate(all="ignore"):
            c[::3] = (-(a.view(real) * b.view(real))).view(word)[::3] ^ word(1)
    want = ask(oracle, f"f{width}.{op}", mode, np.stack([a, b, c], axis=1), word)
    count = {"sqrt": 1, "fma": 3}.get(op, 2)
    got = np.array(run(f"{op}.{mode}.f{width}", *[list(map(int, x)) for x in (a, b, c)[:count]]), dtype=word)
    same(got, want, real)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("pair", ["s64.f32", "u64.f32", "s64.f64", "f64.f32"])
def test_conversions(oracle, pair, mode):
    source, dest = pair.split(".")
    x = operands(64, 5)
    word, real = (np.uint32, np.float32) if dest == "f32" else (np.uint64, np.float64)
    want = ask(oracle, f"cvt.{pair}", mode, x, word)
    got = np.array(run(f"cvt.{mode}.{dest}.{source}", list(map(int, x))), dtype=word)
    same(got, want, real)


def test_integers(oracle):
    a, b, c = (operands(32, seed) for seed in (7, 8, 9))
    b[::5] = b[::5] % np.uint32(7)
    stacked = np.stack([a, b, c], axis=1)
    ints = [list(map(int, x)) for x in (a, b, c)]
    sb = b.view(np.int32)
    for op, opcode, count in (
        ("mulhi", "mul.hi.s32", 2),
        ("umulhi", "mul.hi.u32", 2),
        ("popc", "popc.b32", 1),
        ("clz", "clz.b32", 1),
    ):
        want = ask(oracle, f"int.{op}", "rn", stacked, np.uint32)
        assert run(opcode, *ints[:count]) == want.tolist()
    for op, opcode in (("div", "div.s32"), ("rem", "rem.s32")):
        want = ask(oracle, f"int.{op}", "rn", stacked, np.uint32)
        got = np.array(run(opcode, *ints[:2]), dtype=np.uint32)
        keep = (sb != 0) & (sb != -1)
        np.testing.assert_array_equal(got[keep], want[keep])
    # A whole expression, opcode by opcode.
    mad = run("mad.lo.u32", *ints)
    wrap_b, wrap_a, wrap_c = (run("and.b32", x, [31] * COUNT) for x in (ints[1], ints[0], ints[2]))
    value = run("xor.b32", mad, run("shr.u32", ints[0], wrap_b))
    value = run("sub.u32", value, run("shl.b32", ints[2], wrap_a))
    value = run("add.u32", value, run("shr.s32", ints[0], wrap_c))
    assert value == ask(oracle, "int.expression", "rn", stacked, np.uint32).tolist()


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"])
def test_small_formats(cuda_oracle, name):
    x = _small_inputs()
    want = ask(cuda_oracle, f"cuda.{name}", "rn", x, np.uint32)
    bits = list(map(int, x))
    got = run(f"cvt.rn.satfinite.{name}x2.f32", [0] * len(bits), bits)
    assert got == want.tolist()


@pytest.mark.cuda
@pytest.mark.parametrize("form", ["rz", "rp", "nosat"])
def test_scale_format(cuda_oracle, form):
    x = _small_inputs()
    want = ask(cuda_oracle, f"cuda.ue8m0-{form}", "rn", x, np.uint32)
    bits = list(map(int, x))
    opcode = "cvt.rz.ue8m0x2.f32" if form == "nosat" else f"cvt.{form}.satfinite.ue8m0x2.f32"
    assert run(opcode, [0x3F800000] * len(bits), bits) == [0x7F00 | int(w) for w in want]


@pytest.mark.cuda
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_halves(cuda_oracle, name, mode):
    x = _small_inputs()
    want = ask(cuda_oracle, f"cuda.{name}-{mode}", "rn", x, np.uint32)
    assert run(f"cvt.{mode}.{name}.f32", list(map(int, x))) == want.tolist()


def _small_inputs():
    rng = np.random.default_rng(4)
    scales = np.exp2(rng.integers(-30, 20, 1500)) * rng.integers(-300, 301, 1500) / 256
    special = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 1, 0x00400000, 0x00400001]
    return np.concatenate(
        [scales.astype(np.float32).view(np.uint32), operands(32, 6), np.array(special, dtype=np.uint32)]
    )
