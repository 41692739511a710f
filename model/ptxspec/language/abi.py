"""What functions may pass to one another: spec/functions/index.md."""

from __future__ import annotations

import importlib

from ptxspec.language import pages
from ptxspec.language.checked import spaces, unbanked
from ptxspec.language.instructions import Instructions


class Abi(Instructions):
    """Checks the functions that can run."""

    def keep_to_the_abi(self) -> None:
        """Complain of what a module that runs alone has without an ABI, and of values that are too narrow for one."""
        entries = [self.symbols[name] for name, f in self.functions.items() if f.is_entry]
        leads = self._leads(entries)
        without = self._without_abi()
        least = importlib.import_module("ptxspec.spec.functions.index").LEAST_BITS
        defined = {self.symbols[f.name] for f in self.module.functions if f.body is not None}
        for position in self.pointed if without is not None else ():
            self.complain(position, f"there is no function's address beside {without}", pages.FUNCTIONS)
        said: set[int] = set()
        for name in leads:
            for called, position, signature in self.mentions.get(name, ()):
                problem = None
                if without is None:
                    every = (*signature.returns, *signature.parameters)
                    passed = [f.type for f in every if not f.is_array and f.vector == 1]
                    if any(type.kind in ("u", "s", "pred") and type.width < least for type in passed):
                        problem = f"an integer that functions take or give has at least {least} bits"
                elif called is None:
                    problem = f"there is neither an indirect call nor a function's address beside {without}"
                elif called not in defined:
                    problem = f"there is no call of another module beside {without}"
                elif name in leads[called]:
                    problem = f"there is no recursion beside {without}"
                if problem and position not in said:
                    said.add(position)
                    self.complain(position, problem, pages.FUNCTIONS)

    def _without_abi(self) -> str | None:
        """What an ABI does not have, if the module has it: something with several results, or a thread's variable that the module
        declares."""
        for variable in self.module.variables:
            if spaces().SPACES[unbanked(variable.space)].shared_by == "a thread":
                return f"{variable.name}, which the module declares in .{variable.space}"
        several = [s for s in self.signatures.values() if s.has_several_results]
        several += [s for found in self.mentions.values() for _, _, s in found if s.has_several_results]
        return f"{several[0].name}, which has several results" if several else None

    def _leads(self, entries: list[str]) -> dict[str, set[str]]:
        """For each function and entry that can run, all functions that may run after it."""
        leads: dict[str, set[str]] = {}
        todo = list(entries)
        while todo:
            name = todo.pop()
            if name not in leads:
                leads[name] = {called for called, _, _ in self.mentions.get(name, ()) if called is not None}
                todo += leads[name]
        if self._without_abi() is None:
            return leads
        changed = True
        while changed:
            changed = False
            for found in leads.values():
                more = found.union(*(leads[called] for called in found))
                changed |= more != found
                found |= more
        return leads
