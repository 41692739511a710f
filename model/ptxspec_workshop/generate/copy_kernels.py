"""Kernels of asynchronous copies, and of waiting for them.

They have the parameters of all cases (cases.py). A thread's row of `in` begins with what is copied; behind it come how many bytes
each copy reads, and whether a predicate holds. Every thread has some bytes of shared memory, which it fills with 0xa5, which
copies fill then, and which it leaves at the beginning of its row of `out`, after it has waited.
"""

from __future__ import annotations

import random

import numpy as np

from ptxspec.evidence.kernels.kernel_operands import POLICY
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Advance, Asynchronous, Initiate
from ptxspec_workshop.generate.cases import STRIDE, blank_rows, entry

ROWS = 32
SEED = "copies"
#: bytes of shared memory that each thread has
REACH = 32
#: the cells of a row with how many bytes each copy reads, and the one that says whether the predicate holds
READS, HOLDS = 4, 7


def shows(form: Form) -> bool:
    """Whether there is a kernel for the form here."""
    return isinstance(form.meaning(form.absences[-1]).effect, Asynchronous)


def rows(form: Form) -> np.ndarray:
    """Rows of `in`."""
    source = random.Random(SEED)
    data = blank_rows(ROWS)
    sizes = [size for _, size in _copies(form)]
    for i in range(ROWS):
        reads = [source.choice((0, size, source.randrange(size + 1))) for size in sizes]
        data[i, :READS] = [source.getrandbits(64) for _ in range(READS)]
        data[i, READS : READS + len(reads)] = reads
        data[i, HOLDS] = source.getrandbits(1)
    return data


def _copies(form: Form) -> list[tuple[int, int]]:
    """Where each copy lies in the thread's bytes, and how many it fills."""
    sizes = form.definition.constants("size", form.modifiers)
    if isinstance(form.meaning(form.absences[-1]).effect, Initiate) and sizes and len(sizes) > 1:
        return [(0, 16), (16, 8), (24, 4)]
    return [(0, 16), (16, 16)]


def _begun(form: Form) -> list[str]:
    """Copies by the form itself, each with its own operands."""
    lines = []
    for k, (at, size) in enumerate(_copies(form)):
        texts = {"a": f"[%own+{at}]", "b": f"[%in+{at}]", "size": str(size), "read": f"%read{k}", "ignored": "%p"}
        lines.append(form.written({**texts, "policy": "%policy"} if form.syntax.has_companion else texts))
    return lines


def _around(form: Form) -> list[str]:
    """Copies and what waits for them, around the form if it is no copy itself."""
    first, second = "ld.shared.v2.b64 {%a, %b}, [%own];", "ld.shared.v2.b64 {%c, %d}, [%own+16];"
    effect = form.meaning(form.absences[-1]).effect
    if isinstance(effect, Initiate):
        return [*_begun(form), "cp.async.wait_all;", first, second]
    low, high = (f"cp.async.cg.shared.global [%own+{at}], [%in+{at}], 16;" for at in (0, 16))
    assert isinstance(effect, Advance)
    commit, wait = "cp.async.commit_group;", "cp.async.wait_group 1;"
    match effect.step.__name__:
        case "wait_for_all":
            return [low, high, form.written({}), first, second]
        case "wait":
            wait = form.written({"n": "1"})
        case "commit":
            commit = form.written({})
        case name:
            raise AssertionError(f"no kernel waits by the step {name}")
    return [low, commit, high, commit, wait, first, "cp.async.wait_all;", second]


def text_of(form: Form, name: str) -> str:
    """The kernel of a form."""
    lines = [
        ".reg .u64 %in, %out;",
        ".reg .b64 %a, %b, %c, %d;",
        ".reg .u32 %t, %own, %read<3>, %holds;",
        ".reg .pred %p;",
        f".shared .align 16 .b8 cell[{ROWS * REACH}];",
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "mov.u32 %t, %tid.x;",
        f"mad.wide.u32 %in, %t, {STRIDE}, %in;",
        f"mad.wide.u32 %out, %t, {STRIDE}, %out;",
        *(f"ld.global.u32 %read{k}, [%in+{8 * (READS + k)}];" for k in range(3)),
        f"ld.global.u32 %holds, [%in+{8 * HOLDS}];",
        "setp.ne.u32 %p, %holds, 0;",
        "mov.u32 %own, cell;",
        f"mad.lo.u32 %own, %t, {REACH}, %own;",
        "mov.b64 %a, 0xa5a5a5a5a5a5a5a5;",
        *(f"st.shared.b64 [%own+{at}], %a;" for at in range(0, REACH, 8)),
        *(POLICY if form.syntax.has_companion else ()),
        *_around(form),
        "st.global.v2.b64 [%out], {%a, %b};",
        "st.global.v2.b64 [%out+16], {%c, %d};",
        "ret;",
    ]
    return entry(name, lines)
