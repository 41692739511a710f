"""Statements of a random program: instructions, branches, loops, calls, memory, and exchanges between threads where all meet."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxspec.language.forms import Form
from ptxspec_workshop.generate.fuzzing.alphabet import Alphabet, EveryForm
from ptxspec_workshop.generate.fuzzing.layout import CELLS, NAMED
from ptxspec_workshop.generate.fuzzing.random_instruction import Pool, instruction, loses_guard, settled

#: a statement is lines of text with blocks of statements between; it can be taken away as a whole
Statement = list[Any]
Block = list[Statement]


class RandomFunction(NamedTuple):
    """A function: its widths, the text before its body, the body, and the text after. `style` is reg or param."""

    name: str
    takes: list[int]
    gives: list[int]
    style: str
    head: str = ""
    body: Block = []
    end: str = ""
    is_recursive: bool = False
    """whether its first argument is how deep it may call itself"""
    takes_list: bool = False
    """whether its first argument is a number of words, and these words follow"""

    @property
    def results(self) -> list[str]:
        return [f"y{i or ''}" for i in range(len(self.gives))]

    def signature(self, name: str, results: Sequence[str], parameters: Sequence[str]) -> str:
        """A heading or a prototype, with these names."""
        gives = ", ".join(f".{self.style} .b{w} {y}" for w, y in zip(self.gives, results, strict=True))
        takes = [f".{self.style} .b{w} {x}" for w, x in zip(self.takes, parameters, strict=True)]
        takes += [".param .align 8 .b8 rest[]"] if self.takes_list else []
        return f"{f'({gives}) ' if gives else ''}{name}({', '.join(takes)})"

    @property
    def prototype(self) -> str:
        return f".callprototype {self.signature('_', ['_'] * len(self.gives), ['_'] * len(self.takes))}"

    @property
    def heading(self) -> str:
        return f".func {self.signature(self.name, self.results, [f'x{i}' for i in range(len(self.takes))])}"


def flat(block: Block) -> str:
    return "\n".join(flat(part) if isinstance(part, list) else part for statement in block for part in statement)


class Writer:
    """Writes statements over a pool of registers. `has_memory` says whether the entry's cells are at hand."""

    #: registers with addresses of cells that an atomic instruction may update, by its state space
    cells = {"shared": ["%cs"], "global": ["%cg"], "": ["%cg", "%cgs"]}
    #: how often a call is guarded that returns in a parameter: if it does not happen, what is read there is open
    guarded_with_parameters = 0.0
    #: whether a thread has local memory
    has_frames = True

    def __init__(
        self,
        source: random.Random,
        letters: Alphabet | EveryForm,
        pool: Pool,
        functions: list[RandomFunction],
        has_memory: bool,
    ):
        self.source, self.letters, self.pool = source, letters, pool
        self.functions, self.has_memory = list(functions), has_memory
        self.labels = 0

    def instruction(self, form: Form, cell: str = "") -> str:
        return instruction(self.source, form, self.pool, cell, careful=self.letters.careful)

    def number(self) -> int:
        self.labels += 1
        return self.labels

    def program(self) -> Block:
        """The body of an entry: threads meet at its outermost level only, and go to its end only when they meet no more."""
        target = self.source.randint(10, 60)
        is_straight = self.source.random() < 0.3
        body: Block = []
        while sum(flat([s]).count(";") for s in body) < target:
            chance = self.source.random()
            if chance < 0.06:
                body.append(self.exchange())
            elif chance < 0.14:
                body.append([self.instruction(self.letters.choose(self.source, "meeting"))])
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
        guard = "" if loses_guard(form, self.letters.careful) else self.guard(0.2)
        return settled(form, guard + self.instruction(form), self.letters.careful)

    def chain(self) -> Statement:
        """Sums or differences of several words. None but the first sets the condition code for certain."""
        kind = self.source.choice(["carries", "borrows"])
        lines = [self.instruction(self.letters.choose(self.source, f"start of {kind}"))]
        for part in ["middle"] * self.source.choice((0, 1, 1, 2)) + ["end"]:
            if (
                self.source.random() < 0.15
            ):  # nothing that becomes a call, which at -O0 loses the condition code: AMB-102
                a, b, d = (self.source.choice(self.pool[32]) for _ in range(3))
                lines.append(f"{self.source.choice(['xor.b32', 'add.u32', 'min.s32', 'mul.lo.u32'])} {d}, {a}, {b};")
            form = self.letters.choose(self.source, f"{part} of {kind}")
            lines.append(self.guard(0.1) + self.instruction(form))
        return ["\n".join(lines)]

    def atomic(self) -> Statement:
        form = self.letters.choose(self.source, "memory")
        cells = self.cells[str(form.modifiers.get("ss") or "").split("::")[0]]
        cell = self.source.choice(cells) if len(cells) > 1 else cells[0]
        return [self.guard(0.2) + self.instruction(form, cell)]

    def access(self) -> Statement:
        """An access of any type and length to the thread's own local memory, or to its cells elsewhere."""
        source = self.source
        shapes = [(8, 1), (8, 2), (8, 4), (16, 1), (16, 2), (16, 4), (32, 1), (32, 2), (64, 1), (32, 4), (64, 2)]
        if not self.has_frames:  # of other memory it has 8 bytes
            shapes = [shape for shape in shapes if math.prod(shape) <= 64]
        width, count = source.choice(shapes)
        kind, size = source.choice("bus"), width // 8 * count
        places = [("%la", ".local", 32), ("%lg", "", 32)] if self.has_frames else []
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
        register_width = source.choice([w for w in (16, 32, 64) if w >= width])
        careful = self.letters.careful
        is_load = (careful and width == 8) or source.random() < 0.5
        # the assembler converts what is in wider registers, as if they were numbers: AMB-104
        if (count > 1 or careful) and not is_load:
            register_width = max(16, width)
        registers = source.sample(self.pool[register_width], count)
        shown = "{" + ", ".join(registers) + "}" if count > 1 else registers[0]
        vector = f".v{count}" if count > 1 else ""
        if is_load:
            lines.append(f"{self.guard(0.3)}ld{space}{vector}.{kind}{width} {shown}, [{base}];")
        else:
            lines.append(f"{self.guard(0.3)}st{space}{vector}.{kind}{width} [{base}], {shown};")
        return ["\n".join(lines)]

    def fresh(self) -> Statement:
        """A cell of the input once more, so that not all values come of others."""
        name, width = self.source.choice([n for n in NAMED if n[1] > 1])
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

    def call(self, function: RandomFunction | None = None) -> Statement:
        function = function or self.source.choice(self.functions)
        given = [self.source.choice(self.pool[w]) for w in function.takes]
        taken: list[str] = []
        for width in function.gives:
            taken.append(self.source.choice([r for r in self.pool[width] if r not in taken]))
        if function.style == "reg" or self.source.random() < 0.5:
            return [self.called(function, taken, given)]
        lines = ["{", *(f".param .b{w} back;" for w in function.gives)]
        lines += [f".param .b{w} g{i};" for i, w in enumerate(function.takes)]
        lines += [f"st.param.b{w} [g{i}], {r};" for i, (w, r) in enumerate(zip(function.takes, given, strict=True))]
        parameters = [f"g{i}" for i in range(len(given))]
        lines.append(self.called(function, ["back"] * len(taken), parameters, self.guarded_with_parameters))
        return [
            "\n".join(
                [*lines, *(f"ld.param.b{w} {r}, [back];" for w, r in zip(function.gives, taken, strict=True)), "}"]
            )
        ]

    def called(self, function: RandomFunction, taken: Sequence[str], given: Sequence[str], guarded: float = 0.3) -> str:
        """The text of a call, which is `guarded` so often."""
        guard = self.guard(guarded) if guarded else ""
        results = f"({', '.join(taken)}), " if taken else ""
        arguments = f", ({', '.join(given)})" if given else ""
        return f"{guard}call {results}{function.name}{arguments};"
