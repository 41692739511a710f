"""Functions that the blocks of a large kernel call, where those of a small one repeat their text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ptxspec.language.checked import Op
from ptxspec.machine.flow import destinations, values_of
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.context import OWN
from ptxspec.terms.effects import Access
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter

if TYPE_CHECKING:
    from ptxspec.machine.native.engine import Compiled

#: a function is worth its calls if it has so many lines, and so many calls
LINES, CALLS = 20, 4
#: an access to one space has few lines: it is worth a function if there are so many
ACCESSES = 64


class Outlined:
    """The functions of one kernel, made when they are asked for first. Their names are `@outlined_0`, `@outlined_1`, …"""

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self._made = 0
        self._new: list[tuple[str, str, set[str]]] = []
        self._names: dict[object, str | None] = {}
        code = compiled.program.kernel.code
        self._meanings = Counter(id(op.plan.meaning) for op in code)
        self._spaces = Counter(op.space or e.space for op in code if isinstance(e := op.plan.meaning.effect, Access))

    def results(self, op: Op) -> str | None:
        """The name of a function that takes the variables of an instruction's meaning and returns what each destination gets;
        None if the instruction is better written out."""
        if self._meanings[id(op.plan.meaning)] < CALLS:
            return None
        values = list(destinations(op))
        key = (id(op.plan.meaning), *(id(value) for _, _, value in values))
        if key not in self._names:
            lines: list[str] = []
            needs: set[str] = set()
            emitter = Emitter(lines, needs, self.compiled.program.profile.term)
            taken = {v.attrs[0]: (f"%a{i}", word(type, v.attrs[1])) for i, (type, v, _) in enumerate(values_of(op))}
            lowering = Lowering(emitter, {name: own for name, (own, _) in taken.items()})
            found = [lowering.truth(v) if type.kind == "pred" else lowering.low(v, type.width) for _, type, v in values]
            for i, (value, (_, type, _)) in enumerate(zip(found, values, strict=True)):
                before = "undef" if i == 0 else f"%given{i - 1}"
                lines.append(
                    f"  %given{i} = insertvalue {returned(op)} {before}, {word(type, type.width)} {value}, {i}"
                )
            parameters = ", ".join(f"{kind} {own}" for own, kind in taken.values())
            body = (
                f"({parameters}) noinline {{\n"
                + "\n".join(lines)
                + f"\n  ret {returned(op)} %given{len(values) - 1}\n}}"
            )
            self._names[key] = self._add(returned(op), body, needs) if len(lines) >= LINES and values else None
        return self._names[key]

    def access(self, space: str, size: int, write: bool) -> str | None:
        """The name of a function of the context, a lane and an address, which returns where the bytes lie, or null if the access
        is not allowed; None if accesses are better written out."""
        if self._spaces[space] < (CALLS if space == "generic" else ACCESSES):
            return None
        key = (space, size, write)
        if key not in self._names:
            needs: set[str] = set()
            body = AccessText(self.compiled, needs).body(space, size, write)
            self._names[key] = self._add("ptr", body, needs)
        return self._names[key]

    def _add(self, type: str, body: str, needs: set[str]) -> str:
        name = f"@outlined_{self._made}"
        self._made += 1
        self._new.append((name, f"define {type} {name}{body}", needs))
        return name

    def take(self) -> list[tuple[str, str, set[str]]]:
        """(name, text, what it needs) of those that have been made since this was last asked."""
        new, self._new = self._new, []
        return new


def word(type: object, width: int) -> str:
    """The LLVM type of a variable."""
    return "i1" if getattr(type, "kind", "") == "pred" else f"i{width}"


def returned(op: Op) -> str:
    """The LLVM type of all that an instruction's destinations get."""
    return "{" + ", ".join(word(type, type.width) for _, type, _ in destinations(op)) + "}"


class AccessText(Accesses):
    """Writes the function that checks one kind of access."""

    def __init__(self, compiled: Compiled, needs: set[str]):
        super().__init__(compiled, needs)

    def body(self, space: str, size: int, write: bool) -> str:
        if space == "generic":
            pointer = self.generic("%address", size, write, 0)
        else:
            pointer = self.in_space(space, "%address", "%address", size, write, 0)
        return "\n".join(
            [
                "(ptr noalias %context, i64 %lane, i64 %address) noinline {",
                *self.fields(set()),
                *self.places(),
                *self.lines,
                f"  ret ptr {pointer}",
                "refused:\n  ret ptr null\n}",
            ]
        )

    def check(self, condition: str, address: str, index: int, why: int = OWN) -> None:
        good = self.label("good")
        self.lines.append(f"  br i1 {condition}, label %{good}, label %refused, !prof !0")
        self.begin(good)
