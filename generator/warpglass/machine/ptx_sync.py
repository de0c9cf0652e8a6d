"""From PTX to executable: atomics, barriers, asynchronous copies, address queries, hints, traps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpglass.machine import lsu
from warpglass.machine.async_copy import CommitOp, CopyOp, WaitGroupOp
from warpglass.machine.matrix import MatrixOp
from warpglass.machine.mbarrier import pending_of
from warpglass.machine.program import DTYPES, Op
from warpglass.machine.ptx_atomic import build_atomic
from warpglass.machine.ptx_barrier import ClusterArriveOp, ClusterWaitOp, GeneralBarrierOp, WarpBarrierOp
from warpglass.machine.ptx_cluster import MapAddressOp, RankOp, SpaceQueryOp
from warpglass.machine.ptx_control import BarrierOp, NopOp, TrapOp
from warpglass.machine.ptx_lowering import Builder, Lowering, space_of, type_of
from warpglass.machine.ptx_mbarrier import BulkCopyOp, MbarrierOp, MbarrierWaitOp
from warpglass.machine.ptx_operands import Unsupported, container_of_type
from warpglass.machine.ptx_ops import lower
from warpglass.machine.wmma import build_wmma
from warpglass.ptx.model import Address, Immediate, Instruction, Negated, Operand, Pair, Sink, Symbol, Vector
from warpglass.ptx.opcodes import TYPE_SIZES

__all__ = ["TABLE"]


def _atom(low: Lowering, i: Instruction, pc: int) -> Op:
    kind = type_of(i)
    if "async" in i.parts:
        raise Unsupported("")
    return build_atomic(low, i, pc, space_of(i), kind, TYPE_SIZES[kind])


# -- barriers --------------------------------------------------------------------------------------------


def _bar(low: Lowering, i: Instruction, pc: int) -> Op:
    parts = [p for p in i.parts[1:] if p not in ("aligned", "cta")]
    if parts[:1] == ["warp"]:
        member, _, _ = low.scope.source(i.operands[0], "b32", "u32")
        return WarpBarrierOp(pc, member)
    if parts[:1] == ["cluster"]:
        return ClusterWaitOp(pc) if "wait" in parts else ClusterArriveOp(pc)
    kind = parts[0] if parts else "sync"
    operands = list(i.operands)
    if kind == "red":
        return _bar_red(low, i, pc, parts[1])
    if kind not in ("sync", "arrive"):
        raise Unsupported("")
    if all(isinstance(o, Immediate) for o in operands):
        numbers = [o.bits for o in operands if isinstance(o, Immediate)]
        barrier = numbers[0] if numbers else 0
        if 0 <= barrier < 16 and (len(numbers) < 2 or numbers[1] % 32 == 0):
            return BarrierOp(pc, barrier, numbers[1] if len(numbers) > 1 else None, kind == "sync")
    registers = [low.scope.source(o, "b32", "u32")[0] for o in operands]
    return GeneralBarrierOp(pc, registers[0], registers[1] if len(registers) > 1 else None, kind == "sync")


def _bar_red(low: Lowering, i: Instruction, pc: int, reduction: str) -> Op:
    dest, barrier, *rest = i.operands
    predicate = rest.pop()
    negate = isinstance(predicate, Negated)
    source = predicate.operand if isinstance(predicate, Negated) else predicate
    target = None if isinstance(dest, Sink) else low.scope.register(dest)
    threads = low.scope.source(rest[0], "b32", "u32")[0] if rest else None
    return GeneralBarrierOp(
        pc, low.scope.source(barrier, "b32", "u32")[0], threads, True, reduction, target,
        low.scope.predicate(source), negate,
    )  # fmt: skip


# -- asynchronous copies ---------------------------------------------------------------------------------


def _cp(low: Lowering, i: Instruction, pc: int) -> Op:
    parts = i.parts
    if parts[:2] == ("cp", "reduce"):
        raise Unsupported("")
    if "bulk" in parts:
        return _cp_bulk(low, i, pc)
    if "commit_group" in parts:
        return CommitOp(pc)
    if "wait_all" in parts:
        return WaitGroupOp(pc, None)
    if "wait_group" in parts:
        count = i.operands[0]
        if not isinstance(count, Immediate):
            raise Unsupported("a group count in a register")
        return WaitGroupOp(pc, count.bits)
    if "mbarrier" in parts:
        space, base, offset = low.address(i.operands[0], space_of(i))
        action = "copies_noinc" if "noinc" in parts else "copies"
        return MbarrierOp(pc, action, space, base, offset, None, False, None)
    dest, source, size, *rest = i.operands
    _, to, to_offset = low.address(dest, lsu.SHARED)
    _, origin, origin_offset = low.address(source, lsu.GLOBAL)
    if not isinstance(size, Immediate) or size.bits not in (4, 8, 16):
        raise Unsupported("a copy size that is not 4, 8 or 16")
    source_size = None
    hinted = any("cache_hint" in p for p in parts)
    if rest and not (hinted and len(rest) == 1):
        kind = low.scope.source(rest[0], "b32", "u32")[0]
        if not isinstance(rest[0], Immediate) and low.scope.file.containers[kind] == "pred":
            raise Unsupported("the ignore-src predicate")
        source_size = kind
    return CopyOp(pc, to, to_offset, origin, origin_offset, size.bits, source_size)


def _cp_bulk(low: Lowering, i: Instruction, pc: int) -> Op:
    parts = i.parts
    if "tensor" in parts:
        raise Unsupported("")
    if "commit_group" in parts or "wait_group" in parts or "prefetch" in parts:
        return NopOp(pc)
    spaces = [p.split("::")[0] for p in parts if p.split("::")[0] in ("shared", "global")]
    if len(spaces) < 2:
        raise Unsupported("")
    codes = [lsu.SHARED if s == "shared" else lsu.GLOBAL for s in spaces]
    operands = list(i.operands)
    dest = low.address(operands.pop(0), codes[0])
    source = low.address(operands.pop(0), codes[1])
    size = low.scope.source(operands.pop(0), "b32", "u32")[0]
    barrier = None
    if any(p.startswith("mbarrier") for p in parts):
        barrier = low.address(operands.pop(0), lsu.SHARED)
    mask = None
    if any(p.startswith("multicast") for p in parts) and operands:
        mask = low.scope.source(operands.pop(0), "b16", "u16")[0]
    return BulkCopyOp(pc, dest, source, size, barrier, mask)


def _mbarrier(low: Lowering, i: Instruction, pc: int) -> Op:
    parts = i.parts
    action = parts[1]
    operands = list(i.operands)
    if action == "pending_count":
        state, fix, _ = low.scope.source(operands[1], "b64")
        return low.unary(pc, operands[0], state, lambda a: pending_of(a if fix is None else fix(a)), "b32")
    if action in ("test_wait", "try_wait"):
        target = low.scope.register(operands[0])
        space, base, offset = low.address(operands[1], space_of(i))
        parity = "parity" in parts
        operand, _, _ = low.scope.source(operands[2], "b32" if parity else "b64", "u32")
        return MbarrierWaitOp(pc, space, base, offset, operand, parity, action == "try_wait", target)
    result: int | None = None
    if action in ("arrive", "arrive_drop") and not isinstance(operands[0], Address):
        dest = operands.pop(0)
        result = None if isinstance(dest, Sink) else low.scope.register(dest)
    space, base, offset = low.address(operands[0], space_of(i))
    count = low.scope.source(operands[1], "b32", "u32")[0] if len(operands) > 1 else None
    if action not in ("init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx"):
        raise Unsupported("")
    return MbarrierOp(pc, action, space, base, offset, count, "expect_tx" in parts[2:], result)


# -- tiles -----------------------------------------------------------------------------------------------


def _matrix(low: Lowering, i: Instruction, pc: int) -> Op:
    if "m8n8" not in i.parts or "b16" not in i.parts:
        raise Unsupported("")
    load = i.base == "ldmatrix"
    data, where = (i.operands[0], i.operands[1]) if load else (i.operands[1], i.operands[0])
    elements = data.elements if isinstance(data, Vector) else (data,)
    registers = tuple(low.scope.register(e) for e in elements)
    space, base, offset = low.address(where, space_of(i))
    member = low.constant(0xFFFFFFFF, "b32")
    return MatrixOp(pc, space, base, offset, registers, "trans" in i.parts, load, member, i.opcode)


def _wmma(low: Lowering, i: Instruction, pc: int) -> Op:
    if i.parts[1] == "mma":
        meaning = lower(i)
        if meaning is None:
            raise Unsupported("")
        return low.arithmetic(meaning, i, pc)
    return build_wmma(low, i, pc, space_of(i))


# -- addresses -------------------------------------------------------------------------------------------


def _address_value(low: Lowering, operand: Operand, container: str) -> int:
    index, fix, _ = low.scope.source(operand, container)
    if fix is not None:
        raise Unsupported("an address of another width")
    return index


def _mapa(low: Lowering, i: Instruction, pc: int) -> Op:
    container = container_of_type(type_of(i))
    target = low.scope.register(i.operands[0])
    shared = any(p.startswith("shared") for p in i.parts)
    value = i.operands[1]
    rank, _, _ = low.scope.source(i.operands[2], "b32", "u32")
    window = 0 if shared else low.arena.layout.shared_window
    if isinstance(value, Symbol) and value.name in low.layout.shared:
        base = low.constant(low.layout.shared[value.name] + value.offset + window, container)
    else:
        base = _address_value(low, value, container)
    return MapAddressOp(pc, target, base, rank, window, DTYPES[container])


def _getctarank(low: Lowering, i: Instruction, pc: int) -> Op:
    container = container_of_type(type_of(i))
    shared = any(p.startswith("shared") for p in i.parts)
    return RankOp(
        pc, low.scope.register(i.operands[0]), _address_value(low, i.operands[1], container),
        0 if shared else low.arena.layout.shared_window,
    )  # fmt: skip


def _isspacep(low: Lowering, i: Instruction, pc: int) -> Op:
    target = low.scope.register(i.operands[0])
    base = _address_value(low, i.operands[1], f"b{low.module.address_size}")
    name = i.parts[1].split("::")[0]
    own_only = i.parts[1] in ("shared", "shared::cta")
    return SpaceQueryOp(pc, target, base, name, own_only)


# -- the rest --------------------------------------------------------------------------------------------


def _trap(low: Lowering, i: Instruction, pc: int) -> Op:
    return TrapOp(pc)


def _policy(low: Lowering, i: Instruction, pc: int) -> Op:
    # A cache policy is an opaque handle; nothing here caches, so that any value serves.
    dest = i.operands[0]
    if isinstance(dest, Pair):
        raise Unsupported("")
    value: Any = np.zeros(1, dtype=np.uint64)
    return low.constant_op(pc, ((low.scope.register(dest), value),))


#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {
    "atom": _atom, "red": _atom, "bar": _bar, "barrier": _bar, "cp": _cp, "mbarrier": _mbarrier,
    "wmma": _wmma, "ldmatrix": _matrix, "stmatrix": _matrix, "mapa": _mapa, "getctarank": _getctarank,
    "isspacep": _isspacep, "trap": _trap, "createpolicy": _policy,
}  # fmt: skip
