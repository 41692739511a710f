"""What a question about paths adds to one about straight lines: how its sides are read, which claim is put to the solver, and
what is said of executions that were not followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ptxspec.query.assumptions import assumption
from ptxspec.query.fragments import Beyond, Fragment, Step, Unsupported, read_fragment
from ptxspec.query.paths.options import Options
from ptxspec.query.solvers import solve
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, resolve

_MODULE = re.compile(r"\.(?:entry|func)\b")


def read_side(text: str, path: str, types: Mapping[str, Type] | None, asked: Options) -> Fragment:
    """One side of a question: a straight line as it always is, and what is none by its paths."""
    if asked.are_plain and not _MODULE.search(text):
        try:
            return read_fragment(text, path, dict(types or {}), asked.contract)
        except Unsupported:
            pass
    from ptxspec.query.paths.reading import read_paths

    return read_paths(text, path, types, asked)


def assumed(text: str | None, read: Mapping[str, Any], types: Mapping[str, Type], asked: Options) -> Bool:
    """An assumption on the inputs; of a warp, on those of each lane, which are called as if there were no others."""
    if text is None or asked.lanes == 1:
        return assumption(text, read, types)
    found: Bool = TRUE
    for lane in range(asked.lanes):
        own = {n: n.removesuffix(f"[{lane}]") for n in read if n.endswith(f"[{lane}]")}
        terms, kinds = dict(read), dict(types)
        for name, short in own.items():
            if short not in read:
                terms[short], kinds[short] = read[name], types[name]
        found = found & assumption(text, terms, kinds)
    return found


def completed(first: Fragment, second: Fragment) -> tuple[Fragment, Fragment]:
    """Both sides with the bytes of shared memory that either may have written: what a side leaves alone is as it was."""
    return _with_bytes(first, second), _with_bytes(second, first)


def _with_bytes(own: Fragment, other: Fragment) -> Fragment:
    missing = [n for n in other.outputs if n not in own.outputs and _region(n) in own.memory and n in other.bytes]
    if not missing:
        return own
    outputs = {**own.outputs, **{n: variable(n, 8) for n in missing}}
    left = {**own.left, **dict.fromkeys(missing, TYPES["b8"])}
    registers = {**own.registers, **dict.fromkeys(missing, TYPES["b8"])}
    inputs = (*own.inputs, *(n for n in missing if n not in own.inputs))
    return own._replace(outputs=outputs, left=left, registers=registers, inputs=inputs)


def _region(name: str) -> str:
    return name.rpartition("[")[0]


def resolved(side: Fragment, choose: Callable[[Any], Any]) -> Fragment:
    """A side whose conditions have the choices of a profile."""
    if side.faults is FALSE and not side.beyond and side.given is TRUE:
        return side
    memo: dict[int, Any] = {}
    beyond = tuple(Beyond(b.where, resolve(b.holds, choose, memo)) for b in side.beyond)
    return side._replace(faults=resolve(side.faults, choose, memo), beyond=beyond)


def claimed(sides: tuple[Fragment, Fragment], differs: Bool, refines: bool = False) -> Bool:
    """That both sides were followed to their ends, and one faults where the other does not, or neither faults and they differ. If
    the right side is to refine the left one, it may do anything where the left one faults."""
    first, second = sides
    if all(s.faults is FALSE and not s.beyond for s in sides):
        return differs & first.stepped & second.stepped
    found = ~first.faults & (second.faults | differs)
    if not refines:
        found = found | (first.faults & ~second.faults)
    return found & ~beyond(sides) & first.stepped & second.stepped


def beyond(sides: tuple[Fragment, Fragment]) -> Bool:
    """That one of the sides was not followed to its end."""
    found: Bool = FALSE
    for side in sides:
        for one in side.beyond:
            found = found | one.holds
    return found


def faulted(sides: tuple[Fragment, Fragment], values: Mapping[str, Any], pick: Any) -> tuple[bool, bool]:
    """Which sides fault on some inputs."""
    first, second = (bool(evaluate(side.faults, values, pick, {})) for side in sides)
    return first, second


def unless_open(
    sides: tuple[Fragment, Fragment], given: Bool, types: Mapping[str, Type], timeout: float
) -> Verdict | None:
    """What is wrong with the invariant that was given, or not known of it; None if nothing is. Every claim that fails is told,
    with inputs for which it does."""
    failed: list[str] = []
    for side in sides:
        for what, fails in side.obligations:
            answer = solve(given & fails, dict(types), timeout, purpose=f"inputs for which it fails that {what}")
            if answer.status == "sat":
                shown = ", ".join(f"{n} = {answer.values[n]}" for n in side.inputs if n in answer.values)
                failed.append(f"that {what} fails for {shown}")
            elif answer.status != "unsat":
                failed.append(f"whether {what} is open: {answer.status}")
    return Verdict("unknown", f"of the invariant, {'; '.join(failed)}") if failed else None


def unless_beyond(
    verdict: Verdict, sides: tuple[Fragment, Fragment], given: Bool, types: Any, timeout: float
) -> Verdict:
    """The verdict, if no input leads to where the sides were not followed."""
    if not any(side.beyond for side in sides):
        return verdict
    claim = given & beyond(sides)
    if claim.op == "const" and not claim.attrs[0]:
        return verdict
    answer = solve(claim, types, timeout, purpose="inputs that lead to where a side was not followed")
    if answer.status == "unsat":
        return verdict
    names = ("left", "right")
    if answer.status != "sat":
        where = next(b.where for side in sides for b in side.beyond)
        said = f"{verdict.reason}, but whether an input leads {where} is open: {answer.status}"
        return Verdict("unknown", said)

    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        return answer.choices.get((freedom.attrs, operands), 0)

    for name, side in zip(names, sides, strict=True):
        for one in side.beyond:
            if evaluate(one.holds, answer.values, pick, {}):
                return Verdict("unknown", f"unknown {one.where}, on the {name} side")
    return Verdict("unknown", "unknown where the sides were not followed")


def executed(step: Step, values: Mapping[str, Any], choose: Any, memo: dict[int, Any]) -> bool:
    """Whether a thread comes to an instruction, and its guard lets it through."""
    conditions = [c for c in (step.reached, step.holds) if c is not None]
    return all(evaluate(c, values, choose, memo) for c in conditions)


def borne_out(
    sides: tuple[Fragment, Fragment],
    asked: Options,
    values: Mapping[str, Any],
    given: Bool,
    pick: Any,
    profiles: tuple[str, str],
) -> str | None:
    """What a launch of a side shows that its terms do not say, for the inputs of a counterexample; None if it agrees, or no
    launch can begin so."""
    if all(side.side is None for side in sides) or asked.contract != "none":
        return None
    from ptxspec.query.paths.replaying import laid_out, run

    for name, side, profile in zip(("left", "right"), sides, profiles, strict=True):
        where = laid_out(asked, values)
        if side.side is None or where is None or asked.invariant is not None:
            continue
        here = {**values, **where.addresses}
        if not evaluate(given, here, pick, {}) or any(evaluate(b.holds, here, pick, {}) for b in side.beyond):
            continue
        first = {n: evaluate(term, here, pick) for n, term in side.unwritten.items()}
        ran = run(side.side, asked, {**values, **first}, where, profile, pick)
        if ran is None:
            continue
        faults = bool(evaluate(side.faults, here, pick, {}))
        if faults != (ran.faulted is not None):
            return f"a launch of the {name} side {'ends' if faults else 'says: ' + str(ran.faulted)}"
        for output, term in side.outputs.items():
            if not faults and output in ran.results and evaluate(term, here, pick, {}) != ran.results[output]:
                return f"a launch of the {name} side leaves {ran.results[output]} in {output}"
    return None
