"""printf, assert and trap; and functions that g++ compiles too."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernels.harness import HERE, launch, random, run

pytestmark = pytest.mark.cuda
FILE = "output.cu"


def test_printf() -> None:
    data = np.arange(32, dtype=np.float32) * 1.5
    result = launch(FILE, "hello", [data])
    assert result.complete
    lines = "".join(
        result.printed if result.printed[0].endswith("\n") else [p + "\n" for p in result.printed]
    )
    want = [f"thread {i} of 32: {i * 1.5:6.2f} ok {'abc'[i]} %" for i in range(3)]
    want.append("   42|42   |-0042|ff|FF|-5000000000|9223372036854775808|1.234568e+04|0.5")
    want.append("no arguments")
    assert sorted(lines.splitlines()) == sorted(want)


def test_assert_passes() -> None:
    data = np.arange(32, dtype=np.int32)
    out = run(FILE, "checked", [data, np.zeros(32, np.int32)])[1]
    assert np.array_equal(out, data + 100)


def test_assert_fails() -> None:
    data = np.arange(32, dtype=np.int32)
    data[7] = -1
    result = launch(FILE, "checked", [data, np.zeros(32, np.int32)])
    assert not result.complete
    text = " ".join([*result.printed, *(f.message for f in result.findings), str(result.stopped)])
    assert "in[threadIdx.x] >= 0" in text
    assert any(f.thread == (7, 0, 0) for f in result.findings)


def test_trap() -> None:
    result = launch(FILE, "trapped", [np.zeros(64, np.int32)], block=64)
    assert not result.complete
    assert result.stopped is not None
    assert result.stopped.kind == "trap"
    assert (result.buffers[0].array == 1).all()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions of host_functions.h, compiled by g++ without contraction."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing")
    library: Path = tmp_path_factory.mktemp("host") / "functions.so"
    options = ["-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", str(library), str(HERE / "host_functions.cpp")], check=True)
    return ctypes.CDLL(str(library))


NAMES = [
    "mix",
    "whole_root",
    "edit_distance",
    "divisions",
    "civil_date",
    "to_half",
    "common_run",
    "polynomial",
]


@pytest.mark.parametrize("which", range(len(NAMES)), ids=NAMES)
def test_device_functions_agree_with_the_host(host: ctypes.CDLL, which: int) -> None:
    n = 128
    rng = random(100 + which)
    x, y = (rng.integers(0, 2**32, n, dtype=np.uint64).astype(np.uint32) for _ in range(2))
    x[:4], y[:4] = [0, 1, 2**32 - 1, 2**31], [0, 1, 2**32 - 1, 2**31]
    want = np.zeros(n, np.uint32)
    pointer = ctypes.POINTER(ctypes.c_uint32)
    host.both(*(v.ctypes.data_as(pointer) for v in (x, y, want)), n, which)
    out = run("host_functions.cu", "both", [x, y, np.zeros(n, np.uint32), which], grid=4, block=32)[2]
    assert np.array_equal(out, want)
