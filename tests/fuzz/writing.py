"""What the parts of a random module have in common: registers, labels, and a table of statements to choose from."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

#: registers of an entry that statements work on, by width; predicates under 1
OF_ENTRY = {
    16: [f"%h{i}" for i in range(4)],
    32: [f"%r{i}" for i in range(8)],
    64: [f"%rd{i}" for i in range(4)],
    1: [f"%p{i}" for i in range(4)],
}
OF_FUNCTION = {
    16: ["%h0", "%h1", "%h2", "%h3"],
    32: ["%r0", "%r1", "%r2", "%r3"],
    64: ["%rd0", "%rd1"],
    1: ["%p0", "%p1"],
}
CELLS = 128
"""own cells of threads in shared memory, and in a variable in global memory"""

#: registers with a place or a number that a statement may want, in an order in which each may use those before: how it is declared,
#: and how it comes to its value
WANTED: dict[str, tuple[str, str]] = {
    "%nt": ("b32", "mov.u32 %nt, %ntid.x; mov.u32 %at, %ntid.y; mul.lo.u32 %nt, %nt, %at;"),
    "%own": (
        "b32",
        "mov.u32 %own, %tid.y; mov.u32 %at, %ntid.x; mul.lo.u32 %own, %own, %at; mov.u32 %at, %tid.x; add.u32 %own, %own, %at;",
    ),
    "%gid": ("b32", "mov.u32 %gid, %ctaid.x; mad.lo.u32 %gid, %gid, %nt, %own;"),
    "%nw": ("b32", "add.u32 %nw, %nt, 31; and.b32 %nw, %nw, -32;"),
    "%mode": ("b32", "ld.global.u32 %mode, [mode];"),
    "%la": ("b64", "mov.u64 %la, own;"),
    "%lg": ("b64", "cvta.local.u64 %lg, own;"),
    "%cs": ("b32", f"and.b32 %cs, %own, {CELLS - 1}; shl.b32 %cs, %cs, 3; mov.u32 %at, cells; add.u32 %cs, %cs, %at;"),
    "%xs": (
        "b32",
        f"add.u32 %xs, %own, 1; rem.u32 %xs, %xs, %nt; and.b32 %xs, %xs, {CELLS - 1}; shl.b32 %xs, %xs, 3; mov.u32 %at, cells; add.u32 %xs, %xs, %at;",
    ),
    "%ss": ("b32", "mov.u32 %ss, common;"),
    "%cgs": ("b64", "cvt.u64.u32 %cgs, %cs; cvta.shared.u64 %cgs, %cgs;"),
    "%cg": ("b64", f"and.b32 %at, %gid, {CELLS - 1}; mov.u64 %cg, cells_of_all; mad.wide.u32 %cg, %at, 8, %cg;"),
    "%gs": ("b64", "mov.u64 %gs, common_of_all;"),
    "%ka": ("b64", "mov.u64 %ka, constants;"),
    "%kg": ("b64", "cvta.const.u64 %kg, constants;"),
    "%ds": ("b32", "mov.u32 %ds, dynamic;"),
}
#: what each of them needs to be declared or computed before
NEEDS = {
    "%gid": ("%nt", "%own"), "%nw": ("%nt",), "%cs": ("%own",), "%xs": ("%own", "%nt"), "%cgs": ("%cs",), "%cg": ("%gid",),
}  # fmt: skip

Lines = list[str]
Made = TypeVar("Made", bound=Callable[..., Any])


class Kind(NamedTuple):
    """A kind of statement: how often it is chosen, and where it may stand."""

    name: str
    weight: int
    allowed: Callable[[Any], bool]


#: all kinds of statements, by the name of the method that writes one
KINDS: dict[str, Kind] = {}


def statement(weight: int, allowed: Callable[[Any], bool] = lambda writer: True) -> Callable[[Made], Made]:
    """Enter a method into KINDS. `allowed` says whether a writer may use it where it is."""

    def enter(method: Made) -> Made:
        KINDS[method.__name__] = Kind(method.__name__.replace("_", " ").strip(), weight, allowed)
        return method

    return enter


class Function(NamedTuple):
    """What a call has to know of a function. Widths of what it takes and gives; `style` is reg or param."""

    name: str
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    style: str
    recursive: bool = False
    """whether its first argument is how deep it may call itself"""
    lists: bool = False
    """whether it takes a number of words and these words"""

    @property
    def heading(self) -> str:
        gives = ", ".join(f".{self.style} .b{w} y{i}" for i, w in enumerate(self.gives))
        takes = [f".{self.style} .b{w} x{i}" for i, w in enumerate(self.takes)]
        takes += [".param .align 8 .b8 rest[]"] if self.lists else []
        return f".func {f'({gives}) ' if gives else ''}{self.name}({', '.join(takes)})"

    @property
    def prototype(self) -> str:
        gives = ", ".join(f".{self.style} .b{w} _" for w in self.gives)
        takes = ", ".join(f".{self.style} .b{w} _" for w in self.takes)
        return f".callprototype {f'({gives}) ' if gives else ''}_ ({takes})"


class Base:
    """Writes lines over a pool of registers. `plan` is the module's (see modules.Plan)."""

    def __init__(self, source: random.Random, plan: Any, pool: dict[int, list[str]], is_entry: bool):
        self.source, self.plan, self.pool, self.is_entry = source, plan, pool, is_entry
        self.depth = self.loops = self.numbers = 0
        self.together = is_entry
        """whether all threads of a CTA that have not ended come here together"""
        self.out: list[str] = []
        """labels behind the loops that this is in"""

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def label(self) -> str:
        return f"L{self.number()}"

    def chance(self, p: float) -> bool:
        return self.source.random() < p

    def register(self, width: int) -> str:
        return self.source.choice(self.pool[width])

    def several(self, width: int, count: int) -> list[str]:
        return self.source.sample(self.pool[width], count)

    def small(self, into: str, most: int) -> str:
        """A line that gives a register a number below a power of two, from some register."""
        return f"and.b32 {into}, {self.register(32)}, {most - 1};"

    def guard(self, often: float) -> str:
        return f"@{self.source.choice(['', '!'])}{self.register(1)} " if self.chance(often) else ""

    def condition(self) -> str:
        """A guard that is there."""
        return f"@{self.source.choice(['', '!'])}{self.register(1)}"

    def mark(self, what: str) -> Lines:
        """A line that notes that the program has come here."""
        self.plan.marked.setdefault(what, 0)
        if self.plan.marked[what] >= 3:
            return []
        self.plan.marked[what] += 1
        return [f"st.global.u8 [seen+{self.plan.place_of(what)}], 1;"]

    def one(self, name: str) -> Lines:
        """A statement of a kind."""
        lines: Lines = getattr(self, name)()
        return [*self.mark(name), *lines] if lines else self.plain()

    def any(self) -> Lines:
        """A statement of some kind that is allowed here."""
        kinds = [(n, k.weight) for n, k in KINDS.items() if k.weight and k.allowed(self)]
        names, weights = zip(*kinds, strict=True)
        return self.one(self.source.choices(names, weights)[0])

    def block(self, most: int = 3) -> Lines:
        """A few statements, where threads may have parted."""
        together, self.together = self.together, False
        self.depth += 1
        lines = [line for _ in range(self.source.randint(1, most)) for line in self.any()]
        self.depth -= 1
        self.together = together
        return lines

    def plain(self) -> Lines:
        raise NotImplementedError


def frame(body: Lines, pool: dict[int, list[str]]) -> tuple[Lines, Lines]:
    """(declarations, first instructions) for a body that uses registers of a pool and of WANTED."""
    text = "\n".join(body)
    used = {w for w in re.findall(r"%\w+", text) if w in WANTED}
    todo = list(used)
    while todo:
        for need in NEEDS.get(todo.pop(), ()):
            if need not in used:
                used.add(need)
                todo.append(need)
    declared = [f".reg .{'pred' if w == 1 else f'b{w}'} {', '.join(names)};" for w, names in pool.items()]
    by_type: dict[str, list[str]] = {"b32": ["%at"]}
    for name in WANTED:
        if name in used:
            by_type.setdefault(WANTED[name][0], []).append(name)
    declared += [f".reg .{type} {', '.join(names)};" for type, names in by_type.items()]
    for letter, type in (("i", "b32"), ("q", "pred")):
        numbers = [int(n) for n in re.findall(rf"%{letter}(\d+)\b", text)]
        if numbers:
            declared.append(f".reg .{type} %{letter}<{max(numbers) + 1}>;")
    if re.search(r"\bown\b|%la\b|%lg\b", text):
        declared.append(".local .align 16 .b8 own[32];")
    return declared, [first for name, (_, first) in WANTED.items() if name in used]
