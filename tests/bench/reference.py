"""A straightforward interpreter of PTX in pure Python: one thread at a time, registers in a dict.

The yardstick of ``make bench``. It is plain but not slowed down: opcodes are looked up once a launch, and a
step costs one call. It counts what the machine counts (executions an instruction, by thread and by warp;
requests, sectors, shared-memory wavefronts) and keeps a full trace of the blocks asked for. It knows the
opcodes that the benchmark's kernels use, and fails loudly on any other.
"""

from __future__ import annotations

import ctypes
import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warpglass.ptx.model import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Register,
    SpecialRegister,
    Symbol,
)

Dim3 = tuple[int, int, int]
Value = int | float | bool
_FLOAT = ctypes.c_float


def _f32(value: float) -> float:
    """Round to single precision."""
    return _FLOAT(value).value


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _mad(a: int, b: int, c: int) -> int:
    return (a * b + c) & 0xFFFFFFFF


def _fma(a: float, b: float, c: float) -> float:
    return _f32(a * b + c)  # the product is exact in double precision


def _compare(name: str, bits: int, signed: bool) -> Callable[[int, int], bool]:
    tests: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip
    test = tests[name]
    if not signed:
        return lambda a, b: test(a & _mask(bits), b & _mask(bits))
    return lambda a, b: test(_signed(a, bits), _signed(b, bits))


#: whole opcodes -> a function from the source values to the destination's; integers are kept unsigned
PURE: dict[str, Callable[..., Value]] = {
    "mov.u32": lambda a: a,
    "mov.b32": lambda a: a,
    "mov.f32": lambda a: a,
    "cvta.to.global.u64": lambda a: a,
    "add.s32": lambda a, b: (a + b) & 0xFFFFFFFF,
    "add.s64": lambda a, b: (a + b) & 0xFFFFFFFFFFFFFFFF,
    "mul.lo.s32": lambda a, b: (a * b) & 0xFFFFFFFF,
    "mul.lo.s64": lambda a, b: (a * b) & 0xFFFFFFFFFFFFFFFF,
    "mul.wide.u32": lambda a, b: a * b,
    "mul.wide.s32": lambda a, b: (_signed(a, 32) * _signed(b, 32)) & 0xFFFFFFFFFFFFFFFF,
    "mad.lo.s32": _mad,
    "shl.b32": lambda a, b: (a << b) & 0xFFFFFFFF if b < 32 else 0,
    "shr.u64": lambda a, b: a >> b if b < 64 else 0,
    "and.b64": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "cvt.s64.s32": lambda a: _signed(a, 32) & 0xFFFFFFFFFFFFFFFF,
    "selp.b32": lambda a, b, p: a if p else b,
    "selp.b64": lambda a, b, p: a if p else b,
    "fma.rn.f32": _fma,
}

LOADS = {
    "ld.global.nc.f32": ("global", "f"), "ld.global.f32": ("global", "f"), "ld.shared.f32": ("shared", "f"),
    "ld.param.u32": ("param", "I"), "ld.param.u64": ("param", "Q"),
}  # fmt: skip
STORES = {
    "st.global.f32": ("global", "f"),
    "st.global.u32": ("global", "I"),
    "st.shared.f32": ("shared", "f"),
}
SIZES = {"f": 4, "I": 4, "Q": 8}


@dataclass
class Thread:
    """One thread: registers, place, issues by instruction and those under a false guard, accesses."""

    index: int
    registers: dict[str, Value]
    counts: list[int]
    off: list[int]
    pc: int = 0
    done: bool = False
    accesses: list[tuple[int, int, str, int]] = field(default_factory=list)


@dataclass
class Result:
    """Counters by instruction, and the trace: (thread, pc, value or address) in execution order."""

    thread_executed: list[int]
    warp_executed: list[int]
    requests: list[int]
    sectors: list[int]
    wavefronts: list[int]
    trace: list[tuple[int, int, Value | None]]

    @property
    def thread_instructions(self) -> int:
        """Sum over all instructions."""
        return sum(self.thread_executed)


class Interpreter:
    """One kernel, decoded once. ``memory`` is global memory: buffers laid out one after the other."""

    def __init__(self, module: Module, kernel: Function, memory: bytearray, base: int = 0x10000) -> None:
        self.kernel = kernel
        self.memory = memory
        self.base = base
        self.symbols: dict[str, int] = {}
        offset = 0
        for variable in (*module.variables, *kernel.variables):
            if variable.space == "shared":
                offset = -(-offset // variable.align) * variable.align
                self.symbols[variable.name] = offset
                offset += variable.size
        self.shared_bytes = offset
        self.code = [self._decode(instruction) for instruction in kernel.instructions]
        self.result = Result(*([0] * len(self.code) for _ in range(5)), trace=[])  # type: ignore[misc]

    # Decoding: an instruction becomes (guard, wanted, kind, function, destination, sources, extra).

    def _decode(self, instruction: Instruction) -> tuple[Any, ...]:
        opcode, operands = instruction.opcode, instruction.operands
        guard = instruction.guard.register.name if instruction.guard else None
        wanted = not instruction.guard.negated if instruction.guard else True
        if opcode in ("ret", "exit"):
            return guard, wanted, "exit", None, None, (), None
        if opcode in ("bra", "bra.uni"):
            target = operands[0]
            assert isinstance(target, Symbol)
            return guard, wanted, "branch", None, None, (), self.kernel.labels[target.name]
        if opcode in ("bar.sync", "barrier.sync"):
            return guard, wanted, "barrier", None, None, (), None
        if opcode in LOADS:
            return (
                guard,
                wanted,
                "load",
                None,
                self._name(operands[0]),
                self._address(operands[1]),
                LOADS[opcode],
            )
        if opcode in STORES:
            place = self._address(operands[0])
            return guard, wanted, "store", None, self._source(operands[1]), place, STORES[opcode]
        if opcode.startswith("setp."):
            _, name, kind = opcode.split(".")
            function: Callable[..., Value] = _compare(name, int(kind[1:]), kind[0] == "s")
        else:
            function = PURE[opcode]
        sources = tuple(self._source(operand) for operand in operands[1:])
        return guard, wanted, "pure", function, self._name(operands[0]), sources, None

    def _name(self, operand: Any) -> str:
        assert isinstance(operand, Register)
        return operand.name

    def _source(self, operand: Any) -> str | Value:
        if isinstance(operand, Register | SpecialRegister):
            return operand.name
        if isinstance(operand, Symbol):
            return self.symbols[operand.name] + operand.offset
        assert isinstance(operand, Immediate)
        if operand.kind == "int":
            return operand.bits & 0xFFFFFFFFFFFFFFFF
        return float(operand.value)

    def _address(self, operand: Any) -> tuple[str | int, int]:
        assert isinstance(operand, Address)
        if isinstance(operand.base, Symbol):
            name = operand.base.name
            offset = operand.offset + operand.base.offset
            return (self.symbols[name] + offset, 0) if name in self.symbols else (name, offset)
        assert isinstance(operand.base, Register)
        return operand.base.name, operand.offset

    # Running.

    def run(
        self, grid: Dim3, block: Dim3, arguments: dict[str, int], traced: tuple[int, ...] = (0,)
    ) -> Result:
        """Run block after block, and of each block thread after thread, up to a barrier."""
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    index = (z * grid[1] + y) * grid[0] + x
                    self._block((x, y, z), grid, block, arguments, index in traced)
        return self.result

    def _block(self, place: Dim3, grid: Dim3, block: Dim3, arguments: dict[str, int], traced: bool) -> None:
        shared = bytearray(self.shared_bytes)
        threads = []
        size = len(self.code)
        for z in range(block[2]):
            for y in range(block[1]):
                for x in range(block[0]):
                    registers: dict[str, Value] = {}
                    for name, values in (
                        ("tid", (x, y, z)),
                        ("ctaid", place),
                        ("ntid", block),
                        ("nctaid", grid),
                    ):
                        for axis, value in zip("xyz", values, strict=True):
                            registers[f"%{name}.{axis}"] = value
                    threads.append(Thread(len(threads), registers, [0] * size, [0] * size))
        trace = self.result.trace if traced else None
        alive = threads
        while alive:
            for thread in alive:
                self._run_thread(thread, shared, arguments, trace)
            self._count_accesses(threads)
            alive = [thread for thread in alive if not thread.done]
        self._count_warps(threads)

    def _run_thread(
        self, thread: Thread, shared: bytearray, arguments: dict[str, int], trace: list[Any] | None
    ) -> None:
        """Run until a barrier or the end."""
        code, registers, counts, off = self.code, thread.registers, thread.counts, thread.off
        memory, base, accesses = self.memory, self.base, thread.accesses
        pc = thread.pc
        while True:
            guard, wanted, kind, function, target, sources, extra = code[pc]
            counts[pc] += 1
            here = pc
            pc += 1
            value: Value | None = None
            if guard is not None and registers[guard] != wanted:
                off[here] += 1
                if trace is not None:
                    trace.append((thread.index, here, None))
                continue
            if kind == "pure":
                value = function(*[registers[s] if type(s) is str else s for s in sources])
                registers[target] = value
            elif kind == "load":
                place, offset = sources
                space, letter = extra
                if space == "param":
                    value = registers[target] = arguments[str(place)]
                else:
                    address = (registers[place] if type(place) is str else place) + offset
                    accesses.append((here, address, space, SIZES[letter]))
                    if space == "shared":
                        value = struct.unpack_from(letter, shared, address)[0]
                    else:
                        value = struct.unpack_from(letter, memory, address - base)[0]
                    registers[target] = value
            elif kind == "store":
                place, offset = sources
                space, letter = extra
                address = (registers[place] if type(place) is str else place) + offset
                accesses.append((here, address, space, SIZES[letter]))
                value = registers[target] if type(target) is str else target
                if space == "shared":
                    struct.pack_into(letter, shared, address, value)
                else:
                    struct.pack_into(letter, memory, address - base, value)
            elif kind == "branch":
                pc = extra
            if trace is not None:
                trace.append((thread.index, here, value))
            if kind == "barrier":
                thread.pc = pc
                return
            if kind == "exit":
                thread.done = True
                return

    # Counting. The n-th time that the lanes of a warp reach an instruction is one request.

    def _count_accesses(self, threads: list[Thread]) -> None:
        result = self.result
        for first in range(0, len(threads), 32):
            requests: dict[tuple[int, int], list[tuple[int, str, int]]] = defaultdict(list)
            for thread in threads[first : first + 32]:
                seen: dict[int, int] = {}
                for pc, address, space, size in thread.accesses:
                    turn = seen[pc] = seen.get(pc, 0) + 1
                    requests[pc, turn].append((address, space, size))
                thread.accesses.clear()
            for (pc, _), lanes in requests.items():
                result.requests[pc] += 1
                if lanes[0][1] == "global":
                    result.sectors[pc] += len({address // 32 for address, _, _ in lanes})
                else:
                    banks: dict[int, int] = defaultdict(int)
                    for word in {address // 4 for address, _, _ in lanes}:
                        banks[word % 32] += 1
                    result.wavefronts[pc] += max(banks.values())

    def _count_warps(self, threads: list[Thread]) -> None:
        result = self.result
        for pc in range(len(self.code)):
            for first in range(0, len(threads), 32):
                counts = [thread.counts[pc] for thread in threads[first : first + 32]]
                result.warp_executed[pc] += max(counts)
                off = sum(thread.off[pc] for thread in threads[first : first + 32])
                result.thread_executed[pc] += sum(counts) - off
