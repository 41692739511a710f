"""One form for many that mean the same of more elements."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ptxspec.language.forms import Form, forms
from ptxspec.literate.notation import SyntaxLine
from ptxspec_workshop.generate.product_operands import OPCODE, is_product, operands_of, without_columns

#: the columns of the products of warpgroups that stand for those of more
FEWEST_COLUMNS = 8


def representatives(candidates: Iterable[Form]) -> list[Form]:
    """The forms, but of products of warpgroups only those with the fewest columns: their page defines an element of D by its row
    and its column, and the ledger holds each form against these. All meanings of the others together take a minute and a
    gigabyte."""
    return [form for form in candidates if not is_product(form) or operands_of(form).columns == FEWEST_COLUMNS]


def representative(form: Form) -> Form:
    """The form itself, or the one with the fewest columns that differs from it in nothing else. Both leave the same results open,
    and ask the same of the edition of their module."""
    return _by_family()[_family(form)] if is_product(form) else form


@cache
def _by_family() -> dict[tuple[SyntaxLine, str], Form]:
    return {_family(form): form for form in representatives(forms(OPCODE))}


def _family(form: Form) -> tuple[SyntaxLine, str]:
    return form.syntax, without_columns(form)
