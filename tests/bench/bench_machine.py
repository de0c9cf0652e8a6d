"""Speed of the machine, in thread-instructions a second, relative to the plain interpreter beside it.

Both count everything and trace the default blocks. Targets: tiled matmul 64 x 64 x 64 at least 40 times,
512 x 512 x 512 at least 60 times the interpreter's rate on the small one, Collatz over 65,536 threads at
least 4 times. The interpreter runs the first 2,048 threads of Collatz; rates are compared, not times.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpglass
from warpglass import ptx
from warpglass.inputs.toolchain import require_tool

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from bench.reference import Interpreter, Result  # noqa: E402

BASE = 0x10000


@dataclass(frozen=True)
class Row:
    """One line of the table: a ratio with its target."""

    name: str
    figure: str
    ratio: float
    target: float

    @property
    def ok(self) -> bool:
        """Whether the target is met."""
        return self.ratio >= self.target


def best_of(times: int, work: Callable[[], object]) -> tuple[float, object]:
    """Shortest processor time of several runs, and the last result.

    Both sides run on one thread; processor time leaves out what other programs take. Noise only ever adds.
    """
    best, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def matmul_ptx() -> str:
    """The example's PTX, as nvcc makes it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.ptx"
        source = ROOT / "examples" / "tiled_matmul" / "kernel.cu"
        command = [
            str(require_tool("nvcc").path),
            "-arch=sm_80",
            "-lineinfo",
            "-ptx",
            "-o",
            str(out),
            str(source),
        ]
        subprocess.run(command, check=True, timeout=300)
        return out.read_text(encoding="utf-8")


def reference_run(
    text: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arrays: list[np.ndarray],
    scalars: list[int],
) -> tuple[Result, bytearray]:
    """Run the plain interpreter; buffers lie one after the other."""
    module = ptx.parse(text)
    kernel = module.kernels[0]
    memory = bytearray()
    arguments = {}
    names = iter(param.name for param in kernel.params)
    for array in arrays:
        arguments[next(names)] = BASE + len(memory)
        memory += array.tobytes()
    for scalar in scalars:
        arguments[next(names)] = scalar
    return Interpreter(module, kernel, memory, BASE).run(grid, block, arguments), memory


def machine_rate(
    text: str, kernel: str, grid: object, block: object, args: list[object], times: int
) -> tuple[float, int, list[np.ndarray]]:
    """Thread-instructions a second, their number, and the buffers."""
    seconds, result = best_of(
        times, lambda: warpglass.run(text, kernel=kernel, grid=grid, block=block, args=list(args))
    )
    assert result.stopped is None, result.stopped  # type: ignore[attr-defined]
    count = result.counts["thread_executed"]  # type: ignore[attr-defined]
    return count / seconds, count, [b.array for b in result.buffers if b is not None]  # type: ignore[attr-defined]


def matmul_args(n: int) -> tuple[np.ndarray, np.ndarray, list[object]]:
    """Two random matrices and the argument list."""
    rng = np.random.default_rng(1)
    a, b = (rng.random((n, n), dtype=np.float32) for _ in range(2))
    return a, b, [a.ravel(), b.ravel(), np.zeros(n * n, np.float32), n]


def bench_matmul() -> list[Row]:
    """Both sizes of the tiled matmul."""
    text = matmul_ptx()
    a, b, args = matmul_args(64)
    seconds, outcome = best_of(
        2, lambda: reference_run(text, (4, 4, 1), (16, 16, 1), [a, b, np.zeros((64, 64), np.float32)], [64])
    )
    reference, memory = outcome  # type: ignore[misc]
    slow = reference.thread_instructions / seconds
    product = np.frombuffer(memory, np.float32)[2 * 4096 :].reshape(64, 64)
    fast, count, buffers = machine_rate(text, "tiled_matmul", (4, 4), (16, 16), args, 10)
    assert np.allclose(buffers[2].reshape(64, 64), product, rtol=1e-6)
    assert count == reference.thread_instructions, (count, reference.thread_instructions)
    rows = [Row("matmul 64 x 64 x 64", f"{fast / 1e6:.1f} M/s against {slow / 1e6:.2f} M/s", fast / slow, 40)]
    a, b, args = matmul_args(512)
    fast, count, buffers = machine_rate(text, "tiled_matmul", (32, 32), (16, 16), args, 1)
    assert np.allclose(buffers[2].reshape(512, 512), a @ b, rtol=1e-4)
    figure = f"{fast / 1e6:.1f} M/s, {count / 1e6:.0f} M in {count / fast:.1f} s"
    return [*rows, Row("matmul 512 x 512 x 512", figure, fast / slow, 60)]


def bench_collatz() -> list[Row]:
    """Every lane its own way."""
    text = (HERE / "collatz.ptx").read_text(encoding="utf-8")
    part, whole = 2048, 65536
    seconds, outcome = best_of(
        2, lambda: reference_run(text, (part // 128, 1, 1), (128, 1, 1), [np.zeros(part, np.int32)], [part])
    )
    reference, memory = outcome  # type: ignore[misc]
    slow = reference.thread_instructions / seconds
    fast, count, buffers = machine_rate(
        text, "collatz", whole // 128, 128, [np.zeros(whole, np.int32), whole], 1
    )
    assert np.array_equal(buffers[0][:part], np.frombuffer(memory, np.int32))
    figure = f"{fast / 1e6:.1f} M/s against {slow / 1e6:.2f} M/s, {count / 1e6:.0f} M in {count / fast:.1f} s"
    return [Row("Collatz, 65,536 threads", figure, fast / slow, 4)]


def main() -> int:
    """Print the table; 0 where every target is met."""
    rows = [*bench_matmul(), *bench_collatz()]
    print(f"{'thread-instructions a CPU second':<33} {'times':>7} {'target':>7}")
    for row in rows:
        mark = "ok" if row.ok else "MISSED"
        print(f"{row.name:<33} {row.ratio:7.1f} {row.target:7.0f}  {mark:<7} {row.figure}")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
