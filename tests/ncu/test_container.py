"""The report container: what is whole is kept, what is broken is told."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path

import pytest

from ncu.writer import Writer
from warpglass import ncu
from warpglass.errors import FormatError
from warpglass.ncu.messages import message_class

#: Bytes of magic, length and file header {version: 7}.
HEADER = 4 + 4 + 2
REPORTS = Path(__file__).resolve().parents[2].parent / "shared" / "inputs" / "ncu"


def small_report() -> bytes:
    writer = Writer()
    source = message_class("SourceData")(reference=7, cubin=b"\x7fELFx", sm_revision=8 << 16 | 6)
    first = writer.result(
        "axpy", [("gpu__time_duration.sum", 5.0, None), ("gpu__time_duration.sum", 7.0, None)]
    )
    writer.block([source], [first])
    second = writer.result(
        "gemm",
        [
            ("smsp__inst_executed.sum", 1234, None),
            ("inst_executed", 20, {64: 12, 80: 8}),
            ("missing", None, None),
            ("nan", math.nan, None),
            ("device__name", "GPU", None),
        ],
        demangled_name=b"gemm<float>(float*)",
    )
    writer.block([message_class("SourceData")(reference=7)], [second])
    return writer.out


def test_launches_strings_and_sources_span_blocks() -> None:
    report = ncu.parse(small_report())
    assert [launch.name for launch in report.launches] == ["axpy", "gemm<float>(float*)"]
    assert report.problems == ()
    assert report.launches[0].get("gpu__time_duration.sum") == 7.0  # the last of equal names
    gemm = report.launches[1]
    assert gemm.get("smsp__inst_executed.sum") == 1234
    assert gemm.get("missing") is None
    assert gemm.number("nan") is None
    assert math.isnan(gemm.get("nan"))  # type: ignore[arg-type]
    assert gemm.get("device__name") == "GPU"
    assert [(i.key, i.value) for i in gemm["inst_executed"].instances] == [(64, 12), (80, 8)]
    assert report.sources[7].cubin == b"\x7fELFx"  # the entry without a cubin does not erase it
    assert report.sources[7].arch == "sm_86"


def test_every_truncation_is_told_and_keeps_what_is_whole() -> None:
    whole = small_report()
    launches_seen = set()
    boundaries = 0
    for length in range(len(whole)):
        if length < HEADER:
            with pytest.raises(FormatError):
                ncu.parse(whole[:length])
            continue
        report = ncu.parse(whole[:length])
        if not report.problems:
            boundaries += 1  # a cut exactly between two blocks cannot be told from a shorter file
        launches_seen.add(len(report.launches))
    assert launches_seen == {0, 1}
    assert boundaries == 2  # behind the file header, behind the first block


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "does not start with NVR"),
        (b"PK\3\4" + bytes(64), "does not start with NVR"),
        (b"NVR\0\xff\xff\xff\xff", "claims 4,294,967,295 bytes"),
        (b"NVR\0" + struct.pack("<I", 3) + b"\xff\xff\xff", "cannot be decoded"),
    ],
)
def test_wrong_files_name_what_and_where(content: bytes, match: str) -> None:
    with pytest.raises(FormatError, match=match):
        ncu.parse(content)


def test_a_block_header_of_four_gigabytes_is_refused() -> None:
    report = ncu.parse(small_report() + b"\xff\xff\xff\xff")
    assert len(report.launches) == 2
    assert "4,294,967,295 bytes" in report.problems[0]


def test_expanding_data_is_bounded() -> None:
    from warpglass.ncu.container import read_container

    bomb = gzip.compress(b"NVR\0" + bytes(8 << 20))
    with pytest.raises(FormatError, match="expands beyond 1 MiB"):
        read_container(bomb, "bomb.ncu-repz", limit=1 << 20)


def test_zstd_reports_are_read() -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(small_report())
    assert len(ncu.parse(packed).launches) == 2


@pytest.mark.parametrize("way", ["zstd", "gzip"])
def test_compressed_reports_of_several_frames_and_cut_ones(way: str) -> None:
    whole = small_report()
    if way == "zstd":
        compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    else:
        compress = gzip.compress
    half = len(whole) // 2
    frames = compress(whole[:half]) + compress(whole[half:])
    assert len(ncu.parse(frames).launches) == 2
    assert ncu.parse(frames).problems == ()
    # The first frame and a part of the second: what is whole is kept, and the cut is told as such.
    cut = ncu.parse(frames[:-4])
    assert cut.problems == ("the compressed data ends early or is broken: what follows is missing",)
    with pytest.raises(FormatError, match="ends early or is broken, before the report within it begins"):
        ncu.parse(frames[:12])
    behind = ncu.parse(frames + b"something else")
    assert (len(behind.launches), behind.problems) == (2, cut.problems)
    with pytest.raises(FormatError, match="compressed report is broken"):
        ncu.parse(frames[:4] + b"\xff" * 40)


def test_the_densest_zstd_data_is_bounded() -> None:
    zstandard = pytest.importorskip("zstandard")
    from warpglass.ncu.container import read_container

    bomb = zstandard.ZstdCompressor().compress(b"NVR\0" + bytes(256 << 20))
    assert len(bomb) < 1 << 16
    with pytest.raises(FormatError, match="expands beyond 1 MiB"):
        read_container(bomb, "bomb.ncu-repz", limit=1 << 20)


@pytest.mark.skipif(not REPORTS.is_dir(), reason="needs ../shared/inputs/ncu")
def test_real_reports_are_read_whole() -> None:
    launches = {}
    for path in sorted(REPORTS.glob("*.ncu-rep")):
        report = ncu.load(path)
        assert report.problems == (), path.name
        assert all(launch.name and launch.metrics for launch in report.launches)
        launches[path.name] = len(report.launches)
    assert launches == {
        "adamw-sm86-2024.3.ncu-rep": 4,
        "callchain-sm80-2020.3.1.ncu-rep": 6,
        "gemm-sm86-2023.1.ncu-rep": 4,
        "hyperspec-sm75-2024.3.ncu-rep": 8,
        "indexspaces-sm86-2022.1.ncu-rep": 2,
        "mojo-sm75-2022.4.ncu-rep": 4,
        "selfjoin-sm80-2020.3.ncu-rep": 1,
        "selfjoin-sm80-2021.2.ncu-rep": 4,
        "selfjoin-sm80-2022.4.ncu-rep": 4,
        "sglang-sm90-2023.3.ncu-rep": 5,
    }
