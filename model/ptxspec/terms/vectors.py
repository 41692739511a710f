"""The native interpretation of several lanes at a time: terms become LLVM's vectors, an element a lane.

A value that is the same in all lanes stays a word, and what is computed from such words only is computed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import SUPPLIED, Emitter, is_wider, set_apart
from ptxspec.terms.nearby import FloatWriter

_FLOATS = {32: "float", 64: "double"}
#: how operations on vectors of integers begin that cost little; and how a value is named
_CHEAP = ("add ", "sub ", "mul ", "shl ", "and ", "zext ", "sext ", "trunc ", "shufflevector ")
_VALUE = re.compile(r"%[\w.]+")
#: the widest integers that vectors are made of
WIDEST = 64


#: the elements of a vector of steps: as many as a lane's number may have bits, and none behind them
STEPS = 8
#: how far steps may go whose sums have to be words of 64 bits
LONGEST_STEP = (1 << 60) - 1
#: the steps of what is the same in all lanes
NO_STEPS = "zeroinitializer"


class VectorShape(NamedTuple):
    """How a vector goes from lane to lane, in words of its width: a lane has `base`, and beside it the step of each bit that its
    number has; if `holds`. So has a coordinate of a thread in its CTA wherever sizes are powers of two. The steps are a vector of
    STEPS words, that of the lowest bit first."""

    base: str
    steps: str
    holds: str


def of_steps(n: int) -> str:
    """The LLVM type of the steps of words of so many bits."""
    return f"<{STEPS} x i{n}>"


def written_steps(steps: tuple[int, ...], n: int) -> str:
    """Steps that are known, and none behind them, as an LLVM constant."""
    words = [f"i{n} {s & (1 << n) - 1}" for s in (*steps, *([0] * (STEPS - len(steps))))]
    return f"<{', '.join(words)}>"


class NoVectors(Exception):
    """Something is not computed in vectors: one lane after the other must compute it."""


class VectorEmitter(Emitter):
    """An Emitter whose values are words, or vectors of so many lanes; `varying` has the names of the vectors."""

    def __init__(
        self,
        lines: list[str],
        needs: set[str],
        choose: Callable[[Any], Any] | None = None,
        stem: str = "v",
        *,
        lanes: int,
    ):
        super().__init__(lines, needs, choose, stem)
        self.lanes = lanes
        self.varying: set[str] = set()
        #: whether to compute in 32 bits what fits there; addresses, whose shapes are asked for, are better computed whole
        self.narrow = False
        #: how to find the shapes of vectors that may have one
        self.shapes: dict[str, Callable[[], VectorShape | None]] = {}
        #: the text of each vector that is made of others by arithmetic alone
        self._made_of: dict[str, str] = {}

    # vectors --------------------------------------------------------------------------------------------------------

    def varies(self, *values: str) -> bool:
        """Whether one of some values is a vector."""
        return not self.varying.isdisjoint(values)

    def type(self, element: str) -> str:
        """The type of a vector of such elements."""
        return f"<{self.lanes} x {element}>"

    def vector(self, text: str) -> str:
        """Append `%n = text`, or name the vector if the same text was emitted before. Only for what has no effect."""
        name = self.emit(text)
        self.varying.add(name)
        if text.startswith(_CHEAP):
            self._made_of[name] = text
        return name

    def made_again(self, value: str, most: int = 12) -> str:
        """A vector, computed anew from those that it is made of, by so many operations at most. If that is seldom, and the vector
        is needed nowhere else, it is not computed where it was named first."""
        again: dict[str, str] = {}

        def made(match: re.Match[str]) -> str:
            return anew(match[0])

        def anew(name: str) -> str:
            if name not in self._made_of or len(again) >= most:
                return name
            if name not in again:
                text = _VALUE.sub(made, self._made_of[name])
                again[name] = self.fresh()
                self.varying.add(again[name])
                self.lines.append(f"  {again[name]} = {text}")
            return again[name]

        return anew(value)

    def spread(self, value: str, element: str) -> str:
        """A value as a vector."""
        if value in self.varying:
            return value
        if not value.startswith("%"):
            return f"splat ({element} {value})"
        type = self.type(element)
        first = self.emit(f"insertelement {type} poison, {element} {value}, i64 0")
        return self.vector(f"shufflevector {type} {first}, {type} poison, <{self.lanes} x i32> zeroinitializer")

    def bits(self, truths: str) -> str:
        """Truth values as a word that has a bit for each lane."""
        word = f"i{self.lanes}"
        if truths in self.varying:
            return self.emit(f"bitcast {self.type('i1')} {truths} to {word}")
        if truths in ("true", "false"):
            return "-1" if truths == "true" else "0"
        return self.emit(f"sext i1 {truths} to {word}")

    def truths(self, bits: str) -> str:
        """The same back: a vector of truth values."""
        return self.vector(f"bitcast i{self.lanes} {bits} to {self.type('i1')}")

    def _both(self, element: str, *values: str) -> str:
        return ", ".join(self.spread(v, element) for v in values)

    # shapes ---------------------------------------------------------------------------------------------------------

    def shape(self, value: str) -> VectorShape | None:
        """The shape of a value, written where the lines have come to; None if none is known."""
        if value not in self.varying:
            return VectorShape(value, NO_STEPS, "true")
        shape_of = self.shapes.get(value)
        return None if shape_of is None else shape_of()

    def _shaped(self, value: str, of: Callable[[], VectorShape | None]) -> str:
        self.shapes.setdefault(value, of)
        return value

    def _sum(self, op: str, x: str, y: str, n: int) -> VectorShape | None:
        a, b = self.shape(x), self.shape(y)
        if a is None or b is None:
            return None
        steps = a.steps
        if b.steps != NO_STEPS:
            plain = op == "add" and steps == NO_STEPS
            steps = b.steps if plain else self.emit(f"{op} {of_steps(n)} {steps}, {b.steps}")
        return VectorShape(self.binary(op, a.base, b.base, n), steps, self.logic("and", a.holds, b.holds))

    def _times(self, op: str, x: str, y: str, n: int) -> VectorShape | None:
        """A product, or a number that is shifted to the left, by what is the same in all lanes."""
        if op == "mul" and x not in self.varying:
            x, y = y, x
        a = None if y in self.varying else self.shape(x)
        if a is None:
            return None
        steps = a.steps
        if steps != NO_STEPS:
            steps = self.emit(f"{op} {of_steps(n)} {steps}, {self._for_steps(y, n)}")
        return VectorShape(self.binary(op, a.base, y, n), steps, a.holds)

    def _for_steps(self, word: str, n: int) -> str:
        """A word as often as there are steps."""
        if not word.startswith("%"):
            return f"splat (i{n} {word})"
        first = self.emit(f"insertelement {of_steps(n)} poison, i{n} {word}, i64 0")
        return self.emit(f"shufflevector {of_steps(n)} {first}, {of_steps(n)} poison, <{STEPS} x i32> zeroinitializer")

    def _selected(self, c: str, x: str, y: str, n: int) -> VectorShape | None:
        """That of the first or of the second, if all lanes take the same."""
        a, b = self.shape(x), self.shape(y)
        if a is None and b is None:
            return None
        every, none = c, self.logic("xor", c, "true")
        if c in self.varying:
            every, none = (self.compare("eq", self.bits(c), bits, self.lanes) for bits in ("-1", "0"))
        first, second = a or b, b or a
        assert first is not None and second is not None
        holds = [self.logic("and", taken, s.holds) for taken, s in ((every, a), (none, b)) if s is not None]
        either = holds[0] if len(holds) == 1 else self.logic("or", *holds)
        steps = first.steps
        if steps != second.steps:
            steps = self.emit(f"select i1 {every}, {of_steps(n)} {steps}, {of_steps(n)} {second.steps}")
        return VectorShape(self.select(every, first.base, second.base, n), steps, either)

    def _masked(self, x: str, y: str, n: int) -> VectorShape | None:
        """The low bits of what has no others."""
        if n != 64 or y.startswith("%"):
            return None
        low_bits = int(y) & (1 << n) - 1
        if low_bits & (low_bits + 1):
            return None
        a = self.shape(x)
        if a is None or low_bits == (1 << n) - 1:
            return a
        if low_bits > LONGEST_STEP:
            return None
        least, most = self.spans(a.steps)
        ends = [self.compare("ule", self.binary("add", a.base, end, 64), y, 64) for end in (least, most)]
        inside = self.logic("and", self.are_short(a.steps, low_bits), self.logic("and", *ends))
        return a._replace(holds=self.logic("and", a.holds, inside))

    def _extended(self, v: str, n: int, to: int, signed: bool) -> VectorShape | None:
        """The numbers must go on from lane to lane as they do in words of fewer bits: so they do if no step is long
        (nor, without a sign, downwards), and the first lane's number is further from the ends than all of them lead."""
        a = self.shape(v)
        if a is None or to > 64 or n < 8:
            return None
        base, steps, most = super().extend(a.base, n, to, signed), a.steps, 1 << (n - 6)
        if steps == NO_STEPS:
            return VectorShape(base, steps, a.holds)
        end = STEPS * most
        if signed:
            short, lowest = self.are_short(steps, most, n), (1 << n - 1) - end
            inside = self.compare("ult", self.binary("add", a.base, str(lowest), n), str(-2 * end), n)
        else:
            short, inside = self._are_at_most(steps, most, n), self.compare("ult", a.base, str(-end), n)
        holds = self.logic("and", a.holds, self.logic("and", short, inside))
        return VectorShape(base, self.emit(f"sext {of_steps(n)} {steps} to {of_steps(to)}"), holds)

    def _shortened(self, shape: VectorShape, n: int, to: int) -> VectorShape:
        """The shape of the low bits."""
        steps = shape.steps
        if steps != NO_STEPS:
            steps = self.emit(f"trunc {of_steps(n)} {steps} to {of_steps(to)}")
        return shape._replace(base=self.truncate(shape.base, n, to), steps=steps)

    def are_short(self, steps: str, most: int, n: int = 64) -> str:
        """Whether no step of words of so many bits goes further than that, up or down."""
        return self._are_at_most(self.emit(f"add {of_steps(n)} {steps}, splat (i{n} {most})"), 2 * most, n)

    def _are_at_most(self, steps: str, most: int, n: int) -> str:
        """Whether no step is greater, or below 0."""
        truths = self.emit(f"icmp ule {of_steps(n)} {steps}, splat (i{n} {most})")
        return self.compare("eq", self.emit(f"bitcast <{STEPS} x i1> {truths} to i{STEPS}"), "-1", STEPS)

    def spans(self, steps: str) -> tuple[str, str]:
        """How far the least and the greatest number of a shape are from its base, in words of 64 bits. None of the steps may be
        longer than LONGEST_STEP."""
        if steps == NO_STEPS:
            return "0", "0"
        type = of_steps(64)
        most, sum = f"@llvm.smax.v{STEPS}i64", f"@llvm.vector.reduce.add.v{STEPS}i64"
        self.needs |= {f"declare {type} {most}({type}, {type})", f"declare i64 {sum}({type})"}
        through = self.emit(f"call i64 {sum}({type} {steps})")
        up = self.emit(f"call {type} {most}({type} {steps}, {type} zeroinitializer)")
        greatest = self.emit(f"call i64 {sum}({type} {up})")
        return self.binary("sub", through, greatest, 64), greatest

    @property
    def bit_count(self) -> int:
        """How many bits the number of a lane has."""
        return self.lanes.bit_length() - 1

    def stepped(self, steps: str, n: int) -> str:
        """A vector that has in each lane the steps of the bits of its number."""
        total = "0"
        for bit in range(self.bit_count):
            places = ", ".join(f"i32 {bit if k >> bit & 1 else STEPS - 1}" for k in range(self.lanes))
            type = of_steps(n)
            part = self.vector(f"shufflevector {type} {steps}, {type} poison, <{self.lanes} x i32> <{places}>")
            total = self.binary("add", total, part, n)
        return total

    def described(self, vector: str, n: int) -> VectorShape:
        """The shape that a vector has if the lanes whose numbers have one bit go on to the others."""
        type = self.type(f"i{n}")
        base = self.emit(f"extractelement {type} {vector}, i64 0")
        # behind the steps, the first lane less itself
        lanes = [1 << bit for bit in range(self.bit_count)]
        places = ", ".join(f"i32 {k}" for k in [*lanes, *([0] * (STEPS - len(lanes)))])
        others = self.emit(f"shufflevector {type} {vector}, {type} poison, <{STEPS} x i32> <{places}>")
        written = self.emit(f"sub {of_steps(n)} {others}, {self._for_steps(base, n)}")
        made = self.binary("add", self.stepped(written, n), base, n)
        return VectorShape(base, written, self._are_equal(made, vector, n))

    def _are_equal(self, x: str, y: str, n: int) -> str:
        return self.emit(f"icmp eq i{self.lanes} {self.bits(self.compare('eq', x, y, n))}, -1")

    # what a backend does --------------------------------------------------------------------------------------------

    def narrows(self, width: int, n: int) -> bool:
        return width < n and (n > WIDEST or (self.narrow and width >= 32))

    def truncate(self, v: str, n: int, to: int) -> str:
        if v not in self.varying:
            return super().truncate(v, n, to)
        result = self.vector(f"trunc {self.type(f'i{n}')} {v} to {self.type(f'i{to}')}")
        return self._shaped(result, lambda: self._truncated(v, n, to))

    def _truncated(self, v: str, n: int, to: int) -> VectorShape | None:
        a = self.shape(v)
        return None if a is None else self._shortened(a, n, to)

    def extend(self, v: str, n: int, to: int, signed: bool) -> str:
        if v not in self.varying:
            return super().extend(v, n, to, signed)
        self._fits(to)
        result = self.vector(f"{'sext' if signed else 'zext'} {self.type(f'i{n}')} {v} to {self.type(f'i{to}')}")
        return self._shaped(result, lambda: self._extended(v, n, to, signed))

    def _fits(self, n: int) -> None:
        if n > WIDEST:
            raise NoVectors(f"vectors of {n} bits")

    def binary(self, op: str, x: str, y: str, n: int) -> str:
        if not self.varies(x, y):
            return super().binary(op, x, y, n)
        self._fits(n)
        result = self.vector(f"{op} {self.type(f'i{n}')} {self._both(f'i{n}', x, y)}")
        if op in ("add", "sub"):
            self._shaped(result, lambda: self._sum(op, x, y, n))
        elif op in ("mul", "shl"):
            self._shaped(result, lambda: self._times(op, x, y, n))
        elif op == "and":
            self._shaped(result, lambda: self._masked(x, y, n))
        return result

    def select(self, c: str, x: str, y: str, n: int) -> str:
        if not self.varies(c, x, y):
            return super().select(c, x, y, n)
        self._fits(n)
        type = self.type(f"i{n}")
        first, second = self.spread(x, f"i{n}"), self.spread(y, f"i{n}")
        condition = f"{self.type('i1')} {c}" if c in self.varying else f"i1 {c}"
        result = self._shaped(
            self.vector(f"select {condition}, {type} {first}, {type} {second}"), lambda: self._selected(c, x, y, n)
        )
        tested = self._tested.get(c)
        if tested is not None and n in _FLOATS:
            if self._seen.get(f"bitcast {self.type(_FLOATS[n])} {tested} to {type}") == y:
                self._results[result] = tested
        return result

    def compare(self, op: str, x: str, y: str, n: int) -> str:
        if not self.varies(x, y):
            return super().compare(op, x, y, n)
        self._fits(n)
        return self.vector(f"icmp {op} {self.type(f'i{n}')} {self._both(f'i{n}', x, y)}")

    def logic(self, op: str, x: str, y: str) -> str:
        if not self.varies(x, y):
            return super().logic(op, x, y)
        return self.vector(f"{op} {self.type('i1')} {self._both('i1', x, y)}")

    def bit_length(self, v: str, n: int) -> str:
        if v not in self.varying:
            return super().bit_length(v, n)
        type, name = self.type(f"i{n}"), f"@llvm.ctlz.v{self.lanes}i{n}"
        self.needs.add(f"declare {type} {name}({type}, i1)")
        zeros = self.vector(f"call {type} {name}({type} {v}, i1 false)")
        return self.vector(f"sub {type} splat (i{n} {n}), {zeros}")

    def popcount(self, v: str, n: int) -> str:
        if v not in self.varying:
            return super().popcount(v, n)
        type, name = self.type(f"i{n}"), f"@llvm.ctpop.v{self.lanes}i{n}"
        self.needs.add(f"declare {type} {name}({type})")
        return self.vector(f"call {type} {name}({type} {v})")

    def lookup(self, table: tuple[int, ...], v: str, n: int, to: int) -> str:
        if v not in self.varying:
            return super().lookup(table, v, n, to)
        size, name = self.table(table, to)
        index = v if n == 64 else self.extend(v, n, 64, False)
        places = self.vector(f"getelementptr i{size}, ptr {name}, {self.type('i64')} {index}")
        entries = self.gather(places, f"i{size}", size // 8)
        return self.truncate(entries, size, to) if size > to else entries

    def gather(self, places: str, element: str, align: int) -> str:
        """What lies at the places. Appended anew each time."""
        type, name = self.type(element), f"@llvm.masked.gather.v{self.lanes}{element}.v{self.lanes}p0"
        pointers, mask = self.type("ptr"), self.type("i1")
        self.needs.add(f"declare {type} {name}({pointers}, {mask}, {type})")
        result = self.fresh()
        self.lines.append(
            f"  {result} = call {type} {name}({pointers} align {align} {places}, {mask} splat (i1 true), {type} zeroinitializer)"
        )
        self.varying.add(result)
        return result

    def reduced(self, op: str, v: str, n: int) -> str:
        """One word of those of all lanes: their least (smin) or greatest (smax), or all their bits (or)."""
        type, name = self.type(f"i{n}"), f"@llvm.vector.reduce.{op}.v{self.lanes}i{n}"
        self.needs.add(f"declare i{n} {name}({type})")
        return self.emit(f"call i{n} {name}({type} {v})")

    def supplies(self, name: str, static: tuple[Any, ...]) -> bool:
        if name not in SUPPLIED:
            return False
        if static[0].name in ("f32", "f64") or is_wider(name, static):
            return True
        return set_apart(name, *static)[2] > WIDEST

    def call(self, name: str, static: tuple[Any, ...], args: list[str]) -> str:
        if not self.varies(*args):
            return super().call(name, static, args)
        type, rounding, ftz = static
        if type.name in ("f32", "f64") and rounding == "rn" and not ftz:
            real = self.type(_FLOATS[type.width])
            result = self._operation(name, type.width, args)
            if result not in self.varying:
                return self.emit(f"bitcast {_FLOATS[type.width]} {result} to i{type.width}")
            return self.vector(f"bitcast {real} {result} to {self.type(f'i{type.width}')}")
        if is_wider(name, static):
            return self._wider(name, static, args)
        function, needs = self.function_of(name, static)
        self.needs.update(needs)
        return self.mapped(function, f"i{type.width}", [(a, f"i{type.width}") for a in args])

    def writer(self, *values: str) -> FloatWriter:
        if not self.varies(*values):
            return super().writer(*values)
        return FloatWriter(self.vector, self.type, self.spread, self.needs)

    def mapped(self, function: str, result: str, given: list[tuple[str, str]]) -> str:
        """What a function of words gives in each lane; it changes nothing."""
        name = f"@{function.removeprefix('@')}_of_{self.lanes}"
        lanes, count = self.type(result), self.lanes
        parameters = ", ".join(f"{self.type(t)} %a{i}" for i, (_, t) in enumerate(given))
        stored, loaded = [], []
        for i, (_, t) in enumerate(given):
            stored.append(f"  %s{i} = alloca {self.type(t)}\n  store {self.type(t)} %a{i}, ptr %s{i}")
            loaded.append(f"  %p{i} = getelementptr {t}, ptr %s{i}, i64 %k\n  %w{i} = load {t}, ptr %p{i}")
        words = ", ".join(f"{t} %w{i}" for i, (_, t) in enumerate(given))
        joined = "\n".join
        self.needs.add(
            f"""define internal {lanes} {name}({parameters}) noinline {{
entry:
  %out = alloca {lanes}
{joined(stored)}
  br label %each
each:
  %k = phi i64 [0, %entry], [%k1, %each]
{joined(loaded)}
  %r = call {result} @{function.removeprefix("@")}({words})
  %q = getelementptr {result}, ptr %out, i64 %k
  store {result} %r, ptr %q
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, {count}
  br i1 %more, label %each, label %done
done:
  %all = load {lanes}, ptr %out
  ret {lanes} %all
}}"""
        )
        words = ", ".join(f"{self.type(t)} {self.spread(v, t)}" for v, t in given)
        return self.vector(f"call {lanes} {name}({words})")

    def call_where_different(self, function: str, result: str, given: list[tuple[str, str]]) -> str:
        if not self.varies(*(value for value, _ in given)):
            return super().call_where_different(function, result, given)
        name, lanes = f"@{function}_where_different_of_{self.lanes}", self.type(result)
        lines: list[str] = []
        inside = VectorEmitter(lines, self.needs, lanes=self.lanes)
        parameters = [(f"%a{i}", type) for i, (_, type) in enumerate(given)]
        inside.varying.update(parameter for parameter, _ in parameters)
        asked = inside.mapped(function, result, parameters)
        listed, joined = ", ".join(f"{self.type(type)} {parameter}" for parameter, type in parameters), "\n".join(lines)
        self.needs.add(
            f"""define internal {lanes} {name}({listed}) alwaysinline {{
  %different = icmp ne {lanes} %a0, %a1
  %bits = bitcast {self.type("i1")} %different to i{self.lanes}
  %none = icmp eq i{self.lanes} %bits, 0
  br i1 %none, label %done, label %ask
ask:
{joined}
  ret {lanes} {asked}
done:
  ret {lanes} %a0
}}"""
        )
        return self.vector(f"call {lanes} {name}({', '.join(f'{self.type(t)} {self.spread(v, t)}' for v, t in given)})")

    def _operation(self, name: str, width: int, args: list[str]) -> str:
        if not self.varies(*args) and not self.varies(*(self._results.get(a, a) for a in args)):
            return super()._operation(name, width, args)
        (op, _), real, words = SUPPLIED[name], self.type(_FLOATS[width]), self.type(f"i{width}")
        floats = []
        for a in args:
            known = self._results.get(a)  # see Emitter
            if known is None:
                known = self.vector(f"bitcast {words} {self.spread(a, f'i{width}')} to {real}")
            floats.append(self.spread(known, _FLOATS[width]))
        if op not in ("fma", "sqrt"):
            return self.vector(f"{op} {real} {', '.join(floats)}")
        function = f"@llvm.{op}.v{self.lanes}f{width}"
        self.needs.add(f"declare {real} {function}({', '.join([real] * len(floats))})")
        return self.vector(f"call {real} {function}({', '.join(f'{real} {f}' for f in floats)})")

    def invalid(self, name: str, type: Any, operands: Callable[[], list[str]]) -> str | None:
        if name not in SUPPLIED or type.name not in ("f32", "f64"):
            return None
        result = self._operation(name, type.width, operands())
        if result not in self.varying:
            unordered = self.emit(f"fcmp uno {_FLOATS[type.width]} {result}, {result}")
        else:
            unordered = self.vector(f"fcmp uno {self.type(_FLOATS[type.width])} {result}, {result}")
        self._tested[unordered] = result
        return unordered

    def nearest(self, term: Any, lowering: Lowering) -> str:
        raise NoVectors("the nearest number")

    def call_choice(self, choice: Any, given: list[tuple[str, str]]) -> str:
        if not self.varies(*(v for v, _ in given)):
            return super().call_choice(choice, given)
        result = f"i{choice.attrs[1]}"
        parameters = {f"%a{i}": type for i, (_, type) in enumerate(given)}
        try:
            lanes = {name: self.type(type) for name, type in parameters.items()}
            function = self.choice_function(choice, self.type(result), lanes, self._together)
        except NoVectors:
            return self.mapped(self.choice_function(choice, result, parameters, self._alone), result, given)
        words = ", ".join(f"{self.type(t)} {self.spread(v, t)}" for v, t in given)
        return self.vector(f"call {self.type(result)} {function}({words})")

    def _together(self, lines: list[str], parameters: Collection[str]) -> VectorEmitter:
        """What writes a function of as many lanes."""
        emitter = VectorEmitter(lines, self.needs, self.choose, lanes=self.lanes)
        emitter.narrow = True
        emitter.varying.update(parameters)
        return emitter
