"""Launches of one plan that follow one another with the same memory: only numbers and pointers among their arguments differ. What
the last one has left is as the next one needs it, but for the bytes of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from ptxspec.machine.blocks import Blocks, BlockTable
from ptxspec.machine.driver.codes import DONE
from ptxspec.machine.host import Host
from ptxspec.machine.marshalling import Parameters
from ptxspec.machine.owned import NO_MEMORY, Memory, ReachedMemory, is_unchanged, memories_of
from ptxspec.machine.pointers import Pointer
from ptxspec.machine.workers import together

if TYPE_CHECKING:
    from ptxspec.machine.launch import Launches
    from ptxspec.machine.launch_plan import Outcome
    from ptxspec.machine.native.engine import NativeRun

#: what is no argument
_NO_ARGUMENT = object()


class RepeatedLaunch:
    """What a launch under the native engine has left for the next one: no images, no array of the host, no heap, at most one
    memory of the caller's, nothing observed. It keeps nothing alive that is the caller's."""

    def __init__(
        self,
        launches: Launches,
        parameters: Parameters,
        shares: Sequence[tuple[Host, NativeRun]],
        reached: ReachedMemory,
        blocks: Blocks,
        outcome: Callable[[int], Outcome],
        forget: Callable[[], None],
        most_steps: int | None,
    ):
        """`shares` are each worker's side. `outcome` makes the result of a launch of its steps; `forget` is called if a launch
        fails, or takes more steps than `most_steps`, if that is given."""
        self._launches, self._fills = launches, launches.fills
        host, _ = shares[0]
        self._shares, self._forget, self._most_steps = shares, forget, most_steps
        self._next_cta = host.memory.next_cta
        self._limits, self._log = host.limits, launches.log
        self._memory: Callable[[], Memory | None] = ref(reached.memories[0]) if reached.memories else _nothing
        self._table: Callable[[], BlockTable | None] = ref(reached.tables[0]) if reached.tables else _nothing
        self._reaches = bool(reached.memories)
        self._rows = blocks.rows
        #: the arguments whose bytes the parameters have; of a pointer its address
        self._passed: list[Any] = [_NO_ARGUMENT] * len(parameters.places)
        self._places = [(p.simply, p.where) for p in parameters.places]
        self._bytes = host.memory.parameters
        self._make_outcome, self._outcome = outcome, outcome(0)

    def execute(self, args: Sequence[Any], memories: Memory | Sequence[Memory]) -> Outcome | None:
        """Run the grid. None if that takes more than another launch as the last one was: nothing is done yet then. Raises what
        `Module.launch` does."""
        memory = self._memory()
        if memories:
            for given in memories_of(memories):
                if given is not memory:
                    return None
        if not self._pass(args, memory, bool(memories)):
            return None
        if memory is None:
            return self._run(NO_MEMORY)
        lock = memory.lock
        lock.acquire()  # as in locking.py
        if lock.is_taken:
            lock.release()
            raise lock.refused()
        lock.is_taken = True
        try:
            return self._run(memory) if is_unchanged(memory, self._table()) else None
        finally:
            lock.is_taken = False
            lock.release()

    def _pass(self, args: Sequence[Any], memory: Memory | None, is_reached: bool) -> bool:
        """Let the parameters hold the arguments, if these are numbers, or pointers into the memory that the last launch reached;
        whether they are, and the memory is reached as it was: by a pointer, if it is not reached in any case."""
        passed = self._passed
        if not isinstance(args, (list, tuple)) or len(args) != len(passed):
            return False
        for number, value in enumerate(args):
            held = value
            if value.__class__ is Pointer:
                held = value.address
                if value.memory is not memory or held < 0:
                    return False
                is_reached = True
            if held is not passed[number]:
                simply, where = self._places[number]
                data = simply(value)
                if data is None:
                    return False
                self._bytes[where] = data
                passed[number] = held
        return is_reached == self._reaches

    def _run(self, reached: Memory | ReachedMemory) -> Outcome | None:
        """Run the grid, which may reach this memory."""
        launches, log = self._launches, self._log
        if log.known_rows[1] is not self._rows or launches.fills != self._fills:
            return None
        mark = log.again()
        for _, run in self._shares:
            if not run.again(mark):
                return None
        launches.number += 1
        self._limits.repeat()
        self._next_cta[0] = 0
        try:
            if len(self._shares) == 1:
                steps = self._work(0, reached, mark)
            else:
                works = [partial(self._work, worker, reached, mark) for worker in range(len(self._shares))]
                steps = together(works, self._limits.stop)
        except BaseException:
            self._blocks(reached, mark).undo()
            self._forget()
            raise
        if steps != self._outcome.steps:
            self._outcome = self._make_outcome(steps)
            if self._most_steps is not None and steps > self._most_steps:
                self._forget()
        return self._outcome

    def _work(self, worker: int, reached: Memory | ReachedMemory, mark: int) -> int:
        """Run a worker's CTAs; how many steps that took."""
        _, running = self._shares[worker]
        code = running.run()
        if code != DONE:
            self._go_on(worker, code, reached, mark)
        steps: int = running.numbers[running.steps_at]
        return steps

    def _go_on(self, worker: int, code: int, reached: Memory | ReachedMemory, mark: int) -> None:
        """Do what a worker's driver came back for, until its CTAs have ended."""
        host, running = self._shares[worker]
        host.memory.blocks = self._blocks(reached, mark)
        try:
            while not host.answers(running, worker, code):
                code = running.run()
        finally:
            host.memory.end()

    def _blocks(self, reached: Memory | ReachedMemory, mark: int) -> Blocks:
        memory = ReachedMemory.of([reached]) if isinstance(reached, Memory) else reached
        return self._launches.blocks(memory, (), False, mark)


def _nothing() -> None:
    """There never was any."""
