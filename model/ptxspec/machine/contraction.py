"""A kernel in which products and sums are contracted, as spec/arithmetic/contraction.md has it where a launch asks for all.

A sum that takes a product is given the factors instead: the product leaves them in registers that no identifier names, since
those that it read may be written between the two. The product itself stays.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Read, Written
from ptxspec.machine.flow import (
    Flow,
    ending,
    leaders,
    registers_read,
    registers_written,
    returned_into,
    sources,
    successors,
)
from ptxspec.terms.core import Int, variable
from ptxspec.terms.definitions import Definition, Input, Result
from ptxspec.terms.effects import Return
from ptxspec.terms.types import Type

#: the pairs that may be contracted, by their definitions
_Pairs = dict[tuple[Definition, Definition], Any]


class _Taken(NamedTuple):
    """That a sum takes a product: where the product stands, which of the sum's operands it is, and the pair they are."""

    product: int
    place: int
    pair: Any


def contracted(kernel: Kernel) -> Kernel:
    """The kernel with every pair contracted that the page says; itself, if there is none."""
    taken = _all_taken(kernel)
    if not taken:
        return kernel
    found = copy.copy(kernel)
    found.code, found.registers = list(kernel.code), dict(kernel.registers)
    for at in sorted({t.product for t in taken.values()}):
        found.code[at] = _leaving_factors(kernel.code[at], at, found.registers)
    for at, own in taken.items():
        found.code[at] = _taking(kernel.code[at], own, found.code[own.product])
    return found


def _all_taken(kernel: Kernel) -> dict[int, _Taken]:
    """The sums that take a product, by where they stand."""
    pairs: _Pairs = {(p.product, p.addition): p for p in contracts.contraction().PAIRS}
    products = {product for product, _ in pairs}
    code = kernel.code
    if not any(op.plan.form.definition in products for op in code):
        return {}
    flow = Flow(kernel)
    offered: dict[int, dict[int, _Taken]] = {}
    for start, end, left in _basic_blocks(kernel, flow):
        for at in range(start, end):
            if code[at].plan.form.definition in products and code[at].guard is None:
                for reader, own in _readers(kernel, at, end, left, pairs):
                    offered.setdefault(reader, {})[own.place] = own
    return _agreed(offered)


def _agreed(offered: dict[int, dict[int, _Taken]]) -> dict[int, _Taken]:
    """Of the products that sums may take, by the sums and their operands, those that all their readers take."""
    readers: dict[int, set[int]] = {}
    for at, places in offered.items():
        for own in places.values():
            readers.setdefault(own.product, set()).add(at)
    while True:
        found = {}
        for at, places in offered.items():
            counts = [len(readers[places[k].product]) if k in places else 0 for k in range(2)]
            which = contracts.contraction().taken(*counts)
            if which is not None:
                found[at] = places[which]
        taking = {(own.product, at) for at, own in found.items()}
        refused = {product for product, own in readers.items() if any((product, at) not in taking for at in own)}
        if not any(own.product in refused for own in found.values()):
            return found
        offered = {
            at: {k: own for k, own in places.items() if own.product not in refused} for at, places in offered.items()
        }


def _basic_blocks(kernel: Kernel, flow: Flow) -> Iterator[tuple[int, int, set[str]]]:
    """Each basic block: its first instruction, the one behind its last, and the registers that may be read after it. Those that
    the engines cut because they are long are one here."""
    live = flow.live_in()
    bounds = leaders(kernel)
    after = {b.end: set().union(*(live[s] for s in successors(b))) for b in flow.blocks if b.finishes is None}
    for start, end in zip(bounds, [*bounds[1:], len(kernel.code)], strict=True):
        left = after.get(end, set())
        if kernel.functions and isinstance(ending(kernel.code[end - 1]), Return):
            left = left | flow.left_behind(end - 1)
        yield start, end, left


def _readers(kernel: Kernel, at: int, end: int, left: set[str], pairs: _Pairs) -> list[tuple[int, _Taken]]:
    """The sums that may take the product at `at`, in the basic block that ends at `end`; none if anything else reads it."""
    page, product = contracts.contraction(), kernel.code[at]
    registers = registers_written(product)
    if len(registers) != 1:
        return []
    (register,) = registers
    found: list[tuple[int, _Taken]] = []
    for i in range(at + 1, end):
        op = kernel.code[i]
        if register in registers_read(op, kernel):
            pair = pairs.get((product.plan.form.definition, op.plan.form.definition))
            places = [k for k, (_, operand) in enumerate(sources(op)) if operand == tree.Name(register)]
            again = op.guard is not None and register in registers_written(op)
            if pair is None or len(places) != 1 or again or register == (op.guard or ("",))[0]:
                return []
            if not page.may_contract(product.plan.form.modifiers, op.plan.form.modifiers):
                return []
            found.append((i, _Taken(at, places[0], pair)))
        written = registers_written(op) + (returned_into(op) if op.call is not None else [])
        if register in written and op.guard is None and not op.plan.meaning.lands:
            return found
    return [] if register in left else found


def _leaving_factors(op: Op, at: int, registers: dict[str, Type]) -> Op:
    """A product that leaves its factors in registers of ours too."""
    meaning, parts, operands = op.plan.meaning, list(op.plan.parts), list(op.operands)
    results = list(meaning.results)
    for k, own in enumerate(meaning.inputs):
        assert own.type is not None
        name, (value,) = f"@{at}.{k}", own.variables
        registers[name] = own.type.bits
        parts.append(Written(len(results)))
        operands.append(tree.Name(name))
        results.append(Result(own.type.bits, (value,)))
    plan = op.plan._replace(meaning=meaning._replace(results=tuple(results)), parts=tuple(parts))
    return op._replace(plan=plan, operands=tuple(operands))


def _taking(op: Op, own: _Taken, product: Op) -> Op:
    """A sum that takes the factors of a product in place of one operand."""
    page, (result,) = contracts.contraction(), op.plan.meaning.results
    _, *names = registers_written(product)
    other, operand = list(sources(op))[1 - own.place]
    inputs = [Input(n, result.type.bits, (variable(n, result.type.width),)) for n in names]
    values: list[Int] = [i.variables[0] for i in (*inputs, other)]
    sum = page.contracted(own.pair, own.place, op.plan.form.modifiers, *values)
    meaning = op.plan.meaning._replace(inputs=(*inputs, other), results=(Result(result.type, (sum,)),))
    written = [(p, o) for p, o in zip(op.plan.parts, op.operands, strict=True) if isinstance(p, Written)]
    read: list[tuple[Any, Any]] = [(Read(n), tree.Name(n)) for n in names]
    parts, operands = zip(*written, *read, (Read(other.name), operand), strict=True)
    return op._replace(plan=op.plan._replace(meaning=meaning, parts=tuple(parts)), operands=tuple(operands))
