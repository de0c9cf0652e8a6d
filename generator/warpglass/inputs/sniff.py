"""Say what a file is by its content. The name only breaks a tie between plain texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal, get_args

__all__ = ["KINDS", "MACHINE_CODE", "Kind", "decode_text", "sniff", "wide_encoding"]

Kind = Literal[
    "cuda",  # CUDA C++ source or header
    "ptx",  # PTX text, cuobjdump's header lines included
    "cubin",  # ELF for the GPU
    "elf-object",  # host ELF files, which may hold fat binaries
    "elf-shared",
    "elf-executable",
    "archive",  # ar archive of objects
    "fatbin",
    "sass",  # listing of cuobjdump -sass, nvdisasm, or a pasted part of one
    "ncu-rep",  # Nsight Compute report
    "ncu-csv",
    "ncu-text",
    "csv",
    "report-json",  # a report that this project wrote
    "trace-json",  # Chrome trace events
    "json",
    "python",
    "unknown",
]

KINDS: tuple[Kind, ...] = get_args(Kind)
#: Kinds that hold machine code, or may.
MACHINE_CODE: tuple[Kind, ...] = (
    "cubin", "fatbin", "elf-object", "elf-shared", "elf-executable", "archive", "sass",
)  # fmt: skip

_HEAD = 1 << 20
_EM_CUDA = 190
_ELF_TYPES: dict[int, Kind] = {1: "elf-object", 2: "elf-executable", 3: "elf-shared"}

# Blanks never match line breaks here: a file of nothing but empty lines must cost linear time.
_PTX = re.compile(r"^[ \t]*\.version[ \t]+\d+\.\d+", re.M)
_PTX_PART = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak)[ \t]+)?\.(?:entry|func)\b|^[ \t]*\.reg[ \t]+\.\w{1,8}[ \t]+%", re.M
)
_CUDA = re.compile(
    r"^[ \t]*#[ \t]*(?:include|define|pragma|ifdef|ifndef|if)\b|\b__(?:global|device|host|shared)__\b|<<<",
    re.M,
)
_CXX = re.compile(
    r"^[ \t]*(?:template[ \t]*<|namespace\b|using[ \t]\w|struct[ \t]\w|class[ \t]\w|constexpr\b|static\b)",
    re.M,
)
_SASS_HEAD = re.compile(
    r"^[ \t]*(?:Function[ \t]*:[ \t]*\S|\.headerflags\b|//-+ \.text\.|\.section[ \t]+\.text\.)"
    r"|^[ \t]*code for sm_\d",
    re.M,
)
_SASS_LINE = re.compile(
    r"^[ \t]*(?:\[[B\-0-9:RWYS]{9,40}\][ \t]*)?(?:/\*[0-9a-fA-F]{4,16}\*/[ \t]*)?(?:\{[ \t]*)?"
    r"(?:@!?U?P[T0-9][ \t]+)?"
    r"(?:MOV|IMAD|IADD3?|S2U?R|LD[GSCL]|ULDC|ST[GSL]|EXIT|BRA|NOP|BSSY|BSYNC|FFMA|FADD|FMUL|ISETP|LOP3|SHF|"
    r"LEA|BAR|HMMA|R2UR|CS2R|UMOV|UIADD3|DFMA|MUFU|LDSM|LDGSTS|RED[UG]?|ATOM[GS]?|PRMT|SEL|CALL|RET)\b"
    r"[^\n]*;",
    re.M,
)
_NCU_CSV = re.compile(r'^"(?:ID|Process ID)",.*"Kernel Name"|^ID,.*\bKernel Name\b', re.M)
_NCU_TEXT = re.compile(r"^==PROF== |^[ \t]+Section: \S|^[ \t]*-{10,} {1,3}-{5,} {1,3}-{5,}", re.M)
_REPORT = re.compile(rb'"schema"\s{0,8}:\s{0,8}"warpglass-report/')
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]{0,999}\{")
_PYTHON = re.compile(r"^(?:import|from) +[\w.]|^def \w{1,99}\([^\n]{0,500}:[ \t]*$|^@triton", re.M)


def sniff(content: bytes, name: str = "") -> Kind:
    """The kind of a file with this ``content``; never raises. Looks at the first MiB at most, but for the
    mark of a report: its keys are sorted, so that the mark stands behind megabytes of launches.

    ``name`` decides only between texts whose content fits several kinds (a .cuh without any CUDA word).
    """
    head = content[:_HEAD]
    if name.lower().endswith(".ncu-repz") and head.startswith((b"\x28\xb5\x2f\xfd", b"\x1f\x8b")):
        # A compressed stream says nothing of what it holds.
        return "ncu-rep"
    binary = _binary_kind(head)
    if binary is not None:
        return binary
    if _OBJECT.match(head) and _REPORT.search(content):
        return "report-json"
    text = decode_text(head)
    if text.count("\0") * 8 > len(text):
        return "unknown"
    for test in (_json_kind, _ncu_kind, _code_kind):
        kind = test(text)
        if kind is not None:
            return kind
    return _by_name(text, name)


def decode_text(content: bytes) -> str:
    """Bytes as text: byte-order marks (UTF-8, UTF-16) are obeyed and dropped, bad bytes become U+FFFD."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "replace")


def wide_encoding(content: bytes) -> str | None:
    """``UTF-16`` or ``UTF-32`` where the content starts with their mark, or where every other byte of its
    start is a NUL (UTF-16 without mark); None for other content."""
    if content.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    head = content[:256]
    for first, name in ((0, "UTF-16BE"), (1, "UTF-16LE")):
        letters = head[1 - first :: 2]
        if len(head) >= 8 and not any(head[first::2]) and letters and all(letters):
            return name
    return None


def _binary_kind(head: bytes) -> Kind | None:
    if head.startswith(b"NVR\0"):
        return "ncu-rep"
    if head.startswith(b"\x50\xed\x55\xba"):
        return "fatbin"
    if head.startswith(b"!<arch>\n"):
        return "archive"
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return None
    order: Literal["big", "little"] = "big" if head[5] == 2 else "little"
    if int.from_bytes(head[18:20], order) == _EM_CUDA:
        return "cubin"
    return _ELF_TYPES.get(int.from_bytes(head[16:18], order), "unknown")


def _json_kind(text: str) -> Kind | None:
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return None
    if re.search(r'"traceEvents"\s*:', text) or (start == "[" and re.search(r'"ph"\s*:\s*"[A-Za-z]"', text)):
        return "trace-json"
    if re.match(r'\s*(?:\{\s*(?:"|\})|\[\s*(?:["\[\]{\d-]|true|false|null))', text):
        try:
            json.loads(text)
        except RecursionError:
            return "unknown"
        except ValueError:
            # Cut by the head's length, or no JSON after all: a long text that starts so is taken as JSON.
            return "json" if len(text) >= _HEAD // 4 else None
        return "json"
    return None


def _ncu_kind(text: str) -> Kind | None:
    if _NCU_CSV.search(text):
        return "ncu-csv"
    if len(_NCU_TEXT.findall(text)) >= 2 or "==WARNING== No kernels were profiled" in text:
        return "ncu-text"
    return None


def _code_kind(text: str) -> Kind | None:
    """Tell PTX, CUDA and SASS apart; source that quotes another language starts with its own."""
    places: list[tuple[int, Kind]] = []
    rules: tuple[tuple[Kind, re.Pattern[str]], ...] = (("ptx", _PTX), ("sass", _SASS_HEAD), ("cuda", _CUDA))
    for kind, pattern in rules:
        match = pattern.search(text)
        if match:
            places.append((match.start(), kind))
    if places:
        return min(places)[1]
    if len(_SASS_LINE.findall(text[: _HEAD // 4])) >= 2:
        return "sass"
    return "ptx" if _PTX_PART.search(text) else None


def _by_name(text: str, name: str) -> Kind:
    """A text without any telling word: believe the suffix where the text is not plainly something else."""
    suffix = PurePath(name).suffix.lower()
    believable: dict[str, tuple[Kind, Callable[[str], object]]] = {
        ".cu": ("cuda", bool),
        ".cuh": ("cuda", bool),
        ".h": ("cuda", _CXX.search),
        ".hpp": ("cuda", _CXX.search),
        ".ptx": ("ptx", bool),
        ".sass": ("sass", bool),
        ".py": ("python", _PYTHON.search),
        ".csv": ("csv", lambda value: "," in value),
    }
    if "\0" not in text and text.strip() and suffix in believable:
        kind, test = believable[suffix]
        if test(text):
            return kind
    return "python" if _PYTHON.search(text) else "unknown"
