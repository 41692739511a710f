"""What solvers answer: of a script, and of a claim with inputs and what a machine chooses."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

from ptxspec.terms.vocabulary import is_allowed

#: what a machine chooses of open results: (the freedom's attributes, the values of its operands) -> bits
Choices: TypeAlias = dict[tuple[Any, tuple[int, ...]], int]

#: what is tried for an open result, beside all ones
_SIMPLE = range(32)


class SolverReply(NamedTuple):
    """`status` is "sat", "unsat", "timeout" or what else a solver says; with "sat" there is a `model`, the values of the script's
    constants. `by` names the solver with its version."""

    status: str
    model: dict[str, Any]
    by: str

    @property
    def is_settled(self) -> bool:
        """Whether it is an answer."""
        return self.status in ("sat", "unsat")


class SolverAnswer(NamedTuple):
    """`status` is "sat", "unsat", "timeout" or what else the solver says; with "sat" there are the inputs' values and
    the choices. `by` names who said so, `tried` says in words what was tried, and for how long; `simplest` says that no other
    inputs are simpler."""

    status: str
    values: dict[str, Any]
    choices: Choices
    by: str = ""
    tried: str = ""
    simplest: bool = False


def installed(module: str, distribution: str) -> str:
    """The version of an installed distribution that has a module, by the name of the folder of its metadata: reading the metadata
    themselves takes longer than many questions."""
    spec = find_spec(module)
    if spec is not None and spec.origin is not None:
        folder = os.path.dirname(spec.origin)
        for place in (folder, os.path.dirname(folder)):
            for name in os.listdir(place):
                if name.startswith(f"{distribution}-") and name.endswith(".dist-info"):
                    return name[len(distribution) + 1 : -len(".dist-info")]
    from importlib.metadata import version

    return version(distribution)


def simple_choice(freedom: Any, operands: tuple[int, ...]) -> int | None:
    """Simple bits that a freedom allows for these operands: zero, all ones, or a small number; None if it allows none of them."""
    everything = (1 << freedom.attrs[1]) - 1
    candidates = dict.fromkeys((0, everything, *_SIMPLE))
    return next((bits for bits in candidates if is_allowed(freedom, operands, bits)), None)
