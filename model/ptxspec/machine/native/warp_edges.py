"""Ways of the lanes of a warp from block to block, apart and together, and out of the function of their turn."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import cast

from ptxspec import contracts
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.edges import MOST, TAKEN
from ptxspec.machine.native.registers import IN_ROWS
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.native.warp_registers import NUMBERS, TRUTHS, WORD, WarpHomes, WarpRows
from ptxspec.terms.core import Bool, integer, truth
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.vectors import VectorEmitter
from ptxspec.terms.vocabulary import FALSE, TRUE

#: the name of a block's text, for lanes of which none is elsewhere, and for those that have parted from others
TOGETHER, APART = "block", "apart"
#: a block behind all others
NONE = (1 << 31) - 1


class WarpEdges:
    """The edges of the blocks of a warp's function. Lanes are bits of a word."""

    def __init__(self, text: FunctionText, homes: WarpHomes, rows: WarpRows, constant: AbstractSet[str]):
        self.text, self.homes, self.rows = text, homes, rows
        self.layout, self.flow = text.layout, text.flow
        self.emitter = cast(VectorEmitter, text.emitter)
        #: the blocks that are reached, and for which lanes: whether these have parted from others; and those not written yet
        self.reached: set[tuple[int, bool]] = set()
        self.todo: list[tuple[int, bool]] = []
        #: those at which lanes stand within a turn
        self.parked: set[int] = set()
        #: registers that the first block gives the only value that they have in a CTA: they are in their rows from its end on
        entered = set().union(*(self.layout.live[number] for number in self.layout.entered))
        self.early = constant & self.layout.writes[0] & entered if self.flow.blocks else set()
        for number in sorted(self.layout.entered):
            self.label(number)

    @property
    def apart(self) -> bool:
        """Whether what is being written is for lanes that have parted from others."""
        return self.homes.apart

    @apart.setter
    def apart(self, apart: bool) -> None:
        self.homes.apart = apart

    def label(self, number: int) -> str:
        """Where a block begins, in the text that is being written."""
        if (number, self.apart) not in self.reached:
            self.reached.add((number, self.apart))
            self.todo.append((number, self.apart))
        return f"{APART if self.apart else TOGETHER}.{number}"

    def word(self, name: str) -> str:
        value = self.emitter.fresh()
        self.text.lines.append(f"  {value} = load {WORD}, ptr %{name}")
        return value

    def go(self, target: int | None, lanes: str) -> None:
        """Let lanes go on at a block; if they go back, their turn may be over. No lanes are elsewhere unless they are apart."""
        text, lines = self.text, self.text.lines
        if target is None:
            self.leave(len(self.flow.blocks), lanes)
            self.resume()
            return
        ends = self.ends_turn(target)
        if ends is not FALSE:
            over, on = text.label("over"), text.label("on")
            lines.append(f"  br i1 {self._is_over(ends)}, label %{over}, label %{on}\n{over}:")
            known = self.emitter.known()
            self.spill(self.layout.live[target], lanes)
            self.leave(target, lanes)
            self.resume()
            text.begin(on)
            self.emitter.go_back(known)
        if not self.apart:
            lines.append(f"  store {WORD} {lanes}, ptr %active\n  br label %{self.label(target)}")
            return
        nearest, before = self.emitter.fresh(), self.emitter.fresh()
        on, park = text.label("on"), text.label("park")
        lines.append(
            f"  {nearest} = load i32, ptr %next_other\n  {before} = icmp ult i32 {target}, {nearest}\n"
            f"  br i1 {before}, label %{on}, label %{park}\n{on}:\n"
            f"  store {WORD} {lanes}, ptr %active\n  br label %{self.label(target)}\n{park}:"
        )
        self.park(target, lanes)
        lines.append("  br label %dispatch")

    def ends_turn(self, to: int) -> Bool:
        page = contracts.schedule
        return truth(page.ends_turn(integer(self.text.number), integer(to), False, TAKEN, MOST))

    def _is_over(self, ends: Bool) -> str:
        """Whether a turn that has had so many instructions by now is over."""
        taken = self.emitter.fresh()
        self.text.lines.append(f"  {taken} = load i64, ptr %taken")
        over: str = Lowering(self.emitter, {"%taken": taken, "%most": "%turn_length"}).truth(ends)
        return over

    def park(self, target: int, lanes: str) -> None:
        """Let lanes stand at a block until it is their turn within the turn."""
        self.parked.add(target)
        was = self.apart
        for self.apart in (False, True):
            self.label(target)
        self.apart = was
        e, lines = self.emitter, self.text.lines
        truths, places, placed, nearest, least = e.truths(lanes), e.fresh(), e.fresh(), e.fresh(), e.fresh()
        e.needs.add("declare i32 @llvm.umin.i32(i32, i32)")
        lines.append(
            f"  {places} = load {NUMBERS}, ptr %places\n"
            f"  {placed} = select {TRUTHS} {truths}, {NUMBERS} splat (i32 {target}), {NUMBERS} {places}\n"
            f"  store {NUMBERS} {placed}, ptr %places\n  {nearest} = load i32, ptr %next_other\n"
            f"  {least} = call i32 @llvm.umin.i32(i32 {nearest}, i32 {target})\n  store i32 {least}, ptr %next_other"
        )

    def leave(self, block: int, lanes: str) -> None:
        """Let lanes leave the turn: they stand at a block, or have ended."""
        ends = block == len(self.flow.blocks)
        if not ends or self.layout.meets or self.text.program.clustered:  # else nobody asks who has ended
            self.text.lines.append(f"  call void @enqueue_lanes(ptr %context, i64 %base, i64 {block}, {WORD} {lanes})")
        self.stop(lanes)

    def stop(self, lanes: str) -> None:
        e, lines = self.emitter, self.text.lines
        running, left = self.word("running"), e.fresh()
        rest = e.binary("xor", lanes, "-1", LANES)
        lines.append(f"  {left} = and {WORD} {running}, {rest}\n  store {WORD} {left}, ptr %running")

    def resume(self) -> None:
        """Go on with the lanes that are elsewhere, if there are any."""
        self.text.lines.append(f"  br label %{'dispatch' if self.apart else 'over'}")

    def spill(self, names: set[str], lanes: str) -> None:
        """Store registers of lanes in their rows that are not there yet."""
        self.store(names - self.early, lanes)

    def store(self, names: AbstractSet[str], lanes: str) -> None:
        """Store registers of lanes in their rows: whole vectors where these are all lanes there may be, which is quicker."""
        if names <= IN_ROWS:
            return
        text, e = self.text, self.emitter
        every, some, on = (text.label(stem) for stem in ("every", "some", "stored"))
        text.lines.append(f"  br i1 {e.compare('eq', lanes, '-1', LANES)}, label %{every}, label %{some}")
        known = e.known()
        for label, which in ((every, None), (some, lanes)):
            text.begin(label)
            e.go_back(known)
            for name in sorted(names - IN_ROWS):
                self.rows.store(name, self.homes.load(name), which)
            text.lines.append(f"  br label %{on}")
        text.begin(on)
        e.go_back(known)

    def dispatch(self) -> None:
        """Go on with the lanes that stand at the first block, of those that run."""
        text, lines, e = self.text, self.text.lines, self.emitter
        text.leave_blocks()
        lines.append("dispatch:")
        running = self.word("running")
        none = e.compare("eq", running, "0", LANES)
        lines.append(f"  br i1 {none}, label %over, label %find\nfind:")
        places = e.fresh()
        lines.append(f"  {places} = load {NUMBERS}, ptr %places")
        e.varying.add(places)
        standing = e.select(e.truths(running), places, str(NONE), 32)
        first = e.reduced("umin", standing, 32)
        chosen = e.bits(e.compare("eq", standing, first, 32))
        here = e.binary("and", chosen, running, LANES)
        rest = e.binary("and", running, e.binary("xor", here, "-1", LANES), LANES)
        others = e.reduced("umin", e.select(e.truths(rest), places, str(NONE), 32), 32)
        lines.append(f"  store {WORD} {here}, ptr %active\n  store i32 {others}, ptr %next_other")
        alone = e.compare("eq", rest, "0", LANES)
        lines.append(f"  br i1 {alone}, label %all_together, label %parted")
        for label, stem in (("all_together", "joined"), ("parted", APART)):
            ways = " ".join(f"i32 {b}, label %{stem}.{b}" for b in sorted(self.parked))
            lines.append(f"{label}:\n  switch i32 {first}, label %nowhere [{ways}]")
        lines.append("nowhere:\n  unreachable")
        for target in sorted(self.parked):
            lines.append(f"joined.{target}:")
            self._take(target, self._from_far)

    def _take(self, target: int, load: Callable[[str], str]) -> None:
        """Have what is read at a block in the homes, and go there together."""
        self.emitter.forget()
        self.homes.apart = False
        for name in sorted(self.layout.live[target] - IN_ROWS):
            value = load(name)
            self.homes.store(name, value)
            if name in self.homes.shaped:
                self.homes.keep_shape(name, self.emitter.described(value, self.text.kernel.registers[name].width))
        self.text.lines.append(f"  br label %{TOGETHER}.{target}")

    def _from_far(self, name: str) -> str:
        self.homes.apart = True
        value = self.homes.load(name)
        self.homes.apart = False
        return value

    def enter(self) -> None:
        """Where threads come in."""
        lines = self.text.lines
        targets = [b for b in range(len(self.flow.blocks)) if b in self.layout.entered]
        for target in targets:
            lines.append(f"enter.{target}:")
            self._take(target, self.rows.load)
        ways = " ".join(f"i64 {t}, label %enter.{t}" for t in targets)
        lines.append(f"enter:\n  switch i64 %start, label %nowhere [{ways}]")

    def settle(self, target: int | None, lanes: str) -> None:
        """Let lanes, if there are any, stand at a block within the turn, or leave it if their turn is over."""
        text, e = self.text, self.emitter
        some, on = text.label("some"), text.label("settled")
        text.lines.append(f"  br i1 {e.compare('eq', lanes, '0', LANES)}, label %{on}, label %{some}")
        known = e.known()
        text.begin(some)
        ends = TRUE if target is None else self.ends_turn(target)
        if ends is not TRUE:
            assert target is not None
            over, stays = text.label("over"), text.label("stays")
            text.lines.append(f"  br i1 {self._is_over(ends)}, label %{over}, label %{stays}")
            text.begin(stays)
            self.park(target, lanes)
            text.lines.append(f"  br label %{on}")
            text.begin(over)
            e.go_back(known)
        if target is not None:
            self.spill(self.layout.live[target], lanes)
        self.leave(len(self.flow.blocks) if target is None else target, lanes)
        text.lines.append(f"  br label %{on}")
        text.begin(on)
        e.go_back(known)

    def part(self, *targets: int | None) -> None:
        """Have what is read at some blocks where lanes find it that have parted."""
        if self.apart:
            return
        for name in sorted(set().union(*(self.layout.live[t] for t in targets if t is not None)) - IN_ROWS):
            value = self.homes.load(name)
            self.apart = True
            self.homes.store(name, value)
            self.apart = False
