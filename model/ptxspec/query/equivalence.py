"""Whether two fragments compute the same, for every input.

A *machine* makes each choice that PTX leaves open as a function of the freedom (its name, its type, what it allows, and the
operation where several share the name) and of its operands' values: equal operands, equal choice, wherever the two meet, on
either side. Of a result that each execution chooses by itself, the number of the execution is an operand (`executions.py`).
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
from pathlib import Path
from typing import Any, get_args

from ptxspec.base.options import Contraction, Nan, Relation
from ptxspec.query.abstracted import by_laws, of_all_functions, of_classes
from ptxspec.query.bounds import allowed_choices
from ptxspec.query.fragments import Unsupported
from ptxspec.query.means import Means
from ptxspec.query.ordered import unless_unordered
from ptxspec.query.paths.asking import borne_out, claimed, faulted, unless_beyond, unless_open
from ptxspec.query.paths.options import options
from ptxspec.query.questions import Question, ask
from ptxspec.query.ranges import grouped
from ptxspec.query.refinement import refined
from ptxspec.query.replaying import Machine, counterexample
from ptxspec.query.sampling import samples
from ptxspec.query.solvers import Answer, Solver, portfolio
from ptxspec.query.solvers.domains import is_quick
from ptxspec.query.solvers.numbered import BITS, Numbered
from ptxspec.query.statement import stated
from ptxspec.query.undefined import reached
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, constant, truth
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.vocabulary import freedoms_in, resolve

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
    8"; or ("p", 16), byte 16 of the buffer p. The final bytes of the buffers are compared too. A verdict is about one thread,
    alone. Sides that order memory for other threads, by fences, barriers, or atomic, ordered or volatile accesses, must agree on
    each of these and on what is written before it; "64 private" is memory that no other thread accesses. A side that breaks a
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
        asked = posed(left, right, relation, assume, profile, contract, unroll, invariant, buffers, warp, compare, nan)
    except Unsupported as why:
        return Verdict("unsupported", str(why))
    begun = time.monotonic()
    means = Means(begun + timeout, timeout, solver, progress)
    verdict = _decided(asked, relation, means)
    if verdict.status in HOLDS:
        verdict = unless_beyond(verdict, asked.sides, asked.given, asked.inputs.types, means.at_least.timeout)
    if verdict.status in HOLDS:

        def decide(other: Question) -> Verdict:
            found = (equal if relation == "equal" else refined)(other, means.at_least)
            if found.status not in HOLDS:
                return found
            return unless_beyond(found, other.sides, other.given, other.inputs.types, means.at_least.timeout)

        verdict = unless_unordered(verdict, asked, decide)
    if verdict.status == "proved" and assume:
        verdict = _unless_vacuous(verdict, asked, means.at_least)
    lacking = portfolio.note(solver)
    reason = verdict.reason + (f" ({lacking})" if lacking and lacking not in verdict.reason else "")
    seconds = time.monotonic() - begun
    statement = None if verdict.status == "unsupported" else stated(asked, relation)
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
) -> Question:
    """The question that `prove` puts for the same arguments. Raises what `prove` raises, and Unsupported for one that cannot be
    asked."""
    if relation not in get_args(Relation):
        raise ValueError(f"no relation is called {relation!r}; there are equal and refines")
    if contract is not None and contract not in get_args(Contraction):
        raise ValueError(f"no contraction is called {contract!r}; there are none, all and any")
    contract = contract or ("none" if relation == "equal" else "any")
    how = options(unroll, invariant, buffers, warp, contract, compare, nan)
    how = how._replace(open_at_first=relation == "refines")
    asked = ask(left, right, assume, profile, how)
    if invariant is not None and not any(side.steps_over for side in asked.sides):
        raise ValueError("an invariant is of a loop, and neither side has one")
    return asked


def _decided(asked: Question, relation: Relation, means: Means) -> Verdict:
    """The verdict, whatever the assumption is worth, and whatever happens where the sides were not followed."""
    if not any(side.steps_over for side in asked.sides):
        return (equal if relation == "equal" else refined)(asked, means)
    if relation != "equal":
        return Verdict(
            "unsupported", "an invariant steps over a loop where sides are asked to be equal, and nowhere else"
        )
    wrong = unless_open(asked.sides, asked.given, asked.inputs.types, means.timeout)
    if wrong is not None:
        return wrong
    verdict = equal(asked, means)
    if verdict.status in HOLDS:
        return verdict._replace(reason=f"{verdict.reason}, where the loop ends; that it ends is not claimed")
    again = asked.how._replace(invariant=None)
    found = equal(ask(asked.sides[0].text, asked.sides[1].text, asked.assume, asked.profiles, again), means)
    return found if found.status == "refuted" else verdict


def equal(asked: Question, means: Means) -> Verdict:
    """Whether the sides are equal, whatever the assumption is worth."""
    differs = claimed(asked.sides, asked.differs)
    if differs.op == "const" and not differs.attrs[0]:
        return Verdict("proved", "both sides are the same term")
    what = "inputs that meet the assumption, and for which the sides differ"
    if by_laws(differs, asked, what):
        return Verdict("proved", "no input on which they differ, by the laws of sums, products and carries")
    for soon in (False,) if is_quick(differs, asked.given, asked.inputs.types) else (True, False):
        answer = means.solve(asked.given & differs, asked, what, soon=soon)
        if answer.status == "unsat":
            return Verdict("proved", "no input on which they differ")
        found = _replayed(asked, answer) if answer.status == "sat" else None
        if found is not None and found.status != "approximated":
            return found
        refutation = _sampled(asked, means) if soon else None
        if refutation is not None or found is not None:
            return refutation or found or means.no_answer(answer)
        if means.is_over:
            break
        if soon and of_all_functions(differs, asked, means, what):
            return Verdict("proved", "no input on which they differ, whatever the functions are that both sides share")
        by_class = of_classes(differs, asked, means, what) if soon else None
        if by_class is not None and by_class.status == "unsat":
            return Verdict("proved", "no input on which they differ, whatever the products of significands are")
        found = None if by_class is None else _replayed(asked, by_class)
        if found is not None and found.status == "refuted":
            return found
    return _run(asked, differs, means, answer)


def _run(asked: Question, differs: Bool, means: Means, answer: Answer) -> Verdict:
    """The verdict by running every input, as the solver gave no answer."""
    from ptxspec.query.solvers.exhaustion import exhaust

    ran = exhaust(_closed(asked, differs, means), asked.given, asked.taken, means.seconds, means.progress)
    if ran.status == "equal":
        return Verdict("exhausted", f"{ran.reason}, and both sides agree on each")
    if ran.status == "vacuous":
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    if ran.status == "found":
        return _replayed(asked, Answer("sat", ran.values, {}))
    tried = means.no_answer(answer).reason
    return Verdict(
        "unknown", f"{tried}; inputs cannot all be run: {ran.reason}" if not ran.run else f"{tried}; {ran.reason}"
    )


def _closed(asked: Question, differs: Bool, means: Means) -> Bool:
    """A claim without the open results that no input meets that meets the assumption, if there are few enough to be run."""
    if not freedoms_in(differs) or Numbered(asked.given, asked.taken).total > 1 << BITS:
        return differs
    open_still = reached((differs,), lambda freedom: True)
    if means.at_least.solve(asked.given & open_still, asked, "inputs for which a result is open").status != "unsat":
        return differs
    return truth(resolve(differs, lambda freedom: constant(0)))


def _sampled(asked: Question, means: Means) -> Verdict | None:
    """A refutation by inputs that are drawn, if one is found."""
    for values in samples(asked, means.deadline):
        found = _replayed(asked, Answer("sat", values, {}))
        if found.status == "refuted":
            return found
    return None


def _unless_vacuous(verdict: Verdict, asked: Question, means: Means) -> Verdict:
    """The verdict, if some input meets the assumption."""
    answer = means.solve(asked.given, asked, "inputs that meet the assumption")
    if answer.status == "sat":
        return verdict
    if answer.status == "unsat":
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    open_still = means.no_answer(answer)
    why = f"whether any input meets the assumption is open: {open_still.reason}"
    return open_still._replace(reason=f"{verdict.reason}, but {why}")


def _replayed(asked: Question, answer: Answer) -> Verdict:
    """The solver's answer, replayed on the exact interpretation; with approximate results that the bounds allow, where the
    solver's are beyond them."""
    try:
        return _looked_at(asked, answer)
    except NoChoice as missing:
        return Verdict("unknown", f"the solver's machine does not say what it chooses: {missing}")


def _looked_at(asked: Question, answer: Answer) -> Verdict:
    machine = Machine(answer.choices)
    here, there = faulted(asked.sides, answer.values, machine.pick)
    differing = () if here or there else _differing(asked, answer, machine)
    if here != there and evaluate_term(asked.given, answer.values, machine.pick, {}):
        which = ("left", "right") if here else ("right", "left")
        return _refuted(asked, answer, machine, (), "the {} side is undefined where the {} one is not".format(*which))
    if not differing or not evaluate_term(asked.given, answer.values, machine.pick, {}):
        return Verdict("unknown", "the solver's counterexample does not stand up to the exact interpretation")
    if not machine.beyond:
        return _refuted(asked, answer, machine, differing)
    for choices in allowed_choices(machine.beyond):
        other = Machine({**answer.choices, **choices})
        differing = _differing(asked, answer, other)
        if differing and not other.beyond:
            return _refuted(asked, answer, other, differing)
    what = " and ".join(sorted({freedom.attrs[0] for freedom in machine.beyond.values()}))
    return Verdict(
        "approximated", f"no proof that holds whatever number {what} may be, and no input where its bound tells"
    )


def _differing(asked: Question, answer: Answer, machine: Machine) -> tuple[str, ...]:
    memo: dict[int, Any] = {}
    return tuple(n for n in asked.compared if evaluate_term(asked.unequal(n), answer.values, machine.pick, memo))


def _refuted(
    asked: Question, answer: Answer, machine: Machine, differing: tuple[str, ...], reason: str | None = None
) -> Verdict:
    other = borne_out(asked.sides, asked.how, answer.values, asked.given, machine.pick, asked.profiles)
    if other is not None:
        return Verdict("unknown", other)
    shown = counterexample(asked, answer.values, machine, differing)
    return Verdict("refuted", reason or f"they differ in {', '.join(grouped(differing))}", shown)
