"""A kernel layer's roles, run three times, as a program of their own (:mod:`programs.traced`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.cutlass.build import Node
from warpglass.cutlass.kernels import role_streams
from warpglass.cutlass.programs.traced import RUNS, Role, traced_program
from warpglass.cutlass.streams import RoleStream
from warpglass.cutlass.structure import Header

__all__ = ["trace_kernel"]

_FIFTH = re.compile(r"UMMA::|tcgen05|arch::Sm10\d|SM10\d_|sm100")
_MOST_ROLES = 24
_CLASS = re.compile(r"\b(Pipeline\w*(?:Async|Store)|OrderedSequenceBarrier)\s*<\s*([\w:]+)")


class _Stages:
    """Class and stages of pipelines by their declared types."""

    def __init__(self, headers: Sequence[Header], streams: Sequence[RoleStream]) -> None:
        self.headers = headers
        self.kinds: dict[str, str] = {}
        for stream in streams:
            self.kinds.update(stream.kinds)

    def number(self, text: str) -> int | None:
        """The number that a stage count spells or that a constant of the headers has."""
        name = text.removesuffix("::value").rsplit("::", 1)[-1]
        if name.isdigit():
            return int(name)
        for header in self.headers:
            node = header.constants.get(name)
            if node is not None and node.text is not None and node.text.strip().isdigit():
                return int(node.text)
        return None

    def __call__(self, pipe: str) -> tuple[str, Any]:
        order = "order" in pipe.lower()
        name = self.kinds.get(pipe, "")
        found = None
        for _ in range(5):
            found = _CLASS.search(name)
            bare = re.sub(r"<.*", "", name, flags=re.DOTALL).strip().rsplit("::", 1)[-1]
            following = next((h.types[bare] for h in self.headers if bare and bare in h.types), None)
            if found is not None or following is None or following == name:
                break
            name = following
        if found is None and order:
            texts = (text for header in self.headers for text in header.types.values())
            found = next((m for text in texts if (m := _CLASS.search(text)) and m.group(1)[0] == "O"), None)
        kind = found.group(1) if found is not None else "PipelineAsync"
        number = self.number(found.group(2)) if found is not None else None
        if number is not None and 1 <= number <= 16:
            return kind, number
        if order:
            return kind, 1
        return kind, "SQ" if re.search(r"_q$|outer", pipe.lower()) else "S"


def trace_kernel(
    kernel: Header,
    others: Sequence[Header],
    knobs: Mapping[str, int],
    decide: Mapping[str, bool] | None = None,
) -> tuple[Node | None, str]:
    """(program, why there is none, or what it lacks)."""
    runs = []
    for k in RUNS:
        run = role_streams(kernel, others, {**knobs, "K": k, "O": 3}, decide)
        if len(run) > _MOST_ROLES or any(stream.notes for stream in run):
            return None, f"there are more than {_MOST_ROLES} roles, or one of them did not come to its end"
        runs.append(run)
    if not runs[0] or any(len(run) != len(runs[0]) for run in runs):
        return None, "the roles differ from run to run"
    groups = knobs.get("W", 2)
    roles = []
    for streams in zip(*runs, strict=True):
        number = re.search(r"Consumer(\d)", streams[0].role)
        if number is None or int(number.group(1)) < groups:
            roles.append(Role(streams[0].role, tuple(stream.ops for stream in streams)))
    text = "\n".join(header.text for header in (kernel, *others))
    stages = _Stages((kernel, *others), runs[0])
    return traced_program(roles, _FIFTH.search(text) is not None, stages)
