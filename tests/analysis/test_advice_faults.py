"""Kernels with one planted fault each: the foremost advice names it, its repaired twin gets none."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from warpglass import gpu
from warpglass.analyse import diagnosis_of
from warpglass.analysis.diagnosis import Diagnosis
from warpglass.collect import CodeUnit, collect, read_inputs
from warpglass.execute import execute_unit
from warpglass.inputs.demangle import demangled
from warpglass.launchfile import plan_launches
from warpglass.options import ReportOptions
from warpglass.page_sources import PageSources

HERE = Path(__file__).parent / "faults"


@dataclass(frozen=True)
class Fault:
    """A pair of kernels, their launch, and the advice that names the fault; ``fixed`` differs in the twin."""

    name: str
    file: str
    expect: str
    grid: tuple[int, int, int] = (1728, 1, 1)
    block: tuple[int, int, int] = (256, 1, 1)
    args: tuple[str, ...] = ()
    shared: int | None = None
    kernel: str = ""
    fixed: dict[str, object] = field(default_factory=dict)

    def of(self, twin: bool) -> dict[str, object]:
        own = {"grid": self.grid, "block": self.block, "shared": self.shared, "args": self.args}
        own["kernel"] = (
            f"{self.kernel or self.name}_{'fixed' if twin else 'fault'}" if self.expect else self.name
        )
        return {**own, **(self.fixed if twin else {})}


SHAPE = {"kernel": "shape_fault"}
FAULTS = (
    Fault("stride_shared", "memory", "padding", block=(32, 8, 1)),
    Fault("header_offset", "memory", "alignment"),
    Fault("strided_load", "memory", "coalescing"),
    Fault("array_of_structures", "memory", "coalescing"),
    Fault("scattered_store", "memory", "coalescing", (16, 64, 1), (32, 8, 1), ("n=512",)),
    Fault("one_counter", "memory", "atomics"),
    Fault("shared_counter", "memory", "atomics", (864, 1, 1)),
    Fault("bytes", "memory", "wider-access", (864, 1, 1), args=("n=884736",)),
    Fault("untiled", "memory", "tiling", (16, 16, 1), (16, 16, 1), ("n=256",)),
    Fault("staged", "memory", "async-copy", (432, 1, 1), args=("tiles=8",), shared=36864),
    Fault("copied", "memory", "padding", (864, 1, 1), (32, 8, 1), ("tiles=4",)),
    Fault("table", "memory", "l2-rereads", (864, 1, 1), args=("n=32",)),
    Fault("literal", "compute", "double", (864, 1, 1)),
    Fault("chain", "compute", "dependence-chain", (108, 1, 1), (128, 1, 1), ("n=1024",)),
    Fault("lanes", "compute", "divergence", (864, 1, 1)),
    Fault("division", "compute", "integer-division", (864, 1, 1), args=("rows=33", "n=16")),
    Fault("precise", "compute", "precise-functions", (864, 1, 1), args=("n=32",)),
    Fault("scalar_half", "compute", "tensor-cores", (27, 4, 1), (32, 8, 1), ("n=64",)),
    Fault("fragments", "compute", "larger-tile", (216, 1, 1), (32, 4, 1), ("n=64",)),
    Fault(
        "too_few_blocks",
        "launch",
        "launch-too-small",
        (8, 1, 1),
        args=("n=32",),
        kernel="shape",
        fixed={**SHAPE, "grid": (1728, 1, 1)},
    ),
    Fault(
        "one_block_an_sm",
        "launch",
        "launch-too-small",
        (108, 1, 1),
        (128, 1, 1),
        ("n=64",),
        kernel="shape",
        fixed={**SHAPE, "grid": (1728, 1, 1), "args": ("n=4",)},
    ),
    Fault(
        "one_warp_blocks",
        "launch",
        "small-blocks",
        (13824, 1, 1),
        (32, 1, 1),
        ("n=16",),
        kernel="shape",
        fixed={**SHAPE, "grid": (3456, 1, 1), "block": (128, 1, 1)},
    ),
    Fault(
        "tail",
        "launch",
        "tail",
        (873, 1, 1),
        args=("n=16",),
        kernel="shape",
        fixed={**SHAPE, "grid": (864, 1, 1)},
    ),
    Fault(
        "partial_warps",
        "launch",
        "partial-warps",
        (3456, 1, 1),
        (33, 1, 1),
        ("n=8",),
        kernel="shape",
        fixed={**SHAPE, "grid": (1728, 1, 1), "block": (64, 1, 1)},
    ),
    Fault(
        "room",
        "launch",
        "shared-memory",
        (864, 1, 1),
        (128, 1, 1),
        ("n=16",),
        84000,
        fixed={"kernel": "room_fault", "shared": 8000},
    ),
    Fault("registers", "launch", "registers", (864, 1, 1), (128, 1, 1), ("rounds=24",)),
    Fault("spills", "launch", "spills", (864, 1, 1), (256, 1, 1), ("rounds=4",)),
    Fault("barrier", "launch", "barriers", (864, 1, 1), args=("n=64",)),
    Fault(
        "convolution",
        "reuse",
        "implicit-gemm",
        (4, 16, 16),
        (32, 8, 1),
        ("w=128", "h=128"),
        fixed={"grid": (4, 16, 2)},
    ),
    Fault("passes", "reuse", "register-reuse", (864, 1, 1)),
    Fault("tree", "reuse", "warp-shuffles"),
    Fault(
        "uneven_blocks",
        "everyday",
        "tail",
        (162, 1, 1),
        kernel="busy",
        fixed={"kernel": "busy_fault", "grid": (216, 1, 1)},
    ),
    Fault("filled", "reuse", "async-copy", (648, 1, 1), (128, 1, 1), ("tiles=4",)),
    Fault("scan", "reuse", "warp-shuffles", (432, 1, 1), (512, 1, 1)),
    Fault("unfused", "everyday", "fewer-instructions", (864, 1, 1)),
    Fault("plane", "numbers", "double", (864, 1, 1), args=("most=64",)),
    Fault("pass", "everyday", "fewer-bytes", (3456, 1, 1)),
    Fault("function", "numbers", "double", (864, 1, 1)),
    Fault(
        "doubles",
        "numbers",
        "tensor-cores",
        (12, 9, 1),
        (16, 16, 1),
        ("n=64",),
        fixed={"grid": (216, 1, 1), "block": (32, 4, 1), "args": ("n=64",)},
    ),
    Fault(
        "packed_bytes",
        "numbers",
        "tensor-cores",
        (12, 9, 1),
        (16, 16, 1),
        ("n=64",),
        fixed={"grid": (216, 1, 1), "block": (32, 4, 1), "args": ("n=64",)},
    ),
)
#: Everyday kernels: their launch, the foremost advice (None: any), what would be wrong to say.
EVERYDAY = (
    (Fault("lock", "everyday", "", (8, 1, 1), (32, 1, 1)), None, ("memory-latency", "barriers")),
    (
        Fault("handover", "everyday", "", (432, 1, 1), (96, 1, 1), ("tiles=8",)),
        None,
        ("warp-shuffles", "larger-tile"),
    ),
    (Fault("waits", "everyday", "", (2, 1, 1)), None, ("register-reuse",)),
    (
        Fault("stencil", "everyday", "", (32, 128, 1), (32, 8, 1), ("n=1026",)),
        None,
        ("alignment", "implicit-gemm"),
    ),
    (Fault("blur", "everyday", "", (432, 1, 1)), "tiling", ("alignment", "implicit-gemm", "tensor-cores")),
    (
        Fault("bodies", "everyday", "", (16, 1, 1), args=("n=1024",)),
        "launch-too-small",
        ("tensor-cores", "tiling"),
    ),
    (
        Fault("rows", "everyday", "", (64, 1, 1), args=("column=int[262144]:random",)),
        "coalescing",
        ("tiling", "implicit-gemm", "memory-latency"),
    ),
    (
        Fault("naive", "everyday", "", (16, 16, 1), (16, 16, 1), ("n=128",)),
        "tiling",
        ("coalescing", "implicit-gemm"),
    ),
    (Fault("normalise", "everyday", "", (864, 1, 1)), None, ("larger-tile", "tiling", "tensor-cores")),
    (
        Fault("bins", "everyday", "", (432, 1, 1), args=("n=221184", "data=int[221184]:random")),
        "atomics",
        (),
    ),
)


@cache
def load(name: str) -> CodeUnit:
    """A file of faults, compiled once."""
    return collect(read_inputs([HERE / f"{name}.cu"]), ReportOptions())[0]


def advice_of(fault: Fault, twin: bool, isa: str = "auto", problem: str | None = None) -> Diagnosis:
    """The diagnosis of one of the two kernels."""
    unit = load(fault.file)
    what = fault.of(twin)
    options = ReportOptions(
        kernel=str(what["kernel"]),
        grid=what["grid"],
        block=what["block"],
        args=what["args"],
        shared_bytes=what["shared"],
        isa=isa,
        problem=problem,
        value_budget=0,
    )
    planned = plan_launches(unit.kernels, options, unit.source, text="", name=unit.input.name, folder=HERE)
    (launch,) = [p for p in planned if demangled(p.function.name).bare == what["kernel"]]
    sources = PageSources([unit.input], False)
    own = sources.of_unit(unit).own
    runs = execute_unit(unit, launch.launch, launch.function, options, sources.code_of(unit))
    found = diagnosis_of(
        unit, launch.function, launch.launch, runs, options, gpu.default_model(unit.arch), own
    )
    assert found is not None
    return found


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_the_foremost_advice_names_the_fault(fault: Fault) -> None:
    found = advice_of(fault, False)
    assert found.advice, found.model.cycles
    assert found.advice[0].id == fault.expect, [(a.id, a.gain) for a in found.advice[:3]]


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_the_repaired_twin_gets_none_of_it(fault: Fault) -> None:
    assert fault.expect not in [a.id for a in advice_of(fault, True).advice]


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize(("fault", "first", "wrong"), EVERYDAY, ids=lambda v: getattr(v, "name", ""))
def test_everyday_kernels_are_told_what_fits(fault: Fault, first: str | None, wrong: tuple[str, ...]) -> None:
    found = advice_of(fault, False)
    said = [a.id for a in found.advice]
    assert first is None or said[:1] == [first], [(a.id, a.gain) for a in found.advice[:3]]
    assert [name for name in wrong if name in said] == []


@pytest.mark.cuda
@pytest.mark.slow
def test_a_convolution_is_told_with_its_numbers() -> None:
    """A block of 32 x 8 reads 16 x 9 values a thread of 16 x 34 x 10 distinct ones: each 6.8 times."""
    fault = next(f for f in FAULTS if f.name == "convolution")
    text = advice_of(fault, False).advice[0].text
    assert "each thread reads 144 values of in" in text
    assert "4 bytes on, which shares 67% of them" in text
    assert "reads each value 6.78 times" in text
    assert "21,760 bytes" in text


@pytest.mark.cuda
@pytest.mark.slow
def test_who_names_attention_names_its_products() -> None:
    """Scaled queries are no loaded factors: only the problem tells that the sums are products of matrices."""
    fault = Fault("scores", "compute", "", (16, 16, 1), (16, 16, 1), ("n=256",))
    assert "tensor-cores" not in [a.id for a in advice_of(fault, False).advice]
    named = advice_of(fault, False, problem="attention:1,1,256,64")
    assert "tensor-cores" in [a.id for a in named.advice]


@pytest.mark.cuda
@pytest.mark.slow
def test_one_result_a_thread_is_told_to_hold_more() -> None:
    fault = Fault("one_result", "reuse", "larger-tile", (16, 16, 1), (16, 16, 1), ("n=256",))
    assert "several results a thread" in {a.title.split(": ")[-1] for a in advice_of(fault, False).advice}
