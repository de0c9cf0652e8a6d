"""What a problem needs at least: operations and bytes by the size that the user names.

Formulas and their sources are in :data:`FORMULAS`; a user's own is an expression, read by a small
evaluator that knows numbers, names and ``+ - * / // % ** ( )`` and nothing else.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warpglass.errors import UsageError

__all__ = ["FORMULAS", "Formula", "Problem", "evaluate", "parse_problem"]

_WIDTHS = {
    "fp64": 8,
    "fp32": 4,
    "tf32": 4,
    "fp16": 2,
    "bf16": 2,
    "fp8": 1,
    "int8": 1,
    "fp4": 0.5,
    "int4": 0.5,
}
_LARGEST = 1e30
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, slots=True)
class Formula:
    """``flops`` and ``bytes`` are expressions over ``names`` and ``w`` (bytes an element)."""

    names: tuple[str, ...]
    optional: Mapping[str, float]
    flops: str
    bytes: str
    source: str


@dataclass(frozen=True, slots=True)
class Problem:
    """The least work of a problem: ``flops`` operations (an FMA counts two), ``bytes`` of memory traffic."""

    kind: str
    text: str
    flops: float | None
    bytes: float | None
    rule: str
    source: str
    #: The matrix product that a convolution is, as an implicit GEMM: "M x N x K = …", else empty.
    matrix: str = ""


#: Least work by kind of problem; every operand is read once and every result written once.
FORMULAS: Mapping[str, Formula] = {
    "gemm": Formula(
        ("m", "n", "k"),
        {"batch": 1},
        "2*batch*m*n*k",
        "w*batch*(m*k + k*n + m*n)",
        "NVIDIA, Matrix Multiplication Background User's Guide, section 2: M*N*K multiply-adds",
    ),
    "conv": Formula(
        ("n", "c", "h", "w_in", "k", "r", "s"),
        {"stride": 1, "pad": 0},
        "2*n*k*((h+2*pad-r)//stride+1)*((w_in+2*pad-s)//stride+1)*c*r*s",
        "w*(n*c*h*w_in + k*c*r*s + n*k*((h+2*pad-r)//stride+1)*((w_in+2*pad-s)//stride+1))",
        "NVIDIA, Convolutional Layers User's Guide, section 2: implicit GEMM of NPQ x CRS x K",
    ),
    "attention": Formula(
        ("b", "h", "s", "d"),
        {},
        "4*b*h*s*s*d",
        "w*4*b*h*s*d",
        "Dao, FlashAttention-2, arXiv:2307.08691, section 4.1: 4 * seqlen^2 * head dim * heads",
    ),
    "attention-causal": Formula(
        ("b", "h", "s", "d"),
        {},
        "2*b*h*s*s*d",
        "w*4*b*h*s*d",
        "Dao, FlashAttention-2, arXiv:2307.08691, section 4.1: half of the entries with a causal mask",
    ),
    "reduction": Formula(
        ("n",),
        {"outputs": 1},
        "n - outputs",
        "w*(n + outputs)",
        "n - 1 additions a result (Harris, Optimizing Parallel Reduction in CUDA, 2007)",
    ),
    "elementwise": Formula(
        ("n",),
        {"inputs": 2, "ops": 1},
        "ops*n",
        "w*n*(inputs + 1)",
        "each input read once, the result written once (Williams et al., Roofline, CACM 52(4), 2009)",
    ),
}


#: Rows, columns and depth of the product that a convolution is (the same guide, section 2.1).
_IMPLICIT = ("n*((h+2*pad-r)//stride+1)*((w_in+2*pad-s)//stride+1)", "k", "c*r*s")


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """The value of an arithmetic expression over ``names`` (case does not matter).

    Raises :class:`UsageError` for anything but numbers, names and arithmetic, and for results that are no
    finite number of a size that a problem can have.
    """
    if len(text) > 1000:
        raise UsageError("the expression is longer than 1000 characters")
    known = {key.lower(): float(value) for key, value in names.items()}

    def value(node: ast.expr, depth: int) -> float:
        if depth > 60:
            raise UsageError("the expression is nested too deeply")
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        ):
            return _finite(node.value)
        if isinstance(node, ast.Name):
            if node.id.lower() not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise UsageError(f"the expression names {node.id[:40]!r}", hint=f"known are {listed}")
            return known[node.id.lower()]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = value(node.operand, depth + 1)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            left, right = value(node.left, depth + 1), value(node.right, depth + 1)
            if isinstance(node.op, ast.Pow):
                if abs(right) > 64:
                    raise UsageError("exponents go up to 64")
                return _finite(left**right if left >= 0 or right == int(right) else math.nan)
            function = _OPERATORS.get(type(node.op))
            if function is not None:
                return _finite(function(left, right))
        raise UsageError(f"the expression {text[:60]!r} holds more than numbers, names and arithmetic")

    try:
        tree = ast.parse(text.strip(), mode="eval")
        return value(tree.body, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{text[:60]!r} is no arithmetic expression") from None
    except (ZeroDivisionError, OverflowError):
        raise UsageError(f"{text[:60]!r} has no finite value") from None


def _finite(number: float) -> float:
    if isinstance(number, complex) or not math.isfinite(number) or abs(number) > _LARGEST:
        raise UsageError("the expression has no value that a problem can have")
    return float(number)


def parse_problem(text: str, names: Mapping[str, float] | None = None) -> Problem:
    """``gemm:M,N,K[,fp16]``, ``conv:…``, ``attention:b,h,s,d[,causal]``, ``bytes:N,flops:M`` or expressions.

    ``names`` (scalar arguments, ``gridDim.x`` as ``grid_x`` …) may be used in expressions. Sizes may be given
    by position or as ``name=value``. Raises :class:`UsageError`.
    """
    kind, colon, rest = text.strip().partition(":")
    kind = kind.strip().lower()
    if not colon:
        raise UsageError(f"--problem cannot be read: {text[:60]!r}", hint=_hint())
    if kind in ("bytes", "flops"):
        return _plain(text, dict(names or {}))
    if kind not in FORMULAS:
        raise UsageError(f"--problem knows no {kind[:40]!r}", hint=_hint())
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    width, given = 4.0, {}
    positional: list[float] = []
    for part in parts:
        key, equals, tail = (piece.strip().lower() for piece in part.partition("="))
        if part.lower() in _WIDTHS:
            width = float(_WIDTHS[part.lower()])
        elif part.lower() == "causal" and kind == "attention":
            kind = "attention-causal"
        elif equals:
            given[key] = evaluate(tail, names or {})
        else:
            positional.append(evaluate(part, names or {}))
    formula = FORMULAS[kind]
    order = (*formula.names, *formula.optional)
    if len(positional) > len(order):
        raise UsageError(f"--problem {kind} takes {', '.join(order)}; {len(positional)} sizes were given")
    sizes = {**formula.optional, **dict(zip(order, positional, strict=False))}
    unknown = sorted(set(given) - set(order))
    if unknown:
        raise UsageError(f"--problem {kind} has no size {unknown[0][:40]!r}", hint=", ".join(order))
    sizes.update(given)
    missing = [name for name in formula.names if name not in sizes]
    if missing or any(value < 0 for value in sizes.values()):
        raise UsageError(f"--problem {kind} needs {', '.join(formula.names)}, none of them negative")
    _check(kind, sizes)
    values = {**sizes, "w": width}
    matrix = ""
    if kind == "conv":
        m, n, k = (evaluate(text, values) for text in _IMPLICIT)
        matrix = f"M x N x K = {m:,.0f} x {n:,.0f} x {k:,.0f}"
    return Problem(
        kind,
        f"{kind} " + ", ".join(f"{name}={sizes[name]:g}" for name in order if name in sizes),
        evaluate(formula.flops, values),
        evaluate(formula.bytes, values),
        f"flops = {formula.flops}; bytes = {formula.bytes} with w = {width:g}",
        formula.source,
        matrix,
    )


def _check(kind: str, sizes: Mapping[str, float]) -> None:
    """Sizes that fit each other, else :class:`UsageError`."""
    if kind == "reduction" and sizes["outputs"] > sizes["n"]:
        raise UsageError("--problem reduction: there are more outputs than values")
    if kind != "conv":
        return
    if sizes["stride"] < 1:
        raise UsageError("--problem conv: the stride is at least 1")
    for image, window in (("h", "r"), ("w_in", "s")):
        if sizes[window] > sizes[image] + 2 * sizes["pad"]:
            raise UsageError(
                f"--problem conv: a window of {window} = {sizes[window]:g} does not fit into "
                f"{image} = {sizes[image]:g} with a padding of {sizes['pad']:g}"
            )


def _plain(text: str, names: Mapping[str, float]) -> Problem:
    found: dict[str, float] = {}
    rules = []
    for part in re.split(r"[,;](?=\s*(?:bytes|flops)\s*:)", text, flags=re.IGNORECASE):
        key, colon, rest = (piece.strip() for piece in part.partition(":"))
        if not colon or key.lower() not in ("bytes", "flops"):
            raise UsageError(f"--problem cannot be read: {text[:60]!r}", hint=_hint())
        found[key.lower()] = evaluate(rest, names)
        rules.append(f"{key.lower()} = {rest}")
    if any(value < 0 for value in found.values()):
        raise UsageError("--problem: bytes and flops cannot be negative")
    shown = ", ".join(f"{key} {value:g}" for key, value in found.items())
    return Problem("own", shown, found.get("flops"), found.get("bytes"), "; ".join(rules), "the user's own")


def _hint() -> str:
    return "gemm:M,N,K  attention:b,h,s,d[,causal]  conv:n,c,h,w_in,k,r,s  bytes:N,flops:M  " + "  ".join(
        f"{kind}:{','.join(FORMULAS[kind].names)}" for kind in ("reduction", "elementwise")
    )
