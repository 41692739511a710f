"""Instructions with several effects, taken apart: one after the other become instructions with one effect each, and at last one
that computes the results. What the one leaves for the next lies in registers that no identifier names.

A thread that waits for its warp gives what the page says; the effects that follow are accesses, each at an address that is known
once the warp has met. What is stored, and the results, may depend on what was loaded and on the thread's own lane. A fence may
come last. Or they are checks of what the lanes gave, before accesses if there are any; without these all results are known
before. A thread that has met its warp may initiate operations, by its own lane, and before it waits it may advance what it knows
to be complete. What follows a step on an object in memory is checks of what it read, a wait for something to hold of that, and
operations that complete on the object.

Where accesses leave many results, each is computed by an instruction of its own. Results that are the same function of different
values have one meaning, which is compiled once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Read, Written, parts_of
from ptxspec.machine.flow import destinations, registers_in, values_of
from ptxspec.machine.special import variables_of
from ptxspec.terms.core import Bool, Int, Term, integer, variable, variable_of
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.effects import (
    NUMBER,
    Advance,
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
from ptxspec.terms.vocabulary import FALSE, as_type, low_bits, number, substitute

#: what may follow an access, and depend on what that has loaded
AfterAccess = TypeVar("AfterAccess", bound=Check | Await | Follow | Initiate | Load | Store | Update)
#: what a thread that met its warp knows of its lane
_LANE = variable("%own", 32)
#: an instruction with more results after its accesses has them one by one
MOST_TOGETHER = 16
#: the meanings of such results, by what they are of variables that have no names of a program
SharedMeanings: TypeAlias = dict[tuple[Any, ...], Meaning]


def split_effects(kernel: Kernel) -> Kernel:
    """The kernel with instructions of one effect each; itself, if it has no others."""
    if not any(op.plan.meaning.more for op in kernel.code):
        return kernel
    result = copy.copy(kernel)
    result.code, result.registers = [], dict(kernel.registers)
    starts, added, shared = list[int](), dict[str, int](), SharedMeanings()
    for index, op in enumerate(kernel.code):
        starts.append(len(result.code))
        if op.plan.meaning.more:
            parts = _InstructionParts(op, index, result.registers, shared)
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
    those of parts to which threads come back. No identifier names either. Parts that compute alike have one of the `shared`
    meanings."""

    def __init__(self, op: Op, index: int, registers: dict[str, Type], shared: SharedMeanings):
        self.op, self.index, self.registers, self.shared = op, index, registers, shared
        self.meaning = op.plan.meaning
        self.kept: dict[str, Input] = {}
        self.labels: dict[str, int] = {}
        self.ops: list[Op] = []
        first, *others = (self.meaning.effect, *self.meaning.more)
        assert first is not None
        if isinstance(first, Initiate | Advance):
            self.ops = [self._op(effect, self.meaning.inputs, ()) for effect in (first, *others)]
        elif isinstance(first, Load | Update) and first.life is not None:
            self._on_object(first, others)
        elif isinstance(first, Check):
            self._as_often_as_checked(first, others)
        elif isinstance(first, Load) and not all(isinstance(effect, Load) for effect in others):
            self._by_what_is_loaded([first, *others])
        elif isinstance(first, Load | Store):
            self._accesses([first, *others])
        elif all(isinstance(effect, Check) for effect in others):
            self._checked(first, [effect for effect in others if isinstance(effect, Check)])
        else:
            self._after_a_meeting(first, others)

    def _accesses(self, effects: Sequence[Effect]) -> None:
        """Add accesses one after the other, and the fences that come last."""
        accesses = [effect for effect in effects if isinstance(effect, Load | Store)]
        fences = effects[len(accesses) :]
        assert all(isinstance(fence, Fence) for fence in fences), "accesses come first, and fences behind them"
        known = self._accessed(accesses)
        self.ops += [self._op(fence, (), ()) for fence in fences]
        self._leave_results(known, {})

    def _after_a_meeting(self, first: Effect, others: Sequence[Effect]) -> None:
        """Add a meeting of the warp, and what follows it: checks of what the lanes gave, operations, accesses, and fences."""
        checks = [effect for effect in others if isinstance(effect, Check)]
        operations = [effect for effect in others if isinstance(effect, Initiate)]
        fences = [effect for effect in others if isinstance(effect, Fence)]
        accesses = [effect for effect in others if isinstance(effect, Load | Store)]
        count = len(checks) + len(operations) + len(fences) + len(accesses)
        assert len(others) == count, "nothing else follows a meeting"
        given = list[tuple[str, Type, Term]]()
        accesses = [self._settled(effect, given) for effect in accesses]
        results = [v for r in self.meaning.results for v in r.values]
        known, learned = dict[str, Term](), dict[int, Term]()
        if operations or any(_LANE.attrs[0] in variables_of(v) for v in results):
            known[_LANE.attrs[0]] = low_bits(self._from_meeting(_LANE, given), _LANE.attrs[1])
        for term in _given_by_lanes(results):
            learned[id(term)] = _in_range_of(term, self._from_meeting(term, given))
        checks = [replace(check, holds=self._truth_from_meeting(check.holds, given)) for check in checks]
        self.ops.append(self._op(first, self.meaning.inputs, given))
        self.ops += [self._op(check, self._inputs(), ()) for check in checks]
        self.ops += [self._op(_substituted(effect, known), self._all_inputs(), ()) for effect in operations]
        known |= self._accessed(accesses)
        self.ops += [self._op(fence, (), ()) for fence in fences]
        self._leave_results(known, learned)

    def _from_meeting(self, term: Int, given: list[tuple[str, Type, Term]]) -> Int:
        """A register of 64 bits that holds a term of what the lanes gave, which is added to what a meeting leaves."""
        name = self._keep(TYPES["b64"])
        given.append((name, TYPES["b64"], low_bits(term, 64)))
        return variable(name, 64)

    def _truth_from_meeting(self, holds: Bool, given: list[tuple[str, Type, Term]]) -> Bool:
        """The same of something that holds or not."""
        return low_bits(self._from_meeting(number(holds), given), 1) == 1

    def _settled(self, effect: Load | Store, given: list[tuple[str, Type, Term]]) -> Load | Store:
        """An access of registers that hold what the lanes gave for it. What accesses before it have loaded stays as it is."""
        changed: dict[str, Any] = {"address": self._from_meeting(effect.address, given)}
        if effect.holds is not None:
            changed["holds"] = self._truth_from_meeting(effect.holds, given)
        if isinstance(effect, Store):
            changed["values"] = tuple(
                value if _is_loaded(value) else low_bits(self._from_meeting(value, given), effect.type.width)
                for value in effect.values
            )
        return replace(effect, **changed)

    def _leave_results(self, known: dict[str, Term], learned: dict[int, Term]) -> None:
        """Add what computes the results of what is known by then, if there are any."""
        if self.meaning.results:
            self.ops += self._each_result(known, learned) or [self._last(known, learned)]

    def _checked(self, first: Effect, checks: Sequence[Check]) -> None:
        """Add the first effect with all results, and the checks of what is known by then."""
        results, names = self.meaning.results, [self._keep(TYPES["b64"]) for _ in checks]
        outcomes = [Result(TYPES["b64"], (low_bits(number(check.holds), 64),)) for check in checks]
        meaning = Meaning(self.meaning.inputs, (*results, *outcomes), first)
        parts = (*self.op.plan.parts, *(Written(len(results) + i) for i in range(len(names))))
        operands = (*self.op.operands, *map(tree.Name, names))
        self.ops = [self.op._replace(plan=self.op.plan._replace(meaning=meaning, parts=parts), operands=operands)]
        for check, name in zip(checks, names, strict=True):
            holds = low_bits(variable(name, 64), 1) == 1
            self.ops.append(self._op(replace(check, holds=holds), self._inputs(), ()))

    def _on_object(self, first: Load | Update, others: Sequence[Effect]) -> None:
        """Add a step on an object, and what follows: the results too, of the register that holds what was read."""
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
        if self.meaning.results:
            self.ops.append(self._last(known))

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

    def _as_often_as_checked(self, check: Check, others: Sequence[Effect]) -> None:
        """Add a check, and loops of what is done as often as something says that was checked."""
        self.ops.append(self._op(check, self.meaning.inputs, ()))
        known = dict[str, Term]()
        for effect in others:
            if isinstance(effect, Initiate):
                self._initiate_each(effect)
            else:
                assert isinstance(effect, Load | Store | Update), "accesses and operations are repeated"
                known |= self._access_each(effect)
        self._leave_results(known, {})

    def _access_each(self, effect: Load | Store | Update) -> dict[str, Term]:
        """Add a loop of accesses; the registers that hold what is left of loads, by the names that the results have for it."""
        again = effect.repeated
        assert again is not None
        folded = [self._keep(again.type.bits) for _ in again.folds]
        loaded = [self._keep(effect.type.bits) for _ in range(effect.count if isinstance(effect, Load) else 0)]
        known: dict[str, Term] = {f"%folded{i}": variable(name, again.type.width) for i, name in enumerate(folded)}
        read: dict[str, Term] = {f"%loaded{i}": variable(name, effect.type.width) for i, name in enumerate(loaded)}
        results = [
            (name, effect.type.bits, variable(f"%loaded{i}", effect.type.width)) for i, name in enumerate(loaded)
        ]

        def body(this: Int, goes_on: Bool) -> None:
            now = {NUMBER.attrs[0]: this, **known}
            access = _substituted(replace(effect, repeated=None), now)
            self.ops.append(self._op(access, self._all_inputs(), results))
            if folded:
                folds = [substitute(fold, now | read) for fold in again.folds]
                left = [(name, again.type.bits, fold) for name, fold in zip(folded, folds, strict=True)]
                self.ops.append(self._op(None, self._all_inputs(), left))

        self._loop(again.times, body, [(name, again.type.bits, integer(0)) for name in folded])
        return known

    def _initiate_each(self, effect: Initiate) -> None:
        """Add a loop that initiates operations in one way."""
        assert effect.times is not None

        def body(this: Int, goes_on: Bool) -> None:
            when = goes_on if effect.when is None else goes_on & effect.when
            begun = _substituted(replace(effect, when=when, times=None), {NUMBER.attrs[0]: this})
            self.ops.append(self._op(begun, self._all_inputs(), ()))

        self._loop(effect.times, body)

    def _loop(
        self, times: Int, body: Callable[[Int, Bool], None], begun: Sequence[tuple[str, Type, Term]] = ()
    ) -> None:
        """Add a loop whose body is given the number of its turn, and whether there is such a turn: the first comes in any case.
        Before it, registers are what has `begun`."""
        word, truth = TYPES["u32"], TYPES["pred"]
        count, number, goes_on = self._keep(word), self._keep(word), self._keep(truth)
        at_first = [*begun, (goes_on, truth, FALSE), (number, word, integer(0)), (count, word, integer(0))]
        self.ops.append(self._op(None, (), at_first)._replace(guard=None))
        self.ops.append(self._op(None, self._all_inputs(), [(count, word, low_bits(times, 32))]))
        label = self._label(len(self.ops))
        many, this = variable(count, 32), variable(number, 32)
        body(this, this < many)
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
        self.kept[name] = Input(name, type, (variable(name, type.width),))
        self.registers[name] = type
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
        return list(self.kept.values())

    def _op(self, effect: Effect | None, inputs: Sequence[Input], results: Sequence[tuple[str, Type, Term]]) -> Op:
        """An instruction that writes registers of ours."""
        meaning = Meaning(tuple(inputs), tuple(Result(t, (v,)) for _, t, v in results), effect)
        written = [(Written(i), tree.Name(name)) for i, (name, _, _) in enumerate(results)]
        return self._made(meaning, written)

    def _each_result(self, known: dict[str, Term], learned: dict[int, Term]) -> list[Op]:
        """What computes many results one by one, of what is known by then; nothing, if they are few, or if one is of a register
        that another one has written by then."""
        results, memo = list(destinations(self.op)), dict(learned)
        if len(results) <= MOST_TOGETHER:
            return []
        operands = {symbol.attrs[0]: (type, operand) for type, symbol, operand in values_of(self.op)}
        operands |= {name: (kept.type, tree.Name(name)) for name, kept in self.kept.items()}
        ops: list[Op] = []
        written: set[str] = set()
        for name, type, value in results:
            op = self._result(name, type, substitute(value, known, memo), operands)
            if any(written.intersection(registers_in(operand)) for _, operand in parts_of(op)):
                return []
            written.add(name)
            ops.append(op)
        return ops

    def _result(self, register: str, type: Type, value: Term, operands: Mapping[str, tuple[Type, Any]]) -> Op:
        """What computes one result, of variables whose types and operands are given."""
        names = _variables_in_order(value)
        types = tuple(operands[name][0] for name in names)
        symbols = [variable_of(f"%x{i}", of) for i, of in enumerate(types)]
        term = substitute(value, dict(zip(names, symbols, strict=True)))
        inputs = tuple(Input(symbol.attrs[0], of, (symbol,)) for symbol, of in zip(symbols, types, strict=True))
        whole = Meaning(inputs, (Result(type, (term,)),), None)
        meaning = self.shared.setdefault((type, term, *types), whole)
        parts: tuple[Read | Written, ...] = (Written(0), *(Read(place.name) for place in meaning.inputs))
        given = (tree.Name(register), *(operands[name][1] for name in names))
        return self.op._replace(plan=self.op.plan._replace(meaning=meaning, parts=parts), operands=given)

    def _last(self, known: dict[str, Term], learned: Mapping[int, Term] = MappingProxyType({})) -> Op:
        """What computes the results of what is known by then."""
        memo = dict(learned)
        results = tuple(
            r._replace(values=tuple(substitute(v, known, memo) for v in r.values)) for r in self.meaning.results
        )
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
        specials = tuple(name for name in self.meaning.specials if name in used)
        plan = self.op.plan._replace(meaning=meaning._replace(inputs=inputs, specials=specials), parts=tuple(parts))
        return self.op._replace(plan=plan, operands=tuple(operands))


def _substituted(effect: AfterAccess, known: Mapping[str, Term]) -> AfterAccess:
    """An effect with terms in the place of variables."""
    changed, memo = dict[str, Any](), dict[int, Any]()
    for each in fields(effect):
        value = getattr(effect, each.name)
        if isinstance(value, Term):
            changed[each.name] = substitute(value, dict(known), memo)
        elif isinstance(value, tuple) and any(isinstance(part, Term) for part in value):
            changed[each.name] = tuple(substitute(part, dict(known), memo) for part in value)
    return replace(effect, **changed)


def _given_by_lanes(terms: Sequence[Term]) -> list[Int]:
    """The largest terms below these that depend on what the lanes of the warp gave, and on nothing that was loaded; none, if
    nothing depends on both."""
    if not any(_is_loaded(term) for term in terms):
        return []
    given: dict[int, Int] = {}
    todo, seen = list(terms), set[int]()
    while todo:
        term = todo.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        names = variables_of(term)
        if not any(name.startswith("%lane") for name in names):
            continue
        if any(name.startswith("%loaded") for name in names) or not isinstance(term, Int):
            todo += term.args
        else:
            given[id(term)] = term
    return list(given.values())


def _in_range_of(term: Int, word: Int) -> Int:
    """What a word of 64 bits says of the term that was written into it, which may be negative."""
    if term.lo >= 0:
        return low_bits(word, min(max(term.hi.bit_length(), 1), 64))
    signed = (TYPES[f"s{width}"] for width in (8, 16, 32, 64))
    return as_type(word, next((type for type in signed if type.min <= term.lo and term.hi <= type.max), TYPES["s64"]))


def _variables_in_order(term: Term) -> list[str]:
    """The variables that a term depends on, in the order in which they stand in it."""
    names: dict[str, None] = {}
    todo, seen = [term], set[int]()
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if current.op == "var":
            names[current.attrs[0]] = None
        todo += reversed(current.args)
    return list(names)


def _is_loaded(term: Term) -> bool:
    """Whether a term depends on what an access before it has loaded."""
    return any(name.startswith("%loaded") for name in variables_of(term))


def _variables(meaning: Meaning) -> set[str]:
    """The variables that a meaning depends on."""
    terms = [v for r in meaning.results for v in r.values]
    terms += terms_of(meaning.effect) if meaning.effect is not None else []
    return set().union(*map(variables_of, terms))
