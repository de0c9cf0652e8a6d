"""The command line: what it prints where, what it writes, and how it ends."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from warpglass import __version__, cuda
from warpglass.cli import app, expand_json, main
from warpglass.cli_console import printable
from warpglass.cli_report import failed_checks, gallery_units, wanted_words
from warpglass.errors import UsageError
from warpglass.inputs import toolchain
from warpglass.inputs.toolchain import find_tool


@pytest.fixture
def cli(capfd, tmp_path, monkeypatch):
    """Run a command in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return ended.value.code or 0, out, err

    return run


RUN = ("--kernel", "scale", "--arg", "0=100", "--arg", "1=float[100]:iota", "--arg", "2=float[100]:zeros")


def test_every_command_has_help(cli):
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert set(names) >= {"report", "render", "run", "list", "parse", "gallery", "examples", "doctor"}
    for name in names:
        code, out, _ = cli(name, "--help")
        assert code == 0
        assert "Usage: warpglass" in out
    code, out, _ = cli("--version")
    assert (code, out.strip()) == (0, f"warpglass {__version__}")


def test_report_has_the_documented_options(cli):
    _, out, _ = cli("report", "--help")
    wanted = (
        "--arch --gpu --kernel --grid --block --cluster --shared-bytes --arg --launch -I -D -std --nvcc-flag "
        "--compile-commands --title --notes --no-source --json --seed --max-warp-instructions --blocks "
        "--value-budget --expect --rtol --fail-on --charts --isa --output --open --quiet --verbose --time-ms"
    )
    for option in wanted.split():
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", out), option


def test_the_documentation_names_every_option(cli):
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    _, out, _ = cli("report", "--help")
    options = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", out)) - {"-h", "--help", "--std"}
    assert len(options) > 30
    assert [option for option in sorted(options) if not re.search(rf"`{option}(?![\w-])", text)] == []


def test_run_gives_memory_back(cli, scale, tmp_path):
    code, out, _ = cli("run", scale, *RUN, "--dump", "2=out.npy")
    assert code == 0
    assert "2 -> out.npy" in out
    assert np.load(tmp_path / "out.npy").tolist() == [2.0 * i for i in range(100)]


def test_run_as_json(cli, scale):
    code, out, _ = cli("run", scale, *RUN, "--json")
    assert code == 0
    value = json.loads(out)
    assert value["complete"]
    assert value["buffers"][0] is None
    assert value["buffers"][2]["values"][:3] == [0, 2, 4]
    assert value["counts"]["warp_executed"] > 0


def test_run_quietly(cli, scale, tmp_path):
    code, out, err = cli("run", scale, *RUN, "--dump", "2=o.npy", "-q")
    assert (code, out, err) == (0, "", "")
    assert (tmp_path / "o.npy").is_file()


def test_run_that_does_not_end(cli, scale):
    code, _, err = cli("run", scale, *RUN, "--max-warp-instructions", "3")
    assert code == 1
    assert "stopped" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--dump", "2"],
        ["--dump", "2=out.txt"],
        ["--dump", "7=out.npy"],
        ["--dump", "0=out.npy"],
        ["--dump", "2=/nonexistent/out.npy"],
        ["--grid", "0"],
        ["--block", "1025"],
        ["--grid", "x"],
        ["--arg", "9=1"],
        ["--kernel", "nothing"],
        ["--seed", "-1"],
    ],
)
def test_run_with_what_cannot_be_meant(cli, scale, arguments):
    code, out, err = cli("run", scale, *arguments)
    assert code == 2
    assert re.search("^error: ", err, re.M)
    assert out == ""


def test_list_and_parse_ptx(cli, scale):
    code, out, _ = cli("list", scale)
    assert code == 0
    assert "scale(int, float const*, float*)" in out
    assert "sm_80" in out
    code, out, _ = cli("parse", scale, "--json")
    assert code == 0
    model = json.loads(out)["model"]
    assert (model["node"], model["version"]) == ("Module", [8, 0])
    function = model["functions"][0]
    assert function["instructions"][0]["opcode"] == "ld.param.u32"
    assert function["instructions"][0]["operands"][0] == {"node": "Register", "name": "%r2"}


@pytest.mark.cuda
def test_list_cuda_and_cubin(cli, tmp_path):
    if find_tool("nvcc") is None:
        pytest.skip("nvcc is not here")
    (tmp_path / "k.cu").write_text("template <int N> __global__ void k(int *p) { *p = N; }\n"
                                   "void f() { k<3><<<1, 1>>>(0); }\n")  # fmt: skip
    code, out, _ = cli("list", "k.cu", "--arch", "sm_80", "--arch", "sm_90a", "--json")
    assert code == 0
    rows = json.loads(out)["kernels"]
    assert [(row["kernel"], row["arch"], row["line"]) for row in rows] == [
        ("k<3>(int*)", "sm_80", 1),
        ("k<3>(int*)", "sm_90a", 1),
    ]
    assert all(row["registers"] > 0 for row in rows)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "k.cubin").write_bytes(cuda.compile("k.cu").cubin)
    for name in ("cache/k.cubin", "cache"):
        code, out, _ = cli("list", name, "--json")
        assert code == 0
        (row,) = json.loads(out)["kernels"]
        assert (row["kernel"], row["arch"], row["registers"]) == ("k<3>(int*)", "sm_80", rows[0]["registers"])
    code, out, _ = cli("parse", "cache/k.cubin", "--json")
    assert code == 0
    assert json.loads(out)["model"]["functions"][0]["instructions"]


def test_list_and_parse_profiler_reports(cli, tmp_path):
    path = Path(__file__).parents[3] / "shared" / "inputs" / "ncu" / "gemm-sm86-2023.1.ncu-rep"
    if not path.is_file():
        pytest.skip("the shared profiler reports are not here")
    code, out, _ = cli("list", path)
    assert code == 0
    assert re.search(r"^esmm_shmem_multi\(.* sm_86 +56 ", out, re.M)
    code, out, _ = cli("parse", path, "--json")
    assert code == 0
    assert json.loads(out)["kind"] == "ncu-rep"
    csv = '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
    (tmp_path / "r.csv").write_text(csv + '"0","7","k(int)","gpu__time_duration.sum","ns","5"\n')
    code, out, _ = cli("list", "r.csv")
    assert code == 0
    assert re.search(r"^k\(int\) +unknown", out, re.M)


def test_list_without_a_toolchain(cli, scale, monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "find_tool", lambda name: None)
    code, out, err = cli("list", scale)
    assert code == 0
    assert re.search(r"scale\(.*unknown", out)
    assert "ptxas was not found" in err
    (tmp_path / "k.cu").write_text("__global__ void k(int *p) { *p = 1; }")
    code, out, err = cli("list", "k.cu")
    assert code == 0
    assert re.search(r"^k +unknown +unknown", out, re.M)


def test_report_without_a_toolchain(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "find_tool", lambda name: None)
    (tmp_path / "k.cu").write_text("__global__ void k(int *p) { *p = 1; }")
    code, out, err = cli("report", "k.cu", "-o", "k.html")
    assert code == 3
    assert "pip install" in err
    assert out == ""


def test_parse_cuda(cli, tmp_path):
    (tmp_path / "k.cu").write_text("__global__ void k(int *p) { *p = 1; }")
    code, out, _ = cli("parse", "k.cu", "--json", "model.json")
    assert (code, out) == (0, "")
    value = json.loads((tmp_path / "model.json").read_text())
    assert value["kind"] == "cuda"
    assert value["model"]["kernels"][0]["params"][0] == {
        "node": "CudaParam",
        "name": "p",
        "type": "int*",
        "pointer": True,
    }


@pytest.mark.parametrize("command", ["report", "run", "list", "parse", "render"])
def test_files_that_are_nothing(cli, command, tmp_path):
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "empty").write_bytes(b"")
    for name in ("missing.cu", "noise.bin", "empty", "."):
        code, out, err = cli(command, name)
        assert code == 2, (name, err)
        assert err.startswith("error: "), name
        assert out == ""


def test_usage_errors(cli):
    for arguments in (["report"], ["report", "--nope"], ["nothing"], ["report", "k.cu", "--seed", "x"]):
        code, out, err = cli(*arguments)
        assert (code, out) == (2, "")
        assert err


def test_report_render_and_json(cli, scale, tmp_path):
    code, out, _ = cli("report", scale, *RUN, "-o", "a.html", "--json", "a.json", "--charts", "static")
    assert code == 0
    assert out.startswith("a.html (")
    report = json.loads((tmp_path / "a.json").read_text())
    assert report["schema"] == "warpglass-report/1"
    code, _, _ = cli("render", "a.json", "-o", "b.html")
    assert code == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    code, out, _ = cli("report", scale, *RUN, "--json", "-")
    assert code == 0
    assert json.loads(out) == {**report, "options": json.loads(out)["options"]}
    code, _, _ = cli("report", "a.json", "-o", "a.md")
    assert code == 0
    assert "scale" in (tmp_path / "a.md").read_text()


def test_default_output_is_the_input_with_another_suffix(cli, scale, tmp_path):
    code, _out, _ = cli("report", scale, *RUN)
    assert code == 0
    assert (tmp_path / "scale.html").is_file()


def test_outputs_that_cannot_be(cli, scale):
    for name in ("out.pdf", "/nonexistent/out.html", "out"):
        code, _, err = cli("report", scale, "-o", name)
        assert code == 2
        assert err.startswith("error: ")


def test_checks_that_fail_end_with_one(cli, scale, tmp_path):
    short = [*RUN[:-1], "2=float[10]:zeros"]
    code, _, err = cli("report", scale, *short, "-o", "a.html", "--fail-on", "memcheck")
    assert code == 1
    assert "memcheck" in err
    assert (tmp_path / "a.html").is_file()
    code, _, _ = cli("report", scale, *short, "-o", "a.html", "--fail-on", "racecheck")
    assert code == 0
    code, _, _ = cli("report", scale, *short, "-o", "a.html")
    assert code == 0


def test_critical_findings_are_told_at_once(cli, scale):
    short = [*RUN[:-1], "2=float[10]:zeros"]
    code, out, err = cli("report", scale, *short, "-o", "a.html")
    assert code == 0
    assert out.startswith("a.html (")
    assert err.count("critical: ") >= 1
    assert "out of bounds" in err
    _, _, err = cli("report", scale, *short, "-o", "a.html", "-q")
    assert "critical" not in err
    _, _, err = cli("report", scale, *RUN, "-o", "a.html")
    assert "critical" not in err


def test_expectations(cli, scale, tmp_path):
    np.save(tmp_path / "good.npy", np.arange(100, dtype=np.float32) * 2)
    np.save(tmp_path / "bad.npy", np.arange(100, dtype=np.float32))
    name = "_Z5scaleiPKfPf_param_2"
    code, _, err = cli("report", scale, *RUN, "-o", "a.html", "--expect", f"{name}=good.npy")
    assert code == 0, err
    code, _, err = cli("report", scale, *RUN, "-o", "a.html", "--expect", f"{name}=bad.npy")
    assert code == 1
    assert "expected 1" in err
    assert re.search(r"failed: scale: expect, line \d+, thread \(\d+,0,0\), block \(0,0,0\): ", err)


def report_with(*findings, complete=True):
    run = {"complete": complete, "stopped": {"message": "no more budget"}, "findings": list(findings)}
    return {"launches": [{"kernel": {"bare": "k"}, "runs": [run]}]}


def test_what_fail_on_names():
    finding = {
        "kind": "racecheck",
        "severity": "warning",
        "category": "synchronisation",
        "message": "m",
        "line": 7,
    }
    report = report_with(finding)
    for word in ("racecheck", "RACECHECK", "warning", "info", "synchronisation", "any", "memcheck,racecheck"):
        assert failed_checks(report, (word,), False) == ["k: racecheck, line 7: m"], word
    for word in ("critical", "memcheck", "incomplete", ""):
        assert failed_checks(report, (word,), False) == [], word
    critical = {**finding, "severity": "critical"}
    assert len(failed_checks(report_with(critical), ("warning",), False)) == 1
    assert failed_checks(report_with(complete=False), ("incomplete",), False) == [
        "k: not run to the end: no more budget"
    ]
    assert failed_checks(report_with({"kind": "expect", "message": "m"}), (), True) == ["k: expect: m"]
    assert failed_checks({}, ("any",), True) == []


def test_every_kind_of_finding_can_be_asked_for():
    """A finding is made by a call with ``kind=`` and ``severity=``."""
    package = Path(__file__).parents[2] / "generator" / "warpglass"
    kinds, categories = set(), set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                words = {keyword.arg: keyword.value for keyword in node.keywords}
                if {"kind", "severity", "category"} <= set(words):
                    kinds |= {words["kind"].value} if isinstance(words["kind"], ast.Constant) else set()
                    value = words["category"]
                    categories |= {value.value} if isinstance(value, ast.Constant) else set()
    assert {"memcheck", "deadlock", "bank-conflict"} <= kinds
    assert wanted_words(sorted(kinds | categories))
    with pytest.raises(UsageError, match="memchek"):
        wanted_words(("memchek",))


def test_gallery(cli, scale, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "kernel.ptx").write_text(scale.read_text())
    (other / "warpglass.toml").write_text('[[launch]]\nkernel = "scale"\ngrid = 1\nblock = 32\n')
    code, _, _ = cli("report", scale, *RUN, "--json", "r.json")
    assert code == 0
    code, out, _ = cli("gallery", scale, other, "r.json", "-o", "site", "--charts", "static")
    assert code == 0
    assert "site/index.html (3 pages)" in out
    names = {path.name for path in (tmp_path / "site").iterdir()}
    assert "index.html" in names
    assert len(names) == 4


def test_gallery_keeps_the_good_pages(cli, scale, tmp_path):
    (tmp_path / "bad.ptx").write_text(".version 8.0\n.target sm_80\n")
    code, _out, err = cli("gallery", "bad.ptx", scale, "-o", "site", "--charts", "static")
    assert code == 2
    assert "error: " in err
    assert (tmp_path / "site" / "scale.html").is_file()


def test_gallery_of_folders(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.cu").write_text("x")
    (tmp_path / "b" / "warpglass.toml").write_text("x")
    (tmp_path / "c.ptx").write_text("x")
    (tmp_path / "notes.json").write_text("{}")
    units = gallery_units(tmp_path)
    assert [(name, path.parent.name, launch is not None) for name, path, launch in units] == [
        ("c", tmp_path.name, False),
        ("a", "a", False),
        ("b", "b", True),
    ]


def test_examples(cli, tmp_path):
    code, out, _ = cli("examples")
    assert code == 0
    assert re.search(r"^vector_add +\w", out, re.M)
    code, out, _ = cli("examples", "--json")
    names = [row["name"] for row in json.loads(out)["examples"]]
    assert len(names) >= 8
    code, out, _ = cli("examples", "transpose")
    assert code == 0
    assert (tmp_path / "transpose" / "kernel.cu").is_file()
    code, _, err = cli("examples", "transpose")
    assert code == 2
    assert "is there already" in err
    code, _, err = cli("examples", "../secret")
    assert code == 2
    assert "transpose" in err


def test_doctor(cli):
    code, out, _ = cli("doctor", "--json", "-")
    assert code == 0
    value = json.loads(out)
    assert [tool["name"] for tool in value["tools"]] == ["nvcc", "ptxas", "cuobjdump", "nvdisasm"]
    for tool in value["tools"]:
        found = find_tool(tool["name"])
        assert (tool["found"] is None) == (found is None)
    code, out, _ = cli("doctor")
    assert code == 0
    assert all(name in out for name in ("nvcc", "ptxas", "cuobjdump", "nvdisasm", "g++"))


def test_a_defect_is_one_message(cli, scale, monkeypatch):
    import warpglass.cli_inspect

    def broken(*arguments):
        raise ValueError("oops")

    monkeypatch.setattr(warpglass.cli_inspect, "list_file", broken)
    code, out, err = cli("list", scale)
    assert (code, out) == (2, "")
    assert "internal error: ValueError: oops" in err


def test_json_without_a_value():
    assert expand_json(["list", "a", "--json"]) == ["list", "a", "--json", "-"]
    assert expand_json(["list", "--json", "-q", "a"]) == ["list", "--json", "-", "-q", "a"]
    assert expand_json(["list", "--json", "-", "a"]) == ["list", "--json", "-", "a"]
    assert expand_json(["list", "--json", "x.json"]) == ["list", "--json", "x.json"]


def test_hostile_names_do_not_reach_the_terminal(cli, tmp_path):
    assert printable("a\x1b[31mb\u202ec\nd\te") == "a\\u001b[31mb\\u202ec\nd\te"
    code, _, err = cli("list", "\x1b[31mred[bold].cu")
    assert code == 2
    assert "\x1b" not in err
    assert "[bold]" in err


def test_a_closed_pipe_is_quiet(scale):
    command = [sys.executable, "-m", "warpglass.cli", "parse", str(scale)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()


def test_the_package_is_a_program_too():
    done = subprocess.run(
        [sys.executable, "-m", "warpglass", "list", "missing.cu"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing.cu" in done.stderr


@pytest.mark.cuda
def test_an_assertion_of_many_threads_is_told_briefly(cli, tmp_path):
    path = tmp_path / "failing.cu"
    path.write_text(
        "#include <cassert>\n__global__ void k(int *p) { assert(p[threadIdx.x] == 1); }\n"
        "void host() { k<<<2, 64>>>(0); }\n"
    )
    code, out, _ = cli("run", path)
    assert code == 1
    assert sum("Assertion" in line for line in out.splitlines() if line.startswith("| ")) == 3
    assert "| ... 125 more threads fail these assertions" in out


BROKEN = """\
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[63 - threadIdx.x];
}
void host() {
    float *in, *out;
    cudaMalloc(&in, 63 * sizeof(float));
    k<<<1, 64>>>(in, out);
}
"""


@pytest.mark.cuda
@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_run_names_both_sides_of_a_race_by_source_line(cli, tmp_path, isa):
    path = tmp_path / "broken.cu"
    path.write_text(BROKEN)
    code, out, _ = cli("run", path, "--isa", isa)
    assert code == 0
    assert "memcheck (broken.cu:3): global read of 4 bytes is out of bounds, 0 bytes after in of 252" in out
    assert "racecheck (broken.cu:4)" in out
    assert "another thread writes at broken.cu:3" in out
