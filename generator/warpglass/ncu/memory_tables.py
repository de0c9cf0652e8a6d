"""Memory tables: a report names them by label only, so their rows and columns are laid out here.

Metric names are the profiler's own; a cell whose metric a launch lacks is n/a.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MEMORY_TABLES"]

Row = tuple[str, tuple[str, ...]]

#: A cell may name several metrics, the first one collected is shown: names changed between versions.
_OR = "|"


def _l1tex() -> tuple[Row, ...]:
    rows: list[Row] = []
    accesses = (
        ("Global load", "lsu", "global", "ld"), ("Global store", "lsu", "global", "st"),
        ("Global atomic", "lsu", "global", "atom"), ("Global reduction", "lsu", "global", "red"),
        ("Local load", "lsu", "local", "ld"), ("Local store", "lsu", "local", "st"),
        ("Surface load", "tex", "surface", "ld"), ("Surface store", "tex", "surface", "st"),
    )  # fmt: skip
    instructions = {"ld": "loads", "st": "stores"}
    for label, pipe, space, op in accesses:
        place = f"pipe_{pipe}_mem_{space}_op_{op}"
        opcode = f"smsp__inst_executed_op_{space}_{op}.sum"
        if op in instructions and space in ("global", "local"):
            opcode += f"{_OR}smsp__sass_inst_executed_op_{space}_{op}.sum"
            opcode += f"{_OR}sass__inst_executed_{space}_{instructions[op]}"
        rows.append(
            (
                label,
                (
                    opcode,
                    f"l1tex__t_requests_{place}.sum",
                    f"l1tex__t_output_wavefronts_{place}.sum",
                    f"l1tex__t_sectors_{place}.sum",
                    f"l1tex__average_t_sectors_per_request_{place}.ratio",
                    f"l1tex__t_sector_{place}_hit_rate.pct",
                    f"l1tex__t_sectors_{place}_lookup_miss.sum",
                ),
            )
        )
    texture = "pipe_tex_mem_texture"
    rows.append(
        (
            "Texture",
            (
                "smsp__inst_executed_op_texture.sum",
                f"l1tex__t_requests_{texture}.sum",
                f"l1tex__t_output_wavefronts_{texture}.sum",
                f"l1tex__t_sectors_{texture}.sum",
                f"l1tex__average_t_sectors_per_request_{texture}.ratio",
                f"l1tex__t_sector_{texture}_op_tex_hit_rate.pct",
                f"l1tex__t_sectors_{texture}_lookup_miss.sum",
            ),
        )
    )
    return tuple(rows)


def _shared() -> tuple[Row, ...]:
    rows: list[Row] = []
    for label, op, opcode in (
        ("Load", "ld", "shared_ld"), ("Store", "st", "shared_st"), ("Atomic", "atom", "shared_atom"),
    ):  # fmt: skip
        long = {"ld": "loads", "st": "stores"}.get(op)
        executed = f"smsp__inst_executed_op_{opcode}.sum"
        if long is not None:
            executed += f"{_OR}smsp__sass_inst_executed_op_{opcode}.sum{_OR}sass__inst_executed_shared_{long}"
        place = f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
        rows.append(
            (
                label,
                (
                    executed,
                    place,
                    f"{place}.pct_of_peak_sustained_elapsed",
                    f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum",
                ),
            )
        )
    total = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
    rows.append(
        (
            "Total",
            (
                f"smsp__inst_executed_op_shared.sum{_OR}smsp__sass_inst_executed_op_shared.sum",
                total,
                f"{total}.pct_of_peak_sustained_elapsed",
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            ),
        )
    )
    return tuple(rows)


def _l2() -> tuple[Row, ...]:
    rows: list[Row] = []
    for label, part in (
        ("L1/TEX load", "op_read"), ("L1/TEX store", "op_write"), ("L1/TEX reduction", "op_red"),
        ("L1/TEX atomic (ALU)", "op_atom_dot_alu"), ("L1/TEX atomic (CAS)", "op_atom_dot_cas"),
        ("L1/TEX total", ""),
    ):  # fmt: skip
        place = f"srcunit_tex_{part}" if part else "srcunit_tex"
        hit = f"lts__t_sector_{part}_hit_rate.pct" if part in ("op_read", "op_write") else (
            "lts__t_sector_hit_rate.pct" if not part else "")  # fmt: skip
        rows.append(
            (
                label,
                (
                    f"lts__t_requests_{place}.sum",
                    f"lts__t_sectors_{place}.sum",
                    f"lts__t_sectors_{place}_lookup_hit.sum",
                    f"lts__t_sectors_{place}_lookup_miss.sum",
                    hit,
                ),
            )
        )
    rows.append(
        (
            "All units",
            (
                "lts__t_requests.sum",
                "lts__t_sectors.sum",
                "lts__t_sectors_lookup_hit.sum",
                "lts__t_sectors_lookup_miss.sum",
                "lts__t_sector_hit_rate.pct",
            ),
        )
    )
    return tuple(rows)


def _dram() -> tuple[Row, ...]:
    return tuple(
        (
            label,
            (
                f"dram__sectors_{op}.sum",
                f"dram__bytes_{op}.sum",
                f"dram__bytes_{op}.sum.per_second",
                f"dram__bytes_{op}.sum.pct_of_peak_sustained_elapsed",
            ),
        )
        for label, op in (("Load", "read"), ("Store", "write"))
    )


def _eviction() -> tuple[Row, ...]:
    rows: list[Row] = []
    for label, policy in (
        ("First", "first"), ("Last", "last"), ("Normal", "normal"), ("Normal, demoted", "normal_demote"),
    ):  # fmt: skip
        rows.append(
            (
                label,
                tuple(
                    f"lts__t_sectors_{source}evict_{policy}_lookup_{outcome}.sum"
                    for source in (
                        "",
                        "srcunit_tex_op_read_",
                        "srcunit_tex_op_write_",
                        "srcunit_tex_op_atom_",
                    )
                    for outcome in ("hit", "miss")
                ),
            )
        )
    return tuple(rows)


#: title: (column heads, rows of (label, metric of each column)).
MEMORY_TABLES: Mapping[str, tuple[tuple[str, ...], tuple[Row, ...]]] = {
    "L1/TEX cache": (
        ("Instructions", "Requests", "Wavefronts", "Sectors", "Sectors/request", "Hit rate", "Sector misses"),
        _l1tex(),
    ),
    "Shared memory": (("Instructions", "Wavefronts", "% of peak", "Bank conflicts"), _shared()),
    "L2 cache": (("Requests", "Sectors", "Sector hits", "Sector misses", "Hit rate"), _l2()),
    "L2 eviction policies": (
        (
            "Hits",
            "Misses",
            "Read hits",
            "Read misses",
            "Write hits",
            "Write misses",
            "Atomic hits",
            "Atomic misses",
        ),
        _eviction(),
    ),
    "Device memory": (("Sectors", "Bytes", "Bandwidth", "% of peak"), _dram()),
}
