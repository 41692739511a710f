"""Kernels in Triton's Python. triton_cases.py says what each is compiled for, and what NumPy makes of the same arrays."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, y, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    own = tl.load(x + row * width + column, mask=column < width, other=-float("inf"))
    e = tl.exp(own - tl.max(own, 0))
    tl.store(y + row * width + column, e / tl.sum(e, 0), mask=column < width)


@triton.jit
def layer_norm(x, y, weight, bias, means, width, eps, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < width
    own = tl.load(x + row * width + column, mask=inside, other=0.0)
    mean = tl.sum(own, 0) / width
    centred = tl.where(inside, own - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / width + eps)
    w, b = tl.load(weight + column, mask=inside), tl.load(bias + column, mask=inside)
    tl.store(y + row * width + column, centred * scale * w + b, mask=inside)
    tl.store(means + row, mean)


@triton.jit
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own = tl.load(x + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(y + at, tl.where(kept, own / (1 - p), 0.0), mask=at < n)


@triton.jit
def sort(x, y, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(counts + tl.arange(0, BINS), found)


@triton.jit
def cast(x, y, BLOCK: tl.constexpr):
    """To the type of what y points to, such as one of eight bits."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at).to(y.dtype.element_ty))


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Row-major matrices of extents that the blocks divide; the accumulators have the type of the result."""
    rows, columns, inner = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    at_a = a + rows[:, None] * K + inner[None, :]
    at_b = b + inner[:, None] * N + columns[None, :]
    sums = tl.zeros((BM, BN), c.dtype.element_ty)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(at_a), tl.load(at_b), sums, out_dtype=c.dtype.element_ty)
        at_a += BK
        at_b += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """One head a program along the second axis, with sums and maxima that move with the blocks of keys."""
    head = tl.program_id(1) * length * D
    rows, inner = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    own = tl.load(q + head + rows[:, None] * D + inner[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    for start in range(0, end, BN):
        keys = start + tl.arange(0, BN)
        at = head + keys[:, None] * D + inner[None, :]
        scores = tl.dot(own, tl.trans(tl.load(k + at))) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        e = tl.exp(scores - higher[:, None])
        fading = tl.exp(most - higher)
        total = total * fading + tl.sum(e, 1)
        sums = sums * fading[:, None] + tl.dot(e.to(tl.float16), tl.load(v + at))
        most = higher
    tl.store(out + head + rows[:, None] * D + inner[None, :], sums / total[:, None])


@triton.jit
def matmul_of_columns(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """As matmul, but b has its columns one behind the other."""
    rows, columns, inner = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    at_a = a + rows[:, None] * K + inner[None, :]
    at_b = b + columns[None, :] * K + inner[:, None]
    sums = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        sums = tl.dot(tl.load(at_a), tl.load(at_b), sums)
        at_a += BK
        at_b += BK
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def _product_of_boxes(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZED: tl.constexpr):
    """What the programs of a product make of the descriptions of a, of b, which has its columns one behind the other, and of c."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALIZED):
        sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def matmul_of_boxes(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZED: tl.constexpr):
    """The host describes the matrices."""
    _product_of_boxes(a, b, c, K, BM, BN, BK, SPECIALIZED)


@triton.jit
def matmul_with_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Each program describes the matrices."""
    of_a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    of_b = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    of_c = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    _product_of_boxes(of_a, of_b, of_c, K, BM, BN, BK, False)


@triton.jit
def attention_of_boxes(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """As attention, of matrices that have the heads one below the other, and that the host describes."""
    head = tl.program_id(1) * length
    row = head + tl.program_id(0) * BM
    own = q.load([row, 0])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        scores = tl.dot(own, k.load([head + start, 0]).T) * scale
        higher = tl.maximum(most, tl.max(scores, 1))
        e = tl.exp(scores - higher[:, None])
        fading = tl.exp(most - higher)
        total = total * fading + tl.sum(e, 1)
        sums = tl.dot(e.to(tl.float16), v.load([head + start, 0]), sums * fading[:, None])
        most = higher
    out.store([row, 0], (sums / total[:, None]).to(tl.float16))


@triton.jit
def running_sum(x, y, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(y + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def largest(x, values, places, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    own = tl.load(x + tl.program_id(0) * WIDTH + at)
    tl.store(values + tl.program_id(0), tl.max(own, 0))
    tl.store(places + tl.program_id(0), tl.argmax(own, 0))


@triton.jit
def transposed(x, y, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    own = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.store(y + columns[:, None] * M + rows[None, :], tl.trans(own))


@triton.jit
def gathered(x, index, y, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@triton.jit
def mathematics(x, y, n, BLOCK: tl.constexpr):
    """A row of results for each function."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own = tl.load(x + at, mask=at < n, other=1.0)
    inside = at < n
    tl.store(y + at, tl.sin(own), mask=inside)
    tl.store(y + n + at, tl.cos(own), mask=inside)
    tl.store(y + 2 * n + at, tl.log(tl.abs(own) + 1), mask=inside)
    tl.store(y + 3 * n + at, tl.exp2(own), mask=inside)
    tl.store(y + 4 * n + at, tl.erf(own), mask=inside)
    tl.store(y + 5 * n + at, libdevice.tanh(own), mask=inside)
    tl.store(y + 6 * n + at, tl.floor(own) + tl.ceil(own), mask=inside)
    tl.store(y + 7 * n + at, tl.sqrt_rn(tl.abs(own)), mask=inside)
    tl.store(y + 8 * n + at, tl.fma(own, own, own), mask=inside)
    tl.store(y + 9 * n + at, libdevice.pow(tl.abs(own), 0.7), mask=inside)


@triton.jit
def integers(x, y, z, n, BLOCK: tl.constexpr):
    """A row of results for each operation."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a, b = tl.load(x + at, mask=inside, other=1), tl.load(y + at, mask=inside, other=1)
    tl.store(z + at, a // b, mask=inside)
    tl.store(z + n + at, a % b, mask=inside)
    tl.store(z + 2 * n + at, (a << 3) ^ (b >> 2), mask=inside)
    tl.store(z + 3 * n + at, tl.minimum(a, b) & ~a, mask=inside)
    tl.store(z + 4 * n + at, tl.umulhi(a, b), mask=inside)
    tl.store(z + 5 * n + at, tl.clamp(a.to(tl.float32), -50.0, 50.0).to(tl.int32), mask=inside)


@triton.jit
def locked_sums(x, total, lock, WIDTH: tl.constexpr):
    """The programs take turns by an exchange, and add where no other adds."""
    own = tl.sum(tl.load(x + tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + own)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def extremes(x, found, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_max(found + 0 * at, own, mask=at < n)
    tl.atomic_min(found + 1 + 0 * at, own, mask=at < n)
    tl.atomic_or(found + 2 + 0 * at, own, mask=at < n)
    tl.atomic_xor(found + 3 + 0 * at, own, mask=at < n)


@triton.jit
def cross_entropy(logits, labels, losses, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    own = tl.load(logits + row * width + column, mask=column < width, other=-float("inf"))
    most = tl.max(own, 0)
    total = tl.log(tl.sum(tl.exp(own - most), 0)) + most
    tl.store(losses + row, total - tl.load(logits + row * width + tl.load(labels + row)))


@triton.jit
def _combined(a, x, b, y):
    return a * b, b * x + y


@triton.jit
def recurrence(a, x, y, WIDTH: tl.constexpr):
    """y[i] = a[i] * y[i-1] + x[i], by a scan."""
    at = tl.arange(0, WIDTH)
    tl.store(y + at, tl.associative_scan((tl.load(a + at), tl.load(x + at)), 0, _combined)[1])


@triton.jit
def rotated(x, angles, y, D: tl.constexpr):
    """Pairs of neighbours turned by an angle each, as positions are in transformers."""
    row, pair = tl.program_id(0), tl.arange(0, D)
    both = tl.load(x + row * 2 * D + tl.arange(0, 2 * D))
    a, b = tl.split(tl.reshape(both, (D, 2)))
    turn = tl.load(angles + pair) * row
    c, s = tl.cos(turn), tl.sin(turn)
    tl.store(y + row * 2 * D + tl.arange(0, 2 * D), tl.reshape(tl.join(a * c - b * s, a * s + b * c), (2 * D,)))


@triton.jit
def doubles(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=0.0), tl.load(y + at, mask=at < n, other=1.0)
    tl.store(z + at, a / b + tl.sqrt(tl.abs(a)) * tl.exp(b), mask=at < n)


@triton.jit
def matrix_by_vector(a, x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    sums = tl.zeros((BM,), tl.float32)
    for start in range(0, N, BN):
        columns = start + tl.arange(0, BN)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        part = tl.load(a + rows[:, None] * N + columns[None, :], mask=inside, other=0.0)
        sums += tl.sum(part * tl.load(x + columns, mask=columns < N, other=0.0)[None, :], 1)
    tl.store(y + rows, sums, mask=rows < M)


@triton.jit
def printing(x):
    tl.device_print("value", tl.load(x + tl.program_id(0)))
