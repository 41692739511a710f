"""Products of matrices and what moves matrices, against NumPy and against what an H200 answered."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import ptxspec
from ptxspec.base.options import Engine
from ptxspec.terms.vocabulary import freedoms_in, is_allowed
from ptxspec_workshop.compare.kernel_runs import CachedMachine, launched, load
from ptxspec_workshop.generate import aimed_matrix_cases, matrix_cases
from ptxspec_workshop.generate.cases import FILL, module_of, named
from ptxspec_workshop.record.families import AIMED_MATRICES, MATRICES

pytestmark = pytest.mark.sample(4)

ANSWERS = MATRICES.read()
OPCODES = ("mma", "ldmatrix", "stmatrix", "movmatrix")


def every_form() -> list[ptxspec.Form]:
    return [form for opcode in OPCODES for form in ptxspec.forms(opcode)]


@pytest.mark.slow
def test_every_answer_is_of_a_case() -> None:
    """A case without an answer is a gap, of which the ledger tells."""
    if ANSWERS is None:
        pytest.skip("NO ORACLE: no GPU has answered the products of matrices yet")
    names = {case.name for case in MATRICES.cases([*every_form(), *ptxspec.forms("wmma")])}
    assert set(ANSWERS.values) == set(ANSWERS.facts["forms"]) <= names
    assert len(ANSWERS.values) >= 283 and len(every_form()) >= 200 and len(ptxspec.forms("wmma")) >= 800
    assert matrix_cases.WARPS * matrix_cases.LAUNCHES == 64


# a product of whole matrices, as a program sees it -------------------------------------------------------------------------


def fragments(shape: tuple[int, int, int], bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each lane, register and position the elements of A, B and C, each as an index into the flattened matrix: by the
    figures of the manual."""
    m, n, k = shape
    per = max(1, 32 // bits)
    a = np.zeros((32, m * k // 32 // per, per), int)
    b = np.zeros((32, k * n // 32 // per, per), int)
    c = np.zeros((32, m * n // 32), int)
    for lane in range(32):
        group, place = divmod(lane, 4)
        for register in range(a.shape[1]):
            row = group + 8 * (register % 2 if m == 16 else 0)
            first = per * place + 4 * per * (register // 2 if m == 16 else register)
            a[lane, register] = row * k + first + np.arange(per)
        for register in range(b.shape[1]):
            b[lane, register] = (per * place + 4 * per * register + np.arange(per)) * n + group
        for i in range(c.shape[1]):
            c[lane, i] = (group + 8 * (i // 2)) * n + 2 * place + i % 2
    return a, b, c


def kernel(mnemonic: str, counts: tuple[int, int, int, int], types: tuple[str, str, str, str]) -> str:
    """A kernel that loads fragments, multiplies, and stores; its parameters are those of A, B, C and D."""
    names = ("d", "a", "b", "c")
    registers = "\n".join(f".reg .{t} %{x}<{n}>;" for x, t, n in zip(names, types, counts, strict=True))
    lines = []
    for x, type, count in zip(names, types, counts, strict=True):
        size = int(type[1:]) // 8
        lines += [f"ld.param.u64 %p, [{x}];", f"mad.wide.u32 %{x}at, %t, {size * count}, %p;"]
        if x != "d":
            lines += [f"ld.global.{type} %{x}{i}, [%{x}at+{size * i}];" for i in range(count)]
    operands = ", ".join(
        "{" + ", ".join(f"%{x}{i}" for i in range(n)) + "}" for x, n in zip(names, counts, strict=True)
    )
    size = int(types[0][1:]) // 8
    stores = "\n".join(f"st.global.{types[0]} [%dat+{size * i}], %d{i};" for i in range(counts[0]))
    return f""".version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
.reg .u64 %p, %aat, %bat, %cat, %dat;
.reg .u32 %t;
{registers}
mov.u32 %t, %tid.x;
{chr(10).join(lines)}
{mnemonic} {operands};
{stores}
ret;
}}"""


def packed(elements: np.ndarray, bits: int) -> np.ndarray:
    """Elements side by side in words of 32 bits."""
    raw = elements.astype(np.int64) & (1 << bits) - 1
    return (raw << bits * np.arange(elements.shape[-1])).sum(-1).astype(np.uint32)


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize(
    ("word", "bits", "a_type", "b_type"),
    [
        ("m8n8k16", 8, "s8", "u8"), ("m16n8k16", 8, "u8", "u8"), ("m16n8k32", 8, "s8", "s8"),
        ("m8n8k32", 4, "u4", "s4"), ("m16n8k32", 4, "s4", "s4"), ("m16n8k64", 4, "s4", "u4"),
    ],
)  # fmt: skip
def test_a_product_of_whole_numbers(word: str, bits: int, a_type: str, b_type: str, engine: Engine) -> None:
    m, n, k = map(int, re.findall(r"\d+", word))
    source = np.random.default_rng([m, n, k, bits])

    def drawn(type: str, rows: int, columns: int) -> np.ndarray:
        low = -(1 << bits - 1) if type[0] == "s" else 0
        return source.integers(low, low + (1 << bits), (rows, columns))

    a, b = drawn(a_type, m, k), drawn(b_type, k, n)
    c = source.integers(-(1 << 31), 1 << 31, (m, n)).astype(np.int32)
    of_a, of_b, of_c = fragments((m, n, k), bits)
    given = [packed(a.ravel()[of_a], bits), packed(b.ravel()[of_b], bits), c.ravel()[of_c]]
    d = np.zeros_like(given[2])
    counts = (d.shape[1], given[0].shape[1], given[1].shape[1], d.shape[1])
    mnemonic = f"mma.sync.aligned.{word}.row.col.s32.{a_type}.{b_type}.s32"
    loaded = ptxspec.load(kernel(mnemonic, counts, ("s32", "b32", "b32", "s32")), "k.ptx")
    loaded.launch("k", 1, 32, [*given, d], engine=engine)
    found = np.zeros(m * n, np.int32)
    found[of_c] = d
    assert np.array_equal(found.reshape(m, n), (a @ b + c).astype(np.int32))


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_product_of_half_precision(engine: Engine) -> None:
    """Small whole numbers, whose sums are exact in any order."""
    source = np.random.default_rng(7)
    a, b = source.integers(-32, 33, (16, 16)), source.integers(-32, 33, (16, 8))
    c = source.integers(-1000, 1000, (16, 8)).astype(np.float32)
    of_a, of_b, of_c = fragments((16, 8, 16), 16)
    given = [a.astype(np.float16).ravel()[of_a], b.astype(np.float16).ravel()[of_b], c.ravel()[of_c]]
    d = np.zeros_like(given[2])
    text = kernel("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", (4, 4, 2, 4), ("f32", "b32", "b32", "f32"))
    loaded = ptxspec.load(text, "k.ptx")
    loaded.launch("k", 1, 32, [*given, d], engine=engine, profile="hopper")
    found = np.zeros(128, np.float32)
    found[of_c] = d
    assert np.array_equal(found.reshape(16, 8), (a @ b + c).astype(np.float32))


def test_formats_of_sixteen_bits_are_told_apart() -> None:
    """Compiled code asks for the nearest sum, of one format after the other."""
    source = np.random.default_rng(8)
    a, b = source.integers(-32, 33, (16, 16)), source.integers(-32, 33, (16, 8))
    c = source.integers(-1000, 1000, (16, 8)).astype(np.float32)
    of_a, of_b, of_c = fragments((16, 8, 16), 16)
    for name in ("f16", "bf16"):
        bits = [
            x.astype(np.float16).view(np.uint16) if name == "f16" else (x.astype(np.float32).view(np.uint32) >> 16)
            for x in (a, b)
        ]
        given = [packed(bits[0].ravel()[of_a], 16), packed(bits[1].ravel()[of_b], 16), c.ravel()[of_c]]
        d = np.zeros_like(given[2])
        text = kernel(
            f"mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32", (4, 4, 2, 4), ("f32", "b32", "b32", "f32")
        )
        ptxspec.load(text, "k.ptx").launch("k", 1, 32, [*given, d], engine="native", profile="portable")
        assert np.array_equal(d, (a @ b + c).astype(np.float32).ravel()[of_c])


def nearest_single(exact: Fraction) -> float:
    """The single-precision number nearest to an exact one, of two that are as near the even one."""
    near = np.float32(float(exact))
    close = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    return float(min(close, key=lambda x: (abs(Fraction(float(x)) - exact), x.view(np.uint32) & 1)))


@pytest.mark.parametrize("schedule", ["round-robin", "warps"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_the_nearest_sum_is_that_of_rational_numbers(name: str, schedule: str) -> None:
    """Products of all sizes, some of which cancel C but for a small rest."""
    source = np.random.default_rng(9)
    a, b = source.normal(size=(16, 16)), source.normal(size=(16, 8)) * 2.0 ** source.integers(-12, 6, (16, 8))
    a[:, 0], b[0] = 2.0 ** source.integers(0, 8, 16), 2.0 ** source.integers(0, 8, 8)
    a[:, 1] *= 2.0**-14
    halves = [x.astype(np.float16) if name == "f16" else (x.astype(np.float32).view(np.uint32) >> 16) for x in (a, b)]
    a, b = ((x if name == "f16" else (x << 16).astype(np.uint32).view(np.float32)).astype(np.float64) for x in halves)
    c = (-a[:, :1] @ b[:1] * source.choice([1, 1 + 2.0**-20, 0.25], (16, 8))).astype(np.float32)
    of_a, of_b, of_c = fragments((16, 8, 16), 16)
    bits = [x.view(np.uint16) if name == "f16" else x for x in halves]
    given = [packed(bits[0].ravel()[of_a], 16), packed(bits[1].ravel()[of_b], 16), c.ravel()[of_c]]
    d = np.zeros_like(given[2])
    text = kernel(
        f"mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32", (4, 4, 2, 4), ("f32", "b32", "b32", "f32")
    )
    ptxspec.load(text, "k.ptx").launch("k", 1, 32, [*given, d], profile="portable", schedule=schedule)
    found = np.zeros(128, np.float32)
    found[of_c] = d
    for i, j in np.ndindex(16, 8):
        exact = Fraction(float(c[i, j])) + sum(Fraction(a[i, k]) * Fraction(b[k, j]) for k in range(16))
        assert found.reshape(16, 8)[i, j] == nearest_single(exact)


@pytest.mark.parametrize("schedule", ["round-robin", "warps"])
@pytest.mark.parametrize(
    "mnemonic",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16",
    ],
)  # fmt: skip
def test_both_engines_take_the_nearest_sum(mnemonic: str, schedule: str) -> None:
    """Of operands of every kind: infinities, NaNs, zeros and subnormal numbers among them."""
    types = matrix_cases.element_types(form(mnemonic))
    m, n, k = map(int, re.findall(r"\d+", mnemonic.split(".")[3]))
    half = types["c"].width == 16
    counts = (
        m * n // 32 >> half,
        *(x * k * types[y].width // 1024 for x, y in ((m, "a"), (n, "b"))),
        m * n // 32 >> half,
    )
    text = kernel(mnemonic, counts, ("b32" if half else "f32", "b32", "b32", "b32" if half else "f32"))
    loaded = ptxspec.load(text, "k.ptx")
    kept = set()
    for kind in range(len(matrix_cases.FLOATS)):
        source = np.random.default_rng([kind, len(mnemonic)])
        given = []
        for x, count in zip("abc", counts[1:], strict=True):
            elements = matrix_cases.FLOATS[kind](types[x], source, 32 * count * 32 // types[x].width)
            given.append(packed(np.asarray(elements).reshape(32 * count, -1), types[x].width))
        results = []
        for how in ({"engine": "exact"}, {"engine": "native", "schedule": schedule}):
            d = np.zeros(32 * counts[0], np.uint32)
            loaded.launch("k", 1, 32, [*given, d], profile="portable", **how)
            results.append(d.tolist())
        assert results[0] == results[1], kind
        kept.update(results[0])
    assert len(kept) > 200


# what PTX allows, and what it does not --------------------------------------------------------------------------------------


@cache
def form(mnemonic: str) -> ptxspec.Form:
    return next(f for f in ptxspec.forms("mma") if f.mnemonic == mnemonic)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "mnemonic",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16",
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    ],
)  # fmt: skip
@pytest.mark.slow
def test_the_bound_holds_for_the_chip_and_excludes_others(mnemonic: str) -> None:
    """The chip's choice is allowed for operands of every kind; a result that is far off is not."""
    profile = ptxspec.terms.profiles.Profile("hopper")
    meaning = form(mnemonic).meaning()
    freedom = freedoms_in(*meaning.results[0].values)[0]
    types = matrix_cases.element_types(form(mnemonic))
    count = (len(freedom.args) - 4) // 2
    refused = 0
    for kind in range(len(matrix_cases.FLOATS)):
        source = np.random.default_rng([kind, len(mnemonic)])
        for _ in range(12):
            formats = [t.attrs[0] for t in freedom.args[:3]]
            drawn = [matrix_cases.FLOATS[kind](types[x], source, count if x != "c" else 1).tolist() for x in "abc"]
            operands = (*formats, *drawn[0], *drawn[1], *drawn[2])
            bits = profile.chosen(freedom, operands)
            assert is_allowed(freedom, operands, bits), (kind, operands, hex(bits))
            refused += not is_allowed(freedom, operands, bits ^ 1 << freedom.attrs[1] - 2)
    assert refused > 60


def toward(rounding: str, exact: Fraction) -> float:
    """The number of double precision that an exact one is rounded to."""
    near = float(exact)
    if rounding == "rn" or Fraction(near) == exact:
        return near
    is_low = Fraction(near) < exact
    up = rounding == "rp" or (rounding == "rz" and exact < 0)
    return near if is_low is not up else float(np.nextafter(near, np.inf if up else -np.inf))


@pytest.mark.parametrize("rounding", ["", ".rn", ".rz", ".rm", ".rp"])
def test_a_product_of_double_precision_is_rounded_as_it_says(rounding: str) -> None:
    source = np.random.default_rng(11)
    a, b = source.normal(size=(8, 4)), source.normal(size=(4, 8))
    c = source.normal(size=(8, 8))
    given = [a.reshape(32, 1), b.T.reshape(32, 1), c.reshape(32, 2)]
    d = np.zeros_like(given[2])
    mnemonic = f"mma.sync.aligned.m8n8k4.row.col{rounding}.f64.f64.f64.f64"
    loaded = ptxspec.load(kernel(mnemonic, (2, 1, 1, 2), ("f64",) * 4), "k.ptx")
    loaded.launch("k", 1, 32, [*given, d], engine="native")
    want = np.zeros((8, 8))
    for i, j in np.ndindex(8, 8):
        total = c[i, j]
        for k in range(4):
            total = toward(rounding[1:] or "rn", Fraction(a[i, k]) * Fraction(b[k, j]) + Fraction(total))
        want[i, j] = total
    assert np.array_equal(d.reshape(8, 8), want)


def test_a_warp_that_is_not_whole_waits_in_vain() -> None:
    text = kernel("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", (2, 1, 1, 2), ("f64",) * 4)
    arrays = [np.zeros((32, n)) for n in (1, 1, 2, 2)]
    loaded = ptxspec.load(text, "k.ptx")
    for engine in ("exact", "native"):
        with pytest.raises(ptxspec.LaunchError) as caught:
            loaded.launch("k", 1, 31, arrays, engine=engine)
        assert caught.value.rule == "stuck warp" and "lanes 0x7fffffff wait for lanes 0xffffffff" in str(caught.value)


@pytest.mark.parametrize(
    ("instruction", "said"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0}, {%r1}, {%f0,%f1,%f2,%f3};", "needs 2 registers in braces here"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%f0,%f1}, {%r1}, {%f0,%f1,%f2,%f3};", "needs .f16x2 here"),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%f0,%f1,%f2,%f3}, %r8, 2;", "needs a constant from 0 to 1 here, not 2"),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%r0,%r1}, {%r0,%r1,%r2,%r3}, {%r1,%r2}, {%f0,%f1,%f2,%f3};", "there is no mma.sync.aligned"),
    ],
)  # fmt: skip
def test_what_is_refused(instruction: str, said: str) -> None:
    text = f".version 9.0\n.target sm_90\n.entry k() {{ .reg .f32 %f<4>; .reg .b32 %r<9>;\n{instruction}\nret; }}"
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text, "k.ptx")
    assert said in str(caught.value)


@pytest.mark.slow
def test_both_engines_agree_on_every_form() -> None:
    """One warp of each product, and all of what moves matrices."""
    own = [form for form in every_form() if MATRICES.asks(form)]
    cases = [c for c in matrix_cases.small(own) if c.form.modifiers.get("order") != "sp"][::9]
    exact, native = (CachedMachine("hopper", engine).answers(cases) for engine in ("exact", "native"))
    assert len(cases) > 12
    for name in exact:
        assert np.array_equal(exact[name], native[name]), name


@pytest.mark.parametrize(
    "mnemonic",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32",
        "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
    ],
)  # fmt: skip
@pytest.mark.slow
def test_turns_of_warps_give_what_turns_of_threads_give(mnemonic: str) -> None:
    """Where a warp's lanes come together, its products are computed in vectors."""
    ((name, case),) = named(matrix_cases.small([form(mnemonic)])).items()
    loaded, results = load(module_of([case])), []
    for schedule in ("round-robin", "warps"):
        results.append(launched(loaded, name, case.launches, profile="hopper", engine="native", schedule=schedule))
    assert all(map(np.array_equal, *results)) and any((out != FILL).any() for out in results[0])


# factors that are aimed at limits -----------------------------------------------------------------------------------------


def aimed(*formats: str) -> list[aimed_matrix_cases.AimedCase]:
    own = [f for f in ptxspec.forms("mma") if any(name in f.mnemonic for name in formats)]
    return aimed_matrix_cases.cases(own)


def test_aimed_factors_reach_the_limits() -> None:
    """The rows are reproducible, and of each format some factors are subnormal, and some products lie below 2^-158 while all of
    their sum lie below 2^-133."""
    cases = aimed("bf16", "tf32")
    assert len(cases) == 12 and len({case.name for case in cases}) == 12
    for case in cases:
        first, second = case.launches, case.launches
        assert all(np.array_equal(one.cells, other.cells) for one, other in zip(first, second, strict=True))
    for name, dense in (("bf16", "mma.sync.aligned.m16n8k8"), ("tf32", "mma.sync.aligned.m16n8k4")):
        (case,) = (c for c in aimed(name) if c.form.mnemonic.startswith(dense))
        cells = np.concatenate([launch.cells for launch in case.launches])
        per, where = (2, 7) if name == "bf16" else (1, 23)
        a, b = (words.ravel() for words in (cells[:, :2], cells[:, 2:3]))
        numbers = [np.concatenate([x >> 16 * i & 0xFFFF for i in range(2)]) if per == 2 else x for x in (a, b)]
        exponents = [(x >> where & 0xFF).astype(int) - 127 for x in numbers]
        fractions = [x & (1 << where) - 1 for x in numbers]
        assert ((exponents[0] == -127) & (fractions[0] != 0)).sum() > 100
        warps = cells.reshape(-1, 32, 16)
        tops = [int((w[:, :2] >> where & 0xFF).max() + (w[:, 2] >> where & 0xFF).max()) - 254 for w in warps]
        assert sum(top < -133 for top in tops) > 10


@pytest.mark.slow
def test_the_recorded_aimed_products_are_ours() -> None:
    answers = AIMED_MATRICES.read()
    assert answers is not None
    count, differences = AIMED_MATRICES.compare(aimed("bf16", "tf32"), answers)
    assert count > 4000
    assert not differences, "\n".join(map(str, differences[:5]))
