"""Where the elements of a warpgroup's matrices lie, in registers and in shared memory, against formulas of one's own."""

from __future__ import annotations

import random
from itertools import product

import pytest
from ptxspec.spec.matrices import warpgroups
from ptxspec.spec.matrices.descriptors import FIELDS, MatrixDescriptor, descriptor_of, element_address, word_of

from ptxspec.terms import TYPES, integer

# fragments -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b1", "s8", "e4m3", "f16", "bf16", "tf32"])
def test_a_in_registers(name: str) -> None:
    """Element e of register r of lane l of warp w: row 16w + l/4 + 8(r mod 2), k = (l mod 4)(32/bits) + e + (128/bits)(r/2)."""
    type, seen = TYPES[name], set()
    bits = type.width
    for thread, register, position in product(range(128), range(4), range(32 // bits)):
        warp, lane = divmod(thread, 32)
        row = 16 * warp + lane // 4 + 8 * (register % 2)
        k = lane % 4 * (32 // bits) + position + 128 // bits * (register // 2)
        at = warpgroups.ThreadPlace(thread, register, position)
        assert warpgroups.element_of_a(type, at) == (row, k)
        assert warpgroups.place_in_a(type, row, k) == at
        seen.add((row, k))
    assert seen == set(product(range(64), range(256 // bits)))


@pytest.mark.parametrize("columns", [8, 24, 256])
@pytest.mark.parametrize("name", ["f16", "f32", "s32"])
def test_d_in_registers(name: str, columns: int) -> None:
    """Number i of a lane: row 16w + l/4 + 8(i/2 mod 2), column 8(i/4) + 2(l mod 4) + i mod 2."""
    type, seen = TYPES[name], set()
    for thread, number in product(range(128), range(columns // 2)):
        warp, lane = divmod(thread, 32)
        row = 16 * warp + lane // 4 + 8 * (number // 2 % 2)
        column = 8 * (number // 4) + 2 * (lane % 4) + number % 2
        at = warpgroups.ThreadPlace(thread, *divmod(number, 32 // type.width))
        assert warpgroups.element_of_d(type, at) == (row, column)
        assert warpgroups.place_in_d(type, row, column) == at
        assert at.register < warpgroups.accumulator_registers(type, columns)
        seen.add((row, column))
    assert seen == set(product(range(64), range(columns)))
    assert warpgroups.accumulator_registers(type, columns) == columns // (4 if type.width == 16 else 2)


@pytest.mark.parametrize("name", ["s8", "e5m2", "f16", "bf16", "tf32"])
def test_metadata(name: str) -> None:
    """A chunk's four bits, by the warp's row 8h + g: of wide elements in lane 4g + 2 selector + n/4 from bit 16h + 4(n mod 4) on, of
    bytes in lane 4g + h + 2(n/8) from bit 4(n mod 8) on."""
    type = TYPES[name]
    wide = type.width >= 16
    for selector in range(2 if wide else 1):
        seen = set()
        for row, n in product(range(64), range(8 if wide else 16)):
            warp, (h, g) = row // 16, divmod(row % 16, 8)
            lane = 4 * g + (2 * selector + n // 4 if wide else h + 2 * (n // 8))
            bit = 16 * h + 4 * (n % 4) if wide else 4 * (n % 8)
            at = warpgroups.MetadataPlace(32 * warp + lane, bit)
            assert warpgroups.place_of_metadata(type, selector, row, n) == at
            assert warpgroups.chunk_of_metadata(type, at) == (row, n)
            seen.add(at)
        assert len(seen) == (512 if wide else 1024)


# descriptors ---------------------------------------------------------------------------------------------------------------

TOGETHER = {0: 16, 1: 128, 2: 64, 3: 32}


def stated(word: int, k_major: bool, r: int, k: int, e: int) -> int:
    """The address of an element of e bytes, as it was measured."""
    start, leading, stride = (16 * (word >> bit & 0x3FFF) for bit in (0, 16, 32))
    base, swizzle = word >> 49 & 7, word >> 62
    s = TOGETHER[swizzle]
    if k_major:
        a = start + r // 8 * stride + r % 8 * s + k * e // s * leading + k * e % s
    elif swizzle:
        a = start + k % 8 * s + r % (s // e) * e + r // (s // e) * leading + k // 8 * stride
    else:
        a = start + k % 8 * s + r % (s // e) * e + r // (s // e) * stride + k // 8 * leading
    return a ^ ((a >> 7) - base & s // 16 - 1) << 4


def address(word: int, k_major: bool, r: int, k: int, bits: int) -> int:
    return element_address(descriptor_of(integer(word)), k_major, integer(r), integer(k), bits).__index__()


@pytest.mark.parametrize(("k_major", "bits"), [(True, 8), (True, 16), (True, 32), (False, 16)])
def test_an_address_is_the_measured_one(k_major: bool, bits: int) -> None:
    """For any descriptor, with bits that mean nothing among them."""
    source = random.Random(f"{k_major} {bits}")
    for _ in range(400):
        word = source.getrandbits(64)
        r, k = source.randrange(256), source.randrange(512 // bits)
        assert address(word, k_major, r, k, bits) == stated(word, k_major, r, k, bits // 8), (hex(word), r, k)


def test_the_byte_of_a_single_bit() -> None:
    source = random.Random(1)
    for _ in range(100):
        word, r, k = source.getrandbits(64), source.randrange(256), source.randrange(256)
        assert address(word, True, r, k, 1) == stated(word, True, r, k // 8, 1)


def test_canonical_layouts() -> None:
    """The offsets of the manual's examples, in elements: ((8, m), (T, 2k)) : ((1T, SBO), (1, LBO)) and the others."""

    def word(leading: int, stride: int, swizzle: int) -> int:
        return leading // 16 << 16 | stride // 16 << 32 | swizzle << 62

    # tf32, K-major, without swizzle: ((8, 2), (4, 4)) : ((4, 32), (1, 64)); with 32 bytes: ((8, 2), (4, 2)) : ((8, 64), (1, 4))
    for r, k in product(range(16), range(8)):
        plain = r % 8 * 4 + r // 8 * 32 + k % 4 + k // 4 * 64
        assert address(word(64 * 4, 32 * 4, 0), True, r, k, 32) == plain * 4
        linear = 4 * (r % 8 * 8 + r // 8 * 64 + k % 4 + k // 4 * 4)
        assert address(word(16, 64 * 4, 3), True, r, k, 32) == linear ^ (linear >> 7 & 1) << 4
    # bf16, MN-major: ((8, 1, 2), (8, 2)) : ((1, 8, 64), (8, 128)); ((8, 4, 2), (8, 2)) : ((1, 8, 256), (32, 512)) with 64 bytes
    for r, k in product(range(16), range(16)):
        plain = r % 8 + r // 8 * 64 + k % 8 * 8 + k // 8 * 128
        assert address(word(128 * 2, 64 * 2, 0), False, r, k, 16) == plain * 2
    for r, k in product(range(64), range(16)):
        linear = 2 * (r % 8 + r // 8 % 4 * 8 + r // 32 * 256 + k % 8 * 32 + k // 8 * 512)
        assert address(word(256 * 2, 512 * 2, 2), False, r, k, 16) == linear ^ (linear >> 7 & 3) << 4


def test_bits_without_a_field_are_ignored() -> None:
    free = (1 << 64) - 1
    for field in FIELDS:
        free &= ~((1 << field.bits) - 1 << field.bit)
    assert free == 0xC000 | 0xC000_0000 | 7 << 46 | 0x3FF << 52
    assert descriptor_of(integer(free)) == descriptor_of(integer(0))


def test_a_word_of_a_descriptor() -> None:
    descriptor = MatrixDescriptor(*map(integer, (0x12340, 0x100, 0x400, 5, 1)))
    assert word_of(descriptor).__index__() == 0x400A_0040_0010_1234
    assert descriptor_of(word_of(descriptor)) == descriptor
