"""Products of warpgroups in litmus tests: a thread of a test stands for a warpgroup, and a product reads a variable in shared
memory and leaves what it has read in its registers.

By which proxy it reads, how it completes, and when its registers may be accessed, the pages say. What is left out is that several
threads take part, and the arithmetic.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

from ptxspec.language.checked import Checked, Kernel, Op, Written, parts_of
from ptxspec.machine.call_graph import joined
from ptxspec.machine.product_registers import with_product_rules
from ptxspec.machine.several_effects import split_effects
from ptxspec.query.litmus.threads import FACTOR_MARK, PRODUCT, Variable, marked
from ptxspec.terms.core import integer, variable
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Advance, Collective, Initiate
from ptxspec.terms.vocabulary import low_bits


def linked_column(
    checked: Checked, name: str, variables: Mapping[str, Variable], addresses: Mapping[str, int]
) -> Kernel:
    """The entry of a thread of a test, ready to be followed: with the rules of products, and one effect an instruction."""
    kernel = copy.copy(with_product_rules(joined(checked, name)))
    kernel.code = [_of_one_thread(op, checked.source.text, variables, addresses) for op in kernel.code]
    return split_effects(kernel)


def _of_one_thread(op: Op, text: str, variables: Mapping[str, Variable], addresses: Mapping[str, int]) -> Op:
    """What a thread does by an instruction of a warpgroup; another instruction as it is."""
    role, meaning = op.plan.form.definition.product, op.plan.meaning
    effects = (meaning.effect, *meaning.more)
    if role is None or not any(isinstance(effect, Collective) for effect in effects):
        return op
    if role.step is not None:
        advances = next((effect for effect in effects if isinstance(effect, Advance)), None)
        return op._replace(plan=op.plan._replace(meaning=meaning._replace(effect=advances, more=())))
    of = marked(text, op, FACTOR_MARK)
    reads = next(effect for effect in effects if isinstance(effect, Initiate))
    at, size, word = integer(addresses[of]), integer(variables[of].size), variable(PRODUCT, 32)
    reads = replace(reads, to=at, source=at, read=size, align=integer(1), when=None)
    results = tuple(r._replace(values=tuple(low_bits(word, r.type.width) for _ in r.values)) for r in meaning.results)
    written = [(part, operand) for part, operand in parts_of(op) if isinstance(part, Written)]
    parts, operands = zip(*written, strict=True)
    return op._replace(plan=op.plan._replace(meaning=Meaning((), results, reads), parts=parts), operands=operands)
