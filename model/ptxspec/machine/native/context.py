"""What the host and the compiled code share: fields of the context, and how wide a register's place is."""

from __future__ import annotations

from ptxspec.machine import hosts
from ptxspec.machine.driver import inventory, protocol
from ptxspec.machine.outstanding import UNITS
from ptxspec.machine.program import MOST_SHOWN
from ptxspec.machine.special import FACTS
from ptxspec.terms.types import Type

#: the host's arrays
ARRAYS = (*hosts.OF_INSTRUCTIONS, *inventory.columns(), *UNITS)
#: numbers that only instructions read
OWN_NUMBERS = (
    "buffer_base", "buffer_size", "module_base", "module_size", "buffer_start",
    *(f"{array}_size" for array in hosts.SPACES.values()), *(f"{array}_stride" for array in hosts.PARTS.values()),
)  # fmt: skip
#: fields of the context, eight bytes each: pointers and numbers, then how many bytes each array has
CONTEXT = (
    *ARRAYS, *OWN_NUMBERS, *protocol.NUMBERS, *FACTS, "record", "threads_run_at", "begin_at", "known",
    "failed_thread", "failed_op", "failed_address", "failed_why", *(f"failed_value{i}" for i in range(MOST_SHOWN)),
    *(f"{name}_bytes" for name in ARRAYS),
)  # fmt: skip
#: the place of each
FIELD = {name: i for i, name in enumerate(CONTEXT)}

#: those that the kernel's code reads where it needs them
TOUCHED = (
    *hosts.OF_INSTRUCTIONS, "lists", "counts", "scratch", "gone", "number", "named", "value", "waits_at", "learned_named",
    "learned_value", "words", "learned_words", "filling", "reading",
)  # fmt: skip
POINTERS = (*TOUCHED, "record")
NUMBERS = (*OWN_NUMBERS, "threads", "cluster", "turn_length", *(f"{name}_bytes" for name in TOUCHED))

#: which check of an instruction failed: its own, the one for room on the stack, or the one for the variable that it names; of a
#: copy, that of what it reads (and 256 times as many bytes as it reads), of the variable there, or of how many bytes it reads;
#: of an access, what must hold before
OWN, ROOM, VARIABLE, SOURCE, SOURCE_VARIABLE, READ, DEMAND = range(7)


def bits_of(type: Type) -> int:
    """Bits of the array element that holds a register."""
    return max(8, type.width)


def llvm_type(type: Type) -> str:
    """The LLVM type of a register's value."""
    return f"i{type.width}"


def field_at(name: str) -> str:
    """Text that finds a field of the context: %name_at."""
    return f"  %{name}_at = getelementptr i64, ptr %context, i64 {FIELD[name]}"


def field_text(name: str, changes: bool = False) -> str:
    """Text that loads a field of the context into %name. Unless it `changes`, it is the same for as long as the code runs."""
    type = "ptr" if name in ARRAYS or name == "record" else "i64"
    return f"{field_at(name)}\n  %{name} = load {type}, ptr %{name}_at" + ("" if changes else ", !invariant.load !9")
