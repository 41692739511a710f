"""Lanes of a warp side by side: what they learn from one another where they meet, and that their accesses do not race.

The lanes are the threads of a CTA of one warp. They go through the blocks together, each with a condition under which it takes
part. Where they meet, spec/machine/warps.md says who waits for whom. Lanes that wait for others which are elsewhere, and accesses
of two lanes of which no order is known, are beyond what is followed.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.batch import Extents
from ptxspec.machine.flow import destinations
from ptxspec.machine.special import INDEX, SpecialValues, meaning, variables_of
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.addresses import AddressCase
from ptxspec.query.paths.arrivals import PathState
from ptxspec.terms.actions import lane_words
from ptxspec.terms.core import Bool, constant
from ptxspec.terms.effects import Access, Collective, Load, Wait
from ptxspec.terms.steps import taken
from ptxspec.terms.vocabulary import FALSE, low_bits, number, select, substitute

if TYPE_CHECKING:
    from ptxspec.query.paths.walking import Walk

#: pairs of accesses that are looked at for races, at most
MOST_PAIRS = 20_000


class _Touch(NamedTuple):
    """That a lane may reach a byte, under a condition."""

    lane: int
    holds: Bool
    writes: bool


class Collectives:
    """What lanes do together."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self.touched: dict[tuple[str, int], list[_Touch]] = {}
        self._pairs = 0

    # special registers -----------------------------------------------------------------------------------------------------

    def special(self, name: str, lane: int) -> Any:
        """What a special register says that a thread's place in its CTA decides; None for others, and for one thread alone."""
        if self.walk.lanes == 1:
            return None
        needs = variables_of(meaning(name, False))
        if not needs or not all(n == INDEX or n.startswith("%block.") for n in needs):
            return None
        block = Extents((1, 1, 1), (self.walk.lanes, 1, 1))
        value = SpecialValues([name], False, block).read(name, lane, 0)
        self.walk.notes["the lanes are the threads of a CTA of one warp"] = None
        return constant(int(value))

    # where lanes meet ------------------------------------------------------------------------------------------------------

    def meet(self, op: Op, effect: Collective | Wait, way: PathState, holds: tuple[Bool, ...]) -> None:
        """Let all lanes that come to an instruction have what it tells them; `way` gets their registers."""
        walk = self.walk
        if isinstance(effect, Collective) and effect.warps > 1:
            raise Unsupported(f"{op.plan.form.mnemonic}: {effect.warps} warps execute it together, and one is followed")
        if walk.lanes == 1 and (isinstance(effect, Collective) or walk.side.what != "entry"):
            if isinstance(effect, Collective):
                raise Unsupported(f"{op.plan.form.mnemonic} depends on the other lanes of the warp: ask with warp=True")
            raise walk.unsupported(op, effect)
        done = tuple(r & h for r, h in zip(way.reached, holds, strict=True))
        envs = [walk.sources(op, way._replace(reached=done), lane) for lane in range(walk.lanes)]
        if isinstance(effect, Wait):
            if walk.orders.at(op, done[0]):
                walk.orders.add(op, done[0], 0, envs[0].values())
            self._barrier(op, effect, done, envs)
        else:
            self._exchange(op, effect, done, envs)
        for lane, env in enumerate(envs):
            if way.reached[lane] is not FALSE:
                walk.write(op, env, way, lane, holds[lane])
        if not list(destinations(op)):
            self.touched.clear()  # nothing is learned: the instruction is there for the order of accesses

    def _barrier(self, op: Op, effect: Wait, done: tuple[Bool, ...], envs: list[dict[str, Any]]) -> None:
        """A barrier of all threads of the CTA, which are these lanes."""
        walk = self.walk
        if effect.threads is not None:
            raise walk.unsupported(op, effect)
        some = reduce(or_, done, FALSE)
        where = f"where not all lanes reach the barrier at line {walk.line_of(op)}"
        for lane, participates in enumerate(done):
            walk.open(where, some & ~participates & ~self._gone(lane))
        arrived, holding = constant(0), constant(0)
        for participates, env in zip(done, envs, strict=True):
            arrived = arrived + number(participates)
            holding = holding + select(participates, substitute(effect.value, env), 0)
        for env in envs:
            env["%arrived"], env["%holding"] = arrived, holding

    def _exchange(self, op: Op, effect: Collective, done: tuple[Bool, ...], envs: list[dict[str, Any]]) -> None:
        walk, page = self.walk, contracts.warps
        where = f"where lanes wait at line {walk.line_of(op)} for lanes which are elsewhere"
        masked = effect.mask is not None
        masks = [low_bits(substitute(effect.mask, env), 32) if masked else constant(0) for env in envs]
        together = constant(0)
        gone = constant(0)
        for lane, participates in enumerate(done):
            together = together | select(participates, 1 << lane, 0)
            gone = gone | select(self._gone(lane), 1 << lane, 0)
        if not masked:
            walk.notes["lanes that come to an instruction without a mask come to it together"] = None
        groups: dict[int, Any] = {}
        given = self._given(effect, done, envs)
        for lane, env in enumerate(envs):
            env.update({**given, "%own": constant(lane), "%members": constant(0), "%at_once": together})
            if done[lane] is FALSE:
                continue
            mask = masks[lane]
            if id(mask) not in groups:  # those that have come under the mask
                group = page.Group(0)
                for other, participates in enumerate(done):
                    _, after = taken(page.join_group, group, mask, constant(other))
                    group = select(participates & (masks[other] == mask), after, group)
                groups[id(mask)] = group
            group = groups[id(mask)]
            if masked:
                (required,), _ = taken(page.join_group, group, mask, constant(lane))
                walk.fault(done[lane] & ~required.condition)
                goes = page.may_go(group, mask, gone)
                if effect.aligned:
                    _, goes, _ = page.leave(page.Meeting(0, group.arrived_lanes), gone, effect.whole)
                walk.open(where, done[lane] & ~goes)
            env["%members"] = page.members(group.arrived_lanes, together, masked)

    def _given(self, effect: Collective, done: tuple[Bool, ...], envs: list[dict[str, Any]]) -> dict[str, Any]:
        """By the names that results have for it, what each lane gives."""
        words: dict[str, Any] = {}
        for lane, (participates, env) in enumerate(zip(done, envs, strict=True)):
            memo: dict[int, Any] = {}
            names = lane_words(lane, 1 + len(effect.more))
            for name, term in zip(names, (effect.value, *effect.more), strict=True):
                value = constant(0) if participates is FALSE else select(participates, substitute(term, env, memo), 0)
                words[name] = low_bits(value, 64)
        return words

    def _gone(self, lane: int) -> Bool:
        """Whether a lane has ended."""
        return reduce(or_, (way.reached[lane] for way in self.walk.ends), FALSE)

    # races -----------------------------------------------------------------------------------------------------------------

    def accessed(self, cases: list[AddressCase], effect: Access, done: Bool, lane: int, line: int) -> None:
        """Note which bytes a lane reaches, and where that races with what another one did since they last met."""
        walk = self.walk
        if walk.lanes == 1:
            return
        writes, size = not isinstance(effect, Load), effect.bytes
        races: Any = FALSE
        for case in cases:
            region = walk.memory.regions[case.region]
            if not region.writable:
                continue
            for at in walk.memory.positions(region, case.offset, size):
                here = done & case.holds & (case.offset == at)
                for byte in range(at, at + size):
                    others = self.touched.setdefault((case.region, byte), [])
                    for other in others:
                        if other.lane != lane and (writes or other.writes):
                            self._pairs += 1
                            races = races | (here & other.holds)
                    others.append(_Touch(lane, here, writes))
        if self._pairs > MOST_PAIRS:
            raise Unsupported(f"more than {MOST_PAIRS:,} pairs of accesses of two lanes might race")
        walk.open(f"where accesses of two lanes race (line {line})", races)
