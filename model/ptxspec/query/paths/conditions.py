"""Conditions of paths: conjunctions of what branches decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxspec.terms.core import Bool
from ptxspec.terms.vocabulary import TRUE


def parts(condition: Bool) -> list[Bool]:
    """What a conjunction says, the last first."""
    found, stack = [], [condition]
    while stack:
        one = stack.pop()
        if one.op == "all":
            stack += one.args
        else:
            found.append(one)
    return found


def opposite(x: Bool, y: Bool) -> bool:
    """Whether one is the other's negation, as they are written."""
    return (~x) is y or x is (~y)


def joined(x: Bool, y: Bool) -> tuple[Bool, Bool] | None:
    """(where either path is taken, where it is the first given that), for paths that parted at one branch; else None."""
    shared_x, last_x = _split(x)
    shared_y, last_y = _split(y)
    if shared_x is shared_y and opposite(last_x, last_y):
        return shared_x, last_x
    return None


def _split(condition: Bool) -> tuple[Bool, Bool]:
    return (condition.args[0], condition.args[1]) if condition.op == "all" else (TRUE, condition)


def assumed(term: Any, holds: Bool) -> Any:
    """A term where a condition holds: choices that its parts decide are made."""
    known: dict[int, Bool] | None = None
    while term.op == "select":
        if known is None:
            known = {id(p): p for p in parts(holds)}
        c = term.args[0]
        wanted = parts(c)
        if all(id(p) in known for p in wanted):
            term = term.args[1]
        elif any(id(~p) in known for p in wanted):
            term = term.args[2]
        else:
            break
    return term


def leaves(term: Any, holds: Bool, wanted: Mapping[int, str], deep: bool = False) -> set[str]:
    """Which of the terms that are wanted, by their ids, a term may be where a condition holds: choices that its parts decide are
    made. If it is `deep`, which of them it may be computed from."""
    known = {id(p): p for p in parts(holds)}
    found: set[str] = set()
    seen: set[int] = set()
    stack = [term]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if id(one) in wanted:
            found.add(wanted[id(one)])
        elif one.op == "select":
            which = parts(one.args[0])
            if all(id(p) in known for p in which):
                stack.append(one.args[1])
            elif any(id(~p) in known for p in which):
                stack.append(one.args[2])
            else:
                stack += one.args[1:]
        elif one.op == "all":  # a choice of truth values is a conjunction for each
            if not any(id(~p) in known for p in parts(one)):
                stack += one.args
        elif deep or one.op == "any":
            stack += one.args
    return found
