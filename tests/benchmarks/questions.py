"""How long questions to the prover take: seconds of the processor, so that other work counts little.

    python tests/benchmarks/questions.py [--json PATH] [--count 1000]

The questions are claims of one instruction on one side, each as a page under proofs/ states it and each with the other side's
result inverted, as many as are asked for, and no answer that was kept is taken. Then the same again with the answers of before.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import startup
from startup import Figure, of_child, show

import ptxspec
from ptxspec.query.identities import Identity, load_all
from ptxspec.query.questions import question
from ptxspec.query.solvers import kept

#: a question that no page states, of one instruction on either side
COLD = ["-m", "ptxspec", "prove", "clz.b32 d, a;", "bfind.shiftamt.u32 d, a;", "--assume"]
#: seconds for one question among many
TIMEOUT = 20.0


def inverted(claim: Identity) -> Identity:
    """The claim with the right side's results inverted, which is to be refuted, or is about an open result."""
    _, types, outputs = question(claim.left, claim.right)
    kinds = {n: "pred" if types[n].kind == "pred" else f"b{max(types[n].width, 16)}" for n in outputs}
    return claim._replace(right=claim.right + "".join(f"not.{kinds[n]} {n}, {n};" for n in outputs))


def questions() -> Iterator[Identity]:
    """Claims of one instruction on one side, and what is made of them, without end. Those about memory or warps are others."""
    for claim in itertools.cycle([claim for claim in load_all() if claim.how.are_plain]):
        sides, _, outputs = question(claim.left, claim.right)
        if any(len(side.steps) == 1 for side in sides):
            yield claim
            if all(type.width <= 64 and "." not in name for name, type in outputs.items()):  # which `not` can take
                yield inverted(claim)


def many(count: int) -> list[Figure]:
    """So many questions in this process, twice."""
    asked = list(itertools.islice(questions(), count))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        answers: Counter[str] = Counter()
        for what in ("no answer kept", "answers kept"):
            with kept.kept_at(Path(folder) / "answers.sqlite"):
                began, wall = time.process_time(), time.perf_counter()
                for claim in asked:
                    verdict = ptxspec.prove(
                        claim.left, claim.right, assume=claim.assume, profile=claim.profile, timeout=TIMEOUT
                    )
                    answers[verdict.status] += 1
                found.append(Figure(f"{count} questions, {what}", time.process_time() - began, "s", 60.0))
                found.append(Figure("  wall clock", time.perf_counter() - wall, "s", None))
    print(dict(answers))
    return found


def cold() -> list[Figure]:
    """A question of one instruction to a new process, with an answer that was kept and without."""
    startup_figures = []
    numbers = itertools.count(time.time_ns() % 10**6)
    of_child([*COLD, "a != 0"], startup.environment())
    for what, conditions in (
        ("ptxspec prove, not asked before", (f"a > {next(numbers)}" for _ in range(5))),
        ("ptxspec prove, asked before", ("a != 0" for _ in range(5))),
    ):
        best = min(of_child([*COLD, condition], startup.environment())[0] for condition in conditions)
        startup_figures.append(Figure(what, best, "s, whole process", 0.5))
    return startup_figures


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args(arguments)
    figures = [*cold(), *many(given.count)]
    show("questions to the prover", figures)
    if given.json:
        given.json.write_text(
            json.dumps({"figures": [{**one._asdict(), "kept": one.kept} for one in figures]}, indent=1)
        )


if __name__ == "__main__":
    main()
