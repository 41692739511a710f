"""A random program: a kernel for one CTA of 64 threads, made from a seed, with the functions that it calls.

In the end each thread stores every register and every byte of memory that it may have changed.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Container, Iterable, Sequence

import numpy as np

from ptxspec.evidence.kernels.cases import HEAD, Launch
from ptxspec_workshop.generate.fuzzing.alphabet import Alphabet, alphabet
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
from ptxspec_workshop.generate.fuzzing.random_statements import Block, RandomFunction, Statement, Writer, flat


class RandomProgram:
    """A kernel `name`, with the functions it calls, as a tree of statements."""

    def __init__(self, seed: int, letters: Alphabet):
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
        return "\n".join([*map(_function_text, used), _entry(self.name, body, self.is_narrow), ""])

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


def _declared(texts: Iterable[str]) -> str:
    """Counters and the like, as many as the text may have."""
    most = 1 + max([int(n) for text in texts for n in re.findall(r"%[iq](\d+)", text)], default=0)
    return f".reg .b32 %i<{most}>; .reg .pred %q<{most}>, %nan;"


def _function(source: random.Random, letters: Alphabet, name: str, known: list[RandomFunction]) -> RandomFunction:
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
    body = Writer(source, letters, pool, known, False).block(1, None)
    result = source.choice(pool[gives])
    end = f"st.param.b{gives} [y], {result};" if style == "param" else f"mov.b{gives} y, {result};"
    return RandomFunction(name, takes, gives, style, "\n".join(lines), body, f"{end}\nret;\n}}")


def _function_text(function: RandomFunction) -> str:
    body = flat(function.body)
    return "\n".join([function.head, _declared([body]), body, function.end])


def _entry(name: str, body: str, is_narrow: bool = False) -> str:
    """An entry; with `is_narrow` it takes and leaves only what its body names."""
    loads, stores = [], []
    named = set(re.findall(r"%\w+", body))

    def is_needed(*names: str) -> bool:
        return not is_narrow or bool(named.intersection(names))

    for i, (register, width) in enumerate(NAMED):
        if not is_needed(register):
            continue
        if width == 1:
            loads.append(f"ld.global.u32 %t, [%in+{8 * i}]; setp.ne.u32 {register}, %t, 0;")
            stores.append(f"selp.u64 %at, 1, 0, {register}; st.global.u64 [%out+{8 * i}], %at;")
        else:
            loads.append(f"ld.global.b{width} {register}, [%in+{8 * i}];")
            stores.append(f"st.global.b{width} [%out+{8 * i}], {register};")
    for i in range(LOCAL_CELLS if is_needed("%la", "%lg") else 0):
        loads.append(f"ld.global.b64 %at, [%in+{8 * (LOCAL + i)}]; st.local.b64 [%la+{8 * i}], %at;")
        stores.append(f"ld.local.b64 %at, [%la+{8 * i}]; st.global.b64 [%out+{8 * (LOCAL + i)}], %at;")
    if is_needed("%cg"):
        loads.append(f"ld.global.b64 %at, [%in+{8 * GLOBAL}]; st.global.b64 [%cg], %at;")
    if is_needed("%cs", "%cgs"):
        loads.append(f"ld.global.b64 %at, [%in+{8 * SHARED}]; st.shared.b64 [%cs], %at;")
        stores.append(f"ld.shared.b64 %at, [%cs]; st.global.b64 [%out+{8 * SHARED}], %at;")
    addresses = [
        (("%cg",), f"add.u64 %cg, %out, {8 * GLOBAL};"),
        (
            ("%cs", "%cgs"),
            "mov.u32 %cs, cell; mad.lo.u32 %cs, %own, 8, %cs; cvt.u64.u32 %cgs, %cs; cvta.shared.u64 %cgs, %cgs;",
        ),
        (("%la", "%lg"), "mov.u64 %la, own; cvta.local.u64 %lg, %la;"),
        (("%xs", "%xn"), "mov.u32 %xs, exchanged; add.u32 %t, %own, 5; and.b32 %t, %t, 63;"),
        (("%xs", "%xn"), "mad.lo.u32 %xn, %t, 8, %xs; mad.lo.u32 %xs, %own, 8, %xs;"),
    ]
    declared = [f".reg .{'pred' if w == 1 else f'b{w}'} {r[0][:-1]}<{len(r)}>;" for w, r in REGISTERS.items()]
    return "\n".join(
        [
            f".visible .entry {name}(.param .u64 in, .param .u64 out)",
            "{",
            *declared,
            ".reg .b64 %in, %out, %at, %la, %lg, %cg, %cgs; .reg .b32 %t, %own, %cs, %xs, %xn;",
            _declared([body]),
            f".shared .align 8 .b64 cell[{THREADS}]; .shared .align 8 .b64 exchanged[{THREADS}];",
            f".local .align 16 .b64 own[{LOCAL_CELLS}];",
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];",
            "mov.u32 %own, %tid.x;",
            f"mad.wide.u32 %in, %own, {8 * CELLS}, %in; mad.wide.u32 %out, %own, {8 * CELLS}, %out;",
            *(line for names, line in addresses if is_needed(*names)),
            *loads,
            "// the program",
            body,
            "FINISH:",
            *stores,
            "ret;",
            "}",
        ]
    )


def module(programs: Iterable[RandomProgram]) -> str:
    """A PTX module of programs."""
    return "\n".join([*HEAD, *[p.text() for p in programs]])


def made(seeds: Iterable[int], letters: Alphabet | None = None) -> list[RandomProgram]:
    """The programs of some seeds over some forms, or over those of today."""
    letters = letters or alphabet()
    return [RandomProgram(seed, letters) for seed in seeds]
