"""Kernels that show what an instruction without a value of its own does to the course of a CTA: branches, calls, returns,
barriers, fences, and those that do nothing at all.

They have the parameters of all cases (cases.py), and are launched with two warps. A thread's row of `in` has a value,
whether a condition holds, an index, a mask and the numbers of a barrier; what the thread comes to lies at the beginning of its
row of `out`.
"""

from __future__ import annotations

import random
from typing import assert_never

import numpy as np

from ptxspec.evidence.kernels.kernel_operands import called, ways
from ptxspec.language.forms import Form
from ptxspec.terms.effects import (
    Advance,
    Arrive,
    Await,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Examine,
    Exit,
    Fence,
    Follow,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initialize,
    Initiate,
    Life,
    Load,
    Release,
    Report,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.kinds import Immediate, Special
from ptxspec_workshop.generate.cases import STRIDE, blank_rows, entry

ROWS = 64
SEED = "control"

_FUNCTIONS = """\
.global .u32 noted;
.func nothing() { red.global.add.u32 [noted], 1; ret; }
.func takes(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; red.global.add.u32 [noted], %x; ret; }
.func (.param .b32 y) gives() { .reg .b32 %x; mov.u32 %x, %tid.x; mad.lo.u32 %x, %x, 3, 7; st.param.b32 [y], %x; ret; }
.func (.param .b32 y) both(.param .b32 x)
{ .reg .b32 %x; ld.param.b32 %x, [x]; mad.lo.u32 %x, %x, 5, 1; st.param.b32 [y], %x; ret; }"""


#: a cache policy: lines are evicted as usual
USUAL_POLICY = "0x1000000000000000"


def shows(form: Form) -> bool:
    """Whether there is a kernel for the form here."""
    meaning = form.meaning(form.absences[-1])
    if form.definition.unasked is not None:
        return False
    match meaning.effect:
        case Branch() | IndexedBranch() | Call() | Return() | Exit():
            return True
        case Load(life=Life()) | Update(life=Life()) | Follow() | Await():
            return False
        case None | Fence() | GridDependency() | Arrive() | Wait() | ClusterArrive() | ClusterWait():
            return not form.definition.results
        case Collective():  # a barrier of a warp is one without a result, and without accesses behind it
            return not form.definition.results and not meaning.more
        case Load() | Store() | Update() | ImageAccess() | Check() | Initiate() | Advance():
            return False
        case StackEnd() | Reserve() | Release() | Stop():
            return False
        case Report() | Examine() | Initialize():
            raise AssertionError("no form has an effect that checks of a launch cause")
        case _:
            assert_never(meaning.effect)


def rows(form: Form) -> np.ndarray:
    """Rows of `in`. A condition is the same in all threads of a warp where the form says that it is."""
    source = random.Random(SEED)
    data = blank_rows(ROWS)
    for i in range(ROWS):
        holds = source.getrandbits(1)
        data[i, :6] = [
            source.getrandbits(16),
            int(i < 32) if form.modifiers.get("uni") else holds,
            0 if form.modifiers.get("uni") else source.randrange(3),
            0xFFFFFFFF,
            1,
            ROWS,
        ]
    return data


def _operands(form: Form, absent: tuple[str, ...]) -> dict[str, str]:
    """Operands that are the same in all kernels: addresses, numbers of barriers and their threads, masks, constants."""
    texts = {}
    for place in form.syntax.operands:
        annotation = form.definition.sources[place.name].annotation if place.name in form.definition.sources else None
        if place.name in absent:
            continue
        if isinstance(annotation, Immediate):
            allowed = form.definition.constants(place.name, form.modifiers) or range(2)
            texts[place.name] = "1" if 1 in allowed else str(allowed[-1])
        elif isinstance(annotation, Special) and annotation.name == "address":
            space = form.modifiers.get("ss")
            texts[place.name] = "[own]" if space == "local" else "[%in]"
        elif isinstance(annotation, Special) and annotation.name == "cache_policy":
            texts[place.name] = USUAL_POLICY
        elif annotation is not None and not isinstance(annotation, Special):
            texts[place.name] = _register(form.meaning(absent).effect, place.name)
    return texts


def _register(effect: Effect | None, operand: str) -> str:
    """The register for an operand that is no address and no constant."""
    match effect:
        case Collective():
            return "%mask"
        case Arrive() | Wait() | ClusterArrive() | ClusterWait():
            return "%number" if operand == "a" else "%count"
        case _:
            return "%v"


def _exchange(form: Form, absent: tuple[str, ...]) -> list[str]:
    """A value goes to a thread of the other warp, or to another lane, around the instruction."""
    effect = form.meaning(absent).effect
    instruction = form.written(_operands(form, absent))
    give, take = "st.shared.u32 [%mine], %v;", "ld.shared.u32 %v, [%other];"
    match effect:
        case None | Fence() | GridDependency():  # it is no barrier itself
            return [give, instruction, "bar.sync 0;", take]
        case Collective():
            return ["xor.b32 %other, %mine, 4;", give, instruction, take]
        case Wait():
            return [give, instruction, take]
        case _:
            waits = ["waits:", "bar.sync %number, %count;", take]
            return ["setp.ge.u32 %p, %t, 32;", "@%p bra waits;", give, instruction, "bra done;", *waits, "done:"]


def _branch(form: Form, absent: tuple[str, ...]) -> list[str]:
    special = {"label": "target", "target_list": "list"}
    names = {n: p.annotation for n, p in form.definition.sources.items()}
    operands = {n: special.get(a.name, "%index") if isinstance(a, Special) else "%index" for n, a in names.items()}
    taken = f"@%p {form.written(operands)}"
    rest = ["add.u32 %v, %v, 100;", "first:", "add.u32 %v, %v, 10;", "target:", "add.u32 %v, %v, 1;"]
    return ["list: .branchtargets first, target, last;", taken, *rest, "last:"]


def _call(form: Form, absent: tuple[str, ...]) -> list[str]:
    gives, takes = ways(form)
    function = called(form)
    texts = {"r": "(taken)", "p": "(given)"}
    for name, parameter in form.definition.sources.items():
        what = parameter.annotation.name if isinstance(parameter.annotation, Special) else ""
        if not what:  # a register with the function's address
            texts[name] = "%at"
        elif what != "list_of_operands":
            texts[name] = {"function_name": function, "target_list": "list"}[what]
    prototype = f"list: .callprototype {'(.param .b32 _) ' if gives else ''}_ {'(.param .b32 _)' if takes else '()'};"
    lines = ["mov.u32 %w, 0;", "st.global.u32 [noted], %w;", "bar.sync 0;"]
    lines += [".param .b32 given, taken;", "st.param.b32 [given], %v;", prototype, f"mov.u64 %at, {function};"]
    lines.append(form.written({n: t for n, t in texts.items() if n in {o.name for o in form.syntax.operands}}))
    lines += ["ld.param.b32 %v, [taken];"] if gives else []
    return [*lines, "bar.sync 0;", "ld.global.u32 %w, [noted];", "st.global.u32 [%out+8], %w;"]


def _leave(form: Form, absent: tuple[str, ...]) -> list[str]:
    return [f"@%p {form.written({})}", "add.u32 %v, %v, 100;"]


def _shape(form: Form, absent: tuple[str, ...]) -> list[str]:
    """The lines around the instruction, and itself."""
    match form.meaning(absent).effect:
        case Branch() | IndexedBranch():
            return _branch(form, absent)
        case Call():
            return _call(form, absent)
        case Return() | Exit():
            return _leave(form, absent)
    return _exchange(form, absent)


def text_of(form: Form, name: str, absent: tuple[str, ...] = ()) -> str:
    """The kernel of a form."""
    shape = _shape(form, absent)
    lines = [
        ".reg .u64 %in, %out, %at;",
        ".reg .u32 %t, %v, %w, %index, %mask, %number, %count, %mine, %other;",
        ".reg .pred %p;",
        f".shared .align 16 .b8 cell[{4 * ROWS}];",
        ".local .align 16 .b8 own[16];",
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "mov.u32 %t, %tid.x;",
        f"mad.wide.u32 %in, %t, {STRIDE}, %in;",
        f"mad.wide.u32 %out, %t, {STRIDE}, %out;",
        *(f"ld.global.u32 %{r}, [%in+{8 * i}];" for i, r in enumerate(("v", "w", "index", "mask", "number", "count"))),
        "setp.ne.u32 %p, %w, 0;",
        "mov.u32 %mine, cell;",
        "mad.lo.u32 %mine, %t, 4, %mine;",
        "mov.u32 %other, cell;",
        "xor.b32 %w, %t, 32;",
        "mad.lo.u32 %other, %w, 4, %other;",
        "st.global.u32 [%out+16], %v;",
        *shape,
        "st.global.u32 [%out], %v;",
        "ret;",
    ]
    return entry(name, lines)


def declarations() -> list[str]:
    """What a module of these kernels declares before them."""
    return _FUNCTIONS.splitlines()
