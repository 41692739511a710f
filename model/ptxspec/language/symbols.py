"""What several declarations of one name have to do with one another: spec/functions/linking.md."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.module_context import Context
from ptxspec.language.variables import Variables
from ptxspec.terms.registries import SYSTEM_FUNCTIONS

_LINKING = "spec/functions/linking.md"


def variables_declared(context: Context, variables: Variables) -> list[tree.Variable]:
    """The declarations that make variables: of several for one name, the one that is not .extern, or the first."""
    known: dict[str, tree.Variable] = {}
    found: dict[int, tree.Variable] = {}  # by where they stand
    for variable in context.module.variables:
        if variable.space == "reg":
            if context.before("a register of the module", variable.position):
                variables.declare_register(variable, context.outer)
                context.positions.setdefault(variable.name, variable.position)
            continue
        if variable.space == contracts.state_spaces.OF_FRAMES and not context.before(
            "a variable of the module in .local", variable.position
        ):
            continue
        if "[" in variable.space:
            variable = variable._replace(space=context.bank(variable.space, variable.position))
        if variable.repeat is None:
            context.positions.setdefault(variable.name, variable.position)
        before = known.get(variable.name) if variable.repeat is None else None
        if before is not None:
            agrees, sizes = _agree(context, before, variable), _sizes(before)
            if not agrees or before.linkage != "extern" or (variable.linkage == "extern" and None not in sizes):
                continue
            del found[before.position]
        if variable.repeat is None:
            known[variable.name] = variable
        found[variable.position] = variable
    return list(found.values())


def _agree(context: Context, before: tree.Variable, again: tree.Variable) -> bool:
    """Whether a name can be declared again so; complains if not."""
    page, require = contracts.linking, context.require
    at, name, linkages = again.position, again.name, (before.linkage, again.linkage)
    return (
        require(page.variables_are_defined_once, at, *linkages, name=name)
        and require(page.extern_becomes_visible, at, *linkages, name=name)
        and require(page.variables_agree, at, before[:3], again[:3], _sizes(before), _sizes(again), name=name)
    )


def names_agree(context: Context) -> None:
    """Complain of names that are both a variable's and a function's, or a function's and an entry's."""
    for name, function in context.functions.items():
        if name in context.positions or name in context.outer.places:
            later = max(function.position, context.position_of(name))
            context.complain(later, f"{name} is the name of a variable and of a function", _LINKING)
        context.positions[name] = min(function.position, context.positions.get(name, function.position))
    special = {name.partition(".")[0] for name in context.specials}
    declared = [(v.name, v.position) for v in context.module.variables if v.repeat is None]
    for name, position in declared + [(f.name, f.position) for f in context.module.functions]:
        if name in special:
            context.complain(position, f"{name} is the name of a special register", "spec/special-registers/index.md")
    page, require = contracts.linking, context.require
    defined: set[str] = set()
    linkages: dict[str, str | None] = {}
    for function in context.module.functions:
        first = context.functions[function.name]
        if first.is_entry != function.is_entry:
            context.complain(function.position, f"{function.name} is both a function and an entry", _LINKING)
        else:
            fault = "is defined twice" if function.body is not None else "is declared after its definition"
            is_defined = function.name in defined
            require(page.nothing_follows_a_definition, function.position, is_defined, name=function.name, fault=fault)
        before = linkages.setdefault(function.name, function.linkage)
        shown = f".{before}" if before else "without a linkage directive"
        require(page.linkages_agree, function.position, before, function.linkage, name=function.name, shown=shown)
        never = [".noreturn" in f.performance for f in (first, function)]
        require(page.all_return_or_none, function.position, never[0], never[1], name=function.name)
        if function.body is not None:
            defined.add(function.name)


def unresolved(context: Context) -> None:
    """Complain of what is declared and not defined, and cannot be defined in another module."""
    defined = {f.name for f in context.module.functions if f.body is not None}
    defined |= {d.name for d in context.module.directives if isinstance(d, tree.Alias)}
    for name, function in context.functions.items():
        position = context.used.get(context.symbols[name]) if function.linkage == "extern" else function.position
        if position is not None and (context.part is None or function.linkage != "extern"):
            is_there = name in defined or name in SYSTEM_FUNCTIONS
            context.require(contracts.linking.is_defined, position, is_there, name=name)


def _sizes(variable: tree.Variable) -> tuple[int | None, ...]:
    """The sizes of an array, the first from its initializer if it is left empty."""
    sizes = variable.dimensions
    if sizes and sizes[0] is None and isinstance(variable.values, list):
        return (len(variable.values), *sizes[1:])
    return sizes
