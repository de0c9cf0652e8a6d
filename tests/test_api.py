"""From inputs to a report: what a user gets for ordinary, odd and bad inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warpglass
from warpglass.cli import main
from warpglass.errors import CompileError, InputError, LaunchError, ParseError
from warpglass.options import ReportOptions

ROOT = Path(__file__).resolve().parents[1]

AXPY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<5>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %d3, %r5, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%d5], %f4;
DONE:
    ret;
}
"""


@pytest.fixture
def axpy(tmp_path: Path) -> Path:
    path = tmp_path / "axpy.ptx"
    path.write_text(AXPY)
    return path


def number(launch: dict, name: str) -> dict:
    (found,) = (n for n in launch["runs"][0]["numbers"] if n["name"] == name)
    return found


def test_ptx_without_any_toolchain_gives_the_whole_report(
    axpy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    data = warpglass.make_report([axpy], ReportOptions(grid=(3, 1, 1), block=(64, 1, 1), kernel="axpy")).data
    (launch,) = data["launches"]
    assert launch["compile"] is None
    # 3 blocks of 2 warps, 17 instructions before the exit and the exit itself; nothing is cut off by n = 192.
    assert number(launch, "Warp instructions")["value"] == 6 * 18
    # All lanes are on in 17 of them; the guarded branch issues with none.
    assert number(launch, "Active lanes")["value"] == pytest.approx(32 * 17 / 18)
    assert number(launch, "Sectors ÷ ideal")["value"] == 1
    waves = number(launch, "Wavefronts ÷ ideal")
    assert waves["value"] is None
    assert "no shared-memory request" in waves["why_unknown"]
    assert launch["launch"]["origin"]["grid"] == "command line"


def test_the_same_inputs_in_two_folders_give_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for folder in ("one", "a much longer name"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "axpy.ptx"
        path.write_text(AXPY)
        report = warpglass.make_report([path])
        texts.append((report.to_json(), report.to_html(charts="static")))
    assert texts[0] == texts[1]


def section(data: dict, name: str) -> dict:
    return next(s for s in data["sections"] if s["id"] == name)["data"]["launches"][0]


def test_a_run_that_the_budget_cut_decides_nothing(axpy: Path) -> None:
    """5,000 blocks of four warps are more than the budget, and a branch on loaded data forbids samples."""
    asked = "setp.gt.f32 %p1, %f2, 0f40000000; @%p1 bra DONE; fma.rn"
    axpy.write_text(AXPY.replace("fma.rn", asked))
    options = ReportOptions(grid=(5000, 1, 1), max_warp_instructions=100_000)
    data = warpglass.make_report([axpy], options).data
    said = section(data, "verdict")["text"]
    done = data["launches"][0]["runs"][0]["blocks"]["executed"]
    assert 0 < done < 5000
    assert said.startswith(f"Not decided: the run stopped after {done:,} of 5,000 blocks (stopped at line")
    assert "As far as it ran: memory-bound: device memory takes longest" in said
    bars = next(b for b in section(data, "bottleneck")["blocks"] if b["type"] == "bars")
    assert bars["caption"].endswith(", as far as the run went")
    intensity = next(
        n for n in section(data, "roofline")["blocks"][0]["numbers"] if n["name"] == "Operations"
    )
    assert intensity["why_unknown"].endswith("a larger --max-warp-instructions would give it")


def test_a_kernel_that_does_nothing_is_bound_by_its_launch(axpy: Path) -> None:
    """Every thread returns at once: no advice about a chain of two instructions."""
    head = AXPY.split("ld.param")[0]
    axpy.write_text(head + "ret;\n}\n")
    data = warpglass.make_report([axpy], ReportOptions(grid=(4, 1, 1), block=(64, 1, 1))).data
    assert section(data, "verdict")["text"].startswith("Launch-bound: an SM works for ")
    assert section(data, "advice") == []


def test_a_run_without_a_block_that_ended_gets_no_advice(axpy: Path) -> None:
    data = warpglass.make_report([axpy], ReportOptions(max_warp_instructions=40)).data
    sections = {s["id"]: s["data"]["launches"][0] for s in data["sections"]}
    assert sections.get("verdict") is None
    assert not sections.get("advice")
    text = warpglass.make_report([axpy], ReportOptions(max_warp_instructions=40)).to_html(charts="static")
    assert "may loop without end" in text


def test_counts_of_a_cut_run_are_unknown_and_say_why(axpy: Path) -> None:
    data = warpglass.make_report([axpy], ReportOptions(max_warp_instructions=40)).data
    (run,) = data["launches"][0]["runs"]
    assert run["complete"] is False
    assert run["stopped"]["kind"] == "budget"
    total = number(data["launches"][0], "Warp instructions")
    assert total["value"] is None
    assert "of 4 blocks" in total["why_unknown"]
    so_far = number(data["launches"][0], "Warp instructions so far")
    assert 0 < so_far["value"] <= 48
    assert so_far["scope"].startswith("executed, ")


def test_a_broken_kernel_costs_itself_only(axpy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = ".visible .entry broken() {\n    .reg .u32 a;\n    add.u32 a, , 3;\n    ret;\n}\n"
    axpy.write_text(AXPY + broken + ".visible .entry odd() { newfangled.u32 ; ret; }\n")
    line = AXPY.count("\n") + 3
    data = warpglass.make_report([axpy]).data
    assert [launch["kernel"]["name"] for launch in data["launches"]] == ["axpy", "odd"]
    (warning,) = (text for text in data["assumptions"] if text.startswith("warning: "))
    head, source, caret = warning.split("\n")
    assert head.startswith(f"warning: axpy.ptx:{line}:16: expected an operand")
    assert source.strip() == "add.u32 a, , 3;"
    assert source[caret.index("^")] == ","
    assert sum("'newfangled' is kept as text" in text for text in data["assumptions"]) == 1
    hidden = warpglass.make_report([axpy], ReportOptions(no_source=True)).data["assumptions"]
    assert not any("add.u32 a" in text for text in hidden)
    with pytest.raises(SystemExit):
        main(["report", str(axpy), "-o", str(axpy.with_suffix(".json"))])
    assert head in capfd.readouterr().err
    axpy.write_text(".version 8.0\n.target sm_80\n.address_size 64\n" + broken)
    with pytest.raises(ParseError, match="expected an operand"):
        warpglass.make_report([axpy])


def test_no_source_empties_the_json_too(axpy: Path) -> None:
    report = warpglass.make_report([axpy], ReportOptions(no_source=True))
    assert all(source["text"] is None for source in report.data["sources"])
    assert "mad.lo.u32 %r5, %r2" not in json.dumps(report.data["sources"])


def test_expectations_name_the_thread_that_was_wrong(axpy: Path, tmp_path: Path) -> None:
    want = np.arange(64, dtype=np.float32)
    wrong = want.copy()
    wrong[37] += 1
    np.save(tmp_path / "y.npy", wrong)
    options = ReportOptions(
        kernel="axpy",
        grid=(1, 1, 1),
        block=(64, 1, 1),
        args=("x=float[64]:iota", "y=float[64]:zeros", "a=1", "n=64"),
        expect=(f"y={tmp_path / 'y.npy'}",),
    )
    data = warpglass.make_report([axpy], options).data
    (finding,) = (f for f in data["launches"][0]["runs"][0]["findings"] if f["kind"] == "expect")
    assert finding["thread"] == [37, 0, 0]
    assert finding["message"].startswith("y[37] is 37.0, expected 38.0; 1 of 64 elements differ")
    assert finding["line"] == AXPY.split("st.global.f32", 1)[0].count("\n") + 1


@pytest.mark.cuda
def test_run_takes_cuda_text_as_it_takes_ptx() -> None:
    text = (
        "__global__ void k(const float *x, float *y, float a) {\n  y[threadIdx.x] = a * x[threadIdx.x]; }\n"
    )
    x = np.arange(32, dtype=np.float32)
    result = warpglass.run(text, grid=1, block=32, args={"x": x, "y": np.zeros_like(x), "a": 2.5})
    buffer = result.buffers[1]
    assert buffer is not None
    np.testing.assert_array_equal(buffer.array, x * np.float32(2.5))


@pytest.mark.cuda
def test_machine_code_says_what_hangs_on_data_nobody_gave(tmp_path: Path) -> None:
    path = tmp_path / "hist.cu"
    path.write_text(
        "__global__ void hist(const unsigned char *d, int *bins) {\n"
        "  int at = d[blockIdx.x * blockDim.x + threadIdx.x];\n  atomicAdd(&bins[at], 1);\n}\n"
    )
    runs = {run["isa"]: run for run in warpglass.make_report([path]).data["launches"][0]["runs"]}
    for isa in ("ptx", "sass"):
        (finding,) = (f for f in runs[isa]["findings"] if f["kind"] == "default-data")
        assert (finding["line"], finding["evidence"]) == (3, "static")
        assert finding["message"].startswith(
            "this address depends on default data: nobody gave the content of"
        )


@pytest.mark.cuda
def test_a_deadlock_is_told_in_lines_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "stuck.cu"
    path.write_text(
        "__global__ void stuck(int *o) {\n  if (threadIdx.x < 32)\n"
        '    asm volatile("bar.sync 1, 64;");\n  else\n    asm volatile("bar.sync 2, 64;");\n  o[0] = 1;\n}\n'
    )
    data = warpglass.make_report([path], ReportOptions(grid=(1, 1, 1), block=(64, 1, 1), isa="ptx")).data
    (run,) = data["launches"][0]["runs"]
    want = (
        "deadlock: no warp can go on; waiting: warp 0 of block (0,0,0) at barrier 1 (stuck.cu:3); "
        "warp 1 of block (0,0,0) at barrier 2 (stuck.cu:5)"
    )
    assert run["stopped"]["message"] == want
    assert [f["message"] for f in run["findings"] if f["kind"] == "deadlock"] == [want]


def test_expectations_name_threads_of_blocks_that_keep_no_steps(axpy: Path, tmp_path: Path) -> None:
    wrong = np.zeros(96, dtype=np.float32)
    wrong[:75] = np.arange(75)
    wrong[70] += 1
    np.save(tmp_path / "y.npy", wrong)
    options = ReportOptions(
        kernel="axpy",
        grid=(3, 1, 1),
        block=(32, 1, 1),
        args=("x=float[96]:iota", "y=float[96]:zeros", "a=1", "n=75"),
        expect=(f"y={tmp_path / 'y.npy'}",),
    )
    (run,) = warpglass.make_report([axpy], options).data["launches"][0]["runs"]
    (finding,) = (f for f in run["findings"] if f["kind"] == "expect")
    assert finding["message"] == "y[70] is 70.0, expected 71.0; 1 of 96 elements differ"
    assert (finding["block"], finding["thread"]) == ([2, 0, 0], [6, 0, 0])
    assert finding["line"] == AXPY.split("st.global.f32", 1)[0].count("\n") + 1
    wrong[70], wrong[80] = 70, 5
    np.save(tmp_path / "y.npy", wrong)
    (run,) = warpglass.make_report([axpy], options).data["launches"][0]["runs"]
    (finding,) = (f for f in run["findings"] if f["kind"] == "expect")
    assert finding["message"] == "y[80] is 0.0, expected 5.0; 1 of 96 elements differ; no thread wrote it"
    assert finding["thread"] is None


@pytest.mark.parametrize(
    ("name", "content", "error", "match"),
    [
        ("empty.cu", b"", InputError, "empty.cu"),
        ("noise.bin", bytes(range(256)) * 8, InputError, "noise.bin"),
        ("none.ptx", b".version 8.0\n.target sm_80\n.address_size 64\n", InputError, "no kernel"),
    ],
)
def test_bad_inputs_are_one_clear_error(
    tmp_path: Path, name: str, content: bytes, error: type[Exception], match: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(error, match=match):
        warpglass.make_report([path])


def test_a_launch_of_an_unknown_kernel_lists_the_known_ones(axpy: Path) -> None:
    with pytest.raises(LaunchError, match="axpy"):
        warpglass.make_report([axpy], ReportOptions(kernel="nothing_like_it"))


@pytest.mark.cuda
def test_a_compile_error_holds_nvcc_s_own_lines_and_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "broken.cu"
    path.write_text("__global__ void k(int *p) { *p = undeclared; }\n")
    with pytest.raises(CompileError) as caught:
        warpglass.make_report([path])
    assert 'identifier "undeclared" is undefined' in str(caught.value)
    assert "broken.cu(1)" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.slow
@pytest.mark.cuda
def test_several_architectures_make_one_page_with_a_choice() -> None:
    path = ROOT / "examples" / "vector_add" / "kernel.cu"
    data = warpglass.make_report([path], ReportOptions(arch=("sm_80", "sm_90"))).data
    assert {launch["arch"] for launch in data["launches"]} == {"sm_80", "sm_90"}
    assert [launch["id"] for launch in data["launches"]] == list(range(len(data["launches"])))


PYTHON_PTX = """
.version 8.0
.target sm_80
.address_size 64
.file 1 "/home/someone/add.py"
.visible .entry add_kernel(.param .u64 out)
{
    .reg .b64 %d<2>; .reg .b32 %r<3>;
    .loc 1 3 4
    ld.param.u64 %d1, [out];
    .loc 1 4 4
    mov.u32 %r1, %tid.x;
    st.global.u32 [%d1], %r1;
    ret;
}
"""


def test_ptx_made_from_python_links_to_its_python_lines(tmp_path: Path) -> None:
    (tmp_path / "add.ptx").write_text(PYTHON_PTX)
    (tmp_path / "add.py").write_text("import triton\n@triton.jit\ndef add_kernel(out):\n    pass\n")
    data = warpglass.make_report([tmp_path / "add.ptx", tmp_path / "add.py"]).data
    (source,) = (s for s in data["sources"] if s["language"] == "python")
    assert source["own"] is True
    assert source["text"].startswith("import triton")
    code = data["launches"][0]["runs"][0]["code"]["instructions"]
    assert code["source"] == [source["id"]] * 4
    assert code["source_line"] == [3, 4, 4, 4]
    # Folders of the machine that compiled it stay out.
    assert "/home/someone" not in json.dumps({**data, "sources": [s for s in data["sources"] if s != source]})


@pytest.mark.cuda
def test_a_cache_folder_of_a_compiler_presets_its_launch(axpy: Path, tmp_path: Path) -> None:
    from warpglass import cuda

    folder = tmp_path / "cache"
    folder.mkdir()
    assembled = cuda.assemble(AXPY, "sm_80")
    assert assembled.cubin is not None
    (folder / "axpy.cubin").write_bytes(assembled.cubin)
    (folder / "axpy.ptx").write_text(AXPY)
    (folder / "axpy.json").write_text(json.dumps({"num_warps": 8, "shared": 512, "name": "axpy"}))
    data = warpglass.make_report([folder]).data
    (launch,) = data["launches"]
    assert launch["launch"]["block"] == [256, 1, 1]
    assert launch["launch"]["shared_bytes"] == 512
    assert [run["isa"] for run in launch["runs"]] == ["ptx", "sass"]
    assert all(run["complete"] for run in launch["runs"])


@pytest.mark.cuda
def test_a_cubin_without_its_ptx_is_executed_as_machine_code(tmp_path: Path) -> None:
    from warpglass import cuda

    path = tmp_path / "axpy.cubin"
    assembled = cuda.assemble(AXPY, "sm_90")
    assert assembled.cubin is not None
    path.write_bytes(assembled.cubin)
    options = ReportOptions(
        kernel="axpy",
        grid=(2, 1, 1),
        block=(32, 1, 1),
        args=("0=float[64]:iota", "1=float[64]:ones", "2=2.0", "3=64"),
    )
    (launch,) = warpglass.make_report([path], options).data["launches"]
    (run,) = [r for r in launch["runs"] if r["isa"] == "sass"]
    assert run["complete"]
    assert number({"runs": [run]}, "Sectors ÷ ideal")["value"] == 1


@pytest.mark.cuda
@pytest.mark.slow
def test_machine_code_runs_from_python_as_ptx_does(tmp_path: Path) -> None:
    source = (
        "__global__ void scale(float* y, float a) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = a * y[i];\n}\n"
    )
    x = np.arange(128, dtype=np.float32)
    made = [warpglass.run(source, grid=2, block=64, args=[x, 3.0], isa=isa) for isa in ("ptx", "sass")]
    assert [r.isa for r in made] == ["ptx", "sass"]
    for result in made:
        assert result.complete
        assert result.buffers[0] is not None
        assert np.array_equal(result.buffers[0].array, 3 * x)


def test_ptx_alone_has_no_machine_code(axpy: Path) -> None:
    with pytest.raises(InputError, match="has no machine code"):
        warpglass.run(axpy, isa="sass")
    with pytest.raises(LaunchError, match="choose ptx or sass"):
        warpglass.run(axpy, isa="both")


@pytest.mark.cuda
@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_run_compiles_with_what_the_source_needs(tmp_path: Path, isa: str) -> None:
    """A define, a header of another folder and a flag of the compiler's own."""
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    text = (
        '#include "factor.h"\n'
        "__global__ void scale(int *x) {\n"
        "#ifndef PLUS\n#error needs PLUS\n#endif\n#ifndef EXTRA\n#error needs EXTRA\n#endif\n"
        "  x[threadIdx.x] = FACTOR * x[threadIdx.x] + PLUS + EXTRA;\n}\n"
    )
    x = np.arange(32, dtype=np.int32)
    asked = {"include_dirs": [tmp_path], "defines": ["PLUS=5"], "nvcc_flags": ["-DEXTRA=100"]}
    result = warpglass.run(text, grid=1, block=32, args=[x], isa=isa, **asked)
    assert result.buffers[0] is not None
    assert result.buffers[0].array.tolist() == [3 * i + 105 for i in range(32)]


def test_launches_of_a_kernel_in_two_files_are_told_apart(tmp_path):
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    (tmp_path / "old").mkdir()
    places = [tmp_path / "a.ptx", tmp_path / "b.ptx", tmp_path / "old" / "b.ptx", tmp_path / "c.ptx"]
    for place in places:
        place.write_text(text.replace("entry k", "entry other") if place.stem == "c" else text)
    (tmp_path / "c.toml").write_text('[[launch]]\nlabel = "small"\ngrid = 1\n')

    def labels(count, options=None):
        return [launch["label"] for launch in warpglass.make_report(places[:count], options).data["launches"]]

    assert labels(1) == [""]
    assert labels(2) == ["a.ptx", "b.ptx"]
    assert labels(4) == ["a.ptx", "b.ptx, input 2", "b.ptx, input 3", ""]
    named = ReportOptions(launch_file=tmp_path / "c.toml")
    assert labels(1, named) == ["small"]
    assert labels(2, named) == ["a.ptx: small", "b.ptx: small"]
    for place in places:
        place.write_text(text + ".visible .entry other() { ret; }\n")
    assert labels(2) == ["k, a.ptx", "other, a.ptx", "k, b.ptx", "other, b.ptx"]


def test_one_input_needs_no_list(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n")
    reports = [warpglass.make_report(given).to_json() for given in ([path], path, str(path))]
    assert reports[0] == reports[1] == reports[2]
