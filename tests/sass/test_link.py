"""SASS to source and PTX lines, on a kernel that inlines three deep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpglass.sass import link, load, parse
from warpglass.sass.link import is_library, own_frame
from warpglass.sass.model import Frame

from .conftest import Build

SOURCE = (Path(__file__).parent / "kernels" / "inline3.cu").read_text("utf-8").splitlines()


def test_own_frame() -> None:
    inner, outer = Frame("/usr/local/cuda/include/mma.hpp", 90), Frame("/home/me/kernel.cu", 12)
    assert own_frame((inner, outer)) == outer
    assert own_frame((outer, inner)) == outer
    assert own_frame((inner, inner)) == inner
    assert own_frame(()) is None
    assert is_library("cuda_fp16.hpp")
    assert not is_library("/home/me/mma_kernel.cu")


@pytest.mark.cuda
@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
def test_three_deep(arch: str, build: Build) -> None:
    module = load(build("inline3", arch))
    assert [(one.name, bool(one.version)) for one in module.readers] == [("nvdisasm", True)]
    function = module.functions[0]
    links = link(function)
    chains = {item.text.split()[0]: [f.line for f in found.frames]
              for item, found in zip(function.instructions, links, strict=True)}  # fmt: skip
    assert chains["FMUL"][-1] == 16
    deepest = max((found for found in links), key=lambda found: len(found.frames))
    assert [frame.line for frame in deepest.frames] == [3, 6, 10, 16]
    assert [frame.function for frame in deepest.frames[:3]] == [
        "_Z6squaref", "_Z5norm25Point", "_Z6weight5Pointf",
    ]  # fmt: skip
    assert deepest.own is not None
    assert "return v * v" in SOURCE[deepest.own.line - 1]
    store = next(i for i, item in enumerate(function.instructions) if item.base == "STG")
    assert SOURCE[links[store].frames[0].line - 1].strip() == "out[i] = w;"


@pytest.mark.cuda
@pytest.mark.slow
def test_equal_to_the_disassembler(build: Build, nvdisasm: Callable[..., str]) -> None:
    for kernel in ("inline3", "tiled", "halves", "mma"):
        path = build(kernel, "sm_90a")
        printed = parse(nvdisasm(path, "-c", "-gi")).functions[0]
        loaded = load(path).functions[0]
        links = link(loaded)
        compared = 0
        for pc, instruction in enumerate(printed.instructions):
            if links[pc].frames:
                expected = [(frame.file, frame.line) for frame in instruction.frames]
                assert [(frame.file, frame.line) for frame in links[pc].frames] == expected, instruction.text
                compared += 1
        assert compared > 20


@pytest.mark.cuda
def test_ptx_lines(build: Build, nvdisasm: Callable[..., str]) -> None:
    path = build("inline3", "sm_80")
    module = load(path)
    function = module.functions[0]
    assert module.ptx is not None
    lines = module.ptx.split("\n")
    by_opcode = {
        item.base: lines[found.ptx_lines[0] - 1].strip()
        for item, found in zip(function.instructions, link(function), strict=True)
        if found.ptx_lines
    }
    assert by_opcode["STG"].startswith("st.global")
    assert by_opcode["LDG"].startswith("ld.global")
    assert by_opcode["EXIT"].startswith("ret")
    assert by_opcode["MUFU"].startswith("rsqrt")
    printed = parse(nvdisasm(path, "-c", "-gp")).functions[0]
    assert printed.ptx_lines
    ours = {row.offset: row.frames[0].line for row in function.ptx_lines}
    assert all(ours[row.offset] == row.frames[0].line for row in printed.ptx_lines if row.offset in ours)


@pytest.mark.cuda
def test_library_code_leads_to_the_own_line(build: Build) -> None:
    function = load(build("mma", "sm_90a")).functions[0]
    found = [item for item in link(function) if item.frames and is_library(item.frames[0].file)]
    assert found
    assert {Path(item.own.file).name for item in found if item.own} == {"mma.cu"}


@pytest.mark.cuda
def test_padding_has_no_line(build: Build) -> None:
    function = load(build("inline3", "sm_80")).functions[0]
    assert function.instructions[-1].base == "NOP"
    assert link(function)[-1].frames == ()
