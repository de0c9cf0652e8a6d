"""Logic, shift and permute instructions."""

from __future__ import annotations

from warpglass.machine.numeric import bits
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table

__all__ = ["TABLE"]


def _and(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type,) * 2, lambda a, b: (a & b,))


def _or(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type,) * 2, lambda a, b: (a | b,))


def _xor(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type,) * 2, lambda a, b: (a ^ b,))


def _not(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type,), lambda a: (~a,))


def _cnot(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type,), lambda a: ((a == 0).astype(a.dtype),))


def _shl(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type, "u32"), lambda a, b: (bits.shl(a, b),))


def _shr(op: Opcode, _: Shape) -> Meaning:
    if op.type.startswith("s"):
        return Meaning((op.type,), (op.type, "u32"), lambda a, b: (bits.sar(a, b),))
    return Meaning((op.type,), (op.type, "u32"), lambda a, b: (bits.shr(a, b),))


def _shf(op: Opcode, _: Shape) -> Meaning:
    wrap = op.has("wrap")
    shift = bits.funnel_left if op.has("l") else bits.funnel_right
    return Meaning(("b32",), ("b32", "b32", "u32"), lambda a, b, c: (shift(a, b, c, wrap),))


def _lop3(op: Opcode, shape: Shape) -> Meaning:
    """``lop3.b32 d, a, b, c, table`` and ``lop3.or.b32 d|p, a, b, c, table, q``: p = (d != 0) op q."""
    if op.has("or", "and"):
        either = op.has("or")

        def with_predicate(a, b, c, table, q):  # type: ignore[no-untyped-def]
            d = bits.lop3(a, b, c, int(table.flat[0]))
            return d, ((d != 0) | q) if either else ((d != 0) & q)

        dests = ("b32", "pred") if shape[0] == "p" else ("b32",)
        return Meaning(dests, ("b32", "b32", "b32", "b32", "pred"), with_predicate)
    return Meaning(
        ("b32",),
        ("b32", "b32", "b32", "b32"),
        lambda a, b, c, table: (bits.lop3(a, b, c, int(table.flat[0])),),
    )


def _prmt(op: Opcode, _: Shape) -> Meaning:
    mode = op.pick(("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))
    return Meaning(("b32",), ("b32", "b32", "b32"), lambda a, b, c: (bits.prmt(a, b, c, mode),))


TABLE: Table = {
    ("and", "*"): _and,
    ("or", "*"): _or,
    ("xor", "*"): _xor,
    ("not", "*"): _not,
    ("cnot", "int"): _cnot,
    ("shl", "int"): _shl,
    ("shr", "int"): _shr,
    ("shf", "int"): _shf,
    ("lop3", "int"): _lop3,
    ("prmt", "int"): _prmt,
}
