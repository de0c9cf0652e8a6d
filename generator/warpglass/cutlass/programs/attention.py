"""Role programs of FlashAttention-3's forward kernel, derived from its headers (hopper/).

load and mma: mainloop_fwd_sm90_tma_gmma_ws.hpp:590-1352; roles: flash_fwd_kernel_sm90.h:308-451; store:
epilogue_fwd.hpp:249-327. Knobs choose between the mode with overlap inside a warpgroup (Q·K of one block
before P·V of the last one), the turns of the warpgroups at the tensor core, and V transposed by the producer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.cutlass import build as b

__all__ = ["attention_program"]

_TURNS = ["and", "sb", [">", "W", 1]]


def _copy(pipe: str, name: str, step: Any = None) -> list[b.Node]:
    more = {} if step is None else {"step": step}
    return [
        b.wait(f"{pipe}.empty", name, "pipe empty", f"load.{pipe}", **more),
        b.arrive(f"{pipe}.full", name, f"load.{pipe}", tx=1, **more),
        b.busy("i", f"TMA {pipe}", anchor=f"load.{pipe}", **more),
        b.async_("tma", "X", f"{pipe}.full", name, f"TMA {pipe}", f"load.{pipe}", **more),
    ]


def _transpose(name: str) -> list[b.Node]:
    return [
        # The producer reads what it wrote itself: the other phase of the same state.
        b.wait("Vt.full", name, "pipe full", "load.transpose", flip=1),
        b.wait("V.empty", name, "pipe empty", "load.transpose"),
        b.busy("TR", "transpose V", "copy", "load.transpose"),
        b.arrive("V.full", name, "load.transpose"),
        b.arrive("Vt.empty", name, "load.transpose"),
    ]


def _producer() -> list[b.Node]:
    n = ["-", "N", 1]
    step = [
        b.copy_state("wv", "w"),
        b.advance("w"),
        b.when("vt", _copy("Vt", "w")),
        *_copy("K", "w"),
        b.when(["not", "vt"], [b.when("ov", _copy("V", "wv", ["-", "t", 1]), _copy("V", "w"))]),
        b.when("vt", _transpose("wv")),
    ]
    last = {"step": n}
    tile = [
        b.when("vt", _copy("Vt", "w", 0)),
        *_copy("K", "w", 0),
        b.sync("QueryEmpty", ["+", "W", 1], "named barrier", "load.query_empty"),
        b.arrive("Q", None, "load.Q", index=0, tx=1),
        b.busy("i", "TMA Q", anchor="load.Q"),
        b.async_("tma", "X", "Q", None, "TMA Q", "load.Q"),
        b.wait("O", None, "output stored", "load.barrier_o", index=0, parity=["%", ["+", "o", 1], 2]),
        b.when(["and", ["not", "vt"], ["not", "ov"]], _copy("V", "w", 0)),
        b.loop("t", n, step, 1),
        b.when(["and", ["not", "vt"], "ov"], _copy("V", "w", n)),
        b.when("vt", _transpose("w")),
        b.advance("w"),
    ]

    def tail(pipe: str) -> list[b.Node]:
        wait = b.wait(f"{pipe}.empty", "x", "tail", "load.tail", tail=1)
        return [b.copy_state("x", "w"), b.loop("s", "S", [wait, b.advance("x")])]

    del last
    return [
        b.state("w", "S", 1),
        b.loop("o", "O", tile),
        b.wait("O", None, "output stored", "load.tail_o", index=0, parity=["%", ["+", "O", 1], 2]),
        *tail("K"),
        *tail("V"),
        b.when("vt", tail("Vt")),
    ]


def _turn(g: int) -> b.Node:
    return b.when(_TURNS, [b.sync("WS", 2, "scheduler barrier", "mma.turn", index=g)])


def _hand_on(g: int) -> b.Node:
    return b.when(_TURNS, [b.barrive("WS", 2, "mma.hand_on", index=["%", g + 1, "W"])])


def _qk(step: Any) -> b.Node:
    return b.mma("MQ", "Q·K", "K.full", "r", "mma.qk", step=step)


def _pv(name: str, step: Any) -> b.Node:
    return b.mma("MP", "P·V", "V.full", name, "mma.pv", step=step)


def _overlapped(g: int) -> list[b.Node]:
    first = g == 0
    # With turns only the first warpgroup waits itself: the others hear of it by the scheduler barrier.
    waits: Any = 1 if first else ["not", "sb"]
    n = ["-", "N", 1]
    step = [
        b.copy_state("rv", "r"),
        b.advance("r"),
        b.when(waits, [b.wait("K.full", "r", "pipe full", "mma.wait_k")]),
        _turn(g),
        _qk("t"),
        b.when(waits, [b.wait("V.full", "rv", "pipe full", "mma.wait_v", step=["-", "t", 1])]),
        _pv("rv", ["-", "t", 1]),
        _hand_on(g),
        b.wgwait(1, "MMA retire", "mma.retire_qk"),
        b.arrive("K.empty", "r", "mma.release_k"),
        b.busy("SM", "softmax", "softmax", "mma.softmax"),
        b.wgwait(0, "MMA retire", "mma.retire_pv"),
        b.arrive("V.empty", "rv", "mma.release_v", step=["-", "t", 1]),
        b.busy("RS", "rescale", "softmax", "mma.rescale"),
    ]
    return [
        b.wait("K.full", "r", "pipe full", "mma.wait_k", step=0),
        _qk(0),
        b.wgwait(0, "MMA retire", "mma.retire_qk", step=0),
        b.arrive("K.empty", "r", "mma.release_k", step=0),
        b.busy("SM", "softmax", "softmax", "mma.softmax", step=0),
        b.loop("t", n, step, 1),
        b.barrive("QueryEmpty", ["+", "W", 1], "mma.query_empty"),
        b.wait("V.full", "r", "pipe full", "mma.wait_v", step=n),
        _pv("r", n),
        b.wgwait(0, "MMA retire", "mma.retire_pv", step=n),
        b.arrive("V.empty", "r", "mma.release_v", step=n),
        b.busy("RS", "rescale", "softmax", "mma.rescale", step=n),
        b.advance("r"),
    ]


def _plain(g: int) -> list[b.Node]:
    step = [
        b.when("t", [b.advance("r")]),
        b.wait("K.full", "r", "pipe full", "mma.wait_k"),
        _qk("t"),
        _hand_on(g),
        b.wgwait(0, "MMA retire", "mma.retire_qk"),
        b.arrive("K.empty", "r", "mma.release_k"),
        b.busy(["+", "SM", ["if", "t", "RS", 0]], "softmax", "softmax", "mma.softmax"),
        b.wait("V.full", "r", "pipe full", "mma.wait_v"),
        _turn(g),
        _pv("r", "t"),
        b.wgwait(0, "MMA retire", "mma.retire_pv"),
        b.arrive("V.empty", "r", "mma.release_v"),
    ]
    return [
        _turn(g),
        b.loop("t", "N", step),
        _hand_on(g),
        b.barrive("QueryEmpty", ["+", "W", 1], "mma.query_empty"),
        b.advance("r"),
    ]


def _consumer(g: int) -> list[b.Node]:
    stored = [
        b.store("ES", "store O", "store.issue"),
        b.stwait(0, "store.wait"),
        b.arrive("O", None, "store.done", index=0),
    ]
    tile = [
        b.wait("Q", None, "Q", "mma.wait_q", index=0, parity=["%", "o", 2]),
        b.when("ov", _overlapped(g), _plain(g)),
        b.sync("EpiBar", "W", "named barrier", "store.sync"),
        b.busy("EC", "epilogue", "epilogue", "store.compute"),
        b.sync("EpiBar2", "W", "named barrier", "store.sync"),
        b.when(["==", "W", g + 1], stored),
    ]
    start = [b.state("r", "S"), b.barrive("QueryEmpty", ["+", "W", 1], "mma.init")]
    if g == 0:
        start.append(b.when(_TURNS, [b.barrive("WS", 2, "mma.init", index=0)]))
    return [*start, b.loop("o", "O", tile)]


def attention_program(title: str = "", modes: Mapping[str, int] | None = None) -> b.Node:
    """The forward program with all its modes as knobs. ``S`` stages each for K and V.

    ``modes`` are the defaults of ``ov``, ``sb`` and ``vt`` that a header decides.
    """
    defaults = {"S": 2, "O": 2, "X": 3, "EC": 6, "ES": 4, **(modes or {})}
    names = ["N", "S", "O", "W", "ov", "sb", "vt", "L", "X", "MQ", "MP", "SM", "RS", "TR", "i", "EC", "ES"]
    lanes = [b.lane("Producer", "mainloop load", _producer())]
    lanes += [b.lane(f"WG{g + 1}", "MMA and softmax", _consumer(g), on=[">", "W", g]) for g in range(3)]
    both = ["+", "MQ", "MP"]
    return b.program(
        "attention",
        title or "Attention, forward",
        schedule="attention",
        knobs=[b.knob(name, defaults.get(name)) for name in names],
        pipes=[
            b.pipe("K", "PipelineTmaAsync", "S", 1, "W", "K"),
            b.pipe("V", "PipelineTmaAsync", "S", 1, "W", "V"),
            b.pipe("Vt", "PipelineTmaAsync", ["if", "vt", "S", 0], 1, 1, "V as loaded"),
        ],
        bars=[{"name": "Q", "count": 1}, {"name": "O", "count": 1}],
        named=[{"name": "QueryEmpty"}, {"name": "WS", "size": 3}, {"name": "EpiBar"}, {"name": "EpiBar2"}],
        engines=[b.engine("tma", "tma", "L"), b.engine("tc", "tc"), b.engine("st", "store")],
        lanes=lanes,
        work={"tiles": "O", "steps": "N", "tile_scale": 1},
        bounds=[
            {"name": "tensor core", "value": ["*", "W", both]},
            {"name": "transfer", "value": ["*", 2, "X"]},
            {
                "name": "one warpgroup's own chain",
                "value": ["if", "ov", ["+", ["max", "MP", "SM"], "MQ", "RS"], ["+", both, "SM", "RS"]],
            },
        ],
        least_stages=["+", 1, ["cdiv", ["+", "L", "X"], ["max", ["*", "W", both], ["*", 2, "X"]]]],
    )
