"""The report as Python holds it: a JSON value with sections to add to and writers by suffix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpglass.errors import InputError, UsageError
from warpglass.files import read_file, write_file
from warpglass.report.json_writer import plain, pretty
from warpglass.report.markdown import render_markdown
from warpglass.report.render import page_sections, render_html
from warpglass.report.schema import check_report

__all__ = ["MAX_BYTES", "Report", "Section"]

#: A report of ten million events is about 100 MB of JSON.
MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page.

    ``id`` is lower-case letters, digits and dashes. ``data`` is JSON; a section that is not one of the
    built-in ones is drawn from ``data["blocks"]`` (see :mod:`warpglass.report.custom`).
    """

    id: str
    title: str
    data: Any = None

    @classmethod
    def of(cls, id: str, title: str, *blocks: Mapping[str, Any]) -> Section:
        """A section made of blocks, for instance ``{"type": "markdown", "text": "…"}``."""
        return cls(id, title, {"blocks": list(blocks)})


class Report:
    """A report: :attr:`data` is the JSON value of docs/json-schema.md.

    Raises InputError where ``data`` is no report of this version.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data: dict[str, Any] = plain(data)
        check_report(self.data)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read what :meth:`to_json` wrote. Raises InputError for text that is no such JSON."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {str(error).partition(';')[0]}") from error
        if not isinstance(value, dict):
            raise InputError("not a report: the JSON is no object")
        try:
            return cls(value)
        except RecursionError as error:
            raise InputError("not a report: nested too deeply") from error

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a report file. Raises InputError where it cannot be read or is none."""
        content = read_file(Path(path), MAX_BYTES)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{Path(path).name} cannot be read: no UTF-8 text: {error}") from error
        try:
            return cls.from_json(text)
        except InputError as error:
            raise InputError(f"{Path(path).name}: {error.message}", hint=error.hint) from error

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections that the page shows, in page order."""
        data = {entry["id"]: entry.get("data") for entry in self.data.get("sections") or []}
        return tuple(Section(one.id, one.title, data.get(one.id)) for one in page_sections(self.data))

    def add(self, section: Section) -> Report:
        """Add a section and return self. Raises UsageError for an id that cannot be or is already there."""
        listed = self.data.setdefault("sections", [])
        if any(entry["id"] == section.id for entry in listed):
            raise UsageError(f"the report already has a section {section.id!r}")
        entry = plain({"id": section.id, "title": section.title, "data": section.data})
        try:
            check_report({**self.data, "launches": [], "sections": [entry]})
        except InputError as error:
            raise UsageError(f"section {section.id!r} cannot be added: {error.message}") from error
        listed.append(entry)
        return self

    def to_json(self) -> str:
        """Readable JSON with sorted keys; the same report gives the same text."""
        return pretty(self.data)

    def to_html(self, *, charts: str | None = None) -> str:
        """The page; see :func:`warpglass.report.render.render_html`."""
        return render_html(self.data, charts=charts)

    def to_markdown(self) -> str:
        """A summary for a pull request."""
        return render_markdown(self.data)

    def render(self, path: str | Path, *, charts: str | None = None) -> Path:
        """Write the report to ``path`` by its suffix: .html, .json or .md.

        Raises UsageError for another suffix or a place that cannot be written.
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix in (".html", ".htm"):
            text = self.to_html(charts=charts)
        elif suffix == ".json":
            text = self.to_json()
        elif suffix in (".md", ".markdown"):
            text = self.to_markdown()
        else:
            raise UsageError(f"{target.name}: a report is written as .html, .json or .md")
        write_file(target, text.encode("utf-8"))
        return target
