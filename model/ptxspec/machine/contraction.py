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
    FlowGraph,
    ending,
    leaders,
    registers_read,
    registers_written,
    result_registers,
    sources,
    successors,
)
from ptxspec.terms.core import Int, variable
from ptxspec.terms.definitions import Definition, Input, Result
from ptxspec.terms.effects import Return
from ptxspec.terms.types import Type

#: the pairs that may be contracted, by their definitions
_Pairs = dict[tuple[Definition, Definition], Any]


class _Contraction(NamedTuple):
    """That a sum takes a product: where the product stands, which of the sum's operands it is, and the pair they are."""

    product: int
    place: int
    pair: Any


def contracted(kernel: Kernel) -> Kernel:
    """The kernel with every pair contracted that the page says; itself, if there is none."""
    taken = {at: [contraction] for at, contraction in _agreed(_offered(kernel, plain=True)).items()}
    return _with_products_taken(kernel, taken, perhaps=False)


def perhaps_contracted(kernel: Kernel) -> Kernel:
    """The kernel in which each sum takes one of the products that it may take, or none, as a result that PTX leaves open."""
    offered = _offered(kernel, plain=False)
    taken = {at: [contraction for _, contraction in sorted(places.items())] for at, places in offered.items()}
    return _with_products_taken(kernel, taken, perhaps=True)


def _with_products_taken(kernel: Kernel, taken: dict[int, list[_Contraction]], perhaps: bool) -> Kernel:
    """The kernel in which sums take products, by where the sums are."""
    if not taken:
        return kernel
    result = copy.copy(kernel)
    result.code, result.registers = list(kernel.code), dict(kernel.registers)
    for at in sorted({contraction.product for contractions in taken.values() for contraction in contractions}):
        result.code[at] = _leaving_factors(kernel.code[at], at, result.registers)
    for at, contractions in taken.items():
        products = [result.code[contraction.product] for contraction in contractions]
        if perhaps:
            result.code[at] = _perhaps_taking(result.code[at], contractions, products)
        else:
            result.code[at] = _taking(kernel.code[at], contractions[0], products[0])
    return result


def _offered(kernel: Kernel, plain: bool) -> dict[int, dict[int, _Contraction]]:
    """The products that sums may take, by where the sums are and by their operands; only those that nothing but sums reads, if
    only `plain` ones count."""
    pairs: _Pairs = {(p.product, p.addition): p for p in contracts.contraction.PAIRS}
    products = {product for product, _ in pairs}
    code = kernel.code
    if not any(op.plan.form.definition in products for op in code):
        return {}
    flow = FlowGraph(kernel)
    offered: dict[int, dict[int, _Contraction]] = {}
    for start, end, left in _basic_blocks(kernel, flow):
        for at in range(start, end):
            if code[at].plan.form.definition in products and code[at].guard is None:
                for reader, contraction in _readers(kernel, at, end, left, pairs, plain):
                    offered.setdefault(reader, {})[contraction.place] = contraction
    return offered


def _agreed(offered: dict[int, dict[int, _Contraction]]) -> dict[int, _Contraction]:
    """Of the products that sums may take, by the sums and their operands, those that all their readers take."""
    readers: dict[int, set[int]] = {}
    for at, places in offered.items():
        for contraction in places.values():
            readers.setdefault(contraction.product, set()).add(at)
    while True:
        agreed = {}
        for at, places in offered.items():
            counts = [len(readers[places[k].product]) if k in places else 0 for k in range(2)]
            which = contracts.contraction.taken(*counts)
            if which is not None:
                agreed[at] = places[which]
        taking = {(contraction.product, at) for at, contraction in agreed.items()}
        refused = {product for product, sums in readers.items() if any((product, at) not in taking for at in sums)}
        if not any(contraction.product in refused for contraction in agreed.values()):
            return agreed
        offered = {
            at: {k: contraction for k, contraction in places.items() if contraction.product not in refused}
            for at, places in offered.items()
        }


def _basic_blocks(kernel: Kernel, flow: FlowGraph) -> Iterator[tuple[int, int, set[str]]]:
    """Each basic block: its first instruction, the one behind its last, and the registers that may be read after it. Those that
    the engines cut because they are long are one here."""
    live = flow.live_in
    bounds = leaders(kernel)
    after = {b.end: set().union(*(live[s] for s in successors(b))) for b in flow.blocks if b.finishes is None}
    for start, end in zip(bounds, [*bounds[1:], len(kernel.code)], strict=True):
        left = after.get(end, set())
        if kernel.functions and isinstance(ending(kernel.code[end - 1]), Return):
            left = left | flow.left_behind(end - 1)
        yield start, end, left


def _readers(
    kernel: Kernel, at: int, end: int, left: set[str], pairs: _Pairs, plain: bool
) -> list[tuple[int, _Contraction]]:
    """The sums that may take the product at `at`, in the basic block that ends at `end`; of a `plain` one none, if anything else
    reads it."""
    page, product = contracts.contraction, kernel.code[at]
    registers = registers_written(product)
    if len(registers) != 1:
        return []
    (register,) = registers
    candidates: list[tuple[int, _Contraction]] = []
    for i in range(at + 1, end):
        op = kernel.code[i]
        if register in registers_read(op, kernel):
            pair = pairs.get((product.plan.form.definition, op.plan.form.definition))
            places = [k for k, (_, operand) in enumerate(sources(op)) if operand == tree.Name(register)]
            again = op.guard is not None and register in registers_written(op)
            fits = pair is not None and len(places) == 1 and register != (op.guard or ("",))[0]
            if fits and not again and page.may_contract(product.plan.form.modifiers, op.plan.form.modifiers):
                candidates.append((i, _Contraction(at, places[0], pair)))
            elif plain:
                return []
        written = registers_written(op) + (result_registers(op) if op.call is not None else [])
        if register in written and op.guard is None and not op.plan.meaning.lands:
            return candidates
    return [] if plain and register in left else candidates


def _leaving_factors(op: Op, at: int, registers: dict[str, Type]) -> Op:
    """A product that leaves its factors in registers of ours too."""
    meaning, parts, operands = op.plan.meaning, list(op.plan.parts), list(op.operands)
    results = list(meaning.results)
    for k, factor in enumerate(meaning.inputs):
        assert factor.type is not None
        name, (value,) = f"@{at}.{k}", factor.variables
        registers[name] = factor.type.bits
        parts.append(Written(len(results)))
        operands.append(tree.Name(name))
        results.append(Result(factor.type.bits, (value,)))
    plan = op.plan._replace(meaning=meaning._replace(results=tuple(results)), parts=tuple(parts))
    return op._replace(plan=plan, operands=tuple(operands))


def _taking(op: Op, contraction: _Contraction, product: Op) -> Op:
    """A sum that takes the factors of a product in place of one operand."""
    (result,) = op.plan.meaning.results
    other, operand = list(sources(op))[1 - contraction.place]
    inputs, names = _factors(product, result.type)
    sum = _fused(op, contraction, inputs, other)
    written = [(p, o) for p, o in zip(op.plan.parts, op.operands, strict=True) if isinstance(p, Written)]
    read: list[tuple[Any, Any]] = [(Read(n), tree.Name(n)) for n in names]
    return _changed(op, (*inputs, other), sum, [*written, *read, (Read(other.name), operand)])


def _perhaps_taking(op: Op, contractions: list[_Contraction], products: list[Op]) -> Op:
    """A sum that takes the factors of one of its products, or is as it is written."""
    (result,) = op.plan.meaning.results
    addends = [i for i, _ in sources(op)]
    inputs, parts, fused = list(op.plan.meaning.inputs), list(zip(op.plan.parts, op.operands, strict=True)), []
    for contraction, product in zip(contractions, products, strict=True):
        more, names = _factors(product, result.type)
        fused.append(_fused(op, contraction, more, addends[1 - contraction.place]))
        inputs += more
        parts += [(Read(n), tree.Name(n)) for n in names]
    (separate,) = result.values
    operands = [i.variables[0] for i in inputs]
    sum = contracts.contraction.as_the_assembler_likes(result.type, separate, fused, *operands)
    return _changed(op, tuple(inputs), sum, parts)


def _factors(product: Op, type: Any) -> tuple[list[Input], list[str]]:
    """The inputs that stand for the factors of a product, and the registers in which it leaves them."""
    names = [n for n in registers_written(product) if n.startswith("@")]
    return [Input(n, type.bits, (variable(n, type.width),)) for n in names], names


def _fused(op: Op, contraction: _Contraction, factors: list[Input], other: Input) -> Int:
    """The sum of a product and the other operand, rounded once."""
    values: list[Int] = [i.variables[0] for i in (*factors, other)]
    return contracts.contraction.contracted(contraction.pair, contraction.place, op.plan.form.modifiers, *values)


def _changed(op: Op, inputs: tuple[Input, ...], sum: Int, operands: list[tuple[Any, Any]]) -> Op:
    """An instruction of other inputs and another result, with these parts and operands."""
    (result,) = op.plan.meaning.results
    meaning = op.plan.meaning._replace(inputs=inputs, results=(Result(result.type, (sum,)),))
    parts, standing = zip(*operands, strict=True)
    return op._replace(plan=op.plan._replace(meaning=meaning, parts=tuple(parts)), operands=tuple(standing))
