"""Reads a finished page as a browser's parser would, for assertions."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from warpglass.report.pack import unpack_page

#: What a start or an end tag closes by itself, as HTML lets tables leave these ends out.
_CELLS, _ROWS = ("td", "th"), ("td", "th", "tr")
_IMPLIED = {
    "td": _CELLS, "th": _CELLS, "tr": _ROWS,
    "/tr": _CELLS, "/tbody": _ROWS, "/thead": _ROWS, "/table": (*_ROWS, "tbody", "thead"),
}  # fmt: skip
_VOID = frozenset(("area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"))


@dataclass
class Element:
    tag: str
    attrs: dict[str, str | None]
    parent: Element | None = None
    text: str = ""
    children: list[Element] = field(default_factory=list)
    pieces: list[str | Element] = field(default_factory=list)

    def all_text(self) -> str:
        return "".join(one if isinstance(one, str) else one.all_text() for one in self.pieces)


class Page(HTMLParser):
    """Elements in document order; ``text`` is everything a reader could see."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.stack: list[Element] = []
        self.problems: list[str] = []
        self.comments: list[str] = []
        self.feed(html)
        self.close()
        if self.stack:
            self.problems.append(f"not closed: {[one.tag for one in self.stack]}")

    def _imply(self, tag: str) -> None:
        while self.stack and self.stack[-1].tag in _IMPLIED.get(tag, ()):
            self.stack.pop()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._imply(tag)
        parent = self.stack[-1] if self.stack else None
        element = Element(tag, dict(attrs), parent)
        if len(dict(attrs)) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice")
        if parent is not None:
            parent.children.append(element)
            parent.pieces.append(element)
        self.elements.append(element)
        if tag not in _VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        parent = self.stack[-1] if self.stack else None
        element = Element(tag, dict(attrs), parent)
        if parent is not None:
            parent.children.append(element)
            parent.pieces.append(element)
        self.elements.append(element)

    def handle_endtag(self, tag: str) -> None:
        self._imply(f"/{tag}")
        if not self.stack or self.stack[-1].tag != tag:
            self.problems.append(f"</{tag}> closes {self.stack[-1].tag if self.stack else 'nothing'}")
            return
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        if self.stack:
            self.stack[-1].text += data
            self.stack[-1].pieces.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def find(self, tag: str, **attrs: str) -> list[Element]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}
        return [
            one
            for one in self.elements
            if one.tag == tag and all(one.attrs.get(name) == value for name, value in wanted.items())
        ]

    def by_id(self, name: str) -> Element:
        (found,) = [one for one in self.elements if one.attrs.get("id") == name]
        return found

    @property
    def data(self) -> Any:
        return unpack_page(json.loads(self.by_id("wg-data").text))

    @property
    def policy(self) -> str:
        (meta,) = self.find("meta", http_equiv="Content-Security-Policy")
        return meta.attrs["content"] or ""


def script_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
