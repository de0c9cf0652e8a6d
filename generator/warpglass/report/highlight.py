"""Source text as one piece of safe HTML a line, coloured by Pygments.

Lines end at line feeds only (as compilers count them), whatever other separators the text holds. The lexers
for CUDA C++, PTX and SASS are small and linear: Pygments' own C family lexer needs quadratic time on
some inputs, and it knows no SASS.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from markupsafe import Markup, escape
from pygments import token as t
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from warpglass.report.text import markup

__all__ = ["CLASSES", "highlight_line", "highlight_lines"]

#: Longer texts, and lines longer than the second number, are shown without colours.
MAX_CHARACTERS = 2_000_000
MAX_LINE = 4_000

#: Pygments token type to the class name used in templates/css/20-syntax.css.
CLASSES = {
    t.Comment.Preproc: "cp",
    t.Comment: "c",
    t.Keyword.Type: "kt",
    t.Keyword.Reserved: "kr",
    t.Keyword: "k",
    t.Name.Variable: "nv",
    t.Name.Label: "nl",
    t.Name.Builtin: "nb",
    t.Name.Function: "nf",
    t.Name.Decorator: "cp",
    t.Name.Attribute: "na",
    t.Number: "m",
    t.String: "s",
}

_C_KEYWORDS = (
    r"\b(?:alignas|alignof|and|asm|auto|break|case|catch|class|concept|"
    r"const|consteval|constexpr|constinit|const_cast|continue|co_await|co_return|co_yield|decltype|"
    r"default|delete|do|dynamic_cast|else|enum|explicit|extern|false|for|"
    r"friend|goto|if|inline|mutable|namespace|new|noexcept|not|nullptr|"
    r"operator|or|override|private|protected|public|register|reinterpret_cast|requires|restrict|"
    r"return|sizeof|static|static_assert|static_cast|struct|switch|template|this|throw|"
    r"true|try|typedef|typeid|typename|union|using|virtual|volatile|while|"
    r"__restrict__|__asm__|__volatile__)\b"
)
_C_TYPES = (
    r"\b(?:void|bool|char|short|int|long|float|double|half2?|signed|unsigned|wchar_t|size_t|ssize_t|ptrdiff_t|"
    r"__half2?|__nv_bfloat162?|u?int(?:8|16|32|64)_t|uintptr_t|dim3|cudaStream_t|cudaError_t|"
    r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4])\b"
)
_C_CUDA = (
    r"\b(?:__(?:global|device|host|shared|constant|managed|launch_bounds|forceinline|noinline|grid_constant|"
    r"cluster_dims|maxnreg|align)__|__align__)\b"
)
_C_BUILTINS = (
    r"\b(?:threadIdx|blockIdx|blockDim|gridDim|clusterDim|warpSize|__syncthreads(?:_\w+)?|__syncwarp|"
    r"__\w+_sync|__threadfence(?:_\w+)?|atomic[A-Z]\w*|__ldg|__ld\w+|__st\w+|__fm\w+|__popc\w*|__ffs\w*|"
    r"__clz\w*|printf|assert|__trap|clock(?:64)?)\b"
)


class CudaLexer(RegexLexer):
    """CUDA C++, enough for colours."""

    name = "Warpglass CUDA"
    tokens: ClassVar = {
        "root": [
            (r"^[ \t]*#(?:[^\\\n]|\\\n|\\.)*", t.Comment.Preproc),
            (r"//[^\n]*", t.Comment),
            (r"/\*", t.Comment, "comment"),
            (r'(?:u8|[uUL])?"(?:[^"\\\n]|\\(?:.|\n))*"?', t.String),
            (r"'(?:[^'\\\n]|\\.){1,8}'", t.String),
            (r"0[xX][0-9a-fA-F'.]+(?:[pP][+-]?\d+)?\w*|0[bB][01']+\w*", t.Number),
            (r"(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*", t.Number),
            (_C_CUDA, t.Keyword.Reserved),
            (_C_TYPES, t.Keyword.Type),
            (_C_KEYWORDS, t.Keyword),
            (_C_BUILTINS, t.Name.Builtin),
            (r"[A-Za-z_]\w*(?=[ \t]*(?:<<<|\())", t.Name.Function),
            (r"[A-Za-z_]\w*", t.Name),
            (r"\s+", t.Text),
            (r"[^\w\s]", t.Operator),
            (r".", t.Text),
        ],
        "comment": [(r"[^*]+", t.Comment), (r"\*/", t.Comment, "#pop"), (r"\*", t.Comment)],
    }


class PtxLexer(RegexLexer):
    """PTX: directives, opcodes with modifiers, registers, labels."""

    name = "Warpglass PTX"
    tokens: ClassVar = {
        "root": [
            (r"//[^\n]*", t.Comment),
            (r"/\*", t.Comment, "comment"),
            (r"(?<![\w.])\.loc[ \t][^\n]*", t.Comment),  # line numbers: they only get in the way of reading
            (r'"(?:[^"\\\n]|\\.)*"?', t.String),
            (r"^[ \t]*[$%A-Za-z_][\w$]*:(?!:)", t.Name.Label),
            (
                r"\.(?:[busf](?:8|16|32|64|128)(?:x2|x4)?|bf16(?:x2)?|f16x2|tf32|pred|e[45]m[0-9]\w*)\b",
                t.Keyword.Type,
            ),
            (r"(?<![\w%$])\.[A-Za-z_][\w:]*", t.Keyword.Reserved),
            (r"%[A-Za-z_][\w$]*(?:\.[xyzw])?", t.Name.Variable),
            (r"@!?%?[A-Za-z_$][\w$]*", t.Name.Decorator),
            (r"0[fFdD][0-9a-fA-F]{8,16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+(?:\.\d+)?U?", t.Number),
            (r"\b(?:bra|brx|call|ret|exit|bar|barrier|trap)\b(?=[.\s;])", t.Name.Attribute),
            (r"[a-z][a-z0-9_]*(?=[.\s])(?![ \t]*[,;)\]])", t.Keyword),
            (r"[.](?:[A-Za-z_][\w]*(?:::[\w]+)*)", t.Name),
            (r"[$A-Za-z_][\w$]*", t.Name),
            (r"\s+", t.Text),
            (r"[^\w\s]", t.Operator),
            (r".", t.Text),
        ],
        "comment": [(r"[^*]+", t.Comment), (r"\*/", t.Comment, "#pop"), (r"\*", t.Comment)],
    }


class SassLexer(RegexLexer):
    """SASS as cuobjdump and nvdisasm print it."""

    name = "Warpglass SASS"
    tokens: ClassVar = {
        "root": [
            (r"//[^\n]*", t.Comment),
            (r"/\*[0-9a-fA-Fx ]*\*/", t.Comment),
            (r"/\*", t.Comment, "comment"),
            (r"^[ \t]*\.[A-Za-z_][^\n:]*:", t.Name.Label),
            (r"^[ \t]*\.[^\n]*", t.Keyword.Reserved),
            (r"@!?U?P(?:[0-9]+|T)\b", t.Name.Decorator),
            (r"\b(?:U?R(?:[0-9]+|Z)|U?P(?:[0-9]+|T)|SR_[\w.]+|SB[0-9]|B[0-9]+)\b", t.Name.Variable),
            (r"-?0[xX][0-9a-fA-F]+|[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b", t.Number),
            (
                r"\b(?:BRA|BRX|JMP|CALL|RET|EXIT|BSSY|BSYNC|BAR|WARPSYNC|BREAK|YIELD|BPT|KILL)\b",
                t.Name.Attribute,
            ),
            (r"\b[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\b", t.Keyword),
            (r"\.[A-Za-z0-9_]+", t.Name),
            (r"[A-Za-z_]\w*", t.Name),
            (r"\s+", t.Text),
            (r"[^\w\s]", t.Operator),
            (r".", t.Text),
        ],
        "comment": [(r"[^*]+", t.Comment), (r"\*/", t.Comment, "#pop"), (r"\*", t.Comment)],
    }


#: Classes that the colour of a whole pane stands for: nearly every operand is a register.
_PLAIN = {"ptx": "nv", "sass": "nv"}
_OWN: dict[str, type[RegexLexer]] = {"cuda": CudaLexer, "ptx": PtxLexer, "sass": SassLexer, "c++": CudaLexer}


def _lexer(language: str) -> Lexer | None:
    own = _OWN.get(language)
    if own is not None:
        lexer: Lexer = own()
        return lexer
    try:
        other: Lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return None
    return other


def _class(kind: t._TokenType | None) -> str | None:
    while kind is not None and kind is not t.Token:
        if kind in CLASSES:
            return CLASSES[kind]
        kind = kind.parent
    return None


def _lines(text: str) -> list[str]:
    """The lines of a text as compilers count them: a trailing carriage return belongs to the line break."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


def _tokens(text: str, lexer: Lexer, plain: str | None) -> Iterator[tuple[str | None, str]]:
    """(class or None, text), neighbours of one class joined."""
    last: str | None = None
    held: list[str] = []
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        css = _class(kind)
        css = None if css == plain else css
        if held and css != last:
            yield last, "".join(held)
            held = []
        last = css
        held.append(value)
    if held:
        yield last, "".join(held)


def highlight_lines(text: str, language: str) -> list[Markup]:
    """HTML of each line of ``text`` (``cuda``, ``ptx``, ``sass`` or a Pygments alias), without line breaks.

    A coloured piece is ``<i class=k>…</i>``: a page has thousands of them. Registers of PTX and SASS have no
    element: they are the colour of their pane.

    Never raises for any text: what cannot be coloured is escaped text. Control, bidi and other invisible
    characters are shown as ``\\uXXXX`` in a span of class ``hl-odd``.
    """
    lines = _lines(text)
    lexer = _lexer(language)
    if lexer is None or len(text) > MAX_CHARACTERS or any(len(line) > MAX_LINE for line in lines):
        return [markup(line) for line in lines]
    out: list[list[str]] = [[]]
    for css, value in _tokens("\n".join(lines), lexer, _PLAIN.get(language)):
        for index, piece in enumerate(value.split("\n")):
            if index:
                out.append([])
            if piece:
                safe = str(markup(piece))
                out[-1].append(f"<i class={css}>{safe}</i>" if css else safe)
    rendered = [Markup("".join(parts)) for parts in out]  # noqa: S704 - every piece was escaped
    # A lexer that loses characters would shift every line after them: never show such a result.
    return rendered[: len(lines)] if len(rendered) >= len(lines) else [markup(line) for line in lines]


def highlight_line(line: str, language: str) -> Markup:
    """HTML of one line standing alone (an instruction in a table)."""
    return Markup(" ").join(highlight_lines(line, language)) if line else escape("")
