"""`make fuzz`: every target for some seconds, two at a time, a line a target.

A crash is saved under ``.cache/fuzz/<target>/``; ``--replay FILE --target NAME`` runs it again.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fuzz.targets import ROOT, TARGETS, attempt  # noqa: E402

KEPT = ROOT / ".cache" / "fuzz"
#: Starts a program from a small process. The fuzzer reads its peak of memory, and a program that a large
#: process starts (a test worker after thousands of tests) has that one's peak from its first moment on.
APART = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def fuzz(name: str, seconds: int, seed: int) -> tuple[str, bool, str]:
    """Run one target; returns its name, whether it held, and the fuzzer's last words."""
    target = TARGETS[name]
    kept = KEPT / name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for content in target.corpus():
            (Path(folder) / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
        command = [
            sys.executable, "-c", APART, sys.executable, str(HERE / "one.py"), name, folder,
            f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={target.largest}", "-timeout=20",
            "-rss_limit_mb=3000", f"-artifact_prefix={kept}/", "-print_final_stats=1",
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds + 300, check=False
        )
    output = done.stdout + done.stderr
    if done.returncode:
        at = output.find("Uncaught Python exception")
        return name, False, output[at : at + 4000] + "\n" + output[-600:] if at >= 0 else output[-3000:]
    runs = [line for line in output.splitlines() if "number_of_executed_units" in line]
    return name, True, runs[0].split()[-1] + " inputs" if runs else ""


def main() -> int:
    """Command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--target", action="append", choices=sorted(TARGETS))
    options.add_argument("--replay", type=Path)
    given = options.parse_args()
    names = given.target or list(TARGETS)
    if given.replay:
        attempt(TARGETS[names[0]], given.replay.read_bytes())
        return 0
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for name, held, words in pool.map(lambda n: fuzz(n, given.seconds, given.seed), names):
            print(f"{name:<12} {'held, ' + words if held else 'FAILED'}", flush=True)
            if not held:
                failed += 1
                print(words)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
