"""Speed of machine code: a tiled matmul against the plain interpreter, twelve fills of 512 Mi elements.

Targets: the 512 x 512 x 512 matmul at least 30 times the interpreter's rate of thread-instructions on the
small one, everything counted; all twelve launches of the fill kernel, compiled, executed and counted, in 60
seconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.bench_machine import ROOT, best_of, matmul_args, matmul_ptx, reference_run  # noqa: E402
from counters.test_published import FILL, STEPS, fill_counters  # noqa: E402
from warpglass import cuda, machine, ptx, sass  # noqa: E402
from warpglass.machine import Argument, Launch, RunOptions  # noqa: E402


def matmul() -> tuple[float, str]:
    """How many times the interpreter's rate, and the figures."""
    a, b, _ = matmul_args(64)
    seconds, outcome = best_of(
        2,
        lambda: reference_run(
            matmul_ptx(), (4, 4, 1), (16, 16, 1), [a, b, np.zeros((64, 64), np.float32)], [64]
        ),
    )
    slow = outcome[0].thread_instructions / seconds  # type: ignore[index]
    made = cuda.compile(ROOT / "examples" / "tiled_matmul" / "kernel.cu", arch="sm_80")
    module, code = ptx.parse(made.ptx), sass.load(made.cubin or b"")
    (function,) = (k for k in module.kernels if "tiled_matmul" in k.name)
    a, b, values = matmul_args(512)
    given = {
        p.name: Argument(p.name, "buffer", "float32", v)
        if isinstance(v, np.ndarray)
        else Argument(p.name, "scalar", "u32", 512)
        for p, v in zip(function.params, values, strict=True)
    }
    shape = Launch((32, 32, 1), (16, 16, 1), args=given)
    start = time.process_time()
    result = machine.execute_sass(code, function, shape, RunOptions(sample=False))
    seconds = time.process_time() - start
    assert result.complete, result.stopped
    product = result.buffers[2]
    assert product is not None
    assert np.allclose(product.array.reshape(512, 512), a @ b, rtol=1e-4)
    count = result.counts["thread_executed"]
    rates = f"{count / seconds / 1e6:.1f} M/s against {slow / 1e6:.2f} M/s"
    figures = f"{rates}, {count / 1e6:.0f} M in {seconds:.1f} s"
    return count / seconds / slow, figures


def main() -> int:
    """Print both figures; 0 where both targets are met."""
    times, figures = matmul()
    print(f"SASS matmul 512 x 512 x 512: {times:.0f} times (target 30) {figures}", flush=True)
    start = time.perf_counter()
    for kind in FILL:
        for step, published in zip(STEPS, FILL[kind], strict=True):
            assert fill_counters(kind, step)["smsp__inst_executed.sum"] == published, (kind, step)
    seconds = time.perf_counter() - start
    print(f"twelve fills of 512 Mi elements: {seconds:.1f} s (target 60), all counts exact")
    return 0 if times >= 30 and seconds < 60 else 1


if __name__ == "__main__":
    sys.exit(main())
