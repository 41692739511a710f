"""What stands in a one-instruction kernel for operands that are no values: places, names, constants, and what must be declared
for them."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language.forms import Form
from ptxspec.literate.notation import Operand
from ptxspec.terms.effects import Call, Store, Update
from ptxspec.terms.kinds import HANDLES, Special
from ptxspec.terms.types import Type

#: what stands where an operand must be a constant
IMMEDIATE = 100


def immediate(form: Form, operand: str) -> int:
    """What stands for an operand that must be a constant: one that the form takes."""
    allowed = form.definition.constants(operand, form.modifiers)
    return IMMEDIATE if allowed is None or IMMEDIATE in allowed else allowed[-1]


def elements_written(form: Form, operand: str) -> tuple[Type, ...]:
    """The types of the elements that a tuple is written with: there is none of three, but where their number is exact."""
    types, sizes = form.definition.elements(operand, form.modifiers), contracts.type_checking.TUPLES
    if operand in form.definition.exact:
        return types
    count = next(n for n in sizes if n >= len(types))
    return (*types, *types[-1:] * (count - len(types)))


#: functions that the calls reach
FUNCTIONS = {
    "nothing": ".func nothing() { ret; }",
    "takes": ".func takes(.param .b32 x) { ret; }",
    "gives": ".func (.param .b32 y) gives() { ret; }",
    "both": ".func (.param .b32 y) both(.param .b32 x) { ret; }",
}


def ways(form: Form) -> tuple[bool, bool]:
    """Whether a call gives and takes something."""
    names = {o.name for o in form.syntax.operands if o.listed}
    return "r" in names, "p" in names


def called(form: Form) -> str:
    """The function that a call reaches."""
    return {(False, False): "nothing", (False, True): "takes", (True, False): "gives", (True, True): "both"}[ways(form)]


def _writes_param(form: Form) -> bool:
    effect = form.meaning().effect
    return isinstance(effect, Store) and effect.space == "param"


def declarations_for(form: Form) -> list[str]:
    """Declarations that the operands of a call or an indirect branch need."""
    names = {p.annotation.name for p in form.definition.sources.values() if isinstance(p.annotation, Special)}
    gives, takes = ways(form)
    lines = ["  .param .b32 given, taken;", "  st.param.b32 [given], %t;"] if gives or takes else []
    if _writes_param(form):  # of an entry's own parameters none is written
        lines.append("  .param .align 16 .b8 kept[64];")
    if "target_list" in names:
        prototype = f"{'(.param .b32 _) ' if gives else ''}_ {'(.param .b32 _)' if takes else '()'}"
        is_call = isinstance(form.meaning().effect, Call)
        lines.append(f"list: .callprototype {prototype};" if is_call else "list: .branchtargets target, target;")
    return lines


#: a policy for a hint that names one
POLICY = ("  .reg .b64 %policy;", "  createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;")
#: a sampler apart from textures, which only modules in independent texture mode have
SAMPLER = "some_sampler"


def place_text(type: Special, place: Operand, form: Form) -> str:
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
        return f"[{names[type.name]}]" if place.memory else names[type.name]
    if type.name in ("function_name", "function_address"):
        return called(form)
    if type.name == "target_list":
        return "list"
    if type.name == "cache_policy":
        return "%policy"
    if type.name == "list_of_operands":
        return "given" if place.name == "p" else "taken"
    if _writes_param(form):
        return "[kept]"
    if isinstance(form.meaning(form.absences[-1]).effect, Update):
        return f"[{cell_register(form)}]"
    definition_space = form.definition.spaces.get(place.name)
    space = definition_space or form.modifiers.get("ss") or form.modifiers.get("space") or "generic"
    by_space = {"shared": "cell", "local": "own", "const": "constant", "param": "argument", "global": "shared_by_all"}
    name = by_space.get(str(space).split("::")[0], "%in")
    if type.name == "map_address":
        return "shared_by_all"
    if type.name == "variable_address":
        return {"%in": "cell"}.get(name, name) + ("+4" if place.offset else "")
    return f"[{name}]" if place.memory else name


def cell_register(form: Form) -> str:
    """The register that holds the address of the thread's own cell of memory, which an instruction updates."""
    return "%at32" if str(form.modifiers.get("ss")).split("::")[0] == "shared" else "%at"
