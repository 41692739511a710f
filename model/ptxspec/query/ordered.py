"""Whether what holds of one thread, alone, may be said of sides that order memory for others.

Until the order of memory itself is decided, sides have to agree on it: on each access and fence that takes part, on what
they wrote before it, and on their results whatever other threads leave there (`paths/ordering.py`). Else nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from ptxspec.query.fragments import Fragment, Unsupported
from ptxspec.query.paths.ordering import MARK
from ptxspec.query.questions import Question, ask
from ptxspec.query.verdicts import Verdict

#: verdicts by which a claim holds
HOLDS = ("proved", "exhausted", "vacuous")


def unless_unordered(verdict: Verdict, asked: Question, decide: Callable[[Question], Verdict]) -> Verdict:
    """A verdict by which the claim holds of one thread, alone, if the sides agree on what other threads may see. `decide`
    answers a question."""
    first, second = asked.sides
    if not (first.orders or second.orders) or (first.text == second.text and len(set(asked.profiles)) == 1):
        return verdict
    if asked.how.invariant is not None:
        return Verdict("unsupported", f"an invariant says nothing of the order of memory: {_first(first, second)}")
    how = asked.how._replace(interfered=True)
    try:
        again = ask(first.text, second.text, asked.assume, asked.profiles, how, asked.inputs.types)
    except Unsupported as why:
        return Verdict("unsupported", f"{_apart(first, second) or _first(first, second)}: {why}")
    found = decide(again)
    if found.status in HOLDS:
        return verdict
    if found.status == "refuted":
        return Verdict("unsupported", _apart(first, second) or _seen(found, first, second))
    return Verdict("unknown", f"whether other threads see the same is open: {found.reason}")


def _apart(first: Fragment, second: Fragment) -> str:
    """Where the texts differ in what takes part in the order of memory; "" if they do not."""
    for one, other in zip_longest(first.orders, second.orders):
        if one is None or other is None or one.what != other.what:
            here, there = (f"{o.text} (line {o.line})" if o else "nothing" for o in (one, other))
            said = f"the left side has {here} where the right side has {there}"
            return f"the sides order memory in different ways, which is not decided: {said}"
    return ""


def _first(first: Fragment, second: Fragment) -> str:
    one = (*first.orders, *second.orders)[0]
    return f"{one.text} (line {one.line}) takes part in it"


def _seen(found: Verdict, first: Fragment, second: Fragment) -> str:
    """What other threads see, or let the sides see, that is not the same."""
    why = "the sides agree alone, and may not with other threads, which is not decided"
    shown = found.counterexample
    if shown is None or not shown.differing:
        return f"{why}: one of them may break a rule"
    own = [name for name in shown.differing if not name.startswith(MARK)]
    parts = [name.removeprefix(MARK) for name in shown.differing if name.startswith(MARK)]
    if not parts:
        return f"{why}: {', '.join(own)} depends on when they read, before or after {_names(first)}"
    name = min(parts, key=lambda part: int(part.partition(" ")[0].partition(".")[0]))
    number = int(name.partition(" ")[0].partition(".")[0])
    texts = {o.text for o in first.orders}
    done = [step.instruction for step in shown.left if step.executed and step.instruction in texts]
    at = f"{done[number]}" if number < len(done) else "the end" if number == len(done) else f"event {number + 1}"
    if " " in name:
        return f"{why}: they differ in what is written last before {at} ({name.split(' ')[1]})"
    return f"{why}: they differ at {at}"


def _names(side: Fragment) -> str:
    return " ".join(dict.fromkeys(o.text for o in side.orders))
