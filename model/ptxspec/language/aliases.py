"""Other names of functions."""

from __future__ import annotations

from functools import cached_property

from ptxspec.language import cited, tree
from ptxspec.language.module_context import Context

#: so many names of a circle are told
_MOST_NAMED = 8


class Aliases:
    """The second names that a module declares with .alias."""

    def __init__(self, context: Context):
        self.context = context
        #: for each name a function nearer to the one that it stands for
        self._nearer: dict[str, str] = {}

    def declare_alias(self, alias: tree.Alias) -> None:
        """A second name of a function. Both have been declared, this one without a body."""
        self.context.since(".alias", alias.position)
        functions = self._with_a_body
        problem = None
        for name in (alias.name, alias.of):
            found = self.context.signatures.get(self.context.symbols.get(name, name))
            if name in functions and functions[name].is_entry:
                problem = f"{name} is an entry, not a function"
            elif found is None or found.position > alias.position:
                problem = f"{name} is not declared before"
        if problem is None:
            one, other = (self.context.signatures[self.context.symbols[name]] for name in (alias.name, alias.of))
            if alias.name in functions:
                problem = f"{alias.name} has a body, and cannot be an alias"
            elif alias.name in self.context.aliases:
                problem = f"{alias.name} is an alias of {self.context.aliases[alias.name]} already"
            elif [[f.declared for f in fs] for fs in one[1:3]] != [[f.declared for f in fs] for fs in other[1:3]]:
                problem = f"{alias.name} was declared with other parameters than {alias.of}"
            elif self.context.functions[alias.of].linkage in ("weak", "extern"):
                problem = f"{alias.of} is .{self.context.functions[alias.of].linkage}, and cannot have an alias"
            elif self.aliased(alias.of) == alias.name:
                problem = self._circle(alias)
        if problem is not None:
            self.context.complain(alias.position, problem, cited.FUNCTIONS)
        else:
            self.context.aliases[alias.name] = self._nearer[alias.name] = alias.of

    @cached_property
    def _with_a_body(self) -> dict[str, tree.Function]:
        return {f.name: f for f in self.context.module.functions if f.body is not None}

    def _circle(self, alias: tree.Alias) -> str:
        """What is wrong with an alias that leads back to its own name."""
        names, name = [alias.name], alias.of
        while name != alias.name and len(names) < _MOST_NAMED:
            names.append(name)
            name = self.context.aliases[name]
        names.append("…" if name != alias.name else name)
        if len(names) == 2:
            return f"{alias.name} would be an alias of itself"
        return f"{alias.name} would be an alias of itself: {' is '.join(names)}"

    def aliased(self, name: str) -> str:
        """The function that a name stands for. Names on the way are led closer to it, so that no way is gone twice."""
        way = []
        while name in self._nearer:
            way.append(name)
            name = self._nearer[name]
        for passed in way:
            self._nearer[passed] = name
        return name

    def function_symbol(self, name: str) -> str:
        """The name by which a function or an entry is known when modules are linked."""
        name = self.aliased(name)
        return self.context.symbols.get(name, name)
