"""What a refinement demands of each input: conditions without open results, and results that must be within a bound.

The left side of a refinement may choose what it leaves open. Where an open result is the whole of what a register holds in the
end, it is chosen as the right side has it, and the demand is that this is allowed. An open result that goes into a further
computation is chosen as a profile does; whether that was a good choice shows where the results are compared. A demand that is
met by such choices is a behaviour of the left side; one that is not met by them may be met by others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ptxspec.query.undefined import needed
from ptxspec.terms.core import Bool, make, truth
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import DEVIATION, Approximation, condition, low_bits, rebuilt

#: parts of one register, after which it is not looked into any more: selections of one another double them each time
MOST_PARTS = 256


class NotChosen(Exception):
    """An open result goes into a further computation, and nothing says how it is to be chosen; or a register has too many
    parts."""


class Near(NamedTuple):
    """That some bits must be within the bound of an approximate result, where this is `reached`: the freedom and the bits are
    terms without open results below them."""

    reached: Bool
    freedom: Any
    bits: Any


class Demands(NamedTuple):
    """That whatever is not approximate is as it must be, and the approximate results."""

    plain: Bool
    near: tuple[Near, ...]


class _Part(NamedTuple):
    """What a register holds under a condition: an open result as it is, or a term."""

    condition: Bool
    term: Any
    is_open: bool


def demands(
    left: Mapping[str, Any], right: Mapping[str, Any], compared: Mapping[str, Type], profile: Profile
) -> Demands:
    """The demands that the left side allows what the right one, which has no open results, leaves in the registers compared.
    `profile` chooses what goes into further computations of the left side. Raises NotChosen."""
    settled = _Settled(profile)
    plain: Any = truth(True)
    near, open_ones = [], []
    for name, term in left.items():
        type, wanted = compared[name], right[name]
        if type.kind == "pred":
            plain = plain & (settled(truth(term)) == truth(wanted))
            continue
        wanted = low_bits(wanted, type.width)
        for number, part in enumerate(_parts(low_bits(term, type.width))):
            if number == MOST_PARTS:
                raise NotChosen(name)
            here = settled(part.condition)
            if not part.is_open:
                plain = plain & (~here | (settled(part.term) == wanted))
                continue
            freedom = make("freedom", tuple(map(settled, part.term.args)), part.term.attrs)
            bits = low_bits(wanted, freedom.attrs[1])
            plain = plain & (~here | (bits == wanted))
            open_ones.append((here, freedom, bits))
    needs = needed(left.values())
    inner = [(settled(needs[id(f)]), *made) for f, made in settled.made.items()]
    for here, freedom, bits in (*open_ones, *inner):
        allowed = freedom.attrs[4]
        if freedom.attrs[2] == DEVIATION:  # what is documented
            plain = plain & (~here | (bits == freedom.args[0]))
        elif isinstance(allowed, Approximation):
            near.append(Near(here, freedom, bits))
        elif allowed is not None:
            plain = plain & (~here | condition(allowed, bits, freedom.args))
    return Demands(truth(plain & _consistent([*open_ones, *inner])), tuple(near))


def _parts(term: Any) -> Iterator[_Part]:
    """What a register holds, by the conditions under which it does: what is selected, cut and known to be within bounds is looked
    through, as `terms.exact.allows` does."""
    stack = [(term, truth(True), None)]
    while stack:
        one, here, kept = stack.pop()
        if one.op == "select":
            stack += [(one.args[1], here & one.args[0], kept), (one.args[2], here & ~one.args[0], kept)]
        elif one.op in ("low", "bounded"):
            cut = one.attrs[0] if one.op == "low" else kept
            stack.append((one.args[0], here, cut if kept is None else min(kept, cut)))
        elif one.op == "freedom" and (kept is None or kept >= one.attrs[1]):
            yield _Part(here, one, True)
        else:
            yield _Part(here, one if kept is None else low_bits(one, kept), False)


class _Settled:
    """Terms with all open results chosen; `made` has what was chosen, by the freedom as it stood: the freedom with its operands
    settled, and the bits."""

    def __init__(self, profile: Profile):
        self.profile = profile
        self.made: dict[Any, tuple[Any, Any]] = {}
        self._memo: dict[int, Any] = {}
        self._kept: list[Any] = []

    def __call__(self, term: Any) -> Any:
        self._kept.append(term)  # the memo goes by id
        return rebuilt(term, self._chosen, self._memo)

    def _chosen(self, term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "freedom":
            return None
        freedom = make("freedom", args, term.attrs)
        allowed, width = freedom.attrs[4], freedom.attrs[1]
        if self.profile.chooses(freedom):
            bits = self.profile.term(freedom)
        elif isinstance(allowed, Approximation) and allowed.rounded is not None:
            bits = low_bits(allowed.rounded(*args), width)
        else:
            raise NotChosen(freedom.attrs[0])
        self.made[term] = freedom, bits
        return bits


def _consistent(made: list[tuple[Bool, Any, Any]]) -> Bool:
    """That one freedom has one choice for equal operands."""
    holds: Any = truth(True)
    for (here, one, x), (there, other, y) in itertools.combinations(made, 2):
        if one.attrs == other.attrs:
            apart: Any = ~(here & there) | (x == y)
            for a, b in zip(one.args, other.args, strict=True):
                apart = apart | (a != b)
            holds = holds & apart
    return truth(holds)
