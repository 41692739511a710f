"""The asynchronous operations that are in flight in a launch, as the memory and the exact engine see them.

The arrays are written by `machine/asynchrony.py`. There are none for a kernel that initiates no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.machine import asynchrony
from ptxspec.machine.arrays import address_of
from ptxspec.machine.driver import inventory
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.machine.errors import RacingAccess, Violation
from ptxspec.machine.events import UNIT, EventKind
from ptxspec.machine.memory import Place
from ptxspec.machine.operations import ARRAYS, AsynchronousUse
from ptxspec.machine.registers_in_flight import RegisterRow, spelled
from ptxspec.terms.effects import Advance, Initiate
from ptxspec.terms.registries import OBJECT_BITS

#: gives the location of a byte of an array, by the index
Locate: TypeAlias = Callable[[np.ndarray, int], int]


def address(array: np.ndarray, index: int) -> int:
    """The location of a byte of an array under the native engine: its address in this process."""
    return address_of(array) + index


def too_many(space: str) -> Violation:
    """What an instruction broke that initiates an operation for which there is no room; its target is in this state space."""
    note = f"{asynchrony.OPERATIONS:,} operations that touch {asynchrony.LINES:,} lines are the most"
    return Violation("operations in flight", note, nowhere=space == contracts.state_spaces.OF_REGISTERS)


class InFlight:
    """The operations in flight of a launch. `arrays` are those of `operations.ARRAYS`; `locate` gives the location of a byte;
    `registers` are those of a thread that may be in flight."""

    def __init__(self, arrays: Mapping[str, Any], locate: Locate, registers: RegisterRow):
        self.arrays, self.locate, self.registers = arrays, locate, registers
        self.page = contracts.asynchrony
        self._words = len(self.page.Operation.fields)

    def check(self, array: np.ndarray, index: int, size: int, write: bool, row: int | None = None) -> None:
        """Raise Violation if an access to so many bytes of an array touches what an operation writes, or writes what it reads.
        `row` is how far behind the beginning of a thread's row, if they are those of registers."""
        begin = self.locate(array, index)
        lines = range(begin >> asynchrony.LINE_LOG2, (begin + size - 1 >> asynchrony.LINE_LOG2) + 1)
        writers = self._listed(asynchrony.TARGET, lines)
        writing = {n for n in writers if not self._spares("spares_target", n, begin, size)}
        self._refuse("copy not waited for", "to", writing, begin, row)
        readers = self._listed(asynchrony.SOURCE, lines) if write else set()
        reading = {n for n in readers if not self._spares("spares_source", n, begin, size)}
        self._refuse("source of a copy", "from", reading, begin, row)

    def _refuse(self, rule: str, preposition: str, operations: set[int], begin: int, row: int | None) -> None:
        """Raise Violation if there are such operations, and tell of the one with the lowest target; of registers, whose row the
        access touches from there on, the first is named that both have."""
        if not operations:
            return
        number = min(operations, key=lambda n: self._begins(n)[0])
        thread, op = (int(self.arrays[f"operation_{what}"][number]) for what in ("thread", "op"))
        where = "there"
        if row is not None:
            target, source = self._begins(number)
            where = spelled(self.registers.named(row + max(0, (target if preposition == "to" else source) - begin)))
        note = f"a copy {preposition} {where} is in flight, and its thread has not waited for it"
        raise Violation(rule, note, RacingAccess(thread, op), nowhere=row is not None)

    def _begins(self, number: int) -> tuple[int, int]:
        """Where an operation's target and source begin."""
        _, target, _, source, _ = scripted(self.page.footprint)(*self._record(number))
        return int(target), int(source)

    def _spares(self, step: str, number: int, begin: int, size: int) -> bool:
        _, holds = scripted(getattr(self.page, step))(*self._record(number), begin, size)
        return bool(holds)

    def _record(self, number: int) -> tuple[int, ...]:
        """The words of an operation's record."""
        return tuple(map(int, self.arrays["operation"][number * self._words : (number + 1) * self._words]))

    def _listed(self, which: int, lines: range) -> set[int]:
        """The operations in the lists of these lines."""
        operations = set()
        for line in lines:
            node = int(self.arrays["line_list"][which + line % asynchrony.LISTS])
            while node:
                operations.add(int(self.arrays["node_operation"][node]))
                node = int(self.arrays["node_next"][node])
        return operations


class GrowingArray(list[int]):
    """An array of Python's numbers that is as long as it has been touched; behind that are zeros."""

    def _reach(self, end: int) -> None:
        if end > len(self):
            self.extend([0] * (end - len(self)))

    def __getitem__(self, index: Any) -> Any:
        self._reach(index.stop if isinstance(index, slice) else index + 1)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._reach(index.stop if isinstance(index, slice) else index + 1)
        super().__setitem__(index, value)


class ExactLocations:
    """The locations of the exact engine: each array that is accessed has a range of its own, in the order of first accesses."""

    #: more bits than the index of a byte has
    BITS = 48

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}

    def locate(self, array: np.ndarray, index: int) -> int:
        """The location of a byte of an array."""
        number = self._numbers.get(id(array))
        if number is None:
            self._arrays.append(array)  # which keeps its identity from being used again
            number = self._numbers[id(array)] = len(self._arrays)
        return (number << self.BITS) + index

    def read(self, place: int, count: int) -> bytes:
        """So many bytes from a location on."""
        array, at = self._at(place)
        return array[at : at + count].tobytes()

    def write(self, place: int, data: bytes) -> None:
        """Let the bytes from a location on be these."""
        array, at = self._at(place)
        array.data[at : at + len(data)] = data

    def address(self, place: int) -> int:
        """The address in this process of the byte at a location."""
        return address(*self._at(place))

    def _at(self, place: int) -> tuple[np.ndarray, int]:
        return self._arrays[(place >> self.BITS) - 1], place & (1 << self.BITS) - 1


class ExactOperations:
    """The asynchronous operations of a launch under the exact engine. `machine` is that of the driver."""

    def __init__(
        self,
        machine: Any,
        used: AsynchronousUse,
        copies: Copies,
        note: Callable[..., None],
        observed: bool,
        registers: RegisterRow,
    ):
        """`note` is called with each event of an operation, if these are `observed`; `registers` are those of a thread that may
        be in flight."""
        self.machine, self.used = machine, used
        arrays = {name: GrowingArray() for name in ARRAYS}
        places = ExactLocations()
        self.in_flight = InFlight(arrays, places.locate, registers)
        for name, value in (arrays | used.numbers(copies)).items():
            setattr(machine, name, value)
        for name, taken in used.steps().items():
            setattr(machine, name, inventory.scripted_step(*taken, machine))
        machine.copy_bytes = lambda target, source, count: places.write(target, places.read(source, count))
        machine.clear_bytes = lambda target, count: places.write(target, bytes(count))
        machine.read_object = lambda place: int.from_bytes(places.read(place, OBJECT_BITS // 8), "little")
        machine.observes_operations = int(observed)

        def tell_operation(kind: int, op: int, thread: int, number: int, target: int, size: int) -> None:
            location = places.address(target) if size else 0
            note(EventKind(kind), op, thread, location=location, size=size, operation=number)

        def tell_bytes(kind: int, op: int, thread: int, number: int, place: int, count: int) -> None:
            for at in range(place, place + count, UNIT):
                data = places.read(at, min(UNIT, place + count - at))
                word = int.from_bytes(data, "little")
                location = places.address(at)
                note(EventKind(kind), op, thread, location=location, size=len(data), value=word, operation=number)

        machine.tell_operation, machine.tell_bytes = tell_operation, tell_bytes
        machine.write_object = lambda place, word: places.write(place, word.to_bytes(OBJECT_BITS // 8, "little"))

    def initiate(
        self,
        effect: Initiate,
        thread: int,
        op: int,
        target: Place,
        size: int,
        source: Place,
        read: int,
        completes: Place | None,
    ) -> None:
        """A thread initiates an operation that it may initiate, and that `completes` on an object in memory, or on none. Raises
        Violation if there is no room."""
        unit = effect.together.bit_length() - 1
        locate = self.in_flight.locate
        footprint = locate(*target), size, locate(*source), read, unit
        place = 0 if completes is None else locate(*completes)
        if not asynchrony.operation_begins(self.machine, self.used.mechanism(effect), thread, op, *footprint, place):
            raise too_many(effect.space)

    def advance(self, effect: Advance, thread: int, operands: Sequence[int]) -> None:
        """A thread takes a step of a completion mechanism."""
        getattr(self.machine, f"advance{self.used.advance(effect)}")(thread, *operands)
        asynchrony.operations_end(self.machine, thread)

    def turn_begins(self) -> None:
        """A thread is about to have its turn."""
        asynchrony.turn_begins(self.machine)

    def batch_ends(self) -> None:
        """The resident CTAs have ended."""
        asynchrony.batch_ends(self.machine)
