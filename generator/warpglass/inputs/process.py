"""The one door through which programs are started: no shell, and bounded time, memory and output."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from warpglass.errors import ToolchainError

__all__ = ["ToolResult", "run_tool"]

_MIB = 1024 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a finished program left. ``returncode`` is its exit status, never negative."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are no UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Standard error as text, in the same way."""
        return self.stderr.decode("utf-8", "replace")


def run_tool(
    args: Sequence[str | Path],
    *,
    timeout: float = 60.0,
    memory: int = 16 * 1024 * _MIB,
    cwd: Path | None = None,
    input: bytes | None = None,
    output_limit: int = 256 * _MIB,
    environment: Mapping[str, str] | None = None,
) -> ToolResult:
    """Run ``args`` (program first) and return its exit status and output.

    ``timeout`` is in seconds, ``memory`` (address space a process) and ``output_limit`` (both streams
    together) in bytes; ``environment`` adds to the caller's. The whole process group is killed at a limit.
    Messages come in English, whatever the locale. Raises :class:`ToolchainError` where the program cannot
    be started, reaches a limit or is killed by a signal; a non-zero exit status is the caller's to judge.
    """
    argv = [os.fspath(arg) for arg in args]
    if any("\0" in arg for arg in argv):
        raise ToolchainError("a program argument holds a NUL character")
    name = Path(argv[0]).name
    try:
        process = subprocess.Popen(  # noqa: S603 -- a list, no shell; programs come from toolchain.py
            argv,
            stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            start_new_session=True,
            preexec_fn=_limiter(memory, timeout),
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ToolchainError(f"cannot start {name}: {reason}", hint="see `warpglass doctor`") from error
    try:
        stdout, stderr = _communicate(process, name, timeout, output_limit, input)
    finally:
        _kill_group(process)
    if process.returncode < 0:
        raise ToolchainError(f"{name} was killed by {_signal_name(-process.returncode)}")
    return ToolResult(process.returncode, stdout, stderr)


def _limiter(memory: int, seconds: float) -> Callable[[], None]:
    """A function for the child, between fork and exec."""
    limits = [
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_CORE, 0),
    ]

    def apply() -> None:
        for kind, wanted in limits:
            hard = resource.getrlimit(kind)[1]
            value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(kind, (value, value))

    return apply


def _communicate(
    process: subprocess.Popen[bytes], name: str, timeout: float, output_limit: int, data: bytes | None
) -> tuple[bytes, bytes]:
    """Feed and drain the pipes until both outputs close and the program ends."""
    deadline = time.monotonic() + timeout
    assert process.stdout is not None
    assert process.stderr is not None
    chunks: dict[IO[bytes], list[bytes]] = {process.stdout: [], process.stderr: []}
    total = 0
    pending = memoryview(data or b"")
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while len(selector.get_map()) > 0:
            for key, _ in selector.select(_left(deadline, name, timeout)):
                if key.fileobj is process.stdin:
                    pending = _write_some(process.stdin, pending)
                    if not pending:
                        selector.unregister(process.stdin)
                        with contextlib.suppress(BrokenPipeError):
                            process.stdin.close()
                    continue
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                chunk = os.read(stream.fileno(), _CHUNK)
                if not chunk:
                    selector.unregister(stream)
                    continue
                total += len(chunk)
                if total > output_limit:
                    raise ToolchainError(f"{name} wrote more than {output_limit // _MIB} MiB and was stopped")
                chunks[stream].append(chunk)
    try:
        process.wait(_left(deadline, name, timeout))
    except subprocess.TimeoutExpired:
        raise _late(name, timeout) from None
    return b"".join(chunks[process.stdout]), b"".join(chunks[process.stderr])


def _write_some(stream: IO[bytes], data: memoryview) -> memoryview:
    """Write what fits; nothing is left to write once the reader is gone."""
    try:
        return data[os.write(stream.fileno(), data[:_CHUNK]) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return data[:0]


def _left(deadline: float, name: str, timeout: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise _late(name, timeout)
    return left


def _late(name: str, timeout: float) -> ToolchainError:
    return ToolchainError(f"{name} was stopped after {timeout:g} s")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the program and whatever it started; its pipes and its entry in the process table go too."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
