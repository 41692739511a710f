"""Which cases there are for products of warpgroups."""

from __future__ import annotations

from collections.abc import Iterable

from ptxspec.language.forms import Form, forms
from ptxspec_workshop.generate import aimed_matrix_cases
from ptxspec_workshop.generate.product_operands import (
    AIMED,
    FEW_COLUMNS,
    VARIATIONS,
    asks,
    is_product,
    operands_of,
    without_columns,
)
from ptxspec_workshop.generate.warpgroup_kernels import OrderCase, WarpgroupCase


def cases(candidates: Iterable[Form]) -> list[WarpgroupCase]:
    """A case for each form."""
    return [case_of(form) for form in candidates if asks(form)]


def case_of(form: Form) -> WarpgroupCase:
    """The case of a form."""
    return (
        WarpgroupCase(form)
        if is_product(form)
        else OrderCase(form, next(filter(is_product, forms(form.syntax.opcode))))
    )


def variations(candidates: Iterable[Form]) -> list[WarpgroupCase]:
    """Cases beyond those of forms, of every combination of types with few columns."""
    by_types: dict[str, list[Form]] = {}
    for form in filter(is_product, candidates):
        if operands_of(form).columns in FEW_COLUMNS:
            by_types.setdefault(without_columns(form), []).append(form)
    result = []
    for some in by_types.values():
        result += [WarpgroupCase(some[number % len(some)], number) for number in range(VARIATIONS)]
        if aimed_matrix_cases.is_wide(operands_of(some[0]).a):
            result += [WarpgroupCase(some[number % len(some)], number, aimed=True) for number in range(AIMED)]
    return result


def small(candidates: Iterable[Form]) -> list[WarpgroupCase]:
    """A case for each combination of types and operands, of few columns."""
    by_types = {
        without_columns(form): form for form in candidates if is_product(form) and operands_of(form).columns == 8
    }
    orders = [form for form in candidates if asks(form) and not is_product(form)]
    return [case_of(form) for form in (*orders, *by_types.values())]
