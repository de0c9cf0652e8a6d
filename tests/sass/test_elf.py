"""What a cubin says about itself, against ptxas's own words and against damaged files."""

from __future__ import annotations

import contextlib
import json
import re
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpglass.api import make_report
from warpglass.errors import FormatError, WarpglassError
from warpglass.inputs.process import run_tool
from warpglass.inputs.toolchain import require_tool
from warpglass.options import ReportOptions
from warpglass.sass.attributes import NAMES, parameters, read_attributes
from warpglass.sass.elf import read_image
from warpglass.sass.line_table import read_line_table
from warpglass.sass.model import Param

from .conftest import Build

pytestmark = pytest.mark.cuda
HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_90a", "sm_120"])
def test_resources_equal_ptxas(arch: str, build: Build, tmp_path: Path) -> None:
    nvcc = require_tool("nvcc").path
    for kernel in ("tiled", "locals"):
        image = read_image(build(kernel, arch).read_bytes())
        args = [nvcc, f"-arch={arch}", "-lineinfo", "-Xptxas", "-v", "-cubin", "-o", tmp_path / "x",
                f"{kernel}.cu"]  # fmt: skip
        said = run_tool(args, cwd=HERE / "kernels", timeout=120).error_text
        function = image.functions[kernel]
        assert image.arch == arch
        registers = re.search(r"Used (\d+) registers", said)
        assert registers is not None
        assert function.registers == int(registers[1])
        shared = re.search(r"(\d+) bytes smem", said)
        assert function.shared == (int(shared[1]) if shared else 0)
        stack = re.search(r"(\d+) bytes stack frame", said)
        assert stack is not None
        assert function.local == int(stack[1])
        barriers = re.search(r"used (\d+) barriers", said)
        assert function.barriers == (int(barriers[1]) if barriers else 0)


@pytest.mark.parametrize(
    ("arch", "base"), [("sm_75", 0x160), ("sm_89", 0x160), ("sm_90", 0x210), ("sm_120", 0x380)]
)
def test_parameters(arch: str, base: int, build: Build) -> None:
    function = read_image(build("fill", arch).read_bytes()).functions["fill_char8"]
    assert function.param_base == base
    assert function.param_bytes == 16
    assert [(p.ordinal, p.offset, p.size) for p in function.params] == [(0, 0, 8), (1, 8, 1), (2, 12, 4)]
    assert function.constants[0] == base + 16


def test_notes_and_ptx(build: Build) -> None:
    image = read_image(build("inline3", "sm_90a").read_bytes())
    assert image.tool is not None
    assert image.tool.name == "ptxas"
    assert "V13" in image.tool.version
    assert "-lineinfo" in image.tool.flags
    assert image.toolkit is not None
    assert image.toolkit[0] == 13
    assert image.ptx is not None
    assert re.search(r"^\.target sm_90a", image.ptx, re.M)
    assert not image.missing


def test_suffix_is_kept(build: Build) -> None:
    assert read_image(build("saxpy", "sm_90").read_bytes()).arch == "sm_90"
    assert read_image(build("saxpy", "sm_90a").read_bytes()).arch == "sm_90a"


def test_exit_offsets_and_subroutines(build: Build) -> None:
    function = read_image(build("calls", "sm_80").read_bytes()).functions["calls"]
    assert function.exit_offsets
    assert "$calls$_Z4facti" in function.subroutines.values()
    assert all(attribute.name.startswith("EIATTR_") for attribute in function.attributes if
               attribute.code in NAMES)  # fmt: skip


def test_constants_and_symbols(build: Build) -> None:
    image = read_image(build("locals", "sm_80").read_bytes())
    table = next(symbol for symbol in image.symbols if symbol.name == "table")
    assert (table.section, table.size) == (".nv.constant3", 256)
    assert len(image.sections[".nv.constant3"]) == 256
    assert any(item.symbol == "vprintf" for item in image.relocations)


def test_attribute_formats() -> None:
    data = bytes.fromhex("011e0000024c0500031bff0004370400 8200000004170c00 00000000 01000800 00f01100")
    found = read_attributes(data)
    assert [(a.name, a.value) for a in found[:4]] == [
        ("EIATTR_CRS_STACK_SIZE", 0), ("EIATTR_NUM_BARRIERS", 5), ("EIATTR_MAXREG_COUNT", 255),
        ("EIATTR_CUDA_API_VERSION", (130,)),
    ]  # fmt: skip
    assert parameters(found) == (Param(1, 8, 4, 0, 0),)
    assert read_attributes(data[:-3]) == found[:4]
    assert read_attributes(b"\x09\x01\x00\x00" + data) == ()


def test_large_parameters_use_the_second_form() -> None:
    data = bytes.fromhex("04450c00 00000000 0100c05d 08000000 04450c00 00000000 00000000 c05d0000")
    assert parameters(read_attributes(data)) == (Param(0, 0, 24000), Param(1, 24000, 8))


def test_truncated(build: Build) -> None:
    data = build("saxpy", "sm_80").read_bytes()
    for size in (0, 3, 40, 64, 200, len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError):
            read_image(data[:size])


def test_hostile_headers(build: Build) -> None:
    data = bytearray(build("saxpy", "sm_80").read_bytes())
    start = struct.unpack_from("<Q", data, 40)[0]
    count = struct.unpack_from("<H", data, 60)[0]
    for index in range(count):
        for place in (24, 32):
            damaged = bytearray(data)
            struct.pack_into("<Q", damaged, start + 64 * index + place, 1 << 60)
            if struct.unpack_from("<I", data, start + 64 * index + 4)[0] not in (0, 8):
                with pytest.raises(FormatError):
                    read_image(bytes(damaged))
    damaged = bytearray(data)
    struct.pack_into("<H", damaged, 60, 0xFFFF)
    with pytest.raises(FormatError):
        read_image(bytes(damaged))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_damage_never_leaks_another_error(build: Build, data: st.DataObject) -> None:
    content = bytearray(build("saxpy", "sm_80").read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(WarpglassError):
        read_image(bytes(content))


def test_resources_that_no_gpu_has_end_in_a_report(build: Build, tmp_path: Path) -> None:
    """Counts in the tables are only believed as far as they can be: the report says "not launchable"."""
    content = bytearray(build("saxpy", "sm_80").read_bytes())
    start = 0
    patched = 0
    # REGCOUNT: format 4, code 0x2f, eight bytes: the symbol and the count.
    while (start := content.find(b"\x04\x2f\x08\x00", start)) >= 0:
        struct.pack_into("<I", content, start + 8, 0x7FFFFFFF)
        start, patched = start + 12, patched + 1
    assert patched
    path = tmp_path / "k.cubin"
    path.write_bytes(content)
    report = make_report([path], ReportOptions(max_warp_instructions=2_000))
    assert "not launchable" in json.dumps(report.data["sections"])


@given(st.binary(max_size=200))
def test_line_tables_of_any_bytes(content: bytes) -> None:
    read_line_table(content, {})
    header = struct.pack("<IHI", 6 + len(content), 2, 0)
    read_line_table(header + content, {})
