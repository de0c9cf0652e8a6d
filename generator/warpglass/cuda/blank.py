"""Blank what belongs to the host alone, with lines kept, so that the device code compiles without it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from warpglass.cuda.blank_items import host_items
from warpglass.cuda.grammar import child_kinds, parse_tree, text_of, walk

__all__ = ["Blanked", "blank_for_retry"]

_MISSING_HEADER = re.compile(r"^([^\s:()]+):(\d+):\d+: fatal error: (\S+): No such file", re.M)
_ERROR_LINE = re.compile(r"^([^\s:()]+)\((\d+)\): error|^([^\s:()]+):(\d+):\d+: (?:fatal )?error", re.M)
_DEVICE = {"__global__", "__device__"}
#: An upper-case word before a body may be a macro that says __device__.
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
#: How a blanked body keeps a kernel instantiated.
_KEPT = re.compile(r"\(void\)&([\w:<>, ]{1,200});")


@dataclass(frozen=True, slots=True)
class Blanked:
    """The changed source, as many lines as before, and what was taken out."""

    content: bytes
    notes: tuple[str, ...]


def blank_for_retry(content: bytes, name: str, output: str, everything: bool) -> Blanked | None:
    """Take out what made nvcc fail with ``output``, if the host alone needs it; None where nothing is left.

    A header of file ``name`` that is not found is blanked (if device code needs it, the next try says so);
    else the bodies of the host functions in which the errors lie, and whole declarations where the errors
    lie in their heads; with ``everything``, or where an error lies elsewhere, the bodies of all functions.
    Kernels named in a ``<<<…>>>`` of what is blanked stay instantiated.
    """
    header = _MISSING_HEADER.search(output)
    if header:
        return (
            _without_header(content, int(header.group(2)), header.group(3))
            if header.group(1) == name
            else None
        )
    tree = parse_tree(content)
    if tree is None:
        return None
    bodies = [
        (node, body) for node in walk(tree.root_node) if (body := _host_body(node, content)) is not None
    ]
    lines = _error_lines(output, name)
    device = [node for node in walk(tree.root_node) if _is_device(node)]
    if any(_spans(node, line) for node in device for line in lines):
        return None
    chosen = [
        (node, body) for node, body in bodies if everything or any(_spans(node, line) for line in lines)
    ]
    chosen = [(node, body) for node, body in chosen if not _is_blank(body)]
    heads = [
        line
        for line in lines
        if not any(body.start_point.row + 1 < line and _spans(body, line) for _, body in chosen)
    ]
    items = host_items(tree.root_node, heads, content)
    if items:
        chosen = [(node, body) for node, body in chosen if not any(_holds(i, node) for i in items)]
        return _without(content, [*chosen, *((item, item) for item in items)], keep_kernels=not everything)
    if not chosen:
        chosen = [(node, body) for node, body in bodies if not _is_blank(body)]
    return _without(content, chosen, keep_kernels=not everything) if chosen else None


def _without_header(content: bytes, line: int, header: str) -> Blanked | None:
    lines = content.split(b"\n")
    if not 1 <= line <= len(lines) or b"include" not in lines[line - 1]:
        return None
    lines[line - 1] = b""
    note = f"#include of {header} (line {line}) was left out: the file was not found"
    return Blanked(b"\n".join(lines), (note,))


def _host_body(node: Node, content: bytes) -> Node | None:
    """The body of ``node`` if it is a function that only the host can call."""
    if node.type != "function_definition":
        return None
    body = node.child_by_field_name("body")
    if body is None or body.type != "compound_statement":
        return None
    head = content[node.start_byte : body.start_byte].decode("utf-8", "replace")
    # Constant expressions may be evaluated for device code, and `auto` takes its type from the body.
    if re.search(r"\b(?:constexpr|consteval|auto|__device__|__global__)\b", head) or _MACRO.search(head):
        return None
    return None if child_kinds(node) & _DEVICE else body


def _is_device(node: Node) -> bool:
    return node.type == "function_definition" and bool(child_kinds(node) & _DEVICE)


def _error_lines(output: str, name: str) -> list[int]:
    found = []
    for match in _ERROR_LINE.finditer(output):
        file, line = (match.group(1), match.group(2)) if match.group(1) else (match.group(3), match.group(4))
        if file == name:
            found.append(int(line))
    return found


def _spans(node: Node, line: int) -> bool:
    return node.start_point.row <= line - 1 <= node.end_point.row


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _is_blank(body: Node) -> bool:
    return all(child.type == "expression_statement" and text_of(child).startswith("(void)&")
               for child in body.named_children)  # fmt: skip


def _without(content: bytes, chosen: list[tuple[Node, Node]], keep_kernels: bool) -> Blanked:
    """Blank the second node of each pair: a function's body, or the whole declaration."""
    pieces: list[bytes] = []
    position = 0
    bodies: list[str] = []
    wholes: list[str] = []
    for node, gone in sorted(chosen, key=lambda pair: pair[1].start_byte):
        if gone.start_byte < position:
            continue  # inside what is already gone
        kept = "".join(f"(void)&{name};" for name in _kernels_launched(gone)) if keep_kernels else ""
        newlines = b"\n" * content.count(b"\n", gone.start_byte, gone.end_byte)
        blank = b"{" + kept.encode() + newlines + b"}"
        if gone is node:
            place = gone.start_point
            head = f"void warpglass_keeps_{place.row}_{place.column}()".encode()
            blank = head + blank if kept else newlines
        pieces += [content[position : gone.start_byte], blank]
        position = gone.end_byte
        (wholes if gone is node else bodies).append(f"{_name_of(node)} (line {node.start_point.row + 1})")
    pieces.append(content[position:])
    notes = []
    for what, names in (("bodies of host functions", bodies), ("declarations of the host", wholes)):
        if names:
            more = " …" if len(names) > 12 else ""
            notes.append(f"{what} were blanked to compile the device code: {', '.join(names[:12])}{more}")
    return Blanked(b"".join(pieces), tuple(notes))


def _kernels_launched(body: Node) -> list[str]:
    """Kernels of ``<<<…>>>`` in a body whose template arguments are literal, so that they outlive it."""
    found: dict[str, None] = dict.fromkeys(_KEPT.findall(text_of(body)))  # by an earlier try
    for node in walk(body):
        if node.type == "call_expression" and "kernel_call_syntax" in child_kinds(node):
            callee = text_of(node.child_by_field_name("function"))
            if "<" in callee and "\n" not in callee and re.fullmatch(r"[\w:<>, ]{1,200}", callee):
                found[callee] = None
    return list(found)


def _name_of(node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type not in ("function_declarator",):
        declarator = declarator.child_by_field_name("declarator")
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    return text_of(inner)[:80] or " ".join(text_of(node).split())[:40] or "a function"
