"""Names for launches of kernels that several inputs hold, such as two versions of one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from warpglass.collect import CodeUnit
from warpglass.inputs.demangle import demangled

__all__ = ["Versions"]


class Versions:
    """Which kernels come from several of ``units``' inputs, and what tells their launches apart."""

    def __init__(self, units: Sequence[CodeUnit]) -> None:
        places: dict[str, set[int]] = {}
        files: dict[int, str] = {}
        for unit in units:
            files[unit.input.index] = unit.input.name
            for kernel in unit.kernels:
                places.setdefault(demangled(kernel.name).bare, set()).add(unit.input.index)
        self._shared = {name for name, inputs in places.items() if len(inputs) > 1}
        twice = {name for name, count in Counter(files.values()).items() if count > 1}
        # Folders are the user's business: files of one name are told apart by their order.
        self._files = {
            index: f"{name}, input {index + 1}" if name in twice else name for index, name in files.items()
        }

    def label(self, unit: CodeUnit, bare: str, label: str) -> str:
        """A launch's label, with its file where another file has a kernel called ``bare`` too."""
        if bare not in self._shared:
            return label
        file = self._files[unit.input.index]
        named = file if len(self._shared) == 1 else f"{bare}, {file}"
        return f"{named}: {label}" if label else named
