"""Finds the templates and scripts, installed in the wheel or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["static_js_dir", "templates_dir"]

_PACKAGE = Path(__file__).resolve().parent.parent


def _find(name: str, probe: str) -> Path:
    # The wheel carries the folder inside the package; in a checkout it lies beside generator/.
    for candidate in (_PACKAGE / name, _PACKAGE.parent.parent / name):
        if (candidate / probe).is_file():
            return candidate
    raise RuntimeError(f"this installation of warpglass lacks its {name}/ folder")


@cache
def templates_dir() -> Path:
    """The folder that holds ``base.html.jinja``."""
    return _find("templates", "base.html.jinja")


@cache
def static_js_dir() -> Path:
    """The folder that holds ``main.js``."""
    return _find("static_js", "main.js")
