"""Kernels of one load or one store each, for every state space: what a thread reads from memory, or what it leaves there.

They have the parameters of all cases (cases.py). A thread's row of `in` begins with the 16 bytes that a load may find; these
also stand in the constant `constant` and in the parameter `argument`, 16 bytes a thread. A store takes its values from the row's
cells, and leaves what it wrote, among bytes of 0xa5, at the beginning of the thread's row of `out`.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from ptxspec.evidence.kernels.kernel_operands import POLICY
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Load, Store
from ptxspec_workshop.generate.cases import STRIDE, blank_rows, entry

ROWS = 32
#: bytes a thread may reach
REACH = 16
SEED = "accesses"


def image() -> bytes:
    """What the threads find in memory: 16 bytes each, reproducible from the seed."""
    return random.Random(SEED).randbytes(ROWS * REACH)


def rows_of_load() -> np.ndarray:
    """Rows of `in` for a load."""
    data = np.zeros((ROWS, STRIDE), np.uint8)
    data[:, :REACH] = np.frombuffer(image(), np.uint8).reshape(ROWS, REACH)
    return data.view(np.uint64)


def rows_of_store() -> np.ndarray:
    """Rows of `in` for a store: four values, each in a cell of eight bytes."""
    source = random.Random(f"{SEED}:store")
    data = blank_rows(ROWS)
    data[:, :4] = [[source.getrandbits(64) for _ in range(4)] for _ in range(ROWS)]
    return data


class _Place(NamedTuple):
    """How a thread's bytes of a space are reached: the address of the access, the lines that make it, and those that bring the
    registers %low and %high there and back, where they are not in `in` or `out` already."""

    address: str
    before: tuple[str, ...] = ()
    fill: tuple[str, ...] = ()
    fetch: tuple[str, ...] = ()


def _place(space: str, stores: bool) -> _Place:
    """%zero is 0, which no assembler knows: so it forwards nothing from a store to a load."""
    space = space.split("::")[0]
    if space in ("generic", "global"):
        return _Place("%out" if stores else "%in")
    if space == "const":
        return _Place("%at", ("mov.u64 %at, constant;", "mad.wide.u32 %at, %t, 16, %at;"))
    if space == "param" and not stores:
        return _Place("%at", ("mov.u64 %at, argument;", "mad.wide.u32 %at, %t, 16, %at;"))
    if space == "param":  # what passes an argument is read where it was passed
        fetch = ("call (got), echo, (kept);", "ld.param.v2.b64 {%low, %high}, [got];")
        return _Place("kept", (), ("st.param.v2.b64 [kept], {%low, %high};",), fetch)
    if space == "local":
        before = ("mov.u64 %at, own;", "add.u64 %near, %at, %zero;")
        return _Place(
            "%at", before, ("st.local.v2.b64 [%near], {%low, %high};",), ("ld.local.v2.b64 {%low, %high}, [%near];",)
        )
    assert space == "shared", space
    before = ("mov.u32 %at32, cell;", "mad.lo.u32 %at32, %t, 16, %at32;")
    fill = ("st.shared.v2.b64 [%at32], {%low, %high};", "bar.sync 0;")
    return _Place("%at32", before, fill, ("bar.sync 0;", "ld.shared.v2.b64 {%low, %high}, [%at32];"))


def moves(form: Form) -> bool:
    """Whether the form is a load or a store."""
    return isinstance(form.meaning().effect, Load | Store)


def judged(form: Form) -> int:
    """The bits of the first cell of `out` in which a form's answer counts: all but those next to a store of less than four bytes
    to what a call passes, which need not be what they were (AMB-203)."""
    effect = form.meaning().effect
    every = (1 << 64) - 1
    if not isinstance(effect, Store) or effect.space != "param":
        return every
    bits = 8 * effect.bytes
    return every ^ (1 << max(bits, 32)) - (1 << bits)


def text_of(form: Form, name: str) -> str:
    """The kernel of a load or a store."""
    effect = form.meaning().effect
    assert isinstance(effect, Load | Store)
    stores, type, count = isinstance(effect, Store), effect.type, effect.count
    place = _place(effect.space, stores)
    registers = [f"%x{i}" for i in range(count)]
    vector = "{" + ", ".join(registers) + "}" if form.modifiers.get("vec") else registers[0]
    operands = {o.name: f"[{place.address}]" if o.memory else vector for o in form.syntax.operands}
    if form.syntax.companion is not None and form.syntax.has_companion:
        operands[form.syntax.companion.name] = "%policy"
    word = f"b{type.width}"
    if stores:
        around = [f"ld.global.{word} {r}, [%in+{8 * i}];" for i, r in enumerate(registers)]
        around += ["mov.b64 %low, 0xa5a5a5a5a5a5a5a5;", "mov.b64 %high, %low;"] if place.fill else []
        after = [*place.fetch, "st.global.v2.b64 [%out], {%low, %high};"] if place.fetch else []
    else:
        around = ["ld.global.v2.b64 {%low, %high}, [%in];"] if place.fill else []
        after = [f"st.global.{word} [%out+{8 * i}], {r};" for i, r in enumerate(registers)]
    passes = stores and effect.space == "param"
    lines = [
        ".reg .u64 %in, %out, %at, %near, %zero, %low, %high;",
        ".reg .u32 %t, %at32;",
        f".reg .{word} %x<{count}>;",
        f".shared .align 16 .b8 cell[{ROWS * REACH}];",
        f".local .align 16 .b8 own[{REACH}];",
        *([f".param .align 16 .b8 kept[{REACH}], got[{REACH}];"] if passes else ()),
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "mov.u32 %t, %tid.x;",
        f"mad.wide.u32 %in, %t, {STRIDE}, %in;",
        f"mad.wide.u32 %out, %t, {STRIDE}, %out;",
        f"ld.global.u64 %zero, [%in+{STRIDE - 8}];",
        *place.before,
        *around,
        *place.fill,
        *(POLICY if form.syntax.has_companion else ()),
        form.written(operands),
        *after,
        "ret;",
    ]
    return entry(name, lines, ROWS * REACH)


def declarations() -> list[str]:
    """What a module of these kernels declares before them."""
    values = ", ".join(map(str, image()))
    both = "ld.param.v2.b64 {%x, %y}, [x]; st.param.v2.b64 [y], {%x, %y}; ret;"
    return [
        f".const .align 16 .b8 constant[{ROWS * REACH}] = {{{values}}};",
        f".func (.param .align 16 .b8 y[{REACH}]) echo(.param .align 16 .b8 x[{REACH}]) {{ .reg .b64 %x, %y; {both} }}",
    ]
