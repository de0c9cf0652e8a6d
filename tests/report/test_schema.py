from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sample import sample

from warpglass.errors import InputError
from warpglass.report.schema import SCHEMA, check_report, problems, report_schema


def test_the_schema_is_one_and_the_sample_fits() -> None:
    Draft202012Validator.check_schema(report_schema())
    assert list(problems(sample())) == []


def test_unknown_members_are_allowed_everywhere() -> None:
    report = sample()
    report["future"] = 1
    report["launches"][0]["future"] = {}
    report["launches"][0]["runs"][0]["findings"][0]["future"] = []
    check_report(report)


def _set(path: str, value: Any) -> dict[str, Any]:
    report = sample()
    at: Any = report
    *parts, last = path.split(".")
    for part in parts:
        at = at[int(part)] if part.isdigit() else at[part]
    at[int(last) if last.isdigit() else last] = copy.deepcopy(value)
    return report


RUN = "launches.0.runs.0"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("launches", None, "report.launches"),
        ("launches.0.kernel", {}, "'name' is a required property"),
        (f"{RUN}.isa", "x86", "isa"),
        (f"{RUN}.numbers.0.evidence", "guessed", "evidence"),
        (f"{RUN}.numbers.0", {"name": "x", "value": None, "unit": "", "evidence": "static"}, "why_unknown"),
        (f"{RUN}.findings.0.severity", "bad", "severity"),
        (f"{RUN}.findings.0.line", -1, "minimum"),
        (f"{RUN}.profile.warp_executed", [1], "columns of different length"),
        (f"{RUN}.code.instructions.text", ["ret"], "columns of different length"),
        (f"{RUN}.traces.0.columns.pc.3", 10, "columns.pc"),
        (f"{RUN}.traces.0.columns.warp.3", 8, "columns.warp"),
        (f"{RUN}.traces.0.columns.mask.3", -1, "columns.mask"),
        (f"{RUN}.traces.0.columns.round.3", "x", "columns.round"),
        (f"{RUN}.traces.0.rounds", 2**40, "maximum"),
        ("launches.0.primary", 3, "primary"),
        ("sections", [{"id": "<b>", "title": "x"}], "does not match"),
        ("inputs.0.sha256", "abc", "does not match"),
        ("title", 5, "report.title"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: Any, message: str) -> None:
    found = "\n".join(problems(_set(path, value)))
    assert message in found
    assert found.startswith("report")
    with pytest.raises(InputError, match="not a report"):
        check_report(_set(path, value))


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=f"this version reads '{SCHEMA}'"):
        check_report(_set("schema", "warpglass-report/2"))


@pytest.mark.parametrize("value", [None, [], "x", {}, {"schema": 1}])
def test_what_is_no_report_at_all(value: Any) -> None:
    with pytest.raises(InputError, match="not a report"):
        check_report(value)
