"""Ways from block to block, and out of the function of a thread's turn."""

from __future__ import annotations

from collections.abc import Iterable

from ptxspec import contracts
from ptxspec.machine.flow import turn_successors
from ptxspec.machine.native.registers import IN_ROWS, Registers, Rows
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.core import Bool, integer, truth, truth_variable, variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter
from ptxspec.terms.vocabulary import FALSE, TRUE

#: what terms call the instructions that a turn has had, and those after which it ends
TAKEN, MOST = variable("%taken", 64), variable("%most", 64)


def ends_turn(text: FunctionText, to: int) -> Bool:
    """Whether a turn ends where its thread goes from the block that is being written to another one."""
    if text.flow.chosen:
        return TRUE
    page = contracts.schedule
    return truth(page.ends_turn(integer(text.number), integer(to), to in text.flow.narrow, TAKEN, MOST))


class Edges:
    """The edges of those blocks of a kernel that are written into one function. A register that a block reads lies in its row
    where the thread comes from outside, and has to be there where it leaves."""

    def __init__(self, text: FunctionText, registers: Registers, rows: Rows, members: range):
        self.text, self.registers, self.rows = text, registers, rows
        #: the blocks of the function; threads gather at narrow loops for turns of their own
        self.members = [block for block in members if block not in text.flow.narrow]
        self.stubs: list[str] = []
        #: blocks at which threads stand until their next turn, and blocks of other functions
        self.leaves: set[int] = set()
        self.crosses: set[int] = set()
        self.changes = self._changes()

    def _changes(self) -> dict[int, set[str]]:
        """For each block the registers that may have changed since the thread's turn began, where it comes to the block."""
        writes, flow, kernel = self.text.layout.writes, self.text.flow, self.text.kernel
        changed: dict[int, set[str]] = {b: set() for b in self.members}
        todo = list(self.members)
        while todo:
            block = todo.pop(0)
            out = changed[block] | writes[block]
            for to in turn_successors(flow.blocks[block], kernel):
                known = changed.setdefault(to, set())
                if not out <= known:
                    known |= out
                    if to in self.members and to not in todo:
                        todo.append(to)
        return changed

    def go(self, label: str) -> None:
        """Go on at a label."""
        self.text.lines.append(f"  br label %{label}")

    def to(self, target: int | None) -> str:
        """The label at which a thread goes on that comes to a block, or ends. If it goes back, its turn may be over."""
        if target is None:
            return "ends"
        ends = ends_turn(self.text, target)
        if ends is not FALSE:
            self.leaves.add(target)
        if ends is TRUE:
            return f"leave.{target}"
        inside = target in self.members
        if not inside:
            self.crosses.add(target)
        way = f"block.{target}" if inside else f"cross.{target}"
        if ends is FALSE:
            return way
        stub = self.text.label("back")
        lines = [f"{stub}:", f"  %{stub}turn = load i64, ptr %turn"]
        emitter = Emitter(lines, self.text.emitter.needs, stem=f"{stub}v")
        over = Lowering(emitter, {"%taken": f"%{stub}turn", "%most": "%turn_length"}).truth(ends)
        self.stubs += [*lines, f"  br i1 {over}, label %leave.{target}, label %{way}"]
        return stub

    def follow(self, to: str, ways: Iterable[int] = ()) -> None:
        """Go on at a block whose number is known only then. It is a narrow loop only if it is one of these."""
        text, e, turn = self.text, self.text.emitter, f"%{self.text.label('turn')}"
        text.lines.append(f"  store i64 {to}, ptr %goes\n  {turn} = load i64, ptr %turn")
        narrow = "false"
        for way in sorted(text.flow.narrow.intersection(ways)):
            narrow = e.logic("or", narrow, e.compare("eq", to, str(way), 64))
        given = {"%to": to, "%narrow": narrow, "%taken": turn, "%most": "%turn_length"}
        page, at = contracts.schedule, integer(text.number)
        ends = page.ends_turn(at, variable("%to", 64), truth_variable("%narrow"), TAKEN, MOST)
        ends = TRUE if text.flow.chosen else ends
        text.lines.append(f"  br i1 {Lowering(e, given).truth(ends)}, label %stand, label %dispatch")

    def count_steps(self) -> None:
        """Count the block's instructions among the steps of the turn."""
        length = self.text.flow.steps(self.text.block.start, self.text.block.end)
        if length:
            turn = f"%{self.text.label('turn')}"
            self.text.lines.append(
                f"  {turn} = load i64, ptr %turn\n  {turn}x = add i64 {turn}, {length}\n  store i64 {turn}x, ptr %turn"
            )

    def spill(self, names: set[str]) -> None:
        """Store those of some registers in their rows that may have changed in this turn."""
        number = self.text.number
        known = self.changes[number] | self.text.layout.writes[number]
        for name in sorted((names & known) - IN_ROWS):
            self.rows.store(name, self.registers.read(name))

    def write(self) -> None:
        """Write what lies on the edges."""
        lines = self.text.lines
        lines += self.stubs
        for target in sorted(self.leaves):
            lines.append(f"leave.{target}:")
            self._leaving(target)
            lines.append(f"  store i64 {target}, ptr %goes\n  br label %stand")
        for target in sorted(self.crosses):
            lines.append(f"cross.{target}:")
            self._leaving(target)
            lines.append(f"  ret i64 {target}")

    def _leaving(self, target: int) -> None:
        """Store what a block reads that a thread leaves for later, or for another function."""
        self.text.leave_blocks()
        self.registers.forget()
        for name in sorted((self.text.layout.live[target] & self.changes[target]) - IN_ROWS):
            self.rows.store(name, self.registers.source.load(name))
