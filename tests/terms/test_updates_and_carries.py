"""The words by which a definition updates memory and uses the condition code: what they give, and how they may not be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ptxspec.terms import TYPES, TermError, condition_code, number, select, set_condition_code, store, update
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.definitions import Definition
from ptxspec.terms.effects import Update
from ptxspec.terms.exact import evaluate
from ptxspec.terms.kinds import address as an_address
from ptxspec.terms.kinds import of


def definition(body: Callable[..., Any], *, gives: bool = True) -> Definition:
    """A definition whose parameters are `a: address, b: of.type, *, type`; it gives a value of the type, or nothing."""

    def example(a, b, *, type):
        return body(a, b, type)

    example.__annotations__ = {"a": an_address, "b": of.type, "return": of.type if gives else None}
    return Definition(example)


@pytest.mark.parametrize(("type", "old", "b", "given", "new"), [("u32", 2**32 - 1, 1, 2**32 - 1, 0), ("s32", 2**32 - 1, 1, 2**32 - 1, 1), ("s64", 5, 2**64 - 7, 5, 5)])  # fmt: skip
def test_an_update_reads_as_its_type_says_and_keeps_the_low_bits(
    type: str, old: int, b: int, given: int, new: int
) -> None:
    """Unsigned: one more. Signed: the greater."""
    change = lambda x, y: select(x < y, y, x) if type[0] == "s" else x + y  # noqa: E731
    meaning = definition(lambda a, b, t: update("global", a, t, lambda x: change(x, b), how=None)).meaning(
        {"type": TYPES[type]}
    )
    assert isinstance(meaning.effect, Update)
    assert meaning.effect.how == {"how": None} and meaning.effect.space == "global"
    values = {"%loaded0": old, "b": b, "a": 64}
    assert evaluate(meaning.results[0].values[0], values) == given
    assert evaluate(meaning.effect.values[0], values) == new
    assert evaluate(meaning.effect.address, values) == 64
    assert not meaning.uses_carry and not meaning.lands


def test_the_bit_goes_in_and_out() -> None:
    def body(a: Any, b: Any, type: Any) -> Any:
        total = b + number(condition_code())
        set_condition_code(total > 9)
        return total

    meaning = definition(body).meaning({"type": TYPES["u32"]})
    assert meaning.uses_carry and meaning.carry_read and not meaning.borrows and meaning.effect is None
    assert [evaluate(meaning.carry, {"b": b, CONDITION_CODE: c}) for b, c in ((9, False), (9, True))] == [False, True]
    plain = definition(lambda a, b, type: b).meaning({"type": TYPES["u32"]})
    assert not plain.uses_carry  # nothing is left over from the definition before


def test_a_borrow_is_marked_whoever_uses_it() -> None:
    def reads(a: Any, b: Any, type: Any) -> Any:
        return b - number(condition_code(borrow=True))

    def writes(a: Any, b: Any, type: Any) -> Any:
        set_condition_code(b == 0, borrow=True)
        return b

    for body in (reads, writes):
        assert definition(body).meaning({"type": TYPES["u32"]}).borrows


def twice(a: Any, b: Any, type: Any) -> Any:
    set_condition_code(True)
    set_condition_code(False)
    return b


def two_effects(a: Any, b: Any, type: Any) -> Any:
    store("global", a, type, [b])
    return update("global", a, type, lambda old: old)


def truth_in_memory(a: Any, b: Any, type: Any) -> Any:
    return update("global", a, type, lambda old: old == b)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [(twice, "twice in one"), (two_effects, "a second effect"), (truth_in_memory, "an integer is needed")],
)
def test_a_definition_that_misuses_them_is_refused(body: Callable[..., Any], complaint: str) -> None:
    with pytest.raises(TermError, match=complaint):
        definition(body).meaning({"type": TYPES["u32"]})
    # what was begun is forgotten: another definition is not blamed for it
    assert definition(lambda a, b, type: b).meaning({"type": TYPES["u32"]}).effect is None


@pytest.mark.parametrize(
    "use",
    [
        lambda: condition_code(),
        lambda: set_condition_code(True),
        lambda: update("global", 0, TYPES["u32"], lambda old: old),  # type: ignore[arg-type]
    ],
)
def test_outside_a_definition_they_mean_nothing(use: Callable[[], Any]) -> None:
    with pytest.raises(TermError, match="outside an instruction's definition"):
        use()
