"""What the prover answers holds: random questions of all kinds, each answer held against both engines; and a judge that can fail.

    python tests/fuzz/test_soundness.py FIRST COUNT [TALLY]

asks the questions of these seeds, and prints the counts of the answers. With TALLY, a file, a line is added to it for every hundred
seeds, and what does not hold is told there without ending the run. Several processes may go through seeds of their own.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from soundness import NotJudged, Posed, accepted, ask, posed, replay

import ptxspec
from ptxspec.query import equivalence, results
from ptxspec.query.paths.memory import SymbolicMemory
from ptxspec.query.refinement import _Refinement
from ptxspec.terms import symbolic
from ptxspec.terms.core import truth

#: seeds of one line of a tally
LINE = 100


def worth(counts: Counter[str], asked: int) -> None:
    """Whether the questions were worth asking."""
    answered = asked - counts["PtxError"] - counts["ValueError"]
    assert counts["approximated"] == 0, counts
    assert counts["same refuted"] == counts["same unsupported"] == 0, counts  # what is said in other words is equal
    apart = counts["ordered: unsupported"] + counts["refuted by a program"]
    assert apart > 0.02 * asked and counts["ordered: proved"] > 0.02 * asked, counts
    assert counts["warp: unsupported"] and counts["warp: proved"] and counts["rows with another thread"] > asked / 4, (
        counts
    )
    assert answered > 0.9 * asked and counts["unknown"] < 0.05 * answered, counts
    assert counts["proved"] > 0.4 * answered and counts["refuted"] > 0.15 * answered, counts
    choosing = [f"{how}: {status}" for how in ("any, contract any", "payloads, contract any", "refines, contract any")
                for status in ("proved", "refuted")]  # fmt: skip
    assert all(counts[key] for key in choosing), counts
    for kind, part in {"equal": 0.2, "refines": 0.1, "equal memory": 0.1, "refines memory": 0.05}.items():
        assert counts[f"{kind}: proved"] + counts[f"{kind}: refuted"] > part * answered, (kind, counts)
    assert counts["proved by the solver"] > 0.2 * answered and counts["refuted by a choice"] > 0.02 * answered, counts
    assert counts["launched"] > 100 * answered and counts["faults launched"] > 0.02 * answered, counts
    assert counts["operands"] > 500 * answered and counts["rows not judged"] < 0.1 * counts["rows judged"], counts


@pytest.mark.slow
def test_answers_hold() -> None:
    counts = ask(range(2, 14))
    assert counts["proved"] > 4 and counts["refuted"] > 2 and counts["launched"] > 1000, counts


@pytest.mark.slow
def test_answers_about_the_order_of_memory_hold() -> None:
    about = [seed for seed in range(200) if posed(seed).about]
    counts = ask(about[:10])
    apart = counts["unsupported"] + counts["refuted by a program"]
    assert counts["proved"] > 2 and apart > 2 and counts["rows with another thread"] > 20, counts


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 20_000, 1000))
def test_answers_hold_for_many_questions(first: int) -> None:
    worth(ask(range(first, first + 1000)), 1000)


# a judge that can fail ------------------------------------------------------------------------------------------------


def forget_stores(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SymbolicMemory, "store", lambda *_: None)


def compare_as_unsigned(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(symbolic._COMPARE, "slt", "bvult")


def let_every_strategy_work(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Refinement, "works", lambda *_: (truth(True), truth(False)))


def take_every_open_result_for_a_nan(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(results, "is_open_nan", lambda freedom: True)


def forget_the_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(equivalence, "unless_unordered", lambda verdict, *_: verdict)


def let_nobody_interfere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SymbolicMemory, "interfere", lambda *_: None)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("plant", "seed", "told"),
    [
        (take_every_open_result_for_a_nan, 20060, "proved, and false on machine"),
        (forget_the_order, 24, "differ in order, and are proved"),
        (forget_the_order, 29, "differ in order, and are proved"),  # a warp
        (forget_the_order, 170, "another thread tells the sides apart"),
        (let_nobody_interfere, 252, "differ in order, and are proved"),
        (compare_as_unsigned, 2063, "proved, and false on machine"),
        (forget_stores, 92, "proved, and launches differ"),
        (let_every_strategy_work, 12, "proved, and not allowed"),
        (let_every_strategy_work, 13, "proved, and launches differ"),
    ],
)
def test_a_fault_of_the_prover_is_noticed(
    plant: Callable[[pytest.MonkeyPatch], None], seed: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a translation, the walk or a strategy gets wrong makes an answer that does not hold, and the judge says so."""
    ask([seed])
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=told):
        ask([seed])


def test_a_counterexample_that_shows_nothing_is_noticed() -> None:
    question = Posed(0, "min.s32 d, a, b;", "min.u32 d, a, b;", None, "near", "equal", None)
    verdict = ptxspec.prove(question.left, question.right)
    assert replay(question, verdict) is not None
    same = verdict.counterexample._replace(inputs={"a": 1, "b": 2})
    with pytest.raises(AssertionError, match="do not differ as shown"):
        replay(question, verdict._replace(counterexample=same))


# the judge of refinements ---------------------------------------------------------------------------------------------


def test_a_result_of_eight_bits_is_looked_at_up_to_the_width_compared() -> None:
    texts = "cvt.sat.s8.s32 d, a;", "max.s32 t, a, -128; min.s32 d, t, 127;"
    question = Posed(0, *texts, None, "same", "refines", None)
    asked, inputs = question.asked(), {"a": 0xFFFFFFFD}
    assert accepted(question, asked, {"d": 0xFFFFFFFD}, inputs)
    assert not accepted(question, asked, {"d": 0x00FFFFFD}, inputs)
    assert not accepted(question, asked, {"d": 0xFFFFFFFC}, inputs)


def test_an_open_result_may_be_what_it_allows_and_nothing_else() -> None:
    question = Posed(0, "add.f32 d, a, b;", "mov.b32 d, 0x7fc00000;", None, "near", "refines", None)
    asked = question.asked()
    nan, number = {"a": 0x7FC00000, "b": 0}, {"a": 0x3F800000, "b": 0x3F800000}
    assert accepted(question, asked, {"d": 0xFFC12345}, nan) and not accepted(question, asked, {"d": 0x7F800000}, nan)
    assert accepted(question, asked, {"d": 0x40000000}, number) and not accepted(
        question, asked, {"d": 0x7FC00000}, number
    )


def test_an_open_result_that_goes_further_is_found_among_machines_or_by_the_solver() -> None:
    question = Posed(0, "div.u32 t, a, 0; and.b32 d, t, 1;", "mov.u32 d, 1;", None, "near", "refines", None)
    asked = question.asked()
    assert all(accepted(question, asked, {"d": d}, {"a": 7}) for d in (0, 1))
    assert not accepted(question, asked, {"d": 2}, {"a": 7})
    touching = question._replace(memory=posed(13).memory)
    with pytest.raises(NotJudged):
        accepted(touching, asked, {"d": 2}, {"a": 7})


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:3])
    tally = Path(sys.argv[3]) if sys.argv[3:] else None
    total: Counter[str] = Counter()
    for begin in range(first, first + count, LINE):
        seeds, wrong = range(begin, min(begin + LINE, first + count)), []
        try:
            counts = ask(seeds)
        except AssertionError as failure:
            if tally is None:
                raise
            wrong, counts = [str(failure)], Counter({"lines with a disagreement": 1})
        total += counts
        if tally is not None:
            with tally.open("a") as file:
                print(json.dumps({"first": begin, "count": len(seeds), "wrong": wrong, **counts}), file=file)
    print(dict(total))
