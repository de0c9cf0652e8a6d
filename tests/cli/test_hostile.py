"""Inputs and options that mean harm: one clear error or a marked result, in little time and memory."""

import pytest

import warpglass
from warpglass import ptx
from warpglass.api import make_report
from warpglass.cli_options import resolve_archs
from warpglass.errors import ExecutionError, InputError, LaunchError, ParseError, UsageError
from warpglass.launchfile import plan_launches, select_kernels
from warpglass.machine import execute
from warpglass.machine.launch import Launch
from warpglass.ncu.exports import parse_csv
from warpglass.options import ReportOptions
from warpglass.patterns import compile_pattern
from warpglass.report.model import Report

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.mark.parametrize(
    "text", ["(a+)+$", "(a*)*", "((ab)*c*)+", "(?:x{1,}y)*?", "(a|b+)+", "(?=(a+)+)", "(a{2,99})*"]
)
def test_expressions_that_take_for_ever(text):
    with pytest.raises(UsageError, match="repeats a repetition"):
        compile_pattern(text, "--metric")
    module = ptx.parse(HEAD + ".visible .entry " + "a" * 60 + "b() { ret; }")
    with pytest.raises(LaunchError):
        select_kernels(module.functions, text)


def test_expressions_that_are_fine():
    for text in ("dram__", "^a.*b.*$", "(a|b)+c+", "(ab){3}x*", "[a-z]+_[0-9]+", "a++"):
        assert compile_pattern(text, "--metric").pattern == text
    for text in ("(", "a{99999999999}", "x" * 2000):
        with pytest.raises(UsageError):
            compile_pattern(text, "--metric")


def test_more_parameters_than_a_gpu_takes():
    for params in (".param .align 8 .b8 p[4294967295]", ",".join(f".param .u64 p{i}" for i in range(5000))):
        module = ptx.parse(f"{HEAD}.visible .entry k({params}) {{ ret; }}")
        with pytest.raises(LaunchError, match="bytes of parameters; CUDA allows 32764"):
            plan_launches(module.functions, ReportOptions(), None, text=module.text)
        with pytest.raises(LaunchError, match="bytes of parameters"):
            execute(module, "k", Launch((1, 1, 1), (1, 1, 1)))


def test_more_local_memory_than_a_thread_has():
    body = "{ .local .b8 s[2147483647]; .reg .b32 %r<4>; st.local.b32 [s], %r1; ret; }"
    module = ptx.parse(f"{HEAD}.visible .entry k() {body}")
    with pytest.raises(ExecutionError, match="k declares 2147483664 bytes of local memory a thread"):
        execute(module, "k", Launch((1, 1, 1), (1, 1, 1)))


def test_columns_of_statements_on_one_line():
    text = (
        f"{HEAD}.visible .entry k() {{ .reg .b32 %r<2>;\n  add.u32 %r1,%r1,1; add.u32 %r1,%r1,2;\n\n ret; }}"
    )
    instructions = ptx.parse(text).kernels[0].instructions
    assert [(i.line, i.column) for i in instructions] == [(5, 3), (5, 22), (7, 2)]


BODIES = {
    "nothing": ("", ["ret"]),
    "no return": ("mov.u32 %r1, 1;", ["mov.u32", "ret"]),
    "a call": ("call f; mov.u32 %r1, 1;", ["call", "mov.u32", "ret", "mov.u32", "ret"]),
}


@pytest.mark.parametrize(("body", "opcodes"), BODIES.values(), ids=BODIES.keys())
def test_functions_that_end_without_return(tmp_path, body, opcodes):
    path = tmp_path / "k.ptx"
    function = ".func f() { .reg .b32 %r<3>; mov.u32 %r1, 2; }\n"
    path.write_text(f"{HEAD}{function}.visible .entry k() {{ .reg .b32 %r<3>; {body} }}")
    run = make_report([path], ReportOptions(isa="ptx")).data["launches"][0]["runs"][0]
    assert run["complete"]
    assert run["code"]["instructions"]["opcode"] == opcodes
    assert run["profile"]["warp_executed"] == [16] * len(opcodes)
    covered = [pc for block in run["code"]["blocks"] for pc in range(block["start"], block["end"])]
    assert covered == list(range(len(opcodes)))


def test_more_blocks_than_json_can_count(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(f"{HEAD}// warpglass: grid=2147483647,65535,65535\n.visible .entry k() {{ trap; }}")
    report = make_report([path], ReportOptions(isa="ptx", max_warp_instructions=100))
    assert report.data["launches"][0]["runs"][0]["blocks"]["total"] == float(2147483647 * 65535 * 65535)
    assert "</html>" in report.to_html(charts="static")


def test_a_table_with_too_many_columns():
    header = ",".join(f'"c{i}"' for i in range(100_001))
    with pytest.raises(ParseError, match="100003 columns"):
        parse_csv(f'"ID","Kernel Name",{header}\n0,k\n')


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "warpglass-report/1", "launches": ' + "[" * 100_000,
        '{"schema": "warpglass-report/1", "launches": ' + "9" * 5000 + "}",
        '{"schema": "warpglass-report/1", "launches": NaN}',
        '{"schema": "warpglass-report/1", "__proto__": {"polluted": 1}}',
        "[1, 2]",
        '{"a": 1}\0',
    ],
)
def test_reports_that_are_none(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"r\.json: not ") as caught:
        Report.load(path)
    assert len(str(caught.value)) < 300


def test_a_file_outside_is_refused_once(tmp_path):
    module = ptx.parse(f"{HEAD}.visible .entry k(.param .u64 .ptr .global x) {{ ret; }}")
    launches = tmp_path / "warpglass.toml"
    launches.write_text('[[launch]]\nargs = { x = "../../outside.npy" }\n')
    with pytest.raises(LaunchError) as caught:
        plan_launches(module.functions, ReportOptions(launch_file=launches), None, text=module.text)
    assert caught.value.message == (
        "argument x: '../../outside.npy' lies outside the folder of warpglass.toml"
    )


@pytest.mark.parametrize("name", ["sm_999", "sm_99", "compute_00", "sm_42a"])
def test_architectures_that_do_not_exist(name):
    with pytest.raises(UsageError, match="no such architecture") as caught:
        resolve_archs([name])
    assert "sm_80, " in str(caught.value.hint)
    assert resolve_archs(["compute_90a", "sm_88", "sm_90a"]) == ("sm_90a", "sm_88")


def float_argument(kind, value):
    text = f"{HEAD}.visible .entry k(.param .{kind} f) {{ ret; }}"
    module = ptx.parse(text)
    (planned,) = plan_launches(module.functions, ReportOptions(args=(f"f={value}",)), None, text=text)
    return planned.launch.args["f"].value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("f32", "1e99"), ("f32", "-3.4028236e38"), ("f32", "1" + "0" * 40), ("f32", "1e400"),
        ("f64", "1e400"), ("f16", "65520"), ("bf16", "3.3962e38"),
    ],
)  # fmt: skip
def test_floats_that_the_parameter_cannot_hold(kind, value):
    with pytest.raises(LaunchError, match=r"does not fit.*write inf"):
        float_argument(kind, value)


def test_floats_that_the_parameter_holds():
    assert float_argument("f32", "inf") == float("inf")
    assert float_argument("f32", "-inf") == float("-inf")
    assert float_argument("f32", "3.4028235e38f") == 3.4028235e38
    assert float_argument("f64", "1e99") == 1e99
    assert float_argument("f16", "65519") == 65519


def test_blocks_that_the_grid_lacks(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(f"{HEAD}// warpglass: grid=4\n.visible .entry k() {{ ret; }}")

    def told(*ranges):
        report = make_report([path], ReportOptions(isa="ptx", blocks=ranges))
        return [text for text in report.data["assumptions"] if "--blocks" in text]

    assert told((7, 9)) == [
        "warning: --blocks 7-9 goes beyond the 4 blocks of k, 0 to 3: no block's steps are kept"
    ]
    assert told((0, 1), (9, 9)) == ["warning: --blocks 9 goes beyond the 4 blocks of k, 0 to 3"]
    assert told((0, 3)) == told((0, 2**63 - 1)) == []
    assert ReportOptions(blocks=((0, 2**63 - 1),)).blocks_note(65, "k") == (
        "--blocks: the steps of 64 blocks of k are kept at most, of blocks 0 to 63"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_sources_that_are_not_utf8(tmp_path, encoding):
    path = tmp_path / "k.cu"
    path.write_bytes("__global__ void k() {}\n".encode(encoding))
    with pytest.raises(InputError, match=r"k\.cu is UTF-(16|32)") as caught:
        make_report([path], ReportOptions())
    assert "UTF-8" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["/dev/zero", ".", "no-such-file.ptx"])
def test_run_of_what_is_no_file(name):
    """A device has no end: Python's way in reads as carefully as the command line's."""
    with pytest.raises(InputError, match=r"is a device|is a folder|there is no file"):
        warpglass.run(name)
