"""Whether a thread of a litmus test may spin forever: spec/memory-model/liveness.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from ptxspec import contracts
from ptxspec.query.litmus.executions import Candidate, Enumeration
from ptxspec.query.litmus.programs import Combination, bits
from ptxspec.query.litmus.threads import ThreadPath, Variable
from ptxspec.terms.vocabulary import FALSE


class SpinSearch:
    """The search for an execution in which each thread has ended or spins, and some thread spins."""

    def __init__(
        self, enumeration: Enumeration, variables: Mapping[str, Variable], paths: Sequence[Sequence[ThreadPath]]
    ):
        self.enumeration, self.variables = enumeration, variables
        self._sees = contracts.liveness.sees_at_last(enumeration.model)
        self._paths = [[*map(_as_followed, filter(_may_be_last, of_thread))] for of_thread in paths]

    @property
    def has_loops(self) -> bool:
        """Whether some thread may go through a loop once more than was asked for."""
        return any(not path.ended for of_thread in self._paths for path in of_thread)

    def executions(self) -> Iterator[tuple[Candidate, tuple[int, ...]]]:
        """Executions with a thread that spins, and the numbers of those that do."""
        for paths in product(*self._paths):
            self.enumeration.check_time()
            spinning = tuple(thread for thread, path in enumerate(paths) if not path.ended)
            if not spinning or any(condition is FALSE for path in paths for condition in path.conditions):
                continue
            combination = Combination(self.variables, paths)
            turns = _turns(combination, paths)
            for candidate in self.enumeration.candidates(combination, lambda values: True):
                if self._spins(candidate, turns):
                    yield candidate, spinning

    def _spins(self, candidate: Candidate, turns: Sequence[int]) -> bool:
        """Whether the last turns, whose operations have these numbers, may be repeated forever: they change nothing, and each
        read returns a write that stays the last, if it would see another one at last."""
        execution, combination, page = candidate.execution, candidate.combination, contracts.operations
        silent = 0
        for i in turns:
            if page.writes(execution.operations[i]):
                if not self._writes_the_same(candidate, i):
                    return False
                silent |= 1 << i
        order, sees = execution.rows(self.enumeration.coherence), execution.rows(self._sees)
        sources: dict[int, int] = {}
        for number, piece in enumerate(execution.pieces):
            written = piece.written_by & ~silent
            for i in (i for i in turns if piece.read_by >> i & 1):
                source = next(k for k in range(len(combination.operations)) if execution.read[number][k] >> i & 1)
                while silent >> source & 1:  # which has what it read
                    source = next(
                        k for k in range(len(combination.operations)) if execution.read[number][k] >> source & 1
                    )
                later = order[source] & written & ~(1 << source)
                if any(sees[k] >> i & 1 for k in bits(later)):
                    return False
                others = [k for k in bits(written) if k != source and sees[k] >> i & 1 and not order[k] >> source & 1]
                if others and sources.setdefault(number, source) != source:
                    return False
        return True

    def _writes_the_same(self, candidate: Candidate, number: int) -> bool:
        noted = candidate.combination.noted[number]
        if noted is None or not noted.reads or noted.writes is None:
            return False
        pieces = [p for p in candidate.execution.pieces if p.written_by >> number & 1]
        written = sum(
            candidate.combination.written(number, piece, candidate.values)
            << 8 * (piece.bytes.offset - pieces[0].bytes.offset)
            for piece in pieces
        )
        return contracts.liveness.writes_the_same(candidate.values[noted.reads], written)


def _may_be_last(path: ThreadPath) -> bool:
    """Whether a path ends, or its last turn may be repeated."""
    return path.ended or path.repeats is not FALSE


def _as_followed(path: ThreadPath) -> ThreadPath:
    """A path with the condition under which its last turn is repeated."""
    return path if path.ended else path._replace(conditions=(*path.conditions, path.repeats))


def _turns(combination: Combination, paths: Sequence[ThreadPath]) -> list[int]:
    """The numbers of the operations of the last turns of those that spin."""
    numbers: list[int] = []
    begin = sum(noted is None for noted in combination.noted)
    for path in paths:
        if not path.ended:
            numbers += range(begin + path.turn, begin + len(path.operations))
        begin += len(path.operations)
    return numbers
