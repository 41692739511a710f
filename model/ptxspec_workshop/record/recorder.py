"""Asking a GPU: cases are put into modules, assembled at both levels, launched, kept, and held against what is expected."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec_workshop.compare.expectations import Expectation, difference
from ptxspec_workshop.generate.cases import Case, KernelQuestion, chunks, module_of, named
from ptxspec_workshop.record.kernel_family import KernelFamily
from ptxspec_workshop.record.machine_code import assembled_modules

#: of how many rows of a case that differ the values are printed
SHOWN = 6


def room_for(gpu: Any, questions: Sequence[KernelQuestion]) -> tuple[Any, Any]:
    """Device memory for the rows of `in` and of `out` of any of the questions."""
    size = max((launch.cells.nbytes for q in questions for launch in q.launches), default=1)
    return gpu.allocate(size), gpu.allocate(size)


def run_kernels(
    gpu: Any, code: Mapping[str, bytes], questions: Mapping[str, KernelQuestion], into: Any, out_of: Any
) -> Iterator[dict[str, np.ndarray]]:
    """What the kernels of a module answer, by the level of the assembler, one after another. `code` is the module's machine code
    by level, `questions` are by the names of their kernels."""
    images = {level: gpu.load(cubin) for level, cubin in code.items()}
    for name, question in questions.items():
        print(question.name, file=sys.stderr, flush=True)  # a kernel that hangs says which it is
        launches = question.launches
        yield {
            level: question.kept([gpu.run(image, name, launch, into, out_of) for launch in launches])
            for level, image in images.items()
        }
    for image in images.values():
        gpu.call("cuModuleUnload", image)


def judged(case: Case, want: Expectation, got: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], np.ndarray]:
    """(the entry of a case among the differences, the rows that differ): from what is expected at -O0 and at -O3, and these from
    each other (`levels`)"""
    unlike = {level: want.wrong(answer) for level, answer in got.items()}
    between = case.differs(got["-O0"], got["-O3"])
    counts = {"O0": unlike["-O0"], "O3": unlike["-O3"], "levels": between}
    entry = {"form": case.name, "rows": len(between), **{what: int(rows.sum()) for what, rows in counts.items()}}
    return entry, unlike["-O0"] | unlike["-O3"] | between


def answers_of_gpu(
    gpu: Any, family: KernelFamily, cases: Sequence[Case], profile: str
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """(the answers at -O3 by the cases' names, the entries of those that differ). Of a family that is judged later, those whose
    levels differ."""
    into, out_of = room_for(gpu, cases)
    expectations = None if family.is_judged_later else family.expectations(profile)
    values: dict[str, np.ndarray] = {}
    differing = []
    for chunk, code in assembled_modules(chunks(cases), module_of):
        answers = run_kernels(gpu, code, named(chunk), into, out_of)
        wanted = expectations(chunk) if expectations else [None] * len(chunk)
        for case, expected, got in zip(chunk, wanted, answers, strict=True):
            values[case.name] = got["-O3"]
            want = expected or Expectation(got["-O3"], partial(case.differs, got["-O3"]))
            entry, rows = judged(case, want, got)
            if rows.any():
                differing.append({**entry, **family.remarks(case, want, got, rows)})
                _print(entry, case, want, got, rows)
    return values, differing


def _print(entry: Mapping[str, Any], case: Case, want: Expectation, got: Mapping[str, np.ndarray], rows: Any) -> None:
    print(*(f"{name} {value}" for name, value in entry.items()), sep="  ")
    for i in np.flatnonzero(rows)[:SHOWN]:
        for level, answer in got.items():
            print(f"  {level}: {difference(case, int(i), want.ours, answer)}")


def record(gpu: Any, family: KernelFamily, folder: Path, facts: Mapping[str, Any]) -> tuple[int, int]:
    """Put all cases of a family to a GPU, keep its answers in `folder`, and say (cases, those with differences). `gpu` is a
    driver.Gpu, `facts` say who answers, and under which profile."""
    values, differing = answers_of_gpu(gpu, family, family.every(), facts["profile"])
    family.write(folder, facts, values, differing)
    return len(values), len(differing)
