"""After a body is read: names mean what declarations say, and what nothing declares is an error."""

from __future__ import annotations

from collections.abc import Mapping, Set

from warpglass.errors import ParseError
from warpglass.ptx.body import Body
from warpglass.ptx.model import Address, Guard, Instruction, Operand, OperandList, Symbol, Variable
from warpglass.ptx.opcodes import KNOWN_OPCODES, is_special

__all__ = ["Resolved", "resolve"]

#: Targets of all ``brx.idx`` of a function together: many branches may share one large table.
_MOST_WAYS = 1 << 19

_PREDEFINED = frozenset({"_", "WARP_SZ"})

#: Opcodes that access ``array[i]``; elsewhere it is the element's address.
_ACCESSES = frozenset({"ld", "st", "ldu", "atom", "red", "prefetch", "prefetchu", "cp"})

Targets = dict[str, tuple[str, ...]]


class Resolved:
    """Instructions with unique names, and the tables of branch and call targets."""

    def __init__(self, instructions: tuple[Instruction, ...], branches: Targets, calls: Targets) -> None:
        self.instructions = instructions
        self.branch_targets = branches
        self.call_targets = calls


def resolve(body: Body, variables: Mapping[str, Variable], module_names: Set[str]) -> Resolved:
    """Apply the declarations of a body and of the module to its instructions.

    Raises :class:`ParseError` at the first use of a register, label or symbol that nothing declares, as
    the assembler would.
    """
    _check_names(body, module_names)
    instructions = _operands(body, variables)
    branches: Targets = {}
    calls: Targets = {}
    for table in body.tables:
        found = tuple(body.names.lookup(table.scope, t) or t for t in table.targets)
        (branches if table.is_branch else calls)[table.label] = found
        for target in found if table.is_branch else ():
            if target not in body.names.labels:
                raise body.source.error(f"'{target[:60]}' is no label of the function", table.start)
    _check_branches(body, instructions)
    _check_tables(body, instructions, branches)
    return Resolved(tuple(instructions), branches, calls)


def _operands(body: Body, variables: Mapping[str, Variable]) -> list[Instruction]:
    """Instructions whose names mean something else than they look like are made anew."""
    odd, names = body.names.odd, body.names
    result = body.instructions
    memo: dict[tuple[int, int], tuple[tuple[Operand, ...], Guard | None]] = {}
    for index, entry in enumerate(body.entries):
        if entry.names.isdisjoint(odd) and not ("[" in entry.text and _indexed(entry.operands)):
            continue
        scope = body.scopes[index]
        key = (id(entry), scope.number)
        if key not in memo:
            access = entry.opcode.split(".", 1)[0] in _ACCESSES
            memo[key] = (
                tuple(names.operand(o, scope, access, variables) for o in entry.operands),
                None if entry.guard is None else names.guard(entry.guard, scope),
            )
        old = result[index]
        found, guard = memo[key]
        result[index] = Instruction(old.opcode, found, guard, old.line, old.column, old.loc, old.text)
    return result


def _indexed(operands: tuple[Operand, ...]) -> bool:
    """True where an operand is ``array[i]``."""
    return any(
        isinstance(o, Address) and isinstance(o.coordinates, OperandList) and len(o.coordinates.elements) == 1
        for o in operands
    )


def _check_names(body: Body, module_names: Set[str]) -> None:
    used = set[str]().union(*{id(e): e.names for e in body.entries}.values())
    declared, missing = body.names.declared, set[str]()
    for name in used - declared:
        if name[0] != "%":
            if name not in module_names and name not in _PREDEFINED:
                missing.add(name)
        elif not is_special(name):
            kind = body.names.family_type(name)
            if kind is None:
                missing.add(name)
            else:
                body.names.registers[name] = kind
    if not missing:
        return
    for index, entry in enumerate(body.entries):
        found = missing & entry.names
        if found and entry.opcode.split(".", 1)[0] in KNOWN_OPCODES:
            name = min(found)
            what = "register " if name[0] == "%" else ""
            raise _error_at(body, index, f"{what}'{name[:60]}' is not declared")


def _check_branches(body: Body, instructions: list[Instruction]) -> None:
    labels = body.names.labels
    for index, instruction in enumerate(instructions):
        if instruction.opcode[:3] == "bra" and instruction.base == "bra":
            target = instruction.operands[0] if instruction.operands else None
            if not isinstance(target, Symbol) or target.name not in labels:
                shown = f"'{target.name[:60]}'" if isinstance(target, Symbol) else "its target"
                raise _error_at(body, index, f"{shown} is no label of the function")


def _check_tables(body: Body, instructions: list[Instruction], branches: Targets) -> None:
    """Every ``brx.idx`` names a table, and all ways together stay within what a graph can hold."""
    ways = 0
    for index, instruction in enumerate(instructions):
        if instruction.opcode[:3] == "brx" and instruction.base == "brx":
            table = instruction.operands[-1] if instruction.operands else None
            if not isinstance(table, Symbol) or table.name not in branches:
                raise _error_at(body, index, "'brx' without a '.branchtargets' of the function")
            ways += len(branches[table.name])
            if ways > _MOST_WAYS:
                raise _error_at(body, index, f"more than {_MOST_WAYS} branch targets in one function")


def _error_at(body: Body, index: int, message: str) -> ParseError:
    instruction = body.instructions[index]
    offset = body.source.starts()[instruction.line - 1] + instruction.column - 1
    return body.source.error(message, offset)
