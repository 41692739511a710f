"""An entry, ready to run: with the functions that it may call, the rules of products, and one effect an instruction."""

from __future__ import annotations

from ptxspec.language.checked import Checked, Kernel
from ptxspec.machine.call_graph import joined
from ptxspec.machine.product_registers import with_product_rules
from ptxspec.machine.several_effects import split_effects


def linked(checked: Checked, name: str) -> Kernel:
    """The entry `name`. Without calls, products, and instructions with several effects, it is the kernel as it was checked."""
    return split_effects(with_product_rules(joined(checked, name)))
