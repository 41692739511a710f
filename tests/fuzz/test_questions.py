"""Random questions: what is proved holds on random machines, what is refuted replays, and what is no question is refused.

    python tests/fuzz/test_questions.py FIRST COUNT      the pairs of these seeds, and what was found

prints the counts of the verdicts. A finding ends it with the seed and both sides.
"""

from __future__ import annotations

import random
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from questions import Pair, nonsense, pair

import ptxspec
from ptxspec.evidence.compare.compiled_loops import column, compile_loops
from ptxspec.query import equivalence
from ptxspec.query.evaluate import cut
from ptxspec.query.fragments import Unsupported
from ptxspec.terms.core import TermError, constant, integer, truth
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, is_allowed, low_bits, resolve, select

SALTS = (1, 0xC0FFEE, 0x5DEECE66D)
ROWS = 1000
#: pairs whose proofs are checked by one piece of machine code
TOGETHER = 40
TIMEOUT = 3.0
#: what a question that is put wrongly may end in
DOCUMENTED = (ptxspec.PtxError, ValueError, TypeError, NoChoice, Unsupported)


# machines -------------------------------------------------------------------------------------------------------------


def machine(salt: int) -> Callable[[Any], Any]:
    """A machine: a choice, as a term, for every freedom, that is a function of its name and its operands' values, and allowed."""

    def choose(freedom: Any) -> Any:
        slug, width, kind, type, allowed, operation = freedom.attrs
        if kind == "deviation":
            return freedom.args[0]
        mixed = integer(zlib.crc32(f"{slug} {operation} {type} {salt}".encode()))
        for operand in freedom.args:
            mixed = low_bits((mixed ^ low_bits(operand, 64)) * 0x9E3779B97F4A7C15, 64)
            mixed = mixed ^ (mixed >> 29)
        bits = low_bits(mixed >> 7, width)
        if allowed is None or isinstance(allowed, Approximation):
            return bits
        top, ones = 1 << (width - 1), (1 << width) - 1
        infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF << 52}.get(width, 0)
        chosen: Any = integer(ones if allowed(integer(ones)).attrs[0] else 0)
        for one in (bits & top, bits | infinity | 1, bits):
            chosen = select(allowed(one), one, chosen)
        return chosen

    return choose


def rows(types: dict[str, Type], seed: int) -> dict[str, list[int]]:
    """Values of the inputs: numbers at the ends of things, alike in several inputs, and random ones."""
    source = random.Random(seed)
    numbers = [struct.unpack("<I", struct.pack("<f", f))[0] for f in (0.0, 1.0, -1.0, 0.5, 1e10, -1e-40, float("inf"))]
    special = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        31,
        32,
        255,
        256,
        300,
        2**31,
        2**31 - 1,
        2**32 - 1,
        0x7FC00000,
        0xFFC12345,
        0x7F800001,
        *numbers,
    ]

    def value(width: int) -> int:
        bits = source.choice(special) if source.random() < 0.6 else source.getrandbits(source.randrange(1, width + 1))
        return bits & ((1 << width) - 1) if source.random() < 0.85 else -bits & ((1 << width) - 1)

    found: dict[str, list[int]] = {n: [] for n in types}
    for _ in range(ROWS):
        alike = source.random() < 0.15
        common = value(64)
        for name, type in types.items():
            found[name].append((common if alike else value(type.width)) & ((1 << type.width) - 1))
    return found


class Check(NamedTuple):
    """A proof, as something to compute: for each machine, whether the sides differ although the assumption is met."""

    seed: int
    meaning: Meaning
    columns: list[np.ndarray]


def check_of(seed: int, question: Pair) -> Check:
    asked = equivalence._ask(question.left, question.right, question.assume, "portable")
    types = asked.inputs.types
    wrong = []
    left, right = asked.sides
    for salt in SALTS:
        choose, memo = machine(salt), {}
        differs: Any = constant(False)
        for name in set(left.outputs) & set(right.outputs):
            x, y = (resolve(side.outputs[name], choose, memo) for side in asked.sides)
            width = max(left.left[name].width, right.left[name].width)
            is_truth = left.left[name].kind == "pred"
            differs = differs | (truth(x) != truth(y) if is_truth else low_bits(x, width) != low_bits(y, width))
        wrong.append(Result(TYPES["pred"], (differs & asked.given,)))
    inputs = tuple(Input(n, t, (asked.inputs.terms[n],)) for n, t in types.items())
    values = rows(types, seed)
    return Check(seed, Meaning(inputs, tuple(wrong), None), [column(values[n], t) for n, t in types.items()])


def hold(checks: list[Check]) -> None:
    """Compute what was proved, natively, on every row and machine."""
    folded = [c for c in checks if c.columns and any(r.values[0].op != "const" for r in c.meaning.results)]
    assert all(
        not r.values[0].attrs[0]
        for c in checks
        if c not in folded
        for r in c.meaning.results
        if r.values[0].op == "const"
    )
    for check, run in zip(folded, compile_loops([c.meaning for c in folded], lambda freedom: None), strict=True):
        for salt, found in zip(SALTS, run(check.columns), strict=True):
            assert not found.any(), (
                f"seed {check.seed}: proved, and false on a machine ({salt}), row {int(found.argmax())}: {pair(check.seed)}"
            )


def replay(question: Pair, verdict: Any) -> int:
    """Evaluate both sides of a refutation, by the exact interpretation, with the choices that it shows and no others."""
    found = verdict.counterexample
    asked = equivalence._ask(question.left, question.right, question.assume, "portable")
    shown = {(c.entry, c.operation, c.type, c.operands): c.bits for c in found.choices}
    assert len(shown) == len(found.choices), "one choice is shown as two"

    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        if freedom.attrs[2] == "deviation":
            return operands[0]
        bits = shown[freedom.attrs[0], freedom.attrs[5], freedom.attrs[3], operands]
        assert isinstance(freedom.attrs[4], Approximation) or is_allowed(freedom, operands, bits), (
            "a choice that is not allowed"
        )
        return bits

    left, right = (
        {n: cut(evaluate_term(side.outputs[n], found.inputs, pick), t) for n, t in asked.compared.items()}
        for side in asked.sides
    )
    assert tuple(n for n in asked.compared if left[n] != right[n]) == found.differing, (
        "the sides do not differ as shown"
    )
    for side, values in ((found.left, left), (found.right, right)):
        last = {n: (step.writes[n], step.types[n]) for step in side for n in step.writes}
        for name in found.differing:
            value, type = last[name]
            assert cut(value, type) == cut(values[name], type), "the steps shown end in something else"
    return len(shown)


def ask(seeds: range) -> Counter[str]:
    """Ask the pairs of these seeds, and hold the answers against the interpretations. Counts what was answered."""
    counts: Counter[str] = Counter()
    waiting: list[Check] = []
    for seed in seeds:
        question = pair(seed)
        try:
            verdict = ptxspec.prove(question.left, question.right, assume=question.assume, timeout=TIMEOUT)
        except (ptxspec.PtxError, ValueError) as wrong:
            counts[type(wrong).__name__] += 1
            continue
        except Exception as failure:
            raise AssertionError(f"seed {seed}: {question} ends in {type(failure).__name__}") from failure
        counts[verdict.status] += 1
        counts[f"{question.how} {verdict.status}"] += 1
        if verdict.status == "refuted":
            chosen = replay(question, verdict)
            counts["refuted by a choice"] += bool(chosen)
        elif verdict.status == "proved":
            counts["proved by the solver"] += verdict.reason != "both sides are the same term"
            check = check_of(seed, question)
            waiting.append(check)
        if len(waiting) == TOGETHER:
            hold(waiting)
            waiting.clear()
    hold(waiting)
    return counts


def judge(counts: Counter[str], asked: int) -> None:
    """Whether the pairs were worth asking."""
    answered = asked - counts["PtxError"] - counts["ValueError"]
    assert counts["unknown"] == counts["unsupported"] == counts["approximated"] == 0, counts
    assert counts["same refuted"] == 0, counts  # what is said in other words is equal
    assert answered > 0.8 * asked, counts
    assert counts["proved"] > 0.25 * answered and counts["refuted"] > 0.25 * answered, counts
    assert counts["proved by the solver"] > 0.1 * answered and counts["refuted by a choice"] > 0.03 * answered, counts
    assert counts["exhausted"] < 0.05 * answered, counts


def test_answers_hold() -> None:
    judge(ask(range(150)), 150)


@pytest.mark.long
def test_answers_hold_for_many_pairs() -> None:
    judge(ask(range(20_000)), 20_000)


# what is no question --------------------------------------------------------------------------------------------------


def nonsensical(seed: int) -> None:
    source = random.Random(f"nonsense {seed}")
    question = pair(seed)
    left, right, assume = question.left, question.right, question.assume
    which = source.randrange(3)
    left, right, assume = (
        nonsense(source) if which == 0 else left, nonsense(source) if which == 1 else right, nonsense(source) if which == 2 else assume,
    )  # fmt: skip
    try:
        ptxspec.prove(left, right, assume=assume, timeout=0.2)
        ptxspec.evaluate(left)
    except DOCUMENTED as error:
        assert not isinstance(error, TermError) and str(error)


def test_nonsense_is_refused() -> None:
    for seed in range(150):
        nonsensical(seed)


@pytest.mark.long
def test_much_nonsense_is_refused() -> None:
    for seed in range(150, 10_000):
        nonsensical(seed)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    answers = ask(range(first, first + count))
    print(dict(answers))
