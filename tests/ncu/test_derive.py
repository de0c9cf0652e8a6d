"""Derived metrics: a small arithmetic, and what it refuses."""

from __future__ import annotations

import pytest

from warpglass.errors import UsageError
from warpglass.ncu.derive import derive, parse_derived

VALUES = {"smsp__inst_executed.sum": 4096.0, "n": 8.0, "zero": 0.0, "group:x.pct": 3.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1 + 2 * 3", 7.0),
        ("a=(1 + 2) * 3", 9.0),
        ("a=2 ** 3 ** 2", 512.0),
        ("a=-2 ** 2", -4.0),
        ("a=2 ** -1", 0.5),
        ("a=10 - 3 - 2", 5.0),
        ("a=7 % 4 / 2", 1.5),
        ("lanes=smsp__inst_executed.sum * 32 / n", 16384.0),
        ("a=group:x.pct", 3.0),
        ("a=max(n, 9) + min(1, 2) + abs(-3) + sqrt(16) + log2(n)", 20.0),
        ("a=1.5e3", 1500.0),
        ("a=n / zero", None),
        ("a=missing + 1", None),
        ("a=sqrt(0 - 1)", None),
        ("a=10 ** 1000", None),
        ("a=(0 - 8) ** 0.5", None),
    ],
)
def test_values(text: str, value: float | None) -> None:
    assert derive(text, VALUES.get) == value


@pytest.mark.parametrize(
    "text",
    ["a", "=1", "a=", "a=1+", "a=1 2", "a=(1", "a=1)", "a=f(1)", "a=min(1)", "a=__import__('os')", "a=1;2",
     "a=" + "(" * 500 + "1" + ")" * 500, "a=" + "1+" * 900 + "1", "a=" + "2**" * 100 + "2", "9=1"],
)  # fmt: skip
def test_what_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(UsageError):
        parse_derived(text)


def test_it_names_what_it_needs() -> None:
    made = parse_derived("x=a__b.sum / (a__b.sum + c)")
    assert (made.name, made.names) == ("x", ("a__b.sum", "c"))
