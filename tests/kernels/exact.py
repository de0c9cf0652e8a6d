"""Exactly rounded reference arithmetic, by way of Python's fractions.

Slow and plain on purpose: it shares no idea with the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary interchange format: significand bits (hidden one included) and exponent range."""

    precision: int
    least: int  # exponent of the smallest normal number
    most: int  # exponent of the largest


F16 = Format(11, -14, 15)
BF16 = Format(8, -126, 127)
F32 = Format(24, -126, 127)
F64 = Format(53, -1022, 1023)

MODES = ("rn", "rz", "rd", "ru")


def round_fraction(value: Fraction, fmt: Format, mode: str) -> float:
    """The float (as Python float) that ``value`` rounds to; ``value`` zero gives +0."""
    if value == 0:
        return 0.0
    sign = -1 if value < 0 else 1
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, fmt.least)
    unit = Fraction(2) ** (exponent - fmt.precision + 1)
    steps, rest = divmod(size, unit)
    steps = int(steps)
    up = {
        "rn": rest * 2 > unit or (rest * 2 == unit and steps % 2 == 1),
        "rz": False,
        "rd": sign < 0 and rest > 0,
        "ru": sign > 0 and rest > 0,
    }[mode]
    rounded = (steps + up) * unit
    largest = (2 - Fraction(2) ** (1 - fmt.precision)) * Fraction(2) ** fmt.most
    if rounded > largest:
        to_infinity = mode == "rn" or (mode == "ru" and sign > 0) or (mode == "rd" and sign < 0)
        return sign * (math.inf if to_infinity else float(largest))
    return math.copysign(float(rounded), sign)


def _signed_zero(signs: tuple[float, float], mode: str) -> float:
    """The sign of an exact zero sum."""
    if math.copysign(1, signs[0]) == math.copysign(1, signs[1]):
        return math.copysign(0.0, signs[0])
    return -0.0 if mode == "rd" else 0.0


def add(x: float, y: float, fmt: Format, mode: str) -> float:
    """x + y."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x + y
    total = Fraction(x) + Fraction(y)
    return round_fraction(total, fmt, mode) if total else _signed_zero((x, y), mode)


def mul(x: float, y: float, fmt: Format, mode: str) -> float:
    """x * y."""
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return x * y
    return round_fraction(Fraction(x) * Fraction(y), fmt, mode)


def fma(x: float, y: float, z: float, fmt: Format, mode: str) -> float:
    """x * y + z, rounded once."""
    if not all(map(math.isfinite, (x, y, z))):
        if math.isfinite(x) and math.isfinite(y):
            return z
        return x * y + z
    total = Fraction(x) * Fraction(y) + Fraction(z)
    if total:
        return round_fraction(total, fmt, mode)
    sign = math.copysign(1, x) * math.copysign(1, y)
    return _signed_zero((sign, z), mode) if z == 0 or x == 0 or y == 0 else (-0.0 if mode == "rd" else 0.0)


def div(x: float, y: float, fmt: Format, mode: str) -> float:
    """x / y."""
    if math.isnan(x) or math.isnan(y) or (math.isinf(x) and math.isinf(y)) or (x == 0 and y == 0):
        return math.nan
    sign = math.copysign(1, x) * math.copysign(1, y)
    if math.isinf(x) or y == 0:
        return math.copysign(math.inf, sign)
    if x == 0 or math.isinf(y):
        return math.copysign(0.0, sign)
    return round_fraction(Fraction(x) / Fraction(y), fmt, mode)


def sqrt(x: float, fmt: Format, mode: str) -> float:
    """The square root of a number that is not negative."""
    if x == 0 or math.isinf(x) or math.isnan(x):
        return x
    value = Fraction(x)
    # The root has over 100 bits even of the smallest double, plus a sticky one.
    shift = 700
    scaled = (value.numerator << (2 * shift)) // value.denominator
    root = math.isqrt(scaled)
    sticky = root * root != scaled or (value.numerator << (2 * shift)) % value.denominator != 0
    return round_fraction(Fraction(2 * root + sticky, 2 << shift), fmt, mode)


def table(function: Callable[..., float], *columns: np.ndarray) -> np.ndarray:
    """Apply to rows of float columns; the result has Python floats."""
    return np.array([function(*map(float, row)) for row in zip(*columns, strict=True)])


def bf16_bits(values: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Patterns of bfloat16 numbers, as uint16."""

    def rounded(value: float) -> float:
        if not math.isfinite(value):
            return value
        return math.copysign(round_fraction(Fraction(value), BF16, mode), value)

    return (table(rounded, values).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def bf16_floats(bits: np.ndarray) -> np.ndarray:
    """Their values, as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
