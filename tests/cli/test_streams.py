"""Streams and files of the command line that are not as hoped: closed, full, of another encoding, inputs."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from warpglass.cli import main
from warpglass.cli_console import printable

WARPGLASS = (sys.executable, "-m", "warpglass.cli")


def shell(line, folder, **variables):
    """Run a line of bash in which $W is the command: (exit code, stdout, stderr)."""
    environment = {**os.environ, "W": " ".join(WARPGLASS), **variables}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, timeout=120, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def cli(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return run


def test_help_and_errors_are_plain_where_piped(cli):
    for arguments in (("--help",), ("report", "--help"), ("reprot",), ("report",), ("report", "--gird", "4")):
        _, out, err = cli(*arguments)
        assert out + err
        assert not set("╭│╰─") & set(out + err), arguments
    code, out, err = cli("reprot")
    assert (code, out) == (2, "")
    assert "No such command 'reprot'" in err


def test_every_command_says_in_its_line_what_it_does(cli):
    _, out, _ = cli("--help")
    lines = out.partition("Commands:")[2].strip().splitlines()
    assert len(lines) > 12
    assert [line for line in lines if line.endswith("...")] == []


def test_every_option_has_help(cli):
    _, out, _ = cli("report", "--help")
    wanted = out.partition("Options:")[2]
    for option in ("--grid", "--block", "--cluster", "--isa"):
        line = next(line for line in wanted.splitlines() if option in line)
        assert len(line.split("  ")) > 2, line


@pytest.mark.slow
def test_closed_and_full_streams(scale, tmp_path):
    assert shell("$W doctor >&-", tmp_path)[::2] == (0, "")
    assert shell("$W list scale.ptx 2>&-", tmp_path)[0] == 0
    assert shell("$W nothing 2>&-", tmp_path)[0] == 2
    assert shell("$W list scale.ptx <&-", tmp_path)[0] == 0
    for command in ("list", "parse"):
        code, _, err = shell(f"$W {command} scale.ptx >/dev/full", tmp_path)
        assert code == 2
        assert "No space left on device" in err
        assert "defect" not in err
        assert len(err.splitlines()) == 1
    assert shell("$W list scale.ptx | true; echo ${PIPESTATUS[0]}", tmp_path)[1] == "0\n"


@pytest.mark.slow
def test_letters_that_the_stream_has_not(scale, tmp_path):
    code, _, err = shell(
        "$W run scale.ptx --arg 7=1 'é' ; $W list scale.ptx", tmp_path, PYTHONIOENCODING="ascii"
    )
    assert code == 0
    assert "defect" not in err
    code, _, err = shell("$W list $'\\xff\\xfe.cu'", tmp_path, LC_ALL="C")
    assert code == 2
    assert "there is no file" in err


@pytest.mark.slow
def test_an_empty_environment(scale, tmp_path):
    line = f"env -i {sys.executable} -m warpglass.cli report scale.ptx --isa ptx -o p.html"
    code, out, err = shell(line, tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("p.html")


def test_control_characters_of_messages_are_shown():
    assert printable("a\x1b[2J\u202e\u2028\udcff\u061cb") == "a\\u001b[2J\\u202e\\u2028\\udcff\\u061cb"


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "scale.ptx", "--json", "scale.ptx"),
        ("report", "scale.ptx", "--json", "link"),
        ("report", "scale.ptx", "-o", "a.json", "--json", "a.json"),
        ("report", "scale.ptx", "--notes", "notes.md", "-o", "notes.md"),
        ("render", "a.json", "-o", "a.json"),
        ("run", "scale.ptx", "--arg", "1=float[4]:x.npy", "--dump", "1=x.npy"),
        ("run", "scale.ptx", "--json", "scale.ptx"),
        ("list", "scale.ptx", "--json", "scale.ptx"),
        ("parse", "scale.ptx", "--json", "scale.ptx"),
        ("counters", "scale.ptx", "--json", "scale.ptx"),
        ("analyze", "scale.ptx", "--sarif", "scale.ptx"),
        ("pipeline", "scale.ptx", "--vcd", "scale.ptx"),
        ("bench", "k.cu", "-o", "k.cu"),
        ("metrics", "scale.ptx", "--json", "scale.ptx"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_no_input_is_overwritten(cli, scale, tmp_path, arguments):
    (tmp_path / "link").symlink_to("scale.ptx")
    (tmp_path / "notes.md").write_text("n")
    (tmp_path / "k.cu").write_text("__global__ void k() {}")
    (tmp_path / "a.json").write_text("{}")
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, _, err = cli(*arguments)
    assert code == 2
    assert "would be overwritten" in err or "two outputs" in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_interrupted_quietly(scale, tmp_path):
    long = "DONE:\n    add.s32 %r1, %r1, 1;\n    setp.ne.s32 %p1, %r1, -7;\n    @%p1 bra DONE;\n"
    scale.write_text(scale.read_text().replace("DONE:\n", long))
    command = [*WARPGLASS, "run", "scale.ptx", "--max-warp-instructions", "2000000000", "-v"]
    # A test run in the background has the signal ignored, and a child inherits that.
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    assert b"scale" in process.stderr.readline()  # it is under way
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
