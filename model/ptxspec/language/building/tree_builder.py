"""All builders of a text, put together: what the parser calls for each rule of the grammar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxspec.language.building.constants import Constants
from ptxspec.language.building.declarations import Declarations
from ptxspec.language.building.modules import Modules
from ptxspec.language.building.operands import OperandBuilder
from ptxspec.language.building.statements import Statements
from ptxspec.language.building.text import BuiltText
from ptxspec.language.diagnostics import Source
from ptxspec.language.words import Lexicon, Split

#: a method of one of these has the name of a rule of the grammar; it is given the number of the rule's first word and what the
#: rule's labels stand for, in their order: text of words, or what was built; None or an empty list where nothing was
_BUILDERS = (Constants, OperandBuilder, Declarations, Statements, Modules)


def built() -> frozenset[str]:
    """What there is a method for: the names of rules, and some others. Of each name there is one."""
    names = [name for builder in _BUILDERS for name in vars(builder) if not name.startswith("_")]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    return frozenset(names)


class TreeBuilder:
    """Builds the tree of one text. The method that builds a rule is had as the attribute of its name."""

    def __init__(self, source: Source, split: Split, lexicon: Lexicon):
        self.text = text = BuiltText(source, split, lexicon)
        constants = Constants(text)
        operands, declarations = OperandBuilder(text, constants), Declarations(text, constants)
        statements = Statements(text, constants, declarations)
        modules = Modules(text, constants, declarations, statements)
        self.complaints, self.complain, self.constant = text.complaints, text.complain, constants.constant
        self._parts = (constants, operands, declarations, statements, modules)

    @property
    def complaint_count(self) -> int:
        """How many complaints there were."""
        return self.text.complaint_count

    @property
    def is_quiet(self) -> bool:
        """Whether there was neither a complaint nor anything that only some versions have."""
        return not self.text.complaint_count and not self.text.uses

    def __getattr__(self, rule: str) -> Callable[..., Any]:
        for part in self._parts:
            if rule in vars(part.__class__):
                method: Callable[..., Any] = getattr(part, rule)
                return method
        raise AttributeError(f"nothing builds {rule}")
