"""Sides of a question to the prover that order memory in different ways: whether one is a rewrite of the other that is right
beside any other threads, or a program that tells them apart.

Each access to memory that others may access reads what they left there. A chain of small rewrites leads from the operations of
one side to those of the other; what they write, and what registers hold in the end, is then the same term of what is read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from ptxspec.base.options import Relation
from ptxspec.query.litmus.executions import OutOfTime
from ptxspec.query.litmus.reading import LitmusError
from ptxspec.query.outcomes import SymbolicFragment, Unsupported
from ptxspec.query.paths.ordering import MARK, TracedEvent
from ptxspec.query.questions import Goal, Means, ask
from ptxspec.query.rewrites.chains import Chain, chains
from ptxspec.query.rewrites.contexts import OTHERS, Rewrite, Witness, witness
from ptxspec.query.rewrites.steps import RewriteStep, line_of
from ptxspec.query.rewrites.table import NoWitness, axioms, model
from ptxspec.query.solvers.solve import solve
from ptxspec.query.verdicts import ContextWitness, Verdict
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.operations import OperationKind
from ptxspec.terms.orders import Order, Proxy
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import FALSE, TRUE, freedoms_in, low_bits, substitute, variables_in

#: ways from one side to the other of which the values are compared, at most
MOST_CHAINS = 8
#: the least number that an input of a program that tells has: others are numbers of programs around
FIRST_INPUT = 101


class TracedSide(NamedTuple):
    """A side with the operations that it executes, the numbers of their events, and where their locations are: the buffer and the
    offset."""

    fragment: SymbolicFragment
    steps: tuple[RewriteStep, ...]
    values: tuple[Any, ...]
    places: dict[str, tuple[str, int]]


class _TimeIsOver(Exception):
    pass


def decided(goal: Goal, relation: Relation, means: Means) -> Verdict | None:
    """Whether the claim holds beside any other threads, of sides that agree alone; None if neither does anything that others may
    see. Raises Unsupported if that is not decided, with what is not."""
    if goal.how.lanes > 1:
        raise Unsupported("a whole warp is not followed")
    traced = ask(*goal.put[:4], goal.how._replace(interfered=True, traced=True), goal.inputs.types)
    sides = [_traced(side) for side in traced.sides]
    if not any(side.steps for side in sides):
        return None
    words: dict[str, None] = {}
    failed: list[tuple[int, int]] = []
    for before, after in [(0, 1), (1, 0)] if relation == "equal" else [(0, 1)]:
        further = _by_chain(traced, sides[before], sides[after], relation, means)
        words |= dict.fromkeys(further or ())
        failed += [(before, after)] if further is None else []
    if failed:
        return _told_apart(goal, sides, failed, means)
    why = f"by rewrites that are right beside any other threads: {'; '.join(words)}"
    return Verdict("proved", why if words else "both sides execute the same operations")


# operations ---------------------------------------------------------------------------------------------------------------


def _traced(side: SymbolicFragment) -> TracedSide:
    """A side's operations, if it has one path."""
    places: dict[str, tuple[str, int]] = {}
    steps, values = [], []
    for event in side.events:
        step, value = _step(event, places)
        steps.append(step)
        values.append(value)
    ranges = {(step.location, step.size) for step in steps if step.location}
    for name, size in ranges:
        for other, length in ranges:
            (region, at), (second, begin) = places[name], places[other]
            if (name, size) != (other, length) and region == second and at < begin + length and begin < at + size:
                raise Unsupported("accesses overlap that are not of the same bytes")
    return TracedSide(side, tuple(steps), tuple(values), places)


def _step(event: TracedEvent, places: dict[str, tuple[str, int]]) -> tuple[RewriteStep, Any]:
    """An event as a step, and what it writes."""
    effect, mnemonic = event.op.plan.meaning.effect, event.op.plan.form.mnemonic
    if event.done is not TRUE or event.number.lo != event.number.hi:
        raise Unsupported(f"{mnemonic} is executed on some paths alone")
    match effect:
        case effects.Fence() if not effect.proxies and effect.restricted is None:
            return RewriteStep(OperationKind.FENCE, effect.order, effect.scope), None
        case effects.Load() | effects.Store() | effects.Update():
            pass
        case _:
            raise Unsupported(f"{mnemonic} is neither an access nor a fence of memory")
    if effect.count != 1 or effect.type.elements == 2 or effect.proxy is not Proxy.GENERIC:
        raise Unsupported(f"{mnemonic} accesses a vector, or by another proxy")
    if effect.order in (Order.VOLATILE, Order.MMIO):
        raise Unsupported(f"{mnemonic} may be seen by more than threads, of which the memory model says nothing")
    (case, *others) = event.cases
    if others or case.holds is not TRUE or case.offset.lo != case.offset.hi:
        raise Unsupported(f"{mnemonic} accesses an address that depends on inputs")
    kind = OperationKind.READ if isinstance(effect, effects.Load) else OperationKind.WRITE
    if isinstance(effect, effects.Update):
        kind = OperationKind.ATOMIC if event.op.plan.meaning.results else OperationKind.REDUCTION
    offset = case.offset.lo
    name = f"{case.region}_{offset}" if offset else case.region
    places[name] = case.region, offset
    value = low_bits(event.values[0], 8 * effect.type.bytes) if event.values else None
    return RewriteStep(kind, effect.order, effect.scope, name, effect.type.bytes), value


# proofs -------------------------------------------------------------------------------------------------------------------


def _by_chain(
    goal: Goal, before: TracedSide, after: TracedSide, relation: Relation, means: Means
) -> tuple[str, ...] | None:
    """The rewrites in words by which one side becomes the other one, with equal values; None if there are none."""

    def check_time() -> None:
        if time.monotonic() >= means.deadline:
            raise _TimeIsOver

    try:
        for count, chain in enumerate(chains(before.steps, after.steps, check_time)):
            if count == MOST_CHAINS:
                break
            if _agree(goal, before, after, chain, relation, means):
                return chain.words
    except _TimeIsOver:
        pass
    return None


def _agree(goal: Goal, before: TracedSide, after: TracedSide, chain: Chain, relation: Relation, means: Means) -> bool:
    """Whether both sides write the same and leave the same, if operations read the same for which one stands."""
    names: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    for number, element in enumerate(chain.elements):
        step = element.step
        if step.location:
            region, offset = after.places[step.location]
            for k in range(offset, offset + step.size):
                read = variable(f"{region}[{k}]@read {number}", 8)
                names[True][f"{region}[{k}]@{number}"] = read
                names[False] |= {f"{region}[{k}]@{origin}": read for origin in element.origins}
    is_left = before.fragment is goal.sides[0]

    def shared(term: Any, is_after: bool) -> Any:
        return substitute(term, names[is_after])

    finals = tuple(
        {n: shared(t, is_left == bool(k)) for n, t in part.items() if not n.startswith(MARK)}
        for k, part in enumerate(goal.finals)
    )
    compared = {n: t for n, t in goal.compared.items() if not n.startswith(MARK)}
    differs: Bool = goal._replace(finals=finals, compared=compared).differs  # type: ignore[arg-type]
    for number, element in enumerate(chain.elements):
        if after.values[number] is not None:
            written = before.values[element.origins[-1]]
            differs = differs | (shared(written, False) != shared(after.values[number], True))
    if relation == "refines" and freedoms_in(differs):
        return False
    old, new = shared(before.fragment.faults, False), shared(after.fragment.faults, True)
    claim = goal.given & ~goal.beyond & ~old & (new | differs)
    if relation == "equal":
        claim = claim | (goal.given & ~goal.beyond & old & ~new)
    if claim is FALSE:
        return True
    types = {**goal.taken, **{t.attrs[0]: TYPES["b8"] for t in names[True].values()}}
    purpose = "inputs for which a rewritten side writes or leaves something else"
    return solve(claim, types, means.timeout, solver=means.solver, purpose=purpose).status == "unsat"


# programs that tell -------------------------------------------------------------------------------------------------------

_ADDRESS = re.compile(r"\[\s*([A-Za-z_$%][\w$]*)\s*(?:\+\s*(\d+)\s*)?\]")


def _told_apart(goal: Goal, sides: Sequence[TracedSide], failed: Sequence[tuple[int, int]], means: Means) -> Verdict:
    """A program in which one side may do what the other one may not, looked at again as two litmus tests. Raises Unsupported if
    none is known."""
    names, why = ("left", "right"), ""
    for others, (before, after) in product(OTHERS, failed):
        try:
            rewrite = _rewrite(goal, sides[before], sides[after], means)
            result = witness(model(), rewrite, [others], means.deadline)
            broken = () if result is None else axioms(result)
        except OutOfTime:
            why = "not all programs that may tell were looked at in time"
            continue
        except (Unsupported, LitmusError, NoChoice, NoWitness) as no_test:
            why = f"no program is made of it: {no_test}"
            continue
        if result is not None:
            return _refuted(result, names[before], names[after], broken)
    before, after = failed[0]
    chain = f"no chain of rewrites that are right leads from the {names[before]} side to the {names[after]} one"
    raise Unsupported(f"{chain}, and {why or 'no program of those that are looked at tells'}")


def _refuted(result: Witness, forbids: str, allows: str, broken: tuple[str, ...]) -> Verdict:
    texts = [result.test(side, rewritten=side == allows) for side in ("left", "right")]
    why = f"{' and '.join(broken)} forbid{'s' if len(broken) == 1 else ''} it" if broken else "no execution does it"
    reason = f"beside other threads the {allows} side may do what the {forbids} side may not: {why}"
    return Verdict("refuted", reason, witness=ContextWitness(texts[0], texts[1], allows, broken))


def _rewrite(goal: Goal, before: TracedSide, after: TracedSide, means: Means) -> Rewrite:
    """The sides as cells of litmus tests, with numbers for the inputs."""
    names = {place: name for side in (before, after) for name, place in side.places.items()}
    sizes = {step.location: step.size for side in (before, after) for step in side.steps if step.location}
    if any(name in goal.inputs.types and TYPES.get("pred") is goal.inputs.types[name] for name in goal.inputs.terms):
        raise Unsupported("an input is a predicate")
    registers = _inputs(goal, means)
    lines = [line_of(list(_cells(goal, side, names)), sizes, registers) for side in (before, after)]
    for line, side in zip(lines, (before, after), strict=True):
        if tuple(step.shape for step in line.steps) != tuple(step.shape for step in side.steps):
            raise Unsupported("the litmus test does something else")
    kept = [name for name, type in goal.compared.items() if type.kind != "pred"]
    cut = [line._replace(registers={n: line.registers[n] for n in kept if n in line.registers}) for line in lines]
    whole = before.fragment.side is not None and before.fragment.side.what == "entry"
    return Rewrite(cut[0], cut[1], None, sizes, registers, whole)


def _inputs(goal: Goal, means: Means) -> dict[str, int]:
    """Numbers for the inputs: small ones that differ, or else those that a solver finds."""
    wanted = [n for side in goal.sides for n in side.inputs if n in side.registers and "[" not in n]
    wanted = [n for n in dict.fromkeys(wanted) if n not in {b.name for b in goal.how.buffers}]
    values = {name: FIRST_INPUT + k for k, name in enumerate(wanted)}
    if goal.assume is None:
        return values
    if any("[" in name for name in variables_in([goal.given])):
        raise Unsupported("the assumption is about memory")
    full = {name: values.get(name, 0) for name in goal.inputs.terms}
    if bool(evaluate(goal.given, full, lambda freedom, operands: 0, {})):
        return values
    answer = means.solve(goal.given, goal, "inputs that meet the assumption")
    if answer.status != "sat":
        raise Unsupported("no inputs are known that meet the assumption")
    return {name: int(answer.values[name]) for name in wanted}


def _cells(goal: Goal, side: TracedSide, names: Mapping[tuple[str, int], str]) -> Iterator[str]:
    """The instructions of a straight line, with locations in the place of addresses."""
    buffers = {b.name: (b.of or b.name, b.offset) for b in goal.how.buffers}

    def located(match: re.Match[str]) -> str:
        region, offset = buffers.get(match[1], (match[1], 0))
        return f"[{names.get((region, offset + int(match[2] or 0)), match[1])}]"

    for step in side.fragment.steps:
        guard = f"@{step.guard} " if step.guard else ""
        yield guard + _ADDRESS.sub(located, step.text.rstrip("; "))
