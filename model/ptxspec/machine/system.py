"""What threads ask of the system: they wait, and the host does what spec/functions/system.md says."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Kernel, Op
from ptxspec.machine.errors import Violation
from ptxspec.machine.heap import SystemCall
from ptxspec.machine.memory import LaunchMemory
from ptxspec.terms.registries import SYSTEM_FUNCTIONS, SystemFunction

#: bytes of a text that are read at once, if they lie there
PIECE = 256


class SystemFault(Exception):
    """A function of the system that was called in vain: the thread, the rule that was broken, and the address."""

    def __init__(self, thread: int, error: Violation, address: int | None):
        super().__init__(str(error))
        self.thread, self.error, self.address = thread, error, address


def system_function(kernel: Kernel, op: Op) -> SystemFunction | None:
    """The function of the system that an instruction calls, if it does, and if it is declared as that function is."""
    call = op.call
    if call is None or call.function is None or call.function in kernel.functions:
        return None
    function = SYSTEM_FUNCTIONS.get(call.function)
    formals = (*call.signature.parameters, *call.signature.returns)
    if function is None:
        return None
    of_integers = not any(f.is_array or f.vector != 1 or f.type.is_float for f in formals)
    takes, gives = (tuple(f.size for f in group) for group in (call.signature.parameters, call.signature.returns))
    return function if contracts.system_functions.is_declared(function, takes, gives, of_integers) else None


class System:
    """The system of one launch. `show` gets the text that threads print."""

    def __init__(
        self,
        memory: LaunchMemory,
        threads: int,
        show: Callable[[str], object],
        watch: Callable[[], None] = lambda: None,
    ):
        """`watch` is called before each thread is served, and raises an exception when the launch is to end."""
        self.memory, self.threads, self.show_text, self.watch = memory, threads, show, watch

    def serve(
        self,
        function: SystemFunction,
        call: SystemCall,
        threads: np.ndarray,
        requests: np.ndarray,
        answers: np.ndarray,
    ) -> None:
        """Do what `threads` ask, one after the other: both arrays have a row a word, and a column a thread. Raises
        SystemFault."""
        for thread in threads.tolist():
            self.watch()
            asking = _SystemThread(self, call, thread)
            words = requests[: len(function.takes), thread].tolist()
            values = [word & (1 << 8 * size) - 1 for word, size in zip(words, function.takes, strict=True)]
            try:
                result = function.act(asking, *values)
            except Violation as violation:
                raise SystemFault(thread, violation, asking.address) from None
            if function.gives:
                answers[0, thread] = struct.unpack("<q", ((result or 0) & (1 << 64) - 1).to_bytes(8, "little"))[0]


class _SystemThread:
    """What a function of the system may do for a thread: see terms.registries.SystemThread."""

    def __init__(self, system: System, call: SystemCall, number: int):
        self.system, self.call, self.number = system, call, number
        self.address: int | None = None

    def load(self, address: int, size: int) -> bytes:
        self.address = address
        slot = self.number // self.system.threads
        array, at = self.system.memory.access("generic", address, size, False, slot, self.number)
        self.address = None
        return array[at : at + size].tobytes()

    def text(self, address: int, most: int | None = None, size: int = 1) -> bytes:
        longest = contracts.system_functions.LONGEST_TEXT
        characters = bytearray()
        while most is None or len(characters) < most * size:
            piece = self._piece(address + len(characters), size)
            zero = next((at for at in range(0, len(piece), size) if not any(piece[at : at + size])), None)
            characters += piece[:zero]
            if len(characters) > longest * size:
                self.stop("text", f"there are more than {longest:,} characters from {address:#x} on")
            if zero is not None:
                break
        return bytes(characters if most is None else characters[: most * size])

    def _piece(self, address: int, size: int) -> bytes:
        """Some characters from an address on: as many as may be read at once, one at least."""
        self.system.watch()
        together = max(size, min(PIECE, address & -address))
        while together > size:
            try:
                return self.load(address, together)
            except Violation:
                together //= 2
        return self.load(address, size)

    def show(self, text: bytes) -> None:
        self.system.show_text(text.decode(errors="replace"))

    def allocate(self, size: int) -> int:
        memory = self.system.memory
        assert memory.heap is not None
        address = memory.heap.allocate(size, self.call, self.number)
        if address:
            at = address - memory.heap.base
            memory.heap_states[at : at + size] = contracts.functions.ALIVE
            memory.heap.data[at : at + size] = 0
            if memory.shadowed:
                memory.heap.shadow[at : at + size] = 0
        return address

    def release(self, address: int) -> bool:
        memory = self.system.memory
        assert memory.heap is not None
        size, at = memory.heap.release(address), address - memory.heap.base
        if size is None:
            return False
        if memory.in_flight is not None and size:
            memory.in_flight.check(memory.heap.data, at, size, True)
        memory.heap_states[at : at + size] = contracts.functions.GONE
        return True

    def stop(self, rule: str, note: str) -> NoReturn:
        raise Violation(rule, note)
