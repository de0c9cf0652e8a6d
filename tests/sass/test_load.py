"""Files of every kind, and messages where there is nothing to show."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from warpglass.errors import InputError, ToolchainError, WarpglassError
from warpglass.inputs.process import run_tool
from warpglass.inputs.toolchain import require_tool
from warpglass.sass import load

from .conftest import Build, listing

HERE = Path(__file__).parent


def test_listing_as_bytes_and_file(tmp_path: Path) -> None:
    text = listing("saxpy.sm_80.cuobjdump.sass")
    path = tmp_path / "saxpy.sass"
    path.write_text(text)
    assert load(text.encode()).kernels[0].name == "saxpy"
    assert load(path).name == "saxpy.sass"
    assert load(path, kernel="sax*").kernels[0].name == "saxpy"
    with pytest.raises(InputError, match="saxpy"):
        load(path, kernel="daxpy")


@pytest.mark.cuda
def test_cubin(build: Build) -> None:
    module = load(build("tiled", "sm_90a"))
    kernel = module.kernels[0]
    assert (module.kind, module.arch, kernel.name) == ("cubin", "sm_90a", "tiled")
    assert kernel.shared == 2112
    assert all(instruction.control is not None for instruction in kernel.instructions)
    assert module.ptx is not None
    with pytest.raises(InputError, match="sm_90a"):
        load(build("tiled", "sm_90a"), arch="sm_90")


@pytest.mark.cuda
@pytest.mark.slow
def test_containers(tmp_path: Path) -> None:
    nvcc = require_tool("nvcc").path
    source = HERE / "kernels" / "saxpy.cu"
    codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ("80", "90a")]
    codes.append("-gencode=arch=compute_120,code=compute_120")
    for name, flags, kind in (("x.fatbin", ["-fatbin"], "fatbin"), ("x.o", ["-c"], "object")):
        result = run_tool([nvcc, *codes, *flags, "-o", tmp_path / name, source], timeout=120)
        assert result.returncode == 0, result.error_text
        module = load(tmp_path / name)
        assert (module.kind, module.arch) == (kind, "sm_90a")
        assert {(m.kind, m.arch) for m in module.members} == {
            ("cubin", "sm_80"), ("cubin", "sm_90a"), ("ptx", "sm_120")
        }  # fmt: skip
        assert load(tmp_path / name, arch="sm_80").arch == "sm_80"
        with pytest.raises(InputError, match="sm_75"):
            load(tmp_path / name, arch="sm_75")


@pytest.mark.cuda
def test_triton_folder(build: Build, tmp_path: Path) -> None:
    shutil.copy(build("saxpy", "sm_80"), tmp_path / "saxpy.cubin")
    metadata = tmp_path / "saxpy.json"
    content = {"name": "saxpy", "num_warps": 4, "shared": 512, "cluster_dims": [1, 1, 1],
               "target": {"backend": "cuda", "arch": 80, "warp_size": 32}}  # fmt: skip
    metadata.write_text(json.dumps(content))
    module = load(tmp_path)
    assert module.kind == "triton"
    assert module.preset is not None
    assert (module.preset.block, module.preset.shared_bytes) == ((128, 1, 1), 512)
    metadata.write_text("{broken")
    damaged = load(tmp_path)
    assert damaged.preset is None
    assert any("JSON" in diagnostic.message for diagnostic in damaged.diagnostics)
    metadata.write_text(json.dumps({"num_warps": 10**9, "shared": -1, "cluster_dims": "x"}))
    odd = load(tmp_path)
    assert odd.preset is not None
    assert (odd.preset.block, odd.preset.shared_bytes, odd.preset.cluster) == (None, None, None)
    metadata.unlink()
    assert any("saxpy.json" in text for text in load(tmp_path).missing)
    shutil.copy(tmp_path / "saxpy.cubin", tmp_path / "other.cubin")
    with pytest.raises(InputError, match="several"):
        load(tmp_path)
    assert load(tmp_path, kernel="saxpy").kernels[0].name == "saxpy"


@pytest.mark.cuda
@pytest.mark.parametrize(("number", "words"), [(70, "12.9"), (200, "newer")])
def test_cubin_that_no_tool_reads(number: int, words: str, build: Build) -> None:
    data = bytearray(build("saxpy", "sm_80").read_bytes())
    data[49] = number
    with pytest.raises(ToolchainError) as caught:
        load(bytes(data))
    assert f"sm_{number}" in str(caught.value)
    assert words in str(caught.value)


def test_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for source in (
        tmp_path / "no",
        tmp_path / "empty",
        tmp_path / "empty" / "x",
        b"",
        b"\x7fELF",
        b"\0" * 400,
    ):
        with pytest.raises(WarpglassError):
            load(source)
    cuda = b"__global__ void k(float *p) { p[0] = 1; }\nint main() { k<<<1, 1>>>(0); }\n"
    with pytest.raises(InputError, match="cuda"):
        load(cuda)


@pytest.mark.cuda
def test_object_without_device_code(tmp_path: Path) -> None:
    nvcc = require_tool("nvcc").path
    (tmp_path / "host.cpp").write_text("int f() { return 1; }\n")
    run_tool([nvcc, "-c", "-o", tmp_path / "host.o", tmp_path / "host.cpp"], timeout=120)
    with pytest.raises(InputError, match="no SASS") as caught:
        load(tmp_path / "host.o")
    assert "warpglass-" not in str(caught.value)
