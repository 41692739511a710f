"""Accesses to memory, each with the checks that come before it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

from ptxspec import contracts
from ptxspec.language.checked import Op, banks, spaces, unbanked
from ptxspec.machine.call_graph import stack_moves
from ptxspec.machine.memory import rules
from ptxspec.machine.native.context import DEMAND, OWN, VARIABLE
from ptxspec.machine.native.pieces import COLUMNS, KEEP, search
from ptxspec.machine.native.text import Text
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.effects import Access, Load, Update
from ptxspec.terms.lowering import Lowering

ADDRESS = variable("%address", 64)


class Check(Protocol):
    """Goes on if a condition holds; else something is said of the address, the instruction's index, and which of its checks it
    was."""

    def __call__(self, condition: str, address: str, index: int, why: int | str = OWN) -> None: ...


class Shared(Protocol):
    """Functions that accesses of a kind may call."""

    def access(self, space: str, size: int, write: bool, into: Collection[str]) -> str | None:
        """The name of the function of this kind of access, if there is one."""


class Reached(NamedTuple):
    """What of a state space an access may reach: how many bytes, the pointer to the first of all of them, the array's name for
    the checks and its length, the address in there, and the number of the CTA whose part it is."""

    held: str
    holds: str
    array: str
    length: str
    address: str
    slot: str


class Accesses:
    """From an address to the host's pointer."""

    def __init__(self, text: Text, check: Check, shared: Shared | None = None):
        self.text, self.check, self.shared = text, check, shared
        self.program, self.kernel, self.emitter = text.program, text.kernel, text.emitter
        self.windows = contracts.generic_addressing()
        self.own = self.windows.from_part(ADDRESS, variable("%begins", 64))

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
        space = op.space or self.shared_by_cluster(effect.space) or effect.space.split("::")[0]
        name = None if self.shared is None else self.shared.access(space, size, write, effect.into)
        if name is not None:
            # a call each time: what an access finds may have changed since
            pointer = f"%at{index}"
            self.text.lines.append(f"  {pointer} = call ptr {name}(ptr %context, i64 %thread, i64 {address})")
            self.text.held[pointer] = size
            self.check(self.emitter.emit(f"icmp ne ptr {pointer}, null"), address, index)
            return pointer
        if space == "generic":
            return self.generic(address, size, write, index, effect.into)
        return self.in_space(space, address, address, size, write, index)

    def shared_by_cluster(self, space: str) -> str | None:
        """The name of the space if it is the shared memory of a cluster of several CTAs, else None."""
        return space if self.program.clustered and space == self.windows.CLUSTER else None

    def in_space(self, space: str, address: str, shown: str, size: int, write: bool, index: int) -> str:
        """The pointer for an address of a space; `shown` is the address as the instruction has it, for a fault."""
        e, text = self.emitter, self.text
        facts = spaces().SPACES["shared" if space == self.windows.CLUSTER else unbanked(space)]
        if write and not facts.written:
            return self.nowhere(shown, size, index)
        counted = rules().counted(space, ADDRESS, self.program.ignores_upper_halves)
        if counted is not ADDRESS:
            address = Lowering(e, {"%address": address}).low(counted, 64)
        aligned = self.holds(rules().aligned(ADDRESS, size), address)
        if space == "global":
            return self.in_global(aligned, address, shown, size, write, index)
        reached = self.reached(space, address, shown, index)
        address, holder = reached.address, "shared" if space == self.windows.CLUSTER else space
        within = Lowering(e, {"%address": address, "%held": reached.held}).truth(
            rules().inside(ADDRESS, size, variable("%held", 64))
        )
        self.check(e.logic("and", aligned, within), shown, index)
        offset = address
        if facts.written:  # there is a part for every CTA, or for every thread
            which = "%thread" if facts.shared_by == "a thread" else reached.slot
            begin = rules().part(variable("%which", 64), variable("%apart", 64))
            start = Lowering(e, {"%which": which, "%apart": f"%{holder}_stride"}).low(begin, 64)
            offset = e.binary("add", start, address, 64)
        if holder == "local" and stack_moves(self.kernel):
            states, name = text.at("alive", offset, 1, size), f"%states{len(text.lines)}"
            text.lines.append(f"  {name} = load i{size * 8}, ptr {states}, align 1")  # never one that was loaded before
            there = rules().alive(variable("%states", size * 8), size)
            self.check(Lowering(e, {"%states": name}).truth(there), shown, index)
        if holder == "shared" and self.program.copies:
            self.untouched(offset, size, shown, index)
        return text.at(reached.array, offset, 1, size, base=reached.holds, length=reached.length)

    def nowhere(self, shown: str, size: int, index: int) -> str:
        """A pointer for an access that is never allowed."""
        self.check("false", shown, index)
        return self.text.at("param", "0", 1, size)

    def in_global(self, aligned: str, address: str, shown: str, size: int, write: bool, index: int) -> str:
        """The pointer for an address of global memory: among the host's arrays, among the module's variables, or in a piece of
        what the caller owns, if the kernel may reach any."""
        e = self.emitter
        offset, inside = self.found_in_global(address)
        if not self.program.owned:
            self.check(e.logic("and", aligned, inside), shown, index)
            return self.in_arena(offset, shown, size, write, index)
        self.check(aligned, shown, index)
        near, far, join = (self.text.label(stem) for stem in ("arena", "owned", "global"))
        self.text.lines.append(f"  br i1 {inside}, label %{near}, label %{far}")
        known, ways = e.known(), []
        for way in (near, far):
            self.text.begin(way)
            e.go_back(known)
            if way is near:
                pointer = self.in_arena(offset, shown, size, write, index)
            else:
                pointer = self.in_piece(address, shown, size, write, index)
            ways.append((pointer, self._leaves(join)))
        return self._meets(join, ways, known, size)

    def in_piece(self, address: str, shown: str, size: int, write: bool, index: int) -> str:
        """The pointer for an address in a piece of the caller's: the last that does not begin behind it."""
        e, text = self.emitter, self.text
        e.needs.add(search(text.layout.checked))
        found = f"%piece{len(text.lines)}"
        text.lines.append(
            f"  {found} = call i64 @ptxspec_piece(ptr %record, ptr %owned, i64 %owned_bytes, i64 {address})"
        )
        row = text.at("owned", found, 8 * COLUMNS)
        begins, readable, writable, place = (e.emit(text.element_of(row, i, 8)) for i in range(4))
        base = e.emit(f"load i64, ptr {begins}")
        held = e.emit(f"load i64, ptr {writable if write else readable}")
        host = e.emit(f"load ptr, ptr {place}")
        offset = e.binary("sub", address, base, 64)
        within = Lowering(e, {"%address": offset, "%held": held}).truth(
            rules().inside(ADDRESS, size, variable("%held", 64))
        )
        self.check(within, shown, index)
        if write:
            e.needs.update(KEEP)
            text.lines.append(f"  call void @ptxspec_keep(ptr {row}, i64 {address})")
        return text.at("a piece of the caller's", offset, 1, size, base=host, length=held)

    def in_arena(self, offset: str, shown: str, size: int, write: bool, index: int) -> str:
        """The pointer to what lies so far in the array of buffers and variables."""
        e, text = self.emitter, self.text
        shadow = text.at("shadow", offset, 1, size)
        states = e.emit(f"load i{size * 8}, ptr {shadow}, align 1")
        permitted = rules().permitted(variable("%states", size * 8), size, write)
        self.check(Lowering(e, {"%states": states}).truth(permitted), shown, index)
        if write and self.program.copies:
            self.unread(offset, size, shown, index)
        return text.at("arena", offset, 1, size)

    def found_in_global(self, address: str) -> tuple[str, str]:
        """Where an address of global memory lies in the arena, and whether it does."""
        e = self.emitter
        in_buffers = e.binary("sub", address, "%buffer_base", 64)
        is_buffer = e.compare("ult", in_buffers, "%buffer_size", 64)
        shifted = e.binary("add", in_buffers, "%buffer_start", 64)
        in_module = e.binary("sub", address, "%module_base", 64)
        offset = e.select(is_buffer, shifted, in_module, 64)
        return offset, e.logic("or", is_buffer, e.compare("ult", in_module, "%module_size", 64))

    def untouched(self, offset: str, size: int, shown: str, index: int) -> None:
        """Check that no copy under way fills any of so many bytes of shared memory."""
        text, page, name = self.text, contracts.copies(), f"%flags{len(self.text.lines)}"
        count = max(1, size // page.GRANULE)
        place = self.emitter.binary("udiv", offset, str(page.GRANULE), 64)
        cell = text.at("filling", place, 1, count)
        text.lines.append(f"  {name} = load i{8 * count}, ptr {cell}, align 1")  # never one that was loaded before
        may = page.may_touch(variable("%filling", 8 * count))
        self.check(Lowering(self.emitter, {"%filling": name}).truth(may), shown, index)

    def unread(self, offset: str, size: int, shown: str, index: int) -> None:
        """Check that no copy under way reads any of so many bytes of global memory."""
        text, name = self.text, f"%readers{len(self.text.lines)}"
        cell = text.at("reading", offset, 4, 4 * size)
        text.lines.append(f"  {name} = load i{32 * size}, ptr {cell}, align 4")
        may = contracts.copies().may_write(variable("%readers", 32 * size))
        self.check(Lowering(self.emitter, {"%readers": name}).truth(may), shown, index)

    def reached(self, space: str, address: str, shown: str, index: int) -> Reached:
        """What an access to a space other than global memory may reach."""
        if space == self.windows.CLUSTER:
            return self.in_cluster(address, shown, index)
        held, holds, array, length = f"%{space}_size", f"%{space}", space, ""
        if space == "shared" and self.program.clustered:
            address = Lowering(self.emitter, {"%address": address, "%begins": "%part"}).low(self.own, 64)
        elif space not in ("const", "param", "shared", "local"):
            held, holds = self.bank(banks().bank_of(space))
            array, length = "a bank of constants", held
        return Reached(held, holds, array, length, address, "%slot")

    def in_cluster(self, address: str, shown: str, index: int) -> Reached:
        """The part of a CTA of the cluster, which has not ended, that an address names."""
        e, text = self.emitter, self.text
        part = Lowering(e, {"%address": address}).low(self.windows.part_of(ADDRESS), 64)
        owned = rules().has_owner(variable("%rank", 64), variable("%members", 64))
        self.check(Lowering(e, {"%rank": part, "%members": "%cluster"}).truth(owned), shown, index)
        slot = e.binary("add", e.binary("sub", "%slot", "%rank", 64), part, 64)
        gone = f"%gone{len(text.lines)}"
        cell = text.at("gone", slot, 8)
        text.lines.append(f"  {gone} = load i64, ptr {cell}")
        ended = rules().has_ended(variable("%ended", 64), variable("%threads", 64))
        self.check(Lowering(e, {"%ended": gone, "%threads": "%threads"}).truth(~ended), shown, index)
        address = Lowering(e, {"%address": address}).low(self.windows.place_in_part(ADDRESS), 64)
        return Reached("%shared_size", "%shared", "shared", "", address, slot)

    def holds(self, condition: Bool, address: str) -> str:
        """Whether a condition on an address holds."""
        found: str = Lowering(self.emitter, {"%address": address}).truth(condition)
        return found

    def bank(self, number: int) -> tuple[str, str]:
        """How many bytes a bank of constants holds, and the pointer to them."""
        held, holds = self.text.at("banks", str(2 * number), 8), self.text.at("banks", str(2 * number + 1), 8)
        return self.emitter.emit(f"load i64, ptr {held}"), self.emitter.emit(f"load ptr, ptr {holds}")

    def generic(self, address: str, size: int, write: bool, index: int, into: Collection[str]) -> str:
        """Most addresses lie beyond all windows; for the others ask each window in turn. Each way has its own checks; what lies
        in none of the state spaces `into` is refused, if there are any."""
        e, text = self.emitter, self.text
        join, elsewhere, near = text.label("found"), text.label("global"), text.label("near")
        ways: list[tuple[str, str]] = []
        known = e.known()
        among = self.holds(~self.windows.within("global", ADDRESS), address)
        text.lines.append(f"  br i1 {among}, label %{near}, label %{elsewhere}")
        before = e.known()
        text.begin(near)
        for space, base in self.windows.WINDOWS.items():
            offset = e.binary("sub", address, str(base), 64)
            hit, miss = text.label("window"), text.label("outside")
            reached = self.windows.reached_in(space)
            inside = self.holds(self.windows.within(reached, ADDRESS), address)
            text.lines.append(f"  br i1 {inside}, label %{hit}, label %{miss}")
            text.begin(hit)
            outer = e.known()
            if rules().may_lie(space, into):
                pointer = self.in_space(self.shared_by_cluster(reached) or space, offset, address, size, write, index)
            else:
                pointer = self.nowhere(address, size, index)
            ways.append((pointer, self._leaves(join)))
            e.go_back(outer)
            text.begin(miss)
        text.lines.append(f"  br label %{elsewhere}")
        text.begin(elsewhere)
        e.go_back(before)
        if rules().may_lie("global", into):
            pointer = self.in_space("global", address, address, size, write, index)
        else:
            pointer = self.nowhere(address, size, index)
        ways.append((pointer, self._leaves(join)))
        return self._meets(join, ways, known, size)

    def _meets(self, join: str, ways: list[tuple[str, str]], known: dict[str, str], size: int) -> str:
        """The pointer to so many bytes that one of the ways to here has found: (the pointer, the label from which)."""
        text = self.text
        text.begin(join)
        self.emitter.go_back(known)
        name = f"%g{len(text.lines)}"
        text.lines.append(f"  {name} = phi ptr " + ", ".join(f"[{p}, %{b}]" for p, b in ways))
        text.held[name] = size
        return name

    def _leaves(self, join: str) -> str:
        """Go to where the ways meet; the label from which."""
        leave = self.text.label("leave")
        self.text.lines.append(f"  br label %{leave}")
        self.text.begin(leave)
        self.text.lines.append(f"  br label %{join}")
        return leave
