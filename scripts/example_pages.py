"""Write the finished pages of examples/: ``example_pages.py FOLDER`` writes FOLDER/NAME/report.html."""

from __future__ import annotations

import sys
from pathlib import Path

import warpglass
from warpglass.options import ReportOptions

ROOT = Path(__file__).resolve().parents[1]

#: Examples with a page beside their source.
PAGES = ("transpose", "warp_specialised")


def main() -> None:
    """Build each page with the launches of its own file; figures stay static, so that a page is small."""
    folder = Path(sys.argv[1])
    for name in PAGES:
        source = ROOT / "examples" / name
        options = ReportOptions(launch_file=source / "warpglass.toml", charts="static")
        report = warpglass.make_report([source / "kernel.cu"], options)
        out = folder / name / "report.html"
        out.parent.mkdir(parents=True, exist_ok=True)
        report.render(out)
        print(f"{out} ({out.stat().st_size / 1024:.0f} KiB)")


if __name__ == "__main__":
    main()
