"""What a litmus test may do by the memory model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple, get_args

from ptxspec import contracts
from ptxspec.base.options import LitmusMethod, LitmusStatus, LivenessStatus
from ptxspec.query.litmus.executions import Candidate, OutOfTime
from ptxspec.query.litmus.formula import Formula
from ptxspec.query.litmus.liveness import SpinSearch
from ptxspec.query.litmus.path_questions import LitmusWitness, PathQuestion, model_of, witness_as_dict
from ptxspec.query.litmus.products import linked_column
from ptxspec.query.litmus.programs import Combination, bits, value_of
from ptxspec.query.litmus.reading import LitmusTest, condition_term, holds, read, values_in
from ptxspec.query.litmus.reasons import Reason, Reasons
from ptxspec.query.litmus.threads import ThreadPath, ThreadWalk, Variable, contents_of_map
from ptxspec.query.litmus.writing import module_of
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.solvers.answers import SolverAnswer
from ptxspec.terms.core import Bool, Int, constant
from ptxspec.terms.relations import MemoryModel, Relation
from ptxspec.terms.vocabulary import TRUE

#: how often a loop is taken at most
LOOPS = 2
#: candidates that break an axiom, looked at for a reason, at most
MOST_BROKEN = 2_000
#: how far apart variables lie, and where the first one does
_APART, _FIRST, _SHARED = 1 << 20, 1 << 32, 1 << 10


class BrokenAxiom(NamedTuple):
    """An axiom that executions with the outcome break, how many were looked at that do, and for one of them the steps of the
    cycle in words.

    >>> text = "PTX t { x = 0; } P0@cta 0,gpu 0 ; ld.weak r0, x ; st.weak x, 1 ; exists (P0:r0 == 1)"
    >>> ptxspec.litmus(text).reasons[0].axiom
    'Coherence'
    """

    axiom: str
    executions: int
    steps: tuple[str, ...]


class LivenessVerdict(NamedTuple):
    """Whether a thread may spin forever, if the scheduler is fair: `status` is "live" (none may), "spins", or "unknown".
    `threads` are those that spin in the execution of the `witness`, by their names; its operations end with a turn of each that
    is repeated. What a thread does in more turns of a loop than `loops` is not looked at.

    >>> test = '''PTX wait { flag = 0; }
    ... P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
    ... st.relaxed.gpu flag, 1 | L: ld.weak r0, flag ;
    ... | bne r0, 1, L ;
    ... exists (P1:r0 == 1)'''
    >>> ptxspec.litmus(test).liveness.threads
    ('P1',)
    >>> ptxspec.litmus(test.replace("ld.weak", "ld.relaxed.gpu")).liveness.status
    'live'
    """

    status: LivenessStatus
    loops: int
    threads: tuple[str, ...]
    witness: LitmusWitness | None


class LitmusVerdict(NamedTuple):
    """Whether a program may have an outcome. `status` is "allowed" or "forbidden": for `exists` and `~exists`, of the outcome
    that the condition describes, for `forall` of every other one. `holds` says whether the test's condition as it is stated is
    true. An allowed outcome has a `witness`; for a forbidden one, `reasons` are the axioms that all executions with it break.
    `notes` say what was not looked at. A program with a data race of mixed size, of which the model says nothing, is
    "undefined"; one on which a solver gives no answer is "unknown". In both cases `holds` is None. A program with loops has a
    verdict on its `liveness`, too.

    >>> test = \"\"\"PTX SB { x = 0; y = 0; }
    ... P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
    ... st.weak x, 1 | st.weak y, 1 ;
    ... fence.sc.gpu | fence.sc.gpu ;
    ... ld.weak r0, y | ld.weak r0, x ;
    ... exists (P0:r0 == 0 /\\\\ P1:r0 == 0)\"\"\"
    >>> ptxspec.litmus(test).status
    'forbidden'
    >>> ptxspec.litmus(test.replace("fence.sc", "fence.acq_rel")).status
    'allowed'
    """

    name: str
    model: str
    quantifier: str
    status: LitmusStatus
    holds: bool | None
    witness: LitmusWitness | None
    reasons: tuple[BrokenAxiom, ...]
    notes: tuple[str, ...]
    seconds: float
    liveness: LivenessVerdict | None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> text = "PTX t { x = 0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)"
        >>> ptxspec.litmus(text).as_dict()["status"]
        'allowed'
        """
        live = self.liveness
        return {
            **self._asdict(),
            "witness": witness_as_dict(self.witness),
            "liveness": None if live is None else {**live._asdict(), "witness": witness_as_dict(live.witness)},
            "reasons": [reason._asdict() for reason in self.reasons],
            "seconds": round(self.seconds, 3),
        }


def litmus(
    text: str,
    model: str = "9.1",
    *,
    path: str = "<litmus>",
    loops: int = LOOPS,
    by: LitmusMethod = "enumeration",
    timeout: float = 60.0,
) -> LitmusVerdict:
    """Whether a litmus test's outcome is allowed by the memory model of an edition of NVIDIA's manual (its chapter 8). `text` is
    written as for herd: a line `PTX name`, what memory and registers hold at first in braces, a column for each thread, and
    `exists`, `~exists` or `forall` with a condition; or with PTX in the cells. A loop is taken `loops` times at most. `by` says
    how it is decided: by an enumeration of executions, or by a solver that is asked about all of them at once; then a forbidden
    outcome has no reasons. After `timeout` seconds the status is "unknown".

    Raises LitmusError for a text that is no such test, Unsupported for what is not followed, and ValueError for an edition that
    has no memory model.

    >>> text = \"\"\"PTX CoRR { x = 0; }
    ... P0@cta 0,gpu 0       | P1@cta 1,gpu 0        ;
    ... st.relaxed.gpu x, 1  | ld.relaxed.gpu r0, x  ;
    ...                      | ld.relaxed.gpu r1, x  ;
    ... exists (P1:r0 == 1 /\\\\ P1:r1 == 0)\"\"\"
    >>> verdict = ptxspec.litmus(text)
    >>> verdict.status, verdict.reasons[0].axiom
    ('forbidden', 'SC-per-Location')
    """
    if not isinstance(loops, int) or not 0 <= loops <= 100:
        raise ValueError(f"loops are taken 0 to 100 times, not {loops!r}")
    if by not in get_args(LitmusMethod):
        raise ValueError(f"by={by!r}: {' or '.join(get_args(LitmusMethod))}")
    question = LitmusQuestion(read(text, path), model_of(model), model.removeprefix("ptx-"), loops)
    return question.decided(by, timeout)


def impossible(
    text: str, outcomes: Iterable[tuple[int, ...]], model: str = "9.1", path: str = "<litmus>", loops: int = LOOPS
) -> set[tuple[int, ...]]:
    """Those of the outcomes that no execution of a test has. An outcome says what the registers and variables of the test's
    condition hold in the end, in the order in which the condition names them first; whether the condition holds is not asked.
    None is impossible if the test has a data race of mixed size. Raises as `litmus` does."""
    question = LitmusQuestion(read(text, path), model_of(model), model.removeprefix("ptx-"), loops)
    return question.impossible(set(outcomes))


class LitmusLayout:
    """Where the variables of a test lie. If its threads are in several CTAs, each CTA has another one for each in shared memory.
    `variables` are all."""

    def __init__(self, test: LitmusTest):
        self.test, names = test, list(test.variables)
        self.shared = [name for name in names if test.types[name][0] == "shared"]
        self._global = {name: _FIRST + i * _APART for i, name in enumerate(names) if name not in self.shared}
        self._several = len({place.cta for place in test.places}) > 1
        self.variables: dict[str, Variable] = {name: self._of_grid(test.variables[name]) for name in self._global}
        for name in self.shared:
            variable = test.variables[name]
            for cta in sorted({place.cta for place in test.places}):
                whose = self._of(cta, name)
                of = self._of(cta, variable.location) if variable.location else ""
                at = self._of(cta, variable.address) if variable.address else ""
                self.variables[whose] = variable._replace(name=whose, location=of, address=at)

    def _of_grid(self, variable: Variable) -> Variable:
        """A variable in global memory, with what it holds at first."""
        of = variable.map_of
        return variable._replace(initial=contents_of_map(self._global[of])) if of else variable

    def _of(self, cta: int, name: str) -> str:
        return f"{name} of CTA {cta}" if self._several else name

    def seen_by(self, thread: int) -> tuple[dict[str, int], dict[int, str], dict[str, int]]:
        """The addresses that names stand for in a thread, all variables that it may reach by their addresses, and the special
        registers that say where it runs."""
        places, ranks, windows = self.test.places, self.test.ranks, contracts.generic_addressing
        named, reached = dict(self._global), {address: name for name, address in self._global.items()}
        here = places[thread].cluster
        for k, name in enumerate(self.shared):
            for place, rank in zip(places, ranks, strict=True):
                address = int(windows.part_begins(rank)) + _SHARED * (k + 1)
                if place.cluster == here:
                    reached[address] = self._of(place.cta, name)
                if place.cta == places[thread].cta:
                    named[name] = address
        count = len({place.cta for place in places if place.cluster == here})
        return named, reached, {"%cluster_ctarank": ranks[thread], "%cluster_nctarank": count}


class LitmusQuestion(PathQuestion):
    """A test and a model, and the paths of its threads."""

    def __init__(self, test: LitmusTest, model: MemoryModel, name: str, loops: int):
        super().__init__(model, name)
        self.test, self.loops = test, loops
        layout = LitmusLayout(test)
        self.variables = layout.variables
        self.asked = values_in(test.condition)
        self.of_memory = any(value[0] == "memory" for value in self.asked)  # type: ignore[index]
        for name in test.undeclared:
            self.notes[f"{name} is not declared: it holds 0 at first"] = None
        module = module_of(test)
        self.paths: list[list[ThreadPath]] = []
        for thread, place in enumerate(test.places):
            addresses, reached, specials = layout.seen_by(thread)
            kernel = linked_column(module, f"P{thread}", test.variables, addresses)
            registers = {n: constant(v) for (t, n), v in test.registers.items() if t == thread}
            walk = ThreadWalk(module, kernel, (thread, place), self.variables, addresses, loops, reached, specials)
            self.paths.append(walk.paths(registers))
        if not all(path.ended for paths in self.paths for path in paths):
            self.notes[f"loops are taken at most {loops} times"] = None

    def decided(self, by: LitmusMethod, timeout: float) -> LitmusVerdict:
        """The verdict, within so many seconds."""
        began = time.monotonic()
        self.enumeration.deadline = began + timeout
        status: LitmusStatus = "unknown"
        witness: LitmusWitness | None = None
        reasons: tuple[BrokenAxiom, ...] = ()
        try:
            if self.has_mixed_race():
                status = "undefined"
            elif by == "solver":
                status, witness = self._solved()
            else:
                witness = self._witness()
                status = "forbidden" if witness is None else "allowed"
        except OutOfTime:
            self.notes[f"not all executions were looked at in {timeout:g} seconds"] = None
        if status == "forbidden" and by == "enumeration":
            reasons = self._reasons()
        liveness = None if status == "undefined" else self._liveness()
        is_true = (status == "allowed") == (self.test.quantifier == "exists")
        return self._verdict(
            status,
            None if status in ("undefined", "unknown") else is_true,
            witness,
            reasons,
            time.monotonic() - began,
            liveness,
        )

    def _liveness(self) -> LivenessVerdict | None:
        """Whether a thread may spin forever, as far as that is found in time."""
        search = SpinSearch(self.enumeration, self.variables, self.paths)
        if not search.has_loops:
            return None
        try:
            for candidate, spinning in search.executions():
                witness = self.shown(candidate, {})
                return LivenessVerdict("spins", self.loops, tuple(f"P{thread}" for thread in spinning), witness)
        except OutOfTime:
            return LivenessVerdict("unknown", self.loops, (), None)
        return LivenessVerdict("live", self.loops, (), None)

    def impossible(self, left: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
        """Those of the outcomes that no execution has. `left` is changed."""
        if self.has_mixed_race():
            return set()
        for combination in self.combinations():
            paths = combination.paths

            def may_be_left(values: dict[str, int], paths: Any = paths) -> bool:
                return self.of_memory or tuple(self._register(v, paths, values) for v in self.asked) in left

            for candidate in self.enumeration.candidates(combination, may_be_left):
                for final in self._final(candidate):
                    left.discard(tuple(final[value] for value in self.asked))
                if not left:
                    return left
        return left

    def _verdict(
        self,
        status: LitmusStatus,
        is_true: bool | None,
        witness: LitmusWitness | None,
        reasons: tuple[BrokenAxiom, ...],
        seconds: float,
        liveness: LivenessVerdict | None,
    ) -> LitmusVerdict:
        return LitmusVerdict(
            self.test.name,
            self.model_name,
            self.test.quantifier,
            status,
            is_true,
            witness,
            reasons,
            tuple(self.notes),
            seconds,
            liveness,
        )

    def _solved(self) -> tuple[LitmusStatus, LitmusWitness | None]:
        """What a solver says."""
        status: LitmusStatus = "forbidden"
        for combination in self.combinations():
            for phases, order in product(combination.phases, combination.object_orders):
                formula = Formula(self.model, combination, phases, order, self.enumeration.check_time)
                answer = formula.solve(self._outcome, self.enumeration.deadline - time.monotonic())
                if answer.status == "sat":
                    return "allowed", self._replayed(formula, answer)
                if answer.status != "unsat":
                    status = "unknown"
                    self.notes[f"the solver gave no answer ({answer.status})"] = None
        return status, None

    def _outcome(self, formula: Formula) -> Bool:
        """When an execution has the outcome that is asked about."""
        given: Bool = TRUE
        values: dict[object, Int] = {}
        for value in self.asked:
            if value[0] == "register":  # type: ignore[index]
                values[value] = self._term(value, formula.combination.paths)
                continue
            variable, whole = self.test.variables[value[1]], constant(0)  # type: ignore[index]
            for number, piece in enumerate(formula.combination.pieces):
                if piece.bytes.object == (variable.location or variable.name):
                    part, may_be = formula.final(number)
                    whole, given = whole | part << 8 * piece.bytes.offset, given & may_be
            values[value] = whole
        condition = condition_term(self.test.condition, values.__getitem__)
        return given & (~condition if self.test.quantifier == "forall" else condition)

    def _replayed(self, formula: Formula, answer: SolverAnswer) -> LitmusWitness:
        """The execution that a solver has found, among those that are enumerated."""
        sources = formula.sources(answer.values)
        for candidate in self.enumeration.candidates(formula.combination, lambda values: True, only=sources):
            for final in self._final(candidate):
                if self._is_wanted(final.__getitem__):
                    return self._shown(candidate, final)
        raise AssertionError("no execution is what the solver has found")

    # outcomes ------------------------------------------------------------------------------------------------------------

    def _is_wanted(self, value: Any) -> bool:
        """Whether the outcome is the one that is asked about."""
        return holds(self.test.condition, value) != (self.test.quantifier == "forall")

    def _register(self, value: Any, paths: tuple[ThreadPath, ...] | Any, values: dict[str, int]) -> int:
        return value_of(self._term(value, paths), values)

    def _term(self, value: Any, paths: Any) -> Int:
        """What a register holds when its thread ends."""
        _, thread, name = value
        term: Int = paths[thread].registers.get(name, constant(0))
        return term

    def _may_be_wanted(self, combination: Combination) -> Any:
        if self.of_memory:
            return lambda values: True
        return lambda values: self._is_wanted(lambda v: self._register(v, combination.paths, values))

    def _final(self, candidate: Candidate) -> Iterator[dict[object, int]]:
        """What is asked about, in each state in which memory may be left."""
        combination = candidate.combination
        registers = {
            v: self._register(v, combination.paths, candidate.values)
            for v in self.asked
            if v[0] == "register"  # type: ignore[index]
        }
        if not self.of_memory:
            yield registers
            return
        for bytes in self.enumeration.final_bytes(candidate):
            memory: dict[object, int] = {}
            for value in self.asked:
                if value[0] == "memory":  # type: ignore[index]
                    variable = self.test.variables[value[1]]  # type: ignore[index]
                    place = variable.location or variable.name
                    memory[value] = sum(
                        bytes[k] << 8 * piece.bytes.offset
                        for k, piece in enumerate(combination.pieces)
                        if piece.bytes.object == place
                    )
            yield registers | memory

    def _witness(self) -> LitmusWitness | None:
        result = self.execution()
        return None if result is None else self._shown(*result)

    def execution(self) -> tuple[Candidate, dict[object, int]] | None:
        """An execution with the outcome that is asked about, and what is asked about in the end; None if there is none. Raises
        OutOfTime."""
        for combination in self.combinations():
            for candidate in self.enumeration.candidates(combination, self._may_be_wanted(combination)):
                for final in self._final(candidate):
                    if self._is_wanted(final.__getitem__):
                        return candidate, final
            if not combination.phases:
                self.notes["threads may wait at a barrier that never completes"] = None
        return None

    def related(self, relation: Relation) -> tuple[LitmusWitness, tuple[tuple[str, str], ...]] | None:
        """An execution with the outcome that is asked about, and a relation's pairs in it, by the names of the operations."""
        result = self.execution()
        if result is None:
            return None
        execution = result[0].execution
        names = Reasons(execution).names
        pairs = [(names[i], names[k]) for i, row in enumerate(execution.rows(relation)) for k in bits(row)]
        return self._shown(*result), tuple(pairs)

    def _shown(self, candidate: Candidate, final: dict[object, int]) -> LitmusWitness:
        return self.shown(candidate, {_spelled(v): n for v, n in final.items()})

    # reasons -------------------------------------------------------------------------------------------------------------

    def _reasons(self) -> tuple[BrokenAxiom, ...]:
        """Why no execution has the outcome, as far as that is found in time."""
        counts: dict[str, int] = {}
        examples: dict[str, Candidate] = {}
        with suppress(OutOfTime):
            self._count_broken(counts, examples)
        if not counts:
            self.notes["no choice of what is read, and of which write is last, leaves that"] = None
        return tuple(
            BrokenAxiom(name, count, tuple(self._words(examples[name], name)))
            for name, count in sorted(counts.items(), key=lambda item: -item[1])
        )

    def _count_broken(self, counts: dict[str, int], examples: dict[str, Candidate]) -> None:
        """Count executions with the outcome by the axiom that they break, with an example of each."""
        looked = 0
        for combination in self.combinations():
            wanted = self._may_be_wanted(combination)
            for candidate in self.enumeration.candidates(combination, wanted, broken=True, deep=self.of_memory):
                if candidate.broken is None:
                    continue
                looked += 1
                if looked > MOST_BROKEN:
                    self.notes[f"reasons are those of {MOST_BROKEN:,} executions"] = None
                    return
                if self._has_outcome(candidate):
                    counts[candidate.broken] = counts.get(candidate.broken, 0) + 1
                    examples.setdefault(candidate.broken, candidate)

    def _has_outcome(self, candidate: Candidate) -> bool:
        if not candidate.values and any(c.reads for c in candidate.combination.noted if c is not None):
            return True  # a value that is its own reason may be any
        if self.of_memory and "written before" not in candidate.execution.known:
            return True
        return any(self._is_wanted(final.__getitem__) for final in self._final(candidate))

    def _words(self, candidate: Candidate, axiom: str) -> Iterator[str]:
        reasons = Reasons(candidate.execution)
        for reason in reasons.broken(contracts.axioms.ALL[axiom].claim(self.model)):
            yield from _lines(reason, 0)


def _lines(reason: Reason, depth: int) -> Iterator[str]:
    yield "  " * depth + reason.words
    for part in reason.parts:
        yield from _lines(part, depth + 1)


def _spelled(value: object) -> str:
    match value:
        case ("register", thread, name):
            return f"P{thread}:{name}"
        case ("memory", name):
            return str(name)
    raise Unsupported(f"{value} is no value of a test")
