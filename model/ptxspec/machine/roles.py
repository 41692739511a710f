"""What each instruction of a kernel means for the machine: who waits there, and for what. Worked out once a kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxspec.language.checked import Kernel, Op
from ptxspec.machine.system import system_function


class Roles:
    """Arrays with an element an instruction; all are truth values but `kind`."""

    def __init__(self, kernel: Kernel):
        def column(question: Callable[[Op], object]) -> np.ndarray:
            return np.array([bool(question(op)) for op in kernel.code], bool)

        self.is_gather = column(lambda op: is_kind(op, "gather"))
        self.is_image = column(lambda op: is_kind(op, "image"))
        #: whether it calls a function of the system
        self.is_system = column(lambda op: system_function(kernel, op))
        self.asks = self.is_image | self.is_system
        self.patient = column(lambda op: field(op, "patient", False))
        self.waits = column(lambda op: field(op, "waits", True))
        self.is_barrier = column(lambda op: is_kind(op, "barrier") and not field(op, "cluster", False))
        self.of_cluster = column(lambda op: field(op, "cluster", False))
        self.counts = column(lambda op: field(op, "counts", False))
        spellings: dict[str, int] = {}
        #: instructions that are spelled alike have one number: lanes meet at any of them
        self.kind = np.array([spellings.setdefault(op.plan.form.mnemonic, len(spellings)) for op in kernel.code], int)


def is_kind(op: Op, kind: str) -> bool:
    """Whether an instruction has an effect of this kind."""
    effect = op.plan.meaning.effect
    return effect is not None and effect.kind == kind


def field(op: Op, name: str, otherwise: object) -> object:
    """A field of an instruction's effect."""
    effect = op.plan.meaning.effect
    return otherwise if effect is None else effect.fields.get(name, otherwise)
