"""Runs a launch from the first instruction to the last, batch by batch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from warpglass.errors import LaunchError
from warpglass.machine.arguments import BoundArguments, BoundBuffer, bind, write_arguments
from warpglass.machine.batches import MAX_SLOTS, batch_size, reserve_areas, run_all
from warpglass.machine.findings import Findings
from warpglass.machine.launch import Launch, check_parameters
from warpglass.machine.library import HEAP_BYTES
from warpglass.machine.memory import Arena, Layout
from warpglass.machine.program import Program
from warpglass.machine.ptx_affine import why_not_affine
from warpglass.machine.ptx_dataflow import report_static
from warpglass.machine.ptx_layout import ModuleLayout, called_names, fill_globals, lay_out
from warpglass.machine.ptx_program import lower_program, shared_unit, stack_need
from warpglass.machine.regions import MemoryLimitError, Region
from warpglass.machine.result import Buffer, RunResult, Stop
from warpglass.machine.run_state import RunState
from warpglass.machine.runoptions import RunOptions
from warpglass.machine.sampled_run import grid_run
from warpglass.machine.trace import Tracer
from warpglass.ptx.model import Function, Module, SpecialRegister

__all__ = ["MAX_SLOTS", "batch_size", "execute", "find_kernel", "result_of", "run_all"]

#: Bytes of a default buffer that are given back at most.
PREFIX = 256 << 20


def find_kernel(module: Module, name: str | None) -> Function:
    """The kernel called ``name``, or the only one. Raises :class:`LaunchError`."""
    kernels = [k for k in module.kernels if k.has_body]
    if not kernels:
        raise LaunchError(f"{module.name} has no kernel")
    if name is None:
        if len(kernels) > 1:
            raise LaunchError(
                f"{module.name} has {len(kernels)} kernels",
                hint="name one: " + ", ".join(k.name for k in kernels[:8]),
            )
        return kernels[0]
    for kernel in kernels:
        if kernel.name == name:
            return kernel
    raise LaunchError(f"{module.name} has no kernel {name!r}", hint=", ".join(k.name for k in kernels[:8]))


def _check_launch(launch: Launch, kernel: Function) -> None:
    check_parameters(kernel)
    required = kernel.directives.get("reqntid")
    if required is not None and tuple(required[:3]) + (1,) * (3 - len(required)) != launch.block:
        raise LaunchError(f"{kernel.name} requires a block of {required} threads, not {launch.block}")
    if min(launch.grid) < 1 or min(launch.block) < 1 or min(launch.cluster) < 1:
        raise LaunchError("grid, block and cluster extents start at 1")
    if launch.threads_per_block > 1024:
        raise LaunchError(f"a block of {launch.threads_per_block} threads; at most 1024 are allowed")
    if launch.shared_bytes < 0 or launch.shared_bytes > 1 << 20:
        raise LaunchError(f"{launch.shared_bytes} bytes of dynamic shared memory; at most 1 MiB are allowed")
    if any(g % c for g, c in zip(launch.grid, launch.cluster, strict=True)):
        raise LaunchError(f"grid {launch.grid} is no multiple of cluster {launch.cluster}")


def execute(
    module: Module, kernel: Function | str, launch: Launch, options: RunOptions | None = None
) -> RunResult:
    """Run ``kernel`` of ``module`` as ``launch`` says.

    A grid beyond the instruction budget is sampled where that is proven to give the same counts (see
    :mod:`warpglass.machine.sampling`). Raises :class:`LaunchError` for a launch that does not fit; whatever
    the kernel does wrong is a finding or a stop in the result.
    """
    options = options or RunOptions()
    entry = find_kernel(module, kernel) if isinstance(kernel, str) else kernel
    _check_launch(launch, entry)
    return grid_run(
        launch,
        options,
        len(entry.instructions),
        lambda: why_not_affine(entry),
        lambda chosen: _execute(module, entry, launch, chosen),
    )


def _execute(module: Module, kernel: Function, launch: Launch, options: RunOptions) -> RunResult:
    arena = Arena(Layout(module.address_size), options.memory_limit)
    layout = lay_out(module, kernel, arena)
    arguments = bind(kernel, launch, arena, options.seed)
    tracer = Tracer(options)
    findings = Findings()
    cooperative = launch.cooperative
    grid_sync = _synchronises_grid(layout.order)
    workspace = arena.reserve(4096, 4096) if grid_sync else 0
    if grid_sync:
        arena.add_region(Region("grid workspace", workspace, 4096, kind="workspace", given=True))
    # The areas that batches use come last: only then the sizes of frames are known.
    shared_stride = (layout.dynamic_base + launch.shared_bytes + 511) // 256 * 256
    local_stride = stack_need(layout)
    together = cooperative or grid_sync
    at_once = batch_size(launch, options, together, lane_bytes=_lane_bytes(layout), block_bytes=shared_stride)
    areas = reserve_areas(arena, launch, at_once, shared_stride, local_stride)
    heap = arena.reserve(HEAP_BYTES) if _uses_heap(layout.order) else 0
    if heap:
        arena.add_region(Region("device heap", heap, HEAP_BYTES, kind="heap"))
    arena.map()
    fill_globals(module, layout, arena)
    write_arguments(arguments, arena)
    program = lower_program(module, kernel, layout, arena, arguments)
    run = RunState(program, launch, options, arena, findings, tracer)
    run.extra["local_stride"] = local_stride
    run.extra["shared_unit"] = shared_unit(program.ops)
    if grid_sync:
        address = workspace + arena.layout.global_base
        run.extra.update({"%envreg1": address >> 32, "%envreg2": address & 0xFFFFFFFF})
        if not cooperative:
            run.assume("the kernel synchronises its grid: the launch is taken as cooperative")
    if heap:
        run.extra["heap"] = {"next": heap, "end": heap + HEAP_BYTES}
    run.assume("all blocks progress fairly, as if all of them were resident")
    stopped, executed = run_all(run, program, launch, at_once, areas)
    report_static(run, program, layout)
    return result_of(run, program, launch, arguments, stopped, executed)


def _lane_bytes(layout: ModuleLayout) -> int:
    """Bytes of registers a lane has, as far as declared."""
    kinds = (kind for f in layout.order for kind in f.registers.values())
    return sum(1 if kind == "pred" else 8 if kind.endswith("64") else 4 for kind in kinds)


def _synchronises_grid(functions: Sequence[Function]) -> bool:
    """Whether the code reads where the driver put the grid's barrier."""
    return any(
        isinstance(o, SpecialRegister) and o.name in ("%envreg1", "%envreg2")
        for f in functions
        for i in f.instructions
        for o in i.operands
    )


def _uses_heap(functions: Sequence[Function]) -> bool:
    return any(i.base == "call" and "malloc" in called_names(i) for f in functions for i in f.instructions)


def result_of(
    run: RunState,
    program: Program,
    launch: Launch,
    arguments: BoundArguments,
    stopped: Stop | None,
    executed: int,
) -> RunResult:
    return RunResult(
        isa=program.isa,
        kernel=program.name,
        launch=launch,
        complete=stopped is None,
        stopped=stopped,
        blocks_executed=executed,
        counters=run.counters.columns(),
        samples=run.counters.kept(launch),
        findings=run.findings.finish(),
        buffers=tuple(_buffer(run, b) for b in arguments.buffers),
        traces=run.tracer.finish(program, launch),
        printed=tuple(run.printed),
        assumptions=tuple(run.assumptions),
        active_histogram=run.counters.histogram(),
        writer=None if run.watch is None else run.watch.writer,
        functions=tuple((f.name, f.start, f.end) for f in program.functions),
        alike=len(run.alike) == 1 and run.alike[0].holds if run.options.compare else None,
    )


def _buffer(run: RunState, bound: BoundBuffer | None) -> Buffer | None:
    if bound is None:
        return None
    region = bound.region
    dtype = np.dtype(region.dtype)
    touched = (region.low - region.start, region.high - region.start) if region.low < region.high else None
    footprint = run.arena.footprint
    sectors = None
    if footprint is not None and touched is not None:
        sectors = footprint.count(region.start, region.low, region.high)
    made = run.unknown_regions.get(region.start)
    unknown = None
    if made is not None:
        program = run.program
        unknown = (
            f"the kernel stores there what {program.opcodes[made - 1]} makes at line "
            f"{program.lines[made - 1]}, which is counted but not executed"
        )
    if not run.options.keep_buffers or unknown is not None:
        array = np.zeros(0, dtype=dtype)
    elif bound.values is not None:
        size = bound.values.nbytes
        array = (
            run.arena.raw[region.start : region.start + size].view(dtype).copy().reshape(bound.values.shape)
        )
    else:
        size = region.size if region.given else 0 if touched is None else min(touched[1], PREFIX)
        size = min(
            (size + dtype.itemsize - 1) // dtype.itemsize * dtype.itemsize, region.size, run.arena.limit
        )
        if size and touched is not None:
            # Where that would take more memory than allowed, bytes nobody touched stay zero.
            with contextlib.suppress(MemoryLimitError):
                region.span(run.arena, region.start, region.start + size)
        array = run.arena.raw[region.start : region.start + size].view(dtype).copy()
    return Buffer(
        name=bound.argument.name,
        base=region.start + run.arena.layout.global_base,
        size=region.size,
        given=region.given,
        dtype=dtype.name,
        array=array,
        initial=bound.values,
        touched=touched,
        sectors=sectors,
        unknown=unknown,
    )
