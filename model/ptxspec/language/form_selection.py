"""Which form the operands of an instruction fit, and why they fit none.

What one operand may be is operand_fitting.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.language import cited, tree
from ptxspec.language import operand_kinds as kinds
from ptxspec.language.checked import Grouped, Missing, Plan, Read, Written
from ptxspec.language.diagnostics import Later
from ptxspec.language.forms import Form, Opcode, page_name, unknown_opcode
from ptxspec.language.gaps import missing, too_early
from ptxspec.language.operand_fitting import destination_problem, source_problem
from ptxspec.language.operand_kinds import Kind, described
from ptxspec.literate.notation import SINK, Operand
from ptxspec.terms.editions import Epoch
from ptxspec.terms.types import Type


class Misfit(NamedTuple):
    """Why an instruction has no form: the index of the operand that fits none, None where it is no operand; what to say; and the
    page that says so."""

    operand: int | None
    why: str | Later
    page: str | None = None


def find_form(
    opcode: Opcode | None, mnemonic: str, shape: tuple[Kind, ...], module: Epoch | None
) -> Plan | Misfit | Missing:
    """The form of an instruction, as `select_form` finds it among those of its opcode; why there is none; or that it is a gap.
    `opcode` is None if no page describes it."""
    if opcode is not None and opcode.find(mnemonic):
        return select_form(opcode, mnemonic, shape, module)
    return without_form(opcode, mnemonic, module)


#: the same for kinds of which there is one each
known_form = lru_cache(1 << 14)(find_form)


def without_form(opcode: Opcode | None, mnemonic: str, module: Epoch | None) -> Misfit | Missing:
    """What is to be said of an instruction that no page describes."""
    gap = missing(mnemonic, opcode, module)
    if isinstance(gap, str):
        return Misfit(None, gap, cited.GAPS)
    if gap is not None:
        return gap
    return Misfit(None, unknown_opcode(mnemonic) if opcode is None else Later(lambda: opcode.absent(mnemonic)))


def select_form(opcode: Opcode, mnemonic: str, shape: tuple[Kind, ...], module: Epoch | None) -> Plan | Misfit:
    """The one form of a mnemonic of the opcode that operands of this shape fit, or why there is none. `module` has the version
    and the target that the form must exist for; None: it may be of any."""
    fitting: list[Plan] = []
    reasons: list[Misfit] = []
    for form in opcode.find(mnemonic):
        plan = fit(form, shape)
        if isinstance(plan, Plan):
            fitting.append(plan)
        else:
            reasons.append(plan)
    if not fitting:
        return max(reasons, key=lambda r: -1 if r.operand is None else r.operand)
    plan = fitting[0]
    if len({p.form.definition.line for p in fitting}) > 1:
        return Misfit(None, f"two definitions claim this {mnemonic}: " + ", ".join(p.form.page for p in fitting))
    if module is None:
        return plan
    return _unavailable(opcode, mnemonic, plan, shape, module) or _in_its_epoch(plan, shape, module)


def _unavailable(opcode: Opcode, mnemonic: str, plan: Plan, shape: tuple[Kind, ...], module: Epoch) -> Misfit | None:
    """Why a module of this version and target does not have the form, or not with operands of this shape; or None."""
    version, target = module.version, module.target
    page = page_name(plan.form.definition.path)
    early = _too_early(plan.form, mnemonic, shape, module)
    if early is not None:
        return Misfit(None, early, page)
    gone = plan.form.removal
    if gone is not None and version >= gone[0] and target >= gone[1]:
        (major, minor), first = gone
        since_when = "" if (major, minor) == (1, 0) else f" from PTX ISA {major}.{minor} on"
        where = "" if first == 10 else f" for sm_{first} and later"
        near = [m for m in opcode.nearest(mnemonic) if m != mnemonic]
        instead = f"; the nearest forms are {', '.join(near)}" if near else ""
        return Misfit(None, f"{mnemonic} does not exist{since_when}{where}{instead}", page)
    return None


def _too_early(form: Form, mnemonic: str, shape: tuple[Kind, ...], module: Epoch) -> str | None:
    """Why a module of this version and target does not have the form, or one of the operands that are written; or None."""
    definition = form.definition
    operands = [r.operand for r in definition.rules if r.operand]
    named = [n for n in dict.fromkeys(operands) if n in _written_names(form, shape)] if operands else []
    for operand in ("", *named):
        since, needed = definition.availability(form.modifiers, module.target, (operand,))
        what = f"{mnemonic} with {operand}" if operand else mnemonic
        early = too_early(what, since, needed, module, form.only)
        if early is not None:
            return early
    return None


def _written_names(form: Form, shape: tuple[Kind, ...]) -> list[str]:
    """The names of the operands that are written, but for those in braces or brackets."""
    written = [(group[0], kind) for group, kind in zip(form.places, shape, strict=False) if not group[0].group]
    seconds = [o.second for o, kind in written if o.second and isinstance(kind, kinds.PairKind)]
    return [*(o.name for o, _ in written), *seconds]


def _in_its_epoch(plan: Plan, shape: tuple[Kind, ...], epoch: Epoch) -> Plan:
    """The plan of a form in a module whose version or target gives it modifiers that it does not spell, or another meaning."""
    form = plan.form
    slots = {s.name for s in form.syntax.slots}
    more = {k: v for k, v in form.definition.implied(form.modifiers, epoch).items() if k in slots}
    if not more and not form.definition.dated:
        return plan
    dated = fit(form._replace(modifiers={**form.modifiers, **more}, epoch=epoch), shape)
    assert isinstance(dated, Plan)
    return dated._replace(form=form)


def fit(form: Form, shape: tuple[Kind, ...]) -> Plan | Misfit:
    """How the operands fit the form, or why they do not."""
    page = page_name(form.definition.path)
    places = form.places
    required = sum(1 for p in places if not p[0].optional)
    if not required <= len(shape) <= len(places):
        count = str(required) if required == len(places) else f"{required} to {len(places)}"
        return Misfit(None, f"{form.mnemonic} takes {count} operands, not {len(shape)}", page)
    absent = tuple(o.name for p in places[len(shape) :] for o in p)
    results = list(form.definition.results)
    outputs = 0
    parts: list[Read | Written | Grouped] = []
    marks: dict[str, str | int] = {}
    for index, (group, kind) in enumerate(zip(places, shape, strict=False)):
        wrong, group, members = _members(form, group, kind)
        if wrong:
            return Misfit(index, wrong, page)
        absent += tuple(o.name for o in places[index] if o not in group)
        of_members: list[Read | Written] = []
        for operand, member in zip(group, members, strict=True):
            parameter = form.definition.sources.get(operand.name)
            new_marks, problem = _marks(form, operand, member)
            if problem:
                return Misfit(index, problem, page)
            marks |= new_marks
            if isinstance(member, kinds.PartKind | kinds.SumKind):
                member = member.of
            if parameter is not None:
                problem = source_problem(form, operand, parameter.annotation, member)
                of_members.append(Read(operand.name))
            else:
                wanted: list[Any] = [results.pop(0)] + ([results.pop(0)] if operand.second else [])
                if operand.name == SINK and member is not kinds.SINK:
                    problem = f"{form.mnemonic} gives no result here: its destination is the sink {SINK}"
                elif operand.name != SINK and (member is not kinds.SINK or not operand.group):
                    problem = destination_problem(form, operand, wanted, member)
                of_members.append(Written(outputs))
                outputs += len(wanted)
            if problem:
                return Misfit(index, problem, page)
        if group[0].group and all(member is kinds.SINK for member in members):
            return Misfit(index, "one of these must be a register, not the sink _", page)
        parts.append(Grouped(tuple(of_members)) if group[0].group else of_members[0])
    form, names = form._replace(marks=marks), [group[0].name for group in places]
    kept = form.definition.accumulators
    again = tuple(names.index(of) for of in kept.values())
    return Plan(form, form.meaning(absent), (*parts, *map(Read, kept)), again)


def with_constants(plan: Plan, operands: Sequence[tree.Operand]) -> Plan:
    """The plan of a form for the values of the constants for each of which its definition has a meaning."""
    form = plan.form
    allowed = form.definition.settled
    values: dict[str, str | int] = {
        part.name: operand.value
        for part, operand in zip(plan.parts, operands, strict=False)
        if isinstance(part, Read) and isinstance(operand, tree.Number) and operand.value in allowed.get(part.name, ())
    }
    if not values:
        return plan
    form = form._replace(marks=form.marks | values)
    absent = tuple(
        name for name in form.definition.sources if name not in {place.name for place in plan.meaning.inputs}
    )
    return plan._replace(form=form, meaning=form.meaning(absent))


def _members(
    form: Form, group: tuple[Operand, ...], kind: Kind
) -> tuple[str | None, tuple[Operand, ...], tuple[Kind, ...]]:
    """Why what is written cannot stand for the operands of a place, or None; those of them that are written; and the kind of
    each."""
    if group[0].bracketed:
        written = kind.elements if isinstance(kind, kinds.BracketKind) else ()
        required = tuple(o for o in group if not o.optional)
        if len(written) == len(group):
            return None, group, written
        if len(written) == len(required):
            return None, required, written
        return f"{form.mnemonic} needs {', '.join(o.name for o in required)} in brackets here", group, ()
    if group[0].group:
        if not isinstance(kind, kinds.BracesKind) or len(kind.elements) != len(group):
            return f"{len(group)} operands in braces are needed here", group, ()
        return None, group, kind.elements
    return None, group, (kind,)


def _marks(form: Form, operand: Operand, kind: Kind) -> tuple[dict[str, str | int], str | None]:
    """What an operand carries, by the names that the definition has for it; and why it may not, or None."""
    if isinstance(kind, kinds.SumKind):
        return ({operand.addend: kind.offset}, None) if operand.sum else ({}, kinds.NO_OFFSET)
    selector, negated = (kind.selector, kind.negated) if isinstance(kind, kinds.PartKind) else (None, False)
    marks: dict[str, str | int] = {}
    if isinstance(kind, kinds.PartKind) and not isinstance(kind.of, Type):
        return marks, f"only a register takes a selector or a minus sign, not {described(kind.of)}"
    if selector is not None:
        if operand.selector is None:
            return marks, f"{form.mnemonic} takes no selector here, and so not .{selector}"
        if selector not in operand.selector.options:
            allowed = operand.selector.spelled
            return marks, f".{selector} selects nothing of this operand of {form.mnemonic}; it takes {allowed}"
        marks[operand.selector.name] = selector
    if negated and not operand.sign:
        return marks, "this operand cannot be negated"
    if operand.sign == "-" and not negated:
        return marks, "this operand must be negated"
    if negated:
        marks[operand.negation] = True
    return marks, None
