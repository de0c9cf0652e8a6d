"""CUDA sources become models: kernels, parameters, literal launches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass import cuda
from warpglass.cuda.grammar import MAX_BYTES
from warpglass.errors import InputError

SOURCE = """\
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define BS 16
#ifndef TILE
#define TILE 4
#endif
constexpr int W = 2 * BS;
static const unsigned FLAGS = 0x10u | 1;
int up(int a, int b) { return (a + b - 1) / b; }
namespace outer { namespace {
template <typename T, int N = 3>
__global__ void __launch_bounds__(256, 2) scale(const T* __restrict__ x, T *y, int n = 3) { y[0] = x[n]; }
} }
extern "C" __global__ void __cluster_dims__(2, 1, 1) plain(float a[], const __grid_constant__ Params p,
    unsigned long long u, float (*f)(int), std::array<int, 4> q, double2*) {}
__device__ float helper(float x) { return x; }
__global__ void declared(int *p);
"""


def launches(body: str, defines=()):
    source = cuda.parse(SOURCE + "void host(int m, float *p) {" + body + "}", "k.cu", defines)
    return source.launches


def test_kernels_and_their_places():
    source = cuda.parse(SOURCE, "k.cu")
    assert [(k.name, k.qualified, k.line, k.end_line) for k in source.kernels] == [
        ("scale", "outer::(anonymous namespace)::scale", 11, 11),
        ("plain", "plain", 13, 14),
    ]
    assert source.kernels[0].template == ("typename T", "int N = 3")


def test_parameters():
    scale, plain = cuda.parse(SOURCE).kernels
    assert [(p.name, p.type, p.pointer) for p in scale.params] == [
        ("x", "const T*", True),
        ("y", "T*", True),
        ("n", "int", False),
    ]
    assert [(p.name, p.type, p.pointer) for p in plain.params] == [
        ("a", "float*", True),
        ("p", "const Params", False),
        ("u", "unsigned long long", False),
        ("f", "float (*)(int)", True),
        ("q", "std::array<int, 4>", False),
        ("", "double2*", True),
    ]


@pytest.mark.parametrize(
    ("body", "grid", "block", "shared"),
    [
        ("k<<<4, 256>>>(p);", (4, 1, 1), (256, 1, 1), 0),
        ("k<<<dim3(2, 3), dim3(8, 8, 2), 64>>>(p);", (2, 3, 1), (8, 8, 2), 64),
        (
            "const dim3 g(4, 2), b = dim3(BS, W); k<<<g, b, BS * sizeof(float)>>>(p);",
            (4, 2, 1),
            (16, 32, 1),
            64,
        ),
        ("int n = 1 << 20; k<<<(n + 255) / 256, 256>>>(p);", (4096, 1, 1), (256, 1, 1), 0),
        ("k<<<{2, 2}, 3>>>(p);", (2, 2, 1), (3, 1, 1), 0),
        ("dim3 b{32, 4}; k<<<1, b>>>(p);", (1, 1, 1), (32, 4, 1), 0),
        ("int n = 1000; k<<<CEIL_DIV(n, 32), up(100, 30)>>>(p);", (32, 1, 1), (4, 1, 1), 0),
        ("int n = 1000; k<<<ceil(n / 256.0), (int)(FLAGS)>>>(p);", (4, 1, 1), (17, 1, 1), 0),
        ("k<<<W > 3 ? 5 : 6, 1'024>>>(p);", (5, 1, 1), (1024, 1, 1), 0),
        ("k<<<std::min(7, 9), 0x20>>>(p);", (7, 1, 1), (32, 1, 1), 0),
        ("k<<<m, 32>>>(p);", None, (32, 1, 1), 0),
        ("dim3 g; g.x = 4; k<<<g, 32>>>(p);", None, (32, 1, 1), 0),
        ("int n = 3; n++; k<<<n, 32>>>(p);", None, (32, 1, 1), 0),
        ('int n = 3; scanf("%d", &n); k<<<n, 32>>>(p);', None, (32, 1, 1), 0),
        ("int n = 3; { int n = 4; k<<<n, 32>>>(p); }", None, (32, 1, 1), 0),
        ("k<<<1 / 0, 32, m>>>(p);", None, (32, 1, 1), None),
        ("k<<<-3, 32>>>(p);", None, (32, 1, 1), 0),
        ("int a = b, b = a; k<<<a, 32>>>(p);", None, (32, 1, 1), 0),
        ("k<<<TILE, 32>>>(p);", (4, 1, 1), (32, 1, 1), 0),
    ],
)
def test_literal_launches(body, grid, block, shared):
    (launch,) = launches(body)
    assert (launch.kernel, launch.grid, launch.block, launch.shared_bytes) == ("k", grid, block, shared)


def test_numbers_passed_by_a_launch():
    (launch,) = launches(
        "const int n = 1 << 10; int m = 3; m++; k<<<1, 2>>>(p, n, /* a */ 2.5f, -1, m, (n + 1) / 2);"
    )
    assert launch.args == (None, 1024, 2.5, -1, None, 512)


def test_macros_of_the_command_line_win():
    (launch,) = launches("k<<<TILE, 32>>>(p);", ["TILE=9"])
    assert launch.grid == (9, 1, 1)


def test_template_arguments_and_namespaces_of_a_launch():
    (launch,) = launches("ns::k<float, 3><<<1, 2>>>(p);")
    assert (launch.kernel, launch.template_args) == ("k", "<float, 3>")


def test_macros_that_never_end_are_undecided():
    text = "#define A B\n#define B A\n#define C C + C\nvoid f() { k<<<A, C>>>(); }"
    (launch,) = cuda.parse(text).launches
    assert (launch.grid, launch.block) == (None, None)


def test_macros_that_grow_without_bound_end():
    lines = ["#define M0 1"] + [f"#define M{i} (M{i - 1} + M{i - 1})" for i in range(1, 40)]
    (launch,) = cuda.parse("\n".join([*lines, "void f() { k<<<M39, 1>>>(); }"])).launches
    assert launch.grid is None


def test_huge_numbers_are_undecided():
    (launch,) = cuda.parse("void f() { k<<<" + "9" * 5000 + " * 9, 1 << 60>>>(); }").launches
    assert (launch.grid, launch.block) == (None, None)


def test_broken_text_still_gives_kernels():
    source = cuda.parse("@@@ ;;; }\n__global__ void k(int *p) { *p = 1; }\n???", "k.cu")
    assert [kernel.name for kernel in source.kernels] == ["k"]
    assert "k.cu" in source.notes[0]


def test_too_large_is_a_note():
    source = cuda.parse(b"__global__ void k() {}\n" + b" " * MAX_BYTES)
    assert source.kernels == ()
    assert "larger than" in source.notes[0]


def test_deep_nesting_ends():
    assert cuda.parse("void f() {" * 20_000).kernels == ()
    assert (
        cuda.parse("void f() { k<<<" + "(" * 20_000 + "1" + ")" * 20_000 + ", 1>>>(); }").launches[0].grid
        is None
    )


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match="there is no file"):
        cuda.load("/nonexistent/k.cu")


@given(st.text(max_size=200))
def test_any_text_is_parsed(text):
    assert cuda.parse(text).text == text.removeprefix("\ufeff")


@given(
    st.lists(
        st.sampled_from(
            [
                "__global__",
                "void",
                "k",
                "(",
                ")",
                "{",
                "}",
                "<<<",
                ">>>",
                ",",
                ";",
                "int",
                "*",
                "p",
                "dim3",
                "1",
                "<",
                ">",
                "#define N",
                "\n",
                "template",
                "=",
                "+",
                "sizeof",
            ]
        ),
        max_size=60,
    )
)
def test_any_words_are_parsed(words):
    cuda.parse(" ".join(words))


def test_deep_nests_of_conditions_are_read_in_linear_steps():
    deep = 20_000
    source = cuda.parse(
        "#if 1\n" * deep + "__global__ void k() {}\nvoid f() { k<<<1, 2>>>(); }\n" + "#endif\n" * deep
    )
    assert [(kernel.name, kernel.line) for kernel in source.kernels] == [("k", deep + 1)]
    assert [launch.block for launch in source.launches] == [(2, 1, 1)]


@pytest.mark.parametrize("space", ["__device__", "__host__ __device__", "\n__device__\n"])
def test_lambdas_of_the_device_are_arguments(space):
    body = f"void f() {{ k<<<1, 2>>>(p, 7, [=] {space} (float a, float b) {{ return a + b; }}); }}"
    source = cuda.parse("__global__ void k() {}\n" + body)
    assert source.notes == ()
    assert source.launches[0].args == (None, 7, None)
    assert len(source.text) == len("__global__ void k() {}\n" + body)


@pytest.mark.parametrize("array", ["__align__(8) unsigned char raw[]", "__align__(sizeof(T)) T raw[]"])
def test_aligned_shared_arrays_are_plain_cuda(array):
    source = cuda.parse("__global__ void k() {\n    extern __shared__ " + array + ";\n}\n")
    assert source.notes == ()
    assert len(source.kernels) == 1
