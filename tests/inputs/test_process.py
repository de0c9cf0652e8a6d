"""Programs are started under limits, and their end is told in the project's own words."""

import os
import sys
from pathlib import Path

import pytest

from warpglass.errors import ToolchainError
from warpglass.inputs.process import run_tool


def python(code: str, **options):
    return run_tool([sys.executable, "-c", code], **options)


def test_output_status_and_input_come_through():
    result = python(
        "import sys; print(sys.stdin.read()[::-1]); print('e', file=sys.stderr); sys.exit(7)", input=b"abc"
    )
    assert (result.returncode, result.text, result.error_text) == (7, "cba\n", "e\n")


def test_large_input_and_output_do_not_block_each_other():
    data = os.urandom(3 << 20)
    result = python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", input=data)
    assert result.stdout == data


def test_a_program_that_reads_nothing_is_no_error():
    assert python("pass", input=b"x" * (1 << 20)).returncode == 0


@pytest.mark.slow
def test_time_limit_ends_the_children_too(tmp_path):
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(2); open({str(mark)!r}, 'w')"
    code = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    )
    with pytest.raises(ToolchainError, match=r"stopped after 0\.5 s"):
        python(code, timeout=0.5)
    python("import time; time.sleep(2.2)")
    assert not mark.exists()


def test_a_child_that_keeps_the_pipe_open_is_stopped():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with pytest.raises(ToolchainError, match="stopped after"):
        python(code, timeout=1.0)


def test_output_is_bounded():
    with pytest.raises(ToolchainError, match="more than 1 MiB"):
        python("while True: print('x' * 65536)", output_limit=1 << 20)


def test_memory_is_bounded():
    result = python("bytearray(600 << 20)", memory=400 << 20)
    assert result.returncode == 1
    assert "MemoryError" in result.error_text


def test_death_by_a_signal_is_told():
    with pytest.raises(ToolchainError, match="killed by SIGSEGV"):
        python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")


def test_a_missing_program_is_told():
    with pytest.raises(ToolchainError, match="cannot start no-such-program") as caught:
        run_tool(["no-such-program"])
    assert caught.value.exit_code == 3


def test_arguments_are_no_shell_text(tmp_path):
    result = run_tool(
        [sys.executable, "-c", "import sys; print(sys.argv[1])", "$(touch x); `id`"], cwd=tmp_path
    )
    assert result.text == "$(touch x); `id`\n"
    assert list(tmp_path.iterdir()) == []


def test_nul_in_an_argument_is_refused():
    with pytest.raises(ToolchainError):
        run_tool([sys.executable, "a\0b"])


def test_only_this_module_starts_programs():
    package = Path(__file__).parents[2] / "generator" / "warpglass"
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if line.split("#")[0].strip() in ("import subprocess", "import pty")
        or "os.system(" in line
        or "os.popen(" in line
        or line.startswith("from subprocess")
    }
    assert users == {"inputs/process.py"}
