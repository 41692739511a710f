"""Launches whose reads may be stale, beside the memory model's enumeration: what they leave is an outcome that the model allows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from fault_cases import RACES, UNSEEN, Case
from test_suite import Launched

import ptxspec
from ptxspec.query.litmus.path_questions import model_of
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.verdicts import LitmusQuestion

#: how many programs are compared: by default, among slow tests, and in the long run; and under how many seeds
FEW, MORE, MANY, SEEDS = 40, 300, 1500, 40
SCOPES = ["cta", "gpu"]
BYTES = {"x": 0, "y": 4}
REGISTERS = 5


class Program:
    """A program of threads in one or two CTAs, as a litmus test and as a kernel. `columns` have its lines as the former spells them;
    `places` are the CTAs of the threads. A thread ends behind a `bne` whose register is not the number."""

    def __init__(self, columns: list[list[str]], places: list[int]):
        self.columns, self.places = columns, places

    @property
    def values(self) -> list[str]:
        """What is compared, as a condition names it."""
        registers = [f"P{t}:r{k}" for t, lines in enumerate(self.columns) for k in range(REGISTERS) if _reads(lines, k)]
        return [*registers, *BYTES]

    def litmus(self) -> str:
        columns = [[*lines, "END: add r9, r9, 0"] for lines in self.columns]
        rows = [" | ".join(c[i] if i < len(c) else "" for c in columns) + " ;" for i in range(max(map(len, columns)))]
        heads = " | ".join(f"P{t}@cta {cta},gpu 0" for t, cta in enumerate(self.places))
        condition = " /\\ ".join(f"{value} == 0" for value in self.values)
        return "\n".join(["PTX test", "{ x = 0; y = 0; }", f"{heads} ;", *rows, f"exists ({condition})"])

    @property
    def lanes(self) -> int:
        """A thread of a test stands for a warp, where barriers count it. Only its first lane accesses memory."""
        return 32 if any(line.startswith("bar") for lines in self.columns for line in lines) else 1

    def kernel(self) -> str:
        """The kernel: the t-th thread has %tid.y == t."""
        bodies = []
        for t, (cta, lines) in enumerate(zip(self.places, self.columns, strict=True)):
            stores = "".join(f"st.global.u32 [out+{4 * (REGISTERS * t + k)}], r{k};\n" for k in range(REGISTERS))
            written = "\n".join(self._ptx(t, line) for line in lines)
            bodies.append(
                f"setp.ne.u32 p, tid, {t};\nsetp.ne.or.u32 p, cta, {cta}, p;\n@p bra N{t};\n{written}\n"
                f"E{t}: @off ret;\n{stores}ret;\nN{t}:"
            )
        registers = ", ".join(f"r{k}" for k in range(10))
        return (
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 memory, .param .u64 results) {\n"
            f".reg .b32 tid, lane, cta, {registers};\n.reg .b64 m, out;\n.reg .pred p, q, off;\n"
            "ld.param.u64 m, [memory];\nld.param.u64 out, [results];\nmov.u32 tid, %tid.y;\nmov.u32 lane, %tid.x;\n"
            "mov.u32 cta, %ctaid.x;\nsetp.ne.u32 off, lane, 0;\n" + "\n".join(bodies) + "\nret;\n}"
        )

    def _ptx(self, thread: int, line: str) -> str:
        opcode, _, rest = line.partition(" ")
        operands = [o.strip() for o in rest.split(",")] if rest else []
        if opcode == "bne":
            return f"setp.ne.u32 q, {operands[0]}, {operands[1]};\n@q bra E{thread};"
        if opcode.startswith(("fence", "bar")):
            return f"{line};"
        parts, operands = opcode.split("."), [f"[m+{BYTES[o]}]" if o in BYTES else o for o in operands]
        at = 3 if parts[1] not in ("weak", "volatile") else 2
        return f"@!off {'.'.join([*parts[:at], 'global', *parts[at:], 'u32'])} {', '.join(operands)};"

    def allowed(self) -> set[tuple[int, ...]] | None:
        """The outcomes that the model allows; None if it says nothing of the program."""
        question = LitmusQuestion(read(self.litmus(), "test"), model_of("9.1"), "9.1", 1)
        if question.has_mixed_race():
            return None
        return {
            tuple(final[value] for value in question.asked)
            for combination in question.combinations()
            for candidate in question.enumeration.candidates(combination, lambda values: True)
            for final in question._final(candidate)
        }

    def outcome(self, module: ptxspec.Module, schedule: str) -> tuple[int, ...]:
        """What a launch leaves."""
        memory, results = np.zeros(2, np.uint32), np.zeros(REGISTERS * len(self.columns), np.uint32)
        block = self.lanes, len(self.columns)
        module.launch("k", grid=2, block=block, args=[memory, results], engine="exact", schedule=schedule)
        names = {
            f"P{t}:r{k}": int(results[REGISTERS * t + k]) for t in range(len(self.columns)) for k in range(REGISTERS)
        }
        names |= {name: int(memory[at // 4]) for name, at in BYTES.items()}
        return tuple(names[value] for value in self.values)

    def outcomes(self, seeds: range) -> set[tuple[int, ...]]:
        module = ptxspec.load(self.kernel())
        return {self.outcome(module, f"weakest:{seed}") for seed in seeds}


def _reads(lines: list[str], k: int) -> bool:
    return any(f" r{k}," in line and not line.startswith(("bne", "st", "red")) for line in lines)


def drawn(seed: int) -> Program:
    """A random program."""
    source = random.Random(f"stale {seed}")
    places = [source.choice([0, 0, 1]) for _ in range(source.choice([2, 2, 3]))]
    most = 5 if len(places) == 2 else 3
    return Program([[_line(source, k) for k in range(source.randrange(1, most))] for _ in places], places)


def _line(source: random.Random, k: int) -> str:
    scope, name, value = source.choice(SCOPES), source.choice(list(BYTES)), source.choice([1, 1, 2])
    kind = source.random()
    if kind < 0.4:
        return f"ld.{source.choice(['weak', 'weak', f'relaxed.{scope}', f'acquire.{scope}'])} r{k}, {name}"
    if kind < 0.66:
        return f"st.{source.choice(['weak', 'weak', f'relaxed.{scope}', f'release.{scope}'])} {name}, {value}"
    if kind < 0.76:
        order = source.choice(["relaxed", "acquire", "release", "acq_rel"])
        return f"atom.{order}.{scope}.add r{k}, {name}, 1"
    if kind < 0.8:
        return f"red.{source.choice(['relaxed', 'release'])}.{scope}.add {name}, 1"
    if kind < 0.9:
        return f"fence.{source.choice(['sc', 'acq_rel', 'acquire', 'release'])}.{scope}"
    return source.choice([f"bne r{k - 1}, 1, END" if k else "fence.acq_rel.gpu", "bar.sync 0"])


def compared(programs: range) -> tuple[int, int]:
    """How many outcomes are allowed, and how many of these are left by some launch."""
    allowed = left = 0
    for seed in programs:
        program = drawn(seed)
        outcomes, possible = program.outcomes(range(SEEDS)), program.allowed()
        assert possible is not None
        assert outcomes <= possible, f"{seed}: {program.values} {outcomes - possible}\n{program.litmus()}"
        allowed, left = allowed + len(possible), left + len(outcomes)
    return allowed, left


@pytest.mark.slow
def test_what_launches_leave_is_allowed() -> None:
    allowed, left = compared(range(FEW))
    assert left > allowed * 0.7


@pytest.mark.slow
def test_what_launches_leave_is_allowed_in_more_programs() -> None:
    allowed, left = compared(range(FEW, FEW + MORE))
    assert left > allowed * 0.7


@pytest.mark.long
def test_what_launches_leave_is_allowed_in_many_programs() -> None:
    allowed, left = compared(range(FEW + MORE, FEW + MORE + MANY))
    assert left > allowed * 0.7


#: shapes, the number of their outcomes, and how many of these launches leave
SHAPES: dict[str, tuple[Any, ...]] = {
    "message passing": (["st.weak x, 1", "st.weak y, 1"], ["ld.weak r0, y", "ld.weak r1, x"], 4, 4),
    "message passing, released": (
        ["st.weak x, 1", "st.release.gpu y, 1"], ["ld.acquire.gpu r0, y", "ld.weak r1, x"], 3, 3,
    ),
    "store buffering": (["st.relaxed.gpu x, 1", "ld.relaxed.gpu r0, y"], ["st.relaxed.gpu y, 1", "ld.relaxed.gpu r0, x"], 4, 4),
    "store buffering, fenced": (
        ["st.weak x, 1", "fence.sc.gpu", "ld.weak r0, y"], ["st.weak y, 1", "fence.sc.gpu", "ld.weak r0, x"], 3, 3,
    ),
    "coherence of reads": (["st.relaxed.gpu x, 1"], ["ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, x"], 3, 3),
    "no coherence of weak reads": (["st.weak x, 1"], ["ld.weak r0, x", "ld.weak r1, x"], 4, 4),
    "load buffering": (["ld.relaxed.gpu r0, x", "st.relaxed.gpu y, 1"], ["ld.relaxed.gpu r0, y", "st.relaxed.gpu x, 1"], 4, 3),
    "two writers, weak": (["st.weak x, 1", "st.weak y, 2"], ["st.weak y, 1", "st.weak x, 2"], 4, 4),
    "two writers": (
        ["st.relaxed.gpu x, 1", "st.relaxed.gpu y, 2"], ["st.relaxed.gpu y, 1", "st.relaxed.gpu x, 2"], 4, 3,
    ),
    "a barrier": (["st.weak x, 1", "bar.sync 0"], ["bar.sync 0", "ld.weak r0, x"], 1, 1),
    "an earlier read that acquires": (
        ["st.weak x, 1", "st.release.gpu y, 1"],
        ["st.relaxed.gpu y, 2"], ["ld.relaxed.gpu r0, y", "ld.acquire.gpu r1, y", "ld.weak r2, x"], 18, 18,
    ),
    "two releases at one location": (
        ["st.weak x, 1", "st.release.gpu y, 1", "st.release.cta y, 2", "st.relaxed.gpu y, 3"],
        ["ld.acquire.gpu r0, y", "bne r0, 3, END", "ld.weak r1, x"], 4, 4,
    ),
    "independent reads": (
        ["st.relaxed.gpu x, 1"], ["st.relaxed.gpu y, 1"], ["ld.acquire.gpu r0, x", "ld.acquire.gpu r1, y"],
        ["ld.acquire.gpu r0, y", "ld.acquire.gpu r1, x"], 16, 16,
    ),
}  # fmt: skip


@pytest.mark.sample(8)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str) -> None:
    """Launches leave what the model allows, but for what only a read of a later write leaves, or a write before an earlier one."""
    *columns, count, left = SHAPES[shape]
    places = [0] * len(columns) if shape == "a barrier" else [k % 2 for k in range(len(columns))]
    program = Program(columns, places)
    possible, outcomes = program.allowed(), program.outcomes(range(400 if count > 9 else 100))
    assert possible is not None and outcomes <= possible
    assert (len(possible), len(outcomes)) == (count, left)


#: kernels with a race that are right whatever they read, or go wrong rarely
RARELY_WRONG = {
    "plain_poll", "last_block_acquire", "look_back_packed", "spin_lock_plain_unlock", "sequence_lock", "ring", "once", "dsmem_exit",
    "surface_texels", "strong_elements",
}  # fmt: skip
SUITE = [*(case for group in RACES.values() for case in group), *UNSEEN]


def is_right(case: Case, fault: bool, seed: int) -> bool:
    """Whether a launch of a kernel of the suite leaves what it should."""
    launched = Launched(case, fault, "exact", f"weakest:{seed}", None)
    if launched.error is not None:
        return False
    try:
        launched.check_results()
    except AssertionError:
        return False
    return True


@pytest.mark.sample(3)
@pytest.mark.one_in(12)
@pytest.mark.parametrize("case", SUITE, ids=lambda case: case.name)
def test_kernels_of_the_suite(case: Case) -> None:
    """The right kernel is right under each seed, and the other one is wrong under one of them."""
    assert all(is_right(case, False, seed) for seed in range(4))
    assert case.name in RARELY_WRONG or not all(is_right(case, True, seed) for seed in range(4))


def test_a_seed_gives_the_same_again() -> None:
    program = Program([["st.weak x, 1", "st.weak y, 1"], ["ld.weak r0, y", "ld.weak r1, x"]], [0, 1])
    module = ptxspec.load(program.kernel())
    outcomes = [program.outcome(module, f"weakest:{seed}") for seed in range(20)]
    assert outcomes == [program.outcome(module, f"weakest:{seed}") for seed in range(20)]
    assert len(set(outcomes)) > 2
    assert program.outcome(module, "weakest") == program.outcome(module, "weakest:0")


def test_what_is_not_done_is_refused() -> None:
    module = ptxspec.load(Program([["st.weak x, 1"]], [0]).kernel())
    args = [np.zeros(2, np.uint32), np.zeros(REGISTERS, np.uint32)]
    with pytest.raises(ValueError, match="the engine is 'exact'"):
        module.launch("k", args=args, schedule="weakest:1")
    with pytest.raises(ValueError, match="nothing is checked"):
        module.launch("k", args=args, schedule="weakest:1", engine="exact", check="race")
    with pytest.raises(ValueError, match="weakest:SEED"):
        module.launch("k", args=args, schedule="weakest:x", engine="exact")
    assert not args[0].any()


def test_observers_are_told_what_was_read() -> None:
    program = Program([["st.weak x, 1"], ["ld.weak r0, x"]], [0, 1])
    module, told = ptxspec.load(program.kernel()), set()
    for seed in range(20):
        trace = ptxspec.Trace(kinds=[ptxspec.EventKind.READ])
        args = [np.zeros(2, np.uint32), np.zeros(2 * REGISTERS, np.uint32)]
        module.launch("k", 2, (1, 2), args, engine="exact", schedule=f"weakest:{seed}", observers=[trace])
        (event,) = [event for event in trace.events if event.space == "global"]
        assert event.value == args[1][REGISTERS]
        told.add(event.value)
    assert told == {0, 1}


def test_a_read_that_acquires_does_so_for_earlier_ones() -> None:
    """Of a location: what an earlier strong read has read from is acquired too, and then nothing races."""
    reader = ["ld.relaxed.gpu r0, y", "ld.acquire.gpu r1, y", "bne r0, 1, END", "ld.weak r2, x"]
    program = Program([["st.weak x, 1", "st.release.gpu y, 1"], ["st.relaxed.gpu y, 2"], reader], [0, 1, 0])
    module, looked = ptxspec.load(program.kernel()), 0
    for seed in range(60):
        args = [np.zeros(2, np.uint32), np.zeros(3 * REGISTERS, np.uint32)]
        outcome = module.launch("k", 2, (1, 3), args, schedule=f"random:{seed}", check="race", findings="collect")
        assert not outcome.findings
        looked += args[1][2 * REGISTERS :][:2].tolist() == [1, 2]
    assert looked > 1
