"""The freedoms of a page: wherever in a meaning they stand."""

from __future__ import annotations

import pytest

from ptxspec.language.forms import Form, forms
from ptxspec.terms.core import Int
from ptxspec_workshop.generate.product_operands import operands_of, without_columns
from ptxspec_workshop.generate.representatives import representative
from ptxspec_workshop.site.freedoms import below, reachable


@pytest.mark.parametrize(
    ("page", "slug"), [("sub_cc", "stored-borrow"), ("subc", "stored-borrow"), ("addc", None), ("add_cc", None)]
)
def test_what_is_left_in_the_condition_code_counts(page: str, slug: str | None) -> None:
    found = reachable(f"ptxspec.spec.instructions.extended_precision.{page}")
    assert [f.slug for f in found] == ([slug] if slug else [])
    assert all(f.kind == "deviation" for f in found)


def test_types_of_one_width_stand_in_the_order_of_their_names() -> None:
    """Not in that of a set, which is another in each process."""
    (nan,) = (freedom for freedom in reachable("ptxspec.spec.instructions.half.abs") if freedom.slug == "nan")
    assert len(nan.types) == 2 and list(nan.types) == sorted(nan.types)


def kinds(freedoms: list[Int]) -> set[tuple[str, str, str]]:
    return {(f.attrs[0], f.attrs[2], str(f.attrs[3])) for f in freedoms}


@pytest.mark.sample(16, lambda widest: [widest.mnemonic.split(".")[1]])
@pytest.mark.parametrize(
    "widest", {without_columns(form): form for form in forms("wgmma") if "n256k" in str(form)}.values(), ids=str
)
def test_a_product_is_as_open_as_the_one_that_stands_for_it(widest: Form) -> None:
    narrow = representative(widest)
    assert operands_of(narrow).columns == 8 and without_columns(narrow) == without_columns(widest)
    assert kinds(below(widest)) == kinds(below(narrow)) and widest.changes == narrow.changes
