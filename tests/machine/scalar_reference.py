"""One-lane reference arithmetic on Python integers and fractions, slow and straightforward.

Independent of the package: values are exact fractions, and one rounding function serves every format.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

NAN = "nan"

#: exponent bits, mantissa bits, container bits, canonical NaN, has infinity
FORMATS = {
    "f64": (11, 52, 64, 0x7FF8000000000000, True),
    "f32": (8, 23, 32, 0x7FFFFFFF, True),
    "f16": (5, 10, 16, 0x7FFF, True),
    "bf16": (8, 7, 16, 0x7FFF, True),
    "e5m2": (5, 2, 8, 0x7F, True),
    "e4m3": (4, 3, 8, 0x7F, False),
    "e3m2": (3, 2, 6, None, False),
    "e2m3": (2, 3, 6, None, False),
    "e2m1": (2, 1, 4, None, False),
}


def decode(bits: int, name: str):
    """``(sign, value)``: value is a Fraction, "inf" or "nan"."""
    exp, man, width, _, has_inf = FORMATS[name]
    sign = bits >> (width - 1) & 1
    field = bits >> man & ((1 << exp) - 1)
    mantissa = bits & ((1 << man) - 1)
    bias = (1 << (exp - 1)) - 1
    if has_inf and field == (1 << exp) - 1:
        return (sign, NAN) if mantissa else (sign, "inf")
    if name == "e4m3" and bits & 0x7F == 0x7F:
        return sign, NAN
    if field == 0:
        return sign, Fraction(mantissa) * Fraction(2) ** (1 - bias - man)
    return sign, Fraction(mantissa + (1 << man)) * Fraction(2) ** (field - bias - man)


def signed_value(bits: int, name: str):
    """Signed Fraction, or "nan", "inf", "-inf"."""
    sign, value = decode(bits, name)
    if value == NAN:
        return NAN
    if value == "inf":
        return "-inf" if sign else "inf"
    return -value if sign else value


def round_fraction(
    value: Fraction, name: str, mode: str, sign: int | None = None, saturate: bool = False
) -> int:
    """Pattern of ``value`` in the format; ``sign`` decides the sign of a zero."""
    exp, man, width, _, has_inf = FORMATS[name]
    negative = value < 0 or (value == 0 and bool(sign))
    size = abs(value)
    bias = (1 << (exp - 1)) - 1
    top_bits = ((1 << (exp + man)) - (1 << man) - 1) if has_inf else ((1 << (exp + man)) - 1)
    if name == "e4m3":
        top_bits = 0x7E
    out = 0
    if size:
        power = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** power > size:
            power -= 1
        power = max(power, 1 - bias)
        quantum = Fraction(2) ** (power - man)
        whole, rest = divmod(size, quantum)
        if mode == "rn":
            up = rest * 2 > quantum or (rest * 2 == quantum and whole % 2 == 1)
        elif mode == "rna":
            up = rest * 2 >= quantum
        elif mode == "rz":
            up = False
        elif mode == "rp":
            up = rest != 0 and not negative
        else:
            up = rest != 0 and negative
        whole = int(whole) + int(up)
        if whole >> man:
            out = ((power + bias) << man) + (whole - (1 << man))
        else:
            out = whole
        if out > top_bits:
            infinite = (
                has_inf
                and not saturate
                and (mode in ("rn", "rna") or (mode == "rp" and not negative) or (mode == "rm" and negative))
            )
            out = top_bits + 1 if infinite else top_bits
    return out | (int(negative) << (width - 1))


def infinity(name: str, sign: int) -> int:
    exp, man, width, _, _ = FORMATS[name]
    return (((1 << exp) - 1) << man) | (sign << (width - 1))


def _nan(name: str) -> int:
    nan = FORMATS[name][3]
    assert nan is not None
    return nan


def add(a: int, b: int, name: str, mode: str = "rn", out: str | None = None) -> int:
    out = out or name
    (sa, va), (sb, vb) = decode(a, name), decode(b, name)
    return _add((sa, va), (sb, vb), out, mode)


def _add(x, y, out: str, mode: str) -> int:
    (sa, va), (sb, vb) = x, y
    if NAN in (va, vb) or (va == vb == "inf" and sa != sb):
        return _nan(out)
    if va == "inf":
        return infinity(out, sa)
    if vb == "inf":
        return infinity(out, sb)
    total = (-va if sa else va) + (-vb if sb else vb)
    sign = sa if (va == 0 and vb == 0 and sa == sb) else int(mode == "rm")
    return round_fraction(total, out, mode, sign)


def mul(a: int, b: int, name: str, mode: str = "rn") -> int:
    (sa, va), (sb, vb) = decode(a, name), decode(b, name)
    sign = sa ^ sb
    if NAN in (va, vb) or (va == "inf" and vb == 0) or (vb == "inf" and va == 0):
        return _nan(name)
    if "inf" in (va, vb):
        return infinity(name, sign)
    value = va * vb
    return round_fraction(-value if sign else value, name, mode, sign)


def fma(a: int, b: int, c: int, name: str, mode: str = "rn") -> int:
    (sa, va), (sb, vb) = decode(a, name), decode(b, name)
    sign = sa ^ sb
    if NAN in (va, vb) or (va == "inf" and vb == 0) or (vb == "inf" and va == 0):
        return _nan(name)
    product = "inf" if "inf" in (va, vb) else va * vb
    return _add((sign, product), decode(c, name), name, mode)


def div(a: int, b: int, name: str, mode: str = "rn") -> int:
    (sa, va), (sb, vb) = decode(a, name), decode(b, name)
    sign = sa ^ sb
    if NAN in (va, vb) or va == vb == "inf" or (va == 0 and vb == 0):
        return _nan(name)
    if va == "inf" or vb == 0:
        return infinity(name, sign)
    if vb == "inf":
        return round_fraction(Fraction(0), name, mode, sign)
    value = va / vb
    return round_fraction(-value if sign else value, name, mode, sign)


def sqrt(a: int, name: str, mode: str = "rn") -> int:
    sign, value = decode(a, name)
    if value == NAN or (sign and value != 0):
        return _nan(name)
    if value == 0:
        return a
    if value == "inf":
        return infinity(name, 0)
    shift = 2 * (200 + value.denominator.bit_length())
    scaled = value.numerator * (1 << shift) // value.denominator
    root = isqrt(scaled)
    exact = root * root == scaled and scaled * value.denominator == value.numerator << shift
    # A half step beyond the last digit stands for whatever was cut off.
    result = (Fraction(root) + (0 if exact else Fraction(1, 2))) / (1 << (shift // 2))
    return round_fraction(result, name, mode, 0)


def is_nan(bits: int, name: str) -> bool:
    return decode(bits, name)[1] == NAN


def convert(a: int, source: str, dest: str, mode: str = "rn", saturate: bool = False) -> int:
    sign, value = decode(a, source)
    if value == NAN:
        nan = FORMATS[dest][3]
        return 0 if nan is None else nan
    if value == "inf":
        if saturate or not FORMATS[dest][4]:
            return round_fraction(Fraction(-(2**600) if sign else 2**600), dest, "rz", sign)
        return infinity(dest, sign)
    return round_fraction(-value if sign else value, dest, mode, sign, saturate)
