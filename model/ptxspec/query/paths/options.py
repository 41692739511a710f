"""What a question says beside its texts: buffers, bounds of loops, an invariant, and whether a whole warp executes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from ptxspec import contracts
from ptxspec.base.options import Contraction, Nan

#: bytes of a buffer, at most: each is a term
MOST_BYTES = 4096
#: the alignment of a buffer for which none is said, in bytes: that of the largest vector before sm_100
ALIGNMENT = 16
#: how often a loop is taken at most, whatever is asked for
MOST_UNROLLED = 4096

_SIZE = re.compile(
    r"(?P<size>\d+)(?: (?P<space>(?!private|multimem)[a-z]+))?(?: align (?P<align>\d+))?(?: multimem (?P<devices>\d+))?"
    r"(?P<fixed> read-only)?(?P<private> private)?"
)
#: the copy that a device has is called by the name of the multimem address and the device's number
_ALIAS = re.compile(r"(?P<of>[%\w$]+(?:\.\d+)?) ?\+ ?(?P<offset>\d+)")


class Buffer(NamedTuple):
    """Memory that a register or a parameter points to: so many bytes of a state space, at an address that is a multiple of
    `align`. One that is an alias begins `offset` bytes behind the beginning of the buffer `of`, and has no bytes of its own. No
    other thread accesses one that is `private`. A multimem address has no bytes but copies, for so many `devices`; `copy_of` is
    the buffer that a copy is of, and the device."""

    name: str
    size: int
    space: str
    align: int = ALIGNMENT
    writable: bool = True
    of: str = ""
    offset: int = 0
    private: bool = False
    devices: int = 0
    copy_of: tuple[str, int] | None = None


class Options(NamedTuple):
    """How a question about paths is put. `lanes` is 1, or the lanes of a warp; `contract` says which products and sums are
    contracted. With `open_at_first` what a kernel or a function reads before it is written is open, on each side by itself;
    else it is an input of both. `compare` names what is compared, None the results; `nan` says whether an open NaN is as good
    as another ("any"), or its bits count ("payloads"). If it is `interfered`, other threads are thought of: see `ordering.py`;
    if it is `traced`, at each access. `is_right` tells the sides apart, whose loops leave states of their own."""

    unroll: int = 16
    invariant: str | None = None
    buffers: tuple[Buffer, ...] = ()
    lanes: int = 1
    contract: Contraction = "none"
    open_at_first: bool = False
    compare: tuple[str, ...] | None = None
    nan: Nan = "any"
    interfered: bool = False
    traced: bool = False
    is_right: bool = False

    @property
    def are_plain(self) -> bool:
        """Whether a straight line without memory may be read as it always is."""
        return not self.buffers and self.lanes == 1 and not self.interfered


def options(
    unroll: int = 16,
    invariant: str | None = None,
    buffers: Mapping[str, int | str | tuple[str, int]] | None = None,
    warp: bool = False,
    contract: Contraction = "none",
    compare: Sequence[str] | None = None,
    nan: Nan = "any",
) -> Options:
    """What was asked for, in order. Raises ValueError for what cannot be read."""
    if isinstance(unroll, bool) or not isinstance(unroll, int) or not 1 <= unroll <= MOST_UNROLLED:
        raise ValueError(f"unroll is an integer from 1 to {MOST_UNROLLED}, not {unroll!r}")
    pointers = {name: _buffer(name, text) for name, text in (buffers or {}).items()}
    pointers |= {copy.name: copy for buffer in pointers.values() for copy in _copies(buffer)}
    for buffer in pointers.values():
        if buffer.of and (buffer.of not in pointers or pointers[buffer.of].of or pointers[buffer.of].devices):
            raise ValueError(f"{buffer.name}: {buffer.of} is no buffer with bytes of its own")
        size = pointers[buffer.of].size if buffer.of else buffer.size
        if buffer.offset > size:
            raise ValueError(f"{buffer.name} begins {buffer.offset} bytes into {buffer.of}, which has {size}")
    lanes = contracts.warps.LANES if warp else 1
    if isinstance(compare, str) or (compare is not None and not compare):
        raise ValueError(f"compare is a list of names, not {compare!r}")
    if nan not in get_args(Nan):
        raise ValueError(f"nan is 'any' or 'payloads', not {nan!r}")
    names = None if compare is None else tuple(compare)
    return Options(unroll, invariant, tuple(pointers.values()), lanes, contract, compare=names, nan=nan)


def _buffer(name: str, text: int | str | tuple[str, int]) -> Buffer:
    """A buffer as it is said: `64`, `"64 shared align 8 read-only"`, or `("base", 16)`, which is `"base+16"`."""
    spaces = contracts.state_spaces
    if isinstance(text, tuple | list):  # a list, where it was read from a file
        text = "+".join(map(str, text))
    if isinstance(text, str):
        alias = _ALIAS.fullmatch(text.strip())
        if alias is not None:
            return Buffer(name, 0, spaces.OF_BUFFERS, of=alias["of"], offset=int(alias["offset"]))
        match = _SIZE.fullmatch(text.strip())
        known = set(spaces.addressable()) - {spaces.OF_PARAMETERS}
        if match is None or (match["space"] or spaces.OF_BUFFERS) not in known:
            how = 'as in "64", "64 shared align 8", "64 read-only", "64 private", "64 multimem 2" or "base+16"'
            raise ValueError(f"{name}: a buffer is so many bytes, {how}, not {text!r}")
        space, align = match["space"] or spaces.OF_BUFFERS, int(match["align"] or ALIGNMENT)
        writable = match["fixed"] is None and spaces.SPACES[space].written
        private, devices = match["private"] is not None, int(match["devices"] or 0)
        if match["devices"] is not None:
            most = contracts.multicast.MOST_DEVICES
            if not 1 <= devices <= most or space != spaces.OF_BUFFERS or not writable or private:
                raise ValueError(f"{name}: memory of 1 to {most} devices is global, may be written and is not private")
        return _sized(Buffer(name, int(match["size"]), space, align, writable, private=private, devices=devices))
    if isinstance(text, bool) or not isinstance(text, int):
        raise ValueError(f"{name}: a buffer is a number of bytes, not {text!r}")
    return _sized(Buffer(name, text, spaces.OF_BUFFERS))


def _copies(buffer: Buffer) -> list[Buffer]:
    """What a multimem address stands for."""
    return [
        Buffer(f"{buffer.name}.{k}", buffer.size, buffer.space, buffer.align, copy_of=(buffer.name, k))
        for k in range(buffer.devices)
    ]


def _sized(buffer: Buffer) -> Buffer:
    if not 1 <= buffer.size <= MOST_BYTES:
        raise ValueError(f"{buffer.name}: a buffer has 1 to {MOST_BYTES} bytes, not {buffer.size}")
    if buffer.align & (buffer.align - 1) or not 1 <= buffer.align <= 4096:
        raise ValueError(f"{buffer.name}: an alignment is a power of two up to 4096, not {buffer.align}")
    return buffer


#: a question about straight lines
PLAIN = Options()
