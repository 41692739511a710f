"""Where compiled code touches the host's arrays: every pointer into one of them is formed here.

With the environment variable PTXSPEC_CHECKED set, each is checked against the true length of its array, by a function in the
machine code itself. An access beyond it goes to a pad instead, is noted in the launch's record of such things, and ends the
launch with an EngineFault.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

import numpy as np

from ptxspec import contracts
from ptxspec.machine.errors import EngineFault


def array_of(space: str) -> str:
    """The name of the array of a state space."""
    return f"space_{space}"


_spaces = contracts.state_spaces
#: the arrays of state spaces, one for each but global memory, by the name of the space; and those of them that have a part for
#: each thread or CTA
SPACES = {name: array_of(name) for name in _spaces.addressable() if _spaces.SPACES[name].shared_by != _spaces.CONTEXT}
PARTS = {name: SPACES[name] for name in _spaces.in_parts()}
#: that of registers that may be in flight
REGISTERS = array_of(_spaces.OF_REGISTERS)
#: what a launch counts that is asked to: see counting.Counters
COUNTERS = ("count_entries", "count_active", "count_moved")
#: the arrays of a launch that only instructions touch; the driver's are those of its machine
OF_INSTRUCTIONS = (
    "registers", "special", "heap_states", *SPACES.values(), "alive", "stack", "request", "answer", "banks", "slot_of",
    "tile", "global_blocks", "last_blocks", *COUNTERS, "events",
)  # fmt: skip
#: what compiled code touches beside the driver's arrays, by the names of errors
ARRAYS = (
    *OF_INSTRUCTIONS, "a bank of constants", "what an image is asked", "its answers", "an image", "what is written of an image",
    "what is noted of an image", "a block of global memory",
)  # fmt: skip
#: what compiled code takes from data that are its own, and checks in any case
CONTROL = ("the depth of the stack", "the block to return to", "the frame", "the end of the stack")
#: the words of a record: which (from 1 on, of both lists), at which index, for how many bytes, how many there are, and at
#: which instruction; behind them comes the pad
WHICH, INDEX, SIZE, LENGTH, AT, PAD = range(6)
_PAD_BYTES = 256


#: the environment variable that asks for the checks
VARIABLE = "PTXSPEC_CHECKED"


def is_checked() -> bool:
    """Whether machine code that is made from now on checks all that it touches."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


@cache
def names() -> tuple[str, ...]:
    """What a record may name: arrays, and what compiled code takes from its own data."""
    from ptxspec.machine.driver import inventory
    from ptxspec.machine.operations import ARRAYS as OF_OPERATIONS
    from ptxspec.machine.racing.shadow import ARRAYS as OF_RACES

    return (*ARRAYS, *CONTROL, *inventory.columns(), *OF_OPERATIONS, REGISTERS, *OF_RACES)


def number_of(what: str) -> int:
    """The number in a record of an array, or of what compiled code takes from its own data."""
    return 1 + names().index(what)


def new_record() -> np.ndarray:
    return np.zeros(PAD + _PAD_BYTES // 8, np.int64)


def complain(record: np.ndarray, described: Sequence[str] = ()) -> None:
    """Raise EngineFault if something was noted. `described` says what each instruction is."""
    if not record[WHICH]:
        return
    which, index, size, length, at = record[:PAD].tolist()
    where = f", at instruction {at} ({described[at]})" if 0 <= at < len(described) else ""
    what = names()[which - 1]
    if what in CONTROL:
        raise EngineFault(f"{what}: {index} is none that there is{where}")
    raise EngineFault(f"{size} bytes at index {index} of {what}, which has {length} bytes{where}")


def pointer(
    checked: bool, array: str, base: str, index: str, unit: int, size: int | str, length: str, at: int = -1
) -> str:
    """What an LLVM value is that points into an array: `index` units of so many bytes behind `base`. `size` is how many bytes
    are touched there, `length` how many follow `base`, `at` the number of the instruction."""
    if not checked:
        return f"getelementptr [{unit} x i8], ptr {base}, i64 {index}"
    words = ", ".join(f"i64 {w}" for w in (index, unit, size, length, number_of(array), at))
    return f"call ptr @ptxspec_host(ptr %record, ptr {base}, {words})"


def within(base: str, held: int, index: int, unit: int) -> str:
    """The same for a piece of what a pointer has already been formed for, which is `held` bytes."""
    assert 0 <= index and (index + 1) * unit <= held, (base, held, index, unit)
    return f"getelementptr [{unit} x i8], ptr {base}, i64 {index}"


def span(size: str) -> str:
    """What an LLVM value is that says how many bytes are filled or copied: none if something was noted."""
    return f"call i64 @ptxspec_span(ptr %record, i64 {size})"


def note(what: str, value: str, at: int) -> str:
    """Text that notes that what compiled code took from its own data is wrong."""
    return f"  call void @ptxspec_note(ptr %record, i64 {value}, i64 0, i64 0, i64 {number_of(what)}, i64 {at})"


#: the functions that such text calls
NEEDS = frozenset(
    {
        "declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)",
        f"""define internal void @ptxspec_note(ptr %record, i64 %index, i64 %size, i64 %length, i64 %which,
    i64 %at) cold noinline {{
  %known = load i64, ptr %record
  %first = icmp eq i64 %known, 0
  br i1 %first, label %write, label %out
write:
  store i64 %which, ptr %record
  %index_at = getelementptr i64, ptr %record, i64 {INDEX}
  store i64 %index, ptr %index_at
  %size_at = getelementptr i64, ptr %record, i64 {SIZE}
  store i64 %size, ptr %size_at
  %length_at = getelementptr i64, ptr %record, i64 {LENGTH}
  store i64 %length, ptr %length_at
  %at_at = getelementptr i64, ptr %record, i64 {AT}
  store i64 %at, ptr %at_at
  br label %out
out:
  ret void
}}""",
        f"""define internal ptr @ptxspec_host(ptr %record, ptr %base, i64 %index, i64 %unit, i64 %size, i64 %length, i64 %which,
    i64 %at) noinline {{
  %both = call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 %index, i64 %unit)
  %offset = extractvalue {{i64, i1}} %both, 0
  %over = extractvalue {{i64, i1}} %both, 1
  %room = sub i64 %length, %size
  %fits = icmp ule i64 %size, %length
  %before = icmp ule i64 %offset, %room
  %inside = and i1 %fits, %before
  %plain = xor i1 %over, true
  %fine = and i1 %inside, %plain
  br i1 %fine, label %good, label %bad
good:
  %place = getelementptr i8, ptr %base, i64 %offset
  ret ptr %place
bad:
  call void @ptxspec_note(ptr %record, i64 %index, i64 %size, i64 %length, i64 %which, i64 %at)
  %pad = getelementptr i64, ptr %record, i64 {PAD}
  ret ptr %pad
}}""",
        """define internal i64 @ptxspec_span(ptr %record, i64 %size) {
  %known = load i64, ptr %record
  %fine = icmp eq i64 %known, 0
  %none = select i1 %fine, i64 %size, i64 0
  ret i64 %none
}""",
    }
)
