"""Functions that the blocks of a large kernel call, where those of a small one repeat their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from ptxspec.language.checked import Op
from ptxspec.machine.flow import destinations, values_of
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.context import OWN, llvm_type
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.effects import Access
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter

#: a function is worth its calls if it has so many lines, and so many calls
LINES, CALLS = 20, 4
#: an access to one space has few lines: it is worth a function if there are so many
ACCESSES = 64


class OutlinedFunctions:
    """The functions of one kernel, made when they are asked for first. Their names are `@outlined_0`, `@outlined_1`, …"""

    def __init__(self, layout: Layout):
        self.layout = layout
        self._made = 0
        self._new: list[tuple[str, str, set[str]]] = []
        self._names: dict[object, str | None] = {}
        code = layout.program.kernel.code
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
            emitter = Emitter(lines, needs, self.layout.program.profile.compiled)
            taken = {v.attrs[0]: (f"%a{i}", f"i{v.attrs[1]}") for i, (_, v, _) in enumerate(values_of(op))}
            lowering = Lowering(emitter, {name: parameter for name, (parameter, _) in taken.items()})
            outputs = [
                lowering.truth(v) if type.kind == "pred" else lowering.low(v, type.width) for _, type, v in values
            ]
            for i, (value, (_, type, _)) in enumerate(zip(outputs, values, strict=True)):
                before = "undef" if i == 0 else f"%given{i - 1}"
                lines.append(f"  %given{i} = insertvalue {results_type(op)} {before}, {llvm_type(type)} {value}, {i}")
            parameters = ", ".join(f"{kind} {parameter}" for parameter, kind in taken.values())
            body = (
                f"({parameters}) noinline {{\n"
                + "\n".join(lines)
                + f"\n  ret {results_type(op)} %given{len(values) - 1}\n}}"
            )
            self._names[key] = self._add(results_type(op), body, needs) if len(lines) >= LINES and values else None
        return self._names[key]

    def access(self, space: str, size: int, write: bool, into: Collection[str], shadow: bool) -> str | None:
        """The name of a function of the context, a thread and an address, which returns where the bytes lie, or null if
        the access is not allowed; None if accesses are better written out."""
        if self._spaces[space] < (CALLS if space == "generic" else ACCESSES):
            return None
        key = (space, size, write, tuple(into), shadow)
        if key not in self._names:
            needs: set[str] = set()
            site = len(self.layout.program.kernel.code) + self._made
            body = _access(self.layout, space, size, write, into, needs, site, shadow)
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


def results_type(op: Op) -> str:
    """The LLVM type of all that an instruction's destinations get."""
    return "{" + ", ".join(llvm_type(type) for _, type, _ in destinations(op)) + "}"


def _access(
    layout: Layout,
    space: str,
    size: int,
    write: bool,
    into: Collection[str],
    needs: set[str],
    site: int,
    shadow: bool,
) -> str:
    """The parameters and the body of the function that checks one kind of access."""
    text = FunctionText(layout, needs)

    def check(condition: str, address: str, index: int, why: int | str = OWN) -> None:
        """Go on if the condition holds; the caller says what is wrong otherwise."""
        good = text.label("good")
        text.lines.append(f"  br i1 {condition}, label %{good}, label %refused, !prof !0")
        text.begin(good)

    accesses = Accesses(text, check, site=str(site))
    pointer = accesses.find(space, "%address", size, write, 0, into, shadow=shadow)
    head = Head(text, set())
    return "\n".join(
        [
            "(ptr noalias %context, i64 %thread, i64 %address) noinline {",
            *head.fields(),
            *head.places(),
            *text.lines,
            f"  ret ptr {pointer}",
            "refused:\n  ret ptr null\n}",
        ]
    )
