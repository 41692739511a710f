"""The beginning of a function: what it loads from the context, and where its thread's CTA stands."""

from __future__ import annotations

import re

from ptxspec import contracts
from ptxspec.machine import hosts
from ptxspec.machine.native.context import NUMBERS, POINTERS, field_text
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter

_NAME = re.compile(r"%(\w+)")
#: what says where the thread's CTA stands
_PLACES = frozenset({"slot", "rank", "part"})


class Head:
    """What the lines of a text read that the function gets of its context, and `always` in any case. What nothing reads is left
    out: LLVM would find that out, and take its time."""

    def __init__(self, text: FunctionText, always: set[str]):
        self.layout = text.layout
        words = self.words = {"record"} | always | set(_NAME.findall("\n".join([*text.lines, *text.faults])))
        if any(w.startswith("special_") for w in words):
            words.add("special")
        if any(w.startswith("registers_") for w in words):
            words.add("registers")
        if words & _PLACES:
            words |= {"slot_of", "slot_of_bytes"}
        if text.program.clustered:
            words.add("cluster")

    def fields(self) -> list[str]:
        """Lines that load fields of the context, and find rows."""
        words = self.words
        return [
            *(field_text(n) for n in (*POINTERS, *NUMBERS) if n in words),
            *self._rows("registers", self.layout.register_bytes),
            *self._rows("special", self.layout.special_bytes),
        ]

    def _rows(self, array: str, held: int) -> list[str]:
        stem = f"{array}_"
        offsets = sorted(int(w[len(stem) :]) for w in self.words if w.startswith(stem) and w != f"{array}_bytes")
        return [f"  %{stem}{o} = {hosts.within(f'%{array}', held, o, 1)}" for o in offsets]

    def places(self) -> list[str]:
        """Lines that find the place of the thread's CTA; after `fields`."""
        words = self.words
        cell = hosts.pointer(self.layout.checked, "slot_of", "%slot_of", "%thread", 8, 8, "%slot_of_bytes")
        return [
            f"  %slot_at = {cell}" if words & _PLACES else "",
            "  %slot = load i64, ptr %slot_at, !invariant.load !9" if words & _PLACES else "",
            "  %rank = urem i64 %slot, %cluster" if words & {"rank", "part"} else "",
            *(_part() if "part" in words else ()),
        ]


def _part() -> list[str]:
    """Lines that find where the part of a cluster's shared memory begins that is the CTA's."""
    lines: list[str] = []
    begins = contracts.generic_addressing.part_begins(variable("%rank", 64))
    start = Lowering(Emitter(lines, set(), stem="rank.v"), {"%rank": "%rank"}).low(begins, 64)
    return [*lines, f"  %part = add i64 {start}, 0"]
