"""Drawings: what they show against NumPy, Python's integers and fractions; mistakes planted in definitions; their texts and XML."""

from __future__ import annotations
import __future__ as future

import inspect
import math
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("sphinx")

from building import build

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.literate import finder
from ptxspec.query import repeated
from ptxspec_workshop.mutation.planting import forget
from ptxspec_workshop.site import drawing
from ptxspec_workshop.site.corner_cases import RowError
from ptxspec_workshop.site.drawing import bits, chains, courses, memory, number_lines, truth, warps, windows
from ptxspec_workshop.site.drawing.canvas import Canvas, TextLabel
from ptxspec_workshop.site.drawing.request import parsed
from ptxspec_workshop.site.drawing.sources import Bit, BitRun, RegisterElement, parts, runs, sources

WORD = 0xFFFFFFFF
#: bytes that one SVG may have
MOST = 15_000
LANES = range(32)


def fences() -> list[tuple[Path, str, list[str]]]:
    """Every drawing that a page asks for: the page, the kind, and the content."""
    found = []
    for path in sorted((DOCUMENTS / "spec").rglob("*.md")):
        for fence in re.finditer(r"^```\{drawing\} (.*)\n((?:.*\n)*?)```$", path.read_text("utf-8"), re.M):
            found.append((path, fence[1], fence[2].splitlines()))
    return found


@cache
def drawn() -> list[tuple[str, str, str]]:
    """Every SVG on the pages: the page, the kind, and the text."""
    return [(path.stem, kind, panel.svg) for path, kind, lines in fences() for panel in drawing.drawn(kind, lines)]


def applied(text: str, values: dict[str, int]) -> int:
    """The result of an instruction, made of its operands' bits as the drawing has them."""
    operands, results, function = bits.ports(text, parsed([]))
    ((_, own),) = sources(function, operands, results).items()
    word = 0
    for run in runs(own):
        for k in range(run.length):
            bit = run.first
            value = values[bit.name] >> bit.place + k * run.step & 1 if isinstance(bit, Bit) else bit
            word |= value << run.low + k
    return word


# Facts against oracles ------------------------------------------------------------------------------------------------


def test_fields_are_where_shifts_put_them() -> None:
    source = random.Random("fields")
    for _ in range(12):
        a, b = source.getrandbits(32), source.getrandbits(32)
        start, length = source.randrange(40), source.randrange(40)
        field = (a >> start) & (1 << length) - 1
        assert applied(f"bfe.u32 d, a, {start}, {length};", {"a": a}) == field
        signed = int(np.uint32(a).view(np.int32)) >> start
        taken = min(length, 32)
        sign = taken and signed >> taken - 1 & 1
        extended = ((signed & (1 << taken) - 1) - (sign << taken)) & WORD
        assert applied(f"bfe.s32 d, a, {start}, {length};", {"a": a}) == extended
        mask = ((1 << length) - 1 << start) & WORD
        inserted = (b & ~mask) | (a << start & mask)
        assert applied(f"bfi.b32 f, a, b, {start}, {length};", {"a": a, "b": b}) == inserted


def test_funnel_shifts_are_those_of_numpy() -> None:
    source = random.Random("funnels")
    for _ in range(6):
        a, b, c = source.getrandbits(32), source.getrandbits(32), source.randrange(64)
        both = np.uint64(b << 32 | a)
        for mode, distance in (("wrap", c % 32), ("clamp", min(c, 32))):
            left = int(both << np.uint64(distance)) >> 32 if distance < 32 else a
            assert applied(f"shf.l.{mode}.b32 d, a, b, {c};", {"a": a, "b": b}) == left
            assert (
                applied(f"shf.r.{mode}.b32 d, a, b, {c};", {"a": a, "b": b}) == int(both >> np.uint64(distance)) & WORD
            )


def test_permuted_bytes_are_those_of_numpy() -> None:
    source = random.Random("bytes")
    for selector in (0x0123, 0x7C40, source.getrandbits(16), source.getrandbits(16)):
        a, b = source.getrandbits(32), source.getrandbits(32)
        eight = np.array([a, b], "<u4").view(np.uint8)
        picked = [eight[selector >> 4 * i & 7] for i in range(4)]
        signs = [np.uint8(0xFF if byte >> 7 else 0) if selector >> 4 * i & 8 else byte for i, byte in enumerate(picked)]
        expected = int(np.array(signs, np.uint8).view("<u4")[0])
        assert applied(f"prmt.b32 d, a, b, {selector:#x};", {"a": a, "b": b}) == expected
    eight = np.arange(8)
    assert applied("prmt.b32.f4e d, a, b, 3;", {"a": 0x03020100, "b": 0x07060504}) == int.from_bytes(
        bytes(eight[3:7].tolist()), "little"
    )


def test_runs_are_as_long_as_they_can_be() -> None:
    a = [Bit("a", k) for k in range(4)]
    assert runs([*a, Bit("a", 3), Bit("a", 3), 0, 0, 1]) == [
        BitRun(0, 4, a[0], 1),
        BitRun(4, 2, a[3], 0),
        BitRun(6, 2, 0, 0),
        BitRun(8, 1, 1, 0),
    ]
    assert runs(a[::-1]) == [BitRun(0, 4, a[3], -1)]
    assert runs([Bit("a", 0), Bit("b", 1)]) == [BitRun(0, 1, Bit("a", 0), 0), BitRun(1, 1, Bit("b", 1), 0)]


@pytest.mark.parametrize("text", ["add.u32 d, a, b;", "not.b32 d, a;", "and.b32 d, a, b;", "popc.b32 d, a;"])
def test_what_copies_no_bits_is_not_drawn_so(text: str) -> None:
    with pytest.raises(RowError, match=r"cannot be drawn: bit \d+ of d is no copy"):
        drawing.drawn("bits", ["bfe.u32 d, a, 1, 2;", text])


def test_a_rare_exception_is_found() -> None:
    """A function that copies but for one row in sixteen: the probes do not see it, the random rows do."""
    with pytest.raises(ValueError, match="no copy"):
        sources(lambda v: {"d": v["a"] ^ (v["a"] & 0xF == 0b1101)}, {"a": 32}, {"d": 32})


def test_truth_tables() -> None:
    for table in (0x96, 0xE8, 0xCA, 0x01, 0xFE):
        names, result, found = truth.table(f"lop3.b32 d, a, b, c, {table:#x};")
        assert (names, result, found) == (["a", "b", "c"], "d", [table >> i & 1 for i in range(8)])
    assert truth.table("and.b32 d, a, b;")[2] == [0, 0, 0, 1]
    assert truth.table("xor.b32 d, a, b;")[2] == [0, 1, 1, 0]
    with pytest.raises(ValueError, match="no function of single bits"):
        truth.table("add.u32 d, a, b;")
    with pytest.raises(ValueError, match="reads 4 registers"):
        truth.table("add.u32 d, a, b; add.u32 d, d, c; add.u32 d, d, e;")


def test_carries_are_those_of_long_numbers() -> None:
    source = random.Random("carries")
    text = ["add.cc.u32 z0, x0, y0;", "addc.cc.u32 z1, x1, y1;", "addc.u32 z2, x2, y2;"]
    for _ in range(5):
        x, y = ([source.choice([source.getrandbits(32), WORD, 0]) for _ in range(3)] for _ in "xy")
        given = [f"{n}{k} = {v:#x}" for n, own in (("x", x), ("y", y)) for k, v in enumerate(own)]
        links = chains.chain(parsed([*text, *given]))
        long = [sum(v << 32 * k for k, v in enumerate(own)) for own in (x, y)]
        total = sum(long)
        assert [link.writes[0][1] for link in links] == [total >> 32 * k & WORD for k in range(3)]
        carries = [sum(v % (1 << 32 * k) for v in long) >> 32 * k for k in (1, 2)]
        assert [link.carry_in for link in links] == [None, *map(bool, carries)]
        assert [link.carry_out for link in links] == [*map(bool, carries), None]


def shuffled(mode: str, number: int, width: int) -> tuple[list[int], list[int]]:
    """A shuffle as CUDA's programming guide tells it, of segments of `width` lanes: (source, whether it is in the segment)."""
    found = []
    for lane in LANES:
        own = lane % width
        other = {"up": own - number, "down": own + number, "bfly": own ^ number, "idx": number % width}[mode]
        inside = 0 <= other < width
        found.append((lane - own + other if inside else lane, int(inside)))
    return [f[0] for f in found], [f[1] for f in found]


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize(("mode", "number"), [("up", 3), ("down", 2), ("bfly", 5), ("idx", 6)])
def test_shuffles_move_as_in_cuda(mode: str, number: int, width: int) -> None:
    c = (32 - width) << 8 | (0 if mode == "up" else 31)
    found = warps.moves(f"shfl.sync.{mode}.b32 d|p, a, {number}, {c:#x}, 0xffffffff;")
    assert (found.source, found.within) == shuffled(mode, number, width)


def test_votes_are_counted_by_python() -> None:
    holds, members = 0x81C3A5F0, 0x0000FFFF
    lines = ["vote.sync.ballot.b32 d, p, 0x0000ffff;", "vote.sync.any.pred q, p, 0xf;", f"p = {holds:#x}"]
    ballot, any_of = drawing.drawn("votes", lines)
    inside = [lane for lane in LANES if holds & members >> lane << lane & 1 << lane]
    assert f"d is {holds & members:#010x} in each" in described(ballot.svg)
    assert f"p is true in {warps.named_lanes(inside)}" in described(ballot.svg)
    assert "q is true in no lane" in described(any_of.svg)


def test_matches_are_found_by_python() -> None:
    values, members = [3, 1, 4, 1, 5, 9, 2, 3], range(8)
    (panel,) = drawing.drawn("votes", ["match.any.sync.b32 d, a, 0xff;", "a = 3 1 4 1 5 9 2 3"])
    for value in values:
        alike = [lane for lane in members if values[lane] == value]
        mask = sum(1 << lane for lane in alike)
        assert f"a is {value} in {warps.named_lanes(alike)}" in described(panel.svg)
        assert f"d is {mask:#010x} in {warps.named_lanes(alike)}" in described(panel.svg)
    for lines, complaint in [
        (["match.any.sync.b32 d, a, 0xffffffff;", "a = 1 2"], "more than 8 lanes"),
        (["match.any.sync.b32 d, a, 0xff;", "a = 1 20"], "no digits"),
    ]:
        with pytest.raises(RowError, match=complaint):
            drawing.drawn("votes", lines)


def test_loads_take_the_bytes_that_numpy_takes() -> None:
    eight = np.frombuffer(bytes(range(0x80, 0x88)), np.uint8)
    for text, type in (
        ("ld.global.v4.u8 {a, b, c, d}, [m];", "u1"),
        ("ld.global.v2.s16 {a, b}, [m];", "<i2"),
        ("ld.global.v2.u32 {a, b}, [m];", "<u4"),
    ):
        found = memory.loaded(text, 8)
        for expected, own in zip(eight.view(type), found.values(), strict=False):
            word = 0
            for run in own:
                for k in range(run.length):
                    bit = run.first
                    place = bit.place + k * run.step if isinstance(bit, Bit) else 0
                    value = int(eight[place // 8]) >> place % 8 & 1 if isinstance(bit, Bit) else bit
                    word |= value << run.low + k
            assert word == int(expected) & WORD


def test_elements_are_those_of_numpy() -> None:
    """NumPy's halves depend on their own place alone, and so does the drawing."""
    halves = [RegisterElement(name, low, low + 15) for name in "ab" for low in (0, 16)]

    def numpy_sum(values: dict[str, int]) -> dict[str, int]:
        a, b = (np.array([values[n]], "<u4").view(np.float16) for n in "ab")
        with np.errstate(all="ignore"):
            return {"d": int((a + b).view("<u4")[0])}

    text = "add.f16x2 d, a, b;"
    operands, _, function = bits.ports(text, parsed([]))
    made = [RegisterElement("d", 0, 15), RegisterElement("d", 16, 31)]
    assert parts(function, operands, halves, made) == parts(numpy_sum, operands, halves, made)
    with pytest.raises(ValueError, match="depend on no operand"):
        parts(lambda values: {"d": 7}, operands, halves, made)


DIRECTIONS: dict[str, Callable[[Fraction], int]] = {
    "rn": round,
    "rz": math.trunc,
    "rm": math.floor,
    "rp": math.ceil,
}


@pytest.mark.parametrize("first", [1.0, -1.001953125])
@pytest.mark.parametrize("mode", DIRECTIONS)
def test_numbers_are_rounded_as_fractions_are(mode: str, first: float) -> None:
    unit = Fraction(1, 1024)  # from 1 to 2 the distance of two numbers of half precision
    wanted = parsed([f"a = {first} {first + 0.001953125} 0.000244140625"])
    for step in number_lines.steps(f"cvt.{mode}.f16.f32 d, a;", wanted):
        assert step.result == DIRECTIONS[mode](step.number / unit) * unit
        assert int(step.pattern, 16) == int(np.float16(float(step.result)).view(np.uint16))
    for step in number_lines.steps(f"cvt.{mode}i.s32.f32 d, a;", parsed(["a = -2.5 2.5 0.25"])):
        assert step.result == DIRECTIONS[mode](step.number)


def test_numbers_that_a_type_does_not_have_are_refused() -> None:
    for values, complaint in [
        ("0 1 0.1", r"\.f32 has no number"),
        ("0 1", "first last step"),
        ("0 100 1", "makes 101 numbers"),
        ("0 1 0", "makes 0 numbers"),
    ]:
        with pytest.raises((ValueError, RowError), match=complaint):
            drawing.drawn("number-line", ["cvt.rn.f16.f32 d, a;", f"a = {values}"])


def test_windows_are_where_cvta_leads() -> None:
    """A kernel converts the addresses of variables in three spaces; each becomes an address in the stretch of that name."""
    module = ptxspec.load(
        ".version 8.0 .target sm_90 .address_size 64 .const .u32 c; .global .u32 g;\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 o, x; .local .u32 l; .shared .u32 s; ld.param.u64 o, [out];\n"
        "mov.u64 x, c; cvta.const.u64 x, x; st.global.u64 [o], x; mov.u64 x, l; cvta.local.u64 x, x; st.global.u64 [o+8], x;\n"
        "mov.u64 x, s; cvta.shared.u64 x, x; st.global.u64 [o+16], x; mov.u64 x, g; cvta.global.u64 x, x; st.global.u64 [o+24], x;\n"
        "ret; }"
    )
    addresses = np.zeros(4, np.uint64)
    module.launch("k", args=[addresses])
    found = windows.stretches(int(addresses[3]) + windows.STEP & -windows.STEP)
    for space, address in zip(("const", "local", "shared", "global"), addresses.tolist(), strict=True):
        assert [s.space for s in found if s.first <= address < s.end] == [space]
    assert found[0].first == 0 and all(a.end == b.first for a, b in pairwise(found))
    assert {s.space for s in found} == {"const", "local", "shared", "param", "global"}


BRANCH = ["mov.u32 a, %laneid;", "setp.lt.u32 p, a, 3;", "@p bra LOW;", "activemask.b32 b;", "bra JOIN;"]
BRANCH += ["LOW: activemask.b32 c;", "JOIN: activemask.b32 d;", "threads = 8"]


def test_lanes_part_and_meet_again() -> None:
    found = courses.lines_of(parsed(BRANCH), 8)
    everyone, low, high = list(range(8)), [0, 1, 2], [3, 4, 5, 6, 7]
    assert [line.threads for line in found] == [everyone, everyone, everyone, high, high, low, everyone]
    masks = [sum(1 << lane for lane in lanes) for lanes in (high, low, everyone)]
    assert [set(found[i].values.values()) for i in (3, 5, 6)] == [{mask} for mask in masks]


def test_warps_wait_for_the_last() -> None:
    loop = ["mov.u32 a, %tid.x;", "shr.u32 b, a, 5;", "mov.u32 c, 0;", "LOOP: add.u32 c, c, 1;", "setp.le.u32 p, c, b;"]
    wanted = parsed([*loop, "@p bra LOOP;", "bar.sync 0;", "add.u32 c, c, 1;"])
    found, first, _ = courses.run(wanted, 96)
    lines = [text for _, text in wanted.lines]
    came = courses.arrivals(found, lines, first, 32, ("bar.",))
    waits = {n: [s for s in own if s.what == "waits"] for n, own in courses.stays(found, 32).items()}
    last = max(arrival.last for own in came.values() for arrival in own)
    # a thread of warp w executes four instructions before its loop, 3 · (w + 1) in it, and the barrier
    assert last + 1 == sum(32 * (4 + 3 * (w + 1) + 1) for w in range(3))
    for number in (0, 1):
        assert [(s.first, s.end) for s in waits[number]] == [(came[number][0].last + 1, last + 1)]


def test_who_arrives_does_not_wait() -> None:
    text = ["mov.u32 a, %tid.x;", "setp.lt.u32 p, a, 32;", "@p bra READ;", "bar.arrive 1, 64;", "bra DONE;"]
    wanted = parsed([*text, "READ: bar.sync 1, 64;", "DONE: mov.u32 b, 1;"])
    found, first, _ = courses.run(wanted, 64)
    told = courses.stays(found, 32)
    came = courses.arrivals(found, [t for _, t in wanted.lines], first, 32, ("bar.",))
    assert [s.what for s in told[1]].count("waits") == 0
    (wait,) = (s for s in told[0] if s.what == "waits")
    assert wait.first == came[0][0].last + 1 and wait.end == came[1][0].last + 1


# Planted mistakes -----------------------------------------------------------------------------------------------------


def forget_all() -> None:
    """Drop what was worked out from definitions, and fragments that were made of them."""
    forget()
    repeated._cached.clear()


@contextmanager
def changed(page: str, function: str, old: str, new: str) -> Iterator[None]:
    """A function of a page with one expression exchanged."""
    module = finder.load(f"ptxspec.spec.{page}")
    live = getattr(module, function)
    live = getattr(live, "function", live)
    text = textwrap.dedent(inspect.getsource(live))
    assert text.count(old) == 1, text
    lines = text.replace(old, new).splitlines()
    while lines[0].startswith("@"):
        del lines[0]
    flags = future.annotations.compiler_flag
    code = compile("\n".join(lines), str(module.__file__), "exec", flags, dont_inherit=True)
    (made,) = (c for c in code.co_consts if isinstance(c, CodeType))
    before = live.__code__
    live.__code__ = made.replace(co_firstlineno=before.co_firstlineno)
    forget_all()
    try:
        yield
    finally:
        live.__code__ = before
        forget_all()


PLANTED = [
    ("bits", ["bfe.s32 d, a, 4, 8;"], ("instructions.integer.bfe", "bfe", "a >> start", "a >> start + 1")),
    ("bits", ["bfi.b32 f, a, b, 8, 12;"], ("instructions.integer.bfi", "bfi", "low_bits(a, length)", "low_bits(a >> 1, length)")),
    ("bits", ["shf.r.clamp.b32 d, a, b, 40;"], ("instructions.logic.shf", "shf", "minimum(c, 32)", "minimum(c, 31)")),
    ("bits", ["prmt.b32 d, a, b, 0x7c40;"], ("instructions.movement.prmt", "chosen", "4 * i + 3", "4 * i + 2")),
    ("truth-table", ["lop3.b32 d, a, b, c, 0xca;"], ("instructions.logic.lop3", "from_table", "i & 4", "i & 1")),
    (
        "carries",
        ["add.cc.u32 d, a, b;", "addc.u32 e, a, b;", "a = 0xffffffff", "b = 1"],
        ("instructions.extended_precision.add_cc", "add_cc", "a, b, 0, True", "a, 0, 0, True"),
    ),
    (
        "moves",
        ["shfl.sync.up.b32 d|p, a, 4, 0, 0xffffffff;"],
        ("instructions.movement.shfl", "shuffled", "warp.lane - number", "warp.lane + number"),
    ),
    (
        "votes",
        ["vote.sync.all.pred q, p, 0xff;", "p = 0x0f"],
        ("instructions.synchronization.vote", "outcome", "holding == everyone if", "holding != everyone if"),
    ),
    ("bytes", ["ld.global.u8 a, [m+1];", "bytes = 4"], ("instructions.movement.ld", "ld", "ss, a, type", "ss, a & -2, type")),
    (
        "number-line",
        ["cvt.rp.f16.f32 d, a;", "a = 1 1.0009765625 0.000244140625"],
        ("arithmetic.rounding", "goes_up", 'rounding == "rz"', 'rounding == "rp"'),
    ),
    (
        "elements",
        ["cvt.rn.f16x2.f32 d, a, b;"],
        ("instructions.half.cvt", "both", "(b, a)", "(a, b)"),
    ),
    (
        "course",
        ["mov.u32 a, %tid.x;", "bar.sync 0;", "mov.u32 b, 1;", "threads = 64"],
        ("instructions.synchronization.bar", "bar_sync", "wait_at_barrier(a, b, aligned=True)", "arrive_at_barrier(a, b, aligned=True)"),
    ),
    ("lanes", BRANCH, ("instructions.synchronization.activemask", "activemask", "collective(0, 1).members", "collective(0, 1).members >> 1")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "lines", "change"), PLANTED, ids=lambda v: v if isinstance(v, str) else "")
def test_a_drawing_follows_its_definition(kind: str, lines: list[str], change: tuple[str, str, str, str]) -> None:
    def shown() -> list[str]:
        return [panel.svg for panel in drawing.drawn(kind, lines)]

    sound = shown()
    with changed(*change):
        other = shown()
    assert other != sound and shown() == sound


def test_windows_follow_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page: Any = finder.load("ptxspec.spec.state_spaces.generic_addressing")
    (sound,) = drawing.drawn("windows", ["address = 0x40"])
    monkeypatch.setattr(page, "WINDOWS", {**page.WINDOWS, "param": 0x1000_0000})
    (other,) = drawing.drawn("windows", ["address = 0x40"])
    assert "0x10000000" in other.svg and "0x10000000" not in sound.svg


# Their texts, and SVG -------------------------------------------------------------------------------------------------


def described(svg: str) -> str:
    return ElementTree.fromstring(svg).findtext("{http://www.w3.org/2000/svg}desc") or ""


def test_every_kind_is_on_a_page() -> None:
    assert {kind for _, kind, _ in fences()} == set(drawing.KINDS)
    assert set(drawing.KINDS) == {kind for kind, *_ in PLANTED} | {"windows"}


def test_every_drawing_is_small_sound_and_described() -> None:
    spaced = "{http://www.w3.org/2000/svg}"
    for page, kind, svg in drawn():
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{spaced}svg" and root.get("role") == "img", page
        title, told = root.find(f"{spaced}title"), root.find(f"{spaced}desc")
        assert (
            title is not None
            and told is not None
            and root.get("aria-labelledby") == f"{title.get('id')} {told.get('id')}"
        )
        assert title.text and len((told.text or "").split()) >= 5, (page, kind)
        assert len(svg.encode()) <= MOST and "\n" not in svg, (page, kind, len(svg))
        _, _, width, height = map(float, (root.get("viewBox") or "").split())
        assert width <= 350 and height <= 400, (page, kind)
        assert "nan" not in svg and "inf" not in svg
    ids = [re.findall(r' id="([^"]*)"', svg) for _, _, svg in drawn()]
    for page in {page for page, _, _ in drawn()}:
        own = [i for (p, _, _), names in zip(drawn(), ids, strict=True) if p == page for i in names]
        assert len(own) == len(set(own)), page


def test_a_drawing_without_words_is_refused() -> None:
    for title, told in (("", "something"), ("something", " ")):
        with pytest.raises(ValueError, match="a title and a description"):
            Canvas().svg(title, told)


def test_labels_do_not_overlap() -> None:
    canvas = Canvas()
    before = canvas.y
    canvas.labels([TextLabel(20, "31…24"), TextLabel(24, "31"), TextLabel(120, "7…0")])
    texts = [e for e in canvas.root if e.tag == "text"]
    assert canvas.y > before + 14 and len({e.get("y") for e in texts}) == 2


@pytest.mark.parametrize(
    ("kind", "lines", "line", "complaint"),
    [
        ("bits", ["bfe.u32 d, a, 1, 2;", "", "bfx.u32 d, a;"], 2, "bfx"),
        ("bits", ["bfe.u32 d, a, b, c;", "b = 1", "b = 2"], 2, "given twice"),
        ("bits", ["bfe.u32 d, a, b, c;", "b = one"], 1, "'one' is no number"),
        ("moves", ["shfl.sync.up.b32 d, a, 1, 0, -1;"], 0, "of the form `d"),
        ("bits", ["ld.global.u32 d, [a];"], 0, "cannot be drawn"),
    ],
)
def test_a_wrong_line_is_named(kind: str, lines: list[str], line: int, complaint: str) -> None:
    with pytest.raises(RowError, match=re.escape(complaint)) as error:
        drawing.drawn(kind, lines)
    assert error.value.line == line


@pytest.mark.parametrize(
    ("kind", "lines", "complaint"),
    [
        ("bit", ["bfe.u32 d, a, 1, 2;"], "no drawing is of the kind 'bit'; there are bits, bytes"),
        ("bits", ["b = 3"], "nothing says what is drawn"),
        ("course", ["threads = 64"], "nothing says what is drawn"),
        ("course", ["bar.sync 0;"], "needs a line `threads = …`"),
        ("windows", [], "needs a line `address = …`"),
    ],
)
def test_what_asks_for_nothing_is_refused(kind: str, lines: list[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        drawing.drawn(kind, lines)


#: a page with sections of its own: those that are computed would lead to pages that the site lacks
PAGE = (
    "# bfe\n\nA page.\n\n```{{drawing}} bits\nbfe.s32 d, a, s, 8;\n{more}\n\ns = 4\n```\n"
    "\n## Freedoms\n\nElsewhere.\n\n## Identities\n\nElsewhere.\n"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A site of one page with a drawing, at an address that is a page of the specification."""
    page = tmp_path / "spec/instructions/integer/bfe.md"
    page.parent.mkdir(parents=True)
    (tmp_path / "spec/ambiguities.md").write_text("# Register\n\nEntries.\n")
    front = "# Front\n\nA site.\n\n```{pages} spec\n```\n\n```{pages} spec/instructions/integer\n```\n"
    (tmp_path / "index.md").write_text(front)
    return tmp_path


@pytest.mark.slow
def test_a_page_has_its_drawing(tree: Path) -> None:
    page = tree / "spec/instructions/integer/bfe.md"
    page.write_text(PAGE.format(more="bfe.u32 d, a, s, 8;"))
    assert build(tree) == ""
    text = (tree / "build/site/spec/instructions/integer/bfe.html").read_text("utf-8")
    found = re.findall(
        r"<figure>(<svg.*?</svg>)<figcaption><code>(.*?)</code> <small>Here s = 4.</small></figcaption>", text
    )
    assert [code for _, code in found] == ["bfe.s32 d, a, s, 8;", "bfe.u32 d, a, s, 8;"]
    assert described(found[0][0]) == (
        "Bits 0 to 7 of d are bits 4 to 11 of a; bits 8 to 31 of d are copies of bit 11 of a. Here s = 4."
    )


@pytest.mark.slow
def test_a_wrong_line_is_reported_where_it_stands(tree: Path) -> None:
    page = tree / "spec/instructions/integer/bfe.md"
    page.write_text(PAGE.format(more="popc.b32 d, a;"))
    line = page.read_text().splitlines().index("popc.b32 d, a;") + 1
    assert f"bfe.md:{line}: WARNING: {{drawing}}: popc.b32 d, a; cannot be drawn: bit 5 of d is no copy" in build(tree)


def test_a_drawing_depends_on_the_pages_of_its_instructions() -> None:
    def names(lines: list[str]) -> set[str]:
        return {path.relative_to(DOCUMENTS / "spec").as_posix() for path in drawing.pages_of(lines)}

    shown = names(["LOOP: @!p cvt.rn.f16.f32 d, a;", "a = 1 2 1"])
    assert {"instructions/movement/cvt.md", "arithmetic/rounding.md", "machine/barriers.md"} <= shown
    assert "instructions/integer/bfe.md" not in shown
    assert "instructions/extended-precision/add.cc.md" in names(["add.cc.u32 d, a, b;"])
