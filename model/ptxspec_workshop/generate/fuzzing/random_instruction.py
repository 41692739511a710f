"""An instruction of a form, with registers and constants for its operands, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.language.forms import Form, registry
from ptxspec.terms.kinds import Immediate
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in
from ptxspec_workshop.generate.fuzzing.alphabet import meets_whole, types_of
from ptxspec_workshop.generate.fuzzing.layout import THREADS

Pool = dict[int, list[str]]

_COMPUTING = ("abs", "neg", "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt")


def _register(source: random.Random, pool: Pool, type: Type, wider: bool = False) -> str:
    """A register for a value of a type; where wider ones are allowed, now and then one of these."""
    if type.kind == "pred":
        return source.choice(pool[1])
    if type.width == 8 or (wider and not type.is_float and source.random() < 0.3):
        return source.choice(pool[source.choice([w for w in (16, 32, 64) if w >= type.width])])
    return source.choice(pool[type.width])


def _constant(source: random.Random, type: Type, limits: Sequence[int] | None) -> str:
    if type.kind == "pred":
        return source.choice(["0", "1"])
    if limits is not None:
        return str(source.choice([source.choice(limits[:64]), source.choice(limits[:1024])]))
    if type.is_float:
        bits = source.choice(special(type)) if source.random() < 0.5 else source.getrandbits(type.width)
        return f"0f{bits:08X}" if type.width == 32 else f"0d{bits:016X}"
    edge = 1 << (type.width - 1)
    value = source.choice(
        [0, 1, 2, 3, 5, 31, 32, 63, 64, 255, edge - 1, edge, 2 * edge - 1, source.randrange(2 * edge)]
    )
    value &= 2 * edge - 1
    if source.random() < 0.8:
        return source.choice([str(value), hex(value), f"{value}U"])
    return str(value - 2 * edge if value else -1)


def _destinations(source: random.Random, pool: Pool, operand: Any, type: Type, second: Type, meets: bool) -> str:
    """The text of a destination, or of two with a bar between, of which the second may be a sink. The first may be one too,
    but ptxas 13.0 crashes at `@p setp.ne.u16 _|q, a, b`."""
    first = _register(source, pool, type)
    other = _register(source, pool, second)
    while other == first and operand.paired:
        other = _register(source, pool, second)
    if operand.paired or meets:  # of a shuffle it can read no sink where some other instruction becomes a call
        return first if other == first else f"{first}|{other}"
    return source.choice([f"{first}|{other}", f"{first}|_", first]) if other != first else first


def instruction(
    source: random.Random,
    form: Form,
    pool: Pool,
    cell: str = "",
    count: str = str(THREADS),
    careful: bool = False,
) -> str:
    """An instruction of a form, with registers and constants for its operands. `cell` is the register with the address of
    the memory that it updates; where threads meet, all of them do. For `careful` see EveryForm."""
    types = types_of(form)
    definition = form.definition
    absent = source.choice(form.absences)
    operands: dict[str, str] = {}
    meets = meets_whole(form)
    for operand in form.syntax.operands:
        type = next(types)
        if operand.name in absent:
            continue
        if operand.memory:
            text = f"[{cell}]"
        elif isinstance(type, Immediate):
            allowed = definition.constants(operand.name, form.modifiers) or range(type.type.max + 1)
            text = str(allowed[source.randrange(len(allowed))])
        elif operand.name not in definition.sources:
            if operand.second:
                text = _destinations(source, pool, operand, type, next(types), meets)
            else:
                # ptxas does not extend what cvt.pack gives to a wider register: AMB-179
                may_be_wider = definition.wider and not (careful and form.mnemonic.startswith("cvt.pack"))
                text = _register(source, pool, type, may_be_wider)
            braces = [o.name for o in form.syntax.operands if o.group and o.group == operand.group]
            while text in [operands[name] for name in braces if name in operands]:
                text = _register(source, pool, type)
        elif meets and operand.name == "membermask":
            text = source.choice(["0xffffffff", "-1"])
        elif meets and form.syntax.opcode in ("bar", "barrier") and operand.name in "ab":
            text = source.choice(["0", "1", "7"]) if operand.name == "a" else count
        elif careful and _needs_constant(form, operand.name):
            text = _constant(source, type, _limits(form, operand.name, careful))
        elif _takes_constant(form, operand, type, careful) and source.random() < 0.2:
            text = _constant(source, type, _limits(form, operand.name, careful))
        else:
            negated = "!" if operand.negatable and source.random() < 0.5 else ""
            text = negated + _register(source, pool, type, definition.wider)
        operands[operand.name] = form.marked(operand, text)
    return form.written(operands)


def _needs_constant(form: Form, name: str) -> bool:
    """Whether an operand is never a register: the amount of a shift of 64 bits that a floating-point instruction wrote, and of
    one of 16 that `cnot` did (AMB-264, AMB-318)."""
    return form.syntax.opcode in ("shl", "shr") and name == "b" and form.modifiers["type"].width != 32


def _limits(form: Form, name: str, careful: bool) -> Sequence[int] | None:
    """The constants that may stand for an operand; None if any may."""
    opcode = form.syntax.opcode
    if opcode in ("shl", "shr") and name == "b" and form.modifiers["type"].width == 16:
        return range(1 << 16)  # of a greater one the assembler loses a part: AMB-103
    if careful and opcode in ("bfe", "bfi") and name not in ("ab" if opcode == "bfi" else "a"):
        return range(32)  # fields beyond a register: AMB-330
    if careful and opcode == "shl" and name == "b" and form.modifiers["type"].width == 64:
        return range(64)  # what a product or a widened number is not shifted by: AMB-336
    return form.definition.constants(name, form.modifiers)


def _takes_constant(form: Form, operand: Any, type: Any, careful: bool) -> bool:
    if (
        form.marks
        or form.definition.takes_only_registers(operand.name, form.modifiers)
        or operand.group
        or not isinstance(type, Type)
        or _is_folded(form)
        or (careful and form.syntax.opcode == "slct" and operand.name == "c")  # AMB-330
        or form.mnemonic.startswith("mbarrier.pending_count")  # the assembler assigns nothing: AMB-395
    ):
        return False
    return type.elements == 1 and not (type.is_float and type.width == 16)


@cache
def _freedoms(mnemonic: str, opcode: str) -> list[Any]:
    meaning = registry().opcodes[opcode].find(mnemonic)[0].meaning()
    return freedoms_in(*[v for r in meaning.results for v in r.values])


def _is_folded(form: Form) -> bool:
    """Whether the assembler computes an approximate result itself where an operand is a constant, at -O3: AMB-100."""
    return any(isinstance(f.attrs[4], Approximation) for f in _freedoms(form.mnemonic, form.syntax.opcode))


def loses_guard(form: Form, careful: bool) -> bool:
    """Whether the assembler executes a part of a guarded instruction of the form in all threads: AMB-104."""
    if careful and form.mnemonic in ("vadd4.u32.u32.u32.add", "vsub4.u32.u32.u32.add"):
        return True
    types = [form.modifiers.get("dtype"), form.modifiers.get("stype")]
    return form.syntax.opcode == "testp" or (
        form.syntax.opcode == "set" and any(t is not None and (t.is_float or t.width == 16) for t in types)
    )


def settled(form: Form, text: str, careful: bool = False) -> str:
    """The instruction, and behind it one NaN in the place of all: which one it gives, the assembler decides when it turns
    operands round, leaves an instruction out, or computes constants (AMB-101)."""
    parts = form.mnemonic.split(".")
    result = next(types_of(form))
    computes = parts[0] in _COMPUTING or (parts[0] in ("min", "max") and (careful or "xorsign" in parts))
    converts = parts[0] == "cvt" and parts[-1] == parts[-2]
    if (
        result not in (TYPES["f32"], TYPES["f64"])
        or not (computes or converts)
        or {"sat", "approx", "full"} & set(parts)
    ):
        return text
    register = text.split(",")[0].split()[-1]
    nan = {32: "0x7fffffff", 64: "0x7ff8000000000000"}[result.width]
    return "\n".join(
        [
            text,
            f"setp.nan.{result.name} %nan, {register}, {register};",
            f"selp.b{result.width} {register}, {nan}, {register}, %nan;",
        ]
    )
