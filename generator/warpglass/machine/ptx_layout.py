"""Where the variables of a PTX module lie: shared offsets, frames of functions, addresses of globals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from warpglass.errors import ExecutionError
from warpglass.machine.memory import Arena
from warpglass.machine.regions import Region
from warpglass.ptx.model import Function, Instruction, Module, Operand, OperandList, Symbol, Variable, Vector

__all__ = [
    "FUNCTION_ADDRESS",
    "Frame",
    "ModuleLayout",
    "called_names",
    "fill_globals",
    "lay_out",
    "reachable",
]

#: Function addresses are this plus 16 times the function's number: no memory lies there.
FUNCTION_ADDRESS = 0x1000
#: The first bytes of a thread's local memory stay unused, so that no local address is 0.
FRAME_START = 16
#: Bytes of local memory a thread (CUDA programming guide, technical specifications: 512 KB).
MOST_LOCAL = 512 << 10


@dataclass(slots=True)
class Frame:
    """Local memory of one activation of a function: offsets of its variables and parameters."""

    size: int = 0
    offsets: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class ModuleLayout:
    """Addresses of everything that has a name.

    ``shared`` are offsets in a block's shared memory, ``globals`` arena offsets, ``functions`` addresses
    for indirect calls; ``dynamic_base`` is where dynamic shared memory starts.
    """

    shared: dict[str, int]
    static_shared: int
    dynamic_base: int
    globals: dict[str, int]
    functions: dict[str, int]
    frames: dict[str, Frame]
    order: tuple[Function, ...]
    recursive: frozenset[str]


def _symbols(operand: Operand) -> Iterable[str]:
    if isinstance(operand, Symbol):
        yield operand.name
    elif isinstance(operand, OperandList | Vector):
        for element in operand.elements:
            yield from _symbols(element)


def called_names(instruction: Instruction) -> Iterable[str]:
    """Names an instruction mentions that may be functions."""
    for operand in instruction.operands:
        yield from _symbols(operand)


def reachable(module: Module, kernel: Function) -> tuple[tuple[Function, ...], frozenset[str]]:
    """The kernel, then every function it may call, and the names of those that may call themselves."""
    by_name = {f.name: f for f in module.functions if f.has_body}
    in_data = {s for v in module.variables for _, s, _, _ in v.relocations if s in by_name}
    edges: dict[str, set[str]] = {}
    order = [kernel]
    seen = {kernel.name}
    for function in order:
        names = {n for i in function.instructions for n in called_names(i) if n in by_name}
        indirect = any(
            i.base == "call" and not any(n in by_name for n in called_names(i)) for i in function.instructions
        )
        if indirect:
            # Whoever calls through a pointer may reach every function whose address is taken anywhere.
            names |= in_data | {
                n for f in by_name.values() for i in f.instructions if i.base == "mov"
                for n in called_names(i) if n in by_name
            }  # fmt: skip
        edges[function.name] = names
        for name in sorted(names):
            if name not in seen:
                seen.add(name)
                order.append(by_name[name])
    return tuple(order), frozenset(n for n in seen if _reaches(edges, n, n))


def _reaches(edges: Mapping[str, set[str]], start: str, goal: str) -> bool:
    stack, seen = list(edges.get(start, ())), set()
    while stack:
        name = stack.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            stack.extend(edges.get(name, ()))
    return False


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align


def _frame(function: Function, kernel: bool) -> Frame:
    frame = Frame(FRAME_START if kernel else 0)
    for param in (*function.returns, *(() if kernel else function.params)):
        if param.space == "reg":
            continue
        frame.size = _up(frame.size, max(param.align, 1))
        frame.offsets[param.name] = frame.size
        frame.size += param.size
    for variable in function.variables:
        if variable.space in ("local", "param"):
            frame.size = _up(frame.size, max(variable.align, 1))
            frame.offsets[variable.name] = frame.size
            frame.size += variable.size
    frame.size = _up(frame.size, 16)
    return frame


def lay_out(module: Module, kernel: Function, arena: Arena) -> ModuleLayout:
    """Give every variable a place; reserves the global ones in ``arena`` (before it is mapped).

    Raises :class:`ExecutionError` where the static sizes are beyond anything a GPU has.
    """
    order, recursive = reachable(module, kernel)
    variables = [*module.variables, *(v for f in order for v in f.variables)]
    shared: dict[str, int] = {}
    top = 0
    dynamic: list[Variable] = []
    for variable in variables:
        if variable.space == "shared" and variable.name not in shared:
            if variable.is_extern_array:
                dynamic.append(variable)
                continue
            top = _up(top, max(variable.align, 1))
            shared[variable.name] = top
            top += variable.size
    base = _up(top, max([16, *(v.align for v in dynamic)]))
    if top > 1 << 20:
        raise ExecutionError(
            f"{kernel.name} declares {top} bytes of shared memory a block; no GPU has so much"
        )
    for variable in dynamic:
        shared[variable.name] = base
    addresses: dict[str, int] = {}
    total = 0
    for variable in variables:
        if variable.space not in ("global", "const") or variable.name in addresses:
            continue
        total += variable.size
        if total > arena.layout.region_limit:
            raise ExecutionError(
                f"module variables take {total} bytes; {variable.name} does not fit any more"
            )
        start = arena.reserve(max(variable.size, 1), variable.align)
        addresses[variable.name] = start
        arena.add_region(
            Region(variable.name, start, variable.size, kind=variable.space, given=True, dtype=variable.type)
        )
    functions = {f.name: FUNCTION_ADDRESS + 16 * i for i, f in enumerate(order)}
    frames = {f.name: _frame(f, f is kernel) for f in order}
    for name, frame in frames.items():
        if frame.size > MOST_LOCAL:
            raise ExecutionError(
                f"{name} declares {frame.size} bytes of local memory a thread; CUDA allows {MOST_LOCAL}"
            )
    return ModuleLayout(shared, top, base if dynamic else top, addresses, functions, frames, order, recursive)


def fill_globals(module: Module, layout: ModuleLayout, arena: Arena) -> None:
    """Write initialisers and relocations of module variables into the mapped arena."""
    variables = [*module.variables, *(v for f in layout.order for v in f.variables)]
    for variable in variables:
        start = layout.globals.get(variable.name)
        if start is None:
            continue
        if variable.initializer:
            arena.write(start, variable.initializer[: variable.size])
        width = module.address_size // 8
        for offset, symbol, addend, generic in variable.relocations:
            value = symbol_address(layout, arena, symbol, generic)
            if value is not None and 0 <= offset <= variable.size - width:
                data = ((value + addend) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
                arena.write(start + offset, data)


def symbol_address(layout: ModuleLayout, arena: Arena, name: str, generic: bool) -> int | None:
    """Address of a module-level name; of a shared variable its offset, or its generic address."""
    if name in layout.globals:
        return layout.globals[name] + arena.layout.global_base
    if name in layout.shared:
        return layout.shared[name] + (arena.layout.shared_window if generic else 0)
    return layout.functions.get(name)
