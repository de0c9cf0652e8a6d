"""A small evaluator of machine code for the tests of its computing opcodes.

It runs one block of one-dimensional threads with flat memory: always the lanes at the lowest offset next, so
that divergent lanes meet again by themselves. No shared memory, no barriers: what computes is the table
under test, and what moves data is kept as simple as it can be.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from warpglass import sass
from warpglass.machine.sass_ops import LaneOp, lower
from warpglass.sass.operands import (
    Address,
    Constant,
    Immediate,
    Label,
    Predicate,
    Register,
    SpecialRegister,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

BASE = 0x10000000
DTYPES = {"pred": np.bool_, "b32": np.uint32}
QUIET = ("NOP", "BSSY", "BSYNC", "WARPSYNC", "YIELD", "ENDCOLLECTIVE", "BMOV", "DEPBAR", "BREAK")


@lru_cache(maxsize=16)
def assemble(ptx: str, arch: str) -> sass.Module:
    """The machine code of the PTX text."""
    tool = shutil.which("ptxas")
    if tool is None:
        pytest.skip("ptxas is missing")
    with tempfile.TemporaryDirectory() as folder:
        source, image = Path(folder) / "t.ptx", Path(folder) / "t.cubin"
        source.write_text(ptx)
        done = subprocess.run(
            [tool, f"-arch={arch}", str(source), "-o", str(image)], capture_output=True, timeout=120
        )
        if done.returncode:
            raise RuntimeError(done.stdout.decode() + done.stderr.decode())
        return sass.load(image.read_bytes())


class Evaluator:
    """Runs ``kernel`` with ``args``: arrays are buffers and are changed in place."""

    def __init__(self, module: sass.Module, kernel: str, threads: int, args: list[np.ndarray | int]) -> None:
        function = next(f for f in module.functions if f.name == kernel)
        self.module, self.function = module, function
        self.sm = module.sm or 0
        self.code = function.by_offset
        warps = (threads + 31) // 32
        self.shape = (warps, 32)
        lanes = np.arange(warps * 32, dtype=np.uint32).reshape(self.shape)
        self.tid = lanes
        self.pc = np.where(lanes < threads, 0, -1).astype(np.int64)
        self.registers: dict[tuple[str, int], np.ndarray] = {}
        self.memory = np.zeros(1 << 22, dtype=np.uint8)
        self.banks = {0: np.zeros(0x1200, dtype=np.uint8)}
        for name, data in module.sections.items():
            for bank in (2, 3, 4):
                if name.startswith(f".nv.constant{bank}") and (
                    name.count(".") < 3 or name.endswith(f".{kernel}")
                ):
                    self.banks[bank] = np.frombuffer(data + bytes(16), dtype=np.uint8)
        self._place(args, threads)
        self.opcodes: set[str] = set()

    def _place(self, args: list[np.ndarray | int], threads: int) -> None:
        base = self.function.param_base
        assert base is not None
        at, place = 256, base
        self.buffers = []
        for arg in args:
            if isinstance(arg, np.ndarray):
                raw = arg.view(np.uint8).reshape(-1)
                self.memory[at : at + raw.size] = raw
                self.buffers.append((arg, at, raw.size))
                value, size = BASE + at, 8
                at += (raw.size + 511) // 256 * 256
            else:
                value, size = arg, 4
            place = (place + size - 1) // size * size
            self.banks[0][place : place + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
            place += size
        block = {True: 0x360, False: 0x0}[self.sm >= 100]
        self.banks[0][block : block + 12] = np.array([threads, 1, 1], dtype=np.uint32).view(np.uint8)

    # -- registers ---------------------------------------------------------------------------------------

    def read(self, operand: object, kind: str = "b32") -> np.ndarray:
        if isinstance(operand, Immediate):
            return np.array([operand.value], dtype=DTYPES[kind])
        if isinstance(operand, Constant):
            return self._constant(operand)
        if isinstance(operand, Label):
            assert operand.target is not None
            return np.array([operand.target if operand.part != "hi" else 0], dtype=np.uint32)
        assert isinstance(operand, Register | UniformRegister | Predicate | UniformPredicate)
        if operand.index is None:
            return np.array([kind == "pred"], dtype=DTYPES[kind])
        key = (type(operand).__name__, operand.index)
        if key not in self.registers:
            self.registers[key] = np.zeros(self.shape, dtype=DTYPES[kind])
        return self.registers[key]

    def _constant(self, operand: Constant, size: int = 4) -> np.ndarray:
        offset = operand.offset
        bank = operand.bank if isinstance(operand.bank, int) else 0
        assert operand.base is None
        return self.banks[bank][offset : offset + size].view(np.uint32)

    def write(self, operand: object, value: np.ndarray, mask: np.ndarray) -> None:
        assert isinstance(operand, Register | UniformRegister | Predicate | UniformPredicate)
        if operand.index is None:
            return
        kind = "pred" if isinstance(operand, Predicate | UniformPredicate) else "b32"
        value = np.asarray(value)
        assert value.dtype == DTYPES[kind], (operand, value.dtype)
        value = np.broadcast_to(value, self.shape)
        if isinstance(operand, UniformRegister | UniformPredicate):
            # One value a warp: all lanes on must agree.
            first = np.take_along_axis(value, mask.argmax(axis=1)[:, None], axis=1)
            assert ((value == first) | ~mask).all(), operand
            value = np.broadcast_to(first, self.shape)
            mask = np.broadcast_to(mask.any(axis=1)[:, None], self.shape)
        old = self.read(operand, kind)
        self.registers[type(operand).__name__, operand.index] = np.where(mask, value, old)

    # -- running -----------------------------------------------------------------------------------------

    def run(self) -> None:
        with np.errstate(all="ignore"):
            for _ in range(100000):
                live = self.pc >= 0
                if not live.any():
                    break
                here = int(self.pc[live].min())
                self.step(here, self.pc == here)
            else:
                raise AssertionError("endless")
        for arg, at, size in self.buffers:
            arg.view(np.uint8).reshape(-1)[:] = self.memory[at : at + size]

    def step(self, here: int, mask: np.ndarray) -> None:
        i = self.function.instructions[self.code[here]]
        on = mask
        if i.guard is not None:
            value = np.broadcast_to(self.read(type(i.guard)(i.guard.index), "pred"), self.shape)
            on = mask & (value ^ i.guard.negated)
        self.pc[mask] = here + 16
        if not on.any():
            return
        self.opcodes.add(i.opcode)
        op = lower(i, self.sm)
        if op is not None:
            sources = [self.read(s, t) for s, t in zip(op.sources, op.source_types, strict=True)]
            results = op.fn(*sources) if isinstance(op, LaneOp) else op.fn(on, *sources)
            assert len(results) == len(op.dests), i.text
            for dest, result in zip(op.dests, results, strict=True):
                self.write(dest, result, on)
            return
        if i.base in QUIET:
            return
        getattr(self, f"_{i.base.lower()}")(i, on)

    def _exit(self, i: sass.Instruction, on: np.ndarray) -> None:
        self.pc[on] = -1

    def _bra(self, i: sass.Instruction, on: np.ndarray) -> None:
        if any(m in ("U", "DIV", "CONV") for m in i.modifiers):
            return  # all lanes of a warp stay together here
        where = i.operands[-1]
        for condition in i.operands[:-1]:
            if isinstance(condition, Predicate | UniformPredicate):
                value = self.read(type(condition)(condition.index), "pred")
                on = on & (np.broadcast_to(value, self.shape) ^ condition.negated)
        self.pc[on] = where.target if isinstance(where, Label) else int(where.value)  # type: ignore[union-attr]

    _call = _bra

    def _ret(self, i: sass.Instruction, on: np.ndarray) -> None:
        self.pc[on] = np.broadcast_to(self.read(i.operands[0]), self.shape)[on]

    def _s2r(self, i: sass.Instruction, on: np.ndarray) -> None:
        special = i.operands[1]
        assert isinstance(special, SpecialRegister)
        value = {"TID.X": self.tid, "LANEID": self.tid & 31}.get(special.name, np.zeros(1, dtype=np.uint32))
        self.write(i.operands[0], value.astype(np.uint32), on)

    _s2ur = _s2r

    def _cs2r(self, i: sass.Instruction, on: np.ndarray) -> None:
        first = i.operands[0]
        for k in range(1 if "32" in i.modifiers else 2):
            self.write(Register(first.index + k), np.zeros(1, dtype=np.uint32), on)  # type: ignore[union-attr]

    def _words(self, i: sass.Instruction) -> int:
        return next((int(m) // 32 for m in i.modifiers if m in ("64", "128")), 1)

    def _ldc(self, i: sass.Instruction, on: np.ndarray) -> None:
        dest, source = i.operands
        assert isinstance(source, Constant)
        values = self._constant(source, 4 * self._words(i))
        for k in range(self._words(i)):
            self.write(type(dest)(dest.index + k), values[k : k + 1], on)  # type: ignore[union-attr,call-arg]

    _ldcu = _uldc = _ldc

    def _address(self, address: Address) -> np.ndarray:
        place = np.zeros(self.shape, dtype=np.int64)
        for part in (address.register, address.uniform):
            if part is None or part.index is None:
                continue
            low = self.read(type(part)(part.index)).astype(np.int64)
            if part is address.register and "U32" in part.suffixes:
                place = place + low
            else:
                place = place + low + (self.read(type(part)(part.index + 1)).astype(np.int64) << 32)
        return place + address.offset - BASE

    def _ldg(self, i: sass.Instruction, on: np.ndarray) -> None:
        dest, address = i.operands[0], i.operands[1]
        assert isinstance(address, Address)
        place = np.where(on, self._address(address), 0)
        small = next((m for m in i.modifiers if m in ("U8", "S8", "U16", "S16")), None)
        if small is not None:
            raw = self.memory[place].astype(np.uint32)
            if small[1:] == "16":
                raw = raw | (self.memory[place + 1].astype(np.uint32) << 8)
            if small[0] == "S":
                width = np.uint32(32 - int(small[1:]))
                raw = ((raw << width).view(np.int32) >> width.astype(np.int32)).view(np.uint32)
            self.write(dest, raw, on)
            return
        for k in range(self._words(i)):
            word = self.memory[place[..., None] + 4 * k + np.arange(4)].view(np.uint32)[..., 0]
            self.write(Register(dest.index + k), word, on)  # type: ignore[union-attr]

    def _stg(self, i: sass.Instruction, on: np.ndarray) -> None:
        address, source = i.operands
        assert isinstance(address, Address)
        place = self._address(address)
        size = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}.get(
            next((m for m in i.modifiers if m in ("U8", "S8", "U16", "S16")), ""), 4
        )
        for k in range(self._words(i)):
            null = source.index is None  # type: ignore[union-attr]
            register = Register(None if null else source.index + k)  # type: ignore[union-attr]
            value = np.broadcast_to(self.read(register), self.shape)[on]
            raw = np.ascontiguousarray(value).view(np.uint8).reshape(-1, 4)[:, :size]
            self.memory[place[on][:, None] + 4 * k + np.arange(size)] = raw


def evaluate(module: sass.Module, kernel: str, threads: int, args: list[np.ndarray | int]) -> set[str]:
    """Run to the end; the opcodes met."""
    machine = Evaluator(module, kernel, threads, args)
    machine.run()
    return machine.opcodes
