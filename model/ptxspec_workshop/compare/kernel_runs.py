"""What our machine answers to cases: their kernels, run under one of the engines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ptxspec.base.options import Engine
from ptxspec.machine.module import Module
from ptxspec_workshop.generate.cases import FILL, Case, Launch, chunks, module_of, named
from ptxspec_workshop.generate.eight_columns import by_eight_columns
from ptxspec_workshop.generate.warpgroup_kernels import WarpgroupCase


def launched(loaded: Module, name: str, launches: Iterable[Launch], **how: Any) -> list[np.ndarray]:
    """The rows of `out` that a kernel's launches leave. `how` are the profile and the engine."""
    answers = []
    for launch in launches:
        out = np.full_like(launch.cells, FILL)
        arguments = [launch.cells.copy(), out, *([] if launch.argument is None else [launch.argument])]
        loaded.launch(name, launch.grid, launch.threads, arguments, cluster=launch.cluster, **how)
        answers.append(out)
    return answers


class CachedMachine:
    """Our machine, which computes what is alike once."""

    def __init__(self, profile: str, engine: Engine):
        self.profile, self.engine = profile, engine
        self._known: dict[Any, np.ndarray] = {}

    def answers(self, cases: Sequence[Case]) -> dict[str, np.ndarray]:
        """The answers by the cases' names."""
        first: dict[Any, Case] = {}
        for case in cases:
            if _alike(case) not in self._known:
                first.setdefault(_alike(case), case)
        for chunk in chunks(list(first.values())):
            loaded = load(module_of(chunk))
            for name, case in named(chunk).items():
                outs = launched(loaded, name, case.launches, profile=self.profile, engine=self.engine)
                self._known[_alike(case)] = case.kept(outs)
        return {case.name: self._known[_alike(case)] for case in cases}


def of_eight_columns(cases: Iterable[WarpgroupCase], profile: str) -> dict[str, np.ndarray]:
    """What our machine answers to products of warpgroups, by the forms with eight columns, under the native engine: so one kernel
    is compiled for all numbers of columns. By the cases' names."""
    answers = {}
    for text, same in by_eight_columns(cases).items():
        loaded = load(text)
        for each in same:
            outs = launched(loaded, "k0", each.launches, profile=profile, engine="native")
            answers[each.case.name] = each.kept(outs)
    return answers


def _alike(case: Case) -> Any:
    return type(case), case.alike


def load(text: str) -> Module:
    """A module's text, checked."""
    from ptxspec.language.check import check

    return Module(check(text))
