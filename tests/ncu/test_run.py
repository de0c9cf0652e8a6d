"""Running the profiler: the command, and each failure in words that help, with a stand-in for ncu."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from ncu.writer import small_report
from warpglass import ncu
from warpglass.cli import app
from warpglass.errors import InputError, ToolchainError, UsageError, WarpglassError
from warpglass.ncu.factories import dram, executed, l1tex, launch, stalls, tensor
from warpglass.ncu.run import ProfileRequest, command


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an ``ncu`` first on PATH; the report it copies and where it notes its arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "ncu"
    body = Path(__file__).with_name("standin_ncu.py")
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{body}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "made.ncu-rep").write_bytes(small_report())
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN_REPORT", str(tmp_path / "made.ncu-rep"))
    monkeypatch.setenv("STANDIN_ARGS", str(tmp_path / "args.txt"))
    return tmp_path


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(args=list(args), prog_name="warpglass")
    return int(ended.value.code or 0)


def test_profile_makes_a_page_and_keeps_the_report(standin: Path) -> None:
    page, kept = standin / "page.html", standin / "kept.ncu-rep"
    code = run(
        "profile", "--nvtx", "train@step", "--metric", "dram__bytes_read.sum", "-o", str(page), "--keep",
        str(kept), "--charts", "static", "--", "./app", "--size", "3",
    )  # fmt: skip
    assert code == 0
    assert kept.read_bytes() == small_report()
    text = page.read_text()
    assert "scale" in text
    assert "dram__bytes_read.sum" in text
    args = (standin / "args.txt").read_text().split("\n")
    assert args[-3:] == ["./app", "--size", "3"]
    assert args[args.index("--metrics") + 1] == "dram__bytes_read.sum"
    includes = [args[i + 1] for i, arg in enumerate(args) if arg == "--nvtx-include"]
    assert includes == ["train@step", "train@step/"]


@pytest.mark.parametrize(
    ("play", "kind", "words"),
    [
        (
            "permission",
            "ToolchainError",
            ("ERR_NVGPUCTRPERM", "SYS_ADMIN", "NVreg_RestrictProfilingToAdminUsers=0"),
        ),
        ("busy", "ToolchainError", ("in use", "dcgmi")),
        ("late", "InputError", ("failed with 11", "--keep")),
        ("driver", "ToolchainError", ("driver do not fit", "nvidia-smi")),
        ("nothing", "InputError", ("no kernels were profiled", "NVTX")),
        ("silent", "InputError", ("no kernels were profiled",)),
        ("application", "InputError", ("application failed with 7", "cannot open weights.bin")),
        ("strange", "ToolchainError", ("ended with 9", "Something else happened")),
    ],
)
def test_every_failure_is_explained(
    standin: Path, monkeypatch: pytest.MonkeyPatch, play: str, kind: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("STANDIN_PLAYS", play)
    with pytest.raises(WarpglassError) as raised:
        ncu.profile("./app")
    assert type(raised.value).__name__ == kind
    for word in words:
        assert word in str(raised.value)


def test_a_late_failure_keeps_what_was_measured(standin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_PLAYS", "late")
    kept = standin / "kept.ncu-rep"
    with pytest.raises(InputError, match="failed with 11"):
        run("profile", "-o", str(standin / "page.html"), "--keep", str(kept), "--", "./app")
    assert kept.read_bytes() == small_report()
    assert not (standin / "page.html").exists()


def test_nvtx_paths_are_asked_for_as_ranges_of_both_kinds() -> None:
    made = command(
        ProfileRequest(
            ("./app",),
            nvtx=("a@outer/inner", "step/", "*/loop]", "a@step", r"x\/y", "p,q", "<default domain>@z"),
        ),
        Path("out"),
    )
    includes = [made[i + 1] for i, arg in enumerate(made) if arg == "--nvtx-include"]
    # One name may be either kind; a path, a closed one, brackets and lists are one kind already.
    assert includes == [
        "a@outer/inner", "step/", "*/loop]", "a@step", "a@step/", r"x\/y", r"x\/y/", "p,q", "z", "z/",
    ]  # fmt: skip
    assert made[made.index("--nvtx-include") - 1] == "--nvtx"


def test_python_collects_what_it_asserts(standin: Path) -> None:
    asked = executed() + dram()
    report = ncu.profile(["./app", "1"], asked, nvtx="train@step")
    args = (standin / "args.txt").read_text().split("\n")
    assert args[args.index("--metrics") + 1].split(",") == list(asked.names())
    one = report.single("train@step")
    assert asked.values(one)["warp instructions"] == 4096
    assert one["dram__bytes_read.sum"] == 1_000_000
    assert one["dram__bytes_read.sum"] < 1.5e6
    assert repr(one["dram__bytes_read.sum"]) == "dram__bytes_read.sum = 1,000,000 byte"
    with pytest.raises(UsageError, match=r"dram__bytes_read\.sum"):
        one["dram__bytes_read"]


def test_no_profiler_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("warpglass.ncu.run.find_tool", lambda _name: None)
    monkeypatch.setattr("warpglass.ncu.run.Path", lambda _path: tmp_path / "nothing")
    with pytest.raises(ToolchainError, match="was not found"):
        ncu.profile("./app")


@pytest.mark.parametrize(
    "request_",
    [
        ProfileRequest(()),
        ProfileRequest(("./app",), replay_mode="twice"),
        ProfileRequest(("./app",), target_processes="some"),
        ProfileRequest(("./app",), launch_count=0),
        ProfileRequest(("./app",), metrics=("a;b",)),
    ],
)
def test_requests_that_mean_nothing_are_refused(request_: ProfileRequest) -> None:
    with pytest.raises(UsageError):
        command(request_, Path("out"))


def test_the_command_has_what_was_asked() -> None:
    made = command(
        ProfileRequest(("./app", "x y"), kernel="regex:gemm", launch_count=3, replay_mode="application"),
        Path("out"),
    )
    assert made[0] == "ncu"
    assert made[made.index("--set") + 1] == "full"
    assert made[made.index("--kernel-name") + 1] == "regex:gemm"
    assert made[made.index("--launch-count") + 1] == "3"
    assert made[made.index("--replay-mode") + 1] == "application"
    assert made[-2:] == ["./app", "x y"]


def test_groups_have_names_and_labels() -> None:
    for group in (launch(), executed(), l1tex(), stalls(), dram(), tensor()):
        assert len(group.names()) == len(group.labels()) == len(group) > 3
        assert all("__" in name for name in group.names())
        assert not any(label.endswith(".sum") for label in group.labels())
        assert len(set(group.names())) == len(group)
    some = l1tex(("global",), ("load",))
    assert some.labels() == ("global load instructions", "global load requests", "global load sectors")
    assert len(some + some) == 3
    with pytest.raises(UsageError, match="constant"):
        l1tex(("constant",))
