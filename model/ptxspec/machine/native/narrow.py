"""Narrow loops: blocks that go back to themselves and only compute. The threads that have gathered at one go through it side by
side.

Some threads at a time have what the loop reads copied into a tile, a row a register, where LLVM lets the processor work on many
of them at once. What comes out is taken thread by thread, in the order of their turns, so that a turn is as if its thread had
gone through the loop alone.
"""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.machine import hosts
from ptxspec.machine.events import NO_INSTRUCTION, EventKind
from ptxspec.machine.flow import ending, values_of
from ptxspec.machine.native.context import bits_of
from ptxspec.machine.native.edges import MOST, ends_turn
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.instructions import ComputationEmitter
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers, Rows
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms import masked_logic
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import LOOP_HINT, Emitter
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import TRUE

#: threads that go through a loop side by side
WIDE = 64
#: lines of a loop of which vectors are made: they take LLVM a millisecond for each, several times as much as without vectors
MOST_IN_VECTORS = 1_500
#: what a turn's code gives when it is over
OVER = -1
_ACTIVE, _ROUNDS = "@active", "@rounds"


class Tile:
    """What a loop reads and leaves of some threads: a row a register, an element a thread; then which threads are still in the
    loop, and how often they have gone through it."""

    def __init__(self, text: FunctionText):
        self.text = text
        #: where each row begins, and what it holds
        self.rows: dict[str, tuple[int, Type]] = {}
        self.bytes = 0

    def add(self, name: str, type: Type) -> None:
        """Have a row for a register."""
        self.rows[name] = (self.bytes, type)
        self.bytes += WIDE * bits_of(type) // 8

    def cell(self, name: str, slot: str) -> str:
        """The pointer to a thread's place in a row."""
        at, type = self.rows[name]
        unit, text = bits_of(type) // 8, self.text
        base = text.emitter.emit(hosts.within("%tile", text.layout.tile_bytes, at, 1))
        return text.emitter.emit(
            hosts.pointer(text.layout.checked, "tile", base, slot, unit, unit, str(WIDE * unit), text.op)
        )

    def word(self, name: str, slot: str) -> str:
        """What a row has for a thread, as it lies in memory."""
        bits = bits_of(self.rows[name][1])
        return self.text.emitter.emit(f"load i{bits}, ptr {self.cell(name, slot)}")

    def store(self, name: str, slot: str, word: str) -> None:
        """Store a word as it lies in memory."""
        bits = bits_of(self.rows[name][1])
        self.text.lines.append(f"  store i{bits} {word}, ptr {self.cell(name, slot)}")

    def load(self, name: str) -> str:
        """The value of a register inside the loop, of the thread %j."""
        word = self.word(name, "%j")
        return self.text.emitter.emit(f"trunc i8 {word} to i1") if self.rows[name][1].kind == "pred" else word

    def special(self, name: str) -> str:
        """The same for a special register."""
        return self.load(name)

    def keep(self, name: str, value: str) -> None:
        raise AssertionError("what only computes calls nothing")


class NarrowLoop:
    """Writes the functions of one narrow loop: `narrow` goes through it, `committed` takes a thread's outcome."""

    def __init__(self, layout: Layout, number: int, needs: set[str]):
        self.layout, self.number = layout, number
        text = self.text = FunctionText(layout, needs)
        self.kernel, self.emitter, self.lines = text.kernel, text.emitter, text.lines
        text.enter_block(number)
        block = text.block
        self.ops = self.kernel.code[block.start : block.end]
        self.length = layout.program.flow.steps(block.start, block.end)
        self.last = self.ops[-1]
        guard = self.last.guard
        assert ending(self.last) is not None and guard is not None
        self.leaves_to = block.next if block.taken == number else block.taken
        self.stays_if = guard[1] is False if block.taken == number else guard[1]
        self.kept = sorted(layout.writes[number] & text.live_out)
        self.tile = self._tile()
        self.registers = Registers(text, self.tile)
        self.rows = Rows(text)
        self.computing = ComputationEmitter(text, self.registers, OperandEmitter(text, self.registers))

    def _tile(self) -> Tile:
        layout, tile = self.layout, Tile(self.text)
        for name in sorted(layout.live[self.number] | set(self.kept)):
            tile.add(name, self.kernel.registers[name])
        for name in sorted({o.text for op in self.ops for _, _, o in values_of(op) if isinstance(o, tree.Name)}):
            if name in layout.special_offsets:
                tile.add(name, layout.special_types[name])
        tile.add(_ACTIVE, TYPES["pred"])
        tile.add(_ROUNDS, TYPES["u32"])
        return tile

    # the loop -------------------------------------------------------------------------------------------------------

    def _round(self) -> list[str]:
        """One thread's way through the block."""
        emitter, tile, registers = self.emitter, self.tile, self.registers
        self.lines.clear()
        for op in self.ops[:-1]:
            self.computing.write(op)
        assert self.last.guard is not None
        stays = registers.read(self.last.guard[0])
        if not self.stays_if:
            stays = emitter.logic("xor", stays, "true")
        active = emitter.emit(f"trunc i8 {tile.word(_ACTIVE, '%j')} to i1")
        rounds = tile.word(_ROUNDS, "%j")
        news = []
        for name in sorted(registers.changed & tile.rows.keys()):
            type = tile.rows[name][1]
            new = emitter.select(active, registers.current[name], tile.load(name), type.width)
            news.append((name, emitter.emit(f"zext i1 {new} to i8") if type.kind == "pred" else new))
        on = emitter.logic("and", active, stays)
        more = emitter.emit(f"add i32 {rounds}, {emitter.emit(f'zext i1 {active} to i32')}")
        on_word = emitter.emit(f"zext i1 {on} to i8")
        for name, word in (*news, (_ACTIVE, on_word), (_ROUNDS, more)):
            tile.store(name, "%j", word)
        self.lines.append(f"  %any1 = or i8 %any, {on_word}")
        return self.lines[:]

    def _gathered(self) -> list[str]:
        """Copy what one thread has into the tile."""
        self.lines.clear()
        self.emitter.forget()
        for name, (_, type) in self.tile.rows.items():
            if name in (_ACTIVE, _ROUNDS):
                continue
            cell = self.rows.at(name) if name in self.kernel.registers else self.rows.special_at(name)
            self.tile.store(name, "%g", self.emitter.emit(f"load i{bits_of(type)}, ptr {cell}"))
        self.tile.store(_ACTIVE, "%g", "1")
        self.tile.store(_ROUNDS, "%g", "0")
        return self.lines[:]

    def _idle(self) -> list[str]:
        """Let a place of the tile have no thread."""
        self.lines.clear()
        self.emitter.forget()
        self.tile.store(_ACTIVE, "%i", "0")
        return self.lines[:]

    def function(self) -> str:
        """`narrow(context, numbers, n)`: n threads of these numbers, WIDE at most, as far as they get in one turn."""
        inside, gathered, idle = self._round(), self._gathered(), self._idle()
        self.lines[:] = [*inside, *gathered, *idle]
        limit: list[str] = []
        often = contracts.schedule.rounds(MOST, self.length)
        emitter = Emitter(limit, self.emitter.needs, stem=masked_logic.ONCE)
        rounds = Lowering(emitter, {"%most": "%turn_length"}).low(often, 64)
        calls = any(" call " in line and "@llvm." not in line for line in inside)
        hint = "" if calls or len(inside) > MOST_IN_VECTORS else LOOP_HINT  # LLVM would say that it cannot call
        cell = hosts.pointer(self.layout.checked, "scratch", "%numbers", "%g", 4, 4, f"{4 * WIDE}")
        fields = Head(self.text, {"tile", "tile_bytes", "turn_length", "scratch"}).fields()
        return "\n".join(
            [
                f"define internal void @narrow{self.number}(ptr noalias %context, ptr %numbers, i64 %n) noinline {{",
                "entry:",
                *fields,
                *limit,
                f"  br label %gather\ngather:\n  %g = phi i64 [0, %entry], [%g1, %gather]\n  %thread_at = {cell}",
                "  %thread32 = load i32, ptr %thread_at\n  %thread = zext i32 %thread32 to i64",
                *gathered,
                "  %g1 = add i64 %g, 1\n  %others = icmp ult i64 %g1, %n\n  br i1 %others, label %gather, label %rest",
                f"rest:\n  %full = icmp uge i64 %n, {WIDE}\n  br i1 %full, label %round, label %idle",
                "idle:\n  %i = phi i64 [%n, %rest], [%i1, %idle]",
                *idle,
                f"  %i1 = add i64 %i, 1\n  %idles = icmp ult i64 %i1, {WIDE}\n  br i1 %idles, label %idle, label %round",
                "round:\n  %r = phi i64 [0, %rest], [0, %idle], [%r1, %look]\n  br label %each",
                "each:\n  %j = phi i64 [0, %round], [%j1, %each]\n  %any = phi i8 [0, %round], [%any1, %each]",
                *inside,
                f"  %j1 = add i64 %j, 1\n  %again = icmp ult i64 %j1, {WIDE}",
                f"  br i1 %again, label %each, label %look{hint}",
                f"look:\n  %r1 = add i64 %r, 1\n  %left = icmp ult i64 %r1, {rounds}\n  %some = icmp ne i8 %any1, 0",
                "  %on = and i1 %left, %some\n  br i1 %on, label %round, label %done",
                "done:\n  ret void\n}",
            ]
        )

    # a thread's outcome ---------------------------------------------------------------------------------------------

    def outcome(self) -> str:
        """`committed(context, thread, slot, turn)`: keep what a thread has computed, and count its steps; the block at which it
        goes on in its turn, or OVER."""
        self.lines.clear()
        self.emitter.forget()
        for name in self.kept:
            bits = bits_of(self.tile.rows[name][1])
            self.lines.append(f"  store i{bits} {self.tile.word(name, '%slot_in')}, ptr {self.rows.at(name)}")
        rounds = self.emitter.extend(self.tile.word(_ROUNDS, "%slot_in"), 32, 64, False)
        taken = self.emitter.binary("mul", rounds, str(self.length), 64)
        self.lines.append(f"  store i64 {taken}, ptr %turn")
        self._count(rounds)
        active = self.tile.word(_ACTIVE, "%slot_in")
        self.lines.append(f"  %remains = icmp ne i8 {active}, 0\n  br i1 %remains, label %back, label %on\nback:")
        self.emitter.forget()
        self.text.enqueue(str(self.number))
        self.lines.append(f"  ret i64 {OVER}\non:")
        self._leave(taken)
        body = self.lines[:]
        always = {"tile", "tile_bytes"} | ({"counts_bytes", "lists_bytes"} if self.layout.checked else set())
        head = Head(self.text, always)
        return "\n".join(
            [
                f"define internal i64 @committed{self.number}(ptr noalias %context, i64 %thread, i64 %slot_in, ptr %turn) {{",
                "entry:",
                *head.fields(),
                *head.places(),
                *body,
                "}",
            ]
        )

    def _count(self, rounds: str) -> None:
        """Count, in a launch that counts, how often the thread went through the loop and the guard of the branch held."""
        e, index = self.emitter, self.text.block.end - 1
        left = e.emit(f"zext i1 {e.compare('eq', self.tile.word(_ACTIVE, '%slot_in'), '0', 8)} to i64")
        branched = e.binary("sub", rounds, left, 64) if self.text.block.taken == self.number else left
        self.text.count("count_entries", self.number, rounds)
        self.text.count("count_active", index, branched)

    def _leave(self, taken: str) -> None:
        """Go on behind the loop, where a turn that has had so many instructions may end."""
        to, ended = self.leaves_to, len(self.text.flow.blocks)
        ends = TRUE if to is None else ends_turn(self.text, to)
        self.emitter.forget()
        over = Lowering(self.emitter, {"%taken": taken, "%most": "%turn_length"}).truth(ends)
        self.lines.append(f"  br i1 {over}, label %stands, label %goes\nstands:")
        self.emitter.forget()
        self.text.enqueue(str(ended if to is None else to))
        if to is None:
            self.text.event(EventKind.EXIT, index=NO_INSTRUCTION)
        self.lines.append(f"  ret i64 {OVER}\ngoes:\n  ret i64 {OVER if to is None else to}")


def narrow_texts(layout: Layout, needs: set[str]) -> str:
    """The functions of all narrow loops, and the two that choose among them by the number of the block."""
    loops = [NarrowLoop(layout, number, needs) for number in sorted(layout.program.flow.narrow)]
    layout.tile_bytes = max([loop.tile.bytes for loop in loops], default=8)
    texts = [text for loop in loops for text in (loop.function(), loop.outcome())]
    ways = " ".join(f"i64 {loop.number}, label %do{loop.number}" for loop in loops)
    going = "\n".join(
        f"do{n}:\n  call void @narrow{n}(ptr %context, ptr %numbers, i64 %n)\n  ret void"
        for n in (loop.number for loop in loops)
    )
    taking = "\n".join(
        f"do{n}:\n  %r{n} = call i64 @committed{n}(ptr %context, i64 %thread, i64 %slot, ptr %turn)\n  ret i64 %r{n}"
        for n in (loop.number for loop in loops)
    )
    isnt = "\n".join(f"do{n}:\n  ret i1 true" for n in (loop.number for loop in loops))
    return "\n".join(
        [
            *texts,
            f"define internal void @go_through(ptr %context, i64 %block, ptr %numbers, i64 %n) {{\n"
            f"  switch i64 %block, label %none [{ways}]\n{going}\nnone:\n  ret void\n}}",
            f"define internal i64 @take(ptr %context, i64 %block, i64 %thread, i64 %slot, ptr %turn) {{\n"
            f"  switch i64 %block, label %none [{ways}]\n{taking}\nnone:\n  ret i64 {OVER}\n}}",
            f"define internal i1 @is_narrow(i64 %block) {{\n  switch i64 %block, label %none [{ways}]\n{isnt}\n"
            "none:\n  ret i1 false\n}",
        ]
    )
