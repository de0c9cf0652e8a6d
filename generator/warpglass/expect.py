"""``--expect out=ref.npy``: compare a buffer after the run with a reference, and say who wrote it wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpglass.errors import UsageError
from warpglass.files import load_array
from warpglass.machine.launch import Launch
from warpglass.machine.result import Buffer, Finding, RunResult, Writer

__all__ = ["check_expectations", "last_writer", "load_reference", "parse_expectation"]

_MAX_REFERENCE = 4 << 30


def parse_expectation(text: str) -> tuple[str, Path]:
    """``name=file.npy`` taken apart. Raises :class:`UsageError` for another form."""
    name, equals, file = text.partition("=")
    if not equals or not name.strip() or not file.strip():
        raise UsageError(f"--expect is not name=file.npy: {text[:60]!r}")
    return name.strip(), Path(file.strip())


def load_reference(path: Path) -> npt.NDArray[np.generic]:
    """A reference array. Pickled objects are refused: they would run code."""
    return load_array(path, _MAX_REFERENCE)


def last_writer(result: RunResult, address: int) -> tuple[int, int, int, int] | None:
    """(trace, step, pc, lane) of the last traced store or atomic that covers the byte at ``address``."""
    found: tuple[int, int, int, int] | None = None
    for index, trace in enumerate(result.traces):
        accesses = trace.accesses
        if accesses is None:
            continue
        rows = np.flatnonzero((accesses.kind > 0) & (accesses.space == 0))
        for row in rows[::-1]:
            mask = int(accesses.mask[row])
            count = mask.bit_count()
            start = int(accesses.offset[row])
            addresses = accesses.addresses[start : start + count].astype(np.int64)
            hit = np.flatnonzero((addresses <= address) & (address < addresses + int(accesses.size[row])))
            if hit.size:
                lanes = [lane for lane in range(32) if mask >> lane & 1]
                step = int(accesses.step[row])
                found = (index, step, int(trace.pc[step]), lanes[int(hit[-1])])
                break
    return found


def _wrong(got: npt.NDArray[np.generic], want: npt.NDArray[np.generic], rtol: float) -> npt.NDArray[np.bool_]:
    if np.issubdtype(want.dtype, np.floating) or np.issubdtype(got.dtype, np.floating):
        return ~np.isclose(
            got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=0.0, equal_nan=True
        )
    return np.asarray(got != want)


def check_expectations(
    result: RunResult,
    launch: Launch,
    expected: Sequence[tuple[str, npt.NDArray[np.generic]]],
    rtol: float,
    names: Mapping[str, str],
    find_writer: Callable[[int], Writer | None],
) -> tuple[Finding, ...]:
    """One finding a buffer that differs; ``names`` maps names people use to PTX parameter names.

    ``find_writer`` says who wrote the byte at an address last; asked only where no traced block did.

    Raises :class:`UsageError` where a name is no buffer or the reference is longer than the buffer.
    """
    buffers = {b.name: b for b in result.buffers if b is not None}
    found = []
    for name, want in expected:
        buffer = buffers.get(names.get(name, name)) or buffers.get(name)
        if buffer is None:
            raise UsageError(f"--expect names no buffer: {name!r}", hint=f"buffers: {', '.join(buffers)}")
        if buffer.unknown is not None:
            message = f"{name} cannot be compared: {buffer.unknown}"
            found.append(Finding("expect", "critical", "correctness", message, "executed"))
            continue
        got = buffer.array.reshape(-1)
        flat = want.reshape(-1)
        if flat.size > got.size:
            raise UsageError(
                f"--expect {name}: the reference has {flat.size:,} elements, the buffer {got.size:,}",
                hint=f"give the buffer's size: --arg {name}={buffer.dtype}[{flat.size}]",
            )
        wrong = np.flatnonzero(_wrong(got[: flat.size], flat, rtol))
        if wrong.size:
            found.append(_finding(result, launch, buffer, name, got, flat, wrong, find_writer))
    return tuple(found)


def _finding(
    result: RunResult,
    launch: Launch,
    buffer: Buffer,
    name: str,
    got: npt.NDArray[np.generic],
    want: npt.NDArray[np.generic],
    wrong: npt.NDArray[np.int64],
    find_writer: Callable[[int], Writer | None],
) -> Finding:
    first = int(wrong[0])
    address = buffer.base + first * got.dtype.itemsize
    writer = last_writer(result, address)
    message = (
        f"{name}[{first}] is {got[first]}, expected {want[first]}; "
        f"{wrong.size:,} of {want.size:,} elements differ"
    )
    if writer is None:
        last = find_writer(address)
        if last is None:
            message += "; no thread wrote it"
        return Finding(
            "expect", "critical", "correctness", message, "executed", int(wrong.size), address=address,
            pc=last.pc if last else None, line=last.line if last else None,
            block=last.block if last else None, thread=last.thread if last else None,
        )  # fmt: skip
    trace_index, step, pc, lane = writer
    trace = result.traces[trace_index]
    linear = int(trace.warp[step]) * 32 + lane
    x, y, _ = launch.block
    return Finding(
        kind="expect",
        severity="critical",
        category="correctness",
        message=message,
        evidence="executed",
        count=int(wrong.size),
        pc=pc,
        block=trace.block,
        thread=(linear % x, linear // x % y, linear // (x * y)),
        address=address,
        step=step,
        worst_step=step,
    )
