"""Runs a launch of a SASS kernel: the same machine as for PTX, fed from a cubin."""

from __future__ import annotations

from warpglass.errors import LaunchError
from warpglass.machine.arguments import bind, write_arguments
from warpglass.machine.execute import MAX_SLOTS, batch_size, result_of, run_all
from warpglass.machine.findings import Findings
from warpglass.machine.launch import Launch
from warpglass.machine.library import HEAP_BYTES
from warpglass.machine.memory import Arena, Layout
from warpglass.machine.regions import Region
from warpglass.machine.result import RunResult
from warpglass.machine.run_state import Area, RunState
from warpglass.machine.runoptions import RunOptions
from warpglass.machine.sampled_run import grid_run
from warpglass.machine.sass_affine import why_not_affine
from warpglass.machine.sass_constants import ConstantBanks, DataSections, bank0_layout
from warpglass.machine.sass_program import code_bases, lower_sass, shared_unit
from warpglass.machine.trace import Tracer
from warpglass.ptx.model import Function as Signature
from warpglass.sass.model import Function, Module
from warpglass.sass.operands import Constant

__all__ = ["execute_sass"]

#: From compute capability 9.0 on the first KiB of a block's shared memory is the system's.
RESERVED_SHARED = 1024
#: Static shared memory of a kernel known from a listing alone: what every GPU allows without asking.
LISTED_SHARED = 48 << 10
#: Room below the stack's top beyond what the image asks for: depth of recursion is not recorded.
STACK_SPARE = 1 << 13


def execute_sass(
    module: Module, signature: Signature, launch: Launch, options: RunOptions | None = None
) -> RunResult:
    """Run the kernel called ``signature.name`` of ``module``; ``signature`` has its parameters.

    A grid beyond the instruction budget is sampled where that is proven to give the same counts (see
    :mod:`warpglass.machine.sampling`). Raises :class:`LaunchError` for a launch that does not fit; whatever
    the kernel does wrong is a finding or a stop in the result.
    """
    options = options or RunOptions()
    kernel = next((f for f in module.functions if f.name == signature.name), None)
    if kernel is None:
        raise LaunchError(f"{module.name} has no machine code of {signature.name}")
    number = _number(module.arch or kernel.arch)
    return grid_run(
        launch,
        options,
        len(kernel.instructions),
        lambda: why_not_affine(kernel, number),
        lambda chosen: _execute(module, kernel, signature, launch, chosen),
    )


def _execute(
    module: Module, kernel: Function, signature: Signature, launch: Launch, options: RunOptions
) -> RunResult:
    sm = _number(module.arch or kernel.arch)
    others = [f for f in module.functions if not f.is_kernel]
    arena = Arena(Layout(64), options.memory_limit)
    data = DataSections(module, kernel, arena)
    banks = ConstantBanks(bank0_layout(sm, kernel.param_base), arena, data.banks())
    banks.params_unknown = kernel.param_bytes is None and not signature.params
    arguments = bind(signature, launch, arena, options.seed)
    reserved = RESERVED_SHARED if sm >= 90 else 0
    static = LISTED_SHARED if kernel.shared is None else kernel.shared
    dynamic_base = (reserved + static + 15) // 16 * 16
    grid_sync = _reads_workspace(kernel, banks)
    at_once = batch_size(launch, options, launch.cooperative or grid_sync)
    slots = min(MAX_SLOTS, -(-launch.blocks // at_once))
    shared_stride = (dynamic_base + launch.shared_bytes + 511) // 256 * 256
    spare = STACK_SPARE if others or kernel.subroutines or kernel.local or kernel.local is None else 0
    local_stride = ((kernel.local or 0) + spare + 15) // 16 * 16
    lanes = at_once * launch.warps_per_block * 32
    areas = [
        Area(
            arena.reserve(shared_stride * at_once, 4096),
            arena.reserve(local_stride * lanes, 4096),
            shared_stride * at_once,
            local_stride * lanes,
        )
        for _ in range(slots)
    ]
    workspace = arena.reserve(4096, 4096) if grid_sync else 0
    heap = arena.reserve(HEAP_BYTES) if any(r.symbol == "malloc" for r in module.relocations) else 0
    if heap:
        arena.add_region(Region("device heap", heap, HEAP_BYTES, kind="heap"))
    if grid_sync:
        arena.add_region(Region("grid workspace", workspace, 4096, kind="workspace", given=True))
    arena.map()
    write_arguments(arguments, arena)
    data.fill(arena, code_bases(kernel, others))
    address = workspace + arena.layout.global_base if grid_sync else 0
    banks.fill(
        launch,
        _placed(kernel, arguments.data, tuple(arguments.offsets.values())),
        local_stride,
        address,
        dynamic_base + launch.shared_bytes,
    )
    program = lower_sass(kernel, others, banks, data.symbols, sm, static, dynamic_base, local_stride)
    run = RunState(program, launch, options, arena, Findings(), Tracer(options))
    run.extra["local_stride"] = local_stride
    run.reserved_shared = reserved
    run.extra["shared_unit"] = shared_unit(program.ops)
    if heap:
        run.extra["heap"] = {"next": heap, "end": heap + HEAP_BYTES}
    if kernel.shared is None:
        run.assume(
            "the listing does not say how much shared memory the kernel has; "
            f"{LISTED_SHARED >> 10} KiB are taken, and accesses are judged against that"
        )
    if kernel.param_bytes is None and signature.params:
        run.assume("the listing has no parameters: their types are those of the kernel's mangled name")
    run.assume("all blocks progress fairly, as if all of them were resident")
    stopped, executed = run_all(run, program, launch, at_once, areas)
    return result_of(run, program, launch, arguments, stopped, executed)


def _placed(kernel: Function, data: bytes, starts: tuple[int, ...]) -> bytes:
    """Parameters where the image wants them.

    Their bank starts at no multiple of 64, so that one aligned to more than its start (a tensor map) lies
    elsewhere than in PTX, and all behind it too.
    """
    params = sorted(kernel.params, key=lambda p: p.ordinal)
    if len(params) != len(starts) or all(p.offset == at for p, at in zip(params, starts, strict=True)):
        return data
    out = bytearray(max(p.offset + p.size for p in params))
    for param, at in zip(params, starts, strict=True):
        piece = data[at : at + param.size]
        out[param.offset : param.offset + len(piece)] = piece
    return bytes(out)


def _reads_workspace(kernel: Function, banks: ConstantBanks) -> bool:
    """Whether the code reads where the driver put the grid's barrier."""
    start = banks.layout.workspace
    return any(
        isinstance(o, Constant) and o.bank == 0 and start <= o.offset < start + 8
        for i in kernel.instructions
        for o in i.operands
    )


def _number(arch: str | None) -> int:
    digits = "".join(c for c in arch or "" if c.isdigit())
    if not digits:
        raise LaunchError("the machine code does not say its architecture", hint="name it with --arch")
    return int(digits)
