"""Whether two fragments compute the same, for every input; and what `prove` asks of a pair of fragments.

A *machine* makes each choice that PTX leaves open as a function of the freedom (its name, its type, what it allows, and the
operation where several share the name) and of its operands' values: equal operands, equal choice, wherever the two meet, on
either side. Of a result that each execution chooses by itself, the number of the execution is an operand (`execution.py`).
Two fragments are *equal* if for every input and every such machine they leave the same in all registers that both write, all
of them together. So an open result equals itself, on the same operands; it does not equal another open result, and two
operands in another order are other operands. To the solver an approximate result is any number, the same one for the same
operands: a proof for all numbers is one for those within the bound, and a counterexample is looked at again with numbers that
the bound allows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, get_args

from ptxspec.base.options import Context, Contraction, Nan, Relation
from ptxspec.query.abstractions import by_laws, of_all_functions, of_classes
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.options import options
from ptxspec.query.paths.ordering import MARK
from ptxspec.query.questions import Goal, Means, ask
from ptxspec.query.refinement import refined
from ptxspec.query.replaying import ModelMachine, refutation
from ptxspec.query.rewrites import sides as rewrites
from ptxspec.query.solvers import Solver, SolverAnswer, portfolio, solve
from ptxspec.query.solvers.domains import BITS, Numbered, is_quick
from ptxspec.query.solvers.exhaustion import exhaust
from ptxspec.query.statement import grouped, stated
from ptxspec.query.trials import samples
from ptxspec.query.undefined import reached
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import constant, truth
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.vocabulary import FALSE, freedoms_in, resolve

#: verdicts by which a claim holds, of all inputs that were followed
HOLDS = ("proved", "exhausted")


def prove(
    left: str,
    right: str,
    *,
    relation: Relation = "equal",
    assume: str | None = None,
    profile: str | tuple[str, str] = "portable",
    contract: Contraction | None = None,
    timeout: float = 60.0,
    solver: Solver = "z3",
    progress: Callable[[int, int], None] | None = None,
    smtlib: str | Path | None = None,
    ptx: str | Path | None = None,
    certificate: str | Path | None = None,
    unroll: int = 16,
    invariant: str | None = None,
    buffers: Mapping[str, int | str | tuple[str, int]] | None = None,
    warp: bool = False,
    compare: Sequence[str] | None = None,
    nan: Nan = "any",
    context: Context | None = None,
) -> Verdict:
    """Decide whether two fragments compute the same ("equal"), or whether the left one allows every behaviour of the right one
    ("refines"), for all inputs.

    The inputs are the registers that a side reads before it writes them; both sides share them by name. Special registers have
    only values that a thread may read. PTX leaves some results open, and a machine chooses them; for equal operands it makes
    equal choices. Fragments are "equal" if, for every input and every machine, all registers that both write have the same
    values. The right fragment "refines" the left one if, for every input, PTX allows each of its behaviours for the left one too:
    that is what a compiler's output must satisfy.

    `assume` is a condition on the inputs. `profile` chooses results that PTX leaves open, for both sides, or is a pair with a
    profile for each side. `contract` says which products and sums without rounding modifiers are contracted to fused
    multiply-adds: "none", "all" pairs that may be, or "any", which stands for every choice of an assembler; the default is "none"
    for "equal" and "any" for "refines". Results are compared in the type that their form gives them, or in the wider one of the
    two sides' types.

    `compare` lists the names to compare; "*" stands for all names that both sides write. By default these are compared without
    scratch registers: those whose last value a later instruction of each side reads. If none is left, all are compared.

    `nan` is "any" or "payloads". For "equal", a NaN whose bits PTX leaves open equals every other such NaN ("any"), if it is the
    result of an instruction, also one that moves or selects it; what is computed from its bits, and a byte of memory, counts with
    its bits. With "payloads", the bits of all NaNs are compared. A refinement always allows every NaN where PTX does.

    `timeout` is in seconds, for the solver. `solver` is "z3", "bitwuzla" (an extra) or "portfolio", which runs both in parallel.
    If no solver answers and there are at most 2^32 inputs, all of them are run, which may take as long again; `progress` is then
    called with two integers: the inputs that were run, and all inputs.

    Three options name a file to write: `smtlib` the query in SMT-LIB 2, `ptx` a kernel that shows the counterexample, and
    `certificate` what is needed to check the verdict again.

    A side may also branch, loop, call functions and access memory, or be a module with one entry or only functions. `unroll` is
    the most iterations of a loop that are followed. `invariant` replaces that for a single loop: a condition that holds at the
    start of each iteration. `buffers` says what registers and parameters point to: a size in bytes, as in 64 or "64 shared align
    8"; or ("p", 16), byte 16 of the buffer p. The final bytes of the buffers are compared too; "64 private" is memory that no
    other thread accesses.

    `context` says beside which other threads the claim is meant: "any", or none ("alone"). By default it is "any" if a side
    orders memory for other threads, by a fence, a barrier, or an atomic, ordered or volatile access, and else "alone". Beside any
    others, sides are proved if they agree on each such event and on what is written before it, or if one becomes the other by
    rewrites that the memory model allows; they are refuted by a program of several threads that tells them apart.

    A side that breaks a
    rule of an access is undefined for that input. "Equal" sides are undefined for the same inputs; if the left side of
    "refines" is undefined, the right one may do anything. Registers and memory that a kernel or a function reads before it writes
    them may hold any value: for "equal" the same on both sides, for "refines" different ones. With `warp`, the 32 lanes of a warp
    execute both sides.

    Raises PtxError, AssumptionError or ValueError for a wrong question, and OSError for a file that cannot be written. If that
    happens once the question is decided, or if the verdict has nothing to write to a file, the error has the verdict as
    `verdict`, and is Unsupported, too.

    >>> ptxspec.prove("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;", assume="a != 0").status
    'proved'
    >>> verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;")
    >>> verdict.status, verdict.counterexample.differing
    ('refuted', ('d',))
    >>> ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, -1;", relation="refines").status
    'proved'
    >>> ptxspec.prove("@p bra L; mov.u32 d, 1; ret; L: mov.u32 d, 2;", "selp.b32 d, 2, 1, p;").status
    'proved'
    >>> ptxspec.prove("ld.u32 d, [p];", "ld.u16 d, [p];", buffers={"p": 4}, assume="p[2] == 0 and p[3] == 0").status
    'proved'
    """
    given = dict(locals())
    if smtlib is not None or ptx is not None or certificate is not None:
        from ptxspec.query.records import prove_and_write

        return prove_and_write(**given)
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"a timeout of {timeout} seconds: a positive number is needed")
    portfolio.members(solver)
    try:
        goal = posed(
            left, right, relation, assume, profile, contract, unroll, invariant, buffers, warp, compare, nan, context
        )
    except Unsupported as why:
        return Verdict("unsupported", str(why))
    begun = time.monotonic()
    means = Means(begun + timeout, timeout, solver, progress)
    verdict = alone = _of_one_thread(goal, relation, means)
    beside = context == "any" or (context is None and any(side.orders for side in goal.sides))
    if verdict.status in HOLDS and beside:
        verdict = unless_unordered(verdict, goal, relation, means, context == "any")
    if verdict.status == "proved" and assume:
        verdict = _unless_vacuous(verdict, goal, means.at_least)
    lacking = portfolio.note(solver)
    reason = verdict.reason + (f" ({lacking})" if lacking and lacking not in verdict.reason else "")
    seconds = time.monotonic() - begun
    about: Context = "any" if beside else "alone"
    statement = (
        None if verdict.status == "unsupported" else stated(goal, relation, about, has_races=verdict is not alone)
    )
    return verdict._replace(reason=reason, seconds=seconds, statement=statement)


def posed(
    left: str,
    right: str,
    relation: Relation = "equal",
    assume: str | None = None,
    profile: str | tuple[str, str] = "portable",
    contract: Contraction | None = None,
    unroll: int = 16,
    invariant: str | None = None,
    buffers: Mapping[str, int | str | tuple[str, int]] | None = None,
    warp: bool = False,
    compare: Sequence[str] | None = None,
    nan: Nan = "any",
    context: Context | None = None,
) -> Goal:
    """The goal that `prove` decides for the same arguments. Raises what `prove` raises, and Unsupported for one that cannot be
    posed."""
    if relation not in get_args(Relation):
        raise ValueError(f"no relation is called {relation!r}; there are equal and refines")
    if contract is not None and contract not in get_args(Contraction):
        raise ValueError(f"no contraction is called {contract!r}; there are none, all and any")
    if context is not None and context not in get_args(Context):
        raise ValueError(f"no context is called {context!r}; there are any and alone")
    contract = contract or ("none" if relation == "equal" else "any")
    how = options(unroll, invariant, buffers, warp, contract, compare, nan)
    goal = ask(left, right, assume, profile, how._replace(open_at_first=relation == "refines"))
    if invariant is not None and not any(side.steps_over for side in goal.sides):
        raise ValueError("an invariant is of a loop, and neither side has one")
    return goal


def equal(goal: Goal, means: Means) -> Verdict:
    """Whether the sides are equal, whatever the assumption is worth. The ways in which this is decided follow in their order."""
    purpose = "inputs that meet the assumption, and for which the sides differ"
    first, second = goal.sides
    differs = goal.differs
    if first.faults is not FALSE or second.faults is not FALSE:  # one is undefined, or neither is and they differ
        differs = (~first.faults & (second.faults | differs)) | (first.faults & ~second.faults)
    differs = differs & ~goal.beyond & first.stepped & second.stepped

    # 1. the sides are the same term, or are so by laws
    if differs is FALSE:
        return Verdict("proved", "both sides are the same term")
    if by_laws(differs, goal, purpose):
        return Verdict("proved", "no input on which they differ, by the laws of sums, products and carries")

    def ask_solver(soon: bool) -> tuple[SolverAnswer, Verdict | None]:
        answer = means.solve(goal.given & differs, goal, purpose, soon=soon)
        if answer.status == "unsat":
            return answer, Verdict("proved", "no input on which they differ")
        return answer, _replayed(goal, answer) if answer.status == "sat" else None

    # 2. a solver; for a few seconds at first, as there are other ways, unless all inputs can be run within a second or so
    is_quick_to_run = is_quick(differs, goal.given, goal.inputs.types)
    answer, verdict = ask_solver(soon=not is_quick_to_run)
    if verdict is not None and (verdict.status != "approximated" or is_quick_to_run):
        return verdict
    if not is_quick_to_run:
        # 3. inputs that are drawn
        for values in samples(goal, means.deadline):
            sampled = _replayed(goal, SolverAnswer("sat", values, {}))
            if sampled.status == "refuted":
                return sampled
        if verdict is not None:
            return verdict
    if not is_quick_to_run and not means.is_over:
        # 4. a proof for all functions of which those of the sides are some
        if of_all_functions(differs, goal, means, purpose):
            return Verdict("proved", "no input on which they differ, whatever the functions are that both sides share")
        # 5. a solver for each class of the inputs
        by_class = of_classes(differs, goal, means, purpose)
        if by_class is not None and by_class.status == "unsat":
            return Verdict("proved", "no input on which they differ, whatever the products of significands are")
        if by_class is not None and (verdict := _replayed(goal, by_class)).status == "refuted":
            return verdict
        # 6. a solver, with all the time that there is
        answer, verdict = ask_solver(soon=False)
        if verdict is not None:
            return verdict

    # 7. every input, if there are few enough: without the open results that none of them meets
    if freedoms_in(differs) and Numbered(goal.given, goal.taken).total <= 1 << BITS:
        is_open = goal.given & reached((differs,), lambda freedom: True)
        if means.at_least.solve(is_open, goal, "inputs for which a result is open").status == "unsat":
            differs = truth(resolve(differs, lambda freedom: constant(0)))
    run = exhaust(differs, goal.given, goal.taken, means.seconds, means.progress)
    if run.status == "equal":
        return Verdict("exhausted", f"{run.reason}, and both sides agree on each")
    if run.status == "vacuous":
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    if run.status == "found":
        return _replayed(goal, SolverAnswer("sat", run.values, {}))
    reason = run.reason if run.run else f"inputs cannot all be run: {run.reason}"
    return Verdict("unknown", f"{means.no_answer(answer).reason}; {reason}")


def _replayed(goal: Goal, answer: SolverAnswer) -> Verdict:
    """The solver's answer, replayed on the exact interpretation; with approximate results that the bounds allow, where the
    solver's are beyond them."""
    values, machine = answer.values, ModelMachine(answer.choices)

    def differing(machine: ModelMachine) -> tuple[str, ...]:
        memo: dict[int, Any] = {}
        return tuple(n for n in goal.compared if evaluate(goal.unequal(n), values, machine.pick, memo))

    try:
        left, right = (bool(evaluate(side.faults, values, machine.pick, {})) for side in goal.sides)
        names = () if left or right else differing(machine)
        if not (names or left != right) or not evaluate(goal.given, values, machine.pick, {}):
            return Verdict("unknown", "the solver's counterexample does not stand up to the exact interpretation")
        if left != right:
            sides = ("left", "right") if left else ("right", "left")
            why = "the {} side is undefined where the {} one is not".format(*sides)
            return refutation(goal, values, machine, (), why)
        for other in machine.within_bounds():
            names = differing(other)
            if names and not other.beyond:
                return refutation(goal, values, other, names, f"they differ in {', '.join(grouped(names))}")
    except NoChoice as missing:
        return Verdict("unknown", f"the solver's machine does not say what it chooses: {missing}")
    entries = " and ".join(sorted({freedom.attrs[0] for freedom in machine.beyond.values()}))
    why = f"no proof that holds whatever number {entries} may be, and no input where its bound tells"
    return Verdict("approximated", why)


# what a claim that holds is worth -------------------------------------------------------------------------------------


def _of_one_thread(goal: Goal, relation: Relation, means: Means) -> Verdict:
    """The verdict on one thread, alone, whatever the assumption is worth."""
    if not any(side.steps_over for side in goal.sides):
        verdict = (equal if relation == "equal" else refined)(goal, means)
    elif relation == "equal":
        verdict = _by_invariant(goal, means)
    else:
        why = "an invariant steps over a loop where sides are asked to be equal, and nowhere else"
        return Verdict("unsupported", why)
    return _unless_beyond(verdict, goal, means.at_least) if verdict.status in HOLDS else verdict


def _by_invariant(goal: Goal, means: Means) -> Verdict:
    """Whether sides are equal of which one steps over a loop, by an invariant. If that is wrong or open, each part of it that
    fails is told, with inputs for which it does."""
    failed: list[str] = []
    for side in goal.sides:
        for what, fails in side.obligations:
            purpose = f"inputs for which it fails that {what}"
            answer = solve(goal.given & fails, dict(goal.inputs.types), means.timeout, purpose=purpose)
            if answer.status == "sat":
                shown = ", ".join(f"{n} = {answer.values[n]}" for n in side.inputs if n in answer.values)
                failed.append(f"that {what} fails for {shown}")
            elif answer.status != "unsat":
                failed.append(f"whether {what} is open: {answer.status}")
    if failed:
        return Verdict("unknown", f"of the invariant, {'; '.join(failed)}")
    verdict = equal(goal, means)
    if verdict.status in HOLDS:
        return verdict._replace(reason=f"{verdict.reason}, where the loop ends; that it ends is not claimed")
    left, right = goal.sides
    unrolled = ask(left.text, right.text, goal.assume, goal.profiles, goal.how._replace(invariant=None))
    refuted = equal(unrolled, means)
    return refuted if refuted.status == "refuted" else verdict


def _unless_beyond(verdict: Verdict, goal: Goal, means: Means) -> Verdict:
    """The verdict, if no input leads to where the sides were not followed."""
    claim = goal.given & goal.beyond
    if claim is FALSE:
        return verdict
    purpose = "inputs that lead to where a side was not followed"
    answer = solve(claim, goal.inputs.types, means.timeout, purpose=purpose)
    if answer.status == "unsat":
        return verdict
    if answer.status != "sat":
        where = next(end.where for side in goal.sides for end in side.beyond)
        why = f"{verdict.reason}, but whether an input leads {where} is open: {answer.status}"
        return Verdict("unknown", why)

    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        return answer.choices.get((freedom.attrs, operands), 0)

    for name, side in zip(("left", "right"), goal.sides, strict=True):
        for end in side.beyond:
            if evaluate(end.holds, answer.values, pick, {}):
                return Verdict("unknown", f"unknown {end.where}, on the {name} side")
    return Verdict("unknown", "unknown where the sides were not followed")


def _unless_vacuous(verdict: Verdict, goal: Goal, means: Means) -> Verdict:
    """The verdict, if some input meets the assumption."""
    answer = means.solve(goal.given, goal, "inputs that meet the assumption")
    if answer.status == "sat":
        return verdict
    if answer.status == "unsat":
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    unknown = means.no_answer(answer)
    why = f"whether any input meets the assumption is open: {unknown.reason}"
    return unknown._replace(reason=f"{verdict.reason}, but {why}")


def unless_unordered(verdict: Verdict, goal: Goal, relation: Relation, means: Means, always: bool = False) -> Verdict:
    """A verdict by which the claim holds of one thread, alone, if it holds beside any others: if sides agree on each access and
    fence that takes part in the order of memory, on what they wrote before it, and on their results whatever other threads leave
    there (`paths/ordering.py`); or if one is a rewrite of the other (`rewrites/`). Accesses that take no part count as well if
    that is so `always`."""
    first, second = goal.sides
    events = (*first.orders, *second.orders)
    if (not events and not always) or (first.text == second.text and len(set(goal.profiles)) == 1):
        return verdict
    if goal.how.invariant is not None:
        where = f": {events[0].text} (line {events[0].line}) takes part in it" if events else ""
        return Verdict("unsupported", f"an invariant says nothing of the order of memory{where}")
    kept = _unless_apart(verdict, goal, relation, means)
    if kept.status != "unsupported" and events:
        return kept
    try:
        return rewrites.decided(goal, relation, means.at_least) or verdict
    except Unsupported as why:
        reason = kept.reason if kept.status == "unsupported" else "the sides agree alone"
        return Verdict("unsupported", f"{reason}; {why}")


def _unless_apart(verdict: Verdict, goal: Goal, relation: Relation, means: Means) -> Verdict:
    """The verdict, if sides agree on all that takes part in the order of memory."""
    first, second = goal.sides
    apart = ""
    for pair in zip_longest(first.orders, second.orders):
        if None in pair or pair[0].what != pair[1].what:
            left, right = (f"{event.text} (line {event.line})" if event else "nothing" for event in pair)
            why = f"the left side has {left} where the right side has {right}"
            apart = f"the sides order memory in different ways, which is not decided: {why}"
            break
    how = goal.how._replace(interfered=True)
    try:
        again = ask(first.text, second.text, goal.assume, goal.profiles, how, goal.inputs.types)
    except Unsupported as why_not:
        some = next((f"{e.text} (line {e.line}) takes part in it" for e in (*first.orders, *second.orders)), "")
        return Verdict("unsupported", f"{apart or some}: {why_not}")
    with_others = _of_one_thread(again, relation, means.at_least)
    if with_others.status in (*HOLDS, "vacuous"):
        return verdict
    if with_others.status == "refuted":
        return Verdict("unsupported", apart or _seen_by_others(with_others, goal))
    return Verdict("unknown", f"whether other threads see the same is open: {with_others.reason}")


def _seen_by_others(verdict: Verdict, goal: Goal) -> str:
    """What other threads see, or let the sides see, that is not the same."""
    orders = goal.sides[0].orders
    why = "the sides agree alone, and may not with other threads, which is not decided"
    shown = verdict.counterexample
    if shown is None or not shown.differing:
        return f"{why}: one of them may break a rule"
    parts = [name.removeprefix(MARK) for name in shown.differing if name.startswith(MARK)]
    texts = dict.fromkeys(event.text for event in orders)
    if not parts:
        names = ", ".join(shown.differing)
        return f"{why}: {names} depends on when they read, before or after {' '.join(texts)}"

    def number_of(part: str) -> int:
        return int(part.partition(" ")[0].partition(".")[0])

    name = min(parts, key=number_of)
    number = number_of(name)
    done = [step.instruction for step in shown.left if step.executed and step.instruction in texts]
    at = done[number] if number < len(done) else "the end" if number == len(done) else f"event {number + 1}"
    if " " in name:
        return f"{why}: they differ in what is written last before {at} ({name.split(' ')[1]})"
    return f"{why}: they differ at {at}"
