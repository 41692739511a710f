"""What a question may take: time, and solvers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ptxspec.query.questions import Question
from ptxspec.query.solvers import Answer, Solver, solve
from ptxspec.query.solvers.domains import SOON, is_quick
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool

#: seconds that a solver has before inputs are drawn at random
FIRST = 3.0
#: seconds for a question whose time is over already, and for one on which a verdict waits that is reached
LEAST, LAST = 0.05, 1.0


class Means(NamedTuple):
    """The time.monotonic() at which solvers are given up, and the seconds until then as they were at first; the solver that is
    asked, and what is told how many inputs were run."""

    deadline: float
    seconds: float
    solver: Solver = "z3"
    progress: Callable[[int, int], None] | None = None

    @property
    def timeout(self) -> float:
        """The seconds that are left for solvers. Running every input may take as long again as all of these."""
        return max(LEAST, self.deadline - time.monotonic())

    @property
    def at_least(self) -> Means:
        """The same, with time for one more question."""
        return self._replace(deadline=max(self.deadline, time.monotonic() + LAST))

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.deadline

    def solve(self, claim: Bool, asked: Question, purpose: str, soon: bool = False) -> Answer:
        """What a solver says of a claim about the inputs of a question; an answer is wanted `soon`, if there is another way."""
        limit = min(self.timeout, FIRST) if soon else self.timeout
        if not soon and is_quick(claim, asked.given, asked.inputs.types):
            limit = min(limit, SOON)
        return solve(claim, asked.taken, limit, solver=self.solver, purpose=purpose)

    def no_answer(self, answer: Answer) -> Verdict:
        """The verdict where a solver neither found inputs nor showed that there are none."""
        said = "" if answer.status == "timeout" else f", which said: {answer.status}"
        return Verdict("unknown", f"no answer from {answer.tried}{said}")
