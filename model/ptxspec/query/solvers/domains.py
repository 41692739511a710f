"""Which values an input may have, as far as its condition says so by itself; and inputs as numbers from 0 up: what is gone
through, where every input is run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ptxspec.terms.core import Bool, constant, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import freedoms_in, low_bits, quotient, remainder, substitute

if TYPE_CHECKING:
    import numpy as np

Outcome = TypeVar("Outcome")

#: inputs, as a power of two, that are run so soon that solvers need not be waited for long, and the seconds that they have then
QUICK, SOON = 24, 5.0
#: the most inputs that are run, as a power of two
BITS = 32


class Domain(NamedTuple):
    """The numbers from `low` to `high`, of an input of that width."""

    low: int
    high: int
    width: int

    @property
    def size(self) -> int:
        return max(0, self.high - self.low + 1)


def domains(given: Bool, types: Mapping[str, Type]) -> dict[str, Domain]:
    """For each input the least interval that is read off comparisons of the input alone with a constant, all of which the
    condition demands. The condition may demand more: whoever goes through the values has to ask it."""
    domains = {n: Domain(0, (1 << t.width) - 1 if t.kind != "pred" else 1, t.width) for n, t in types.items()}
    for part in demanded(given):
        _narrow(domains, part)
    return domains


def demanded(given: Bool) -> list[Any]:
    """The conditions that a condition is the conjunction of."""
    stack, conjuncts = [given], []
    while stack:
        term = stack.pop()
        if term.op == "all":
            stack += term.args
        elif term.op == "not" and term.args[0].op == "any":
            stack += [~part for part in term.args[0].args]
        else:
            conjuncts.append(term)
    return conjuncts


def _narrow(domains: dict[str, Domain], part: Any) -> None:
    negated = part.op == "not"
    term = part.args[0] if negated else part
    if term.op == "var":
        value = int(not negated)
        _meet(domains, term.attrs[0], value, value)
    elif term.op in ("eq", "lt"):
        left, right = term.args
        if term.op == "eq" and right.op == "var":
            left, right = right, left
        if left.op == "var" and right.op == "const":
            bound = right.attrs[0]
            if term.op == "eq" and not negated:
                _meet(domains, left.attrs[0], bound, bound)
            elif term.op == "lt":  # left < bound, or not
                _meet(domains, left.attrs[0], bound if negated else 0, None if negated else bound - 1)
        elif term.op == "lt" and left.op == "const" and right.op == "var":  # bound < right, or not
            bound = left.attrs[0]
            _meet(domains, right.attrs[0], 0 if negated else bound + 1, bound if negated else None)


def _meet(domains: dict[str, Domain], name: str, low: int, high: int | None) -> None:
    known = domains.get(name)
    if known is not None:
        domains[name] = known._replace(
            low=max(known.low, low), high=known.high if high is None else min(known.high, high)
        )


def is_quick(claim: Bool, given: Bool, types: Mapping[str, Type]) -> bool:
    """Whether all inputs can be run within a second or so."""
    total = math.prod(domain.size for domain in domains(given, types).values())
    return total <= 1 << QUICK and not freedoms_in(claim, given)


class Numbered:
    """The inputs of these types that a condition leaves by its comparisons with constants, `total` in all. The condition may
    demand more."""

    def __init__(self, given: Bool, types: Mapping[str, Type]):
        self.types, self.domains = types, domains(given, types)
        self.total = math.prod(domain.size for domain in self.domains.values())

    def inputs(self, number: Any) -> dict[str, Any]:
        """Each input as a term over the number of an input, the last of the inputs changing fastest."""
        env: dict[str, Any] = {}
        number = low_bits(number, BITS)
        for name, domain in reversed([*self.domains.items()]):
            if domain.size & (domain.size - 1) == 0:  # fields of bits are quick
                by = domain.size.bit_length() - 1
                digit, number = low_bits(number, by) if by else constant(0), number >> by
            else:
                digit, number = remainder(number, domain.size), quotient(number, domain.size)
            value = low_bits(digit + domain.low, domain.width)
            env[name] = value != 0 if self.types[name].kind == "pred" else value
        return env

    def values(self, number: int) -> dict[str, Any]:
        """The inputs of a number."""
        values: dict[str, Any] = {}
        for name, domain in reversed([*self.domains.items()]):
            number, digit = divmod(number, domain.size)
            values[name] = bool(digit) if self.types[name].kind == "pred" else digit + domain.low
        return {name: values[name] for name in self.domains}

    def number(self, values: Mapping[str, Any]) -> int:
        """The number of the inputs that have these values."""
        number = 0
        for name, domain in self.domains.items():
            number = number * domain.size + int(values[name]) - domain.low
        return number


def in_order(work: Callable[[int], Outcome], items: Iterable[int]) -> Iterator[Outcome]:
    """What `work` returns for each item, in their order, on all the processor's cores. Who stops asking waits for those that are
    under way."""
    workers = os.cpu_count() or 1
    rest = iter(items)
    with ThreadPoolExecutor(workers) as pool:
        waiting: list[Future[Outcome]] = [pool.submit(work, item) for item in islice(rest, 2 * workers)]
        try:
            while waiting:
                outcome = waiting.pop(0).result()
                waiting += [pool.submit(work, item) for item in islice(rest, 1)]
                yield outcome
        finally:
            for future in waiting:
                future.cancel()


class InputRows:
    """Terms over inputs without open results, compiled as functions of the number of an input. They are run in chunks of at most
    2^`most` inputs: of fewer, down to `least`, if all inputs are less than 2^`parts` such chunks."""

    def __init__(self, numbered: Numbered, outputs: list[tuple[Type, Any]], most: int, parts: int, least: int):
        from ptxspec.terms.loops import Compiled, Loop

        self.numbered, self.total = numbered, numbered.total
        self.chunk = min(1 << most, max(least, self.total >> parts))
        inputs, memo = numbered.inputs(variable("%number", 32)), dict[int, Any]()
        terms = tuple((type, substitute(term, inputs, memo)) for type, term in outputs)
        self._compiled = Compiled(Loop((("%number", TYPES["u32"], True),), terms), _refuse)

    def columns(self, numbers: np.ndarray) -> list[np.ndarray]:
        """The terms' values for the inputs of some numbers."""
        return self._compiled([numbers], numbers.size)

    def numbers(self, start: int) -> np.ndarray:
        """The numbers of a chunk that begins with this one."""
        import numpy as np

        return np.arange(start, min(start + self.chunk, self.total)).astype(np.uint32)


def _refuse(freedom: Any) -> Any:
    raise AssertionError(f"{freedom.attrs[0]} is open, and is no number to run")
