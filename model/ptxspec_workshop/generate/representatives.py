"""One form for many that mean the same of more elements."""

from __future__ import annotations

from collections.abc import Iterable

from ptxspec.language.forms import Form
from ptxspec_workshop.generate.product_operands import is_product, operands_of

#: the columns of the products of warpgroups that stand for those of more
FEWEST_COLUMNS = 8


def representatives(forms: Iterable[Form]) -> list[Form]:
    """The forms, but of products of warpgroups only those with the fewest columns: their page defines an element of D by its row
    and its column, and the ledger holds each form against these. All meanings of the others together take a minute and a
    gigabyte."""
    return [form for form in forms if not is_product(form) or operands_of(form).columns == FEWEST_COLUMNS]
