"""Which registers hold one value for all threads of a warp that are at one place: a word, and not a vector."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine.flow import Block, ending, registers_read, registers_written, successors, values_of
from ptxspec.machine.kernel_tables import barrier_of_all
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.registers import IN_ROWS
from ptxspec.machine.special import INDEX, meaning, variables_of
from ptxspec.terms.effects import Effect, Load, Pause, Stop, Wait
from ptxspec.terms.registries import changing


def constants(layout: Layout) -> frozenset[str]:
    """The registers that have one value for all threads of a CTA, from their only definition on: it is made of constants, of
    parameters, of what special registers say of the CTA, and of such registers."""
    writers = _writers(layout)
    known: set[str] = set()
    candidates = {name for name, ops in writers.items() if len(ops) == 1 and name not in layout.live[0]}
    while True:
        more = {
            name
            for name in candidates - known
            if (op := writers[name][0]).guard is None and _is_alike(layout, op, known)
        }
        if not more:
            return frozenset(known)
        known |= more


def uniform(layout: Layout) -> frozenset[str]:
    """The registers that have one value for all lanes of a warp that are at one block: each of their definitions is made of what
    all lanes have alike, and no way leads to it from where lanes may part. So the lanes that come to it have come together, each
    as often as the others."""
    if layout.program.flow.chosen:  # lanes have turns of their own
        return constants(layout)
    writers, blocks = _writers(layout), layout.program.flow.blocks
    known = writers.keys() - layout.live[0] - IN_ROWS
    block_of = {id(op): n for n, block in enumerate(blocks) for op in _ops(layout, block)}
    while True:
        parting = [block for block in blocks if _parts(layout, block, known)]
        parted = _reached({to for block in parting for to in successors(block)}, blocks)
        less = {
            name
            for name in known
            if not all(block_of[id(op)] not in parted and _is_alike(layout, op, known) for op in writers[name])
        }
        if not less:
            return frozenset(known)
        known -= less


def _writers(layout: Layout) -> dict[str, list[Op]]:
    """The instructions that write each register."""
    writers: dict[str, list[Op]] = {}
    for op in layout.program.kernel.code:
        for name in registers_written(op):
            writers.setdefault(name, []).append(op)
    return writers


def _ops(layout: Layout, block: Block) -> list[Op]:
    return layout.program.kernel.code[block.start : block.end]


def _is_alike(layout: Layout, op: Op, known: set[str]) -> bool:
    """Whether an instruction gives all lanes the same, if they have the same in these registers."""
    kernel, program, effect = layout.program.kernel, layout.program, op.plan.meaning.effect
    read = registers_read(op, kernel)
    if not read <= known:
        return False
    names = {o.text for _, _, o in values_of(op) if isinstance(o, tree.Name)} & layout.special_types.keys()
    if any(changing(n) is not None or INDEX in variables_of(meaning(n, program.clustered)) for n in names):
        return False
    if isinstance(effect, Load):
        return (op.space or effect.space) == contracts.state_spaces.OF_PARAMETERS and not read
    return effect is None


def _parts(layout: Layout, block: Block, known: set[str]) -> bool:
    """Whether lanes may part at the end of a block, or go on from it at different times."""
    if block.finishes is not None or block.end == block.start:
        return False
    op = layout.program.kernel.code[block.end - 1]
    effect: Effect | None = ending(op)
    if effect is None or isinstance(effect, Stop):
        return False
    if isinstance(effect, Pause):
        return op.guard is not None or not isinstance(effect, Wait) or barrier_of_all(layout.program, op) is None
    return not registers_read(op, layout.program.kernel) <= known


def _reached(blocks: set[int], graph: list[Block]) -> set[int]:
    """These blocks, and those to which a way leads from them."""
    reached, todo = set(blocks), list(blocks)
    while todo:
        for to in successors(graph[todo.pop()]):
            if to not in reached:
                reached.add(to)
                todo.append(to)
    return reached
