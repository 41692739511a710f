"""What a GPU computes where threads meet: shuffles, votes, matches, reductions of a warp and of a CTA.

Each form runs alone in a kernel (kernels.py), in launches of one CTA. A thread has a row of operands; some threads branch
around the instruction. `record` keeps a GPU's answers in `warps.npz` and `warps.json`; `compare` runs the same kernels over the
same rows on our machine. The rows are not stored: `launches` makes them again from the seed.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.assembler import FORMER
from ptxspec.evidence.kernels import TAKES_PART, Kernel, kernel, module
from ptxspec.evidence.operands import special
from ptxspec.evidence.vectors import H200, Answers
from ptxspec.language.forms import Form, forms
from ptxspec.machine.launch import Module
from ptxspec.options import Engine
from ptxspec.terms import exact
from ptxspec.terms.effects import Collective, ImageAccess
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import freedoms_in

SEED = "warps"
LANES = 32
FULL = 0xFFFFFFFF
#: bytes from one thread's row of cells to the next, and cells in it
STRIDE = 128
CELLS = STRIDE // 8
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


class Launch(NamedTuple):
    """One CTA: rows of operand cells, a thread each, and which threads execute the instruction."""

    cells: np.ndarray
    takes_part: np.ndarray


def meets(form: Form) -> bool:
    """Whether the form has results that depend on other threads."""
    meaning = form.meaning(form.absences[-1])
    of_warp = not isinstance(meaning.effect, ImageAccess)
    return of_warp and meaning.lands and bool(meaning.results)


def cases() -> list[tuple[Form, tuple[str, ...]]]:
    """Every form that is recorded, with the operands that are left out."""
    return [(f, absent) for f in forms() if meets(f) for absent in f.absences]


def operands(form: Form, absent: tuple[str, ...] = ()) -> list[str]:
    """The source operands in the order of a row's cells."""
    return [o.name for o in form.syntax.operands if o.name in form.definition.sources and o.name not in absent]


def launches(form: Form, absent: tuple[str, ...] = ()) -> list[Launch]:
    """The launches of a form, reproducible from the seed."""
    source = random.Random(f"{SEED}:{form}:{absent}")
    names = operands(form, absent)
    of_warp = isinstance(form.meaning(absent).effect, Collective)
    found = _of_warps(form, names, source) if of_warp else _of_barriers(names, source)
    return [_launch(names, rows) for rows in found]


def _launch(names: list[str], rows: list[dict[str, int]]) -> Launch:
    cells = np.zeros((len(rows), CELLS), np.uint64)
    for i, name in enumerate(names):
        cells[:, i] = [row[name] for row in rows]
    takes_part = np.array([row.get("takes part", 1) for row in rows], bool)
    cells[:, TAKES_PART // 8] = takes_part
    return Launch(cells, takes_part)


def _of_warps(form: Form, names: list[str], source: random.Random) -> list[list[dict[str, int]]]:
    """Two launches of a warp for each of the masks."""
    found = []
    for _ in range(2):
        rows = []
        for masks in MASKS:
            draw = _operand_values(form, source)
            for lane in range(LANES):
                mine = [m for m in masks if m >> lane & 1]
                row = {name: draw[name][lane] for name in names if name != "membermask"}
                rows.append({**row, "membermask": mine[0] if mine else 0, "takes part": int(bool(mine))})
        found.append(rows)
    return found


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
    found = [[{"a": i * 2, "c": c} for c in _predicates(i, CTA - LANES * (i % 3), source)] for i in range(8)]
    found.append([{"a": 1, "c": c, "takes part": int(i >= LANES)} for i, c in enumerate(_predicates(2, CTA, source))])
    return found


def _predicates(which: int, count: int, source: random.Random) -> list[int]:
    """A predicate a thread: in turn for none, one, half, all but one, and all of them it holds."""
    holding = (0, 1, count // 2, count - 1, count)[which % 5]
    return source.sample([1] * holding + [0] * (count - holding), count)


def kernels_of(chosen: Iterable[tuple[Form, tuple[str, ...]]]) -> tuple[list[Kernel], dict[bool, str]]:
    """(a kernel a case, the text of the two modules they stand in): those whose forms newer modules have no longer apart"""
    found = [kernel(f, f"k{i}", absent, around=True) for i, (f, absent) in enumerate(chosen)]
    texts = {}
    for former in (False, True):
        own = [k for k in found if (k.form.removal is not None) == former]
        if own:
            texts[former] = module(own, *FORMER[70]) if former else module(own)
    return found, texts


def _columns(own: Kernel, answer: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
    """The results, a column each, from the rows of cells a launch wrote; zeros for threads that take no part."""
    widths = [max(t.width, 16 if t.kind == "pred" else 0) for t in own.outputs]
    columns = [answer[:, i] & np.uint64((1 << n) - 1) for i, n in enumerate(widths)]
    return np.where(takes_part[:, None], np.stack(columns, axis=1), 0).astype(np.uint32)


def key(form: Form, absent: tuple[str, ...]) -> str:
    """The name of a form's answers."""
    return f"{form} less {', '.join(absent)}" if absent else str(form)


def answers_here(
    chosen: list[tuple[Form, tuple[str, ...]]], profile: str, engine: Engine = "native"
) -> dict[str, np.ndarray]:
    """What our machine computes: for each form the results of its launches, one after another."""
    from ptxspec.language.check import check

    own, texts = kernels_of(chosen)
    loaded = {former: Module(check(text)) for former, text in texts.items()}
    found = {}
    for one, (form, absent) in zip(own, chosen, strict=True):
        parts = []
        for launch in launches(form, absent):
            out = np.full_like(launch.cells, 0xA5A5A5A5A5A5A5A5)
            loaded[form.removal is not None].launch(
                one.name, 1, len(out), [launch.cells.copy(), out, bytes(64)], profile=profile, engine=engine
            )
            parts.append(_columns(one, out, launch.takes_part))
        found[key(form, absent)] = np.concatenate(parts)
    return found


def open_rows(form: Form, absent: tuple[str, ...]) -> np.ndarray:
    """The rows whose results hang on a freedom: found by evaluating the definition with a choice that takes notes."""
    meaning = form.meaning(absent)
    terms = [value for result in meaning.results for value in result.values]
    found = []
    for launch in launches(form, absent):
        is_open = np.zeros(len(launch.cells), bool)
        if isinstance(meaning.effect, Collective) and freedoms_in(*terms):
            names = operands(form, absent)
            for i in np.flatnonzero(launch.takes_part):
                first = i - i % LANES
                members = sum(1 << k for k in range(LANES) if launch.takes_part[first + k])
                env: dict[str, Any] = {name: int(launch.cells[i, k]) for k, name in enumerate(names)}
                members &= env.get("membermask", members)
                env |= {f"%lane{k}": 0 for k in range(LANES)}
                env |= {"%members": members, "%at_once": members, "%own": int(i % LANES)}
                met: list[Any] = []

                def note(freedom: Any, _: Any, met: list[Any] = met) -> int:
                    met.append(freedom)
                    return 0

                for term in terms:
                    exact.evaluate(term, env, note)
                is_open[i] = bool(met)
        found.append(is_open)
    return np.concatenate(found)


class Difference(NamedTuple):
    """One thread for which our machine gives something else than the GPU did. `row` counts through the launches."""

    form: str
    row: int
    operands: tuple[int, ...]
    ours: tuple[int, ...]
    gpu: tuple[int, ...]

    def __str__(self) -> str:
        shown = [", ".join(map(hex, values)) for values in (self.operands, self.ours, self.gpu)]
        return f"{self.form} row {self.row}, of {shown[0]}: we give {shown[1]}, the GPU {shown[2]}"


def compare(own: Iterable[Form], answers: Answers, engine: Engine = "native") -> tuple[int, list[Difference]]:
    """(rows compared, rows that differ) over those of the forms that were answered, under the answers' profile. Rows that
    hang on a freedom are compared too."""
    possible = [(f, absent) for f in own if meets(f) for absent in f.absences]
    chosen = [(f, absent) for f, absent in possible if key(f, absent) in answers.values]
    ours = answers_here(chosen, answers.facts["profile"], engine) if chosen else {}
    count, found = 0, []
    for form, absent in chosen:
        name = key(form, absent)
        want, got = answers.values[name], ours[name]
        rows = np.concatenate([launch.cells for launch in launches(form, absent)])
        count += len(rows)
        for i in np.flatnonzero((want != got).any(axis=1)):
            values = tuple(map(int, rows[i, : len(operands(form, absent))]))
            found.append(Difference(name, int(i), values, tuple(map(int, got[i])), tuple(map(int, want[i]))))
    return count, found


def read(folder: Path = H200) -> Answers | None:
    """The answers of a folder, or None if there are none. Raises ValueError if they are not what was recorded."""
    if not (folder / "warps.json").is_file():
        return None
    facts = json.loads((folder / "warps.json").read_text())
    data = (folder / "warps.npz").read_bytes()
    if hashlib.sha256(data).hexdigest() != facts["digest"]:
        raise ValueError(f"{folder}: the digest of warps.npz is not the recorded one")
    with np.load(folder / "warps.npz") as stored:
        return Answers(facts, {name: stored[name] for name in stored.files})


def record(gpu: Any, folder: Path, facts: dict[str, Any]) -> tuple[int, int]:
    """Run every case on a GPU, keep its answers in `folder`, and say (forms, those with differences). `gpu` is a
    ptxspec.evidence.gpu.Gpu, `facts` what answers.json says of it."""
    from ptxspec.evidence.gpu import assemble

    chosen = cases()
    own, texts = kernels_of(chosen)
    levels = ("-O0", "-O3")
    images = {(level, former): gpu.load(assemble(text, level)) for level in levels for former, text in texts.items()}
    size = max(len(launch.cells) for form, absent in chosen for launch in launches(form, absent)) * STRIDE
    into, out_of = gpu.allocate(size), gpu.allocate(size)
    ours = answers_here(chosen, facts["profile"])
    values: dict[str, np.ndarray] = {}
    summary = []
    for one, (form, absent) in zip(own, chosen, strict=True):
        print(key(form, absent), file=sys.stderr, flush=True)  # a kernel that hangs says which it is
        got = {}
        for level in levels:
            image = images[level, form.removal is not None]
            parts = [
                _columns(one, gpu.run(image, one.name, launch.cells, into, out_of), launch.takes_part)
                for launch in launches(form, absent)
            ]
            got[level] = np.concatenate(parts)
        name = key(form, absent)
        values[name] = got["-O3"]
        is_open = open_rows(form, absent)
        differs = {level: (got[level] != ours[name]).any(axis=1) for level in levels}
        cells = np.concatenate([launch.cells for launch in launches(form, absent)])
        between = (got["-O0"] != got["-O3"]).any(axis=1)
        wrong = differs["-O0"] | differs["-O3"] | between
        shown = [*np.flatnonzero(wrong & ~is_open)[:6], *np.flatnonzero(wrong & is_open)[:6]]
        summary.append(
            {
                "form": name,
                "rows": len(cells),
                "O0": int(differs["-O0"].sum()),
                "O3": int(differs["-O3"].sum()),
                "levels": int(between.sum()),
                "open": int(is_open.sum()),
                "open, O3 differs": int((differs["-O3"] & is_open).sum()),
                "examples": [
                    {
                        "row": int(i),
                        "open": bool(is_open[i]),
                        "operands": [hex(int(v)) for v in cells[i, : len(one.inputs)]],
                        "ours": [hex(int(v)) for v in ours[name][i]],
                        "O0": [hex(int(v)) for v in got["-O0"][i]],
                        "O3": [hex(int(v)) for v in got["-O3"][i]],
                    }
                    for i in shown
                ],
            }
        )
    for image in images.values():
        gpu.call("cuModuleUnload", image)
    np.savez_compressed(folder / "warps.npz", **values)  # type: ignore[arg-type]
    digest = hashlib.sha256((folder / "warps.npz").read_bytes()).hexdigest()
    differing = [row for row in summary if row["O0"] or row["O3"] or row["levels"]]
    counted = {row["form"]: row["rows"] for row in summary}
    kept = {**facts, "seed": SEED, "digest": digest, "forms": counted, "differences": differing}
    kept.pop("rows", None)
    (folder / "warps.json").write_text(json.dumps(kept, indent=1))
    for row in differing:
        print(*(f"{k} {row[k]}" for k in ("form", "rows", "O0", "O3", "levels", "open", "open, O3 differs")), sep="  ")
    return len(summary), len(differing)
