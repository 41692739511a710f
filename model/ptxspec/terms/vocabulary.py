"""The words a definition is written in. Pages import from here, and from one another.

Arguments called x, y are exact integers (an `Int` term or a Python int); c is a truth value; n counts bits.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import Bool, Int, blame, compared, constant, integer, make, make_int, truth, variable
from ptxspec.terms.types import Type

Record = TypeVar("Record", bound=tuple[Any, ...])

#: a condition that never holds, and one that always does
FALSE: Bool = constant(False)
TRUE: Bool = constant(True)


@overload
def select(c: Bool | bool, x: Bool, y: Bool | bool) -> Bool: ...
@overload
def select(c: Bool | bool, x: Int | int, y: Int | int) -> Int: ...
@overload
def select(c: Bool | bool, x: Record, y: Record) -> Record: ...
def select(c: Bool | bool, x: Any, y: Any) -> Any:
    """x where c holds, else y. Of records, field by field."""
    if x is y and isinstance(x, Int):
        return x
    c = truth(c)
    if isinstance(x, tuple):
        return type(x)(*(select(c, left, right) for left, right in zip(x, y, strict=True)))
    if c.op == "const":
        chosen = x if c.attrs[0] else y
        return truth(chosen) if isinstance(chosen, Bool | bool) else integer(chosen)
    if isinstance(x, Bool | bool):
        x, y = truth(x), truth(y)
        return (c & x) | (~c & y)
    x, y = integer(x), integer(y)
    return x if x is y else make_int("select", (c, x, y))


def number(c: Bool | bool) -> Int:
    """1 where c holds, else 0."""
    return select(c, 1, 0)


def minimum(x: Int | int, y: Int | int) -> Int:
    """The lesser of the two."""
    x, y = integer(x), integer(y)
    return within(select(x < y, x, y), min(x.lo, y.lo), min(x.hi, y.hi))


def maximum(x: Int | int, y: Int | int) -> Int:
    """The greater of the two."""
    x, y = integer(x), integer(y)
    return within(select(x < y, y, x), max(x.lo, y.lo), max(x.hi, y.hi))


def within(x: Int, lo: int, hi: int) -> Int:
    """x, known to lie in lo … hi although its expression's own range is wider."""
    if x.op == "const" or (lo <= x.lo and x.hi <= hi):
        return x
    return make_int("bounded", (x,), (max(lo, x.lo), min(hi, x.hi)))


def clamp(x: Int | int, lo: Int | int, hi: Int | int) -> Int:
    """x, or the bound it lies beyond."""
    return minimum(maximum(x, lo), hi)


def absolute(x: Int | int) -> Int:
    """|x|."""
    x = integer(x)
    low, high = sorted((abs(x.lo), abs(x.hi)))
    return within(select(x < 0, -x, x), 0 if x.lo <= 0 <= x.hi else low, high)


def quotient(x: Int | int, y: Int | int) -> Int:
    """x / y rounded toward zero; 0 when y is 0 (a definition says itself what division by zero gives)."""
    return make_int("quotient", (integer(x), integer(y)))


def remainder(x: Int | int, y: Int | int) -> Int:
    """What quotient(x, y) leaves: it has the sign of x; x when y is 0."""
    return make_int("remainder", (integer(x), integer(y)))


def low_bits(x: Int | int, n: Int | int) -> Int:
    """x modulo 2^n."""
    x = integer(x)
    if isinstance(n, int):
        return x if 0 <= x.lo and x.hi < (1 << n) else make_int("low", (x,), (n,))
    if n.op == "const":
        return low_bits(x, n.attrs[0])
    return x & ((1 << n) - 1)


def sign_extend(x: Int | int, n: Int | int) -> Int:
    """The low n bits of x as a two's complement number; 0 when n is 0."""
    x = integer(x)
    if isinstance(n, int) and n > 0:
        return make_int("signed", (x,), (n,))
    half = (1 << integer(n)) >> 1
    return (low_bits(x, n) ^ half) - half


def as_type(x: Int | int, type: Type) -> Int:
    """x reduced to the range of an integer type: its low bits, signed or not as the type is."""
    x = integer(x)
    return sign_extend(x, type.width) if type.signed else low_bits(x, type.width)


def saturate(x: Int | int, type: Type) -> Int:
    """x limited to the range of an integer type."""
    return clamp(x, type.min, type.max)


def bit(x: Int | int, i: Int | int) -> Int:
    """Bit i of x: 0 or 1."""
    return low_bits(integer(x) >> i, 1)


def is_set(x: Int | int, i: Int | int) -> Bool:
    """Whether bit i of x is 1."""
    return bit(x, i) == 1


def join(bits: Iterable[Int | int]) -> Int:
    """The number whose bit 0 is the first of `bits`, bit 1 the second, and so on."""
    result = integer(0)
    for i, part in enumerate(bits):
        result = result | (integer(part) << i)
    return result


def concatenate(high: Int | int, low: Int | int, n: int) -> Int:
    """`low`, n bits wide, with `high` before it."""
    return (integer(high) << n) | low_bits(low, n)


def bit_length(x: Int | int) -> Int:
    """How many bits x ≥ 0 needs: one more than the position of its highest 1, or 0."""
    return make_int("bit_length", (_natural(x),))


def root(x: Int | int) -> Int:
    """The greatest integer whose square is not above x ≥ 0."""
    return make_int("root", (_natural(x),))


def count_ones(x: Int | int) -> Int:
    """How many bits of x ≥ 0 are 1."""
    return make_int("popcount", (_natural(x),))


def lookup(table: Iterable[int], index: Int | int) -> Int:
    """The number at the place `index` of a table of constants, counted from 0."""
    entries, index = tuple(table), integer(index)
    if not (0 <= index.lo and index.hi < len(entries)):
        raise blame(
            f"an index from 0 to {len(entries) - 1} is needed here (this one ranges from {index.lo} to {index.hi})"
        )
    return make_int("lookup", (index,), (entries,))


def _natural(x: Int | int) -> Int:
    x = integer(x)
    if x.lo < 0:
        raise blame(f"a number that is never negative is needed here (this one ranges from {x.lo} to {x.hi})")
    return x


# Named functions whose meaning is a definition -------------------------------------------------------------------------

#: every function an interpretation may supply instead of deriving, by name: the trusted list
SHORTCUTS: dict[str, Callable[..., Int]] = {}
_meanings: dict[tuple[Any, ...], Int] = {}


def shortcut(function: Callable[..., Int]) -> Callable[..., Int]:
    """Mark a definition f(type, …static…, x, …) on bit patterns of `type` that an interpretation may compute in its own way.

    The function's body stays its meaning: the exact interpretation always uses it, the others when they know no better,
    and the tests hold what they supply against it. Terms must come last in the parameter list.
    """
    name = function.__name__
    SHORTCUTS[name] = function

    def call(type: Type, *arguments: Any) -> Int:
        static = tuple(a for a in arguments if not isinstance(a, Int))
        terms = tuple(a for a in arguments if isinstance(a, Int))
        if arguments != static + terms:
            raise blame(f"{name}: terms come after the static arguments")
        return make_int("call", terms, (name, type.width, type, *static))

    call.__name__ = name
    call.__doc__ = function.__doc__
    vars(call)["__wrapped__"] = function
    return call


def meaning_of(call: Int) -> tuple[Int, tuple[str, ...]]:
    """(body, parameter names): the definition behind a `call` term, over variables named %0, %1, …"""
    name, _, type, *static = call.attrs
    key = (name, type, *static, len(call.args))
    names = tuple(f"%{i}" for i in range(len(call.args)))
    if key not in _meanings:
        inputs = [variable(n, type.width) for n in names]
        _meanings[key] = low_bits(SHORTCUTS[name](type, *static, *inputs), type.width)
    return _meanings[key], names


class _Invalid(NamedTuple):
    """A condition, the shortcut whose operands it says are invalid, their type, and the operands. It keeps no term alive."""

    condition: weakref.ref[Bool]
    shortcut: str
    type: Type
    operands: tuple[weakref.ref[Int], ...]


#: by a condition's id
_invalid: dict[int, _Invalid] = {}


def invalid_for(name: str) -> Callable[[Callable[..., Bool]], Callable[..., Bool]]:
    """Mark a definition f(type, x, …) as the condition under which the shortcut of this name has no result but a NaN. An
    interpretation whose own operation gives a NaN exactly then may look at that; the tests hold it against the definition."""

    def mark(function: Callable[..., Bool]) -> Callable[..., Bool]:
        @functools.wraps(function)
        def condition(type: Type, *operands: Int) -> Bool:
            invalid = function(type, *operands)
            if invalid.op != "const":  # the condition keeps its operands alive, and this table none of them
                key = id(invalid)
                gone = weakref.ref(invalid, lambda _: _invalid.pop(key, None))
                _invalid[key] = _Invalid(gone, name, type, tuple(map(weakref.ref, operands)))
            return invalid

        return condition

    return mark


def invalid_operands(condition: Bool) -> tuple[str, Type, list[Int]] | None:
    """(shortcut, type, operands) if the condition says that the shortcut's operands are invalid; else None."""
    entry = _invalid.get(id(condition))
    if entry is None or entry.condition() is not condition:
        return None
    operands = [o for o in (reference() for reference in entry.operands) if o is not None]
    return (entry.shortcut, entry.type, operands) if len(operands) == len(entry.operands) else None


class KnownResult(NamedTuple):
    """A term, the function marked by `intrinsic` that returned it, and the arguments: terms below it, and others."""

    term: weakref.ref[Int]
    function: str
    arguments: tuple[Any, ...]


#: every function of which an interpretation may know the results otherwise, by name: on the trusted list, too
INTRINSICS: dict[str, Callable[..., Int]] = {}
#: by a result's id
_results: dict[int, KnownResult] = {}


def intrinsic(function: Callable[..., Int]) -> Callable[..., Int]:
    """Mark a definition whose results an interpretation may compute in its own way, where they are defined: it knows the term by
    identity. Unlike a call of a shortcut, which takes patterns of one type, the result is the term that the function's body
    makes, and other interpretations see nothing else. The tests hold what is computed so against the body."""
    name, signature = function.__name__, inspect.signature(function)
    INTRINSICS[name] = function

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Int:
        result = integer(function(*arguments, **named))
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        is_argument = any(a is result for a in bound.args)  # and would keep itself alive
        if result.op != "const" and not is_argument:
            key = id(result)
            _results[key] = KnownResult(weakref.ref(result, lambda _: _results.pop(key, None)), name, bound.args)
        return result

    return call


def known_result(term: Int) -> KnownResult | None:
    """The function marked by `intrinsic` that a term is a result of, if there is one."""
    known = _results.get(id(term))
    return known if known is not None and known.term() is term else None


# Freedom ---------------------------------------------------------------------------------------------------------------


#: what a freedom says of its executions: each makes a choice of its own; and, in a question about a text, that the last
#: operand is the execution's number
EACH_EXECUTION, NUMBERED = "each execution", "numbered"


def _freedom(
    kind: str,
    name: str,
    type: Type,
    operands: tuple[Int | int, ...],
    allowed: Any,
    operation: str = "",
    each: bool = False,
) -> Int:
    given = tuple(integer(o) for o in operands)
    return make_int(
        "freedom", given, (name, type.width, kind, type, allowed, operation, EACH_EXECUTION if each else "")
    )


def unspecified(
    name: str,
    type: Type,
    *operands: Int | int,
    allowed: Callable[..., Bool] | None = None,
    operation: str = "",
    each: bool = False,
) -> Int:
    """A result PTX leaves open: any bits of `type`, or those for which allowed(bits) holds, or allowed(bits, *operands) if it has
    parameters for them. `name` is the entry of the register of ambiguities; a profile's choice is given the operands. Where
    several operations share an entry, `operation` is the one that gives this result: a machine chooses for each of them by
    itself. With `each`, every execution of the instruction chooses by itself, also for equal operands; such a result has no
    condition on its operands."""
    assert not (each and allowed is not None and takes_operands(allowed))
    return _freedom("unspecified", name, type, operands, allowed, operation, each)


def undefined(name: str, type: Type, *operands: Int | int, operation: str = "") -> Int:
    """A result of a program that did what PTX says it must not; `operation` as for `unspecified`. Every execution chooses by
    itself."""
    return _freedom("undefined", name, type, operands, None, operation, True)


def machine_specific(name: str, type: Type, *operands: Int | int, operation: str = "") -> Int:
    """A result that PTX says depends on the machine: a function of the operands; `operation` as for `unspecified`."""
    return _freedom("machine-specific", name, type, operands, None, operation)


def operands_of(freedom: Int, values: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """The operands that a page gives to a freedom, without the number of the execution; or those of their `values`."""
    given = freedom.args if values is None else tuple(values)
    return given[:-1] if freedom.attrs[6] == NUMBERED else given


#: the kind of a freedom that is none to PTX: its first operand is the result
DEVIATION = "deviation"


def deviates(name: str, type: Type, documented: Int | int, *operands: Int | int) -> Int:
    """The result that PTX states, of which machines are known to give another: `documented`, unless a profile knows what its
    machine gives instead. `name` is the entry of the register of ambiguities; a choice is given all the operands."""
    return _freedom(DEVIATION, name, type, (low_bits(documented, type.width), *operands), None)


#: the kind of a freedom that no sound program sees: its first operand is the result where nothing chooses another
CONVENTION = "convention"
#: the kinds whose first operand is the result where nothing chooses another
FALLING_BACK = (DEVIATION, CONVENTION)


def convention(name: str, type: Type, usual: Int | int, *operands: Int | int, allowed: Callable[[Int], Bool]) -> Int:
    """How a machine does something that PTX lets no program rely on: any bits for which allowed(bits) holds, the same wherever
    the operands are. Where values are computed and neither a profile nor a seed chooses, it is `usual`."""
    return _freedom(CONVENTION, name, type, (low_bits(usual, type.width), *operands), allowed)


class Approximation(NamedTuple):
    """Which results a bound allows, over Python's integers: the one nearest to the exact number, and whether one is allowed."""

    nearest: Callable[..., int]
    allowed: Callable[..., bool]
    quick: str | None = None
    """the function of the first operand, as a number, that `nearest` rounds, by the name that compiled code knows it by"""
    rounded: Callable[..., Int] | None = None
    """what `nearest` gives, as a term over the operands: compiled code computes it, and proofs may name it"""
    term: Callable[..., Int] | None = None
    """the same, where it is too long for proofs"""


def approximate(
    name: str,
    type: Type,
    *operands: Int | int,
    nearest: Callable[..., int] | None = None,
    allowed: Callable[..., bool],
    quick: str | None = None,
    rounded: Callable[..., Int] | None = None,
    term: Callable[..., Int] | None = None,
) -> Int:
    """A result that need only be near the exact one. nearest(*operands) gives the bits of the nearest number, and
    allowed(bits, *operands) says whether some bits are near enough; both are given numbers, not terms. `quick` names the
    function that `nearest` rounds, if it is one of: sine, cosine, power of two, logarithm, hyperbolic tangent, reciprocal root.
    rounded(*operands), of terms, is the nearest result, too: compiled code computes it, and proofs may name it. Instead of
    `nearest` there may be term(*operands), of terms, which is too long for proofs."""
    if nearest is None:
        assert term is not None
        nearest = functools.partial(_of_numbers, term)
    return _freedom("approximate", name, type, operands, Approximation(nearest, allowed, quick, rounded, term))


def _of_numbers(term: Callable[..., Int], *operands: int) -> int:
    """What a term over operands is for numbers."""
    return integer(term(*map(integer, operands))).__index__()


def is_allowed(freedom: Int, operands: tuple[int, ...], bits: int) -> bool:
    """Whether a result that PTX leaves open may have these bits, for these values of the freedom's operands."""
    _, width, kind, _, allowed, *_ = freedom.attrs
    if not 0 <= bits < 1 << width:
        return False
    if kind == DEVIATION:
        return bits == operands[0]
    if isinstance(allowed, Approximation):
        return allowed.allowed(bits, *operands)
    if allowed is None:
        return True
    return bool(condition(allowed, integer(bits), [integer(v) for v in operands]).attrs[0])


def condition(allowed: Callable[..., Bool], bits: Int, operands: Sequence[Int]) -> Bool:
    """That a freedom may have some bits, for these operands: what `allowed` says, which need not ask for operands."""
    return allowed(bits, *operands) if takes_operands(allowed) else allowed(bits)


@functools.lru_cache(1 << 10)
def takes_operands(allowed: Callable[..., Bool]) -> bool:
    """Whether a condition on a freedom's bits has parameters for the operands."""
    return len(inspect.signature(allowed).parameters) > 1


def variables_in(terms: Iterable[Any]) -> set[str]:
    """The names of the variables below some terms."""
    names: set[str] = set()
    seen: set[int] = set()
    waiting = list(terms)
    while waiting:
        term = waiting.pop()
        if id(term) not in seen:
            seen.add(id(term))
            if term.op == "var":
                names.add(term.attrs[0])
            waiting += term.args
    return names


def freedoms_in(*terms: Any) -> list[Int]:
    """The freedom terms below some terms, each once."""
    seen: dict[int, Any] = {}
    stack = list(terms)
    freedoms = []
    while stack:
        term = stack.pop()
        if id(term) in seen:
            continue
        seen[id(term)] = term
        if term.op == "freedom":
            freedoms.append(term)
        elif term.op == "call":
            stack.append(meaning_of(term)[0])
        stack.extend(term.args)
    return freedoms


def substitute(term: Any, values: dict[str, Any], memo: dict[int, Any] | None = None) -> Any:
    """The term with variables replaced by other terms. `memo` may be shared between terms that are kept for as long."""
    return rebuilt(term, lambda t, args: values.get(t.attrs[0], t) if t.op == "var" else None, memo)


def resolve(term: Any, choose: Callable[[Any], Any], memo: dict[int, Any] | None = None) -> Any:
    """The term with every freedom replaced by choose(freedom), whose operands are resolved already."""
    return rebuilt(term, lambda t, args: choose(make(t.op, args, t.attrs)) if t.op == "freedom" else None, memo)


def rebuilt(term: Any, replace: Callable[[Any, tuple[Any, ...]], Any], memo: dict[int, Any] | None) -> Any:
    """The term with replace(t, arguments) in the place of each term t below it, or t itself with the new arguments where that
    is None. Without recursion, since a term may be as deep as a fragment is long."""
    memo = {} if memo is None else memo
    stack = [term]
    while stack:
        t = stack[-1]
        if id(t) in memo:
            stack.pop()
            continue
        waiting = [a for a in t.args if id(a) not in memo]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        args = tuple([memo[id(a)] for a in t.args])
        replaced = replace(t, args)
        memo[id(t)] = with_arguments(t, args) if replaced is None else replaced
    return memo[id(term)]


def with_arguments(t: Any, args: tuple[Any, ...]) -> Any:
    """The term's operator on other arguments, folded as the words of a definition fold it."""
    if all(a is b for a, b in zip(args, t.args, strict=True)):
        return t
    if t.op == "select":
        return select(*args)
    if t.op in ("all", "any"):
        return args[0] & args[1] if t.op == "all" else args[0] | args[1]
    if t.op == "not":
        return ~args[0]
    if t.op == "low":
        return low_bits(args[0], t.attrs[0])
    if t.op in ("eq", "lt"):
        return compared(t.op, *args)
    return make(t.op, args, t.attrs)
