"""``warpglass counters``: the profiler's names, values of a launch, and reasons where nothing is known."""

import json
import shutil
from pathlib import Path

import pytest

from warpglass.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vector_add"

pytestmark = pytest.mark.cuda


@pytest.fixture
def cli(capfd, tmp_path, monkeypatch):
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is missing")
    shutil.copytree(EXAMPLE, tmp_path / "vector_add")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return ended.value.code or 0, out, err

    return run


def test_counters_of_a_launch_as_table_and_json(cli):
    source = "vector_add/kernel.cu"
    code, out, _ = cli("counters", source, "--json", "counters.json")
    launches = json.loads(Path("counters.json").read_text())["launches"]
    assert code == 0
    assert launches
    for launch in launches:
        numbers = {one["name"]: one for one in launch["counters"]}
        x, y, z = launch["launch"]["grid"]
        a, b, c = launch["launch"]["block"]
        warps = x * y * z * -(-a * b * c // 32)
        executed = numbers["smsp__inst_executed.sum"]
        assert executed["value"] == sum(row["warp"] for row in launch["opcode_counts"])
        assert executed["value"] >= warps
        assert executed["evidence"] == "executed"
        unknown = [one for one in launch["counters"] if one["value"] is None]
        assert unknown, "no source tells the pipes of sm_80"
        assert all(one["why_unknown"] for one in unknown)
        assert numbers["smsp__inst_executed_op_global_ld.sum"]["value"] > 0
    assert "smsp__inst_executed.sum" in out
    assert "unknown" in out
    assert "sass__inst_executed_per_opcode LDG" in out


def test_counters_need_machine_code(cli):
    Path("x.ptx").write_text(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n", encoding="utf-8"
    )
    code, out, err = cli("counters", "x.ptx")
    assert code == 2
    assert not out
    assert "no machine code" in err
