"""What a GPU does for the forms whose effect is on memory or on the course of a program: loads, stores, ordered updates,
branches, calls, returns, barriers, fences, and instructions that change nothing.

Each form runs alone in a kernel of one CTA (accesses.py, kernels.py, control.py). `record` keeps the first cells of what a GPU's
threads leave, in `effects/` beside the other answers and in their format; `compare` runs the same kernels on our machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence import accesses, agreement, clusters, control, images_answered, vectors, warps
from ptxspec.evidence.agreement import inputs_of
from ptxspec.evidence.kernels import kernel, module, words
from ptxspec.evidence.operands import rows
from ptxspec.evidence.vectors import H200, Answers
from ptxspec.language.forms import Form, forms
from ptxspec.machine.launch import Module
from ptxspec.options import Engine
from ptxspec.terms.effects import ImageAccess, Load, Stop, Update

SEED = "effects"
ROWS = 32
#: bytes from one thread's row to the next, and how many cells of it are kept
STRIDE = 128
KEPT = 4
#: kernels of a module
CHUNK = 96
FILL = 0xA5A5A5A5A5A5A5A5


def folder_of(folder: Path) -> Path:
    return folder / "effects"


def kind(form: Form) -> str | None:
    """Which kernels there are for a form: "access", "update" or "control"; None if it is asked elsewhere, or not at all."""
    if vectors.comparable(form) or warps.meets(form) or asks_images(form) or clusters.asks(form):
        return None
    if accesses.moves(form):
        return "access"
    if agreement.updates(form.meaning(form.absences[-1])):
        return None if agreement.undefined(form.meaning()) else "update"
    return "control" if control.shows(form) else None


def asks_images(form: Form) -> bool:
    """Whether the form is for textures or surfaces, which have cases of their own."""
    return isinstance(form.meaning(form.absences[-1]).effect, ImageAccess)


def unasked(form: Form) -> str | None:
    """Why no GPU can be asked for a form; None if one can, be it after somebody has written a kernel for such forms."""
    if kind(form) is not None or vectors.comparable(form) or warps.meets(form) or clusters.asks(form):
        return None
    if asks_images(form):
        return images_answered.gap(form.mnemonic)
    effect = form.meaning(form.absences[-1]).effect
    if isinstance(effect, Update):
        return "what it leaves is undefined"
    if isinstance(effect, Stop):
        return "it ends the launch, which leaves nothing to read"
    names_place = any(i.type is None for i in form.meaning(form.absences[-1]).inputs)
    if form.definition.gives_addresses or (effect is None and names_place):
        return "it deals in addresses or other numbers that differ from machine to machine"
    return None


class Case(NamedTuple):
    """One kernel: its form, the operands left out, its text under the name that it has in a module, and the rows of `in`."""

    form: Form
    absent: tuple[str, ...]
    kind: str
    cells: np.ndarray

    @property
    def name(self) -> str:
        return warps.key(self.form, self.absent)

    def text(self, name: str) -> str:
        if self.kind == "access":
            return accesses.text_of(self.form, name)
        if self.kind == "control":
            return control.text_of(self.form, name, self.absent)
        return kernel(self.form, name, self.absent).text

    def differs(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which rows of two answers differ."""
        unlike = one ^ other
        if self.kind == "access":
            unlike[:, 0] &= np.uint64(accesses.judged(self.form))
        return unlike.any(axis=1)

    @property
    def argument(self) -> bytes:
        """The kernel's third parameter."""
        return accesses.image() if self.kind == "access" else bytes(64)


def cases(own: Iterable[Form]) -> list[Case]:
    """The cases of some forms, those of one kind together."""
    found = []
    for form in own:
        what = kind(form)
        if what is not None:
            absences = form.absences if what == "control" else [()]
            found += [Case(v, absent, what, _cells(v, what)) for v in form.variants for absent in absences]
    return sorted(found, key=lambda c: c.kind)


def _cells(form: Form, what: str) -> np.ndarray:
    if what == "control":
        return control.rows(form)
    if what == "access":
        loads = isinstance(form.meaning().effect, Load)
        return accesses.rows_of_load() if loads else accesses.rows_of_store()
    return _cells_of_update(tuple(t for _, t in inputs_of(form.meaning())))


@cache
def _cells_of_update(types: tuple[Any, ...]) -> np.ndarray:
    data = np.zeros((ROWS, STRIDE // 8), np.uint64)
    for i, row in enumerate(rows(types, ROWS, SEED)):
        own = words(row, types)
        data[i, : len(own)] = own
    return data


def module_of(chunk: Sequence[Case]) -> str:
    """The module of some cases of one kind, whose kernels are k0, k1, …"""
    texts = [case.text(f"k{i}") for i, case in enumerate(chunk)]
    if chunk[0].kind == "update":
        return module([]) + "\n".join([*texts, ""])
    own = accesses.declarations() if chunk[0].kind == "access" else control.declarations()
    return "\n".join([".version 9.0", ".target sm_90", ".address_size 64", *own, *texts, ""])


def chunks(chosen: Sequence[Case]) -> list[list[Case]]:
    found = []
    for what in ("access", "control", "update"):
        same = [c for c in chosen if c.kind == what]
        found += [same[i : i + CHUNK] for i in range(0, len(same), CHUNK)]
    return found


def _same(case: Case) -> Any:
    """What is equal for cases between which our machine sees no difference: cache operators, hints, orders and scopes apart."""
    meaning = case.form.meaning(case.absent)
    if case.kind == "control" or meaning.effect is None:
        return case.name
    return case.kind, meaning.effect, meaning.results, case.form.modifiers.get("vec")


def answers_here(chosen: Sequence[Case], profile: str, engine: Engine = "exact") -> dict[str, np.ndarray]:
    """What our machine leaves, by the cases' names."""
    from ptxspec.language.check import check

    first: dict[Any, Case] = {}
    for case in chosen:
        first.setdefault(_same(case), case)
    found: dict[Any, np.ndarray] = {}
    for chunk in chunks(list(first.values())):
        loaded = Module(check(module_of(chunk)))
        for i, case in enumerate(chunk):
            out = np.full_like(case.cells, FILL)
            arguments = [case.cells.copy(), out, case.argument]
            loaded.launch(f"k{i}", 1, len(out), arguments, profile=profile, engine=engine)
            found[_same(case)] = out[:, :KEPT]
    return {case.name: found[_same(case)] for case in chosen}


def compare(own: Iterable[Form], answers: Answers, engine: Engine = "exact") -> tuple[int, list[warps.Difference]]:
    """(rows compared, rows that differ) over those of the forms that were answered, under the answers' profile."""
    chosen = [case for case in cases(own) if case.name in answers.values]
    ours = answers_here(chosen, answers.facts["profile"], engine) if chosen else {}
    count, found = 0, []
    for case in chosen:
        want, got = answers.values[case.name], ours[case.name]
        count += len(want)
        for i in np.flatnonzero(case.differs(want, got)):
            row = tuple(map(int, case.cells[i, :KEPT]))
            found.append(warps.Difference(case.name, int(i), row, tuple(map(int, got[i])), tuple(map(int, want[i]))))
    return count, found


def read(folder: Path = H200) -> Answers | None:
    """The answers of a folder, or None if there are none. Raises ValueError if they are not what was recorded."""
    return vectors.read(folder_of(folder))


def record(gpu: Any, folder: Path, facts: dict[str, Any]) -> tuple[int, int]:
    """Run every case on a GPU, keep its answers in `folder`, and say (forms, those with differences). `gpu` is a
    ptxspec.evidence.gpu.Gpu, `facts` what answers.json says of it."""
    from ptxspec.evidence.gpu import assembled_modules

    every = cases(forms())
    ours = answers_here(every, facts["profile"])
    size = max(len(c.cells) for c in every) * STRIDE
    into, out_of = gpu.allocate(size), gpu.allocate(size)
    values: dict[str, np.ndarray] = {}
    differences = []
    for chunk, code in assembled_modules(chunks(every), module_of):
        images = {level: gpu.load(cubin) for level, cubin in code.items()}
        for i, case in enumerate(chunk):
            print(case.name, file=sys.stderr)  # a kernel that hangs says which it is
            got = {
                level: gpu.run(image, f"k{i}", case.cells, into, out_of, case.argument)[:, :KEPT]
                for level, image in images.items()
            }
            values[case.name] = got["-O3"]
            unlike = {level: case.differs(g, ours[case.name]) for level, g in got.items()}
            wrong = {level: int(rows.sum()) for level, rows in unlike.items()}
            between = int(case.differs(got["-O0"], got["-O3"]).sum())
            if between or any(wrong.values()):
                row = {
                    "form": case.name,
                    "rows": len(case.cells),
                    "O0": wrong["-O0"],
                    "O3": wrong["-O3"],
                    "levels": between,
                }
                differences.append(row)
                at = int(np.flatnonzero(unlike["-O0"] | unlike["-O3"])[0])
                print(row, *(cells[at] for cells in (case.cells, ours[case.name], got["-O0"], got["-O3"])))
        for image in images.values():
            gpu.call("cuModuleUnload", image)
    own = {k: v for k, v in facts.items() if k != "rows"}
    vectors.write(folder_of(folder), {**own, "seed": SEED}, values, differences)
    return len(values), len(differences)
