"""Which bits of a term are undefined, given those of its variables: a further interpretation of terms, made of terms.

The undefined bits of an `Int` are a number, in endless two's complement like the number itself, that has a 1 wherever the bit
may be one or the other; those of a `Bool` are a truth value. Bitwise operators, shifts, selections, sums and comparisons say of
each bit what follows from the bits that are defined: a 0 in one operand of `and` defines the bit of the result. All else, such
as quotients and floating point, is undefined in all bits if any bit of an operand is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, Term, constant, integer
from ptxspec.terms.vocabulary import FALSE, TRUE, known_result, low_bits, select, sign_extend

#: operators whose undefined bits are found bit by bit; a term with more of them than MOST_PARTS is taken as a whole
_BY_BITS = frozenset(
    ("const", "var", "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "low", "signed", "select", "bounded", "eq", "lt",
     "not", "all", "any", "differ")
)  # fmt: skip
MOST_PARTS = 600
_NONE: Int = constant(0)


class UndefinedBits:
    """The undefined bits of terms, where those of some variables are given by name, and all others are defined."""

    def __init__(self, variables: Mapping[str, Term]):
        self.variables = variables
        self._known: dict[int, Any] = {}
        self._kept: list[Term] = []  # so that the terms' ids stay theirs

    def of(self, term: Any) -> Any:
        """The undefined bits of a term."""
        if self._parts(term) > MOST_PARTS:
            return self._as_a_whole(term)
        stack = [term]
        while stack:
            t = stack[-1]
            if id(t) in self._known:
                stack.pop()
                continue
            waiting = [] if _is_whole(t) else [a for a in t.args if id(a) not in self._known]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            self._known[id(t)] = self._as_a_whole(t) if _is_whole(t) else self._by_bits(t)
            self._kept.append(t)
        return self._known[id(term)]

    def any(self, *terms: Any) -> Bool:
        """Whether a bit of some terms is undefined."""
        some = FALSE
        for term in terms:
            some = some | _is_some(self.of(term))
        return some

    def any_below(self, *terms: Any) -> Bool:
        """Whether a bit of a variable is undefined that some terms depend on. What a selection by a variable leaves out does not
        count, if there is a constant in its place, as for an addend that an instruction may leave out."""
        names, choices = _leaves(terms)
        some = FALSE
        for name in sorted(names):
            some = some | _is_some(self.variables.get(name, _NONE))
        for choice in choices:
            some = some | _is_some(self.of(choice))
        return some

    def _parts(self, term: Any) -> int:
        """How many terms are looked at one by one."""
        seen: dict[int, Any] = {}
        stack = [term]
        while stack and len(seen) <= MOST_PARTS:
            t = stack.pop()
            if id(t) not in seen:
                seen[id(t)] = t
                stack += () if _is_whole(t) else t.args
        return len(seen)

    def _as_a_whole(self, term: Any) -> Any:
        some = self.any_below(term)
        return some if isinstance(term, Bool) else select(some, _everything(term), _NONE)

    def _by_bits(self, t: Any) -> Any:
        bits = [self._known[id(a)] for a in t.args]
        if t.op == "var":
            return self.variables.get(t.attrs[0], FALSE if isinstance(t, Bool) else _NONE)
        cancels = t.op in ("sub", "xor", "differ") and t.args[0] is t.args[1]
        if cancels or all(_is_none(b) for b in bits):
            return FALSE if isinstance(t, Bool) else _NONE
        match t.op:
            case "low":
                return low_bits(bits[0], t.attrs[0])
            case "signed":
                return sign_extend(bits[0], t.attrs[0])
            case "not":
                return bits[0]
            case "bounded":
                return _narrowed(t, bits[0])
            case "select":
                return _narrowed(t, _selected(t.args, bits))
            case "all" | "any":
                return _combined(t.op == "all", t.args, bits)
            case "differ":
                return bits[0] | bits[1]
            case "eq":
                return _equal(*t.args, *bits)
            case "lt":
                return _less(*t.args, *bits)
            case "shl" | "shr":
                by_number = bits[0] << t.args[1] if t.op == "shl" else bits[0] >> t.args[1]
                return _narrowed(t, select(_is_some(bits[1]), _everything(t), by_number))
            case _:
                return _narrowed(t, _ARITHMETIC[t.op](*t.args, *bits))


def _is_whole(t: Any) -> bool:
    """Whether a term's undefined bits are not found bit by bit."""
    return t.op not in _BY_BITS or (isinstance(t, Int) and known_result(t) is not None)


def _leaves(terms: Sequence[Any]) -> tuple[set[str], list[Any]]:
    """The variables that terms depend on, and the selections, by a variable, of a part of a variable or a constant."""
    names: set[str] = set()
    choices: list[Any] = []
    seen: set[int] = set()
    todo = list(terms)
    while todo:
        t = todo.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        if t.op == "var":
            names.add(t.attrs[0])
        elif t.op == "select" and isinstance(t, Int) and t.args[0].op == "var" and _is_optional(*t.args[1:]):
            choices.append(t)
        else:
            todo += t.args
    return names, choices


def _is_optional(x: Any, y: Any) -> bool:
    """Whether one of two terms is a constant, and the other a part of a variable."""
    if y.op != "const":
        x, y = y, x
    while x.op in ("low", "signed", "shr", "bounded") and all(a.op == "const" for a in x.args[1:]):
        x = x.args[0]
    return bool(y.op == "const" and x.op == "var")


def _is_none(bits: Any) -> bool:
    return bool(bits.op == "const" and not bits.attrs[0])


def _is_some(bits: Any) -> Bool:
    return bits if isinstance(bits, Bool) else bits != 0


def _everything(t: Any) -> Int:
    """All bits that the number may have."""
    return integer((1 << max(t.hi.bit_length(), 1)) - 1 if t.lo >= 0 else -1)


def _narrowed(t: Any, bits: Int) -> Int:
    """The bits, without those that the number's range excludes."""
    return bits if t.lo < 0 or (bits.lo >= 0 and bits.hi <= t.hi) else bits & _everything(t)


def _either(x: Int, y: Int) -> Int:
    return y if _is_none(x) else x if _is_none(y) else x | y


def _selected(args: tuple[Any, ...], bits: list[Any]) -> Int:
    """What the condition chooses; if that is undefined, a bit is defined in which both agree."""
    (condition, x, y), (of_condition, of_x, of_y) = args, bits
    chosen: Int = select(condition, of_x, of_y)
    if of_condition is FALSE:
        return chosen
    unknown: Int = select(of_condition, _either(_either(of_x, of_y), x ^ y), chosen)
    return unknown


def _combined(conjunction: bool, args: tuple[Any, ...], bits: list[Any]) -> Bool:
    """A false part defines a conjunction, and a true one a disjunction."""
    result = TRUE
    for value, undefined in zip(args, bits, strict=True):
        decides_not = value if conjunction else ~value
        result = result & (undefined | decides_not)
    some: Bool = bits[0] | bits[1]
    return some & result


def _equal(x: Int, y: Int, of_x: Int, of_y: Int) -> Bool:
    """Undefined unless defined bits differ already."""
    undefined = _either(of_x, of_y)
    return (undefined != 0) & ((x ^ y) & ~undefined == 0)


def _less(x: Int, y: Int, of_x: Int, of_y: Int) -> Bool:
    """Undefined where the least and the greatest values that are possible do not decide."""
    (least_x, most_x), (least_y, most_y) = _bounds(x, of_x), _bounds(y, of_y)
    return (least_x < most_y) & ~(most_x < least_y)


def _bounds(x: Int, undefined: Int) -> tuple[Int, Int]:
    if _is_none(undefined):
        return x, x
    if x.lo >= 0:
        return x & ~undefined, x | undefined
    place = bits_for(x.lo, x.hi)[0] - 1  # all bits from there on are the sign
    sign = select(undefined >> place == 0, integer(0), integer(-1 << place))
    return (x & ~undefined) | sign, (x | undefined) & ~sign


def _sum(x: Int, y: Int, of_x: Int, of_y: Int) -> Int:
    """The bits that differ between the sums of what operands are at least and at most, and those of the operands."""
    least = (x if _is_none(of_x) else x & ~of_x) + (y if _is_none(of_y) else y & ~of_y)
    most = (x if _is_none(of_x) else x | of_x) + (y if _is_none(of_y) else y | of_y)
    return _either(of_x, of_y) | (least ^ most)


def _difference(x: Int, y: Int, of_x: Int, of_y: Int) -> Int:
    if x.op == "const" and x.attrs[0] == -1:  # the bits of y, inverted
        return of_y
    least = (x if _is_none(of_x) else x & ~of_x) - (y if _is_none(of_y) else y | of_y)
    most = (x if _is_none(of_x) else x | of_x) - (y if _is_none(of_y) else y & ~of_y)
    return _either(of_x, of_y) | (least ^ most)


def _product(x: Int, y: Int, of_x: Int, of_y: Int) -> Int:
    """The bits from the lowest that is undefined on; a power of two shifts them."""
    for factor, bits in ((x, of_y), (y, of_x)):
        value = factor.attrs[0] if factor.op == "const" else 0
        if value > 0 and value & (value - 1) == 0:
            return bits << value.bit_length() - 1
    undefined = _either(of_x, of_y)
    return undefined | -undefined


def _both(x: Int, y: Int, of_x: Int, of_y: Int) -> Int:
    """A defined 0 defines the bit."""
    return _either(of_x, of_y) & _either(of_x, x) & _either(of_y, y)


def _one(x: Int, y: Int, of_x: Int, of_y: Int) -> Int:
    """A defined 1 defines the bit."""
    return _either(of_x, of_y) & _either(of_x, ~x) & _either(of_y, ~y)


_ARITHMETIC: dict[str, Callable[[Int, Int, Int, Int], Int]] = {
    "add": _sum,
    "sub": _difference,
    "mul": _product,
    "and": _both,
    "or": _one,
    "xor": lambda x, y, of_x, of_y: _either(of_x, of_y),
}
