"""Small matrices of bytes and of narrower elements, moved between shared memory and registers: by the text, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.base.options import Engine

pytestmark = pytest.mark.sample(4)

HEAD = """.version 9.5
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 rows, .param .u64 registers)
{
.reg .u64 %p, %q, %far;
.reg .u32 %t, %own, %place, %w<4>, %r<4>;
.shared .align 16 .b8 memory[512];
mov.u32 %t, %tid.x;
ld.param.u64 %p, [rows];
ld.param.u64 %q, [registers];
mad.wide.u32 %p, %t, 16, %p;
mad.wide.u32 %q, %t, 16, %q;
mov.u32 %own, memory;
mad.lo.u32 %own, %t, 16, %own;
cvt.u64.u32 %far, %own;
cvta.shared.u64 %far, %far;
ld.global.v4.u32 {%w0,%w1,%w2,%w3}, [%p];
st.shared.v4.u32 [%own], {%w0,%w1,%w2,%w3};
ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%q];
bar.sync 0;
"""
TAIL = """
bar.sync 0;
ld.shared.v4.u32 {%w0,%w1,%w2,%w3}, [%own];
st.global.v4.u32 [%p], {%w0,%w1,%w2,%w3};
st.global.v4.u32 [%q], {%r0,%r1,%r2,%r3};
ret;
}"""


def moved(instruction: str, rows: np.ndarray, registers: np.ndarray, engine: Engine) -> None:
    """Run one instruction: 32 rows of sixteen bytes in shared memory, four registers of each lane; both as they are left."""
    ptxspec.load(f"{HEAD}{instruction}{TAIL}", "k.ptx").launch("k", 1, 32, [rows, registers], engine=engine)


def unpacked(rows: np.ndarray, bits: int) -> np.ndarray:
    """The first sixteen elements of so many bits of each row."""
    stream = np.unpackbits(rows, axis=1, bitorder="little")[:, : 16 * bits].reshape(len(rows), 16, bits)
    return (stream.astype(np.int64) << np.arange(bits)).sum(-1)


def loaded(matrices: np.ndarray, rows: int, trans: bool) -> np.ndarray:
    """For each lane the bytes of its registers, one register after the other, by the manual's figures."""
    found = np.zeros((32, 16), np.uint8)
    for lane in range(32):
        group, place = divmod(lane, 4)
        at = 0
        for matrix in matrices.reshape(-1, rows, 16):
            whole = matrix.T if trans else matrix
            for row in range(group, rows, 8):
                found[lane, at : at + 4] = whole[row, 4 * place : 4 * place + 4]
                at += 4
    return found


LOADS = [
    (f"ldmatrix.sync.aligned.{shape}.x{count}{trans}{space}.{format}", rows, count, bits, bool(trans))
    for shape, rows, counts, trans in (("m16n16", 16, (1, 2), ".trans"), ("m8n16", 8, (1, 2, 4), ""))
    for count in counts
    for format, bits in (("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4))
    for space in (".shared", "")
    if bits < 8 or trans
]


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_loads(engine: Engine) -> None:
    assert len(LOADS) == len([f for f in ptxspec.forms("ldmatrix") if f.only]) * 2 // 3
    own = LOADS if engine == "exact" else LOADS[::5]
    for mnemonic, rows, count, bits, trans in own:
        rng = np.random.default_rng(len(mnemonic))
        memory = rng.integers(0, 256, (32, 16), np.uint8)
        registers = np.zeros((32, 4), np.uint32)
        words = rows * count // 8 if rows == 16 else count
        listed = ",".join(f"%r{i}" for i in range(words))
        kept = memory.copy()
        place = "%own" if ".shared" in mnemonic else "%far"
        moved(f"{mnemonic} {{{listed}}}, [{place}];", memory, registers, engine)
        want = loaded(unpacked(kept, bits)[: rows * count], rows, trans)
        want[:, 4 * words :] = 0
        assert np.array_equal(registers.view(np.uint8), want), mnemonic
        assert np.array_equal(memory, kept)


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stores(count: int, engine: Engine) -> None:
    rng = np.random.default_rng(count)
    memory = np.zeros((32, 16), np.uint8)
    registers = rng.integers(0, 1 << 32, (32, 4), np.uint32)
    given = registers.view(np.uint8).reshape(32, 4, 4)
    want = np.zeros((32, 16), np.uint8)
    for lane in range(32):
        group, place = divmod(lane, 4)
        for matrix in range(count):
            for i, byte in enumerate(given[lane, matrix]):
                row, column = group + 8 * (i // 2), 2 * place + i % 2
                want[8 * matrix + column, row] = byte
    listed = ",".join(f"%r{i}" for i in range(count))
    moved(f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%own], {{{listed}}};", memory, registers, engine)
    assert np.array_equal(memory, want)


def test_bytes_that_a_product_gave_are_stored_and_loaded_as_a_factor() -> None:
    """What is stored from a fragment of D by columns and loaded again, with rows and columns changed, is a fragment of A."""
    rng = np.random.default_rng(9)
    memory, registers = np.zeros((32, 16), np.uint8), rng.integers(0, 1 << 32, (32, 4), np.uint32)
    given = registers.view(np.uint8).reshape(32, 4, 4).copy()
    moved(
        "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%own], {%r0,%r1};\nbar.sync 0;\n"
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r2,%r3}, [%own];",
        memory, registers, "exact",
    )  # fmt: skip
    matrix = np.zeros((16, 16), np.uint8)
    for lane in range(32):
        group, place = divmod(lane, 4)
        for half in range(2):
            for i, byte in enumerate(given[lane, half]):
                matrix[group + 8 * (i // 2), 8 * half + 2 * place + i % 2] = byte
    found = registers.view(np.uint8).reshape(32, 4, 4)[:, 2:]
    for lane in range(32):
        group, place = divmod(lane, 4)
        for register in range(2):
            assert np.array_equal(found[lane, register], matrix[group + 8 * register, 4 * place : 4 * place + 4])
