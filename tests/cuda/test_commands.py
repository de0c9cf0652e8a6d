"""Flags that a build database gives to a kernel."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass.cuda.commands import flags_from_commands
from warpglass.errors import InputError


def database(tmp_path, *entries):
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps(list(entries)))
    return path


def test_flags_are_picked(tmp_path):
    command = (
        "nvcc -ccbin=/evil/g++ -Iinc -I other -isystem=/sys -DN=4 -D M -std=c++20 --expt-relaxed-constexpr "
        "-gencode arch=compute_80,code=[compute_80,sm_80] -arch=sm_90a -maxrregcount=64 -Xcompiler -fPIC "
        "-o out.o -c k.cu -include pre.h --use_fast_math"
    )
    path = database(tmp_path, {"directory": str(tmp_path), "file": "src/k.cu", "command": command})
    flags = flags_from_commands(path, tmp_path / "src" / "k.cu")
    assert flags.include_dirs == (tmp_path / "inc", tmp_path / "other", tmp_path / "/sys")
    assert flags.defines == ("N=4", "M")
    assert flags.std == "c++20"
    assert flags.forced == (tmp_path / "pre.h",)
    assert flags.archs == ("sm_80", "sm_90a")
    assert flags.flags == (
        "--expt-relaxed-constexpr",
        "-maxrregcount=64",
        "--use_fast_math",
    )


def test_programs_and_outputs_are_never_taken(tmp_path):
    arguments = [
        "nvcc",
        "-ccbin",
        "./evil",
        "--compiler-bindir=./evil",
        "-o",
        "../x",
        "-Xcudafe",
        "@file",
        "-E",
    ]
    path = database(tmp_path, {"directory": "/", "file": "k.cu", "arguments": arguments})
    flags = flags_from_commands(path, tmp_path / "k.cu")
    assert (flags.include_dirs, flags.defines, flags.flags, flags.std) == ((), (), (), None)


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '[{"file": "k.cu"}]', '[{"file": "k.cu", "command": "\'"}]', "[" * 9000, "\0"]
)
def test_bad_databases(tmp_path, text):
    path = tmp_path / "compile_commands.json"
    path.write_text(text)
    with pytest.raises(InputError):
        flags_from_commands(path, tmp_path / "k.cu")


def test_no_entry_and_several(tmp_path):
    entry = {"directory": "/a", "file": "k.cu", "command": "nvcc k.cu"}
    with pytest.raises(InputError, match="no entry"):
        flags_from_commands(database(tmp_path, entry), tmp_path / "other.cu")
    both = database(tmp_path, entry, {**entry, "directory": "/b"})
    with pytest.raises(InputError, match="several entries"):
        flags_from_commands(both, tmp_path / "k.cu")


def test_missing_database(tmp_path):
    with pytest.raises(InputError):
        flags_from_commands(tmp_path / "none.json", tmp_path / "k.cu")


@given(
    st.lists(
        st.one_of(st.text(max_size=12), st.sampled_from(["-I", "-D", "-std", "-gencode", "-arch=", "--std="]))
    )
)
def test_any_arguments(arguments):
    from warpglass.cuda.commands import _read_flags

    _read_flags(["nvcc", *arguments], __import__("pathlib").Path("/x"))
