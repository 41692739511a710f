"""The symbolic interpretation: terms become SMT-LIB 2 text over bit-vectors of the exact widths, which every solver reads alike.

Registers are bits throughout. The theory of floating-point numbers, which has one NaN, is entered only inside the operations
that it supplies, and a definition never looks at what those give for a NaN: NaN results are chosen outside, by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptxspec.terms.exact import unchosen
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.types import Type

#: a format's bits for the exponent, and for the significand with its hidden bit
_FORMATS = {"f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53)}
_ROUNDING = {"rn": "RNE", "rz": "RTZ", "rm": "RTN", "rp": "RTP"}
#: what this interpretation supplies
SUPPLIED = {"sum": "fp.add", "product": "fp.mul", "fused": "fp.fma", "ratio": "fp.div", "square_root": "fp.sqrt"}
_BINARY = {
    "add": "bvadd",
    "sub": "bvsub",
    "mul": "bvmul",
    "and": "bvand",
    "or": "bvor",
    "xor": "bvxor",
    "shl": "bvshl",
    "lshr": "bvlshr",
    "ashr": "bvashr",
    "udiv": "bvudiv",
    "sdiv": "bvsdiv",
    "urem": "bvurem",
    "srem": "bvsrem",
}
_COMPARE = {"eq": "=", "ult": "bvult", "slt": "bvslt"}


def sort_of(width: int) -> str:
    """The sort of words of a width, or with 0 that of truth values."""
    return f"(_ BitVec {width})" if width else "Bool"


def _float(exponent: int, significand: int) -> str:
    return f"(_ FloatingPoint {exponent} {significand})"


class Script:
    """A backend that writes a script: its values are constants, and names that `lines` declare or define. Equal expressions
    have one name. `free(term, lowering)` returns the value for a freedom.

    A floating-point result becomes bits by a new constant, of which it is asserted that it reads as that number: this is
    standard, and leaves the bits of a NaN open, which nothing looks at. With `functional`, the bits are z3's own function of the
    number instead."""

    def __init__(self, free: Callable[[Any, Lowering], str] | None = None, *, functional: bool = False):
        self.free = free
        self.functional = functional
        #: commands, each a line: declarations, definitions, and what holds of the bits of floating-point results
        self.lines: list[str] = []
        #: the constants that are declared, with their widths; 0 for truth values
        self.declared: dict[str, int] = {}
        #: whether floating-point arithmetic was used
        self.has_floats = False
        self._names: dict[str, str] = {}

    def declare(self, name: str, width: int) -> str:
        """A constant of that name."""
        self.declared[name] = width
        self.lines.append(f"(declare-const {name} {sort_of(width)})")
        return name

    def _named(self, text: str, sort: str) -> str:
        """The name of an expression."""
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = f"t{len(self._names)}"
            self.lines.append(f"(define-fun {name} () {sort} {text})")
        return name

    def _word(self, text: str, n: int) -> str:
        return self._named(text, f"(_ BitVec {n})")

    def _truth(self, text: str) -> str:
        return self._named(text, "Bool")

    def room(self, n: int) -> int:
        return n

    def narrows(self, width: int, n: int) -> bool:
        return False

    def const(self, value: int, n: int) -> str:
        return f"#x{value:0{n // 4}x}" if n % 4 == 0 else f"#b{value:0{n}b}"

    def truth_const(self, value: bool) -> str:
        return "true" if value else "false"

    def truncate(self, v: str, n: int, to: int) -> str:
        return self._word(f"((_ extract {to - 1} 0) {v})", to)

    def extend(self, v: str, n: int, to: int, signed: bool) -> str:
        return self._word(f"((_ {'sign' if signed else 'zero'}_extend {to - n}) {v})", to)

    def binary(self, op: str, x: str, y: str, n: int) -> str:
        return self._word(f"({_BINARY[op]} {x} {y})", n)

    def select(self, c: str, x: str, y: str, n: int) -> str:
        return self._word(f"(ite {c} {x} {y})", n)

    def compare(self, op: str, x: str, y: str, n: int) -> str:
        return self._truth(f"({_COMPARE[op]} {x} {y})")

    def logic(self, op: str, x: str, y: str) -> str:
        if op == "xor" and y == "true":
            return self._truth(f"(not {x})")
        return self._truth(f"({op} {x} {y})")

    def bit_length(self, v: str, n: int) -> str:
        """By halves, from the top: the half that holds the highest 1 goes on, and which one it is, is a bit of that one's place.
        What is left in the end says whether there is a 1 at all. So its text is as long as n has bits, not as n is wide."""
        if n == 1:
            return v
        places = (n - 1).bit_length()
        left, place = self._extended(v, n, 1 << places), []
        for half in (1 << i for i in reversed(range(places))):
            upper = self._word(f"((_ extract {2 * half - 1} {half}) {left})", half)
            is_above = self._truth(f"(distinct {upper} {self.const(0, half)})")
            left = self.select(is_above, upper, self._word(f"((_ extract {half - 1} 0) {left})", half), half)
            place.append(self.select(is_above, "#b1", "#b0", 1))
        highest = self._word(f"(concat {' '.join(place)})", places) if places > 1 else place[0]
        return self.binary("add", self._extended(highest, places, n), self._extended(left, 1, n), n)

    def _extended(self, v: str, n: int, to: int) -> str:
        return v if n == to else self.extend(v, n, to, False)

    def popcount(self, v: str, n: int) -> str:
        """The sum of the bits, added as a balanced tree."""
        if n == 1:
            return v
        parts = [self.extend(self._word(f"((_ extract {i} {i}) {v})", 1), 1, n, False) for i in range(n)]
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [self.binary("add", pair[0], pair[1], n) if len(pair) == 2 else pair[0] for pair in pairs]
        return parts[0]

    def lookup(self, table: tuple[int, ...], v: str, n: int, to: int) -> str:
        """By halves, from the index's top bit down."""
        if n == 0 or len(table) == 1:
            return self.const(table[0] & ((1 << to) - 1), to)
        half = 1 << (n - 1)
        below = self.lookup(table[:half], v, n - 1, to)
        if len(table) <= half:
            return below
        bit = self._word(f"((_ extract {n - 1} {n - 1}) {v})", 1)
        return self.select(self._truth(f"(= {bit} #b1)"), self.lookup(table[half:], v, n - 1, to), below, to)

    def invalid(self, name: str, type: Any, operands: Callable[[], list[Any]]) -> None:
        return None

    def intrinsic(self, name: str, arguments: tuple[Any, ...], lowering: Lowering) -> None:
        return None

    def supplies(self, name: str, static: tuple[Any, ...]) -> bool:
        return name in SUPPLIED and static[0].name in _FORMATS

    def call(self, name: str, static: tuple[Any, ...], args: list[str]) -> str:
        self.has_floats = True
        type, rounding, ftz = static
        exponent, significand = _FORMATS[type.name]
        sort, mode = _float(exponent, significand), _ROUNDING[rounding]
        numbers = [self._named(f"((_ to_fp {exponent} {significand}) {a})", sort) for a in args]
        result = self._bits(self._named(f"({SUPPLIED[name]} {mode} {' '.join(numbers)})", sort), type)
        if not ftz:
            return result
        # the same operation with room below: what is then smaller than the least normal number is flushed
        to_wide, wide = f"(_ to_fp {exponent + 2} {significand})", _float(exponent + 2, significand)
        widened = [self._named(f"({to_wide} RNE {number})", wide) for number in numbers]
        unbounded = self._named(f"({SUPPLIED[name]} {mode} {' '.join(widened)})", wide)
        normal = self._named(
            f"((_ to_fp {exponent} {significand}) {self.const(1 << (significand - 1), type.width)})", sort
        )
        least = self._named(f"({to_wide} RNE {normal})", wide)
        sign = self.binary("and", result, self.const(1 << (type.width - 1), type.width), type.width)
        return self.select(self._truth(f"(fp.lt (fp.abs {unbounded}) {least})"), sign, result, type.width)

    def _bits(self, number: str, type: Type) -> str:
        """The bits of a floating-point number."""
        if self.functional:
            return self._word(f"(fp.to_ieee_bv {number})", type.width)
        pattern = self._names.get(f"bits {number}")
        if pattern is None:
            pattern = self._names[f"bits {number}"] = self.declare(f"bits.{number}", type.width)
            exponent, significand = _FORMATS[type.name]
            self.lines.append(f"(assert (= ((_ to_fp {exponent} {significand}) {pattern}) {number}))")
        return pattern

    def freedom(self, term: Any, lowering: Lowering) -> str:
        if self.free is None:
            chosen: str = lowering.low(unchosen(term), term.attrs[1])
            return chosen
        return self.free(term, lowering)


def parsed(script: Script, wanted: Sequence[tuple[str, int]]) -> list[Any]:
    """Values of a script, each with its width (0 for a truth value), as z3's expressions in its main context."""
    import z3

    lines = list(script.lines)
    for i, (value, width) in enumerate(wanted):
        lines += [f"(declare-const wanted.{i} {sort_of(width)})", f"(assert (= wanted.{i} {value}))"]
    assertions = z3.parse_smt2_string("\n".join(lines))
    return [equation.arg(1) for equation in list(assertions)[len(assertions) - len(wanted) :]]


def ground(script: Script, value: str, width: int) -> int | bool:
    """What a value without free constants is, by z3: a number, or with the width 0 a truth value."""
    import z3

    solver = z3.Solver()
    equal = [f"(declare-const wanted {sort_of(width)})", f"(assert (= wanted {value}))"]
    solver.from_string("\n".join([*script.lines, *equal]))
    if solver.check() != z3.sat:
        raise ValueError(f"no value: {solver.reason_unknown()}")
    model_value = solver.model().eval(
        z3.Bool("wanted") if width == 0 else z3.BitVec("wanted", width), model_completion=True
    )
    return z3.is_true(model_value) if width == 0 else int(model_value.as_long())
