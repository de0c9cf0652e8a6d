"""The texts of a page: which files are shown, under which id, and which of them are the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from warpglass.collect import CodeUnit, InputFile
from warpglass.errors import InputError
from warpglass.files import read_file
from warpglass.report.payload import SourceMap

__all__ = ["PageSources"]


class PageSources:
    """Texts of the page, each with one id; ``add`` is idempotent by key."""

    def __init__(self, files: Sequence[InputFile], without_text: bool) -> None:
        self._without = without_text
        self._entries: list[dict[str, Any]] = []
        self._ids: dict[tuple[str, str], int] = {}
        self._inputs = {file.name: file for file in files}

    def add(
        self, key: str, name: str, language: str, text: str | None, input_id: int | None, own: bool
    ) -> int:
        if (language, key) not in self._ids:
            self._ids[language, key] = len(self._entries)
            self._entries.append(
                {
                    "id": len(self._entries),
                    "name": name,
                    "language": language,
                    "text": None if self._without else text,
                    "input": input_id,
                    "own": own,
                }
            )
        return self._ids[language, key]

    def given(self, name: str) -> tuple[str, int] | None:
        """Text and input id of a source file among the inputs with that name, None where there is none."""
        file = self._inputs.get(name)
        if file is None or file.kind not in ("cuda", "python"):
            return None
        return file.content.decode("utf-8", "replace"), file.index

    def of_unit(self, unit: CodeUnit) -> SourceMap:
        """Page sources of a unit's line table: the user's inputs with text, other files by name only."""
        ids: dict[str, int] = {}
        own: set[str] = set()
        places = unit.compiled.files if unit.compiled is not None else {}
        if unit.source is not None:
            name = unit.input.name
            ids[name] = self.add(name, name, "cuda", unit.source.text, unit.input.index, True)
            own.add(name)
        for path in _line_table_files(unit):
            if path in ids:
                continue
            last = path.rsplit("/", 1)[-1]
            given = self._inputs.get(last)
            place = places.get(path)
            language = "python" if last.endswith(".py") else "cuda"
            if given is not None and given.kind in ("cuda", "python"):
                text = given.content.decode("utf-8", "replace")
                ids[path] = self.add(last, last, language, text, given.index, True)
                own.add(path)
            elif place is not None and _beside(place, unit.input.path):
                # A header of the user's own folder is the user's code, although it was not named.
                ids[path] = self.add(path, path, language, _file_text(place), None, True)
                own.add(path)
            else:
                ids[path] = self.add(path, path, language, None, None, False)
        return SourceMap(ids, frozenset(own))

    def code_of(self, unit: CodeUnit) -> Mapping[str, int]:
        """Source ids of a unit's PTX and SASS texts, by instruction set."""
        ids: dict[str, int] = {}
        key = f"{unit.input.index}:{unit.arch}"
        stem = f"{unit.input.path.stem}.{unit.arch}"
        if unit.ptx_text is not None and unit.module is not None:
            own = unit.input.kind == "ptx"
            name = unit.input.name if own else f"{stem}.ptx"
            ids["ptx"] = self.add(
                f"{key}:{unit.module.name}", name, "ptx", unit.ptx_text, unit.input.index, own
            )
        if unit.sass is not None:
            own = unit.input.kind == "sass"
            name = unit.input.name if own else f"{stem}.sass"
            ids["sass"] = self.add(key, name, "sass", unit.sass.text, unit.input.index, own)
        return ids

    def to_json(self) -> list[dict[str, Any]]:
        return self._entries


def _line_table_files(unit: CodeUnit) -> Iterator[str]:
    if unit.module is not None:
        yield from unit.module.files.values()
    if unit.sass is not None:
        for function in unit.sass.functions:
            for row in function.source_lines:
                yield from (frame.file for frame in row.frames)
            for instruction in function.instructions:
                yield from (frame.file for frame in instruction.frames)


def _beside(place: Path, source: Path) -> bool:
    try:
        return place.resolve().is_relative_to(source.resolve().parent)
    except OSError:
        return False


def _file_text(path: Path) -> str | None:
    try:
        return read_file(path, 4 << 20).decode("utf-8", "replace")
    except InputError:
        return None
