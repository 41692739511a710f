"""Two mistakes of LLVM's, and how code is told that may have them.

A processor with AVX-512 has one instruction for any logic of three vectors, vpternlog; a byte in it is the table of the eight
results. It may take one vector from memory, and leave elements as they were that a mask does not choose. Where LLVM 22 makes that
of a selection among logic of three and the last of the three, it turns the table the wrong way: of `mask ? y : x` come the bits
of `y ? x : mask`. Code without AVX-512 has no such instruction.

The other one shows where a loop is made one of vectors that selects among words of 128 bits, by bits of a narrower word: AVX-512
keeps the conditions in masks, and some are taken from the wrong place. `clmad` by way of a product of 128 bits had a wrong
high half. Such text is compiled without AVX-512.
"""

from __future__ import annotations

import re
from collections.abc import Callable

#: what a processor without the instruction lacks, as LLVM spells it, and what turns it off
FEATURE, WITHOUT = "+avx512f", ",-avx512f"


def _bytes(holds: Callable[[int], bool]) -> bytes:
    """A pattern for a byte for which this holds."""
    return b"[" + b"".join(rb"\x%02x" % byte for byte in range(256) if holds(byte)) + b"]"


_INSTRUCTION = re.compile(
    rb"\x62"  # the prefix's first byte, then
    + _bytes(lambda byte: byte & 7 == 3)  # which map of opcodes,
    + _bytes(lambda byte: byte & 7 == 5)  # which of the four prefixes of old,
    + _bytes(lambda byte: byte & 7 != 0)  # and some mask;
    + rb"\x25"  # the opcode,
    + _bytes(lambda byte: byte >> 6 != 3)  # and an operand in memory
)


#: what names begin with that are worked out once, before a loop of vectors
ONCE = "most"
_WIDE_SELECTION = re.compile(rf"^ *%(?!{ONCE})\S+ = select i1 [^,]+, i128 (?:%|[^,]+, i128 %)", re.M)


def selects_wide_words(text: str) -> bool:
    """Whether LLVM's text selects among words of 128 bits that are not all constants, other than once."""
    return _WIDE_SELECTION.search(text) is not None


def may_have(code: bytes) -> bool:
    """Whether a masked vpternlog with an operand in memory may be among the bytes; never False if one is."""
    return _INSTRUCTION.search(code) is not None
