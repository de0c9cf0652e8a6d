"""Coverage-guided fuzzing of listings, cubins and everything that reads their models.

``python tests/fuzz/fuzz_sass.py -max_total_time=60 [CORPUS]``: any exception but the project's own, and any
input that takes longer than ``-timeout`` seconds, is a finding. No program is started: an ELF file is read
for what it says about itself only.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["warpglass.sass", "warpglass.flow"]):
    from warpglass.errors import WarpglassError
    from warpglass.flow.sass import sass_cfg, sass_liveness
    from warpglass.sass import link, parse
    from warpglass.sass.elf import describe, read_image

HEADS = (
    "\tcode for sm_80\n\tFunction : f\n",
    "\t.target\tsm_120\n\t.section\t.text.f\n.text.f:\n",
    "\tcode for sm_52\n\tFunction : f\n",
    "",
)


def check(data: bytes) -> None:
    """One input: ELF by its magic, else the first byte chooses the listing's head."""
    try:
        if data[:4] == b"\x7fELF":
            image = read_image(data)
            module = describe(parse("Function : f\nEXIT ;"), image)
        else:
            head = HEADS[data[0] % len(HEADS)] if data else ""
            module = parse(head + data[1:].decode("utf-8", "replace"))
    except WarpglassError:
        return
    for function in module.functions:
        sass_cfg(function)
        sass_liveness(function)
        link(function)


def main() -> None:
    """Hand over to libFuzzer."""
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
