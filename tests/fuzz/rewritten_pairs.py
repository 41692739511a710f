"""Pairs of fragments of which one is a random rewrite of the other, right or wrong: what `prove` says of each pair beside any other
threads is held against the outcomes of random programs around it, which are enumerated.

python tests/fuzz/rewritten_pairs.py 0 20000        the pairs of these seeds
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "model"))

import ptxspec
from ptxspec.query.litmus.executions import Enumeration
from ptxspec.query.rewrites.contexts import Around, OtherThread, Rewrite, _Search
from ptxspec.query.rewrites.steps import RewriteStep, line_of
from ptxspec.query.rewrites.table import model
from ptxspec.terms.operations import ThreadPlace

BUFFERS = {"p": 4, "q": 4}
SCOPES = ("cta", "gpu", "sys")
PLACES = (ThreadPlace(0, 0, 0), ThreadPlace(1, 0, 0), ThreadPlace(2, 1, 0), ThreadPlace(3, 2, 1))
#: programs around a pair that are enumerated
AROUND = 6


class Maker:
    """Makes a pair."""

    def __init__(self, seed: int):
        self.random = random.Random(f"rewritten {seed}")
        self.count = 0

    def one(self, words: Sequence[str]) -> str:
        return self.random.choice(words)

    def instruction(self, prefix: str = "d") -> str:
        """An access or a fence, which writes another number or another register than all others."""
        self.count += 1
        where, scope, what = self.one("pq"), self.one(SCOPES), self.random.random()
        if what < 0.3:
            order = self.one(["", f".relaxed.{scope}", f".acquire.{scope}"])
            return f"ld{order}.global.u32 {prefix}{self.count}, [{where}]"
        if what < 0.6:
            order = self.one(["", f".relaxed.{scope}", f".release.{scope}"])
            return f"st{order}.global.u32 [{where}], {self.count}"
        if what < 0.7:
            order = self.one(["relaxed", "acquire", "release", "acq_rel"])
            return f"atom.{order}.{scope}.global.exch.b32 {prefix}{self.count}, [{where}], {self.count}"
        return f"fence.{self.one(['acquire', 'release', 'acq_rel', 'sc'])}.{scope}"

    def pair(self) -> tuple[list[str], list[str]]:
        left = [self.instruction() for _ in range(self.random.choice([1, 2, 2, 3]))]
        right = list(left)
        for _ in range(self.random.choice([1, 1, 1, 2])):
            self._rewrite(right)
        return left, right

    def _rewrite(self, lines: list[str]) -> None:
        at, what = self.random.randrange(len(lines)) if lines else 0, self.random.random()
        if what < 0.35 and at + 1 < len(lines):
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
        elif what < 0.6 and lines:
            lines[at] = self._changed(lines[at])
        elif what < 0.7 and lines and not lines[at].startswith(("ld", "atom")):
            del lines[at]
        elif what < 0.8:
            lines.insert(at, f"fence.{self.one(['acquire', 'release', 'acq_rel', 'sc'])}.{self.one(SCOPES)}")
        elif at + 1 < len(lines) and lines[at][:2] == lines[at + 1][:2] and lines[at][:2] in ("st", "fe"):
            del lines[at + int(what < 0.9)]

    def _changed(self, line: str) -> str:
        """An instruction with another order or scope."""
        opcode, _, operands = line.partition(" ")
        name, scope = opcode.partition(".")[0], self.one(SCOPES)
        orders = {"ld": ["", "relaxed", "acquire"], "st": ["", "relaxed", "release"],
                  "atom": ["relaxed", "acquire", "release", "acq_rel"], "fence": ["acquire", "release", "acq_rel", "sc"]}  # fmt: skip
        order = self.one(orders[name])
        kind = {"ld": ".global.u32", "st": ".global.u32", "atom": ".global.exch.b32", "fence": ""}[name]
        return f"{name}{f'.{order}.{scope}' if order else ''}{kind} {operands}".strip()

    # programs around --------------------------------------------------------------------------------------------------------

    def around(self) -> Around:
        """A program around: accesses before and behind, and one or two other threads."""
        first, last = (self._steps(self.random.choice([0, 1]), "s") for _ in range(2))
        count = self.random.choice([1, 1, 2])
        others = [
            OtherThread(
                self._steps(self.random.choice([1, 2, 3] if count == 1 else [1, 2]), "t"), self.random.choice(PLACES)
            )
            for _ in range(count)
        ]
        return Around(first, last, tuple(others))

    def _steps(self, count: int, prefix: str) -> tuple[RewriteStep, ...]:
        steps = []
        for _ in range(count):
            (step,) = line_of([self.instruction(prefix)], BUFFERS).steps
            # a name of its own for what is read, of all threads
            name = f"{prefix}{self.count}"
            steps.append(step._replace(reads=name if step.reads else ""))
        return tuple(steps)


def judged(seed: int) -> str:
    """The verdict on a pair. Raises AssertionError if the outcomes of a program around say otherwise."""
    maker = Maker(seed)
    before, after = maker.pair()
    texts = ["; ".join(lines) + ";" if lines else "mov.u32 nothing, 0;" for lines in (before, after)]
    try:
        verdict = ptxspec.prove(*texts, relation="refines", buffers=BUFFERS, context="any")
    except ValueError:
        return "nothing to compare"
    if verdict.witness is not None:
        for text, status in ((verdict.witness.left, "forbidden"), (verdict.witness.right, "allowed")):
            found = ptxspec.litmus(text)
            assert found.status == status, f"{seed}: {texts}\n{text}\n{found}"
    if verdict.status == "proved":
        lines = [line_of(cells, BUFFERS) for cells in (before, after)]
        search = _Search(model(), Rewrite(lines[0], lines[1]))
        search.enumeration = Enumeration(model())
        for _ in range(AROUND):
            around = maker.around()
            outcome = search.further(around)
            assert outcome is None, f"{seed}: {texts} is proved, and {outcome} is an outcome of {around}"
    if verdict.status == "refuted" and verdict.witness is None:
        return "refuted alone"
    return verdict.status


def main(first: int, last: int, seconds: float) -> None:
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    for seed in range(first, last):
        counts[judged(seed)] += 1
        if time.monotonic() - begun > seconds:
            break
    print(f"seeds {first} to {first + counts.total() - 1}: {dict(counts)}, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 1e9)
