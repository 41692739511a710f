"""Random programs: `python -m ptxspec.evidence.programs FOLDER [--count 1500] [--seed 0]` on a machine with a GPU.

A program is a kernel for one CTA of 64 threads, made from a seed: instructions over all forms that are functions of their
operands, guards, branches, loops, calls, memory, and exchanges between threads where all of them meet. In the end each thread
stores every register and every byte of memory that it may have changed. Programs are assembled at -O0 and at -O3, and the
answers of both are compared with our machine's under the profile hopper. A program that differs is made as small as possible
and written out.

What is kept is a digest of each program's text and one of its answers: `made` makes the programs again from the forms that were
recorded, and `answers_here` computes the rest.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import gzip
import hashlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence import warps
from ptxspec.evidence.operands import special
from ptxspec.evidence.recorded import FOLDER
from ptxspec.evidence.vectors import comparable
from ptxspec.language.forms import Form, forms, registry
from ptxspec.options import Engine
from ptxspec.parallel import on_all_cores
from ptxspec.terms.kinds import Immediate, VectorOf, cache_policy, operand_type
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in

#: the programs that are kept with the project
KEPT = FOLDER / "programs"
PROFILE = "hopper"
THREADS = 64
#: the registers that instructions work on, by width; predicates under 1
REGISTERS: dict[int, list[str]] = {
    32: [f"%r{i}" for i in range(10)],
    64: [f"%rd{i}" for i in range(6)],
    16: [f"%h{i}" for i in range(4)],
    1: [f"%p{i}" for i in range(4)],
}
#: what a thread's row of 8-byte cells holds: the registers, then a cell in global and one in shared memory, then local memory
_NAMED = [(name, width) for width, names in REGISTERS.items() for name in names]
_GLOBAL = len(_NAMED)
_SHARED, _LOCAL, _LOCAL_CELLS = _GLOBAL + 1, _GLOBAL + 2, 4
CELLS = 32
CELL_NAMES = [
    *[name for name, _ in _NAMED],
    "global",
    "shared",
    *[f"local+{8 * i}" for i in range(_LOCAL_CELLS)],
    "",
    "",
]
#: what memory is filled with before a launch: answers keep it in the bytes that nothing is written to
FILLER = 0xA5A5A5A5A5A5A5A5

# Forms -----------------------------------------------------------------------------------------------------------------

_SCALAR_VIDEO = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
_COMPUTING = ("abs", "neg", "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt")
_ROUNDINGS = {"rn", "rz", "rm", "rp"}


def types_of(form: Form) -> Iterator[Any]:
    """The type of each operand as written; of `p|q` both; a constant's or an address's as it is annotated."""
    results = list(form.definition.results)
    for operand in form.syntax.operands:
        parameter = form.definition.sources.get(operand.name)
        if parameter is None:
            for _ in range(2 if operand.second else 1):
                yield operand_type(results.pop(0), form.modifiers)
        elif isinstance(parameter.annotation, Immediate):
            yield parameter.annotation
        else:
            yield operand_type(parameter.annotation, form.modifiers)


def left_out(form: Form) -> bool:
    """Whether programs do without a form, though it is a function of its operands."""
    opcode, modifiers = form.syntax.opcode, {**form.modifiers, **form.marks}
    meaning = form.meaning(form.absences[-1])
    open_results = freedoms_in(*[v for r in meaning.results for v in r.values])
    if any(not _choices().chooses(f) for f in open_results) or form.removal is not None:
        return True
    if any(f.attrs[0] == "copied-nan" for f in open_results):  # the levels of the assembler differ: AMB-011
        return True
    types = list(types_of(form))
    if any(isinstance(t, VectorOf) or t is cache_policy or (isinstance(t, Type) and t.width == 128) for t in types):
        return True
    if any(o.group and t.width == 8 for o, t in zip(form.syntax.operands, types, strict=False)):  # no such registers
        return True
    type = modifiers.get("type")
    if opcode in ("add", "sub", "mul") and isinstance(type, Type) and type.is_float:  # may be fused: AMB-014
        return not _ROUNDINGS & set(form.mnemonic.split("."))
    if opcode in ("atom", "red") and type == TYPES["f64"]:  # which NaN stays in memory is not settled: AMB-088
        return "add" in form.mnemonic.split(".")
    if opcode in _SCALAR_VIDEO:  # machine code that does something else: AMB-045
        return bool(modifiers.get("sat") or modifiers.get("dsel") or modifiers.get("op2") in ("min", "max"))
    return False


@cache
def _choices() -> Profile:
    return Profile(PROFILE)


def _meets(form: Form) -> bool:
    """Whether the form is one for a whole warp or CTA whose threads are all there."""
    return warps.meets(form) and form.removal is None and form.syntax.opcode not in ("activemask", "elect")


def names() -> list[str]:
    """The forms of today that programs are made of, spelled with the selectors and signs of their operands."""
    found = [f for f in forms() if comparable(f) or _meets(f)]
    return [str(v) for f in found for v in f.variants if not left_out(v)]


class Alphabet:
    """The forms that programs are made of, by what they do: each a list of opcodes, these of forms, these of variants."""

    def __init__(self, spelled: Sequence[str]):
        known = {str(v): v for f in forms() if comparable(f) or _meets(f) for v in f.variants}
        by_kind: dict[str, dict[str, dict[str, list[Form]]]] = {}
        for name in spelled:
            form = known[name]
            if not name.startswith(f"{form.mnemonic} "):
                raise ValueError(f"the form {name!r} begins with no mnemonic")
            of_opcode = by_kind.setdefault(_kind(form), {}).setdefault(form.syntax.opcode, {})
            of_opcode.setdefault(str(form._replace(marks=form.syntax.signs)), []).append(form)
        self.kinds = {
            kind: [list(of_opcode.values()) for of_opcode in opcodes.values()] for kind, opcodes in by_kind.items()
        }

    def choose(self, source: random.Random, kind: str) -> Form:
        return source.choice(source.choice(source.choice(self.kinds[kind])))


def _kind(form: Form) -> str:
    """plain, memory, meeting; or the part of a chain of carries or of borrows: start, middle, end."""
    if _meets(form):
        return "meeting"
    meaning = form.meaning(form.absences[-1])
    if meaning.effect is not None:
        return "memory"
    if meaning.carry is None and not meaning.carry_read:
        return "plain"
    part = "end" if meaning.carry is None else "middle" if meaning.carry_read else "start"
    return f"{part} of {'borrows' if meaning.borrows else 'carries'}"


@cache
def alphabet(folder: Path | None = None) -> Alphabet:
    """The forms that a folder's programs were made of; without one, those of today."""
    if folder is None:
        return Alphabet(names())
    return Alphabet(gzip.decompress((folder / "forms.txt.gz").read_bytes()).decode().splitlines())


# Operands --------------------------------------------------------------------------------------------------------------

Pool = dict[int, list[str]]


def _register(source: random.Random, pool: Pool, type: Type, wider: bool = False) -> str:
    """A register for a value of a type; where wider ones are allowed, now and then one of these."""
    if type.kind == "pred":
        return source.choice(pool[1])
    if type.width == 8 or (wider and not type.is_float and source.random() < 0.3):
        return source.choice(pool[source.choice([w for w in (16, 32, 64) if w >= type.width])])
    return source.choice(pool[type.width])


def _constant(source: random.Random, type: Type, limits: Sequence[int] | None) -> str:
    if type.kind == "pred":
        return source.choice(["0", "1"])
    if limits is not None:
        return str(source.choice([source.choice(limits[:64]), source.choice(limits[:1024])]))
    if type.is_float:
        bits = source.choice(special(type)) if source.random() < 0.5 else source.getrandbits(type.width)
        return f"0f{bits:08X}" if type.width == 32 else f"0d{bits:016X}"
    edge = 1 << (type.width - 1)
    value = source.choice(
        [0, 1, 2, 3, 5, 31, 32, 63, 64, 255, edge - 1, edge, 2 * edge - 1, source.randrange(2 * edge)]
    )
    value &= 2 * edge - 1
    if source.random() < 0.8:
        return source.choice([str(value), hex(value), f"{value}U"])
    return str(value - 2 * edge if value else -1)


def _destinations(source: random.Random, pool: Pool, operand: Any, type: Type, second: Type, meets: bool) -> str:
    """The text of a destination, or of two with a bar between, of which the second may be a sink. The first may be one too,
    but ptxas 13.0 crashes at `@p setp.ne.u16 _|q, a, b`."""
    first = _register(source, pool, type)
    other = _register(source, pool, second)
    while other == first and operand.paired:
        other = _register(source, pool, second)
    if operand.paired or meets:  # of a shuffle it can read no sink where some other instruction becomes a call
        return first if other == first else f"{first}|{other}"
    return source.choice([f"{first}|{other}", f"{first}|_", first]) if other != first else first


def instruction(source: random.Random, form: Form, pool: Pool, cell: str = "", count: str = str(THREADS)) -> str:
    """An instruction of a form, with registers and constants for its operands. `cell` is the register with the address of
    the memory that it updates; where threads meet, all of them do."""
    types = types_of(form)
    definition = form.definition
    absent = source.choice(form.absences)
    operands: dict[str, str] = {}
    meets = _meets(form)
    for operand in form.syntax.operands:
        type = next(types)
        if operand.name in absent:
            continue
        if operand.memory:
            text = f"[{cell}]"
        elif isinstance(type, Immediate):
            allowed = definition.constant_ranges.get(operand.name, range(type.type.max + 1))
            text = str(allowed[source.randrange(len(allowed))])
        elif operand.name not in definition.sources:
            if operand.second:
                text = _destinations(source, pool, operand, type, next(types), meets)
            else:
                text = _register(source, pool, type, definition.wider)
            braces = [o.name for o in form.syntax.operands if o.group and o.group == operand.group]
            while text in [operands[name] for name in braces if name in operands]:
                text = _register(source, pool, type)
        elif meets and operand.name == "membermask":
            text = source.choice(["0xffffffff", "-1"])
        elif meets and form.syntax.opcode in ("bar", "barrier") and operand.name in "ab":
            text = source.choice(["0", "1", "7"]) if operand.name == "a" else count
        elif _takes_constant(form, operand, type) and source.random() < 0.2:
            limits = definition.constant_ranges.get(operand.name)
            if form.syntax.opcode in ("shl", "shr") and operand.name == "b" and form.modifiers["type"].width == 16:
                limits = range(1 << 16)  # of a greater one the assembler loses a part: AMB-103
            text = _constant(source, type, limits)
        else:
            negated = "!" if operand.negatable and source.random() < 0.5 else ""
            text = negated + _register(source, pool, type, definition.wider)
        operands[operand.name] = form.marked(operand, text)
    return form.written(operands)


def _takes_constant(form: Form, operand: Any, type: Any) -> bool:
    if form.marks or form.definition.registers or operand.group or not isinstance(type, Type) or _is_folded(form):
        return False
    return type.lanes == 1 and not (type.is_float and type.width == 16)


@cache
def _freedoms(mnemonic: str, opcode: str) -> list[Any]:
    meaning = registry().opcodes[opcode].find(mnemonic)[0].meaning()
    return freedoms_in(*[v for r in meaning.results for v in r.values])


def _is_folded(form: Form) -> bool:
    """Whether the assembler computes an approximate result itself where an operand is a constant, at -O3: AMB-100."""
    return any(isinstance(f.attrs[4], Approximation) for f in _freedoms(form.mnemonic, form.syntax.opcode))


def _loses_guard(form: Form) -> bool:
    """Whether the assembler executes a part of a guarded instruction of the form in all threads: AMB-104."""
    types = [form.modifiers.get("dtype"), form.modifiers.get("stype")]
    return form.syntax.opcode == "testp" or (
        form.syntax.opcode == "set" and any(t is not None and (t.is_float or t.width == 16) for t in types)
    )


def _settled(form: Form, text: str) -> str:
    """The instruction, and behind it one NaN in the place of all: which one it gives, the assembler decides when it turns
    operands round, leaves an instruction out, or computes constants (AMB-101)."""
    parts = form.mnemonic.split(".")
    result = next(types_of(form))
    computes = parts[0] in _COMPUTING or (parts[0] in ("min", "max") and "xorsign" in parts)
    converts = parts[0] == "cvt" and parts[-1] == parts[-2]
    if (
        result not in (TYPES["f32"], TYPES["f64"])
        or not (computes or converts)
        or {"sat", "approx", "full"} & set(parts)
    ):
        return text
    register = text.split(",")[0].split()[-1]
    nan = {32: "0x7fffffff", 64: "0x7ff8000000000000"}[result.width]
    return "\n".join(
        [
            text,
            f"setp.nan.{result.name} %nan, {register}, {register};",
            f"selp.b{result.width} {register}, {nan}, {register}, %nan;",
        ]
    )


# Programs --------------------------------------------------------------------------------------------------------------

#: a statement is lines of text with blocks of statements between; it can be taken away as a whole
Statement = list[Any]
Block = list[Statement]


class Function(NamedTuple):
    """A function: its widths, the text before its body, the body, and the text after. `style` is reg or param."""

    name: str
    takes: list[int]
    gives: int
    style: str
    head: str
    body: Block
    end: str


class Program:
    """A kernel `name`, with the functions it calls, as a tree of statements."""

    def __init__(self, seed: int, letters: Alphabet):
        self.seed, self.name = seed, f"p{seed}"
        source = random.Random(f"program {seed}")
        self.functions: list[Function] = []
        for _ in range(source.choice((0, 0, 1, 2))):
            self.functions.append(_function(source, letters, f"{self.name}f{len(self.functions)}", self.functions))
        self.body = _Writer(source, letters, REGISTERS, self.functions, True).program()

    def text(self) -> str:
        """The functions and the entry, without a module's head."""
        body = _flat(self.body)
        used = [
            f
            for f in self.functions
            if f"{f.name}," in body or any(f"{f.name}," in _flat(g.body) for g in self.functions)
        ]
        return "\n".join([*map(_function_text, used), _entry(self.name, body), ""])

    @property
    def size(self) -> int:
        """The number of statements."""
        return sum(map(_count, [self.body, *[f.body for f in self.functions]]))

    def without(self, removed: range) -> Program:
        """The program less the statements of these numbers, counted through the tree."""
        return self._changed(lambda i, statement: [] if i in removed else [statement])

    def opened(self, number: int) -> Program:
        """The program with the blocks of a statement in its place."""

        def change(i: int, statement: Statement) -> Block:
            return (
                [inner for part in statement if isinstance(part, list) for inner in part]
                if i == number
                else [statement]
            )

        return self._changed(change)

    def _changed(self, change: Callable[[int, Statement], Block]) -> Program:
        counter = iter(range(1 << 30))

        def walk(block: Block) -> Block:
            found = []
            for statement in block:
                number = next(counter)
                inner = [walk(part) if isinstance(part, list) else part for part in statement]
                found += change(number, inner)
            return found

        other = copy.copy(self)
        other.body = walk(self.body)
        other.functions = [f._replace(body=walk(f.body)) for f in self.functions]
        return other


def _count(block: Block) -> int:
    return sum(1 + sum(_count(part) for part in statement if isinstance(part, list)) for statement in block)


def _flat(block: Block) -> str:
    return "\n".join(_flat(part) if isinstance(part, list) else part for statement in block for part in statement)


class _Writer:
    """Writes statements over a pool of registers. `has_memory` says whether the entry's cells are at hand."""

    def __init__(
        self, source: random.Random, letters: Alphabet, pool: Pool, functions: list[Function], has_memory: bool
    ):
        self.source, self.letters, self.pool = source, letters, pool
        self.functions, self.has_memory = list(functions), has_memory
        self.labels = 0

    def number(self) -> int:
        self.labels += 1
        return self.labels

    def program(self) -> Block:
        """The body of an entry: threads meet at its outermost level only, and go to its end only when they meet no more."""
        target = self.source.randint(10, 60)
        is_straight = self.source.random() < 0.3
        body: Block = []
        while sum(_flat([s]).count(";") for s in body) < target:
            chance = self.source.random()
            if chance < 0.06:
                body.append(self.exchange())
            elif chance < 0.14:
                body.append([instruction(self.source, self.letters.choose(self.source, "meeting"), self.pool)])
            else:
                body.append(self.operation() if is_straight else self.statement(0, None))
        if not is_straight and self.source.random() < 0.4:
            body.append(self.leave("FINISH"))
            body += [self.statement(0, None) for _ in range(self.source.randint(1, 4))]
        return body

    def block(self, depth: int, loop: str | None) -> Block:
        return [self.statement(depth, loop) for _ in range(self.source.randint(1, 4))]

    def statement(self, depth: int, loop: str | None) -> Statement:
        chance = self.source.random()
        if depth < 3 and chance < 0.10:
            return self.branch(depth, loop)
        if depth < 2 and chance < 0.15:
            return self.loop(depth)
        if depth < 2 and chance < 0.18:
            return self.table(depth, loop)
        if chance < 0.24 and self.functions:
            return self.call()
        if chance < 0.27 and loop:
            return self.leave(loop)
        return self.operation()

    def guard(self, often: float) -> str:
        if self.source.random() >= often:
            return ""
        return f"@{self.source.choice(['', '!'])}{self.source.choice(self.pool[1])} "

    def operation(self) -> Statement:
        chance = self.source.random()
        if chance < 0.06:
            return self.chain()
        if self.has_memory and chance < 0.12:
            return self.atomic()
        if self.has_memory and chance < 0.20:
            return self.access()
        if self.has_memory and chance < 0.26:
            return self.fresh()
        return [self.plain()]

    def plain(self) -> str:
        form = self.letters.choose(self.source, "plain")
        guard = "" if _loses_guard(form) else self.guard(0.2)
        return _settled(form, guard + instruction(self.source, form, self.pool))

    def chain(self) -> Statement:
        """Sums or differences of several words. None but the first sets the condition code for certain."""
        kind = self.source.choice(["carries", "borrows"])
        lines = [instruction(self.source, self.letters.choose(self.source, f"start of {kind}"), self.pool)]
        for part in ["middle"] * self.source.choice((0, 1, 1, 2)) + ["end"]:
            if (
                self.source.random() < 0.15
            ):  # nothing that becomes a call, which at -O0 loses the condition code: AMB-102
                a, b, d = (self.source.choice(self.pool[32]) for _ in range(3))
                lines.append(f"{self.source.choice(['xor.b32', 'add.u32', 'min.s32', 'mul.lo.u32'])} {d}, {a}, {b};")
            form = self.letters.choose(self.source, f"{part} of {kind}")
            lines.append(self.guard(0.1) + instruction(self.source, form, self.pool))
        return ["\n".join(lines)]

    def atomic(self) -> Statement:
        form = self.letters.choose(self.source, "memory")
        is_shared = str(form.modifiers.get("ss")).split("::")[0] == "shared"
        is_generic = form.modifiers.get("ss") is None
        cell = "%cs" if is_shared else self.source.choice(["%cg", "%cgs"]) if is_generic else "%cg"
        return [self.guard(0.2) + instruction(self.source, form, self.pool, cell)]

    def access(self) -> Statement:
        """An access of any type and length to the thread's own local memory, or to its cells elsewhere."""
        source = self.source
        width, count = source.choice([(8, 1), (8, 2), (8, 4), (16, 1), (16, 2), (16, 4), (32, 1), (32, 2), (32, 4),
                                      (64, 1), (64, 2)])  # fmt: skip
        kind, size = source.choice("bus"), width // 8 * count
        places = [("%la", ".local", 32), ("%lg", "", 32)]
        if size <= 8:
            places += [("%cg", ".global", 8), ("%cg", "", 8), ("%cs", ".shared", 8), ("%cgs", "", 8)]
        base, space, room = source.choice(places)
        lines = []
        if room > size:
            index = f"%i{self.number()}"
            lines.append(f"and.b32 {index}, {source.choice(self.pool[32])}, {room - size & -size};")
            if base == "%cs":
                lines.append(f"add.u32 {index}, %cs, {index};")
                base = index
            else:
                lines.append(f"cvt.u64.u32 %at, {index};\nadd.u64 %at, {base}, %at;")
                base = "%at"
        own = source.choice([w for w in (16, 32, 64) if w >= width])
        is_load = source.random() < 0.5
        if count > 1 and not is_load:  # as if they were numbers, the assembler converts what is in wider ones: AMB-104
            own = max(16, width)
        registers = source.sample(self.pool[own], count)
        shown = "{" + ", ".join(registers) + "}" if count > 1 else registers[0]
        vector = f".v{count}" if count > 1 else ""
        if is_load:
            lines.append(f"{self.guard(0.3)}ld{space}{vector}.{kind}{width} {shown}, [{base}];")
        else:
            lines.append(f"{self.guard(0.3)}st{space}{vector}.{kind}{width} [{base}], {shown};")
        return ["\n".join(lines)]

    def fresh(self) -> Statement:
        """A cell of the input once more, so that not all values come of others."""
        name, width = self.source.choice([n for n in _NAMED if n[1] > 1])
        return [f"ld.global.b{width} {name}, [%in+{8 * self.source.randrange(CELLS)}];"]

    def exchange(self) -> Statement:
        """Every thread publishes a register and reads another's."""
        width = self.source.choice((16, 32, 64))
        a, d = (self.source.choice(self.pool[width]) for _ in range(2))
        lines = [f"st.shared.b{width} [%xs], {a};", "bar.sync 0;", f"ld.shared.b{width} {d}, [%xn];", "bar.sync 0;"]
        return ["\n".join(lines)]

    def leave(self, where: str) -> Statement:
        return [f"@{self.source.choice(['', '!'])}{self.source.choice(self.pool[1])} bra {where};"]

    def branch(self, depth: int, loop: str | None) -> Statement:
        other, join = f"L{self.number()}", f"L{self.number()}"
        jump = f"@{self.source.choice(['', '!'])}{self.source.choice(self.pool[1])} bra {other};"
        first = self.block(depth + 1, loop)
        if self.source.random() < 0.4:
            return [jump, first, f"{other}:"]
        return [jump, first, f"bra {join};\n{other}:", self.block(depth + 1, loop), f"{join}:"]

    def loop(self, depth: int) -> Statement:
        """At most four rounds, as many as a register says."""
        n = self.number()
        counter, limit, again = f"%i{n}", f"%i{self.number()}", f"%q{n}"
        start = f"mov.u32 {counter}, 0;\nand.b32 {limit}, {self.source.choice(self.pool[32])}, 3;\nL{n}:"
        body = self.block(depth + 1, f"E{n}")
        step = f"add.u32 {counter}, {counter}, 1;\nsetp.le.u32 {again}, {counter}, {limit};\n@{again} bra L{n};\nE{n}:"
        return [start, body, step]

    def table(self, depth: int, loop: str | None) -> Statement:
        """A branch to one of several places."""
        n, ways = self.number(), self.source.choice((2, 4))
        targets = [f"L{self.number()}" for _ in range(self.source.randint(2, ways))]
        listed = targets + [self.source.choice(targets) for _ in range(ways - len(targets))]
        parts: Statement = [
            f"and.b32 %i{n}, {self.source.choice(self.pool[32])}, {ways - 1};\n"
            f"T{n}: .branchtargets {', '.join(listed)};\nbrx.idx %i{n}, T{n};"
        ]
        for target in targets:
            parts += [f"{target}:", self.block(depth + 1, loop), f"bra J{n};"]
        return [*parts, f"J{n}:"]

    def call(self) -> Statement:
        function = self.source.choice(self.functions)
        given = [self.source.choice(self.pool[w]) for w in function.takes]
        taken = self.source.choice(self.pool[function.gives])
        if function.style == "reg" or self.source.random() < 0.5:
            return [f"{self.guard(0.3)}call ({taken}), {function.name}, ({', '.join(given)});"]
        lines = ["{", f".param .b{function.gives} back;"]
        lines += [f".param .b{w} g{i};" for i, w in enumerate(function.takes)]
        lines += [f"st.param.b{w} [g{i}], {r};" for i, (w, r) in enumerate(zip(function.takes, given, strict=True))]
        lines.append(f"call (back), {function.name}, ({', '.join(f'g{i}' for i in range(len(given)))});")
        return ["\n".join([*lines, f"ld.param.b{function.gives} {taken}, [back];", "}"])]


def _declared(texts: Iterable[str]) -> str:
    """Counters and the like, as many as the text may have."""
    most = 1 + max([int(n) for text in texts for n in _numbers(text)], default=0)
    return f".reg .b32 %i<{most}>; .reg .pred %q<{most}>, %nan;"


def _numbers(text: str) -> list[str]:
    import re

    return re.findall(r"%[iq](\d+)", text)


def _function(source: random.Random, letters: Alphabet, name: str, known: list[Function]) -> Function:
    pool = {16: ["%h0", "%h1", "%h2", "%h3"], 32: ["%r0", "%r1", "%r2"], 64: ["%rd0", "%rd1"], 1: ["%p0", "%p1"]}
    takes = [32, *[source.choice((16, 32, 64)) for _ in range(source.randint(0, 2))]]
    gives, style = source.choice((16, 32, 32, 64)), source.choice(("reg", "param"))
    parameters = ", ".join(f".{style} .b{w} x{i}" for i, w in enumerate(takes))
    lines = [f".func (.{style} .b{gives} y) {name}({parameters})", "{"]
    lines += [".reg .b16 %h<4>; .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p<2>;"]
    left = {width: list(registers) for width, registers in pool.items()}
    for i, w in enumerate(takes):
        if left[w]:
            lines.append(
                f"ld.param.b{w} {left[w].pop()}, [x{i}];" if style == "param" else f"mov.b{w} {left[w].pop()}, x{i};"
            )
    made_of = {16: "cvt.u16.u32 {}, {};", 32: "mul.lo.u32 {}, {}, 0x9E3779B1;", 64: "mul.wide.u32 {}, {}, 0x9E3779B1;"}
    last = "%r2"  # the first parameter's; no register holds a constant, from which the assembler could compute others
    for w in (32, 64, 16):
        for register in left[w]:
            lines.append(made_of[w].format(register, last))
            last = register if w == 32 else last
    lines += [f"setp.ne.u32 %p0, %r0, {source.getrandbits(3)};", "setp.lt.s32 %p1, %r1, %r2;"]
    body = _Writer(source, letters, pool, known, False).block(1, None)
    result = source.choice(pool[gives])
    end = f"st.param.b{gives} [y], {result};" if style == "param" else f"mov.b{gives} y, {result};"
    return Function(name, takes, gives, style, "\n".join(lines), body, f"{end}\nret;\n}}")


def _function_text(function: Function) -> str:
    body = _flat(function.body)
    return "\n".join([function.head, _declared([body]), body, function.end])


def _entry(name: str, body: str) -> str:
    loads, stores = [], []
    for i, (register, width) in enumerate(_NAMED):
        if width == 1:
            loads.append(f"ld.global.u32 %t, [%in+{8 * i}]; setp.ne.u32 {register}, %t, 0;")
            stores.append(f"selp.u64 %at, 1, 0, {register}; st.global.u64 [%out+{8 * i}], %at;")
        else:
            loads.append(f"ld.global.b{width} {register}, [%in+{8 * i}];")
            stores.append(f"st.global.b{width} [%out+{8 * i}], {register};")
    for i in range(_LOCAL_CELLS):
        loads.append(f"ld.global.b64 %at, [%in+{8 * (_LOCAL + i)}]; st.local.b64 [%la+{8 * i}], %at;")
        stores.append(f"ld.local.b64 %at, [%la+{8 * i}]; st.global.b64 [%out+{8 * (_LOCAL + i)}], %at;")
    loads += [
        f"ld.global.b64 %at, [%in+{8 * _GLOBAL}]; st.global.b64 [%cg], %at;",
        f"ld.global.b64 %at, [%in+{8 * _SHARED}]; st.shared.b64 [%cs], %at;",
    ]
    stores.append(f"ld.shared.b64 %at, [%cs]; st.global.b64 [%out+{8 * _SHARED}], %at;")
    declared = [f".reg .{'pred' if w == 1 else f'b{w}'} {r[0][:-1]}<{len(r)}>;" for w, r in REGISTERS.items()]
    return "\n".join(
        [
            f".visible .entry {name}(.param .u64 in, .param .u64 out)",
            "{",
            *declared,
            ".reg .b64 %in, %out, %at, %la, %lg, %cg, %cgs; .reg .b32 %t, %own, %cs, %xs, %xn;",
            _declared([body]),
            f".shared .align 8 .b64 cell[{THREADS}]; .shared .align 8 .b64 exchanged[{THREADS}];",
            f".local .align 16 .b64 own[{_LOCAL_CELLS}];",
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];",
            "mov.u32 %own, %tid.x;",
            f"mad.wide.u32 %in, %own, {8 * CELLS}, %in; mad.wide.u32 %out, %own, {8 * CELLS}, %out;",
            f"add.u64 %cg, %out, {8 * _GLOBAL};",
            "mov.u32 %cs, cell; mad.lo.u32 %cs, %own, 8, %cs; cvt.u64.u32 %cgs, %cs; cvta.shared.u64 %cgs, %cgs;",
            "mov.u64 %la, own; cvta.local.u64 %lg, %la;",
            "mov.u32 %xs, exchanged; add.u32 %t, %own, 5; and.b32 %t, %t, 63;",
            "mad.lo.u32 %xn, %t, 8, %xs; mad.lo.u32 %xs, %own, 8, %xs;",
            *loads,
            "// the program",
            body,
            "FINISH:",
            *stores,
            "ret;",
            "}",
        ]
    )


def module(programs: Iterable[Program]) -> str:
    """A PTX module of programs."""
    return "\n".join([".version 9.0", ".target sm_90", ".address_size 64", *[p.text() for p in programs]])


def inputs(seed: int) -> np.ndarray:
    """What the registers and cells hold at first: a row a thread, special values and random ones."""
    source = random.Random(f"inputs {seed}")
    edges = {w: special(TYPES[f"u{w}"]) + special(TYPES[f"f{w}"]) for w in (16, 32, 64)}
    widths = [w for _, w in _NAMED] + [64] * (CELLS - len(_NAMED))
    columns = []
    for width in widths:
        column = [_value(source, width, edges) for _ in range(THREADS)]
        columns.append(column[:1] * THREADS if source.random() < 0.05 else column)
    return np.array(columns, np.uint64).T.copy()


def _value(source: random.Random, width: int, edges: dict[int, list[int]]) -> int:
    if width == 1:
        return source.getrandbits(1)
    chance = source.random()
    if chance < 0.4:
        return source.choice(edges[width])
    value = source.getrandbits(width)
    if chance < 0.6:
        return value >> source.randrange(width)
    if chance < 0.8:  # a floating-point number of middling size
        fraction = {16: 10, 32: 23, 64: 52}[width]
        exponent = (1 << (width - 2 - fraction)) - 1 + source.randint(-4, 5)
        return value & ~(((1 << (width - 1 - fraction)) - 1) << fraction) | exponent << fraction
    return value


# Answers ---------------------------------------------------------------------------------------------------------------


def made(seeds: Iterable[int], folder: Path | None = KEPT) -> list[Program]:
    """The programs of some seeds over the forms that a folder's were made of; without a folder, over those of today."""
    letters = alphabet(folder)
    return [Program(seed, letters) for seed in seeds]


def answers_here(programs: Sequence[Program], engine: Engine = "native") -> list[np.ndarray]:
    """What our machine computes: for each program a row of cells a thread."""
    from ptxspec.language.check import check
    from ptxspec.machine.launch import Module

    loaded = Module(check(module(programs)))
    found = []
    for program in programs:
        out = np.full((THREADS, CELLS), FILLER, np.uint64)
        loaded.launch(program.name, 1, THREADS, [inputs(program.seed), out], profile=PROFILE, engine=engine)
        found.append(out)
    return found


def digest_of_text(program: Program) -> str:
    """The first half of a SHA-256 of what is run: the program and its inputs."""
    data = inputs(program.seed).astype("<u8").tobytes()
    return hashlib.sha256(module([program]).encode() + data).hexdigest()[:32]


def digest_of(answer: np.ndarray) -> str:
    return hashlib.sha256(answer.astype("<u8").tobytes()).hexdigest()


class Answers(NamedTuple):
    """A folder read: what answered, and by seed the digests of a program's text and of its answers at -O3."""

    facts: dict[str, Any]
    digests: dict[int, tuple[str, str]]


def read(folder: Path = KEPT) -> Answers | None:
    """The answers of a folder, or None if there are none."""
    if not (folder / "answers.json").is_file():
        return None
    facts = json.loads((folder / "answers.json").read_text())
    digests = {}
    for line in (folder / "answers.txt").read_text().splitlines():
        seed, text, answer = line.split()
        digests[int(seed)] = (text, answer)
    return Answers(facts, digests)


# Recording -------------------------------------------------------------------------------------------------------------

LEVELS = ("-O0", "-O3")
#: programs a module
_TOGETHER = 10
#: so many of these run under the exact engine too
_BY_BOTH = 2


class _Ready(NamedTuple):
    """Programs of one module with their machine code and our answers."""

    seeds: list[int]
    code: dict[str, bytes]
    digests: list[str]
    ours: list[np.ndarray]
    both: dict[int, bool]
    """for some of them, whether our two engines agree"""


def _prepare(job: tuple[Path, list[int]]) -> list[_Ready]:
    """Programs of one module; where the assembler fails, of a module each, and those it fails at are without code."""
    from ptxspec.evidence.gpu import assemble

    folder, seeds = job
    programs = made(seeds, folder)
    text = module(programs)
    try:
        code = {level: assemble(text, level) for level in LEVELS}
    except subprocess.CalledProcessError:
        if len(seeds) > 1:
            return [ready for seed in seeds for ready in _prepare((folder, [seed]))]
        return [_Ready(seeds, {}, [digest_of_text(programs[0])], [], {})]
    ours = answers_here(programs)
    exact = answers_here(programs[:_BY_BOTH], "exact")
    both = {s: bool((a == b).all()) for s, a, b in zip(seeds, exact, ours, strict=False)}
    return [_Ready(seeds, code, [digest_of_text(p) for p in programs], ours, both)]


def _on_gpu(gpu: Any, image: Any, program: Program, into: Any, out_of: Any) -> np.ndarray:
    return gpu.run(image, program.name, inputs(program.seed), into, out_of)


def differing(answers: dict[str, np.ndarray]) -> str:
    """Between whom answers differ: "levels" for -O0 and -O3, "ours" for these and us; empty if nobody does."""
    if (answers["-O0"] != answers["-O3"]).any():
        return "levels"
    return "ours" if (answers["ours"] != answers["-O3"]).any() else ""


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float = 30) -> Program:
    """The program with as many statements taken away as `fails` allows, in the time there is."""
    end = time.monotonic() + seconds
    length = max(1, program.size // 2)
    while time.monotonic() < end:
        before = program.size
        start = program.size - length
        while start > -length and time.monotonic() < end:
            smaller = program.without(range(max(start, 0), start + length))
            if smaller.size < program.size and fails(smaller):
                program = smaller
            start -= length
        if length > 1:
            length //= 2
            continue
        for i in reversed(range(program.size)):
            opened = program.opened(i)
            if opened.size < program.size and opened.size and time.monotonic() < end and fails(opened):
                program = opened
        if program.size == before:
            break
    return program


def answers_of(gpu: Any, program: Program, into: Any, out_of: Any) -> dict[str, np.ndarray]:
    """What a program gives at both levels, and on our machine."""
    from ptxspec.evidence.gpu import assemble

    found = {"ours": answers_here([program], "exact")[0]}  # which need not compile each try
    for level in LEVELS:
        image = gpu.load(assemble(module([program]), level))
        found[level] = _on_gpu(gpu, image, program, into, out_of)
        gpu.call("cuModuleUnload", image)
    return found


def _values(answers: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """The first cells that differ: the thread, the cell's name, and what each answers."""
    wrong = np.argwhere((answers["-O0"] != answers["-O3"]) | (answers["ours"] != answers["-O3"]))
    return [
        {"thread": int(t), "cell": CELL_NAMES[c], **{who: hex(int(a[t, c])) for who, a in answers.items()}}
        for t, c in wrong[:6]
    ]


def main(folder: str, count: int, first: int, reductions: int, seconds: float) -> int:
    from ptxspec.evidence import assembler
    from ptxspec.evidence.gpu import Gpu

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    spelled = "\n".join([*names(), ""]).encode()
    (target / "forms.txt.gz").write_bytes(gzip.compress(spelled, 9, mtime=0))
    seeds = list(range(first, first + count))
    jobs = [(target, seeds[i : i + _TOGETHER]) for i in range(0, count, _TOGETHER)]
    begin = time.monotonic()
    prepared = [ready for several in on_all_cores(_prepare, jobs) for ready in several]
    refused = sorted(seed for ready in prepared if not ready.code for seed in ready.seeds)
    print(f"the assembler fails at {refused or 'none'}")
    prepared = [ready for ready in prepared if ready.code]
    seeds = sorted(seed for ready in prepared for seed in ready.seeds)
    print(f"{count} programs assembled and run here: {time.monotonic() - begin:.0f} s", flush=True)
    both = {seed: same for ready in prepared for seed, same in ready.both.items()}
    unlike = sorted(seed for seed, same in both.items() if not same)
    print(f"{len(both)} of them under both engines, which differ in {unlike or 'none'}")
    gpu = Gpu()
    size = THREADS * CELLS * 8
    into, out_of = gpu.allocate(size), gpu.allocate(size)
    lines: dict[int, str] = {}
    failing: list[tuple[Program, str]] = []
    for ready in prepared:
        images = {level: gpu.load(cubin) for level, cubin in ready.code.items()}
        for program, digest, ours in zip(made(ready.seeds, target), ready.digests, ready.ours, strict=True):
            answers = {level: _on_gpu(gpu, image, program, into, out_of) for level, image in images.items()}
            lines[program.seed] = f"{program.seed} {digest} {digest_of(answers['-O3'])}"
            who = differing({**answers, "ours": ours})
            if who:
                failing.append((program, who))
        for image in images.values():
            gpu.call("cuModuleUnload", image)
    failing.sort(key=lambda f: f[0].seed)
    facts = {
        "device": gpu.name,
        "driver": gpu.driver,
        "ptxas": assembler.version(),
        "date": datetime.date.today().isoformat(),
        "profile": PROFILE,
        "programs": len(seeds),
        "not assembled": refused,
        "first seed": first,
        "threads": THREADS,
        "forms": spelled.count(b"\n"),
        "texts": hashlib.sha256("".join(lines[s].split()[1] for s in seeds).encode()).hexdigest(),
        "under both engines": len(both),
        "engines differing": unlike,
        "differing": {str(p.seed): who for p, who in failing},
    }
    (target / "answers.json").write_text(json.dumps(facts, indent=1) + "\n")
    (target / "answers.txt").write_text("".join(lines[s] + "\n" for s in seeds))
    print(json.dumps({k: v for k, v in facts.items() if k != "differing"}))
    print(f"{len(seeds) - len(failing)} programs agree on every bit; differing: {facts['differing']}", flush=True)
    begin = time.monotonic()
    smallest = {}
    for program, who in failing[:reductions]:
        if time.monotonic() - begin > seconds:
            break

        def fails(smaller: Program, who: str = who) -> bool:
            try:
                return differing(answers_of(gpu, smaller, into, out_of)) == who
            except (subprocess.CalledProcessError, ValueError):  # a label that is no longer there
                return False

        small = reduced(program, fails, min(20, seconds))
        answers = answers_of(gpu, small, into, out_of)
        smallest[small.name] = {
            "seed": small.seed,
            "who": differing(answers),
            "text": module([small]),
            "entry": None,  # of the register of ambiguities, to be named by who looks into it
            "values": _values(answers),
        }
        body = [_flat(f.body) for f in small.functions if f"{f.name}," in _flat(small.body)] + [_flat(small.body)]
        print(
            f"{small.seed} {who} " + " // ".join(body).replace("\n", " "), *_values(answers)[:2], sep="\n  ", flush=True
        )
    (target / "differing.json").write_text(json.dumps(smallest, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="ptxspec.evidence.programs")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reductions", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    sys.exit(main(given.folder, given.count, given.seed, given.reductions, given.seconds))
