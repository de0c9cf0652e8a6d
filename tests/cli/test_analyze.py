"""``analyze``, ``occupancy`` and ``bench``: what they print and write, and how they refuse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.conftest import SCALE
from warpglass.bench import harness, read_times, unfilled
from warpglass.cli import main
from warpglass.cli_analyze import parse_size
from warpglass.errors import InputError, UsageError
from warpglass.report.analysis_markdown import MOST_CHARACTERS, analysis_markdown
from warpglass.report.model import Report
from warpglass.report.sarif import to_sarif

REPORTS = Path(__file__).resolve().parents[3] / "shared" / "inputs" / "ncu"
needs_reports = pytest.mark.skipif(not REPORTS.is_dir(), reason="the profiler reports are not here")

HEADINGS = (
    "Baseline", "Roofline", "Occupancy", "Compute/load ratio", "SASS mix", "Shared-memory cliff",
    "Recommended optimisations, ranked",
)  # fmt: skip


@pytest.fixture
def cli(capfd, tmp_path, monkeypatch):
    """Run a command in a folder with one kernel: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("scale.ptx").write_text(SCALE)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return ended.value.code or 0, out, err

    return run


def test_analyze_prints_verdict_table_and_advice(cli) -> None:
    code, out, _ = cli(
        "analyze", "scale.ptx", "--grid", "2", "--time-ms", "0.01", "--problem", "elementwise:100,inputs=1"
    )
    assert code == 0
    assert "bound:" in out
    assert "Unique bytes" in out
    # 100 operations in 10 microseconds.
    assert "0.01 GFLOP/s" in out
    # 800 bytes (100 floats read, 100 written) in 10 microseconds.
    assert "0.08 GB/s" in out
    assert "busy:" in out


def test_unknown_says_what_would_give_it(cli) -> None:
    _, out, _ = cli("analyze", "scale.ptx")
    assert "--time-ms, a profiler's report, or warpglass bench would give it" in out
    _, out, _ = cli("analyze", "scale.ptx", "--markdown")
    assert "Unknown: the registers of the kernel are not known" in out


def test_markdown_has_its_headings(cli) -> None:
    code, out, _ = cli("analyze", "scale.ptx", "--markdown")
    assert code == 0
    assert [h for h in HEADINGS if f"## {h}\n" not in out] == []
    assert len(out) <= MOST_CHARACTERS


def test_markdown_of_many_launches_starts_with_all_of_them() -> None:
    """What is cut are details: verdict and foremost advice of each launch come before them."""
    advice = [{"title": "Launch more blocks", "gain": "2.00 to 3.00 times faster"}]
    said = {"text": "Latency-bound: waiting takes longest, 9 cycles an SM; next is nothing", "evidence": ""}
    sections = [
        {"id": "verdict", "title": "", "data": {"launches": [said] * 150}},
        {"id": "advice", "title": "", "data": {"launches": [advice] * 150}},
    ]
    launches = [{"kernel": {"bare": f"k{i}"}} for i in range(150)]
    text = analysis_markdown({"launches": launches, "sections": sections})
    listed = text.split("## Baseline", 1)[0]
    assert "| `k0` |" in listed
    assert "| `k99` |" in listed
    assert "Latency\\-bound: waiting takes longest, 9 cycles an SM |" in listed
    assert "Launch more blocks \\(2.00 to 3.00 times faster\\)" in listed
    assert "and 50 more" in listed
    assert len(text) <= MOST_CHARACTERS


def test_markdown_is_cut() -> None:
    row = ["x" * 90] * 3
    block = {"type": "table", "caption": "many", "columns": ["a", "b", "c"], "rows": [row] * 2000}
    section = {"id": "occupancy", "title": "", "data": {"launches": [{"blocks": [block]}]}}
    data = {"launches": [{"kernel": {"bare": "k"}}], "sections": [section]}
    text = analysis_markdown(data)
    assert len(text) <= MOST_CHARACTERS
    assert text.endswith("the page and the JSON hold the rest.\n")


def test_json_holds_the_analysis(cli) -> None:
    code, out, _ = cli("analyze", "scale.ptx", "--json", "-")
    value = json.loads(out)
    assert code == 0
    launch = value["launches"][0]
    assert launch["verdict"]["evidence"] == "modelled"
    matrix = launch["bottleneck"]["blocks"][0]["rows"]
    assert len(matrix) == 7
    assert {row[1] for row in matrix} <= {"met", "not met", "unknown"}


def test_sarif_is_written(cli) -> None:
    code, _, _ = cli("analyze", "scale.ptx", "--sarif", "out.sarif")
    value = json.loads(Path("out.sarif").read_text())
    assert code == 0
    assert value["version"] == "2.1.0"
    assert value["runs"][0]["tool"]["driver"]["name"] == "warpglass"


def test_sarif_points_at_lines() -> None:
    advice = {
        "id": "padding",
        "title": "Pad",
        "text": "4 bytes",
        "severity": "critical",
        "source": 0,
        "line": 7,
    }
    data = {
        "launches": [{"kernel": {"bare": "k"}, "runs": []}], "sources": [{"id": 0, "name": "k.cu"}],
        "sections": [{"id": "advice", "title": "", "data": {"launches": [[advice]]}}],
    }  # fmt: skip
    (result,) = json.loads(to_sarif(data, {"k.cu": "src/k.cu"}))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/k.cu", 7)
    assert (result["ruleId"], result["level"]) == ("warpglass/padding", "error")


def test_sarif_leaves_out_lines_of_listings_that_a_tool_made() -> None:
    """No repository holds the listing of a report's cubin; one that is an input may stand in one."""
    advice = {"id": "tail", "title": "Tail", "text": "2 waves", "severity": "info", "source": 0, "line": 7}
    data: dict[str, Any] = {
        "launches": [{"kernel": {"bare": "k"}, "runs": []}],
        "inputs": [{"id": 0, "name": "k.ncu-rep"}],
        "sources": [{"id": 0, "name": "k.ncu-rep.sass", "language": "sass"}],
        "sections": [{"id": "advice", "title": "", "data": {"launches": [[advice]]}}],
    }
    assert json.loads(to_sarif(data))["runs"][0]["results"] == []
    data["inputs"] = [{"id": 0, "name": "k.ncu-rep.sass"}]
    assert len(json.loads(to_sarif(data))["runs"][0]["results"]) == 1


@needs_reports
def test_a_profiled_launch_in_the_terminal(cli) -> None:
    """Shares of units and of waits are measured, in per cent; nothing is a cycle that was not counted."""
    code, out, _ = cli("analyze", str(REPORTS / "selfjoin-sm80-2022.4.ncu-rep"))
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("busy: pipe fp64") and "27.3 %" in line]
    assert row.split()[-1] == "measured"
    assert any(line.startswith("wait: long scoreboard") and "45.2 %" in line for line in out.splitlines())
    assert not any("cycles" in line for line in out.splitlines() if line.startswith(("busy:", "wait:")))


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
MESSAGE = closed(["text"], text=TEXT)
LOCATION = closed(
    ["physicalLocation"],
    id={"type": "integer", "minimum": 0},
    physicalLocation=closed(
        ["artifactLocation", "region"],
        artifactLocation=closed(
            ["uri"], uri={"type": "string", "pattern": "^[A-Za-z0-9/:@!$&'()*+,;=~%._-]+$"}
        ),
        region=closed(["startLine"], startLine={"type": "integer", "minimum": 1}),
    ),
)
#: What SARIF 2.1.0 (OASIS standard, sections 3.13, 3.14, 3.18, 3.19, 3.27 to 3.30, 3.49) says of the objects
#: used here.
SARIF = {
    **closed(
        ["version", "runs"],
        **{"$schema": TEXT},
        version={"const": "2.1.0"},
        runs={
            "type": "array",
            "items": closed(
                ["tool", "results"],
                tool=closed(
                    ["driver"],
                    driver=closed(
                        ["name"],
                        name=TEXT,
                        version=TEXT,
                        rules={
                            "type": "array",
                            "uniqueItems": True,
                            "items": closed(
                                ["id"],
                                id=TEXT,
                                name=TEXT,
                                shortDescription=MESSAGE,
                                properties={"type": "object"},
                            ),
                        },
                    ),
                ),
                results={
                    "type": "array",
                    "items": closed(
                        ["message"],
                        ruleId=TEXT,
                        level={"enum": ["none", "note", "warning", "error"]},
                        message=MESSAGE,
                        locations={"type": "array", "items": LOCATION},
                        relatedLocations={"type": "array", "items": LOCATION, "uniqueItems": True},
                    ),
                },
            ),
        },
    )
}


def test_sarif_keeps_the_standards_rules() -> None:
    advice = [
        {"id": "padding", "title": "Pad", "text": "4 bytes", "severity": "critical", "source": 0, "line": 7,
         "lines": [[0, 7], [0, 9], [1, 2]]},
        {"id": "tail", "title": "Even out", "text": "no line of its own", "severity": "info"},
    ]  # fmt: skip
    finding = {
        "kind": "memcheck",
        "severity": "warning",
        "message": "out\u202e of bounds",
        "source": 1,
        "line": 0,
    }
    run = {"isa": "ptx", "complete": True, "findings": [finding, {**finding, "line": 3}]}
    data = {
        "tool": {"name": "warpglass", "version": "0.1.0"},
        "launches": [{"kernel": {"bare": "k"}, "runs": [run], "primary": 0}],
        "sources": [{"id": 0, "name": "my kernel.cu"}, {"id": 1, "name": "größe#1.cuh"}],
        "sections": [{"id": "advice", "title": "", "data": {"launches": [advice]}}],
    }
    value = json.loads(to_sarif(data))
    jsonschema.Draft202012Validator(SARIF).validate(value)
    padding, memcheck = value["runs"][0]["results"]
    assert padding["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20kernel.cu"
    assert [r["physicalLocation"]["region"]["startLine"] for r in padding["relatedLocations"]] == [9, 2]
    assert memcheck["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    known = {rule["id"] for rule in value["runs"][0]["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in value["runs"][0]["results"]} <= known


def test_expectations_in_percent(cli) -> None:
    gpu = ("--gpu", "A100 SXM4 40GB")
    code, out, _ = cli("analyze", "scale.ptx", *gpu, "--expect", "70%", "--time-ms", "1", "--markdown")
    assert code == 0
    assert "Expected: 70% of the roof" in out
    assert "It is not met." in out
    plain = cli("analyze", "scale.ptx", *gpu, "--expect", "70%", "--time-ms", "1")[1]
    assert "Expected: 70% of the roof" in plain
    assert cli("analyze", "scale.ptx", "--expect", "170%")[0] == 2
    assert cli("analyze", "scale.ptx", "--problem", "dance:1")[0] == 2


def test_occupancy_of_the_command_line(cli) -> None:
    code, out, _ = cli("occupancy", "--arch", "sm_86", "--block", "256", "--regs", "80", "--shared", "54K")
    assert code == 0
    # 55,296 bytes and the reserved 1,024: one block of 102,400.
    assert "1 block an SM, 8 of 48 warps (16.7%); limited by shared memory" in out
    assert "5,120 fewer bytes of shared memory a block give 2 blocks an SM." in out
    assert "has to opt in" in out
    full = json.loads(cli("occupancy", "--arch", "sm_80", "--block", "256", "--regs", "32", "--json", "-")[1])
    assert (full["blocks"], full["limiters"]) == (8, [])
    assert cli("occupancy", "--arch", "sm_80", "--block", "2000")[0] == 2
    assert cli("occupancy", "--arch", "sm_99", "--block", "32")[0] == 2
    assert cli("occupancy", "--arch", "sm_90", "--block", "32", "--barriers", "17")[0] == 2


def test_sizes() -> None:
    assert parse_size("54K") == 55296
    assert parse_size("1.5KiB") == 1536
    assert parse_size("49152") == 49152
    for bad in ("", "K", "-1", "1.3", "1e9", "9" * 30):
        with pytest.raises(UsageError):
            parse_size(bad)


LAUNCH = {
    "kernel": {"demangled": "void ns::scale<float, 4>(float*, int)", "bare": "scale"},
    "launch": {"grid": [2, 1, 1], "block": [64, 1, 1], "cluster": [1, 1, 1], "shared_bytes": 65536, "args": [
        {"name": "x", "parameter": "p0", "type": "float*", "kind": "buffer", "fill": "iota"},
        {"name": "n", "parameter": "p1", "type": "int", "kind": "scalar", "value": 128},
    ]},
    "runs": [{"buffers": [
        {"name": "x", "size": 512, "dtype": "float32", "given": True, "touched": [0, 512]},
    ]}],
}  # fmt: skip


def test_a_harness_says_the_launch() -> None:
    text = harness(LAUNCH, "kernel.cu")
    assert '#include "kernel.cu"' in text
    assert "ns::scale<float, 4><<<dim3(2, 1, 1), dim3(64, 1, 1), 65536>>>" in text
    assert "warpglass_float32(512ull, warpglass_iota)" in text
    assert "MaxDynamicSharedMemorySize, 65536" in text


@pytest.mark.parametrize(
    "broken",
    [
        {"runs": []},
        {"launch": {**LAUNCH["launch"], "cluster": [2, 1, 1]}},
        {"kernel": {"demangled": 'k"); system("x', "bare": "k"}},
        {
            "launch": {
                **LAUNCH["launch"],
                "args": [{"name": "s", "parameter": "p", "type": "S", "kind": "scalar", "value": "00"}],
            }
        },
    ],
)
def test_what_no_harness_can_say(broken) -> None:
    with pytest.raises(InputError):
        harness({**LAUNCH, **broken}, "kernel.cu")
    with pytest.raises(InputError):
        harness(LAUNCH, 'a".cu')


@pytest.mark.parametrize(
    ("dtype", "fill", "call"),
    [
        ("float32", "default", "warpglass_float32(512ull, warpglass_drawn)"),
        ("float16", "ones", "warpglass_float16(512ull, warpglass_ones)"),
        ("uint8", "random", "warpglass_8(512ull, warpglass_drawn)"),
        ("int64", "default", "warpglass_64(512ull, warpglass_zeros)"),
        ("int32", "data.npy", "warpglass_32(512ull, warpglass_zeros)"),
    ],
)
def test_buffers_hold_what_the_executed_launch_had(dtype: str, fill: str, call: str) -> None:
    """A histogram of zeros is another benchmark than one of random bytes."""
    argument = {"name": "x", "parameter": "p0", "type": "T*", "kind": "buffer", "fill": fill}
    buffer = {"name": "x", "size": 512, "dtype": dtype, "given": True, "touched": [0, 512]}
    launch = {
        **LAUNCH,
        "launch": {**LAUNCH["launch"], "args": [argument]},
        "runs": [{"buffers": [buffer]}],
    }
    assert call in harness(launch, "kernel.cu")
    assert unfilled(launch) == (("x",) if fill == "data.npy" else ())


def test_what_points_to_pointers_is_refused() -> None:
    argument = {"name": "x", "parameter": "p0", "type": "float**", "kind": "buffer", "fill": "default"}
    with pytest.raises(InputError, match="points to pointers"):
        harness({**LAUNCH, "launch": {**LAUNCH["launch"], "args": [argument]}}, "kernel.cu")


def test_times_are_read() -> None:
    assert read_times('noise\n{"median_ms": 0.5, "least_ms": 0.4}\n')["median_ms"] == 0.5
    for bad in ("", "{", '{"median_ms": "x"}'):
        with pytest.raises(InputError):
            read_times(bad)


@pytest.mark.cuda
@pytest.mark.slow
def test_bench_writes_what_compiles(cli, tmp_path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")
    Path("k.cu").write_text(
        "__global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }\n"
    )
    code, out, _ = cli(
        "bench", "k.cu", "--grid", "1", "--block", "64", "--arg", "x=float[64]:ones", "--write-only"
    )
    assert code == 0
    assert "not run: --write-only" in out
    from warpglass.inputs.process import run_tool

    built = run_tool(
        ["nvcc", "-c", "-o", str(tmp_path / "k.o"), "k.bench.cu"], timeout=120, output_limit=1 << 20
    )
    assert built.returncode == 0, built.error_text


def test_sections_are_drawn_from_the_json_alone(cli) -> None:
    code, out, _ = cli("report", "scale.ptx", "--json", "-")
    assert code == 0
    page = Report.from_json(out).to_html(charts="static")
    for section in ("verdict", "bottleneck", "roofline", "occupancy"):
        assert f'id="sec-{section}"' in page
    assert "fig-lines" in page


@pytest.mark.cuda
def test_machine_code_without_types_says_what_its_pointers_need(cli, tmp_path) -> None:
    """An image does not say whether eight bytes point: unknown, never 0, until a buffer is given."""
    from warpglass.inputs.process import run_tool
    from warpglass.inputs.toolchain import require_tool

    Path("k.cu").write_text(
        'extern "C" __global__ void twice(float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n'
    )
    made = [str(require_tool("nvcc").path), "-cubin", "-arch=sm_80", "-o", "k.cubin", "k.cu"]
    assert run_tool(made, timeout=120, output_limit=1 << 20).returncode == 0
    launch = ("analyze", "k.cubin", "--grid", "1", "--block", "64", "--json", "-")

    def unique(*arguments: str) -> dict[str, object]:
        code, out, err = cli(*launch, *arguments)
        assert code == 0, err
        numbers = json.loads(out)["launches"][0]["roofline"]["blocks"][0]["numbers"]
        return next(n for n in numbers if n["name"] == "Unique bytes")

    lost = unique()
    assert lost["value"] is None
    assert "unmapped addresses" in str(lost["why_unknown"])
    assert unique("--arg", "0=float[64]", "--arg", "1=float[64]")["value"] == 2 * 64 * 4
