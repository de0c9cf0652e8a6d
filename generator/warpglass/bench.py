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

__all__ = ["harness", "read_times", "unfilled"]

WARM_UPS = 3
REPEATS = 20
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: How a harness writes one element of a buffer: its width, and the expression that makes bytes of a double.
_ELEMENTS = {
    "float16": (2, "__half_as_ushort(__float2half(static_cast<float>(value)))"),
    "bfloat16": (2, "__bfloat16_as_ushort(__float2bfloat16(static_cast<float>(value)))"),
    "float32": (4, "static_cast<float>(value)"),
    "float64": (8, "value"),
}
_WHOLES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}
_HEADERS = {"float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}
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
    if not re.fullmatch(r"[\w.+/-]+", source):
        raise InputError(f"the name of the source cannot be included: {source[:60]!r}")
    name = _called(kernel)
    buffers = {b["name"]: b for run in runs for b in run.get("buffers") or []}
    lines, values, dtypes = [], [], []
    for index, argument in enumerate(shape.get("args") or []):
        kind = _type(argument)
        if argument.get("kind") == "buffer":
            found = buffers.get(argument["name"]) or buffers.get(argument["parameter"])
            if kind.count("*") > 1:
                raise InputError(
                    f"argument {argument.get('name')!r} points to pointers; a harness cannot write what they "
                    "point to"
                )
            dtype = str((found or {}).get("dtype") or "")
            dtypes.append(dtype)
            lines.append(
                f"    void* buffer{index} = {_filled(dtype)}({_size(found)}ull, {_rule(argument, dtype)});"
                f"  // {_comment(argument['name'])}"
            )
            values.append(f"reinterpret_cast<{kind}>(buffer{index})")
        else:
            values.append(f"static_cast<{kind}>({_scalar(argument)})")
    grid, block = (", ".join(str(int(v)) for v in shape[key]) for key in ("grid", "block"))
    shared = int(shape.get("shared_bytes") or 0)
    call = f"{name}<<<dim3({grid}), dim3({block}), {shared}>>>({', '.join(values)})"
    return _TEMPLATE.format(
        source=source,
        headers="".join(f"#include <{_HEADERS[one]}>\n" for one in sorted(set(dtypes) & set(_HEADERS))),
        fillers="".join(_filler(one) for one in sorted({_filled(d): d for d in dtypes}.values())),
        buffers="\n".join(lines),
        call=call,
        warm=WARM_UPS,
        repeats=int(repeats),
        name=name,
        shared=f"    warpglass_check(cudaFuncSetAttribute({name},\n"
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


def _whole(dtype: str) -> int:
    """Bytes of an element that is a whole number; bytes of no known type are written one by one."""
    match = re.fullmatch(r"u?int(8|16|32|64)", dtype)
    return int(match[1]) // 8 if match else 1


def _filled(dtype: str) -> str:
    """The name of the function that makes a buffer of ``dtype``."""
    return f"warpglass_{dtype}" if dtype in _ELEMENTS else f"warpglass_{8 * _whole(dtype)}"


def _rule(argument: Mapping[str, Any], dtype: str) -> str:
    """How the elements are made, as the executed launch made them; files stay zeros, which is said."""
    fill = str(argument.get("fill") or "default")
    if fill == "default":
        return "warpglass_drawn" if dtype in _ELEMENTS else "warpglass_zeros"
    names = {"random": "warpglass_drawn", "ones": "warpglass_ones", "iota": "warpglass_iota"}
    return names.get(fill, "warpglass_zeros")


def unfilled(launch: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of buffers whose content came from a file: a harness leaves them zeros."""
    known = ("default", "zeros", "ones", "iota", "random", "None", "")
    return tuple(
        str(argument["name"])
        for argument in launch["launch"].get("args") or []
        if argument.get("kind") == "buffer" and str(argument.get("fill")) not in known
    )


def _filler(dtype: str) -> str:
    width = _whole(dtype)
    width, value = _ELEMENTS.get(dtype, (width, f"static_cast<{_WHOLES[width]}>(whole)"))
    return _FILLER.format(name=_filled(dtype), width=width, value=value)


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


_FILLER = """static void* {name}(unsigned long long size, warpglass_fill fill) {{
    std::vector<unsigned char> host(size, 0);
    unsigned long long state = 0x9E3779B97F4A7C15ull;
    for (unsigned long long at = 0; fill != warpglass_zeros && at + {width} <= size; at += {width}) {{
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const unsigned long long drawn = state >> 33, place = at / {width};
        const unsigned long long whole = fill == warpglass_ones ? 1 : fill == warpglass_iota ? place : drawn;
        const double value = fill == warpglass_drawn ? drawn / 2147483648.0 : static_cast<double>(whole);
        const auto element = {value};
        const unsigned char* from = reinterpret_cast<const unsigned char*>(&element);
        std::copy(from, from + {width}, host.begin() + at);
        (void)value;
    }}
    void* device = nullptr;
    warpglass_check(cudaMalloc(&device, size));
    warpglass_check(cudaMemcpy(device, host.data(), size, cudaMemcpyHostToDevice));
    return device;
}}

"""
_TEMPLATE = """// Times one launch with CUDA events; written by warpglass bench. Build: nvcc -O3 THIS_FILE
#define main warpglass_main_of_the_source  // a program of its own is not started
#include "{source}"
#undef main

{headers}#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void warpglass_check(cudaError_t error) {{
    if (error != cudaSuccess) {{
        std::fprintf(stderr, "error: %s\\n", cudaGetErrorString(error));
        std::exit(1);
    }}
}}

enum warpglass_fill {{ warpglass_zeros, warpglass_ones, warpglass_iota, warpglass_drawn }};

{fillers}int main() {{
{buffers}
{shared}    cudaEvent_t start, stop;
    warpglass_check(cudaEventCreate(&start));
    warpglass_check(cudaEventCreate(&stop));
    for (int i = 0; i < {warm}; i++) {call};
    warpglass_check(cudaGetLastError());
    warpglass_check(cudaDeviceSynchronize());
    std::vector<float> times;
    for (int i = 0; i < {repeats}; i++) {{
        warpglass_check(cudaEventRecord(start));
        {call};
        warpglass_check(cudaEventRecord(stop));
        warpglass_check(cudaEventSynchronize(stop));
        float ms = 0;
        warpglass_check(cudaEventElapsedTime(&ms, start, stop));
        times.push_back(ms);
    }}
    warpglass_check(cudaGetLastError());
    std::sort(times.begin(), times.end());
    cudaDeviceProp device;
    warpglass_check(cudaGetDeviceProperties(&device, 0));
    const size_t middle = times.size() / 2;
    const float median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    std::printf("{{\\"kernel\\": \\"{printed}\\", \\"gpu\\": \\"%s\\", \\"repeats\\": {repeats}, "
                "\\"median_ms\\": %.6f, \\"least_ms\\": %.6f}}\\n",
                device.name, median, times.front());
    return 0;
}}
"""
