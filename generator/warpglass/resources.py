"""Where the files that are no Python lie: inside the installed wheel, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

from warpglass.errors import InputError, UsageError

__all__ = ["KINDS", "resource_dir"]

KINDS = ("templates", "static_js", "examples")


def resource_dir(kind: str) -> Path:
    """The folder ``templates``, ``static_js`` or ``examples``.

    A wheel holds it as ``warpglass/<kind>``; a checkout has it beside ``generator/``. Raises
    :class:`UsageError` for another kind, :class:`InputError` where the installation lacks it.
    """
    if kind not in KINDS:
        raise UsageError(f"no resource folder {kind!r}; there are {', '.join(KINDS)}")
    package = Path(__file__).resolve().parent
    for candidate in (package / kind, package.parent.parent / kind):
        if candidate.is_dir():
            return candidate
    raise InputError(f"this installation lacks its {kind} folder", hint="reinstall warpglass")
