"""C++ names out of mangled ones, within bounded time; what cannot be read stays as it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any

import itanium_demangler

__all__ = ["DemangledName", "demangle", "demangled", "matches_name"]

_LONGEST = 4096
_MOST_TEXT = 16384
_MOST_CALLS = 200_000
_ORDER = ("const", "volatile", "restrict")
_SPELLED = {"restrict": "__restrict__"}
_ANONYMOUS = re.compile(r"_GLOBAL__N_\w*|_INTERNAL_\w*")
_SUFFIX = {
    "unsigned int": "u",
    "long": "l",
    "unsigned long": "ul",
    "long long": "ll",
    "unsigned long long": "ull",
}


@dataclass(frozen=True, slots=True)
class DemangledName:
    """A mangled name, in full (``ns::axpy<float, 64>(int, float const*)``), without parameters, and bare.

    ``params`` holds the types of the parameters, None where the name does not tell them.
    """

    mangled: str
    full: str
    qualified: str
    bare: str
    params: tuple[str, ...] | None = None


class _TooMuch(Exception):
    """A name that unfolds beyond the bounds."""


def demangle(name: str) -> str:
    """The full C++ name, or ``name`` itself where it is not mangled or cannot be read."""
    return demangled(name).full


@lru_cache(maxsize=4096)
def demangled(name: str) -> DemangledName:
    """All forms of ``name``. Never raises; takes bounded time for any text."""
    if not name.startswith("_Z") or len(name) > _LONGEST:
        return DemangledName(name, name, name, name)
    try:
        tree = _bounded(lambda: itanium_demangler.parse(name))
        if tree is None:
            raise _TooMuch
        writer = _Writer()
        params: tuple[str, ...] | None = None
        if tree.kind == "func":
            qualified = writer.text(tree.name)
            params = writer.parameters(tree)
            full = f"{qualified}({', '.join(params)})"
            bare_node = tree.name
        else:
            full = qualified = writer.text(tree)
            bare_node = tree
        bare = _bare(bare_node) or _guess_bare(name)
        if not qualified:
            raise _TooMuch
    except Exception:
        # The package raises whatever a malformed name makes it stumble over.
        bare = _guess_bare(name)
        return DemangledName(name, name, name, bare)
    return DemangledName(name, full, qualified, bare, params)


def matches_name(mangled: str, wanted: str) -> bool:
    """Whether ``wanted`` names this function: mangled, demangled with or without parameters, or bare."""
    forms = demangled(mangled)
    squeezed = {"".join(wanted.split())}
    if wanted.startswith("void "):  # as profilers and c++filt write templates
        squeezed.add("".join(wanted[5:].split()))
    return not squeezed.isdisjoint(
        "".join(form.split()) for form in (forms.mangled, forms.full, forms.qualified, forms.bare)
    )


def _bounded(work: Callable[[], Any]) -> Any:
    """Run ``work`` for a bounded number of calls: a short name can unfold to a tree of any size."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        if event == "call":
            calls += 1
            if calls > _MOST_CALLS:
                raise _TooMuch

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return work()
    finally:
        sys.setprofile(before)


def _bare(node: Any) -> str:
    """The last plain name of a qualified one."""
    if node.kind in ("abi", "cv_qual"):
        return _bare(node.value)
    if node.kind == "qual_name":
        for part in reversed(node.value):
            if part.kind != "tpl_args":
                return _bare(part)
        return ""
    return str(node.value) if node.kind == "name" else ""


def _guess_bare(name: str) -> str:
    """The last identifier at the start of a mangled name that could not be read as a whole."""
    match = re.match(r"_Z(?:L)?(?:N[rVKRO]*)?", name)
    position = match.end() if match else 0
    last = name
    while number := re.compile(r"L?(\d{1,4})").match(name, position):
        end = number.end() + int(number.group(1))
        if int(number.group(1)) == 0 or end > len(name):
            break
        last, position = name[number.end() : end], end
    return last


class _Writer:
    """Writes the package's trees the way c++filt does, in bounded time."""

    def __init__(self) -> None:
        self._written = 0

    def text(self, node: Any) -> str:
        return self._left(node) + self._right(node)

    def parameters(self, function: Any) -> tuple[str, ...]:
        """The types of the parameters; packs are spread, ``(void)`` is none."""
        nodes: list[Any] = []
        for node in function.arg_tys:
            inner = node.value if node.kind == "expand_arg_pack" else node
            nodes += inner.value if inner.kind == "tpl_arg_pack" else [inner]
        return () if [str(node) for node in nodes] == ["void"] else tuple(map(self.text, nodes))

    def _left(self, node: Any) -> str:
        if node is None:
            raise _TooMuch
        text = self._plain(node)
        self._written += len(text) + 1
        if self._written > _MOST_TEXT:
            raise _TooMuch
        return text

    def _plain(self, node: Any) -> str:
        kind: str = node.kind
        value: Any = getattr(node, "value", None)
        if kind in ("name", "builtin"):
            return _ANONYMOUS.sub("(anonymous namespace)", value) if kind == "name" else str(value)
        if kind == "qual_name":
            return self._qualified(value)
        if kind in ("tpl_args", "tpl_arg_pack"):
            inner = ", ".join(filter(None, map(self.text, value)))
            return f"<{inner}>" if kind == "tpl_args" else inner
        if kind in ("pointer", "lvalue", "rvalue"):
            mark = {"pointer": "*", "lvalue": "&", "rvalue": "&&"}[kind]
            opening = " (" if value.kind in ("func", "array") else ""
            return self._left(value) + opening + mark
        if kind == "cv_qual":
            marks = [_SPELLED.get(mark, mark) for mark in _ORDER if mark in node.qual]
            return " ".join([self.text(value), *marks])
        if kind == "literal":
            return self._literal(node)
        if kind == "func":
            return self.text(node.ret_ty) if node.ret_ty is not None else ""
        if kind == "array":
            return self._left(node.ty)
        if kind == "expand_arg_pack":
            return self.text(value)
        if kind == "abi":
            return self.text(value) + "".join(f"[abi:{tag}]" for tag in sorted(node.qual))
        return str(node)

    def _right(self, node: Any) -> str:
        if node.kind in ("pointer", "lvalue", "rvalue"):
            closing = ")" if node.value.kind in ("func", "array") else ""
            return closing + self._right(node.value)
        if node.kind == "func":
            return f"({', '.join(self.parameters(node))})"
        if node.kind == "array":
            return f"[{node.dimension.value}]" + self._right(node.ty)
        return ""

    def _qualified(self, parts: Any) -> str:
        text = ""
        for part in parts:
            text += ("::" if text and part.kind != "tpl_args" else "") + self.text(part)
        return text

    def _literal(self, node: Any) -> str:
        kind = self.text(node.ty)
        value = re.sub(r"^n", "-", str(node.value))
        if kind == "bool":
            return {"0": "false", "1": "true"}.get(value, value)
        if kind == "int" or kind in _SUFFIX:
            return value + _SUFFIX.get(kind, "")
        return f"({kind}){value}"
