"""Who decides a launch, and what its arguments become."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass import cuda, ptx
from warpglass.errors import LaunchError, UsageError, WarpglassError
from warpglass.launchfile import (
    comment_specs,
    launch_settings,
    parse_launch_file,
    plan_launches,
    resolve_launch,
    select_kernels,
)
from warpglass.launchparams import describe_params, element_type
from warpglass.launchvalues import Place, read_argument
from warpglass.options import ReportOptions

CUDA = """\
// warpglass: kernel=second grid=7
__global__ void first(int n, float *x) {
    // warpglass: block=96 n=5
}
// warpglass: grid=3,2 shared=64 y=float[8]:ones
__global__ void scale(int n, const float *x, float *y) {}
__global__ void second(int n) {}
void host(float *p) { scale<<<9, 9, 9>>>(1, p, p); second<<<5, dim3(6, 2)>>>(3); }
"""


def kernel(name: str, params: int) -> str:
    listed = ", ".join(f".param .u{'32' if i == 0 else '64'} {name}_param_{i}" for i in range(params))
    return f".visible .entry {name}({listed}) {{ ret; }}\n"


PTX = ".version 8.0\n.target sm_80\n.address_size 64\n" + (
    kernel("_Z5firstiPf", 2) + kernel("_Z5scaleiPKfPf", 3) + kernel("_Z6secondi", 1)
)


def plan(options=None, **keywords):
    module = ptx.parse(PTX)
    return {
        p.function.name: p.launch
        for p in plan_launches(
            module.functions, options or ReportOptions(), cuda.parse(CUDA, "k.cu"), **keywords
        )
    }


def toml(tmp_path, text):
    path = tmp_path / "warpglass.toml"
    path.write_text(text)
    return path


def test_comments_literals_and_defaults():
    launches = plan()
    first, scale, second = (launches[n] for n in ("_Z5firstiPf", "_Z5scaleiPKfPf", "_Z6secondi"))
    assert (first.grid, first.block) == ((4, 1, 1), (96, 1, 1))
    assert first.origin["grid"] == "default"
    assert first.origin["block"] == "comment at k.cu:3"
    assert (scale.grid, scale.block, scale.shared_bytes) == ((3, 2, 1), (9, 1, 1), 64)
    assert scale.origin["block"] == "<<<…>>> at k.cu:8"
    assert (second.grid, second.block) == ((7, 1, 1), (6, 2, 1))


def test_argument_defaults_and_origins():
    launches = plan()
    n, x, y = launches["_Z5scaleiPKfPf"].args.values()
    assert (n.name, n.kind, n.value, n.origin) == ("n", "scalar", 1, "<<<…>>> at k.cu:8")
    assert (x.name, x.kind, x.dtype, x.count, x.fill) == ("x", "buffer", "float32", None, "default")
    assert (y.count, y.fill, y.origin) == (8, "ones", "comment at k.cu:5")
    assert launches["_Z5firstiPf"].args["_Z5firstiPf_param_0"].value == 5


@pytest.mark.parametrize(
    ("passed", "value"), [("7.9f", 7), ("-1", 2**32 - 1), ("1ull << 33", 0), ("0x10", 16), ("unknown", 12)]
)
def test_numbers_of_a_literal_launch_are_converted(passed, value):
    source = cuda.parse(
        f"__global__ void k(unsigned n, float *p) {{}}\nvoid f() {{ k<<<3, 4>>>({passed}, 0); }}", "k.cu"
    )
    text = PTX[: PTX.index(".visible")] + kernel("_Z1kjPf", 2)
    (launch,) = (p.launch for p in plan_launches(ptx.parse(text).functions, ReportOptions(), source))
    n, p = launch.args.values()
    assert (n.value, n.origin) == (value, "default" if passed == "unknown" else "<<<…>>> at k.cu:2")
    assert (p.kind, p.value, p.origin) == ("buffer", None, "default")


def test_the_command_line_wins_then_the_file(tmp_path):
    path = toml(
        tmp_path,
        '[[launch]]\nkernel = "scale"\ngrid = [5, 5]\nblock = 32\nargs = { n = 9, x = "float[4]" }\n',
    )
    options = ReportOptions(kernel="scale", grid=(1, 1, 1), args=("n=4",), launch_file=path)
    (launch,) = plan(options).values()
    assert (launch.grid, launch.block, launch.shared_bytes) == ((1, 1, 1), (32, 1, 1), 64)
    assert launch.origin == {
        "grid": "command line",
        "block": "warpglass.toml",
        "cluster": "default",
        "shared_bytes": "comment at k.cu:5",
    }
    n, x, _ = launch.args.values()
    assert (n.value, n.origin, x.count, x.origin) == (4, "command line", 4, "warpglass.toml")


def test_several_launches_and_only_those(tmp_path):
    path = toml(
        tmp_path,
        '[[launch]]\nkernel = "s*"\nlabel = "a"\n'
        '[[launch]]\nkernel = "scale"\nlabel = "b"\narch = "sm_90"\ngpu = "T4"\n'
        '[[launch]]\nkernel = "elsewhere"\n',
    )
    module = ptx.parse(PTX)
    planned = plan_launches(module.functions, ReportOptions(launch_file=path), cuda.parse(CUDA, "k.cu"))
    assert [(p.function.name, p.launch.label, p.arch, p.gpu) for p in planned] == [
        ("_Z5scaleiPKfPf", "a", None, None),
        ("_Z6secondi", "a", None, None),
        ("_Z5scaleiPKfPf", "b", "sm_90", "T4"),
    ]


def test_directives_of_the_ptx(plain_text):
    plain, fixed = plan_launches(ptx.parse(plain_text).functions, ReportOptions())
    assert plain.launch.block == (96, 1, 1)
    assert plain.launch.origin["block"] == ".maxntid"
    assert (fixed.launch.block, fixed.launch.cluster) == ((32, 2, 1), (2, 1, 1))
    assert fixed.launch.grid[0] % 2 == 0
    assert fixed.launch.origin["block"] == ".reqntid"


def test_pointers_are_told_from_numbers_by_their_use(plain_text):
    infos = describe_params(ptx.parse(plain_text).kernels[0])
    assert [(i.kind, i.dtype) for i in infos] == [
        ("buffer", "uint32"),
        ("buffer", "uint16"),
        ("scalar", "u64"),
        ("struct", "bytes"),
        ("scalar", "f64"),
        ("scalar", "u8"),
    ]


def test_default_scalars(plain_text):
    (planned,) = plan_launches(
        ptx.parse(plain_text).functions, ReportOptions(kernel="plain", grid=(50, 2, 1))
    )
    args = planned.launch.args
    assert args["count"].value == 50 * 96
    assert args["s"].value == bytes(24)
    assert args["d"].value == 1.0
    assert args["flag"].value == 255  # what fits of gridDim.x * blockDim.x


def test_mangled_types_need_no_source(scale_text):
    infos = describe_params(ptx.parse(scale_text).kernels[0])
    assert [(i.c_type, i.kind, i.dtype) for i in infos] == [
        ("int", "scalar", "u32"),
        ("float const*", "buffer", "float32"),
        ("float*", "buffer", "float32"),
    ]


def test_comments_in_ptx_and_positions(scale_text):
    options = ReportOptions(kernel="scale", args=("1=float[100]:iota", "_Z5scaleiPKfPf_param_2=f32[4*25]"))
    (planned,) = plan_launches(ptx.parse(scale_text).functions, options, text=scale_text, name="scale.ptx")
    assert (planned.launch.grid, planned.launch.block) == ((2, 1, 1), (64, 1, 1))
    first, second, third = planned.launch.args.values()
    assert (second.count, second.fill, third.count, third.dtype) == (100, "iota", 100, "float32")
    assert first.value == 128
    assert planned.notes == ("scale has no parameter 'n' (comment at scale.ptx:4)",)


@pytest.mark.parametrize(
    "wanted",
    [
        "scale",
        "_Z5scaleiPKfPf",
        "scale(int, float const*, float*)",
        "scale(int,float const*,float*)",
        "sca*",
        "sc.*e",
        "cal",
    ],
)
def test_kernels_by_any_name(wanted):
    assert [k.name for k in select_kernels(ptx.parse(PTX).functions, wanted)] == ["_Z5scaleiPKfPf"]


@pytest.mark.parametrize("wanted", ["nothing", "(", "[", "*x"])
def test_names_that_fit_nothing(wanted):
    with pytest.raises(LaunchError):
        select_kernels(ptx.parse(PTX).functions, wanted)


def test_a_pattern_of_a_file_is_no_regular_expression():
    with pytest.raises(LaunchError):
        select_kernels(ptx.parse(PTX).functions, "(s+)+cale", expressions=False)


@pytest.mark.parametrize(
    "options", [ReportOptions(grid=(1, 1, 1)), ReportOptions(args=("n=1",)), ReportOptions(shared_bytes=4)]
)
def test_several_kernels_need_a_choice(options):
    with pytest.raises(LaunchError, match="need --kernel"):
        plan(options)


@pytest.mark.parametrize(
    "text",
    [
        "n",
        "n=",
        "=3",
        "q=3",
        "3=1",
        "n=float[4]",
        "n=x",
        "x=3",
        "x=float[0]",
        "x=float[99999999999]",
        "x=thing[3]",
        "x=float[4]:none.npy",
        "x=float[4]:sixes",
        "n=1.5",
        "n=99999999999",
        "n=1e400",
        "n=nan",
        "x=hex:00",
        "n=hex:00",
        "x=@y",
        "x=@q",
        "x=float[-1]",
        "x=float[9999999999999999999999999*9]",
    ],
)
def test_arguments_that_do_not_fit(text):
    with pytest.raises(LaunchError):
        plan(ReportOptions(kernel="scale", args=(text,)))


def test_the_same_argument_twice():
    with pytest.raises(LaunchError, match="twice"):
        plan(ReportOptions(kernel="scale", args=("n=1", "0=2")))


def infos_of(text):
    return {info.ptx_name: info for info in describe_params(ptx.parse(text).kernels[0])}


def test_values_of_scalars(plain_text):
    infos = infos_of(plain_text)
    place = Place("test", Path("."))

    def value(name, text):
        return read_argument(infos[name], text, place).value

    assert value("count", "0x10") == 16
    assert value("count", "-1") == -1
    assert value("count", "1_000") == 1000
    assert value("d", "2.5f") == 2.5
    assert value("d", "-inf") == float("-inf")
    assert value("d", "7") == 7.0
    assert value("flag", "true") == 1
    assert value("s", "hex:" + "ab" * 24) == b"\xab" * 24


@pytest.mark.parametrize(
    ("text", "numpy", "lanes"),
    [
        ("float", "float32", 1),
        ("f32", "float32", 1),
        ("unsigned int", "uint32", 1),
        ("u64", "uint64", 1),
        ("const float4*", "float32", 4),
        ("size_t", "uint64", 1),
        ("int8_t", "int8", 1),
        (".b16", "uint16", 1),
        ("__half2", "float16", 2),
        ("bf16", "bfloat16", 1),
        ("std::uint32_t", "uint32", 1),
        ("char", "int8", 1),
        ("float32", "float32", 1),
    ],
)
def test_types_of_c_and_ptx(text, numpy, lanes):
    assert element_type(text) == (numpy, lanes)


def test_vector_elements_and_bfloat16():
    options = ReportOptions(kernel="scale", args=("x=float4[8]:iota", "y=bf16[3]:iota"))
    _, x, y = plan(options)["_Z5scaleiPKfPf"].args.values()
    assert (x.dtype, x.count) == ("float32", 32)
    assert (y.dtype, y.count) == ("uint16", 3)
    assert y.value.tolist() == [0x0000, 0x3F80, 0x4000]


def test_arrays_from_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(6, dtype=">f4").reshape(2, 3))
    options = ReportOptions(kernel="scale", args=("x=x.npy", "y=@x"))
    _, x, y = plan(options)["_Z5scaleiPKfPf"].args.values()
    assert (x.dtype, x.count) == ("float32", 6)
    assert x.value.tolist() == [0, 1, 2, 3, 4, 5]
    assert y.value is x.value
    with pytest.raises(LaunchError, match="holds float32"):
        plan(ReportOptions(kernel="scale", args=("x=int[6]:x.npy",)))
    with pytest.raises(LaunchError, match="holds 6 elements"):
        plan(ReportOptions(kernel="scale", args=("x=float[7]:x.npy",)))


def test_files_that_are_no_arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.npy").write_bytes(b"\x93NUMPY\x01\0\x08\0{broken}")
    Path("empty.npy").write_bytes(b"")
    np.save("object.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("text.npy", np.array(["a"]))
    Path("folder.npy").mkdir()
    for name in ("bad", "empty", "object", "text", "folder", "missing"):
        with pytest.raises(LaunchError):
            plan(ReportOptions(kernel="scale", args=(f"x={name}.npy",)))


@pytest.mark.parametrize("name", ["../secret.npy", "/etc/secret.npy", "link.npy", "a/../../secret.npy"])
def test_a_launch_inside_an_input_stays_in_its_folder(tmp_path, name):
    inside = tmp_path / "in"
    inside.mkdir()
    np.save(tmp_path / "secret.npy", np.arange(4, dtype=np.float32))
    (inside / "link.npy").symlink_to(tmp_path / "secret.npy")
    path = toml(inside, f'[[launch]]\nkernel = "scale"\nargs = {{ x = "{name}" }}\n')
    with pytest.raises(LaunchError, match="outside the folder"):
        plan(ReportOptions(launch_file=path))
    module = ptx.parse(PTX)
    with pytest.raises(LaunchError, match="outside the folder"):
        plan_launches(
            module.functions,
            ReportOptions(kernel="scale"),
            cuda.parse(CUDA),
            text=f"// warpglass: kernel=scale x={name}\n",
            name="k.cu",
            folder=inside,
        )


def test_lists_in_the_launch_file(tmp_path):
    path = toml(tmp_path, '[[launch]]\nkernel = "scale"\nargs = { x = [1, 2.5], "2" = [3] }\n')
    _, x, y = plan(ReportOptions(launch_file=path))["_Z5scaleiPKfPf"].args.values()
    assert x.value.tolist() == [1.0, 2.5]
    assert y.value.dtype == np.float32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "launch = 3",
        "[[launch]]\ngrid = 0",
        "[[launch]]\ngrid = [1, 2, 3, 4]",
        "[[launch]]\ngrid = 1.5",
        "[[launch]]\nblock = 2000",
        "[[launch]]\nblock = [32, 64]",
        "[[launch]]\nwheels = 4",
        "x = 1\n[[launch]]",
        "[[launch]]\nargs = 3",
        "[[launch]]\nkernel = 3",
        "[[launch]]\nshared_bytes = -1",
        "[[launch]]\ngrid = true",
        "[[launch]]\ncluster = 17",
        "[[launch]]\ncooperative = 3",
        "not toml",
        "a = " + "[" * 9000,
        "[launch]\ngrid = 1",
    ],
)
def test_bad_launch_files(text):
    with pytest.raises(LaunchError):
        parse_launch_file(text)


def test_many_launches_are_refused():
    with pytest.raises(LaunchError, match="more than 1000"):
        parse_launch_file("[[launch]]\n" * 1001)


def test_a_missing_launch_file():
    with pytest.raises(LaunchError, match="there is no file"):
        plan(ReportOptions(launch_file=Path("/nonexistent/warpglass.toml")))


def test_a_file_that_names_no_kernel_of_the_input(tmp_path):
    with pytest.raises(LaunchError, match="names none"):
        plan(ReportOptions(launch_file=toml(tmp_path, '[[launch]]\nkernel = "other"\n')))


def test_unknown_arguments_of_a_file_are_errors(tmp_path):
    path = toml(tmp_path, '[[launch]]\nkernel = "scale"\nargs = { m = 1 }\n')
    with pytest.raises(LaunchError, match="no parameter 'm'") as caught:
        plan(ReportOptions(launch_file=path))
    assert "n, x, y" in (caught.value.hint or "")


def test_grid_and_cluster_must_fit():
    with pytest.raises(UsageError, match="clusters"):
        plan(ReportOptions(kernel="scale", grid=(3, 1, 1), cluster=(2, 1, 1)))


def test_arch_and_gpu_in_comments():
    assert launch_settings('// warpglass: arch=sm_90 gpu="H100 PCIe 80GB"\n// warpglass: arch=sm_80\n') == (
        "sm_90",
        "H100 PCIe 80GB",
    )
    assert launch_settings("int x;") == (None, None)


def test_instantiations_of_a_template_keep_their_launch():
    text = (
        "template <int N> __global__ void t(int *p) {}\nvoid f() { t<1><<<2, 3>>>(0); t<2><<<4, 5>>>(0); }\n"
    )
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    module = ptx.parse(head + kernel("_Z1tILi2EEvPi", 1) + kernel("_Z1tILi1EEvPi", 1))
    two, one = (plan.launch for plan in plan_launches(module.functions, ReportOptions(), cuda.parse(text)))
    assert (two.grid[0], two.block[0], one.grid[0], one.block[0]) == (4, 5, 2, 3)


@given(st.text(max_size=60))
def test_any_argument_text(text):
    module = ptx.parse(PTX)
    with contextlib.suppress(WarpglassError):
        resolve_launch(
            module.kernels[1],
            None,
            [
                spec
                for _, spec in comment_specs(f"// warpglass: 1={text} 0={text}", "k", Path("/nonexistent"))
            ],
        )


@given(st.text(max_size=80))
def test_any_launch_file(text):
    for body in (text, "[[launch]]\n" + text):
        with contextlib.suppress(LaunchError):
            parse_launch_file(body)


ALLOCATED = (
    "__global__ void k(float *x, int n) {}\n"
    "int main() { float *x; cudaMalloc(&x, 4000); k<<<4, 256>>>(x, 1000); }\n"
)


@pytest.mark.parametrize(
    ("host", "options", "count", "origin"),
    [
        (ALLOCATED, {}, 1000, "cudaMalloc at k.cu:2"),
        (ALLOCATED, {"args": ("x=float[8]",)}, 8, "command line"),
        # The sizes belong to the launch as it is written.
        (ALLOCATED, {"args": ("n=5000",)}, None, "default"),
        (ALLOCATED, {"grid": (8, 1, 1)}, None, "default"),
        (ALLOCATED.replace("1000)", "rand())"), {}, None, "default"),
        (ALLOCATED.replace("4000", "2"), {}, None, "default"),
        (ALLOCATED.replace("4000", "1ull << 40"), {}, None, "default"),
    ],
)
def test_extents_of_allocations(host, options, count, origin):
    module = ptx.parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry _Z1kPfi(.param .u64 a, .param .u32 b) { ret; }\n"
    )
    (planned,) = plan_launches(module.functions, ReportOptions(**options), cuda.parse(host, "k.cu"))
    x = planned.launch.args["a"]
    assert (x.count, x.origin, x.fill, x.value) == (count, origin, "default", None)


def test_a_struct_that_nobody_gave_is_told():
    """Zeros are no data: an empty class holds none, and one that was given needs no word."""
    module = ptx.parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry _Z1k1P1F(.param .align 8 .b8 p[24], .param .align 1 .b8 f[1]) { ret; }\n"
    )
    (planned,) = plan_launches(module.functions, ReportOptions())
    (note,) = planned.notes
    assert note.startswith("warning: nobody gave p of k: its 24 bytes are zero")
    (given,) = plan_launches(module.functions, ReportOptions(args=("0=hex:" + "00" * 24,)))
    assert given.notes == ()
