"""Evaluating and proving."""

from __future__ import annotations

import random
import re
import struct
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.language.forms import registry
from ptxspec.language.specials import first_name, special_registers
from ptxspec.machine.batch import Extents
from ptxspec.machine.special import SpecialValues
from ptxspec.query import equivalence
from ptxspec.query.assumptions import AssumptionError
from ptxspec.query.fragments import MOST_INSTRUCTIONS, read_fragment
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.solvers import kept, portfolio
from ptxspec.terms.core import integer
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.registries import GUARANTEES, changing
from ptxspec.terms.vocabulary import DEVIATION, freedoms_in


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
    assert results == {
        "d": 0x8000,
        "e": 0xFFFF8000,
    }  # the register of d is 32 bits wide: the second instruction reads it so
    assert (results.types["d"].name, results.types["e"].name) == ("s16", "u32")


@pytest.mark.parametrize("more", ["", "add.u32 e, d, 1;", "cvt.u64.u32 e, d;"])
def test_a_result_is_as_wide_as_its_form(more: str) -> None:
    results = ptxspec.evaluate(f"cvt.sat.s8.s32 d, a; {more}", a=-300)
    assert results["d"] == 0x80 and results.types["d"].name == "s8" and results.steps[0][2] == {"d": 0x80}
    text = f"cvt.s8.s32 d, a; {more}"
    assert ptxspec.prove(text, "cvt.u8.u32 d, a;").status == "proved"
    assert ptxspec.prove("cvt.u8.u32 d, a;", text).status == "proved"
    found = ptxspec.prove(text, "and.b32 d, a, 0xff;").counterexample  # 32 bits, into which the eight are extended
    assert found is not None and found.inputs["a"] == 0xFFFFFFFF and found.compared["d"].width == 32
    assert found.as_dict()["left"][0]["types"]["d"] == ".s8" and found.as_dict()["right"][0]["types"]["d"] == ".b32"


@pytest.mark.parametrize(
    ("text", "operands", "error", "what"),
    [
        ("bfe.s32 d, a, b, c;", {"a": 1, "b": 2}, TypeError, "operand c"),
        ("bfe.s32 d, a, b, c;", {"a": 1, "b": 2, "c": 3, "x": 4}, TypeError, "x: no operand"),
        ("add.u16 d, a, b;", {"a": 70000, "b": 2}, TypeError, "does not fit"),
        ("add.u16 d, a, b;", {"a": "7", "b": 2}, TypeError, "is no operand"),
        ("add.u16 d, a, b;", {"a": True, "b": 2}, TypeError, "not a predicate"),
        ("selp.u32 d, 1, 2, p;", {"p": 7}, TypeError, "is a predicate"),
        ("add.f32x3 d, a, b;", {}, ptxspec.PtxError, "nearest forms are"),
        ("nonsense d;", {}, ptxspec.PtxError, "is no instruction of PTX"),
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


#: left, right, and the verdict: for every input and every machine, all results together
MACHINES = [
    # a freedom equals itself, and what is computed from it
    ("div.u32 d, a, b;", "div.u32 d, a, b;", "proved"),
    ("div.u32 t, a, b; add.u32 d, t, 1;", "div.u32 t, a, b; sub.u32 d, t, -1;", "proved"),
    ("add.f32 d, a, b; not.b32 e, d;", "add.f32 d, a, b; xor.b32 e, d, -1;", "proved"),
    # by the values of its operands
    ("div.u32 d, b, 0;", "not.b32 x, b; not.b32 y, x; div.u32 d, y, 0;", "proved"),
    ("div.u32 d, a, b;", "add.u32 x, a, b; sub.u32 y, x, a; div.u32 d, a, y;", "proved"),
    ("div.u32 x, a, 0; div.u32 d, x, 0;", "div.u32 x, a, 0; not.b32 y, x; not.b32 z, y; div.u32 d, z, 0;", "proved"),
    ("div.u32 x, a, 0; div.u32 y, b, 0; div.u32 d, x, 0;", "div.u32 z, a, 0; div.u32 d, z, 0;", "proved"),
    ("div.u32 d, a, 0;", "div.u32 d, b, 0;", "refuted"),
    ("add.f32 d, a, b;", "add.f32 d, b, a;", "refuted"),
    ("div.u32 d, a, b;", "div.u32 t, a, b; and.b32 d, t, 0x7fffffff;", "refuted"),
    # another freedom is another choice, another type is another freedom
    ("bfe.u32 d, a, 300, 8;", "div.u32 d, a, 0;", "refuted"),
    ("rem.u32 d, a, 0;", "div.u32 d, a, 0;", "refuted"),
    ("div.u32 d, a, 0;", "div.s32 d, a, 0;", "refuted"),
    # jointly
    ("div.u32 d, a, 0; mov.u32 e, d;", "div.u32 d, a, 0; bfe.u32 e, a, 300, 8;", "refuted"),
    ("div.u32 d, a, 0; mov.u32 e, d;", "div.u32 d, a, 0; div.u32 e, a, 0;", "proved"),
    ("div.u32 d, a, 0; div.u32 e, b, 0;", "div.u32 e, b, 0; div.u32 d, a, 0;", "proved"),
    # a choice is allowed: no machine makes a number of a NaN
    (
        "add.f32 d, a, 0f7fc00000; testp.notanumber.f32 p, d;",
        "add.f32 d, a, 0f7fc00000; setp.eq.u32 p, a, a;",
        "proved",
    ),
    ("div.u32 d, a, 0;", "mov.u32 d, -1;", "refuted"),
    # an undefined result is a choice of each execution: the first is the first, and need not be the second
    ("fns.b32 d, a, b, c; fns.b32 e, a, b, c;", "fns.b32 d, a, b, c; fns.b32 e, a, b, c;", "proved"),
    ("fns.b32 d, a, b, c; fns.b32 e, a, b, c;", "fns.b32 d, a, b, c; mov.b32 e, d;", "refuted"),
    ("fns.b32 d, a, 40, c; fns.b32 e, a, 41, c;", "fns.b32 e, a, 41, c; fns.b32 d, a, 40, c;", "proved"),
    ("@p bra L; fns.b32 d, a, b, c; ret; L: fns.b32 d, a, b, c;", "fns.b32 d, a, b, c;", "proved"),
    ("@p fns.b32 d, a, b, c; @!p fns.b32 d, a, b, c;", "fns.b32 d, a, b, c;", "proved"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("left", "right", "status"), MACHINES)
def test_equal_for_every_machine(left: str, right: str, status: str) -> None:
    for one, other in ((left, right), (right, left)):
        verdict = ptxspec.prove(one, other, nan="payloads")
        assert verdict.status == status and (verdict.counterexample is not None) == (status == "refuted")


#: two sides, and the verdicts with any NaN and with payloads
NANS = [
    ("add.rn.f32 d, a, b;", "add.rn.f32 d, b, a;", "proved", "refuted"),
    ("mul.rn.f32 d, a, 0f40000000;", "add.rn.f32 d, a, a;", "proved", "refuted"),
    ("add.rn.f64 d, a, b;", "add.rn.f64 d, b, a;", "proved", "refuted"),
    ("add.rn.f16x2 d, a, b;", "add.rn.f16x2 d, b, a;", "proved", "refuted"),
    ("add.rn.f16x2 d, a, b;", "sub.rn.f16x2 d, b, a;", "refuted", "refuted"),
    # moved, and selected
    ("add.rn.f32 t, a, b; selp.b32 d, t, c, p;", "add.rn.f32 t, b, a; @p mov.b32 d, t; @!p mov.b32 d, c;", "proved", "refuted"),
    # an open NaN is no NaN whose bits are known, as those of an operand
    ("add.rn.f32 d, a, b;", "add.rn.f32 d, b, a; setp.eq.f32 q, d, d; @!q mov.b32 d, 0x7fffffff;", "refuted", "refuted"),
    ("add.rn.f32 d, a, 0f00000000;", "mov.b32 d, a;", "refuted", "refuted"),
    ("mov.b32 d, 0x7fc00000;", "mov.b32 d, 0x7fc00001;", "refuted", "refuted"),
    # its bits, where something is computed from them
    ("add.rn.f32 t, a, b; and.b32 d, t, 1;", "add.rn.f32 t, b, a; and.b32 d, t, 1;", "refuted", "refuted"),
    ("add.rn.f32 t, a, b; shl.b32 d, t, 1;", "add.rn.f32 t, b, a; shl.b32 d, t, 1;", "refuted", "refuted"),
    ("add.rn.f16 t, a, b; cvt.u32.u16 d, t;", "add.rn.f16 t, b, a; cvt.u32.u16 d, t;", "refuted", "refuted"),
    ("add.rn.f32 t, a, b; setp.eq.u32 p, t, 0x7fffffff;", "add.rn.f32 t, b, a; setp.eq.u32 p, t, 0x7fffffff;", "refuted", "refuted"),
    ("add.rn.f16 t, a, b; mov.b32 d, {t, t};", "add.rn.f16 t, b, a; mov.b32 d, {t, t};", "refuted", "refuted"),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("left", "right", "plain", "strict"), NANS)
def test_an_open_nan_is_as_good_as_another_unless_payloads_count(
    left: str, right: str, plain: str, strict: str
) -> None:
    for one, other in ((left, right), (right, left)):
        found = {nan: ptxspec.prove(one, other, nan=nan) for nan in ("any", "payloads")}  # type: ignore[arg-type]
        assert {nan: v.status for nan, v in found.items()} == {"any": plain, "payloads": strict}
        for nan, verdict in found.items():
            assert verdict.statement is not None and verdict.statement.nan == nan
    assert (
        ptxspec.prove("add.rn.f32 d, a, b;", "add.rn.f32 d, b, a;", profile="hopper", assume="a < 4").status == "proved"
    )


#: a scratch register of which the values differ where the result is the same
SCRATCH = ("add.u32 x, a, b; add.u32 d, x, c;", "add.u32 x, b, c; add.u32 d, x, a;")


def test_results_are_compared_and_not_scratch_registers() -> None:
    found = ptxspec.prove(*SCRATCH)
    assert found.status == "proved" and found.statement is not None and found.statement.compared == {"d": ".u32"}
    assert "Not compared, since later instructions read it on both sides: x." in found.statement.words()
    for names, status in ((["d"], "proved"), (["x"], "refuted"), (["d", "x"], "refuted"), (["*"], "refuted")):
        named = ptxspec.prove(*SCRATCH, compare=names)
        assert named.status == status and named.statement is not None
        assert (named.statement.compared.keys() == {"d", "x"}) == (len(names) == 2 or names == ["*"])


@pytest.mark.parametrize(
    ("left", "right", "compared"),
    [
        # a register that one side alone reads again is a result, and so is one that a later instruction writes again
        ("add.u32 x, a, b; add.u32 d, x, c;", "add.u32 x, a, b; add.u32 d, a, c;", {"x", "d"}),
        ("add.u32 x, a, b; add.u32 d, x, c; mov.u32 x, 1;", "mov.u32 x, 1; mov.u32 d, x; mov.u32 x, 2;", {"x", "d"}),
        # a guarded instruction leaves what was there
        ("mov.u32 d, a; @p mov.u32 d, b;", "selp.b32 d, b, a, p;", {"d"}),
        # the condition code, once it is taken
        ("add.cc.u32 d, a, b; addc.u32 e, c, 0;", "add.cc.u32 d, b, a; addc.u32 e, 0, c;", {"d", "e"}),
        # all registers are read again: all are compared
        ("mov.u32 x, a; setp.eq.u32 p, x, 0; @p mov.u32 x, 1;", "mov.u32 x, a; @q mov.u32 x, 1;", {"x"}),
        ("mov.u32 x, a; @x0 bra L; L:", "mov.u32 x, b;", {"x"}),
        # in a loop: what is read before the next iteration writes it, and what is there in the end
        (
            "mov.u32 s, 0; mov.u32 i, 0; L: add.u32 s, s, i; add.u32 i, i, 1; setp.lt.u32 p, i, 4; @p bra L;",
            "mov.u32 i, 7; setp.lt.u32 q, i, 0; mov.u32 s, 6;",
            {"s"},
        ),
    ],
)
def test_a_result_is_what_no_later_instruction_reads(left: str, right: str, compared: set[str]) -> None:
    verdict = ptxspec.prove(left, right)
    assert verdict.statement is not None and verdict.statement.compared.keys() == compared


@pytest.mark.parametrize("names", [["e"], ["d", "c"], [], "d"])
def test_what_cannot_be_compared_is_an_error(names: Any) -> None:
    with pytest.raises(ValueError, match=r"not compared: both sides have to write it; they write x, d|a list of names"):
        ptxspec.prove(*SCRATCH, compare=names)


def test_a_way_to_compare_nans_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="nan is 'any' or 'payloads', not 'bits'"):
        ptxspec.prove(*SCRATCH, nan="bits")  # type: ignore[arg-type]


#: two sums of one product
SUMS = "mul.f16 t, a, b; add.f16 d, t, c; add.f16 e, t, f;"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "right", "status"),
    [
        (SUMS, SUMS, "proved"),
        (f"{SUMS} xor.b16 g, d, e;", f"{SUMS} mov.b16 g, 0;", "refuted"),  # one sum may be fused and not the other
        (f"{SUMS} xor.b16 g, d, d;", f"{SUMS} mov.b16 g, 0;", "proved"),
        (SUMS, "mul.rn.f16 t, a, b; add.rn.f16 d, t, c; add.rn.f16 e, t, f;", "refuted"),
    ],
)
def test_sides_are_contracted_alike_execution_by_execution(left: str, right: str, status: str) -> None:
    verdict = ptxspec.prove(left, right, assume="c == f", contract="any")
    assert verdict.status == status and verdict.statement is not None
    assert any("Each execution chooses by itself, on both sides alike" in w for w in verdict.statement.words())


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("cvt.rn.f16.f32 d, {};", 0x7FC00000, 0x7FC00001),  # the payload that tells them apart does not fit
        ("cvt.rn.f16x2.e5m2x2 d, {};", 0x007D, 0x007F),  # one is signalling
        ("cvt.f64.f16 d, {};", 0x7C01, 0x7E01),
        ("cvt.rn.bf16x2.f32 d, {}, c;", 0x7F800001, 0x7FC00001),
    ],
)
def test_a_converted_nan_depends_on_all_its_bits(text: str, first: int, second: int, same: bool) -> None:
    verdict = ptxspec.prove(
        text.format("a"),
        text.format("b"),
        assume=f"a == {first} and b == {first if same else second}",
        nan="payloads",
    )
    assert verdict.status == ("proved" if same else "refuted")


def test_a_guard_around_packed_results_leaves_their_nans_open() -> None:
    left, right = "@p add.rn.f16x2 d, b, a;", "@p add.rn.f16x2 d, a, b;"
    assert ptxspec.prove(left, right).status == "proved"
    assert ptxspec.prove(left, right, nan="payloads").status == "refuted"
    assert ptxspec.prove(left, "@p add.rn.f16x2 d, a, c;").status == "refuted"


def test_an_open_nan_beside_bits_is_shown_with_others() -> None:
    """The counterexample has a NaN that is not the one on the other side: values that are the same would show nothing."""
    found = ptxspec.prove("abs.f32 d, a;", "mov.b32 d, a;", assume="nan(a)")
    shown = found.counterexample
    assert found.status == "refuted" and shown is not None and shown.differing == ("d",)
    assert shown.left[-1].writes["d"] != shown.right[-1].writes["d"]


#: of operands that are NaNs: two sides, and the verdict on all machines; an H200 has the same NaN on both
OPERATIONS = [
    ("abs.f32 d, a;", "neg.f32 d, a;", "refuted"),
    ("abs.f32 d, a;", "abs.ftz.f32 d, a;", "proved"),
    ("abs.f32 d, a;", "add.f32 d, a, 0f80000000;", "refuted"),
    ("add.f32 d, a, b;", "add.f32 d, a, b;", "proved"),
    ("add.f32 d, a, b;", "add.rz.ftz.f32 d, a, b;", "proved"),
    ("add.f32 d, a, b;", "mul.f32 d, a, b;", "refuted"),
    ("add.f32 d, a, b;", "sub.f32 d, a, b;", "refuted"),
    ("sub.f32 d, a, b;", "xor.b32 c, b, 0x80000000; add.f32 d, a, c;", "refuted"),
    ("fma.rn.f32 d, a, b, c;", "mad.rn.f32 d, a, b, c;", "proved"),
    ("fma.rn.f32 d, a, b, 0f80000000;", "mul.rn.f32 d, a, b;", "refuted"),
    ("min.NaN.f32 d, a, b;", "max.NaN.f32 d, a, b;", "proved"),  # both give the canonical NaN
    ("min.NaN.f32 d, a, b;", "min.NaN.xorsign.abs.f32 d, a, b;", "proved"),
    ("sqrt.rn.f32 d, a;", "rcp.rn.f32 d, a;", "refuted"),
    ("sqrt.rn.f32 d, a;", "sqrt.rz.f32 d, a;", "proved"),
    ("abs.f32 d, a; neg.f32 e, a;", "abs.f32 d, a; mov.b32 e, d;", "refuted"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("left", "right", "status"), OPERATIONS)
def test_each_operation_has_a_nan_of_its_own(left: str, right: str, status: str) -> None:
    given = "nan(a) and nan(b)" if "b" in re.findall(r"\b[ab]\b", left + right) else "nan(a)"
    found = ptxspec.prove(left, right, assume=given, nan="payloads")
    assert found.status == status
    if "e, " not in left:
        assert ptxspec.prove(left, right, assume=given).status == "proved"  # one open NaN is as good as another
    if found.counterexample is not None:
        own = [c for c in found.counterexample.choices if c.entry == "nan"]
        assert len({(c.operation, c.operands) for c in own}) == len(own) > 1 and all(c.operation for c in own)
    assert ptxspec.prove(left, right, assume=given, profile="hopper").status == "proved"


def test_the_nans_of_one_operation_are_allowed_together() -> None:
    nan, nans = 0x7FC00001, {"d": 0x7FC00001, "e": 0xFFC00001}
    assert ptxspec.allowed("abs.f32 d, a; neg.f32 e, a;", nans, a=nan)
    assert not ptxspec.allowed("abs.f32 d, a; abs.ftz.f32 e, a;", nans, a=nan)


@pytest.mark.slow
def test_no_two_operations_share_a_choice() -> None:
    """A machine may choose differently for each opcode, but for one that is another's name, or that is made of it."""
    users: dict[Any, set[str]] = {}
    for opcode, found in registry().opcodes.items():
        for form in found.forms:
            meaning = form.meaning(next(iter(form.absences)))
            terms = [v for result in meaning.results for v in result.values]
            for freedom in freedoms_in(*terms, *([] if meaning.carry is None else [meaning.carry])):
                if freedom.attrs[2] != DEVIATION:
                    users.setdefault((freedom.attrs, len(freedom.args)), set()).add(opcode)
    assert {frozenset(u) for u in users.values() if len(u) > 1} == {
        frozenset({"fma", "mad"}),
        frozenset({"mma", "wmma"}),
        frozenset({"cvt", "tex"}),  # a lookup in half precision is a lookup and a conversion
        frozenset({"tex", "tld4"}),  # what an offset beyond seven counts as
        frozenset({"max", "min", "redux"}),  # the canonical NaN of a format is one NaN
        frozenset({"cvt", "fma", "max", "min"}),
    }
    assert len(users) > 100


def test_a_refutation_shows_the_choices_it_rests_on() -> None:
    found = ptxspec.prove("bfe.u32 d, a, 300, 8;", "div.u32 d, a, 0;").counterexample
    assert found is not None
    shown = {c.entry: c for c in found.choices}
    a = found.inputs["a"]
    assert shown["field-beyond-255"].operands == (a, 300, 8) and shown["division-by-zero"].operands == (a, 0)
    assert shown["field-beyond-255"].bits == found.left[0].writes["d"] != found.right[0].writes["d"]
    assert [c["entry"] for c in found.as_dict()["choices"]] == list(shown)
    plain = ptxspec.prove("add.u32 d, a, b;", "or.b32 d, a, b;").counterexample
    assert plain is not None and plain.choices == ()


@pytest.mark.parametrize(
    "shift",
    ["shl.b32 d, t, 0x80000000;", "shl.b32 d, t, 32;", "and.b32 d, t, 0;", "cvt.u64.u32 u, t; shl.b64 d, u, 64;"],
)
@pytest.mark.parametrize(
    "open_result",
    ["div.u32 t, c, c;", "rem.s32 t, a, 0;", "add.f32 t, a, b;", "min.f32 t, a, b;", "rcp.approx.f32 t, c;"],
)
def test_a_choice_that_does_not_matter_is_made_all_the_same(open_result: str, shift: str) -> None:
    wide = "64" if "64" in shift else "32"
    verdict = ptxspec.prove(f"{open_result} {shift}", f"mov.b{wide} d, e;")
    assert verdict.status == "refuted", verdict.reason


@pytest.mark.slow
def test_many_choices_are_tied_as_they_come_apart() -> None:
    """More pairs of one freedom than are tied at once."""
    count = 24
    left = "".join(f"div.u32 t{i}, a, {i}; div.u32 s{i}, t{i}, 0; xor.b32 d, d, s{i};" for i in range(count))
    right = "".join(
        f"not.b32 u{i}, a; not.b32 u{i}, u{i}; div.u32 t{i}, u{i}, {i}; div.u32 s{i}, t{i}, 0; xor.b32 d, s{i}, d;"
        for i in range(count)
    )
    assert ptxspec.prove("mov.u32 d, 0;" + left, "mov.u32 d, 0;" + right, assume="a < 64").status == "proved"
    other = right.replace("xor.b32 d, s7, d", "xor.b32 d, s8, d")
    verdict = ptxspec.prove("mov.u32 d, 0;" + left, "mov.u32 d, 0;" + other, assume="a < 64")
    assert verdict.status == "refuted"


def test_a_profile_decides() -> None:
    assert ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, -1;", profile="hopper").status == "proved"
    assert ptxspec.prove("div.u32 d, a, 0;", "div.u32 d, b, 0;", profile="hopper").status == "proved"
    assert ptxspec.prove("add.f32 d, a, b;", "add.f32 d, b, a;", profile="hopper").status == "proved"


def test_single_precision_is_never_a_nan_of_our_choosing() -> None:
    verdict = ptxspec.prove("add.f32 d, a, b;", "mov.b32 d, 0x7fffffff;", assume="nan(a)")
    assert verdict.status == "refuted"
    assert (
        ptxspec.prove("add.f32 d, a, b;", "mov.b32 d, 0x7fffffff;", assume="nan(a)", profile="hopper").status
        == "proved"
    )


# vacuous ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "assume", ["a < b and b < a", "a != a", "False", "not (a == a)", "a > 0xffffffff", "%laneid >= 32"]
)
def test_an_assumption_that_nothing_meets_proves_nothing(assume: str) -> None:
    lane = "mov.u32 e, %laneid;"
    for right in ("sub.u32 d, a, b;", "add.u32 d, a, b;"):  # one that is false without, one that is the same term
        verdict = ptxspec.prove(f"add.u32 d, a, b; {lane}", f"{right} {lane}", assume=assume)
        assert (verdict.status, verdict.exit_status) == ("vacuous", 3)


def test_exit_statuses() -> None:
    statuses = ("proved", "refuted", "vacuous", "approximated", "exhausted", "unknown", "unsupported")
    assert [equivalence.Verdict(s).exit_status for s in statuses] == [0, 1, 3, 2, 0, 2, 2]


# special registers ------------------------------------------------------------------------------------------------------

RELATED = [
    ("mov.u32 d, %laneid;", "mov.u32 t, %laneid; and.b32 d, t, 31;"),
    ("mov.u32 d, %lanemask_lt;", "mov.u32 t, %laneid; shl.b32 u, 1, t; sub.u32 d, u, 1;"),
    ("mov.u32 t, %lanemask_eq; popc.b32 d, t;", "mov.u32 d, 1;"),
    ("mov.u32 d, %lanemask_ge;", "mov.u32 t, %lanemask_lt; not.b32 d, t;"),
    ("mov.u32 t, %lanemask_le; mov.u32 u, %lanemask_gt; add.u32 d, t, u;", "mov.u32 d, -1;"),
    ("mov.u32 t, %tid.x; mov.u32 n, %ntid.x; setp.lt.u32 p, t, n;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 d, %tid.x;", "mov.u32 d, %tid.r;"),
    ("mov.u32 d, %tid.x;", "mov.u32 t, %tid.x; and.b32 d, t, 1023;"),
    ("mov.u32 x, %tid.x; mov.u32 y, %tid.y; mul.lo.u32 m, x, y; setp.lt.u32 p, m, 1024;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 d, %tid.w;", "mov.u32 d, 0;"),
    ("mov.u32 t, %ctaid.y; mov.u32 n, %nctaid.y; setp.lt.u32 p, t, n;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 t, %nctaid.z; setp.ne.u32 p, t, 0;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 t, %warpid; mov.u32 n, %nwarpid; setp.lt.u32 p, t, n;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 t, %smid; mov.u32 n, %nsmid; setp.lt.u32 p, t, n;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 t, %cluster_ctarank; setp.lt.u32 p, t, 16;", "setp.eq.u32 p, a, a;"),
    ("mov.u32 t, %dynamic_smem_size; mov.u32 u, %aggr_smem_size; setp.le.u32 p, t, u;", "setp.eq.u32 p, a, a;"),
]


@pytest.mark.parametrize(("left", "right"), RELATED)
def test_special_registers_are_what_a_thread_may_meet(left: str, right: str) -> None:
    if "%dynamic" in left:
        left += "mov.u32 v, %total_smem_size;"
    assert ptxspec.prove(left, right).status == "proved"


def test_a_grid_is_a_multiple_of_its_clusters() -> None:
    left = "mov.u32 d, %nctaid.x; mov.u32 e, %cluster_nctaid.x;"
    right = "mov.u32 t, %nclusterid.x; shl.b32 d, t, 1; mov.u32 e, 2;"
    assert ptxspec.prove(left, right, assume="%cluster_nctaid.x == 2").status == "proved"
    assert ptxspec.prove(left, right).status == "refuted"


def test_values_that_threads_meet_are_not_excluded() -> None:
    for text, extreme in (
        ("%laneid", 31),
        ("%tid.x", 1023),
        ("%tid.z", 63),
        ("%ntid.y", 1024),
        ("%ctaid.x", 2**31 - 2),
        ("%ctaid.z", 65534),
    ):
        found = ptxspec.prove(
            f"mov.u32 d, {text};", f"mov.u32 t, {text}; setp.eq.u32 q, t, {extreme}; selp.u32 d, 7, t, q;"
        )
        assert found.status == "refuted" and found.counterexample is not None
        assert found.counterexample.inputs == {text: extreme}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted(special_registers()))
def test_every_special_register_can_be_asked_about(name: str) -> None:
    type = special_registers()[name].name
    text = f"mov.{type} d, {name};"
    if changing(name):
        with pytest.raises(Unsupported, match="changes while a program runs"):
            ptxspec.evaluate(text)
        assert ptxspec.prove(text, text).status == "unsupported"
        return
    assert set(ptxspec.evaluate(text)) == {"d"}
    assert ptxspec.prove(text, text).status == "proved"
    other = "setp.ne.u32 d, a, a;" if type == "pred" else f"mov.{type} d, 12345;"
    verdict = ptxspec.prove(text, other)
    assert verdict.status == "refuted" and verdict.counterexample is not None
    assert name in verdict.counterexample.inputs or first_name(name) in verdict.counterexample.inputs


def test_what_is_guaranteed_holds_for_threads() -> None:
    """The machine's own special registers, of launches with and without clusters, keep every guarantee."""
    source = random.Random(7)
    for _ in range(30):
        cluster = tuple(source.choice([1, 2]) for _ in range(3))
        grid = tuple(c * source.randrange(1, 4) for c in cluster)
        block = tuple(source.choice([1, 2, 3, 8]) for _ in range(3))
        extents = Extents(grid, block, 3, 512, 128, cluster, True)
        where = source.randrange(extents.threads), source.randrange(extents.ctas)
        names = {n for one in GUARANTEES for n in one.names}
        known = SpecialValues(names, True, extents)
        values = {n: known.read(n, *where) for n in names}
        for one in GUARANTEES:
            assert one.holds(*[integer(values[n]) for n in one.names]).attrs == (True,), (one, values)


# length -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [250, 4_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.slow
def test_long_fragments(count: int) -> None:
    text = "mov.u32 d, a;" + "add.u32 d, d, b;" * count
    assert ptxspec.evaluate(text, a=5, b=3)["d"] == (5 + 3 * count) % 2**32
    assert ptxspec.prove(text, f"mad.lo.u32 d, b, {count}, a;").status in ("proved", "unknown")
    verdict = ptxspec.prove(text, f"mad.lo.u32 d, b, {count + 1}, a;")
    assert verdict.status == "refuted" and verdict.counterexample is not None


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("first", "again"),
    [("setp.eq.u32 p, a, b;", "xor.pred p, p, q;"), ("mov.u32 d, a;", "@q add.u32 d, d, b;"), ("add.f32 d, a, b;", "add.f32 d, d, b;"),
     ("div.u32 d, a, b;", "div.u32 d, d, b;"), ("mov.u64 d, a;", "mad.lo.u64 d, d, d, b;"), ("mov.u32 d, a;", "selp.u32 d, d, b, q;")],
)  # fmt: skip
def test_no_instruction_is_too_deep(first: str, again: str) -> None:
    text = first + again * 300
    types = read_fragment(text).registers
    values = {n: bool(i) if types[n].kind == "pred" else i + 1 for i, n in enumerate(read_fragment(text).inputs)}
    assert ptxspec.evaluate(text, **values)
    name = "p" if "pred" in again else "d"
    mine = "not.pred p, p;" if name == "p" else f"not.b{types['d'].width} d, d;"
    assert ptxspec.prove(text, text + mine, timeout=1.0).status in ("refuted", "unknown")
    assert ptxspec.prove(text, text + mine + mine, timeout=1.0).status in ("proved", "exhausted", "unknown")


@pytest.mark.parametrize("failure", [MemoryError(), "out of memory"])
def test_a_solver_that_fails_answers_nothing(failure: object, monkeypatch: pytest.MonkeyPatch) -> None:
    z3 = pytest.importorskip("z3")

    def fail(*_: object) -> None:
        raise failure if isinstance(failure, Exception) else z3.Z3Exception(failure)

    monkeypatch.setattr(portfolio, "ask", fail)
    with kept.kept_at(None):
        verdict = ptxspec.prove("add.u32 d, a, b;", "add.u32 d, b, a;")
    assert (verdict.status, verdict.exit_status) == ("unknown", 2)


def test_names_that_python_has_not() -> None:
    text = "addc.u32 d, %r1, 0;"
    assert ptxspec.prove(text, "mov.u32 d, %r1;", assume="not CC.CF").status == "proved"
    found = ptxspec.prove(text, "mov.u32 d, %r1;", assume="CC.CF and %r1 > 7").counterexample
    assert found is not None and found.inputs["%r1"] == 8
    assert ptxspec.prove("mov.u32 d, %tid.x;", "mov.u32 d, 3;", assume="%tid.r == 3").status == "proved"


def test_a_name_that_no_form_takes_is_refused() -> None:
    for text in (
        "setp.lt.u32 p|q|r, a, b;",
        "add.u32 d|r, a, b;",
        "shl.b32 d|r, a, b;",
        "selp.b32 d, a, b, p|r;",
        "testp.normal.f32 p|r, a;",
    ):
        with pytest.raises(ptxspec.PtxError, match="<fragment>:1:"):
            ptxspec.evaluate(text, a=1, b=2)


def test_strange_spellings_are_no_warnings(recwarn: pytest.WarningsRecorder) -> None:
    assert ptxspec.prove("add.u32 d, a, b;", "add.u32 d, b, a;", assume="a == 1or b == 0x0f").status == "proved"
    assert not recwarn.list


@pytest.mark.slow
def test_a_fragment_has_so_many_instructions() -> None:
    text = "add.u32 d, d, b;" * (MOST_INSTRUCTIONS + 1)
    assert ptxspec.prove(text, "mov.u32 d, 0;").status == "unsupported"


# proofs, continued ---------------------------------------------------------------------------------------------------------


def test_a_timeout_is_no_proof() -> None:
    hard = "div.u64 q, a, b; div.u64 d, q, c;", "mul.lo.u64 m, b, c; div.u64 d, a, m;"
    with kept.kept_at(None):
        small = "b != 0 and c != 0 and b < 65536 and c < 65536"
        verdict = ptxspec.prove(*hard, assume=small, profile="hopper", timeout=0.3)
    assert verdict.status == "unknown" and verdict.counterexample is None
    assert re.search(r"no answer from z3 \S+ for \d+\.\d s; inputs cannot all be run: 96\.0 bits", verdict.reason)


def test_what_fragments_cannot_do_is_unsupported() -> None:
    for text in ("ld.global.u32 d, [a];", "bar.sync 0;", "cp.async.commit_group;", "mov.u32 d, %clock;"):
        assert ptxspec.prove(text, "mov.u32 d, 0;").status == "unsupported"


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        ptxspec.prove("mov.u32 d, a;", "mov.u32 e, a;")


@pytest.mark.parametrize(
    ("assume", "what"),
    [
        ("(1 << -1) != 0", "a distance that can be negative"),
        ("a < (1 << 100000000000)", "100,000,000,001 bits"),
        ("a << b == 0", "1,024 are the most"),
        ("a" + " * a" * 40 + " == 0", "1,024 are the most"),
        ("a == " + "9" * 400, "1,024 are the most"),
        ("not " * 3000 + "(a == 1)", "4,096 are the most"),
        ("not " * 500 + "(a == 1)", "nests too deeply"),
        ("(" * 900 + "a" + ")" * 900 + " == 1", "is no condition|nests too deeply"),
        ("-" * 2000 + "a == 1", "nests too deeply"),
        ("a" + " + a" * 500 + " == 0", "nests too deeply"),
        ("~" * 4000 + "a == 1", "nests too deeply"),
        ("(a == 1) < (b == 1)", "cannot be compared"),
        ("a == \x00", "is no condition"),
        ("a == \ud800", "is no condition"),
        ("%tid.x == 0", "%tid.x is no input"),
        ("signed(%clock) == 0", "%clock is no input"),
        ("a !=", "is no condition"),
        ("a + 1", "is a number"),
        ("x == 1", "x is no input"),
        ("f(a)", r"f\(\) is not known"),
        ("a == 1 if a else 2", "only inputs"),
        ("__import__('os')", "only inputs|takes the name"),
        ("a.real == 1", "only inputs"),
        ("nan(p)", "p is no input"),
        ("nan(5)", "takes the name"),
        ("nan(a + b)", "takes the name"),
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
