"""Kernels with barriers of their own: lanes, barriers and loops as far as the text tells."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpglass.cuda.grammar import text_of, walk
from warpglass.cutlass.structure import Header

__all__ = ["RawUse", "raw_uses"]

_METHODS = {
    "wait": "wait", "try_wait": "wait", "arrive": "arrive", "arrive_and_expect_tx": "expect",
    "expect_tx": "expect", "arrive_and_wait": "sync", "sync": "sync", "init": "init", "umma_arrive": "arrive",
    "umma_arrive_multicast": "arrive", "umma_arrive_multicast_2x1SM": "arrive",
}  # fmt: skip
_ROLE = re.compile(
    r"warp_(?:idx|group_idx|role)|warpgroup|threadIdx\.x|is_leader|elect_one|kNum\w*Threads|warp_role"
)


@dataclass(frozen=True, slots=True)
class RawUse:
    """One barrier call: function, lane (the condition that parts the warps), loop depth, what, where."""

    function: str
    lane: str
    depth: int
    kind: str
    barrier: str
    line: int


def raw_uses(header: Header) -> list[RawUse]:
    """Every call on something named like a barrier, in the order of the text."""
    found: list[RawUse] = []
    for group in header.functions.values():
        for function in group:
            for node in walk(function.body):
                if node.type != "call_expression" or len(found) > 4000:
                    continue
                callee = node.child_by_field_name("function")
                if callee is None:
                    continue
                name = re.sub(r"<.*", "", text_of(callee), flags=re.DOTALL)
                target, _, method = name.replace("->", ".").rpartition(".")
                if not target:
                    target, _, method = name.rpartition("::")
                if method not in _METHODS or "bar" not in target.lower():
                    continue
                lane, depth = "all", 0
                child, parent = node, node.parent
                while parent is not None and parent != function.body:
                    if parent.type in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
                        depth += 1
                    elif parent.type == "if_statement":
                        condition = " ".join(text_of(parent.child_by_field_name("condition")).split())
                        if lane == "all" and _ROLE.search(condition):
                            lane = condition.removeprefix("(").removesuffix(")")[:100]
                            if child == parent.child_by_field_name("alternative"):
                                lane = f"not ({lane})"
                    child, parent = parent, parent.parent
                barrier = re.sub(r"\[.*", "", target.lstrip("&*("), flags=re.DOTALL)[:60]
                found.append(
                    RawUse(function.name, lane, depth, _METHODS[method], barrier, node.start_point.row + 1)
                )
    return found
