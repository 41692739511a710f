"""What stands for a result that PTX leaves open, wherever interpretations are compared: the choices of the profile of the machine
that was asked."""

from __future__ import annotations

from functools import cache
from typing import Any

from ptxspec.language.forms import Form
from ptxspec.terms.core import constant, integer
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import DEVIATION, Approximation, freedoms_in, low_bits

#: the profile of the machine that was asked
PROFILE = "hopper"


def ones(freedom: Any, *_: Any) -> Any:
    """A choice for the comparison: every result that PTX leaves open is all ones (which also is a NaN)."""
    return constant((1 << freedom.attrs[1]) - 1)


@cache
def _choices() -> Profile:
    return Profile(PROFILE)


def settled(freedom: Any) -> Any:
    """What takes the place of a result that PTX leaves open: the profile's choice of an approximate one, which is a computation
    that the three must agree on like any other, and all ones for the rest. Where machines deviate, the documented result and
    twice the profile's are added, so that all three must agree on both, and on which is which."""
    if freedom.attrs[2] == DEVIATION:
        return freedom.args[0] + 2 * _choices().term(freedom)
    if isinstance(freedom.attrs[4], Approximation) and _choices().chooses(freedom):
        return _choices().term(freedom)
    return ones(freedom)


def settled_value(freedom: Any, operands: tuple[int, ...]) -> int:
    """The same for the operands' values."""
    if freedom.attrs[2] == DEVIATION:
        both = integer(operands[0]) + 2 * _choices().chosen(freedom, operands)
        return int(low_bits(both, freedom.attrs[1]).attrs[0])
    if isinstance(freedom.attrs[4], Approximation) and _choices().chooses(freedom):
        return _choices().chosen(freedom, operands)
    return int(ones(freedom).attrs[0])


def awaited(form: Form, profile: Profile | None = None) -> list[str]:
    """The approximate results of a form for which a profile has no choice: of these the comparison tells nothing."""
    profile = _choices() if profile is None else profile
    meaning = form.meaning(form.absences[-1])
    freedoms = freedoms_in(*[v for r in meaning.results for v in r.values])
    return sorted({f.attrs[0] for f in freedoms if isinstance(f.attrs[4], Approximation) and not profile.chooses(f)})
