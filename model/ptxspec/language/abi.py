"""What functions may pass to one another: spec/functions/index.md."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language.checked import Signature, unbanked
from ptxspec.language.graphs import components, reached
from ptxspec.language.module_context import Context
from ptxspec.terms.types import Type


def keep_to_the_abi(context: Context) -> None:
    """Complain of what a module that runs alone has without an ABI, and of values that are too narrow for one."""
    entries = [context.symbols[name] for name, f in context.functions.items() if f.is_entry]
    leads = {name: {c for c, _, _ in context.mentions.get(name, ()) if c is not None} for name in _callers(context)}
    without = _without_abi(context)
    defined = {context.symbols[f.name] for f in context.module.functions if f.body is not None}
    page, has_abi = contracts.functions, without is None
    for position in context.pointed:
        context.require(page.has_an_abi_for, position, "the address of a function", has_abi, why=without)
    said: set[int] = set()
    full: dict[int, bool] = {}
    circle = components(leads) if without is not None else {}
    for name in reached(leads, entries):
        for called, position, signature in context.mentions.get(name, ()):
            if id(signature) not in full:
                full[id(signature)] = page.integers_fill_registers(_passed(signature), has_abi)
            if not full[id(signature)]:
                if position not in said:
                    context.require(page.integers_fill_registers, position, _passed(signature), has_abi)
                said.add(position)
            elif without is not None:
                recurs = called is not None and called in defined and circle[called] == circle[name]
                use = _use(called, defined, recurs)
                if position not in said and not context.require(page.has_an_abi_for, position, use, False, why=without):
                    said.add(position)


def _use(called: str | None, defined: set[str], recurs: bool) -> str:
    """What a call is, as the page calls it; None calls what an address leads to."""
    if called is None:
        return "an indirect call"
    if called not in defined:
        return "a call of another module"
    return "recursion" if recurs else "a call"


def _without_abi(context: Context) -> str | None:
    """Why the module cannot have an ABI, or None: it declares a thread's variable outside of functions, or a function has several
    results."""
    for variable in context.module.variables:
        if contracts.state_spaces.SPACES[unbanked(variable.space)].shared_by == "a thread":
            return f"it declares {variable.name} in .{variable.space} outside of functions"
    several = [s for s in context.signatures.values() if s.has_several_results]
    several += [s for found in context.mentions.values() for _, _, s in found if s.has_several_results]
    return f"{several[0].name} has several results" if several else None


def _passed(signature: Signature) -> tuple[Type, ...]:
    """The types that a function takes and gives, but for those of arrays and vectors."""
    formals = (*signature.returns, *signature.parameters)
    return tuple(f.type for f in formals if not f.is_array and f.vector == 1)


def _callers(context: Context) -> set[str]:
    """Entries and functions, those that are only declared among them."""
    return {*context.symbols.values(), *context.signatures, *context.mentions}
