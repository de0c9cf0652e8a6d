"""Names of metrics taken apart, and typed views (counter, ratio, throughput) over a launch's metrics.

``dram__bytes.sum.per_second`` is the base ``dram__bytes``, the roll-up ``sum`` and the sub-metric
``per_second``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warpglass.ncu.model import Counter, Metric, Ratio, Throughput

__all__ = ["MetricName", "counter", "ratio", "split_name", "throughput", "typed_metrics"]

ROLLUPS = ("sum", "avg", "min", "max")
RATIO_PARTS = ("pct", "ratio", "max_rate")


@dataclass(frozen=True, slots=True)
class MetricName:
    """A name's parts; ``rollup`` and ``sub`` are empty where the name has none."""

    base: str
    rollup: str
    sub: str


def split_name(name: str) -> MetricName:
    """The parts of a metric name."""
    base, _, rest = name.partition(".")
    head, _, tail = rest.partition(".")
    if head in ROLLUPS:
        return MetricName(base, head, tail)
    return MetricName(base, "", rest)


def counter(metrics: Mapping[str, Metric], base: str) -> Counter | None:
    """The counter called ``base`` with what was collected of it, None where nothing was."""
    parts: dict[str, dict[str, Metric]] = {rollup: {} for rollup in ROLLUPS}
    for name, metric in metrics.items():
        split = split_name(name)
        if split.base == base and split.rollup:
            parts[split.rollup][split.sub] = metric
    if not any(parts.values()):
        return None
    return Counter(base, parts["sum"], parts["avg"], parts["min"], parts["max"])


def ratio(metrics: Mapping[str, Metric], base: str) -> Ratio | None:
    """The ratio called ``base``, None where nothing of it was collected."""
    found = {part: metrics.get(f"{base}.{part}") for part in RATIO_PARTS}
    if not any(metric is not None for metric in found.values()):
        return None
    return Ratio(base, found["pct"], found["ratio"], found["max_rate"])


def throughput(metrics: Mapping[str, Metric], base: str) -> Throughput | None:
    """The throughput called ``base`` with the names that the report breaks it down to."""
    found = {
        name.partition(".")[2]: metric for name, metric in metrics.items() if name.partition(".")[0] == base
    }
    if not found:
        return None
    breakdown = next(
        (
            metric.value
            for name, metric in metrics.items()
            if name.startswith(f"breakdown:{base}.") and isinstance(metric.value, str)
        ),
        "",
    )
    parts = tuple(part.strip() for part in str(breakdown).split(",") if part.strip())
    return Throughput(base, found, parts)


def typed_metrics(metrics: Mapping[str, Metric]) -> Mapping[str, Counter | Ratio | Throughput]:
    """Every base name of a launch with its typed view; plain values (``launch__…``) are left out."""
    out: dict[str, Counter | Ratio | Throughput] = {}
    for base in dict.fromkeys(_bases(metrics)):
        found: Counter | Ratio | Throughput | None
        if base.endswith("throughput"):
            found = throughput(metrics, base)
        else:
            found = counter(metrics, base) or ratio(metrics, base)
        if found is not None:
            out[base] = found
    return out


def _bases(names: Iterable[str]) -> Iterable[str]:
    return (name.partition(".")[0] for name in names if "." in name and ":" not in name)
