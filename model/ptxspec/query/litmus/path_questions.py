"""Questions about the executions of some threads, each of which is known on all of its paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.litmus.drawing import COHERENCE, READS_FROM, drawn
from ptxspec.query.litmus.executions import Candidate, Enumeration
from ptxspec.query.litmus.programs import Combination, bits, value_of
from ptxspec.query.litmus.reasons import names_of
from ptxspec.query.litmus.threads import ThreadPath, Variable
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.relations import NEWEST_MODEL, OLDEST_MODEL, MemoryModel
from ptxspec.terms.vocabulary import FALSE


class LitmusOperation(NamedTuple):
    """An operation of an execution that is shown: its name, its instruction, and what it reads and writes, if it does.

    >>> text = "PTX t { x = 0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)"
    >>> ptxspec.litmus(text).witness.operations[0]
    LitmusOperation(name='P0.1', text='st.weak.global.b32 [x], 1', reads=None, writes=1)
    """

    name: str
    text: str
    reads: int | None
    writes: int | None


class LitmusWitness(NamedTuple):
    """An execution. `operations` are what the threads execute, `reads_from` is the write of each read, and `coherence` the pairs
    of writes in coherence order, all by their names; `final` has what is asked about, by its name in the condition.

    >>> text = "PTX t { x = 0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)"
    >>> ptxspec.litmus(text).witness.final
    {'x': 1}
    """

    operations: tuple[LitmusOperation, ...]
    reads_from: dict[str, str]
    coherence: tuple[tuple[str, str], ...]
    final: dict[str, int]

    def svg(self) -> str:
        """A picture of the execution, as SVG: a column for each thread, with arrows from writes to the reads that read from them,
        and to later writes.

        >>> text = "PTX t { x = 0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)"
        >>> ptxspec.litmus(text).witness.svg().startswith("<svg")
        True
        """
        sources = [(writer, reader) for reader, writer in self.reads_from.items()]
        return drawn(self.operations, {READS_FROM: sources, COHERENCE: self.coherence})


def model_of(name: str) -> MemoryModel:
    """The memory model of an edition, such as "9.1" or "ptx-7.5". Raises ValueError."""
    match = re.fullmatch(r"(?:ptx-)?v?(\d+)\.(\d+)", name)
    version = (int(match[1]), int(match[2])) if match else None
    if version is None or not OLDEST_MODEL <= version <= NEWEST_MODEL:
        oldest, newest = (".".join(map(str, v)) for v in (OLDEST_MODEL, NEWEST_MODEL))
        raise ValueError(f"{name!r} is no edition with a memory model: {oldest} to {newest}")
    return MemoryModel(version)


def witness_as_dict(witness: LitmusWitness | None) -> dict[str, Any] | None:
    """The fields by name, for JSON."""
    if witness is None:
        return None
    return {**witness._asdict(), "operations": [operation._asdict() for operation in witness.operations]}


class PathQuestion:
    """Some threads and a model. `paths` are those of each thread, and `notes` what is said beside an answer."""

    variables: Mapping[str, Variable]
    paths: Sequence[Sequence[ThreadPath]]

    def __init__(self, model: MemoryModel, name: str):
        """`name` is what the model is called."""
        self.model, self.model_name = model, name
        self.enumeration = Enumeration(model)
        self.notes: dict[str, None] = {}

    def combinations(self) -> Iterator[Combination]:
        for paths in product(*self.paths):
            self.enumeration.check_time()
            if all(path.ended and not any(c is FALSE for c in path.conditions) for path in paths):
                combination = Combination(self.variables, paths)
                self._check_edition(combination)
                yield combination

    def _check_edition(self, combination: Combination) -> None:
        for operation in combination.operations:
            major, minor = contracts.scopes.first_edition(operation)
            if not self.model.since(major, minor):
                why = f"the memory model of PTX {self.model_name} does not speak of it: that of {major}.{minor} does"
                raise Unsupported(f"{operation.text}: {why}")

    def has_mixed_race(self) -> bool:
        """Whether an execution has a data race of mixed size, or breaks a rule of objects, of boxes or of products, so
        that the model says nothing of the program."""
        page, completely = contracts.races, contracts.races.are_of_one_size
        races = page.mixed_size_races(self.model)
        for combination in self.combinations():
            by_thread = next((path.broken for path in combination.paths if path.broken), "")
            for order in (order for order in combination.object_orders if by_thread or order.broken):
                for _ in self.enumeration.candidates(combination, lambda values: True, orders=[order]):
                    self.notes[f"the model says nothing of this program: {by_thread or order.broken}"] = None
                    return True
            of_threads = [o for o in combination.operations if o.thread is not None]
            if not any(page.conflict(a, b) and not completely(a, b) for a in of_threads for b in of_threads):
                continue
            for candidate in self.enumeration.candidates(combination, lambda values: True):
                for first, row in enumerate(candidate.execution.rows(races)):
                    if row:
                        names = names_of(candidate.execution)
                        words = races.words.format(names[first], names[next(bits(row))])
                        self.notes[f"the model says nothing of this program: {words}"] = None
                        return True
        return False

    def shown(self, candidate: Candidate, final: dict[str, int]) -> LitmusWitness:
        execution, combination = candidate.execution, candidate.combination
        names = names_of(execution)
        shown, sources = [], {}
        for i, (operation, noted) in enumerate(zip(execution.operations, combination.noted, strict=True)):
            written = None if noted is None or noted.writes is None else value_of(noted.writes, candidate.values)
            was_read = None if noted is None or not noted.reads else candidate.values[noted.reads]
            if operation.thread is not None:
                shown.append(LitmusOperation(names[i], operation.text, was_read, written))
            for rows in execution.read:
                for k in range(len(names)):
                    if rows[i] >> k & 1:
                        sources[names[k]] = names[i]
        order = execution.rows(self.enumeration.coherence)
        pairs = [(names[i], names[k]) for i in range(len(names)) for k in range(len(names)) if order[i] >> k & 1]
        return LitmusWitness(tuple(shown), sources, tuple(pairs), final)
