"""CSV and text exports in the styles of several profiler versions and locales."""

from __future__ import annotations

# ruff: noqa: E501 (rows of a CSV cannot be wrapped)
import pytest

from warpglass import ncu
from warpglass.errors import ParseError, WarpglassError
from warpglass.inputs.sniff import sniff
from warpglass.ncu.details_text import parse_details_text
from warpglass.ncu.exports import normal_unit, parse_csv
from warpglass.ncu.layout import layout

DETAILS_2020 = """==PROF== Connected to process 1
app says hello
"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
"0","9","app","h","axpy(float*, int)","2021-Sep-21 10:11:12","1","7","Speed Of Light","Duration","usecond","1,234.50"
"0","9","app","h","axpy(float*, int)","2021-Sep-21 10:11:12","1","7","Speed Of Light","SM Frequency","cycle/nsecond","1.5"
==WARNING== something in the middle
"1","9","app","h","axpy(float*, int)","2021-Sep-21 10:11:13","1","7","Launch","Cache","","CachePreferNone"
"""
DETAILS_2024 = """"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","9","app","h","k(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.6","SOL","Throughput","%","n/a","","","","",""
"0","9","app","h","k(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","8.6","SOL","","","","Bottleneck","OPT","Balance the work","global","12.5"
"""
RAW = """"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes.sum","smsp__pct"
"","","","","","","","","","","","Mbyte","%"
"0","9","app","h","k","1","7","(32, 1, 1)","(2, 1, 1)","0","8.6","2.5","33.25"
"""
EUROPEAN = """"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","k","gpu__time_duration.sum","ns","117.344"
"0","k","dram__bytes.sum","byte","27.595.520"
"0","k","sm__throughput","%","65,77"
"""


def test_the_oldest_style() -> None:
    """The public question csv-warning-before-header: anything may stand before the header."""
    report = parse_csv(DETAILS_2020)
    assert [launch.name for launch in report.launches] == ["axpy(float*, int)"] * 2
    first = report.launches[0]
    assert (first["Duration"].value, first["Duration"].unit) == (1_234_500.0, "ns")
    assert (first["SM Frequency"].value, first["SM Frequency"].unit) == (1.5e9, "hz")
    assert report.launches[1].get("Cache") == "CachePreferNone"


def test_rules_and_missing_values() -> None:
    (launch,) = parse_csv(DETAILS_2024).launches
    assert launch.grid == (4, 2, 1)
    assert launch.block == (128, 1, 1)
    assert "Throughput" in launch.metrics
    assert launch.get("Throughput") is None
    (rule,) = launch.rules
    assert (rule.name, rule.messages[0].severity, rule.speedup) == ("Bottleneck", "optimization", 12.5)


def test_the_wide_raw_page() -> None:
    (launch,) = parse_csv(RAW).launches
    assert (launch["dram__bytes.sum"].value, launch["dram__bytes.sum"].unit) == (2_500_000.0, "byte")
    assert launch.get("smsp__pct") == 33.25


def test_european_separators_are_inferred_from_the_file() -> None:
    """The public question csv-locale."""
    (launch,) = parse_csv(EUROPEAN).launches
    assert launch.get("gpu__time_duration.sum") == 117_344
    assert launch.get("dram__bytes.sum") == 27_595_520
    assert launch.get("sm__throughput") == 65.77


def test_two_reports_in_one_file_stay_apart() -> None:
    other = EUROPEAN.replace('"k"', '"other"').split("\n", 1)[1]
    report = parse_csv(EUROPEAN + other)
    assert [launch.name for launch in report.launches] == ["k", "other"]


SUMMARY = (
    '"Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
    '"1","a","h","k(int)","1","7","(256, 1, 1)","(10, 1, 1)","0","8.6","3","GPU Speed Of Light Throughput",'
    '"Duration","us","1.00","3,000.50","2.50"\n'
)


def test_a_summary_page_gives_means_and_both_ends() -> None:
    report = ncu.parse(SUMMARY.encode(), "summary.csv")
    (launch,) = report.launches
    assert launch["gpu__time_duration.sum"] == 2500
    assert launch["gpu__time_duration.sum (minimum)"] == 1000
    assert launch["gpu__time_duration.sum (maximum)"] == 3_000_500
    assert "means" in report.problems[0]
    assert sniff(SUMMARY.encode(), "x.txt") == "ncu-csv"


def test_a_log_without_kernels_says_so() -> None:
    log = b"==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n"
    for name in ("log.csv", "log.txt"):
        with pytest.raises(ParseError, match="no kernels were profiled"):
            ncu.parse(log, name)


def test_a_file_without_header_says_so() -> None:
    with pytest.raises(ParseError, match="no CSV header"):
        parse_csv("==ERROR== No kernels were profiled.\n")


TEXT = """==PROF== Profiling
  void axpy<float>(float *, int) (4, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.6
    Section: GPU Speed Of Light Throughput
    ----------------------- ------------- ------------
    Metric Name               Metric Unit Metric Value
    ----------------------- ------------- ------------
    DRAM Frequency          cycle/nsecond         7.29
    Elapsed Cycles                  cycle      123,456
    Memory Throughput                   %        45.10
    ----------------------- ------------- ------------

    OPT   Est. Speedup: 50%
          This kernel is too small.

  gemm(int), 2021-Sep-21 10:11:12, Context 1, Stream 7
    Section: Launch Statistics
    Grid Size                                        8
"""


def test_the_details_page_as_text() -> None:
    first, second = parse_details_text(TEXT).launches
    assert first.name == "void axpy<float>(float *, int)"
    assert first.block == (128, 1, 1)
    assert first.get("GPU Speed Of Light Throughput: Elapsed Cycles") == 123_456
    assert first["GPU Speed Of Light Throughput: DRAM Frequency"].unit == "hz"
    assert first.rules[0].speedup == 50
    assert first.rules[0].messages[0].text == "This kernel is too small."
    assert second.name == "gemm(int)"
    assert second.get("Launch Statistics: Grid Size") == 8


NVTX_RAW = (
    '"ID","Kernel Name","Context","Stream",'
    '"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",'
    '"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",'
    '"gpu__time_duration.sum","sass__inst_executed_per_opcode","inst_executed"\n'
    '"","","","","","","us","inst","inst"\n'
    '"0","k(int)","1","7","123  ""<default domain>:step 1:none:none:none:none:none:none"" '
    '""lib:thrust::reduce:none:none:none:none:none:none"" '
    '""<default domain>:loss:none:none:none:none:none:none"" ",'
    '"""4:train:epoch:none:none:none:none:none:none""","2.50 (1.50; 1.00)","1,158 (FFMA: 1,000; IADD3: 158)",'
    '"30 (0: 10; 16: 20)"\n'
    '"1","other","1","7","","","n/a","7","n/a (0: n/a)"\n'
)


def test_ranges_and_instances_of_the_raw_page() -> None:
    report = ncu.parse(NVTX_RAW.encode(), "raw.csv")
    first, second = report.launches
    assert [str(path) for path in first.nvtx] == [
        "<default domain>@step 1/loss", "lib@thrust::reduce", "train@epoch",
    ]  # fmt: skip
    assert second.nvtx == ()
    assert report.single("lib@**") is first
    time = first["gpu__time_duration.sum"]
    assert (time.value, time.unit) == (2500.0, "ns")
    assert [(i.key, i.value) for i in time.instances] == [(0, 1500.0), (1, 1000.0)]
    opcodes = first["sass__inst_executed_per_opcode"]
    assert opcodes.value == 1158
    assert [(i.key, i.value) for i in opcodes.instances] == [("FFMA", 1000), ("IADD3", 158)]
    assert [(i.key, i.value) for i in first["inst_executed"].instances] == [(0, 10), (16, 20)]
    assert second["gpu__time_duration.sum"].value is None
    assert second["inst_executed"].value is None
    assert second["inst_executed"].instances[0].value is None
    assert not any(":" in name for name in first.metrics)


@pytest.mark.parametrize(
    ("said", "gain", "scope"),
    [
        ("Est. Speedup: 12.5%", 12.5, "global"),
        ("Est. Local Speedup: 27,1%", 27.1, "local"),
        ("Estimated Speedup: 50%", 50.0, "global"),
        ("Est. Speedup: 1.2.3%", None, "global"),
        ("Est. Speedup: ,%", None, "global"),
    ],
)
def test_gains_of_the_details_text(said: str, gain: float | None, scope: str) -> None:
    (rule, *_) = parse_details_text(TEXT.replace("Est. Speedup: 50%", said)).launches[0].rules
    assert (rule.speedup, rule.messages[0].scope) == (gain, scope)
    assert rule.messages[0].text == "This kernel is too small."


#: As ncu 2025 writes it: rows of metrics end behind their value, the cells of rules are left away.
SHORT_ROWS = """==PROF== Connected to process 3 (/opt/app)
2208    2048    5608    0       358.154755
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","3","a","h","k","1","7","(384, 1, 1)","(9, 32, 1)","0","10.0","GPU Speed Of Light Throughput","Duration","ns","406240",
"0","3","a","h","k","1","7","(384, 1, 1)","(9, 32, 1)","0","10.0","LaunchStats","","","","LaunchConfiguration","OPT","A wave","global","50"
"0","3","a","h","k","1","7","(384, 1, 1)","(9, 32, 1)","0","10.0","Launch Statistics","Enabled TPC IDs","","all",
"""


def test_rows_that_end_behind_their_value_are_whole() -> None:
    report = parse_csv(SHORT_ROWS)
    assert report.problems == ()
    (launch,) = report
    assert launch["gpu__time_duration.sum"] == 406_240
    assert launch.get("Enabled TPC IDs") == "all"
    assert launch.rules[0].speedup == 50


def test_rows_of_other_lengths_are_counted() -> None:
    cut = SHORT_ROWS + '"0","3","a"\n"0","3","b"\n' + ",".join(['"9"'] * 25) + "\n"
    assert parse_csv(cut).problems == (
        "2 rows of 3 cells where the header has 20 (the first is row 5)",
        "1 row of 25 cells where the header has 20 (the first is row 7)",
    )


@pytest.mark.parametrize("name", ["short.csv", "raw.csv", "details.txt", "plain.csv"])
def test_a_cut_gives_no_part_of_a_number(name: str) -> None:
    plain = "ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,a__b.sum,,12345\n0,k,c__d.sum,,678\n"
    text = {"short.csv": SHORT_ROWS, "raw.csv": RAW, "details.txt": TEXT, "plain.csv": plain}[name]
    whole = {
        (launch.index, metric.name, metric.value)
        for launch in ncu.parse(text.encode(), name)
        for metric in launch.metrics.values()
    }
    read = 0
    for length in range(len(text)):
        try:
            report = ncu.parse(text[:length].encode(), name)
        except WarpglassError:
            continue
        found = {(one.index, m.name, m.value) for one in report for m in one.metrics.values()}
        assert found - whole <= {f for f in found if f[2] is None}, text[:length][-40:]
        read += bool(found)
    assert read > 1


WIDE_VALUES = """  k(int) (32, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 12.0
    Section: GPU and Memory Workload Distribution
    -------------------------- ----------- -------------
    Metric Name                Metric Unit  Metric Value
    -------------------------- ----------- -------------
    Total DRAM Elapsed Cycles        cycle 2,285,443,072
    Average DRAM Active Cycles       cycle    300,068.50
    Stack Size                                     1,024
    -------------------------- ----------- -------------

    OPT   Est. Speedup: 22.08%
          One or more SMs have a much higher number of active cycles.
    ----- --------------------------------------------------------------
    OPT   Est. Speedup: 22.11%
          Second.
"""


def test_values_as_wide_as_their_column_keep_apart_from_their_unit() -> None:
    (launch,) = parse_details_text(WIDE_VALUES).launches
    section = "GPU and Memory Workload Distribution"
    found = {
        label: launch.metrics[f"{section}: {label}"]
        for label in ("Total DRAM Elapsed Cycles", "Average DRAM Active Cycles", "Stack Size")
    }
    assert [(m.value, m.unit) for m in found.values()] == [
        (2_285_443_072, "cycle"), (300_068.5, "cycle"), (1024, ""),
    ]  # fmt: skip
    assert [(r.speedup, r.messages[0].text) for r in launch.rules] == [
        (22.08, "One or more SMs have a much higher number of active cycles."), (22.11, "Second."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "value", "base"),
    [
        ("usecond", 1.5, ("ns", 1500.0)), ("Tbyte/second", 2.0, ("byte/s", 2e12)), ("Thz", 1.0, ("hz", 1e12)),
        ("Kbyte/block", 1.02, ("byte/block", 1020.0)), ("cycle/usecond", 584.99, ("hz", 584.99e6)),
        ("inst/cycle", 2.0, ("inst/cycle", 2.0)), ("Ghz", None, ("hz", None)),
    ],
)  # fmt: skip
def test_units_drifted(unit: str, value: float | None, base: tuple[str, float | None]) -> None:
    name, number = normal_unit(unit, value)
    assert (name, number) == (base[0], pytest.approx(base[1]) if base[1] is not None else None)


def test_items_below_a_section_are_tables_of_their_own() -> None:
    head = (
        '"ID","Kernel Name","Block Size","Grid Size","CC","Section Name","Body Item Label","Metric Name",'
        '"Metric Unit","Metric Value"\n'
    )
    cells = (
        ("", "Duration", "ns", "100"),
        ("Single Precision Roofline", "SM Frequency", "hz", "1,000"),
        ("Single Precision Roofline", "Peak", "inst", "64"),
        ("Single Precision Achieved Value", "SM Frequency", "hz", "990"),
    )
    rows = "".join(
        f'"0","k","(32, 1, 1)","(1, 1, 1)","9.0","GPU Speed Of Light Throughput","{item}","{name}","{unit}","{value}"\n'
        for item, name, unit, value in cells
    )
    (launch,) = parse_csv(head + rows).launches
    (section,) = layout(launch)
    assert [cell.metric for cell in section.header] == ["gpu__time_duration.sum"]
    found = [
        (block.title, label, launch.number(cell.metric))
        for block in section.blocks
        for label, (cell,) in block.rows
    ]
    assert found == [
        ("Single Precision Roofline", "SM Frequency", 1000.0), ("Single Precision Roofline", "Peak", 64.0),
        ("Single Precision Achieved Value", "SM Frequency", 990.0),
    ]  # fmt: skip


def test_a_blank_last_line_is_no_cell() -> None:
    report = parse_csv(EUROPEAN + '"0","k","a__b.sum","","1"x\n\n ')
    assert report.launches[0].get("gpu__time_duration.sum") == 117_344
    parse_csv(EUROPEAN.replace('"65,77"', '"65,77""') + "\n\n")
