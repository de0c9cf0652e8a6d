"""Kernel arguments: what each parameter is, defaults, and how values become bytes and regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.errors import LaunchError
from warpglass.machine.launch import Argument, Launch
from warpglass.machine.memory import Arena
from warpglass.machine.regions import Region
from warpglass.ptx.model import Function, Param

__all__ = ["BoundArguments", "BoundBuffer", "bind", "write_arguments"]


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """A pointer argument with its region; ``values`` is what was given, as it was at the start."""

    argument: Argument
    region: Region
    values: npt.NDArray[Any] | None


@dataclass(slots=True)
class BoundArguments:
    """Arguments laid out: ``data`` is the parameter block, at arena offset ``base``; one buffer (or None) a
    parameter, in order."""

    base: int
    offsets: dict[str, int]
    data: bytes
    buffers: tuple[BoundBuffer | None, ...]


def bind(kernel: Function, launch: Launch, arena: Arena, seed: int) -> BoundArguments:
    """Reserve a region for each buffer and encode all parameters.

    Raises :class:`LaunchError` where an argument is unknown or does not fit its parameter.
    """
    names = [p.name for p in kernel.params]
    known = set(names)
    unknown = [n for n in launch.args if n not in known]
    if unknown:
        raise LaunchError(
            f"{kernel.name} has no parameter {unknown[0]!r}",
            hint=f"its parameters are {', '.join(names) or 'none'}",
        )
    data = bytearray()
    offsets: dict[str, int] = {}
    buffers: list[BoundBuffer | None] = []
    shared: dict[int, Region] = {}
    for number, param in enumerate(kernel.params):
        align = max(param.align, 1)
        data.extend(bytes(-len(data) % align))
        offsets[param.name] = len(data)
        argument = launch.args.get(param.name)
        if argument is None:
            raise LaunchError(f"the launch has no argument for parameter {param.name} of {kernel.name}")
        if argument.kind == "buffer":
            if param.size != arena.layout.pointer_size:
                raise LaunchError(f"parameter {param.name} is no pointer, but an array was given for it")
            buffer = _buffer(number, argument, arena, seed, shared)
            buffers.append(buffer)
            value = buffer.region.start + arena.layout.global_base
            data.extend(value.to_bytes(param.size, "little"))
        else:
            buffers.append(None)
            data.extend(_encode(param, argument))
    base = arena.reserve(max(len(data), 1))
    arena.add_region(Region("parameters", base, max(len(data), 1), kind="param", given=True))
    return BoundArguments(base, offsets, bytes(data), tuple(buffers))


def _buffer(
    number: int, argument: Argument, arena: Arena, seed: int, shared: dict[int, Region]
) -> BoundBuffer:
    values = argument.value
    if isinstance(values, np.ndarray):
        held = shared.get(id(values))
        flat = np.ascontiguousarray(values)
        if held is None:
            size = flat.nbytes
            if size > arena.layout.region_limit:
                raise LaunchError(f"argument {argument.name} has {size} bytes; a buffer may have 4 GiB")
            start = arena.reserve(max(size, 1))
            held = Region(argument.name, start, size, given=True, dtype=flat.dtype.name)
            shared[id(values)] = held
            arena.add_region(held)
        return BoundBuffer(argument, held, flat)
    dtype = _dtype(argument.dtype)
    if argument.fill in ("iota", "zeros", "ones", "random") and argument.count is not None:
        filled = filled_array(argument.fill, dtype, argument.count, seed)
        start = arena.reserve(max(filled.nbytes, 1))
        region = Region(argument.name, start, filled.nbytes, given=True, dtype=dtype.name)
        arena.add_region(region)
        return BoundBuffer(argument, region, filled)
    size = arena.layout.region_limit if argument.count is None else argument.count * dtype.itemsize
    start = arena.reserve(max(size, 1))
    region = Region(
        argument.name, start, size, given=argument.count is not None, default=True, dtype=dtype.name,
        fill=dtype if dtype.kind == "f" and argument.fill != "zeros" else None,
        seed=seed * 1_000_003 + number + 1,
    )  # fmt: skip
    arena.add_region(region)
    return BoundBuffer(argument, region, None)


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError as error:
        raise LaunchError(f"{name!r} is no element type of an array") from error


def filled_array(fill: str, dtype: np.dtype[Any], count: int, seed: int) -> npt.NDArray[Any]:
    """An array with the content that a fill names."""
    if count > 1 << 30:
        raise LaunchError(
            f"an array of {count} elements is too large to fill; give a file or leave it to default"
        )
    if fill == "zeros":
        return np.zeros(count, dtype=dtype)
    if fill == "ones":
        return np.ones(count, dtype=dtype)
    if fill == "iota":
        return np.arange(count).astype(dtype)
    generator = np.random.default_rng(seed)
    if dtype.kind == "f":
        return generator.random(count).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, count).astype(dtype)
    top = min(int(np.iinfo(dtype).max), 2**31 - 1)
    return generator.integers(0, top, count, endpoint=True).astype(dtype)


def _encode(param: Param, argument: Argument) -> bytes:
    value = argument.value
    if isinstance(value, bytes | bytearray):
        if len(value) != param.size:
            raise LaunchError(f"parameter {param.name} has {param.size} bytes, {len(value)} were given")
        return bytes(value)
    if isinstance(value, np.ndarray):
        raise LaunchError(f"parameter {param.name} is no pointer, but an array was given for it")
    if value is None:
        return bytes(param.size)
    if param.is_array:
        raise LaunchError(f"parameter {param.name} is a struct of {param.size} bytes: give bytes for it")
    kind = param.type if _is_float(param.type) else argument.dtype
    if _is_float(kind):
        return _encode_float(param, kind, float(value))
    if isinstance(value, float):
        if not value.is_integer():
            raise LaunchError(f"parameter {param.name} is an integer ({param.type}), {value!r} was given")
        value = int(value)
    number = int(value)
    bits = 8 * param.size
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise LaunchError(f"{number} does not fit parameter {param.name} ({param.type})")
    return (number & ((1 << bits) - 1)).to_bytes(param.size, "little")


def _is_float(kind: str) -> bool:
    return kind.startswith(("f16", "f32", "f64", "float", "double", "half", "bf"))


def _encode_float(param: Param, kind: str, value: float) -> bytes:
    if kind.startswith("bf") and param.size == 2:
        # The nearest bfloat16, ties to even, by the carry into the upper half of the single pattern.
        bits = int(np.float32(value).view(np.uint32))
        rounded = bits if value != value else bits + 0x7FFF + ((bits >> 16) & 1)
        return (rounded >> 16 & 0xFFFF).to_bytes(2, "little")
    dtype = {2: np.float16, 4: np.float32, 8: np.float64}.get(param.size)
    if dtype is None:
        raise LaunchError(f"parameter {param.name} cannot hold a float")
    with np.errstate(over="ignore"):
        return np.array(value, dtype=dtype).tobytes()


def write_arguments(bound: BoundArguments, arena: Arena) -> None:
    """Write the parameter block and the given arrays into the mapped arena."""
    arena.write(bound.base, bound.data)
    done: set[int] = set()
    for buffer in bound.buffers:
        if buffer is None or buffer.values is None or buffer.region.start in done:
            continue
        done.add(buffer.region.start)
        raw = buffer.values.reshape(-1).view(np.uint8)
        arena.raw[buffer.region.start : buffer.region.start + raw.shape[0]] = raw
