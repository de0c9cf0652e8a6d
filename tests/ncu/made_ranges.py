"""A made report of launches in nested NVTX ranges: two domains, two host threads, a start/end range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncu.writer import Writer

#: Host threads that launch.
MAIN, WORKER = 11, 12
_DOMAINS = {0: "<default domain>", 7: "train", 8: "lib"}


def _nvtx(result: Any, stacks: Sequence[tuple[int, int, Sequence[str]]], started: Sequence[str] = ()) -> None:
    """Stacks are (thread, domain, ranges from the outermost on); ``started`` are open ranges of ``train``."""
    for number, name in _DOMAINS.items():
        if number:  # the default domain has no entry
            result.nvtx.domains.add(id=number, name=name.encode())
    for thread, domain, ranges in stacks:
        stack = result.nvtx.threads.add(thread_id=thread).stacks.add(domain=domain)
        for name in ranges:
            stack.ranges.add(name=name.encode())
    if started:
        open_ranges = result.nvtx.start_end.add(domain=7)
        for name in started:
            open_ranges.ranges.add(name=name.encode())


def ranges_report() -> bytes:
    """Six launches; what each lies in stands beside it."""
    w = Writer()
    results = []
    for mangled, demangled, thread, stacks, started in (
        # 0: train@epoch 0/step; lib@gemm. The worker's range is not this launch's.
        (b"_Z4gemmPf", b"gemm(float *)", MAIN,
         [(MAIN, 7, ["epoch 0", "step"]), (MAIN, 8, ["gemm"]), (WORKER, 7, ["load"])], []),
        # 1: train@epoch 0/step/loss
        (b"_Z4lossPf", b"loss(float *)", MAIN, [(MAIN, 7, ["epoch 0", "step", "loss"])], []),
        # 2: train@load, on the worker
        (b"_Z4copyPf", b"copy(float *)", WORKER, [(MAIN, 7, ["epoch 0"]), (WORKER, 7, ["load"])], []),
        # 3: train@epoch 1/step, and the open range train@checkpoint; no demangled name is stored
        (b"_Z4gemmPf", b"", MAIN, [(MAIN, 7, ["epoch 1", "step"])], ["checkpoint"]),
        # 4: <default domain>@fwd/attn, one range with a slash in its name
        (b"_Z4attnPf", b"attn(float *)", MAIN, [(MAIN, 0, ["fwd/attn"])], []),
        # 5: none
        (b"_Z4tailPf", b"tail(float *)", MAIN, [], []),
    ):  # fmt: skip
        result = w.result(
            mangled.decode(), [("gpu__time_duration.sum", 1000.0, None)],
            mangled_name=mangled, demangled_name=demangled, thread_id=thread,
        )  # fmt: skip
        _nvtx(result, stacks, started)
        results.append(result)
    w.block(results=results)
    return w.out
