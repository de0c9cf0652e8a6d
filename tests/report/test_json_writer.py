from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass.report.json_writer import compact, plain, pretty

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_arrays_tuples_and_numpy_scalars_become_lists_and_numbers() -> None:
    value = {"a": np.arange(3, dtype=np.uint32), "b": (1, 2), "c": np.float64(0.5), "d": b"\x01\xff", 5: None}
    assert plain(value) == {"a": [0, 1, 2], "b": [1, 2], "c": 0.5, "d": "01ff", "5": None}


def test_nan_and_infinity_are_null_with_a_mark() -> None:
    made = plain({"x": float("nan"), "column": [1.0, float("-inf"), 2.0]})
    assert made == {"x": None, "x?": "NaN", "column": [1.0, None, 2.0], "column?": {"1": "-Infinity"}}


def test_a_report_number_says_why_it_is_unknown() -> None:
    number = {"name": "hit rate", "value": float("nan"), "unit": "%", "evidence": "modelled"}
    assert plain(number) == {**number, "value": None, "why_unknown": "the value is NaN"}


def test_integers_that_javascript_would_round_become_text() -> None:
    assert plain([2**53, 2**53 + 1, -(2**60)]) == [2**53, str(2**53 + 1), str(-(2**60))]


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot hold a object"):
        plain({"x": object()})


@given(JSON)
def test_plain_is_idempotent_and_both_writers_agree(value: Any) -> None:
    once = plain(value)
    assert plain(once) == once
    assert json.loads(compact(once)) == json.loads(pretty(once)) == once
    compact(once).encode("utf-8")


def test_key_order_makes_no_difference_and_columns_stand_on_one_line() -> None:
    first = {"b": [1, 2, 3], "a": {"y": [{"q": [1]}], "x": 2}}
    second = {"a": {"x": 2, "y": [{"q": [1]}]}, "b": [1, 2, 3]}
    assert pretty(first) == pretty(second)
    assert '"b": [1,2,3]' in pretty(first)
    assert pretty(first).endswith("}\n")
