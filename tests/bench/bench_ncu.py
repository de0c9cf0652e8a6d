"""Speed of the profiler-report reader: megabytes a second of the container on one core; target 12.

The report is made here: 40 launches of 300 metrics with instances by instruction.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from ncu.writer import BASE, Writer  # noqa: E402
from warpglass import ncu  # noqa: E402
from warpglass.ncu.container import read_container  # noqa: E402

TARGET = 12.0


def made() -> bytes:
    """A report of some megabytes."""
    w = Writer()
    pcs = {BASE + 16 * i: i * 1000 for i in range(400)}
    metrics = [(f"smsp__metric_{i}.sum", float(i), pcs if i % 6 == 0 else None) for i in range(300)]
    w.block(results=[w.result(f"kernel_{i % 5}", metrics) for i in range(40)])
    return w.out


def main() -> int:
    """Print both rates; fail where the container's is missed."""
    content = made()
    rates = {}
    for name, read in (("container", read_container), ("models", ncu.parse)):
        best = min(_timed(partial(read, content)) for _ in range(3))
        rates[name] = len(content) / 1e6 / best
        print(f"{name}: {rates[name]:.0f} MB/s of {len(content) / 1e6:.1f} MB")
    print(f"target: container at least {TARGET:.0f} MB/s")
    return 0 if rates["container"] >= TARGET else 1


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
