"""Read ``name=value`` arguments: numbers, bytes, and buffers such as ``float[4096]:iota``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.errors import LaunchError
from warpglass.files import load_array, reason_of
from warpglass.launchparams import ParamInfo, element_type
from warpglass.machine.launch import Argument

__all__ = ["FILLS", "MOST_BYTES", "Place", "converted", "read_argument", "split_argument"]

FILLS = ("iota", "zeros", "ones", "random", "default")

_BUFFER = re.compile(r"([A-Za-z_.][\w .:]*?)\s*\[\s*(\d+(?:\s*\*\s*\d+)*)\s*\]\s*(?::\s*(.+))?", re.S)
#: Bytes of one buffer.
MOST_BYTES = 4 << 30
_INTEGER = {kind + bits: (kind != "u", int(bits)) for kind in "sub" for bits in ("8", "16", "32", "64")}

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written: shown ``origin``, folder for its files, and whether it may leave that."""

    origin: str
    folder: Path
    confined: bool = False


def split_argument(text: str) -> tuple[str, str]:
    """``name=value`` in two; raises :class:`LaunchError` for another shape."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise LaunchError(
            f"an argument is name=value, not {text[:60]!r}", hint="--arg n=1024 --arg x=float[1024]:iota"
        )
    return name.strip(), value.strip()


def read_argument(info: ParamInfo, value: object, place: Place, seed: int = 0) -> Argument:
    """The argument that ``value`` (a text, or a number or list out of TOML) gives to ``info``.

    ``seed`` is for bfloat16 values that are made here; all other content is the machine's to make.

    Raises :class:`LaunchError` where it does not fit the parameter.
    """
    if isinstance(value, (list, tuple)):
        return _listed(info, value, place)
    if isinstance(value, str):
        text = value.strip()
        buffer = _BUFFER.fullmatch(text)
        if buffer:
            return _described(info, buffer, place, seed)
        if text.lower().endswith(".npy"):
            return _from_file(info, text, None, None, place)
        if text.lower().startswith("hex:"):
            return _bytes(info, text[4:], place)
        value = _number(info, text)
    if info.kind == "buffer":
        raise _unfit(info, value, f"it is a pointer; give {info.dtype}[count]:fill")
    if info.kind == "struct":
        raise _unfit(info, value, f"it is a struct of {info.size} bytes; give hex:… with its bytes")
    return Argument(info.shown, "scalar", info.dtype, _fitted(info, value), origin=place.origin)


def _unfit(info: ParamInfo, value: object, reason: str) -> LaunchError:
    return LaunchError(f"argument {info.shown}: {str(value)[:60]!r} does not fit: {reason}")


def _number(info: ParamInfo, text: str) -> int | float | bool:
    lowered = text.lower().replace("_", "")
    if lowered in ("true", "false"):
        return lowered == "true"
    if len(text) <= 80:
        try:
            return int(lowered, 0)
        except ValueError:
            pass
        number: float | None
        infinite = lowered.startswith(("inf", "-inf", "+inf"))
        try:
            number = float(lowered if infinite else lowered.removesuffix("f"))
        except ValueError:
            number = None
        if number is not None and math.isinf(number) and not infinite:
            raise _unfit(info, text, "it is larger than any float; write inf if that is meant")
        if number is not None:
            return number
    raise _unfit(info, text, "it is no number, TYPE[COUNT]:FILL, file.npy or hex:…")


def _fitted(info: ParamInfo, value: object) -> int | float:
    """A number in the range of the scalar's type."""
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (int, float)):
        raise _unfit(info, value, "it is no number")
    if info.dtype.startswith(("f", "bf")):
        return _fitted_float(info, value)
    rule = _INTEGER.get(info.dtype)
    if isinstance(value, float):
        if not value.is_integer() or not math.isfinite(value):
            raise _unfit(info, value, f"the parameter is an integer ({info.c_type or info.dtype})")
        value = int(value)
    if rule is not None:
        signed, bits = rule
        # A bit pattern and its two's complement are both accepted, as C accepts them.
        if not -(1 << (bits - 1)) <= value < (1 << bits):
            raise _unfit(info, value, f"{info.c_type or info.dtype} has {bits} bits")
        if signed and value >= 1 << (bits - 1) and info.dtype.startswith("s"):
            value -= 1 << bits
    return value


#: What rounds to infinity, by type: half a step beyond the largest finite value.
_OVERFLOW = {
    "float16": 2.0**16 - 2.0**4,
    "bfloat16": 2.0**128 - 2.0**119,
    "float32": 2.0**128 - 2.0**103,
}
_FLOAT_NAMES = {"f16": "float16", "half": "float16", "bf16": "bfloat16", "f32": "float32", "float": "float32"}


def _fitted_float(info: ParamInfo, value: int | float) -> float:
    """A float that the parameter's type can hold: rounded there, but made infinite only where asked for."""
    try:
        number = float(value)
    except OverflowError:
        raise _unfit(info, value, "it is too large") from None
    limit = _OVERFLOW.get(_FLOAT_NAMES.get(info.dtype, info.dtype), math.inf)
    if math.isfinite(number) and abs(number) >= limit:
        raise _unfit(info, value, f"{info.c_type or info.dtype} would hold inf; write inf if that is meant")
    return number


def converted(info: ParamInfo, value: int | float) -> int | float:
    """``value`` as a C++ call converts it to the scalar parameter: fractions cut off, integers modulo 2^n."""
    if info.c_type == "bool":
        return int(value != 0)
    if info.dtype.startswith(("f", "bf")):
        return float(value)
    signed, bits = _INTEGER.get(info.dtype, (False, 8 * info.size))
    whole = int(value) % (1 << bits)
    return whole - (1 << bits) if signed and whole >> (bits - 1) else whole


def _described(info: ParamInfo, match: re.Match[str], place: Place, seed: int) -> Argument:
    """``TYPE[COUNT]`` or ``TYPE[COUNT]:FILL``."""
    type_name, counts, fill = match.group(1).strip(), match.group(2), (match.group(3) or "default").strip()
    element = element_type(type_name)
    if element is None:
        raise _unfit(
            info, match.group(0), f"{type_name[:40]!r} is no type of C or PTX that an array can have"
        )
    dtype, lanes = element
    factors = [int(part[:20]) for part in counts.split("*")]
    count = math.prod(factors) * lanes
    itemsize = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    if not info.may_point:
        raise _unfit(info, match.group(0), "the parameter is no pointer")
    if not 1 <= count * itemsize <= MOST_BYTES:
        raise _unfit(info, match.group(0), f"a buffer has 1 byte to {MOST_BYTES >> 30} GiB")
    if fill.lower() in FILLS:
        return _filled(info, dtype, count, fill.lower(), place, seed)
    return _from_file(info, fill, dtype, count, place)


def _filled(info: ParamInfo, dtype: str, count: int, fill: str, place: Place, seed: int) -> Argument:
    if dtype == "bfloat16":
        # numpy has no such type: its bits are made here.
        values = _bfloat_values(fill, count, seed)
        return Argument(info.shown, "buffer", "uint16", values, count, fill, place.origin)
    return Argument(info.shown, "buffer", dtype, None, count, fill, place.origin)


def _bfloat_values(fill: str, count: int, seed: int) -> Array | None:
    """The upper halves of float32, rounded to nearest even; None for fills of zeros."""
    values: npt.NDArray[np.float32]
    if fill == "iota":
        values = np.arange(count, dtype=np.float32)
    elif fill == "ones":
        values = np.ones(count, np.float32)
    elif fill == "random":
        values = np.random.default_rng(seed).random(count, dtype=np.float32)
    else:
        return None
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _from_file(info: ParamInfo, name: str, dtype: str | None, count: int | None, place: Place) -> Argument:
    if not info.may_point:
        raise _unfit(info, name, "the parameter is no pointer")
    array = _load(info, name, place)
    if dtype is not None:
        wanted = np.dtype("uint16" if dtype == "bfloat16" else dtype)
        if array.dtype != wanted:
            raise _unfit(info, name, f"the file holds {array.dtype}, not {wanted}")
    if count is not None and array.size != count:
        raise _unfit(info, name, f"the file holds {array.size} elements, not {count}")
    return Argument(info.shown, "buffer", array.dtype.name, array, array.size, "default", place.origin)


def _load(info: ParamInfo, name: str, place: Place) -> Array:
    if "\0" in name:
        raise _unfit(info, name, "a file name has no NUL")
    path = Path(name) if Path(name).is_absolute() else place.folder / name
    try:
        inside = not place.confined or path.resolve().is_relative_to(place.folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise LaunchError(f"argument {info.shown}: {name[:80]!r}: {reason_of(error)}") from error
    if not inside:
        raise LaunchError(
            f"argument {info.shown}: {name[:80]!r} lies outside the folder of {place.origin}",
            hint=f"name the file on the command line: --arg {info.shown}={name[:80]}",
        )
    try:
        loaded: Any = load_array(path, MOST_BYTES, LaunchError)
    except LaunchError as error:
        raise LaunchError(f"argument {info.shown}: {error.message}", hint=error.hint) from error
    if loaded.dtype.kind not in "iufb" or loaded.size == 0:
        raise LaunchError(f"argument {info.shown}: {name[:80]!r} holds no array of numbers")
    flat: Array = np.ascontiguousarray(loaded).reshape(-1)
    if flat.dtype.kind == "b":
        flat = flat.view(np.uint8)
    return flat.astype(flat.dtype.newbyteorder("="))


def _listed(info: ParamInfo, values: Sequence[object], place: Place) -> Argument:
    """A list of numbers out of TOML."""
    if not info.may_point:
        raise _unfit(info, values, "the parameter is no pointer")
    if not values or not all(isinstance(item, (int, float)) for item in values):
        raise _unfit(info, values, "a list must hold numbers")
    dtype = np.dtype("uint16" if info.dtype == "bfloat16" else info.dtype)
    try:
        array = np.array(values).astype(dtype, casting="same_kind" if dtype.kind == "f" else "unsafe")
    except (TypeError, OverflowError, ValueError) as error:
        raise _unfit(info, values, str(error)) from error
    if dtype.kind in "iu" and any(int(given) != item for given, item in zip(array, values, strict=True)):
        raise _unfit(info, values, f"the elements are {dtype.name}")
    return Argument(info.shown, "buffer", dtype.name, array, array.size, "default", place.origin)


def _bytes(info: ParamInfo, digits: str, place: Place) -> Argument:
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        raise _unfit(info, digits, "hex: wants pairs of hexadecimal digits") from None
    if info.kind == "buffer" or len(data) != info.size:
        wanted = "no pointer" if info.kind == "buffer" else f"{info.size} bytes, not {len(data)}"
        raise _unfit(info, "hex:" + digits, f"hex: fits {wanted}")
    return Argument(info.shown, "scalar", "bytes", data, origin=place.origin)
