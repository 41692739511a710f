"""As numbers of which size a kernel accesses what its parameters point to, as far as its text tells.

A parameter of an entry is a number without a type of elements. What is known are the accesses through registers that are
computed from it. Where all of them are of floating-point types, an array with floating-point numbers of another size is not what
the kernel takes. Nothing is said of a parameter that is stored, passed to a function, mixed with another one, or accessed
otherwise as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op
from ptxspec.machine.flow import registers_read, registers_written, sources
from ptxspec.terms.effects import Access, Fencing, Load


def floating_accesses(kernel: Kernel) -> dict[str, dict[int, Op]]:
    """By the names of parameters that are accessed as floating-point numbers alone: the sizes of these in bits, with an access
    of each."""
    names = {place.name for place in kernel.parameters}
    comes_from = _origins(kernel, names)
    accesses: dict[str, dict[int, Op]] = defaultdict(dict)
    unknown: set[str] = set()
    for op in kernel.code:
        effect = op.plan.meaning.effect
        if isinstance(effect, Fencing | None) or _loaded_parameter(op, names):
            continue
        at = _origins_of(op.call.arguments if op.call is not None else (), comes_from)
        for _, operand in sources(op):
            base = operand.base if isinstance(operand, tree.Address) else None
            origin = _origins_of([base or operand], comes_from)
            type = effect.type if isinstance(effect, Access) and base is not None else None
            if type is not None and type.is_float and type.elements == 1 and len(origin) == 1:
                accesses[next(iter(origin))].setdefault(type.width, op)
            else:
                at |= origin
        unknown |= at
    return {name: sizes for name, sizes in accesses.items() if name not in unknown}


def _loaded_parameter(op: Op, names: set[str]) -> str | None:
    """The parameter that an instruction loads, by its name."""
    if not isinstance(op.plan.meaning.effect, Load):
        return None
    bases = [o.base for _, o in sources(op) if isinstance(o, tree.Address) and not o.offset]
    return next((b.text for b in bases if isinstance(b, tree.Name) and b.text in names), None)


def _origins(kernel: Kernel, names: set[str]) -> dict[str, set[str]]:
    """By register, the parameters that its value may be computed from, memory left aside."""
    origins: dict[str, set[str]] = defaultdict(set)
    changed = True
    while changed:
        changed = False
        for op in kernel.code:
            parameter = _loaded_parameter(op, names)
            if parameter is not None:
                origin = {parameter}
            elif isinstance(op.plan.meaning.effect, Fencing | None):
                origin = set().union(*(origins[name] for name in registers_read(op, kernel)))
            else:
                continue
            for name in registers_written(op):
                if not origin <= origins[name]:
                    origins[name] |= origin
                    changed = True
    return origins


def _origins_of(operands: Iterable[object], comes_from: dict[str, set[str]]) -> set[str]:
    """The parameters that the values of registers among the operands may be computed from."""
    origins: set[str] = set()
    for operand in operands:
        if isinstance(operand, tree.Braces | tree.Parens):
            origins |= _origins_of(operand.elements, comes_from)
        elif isinstance(operand, tree.Name):
            origins |= comes_from.get(operand.text, set())
    return origins
