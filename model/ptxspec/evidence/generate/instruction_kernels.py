"""One-instruction kernels: for each form, a kernel that loads its operands, executes it and stores what it gives.

Operands come from memory, so that an assembler can fold nothing. Kernel parameters: `in`, a row of 8-byte cells a thread, and
`out`, likewise. An instruction that updates memory has a cell of its own for each thread, which holds the row's old value; what
it leaves there comes out after the destinations.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ptxspec.language.forms import Form
from ptxspec.terms.effects import Call, Store, Update
from ptxspec.terms.kinds import HANDLES, Immediate, Special, TupleOf, VectorOf, operand_type, vector_length
from ptxspec.terms.types import TYPES, Type

#: what stands where an operand must be a constant
IMMEDIATE = 100
#: threads of a CTA, each with so many bytes of shared memory
MOST_THREADS, CELL = 1024, 16


class Kernel(NamedTuple):
    """A kernel's name, the form it executes, its text, and the types of what it takes and gives. A value of 128 bits has two
    cells, the low one first."""

    name: str
    form: Form
    text: str
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]


#: an entry's parameters in a list, and in its body, where modules of PTX ISA before 1.4 have them
_LIST = "(.param .u64 in, .param .u64 out, .param .align 16 .b8 argument[64])"
_IN_BODY = " .param .u64 in; .param .u64 out; .param .align 16 .b8 argument[64];"
#: the cell of a row that says whether the thread executes the instruction, where some threads branch around it
TAKES_PART = 120


def immediate(form: Form, operand: str) -> int:
    """What stands for an operand that must be a constant: one that the form takes."""
    allowed = form.definition.constant_ranges.get(operand)
    return IMMEDIATE if allowed is None or IMMEDIATE in allowed else allowed[-1]


def words(values: Sequence[int], types: Sequence[Type]) -> list[int]:
    """What the cells hold in which values of these types are kept."""
    found: list[int] = []
    for value, type in zip(values, types, strict=True):
        found += [value & (1 << 64) - 1, value >> 64] if type.width == 128 else [value]
    return found


def cell_types(types: Iterable[Type]) -> list[Type]:
    """The types of the cells in which values of these types are kept."""
    return [cell for t in types for cell in ([TYPES["b64"]] * 2 if t.width == 128 else [t])]


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
        at = 8 * len(cell_types(inputs))
        register, cell = declare(type), f"[%in+{at}]"
        if type.width == 128:
            before.extend([f"  ld.global.b64 %low, {cell};", f"  ld.global.b64 %high, [%in+{at + 8}];"])
            before.append(f"  mov.b128 {register}, {{%low, %high}};")
        elif type.kind == "pred":
            before.extend([f"  ld.global.u16 %half, {cell};", f"  setp.ne.u16 {register}, %half, 0;"])
        else:
            before.append(f"  ld.global.b{type.width} {register}, {cell};")
        inputs.append(type)
        return register

    def destination(type: Type) -> str:
        at = 8 * len(cell_types(outputs))
        register, cell = declare(type), f"[%out+{at}]"
        if type.width == 128:
            after.append(f"  mov.b128 {{%low, %high}}, {register};")
            after.extend([f"  st.global.b64 {cell}, %low;", f"  st.global.b64 [%out+{at + 8}], %high;"])
        elif type.kind == "pred":
            after.extend([f"  selp.u16 %half, 1, 0, {register};", f"  st.global.u16 {cell}, %half;"])
        else:
            after.append(f"  st.global.b{type.width} {cell}, {register};")
        outputs.append(type)
        return register

    def several(type: Type | VectorOf, one: Callable[[Any], str]) -> str:
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
            text = str(immediate(form, place.name))
        else:
            type = operand_type(parameter.annotation, form.modifiers)
            if isinstance(type, TupleOf):
                registers = [source(t) for t in padded(form.definition.elements(place.name, form.modifiers))]
                text = "{" + ", ".join(registers) + "}"
            elif isinstance(type, Special):
                text = _special(type, place.memory, place.offset, form, place.name)
            else:
                text = several(type, source)
        text = form.marked(place, text)
        if place.listed:
            text = f"({text})"
        operands[place.name] = text
    meaning = form.meaning(absent)
    if isinstance(meaning.effect, Update):
        type, count = meaning.effect.type, meaning.effect.count
        word, old = f"b{type.width}", [source(type) for _ in range(count)]
        cell = _cell(form)
        space = "shared" if cell == "%at32" else "global"
        own = space == "global" and count == 1 and type.bytes <= 8  # the cell is the output's own
        if own:
            before.append(f"  add.u64 %at, %out, {8 * len(cell_types(outputs))};")
        else:  # where the operands came from
            before.append(f"  mad.lo.u32 %at32, %t, {CELL}, %at32;" if space == "shared" else "  mov.u64 %at, %in;")
        before.extend(f"  st.{space}.{word} [{cell}+{type.bytes * i}], {r};" for i, r in enumerate(old))
        if own:
            outputs.append(type)
        else:
            new = [destination(type) for _ in range(count)]
            back = [f"  ld.{space}.{word} {r}, [{cell}+{type.bytes * i}];" for i, r in enumerate(new)]
            after[:0] = back
    # the bit as additions write and read it: a machine may keep a borrow the other way round
    if meaning.carry_read:  # 1 + (2^32 − 1) leaves a carry, 0 + (2^32 − 1) none
        before.extend([f"  selp.u32 %at32, 1, 0, {source(TYPES['pred'])};", "  add.cc.u32 %at32, %at32, 0xffffffff;"])
    if meaning.carry is not None:
        register = destination(TYPES["u32"])
        after.insert(0, f"  addc.u32 {register}, 0, 0;")
    text = "\n".join(
        [
            f".visible .entry {name}{_LIST}",
            "{",
            "  .reg .u64 %in, %out, %at;",
            *(["  .reg .b64 %low, %high;"] if any(t.width == 128 for t in (*inputs, *outputs)) else ()),
            "  .reg .u32 %t, %at32;",
            "  .reg .u16 %half;",
            f"  .shared .align 16 .b8 cell[{CELL * MOST_THREADS}];",
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
            *(POLICY if form.syntax.has_companion else ()),
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


def padded(types: tuple[Type, ...]) -> tuple[Type, ...]:
    """The types of the elements that a tuple is written with: there is no tuple of three."""
    sizes = importlib.import_module("ptxspec.spec.operands.type_checking").TUPLES
    count = next(n for n in sizes if n >= len(types))
    return (*types, *types[-1:] * (count - len(types)))


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
    return isinstance(effect, Store) and effect.space == "param"


def _tables(form: Form) -> list[str]:
    """Declarations that the operands of a call or an indirect branch need."""
    names = {p.annotation.name for p in form.definition.sources.values() if isinstance(p.annotation, Special)}
    gives, takes = _ways(form)
    found = ["  .param .b32 given, taken;", "  st.param.b32 [given], %t;"] if gives or takes else []
    if _writes_param(form):  # of an entry's own parameters none is written
        found.append("  .param .align 16 .b8 kept[64];")
    if "target_list" in names:
        prototype = f"{'(.param .b32 _) ' if gives else ''}_ {'(.param .b32 _)' if takes else '()'}"
        is_call = isinstance(form.meaning().effect, Call)
        found.append(f"list: .callprototype {prototype};" if is_call else "list: .branchtargets target, target;")
    return found


#: a policy for a hint that names one
POLICY = ("  .reg .b64 %policy;", "  createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;")
_AROUND = (
    "  .reg .pred %part;",
    f"  ld.global.u32 %t, [%in+{TAKES_PART}];",
    "  setp.eq.u32 %part, %t, 0;",
    "  @%part bra around;",
)


#: a sampler apart from textures, which only modules in independent texture mode have
SAMPLER = "some_sampler"


def _special(type: Special, memory: bool, offset: bool, form: Form, listed: str, absent: tuple[str, ...] = ()) -> str:
    """An operand that is a place: a label of the kernel, or a variable that every state space may be asked for."""
    if type.name == "label":
        return "target"
    if type.name in HANDLES:
        names = {
            "texture": "some_texture",
            "surface": "some_surface",
            "sampler": SAMPLER,
            "sampler_state": "some_texture",
        }
        return f"[{names[type.name]}]" if memory else names[type.name]
    if type.name in ("function_name", "function_address"):
        return _function(form)
    if type.name == "target_list":
        return "list"
    if type.name == "cache_policy":
        return "%policy"
    if type.name == "list_of_operands":
        return "given" if listed == "p" else "taken"
    if _writes_param(form):
        return "[kept]"
    if isinstance(form.meaning(form.absences[-1]).effect, Update):
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
    """A PTX module of one-instruction kernels. All of them, or none, name a sampler."""
    kernels = list(kernels)
    apart = bool(kernels) and names_sampler(kernels[0])
    number = tuple(map(int, version.split(".")))
    head = [
        f".version {version}",
        f".target {target}{', texmode_independent' if apart else ''}",
        ".address_size 64" if number >= (2, 3) else "",
        ".const .align 16 .b8 constant[64];",
        ".global .align 16 .b8 shared_by_all[64];",
        ".global .texref some_texture;" if number >= (1, 5) else ".tex .u32 some_texture;",
        ".global .surfref some_surface;" if number >= (1, 5) else "",
        f".global .samplerref {SAMPLER};" if apart else "",
        *(_FUNCTIONS.values() if int(target.removeprefix("sm_")) >= 20 else ()),  # parameters in .param came with sm_20
    ]
    texts = (k.text if number >= (1, 4) else k.text.replace(f"{_LIST}\n{{", f"\n{{{_IN_BODY}") for k in kernels)
    return "\n".join([*head, *texts, ""])


def names_sampler(kernel: Kernel) -> bool:
    """Whether a kernel belongs into a module in independent texture mode."""
    return SAMPLER in kernel.text


def kernels_for(forms: Iterable[Form]) -> list[Kernel]:
    """Kernels for every form and its variants, once for each way of leaving optional operands out."""
    found: list[Kernel] = []
    for form in forms:
        for variant in form.variants:
            for absent in form.absences:
                found.append(kernel(variant, f"k{len(found)}", absent))
    return found
