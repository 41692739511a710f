"""Products of numbers of eight, six and four bits, with scales and without, which no GPU at hand has. Their oracle is a product of whole
matrices of fractions, whose elements are spread over a warp by the manual's figures."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_matrices import fragments

import ptxspec
from ptxspec.base.options import Engine
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import freedoms_in, is_allowed

pytestmark = pytest.mark.sample(4)

#: by their names: bits of the exponent and of the fraction, bias, the bit of its byte where an element begins
FORMATS = {
    "e4m3": (4, 3, 7, 0), "e5m2": (5, 2, 15, 0), "e3m2": (3, 2, 3, 0), "e2m3": (2, 3, 1, 0), "e2m1": (2, 1, 1, 2),
    "ue4m3": (4, 3, 7, 0),
}  # fmt: skip


def number(name: str, bits: int) -> Fraction:
    """What a finite pattern stands for."""
    if name == "ue8m0":
        return Fraction(2) ** (bits - 127)
    exponent_bits, fraction_bits, bias, _ = FORMATS[name]
    field, fraction = bits >> fraction_bits & (1 << exponent_bits) - 1, bits & (1 << fraction_bits) - 1
    sign = -1 if name != "ue4m3" and bits >> exponent_bits + fraction_bits else 1
    size = Fraction(fraction + (field > 0) * (1 << fraction_bits), 1 << fraction_bits)
    return sign * size * Fraction(2) ** (max(field, 1) - bias)


def some(name: str, wanted: set[Fraction]) -> np.ndarray:
    """The patterns of these numbers."""
    width = {"ue8m0": 8, "ue4m3": 7}.get(name) or 1 + sum(FORMATS[name][:2])
    return np.array([p for p in range(1 << width) if number(name, p) in wanted], np.int64)


#: numbers that have an exact sum, however it is made, with scales and in half precision
HALVES = {Fraction(i, 2) for i in range(-3, 4)}
#: and scales
POWERS = {"ue8m0": {Fraction(1, 4), Fraction(1), Fraction(4)}, "ue4m3": {Fraction(i, 4) for i in range(1, 9)}}


class Case(NamedTuple):
    """What there is of a mnemonic."""

    mnemonic: str

    @property
    def words(self) -> list[str]:
        return self.mnemonic.split(".")

    @property
    def is_sparse(self) -> bool:
        return "sp::ordered_metadata" in self.words

    @property
    def is_scaled(self) -> bool:
        return "block_scale" in self.words

    @property
    def formats(self) -> tuple[str, str]:
        first, second = [w for w in self.words if w in FORMATS and w != "ue4m3"]
        return first, second

    @property
    def bits(self) -> int:
        """Of an element's room."""
        return 4 if "kind::mxf4" in self.words or "kind::mxf4nvf4" in self.words else 8

    @property
    def k(self) -> int:
        return next(int(w.split("k")[1]) for w in self.words if w.startswith("m16n8k"))

    @property
    def blocks(self) -> int:
        said = [int(w[-2]) for w in self.words if w.startswith("scale_vec")]
        return said[0] if said else 2 if "kind::mxf4" in self.words else 1

    @property
    def half(self) -> bool:
        """Whether sums have half precision."""
        return "f16" in self.words


class Given(NamedTuple):
    """The patterns of whole matrices. `places` says which columns of A are stored, of a sparse one; scales are those of A's rows and B's
    columns, `ids` the numbers that select them."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    places: np.ndarray
    scales: tuple[np.ndarray, np.ndarray]
    ids: tuple[int, int, int, int]


def drawn(case: Case, seed: int) -> Given:
    rng = np.random.default_rng([seed, *map(ord, case.mnemonic)])
    of_a, of_b = (some(name, HALVES) for name in case.formats)
    stored = case.k // 2 if case.is_sparse else case.k
    pair = 2 if case.bits == 4 else 1
    places = np.tile(np.arange(case.k), (16, 1))
    if case.is_sparse:  # two of four elements, or of four pairs
        kept = [np.sort(rng.choice(4, 2, replace=False)) for _ in range(16 * case.k // (4 * pair))]
        chunks = np.array(kept).reshape(16, -1, 2)
        starts = np.arange(case.k // (4 * pair))[None, :, None] * 4 + chunks
        places = (starts[..., None] * pair + np.arange(pair)).reshape(16, stored)
    stype = case.words[-1] if case.is_scaled else "ue8m0"
    of_scales = some(stype, POWERS[stype])
    ids = [0, 0, 0, 0]
    if case.is_scaled:
        first = np.arange(0, 4, case.blocks)
        ids = [rng.choice(first), rng.integers(0, 2), rng.choice(first), rng.integers(0, 4)]
    return Given(
        rng.choice(of_a, (16, stored)),
        rng.choice(of_b, (case.k, 8)),
        rng.integers(-8, 9, (16, 8)),
        places,
        (rng.choice(of_scales, (16, case.blocks)), rng.choice(of_scales, (8, case.blocks))),
        (int(ids[0]), int(ids[1]), int(ids[2]), int(ids[3])),
    )


def product(case: Case, given: Given) -> np.ndarray:
    """The exact sums."""
    numbers = {name: np.array([number(name, p) for p in range(256)], object) for name in FORMATS}
    first, second = case.formats
    whole = np.full((16, case.k), Fraction(0), object)
    np.put_along_axis(whole, given.places, numbers[first][given.a], 1)
    b = numbers[second][given.b]
    if case.is_scaled:
        scale = np.array([number(case.words[-1], p) for p in range(256)], object)
        whole = whole * np.repeat(scale[given.scales[0]], case.k // case.blocks, 1)
        b = b * np.repeat(scale[given.scales[1]], case.k // case.blocks, 1).T
    return whole.dot(b) + given.c


def in_words(patterns: np.ndarray, formats: str, case: Case) -> np.ndarray:
    """Elements side by side, each in its room, in words of 32 bits. The bits that do not count are any."""
    room = np.int64(case.bits)
    begins = FORMATS[formats][3] if case.bits == 8 else 0
    width = 1 + sum(FORMATS[formats][:2])
    noise = np.random.default_rng(3).integers(0, 1 << case.bits, patterns.shape) & ~(((1 << width) - 1) << begins)
    raw = (patterns << begins | noise) & (1 << case.bits) - 1
    return (raw << room * np.arange(patterns.shape[-1])).sum(-1).astype(np.uint32)


def registers(case: Case, given: Given) -> list[np.ndarray]:
    """What each lane has in its registers for A, B, C, the metadata, and the scales of A and of B."""
    stored = given.a.shape[1]
    of_a, _, of_c = fragments((16, 8, stored), case.bits)
    _, of_b, _ = fragments((16, 8, case.k), case.bits)
    a = in_words(given.a.ravel()[of_a], case.formats[0], case)
    b = in_words(given.b.ravel()[of_b], case.formats[1], case)
    c = given.c.ravel()[of_c].astype(np.float32)
    if case.half:
        c = c.astype(np.float16).view(np.uint32)
    found = [a, b, c]
    if case.is_sparse:
        words = np.zeros((32, 1), np.uint32)
        pair = 2 if case.bits == 4 else 1
        numbers = (given.places // pair)[:, ::pair] & 3
        for row in range(16):
            for i, which in enumerate(numbers[row]):
                chunk, second = divmod(i, 2)
                lane = 4 * (row % 8) + 2 * (chunk // 8) + row // 8
                words[lane, 0] |= np.uint32(int(which) << 4 * (chunk % 8) + 2 * second)
        found.append(words)
    if case.is_scaled:
        data = np.random.default_rng(4).integers(0, 256, (2, 32, 4)).astype(np.uint8)
        byte_a, thread_a, byte_b, thread_b = given.ids
        for block in range(case.blocks):
            for row in range(16):
                data[0, 4 * (row % 8) + 2 * thread_a + row // 8, byte_a + block] = given.scales[0][row, block]
            for column in range(8):
                data[1, 4 * column + thread_b, byte_b + block] = given.scales[1][column, block]
        found += [each.view(np.uint32) for each in data]
    return found


def kernel(case: Case, counts: list[int], ids: tuple[int, ...], constant: bool) -> str:
    """A kernel whose parameters are what each lane has; the selectors are constants, or in registers."""
    names = ["a", "b", "c", *(["e"] if case.is_sparse else []), *(["s", "z"] if case.is_scaled else [])]
    floats = () if case.half else ("c", "d")
    lines = [f".reg .{'f32' if x in floats else 'b32'} %{x}<8>;" for x in [*names, "d"]]
    for x, count in zip(names, counts, strict=True):
        lines += [f"ld.param.u64 %p, [{x}];", f"mad.wide.u32 %p, %t, {4 * count}, %p;"]
        lines += [f"ld.global.{'f32' if x in floats else 'b32'} %{x}{i}, [%p+{4 * i}];" for i in range(count)]
    results = counts[2]
    braces = [
        "{" + ", ".join(f"%{x}{i}" for i in range(n)) + "}" for x, n in zip("dabc", [results, *counts[:3]], strict=True)
    ]
    chosen = [str(i) for i in ids] if constant else [f"%h{i}" for i in range(4)]
    lines += [f"mov.b16 %h{i}, {n};" for i, n in enumerate(ids)]
    more = [*(["%e0", "0"] if case.is_sparse else [])]
    if case.is_scaled:
        more += ["%s0", f"{{{chosen[0]}, {chosen[1]}}}", "{%z0}", f"{{{chosen[2]}, {chosen[3]}}}"]
    stores = [f"st.global.{'b32' if case.half else 'f32'} [%p+{4 * i}], %d{i};" for i in range(results)]
    newline = "\n"
    return f""".version 9.5
.target sm_120a
.address_size 64
.visible .entry k({", ".join(f".param .u64 {x}" for x in [*names, "d"])})
{{
.reg .u64 %p;
.reg .u32 %t;
.reg .b16 %h<4>;
mov.u32 %t, %tid.x;
{newline.join(lines)}
{case.mnemonic} {", ".join([*braces, *more])};
ld.param.u64 %p, [d];
mad.wide.u32 %p, %t, {4 * results}, %p;
{newline.join(stores)}
ret;
}}"""


def launched(case: Case, given: Given, engine: Engine, constant: bool = True) -> np.ndarray:
    """D as the machine makes it."""
    arrays = registers(case, given)
    d = np.zeros_like(arrays[2])
    text = kernel(case, [x.shape[1] for x in arrays], given.ids, constant)
    ptxspec.load(text, "k.ptx").launch("k", 1, 32, [*arrays, d], engine=engine, profile="hopper")
    found = np.zeros(128, np.float64)
    found[fragments((16, 8, 32), 8)[2]] = d.view(np.float16) if case.half else d
    return found.reshape(16, 8)


PLAIN = [
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e2m1.f16",
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e3m2.e4m3.f32.ue8m0",
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m1.f32.ue8m0",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
]
SPARSE = [
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m3.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e2m3.e2m1.f32.ue8m0",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
]


def agrees(case: Case, given: Given, engine: Engine, constant: bool = True) -> bool:
    return np.array_equal(launched(case, given, engine, constant), product(case, given).astype(np.float64))


@pytest.mark.parametrize("mnemonic", PLAIN + SPARSE)
def test_a_product_is_that_of_whole_matrices(mnemonic: str) -> None:
    case = Case(mnemonic)
    assert agrees(case, drawn(case, 0), "exact")


@pytest.mark.parametrize("mnemonic", [PLAIN[0], PLAIN[3], PLAIN[6], SPARSE[2]])
@pytest.mark.slow
def test_compiled_code_agrees(mnemonic: str) -> None:
    case = Case(mnemonic)
    assert agrees(case, drawn(case, 1), "native")


@pytest.mark.long
def test_every_form_by_the_text() -> None:
    own = [f.mnemonic for f in ptxspec.forms("mma") if f.only]
    assert len(own) >= 210
    for i, mnemonic in enumerate(own):
        case = Case(mnemonic)
        assert agrees(case, drawn(case, 2), "native" if i % 7 == 0 else "exact"), mnemonic


SCALED = [m for m in PLAIN + SPARSE if Case(m).is_scaled]


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("mnemonic", [SCALED[0], SCALED[2], SCALED[-1]])
def test_all_selectors(mnemonic: str) -> None:
    """Each scale by each selector that there is for it; from registers, too, whose upper bits do not count."""
    case = Case(mnemonic)
    given = drawn(case, 3)
    bytes = range(0, 4, case.blocks)
    for byte_a, thread_a, byte_b, thread_b in [
        (b, i & 1, bytes[-1 - j], i) for j, b in enumerate(bytes) for i in range(4)
    ]:
        own = given._replace(ids=(byte_a, thread_a, byte_b, thread_b))
        want = product(case, own).astype(np.float64)
        assert np.array_equal(launched(case, own, "exact"), want)
    beyond = own._replace(ids=(own.ids[0] + 4, own.ids[1] + 6, own.ids[2] + 0x100, own.ids[3] + 8))
    arrays = registers(case, own)
    d = np.zeros_like(arrays[2])
    text = kernel(case, [x.shape[1] for x in arrays], beyond.ids, constant=False)
    ptxspec.load(text, "k.ptx").launch("k", 1, 32, [*arrays, d], engine="exact", profile="hopper")
    found = np.zeros(128)
    found[fragments((16, 8, 32), 8)[2]] = d
    assert np.array_equal(found.reshape(16, 8), want)


def faults(case: Case, given: Given) -> dict[str, Given]:
    """What the matrices would be if a page were wrong in one thing."""
    rows, columns = given.scales
    halves = np.concatenate([rows[8:], rows[:8]])
    found = {
        "the eighth row below has the other lane's scale": given._replace(scales=(halves, columns)),
        "scales of rows are those of columns": given._replace(scales=(np.tile(columns, (2, 1)), columns)),
        "elements of neighbouring columns": given._replace(b=given.b[:, ::-1]),
        "the lower byte first": given._replace(a=given.a[:, np.arange(given.a.shape[1]) ^ 1]),
    }
    if case.blocks > 1:
        found["the last block has the lowest byte"] = given._replace(scales=(rows[:, ::-1], columns))
    if case.is_sparse:
        found["metadata in another order"] = given._replace(places=np.roll(given.places, 1, 0))
    return found


@pytest.mark.parametrize("mnemonic", [PLAIN[2], SPARSE[-1]])
def test_faults_would_be_found(mnemonic: str) -> None:
    case = Case(mnemonic)
    given = drawn(case, 0)
    got = launched(case, given, "exact")
    for what, wrong in faults(case, given).items():
        assert not np.array_equal(got, product(case, wrong).astype(np.float64)), what


# what PTX allows --------------------------------------------------------------------------------------------------------------


def special(name: str, bits: int) -> str | None:
    """Whether a pattern is a NaN or an infinity."""
    if name == "ue8m0":
        return "nan" if bits == 255 else None
    low = bits & 0x7F
    if name in ("e4m3", "ue4m3"):
        return "nan" if low == 0x7F else None
    if name == "e5m2" and low >= 0x7C:
        return "inf" if low == 0x7C else "nan"
    return None


def expected(case: Case, a: list[int], b: list[int], c: int, scales: tuple[list[int], list[int]]) -> Any:
    """The exact sum, "nan", or an infinity with its sign."""
    first, second = case.formats
    stype = case.words[-1]
    if any(special(stype, s) for own in scales for s in own):
        return "nan"
    if any(special(first, x) == "nan" for x in a) or any(special(second, y) == "nan" for y in b):
        return "nan"
    total, infinities = Fraction(np.uint32(c).view(np.float32).item()), set()
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        block = i * case.blocks // len(a)
        factor = number(stype, scales[0][block]) * number(stype, scales[1][block]) if case.is_scaled else Fraction(1)
        if special(first, x) or special(second, y):
            other = [number(n, z) for n, z in ((first, x), (second, y)) if not special(n, z)]
            if 0 in other or not factor:
                return "nan"
            infinities.add((x ^ y) >> 7 if first == second else (x >> 7) ^ (y >> sum(FORMATS[second][:2])))
        else:
            total += number(first, x) * number(second, y) * factor
    if infinities:
        return "nan" if len(infinities) == 2 else ("inf", infinities.pop())
    return total


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mnemonic", [PLAIN[2], PLAIN[3], PLAIN[6], SPARSE[3]])
@pytest.mark.slow
def test_the_bound_holds_for_the_nearest_number_and_excludes_others(mnemonic: str) -> None:
    """Patterns of all kinds: what the profile chooses and the nearest number are allowed, and one that is far off is not."""
    case, hopper = Case(mnemonic), Profile("hopper")
    form = next(f for f in ptxspec.forms("mma") if f.mnemonic == mnemonic)
    freedom = freedoms_in(*form.meaning().results[0].values)[0]
    count = case.k // 2 if case.is_sparse else case.k
    rng = np.random.default_rng([7, *map(ord, mnemonic)])
    widths = [1 + sum(FORMATS[name][:2]) for name in case.formats]
    seen = set()
    for trial in range(20):
        wide = trial % 4 == 3
        lines = [rng.integers(0, 1 << w, count).tolist() for w in widths]
        if trial % 2:  # without infinities and NaNs, for most
            lines = [[0 if special(n, x) else x for x in own] for n, own in zip(case.formats, lines, strict=True)]
        middle, apart = (127, 120) if case.words[-1] == "ue8m0" else (56, 40)
        around = apart if wide else 3
        scales = tuple((middle + rng.integers(-around, around + 1, case.blocks)).tolist() for _ in range(2))
        if trial % 10 == 9:
            scales[1][0] = 255 if case.words[-1] == "ue8m0" else 127
        c = int(np.float32(rng.normal() * 2.0 ** rng.integers(-4, 20)).view(np.uint32))
        head = tuple(t.attrs[0] for t in freedom.args[:4])
        given = (*head, *scales[0], *scales[1], *lines[0], *lines[1], c)
        want = expected(case, *lines, c, scales)
        seen.add(want if want == "nan" else want[0] if isinstance(want, tuple) else "number")
        nearest = freedom.attrs[4].nearest(*given)
        for bits in (hopper.value(freedom, given), nearest):
            got = np.uint32(bits).view(np.float32).item()
            assert is_allowed(freedom, given, bits)
            if want == "nan":
                assert np.isnan(got) and not is_allowed(freedom, given, 0x3F800000)
            elif isinstance(want, tuple):
                assert got == (-np.inf if want[1] else np.inf)
            elif bits == nearest and abs(want) < 2**127:
                assert abs(Fraction(got) - want) <= abs(want) * Fraction(1, 1 << 24) + Fraction(1, 1 << 150)
                assert not is_allowed(freedom, given, bits ^ 1 << 30)
    assert {"nan", "number"} <= seen


# which there are --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("%r0, {1, 0}, %r0, {0, 0}", "needs a constant from 0 to 2, a multiple of 2 here, not 1"),
        ("%r0, {0, 2}, %r0, {0, 0}", "needs a constant from 0 to 1 here, not 2"),
        ("%r0, {0, 0}, %r0, {0, 4}", "needs a constant from 0 to 3 here, not 4"),
        ("0, {0, 0}, %r0, {0, 0}", "needs a register of type .b32 here"),
        ("%r0, {%r0, 0}, %r0, {0, 0}", "needs .u16 here"),
        ("%r0, 0, %r0, 0", "operands in braces"),
    ],
)  # fmt: skip
def test_what_is_refused(more: str, said: str) -> None:
    registers = "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3}"
    text = f".version 9.5\n.target sm_120a\n.entry k() {{ .reg .f32 %f<4>; .reg .b32 %r<9>;\n{PLAIN[4]} {registers}, {more};\nret; }}"
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text, "k.ptx")
    assert said in str(caught.value)
