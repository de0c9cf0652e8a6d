"""What a cubin says about itself beside its code: resources, parameters, attributes, line tables, PTX.

The container is read by pyelftools after the headers were checked against the file's size, so that a
hostile image costs no more memory than it is long. Layouts of the notes and of ``.nv.info`` were read from
cubins of ptxas 13.0 and compared with ``cuobjdump -elf``.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from warpglass.errors import FormatError
from warpglass.sass.attributes import parameters, read_attributes
from warpglass.sass.line_table import read_line_table
from warpglass.sass.model import (
    Attribute,
    DataSymbol,
    Diagnostic,
    Function,
    LineRow,
    Module,
    Relocation,
    ToolInfo,
)  # fmt: skip

__all__ = ["Image", "describe", "read_image"]

EM_CUDA = 190
_MAX_SECTIONS = 65_536
_MAX_RESERVED = 1 << 28
_DATA = (".nv.global", ".nv.constant")
_Section = Mapping[str, int]


@dataclass(slots=True)
class _Raw:
    """A section: index, name, type, flags, info, content (empty for NOBITS) and size."""

    index: int
    name: str
    type: str
    flags: int
    info: int
    size: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Image:
    """A cubin without its instructions. ``functions`` maps a kernel's or function's name to a
    :class:`~warpglass.sass.model.Function` that has no instructions yet."""

    arch: str
    functions: Mapping[str, Function]
    tool: ToolInfo | None
    ptx: str | None
    sections: Mapping[str, bytes]
    symbols: tuple[DataSymbol, ...]
    relocations: tuple[Relocation, ...]
    missing: tuple[str, ...]
    toolkit: tuple[int, int] | None = None


@dataclass(slots=True)
class _Elf:
    name: str
    sections: list[_Raw]
    symbols: list[tuple[str, int, int, int, str, int]]  # name, section, value, size, type, other
    relocations: dict[str, list[tuple[int, int, int, int]]] = field(default_factory=dict)

    def first(self, name: str) -> _Raw | None:
        return next((section for section in self.sections if section.name == name), None)


def _check_header(data: bytes, name: str) -> None:
    if len(data) < 64 or data[:4] != b"\x7fELF":
        raise FormatError("not an ELF file", file=name, offset=0)
    if data[4] != 2 or data[5] != 1:
        raise FormatError("not a 64-bit little-endian ELF file", file=name, offset=4)
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine != EM_CUDA:
        raise FormatError(f"machine {machine}, not code for a GPU (190)", file=name, offset=18)
    start = struct.unpack_from("<Q", data, 40)[0]
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    if entry != 64 or count == 0:
        raise FormatError("no section headers", file=name, offset=58)
    if count > _MAX_SECTIONS or start + 64 * count > len(data):
        raise FormatError("the file ends before its section headers: it is truncated", file=name, offset=40)
    segments = struct.unpack_from("<Q", data, 32)[0]
    size, number = struct.unpack_from("<HH", data, 54)
    if number and segments + size * number > len(data):
        raise FormatError("the file ends before its program headers: it is truncated", file=name, offset=32)
    if names >= count:
        raise FormatError("the section of names is missing", file=name, offset=62)
    reserved = 0
    for index in range(count):
        header = start + 64 * index
        kind, place, size, step = struct.unpack_from("<I16xQQ16xQ", data, header + 4)
        if kind not in (0, 8) and place + size > len(data):
            raise FormatError(f"section {index} lies outside the file", file=name, offset=header)
        reserved += size if kind == 8 else 0
        if reserved > _MAX_RESERVED:
            raise FormatError(f"section {index} reserves {size} bytes", file=name, offset=header)
        if kind in (2, 4, 9) and step not in (16, 24):
            raise FormatError(f"section {index} has entries of {step} bytes", file=name, offset=header)


def _load(data: bytes, name: str) -> _Elf:
    _check_header(data, name)
    try:
        return _load_checked(data, name)
    except FormatError:
        raise
    except (ELFError, struct.error, ValueError, KeyError, IndexError, AttributeError, TypeError,
            OverflowError, AssertionError, RecursionError) as error:  # fmt: skip
        # pyelftools reports a broken table by whatever its parsing stumbles over.
        raise FormatError(f"the ELF tables cannot be read ({type(error).__name__})", file=name) from error


def _load_checked(data: bytes, name: str) -> _Elf:
    elf = ELFFile(io.BytesIO(data))
    sections: list[_Raw] = []
    symbols: list[tuple[str, int, int, int, str, int]] = []
    tables: list[RelocationSection] = []
    for index, section in enumerate(elf.iter_sections()):
        header = section.header
        reserved = header["sh_type"] == "SHT_NOBITS"
        content = b"" if reserved else data[header["sh_offset"] : header["sh_offset"] + header["sh_size"]]
        kind = str(header["sh_type"])
        sections.append(
            _Raw(index, section.name, kind, header["sh_flags"], header["sh_info"], header["sh_size"], content)
        )
        if isinstance(section, SymbolTableSection) and section.name == ".symtab":
            for symbol in section.iter_symbols():
                place = symbol["st_shndx"]
                symbols.append(
                    (
                        symbol.name, place if isinstance(place, int) else -1, symbol["st_value"],
                        symbol["st_size"], str(symbol["st_info"]["type"]), _other(data, header, len(symbols)),
                    )
                )  # fmt: skip
        elif isinstance(section, RelocationSection):
            tables.append(section)
    result = _Elf(name, sections, symbols)
    for table in tables:
        target = table.header["sh_info"]
        if table.name.startswith(".nv.merc") or not 0 <= target < len(sections):
            continue
        rows = result.relocations.setdefault(sections[target].name, [])
        for item in table.iter_relocations():
            addend = item["r_addend"] if item.is_RELA() else 0
            rows.append((item["r_offset"], item["r_info_sym"], addend, item["r_info_type"]))
    return result


def _other(data: bytes, header: _Section, index: int) -> int:
    """The raw ``st_other`` byte, in which bit 4 marks a kernel."""
    return data[header["sh_offset"] + 24 * index + 5]


def _arch(data: bytes, elf: _Elf, tool: ToolInfo | None) -> str:
    """``sm_90a``: the number from the header's flags, the suffix from the compiler's note or a mark."""
    flags = struct.unpack_from("<I", data, 48)[0]
    # ABI 8 keeps the number in bits 15:8; before it stood in 7:0, the suffix in bit 11.
    recent = data[8] >= 8
    number = flags >> 8 & 0xFF if recent else flags & 0xFF
    accelerated = not recent and bool(flags & 0x800)
    compat = elf.first(".nv.compat")
    if compat is not None:
        # Attribute 9 of .nv.compat: CUDA_ACCELERATOR_TARGET.
        accelerated |= any(item.code == 9 and item.value == 1 for item in read_attributes(compat.data))
    if tool is not None and "-arch" in tool.flags[:-1]:
        named = tool.flags[tool.flags.index("-arch") + 1]
        if named.rstrip("af") == f"sm_{number}":
            return named
    return f"sm_{number}{'a' if accelerated else ''}"


def _note(section: _Raw | None) -> bytes:
    """The description of a section's first note."""
    if section is None or len(section.data) < 12:
        return b""
    owner, size, _ = struct.unpack_from("<III", section.data)
    start = 12 + (owner + 3) // 4 * 4
    return section.data[start : start + size]


def _tool(elf: _Elf) -> ToolInfo | None:
    """``.note.nv.tkinfo``: version, then five offsets into the strings behind them."""
    body = _note(elf.first(".note.nv.tkinfo"))
    if len(body) < 24:
        return None
    offsets = struct.unpack_from("<5I", body, 4)
    strings = body[24:]

    def text(offset: int) -> str:
        stop = strings.find(b"\0", offset)
        return strings[offset : stop if stop >= 0 else len(strings)].decode("utf-8", "replace")

    return ToolInfo(text(offsets[1]), text(offsets[2]), text(offsets[3]), tuple(text(offsets[4]).split()))


def _toolkit(elf: _Elf) -> tuple[int, int] | None:
    """``.note.nv.cuinfo``: note version, virtual architecture, toolkit (130 is 13.0), 16 bits each."""
    body = _note(elf.first(".note.nv.cuinfo"))
    if len(body) < 6:
        return None
    number = struct.unpack_from("<H", body, 4)[0]
    return number // 10, number % 10


def _embedded_ptx(elf: _Elf) -> str | None:
    section = elf.first(".nv_debug_ptx_txt")
    if section is None or not section.data:
        return None
    # One NUL-terminated string a line, blank lines included: line numbers stay those of the PTX.
    return "\n".join(line.decode("utf-8", "replace") for line in section.data.split(b"\0"))


def _line_rows(elf: _Elf, name: str, missing: list[str]) -> Mapping[int | None, tuple[LineRow, ...]]:
    section = elf.first(name)
    if section is None or not section.data:
        return {}
    relocations: dict[int, tuple[int, int]] = {}
    for offset, symbol, addend, _ in elf.relocations.get(name, []):
        if 0 <= symbol < len(elf.symbols):
            relocations[offset] = (elf.symbols[symbol][1], elf.symbols[symbol][2] + addend)
    strings = elf.first(".debug_str")
    rows, problem = read_line_table(section.data, relocations, strings.data if strings else b"")
    if problem is not None:
        missing.append(f"{name}: {problem}")
    return rows


def _words(attributes: tuple[Attribute, ...], name: str) -> tuple[int, ...] | None:
    found = next((item.value for item in attributes if item.name == name), None)
    if isinstance(found, tuple):
        return found
    return (found,) if isinstance(found, int) else None


def _by_symbol(elf: _Elf) -> dict[int, dict[str, int]]:
    """The attributes of ``.nv.info`` that name a symbol: symbol index to attribute to value."""
    section = elf.first(".nv.info")
    found: dict[int, dict[str, int]] = {}
    for item in read_attributes(section.data) if section is not None else ():
        if isinstance(item.value, tuple) and len(item.value) == 2:
            found.setdefault(item.value[0], {})[item.name] = item.value[1]
    return found


def _function(
    elf: _Elf, text: _Raw, arch: str, info: dict[int, dict[str, int]],
    source: Mapping[int | None, tuple[LineRow, ...]], ptx: Mapping[int | None, tuple[LineRow, ...]],
) -> Function:  # fmt: skip
    name = text.name.removeprefix(".text.")
    number = next(
        (i for i, item in enumerate(elf.symbols) if item[1] == text.index and item[0] == name), None
    )
    own = info.get(number, {}) if number is not None else {}
    section = elf.first(f".nv.info.{name}")
    attributes = read_attributes(section.data) if section is not None else ()
    cbank = _words(attributes, "EIATTR_PARAM_CBANK")
    base = cbank[1] & 0xFFFF if cbank is not None and len(cbank) == 2 else None
    size = cbank[1] >> 16 if cbank is not None and len(cbank) == 2 else None
    barriers = _words(attributes, "EIATTR_NUM_BARRIERS")
    is_kernel = number is not None and bool(elf.symbols[number][5] & 0x10)
    if barriers is None and is_kernel:
        # Before the attribute existed the count stood in the section's flags.
        barriers = (text.flags >> 20 & 0x7F,)
    registers = own.get("EIATTR_REGCOUNT")
    if registers is None and text.info >> 24:
        registers = text.info >> 24
    labels = {item[0]: item[2] for item in elf.symbols if item[1] == text.index and item[4] == "STT_FUNC"}
    return Function(
        name, is_kernel, arch, (), labels, 0, text.size,
        subroutines={offset: label for label, offset in labels.items() if label != name},
        registers=registers,
        barriers=barriers[0] if barriers else None,
        shared=_shared(elf, name, arch) if is_kernel else None,
        local=own.get("EIATTR_FRAME_SIZE"),
        constants=_constants(elf, name),
        params=parameters(attributes), param_base=base, param_bytes=size,
        max_threads=_words(attributes, "EIATTR_MAX_THREADS"),
        required_threads=_words(attributes, "EIATTR_REQNTID"),
        cluster=_words(attributes, "EIATTR_CTA_PER_CLUSTER"),
        attributes=attributes,
        source_lines=source.get(text.index, ()), ptx_lines=ptx.get(text.index, ()),
        exit_offsets=_words(attributes, "EIATTR_EXIT_INSTR_OFFSETS") or (),
    )  # fmt: skip


def _shared(elf: _Elf, name: str, arch: str) -> int:
    """Static shared bytes a block, as ptxas -v counts them: the section holds the reserved KiB too from
    sm_90 on, and only where there is static shared memory at all."""
    section = elf.first(f".nv.shared.{name}")
    if section is None:
        return 0
    number = int("".join(c for c in arch if c.isdigit()) or 0)
    return section.size - 1024 if number >= 90 and section.size >= 1024 else section.size


def _constants(elf: _Elf, name: str) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for section in elf.sections:
        if not section.name.startswith(".nv.constant"):
            continue
        bank, _, owner = section.name.removeprefix(".nv.constant").partition(".")
        if bank.isdigit() and owner in ("", name):
            sizes[int(bank)] = section.size
    return sizes


def read_image(data: bytes, name: str = "<bytes>") -> Image:
    """Everything of a cubin but its instructions.

    Raises :class:`~warpglass.errors.FormatError` for what is no cubin, is truncated or contradicts itself;
    a damaged line table only adds to ``missing``.
    """
    elf = _load(data, name)
    tool = _tool(elf)
    arch = _arch(data, elf, tool)
    missing: list[str] = []
    source = _line_rows(elf, ".debug_line", missing)
    ptx = _line_rows(elf, ".nv_debug_line_sass", missing)
    info = _by_symbol(elf)
    functions: dict[str, Function] = {}
    for section in elf.sections:
        if section.name.startswith(".text.") and section.type == "SHT_PROGBITS":
            function = _function(elf, section, arch, info, source, ptx)
            functions[function.name] = function
    if not functions:
        missing.append("code: the image has no functions")
    if not source:
        missing.append("source lines: compile with -lineinfo")
    return Image(
        arch, functions, tool, _embedded_ptx(elf),
        {item.name: item.data or bytes(item.size) for item in elf.sections if item.name.startswith(_DATA)},
        tuple(
            DataSymbol(symbol[0], elf.sections[symbol[1]].name, symbol[2], symbol[3])
            for symbol in elf.symbols
            if symbol[4] == "STT_OBJECT" and 0 < symbol[1] < len(elf.sections)
        ),
        tuple(
            Relocation(section, row[0], elf.symbols[row[1]][0] or _section_name(elf, row[1]), row[2], row[3])
            for section, rows in elf.relocations.items()
            if not section.startswith((".debug", ".nv_debug"))
            for row in rows
            if 0 <= row[1] < len(elf.symbols)
        ),
        tuple(missing), _toolkit(elf),
    )  # fmt: skip


def _section_name(elf: _Elf, symbol: int) -> str:
    index = elf.symbols[symbol][1]
    return elf.sections[index].name if 0 <= index < len(elf.sections) else ""


def describe(module: Module, image: Image) -> Module:
    """The module of a cubin's listing, completed with what the image says about each function."""
    functions: list[Function] = []
    diagnostics = list(module.diagnostics)
    for listed in module.functions:
        known = image.functions.get(listed.name)
        if known is None:
            diagnostics.append(
                Diagnostic("warning", f"{listed.name} is not in the image's tables", module.name, listed.line)
            )
            functions.append(replace(listed, arch=image.arch))
            continue
        functions.append(
            replace(
                known, instructions=listed.instructions, line=listed.line, complete=listed.complete,
                labels={**listed.labels, **known.labels},
                subroutines={**listed.subroutines, **known.subroutines},
                registers=known.registers if known.registers is not None else listed.registers,
            )
        )  # fmt: skip
    return replace(
        module, kind="cubin", arch=image.arch, functions=tuple(functions), diagnostics=tuple(diagnostics),
        tool=image.tool, ptx=image.ptx, missing=(*module.missing, *image.missing), sections=image.sections,
        symbols=image.symbols, relocations=image.relocations,
    )  # fmt: skip
