"""Questions to solvers, and their answers.

`formula` writes a claim as an SMT-LIB script; `z3_solver` and `bitwuzla_solver` ask one solver, `portfolio` several,
each in a process that is ended when another has answered. `minimal` makes models plain, `kept` keeps answers
between runs, `journal` records what was asked. `solve` is the entry. What solvers do not settle, `exhaustion` runs on
every input."""

from ptxspec.base.options import Solver
from ptxspec.query.solvers.answers import Choices, SolverAnswer
from ptxspec.query.solvers.solve import solve

__all__ = ["Choices", "Solver", "SolverAnswer", "solve"]
