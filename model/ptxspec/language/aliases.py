"""Other names of functions."""

from __future__ import annotations

from functools import cached_property

from ptxspec import contracts
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
        if self._is_known(alias.of, alias) and self._is_known(alias.name, alias) and self._keeps_the_rules(alias):
            self.context.aliases[alias.name] = self._nearer[alias.name] = alias.of

    def _is_known(self, name: str, alias: tree.Alias) -> bool:
        """Whether a name is that of a function that is declared before; complains if not."""
        function = self._with_a_body.get(name)
        is_an_entry = function is not None and function.is_entry
        if not self.context.require(
            contracts.functions.aliases_are_of_functions, alias.position, is_an_entry, name=name
        ):
            return False
        found = self.context.signatures.get(self.context.symbols.get(name, name))
        if found is None or found.position > alias.position:
            self.context.complain(alias.position, f"{name} is not declared before", cited.FUNCTIONS)
            return False
        return True

    def _keeps_the_rules(self, alias: tree.Alias) -> bool:
        """Whether a function may be the alias of another; complains if not."""
        context, page, at, require = self.context, contracts.functions, alias.position, self.context.require
        own, other = (context.signatures[context.symbols[name]].declared for name in (alias.name, alias.of))
        leads_back = self.aliased(alias.of) == alias.name
        circle = self._circle(alias) if leads_back else ""
        return (
            require(page.aliases_have_no_body, at, alias.name in self._with_a_body, name=alias.name)
            and require(page.aliases_are_of_one_function, at, context.aliases.get(alias.name), name=alias.name)
            and require(page.aliases_have_the_parameters, at, own, other, name=alias.name, of=alias.of)
            and require(page.may_have_an_alias, at, context.functions[alias.of].linkage, of=alias.of)
            and require(page.aliases_lead_elsewhere, at, leads_back, name=alias.name, circle=circle)
        )

    @cached_property
    def _with_a_body(self) -> dict[str, tree.Function]:
        return {f.name: f for f in self.context.module.functions if f.body is not None}

    def _circle(self, alias: tree.Alias) -> str:
        """What an alias that leads back to its own name does so by."""
        names, name = [alias.name], alias.of
        while name != alias.name and len(names) < _MOST_NAMED:
            names.append(name)
            name = self.context.aliases[name]
        names.append("…" if name != alias.name else name)
        return f": {' is '.join(names)}" if len(names) > 2 else ""

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
