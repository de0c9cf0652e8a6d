"""Whole declarations of a source that only the host needs, for when their heads do not compile either."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from warpglass.cuda.grammar import walk

__all__ = ["host_items"]

_ITEMS = frozenset({
    "function_definition", "template_declaration", "declaration", "expression_statement", "using_declaration",
    "alias_declaration", "namespace_alias_definition", "type_definition", "class_specifier",
    "struct_specifier", "template_instantiation",
})  # fmt: skip
#: What may hold items: everything else is an item, or inside one.
_SCOPES = frozenset({
    "translation_unit", "namespace_definition", "linkage_specification", "declaration_list", "preproc_if",
    "preproc_ifdef", "preproc_else", "preproc_elif",
})  # fmt: skip
_DEVICE = re.compile(rb"__(?:device|global|constant|shared|managed|grid_constant)__")


def host_items(root: Node, lines: Sequence[int], content: bytes) -> list[Node]:
    """Declarations at namespace level that hold one of ``lines`` (from 1) and nothing of the device."""
    found = []
    for node in walk(root, lambda node: node.type in _SCOPES):
        if node.type not in _ITEMS:
            continue
        first, last = node.start_point.row + 1, node.end_point.row + 1
        if not any(first <= line <= last for line in lines):
            continue
        if not _DEVICE.search(content[node.start_byte : node.end_byte]):
            found.append(node)
    return found
