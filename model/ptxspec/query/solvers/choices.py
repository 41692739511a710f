"""What a machine chooses of the results that PTX leaves open."""

from __future__ import annotations

from typing import Any, TypeAlias

from ptxspec.terms.vocabulary import is_allowed

#: (the freedom's attributes, the values of its operands) -> bits
Choices: TypeAlias = dict[tuple[Any, tuple[int, ...]], int]

#: what is tried for an open result, beside all ones
_SIMPLE = range(32)


def simple_choice(freedom: Any, operands: tuple[int, ...]) -> int | None:
    """Simple bits that a freedom allows for these operands: zero, all ones, or a small number; None if it allows none of them."""
    everything = (1 << freedom.attrs[1]) - 1
    tried = dict.fromkeys((0, everything, *_SIMPLE))
    return next((bits for bits in tried if is_allowed(freedom, operands, bits)), None)
