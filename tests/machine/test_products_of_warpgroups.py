"""Products of warpgroups: every kind of case that a GPU is asked, against formulas of one's own, under both engines."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import warpgroup_formulas as formulas

from ptxspec.evidence.choices import PROFILE
from ptxspec.language.forms import forms
from ptxspec_workshop.compare.kernel_runs import launched, load
from ptxspec_workshop.generate import product_operands, warpgroup_cases
from ptxspec_workshop.generate.cases import Launch, module_of
from ptxspec_workshop.generate.eight_columns import EightColumns, by_eight_columns
from ptxspec_workshop.generate.warpgroup_kernels import AskedProduct, WarpgroupCase
from ptxspec_workshop.record.families import WARPGROUPS

pytestmark = pytest.mark.sample(8)

FORMS = forms("wgmma")
CASES, VARIATIONS = warpgroup_cases.cases(FORMS), warpgroup_cases.variations(FORMS)


def question(case: WarpgroupCase, asked: AskedProduct, launch: int) -> formulas.Question:
    """What one product of a case asks."""
    words = case.product.mnemonic.split(".")
    types = tuple(word for word in words if word in formulas.BITS)
    columns = int(re.sub(r".*\.m64n(\d+)k.*", r"\1", case.product.mnemonic))
    constants = asked.constants
    signs = int(constants.get("scale_a", "1")), int(constants.get("scale_b", "1"))
    transposed = constants.get("trans_a") == "1", constants.get("trans_b") == "1"
    limited, selector = "satfinite" in words, int(constants.get("selector", "0"))
    return formulas.Question(types, columns, "sp" in words, limited, selector, signs, transposed)  # type: ignore[arg-type]


def expected(case: WarpgroupCase, launch: Launch, number: int) -> np.ndarray:
    """The registers of D that a launch leaves, by formulas."""
    given, (c, a, metadata, end) = launch.cells.reshape(-1).view(np.uint8), case.begins
    d = given[c:a].view(np.uint32).reshape(128, -1)
    registers = given[a:metadata].view(np.uint32).reshape(128, 4)
    words = given[metadata:end].view(np.uint32)
    numbers = np.frombuffer(launch.argument or b"", np.uint64)
    for which, asked in enumerate(case.asked):
        of_a, of_b = (int(word) for word in numbers[2 * which : 2 * which + 2])
        text, predicate = asked.addition.text, bool(numbers[4])
        adds = {"1": True, "0": False, "%adds": predicate, "!%adds": not predicate}[text]
        from_memory = "a_desc" in str(case.product)
        what = formulas.Given(given[:c], 0, of_a if from_memory else registers, of_b, d if adds else None, words)
        d = formulas.answer(question(case, asked, number), what)
    return d


def differing(case: WarpgroupCase, engine: str) -> list[str]:
    """Where an engine gives something else than the formulas."""
    launches, found = case.launches, []
    outs = launched(load(module_of([case])), "k0", launches, profile=PROFILE, engine=engine)
    for number, (launch, out) in enumerate(zip(launches, outs, strict=True)):
        want, got = expected(case, launch, number), case.registers_left(out)
        for thread, register in np.argwhere(want != got)[:3]:
            place = f"thread {thread}, register {register}: {got[thread, register]:#x}, not {want[thread, register]:#x}"
            found.append(f"{case.name}, launch {number}, {engine}: {place}")
    return found


def sample(cases: list[WarpgroupCase], count: int, most: int = 64) -> list[WarpgroupCase]:
    few = [case for case in cases if case.about.columns <= most]
    return random.Random(7).sample(few, count)


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("case", [*sample(CASES, 6, 40), *sample(VARIATIONS, 10, 32)], ids=lambda case: case.name)
def test_products_are_those_of_formulas(case: WarpgroupCase, engine: str) -> None:
    assert differing(case, engine) == []


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("types", ["s8.s8", "s8.u8"])
def test_sums_of_signed_registers_are_clamped_where_they_overflow(types: str, engine: str) -> None:
    """A's elements come from other lanes and may be negative; between the parts of the instruction they stay so."""
    wanted = f"wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.{types} d, a, b_desc, scale_d;"
    (case,) = (case for case in CASES if case.name == wanted)
    assert differing(case, engine) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", [*sample(CASES, 40, 96), *sample(VARIATIONS, 60)], ids=lambda case: case.name)
def test_more_products_are_those_of_formulas(case: WarpgroupCase) -> None:
    assert differing(case, "exact") == []


BY_TEXT = by_eight_columns(CASES)


def unlike_formulas(cases: list[EightColumns], text: str) -> list[str]:
    """The names of cases whose answers, by the form with eight columns, are not those of the formulas."""
    found, loaded = [], load(text)
    for each in cases:
        outs = launched(loaded, "k0", each.launches, profile=PROFILE, engine="native")
        want = [expected(each.case, launch, number) for number, launch in enumerate(each.case.launches)]
        if each.case.differs(each.kept(outs), each.case.kept(want)).any():
            found.append(each.case.name)
    return found


@pytest.mark.long
@pytest.mark.parametrize("text", BY_TEXT, ids=lambda text: BY_TEXT[text][0].case.name)
def test_every_form_is_that_of_formulas(text: str) -> None:
    assert unlike_formulas(BY_TEXT[text], text) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(16))
def test_every_variation_is_that_of_formulas(part: int) -> None:
    assert [line for case in VARIATIONS[part::16] for line in differing(case, "exact")] == []


@pytest.mark.slow
def test_eight_columns_are_those_of_more() -> None:
    """What a form gives does not depend on how it is computed: of some, and of one with all columns."""
    most = [case for case in CASES if case.about.columns == 256 and not case.about.sparse and case.about.a.width == 32]
    for case in (*sample(CASES, 3, 96), most[0]):
        (eight,) = (each for some in by_eight_columns([case]).values() for each in some)
        outs = launched(load(eight.module()), "k0", eight.launches, profile=PROFILE, engine="native")
        direct = launched(load(module_of([case])), "k0", case.launches, profile=PROFILE, engine="exact")
        assert not case.differs(eight.kept(outs), case.kept(direct)).any(), case.name


# what is asked -------------------------------------------------------------------------------------------------------------


def test_every_form_has_a_case_and_is_asked_by_it() -> None:
    assert [case.name for case in CASES] == list(map(str, FORMS))
    products = [case for case in CASES if product_operands.is_product(case.form)]
    assert len(products) == len(FORMS) - 3 and all(f"  {case.form.mnemonic} " in case.text("k") for case in products)
    orders = [case for case in CASES if not product_operands.is_product(case.form)]
    assert len(orders) == 3 and all(f"  {case.form.mnemonic}" in case.text("k") for case in orders)
    assert len({case.name for case in (*CASES, *VARIATIONS)}) == len(CASES) + len(VARIATIONS) and len(VARIATIONS) >= 500


def test_every_choice_is_asked_with_every_combination_of_types() -> None:
    """Of the swizzles of B, and of A in memory; and somewhere of all others."""
    swizzles: dict[str, set[tuple[int, int]]] = {}
    seen = set()
    for case in (*CASES, *VARIATIONS):
        for asked in case.asked:
            swizzles.setdefault(product_operands.without_columns(case.product), set()).update(
                (a.swizzle, b.swizzle) for a, b in asked.layouts
            )
            seen |= {*asked.constants.items(), ("scale_d", asked.addition)}
            seen |= {("base", b.base_offset) for _, b in asked.layouts} | {
                ("bits", b.other_bits) for _, b in asked.layouts
            }
    assert all({a for a, _ in pairs} == {b for _, b in pairs} == set(range(4)) for pairs in swizzles.values())
    every = {(name, sign) for name in ("scale_a", "scale_b") for sign in ("1", "-1")}
    every |= {(name, bit) for name in ("trans_a", "trans_b", "selector") for bit in "01"}
    every |= {("base", i) for i in range(8)} | {("bits", bits) for bits in (0, *product_operands.NO_FIELD)}
    assert every | {("scale_d", addition) for addition in product_operands.ADDITIONS} == seen


def test_a_wrong_element_changes_what_is_kept() -> None:
    (case,) = sample(CASES, 1)
    want = expected(case, case.launches[0], 0)
    kept = case.kept([want])
    for thread, register in ((0, 0), (77, want.shape[1] // 2), (127, want.shape[1] - 1)):
        wrong = want.copy()
        wrong[thread, register] ^= 1
        assert case.differs(kept, case.kept([wrong])).all()


@pytest.mark.slow
def test_what_an_h200_gave() -> None:
    answers = WARPGROUPS.read()
    if answers is None:
        pytest.skip("no GPU was asked yet about products of warpgroups")
    assert answers.facts["differences"] == [] and set(answers.values) == {case.name for case in (*CASES, *VARIATIONS)}
    some = [*sample(CASES, 12, 64), *sample(VARIATIONS, 12, 32)]
    assert WARPGROUPS.compare(some, answers, "exact") == (sum(len(answers.values[case.name]) for case in some), [])


@pytest.mark.long
def test_all_that_an_h200_gave() -> None:
    answers = WARPGROUPS.read()
    if answers is None:
        pytest.skip("no GPU was asked yet about products of warpgroups")
    assert WARPGROUPS.compare([*CASES, *VARIATIONS], answers)[1] == []
