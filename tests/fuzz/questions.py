"""Random pairs of fragments, some of which are equal by construction, and random text that is none.

A fragment reads a, b and c (32 bits), x (64 bits), h (16 bits) and p (a predicate), and leaves d, and often e, q and the condition
code. Its instructions have freedoms (divisions by zero, remainders of negative numbers, fields beyond bit 255, NaNs and their
conversions, zeros of both signs), guards, carries and destinations of other widths than their registers.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

#: the kind of an operand by its letter: registers of 32, 64 and 16 bits, predicates; n is a number or such a register
KINDS = {"r": "r", "l": "l", "h": "h", "p": "p", "n": "r"}
CONSTANTS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "15",
    "16",
    "31",
    "32",
    "255",
    "0x7f800000",
    "0x80000000",
    "-1",
    "0x7fffffff",
]

#: what a template writes, and its text: {0} is the destination, the letters after the bar are the kinds of the others
TEMPLATES = [
    ("r", "add.u32 {0}, {1}, {2};", "rn"), ("r", "sub.s32 {0}, {1}, {2};", "nr"), ("r", "and.b32 {0}, {1}, {2};", "rn"),
    ("r", "or.b32 {0}, {1}, {2};", "rn"), ("r", "xor.b32 {0}, {1}, {2};", "rn"), ("r", "not.b32 {0}, {1};", "r"),
    ("r", "neg.s32 {0}, {1};", "r"), ("r", "shl.b32 {0}, {1}, {2};", "rn"), ("r", "shr.s32 {0}, {1}, {2};", "rn"),
    ("r", "shr.u32 {0}, {1}, {2};", "rn"), ("r", "min.s32 {0}, {1}, {2};", "rn"), ("r", "max.u32 {0}, {1}, {2};", "rn"),
    ("r", "selp.b32 {0}, {1}, {2}, {3};", "rnp"), ("r", "mov.b32 {0}, {1};", "n"), ("r", "abs.s32 {0}, {1};", "r"),
    ("r", "slct.u32.s32 {0}, {1}, {2}, {3};", "rnr"), ("r", "lop3.b32 {0}, {1}, {2}, {3}, 0xca;", "rrr"),
    ("r", "popc.b32 {0}, {1};", "r"), ("r", "clz.b32 {0}, {1};", "r"), ("r", "mul.lo.u32 {0}, {1}, 10;", "r"),
    ("r", "prmt.b32 {0}, {1}, {2}, 0x5410;", "rr"), ("r", "mul24.lo.u32 {0}, {1}, 3;", "r"),
    ("r", "cvt.u32.u64 {0}, {1};", "l"), ("r", "cvt.s32.s16 {0}, {1};", "h"), ("r", "cvt.sat.s8.s32 {0}, {1};", "r"),
    ("r", "cvt.u8.u32 {0}, {1};", "r"), ("r", "cvt.sat.u16.s32 {0}, {1};", "r"),
    # open results
    ("r", "div.u32 {0}, {1}, 0;", "r"), ("r", "div.s32 {0}, {1}, 0;", "r"), ("r", "rem.u32 {0}, {1}, 0;", "r"),
    ("r", "rem.s32 {0}, {1}, 8;", "r"), ("r", "bfe.u32 {0}, {1}, {2}, 8;", "rr"), ("r", "bfe.s32 {0}, {1}, 4, {2};", "rr"),
    ("r", "bfi.b32 {0}, {1}, {2}, {3}, 5;", "rrr"), ("r", "div.u32 {0}, {1}, {2};", "rr"), ("h", "div.u16 {0}, {1}, {2};", "hh"),
    ("h", "rem.s16 {0}, {1}, {2};", "hh"),
    # floating point
    ("r", "add.f32 {0}, {1}, {2};", "rr"), ("r", "sub.f32 {0}, {1}, {2};", "rr"), ("r", "neg.f32 {0}, {1};", "r"),
    ("r", "abs.f32 {0}, {1};", "r"), ("r", "min.f32 {0}, {1}, {2};", "rr"), ("r", "max.f32 {0}, {1}, {2};", "rr"),
    ("r", "mul.f32 {0}, {1}, 0f3F800000;", "r"), ("r", "cvt.rni.s32.f32 {0}, {1};", "r"), ("r", "cvt.f32.f32 {0}, {1};", "r"),
    ("p", "setp.lt.f32 {0}, {1}, {2};", "rr"), ("p", "setp.equ.f32 {0}, {1}, {2};", "rr"), ("p", "testp.notanumber.f32 {0}, {1};", "r"),
    # other widths, predicates, carries
    ("l", "add.u64 {0}, {1}, {2};", "ll"), ("l", "cvt.u64.u32 {0}, {1};", "r"), ("l", "mul.wide.u32 {0}, {1}, 5;", "r"),
    ("l", "shl.b64 {0}, {1}, {2};", "lr"), ("h", "add.u16 {0}, {1}, {2};", "hh"), ("h", "cvt.u16.u32 {0}, {1};", "r"),
    ("h", "mul.lo.u16 {0}, {1}, {2};", "hh"), ("h", "shr.s16 {0}, {1}, {2};", "hr"),
    ("p", "setp.lt.u32 {0}, {1}, {2};", "rn"), ("p", "setp.eq.s32 {0}, {1}, {2};", "rn"), ("p", "setp.ge.and.s32 {0}, {1}, {2}, {3};", "rnp"),
    ("p", "and.pred {0}, {1}, {2};", "pp"), ("p", "not.pred {0}, {1};", "p"), ("p", "xor.pred {0}, {1}, {2};", "pp"),
    ("r", "add.cc.u32 {0}, {1}, {2};", "rn"), ("r", "addc.u32 {0}, {1}, {2};", "rn"), ("r", "sub.cc.u32 {0}, {1}, {2};", "rr"),
    ("r", "subc.cc.u32 {0}, {1}, {2};", "rn"), ("r", "addc.cc.s32 {0}, {1}, {2};", "rr"),
]  # fmt: skip

#: what may come last, and of these what has open results
LAST = [t for t in TEMPLATES if t[0] == "r"]
_OPEN = (
    "div.",
    "rem.",
    "bfe.",
    "bfi.",
    "add.f32",
    "sub.f32",
    "neg.f32",
    "abs.f32",
    "min.f32",
    "max.f32",
    "mul.f32",
    "cvt.rni",
    "cvt.f32",
)
OPEN = [t for t in LAST if t[1].startswith(_OPEN)]

#: instructions whose two operands may be exchanged, and stay the same (of integers and truth values: a NaN tells the order)
COMMUTES = ("add.u32", "add.cc.u32", "addc.u32", "addc.cc.s32", "and.b32", "or.b32", "xor.b32", "max.u32", "min.s32", "add.u64",
            "add.u16", "mul.lo.u16", "and.pred", "xor.pred", "setp.eq.s32")  # fmt: skip
#: instructions in other words: {t} is a name of the side's own
OTHER_WORDS = {
    "not.b32": ("xor.b32 {0}, {1}, -1;",),
    "neg.s32": ("sub.s32 {0}, 0, {1};", "not.b32 {t}, {1}; add.u32 {0}, {t}, 1;"),
    "sub.s32": ("not.b32 {t}, {2}; add.u32 {t}, {t}, 1; add.u32 {0}, {1}, {t};",),
    "mov.b32": ("xor.b32 {0}, {1}, 0;", "add.u32 {0}, {1}, 0;", "not.b32 {t}, {1}; not.b32 {0}, {t};"),
    "mul.lo.u32": ("shl.b32 {t}, {1}, 2; add.u32 {t}, {t}, {1}; shl.b32 {0}, {t}, 1;",),
    "selp.b32": ("not.pred {t}p, {3}; selp.b32 {0}, {2}, {1}, {t}p;",),
    "setp.lt.u32": ("setp.ge.u32 {t}p, {1}, {2}; not.pred {0}, {t}p;",),
    "not.pred": ("xor.pred {0}, {1}, 1;",),
    "div.u32": (
        "div.u32 {t}, {1}, {2}; mov.u32 {0}, {t};",
        "not.b32 {t}, {1}; not.b32 {t}, {t}; div.u32 {0}, {t}, {2};",
    ),
    "rem.u32": ("xor.b32 {t}, {1}, 0; rem.u32 {0}, {t}, {2};",),
    "shl.b32": ("shl.b32 {t}, {1}, {2}; mov.b32 {0}, {t};",),
    "neg.f32": ("neg.f32 {t}, {1}; mov.f32 {0}, {t};",),
    "setp.lt.f32": ("setp.gt.f32 {0}, {2}, {1};",),
    "cvt.u32.u64": ("mov.b64 {{{0}, {t}}}, {1};",),
    "cvt.u8.u32": ("and.b32 {0}, {1}, 0xff;", "cvt.u8.u32 {t}, {1}; cvt.u32.u8 {0}, {t};"),
    "cvt.sat.s8.s32": (
        "max.s32 {t}, {1}, -128; min.s32 {0}, {t}, 127;",
        "max.s32 {t}, {1}, -128; min.s32 {t}, {t}, 127; cvt.s8.s32 {0}, {t};",
    ),
    "bfe.u32": ("mov.b32 {t}, {2}; bfe.u32 {0}, {1}, {t}, {3};",),
    "add.u64": ("sub.u64 {t}l, 0, {2}; sub.u64 {0}, {1}, {t}l;",),
}


ASSUMPTIONS = [
    "a < 65536",
    "b != 0",
    "not nan(a)",
    "not nan(b) and not nan(c)",
    "signed(c) >= 0",
    "a == b",
    "a > b",
    "c < 31",
    "(a & b) == 0",
]


class Said(NamedTuple):
    """An instruction: its guard, its name, its destination and its operands."""

    guard: str
    mnemonic: str
    operands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.guard}{self.mnemonic} {', '.join(self.operands)};"


class Pair(NamedTuple):
    """Two fragments, an assumption or None, and how the second came from the first."""

    left: str
    right: str
    assume: str | None
    how: str


def fragment(source: random.Random, length: int) -> list[Said]:
    """A random fragment that leaves d, and perhaps e and q."""
    pools = {"r": ["a", "b", "c"], "l": ["x"], "h": ["h"], "p": ["p"]}
    wanted = ["d"] + (["e"] if source.random() < 0.5 else [])
    lines: list[Said] = []
    for number in range(length):
        last = length - number <= len(wanted)
        choices = TEMPLATES if not last else LAST if source.random() < 0.6 else OPEN
        writes, text, kinds = source.choice(choices)
        operands = [one(source, pools, kind) for kind in kinds]
        name = wanted[length - number - 1] if last else f"t{number}{writes}"
        guard = source.choice(["@p ", "@!p "]) if source.random() < 0.15 else ""
        if not last and (guard or source.random() < 0.1):
            name = source.choice(pools[writes])  # an input or a name of before, written again
        said = text.format(name, *operands).rstrip(";")
        mnemonic, rest = said.split(" ", 1)
        lines.append(Said(guard, mnemonic, tuple(rest.split(", "))))
        pools[writes].append(name)
    return lines


def one(source: random.Random, pools: dict[str, list[str]], kind: str) -> str:
    """An operand of a kind; what was written last is read more often."""
    if kind == "n" and source.random() < 0.4:
        return source.choice(CONSTANTS)
    pool = pools[KINDS[kind]]
    return source.choice(pool[-2:]) if source.random() < 0.7 else source.choice(pool)


def in_other_words(source: random.Random, lines: list[Said]) -> str:
    """The same fragment: operands exchanged, instructions replaced by others, names of its own."""
    own = {o for line in lines for o in line.operands if o[0] == "t" and o[1:2].isdigit()}
    carries = any(".cc." in line.mnemonic or line.mnemonic.startswith(("addc", "subc")) for line in lines)
    found = []
    for number, line in enumerate(lines):
        text = reworded(source, line, number, carries)
        if source.random() < 0.2 and number:
            text = f"mov.b32 z{number}, {source.choice(['a', 'b', '5'])}; {text}"
        found.append(text)
    text = " ".join(found)
    for name in sorted(own, key=len, reverse=True):
        text = text.replace(name, f"w{name[1:]}")
    return text


def reworded(source: random.Random, line: Said, number: int, carries: bool) -> str:
    """One instruction in other words, perhaps: with operands exchanged, or as several instructions, unless there are carries that
    these may change. Their own names have `number` in them."""
    operands = list(line.operands)
    if line.mnemonic in COMMUTES and source.random() < 0.5 and operands[2][0] not in "0123456789-":
        operands[1], operands[2] = operands[2], operands[1]
    others = OTHER_WORDS.get(line.mnemonic, ())
    if others and not line.guard and not carries and source.random() < 0.6 and operands[0] not in operands[1:]:
        return source.choice(others).format(*operands, t=f"s{number}")
    return str(line._replace(operands=tuple(operands)))


def mutated(source: random.Random, lines: list[Said]) -> list[Said]:
    """The fragment with one thing changed: an operand, the name of an instruction, or its guard."""
    changed = list(lines)
    number = len(lines) - 1 if source.random() < 0.5 else source.randrange(len(lines))
    line = lines[number]
    what = source.choice(["operand", "operand", "mnemonic", "guard", "swap"])
    if what == "operand" and len(line.operands) > 1:
        k = source.randrange(1, len(line.operands))
        new = (
            source.choice(CONSTANTS[:10])
            if line.operands[k][0] in "0123456789-"
            else source.choice(["a", "b", "c", "p", "x", "h"])
        )
        changed[number] = line._replace(operands=(*line.operands[:k], new, *line.operands[k + 1 :]))
    elif what == "mnemonic":
        old = source.choice([(".u32", ".s32"), (".s32", ".u32"), ("add", "sub"), ("and", "or"), ("shl", "shr"), ("min", "max"),
                             ("lt", "le"), ("div", "rem"), (".u16", ".s16"), ("neg", "abs"), ("addc", "add"), (".cc", ""),
                             ("cvt.u8", "cvt.u16"), ("cvt.sat.s8.s32", "cvt.u8.u32"), ("cvt.u8.u32", "mov.u32")])  # fmt: skip
        changed[number] = line._replace(mnemonic=line.mnemonic.replace(*old, 1))
    elif what == "guard":
        changed[number] = line._replace(guard="" if line.guard else "@p ")
    elif len(line.operands) > 2:
        changed[number] = line._replace(operands=(line.operands[0], *line.operands[2:0:-1], *line.operands[3:]))
    return changed


def pair(seed: int) -> Pair:
    """The pair of a seed. Most can be asked; a mutation may make one side wrong, which is to be refused as such."""
    source = random.Random(f"pair {seed}")
    lines = fragment(source, source.randrange(1, 5))
    left = " ".join(map(str, lines))
    how = source.choices(["same", "near", "other"], [0.48, 0.42, 0.1])[0]
    if how == "same":
        right = in_other_words(source, lines)
    elif how == "near":
        right = in_other_words(source, mutated(source, lines))
    else:
        right = " ".join(map(str, fragment(source, source.randrange(1, 4))))
    assume = None
    if source.random() < 0.2:
        assume = source.choice(ASSUMPTIONS)
        read = {o for line in lines[:1] for o in line.operands[1:]}  # of the first instruction: inputs for certain
        if not set(re.findall(r"\b[abc]\b", assume)) <= read:
            assume = None
    return Pair(left, right, assume, how)


#: instructions whose results PTX leaves open, or that may be contracted, with what else moves and tells them apart
CHOOSING = [
    ("h", "mul.f16 {0}, {1}, {2};", "hh"), ("h", "mul.f16 {0}, {1}, {2};", "hh"), ("h", "add.f16 {0}, {1}, {2};", "hh"),
    ("h", "add.f16 {0}, {1}, {2};", "hh"), ("h", "sub.f16 {0}, {1}, {2};", "hh"), ("h", "fma.rn.f16 {0}, {1}, {2}, {3};", "hhh"),
    ("h", "add.rn.f16 {0}, {1}, {2};", "hh"), ("h", "mul.rn.f16 {0}, {1}, {2};", "hh"), ("h", "xor.b16 {0}, {1}, {2};", "hh"),
    ("h", "cvt.rn.f16.f32 {0}, {1};", "r"), ("r", "cvt.f32.f16 {0}, {1};", "h"), ("r", "cvt.rn.f16x2.e5m2x2 {0}, {1};", "h"),
    ("r", "add.rn.f16x2 {0}, {1}, {2};", "rr"), ("r", "fns.b32 {0}, {1}, {2}, 1;", "rr"), ("r", "fns.b32 {0}, {1}, 40, {2};", "rr"),
    ("r", "add.f32 {0}, {1}, {2};", "rr"), ("r", "abs.f32 {0}, {1};", "r"), ("r", "mov.b32 {0}, {1};", "r"),
    ("r", "xor.b32 {0}, {1}, {2};", "rr"), ("r", "selp.b32 {0}, {1}, {2}, {3};", "rrp"), ("h", "mov.b16 {0}, {1};", "h"),
    ("p", "testp.notanumber.f32 {0}, {1};", "r"), ("p", "setp.eq.u32 {0}, {1}, {2};", "rr"), ("r", "div.u32 {0}, {1}, 0;", "r"),
]  # fmt: skip
#: the same in words that a refinement may use, or that make a difference to NaNs alone
CHANGED = [
    ("mul.f16", "mul.rn.f16"), ("add.f16", "add.rn.f16"), ("sub.f16", "sub.rn.f16"), ("mul.rn.f16", "mul.f16"),
    ("add.rn.f16", "add.f16"), ("add.f32", "add.rn.f32"), ("add.f16", "sub.f16"), ("abs.f32", "neg.f32"),
]  # fmt: skip
ALIKE = ["h == g", "a == b", "nan(a)", "not nan(a) and not nan(b)", "b >= 32", "h < 0x7c00 and g < 0x7c00"]


def choosing(seed: int) -> Pair:
    """The pair of a seed about results that PTX leaves open: sums of products that an assembler may contract, undefined results,
    and NaNs, of which both sides have several."""
    source = random.Random(f"choosing {seed}")
    pools = {"r": ["a", "b"], "h": ["h", "g"], "p": ["p"]}
    lines: list[Said] = []
    names = {"r": ["d", "e"], "h": ["dh", "eh"], "p": ["q"]}
    for number in range(source.randrange(2, 6)):
        writes, text, kinds = source.choice(CHOOSING)
        operands = [one(source, pools, kind) for kind in kinds]
        name = names[writes].pop(0) if names[writes] and source.random() < 0.6 else f"t{number}{writes}"
        mnemonic, rest = text.format(name, *operands).rstrip(";").split(" ", 1)
        guard = "@p " if source.random() < 0.1 else ""
        lines.append(Said(guard, mnemonic, tuple(rest.split(", "))))
        pools[writes].append(name)
    if not any(line.operands[0] in ("d", "e", "dh", "eh", "q") for line in lines):
        lines[-1] = lines[-1]._replace(operands=(names[_writes(lines[-1])][0], *lines[-1].operands[1:]))
    how = source.choice(("itself", "changed", "changed", "repeated"))
    right = list(lines)
    if how == "repeated":  # an instruction again, whose result takes the place of another one's
        again = source.choice(lines)
        last = source.choice(lines)
        if _writes(again) == _writes(last) and "@" not in again.guard + last.guard:
            right.append(again._replace(operands=(last.operands[0], *again.operands[1:])))
    if how == "changed":
        for number, line in enumerate(right):
            operands = list(line.operands)
            if line.mnemonic[:3] in ("add", "mul", "fma") and source.random() < 0.5:
                operands[1], operands[2] = operands[2], operands[1]
            fitting = [(old, new) for old, new in CHANGED if line.mnemonic == old]
            old, new = source.choice(fitting) if fitting and source.random() < 0.4 else ("", "")
            mnemonic = line.mnemonic.replace(old, new) if old else line.mnemonic
            right[number] = line._replace(mnemonic=mnemonic, operands=tuple(operands))
    assume = source.choice(ALIKE) if source.random() < 0.4 else None
    read = {o for line in lines[:1] if not line.guard for o in line.operands[1:]}
    if assume is not None and not set(re.findall(r"\b[abhg]\b", assume)) <= read:
        assume = None
    return Pair(" ".join(map(str, lines)), " ".join(map(str, right)), assume, f"choosing {how}")


def _writes(line: Said) -> str:
    """The kind of register that an instruction of these writes."""
    return next(writes for writes, text, _ in CHOOSING if text.split(" ", 1)[0] == line.mnemonic)


#: pieces of text that is no question
PIECES = ["add.u32", "d", ",", "a", ";", "div.s64", "0x", "1e9", "0f7fc00000", "(", ")", "<<", ">>", "not", "and", "==", "1" * 30,
          "%tid.x", "%clock", "@p", "@", "{", "}", "|", "ld.global.u32", "[a]", "-", "~", "\x00", "é", "\n", "//", "/*", "*/",
          "nan(a)", "signed(", "CC.CF", "bra L;", "L:", ".reg .u32 r;", "cvt.rni.s32.f32", "_", "mov.b64", "1.5", "**", "if", "else",
          "lambda", "a[0]", "'", '"', ":=", "True", "None", "%laneid", "setp.lt.u32 p|q", "!p", "99999999999999999999", "\\", "\ud800"]  # fmt: skip


def nonsense(source: random.Random) -> str:
    """Pieces of questions in no order; sometimes a fragment or a condition with a few characters changed, sometimes deep nesting."""
    style = source.randrange(4)
    if style == 0:
        return " ".join(source.choices(PIECES, k=source.randrange(0, 25)))
    if style == 1:
        return source.choice("(-~{[") * source.randrange(1, 3000) + source.choice(["a", "", ")", "not " * 500])
    text = (
        pair(source.randrange(10**6)).left
        if style == 2
        else source.choice(["a < b and b != 0", "signed(a) >= 0", "(a << 3) == b"])
    )
    letters = list(text)
    for _ in range(source.randrange(1, 4)):
        place = source.randrange(len(letters))
        letters[place : place + source.randrange(3)] = [source.choice(PIECES)]
    return "".join(letters)
