"""Launches of kernels whose registers are in flight, for programs that have the page `pages/bring.md`: see own_pages.py."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import ptxspec

#: p = the thread's 32 bytes of the data, q = its 32 bytes of the results, t = %tid.x, z = whether that is 1
PROLOGUE = """\
.reg .pred z; .reg .b64 p, q, w; .reg .b32 a, b, c, d, t;
ld.param.u64 p, [in]; ld.param.u64 q, [out]; mov.u32 t, %tid.x; mul.wide.u32 w, t, 32; add.u64 p, p, w; add.u64 q, q, w;
setp.eq.u32 z, t, 1;
"""
#: the line of the first instruction that a test adds
FIRST = 7
WAYS = [(engine, copies) for engine in ("exact", "native") for copies in ("early", "late", "each", "random:3")]


def text(body: str, module: str = "") -> str:
    """A module with an entry `k`, whose body begins at line FIRST; `module` stands before it."""
    head = f".version 9.0\n.target sm_90\n.address_size 64 {' '.join(module.split(chr(10)))}\n"
    return f"{head}.visible .entry k(.param .u64 in, .param .u64 out) {{ {PROLOGUE}{body}\nret; }}\n"


#: a module, which is launched in all ways one after the other
loaded = lru_cache(1)(ptxspec.load)


def outcome(source: str, engine: str, copies: str, block: int = 2, **how: Any) -> Any:
    """The results of a launch, 8 words a thread and 16 more, and its steps; or its error."""
    memory = ptxspec.Memory()  # in which addresses are the same in each launch
    args = [memory.put(np.arange(1, 8 * block + 1, dtype=np.uint32)), memory.put(np.zeros(24 * block, np.uint32))]
    try:
        ended = loaded(source).launch("k", block=block, args=args, engine=engine, copies=copies, **how)
    except ptxspec.LaunchError as error:
        return error
    out = memory.view(args[1], np.uint32, 24 * block)
    return out[: 8 * block].reshape(block, 8).tolist(), out[8 * block :].reshape(block, 16).tolist(), ended.steps


def results(body: str, module: str = "", **how: Any) -> list[list[int]]:
    """The results, which are the same in every way, and after as many steps."""
    outcomes = [outcome(text(body, module), *way, **how) for way in WAYS]
    assert all(same == outcomes[0] for same in outcomes), outcomes
    return outcomes[0][0]  # type: ignore[no-any-return]


class Race(NamedTuple):
    """What is reported of a race: the rule, the register, the lines of both instructions, and the numbers of both threads."""

    rule: str
    register: str
    line: int
    other: int
    threads: tuple[int, int]


def race(body: str, module: str = "", **how: Any) -> Race:
    """The report, which is the same in every way, word for word."""
    errors = [outcome(text(body, module), *way, **how) for way in WAYS]
    assert all(isinstance(error, ptxspec.LaunchError) for error in errors), errors
    assert len({str(error) for error in errors}) == 1, [str(error) for error in errors]
    return reported(errors[0])


def reported(error: ptxspec.LaunchError) -> Race:
    """What an error says of a race over a register: it has no address, and names both instructions and the page's rule."""
    assert error.where is not None and error.other is not None and error.page is not None, str(error)
    assert error.address is None and "address" not in str(error), str(error)
    assert error.page.startswith("spec/machine/asynchrony.md:"), str(error)
    assert error.other.instruction in str(error) and error.where.instruction in str(error)
    begins = {"copy not waited for": "a copy to ", "source of a copy": "a copy from "}[error.rule]
    assert error.note.startswith(begins) and error.note.endswith(
        " is in flight, and its thread has not waited for it"
    ), error.note
    register = error.note.removeprefix(begins).partition(" ")[0]
    return Race(
        error.rule, register, error.where.line, error.other.line, (error.where.thread[0], error.other.thread[0])
    )


# random programs --------------------------------------------------------------------------------------------------------

REGISTERS = ("r0", "r1", "r2", "r3", "r4", "r5")


class Plain:
    """What a random program does in one thread, once more: registers, and a list of copies that are in flight. It knows nothing of
    the page. `race` has what may be reported where an instruction breaks a rule: (rule, register, line of the other)."""

    def __init__(self, thread: int):
        self.thread, self.registers, self.sent = thread, dict.fromkeys(REGISTERS, 0), [0] * 16
        self.groups: list[list[tuple[str, tuple[str, ...], int, int]]] = [[]]
        self.race: set[tuple[str, str, int]] = set()
        self.line = 0

    def _copies(self, kind: str, registers: tuple[str, ...]) -> set[tuple[str, int]]:
        """(register, line) of the copies in flight of this kind that touch registers."""
        copies = [copy for group in self.groups for copy in group if copy[0] == kind]
        return {(r, line) for _, theirs, _, line in copies for r in theirs if r in registers}

    def reads(self, registers: tuple[str, ...]) -> bool:
        self.race |= {("copy not waited for", *found) for found in self._copies("bring", registers)}
        return not self.race

    def writes(self, registers: tuple[str, ...]) -> bool:
        self.reads(registers)
        self.race |= {("source of a copy", *found) for found in self._copies("send", registers)}
        return not self.race

    def bring(self, registers: tuple[str, ...], word: int, line: int) -> None:
        if self.writes(registers):
            self.groups[-1].append(("bring", registers, word, line))

    def send(self, registers: tuple[str, ...], word: int, line: int) -> None:
        if self.reads(registers):
            self.groups[-1].append(("send", registers, word, line))

    def wait(self, most: int) -> None:
        """All committed groups but the last so many end."""
        while len(self.groups) - 1 > most:
            for kind, registers, word, _ in self.groups.pop(0):
                for i, register in enumerate(registers):
                    if kind == "bring":
                        self.registers[register] = 8 * self.thread + word + i + 1
                    else:
                        self.sent[word + i] = self.registers[register]


class RandomProgram:
    """A program of some instructions on a few registers, and what two threads do that execute it."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.threads = [Plain(0), Plain(1)]
        self.lines = [".reg .b32 r<6>; .reg .b64 s;", "ld.param.u64 s, [out]; mul.wide.u32 w, t, 64; add.u64 s, s, w;"]
        self.words = 0
        for _ in range(self.random.randrange(4, 14)):
            line = FIRST + len(self.lines)
            self._instruction(line)
            for plain in self.threads:
                plain.line = plain.line or (line if plain.race else 0)
        self.lines += ["cp.async.wait_all;", *(f"st.global.b32 [q+{4 * i}], r{i};" for i in range(6))]
        for plain in self.threads:
            plain.groups.append([])
            plain.wait(0)

    def _instruction(self, line: int) -> None:
        draw = self.random
        guard, of = draw.choice([("", (0, 1)), ("", (0, 1)), ("@z ", (1,)), ("@!z ", (0,))])
        threads = [self.threads[k] for k in of if not self.threads[k].race]
        count = draw.choice([1, 2, 4])
        registers = tuple(draw.sample(REGISTERS, count))
        listed, vector = ("{" + ", ".join(registers) + "}", f".v{count}") if count > 1 else (registers[0], "")
        match draw.choice(["bring", "bring", "send", "add", "mov", "commit", "wait", "wait_all"]):
            case "bring":
                word = draw.randrange(0, 8, count)
                self.lines.append(f"{guard}bring.global{vector}.b32 {listed}, [p+{4 * word}];")
                for plain in threads:
                    plain.bring(registers, word, line)
            case "send" if self.words + count <= 16:
                word = -(-self.words // count) * count
                self.words = word + count
                self.lines.append(f"{guard}send.global{vector}.b32 [s+{64 + 4 * word}], {listed};")
                for plain in threads:
                    plain.send(registers, word, line)
            case "mov" | "send":
                value = draw.randrange(1000)
                self.lines.append(f"{guard}mov.b32 {registers[0]}, {value};")
                for plain in threads:
                    if plain.writes(registers[:1]):
                        plain.registers[registers[0]] = value
            case "add":
                first, second, result = draw.choices(REGISTERS, k=3)
                self.lines.append(f"{guard}add.u32 {result}, {first}, {second};")
                for plain in threads:
                    if plain.reads((first, second)) and plain.writes((result,)):
                        plain.registers[result] = plain.registers[first] + plain.registers[second] & 0xFFFFFFFF
            case "commit":
                self.lines.append(f"{guard}cp.async.commit_group;")
                for plain in threads:
                    plain.groups.append([])
            case "wait":
                most = draw.randrange(3)
                self.lines.append(f"{guard}cp.async.wait_group {most};")
                for plain in threads:
                    plain.wait(most)
            case "wait_all":
                self.lines.append(f"{guard}cp.async.wait_all;")
                for plain in threads:
                    plain.groups.append([])
                    plain.wait(0)
