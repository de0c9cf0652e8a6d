"""Speed of the PTX parser: megabytes a second on one core.

The text is what nvcc makes of the kernels beside this file's repository (``examples/*.cu``), or of a kernel
written here where there is no compiler, without debug sections and data initialisers; its functions are
renamed and repeated until the text has two megabytes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from warpglass import ptx

ROOT = Path(__file__).resolve().parents[2]
TARGET_BYTES = 2_000_000

_FUNCTION = re.compile(r"^\.(?:visible |weak )?\.?(?:entry|func)\b.*?^\}$", re.MULTILINE | re.DOTALL)
_DEFINED = re.compile(r"^(?:\.visible |\.weak )?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
_DATA = re.compile(r"^(\.[^\n={]*?)\s*=[^;]*;", re.MULTILINE)
_DEBUG = re.compile(r"^\s*\.section\s+\.debug\w*\s*\{[^}]*\}", re.MULTILINE)

FALLBACK = """.version 8.0
.target sm_80
.address_size 64
.visible .entry saxpy(
\t.param .u64 saxpy_param_0,
\t.param .u64 saxpy_param_1,
\t.param .f32 saxpy_param_2,
\t.param .u32 saxpy_param_3
)
{
\t.reg .pred \t%p<2>;
\t.reg .f32 \t%f<5>;
\t.reg .b32 \t%r<6>;
\t.reg .b64 \t%rd<8>;
\t.loc\t1 2 0
\tld.param.u64 \t%rd1, [saxpy_param_0];
\tld.param.u64 \t%rd2, [saxpy_param_1];
\tld.param.f32 \t%f1, [saxpy_param_2];
\tld.param.u32 \t%r2, [saxpy_param_3];
\tmov.u32 \t%r3, %ctaid.x;
\tmov.u32 \t%r4, %ntid.x;
\tmov.u32 \t%r5, %tid.x;
\tmad.lo.s32 \t%r1, %r3, %r4, %r5;
\t.loc\t1 4 3
\tsetp.ge.s32 \t%p1, %r1, %r2;
\t@%p1 bra \t$L__BB0_2;
\tcvta.to.global.u64 \t%rd3, %rd1;
\tmul.wide.s32 \t%rd4, %r1, 4;
\tadd.s64 \t%rd5, %rd3, %rd4;
\tld.global.f32 \t%f2, [%rd5];
\tcvta.to.global.u64 \t%rd6, %rd2;
\tadd.s64 \t%rd7, %rd6, %rd4;
\tld.global.f32 \t%f3, [%rd7];
\tfma.rn.f32 \t%f4, %f2, %f1, %f3;
\tst.global.f32 \t[%rd7], %f4;
$L__BB0_2:
\tret;
}
"""


def compiled_examples() -> list[str]:
    """PTX of every example that compiles; the fallback kernel without nvcc."""
    nvcc = shutil.which("nvcc")
    texts = []
    if nvcc is not None:
        with tempfile.TemporaryDirectory() as folder:
            for source in sorted((ROOT / "examples").rglob("*.cu")):
                out = Path(folder) / "k.ptx"
                command = [
                    nvcc,
                    "-lineinfo",
                    "-arch=sm_90a",
                    "-std=c++17",
                    "-ptx",
                    str(source),
                    "-o",
                    str(out),
                ]
                if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                    texts.append(out.read_text(encoding="utf-8"))
    return texts or [FALLBACK]


def repeated(text: str, size: int) -> str:
    """Strip debug sections and data, then repeat the functions under new names up to ``size`` bytes."""
    text = _DATA.sub(r"\1;", _DEBUG.sub("", text))
    first = _FUNCTION.search(text)
    if first is None:
        return text
    head, rest = text[: first.start()], text[first.start() :]
    functions = rest[: rest.rfind("\n}") + 3]
    names = sorted({*_DEFINED.findall(functions)}, key=len, reverse=True)
    pattern = re.compile(
        r"(?<![\w$])(" + "|".join(re.escape(n) for n in names) + r")(?=_param_[0-9]|(?![\w$]))"
    )
    copies, total, number = [head], len(head), 0
    while total < size:
        copy = functions if number == 0 else pattern.sub(lambda m, n=number: f"{m[1]}_c{n}", functions)
        copies.append(copy)
        total += len(copy) + 1
        number += 1
    return "\n".join(copies)


def measure(text: str, rounds: int = 3) -> float:
    """Best of some rounds, in MB/s."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        module = ptx.parse(text)
        best = min(best, time.process_time() - start)
        errors = [d for d in module.diagnostics if d.severity == "error"]
        if errors:
            raise SystemExit(f"the benchmark's text does not parse: {errors[0]}")
    return len(text.encode()) / best / 1e6


def main() -> int:
    """Print one line a text and the slowest."""
    texts = [Path(a).read_text(encoding="utf-8") for a in sys.argv[1:]] or compiled_examples()
    speeds = []
    for text in texts:
        speeds.append(measure(repeated(text, TARGET_BYTES)))
        print(f"ptx parse: {speeds[-1]:.2f} MB/s")
    joined = sum(len(texts) / s for s in speeds) / len(texts)
    print(f"ptx parse, all texts: {len(texts) / joined:.2f} MB/s; slowest {min(speeds):.2f} MB/s (target 3)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
