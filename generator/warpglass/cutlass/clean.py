"""A CUTLASS header made fit for a C++ grammar, byte for byte as long as before, so that every place stays."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Cleaned", "clean"]

_TOKEN = re.compile(
    rb'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)  # comments and literals, whichever starts first
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(\w+)((?:[^\\\n]|\\\r?\n|\\.)*)", re.MULTILINE)
_WORDS = re.compile(
    rb"\b(?:CUTLASS_DEVICE|CUTLASS_HOST_DEVICE|CUTE_HOST_DEVICE|CUTE_DEVICE|CUTE_HOST|CUTLASS_HOST|"
    rb"CUTLASS_PRAGMA_\w+|CUTE_UNROLL|CUTE_NO_UNROLL|CUTLASS_LAMBDA_FUNC_INLINE|CUTLASS_GLOBAL|"
    rb"__forceinline__|__noinline__|__grid_constant__|__restrict__|CUTE_GRID_CONSTANT|CUTLASS_GRID_CONSTANT|"
    rb"__device__|__host__|__global__)\b"
)
_CALLS = re.compile(
    rb"\b(?:__launch_bounds__|__align__|__attribute__|__cluster_dims__|CUTE_ALIGNAS|alignas|"
    rb"CUTE_STATIC_ASSERT_V|CUTE_STATIC_ASSERT|static_assert)[ \t]*\("
)
_ATTRIBUTES = re.compile(rb"\[\[[\w:, ()\"]{1,120}\]\]")
#: ``k < size<2>(t)`` is a chain of comparisons to a grammar: an identifier of the same length stands for it.
_SIZE = re.compile(rb"\bsize<(\d)>\((\w+)\)")
_TEMPLATE = re.compile(rb"(?<=[.>:])(\s*)template(?=\s+\w)")

#: Macros whose name says that a feature is there: the code in their branch is what a report is about.
_ON = re.compile(rb"ENABLE|SUPPORTED|__CUDA_ARCH|__CUDACC__|CUTLASS_ARCH_MMA")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """``content`` for the parser; ``choices`` are (line, condition, taken) of every ``#if``."""

    content: bytes
    choices: tuple[tuple[int, str, bool], ...]


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)


def _holds(word: bytes, condition: bytes) -> bool:
    text = condition.strip()
    if word in (b"ifdef", b"ifndef"):
        return bool(_ON.search(text)) == (word == b"ifdef")
    if text in (b"0", b"false"):
        return False
    if text in (b"1", b"true"):
        return True
    tokens = re.findall(rb"defined\s*\(\s*\w+\s*\)|defined\s+\w+|&&|\|\||[<>=!]=|[<>!()]|\w+|\S", text)[:200]
    holds, _ = _either(tokens, 0, 0)
    return holds


def _either(tokens: list[bytes], at: int, depth: int) -> tuple[bool, int]:
    """(value, next token) of ``a || b && c …``."""
    holds, at = _both(tokens, at, depth)
    while at < len(tokens) and tokens[at] == b"||":
        other, at = _both(tokens, at + 1, depth)
        holds = holds or other
    return holds, at


def _both(tokens: list[bytes], at: int, depth: int) -> tuple[bool, int]:
    holds, at = _one(tokens, at, depth)
    while at < len(tokens) and tokens[at] == b"&&":
        other, at = _one(tokens, at + 1, depth)
        holds = holds and other
    return holds, at


def _one(tokens: list[bytes], at: int, depth: int) -> tuple[bool, int]:
    """A macro, alone or compared: it holds where its name says that a feature is there."""
    if at >= len(tokens) or depth > 20:
        return False, len(tokens)
    token = tokens[at]
    if token == b"!":
        holds, at = _one(tokens, at + 1, depth + 1)
        return not holds, at
    if token == b"(":
        holds, at = _either(tokens, at + 1, depth + 1)
        at += at < len(tokens)
    else:
        holds, at = (token == b"1" if token.isdigit() else _ON.search(token) is not None), at + 1
    while at < len(tokens) and tokens[at] not in (b"&&", b"||", b")"):
        holds = holds or _ON.search(tokens[at]) is not None
        at += 1
    return holds, at


def _directives(content: bytes) -> Cleaned:
    """Keep one branch of each ``#if``; blank the rest and every directive."""
    out = bytearray(content)
    choices: list[tuple[int, str, bool]] = []
    stack: list[list[bool]] = []  # (kept, one branch was kept already, parent kept)
    kept = True
    at = 0
    for match in _DIRECTIVE.finditer(content):
        if not kept:
            out[at : match.start()] = _blank(content[at : match.start()])
        out[match.start() : match.end()] = _blank(match.group())
        at = match.end()
        word, condition = match.group(1), match.group(2)
        if word in (b"if", b"ifdef", b"ifndef"):
            holds = _holds(word, condition)
            guard = word == b"ifndef" and not stack and condition.strip().isupper() and match.start() < 4000
            holds = holds or guard
            if kept and not guard:
                line = content.count(b"\n", 0, match.start()) + 1
                choices.append((line, f"#{word.decode()}{condition.decode('utf-8', 'replace')}"[:160], holds))
            stack.append([kept and holds, holds, kept])
            kept = kept and holds
        elif word in (b"elif", b"else") and stack:
            _, taken, outer = stack[-1]
            holds = not taken and (word == b"else" or _holds(b"if", condition))
            stack[-1] = [outer and holds, taken or holds, outer]
            kept = outer and holds
        elif word == b"endif" and stack:
            kept = stack.pop()[2]
    if not kept:
        out[at:] = _blank(content[at:])
    return Cleaned(bytes(out), tuple(choices[:200]))


def _closing(content: bytes, start: int, open_: int, close: int) -> int:
    """Index after the bracket that closes the one at ``start``, or the end."""
    depth = 0
    for at in range(start, min(len(content), start + 20_000)):
        if content[at] == open_:
            depth += 1
        elif content[at] == close:
            depth -= 1
            if depth == 0:
                return at + 1
    return start + 1


def clean(content: bytes) -> Cleaned:
    """Blank what the grammar does not know: comments, the branches not taken, annotations, assertions."""
    text = _TOKEN.sub(lambda m: _blank(m.group()) if m.group().startswith(b"/") else m.group(), content)
    decided = _directives(text)
    text = _WORDS.sub(lambda m: b" " * len(m.group()), decided.content)
    text = _ATTRIBUTES.sub(lambda m: b" " * len(m.group()), text)
    text = _TEMPLATE.sub(lambda m: m.group(1) + b" " * 8, text)
    text = _SIZE.sub(lambda m: b"size_" + m.group(1) + b"__" + m.group(2) + b"_", text)
    out = bytearray(text)
    for match in _CALLS.finditer(text):
        end = _closing(text, match.end() - 1, 40, 41)
        out[match.start() : end] = _blank(text[match.start() : end])
    return Cleaned(bytes(out), decided.choices)
