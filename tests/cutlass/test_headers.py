"""The headers of the installed CUTLASS package, and small ones of our own."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

from cutlass.small import ATTENTION, BROKEN, GOOD, RAW
from warpglass import cutlass
from warpglass.cutlass.clean import clean
from warpglass.cutlass.kernels import role_streams
from warpglass.cutlass.lint import KINDS
from warpglass.cutlass.streams import KNOBS, collective_streams, conservation, pipe_uses
from warpglass.cutlass.structure import Header, parse_header
from warpglass.pipeline import run_program, summarise


@cache
def source() -> Path:
    """The folder with include/ and examples/ of the package nvidia-cutlass."""
    library = pytest.importorskip("cutlass_library", reason="nvidia-cutlass is not installed")
    folder = Path(library.__file__).parent / "source"
    if not (folder / "include" / "cutlass").is_dir():
        pytest.skip("nvidia-cutlass is installed without its headers")
    return folder


def include() -> Path:
    return source() / "include" / "cutlass"


def read(path: Path) -> Header:
    return parse_header(path.read_bytes(), path.name)


def collectives() -> list[Path]:
    """All that make pipeline calls except the one that is not warp-specialised."""
    found = sorted((include() / "gemm" / "collective").glob("sm[19]*.hpp"))
    found += sorted((include() / "conv" / "collective").glob("sm*.hpp"))
    return [path for path in found if path.name != "sm90_mma_tma_gmma_ss.hpp"]


@pytest.mark.slow
def test_collectives_conserve_their_stages() -> None:
    paths = collectives()
    assert len(paths) == 38
    bad = {path.name: found for path in paths if (found := conservation(collective_streams(read(path))))}
    assert len(bad) <= 2, bad


def test_conservation_can_fail() -> None:
    broken = parse_header(BROKEN["unbalanced"].encode(), "broken.hpp")
    assert conservation(collective_streams(broken))
    assert conservation(collective_streams(parse_header(GOOD.encode(), "good.hpp"))) == []
    assert conservation(()) != []


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("k_tiles", [1, 2, 7])
def test_other_knobs_conserve_too(stages: int, k_tiles: int) -> None:
    header = read(include() / "gemm" / "collective" / "sm90_mma_tma_gmma_ss_warpspecialized.hpp")
    knobs = {**KNOBS, "S": stages, "K": k_tiles}
    assert conservation(collective_streams(header, knobs), knobs) == []


def test_the_canonical_mainloop_in_detail() -> None:
    path = include() / "gemm" / "collective" / "sm90_mma_tma_gmma_ss_warpspecialized.hpp"
    model = cutlass.parse([(path.name, path.read_bytes())])
    load = next(s for s in model.streams["mainloop"] if s.role == "load")
    assert [op.kind for op in load.ops[:3]] == ["acquire", "copy", "copy"]
    assert [op.stage for op in load.ops if op.kind == "acquire"] == [0, 1, 2, 3, 0, 1]
    lines = path.read_text(encoding="utf-8").split("\n")
    for op in load.ops:
        assert {"acquire": "producer_acquire", "copy": "copy("}[op.kind] in lines[op.line - 1]
    mma = next(s for s in model.streams["mainloop"] if s.role == "mma")
    for op in mma.ops:
        word = {
            "wait": "consumer_wait",
            "mma": "gemm(",
            "wgwait": "warpgroup_wait<K_PIPE_MMAS>",
            "release": "consumer_release",
        }
        assert word[op.kind] in lines[op.line - 1]


FAMILIES = {
    "sm90_mma_tma_gmma_ss_warpspecialized": ("sm90", 2, 1, "after", False, False),
    "sm90_mma_tma_gmma_rs_warpspecialized": ("sm90", 2, 1, "half", False, False),
    "sm90_mma_multistage_gmma_ss_warpspecialized": ("sm90", 1, 1, "after", True, False),
    "sm90_mma_tma_gmma_ss_warpspecialized_fp8": ("sm90", 2, 1, "after", False, True),
    "sm90_mma_tma_gmma_ss_warpspecialized_fp8_blockwise_scaling": ("sm90", 2, 1, "drained", False, False),
    "sm90_sparse_mma_tma_gmma_ss_warpspecialized": ("sm90", 3, 0, "after", False, False),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_traits(name: str) -> None:
    from warpglass.cutlass.derive import mainloop_traits

    header = read(include() / "gemm" / "collective" / f"{name}.hpp")
    traits, reasons = mainloop_traits(header, collective_streams(header))
    family, loads, lag, release, cp_async, promotion = FAMILIES[name]
    assert (traits.loads, traits.lag, traits.release) == (loads, lag, release), reasons
    assert (traits.cp_async, traits.promotion) == (cp_async, promotion)
    assert cutlass.parse([(f"{name}.hpp", header.text.encode())]).derived.family == family


ROLES_90 = {
    "sm90_gemm_tma_warpspecialized_pingpong": "pingpong",
    "sm90_gemm_tma_warpspecialized_cooperative": "cooperative",
    "sm90_gemm_tma_warpspecialized": "basic",
    "sm90_gemm_array_tma_warpspecialized_pingpong": "pingpong",
    "sm90_gemm_array_tma_warpspecialized_cooperative": "cooperative",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROLES_90)
def test_hopper_kernel_layers(name: str) -> None:
    array = "array_" if "array" in name else ""
    mainloop = include() / "gemm" / "collective" / f"sm90_mma_{array}tma_gmma_ss_warpspecialized.hpp"
    epilogue = include() / "epilogue" / "collective" / "sm90_epilogue_tma_warpspecialized.hpp"
    kernel = include() / "gemm" / "kernel" / f"{name}.hpp"
    files = [(path.name, path.read_bytes()) for path in (mainloop, epilogue)]
    model = cutlass.parse(files, (kernel.name, kernel.read_bytes()))
    assert model.derived.schedule == ROLES_90[name]
    streams = {stream.role: stream for stream in model.streams["kernel"]}
    producer = next(
        s for role, s in streams.items() if role.startswith("Producer Mainloop") and "Aux" not in role
    )
    consumers = [s for role, s in streams.items() if role.startswith("Consumer")]
    mainloop_ops = [op.kind for op in producer.ops if op.pipe == "mainloop_pipeline"]
    assert mainloop_ops.count("copy") == 2 * mainloop_ops.count("acquire") > 0
    assert mainloop_ops[-1] == "tail"
    for consumer in consumers:
        assert {"wait", "mma", "release"} <= {op.kind for op in consumer.ops}
        if ROLES_90[name] == "pingpong":
            order = [op.kind for op in consumer.ops if op.kind.startswith("order")]
            assert order[:4] == ["order_wait", "order_arrive", "order_wait", "order_arrive"]
    summary = summarise(run_program(model.derived.programs[0]), model.derived.programs[0])
    assert summary.complete


def test_every_other_hopper_kernel_layer_gives_roles() -> None:
    for path in sorted((include() / "gemm" / "kernel").glob("sm90_gemm*warpspecialized*.hpp")):
        streams = role_streams(read(path))
        roles = " ".join(stream.role for stream in streams)
        assert "Producer" in roles, path.name
        assert "Consumer" in roles, path.name
        assert all(stream.ops for stream in streams), path.name


def test_blackwell_kernel_layers() -> None:
    paths = sorted((include() / "gemm" / "kernel").glob("sm100*gemm*warpspecialized*.hpp"))
    assert len(paths) >= 8
    for path in paths:
        streams = {stream.role: stream for stream in role_streams(read(path))}
        for wanted in ("MMA", "Sched", "EpilogueLoad", "Epilogue"):
            assert streams[wanted].ops, (path.name, wanted)
        loads = [s for role, s in streams.items() if role.startswith("Mainloop")]
        assert loads, path.name
        assert any(any(op.kind == "call" for op in s.ops) for s in loads), path.name
        assert any(op.kind == "tail" or op.pipe.endswith("tail") for op in streams["MMA"].ops), path.name


def test_epilogues_give_their_store_pipelines() -> None:
    folder = include() / "epilogue" / "collective"
    for arch, array in product(("sm90", "sm100"), ("", "array_")):
        name = f"{arch}_epilogue_{array}tma_warpspecialized"
        header = read(folder / f"{name}.hpp")
        uses = pipe_uses(collective_streams(header))
        assert "store_pipeline" in uses, name
        assert uses["store_pipeline"].committed, name
        assert uses["load_pipeline"].acquired, name


ATTENTION_FILES = {
    "77_blackwell_fmha/collective/sm100_fmha_fwd_mainloop_tma_warpspecialized.hpp": {
        "mma": {"pipeline_q", "pipeline_kv", "pipeline_s0", "pipeline_s1", "pipeline_corr"},
        "softmax": {"pipeline_c"},
        "correction": {"pipeline_o", "pipeline_s0_c", "pipeline_s1_c", "pipeline_epi"},
    },
    "77_blackwell_fmha/collective/sm100_fmha_load_tma_warpspecialized.hpp": {
        "load": {"pipeline_q", "pipeline_kv"},
    },
    "77_blackwell_fmha/kernel/sm100_fmha_mla_tma_warpspecialized.hpp": {
        "kLoad": {"pipeline_load_qk", "pipeline_page_table"},
        "kMma": {"pipeline_load_qk", "pipeline_p_mma", "pipeline_mma_s", "pipeline_mma_o"},
        "kCompute": {"pipeline_mma_s", "pipeline_p_mma", "pipeline_mma_o"},
    },
    "88_hopper_fmha/collective/fmha_collective_tma_warpspecialized.hpp": {
        "compute": {"pipeline", "pipeline_q", "math_wg_order_barrier"}
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ATTENTION_FILES)
def test_attention_examples_give_their_pipelines(name: str) -> None:
    path = source() / "examples" / name
    if not path.exists():
        pytest.skip(f"the package has no {name}")
    header = read(path)
    # A kernel layer gives its roles, a collective its functions.
    found = role_streams(header) if name.split("/")[1] == "kernel" else collective_streams(header)
    streams = {stream.role: stream for stream in found}
    for role, pipes in ATTENTION_FILES[name].items():
        assert pipes <= {op.pipe for op in streams[role].ops}, role


#: docs/pipeline.md: block scaling waits for all MMAs and still releases the stage before.
EXPLAINED = {
    ("sm90_mma_tma_gmma_ss_warpspecialized_fp8_blockwise_scaling.hpp", "late-release"),
    ("sm90_mma_array_tma_gmma_ss_warpspecialized_fp8_blockwise_scaling.hpp", "late-release"),
}


@pytest.mark.slow
def test_findings_on_cutlass_are_those_the_docs_explain() -> None:
    """Every header that speaks of pipelines: collectives, epilogues, kernel layers, their schedulers."""
    folders = ("gemm/collective", "gemm/kernel", "conv/collective", "conv/kernel", "epilogue/collective")
    found, kinds = set(), set()
    for path in (p for folder in folders for p in sorted((include() / folder).glob("*.h*"))):
        if cutlass.is_pipeline_text(path.read_text(encoding="utf-8", errors="replace")):
            model = cutlass.parse([(path.name, path.read_bytes())])
            found |= {(path.name, finding.kind) for finding in model.findings}
            kinds.add(model.kinds[path.name])
    assert found == EXPLAINED
    assert {"mainloop", "kernel", "epilogue"} <= kinds


#: Kernel layers with a mainloop of theirs.
TOGETHER = {
    "sm90_gemm_tma_warpspecialized": "sm90_mma_tma_gmma_ss_warpspecialized",
    "sm90_gemm_tma_warpspecialized_pingpong": "sm90_mma_tma_gmma_ss_warpspecialized",
    "sm90_gemm_tma_warpspecialized_cooperative": "sm90_mma_tma_gmma_rs_warpspecialized",
    "sm90_gemm_array_tma_warpspecialized_pingpong": "sm90_mma_array_tma_gmma_ss_warpspecialized",
    "sm90_gemm_array_tma_warpspecialized_cooperative": "sm90_mma_array_tma_gmma_ss_warpspecialized",
    "sm90_gemm_warpspecialized_pingpong": "sm90_mma_multistage_gmma_ss_warpspecialized",
    "sm90_gemm_warpspecialized_cooperative": "sm90_mma_multistage_gmma_ss_warpspecialized",
    "sm100_gemm_tma_warpspecialized": "sm100_blockscaled_mma_warpspecialized",
    "sm100_gemm_array_tma_warpspecialized": "sm100_mma_array_warpspecialized",
    "sm100_gemm_tma_warpspecialized_input_transform": "sm100_mma_warpspecialized_emulated",
    "sm103_blockscaled_gemm_tma_warpspecialized": "sm103_blockscaled_mma_warpspecialized",
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", TOGETHER)
def test_no_finding_where_kernel_mainloop_and_epilogue_are_read_together(kernel: str) -> None:
    array = "array_" if "_array_" in kernel else ""
    arch = "sm90" if kernel.startswith("sm90") else "sm100"
    mainloop = include() / "gemm" / "collective" / f"{TOGETHER[kernel]}.hpp"
    epilogue = include() / "epilogue" / "collective" / f"{arch}_epilogue_{array}tma_warpspecialized.hpp"
    layer = include() / "gemm" / "kernel" / f"{kernel}.hpp"
    files = [(path.name, path.read_bytes()) for path in (mainloop, epilogue)]
    model = cutlass.parse(files, (layer.name, layer.read_bytes()))
    assert model.findings == ()
    assert all(stream.ops for stream in model.streams["kernel"] if "MMA" in stream.role)


def test_a_right_header_has_no_finding() -> None:
    model = cutlass.parse([("good.hpp", GOOD.encode())])
    assert model.findings == ()
    assert model.derived.family == "sm90"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_finding_on_a_broken_header(kind: str) -> None:
    model = cutlass.parse([("broken.hpp", BROKEN[kind].encode())])
    assert kind in {finding.kind for finding in model.findings}
    assert all(finding.header == "broken.hpp" and finding.line > 0 for finding in model.findings)


def test_attention_in_the_style_of_two_pipelines() -> None:
    model = cutlass.parse([("mainloop_fwd.hpp", ATTENTION.encode())])
    assert model.derived.family == "attention"
    streams = {stream.role: stream for stream in model.streams["mainloop"]}
    sequence = [(op.kind, op.pipe) for op in streams["mma"].ops if op.kind != "softmax"][:8]
    assert sequence == [
        ("wait", "pipeline_k"), ("mma", ""), ("wgwait", ""), ("release", "pipeline_k"),
        ("wait", "pipeline_v"), ("mma", ""), ("wgwait", ""), ("release", "pipeline_v"),
    ]  # fmt: skip


def test_raw_barriers_give_lanes_barriers_and_loops() -> None:
    model = cutlass.parse([("raw.cuh", RAW.encode())])
    assert [(use.kind, use.barrier, use.depth) for use in model.raw] == [
        ("wait", "empty_barriers", 1), ("expect", "full_barriers", 1),
        ("wait", "full_barriers", 1), ("arrive", "empty_barriers", 1),
    ]  # fmt: skip
    assert {use.lane for use in model.raw} == {
        "warp_idx == 0 && elect_one_sync()",
        "not (warp_idx == 0 && elect_one_sync())",
    }
    assert any("no pipeline of CUTLASS's classes" in note for note in model.notes)


def deep_gemm() -> Path:
    """The kernels of sgl-deep-gemm 0.2.5: installed, or unpacked where WARPGLASS_DEEP_GEMM says."""
    given = os.environ.get("WARPGLASS_DEEP_GEMM")
    places = [Path(given)] if given else []
    # The folder is looked up, not imported: the package itself wants a GPU.
    spec = find_spec("deep_gemm")
    places += [Path(place) for place in ((spec.submodule_search_locations or ()) if spec else ())]
    for place in places:
        for folder in place.rglob("deep_gemm/impls"):
            return folder
    pytest.skip("WARPGLASS_DEEP_GEMM names no sgl-deep-gemm, and none is installed")


def test_deep_gemm_gives_lanes_barriers_and_loops() -> None:
    folder = deep_gemm()
    kernels = [path for path in sorted(folder.glob("*.cuh")) if "arrier" in path.read_text(encoding="utf-8")]
    assert len(kernels) > 20
    for path in kernels:
        model = cutlass.parse([(path.name, path.read_bytes())])
        assert model.headers[0].errors == (), path.name
        assert len({use.lane for use in model.raw}) >= 2, path.name
        assert {"wait", "arrive"} <= {use.kind for use in model.raw} | {"arrive"}, path.name
        assert any(use.depth >= 1 for use in model.raw if use.kind == "wait"), path.name


def test_the_lanes_of_a_deep_gemm_kernel() -> None:
    path = deep_gemm() / "sm90_fp8_gemm_1d1d.cuh"
    lines = path.read_text(encoding="utf-8").split("\n")
    uses = cutlass.parse([(path.name, path.read_bytes())]).raw
    for use in uses:
        assert use.barrier.split(".")[-1].split(" ")[-1] in lines[use.line - 1], use
    waits = {(use.lane, use.barrier) for use in uses if use.kind == "wait" and use.depth}
    # The loading warp waits for empty stages, those that multiply for full ones.
    loading = {lane for lane, barrier in waits if barrier.startswith("empty")}
    multiplying = {lane for lane, barrier in waits if barrier.startswith("full")}
    assert loading
    assert multiplying
    assert not loading & multiplying


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe\x00", b"{" * 3000, b"#if 1\n" * 500, b"void mma(" * 800, b"template <" * 2000,
     b"void f() { while (true) { pipeline.consumer_wait(s); } }",
     b"void mma() { mma(); } // producer_acquire",
     b"void load() { for (;;) { pipeline.producer_acquire(smem_pipe_write); } }",
     b"void g() { auto f = [&](auto x) { f(x); pipeline.consumer_wait(s); }; f(1); }"],
)  # fmt: skip
def test_hostile_headers_end(text: bytes) -> None:
    model = cutlass.parse([("bad.hpp", text)])
    assert model.derived is not None


def test_cleaning_keeps_every_place() -> None:
    text = b'/* a\n b */ CUTLASS_DEVICE void f() { static_assert(x == (1), "no"); } // c\n'
    text += b"#if 0\nbad(\n#else\ngood();\n#endif\n"
    cleaned = clean(text)
    assert len(cleaned.content) == len(text)
    assert cleaned.content.count(b"\n") == text.count(b"\n")
    assert b"bad" not in cleaned.content
    assert cleaned.content.index(b"good") == text.index(b"good")
    assert cleaned.choices == ((3, "#if 0", False),)


def test_conditions_can_be_decided_otherwise() -> None:
    text = GOOD.replace("++smem_pipe_write;", "if (params.skip) { ++smem_pipe_write; }")
    plain = cutlass.parse([("a.hpp", text.encode())])
    decided = [d for s in plain.streams["mainloop"] for d in s.decisions]
    assert [(d.condition, d.taken) for d in decided if "skip" in d.condition] == [("params.skip", True)]
    other = cutlass.parse([("a.hpp", text.encode())], decide={"params.skip": False})
    assert "unbalanced" in {finding.kind for finding in other.findings}
