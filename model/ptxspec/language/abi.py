"""What functions may pass to one another: spec/functions/index.md."""

from __future__ import annotations

import importlib

from ptxspec.language import pages
from ptxspec.language.checked import Signature
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
        for name in leads:
            for called, position, signature in self.mentions.get(name, ()):
                problem = None
                if without is None:
                    passed = [f.type for f in (*signature.returns, *signature.parameters) if not f.is_array]
                    if any(type.kind in ("u", "s", "pred") and type.width < least for type in passed):
                        problem = f"an integer that functions take or give has at least {least} bits"
                elif called is None:
                    problem = f"there is no indirect call beside {without}, which has several results"
                elif called not in defined:
                    problem = f"there is no call of another module beside {without}, which has several results"
                elif name in leads[called]:
                    problem = f"there is no recursion beside {without}, which has several results"
                if problem:
                    self.complain(position, problem, pages.FUNCTIONS)

    def _without_abi(self) -> str | None:
        """What has several results, if anything has."""
        several = [s for s in self.signatures.values() if len(s.returns) > 1]
        several += [s for found in self.mentions.values() for _, _, s in found if len(s.returns) > 1]
        return several[0].name if several else None

    def _leads(self, entries: list[str]) -> dict[str, set[str]]:
        """For each function and entry that can run, all functions that may run after it."""
        leads: dict[str, set[str]] = {}
        todo = list(entries)
        while todo:
            name = todo.pop()
            if name not in leads:
                leads[name] = {called for called, _, _ in self.mentions.get(name, ()) if called is not None}
                todo += leads[name]
        if all(not _several(s) for s in self.signatures.values()):
            return leads
        changed = True
        while changed:
            changed = False
            for found in leads.values():
                more = found.union(*(leads[called] for called in found))
                changed |= more != found
                found |= more
        return leads


def _several(signature: Signature) -> bool:
    return len(signature.returns) > 1
