"""Fuzz one target until the time is up: ``one.py TARGET [libFuzzer options]``. Started by ``run.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

with atheris.instrument_imports(include=["warpglass"]):
    import warpglass.api_run
    import warpglass.cuda
    import warpglass.launchfile
    import warpglass.ncu
    import warpglass.ptx
    import warpglass.report.model
    import warpglass.sass  # noqa: F401
    from fuzz.targets import TARGETS, attempt


def main() -> None:
    """Hand the target to the fuzzer."""
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: attempt(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
