"""``warpglass metrics``: tables, CSV, JSON, trees, derived metrics."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from ncu.writer import small_report
from warpglass import ncu
from warpglass.cli import main
from warpglass.errors import UsageError


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(small_report(3))
    return path


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["metrics", *args])
    return int(ended.value.code or 0)


def test_csv_of_one_launch(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(report), "--launch", "2", "--metric", "^dram__bytes", "--csv") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"]
    assert rows[1:] == [
        ["2", "scale(float *, int)", "dram__bytes_read.sum", "byte", "1000000"],
        ["2", "scale(float *, int)", "dram__bytes_write.sum", "byte", "n/a"],
    ]
    # What was written is read again.
    again = ncu.parse("\n".join(",".join(f'"{c}"' for c in row) for row in rows).encode(), "x.csv")
    assert again.launches[0].get("dram__bytes_read.sum") == 1_000_000


def test_json_with_a_derived_metric(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expression = "lanes=smsp__inst_executed.sum * 32 / 8"
    assert run(str(report), "--launch", "0", "--derive", expression, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["metric"], row["value"]) == ("lanes", 16384)


def test_what_is_no_number_is_kept_as_a_word(
    report: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real reports hold NaN, which JSON does not have."""
    loaded = ncu.load(report)
    first = loaded.launches[0]
    metrics = {
        name: replace(metric, value=bad)
        for (name, metric), bad in zip(first.metrics.items(), (math.nan, math.inf), strict=False)
    }
    broken = replace(loaded, launches=(replace(first, metrics=metrics),))
    monkeypatch.setattr(ncu, "load", lambda _path: broken)
    assert run(str(report), "--json") == 0
    assert sorted(row["value"] for row in json.loads(capsys.readouterr().out)) == ["Infinity", "NaN"]
    assert run(str(report), "--csv") == 0
    out = capsys.readouterr().out
    assert (out.count(",NaN\n"), out.count(",Infinity\n")) == (1, 1)


def test_tree_and_ranges(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(report), "--tree") == 0
    out = capsys.readouterr().out
    assert "train@step" in out
    assert "scale(float *, int)  [_Z5scalePfi]" in out
    assert run(str(report), "--nvtx", "train@*", "--metric", "no_such") == 0
    assert "no metric matches" in capsys.readouterr().err
    assert run(str(report), "--nvtx", "other@*", "--metric", "duration") == 2
    assert "there is train@step" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args", [("--launch", "9"), ("--metric", "("), ("--derive", "x=1+"), ("--derive", "nonsense")]
)
def test_bad_requests(report: Path, args: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(report), *args) == 2
    assert "error" in capsys.readouterr().err


def test_python_ranges_and_frames(report: Path) -> None:
    loaded = ncu.load(report)
    assert len(loaded.query("train@step")) == len(loaded) == 3
    with pytest.raises(UsageError, match="holds 3 launches"):
        loaded.single("train@step")
    assert str(loaded).startswith("made.ncu-rep\n")
    assert loaded.launches[0].derive("smsp__inst_executed.sum * 2") == 8192
    typed = loaded.launches[0].typed("dram__bytes_read")
    assert typed is not None
    assert loaded.launches[0].typed("nothing__here") is None
    if find_spec("pandas") is None and find_spec("polars") is None:
        with pytest.raises(UsageError, match="pandas or polars"):
            loaded.frame()
    else:
        assert list(loaded.frame()["kernel"]) == ["scale(float *, int)"] * 3
    with pytest.raises(UsageError, match="ends too early"):
        loaded.frame(["x=1+"])


def test_frames_take_derived_columns(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the package: what it is handed is what counts."""
    handed: list[dict[str, object]] = []
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=handed.extend))
    ncu.load(report).frame(["double=smsp__inst_executed.sum * 2", "none=no_such.sum + 1"])
    assert [(row["id"], row["double"], row["none"]) for row in handed] == [
        (0, 8192.0, None), (1, 8192.0, None), (2, 8192.0, None),
    ]  # fmt: skip
    assert handed[0]["dram__bytes_write.sum"] is None
