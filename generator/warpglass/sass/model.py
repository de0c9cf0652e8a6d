"""Frozen models of machine code (SASS) as the disassemblers print it.

Names follow the CUDA Binary Utilities document. Lines count from 1, offsets and sizes are bytes. Plain
data: nothing here reads files or analyses. Operands live in :mod:`warpglass.sass.operands`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpglass.sass.operands import Operand, Predicate, UniformPredicate

__all__ = [
    "Attribute", "Control", "DataSymbol", "Diagnostic", "Frame", "Function", "Instruction", "LaunchPreset",
    "LineRow", "LiveCounts", "Member", "Module", "Param", "Relocation", "ToolInfo",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Control:
    """The scheduling field of one instruction; see :mod:`warpglass.sass.control` for the bits.

    ``stall`` is in cycles. ``yield_bit`` is the raw bit. ``write_barrier`` and ``read_barrier`` are 0 to 5,
    or None. ``wait_mask`` has bit b set where the instruction waits for barrier b. ``reuse`` has bit i set
    where operand slot i is kept in the operand cache.
    """

    stall: int
    yield_bit: int
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int

    @property
    def waits(self) -> tuple[int, ...]:
        """The barriers waited for, ascending."""
        return tuple(b for b in range(6) if self.wait_mask >> b & 1)

    def __str__(self) -> str:
        wait = "".join(str(b) if self.wait_mask >> b & 1 else "-" for b in range(6))
        read = "-" if self.read_barrier is None else str(self.read_barrier)
        write = "-" if self.write_barrier is None else str(self.write_barrier)
        # The letter Y stands for a clear bit: that is how assemblers of this notation print it.
        return f"[B{wait}:R{read}:W{write}:{'-' if self.yield_bit else 'Y'}:S{self.stall:02d}]"


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in a source file; ``function`` is the inlined function's (mangled) name where it is known."""

    file: str
    line: int
    function: str | None = None


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """Occupied registers at one instruction. None where the listing does not say."""

    registers: int | None
    predicates: int | None
    uniform_registers: int | None
    uniform_predicates: int | None


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction.

    ``opcode`` is the whole dotted text (``LDG.E.64``), ``operands`` are parsed, ``text`` is the instruction
    without its trailing ``;``. ``words`` are the encoding's 64-bit words, low word first (one on Maxwell and
    Pascal), or None where the listing has none. ``line`` is the line in the listing. ``frames`` is the source
    place, innermost first, empty if unknown. ``targets`` are the byte offsets that an indirect branch may
    take, as annotated by the disassembler. ``dual`` marks an instruction issued together with the one before.
    """

    offset: int
    opcode: str
    operands: tuple[Operand, ...]
    guard: Predicate | UniformPredicate | None
    text: str
    line: int
    control: Control | None = None
    words: tuple[int, ...] | None = None
    frames: tuple[Frame, ...] = ()
    targets: tuple[int, ...] = ()
    live: LiveCounts | None = None
    dual: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode split at its dots."""
        return tuple(self.opcode.split("."))

    @property
    def base(self) -> str:
        """The first part of the opcode."""
        return self.opcode.split(".", 1)[0]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The parts after the first."""
        return tuple(self.opcode.split(".")[1:])


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: its ordinal, byte offset from the parameter base, and size in bytes."""

    ordinal: int
    offset: int
    size: int
    log_alignment: int = 0
    space: int = 0


@dataclass(frozen=True, slots=True)
class Attribute:
    """One ``.nv.info`` attribute. ``value`` is an int, a tuple of 32-bit words, or raw bytes; ``name`` is
    ``EIATTR_…`` or ``UNKNOWN_0x…``."""

    code: int
    name: str
    value: int | tuple[int, ...] | bytes


@dataclass(frozen=True, slots=True)
class LineRow:
    """One row of a line table: the code from ``offset`` on belongs to ``frames`` (innermost first)."""

    offset: int
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A program that wrote or read an image. ``flags`` are its own arguments, split at blanks."""

    name: str
    version: str
    branch: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataSymbol:
    """A variable: its place in a data section of the image and its size, in bytes."""

    name: str
    section: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place in ``section`` that holds the address of ``symbol`` plus ``addend``."""

    section: str
    offset: int
    symbol: str
    addend: int
    type: int


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel, or a device function in a section of its own.

    ``labels`` maps a label or symbol to a byte offset; ``subroutines`` names the device functions that stand
    inside the same section, by start offset. ``registers`` and the sizes (bytes a thread, a block) are None
    where nothing says. ``constants`` maps a bank to its size; ``param_base`` is the offset of the parameters
    in bank 0. ``source_lines`` and ``ptx_lines`` are line tables in offset order. ``exit_offsets`` are the
    offsets of the EXIT instructions that the compiler recorded. ``complete`` is False where the text ended
    in the middle.
    """

    name: str
    is_kernel: bool
    arch: str | None
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    line: int
    size: int
    subroutines: Mapping[int, str] = field(default_factory=dict)
    registers: int | None = None
    barriers: int | None = None
    shared: int | None = None
    local: int | None = None
    constants: Mapping[int, int] = field(default_factory=dict)
    params: tuple[Param, ...] = ()
    param_base: int | None = None
    param_bytes: int | None = None
    max_threads: tuple[int, ...] | None = None
    required_threads: tuple[int, ...] | None = None
    cluster: tuple[int, ...] | None = None
    attributes: tuple[Attribute, ...] = ()
    source_lines: tuple[LineRow, ...] = ()
    ptx_lines: tuple[LineRow, ...] = ()
    exit_offsets: tuple[int, ...] = ()
    complete: bool = True

    @property
    def by_offset(self) -> Mapping[int, int]:
        """Byte offset to index into ``instructions``; build it once, it is not cached."""
        return {instruction.offset: index for index, instruction in enumerate(self.instructions)}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something kept as text, or a place given up on. ``severity`` is info, warning or error."""

    severity: str
    message: str
    file: str
    line: int
    source_line: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """One image inside a container: ``kind`` is ``cubin`` or ``ptx``; ``arch`` keeps its suffix."""

    name: str
    kind: str
    arch: str | None


@dataclass(frozen=True, slots=True)
class LaunchPreset:
    """What a compiler's metadata says about launching: threads a block, shared bytes, cluster."""

    block: tuple[int, int, int] | None
    shared_bytes: int | None
    cluster: tuple[int, int, int] | None
    origin: str


@dataclass(frozen=True, slots=True)
class Module:
    """One image of machine code. ``arch`` is ``sm_90a`` with its suffix, or None where nothing says.

    ``kind`` names the source: cuobjdump, nvdisasm, pasted, cubin, fatbin, object, executable, triton.
    ``tool`` wrote the image, ``readers`` printed its listing.
    ``text`` is the listing that ``Instruction.line`` counts in. ``ptx`` is the embedded PTX, line for line.
    ``members`` lists the images of a container, the chosen one included. ``missing`` says in plain words
    what the input did not hold or what could not be read. ``sections`` holds the data sections of a cubin
    by name (zeros where the image reserves room only), ``symbols`` the variables in them.
    """

    name: str
    kind: str
    arch: str | None
    functions: tuple[Function, ...]
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    tool: ToolInfo | None = None
    readers: tuple[ToolInfo, ...] = ()
    ptx: str | None = None
    members: tuple[Member, ...] = ()
    preset: LaunchPreset | None = None
    missing: tuple[str, ...] = ()
    sections: Mapping[str, bytes] = field(default_factory=dict)
    symbols: tuple[DataSymbol, ...] = ()
    relocations: tuple[Relocation, ...] = ()

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The kernels, in the order of the listing."""
        return tuple(function for function in self.functions if function.is_kernel)

    @property
    def sm(self) -> int | None:
        """The architecture's number (90 for sm_90a), or None."""
        if self.arch is None:
            return None
        digits = "".join(c for c in self.arch if c.isdigit())
        return int(digits) if digits else None
