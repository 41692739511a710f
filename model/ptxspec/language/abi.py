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
        context.complain(position, f"there is no function's address beside {without}", cited.FUNCTIONS)
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
                    problem = f"an integer that functions take or give has at least {least} bits"
            elif called is None:
                problem = f"there is neither an indirect call nor a function's address beside {without}"
            elif called not in defined:
                problem = f"there is no call of another module beside {without}"
            elif circle[called] == circle[name]:
                problem = f"there is no recursion beside {without}"
            if problem and position not in said:
                said.add(position)
                context.complain(position, problem, cited.FUNCTIONS)


def _without_abi(context: Context) -> str | None:
    """What an ABI does not have, if the module has it: something with several results, or a thread's variable that the module
    declares."""
    for variable in context.module.variables:
        if spaces().SPACES[unbanked(variable.space)].shared_by == "a thread":
            return f"{variable.name}, which the module declares in .{variable.space}"
    several = [s for s in context.signatures.values() if s.has_several_results]
    several += [s for found in context.mentions.values() for _, _, s in found if s.has_several_results]
    return f"{several[0].name}, which has several results" if several else None


def _is_narrow(signature: Signature, least: int) -> bool:
    """Whether a function takes or gives an integer of fewer bits."""
    passed = [f.type for f in (*signature.returns, *signature.parameters) if not f.is_array and f.vector == 1]
    return any(type.kind in ("u", "s", "pred") and type.width < least for type in passed)


def _callers(context: Context) -> set[str]:
    """Entries and functions, those that are only declared among them."""
    return {*context.symbols.values(), *context.signatures, *context.mentions}
