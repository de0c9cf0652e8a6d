"""Hostile text: the one place where names and sources are made safe to look at and to embed.

HTML escaping itself is Jinja's (autoescape); this module makes characters visible that would be dropped or
would reorder what the reader sees, and writes JSON so that no text can leave its script element.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

__all__ = ["escaped", "json_for_script", "markup", "visible"]

# C0 but tab and line feed, DEL and C1, soft hyphen, zero-width and bidi controls, line and paragraph
# separators, byte-order mark, interlinear annotation, lone surrogates (a str from JSON may hold them).
_ODD = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff]"
)
_IN_SCRIPT = re.compile(_ODD.pattern[:-1] + "<>&]")


def _name(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def visible(text: str) -> str:
    """``text`` with every control, bidi and invisible character written as ``\\uXXXX``."""
    return _ODD.sub(_name, text)


def escaped(text: str) -> Markup:
    """``text`` made visible and escaped: how it stands in an SVG."""
    return escape(visible(text))


def markup(text: str) -> Markup:
    """``text`` escaped for HTML, odd characters in a marked span of their own."""
    parts: list[str] = []
    last = 0
    for match in _ODD.finditer(text):
        parts.append(str(escape(text[last : match.start()])))
        parts.append(f'<span class="hl-odd" title="invisible character">{_name(match)}</span>')
        last = match.end()
    parts.append(str(escape(text[last:])))
    return Markup("".join(parts))  # noqa: S704 - every part was escaped above


def json_for_script(json_text: str) -> Markup:
    """JSON text that may stand inside a script element.

    ``<``, ``>``, ``&``, U+2028, U+2029 and all characters that :func:`visible` names occur in JSON inside
    strings only, so ``\\uXXXX`` means the same there.
    """
    return Markup(_IN_SCRIPT.sub(_name, json_text))  # noqa: S704 - no markup can remain
