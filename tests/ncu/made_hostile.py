"""A made report whose every text and number is the worst that a file can hold."""

from __future__ import annotations

from ncu.writer import BASE, Writer
from warpglass.ncu.messages import message_class

#: Markup, a template's and a shell's brackets, bidi and invisible characters, NUL, an escape sequence.
EVIL = (
    '"><img src=x onerror=window.pwn=1></script><script>window.pwn=2</script>\u202eevil\u202c\x00\u200b'
    "${1}{{7*7}}\x1b[31m"
)
_SPEEDUPS = (1e308, -5.0, float("nan"), float("inf"), 50.0, 0.0)


def evil(tag: str) -> bytes:
    return (tag + EVIL).encode()


def hostile_report(length: int = 20_000) -> bytes:
    """Two launches; ``length`` letters without a gap wherever a text may stand."""
    long = "A" * length
    w = Writer()
    metrics: list[tuple[str, object, dict[object, object] | None]] = [
        ("device__attribute_compute_capability_major", 8, None),
        ("device__attribute_compute_capability_minor", 0, None),
        ("device__attribute_display_name", f"GPU{EVIL}{long}", None),
        ("gpu__time_duration.sum", 1e300, None),
        (f"evil__{EVIL}", 1e308, None),
        (f"text__{EVIL}", f"v{EVIL}{long}", None),
        (f"{long}__", 1.0, None),
        ("inst_executed", 5, {BASE: 5, BASE + 16: 7}),
        ("opcodes", 5, {EVIL: 3, long: 2, "b": 1}),
        (f"pmsampling:sm__x{EVIL}", 1.0, {1_700_000_000_000_000_000 + i * 1000: float(i) for i in range(9)}),
        (f"smsp__average_warps_issue_stalled_{EVIL}_per_issue_active.ratio", 3.0, None),
        ("breakdown:sm__throughput", f"a,{EVIL},{long}", None),
    ]
    results = []
    for k in range(2):
        result = w.result(
            "k", metrics, mangled_name=evil("_Z"), demangled_name=evil("void k<") + long.encode(), thread_id=1
        )
        result.function_name = evil("k")
        result.nvtx.domains.add(id=1, name=evil("domain"))
        stack = result.nvtx.threads.add(thread_id=1).stacks.add(domain=1)
        for name in (evil("outer"), long.encode(), "漢字".encode() * 50, b"\xff\xfe\x00 no utf8 \xc3"):
            stack.ranges.add(name=name)
        for severity, gain in enumerate(_SPEEDUPS):
            rule = result.rules.add(
                identifier=evil(f"R{severity}"), display_name=evil("rule"), section_identifier=evil("s")
            )
            item = rule.body.items.add()
            item.message.text, item.message.title = evil("text ") + long.encode(), evil("title ")
            item.message.type = severity
            item.speedup.type, item.speedup.percent = 2, gain
            item.focus.metric, item.focus.info = evil("m"), evil("i")
            item.focus.value = float("nan") if severity else 3.0
            rule.markers.add(kind=0, pc=BASE, message=evil("mark"))
            rule.markers.add(kind=1, line=2**40, file=evil("/a/b/"), message=evil(""))
        section = result.sections.add(
            identifier=evil("section"), display_name=evil("Section "), description=evil("") + long.encode()
        )
        section.header.metrics.add(name=f"evil__{EVIL}".encode(), label=evil("label"))
        section.header.metrics.add(name=f"text__{EVIL}".encode(), label=b"text")
        section.header.metrics.add(name=b"gpu__time_duration.sum", label=long.encode())
        items = section.body.add(display_name=evil("b")).items
        bars = items.add().bar_chart
        bars.label = evil("B")
        bars.metrics.add(name=b"opcodes", label=evil("l"), show_instances=1)
        curve = items.add().line_chart
        curve.label, curve.x_axis.label, curve.y_axis.label = evil("L"), evil("x"), long.encode()
        curve.metrics.add(name=b"inst_executed")
        roofline = items.add().roofline
        roofline.label, roofline.y_axis.label = evil("roof"), "[\u202eFLOP/s]".encode()
        for one, caption in ((roofline.roofs.add(), evil("cap")), (roofline.achieved.add(), long.encode())):
            one.work.metric.name, one.traffic.metric.name = b"inst_executed", b"inst_executed"
            one.caption.label = caption
        groups = items.add().timeline.groups.add(label=evil("g"))
        groups.rows.add().metrics.add(name=f"pmsampling:sm__x{EVIL}".encode(), label=evil("r"))
        table = items.add().metric_table
        table.label = evil("MT")
        table.columns.add().columns.add(suffix=b".sum", header=long.encode())
        table.rows.add().metrics.add(name=b"gpu__time_duration", label=evil("row"))
        spots = items.add().hot_spots
        spots.label = evil("HS")
        spots.metrics.add(name=b"inst_executed", label=evil("h"))
        frame = result.call_stack.frames.add(line=5)
        frame.function, frame.module = evil("fn"), evil("/usr/lib/") + long.encode()
        result.source.reference = 5
        result.mangled_name += str(k).encode()
        results.append(result)
    source = message_class("SourceData")(reference=5, sm_revision=8 << 16)
    source.imported.files.add(path=evil("/home/x/"), text=evil("__global__ ") + b"\n" + long.encode())
    source.functions.functions.add(name=evil("_Z") + b"0", address=BASE)
    session = message_class("BlockHeader")().session
    session.versions.add(provider=evil("CUDA"), version=long.encode())
    session.devices.add(id=0, name=evil("device"))
    w.block(sources=[source], results=results, session=session)
    return w.out
