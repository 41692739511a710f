"""Questions after a simpler model of a formula for which a solver has found one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ptxspec.query.solvers.formula import Formula
from ptxspec.query.solvers.z3_solver import loaded, model_of
from ptxspec.terms.core import Bool

#: milliseconds for one question
EACH = 500


class Found(NamedTuple):
    """A model of a formula, and who found it."""

    formula: Formula
    model: Mapping[str, Any]
    by: str

    @property
    def values(self) -> dict[str, Any]:
        """The values of the inputs."""
        return self.formula.values(self.model)


class Simpler:
    """Asks z3 for models of a formula that meet a further condition on the inputs, which has no freedom in it."""

    def __init__(self, formula: Formula, by: str):
        self.formula, self.by = formula, by

    @cached_property
    def solver(self) -> Any:
        return loaded(self.formula.text(), self.formula.is_float)

    def __call__(self, condition: Bool) -> tuple[str, Found | None]:
        """("sat", a model) or ("unsat", None), or another word for no answer."""
        import z3

        solver, holds = self.solver, self.formula.also(condition)
        solver.push()
        try:
            solver.add(z3.parse_smt2_string(holds, ctx=solver.ctx))
            solver.set("timeout", EACH)
            status = solver.check()
            if status != z3.sat:
                return str(status), None
            return "sat", Found(self.formula, model_of(solver, self.formula.constants), self.by)
        finally:
            solver.pop()
