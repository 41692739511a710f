"""The asynchronous operations that are in flight in a launch, as the memory and the exact engine see them.

The arrays are written by `machine/asynchrony.py`. There are none for a kernel that initiates no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

import numpy as np

from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.machine import asynchrony
from ptxspec.machine.arrays import address_of
from ptxspec.machine.driver import inventory
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.machine.errors import RacingAccess, Violation
from ptxspec.machine.events import RACE, UNIT, EventKind, ObservedEvents
from ptxspec.machine.flow import spelled
from ptxspec.machine.memory import Place
from ptxspec.machine.operations import ARRAYS, AsynchronousUse
from ptxspec.machine.registers_in_flight import RegisterRow
from ptxspec.terms.effects import Advance, Follow, Initiate, Life
from ptxspec.terms.registries import OBJECT_BITS, ObjectCompletion

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
    `registers` are those of a thread that may be in flight; `used` is what the kernel uses."""

    def __init__(self, arrays: Mapping[str, Any], locate: Locate, registers: RegisterRow, used: AsynchronousUse):
        self.arrays, self.locate, self.registers, self.used = arrays, locate, registers, used
        self.page = contracts.asynchrony
        self._words = len(self.page.Operation.fields)

    def check(
        self,
        array: np.ndarray,
        index: int,
        size: int,
        write: bool,
        row: int | None = None,
        is_spared: Callable[[int, int], bool] = lambda change, thread: False,
    ) -> None:
        """Raise Violation if an access to so many bytes of an array touches what an operation writes, or writes what it reads.
        `row` is how far behind the beginning of a thread's row, if they are those of registers. Of a change by an
        operation of a thread, `is_spared` says whether the access may touch it."""
        begin = self.locate(array, index)
        lines = range(begin >> asynchrony.LINE_LOG2, (begin + size - 1 >> asynchrony.LINE_LOG2) + 1)
        objects, writers = self._writers(lines)
        self._refuse_object({n for n in objects if not self._spares("spares_target", n, begin, size)})
        change, initiator = self.arrays["operation_change"], self.arrays["operation_thread"]
        writers = {n for n in writers if not (change[n] and is_spared(int(change[n]), int(initiator[n])))}
        writing = {n for n in writers if not self._spares("spares_target", n, begin, size)}
        self._refuse("copy not waited for", "to", writing, begin, row)
        readers = self._listed(asynchrony.SOURCE, lines) if write else set()
        reading = {n for n in readers if not self._spares("spares_source", n, begin, size)}
        self._refuse("source of a copy", "from", reading, begin, row)

    def check_object(self, array: np.ndarray, index: int, life: Life) -> None:
        """Raise Violation if no object is where an instruction takes a step on one, or if none can begin there."""
        if life is Life.BEGINS:
            self.check(array, index, asynchrony.OBJECT, True)
            return
        place = self.locate(array, index)
        line = place >> asynchrony.LINE_LOG2
        objects, _ = self._writers(range(line, line + 1))
        here = next((number for number in objects if int(self.arrays["operation_object"][number]) == place), None)
        if here is None:
            raise Violation("no object", "no object has begun here that has not ended")
        in_use = int(self.arrays["operation_low"][here])
        if life is Life.ENDS and in_use:
            raise Violation("object in use", f"operations in flight that are to complete on the object: {in_use}")

    def _writers(self, lines: range) -> tuple[set[int], set[int]]:
        """The objects in these lines, and the operations that write there."""
        listed = self._listed(asynchrony.TARGET, lines)
        objects = {number for number in listed if int(self.arrays["operation_mechanism"][number]) == asynchrony.LIVES}
        return objects, listed - objects

    def _refuse_object(self, objects: set[int]) -> None:
        """Raise Violation if there are such objects, and tell of the first."""
        if objects:
            _, op, thread = min(self._told(number, "to") for number in objects)
            raise Violation("object", "an object lies there, which has begun and not ended", RacingAccess(thread, op))

    def completion(self, number: int, rule: int) -> tuple[int, int, Violation]:
        """The thread and the instruction that initiated an operation which completes on an object against a rule, by its number,
        and what that is."""
        thread, op, mechanism = (
            int(self.arrays[f"operation_{what}"][number]) for what in ("thread", "op", "mechanism")
        )
        if rule == 0:
            return (
                thread,
                op,
                Violation("no object", "the object has ended on which the operation completes", nowhere=True),
            )
        completes = self.used.mechanisms[mechanism]
        assert isinstance(completes, ObjectCompletion)
        name = completes.completes.meaning.requirements[rule - 1].rule
        return thread, op, Violation(name, "the operation is complete, and its object may not learn that", nowhere=True)

    def _refuse(self, rule: str, preposition: str, operations: set[int], begin: int, row: int | None) -> None:
        """Raise Violation if there are such operations, and tell of the one whose bytes begin first; of registers, whose row the
        access touches from there on, the first is named that both have."""
        if not operations:
            return
        first, op, thread = min(self._told(number, preposition) for number in operations)
        where = "there"
        if row is not None:
            where = spelled(self.registers.named(row + max(0, first - begin)))
        note = f"a copy {preposition} {where} is in flight, and its thread has not waited for it"
        raise Violation(rule, note, RacingAccess(thread, op), nowhere=row is not None)

    def _told(self, number: int, preposition: str) -> tuple[int, int, int]:
        """Where the bytes begin to which an operation copies, or from which, its instruction and its thread: the order of which
        operations are told. It does not hang on their numbers, which engines may give in another order."""
        _, target, _, source, _ = scripted(self.page.footprint)(*self._record(number))
        op, thread = (int(self.arrays[f"operation_{what}"][number]) for what in ("op", "thread"))
        return int(target if preposition == "to" else source), op, thread

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


def _word(data: bytes) -> int:
    """The number that these bytes are."""
    return int.from_bytes(data, "little")


def _bytes(word: int) -> bytes:
    """The bytes of a word, which the driver has signed."""
    return (word & (1 << 64) - 1).to_bytes(8, "little")


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
        observed: ObservedEvents,
        registers: RegisterRow,
    ):
        """`note` is called with each event of an operation, if these are `observed`; `registers` are those of a thread that may
        be in flight."""
        self.machine, self.used = machine, used
        arrays = {name: GrowingArray() for name in ARRAYS}
        places = ExactLocations()
        self.in_flight = InFlight(arrays, places.locate, registers, used)
        machine.land_objects = lambda: asynchrony.objects_complete(machine)
        for name, value in (arrays | used.numbers(copies)).items():
            setattr(machine, name, value)
        for name, taken in used.steps().items():
            setattr(machine, name, inventory.scripted_step(*taken, machine))
        machine.copy_bytes = lambda target, source, count: places.write(target, places.read(source, count))
        machine.fill_bytes = lambda target, count, fill: places.write(
            target, bytes(count) if fill == 0 else fill.to_bytes(2, "little") * (count // 2)
        )
        machine.read_element = lambda place, size: _word(places.read(place, size))
        machine.write_element = lambda place, size, value: places.write(place, _bytes(value)[:size])
        machine.write_carried = lambda target, begin, count, low, high: places.write(
            target, (_bytes(low) + _bytes(high))[begin : begin + count]
        )
        machine.read_object = lambda place: int.from_bytes(places.read(place, OBJECT_BITS // 8), "little")
        machine.observes_operations, machine.reports_faults = int(observed.operations), int(RACE in observed.checks)

        def tell_operation(kind: int, op: int, thread: int, number: int, target: int, size: int) -> None:
            location = places.address(target) if target else 0
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
        source: Place | None,
        read: int,
        completes: Place | None,
        carried: bytes = b"",
        arrangement: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        """A thread initiates an operation that it may initiate, and that `completes` on an object in memory, or on none. One
        without a source has `carried` with it what it writes. The `arrangement` is how much is filled before what is read, the
        bits in which offsets differ, and the fill. Raises Violation if there is no room."""
        unit = effect.together.bit_length() - 1
        locate = self.in_flight.locate
        footprint = locate(*target), size, 0 if source is None else locate(*source), read, unit, *arrangement
        place = 0 if completes is None else locate(*completes)
        mechanism, change = self.used.mechanism(effect), self.used.change(effect)
        words = int(source is None), _word(carried[:8]), _word(carried[8:])
        if not asynchrony.operation_begins(self.machine, mechanism, thread, op, *footprint, place, change, 0, *words):
            raise too_many(effect.space)

    def follow(self, effect: Follow, thread: int, op: int, completes: Place) -> None:
        """A thread initiates an operation without bytes, which follows others. Raises Violation if there is no room."""
        place, mechanism = self.in_flight.locate(*completes), self.used.mechanism(effect)
        follows = self.used.follows(effect)
        if not asynchrony.operation_begins(
            self.machine, mechanism, thread, op, 0, 0, 0, 0, 0, 0, 0, 0, place, 0, follows, 0, 0, 0
        ):
            raise too_many(effect.among)

    def change_object(self, life: Life, thread: int, op: int, place: Place) -> None:
        """A step on an object has changed it. Raises Violation if there is no room for one that begins."""
        location = self.in_flight.locate(*place)
        match life:
            case Life.BEGINS:
                if not asynchrony.object_begins(self.machine, thread, op, location):
                    raise too_many("")
            case Life.ENDS:
                asynchrony.object_ends(self.machine, location)
            case Life.LASTS:
                asynchrony.object_changes_now(self.machine)
            case _:
                assert_never(life)

    def fault(self) -> tuple[int, int, Violation] | None:
        """The thread, the instruction, and what is broken, if an operation has completed on an object against a rule."""
        number = self.machine.completion_fault
        return self.in_flight.completion(number, self.machine.completion_rule) if number else None

    def advance(self, effect: Advance, thread: int, operands: Sequence[int]) -> None:
        """A thread takes a step of a completion mechanism."""
        getattr(self.machine, f"advance{self.used.advance(effect)}")(thread, *operands)
        asynchrony.operations_end(self.machine, thread)

    def turn_begins(self) -> int:
        """A thread is about to have its turn. The operation that completes against a rule; 0 if none does."""
        return asynchrony.turn_begins(self.machine)

    def batch_ends(self) -> None:
        """The resident CTAs have ended."""
        asynchrony.batch_ends(self.machine)
