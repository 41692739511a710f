"""Terms: exact integers and truth values with known ranges, built by ordinary Python operators.

An `Int` is a mathematical integer: no operation on it overflows. Each term carries the least and the greatest value it
can take, from which the interpretations choose their widths. A `Bool` is a truth value. Terms are shared: building the
same expression twice gives the same object, as long as somebody keeps the first. A term that nobody keeps is freed, so that a
table by `id(term)` has to keep its terms alive.
"""

from __future__ import annotations

import sys
import threading
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

from ptxspec.terms.arithmetic import OPERATIONS

if TYPE_CHECKING:
    from ptxspec.terms.types import Type

Kind = TypeVar("Kind", covariant=True)


class TermError(Exception):
    """A definition was written wrongly. The message begins with the document and line that did it."""


def blame(message: str) -> TermError:
    """A TermError that names the innermost document line on the stack."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(".md"):
            return TermError(f"{frame.f_code.co_filename}:{frame.f_lineno}: {message}")
        frame = frame.f_back
    return TermError(message)


class KnownTerms(Protocol):
    """What is known of terms that are no constants, while a function of a page is asked about numbers side by side."""

    def value(self, term: Any) -> int:
        """The value of a term, on which Python branches."""

    def number(self, size: Any, exponent: Any) -> Any:
        """size · 2^exponent, with which Python reckons."""


class _Here(threading.local):
    """What is known in this thread."""

    known: KnownTerms | None = None


HERE = _Here()


class Term:
    """What `Int` and `Bool` share: an operator, its arguments (terms) and its static attributes."""

    __slots__ = ("__weakref__", "args", "attrs", "hi", "lo", "op")

    op: str
    args: tuple[Any, ...]
    attrs: tuple[Any, ...]
    lo: int
    hi: int

    def __bool__(self) -> bool:
        if HERE.known is not None:
            return bool(HERE.known.value(self))
        raise blame("Python cannot branch on a term: its value is known only when the instruction runs; use select()")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        if self.op == "const":
            return str(self.attrs[0])
        if self.op == "var":
            return str(self.attrs[0])
        inner = ", ".join([repr(a) for a in self.args] + [str(a) for a in self.attrs])
        return f"{self.op}({inner})"

    def __iter__(self) -> NoReturn:
        raise blame("a term cannot be iterated over")

    def __index__(self) -> int:
        if self.op == "const":
            return int(self.attrs[0])
        if HERE.known is not None:
            return int(HERE.known.value(self))
        raise blame("a term was used where Python needs a number")


class _Entry(weakref.ref[Term]):
    """A table's hold on a term, which does not keep it alive, and the key under which it stands."""

    __slots__ = ("key",)

    key: tuple[Any, ...]


_interned: dict[tuple[Any, ...], _Entry] = {}


def _forget(entry: _Entry) -> None:
    if _interned.get(entry.key) is entry:
        del _interned[entry.key]


def _intern(cls: type, op: str, args: tuple[Any, ...], attrs: tuple[Any, ...], lo: int, hi: int) -> Any:
    key = (cls, op, attrs, *map(id, args))  # the term keeps its arguments alive, so their ids stay theirs
    entry = _interned.get(key)
    term: Any = None if entry is None else entry()
    if term is None:
        term = object.__new__(cls)
        term.op, term.args, term.attrs, term.lo, term.hi = op, args, attrs, lo, hi
        entry = _Entry(term, _forget)
        entry.key = key
        _interned[key] = entry
    return term


def make(op: str, args: tuple[Term, ...] = (), attrs: tuple[Any, ...] = ()) -> Any:
    """The term `op(args)`, folded if every argument is a constant."""
    rule = OPERATIONS[op]
    if rule.meaning is not None and all(a.op == "const" for a in args):
        return constant(rule.meaning(*[a.attrs[0] for a in args], *attrs))
    lo, hi = rule.range(args, attrs)
    if lo == hi and not rule.truth:
        return constant(lo)
    return _intern(Bool if rule.truth else Int, op, args, attrs, lo, hi)


class Maker(Protocol[Kind]):
    """`make` for operators whose terms are all of one kind."""

    def __call__(self, op: str, args: tuple[Term, ...] = (), attrs: tuple[Any, ...] = ()) -> Kind: ...


#: the same function, typed by what an operator gives
make_int: Maker[Int] = make
make_bool: Maker[Bool] = make


def constant(value: int | bool) -> Any:
    if isinstance(value, bool):
        return _intern(Bool, "const", (), (value,), int(value), int(value))
    return _intern(Int, "const", (), (value,), value, value)


def variable(name: str, width: int) -> Int:
    """An input: the raw bits of a register, as a number from 0 to 2^width − 1."""
    term: Int = _intern(Int, "var", (), (name, width), 0, (1 << width) - 1)
    return term


def truth_variable(name: str) -> Bool:
    """An input that is a predicate."""
    term: Bool = _intern(Bool, "var", (), (name, 1), 0, 1)
    return term


def variable_of(name: str, type: Type) -> Any:
    """An input of a type: a predicate, or raw bits."""
    return truth_variable(name) if type.kind == "pred" else variable(name, type.width)


def integer(value: Int | int) -> Int:
    """`value` as an Int. A Bool is refused: say what its two values are with select()."""
    if isinstance(value, Int):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        term: Int = constant(value)
        return term
    raise blame(f"an integer is needed here, not {type(value).__name__} {value!r}")


def truth(value: Bool | bool) -> Bool:
    """`value` as a Bool. An Int is refused: compare it with something."""
    if isinstance(value, Bool):
        return value
    if isinstance(value, bool):
        term: Bool = constant(value)
        return term
    raise blame(f"a truth value is needed here, not {type(value).__name__} {value!r}")


class Int(Term):
    """An exact integer between `lo` and `hi`."""

    __slots__ = ()

    if TYPE_CHECKING:  # in annotations: the same kind of number, of another width
        doubled: TypeAlias = "Int"
        half: TypeAlias = "Int"
        quarter: TypeAlias = "Int"

    def __add__(self, other: Int | int) -> Int:
        other = integer(other)
        if other.op == "const" and other.attrs[0] == 0:
            return self
        return make_int("add", (self, other))

    def __radd__(self, other: int) -> Int:
        return integer(other) + self

    def __sub__(self, other: Int | int) -> Int:
        return make_int("sub", (self, integer(other)))

    def __rsub__(self, other: int) -> Int:
        return make_int("sub", (integer(other), self))

    def __neg__(self) -> Int:
        return make_int("sub", (constant(0), self))

    def __mul__(self, other: Int | int) -> Int:
        return make_int("mul", (self, integer(other)))

    def __rmul__(self, other: int) -> Int:
        return make_int("mul", (integer(other), self))

    def __and__(self, other: Int | int) -> Int:
        return make_int("and", (self, integer(other)))

    __rand__ = __and__

    def __or__(self, other: Int | int) -> Int:
        return make_int("or", (self, integer(other)))

    __ror__ = __or__

    def __xor__(self, other: Int | int) -> Int:
        return make_int("xor", (self, integer(other)))

    __rxor__ = __xor__

    def __invert__(self) -> Int:
        """−1 − x: every bit of the endless two's complement inverted."""
        return make_int("sub", (constant(-1), self))

    def __lshift__(self, count: Int | int) -> Int:
        """x · 2^count, for a count that is never negative."""
        return make_int("shl", (self, _count(count)))

    def __rlshift__(self, other: int) -> Int:
        return make_int("shl", (integer(other), _count(self)))

    def __rshift__(self, count: Int | int) -> Int:
        """⌊x / 2^count⌋, for a count that is never negative."""
        return make_int("shr", (self, _count(count)))

    def __rrshift__(self, other: int) -> Int:
        return make_int("shr", (integer(other), _count(self)))

    # Comparing terms makes a term, where object's own methods promise a bool.
    def __eq__(self, other: Int | int) -> Bool:  # type: ignore[override]
        return compared("eq", self, integer(other))

    def __ne__(self, other: Int | int) -> Bool:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: Int | int) -> Bool:
        return compared("lt", self, integer(other))

    def __gt__(self, other: Int | int) -> Bool:
        return compared("lt", integer(other), self)

    def __le__(self, other: Int | int) -> Bool:
        return ~(self > other)

    def __ge__(self, other: Int | int) -> Bool:
        return ~(self < other)

    __hash__ = Term.__hash__

    def __floordiv__(self, other: object) -> NoReturn:
        raise blame("use quotient(a, b), which rounds toward zero and says what division by zero gives")

    __truediv__ = __mod__ = __floordiv__


#: integers in a function's signature that are all terms, or all Python's own
Integer = TypeVar("Integer", Int, int)


class Bool(Term):
    """A truth value. Combine with & | ^ ~, compare with == and !=."""

    __slots__ = ()

    def __and__(self, other: Bool | bool) -> Bool:
        other = truth(other)
        for x, y in ((self, other), (other, self)):
            if x.op == "const":
                return y if x.attrs[0] else x
        return make_bool("all", (self, other))

    __rand__ = __and__

    def __or__(self, other: Bool | bool) -> Bool:
        other = truth(other)
        for x, y in ((self, other), (other, self)):
            if x.op == "const":
                return x if x.attrs[0] else y
        return make_bool("any", (self, other))

    __ror__ = __or__

    def __xor__(self, other: Bool | bool) -> Bool:
        return make_bool("differ", (self, truth(other)))

    __rxor__ = __xor__

    def __invert__(self) -> Bool:
        return truth(self.args[0]) if self.op == "not" else make_bool("not", (self,))

    # Terms here too, where object's own methods promise a bool.
    def __eq__(self, other: Bool | bool) -> Bool:  # type: ignore[override]
        return ~(self ^ other)

    def __ne__(self, other: Bool | bool) -> Bool:  # type: ignore[override]
        return self ^ other

    __hash__ = Term.__hash__


def _count(value: Int | int) -> Int:
    count = integer(value)
    if count.lo < 0:
        raise blame(f"a shift count that can be negative (it ranges from {count.lo} to {count.hi})")
    return count


def compared(op: str, a: Int, b: Int) -> Bool:
    """A comparison, decided at once where the ranges decide it, or both are one term."""
    if a is b:
        return truth(op == "eq")
    if op == "lt" and a.hi < b.lo:
        return truth(True)
    if op == "lt" and a.lo >= b.hi:
        return truth(False)
    if op == "eq" and (a.hi < b.lo or b.hi < a.lo):
        return truth(False)
    return make_bool(op, (a, b))
