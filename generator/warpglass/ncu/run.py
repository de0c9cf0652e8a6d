"""Run the profiler: its command, and its failures in words that help.

Options are those of the Nsight Compute command line (public documentation); the command is a list of
arguments, never a line for a shell.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpglass.errors import InputError, ToolchainError, UsageError, WarpglassError
from warpglass.files import write_file
from warpglass.inputs.process import ToolResult, run_tool
from warpglass.inputs.toolchain import find_tool
from warpglass.ncu.factories import MetricGroup
from warpglass.ncu.model import Report

__all__ = ["ProfileRequest", "command", "explain", "find_ncu", "profile", "run_profiler"]

REPLAY_MODES = ("kernel", "application", "range", "app-range")
TARGETS = ("all", "application-only")
#: A CUDA program reserves address space for all memory of host and GPU; it needs no limit of ours.
_ADDRESS_SPACE = 1 << 52
_SUFFIX = ".ncu-rep"
#: A filter of one range name: no slash, bracket or comma but escaped ones.
_ONE_NAME = re.compile(r"(?:[^/\\[\],]|\\.)+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What to profile. ``nvtx`` are range paths ``domain@outer/inner``; ``extra`` passes to ncu as it is."""

    application: tuple[str, ...]
    sets: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    nvtx: tuple[str, ...] = ()
    kernel: str | None = None
    launch_count: int | None = None
    replay_mode: str = "kernel"
    target_processes: str = "all"
    import_source: bool = True
    extra: tuple[str, ...] = field(default=())

    def check(self) -> ProfileRequest:
        """Return self, or raise :class:`UsageError` for what ncu could not mean."""
        if not self.application or not self.application[0]:
            raise UsageError("no application to profile", hint="warpglass profile -o report.html -- ./app")
        if self.replay_mode not in REPLAY_MODES:
            raise UsageError(
                f"--replay-mode is {self.replay_mode!r}; choose one of {', '.join(REPLAY_MODES)}"
            )
        if self.target_processes not in TARGETS:
            raise UsageError(
                f"--target-processes is {self.target_processes!r}; choose one of {', '.join(TARGETS)}"
            )
        if self.launch_count is not None and self.launch_count < 1:
            raise UsageError("--launch-count must be at least 1")
        for name in (*self.metrics, *self.sets):
            if not re.fullmatch(r"[\w.:*^$()|\[\]\\+ -]+", name):
                raise UsageError(f"{name[:80]!r} is no name of a metric or set")
        return self


def find_ncu() -> Path:
    """The profiler. Raises :class:`ToolchainError` that says where to get it."""
    tool = find_tool("ncu")
    if tool is not None:
        return tool.path
    for root in ("/opt/nvidia/nsight-compute", "/usr/local/cuda/nsight-compute"):
        found = sorted(Path(root).glob("*/ncu")) if Path(root).is_dir() else []
        if found:
            return found[-1]
    raise ToolchainError(
        "ncu (Nsight Compute) was not found",
        hint="install Nsight Compute and put ncu on PATH; it comes with the CUDA toolkit",
    )


def command(request: ProfileRequest, output: Path, ncu: Path | str = "ncu") -> list[str]:
    """The whole command line as a list. ``output`` is the report's place without its suffix."""
    request.check()
    args = [os.fspath(ncu), "--export", os.fspath(output), "--force-overwrite"]
    args += ["--target-processes", request.target_processes, "--replay-mode", request.replay_mode]
    for name in request.sets or (() if request.metrics else ("full",)):
        args += ["--set", name]
    if request.metrics:
        args += ["--metrics", ",".join(request.metrics)]
    if request.import_source:
        args += ["--import-source", "yes"]
    if request.nvtx:
        args.append("--nvtx")
        for path in request.nvtx:
            # One name with a slash behind it is a push/pop range, without one a start/end range: both are
            # asked for, filters are alternatives. Slashes and brackets within make it push/pop already.
            path = path.removeprefix("<default domain>@")  # what reports call it; filters leave it out
            args += ["--nvtx-include", path]
            if _ONE_NAME.fullmatch(path):
                args += ["--nvtx-include", f"{path}/"]
    if request.kernel is not None:
        args += ["--kernel-name", request.kernel]
    if request.launch_count is not None:
        args += ["--launch-count", str(request.launch_count)]
    return [*args, *request.extra, *request.application]


_PERMISSION = """\
the GPU's counters are reserved to administrators on this machine. Either
    run as root (sudo), or in a container with the capability SYS_ADMIN
    (docker run --gpus all --cap-add=SYS_ADMIN …;
    in Kubernetes securityContext.capabilities.add: [SYS_ADMIN]), or
    open them to everybody: write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into
    /etc/modprobe.d/nvidia-profiling.conf on the host, and reload the driver or reboot
    (on Windows and WSL: NVIDIA Control Panel, Developer, Manage GPU Performance Counters)"""


def explain(result: ToolResult, wrote: bool) -> WarpglassError | None:
    """What went wrong in words that help, None where nothing did. ``wrote`` says that there is a report."""
    output = f"{result.text}\n{result.error_text}"
    if "ERR_NVGPUCTRPERM" in output:
        return ToolchainError("ncu may not read the GPU's counters (ERR_NVGPUCTRPERM)", hint=_PERMISSION)
    mismatch = re.search(
        r"[^\n]*(?:driver version is insufficient|Cuda driver is not compatible"
        r"|not compatible with (?:the|your|this)[^\n]*driver|driver is too old|[Uu]nsupported (?:driver|GPU)"
        r"|is not supported by this version)[^\n]*",
        output,
    )
    if mismatch:
        return ToolchainError(
            f"ncu and the driver do not fit: {_plain(mismatch[0])}",
            hint="use the ncu of a CUDA release that the driver supports (nvidia-smi shows the newest), "
            "or update the driver; GPUs before Volta need ncu 2019 or nvprof",
        )
    if re.search(r"driver resource was unavailable|[Aa]nother (?:profiler|tool) is", output):
        return ToolchainError(
            "the GPU's counters are in use: another tool profiles or monitors this GPU",
            hint="pause it (dcgmi profile --pause, other profilers, debuggers), then run this again",
        )
    if "No kernels were profiled" in output or (result.returncode == 0 and not wrote):
        return InputError(
            "no kernels were profiled",
            hint="check the kernel and NVTX filters (domain@range, spelt as in the program), that the "
            "program launches kernels with these arguments, and that child processes are profiled "
            "(--target-processes all)",
        )
    failed = re.search(r"application returned an error code \((-?\d+)\)", output)
    if failed or re.search(r"(?:Failed to|could not) (?:launch|find|execute)[^\n]*application", output, re.I):
        said = "\n".join(line for line in output.splitlines() if line.strip() and not line.startswith("=="))
        code = f" with {failed[1]}" if failed else " to start"
        tail = said[-600:].strip()
        return InputError(
            f"the application failed{code}" + (f"; it said:\n{tail}" if tail else ""),
            hint="run it without the profiler first: it must end with 0"
            + ("; --keep FILE.ncu-rep keeps what was measured before it failed" if wrote else ""),
        )
    if result.returncode != 0:
        errors = [_plain(line) for line in output.splitlines() if line.startswith("==ERROR==")]
        return ToolchainError(
            f"ncu ended with {result.returncode}: {'; '.join(errors[:3]) or 'no reason given'}"
        )
    return None


def _plain(line: str) -> str:
    return re.sub(r"==\w+==\s*", "", line).strip()[:300]


def run_profiler(
    request: ProfileRequest, keep: Path | None = None, *, timeout: float = 3600.0, ncu: Path | None = None
) -> tuple[bytes, list[str], ToolResult]:
    """Run ncu: (content of the report, the command, its output).

    ``keep`` is where the report stays; else it lives in a temporary folder. Raises what :func:`explain`
    says, and :class:`ToolchainError` where ncu is missing or takes longer than ``timeout`` seconds.
    """
    program = ncu or find_ncu()
    with tempfile.TemporaryDirectory(prefix="warpglass-ncu-") as folder:
        place = Path(folder) / "profile"
        args = command(request, place, program)
        result = run_tool(args, timeout=timeout, memory=_ADDRESS_SPACE)
        written = next((p for p in (place.with_suffix(_SUFFIX), place) if p.is_file()), None)
        problem = explain(result, written is not None)
        content = written.read_bytes() if written is not None else None
    if keep is not None and content is not None:
        # Also where the application failed: what was measured before may have taken hours.
        write_file(keep, content)
    if problem is not None:
        raise problem
    if content is None:  # explain() has covered it; for the type checker
        raise InputError("no kernels were profiled")
    return content, args, result


def profile(
    executable: str | Path | Sequence[str | Path],
    metrics: MetricGroup | Sequence[str] = (),
    *,
    nvtx: str | Sequence[str] = (),
    sets: Sequence[str] = (),
    timeout: float = 3600.0,
) -> Report:
    """Profile a program (a path, or a path with arguments) and read the report.

    ``metrics`` is a group of the factories or names; without metrics and sets the full set is collected.
    """
    from warpglass.ncu import parse

    argv = [executable] if isinstance(executable, (str, Path)) else list(executable)
    names = metrics.names() if isinstance(metrics, MetricGroup) else tuple(metrics)
    request = ProfileRequest(
        application=tuple(os.fspath(arg) for arg in argv),
        metrics=names,
        sets=tuple(sets),
        nvtx=(nvtx,) if isinstance(nvtx, str) else tuple(nvtx),
    )
    content, _, _ = run_profiler(request, timeout=timeout)
    return parse(content, f"{Path(request.application[0]).name}{_SUFFIX}")
