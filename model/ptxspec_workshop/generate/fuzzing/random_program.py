"""A random program: a kernel for one CTA of 64 threads, made from a seed, with the functions that it calls.

In the end each thread stores every register and every byte of memory that it may have changed.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ptxspec_workshop.generate.cases import HEAD, Launch
from ptxspec_workshop.generate.fuzzing.alphabet import Alphabet, EveryForm
from ptxspec_workshop.generate.fuzzing.layout import (
    CELLS,
    GLOBAL,
    LOCAL,
    LOCAL_CELLS,
    NAMED,
    REGISTERS,
    SHARED,
    THREADS,
    inputs,
)
from ptxspec_workshop.generate.fuzzing.random_instruction import Pool
from ptxspec_workshop.generate.fuzzing.random_statements import Block, RandomFunction, Statement, Writer, flat


class RandomProgram:
    """A kernel `name`, with the functions it calls, as a tree of statements."""

    def __init__(self, seed: int, letters: Alphabet | EveryForm):
        self.seed, self.name = seed, f"p{seed}"
        source = random.Random(f"program {seed}")
        self.is_narrow = False
        self.functions: list[RandomFunction] = []
        for _ in range(source.choice((0, 0, 1, 2))):
            self.functions.append(_function(source, letters, f"{self.name}f{len(self.functions)}", self.functions))
        self.body = Writer(source, letters, REGISTERS, self.functions, True).program()

    @property
    def launches(self) -> list[Launch]:
        """The one launch that a program is made for."""
        return [Launch(inputs(self.seed), argument=None)]

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """The row of cells of each thread."""
        (out,) = outs
        return out

    def text(self) -> str:
        """The functions and the entry, without a module's head."""
        body = flat(self.body)
        used = [
            f
            for f in self.functions
            if f"{f.name}," in body or any(f"{f.name}," in flat(g.body) for g in self.functions)
        ]
        return "\n".join([*map(_function_text, used), entry(self.name, body, self.is_narrow), ""])

    @property
    def size(self) -> int:
        """The number of statements."""
        return sum(map(_count, [self.body, *[f.body for f in self.functions]]))

    def without(self, removed: Container[int]) -> RandomProgram:
        """The program less the statements of these numbers, counted through the tree."""
        return self._changed(lambda i, statement: [] if i in removed else [statement])

    def narrowed(self) -> RandomProgram:
        """The program without the registers and cells that none of its statements names: it neither loads nor stores these."""
        other = copy.copy(self)
        other.is_narrow = True
        return other

    def opened(self, number: int) -> RandomProgram:
        """The program with the blocks of a statement in its place."""

        def change(i: int, statement: Statement) -> Block:
            return (
                [inner for part in statement if isinstance(part, list) for inner in part]
                if i == number
                else [statement]
            )

        return self._changed(change)

    def _changed(self, change: Callable[[int, Statement], Block]) -> RandomProgram:
        counter = iter(range(1 << 30))

        def walk(block: Block) -> Block:
            statements = []
            for statement in block:
                number = next(counter)
                inner = [walk(part) if isinstance(part, list) else part for part in statement]
                statements += change(number, inner)
            return statements

        other = copy.copy(self)
        other.body = walk(self.body)
        other.functions = [f._replace(body=walk(f.body)) for f in self.functions]
        return other


def _count(block: Block) -> int:
    return sum(1 + sum(_count(part) for part in statement if isinstance(part, list)) for statement in block)


def declared(texts: Iterable[str]) -> str:
    """Counters and the like, as many as the text may have."""
    most = 1 + max([int(n) for text in texts for n in re.findall(r"%[iq](\d+)", text)], default=0)
    return f".reg .b32 %i<{most}>; .reg .pred %q<{most}>, %nan;"


def beginning(function: RandomFunction, pool: Pool, threshold: int) -> str:
    """The head of a function: registers hold what it takes, and numbers made of one of 32 bits that it takes, so that none holds
    a constant, from which an assembler could compute others."""
    lines = [function.heading, "{", f".reg .b16 %h<{len(pool[16])}>; .reg .b32 %r<{len(pool[32])}>; "
             f".reg .b64 %rd<{len(pool[64])}>; .reg .pred %p<{len(pool[1])}>;"]  # fmt: skip
    left = {width: list(registers) for width, registers in pool.items()}
    for i, w in enumerate(function.takes):
        if function.is_recursive and i == 0:
            lines.append(".reg .b32 %dp;")
        elif not left[w]:
            continue
        register = "%dp" if function.is_recursive and i == 0 else left[w].pop()
        lines.append(
            f"ld.param.b{w} {register}, [x{i}];" if function.style == "param" else f"mov.b{w} {register}, x{i};"
        )
    lines += ["ld.param.b32 %r0, [rest];"] if function.takes_list else []
    last = pool[32][-1]
    if last in left[32]:
        lines.append(f"mov.u32 {left[32].pop()}, %ctaid.x;")
    made_of = {16: "cvt.u16.u32 {}, {};", 32: "mul.lo.u32 {}, {}, 0x9E3779B1;", 64: "mul.wide.u32 {}, {}, 0x9E3779B1;"}
    for w in (32, 64, 16):
        for register in left[w]:
            lines.append(made_of[w].format(register, last))
            last = register if w == 32 else last
    lines += [f"setp.ne.u32 %p0, %r0, {threshold};", "setp.lt.s32 %p1, %r1, %r2;"]
    return "\n".join(lines)


def giving(function: RandomFunction, registers: Sequence[str]) -> str:
    """What gives the registers as a function's results."""
    form = "st.param.b{} [{}], {};" if function.style == "param" else "mov.b{} {}, {};"
    return "\n".join(map(form.format, function.gives, function.results, registers))


def _function(
    source: random.Random, letters: Alphabet | EveryForm, name: str, known: list[RandomFunction]
) -> RandomFunction:
    pool = {16: ["%h0", "%h1", "%h2", "%h3"], 32: ["%r0", "%r1", "%r2"], 64: ["%rd0", "%rd1"], 1: ["%p0", "%p1"]}
    takes = [32, *[source.choice((16, 32, 64)) for _ in range(source.randint(0, 2))]]
    gives, style = source.choice((16, 32, 32, 64)), source.choice(("reg", "param"))
    function = RandomFunction(name, takes, [gives], style)
    head = beginning(function, pool, source.getrandbits(3))
    body = Writer(source, letters, pool, known, False).block(1, None)
    end = giving(function, [source.choice(pool[gives])])
    return function._replace(head=head, body=body, end=f"{end}\nret;\n}}")


def _function_text(function: RandomFunction) -> str:
    body = flat(function.body)
    return "\n".join([function.head, declared([body]), body, function.end])


#: registers with addresses and numbers, each with the line that computes it, which may use those before
Addresses = Sequence[tuple[tuple[str, ...], str]]


class Frame(NamedTuple):
    """What stands around the body of an entry."""

    parameters: str
    declared: Sequence[str]
    addresses: Addresses
    end: str


#: the frame of a program, one CTA of so many threads
_PROGRAM = Frame(
    ".param .u64 in, .param .u64 out",
    (
        ".reg .b64 %in, %out, %at, %la, %lg, %cg, %cgs; .reg .b32 %t, %own, %cs, %xs, %xn;",
        f".shared .align 8 .b64 cell[{THREADS}]; .shared .align 8 .b64 exchanged[{THREADS}];",
        f".local .align 16 .b64 own[{LOCAL_CELLS}];",
    ),
    (
        (("%own", "%in", "%out"), "mov.u32 %own, %tid.x;"),
        (
            ("%in", "%out"),
            f"mad.wide.u32 %in, %own, {8 * CELLS}, %in; mad.wide.u32 %out, %own, {8 * CELLS}, %out;",
        ),
        (("%cg",), f"add.u64 %cg, %out, {8 * GLOBAL};"),
        (
            ("%cs", "%cgs"),
            "mov.u32 %cs, cell; mad.lo.u32 %cs, %own, 8, %cs; cvt.u64.u32 %cgs, %cs; cvta.shared.u64 %cgs, %cgs;",
        ),
        (("%la", "%lg"), "mov.u64 %la, own; cvta.local.u64 %lg, %la;"),
        (("%xs", "%xn"), "mov.u32 %xs, exchanged; add.u32 %t, %own, 5; and.b32 %t, %t, 63;"),
        (("%xs", "%xn"), "mad.lo.u32 %xn, %t, 8, %xs; mad.lo.u32 %xs, %own, 8, %xs;"),
    ),
    "ret;",
)


def computed(addresses: Addresses, text: str) -> list[str]:
    """The lines for those registers that a text names, or one of these lines."""
    lines: list[str] = []
    named = set(re.findall(r"%\w+", text))
    for names, line in reversed(addresses):
        if named.intersection(names):
            named.update(re.findall(r"%\w+", line))
            lines.insert(0, line)
    return lines


def entry(name: str, body: str, is_narrow: bool = False, frame: Frame = _PROGRAM) -> str:
    """An entry; with `is_narrow` it takes and leaves only what its body names. Only a program that is not narrow
    computes addresses that nothing names."""
    loads, stores = [], []
    named = set(re.findall(r"%\w+", body))
    has_every = frame is _PROGRAM and not is_narrow

    def has(*names: str) -> bool:
        return has_every or bool(named.intersection(names))

    for i, (register, width) in enumerate(NAMED):
        if is_narrow and register not in named:
            continue
        if width == 1:
            loads.append(f"ld.global.u32 %t, [%in+{8 * i}]; setp.ne.u32 {register}, %t, 0;")
            stores.append(f"selp.u64 %at, 1, 0, {register}; st.global.u64 [%out+{8 * i}], %at;")
        else:
            loads.append(f"ld.global.b{width} {register}, [%in+{8 * i}];")
            stores.append(f"st.global.b{width} [%out+{8 * i}], {register};")
    for i in range(LOCAL_CELLS if has("%la", "%lg") else 0):
        loads.append(f"ld.global.b64 %at, [%in+{8 * (LOCAL + i)}]; st.local.b64 [%la+{8 * i}], %at;")
        stores.append(f"ld.local.b64 %at, [%la+{8 * i}]; st.global.b64 [%out+{8 * (LOCAL + i)}], %at;")
    if has("%cg"):
        loads.append(f"ld.global.b64 %at, [%in+{8 * GLOBAL}]; st.global.b64 [%cg], %at;")
    if has("%cs", "%cgs"):
        loads.append(f"ld.global.b64 %at, [%in+{8 * SHARED}]; st.shared.b64 [%cs], %at;")
        stores.append(f"ld.shared.b64 %at, [%cs]; st.global.b64 [%out+{8 * SHARED}], %at;")
    inner = [*loads, "// the program", body, "FINISH:", *stores]
    every = [line for _, line in frame.addresses]
    return "\n".join(
        [
            f".visible .entry {name}({frame.parameters})",
            "{",
            *(f".reg .{'pred' if w == 1 else f'b{w}'} {r[0][:-1]}<{len(r)}>;" for w, r in REGISTERS.items()),
            frame.declared[0],
            declared([body]),
            *frame.declared[1:],
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];",
            *(every if has_every else computed(frame.addresses, "\n".join(inner))),
            *inner,
            frame.end,
            "}",
        ]
    )


def module(programs: Iterable[RandomProgram]) -> str:
    """A PTX module of programs."""
    return "\n".join([*HEAD, *[p.text() for p in programs]])


def made(seeds: Iterable[int], letters: Alphabet | EveryForm = EveryForm(careful=True)) -> list[RandomProgram]:
    """The programs of some seeds over some forms."""
    return [RandomProgram(seed, letters) for seed in seeds]
