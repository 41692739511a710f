"""Random questions: what inputs meet a condition is found, and what is no question is refused. That answers hold is asked in
test_soundness."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from questions import nonsense, pair

import ptxspec
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.core import TermError
from ptxspec.terms.exact import NoChoice

#: what a question that is put wrongly may end in
DOCUMENTED = (ptxspec.PtxError, ValueError, TypeError, NoChoice, Unsupported)


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


@pytest.mark.slow
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
