"""Host code taken out of a source: bodies, whole declarations, and what stays of them."""

import pytest

from warpglass.cuda.blank import blank_for_retry

EXTENSION = b"""\
using torch::Tensor;
namespace F = torch::nn;
static torch::Tensor cache = torch::zeros({3});
constexpr int BLOCK = 128;
__constant__ float table[4] = {1, 2, 3, 4};
namespace detail {
struct Args {
  torch::Tensor x;
};
template <typename T> __device__ T square(T v) { return v * v; }
}
template <typename T, int N>
__global__ void kernel(const T* x, T* y, int n) {
  y[threadIdx.x] = detail::square(x[threadIdx.x]) + table[n & 3];
}
Tensor forward(Tensor x) {
  kernel<float, BLOCK><<<4, BLOCK>>>(x.data_ptr<float>(), x.data_ptr<float>(), x.numel());
  return x;
}
extern "C" { Tensor h(int); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
int fine() { return 1; }
"""


def errors(*lines: int) -> str:
    return "".join(f"k.cu({line}): error: nothing of this name\n" for line in lines)


def blanked(*lines: int, everything: bool = False):
    return blank_for_retry(EXTENSION, "k.cu", errors(*lines), everything)


def test_a_declaration_goes_whole_where_its_head_is_wrong():
    result = blanked(1, 2, 3, 8, 16, 17, 20, 21)
    assert result is not None
    lines = result.content.decode().split("\n")
    assert len(lines) == EXTENSION.count(b"\n") + 1
    assert lines[0].strip() == lines[1].strip() == lines[2].strip() == lines[7].strip() == ""
    assert lines[20].strip() == ""
    assert lines[19] == 'extern "C" {  }'
    # Device code and host code without errors stay as they are, on their lines.
    before = EXTENSION.decode().split("\n")
    kept = (3, 4, 5, 9, 10, 11, 12, 13, 14, 21)
    assert [lines[i] for i in kept] == [before[i] for i in kept]
    assert "forward (line 16)" in result.notes[0]
    assert "PYBIND11_MODULE (line 21)" in result.notes[0]


def test_kernels_that_it_launches_stay_instantiated_through_every_try():
    result = blanked(16, 17)
    assert result is not None
    assert b"(void)&kernel<float, BLOCK>;" in result.content
    body = blanked(17)
    assert body is not None
    assert b"Tensor forward(Tensor x) {(void)&kernel<float, BLOCK>;" in body.content
    again = blank_for_retry(body.content, "k.cu", errors(16), False)
    assert again is not None
    assert b"Tensor forward" not in again.content
    assert again.content.count(b"(void)&kernel<float, BLOCK>;") == 1


@pytest.mark.parametrize("line", [5, 10, 14])
def test_device_code_is_never_touched(line):
    result = blanked(line)
    assert result is None or (
        b"y[threadIdx.x]" in result.content
        and b"__constant__ float table" in result.content
        and b"__device__ T square" in result.content
    )


def test_names_stay_unique_over_several_tries():
    one = blanked(16)
    assert one is not None
    source = one.content + b"void other(Tensor t) { kernel<double, 2><<<1, 2>>>(t); }\n"
    two = blank_for_retry(source, "k.cu", errors(source.count(b"\n")), False)
    assert two is not None
    heads = [line.split("(")[0] for line in two.content.decode().split("\n") if "warpglass_keeps" in line]
    assert len(heads) == len(set(heads)) == 2
