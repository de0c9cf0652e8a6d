"""Files that a user names: only regular ones are read, bounded; writing is whole, and never onto an input."""

import io
import os
import socket
from pathlib import Path

import numpy as np
import pytest

from warpglass import cuda, ncu, ptx, sass
from warpglass.collect import read_inputs
from warpglass.cuda.commands import flags_from_commands
from warpglass.errors import InputError, LaunchError, UsageError, WarpglassError
from warpglass.expect import load_reference
from warpglass.files import folder_of, load_array, read_file, read_head, refuse_inputs, write_file
from warpglass.gpu import model
from warpglass.launchspec import load_launch_file
from warpglass.options import ReportOptions
from warpglass.report.model import Report


def npy(array, **changes):
    """Bytes of a .npy file, with texts of its header exchanged (of equal length)."""
    stream = io.BytesIO()
    np.save(stream, array)
    content = stream.getvalue()
    for old, new in changes.values():
        assert old in content
        assert len(old) == len(new)
        content = content.replace(old, new)
    return content


@pytest.fixture
def odd(tmp_path):
    """Names that are no regular files, with the word that a message says."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").mkdir()
    (tmp_path / "gone").symlink_to("nowhere")
    return {
        tmp_path / "pipe": "is a pipe",
        tmp_path / "circle": "Too many levels of symbolic links",
        tmp_path / "folder": "is a folder",
        tmp_path / "gone": "there is no file",
        tmp_path / "missing": "there is no file",
        tmp_path / "a\0b": "cannot be read",
        tmp_path / ("n" * 5000): "File name too long",
        Path("/dev/zero"): "is a device",
        Path("/dev/null"): "is a device",
    }


READERS = {
    "report input": lambda path: read_inputs([path]),
    "cuda": cuda.load,
    "ptx": ptx.load,
    "sass": sass.load,
    "ncu": ncu.load,
    "report": Report.load,
    "launch file": load_launch_file,
    "compile_commands": lambda path: flags_from_commands(path, Path("k.cu")),
    "gpu": lambda path: model(str(path) + ".toml") if path.name == "missing" else read_file(path, 10),
    "reference": load_reference,
    "head": lambda path: read_head(path, 10),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_no_reader_waits_or_fails_in_its_own_way(odd, reader):
    for path, word in odd.items():
        if reader in (READERS["report input"], READERS["sass"]) and path.name == "folder":
            word = "folder"
        if reader is READERS["gpu"] and path.name == "missing":
            word = "missing"
        with pytest.raises(WarpglassError, match=word):
            reader(path)


def test_a_socket_is_named(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(InputError, match=r"No such device|is a socket"):
            read_file(tmp_path / "s", 10)


def test_reading_is_bounded(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    assert read_head(path, 3) == b"123"
    with pytest.raises(InputError, match="x is larger than 4 bytes"):
        read_file(path, 4)
    with path.open("r+b") as stream:
        stream.truncate(3 << 20)
    with pytest.raises(LaunchError, match="x is larger than 2 MiB"):
        read_file(path, 2 << 20, LaunchError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"1")
    path.chmod(0)
    with pytest.raises(InputError, match="x cannot be read: Permission denied"):
        read_file(path, 5)


def test_arrays_come_back_as_saved(tmp_path):
    for number, array in enumerate(
        (np.arange(6, dtype="<f4").reshape(2, 3), np.asfortranarray(np.eye(3)), np.array(7, ">u2"))
    ):
        path = tmp_path / f"{number}.npy"
        np.save(path, array)
        loaded = load_array(path, 1 << 20)
        assert loaded.dtype == array.dtype
        assert np.array_equal(loaded, array)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "cannot be read as a numpy array"),
        (b"\x93NUMPY", "cannot be read as a numpy array"),
        (b"\x93NUMPY\x01\x00\xff\xff", "cannot be read as a numpy array"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': (((((", "cannot be read as a numpy array"),
        (b"PK\x03\x04rest", "several arrays"),
        (npy(np.array([{"a": 1}], object)), "Python objects"),
        (npy(np.zeros(4), big=(b"(4,), }       ", b"(4000000000,)}")), "cut off: 4000000000 elements"),
        (npy(np.zeros(4), many=(b"(4,), }    ", b"(-4444444)}")), "cannot be read as a numpy array"),
        (npy(np.zeros(4), negative=(b"(4,), }", b"(-4,) }")), "cannot be read as a numpy array"),
        (npy(np.zeros(1000))[:500], "cut off"),
    ],
)
def test_arrays_that_lie(tmp_path, content, word):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(InputError, match=word):
        load_array(path, 1 << 20)


def test_written_whole_or_not_at_all(tmp_path):
    write_file(tmp_path / "out", b"new")
    (tmp_path / "link").symlink_to("out")
    write_file(tmp_path / "link", b"newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out").read_bytes() == b"newer"
    long = tmp_path / ("n" * 255)
    write_file(long, b"name as long as names may be")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "n" * 255, "out"]


@pytest.mark.parametrize("name", ["gone/out", "folder", "out/below", "n" * 256, "a\0b"])
def test_places_that_cannot_be_written(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(UsageError, match="cannot write"):
        write_file(tmp_path / name, b"new")
    assert (tmp_path / "out").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "out"]


def test_a_full_disk_leaves_what_was_there():
    with pytest.raises(UsageError, match="No space left on device"):
        write_file(Path("/dev/full"), b"x")


def test_inputs_are_not_overwritten(tmp_path):
    source, link = tmp_path / "k.cu", tmp_path / "link.cu"
    source.write_text("x")
    link.symlink_to("k.cu")
    refuse_inputs([tmp_path / "k.html", tmp_path / "k.json"], [source])
    for output in (source, link, tmp_path / "." / "k.cu"):
        with pytest.raises(UsageError, match="is an input"):
            refuse_inputs([output], [source])
    with pytest.raises(UsageError, match="two outputs"):
        refuse_inputs([tmp_path / "a", tmp_path / "a"], [source])


def test_options_name_their_files():
    options = ReportOptions(
        args=("x=float[4]:a.npy", "y=b.npy", "n=4"), expect=("x=c.npy", "70%"), notes=Path("n.md")
    )
    assert {str(path) for path in options.files()} >= {"a.npy", "b.npy", "c.npy", "n.md"}


def test_a_circle_of_links_has_a_folder(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    assert folder_of(tmp_path / "circle") == tmp_path
