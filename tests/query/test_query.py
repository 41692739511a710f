"""Evaluating and proving."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import ptxspec
from ptxspec.query.assumptions import AssumptionError
from ptxspec.terms.exact import NoChoice


def bits(x: float) -> int:
    return int.from_bytes(struct.pack("<f", x), "little")


def test_evaluate_gives_results_by_name() -> None:
    results = ptxspec.evaluate("bfe.s32 d, a, b, c;", a=0x80, b=4, c=8)
    assert results == {"d": 8}
    assert results.steps[0][1].startswith("spec/instructions/integer/bfe.md:")


def test_evaluate_takes_negative_float_and_predicate_operands() -> None:
    assert ptxspec.evaluate("add.f32 d, a, b;", a=1.5, b=np.float32(-0.25))["d"] == bits(1.25)
    assert ptxspec.evaluate("shr.s32 d, a, 1;", a=-7)["d"] == 0xFFFFFFFC
    assert ptxspec.evaluate("selp.u32 d, 1, 2, p;", p=False)["d"] == 2


def test_evaluate_runs_several_instructions_with_guards() -> None:
    text = "setp.lt.s32 p, a, b; mov.u32 d, 0; @p mov.u32 d, 5; @!p add.u32 d, d, 9;"
    assert ptxspec.evaluate(text, a=1, b=2)["d"] == 5
    assert ptxspec.evaluate(text, a=2, b=1)["d"] == 9


def test_evaluate_says_what_a_profile_chose() -> None:
    results = ptxspec.evaluate("div.u32 d, a, b;", a=7, b=0)
    assert results["d"] == 0xFFFFFFFF
    assert [(c.entry, c.bits) for c in results.chosen] == [("division-by-zero", 0xFFFFFFFF)]
    assert ptxspec.evaluate("div.u32 d, a, b;", a=7, b=2).chosen == []
    with pytest.raises(NoChoice, match="division-by-zero"):
        ptxspec.evaluate("div.u32 d, a, b;", a=7, b=0, profile="portable")


# deviations -----------------------------------------------------------------------------------------------------------

#: a text, operands, what PTX states, what an H200 gave (rows of the recorded answers)
DEVIATING = [
    ("vadd.u32.u32.u32.sat d, a, b;", {"a": 0xFFFFFFFF, "b": 0xFF}, 0xFFFFFFFF, 0xFE),
    ("vadd.u32.u32.u32.max d, a, b, c;", {"a": 0xFF, "b": 0x80000000, "c": 0xFFFFFFFE}, 0xFFFFFFFE, 0x800000FF),
    ("vadd.s32.s32.s32.sat d.b0, a.b2, b.h0, c;", {"a": 0xF, "b": 0xFFFFFFFF, "c": 1}, 0xFF, 0x7F),
    ("vset.s32.u32.eq.min d, a, b, c;", {"a": 5, "b": 0xFFFFFF, "c": 0x80000001}, 0, 0x80000001),
]


@pytest.mark.parametrize(("text", "operands", "documented", "measured"), DEVIATING)
def test_a_deviation_is_what_is_documented_unless_the_profile_knows(
    text: str, operands: dict[str, int], documented: int, measured: int
) -> None:
    plain = ptxspec.evaluate(text, profile="portable", **operands)
    assert plain["d"] == documented and plain.chosen == []
    machine = ptxspec.evaluate(text, **operands)
    assert machine["d"] == measured
    assert machine.chosen == [("deviation", "video-machine-code", measured, "profile")]
    for profile, right, wrong in (("portable", documented, measured), ("hopper", measured, documented)):
        assert ptxspec.allowed(text, {"d": right}, profile=profile, **operands)
        assert not ptxspec.allowed(text, {"d": wrong}, profile=profile, **operands)


def test_an_evaluation_that_does_not_deviate_says_nothing() -> None:
    assert ptxspec.evaluate("vadd.u32.u32.u32.sat d, a, b;", a=7, b=8).chosen == []


def test_proofs_take_a_deviation_for_what_is_documented() -> None:
    claim = ("vmin.u32.s32.s32.sat d, a, b;", "min.s32 t, a, b; max.s32 d, t, 0;")
    assert ptxspec.prove(*claim).status == "proved"
    claim = ("vadd.u32.u32.u32.sat d, a, b;", "add.cc.u32 t, a, b; addc.u32 c, 0, 0; sub.u32 m, 0, c; or.b32 d, t, m;")
    assert ptxspec.prove(*claim).status == "proved"
    refuted = ptxspec.prove(*claim, profile="hopper")
    assert refuted.status == "refuted"
    machine = (claim[0], "add.u32 d, a, b;")
    assert ptxspec.prove(*machine, profile="hopper").status == "proved"
    assert ptxspec.prove(*machine).status == "refuted"


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_kernels_deviate_as_their_profile_says(engine: str) -> None:
    text, _, documented, measured = DEVIATING[0]
    kernel = f"""
        .version 8.0
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 p) {{
          .reg .u32 a, b, d;
          .reg .u64 q;
          ld.param.u64 q, [p];
          ld.global.u32 a, [q];
          ld.global.u32 b, [q+4];
          {text}
          st.global.u32 [q+8], d;
          ret;
        }}"""
    for profile, wanted in (("portable", documented), ("hopper", measured)):
        data = np.array([0xFFFFFFFF, 0xFF, 0], np.uint32)
        ptxspec.load(kernel).launch("k", 1, 1, [data], profile=profile, engine=engine)
        assert data[2] == wanted


def test_evaluate_extends_into_wider_registers() -> None:
    results = ptxspec.evaluate("cvt.s16.u32 d, a; cvt.u32.u32 e, d;", a=0x18000)
    assert results["d"] == 0xFFFF8000  # d is 32 bits wide, because the second instruction reads it so


@pytest.mark.parametrize(
    ("text", "operands", "error", "what"),
    [
        ("bfe.s32 d, a, b, c;", {"a": 1, "b": 2}, TypeError, "operand c"),
        ("bfe.s32 d, a, b, c;", {"a": 1, "b": 2, "c": 3, "x": 4}, TypeError, "x: no operand"),
        ("add.u16 d, a, b;", {"a": 70000, "b": 2}, TypeError, "does not fit"),
        ("add.u16 d, a, b;", {"a": "7", "b": 2}, TypeError, "is no operand"),
        ("add.u16 d, a, b;", {"a": True, "b": 2}, TypeError, "not a predicate"),
        ("selp.u32 d, 1, 2, p;", {"p": 7}, TypeError, "is a predicate"),
        ("add.f32x2 d, a, b;", {}, ptxspec.PtxError, "nearest forms are"),
        ("nonsense d;", {}, ptxspec.PtxError, "no instruction that the pages define"),
        ("add.u32 d, a b", {}, ptxspec.PtxError, "expected"),
        ("add.u32 d, ; mov.u32 , e; .entry", {}, ptxspec.PtxError, r"(?s)expected an op.*not ','.*not '.entry'"),
        ("add.u32 d, a; ", {}, ptxspec.PtxError, "no form of add.u32 takes these operands"),
        ("add.u32 d, a, b; add.u64 e, a, b;", {}, ptxspec.PtxError, r"a is .b32 elsewhere"),
        ("}", {}, ptxspec.PtxError, "expected a statement, not '}'"),
    ],
)
def test_evaluate_refuses(text: str, operands: dict[str, object], error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        ptxspec.evaluate(text, **operands)  # type: ignore[arg-type]


def test_fused_multiply_add_is_fused() -> None:
    a = b = 1.0 + 2.0**-12
    fused = ptxspec.evaluate("fma.rn.f32 d, a, b, c;", a=a, b=b, c=-1.0)["d"]
    apart = ptxspec.evaluate("mul.rn.f32 t, a, b; add.rn.f32 d, t, c;", a=a, b=b, c=-1.0)["d"]
    assert fused == bits(2.0**-11 + 2.0**-24) and apart == bits(2.0**-11)


# proving ---------------------------------------------------------------------------------------------------------------


def test_prove_proves() -> None:
    verdict = ptxspec.prove("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;", assume="a != 0")
    assert (verdict.status, verdict.counterexample) == ("proved", None)


def test_prove_refutes_with_a_replayed_counterexample() -> None:
    verdict = ptxspec.prove("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;")
    found = verdict.counterexample
    assert verdict.status == "refuted" and found is not None
    assert found.inputs == {"a": 0} and found.differing == ("d",)
    for side, steps in (("clz.b32 d, a;", found.left), ("bfind.shiftamt.u32 d, a;", found.right)):
        assert steps[0].instruction == side
        assert steps[0].writes == dict(ptxspec.evaluate(side, a=0))
    assert found.left[0].page.startswith("spec/instructions/integer/clz.md:")


def test_counterexamples_are_small() -> None:
    found = ptxspec.prove("add.u32 d, a, b;", "or.b32 d, a, b;").counterexample
    assert found is not None and found.inputs == {"a": 1, "b": 1}


def test_every_common_result_is_compared() -> None:
    left = "add.u32 d, a, b; sub.u32 e, a, b;"
    assert ptxspec.prove(left, "add.u32 d, b, a; sub.u32 e, a, b;").status == "proved"
    found = ptxspec.prove(left, "add.u32 d, b, a; sub.u32 e, b, a;").counterexample
    assert found is not None and found.differing == ("e",)


def test_an_instruction_is_itself() -> None:
    for text in ("div.s32 d, a, b;", "fma.rn.f32 d, a, b, c;", "cvt.rni.s32.f32 d, a;", "rem.s64 d, a, b;"):
        assert ptxspec.prove(text, text).status == "proved"


def test_open_results_are_compared_as_sets() -> None:
    # any NaN on both sides: the same set
    assert ptxspec.prove("add.f32 d, a, b;", "add.f32 d, b, a;").status == "proved"
    # any bits where one divides by zero, against a number: not the same
    verdict = ptxspec.prove("div.u32 d, a, b;", "div.u32 t, a, b; and.b32 d, t, 0x7fffffff;", assume="b == 0")
    assert verdict.status == "refuted"
    # whatever division by zero gives, it is the same on both sides here
    assert ptxspec.prove("div.u32 t, a, b; add.u32 d, t, 1;", "div.u32 t, a, b; sub.u32 d, t, -1;").status == "proved"
    # a profile decides
    assert ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, -1;").status == "refuted"
    assert ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, -1;", profile="hopper").status == "proved"


def test_single_precision_is_never_a_nan_of_our_choosing() -> None:
    verdict = ptxspec.prove("add.f32 d, a, b;", "mov.b32 d, 0x7fffffff;", assume="nan(a)")
    assert verdict.status == "refuted"
    assert (
        ptxspec.prove("add.f32 d, a, b;", "mov.b32 d, 0x7fffffff;", assume="nan(a)", profile="hopper").status
        == "proved"
    )


def test_a_timeout_is_no_proof() -> None:
    hard = "mul.lo.u64 x, a, a; mul.lo.u64 y, x, a; mul.lo.u64 d, y, y;"
    same = "mul.lo.u64 x, a, a; mul.lo.u64 y, x, x; mul.lo.u64 d, x, y;"
    verdict = ptxspec.prove(hard, same, timeout=0.05)
    assert verdict.status in ("exhausted", "unknown") and verdict.counterexample is None


def test_what_fragments_cannot_do_is_unsupported() -> None:
    for text in ("ld.global.u32 d, [a];", "bar.sync 0;", "ret;", ".reg .u32 d;"):
        assert ptxspec.prove(text, "mov.u32 d, 0;").status == "unsupported"


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        ptxspec.prove("mov.u32 d, a;", "mov.u32 e, a;")


@pytest.mark.parametrize(
    ("assume", "what"),
    [
        ("a !=", "is no condition"),
        ("a + 1", "is a number"),
        ("x == 1", "x is no input"),
        ("f(a)", r"f\(\) is not known"),
        ("a == 1 if a else 2", "only inputs"),
        ("__import__('os')", "only inputs|takes the name"),
        ("a.real == 1", "only inputs"),
        ("nan(p)", "is not known here|takes the name"),
    ],
)
def test_bad_assumptions_are_refused(assume: str, what: str) -> None:
    with pytest.raises(AssumptionError, match=what):
        ptxspec.prove("add.u32 d, a, b;", "add.u32 d, b, a;", assume=assume)


def test_assumptions_read_as_python_does() -> None:
    inputs = "0 <= signed(a) < 8 and not (b & 1 == 1) and b <= 6 or a == b == 9"
    verdict = ptxspec.prove(
        "mov.u32 d, a; add.u32 e, a, b;", "mov.u32 d, a; add.u32 t, b, a; mov.u32 e, t;", assume=inputs
    )
    assert verdict.status == "proved"


def test_a_register_that_guards_leave_unwritten_need_not_be_given() -> None:
    text = "setp.lt.s32 p, a, b; @p mov.b32 d, a; @!p mov.b32 d, b;"
    assert ptxspec.evaluate(text, a=1, b=2)["d"] == 1
    assert ptxspec.evaluate(text, a=3, b=2)["d"] == 2
    assert "d" not in ptxspec.evaluate("setp.eq.u32 p, a, 0; @p mov.b32 d, a;", a=7)
    with pytest.raises(TypeError, match="operand d"):
        ptxspec.evaluate("setp.eq.u32 p, a, 0; @p mov.b32 d, a; add.u32 e, d, 1;", a=7)


def test_what_is_allowed_of_a_result_that_is_cut_to_its_register() -> None:
    """A field beyond bit 255 is open, whatever the definition does to it on the way to the register."""
    for type, width in (("u32", 32), ("s32", 32), ("s64", 64)):
        text, top = f"bfe.{type} d, a, b, c;", (1 << width) - 1
        assert all(ptxspec.allowed(text, {"d": d}, a=5, b=300, c=2) for d in (0, 77, top))
        assert ptxspec.allowed(text, {"d": top if type[0] == "s" else 1}, a=2, b=1, c=1)
        assert not ptxspec.allowed(text, {"d": 77}, a=2, b=1, c=1)
