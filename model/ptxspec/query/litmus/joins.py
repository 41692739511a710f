"""Where the ways of a thread meet again, whatever was decided: what follows is executed on each of them."""

from __future__ import annotations

from functools import cache

from ptxspec.language.checked import Kernel
from ptxspec.machine.flow import FlowGraph, ending, is_on_object, registers_read, registers_written, successors
from ptxspec.terms import effects

#: what may be done on a way of which nothing is left where it meets another one, but for memory and registers
_PLAIN = (effects.Load, effects.Store, effects.Update, effects.Fence, effects.Branch)


class JoinPoints:
    """For each instruction with a guard the one at which its ways meet again."""

    def __init__(self, kernel: Kernel, flow: FlowGraph):
        self.kernel, self.flow = kernel, flow
        self.behind = cache(self._behind)

    def _behind(self, block: int, index: int) -> int | None:
        """The instruction at which the ways meet again that part at one of a block. None if a way ends before, or may lead round,
        or if what follows needs a register that has been written meanwhile."""
        op, here = self.kernel.code[index], self.flow.blocks[block]
        if ending(op) is None:
            follows, within = self._reached([block]), [index]
            return index + 1 if self._leaves_nothing(within, follows) else None
        if not isinstance(ending(op), effects.Branch) or here.taken is None or here.next is None:
            return None
        regions = {join: self._region(block, join) for join in self._reached(successors(here))}
        known = [(len(region), join) for join, region in regions.items() if region is not None]
        if not known:
            return None
        _, join = min(known)
        within = [i for number in regions[join] or () for i in self._instructions(number)]
        return self.flow.blocks[join].start if self._leaves_nothing(within, self._reached([join])) else None

    def _region(self, block: int, join: int) -> set[int] | None:
        """The blocks between one and a join to which all ways from it lead, and none of them round."""
        region: set[int] = set()
        unfinished: set[int] = set()

        def leads_there(number: int) -> bool:
            if number == join or number in region:
                return True
            following = self.flow.blocks[number]
            last = self.kernel.code[following.end - 1] if following.end > following.start else None
            ends = None if last is None else ending(last)
            if number == block or number in unfinished or (following.next is None and following.taken is None):
                return False
            if following.finishes is not None or not isinstance(ends, effects.Branch | None):
                return False
            if isinstance(ends, effects.Branch) and (following.taken is None or following.ways):
                return False
            unfinished.add(number)
            leads = all(map(leads_there, successors(following)))
            unfinished.discard(number)
            region.add(number)
            return leads

        return region if all(map(leads_there, successors(self.flow.blocks[block]))) else None

    def _reached(self, numbers: list[int]) -> set[int]:
        """Blocks, and those to which they lead."""
        reached, todo = set(numbers), list(numbers)
        while todo:
            more = set(successors(self.flow.blocks[todo.pop()])) - reached
            reached |= more
            todo += more
        return reached

    def _instructions(self, block: int) -> range:
        return range(self.flow.blocks[block].start, self.flow.blocks[block].end)

    def _leaves_nothing(self, within: list[int], follows: set[int]) -> bool:
        """Whether instructions do no more than access memory, and write no register that blocks read."""
        code = [self.kernel.code[index] for index in within]
        plain = all(
            isinstance(op.plan.meaning.effect, (*_PLAIN, type(None)))
            and not is_on_object(op.plan.meaning.effect)
            and not op.plan.meaning.more
            for op in code
        )
        written = {name for op in code for name in registers_written(op)}
        read = {
            name
            for number in follows
            for index in self._instructions(number)
            if index not in within
            for name in registers_read(self.kernel.code[index], self.kernel)
        }
        return plain and not written & read
