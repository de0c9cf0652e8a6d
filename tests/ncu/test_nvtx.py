"""NVTX ranges: nested, of several domains and threads; paths, queries, the printed tree, the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu.made_ranges import ranges_report
from ncu.writer import Writer
from warpglass import ncu
from warpglass.api import make_report
from warpglass.errors import UsageError
from warpglass.ncu.nvtx import matches, path_text, split_path
from warpglass.options import ReportOptions
from warpglass.report.sections import launches as section


@pytest.fixture
def report() -> ncu.Report:
    return ncu.parse(ranges_report(), "made.ncu-rep")


def test_a_launch_lies_in_the_ranges_of_its_own_thread(report: ncu.Report) -> None:
    assert [[str(path) for path in launch.nvtx] for launch in report] == [
        ["train@epoch 0/step", "lib@gemm"],
        ["train@epoch 0/step/loss"],
        ["train@load"],
        ["train@epoch 1/step", "train@checkpoint"],
        [r"<default domain>@fwd\/attn"],
        [],
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("train@epoch 0", [0, 1]),
        ("train@epoch 0/step", [0, 1]),
        ("train@epoch 0/step/loss", [1]),
        ("train@epoch */step", [0, 1, 3]),
        ("train@**/step", [0, 1, 3]),
        ("**/loss", [1]),
        ("train@**", [0, 1, 2, 3]),
        ("train@", [0, 1, 2, 3]),
        ("gemm", [0]),
        ("*@gemm", [0]),
        ("step", []),  # a path begins at the outermost range
        ("train@loss", []),
        ("train@checkpoint", [3]),
        ("<default domain>@fwd\\/attn", [4]),
        ("fwd*", [4]),
        ("fwd/attn", []),  # two ranges, not one with a slash in it
        ("other@step", []),
    ],
)
def test_queries_follow_the_path(report: ncu.Report, path: str, found: list[int]) -> None:
    assert [launch.index for launch in report.query(path)] == found
    if len(found) == 1:
        assert report.single(path).index == found[0]
    else:
        with pytest.raises(UsageError, match=f"holds {len(found)} launches"):
            report.single(path)


@pytest.mark.parametrize("names", [("a",), ("a/b", "c"), ("x@y",), ("*",), ("\\",), ("a\\/b", "/"), ("@",)])
def test_paths_are_read_back(names: tuple[str, ...]) -> None:
    for domain in ("d", "a@b", "d/e", "*"):
        text = path_text(domain, names)
        assert split_path(text) == (domain, list(names))
        assert matches(domain, names, text)
        assert not matches(domain, ("other",), text)


def test_the_tree_has_counts_and_both_names(report: ncu.Report) -> None:
    assert report.tree().split("\n") == [
        "made.ncu-rep",
        "├── train@epoch 0  (2 launches)",
        "│   └── step  (2 launches)",
        "│       ├── loss  (1 launch)",
        "│       │   └── #1 loss(float *)  [_Z4lossPf]",
        "│       └── #0 gemm(float *)  [_Z4gemmPf]",
        "├── lib@gemm  (1 launch)",
        "│   └── #0 gemm(float *)  [_Z4gemmPf]",
        "├── train@load  (1 launch)",
        "│   └── #2 copy(float *)  [_Z4copyPf]",
        "├── train@epoch 1  (1 launch)",
        "│   └── step  (1 launch)",
        "│       └── #3 gemm(float*)  [_Z4gemmPf]",
        "├── train@checkpoint  (1 launch)",
        "│   └── #3 gemm(float*)  [_Z4gemmPf]",
        "├── <default domain>@fwd/attn  (1 launch)",
        "│   └── #4 attn(float *)  [_Z4attnPf]",
        "└── #5 tail(float *)  [_Z4tailPf]",
    ]


def test_the_page_shows_the_same_tree(tmp_path: Path) -> None:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(ranges_report())
    made = make_report([path], ReportOptions(charts="static"))
    found = section.context(made.data)
    assert found is not None
    tree = {node["name"]: node for node in found["ranges"]}
    assert {name: node["count"] for name, node in tree.items()} == {
        "train@epoch 0": 2, "lib@gemm": 1, "train@load": 1, "train@epoch 1": 1, "train@checkpoint": 1,
        "<default domain>@fwd/attn": 1,
    }  # fmt: skip
    (step,) = tree["train@epoch 0"]["children"]
    assert (step["name"], step["count"], [one["index"] for one in step["launches"]]) == ("step", 2, [0])
    html = made.to_html()
    assert 'data-nvtx="train@epoch 0/step lib@gemm"' in html
    assert "&lt;default domain&gt;@fwd/attn" in html


def test_deep_and_nameless_ranges_are_kept_within_bounds() -> None:
    w = Writer()
    result = w.result("k", [("a", 1, None)], thread_id=1)
    stack = result.nvtx.threads.add(thread_id=1).stacks.add(domain=1)
    for _ in range(5000):
        stack.ranges.add()
    w.block(results=[result])
    made = ncu.parse(w.out)
    (path,) = made.launches[0].nvtx
    assert path.ranges == ("(unnamed)",) * 100
    assert made.tree().count("(unnamed)") == 100
    assert made.query("**/(unnamed)") == made.launches


def test_a_page_of_endless_ranges_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Writer()
    result = w.result("k", [("a", 1, None)], thread_id=1)
    for i in range(90):
        stack = result.nvtx.threads.add(thread_id=1).stacks.add(domain=1)
        for j in range(40):
            stack.ranges.add(name=b"%d %d " % (i, j) + b"x" * 600)
    w.block(results=[result])
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(w.out)
    data = make_report([path], ReportOptions(charts="static")).data
    kept = data["launches"][0]["measured"]["nvtx"]
    assert 0 < sum(map(len, kept)) <= 14_000
    monkeypatch.setattr(section, "_MOST_NODES", 7)
    launches = [{"measured": {"nvtx": [f"d@a{i}/b"]}, "kernel": {"name": "k"}} for i in range(9)]
    assert [node["name"] for node in section._ranges(launches)] == ["d@a0", "d@a1", "d@a2", "d@a3"]
