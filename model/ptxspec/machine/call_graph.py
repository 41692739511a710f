"""An entry together with the functions that it may call: one kernel, whose code is theirs one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import CallSite, Checked, Formal, Kernel, Op, Read
from ptxspec.language.diagnostics import Diagnostic
from ptxspec.language.gaps import diagnostics_of_gaps
from ptxspec.terms.effects import StackUse
from ptxspec.terms.types import TYPES

#: where a thread keeps the address of its frame in local memory, how much of its stack is in use, and the address of the function
#: that it returned from last: no identifiers
FRAME, DEPTH, RETURNED = "@frame", "@depth", "@returned"
#: where it keeps, if its stack moves, where the stack ended when this activation of a function began, and where it ends
BEGINS, ENDS = "@begins", "@ends"
#: all of these
KEPT = (FRAME, DEPTH, RETURNED, BEGINS, ENDS)


def joined(checked: Checked, name: str) -> Kernel:
    """The entry `name` and the functions that it reaches, as they were checked; without calls, the entry itself."""
    entry = checked.kernels[name]
    reached = _reached(checked, entry)
    grows = any(moves_stack(op) for kernel in (entry, *reached.values()) for op in kernel.code)
    moves = grows or any(takes_own_address(function, op) for function in reached.values() for op in function.code)
    if not reached and not moves and not any(op.call for op in entry.code):
        return entry
    whole = Kernel(name)
    whole.parameters, whole.parameter_types = entry.parameters, entry.parameter_types
    whole.performance = entry.performance
    whole.sizes = dict(entry.sizes)
    for space in contracts.state_spaces.once():
        whole.sizes[space] = max(kernel.sizes[space] for kernel in (entry, *reached.values()))
    whole.registers = dict.fromkeys(KEPT if moves else (FRAME, DEPTH, RETURNED), TYPES["u64"])
    whole.functions = {name: entry, **reached}
    for function in whole.functions.values():
        start = whole.starts[function.name] = len(whole.code)
        whole.code += function.code
        whole.labels.update({label: at + start for label, at in function.labels.items()})
        whole.registers.update(function.registers)
        whole.places.update(function.places)
    whole.sizes[contracts.state_spaces.OF_FRAMES] = _stack(whole, grows)
    return whole


def gaps_reached(checked: Checked, name: str) -> list[Diagnostic]:
    """What is said of the instructions without a page that an entry may come to, itself or in functions that it may call."""
    entry = checked.kernels[name]
    return diagnostics_of_gaps(checked, (entry, *_reached(checked, entry).values()))


def moves_stack(op: Op) -> bool:
    """Whether an instruction may change how much local memory its thread has: it reserves some, or gives it back, or passes as
    many bytes as it likes."""
    if isinstance(op.plan.meaning.effect, StackUse):
        return True
    return op.call is not None and any(f.is_open for f in op.call.signature.parameters)


def takes_own_address(function: Kernel, op: Op) -> bool:
    """Whether an instruction of a function may leave the address of one of its variables where it outlives the frame. What a call
    passes, and what is accessed by its name, leaves none."""
    if op.call is not None:
        return False
    for part, operand in zip(op.plan.parts, op.operands, strict=True):
        name = operand.base if isinstance(operand, tree.Sum | tree.Indexed) else operand
        if isinstance(part, Read) and isinstance(name, tree.Name):
            place = function.places.get(name.text)
            if place is not None and place.framed:
                return True
    return False


def stack_moves(kernel: Kernel) -> bool:
    """Whether pieces of a thread's local memory come and go."""
    return ENDS in kernel.registers


def entry_size(kernel: Kernel) -> int:
    """The bytes of the entry's frame."""
    return kernel.functions[kernel.name].frame_size


def passed_beyond(kernel: Kernel, call: CallSite) -> int:
    """How many bytes a call passes for a parameter that has no size of its own."""
    formals = call.signature.parameters
    if not formals or not formals[-1].is_open or len(call.arguments) < len(formals):
        return 0
    last = call.arguments[-1]
    assert isinstance(last, tree.Name)
    return kernel.places[last.text].size


def _reached(checked: Checked, entry: Kernel) -> dict[str, Kernel]:
    """The functions that an entry may call, those included whose address it, or a variable, holds."""
    taken = sorted({pointer.name for place in checked.places.values() for pointer in place.pointers})
    reached: dict[str, Kernel] = {}
    todo = [entry]
    for kernel in todo:
        names = [n for op in kernel.code for n in _mentioned(op)]
        if any(op.call is not None and op.call.function is None for op in kernel.code):
            names += taken
            taken = []  # once is enough
        for name in names:
            if name in checked.functions and name not in reached:
                reached[name] = checked.functions[name]
                todo.append(reached[name])
    return reached


def _mentioned(op: Op) -> Iterable[str]:
    if op.call is not None:
        yield from op.call.known or ()
    for part, operand in zip(op.plan.parts, op.operands, strict=True):
        if isinstance(part, Read) and isinstance(operand, tree.Name):
            yield operand.text


def calls(kernel: Kernel, op: Op) -> list[str]:
    """The functions, among those with a body, that a call may reach."""
    call = op.call
    if call is None:
        return []
    if call.known is not None:
        return [n for n in call.known if n in kernel.functions]
    return _alike(kernel).get(_shape(call.signature), [])


def _alike(kernel: Kernel) -> dict[Any, list[str]]:
    """The functions of a kernel by what they take and give."""
    by_shape = _ALIKE.get(kernel)
    if by_shape is None:
        by_shape = _ALIKE[kernel] = {}
        for name, function in kernel.functions.items():
            if function.signature is not None:
                by_shape.setdefault(_shape(function.signature), []).append(name)
    return by_shape


#: worked out once a kernel, when all its functions are known
_ALIKE: WeakKeyDictionary[Kernel, dict[Any, list[str]]] = WeakKeyDictionary()


def _shape(signature: Any) -> Any:
    return tuple(f.shape for f in signature.returns), tuple(f.shape for f in signature.parameters)


def call_results(kernel: Kernel, call: CallSite, name: str = "") -> tuple[Formal, ...]:
    """The results of a call as its function, if it is known and defined, has them; else as the call's prototype has. `name` is
    that of the function that an indirect call came back from."""
    function = kernel.functions.get(call.function or name)
    signature = call.signature if function is None else function.signature
    assert signature is not None
    return signature.returns


class StackSlot(NamedTuple):
    """Where a call puts a register by: so many bytes below the top of the thread's stack, in a word of so many bits."""

    name: str
    below: int
    bits: int


def slots(kernel: Kernel, registers: Iterable[str]) -> list[StackSlot]:
    """A place for each register that a call puts by, below the one for the way back. Which place is whose no program can see:
    this stack is no memory of the program's. How many bytes there are is for the page to say."""
    names = list(registers)
    below, result = way_back_bytes(), []
    for name in names:
        bits = max(64, kernel.registers[name].width)
        below += bits // 8
        result.append(StackSlot(name, below, bits))
    assert below <= kept_bytes(kernel, names)
    return result


def way_back_bytes() -> int:
    """Bytes of a thread's stack that a call takes for the way back."""
    return contracts.functions.kept(())


def kept_bytes(kernel: Kernel, registers: Iterable[str]) -> int:
    """Bytes of a thread's stack that a call takes for the way back, and for these registers."""
    return contracts.functions.kept(kernel.registers[name].bytes for name in registers)


def recursive(kernel: Kernel) -> set[str]:
    """The functions that may be active more than once at a time."""
    return contracts.functions.recursive(_leads(kernel))


def _leads(kernel: Kernel) -> dict[str, list[str]]:
    """Which functions each function may call."""
    return {n: list(dict.fromkeys(c for op in f.code for c in calls(kernel, op))) for n, f in kernel.functions.items()}


def _stack(kernel: Kernel, grows: bool) -> int:
    """Bytes of local memory of a thread, whose stack may have others than frames of a known size."""
    frames = {name: function.frame_size for name, function in kernel.functions.items()}
    return contracts.functions.local_size(frames, _leads(kernel), kernel.name, stack_moves(kernel), grows)
