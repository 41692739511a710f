"""Floating-point instructions on constants, in loops and outside, under the exact engine and under the native one: what LLVM computes
at compile time is what the instructions compute.

A case is a kernel of GROUPS times MEMBERS programs. A program gives some registers values, special ones that often cancel each other: as
constants, from memory, or both. Then it executes a few instructions, once or in a loop with the others of its group, and stores
a number that all its registers decide.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import numpy as np
from fuzzing import Finding, Unfit

import ptxspec
from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.machine.native import code
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.generate.fuzzing import alphabet, random_instruction

SECONDS, GIBIBYTES = 120, 8
#: programs that share a loop, and groups of them in a kernel
MEMBERS, GROUPS = 8, 8
PROGRAMS = MEMBERS * GROUPS
#: registers of a program, by width; predicates under 1
POOL = {
    16: [f"%h{i}" for i in range(4)], 32: [f"%r{i}" for i in range(4)], 64: [f"%rd{i}" for i in range(3)],
    1: [f"%p{i}" for i in range(2)],
}  # fmt: skip
#: the place of each register in a program's row of bytes
PLACES: dict[str, tuple[int, int]] = {}
for _width, _names in POOL.items():
    for _name in _names:
        PLACES[_name] = (8 * len(PLACES), _width)
ROW = 8 * len(PLACES)
#: threads of a launch: one, some, more than go through a loop side by side
THREADS = (1, 1, 2, 5, 70)
#: what a number is multiplied by before the next register is added to it
FACTOR = 0x9E3779B97F4A7C15
FLOATS = {16: ("f16", "bf16"), 32: ("f32", "f32", "f16x2", "bf16x2"), 64: ("f64",)}
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi")
HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b64 %in, %out, %sum, %w; .reg .b32 %t, %i, %u; .reg .pred %q;
"""


@cache
def _opcodes() -> list[str]:
    """The opcodes that have forms for floating-point numbers."""
    return [opcode for opcode in alphabet.opcodes() if any(_of_floats(opcode, n) for n in range(_count(opcode)))]


def _count(opcode: str) -> int:
    return len(alphabet.forms_of(opcode))


@cache
def _of_floats(opcode: str, number: int) -> bool:
    """Whether a form computes and has a floating-point operand or result."""
    types = [t for t in alphabet.types_of(alphabet.forms_of(opcode)[number]) if isinstance(t, Type)]
    return any((t.element if t.elements > 1 else t).is_float for t in types)


@cache
def _numbers(opcode: str) -> tuple[list[int], list[int]]:
    """The forms of an opcode that programs are made of: those that round in a way that is not the default, and all."""
    every = [n for n in range(_count(opcode)) if _of_floats(opcode, n) and alphabet.kind_at(opcode, n) == "plain"]
    mnemonics = {n: alphabet.forms_of(opcode)[n].mnemonic.split(".") for n in every}
    return [n for n in every if {"rz", "rm", "rp"} & set(mnemonics[n])], every


@cache
def _rounding() -> list[str]:
    """The opcodes with forms that round in another way than the default."""
    return [opcode for opcode in _opcodes() if _numbers(opcode)[0]]


def _instruction(source: random.Random) -> str:
    """An instruction, most often one that rounds in another way than the default."""
    while True:
        rounds = source.random() < 0.7
        opcode = source.choice(_rounding() if rounds else _opcodes())
        directed, every = _numbers(opcode)
        if not every:
            continue
        number = source.choice(directed if rounds else every)
        form = source.choice(alphabet.forms_of(opcode)[number].variants)
        if "policy" not in str(form):
            return random_instruction.instruction(source, form, POOL)


#: the value 1, by width
UNIT = {32: 0x3F800000, 64: 0x3FF0000000000000}
#: where opposites are written: operands by letters, v for a value, n for its opposite, 1 and m for 1 and −1, s for any special value
OPPOSITES = {
    "add": ("vn", "nv", "vs"), "sub": ("vv", "nn", "vs"), "fma": ("v1n", "1vn", "vmv", "nmn", "vss"), "mul": ("vs", "v1"),
    "div": ("vv", "vs", "1v"), "rcp": ("v",), "sqrt": ("v",),
}  # fmt: skip


def _opposites(source: random.Random) -> str:
    """An instruction of the processor's own formats whose operands cancel each other, constants most of them, and whose result
    goes to a register that it does not read."""
    opcode, rounding = source.choice([*OPPOSITES, "add", "sub", "fma"]), source.choice(["rn", "rz", "rm", "rm", "rp"])
    width = source.choice([32, 64])
    type, sign = TYPES[f"f{width}"], 1 << width - 1
    value = source.choice(special(type)) if source.random() < 0.5 else source.getrandbits(width)
    destination, *others = source.sample(POOL[width], 3)
    written = []
    for letter in source.choice(OPPOSITES[opcode]):
        bits = {"v": value, "n": value ^ sign, "1": UNIT[width], "m": UNIT[width] | sign}.get(letter)
        number = source.choice(special(type)) if bits is None else bits
        constant = f"0{'f' if width == 32 else 'd'}{number:0{width // 4}X}"
        written.append(constant if source.random() < 0.9 else others[letter == "n"])
    flushes = ".ftz" if width == 32 and source.random() < 0.3 else ""
    return f"{opcode}.{rounding}{flushes}.f{width} {destination}, {', '.join(written)};"


def _values(source: random.Random, width: int, count: int) -> list[int]:
    """Values for the registers of a width: numbers of one format, many of them the same but for the sign."""
    if width == 1:
        return [source.randrange(2) for _ in range(count)]
    type = TYPES[source.choice(FLOATS[width])]
    element = type.element if type.elements > 1 else type
    sign, first = 1 << element.width - 1, source.choice(special(element))
    found = []
    for _ in range(count):
        parts = [
            source.choice(
                [first, first, first ^ sign, first ^ sign, first ^ 1, source.choice(special(element)), 0, sign]
            )
            if source.random() < 0.85
            else source.getrandbits(element.width)
            for _ in range(type.elements)
        ]
        found.append(sum(part << k * element.width for k, part in enumerate(parts)))
    return found


class Program(NamedTuple):
    """What comes before a loop, what stands in it, and what follows."""

    begins: list[str]
    body: list[str]
    ends: list[str]


def _program(source: random.Random, number: int) -> Program:
    body = [
        _opposites(source) if source.random() < 0.5 else _instruction(source)
        for _ in range(source.choice([1, 1, 2, 3]))
    ]
    used = [name for name in PLACES if any(re.search(rf"{name}\b", line) for line in body)]
    style = source.choice(["constants", "memory", "both", "both"])
    values = {n: v for w, names in POOL.items() for n, v in zip(names, _values(source, w, len(names)), strict=True)}
    begins, ends = [], ["mov.u64 %sum, 0;"]
    for name in used:
        place, width = PLACES[name]
        if style == "constants" or (style == "both" and source.random() < 0.5):
            begins.append(
                f"setp.ne.u32 {name}, {values[name]}, 0;" if width == 1 else f"mov.b{width} {name}, {values[name]:#x};"
            )
        elif width == 1:
            begins.append(f"ld.global.u32 %u, [%in+{number * ROW + place}]; setp.gt.u32 {name}, %u, 0x7fffffff;")
        else:
            begins.append(f"ld.global.b{width} {name}, [%in+{number * ROW + place}];")
        wider = {1: f"selp.u64 %w, 1, 0, {name};", 64: f"mov.b64 %w, {name};"}.get(
            width, f"cvt.u64.u{width} %w, {name};"
        )
        ends.append(f"{wider} mad.lo.u64 %sum, %sum, {FACTOR}, %w;")
    ends.append(f"st.global.u64 [%out+{8 * number}], %sum;")

    def own(lines: list[str]) -> list[str]:
        """With registers that no other member of a group has."""
        return [re.sub(r"(%(?:h|rd?|p)\d)\b", rf"\1x{number % MEMBERS}", line) for line in lines]

    return Program(own(begins), [f"// program {number}", *own(body)], own(ends))


def _group(source: random.Random, number: int) -> list[str]:
    """Programs side by side."""
    members = [_program(source, number * MEMBERS + k) for k in range(MEMBERS)]
    begins, body, ends = (
        [line for m in members for line in m.begins],
        [line for m in members for line in m.body],
        [line for m in members for line in m.ends],
    )
    return [*begins, *_repeated(source, number, body), *ends]


def _repeated(source: random.Random, number: int, body: list[str]) -> list[str]:
    """The instructions in a loop that only computes, in one that also has an effect or a branch, or once."""
    kind = source.choice(["loop", "loop", "effect", "branch", "line"])
    if kind == "line":
        return body
    if kind == "effect":
        body = [*body, f"st.global.u32 [%out+{8 * number * MEMBERS}], %i;"]
    if kind == "branch":
        at = source.randrange(len(body) + 1)
        body = [*body[:at], f"setp.eq.u32 %q, %i, 1; @%q bra M{number};", *body[at:], f"M{number}:"]
    rounds = source.choice([1, 2, 2, 3])
    return [
        "mov.u32 %i, 0;",
        f"L{number}:",
        *body,
        f"add.u32 %i, %i, 1; setp.lt.u32 %q, %i, {rounds}; @%q bra L{number};",
    ]


def make(seed: int) -> list[str]:
    source = random.Random(f"constants {seed}")
    declared = [
        f"    .reg .{'pred' if w == 1 else f'b{w}'} {', '.join(f'{n}x{m}' for n in names for m in range(MEMBERS))};"
        for w, names in POOL.items()
    ]
    begins = [
        "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;",
        f"mad.wide.u32 %in, %t, {ROW * PROGRAMS}, %in; mad.wide.u32 %out, %t, {8 * PROGRAMS}, %out;",
    ]
    lines = [line for number in range(GROUPS) for line in _group(source, number)]
    return [HEAD + "\n".join([*declared, *(f"    {line}" for line in [*begins, *lines, "ret;"])]) + "\n}\n"]


def _inputs(source: random.Random, threads: int) -> np.ndarray:
    """What programs find in memory."""
    found = np.zeros((threads, PROGRAMS, ROW), np.uint8)
    for row in found.reshape(-1, ROW):
        for width, names in POOL.items():
            for name, value in zip(names, _values(source, width, len(names)), strict=True):
                size = 4 if width == 1 else width // 8
                place = PLACES[name][0]
                row[place : place + size] = list((value << 31 if width == 1 else value).to_bytes(size, "little"))
    return found


@contextmanager
def _knobs(source: random.Random) -> Iterator[None]:
    """How much of LLVM's work is done, which no result depends on: mostly all of it. As before afterwards."""
    knobs = {(code, "PATIENCE"): source.choice([0.0] * 4 + [code.PATIENCE])}
    knobs |= {(code, "LARGE"): source.choice([code.LARGE] * 7 + [0])}
    before = {knob: getattr(*knob) for knob in knobs}
    try:
        for knob, value in knobs.items():
            setattr(*knob, value)
        yield
    finally:
        for knob, value in before.items():
            setattr(*knob, value)


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    (text,) = texts
    source = random.Random(f"launch of constants {seed}")
    threads = source.choice(THREADS)
    given = _inputs(source, threads)
    given.flags.writeable = False
    try:
        module = ptxspec.load(text)
    except ptxspec.PtxError as error:
        raise Unfit(str(error)) from None
    found = {}
    with _knobs(source):
        for way in ("exact", "native"):
            out = np.zeros((threads, PROGRAMS), np.uint64)
            module.launch("k", block=threads, args=[given, out], engine=way)
            found[way] = out
    wrong = np.argwhere(found["exact"] != found["native"])
    if len(wrong):
        thread, number = wrong[0]
        program = re.search(rf"// program {number}\n.*?(?=// program|\Z)", text, re.S)
        shown = program[0] if program else ""
        raise Finding(
            "results differ", f"thread {thread} of {threads}, programs {sorted(set(wrong[:, 1].tolist()))}\n{shown}"
        )
    seen = Counter(programs=len(re.findall("// program", text)), loops=len(re.findall(r"^ *L\d+:", text, re.M)))
    for line in text.splitlines():
        opcode, *rest = line.split()[0].split(".") if line.strip() else [""]
        if opcode in _opcodes():
            seen[f"opcode: {opcode}"] += 1
            seen.update(f"rounding: {r}" for r in rest if r in ROUNDINGS)
    return seen
