"""Narrow loops: blocks that go back to themselves and only compute. The threads that have gathered at one go through it side by
side.

Some threads at a time have what the loop reads copied into a tile, a row a register, where LLVM lets the processor work on many
of them at once. What comes out is taken thread by thread, in the order of their turns, so that a turn is as if its thread had
gone through the loop alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.language import tree
from ptxspec.machine import hosts
from ptxspec.machine.flow import ending, values_of
from ptxspec.machine.native.blocks import BlockText
from ptxspec.machine.native.context import bits_of
from ptxspec.terms.types import TYPES, Type

if TYPE_CHECKING:
    from ptxspec.machine.native.engine import Compiled

#: threads that go through a loop side by side
WIDE = 64
#: what a turn's code gives when it is over
OVER = -1
_ACTIVE, _ROUNDS = "@active", "@rounds"


class Narrow(BlockText):
    """Writes the functions of one narrow loop: `narrow` goes through it, `committed` takes a thread's outcome."""

    def __init__(self, compiled: Compiled, number: int, needs: set[str]):
        super().__init__(compiled, needs)
        self.enter_block(number)
        self.ops = self.kernel.code[self.block.start : self.block.end]
        self.length = len(self.ops)
        self.last = self.ops[-1]
        guard = self.last.guard
        assert ending(self.last) is not None and guard is not None
        self.leaves_to = self.block.next if self.block.taken == number else self.block.taken
        self.stays_if = guard[1] is False if self.block.taken == number else guard[1]
        written = compiled.writes[number]
        read = self.live[number]
        #: where each row of the tile begins, and what it holds
        self.rows: dict[str, tuple[int, Type]] = {}
        self.tile_bytes = 0
        for name in sorted(read | (written & self.live_out)):
            self._add(name, self.kernel.registers[name])
        for name in sorted({o.text for op in self.ops for _, _, o in values_of(op) if isinstance(o, tree.Name)}):
            if name in compiled.special_offsets:
                self._add(name, compiled.special_types[name])
        self._add(_ACTIVE, TYPES["pred"])
        self._add(_ROUNDS, TYPES["u32"])
        self.kept = sorted(written & self.live_out)

    def _add(self, name: str, type: Type) -> None:
        self.rows[name] = (self.tile_bytes, type)
        self.tile_bytes += WIDE * bits_of(type) // 8

    def cell(self, name: str, slot: str) -> str:
        """The pointer to a thread's place in a row of the tile."""
        at, type = self.rows[name]
        unit = bits_of(type) // 8
        base = self.emitter.emit(hosts.within("%tile", self.compiled.tile_bytes, at, 1))
        return self.emitter.emit(
            hosts.pointer(self.compiled.checked, "tile", base, slot, unit, unit, str(WIDE * unit), self.op)
        )

    def load_cell(self, name: str, slot: str) -> str:
        bits = bits_of(self.rows[name][1])
        return self.emitter.emit(f"load i{bits}, ptr {self.cell(name, slot)}")

    def store_cell(self, name: str, slot: str, word: str) -> None:
        """Store a word as it lies in memory."""
        bits = bits_of(self.rows[name][1])
        self.lines.append(f"  store i{bits} {word}, ptr {self.cell(name, slot)}")

    # inside the loop ------------------------------------------------------------------------------------------------

    def load_register(self, name: str) -> str:
        word = self.load_cell(name, "%j")
        return self.emitter.emit(f"trunc i8 {word} to i1") if self.rows[name][1].kind == "pred" else word

    def read_special(self, name: str) -> str:
        return self.load_register(name)

    def _round(self) -> list[str]:
        """One thread's way through the block."""
        self.lines.clear()
        for op in self.ops[:-1]:
            self.instruction(op, self.block.start)
        assert self.last.guard is not None
        stays = self.register(self.last.guard[0])
        if not self.stays_if:
            stays = self.emitter.logic("xor", stays, "true")
        active = self.emitter.emit(f"trunc i8 {self.load_cell(_ACTIVE, '%j')} to i1")
        rounds = self.load_cell(_ROUNDS, "%j")
        news = []
        for name in sorted(self.changed & self.rows.keys()):
            type = self.rows[name][1]
            width = 1 if type.kind == "pred" else type.width
            new = self.emitter.select(active, self.current[name], self.load_register(name), width)
            news.append((name, self.emitter.emit(f"zext i1 {new} to i8") if type.kind == "pred" else new))
        on = self.emitter.logic("and", active, stays)
        more = self.emitter.emit(f"add i32 {rounds}, {self.emitter.emit(f'zext i1 {active} to i32')}")
        on_word = self.emitter.emit(f"zext i1 {on} to i8")
        for name, word in (*news, (_ACTIVE, on_word), (_ROUNDS, more)):
            self.store_cell(name, "%j", word)
        self.lines.append(f"  %any1 = or i8 %any, {on_word}")
        return self.lines[:]

    def _gathered(self) -> list[str]:
        """Copy what one thread has into the tile."""
        self.lines.clear()
        self.emitter.forget()
        for name, (_, type) in self.rows.items():
            if name in (_ACTIVE, _ROUNDS):
                continue
            if name in self.kernel.registers:
                bits = bits_of(type)
                word = self.emitter.emit(f"load i{bits}, ptr {self.where(name)}")
            else:
                bits, base = bits_of(type), f"%special_{self.compiled.special_offsets[name]}"
                length = str(bits // 8 * self.compiled.capacity)
                word = self.emitter.emit(
                    f"load i{bits}, ptr {self.at('special', '%lane', bits // 8, base=base, length=length)}"
                )
            self.store_cell(name, "%g", word)
        self.store_cell(_ACTIVE, "%g", "1")
        self.store_cell(_ROUNDS, "%g", "0")
        return self.lines[:]

    def _idle(self) -> list[str]:
        self.lines.clear()
        self.emitter.forget()
        self.store_cell(_ACTIVE, "%i", "0")
        return self.lines[:]

    def function(self) -> str:
        """`narrow(context, lanes, n)`: at most WIDE threads, as far as they get in one turn."""
        inside, gathered, idle = self._round(), self._gathered(), self._idle()
        self.lines[:] = [*inside, *gathered, *idle]
        lane = hosts.pointer(self.compiled.checked, "scratch", "%lanes", "%g", 4, 4, f"{4 * WIDE}")
        fields = self.fields({"tile", "tile_bytes", "turn_length", "scratch"})
        return "\n".join(
            [
                f"define internal void @narrow{self.number}(ptr noalias %context, ptr %lanes, i64 %n) noinline {{",
                "entry:",
                *fields,
                f"  %most = add i64 %turn_length, {self.length - 1}\n  %rounds = udiv i64 %most, {self.length}",
                f"  br label %gather\ngather:\n  %g = phi i64 [0, %entry], [%g1, %gather]\n  %lane_at = {lane}",
                "  %lane32 = load i32, ptr %lane_at\n  %lane = zext i32 %lane32 to i64",
                *gathered,
                "  %g1 = add i64 %g, 1\n  %others = icmp ult i64 %g1, %n\n  br i1 %others, label %gather, label %rest",
                f"rest:\n  %full = icmp uge i64 %n, {WIDE}\n  br i1 %full, label %round, label %idle",
                "idle:\n  %i = phi i64 [%n, %rest], [%i1, %idle]",
                *idle,
                f"  %i1 = add i64 %i, 1\n  %idles = icmp ult i64 %i1, {WIDE}\n  br i1 %idles, label %idle, label %round",
                "round:\n  %r = phi i64 [0, %rest], [0, %idle], [%r1, %look]\n  br label %each",
                "each:\n  %j = phi i64 [0, %round], [%j1, %each]\n  %any = phi i8 [0, %round], [%any1, %each]",
                *inside,
                f"  %j1 = add i64 %j, 1\n  %again = icmp ult i64 %j1, {WIDE}\n  br i1 %again, label %each, label %look",
                "look:\n  %r1 = add i64 %r, 1\n  %left = icmp ult i64 %r1, %rounds\n  %some = icmp ne i8 %any1, 0",
                "  %on = and i1 %left, %some\n  br i1 %on, label %round, label %done",
                "done:\n  ret void\n}",
            ]
        )

    # a thread's outcome ---------------------------------------------------------------------------------------------

    def outcome(self) -> str:
        """`committed(context, lane, slot, turn)`: keep what a thread has computed, and count its steps; the block at which it
        goes on in its turn, or OVER."""
        self.lines.clear()
        self.emitter.forget()
        for name in self.kept:
            bits = bits_of(self.rows[name][1])
            self.lines.append(f"  store i{bits} {self.load_cell(name, '%slot_in')}, ptr {self.where(name)}")
        rounds = self.emitter.extend(self.load_cell(_ROUNDS, "%slot_in"), 32, 64, False)
        self.lines.append(f"  store i64 {self.emitter.binary('mul', rounds, str(self.length), 64)}, ptr %turn")
        active = self.load_cell(_ACTIVE, "%slot_in")
        self.lines.append(f"  %remains = icmp ne i8 {active}, 0\n  br i1 %remains, label %back, label %on\nback:")
        self.emitter.forget()
        self.append(str(self.number))
        self.lines.append(f"  ret i64 {OVER}\non:")
        to = self.leaves_to
        if to is None or to in self.program.flow.narrow:
            self.emitter.forget()
            self.append(str(len(self.program.flow.blocks) if to is None else to))
            to = OVER
        self.lines.append(f"  ret i64 {to}")
        body = self.lines[:]
        always = {"tile", "tile_bytes"} | ({"counts_bytes", "lists_bytes"} if self.compiled.checked else set())
        return "\n".join(
            [
                f"define internal i64 @committed{self.number}(ptr noalias %context, i64 %lane, i64 %slot_in, ptr %turn) {{",
                "entry:",
                *self.fields(always),
                *self.places(),
                *body,
                "}",
            ]
        )


def narrow_texts(compiled: Compiled, needs: set[str]) -> str:
    """The functions of all narrow loops, and the two that choose among them by the number of the block."""
    loops = [Narrow(compiled, number, needs) for number in sorted(compiled.program.flow.narrow)]
    compiled.tile_bytes = max([loop.tile_bytes for loop in loops], default=8)
    texts = [text for loop in loops for text in (loop.function(), loop.outcome())]
    ways = " ".join(f"i64 {loop.number}, label %do{loop.number}" for loop in loops)
    going = "\n".join(
        f"do{n}:\n  call void @narrow{n}(ptr %context, ptr %lanes, i64 %n)\n  ret void"
        for n in (loop.number for loop in loops)
    )
    taking = "\n".join(
        f"do{n}:\n  %r{n} = call i64 @committed{n}(ptr %context, i64 %lane, i64 %slot, ptr %turn)\n  ret i64 %r{n}"
        for n in (loop.number for loop in loops)
    )
    isnt = "\n".join(f"do{n}:\n  ret i1 true" for n in (loop.number for loop in loops))
    return "\n".join(
        [
            *texts,
            f"define internal void @go_through(ptr %context, i64 %block, ptr %lanes, i64 %n) {{\n"
            f"  switch i64 %block, label %none [{ways}]\n{going}\nnone:\n  ret void\n}}",
            f"define internal i64 @take(ptr %context, i64 %block, i64 %lane, i64 %slot, ptr %turn) {{\n"
            f"  switch i64 %block, label %none [{ways}]\n{taking}\nnone:\n  ret i64 {OVER}\n}}",
            f"define internal i1 @is_narrow(i64 %block) {{\n  switch i64 %block, label %none [{ways}]\n{isnt}\n"
            "none:\n  ret i1 false\n}",
        ]
    )
