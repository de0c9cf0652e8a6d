"""``bench`` from the command to the printed median: compiled by nvcc, run on a stand-in for the runtime."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from warpglass import cli_bench
from warpglass.cli import main
from warpglass.inputs.devices import Device

HERE = Path(__file__).parent
KERNEL = """
extern __shared__ float room[];
template <typename T> __global__ void twice(T* x, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
template __global__ void twice<float>(float*, int);
"""
LAUNCH = ("--grid", "2", "--block", "64", "--arg", "x=float[128]:ones", "--arg", "n=128")


@pytest.fixture
def bench(capfd, tmp_path, monkeypatch):
    """Run ``bench`` in a folder with one kernel: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(KERNEL)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["bench", "k.cu", *LAUNCH, *arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        code = ended.value.code
        return (code if isinstance(code, int) else 0), out, err

    return run


@pytest.fixture
def stand_in(tmp_path, monkeypatch) -> tuple[str, ...]:
    """Flags that link the stand-in in place of the runtime, and a GPU that is found."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    library = tmp_path / "lib"
    library.mkdir()
    built = ["g++", "-O1", "-c", str(HERE / "runtime_stub.cpp"), "-o", str(library / "stub.o")]
    subprocess.run(built, check=True)
    subprocess.run(["ar", "rcs", str(library / "libstub.a"), str(library / "stub.o")], check=True)
    monkeypatch.setattr(cli_bench, "find_devices", lambda: (Device(0, "GPU-0", "a stand-in", "8.0"),))
    return (f"--nvcc-flag=-L{library}", "--nvcc-flag=-lstub", "--nvcc-flag=-cudart=none")


@pytest.mark.cuda
def test_without_a_gpu_the_harness_is_written_and_said_so(bench, monkeypatch) -> None:
    monkeypatch.setattr(cli_bench, "find_devices", lambda: ())
    code, out, _ = bench("--json", "times.json")
    assert code == 0
    assert "k.bench.cu" in out
    assert "not run: no GPU was found here" in out
    assert json.loads(Path("times.json").read_text()) == {"harness": "k.bench.cu", "times": None}
    assert "twice<float><<<dim3(2, 1, 1), dim3(64, 1, 1), 0>>>" in Path("k.bench.cu").read_text()


@pytest.mark.cuda
@pytest.mark.slow
def test_a_source_with_a_program_and_helpers_of_its_own(bench, monkeypatch) -> None:
    """From another folder, under the source's own name; the program in the source is not the harness's."""
    monkeypatch.setattr(cli_bench, "find_devices", lambda: ())
    own = "#include <cstdlib>\n#define check(x) if (x) exit(1)\nenum { zeros, ones };\n"
    Path("k.cu").write_text(own + KERNEL + "int main(int argc, char** argv) { check(argc > 1); return 0; }\n")
    Path("out").mkdir()
    code, _, err = bench("-o", "out/k.cu")
    assert code == 0, err
    assert '#include "../k.cu"' in Path("out/k.cu").read_text()
    built = subprocess.run(["nvcc", "-arch=sm_80", "-o", "timed", "out/k.cu"], capture_output=True)
    assert built.returncode == 0, built.stderr


@pytest.mark.cuda
@pytest.mark.slow
def test_the_median_of_twenty_launches_between_events(bench, stand_in) -> None:
    code, out, err = bench(*stand_in, "--json", "times.json")
    assert code == 0, err
    assert "5.25 ms median, 0.5 ms least" in out
    assert "a stand-in: 3 warm, 20 timed of 23, block 64 (measured)" in out
    assert "warpglass analyze k.cu --time-ms 5.25" in out
    times = json.loads(Path("times.json").read_text())["times"]
    assert (times["median_ms"], times["least_ms"], times["repeats"]) == (5.25, 0.5, 20)


@pytest.mark.cuda
@pytest.mark.slow
def test_a_launch_that_fails_is_one_error(bench, stand_in, monkeypatch) -> None:
    monkeypatch.setenv("STUB_FAILS", "1")
    code, out, err = bench(*stand_in)
    assert code == 3
    assert "the harness failed: error: the stand-in was told to fail" in " ".join(err.split())
    assert "median" not in out
