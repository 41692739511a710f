"""What is known to be wrong where CTAs have exited: of operations in flight, and of bytes that nobody announced."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.language.checked import Checked
from ptxspec.machine.batch import Extents
from ptxspec.machine.errors import Where, page_of
from ptxspec.machine.findings import FindingCollector, LaunchFinding
from ptxspec.machine.program import KernelProgram, where_is
from ptxspec.terms.effects import Exit, Initiate, Return
from ptxspec.terms.registries import ObjectCompletion


class ProgramAddress(NamedTuple):
    """An address of the host as a program sees it: the state space, and the address there."""

    space: str
    address: int


class FaultsAtExit:
    """Makes findings of what asynchronous operations report when CTAs have exited."""

    def __init__(self, checked: Checked, program: KernelProgram, extents: Extents):
        self.checked, self.program, self.extents = checked, program, extents
        self._last: dict[int, int | None] = {}

    def report(
        self, event: dict[str, int], locate: Callable[[int], ProgramAddress], collector: FindingCollector
    ) -> None:
        """Make a finding of a report of an operation, if it is one; `locate` gives the address of a place of the host."""
        op, number = event["instruction"], event["operation"]
        if number == 0:
            return
        effect = self.program.kernel.code[op].plan.meaning.effect
        thread = event["thread"], event["first"]
        if number < 0:
            rule, size, last = "announced bytes", contracts.asynchrony.OBJECT, None
            note = f"operations deliver {event['size']} bytes more to an mbarrier than were announced to it"
        elif isinstance(effect, Initiate) and _outlives_its_source(effect):
            rule, size, last = "source of a copy", event["size"], self._last_after(op)
            note = "the CTA exits, and the thread that began a copy from there has not waited until that has read"
        else:
            return
        where, other = self._where(thread, op), None
        if last is not None:
            where, other = self._where(thread, last), where

        def finding() -> LaunchFinding:
            place = locate(event["location"])
            return LaunchFinding(rule, note, where, other, place.space, place.address, size, page_of(rule))

        collector.report((rule, op), finding)

    def _last_after(self, op: int) -> int | None:
        """The instruction at which a thread exits that has executed another one, if that is one alone."""
        if op not in self._last:
            exits = self._exits(op)
            self._last[op] = exits.pop() if len(exits) == 1 else None
        return self._last[op]

    def _exits(self, op: int) -> set[int | None]:
        """The instructions at which a thread may exit that has executed another one; None is the end of a body."""
        kernel, blocks, exits = self.program.kernel, self.program.flow.blocks, set[int | None]()
        if kernel.functions:  # where a function returns to is another question
            return exits
        bodies = {function.position for function in self.checked.tree.functions}
        ways: set[int | None] = {number for number, block in enumerate(blocks) if block.start <= op < block.end}
        ahead = list(ways)
        while ahead:
            number = ahead.pop()
            if number is None:
                exits.add(None)
                continue
            block = blocks[number]
            last = kernel.code[block.end - 1]
            following = {block.taken, block.next, *(to for _, to in block.ways)}
            if block.finishes is None and isinstance(last.plan.meaning.effect, Return | Exit):
                exits.add(None if last.position in bodies else block.end - 1)
                following = {block.next} if last.guard else set()
            elif block.ways:
                following = {to for _, to in block.ways} | ({block.next} if last.guard else set())
            ahead += following - ways
            ways |= following
        return exits

    def _where(self, thread: tuple[int, int], op: int) -> Where:
        """A resident thread of CTAs from one on, and its instruction."""
        return where_is(self.checked, self.program.kernel.code[op], self.extents.where(*thread))


def _outlives_its_source(effect: Initiate) -> bool:
    """Whether the page says so of an operation that is in flight when its CTA has exited."""
    completion = effect.completion
    on_object = isinstance(completion, ObjectCompletion)
    has_read = not isinstance(completion, ObjectCompletion) and completion.has_read is not None
    outlives: bool = contracts.asynchrony.outlives_its_source(effect.of, has_read, on_object)
    return outlives
