"""Inputs for a condition over operands and results: found, replayed, in order; or proved to be none."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.query import finding
from ptxspec.query.minimal import order_of, rank, smallest
from ptxspec.query.solvers import SolverAnswer
from ptxspec.query.trials import simple_values
from ptxspec.terms.core import Bool, constant
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.types import TYPES


def test_the_simplest_inputs_are_found_in_order() -> None:
    found = ptxspec.find("add.sat.s32 d, a, b;", "d == 0x7fffffff and a < 16", count=4)
    assert [(f["a"], f["b"]) for f in found] == [(0, 0x7FFFFFFF), (1, 0x7FFFFFFF), (1, 0x7FFFFFFE), (2, 0x7FFFFFFF)]
    assert found.status == "found" and not found.complete and found.ordered
    for one in found:
        assert one.results == ptxspec.evaluate("add.sat.s32 d, a, b;", **one)


def test_all_there_are_and_a_proof_of_no_more() -> None:
    """Of the values of 16 bits, against all of them run."""
    everything = np.arange(1 << 16)
    results = ptxspec.evaluate("mul.lo.u16 d, a, a; popc.b32 e, b;", a=everything.astype("u2"), b=0)["d"]
    wanted = set(everything[results == 0x4000].tolist())
    found = ptxspec.find("mul.lo.u16 d, a, a;", "d == 0x4000 and a < 4096", count=100)
    assert {f["a"] for f in found} == {a for a in wanted if a < 4096}
    assert found.complete and "no others" in found.reason


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("mul.lo.u32 d, a, a;", "d == 2"),
        ("popc.b32 d, a;", "d > 32"),
        ("setp.lt.s32 p, a, b; setp.lt.s32 q, b, a;", "p and q"),
        ("mul.f32 d, a, a;", "negative(d) and not nan(a)"),
        ("add.u32 d, a, 1;", "d == a"),
    ],
)
def test_none_is_proved(text: str, where: str) -> None:
    found = ptxspec.find(text, where)
    assert found == [] and found.status == "none" and found.complete and found.reason.startswith("proved none")
    assert found.exit_status == 1


def test_nothing_is_proved_when_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "solve", lambda *_, **__: SolverAnswer("timeout", {}, {}))
    found = ptxspec.find("popc.b32 d, a;", "d > 32")
    assert found == [] and found.status == "unknown" and not found.complete and "timeout" in found.reason
    assert found.exit_status == 2


def test_what_the_solver_makes_up_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that does not stand up to the exact interpretation is no answer, and no proof of none either."""
    values = iter(range(100))
    monkeypatch.setattr(finding, "solve", lambda *_, **__: SolverAnswer("sat", {"a": next(values)}, {}))
    found = ptxspec.find("popc.b32 d, a;", "d > 32")
    assert found == [] and found.status == "unknown" and "did not stand up" in found.reason


def test_results_and_inputs_of_one_name() -> None:
    text = "add.u32 d, d, 1;"
    (found,) = ptxspec.find(text, "d == 8")
    assert found == {"d": 7} and found.results == {"d": 8}
    (found,) = ptxspec.find(text, "d == 0", assume="d != 0")
    assert found == {"d": 0xFFFFFFFF}
    assert ptxspec.find(text, "d == 8", assume="d == 8").status == "none"


@pytest.mark.slow
def test_floating_point_conditions() -> None:
    found = ptxspec.find("mul.f32 d, a, a;", "real(d) == 0.25", count=3)
    assert [f["a"] for f in found] == [0x3F000000, 0xBF000000] and found.complete
    (found_one,) = ptxspec.find("add.f32 d, a, b;", "nan(d) and not nan(a) and not nan(b)")
    assert found_one == {"a": 0x7F800000, "b": 0xFF800000}
    (half,) = ptxspec.find("cvt.rn.f16.f32 d, a;", "real(d) == 1.5 and real(a) > 1.5")
    assert 1.5 < np.uint32(half["a"]).view("f4") < 1.501


def test_a_decimal_is_exact() -> None:
    with pytest.raises(ptxspec.AssumptionError, match=r"no number of \.f32 is 0\.1"):
        ptxspec.find("mov.b32 d, a;", "real(d) == 0.1")
    near = np.float32(0.1).view("u4").item()  # above a tenth
    assert ptxspec.find("mov.b32 d, a;", f"real(d) > 0.1 and d == {near}").status == "found"
    assert ptxspec.find("mov.b32 d, a;", f"real(d) <= 0.1 and d == {near}").status == "none"
    assert ptxspec.find("mov.b32 d, a;", "real(d) > 1e39 and not infinite(d)").status == "none"
    assert ptxspec.find("mov.b32 d, a;", "real(d) > 1e39").status == "found"
    assert ptxspec.find("mov.b32 d, a;", "nan(d) and real(d) != 1.0").status == "found"
    assert (
        ptxspec.find("mov.b32 d, a;", "nan(d) and (real(d) == 1.0 or real(d) < 1.0 or real(d) >= 1.0)").status == "none"
    )


@pytest.mark.slow
def test_comparisons_with_decimals_against_rationals() -> None:
    source = random.Random(7)
    ops = {"<": Fraction.__lt__, "<=": Fraction.__le__, ">": Fraction.__gt__, ">=": Fraction.__ge__}
    for _ in range(60):
        bits, sign = source.getrandbits(15), source.choice("+-")
        number = float(np.uint16(source.getrandbits(16)).view("f2"))
        text = f"{source.choice([bits / 1024, number, number * 1.0001]):.9f}".replace("nan", "0.3").replace(
            "inf", "7.5"
        )
        text = text if text.startswith("-") or sign == "+" else f"-{text}"
        pattern = source.getrandbits(16)
        value = np.uint16(pattern).view("f2")
        op = source.choice(list(ops))
        holds = bool(np.isfinite(value)) and ops[op](Fraction(float(value)), Fraction(text))
        holds = holds or (np.isinf(value) and (value > 0) == (op in (">", ">=")))
        found = ptxspec.find("mov.b16 d, a;", f"real(d) {op} {text}", assume=f"a == {pattern}")
        assert (found.status == "found") == holds, (pattern, op, text)


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ("e == 1", "e is neither an input nor a result; there are a, b, d"),
        ("d", "a number, not a condition"),
        ("d == 1.5", "compared with real"),
        ("real(d) == a", "real"),
        ("1.5 < 2.5", "two decimal"),
        ("real(d + 1) == 1.0", "takes the name"),
        ("~1.5 == real(d)", "no bits to invert"),
        ("real(d) == 1e400", "beyond the numbers"),
        ("1e-99999999999 < real(d)", "at most is read"),
        ("1e99999999999 < real(d)", "at most is read"),
        ("float(d) == 1", "not known here"),
        ("1e-999 < real(d)", None),
    ],
)
def test_conditions_that_cannot_be_read(where: str, match: str | None) -> None:
    if match is None:  # a number that is small, and no fault
        assert ptxspec.find("add.u32 d, a, b;", where).status == "found"
        return
    with pytest.raises(ptxspec.AssumptionError, match=match):
        ptxspec.find("add.u32 d, a, b;", where)


def test_arguments_and_texts_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="count"):
        ptxspec.find("mov.b32 d, a;", "d == 1", count=0)
    with pytest.raises(ValueError, match="timeout"):
        ptxspec.find("mov.b32 d, a;", "d == 1", timeout=0)
    with pytest.raises(ptxspec.Unsupported, match="barrier"):
        ptxspec.find("bar.sync 0;", "d == 1")
    with pytest.raises(ptxspec.AssumptionError, match="d is no input"):
        ptxspec.find("mov.b32 d, a;", "d == 1", assume="d == 1")


def test_open_results_are_those_of_the_profile_or_of_a_machine() -> None:
    text, where = "div.u32 d, a, b;", "d == 7 and b == 0"
    assert ptxspec.find(text, where).status == "none"  # the chip gives all ones
    (found,) = ptxspec.find(text, where, profile="portable")
    (choice,) = found.choices
    assert (choice.entry, choice.bits, choice.operands) == ("division-by-zero", 7, (found["a"], 0))


def test_special_registers_have_the_values_of_threads() -> None:
    found = ptxspec.find("mov.u32 d, %laneid;", "d > 29", count=5)
    assert [f["%laneid"] for f in found] == [31, 30] and found.complete


def test_an_approximate_result_is_the_nearest() -> None:
    text = "rsqrt.approx.f64 d, a;"
    (found,) = ptxspec.find(text, "real(d) == 1.0", timeout=20)
    assert found == {"a": 0x3FF0000000000000} and ptxspec.evaluate(text, found) == found.results


# the order of values --------------------------------------------------------------------------------------------------


def test_the_order_of_integers() -> None:
    def ordered(*values: int) -> bool:
        ranks = [rank(v & 0xFFFFFFFF, TYPES["s32"]) for v in values]
        return ranks == sorted(ranks) and len(set(ranks)) == len(ranks)

    assert ordered(0, 1, -1, 2, -2, 3, 16, -16, 32, -32, 1 << 30, -(1 << 31), 31, 0x7FFFFFFF, 17, -17, 18)
    assert rank(0xFFFFFFFF, TYPES["u32"]) > rank(32, TYPES["u32"])


def test_the_order_of_floating_point_numbers() -> None:
    values = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 4.0, -0.0, 1.5, 3.0, 1.1, np.inf, -np.inf, 1e-40, np.nan]
    ranks = [rank(np.float32(v).view("u4").item(), TYPES["f32"]) for v in values]
    assert ranks == sorted(ranks) and len(set(ranks)) == len(ranks)


@pytest.mark.parametrize("name", ["u8", "s8", "b8", "f16", "bf16", "e4m3", "e2m1", "f16x2"])
def test_the_order_is_total(name: str) -> None:
    """No two values have one rank, and every value is of some class."""
    type = TYPES[name]
    values = range(1 << type.width) if type.width <= 8 else random.Random(1).sample(range(1 << type.width), 500)
    assert len({rank(v, type) for v in values}) == len(values)


def test_the_simplest_model_is_the_first_of_all() -> None:
    """Of models that are listed, against their least by rank."""
    source = random.Random(3)
    for _ in range(30):
        types = {"a": TYPES[source.choice(["s8", "u8", "b8"])], "b": TYPES["s8"]}
        models = [{"a": source.getrandbits(8), "b": source.getrandbits(8)} for _ in range(12)]

        def again(condition: Bool, models: list[dict[str, Any]] = models) -> tuple[str, SolverAnswer | None]:
            for values in models:
                if evaluate_term(condition, values):
                    return "sat", SolverAnswer("sat", values, {})
            return "unsat", None

        found, sure = smallest(SolverAnswer("sat", models[0], {}), types, again, float("inf"))
        least = min(models, key=lambda m: [rank(m[n], t) for n, t in types.items()])
        assert found.values == least and sure


def test_without_answers_a_model_stays_and_is_not_called_the_simplest() -> None:
    first = SolverAnswer("sat", {"a": 77}, {})
    found, sure = smallest(first, {"a": TYPES["u32"]}, lambda _: ("unknown", None), float("inf"))
    assert found is first and not sure
    found, sure = smallest(first, {"a": TYPES["u32"]}, lambda _: ("unsat", None), 0.0)  # the time is over
    assert found is first and not sure


def test_simple_values_come_in_order_and_have_the_types_range() -> None:
    for type in TYPES.values():
        values = simple_values(type)
        assert values and all(0 <= v < 1 << type.width for v in values)
        if type.kind != "pred":
            ranks = [rank(v, type) for v in values]
            assert ranks == sorted(ranks)
    assert order_of(constant(0), TYPES["f32"]).classes[0].attrs[0]


def test_counterexamples_are_simple() -> None:
    def inputs(left: str, right: str, **more: Any) -> dict[str, Any]:
        found = ptxspec.prove(left, right, **more)
        assert found.counterexample is not None
        return found.counterexample.inputs

    assert inputs("neg.s32 d, a;", "not.b32 d, a;") == {"a": 0}
    assert inputs("div.s32 d, a, 4;", "shr.s32 d, a, 2;") == {"a": 0xFFFFFFFF}
    assert inputs("shl.b32 d, a, b;", "and.b32 x, b, 31; shl.b32 d, a, x;") == {"a": 1, "b": 32}
    assert inputs("add.f32 d, a, 0f00000000;", "mov.b32 d, a;", assume="not nan(a)") == {"a": 0x80000000}
