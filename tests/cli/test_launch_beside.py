"""A ``warpglass.toml`` beside an input: used, a neighbour's, or broken and said so."""

import json
from pathlib import Path

import pytest

from cli.conftest import SCALE
from warpglass import make_report
from warpglass.cli import main
from warpglass.errors import LaunchError
from warpglass.options import ReportOptions


def folder(tmp_path: Path, toml: str) -> Path:
    (tmp_path / "warpglass.toml").write_text(toml)
    path = tmp_path / "scale.ptx"
    path.write_text(SCALE)
    return path


BROKEN = {
    "no TOML": ("[[launch]\ngrid = 3", "line 1"),
    "an unknown key": ('[[launch]]\ngird = 3\nkernel = "scale"', "gird"),
    "a grid that cannot be": ("[[launch]]\ngrid = [0]", "grid"),
    "an argument that is none": ("[[launch]]\nargs = { nothing = 3 }", "nothing"),
    "a file elsewhere": ('[[launch]]\nargs = { 1 = "../secret.npy" }', "secret"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_costs_a_warning(tmp_path, capfd, monkeypatch, name):
    text, word = BROKEN[name]
    path = folder(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(path), "-o", "x.json"])
    assert not ended.value.code
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1
    assert lines[0].startswith("warning: warpglass.toml beside scale.ptx is not used: ")
    assert word in lines[0]
    data = make_report([path]).data
    assert lines[0] in data["assumptions"]
    assert data["launches"][0]["launch"]["grid"] == [2, 1, 1]  # what the comment in the file says


def test_it_is_an_error_where_it_was_asked_for(tmp_path):
    path = folder(tmp_path, BROKEN["an unknown key"][0])
    with pytest.raises(LaunchError, match="gird"):
        make_report([path], ReportOptions(launch_file=tmp_path / "warpglass.toml"))


def test_a_neighbours_is_left_alone(tmp_path):
    path = folder(tmp_path, '[[launch]]\nkernel = "other"\ngrid = 7')
    data = make_report([path]).data
    assert "warpglass.toml beside scale.ptx names none of its kernels" in data["assumptions"]
    assert not any(text.startswith("warning") for text in data["assumptions"])
    assert data["launches"][0]["launch"]["grid"] == [2, 1, 1]


def test_a_good_one_is_used(tmp_path):
    data = make_report([folder(tmp_path, '[[launch]]\nkernel = "scale"\ngrid = 3')]).data
    assert data["launches"][0]["launch"]["grid"] == [3, 1, 1]
    assert "launches come from warpglass.toml beside scale.ptx" in data["assumptions"]


def test_a_mistake_on_the_command_line_is_not_the_files(tmp_path):
    path = folder(tmp_path, '[[launch]]\nkernel = "scale"\ngrid = 3')
    with pytest.raises(LaunchError, match="nosuch"):
        make_report([path], ReportOptions(kernel="nosuch"))


def test_run_takes_the_first_of_its_launches(tmp_path, capfd, monkeypatch):
    """``run`` executes one launch: the first table of the kernel, and says that there are more."""
    table = '[[launch]]\nkernel = "scale"\ngrid = {}\nblock = 32\nlabel = "{}"\n'
    path = folder(tmp_path, table.format(3, "small") + table.format(9, "large"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(path), "--json", "-"])
    assert not ended.value.code
    out, err = capfd.readouterr()
    assert json.loads(out)["blocks_executed"] == 3
    assert "launches come from warpglass.toml beside scale.ptx" in err
    assert "the first of 2 launches is run, small; report executes all" in err
