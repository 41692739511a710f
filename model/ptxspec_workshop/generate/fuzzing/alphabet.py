"""The forms that random programs are made of, by what they do: a list of forms, or all that modules of an edition have."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from ptxspec.evidence.choices import PROFILE
from ptxspec.evidence.kernels.instruction_kernels import (
    TODAY,
    is_of_today,
    module_for,
)
from ptxspec.evidence.kernels.signatures import comparable
from ptxspec.language.forms import Form, forms, page_name, registry
from ptxspec.literate.notation import SINK
from ptxspec.terms.kinds import Immediate, MatrixFragment, VectorOf, cache_policy, map_address
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import freedoms_in
from ptxspec_workshop.generate import warp_cases

_SCALAR_VIDEO = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
_ROUNDINGS = {"rn", "rz", "rm", "rp"}


def types_of(form: Form) -> Iterator[Any]:
    """The type of each operand as written; of `p|q` both; a constant's or an address's as it is annotated."""
    results = list(form.definition.results)
    for operand in form.syntax.operands:
        parameter = form.definition.sources.get(operand.name)
        type_of = partial(form.definition.type_of, operand.name, modifiers=form.modifiers)
        if parameter is None:
            for _ in range(2 if operand.second else 1):
                yield type_of(results.pop(0))
        elif isinstance(parameter.annotation, Immediate):
            yield parameter.annotation
        else:
            yield type_of(parameter.annotation)


def left_out(form: Form) -> bool:
    """Whether programs do without a form, though it is a function of its operands."""
    opcode, modifiers = form.syntax.opcode, {**form.modifiers, **form.marks}
    meaning = form.meaning(form.absences[-1])
    open_results = freedoms_in(*[v for r in meaning.results for v in r.values])
    if any(not _choices().chooses(f) for f in open_results) or form.removal is not None:
        return True
    if any(f.attrs[0] == "copied-nan" for f in open_results):  # the levels of the assembler differ: AMB-011
        return True
    types = list(types_of(form))
    if _lacks_registers(form, types):
        return True
    type = modifiers.get("type")
    if _is_miscompiled(form, types):
        return True
    if opcode in ("add", "sub", "mul") and isinstance(type, Type) and type.is_float:  # may be fused: AMB-014
        return not _ROUNDINGS & set(form.mnemonic.split("."))
    if opcode in ("atom", "red") and type == TYPES["f64"]:  # which NaN stays in memory is not settled: AMB-088
        return "add" in form.mnemonic.split(".")
    if opcode in _SCALAR_VIDEO:  # machine code that does something else: AMB-045
        return bool(modifiers.get("sat") or modifiers.get("dsel") or modifiers.get("op2") in ("min", "max"))
    return False


def _lacks_registers(form: Form, types: Sequence[Any]) -> bool:
    """Whether an operand is in a register that programs have not: a vector, one of 8 or 128 bits, a policy; or is always a sink,
    or a tensor map."""
    if any(
        isinstance(t, VectorOf | MatrixFragment)
        or t is cache_policy
        or t is map_address
        or (isinstance(t, Type) and t.width == 128)
        for t in types
    ):
        return True
    if any(o.name == SINK for o in form.syntax.operands):
        return True
    if any(o.group and t.width == 8 for o, t in zip(form.syntax.operands, types, strict=False)):
        return True
    return not form.definition.wider and any(isinstance(t, Type) and t.width == 8 for t in types)


def _is_miscompiled(form: Form, types: Sequence[Any]) -> bool:
    """Whether ptxas is known to make something else of a form, or of what follows it, whatever the registers are."""
    opcode, modifiers, parts = form.syntax.opcode, form.modifiers, form.mnemonic.split(".")
    type = modifiers.get("type")
    if opcode in ("abs", "neg"):  # the least number, and halves of a number that is not negative: AMB-317, AMB-332
        return type in (TYPES["s16"], TYPES["s32"]) or (opcode == "abs" and parts[-1] in ("f16x2", "bf16x2"))
    if opcode == "slct":  # a NaN that is thought not to be negative: AMB-332
        return bool(types[-1] == TYPES["f32"])
    if opcode == "madc":  # after a carry that is known: AMB-331
        return "hi" in parts and isinstance(type, Type) and type.width == 64
    if opcode in ("atom", "red"):  # pairs in shared memory: AMB-334
        return parts[-1] in ("f16x2", "bf16x2") and "global" not in parts
    return False


@cache
def _choices() -> Profile:
    return Profile(PROFILE)


def meets_whole(form: Form) -> bool:
    """Whether the form is one for a whole warp or CTA whose threads are all there."""
    return warp_cases.meets(form) and form.removal is None and form.syntax.opcode not in ("activemask", "elect")


def names() -> list[str]:
    """The forms of today that programs are made of, spelled with the selectors and signs of their operands."""
    comparable_forms = [f for f in forms() if (comparable(f) or meets_whole(f)) and module_for(f) == TODAY]
    return [str(v) for f in comparable_forms for v in f.variants if not left_out(v)]


def _is_read_too_wide(form: Form) -> bool:
    """Whether ptxas lets others read more than the form writes: comparisons in half precision to the same type (AMB-335)."""
    types = {form.modifiers.get(name) for name in ("dtype", "stype")}
    return form.syntax.opcode == "set" and types in ({TYPES["f16"]}, {TYPES["bf16"]})


class Alphabet:
    """The forms that programs are made of, by what they do: each a list of opcodes, these of forms, these of variants."""

    careful = False

    def __init__(self, spelled: Sequence[str]):
        wanted = set(spelled)
        known = {name: v for f in forms() for v in f.variants if (name := str(v)) in wanted}
        by_kind: dict[str, dict[str, dict[str, list[Form]]]] = {}
        for name in spelled:
            form = known[name]
            if not name.startswith(f"{form.mnemonic} "):
                raise ValueError(f"the form {name!r} begins with no mnemonic")
            of_opcode = by_kind.setdefault(kind_of(form), {}).setdefault(form.syntax.opcode, {})
            of_opcode.setdefault(str(form._replace(marks=form.syntax.signs)), []).append(form)
        self.kinds = {
            kind: [list(of_opcode.values()) for of_opcode in opcodes.values()] for kind, opcodes in by_kind.items()
        }

    def choose(self, source: random.Random, kind: str) -> Form:
        return source.choice(source.choice(source.choice(self.kinds[kind])))


def kind_of(form: Form) -> str:
    """plain, memory, meeting; or the part of a chain of carries or of borrows: start, middle, end."""
    if meets_whole(form):
        return "meeting"
    meaning = form.meaning(form.absences[-1])
    if meaning.effect is not None:
        return "memory"
    if meaning.carry is None and not meaning.carry_read:
        return "plain"
    part = "end" if meaning.carry is None else "middle" if meaning.carry_read else "start"
    return f"{part} of {'borrows' if meaning.borrows else 'carries'}"


# every form ------------------------------------------------------------------------------------------------------------

#: folders of pages whose opcodes compute something of their operands, or meet
_CHAPTERS = (
    "integer", "floating", "half", "logic", "comparison", "movement", "extended-precision", "video", "synchronization",
)  # fmt: skip
#: a version of PTX and the number of a target
Edition = tuple[tuple[int, int], int]
NEWEST: Edition = ((9, 0), 90)


@cache
def forms_of(opcode: str) -> list[Form]:
    return registry().opcodes[opcode].forms


@cache
def opcodes(*chapters: str) -> list[str]:
    """The opcodes that have a form on a page of some folders, or of any that programs are made of."""
    return [
        opcode
        for opcode in sorted(registry().opcodes)
        if any(
            f"/{c}" in page_name(line[1].path)
            for line in registry().opcodes[opcode].lines
            for c in chapters or _CHAPTERS
        )
    ]


@cache
def kind_at(opcode: str, number: int) -> str:
    """The kind of a form (see kind_of). Empty for one that programs do without: modules of today have it not, it is no function
    of its operands, it leaves open what no profile chooses, or needs registers that they have not."""
    form = forms_of(opcode)[number]
    if not is_of_today(form) or _lacks_registers(form, list(types_of(form))):
        return ""
    if meets_whole(form):
        return "meeting"
    values = [v for r in form.meaning(form.absences[-1]).results for v in r.values]
    return kind_of(form) if comparable(form) and all(map(_choices().chooses, freedoms_in(*values))) else ""


@cache
def _careful_variants(opcode: str, number: int) -> list[Form]:
    """The variants of a form with which no assembler is known to be wrong, and whose result is settled."""
    return [v for v in forms_of(opcode)[number].variants if not left_out(v) and not _is_read_too_wide(v)]


class EveryForm:
    """All forms that modules of an edition have. Only those are looked at that are drawn. Programs over `careful` ones keep from
    forms and operands with which ptxas is known to be wrong, which the recorded ones do not."""

    def __init__(self, edition: Edition = NEWEST, careful: bool = False):
        self.edition, self.careful = edition, careful

    def choose(self, source: random.Random, kind: str) -> Form:
        """A form of a kind, with selectors and signs of its operands."""
        chapters = {"memory": ("synchronization",), "plain": (), "meeting": ("synchronization", "movement")}
        among = opcodes(*chapters.get(kind, ("extended-precision",)))
        while True:
            opcode = source.choice(among)
            number = source.randrange(len(forms_of(opcode)))
            if kind_at(opcode, number) == kind and (variants := self._variants(opcode, number)):
                return source.choice(variants)

    def _variants(self, opcode: str, number: int) -> list[Form]:
        if self.careful:
            return _careful_variants(opcode, number)
        form = forms_of(opcode)[number]
        if self.edition == NEWEST:
            return [v for v in form.variants if "policy" not in str(v)]
        version, target = self.edition
        since = form.definition.availability(form.modifiers, target)
        exists = version >= since[0] and target >= since[1] and not form.only
        return [v for v in form.variants if v.plain and "policy" not in str(v)] if exists else []
