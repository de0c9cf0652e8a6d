"""Joins the ES modules of ``static_js`` into one inline module.

A module script that imports a file does not load from ``file://``, so the page carries one. What is
understood is what the project writes: named imports and exports of declarations. Everything else
(renaming, default, namespace, dynamic or circular imports, a top-level name used twice) is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["BundleError", "bundle", "join_modules", "top_level_names"]

_IMPORT = re.compile(
    r"import\s*(?:\{(?P<names>[^}]*)\}\s*from\s*)?(?P<quote>['\"])(?P<path>[^'\"]*)(?P=quote)\s*;?"
)
_DECLARATION = re.compile(r"(?:async\s+)?(?:function\b\s*\*?|(?:class|const|let|var)\b)")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_REGEX_BEFORE = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|delete|void|throw|new|else|do))$"
)


#: Punctuation that no neighbour can grow together with; ``+``, ``-`` and ``/`` are none of it.
_TIGHT = frozenset("{}()[];,:=<>?&|*")


class BundleError(ValueError):
    """A module that cannot be joined: a defect of the page's own scripts, named with its file."""


@dataclass(frozen=True, slots=True)
class _Module:
    name: str
    code: str
    imports: tuple[str, ...]
    wanted: tuple[tuple[str, str], ...]  # (imported name, from module)
    exported: frozenset[str]
    declared: tuple[str, ...]


def _quoted(text: str, start: int, name: str) -> int:
    """Index after the string literal that opens at ``start``."""
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        if text[at] == "\n":
            break
        at += 2 if text[at] == "\\" else 1
    if at >= len(text) or text[at] != quote:
        raise BundleError(f"{name}: a string is not closed")
    return at + 1


def _regex(text: str, start: int, name: str) -> int:
    """Index after the regular expression that opens at ``start``."""
    at, in_class = start + 1, False
    while at < len(text) and text[at] != "\n":
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        elif char == "/" and not in_class:
            at += 1
            while at < len(text) and text[at].isalpha():
                at += 1
            return at
        at += 1
    raise BundleError(f"{name}: a regular expression is not closed")


def _scan(text: str, name: str) -> tuple[str, str]:
    """The code without comments, and the same, equally long, with the content of literals blanked.

    A line break inside a template literal is blanked to U+0001, so that every ``\\n`` of the blanked text
    stands between tokens.
    """
    code: list[str] = []
    blank: list[str] = []
    template: list[int] = []  # brace depth outside each open ${ }
    depth = at = 0

    def put(piece: str, shown: str | None = None) -> None:
        code.append(piece)
        blank.append(piece if shown is None else shown)

    def chunk(begin: int) -> int:
        """Copy template text from ``begin`` to its end or next ``${``; index after that."""
        nonlocal depth
        end = begin
        while end < len(text) and text[end] != "`" and not text.startswith("${", end):
            end += 2 if text[end] == "\\" else 1
        if end >= len(text):
            raise BundleError(f"{name}: a template literal is not closed")
        put(text[begin:end], "".join("\x01" if char == "\n" else "_" for char in text[begin:end]))
        if text[end] == "`":
            put("`", "'")
            return end + 1
        put("${", " {")
        template.append(depth)
        depth += 1
        return end + 2

    while at < len(text):
        char, pair = text[at], text[at : at + 2]
        if pair == "//":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif pair == "/*":
            end = text.find("*/", at)
            if end < 0:
                raise BundleError(f"{name}: a comment is not closed")
            # A comment with a line break ends a statement as the line break itself would.
            put("\n" if "\n" in text[at:end] else " ")
            at = end + 2
        elif char in "'\"":
            end = _quoted(text, at, name)
            put(text[at:end], char + "_" * (end - at - 2) + char)
            at = end
        elif char == "`":
            put("`", "'")
            at = chunk(at + 1)
        elif char == "/" and _REGEX_BEFORE.search("".join(blank[-12:]).rstrip()):
            end = _regex(text, at, name)
            put(text[at:end], "_" * (end - at))
            at = end
        elif char == "}" and template and template[-1] == depth - 1:
            template.pop()
            depth -= 1
            put("}")
            at = chunk(at + 1)
        else:
            depth += (char == "{") - (char == "}")
            put(char)
            at += 1
    return "".join(code), "".join(blank)


_WORD = re.compile(r"[()\[\]{}]|(?<![\w$.])(?:import|export|async|function|class|const|let|var)\b(?!\s*:)")


def _statements(blank: str) -> list[tuple[str, int]]:
    """(word, position) of every import, export and declaration at the top level."""
    found: list[tuple[str, int]] = []
    depth = 0
    for match in _WORD.finditer(blank):
        word = match.group()
        if word in "([{":
            depth += 1
        elif word in ")]}":
            depth -= 1
        elif depth == 0:
            found.append((word, match.start()))
    return found


def _pattern_names(pattern: str) -> list[str]:
    """Names that ``{a, b: c, ...d}`` or ``[a, b]`` declares (one level, no defaults with commas)."""
    names = []
    for part in pattern.strip("{}[] \n").split(","):
        target = part.split("=")[0].split(":")[-1].replace("...", "").strip()
        if _NAME.fullmatch(target):
            names.append(target)
    return names


def _declared(blank: str, at: int) -> list[str]:
    """Names declared by the declaration at ``at``."""
    head = _DECLARATION.match(blank, at)
    if head is None:
        return []
    variable = not re.search(r"function|class", head.group())
    rest = blank[head.end() :].lstrip()
    if not variable or rest[:1] not in "{[":
        first = _NAME.match(rest)
        names = [first.group()] if first else []
    else:
        closing = rest.find("}" if rest[0] == "{" else "]")
        names = _pattern_names(rest[: closing + 1])
    if variable:
        names += _more_declarators(rest)
    return names


def _more_declarators(rest: str) -> list[str]:
    """Names after further commas of one ``const a = 1, b = 2;``."""
    names, depth = [], 0
    for match in re.finditer(r"[()\[\]{};,]", rest):
        char = match.group()
        depth += (char in "([{") - (char in ")]}")
        if depth < 0 or (char == ";" and depth == 0):
            break
        if char == "," and depth == 0:
            after = rest[match.end() :].lstrip()
            name = re.match(r"([A-Za-z_$][\w$]*)\s*[=,;]", after)
            names += [name.group(1)] if name else []
            if after[:1] in ("{", "["):
                names += _pattern_names(after[: after.find("}" if after[0] == "{" else "]") + 1])
    return names


def _parse(text: str, name: str) -> _Module:
    code, blank = _scan(text, name)
    if re.search(r"(?<![\w$.])import\s*[.(]", blank):
        raise BundleError(f"{name}: dynamic import and import.meta do not work in a joined module")
    imports: list[str] = []
    wanted: list[tuple[str, str]] = []
    exported: set[str] = set()
    declared: list[str] = []
    cuts: list[tuple[int, int]] = []
    statements = _statements(blank)
    for index, (word, at) in enumerate(statements):
        if word == "import":
            match = _IMPORT.match(code, at)
            if match is None:
                raise BundleError(f"{name}: only import {{a, b}} from './x.js' is understood")
            imports.append(_local(match["path"], name))
            for part in (match["names"] or "").split(","):
                if part.strip():
                    if not _NAME.fullmatch(part.strip()):
                        raise BundleError(f"{name}: an import cannot be renamed: {part.strip()}")
                    wanted.append((part.strip(), imports[-1]))
            cuts.append((at, match.end()))
        elif word == "export":
            declaration = _DECLARATION.match(blank, at + 6 + _spaces(blank, at + 6))
            clause = re.compile(r"export\s*\{([^}]*)\}\s*;?(?!\s*from)").match(blank, at)
            if declaration is not None:
                exported.update(_declared(blank, declaration.start()))
                cuts.append((at, declaration.start()))
            elif clause is not None and " as " not in clause.group(1):
                exported.update(_NAME.findall(clause.group(1)))
                cuts.append((at, clause.end()))
            else:
                raise BundleError(f"{name}: only exports of declarations and export {{a, b}} are understood")
        elif index and statements[index - 1][0] == "async":
            continue  # `async function` was taken at its first word
        elif word != "async" or re.match(r"async\s+function", blank[at:]):
            declared += _declared(blank, at)
    missing = exported - set(declared)
    if missing:
        raise BundleError(f"{name}: exports what it does not declare: {', '.join(sorted(missing))}")
    return _Module(
        name, _tidy(code, blank, cuts), tuple(imports), tuple(wanted), frozenset(exported), tuple(declared)
    )


def _spaces(text: str, at: int) -> int:
    return len(text) - at - len(text[at:].lstrip())


def _local(path: str, name: str) -> str:
    if not re.fullmatch(r"\./[\w.-]+\.js", path):
        raise BundleError(f"{name}: imports must name a file beside it as './x.js', not {path!r}")
    return path[2:]


def _tidy(code: str, blank: str, cuts: list[tuple[int, int]]) -> str:
    """The code without the cut spans, blanks and empty lines that say nothing; literals stay."""
    keep = bytearray(b"\x01") * len(code)
    for start, end in cuts:
        keep[start:end] = bytes(end - start)
    lines: list[str] = []
    at = 0
    for shown in blank.split("\n"):
        span = range(at, at + len(shown))
        whole = "\x01" in shown
        line = "".join(code[i] for i in span if keep[i] and (whole or not _room(code, blank, i)))
        at += len(shown) + 1
        if line.strip():
            lines.append(line if whole else line.strip(" \t"))
    return "\n".join(lines) + "\n"


def _room(code: str, blank: str, at: int) -> bool:
    """True for a blank outside literals that stands beside punctuation: it keeps no two tokens apart."""
    if code[at] != " " or blank[at] != " ":
        return False
    beside = blank[at - 1 : at] + blank[at + 1 : at + 2]
    return any(char in _TIGHT for char in beside)


def top_level_names(text: str, name: str = "module") -> tuple[str, ...]:
    """Names that a module declares at its top level, in order."""
    return _parse(text, name).declared


def bundle(folder: Path, entry: str = "main.js") -> str:
    """One module's text that does what ``entry`` and all it imports do.

    Raises :class:`BundleError` for anything that cannot be joined safely.
    """
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js"))}
    return join_modules(files, entry)


def join_modules(files: dict[str, str], entry: str = "main.js") -> str:
    """:func:`bundle` over texts by file name."""
    return _join(tuple(sorted(files.items())), entry)


@lru_cache(maxsize=4)
def _join(items: tuple[tuple[str, str], ...], entry: str) -> str:
    files = dict(items)
    done: dict[str, _Module] = {}
    order: list[_Module] = []
    open_modules: list[str] = []

    def visit(name: str, wanted_by: str) -> None:
        if name in done:
            return
        if name in open_modules:
            raise BundleError(f"modules import each other: {' -> '.join([*open_modules, name])}")
        if name not in files:
            raise BundleError(f"{wanted_by}: there is no {name}")
        open_modules.append(name)
        module = _parse(files[name], name)
        for other in module.imports:
            visit(other, name)
        open_modules.pop()
        done[name] = module
        order.append(module)

    visit(entry, "page")
    owner: dict[str, str] = {}
    for module in order:
        for wanted, source in module.wanted:
            if wanted not in done[source].exported:
                raise BundleError(f"{module.name}: {source} does not export {wanted}")
        for name in module.declared:
            if name in owner:
                raise BundleError(f"{name} is declared at the top level of {owner[name]} and {module.name}")
            owner[name] = module.name
    text = "".join(module.code for module in order)
    if re.search(r"</script|<!--|<script", text, re.IGNORECASE):
        raise BundleError("the scripts hold a text that would end their element; split it into two strings")
    return text
