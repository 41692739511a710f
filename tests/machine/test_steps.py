"""The steps of the machine: three interpretations agree, the claims about them are decided as stated, planted faults show."""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, kernel

import ptxspec
from ptxspec import contracts
from ptxspec.literate.finder import pages
from ptxspec.machine.driver import inventory
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.machine.native import code
from ptxspec.machine.native.compiling import BoundStep, Environment, compiled
from ptxspec.query.laws import check, formula, load_all, of_proofs
from ptxspec.query.solvers import solve
from ptxspec.terms.core import integer
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import CodeSource, Library
from ptxspec.terms.steps import Step, StepClaim, taken
from ptxspec.terms.vocabulary import TRUE

CLAIMS = [claim for claim in load_all() if claim not in of_proofs()]  # those are for tests/proofs
MODULES = [importlib.import_module(name) for name, _ in pages("ptxspec.spec.machine")]
STEPS = sorted({s for m in MODULES for s in vars(m).values() if isinstance(s, Step)}, key=lambda s: (s.path, s.line))


def name(one: StepClaim | Step) -> str:
    return one.sentence if isinstance(one, StepClaim) else f"{one.path.rpartition('/')[2]}:{one.__name__}"


def test_there_are_as_many_as_promised() -> None:
    assert sum(claim.holds for claim in CLAIMS) >= 25
    assert sum(not claim.holds for claim in CLAIMS) >= 10
    assert len({claim.sentence for claim in CLAIMS}) == len(CLAIMS)


#: claims that take a solver several seconds
LABORIOUS = {
    "a pixel is followed by that an element stride of 1, 2 or 3 behind, or by the first of the next line where that is too far",
    "a thread that goes through a narrow loop as often as it may has its turn end there, and not before",
}


def test_laborious_claims_are_there() -> None:
    assert LABORIOUS <= {claim.sentence for claim in CLAIMS}


@pytest.mark.sample(4, lambda claim: [claim.path])
@pytest.mark.parametrize(
    "claim",
    [pytest.param(c, marks=pytest.mark.slow if c.sentence in LABORIOUS else ()) for c in CLAIMS],
    ids=name,
)
def test_a_claim_is_decided_as_stated(claim: StepClaim) -> None:
    assert check(claim).status == ("proved" if claim.holds else "refuted")


@pytest.mark.sample(4, lambda claim: [claim.path])
@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.holds], ids=name)
def test_a_claim_is_about_something(claim: StepClaim) -> None:
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


class Native:
    """A step as the native engine compiles it: of the addresses of its records, of its operands, and of room for what it gives."""

    def __init__(self, step: Step):
        count, results = len(step.states), len(step.results)
        needs: set[str] = set()
        world = Environment({}, {}, {"it": BoundStep(step, tuple(port.name for port in step.states))}, {}, False)
        kind = "{" + ", ".join(["i64"] * (1 + results)) + "}"
        rows = [f"  %p{k} = getelementptr ptr, ptr %rows, i64 {k}\n  %r{k} = load ptr, ptr %p{k}" for k in range(count)]
        words = [
            f"  %q{k} = getelementptr i64, ptr %given, i64 {k}\n  %o{k} = load i64, ptr %q{k}"
            for k in range(len(step.operands))
        ]
        given = [f"ptr %r{k}" for k in range(count)] + [f"i64 %o{k}" for k in range(len(step.operands))]
        stores = [
            f"  %v{k} = extractvalue {kind} %all, {k}\n  %a{k} = getelementptr i64, ptr %told, i64 {k}\n  store i64 %v{k}, ptr %a{k}"
            for k in range(1 + results)
        ]
        text = [compiled((), world, needs), "define void @once(ptr %rows, ptr %given, ptr %told) {", *rows, *words,
                f"  %all = call {kind} @step_it({', '.join(given)})", *stores, "  ret void\n}"]  # fmt: skip
        self.library = Library(CodeSource("\n".join(text), needs))
        self.told = np.zeros(1 + results, np.uint64)
        self.once = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(self.library.address("once"))

    def __call__(self, records: list[np.ndarray], operands: list[int]) -> list[int]:
        """Change the records in place; the number of the rule that was broken, or 0, and the step's results."""
        rows = (ctypes.c_void_p * (len(records) + 1))(*[r.ctypes.data for r in records])
        given = np.array([*operands, 0], np.uint64)
        self.once(ctypes.addressof(rows), given.ctypes.data, self.told.ctypes.data)
        return [int(word) for word in self.told]


@pytest.mark.sample(4, lambda step: [step.path])
@pytest.mark.parametrize("step", STEPS, ids=name)
def test_exact_and_native_steps_agree(step: Step) -> None:
    """What the driver is given of a step: the rule that is broken, or what becomes of the records, and the results."""
    native, exact = Native(step), scripted(step)
    names = [r.rule for r in step.meaning.requirements]
    kept = 0
    for seed in range(250):
        rows, given = operands(step, 1, seed)
        records = [array[index[0]].copy() for array, index in rows]
        words = [int(values[0]) for values in given]
        rule, *found = exact(*(int(w) for record in records for w in record), *words)
        before = [record.copy() for record in records]
        broken, *results = native(records, words)
        if rule is not None:
            assert broken == 1 + names.index(rule)
            assert all(map(np.array_equal, records, before))
            continue
        kept += 1
        after = [int(w) for record in records[: step.changes] for w in record]
        assert (broken, after + results) == (0, found)
        assert all(map(np.array_equal, records[step.changes :], before[step.changes :]))
    assert kept, "every seed broke a rule"


@pytest.mark.sample(4, lambda step: [step.path])
@pytest.mark.parametrize("step", STEPS, ids=name)
def test_the_solver_computes_the_same(step: Step) -> None:
    from ptxspec.terms.symbolic import Script, ground

    words = {n: t for port in step.inputs for n, t in port.words.items()}
    for seed in range(5):
        rows, given = operands(step, 1, seed)
        cells = [array[index[0]] for array, index in rows]
        numbers: dict[str, int] = {}
        for port, values in zip(step.states, cells, strict=True):
            numbers |= dict(zip(port.words, map(int, values), strict=True))
        numbers |= {p.name: int(v[0]) for p, v in zip(step.operands, given, strict=True)}
        script = Script()
        env = {n: script.truth_const(bool(v & 1)) if words[n].kind == "pred" else script.const(v, words[n].width)
               for n, v in numbers.items()}  # fmt: skip
        truth = {n: bool(v & 1) if words[n].kind == "pred" else v for n, v in numbers.items()}
        lowering = Lowering(script, env)
        types = [t for port in step.outputs for t in port.words.values()]
        for term, type in zip(step.meaning.values, types, strict=True):
            expected = evaluate(term, truth)
            if type.kind == "pred":
                assert ground(script, lowering.truth(term), 0) == expected
            else:
                assert ground(script, lowering.low(term, type.width), type.width) == expected


# planted faults -------------------------------------------------------------------------------------------------------


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, Any], None]]:
    """Put another function in the place of one on a page, as if the page said so."""

    def forget() -> None:
        for cache in (scripted, inventory.steps, code.driver):
            cache.cache_clear()
        for step in STEPS:
            step.__dict__.pop("meaning", None)

    def put(page: str, what: str, function: Any) -> None:
        monkeypatch.setattr(importlib.import_module(f"ptxspec.spec.machine.{page}"), what, function)
        forget()

    yield put
    monkeypatch.undo()
    forget()


def is_found(page: str) -> bool:
    """Whether a claim is no longer decided as stated; those of the page with the fault are asked first."""
    there = sorted(CLAIMS, key=lambda c: not c.path.endswith(f"/{page}.md"))
    return any(check(c).status != ("proved" if c.holds else "refuted") for c in there)


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


@pytest.mark.slow
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
    assert is_found("barriers")


@pytest.mark.slow
def test_a_mask_of_a_collective_that_forgets_a_lane(plant: Any) -> None:
    before = outcomes(HALVES, 32)
    assert before[0] == before[1] == [0xFFFF] * 16 + [0xFFFF0000] * 16

    plant("warps", "lane_bit", lambda lane: integer(1) << (lane & 15))
    after = outcomes(HALVES, 32)
    assert after[0] == after[1] != before[0]
    assert is_found("warps")


@pytest.mark.slow
def test_a_meeting_that_does_not_wait_for_all(plant: Any) -> None:
    """A warp goes on when half of its lanes have come, so that the other half is at another instruction."""
    body = "setp.lt.u32 %p0, %r1, 16; @%p0 bar.sync 1; @!%p0 bar.sync 2; st.global.u32 [%rd1], 1;"
    assert outcomes(body, 32) == ["aligned", "aligned"]

    page = importlib.import_module("ptxspec.spec.machine.warps")

    def half(meeting: Any, gone: Any, whole: Any) -> Any:
        over = (meeting.arrived_lanes & 0xFFFF == 0xFFFF) | (meeting.arrived_lanes >> 16 == 0xFFFF)
        return select(over, page.Meeting(0, 0), meeting), over, meeting.arrived_lanes

    from ptxspec.terms import select

    plant("warps", "settle", half)
    after = outcomes(body, 32)
    assert after[0] == after[1] != "aligned"
    assert is_found("warps")


@pytest.mark.slow
def test_a_thread_that_ends_and_is_waited_for(plant: Any) -> None:
    body = "setp.eq.u32 %p0, %r1, 5; @%p0 exit; bar.sync 0; st.global.u32 [%rd1], 1;"
    before = outcomes(body, 40)
    assert before[0] == before[1] == [int(i != 5) for i in range(40)]

    plant("barriers", "complete", lambda barrier, alive: barrier.arrived >= 40)
    assert outcomes(body, 40) == ["stuck barrier", "stuck barrier"]
    assert is_found("barriers")


#: one thread comes so late that the machine has looked at the others before, and writes before; those read after the barrier
LAST = """
    .shared .u32 cell;
    mov.u32 %r5, 0;
    setp.ne.u32 %p0, %r1, 39;
    @%p0 bra MEET;
LATE:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p0, %r5, 40000;
    @%p0 bra LATE;
    st.shared.u32 [cell], 7;
MEET:
    barrier.sync 0;
    ld.shared.u32 %r5, [cell];
    st.global.u32 [%rd1], %r5;
"""


@pytest.mark.slow
def test_threads_that_arrive_together_and_are_one_too_many(plant: Any) -> None:
    """The step that counts many threads at once lets a barrier complete when one is still to come."""
    before = outcomes(LAST, 40)
    assert before[0] == before[1] == [7] * 40

    right = importlib.import_module("ptxspec.spec.machine.barriers").arrive_together.function

    def together(barrier: Any, count: Any, alive: Any) -> Any:
        return right(barrier, count + 1, alive)

    together.__annotations__ = inspect.get_annotations(right, eval_str=True)
    plant("barriers", "arrive_together", Step(together))
    after = outcomes(LAST, 40)
    assert after[0] == after[1] == [0] * 39 + [7]
    assert is_found("barriers")


#: all threads go through a loop that only computes for longer than a turn, and draw numbers as they come out of it
SIDE_BY_SIDE = """
    .reg .b32 i, most; mov.u32 i, 0; add.u32 most, %r1, 1000;
LOOP:
    add.u32 i, i, 1;
    setp.lt.u32 %p1, i, most;
    @%p1 bra LOOP;
    mov.u32 %r5, %clock;
    st.global.u32 [%rd1], %r5;
"""


@pytest.mark.parametrize("wrong", [1, -1])
def test_a_narrow_loop_that_has_another_number_of_rounds(wrong: int, plant: Any) -> None:
    """The native engine alone asks for it, so that the engines come apart, and the claim no longer holds."""
    before = outcomes(SIDE_BY_SIDE, 16)
    assert before[0] == before[1]

    right = importlib.import_module("ptxspec.spec.machine.schedule").rounds
    plant("schedule", "rounds", lambda most, length: right(most, length) + wrong)
    after = outcomes(SIDE_BY_SIDE, 16)
    assert after[0] == before[0] != after[1]
    assert is_found("schedule")


@pytest.mark.parametrize(
    ("what", "wrong", "address"),
    [
        ("aligned", lambda right: lambda address, size: right(address + 1, size), 0),
        ("inside", lambda right: lambda offset, size, held: right(offset + 1, size, held), 60),
        ("inside", lambda right: lambda offset, size, held: right(offset, size, held - 1), 60),
    ],
)
def test_an_access_whose_rule_is_off_by_one(
    what: str, wrong: Any, address: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared memory: the last word of all, and one that is aligned."""
    body = (
        f".shared .align 4 .b8 s[64]; ld.shared.u32 %r5, [s+{address}]; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5;"
    )
    assert outcomes(body, 3) == [[1] * 3] * 2
    monkeypatch.setattr(contracts.access, what, wrong(getattr(contracts.access, what)))
    found = outcomes(body, 3)
    assert found[0] == found[1] == {"aligned": "misaligned", "inside": "out of bounds"}[what]
