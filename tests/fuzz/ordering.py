"""Random pairs of which one side orders memory for other threads, and a launch in which another thread is thought of.

Of a pair that is the same by construction the proof has to stand; one that differs in order alone must not be proved. What is proved
is launched with a thread that interferes: before each fence, strong or atomic access, what the buffers hold is noted, and something
else is put there. The texts are changed for that, so that nothing of the prover's decides when.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from launched import EITHER, Left, Sides, differing
from touching import SIZE, Access, Memory, Touching, Writer, changed, program

from ptxspec.query.questions import Goal
from ptxspec.terms.types import TYPES

sys.path.insert(0, str(Path(__file__).parents[1] / "query" / "paths"))

from path_programs import LANES, Runner

#: fences, and accesses of m, of which those of one row leave the same alone
FENCES = ["fence.sc.gpu;", "fence.sc.cta;", "fence.acq_rel.gpu;", "fence.acq_rel.sys;", "membar.gl;"]
ACCESSES = [
    [f"ld.{o}.global.u32 e, [m+{{at}}];" for o in ("acquire.gpu", "acquire.cta", "relaxed.gpu", "volatile")]
    + ["ld.global.u32 e, [m+{at}];"],
    [f"st.{o}.global.u32 [m+{{at}}], {{value}};" for o in ("release.gpu", "release.sys", "relaxed.gpu", "volatile")]
    + ["st.global.u32 [m+{at}], {value};"],
    [f"atom.{o}.global.add.u32 e, [m+{{at}}], {{value}};" for o in ("acq_rel.gpu", "release.gpu", "relaxed.cta")]
    + ["ld.global.u32 e, [m+{at}]; add.u32 z, e, {value}; st.global.u32 [m+{at}], z;"],
]  # fmt: skip
#: an instruction that takes part in the order of memory, with its guard
_EVENT = re.compile(
    r"(?:@(!?\w+) )?\b((?:fence|membar|atom|ld\.acquire|ld\.relaxed|ld\.volatile|st\.release|st\.relaxed|st\.volatile)[^;]*;)"
)
#: a value that no other store leaves
MARKED = 0x5EED1234
#: rows of operands on which a proof is launched with a thread that interferes
ROWS = 24


class Event(NamedTuple):
    """A fence, or an access: of a row, which one it is."""

    row: tuple[str, ...]
    number: int
    at: int
    value: str

    @property
    def text(self) -> str:
        return self.row[self.number].format(at=self.at, value=self.value)


class OrderedWriter(Writer):
    def said(self, statement: Any) -> str:
        return statement.text if isinstance(statement, Event) else super().said(statement)


def meant(text: str) -> str:
    """The fence that an instruction is, if it is one under another name."""
    return text.replace("membar.gl", "fence.sc.gpu")


def event(source: random.Random) -> Event:
    row = FENCES if source.random() < 0.5 else source.choice(ACCESSES)
    strong = len(row) - (row is not FENCES)
    return Event(tuple(row), source.randrange(strong), source.randrange(0, SIZE, 4), source.choice("abc"))


def otherwise(source: random.Random, statements: list[Any], at: int) -> tuple[list[Any], list[Any]]:
    """Both sides, which differ in an event at a place alone: there are more or fewer, it is another one that leaves the same alone, or a
    store, or the load of a result, is moved across it."""
    one = statements[at]
    before, behind = statements[:at], statements[at + 1 :]
    if behind and isinstance(behind[0], Access) and behind[0].op == "ld" and behind[0].register == "d":
        return statements, [*before, behind[0], one, *behind[1:]]
    match source.choice(["drop", "other", "other", "twice", "move", "move"]):
        case "drop" if one.row == tuple(FENCES):
            return statements, before + behind
        case "twice" if not one.text.startswith("atom"):
            return statements, [*before, one, one, *behind]
        case "move":
            store = Event((f"st.global.u32 [m+{{at}}], {MARKED};",), 0, source.randrange(0, SIZE, 4), "")
            return [*before, store, one, *behind], [*before, one, store, *behind]
    number = source.choice([k for k in range(len(one.row)) if meant(one.row[k]) != meant(one.row[one.number])])
    return statements, [*before, one._replace(number=number), *behind]


def ordered(seed: int) -> Touching:
    """The pair of a seed: "same", "near", or "order" for one that differs in order alone."""
    source = random.Random(f"ordered {seed}")
    memory = Memory("global", source.choice([0, 4, 8, None]))
    left = list(program(source, source.randrange(2, 5)))
    for _ in range(source.randrange(1, 3)):
        left.insert(source.randrange(len(left)), event(source))
    how, right = source.choices(["same", "order", "near"], [0.4, 0.35, 0.25])[0], left
    if how == "order":
        left, right = otherwise(source, left, source.choice([i for i, s in enumerate(left) if isinstance(s, Event)]))
    elif how == "near":
        right = list(changed(source, tuple(left)))
    generic = source.random() < 0.3
    sides = (OrderedWriter(source, memory, generic, o, True).text(tuple(s)) for o, s in ((False, left), (True, right)))
    first, second = sides
    second = re.sub(r"\bt(\d+[rlhp])\b", r"w\1", re.sub(r"\bq(\d+)\b", r"v\1", second))
    return Touching(first, second, None, how, memory)


# a thread that interferes ------------------------------------------------------------------------------------------------


def interfered(asked: Goal, memory: Memory) -> Goal:
    """The question, with texts in which another thread interferes: `evh` sums up what it saw."""
    own = ["m"] + (["n"] if memory.alias is None else [])
    codes: dict[str, int] = {}

    def with_another(match: re.Match[str]) -> str:
        guard, text = match.groups()
        kind = meant(text).partition(" ")[0].replace(".global", "").rstrip(";")
        said = f"add.u64 evh, evh, {codes.setdefault(kind, len(codes) + 1)}; "
        for buffer in own:
            said += f"ld.global.v2.b64 {{ev0, ev1}}, [{buffer}]; "
            for word in ("ev0", "ev1"):
                said += f"xor.b64 evh, evh, {word}; mul.lo.u64 evh, evh, 0x100000001b3; "
                said += f"mad.lo.u64 evs, evs, 6364136223846793005, 1442695040888963407; mov.b64 {word}, evs; "
            said += f"st.global.v2.b64 [{buffer}], {{ev0, ev1}}; "
        label = f"ev{match.start()}{'RL'[match.string is asked.sides[0].text]}"
        around = "" if guard is None else f"@{guard[1:] if guard.startswith('!') else '!' + guard} bra {label}; "
        return f"{around}{said}{'' if guard is None else label + ': '}{match[0]}"

    def changed_text(side: Any) -> Any:
        text = "mov.b64 evh, 0; mov.b64 evs, 99; " + _EVENT.sub(with_another, side.text)
        more = dict.fromkeys(("evh", "evs", "ev0", "ev1"), TYPES["b64"])
        return side._replace(text=text, registers={**side.registers, **more})

    first, second = map(changed_text, asked.sides)
    return asked._replace(sides=(first, second), compared={**asked.compared, "evh": TYPES["b64"]})


def hold_with_another(asked: Goal, memory: Memory, values: dict[str, list[int]], said: str) -> int:
    """Launch both sides of a proof with a thread that interferes, row by row: they leave the same, or both break a rule. Gives the
    rows that were compared."""
    changed_question = interfered(asked, memory)
    sides, compared = Sides(changed_question, memory), 0
    for row in list(zip(*values.values(), strict=True))[:ROWS]:
        one = {n: [v] for n, v in zip(values, row, strict=True)}
        left, right = (sides.run(one, 1, "native", which) for which in EITHER)
        if isinstance(left, str) or isinstance(right, str):
            assert isinstance(left, str) == isinstance(right, str), f"proved, and one side faults: {said} {one}"
            continue
        both = sides.run(one, 1, "native")
        assert isinstance(both, Left)
        assert not differing(both, both, (0, 1), changed_question.compared), (
            f"proved, and another thread tells the sides apart: {said} {one}"
        )
        compared += 1
    return compared


# warps -------------------------------------------------------------------------------------------------------------------

#: bytes of m: two words a lane
WARP_SIZE = 8 * LANES
_COMPUTES = ["add.u32", "xor.b32", "and.b32", "max.u32"]


class Warp(NamedTuple):
    """Two texts, and how the second came from the first."""

    left: str
    right: str
    how: str


def warp(seed: int) -> Warp:
    """The pair of a seed that a warp executes; each lane accesses words of its own."""
    source = random.Random(f"warp {seed}")
    registers = ["a", "b", "r0", "r1", "r2"]
    lines: list[tuple[str, ...]] = []
    for _ in range(source.randrange(2, 5)):
        to, x, y = source.choice(registers[2:]), *source.sample(registers, 2)
        at = source.choice([0, 4 * LANES])
        kind = source.choice(["compute", "load", "store", "store", "exchange"])
        lines.append({
            "compute": (source.choice(_COMPUTES), to, x, y), "load": ("ld", to, at), "store": ("st", x, at),
            "exchange": ("shfl", to, x, str(source.randrange(LANES))),
        }[kind])  # fmt: skip
    strong = [
        "fence.sc.gpu;",
        "fence.acq_rel.cta;",
        "st.release.gpu.global.u32 [q], r1;",
        "ld.acquire.gpu.global.u32 r2, [q];",
    ]
    at = source.randrange(len(lines) + 1)
    event = source.choice(strong)
    how = source.choice(["same", "order"])
    store = f"st.global.u32 [q+{4 * LANES}], {MARKED};" if source.random() < 0.5 or how == "order" else ""
    first, second = [event], [event]
    if how == "order":
        drop = {"fence": [""], "st.re": ["st.global.u32 [q], r1;"], "ld.ac": ["ld.relaxed.gpu.global.u32 r2, [q];"]}[
            event[:5]
        ]
        first, second = source.choice(
            [([store, event], [event, store]), ([event], drop), ([event, store], [*drop, store])]
        )
    elif store:
        first = second = [store, event]
    left = [_said(one) for one in lines[:at]] + first + [_said(one) for one in lines[at:]]
    right = [_said(one, source) for one in lines[:at]] + second + [_said(one, source) for one in lines[at:]]
    return Warp(_whole(left, "L", "mov.u32 t, %laneid; mad.wide.u32 q, t, 4, m;"),
                _whole(right, "R", "mov.u32 t, %laneid; shl.b32 t, t, 2; cvt.u64.u32 q, t; add.u64 q, m, q;"), how)  # fmt: skip


def _said(one: tuple[Any, ...], source: random.Random | None = None) -> str:
    """A statement; with a source, in other words."""
    op, to, x, *more = one
    meets = "bar.warp.sync -1; " if source is not None and source.random() < 0.2 else ""
    if op == "ld":
        return f"{meets}ld.global.u32 {to}, [q+{x}];"
    if op == "st":
        return f"{meets}st.{'global.' if source is None or source.random() < 0.5 else ''}u32 [q+{x}], {to};"
    if op == "shfl":
        return f"shfl.sync.bfly.b32 {to}, {x}, {more[0]}, 31, -1;"
    x, y = (x, more[0]) if source is None or source.random() < 0.5 else (more[0], x)
    return f"{meets}{op} {to}, {x}, {y};"


def _whole(lines: list[str], side: str, address: str) -> str:
    text = " ".join([*(f"mov.u32 {r}, 0;" for r in ("r0", "r1", "r2")), address, *lines])
    return re.sub(r"\b(t|q)\b", rf"\1{side}", text)


def hold_warp(one: Warp, said: str) -> int:
    """Launch both sides of a proof about a warp, under both engines: they leave the same. Gives the launches."""
    rng = np.random.default_rng(0)
    runners = [Runner(one.left), Runner(one.right)]
    for row in range(4):
        inputs = rng.integers(0, 1 << 32, (LANES, 2), np.uint64).astype(np.uint32)
        memory = rng.integers(0, 256, WARP_SIZE).astype(np.uint8)
        left, right = (r.run(inputs, memory, ("exact", "native")[row % 2]) for r in runners)
        assert left == right, f"proved, and launches of a warp differ: {said}"
    return 4
