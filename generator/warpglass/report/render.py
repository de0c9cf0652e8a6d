"""The page: a pure function of the report JSON."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from warpglass.errors import UsageError
from warpglass.report import custom, view
from warpglass.report.bundle import bundle
from warpglass.report.charts import packed_plotly
from warpglass.report.json_writer import compact, plain
from warpglass.report.pack import gzip_bytes, pack_page
from warpglass.report.schema import check_report
from warpglass.report.sections import PAGE_ORDER, registry
from warpglass.report.text import json_for_script, markup, visible
from warpglass.resources import resource_dir

__all__ = [
    "PageSection",
    "content_policy",
    "environment",
    "page_sections",
    "page_title",
    "render_html",
    "stylesheet",
]

_CHARTS = {"plotly": True, "interactive": True, "static": False}
#: Blanks after ``:``, around braces and behind ``;``: no selector of the project needs them.
_CSS_ROOM = re.compile(r": | ?\{ ?|; | \}|, (?=[a-z.#:\[])")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def content_policy(*scripts: str) -> str:
    """The page's Content-Security-Policy: nothing from outside, only these inline scripts run."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    allowed = f"{hashes} 'strict-dynamic'" if hashes else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def _finalize(value: Any) -> Any:
    """Every value that a template prints passes here: hostile characters become visible text."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@lru_cache(maxsize=4)
def _gzip64(text: str) -> Markup:
    """Packed text (the page's script, HTML of a launch) that the page unpacks when it is needed."""
    packed = gzip_bytes(str(text).encode("utf-8", "surrogatepass"))
    return Markup(base64.b64encode(packed).decode("ascii"))  # noqa: S704 - base64 alphabet only


@cache
def environment() -> Environment:
    """The one Jinja environment: autoescape on, undefined names are errors."""
    env = Environment(
        loader=FileSystemLoader(resource_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["num"] = view.num
    env.filters["dim"] = view.dim
    env.filters["odd"] = markup
    env.filters["script_json"] = lambda value: json_for_script(compact(plain(value)))
    env.filters["gzip64"] = _gzip64
    env.filters["evidence_help"] = lambda kind: view.EVIDENCE_HELP.get(kind, "")
    return env


@lru_cache(maxsize=4)
def _stylesheet(texts: tuple[str, ...]) -> Markup:
    css = "\n".join(_CSS_COMMENT.sub("", text) for text in texts)
    css = "\n".join(line.strip() for line in css.split("\n") if line.strip())
    css = _CSS_ROOM.sub(lambda match: match.group().strip(), css)
    if "</" in css or "<!--" in css:
        raise ValueError("a style sheet holds text that would end its element")
    return Markup(css)  # noqa: S704 - the project's own style sheets


def stylesheet() -> Markup:
    """All of ``templates/css`` in the order of their names, without comments."""
    paths = sorted((resource_dir("templates") / "css").glob("*.css"))
    return _stylesheet(tuple(path.read_text(encoding="utf-8") for path in paths))


@dataclass(frozen=True, slots=True)
class PageSection:
    """One section that has something to show: its partial and what the partial receives."""

    id: str
    title: str
    partial: str
    ctx: Mapping[str, Any]


def page_sections(report: Mapping[str, Any]) -> list[PageSection]:
    """Every section of the page, in page order: built-in ones, then a user's own, then provenance."""
    modules = registry()
    listed = {str(entry["id"]): entry for entry in report.get("sections") or []}
    own = [name for name in listed if name not in PAGE_ORDER]
    made = []
    for name in (*PAGE_ORDER[:-1], *own, PAGE_ORDER[-1]):
        entry = listed.get(name, {})
        module = modules.get(name)
        if module is not None:
            ctx, partial, title = module.context(report), name, module.title
        elif entry:
            ctx, partial, title = custom.context(entry), "custom", name
        else:
            continue
        if ctx is not None:
            made.append(PageSection(name, str(entry.get("title") or title), partial, ctx))
    return made


#: End tags that HTML lets a cell or row leave out before the next one, with the room behind them: tables are
#: most of a page's markup. Text of users is escaped, so that no tag in it can match.
_OPTIONAL_ENDS = re.compile(r"</t[dhr]>\s*(?=<t[dhr][ >]|</t(?:r|body|head|able)>)")


def _draw(section: PageSection, report: Mapping[str, Any], interactive: bool) -> dict[str, Any]:
    template = environment().get_template(f"sections/{section.partial}.html.jinja")
    html = template.render(ctx=section.ctx, report=report, interactive=interactive)
    html = _OPTIONAL_ENDS.sub("", html)
    return {"id": section.id, "title": section.title, "html": Markup(html)}  # noqa: S704 - autoescaped


def page_script() -> str:
    """The page's scripts as one classic script: a blob of a module does not run from every ``file://``."""
    return f"(() => {{ 'use strict';\n{bundle(resource_dir('static_js'))}}})();\n"


def page_title(report: Mapping[str, Any]) -> str:
    """The title given, else the first kernel's name."""
    if report.get("title"):
        return str(report["title"])
    launches = report.get("launches") or []
    return view.kernel_name(launches[0]) if launches else "Report"


def render_html(report: Mapping[str, Any], *, charts: str | None = None) -> str:
    """The whole page of a report dict (docs/json-schema.md) as text.

    ``charts`` is ``plotly`` (or ``interactive``) or ``static``; None takes the report's own option. The
    result depends on the JSON value of ``report`` alone: tuples, arrays and key order make no difference.
    Raises InputError for a dict that is no report, UsageError for unknown ``charts``.
    """
    value = plain(report)
    check_report(value)
    chosen = charts or str((value.get("options") or {}).get("charts") or "interactive")
    if chosen not in _CHARTS:
        raise UsageError(f"charts is {chosen!r}; choose one of {', '.join(_CHARTS)}")
    interactive = _CHARTS[chosen]
    # Sections must not see key order: templates iterate over some dicts.
    value = _sorted(value)
    sections = [_draw(section, value, interactive) for section in page_sections(value)]
    has_charts = interactive and any('data-chart="' in section["html"] for section in sections)
    starter = "\n" + bundle(resource_dir("static_js"), "loader.js")
    return (
        environment()
        .get_template("base.html.jinja")
        .render(
            report=value,
            title=page_title(value),
            csp=content_policy(starter),
            css=stylesheet(),
            sections=sections,
            data=json_for_script(compact(pack_page(value))),
            plotly=packed_plotly() if has_charts else None,
            script=_gzip64(page_script()),
            starter=Markup(starter),  # noqa: S704 - the project's own script; bundle() refuses end tags
        )
    )


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return [_sorted(item) for item in value]
    return value
