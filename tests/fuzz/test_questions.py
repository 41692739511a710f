"""Random questions: what is proved holds on random machines, what is refuted replays, and what is no question is refused.

    python tests/fuzz/test_questions.py FIRST COUNT [refines]     the pairs of these seeds, and what was found

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
from ptxspec.query.evaluate import cut
from ptxspec.query.fragments import Unsupported, read_fragment
from ptxspec.query.questions import ask as put
from ptxspec.terms.core import Bool, TermError, constant, integer, truth, truth_variable, variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.exact import NoChoice, allows
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.python_code import written
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, is_allowed, low_bits, resolve, select, substitute

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
    asked = put(question.left, question.right, question.assume)
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


def _no_choice(freedom: Any, operands: tuple[int, ...]) -> int:
    raise AssertionError(f"the machine has not chosen {freedom.attrs[0]}")


def hold(checks: list[Check]) -> None:
    """Compute what was proved on every row and machine: natively, and by the exact interpretation."""
    for check in checks:
        named = {i.name: (f"in{k}", i.variables[0]) for k, i in enumerate(check.meaning.inputs)}
        plain = {
            n: truth_variable(k) if isinstance(v, Bool) else variable(k, v.attrs[1]) for n, (k, v) in named.items()
        }
        for result in check.meaning.results:
            exact = written(substitute(result.values[0], plain), "choose", *(k for k, _ in named.values()))
            for number, row in enumerate(zip(*(c.tolist() for c in check.columns), strict=True)):
                assert not exact(_no_choice, *row), (
                    f"seed {check.seed}: proved, and false in row {number}: {pair(check.seed)}"
                )
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
    asked = put(question.left, question.right, question.assume)
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
    assert counts["unsupported"] == counts["approximated"] == 0, counts
    assert counts["same refuted"] == 0, counts  # what is said in other words is equal
    assert answered > 0.8 * asked, counts
    assert counts["proved"] > 0.25 * answered and counts["refuted"] > 0.25 * answered, counts
    assert counts["proved by the solver"] > 0.1 * answered and counts["refuted by a choice"] > 0.03 * answered, counts
    assert counts["unknown"] < 0.05 * answered, counts


def test_answers_hold() -> None:
    judge(ask(range(150)), 150)


@pytest.mark.long
def test_answers_hold_for_many_pairs() -> None:
    judge(ask(range(20_000)), 20_000)


# refinement -----------------------------------------------------------------------------------------------------------

#: rows of each proof that the judge of results is asked about, by two machines
JUDGED = 6


def refinement(seeds: range) -> Counter[str]:
    """Ask whether the second of each pair refines the first, and hold the answers against the judge of results, which knows
    nothing of solvers where a result is open by itself."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        question = pair(seed)
        options: dict[str, Any] = {"assume": question.assume, "timeout": TIMEOUT, "contract": "none"}
        try:
            verdict = ptxspec.prove(question.left, question.right, relation="refines", **options)
            equal = ptxspec.prove(question.left, question.right, **options)
        except (ptxspec.PtxError, ValueError) as wrong:
            counts[type(wrong).__name__] += 1
            continue
        counts[verdict.status] += 1
        counts["refines and is not equal"] += (equal.status, verdict.status) == ("refuted", "proved")
        assert (equal.status, verdict.status) != ("proved", "refuted"), (
            f"seed {seed}: equal, and no refinement: {question}"
        )
        try:
            if verdict.status == "refuted":
                found = verdict.counterexample
                wanted = {n: v for step in found.right for n, v in step.writes.items() if n in found.compared}
                assert not accepted(question, wanted, found.inputs), f"seed {seed}: refuted, and allowed: {question}"
            elif verdict.status == "proved":
                judge_rows(seed, question)
        except NotJudged:
            counts["not judged"] += 1
    return counts


class NotJudged(Exception):
    """The judge cannot say: an open result goes into bits that only a wider register has."""


def accepted(question: Pair, results: dict[str, Any], inputs: dict[str, Any]) -> bool:
    """Whether the judge says that the left side may leave these results. They may be wider than the left side's registers: a
    result of 8 bits fills its register up to the width in which it is compared, and what it fills with has to be right, too."""
    left = read_fragment(question.left)
    wide = {n: v for n, v in results.items() if not isinstance(v, bool) and v >> left.left[n].width}
    asked = put(question.left, question.right, question.assume)
    terms = {n: low_bits(asked.finals[0][n], asked.compared[n].width) for n in wide}
    try:
        if not all(allows(terms[n], inputs, v) for n, v in wide.items()):
            return False
    except NoChoice as why:
        raise NotJudged from why
    low = {n: v & ((1 << left.left[n].width) - 1) if n in wide else v for n, v in results.items()}
    own = {
        n: v if isinstance(v, bool) else v & ((1 << left.registers[n].width) - 1)
        for n, v in inputs.items()
        if n in left.inputs
    }
    return ptxspec.allowed(question.left, low, own)  # an input that the right side reads as wider, too, is read in part


def test_the_judge_looks_at_a_result_of_eight_bits_up_to_the_width_compared() -> None:
    question = Pair("cvt.sat.s8.s32 d, a;", "max.s32 t, a, -128; min.s32 d, t, 127;", None, "same")
    inputs = {"a": 0xFFFFFFFD}
    assert accepted(question, {"d": 0xFFFFFFFD}, inputs)
    assert not accepted(question, {"d": 0x00FFFFFD}, inputs) and not accepted(question, {"d": 0xFFFFFFFC}, inputs)


def judge_rows(seed: int, question: Pair) -> None:
    """What the right side leaves on some machines, the left side must be allowed to leave."""
    asked = put(question.left, question.right, question.assume)
    columns = rows(asked.inputs.types, seed)
    met = 0
    for number in range(ROWS):
        values = {n: bool(c[number]) if asked.inputs.types[n].kind == "pred" else c[number] for n, c in columns.items()}
        if met < JUDGED and evaluate_term(asked.given, values):
            met += 1
            for salt in SALTS[:2]:
                choose = machine(salt)
                finals = {n: evaluate_term(resolve(t, choose, {}), values) for n, t in asked.finals[1].items()}
                results = {n: cut(v, asked.compared[n]) for n, v in finals.items()}
                assert accepted(question, results, values), (
                    f"seed {seed}: proved, and not allowed: {question} {values} {results}"
                )


def worth(counts: Counter[str], asked: int) -> None:
    """Whether the pairs were worth asking."""
    answered = asked - counts["PtxError"] - counts["ValueError"]
    assert counts["proved"] > 0.25 * answered and counts["refuted"] > 0.25 * answered, counts
    assert counts["refines and is not equal"] > 0.01 * answered, counts
    assert counts["unknown"] + counts["exhausted"] + counts["approximated"] < 0.05 * answered, counts
    assert counts["not judged"] <= 0.01 * answered, counts


def test_answers_on_refinement_hold() -> None:
    worth(refinement(range(40)), 40)


@pytest.mark.parametrize(("seed", "not_judged"), [(1059, 1), (1385, 0), (1654, 1)])
def test_results_and_inputs_of_eight_and_sixteen_bits(seed: int, not_judged: int) -> None:
    """Where one side's register is narrower than the other's, the judge sees the bits that it has, or says that it cannot judge."""
    assert refinement(range(seed, seed + 1))["not judged"] == not_judged


@pytest.mark.long
def test_answers_on_refinement_hold_for_many_pairs() -> None:
    worth(refinement(range(40, 5000)), 4960)


# conditions on results ------------------------------------------------------------------------------------------------


def sought(seed: int) -> str:
    """Ask for inputs that leave what some inputs leave: what is found leaves that, and there is no proof of none."""
    source = random.Random(f"sought {seed}")
    text = pair(seed).left
    try:
        read = read_fragment(text)
    except (ptxspec.PtxError, ValueError):
        return "no fragment"
    given = {
        n: source.choice([False, True]) if t.kind == "pred" else source.getrandbits(t.width)
        for n, t in read.registers.items()
    }
    given = {n: given[n] for n in read.inputs}
    wanted = ptxspec.evaluate(text, given)
    conditions = [
        f"{n} == {v}" if not isinstance(v, bool) else n if v else f"not {n}" for n, v in wanted.items() if n in "deq"
    ]
    where = " and ".join(conditions)
    found = ptxspec.find(text, where, count=2, timeout=2.0)
    assert found.status != "none", f"seed {seed}: {given} meets {where}, and none is proved: {text}"
    assert len({tuple(one.values()) for one in found}) == len(found), f"seed {seed}: one input twice"
    for one in found:
        results = ptxspec.evaluate(text, one)
        assert all(results[n] == v for n, v in wanted.items() if n in "deq"), (
            f"seed {seed}: {one} does not meet {where}: {text}"
        )
        assert one.results == dict(results), f"seed {seed}: {one}"
    refuted = ptxspec.find(text, f"{where} and not ({where})", timeout=2.0)
    assert refuted.status in ("none", "unknown") and not refuted
    return found.status


def test_inputs_for_conditions() -> None:
    counts = Counter(map(sought, range(20)))
    assert counts["found"] > 12, counts


@pytest.mark.long
def test_inputs_for_many_conditions() -> None:
    counts = Counter(map(sought, range(1000)))
    assert counts["found"] > 700, counts


def test_nonsense_is_no_condition() -> None:
    for seed in range(60):
        source = random.Random(f"condition {seed}")
        try:
            ptxspec.find("add.u32 d, a, b;", nonsense(source), timeout=0.2)
        except DOCUMENTED as error:
            assert not isinstance(error, TermError) and str(error)


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
    first, count = map(int, sys.argv[1:3])
    answers = (refinement if sys.argv[3:] else ask)(range(first, first + count))
    print(dict(answers))
