"""Scripts put to z3."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from ptxspec.query.solvers.answers import SolverReply, installed

#: seconds that a search is given before another, seeded differently, begins afresh; each is patient for twice as long
PATIENCE = 15.0


@cache
def version() -> str:
    """The name and the version, which is told without loading the solver."""
    return f"z3 {installed('z3', 'z3_solver')}"


def ask(text: str, constants: Mapping[str, int], timeout: float, is_float: bool) -> SolverReply:
    """What z3 says of a script with these constants (name -> width, 0 for a truth value) within `timeout` seconds. Each
    search has a context of its own, so that what was asked before has no bearing on how long it takes; and search that
    has gone astray is given up for one that begins elsewhere."""
    import z3

    begun, patience, seed = time.monotonic(), PATIENCE, 0
    while True:
        left = timeout - (time.monotonic() - begun)
        solver = loaded(text, is_float)
        solver.set("timeout", max(1, int(min(left, patience) * 1000)))
        solver.set("random_seed", seed)
        result = solver.check()
        reason = solver.reason_unknown() if result == z3.unknown else ""
        if "interrupted" in reason:  # z3 keeps the signal to itself
            raise KeyboardInterrupt
        if result == z3.sat:
            return SolverReply("sat", model_of(solver, constants), version())
        if result == z3.unsat:
            return SolverReply("unsat", {}, version())
        if left <= patience:
            late = reason in ("timeout", "canceled") or "resource" in reason
            return SolverReply("timeout" if late else reason, {}, version())
        patience, seed = patience * 2, seed + 1


def loaded(text: str, is_float: bool) -> Any:
    """A solver in a context of its own that has read a script."""
    import z3

    context = z3.Context()
    solver = z3.Solver(ctx=context) if is_float else z3.SolverFor("QF_BV", ctx=context)
    solver.from_string(text)
    return solver


def model_of(solver: Any, constants: Mapping[str, int]) -> dict[str, Any]:
    """The values of the constants in a solver's model. What the model leaves out may be anything, and is zero."""
    import z3

    model = solver.model()
    values = {declared.name(): model[declared] for declared in model.decls()}
    result: dict[str, Any] = {}
    for name, width in constants.items():
        value = values.get(name)
        if width == 0:
            result[name] = value is not None and z3.is_true(value)
        else:
            result[name] = 0 if value is None else value.as_long()
    return result
