"""Markdown of users to HTML that cannot leave its place: raw HTML off, no images, no scripts' links."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

from warpglass.report.text import visible

__all__ = ["markdown_html"]

#: Notes longer than this are cut, with a line that says so.
MAX_CHARACTERS = 200_000


#: Addresses a link may have: the web's, mail's, a place on the page, a path beside it. `//host` and its
#: spellings with backslashes name another machine, as does every other scheme a program may be bound to.
_ADDRESS = re.compile(r"(?:https?://|mailto:|#)|(?![/\\]{2}|[\w+.-]*(?::|%3a))", re.IGNORECASE)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Whether ``url``, normalised, becomes a link; it stays text otherwise."""
        return super().validateLink(url) and _ADDRESS.match(url.strip()) is not None


def markdown_html(text: str) -> Markup:
    """``text`` rendered by markdown-it (CommonMark and tables). Headings start at the third level."""
    parser = _Parser("commonmark", {"html": False, "maxNesting": 20}).enable("table").disable("image")
    cut = text[:MAX_CHARACTERS]
    if len(text) > MAX_CHARACTERS:
        cut += f"\n\n*cut after {MAX_CHARACTERS:,} characters*\n"
    tokens = parser.parse("\n".join(visible(line) for line in cut.replace("\r\n", "\n").split("\n")))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        for child in token.children or []:
            if child.type == "link_open":
                child.attrSet("rel", "noreferrer noopener")
    # Raw HTML is off, so the renderer escapes everything that came from the text.
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704
