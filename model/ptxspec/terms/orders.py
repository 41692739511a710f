"""How an access or a fence takes part in the order in which threads see memory: what effects say of it.

The words are those of the chapter on the memory consistency model in NVIDIA's manual, 8 in edition 9.1. Which of them an
instruction's modifiers mean is said in spec/machine/order.md.
"""

from __future__ import annotations

from enum import Enum

from ptxspec.terms.core import blame


class Words(Enum):
    """Words of the manual, by their names or as Words(word). A word that is none of them is an error of the page."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        known = ", ".join(str(word.value) for word in cls)
        raise blame(f"{value} is no {cls.__name__.lower()} of memory accesses; there are {known}")


class Order(Words):
    """How strong an access or a fence is (sections 8.4 and 8.8): Order.RELAXED and the like, or Order(word) for a modifier."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"
    VOLATILE = "volatile"
    MMIO = "mmio"


class Scope(Words):
    """The threads with which a strong access or a fence may establish an order (section 8.5): Scope.GPU and the like, or
    Scope(word) for a modifier."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class Proxy(Words):
    """The way in which memory is accessed (section 8.6): Proxy.GENERIC and the like, or Proxy(word) for a modifier."""

    GENERIC = "generic"
    ALIAS = "alias"
    CONSTANT = "constant"
    TEXTURE = "texture"
    SURFACE = "surface"
    ASYNC = "async"
    TENSORMAP = "tensormap"
