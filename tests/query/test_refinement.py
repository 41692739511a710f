"""Whether every behaviour of one side is one that the other allows."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

import ptxspec
from ptxspec.language.forms import registry
from ptxspec.query import refinement, trials
from ptxspec.query.abstractions import with_any_functions
from ptxspec.query.fragments import read_fragment
from ptxspec.query.identities import Identity, load_all
from ptxspec.query.questions import Means, ask
from ptxspec.query.replaying import allowed_patterns
from ptxspec.query.solvers import SolverAnswer, solve
from ptxspec.query.undefined import reached
from ptxspec.terms.core import constant, truth_variable, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import Approximation, freedoms_in, is_allowed, select, undefined, unspecified


def refines(left: str, right: str, **options: Any) -> ptxspec.Verdict:
    return ptxspec.prove(left, right, relation="refines", **options)


#: two sums of one product, and an assumption by which their operands are equal
TWO_SUMS = "mul.f16 t, a, b; add.f16 d, t, c; add.f16 e, t, f;"
SUMS_OF_ONE = "c == f and a < 0x7c00 and b < 0x7c00 and c < 0x7c00"

#: (what is allowed, what is done, options, whether it is allowed)
CLAIMS: list[tuple[str, str, dict[str, Any], bool]] = [
    ("div.u32 d, a, 0;", "mov.u32 d, -1;", {}, True),
    ("mov.u32 d, -1;", "div.u32 d, a, 0;", {}, False),
    ("div.u32 d, a, b;", "div.u32 d, a, b;", {"profile": ("portable", "hopper")}, True),
    ("div.u32 d, a, b;", "div.u32 d, a, b;", {"profile": ("hopper", "portable")}, False),
    # an open result that goes into a computation, whose choice has to be found
    ("div.u32 d, a, 0; add.u32 d, d, 1;", "mov.u32 d, c;", {}, True),
    ("div.u32 d, a, 0; xor.b32 d, d, c;", "mov.u32 d, b;", {}, True),
    ("div.u32 d, a, 0; or.b32 d, d, 1;", "or.b32 d, c, 3;", {}, True),
    ("div.u32 d, a, 0; or.b32 d, d, 1;", "mov.u32 d, c;", {}, False),
    ("div.u32 d, a, 0; and.b32 d, d, 15;", "and.b32 d, c, 16;", {}, False),
    # one execution makes equal choices for equal operands
    ("div.u32 d, a, 0; div.u32 e, a, 0;", "mov.u32 d, 1; mov.u32 e, 1;", {}, True),
    ("div.u32 d, a, 0; div.u32 e, a, 0;", "mov.u32 d, 1; mov.u32 e, 2;", {}, False),
    ("div.u32 d, a, 0; div.u32 e, b, 0;", "mov.u32 d, 1; mov.u32 e, 2;", {"assume": "a != b"}, True),
    ("div.u32 d, a, 0; div.u32 e, b, 0;", "mov.u32 d, 1; mov.u32 e, 2;", {}, False),
    ("rem.u32 d, a, 0;", "div.u32 d, a, 0;", {}, True),
    # a NaN is any NaN
    ("add.f32 d, a, b;", "add.f32 d, b, a;", {"assume": "nan(a)"}, True),
    ("add.f32 d, a, b;", "mov.b32 d, 0x7fffffff;", {"assume": "nan(a)"}, True),
    ("add.f32 d, a, b;", "mov.b32 d, 0x7f800000;", {"assume": "nan(a)"}, False),
    # undefined behaviour on the left excuses the right side, and is not to be met on the right side alone
    ("fns.b32 d, a, 32, 1;", "mov.b32 d, c;", {}, True),
    ("cvta.to.shared.u64 d, a;", "sub.u64 d, a, b;", {"assume": "a == 0 and b == 5"}, True),
    ("mov.b32 d, c;", "fns.b32 d, a, 32, 1;", {}, False),
    ("fns.b32 d, a, b, 1;", "mov.b32 d, c;", {"assume": "b >= 32"}, True),
    ("fns.b32 d, a, b, 1;", "mov.b32 d, c;", {"assume": "b < 32"}, False),
    # contraction
    ("mul.f16 t, a, b; add.f16 d, t, c;", "fma.rn.f16 d, a, b, c;", {"assume": "a < 0x7c00 and b < 0x7c00"}, True),
    ("mul.f16 t, a, b; add.f16 d, t, c;", "fma.rn.f16 d, a, b, c;", {"contract": "none"}, False),
    ("mul.rn.f16 t, a, b; add.f16 d, t, c;", "fma.rn.f16 d, a, b, c;", {}, False),
    ("mul.f16 t, a, b; add.f16 d, t, c;", "mul.f16 t, a, b; add.f16 d, t, c;", {}, True),
    ("mul.rn.f16 t, a, b; add.rn.f16 d, t, c;", "mul.f16 t, a, b; add.f16 d, t, c;", {}, False),
    # a place is contracted or not, whatever the operands are, and each side by itself
    (f"{TWO_SUMS}", "mul.rn.f16 t, a, b; add.rn.f16 d, t, c; fma.rn.f16 e, a, b, f;", {"assume": SUMS_OF_ONE}, True),
    ("mul.rn.f16 t, a, b; add.rn.f16 d, t, c; fma.rn.f16 e, a, b, f;", f"{TWO_SUMS}", {"assume": SUMS_OF_ONE}, False),
    (f"{TWO_SUMS} sub.u16 g, d, e;", f"{TWO_SUMS} mov.u16 g, 0;", {"assume": SUMS_OF_ONE}, False),
    (f"{TWO_SUMS}", "mul.f16 t, a, b; add.f16 e, t, f; add.f16 d, t, c;", {"assume": SUMS_OF_ONE}, True),
    # undefined results of two executions
    ("fns.b32 d, a, b, c;", "fns.b32 d, a, b, c;", {}, True),
    # an instruction may give two NaNs to two NaNs which a conversion would make one
    ("cvt.rn.f16x2.e5m2x2 d, a;", "cvt.u32.u16 x, a; prmt.b32 d, x, 0, 0x1404;", {}, True),
    ("cvt.rn.f16x2.e5m2x2 d, a;", "cvt.u32.u16 x, a; prmt.b32 d, x, 0, 0x1414;", {}, False),
    # approximate results
    ("sqrt.approx.f32 d, a;", "sqrt.rn.f32 d, a;", {"assume": "a < 0x7f800000"}, True),
    ("sqrt.rn.f32 d, a;", "sqrt.approx.f32 d, a;", {"assume": "a < 0x7f800000"}, False),
    ("sqrt.approx.f32 d, a;", "sqrt.rn.f32 d, a; add.u32 d, d, 3;", {"assume": "0 < a and a < 0x7f800000"}, False),
    ("rcp.approx.f32 d, a;", "mov.f32 d, 0f3eaaaaab;", {"assume": "a == 0x40400000"}, True),
    ("rcp.approx.f32 d, a;", "mov.f32 d, 0f3eaaaaad;", {"assume": "a == 0x40400000"}, False),
    ("ex2.approx.f32 d, a;", "mov.f32 d, 0f00000000;", {}, False),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right", "options", "holds"), CLAIMS)
def test_refinement(left: str, right: str, options: dict[str, Any], holds: bool) -> None:
    verdict = refines(left, right, **options)
    assert verdict.status in (("proved", "exhausted") if holds else ("refuted",)), verdict
    if verdict.counterexample is not None and "profile" not in options and "must not" not in verdict.reason:
        _judge(left, verdict)


def _judge(left: str, verdict: ptxspec.Verdict) -> None:
    """What the counterexample says of the right side, asked of the judge of results: the left side must not allow it. The judge
    contracts nothing, so that it is as strict as the prover or stricter."""
    found = verdict.counterexample
    assert found is not None
    wanted = {n: v for step in found.right for n, v in step.writes.items() if n in found.compared}
    inputs = {n: v for n, v in found.inputs.items() if n in read_fragment(left).inputs}
    assert not ptxspec.allowed(left, wanted, inputs)


def test_an_approximation_of_sixteen_bits_is_looked_at_for_every_input() -> None:
    chip = refines("tanh.approx.f16 d, a;", "tanh.approx.f16 d, a;", profile=("portable", "hopper"), assume="a < 0x40")
    assert chip.status == "exhausted" and "every input" in chip.reason
    none = refines("tanh.approx.f16 d, a;", "tanh.approx.f16 d, a;", profile=("portable", "hopper"), assume="a != a")
    assert none.status == "vacuous"
    off = refines("tanh.approx.f16 d, a;", "mov.b16 d, a;", assume="a > 0x4000 and a < 0x4010")
    assert off.status == "refuted"


CHIP: Any = ("portable", "hopper")
_SOME = "a >= 0x3f7ff000 and a < 0x3f810000"


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize("opcode", ["rcp.approx.f32", "sqrt.approx.ftz.f32", "rsqrt.approx.f32", "sin.approx.f32", "cos.approx.f32",
                                    "lg2.approx.f32", "ex2.approx.ftz.f32", "tanh.approx.f32"])  # fmt: skip
def test_what_the_chip_approximates_is_within_the_bound(opcode: str) -> None:
    text, shown = f"{opcode} d, a;", []
    some = refines(text, text, profile=CHIP, assume=_SOME, progress=lambda *how_far: shown.append(how_far))
    assert some.status == "exhausted" and "69,632" in some.reason and shown[-1] == (69632, 69632)
    off = refines(text, f"{text} add.u32 d, d, 0x4000;", profile=CHIP, assume=_SOME)
    assert off.status == "refuted" and off.counterexample.inputs["a"] in range(0x3F7FF000, 0x3F810000)


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("left", "right", "status"),
    [
        ("rsqrt.approx.f32 d, a;", "sqrt.rn.f32 t, a; rcp.rn.f32 d, t;", "exhausted"),
        ("rsqrt.approx.f32 d, a;", "sqrt.rn.f32 t, a; rcp.rn.f32 d, t; add.u32 d, d, 3;", "refuted"),
        ("rcp.approx.f32 d, a;", "rcp.rz.f32 d, a;", "exhausted"),
        ("sqrt.approx.f32 t, a; rcp.approx.f32 d, t;", "sqrt.approx.f32 t, a; rcp.approx.f32 d, t;", "exhausted"),
        ("rcp.approx.f32 d, a; rcp.approx.f32 e, b;", "rcp.approx.f32 d, a; rcp.approx.f32 e, b;", "exhausted"),
    ],
)
def test_compositions_of_approximate_results(left: str, right: str, status: str) -> None:
    assume = _SOME if " b;" not in left else "a >= 0x3f800000 and a < 0x3f800100 and b >= 0x40490f00 and b < 0x40491000"
    assert refines(left, right, profile=CHIP, assume=assume).status == status


@pytest.mark.parametrize(
    ("text", "assume"),
    [
        (text, assume) if i == j or (i, j) == (0, 3) else pytest.param(text, assume, marks=pytest.mark.long)
        for i, text in enumerate(("rcp.approx.f32 d, a;", "sqrt.approx.f32 d, a;", "lg2.approx.ftz.f32 d, a;"))
        for j, assume in enumerate(
            (
                "a < 0x100",
                "a >= 0x7f7fff00 and a < 0x7f800100",
                "a >= 0x80000000 and a < 0x80000100",
                "a > 0xffffff00",
            )
        )
    ],
)
@pytest.mark.slow
def test_special_inputs_are_looked_at_too(text: str, assume: str) -> None:
    """Zeros, the subnormal numbers next to them, infinities and NaNs, each in a piece of its own."""
    assert refines(text, text, profile=CHIP, assume=assume).status in ("exhausted", "proved")


def test_what_is_off_at_a_special_input_is_refuted() -> None:
    off = refines("rcp.approx.f32 d, a;", "mov.b32 d, 0x3f800000;", profile=CHIP, assume="a < 2")
    assert off.status == "refuted"


@pytest.mark.slow
def test_selections_that_double_the_parts_of_a_register_are_no_trouble() -> None:
    """Thirty selections of one another have 2^30 ways."""
    doubled = " ".join(
        "setp.gt.u32 p, e, d; selp.b32 t, e, d, p; selp.b32 d, d, e, p; mov.b32 e, t;" for _ in range(30)
    )
    text = f"rcp.approx.f32 d, a; mov.b32 e, 3; {doubled}"
    verdict = refines(text, text, profile=CHIP, assume="a >= 0x3f7ff000 and a < 0x3f7ff040", timeout=5.0)
    assert verdict.status in ("exhausted", "approximated", "unknown", "proved")


def test_a_bound_of_a_constant_operand() -> None:
    for right, status in (("div.rn.f32 d, 0f3F800000, a;", "proved"), ("mov.b32 d, 0x3f000000;", "refuted")):
        assert refines("div.approx.f32 d, 0f3F800000, a;", right, profile=CHIP, assume=_SOME).status == status


def test_no_time_for_every_input_is_said() -> None:
    text = "sqrt.approx.f32 d, a;"
    verdict = refines(text, text, profile=CHIP, timeout=0.3)
    assert verdict.status == "approximated" and "of 4,294,967,296 inputs" in verdict.reason, verdict.reason


def test_what_was_looked_at_counts_where_the_solver_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs were found that no strategy covers, and the bound allows what is done at them: this is said, and not the silence."""
    real, asked = Means.solve, 0

    def solve_once(self: Means, *given: Any, **how: Any) -> SolverAnswer:
        nonlocal asked
        asked += 1
        return real(self, *given, **how) if asked == 1 else SolverAnswer("timeout", {}, {}, tried="z3 for 0.1 s")

    monkeypatch.setattr(Means, "solve", solve_once)
    verdict = refines(
        "div.full.f32 d, a, b;",
        "div.rn.f32 x, a, b; add.u32 d, x, 1;",
        profile=CHIP,
        assume="real(a) >= 1 and real(a) < 2 and real(b) >= 1 and real(b) < 2",
        timeout=10.0,
    )
    assert verdict.status == "approximated" and asked > 1, verdict


@pytest.mark.long
@pytest.mark.parametrize("opcode", ["rcp.approx.f32", "sqrt.approx.f32", "rsqrt.approx.f32", "sin.approx.f32", "cos.approx.f32",
                                    "lg2.approx.f32", "ex2.approx.f32", "tanh.approx.f32"])  # fmt: skip
def test_what_the_chip_approximates_is_within_the_bound_for_every_input(opcode: str) -> None:
    text = f"{opcode} d, a;"
    assert refines(text, text, profile=CHIP, timeout=7200).status == "exhausted"


@pytest.mark.parametrize("claim", [c for c in load_all() if not c.assume][::6], ids=lambda claim: claim.title)
def test_every_program_refines_itself(claim: Identity) -> None:
    """A check of the notion, on what the proofs are about: a side and itself."""
    verdict = refines(claim.left, claim.left, buffers=dict(claim.buffers), warp=claim.warp)
    assert verdict.status == "proved", verdict


def test_no_time_is_not_a_proof() -> None:
    verdict = refines("mul.lo.u64 d, a, b; div.u64 d, d, c;", "div.u64 d, a, c; mul.lo.u64 d, d, b;", timeout=0.05)
    assert verdict.status != "proved"


@pytest.mark.parametrize("relation", ["", "refine", "Equal"])
def test_an_unknown_relation_is_named(relation: Any) -> None:
    with pytest.raises(ValueError, match="no relation is called"):
        ptxspec.prove("mov.u32 d, 1;", "mov.u32 d, 1;", relation=relation)


# undefined results --------------------------------------------------------------------------------------------------------


def test_an_undefined_result_counts_only_where_it_is_taken() -> None:
    p, q, x = truth_variable("p"), truth_variable("q"), variable("x", 8)
    wrong = undefined("somewhere", TYPES["u8"], x)
    found = reached([select(p, x, select(q, wrong, 5))])
    for values, taken in (
        ({"p": True, "q": True}, False),
        ({"p": False, "q": True}, True),
        ({"p": False, "q": False}, False),
    ):
        assert evaluate(found, {**values, "x": 1}) is taken
    assert reached([select(p, x, 1)]).attrs == (False,)
    assert evaluate(reached([q & (wrong == 1)]), {"p": True, "q": False, "x": 1}) is False
    assert reached([unspecified("somewhere", TYPES["u8"], x)]).attrs == (False,)


# bounds -------------------------------------------------------------------------------------------------------------------


def _approximations() -> list[Any]:
    """Every approximate result that a form may have, once."""
    found = {}
    for opcode in ("div", "rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh"):
        for form in registry().opcodes[opcode].forms:
            meaning = form.meaning(next(iter(form.absences)))
            for freedom in freedoms_in(*(v for r in meaning.results for v in r.values)):
                if isinstance(freedom.attrs[4], Approximation):
                    found[freedom.attrs, tuple(a.op == "const" and a.attrs for a in freedom.args)] = freedom
    return list(found.values())


APPROXIMATIONS = _approximations()


@pytest.mark.parametrize("freedom", APPROXIMATIONS, ids=lambda f: f.attrs[0])
def test_numbers_at_the_bound_are_allowed_and_the_next_is_not(freedom: Any) -> None:
    chance = random.Random(freedom.attrs[0])
    width = freedom.attrs[1]
    for _ in range(3):
        normal = {16: 0x3C00, 32: 0x3F800000, 64: 0x3FF0000000000000}[width] + chance.getrandbits(width - 12)
        operands = tuple(a.attrs[0] if a.op == "const" else normal for a in freedom.args)
        patterns = allowed_patterns(freedom, operands)
        assert freedom.attrs[4].nearest(*operands) in patterns
        assert all(is_allowed(freedom, operands, bits) for bits in patterns)


def test_terms_for_rounded_results_are_the_nearest() -> None:
    """What a page says twice, as a number and as a term, is one thing: held together on special and random operands."""
    chance = random.Random(5)
    looked_at = 0
    for freedom in APPROXIMATIONS:
        allowed = freedom.attrs[4]
        if allowed.rounded is None:
            continue
        for _ in range(200):
            operands = []
            for a in freedom.args:
                exponent = chance.choice([1, 2, 126, 127, 128, 253, chance.randrange(1, 254)])
                operands.append(a.attrs[0] if a.op == "const" else exponent << 23 | chance.getrandbits(23))
            looked_at += 1
            term = allowed.rounded(*map(constant, operands))
            assert evaluate(term, {}) == allowed.nearest(*operands), (freedom.attrs[0], operands)
    assert looked_at >= 800


# inputs that are drawn ------------------------------------------------------------------------------------------------------


def test_samples_meet_the_assumption_and_are_the_same_again() -> None:
    asked = ask("add.f32 d, a, b; setp.lt.u32 p, c, 5;", "add.f32 d, b, a; not.pred p, q;", "a < b")
    drawn = [list(trials.samples(asked, 1e12)) for _ in range(2)]
    assert drawn[0] == drawn[1] and len(drawn[0]) > 50
    assert all(v["a"] < v["b"] for v in drawn[0]) and {v["q"] for v in drawn[0]} == {True, False}


def test_a_strategy_must_be_one_machine() -> None:
    """Two results of one freedom that the left side would choose differently for equal operands are refused."""
    asked = ask("div.u32 d, a, 0; div.u32 e, b, 0;", "mov.u32 d, 1; mov.u32 e, 2;")
    claim = refinement._Refinement(asked)
    first, second = claim.freedoms
    ways = {first: refinement.Way(constant(1)), second: refinement.Way(constant(2))}
    values = {"a": 3, "b": 4} if first.args[0].attrs[0] == "a" else {"b": 3, "a": 4}
    works, _ = claim.works(ways if asked.finals[0]["d"] is first else {first: ways[second], second: ways[first]})
    assert evaluate(works, values) is True
    assert evaluate(works, {"a": 4, "b": 4}) is False


def test_exact_reciprocal_bound_by_fractions() -> None:
    """The bound of rcp.approx by rationals of our own: one ulp around 1/3."""
    third = Fraction(1, 3)
    near = [0x3EAAAAAA + k for k in range(-3, 5)]
    for bits in near:
        error = abs(Fraction((bits & 0x7FFFFF) | 0x800000, 1 << 25) - third)
        allowed = refines("rcp.approx.f32 d, a;", f"mov.b32 d, {bits};", assume="a == 0x40400000").status
        assert allowed == ("proved" if error <= Fraction(1, 1 << 25) else "refuted") or allowed == "exhausted"


_NORMAL = "b >= 0x00800000 and b < 0x7e800000"
_BOTH = f"a >= 0x00800000 and a < 0x7f800000 and {_NORMAL}"


@pytest.mark.parametrize(
    ("left", "right", "assume", "status"),
    [
        ("div.full.f32 d, a, b;", "div.full.f32 d, a, b;", None, "proved"),
        ("div.full.f32 d, a, b;", "div.rn.f32 d, a, b;", _BOTH, "proved"),
        ("div.approx.f32 d, a, b;", "div.rn.f32 d, a, b;", _BOTH, "proved"),
        ("div.approx.f32 d, a, b;", "div.rn.f32 d, a, b; add.u32 d, d, 3;", _BOTH, "refuted"),
        ("div.approx.f32 d, a, b;", "div.rn.f32 d, a, b;", "b > 0x7e800000 and b < 0x7f800000 and a == 0x3f800000", "refuted"),
        ("rcp.approx.f32 t, b; fma.rn.f32 d, a, t, c;", "rcp.rn.f32 t, b; fma.rn.f32 d, a, t, c;", _NORMAL, "proved"),
        ("rcp.approx.f32 t, b; mul.rn.f32 d, a, t;", "rcp.rn.f32 t, b; mul.rn.f32 d, a, t;", _NORMAL, "proved"),
    ],
)  # fmt: skip
def test_approximate_results_of_two_inputs(left: str, right: str, assume: str | None, status: str) -> None:
    verdict = refines(left, right, assume=assume, timeout=30.0)
    assert verdict.status == status, verdict


def test_what_holds_of_all_functions() -> None:
    """Equal operands have equal results; nothing else is taken of an operation."""
    asked = ask("add.rn.f32 d, a, b;", "add.rn.f32 d, a, b; add.rn.f32 e, b, a; add.rn.f32 f, d, c;")
    one, other = asked.sides[1].outputs["d"], asked.sides[1].outputs["e"]
    types = asked.inputs.types
    same = truth_variable("p")
    for claim, all_alone in (((asked.sides[0].outputs["d"] != one) & same, "unsat"), ((one != other) & same, "sat")):
        any_function = with_any_functions(claim, False)
        assert solve(any_function, {**types, "p": TYPES["pred"]}, 20.0, simple=False).status == all_alone
    nested = asked.sides[1].outputs["f"] != 0
    assert {f.attrs[0] for f in freedoms_in(with_any_functions(nested, True))} >= {"operation"}
    assert with_any_functions(one != 0, True) is (one != 0)
