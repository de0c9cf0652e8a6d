"""What a header declares: functions, constants, enumerations, structures: found, not interpreted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from warpglass.cuda.grammar import child_kinds, parse_tree, text_of
from warpglass.cutlass.clean import clean

__all__ = ["Function", "Header", "parse_header"]


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body: parameters are (type, name, by reference)."""

    name: str
    params: tuple[tuple[str, str, bool], ...]
    body: Node
    header: str
    line: int
    owner: str
    optional: int = 0
    defaults: tuple[tuple[str, int], ...] = ()

    @property
    def source(self) -> str:
        """The text of the body."""
        return text_of(self.body)


@dataclass(frozen=True, slots=True)
class Header:
    """One parsed header. ``errors`` are lines where the grammar gave up."""

    name: str
    text: str
    functions: dict[str, list[Function]]
    constants: dict[str, Node]
    types: dict[str, str]
    enums: dict[str, tuple[str, ...]]
    structs: dict[str, tuple[str, ...]]
    classes: tuple[str, ...]
    choices: tuple[tuple[int, str, bool], ...]
    errors: tuple[int, ...]
    notes: tuple[str, ...] = field(default=())


_ENTER = {
    "translation_unit", "namespace_definition", "declaration_list", "class_specifier", "struct_specifier",
    "field_declaration_list", "template_declaration", "linkage_specification", "ERROR", "declaration",
    "field_declaration", "expression_statement", "compound_statement",
}  # fmt: skip


def _nodes(root: Node) -> Iterator[tuple[Node, str]]:
    """Declarations outside function bodies, with the class they belong to."""
    stack = [(root, "")]
    while stack:
        node, owner = stack.pop()
        yield node, owner
        if node.type in ("class_specifier", "struct_specifier"):
            owner = text_of(node.child_by_field_name("name")) or owner
        if node.type in _ENTER:
            stack.extend((child, owner) for child in reversed(node.named_children))


def parse_header(content: bytes, name: str) -> Header:
    """Parse ``content``; never raises: what the grammar cannot follow is listed in ``errors``."""
    cleaned = clean(content)
    text = content.decode("utf-8", "replace")
    tree = parse_tree(cleaned.content)
    found = Header(name, text, {}, {}, {}, {}, {}, (), cleaned.choices, ())
    if tree is None:
        return Header(name, text, {}, {}, {}, {}, {}, (), cleaned.choices, (), ("too large to be parsed",))
    classes: list[str] = []
    errors: list[int] = []
    for node, owner in _nodes(tree.root_node):
        kind = node.type
        if kind == "ERROR" or node.is_missing:
            errors.append(node.start_point.row + 1)
        if kind == "function_definition":
            function = _function(node, owner, name)
            if function is not None:
                found.functions.setdefault(function.name, []).append(function)
        elif kind in ("class_specifier", "struct_specifier") and node.child_by_field_name("body") is not None:
            label = text_of(node.child_by_field_name("name"))
            if label:
                classes.append(label)
                found.structs[label.split("<")[0]] = _fields(node.child_by_field_name("body"))
        elif kind == "enum_specifier":
            label = text_of(node.child_by_field_name("name"))
            body = node.child_by_field_name("body")
            if body is not None:
                names = [
                    text_of(e.child_by_field_name("name"))
                    for e in body.named_children
                    if e.type == "enumerator"
                ]
                found.enums[label] = tuple(names)
        elif kind in ("declaration", "field_declaration"):
            _constants(node, found)
        elif kind == "alias_declaration":
            found.types[text_of(node.child_by_field_name("name"))] = text_of(node.child_by_field_name("type"))
    return Header(
        name, text, found.functions, found.constants, found.types, found.enums, found.structs,
        tuple(classes), cleaned.choices, tuple(errors[:100]),
    )  # fmt: skip


def _fields(body: Node | None) -> tuple[str, ...]:
    names = []
    for child in body.named_children if body is not None else ():
        if child.type == "field_declaration" and "function_declarator" not in child_kinds(child):
            declared = child.child_by_field_name("declarator")
            while declared is not None and declared.type not in ("field_identifier", "identifier"):
                inner = declared.child_by_field_name("declarator")
                if inner is None:  # a reference's declarator has no field name
                    inner = next(iter(declared.named_children), None)
                declared = inner
            names.append(text_of(declared))
    return tuple(name for name in names if name)


def _constants(node: Node, found: Header) -> None:
    """``static constexpr int N = …`` of a class or a namespace, by name."""
    value = node.child_by_field_name("default_value")
    declared = node.child_by_field_name("declarator")
    if declared is not None and declared.type == "init_declarator":
        value = declared.child_by_field_name("value")
        declared = declared.child_by_field_name("declarator")
    if value is None:
        # Fields that are initialised by ``= value``: the grammar gives the value no name.
        equals = [i for i, child in enumerate(node.children) if child.type == "="]
        if equals and equals[0] + 1 < len(node.children):
            value = node.children[equals[0] + 1]
    if value is not None and declared is not None and declared.type in ("identifier", "field_identifier"):
        found.constants.setdefault(text_of(declared), value)


def _function(node: Node, owner: str, header: str) -> Function | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in declarator.named_children if c.type.endswith("declarator")), None)
        declarator = inner
    body = node.child_by_field_name("body")
    if declarator is None or body is None:
        return None
    name = text_of(declarator.child_by_field_name("declarator")).rsplit("::", 1)[-1]
    listed = declarator.child_by_field_name("parameters")
    params = tuple(parameter(item) for item in (listed.named_children if listed is not None else ()))
    return Function(
        name,
        tuple(p for p in params if p is not None),
        body,
        header,
        node.start_point.row + 1,
        owner,
        sum(
            item.type.startswith("optional") for item in (listed.named_children if listed is not None else ())
        ),
        _defaults(listed),
    )


def _defaults(listed: Node | None) -> tuple[tuple[str, int], ...]:
    """Parameters whose default is a plain integer."""
    found = []
    for item in listed.named_children if listed is not None else ():
        match = re.search(r"(\w+)\s*=\s*(-?\d+|true|false)\s*$", text_of(item))
        if item.type.startswith("optional") and match:
            value = match.group(2)
            found.append((match.group(1), int(value == "true") if value.isalpha() else int(value)))
    return tuple(found)


def parameter(node: Node) -> tuple[str, str, bool] | None:
    """(type, name, by reference) of a parameter declaration."""
    if not node.type.endswith("parameter_declaration"):
        return None
    declared = node.child_by_field_name("declarator")
    reference = declared is not None and declared.type == "reference_declarator"
    name = re.sub(r"[&*\s]|=.*", "", text_of(declared))
    match = re.search(r"\w+", name)
    return text_of(node.child_by_field_name("type")), match.group() if match else "", reference
