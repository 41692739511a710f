"""Memory of several devices: multimem operations of every type beside rational arithmetic, what they refuse, races and proofs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec import contracts

pytestmark = pytest.mark.sample(8)

ENGINES = ("exact", "native")
HEAD = ".version 9.1 .target sm_90 .address_size 64\n"
REGISTERS = ".reg .b64 a, c; .reg .b32 t; .reg .pred p; .reg .b16 h<9>; .reg .b32 r<9>; .reg .b64 q<9>; .shared .align 16 .b8 s[64];"
THREADS = 32
#: the bits of a number, those of its fraction, and the least exponent of its last place
FLOATS = {"f16": (16, 10, -24), "bf16": (16, 7, -133), "f32": (32, 23, -149), "f64": (64, 52, -1074)}


def kernel(body: str) -> ptxspec.Module:
    heading = "ld.param.u64 a, [at]; ld.param.u64 c, [to]; mov.u32 t, %tid.x;"
    return ptxspec.load(
        f"{HEAD}.visible .entry k(.param .u64 at, .param .u64 to) {{\n{REGISTERS}\n{heading}\n{body}\nret;\n}}"
    )


def value_of(bits: int, type: str) -> Fraction:
    width, places, least = FLOATS[type]
    exponent, fraction = bits >> places & (1 << width - 1 - places) - 1, bits & (1 << places) - 1
    size = Fraction(fraction + (1 << places if exponent else 0)) * Fraction(2) ** (least + max(exponent, 1) - 1)
    return -size if bits >> width - 1 else size


def rounded(value: Fraction, type: str) -> int:
    """The pattern of the nearest number; the sums below have no zeros, and none overflows."""
    width, places, least = FLOATS[type]
    size, sign = abs(value), (value < 0) << width - 1
    exponent = 1
    while size >= Fraction(2) ** (least + exponent + places):
        exponent += 1
    steps = round(size / Fraction(2) ** (least + exponent - 1))  # to even
    if steps < 1 << places:
        return int(sign | steps)
    return int(sign | (exponent - 1 << places) + steps)


def parts(word: int, type: str) -> tuple[list[int], str]:
    """The elements of a word of a type, and their type."""
    if not type.endswith("x2"):
        return [word], type
    return [word & 0xFFFF, word >> 16], type[:-2]


def joined(elements: list[int]) -> int:
    return sum(bits << 16 * k for k, bits in enumerate(elements))


def integer(op: str, type: str, x: int, y: int) -> int:
    width, signed = int(type[1:]), type[0] == "s"
    if signed:
        x, y = (v - (v >> width - 1 << width) for v in (x, y))
    known: dict[str, Callable[[int, int], int]] = {
        "add": lambda x, y: x + y, "min": min, "max": max,
        "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
    }  # fmt: skip
    return known[op](x, y) & (1 << width) - 1


def combined(op: str, type: str, words: list[int], wide: bool = False) -> int:
    """What is left of all words, combined in order."""
    if type[0] in "usb" and type[1:].isdigit():
        return reduce(lambda x, y: integer(op, type, x, y), words)
    columns = zip(*(parts(word, type)[0] for word in words), strict=True)
    element = parts(0, type)[1]
    if op != "add":
        best = min if op == "min" else max
        return joined([best(c, key=lambda bits: value_of(bits, element)) for c in columns])
    kept = "f32" if wide else element

    def total(column: tuple[int, ...]) -> int:
        values = [value_of(bits, element) for bits in column]
        return rounded(reduce(lambda x, y: value_of(rounded(x + y, kept), kept), values), element)

    return joined([total(column) for column in columns])


def width_of(type: str) -> int:
    return 32 if type.endswith("x2") else FLOATS[type][0] if type in FLOATS else int(type[1:])


def some(type: str, count: int, seed: int) -> list[int]:
    """Words of a type: floating-point ones have numbers that are not small beside one another, and no zeros."""
    rng = np.random.default_rng(seed)
    width = width_of(type)
    if type[0] in "usb" and type[1:].isdigit():
        return [int(v) & (1 << width) - 1 for v in rng.integers(0, 1 << 63, count, dtype=np.uint64) * 3]
    element = parts(0, type)[1]
    _, places, least = FLOATS[element]
    middle = -least - places  # the exponent of numbers near one
    numbers = [
        int(rng.integers(2)) << FLOATS[element][0] - 1
        | int(rng.integers(middle - 2, middle + 3)) << places
        | int(rng.integers(1 << min(places, 62)))
        for _ in range(2 * count)
    ]
    return [joined(numbers[2 * i : 2 * i + 2]) if type.endswith("x2") else numbers[i] for i in range(count)]


SCALARS = ["u32", "u64", "s32", "s64", "b32", "b64", "f16x2", "bf16x2", "f32", "f64"]
HALVES = ["f16", "bf16"]
#: what .ld_reduce has: (operation, accumulation, vector, type)
REDUCED = [
    *(("add", "", "", t) for t in ("u32", "u64", "s32", "f16x2", "bf16x2", "f32", "f64")),
    *((op, "", "", t) for op in ("min", "max") for t in ("u32", "u64", "s32", "s64", "f16x2", "bf16x2")),
    *((op, "", "", t) for op in ("and", "or", "xor") for t in ("b32", "b64")),
    *(("add", "", v, "f32") for v in ("v2", "v4")),
    *((op, "", "v8", t) for op in ("add", "min", "max") for t in HALVES),
    *((op, "", v, t) for op in ("add", "min") for v in ("v2", "v4") for t in ("f16", "f16x2", "bf16", "bf16x2")),
    *(("add", ".acc::f32", "", t) for t in ("f16x2", "bf16x2")),
    *(("add", ".acc::f32", v, t) for v in ("v2", "v4") for t in ("f16", "f16x2", "bf16", "bf16x2")),
    *(("add", ".acc::f32", "v8", t) for t in HALVES),
]


def names(type: str, vec: str) -> tuple[list[str], str]:
    """Registers for a vector, and how they are written."""
    width, count = width_of(type), int(vec[1:] or 1) if vec else 1
    registers = [f"{ {16: 'h', 32: 'r', 64: 'q'}[width] }{i}".replace(" ", "") for i in range(count)]
    return registers, "{" + ", ".join(registers) + "}" if vec else registers[0]


class Copies:
    """Memory of several devices that holds some words of a type, a piece for results, and what the words were."""

    def __init__(self, type: str, count: int, devices: int):
        self.memory, self.type = ptxspec.Memory(), np.dtype(f"u{width_of(type) // 8}")
        size = max(4096, 2 * count * self.type.itemsize)
        self.shared = self.memory.multicast(size, devices=devices, name="x")
        self.results = self.memory.allocate(size)
        self.words = [some(type, count, seed) for seed in range(devices)]
        for copy, words in zip(self.shared.copies, self.words, strict=True):
            self.memory.view(copy, self.type, count)[:] = words

    def run(self, body: str, engine: str) -> None:
        kernel(body).launch("k", block=THREADS, args=[self.shared.address, self.results], engine=engine)

    def held(self, where: Any, count: int) -> list[int]:
        return [int(v) for v in self.memory.view(where, self.type, count)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("op", "acc", "vec", "type"), REDUCED, ids=["".join(row) for row in REDUCED])
def test_what_is_loaded_and_combined(op: str, acc: str, vec: str, type: str, engine: str) -> None:
    registers, written = names(type, vec)
    count, size = THREADS * len(registers), width_of(type) // 8 * len(registers)
    copies = Copies(type, count, 3)
    suffix = f".{vec}" if vec else ""
    how = "relaxed.sys.global." if op in ("min", "and") else "weak." if op == "max" else ""
    stores = "\n".join(
        f"st.global.b{width_of(type)} [c+{i * width_of(type) // 8}], {name};" for i, name in enumerate(registers)
    )
    copies.run(
        f"mad.wide.u32 a, t, {size}, a; mad.wide.u32 c, t, {size}, c;\n"
        f"multimem.ld_reduce.{how}{op}{acc}{suffix}.{type} {written}, [a];\n{stores}",
        engine,
    )
    wanted = [combined(op, type, list(words), bool(acc)) for words in zip(*copies.words, strict=True)]
    assert copies.held(copies.results, count) == wanted


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("devices", [1, 2, 7])
def test_what_is_stored_everywhere(devices: int, engine: str) -> None:
    for type, vec in [*((t, "") for t in SCALARS), ("f16", "v8"), ("bf16", "v2"), ("f32", "v4"), ("f16x2", "v2")]:
        registers, written = names(type, vec)
        width, size = width_of(type), width_of(type) // 8 * len(registers)
        count = THREADS * len(registers)
        copies, suffix = Copies(type, count, devices), f".{vec}" if vec else ""
        given = some(type, count, 99)
        copies.memory.view(copies.results, copies.type, count)[:] = given
        loads = "\n".join(f"ld.global.b{width} {name}, [c+{i * width // 8}];" for i, name in enumerate(registers))
        guard = "setp.lt.u32 p, t, 20; @p"
        copies.run(
            f"mad.wide.u32 a, t, {size}, a; mad.wide.u32 c, t, {size}, c;\n{loads}\n"
            f"{guard} multimem.st.release.gpu.global{suffix}.{type} [a], {written};",
            engine,
        )
        done = 20 * len(registers)
        for copy, words in zip(copies.shared.copies, copies.words, strict=True):
            assert copies.held(copy, count) == given[:done] + words[done:]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("op", "vec", "type"), [(op, vec, type) for op, acc, vec, type in REDUCED if not acc and (type != "f16x2" or op == "add")]
)  # fmt: skip
def test_what_is_reduced_in_place(op: str, vec: str, type: str, engine: str) -> None:
    if op != "add" and not vec and type == "bf16x2":
        with pytest.raises(ptxspec.PtxError):
            kernel(f"multimem.red.{op}.bf16x2 [a], r0;")
        return
    registers, written = names(type, vec)
    width, count = width_of(type), THREADS * len(registers)
    size, suffix = width // 8 * len(registers), f".{vec}" if vec else ""
    copies, given = Copies(type, count, 3), some(type, count, 77)
    copies.memory.view(copies.results, copies.type, count)[:] = given
    loads = "\n".join(f"ld.global.b{width} {name}, [c+{i * width // 8}];" for i, name in enumerate(registers))
    copies.run(
        f"mad.wide.u32 a, t, {size}, a; mad.wide.u32 c, t, {size}, c;\n{loads}\nmultimem.red.{op}{suffix}.{type} [a], {written};",
        engine,
    )
    for copy, words in zip(copies.shared.copies, copies.words, strict=True):
        assert copies.held(copy, count) == [combined(op, type, [x, y]) for x, y in zip(words, given, strict=True)]


@pytest.mark.parametrize("engine", ENGINES)
def test_copies_and_reductions_that_finish_later(engine: str) -> None:
    copies = Copies("u32", 16, 3)
    fill = "setp.lt.u32 p, t, 4; mov.u32 r0, s; mad.lo.u32 r0, t, 4, r0; @p st.shared.u32 [r0], t; fence.proxy.async; bar.sync 0;"
    one = "setp.ne.u32 p, t, 0; @p bra END;"
    end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:"
    bulk = "global.shared::cta.bulk_group"
    copies.run(
        f"{fill} {one} multimem.cp.async.bulk.{bulk} [a], [s], 16; multimem.cp.reduce.async.bulk.{bulk}.add.u32 [a+16], [s], 16; {end}",
        engine,
    )
    for copy, words in zip(copies.shared.copies, copies.words, strict=True):
        added = [(word + i) % 2**32 for i, word in enumerate(words[4:8])]
        assert copies.held(copy, 16) == [0, 1, 2, 3, *added, *words[8:]]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_seed_chooses_the_order_of_a_sum(engine: str) -> None:
    memory = ptxspec.Memory()
    shared, result = memory.multicast(16, devices=3), memory.allocate(16)
    numbers = np.array([2**24, 1, -(2**24)], np.float32)
    for copy, value in zip(shared.copies, numbers, strict=True):
        memory.view(copy, np.float32)[0] = value
    module, seen = kernel("multimem.ld_reduce.add.f32 r0, [a]; st.global.b32 [c], r0;"), set()
    for seed in range(12):
        module.launch("k", args=[shared.address, result], engine=engine, profile="portable", seed=seed)
        seen.add(float(memory.view(result, np.float32)[0]))
    assert seen == {0.0, 1.0}


WRONG = [
    ("ld.global.u32 r0, [a];", "multimem"),
    ("st.global.u32 [a], r0;", "multimem"),
    ("atom.global.add.u32 r0, [a], 1;", "multimem"),
    ("cp.async.bulk.global.shared::cta.bulk_group [a], [s], 16;", "multimem"),
    ("multimem.ld_reduce.add.u32 r0, [c];", "multimem"),
    ("multimem.st.u32 [c], r0;", "multimem"),
    ("multimem.red.add.u32 [c], r0;", "multimem"),
    ("cvta.shared.u64 q0, s; multimem.st.u32 [q0], r0;", "multimem"),
    ("mov.b64 q0, 0x4000000000000000; multimem.st.u32 [q0], r0;", "multimem"),
    ("multimem.cp.async.bulk.global.shared::cta.bulk_group [c], [s], 16;", "multimem"),
    ("multimem.ld_reduce.add.u32 r0, [a+4096];", "out of bounds"),
    ("multimem.st.u32 [a+-4], r0;", "out of bounds"),
    ("multimem.red.add.u64 [a+4092], q0;", "misaligned"),
    ("multimem.ld_reduce.add.v4.f32 {r0, r1, r2, r3}, [a+8];", "misaligned"),
    ("multimem.cp.async.bulk.global.shared::cta.bulk_group [a+8], [s], 16;", "misaligned"),
    ("multimem.cp.async.bulk.global.shared::cta.bulk_group [a], [s], t;", "bulk size"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("body", "rule"), WRONG)
def test_what_is_refused(body: str, rule: str, engine: str) -> None:
    copies = Copies("u32", 4, 2)
    module = kernel(f"add.u32 t, t, 20; {body}")
    with pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", args=[copies.shared.address, copies.results], engine=engine)
    assert caught.value.rule == rule


FIRST = "setp.eq.u32 p, t, 0; @p"
RACING = [
    ("multimem.red.add.u32 [a], t;", 0),
    ("multimem.st.u32 [a], t;", 1),
    ("multimem.st.relaxed.sys.u32 [a], t;", 0),
    (f"{FIRST} multimem.st.u32 [a], t; @!p multimem.ld_reduce.add.u32 r0, [a];", 1),
    (f"{FIRST} multimem.st.u32 [a], t; bar.sync 0; @!p multimem.ld_reduce.add.u32 r0, [a];", 0),
    # a multimem address is a second virtual address of a copy
    (f"{FIRST} st.global.u32 [c], t; bar.sync 0; @!p multimem.ld_reduce.add.u32 r0, [a];", 1),
    (f"{FIRST} st.global.u32 [c], t; fence.proxy.alias; bar.sync 0; fence.proxy.alias; @!p multimem.ld_reduce.add.u32 r0, [a];", 0),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("body", "races"), RACING)
def test_races(body: str, races: int, engine: str) -> None:
    copies = Copies("u32", 4, 2)
    arguments = [copies.shared.address, copies.shared.copies[1]]
    outcome = kernel(body).launch("k", block=64, args=arguments, engine=engine, check="race", findings="collect")
    assert bool(outcome.findings) == bool(races)


@pytest.mark.parametrize("engine", ENGINES)
def test_copies_are_not_initialized_until_they_are_written(engine: str) -> None:
    memory = ptxspec.Memory()
    shared, result = memory.multicast(64, devices=2), memory.allocate(64)
    memory.view(shared.copies[0], np.uint32)[:] = 1
    use = "multimem.ld_reduce.add.u32 r0, [a]; setp.eq.u32 p, r0, 1; @p bra END; mov.u32 t, 1; END:"
    args = [shared.address, result]
    with pytest.raises(ptxspec.LaunchError):
        kernel(use).launch("k", args=args, engine=engine, check="uninitialized")
    kernel("multimem.st.u32 [a], 3;" + use).launch("k", args=args, engine=engine, check="uninitialized")


def test_what_memory_can_have() -> None:
    memory, most = ptxspec.Memory(), contracts.multicast.MOST_DEVICES
    assert len(memory.multicast(4, devices=most).copies) == most
    for devices in (0, most + 1):
        with pytest.raises(ValueError, match=f"memory is one of 1 to {most} devices, not {devices}"):
            memory.multicast(4, devices=devices)
    first, second = memory.multicast(100, devices=2, name="x"), memory.multicast(4, devices=2, align=4096)
    assert int(second.address) % 4096 == 0 and second.address - first.address >= 356
    with pytest.raises(ValueError, match="only multimem operations"):
        memory.read(first.address, 4)
    memory.free(first.copies[0])
    with pytest.raises(ptxspec.LaunchError) as caught:
        kernel("multimem.st.u32 [a], 1;").launch("k", args=[first.address, second.address])
    assert caught.value.rule == "use after end"


OF_TWO: dict[str, Any] = {"a": "64 multimem 2", "p": ("a.0", 0), "q": ("a.1", 0)}
SINGLE = ".version 8.6 .target sm_90\n"
PROOFS = [
    ("multimem.ld_reduce.add.u32 d, [a];", "ld.u32 x, [p]; ld.u32 y, [q]; add.u32 d, y, x;", "proved"),
    ("multimem.ld_reduce.add.u32 d, [a];", "ld.u32 x, [p]; ld.u32 y, [q+4]; add.u32 d, y, x;", "refuted"),
    ("multimem.st.u32 [a+4], x;", "st.u32 [p+4], x; st.u32 [q+4], x;", "proved"),
    ("multimem.st.u32 [a+4], x;", "st.u32 [p+4], x; st.u32 [q+8], x;", "refuted"),
    ("multimem.st.u32 [a+4], x;", "st.u32 [a+4], x;", "refuted"),
]


@pytest.mark.parametrize(("left", "right", "status"), PROOFS)
def test_proofs(left: str, right: str, status: str) -> None:
    compare = ["d"] if "d," in left else None
    verdict = ptxspec.prove(SINGLE + left, SINGLE + right, buffers=OF_TWO, compare=compare)
    assert verdict.status == status


def test_the_order_of_three_numbers_is_open() -> None:
    three = {"a": "16 multimem 3", "p": ("a.0", 0), "q": ("a.1", 0), "r": ("a.2", 0)}
    loads = "ld.u32 x, [p]; ld.u32 y, [q]; ld.u32 z, [r]; min.u32 d, x, y; min.u32 d, d, z;"
    verdict = ptxspec.prove(SINGLE + "multimem.ld_reduce.min.u32 d, [a];", SINGLE + loads, buffers=three, compare=["d"])
    assert verdict.status == "proved"


def test_a_buffer_of_several_devices() -> None:
    for text in ("64 multimem 0", "64 multimem 65", "64 shared multimem 2", "64 multimem 2 private"):
        with pytest.raises(ValueError, match="memory of 1 to 64 devices is global"):
            ptxspec.prove("mov.u32 d, 1;", "mov.u32 d, 1;", buffers={"a": text})
    with pytest.raises(ValueError, match="no buffer with bytes of its own"):
        ptxspec.prove("mov.u32 d, 1;", "mov.u32 d, 1;", buffers={"a": "64 multimem 2", "b": ("a", 0)})
