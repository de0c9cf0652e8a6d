"""What lanes of a warp tell each other: shuffle, vote, match, reduce. Arrays are ``[W, 32]``."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array, signed

__all__ = ["LANES", "ballot_bits", "elect", "match_all", "match_any", "reduce", "shuffle", "vote"]

LANES = np.arange(32, dtype=np.uint32)
_BIT = np.left_shift(np.uint32(1), LANES)
_U32 = np.uint32


def _source_lane(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Lane read from, and whether it is in range (PTX ISA, shfl); operands broadcast to ``[.., 32]``."""
    value, clamp, segment = b & _U32(31), c & _U32(31), (c >> _U32(8)) & _U32(31)
    top = (LANES & segment) | (clamp & ~segment)
    lane = LANES.astype(np.int32)
    if mode == "up":
        j = lane - value.astype(np.int32)
        inside = j >= top.astype(np.int32)
    elif mode == "down":
        j = lane + value.astype(np.int32)
        inside = j <= top.astype(np.int32)
    elif mode == "bfly":
        j = (LANES ^ value).astype(np.int32)
        inside = j <= top.astype(np.int32)
    elif mode == "idx":
        j = ((LANES & segment) | (value & ~segment)).astype(np.int32)
        inside = j <= top.astype(np.int32)
    else:
        raise KeyError(mode)
    return np.where(inside, j, lane), inside


def shuffle(
    mask: Array, mode: str, a: Array, b: Array, c: Array, members: Array | None = None
) -> tuple[Array, Array]:
    """``shfl``: values and the in-range predicate.

    A lane out of range, or whose source lane does not take part (PTX leaves that value undefined), gets its
    own value. ``members`` are the lane masks of the ``.sync`` form.
    """
    a = np.broadcast_to(a, mask.shape)
    j, inside = _source_lane(mode, b, c)
    if j.ndim == 1 and mask.all() and (members is None or (members == _U32(0xFFFFFFFF)).all()):
        # A whole warp and one offset for all: columns in a fixed order.
        return a[:, j], np.broadcast_to(inside, mask.shape)
    rows = np.arange(mask.shape[0])[:, None]
    active = mask if mask.all() and members is None else mask[rows, j]
    if members is not None:
        named = (np.right_shift(members, j.astype(np.uint32)) & _U32(1)) != 0
        active = active & named
    return np.where(active, a[rows, j], a), np.broadcast_to(inside, mask.shape)


def ballot_bits(flags: Array) -> Array:
    """One uint32 a warp, ``[W, 1]``: bit i is lane i's flag."""
    packed = np.packbits(flags, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u4").astype(np.uint32, copy=False)


def vote(mask: Array, mode: str, a: Array, members: Array | None) -> Array:
    """``vote``: all, any, uni (bool) or ballot (uint32) over the lanes that execute and are named."""
    yes = ballot_bits(mask & np.broadcast_to(a, mask.shape))
    here = ballot_bits(mask)
    if members is not None:
        yes, here = yes & members, here & members
    if mode == "ballot":
        result = yes
    elif mode == "any":
        result = yes != 0
    elif mode == "all":
        result = yes == here
    elif mode == "uni":
        result = (yes == here) | (yes == 0)
    else:
        raise KeyError(mode)
    return np.broadcast_to(result, mask.shape)


def match_any(mask: Array, a: Array, members: Array) -> Array:
    """For each lane the mask of the lanes that hold the same value."""
    a = np.broadcast_to(a, mask.shape)
    same = (a[:, :, None] == a[:, None, :]) & mask[:, None, :]
    return ballot_bits(same)[..., 0] & members


def match_all(mask: Array, a: Array, members: Array) -> tuple[Array, Array]:
    """The mask of participants and True where all hold one value, else 0 and False."""
    here = ballot_bits(mask) & members
    every = match_any(mask, a, members) == here
    return np.where(every, here, _U32(0)), every


def elect(mask: Array, members: Array) -> tuple[Array, Array]:
    """The lowest participating lane, and True in it."""
    here = np.broadcast_to(ballot_bits(mask) & members, mask.shape)
    lowest = here & (_U32(0) - here)
    leader = np.bitwise_count(lowest - _U32(1)).astype(_U32)
    return leader, leader == LANES


_NEUTRAL = {"add": 0, "and": 0xFFFFFFFF, "or": 0, "xor": 0}


def _fold(op: str, x: Array, axis: int) -> Array:
    functions = {
        "add": lambda v: np.add.reduce(v, axis=axis, dtype=v.dtype),
        "min": lambda v: np.minimum.reduce(v, axis=axis),
        "max": lambda v: np.maximum.reduce(v, axis=axis),
        "and": lambda v: np.bitwise_and.reduce(v, axis=axis),
        "or": lambda v: np.bitwise_or.reduce(v, axis=axis),
        "xor": lambda v: np.bitwise_xor.reduce(v, axis=axis),
    }
    return functions[op](x)  # type: ignore[no-any-return]


def reduce(
    mask: Array, op: str, a: Array, members: Array, kind: str, absolute: bool = False, nan: bool = False
) -> Array:
    """``redux.sync``: add, min, max, and, or, xor on u32, s32, b32; min and max on f32.

    f32: a NaN loses unless ``nan``; -0 is below +0; ``absolute`` takes magnitudes first.
    """
    a = np.broadcast_to(a, mask.shape)
    members = np.broadcast_to(members, mask.shape)
    key: Array
    if kind == "f32":
        # An order-preserving integer key; NaNs go to the losing end, or the winning one.
        bits = a & _U32(0x7FFFFFFF) if absolute else a
        is_nan = (bits & _U32(0x7FFFFFFF)) > _U32(0x7F800000)
        key = signed(np.where((bits >> _U32(31)) != 0, bits ^ _U32(0x7FFFFFFF), bits)).astype(np.int64)
        winner = 1 << 40 if op == "max" else -(1 << 40)
        key = np.where(is_nan, winner if nan else -winner, key)
        neutral = -(1 << 41) if op == "max" else 1 << 41
    elif op in ("min", "max"):
        key = (signed(a) if kind == "s32" else a).astype(np.int64)
        neutral = -(1 << 41) if op == "max" else 1 << 41
    else:
        key, neutral = a, _NEUTRAL[op]
    first = members[:, :1]
    if (members == first).all():
        take = mask & ((np.right_shift(first, LANES) & _U32(1)) != 0)
        result = _fold(op, np.where(take, key, key.dtype.type(neutral)), 1)[:, None]
    else:
        named = (np.right_shift(members[:, :, None], LANES) & _U32(1)) != 0
        result = _fold(op, np.where(named & mask[:, None, :], key[:, None, :], key.dtype.type(neutral)), 2)
    result = np.broadcast_to(result, mask.shape)
    if kind != "f32":
        return result.astype(_U32)
    back = result.astype(np.int32).view(_U32)
    back = np.where((back >> _U32(31)) != 0, back ^ _U32(0x7FFFFFFF), back)
    return np.where(np.abs(result) >= 1 << 40, _U32(0x7FFFFFFF), back)
