"""The check for races beside the memory model's enumeration: what a launch reports is a race of some execution that the model
allows, and a program that has such an execution is reported under one of a few schedules, as a rule."""

import random

import numpy as np
import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.query.litmus.path_questions import model_of
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.verdicts import LitmusQuestion

#: how many programs are compared: by default, among slow tests, and in the long run
FEW, MORE, MANY = 40, 200, 1500
SCHEDULES = ["round-robin", *(f"random:{seed}" for seed in range(5))]
SCOPES = ["cta", "gpu"]
BYTES = {"x": 0, "y": 4}


class Program:
    """A random program of a few threads in one or two CTAs, as a litmus test and as a kernel. In both a thread goes on behind a read
    only if it has read what it waits for, or in any case."""

    def __init__(self, seed: int):
        source = random.Random(f"races {seed}")
        self.places = [source.choice([0, 0, 1]) for _ in range(source.choice([2, 2, 3]))]
        self.threads = [self._thread(source) for _ in self.places]

    def _thread(self, source: random.Random) -> list[str]:
        return [self._instruction(source, k) for k in range(source.randrange(1, 5))]

    def _instruction(self, source: random.Random, k: int) -> str:
        scope, name, value = source.choice(SCOPES), source.choice(list(BYTES)), source.choice([1, 1, 2])
        kind = source.random()
        if kind < 0.35:
            order = source.choice(["weak", "weak", f"relaxed.{scope}", f"acquire.{scope}"])
            return f"ld.{order} r{k}, {name}"
        if kind < 0.6:
            order = source.choice(["weak", "weak", f"relaxed.{scope}", f"release.{scope}"])
            return f"st.{order} {name}, {value}"
        if kind < 0.72:
            order = source.choice(["relaxed", "acquire", "release", "acq_rel"])
            return f"atom.{order}.{scope}.add r{k}, {name}, 1"
        if kind < 0.76:
            return f"red.{source.choice(['relaxed', 'release'])}.{scope}.add {name}, 1"
        if kind < 0.88:
            return f"fence.{source.choice(['sc', 'acq_rel', 'acquire', 'release'])}.{scope}"
        return f"bne r{k - 1}, 1, END" if k else "fence.acq_rel.gpu"

    def litmus(self) -> str:
        """The litmus test."""
        columns = [[*lines, "END: add r9, r9, 0"] for lines in self.threads]
        rows = [" | ".join(c[i] if i < len(c) else "" for c in columns) + " ;" for i in range(max(map(len, columns)))]
        heads = " | ".join(f"P{t}@cta {cta},gpu 0" for t, cta in enumerate(self.places))
        return "\n".join(["PTX test", "{ x = 0; y = 0; }", f"{heads} ;", *rows, "exists (x == 7)"])

    def kernel(self) -> str:
        """The kernel: the t-th thread is thread t of its CTA."""
        bodies = []
        for t, (cta, lines) in enumerate(zip(self.places, self.threads, strict=True)):
            written = "\n".join(self._ptx(t, line) for line in lines)
            bodies.append(
                f"setp.ne.u32 p, tid, {t};\nsetp.ne.or.u32 p, cta, {cta}, p;\n@p bra N{t};\n{written}\nE{t}: ret;\nN{t}:"
            )
        registers = ", ".join(f"r{k}" for k in range(10))
        return (
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 memory) {\n"
            f".reg .b32 tid, cta, {registers};\n.reg .b64 m;\n.reg .pred p, q;\n"
            "ld.param.u64 m, [memory];\nmov.u32 tid, %tid.x;\nmov.u32 cta, %ctaid.x;\n"
            + "\n".join(bodies)
            + "\nret;\n}"
        )

    def _ptx(self, thread: int, line: str) -> str:
        opcode, _, rest = line.partition(" ")
        operands = [o.strip() for o in rest.split(",")] if rest else []
        if opcode == "bne":
            return f"setp.ne.u32 q, {operands[0]}, 1;\n@q bra E{thread};"
        if opcode.startswith("fence"):
            return f"{opcode};"
        operands = [f"[m+{BYTES[o]}]" if o in BYTES else o for o in operands]
        parts = opcode.split(".")
        at = {"ld": 3, "st": 3, "atom": 3, "red": 3}[parts[0]] if parts[1] != "weak" else 2
        return f"{'.'.join([*parts[:at], 'global', *parts[at:], 'u32'])} {', '.join(operands)};"


def races_of(text: str) -> bool:
    """Whether some execution has a data race, of other operations than two weak writes of one value."""
    question = LitmusQuestion(read(text, "test"), model_of("9.1"), "9.1", 1)
    for combination in question.combinations():
        operations = combination.operations
        for candidate in question.enumeration.candidates(combination, lambda values: True):
            rows = candidate.execution.rows(contracts.races.races(question.model))
            for first, row in enumerate(rows):
                for second in range(len(operations)):
                    if row >> second & 1 and _tells(operations[first], operations[second]):
                        return True
    return False


def _tells(a: object, b: object) -> bool:
    page = contracts.operations
    return not (
        page.writes(a) and page.writes(b) and a.text.split()[-1] == b.text.split()[-1] and not page.is_strong(a)
    )


def reported(program: Program, engine: str) -> list[str]:
    """The schedules under which a launch reports a race."""
    module, results = ptxspec.load(program.kernel()), []
    for schedule in SCHEDULES:
        outcome = module.launch(
            "k",
            grid=2,
            block=4,
            args=[np.zeros(2, np.uint32)],
            engine=engine,
            schedule=schedule,
            check="race",
            findings="collect",
        )
        if outcome.findings:
            results.append(schedule)
    return results


def compared(seeds: range) -> tuple[int, int]:
    """How many of the programs have a race, and how many of these are reported."""
    racing = told = 0
    for seed in seeds:
        program = Program(seed)
        has_race, schedules = races_of(program.litmus()), reported(program, "native" if seed % 2 else "exact")
        assert has_race or not schedules, f"seed {seed}: reported under {schedules}\n{program.litmus()}"
        racing += has_race
        told += bool(schedules)
    return racing, told


@pytest.mark.slow
def test_what_is_reported_is_a_race_of_the_model() -> None:
    racing, told = compared(range(FEW))
    assert FEW / 4 < racing < FEW and told > racing * 0.9


@pytest.mark.slow
def test_what_is_reported_is_a_race_of_the_model_in_more_programs() -> None:
    racing, told = compared(range(FEW, FEW + MORE))
    assert told > racing * 0.9


@pytest.mark.long
def test_what_is_reported_is_a_race_of_the_model_in_many_programs() -> None:
    racing, told = compared(range(FEW + MORE, FEW + MORE + MANY))
    assert told > racing * 0.9
