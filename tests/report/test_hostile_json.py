"""Report files are inputs like any other: whatever stands in one, a page or one clear error."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from page import Page
from sample import sample
from test_sections import BLOCKS

from warpglass.errors import InputError
from warpglass.report.model import Report
from warpglass.report.prose import markdown_html
from warpglass.report.thumbnail import thumbnail

DELETE = object()
VALUES: list[Any] = [
    DELETE, None, True, -1, 0, 2**31, 2**40, 2**70, 0.5, float("nan"), "", "ptx", "</script>", "\ud800",
    [], [None], [[]], {}, {"a": 1}, [1, 2, 3],
]  # fmt: skip


def _full() -> dict[str, Any]:
    report = sample()
    piece = {"title": "a", "text": "b", "evidence": "static", "source": 0, "line": 3}
    report["sections"] = [
        {"id": "mine", "title": "Mine", "data": {"blocks": [dict(block) for block in BLOCKS]}},
        {"id": "advice", "title": "Advice", "data": {"launches": [[piece], []]}},
        {"id": "verdict", "title": "Verdict", "data": {"launches": [{"text": "x", "evidence": "static"}]}},
    ]
    return report


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key in value:
            found += _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(3, len(value))):
            found += _paths(value[index], (*path, index))
    return found


PATHS = _paths(_full())


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(VALUES)), min_size=1, max_size=2))
def test_any_change_gives_a_page_or_an_input_error(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data = _full()
    for path, value in changes:
        at: Any = data
        try:
            for key in path[:-1]:
                at = at[key]
            if value is DELETE:
                del at[path[-1]]
            else:
                at[path[-1]] = deepcopy(value)  # else two changes could put a list into itself
        except (KeyError, IndexError, TypeError):  # the first change took the second one's place away
            continue
    try:
        report = Report(data)
    except InputError:
        return
    page = Page(report.to_html(charts="static"))
    assert page.problems == []
    assert page.comments == []
    report.to_markdown().encode("utf-8")
    for launch in report.data["launches"]:
        thumbnail(launch, "x")
    assert Report.from_json(report.to_json()).data == report.data


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "javascript:x",
        "JAVASCRIPT&colon;x",
        "ms-msdt:x",
        "file:///etc",
        "ftp://x",
        "data:,x",
    ],
)
def test_addresses_that_stay_text(address: str) -> None:
    assert "<a" not in markdown_html(f"[text]({address}) and [r]\n\n[r]: {address}\n")


@pytest.mark.parametrize("address", ["https://a.example/b:c", "mailto:a@b.c", "#code", "notes.html", "./a:b"])
def test_addresses_that_become_links(address: str) -> None:
    assert f'<a href="{address}" rel="noreferrer noopener">' in markdown_html(f"[text]({address})")
