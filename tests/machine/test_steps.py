"""The steps of the machine: three interpretations agree, the claims about them are decided as stated, planted faults show."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, kernel

import ptxspec
from ptxspec.literate.finder import pages
from ptxspec.machine import folding
from ptxspec.query.invariants import check, formula, load_all
from ptxspec.query.solving import solve
from ptxspec.terms.core import integer
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.steps import Claim, Step, taken
from ptxspec.terms.vocabulary import TRUE

CLAIMS = load_all()
MODULES = [importlib.import_module(name) for name, _ in pages("ptxspec.spec.machine")]
STEPS = sorted({s for m in MODULES for s in vars(m).values() if isinstance(s, Step)}, key=lambda s: (s.path, s.line))


def name(one: Claim | Step) -> str:
    return one.sentence if isinstance(one, Claim) else f"{one.path.rpartition('/')[2]}:{one.__name__}"


def test_there_are_as_many_as_promised() -> None:
    assert sum(claim.holds for claim in CLAIMS) >= 25
    assert sum(not claim.holds for claim in CLAIMS) >= 10
    assert len({claim.sentence for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=name)
def test_a_claim_is_decided_as_stated(claim: Claim) -> None:
    assert check(claim).status == ("proved" if claim.holds else "refuted")


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.holds], ids=name)
def test_a_claim_is_about_something(claim: Claim) -> None:
    """There are states in which the steps of a claim break no rule and its condition holds."""
    requirements, said = taken(claim.function, *(port.variables() for port in claim.inputs))
    premise = said.args[0].args[0] if said.op == "any" and said.args[0].op == "not" else TRUE
    for requirement in requirements:
        premise = premise & requirement.condition
    assert solve(premise, formula(claim)[1], 60).status == "sat"


# three interpretations ------------------------------------------------------------------------------------------------


def operands(step: Step, count: int, seed: int) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[np.ndarray]]:
    """Records and operands, small numbers and masks among them, so that rules are kept and conditions met."""
    rng = np.random.default_rng(seed)

    def some(shape: Any) -> np.ndarray:
        few = rng.integers(0, 3, shape, np.uint64)
        lanes = rng.integers(0, 33, shape, np.uint64) * 32
        bits = rng.integers(0, 1 << 63, shape, np.uint64)
        full = np.full(shape, 0xFFFFFFFF, np.uint64)
        return np.choose(rng.integers(0, 5, shape), [few, lanes, bits, full, few])

    rows = []
    for port in step.states:
        array = some((4, len(port.type.fields)))
        for place, type in enumerate(port.type.fields.values()):
            array[:, place] &= np.uint64((1 << type.width) - 1)
        rows.append((array, rng.integers(0, 4, count)))
    return rows, [some(count) & np.uint64((1 << port.type.width) - 1) for port in step.operands]


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_exact_and_native_folds_agree(step: Step) -> None:
    kept = 0
    for seed in range(60):
        rows, given = operands(step, 1 if seed < 50 else 20, seed)
        both = []
        for fold in (folding.exact, folding.native):
            mine = [(array.copy(), index) for array, index in rows]
            found = fold(step, mine, given)
            both.append((mine, found))
        (exact_rows, exact), (native_rows, native) = both
        assert exact.broken == native.broken
        stop = len(exact.results[0]) if exact.broken is None and len(exact.results) else 0
        assert np.array_equal(exact.results[:, :stop], native.results[:, :stop])
        assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(exact_rows, native_rows, strict=True))
        kept += exact.broken is None
    assert kept, "every seed broke a rule"


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_the_solver_computes_the_same(step: Step) -> None:
    import z3

    from ptxspec.terms.symbolic import Solver

    words = {n: t for port in step.inputs for n, t in port.words.items()}
    for seed in range(5):
        rows, given = operands(step, 1, seed)
        cells = [array[index[0]] for array, index in rows]
        numbers: dict[str, int] = {}
        for port, values in zip(step.states, cells, strict=True):
            numbers |= dict(zip(port.words, map(int, values), strict=True))
        numbers |= {p.name: int(v[0]) for p, v in zip(step.operands, given, strict=True)}
        env = {n: z3.BoolVal(bool(v & 1)) if words[n].kind == "pred" else z3.BitVecVal(v, words[n].width)
               for n, v in numbers.items()}  # fmt: skip
        truth = {n: bool(v & 1) if words[n].kind == "pred" else v for n, v in numbers.items()}
        lowering = Lowering(Solver(), env)
        types = [t for port in step.outputs for t in port.words.values()]
        for term, type in zip(step.meaning.values, types, strict=True):
            expected = evaluate(term, truth)
            if type.kind == "pred":
                assert z3.is_true(z3.simplify(lowering.truth(term))) == expected
            else:
                assert z3.simplify(lowering.low(term, type.width)).as_long() == expected


# planted faults -------------------------------------------------------------------------------------------------------


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, Any], None]]:
    """Put another function in the place of one on a page, as if the page said so."""

    def forget() -> None:
        folding.compiled.cache_clear()
        folding.scripted.cache_clear()
        for step in STEPS:
            step.__dict__.pop("meaning", None)

    def put(page: str, what: str, function: Any) -> None:
        monkeypatch.setattr(importlib.import_module(f"ptxspec.spec.machine.{page}"), what, function)
        forget()

    yield put
    monkeypatch.undo()
    forget()


def failing() -> set[str]:
    return {c.sentence for c in CLAIMS if check(c).status != ("proved" if c.holds else "refuted")}


def outcomes(body: str, block: int) -> list[Any]:
    """What a kernel leaves, or the rule that it breaks, under each engine."""
    found: list[Any] = []
    for engine in ENGINES:
        out = np.zeros(block, np.uint32)
        try:
            ptxspec.load(kernel(body)).launch("k", block=block, args=[out], engine=engine)
            found.append(out.tolist())
        except ptxspec.LaunchError as error:
            found.append(error.rule)
    return found


#: the threads from 32 on come late to the barrier, and write before; those before read after it
LATE = """
    .shared .u32 cell;
    setp.lt.u32 %p0, %r1, 32;
    @%p0 bra MEET;
    st.shared.u32 [cell], 7;
MEET:
    bar.red.popc.u32 %r5, 1, 1;
    st.global.u32 [%rd1], %r5;
"""
HALVES = """
    setp.lt.u32 %p0, %r1, 16;
    selp.u32 %r9, 0xffff, 0xffff0000, %p0;
    @%p0 bra LOW;
    activemask.b32 %r8;
LOW:
    vote.sync.ballot.b32 %r5, 1, %r9;
    st.global.u32 [%rd1], %r5;
"""


def test_a_barrier_that_completes_one_early(plant: Any) -> None:
    page = importlib.import_module("ptxspec.spec.machine.barriers")
    before = outcomes(LATE, 64)
    assert before[0] == before[1] == [64] * 64

    def early(barrier: Any, alive: Any) -> Any:
        enough = select(
            barrier.named == 0, barrier.arrived + 1 >= alive, barrier.arrived + barrier.missing + 1 >= barrier.named
        )
        return ~page.unused(barrier) & enough

    from ptxspec.terms import select

    plant("barriers", "complete", early)
    after = outcomes(LATE, 64)
    assert after[0] == after[1] != before[0]
    assert failing()


def test_a_mask_of_a_collective_that_forgets_a_lane(plant: Any) -> None:
    before = outcomes(HALVES, 32)
    assert before[0] == before[1] == [0xFFFF] * 16 + [0xFFFF0000] * 16

    plant("warps", "lane_bit", lambda lane: integer(1) << (lane & 15))
    after = outcomes(HALVES, 32)
    assert after[0] == after[1] != before[0]
    assert failing()


def test_a_thread_that_ends_and_is_waited_for(plant: Any) -> None:
    body = "setp.eq.u32 %p0, %r1, 5; @%p0 exit; bar.sync 0; st.global.u32 [%rd1], 1;"
    before = outcomes(body, 40)
    assert before[0] == before[1] == [int(i != 5) for i in range(40)]

    plant("barriers", "complete", lambda barrier, alive: barrier.arrived >= 40)
    assert outcomes(body, 40) == ["stuck barrier", "stuck barrier"]
    assert failing()
