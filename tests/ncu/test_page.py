"""From a profiler report to JSON and page: launches, privacy, code, predictions, real reports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ncu.writer import Writer, small_report
from warpglass import ncu
from warpglass.api import make_report
from warpglass.collect import read_inputs
from warpglass.errors import FormatError, WarpglassError
from warpglass.options import ReportOptions
from warpglass.profiles import add_predictions, read_profiles, with_measured_archs
from warpglass.report.measured import rule_text, short_path
from warpglass.report.measured_view import scaled
from warpglass.report.measured_words import failed_rules, ranked_rules
from warpglass.report.model import Report
from warpglass.report.pack import pack_page, pack_report, unpack_page
from warpglass.report.sections.profile import _moment

REAL = Path(__file__).resolve().parents[3] / "shared" / "inputs" / "ncu"
SECRETS = ("secret-host", "secret-user", "secret-token", "secret-option", "secret-uuid", "/home/")


def made(tmp_path: Path, launches: int = 2, **options: object) -> Report:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(small_report(launches))
    return make_report([path], ReportOptions(charts="static", **options))  # type: ignore[arg-type]


def test_launches_carry_what_was_measured(tmp_path: Path) -> None:
    data = made(tmp_path).data
    first = data["launches"][0]
    assert first["kernel"] == {"name": "_Z5scalePfi", "demangled": "scale(float *, int)", "bare": "scale"}
    assert (first["arch"], first["gpu"], first["runs"]) == ("sm_80", {"name": "NVIDIA A100"}, [])
    names = data["profile"]["metrics"]["name"]
    values = dict(
        zip(data["profile"]["sets"][first["measured"]["set"]], first["measured"]["values"], strict=True)
    )
    by_name = {names[index]: value for index, value in values.items()}
    assert by_name["smsp__inst_executed.sum"] == 4096
    assert by_name["dram__bytes_write.sum"] is None
    assert by_name["lts__t_sector_hit_rate.pct"] is None
    marks = {names[data["profile"]["sets"][0][at]]: mark for at, mark in first["measured"]["marks"]}
    assert marks == {"lts__t_sector_hit_rate.pct": "nan"}
    assert first["measured"]["nvtx"] == ["train@step"]
    # Equal launches share their sets, layouts and code.
    assert (
        len(data["profile"]["sets"]) == len(data["profile"]["layouts"]) == len(data["profile"]["codes"]) == 1
    )


def test_verdict_and_advice_come_from_measurements(tmp_path: Path) -> None:
    sections = {s["id"]: s["data"]["launches"] for s in made(tmp_path).data["sections"]}
    assert sections["verdict"][0] == {
        "text": "Memory-bound: compute at 16 % of peak, memory at 85 %", "evidence": "measured",
    }  # fmt: skip
    advice = sections["advice"][0][0]
    assert advice["text"] == "See Source Counters and guide."
    assert advice["gain"].startswith("42 %")


def test_private_things_stay_out_unless_asked_for(tmp_path: Path) -> None:
    report = made(tmp_path)
    for text in (report.to_json(), report.to_html(), report.to_markdown()):
        for secret in SECRETS:
            assert secret not in text
    told = made(tmp_path, with_session=True).to_json()
    for secret in ("secret-host", "secret-user", "secret-token", "secret-option", "secret-uuid"):
        assert secret in told


@pytest.mark.parametrize(
    ("seconds", "text"), [(1_723_942_876, "2024-08-18 01:01:16 UTC"), (2**62, str(2**62)), ("x", "x")]
)
def test_the_session_says_when(seconds: object, text: str) -> None:
    assert _moment(seconds) == text


def test_no_source_keeps_imported_text_out(tmp_path: Path) -> None:
    assert "__global__" not in made(tmp_path, no_source=True).to_json()


def test_counters_by_instruction_have_lines_without_a_disassembler(tmp_path: Path) -> None:
    data = made(tmp_path).data
    code = data["launches"][0]["measured"]["code"]
    assert data["profile"]["codes"][0]["instructions"]["offset"] == [0, 16, 32]
    assert code["profile"]["warp_executed"] == [10, 30, None]
    assert code["profile"]["stall_long_scoreboard"] == [10, 30, None]
    assert code["profile"]["sectors_excess"] == [None, 48, None]
    marker = data["launches"][0]["measured"]["rules"][0]["markers"][0]
    assert (marker["pc"], marker["line"]) == (16, 2)


def test_the_page_shows_every_part(tmp_path: Path) -> None:
    html = made(tmp_path, 4).to_html()
    for text in ("Memory-bound", "First Section", "Child", "long scoreboard", "By hardware tables", "42.5 %",
                 "smsp__inst_executed.sum", "NaN", "train@step", "wg-baseline",
                 "Achieved occupancy"):  # fmt: skip
        assert text in html, text
    assert "Other GPU" not in html
    assert len(re.findall(r'class="lazy-html"', html)) == 3
    assert html == Report.from_json(made(tmp_path, 4).to_json()).to_html()


def test_later_launches_are_a_part_of_their_own_in_the_page(tmp_path: Path) -> None:
    data = made(tmp_path, 3).data
    packed = pack_page(data)
    assert sorted(packed["m"]) == ["1", "2"]
    assert unpack_page(packed) == pack_report(data)
    del packed["m"]
    core = unpack_page(packed)["launches"]
    assert core[0]["measured"]["values"] == data["launches"][0]["measured"]["values"]
    assert "values" not in core[1]["measured"]
    assert "samples" in core[1]["measured"]["columns"]


def test_a_page_of_many_launches_packs_what_is_not_shown(tmp_path: Path) -> None:
    html = made(tmp_path, 30).to_html()
    # The profile, the verdict, the advice, the choices and the four sections of the analysis, of all but the
    # first launch.
    assert len(re.findall(r'class="lazy-html"', html)) == 8 * 29
    assert html.count('class="tile"') == 4
    assert html.count("tbody data-fill") == 1


def test_a_broken_profile_is_no_report(tmp_path: Path) -> None:
    good = made(tmp_path).data
    for path, value in (
        (("launches", 0, "measured", "set"), 9),
        (("launches", 0, "measured", "layout"), 9),
        (("launches", 0, "measured", "values"), []),
        (("launches", 0, "measured", "marks"), [[999, "nan"]]),
        (("launches", 0, "measured", "code", "code"), 7),
        (("launches", 0, "measured", "rules"), [{}]),
        (("profile", "metrics", "unit"), []),
        (("profile", "sets", 0), [10**6]),
        (("profile",), {}),
    ):
        data = json.loads(json.dumps(good))
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(WarpglassError):
            Report(data)


def test_predicted_counts_stand_beside_measured_ones(tmp_path: Path) -> None:
    data = made(tmp_path).data
    run = {"isa": "sass", "complete": True, "profile": {"warp_executed": [4000, 100]}}
    executed = {
        "kernel": {"name": "_Z5scalePfi"}, "launch": data["launches"][0]["launch"], "arch": "sm_80",
        "runs": [run],
    }  # fmt: skip
    launches = [executed, *data["launches"]]
    add_predictions(launches, data["profile"])
    assert launches[1]["measured"]["predicted"] == [
        {"metric": "smsp__inst_executed.sum", "value": 4100, "measured": 4096, "evidence": "executed"}
    ]
    ptx = {**executed, "runs": [{**run, "isa": "ptx"}]}
    fresh = made(tmp_path).data
    add_predictions([ptx, *fresh["launches"]], fresh["profile"])
    assert fresh["launches"][0]["measured"]["predicted"] == []
    other = made(tmp_path).data
    add_predictions([{**executed, "arch": "sm_90"}, *other["launches"]], other["profile"])
    assert other["launches"][0]["measured"]["predicted"] == []


@pytest.mark.cuda
def test_a_source_is_executed_as_it_was_measured(tmp_path: Path) -> None:
    report, source = tmp_path / "made.ncu-rep", tmp_path / "scale.cu"
    report.write_bytes(small_report(1))
    source.write_text(
        "__global__ void scale(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n"
    )
    data = make_report([report, source], ReportOptions(charts="static")).data
    executed, measured = data["launches"]
    assert executed["launch"]["grid"] == measured["launch"]["grid"] == [4, 1, 1]
    assert executed["launch"]["block"] == measured["launch"]["block"] == [128, 1, 1]
    assert executed["launch"]["origin"]["grid"] == "profiler report made.ncu-rep"
    if any(run["isa"] == "sass" for run in executed["runs"]):
        rows = {row["metric"]: row for row in measured["measured"]["predicted"]}
        assert rows["smsp__inst_executed.sum"]["measured"] == 4096
        assert rows["smsp__inst_executed.sum"]["value"] > 0


def test_the_measured_architecture_is_compiled_for(tmp_path: Path) -> None:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(small_report(1))
    profiles = read_profiles(read_inputs([path]))
    assert with_measured_archs(ReportOptions(), profiles, [tmp_path]).arch == ("sm_80",)
    assert with_measured_archs(ReportOptions(arch=("sm_90",)), profiles, [tmp_path]).arch == ("sm_90",)
    (tmp_path / "warpglass.toml").write_text("")
    assert with_measured_archs(ReportOptions(), profiles, [tmp_path]).arch == ()


def test_a_source_beside_a_profile_need_not_compile(tmp_path: Path) -> None:
    report = tmp_path / "made.ncu-rep"
    report.write_bytes(small_report(1))
    source = tmp_path / "scale.cu"
    source.write_text('#include "nowhere.h"\n__global__ void scale(float* x, int n) { x[n] = nothing; }\n')
    data = make_report([report, source], ReportOptions(charts="static")).data
    assert [bool(launch.get("measured")) for launch in data["launches"]] == [True]
    assert any("scale.cu is shown but was not executed" in text for text in data["assumptions"])


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (15200.0, "ns", ("15.2", "µs")), (0, "ns", ("0", "ns")), (2048, "byte", ("2", "KiB")),
        (5.5e9, "byte/s", ("5.5", "GB/s")), (99.5, "%", ("99.5", "%")), (None, "%", ("n/a", "")),
        ("CachePreferNone", "", ("CachePreferNone", "")),
    ],
)  # fmt: skip
def test_units_scale_for_people(value: object, unit: str, text: tuple[str, str]) -> None:
    assert scaled(value, unit) == text


def test_rules_that_failed_are_no_advice() -> None:
    def message(severity: str, text: str) -> dict[str, object]:
        return {"severity": severity, "title": "", "text": text, "speedup": None, "scope": None, "focus": []}

    told = {
        "A": [
            message("error", "Required metric x__y could not be found."),
            message("error", "f raised\nS.py:8"),
        ],
        "B": [message("error", "float division\nS.py:9")],
        "C": [message("warning", "slow")],
    }
    rules = [{"name": name, "section": "S", "markers": [], "messages": said} for name, said in told.items()]
    launch = {"measured": {"rules": rules}}
    assert [rule["rule"] for rule in ranked_rules(launch)] == ["C"]
    assert failed_rules(launch) == [("A", "not collected: x__y"), ("B", "float division")]


def test_small_things() -> None:
    assert short_path("C:\\Users\\me\\a.cu") == "a.cu"
    assert short_path("/a/b/c.cu") == "c.cu"
    assert rule_text("a\n/root/My Documents/S.py:7 and C:\\Users\\me\\k.cu, 3 / 4 of L1/TEX") == (
        "a\nS.py:7 and k.cu, 3 / 4 of L1/TEX"
    )
    assert rule_text("https://docs.nvidia.com/cuda/x.html") == "https://docs.nvidia.com/cuda/x.html"
    assert rule_text("x @url:docs:https://a.b/c@ y @section:Id:Label@") == "x docs y Label"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="no ../shared/inputs/ncu")
@pytest.mark.parametrize(
    "name", ["adamw-sm86-2024.3", "callchain-sm80-2020.3.1", "hyperspec-sm75-2024.3", "selfjoin-sm80-2020.3"]
)
def test_real_reports_make_pages(name: str) -> None:
    path = REAL / f"{name}.ncu-rep"
    report = make_report([path], ReportOptions(charts="static"))
    session = ncu.load(path).session
    text = report.to_json()
    assert len(report.data["launches"]) == len(ncu.load(path).launches)
    for private in (session.host, session.working_directory, session.command_line):
        if private and len(private) > 6:
            assert private not in text
    assert "<section" in report.to_html()


def test_a_report_without_a_launch_says_why(tmp_path: Path) -> None:
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(small_report()[:-20])
    with pytest.raises(
        FormatError, match=r"cut\.ncu-rep: the report holds no whole launch: the file ends inside"
    ):
        make_report([cut])
    w = Writer()
    w.block()
    cut.write_bytes(w.out)
    with pytest.raises(FormatError, match="holds no launch\n  hint: no kernels were profiled"):
        make_report([cut])


@pytest.mark.skipif(not REAL.is_dir(), reason="no ../shared/inputs/ncu")
def test_a_real_report_links_to_its_source() -> None:
    data = make_report([REAL / "adamw-sm86-2024.3.ncu-rep"]).data
    measured = data["launches"][0]["measured"]
    profile = measured["code"]["profile"]
    assert sum(v or 0 for v in profile["samples"]) == 3629
    idle = [m.value for m in ncu.load(REAL / "adamw-sm86-2024.3.ncu-rep").launches[0].matching(
        "^smsp__pcsamp_warps_issue_stalled_.*_not_issued$"
    )]  # fmt: skip
    assert sum(v or 0 for v in profile["samples_not_issued"]) == sum(idle) > 1000  # type: ignore[arg-type]
    (source,) = [s for s in data["sources"] if s["name"] == "adamw.cu"]
    assert "adamw_kernel2" in source["text"]
    hot = next(m for rule in measured["rules"] for m in rule["markers"] if m["source"] == source["id"])
    assert hot["line"] == 95
    roof = measured["rooflines"][0]
    assert roof["roofs"][0]["work"] == pytest.approx(9728 * 1345161430.558776)
    assert measured["occupancy"]["warps"] == 48
    assert len(measured["timelines"]) == 19
