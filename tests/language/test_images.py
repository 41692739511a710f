"""What variables begin as, byte for byte beside the data of ptxas's cubins, for declarations made at random."""

from __future__ import annotations

import random
import struct
from collections import Counter
from typing import NamedTuple

import pytest
from cubins import Relocation, assembled
from verdicts import HEADER

import ptxspec
from ptxspec.language.checked import Checked, InitialPointer, Place

pytestmark = pytest.mark.usefixtures("assembler")

INTEGERS = [f"{kind}{width}" for kind in "bus" for width in (8, 16, 32, 64)]
WIDTHS = {**{t: int(t[1:]) for t in INTEGERS}, "f16": 16, "f32": 32, "f64": 64}
#: the kinds of relocation by which ptxas 13.0 asks for a whole address: generic or of .global, in .const, of a function, of an
#: entry; and of those for bytes, lowest byte first
GENERIC, PLAIN, FUNCTION, ENTRY = 4, 2, 102, 35
FIRST_BYTES = {GENERIC: 84, PLAIN: 76, FUNCTION: 104, ENTRY: 92}


class Known(NamedTuple):
    """A name that an initializer may have: of a variable in a state space, a function or an entry."""

    name: str
    what: str


class Author:
    """Writes declarations."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.known = [Known("first", "const")]
        self.inside = False
        self.count = 0

    def module(self, declarations: int) -> str:
        lines = []
        while self.count < declarations:
            chance = self.rng.random()
            if chance < 0.04:
                name = self.named("f")
                lines.append(f"{self.rng.choice(['', '.visible '])}.func {name}() {{ ret; }}")
                self.known.append(Known(name, "func"))
            elif chance < 0.07:
                name = self.named("e")
                lines.append(f".visible .entry {name}() {{ {self.variable(inside=True)} ret; }}")
                self.known.append(Known(name, "entry"))
            else:
                lines.append(self.variable())
        return HEADER + "\n".join([".const .u16 first;", *lines]) + "\n"

    def named(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}_"

    def variable(self, inside: bool = False) -> str:
        rng = self.rng
        self.inside = inside
        space = rng.choice(["global", "global", "const"])
        linkage = "" if inside else rng.choice(["", "", ".visible ", ".weak "])
        type = rng.choice([*INTEGERS, "f16", "f32", "f64", "u32", "u64", "u64", "u8"])
        vector = rng.choice([1, 1, 1, 2, 4])
        if WIDTHS[type] * vector > 128:
            vector = 1
        sizes = [rng.randrange(1, 5) for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 4]))]
        least = WIDTHS[type] // 8 * vector
        align = rng.choice([0, 0, 0, least, 16, 32, 128])
        name, value, shown = self.named("x"), "", [f"[{s}]" for s in sizes]
        if type != "f16" and rng.random() < 0.85:
            value = " = " + self.values(type, sizes, vector, first=True)
            if sizes and value != " = {}" and rng.random() < 0.3:
                shown[0] = "[]"
        alignment = f".align {align} " if align >= least else ""
        length = f".v{vector} " if vector > 1 else ""
        if not inside:
            self.known.append(Known(name, space))
        return f"{linkage}.{space} {alignment}{length}.{type} {name}{''.join(shown)}{value};"

    def values(self, type: str, sizes: list[int], vector: int, first: bool = False) -> str:
        rng = self.rng
        if sizes:
            count = sizes[0] if rng.random() < 0.6 else rng.randrange(0, sizes[0] + 1)
            return "{" + ", ".join(self.values(type, sizes[1:], vector) for _ in range(count)) + "}"
        if vector > 1:
            return "{" + ", ".join(self.value(type) for _ in range(vector)) + "}"
        return self.value(type)

    def value(self, type: str) -> str:
        rng = self.rng
        if type in ("u32", "u64") and rng.random() < 0.5:
            return self.address()
        if type in ("u8", "u32", "u64") and rng.random() < 0.3:
            return f"{self.mask()}({self.address()})"
        if type[0] != "f" and rng.random() < 0.1:
            return f"{self.mask()}({self.integer()})"
        if type[0] == "f" or (type in ("b32", "b64") and rng.random() < 0.3):
            return self.fraction()
        return self.integer()

    def mask(self) -> str:
        value = 0xFF << 8 * self.rng.randrange(8)
        return self.rng.choice([f"0x{value:x}", f"0x{value:X}", f"{value}", f"0{value:o}", f"0b{value:b}U"])

    def address(self) -> str:
        known = self.rng.choice(self.known)
        while self.inside and known.what == "func":  # which ptxas drops where nothing reads the variable
            known = self.rng.choice(self.known)
        if known.what in ("func", "entry"):
            return known.name
        base = self.rng.choice([known.name, f"generic({known.name})"])
        return base + self.rng.choice(["", "", "+4", "+-8", "+2*3", "+(1<<20)", "+WARP_SZ", "+0x123456789"])

    def integer(self) -> str:
        rng = self.rng
        value = rng.randrange(1 << rng.randrange(1, 65))
        return rng.choice([f"{value}", f"-{value}", f"~{value}", f"0x{value:x}U", f"{value} + 1", f"!{value}"])

    def fraction(self) -> str:
        rng = self.rng
        number = rng.choice([0.0, 1.5, 0.1, 1e-40, 1e-45, 1e38, 3.5e38, rng.random() * 10.0 ** rng.randrange(-60, 60)])
        pattern = rng.randrange(1 << 64)
        return rng.choice([
            f"{number!r}", f"-{number!r}", f"{number!r} * 3.0", f"0d{pattern:016x}", f"0f{pattern & 0xFFFFFFFF:08X}",
        ])  # fmt: skip


def expected(place: Place, pointer: InitialPointer, checked: Checked) -> Relocation:
    """What ptxas has to ask the loader for."""
    target = checked.places.get(pointer.name)
    if target is None:
        kind = FUNCTION if pointer.name in checked.signatures else ENTRY
    else:
        kind = GENERIC if pointer.generic or target.space == "global" else PLAIN
    if pointer.mask is not None:
        kind = FIRST_BYTES[kind] + (pointer.mask.bit_length() // 8 - 1)
    section = {"const": ".nv.constant3"}.get(place.space, "")
    return Relocation(section, pointer.offset, kind, pointer.name, pointer.addend)


def low(relocation: Relocation, halves: set[int]) -> Relocation:
    """A relocation without the upper half of its addend where the variable has 32 bits: ptxas makes 64 of them, and those
    beyond are what lies there (AMB-161)."""
    return relocation._replace(addend=relocation.addend % 2**32) if relocation.offset in halves else relocation


def compare(text: str) -> Counter[str]:
    """Hold every variable of a module against the cubin; what was there to compare."""
    cubin, module = assembled(text, "-c"), ptxspec.load(text)
    seen: Counter[str] = Counter()
    places = module.checked.places
    for (prefix, ending), found in places.ranges.items():  # those of name<N> are there once they are asked for
        for i in range(found.count):
            places.get(f"{prefix}{i}{ending}")
    for name, place in places.items():
        symbol = name if "@" not in name else f"$__{name.split('@')[0]}__4"
        symbol = next((s for s in cubin.symbols if s == name or s.startswith(f"$__{name.split('@')[0]}__")), symbol)
        found = cubin.symbols[symbol]
        assert found.size == place.size and found.at % place.align == 0, name
        theirs = cubin.image(symbol)
        ours = (place.initial or b"").ljust(place.size, b"\0")
        assert theirs == ours, (name, text)
        pointers = [expected(place, p, module.checked) for p in place.pointers]
        relocations = [
            r._replace(section=r.section if r.section == ".nv.constant3" else "") for r in cubin.addresses_in(symbol)
        ]
        halves = {p.offset for p in place.pointers if p.size == 4}
        assert [low(r, halves) for r in relocations] == [low(r, halves) for r in sorted(pointers)], name
        seen["variables"] += 1
        seen["addresses"] += len(pointers)
        seen["not zero"] += any(theirs) or bool(pointers)
        seen["of functions"] += "@" in name
        seen["masks"] += sum(p.mask is not None for p in place.pointers)
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_generated_declarations(seed: int) -> None:
    seen = compare(Author(seed).module(180))
    assert seen["variables"] > 150 and seen["not zero"] > 100 and seen["addresses"] > 50 and seen["masks"] > 10, seen
    assert seen["of functions"] > 0


@pytest.mark.long
def test_many_generated_declarations() -> None:
    seen: Counter[str] = Counter()
    for seed in range(100, 150):
        seen += compare(Author(seed).module(300))
    assert seen["variables"] > 13_000 and seen["addresses"] > 5_000


def test_what_the_loader_fills_in() -> None:
    """Every kind of address, as a program finds it in memory, is what instructions compute."""
    text = (
        HEADER
        + """
.const .u32 c[4] = { 1, 2, 3, 4 };
.global .u32 g[4] = { 5, 6, 7, 8 };
.func f() { ret; }
.entry e() { ret; }
.global .u64 all[] = { c, c+4, generic(c)+8, g, generic(g)+12, f, e };
.global .u32 low[] = { c+4, g, f };
.global .u8 bytes[] = { 0xff(g+4), 0xff00(g+4), 0xff0000(g+4), 0xff000000(g+4), 0xff(0x1234 + 1), 0xff00(0x1234) };
.visible .entry k(.param .u64 out) {
  .reg .u64 %o, %a, %b; .reg .u32 %r;
  ld.param.u64 %o, [out];
  ld.global.u64 %a, [all]; ld.const.u32 %r, [%a]; st.global.u32 [%o], %r;
  ld.global.u64 %a, [all+8]; ld.const.u32 %r, [%a]; st.global.u32 [%o+4], %r;
  ld.global.u64 %a, [all+16]; ld.u32 %r, [%a]; st.global.u32 [%o+8], %r;
  ld.global.u64 %a, [all+24]; ld.global.u32 %r, [%a]; st.global.u32 [%o+12], %r;
  ld.global.u64 %a, [all+32]; ld.u32 %r, [%a]; st.global.u32 [%o+16], %r;
  mov.u64 %a, f; st.global.u64 [%o+24], %a;
  mov.u64 %a, e; st.global.u64 [%o+32], %a;
  mov.u32 %r, c; st.global.u32 [%o+40], %r;
  mov.u64 %a, g; st.global.u64 [%o+48], %a;
  ret;
}
"""
    )
    import numpy as np

    for engine in ("exact", "native"):
        module, out = ptxspec.load(text), np.zeros(7, np.uint64)
        module.launch("k", args=[out], engine=engine)
        words = out.tobytes()
        assert struct.unpack("<5I", words[:20]) == (1, 2, 3, 5, 8)
        f, e, c, g = (int(x) for x in out[3:])
        every = struct.unpack("<7Q", bytes(module.read("all")))
        assert every[5:] == (f, e) and every[0] == c and every[3] == g and len({*every}) == 7
        assert struct.unpack("<3I", bytes(module.read("low"))) == tuple(x % 2**32 for x in (c + 4, g, f))
        assert bytes(module.read("bytes")) == struct.pack("<I", (g + 4) % 2**32) + bytes([0x35, 0x12])
