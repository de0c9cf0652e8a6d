"""The tree-sitter grammar of CUDA, and walks over its trees that need no recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Tree

__all__ = ["MAX_BYTES", "child_kinds", "parse_tree", "text_of", "walk"]

#: Sources beyond this are not parsed: a tree takes some 50 bytes a byte of text.
MAX_BYTES = 4 << 20


def parse_tree(content: bytes) -> Tree | None:
    """The tolerant syntax tree of ``content``, or None where it is too large."""
    if len(content) > MAX_BYTES:
        return None
    return Parser(Language(tree_sitter_cuda.language())).parse(content)


def walk(root: Node, enter: Callable[[Node], bool] | None = None) -> Iterator[Node]:
    """All named nodes in the order of the text; children only of those for which ``enter`` holds."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if enter is None or enter(node):
            stack.extend(reversed(node.named_children))


def text_of(node: Node | None) -> str:
    """The source text of a node, empty for None."""
    if node is None or node.text is None:
        return ""
    return node.text.decode("utf-8", "replace")


def child_kinds(node: Node) -> set[str]:
    """Kinds of the direct children, keywords such as ``__global__`` included."""
    return {child.type for child in node.children}
