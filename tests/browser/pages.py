"""Reports for the browser tests, made by a small interpreter of their own.

``reduce_report`` replays a block-wide reduction (loop, shared memory, divergence, barriers) of 128 threads
with every value; ``busy_report`` is a trace of as many steps as asked for. Neither needs a toolchain nor the
machine, so the page's tests fail only for the page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

CUDA = """// Sums 128 floats a block.
__device__ __forceinline__ float halve(float* tile, unsigned i, unsigned half) {
  return tile[i] + tile[i + half];
}

__global__ void reduce(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[128];
  unsigned i = threadIdx.x;
  tile[i] = in[blockIdx.x * 128 + i];
  __syncthreads();
  for (unsigned half = 64; half > 0; half >>= 1) {
    if (i < half)
      tile[i] = halve(tile, i, half);
    __syncthreads();
  }
  if (i == 0)
    out[blockIdx.x] = tile[0];
}
"""

# text, kind, CUDA line, block, reads, writes
_PROGRAM: list[tuple[str, str, int, int, str, str]] = [
    ("ld.param.u64 %rd1, [reduce_param_0]", "load", 6, 0, "", "rd1"),
    ("ld.param.u64 %rd2, [reduce_param_1]", "load", 6, 0, "", "rd2"),
    ("mov.u32 %r1, %tid.x", "move", 8, 0, "", "r1"),
    ("mov.u32 %r2, %ctaid.x", "move", 9, 0, "", "r2"),
    ("mad.lo.s32 %r3, %r2, 128, %r1", "alu", 9, 0, "r2 r1", "r3"),
    ("mul.wide.u32 %rd3, %r3, 4", "alu", 9, 0, "r3", "rd3"),
    ("add.s64 %rd4, %rd1, %rd3", "alu", 9, 0, "rd1 rd3", "rd4"),
    ("ld.global.nc.f32 %f1, [%rd4]", "load", 9, 0, "rd4", "f1"),
    ("shl.b32 %r4, %r1, 2", "alu", 9, 0, "r1", "r4"),
    ("st.shared.f32 [%r4], %f1", "store", 9, 0, "r4 f1", ""),
    ("bar.sync 0", "barrier", 10, 0, "", ""),
    ("mov.u32 %r5, 64", "move", 11, 0, "", "r5"),
    ("setp.ge.u32 %p1, %r1, %r5", "predicate", 12, 1, "r1 r5", "p1"),
    ("@%p1 bra $L_join", "branch", 12, 1, "p1", ""),
    ("mad.lo.s32 %r6, %r5, 4, %r4", "alu", 3, 2, "r5 r4", "r6"),
    ("ld.shared.f32 %f2, [%r6]", "load", 3, 2, "r6", "f2"),
    ("ld.shared.f32 %f3, [%r4]", "load", 3, 2, "r4", "f3"),
    ("add.f32 %f4, %f3, %f2", "fpu", 3, 2, "f3 f2", "f4"),
    ("st.shared.f32 [%r4], %f4", "store", 13, 2, "r4 f4", ""),
    ("bar.sync 0", "barrier", 14, 3, "", ""),
    ("shr.u32 %r5, %r5, 1", "alu", 11, 3, "r5", "r5"),
    ("setp.ne.u32 %p2, %r5, 0", "predicate", 11, 3, "r5", "p2"),
    ("@%p2 bra $L_loop", "branch", 11, 3, "p2", ""),
    ("setp.ne.u32 %p3, %r1, 0", "predicate", 16, 4, "r1", "p3"),
    ("@%p3 bra $L_end", "branch", 16, 4, "p3", ""),
    ("ld.shared.f32 %f5, [tile]", "load", 17, 5, "", "f5"),
    ("mul.wide.u32 %rd5, %r2, 4", "alu", 17, 5, "r2", "rd5"),
    ("add.s64 %rd6, %rd2, %rd5", "alu", 17, 5, "rd2 rd5", "rd6"),
    ("st.global.f32 [%rd6], %f5", "store", 17, 5, "rd6 f5", ""),
    ("ret", "exit", 18, 6, "", ""),
]
_TARGET = {13: 19, 22: 12, 24: 29}
_JOIN = {13: 19, 22: 23, 24: 29}
_BLOCKS = [
    (0, 12, [1], 1, None),
    (12, 14, [3, 2], 3, 0),
    (14, 19, [3], 3, 0),
    (19, 23, [1, 4], 4, 0),
    (23, 25, [6, 5], 6, None),
    (25, 29, [6], 6, None),
    (29, 30, [], None, None),
]
_NAMES = (
    [f"%r{i}" for i in range(1, 7)]
    + [f"%f{i}" for i in range(1, 6)]
    + [f"%rd{i}" for i in range(1, 7)]
    + ["%p1", "%p2", "%p3"]
)
_TYPES = ["b32"] * 6 + ["f32"] * 5 + ["b64"] * 6 + ["pred"] * 3
_IN, _OUT = 0x7F0000000000, 0x7F0000100000
_HEAD = 5


def ptx_text() -> str:
    """The program as a listing."""
    labels = {12: "$L_loop:", 19: "$L_join:", 29: "$L_end:"}
    lines = [
        ".version 9.0",
        ".target sm_80",
        ".address_size 64",
        ".visible .entry reduce(.param .u64 reduce_param_0, .param .u64 reduce_param_1)",
        "{",
    ]
    for pc, row in enumerate(_PROGRAM):
        if pc in labels:
            lines.append(labels[pc])
        lines.append(f"\t{row[0]};")
    return "\n".join([*lines, "}"]) + "\n"


def _lines() -> list[int]:
    texts = ptx_text().split("\n")
    found, at = [], _HEAD
    for row in _PROGRAM:
        at = texts.index(f"\t{row[0]};", at)
        found.append(at + 1)
        at += 1
    return found


@dataclass
class _Group:
    pc: int
    mask: np.ndarray[Any, Any]
    join: int | None = None


@dataclass
class _Warp:
    registers: dict[str, np.ndarray[Any, Any]]
    groups: list[_Group]
    waiting: bool = False
    turn: int = 0


@dataclass
class _Log:
    columns: dict[str, list[int]] = field(
        default_factory=lambda: {k: [] for k in ("round", "warp", "pc", "mask", "group")}
    )
    values: dict[str, list[int]] = field(
        default_factory=lambda: {k: [] for k in ("step", "register", "offset", "words")}
    )
    accesses: dict[str, list[int]] = field(
        default_factory=lambda: {
            k: []
            for k in ("step", "kind", "space", "size", "mask", "offset", "addresses", "data_offset", "data")
        }
    )
    barriers: dict[str, list[int]] = field(
        default_factory=lambda: {k: [] for k in ("step", "round", "warp", "barrier", "kind")}
    )


def _bits(mask: np.ndarray[Any, Any]) -> int:
    return int(sum(1 << lane for lane in range(32) if mask[lane]))


class _Reduction:
    """Runs one block of the program."""

    def __init__(self, block: int, warps: int = 4) -> None:
        self.block, self.log = block, _Log()
        self.shared = np.zeros(128, np.float32)
        self.input = (np.arange(128 * 4, dtype=np.float32) * 0.25 + 1)[block * 128 : block * 128 + 128]
        self.warps = [
            _Warp({n[1:]: np.zeros(32, np.uint64) for n in _NAMES}, [_Group(0, np.ones(32, bool))])
            for _ in range(warps)
        ]
        self.round = 0

    def run(self) -> _Log:
        while any(warp.groups for warp in self.warps):
            for w, warp in enumerate(self.warps):
                if warp.groups and not warp.waiting:
                    self.issue(w, warp)
            self.round += 1
        return self.log

    def issue(self, w: int, warp: _Warp) -> None:
        ready = [
            g
            for g in warp.groups
            if not any(o is not g and g.pc == g.join and o.join == g.join for o in warp.groups)
        ]
        group = ready[warp.turn % len(ready)]
        warp.turn += 1
        step = len(self.log.columns["pc"])
        for name, value in (
            ("round", self.round),
            ("warp", w),
            ("pc", group.pc),
            ("mask", _bits(group.mask)),
            ("group", _bits(group.mask)),
        ):
            self.log.columns[name].append(value)
        self.execute(step, w, warp, group)

    def write(self, step: int, warp: _Warp, name: str, value: Any, mask: np.ndarray[Any, Any]) -> None:
        old = warp.registers[name]
        new = np.where(mask, np.broadcast_to(np.asarray(value), 32).astype(np.uint64), old)
        warp.registers[name] = new
        log = self.log.values
        log["step"].append(step)
        log["register"].append(_NAMES.index("%" + name))
        log["offset"].append(len(log["words"]))
        if name.startswith("p"):
            log["words"].append(_bits(new.astype(bool)))
            return
        log["words"].extend(int(v) & 0xFFFFFFFF for v in new)
        if name.startswith("rd"):
            log["words"].extend(int(v) >> 32 for v in new)

    def access(
        self, step: int, kind: int, space: int, mask: np.ndarray[Any, Any], addresses: Any, data: Any = None
    ) -> None:
        log = self.log.accesses
        for name, value in (
            ("step", step),
            ("kind", kind),
            ("space", space),
            ("size", 4),
            ("mask", _bits(mask)),
            ("offset", len(log["addresses"])),
            ("data_offset", 0xFFFFFFFF if data is None else len(log["data"])),
        ):
            log[name].append(value)
        live = np.flatnonzero(mask)
        log["addresses"].extend(int(np.broadcast_to(addresses, 32)[lane]) for lane in live)
        if data is not None:
            log["data"].extend(int(np.broadcast_to(data, 32)[lane]) for lane in live)

    def execute(self, step: int, w: int, warp: _Warp, group: _Group) -> None:
        r, mask, pc = warp.registers, group.mask, group.pc
        put = lambda name, value: self.write(step, warp, name, value, mask)  # noqa: E731
        word = lambda name: r[name].astype(np.uint32).view(np.float32)  # noqa: E731
        raw = lambda value: np.asarray(value, np.float32).view(np.uint32)  # noqa: E731
        lanes = np.arange(32, dtype=np.uint64)
        following = pc + 1
        if pc in (0, 1):
            put(f"rd{pc + 1}", _IN if pc == 0 else _OUT)
        elif pc == 2:
            put("r1", lanes + 32 * w)
        elif pc == 3:
            put("r2", self.block)
        elif pc == 4:
            put("r3", r["r2"] * 128 + r["r1"])
        elif pc == 5:
            put("rd3", r["r3"] * 4)
        elif pc == 6:
            put("rd4", r["rd1"] + r["rd3"])
        elif pc == 7:
            self.access(step, 0, 0, mask, r["rd4"])
            put("f1", raw(self.input[32 * w : 32 * w + 32]))
        elif pc == 8:
            put("r4", r["r1"] * 4)
        elif pc in (9, 18):
            data = word("f1" if pc == 9 else "f4")
            self.access(step, 1, 1, mask, r["r4"], raw(data))
            self.shared[(r["r4"] // 4).astype(int)[mask]] = data[mask]
        elif pc in (10, 19):
            for name, value in (
                ("step", step),
                ("round", self.round),
                ("warp", w),
                ("barrier", 0),
                ("kind", 0),
            ):
                self.log.barriers[name].append(value)
            warp.waiting = True
            if all(other.waiting or not other.groups for other in self.warps):
                for name, value in (
                    ("step", step),
                    ("round", self.round),
                    ("warp", w),
                    ("barrier", 0),
                    ("kind", 2),
                ):
                    self.log.barriers[name].append(value)
                for other in self.warps:
                    other.waiting = False
        elif pc == 11:
            put("r5", 64)
        elif pc == 12:
            put("p1", r["r1"] >= r["r5"])
        elif pc == 14:
            put("r6", r["r5"] * 4 + r["r4"])
        elif pc in (15, 16):
            name = "r6" if pc == 15 else "r4"
            self.access(step, 0, 1, mask, r[name])
            put("f2" if pc == 15 else "f3", raw(self.shared[np.minimum((r[name] // 4).astype(int), 127)]))
        elif pc == 17:
            put("f4", raw(word("f3") + word("f2")))
        elif pc == 20:
            put("r5", r["r5"] // 2)
        elif pc == 21:
            put("p2", r["r5"] != 0)
        elif pc == 23:
            put("p3", r["r1"] != 0)
        elif pc == 25:
            self.access(step, 0, 1, mask, 0)
            put("f5", raw(np.full(32, self.shared[0])))
        elif pc == 26:
            put("rd5", r["r2"] * 4)
        elif pc == 27:
            put("rd6", r["rd2"] + r["rd5"])
        elif pc == 28:
            self.access(step, 1, 0, mask, r["rd6"], raw(word("f5")))
        elif pc == 29:
            warp.groups.remove(group)
            return
        if pc in _TARGET:
            self.branch(warp, group, pc)
        else:
            group.pc = following
        self.merge(warp)

    @staticmethod
    def branch(warp: _Warp, group: _Group, pc: int) -> None:
        taken = warp.registers[_PROGRAM[pc][4]].astype(bool) & group.mask
        if taken.all() or (taken == group.mask).all():
            group.pc = _TARGET[pc]
        elif not taken.any():
            group.pc += 1
        else:
            warp.groups.remove(group)
            stay = group.mask & ~taken
            warp.groups += [_Group(pc + 1, stay, _JOIN[pc]), _Group(_TARGET[pc], taken, _JOIN[pc])]

    @staticmethod
    def merge(warp: _Warp) -> None:
        if len(warp.groups) == 2 and all(g.pc == g.join for g in warp.groups):
            warp.groups[:] = [_Group(warp.groups[0].pc, warp.groups[0].mask | warp.groups[1].mask)]


def _sectors(addresses: list[int]) -> int:
    return len({a // 32 for a in addresses})


def _trace(block: int) -> dict[str, Any]:
    log = _Reduction(block).run()
    return {
        "block": [block, 0, 0],
        "index": block,
        "warps": 4,
        "threads": 128,
        "steps": len(log.columns["pc"]),
        "rounds": log.columns["round"][-1] + 1,
        "truncated": False,
        "columns": log.columns,
        "values": {"names": _NAMES, "types": _TYPES, **log.values, "warps": [0, 1, 2, 3], "complete": True},
        "accesses": {**log.accesses, "complete": True},
        "barriers": log.barriers,
    }


def _instructions() -> dict[str, Any]:
    index = {name[1:]: i for i, name in enumerate(_NAMES)}
    rows = _PROGRAM
    return {
        "line": _lines(),
        "opcode": [row[0].split()[1 if row[0].startswith("@") else 0] for row in rows],
        "text": [row[0] for row in rows],
        "kind": [row[1] for row in rows],
        "source": [0] * len(rows),
        "source_line": [row[2] if row[2] != 3 else 13 for row in rows],
        "inlined": [[[0, 3], [0, 13]] if row[2] == 3 else None for row in rows],
        "block": [row[3] for row in rows],
        "live": [min(2 + pc, 9) if pc < 10 else 7 if pc < 20 else 4 for pc in range(len(rows))],
        "reads": [[index[r] for r in row[4].split()] for row in rows],
        "writes": [[index[r] for r in row[5].split()] for row in rows],
        "control": [None] * len(rows),
    }


def _profile(trace: dict[str, Any]) -> dict[str, list[int]]:
    count = len(_PROGRAM)
    names = (
        "warp_executed",
        "warp_on",
        "thread_executed",
        "thread_active",
        "requests",
        "sectors",
        "sectors_ideal",
        "wavefronts",
        "wavefronts_ideal",
        "broadcasts",
        "bytes",
        "bytes_distinct",
        "atomic_addresses",
        "branch_uniform",
        "branch_divergent",
        "branch_taken",
    )
    profile = {name: [0] * count for name in names}
    for pc, mask, group in zip(*(trace["columns"][n] for n in ("pc", "mask", "group")), strict=True):
        profile["warp_executed"][pc] += 1
        profile["warp_on"][pc] += 1
        profile["thread_executed"][pc] += mask.bit_count()
        profile["thread_active"][pc] += group.bit_count()
    log, columns = trace["accesses"], trace["columns"]
    for row, step in enumerate(log["step"]):
        pc, lanes = columns["pc"][step], log["mask"][row].bit_count()
        addresses = log["addresses"][log["offset"][row] : log["offset"][row] + lanes]
        profile["requests"][pc] += 1
        profile["bytes"][pc] += 4 * lanes
        if log["space"][row] == 0:
            profile["sectors"][pc] += _sectors(addresses)
            profile["sectors_ideal"][pc] += math.ceil(len(set(addresses)) * 4 / 32)
        else:
            profile["wavefronts"][pc] += 1
            profile["wavefronts_ideal"][pc] += 1
    return profile


def _memory(profile: dict[str, list[int]]) -> list[dict[str, Any]]:
    rows = []
    for pc, (text, kind, line, *_) in enumerate(_PROGRAM):
        if not profile["requests"][pc]:
            continue
        shared = ".shared" in text
        strided = pc == 18
        addresses = [(128 * lane if strided else 4 * lane) + (0 if shared else _IN) for lane in range(32)]
        wavefronts = 32 if strided else 1
        sample = {
            "label": "first",
            "block": [0, 0, 0],
            "warp": 0,
            "space": "shared" if shared else "global",
            "size": 4,
            "mask": 0xFFFFFFFF,
            "addresses": addresses,
            "buffer": None if shared else "in",
            "base": 0 if shared else _IN,
            "sectors": 0 if shared else 4,
            "sectors_ideal": 0 if shared else 4,
            "wavefronts": wavefronts if shared else 0,
            "wavefronts_ideal": 1 if shared else 0,
        }
        requests = profile["requests"][pc]
        rows.append(
            {
                "pc": pc,
                "source": 0,
                "line": line,
                "operation": kind,
                "space": "shared" if shared else "global",
                "width": 4,
                "requests": requests,
                "sectors": None if shared else profile["sectors"][pc],
                "sectors_ideal": None if shared else profile["sectors_ideal"][pc],
                "wavefronts": requests * wavefronts if shared else None,
                "wavefronts_ideal": requests if shared else None,
                "conflicts": requests * (wavefronts - 1) if shared else None,
                "lanes": profile["thread_executed"][pc] / profile["warp_executed"][pc],
                "broadcasts": 0,
                "bytes": profile["bytes"][pc],
                "atomic_addresses": None,
                "samples": [
                    sample,
                    {
                        **sample,
                        "label": "worst",
                        "addresses": [a * 2 if shared else a + 4 * (a & 28) for a in addresses],
                    },
                ],
            }
        )
    return rows


def _launch(number: int, trace_blocks: list[int], label: str) -> dict[str, Any]:
    traces = [_trace(block) for block in trace_blocks]
    profile = _profile(traces[0])
    lines: dict[int, dict[str, Any]] = {}
    instructions = _instructions()
    for pc, line in enumerate(instructions["source_line"]):
        row = lines.setdefault(line, {"source": 0, "line": line, **dict.fromkeys(profile, 0)})
        for name, column in profile.items():
            row[name] += column[pc]
    executed = profile["warp_executed"]
    finding = {
        "kind": "divergence",
        "severity": "warning",
        "category": "divergence",
        "message": "the branch splits the warp in its last five iterations",
        "evidence": "executed",
        "count": 5,
        "pc": 13,
        "source": 0,
        "line": 12,
        "block": [0, 0, 0],
        "thread": [16, 0, 0],
        "address": None,
        "step": 120,
        "worst_step": 150,
        "trace": 0,
        "detail": {},
    }
    conflict = {
        **finding,
        "kind": "bank-conflict",
        "severity": "info",
        "category": "memory",
        "message": "stores of a column hit one bank",
        "pc": 18,
        "line": 13,
    }
    code = {
        "source": 1,
        "instructions": instructions,
        "blocks": [
            {"start": s, "end": e, "successors": n, "ipdom": j, "loop": p} for s, e, n, j, p in _BLOCKS
        ],
        "loops": [{"header": 1, "blocks": [1, 2, 3], "depth": 1, "trips": 7}],
        "registers": {"names": _NAMES, "types": _TYPES},
    }
    run = {
        "isa": "ptx",
        "complete": True,
        "stopped": None,
        "blocks": {"executed": 4, "total": 4, "traced": trace_blocks},
        "numbers": [
            {
                "name": "Warp instructions",
                "value": sum(executed),
                "unit": "1",
                "evidence": "executed",
                "rule": "counted",
                "scope": "grid",
            }
        ],
        "findings": [finding, conflict],
        "printed": [],
        "assumptions": [],
        "code": code,
        "profile": profile,
        "active_histogram": [[0] * 32 + [n] for n in executed],
        "lines": list(lines.values()),
        "memory": _memory(profile),
        "branches": [],
        "mix": [
            {
                "opcode": "add.f32",
                "kind": "fpu",
                "warp": executed[17],
                "thread": profile["thread_executed"][17],
            }
        ],
        "buffers": [
            {
                "name": "in",
                "base": _IN,
                "size": 2048,
                "dtype": "float32",
                "given": True,
                "touched": [0, 2048],
            },
            {"name": "out", "base": _OUT, "size": 16, "dtype": "float32", "given": True, "touched": [0, 16]},
        ],
        "traces": traces,
    }
    return {
        "id": number,
        "label": label,
        "kernel": {"name": "_Z6reducePKfPf", "demangled": "reduce(float const*, float*)", "bare": "reduce"},
        "arch": "sm_80",
        "gpu": None,
        "launch": {
            "grid": [4, 1, 1],
            "block": [128, 1, 1],
            "cluster": [1, 1, 1],
            "shared_bytes": 0,
            "args": [],
            "origin": {},
        },
        "compile": None,
        "runs": [run],
        "primary": 0,
    }


def reduce_report(launches: int = 2) -> dict[str, Any]:
    """Two launches of the reduction, the first with two traced blocks."""
    return {
        "schema": "warpglass-report/1",
        "tool": {"name": "warpglass", "version": "0.0.0"},
        "title": "Reduction",
        "notes": None,
        "options": {},
        "assumptions": [],
        "inputs": [{"id": 0, "name": "reduce.cu", "kind": "cuda", "sha256": "0" * 64, "bytes": len(CUDA)}],
        "sources": [
            {"id": 0, "name": "reduce.cu", "language": "cuda", "text": CUDA, "input": 0, "own": True},
            {
                "id": 1,
                "name": "reduce.ptx",
                "language": "ptx",
                "text": ptx_text(),
                "input": None,
                "own": False,
            },
        ],
        "launches": [_launch(0, [0, 1], "first"), _launch(1, [0], "second")][:launches],
        "sections": [],
        "tools": [],
    }


def busy_report(steps: int = 1_000_000, warps: int = 32) -> dict[str, Any]:
    """A long trace: every warp loops, some lanes leave early, a barrier now and then."""
    report = reduce_report(1)
    rng = np.random.default_rng(7)
    rounds = steps // warps
    count = rounds * warps
    when = np.repeat(np.arange(rounds, dtype=np.int64), warps)
    warp = np.tile(np.arange(warps, dtype=np.int64), rounds)
    body = np.array([12, 13, 14, 15, 16, 17, 18, 20, 21, 22])
    pc = body[when % len(body)]
    pc[when < 12] = when[when < 12]
    pc[when == rounds - 1] = 29
    part = rng.integers(0, 6, size=(rounds // len(body) + 1, warps))
    narrow = (part[when // len(body), warp] == 0) & np.isin(pc, (14, 15, 16, 17, 18))
    mask = np.where(narrow, 0x0000FFFF, 0xFFFFFFFF)
    trace = {
        "block": [0, 0, 0],
        "index": 0,
        "warps": warps,
        "threads": 32 * warps,
        "steps": count,
        "rounds": rounds,
        "truncated": False,
        "columns": {
            "round": when.tolist(),
            "warp": warp.tolist(),
            "pc": pc.tolist(),
            "mask": mask.tolist(),
            "group": mask.tolist(),
        },
        "values": None,
        "accesses": None,
        "barriers": None,
    }
    run = report["launches"][0]["runs"][0]
    run["traces"] = [trace]
    run["findings"] = []
    return report
