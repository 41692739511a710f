"""Selectors and signs on operands: the variants of a form, and that evidence tells them apart."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.kernels import operand_rows
from ptxspec.evidence.kernels.instruction_kernels import (
    kernels_for,
)
from ptxspec.language.forms import SPREAD, Form, registry, spread
from ptxspec.query.evaluate import evaluate
from ptxspec.terms.native import Emitter
from ptxspec_workshop.compare import interpretations
from ptxspec_workshop.record import gaps, stored_answers
from ptxspec_workshop.record.families import FUNCTIONS

#: the opcodes of video instructions, whose operands have selectors and signs
MARKED = sorted(o for o in registry().opcodes if o.startswith("v") and o != "vote")


def form(text: str) -> Form:
    return next(f for f in ptxspec.forms(text.split(".")[0]) if str(f) == text)


def test_forms_whose_operands_carry_nothing_have_one_variant() -> None:
    marked = [f for f in ptxspec.forms() if len(f.variants) > 1 and not f.syntax.hints]
    assert sorted({f.syntax.opcode for f in marked}) == MARKED and len(marked) > 1000
    assert form("bfe.u32 d, a, b, c;").variants == [form("bfe.u32 d, a, b, c;")]


@pytest.mark.parametrize("opcode", MARKED)
def test_every_selector_occurs_and_every_variant_is_written_in_its_own_way(opcode: str) -> None:
    for one in registry().opcodes[opcode].forms:
        variants = one.variants
        assert variants[0].plain and variants[0] == one and not any(v.plain for v in variants[1:])
        texts = [str(v) for v in variants]
        assert len(set(texts)) == len(texts)
        for operand in one.syntax.operands:
            if operand.selector is None:
                continue
            met = {v.marks.get(operand.selector.name) for v in variants}
            wanted = set(operand.selector.options)
            assert met - {None} <= wanted
            assert met - {None} == wanted if len(wanted) <= 16 else len(met) == SPREAD + 1
            signs = {v.marks.get(operand.negation, False) for v in variants}
            assert signs == {"": {False}, "-": {True}, "{-}": {True, False}}[operand.sign]


@pytest.mark.slow
def test_forms_with_hints_have_one_variant_more() -> None:
    """Every combination of hints occurs among them, and the operand that a hint brings along is there with it alone."""
    met: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    with_hints = [f for f in ptxspec.forms() if f.syntax.telling]
    for one in with_hints:
        plain, hinted = one.variants
        assert plain == one and plain.plain and not hinted.plain
        added = [m for m in hinted.mnemonic.split(".") if m not in one.mnemonic.split(".")]
        assert added and [m for m in hinted.mnemonic.split(".") if m not in added] == one.mnemonic.split(".")
        (found,) = (f for f in registry().opcodes[one.syntax.opcode].find(hinted.mnemonic) if str(f) == str(hinted))
        assert found.modifiers == hinted.modifiers
        assert ("policy" in str(hinted)) == ("L2::cache_hint" in added) and "policy" not in str(one)
        names = tuple(s.name for s in one.syntax.telling)
        met.setdefault(names, set()).add(tuple(str(hinted.modifiers.get(n)) for n in names))
    sizes = {names: len(found) for names, found in met.items()}
    assert sizes[("evict", "size", "L2_cache_hint")] == 6 * 4 * 2 - 1 and sizes[("evict", "L2_cache_hint")] == 11
    assert {f.syntax.opcode for f in with_hints} == {"ld", "st", "atom", "red", "cp"}
    said_anyway = [f for f in ptxspec.forms() if f.syntax.hints and not f.syntax.telling]
    assert {f.syntax.opcode for f in said_anyway} == {"ld", "st"} and all(f.variants == [f] for f in said_anyway)


def test_a_spread_reaches_from_the_first_to_the_last() -> None:
    many = tuple(f"b{i:04o}" for i in range(4096))
    found = spread(many)
    assert len(found) == len(set(found)) == SPREAD and found[0] == "b0000" and found[-1] == "b7777"
    assert spread(many[:16]) == list(many[:16])


def test_kernels_contain_the_selectors_and_signs() -> None:
    own = form("vmad.s32.u32.s32.sat d, a, b, -c;")
    kernels = kernels_for([own])
    assert len(kernels) == 7 and all(", -%x3;" in k.text for k in kernels)
    assert ".b3, %x2.h1, -" in "".join(k.text for k in kernels)
    merged = [k.text for k in kernels_for([form("vadd.u32.u32.u32 d, a, b, c;")])]
    assert ["%x0.h1, " in text for text in merged].count(True) == 1
    simd = [k.text for k in kernels_for([form("vset4.u32.s32.ge.add d, a, b, c;")])]
    assert any("%x0.b320, " in text for text in simd) and any("%x1.b7777, " in text for text in simd)


def test_meanings_of_variants_differ() -> None:
    own = form("vadd.u32.u32.u32 d, a, b;")
    found = {repr(v.meaning().results) for v in own.variants}
    assert len(found) == len(own.variants)


def test_variants_are_compared_and_a_wrong_one_is_found() -> None:
    own = form("vsub.u32.u32.u32 d, a, b;")
    assert interpretations.compare([own], count=16, symbolic=2) == []
    original = Emitter.binary
    try:
        Emitter.binary = lambda self, op, x, y, n: original(self, "ashr" if op == "lshr" else op, x, y, n)  # type: ignore[method-assign]
        found = interpretations.compare([own], count=64, symbolic=1)
    finally:
        Emitter.binary = original  # type: ignore[method-assign]
    assert found and str(own) not in {d.form for d in found} <= {str(v) for v in own.variants}


def test_rows_of_a_variant_are_its_own() -> None:
    own = form("vadd4.u32.u32.u32.sat d, a, b, c;")
    tables = [operand_rows.table_of(v, v.meaning()) for v in own.variants]
    assert len(tables[0]) == operand_rows.ROWS and {len(t) for t in tables[1:]} == {operand_rows.VARIANT_ROWS}
    assert tables[1] != tables[2] and tables[1] == operand_rows.table_of(own.variants[1], own.variants[1].meaning())


def test_a_form_is_answered_when_all_its_variants_are() -> None:
    values = {"x d, a;": np.ones(512), "x d, a.b0;": np.ones(64)}
    recorded = stored_answers.Answers({"date": "today", "device": "one"}, values)

    asked = list(recorded.values)
    assert gaps.answer_of([*asked, "x d, a.b1;"], recorded, set()) is None
    found = gaps.answer_of(asked, recorded, {"x d, a.b0;"})
    assert found is not None and found["vectors"] == 576 and found["agrees"] is False
    assert (gaps.answer_of(asked, recorded, set()) or {})["agrees"] is True


def test_a_constant_with_a_minus_sign_is_a_constant() -> None:
    """ptxas, too, takes -5 for a number: vmad's result stays unsigned."""
    text = "vmad.u32.u32.u32.sat d, a, b, {};"
    assert evaluate(text.format("-5"), a=1, b=2)["d"] != evaluate("mov.u32 c, 5;" + text.format("-c"), a=1, b=2)["d"]


def test_merging_at_the_upper_half_deviates() -> None:
    """Recorded answers are held against the machine's rule; a wrong one is found, and so is the manual's."""
    own = next(v for v in form("vadd.u32.u32.u32 d, a, b, c;").variants if v.marks.get("dsel") == "h1")
    answers = FUNCTIONS.read()
    assert answers is not None
    given = answers.values[str(own)]
    table = operand_rows.table_of(own, own.meaning())
    byte = {s: 8 * int(s[1]) for s in (own.marks["asel"], own.marks["bsel"])}
    a, b = own.marks["asel"], own.marks["bsel"]
    sums = [(x >> byte[a] & 0xFF) + (y >> byte[b] & 0xFF) for x, y, _ in table]
    assert given[:, 0].tolist() == [z & 0xFFFF for _, _, z in table]  # a sum of bytes has nothing in its upper half
    documented = np.array([[z & 0xFFFF | t << 16] for (_, _, z), t in zip(table, sums, strict=True)])
    for profile, right, wrong in (("hopper", given, documented), ("portable", documented, given)):
        for values, differ in ((right, False), (wrong, True)):
            _, found = FUNCTIONS.compare([own], stored_answers.Answers({"profile": profile}, {str(own): values}))
            assert bool(found) == differ and {d.form for d in found} <= {str(own)}
