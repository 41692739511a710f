"""What functions may pass to one another: spec/functions/index.md."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import cited
from ptxspec.language.checked import (
    Signature,
    spaces,
    unbanked,
)
from ptxspec.language.graphs import components, reached
from ptxspec.language.module_context import Context


def keep_to_the_abi(context: Context) -> None:
    """Complain of what a module that runs alone has without an ABI, and of values that are too narrow for one."""
    entries = [context.symbols[name] for name, f in context.functions.items() if f.is_entry]
    leads = {name: {c for c, _, _ in context.mentions.get(name, ()) if c is not None} for name in _callers(context)}
    without = _without_abi(context)
    least = contracts.functions().LEAST_BITS
    defined = {context.symbols[f.name] for f in context.module.functions if f.body is not None}
    for position in context.pointed if without is not None else ():
        context.complain(
            position,
            f"the address of a function needs an ABI, which this module cannot have: {without}",
            cited.FUNCTIONS,
        )
    said: set[int] = set()
    narrow: dict[int, bool] = {}
    circle = components(leads) if without is not None else {}
    for name in reached(leads, entries):
        for called, position, signature in context.mentions.get(name, ()):
            problem = None
            if without is None:
                if id(signature) not in narrow:
                    narrow[id(signature)] = _is_narrow(signature, least)
                if narrow[id(signature)]:
                    problem = f"an integer parameter or result of a function has at least {least} bits"
            elif called is None:
                problem = f"an indirect call needs an ABI, which this module cannot have: {without}"
            elif called not in defined:
                problem = f"a call of another module needs an ABI, which this module cannot have: {without}"
            elif circle[called] == circle[name]:
                problem = f"recursion needs an ABI, which this module cannot have: {without}"
            if problem and position not in said:
                said.add(position)
                context.complain(position, problem, cited.FUNCTIONS)


def _without_abi(context: Context) -> str | None:
    """Why the module cannot have an ABI, or None: it declares a thread's variable outside of functions, or a function has several
    results."""
    for variable in context.module.variables:
        if spaces().SPACES[unbanked(variable.space)].shared_by == "a thread":
            return f"it declares {variable.name} in .{variable.space} outside of functions"
    several = [s for s in context.signatures.values() if s.has_several_results]
    several += [s for found in context.mentions.values() for _, _, s in found if s.has_several_results]
    return f"{several[0].name} has several results" if several else None


def _is_narrow(signature: Signature, least: int) -> bool:
    """Whether a parameter or a result of a function is an integer of fewer bits."""
    passed = [f.type for f in (*signature.returns, *signature.parameters) if not f.is_array and f.vector == 1]
    return any(type.kind in ("u", "s", "pred") and type.width < least for type in passed)


def _callers(context: Context) -> set[str]:
    """Entries and functions, those that are only declared among them."""
    return {*context.symbols.values(), *context.signatures, *context.mentions}
