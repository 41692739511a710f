"""The freedoms of a page: wherever in a meaning they stand."""

from __future__ import annotations

import pytest

from ptxspec_workshop.site.freedoms import reachable


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
