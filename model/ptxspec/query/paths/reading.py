"""A text with control flow, memory or lanes as a `Fragment`: what the prover compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ptxspec import contracts
from ptxspec.query.fragments import Fragment, Unsupported
from ptxspec.query.paths.arrivals import Arrival
from ptxspec.query.paths.options import Options
from ptxspec.query.paths.sides import side
from ptxspec.query.paths.walking import Walk
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import TRUE, variables_in


def read_paths(text: str, path: str, types: Mapping[str, Type] | None, options: Options) -> Fragment:
    """Execute one side symbolically. Raises PtxError for a text that is wrong, Unsupported for what is not followed."""
    walk = Walk(side(text, path, types or {}, options), options)
    return fragment_of(text, walk, walk.run())


def fragment_of(text: str, walk: Walk, end: Arrival) -> Fragment:
    """What a walk has found, as the prover takes it."""
    outputs: dict[str, Any] = {}
    left = dict(walk.left)
    if walk.side.what == "fragment":
        for lane, registers in enumerate(end.registers):
            for name, value in registers.items():
                shown = walk.public(name, lane)
                if walk.lanes > 1 and name in walk.places.buffers and shown in walk.left:
                    said = f"lanes write {name}, which points to a buffer: {shown} would be a byte and a lane's"
                    raise Unsupported(said)
                if shown in walk.left and "@" not in shown:
                    outputs[shown] = value
    elif walk.side.what == "function":
        for name, (value, type) in walk.calling.results(end).items():
            outputs[name], left[name] = value, type
            walk.registers[name] = type.bits if type.kind != "pred" else type
    written: list[str] = []
    for region in () if walk.orders.interfered else walk.places.compared.values():
        for i in sorted(region.written):
            name = f"{region.name}[{i}]"
            written.append(name)
            outputs[name], left[name] = region.piece(i).byte, TYPES["b8"]
    if walk.orders.interfered:  # instead of what is left in memory, for whichever thread sees it
        for name, (value, type) in walk.orders.results().items():
            outputs[name], left[name] = value, type
            walk.registers[name] = type
    left = {name: type for name, type in left.items() if name in outputs}
    registers = {**walk.registers, **walk.memory.inputs, **walk.memory.bases}
    registers |= {name: TYPES["b8"] for name in outputs if name not in registers}
    inductive = walk.inductive
    obligations = () if inductive is None else tuple(inductive.obligations)
    used = _used(walk, outputs, [o.fails for o in obligations])
    given = walk.memory.guaranteed(used)
    if inductive is not None:
        registers |= inductive.types
    inputs = [name for name in (*walk.inputs, *walk.memory.inputs) if name in used or name in walk.inputs]
    inputs += [name for name in walk.memory.bases if name in used]
    inputs += [] if inductive is None else list(inductive.types)
    idle = tuple(name for name in walk.unwritten if name not in walk.read_first)
    carried = frozenset(name for name, only in walk.inputs.items() if only)
    return Fragment(
        text=text,
        registers=registers,
        inputs=tuple(name for name in dict.fromkeys(inputs) if name not in idle),
        carried=carried,
        outputs=outputs,
        steps=tuple(walk.steps),
        formats={},
        taken=walk.taken,
        left=left,
        faults=walk.faults,
        beyond=tuple(walk.beyond),
        given=given,
        notes=tuple(walk.notes),
        bytes=frozenset(written),
        memory=_memory(walk),
        obligations=obligations,
        stepped=TRUE if inductive is None else inductive.assumed & end.reached[0],
        steps_over=walk.loop is not None,
        side=walk.side,
        unwritten=walk.unwritten,
        scratch=walk.side.scratch,
        idle=idle,
        orders=tuple(walk.orders.met.values()),
        named=walk.side.kernel.registers if walk.side.what == "fragment" else {},
    )


def _memory(walk: Walk) -> frozenset[str]:
    """The buffers and the variables of the module that both sides see."""
    found = {b.name for b in walk.options.buffers if not b.of}
    variables = {p.name for p in walk.side.checked.places.values() if p.space == contracts.state_spaces.OF_BUFFERS}
    return frozenset(found | variables)


def _used(walk: Walk, outputs: Mapping[str, Any], more: Iterable[Any]) -> set[str]:
    """The variables on which what is compared, or shown of a step, depends."""
    terms = [*outputs.values(), *more, walk.faults, *(b.holds for b in walk.beyond)]
    for step in walk.steps:
        terms += [*step.writes.values(), *(t for t in (step.holds, step.reached) if t is not None)]
    return variables_in(terms)
