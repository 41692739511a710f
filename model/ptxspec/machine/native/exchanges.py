"""What the lanes of a warp get of one another's values, where all of them come to a collective together: in vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.warp_registers import vector_of
from ptxspec.machine.special import variables_of
from ptxspec.terms.actions import lane_words
from ptxspec.terms.core import Term, integer
from ptxspec.terms.exact import NoChoice, evaluate, unchosen
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.vectors import VectorEmitter
from ptxspec.terms.vocabulary import Approximation

#: the variable that is the number of a lane
OWN = "%own"


class ExchangeLowering(Lowering):
    """Lowers what a collective gives each lane. `given` are the values that the lanes give, vectors or words of 64 bits, and
    `operands` has the other variables. Where it is known whose value each lane takes, the elements of a vector change places."""

    def __init__(self, emitter: VectorEmitter, operands: Mapping[str, str], given: Sequence[str]):
        super().__init__(emitter, self._variable)
        self.emitter, self.operands, self.given = emitter, operands, given
        #: by the name of what a lane gives, that lane, and which of its values it is
        self._places = {name: (lane, k) for lane in range(LANES) for k, name in enumerate(lane_words(lane, len(given)))}
        self._conditions: dict[int, list[bool] | None] = {}

    def _variable(self, name: str) -> str:
        if name not in self._places:
            return self.operands[name]
        lane, which = self._places[name]
        word = self.given[which]
        if word not in self.emitter.varying:
            return word
        return self.emitter.emit(f"extractelement {vector_of('i64')} {word}, i64 {lane}")

    def _select(self, t: Any, n: int) -> Any:
        taken = [self._taken(t, lane) for lane in range(LANES)]
        first = taken[0]
        if first is None or any(other is None or other[1:] != first[1:] for other in taken):
            return super()._select(t, n)
        _, which, width = first
        width, e = min(width, n), self.emitter
        whole = self.given[which]
        word = e.truncate(whole, 64, width) if width < 64 else whole
        if word in e.varying:
            order = ", ".join(f"i32 {lane}" for lane, *_ in cast(list[tuple[int, int, int]], taken))
            vector = vector_of(f"i{width}")
            word = e.vector(f"shufflevector {vector} {word}, {vector} poison, <{LANES} x i32> <{order}>")
        return self.resize(word, width, n, False)

    def _taken(self, t: Any, lane: int) -> tuple[int, int, int] | None:
        """The lane of which a lane takes a value, which of its values that is, and of how many low bits; None if it is not known,
        or something else."""
        while t.op == "select":
            holds = self._by_lane(t.args[0])
            if holds is None:
                return None
            t = t.args[1 if holds[lane] else 2]
        t, width = (t.args[0], t.attrs[0]) if t.op == "low" else (t, 64)
        place = self._places.get(t.attrs[0]) if t.op == "var" else None
        return None if place is None else (*place, width)

    def _by_lane(self, condition: Term) -> list[bool] | None:
        """Whether a condition holds in each lane, if that is known."""
        if id(condition) not in self._conditions:
            self._kept.append(condition)
            try:
                known = variables_of(condition) <= {OWN}
                holds = [evaluate(condition, {OWN: lane}, self._chosen) for lane in range(LANES)] if known else None
            except NoChoice:
                holds = None
            self._conditions[id(condition)] = holds
        return self._conditions[id(condition)]

    def _chosen(self, freedom: Any, operands: tuple[int, ...]) -> int:
        """What a freedom is that depends on nothing."""
        chosen = (self.emitter.choose or unchosen)(freedom)
        if isinstance(chosen, Approximation) or variables_of(integer(chosen)):
            raise NoChoice(freedom)
        return int(evaluate(integer(chosen), {}, self._chosen))
