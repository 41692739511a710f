"""One-instruction kernels: for each form, a kernel that loads its operands, executes it and stores what it gives.

Operands come from memory, so that an assembler can fold nothing. Kernel parameters: `in`, a row of 8-byte cells a thread, and
`out`, likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Immediate, Special, VectorOf, operand_type, vector_length
from ptxspec.terms.types import Type

#: what stands where an operand must be a constant
IMMEDIATE = 100


class Kernel(NamedTuple):
    """A kernel's name, the form it executes, its text, and the types of its input and output cells."""

    name: str
    form: Form
    text: str
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]


def kernel(form: Form, name: str, absent: tuple[str, ...] = ()) -> Kernel:
    """The kernel for one form, with the optional operands `absent` left out."""
    declarations: list[str] = []
    before: list[str] = []
    after: list[str] = []
    inputs: list[Type] = []
    outputs: list[Type] = []
    operands: list[str] = []
    groups: dict[int, list[str]] = {}

    def declare(type: Type) -> str:
        register = f"%x{len(declarations)}"
        own = type if type.kind == "pred" else type.bits
        declarations.append(f"  .reg {own} {register};")
        return register

    def source(type: Type) -> str:
        register, cell = declare(type), f"[%in+{8 * len(inputs)}]"
        if type.kind == "pred":
            before.extend([f"  ld.global.u16 %half, {cell};", f"  setp.ne.u16 {register}, %half, 0;"])
        else:
            before.append(f"  ld.global.b{type.width} {register}, {cell};")
        inputs.append(type)
        return register

    def destination(type: Type) -> str:
        register, cell = declare(type), f"[%out+{8 * len(outputs)}]"
        if type.kind == "pred":
            after.extend([f"  selp.u16 %half, 1, 0, {register};", f"  st.global.u16 {cell}, %half;"])
        else:
            after.append(f"  st.global.b{type.width} {cell}, {register};")
        outputs.append(type)
        return register

    def several(type: Type | VectorOf, one) -> str:
        if not isinstance(type, VectorOf):
            return one(type)
        count = vector_length(form.modifiers)
        registers = [one(type.element) for _ in range(count or 1)]
        return "{" + ", ".join(registers) + "}" if count else registers[0]

    results = list(form.definition.results)
    for place in form.syntax.operands:
        if place.name in absent:
            continue
        parameter = form.definition.sources.get(place.name)
        if parameter is None:
            text = several(operand_type(results.pop(0), form.modifiers), destination)  # type: ignore[arg-type]
            if place.second:
                second = operand_type(results.pop(0), form.modifiers)
                text += "|" + several(second, destination)  # type: ignore[arg-type]
        elif isinstance(parameter.annotation, Immediate):
            text = str(IMMEDIATE)
        else:
            type = operand_type(parameter.annotation, form.modifiers)
            text = (
                _special(type, place.memory, place.offset, form) if isinstance(type, Special) else several(type, source)
            )
        if place.group:
            if place.group in groups:
                groups[place.group].append(text)
                continue
            groups[place.group] = [text]
            text = f"\0{place.group}"
        operands.append(text)
    shown = ", ".join("{" + ", ".join(groups[int(o[1:])]) + "}" if o.startswith("\0") else o for o in operands)
    text = "\n".join(
        [
            f".visible .entry {name}(.param .u64 in, .param .u64 out, .param .align 16 .b8 argument[64])",
            "{",
            "  .reg .u64 %in, %out, %at;",
            "  .reg .u32 %t, %at32;",
            "  .reg .u16 %half;",
            "  .shared .align 16 .b8 cell[64];",
            "  .local .align 16 .b8 own[64];",
            *declarations,
            "  ld.param.u64 %in, [in];",
            "  ld.param.u64 %out, [out];",
            "  mov.u32 %t, %tid.x;",
            "  mul.wide.u32 %at, %t, 128;",
            "  add.u64 %in, %in, %at;",
            "  add.u64 %out, %out, %at;",
            "  mov.u64 %at, cell;",
            "  mov.u32 %at32, cell;",
            *before,
            f"  {form.mnemonic} {shown};" if shown else f"  {form.mnemonic};",
            "target:",
            *after,
            "  ret;",
            "}",
        ]
    )
    return Kernel(name, form, text, tuple(inputs), tuple(outputs))


def _special(type: Special, memory: bool, offset: bool, form: Form) -> str:
    """An operand that is a place: a label of the kernel, or a variable that every state space may be asked for."""
    if type.name == "label":
        return "target"
    space = form.modifiers.get("ss") or form.modifiers.get("space") or "generic"
    by_space = {"shared": "cell", "local": "own", "const": "constant", "param": "argument", "global": "shared_by_all"}
    name = by_space.get(str(space).split("::")[0], "%in")
    if type.name == "variable_address":
        return {"%in": "cell"}.get(name, name) + ("+4" if offset else "")
    return f"[{name}]" if memory else name


def module(kernels: Sequence[Kernel] | Iterable[Kernel], version: str = "9.0", target: str = "sm_90") -> str:
    """A PTX module of one-instruction kernels."""
    head = [
        f".version {version}",
        f".target {target}",
        ".address_size 64",
        ".const .align 16 .b8 constant[64];",
        ".global .align 16 .b8 shared_by_all[64];",
    ]
    return "\n".join([*head, *(k.text for k in kernels), ""])


def kernels_for(forms: Iterable[Form]) -> list[Kernel]:
    """Kernels for every form, once for each way of leaving optional operands out."""
    found: list[Kernel] = []
    for form in forms:
        for absent in form.absences:
            found.append(kernel(form, f"k{len(found)}", absent))
    return found
