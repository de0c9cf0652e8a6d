"""The control field: when an instruction issues, and which scoreboards it sets and waits for.

Volta and newer (one 128-bit instruction, its field in the upper 64-bit word; ``control = upper >> 41``):

=========== =========== =====================================================================
of control  of the 128  field
=========== =========== =====================================================================
3:0         108:105     stall: cycles until the warp's next instruction may issue
4           109         yield bit, shown raw (tools disagree about which value means "yield")
7:5         112:110     write barrier: released when the result is there; 7 = none
10:8        115:113     read barrier: released when the sources have been read; 7 = none
16:11       121:116     wait mask over the six barriers
20:17       125:122     reuse flags, operand slot 0 lowest
=========== =========== =====================================================================

Maxwell and Pascal (64-bit instructions): a control word stands before each three instructions; bits
20:0, 41:21 and 62:42 are the fields of the three, laid out as above.

Sources: maxas wiki "Control Codes"; CuAssembler ``CuControlCode.py``; Jia et al., "Dissecting the NVIDIA
Turing T4 GPU", arXiv:1903.07486, section 2. Checked against twelve thousand scoreboard producers in code
of ptxas 13.0: none is read before a matching wait.
"""

from __future__ import annotations

import re

from warpglass.sass.model import Control

__all__ = ["CONTROL_PREFIX", "decode", "decode_volta", "encode", "maxwell_controls", "parse_prefix"]

#: ``[B------:R-:W0:-:S04]`` as the CuAssembler notation writes it.
CONTROL_PREFIX = re.compile(
    r"\[?\s*B([-0-5]{6})\s*:\s*R([-0-7])\s*:\s*W([-0-7])\s*:\s*([-Yy])\s*:\s*S(\d{1,2})\s*\]?"
)


def decode(field: int) -> Control:
    """The 21 bits as a :class:`Control`."""
    write, read = field >> 5 & 7, field >> 8 & 7
    return Control(
        stall=field & 15,
        yield_bit=field >> 4 & 1,
        write_barrier=None if write == 7 else write,
        read_barrier=None if read == 7 else read,
        wait_mask=field >> 11 & 63,
        reuse=field >> 17 & 15,
    )


def encode(control: Control) -> int:
    """The inverse of :func:`decode`."""
    write = 7 if control.write_barrier is None else control.write_barrier
    read = 7 if control.read_barrier is None else control.read_barrier
    return (
        control.stall | control.yield_bit << 4 | write << 5 | read << 8
        | control.wait_mask << 11 | control.reuse << 17
    )  # fmt: skip


def decode_volta(upper: int) -> Control:
    """The field of a 128-bit instruction from its upper word."""
    return decode(upper >> 41 & 0x1FFFFF)


def maxwell_controls(word: int) -> tuple[Control, Control, Control]:
    """The three fields of a Maxwell or Pascal control word."""
    return decode(word & 0x1FFFFF), decode(word >> 21 & 0x1FFFFF), decode(word >> 42 & 0x1FFFFF)


def parse_prefix(match: re.Match[str], reuse: int = 0) -> Control:
    """A match of :data:`CONTROL_PREFIX` as a :class:`Control`; the notation has no reuse flags of its own."""
    wait = sum(1 << index for index, char in enumerate(match[1]) if char != "-")
    return Control(
        stall=min(int(match[5]), 15),
        yield_bit=1 if match[4] == "-" else 0,
        write_barrier=None if match[3] in "-67" else int(match[3]),
        read_barrier=None if match[2] in "-67" else int(match[2]),
        wait_mask=wait,
        reuse=reuse,
    )
