"""Scripts put to Bitwuzla, where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ptxspec.query.solvers.answers import SolverReply, installed

#: what to do where it is missing
INSTALL = "Bitwuzla is not installed; `pip install 'ptxspec[solvers]'` installs it"


class MissingSolver(ValueError):
    """A solver that was asked for by name is not installed."""


@cache
def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("bitwuzla") is not None


@cache
def version() -> str:
    """The name and the version, which is told without loading the solver."""
    return f"bitwuzla {installed('bitwuzla', 'bitwuzla')}"


def ask(text: str, constants: Mapping[str, int], timeout: float, seed: int = 0) -> SolverReply:
    """What Bitwuzla says of a script with these constants (name -> width, 0 for a truth value) within `timeout` seconds. It takes
    floating-point numbers of 16, 32, 64 and 128 bits as IEEE 754 has them, and refuses others: bf16, and those with more
    room for the exponent that a flush of subnormal results needs."""
    import bitwuzla

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    options.set(bitwuzla.Option.TIME_LIMIT_PER, max(1, int(timeout * 1000)))
    options.set(bitwuzla.Option.SEED, seed)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    try:
        parser.parse(text, True, False)
    except bitwuzla.BitwuzlaException as refused:  # it knows formats of 16, 32, 64 and 128 bits, as IEEE 754 has them
        return SolverReply(" ".join(str(refused).split()), {}, version())
    solver = parser.bitwuzla()
    result = solver.check_sat()
    if result == bitwuzla.Result.UNSAT:
        return SolverReply("unsat", {}, version())
    if result != bitwuzla.Result.SAT:
        return SolverReply("timeout", {}, version())
    terms = {_name(term): term for term in parser.get_declared_funs()}
    model: dict[str, Any] = {}
    for name, width in constants.items():
        value = solver.get_value(terms[name]).value(10) if width else solver.get_value(terms[name]).value()
        model[name] = int(value) if width else bool(value)
    return SolverReply("sat", model, version())


def _name(term: Any) -> str:
    symbol = str(term.symbol())
    return symbol[1:-1] if symbol.startswith("|") else symbol
