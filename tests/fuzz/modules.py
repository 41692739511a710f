"""A random module: its plan, its functions, and its entry."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from letters import TODAY, Era
from outside import FORMATS, Outside, Shape
from writing import CELLS, KINDS, OF_ENTRY, OF_FUNCTION, Function, Lines, frame

#: bytes of a thread's row of registers
ROW = 80
EARLY: tuple[Era, ...] = (((2, 1), 20), ((4, 0), 35))
#: places in the variable `seen`: the kinds of statements, then the ways in which functions and entries end
ENDS = ("ret", "nothing", "label", "guarded ret", "guarded exit", "barrier", "exit", "call")
PLACES = [*KINDS, *(f"function ends with {e}" for e in ENDS), *(f"entry ends with {e}" for e in ENDS)]

#: the module's variables, by the names that text has to contain for them to be there
VARIABLES = {
    "cells_of_all": f".global .align 16 .b64 cells_of_all[{CELLS}];",
    "common_of_all": ".global .align 16 .b32 common_of_all[16] = {1, 2, 3};",
    "constants": ".const .align 16 .b32 constants[16] = {5, 0x80000000, -1, 0x7fffffff, 9, 0, 0x3f800000, 0x7fc00000};",
    **{name: f".extern .const[{bank}] .b32 {name}[];" for bank, name in ((1, "one"), (2, "two"), (10, "ten"))},
    "cells": f".shared .align 16 .b64 cells[{CELLS}];",
    "common": ".shared .align 16 .b32 common[8];",
    "flag": ".shared .b32 flag;",
    "dynamic": ".extern .shared .align 16 .b8 dynamic[];",
    "vprintf": ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);",
    "malloc": ".extern .func (.param .b64 r) malloc(.param .b64 size);",
    "free": ".extern .func free(.param .b64 p);",
    "__assertfail": ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g, .param .b64 s);",
    "endless": ".func endless() { call endless; ret; }",
    **{
        f"format{i}": f".global .align 1 .b8 format{i}[{len(f) + 1}] = {{{', '.join(map(str, f.encode() + bytes(1)))}}};"
        for i, (f, _) in enumerate(FORMATS)
    },
}


class Plan:
    """What a module has, decided before it is written."""

    def __init__(self, source: random.Random, wants: Sequence[str]):
        def chance(p: float, *kinds: str) -> bool:
            return source.random() < p or bool(set(kinds) & set(wants))

        self.source, self.wants = source, wants
        self.era = source.choice(EARLY) if chance(0.08, "banks_of_constants", "warp_without_a_mask") else TODAY
        if "banks_of_constants" in wants:
            self.era = EARLY[0]
        self.is_of_today = new = self.era == TODAY
        self.abi = chance(0.85, "indirect_call", "recursion", "printing", "memory_from_the_heap") or not new
        """whether functions call one another by the convention that several results do without"""
        has_functions = chance(0.6, "call", "indirect_call", "recursion", "a_call_that_does_not_return")
        self.stack = chance(0.2, "memory_on_the_stack") and new
        self.clusters = chance(0.2, "cluster") and new
        self.dynamic, self.impatient = chance(0.25, "dynamic_shared"), chance(0.2, "waiting_in_a_loop")
        self.prints = chance(0.15, "printing") and self.abi and new
        self.allocates = chance(0.15, "memory_from_the_heap") and self.abi and new
        images = chance(0.2, "textures", "surfaces") and new
        self.textures = [_texture(source, i) for i in range(2)] if images else []
        self.surfaces = [_surface(source)] if images and chance(0.7, "surfaces") else []
        self.marked: dict[str, int] = {}
        self.hazards = 0
        self.known: list[Function] = []
        self.alike: list[Function] = []
        self.tabled = 0
        self.recursing: Function | None = None
        self.ending: str | None = None
        self.texts: list[str] = []
        if has_functions:
            self._add_functions()

    def place_of(self, what: str) -> int:
        return PLACES.index(what)

    def _add_functions(self) -> None:
        source = self.source
        if self.is_of_today and (source.random() < 0.3 or "a_call_that_does_not_return" in self.wants):
            self.texts.append(
                f".func the_end() .noreturn {{ {source.choice(['exit;', 'exit; ret;', '.reg .b32 a; mov.u32 a, 1; exit;'])} }}"
            )
            self.ending = "the_end"
        number = 0
        if self.abi and (
            source.random() < 0.5 or "indirect_call" in self.wants
        ):  # some that an indirect call may reach
            for _ in range(source.randint(2, 3)):
                function = Function(f"f{number}", (32, 32), (32,), "param" if not self.alike else self.alike[0].style)
                self._write(function)
                self.alike.append(function)
                number += 1
        for _ in range(source.randint(1, 2)):
            self._write(self._function(f"f{number}"))
            number += 1
        if self.alike and source.random() < 0.6:
            self.tabled = 2
            self.texts.append(f".global .u64 table[2] = {{{self.alike[0].name}, {self.alike[1].name}}};")

    def _function(self, name: str) -> Function:
        source = self.source
        style = source.choice(("reg", "param")) if self.abi else "reg"
        widths = (32, 64) if self.abi else (16, 32, 64)
        takes = tuple(source.choice(widths) for _ in range(source.randint(0, 3)))
        gives = tuple(source.choice(widths) for _ in range(source.randint(0, 1) if self.abi else source.randint(0, 2)))
        if self.abi and source.random() < (0.9 if "recursion" in self.wants else 0.3):
            return Function(name, (32, *takes), gives, style, recursive=True)
        if self.abi and self.is_of_today and source.random() < 0.15:
            self.stack = True
            return Function(name, (32,), gives, style, lists=True)
        return Function(name, takes, gives, style)

    def _write(self, function: Function) -> None:
        other = None
        if function.recursive and self.source.random() < 0.3:  # two that call one another
            other = function._replace(name=f"{function.name}b")
            self.texts.append(f"{other.heading};")
            self.recursing = other
        else:
            self.recursing = function if function.recursive else None
        self.texts.append(written(self, function))
        if other is not None:
            self.recursing = function
            self.texts.append(written(self, other))
        self.recursing = None
        self.known.append(function)


def _texture(source: random.Random, number: int) -> Shape:
    geometry = source.choice(["1d", "2d", "2d", "3d", "a1d", "a2d", "cube"])
    dtype = source.choice(["uint8", "int16", "uint32", "int32", "float32", "float32", "float16"])
    small = dtype in ("uint8", "int16")
    fractions = small and source.random() < 0.5
    filter = source.choice(["nearest", "linear"]) if fractions or dtype.startswith("float") else "nearest"
    normalized = geometry == "cube" or source.random() < 0.4
    return Shape(f"tex{number}", "texref", geometry, dtype, source.choice([1, 2, 4]), filter, normalized, fractions)


def _surface(source: random.Random) -> Shape:
    return Shape("surf", "surfref", source.choice(["1d", "2d", "3d", "a1d", "a2d"]), source.choice(["uint32", "uint8", "int16"]),
                 source.choice([1, 2, 4]), "nearest", False, False)  # fmt: skip


# functions -------------------------------------------------------------------------------------------------------------------


def written(plan: Plan, function: Function) -> str:
    """The text of a function."""
    writer = Outside(plan.source, plan, OF_FUNCTION, False)
    writer.depth = 1
    first: Lines = []
    free = {w: list(names) for w, names in OF_FUNCTION.items()}
    for i, width in enumerate(function.takes):
        if function.recursive and i == 0:
            register = "%dp"
        elif free[width]:
            register = free[width].pop()
        else:
            continue
        first.append(
            f"ld.param.b{width} {register}, [x{i}];" if function.style == "param" else f"mov.b{width} {register}, x{i};"
        )
    start = next((r for r in OF_FUNCTION[32] if r not in free[32]), None)
    first += _filled(free, start)
    if function.lists:
        first.append("ld.param.b32 %r0, [rest];")
    body = [line for _ in range(plan.source.randint(1, 5)) for line in writer.any()]
    if function.recursive:
        body += writer.one("recursion") if plan.recursing else []
    if plan.source.random() < 0.5:
        body += writer.hazard()
    results = {w: list(names) for w, names in OF_FUNCTION.items()}
    last = []
    for i, width in enumerate(function.gives):
        register = results[width].pop(0)
        last.append(
            f"st.param.b{width} [y{i}], {register};" if function.style == "param" else f"mov.b{width} y{i}, {register};"
        )
    last += end(writer, "function")
    declared, wanted = frame([*first, *body, *last], OF_FUNCTION)
    more = [".reg .pred %qb;", *([".reg .b32 %dp;"] if function.recursive else [])]
    return "\n".join([function.heading, "{", *declared, *more, *first, *wanted, *body, *last, "}"])


def _filled(free: dict[int, list[str]], start: str | None) -> Lines:
    """Numbers for the registers that get no argument, made of one that does."""
    lines = []
    if start is None:
        start = free[32].pop()
        lines.append(f"mov.u32 {start}, %ctaid.x;")
    for i, register in enumerate(free[32]):
        lines.append(f"mad.lo.u32 {register}, {start}, {0x9E3779B1 + i}, {i};")
    lines += [f"mul.wide.u32 {register}, {start}, 0x9E3779B1;" for register in free[64]]
    lines += [f"cvt.u16.u32 {register}, {start};" for register in free[16]]
    lines += [f"setp.lt.s32 {register}, {start}, {i};" for i, register in enumerate(free[1])]
    return lines


def end(writer: Outside, what: str) -> Lines:
    """How a function or an entry ends: with an instruction that leaves it, or not."""
    way = writer.source.choices(ENDS, (40, 15, 8, 8, 5, 3, 5, 5))[0]
    if way == "call" and writer.plan.ending is None:
        way = "nothing"
    if way == "exit" and what == "function" and not writer.chance(0.3):
        way = "ret"
    last = {
        "ret": ["ret;"],
        "nothing": [],
        "label": [f"{writer.condition()} bra END;", "END:"],
        "guarded ret": [f"{writer.condition()} ret;"],
        "guarded exit": [f"{writer.condition()} exit;"],
        "barrier": ["bar.sync 0;"]
        if what == "entry"
        else ["bar.warp.sync 1;"]
        if writer.chance(0.1) and writer.plan.is_of_today
        else [],
        "exit": ["exit;"],
        "call": [f"call {writer.plan.ending};"],
    }[way]
    return [*writer.mark(f"{what} ends with {way}"), *last]


# the entry -------------------------------------------------------------------------------------------------------------------


def module(seed: int) -> tuple[Plan, str]:
    """A module and its plan. Some kinds of statements it has in any case, which differ from seed to seed."""
    source = random.Random(f"launch {seed}")
    plan = Plan(source, wanted(seed))
    writer = Outside(source, plan, OF_ENTRY, True)
    body: Lines = []
    for name in wanted(seed):
        if KINDS[name].weight and KINDS[name].allowed(writer):
            body += writer.one(name)
    target = source.randint(8, 50)
    while len(body) < target:
        body += writer.any()
        if source.random() < 0.08:
            body += writer.hazard()
    if source.random() < 0.7:
        body += writer.hazard()
    if source.random() < 0.2:
        body += ["@%p0 bra FINISH;", *writer.block(2)]
    return plan, assembled(plan, body, end(writer, "entry"))


def wanted(seed: int) -> Sequence[str]:
    """Kinds of statements that a module has to have where they are allowed: so that some seeds in a row have them all."""
    names = list(KINDS)
    return [names[(3 * seed + i) % len(names)] for i in range(3)]


def assembled(plan: Plan, body: Lines, last: Lines) -> str:
    """The text of a module."""
    registers = [f"ld.global.v4.b32 {{{', '.join(OF_ENTRY[32][i : i + 4])}}}, [%rd_in+{4 * i}];" for i in (0, 4)]
    registers += [f"ld.global.v2.b64 {{{', '.join(OF_ENTRY[64][i : i + 2])}}}, [%rd_in+{32 + 8 * i}];" for i in (0, 2)]
    registers.append(f"ld.global.v4.b16 {{{', '.join(OF_ENTRY[16])}}}, [%rd_in+64];")
    stores = [
        re.sub(r"ld(\S*) (\{.*?\}), (\[\S+\]);", r"st\1 \3, \2;", line).replace("rd_in", "rd_out") for line in registers
    ]
    registers.append("ld.global.u32 %at, [%rd_in+72];")
    stores.append("mov.u32 %at, 0;")
    for i, predicate in enumerate(OF_ENTRY[1]):
        registers.append(f"{{ .reg .b32 %b; and.b32 %b, %at, {1 << i}; setp.ne.u32 {predicate}, %b, 0; }}")
        stores.append(f"@{predicate} or.b32 %at, %at, {1 << i};")
    stores.append("st.global.u32 [%rd_out+72], %at;")
    first = [
        "ld.param.u64 %rd_in, [in]; ld.param.u64 %rd_out, [out];",
        "and.b32 %at, %gid, 31;",
        f"mad.wide.u32 %rd_in, %at, {ROW}, %rd_in; mad.wide.u32 %rd_out, %gid, {ROW}, %rd_out;",
        *registers,
    ]
    declared, computed = frame([*first, *body, *last], OF_ENTRY)
    entry = [
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 block[64])", "{",
        *declared, ".reg .b64 %rd_in, %rd_out; .reg .pred %qb;", *computed, *first, *body, "FINISH:", *stores, *last, "}", "",
    ]  # fmt: skip
    text = "\n".join([*plan.texts, *entry])
    words = set(re.findall(r"[\w%]+", text))
    variables = [f".global .b8 seen[{len(PLACES)}];", ".global .u32 mode;"]
    variables += [declaration for name, declaration in VARIABLES.items() if name in words or (name == "dynamic" and "%ds" in words)
                  or any(name in _named(w) for w in words)]  # fmt: skip
    variables += [f".global .{shape.opaque} {shape.name};" for shape in (*plan.textures, *plan.surfaces)]
    version, target = plan.era
    head = [
        f".version {version[0]}.{version[1]}",
        f".target sm_{target}",
        *([".address_size 64"] if version >= (2, 3) else []),
    ]
    return "\n".join([*head, *variables, text])


def _named(word: str) -> tuple[str, ...]:
    return {"%cs": ("cells",), "%xs": ("cells",)}.get(word, ())
