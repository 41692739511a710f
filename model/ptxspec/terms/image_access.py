"""Textures and surfaces as definitions see them: what is known of an image and a sampler before a program runs, and the words
for reaching an image's bytes.

An access to an image is a *rule*: a function on a page that is given an `Image`, perhaps a `Sampler`, and the operands as
terms. It is evaluated once for each image that it is used with, and may therefore ask with Python's `if` about all that they
say; the terms that it gives are the meaning of the access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ptxspec.base.records import NamedTuple
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, blame, integer, truth, variable
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE, low_bits, select, sign_extend


class Image(NamedTuple):
    """A texture's or a surface's description. `geometry` is spelled as the instructions have it. `levels` has (width, height,
    depth) of each level of detail, 1 for directions that there are none of; `layers` counts the faces of cubes, too."""

    geometry: str
    channel: Type
    channels: int
    levels: tuple[tuple[int, int, int], ...]
    layers: int
    samples: int
    is_linear: bool
    """whether it lies in linear memory"""


class Sampler(NamedTuple):
    """How a texture is looked up. `address` has a mode for each direction; `normalized` says whether coordinates count in
    texels or in textures, `fractions` whether integer channels are read as fractions of their greatest number. Levels of detail
    are in units of 2^−8: `bias` is added, and the sum is kept between `least` and `greatest`."""

    address: tuple[str, str, str]
    filter: str
    mipmap_filter: str
    normalized: bool
    fractions: bool
    bias: int
    least: int
    greatest: int
    forced: bool
    """whether unnormalized coordinates were asked for, whatever the texture says"""


class ImageRead(NamedTuple):
    """`bits` bits are read at a byte offset, where `when` holds."""

    when: Bool
    offset: Int
    bits: int


class ImageWrite(NamedTuple):
    """`value` is stored in `bits` bits at a byte offset, where `when` holds."""

    when: Bool
    offset: Int
    bits: int
    value: Int


class ImageRuleFault(NamedTuple):
    """The access breaks a rule where `when` holds."""

    when: Bool
    rule: str
    note: str


class ImageRule(NamedTuple):
    """What a rule says of one image: the variables of its operands with their widths; what it reads, into the variables %read0,
    %read1, …; what it writes, after that; where it breaks a rule; what it answers."""

    operands: tuple[tuple[str, int], ...]
    reads: tuple[ImageRead, ...]
    writes: tuple[ImageWrite, ...]
    faults: tuple[ImageRuleFault, ...]
    answers: tuple[Int, ...]

    @property
    def accesses(self) -> tuple[ImageRead | ImageWrite, ...]:
        """The reads and then the writes, in their order."""
        return (*self.reads, *self.writes)


class _Trace:
    """The rule that is being evaluated: what it has read, written and refused."""

    current: _Trace | None = None

    def __init__(self) -> None:
        self.reads: list[ImageRead] = []
        self.writes: list[ImageWrite] = []
        self.faults: list[ImageRuleFault] = []


def _open() -> _Trace:
    if _Trace.current is None:
        raise blame("an image is reached outside of a rule of access")
    return _Trace.current


def read_image(offset: Int | int, bits: int, when: Bool | bool = TRUE) -> Int:
    """The number of so many bits at a byte offset of the image, where the condition holds. Elsewhere it is zero, and nothing is
    read; but the offset must lie within the image there, too."""
    trace = _open()
    trace.reads.append(ImageRead(truth(when), integer(offset), bits))
    return select(when, variable(f"%read{len(trace.reads) - 1}", bits), 0)


def write_image(offset: Int | int, bits: int, value: Int | int, when: Bool | bool = TRUE) -> None:
    """Store a number's low bits at a byte offset of the image, where the condition holds."""
    _open().writes.append(ImageWrite(truth(when), integer(offset), bits, low_bits(value, bits)))


class _Refused(Exception):
    """The access breaks a rule, whatever its operands are."""


def refuse(rule: str, note: str) -> NoReturn:
    """The access breaks the rule of this name, and does nothing else."""
    refuse_if(TRUE, rule, note)
    raise _Refused


def refuse_if(when: Bool | bool, rule: str, note: str) -> None:
    """The access breaks the rule of this name where the condition holds, and does nothing else there."""
    _open().faults.append(ImageRuleFault(truth(when), rule, note))


def access_of(
    rule: Callable[..., Any], image: Image | None, sampler: Sampler | None, operands: tuple[Int, ...]
) -> ImageRule:
    """Evaluate a rule for an image. The operands tell the ranges of what it is given."""
    names: list[tuple[str, int]] = []
    given: list[Int] = []
    for i, operand in enumerate(operands):
        width, signed = bits_for(operand.lo, operand.hi)
        names.append((f"%operand{i}", width))
        raw = variable(*names[-1])
        given.append(sign_extend(raw, width) if signed else raw)
    outer, _Trace.current = _Trace.current, (trace := _Trace())
    try:
        answers = rule(image, sampler, *given) or ()
    except _Refused:
        answers = ()
    finally:
        _Trace.current = outer
    return ImageRule(
        tuple(names), tuple(trace.reads), tuple(trace.writes), tuple(trace.faults), tuple(map(integer, answers))
    )
