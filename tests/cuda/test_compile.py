"""Real compilations: PTX and cubin that belong together, the same bytes anywhere, readable errors."""

import json
import shutil

import pytest

from warpglass import cuda, ptx
from warpglass.errors import CompileError, InputError, ToolchainError, UsageError
from warpglass.inputs import toolchain
from warpglass.inputs.toolchain import find_tool

pytestmark = pytest.mark.cuda

KERNEL = """\
#include <cassert>
#include "helper.h"
namespace {
__global__ void hidden(const float *x, float *y) {
    assert(x != y);
    y[threadIdx.x] = helper(x[threadIdx.x]) + __shfl_xor_sync(~0u, x[0], 1);
}
}
static __device__ int counter = 3;
template <int N> __global__ void tile(float *y) {
    __shared__ float s[N];
    s[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[N - 1 - threadIdx.x] + counter++;
}
void host(float *p) { hidden<<<1, 32>>>(p, p); tile<64><<<1, 64>>>(p); }
"""
HEADER = """\
#pragma once
#include <cassert>
__device__ inline float helper(float v) { assert(v > 0); return v * v; }
"""


@pytest.fixture(autouse=True)
def needs_nvcc():
    if find_tool("nvcc") is None:
        pytest.skip("nvcc is not here")


def project(folder, name="k.cu"):
    (folder / "inc").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "inc" / "helper.h").write_text(HEADER)
    (folder / "src" / name).write_text(KERNEL)
    return folder / "src" / name, folder / "inc"


def test_ptx_cubin_and_facts(tmp_path):
    source, include = project(tmp_path)
    result = cuda.compile(source, "sm_80", [include])
    assert result.cubin is not None
    assert result.cubin[:4] == b"\x7fELF"
    module = ptx.parse(result.ptx)
    names = {function.name for function in module.kernels}
    assert set(result.facts) >= names
    tile = result.facts["_Z4tileILi64EEvPf"]
    assert (tile.static_shared, tile.barriers, tile.spill_stores) == (256, 1, 0)
    assert 1 <= tile.registers <= 255
    assert not result.retried_host_blanked
    assert result.tools[0].name == "nvcc"
    assert result.tools[0].version


def test_lines_link_to_readable_files(tmp_path):
    source, include = project(tmp_path)
    result = cuda.compile(source, "sm_80", [include])
    module = ptx.parse(result.ptx)
    shown = set(module.files.values())
    assert {"k.cu", "inc/helper.h"} <= shown
    assert shown == set(result.files)
    assert result.files["k.cu"] == source.resolve()
    assert result.files["inc/helper.h"].read_text() == HEADER
    lines = {
        i.loc.line
        for f in module.kernels
        for i in f.instructions
        if i.loc and module.files[i.loc.file] == "k.cu"
    }
    assert {6, 14} <= lines


def test_two_folders_give_the_same_bytes(tmp_path):
    first, first_include = project(tmp_path / "a")
    second, second_include = project(tmp_path / "some" / "where" / "else with blanks")
    one = cuda.compile(first, "sm_86", [first_include])
    two = cuda.compile(second, "sm_86", [second_include])
    assert one.ptx == two.ptx
    assert one.cubin == two.cubin
    for text in (one.ptx.encode(), one.cubin):
        assert str(tmp_path).encode() not in text
        assert b"warpglass-" not in text


def test_suffixed_architecture(tmp_path):
    source, include = project(tmp_path)
    assert ".target sm_90a" in cuda.compile(source, "sm_90a", [include]).ptx


def test_macros_and_standard(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(int *p) { if constexpr (N > 3) *p = N; else *p = __cplusplus; }")
    assert "2002" not in cuda.compile(source, defines=["N=9"]).ptx
    assert "202002" in cuda.compile(source, defines=["N=1"], std="c++20").ptx


def test_a_header_beside_the_source_is_found(tmp_path):
    (tmp_path / "k.cuh").write_text("__device__ inline int two() { return clock(); }")
    source = tmp_path / "k.cu"
    source.write_text('#include "k.cuh"\n__global__ void k(int *p) { *p = two(); }')
    assert "k.cuh" in cuda.compile(source).files


def test_compile_commands(tmp_path):
    source, _include = project(tmp_path)
    database = tmp_path / "compile_commands.json"
    entry = {
        "directory": str(tmp_path),
        "file": "src/k.cu",
        "command": "nvcc -Iinc -DX -include pre.h -c src/k.cu",
    }
    (tmp_path / "pre.h").write_text("__device__ inline float before(float v) { return v + clock(); }\n")
    source.write_text(KERNEL.replace("helper(x", "before(x"))
    database.write_text(json.dumps([entry]))
    result = cuda.compile(source, compile_commands=database)
    assert result.cubin is not None
    assert any(name.endswith("/pre.h") for name in result.files)
    assert str(tmp_path) not in result.ptx


def test_errors_are_the_compilers_own_lines(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(int *p) {\n    *p = nothing;\n}\nint main() { missing(); }\n")
    with pytest.raises(CompileError, match=r"k\.cu does not compile for sm_80") as caught:
        cuda.compile(source)
    assert 'k.cu(2): error: identifier "nothing" is undefined' in caught.value.output
    assert "/tmp" not in str(caught.value)


def test_flags_that_the_compiler_asks_for_are_given_to_it(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(
        "template <typename F> __global__ void k(int *p, F f) { *p = f(*p); }\n"
        "constexpr int twice(int x) { return 2 * x; }\n"
        "__global__ void plain(int *p) { *p = twice(*p); }\n"
        "void host(int *p) { k<<<1, 1>>>(p, [] __device__(int x) { return x + 1; }); }\n"
    )
    result = cuda.compile(source)
    assert len(ptx.parse(result.ptx).kernels) == 2
    assert not result.retried_host_blanked
    flags = result.tools[0].flags
    assert {"--extended-lambda", "--expt-relaxed-constexpr"} <= set(flags)
    assert all("as nvcc asks for" in note for note in result.notes)
    given = cuda.compile(source, extra_flags=["--extended-lambda", "-expt-relaxed-constexpr"])
    assert given.notes == ()
    assert given.ptx == result.ptx


def test_a_broken_host_does_not_hide_the_kernels(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(
        '#include "framework.h"\n'
        "template <typename T> __global__ void k(T *p) { *p = 3; }\n"
        "__global__ void plain(int *p) { *p = threadIdx.x; }\n"
        "static int check(int code) {\n    return framework_check(code);\n}\n"
        "int main() {\n    Tensor t;\n    k<int><<<1, 2>>>(t.data());\n    return 0;\n}\n"
    )
    result = cuda.compile(source)
    assert result.retried_host_blanked
    assert any("framework.h" in note for note in result.notes)
    assert any("main" in note for note in result.notes)
    module = ptx.parse(result.ptx)
    assert {function.name for function in module.kernels} == {"_Z1kIiEvPT_", "_Z5plainPi"}
    lines = {i.loc.line for f in module.kernels for i in f.instructions if i.loc}
    assert lines <= {2, 3}


def test_an_extension_of_a_framework_that_is_not_here(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\nusing torch::Tensor;\n"
        "template <typename T> __global__ void k(T *p) { *p = 3; }\n"
        "Tensor forward(Tensor x) {\n  k<float><<<1, 32>>>(x.data_ptr<float>());\n  return x;\n}\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }\n'
    )
    result = cuda.compile(source)
    assert [function.name for function in ptx.parse(result.ptx).kernels] == ["_Z1kIfEvPT_"]
    assert sum("not found" in note for note in result.notes) == 2
    assert any("PYBIND11_MODULE (line 9)" in note for note in result.notes)
    assert not result.warnings


def test_a_missing_header_of_device_code_is_told(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text('#include "math_helpers.h"\n__global__ void k(float *p) { *p = magic(*p); }\n')
    with pytest.raises(CompileError) as caught:
        cuda.compile(source)
    assert "math_helpers.h: No such file" in caught.value.output
    assert "-I" in (caught.value.hint or "")


def test_unknown_architecture_of_this_compiler(tmp_path):
    source, include = project(tmp_path)
    with pytest.raises(CompileError, match="sm_20") as caught:
        cuda.compile(source, "sm_20", [include])
    assert "list-gpu-arch" in (caught.value.hint or "")


@pytest.mark.parametrize("arch", ["", "sm_", "sm_80; rm -rf /", "x86", "-o x"])
def test_bad_architectures(tmp_path, arch):
    with pytest.raises(UsageError):
        cuda.compile(tmp_path / "k.cu", arch)


def test_names_that_a_shell_or_nvcc_would_misread(tmp_path):
    for name in ("-o.cu", "a b$(x).cu", "ü.cu", "k.txt"):
        source = tmp_path / name
        source.write_text("__global__ void k(int *p) { *p = 1; }")
        assert cuda.compile(source).cubin is not None


def test_missing_source_and_missing_compiler(tmp_path, monkeypatch):
    with pytest.raises(InputError):
        cuda.compile(tmp_path / "none.cu")
    source, include = project(tmp_path)
    monkeypatch.setattr(toolchain, "find_tool", lambda name: None)
    with pytest.raises(ToolchainError) as caught:
        cuda.compile(source, include_dirs=[include])
    assert caught.value.exit_code == 3


def test_a_register_limit_leaves_spills(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(float *p) { float a[64];\n"
        "#pragma unroll\nfor (int i = 0; i < 64; i++) a[i] = p[i * 7];\n"
        "__syncthreads();\n#pragma unroll\nfor (int i = 0; i < 64; i++) p[i * 3] = a[63 - i] * a[i]; }"
    )
    facts = cuda.compile(source, extra_flags=["-maxrregcount=24"]).facts["_Z1kPf"]
    assert facts.registers <= 24
    assert facts.spill_stores > 0


def test_assemble(tmp_path):
    source, include = project(tmp_path)
    text = cuda.compile(source, "sm_80", [include]).ptx
    result = cuda.assemble(text, "sm_86")
    assert result.cubin == cuda.assemble(text, "sm_86").cubin
    assert result.facts["_Z4tileILi64EEvPf"].static_shared == 256
    with pytest.raises(CompileError, match="ptxas does not assemble") as caught:
        cuda.assemble(text.replace("ret;", "return;"), "sm_86")
    assert "line" in caught.value.output


def test_scratch_folders_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    source, include = project(tmp_path / "p")
    cuda.compile(source, include_dirs=[include])
    assert list((tmp_path / "scratch").iterdir()) == []
    shutil.rmtree(tmp_path / "scratch")
