"""Which form the operands of an instruction fit, and why they fit none.

Agreement of types is spec/operands/type-checking.md's.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from ptxspec import contracts
from ptxspec.contracts import TypeChecking
from ptxspec.language import tree
from ptxspec.language.checked import Plan, spaces
from ptxspec.language.constant_bits import constant_fits
from ptxspec.language.diagnostics import Later
from ptxspec.language.forms import Form, Opcode, page_name
from ptxspec.literate.notation import Operand
from ptxspec.terms.editions import Epoch
from ptxspec.terms.kinds import HANDLES, Immediate, Special, TupleOf, VectorOf, operand_type
from ptxspec.terms.types import TYPES, Type


def select_form(
    opcode: Opcode,
    mnemonic: str,
    shape: tuple[Any, ...],
    rules: TypeChecking,
    module: Epoch | None,
) -> Any:
    """The one form of `mnemonic` that operands of this shape fit, or a complaint. `module` has the version and the target that
    the form must exist for; None: it may be of any."""
    forms = opcode.find(mnemonic)
    if not forms:
        return None, Later(lambda: opcode.absent(mnemonic)), None
    fitting, reasons = [], []
    for form in forms:
        plan = fit(form, shape, rules)
        if isinstance(plan, Plan):
            fitting.append(plan)
        else:
            reasons.append((plan[0], plan[1], page_name(form.definition.path)))
    if not fitting:
        return max(reasons, key=lambda r: -1 if r[0] is None else r[0])
    plan = fitting[0]
    if len({p.form.definition.line for p in fitting}) > 1:
        return None, f"two definitions claim this {mnemonic}: " + ", ".join(p.form.page for p in fitting), None
    if module is None:
        return plan
    version, target = module
    since, needed = plan.form.definition.availability(plan.form.modifiers, target)
    page = page_name(plan.form.definition.path)
    if version < since:
        return None, f"{mnemonic} needs PTX ISA {since[0]}.{since[1]}; the module says {version[0]}.{version[1]}", page
    if target < needed:
        return None, f"{mnemonic} needs target sm_{needed}; the module says sm_{target}", page
    gone = plan.form.removal
    if gone is not None and version >= gone[0] and target >= gone[1]:
        (major, minor), first = gone
        since_when = "" if (major, minor) == (1, 0) else f" from PTX ISA {major}.{minor} on"
        where = "" if first == 10 else f" for sm_{first} and later"
        near = [m for m in opcode.nearest(mnemonic) if m != mnemonic]
        instead = f"; the nearest forms are {', '.join(near)}" if near else ""
        return None, f"{mnemonic} does not exist{since_when}{where}{instead}", page
    return _in_its_epoch(plan, shape, rules, module)


def _in_its_epoch(plan: Plan, shape: tuple[Any, ...], rules: TypeChecking, epoch: Epoch) -> Plan:
    """The plan of a form in a module whose version or target gives it modifiers that it does not spell, or another meaning."""
    form = plan.form
    slots = {s.name for s in form.syntax.slots}
    more = {k: v for k, v in form.definition.implied(form.modifiers, epoch).items() if k in slots}
    if not more and not form.definition.dated:
        return plan
    found = fit(form._replace(modifiers={**form.modifiers, **more}, epoch=epoch), shape, rules)
    assert isinstance(found, Plan)
    return found._replace(form=form)


def fit(form: Form, shape: tuple[Any, ...], rules: TypeChecking) -> Any:
    """A Plan, or (operand's index, reason) why the operands do not fit the form."""
    places = form.places
    required = sum(1 for p in places if not p[0].optional)
    if not required <= len(shape) <= len(places):
        count = str(required) if required == len(places) else f"{required} to {len(places)}"
        return None, f"{form.mnemonic} takes {count} operands, not {len(shape)}"
    absent = tuple(o.name for p in places[len(shape) :] for o in p)
    results = list(form.definition.results)
    outputs = 0
    roles: list[Any] = []
    marks: dict[str, str | bool] = {}
    for index, (group, kind) in enumerate(zip(places, shape, strict=False)):
        kinds: tuple[Any, ...] = (kind,)
        if group[0].bracketed:
            wrong, group = _in_brackets(form, group, kind)
            if wrong:
                return index, wrong
            absent += tuple(o.name for o in places[index] if o not in group)
            kinds = kind[1]
        elif group[0].group:
            if not _is(kind, "braces") or len(kind[1]) != len(group):
                return index, f"{len(group)} operands in braces are needed here"
            kinds = kind[1]
        members: list[Any] = []
        for operand, one in zip(group, kinds, strict=True):
            parameter = form.definition.sources.get(operand.name)
            problem: str | None
            own, problem = _marks(form, operand, one)
            if problem:
                return index, problem
            marks |= own
            one = one[1] if _is(one, "part") else one
            if parameter is not None:
                problem, role = _source(form, operand, parameter.annotation, one, rules)
            else:
                wanted: list[Any] = [results.pop(0)] + ([results.pop(0)] if operand.second else [])
                problem, role = _destination(form, operand, wanted, one, rules, outputs)
                problem = None if one == "_" and operand.group else problem
                outputs += len(wanted)
            if problem:
                return index, problem
            members.append(role)
        if group[0].group and all(one == "_" for one in kinds):
            return index, "one of these must be a register, not the sink _"
        roles.append(("each", tuple(members)) if group[0].group else members[0])
    form = form._replace(marks=marks)
    return Plan(form, form.meaning(absent), tuple(roles))


def _in_brackets(form: Form, group: tuple[Operand, ...], kind: Any) -> tuple[str | None, tuple[Operand, ...]]:
    """Why what is written cannot stand in the brackets, or None; and the operands that are written."""
    written = len(kind[1]) if _is(kind, "bracket") else 0
    required = tuple(o for o in group if not o.optional)
    if written == len(group):
        return None, group
    if written == len(required):
        return None, required
    return f"{form.mnemonic} needs {', '.join(o.name for o in required)} in brackets here", group


def _marks(form: Form, operand: Operand, kind: Any) -> tuple[dict[str, str | bool], str | None]:
    """What an operand carries, by the names that the definition has for it; and why it may not, or None."""
    selector, negated = kind[2:] if _is(kind, "part") else (None, False)
    marks: dict[str, str | bool] = {}
    if _is(kind, "part") and not isinstance(kind[1], Type):
        return marks, f"only a register takes a selector or a minus sign, not {_describe(kind[1])}"
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


def _is(kind: Any, name: str) -> bool:
    return isinstance(kind, tuple) and not isinstance(kind, Type) and kind[0] == name


def _describe(kind: Any) -> str:
    if isinstance(kind, Type):
        return f"a register of type {kind}"
    if isinstance(kind, str):
        names = {"integer": "an integer constant", "_": "the sink _", **dict(_KINDS.values())}
        return names.get(kind, "a floating-point constant")
    return {
        "special": "a special register",
        "place": "a variable's address",
        "memory": "an address in brackets",
        "not": "a negated predicate",
        "braces": "operands in braces",
        "pair": "two destinations",
        "part": "a register with a selector or a minus sign",
        "opaque": "an opaque variable",
        "bracket": "an opaque variable with coordinates",
    }[kind[0]]


def _value_problem(form: Form, wanted: Any, kind: Any, rules: TypeChecking, destination: bool = False) -> str | None:
    """Why an operand of this kind cannot stand for a value of the type, or None."""
    if _is(kind, "special") and not form.definition.may_read_special_registers(form.modifiers):
        return f"{form.mnemonic} cannot read a special register: move it to a register first"
    agree = rules.agrees_when_wider if form.definition.wider else rules.agrees
    if _is(kind, "special") and not destination:
        if not wanted.is_float and any(agree(wanted, of) for of in kind[1:2] + kind[2]):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {kind[1]}"
    of = kind
    if isinstance(of, Type):
        if agree(wanted, of):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {of}"
    if form.definition.registers and not destination:
        return f"{form.mnemonic} needs a register of type {wanted} here, not {_describe(kind)}"
    if not destination:
        if of == "integer" and constant_fits(tree.Number(0), wanted):
            return None
        if of in ("float32", "float64") and constant_fits(tree.Real(0, int(of[5:])), wanted):
            return None
    return f"{form.mnemonic} needs {'a register' if destination else 'a value'} of type {wanted} here, not {_describe(kind)}"


def _source(form: Form, operand: Operand, annotation: Any, kind: Any, rules: TypeChecking) -> tuple[str | None, Any]:
    role = ("in", operand.name)
    wanted = operand_type(annotation, form.modifiers)
    if isinstance(annotation, Immediate):
        return (None if kind == "integer" else f"{form.mnemonic} needs an integer constant here"), role
    if isinstance(wanted, Special):
        return _special_problem(form, operand, wanted, kind), role
    if isinstance(wanted, TupleOf):
        types = form.definition.elements(operand.name, form.modifiers)
        exact = not operand.bracketed
        return _tuple_problem(form, types, kind, rules, exact), role
    if isinstance(wanted, VectorOf):
        element = wanted.element
        assert isinstance(element, Type)
        if not form.modifiers.get("vec"):
            return _value_problem(form, element, _alone(kind), rules), role
        count = int(form.modifiers["vec"][1:])
        if not _is(kind, "braces") or len(kind[1]) != count:
            return f"{form.mnemonic} needs {count} registers in braces here", role
        problems = (_value_problem(form, element, k, rules) for k in kind[1])
        return next((p for p in problems if p), None) or _mixed(kind[1]), role
    if _is(kind, "not"):
        if not operand.negatable and wanted.kind != "pred":
            return "this operand cannot be negated", role
        kind = kind[1]
    return _value_problem(form, wanted, kind, rules), role


def _alone(kind: Any) -> Any:
    """The kind of one register, which may stand in braces where a vector could."""
    return kind[1][0] if _is(kind, "braces") and len(kind[1]) == 1 else kind


def _tuple_problem(form: Form, types: tuple[Type, ...], kind: Any, rules: TypeChecking, exact: bool) -> str | None:
    """Why an operand cannot stand for coordinates or, of an `exact` number, for gradients; or None."""
    kinds = kind[1] if _is(kind, "braces") else (kind,)
    least = next(n for n in rules.TUPLES if n >= len(types))
    if exact and not (_is(kind, "braces") and len(kinds) == least):
        return f"{form.mnemonic} needs braces with {least} of them here"
    if len(kinds) not in rules.TUPLES or len(kinds) < len(types):
        sizes = [n for n in rules.TUPLES if n >= len(types)]
        return f"{form.mnemonic} needs {' or '.join(map(str, sizes))} coordinates here, not {len(kinds)}"
    last = kinds[len(types) - 1]  # what is more than needed is of its type
    wanted = (*types, *[last if isinstance(last, Type) else types[-1]] * (len(kinds) - len(types)))
    return next((p for p in map(_value_problem, repeat(form), wanted, kinds, repeat(rules)) if p), None)


def _handle_problem(form: Form, wanted: Special, kind: Any) -> str | None:
    """Why an operand cannot stand for a texture, a sampler or a surface, or None."""
    allowed = contracts.opaque_types().STANDS_FOR[wanted.name]
    of = kind[1] if _is(kind, "memory") else kind
    if _is(of, "opaque") and of[1] in allowed:
        return None
    if isinstance(of, Type) and of.width == 64 and not of.is_float:
        return None
    shown = f"a .{of[1]}" if _is(of, "opaque") else "no address" if of is None else _describe(of)
    return (
        f"{form.mnemonic} needs a .{next(iter(allowed))}, or a 64-bit register that holds its handle, here, not {shown}"
    )


#: operands that are no values: the kind that an operand must have, and what that is called
_KINDS = {
    "label": ("label", "a label"),
    "function_name": ("function", "a function's name"),
    "function_address": ("function", "a function's name"),
    "entry": ("entry", "an entry's name"),
    "list_of_operands": ("list", "operands in parentheses"),
    "target_list": ("table", "a list of targets or a prototype"),
}


def _special_problem(form: Form, operand: Operand, wanted: Special, kind: Any) -> str | None:
    if wanted.name == "address":
        if not _is(kind, "memory"):
            return f"{form.mnemonic} needs an address in brackets here, not {_describe(kind)}"
        base = kind[1]
        page = spaces()
        written = [w for w in (m.split("::")[0] for m in form.mnemonic.split(".")[1:]) if w in page.ADDRESSABLE]
        if isinstance(base, Type):
            if base.kind in ("f", "pred") or base.width not in (32, 64):
                return f"an address register has an integer or bit-size type of 32 or 64 bits, not {base}"
            least = page.SPACES[written[0]].address_bits if written else page.GENERIC_BITS
            if base.width < least:
                where = f"an address in .{written[0]}" if written else "a generic address"
                return f"{where} has {least} bits"
        elif base is None:
            if written != [page.OF_NUMBERS]:
                return f"an address that is a number alone is one of .{page.OF_NUMBERS}"
        else:
            if base[0] == "opaque":
                return f"{form.mnemonic} reaches memory, no opaque variable"
            if base[0] != "place":
                return "an address is a register or a variable, with an offset"
            space = str(form.modifiers.get("ss") or "").split("::")[0]
            if space != base[1]:
                return f"{form.mnemonic} cannot reach a variable in .{base[1]}: say its state space"
        return None
    if wanted.name in HANDLES:
        return _handle_problem(form, wanted, kind)
    if wanted.name == "variable_address" and _is(kind, "opaque"):
        takes = {m for m in form.mnemonic.split(".")[1:] if m in TYPES or m == "global"}
        return None if takes <= {"u64", "global"} else f"{form.mnemonic}: a handle is of type u64"
    if wanted.name == "variable_address":
        if not _is(kind, "place"):
            return f"{form.mnemonic} needs a variable's name here, not {_describe(kind)}"
        named = form.modifiers.get("space")
        if named is not None and str(named).split("::")[0] != kind[1]:
            return f"the variable is in .{kind[1]}, not in .{named}"
        return None
    if wanted.name == "cache_policy":
        if kind == "integer" or (isinstance(kind, Type) and kind.width == 64 and not kind.is_float):
            return None
        return f"{form.mnemonic} needs a cache policy here: a 64-bit register or an integer, not {_describe(kind)}"
    if wanted.name in _KINDS:
        expected, what = _KINDS[wanted.name]
        if wanted.name == "function_address" and kind == "entry":
            return None
        return None if kind == expected else f"{form.mnemonic} needs {what} here, not {_describe(kind)}"
    return f"{form.mnemonic}: operands that are {wanted.name} are not supported yet"


def _destination(
    form: Form, operand: Operand, wanted: list[Any], kind: Any, rules: TypeChecking, first: int
) -> tuple[str | None, Any]:
    role: Any = ("out", first)
    types = [operand_type(w, form.modifiers) for w in wanted]
    if isinstance(types[0], VectorOf):
        element = types[0].element
        assert isinstance(element, Type)
        if not form.modifiers.get("vec"):
            return _written_problem(form, element, _alone(kind), rules), role
        count = int(form.modifiers["vec"][1:])
        if kind == "_" and form.definition.discards:
            return None, role
        if not _is(kind, "braces") or len(kind[1]) != count:
            return f"{form.mnemonic} needs {count} registers in braces here", role
        return _vector_problem(form, element, kind[1], rules), role
    if _is(kind, "pair"):
        if operand.second is None:
            return f"{form.mnemonic} has one destination", role
        problems = [_written_problem(form, t, k, rules, True) for t, k in zip(types, kind[1], strict=True)]  # type: ignore[arg-type]
        if kind[1] == ("_", "_"):
            return "one of the two must be a register, not the sink _", role
        if operand.paired and kind[1][1] == "_":
            return "the second of the two must be a register, not the sink _", role
        return next((p for p in problems if p), None), role
    if operand.paired:
        return f"{form.mnemonic} writes a pair: {operand.name}|{operand.second}", role
    return _written_problem(form, types[0], kind, rules), role  # type: ignore[arg-type]


def _vector_problem(form: Form, element: Type, kinds: tuple[Any, ...], rules: TypeChecking) -> str | None:
    """Why operands in braces cannot take a vector, or None."""
    if all(k == "_" for k in kinds):
        return "one of these must be a register, not the sink _"
    problems = (_written_problem(form, element, k, rules, True) for k in kinds)
    return next((p for p in problems if p), None) or _mixed(kinds)


def _mixed(kinds: tuple[Any, ...]) -> str | None:
    widths = {k.width for k in kinds if isinstance(k, Type)}
    return "the registers of a vector are equally wide" if len(widths) > 1 else None


def _written_problem(
    form: Form, wanted: Type, kind: Any, rules: TypeChecking, one_of_several: bool = False
) -> str | None:
    if kind == "_" and (one_of_several or form.definition.discards):
        return None
    return _value_problem(form, wanted, kind, rules, destination=True)
