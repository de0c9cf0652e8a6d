"""A number with its evidence: what every figure on the page is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["EVIDENCE", "Number", "derived", "figure", "ratio", "weakest"]

#: From the weakest to the strongest; a derived number shows its weakest input's badge.
EVIDENCE = ("modelled", "static", "executed", "measured")


def figure(value: float) -> str:
    """Three digits in a sentence, a large number whole: 10.7, 0.0123, 1,120."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Number:
    """``value`` is None where it is unknown; then ``why_unknown`` says why and what would give it."""

    name: str
    value: float | int | None
    unit: str
    evidence: str
    rule: str
    scope: str = "whole grid"
    scaled: bool = False
    why_unknown: str | None = None

    def to_json(self) -> dict[str, object]:
        """The number as the report's JSON writes it."""
        out: dict[str, object] = {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "evidence": self.evidence,
            "rule": self.rule,
            "scope": self.scope,
        }
        if self.scaled:
            out["scaled"] = True
        if self.why_unknown is not None:
            out["why_unknown"] = self.why_unknown
        return out


def weakest(kinds: Iterable[str]) -> str:
    """The weakest of several evidence kinds."""
    return min(kinds, key=EVIDENCE.index)


def derived(
    name: str,
    value: float | int | None,
    unit: str,
    rule: str,
    inputs: Iterable[Number],
    why: str | None = None,
) -> Number:
    """A number computed from others: weakest evidence, scaled if any input is."""
    given = tuple(inputs)
    missing = next((n for n in given if n.value is None), None)
    if missing is not None:
        value, why = (
            None,
            f"{missing.name} is unknown" + (f": {missing.why_unknown}" if missing.why_unknown else ""),
        )
    return Number(
        name,
        value,
        unit,
        weakest(n.evidence for n in given),
        rule,
        scope=given[0].scope,
        scaled=any(n.scaled for n in given),
        why_unknown=why,
    )


def ratio(name: str, upper: Number, lower: Number, unit: str, rule: str, none_means: str) -> Number:
    """``upper / lower``; a zero denominator is unknown with ``none_means`` as the reason."""
    if upper.value is None or lower.value is None:
        return derived(name, None, unit, rule, (upper, lower))
    if lower.value == 0:
        return derived(name, None, unit, rule, (upper, lower), why=none_means)
    return derived(name, upper.value / lower.value, unit, rule, (upper, lower))
