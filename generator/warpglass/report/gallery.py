"""A folder of pages with an index: static files, relative links, ready for any host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from warpglass.errors import UsageError
from warpglass.files import write_file
from warpglass.report import svg, view
from warpglass.report.bundle import bundle
from warpglass.report.json_writer import plain
from warpglass.report.render import content_policy, environment, page_title, render_html, stylesheet
from warpglass.report.schema import check_report
from warpglass.report.thumbnail import thumbnail
from warpglass.report.tiles import run_state, tiles
from warpglass.report.words import verdict
from warpglass.resources import resource_dir

__all__ = ["gallery_html", "slug", "write_gallery"]


def slug(name: str, taken: Iterable[str] = ()) -> str:
    """A file name stem that every file system and URL takes, unlike all of ``taken``."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "report"
    if stem in ("index", "con", "nul", "aux", "prn"):
        stem += "-report"
    used, made, number = set(taken), stem, 1
    while made in used:
        number += 1
        made = f"{stem}-{number}"
    return made


def _card(name: str, page: str, report: Mapping[str, Any]) -> dict[str, Any]:
    launches = report.get("launches") or []
    first = launches[0] if launches else {}
    run = view.primary_run(first)
    said = verdict(report, 0, first) if launches else None
    kernels = sorted({view.short_name(launch) for launch in launches})
    archs = sorted({str(launch.get("arch")) for launch in launches if launch.get("arch")})
    words = [
        name,
        page_title(report),
        *kernels,
        *archs,
        said["text"] if said else "",
        view.kernel_name(first),
    ]
    return {
        "name": name,
        "href": f"{page}.html",
        # A title that somebody gave; else the gallery's name for it says more than a list of kernels.
        "title": str((report.get("options") or {}).get("title") or name.replace("_", " ")),
        "kernels": kernels,
        "archs": archs,
        "launches": len(launches),
        "launch": view.launch_text(first) if launches else "",
        "verdict": said,
        "state": run_state(run),
        "tiles": [tile for tile in tiles(run) if tile["value"] is not None],
        "thumbnail": thumbnail(first, f"{name}: what each warp does") or svg.lane_strip([], name),
        "search": " ".join(words).lower(),
    }


def gallery_html(cards: Sequence[Mapping[str, Any]], title: str) -> str:
    """The index page of these cards as text."""
    script = "\n" + bundle(resource_dir("static_js"), "gallery.js")
    return (
        environment()
        .get_template("gallery.html.jinja")
        .render(
            cards=cards,
            title=title,
            csp=content_policy(script),
            css=stylesheet(),
            script=Markup(script),  # noqa: S704 - the project's own script; bundle() refuses end tags
        )
    )


def write_gallery(
    reports: Iterable[tuple[str, Mapping[str, Any]]],
    outdir: str | Path,
    *,
    title: str = "Kernel reports",
    charts: str | None = None,
) -> list[Path]:
    """Write a page for each (name, report dict), and ``index.html`` over all of them; the files written.

    Reports may come from a generator: one is held at a time. Raises UsageError where the folder cannot be
    written or there is no report, InputError for a dict that is none.
    """
    folder = Path(outdir)
    cards: list[dict[str, Any]] = []
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in reports:
            report = plain(data)
            check_report(report)
            page = slug(name, [path.stem for path in written])
            written.append(folder / f"{page}.html")
            write_file(written[-1], render_html(report, charts=charts).encode("utf-8"))
            cards.append(_card(name, page, report))
        if not cards:
            raise UsageError("a gallery needs at least one report")
        written.append(folder / "index.html")
        write_file(written[-1], gallery_html(cards, title).encode("utf-8"))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return written
