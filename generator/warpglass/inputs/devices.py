"""The GPUs of this machine, as nvidia-smi tells them. None is needed anywhere."""

from __future__ import annotations

import csv
import io
import shutil
from dataclasses import dataclass

from warpglass.errors import ToolchainError
from warpglass.inputs.process import run_tool

__all__ = ["Device", "find_devices", "parse_devices"]

_QUERY = "index,uuid,name,compute_cap"


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU. ``compute_capability`` is ``8.6``, or None where the driver does not say."""

    index: int
    uuid: str
    name: str
    compute_capability: str | None

    @property
    def arch(self) -> str | None:
        """The compiler's name of the architecture, ``sm_86``."""
        cap = self.compute_capability
        return None if cap is None else "sm_" + cap.replace(".", "")


def find_devices() -> tuple[Device, ...]:
    """All GPUs in the driver's order; empty without a driver or where nvidia-smi fails."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        result = run_tool(
            [program, f"--query-gpu={_QUERY}", "--format=csv,noheader"], timeout=20, output_limit=1 << 20
        )
    except ToolchainError:
        return ()
    return parse_devices(result.text) if result.returncode == 0 else ()


def parse_devices(text: str) -> tuple[Device, ...]:
    """Read nvidia-smi's ``index, uuid, name, compute_cap`` lines; lines of another shape are left out."""
    devices = []
    for row in csv.reader(io.StringIO(text), skipinitialspace=True):
        cells = [cell.strip() for cell in row]
        if len(cells) != 4 or not cells[0].isdigit():
            continue
        major, dot, minor = cells[3].partition(".")
        known = major.isdigit() and dot and minor.isdigit()
        devices.append(Device(int(cells[0]), cells[1], cells[2], cells[3] if known else None))
    return tuple(devices)
