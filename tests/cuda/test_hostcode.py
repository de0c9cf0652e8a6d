"""Constants and allocations that a launch gets from the host code around it."""

import pytest

from warpglass import cuda

KERNEL = "__global__ void k(float *x, float *y, int n) {}\n"


def launch(host: str):
    (found,) = cuda.parse(KERNEL + host, "k.cu").launches
    return found


RUNNER = "void run(int n, float *x) {{ {body} k<<<(n + 31) / 32, 32>>>(x, x, n); }}\n"


@pytest.mark.parametrize(
    ("host", "grid", "n"),
    [
        ("int main() { int m = 100; run(m, p); }", 4, 100),
        ("int main() { run(100, p); int q = 100; run(q, r); }", 4, 100),
        ("void outer(int a) { run(2 * a, p); } int main() { outer(50); }", 4, 100),
        ("struct T { void go() { run(64, p); } };", 2, 64),
        ("int main() { ns::run(64, p); }", 2, 64),
        # Undecided: other values, a name handed on, nobody calls, calls without end, an overload.
        ("int main() { run(100, p); run(101, p); }", None, None),
        ("int main() { run(100, p); time(run); }", None, None),
        ("int main(int c, char **v) { run(100, p); run(atoi(v[1]), p); }", None, None),
        ("", None, None),
        ("void outer(int a) { run(a, p); outer(a); } int main() { outer(50); }", None, None),
        ("void run(long n, float *x) {} int main() { run(100, p); }", None, None),
        ("int main() { run(); }", None, None),
    ],
)
def test_parameters_of_a_runner(host, grid, n):
    found = launch(RUNNER.format(body="") + host)
    assert found.grid == (None if grid is None else (grid, 1, 1))
    assert found.args == (None, None, n)


@pytest.mark.parametrize("body", ["n = 7;", "n++;", "{ int n = 7; }", "get(&n);", "auto f = [](int n) {};"])
def test_parameters_that_change_or_are_hidden_are_undecided(body):
    assert launch(RUNNER.format(body=body) + "int main() { run(100, p); }").args[2] is None


def test_template_parameters_of_a_runner_name_the_kernel():
    source = cuda.parse(
        "template <int B, typename T> __global__ void t(T *x) {}\n"
        "template <int B> void run() { const int half = B / 2; t<half, float><<<B, 32>>>(0); }\n"
        "int main() { run<64>(); }"
    )
    assert (source.launches[0].template_args, source.launches[0].grid) == ("<32, float>", (64, 1, 1))


@pytest.mark.parametrize(
    ("host", "bytes_"),
    [
        ("int main() { float *x; cudaMalloc(&x, 4000); k<<<1, 32>>>(x, 0, 1); }", 4000),
        ("int main() { OK(cudaMalloc((void**)&x, N * sizeof(int))); k<<<1, 32>>>(x, 0, 1); }", 400),
        ("int main() { cudaMallocManaged(static_cast<T>(&x), 8); k<<<1, 32>>>((int*)x, 0, 1); }", 8),
        ("void run(float *a) { k<<<1, 32>>>(a, 0, 1); } int main() { cudaMalloc(&d, 64); run(d); }", 64),
        (
            "void run(float *a) { k<<<1, 32>>>(a, 0, 1); }\n"
            "int main() { cudaMalloc(&d, 64); cudaMalloc(&e, 64); run(d); run(e); }",
            64,
        ),
        # Undecided: sizes of the input, other pointers, pointers that move, sums.
        ("int main(int c, char **v) { cudaMalloc(&x, c * 4); k<<<1, 32>>>(x, 0, 1); }", None),
        ("int main() { cudaMalloc(&x, 8); x = other; k<<<1, 32>>>(x, 0, 1); }", None),
        ("int main() { cudaMalloc(&x, 8); cudaMalloc(&x, 16); k<<<1, 32>>>(x, 0, 1); }", None),
        ("int main() { cudaMalloc(&x, 8); k<<<1, 32>>>(x + 4, 0, 1); }", None),
        ("int main() { cudaMalloc(&x, 8); x += 4; k<<<1, 32>>>(x, 0, 1); }", None),
        (
            "void run(float *a) { k<<<1, 32>>>(a, 0, 1); }\n"
            "int main() { cudaMalloc(&d, 64); cudaMalloc(&e, 32); run(d); run(e); }",
            None,
        ),
        ("void run(float *a) { k<<<1, 32>>>(a, 0, 1); run(a); }", None),
        ("void run(int *a) { ++a; k<<<1, 32>>>(a, 0, 1); } int main() { cudaMalloc(&d, 8); run(d); }", None),
    ],
)  # fmt: skip
def test_allocations(host, bytes_):
    found = launch("const int N = 100;\n" + host).allocations[0]
    assert (None if found is None else found.bytes) == bytes_


def test_calls_without_number_end():
    many = "".join(f"void f{i}(int n) {{ f{i + 1}(n); f{i + 1}(n); f{i + 1}(n); }}\n" for i in range(300))
    source = cuda.parse(KERNEL + many + "void f300(int n) { k<<<n, 32>>>(0, 0, n); }\nint main() { f0(9); }")
    assert len(source.launches) == 1
