"""A short coverage-guided run of every target, and plain mutations where the fuzzer does not run."""

from __future__ import annotations

import random
import sys

import pytest

from fuzz.run import fuzz
from fuzz.targets import TARGETS, attempt

#: Bits of syntax that random bytes rarely hit.
SPLICES = [
    b"{", b"}", b"(", b";", b"[", b".entry", b"@!%p1", b"\0", b"\xff\xfe", b"1e999", b"0x" + b"f" * 40, b"-",
    b"//", b'"', b"'", b"<" * 50, b"\r\n", b"::", b"%tid.x", b"[[launch]]", b"99999999999999999999",
]  # fmt: skip


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A few cuts, copies and splices."""
    data = bytearray(seed)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 8, 60)))
        match rng.randrange(4):
            case 0:
                del data[at:end]
            case 1:
                data[at:at] = rng.choice(SPLICES)
            case 2:
                data[at:at] = data[at:end] * rng.randint(1, 3)
            case _:
                for k in range(at, end):
                    data[k] = rng.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "machine"])
def test_mutations(name: str) -> None:
    target, rng = TARGETS[name], random.Random(name)
    seeds = [content for content in target.corpus() if content]
    if not seeds:
        pytest.skip(f"no seeds for {name}")
    for _ in range(40 if max(map(len, seeds)) > 50_000 else 150):
        attempt(target, mutated(rng.choice(seeds), rng))


def test_mutated_kernels_run() -> None:
    target, rng = TARGETS["machine"], random.Random(7)
    seeds = [content for content in target.corpus() if 0 < len(content) < 6000]
    for _ in range(40):
        attempt(target, mutated(rng.choice(seeds), rng))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the fuzzer runs on Linux")
@pytest.mark.parametrize("name", TARGETS)
def test_short_fuzz(name: str) -> None:
    pytest.importorskip("atheris")
    _, held, words = fuzz(name, seconds=4, seed=3)
    assert held, words
