"""Random kernels, executed as PTX and as SASS: the memory must be the same.

``python tests/fuzz/fuzz_kernels.py --count 1000 --arch sm_80`` makes kernels from seeds 0, 1, 2 …; a kernel is
its seed's alone, so ``--first SEED --count 1 --show`` repeats one and prints it. Integer, float, half and
double arithmetic without approximate units, branches, loops with bounded trips, shared memory between
barriers, shuffles, votes, atomics on shared memory.

Not made, since ptxas folds them otherwise than the PTX ISA defines them (read off its output, version 13.0):
bit fields that reach beyond the word by literal positions (`bfe.s32 d, a, 32, 15` becomes -1), and 64-bit
shifts by constants of 64 and more (`shl.b64` by 0x6789cc2e becomes a copy). Nor `mad.hi` that adds to its own
destination: of five `mad.hi.u32 d, a, b, d` in a row ptxas keeps three or four (`-O0` all five), since the
addend of IMAD.HI is a pair of registers and it overlooks that the instruction before wrote the upper one.
"""

# ruff: noqa: E501 - statements stand on one line as they are written into the text

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpglass import machine, ptx, sass
from warpglass.inputs.toolchain import require_tool
from warpglass.machine import Argument, Launch, RunOptions

BLOCK, GRID = 64, 2
THREADS = BLOCK * GRID
INTS, FLOATS, LONGS, DOUBLES = 6, 4, 3, 2
WORDS = INTS + FLOATS + 2 * LONGS + 2 * DOUBLES
#: Where no architecture is asked for: one of each kind of encoding, an equal share of the seeds for each.
ARCHES = ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120")
#: Kernels of one module: ptxas starts once for all of them.
BATCH = 50

HEAD = ".version 8.8\n.target {arch}\n.address_size 64\n"
DECLARED = f"""
    .reg .pred %p<8>; .reg .b32 %i<{INTS}>; .reg .f32 %f<{FLOATS}>; .reg .b64 %l<{LONGS}>;
    .reg .f64 %d<{DOUBLES}>; .reg .b32 %t<16>; .reg .b64 %a<16>; .reg .b32 %n<200>; .reg .b16 %h<8>;
    .shared .align 8 .b32 tile[{BLOCK}];
"""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
EDGES = (0, 1, 2, 5, 31, 32, 33, 255, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0xDEADBEEF)


class Writer:
    """Writes one kernel. ``uniform`` says whether all threads of the block are together here."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"kernel {seed}")
        self.lines: list[str] = []
        self.labels = 0
        self.counters = 0

    def say(self, text: str) -> None:
        """Add statements, each on a line of its own."""
        self.lines += [part.strip() + ";" for part in text.split(";") if part.strip()]

    def int32(self) -> str:
        """A source operand: mostly a register, sometimes a literal."""
        if self.rng.random() < 0.2:
            return str(self.rng.choice(EDGES))
        return self.some("i", INTS)

    def some(self, letter: str, count: int) -> str:
        """A register of a kind."""
        return f"%{letter}{self.rng.randrange(count)}"

    def one_int(self) -> None:
        """An integer instruction."""
        rng, d = self.rng, self.some("i", INTS)
        a, b, c = self.some("i", INTS), self.int32(), self.int32()
        small, low = rng.randrange(33), rng.randrange(32)
        addend = c if c != d else f"%i{(int(d[2:]) + 1) % INTS}"
        self.say(
            rng.choice(
                (
                    f"{rng.choice(('add', 'sub', 'mul.lo'))}.s32 {d}, {a}, {b}",
                    f"mul.hi.{rng.choice(('u32', 's32'))} {d}, {a}, {b}",
                    f"mad.lo.s32 {d}, {a}, {b}, {c}",
                    f"mad.hi.{rng.choice(('u32', 's32'))} {d}, {a}, {b}, {addend}",
                    f"mul24.lo.{rng.choice(('u32', 's32'))} {d}, {a}, {b}",
                    f"{rng.choice(('and', 'or', 'xor'))}.b32 {d}, {a}, {b}",
                    f"not.b32 {d}, {a}",
                    f"lop3.b32 {d}, {a}, {self.some('i', INTS)}, {self.some('i', INTS)}, {rng.randrange(256)}",
                    f"shl.b32 {d}, {a}, {rng.choice((small, b))}",
                    f"shr.{rng.choice(('u32', 's32'))} {d}, {a}, {rng.choice((small, b))}",
                    f"shf.{rng.choice('lr')}.{rng.choice(('wrap', 'clamp'))}.b32 {d}, {a}, {b}, "
                    f"{rng.choice((small, c))}",
                    f"{rng.choice(('min', 'max'))}.{rng.choice(('u32', 's32'))} {d}, {a}, {b}",
                    f"{rng.choice(('abs', 'neg'))}.s32 {d}, {a}",
                    f"{rng.choice(('popc', 'clz', 'brev'))}.b32 {d}, {a}",
                    f"bfind.{rng.choice(('u32', 's32', 'shiftamt.u32'))} {d}, {a}",
                    f"bfe.{rng.choice(('u32', 's32'))} {d}, {a}, {low}, {rng.randrange(33 - low)}",
                    f"bfe.{rng.choice(('u32', 's32'))} {d}, {a}, {self.some('i', INTS)}, {self.some('i', INTS)}",
                    f"bfi.b32 {d}, {a}, {b}, {low}, {rng.randrange(33 - low)}",
                    f"prmt.b32 {d}, {a}, {b}, {rng.choice((rng.randrange(65536), c))}",
                    f"sad.{rng.choice(('u32', 's32'))} {d}, {a}, {b}, {c}",
                    f"dp4a.{rng.choice(('u32', 's32'))}.{rng.choice(('u32', 's32'))} {d}, {a}, {b}, {c}",
                    f"dp2a.{rng.choice(('lo', 'hi'))}.u32.s32 {d}, {a}, {b}, {c}",
                    f"add.cc.u32 {d}, {a}, {b}; addc.u32 {self.some('i', INTS)}, {a}, {c}",
                    f"sub.cc.u32 {d}, {a}, {b}; subc.u32 {self.some('i', INTS)}, {a}, {c}",
                    f"{rng.choice(('div', 'rem'))}.{rng.choice(('u32', 's32'))} {d}, {a}, "
                    f"{rng.choice((3, 7, 10, 641, 65536))}",
                    f"or.b32 %t5, {b}, 1; {rng.choice(('div', 'rem'))}.{rng.choice(('u32', 's32'))} {d}, {a}, %t5",
                    f"cvt.rzi.s32.f32 {d}, {self.some('f', FLOATS)}",
                    f"cvt.rni.u32.f32 {d}, {self.some('f', FLOATS)}",
                    f"cvt.u16.u32 %h0, {a}; cvt.u16.u32 %h1, {self.some('i', INTS)}; "
                    f"{rng.choice(('add', 'sub', 'mul.lo', 'min', 'max'))}.s16 %h2, %h0, %h1; "
                    f"cvt.{rng.choice(('s32.s16', 'u32.u16'))} {d}, %h2",
                    f"cvt.u32.u64 {d}, {self.some('l', LONGS)}",
                    f"{rng.choice(('add', 'mul'))}.rn.f16x2 {d}, {a}, {self.some('i', INTS)}",
                    f"fma.rn.f16x2 {d}, {a}, {self.some('i', INTS)}, {self.some('i', INTS)}",
                )
            )
        )

    def one_float(self) -> None:
        """A float or double instruction whose result is exact by definition."""
        rng, d = self.rng, self.some("f", FLOATS)
        a, b, c = (self.some("f", FLOATS) for _ in range(3))
        x, y, z = (self.some("d", DOUBLES) for _ in range(3))
        mode = rng.choice(("rn", "rn", "rn", "rz", "rp", "rm"))
        self.say(
            rng.choice(
                (
                    f"{rng.choice(('add', 'sub', 'mul'))}.{mode}.f32 {d}, {a}, {b}",
                    f"fma.{mode}.f32 {d}, {a}, {b}, {c}",
                    f"{rng.choice(('add', 'mul'))}.rn.{rng.choice(('ftz', 'sat', 'ftz.sat'))}.f32 {d}, {a}, {b}",
                    f"{rng.choice(('min', 'max'))}.f32 {d}, {a}, {b}",
                    f"{rng.choice(('abs', 'neg'))}.f32 {d}, {a}",
                    f"cvt.rn.f32.{rng.choice(('s32', 'u32'))} {d}, {self.some('i', INTS)}",
                    f"cvt.{rng.choice(('rni', 'rzi', 'rmi', 'rpi'))}.f32.f32 {d}, {a}",
                    f"cvt.rn.f32.f64 {d}, {x}",
                    f"cvt.rn.f16.f32 %h3, {a}; cvt.f32.f16 {d}, %h3",
                    f"mov.f32 {d}, 0f{rng.choice((0x3F800000, 0x40490FDB, 0xBF000000, 0x00000001, 0x7F7FFFFF)):08X}",
                    f"div.rn.f32 {d}, {a}, {b}",
                    f"sqrt.rn.f32 {d}, {a}",
                    f"{rng.choice(('add', 'sub', 'mul'))}.{mode}.f64 {x}, {y}, {z}",
                    f"fma.{mode}.f64 {x}, {y}, {z}, {x}",
                    f"{rng.choice(('min', 'max'))}.f64 {x}, {y}, {z}",
                    f"cvt.f64.f32 {x}, {a}",
                    f"cvt.rn.f64.s32 {x}, {self.some('i', INTS)}",
                    f"cvt.rzi.s32.f64 {self.some('i', INTS)}, {x}",
                )
            )
        )

    def one_long(self) -> None:
        """A 64-bit integer instruction."""
        rng, d = self.rng, self.some("l", LONGS)
        a, b = self.some("l", LONGS), self.some("l", LONGS)
        self.say(
            rng.choice(
                (
                    f"{rng.choice(('add', 'sub', 'mul.lo'))}.s64 {d}, {a}, {b}",
                    f"mul.hi.{rng.choice(('u64', 's64'))} {d}, {a}, {b}",
                    f"{rng.choice(('and', 'or', 'xor'))}.b64 {d}, {a}, {b}",
                    f"and.b32 %t5, {self.some('i', INTS)}, 63; {rng.choice(('shl.b64', 'shr.u64', 'shr.s64'))} {d}, {a}, "
                    f"{rng.choice((rng.randrange(64), '%t5'))}",
                    f"{rng.choice(('min', 'max'))}.{rng.choice(('u64', 's64'))} {d}, {a}, {b}",
                    f"mul.wide.{rng.choice(('u32', 's32'))} {d}, {self.some('i', INTS)}, {self.int32()}",
                    f"mad.wide.{rng.choice(('u32', 's32'))} {d}, {self.some('i', INTS)}, {self.int32()}, {a}",
                    f"cvt.{rng.choice(('u64.u32', 's64.s32'))} {d}, {self.some('i', INTS)}",
                    f"popc.b64 {self.some('i', INTS)}, {a}",
                    f"clz.b64 {self.some('i', INTS)}, {a}",
                    f"brev.b64 {d}, {a}",
                    f"neg.s64 {d}, {a}",
                )
            )
        )

    def condition(self) -> None:
        """Put a random condition into %p0."""
        rng, comparison = self.rng, self.rng.choice(COMPARISONS)
        self.say(
            rng.choice(
                (
                    f"setp.{comparison}.{rng.choice(('u32', 's32'))} %p0, {self.some('i', INTS)}, {self.int32()}",
                    f"and.b32 %t6, {self.some('i', INTS)}, {rng.choice((1, 3, 16))}; setp.{comparison}.u32 %p0, %t6, 1",
                    f"setp.{comparison}.s64 %p0, {self.some('l', LONGS)}, {self.some('l', LONGS)}",
                    f"setp.{rng.choice((*COMPARISONS, 'ltu', 'geu', 'nan', 'num'))}.f32 %p0, "
                    f"{self.some('f', FLOATS)}, {self.some('f', FLOATS)}",
                    f"setp.{comparison}.f64 %p0, {self.some('d', DOUBLES)}, {self.some('d', DOUBLES)}",
                    f"setp.{comparison}.s32 %p1, {self.some('i', INTS)}, {self.int32()}; "
                    f"setp.{rng.choice(COMPARISONS)}.{rng.choice(('and', 'or', 'xor'))}.u32 %p0, "
                    f"{self.some('i', INTS)}, {self.int32()}, {rng.choice(('', '!'))}%p1",
                )
            )
        )

    def select(self) -> None:
        """One of two values."""
        self.condition()
        self.say(
            self.rng.choice(
                (
                    f"selp.b32 {self.some('i', INTS)}, {self.some('i', INTS)}, {self.int32()}, %p0",
                    f"selp.f32 {self.some('f', FLOATS)}, {self.some('f', FLOATS)}, {self.some('f', FLOATS)}, %p0",
                    f"selp.b64 {self.some('l', LONGS)}, {self.some('l', LONGS)}, {self.some('l', LONGS)}, %p0",
                    f"@%p0 add.s32 {self.some('i', INTS)}, {self.some('i', INTS)}, {self.int32()}",
                    f"@!%p0 mov.b32 {self.some('i', INTS)}, {self.some('i', INTS)}",
                )
            )
        )

    def together(self) -> None:
        """What all threads of the block do at once."""
        rng, d, a = self.rng, self.some("i", INTS), self.some("i", INTS)
        kind = rng.randrange(6)
        if kind == 0:
            self.say(f"st.shared.b32 [%t2], {a}; bar.sync 0; xor.b32 %t7, %t2, {4 * rng.randrange(1, BLOCK)}")
            self.say(f"sub.u32 %t8, %t7, %t3; and.b32 %t8, %t8, {4 * BLOCK - 1}; add.u32 %t7, %t8, %t3")
            self.say(f"ld.shared.b32 {d}, [%t7]; bar.sync 0")
        elif kind == 1:
            mode, clamp = rng.choice((("bfly", 31), ("up", 0), ("down", 31), ("idx", 31)))
            lane = rng.choice((str(rng.randrange(32)), a))
            self.say(f"and.b32 %t9, {lane}, 31; shfl.sync.{mode}.b32 {d}|%p2, {a}, %t9, {clamp}, -1")
            self.say(f"@%p2 add.s32 {d}, {d}, 1")
        elif kind == 2:
            self.condition()
            self.say(f"vote.sync.ballot.b32 {d}, %p0, -1")
        elif kind == 3:
            self.condition()
            self.say(
                f"vote.sync.{rng.choice(('any', 'all', 'uni'))}.pred %p3, %p0, -1; selp.b32 {d}, 1, {a}, %p3"
            )
        elif kind == 4:
            op = rng.choice(("add.u32", "min.u32", "max.s32", "and.b32", "or.b32", "xor.b32"))
            self.say(f"st.shared.b32 [%t2], {a}; bar.sync 0; and.b32 %t7, {self.some('i', INTS)}, 28")
            self.say(f"add.u32 %t7, %t7, %t3; red.shared.{op} [%t7], {self.some('i', INTS)}; bar.sync 0")
            self.say(f"ld.shared.b32 {d}, [%t2]; bar.sync 0")
        else:
            self.condition()
            self.say(f"bar.red.popc.u32 {d}, 0, %p0")

    def branch(self, depth: int, uniform: bool) -> None:
        """If, or if and else."""
        n = self.labels = self.labels + 1
        both = self.rng.random() < 0.5
        self.condition()
        self.say(f"@%p0 bra ELSE{n}")
        self.body(depth - 1, False)
        if both:
            self.say(f"bra DONE{n}")
        self.lines.append(f"ELSE{n}:")
        if both:
            self.body(depth - 1, False)
            self.lines.append(f"DONE{n}:")

    def loop(self, depth: int, uniform: bool) -> None:
        """At most eight trips, the same for all threads or not, some left early."""
        n = self.labels = self.labels + 1
        k = self.counters
        self.counters += 2
        alike = self.rng.random() < 0.5
        trips = str(self.rng.randrange(1, 6)) if alike else self.some("i", INTS)
        self.say(f"and.b32 %n{k}, {trips}, 7; mov.u32 %n{k + 1}, 0")
        self.lines.append(f"LOOP{n}:")
        self.body(depth - 1, uniform and alike)
        if not alike and self.rng.random() < 0.5:
            self.condition()
            self.say(f"@%p0 bra OUT{n}")
            self.body(0, False)
        self.say(f"add.u32 %n{k + 1}, %n{k + 1}, 1; setp.lt.u32 %p4, %n{k + 1}, %n{k}; @%p4 bra LOOP{n}")
        self.lines.append(f"OUT{n}:")

    def body(self, depth: int, uniform: bool) -> None:
        """A few statements."""
        for _ in range(self.rng.randrange(2, 6)):
            choices: list[Callable[[], None]] = [self.one_int] * 5 + [self.one_float] * 3
            choices += [self.one_long] * 2 + [self.select]
            if uniform:
                choices += [self.together] * 2
            if depth:
                choices += [lambda: self.branch(depth, uniform), lambda: self.loop(depth, uniform)] * 2
            self.rng.choice(choices)()


def kernel(seed: int) -> str:
    """The kernel ``k<seed>``: reads one word a thread, writes all its registers."""
    w = Writer(seed)
    w.say("ld.param.u64 %a0, [out]; ld.param.u64 %a1, [in]; mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x")
    w.say(f"mad.lo.s32 %t4, %t1, {BLOCK}, %t0; mov.u32 %t3, tile; shl.b32 %t2, %t0, 2; add.u32 %t2, %t2, %t3")
    w.say(f"mul.wide.u32 %a2, %t4, 4; add.s64 %a1, %a1, %a2; mul.wide.u32 %a3, %t4, {4 * WORDS}")
    w.say("add.s64 %a0, %a0, %a3; ld.global.b32 %i0, [%a1]; mov.u32 %i1, %t4; mov.u32 %i2, %laneid")
    for n in range(3, INTS):
        w.say(f"mad.lo.s32 %i{n}, %i{n - 3}, {w.rng.choice(EDGES)}, {w.rng.randrange(1 << 31)}")
    for n in range(FLOATS):
        w.say(
            f"cvt.rn.f32.s32 %f{n}, %i{n}; mul.rn.f32 %f{n}, %f{n}, 0f{w.rng.choice((0x3A800000, 0x3F800000)):08X}"
        )
    for n in range(LONGS):
        w.say(f"mul.wide.s32 %l{n}, %i{n}, %i{n + 1}")
    for n in range(DOUBLES):
        w.say(f"cvt.rn.f64.s32 %d{n}, %i{n}; mul.rn.f64 %d{n}, %d{n}, 0d3FB999999999999A")
    w.body(3, True)
    w.body(3, True)
    at = 0
    for n in range(INTS):
        w.say(f"st.global.b32 [%a0+{at}], %i{n}")
        at += 4
    # Which NaN comes of an operation on a NaN is nobody's promise.
    for n in range(FLOATS):
        w.say(f"setp.nan.f32 %p5, %f{n}, %f{n}; selp.f32 %f{n}, 0f7FC00000, %f{n}, %p5")
        w.say(f"st.global.f32 [%a0+{at}], %f{n}")
        at += 4
    for n in range(LONGS):
        w.say(f"st.global.b64 [%a0+{at}], %l{n}")
        at += 8
    for n in range(DOUBLES):
        w.say(f"setp.nan.f64 %p5, %d{n}, %d{n}; selp.f64 %d{n}, 0d7FF8000000000000, %d{n}, %p5")
        w.say(f"st.global.f64 [%a0+{at}], %d{n}")
        at += 8
    w.say("ret")
    parameters = ".param .u64 .ptr .global .align 8 out, .param .u64 .ptr .global .align 4 in"
    inside = "\n    ".join(w.lines)
    return f".visible .entry k{seed}({parameters})\n{{{DECLARED}    {inside}\n}}\n"


def module_text(seeds: Sequence[int], arch: str) -> str:
    """One module of many kernels."""
    return HEAD.format(arch=arch) + "\n".join(kernel(seed) for seed in seeds)


def assemble(text: str, arch: str) -> bytes:
    """The cubin; a kernel that ptxas does not take is a mistake of the writer's."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_text(text)
        command = [str(require_tool("ptxas").path), f"-arch={arch}", "-o", str(out), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return out.read_bytes()


@dataclass(frozen=True)
class Difference:
    """What came out differently, in words."""

    seed: int
    arch: str
    words: str


def differences(seeds: Sequence[int], arch: str) -> Iterator[Difference]:
    """Run both sides of every kernel."""
    text = module_text(seeds, arch)
    code, module = sass.load(assemble(text, arch)), ptx.parse(text)
    options = RunOptions(trace_blocks=(), racecheck=False, max_warp_instructions=400_000)
    for function in module.kernels:
        seed = int(function.name[1:])
        data = np.random.default_rng(seed).integers(0, 1 << 32, THREADS, dtype=np.uint32)
        given = {
            "out": Argument("out", "buffer", "uint32", np.zeros(THREADS * WORDS, np.uint32)),
            "in": Argument("in", "buffer", "uint32", data),
        }
        shape = Launch((GRID, 1, 1), (BLOCK, 1, 1), args=given)
        left = machine.execute(module, function, shape, options)
        right = machine.execute_sass(code, function, shape, options)
        if left.stopped or right.stopped:
            yield Difference(seed, arch, f"PTX {left.stopped}, SASS {right.stopped}")
            continue
        a, b = left.buffers[0], right.buffers[0]
        assert a is not None
        assert b is not None
        wrong = np.flatnonzero(a.array != b.array)
        if wrong.size:
            thread, word = divmod(int(wrong[0]), WORDS)
            yield Difference(
                seed, arch, f"{wrong.size} words; word {word} of thread {thread} is {int(a.array[wrong[0]]):#x} as "
                f"PTX, {int(b.array[wrong[0]]):#x} as SASS; words {sorted({int(w) % WORDS for w in wrong})}",
            )  # fmt: skip


def run(first: int, count: int, arch: str) -> list[Difference]:
    """All kernels of a range of seeds, in modules of :data:`BATCH`."""
    found = []
    for start in range(first, first + count, BATCH):
        found += list(differences(range(start, min(start + BATCH, first + count)), arch))
    return found


def main() -> int:
    """Command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--arch", action="append")
    options.add_argument("--show", action="store_true", help="print the kernels")
    given = options.parse_args()
    archs = given.arch or list(ARCHES)
    if given.show:
        print(module_text(range(given.first, given.first + given.count), archs[0]))
    failed = 0
    # Each architecture takes its share of the seeds.
    share = -(-given.count // len(archs))
    for n, arch in enumerate(archs):
        for wrong in run(given.first + n * share, min(share, given.count - n * share), arch):
            failed += 1
            print(f"kernel {wrong.seed} for {wrong.arch}: {wrong.words}", flush=True)
    print(f"{'kernels':<12} {'FAILED' if failed else 'held'}, {given.count} random kernels, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
