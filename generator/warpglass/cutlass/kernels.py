"""A kernel layer's ``operator()``, run once for each role of its warps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from warpglass.cuda.grammar import text_of, walk
from warpglass.cutlass.interpret import Interpreter
from warpglass.cutlass.streams import KNOBS, RoleStream
from warpglass.cutlass.structure import Function, Header

__all__ = ["GROUPS", "kernel_function", "kernel_roles", "role_streams"]

_GROUP = re.compile(r"\bwarp_group_idx\s*==\s*0")
_ROLE = re.compile(r"Role$|Category$")
_SYNC = re.compile(r"Pipeline|pipeline|barrier|Barrier|collective_mainloop")
_MAX_ROLES = 40


def kernel_function(header: Header) -> Function | None:
    """The function in which the roles part: ``operator()``, else the longest one that names roles."""
    found = [f for f in header.functions.get("operator()", ()) if _SYNC.search(f.source)]
    if not found:
        found = [f for group in header.functions.values() for f in group if _roles_in(f)]
    if not found:
        found = [f for group in header.functions.values() for f in group if _by_group(f)]
    return max(found, key=lambda f: len(f.source), default=None)


def _roles_in(function: Function) -> dict[str, tuple[str, ...]]:
    """Enumerations of roles that a function declares."""
    found: dict[str, tuple[str, ...]] = {}
    for node in walk(function.body):
        if node.type == "enum_specifier":
            name = text_of(node.child_by_field_name("name"))
            body = node.child_by_field_name("body")
            if body is not None and _ROLE.search(name):
                found[name] = tuple(
                    text_of(e.child_by_field_name("name"))
                    for e in body.named_children
                    if e.type == "enumerator"
                )
    return found


def _by_group(function: Function) -> bool:
    """Whether a function parts its warps by the number of their warpgroup, without an enumeration."""
    source = function.source
    return _GROUP.search(source) is not None and "make_producer_start_state" in source


#: Role: its warpgroup, the thread and the warp that stand for it. The producer's first warp loads; of a
#: consumer's warps the last one is taken, which is the one that stores and hands buffers back.
GROUPS: Mapping[str, Mapping[str, int]] = {
    "Producer": {"wg": 0, "thread": 0, "warp": 0},
    "Consumer0": {"wg": 1, "thread": 255, "warp": 7},
    "Consumer1": {"wg": 2, "thread": 383, "warp": 11},
}


def kernel_roles(header: Header) -> list[tuple[str, dict[str, str]]]:
    """(name, enumerator of each enumeration) of every role that the source names."""
    function = kernel_function(header)
    if function is None:
        return []
    enums = {
        name: values
        for name, values in header.enums.items()
        if _ROLE.search(name) and name in function.source
    }
    enums.update(_roles_in(function))
    source = function.source
    used = {
        name: [v for v in values if re.search(rf"{name}::{v}\b", source)] for name, values in enums.items()
    }
    used = {name: values for name, values in used.items() if values}
    if not used:
        return [("all", {})]
    groups = next((name for name in used if "Group" in name), None)
    inner = [name for name in used if name != groups]
    found: list[tuple[str, dict[str, str]]] = []
    if groups is None:
        for values in product(*(used[name] for name in inner)):
            found.append((" ".join(values), dict(zip(inner, values, strict=True))))
        return found[:_MAX_ROLES]
    for group in used[groups]:
        if group.lower().startswith("producer") and inner:
            for values in product(*(used[name] for name in inner)):
                roles = {groups: group, **dict(zip(inner, values, strict=True))}
                found.append((f"{group} {' '.join(values)}", roles))
        else:
            found.append((group, {groups: group, **dict.fromkeys(inner, "")}))
    return found[:_MAX_ROLES]


def role_streams(
    kernel: Header,
    others: Sequence[Header] = (),
    knobs: Mapping[str, int] = KNOBS,
    decide: Mapping[str, bool] | None = None,
) -> tuple[RoleStream, ...]:
    """The stream of each role; calls into collectives are followed where their header is given."""
    function = kernel_function(kernel)
    if function is None:
        return ()
    streams = []
    listed: list[tuple[str, dict[str, str], dict[str, int]]]
    listed = [(name, roles, {}) for name, roles in kernel_roles(kernel)]
    if len(listed) == 1 and not listed[0][1] and _by_group(function):
        listed = [(name, {}, dict(place)) for name, place in GROUPS.items()]
    for name, roles, place in listed:
        run = Interpreter((kernel, *others), {**knobs, **place}, roles, decide)
        run.run(function)
        stream = run.stream
        streams.append(
            RoleStream(name, tuple(stream.ops), stream.decided(), tuple(stream.notes), dict(stream.kinds))
        )
    return tuple(streams)
