"""Kernels whose addresses in state spaces with 32-bit addresses leave the 32 bits on the way: sums in brackets that wrap around,
and 64-bit registers whose upper half is not zero.

They have the parameters of all cases (cases.py). A thread's row of `in` begins with 16 bytes, which stand in its bytes of a
variable, and are read, written or updated there; the constant `constant` and the parameter `argument` have other ones. What was
read, and what its bytes are in the end, a thread leaves in its row of `out`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ptxspec_workshop.generate.cases import STRIDE, Launch, blank_rows, entry, plain_module

#: the threads of a kernel, a warp; the bytes of a variable that each has; the cells of its row that are kept
ROWS, REACH, KEPT = 32, 16, 4
#: the cells of `in` with what no assembler knows: how far the address is moved, and an upper half
NEAR, FAR, UPPER = 12, 13, 14
#: how far it is moved: within the field of an instruction for the number in brackets, and beyond
DISTANCES = {NEAR: 0x20000, FAR: 0x40000000}


class AccessTemplate(NamedTuple):
    """An access to a state space, with {a} for its address: it gives %x, and may change the thread's bytes."""

    space: str
    text: str


ACCESSES = {
    "ld.shared": AccessTemplate("shared", "ld.shared.b32 %x, [{a}];"),
    "ld.shared.v4": AccessTemplate("shared", "ld.shared.v4.b32 {{%x, %y, %z, %w}}, [{a}];"),
    "ld.shared::cluster": AccessTemplate("shared", "ld.shared::cluster.b32 %x, [{a}];"),
    "st.shared": AccessTemplate("shared", "st.shared.b32 [{a}], %t;"),
    "atom.shared": AccessTemplate("shared", "atom.shared.add.u32 %x, [{a}], %t;"),
    "red.shared": AccessTemplate("shared", "red.shared.add.u32 [{a}], %t;"),
    "cp.async": AccessTemplate("shared", "cp.async.ca.shared.global [{a}], [%in+32], 16; cp.async.wait_all;"),
    "ldmatrix": AccessTemplate("shared", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%x, %y, %z, %w}}, [{a}];"),
    "stmatrix": AccessTemplate("shared", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{a}], {{%t, %t, %t, %t}};"),
    "ld.local": AccessTemplate("local", "ld.local.b32 %x, [{a}];"),
    "st.local": AccessTemplate("local", "st.local.b32 [{a}], %t;"),
    "ld.const": AccessTemplate("const", "ld.const.b32 %x, [{a}];"),
    "ld.param": AccessTemplate("param", "ld.param.b32 %x, [{a}];"),
}
#: what stands in brackets, and what comes before: %a32 is the address
ADDRESSES = {
    "a near sum": ("%a32+131072", "sub.u32 %a32, %a32, %near;"),
    "a far sum": ("%a32+1073741824", "sub.u32 %a32, %a32, %far;"),
    "a sum in 64 bits": ("%a64+131072", "sub.u32 %a32, %a32, %near; cvt.u64.u32 %a64, %a32;"),
    "an upper half": ("%a64", "mov.b64 %a64, {%a32, %upper};"),
    "an upper half in a sum": ("%a64+131072", "sub.u32 %a32, %a32, %near; mov.b64 %a64, {%a32, %upper};"),
}
#: what %a32 is at first, and how the thread's bytes are written and read there
BEGINS = {
    "shared": "mov.u32 %a32, cell;", "local": "mov.u32 %a32, own;",
    "const": "mov.u32 %a32, constant;", "param": "mov.u32 %a32, argument;",
}  # fmt: skip


class AddressKernel:
    """The kernel of an access with an address."""

    def __init__(self, number: int, access: str, address: str):
        self.name, self.title = f"a{number}", f"{access}, {address}"
        self.access, self.address = ACCESSES[access], ADDRESSES[address]

    @property
    def launches(self) -> list[Launch]:
        """The one launch that a kernel is made for."""
        source, cells = random.Random("addresses"), blank_rows(ROWS)
        cells[:, :6] = [[source.getrandbits(64) for _ in range(6)] for _ in range(ROWS)]
        for cell, distance in DISTANCES.items():
            cells[:, cell] = distance
        cells[:, UPPER] = 7
        return [Launch(cells, source.randbytes(ROWS * REACH))]

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """What each thread read, and its bytes."""
        (out,) = outs
        return out[:, :KEPT]

    def text(self) -> str:
        """The kernel."""
        space, (address, before) = self.access.space, self.address
        moved = "mov.u32 %k, 16;" if space != "local" else "mov.u32 %k, 0;"
        there = space in ("shared", "local")
        return entry(
            self.name,
            [
                ".reg .u64 %in, %out, %a64;",
                ".reg .b64 %low, %high;",
                ".reg .u32 %t, %k, %a32, %here, %near, %far, %upper;",
                ".reg .b32 %x, %y, %z, %w;",
                f".shared .align 16 .b8 cell[{ROWS * REACH}];",
                f".local .align 16 .b8 own[{REACH}];",
                "ld.param.u64 %in, [in];",
                "ld.param.u64 %out, [out];",
                "mov.u32 %t, %tid.x;",
                f"mad.wide.u32 %in, %t, {STRIDE}, %in;",
                f"mad.wide.u32 %out, %t, {STRIDE}, %out;",
                *(f"ld.global.u32 %{n}, [%in+{8 * c}];" for n, c in {"near": NEAR, "far": FAR, "upper": UPPER}.items()),
                "mov.b32 %x, 0; mov.b32 %y, 0; mov.b32 %z, 0; mov.b32 %w, 0;",
                "ld.global.v2.b64 {%low, %high}, [%in];",
                BEGINS[space],
                f"{moved} mad.lo.u32 %a32, %t, %k, %a32;",
                "mov.u32 %here, %a32;",
                *([f"st.{space}.v2.b64 [%here], {{%low, %high}};", "bar.sync 0;"] if there else ()),
                before,
                self.access.text.format(a=address),
                *(["bar.sync 0;", f"ld.{space}.v2.b64 {{%low, %high}}, [%here];"] if there else ()),
                "st.global.v4.b32 [%out], {%x, %y, %z, %w};",
                "st.global.v2.b64 [%out+16], {%low, %high};",
                "ret;",
            ],
            ROWS * REACH,
        )


def kernels() -> list[AddressKernel]:
    """All of them."""
    return [AddressKernel(i, *both) for i, both in enumerate(itertools.product(ACCESSES, ADDRESSES))]


def module(members: Sequence[AddressKernel]) -> str:
    """The module in which kernels stand."""
    values = ", ".join(map(str, random.Random("constants").randbytes(ROWS * REACH)))
    return plain_module([k.text() for k in members], [f".const .align 16 .b8 constant[{ROWS * REACH}] = {{{values}}};"])
