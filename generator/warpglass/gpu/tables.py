"""Load the tables: architectures by name, GPU models by a part of their name or one's own TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from warpglass.errors import InputError, UsageError
from warpglass.files import read_file
from warpglass.gpu.model import Arch, GpuModel

__all__ = [
    "arch", "default_model", "find_arch", "fixed_latencies", "list_archs", "list_models", "model",
    "parse_model", "require_arch",
]  # fmt: skip

_NAME = re.compile(r"(?:sm|compute)_(\d{2,3})([af]?)")
#: Compiled for by CUDA 13, but without any published limits.
_BARE = ("sm_88",)
_VENDOR = re.compile(r"\b(?:nvidia|geforce|tesla|quadro|gpu)\b")
_LARGEST_TOML = 1 << 20


@lru_cache(maxsize=8)
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files("warpglass.gpu").joinpath(name).read_text("utf-8"))


def find_arch(name: str) -> Arch | None:
    """The architecture called ``sm_90a`` (or ``compute_90a``), or None where the tables have none."""
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    digits, suffix = match.groups()
    base = (int(digits[:-1]), int(digits[-1]))
    row = _table("architectures.toml").get(f"{base[0]}.{base[1]}")
    if row is None:
        return None
    known = {item.name for item in fields(Arch)}
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items() if key in known
    }
    return Arch(name=f"sm_{digits}{suffix}", base=base, suffix=suffix, **values)


def arch(name: str) -> Arch:
    """As :func:`find_arch`; raises :class:`UsageError` that lists the known ones."""
    found = find_arch(name)
    if found is None:
        known = ", ".join(item.name for item in list_archs())
        raise UsageError(f"no such architecture: {name[:40]!r}", hint=f"known are {known}")
    return found


def require_arch(name: str) -> str:
    """``name`` itself where a compiler knows that architecture; raises :class:`UsageError` as :func:`arch`.

    Besides those of the tables that is ``sm_88``, of which nothing but its existence is known here.
    """
    if name not in _BARE:
        arch(name)
    return name


def list_archs() -> tuple[Arch, ...]:
    """All architectures without suffix, oldest first."""
    names = ["sm_" + key.replace(".", "") for key in _table("architectures.toml")]
    return tuple(found for name in names if (found := find_arch(name)) is not None)


@lru_cache(maxsize=1)
def list_models() -> tuple[GpuModel, ...]:
    """All GPU models, in the order of the table."""
    return tuple(GpuModel(**row) for row in _table("models.toml")["gpu"])


def model(name: str) -> GpuModel:
    """The GPU called ``name``: in full, by a part that only one has, or by the path of a TOML file.

    Case, vendor words and punctuation do not matter. Raises :class:`UsageError` for an unknown or
    ambiguous name, :class:`InputError` for a file that is no GPU.
    """
    if name.lower().endswith(".toml"):
        return _own_model(Path(name))
    wanted = _squeezed(name)
    exact = [gpu for gpu in list_models() if _squeezed(gpu.name) == wanted]
    found = exact or [gpu for gpu in list_models() if wanted and wanted in _squeezed(gpu.name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"several GPUs are called {name[:60]!r}: {', '.join(gpu.name for gpu in found)}")
    known = ", ".join(gpu.name for gpu in list_models())
    raise UsageError(
        f"no such GPU: {name[:60]!r}", hint=f"known are {known}; or give a TOML file of your own"
    )


def default_model(architecture: Arch | str) -> GpuModel | None:
    """The model that stands for an architecture where none is named, or None."""
    name = (
        architecture.compute_capability
        if isinstance(architecture, Arch)
        else arch(architecture).compute_capability
    )
    same = [gpu for gpu in list_models() if gpu.compute_capability == name]
    return next((gpu for gpu in same if gpu.default), same[0] if len(same) == 1 else None)


def _squeezed(name: str) -> str:
    spaced = re.sub(r"[^a-z0-9]+", " ", name.lower())
    return re.sub(r"\s+", "", _VENDOR.sub(" ", spaced))


def _own_model(path: Path) -> GpuModel:
    try:
        content = read_file(path, _LARGEST_TOML).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the GPU description {path.name} is no UTF-8 text: {error}") from error
    return parse_model(content, path.name)


def parse_model(text: str, name: str = "<string>") -> GpuModel:
    """A GPU from TOML with the keys of :class:`GpuModel`, at the top or in one ``[[gpu]]`` or ``[gpu]``.

    ``name``, ``compute_capability`` and ``sm_count`` are needed. Raises :class:`InputError`.
    """
    try:
        loaded: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no TOML: {error}") from error
    row = loaded.get("gpu", loaded)
    if isinstance(row, list):
        if len(row) != 1:
            raise InputError(f"{name} must describe one GPU, not {len(row)}")
        row = row[0]
    if not isinstance(row, dict):
        raise InputError(f"{name} describes no GPU")
    unknown = sorted(set(row) - {item.name for item in fields(GpuModel)})
    if unknown:
        raise InputError(f"{name} has unknown keys: {', '.join(unknown)[:200]}")
    missing = [key for key in ("name", "compute_capability", "sm_count") if key not in row]
    if missing:
        raise InputError(f"{name} lacks {', '.join(missing)}")
    row["compute_capability"] = str(row["compute_capability"])
    for key, value in row.items():
        _check(key, value, name)
    return GpuModel(**{**row, "default": False, "source": row.get("source") or f"the user's {name}"})


def _check(key: str, value: object, name: str) -> None:
    if key in ("name", "compute_capability", "memory_type", "source"):
        good = isinstance(value, str) and bool(value)
    elif key == "default":
        good = isinstance(value, bool)
    elif key in ("sm_count", "tensor_fp16_fp32acc"):
        good = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6
    else:
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 10**9
    if key == "compute_capability":
        good = good and re.fullmatch(r"\d{1,2}\.\d", str(value)) is not None
    if not good:
        raise InputError(f"{name}: {key} cannot be {str(value)[:40]!r}")


@lru_cache(maxsize=64)
def fixed_latencies(name: str) -> Mapping[tuple[str, str], int]:
    """Cycles between a fixed-latency producer and its consumer: (SASS opcode, result kind) to cycles.

    Result kinds are R, P, UR and UP. An architecture without a column of its own takes that of its
    nearest older relative within its major version, else the oldest of it; empty where there is none.
    """
    match = _NAME.fullmatch(name.strip().lower())
    rows = _table("latencies.toml")["latency"]
    columns = {key: int(re.sub(r"\D", "", key)) for row in rows for key in row if key.startswith("sm_")}
    if match is None:
        return {}
    number = int(match.group(1))
    family = [key for key, value in columns.items() if value // 10 == number // 10]
    older = [key for key in family if columns[key] <= number]
    if not family:
        return {}
    chosen = max(older, key=columns.__getitem__) if older else min(family, key=columns.__getitem__)
    return {(row["producer"], row["result"]): row[chosen] for row in rows if chosen in row}
