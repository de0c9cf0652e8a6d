"""Read a CUDA source: kernels with their parameters, literal launches and ``// warpglass:`` comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from warpglass.cuda.constants import Scope, file_scope
from warpglass.cuda.grammar import MAX_BYTES, child_kinds, parse_tree, text_of, walk
from warpglass.cuda.hostcode import HostCode, bare_name
from warpglass.cuda.model import CudaKernel, CudaParam, CudaSource, LiteralLaunch
from warpglass.errors import InputError
from warpglass.files import read_file
from warpglass.inputs.comments import find_comments
from warpglass.inputs.sniff import decode_text, wide_encoding

__all__ = ["load", "parse", "read_source"]

_MOST = 10_000
#: Nodes that say what a kernel or a launch is part of, and how many of them are looked through.
_SURROUNDING = frozenset(
    {"namespace_definition", "template_declaration", "function_definition", "call_expression"}
)
_DEEPEST = 1000
_LARGEST = 64 << 20

#: Attributes that the grammar takes for a declaration of their own; blanks of the same length replace them.
_ATTRIBUTE = re.compile(
    rb"__(?:align|cluster_dims|maxnreg|block_size|launch_bounds|attribute)__\s*\((?:[^()\n]|\([^()\n]*\)){0,200}\)"
)
#: The execution space of a lambda, which the grammar does not know.
_LAMBDA_SPACE = re.compile(rb"\](\s*(?:__(?:host|device)__\s*){1,4})(?=[({])")


def load(path: Path | str, defines: Sequence[str] = ()) -> CudaSource:
    """Read and parse the file ``path``; raises :class:`InputError` where it cannot be read."""
    path = Path(path)
    return parse(read_source(path), path.name, defines)


def read_source(path: Path) -> bytes:
    """The content of a source file; raises :class:`InputError` where it is none, or too large, or UTF-16."""
    content = read_file(path, _LARGEST)
    wide = wide_encoding(content)
    if wide is not None:
        raise InputError(
            f"{path.name} is {wide} text; nvcc reads UTF-8 only",
            hint=f"save it as UTF-8: iconv -f {wide} -t UTF-8 {path.name}",
        )
    return content


def parse(content: bytes | str, name: str = "<string>", defines: Sequence[str] = ()) -> CudaSource:
    """The model of a CUDA source text. Tolerant: what cannot be read is left out and noted, never raised.

    ``defines`` are the macros of -D (``N=4``), which decide literal launches as they do the compilation.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    text = decode_text(data)
    comments = find_comments(text)
    blanked = _ATTRIBUTE.sub(lambda match: b" " * len(match.group()), text.encode("utf-8", "replace"))
    blanked = _LAMBDA_SPACE.sub(lambda match: b"]" + re.sub(rb"\S", b" ", match[1]), blanked)
    tree = parse_tree(blanked)
    if tree is None:
        note = f"{name} is larger than {MAX_BYTES >> 20} MiB: its kernels and launches were not read"
        return CudaSource(name, text, (), (), comments, (note,))
    root = tree.root_node
    macros = {key: value for key, _, value in (item.partition("=") for item in defines)}
    host = HostCode(root, file_scope(root, macros))
    kernels: list[CudaKernel] = []
    launches: list[LiteralLaunch] = []
    for node, around in _with_surroundings(root):
        if node.type == "function_definition":
            if "__global__" in child_kinds(node) and len(kernels) < _MOST:
                kernel = _kernel(node, around)
                kernels += [kernel] if kernel else []
        elif node.type == "kernel_call_syntax" and len(launches) < _MOST:
            launch = _launch(node, around, host)
            launches += [launch] if launch else []
    notes = (
        (f"{name} holds text that is no plain CUDA; kernels in it may be missing",) if root.has_error else ()
    )
    return CudaSource(name, text, tuple(kernels), tuple(launches), comments, notes)


@dataclass(frozen=True, slots=True)
class _Around:
    """A node around another, and what is around that: innermost first."""

    node: Node
    outer: _Around | None


def _with_surroundings(root: Node) -> Iterator[tuple[Node, _Around | None]]:
    """All named nodes in the order of the text, each with the nodes around it that matter here.

    A tree can be asked for a node's parent too, but searches for it from its root each time: quadratic where
    a file nests deeply.
    """
    stack: list[tuple[Node, _Around | None]] = [(root, None)]
    while stack:
        node, around = stack.pop()
        yield node, around
        inner = _Around(node, around) if node.type in _SURROUNDING else around
        stack.extend((child, inner) for child in reversed(node.named_children))


def _outwards(around: _Around | None) -> Iterator[Node]:
    for _ in range(_DEEPEST):
        if around is None:
            return
        yield around.node
        around = around.outer


def _kernel(node: Node, around: _Around | None) -> CudaKernel | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None:
        return None
    name = text_of(declarator.child_by_field_name("declarator"))
    parameters = declarator.child_by_field_name("parameters")
    listed = parameters.named_children if parameters is not None else []
    params = tuple(_param(item) for item in listed if item.type.endswith("parameter_declaration"))
    scopes: list[str] = []
    template: tuple[str, ...] = ()
    for parent in _outwards(around):
        if parent.type == "namespace_definition":
            scopes.append(text_of(parent.child_by_field_name("name")) or "(anonymous namespace)")
        elif parent.type == "template_declaration" and not template:
            given = parent.child_by_field_name("parameters")
            template = tuple(text_of(item) for item in (given.named_children if given is not None else []))
    bare = name.rsplit("::", 1)[-1]
    qualified = "::".join([*reversed(scopes), name])
    return CudaKernel(bare, qualified, params, template, node.start_point.row + 1, node.end_point.row + 1)


def _param(node: Node) -> CudaParam:
    declarator = node.child_by_field_name("declarator")
    name = ""
    if declarator is not None:
        name = next((text_of(item) for item in walk(declarator) if item.type == "identifier"), "")
    default = node.child_by_field_name("default_value")
    end = default.start_byte if default is not None else node.end_byte
    raw = (node.text or b"")[: min(end - node.start_byte, 2000)].decode("utf-8", "replace").rstrip("= \n\t")
    written = (
        re.sub(rf"\b{re.escape(name)}\b(?!.*\b{re.escape(name)}\b)", "", raw, count=1, flags=re.S)
        if name
        else raw
    )
    written = re.sub(r"\b(?:__restrict__|__restrict|restrict|__grid_constant__)\b|/\*.*?\*/", " ", written)
    written = re.sub(r"\[[^\]]*\]", "*", written)
    written = re.sub(r"\s*\*\s*", "*", " ".join(written.split()))
    return CudaParam(name, written, "*" in written)


def _launch(node: Node, around: _Around | None, host: HostCode) -> LiteralLaunch | None:
    call = around.node if around is not None else None
    if call is None or call.type != "call_expression" or node not in call.named_children:
        return None
    callee = text_of(call.child_by_field_name("function"))
    bare = bare_name(callee)
    function = next((item for item in _outwards(around) if item.type == "function_definition"), None)
    scope = host.scope(function)
    template = _template_arguments(scope, call.child_by_field_name("function"))
    parts = [item for item in node.named_children if item.type != "comment"]
    if not bare or len(parts) < 2:
        return None
    shared = scope.evaluate(parts[2]) if len(parts) > 2 else 0
    listed = call.child_by_field_name("arguments")
    nodes = [item for item in (listed.named_children if listed is not None else ()) if item.type != "comment"]
    args = _arguments(scope, nodes)
    return LiteralLaunch(
        kernel=bare,
        template_args=template[:400],
        grid=_extent(scope, parts[0]),
        block=_extent(scope, parts[1]),
        shared_bytes=int(shared) if isinstance(shared, (int, float)) and 0 <= shared < 2**31 else None,
        line=node.start_point.row + 1,
        text=text_of(node)[:400],
        args=args,
        allocations=tuple(
            host.allocation(function, item) if value is None else None
            for item, value in zip(nodes, args, strict=True)
        ),
    )


def _arguments(scope: Scope, nodes: Sequence[Node]) -> tuple[int | float | None, ...]:
    """Arguments of a launch as far as constants decide them."""
    values = [scope.evaluate(item) for item in nodes]
    return tuple(None if isinstance(value, tuple) else value for value in values)


def _template_arguments(scope: Scope, callee: Node | None) -> str:
    """``<32, float>`` of ``kernel<SIZE, float>``: constants by their values, which mangled names hold."""
    while callee is not None and callee.type == "qualified_identifier":
        callee = callee.child_by_field_name("name")
    listed = callee.child_by_field_name("arguments") if callee is not None else None
    if listed is None:
        text = text_of(callee)
        return text[text.index("<") :] if "<" in text else ""
    shown = []
    for item in listed.named_children:
        value = scope.evaluate(item.named_children[0] if _is_plain_name(item) else item)
        shown.append(str(value) if isinstance(value, int) else text_of(item))
    return "<" + ", ".join(shown) + ">"


def _is_plain_name(item: Node) -> bool:
    """Whether a template argument is a name, which the grammar takes for a type."""
    return item.type == "type_descriptor" and len(item.named_children) == 1


def _extent(scope: Scope, node: Node) -> tuple[int, int, int] | None:
    value = scope.evaluate(node)
    if value is None:
        return None
    extent = value if isinstance(value, tuple) else (int(value), 1, 1)
    return extent if all(1 <= item < 2**31 for item in extent) else None
