"""Operations of tinygrad, each with what NumPy makes of the same arrays.

A case has the arrays, what tinygrad does with them, what NumPy does, and by how much a result may differ: relative to it, or to 1
where it is small (0: not at all).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

RANDOM = np.random.default_rng(20261122)
#: of single precision, where a function is approximate or a sum has another order
NEARLY, HALF = 2e-6, 2e-3


class Case(NamedTuple):
    arrays: tuple[np.ndarray, ...]
    ours: Callable[..., Tensor]
    expected: Callable[..., Any]
    tolerance: float = 0.0


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, low: int = -100, high: int = 100, dtype: Any = np.int32) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(dtype)


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """A convolution of images without padding, by its definition."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows.astype(np.float64), w)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)


def pooled(x: np.ndarray, how: Any) -> np.ndarray:
    n, c, h, w = x.shape
    return how(x.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))


X, Y = floats(33, 17), floats(33, 17)
POSITIVE = floats(200, low=0.01, high=50)
WHOLE, OTHER = whole(40, 5), whole(40, 5)
IMAGE, WEIGHTS = floats(2, 3, 10, 10), floats(4, 3, 3, 3)
INDEX = whole(30, low=0, high=33)

CASES: dict[str, Case] = {
    # of each element
    "add": Case((X, Y), lambda x, y: x + y, np.add),
    "subtract": Case((X, Y), lambda x, y: x - y, np.subtract),
    "multiply": Case((X, Y), lambda x, y: x * y, np.multiply),
    "divide": Case((X, Y), lambda x, y: x / y, np.divide, NEARLY),
    "broadcast": Case((X, Y[0]), lambda x, y: x * y + 1, lambda x, y: x * y + 1, NEARLY),
    "maximum": Case((X, Y), lambda x, y: x.maximum(y), np.maximum),
    "relu": Case((X,), lambda x: x.relu(), lambda x: np.maximum(x, 0)),
    "absolute": Case((X,), lambda x: x.abs(), np.abs),
    "exp": Case((X,), lambda x: x.exp(), np.exp, NEARLY),
    "exp2": Case((X,), lambda x: x.exp2(), np.exp2, NEARLY),
    "log": Case((POSITIVE,), lambda x: x.log(), np.log, NEARLY),
    "sqrt": Case((POSITIVE,), lambda x: x.sqrt(), np.sqrt, NEARLY),
    "rsqrt": Case((POSITIVE,), lambda x: x.rsqrt(), lambda x: 1 / np.sqrt(x), NEARLY),
    "reciprocal": Case((POSITIVE,), lambda x: x.reciprocal(), lambda x: 1 / x, NEARLY),
    "sine": Case((X,), lambda x: x.sin(), np.sin, NEARLY),
    "cosine": Case((X,), lambda x: x.cos(), np.cos, NEARLY),
    "tanh": Case((X,), lambda x: x.tanh(), np.tanh, NEARLY),
    "sigmoid": Case((X,), lambda x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), NEARLY),
    "gelu": Case(
        (X,), lambda x: x.gelu(), lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), NEARLY
    ),
    "power": Case((X,), lambda x: x**3, lambda x: x**3, NEARLY),
    "floor and ceiling": Case((X,), lambda x: x.floor() + 10 * x.ceil(), lambda x: np.floor(x) + 10 * np.ceil(x)),
    "round": Case((X,), lambda x: x.round(), np.round),
    "comparisons": Case((X, Y), lambda x, y: (x < y) ^ (x == x.abs()), lambda x, y: (x < y) ^ (x == np.abs(x))),
    "where": Case((X, Y), lambda x, y: (x > 0).where(x, y), lambda x, y: np.where(x > 0, x, y)),
    "clip": Case((X,), lambda x: x.clip(-0.5, 1), lambda x: np.clip(x, np.float32(-0.5), 1)),
    # integers
    "integer sum and product": Case((WHOLE, OTHER), lambda x, y: x * y + x - y, lambda x, y: x * y + x - y),
    "integer division": Case((WHOLE,), lambda x: x // 7, lambda x: x // 7),
    "remainder": Case((WHOLE,), lambda x: x % 13, lambda x: x % 13),
    "bits": Case((WHOLE, OTHER), lambda x, y: (x & y) | (x ^ 21), lambda x, y: (x & y) | (x ^ 21)),
    "shifts": Case((WHOLE.astype(np.uint32),), lambda x: (x << 3) + (x >> 5), lambda x: (x << 3) + (x >> 5)),
    "bytes": Case((WHOLE.astype(np.uint8),), lambda x: x + x, lambda x: x + x),
    "long integers": Case((WHOLE.astype(np.int64) << 33,), lambda x: x * 3 - 1, lambda x: x * 3 - 1),
    # reductions
    "sum": Case((whole(1000).astype(np.float32),), lambda x: x.sum(), np.sum),
    "sum of columns": Case((X,), lambda x: x.sum(0), lambda x: x.astype(np.float64).sum(0), 1e-5),
    "sum of integers": Case((WHOLE,), lambda x: x.sum(1), lambda x: x.sum(1)),
    "product": Case((whole(4, 6, low=1, high=5).astype(np.float32),), lambda x: x.prod(1), lambda x: x.prod(1)),
    "greatest": Case((X,), lambda x: x.max(1), lambda x: x.max(1)),
    "least of all": Case((floats(5000),), lambda x: x.min(), np.min),
    "mean and variance": Case((X,), lambda x: x.mean(1) + x.var(1), lambda x: x.mean(1) + x.var(1, ddof=1), 1e-5),
    "place of the greatest": Case((X,), lambda x: x.argmax(1), lambda x: x.argmax(1)),
    "any and all": Case(
        (X,), lambda x: (x > 1.8).any(1) ^ (x < 1.9).all(1), lambda x: (x > 1.8).any(1) ^ (x < 1.9).all(1)
    ),
    "softmax": Case((X,), lambda x: x.softmax(), softmax, NEARLY),
    "log of softmax": Case((X,), lambda x: x.log_softmax(), lambda x: np.log(softmax(x)), NEARLY),
    "layer norm": Case((X,), lambda x: x.layernorm(), normalized, 1e-5),
    # products of matrices and more
    "matrix product": Case((X, floats(17, 20)), lambda x, y: x @ y, lambda x, y: x.astype(np.float64) @ y, 1e-5),
    "matrix product of powers of two": Case((floats(64, 64), floats(64, 64)), lambda x, y: x @ y, np.matmul, 1e-5),
    "product with a vector": Case((X, floats(17)), lambda x, y: x @ y, lambda x, y: x @ y, 1e-5),
    "batched product": Case((floats(3, 8, 9), floats(3, 9, 5)), lambda x, y: x @ y, np.matmul, 1e-5),
    "integer product of matrices": Case((WHOLE, OTHER.T), lambda x, y: x @ y, lambda x, y: x @ y),
    "convolution": Case((IMAGE, WEIGHTS), lambda x, w: x.conv2d(w), convolved, 1e-5),
    "greatest of each window": Case((IMAGE,), lambda x: x.max_pool2d((2, 2)), lambda x: pooled(x, np.max)),
    "mean of each window": Case((IMAGE,), lambda x: x.avg_pool2d((2, 2)), lambda x: pooled(x, np.mean), NEARLY),
    "attention": Case(
        (floats(2, 6, 8), floats(2, 6, 8), floats(2, 6, 8)),
        lambda q, k, v: q.scaled_dot_product_attention(k, v),
        lambda q, k, v: softmax(q @ k.swapaxes(1, 2) / np.sqrt(np.float32(8))) @ v,
        1e-5,
    ),
    # movement
    "transposed": Case((X,), lambda x: x.T.contiguous(), np.transpose),
    "concatenated": Case((X, Y), lambda x, y: x.cat(y, dim=1), lambda x, y: np.concatenate([x, y], 1)),
    "padded and flipped": Case(
        (X,), lambda x: x.pad(((1, 2), (0, 3))).flip(0).contiguous(), lambda x: np.flip(np.pad(x, ((1, 2), (0, 3))), 0)
    ),
    "every other": Case((X,), lambda x: x[1::2, ::3].contiguous(), lambda x: x[1::2, ::3]),
    "rows by number": Case((X, INDEX), lambda x, i: x[i], lambda x, i: x[i]),
    "gathered": Case(
        (X, whole(33, 5, low=0, high=17)), lambda x, i: x.gather(1, i), lambda x, i: np.take_along_axis(x, i, 1)
    ),
    "one of many": Case((INDEX,), lambda i: i.one_hot(33), lambda i: np.eye(33, dtype=np.int32)[i]),
    "running sum": Case((whole(7, 300),), lambda x: x.cumsum(1), lambda x: np.cumsum(x, 1)),
    "lower triangle": Case((floats(9, 9),), lambda x: x.tril(), np.tril),
    "sorted": Case((whole(64),), lambda x: x.sort()[0], np.sort),
    # types
    "double": Case((X.astype(np.float64),), lambda x: x * 3 + 0.1, lambda x: x * 3 + 0.1),
    "half": Case((X.astype(np.float16), Y.astype(np.float16)), lambda x, y: x * y + x, lambda x, y: x * y + x, HALF),
    "half functions": Case(
        (X.astype(np.float16),), lambda x: x.exp2() + x.sin(), lambda x: np.exp2(x) + np.sin(x), HALF
    ),
    "cast to integers": Case((X * 50,), lambda x: x.cast(dtypes.int8), lambda x: x.astype(np.int8)),
    "cast to half": Case((X,), lambda x: x.cast(dtypes.half), lambda x: x.astype(np.float16)),
    "cast from half": Case((X.astype(np.float16),), lambda x: x.cast(dtypes.float), lambda x: x.astype(np.float32)),
    "cast from truth values": Case((X > 0,), lambda x: x.cast(dtypes.float) * 2, lambda x: x * np.float32(2)),
    "bits of floats": Case((X,), lambda x: x.bitcast(dtypes.uint32) >> 23, lambda x: x.view(np.uint32) >> 23),
}


def halves(*shape: int) -> np.ndarray:
    """Small integers, so that every sum of products is exact."""
    return RANDOM.integers(-4, 5, shape).astype(np.float16)


#: products that tinygrad gives to tensor cores (mma.sync)
TENSOR_CORES: dict[str, Case] = {
    "half product, single sums": Case(
        (halves(32, 32), halves(32, 32)),
        lambda x, y: x.matmul(y, dtype=dtypes.float),
        lambda x, y: np.matmul(x.astype(np.float32), y),
    ),
    "half product, half sums": Case(
        (halves(16, 48), halves(48, 64)), lambda x, y: x.matmul(y, dtype=dtypes.half), lambda x, y: x @ y
    ),
    "half product of random numbers": Case(
        (floats(64, 32).astype(np.float16), floats(32, 16).astype(np.float16)),
        lambda x, y: x.matmul(y, dtype=dtypes.float),
        lambda x, y: x.astype(np.float64) @ y,
        1e-5,
    ),
    "batched half product": Case(
        (halves(3, 16, 16), halves(3, 16, 24)),
        lambda x, y: x.matmul(y, dtype=dtypes.float),
        lambda x, y: np.matmul(x.astype(np.float32), y),
    ),
}
