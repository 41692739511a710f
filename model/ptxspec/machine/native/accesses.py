"""Accesses to memory: the step of spec/machine/access.md, compiled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_
from typing import Protocol

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.blocks import COLUMNS, PAGE, SHADOW
from ptxspec.machine.call_graph import stack_moves
from ptxspec.machine.counting import counter_of, is_counted
from ptxspec.machine.memory import PADDING, shadow_of_parameters
from ptxspec.machine.native.asynchrony import functions
from ptxspec.machine.native.context import DEMAND, OBJECT, OWN, VARIABLE
from ptxspec.machine.native.global_blocks import SAVE, search
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.core import Bool, Int, integer, truth_variable, variable
from ptxspec.terms.effects import Access, Life, Load, Update
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.storage import Broke, Broken, Way

ADDRESS = variable("%address", 64)
#: what lies behind a page of constants: all of their bits are initialized
EVERY_BIT = PADDING * r"\FF"
EVERYTHING = f'@ptxspec_everything = internal constant [{PADDING} x i8] c"{EVERY_BIT}"'


class EmitCheck(Protocol):
    """Goes on if a condition holds; else something is said of the address, the instruction's index, and which of its checks it
    was."""

    def __call__(self, condition: str, address: str, index: int, why: int | str = OWN) -> None: ...


class SharedAccesses(Protocol):
    """Functions that accesses of a kind may call."""

    def access(self, space: str, size: int, write: bool, into: Collection[str], shadow: bool) -> str | None:
        """The name of the function of this kind of access, if there is one."""


class Accesses:
    """From an address to the host's pointer."""

    def __init__(self, text: FunctionText, check: EmitCheck, shared: SharedAccesses | None = None, site: str = ""):
        """`site` is that of all accesses, if they have one: see `global_blocks.sites`."""
        self.text, self.check, self.shared, self._site = text, check, shared, site
        self.program, self.kernel, self.emitter = text.program, text.kernel, text.emitter

    def access(self, op: Op, lowering: Lowering, index: int) -> str:
        """Emit the checks of an access and return the host's pointer. Everything emitted here dominates what follows."""
        effect = op.plan.meaning.effect
        assert isinstance(effect, Access)
        write, size = not isinstance(effect, Load), effect.bytes
        address = lowering.low(effect.address, 64)
        if not isinstance(effect, Update) and effect.holds is not None:
            self.check(lowering.truth(effect.holds), address, index, DEMAND)
        if index in self.program.overruns:
            self.check("false", address, index, VARIABLE)
        space = op.space or effect.space
        shadow = not isinstance(effect, Update) and effect.shadow
        name = None
        used = self.program.asynchronous
        spared = 0 if used is None else used.spared(op)
        if self.shared is not None and effect.life is None and not spared:
            name = self.shared.access(space, size, write, effect.into, shadow)
        if name is None:
            return self.find(
                space, address, size, write, index, effect.into, shadow=shadow, life=effect.life, spared=spared
            )
        # a call each time: what an access finds may have changed since
        pointer = f"%at{index}"
        self.text.lines.append(f"  {pointer} = call ptr {name}(ptr %context, i64 %thread, i64 {address})")
        self.text.held[pointer] = size
        self.check(self.emitter.emit(f"icmp ne ptr {pointer}, null"), address, index)
        return pointer

    def find(
        self,
        space: str,
        address: str,
        size: int,
        write: bool,
        index: int,
        into: Collection[str] = (),
        why: int = OWN,
        shadow: bool = False,
        life: Life | None = None,
        spared: int = 0,
    ) -> str:
        """Emit the checks of an access at an address of a state space, and return the host's pointer: to the bytes, or to which
        of their bits are initialized. With a `life`, the access is a step on an object. It may touch those changes by
        asynchronous operations that are `spared`."""
        storage = EmittedStorage(self, address, size, index, why, shadow, life, spared)
        return contracts.access.access(space, ADDRESS, size, write, into, storage)

    def ranged(
        self,
        space: str,
        address: str,
        align: int,
        count: str,
        write: bool,
        index: int,
        why: int | str = OWN,
        shadow: bool = False,
        spared: int = 0,
    ) -> str:
        """Emit the checks of so many bytes at a multiple of `align`, which an asynchronous operation accesses, and return the
        host's pointer. `shadow` and `spared` are as for `find`."""
        storage = EmittedStorage(self, address, align, index, why, shadow, spared=spared)
        return contracts.access.ranged(space, ADDRESS, align, storage.word(count), write, storage)

    def site(self, index: int) -> str:
        """The site of an access of an instruction."""
        return self._site or str(index)

    def bank(self, number: int) -> tuple[str, str]:
        """How many bytes a bank of constants holds, and the pointer to them."""
        held, holds = self.text.at("banks", str(2 * number), 8), self.text.at("banks", str(2 * number + 1), 8)
        return self.emitter.emit(f"load i64, ptr {held}"), self.emitter.emit(f"load ptr, ptr {holds}")

    def holds(self, condition: Bool, address: str) -> str:
        """Whether a condition on an address holds."""
        condition_holds: str = Lowering(self.emitter, {"%address": address}).truth(condition)
        return condition_holds


class EmittedStorage:
    """The memory of a launch as the code of one access reaches it: what the step asks, in terms of words that have been emitted.
    A location is the host's pointer."""

    def __init__(
        self,
        accesses: Accesses,
        address: str,
        size: int,
        index: int,
        why: int | str = OWN,
        shadow: bool = False,
        life: Life | None = None,
        spared: int = 0,
    ):
        """`address` is that of the instruction, for a fault, `index` the instruction's, and `why` says which of its checks it is;
        it moves `size` bytes. With `shadow`, a location is that of which bits of the bytes are initialized. With a `life`, the
        access is a step on an object; one that `changes` memory is an operation's."""
        self.shadow, self.life, self.spared = shadow, life, spared
        self.accesses, self.text, self.emitter = accesses, accesses.text, accesses.emitter
        self.program, self.address, self.size = accesses.program, address, size
        self.index, self.why = index, why
        self.ignores_upper_halves = self.program.ignores_upper_halves
        self.clustered = self.program.clustered
        #: the words that terms stand for, by the names of variables
        self.words = {"%address": address}
        #: whether the access is refused if it leaves the block of the last one, or would store to a page that has not been saved
        self.stays = False
        #: conditions that have not been checked yet: one branch serves for all
        self.pending: list[str] = []
        self.rank, self.members, self.threads = (self.word(name) for name in ("%rank", "%cluster", "%threads"))

    def word(self, word: str, width: int = 64) -> Int:
        """The term of a word that has been emitted."""
        self.words[word] = word
        return variable(word, width)

    def low(self, term: Int) -> str:
        lowered: str = Lowering(self.emitter, self.words).low(term, 64)
        return lowered

    def truth(self, condition: Bool) -> str:
        lowered: str = Lowering(self.emitter, self.words).truth(condition)
        return lowered

    def checked(self) -> None:
        """Emit the checks that are pending."""
        if self.pending:
            condition = reduce(lambda all, more: self.emitter.logic("and", all, more), self.pending)
            self.pending = []
            self.accesses.check(condition, self.address, self.index, self.why)

    # the step's questions ------------------------------------------------------------------------------------------------

    def nowhere(self) -> str:
        self.text.held["null"] = 0
        return "null"

    def require(self, holds: Bool, broken: Broke) -> None:
        self.pending.append(self.truth(holds))

    def refuse(self, broken: Broke) -> str:
        self.accesses.check("false", self.address, self.index, self.why)
        return self.text.at(hosts.array_of(contracts.state_spaces.OF_PARAMETERS), "0", 1, self.size)

    def first(self, ways: Sequence[Way[str]], otherwise: Callable[[], str]) -> str:
        """Most accesses go the last way: all conditions together are asked first."""
        self.checked()
        e, text = self.emitter, self.text
        join, last = text.label("found"), text.label("last")
        known, ends = e.known(), []
        if len(ways) > 1:
            near = text.label("near")
            any_holds = self.truth(reduce(or_, [holds for holds, _ in ways]))
            text.lines.append(f"  br i1 {any_holds}, label %{near}, label %{last}")
            text.begin(near)
        before = e.known()
        for i, (holds, way) in enumerate(ways):
            hit, miss = text.label("way"), last if i == len(ways) - 1 else text.label("next")
            text.lines.append(f"  br i1 {self.truth(holds)}, label %{hit}, label %{miss}")
            outer = e.known()
            text.begin(hit)
            ends.append((way(), self._leaves(join)))
            e.go_back(outer)
            if miss is not last:
                text.begin(miss)
        text.begin(last)
        e.go_back(before)
        ends.append((otherwise(), self._leaves(join)))
        text.begin(join)
        e.go_back(known)
        name = f"%g{len(text.lines)}"
        text.lines.append(f"  {name} = phi ptr " + ", ".join(f"[{p}, %{b}]" for p, b in ends))
        text.held[name] = max(text.held[p] for p, _ in ends)
        return name

    def _leaves(self, join: str) -> str:
        """Go to where the ways meet; the label from which."""
        leave = self.text.label("leave")
        self.text.lines.append(f"  br label %{leave}")
        self.text.begin(leave)
        self.text.lines.append(f"  br label %{join}")
        return leave

    def own(self, shared_by: str, address: Int) -> tuple[Int, Int]:
        return self.word("%thread" if shared_by == contracts.state_spaces.THREAD else "%slot"), address

    def held(self, space: str) -> Int:
        if space == contracts.state_spaces.OF_PARAMETERS:  # the same in each launch: most checks are none then
            return integer(self.accesses.kernel.sizes[space])
        number = contracts.banks.bank_of(space)
        return self.word(
            f"%{hosts.array_of(space)}_size" if number == contracts.banks.FIRST else self.accesses.bank(number)[0]
        )

    def apart(self, space: str) -> Int:
        return self.word(f"%{hosts.array_of(space)}_stride")

    def ended(self, cta: Int) -> Int:
        self.checked()
        name, cell = f"%gone{len(self.text.lines)}", self.text.at("gone", self.low(cta), 8)
        self.text.lines.append(f"  {name} = load i64, ptr {cell}")
        return self.word(name)

    def stack_states(self, space: str, start: Int, size: int) -> Int | None:
        if space != contracts.state_spaces.OF_FRAMES or not stack_moves(self.accesses.kernel) or self.shadow:
            return None
        self.checked()
        cell, name = self.text.at("alive", self.low(start), 1, size), f"%states{len(self.text.lines)}"
        self.text.lines.append(f"  {name} = load i{size * 8}, ptr {cell}, align 1")  # never one that was loaded before
        return self.word(name, size * 8)

    def heap_states(self, address: Int, size: int) -> Int | None:
        if not self.program.has_heap or self.shadow:
            return None
        self.checked()
        cell = self.text.at("heap_states", self._in_heap(address)[0], 1, size)
        name = f"%states{len(self.text.lines)}"
        self.text.lines.append(f"  {name} = load i{size * 8}, ptr {cell}, align 1")  # never one that was loaded before
        return self.word(name, size * 8)

    def _in_heap(self, address: Int) -> tuple[str, str]:
        """Which state is that of a byte of global memory, and whether the byte is the heap's: behind the states of the heap come
        some of bytes that are there."""
        e = self.emitter
        at = e.binary("sub", self.low(address), "%heap_base", 64)
        is_in = e.compare("ult", at, "%heap_size", 64)
        return e.select(is_in, at, "%heap_size", 64), is_in

    def each_state(self, space: str, start: Int, count: Int, holds: Callable[[Int], Bool]) -> Bool:
        """A loop over the states, up to the first that does not do."""
        self.checked()
        text, e = self.text, self.emitter
        array, first, most = self._states_of(space, start, count)
        before, look, inside, following, join = (
            text.label(s) for s in ("before", "look", "state", "following", "states")
        )
        name = f"%k{len(text.lines)}"
        text.lines.append(f"  br label %{before}\n{before}:\n  br label %{look}")
        text.begin(look)
        text.lines.append(f"  {name} = phi i64 [0, %{before}], [{name}n, %{following}]")
        text.lines.append(f"  {name}more = icmp ult i64 {name}, {most}")
        text.lines.append(f"  br i1 {name}more, label %{inside}, label %{join}")
        text.begin(inside)
        known = e.known()
        cell = text.at(array, e.binary("add", first, name, 64), 1, 1)
        text.lines.append(f"  {name}state = load i8, ptr {cell}")
        fine = Lowering(e, {"%state": f"{name}state"}).truth(holds(variable("%state", 8)))
        e.go_back(known)
        text.lines.append(f"  br i1 {fine}, label %{following}, label %{join}")
        text.begin(following)
        text.lines.append(f"  {name}n = add i64 {name}, 1\n  br label %{look}")
        text.begin(join)
        text.lines.append(f"  {name}all = phi i1 [true, %{look}], [false, %{inside}]")
        self.words[f"{name}all"] = f"{name}all"
        return truth_variable(f"{name}all")

    def _states_of(self, space: str, start: Int, count: Int) -> tuple[str, str, str]:
        """The array of the states of bytes, at which index those begin that are asked for, and how many these are."""
        if space == contracts.state_spaces.OF_FRAMES:
            return "alive", self.low(start), self.low(count)
        first, is_in = self._in_heap(start)
        return "heap_states", first, self.emitter.select(is_in, self.low(count), "0", 64)

    def in_block(self, address: Int, write: bool) -> tuple[Int, Int]:
        """In the block in which the last access of this site was, or else in the last that does not begin behind the address."""
        self.checked()
        e, text = self.emitter, self.text
        e.needs.add(search(text.layout.checked))
        at, name = self._of_shadow(self.low(address)), f"%block{len(text.lines)}"
        begin, other, join = (text.label(stem) for stem in ("begin", "search", "block"))
        cell = text.at("last_blocks", self.accesses.site(self.index), 8)
        text.lines.append(f"  br label %{begin}")
        text.begin(begin)
        text.lines.append(f"  {name}.last = load i64, ptr {cell}")
        known, last = e.known(), text.at("global_blocks", f"{name}.last", 8 * COLUMNS)
        if self.stays:
            self.row = last
            return self._in_row(at, write)
        begins, held = (text.element_of(last, i, 8) for i in range(2))
        behind = e.binary("sub", at, self._of_block(begins), 64)
        near = e.compare("ult", behind, self._of_block(held), 64)
        text.lines.append(f"  br i1 {near}, label %{join}, label %{other}, !prof !0")
        text.begin(other)
        text.lines.append(
            f"  {name}.other = call i64 @ptxspec_block(ptr %record, ptr %global_blocks, i64 %global_blocks_bytes, i64 {at})\n"
            f"  store i64 {name}.other, ptr {cell}"
        )
        following = text.at("global_blocks", f"{name}.other", 8 * COLUMNS)
        text.lines.append(f"  br label %{join}")
        text.begin(join)
        e.go_back(known)
        self.row = f"{name}.row"
        text.lines.append(f"  {self.row} = phi ptr [{last}, %{begin}], [{following}, %{other}]")
        text.held[self.row] = 8 * COLUMNS
        return self._in_row(at, write)

    def _of_shadow(self, address: str) -> str:
        """The address of the shadow of a byte of global memory, if that is accessed; else that of the byte."""
        return self.emitter.binary("add", address, str(SHADOW), 64) if self.shadow else address

    def _in_row(self, address: str, write: bool) -> tuple[Int, Int]:
        """How far an address is behind the beginning of the block of the row, and how much of that may be reached."""
        begins, readable, writable = (self.text.element_of(self.row, i, 8) for i in range(3))
        self.size_held = self._of_block(writable if write else readable)
        return self.word(self.emitter.binary("sub", address, self._of_block(begins), 64)), self.word(self.size_held)

    def _of_block(self, cell: str) -> str:
        """What a row says of a block, which is the same for the whole launch."""
        return self.emitter.emit(f"load i64, ptr {self.emitter.emit(cell)}, !invariant.load !9")

    def broken_in_global(self, address: Int, size: Int | int, write: bool) -> Broken:
        raise AssertionError("compiled code leaves it to the memory to say what an access broke")

    def at(self, space: str, start: Int, size: Int | int, write: bool) -> str:
        self.checked()
        length = self._length(space, size)
        return self._spared(space, self._at(space, self.low(start), length), length, write)

    def _at(self, space: str, offset: str, size: int | str) -> str:
        if self.shadow:
            return self._at_shadow(space, offset, size)
        number = contracts.banks.bank_of(space)
        if number != contracts.banks.FIRST:
            held, holds = self.accesses.bank(number)
            return self.text.at("a bank of constants", offset, 1, size, base=holds, length=held)
        return self.text.at(hosts.array_of(space), offset, 1, size)

    def _at_shadow(self, space: str, offset: str, size: int | str) -> str:
        e, array = self.emitter, hosts.array_of(space)
        if space in self.text.layout.parts:
            behind = e.binary("lshr", f"%{array}_stride", "1", 64)
        elif space == contracts.state_spaces.OF_PARAMETERS:
            behind = str(shadow_of_parameters(self.accesses.kernel.sizes[space]))
        else:
            e.needs.add(EVERYTHING)
            self.text.held["@ptxspec_everything"] = PADDING
            return "@ptxspec_everything"
        return self.text.at(array, e.binary("add", offset, behind, 64), 1, size)

    def at_block(self, address: Int, offset: Int, size: Int | int, write: bool) -> str:
        self.checked()
        length = self._length(contracts.state_spaces.OF_BUFFERS, size)
        e, text = self.emitter, self.text
        host = e.emit(f"load ptr, ptr {e.emit(text.element_of(self.row, 3, 8))}, !invariant.load !9")
        first = self._of_shadow(self.low(address)) if write else ""
        if write and self.stays:
            self._is_saved(first)
            if not isinstance(length, int):
                behind = e.binary("sub", length, "1", 64) if length.startswith("%") else str(int(length) - 1)
                self._is_saved(e.binary("add", first, behind, 64))  # it lies in two pages at most
            self.checked()
        elif write:
            self.save(first, length)
        place = text.at("a block of global memory", self.low(offset), 1, length, base=host, length=self.size_held)
        return self._spared(contracts.state_spaces.OF_BUFFERS, place, length, write)

    def save(self, address: str, length: int | str) -> None:
        """Save what is in memory at an address of the block of the row, before it is written."""
        self.emitter.needs.update(SAVE)
        # an access lies in one page, a range in several
        pages, more = ("", "") if isinstance(length, int) else ("_all", f", i64 {length}")
        given = f"ptr {self.row}, i64 %saved_mark, i64 {address}{more}"
        self.text.lines.append(f"  call void @ptxspec_save{pages}({given})")

    def _is_saved(self, address: str) -> None:
        """Require that the page of an address has been saved."""
        e, text = self.emitter, self.text
        first = e.binary("lshr", self._of_block(text.element_of(self.row, 0, 8)), str(PAGE), 64)
        marks = e.emit(f"load ptr, ptr {e.emit(text.element_of(self.row, 4, 8))}, !invariant.load !9")
        number = e.binary("sub", e.binary("lshr", address, str(PAGE), 64), first, 64)
        state, cell = f"%page{len(text.lines)}", e.emit(f"getelementptr i8, ptr {marks}, i64 {number}")
        text.lines.append(f"  {state} = load atomic i8, ptr {cell} acquire, align 1")
        self.pending.append(e.compare("eq", state, e.truncate("%saved_mark", 64, 8), 8))

    def _length(self, space: str, size: Int | int) -> int | str:
        """How many bytes are moved, which are counted in a launch that counts."""
        length = size if isinstance(size, int) else self.low(size)
        if is_counted(space) and not self.shadow and self.why != OBJECT:
            self.text.count("count_moved", counter_of(self.index, space), str(length))
        return length

    def _spared(self, space: str, pointer: str, size: int | str, write: bool) -> str:
        """The pointer, once it is checked that the access disturbs no asynchronous operation in flight."""
        self.text.held.setdefault(pointer, 0)
        used = self.program.asynchronous
        if self.life is not None:
            self.emitter.needs |= functions(self.text.layout)
            at, name = self.emitter.emit(f"ptrtoint ptr {pointer} to i64"), f"%object{len(self.text.lines)}"
            asked = {Life.BEGINS: "may_begin", Life.LASTS: "object_at", Life.ENDS: "may_end"}[self.life]
            self.text.lines.append(f"  {name} = call i64 @{asked}(ptr %context, i64 {at})")
            self.accesses.check(self.emitter.compare("ne", name, "0", 64), self.address, self.index, self.why)
        elif used is not None and used.may_disturb(space, write) and not self.shadow:
            self.emitter.needs |= functions(self.text.layout)
            at, name = self.emitter.emit(f"ptrtoint ptr {pointer} to i64"), f"%spared{len(self.text.lines)}"
            which, given = "may_write" if write else "may_read", f"i64 {at}, i64 {size}, i64 %thread, i64 {self.spared}"
            self.text.lines.append(f"  {name} = call i64 @{which}(ptr %context, {given})")  # a call each time
            self.accesses.check(self.emitter.compare("ne", name, "0", 64), self.address, self.index, self.why)
        return pointer
