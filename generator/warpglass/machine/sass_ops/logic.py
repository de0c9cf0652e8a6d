"""Bits: logic of three inputs, shifts, permutation, counts, predicates as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import bits
from warpglass.machine.numeric.bits import Array
from warpglass.machine.sass_ops.operands import (
    Arg,
    constant,
    immediate,
    integer,
    is_null,
    is_register,
    predicate,
    selected,
    split,
    wide,
    word,
)  # fmt: skip
from warpglass.machine.sass_ops.wiring import Lowered, Out, Table, choose, lane, out32, outp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Immediate, Operand, Predicate, UniformPredicate, Word

__all__ = ["TABLE"]

_U32: Any = np.uint32
_U64: Any = np.uint64
Function3 = Callable[[Array, Array, Array], Array]

#: Functions of two inputs by their four result bits, input pair ``2a + b``.
_TWO: dict[int, Callable[[Array, Array], Array]] = {
    0b0001: lambda a, b: ~(a | b),
    0b0010: lambda a, b: ~a & b,
    0b0100: lambda a, b: a & ~b,
    0b0110: lambda a, b: a ^ b,
    0b0111: lambda a, b: ~(a & b),
    0b1000: lambda a, b: a & b,
    0b1001: lambda a, b: ~(a ^ b),
    0b1011: lambda a, b: ~a | b,
    0b1101: lambda a, b: a | ~b,
    0b1110: lambda a, b: a | b,
}


def _known(arg: Arg) -> bool | None:
    """The input's value where every bit of it is the same constant."""
    operand = arg.operands[0]
    if arg.fix is not None or not isinstance(operand, Immediate):
        return None
    if operand.value == 0:
        return False
    full = 1 if arg.types[0] == "pred" else 0xFFFFFFFF
    return True if operand.value == full else None


def _fixed(table: int, place: int, value: bool) -> int:
    """The table with input ``place`` (0 is a) held at ``value``."""
    bit = 4 >> place
    result = 0
    for index in range(8):
        source = (index | bit) if value else (index & ~bit)
        result |= (table >> source & 1) << index
    return result


def _depends(table: int, place: int) -> bool:
    return _fixed(table, place, False) != _fixed(table, place, True)


def _lop3(table: int, args: list[Arg]) -> tuple[Callable[..., Array], list[Arg]]:
    """The function of those inputs that matter, and them."""
    for place, arg in enumerate(args):
        value = _known(arg)
        if value is not None:
            table = _fixed(table, place, value)
    used = [place for place in range(3) if _depends(table, place)]
    kept = [args[place] for place in used]
    if len(used) == 3:
        return (lambda a, b, c: bits.lop3(a, b, c, table)), kept
    if len(used) == 2:
        rows = 0
        for index in range(4):
            full = (4 >> used[0]) * (index >> 1) | (4 >> used[1]) * (index & 1)
            rows |= (table >> full & 1) << index
        return _TWO[rows], kept
    if len(used) == 1:
        rising = bool(table >> (4 >> used[0]) & 1)
        return ((lambda a: a) if rising else np.invert), kept
    kind = args[0].types[0]
    every = (1 if kind == "pred" else 0xFFFFFFFF) if table & 1 else 0
    return (lambda a: a), [Arg((constant(every),), (kind,))]


def _lop3_lut(i: Instruction) -> Lowered | None:
    """``{P,} R, a, b, c, table, Pin``: P is (result not 0) or Pin, and Pin with ``.PAND``."""
    p = split(i)
    table = immediate(p.sources[3]) & 0xFF
    fn, args = _lop3(table, [integer(s) for s in p.sources[:3]])
    flags = [x for x in (*p.lead, *p.mid) if not is_null(x)]
    if not flags:
        return lane([out32(p.dest)], args, lambda *xs: (fn(*xs),))
    if len(flags) > 1:
        return None
    with_pin = np.logical_and if "PAND" in i.modifiers else np.logical_or
    pin = predicate(p.tail[0]) if p.tail else Arg((constant(0),), ("pred",))
    neutral = _known(pin) is ("PAND" in i.modifiers)
    count = len(args)

    def core(*xs: Array) -> tuple[Array, ...]:
        result = fn(*xs[:count])
        flag = result != 0
        return result, flag if neutral else with_pin(flag, xs[count])

    outs = [out32(p.dest), outp(flags[0])]
    return lane(outs, args if neutral else [*args, pin], core)


def _flag(operand: Operand) -> Arg:
    """A predicate, or the sign of a register (``R3.SIGN``)."""
    if is_register(operand) and "SIGN" in getattr(operand, "suffixes", ()):
        bare = word(operand)
        if bare.fix is None:
            return Arg(bare.operands, bare.types, lambda a: (a >> _U32(31)) != 0)
    return predicate(operand)


def _plop3(i: Instruction) -> Lowered | None:
    """``P, Q, a, b, c, table, table2``: the first table for P, the second for Q."""
    operands = i.operands
    if len(operands) != 7:
        return None
    args = [_flag(o) for o in operands[2:5]]
    outs: list[Out] = []
    plan: list[tuple[Callable[..., Array], list[int]]] = []
    used: list[Arg] = []
    for dest, table in zip(operands[:2], operands[5:], strict=True):
        if is_null(dest):
            continue
        fn, kept = _lop3(immediate(table) & 0xFF, args)
        places = list(range(len(used), len(used) + len(kept)))
        used += kept
        plan.append((fn, places))
        outs.append(outp(dest))
    return lane(outs, used, lambda *xs: tuple(fn(*(xs[k] for k in places)) for fn, places in plan))


# ---------------------------------------------------------------- shifts


def _shf(i: Instruction) -> Lowered | None:
    """``R, a, n, c``: the pair {c, a} shifted; its upper half with ``.HI``, else its lower half.

    The amount is clamped to the width of the type, or taken modulo it with ``.W``.
    """
    mods = i.modifiers
    p = split(i)
    left, high, wrap = "L" in mods, "HI" in mods, "W" in mods
    double = any(m in ("U64", "S64") for m in mods)
    arithmetic = any(m in ("S32", "S64") for m in mods)
    low, amount, top = (integer(s) for s in p.sources)
    out = [out32(p.dest)]
    if not double and not wrap:
        # The common shifts of one word.
        if left and not high:
            return lane(out, [low, amount], lambda a, n: (bits.shl(a, n),))
        if not left and high:
            shift = bits.sar if arithmetic else bits.shr
            return lane(out, [amount, top], lambda n, c: (shift(c, n),))
    width = 64 if double else 32

    def core(a: Array, n: Array, c: Array) -> tuple[Array, ...]:
        count = (n & _U32(width - 1)) if wrap else np.minimum(n, _U32(width))
        both = a.astype(np.uint64) | (c.astype(np.uint64) << _U64(32))
        if left:
            both = bits.shl(both, count)
        else:
            both = bits.sar(both, count) if arithmetic else bits.shr(both, count)
        return ((both >> _U64(32) if high else both).astype(np.uint32),)

    return lane(out, [low, amount, top], core)


def _shift(left: bool) -> Callable[[Instruction], Lowered | None]:
    def build(i: Instruction) -> Lowered | None:
        p = split(i)
        wrap = "W" in i.modifiers
        arithmetic = not left and not any(m.startswith("U") for m in i.modifiers)
        shift = bits.shl if left else bits.sar if arithmetic else bits.shr
        args = [integer(s) for s in p.sources]
        if wrap:
            return lane([out32(p.dest)], args, lambda a, n: (shift(a, n & _U32(31)),))
        return lane([out32(p.dest)], args, lambda a, n: (shift(a, n),))

    return build


def _bmsk(i: Instruction) -> Lowered | None:
    p = split(i)
    wrap = "W" in i.modifiers
    return lane([out32(p.dest)], [*map(integer, p.sources)], lambda a, n: (bits.bmsk(a, n, wrap),))


def _sgxt(i: Instruction) -> Lowered | None:
    p = split(i)
    wrap, signed = "W" in i.modifiers, "U32" not in i.modifiers
    return lane([out32(p.dest)], [*map(integer, p.sources)], lambda a, n: (bits.szext(a, n, signed, wrap),))


_PRMT_MODES = {"F4E": "f4e", "B4E": "b4e", "RC8": "rc8", "ECL": "ecl", "ECR": "ecr", "RC16": "rc16"}


def _prmt(i: Instruction) -> Lowered | None:
    """``R, a, selector, b``."""
    p = split(i)
    mode = next((_PRMT_MODES[m] for m in i.modifiers if m in _PRMT_MODES), "")
    args = [word(s) for s in p.sources]
    selector = args[1].operands[0]
    if mode == "" and isinstance(selector, Immediate):
        fn = _fixed_prmt(int(selector.value) & 0xFFFF)
        return lane([out32(p.dest)], [args[0], args[2]], lambda a, b: (fn(a, b),))
    return lane([out32(p.dest)], args, lambda a, s, b: (bits.prmt(a, b, s, mode),))


def _fixed_prmt(selector: int) -> Callable[[Array, Array], Array]:
    """A permutation known in advance as shifts and masks of whole runs; sign copies go the general way."""
    nibbles = [selector >> 4 * k & 15 for k in range(4)]
    if any(n & 8 for n in nibbles):
        fixed = np.array([selector], dtype=np.uint32)
        return lambda a, b: bits.prmt(a, b, fixed)
    # Bytes of one source moved by one distance share a shift and a mask.
    runs: dict[tuple[int, int], int] = {}
    for place, n in enumerate(nibbles):
        key = (n >> 2, place - (n & 3))
        runs[key] = runs.get(key, 0) | 0xFF << 8 * place
    moves = [(source, 8 * distance, _U32(mask)) for (source, distance), mask in runs.items()]

    def fn(a: Array, b: Array) -> Array:
        result: Array | None = None
        for source, distance, mask in moves:
            x = b if source else a
            if distance > 0:
                x = np.left_shift(x, _U32(distance))
            elif distance < 0:
                x = np.right_shift(x, _U32(-distance))
            piece = x & mask
            result = piece if result is None else result | piece
        assert result is not None
        return result

    return fn


# ---------------------------------------------------------------- counts


def _popc(i: Instruction) -> Lowered | None:
    p = split(i)
    return lane([out32(p.dest)], [integer(p.sources[0])], lambda a: (bits.popc(a),))


def _flo(i: Instruction) -> Lowered | None:
    """Position of the highest bit that is not the sign; ``.SH``: the left shift that brings it to the top."""
    p = split(i)
    signed, shift = "U32" not in i.modifiers, "SH" in i.modifiers
    outs = [out32(p.dest), *(outp(m) for m in p.mid if not is_null(m))]
    if len(outs) > 1:
        return None
    return lane(outs, [integer(p.sources[0])], lambda a: (bits.bfind(a, signed, shift),))


def _brev(i: Instruction) -> Lowered | None:
    p = split(i)
    return lane([out32(p.dest)], [integer(p.sources[0])], lambda a: (bits.brev(a),))


# ---------------------------------------------------------------- predicates as data


def _mask(operands: tuple[Operand, ...]) -> int:
    last = operands[-1]
    return immediate(last) & 0x7F if isinstance(last, Immediate) else 0x7F


def _byte(i: Instruction, suffixes: tuple[str, ...]) -> int:
    for part in (*i.modifiers, *suffixes):
        if part in ("B0", "B1", "B2", "B3"):
            return int(part[1])
    return 0


def _flags(uniform: bool, mask: int) -> list[Predicate | UniformPredicate]:
    make = UniformPredicate if uniform else Predicate
    return [make(k) for k in range(7) if mask >> k & 1]


def _p2r(i: Instruction) -> Lowered | None:
    """``R, PR, c, mask``: the predicates named by the mask over the byte of c that ``.Bk`` names."""
    operands = i.operands
    uniform = i.base.startswith("U")
    mask = _mask(operands)
    place = 8 * _byte(i, ())
    flags = _flags(uniform, mask)
    rest = [o for o in operands[1:] if is_register(o)]
    base = word(rest[0]) if rest else Arg((constant(0),), ("b32",))
    clear = _U32(~(mask << place) & 0xFFFFFFFF)
    weights = [_U32(1 << (k + place)) for k in range(7) if mask >> k & 1]

    def core(c: Array, *ps: Array) -> tuple[Array, ...]:
        result = c & clear
        for flag, weight in zip(ps, weights, strict=True):
            result = result | flag.astype(np.uint32) * weight
        return (result,)

    return lane([out32(operands[0])], [base, *(predicate(f) for f in flags)], core)


def _r2p(i: Instruction) -> Lowered | None:
    """``PR, a, mask``: bit k of the byte into predicate k, where the mask has it."""
    operands = i.operands
    if not isinstance(operands[0], Word):
        return None
    uniform = i.base.startswith("U") or "U" in operands[0].text
    mask = _mask(operands)
    source = operands[1]
    suffixes = getattr(source, "suffixes", ())
    place = 0 if selected(suffixes) is not None else 8 * _byte(i, ())
    bits_of = [_U32(1 << (k + place)) for k in range(7) if mask >> k & 1]
    outs = [outp(f) for f in _flags(uniform, mask)]
    return lane(outs, [word(source)], lambda a: tuple((a & bit) != 0 for bit in bits_of))


def _sel(i: Instruction) -> Lowered | None:
    """``R, a, b, P``: a where P holds, else b."""
    p = split(i)
    choice = predicate(p.tail[0])
    if any(m in ("64", "U64", "S64") for m in i.modifiers):
        args = [wide(s) for s in p.sources]
        return lane([Out(p.dest, "b64")], [*args, choice], lambda a, b, q: (choose(q, a, b),))
    args = [integer(s) for s in p.sources]
    if choice.fix is not None:  # !P: swap instead
        swapped = Arg(choice.operands, choice.types)
        return lane([out32(p.dest)], [*args, swapped], lambda a, b, q: (choose(q, b, a),))
    return lane([out32(p.dest)], [*args, choice], lambda a, b, q: (choose(q, a, b),))


TABLE: Table = {
    "LOP3": _lop3_lut,
    "PLOP3": _plop3,
    "SHF": _shf,
    "SHL": _shift(True),
    "SHR": _shift(False),
    "BMSK": _bmsk,
    "SGXT": _sgxt,
    "PRMT": _prmt,
    "POPC": _popc,
    "FLO": _flo,
    "BREV": _brev,
    "P2R": _p2r,
    "UP2UR": _p2r,
    "R2P": _r2p,
    "UR2UP": _r2p,
    "SEL": _sel,
}
