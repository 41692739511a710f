"""From which PTX ISA version and on which targets the forms of a definition exist, and what they mean there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import blame
from ptxspec.terms.editions import Edition, Epoch, edition, feature_name, target_number
from ptxspec.terms.editions import version as _version
from ptxspec.terms.types import TYPES, Type

if TYPE_CHECKING:
    from ptxspec.terms.definitions import Definition


class AvailabilityRule(NamedTuple):
    """Forms whose modifiers match `where` exist from PTX ISA version `since` and on targets from `target` on. With `before` the
    rule is one for targets before that, with `only` they exist only on targets that have the features of one of these, and with
    `operand` it is a rule for instructions that have an operand of this name."""

    where: dict[str, tuple[Any, ...]]
    since: tuple[int, int]
    target: int
    before: int | None = None
    only: tuple[str, ...] = ()
    operand: str = ""


class Removal(NamedTuple):
    """Forms whose modifiers match `where` no longer exist from PTX ISA version `since` on, on targets from `target` on."""

    where: dict[str, tuple[Any, ...]]
    since: tuple[int, int]
    target: int


class Implication(NamedTuple):
    """Forms whose modifiers match `where`, and that lack `modifiers`, mean the ones that have them in modules of the edition."""

    where: dict[str, tuple[Any, ...]]
    modifiers: dict[str, Any]
    edition: Edition

    def holds(self, modifiers: dict[str, Any], epoch: Epoch) -> bool:
        """Whether it bears on a form with these modifiers in a module of that epoch."""
        return self.edition.holds(epoch) and self.concerns(modifiers)

    def concerns(self, modifiers: dict[str, Any]) -> bool:
        """Whether it bears on a form with these modifiers in any module."""
        return all(modifiers.get(k) in values for k, values in self.where.items()) and not any(
            modifiers.get(k) for k in self.modifiers
        )


def available(
    definition: Definition,
    *,
    since: str = "1.0",
    target: str = "sm_10",
    before: str | None = None,
    only: tuple[str, ...] = (),
    operand: str = "",
    **where: Any,
) -> None:
    """Forms of `definition` whose modifiers match `where` (a value, or a tuple of values) need PTX ISA version `since`
    and a target from `target` on, or one with the features of one of the targets `only`, such as "sm_100f". Several rules may
    apply to a form: it needs what they all need, and not more than one of them has `only`. One with `before` applies in modules
    whose target comes before that, one with `operand` to instructions that have this operand, which may be omitted."""
    end = None if before is None else target_number(before)
    least = min((target_number(feature_name(name)[:-1]) for name in only), default=target_number(target))
    rule = AvailabilityRule(_conditions(definition, where), _version(since), least, end, tuple(only), operand)
    definition.rules.append(rule)


def removed(definition: Definition, *, since: str, target: str = "sm_10", **where: Any) -> None:
    """Forms of `definition` whose modifiers match `where` are gone where the PTX ISA version is `since` or later and the
    target is `target` or later."""
    rule = Removal(_conditions(definition, where), _version(since), target_number(target))
    definition.removals.append(rule)


def of_32_bit_addresses(definition: Definition, **where: Any) -> None:
    """Only modules whose addresses have 32 bits have the forms of `definition` whose modifiers match `where` (a value, or a tuple
    of values)."""
    definition.of_narrow_addresses.append(_conditions(definition, where))


def implied(
    definition: Definition,
    *,
    since: str = "1.0",
    before: str | None = None,
    target: str = "sm_10",
    before_target: str | None = None,
    where: dict[str, Any] | None = None,
    **modifiers: Any,
) -> None:
    """In modules whose PTX ISA version is `since` or later but earlier than `before`, and whose target is `target` or later but
    earlier than `before_target`, a form that may have these modifiers and has not means the one that has. `where` limits this to
    forms with other modifiers (a value, or a tuple of values)."""
    _conditions(definition, modifiers)
    window = edition(since, before, target, before_target)
    definition.implications.append(Implication(_conditions(definition, where or {}), modifiers, window))


def _conditions(definition: Definition, where: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values that each modifier of a rule may have."""
    conditions = {k: v if isinstance(v, tuple) and not isinstance(v, Type) else (v,) for k, v in where.items()}
    for name, values in conditions.items():
        if name not in definition.modifiers:
            raise blame(f"{definition.name} has no modifier {name}")
        for value in values:
            if (
                isinstance(value, str) and value in TYPES
            ):  # no form would have it, and all of them would be there from 1.0 on
                raise blame(f"{definition.name}: {name} is a type, TYPES[{value!r}], and no string")
    return conditions
