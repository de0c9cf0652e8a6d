"""Coverage-guided fuzzing of the PTX parser and of the flow analyses on what it lets through.

``python tests/fuzz/fuzz_ptx.py -max_total_time=60 [CORPUS]``: any exception but the project's own, and any
input that takes longer than ``-timeout`` seconds, is a finding.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["warpglass.ptx", "warpglass.flow"]):
    from warpglass import flow, ptx
    from warpglass.errors import WarpglassError

HEAD = (
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .pred %p<3>;\n"
)


def check(data: bytes) -> None:
    """One input: the first byte chooses between a whole file and a body."""
    body = data[1:]
    try:
        if data[:1] < b"\x80":
            module = ptx.load(body)
        else:
            module = ptx.parse(HEAD + ptx.decode(body) + "\n}\n")
    except WarpglassError:
        return
    for function in module.functions:
        flow.ptx_cfg(function)
        flow.ptx_liveness(function)


def main() -> None:
    """Hand over to libFuzzer."""
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
