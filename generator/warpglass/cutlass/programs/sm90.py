"""Role programs of Hopper kernels, derived from CUTLASS 4.2.0 (paths below include/cutlass/gemm).

load, mma, mma_tail: collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp:372-577; with cp.async
collective/sm90_mma_multistage_gmma_ss_warpspecialized.hpp:260-314; with promotion
collective/sm90_mma_tma_gmma_ss_warpspecialized_fp8.hpp:488-559. Kernel layers:
kernel/sm90_gemm_tma_warpspecialized{,_pingpong,_cooperative}.hpp. Store: epilogue/collective/
sm90_epilogue_tma_warpspecialized.hpp:785-906.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpglass.cutlass import build as b

__all__ = ["MODES", "Traits", "sm90_program"]

MODES = ("pingpong", "cooperative", "basic")


@dataclass(frozen=True, slots=True)
class Traits:
    """What tells one Hopper mainloop from another.

    ``loads`` copies a stage; ``lag`` k-tiles between an MMA and the release of its stage; ``release`` says
    when: ``after`` the wait behind the next MMA, ``half`` at the second half of it (operand A from
    registers), ``drained`` behind a wait for all MMAs that still releases the tile before (block scaling).
    """

    loads: int = 2
    lag: int = 1
    release: str = "after"
    cp_async: bool = False
    promotion: bool = False


#: Place of a CTA in its cluster, and the CTA ``cj`` further along its row or column.
_ALONE = ["==", "ctas", 1]
_M, _N = ["%", "cta", "cm"], ["//", "cta", "cm"]
_ROW = ["+", _M, ["*", "cm", ["%", ["+", _N, "cj"], "cn"]]]
_COLUMN = ["+", ["%", ["+", _M, "cj"], "cm"], ["*", "cm", _N]]


def _multicast(number: int, loads: int) -> tuple[str, b.Node | list[Any]]:
    """(CTAs that share a copy, the one that takes it): B goes along a column, everything else along a row."""
    return ("cm", _COLUMN) if loads > 1 and number == loads - 1 else ("cn", _ROW)


def _copies(number: int, loads: int, name: str) -> b.Node:
    """The CTA's own part of a tile, sent to every CTA that shares it: one copy lands at several barriers."""
    share, taker = _multicast(number, loads)
    whole = ["max", 1, ["//", "X", loads]]
    time = ["if", ["==", "cj", 0], ["max", 1, ["//", whole, share]], 0]

    def copy(d: Any, **more: Any) -> b.Node:
        return b.async_("tma", d, "ml.full", "wr", f"TMA {name}", "load.copy", **more)

    return b.when(_ALONE, [copy(whole)], [b.loop("cj", share, [copy(time, of=taker)])])


def _release(anchor: str, step: Any) -> list[b.Node]:
    """Consumers give a stage back to every CTA that fills a part of it (sm90_pipeline.hpp:311-317)."""

    def give(**more: Any) -> b.Node:
        return b.arrive("ml.empty", "rel", anchor, step=step, **more)

    row = b.loop("cj", "cn", [give(of=_ROW)])
    column = b.loop("cj", ["-", "cm", 1], [give(of=_COLUMN)], 1)
    return [b.when(_ALONE, [give()], [row, column])]


def _load(traits: Traits) -> list[b.Node]:
    if traits.cp_async:
        body = [
            b.wait("ml.empty", "wr", "pipe empty", "load.acquire"),
            b.busy("cpi", "cp.async", anchor="load.copy"),
            b.arrive("ml.full", "wr", "load.commit", tx=1),
            b.async_("tma", "X", "ml.full", "wr", "stage", "load.copy"),
            b.advance("wr"),
        ]
    else:
        body = [
            b.wait("ml.empty", "wr", "pipe empty", "load.acquire"),
            # Every part of the stage counts, wherever in the cluster it was loaded.
            b.arrive(
                "ml.full",
                "wr",
                "load.acquire",
                tx=["+", *(_multicast(n, traits.loads)[0] for n in range(traits.loads))],
            ),
        ]
        for number in range(traits.loads):
            name = "AB"[number] if traits.loads == 2 else str(number)
            body.append(b.busy("i", f"TMA {name}", anchor="load.copy"))
            body.append(_copies(number, traits.loads, name))
        body.append(b.advance("wr"))
    return body


def _tail(pipe: str, state: str, stages: Any, anchor: str) -> b.Node:
    wait = b.wait(f"{pipe}.empty", state, "tail", anchor, tail=1)
    return b.loop("s", stages, [wait, b.advance(state)])


def _promote(anchor: str) -> list[b.Node]:
    return [b.wgwait(0, "MMA retire", anchor, label="promote"), b.busy("PD", "promote", "promote", anchor)]


def _mma(traits: Traits, reads: str = "rd") -> list[b.Node]:
    """One output tile of the mainloop, tail included only as far as mma() goes."""
    release = [*_release("mma.release", ["-", "t", "pro"]), b.advance("rel")]
    head = [b.wait("ml.full", "cur", "pipe full", "mma.wait")]
    if traits.release == "half":
        body = [
            *head,
            b.mma(["//", "M", 2], "MMA", "ml.full", "cur", "mma.issue"),
            b.when([">=", "t", "pro"], [b.wgwait(1, "MMA retire", "mma.retire"), *release]),
            b.mma(["-", "M", ["//", "M", 2]], "MMA", "ml.full", "cur", "mma.issue"),
            b.advance("cur"),
        ]
    else:
        left = 0 if traits.release == "drained" else "lag"
        body = [*head, b.mma("M", "MMA", "ml.full", "cur", "mma.issue"), b.advance("cur")]
        if traits.release == "drained":
            body.append(b.wgwait(0, "MMA retire", "mma.retire"))
        else:
            body.append(b.when([">=", "t", "pro"], [b.wgwait(left, "MMA retire", "mma.retire")]))
        if traits.promotion:
            due = [b.put("cnt", ["if", ["==", "cnt", ["-", "P", 1]], 0, ["+", "cnt", 1]])]
            due.append(b.when(["==", "cnt", 0], _promote("mma.promote")))
            body += due
        body.append(b.when([">=", "t", "pro"], release))
    nodes = [b.copy_state("cur", reads), b.copy_state("rel", reads)]
    if traits.promotion:
        nodes.append(b.put("cnt", 0))
    nodes.append(b.loop("t", "K", body))
    if traits.promotion:
        nodes.append(b.when("cnt", _promote("mma.residue")))
    return nodes


def _mma_tail(state: str) -> list[b.Node]:
    last = ["-", "K", "pro"]
    return [
        b.copy_state("rel", state),
        b.advance("rel", last),
        b.wgwait(0, "MMA retire", "tail.retire"),
        b.loop("x", "pro", [*_release("tail.release", ["+", last, "x"]), b.advance("rel")]),
    ]


def _load_c(work: str) -> b.Node:
    take = [
        b.wait("C.full", "ce", "C full", "store.wait_c"),
        b.busy(1, work, "epilogue", "store.read_c"),
        b.arrive("C.empty", "ce", "store.release_c"),
        b.advance("ce"),
    ]
    return b.when("SC", take)


def _store() -> list[b.Node]:
    body = [
        _load_c("read C"),
        b.busy("EC", "epilogue", "epilogue", "store.compute"),
        b.store("ES", "store D", "store.issue"),
        b.stwait(["-", "SD", 1], "store.acquire"),
    ]
    return [b.loop("n", "NE", body)]


def _consumer_pingpong(traits: Traits, g: int) -> list[b.Node]:
    def order(anchor: str) -> b.Node:
        index = ["+", ["*", ["idx", "ob"], 2], g]
        return b.wait("ord", None, "order barrier", anchor, index=index, parity=["ph", "ob"])

    def hand_on(anchor: str) -> list[b.Node]:
        return [
            b.arrive("ord", None, anchor, index=["+", ["*", ["idx", "ob"], 2], (g + 1) % 2]),
            b.advance("ob"),
        ]

    tile = [
        order("kernel.order_mma"),
        *_mma(traits),
        *hand_on("kernel.hand_on_mma"),
        *_mma_tail("rd"),
        b.advance("rd", ["*", 2, "K"]),
        order("kernel.order_store"),
        *_store(),
        b.stwait(0, "kernel.store_tail"),
        b.when("SC", [b.advance("ce", "NE")]),
        *hand_on("kernel.hand_on_store"),
    ]
    return [
        b.state("rd", "S"),
        b.advance("rd", ["*", "K", g]),
        b.state("ob", 2, 1 - g),
        b.when("SC", [b.state("ce", "SC"), b.advance("ce", ["*", "NE", g])]),
        b.loop("o", ["cdiv", ["-", "O", g], 2], tile, g, 2),
    ]


def _consumer_together(traits: Traits, g: int, consumers: Any) -> list[b.Node]:
    subtile = [
        _load_c("read C"),
        b.busy("EC", "epilogue", "epilogue", "store.compute"),
        b.sync("EpiBar", consumers, "named barrier", "store.sync"),
        *(
            [
                b.store(["*", "ES", consumers], "store D", "store.issue"),
                b.stwait(["-", "SD", 1], "store.acquire"),
            ]
            if g == 0
            else []
        ),
        b.sync("EpiBar", consumers, "named barrier", "store.sync"),
    ]
    tile = [*_mma(traits), *_mma_tail("rd"), b.advance("rd", "K"), b.loop("n", "NE", subtile)]
    start = [b.state("rd", "S"), b.when("SC", [b.state("ce", "SC")])]
    return [*start, b.loop("o", "O", tile), b.stwait(0, "kernel.store_tail")]


def _load_lane(traits: Traits) -> list[b.Node]:
    tile = [
        b.loop("t", "K", _load(traits)),
        b.when(["and", ["==", "o", 0], "SC"], [b.arrive("lord", None, "kernel.load_order", index=1)]),
    ]
    return [b.state("wr", "S", 1), b.loop("o", "O", tile), _tail("ml", "wr", "S", "load.tail")]


def _epilogue_load_lane() -> list[b.Node]:
    one = [
        b.wait("C.empty", "ce", "C empty", "cload.acquire"),
        b.arrive("C.full", "ce", "cload.acquire", tx=1),
        b.busy(1, "TMA C", anchor="cload.copy"),
        b.async_("tma", 1, "C.full", "ce", "TMA C", "cload.copy"),
        b.advance("ce"),
    ]
    return [
        b.state("ce", "SC", 1),
        b.wait("lord", None, "load order", "kernel.wait_load_order", index=1, parity=0),
        b.loop("o", "O", [b.loop("n", "NE", one)]),
        _tail("C", "ce", "SC", "cload.tail"),
    ]


def sm90_program(mode: str, traits: Traits = Traits(), title: str = "") -> b.Node:
    """The program of a Hopper kernel in ``mode`` (pingpong, cooperative, basic) with that mainloop."""
    consumers: Any = {"pingpong": 1, "cooperative": "W", "basic": 1}[mode]
    names = ["S", "K", "O", "L", "X", "M", "i", "NE", "EC", "ES", "SD", "SC"]
    names += ["W"] if mode == "cooperative" else []
    # cp.async fills the CTA's own shared memory only.
    names += [] if traits.cp_async else ["cm", "cn"]
    names += ["cpi"] if traits.cp_async else []
    names += ["P", "PD"] if traits.promotion else []
    knobs = [b.knob(name) for name in names] + [b.knob("lag", traits.lag)]
    if traits.release != "after":
        knobs = [b.knob(name) for name in names] + [b.knob("lag", 1, min=1, max=1)]
    knobs += b.memory_knobs(8 if traits.promotion else 16)
    lanes = [b.lane("Producer", "mainloop load", _load_lane(traits))]
    lanes.append(b.lane("EpiLoad", "epilogue load", _epilogue_load_lane(), on="SC"))
    bars = [{"name": "lord", "size": 2, "count": 1}]
    if mode == "pingpong":
        bars.append({"name": "ord", "size": 4, "count": 1})
        lanes += [b.lane(f"Consumer{g}", "MMA and epilogue", _consumer_pingpong(traits, g)) for g in range(2)]
    else:
        most = 3 if mode == "cooperative" else 1
        lanes += [
            b.lane(
                f"Consumer{g}",
                "MMA and epilogue",
                _consumer_together(traits, g, consumers),
                on=[">", consumers, g],
            )
            for g in range(most)
        ]
    per_tile = ["*", "M", consumers]
    lag = "lag" if traits.release == "after" else 1
    parts = [["max", 1, ["//", ["max", 1, ["//", "X", traits.loads]], _multicast(n, traits.loads)[0]]]
             for n in range(traits.loads)]  # fmt: skip
    moved = ["if", ["==", "ctas", 1], "X", ["+", *parts]]
    issue: Any = ["+", "cpi", "X"] if traits.cp_async else ["max", moved, ["*", traits.loads, "i"]]
    cluster = [["cm", 1], ["cn", 1]] if traits.cp_async else []
    kind = "PipelineAsync" if traits.cp_async else "PipelineTmaAsync"
    return b.program(
        f"sm90-{mode}",
        title or f"SM90 {mode}",
        schedule=mode,
        knobs=knobs,
        let=[["pro", ["min", lag, "K"]], *cluster, ["ctas", ["*", "cm", "cn"]]],
        ctas="ctas",
        pipes=[
            b.pipe("ml", kind, "S", 1, ["*", ["+", "cm", "cn", -1], consumers], "mainloop"),
            b.pipe("C", "PipelineTransactionAsync", "SC", 1, consumers, "C load"),
        ],
        bars=bars,
        named=[{"name": "EpiBar"}],
        engines=[b.engine("tma", "tma", "L"), b.engine("tc", "tc"), b.engine("st", "store")],
        lanes=lanes,
        work={"tiles": "O", "steps": "K", "tile_scale": consumers if mode == "cooperative" else 1},
        bounds=[
            {"name": "tensor core", "value": per_tile},
            {"name": "transfer", "value": issue},
            {
                "name": "latency over the stages that can be ahead",
                "value": ["cdiv", ["+", "L", moved], ["max", 1, ["-", "S", lag]]],
            },
        ],
        memory=b.MEMORY,
        least_stages=["+", lag, ["cdiv", ["+", "L", moved], ["max", per_tile, issue]]],
    )
