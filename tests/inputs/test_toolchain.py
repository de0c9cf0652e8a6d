"""The four programs are found on PATH, under CUDA_HOME and in the wheels, in this order."""

import sys

import pytest

from warpglass.errors import ToolchainError
from warpglass.inputs import toolchain
from warpglass.inputs.toolchain import Tool, find_tool, find_tools, require_tool, tool_version

EMPTY = {"PATH": "/nonexistent"}


def program(path, text="#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def no_wheels(monkeypatch):
    monkeypatch.setattr(sys, "path", [])


def test_path_wins_over_cuda_home(tmp_path, no_wheels):
    here, home = program(tmp_path / "bin" / "nvcc"), program(tmp_path / "cuda" / "bin" / "nvcc")
    env = {"PATH": str(here.parent), "CUDA_HOME": str(home.parents[1])}
    assert find_tool("nvcc", env) == Tool("nvcc", here, "PATH")
    assert find_tool("nvcc", {**env, "PATH": "/nonexistent"}) == Tool("nvcc", home, "CUDA_HOME")


def test_newest_wheel_is_found(tmp_path, monkeypatch):
    program(tmp_path / "nvidia" / "cuda_nvcc" / "bin" / "ptxas")
    program(tmp_path / "nvidia" / "cu9" / "bin" / "ptxas")
    new = program(tmp_path / "nvidia" / "cu13" / "bin" / "ptxas")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_tool("ptxas", EMPTY) == Tool("ptxas", new, "wheel")


def test_wheels_of_the_older_layout_are_found(tmp_path, monkeypatch):
    old = program(tmp_path / "nvidia" / "cuda_nvcc" / "bin" / "ptxas")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_tool("ptxas", EMPTY) == Tool("ptxas", old, "wheel")


def test_files_that_cannot_run_are_passed_over(tmp_path, no_wheels):
    program(tmp_path / "bin" / "nvcc").chmod(0o644)
    found = find_tool("nvcc", {**EMPTY, "CUDA_HOME": str(tmp_path)})
    assert found is None or found.origin == "/usr/local/cuda"


def test_a_missing_program_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(toolchain, "find_tool", lambda name: None)
    with pytest.raises(ToolchainError, match="nvcc was not found") as caught:
        require_tool("nvcc")
    assert caught.value.exit_code == 3
    assert "pip install" in (caught.value.hint or "")


def test_versions_are_read(tmp_path):
    assert tool_version(Tool("nvcc", program(tmp_path / "a"), "PATH")) == "12.4.131"
    release = program(tmp_path / "b", "#!/bin/sh\necho 'ptxas: release 13.0, x'\n")
    assert tool_version(Tool("ptxas", release, "PATH")) == "13.0"
    assert tool_version(Tool("x", program(tmp_path / "c", "#!/bin/sh\nexit 1\n"), "PATH")) is None
    assert tool_version(Tool("x", program(tmp_path / "d", "no program at all"), "PATH")) is None


def test_all_four_are_looked_for():
    assert set(find_tools()) == {"nvcc", "ptxas", "cuobjdump", "nvdisasm"}
