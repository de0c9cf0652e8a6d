"""Kernels full of calls, jumps and loops leave what the same algorithm in Python leaves."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "control.cu"
N = 100


def s32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def ints(seed: int, low: int, high: int, count: int = N) -> Array:
    return random(seed).integers(low, high, count).astype(np.int32)


def test_dense_switch() -> None:
    values = ints(1, -100000, 100000)
    out = run(FILE, "dense_switch", [values, np.zeros(N, np.int32), N], grid=2, block=64)[1]
    table = {
        0: lambda x: x * 3, 1: lambda x: x + 17, 2: lambda x: ~x, 3: lambda x: x ^ 0x1234,
        4: lambda x: (x - 1000) << 2, 5: lambda x: x << 2, 6: lambda x: -x, 7: lambda x: x >> 3,
        9: lambda x: x | 0xF00, 11: lambda x: x & 0xFF, 13: lambda x: s32(x * x),
    }  # fmt: skip
    assert out.tolist() == [table.get(x & 15, lambda _: 42)(x) for x in values.tolist()]


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_recursion() -> None:
    out = run(FILE, "recursion", [np.zeros(64, np.int32)], block=64)[0]
    assert out.tolist() == [fibonacci(i % 11) for i in range(64)]


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def test_deep_recursion() -> None:
    out = run(FILE, "deep_recursion", [np.zeros(32, np.int32)])[0]
    assert out.tolist() == [ackermann(i % 3, i % 5) for i in range(32)]


def test_mutual_recursion() -> None:
    out = run(FILE, "mutual_recursion", [np.zeros(32, np.int32)])[0]
    assert out.tolist() == [1 if i % 9 % 2 == 0 else -1 for i in range(32)]


def test_function_table() -> None:
    a, b = ints(2, -1000, 1000), ints(3, -1000, 1000)
    out = run(FILE, "function_table", [a, b, np.zeros(N, np.int32), N], grid=2, block=64)[2]
    functions = [lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, lambda x, y: x ^ y]
    want = [functions[(x + i) & 3](x, y) for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))]
    assert out.tolist() == want


def test_virtual_calls() -> None:
    out = run(FILE, "virtual_calls", [np.zeros(32, np.int32)])[0]
    want = []
    for i in range(32):
        areas, total = ((i + 1) ** 2, i * 3), 0
        for k in range(4):
            total = total * 3 + areas[(i + k) & 1]
        want.append(total)
    assert out.tolist() == want


def tangled(values: list[int], i: int) -> int:
    n, total = len(values), 0
    for a in range(8):
        for b in range(8):
            x = values[(i * 7 + a * 3 + b) % n]
            if x % 5 == 0:
                continue
            if x % 97 == 13:
                break
            if total > 2000:
                return total
            total += x & 63
        total ^= a
    return total + 100000


def test_tangled_loops() -> None:
    values = ints(4, 0, 100000)
    values[::9] = 13
    out = run(FILE, "tangled_loops", [values, np.zeros(N, np.int32), N], grid=2, block=64)[1]
    assert out.tolist() == [tangled(values.tolist(), i) for i in range(N)]


def collatz(value: int) -> int:
    steps = 0
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


def test_collatz() -> None:
    out = run(FILE, "collatz", [np.zeros(300, np.int32), 300], grid=3, block=128)[0]
    assert out.tolist() == [collatz(i + 1) for i in range(300)]


def test_early_exit() -> None:
    out = run(FILE, "early_exit", [np.full(64, -1, np.int32)], block=64, allow=("racecheck",))[0]
    values = [i * 3 + (i % 4 != 3) for i in range(64)]
    assert out.tolist() == [values[i ^ 1] + values[i] if i % 4 != 3 else -1 for i in range(64)]


def test_lambdas() -> None:
    data = ints(5, -50, 50, 16)
    out = run(FILE, "lambdas", [data, np.zeros(32, np.int32), 7])[1]
    want = []
    for i in range(32):
        a = i
        for x in data.tolist():
            a = s32(a * 31 + x * 7)
        remainder = abs(a) % 3 * (1 if a >= 0 else -1)
        b = i
        for x in data.tolist():
            b = x if x > b else b - remainder
        want.append(a ^ b)
    assert out.tolist() == want


def test_templates() -> None:
    out = run(FILE, "templates", [np.zeros(32, np.uint32)])[0]
    assert out.tolist() == [((i + 2) ** 7 + (i + 2) ** 4) % (1 << 32) for i in range(32)]


def test_quicksort() -> None:
    data = ints(6, -1000, 1000, 24 * 64)
    out = run(FILE, "quicksort", [data.copy()], grid=2, block=32)[0]
    assert np.array_equal(out.reshape(64, 24), np.sort(data.reshape(64, 24), axis=1))


CODE = [1, 5, 2, 3, 5, 3, 4, 1, 5, 2, 2, 9, 3, 4, 6, 0]


def interpreter(code: list[int], lane: int) -> int:
    accumulator, counter, pc = lane, 0, lane % 4
    for _ in range(200):
        op = code[pc]
        pc += 1
        if op == 0:
            break
        if op in (1, 2):
            accumulator = s32(accumulator + code[pc] if op == 1 else accumulator * code[pc])
            pc += 1
        elif op == 3:
            accumulator ^= counter
        elif op == 4:
            counter += 1
            pc = code[pc] if counter < 5 else pc + 1
        elif op == 5:
            accumulator -= 3
        else:
            accumulator = -1
    return s32(s32(accumulator * 100) + counter)


def test_interpreter() -> None:
    code = np.array(CODE + [0] * 16, np.uint8)
    out = run(FILE, "interpreter", [code, np.zeros(32, np.int32)])[1]
    assert out.tolist() == [interpreter(code.tolist(), lane) for lane in range(32)]


def test_short_circuit() -> None:
    a, b = ints(7, -20, 20), ints(8, -3, 4)
    out = run(FILE, "short_circuit", [a, b, np.zeros(N, np.int32), N], grid=2, block=64)[2]
    want = []
    x_before = 0
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        r = 0
        if y != 0 and abs(x) // abs(y) * (1 if x * y >= 0 else -1) > 2:
            r |= 1
        if i > 0 and x_before > x:
            r |= 2
        if x > 0 or y > 0:
            r |= 4
        if not (x > 0 and y > 0) and (x ^ y) < 0:
            r |= 8
        want.append(r)
        x_before = x
    assert out.tolist() == want
