from __future__ import annotations

from pathlib import Path

import pytest
from page import Page, script_hash
from sample import sample

from warpglass.errors import InputError, UsageError
from warpglass.report.gallery import slug, write_gallery
from warpglass.report.render import render_html


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    other = sample()
    other["launches"] = other["launches"][1:]
    other["options"] = {"title": "Cut by its budget"}
    write_gallery(
        [("matmul", sample()), ("Cut <short>", other), ("matmul", sample())],
        tmp_path / "site",
        charts="static",
    )
    return tmp_path / "site"


def test_pages_and_index_are_written_with_relative_links_only(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "cut-short.html",
        "index.html",
        "matmul-2.html",
        "matmul.html",
    ]
    index = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert index.problems == []
    for link in index.find("a"):
        href = link.attrs["href"] or ""
        assert href.startswith("#") or (folder / href).is_file()
    assert (folder / "matmul.html").read_text(encoding="utf-8") == render_html(sample(), charts="static")


def test_cards_say_kernel_architecture_verdict_and_show_a_picture(folder: Path) -> None:
    index = Page((folder / "index.html").read_text(encoding="utf-8"))
    cards = [one for one in index.find("li") if "data-search" in one.attrs]
    assert len(cards) == 3
    first, cut = cards[0].all_text(), cards[1].all_text()
    for expected in (
        "matmul",
        "sm_80",
        "16 wavefronts",
        "3,584",
        "and 1 more launch",
    ):
        assert expected in first
    assert "Cut by its budget" in cut
    assert "partly executed, 1 of 4 blocks" in cut
    assert len([one for one in index.find("svg") if "thumb" in (one.attrs.get("class") or "")]) == 3
    assert "void matmul<16>" in (cards[0].attrs["data-search"] or "")


def test_the_index_has_the_same_policy_and_one_script(folder: Path) -> None:
    index = Page((folder / "index.html").read_text(encoding="utf-8"))
    (script,) = index.find("script")
    assert f"script-src 'sha256-{script_hash(script.text)}' 'strict-dynamic'" in index.policy
    assert index.policy.startswith("default-src 'none'; ")


def test_two_builds_are_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    other = sample()
    other["launches"] = other["launches"][1:]
    other["options"] = {"title": "Cut by its budget"}
    write_gallery(
        iter([("matmul", sample()), ("Cut <short>", other), ("matmul", sample())]), again, charts="static"
    )
    for path in folder.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("name", "taken", "stem"),
    [
        ("Tiled MatMul", [], "tiled-matmul"),
        ("../../etc/passwd", [], "etc-passwd"),
        ("index", [], "index-report"),
        ("CON", [], "con-report"),
        ("日本", [], "report"),
        ("a", ["a", "a-2"], "a-3"),
        ("x" * 200, [], "x" * 60),
    ],
)
def test_file_names_are_safe(name: str, taken: list[str], stem: str) -> None:
    assert slug(name, taken) == stem


def test_what_cannot_be_a_gallery(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one"):
        write_gallery([], tmp_path / "x")
    with pytest.raises(InputError, match="not a report"):
        write_gallery([("x", {"schema": 1})], tmp_path / "y")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_gallery([("x", sample())], tmp_path / "file")
