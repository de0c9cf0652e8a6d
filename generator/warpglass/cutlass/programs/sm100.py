"""Role programs of Blackwell kernels, derived from CUTLASS 4.2.0 (paths below include/cutlass/gemm).

Roles: kernel/sm100_gemm_tma_warpspecialized.hpp:616-954; mma:
collective/sm100_mma_warpspecialized.hpp:586-709; scale factors:
collective/sm100_blockscaled_mma_warpspecialized.hpp:944-1082; the work of the next tile:
kernel/sm100_tile_scheduler.hpp:456-472; store:
epilogue/collective/sm100_epilogue_tma_warpspecialized.hpp:802-945.

One CTA (1SM) or a pair of which the first issues every MMA (2SM): the knob ``CTA``.
"""

from __future__ import annotations

from typing import Any

from warpglass.cutlass import build as b

__all__ = ["sm100_program"]


def _fetch() -> list[b.Node]:
    """Every role takes the coordinates of its next tile from the scheduler's pipeline."""
    return [
        b.wait("clc.full", "co", "CLC", "kernel.fetch"),
        b.busy(1, "decode", "scheduler", "kernel.fetch"),
        b.arrive("clc.empty", "co", "kernel.fetch"),
        b.advance("co"),
    ]


def _tail(bar: str, name: str, stages: Any, anchor: str) -> b.Node:
    return b.loop("s", stages, [b.wait(bar, name, "tail", anchor, tail=1), b.advance(name)])


def _scheduler() -> list[b.Node]:
    tile = [
        b.wait("thr.full", "th", "throttle", "sched.throttle"),
        b.arrive("thr.empty", "th", "sched.throttle"),
        b.advance("th"),
        b.wait("clc.empty", "pr", "CLC empty", "sched.acquire"),
        b.arrive("clc.full", "pr", "sched.acquire", tx=1),
        b.busy(1, "try_cancel", "scheduler", "sched.query"),
        b.async_("clc", 1, "clc.full", "pr", "CLC query", "sched.query"),
        b.advance("pr"),
        *_fetch(),
    ]
    states = [b.state("pr", "SS", 1), b.state("co", "SS"), b.state("th", "SS")]
    return [*states, b.loop("o", "O", tile), _tail("clc.empty", "pr", "SS", "sched.tail")]


def _loads(cta: int, block_scaled: bool) -> list[b.Node]:
    engine = "tma" if cta == 0 else "tma1"
    nodes = []
    for number, name in enumerate(("A", "B", "SFA", "SFB") if block_scaled else ("A", "B")):
        small = number >= 2
        nodes.append(b.busy(1 if small else "i", f"TMA {name}", anchor="load.copy"))
        time: Any = 1 if small else ["max", 1, ["//", "X", 2]]
        nodes.append(b.async_(engine, time, "ml.full", "wr", f"TMA {name}", "load.copy"))
    return nodes


def _load(cta: int, block_scaled: bool) -> list[b.Node]:
    empty = "ml.empty" if cta == 0 else "mlp.empty"
    copies = 4 if block_scaled else 2
    body = [b.wait(empty, "wr", "pipe empty", "load.acquire")]
    if cta == 0:
        # Only the leader expects, with the bytes of both CTAs: the peer's copies signal its barrier.
        body.append(b.arrive("ml.full", "wr", "load.acquire", tx=["*", copies, "CTA"]))
    body += [*_loads(cta, block_scaled), b.advance("wr")]
    throttle = [
        b.wait("thr.empty", "th", "throttle", "load.throttle"),
        b.arrive("thr.full", "th", "load.throttle"),
        b.advance("th"),
    ]
    tile = [*(throttle if cta == 0 else []), b.loop("t", "K", body), *_fetch()]
    states = [b.state("wr", "S", 1), b.state("co", "SS"), b.state("th", "SS", 1)]
    return [*states, b.loop("o", "O", tile), _tail(empty, "wr", "S", "load.tail")]


def _mma(block_scaled: bool) -> list[b.Node]:
    acquire = b.wait("acc.empty", "ac", "accumulator", "mma.acquire")
    peer = ["==", "CTA", 2]
    scale = b.mma("U", "scale copy", "ml.full", "rd", "mma.scale", kind="scale")
    body = [
        b.wait("ml.full", "rd", "pipe full", "mma.wait"),
        *([scale] if block_scaled else []),
        b.when(["and", "overlap", ["==", "t", 0]], [acquire]),
        b.busy("um", "issue MMA", anchor="mma.issue"),
        b.mma("M", "MMA", "ml.full", "rd", "mma.issue"),
        b.tcarrive("ml.empty", "rd", "mma.release"),
        b.when(peer, [b.tcarrive("mlp.empty", "rd", "mma.release")]),
        b.advance("rd"),
    ]
    tile = [
        *_fetch(),
        b.when(["not", "overlap"], [acquire]),
        b.loop("t", "K", body),
        b.tcarrive("acc.full", "ac", "mma.commit"),
        b.when(peer, [b.tcarrive("accp.full", "ac", "mma.commit")]),
        b.advance("ac"),
    ]
    states = [b.state("rd", "S"), b.state("ac", "acc", 1), b.state("co", "SS")]
    return [*states, b.loop("o", "O", tile), _tail("acc.empty", "ac", "acc", "mma.tail")]


def _epilogue(cta: int) -> list[b.Node]:
    full = "acc.full" if cta == 0 else "accp.full"
    last = ["if", "overlap", ["==", "n", 0], ["==", "n", ["-", "NE", 1]]]
    subtile = [
        b.when(["==", "n", 0], [b.wait(full, "ac", "accumulator", "store.wait")]),
        b.busy("T2R", "load accumulator", "epilogue", "store.load"),
        # The release goes to the leader's barrier, which counts both CTAs.
        b.when(last, [b.arrive("acc.empty", "ac", "store.release"), b.advance("ac")]),
        b.busy("EC", "epilogue", "epilogue", "store.compute"),
        b.store("ES", "store D", "store.issue"),
        b.stwait(["-", "SD", 1], "store.acquire"),
    ]
    tile = [*_fetch(), b.loop("n", "NE", subtile)]
    states = [b.state("ac", "acc"), b.state("co", "SS")]
    return [*states, b.loop("o", "O", tile), b.stwait(0, "store.tail")]


def sm100_program(block_scaled: bool = False, title: str = "") -> b.Node:
    """The program of a Blackwell kernel, dense or with scale factors."""
    names = [
        "S",
        "K",
        "O",
        "A",
        "overlap",
        "CTA",
        "L",
        "X",
        "M",
        "um",
        "i",
        "Q",
        "SS",
        "NE",
        "EC",
        "ES",
        "SD",
        "T2R",
    ]
    names += ["U"] if block_scaled else []
    knobs = [b.knob(name, min=1) if name == "NE" else b.knob(name) for name in names] + b.memory_knobs(
        16 if not block_scaled else 4
    )
    pair = ["==", "CTA", 2]
    lanes = [
        b.lane("Sched", "scheduler", _scheduler()),
        b.lane("MainloopLoad0", "mainloop load", _load(0, block_scaled)),
    ]
    lanes.append(b.lane("MainloopLoad1", "mainloop load", _load(1, block_scaled), 1, pair))
    lanes += [b.lane("MMA", "MMA", _mma(block_scaled)), b.lane("Epilogue0", "epilogue", _epilogue(0))]
    lanes.append(b.lane("Epilogue1", "epilogue", _epilogue(1), 1, pair))
    lanes.append(b.lane("MMA1", "MMA", [b.state("co", "SS"), b.loop("o", "O", _fetch())], 1, pair))
    work: Any = ["+", "M", "U"] if block_scaled else "M"
    issue: Any = ["+", "X", 2] if block_scaled else "X"
    return b.program(
        "sm100-blockscaled" if block_scaled else "sm100",
        title or ("SM100, block-scaled" if block_scaled else "SM100"),
        schedule="1sm or 2sm",
        knobs=knobs,
        let=[["acc", ["if", "overlap", 1, "A"]]],
        pipes=[
            b.pipe("ml", "PipelineTmaUmmaAsync", "S", 1, 1, "mainloop"),
            b.pipe("acc", "PipelineUmmaAsync", "acc", 1, "CTA", "accumulator"),
            b.pipe("clc", "PipelineCLCFetchAsync", "SS", 1, ["+", 1, ["*", 3, "CTA"]], "tile scheduler"),
            b.pipe("thr", "PipelineAsync", "SS", 1, 1, "throttle"),
        ],
        bars=[
            {"name": "mlp.empty", "size": "S", "count": 1},
            {"name": "accp.full", "size": "acc", "count": 1},
        ],
        engines=[
            b.engine("tma", "tma", "L"), b.engine("tc", "tc"), b.engine("st", "store"),
            b.engine("clc", "clc", "Q"),
            b.engine("tma1", "tma", "L"),
        ],
        lanes=lanes,
        work={"tiles": "O", "steps": "K", "tile_scale": 1},
        bounds=[
            {"name": "tensor core", "value": work},
            {"name": "transfer", "value": issue},
            {"name": "latency over the stages that can be ahead", "value": ["cdiv", ["+", "L", "X"], "S"]},
        ],
        least_stages=["cdiv", ["+", "L", "X", work], ["max", work, issue]],
        memory=b.MEMORY,
    )  # fmt: skip
