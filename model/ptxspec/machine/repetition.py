"""Launches of one plan that follow one another with the same memory and the same arrays: only numbers and pointers among their
arguments differ. What the last one has left is as the next one needs it, but for the bytes of parameters and the addresses of
arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ptxspec.machine.arrays import address_of
from ptxspec.machine.blocks import BlockKind, Blocks, BlockTable, GlobalBlock
from ptxspec.machine.driver.codes import DONE
from ptxspec.machine.host import Host
from ptxspec.machine.host_arrays import host_bytes
from ptxspec.machine.marshalling import Parameters, PassedArray
from ptxspec.machine.owned import NO_MEMORY, Memory, ReachedMemory, is_unchanged, memories_of
from ptxspec.machine.pointers import Pointer
from ptxspec.machine.workers import together

if TYPE_CHECKING:
    from ptxspec.machine.launch import Launches
    from ptxspec.machine.launch_plan import Outcome
    from ptxspec.machine.native.engine import NativeRun

#: what is no argument
_NO_ARGUMENT = object()


class RepeatedArray:
    """An array of the host's that a launch worked on in place. The next launch with it works on the same bytes, and finds them at
    another address, as the arrays of all launches do. There is no reference to the array here, not even a weak one, which would
    keep NumPy from resizing it."""

    def __init__(self, passed: PassedArray, row: int, numbers: Sequence[int], where: Sequence[slice]):
        """`row` is that of its block among all; `numbers` are those of the arguments that are this array, and `where` the bytes
        of their parameters."""
        array, block = passed.array, passed.block
        self.what, self.row, self.number, self._where = passed.what, row, numbers[0], where
        self._identity, self._address, self.size = id(array), address_of(array), block.size
        self._is_writable, self._type = block.writable, array.dtype
        self.base = block.base

    def is_same(self, value: np.ndarray) -> bool:
        """Whether an argument is that array, or another in its place, with the same bytes of the host's memory."""
        if id(value) != self._identity or value.nbytes != self.size or value.dtype is not self._type:
            return False
        flags = value.flags
        if flags.writeable != self._is_writable or not flags.c_contiguous:
            return False
        return address_of(value) == self._address

    def take(self, base: int, parameters: memoryview, rows: np.ndarray) -> None:
        """Let the next launch find it at an address."""
        for where in self._where:
            parameters[where] = base.to_bytes(where.stop - where.start, "little")
        rows[self.row, 0] = self.base = base

    @property
    def span(self) -> tuple[int, int, str]:
        """Where the launch that runs finds it, as its block says that."""
        return self.base, self.base + max(self.size, 1), self.what

    def passed(self, args: Sequence[Any]) -> PassedArray:
        """What the launch that runs with these arguments has of it."""
        array = args[self.number]
        block = GlobalBlock(self.base, self.what, host_bytes(array), self._is_writable, BlockKind.ARRAY)
        return PassedArray(self.what, array, block, False)


def repeated_arrays(
    parameters: Parameters, args: Sequence[Any], arrays: Sequence[PassedArray], blocks: Blocks
) -> dict[int, RepeatedArray] | None:
    """For each argument that is an array what the next launch needs to have it again; None if one was copied, is no array of
    NumPy's itself, or has truth values, which are looked at after each launch."""
    rows = {block.base: number for number, block in enumerate(blocks.blocks, 1) if block.kind is BlockKind.ARRAY}
    numbers: dict[int, list[int]] = {}
    for number, value in enumerate(args):
        if isinstance(value, np.ndarray) and value.ndim:
            numbers.setdefault(id(value), []).append(number)
    repeated: dict[int, RepeatedArray] = {}
    for passed in arrays:
        held = numbers.get(id(passed.array))
        if held is None or passed.is_copy or passed.array.__class__ is not np.ndarray or passed.array.dtype.kind == "b":
            return None
        where = [parameters.places[number].where for number in held]
        repeated |= dict.fromkeys(held, RepeatedArray(passed, rows[passed.block.base], held, where))
    return repeated


class RepeatedLaunch:
    """What a launch under the native engine has left for the next one: no images, no heap, nothing observed, and at most one
    memory of the caller's or arrays of the host. It keeps none of these alive."""

    def __init__(
        self,
        launches: Launches,
        parameters: Parameters,
        args: Sequence[Any],
        shares: Sequence[tuple[Host, NativeRun]],
        reached: ReachedMemory,
        arrays: dict[int, RepeatedArray],
        blocks: Blocks,
        outcome: Callable[[int], Outcome],
        forget: Callable[[], None],
        most_steps: int | None,
    ):
        """`shares` are each worker's side, and `arrays` the arguments that are arrays, by their numbers. `outcome` makes the
        result of a launch of its steps; `forget` is called if a launch fails, or takes more steps than `most_steps`, if that is
        given."""
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
        self._passed: list[Any] = [value if value.__class__ is bytes else _NO_ARGUMENT for value in args]
        self._places = [(p.simply, p.where) for p in parameters.places]
        self._array_of, self._arrays = arrays, list(dict.fromkeys(arrays.values()))
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
            return self._run(args, NO_MEMORY)
        lock = memory.lock
        lock.acquire()  # as in locking.py
        if lock.is_taken:
            lock.release()
            raise lock.refused()
        lock.is_taken = True
        try:
            return self._run(args, memory) if is_unchanged(memory, self._table()) else None
        finally:
            lock.is_taken = False
            lock.release()

    def _pass(self, args: Sequence[Any], memory: Memory | None, is_reached: bool) -> bool:
        """Let the parameters hold the arguments, if these are numbers, pointers into the memory that the last launch reached, or
        its arrays; whether they are, and the memory is reached as it was: by a pointer, if it is not reached in any case."""
        passed = self._passed
        if not isinstance(args, (list, tuple)) or len(args) != len(passed):
            return False
        array_of = self._array_of
        for number, value in enumerate(args):
            if number in array_of:
                if value.__class__ is not np.ndarray or not array_of[number].is_same(value):
                    return False
                continue
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

    def _run(self, args: Sequence[Any], reached: Memory | ReachedMemory) -> Outcome | None:
        """Run the grid, which may reach this memory, and the arrays among these arguments."""
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
        for repeated in self._arrays:
            repeated.take(launches.space.place(repeated.what, repeated.size), self._bytes, self._rows)
        try:
            if len(self._shares) == 1:
                steps = self._work(0, args, reached, mark)
            else:
                works = [partial(self._work, worker, args, reached, mark) for worker in range(len(self._shares))]
                steps = together(works, self._limits.stop)
        except BaseException:
            self._blocks(args, reached, mark).undo()
            self._forget()
            raise
        finally:
            if self._arrays:
                launches.space.forget([repeated.span for repeated in self._arrays])
        if steps != self._outcome.steps:
            self._outcome = self._make_outcome(steps)
            if self._most_steps is not None and steps > self._most_steps:
                self._forget()
        return self._outcome

    def _work(self, worker: int, args: Sequence[Any], reached: Memory | ReachedMemory, mark: int) -> int:
        """Run a worker's CTAs; how many steps that took."""
        _, running = self._shares[worker]
        code = running.run()
        if code != DONE:
            self._go_on(worker, code, self._blocks(args, reached, mark))
        steps: int = running.numbers[running.steps_at]
        return steps

    def _go_on(self, worker: int, code: int, blocks: Blocks) -> None:
        """Do what a worker's driver came back for, until its CTAs have ended."""
        host, running = self._shares[worker]
        host.memory.blocks = blocks
        try:
            while not host.answers(running, worker, code):
                code = running.run()
        finally:
            host.memory.end()

    def _blocks(self, args: Sequence[Any], reached: Memory | ReachedMemory, mark: int) -> Blocks:
        memory = ReachedMemory.of([reached]) if isinstance(reached, Memory) else reached
        return self._launches.blocks(memory, [repeated.passed(args) for repeated in self._arrays], False, mark)


def _nothing() -> None:
    """There never was any."""
