"""Cases where threads meet: shuffles, votes, matches, reductions of a warp and of a CTA.

Each form runs alone in a kernel, in launches of one CTA. A thread has a row of operands; some threads branch around the
instruction. The rows are not stored: `launches` makes them again from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.kernels.instruction_kernels import (
    TAKES_PART,
    kernel,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Collective, ImageAccess
from ptxspec.terms.types import TYPES
from ptxspec_workshop.generate import matrix_cases, product_operands
from ptxspec_workshop.generate.cases import Launch, blank_rows, key, unlike
from ptxspec_workshop.generate.former_modules import module_for_ptxas
from ptxspec_workshop.generate.function_cases import columns

SEED = "warps"
LANES = 32
FULL = 0xFFFFFFFF
#: the mask of each warp of a launch; two of them have lanes in two groups, each with its own
MASKS: tuple[tuple[int, ...], ...] = (
    *[(FULL,)] * 5,
    (0x0000FFFF,), (0xFFFF0000,), (0x55555555,), (0x80000000,), (0x7FFFFFFE,), (0x00010001,),
    (0x3C0FF0A5,), (0xC3E0175B,),
    (0x0000FFFF, 0xFFFF0000), (0x55555555, 0xAAAAAAAA),
    (FULL,),
)  # fmt: skip
#: threads of a launch for a reduction at a barrier
CTA = 128


def meets(form: Form) -> bool:
    """Whether the form has results that depend on other threads of a warp or of a barrier."""
    if product_operands.asks(form):  # by four warps, with cases of their own
        return False
    meaning = form.meaning(form.absences[-1])
    of_warp = not isinstance(meaning.effect, ImageAccess) and not matrix_cases.asks(form)
    return of_warp and meaning.lands and bool(meaning.results)


def operands(form: Form, absent: tuple[str, ...] = ()) -> list[str]:
    """The source operands in the order of a row's cells."""
    return [o.name for o in form.syntax.operands if o.name in form.definition.sources and o.name not in absent]


def launches(form: Form, absent: tuple[str, ...] = ()) -> list[Launch]:
    """The launches of a form, reproducible from the seed."""
    source = random.Random(f"{SEED}:{form}:{absent}")
    names = operands(form, absent)
    of_warp = isinstance(form.meaning(absent).effect, Collective)
    tables = _of_warps(form, names, source) if of_warp else _of_barriers(names, source)
    return [_launch(names, rows) for rows in tables]


def _launch(names: list[str], rows: list[dict[str, int]]) -> Launch:
    cells = blank_rows(len(rows))
    for i, name in enumerate(names):
        cells[:, i] = [row[name] for row in rows]
    cells[:, TAKES_PART // 8] = [row.get("takes part", 1) for row in rows]
    return Launch(cells)


def taking_part(launch: Launch) -> np.ndarray:
    """Which threads of a launch execute the instruction."""
    takes_part: np.ndarray = launch.cells[:, TAKES_PART // 8] != 0
    return takes_part


def _of_warps(form: Form, names: list[str], source: random.Random) -> list[list[dict[str, int]]]:
    """Two launches of a warp for each of the masks."""
    tables = []
    for _ in range(2):
        rows = []
        for masks in MASKS:
            draw = _operand_values(form, source)
            for lane in range(LANES):
                mine = [m for m in masks if m >> lane & 1]
                row = {name: draw[name][lane] for name in names if name != "membermask"}
                rows.append({**row, "membermask": mine[0] if mine else 0, "takes part": int(bool(mine))})
        tables.append(rows)
    return tables


def _operand_values(form: Form, source: random.Random) -> dict[str, list[int]]:
    """A value a lane for each operand: of one warp."""
    type = form.modifiers.get("type", TYPES["b32"])
    opcode = form.syntax.opcode
    if opcode == "vote":
        holding = source.choice((0, 1, 16, 31, 32))
        return {"a": source.sample([1] * holding + [0] * (LANES - holding), LANES)}
    if opcode == "match":
        few = [source.getrandbits(type.width) for _ in range(source.choice((1, 1, 2, 5)))]
        few.append(few[0] ^ 1 << source.randrange(type.width))
        values = [source.choice(few if source.random() < 0.5 else few[:1]) for _ in range(LANES)]
        return {"a": [few[0]] * LANES if source.random() < 0.3 else values}
    if opcode == "redux":
        patterns = special(type)
        return {"a": [source.choice(patterns) if i % 2 else source.getrandbits(32) for i in range(LANES)]}
    a = [source.getrandbits(32) for _ in range(LANES)]
    width = source.choice((1, 2, 4, 8, 16, 32, 32, 32))
    usual = (0 if form.modifiers.get("mode") == "up" else 31) | (LANES - width) << 8
    b, c = source.randrange(LANES), source.choice((usual, usual, source.getrandbits(13)))
    if source.random() < 0.5:
        return {"a": a, "b": [b] * LANES, "c": [c] * LANES}
    return {
        "a": a,
        "b": [source.getrandbits(source.choice((5, 32))) for _ in range(LANES)],
        "c": [source.choice((usual, source.getrandbits(13), source.getrandbits(32))) for _ in range(LANES)],
    }


def _of_barriers(names: list[str], source: random.Random) -> list[list[dict[str, int]]]:
    """With a number of threads, pairs of warps at a barrier each; without, the whole CTA at one, once less a warp."""
    if "b" in names:
        pairs = [_predicates(i, 64, source) for i in range(8)]
        return [[{"a": 15 - i, "b": 64, "c": c} for i, values in enumerate(pairs) for c in values]]
    tables = [[{"a": i * 2, "c": c} for c in _predicates(i, CTA - LANES * (i % 3), source)] for i in range(8)]
    tables.append([{"a": 1, "c": c, "takes part": int(i >= LANES)} for i, c in enumerate(_predicates(2, CTA, source))])
    return tables


def _predicates(which: int, count: int, source: random.Random) -> list[int]:
    """A predicate a thread: in turn for none, one, half, all but one, and all of them it holds."""
    holding = (0, 1, count // 2, count - 1, count)[which % 5]
    return source.sample([1] * holding + [0] * (count - holding), count)


class WarpCase(NamedTuple):
    """A form, and the operands left out."""

    form: Form
    absent: tuple[str, ...]

    @property
    def name(self) -> str:
        return key(self.form, self.absent)

    @property
    def launches(self) -> list[Launch]:
        return launches(self.form, self.absent)

    @property
    def alike(self) -> Any:
        return self.name

    @property
    def apart(self) -> Any:
        """A module has one version and target. Newer modules have some of the forms no longer."""
        return module_for_ptxas(self.form)

    def text(self, name: str) -> str:
        return kernel(self.form, name, self.absent, around=True).text

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *self.apart)

    def operands(self, row: int) -> tuple[int, ...]:
        cells = np.concatenate([launch.cells for launch in self.launches])
        return tuple(map(int, cells[row, : len(operands(self.form, self.absent))]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """The results, a column each; zeros for threads that take no part."""
        types = kernel(self.form, "k", self.absent, around=True).outputs
        parts = [
            np.where(taking_part(launch)[:, None], columns(types, out), 0)
            for launch, out in zip(self.launches, outs, strict=True)
        ]
        return np.concatenate(parts).astype(np.uint32)

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


def cases(forms: Iterable[Form]) -> list[WarpCase]:
    """The cases of some forms, with every way of leaving operands out."""
    return [WarpCase(f, absent) for f in forms if meets(f) for absent in f.absences]
