"""Fragments that are evaluated again and again: their terms are written out as a Python function, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import SymbolicFragment
from ptxspec.terms.profiles import Profile
from ptxspec.terms.python_code import PythonScript
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import DEVIATION

#: texts that are remembered, and how long each may be; longer fragments, and those of more instructions, are read each time
MOST, LONGEST, INSTRUCTIONS = 128, 2_000, 16


class Scripted(NamedTuple):
    """What a fragment's evaluation is written out to. `run(choose, note, *inputs)` gives, for each step in turn, what it wrote,
    and where it has a guard whether that let it through. It is handed what chooses an open result for which the profile has
    no term, and what is told of one that its term has settled."""

    run: Callable[..., tuple[Any, ...]]
    profile: Profile


class CachedFragment:
    """A fragment, and what is made of it when it is asked again."""

    def __init__(self, fragment: SymbolicFragment):
        self.fragment = fragment
        #: by the name of a profile, the fragment's evaluation under it
        self._scripts: dict[str, Scripted] = {}
        #: by profile and kinds of operands, compiled loops: see arrays.py
        self.loops: dict[Any, Any] = {}
        self._bounds = _bounds(fragment)

    def quick(self, given: Mapping[str, Any]) -> dict[str, int] | None:
        """The inputs' bits, where each is a register's and is given as an int that fits; None where more has to be looked at."""
        bounds = self._bounds
        if bounds is None or len(given) != len(bounds):
            return None
        values = {}
        for name, (least, beyond) in bounds.items():
            value = given.get(name)
            if value.__class__ is not int or not least <= value < beyond:
                return None
            values[name] = value & (beyond - 1)
        return values

    def script(self, profile: str) -> Scripted:
        script = self._scripts.get(profile)
        if script is None:
            script = self._scripts[profile] = _scripted(self.fragment, known_profile(profile))
        return script


@cache
def known_profile(name: str) -> Profile:
    """The profile of that name. Raises ValueError if no page has it."""
    return Profile(name)


def _bounds(fragment: SymbolicFragment) -> dict[str, tuple[int, int]] | None:
    """The least int that each input takes, and the first that it does not; None if one of them is no register of bits."""
    bounds = {}
    for name in fragment.inputs:
        type: Type | None = fragment.registers.get(name)
        if type is None or type.kind == "pred":
            return None
        bounds[name] = (-(1 << (type.width - 1)), 1 << type.width)
    return bounds


class _Choosing(PythonScript):
    """A script in which a profile's choices are written out too."""

    def __init__(self, bind: Callable[[str], str], profile: Profile):
        super().__init__(bind)
        self.profile = profile

    def freedom(self, term: Any) -> str:
        if not self.profile.chooses(term):
            return super().freedom(term)
        bits = self.value(self.profile.term(term))
        documented = self.value(term.args[0]) if term.attrs[2] == DEVIATION else None
        self.say(f"note({self.refer(term, 't')}, {bits}, {documented})")
        return bits


def _scripted(fragment: SymbolicFragment, profile: Profile) -> Scripted:
    words = {name: f"w{k}" for k, name in enumerate(fragment.inputs)}
    script = _Choosing(words.__getitem__, profile)
    values: list[str] = []
    for step in fragment.steps:
        for name, term in step.writes.items():
            value, type = script.value(term), step.types[name]
            values.append(value if type.kind == "pred" else f"{value} & {(1 << type.width) - 1}")
        if step.holds is not None:
            values.append(script.value(step.holds))
    run = script.function(["choose", "note", *words.values()], f"({''.join(f'{v}, ' for v in values)})")
    return Scripted(run, profile)


_cached: dict[str, CachedFragment | None] = {}
_lock = threading.Lock()
#: held by the thread that reads and compiles a fragment for arrays: others that ask for the same wait, and then have it
making = threading.RLock()


def repeated(text: str) -> CachedFragment | None:
    """What is known of a fragment that was asked before; None the first two times."""
    return _cached.get(text)


def remember(text: str, fragment: SymbolicFragment) -> CachedFragment | None:
    """Note that a fragment is asked. What comes but once leaves its text behind and nothing else: only the second time something
    is made of it."""
    if len(text) > LONGEST or len(fragment.steps) > INSTRUCTIONS:
        return None
    cached = CachedFragment(fragment) if text in _cached else None
    _keep(text, cached)
    return cached


def for_arrays(text: str) -> CachedFragment:
    """The fragment of a text that is to be compiled, of which something is made at once. Raises as read_fragment does."""
    with making:
        cached = _cached.get(text)
        if cached is None:
            cached = CachedFragment(read_fragment(text))
            if len(text) <= LONGEST:
                _keep(text, cached)
    return cached


def _keep(text: str, cached: CachedFragment | None) -> None:
    with _lock:
        _cached.pop(text, None)
        _cached[text] = cached
        while len(_cached) > MOST:
            del _cached[next(iter(_cached))]
