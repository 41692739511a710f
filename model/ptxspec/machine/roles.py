"""What each instruction of a kernel means for the machine: who waits there, and for what. Worked out once a kernel."""

from __future__ import annotations

from typing import NamedTuple, assert_never

import numpy as np

from ptxspec.language.checked import Kernel
from ptxspec.machine.system import system_function
from ptxspec.terms.effects import (
    Advance,
    Arrive,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Exit,
    Fence,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initiate,
    Load,
    Release,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)


class Roles:
    """Arrays with an element an instruction; all are truth values but `kind`."""

    def __init__(self, kernel: Kernel):
        roles = [role_of(op.plan.meaning.effect) for op in kernel.code]

        def column(name: str) -> np.ndarray:
            return np.array([getattr(role, name) for role in roles], bool)

        self.of_warp, self.of_cta, self.of_cluster = column("of_warp"), column("of_cta"), column("of_cluster")
        self.is_image = column("is_image")
        #: whether it calls a function of the system
        self.is_system = np.array([system_function(kernel, op) is not None for op in kernel.code], bool)
        self.asks = self.is_image | self.is_system
        #: whether threads of the kernel meet others anywhere, or ask the host
        self.meet = bool((self.of_warp | self.of_cta | self.of_cluster | self.asks).any())
        self.patient, self.waits, self.counts = column("patient"), column("waits"), column("counts")
        self.converged, self.aligned, self.whole = column("converged"), column("aligned"), column("whole")
        #: how many warps execute an instruction together
        self.warps = np.array([role.warps for role in roles], int)
        spellings: dict[str, int] = {}
        #: instructions that are spelled alike have one number: lanes meet at any of them
        self.kind = np.array([spellings.setdefault(op.plan.form.mnemonic, len(spellings)) for op in kernel.code], int)


class Role(NamedTuple):
    """Whom an instruction meets: threads of its warp, its CTA or its cluster, or the unit that holds the images. And how: whether
    a thread waits there, however long others take (`patient`), and learns how many have come (`counts`); whether it meets only
    those at the very instruction (`converged`), or first waits there for all of its warp (`aligned`), for lanes that have ended,
    too (`whole`), and for so many `warps`."""

    of_warp: bool = False
    of_cta: bool = False
    of_cluster: bool = False
    is_image: bool = False
    waits: bool = True
    patient: bool = False
    counts: bool = False
    converged: bool = False
    aligned: bool = False
    whole: bool = False
    warps: int = 1


def role_of(effect: Effect | None) -> Role:
    """What an effect means for the threads that come to the instruction."""
    match effect:
        case Collective():
            return Role(
                of_warp=True,
                patient=effect.patient,
                converged=effect.converged,
                aligned=effect.aligned,
                whole=effect.whole,
                warps=effect.warps,
            )
        case Arrive():
            return Role(of_cta=True, waits=False, aligned=effect.aligned)
        case Wait():
            return Role(of_cta=True, counts=effect.reduction, aligned=effect.aligned)
        case ClusterArrive():
            return Role(of_cluster=True, waits=False, aligned=effect.aligned)
        case ClusterWait():
            return Role(of_cluster=True, aligned=effect.aligned)
        case ImageAccess():
            return Role(is_image=True)
        case Fence() | GridDependency():
            return Role()
        case None | Load() | Store() | Update() | Check() | StackEnd() | Reserve() | Release():
            return Role()
        case Initiate() | Advance():
            return Role()
        case Branch() | IndexedBranch() | Call() | Return() | Exit() | Stop():
            return Role()
        case _:
            assert_never(effect)
