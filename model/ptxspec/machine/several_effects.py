"""Instructions with several effects, taken apart: one after the other become instructions with one effect each, and at last one
that computes the results. What the one leaves for the next lies in registers that no identifier names.

A thread that waits for its warp gives what the page says; the effects that follow are accesses, each at an address that is known
once the warp has met. What is stored, and the results, may depend on what was loaded and on the thread's own lane. A fence may
come last. Or they are checks of what the lanes gave, and all results are known before. What follows a step on an object in
memory is checks of what it read, a wait for something to hold of that, and operations that complete on the object.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Read, Written, parts_of
from ptxspec.machine.special import variables_of
from ptxspec.terms.core import Int, Term, integer, variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.effects import (
    NUMBER,
    Await,
    Branch,
    Check,
    Effect,
    Fence,
    Follow,
    Initiate,
    Load,
    Store,
    Update,
    terms_of,
)  # fmt: skip
from ptxspec.terms.kinds import Special
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, low_bits, number, substitute

#: what may follow an access, and depend on what that has loaded
AfterAccess = TypeVar("AfterAccess", bound=Check | Await | Follow | Initiate)
#: what a thread that met its warp knows of its lane
_LANE = variable("%own", 32)


def split_effects(kernel: Kernel) -> Kernel:
    """The kernel with instructions of one effect each; itself, if it has no others."""
    if not any(op.plan.meaning.more for op in kernel.code):
        return kernel
    result = copy.copy(kernel)
    result.code, result.registers = [], dict(kernel.registers)
    starts, added = list[int](), dict[str, int]()
    for index, op in enumerate(kernel.code):
        starts.append(len(result.code))
        if op.plan.meaning.more:
            parts = _InstructionParts(op, index, result.registers)
            added |= {name: len(result.code) + at for name, at in parts.labels.items()}
            result.code += parts.ops
        else:
            result.code.append(op)
    starts.append(len(result.code))
    result.labels = {name: starts[at] for name, at in kernel.labels.items()} | added
    result.starts = {name: starts[at] for name, at in kernel.starts.items()}
    return result


class _InstructionParts:
    """The parts of one instruction, which has this index. What they leave for one another is added to `registers`; `labels` are
    those of parts to which threads come back. No identifier names either."""

    def __init__(self, op: Op, index: int, registers: dict[str, Type]):
        self.op, self.index, self.registers = op, index, registers
        self.meaning = op.plan.meaning
        self.kept: dict[str, Type] = {}
        self.labels: dict[str, int] = {}
        first, *others = (self.meaning.effect, *self.meaning.more)
        assert first is not None
        if isinstance(first, Initiate):
            self.ops = [self._op(effect, self.meaning.inputs, ()) for effect in (first, *others)]
            return
        if isinstance(first, Load | Update) and first.life is not None:
            self.ops = []
            read = self._on_object(first, others)
            if self.meaning.results:
                self.ops.append(self._last(read))
            return
        if isinstance(first, Load) and not all(isinstance(effect, Load) for effect in others):
            self.ops = []
            self._by_what_is_loaded([first, *others])
            return
        checks = [effect for effect in others if isinstance(effect, Check)]
        if checks:
            assert len(checks) == len(others), "what follows a meeting is accesses or checks"
            self.ops = self._checked(first, checks)
            return
        if isinstance(first, Load | Store):
            others, self.ops = [first, *others], []
            known = False
        else:
            known = True
        accesses: list[Load | Store] = []
        outputs: list[Int] = []
        fences = [effect for effect in others if isinstance(effect, Fence)]
        for effect in others[: len(others) - len(fences)]:
            match effect:
                case Load():
                    values: tuple[Int, ...] = ()
                case Store():
                    values = effect.values
                case _:
                    raise AssertionError("what follows the first effect is an access")
            terms: list[Int] = [low_bits(effect.address, 64), *values]
            terms += [number(effect.holds)] if effect.holds is not None else []
            if known:
                outputs += (t for t in terms if not _is_loaded(t))
                terms = [t if _is_loaded(t) else variable(self._keep(TYPES["b64"]), 64) for t in terms]
            changed: dict[str, Any] = {}
            if effect.holds is not None:
                changed["holds"] = low_bits(terms.pop(), 1) == 1
            if isinstance(effect, Store):
                changed["values"] = tuple(low_bits(v, effect.type.width) for v in terms[1:])
            accesses.append(replace(effect, address=terms[0], **changed))
        later: dict[str, Term] = {}
        if known:
            if any(_LANE.attrs[0] in variables_of(v) for r in self.meaning.results for v in r.values):
                later[_LANE.attrs[0]] = low_bits(variable(self._keep(TYPES["b64"]), 64), _LANE.attrs[1])
                outputs.append(_LANE)
            results = [(name, TYPES["b64"], low_bits(t, 64)) for name, t in zip(self.kept, outputs, strict=True)]
            self.ops = [self._op(first, self.meaning.inputs, results)]
        later |= self._accessed(accesses)
        self.ops += [self._op(fence, (), ()) for fence in fences]
        if self.meaning.results:
            self.ops.append(self._last(later))

    def _checked(self, first: Effect, checks: Sequence[Check]) -> list[Op]:
        """The first effect with all results, and the checks of what is known by then."""
        results, names = self.meaning.results, [self._keep(TYPES["b64"]) for _ in checks]
        outcomes = [Result(TYPES["b64"], (low_bits(number(check.holds), 64),)) for check in checks]
        meaning = Meaning(self.meaning.inputs, (*results, *outcomes), first)
        parts = (*self.op.plan.parts, *(Written(len(results) + i) for i in range(len(names))))
        operands = (*self.op.operands, *map(tree.Name, names))
        ops = [self.op._replace(plan=self.op.plan._replace(meaning=meaning, parts=parts), operands=operands)]
        for check, name in zip(checks, names, strict=True):
            holds = low_bits(variable(name, 64), 1) == 1
            ops.append(self._op(replace(check, holds=holds), self._inputs(), ()))
        return ops

    def _on_object(self, first: Load | Update, others: Sequence[Effect]) -> dict[str, Term]:
        """Add a step on an object, and what follows; the register that holds what was read, as `_accessed` has it."""
        name, word = self._keep(first.type.bits), variable("%loaded0", first.type.width)
        known: dict[str, Term] = {"%loaded0": variable(name, first.type.width)}
        self.ops.append(self._op(first, self.meaning.inputs, [(name, first.type.bits, word)]))
        for effect in others:
            assert isinstance(effect, Check | Await | Follow), (
                "checks, a wait, and operations follow a step on an object"
            )
            after = _substituted(effect, known)
            if isinstance(after, Await):
                after = replace(after, again=self._label(0))
            self.ops.append(self._op(after, self._all_inputs(), ()))
        return known

    def _by_what_is_loaded(self, effects: Sequence[Effect]) -> None:
        """Add loads, and what follows them: checks of what was loaded, and operations that depend on it."""
        loads = [effect for effect in effects if isinstance(effect, Load)]
        known: dict[str, Term] = self._accessed(loads)
        for effect in effects[len(loads) :]:
            assert isinstance(effect, Check | Initiate), "checks and operations depend on a load"
            after = _substituted(effect, known)
            if isinstance(after, Initiate) and after.times is not None:
                self._initiate_each(after)
            else:
                self.ops.append(self._op(after, self._all_inputs(), ()))

    def _initiate_each(self, effect: Initiate) -> None:
        """Add a loop that initiates operations in one way."""
        assert effect.times is not None
        word, truth = TYPES["u32"], TYPES["pred"]
        count, number, goes_on = self._keep(word), self._keep(word), self._keep(truth)
        begun = [(goes_on, truth, FALSE), (number, word, integer(0)), (count, word, integer(0))]
        self.ops.append(self._op(None, (), begun)._replace(guard=None))
        self.ops.append(self._op(None, self._all_inputs(), [(count, word, low_bits(effect.times, 32))]))
        label = self._label(len(self.ops))
        many, this = variable(count, 32), variable(number, 32)
        when = (this < many) if effect.when is None else (this < many) & effect.when
        body = _substituted(replace(effect, when=when, times=None), {NUMBER.attrs[0]: this})
        self.ops.append(self._op(body, self._all_inputs(), ()))
        following = low_bits(this + 1, 32)
        goes = [(number, word, following), (goes_on, truth, following < many)]
        self.ops.append(self._op(None, self._inputs(), goes))
        meaning = Meaning((Input(label, None, ()),), (), Branch(Special(label)))
        plan = self.op.plan._replace(meaning=meaning, parts=(Read(label),))
        self.ops.append(self.op._replace(plan=plan, operands=(tree.Name(label),), guard=(goes_on, False)))

    def _label(self, at: int) -> str:
        """A label of the part at a place, which is new."""
        name = f"@{self.index}:{at}"
        self.labels[name] = at
        return name

    def _all_inputs(self) -> list[Input]:
        return [*self.meaning.inputs, *self._inputs()]

    def _keep(self, type: Type) -> str:
        """A new register."""
        name = f"@{self.index}.{len(self.kept)}"
        self.kept[name] = self.registers[name] = type
        return name

    def _accessed(self, accesses: Sequence[Load | Store]) -> dict[str, Term]:
        """Add the accesses; the registers that hold what was loaded, by the names that the results have for it."""
        loaded: dict[str, Term] = {}
        for effect in accesses:
            if isinstance(effect, Store):
                effect = replace(effect, values=tuple(substitute(v, loaded) for v in effect.values))
            results = []
            for i in range(effect.count if isinstance(effect, Load) else 0):
                name = self._keep(effect.type.bits)
                results.append((name, effect.type.bits, variable(f"%loaded{i}", effect.type.width)))
                loaded[f"%loaded{len(loaded)}"] = variable(name, effect.type.width)
            self.ops.append(self._op(effect, self._all_inputs(), results))
        return loaded

    def _inputs(self) -> list[Input]:
        return [Input(name, type, (variable(name, type.width),)) for name, type in self.kept.items()]

    def _op(self, effect: Effect | None, inputs: Sequence[Input], results: Sequence[tuple[str, Type, Term]]) -> Op:
        """An instruction that writes registers of ours."""
        meaning = Meaning(tuple(inputs), tuple(Result(t, (v,)) for _, t, v in results), effect)
        written = [(Written(i), tree.Name(name)) for i, (name, _, _) in enumerate(results)]
        return self._made(meaning, written)

    def _last(self, known: dict[str, Term]) -> Op:
        """What computes the results of what is known by then."""
        results = tuple(r._replace(values=tuple(substitute(v, known) for v in r.values)) for r in self.meaning.results)
        written = [(part, operand) for part, operand in parts_of(self.op) if isinstance(part, Written)]
        return self._made(Meaning(tuple(self._all_inputs()), results, None), written)

    def _made(self, meaning: Meaning, written: Sequence[tuple[Written, Any]]) -> Op:
        """The instruction with this meaning: it reads what the one it is part of does, and the registers that are known."""
        used = _variables(meaning)
        inputs = tuple(i for i in meaning.inputs if any(v.attrs[0] in used for v in i.variables))
        names = {i.name for i in inputs}
        read: list[tuple[Any, Any]] = [
            (part, operand) for part, operand in parts_of(self.op) if isinstance(part, Read) and part.name in names
        ]
        read += [(Read(name), tree.Name(name)) for name in self.kept if name in names]
        parts, operands = zip(*written, *read, strict=True) if written or read else ((), ())
        plan = self.op.plan._replace(meaning=meaning._replace(inputs=inputs), parts=tuple(parts))
        return self.op._replace(plan=plan, operands=tuple(operands))


def _substituted(effect: AfterAccess, known: Mapping[str, Term]) -> AfterAccess:
    """An effect with terms in the place of variables."""
    changed, memo = dict[str, Any](), dict[int, Any]()
    for each in fields(effect):
        value = getattr(effect, each.name)
        if isinstance(value, Term):
            changed[each.name] = substitute(value, dict(known), memo)
    return replace(effect, **changed)


def _is_loaded(term: Term) -> bool:
    """Whether a term depends on what an access before it has loaded."""
    return any(name.startswith("%loaded") for name in variables_of(term))


def _variables(meaning: Meaning) -> set[str]:
    """The variables that a meaning depends on."""
    terms = [v for r in meaning.results for v in r.values]
    terms += terms_of(meaning.effect) if meaning.effect is not None else []
    return set().union(*map(variables_of, terms))
