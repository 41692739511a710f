"""Random pairs of fragments that load and store, some of which are equal by construction.

A fragment reads what the others read (see `questions`), and touches a buffer m of 16 bytes, of which n is another name behind an
offset, or else a buffer of its own, which begins anywhere else. They lie in global memory, or m alone in shared memory. Accesses are of 1 to 8 bytes, at fixed
places or at some that are computed, and may be guarded or branched around; a few are misaligned, or beyond the end.
"""

from __future__ import annotations

import random
import re
from typing import Any, NamedTuple

from questions import TEMPLATES, Said, one, reworded

#: bytes of each buffer
SIZE = 16
#: the types in which registers are loaded and stored, by the registers' letter
LOADED = {"r": ["u8", "s8", "u16", "s16", "u32", "b32", "s32", "f32"], "l": ["u64", "b64", "u32", "s32"], "h": ["u8", "s8", "u16", "b16"]}  # fmt: skip
STORED = {"r": ["u8", "u16", "b32", "u32", "f32"], "l": ["u64", "b64", "u32"], "h": ["u8", "u16"]}
#: instructions between accesses: none from which a machine deviates, so that launches tell
BETWEEN = [t for t in TEMPLATES if not t[1].startswith(("sub.cc", "subc.cc"))]
#: of a byte that is loaded
ASSUMPTIONS = ["{} == 0", "{} < 128", "{} == 255"]


class Access(NamedTuple):
    """A load, a store, or an atomic addition: its guard, its type, its register, and where it touches memory. An atomic one adds
    `operand`."""

    guard: str
    op: str
    type: str
    register: str
    base: str
    offset: int
    operand: str = ""

    @property
    def size(self) -> int:
        return int(self.type[1:]) // 8

    @property
    def is_plain(self) -> bool:
        """Whether it is aligned and within bounds, at a place that is known."""
        return self.base == "m" and self.offset % self.size == 0 and 0 <= self.offset <= SIZE - self.size


class Formed(NamedTuple):
    """An address `name`: m and (index & mask) times a scale."""

    name: str
    index: str
    mask: int
    scale: int


class Unless(NamedTuple):
    """Statements that are branched around where a predicate is true."""

    predicate: str
    body: tuple[Any, ...]


class Memory(NamedTuple):
    """Where the buffers lie, and how far behind m the name n begins; None if n is a buffer of its own."""

    space: str
    alias: int | None

    @property
    def buffers(self) -> dict[str, Any]:
        """What `prove` takes."""
        own = f"{SIZE} {self.space}"
        return {"m": own, "n": own if self.alias is None else ("m", self.alias)}

    @property
    def bits(self) -> int:
        """The width of an address."""
        return 32 if self.space == "shared" else 64


class Writer:
    """Statements as text; with `other`, in other words."""

    def __init__(self, source: random.Random, memory: Memory, generic: bool, other: bool, carries: bool):
        self.source, self.memory, self.generic, self.other, self.carries = source, memory, generic, other, carries
        self.count = 0

    def text(self, statements: tuple[Any, ...]) -> str:
        return " ".join(self.said(s) for s in statements)

    def new(self) -> str:
        """A name of this side's own."""
        self.count += 1
        return f"y{'R' if self.other else 'L'}{self.count}"

    def sometimes(self, chance: float) -> bool:
        return self.other and self.source.random() < chance

    def said(self, statement: Any) -> str:
        match statement:
            case Access():
                return self.access(statement)
            case Formed():
                return self.formed(statement)
            case Unless(predicate, body):
                if self.sometimes(0.5):
                    return self.text(tuple(s._replace(guard=f"@!{predicate} ") for s in body))
                return self.around(f"@{predicate}", self.text(body))
            case _:
                return reworded(self.source, statement, 90 + self.count, self.carries) if self.other else str(statement)

    def around(self, guard: str, text: str) -> str:
        label = self.new()
        return f"{guard} bra {label}; {text} {label}:"

    def formed(self, one: Formed) -> str:
        t, u, bits = self.new(), self.new(), self.memory.bits
        first = f"and.b32 {t}, {one.index}, {one.mask};"
        if bits == 32:
            if self.sometimes(0.5):
                return f"{first} mul.lo.u32 {u}, {t}, {one.scale}; add.u32 {one.name}, m, {u};"
            return f"{first} mad.lo.u32 {one.name}, {t}, {one.scale}, m;"
        if self.sometimes(0.5):
            return f"{first} mul.wide.u32 {u}, {t}, {one.scale}; add.u64 {one.name}, {u}, m;"
        return f"{first} mad.wide.u32 {one.name}, {t}, {one.scale}, m;"

    def access(self, one: Access) -> str:
        if one.guard and self.sometimes(0.5):
            inverse = "@" + one.guard.strip()[2:] if one.guard.startswith("@!") else "@!" + one.guard.strip()[1:]
            return self.around(inverse, self.access(one._replace(guard="")))
        if not one.guard and one.is_plain and one.op in ("ld", "st") and self.sometimes(0.6):
            pieces = self.pieces(one)
            if pieces:
                return pieces
        if one.op == "st" and not one.guard and self.sometimes(0.2):
            lost = one._replace(op="st", type="u8", register="a", offset=one.offset + self.source.randrange(one.size))
            if one.is_plain:
                return f"{self.plain(lost)} {self.plain(one)}"
        return self.plain(one)

    def pieces(self, one: Access) -> str:
        """An access as two of half its size; "" where that is not known."""
        low, high = self.new(), self.new()
        half = one.size // 2
        letter = one.type[0]
        first, second = (
            one._replace(type=f"u{half * 8}", register=r, offset=one.offset + i * half)
            for i, r in enumerate((low, high))
        )
        if one.op == "ld" and one.size == 4 and one.register[-1] != "l":
            return f"{self.plain(first)} {self.plain(second)} mov.b32 {one.register}, {{{low}, {high}}};"
        if one.op == "ld" and one.size == 8:
            return f"{self.plain(first)} {self.plain(second)} mov.b64 {one.register}, {{{low}, {high}}};"
        if one.op == "ld" and one.type == "u16" and is_word(one.register):
            join = f"shl.b32 {high}, {high}, 8; or.b32 {one.register}, {low}, {high};"
            return f"{self.plain(first)} {self.plain(second)} {join}"
        if one.op == "ld" and letter == "s" and half == 0 and is_word(one.register):
            return f"{self.plain(one._replace(type='u8', register=low))} cvt.s32.s8 {one.register}, {low};"
        if one.op == "st" and half and is_word(one.register) and one.size <= 4:
            first = first._replace(register=one.register)
            return f"{self.plain(first)} shr.u32 {high}, {one.register}, {half * 8}; {self.plain(second)}"
        return ""

    def plain(self, one: Access) -> str:
        """One access, at its place or at another name of it."""
        base, offset, before = one.base, one.offset, ""
        alias = self.memory.alias
        if base == "m" and alias is not None and self.sometimes(0.3):
            base, offset = "n", offset - alias
        elif self.sometimes(0.2):
            at = self.new()
            before, base, offset = f"add.u{self.memory.bits} {at}, {base}, {offset}; ", at, 0
        where = f"[{base}{f'+{offset}' if offset else ''}]"
        space = "" if self.generic else f".{self.memory.space}"
        match one.op:
            case "ld":
                return f"{before}{one.guard}ld{space}.{one.type} {one.register}, {where};"
            case "st":
                return f"{before}{one.guard}st{space}.{one.type} {where}, {one.register};"
            case _:
                return f"{before}{one.guard}atom{space}.add.u32 {one.register}, {where}, {one.operand};"


def is_word(register: str) -> bool:
    """Whether a register has 32 bits."""
    return register in "abcde" or register[-1] == "r"


def program(source: random.Random, length: int) -> tuple[Any, ...]:
    """Random statements, the last of which leaves d."""
    pools = {"r": ["a", "b", "c"], "l": ["x"], "h": ["h"], "p": ["p"]}
    bases = ["m", "m", "n"]
    found: list[Any] = []
    for number in range(length):
        last = number == length - 1
        chance = source.random()
        if chance < 0.2 and not last:
            name, scale = f"q{number}", source.choice([1, 2, 4, 4, 8])
            found.append(Formed(name, source.choice(pools["r"]), source.choice([0, 1, 3, 3, SIZE // scale - 1]), scale))
            bases += [name, name]
        elif chance < 0.7 or (last and chance < 0.85):
            found.append(access(source, pools, bases, number, last))
        elif chance < 0.78 and not last:
            body = tuple(access(source, pools, bases, number, False, True) for _ in range(source.randrange(1, 3)))
            found.append(Unless(source.choice(pools["p"]), body))
        else:
            found.append(computed(source, pools, number, last))
    return tuple(found)


def access(
    source: random.Random, pools: dict[str, list[str]], bases: list[str], number: int, last: bool, inside: bool = False
) -> Access:
    """An access: the `last` one loads d, one `inside` of a branch loads what was there before."""
    guard = source.choice(["@p ", "@!p "]) if source.random() < 0.2 and not inside else ""
    letter = source.choice("rrrrlh") if not last else "r"
    op = "ld" if last else source.choices(["ld", "st", "atom"], [0.42, 0.5, 0.08])[0]
    operand = source.choice(pools["r"])
    if op == "atom":
        letter = "r"
    type = source.choice(LOADED[letter] if op == "ld" else STORED[letter]) if op != "atom" else "u32"
    base, size = source.choice(bases), int(type[1:]) // 8
    offset = (
        source.randrange(0, SIZE // (2 if base == "n" else 1), size)
        if source.random() < 0.92
        else source.choice([1, 2, 12, 14, 16, 3])
    )
    if base.startswith("q"):
        offset = source.choice([0, 0, 0, size, 4])
    if op == "st":
        return Access(guard, op, type, source.choice(pools[letter][-2:]), base, offset)
    name = "d" if last else f"t{number}{letter}"
    if (not guard and not inside) or last:
        pools[letter].append(name)
    else:
        name = source.choice(pools[letter])
    return Access(guard, op, type, name, base, offset, operand)


def computed(source: random.Random, pools: dict[str, list[str]], number: int, last: bool) -> Said:
    """An instruction that touches no memory."""
    writes, text, kinds = source.choice([t for t in BETWEEN if not last or t[0] == "r"])
    name = "d" if last else f"t{number}{writes}"
    operands = [one(source, pools, kind) for kind in kinds]
    mnemonic, rest = text.format(name, *operands).rstrip(";").split(" ", 1)
    pools[writes].append(name)
    return Said("", mnemonic, tuple(rest.split(", ")))


def changed(source: random.Random, statements: tuple[Any, ...]) -> tuple[Any, ...]:
    """The statements with one of them changed, left out, or exchanged with the next."""
    at = source.randrange(len(statements))
    statement = statements[at]
    if isinstance(statement, Unless) and source.random() < 0.6:
        statement = statement._replace(body=changed(source, statement.body) or statement.body)
    elif isinstance(statement, Access) and source.random() < 0.8:
        match source.choice(["offset", "offset", "type", "guard", "base"]):
            case "offset":
                statement = statement._replace(
                    offset=max(0, statement.offset + source.choice([-4, 4, -statement.size, statement.size, 1]))
                )
            case "type" if statement.op != "atom":
                letter = "h" if statement.register[-1] == "h" else "l" if statement.register[-1] in "lx" else "r"
                kinds = LOADED if statement.op == "ld" else STORED
                statement = statement._replace(type=source.choice(kinds[letter]))
            case "guard":
                statement = statement._replace(guard="" if statement.guard else "@p ")
            case _:
                statement = statement._replace(base=source.choice("mn"))
    elif isinstance(statement, Formed):
        statement = statement._replace(mask=source.choice([0, 1, 3, 7]), scale=source.choice([1, 2, 4]))
    elif at + 1 < len(statements) and source.random() < 0.7:
        return (*statements[:at], statements[at + 1], statement, *statements[at + 2 :])
    elif isinstance(statement, Said) and len(statement.operands) > 2:
        statement = statement._replace(
            operands=(statement.operands[0], *statement.operands[2:0:-1], *statement.operands[3:])
        )
    return (*statements[:at], statement, *statements[at + 1 :])


class Touching(NamedTuple):
    """Two texts, an assumption or None, how the second came from the first, and the buffers."""

    left: str
    right: str
    assume: str | None
    how: str
    memory: Memory


def touching(seed: int) -> Touching:
    """The pair of a seed."""
    source = random.Random(f"touching {seed}")
    space = source.choices(["global", "shared"], [0.75, 0.25])[0]
    memory = Memory(space, source.choice([0, 1, 2, 4, 4, 8, 8, None, None] if space == "global" else [0, 1, 2, 4, 8]))
    generic = memory.space == "global" and source.random() < 0.3
    statements = program(source, source.randrange(2, 6))
    how = source.choices(["same", "near"], [0.55, 0.45])[0]
    other = statements if how == "same" else changed(source, statements)
    said = [s for one in statements for s in (one.body if isinstance(one, Unless) else (one,)) if isinstance(s, Said)]
    carries = any(".cc." in s.mnemonic or s.mnemonic.startswith(("addc", "subc")) for s in said)
    left, right = (Writer(source, memory, generic, o, carries).text(s) for o, s in ((False, statements), (True, other)))
    right = re.sub(r"\bt(\d+[rlhp])\b", r"w\1", re.sub(r"\bq(\d+)\b", r"v\1", right))
    loaded = [s.offset for s in statements[:1] if isinstance(s, Access) and s.op == "ld" and s.is_plain and not s.guard]
    assume = source.choice(ASSUMPTIONS).format(f"m[{loaded[0]}]") if loaded and source.random() < 0.5 else None
    return Touching(left, right, assume, how, memory)
