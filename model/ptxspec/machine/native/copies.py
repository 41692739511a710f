"""Copies that finish later: where they begin, and where threads wait for them."""

from __future__ import annotations

from functools import cache
from typing import assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.counting import counter_of
from ptxspec.machine.memory import rules
from ptxspec.machine.native.accesses import ADDRESS, Accesses
from ptxspec.machine.native.compiling import Array, Taken, World, compiled
from ptxspec.machine.native.context import FIELD, READ, SOURCE, SOURCE_VARIABLE, VARIABLE
from ptxspec.machine.native.text import Text
from ptxspec.machine.outstanding import UNITS, size_of
from ptxspec.terms.core import variable
from ptxspec.terms.effects import Await, Commit, Copy, Copying
from ptxspec.terms.lowering import Lowering


@cache
def functions(checked: bool) -> frozenset[str]:
    """What calls of the functions of machine/copies.py need."""
    from ptxspec.machine import copies

    steps = {name: Taken(*taken) for name, taken in copies.steps().items()}
    world = World(FIELD, {name: Array(unit) for name, unit in UNITS.items()}, steps, {}, checked)
    needs = set(hosts.NEEDS)
    text = compiled(copies.FUNCTIONS, world, needs)
    return frozenset({text, *needs})


def call(name: str, *words: str) -> str:
    """Text that calls one of them."""
    return f"  call i64 @{name}(ptr %context{''.join(f', i64 {word}' for word in words)})"


class Copies:
    """Instructions that are about copies which finish later."""

    def __init__(self, text: Text, accesses: Accesses):
        self.text, self.emitter, self.accesses = text, text.emitter, accesses
        self.page = contracts.copies()

    def act(self, op: Op, effect: Copying, env: dict[str, str], index: int) -> None:
        """Emit what an instruction does."""
        lowering = Lowering(self.emitter, env)
        match effect:
            case Copy():
                self._begin(op, effect, lowering, index)
            case Commit():
                self._call("copies_are_committed", "%thread")
            case Await(most=None):
                self._call("copies_are_awaited", "%thread")
            case Await(most=most):
                word = self.emitter.extend(lowering.low(most, 32), 32, 64, False)
                self._call("groups_are_awaited", "%thread", word)
            case _:
                assert_never(effect)

    def _call(self, name: str, *words: str) -> None:
        self.emitter.needs |= functions(self.text.layout.checked)
        self.text.lines.append(call(name, *words))

    def _begin(self, op: Op, effect: Copy, lowering: Lowering, index: int) -> None:
        """Check what a copy fills and reads, let it happen, and note that it is under way."""
        text, e, size = self.text, self.emitter, size_of(op)
        read = e.extend(lowering.low(effect.read, 32), 32, 64, False)
        fits = Lowering(e, {"%read": read}).truth(self.page.fits(variable("%read", 64), size))
        text.check(fits, read, index, READ)
        to = lowering.low(effect.to, 64)
        if index in text.program.overruns:
            text.check("false", to, index, VARIABLE)
        into = self.accesses.find(effect.space, to, size, True, index)
        source = lowering.low(effect.source, 64)
        if index in text.program.sources:
            text.check("false", source, index, SOURCE_VARIABLE)
        word, offset = self._read(source, size, read, index)
        text.count("count_moved", counter_of(index, effect.of), read)
        text.lines.append(f"  store i{8 * size} {word}, ptr {into}, align {min(size, 8)}")
        begin, at = (
            e.emit(f"ptrtoint ptr {pointer} to i64") for pointer in (f"%{hosts.array_of(self.page.INTO)}", into)
        )
        place = e.binary("udiv", e.binary("sub", at, begin, 64), str(self.page.GRANULE), 64)
        self._call("copy_begins", "%thread", str(index), place, offset, str(size), read)

    def _read(self, source: str, size: int, read: str, index: int) -> tuple[str, str]:
        """(what the bytes are filled with, where it lies in the arena) of a copy that reads so many bytes, zero bytes perhaps."""
        text, e = self.text, self.emitter
        why = e.binary("add", e.binary("shl", read, "8", 64), str(SOURCE), 64)
        text.check(self.accesses.holds(rules().aligned(ADDRESS, size), source), source, index, why)
        some, none, join = text.label("reads"), text.label("none"), text.label("read")
        any_byte = e.compare("ne", read, "0", 64)
        text.lines.append(f"  br i1 {any_byte}, label %{some}, label %{none}")
        known = e.known()
        text.begin(some)
        offset, inside = self.accesses.among_arrays(source)
        text.check(inside, source, index, why)
        states = e.emit(f"load i{8 * size}, ptr {text.at('shadow', offset, 1, size)}, align 1")
        # it fits, and so has few bits
        count = variable("%read", size.bit_length())
        given = {"%states": states, "%read": e.truncate(read, 64, size.bit_length())}
        permitted = rules().first_permitted(variable("%states", 8 * size), size, count)
        text.check(Lowering(e, given).truth(permitted), source, index, why)
        found = f"%copied{len(text.lines)}"
        cell = text.at("arena", offset, 1, size)
        text.lines.append(f"  {found} = load i{8 * size}, ptr {cell}, align 1")  # never one that was loaded before
        arriving = self.page.arriving(variable("%data", 8 * size), count)
        word = Lowering(e, given | {"%data": found}).low(arriving, 8 * size)
        leave = text.label("leave")
        text.lines.append(f"  br label %{leave}")
        text.begin(leave)
        text.lines.append(f"  br label %{join}")
        text.begin(none)
        text.lines.append(f"  br label %{join}")
        text.begin(join)
        e.go_back(known)
        name = f"%arriving{len(text.lines)}"
        text.lines.append(f"  {name} = phi i{8 * size} [{word}, %{leave}], [0, %{none}]")
        text.lines.append(f"  {name}from = phi i64 [{offset}, %{leave}], [0, %{none}]")
        return name, f"{name}from"
