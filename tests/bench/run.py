"""`make bench`: every benchmark beside this file, one after the other; fails where a target is missed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run each ``bench_*.py`` (or those named on the command line) as its own program."""
    wanted = sys.argv[1:]
    scripts = [path for path in sorted(HERE.glob("bench_*.py")) if not wanted or path.stem in wanted]
    failed = []
    for script in scripts:
        print(f"== {script.stem}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.stem)
        print(flush=True)
    if failed:
        print(f"missed or failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
