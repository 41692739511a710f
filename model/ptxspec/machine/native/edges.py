"""Ways from block to block, and out of the function of a thread's turn."""

from __future__ import annotations

from ptxspec.machine.flow import onward
from ptxspec.machine.native.registers import IN_ROWS, Registers, Rows
from ptxspec.machine.native.text import Text


class Edges:
    """The edges of those blocks of a kernel that are written into one function. A register that a block reads lies in its row
    where the thread comes from outside, and has to be there where it leaves."""

    def __init__(self, text: Text, registers: Registers, rows: Rows, members: range):
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
        found: dict[int, set[str]] = {b: set() for b in self.members}
        todo = list(self.members)
        while todo:
            block = todo.pop(0)
            out = found[block] | writes[block]
            for to in onward(flow.blocks[block], kernel):
                known = found.setdefault(to, set())
                if not out <= known:
                    known |= out
                    if to in self.members and to not in todo:
                        todo.append(to)
        return found

    def go(self, label: str) -> None:
        """Go on at a label."""
        self.text.lines.append(f"  br label %{label}")

    def to(self, target: int | None) -> str:
        """The label at which a thread goes on that comes to a block, or ends. If it goes back, its turn may be over."""
        if target is None:
            return "ends"
        if target in self.text.flow.narrow:
            self.leaves.add(target)
            return f"leave.{target}"
        inside = target in self.members
        if not inside:
            self.crosses.add(target)
        way = f"block.{target}" if inside else f"cross.{target}"
        if target > self.text.number:
            return way
        self.leaves.add(target)
        stub = self.text.label("back")
        self.stubs.append(
            f"{stub}:\n  %{stub}turn = load i64, ptr %turn\n  %{stub}over = icmp uge i64 %{stub}turn, %turn_length\n"
            f"  br i1 %{stub}over, label %leave.{target}, label %{way}"
        )
        return stub

    def follow(self, to: str) -> None:
        """Go on at a block whose number is known only then."""
        number, turn = self.text.number, f"%{self.text.label('turn')}"
        over, back, both = turn + "over", turn + "back", turn + "both"
        self.text.lines.append(
            f"  store i64 {to}, ptr %goes\n  {turn} = load i64, ptr %turn\n  {over} = icmp uge i64 {turn}, %turn_length\n"
            f"  {back} = icmp ule i64 {to}, {number}\n  {both} = and i1 {over}, {back}\n"
            f"  br i1 {both}, label %stand, label %dispatch"
        )

    def count_steps(self) -> None:
        """Count the block's instructions among the steps of the turn."""
        length = self.text.block.end - self.text.block.start
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
