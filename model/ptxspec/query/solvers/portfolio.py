"""Which solver is asked: one, or several side by side, of which the first that answers is believed and the others are ended."""

from __future__ import annotations

import selectors
import time
from collections.abc import Mapping
from typing import get_args

import ptxspec.query.solvers.bitwuzla_solver as bitwuzla_solver
import ptxspec.query.solvers.worker as worker
import ptxspec.query.solvers.z3_solver as z3_solver
from ptxspec.base.options import Solver
from ptxspec.query.solvers.answers import Said

#: seconds that z3 has alone, in this process, before others are started beside it
HEAD_START = 0.5


def members(solver: Solver) -> tuple[str, ...]:
    """The solvers that are asked. Raises ValueError for a name that is none, and for Bitwuzla by name where it is not
    installed."""
    if solver not in get_args(Solver):
        raise ValueError(f"no solver is called {solver!r}; there are {', '.join(get_args(Solver))}")
    if solver == "bitwuzla" and not bitwuzla_solver.is_installed():
        raise bitwuzla_solver.MissingSolver(bitwuzla_solver.INSTALL)
    if solver == "portfolio":
        return ("z3", "bitwuzla") if bitwuzla_solver.is_installed() else ("z3",)
    return (solver,)


def versions(solver: Solver) -> str:
    """The solvers that are asked, with their versions."""
    known = {"z3": z3_solver.version, "bitwuzla": bitwuzla_solver.version}
    return " and ".join(known[name]() for name in members(solver))


def note(solver: Solver) -> str:
    """What a portfolio lacks on this machine, or nothing."""
    return bitwuzla_solver.INSTALL if solver == "portfolio" and not bitwuzla_solver.is_installed() else ""


def ask(text: str, constants: Mapping[str, int], timeout: float, is_float: bool, solver: Solver = "z3") -> Said:
    """What is said of a script with these constants (name -> width, 0 for a truth value) within `timeout` seconds."""
    names = members(solver)
    if names == ("z3",):
        return z3_solver.ask(text, constants, timeout, is_float)
    begun = time.monotonic()
    if "z3" in names:
        said = z3_solver.ask(text, constants, min(HEAD_START, timeout), is_float)
        if said.is_settled or timeout <= HEAD_START:
            return said
    left = max(0.001, timeout - (time.monotonic() - begun))
    return _raced(names, text, constants, left, is_float)


def _raced(names: tuple[str, ...], text: str, constants: Mapping[str, int], timeout: float, is_float: bool) -> Said:
    """The first answer of several processes; without one, what the last of them said."""
    deadline = time.monotonic() + timeout
    running = {}
    last = Said("timeout", {}, " and ".join(names))
    with selectors.DefaultSelector() as waiting:
        try:
            for name in names:
                process = running[name] = worker.started(name, text, constants, timeout, is_float)
                assert process.stdout is not None
                waiting.register(process.stdout, selectors.EVENT_READ, name)
            while waiting.get_map():
                ready = waiting.select(max(0.0, deadline + 1.0 - time.monotonic()))
                if not ready:
                    return last
                for key, _ in ready:
                    waiting.unregister(key.fileobj)
                    stream = running[key.data].stdout
                    assert stream is not None
                    said = worker.read(stream, key.data)
                    if said.is_settled:
                        return said
                    last = said if said.status != "timeout" else last
        finally:
            for process in running.values():
                worker.ended(process)
    return last
