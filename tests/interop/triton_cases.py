"""What each of Triton's kernels is compiled for and launched with, and what NumPy makes of the same arrays. Nothing of Triton is needed.

A case is a function of a random generator: it gives the grid, the arguments, and what the arrays among them are to be afterwards (None:
not looked at), within a tolerance that is relative, or absolute where a result is below 1 (0: equal).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: single precision: where a function is approximate, or a sum has another order
NEARLY = 2e-6
#: the random numbers of Triton are 31 bits of Philox's first word, times this
UNIT = 4.6566127342e-10


class Launch(NamedTuple):
    grid: int | tuple[int, ...]
    args: list[Any]
    expected: list[Any]
    tolerance: float = 0.0


class Case(NamedTuple):
    function: str
    """its name in triton_kernels.py"""
    signature: str
    launch: Callable[[np.random.Generator], Launch]
    target: int = 80
    options: dict[str, Any] = {}
    long: bool = False
    """whether it takes seconds"""
    reported: str = ""
    """the rule under which a launch ends, if it does"""


CASES: dict[str, Case] = {}


def case(
    signature: str,
    target: int = 80,
    function: str | None = None,
    long: bool = False,
    reported: str = "",
    **options: Any,
) -> Callable[[Callable[[np.random.Generator], Launch]], Callable[[np.random.Generator], Launch]]:
    """A case of the decorated function's name; the kernel has that name too, unless it is said."""

    def add(make: Callable[[np.random.Generator], Launch]) -> Callable[[np.random.Generator], Launch]:
        CASES[make.__name__] = Case(function or make.__name__, signature, make, target, options, long, reported)
        return make

    return add


def floats(rng: np.random.Generator, *shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return rng.uniform(low, high, shape).astype(np.float32)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


# of each element --------------------------------------------------------------------------------------------------------


@case("*fp32:16, *fp32:16, *fp32:16, i32, 256")
def vector_add(rng):
    x, y = floats(rng, 1000), floats(rng, 1000)
    return Launch(4, [x, y, np.zeros_like(x), np.int32(1000)], [None, None, x + y, None])


@case("*fp32:16, *fp32:16, *fp32:16, i32:16, 256", target=90, function="vector_add")
def vector_add_for_sm_90(rng):
    x, y = floats(rng, 1024), floats(rng, 1024)
    return Launch(4, [x, y, np.zeros_like(x), np.int32(1024)], [None, None, x + y, None])


@case("*fp16:16, *fp16:16, *fp16:16, i32:16, 512", function="vector_add", num_warps=2)
def halves(rng):
    x, y = (floats(rng, 1024).astype(np.float16) for _ in "xy")
    return Launch(2, [x, y, np.zeros_like(x), np.int32(1024)], [None, None, x + y, None])


@case("*fp64:16, *fp64:16, *fp64:16, i32, 128")
def doubles(rng):
    x, y = rng.uniform(-2, 2, 300), rng.uniform(1, 2, 300)
    want = x / y + np.sqrt(np.abs(x)) * np.exp(y)
    return Launch(3, [x, y, np.zeros_like(x), np.int32(300)], [None, None, want, None], 1e-12)


@case("*fp32:16, *fp32:16, i32, 128")
def mathematics(rng):
    x = floats(rng, 200)
    w = wide(x)
    want = [np.sin(w), np.cos(w), np.log(np.abs(w) + 1), np.exp2(w), np.array([math.erf(v) for v in w]), np.tanh(w)]
    want += [np.floor(w) + np.ceil(w), np.sqrt(np.abs(w)), w * w + w, np.abs(w) ** np.float32(0.7)]
    return Launch(2, [x, np.zeros((10, 200), np.float32), np.int32(200)], [None, np.array(want), None], NEARLY)


@case("*i32:16, *i32:16, *i32:16, i32, 128")
def integers(rng):
    x = rng.integers(-(1 << 31), 1 << 31, 200, np.int64)
    y = np.where(rng.random(200) < 0.5, rng.integers(1, 1 << 31, 200), -rng.integers(1, 100, 200))
    quotient = np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))  # toward zero, as in C
    high = (x % (1 << 32)) * (y % (1 << 32)).astype(object) // (1 << 32)
    want = [quotient, x - quotient * y, (x << 3) ^ (y >> 2), np.minimum(x, y) & ~x, high, np.clip(x, -50, 50)]
    rows = np.array([[int(v) % (1 << 32) for v in row] for row in want], np.uint64).astype(np.uint32).view(np.int32)
    args = [x.astype(np.int32), y.astype(np.int32), np.zeros_like(rows), np.int32(200)]
    return Launch(2, args, [None, None, rows, None])


def philox(seed: int, counter: int) -> int:
    """The first word of ten rounds of Philox (Salmon and others, 2011) for a counter whose other words are 0."""
    c, k = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


@case("*fp32:16, *fp32:16, i32, fp32, i32, 256")
def dropout(rng):
    x, p = floats(rng, 500), np.float32(0.3)
    words = np.array([philox(1234, i) for i in range(500)], np.uint32).view(np.int32).astype(np.int64)
    kept = np.where(words < 0, -words - 1, words) * UNIT > p
    want = np.where(kept, wide(x) / (1 - float(p)), 0)
    return Launch(2, [x, np.zeros_like(x), np.int32(500), p, np.int32(1234)], [None, want, None, None, None], NEARLY)


# of rows ----------------------------------------------------------------------------------------------------------------


def softened(x: np.ndarray) -> np.ndarray:
    e = np.exp(wide(x) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@case("*fp32:16, *fp32:16, i32, 256")
def softmax(rng):
    x = floats(rng, 5, 200, low=-8, high=8)
    return Launch(5, [x, np.zeros_like(x), np.int32(200)], [None, softened(x), None], NEARLY)


@case("*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, fp32, 128")
def layer_norm(rng):
    x, weight, bias = floats(rng, 4, 100), floats(rng, 100), floats(rng, 100)
    w = wide(x)
    mean = w.mean(1, keepdims=True)
    want = (w - mean) / np.sqrt(w.var(1, keepdims=True) + 1e-5) * weight + bias
    args = [x, np.zeros_like(x), weight, bias, np.zeros(4, np.float32), np.int32(100), np.float32(1e-5)]
    return Launch(4, args, [None, want, None, None, mean[:, 0], None, None], 4e-6)


@case("*fp32:16, *i32:16, *fp32:16, i32, 128", long=True)
def cross_entropy(rng):
    x, labels = floats(rng, 6, 100, low=-5, high=5), rng.integers(0, 100, 6, np.int32)
    want = np.log(np.exp(wide(x)).sum(1)) - x[np.arange(6), labels]
    return Launch(6, [x, labels, np.zeros(6, np.float32), np.int32(100)], [None, None, want, None], NEARLY)


@case("*fp32:16, *fp32:16, *i32:16, 256")
def largest(rng):
    x = floats(rng, 4, 256)
    args = [x, np.zeros(4, np.float32), np.zeros(4, np.int32)]
    return Launch(4, args, [None, x.max(1), x.argmax(1).astype(np.int32)])


@case("*i32:16, *i32:16, 256")
def sort(rng):
    x = rng.integers(-1000, 1000, (2, 256), np.int32)
    return Launch(2, [x, np.zeros_like(x)], [None, np.sort(x, 1)])


@case("*fp32:16, *fp32:16, 64", function="sort", num_warps=1, long=True)
def sort_floats(rng):
    x = floats(rng, 3, 64)
    return Launch(3, [x, np.zeros_like(x)], [None, np.sort(x, 1)])


@case("*i32:16, *i32:16, i32, 512, 32")
def histogram(rng):
    x = rng.integers(0, 32, 1000, np.int32)
    args = [x, np.zeros(32, np.int32), np.int32(1000)]
    return Launch(2, args, [None, np.bincount(x, minlength=32).astype(np.int32), None])


@case("*i64:16, *i64:16, 512")
def running_sum(rng):
    x = rng.integers(-1000, 1000, (2, 512))
    return Launch(2, [x, np.zeros_like(x)], [None, np.cumsum(x, 1)])


@case("*fp32:16, *fp32:16, *fp32:16, 128", long=True)
def recurrence(rng):
    a, x = floats(rng, 128, low=0, high=0.9), floats(rng, 128)
    want, last = [], 0.0
    for factor, term in zip(wide(a), wide(x), strict=True):
        last = factor * last + term
        want.append(last)
    return Launch(1, [a, x, np.zeros_like(x)], [None, None, np.array(want)], NEARLY)


@case("*fp32:16, *fp32:16, *fp32:16, 32", num_warps=1, long=True)
def rotated(rng):
    x, angles = floats(rng, 4, 64), (0.01 ** (np.arange(32) / 32)).astype(np.float32)
    turn = np.arange(4)[:, None] * wide(angles)
    a, b = wide(x[:, ::2]), wide(x[:, 1::2])
    want = np.stack([a * np.cos(turn) - b * np.sin(turn), a * np.sin(turn) + b * np.cos(turn)], -1).reshape(4, 64)
    return Launch(4, [x, angles, np.zeros_like(x)], [None, None, want], NEARLY)


@case("*i32:16, *i32:16, *i32:16, 256")
def gathered(rng):
    x, index = rng.integers(0, 1 << 30, 256, np.int32), rng.integers(0, 256, 256, np.int32)
    return Launch(1, [x, index, np.zeros_like(x)], [None, None, x[index]])


@case("*i16:16, *i16:16, 32, 64")
def transposed(rng):
    x = rng.integers(-(1 << 15), 1 << 15, (32, 64), np.int16)
    return Launch(1, [x, np.zeros((64, 32), np.int16)], [None, x.T.copy()])


# among programs ---------------------------------------------------------------------------------------------------------


@case("*i32:16, *i32:16, i32, 128")
def extremes(rng):
    x = rng.integers(-1000, 1000, 300, np.int32)
    found = np.array([-(1 << 31), (1 << 31) - 1, 0, 0], np.int32)
    want = np.array([x.max(), x.min(), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)], np.int32)
    return Launch(3, [x, found, np.int32(300)], [None, want, None])


@case("*fp32:16, *fp32:16, *i32:16, 128")
def locked_sums(rng):
    x = rng.integers(-50, 50, (8, 128)).astype(np.float32)
    args = [x, np.zeros(1, np.float32), np.zeros(1, np.int32)]
    return Launch(8, args, [None, x.sum(keepdims=True)[0], np.zeros(1, np.int32)])


# formats of eight bits, and of sixteen ----------------------------------------------------------------------------------


def small(code: int, exponents: int, bias: int) -> float:
    """The number that eight bits are, of so many exponent bits, without infinities and NaN."""
    fractions = 7 - exponents
    exponent, fraction = code >> fractions & (1 << exponents) - 1, code & (1 << fractions) - 1
    lead = 1 if exponent else 0
    return (-1) ** (code >> 7) * (lead + fraction / (1 << fractions)) * 2.0 ** (max(exponent, 1) - bias)


def nearest_small(x: np.ndarray, exponents: int, bias: int, last: int) -> np.ndarray:
    """The codes of the numbers nearest to some, to even, up to the code of the last."""
    values = np.array([small(code, exponents, bias) for code in range(last + 1)])
    at = np.clip(np.searchsorted(values, np.abs(x)), 1, last)
    low, high = np.abs(x) - values[at - 1], values[at] - np.abs(x)
    code = np.where((low < high) | ((low == high) & (at % 2 == 1)), at - 1, at)
    return np.where(np.signbit(x), code | 0x80, code).astype(np.uint8)


@case("*fp32:16, *fp8e5:16, 256", function="cast")
def fp8_of_five_exponent_bits(rng):
    x = wide(floats(rng, 512) * 2.0 ** rng.integers(-18, 15, 512)).astype(np.float32)
    return Launch(2, [x, np.zeros(512, np.uint8)], [None, nearest_small(x, 5, 15, 0x7B)])


@case("*fp32:16, *fp8e4nv:16, 256", target=90, function="cast")
def fp8_of_four_exponent_bits(rng):
    x = (floats(rng, 512) * 2.0 ** rng.integers(-10, 8, 512)).astype(np.float32)
    return Launch(2, [x, np.zeros(512, np.uint8)], [None, nearest_small(x, 4, 7, 0x7E)])


@case("*fp8e5:16, *fp32:16, 256", function="cast")
def from_fp8(rng):
    x = np.array([c for c in range(256) if c & 0x7F < 0x7C] + [0] * 8, np.uint8)
    want = np.array([small(int(c), 5, 15) for c in x], np.float32)
    return Launch(1, [x, np.zeros(256, np.float32)], [None, want])


@case("*fp32:16, *bf16:16, 256", function="cast")
def bfloats(rng):
    x = floats(rng, 512)
    bits = x.view(np.uint32)
    return Launch(2, [x, np.zeros(512, np.uint16)], [None, (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)])


# matrices ---------------------------------------------------------------------------------------------------------------


def product(
    a: np.ndarray, b: np.ndarray, like: Any, want: np.ndarray, tile: tuple[int, int], tolerance: float
) -> Launch:
    (m, k), n = a.shape, b.shape[1]
    args = [a, b, np.zeros((m, n), like), *map(np.int32, (m, n, k))]
    return Launch((m // tile[0], n // tile[1]), args, [None, None, want, None, None, None], tolerance)


def matrices(types: str, *tile: int) -> str:
    """The signature of a product whose extents are multiples of 16."""
    pointers = ", ".join(f"*{type}:16" for type in types.split())
    return f"{pointers}, i32:16, i32:16, i32:16, {', '.join(map(str, tile))}"


def product_f16(rng: np.random.Generator, tile: int) -> Launch:
    a, b = floats(rng, 64, 96).astype(np.float16), floats(rng, 96, 64).astype(np.float16)
    return product(a, b, np.float32, wide(a) @ wide(b), (tile, tile), 1e-5)


@case(matrices("fp16 fp16 fp32", 32, 32, 32), function="matmul")
def matmul_f16(rng):
    return product_f16(rng, 32)


@case(matrices("fp16 fp16 fp32", 64, 64, 32), function="matmul", long=True)
def matmul_f16_large(rng):
    return product_f16(rng, 64)


def without(x: np.ndarray, bits: int) -> np.ndarray:
    """Single precision without so many low bits of its fraction."""
    return (x.view(np.uint32) >> bits << bits).view(np.float32)


@case(matrices("fp32 fp32 fp32", 32, 32, 32), function="matmul")
def matmul_tf32(rng):
    a, b = without(floats(rng, 32, 64), 13), without(floats(rng, 64, 32), 13)
    return product(a, b, np.float32, wide(a) @ wide(b), (32, 32), 1e-5)


@case(matrices("fp32 fp32 fp32", 64, 32, 32), function="matmul", long=True)
def matmul_tf32_of_singles(rng):
    a, b = floats(rng, 64, 64), floats(rng, 64, 64)
    return product(a, b, np.float32, wide(a) @ wide(b), (64, 32), 2e-2)  # ten bits of each operand's fraction count


def product_s8(rng: np.random.Generator, tile: int) -> Launch:
    a, b = rng.integers(-128, 128, (64, 128), np.int8), rng.integers(-128, 128, (128, 64), np.int8)
    return product(a, b, np.int32, a.astype(np.int32) @ b.astype(np.int32), (tile, tile), 0)


@case(matrices("i8 i8 i32", 32, 32, 32), function="matmul")
def matmul_s8(rng):
    return product_s8(rng, 32)


@case(matrices("i8 i8 i32", 64, 64, 64), function="matmul", long=True)
def matmul_s8_large(rng):
    return product_s8(rng, 64)


@case(matrices("bf16 bf16 fp32", 32, 16, 16), function="matmul", long=True)
def matmul_bf16(rng):
    a, b = without(floats(rng, 32, 64), 16), without(floats(rng, 64, 32), 16)
    launch = product(a, b, np.float32, wide(a) @ wide(b), (32, 16), 1e-5)
    return launch._replace(args=[*((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)), *launch.args[2:]])


@case(matrices("fp64 fp64 fp64", 16, 16, 16), function="matmul", long=True)
def matmul_f64(rng):
    a, b = rng.uniform(-2, 2, (32, 32)), rng.uniform(-2, 2, (32, 32))
    return product(a, b, np.float64, a @ b, (16, 16), 1e-13)


@case("*fp32:16, *fp32:16, *fp32:16, i32, i32, 16, 64", long=True)
def matrix_by_vector(rng):
    a, x = floats(rng, 30, 100), floats(rng, 100)
    args = [a, x, np.zeros(30, np.float32), np.int32(30), np.int32(100)]
    return Launch(2, args, [None, None, wide(a) @ x, None, None], 1e-5)


def attended(rng: np.random.Generator, rows: int, causal: bool) -> Launch:
    """Two heads of 64 rows of 32 columns."""
    q, k, v = (floats(rng, 2, 64, 32).astype(np.float16) for _ in "qkv")
    scores = wide(q) @ wide(k).transpose(0, 2, 1) * 0.25
    if causal:
        scores = np.where(np.tri(64, dtype=bool), scores, -np.inf)
    want = softened(scores) @ wide(v)
    args = [q, k, v, np.zeros((2, 64, 32), np.float32), np.int32(64), np.float32(0.25)]
    return Launch((64 // rows, 2), args, [None, None, None, want, None, None], 2e-3)  # weights are rounded to f16


_HEADS = "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, fp32"


@case(f"{_HEADS}, 16, 16, 32, 0", function="attention", num_warps=1)
def attention(rng):
    return attended(rng, 16, causal=False)


@case(f"{_HEADS}, 16, 16, 32, 1", function="attention", num_warps=1, long=True)
def causal_attention(rng):
    return attended(rng, 16, causal=True)


@case(f"{_HEADS}, 32, 32, 32, 0", function="attention", long=True)
def attention_large(rng):
    return attended(rng, 32, causal=False)


# products of warpgroups -------------------------------------------------------------------------------------------------


def of_eighths(code: np.ndarray, exponents: int, bias: int) -> np.ndarray:
    """The numbers that codes of eight bits are."""
    return np.array([small(value, exponents, bias) for value in range(256)])[code]


def product_f8(rng: np.random.Generator, exponents: int, bias: int, last: int) -> Launch:
    """Of codes that are finite numbers, below 8."""
    a, b = (
        rng.integers(0, last, shape, np.uint8) | rng.integers(0, 2, shape, np.uint8) << 7
        for shape in ((64, 128), (128, 64))
    )
    want = of_eighths(a, exponents, bias) @ of_eighths(b, exponents, bias)
    return product(a, b, np.float32, want, (64, 64), 0.1)  # Hopper keeps few bits of such sums


def product_of_warpgroups(rng: np.random.Generator, *tile: int) -> Launch:
    a, b = floats(rng, 128, 192).astype(np.float16), floats(rng, 192, 128).astype(np.float16)
    return product(a, b, np.float32, wide(a) @ wide(b), tile, 1e-5)


@case(matrices("fp16 fp16 fp32", 64, 64, 32), target=90, function="matmul")
def warpgroup_f16(rng):
    return product_f16(rng, 64)


@case(matrices("fp16 fp16 fp32", 128, 128, 64), target=90, function="matmul", long=True, num_warps=8)
def two_warpgroups(rng):
    return product_of_warpgroups(rng, 128, 128)


@case(matrices("fp16 fp16 fp32", 128, 64, 64), target=90, function="matmul", long=True)
def two_products_of_a_warpgroup(rng):
    return product_of_warpgroups(rng, 128, 64)


@case(matrices("fp16 fp16 fp32", 64, 64, 64), target=90, function="matmul_of_columns", long=True)
def warpgroup_of_columns(rng):
    a, b = floats(rng, 64, 128).astype(np.float16), floats(rng, 64, 128).astype(np.float16)
    launch = product(a, b.T, np.float32, wide(a) @ wide(b).T, (64, 64), 1e-5)
    return launch._replace(args=[a, b, *launch.args[2:]])


@case(matrices("fp16 fp16 fp16", 64, 32, 32), target=90, function="matmul", reported="product not waited for")
def warpgroup_f16_sums(rng):
    """Triton unpacks the sums, two in a register, before it waits for the products; ptxas inserts a wait then."""
    a, b = floats(rng, 64, 64).astype(np.float16), floats(rng, 64, 64).astype(np.float16)
    return product(a, b, np.float16, wide(a) @ wide(b), (64, 32), 2e-2)


@case(matrices("bf16 bf16 fp32", 64, 64, 32), target=90, function="matmul", long=True)
def warpgroup_bf16(rng):
    a, b = without(floats(rng, 64, 64), 16), without(floats(rng, 64, 64), 16)
    launch = product(a, b, np.float32, wide(a) @ wide(b), (64, 64), 1e-5)
    return launch._replace(args=[*((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)), *launch.args[2:]])


@case(matrices("fp8e4nv fp8e4nv fp32", 64, 64, 64), target=90, function="matmul", long=True)
def warpgroup_e4m3(rng):
    return product_f8(rng, 4, 7, 0x50)


@case(matrices("fp8e5 fp8e5 fp32", 64, 64, 64), target=90, function="matmul", long=True)
def warpgroup_e5m2(rng):
    return product_f8(rng, 5, 15, 0x48)


@case(matrices("fp32 fp32 fp32", 64, 64, 32), target=90, function="matmul", long=True)
def warpgroup_tf32(rng):
    a, b = without(floats(rng, 64, 64), 13), without(floats(rng, 64, 64), 13)
    return product(a, b, np.float32, wide(a) @ wide(b), (64, 64), 1e-5)


@case(matrices("i8 i8 i32", 64, 64, 64), target=90, function="matmul")
def warpgroup_s8(rng):
    return product_s8(rng, 64)


def boxes(*shapes: tuple[int, int]) -> str:
    """Parameters that describe matrices of f16 and boxes of such extents."""
    return ", ".join(f"tensordesc<fp16[{rows},{columns}]>" for rows, columns in shapes)


def product_of_boxes(rng: np.random.Generator, tile: tuple[int, int]) -> Launch:
    """Of matrices that the boxes do not divide: what is outside of them is 0, and is not written."""
    a, b = floats(rng, 120, 184).astype(np.float16), floats(rng, 56, 184).astype(np.float16)
    args = [a, b, np.zeros((120, 56), np.float16), np.int32(184)]
    grid = (-(-120 // tile[0]), -(-56 // tile[1]))
    return Launch(grid, args, [None, None, wide(a) @ wide(b).T, None], 1e-3)


@case(f"{boxes((64, 64), (64, 64), (64, 64))}, i32, 64, 64, 64, 0", target=90, function="matmul_of_boxes", num_stages=3)
def warpgroup_of_boxes(rng):
    return product_of_boxes(rng, (64, 64))


@case(
    f"{boxes((64, 32), (32, 32), (64, 32))}, i32, 64, 32, 32, 0",
    target=90,
    function="matmul_of_boxes",
    long=True,
    num_stages=4,
)
def warpgroup_of_small_boxes(rng):
    return product_of_boxes(rng, (64, 32))


@case(
    f"{boxes((64, 64), (64, 64), (64, 64))}, i32, 64, 64, 64, 1",
    target=90,
    function="matmul_of_boxes",
    long=True,
    num_stages=3,
)
def specialized_warps(rng):
    return product_of_boxes(rng, (64, 64))


@case(
    "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, 64, 64, 64",
    target=90,
    function="matmul_with_descriptors",
    long=True,
    num_stages=3,
)
def descriptors_of_a_program(rng):
    launch = product_of_boxes(rng, (64, 64))
    args = [*launch.args[:3], np.int32(120), np.int32(56), np.int32(184)]
    return launch._replace(args=args, expected=[*launch.expected[:3], None, None, None])


@case(f"{_HEADS}, 64, 64, 32, 0", target=90, function="attention", long=True)
def warpgroup_attention(rng):
    return attended(rng, 64, causal=False)


@case(f"{_HEADS}, 64, 32, 32, 1", target=90, function="attention", long=True)
def warpgroup_causal_attention(rng):
    return attended(rng, 64, causal=True)


@case(
    f"{boxes((64, 32), (32, 32), (32, 32), (64, 32))}, i32, fp32, 64, 32, 32",
    target=90,
    function="attention_of_boxes",
    long=True,
)
def warpgroup_attention_of_boxes(rng):
    launch = attended(rng, 64, causal=False)
    q, k, v, _, length, scale = launch.args
    args = [q.reshape(128, 32), k.reshape(128, 32), v.reshape(128, 32), np.zeros((128, 32), np.float16), length, scale]
    return launch._replace(args=args, expected=[*[None] * 3, launch.expected[3].reshape(128, 32), None, None])


@case("*fp32:16, *fp32:16, i32, 256", target=90, function="softmax", num_warps=8)
def softmax_for_sm_90(rng):
    return softmax(rng)


@case("*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, fp32, 128", target=90, function="layer_norm", long=True)
def layer_norm_for_sm_90(rng):
    return layer_norm(rng)
