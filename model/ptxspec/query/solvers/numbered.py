"""The inputs of a question as numbers from 0 up: what is gone through, where every input is run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from ptxspec.query.solvers.domains import domains
from ptxspec.terms.core import Bool, constant
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import low_bits, quotient, remainder

Found = TypeVar("Found")
#: the most inputs that are run, as a power of two
BITS = 32


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
        found: dict[str, Any] = {}
        for name, domain in reversed([*self.domains.items()]):
            number, digit = divmod(number, domain.size)
            found[name] = bool(digit) if self.types[name].kind == "pred" else digit + domain.low
        return {name: found[name] for name in self.domains}

    def number(self, values: Mapping[str, Any]) -> int:
        """The number of the inputs that have these values."""
        found = 0
        for name, domain in self.domains.items():
            found = found * domain.size + int(values[name]) - domain.low
        return found


def in_order(work: Callable[[int], Found], items: Iterable[int]) -> Iterator[Found]:
    """What `work` returns for each item, in their order, on all the processor's cores. Who stops asking waits for those that are
    under way."""
    workers = os.cpu_count() or 1
    rest = iter(items)
    with ThreadPoolExecutor(workers) as pool:
        waiting: list[Future[Found]] = [pool.submit(work, item) for item in islice(rest, 2 * workers)]
        try:
            while waiting:
                found = waiting.pop(0).result()
                waiting += [pool.submit(work, item) for item in islice(rest, 1)]
                yield found
        finally:
            for one in waiting:
                one.cancel()
