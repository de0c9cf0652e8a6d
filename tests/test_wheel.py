"""The wheel, installed into an empty environment, works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow

VECTOR_ADD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 .ptr .global a, .param .u64 .ptr .global b, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra done;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f2, %f1, 0f3F800000;
    st.global.f32 [%rd5], %f2;
done:
    ret;
}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the build backend that this environment has."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel and its dependencies; returns its bin folder."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, timeout=300)
    python = folder / "venv" / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(command, check=True, timeout=900)
    return python.parent


def call(environment: Path, folder: Path, *arguments: str) -> str:
    """Run the installed command with nothing of the checkout in sight."""
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(environment / "warpglass"), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "warpglass/__init__.py" in names
    for folder in ("templates", "static_js", "examples"):
        assert any(name.startswith(f"warpglass/{folder}/") for name in names), folder
    assert "warpglass/examples/transpose/kernel.cu" in names
    assert not [name for name in names if name.startswith(("tests/", "docs/")) or "__pycache__" in name]
    metadata = next(name for name in names if name.endswith("METADATA"))
    assert b"License-Expression: Apache-2.0" in zipfile.ZipFile(wheel).read(metadata)


def test_examples_are_listed_and_copied(environment: Path, tmp_path: Path) -> None:
    listed = call(environment, tmp_path, "examples")
    for folder in sorted(path.parent.name for path in (ROOT / "examples").glob("*/kernel.cu")):
        assert folder in listed
    call(environment, tmp_path, "examples", "transpose")
    assert list(tmp_path.rglob("warpglass.toml"))


def test_report_of_ptx(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "add.ptx").write_text(VECTOR_ADD, encoding="utf-8")
    call(environment, tmp_path, "report", "add.ptx", "-o", "add.html", "--json", "add.json")
    page = (tmp_path / "add.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "wg-data" in page
    assert (tmp_path / "add.json").stat().st_size > 1000


def test_doctor(environment: Path, tmp_path: Path) -> None:
    assert "nvcc" in call(environment, tmp_path, "doctor")
