"""What a program must not do with matrices, although a GPU does something: bad metadata."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, fault, kernel

pytestmark = pytest.mark.sample(8)

#: a form, and its operands before the metadata
SPARSE = {
    "f16": ("m16n8k32.row.col.f32.f16.f16.f32", "{%f0,%f1,%f2,%f3}, {%r5,%r5,%r5,%r5}, {%r5,%r5,%r5,%r5}, {%f0,%f1,%f2,%f3}"),
    "bf16": ("m16n8k16.row.col.f32.bf16.bf16.f32", "{%f0,%f1,%f2,%f3}, {%r5,%r5}, {%r5,%r5}, {%f0,%f1,%f2,%f3}"),
    "tf32": ("m16n8k8.row.col.f32.tf32.tf32.f32", "{%f0,%f1,%f2,%f3}, {%r5,%r5}, {%r5,%r5}, {%f0,%f1,%f2,%f3}"),
    "s8": ("m16n8k32.row.col.s32.s8.s8.s32", "{%r6,%r7,%r8,%r9}, {%r5,%r5}, {%r5,%r5}, {%r6,%r7,%r8,%r9}"),
    "u4": ("m16n8k128.row.col.s32.u4.u4.s32", "{%r6,%r7,%r8,%r9}, {%r5,%r5,%r5,%r5}, {%r5,%r5,%r5,%r5}, {%r6,%r7,%r8,%r9}"),
}  # fmt: skip
STORED = "st.global.u32 [%rd1], 1;"


def product(type: str, metadata: str, ordered: bool) -> str:
    """A kernel in which each lane has the metadata that some instructions leave in %r10."""
    form, operands = SPARSE[type]
    order = "sp::ordered_metadata" if ordered else "sp"
    return kernel(f"mov.u32 %r5, 0; {metadata}\nmma.{order}.sync.aligned.{form} {operands}, %r10, 0;\n{STORED}")


def out() -> list[np.ndarray]:
    return [np.zeros(32, np.uint32)]


@pytest.mark.parametrize("type", SPARSE)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("numbers", range(16))
def test_metadata_of_a_chunk(type: str, ordered: bool, numbers: int) -> None:
    """One chunk of a row has these metadata, all others good ones."""
    first, second = numbers & 3, numbers >> 2
    good = numbers in (0b0100, 0b1110) if type == "tf32" else first < second if ordered else first != second
    metadata = f"mov.u32 %r10, 0x44444444; setp.eq.u32 %p1, %r1, 8; @%p1 mov.u32 %r10, {0x44444044 | numbers << 8:#x};"
    source = product(type, metadata, ordered)
    if good:
        assert both(source, out(), block=32)[0].all()
        return
    error = fault(source, out(), block=32)
    assert error.rule == "sparse metadata" and error.address is None
    assert error.where is not None and error.where.instruction.startswith("mma.sp")
    assert error.page is not None and error.page.startswith("spec/matrices/sparsity.md:")


@pytest.mark.parametrize(("type", "lanes"), [("bf16", 3), ("f16", 2), ("s8", 2)])
def test_lanes_that_supply_no_metadata_may_have_any(type: str, lanes: int) -> None:
    """With a selector of 0 the first lane of four supplies them, or the first two."""
    metadata = (
        f"mov.u32 %r10, 0x44444444; and.b32 %r11, %r1, 3; setp.ge.u32 %p1, %r11, {4 - lanes}; @%p1 mov.u32 %r10, 0;"
    )
    assert both(product(type, metadata, True), out(), block=32)[0].all()
