"""One-instruction kernels: for each form, a kernel that loads its operands, executes it and stores what it gives.

Operands come from memory, so that an assembler can fold nothing. Kernel parameters: `in`, a row of 8-byte cells a thread, and
`out`, likewise. An instruction that updates memory has a cell of its own for each thread, which holds the row's old value; what
it leaves there comes out after the destinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Immediate, Special, VectorOf, operand_type, vector_length
from ptxspec.terms.types import TYPES, Type

#: what stands where an operand must be a constant
IMMEDIATE = 100
#: threads of a CTA, each with eight bytes of shared memory
MOST_THREADS = 1024


class Kernel(NamedTuple):
    """A kernel's name, the form it executes, its text, and the types of its input and output cells."""

    name: str
    form: Form
    text: str
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]


#: the cell of a row that says whether the thread executes the instruction, where some threads branch around it
TAKES_PART = 120


def kernel(form: Form, name: str, absent: tuple[str, ...] = (), around: bool = False) -> Kernel:
    """The kernel for one form, with the optional operands `absent` left out. With `around`, threads whose cell at TAKES_PART
    is zero branch around the instruction and store nothing."""
    declarations: list[str] = []
    before: list[str] = []
    after: list[str] = []
    inputs: list[Type] = []
    outputs: list[Type] = []
    operands: dict[str, str] = {}

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
            most = parameter.annotation.most
            text = str(IMMEDIATE if most is None else min(IMMEDIATE, most))
        else:
            type = operand_type(parameter.annotation, form.modifiers)
            text = (
                _special(type, place.memory, place.offset, form, place.name)
                if isinstance(type, Special)
                else several(type, source)
            )
        text = form.marked(place, text)
        if place.listed:
            text = f"({text})"
        operands[place.name] = text
    meaning = form.meaning(absent)
    if meaning.effect is not None and meaning.effect.kind == "update":
        type = meaning.effect.fields["type"]
        word, old = f"b{type.width}", source(type)
        if _cell(form) == "%at32":
            before.extend(["  mad.lo.u32 %at32, %t, 8, %at32;", f"  st.shared.{word} [%at32], {old};"])
            after.insert(0, f"  ld.shared.{word} {destination(type)}, [%at32];")
        else:  # the cell is the output's own
            before.extend([f"  add.u64 %at, %out, {8 * len(outputs)};", f"  st.global.{word} [%at], {old};"])
            outputs.append(type)
    # a machine may store a borrow the other way round, so that only a subtraction sets and reads it
    if meaning.carry_read:  # 1 + (2^32 − 1) leaves a carry, 0 + (2^32 − 1) none; 0 − 1 leaves a borrow, 0 − 0 none
        prepare = "sub.cc.u32 %at32, 0, %at32" if meaning.borrows else "add.cc.u32 %at32, %at32, 0xffffffff"
        before.extend([f"  selp.u32 %at32, 1, 0, {source(TYPES['pred'])};", f"  {prepare};"])
    if meaning.carry is not None:
        register = destination(TYPES["u32"])
        read = [f"  subc.u32 {register}, 0, 0;", f"  neg.s32 {register}, {register};"]
        after[:0] = read if meaning.borrows else [f"  addc.u32 {register}, 0, 0;"]
    text = "\n".join(
        [
            f".visible .entry {name}(.param .u64 in, .param .u64 out, .param .align 16 .b8 argument[64])",
            "{",
            "  .reg .u64 %in, %out, %at;",
            "  .reg .u32 %t, %at32;",
            "  .reg .u16 %half;",
            f"  .shared .align 16 .b8 cell[{8 * MOST_THREADS}];",
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
            *_tables(form),
            *(_AROUND if around else ()),
            f"  {form.written(operands)}",
            "target:",
            *after,
            *(("around:",) if around else ()),
            "  ret;",
            "}",
        ]
    )
    return Kernel(name, form, text, tuple(inputs), tuple(outputs))


#: functions that the calls reach, by whether they give and take something
_FUNCTIONS = {
    (False, False): ".func nothing() { ret; }",
    (False, True): ".func takes(.param .b32 x) { ret; }",
    (True, False): ".func (.param .b32 y) gives() { ret; }",
    (True, True): ".func (.param .b32 y) both(.param .b32 x) { ret; }",
}


def _ways(form: Form) -> tuple[bool, bool]:
    """Whether a call gives and takes something."""
    names = {o.name for o in form.syntax.operands if o.listed}
    return "r" in names, "p" in names


def _function(form: Form) -> str:
    return {(False, False): "nothing", (False, True): "takes", (True, False): "gives", (True, True): "both"}[
        _ways(form)
    ]


def _writes_param(form: Form) -> bool:
    effect = form.meaning().effect
    return effect is not None and effect.kind == "store" and effect.fields["space"] == "param"


def _tables(form: Form) -> list[str]:
    """Declarations that the operands of a call or an indirect branch need."""
    names = {p.annotation.name for p in form.definition.sources.values() if isinstance(p.annotation, Special)}
    gives, takes = _ways(form)
    found = ["  .param .b32 given, taken;", "  st.param.b32 [given], %t;"] if gives or takes else []
    if _writes_param(form):  # of an entry's own parameters none is written
        found.append("  .param .align 16 .b8 kept[64];")
    if "target_list" in names:
        prototype = f"{'(.param .b32 _) ' if gives else ''}_ {'(.param .b32 _)' if takes else '()'}"
        effect = form.meaning().effect
        is_call = effect is not None and effect.kind == "call"
        found.append(f"list: .callprototype {prototype};" if is_call else "list: .branchtargets target, target;")
    return found


_AROUND = (
    "  .reg .pred %part;",
    f"  ld.global.u32 %t, [%in+{TAKES_PART}];",
    "  setp.eq.u32 %part, %t, 0;",
    "  @%part bra around;",
)


def _special(type: Special, memory: bool, offset: bool, form: Form, listed: str) -> str:
    """An operand that is a place: a label of the kernel, or a variable that every state space may be asked for."""
    if type.name == "label":
        return "target"
    if type.name in ("function_name", "function_address"):
        return _function(form)
    if type.name == "target_list":
        return "list"
    if type.name == "list_of_operands":
        return "given" if listed == "p" else "taken"
    if _writes_param(form):
        return "[kept]"
    effect = form.meaning(form.absences[-1]).effect
    if effect is not None and effect.kind == "update":
        return f"[{_cell(form)}]"
    space = form.modifiers.get("ss") or form.modifiers.get("space") or "generic"
    by_space = {"shared": "cell", "local": "own", "const": "constant", "param": "argument", "global": "shared_by_all"}
    name = by_space.get(str(space).split("::")[0], "%in")
    if type.name == "variable_address":
        return {"%in": "cell"}.get(name, name) + ("+4" if offset else "")
    return f"[{name}]" if memory else name


def _cell(form: Form) -> str:
    """The register that holds the address of the thread's own cell of memory, which an instruction updates."""
    return "%at32" if str(form.modifiers.get("ss")).split("::")[0] == "shared" else "%at"


def module(kernels: Sequence[Kernel] | Iterable[Kernel], version: str = "9.0", target: str = "sm_90") -> str:
    """A PTX module of one-instruction kernels."""
    head = [
        f".version {version}",
        f".target {target}",
        ".address_size 64",
        ".const .align 16 .b8 constant[64];",
        ".global .align 16 .b8 shared_by_all[64];",
        *(_FUNCTIONS.values() if int(target.removeprefix("sm_")) >= 20 else ()),  # parameters in .param came with sm_20
    ]
    return "\n".join([*head, *(k.text for k in kernels), ""])


def kernels_for(forms: Iterable[Form]) -> list[Kernel]:
    """Kernels for every form and its variants, once for each way of leaving optional operands out."""
    found: list[Kernel] = []
    for form in forms:
        for variant in form.variants:
            for absent in form.absences:
                found.append(kernel(variant, f"k{len(found)}", absent))
    return found
