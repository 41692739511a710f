"""Rules that a text of PTX must keep before anything runs: pages state them, the checker asks for them."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVarTuple

Facts = TypeVarTuple("Facts")


class StaticRule(Generic[*Facts]):
    """A rule of texts: a predicate over plain facts, such as strings, numbers, truth values, types and tuples of them, and the
    sentence that is said where it is broken. `name` is the predicate's; `path` and `line` are where the page states it."""

    def __init__(self, sentence: str, holds: Callable[[*Facts], bool]):
        code = holds.__code__
        self.name, self.sentence, self.holds = holds.__name__, sentence, holds
        self.path, self.line = code.co_filename, code.co_firstlineno
        self._facts = code.co_varnames[: code.co_argcount]
        #: what else stands on the page
        self._page: dict[str, Any] = holds.__globals__
        self.__doc__ = holds.__doc__

    @property
    def outline(self) -> str:
        """The sentence about no facts: filled in are the page's constants; facts, and what depends on them, have their names."""
        parts = _FILLING.parse(self.sentence)
        return "".join(
            text if field is None else text + self._constant_or_name(field, format or "")
            for text, field, format, _ in parts
        )

    def _constant_or_name(self, field: str, format: str) -> str:
        if all(name.isupper() or name.isdecimal() for name in re.findall(r"\w+", field)):
            return _FILLING.vformat(f"{{{field}:{format}}}", (), self._page)
        return f"{{{field}}}"

    def __call__(self, *facts: *Facts) -> bool:
        return self.holds(*facts)

    def message(self, *facts: *Facts, **fields: object) -> str:
        """The sentence about these facts. `fields` are what it names besides."""
        given: tuple[Any, ...] = facts
        named = dict(zip(self._facts, given, strict=True))
        return _FILLING.vformat(self.sentence, (), {**self._page, **named, **fields})

    def demand(self, *facts: *Facts, **fields: object) -> None:
        """Raise BrokenRule if the rule is broken. For a page whose functions build something of what the rule is about."""
        if not self.holds(*facts):
            raise BrokenRule(self, self.message(*facts, **fields))


class BrokenRule(ValueError):
    """A text breaks `rule`; the message is the sentence, filled in."""

    def __init__(self, rule: StaticRule[*tuple[Any, ...]], message: str):
        super().__init__(message)
        self.rule = rule


class _Filling(string.Formatter):
    """Fills the fields of a sentence."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        (_, first), *keys = re.findall(r"(\W?)(\w+)", field_name)
        value = kwargs[first]
        for mark, key in keys:
            if mark == ".":
                value = getattr(value, key)
            else:
                value = value[int(key) if key.isdecimal() else kwargs[key]]
        return value, first

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec and isinstance(value, Collection):
            return format_spec.join(map(str, value))
        return super().format_field(value, format_spec)


_FILLING = _Filling()
