"""Launches of an input with the launch file beside it, where nobody named another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warpglass.collect import WARNING
from warpglass.cuda.model import CudaSource
from warpglass.errors import LaunchError
from warpglass.files import is_file
from warpglass.launchfile import PlannedLaunch, names_none, plan_launches
from warpglass.launchspec import LAUNCH_FILE, LaunchSpec
from warpglass.options import ReportOptions
from warpglass.ptx.model import Function

__all__ = ["plan_with_neighbour"]


def plan_with_neighbour(
    kernels: Sequence[Function],
    options: ReportOptions,
    source: CudaSource | None,
    name: str,
    folder: Path,
    *,
    text: str | None = None,
    report_specs: Sequence[LaunchSpec] = (),
) -> tuple[tuple[PlannedLaunch, ...], list[str]]:
    """(launches of the input ``name`` in ``folder``, what is to be said of the ``warpglass.toml`` there).

    A launch file that was named replaces the one beside; one that names none of the kernels is a
    neighbour's, and one that cannot be used costs a warning. Raises :class:`LaunchError` for a mistake in
    the options.
    """

    def planned(chosen: ReportOptions) -> tuple[PlannedLaunch, ...]:
        return plan_launches(
            kernels, chosen, source, text=text, name=name, folder=folder, report_specs=report_specs
        )

    beside = folder / LAUNCH_FILE
    if options.launch_file is not None or not is_file(beside):
        return planned(options), []
    where = f"{LAUNCH_FILE} beside {name}"
    try:
        if names_none(kernels, beside):
            return planned(options), [f"{where} names none of its kernels"]
        return planned(replace(options, launch_file=beside)), [f"launches come from {where}"]
    except LaunchError as error:
        # A mistake on the command line is raised here again; what is left is the file's own.
        return planned(options), [f"{WARNING}{where} is not used: {error.message}"]
