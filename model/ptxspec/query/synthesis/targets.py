"""The fragment that is to be equalled: its inputs, its result, and what this is on vectors of operands."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any, NamedTuple

import numpy as np

from ptxspec.query.assumptions import assumption
from ptxspec.query.fragments import SymbolicFragment, Unsupported, read_fragment
from ptxspec.query.questions import Inputs, inputs_of, taken_types
from ptxspec.query.repeated import known_profile
from ptxspec.query.synthesis.templates import MACHINE
from ptxspec.query.trials import combinations
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.loops import storage
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import low_bits

#: vectors of simple operands, of random ones, and how many are drawn for these at most
SIMPLE, RANDOM, DRAWN = 96, 96, 10_000


class Target(NamedTuple):
    """`text` is the fragment, `result` the register that counts, `type` its type; `names` are the inputs in order, `types`
    theirs; `rows` are operands, and `wanted` what the result is for each."""

    text: str
    result: str
    type: Type
    names: tuple[str, ...]
    types: dict[str, Type]
    assume: str | None
    rows: list[dict[str, Any]]
    wanted: list[Any]
    fragment: SymbolicFragment

    @property
    def width(self) -> int:
        return 0 if self.type.kind == "pred" else self.type.width

    def value(self, row: dict[str, Any]) -> Any:
        """What the result is for some operands."""
        return _value(self.fragment, self.result, row)

    def columns(self) -> list[np.ndarray]:
        """The operands as columns, one for each input."""
        return [np.array([row[n] for row in self.rows], storage(self.types[n])) for n in self.names]

    def wanted_column(self) -> np.ndarray:
        return np.array(self.wanted, storage(self.type))

    def temporaries(self, count: int) -> list[str]:
        """Names that the fragment does not have."""
        free = (f"t{i}" for i in itertools.count() if f"t{i}" not in self.fragment.registers)
        return list(itertools.islice(free, count))

    def numbers(self) -> list[int]:
        """The integers in the text."""
        literals = re.findall(r"(?<![\w.%$])-?(?:0[xX][0-9a-fA-F]+|[0-9]+)(?![\w.])", self.text)
        return [int(n, 0) if not re.fullmatch(r"-?0[0-9]+", n) else int(n, 8) for n in literals]


def target_of(text: str, result: str | None, assume: str | None) -> Target:
    """The target that a text is. Raises ValueError for a result that it does not write, or one of more than 64 bits, and
    Unsupported for a text that orders memory."""
    fragment = read_fragment(text)
    if fragment.orders:
        raise Unsupported(f"{fragment.orders[0].text} orders memory for other threads, which no sequence does")
    if not fragment.outputs:
        raise ValueError("the fragment writes no register")
    name = result or next(iter([step for step in fragment.steps if step.writes][-1].writes))
    if name not in fragment.outputs:
        raise ValueError(f"{name} is no result of the fragment; there are {', '.join(fragment.outputs)}")
    inputs = inputs_of(fragment.inputs, fragment.registers)
    types = taken_types(inputs, fragment)
    wide = [n for n, t in {**types, name: fragment.left[name]}.items() if t.width > 64]
    if wide:
        raise ValueError(f"{wide[0]} has more than 64 bits, which sequences cannot have")
    special = [n for n in fragment.inputs if n not in fragment.registers]
    if special:
        raise ValueError(f"{special[0]} is a special register, which sequences cannot read")
    rows = list(_rows(inputs, types, assume))
    if not rows:
        raise ValueError("no operands that meet the assumption were met")
    wanted = [_value(fragment, name, row) for row in rows]
    return Target(text, name, fragment.left[name], tuple(fragment.inputs), types, assume, rows, wanted, fragment)


def _value(fragment: SymbolicFragment, name: str, row: dict[str, Any]) -> Any:
    type, term = fragment.left[name], fragment.outputs[name]
    settled = term if type.kind == "pred" else low_bits(term, type.width)
    return evaluate_term(settled, row, known_profile(MACHINE).value)


def _rows(inputs: Inputs, types: dict[str, Type], assume: str | None) -> Any:
    """Simple and random operands that meet the assumption, taking turns."""
    given = assumption(assume, inputs.terms, inputs.types) & inputs.guaranteed
    source = random.Random(0)

    def drawn() -> Any:
        for _ in range(DRAWN):
            yield {n: source.choice(_random(t, source)) for n, t in types.items()}

    def meeting(rows: Any, count: int) -> Any:
        return itertools.islice((row for row in rows if evaluate_term(given, row)), count)

    seen = set()
    pairs = itertools.zip_longest(meeting(combinations(types), SIMPLE), meeting(drawn(), RANDOM))
    for row in itertools.chain.from_iterable(pairs):
        if row is not None and tuple(row.values()) not in seen:
            seen.add(tuple(row.values()))
            yield row


def _random(type: Type, source: random.Random) -> list[Any]:
    """Operands of several kinds: any bits, few bits, and those near the end of the range."""
    if type.kind == "pred":
        return [False, True]
    bits = source.getrandbits(type.width)
    return [bits, bits, bits >> source.randrange(type.width), (1 << type.width) - 1 - (bits >> (type.width - 4))]
