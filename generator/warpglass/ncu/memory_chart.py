"""The memory chart: a report only names it, so what stands at each of its links is listed here.

Metric names are the profiler's own; ``|`` separates alternatives, of which the first collected counts: names
changed between versions and architectures.
"""

from __future__ import annotations

__all__ = ["MEMORY_CHART"]

_PEAK = ".pct_of_peak_sustained_elapsed"


def _instructions(space: str) -> tuple[tuple[str, str], ...]:
    sides = (("load", "ld"), ("store", "st"))
    return tuple(
        (
            f"{word} instructions",
            f"smsp__sass_inst_executed_op_{space}_{op}.sum|smsp__inst_executed_op_{space}_{op}.sum"
            f"|sass__inst_executed_{space}_{word}s",
        )
        for word, op in sides
    )


def _requests(space: str, pipe: str = "lsu") -> tuple[tuple[str, str], ...]:
    place = f"l1tex__t_requests_pipe_{pipe}_mem_{space}_op"
    return (("load requests", f"{place}_ld.sum"), ("store requests", f"{place}_st.sum"))


def _bytes(read: str, write: str) -> tuple[tuple[str, str], ...]:
    return (
        ("read", read), ("read, of peak", f"{read}{_PEAK}"),
        ("written", write), ("written, of peak", f"{write}{_PEAK}"),
    )  # fmt: skip


def _aperture(name: str) -> tuple[tuple[str, str], ...]:
    """Sectors that missed L2 and went to a memory other than the device's own."""
    place = f"lts__t_sectors_srcunit_tex_aperture_{name}_op"
    return _bytes(f"{place}_read_lookup_miss.sum", f"{place}_write_lookup_miss.sum")


#: (link or unit, its values as (what, metric)).
MEMORY_CHART: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("kernel-global", _instructions("global")),
    ("kernel-local", _instructions("local")),
    ("kernel-texture", (("load instructions", "smsp__inst_executed_op_texture.sum"),)),
    ("kernel-surface", tuple(
        (f"{word} instructions", f"smsp__inst_executed_op_surface_{op}.sum")
        for word, op in (("load", "ld"), ("store", "st"))
    )),
    ("kernel-shared", _instructions("shared")),
    ("global-l1", _requests("global")),
    ("local-l1", _requests("local")),
    ("texture-l1", (("load requests", "l1tex__t_requests_pipe_tex_mem_texture.sum"),)),
    ("surface-l1", _requests("surface", "tex")),
    ("shared-smem", (
        ("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
        ("wavefronts, of peak", f"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum{_PEAK}"),
    )),
    ("l1-l2", _bytes("l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum")),
    ("l2-dram", _bytes("dram__bytes_read.sum", "dram__bytes_write.sum")),
    ("l2-system", _aperture("sysmem")),
    ("l2-peer", _aperture("peer")),
    ("l1", (("hit rate", "l1tex__t_sector_hit_rate.pct"),)),
    ("l2", (("hit rate", "lts__t_sector_hit_rate.pct"),)),
)  # fmt: skip
