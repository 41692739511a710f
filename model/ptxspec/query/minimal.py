"""Models as a person would choose them: which of two values is the simpler, and the simplest model that a solver has.

Values have a total order. An integer is simple if it is small (at most 16 in magnitude), then a power of two, then a row of
ones from bit 0 up, then anything else; within each of these the lesser magnitude is first, and the positive number before the
negative one. Of floating-point numbers +0 is first, then 1 and −1, powers of two, −0, numbers of few bits, other normal
numbers, infinities, subnormal numbers, and NaNs last; within these the exponent nearest to that of 1 is first. Several values
are compared from the first to the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

from ptxspec import contracts
from ptxspec.terms.core import Bool, Int, integer, variable, variable_of
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE, absolute, is_set, low_bits, number, select, sign_extend

#: magnitudes up to which an integer is simple, and the bits of a fraction that are few
SMALL, FEW = 16, 4
#: the classes of integers and of floating-point numbers that are neither simple nor special
_ORDINARY_INTEGER, _ORDINARY_NUMBER = 3, 5
#: more than any number by which the values of one class are ordered
_APART = 1 << 192
#: questions that may go without an answer before the search ends
PATIENCE = 1


class Model(Protocol):
    """What a solver found: the values of the inputs, by name."""

    @property
    def values(self) -> Mapping[str, Any]: ...


AnyModel = TypeVar("AnyModel", bound=Model)
#: asks for a model that meets a further condition: ("sat", the model), ("unsat", None), or another word for no answer
Again = Callable[[Bool], tuple[str, "AnyModel | None"]]


class Ranking(NamedTuple):
    """An order of values: the classes, the simplest first, and the number by which the values of one class are ordered."""

    classes: tuple[Bool, ...]
    key: Int


def rank(value: Any, type: Type) -> tuple[int, int]:
    """What values of a type are ordered by, the simplest first."""
    if type.kind == "pred":
        return 0, int(value)
    return divmod(_written(type)(value), _APART)


def is_simple(value: Any, type: Type) -> bool:
    """Whether a value is simpler than the ordinary ones of its type."""
    if type.kind == "pred":
        return True
    return rank(value, type)[0] < (_ORDINARY_NUMBER if is_format(type) else _ORDINARY_INTEGER)


@cache
def _written(type: Type) -> Callable[[int], int]:
    """The order of the values of a type as a Python function of their bits."""
    from ptxspec.terms.python_code import written

    order = order_of(variable("x", type.width), type)
    place = integer(len(order.classes) - 1)
    for i, condition in reversed([*enumerate(order.classes)]):
        place = select(condition, i, place)
    return written(place * _APART + order.key, "x")


def order_of(x: Int, type: Type) -> Ranking:
    """The order of the values of a type, for the raw bits x: a term or a constant. One class at least holds, and the first that
    does is that of the value."""
    return _of_numbers(x, type) if is_format(type) else _of_integers(x, type)


def is_format(type: Type) -> bool:
    """Whether a type's numbers are ordered as floating-point numbers are."""
    if not type.is_float:
        return False
    try:
        return bool(contracts.floating_point.exponent_bits(type))
    except KeyError:
        return False


def _of_integers(x: Int, type: Type) -> Ranking:
    value = x if type.kind in "ux" else sign_extend(x, type.width)
    size = absolute(value)
    ones = low_bits(x, type.width)
    small = size <= SMALL
    power = low_bits(size & (size - 1), type.width + 1) == 0
    row = (ones & (ones + 1)) == 0
    return Ranking((small, power, row, TRUE), integer(2 * size + number(value < 0)))


def _of_numbers(x: Int, type: Type) -> Ranking:
    page = contracts.floating_point
    magnitude, negative = low_bits(x, type.width - 1), number(is_set(x, type.width - 1))
    places = page.precision(type) - 1
    fraction, exponent = low_bits(x, places), page.exponent_field(x, type) - page.bias(type)
    zero, nan, infinite = page.is_zero(x, type), page.is_nan(x, type), page.is_infinite(x, type)
    subnormal = page.is_subnormal(x, type)
    normal = ~(zero | nan | infinite | subnormal)
    unit = page.bias(type) << places
    coarse = low_bits(fraction, max(places - FEW, 0)) == 0
    classes = (
        x == 0, magnitude == unit, normal & (fraction == 0), zero, normal & coarse & (absolute(exponent) <= FEW),
        normal, infinite, subnormal, nan,
    )  # fmt: skip
    turned = select(exponent > 0, 2 * exponent - 1, -2 * exponent)
    quiet = page.quiet_bit(type)
    payload = select(nan, magnitude ^ quiet, magnitude)
    return Ranking(classes, 2 * select(normal, (turned << places) + fraction, payload) + negative)


def smallest(
    model: AnyModel, types: Mapping[str, Type], again: Again[AnyModel], deadline: float
) -> tuple[AnyModel, bool]:
    """(the simplest model, whether it surely is): the first in the order of all models of a claim, value by value in the order of
    `types`. `model` is one of them, and `again` asks for others; at `deadline`, of time.monotonic(), the search ends with the
    simplest model that was met."""
    kept: Bool = TRUE
    unanswered = 0
    for name, type in types.items():
        if unanswered > PATIENCE:
            break
        search = _MinimalSearch(model, name, type, again, kept, deadline)
        search.run()
        model, unanswered = search.model, unanswered + search.unanswered
        value = model.values[name]
        kept = kept & ((search.word if value else ~search.word) if type.kind == "pred" else search.word == value)
    return model, not unanswered


class _MinimalSearch:
    """The simplest value of one input, where those before it are settled."""

    def __init__(self, model: Any, name: str, type: Type, again: Any, kept: Bool, deadline: float):
        self.model, self.name, self.type = model, name, type
        self.again, self.kept, self.deadline = again, kept, deadline
        self.word: Any = variable_of(name, type)
        self.unanswered = 0

    def run(self) -> None:
        if self.type.kind == "pred":
            if self.model.values[self.name]:
                self.meets(~self.word)
            return
        order = order_of(self.word, self.type)
        simplest, _ = rank(self.model.values[self.name], self.type)
        simpler = (condition for condition in order.classes[:simplest] if self.meets(condition))
        within = next(simpler, order.classes[simplest])
        least, greatest, step = 0, rank(self.model.values[self.name], self.type)[1], 1
        while least < greatest:  # in leaps that double, since the least is often near to where the search begins
            middle = min(least + step - 1, (least + greatest) // 2)
            if self.meets(within & (order.key <= middle)):
                greatest = rank(self.model.values[self.name], self.type)[1]
                step = greatest + 1
            elif not self.unanswered:
                least, step = middle + 1, 4 * step
            else:
                return

    def meets(self, condition: Bool) -> bool:
        """Whether a model meets a condition, which is then the one found."""
        if self.unanswered > PATIENCE or time.monotonic() >= self.deadline:
            self.unanswered += 1
            return False
        status, model = self.again(self.kept & condition)
        if status == "sat":
            self.model = model
            return True
        self.unanswered += status != "unsat"
        return False
