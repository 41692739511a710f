"""What functions may pass to one another: spec/functions/index.md."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import cited
from ptxspec.language.checked import Signature, spaces, unbanked
from ptxspec.language.graphs import components, reached
from ptxspec.language.instructions import Instructions


class Abi(Instructions):
    """Checks the functions that can run."""

    def keep_to_the_abi(self) -> None:
        """Complain of what a module that runs alone has without an ABI, and of values that are too narrow for one."""
        entries = [self.symbols[name] for name, f in self.functions.items() if f.is_entry]
        leads = {name: {c for c, _, _ in self.mentions.get(name, ()) if c is not None} for name in self._callers()}
        without = self._without_abi()
        least = contracts.functions().LEAST_BITS
        defined = {self.symbols[f.name] for f in self.module.functions if f.body is not None}
        for position in self.pointed if without is not None else ():
            self.complain(position, f"there is no function's address beside {without}", cited.FUNCTIONS)
        said: set[int] = set()
        narrow: dict[int, bool] = {}
        circle = components(leads) if without is not None else {}
        for name in reached(leads, entries):
            for called, position, signature in self.mentions.get(name, ()):
                problem = None
                if without is None:
                    if id(signature) not in narrow:
                        narrow[id(signature)] = self._is_narrow(signature, least)
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
                    self.complain(position, problem, cited.FUNCTIONS)

    def _without_abi(self) -> str | None:
        """What an ABI does not have, if the module has it: something with several results, or a thread's variable that the module
        declares."""
        for variable in self.module.variables:
            if spaces().SPACES[unbanked(variable.space)].shared_by == "a thread":
                return f"{variable.name}, which the module declares in .{variable.space}"
        several = [s for s in self.signatures.values() if s.has_several_results]
        several += [s for found in self.mentions.values() for _, _, s in found if s.has_several_results]
        return f"{several[0].name}, which has several results" if several else None

    def _is_narrow(self, signature: Signature, least: int) -> bool:
        """Whether a function takes or gives an integer of fewer bits."""
        passed = [f.type for f in (*signature.returns, *signature.parameters) if not f.is_array and f.vector == 1]
        return any(type.kind in ("u", "s", "pred") and type.width < least for type in passed)

    def _callers(self) -> set[str]:
        """Entries and functions, those that are only declared among them."""
        return {*self.symbols.values(), *self.signatures, *self.mentions}
