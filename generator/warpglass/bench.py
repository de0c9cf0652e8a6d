"""A benchmark harness for one launch: plain CUDA C++ that times the kernel with events and prints JSON.

Three warm-up launches, then single launches between events; the median is what counts (Hoefler, Belli,
"Scientific Benchmarking of Parallel Computing Systems", SC15, rule 5). Buffers are as large as the executed
launch needed them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from warpglass.errors import InputError

__all__ = ["harness", "read_times"]

WARM_UPS = 3
REPEATS = 20
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FLOATS = {"float16": "half", "float32": "float", "float64": "double", "bfloat16": "bfloat16"}
_LARGEST = 8 << 30


def harness(launch: Mapping[str, Any], source: str, repeats: int = REPEATS) -> str:
    """The harness of a ``launches[]`` entry; ``source`` is the file that it includes.

    Raises :class:`InputError` for launches that cannot be written down: structs, clusters, no execution.
    """
    shape, kernel, runs = launch["launch"], launch["kernel"], launch.get("runs") or []
    if not runs:
        raise InputError("the launch was not executed, so that the sizes of its buffers are not known")
    if list(shape.get("cluster") or [1, 1, 1]) != [1, 1, 1]:
        raise InputError("a harness for a launch with clusters cannot be written yet")
    if not re.fullmatch(r"[\w.+-]+", source):
        raise InputError(f"the name of the source cannot be included: {source[:60]!r}")
    name = _called(kernel)
    buffers = {b["name"]: b for run in runs for b in run.get("buffers") or []}
    lines, values = [], []
    for index, argument in enumerate(shape.get("args") or []):
        kind = _type(argument)
        if argument.get("kind") == "buffer":
            found = buffers.get(argument["name"]) or buffers.get(argument["parameter"])
            size = _size(found)
            fill = (
                "true"
                if found is not None and found.get("dtype") in _FLOATS and argument.get("fill") != "zeros"
                else "false"
            )
            width = 4 if found is None or found.get("dtype") != "float64" else 8
            lines.append(
                f"    void* buffer{index} = filled({size}ull, {fill}, {width});  // "
                f"{_comment(argument['name'])}"
            )
            values.append(f"reinterpret_cast<{kind}>(buffer{index})")
        else:
            values.append(f"static_cast<{kind}>({_scalar(argument)})")
    grid, block = (", ".join(str(int(v)) for v in shape[key]) for key in ("grid", "block"))
    shared = int(shape.get("shared_bytes") or 0)
    call = f"{name}<<<dim3({grid}), dim3({block}), {shared}>>>({', '.join(values)})"
    return _TEMPLATE.format(
        source=source,
        buffers="\n".join(lines),
        call=call,
        warm=WARM_UPS,
        repeats=int(repeats),
        name=name,
        shared=f"    check(cudaFuncSetAttribute({name},\n"
        f"        cudaFuncAttributeMaxDynamicSharedMemorySize, {shared}));\n"
        if shared > 48 * 1024
        else "",
        printed=json.dumps(name)[1:-1],
    )


def _called(kernel: Mapping[str, Any]) -> str:
    """The kernel's name as C++ calls it, template arguments included."""
    full = str(kernel.get("demangled") or kernel.get("bare") or "")
    depth = 0
    for index, letter in enumerate(full):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and index and not full[:index].endswith("::"):
            full = full[:index]
            break
    full = full.removeprefix("void ").strip()
    if not re.fullmatch(r"[\w:<>,\s*&()-]+", full) or "(anonymous" in full:
        raise InputError(f"the kernel cannot be called by its name: {full[:60]!r}")
    return full


def _type(argument: Mapping[str, Any]) -> str:
    kind = str(argument.get("type") or "")
    if argument.get("kind") == "buffer" and "*" not in kind:
        kind = "void*"
    if not re.fullmatch(r"[\w:<>,\s*&-]+", kind):
        raise InputError(
            f"argument {argument.get('name')!r} has a type that a harness cannot write: {kind[:60]!r}"
        )
    return kind.replace("__restrict__", "").replace("&", "").strip()


def _scalar(argument: Mapping[str, Any]) -> str:
    value = argument.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"argument {argument.get('name')!r} is a struct or has no value; a harness cannot write it"
        )
    return repr(value)


def _size(found: Mapping[str, Any] | None) -> int:
    if found is None:
        return 256
    size = int(found["size"]) if found.get("given") else int((found.get("touched") or [0, 256])[1])
    if size > _LARGEST:
        raise InputError(f"buffer {found['name']!r} has {size >> 30} GiB; give it a size with --arg")
    return max(256, size)


def _comment(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else "argument"


def read_times(text: str) -> Mapping[str, Any]:
    """What a harness printed: ``{"kernel", "median_ms", "least_ms", "times_ms", "gpu"}``.

    Raises :class:`InputError` where it is something else.
    """
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                break
            if isinstance(value, dict) and isinstance(value.get("median_ms"), int | float):
                return value
    raise InputError("the harness printed no times")


_TEMPLATE = """// Times one launch with CUDA events; written by warpglass bench. Build: nvcc -O3 THIS_FILE
#include "{source}"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error) {{
    if (error != cudaSuccess) {{
        std::fprintf(stderr, "error: %s\\n", cudaGetErrorString(error));
        std::exit(1);
    }}
}}

static void* filled(unsigned long long size, bool floats, int width) {{
    std::vector<unsigned char> host(size, 0);
    for (unsigned long long at = 0; floats && at + width <= size; at += width) {{
        const float small = (at / width % 1021) / 1021.0f;
        const double wide = small;
        const unsigned char* from = width == 8 ? reinterpret_cast<const unsigned char*>(&wide)
                                               : reinterpret_cast<const unsigned char*>(&small);
        std::copy(from, from + width, host.begin() + at);
    }}
    void* device = nullptr;
    check(cudaMalloc(&device, size));
    check(cudaMemcpy(device, host.data(), size, cudaMemcpyHostToDevice));
    return device;
}}

int main() {{
{buffers}
{shared}    cudaEvent_t start, stop;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&stop));
    for (int i = 0; i < {warm}; i++) {call};
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    std::vector<float> times;
    for (int i = 0; i < {repeats}; i++) {{
        check(cudaEventRecord(start));
        {call};
        check(cudaEventRecord(stop));
        check(cudaEventSynchronize(stop));
        float ms = 0;
        check(cudaEventElapsedTime(&ms, start, stop));
        times.push_back(ms);
    }}
    check(cudaGetLastError());
    std::sort(times.begin(), times.end());
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0));
    const size_t middle = times.size() / 2;
    const float median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    std::printf("{{\\"kernel\\": \\"{printed}\\", \\"gpu\\": \\"%s\\", \\"repeats\\": {repeats}, "
                "\\"median_ms\\": %.6f, \\"least_ms\\": %.6f}}\\n",
                device.name, median, times.front());
    return 0;
}}
"""
