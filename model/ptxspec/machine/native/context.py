"""What the host and the compiled code share: fields of the context, and how wide a register's place is."""

from __future__ import annotations

from ptxspec.machine import hosts
from ptxspec.machine.driver import inventory, protocol
from ptxspec.machine.operations import ARRAYS as OF_OPERATIONS
from ptxspec.machine.operations import NUMBERS as NUMBERS_OF_OPERATIONS
from ptxspec.machine.program import MOST_SHOWN
from ptxspec.machine.special import FACTS
from ptxspec.terms.types import Type

#: the host's arrays, first those that all kernels have
_OF_ALL = (*hosts.OF_INSTRUCTIONS, *inventory.columns(), *OF_OPERATIONS)
ARRAYS = (*_OF_ALL, hosts.REGISTERS)
#: numbers that only instructions read
OWN_NUMBERS = (
    "heap_base", "heap_size", "saved_mark",
    *(f"{array}_size" for array in hosts.SPACES.values()), *(f"{array}_stride" for array in hosts.PARTS.values()),
)  # fmt: skip
#: those of the rows of registers that may be in flight
_OF_ROWS = tuple(f"{hosts.REGISTERS}_{what}" for what in ("size", "stride", "bytes"))
#: fields of the context, eight bytes each: pointers and numbers, then how many bytes each array has; and last what few kernels
#: have, so that the code of others does not depend on it
CONTEXT = (
    *_OF_ALL, *OWN_NUMBERS, *protocol.NUMBERS, *NUMBERS_OF_OPERATIONS, *FACTS, "record", "next_cta", "threads_run_at", "begin_at",
    "end_batch_at", "land_objects_at", "known", "noted_events", "tell_at",
    "failed_thread", "failed_op", "failed_address", "failed_why", *(f"failed_value{i}" for i in range(MOST_SHOWN)),
    *(f"{name}_bytes" for name in _OF_ALL), hosts.REGISTERS, *_OF_ROWS,
)  # fmt: skip
#: the place of each
FIELD = {name: i for i, name in enumerate(CONTEXT)}

#: those that the kernel's code reads where it needs them
TOUCHED = (
    *hosts.OF_INSTRUCTIONS, "lists", "counts", "scratch", "gone", "number", "named", "value", "waits_at", "learned_named",
    "learned_value", "words", "learned_words", "in_use", "cta_states", "vain_at",
)  # fmt: skip
POINTERS = (*TOUCHED, "record", hosts.REGISTERS)
NUMBERS = (*OWN_NUMBERS, "threads", "cluster", "turn_length", *(f"{name}_bytes" for name in TOUCHED), *_OF_ROWS)

#: which check of an instruction failed: its own, the one for room on the stack, or the one for the variable that it names; of an
#: asynchronous operation, that of what it reads (and 256 times as many bytes as it reads), of the variable there, of how many
#: bytes it reads, of the room for one more, or of the object on which it completes; of an access, what must hold before (and 256
#: times the number of the condition); that of an operation that completes on an object; and that of what an asynchronous
#: operation writes (and 256 times as many bytes as it writes)
OWN, ROOM, VARIABLE, SOURCE, SOURCE_VARIABLE, READ, IN_FLIGHT, OBJECT, DEMAND, COMPLETES, TARGET = range(11)


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
    type = "ptr" if name in (*ARRAYS, "record", "next_cta") else "i64"
    return f"{field_at(name)}\n  %{name} = load {type}, ptr %{name}_at" + ("" if changes else ", !invariant.load !9")
