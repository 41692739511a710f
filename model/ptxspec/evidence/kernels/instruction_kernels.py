"""One-instruction kernels: for each form, a kernel that loads its operands, executes it and stores what it gives.

Operands come from memory, so that an assembler can fold nothing. The parameters are those of all cases (cases.py). An
instruction that updates memory has a cell of its own for each thread, which holds the row's old value; what it leaves there comes
out after the destinations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ptxspec.evidence.kernels.kernel_operands import (
    POLICY,
    SAMPLER,
    cell_register,
    declarations_for,
    elements_written,
    immediate,
    place_text,
)
from ptxspec.language.forms import Form
from ptxspec.literate.notation import SINK, Operand
from ptxspec.terms.effects import Update
from ptxspec.terms.kinds import Immediate, MatrixFragment, Special, TupleOf, VectorOf, vector_length
from ptxspec.terms.types import TYPES, Type

#: threads of a CTA, each with so many bytes of shared memory
MOST_THREADS, CELL = 1024, 16
#: the version and the target of a module that is asked about the other forms
TODAY = ("9.0", "sm_90")
#: the newest version, for forms that came after these, and the GPU's own target with all that it has beside its number
NEWEST_VERSION, OWN_TARGET = "9.5", "sm_90a"


def comes_later(form: Form) -> bool:
    """Whether the GPU that is asked does not have a form: it is one of later targets."""
    return form.availability[1] > 90 or bool(form.only and OWN_TARGET not in form.only)


def module_for(form: Form) -> tuple[str, str]:
    """The version and the target of the module in which a form that stays is asked about."""
    since, _ = form.availability
    version = NEWEST_VERSION if since > (9, 0) or comes_later(form) else TODAY[0]
    if comes_later(form):
        return version, form.only[0] if form.only else "sm_120"
    return version, OWN_TARGET if form.only else TODAY[1]


def is_of_today(form: Form) -> bool:
    """Whether a module of today has a form."""
    return form.removal is None and module_for(form) == TODAY


class FormKernel(NamedTuple):
    """A kernel's name, the form it executes, its text, the types of what it takes and gives, and the line of the text with
    the instruction. A value of 128 bits has two cells, the low one first."""

    name: str
    form: Form
    text: str
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]
    instruction: str


#: an entry's parameters in a list, and in its body, where modules of PTX ISA before 1.4 have them
PARAMETERS = "(.param .u64 in, .param .u64 out, .param .align 16 .b8 argument[64])"
IN_BODY = " .param .u64 in; .param .u64 out; .param .align 16 .b8 argument[64];"
#: the cell of a row that says whether the thread executes the instruction, where some threads branch around it
TAKES_PART = 120
_AROUND = (
    "  .reg .pred %part;",
    f"  ld.global.u32 %t, [%in+{TAKES_PART}];",
    "  setp.eq.u32 %part, %t, 0;",
    "  @%part bra around;",
)


def words(values: Sequence[int], types: Sequence[Type]) -> list[int]:
    """What the cells hold in which values of these types are kept."""
    cells: list[int] = []
    for value, type in zip(values, types, strict=True):
        cells += [value & (1 << 64) - 1, value >> 64] if type.width == 128 else [value]
    return cells


def cell_types(types: Iterable[Type]) -> list[Type]:
    """The types of the cells in which values of these types are kept."""
    return [cell for t in types for cell in ([TYPES["b64"]] * 2 if t.width == 128 else [t])]


class _Registers:
    """The registers of a kernel: their declarations, the lines that fill them from `in`, and those that bring them to `out`."""

    def __init__(self) -> None:
        self.declarations: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.inputs: list[Type] = []
        self.outputs: list[Type] = []

    def _declare(self, type: Type) -> str:
        register = f"%x{len(self.declarations)}"
        declared = type if type.kind == "pred" else type.bits
        self.declarations.append(f"  .reg {declared} {register};")
        return register

    def source(self, type: Type) -> str:
        """A register that holds the row's next value."""
        at = 8 * len(cell_types(self.inputs))
        register, cell = self._declare(type), f"[%in+{at}]"
        if type.width == 128:
            self.before += [f"  ld.global.b64 %low, {cell};", f"  ld.global.b64 %high, [%in+{at + 8}];"]
            self.before.append(f"  mov.b128 {register}, {{%low, %high}};")
        elif type.kind == "pred":
            self.before += [f"  ld.global.u16 %half, {cell};", f"  setp.ne.u16 {register}, %half, 0;"]
        else:
            self.before.append(f"  ld.global.b{type.width} {register}, {cell};")
        self.inputs.append(type)
        return register

    def destination(self, type: Type) -> str:
        """A register whose value is stored as the row's next result."""
        at = 8 * len(cell_types(self.outputs))
        register, cell = self._declare(type), f"[%out+{at}]"
        if type.width == 128:
            self.after.append(f"  mov.b128 {{%low, %high}}, {register};")
            self.after += [f"  st.global.b64 {cell}, %low;", f"  st.global.b64 [%out+{at + 8}], %high;"]
        elif type.kind == "pred":
            self.after += [f"  selp.u16 %half, 1, 0, {register};", f"  st.global.u16 {cell}, %half;"]
        else:
            self.after.append(f"  st.global.b{type.width} {cell}, {register};")
        self.outputs.append(type)
        return register


def _several(form: Form, type: Any, register: Callable[[Any], str]) -> str:
    """The text of an operand of a type, or of a vector of them."""
    if isinstance(type, MatrixFragment):
        return "{" + ", ".join(map(register, type.types)) + "}"
    if not isinstance(type, VectorOf):
        return register(type)
    count = vector_length(form.modifiers)
    registers = [register(type.element) for _ in range(count or 1)]
    return "{" + ", ".join(registers) + "}" if count else registers[0]


def _destination_text(form: Form, place: Operand, results: list[Any], registers: _Registers) -> str:
    annotations = [results.pop(0) for _ in range(2 if place.second else 1)]
    if place.name == SINK:
        return SINK
    types = (form.definition.type_of(place.name, annotation, form.modifiers) for annotation in annotations)
    return "|".join(_several(form, type, registers.destination) for type in types)


def _source_text(form: Form, place: Operand, annotation: Any, registers: _Registers) -> str:
    if isinstance(annotation, Immediate):
        return str(immediate(form, place.name))
    type = form.definition.type_of(place.name, annotation, form.modifiers)
    if isinstance(type, TupleOf):
        elements = [registers.source(t) for t in elements_written(form, place.name)]
        return "{" + ", ".join(elements) + "}"
    if isinstance(type, Special):
        return place_text(type, place, form)
    return _several(form, type, registers.source)


def _operands(form: Form, absent: tuple[str, ...], registers: _Registers) -> dict[str, str]:
    """The operands' texts by their names, in the order of the syntax."""
    results = list(form.definition.results)
    texts: dict[str, str] = {}
    for place in form.syntax.operands:
        if place.name in absent:
            continue
        parameter = form.definition.sources.get(place.name)
        if parameter is None:
            text = _destination_text(form, place, results, registers)
        else:
            text = _source_text(form, place, parameter.annotation, registers)
        text = form.marked(place, text)
        texts[place.name] = f"({text})" if place.listed else text
    return texts


def _fill_cell(form: Form, effect: Update, registers: _Registers) -> None:
    """What stands in the memory that an instruction updates is the row's next value, and what it leaves there the next result."""
    type, count = effect.type, effect.count
    word, old = f"b{type.width}", [registers.source(type) for _ in range(count)]
    cell = cell_register(form)
    space = "shared" if cell == "%at32" else "global"
    is_output = space == "global" and count == 1 and type.bytes <= 8  # the cell is the output's own
    if is_output:
        registers.before.append(f"  add.u64 %at, %out, {8 * len(cell_types(registers.outputs))};")
    else:  # where the operands came from
        of_shared = ["  mov.u32 %at32, cell;", f"  mad.lo.u32 %at32, %t, {CELL}, %at32;"]
        registers.before.extend(of_shared if space == "shared" else ["  mov.u64 %at, %in;"])
    registers.before.extend(f"  st.{space}.{word} [{cell}+{type.bytes * i}], {r};" for i, r in enumerate(old))
    if is_output:
        registers.outputs.append(type)
    else:
        new = [registers.destination(type) for _ in range(count)]
        back = [f"  ld.{space}.{word} {r}, [{cell}+{type.bytes * i}];" for i, r in enumerate(new)]
        registers.after[:0] = back


def kernel(form: Form, name: str, absent: tuple[str, ...] = (), around: bool = False) -> FormKernel:
    """The kernel for one form, with the optional operands `absent` left out. With `around`, threads whose cell at TAKES_PART
    is zero branch around the instruction and store nothing."""
    registers = _Registers()
    operands = _operands(form, absent, registers)
    meaning = form.meaning(absent)
    if isinstance(meaning.effect, Update):
        _fill_cell(form, meaning.effect, registers)
    # the bit as additions write and read it: a machine may keep a borrow the other way round
    if meaning.carry_read:  # 1 + (2^32 − 1) leaves a carry, 0 + (2^32 − 1) none
        carry = registers.source(TYPES["pred"])
        registers.before.extend([f"  selp.u32 %at32, 1, 0, {carry};", "  add.cc.u32 %at32, %at32, 0xffffffff;"])
    if meaning.carry is not None:
        register = registers.destination(TYPES["u32"])
        registers.after.insert(0, f"  addc.u32 {register}, 0, 0;")
    instruction = f"  {form.written(operands)}"
    executed = [
        *(POLICY if form.syntax.has_companion else ()),
        *declarations_for(form),
        *(_AROUND if around else ()),
        instruction,
    ]
    return FormKernel(
        name,
        form,
        _text(name, registers, executed, around),
        tuple(registers.inputs),
        tuple(registers.outputs),
        instruction,
    )


def _text(name: str, registers: _Registers, executed: Sequence[str], around: bool) -> str:
    work = [*registers.before, *executed, *registers.after]
    used = words_in(work)
    return "\n".join(
        [
            f".visible .entry {name}{PARAMETERS}",
            "{",
            "  .reg .u64 %in, %out, %at;",
            "  .reg .u32 %t;",
            *(text for names, text in _DECLARATIONS.items() if not used.isdisjoint(names)),
            *registers.declarations,
            "  ld.param.u64 %in, [in];",
            "  ld.param.u64 %out, [out];",
            "  mov.u32 %t, %tid.x;",
            "  mul.wide.u32 %at, %t, 128;",
            "  add.u64 %in, %in, %at;",
            "  add.u64 %out, %out, %at;",
            *registers.before,
            *executed,
            "target:",
            *registers.after,
            *(("around:",) if around else ()),
            "  ret;",
            "}",
        ]
    )


#: declarations of a kernel, by the names that they declare
_DECLARATIONS = {
    ("%low", "%high"): "  .reg .b64 %low, %high;",
    ("%at32",): "  .reg .u32 %at32;",
    ("%half",): "  .reg .u16 %half;",
    ("cell",): f"  .shared .align 16 .b8 cell[{CELL * MOST_THREADS}];",
    ("own",): "  .local .align 16 .b8 own[64];",
}
_WORD = re.compile(r"%?\w+")


def words_in(lines: Iterable[str]) -> set[str]:
    """The names in a text, and all other words."""
    return {word for line in lines for word in _WORD.findall(line)}


def names_sampler(kernel: FormKernel) -> bool:
    """Whether a kernel belongs into a module in independent texture mode."""
    return SAMPLER in kernel.text


def kernels_for(forms: Iterable[Form]) -> list[FormKernel]:
    """Kernels for every form and its variants, once for each way of leaving optional operands out."""
    kernels: list[FormKernel] = []
    for form in forms:
        for variant in form.variants:
            for absent in variant.absences:
                kernels.append(kernel(variant, f"k{len(kernels)}", absent))
    return kernels
