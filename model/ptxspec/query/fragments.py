"""Straight-line fragments: instructions without declarations, whose registers take their types from the instructions."""

from __future__ import annotations

from typing import assert_never

from ptxspec.base.options import Contraction
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.building.modules import FragmentHeading
from ptxspec.language.checked import Kernel, Op, Plan
from ptxspec.language.diagnostics import Complaints, Source
from ptxspec.language.form_selection import find_form, without_form
from ptxspec.language.forms import page_name, registry
from ptxspec.language.module_context import features, target_number
from ptxspec.language.operand_kinds import Kind
from ptxspec.language.parser import ended, parse_fragment
from ptxspec.language.preamble import has_target, has_version
from ptxspec.language.specials import special_origin, special_registers
from ptxspec.query.execution import SymbolicExecution
from ptxspec.query.outcomes import ALONE, INSTEAD, SymbolicFragment, Unsupported, ordering_of, refused
from ptxspec.query.paths.arrivals import PathState
from ptxspec.query.register_types import misfit_error, types_of
from ptxspec.query.results import consumed
from ptxspec.terms import effects
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.editions import NEWEST, Epoch
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import TRUE

#: instructions that a fragment may have
MOST_INSTRUCTIONS = 30_000


def read_fragment(
    text: str,
    path: str = "<fragment>",
    types: dict[str, Type] | None = None,
    contract: Contraction = "none",
) -> SymbolicFragment:
    """Parse, type and evaluate a fragment symbolically: in a module of the version and the target that stand before it, or else
    the newest that has its instructions. `types` fixes the types of some names (the other side's, say), `contract` says which
    products and sums are contracted.
    Raises PtxError if the text has errors, and Unsupported for instructions that access memory or branch."""
    source = Source(ended(text), path)
    heading, items = parse_fragment(source)
    epoch = _epoch(heading, source)
    instructions = [item for item in items if isinstance(item, tree.Instruction)]
    if len(instructions) < len(items):
        raise Unsupported(f"a fragment is a sequence of instructions: no labels, blocks or declarations; {INSTEAD}")
    if len(items) > MOST_INSTRUCTIONS:
        raise Unsupported(f"a fragment has at most {MOST_INSTRUCTIONS:,} instructions, not {len(items):,}; {INSTEAD}")
    kernel = Kernel("a fragment")
    kernel.registers = types_of(instructions, source, types or {})
    kernel.code = [_op(item, source, kernel.registers, epoch) for item in instructions]
    run = SymbolicExecution(source, as_contracted(kernel, contract))
    way = PathState((TRUE,), ({},))
    for op in run.kernel.code:
        if op.guard is not None:  # operands are inputs before the guard is one
            run.sources(op, way, 0)
        run.execute(op, way)
    (values,) = way.registers
    orders = [ordering_of(op, source) for op in kernel.code if effects.orders_memory(op.plan.meaning.effect)]
    return SymbolicFragment(
        text,
        kernel.registers,
        tuple(run.inputs),
        frozenset(name for name, only in run.inputs.items() if only),
        {name: values[name] for step in run.steps for name in step.writes},
        tuple(run.steps),
        run.formats,
        run.taken,
        {name: type for name, type in run.left.items() if name in kernel.registers},
        notes=(ALONE,) if orders else (),
        epoch=epoch,
        scratch=consumed(kernel),
        orders=tuple(orders),
        named=kernel.registers,
    )


def as_contracted(kernel: Kernel, how: Contraction) -> Kernel:
    """A kernel with products and sums contracted."""
    if how == "none":
        return kernel
    from ptxspec.machine.contraction import contracted, perhaps_contracted

    return contracted(kernel) if how == "all" else perhaps_contracted(kernel)


def _op(item: tree.Instruction, source: Source, registers: dict[str, Type], epoch: Epoch | None) -> Op:
    """One instruction with its form."""
    opcode = registry().opcodes.get(item.mnemonic.split(".")[0])
    if opcode is None:
        raise misfit_error(without_form(None, item.mnemonic, epoch), item, source)
    try:
        shape = tuple(_kind(operand, registers, special_registers()) for operand in item.operands)
    except KeyError as unknown:  # a name that no form takes where it stands has no type
        why = f"no form of {item.mnemonic} takes {unknown.args[0]} where it stands"
        raise source.error(item.position, why, page_name(opcode.forms[0].definition.path)) from None
    plan = find_form(opcode, item.mnemonic, shape, epoch)
    if not isinstance(plan, Plan):
        raise misfit_error(plan, item, source)
    effect = plan.meaning.effect
    if not isinstance(effect, effects.Fencing | None):
        raise refused(item.mnemonic, effect)
    if plan.meaning.uses_carry:
        registers[CONDITION_CODE] = TYPES["pred"]
    return Op(plan, tuple(map(tree.bare, item.operands)), item.guard, item.position)


def _epoch(heading: FragmentHeading | None, source: Source) -> Epoch | None:
    """The version and the target that a fragment says; the newest of what it leaves out; None if it says neither."""
    if heading is None:
        return None
    epoch, complaints = NEWEST, Complaints(source)
    if heading.version is not None:
        if not has_version(complaints, heading.version_position or 0, heading.version):
            raise complaints.error()
        epoch = epoch._replace(version=heading.version)
    if heading.target is not None:
        if not has_target(complaints, heading.target_position or 0, heading.target, heading.version):
            raise complaints.error()
        epoch = epoch._replace(target=target_number(heading.target), features=features(heading.target))
    return epoch


def _kind(operand: tree.Operand, registers: dict[str, Type], specials: dict[str, Type]) -> Kind:
    """What kind an operand is of; an address is one of 64 bits. Raises KeyError for a name without a type."""
    match operand:
        case tree.Name("_"):
            return kinds.SINK
        case tree.Name(name):
            if name in registers:
                return registers[name]
            return kinds.SpecialKind(specials[name], special_origin(name).also)
        case tree.Number():
            return kinds.INTEGER
        case tree.Float():
            return kinds.RealKind(operand.width)
        case tree.Not():
            return kinds.NegatedKind(TYPES["pred"])
        case tree.Part():
            return kinds.PartKind(_kind(operand.name, registers, specials), operand.selector, operand.negated)
        case tree.Braces():
            return kinds.BracesKind(tuple(_kind(e, registers, specials) for e in operand.elements))
        case tree.Bracket():
            return kinds.BracketKind(tuple(_kind(e, registers, specials) for e in operand.elements))
        case tree.Pair():
            return kinds.PairKind(_kind(operand.first, registers, specials), _kind(operand.second, registers, specials))
        case tree.Parens():
            return kinds.LIST
        case tree.Sum() if operand.base.text in registers:
            return kinds.SumKind(registers[operand.base.text], int(operand.offset))
        case tree.Address() | tree.Element() | tree.Indexed() | tree.Sum():
            return kinds.MemoryKind(TYPES["b64"])
        case _:
            assert_never(operand)
