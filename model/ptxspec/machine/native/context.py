"""What the host and the compiled code share: fields of the context, and how wide a register's place is."""

from __future__ import annotations

from ptxspec.terms.types import Type

#: the host's arrays
ARRAYS = (
    "registers", "special", "lists", "counts", "scratch", "arena", "shadow", "const", "param", "shared", "local", "alive",
    "number", "named", "value", "waits_at", "resume", "learned_named", "learned_value", "stack", "request", "answer", "banks",
    "gone",
)  # fmt: skip
#: fields of the context, eight bytes each: pointers and numbers that the code reads, then those that it writes, then how many
#: bytes each array has
CONTEXT = (
    "registers", "special", "lists", "counts", "scratch", "arena", "shadow", "buffer_base", "buffer_size",
    "module_base", "module_size", "buffer_start", "const", "const_size", "param", "param_size", "shared", "shared_size",
    "shared_stride", "local", "local_size", "local_stride", "alive", "threads", "number", "named", "value", "waits_at", "resume",
    "learned_named", "learned_value", "stack", "request", "answer", "banks", "gone", "cluster", "record",
    "fault_lane", "fault_op", "fault_address", "fault_why", "steps", "turns", "last", *(f"{name}_bytes" for name in ARRAYS),
)  # fmt: skip
#: the place of each
FIELD = {name: i for i, name in enumerate(CONTEXT)}

#: those that a block's function reads where it needs them
POINTERS = (
    "registers", "special", "lists", "counts", "arena", "shadow", "const", "param", "shared", "local", "alive", "number", "named",
    "value", "waits_at", "resume", "learned_named", "learned_value", "stack", "request", "answer", "banks", "gone", "record",
)  # fmt: skip
NUMBERS = (
    "buffer_base", "buffer_size", "module_base", "module_size", "buffer_start", "const_size", "param_size", "shared_size",
    "shared_stride", "local_size", "local_stride", "threads", "cluster", "steps",
    *(f"{name}_bytes" for name in ARRAYS),
)  # fmt: skip

#: why a run stopped, apart from 0: nothing can run. BROKEN: the engine's own data are wrong, as the record says
FAULT, RAN_OUT, BROKEN = 1, 2, 3
#: which check of an instruction failed: its own, the one for room on the stack, or the one for the variable that it names
OWN, ROOM, VARIABLE = 0, 1, 2


def bits_of(type: Type) -> int:
    """Bits of the array element that holds a register."""
    return max(8, type.width)


def field_text(name: str, type: str = "ptr") -> str:
    """Text that loads a field of the context into %name."""
    return f"  %{name}_at = getelementptr i64, ptr %context, i64 {FIELD[name]}\n  %{name} = load {type}, ptr %{name}_at"
