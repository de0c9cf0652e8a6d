"""From raw lines of a listing to frozen functions: offsets, labels, encodings, control fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from warpglass.sass import control as control_field
from warpglass.sass.lines import Code
from warpglass.sass.model import Control, Diagnostic, Frame, Function, Instruction, LineRow, LiveCounts
from warpglass.sass.operands import (
    Immediate,
    Label,
    Opaque,
    Operand,
    Predicate,
    Register,
    UniformPredicate,
    parse_operand,
    split_operands,
)  # fmt: skip

__all__ = ["TARGETED", "RawFunction", "RawInstruction", "finish"]

#: Opcodes whose last operand is a code address even where it is printed as a plain number.
TARGETED = frozenset(
    (
        "BRA",
        "BSSY",
        "CALL",
        "JMP",
        "WARPSYNC",
        "LEPC",
        "JCAL",
        "CAL",
        "SSY",
        "PBK",
        "PCNT",
        "PRET",
        "JMXU",
        "BREAK",
    )
)
#: What a function may end with: nothing runs on beyond its last instruction.
_LAST = frozenset(("BRA", "EXIT", "RET", "JMP", "BRX", "BRXU", "BPT", "KILL", "CALL", "JMX", "RTT"))
_PTX_SECTION = ".nv_debug_ptx_txt"


@dataclass(slots=True)
class RawInstruction:
    """One instruction line with what stood around it."""

    code: Code
    line: int
    offset: int | None
    words: tuple[int, ...]
    frames: tuple[Frame, ...]
    control_word: int | None
    dual: bool
    live: LiveCounts | None


@dataclass(slots=True)
class RawFunction:
    """A function while its lines are read. ``labels`` map to instruction indexes."""

    name: str
    named: bool
    arch: str | None
    line: int
    instructions: list[RawInstruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    symbols: list[str] = field(default_factory=list)
    size_labels: dict[str, str] = field(default_factory=dict)
    registers: int | None = None
    barriers: int | None = None
    open_pair: bool = False
    cut: bool = False
    is_entry: bool | None = None


def _sm(arch: str | None) -> int | None:
    digits = "".join(c for c in arch or "" if c.isdigit())
    return int(digits) if digits else None


def _is_maxwell(raw: RawFunction) -> bool:
    """One 64-bit word an instruction: by the architecture, else by the offsets (control words leave gaps)."""
    sm = _sm(raw.arch)
    if sm is not None:
        return sm < 70
    offsets = [item.offset for item in raw.instructions[:64] if item.offset is not None]
    return any(offset % 16 == 8 for offset in offsets)


def _offsets(raw: RawFunction, step: int) -> list[int]:
    """Byte offsets. Where the listing shows none they are counted; absolute addresses are made relative."""
    known = [item.offset for item in raw.instructions]
    if any(offset is None for offset in known):
        return [index * step for index in range(len(known))]
    values = [offset for offset in known if offset is not None]
    if values[0] >= 0x100000:
        # Whole addresses, as a profiler shows them.
        return [value - values[0] for value in values]
    return values


def _guard(text: str | None) -> Predicate | UniformPredicate | None:
    if text is None:
        return None
    operand = parse_operand(text)
    return operand if isinstance(operand, Predicate | UniformPredicate) else None


class _Operands:
    """Parses operand texts of one function, each distinct text once."""

    def __init__(self, labels: Mapping[str, int]) -> None:
        self._labels = labels
        self._seen: dict[str, Operand] = {}

    def parse(self, code: Code) -> tuple[Operand, ...]:
        operands = [self._one(text) for text in split_operands(code.operands)]
        base = code.opcode.split(".", 1)[0]
        if base in TARGETED and operands:
            last = operands[-1]
            number = isinstance(last, Immediate) and last.kind == "int"
            # CALL R6 0x0 adds a register; WARPSYNC 0xff names lanes; BREAK has no target.
            other = (
                (len(operands) > 1 and isinstance(operands[-2], Register) and base in ("CALL", "JMP"))
                or (base == "WARPSYNC" and len(operands) == 1)
                or base == "BREAK"
            )
            if isinstance(last, Immediate) and number and not other:
                operands[-1] = Label(last.text, int(last.value))
        return tuple(operands)

    def _one(self, text: str) -> Operand:
        operand = self._seen.get(text)
        if operand is None:
            operand = parse_operand(text)
            if isinstance(operand, Label):
                operand = replace(operand, target=self._resolve(operand.name))
            self._seen[text] = operand
        return operand

    def _resolve(self, name: str) -> int | None:
        if name in self._labels:
            return self._labels[name]
        for part in name.replace("(", " ").replace(")", " ").split():
            plain = part.removesuffix("@srel")
            if plain.startswith(".L") and plain in self._labels:
                return self._labels[plain]
        return None


def _control(item: RawInstruction, index: int, offset: int, maxwell: bool) -> Control | None:
    if item.code.control is not None:
        return item.code.control
    if maxwell:
        slot = offset // 8 % 4 - 1
        if item.control_word is None or slot < 0:
            return None
        return control_field.maxwell_controls(item.control_word)[slot]
    if len(item.words) == 2:
        return control_field.decode_volta(item.words[1])
    return None


def _guard_bits(word: int, maxwell: bool) -> int:
    return word >> (16 if maxwell else 12) & 15


def _encoding_fits(raw: RawFunction, maxwell: bool) -> bool:
    """Does the guard field of the encodings say what the text says?

    Both generations keep the guard at a fixed place (bits 15:12 of the low word from Volta on, 19:16
    before), so hex from another generation shows in a few instructions. A tenth may differ: the words
    then belong to other instructions.
    """
    checked = wrong = 0
    for item in raw.instructions:
        if not item.words:
            continue
        guard = _guard(item.code.guard)
        index = 7 if guard is None or guard.index is None else guard.index
        expected = index | (8 if guard is not None and guard.negated else 0)
        checked += 1
        wrong += _guard_bits(item.words[0], maxwell) != expected
    return checked == 0 or wrong * 10 <= checked


def _complete(raw: RawFunction, labels: Mapping[str, int], two_words: bool) -> bool:
    if raw.cut:
        return False
    last = raw.instructions[-1]
    if two_words and len(last.words) == 1:
        return False
    if any(item.code.ended for item in raw.instructions) and not last.code.ended:
        return False
    if not all(label in labels for label in raw.size_labels.values() if label.startswith(".L")):
        return False
    code = next((item.code for item in reversed(raw.instructions) if item.code.opcode != "NOP"), last.code)
    return code.guard is None and code.opcode.split(".", 1)[0] in _LAST


def finish(raw: RawFunction, file: str) -> tuple[Function, list[Diagnostic]]:
    """The frozen function, and what there is to say about it."""
    notes: list[Diagnostic] = []
    maxwell = _is_maxwell(raw)
    offsets = _offsets(raw, 8 if maxwell else 16)
    end = offsets[-1] + (8 if maxwell else 16)
    labels = {label: (offsets[index] if index < len(offsets) else end) for label, index in raw.labels.items()}
    counts = [len(item.words) for item in raw.instructions]
    two_words = max(counts) == 2
    usable = not (two_words and maxwell) and _encoding_fits(raw, maxwell)
    if not usable:
        message = (
            f"{raw.name}: the encodings beside the text are not those of {raw.arch or 'its architecture'}; "
            "control fields left out"
        )
        notes.append(Diagnostic("warning", message, file, raw.line))
    if not maxwell and any(counts) and not two_words:
        message = f"{raw.name}: only half of each encoding is there; control fields left out"
        notes.append(Diagnostic("info", message, file, raw.line))
    operands = _Operands(labels)
    instructions: list[Instruction] = []
    for index, (item, offset) in enumerate(zip(raw.instructions, offsets, strict=True)):
        parsed = operands.parse(item.code)
        opaque = next((operand for operand in parsed if isinstance(operand, Opaque)), None)
        if opaque is not None:
            message = f"operand not understood: {opaque.text[:80]}"
            notes.append(Diagnostic("warning", message, file, item.line, item.code.text))
        frames = item.frames
        instructions.append(
            Instruction(
                offset, item.code.opcode, parsed, _guard(item.code.guard), item.code.text, item.line,
                control=_control(item, index, offset, maxwell) if usable or item.code.control else None,
                words=item.words if item.words and usable else None,
                frames=() if frames and frames[0].file == _PTX_SECTION else frames,
                targets=tuple(labels[name] for name in item.code.targets if name in labels),
                live=item.live, dual=item.dual,
            )
        )  # fmt: skip
    complete = _complete(raw, labels, two_words)
    if not complete:
        last = raw.instructions[-1]
        notes.append(
            Diagnostic("warning", f"{raw.name}: the text ends early", file, last.line, last.code.text)
        )
    bases = {instruction.base for instruction in instructions}
    is_kernel = raw.is_entry if raw.is_entry is not None else "EXIT" in bases or "RET" not in bases
    subroutines = {
        labels[symbol]: symbol for symbol in raw.symbols if symbol in labels and symbol != raw.name
    }
    function = Function(
        raw.name, is_kernel, raw.arch, tuple(instructions), labels, raw.line, end - min(offsets[0], 0),
        subroutines=subroutines, registers=raw.registers, barriers=raw.barriers,
        ptx_lines=_ptx_rows(raw, offsets), complete=complete,
    )  # fmt: skip
    return function, notes


def _ptx_rows(raw: RawFunction, offsets: list[int]) -> tuple[LineRow, ...]:
    """The rows that ``nvdisasm -gp`` prints."""
    rows: list[LineRow] = []
    for item, offset in zip(raw.instructions, offsets, strict=True):
        frames = item.frames
        if frames and frames[0].file == _PTX_SECTION and (not rows or rows[-1].frames != frames):
            rows.append(LineRow(offset, frames))
    return tuple(rows)
