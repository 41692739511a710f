"""Accesses to memory, each with the checks that come before it."""

from __future__ import annotations

from ptxspec.language.checked import Op, banks, spaces, unbanked
from ptxspec.machine.call_graph import stack_moves
from ptxspec.machine.memory import rules
from ptxspec.machine.native.context import VARIABLE
from ptxspec.machine.native.writing import Writing
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.effects import Access, Load
from ptxspec.terms.lowering import Lowering

ADDRESS = variable("%address", 64)


class Accesses(Writing):
    """From an address to the host's pointer."""

    def access(self, op: Op, lowering: Lowering, index: int) -> str:
        """Emit the checks of an access and return the host's pointer. Everything emitted here dominates what follows."""
        effect = op.plan.meaning.effect
        assert isinstance(effect, Access)
        write, size = not isinstance(effect, Load), effect.bytes
        address = lowering.low(effect.address, 64)
        if index in self.program.overruns:
            self.check("false", address, index, VARIABLE)
        space = op.space or self.shared_by_cluster(effect.space) or effect.space.split("::")[0]
        name = self.outlined.access(space, size, write) if self.outlined is not None else None
        if name is not None:
            # a call each time: what an access finds may have changed since
            pointer = f"%at{index}"
            self.lines.append(f"  {pointer} = call ptr {name}(ptr %context, i64 %lane, i64 {address})")
            self.held[pointer] = size
            self.check(self.emitter.emit(f"icmp ne ptr {pointer}, null"), address, index)
            return pointer
        if space == "generic":
            return self.generic(address, size, write, index)
        return self.in_space(space, address, address, size, write, index)

    def shared_by_cluster(self, space: str) -> str | None:
        """The name of the space if it is the shared memory of a cluster of several CTAs, else None."""
        return space if self.program.clustered and space == self.layout.CLUSTER else None

    def in_space(self, space: str, address: str, shown: str, size: int, write: bool, index: int) -> str:
        """The pointer for an address of a space; `shown` is the address as the instruction has it, for a fault."""
        e = self.emitter
        facts = spaces().SPACES["shared" if space == self.layout.CLUSTER else unbanked(space)]
        if write and not facts.written:
            self.check("false", shown, index)
            return self.at("param", "0", 1, size)
        aligned = self.holds(rules().aligned(ADDRESS, size), address)
        if space == "global":
            in_buffers = e.binary("sub", address, "%buffer_base", 64)
            is_buffer = e.compare("ult", in_buffers, "%buffer_size", 64)
            shifted = e.binary("add", in_buffers, "%buffer_start", 64)
            in_module = e.binary("sub", address, "%module_base", 64)
            offset = e.select(is_buffer, shifted, in_module, 64)
            inside = e.logic("or", is_buffer, e.compare("ult", in_module, "%module_size", 64))
            self.check(e.logic("and", aligned, inside), shown, index)
            shadow = self.at("shadow", offset, 1, size)
            states = e.emit(f"load i{size * 8}, ptr {shadow}, align 1")
            permitted = rules().permitted(variable("%states", size * 8), size, write)
            self.check(Lowering(e, {"%states": states}).truth(permitted), shown, index)
            return self.at("arena", offset, 1, size)
        slot, held, holds, array, length = "%slot", f"%{space}_size", f"%{space}", space, ""
        if space == self.layout.CLUSTER:
            held, holds, part = "%shared_size", "%shared", e.binary("lshr", address, str(self.layout.PART_BITS), 64)
            owned = rules().has_owner(variable("%rank", 64), variable("%members", 64))
            self.check(Lowering(e, {"%rank": part, "%members": "%cluster"}).truth(owned), shown, index)
            slot = e.binary("add", e.binary("sub", "%slot", "%rank", 64), part, 64)
            gone = f"%gone{len(self.lines)}"
            cell = self.at("gone", slot, 8)
            self.lines.append(f"  {gone} = load i64, ptr {cell}")
            ended = rules().has_ended(variable("%ended", 64), variable("%threads", 64))
            self.check(Lowering(e, {"%ended": gone, "%threads": "%threads"}).truth(~ended), shown, index)
            address, space, array = e.binary("and", address, str(self.layout.PART - 1), 64), "shared", "shared"
        elif space == "shared" and self.program.clustered:
            address = e.binary("sub", address, "%part", 64)
        elif space not in ("const", "param", "shared", "local"):
            held, holds = self.bank(banks().bank_of(space))
            array, length = "a bank of constants", held
        within = Lowering(e, {"%address": address, "%held": held}).truth(
            rules().inside(ADDRESS, size, variable("%held", 64))
        )
        self.check(e.logic("and", aligned, within), shown, index)
        offset = address
        if facts.written:  # there is a part for every CTA, or for every thread
            which = "%lane" if facts.shared_by == "a thread" else slot
            begin = rules().part(variable("%which", 64), variable("%apart", 64))
            start = Lowering(e, {"%which": which, "%apart": f"%{space}_stride"}).low(begin, 64)
            offset = e.binary("add", start, address, 64)
        if space == "local" and stack_moves(self.kernel):
            states, name = self.at("alive", offset, 1, size), f"%states{len(self.lines)}"
            self.lines.append(f"  {name} = load i{size * 8}, ptr {states}, align 1")  # never one that was loaded before
            there = rules().alive(variable("%states", size * 8), size)
            self.check(Lowering(e, {"%states": name}).truth(there), shown, index)
        return self.at(array, offset, 1, size, base=holds, length=length)

    def holds(self, condition: Bool, address: str) -> str:
        """Whether a condition on an address holds."""
        return Lowering(self.emitter, {"%address": address}).truth(condition)

    def bank(self, number: int) -> tuple[str, str]:
        """How many bytes a bank of constants holds, and the pointer to them."""
        held, holds = self.at("banks", str(2 * number), 8), self.at("banks", str(2 * number + 1), 8)
        return self.emitter.emit(f"load i64, ptr {held}"), self.emitter.emit(f"load ptr, ptr {holds}")

    def generic(self, address: str, size: int, write: bool, index: int) -> str:
        """Most addresses lie beyond all windows; for the others ask each window in turn. Each way has its own checks."""
        e = self.emitter
        join, elsewhere, near = self.label("found"), self.label("global"), self.label("near")
        ways: list[tuple[str, str]] = []
        known = dict(e._seen)
        among = self.holds(~self.layout.within("global", ADDRESS), address)
        self.lines.append(f"  br i1 {among}, label %{near}, label %{elsewhere}")
        before = dict(e._seen)
        self.begin(near)
        for space, base in self.layout.WINDOWS.items():
            offset = e.binary("sub", address, str(base), 64)
            hit, miss = self.label("window"), self.label("outside")
            inside = self.holds(
                self.layout.within(self.layout.CLUSTER if space == "shared" else space, ADDRESS), address
            )
            self.lines.append(f"  br i1 {inside}, label %{hit}, label %{miss}")
            self.begin(hit)
            outer = dict(e._seen)
            named = self.shared_by_cluster(self.layout.CLUSTER) if space == "shared" else None
            pointer = self.in_space(named or space, offset, address, size, write, index)
            leave = self.label("leave")
            self.lines.append(f"  br label %{leave}")
            self.begin(leave)
            self.lines.append(f"  br label %{join}")
            ways.append((pointer, leave))
            e._seen.clear()
            e._seen.update(outer)
            self.begin(miss)
        self.lines.append(f"  br label %{elsewhere}")
        self.begin(elsewhere)
        e._seen.clear()
        e._seen.update(before)
        pointer = self.in_space("global", address, address, size, write, index)
        leave = self.label("leave")
        self.lines.append(f"  br label %{leave}")
        self.begin(leave)
        self.lines.append(f"  br label %{join}")
        ways.append((pointer, leave))
        self.begin(join)
        e._seen.clear()
        e._seen.update(known)
        name = f"%g{len(self.lines)}"
        self.lines.append(f"  {name} = phi ptr " + ", ".join(f"[{p}, %{b}]" for p, b in ways))
        self.held[name] = size
        return name
