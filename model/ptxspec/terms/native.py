"""The native interpretation: terms become LLVM's intermediate language, as text.

Integers have the widths of the processor's that hold their ranges, and wider ones are some whole words. Of floating point the
processor supplies correctly rounded addition, multiplication, fused multiply-add, division and square root, of which those of two
narrow formats are made (`wider_floats.py`); everything else is derived.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import cache
from typing import Any

from ptxspec.terms import conversions, exact_sums, masked_logic, object_code, outside, wider_floats
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import make, variable
from ptxspec.terms.exact import unchosen
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.nearby import FloatWriter
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import Approximation, low_bits, meaning_of, operands_of, sign_extend

#: what this interpretation supplies: the operation and its number of operands
SUPPLIED = {
    "sum": ("fadd", 2),
    "product": ("fmul", 2),
    "fused": ("fma", 3),
    "ratio": ("fdiv", 2),
    "square_root": ("sqrt", 1),
}
#: those of them that are functions to LLVM, not instructions
_FUNCTIONS = ("fma", "sqrt")
_FLOATS = {16: "half", 32: "float", 64: "double"}
#: the formats in which the processor has them
_OF_PROCESSOR = ("f32", "f64")
#: the pages' functions whose results it knows otherwise
INTRINSICS: dict[str, Callable[..., tuple[str, int] | None]] = {
    "converted": conversions.converted,
    "from_integer": conversions.from_integer,
    "to_integer": conversions.to_integer,
    "to_integral": conversions.to_integral,
    "rounded_sum": exact_sums.rounded_sum,
}
#: bits of the widest integers of which LLVM's vectors pay: with a sum of 576 bits, vectors take it a minute to compile, and run
#: half as fast as one row after the other
WIDEST_IN_VECTORS = 128
_INTEGER = re.compile(r"\bi(\d{3,})\b")
#: so often an operation on integers of more than 64 bits is written out in one text: of vectors of 128 bits, LLVM takes half a
#: second for each
WRITTEN_OUT = 4
#: the widths of the processor's integers
WIDTHS = (1, 8, 16, 32, 64)
#: a choice among open results that has so many operands is a function of its own
MANY_OPERANDS = 8
#: llvm.set.rounding's numbers
_ROUNDING = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}


#: operations that give their first operand where the second is zero
_ZERO_BEHIND = frozenset({"add", "sub", "or", "xor", "shl", "lshr", "ashr"})


class Emitter:
    """A backend that appends instructions to `lines`. `choose(term)` gives the term that resolves a freedom, or the freedom's
    Approximation, if the nearest number is to be taken; the names of values begin with `stem`."""

    def __init__(self, lines: list[str], needs: set[str], choose: Callable[[Any], Any] | None = None, stem: str = "v"):
        self.lines, self.needs, self.choose = lines, needs, choose
        self._stem, self._made = stem, 0
        self._seen: dict[str, str] = {}
        #: by the name of a comparison that says whether a result is a NaN, that result; by the name of a value that is a result
        #: with one NaN in place of all, the result itself
        self._tested: dict[str, str] = {}
        self._results: dict[str, str] = {}
        #: whether this is seldom executed, so that a function that chooses among open results is not worth optimizing
        self.seldom = False
        #: those functions, by what they choose from
        self._choices: dict[tuple[Any, ...], str] = {}
        #: how often an operation was written that the processor has not
        self._written: Counter[tuple[Any, ...]] = Counter()

    def emit(self, text: str) -> str:
        """Append `%n = text`, or name the value if the same text was emitted before. Only for what has no effect."""
        if text not in self._seen:
            name = self.fresh()
            self.lines.append(f"  {name} = {text}")
            self._seen[text] = name
        return self._seen[text]

    def fresh(self) -> str:
        """A name that no value has."""
        self._made += 1
        return f"%{self._stem}{self._made - 1}"

    def forget(self) -> None:
        """Begin a new basic block: values of the last one may not dominate it."""
        self._seen.clear()

    def known(self) -> dict[str, str]:
        """The values that have been named, to come back to behind blocks that they dominate."""
        return dict(self._seen)

    def go_back(self, known: dict[str, str]) -> None:
        """Begin a new basic block that these values dominate."""
        self._seen = dict(known)

    def room(self, n: int) -> int:
        return next((width for width in WIDTHS if n <= width), -(-n // 64) * 64)

    def narrows(self, width: int, n: int) -> bool:
        return width <= 64 < n

    def const(self, value: int, n: int) -> str:
        return str(value)

    def truth_const(self, value: bool) -> str:
        return "true" if value else "false"

    def truncate(self, v: str, n: int, to: int) -> str:
        if not v.startswith("%"):
            return str(int(v) & ((1 << to) - 1))
        return self.emit(f"trunc i{n} {v} to i{to}")

    def extend(self, v: str, n: int, to: int, signed: bool) -> str:
        if not v.startswith("%"):
            value = int(v)
            return str(value - (1 << n) & ((1 << to) - 1) if signed and value >> (n - 1) else value)
        return self.emit(f"{'sext' if signed else 'zext'} i{n} {v} to i{to}")

    def binary(self, op: str, x: str, y: str, n: int) -> str:
        if n > 64 and op.endswith(("div", "rem")) and not _wide_division():
            raise NotImplementedError(f"this machine's compiler library has no division of {n} bits")
        if y == "0" and op in _ZERO_BEHIND:
            return x
        if x == "0" and op in ("add", "or", "xor"):
            return y
        return self.emit(f"{op} i{n} {x}, {y}")

    def select(self, c: str, x: str, y: str, n: int) -> str:
        if x == y:
            return x
        register = self.emit(f"select i1 {c}, i{n} {x}, i{n} {y}")
        tested = self._tested.get(c)
        if tested is not None and n in _FLOATS and self._seen.get(f"bitcast {_FLOATS[n]} {tested} to i{n}") == y:
            self._results[register] = tested
        return register

    def compare(self, op: str, x: str, y: str, n: int) -> str:
        return self.emit(f"icmp {op} i{n} {x}, {y}")

    def logic(self, op: str, x: str, y: str) -> str:
        if op == "and" and "true" in (x, y):
            return y if x == "true" else x
        return self.emit(f"{op} i1 {x}, {y}")

    def bit_length(self, v: str, n: int) -> str:
        self.needs.add(f"declare i{n} @llvm.ctlz.i{n}(i{n}, i1)")
        return self.emit(f"sub i{n} {n}, {self.emit(f'call i{n} @llvm.ctlz.i{n}(i{n} {v}, i1 false)')}")

    def popcount(self, v: str, n: int) -> str:
        self.needs.add(f"declare i{n} @llvm.ctpop.i{n}(i{n})")
        return self.emit(f"call i{n} @llvm.ctpop.i{n}(i{n} {v})")

    def lookup(self, table: tuple[int, ...], v: str, n: int, to: int) -> str:
        size, name = self.table(table, to)
        at = self.emit(f"getelementptr i{size}, ptr {name}, i64 {self.extend(v, n, 64, False)}")
        return (
            self.truncate(self.emit(f"load i{size}, ptr {at}"), size, to)
            if size > to
            else self.emit(f"load i{size}, ptr {at}")
        )

    def table(self, table: tuple[int, ...], to: int) -> tuple[int, str]:
        """The bits of an entry of a table of words of `to` bits, and the table's name."""
        size = next(s for s in (8, 16, 32, 64, to) if s >= to)
        entries = ", ".join(f"i{size} {entry}" for entry in table)
        name = f"@ptxspec_table_{hashlib.sha256(f'{size} {table}'.encode()).hexdigest()[:16]}"
        self.needs.add(f"{name} = private constant [{len(table)} x i{size}] [{entries}]")
        return size, name

    def supplies(self, name: str, static: tuple[Any, ...]) -> bool:
        if name not in SUPPLIED:
            return False
        if static[0].name in _OF_PROCESSOR or is_wider(name, static):
            return True
        widest = set_apart(name, *static)[2]
        self._written[name, static] += 1
        return widest > WIDEST_IN_VECTORS or (widest > 64 and self._written[name, static] > WRITTEN_OUT)

    def call(self, name: str, static: tuple[Any, ...], args: list[str]) -> str:
        type, rounding, ftz = static
        if type.name in _OF_PROCESSOR and rounding == "rn" and not ftz:
            return self.emit(
                f"bitcast {_FLOATS[type.width]} {self._operation(name, type.width, args)} to i{type.width}"
            )
        if is_wider(name, static):
            return self._wider(name, static, args)
        function, needs = self.function_of(name, static)
        self.needs.update(needs)
        return self.emit(f"call i{type.width} @{function}({', '.join(f'i{type.width} {a}' for a in args)})")

    def _wider(self, name: str, static: tuple[Any, ...], args: list[str]) -> str:
        """The bits of an operation that wider arithmetic computes."""
        type, rounding, ftz = static
        writer = self.writer(*args)
        if ftz:
            bits = self.call(name, (type, rounding, False), args)
            return wider_floats.flushed(name, type.name, rounding, args, bits, writer)
        return wider_floats.computed(name, type.name, rounding, args, writer)

    def writer(self, *values: str) -> FloatWriter:
        """What writes operations on such values."""
        return FloatWriter(self.emit, lambda element: element, lambda value, element: value, self.needs)

    @staticmethod
    def function_of(name: str, static: tuple[Any, ...]) -> tuple[str, Collection[str]]:
        """The function that computes what is no operation of the processor's, and what that needs."""
        type, rounding, ftz = static
        if type.name not in _OF_PROCESSOR:
            function, needs, _ = set_apart(name, *static)
            return function, needs
        if ftz:
            return f"ptxspec_{name}_{rounding}_ftz_f{type.width}", _flushing(name, rounding, type.width)
        directed = {_directed(name, rounding, type.width), *_directed_needs(name, type.width)}
        return f"ptxspec_{name}_{rounding}_f{type.width}", directed

    def _operation(self, name: str, width: int, args: list[str]) -> str:
        """The processor's own operation, to nearest."""
        (op, _), real = SUPPLIED[name], _FLOATS[width]
        # another operation on a NaN is a NaN, whichever it is: so it need not wait until that is decided
        floats = [self._results.get(a) or self.emit(f"bitcast i{width} {a} to {real}") for a in args]
        if op not in _FUNCTIONS:
            return self.emit(f"{op} {real} {', '.join(floats)}")
        self.needs.add(f"declare {real} @llvm.{op}.f{width}({', '.join([real] * len(floats))})")
        return self.emit(f"call {real} @llvm.{op}.f{width}({', '.join(f'{real} {f}' for f in floats)})")

    def invalid(self, name: str, type: Any, operands: Callable[[], list[str]]) -> str | None:
        """The processor gives a NaN exactly where the operands are invalid."""
        if name not in SUPPLIED or type.name not in _OF_PROCESSOR:
            return None
        result = self._operation(name, type.width, operands())
        unordered = self.emit(f"fcmp uno {_FLOATS[type.width]} {result}, {result}")
        self._tested[unordered] = result
        return unordered

    def intrinsic(self, name: str, arguments: tuple[Any, ...], lowering: Lowering) -> tuple[str, int] | None:
        computed = INTRINSICS.get(name)
        return None if computed is None else computed(*arguments, lowering, self)

    @staticmethod
    def processor_has(feature: str) -> bool:
        """Whether this processor has a feature, as LLVM names it."""
        return f"+{feature}" in _processor()[1].split(",")

    def call_where_different(self, function: str, result: str, given: list[tuple[str, str]]) -> str:
        """What a function gives whose result is the first operand where that equals the second. It changes nothing."""
        return self.emit(f"call {result} @{function}({', '.join(f'{type} {value}' for value, type in given)})")

    def freedom(self, term: Any, lowering: Lowering) -> str:
        many = len(term.args) >= MANY_OPERANDS
        return self._chosen_by_function(term, lowering) if many else self._chosen(term, lowering)

    def _chosen(self, term: Any, lowering: Lowering) -> str:
        """The bits that resolve a freedom."""
        chosen = (self.choose or unchosen)(term)
        if isinstance(chosen, Approximation):
            term_of = chosen.term or chosen.rounded
            if term_of is None:
                return self.nearest(term, lowering)
            chosen = low_bits(term_of(*operands_of(term)), term.attrs[1])
        word: str = lowering.low(chosen, term.attrs[1])
        return word

    def nearest(self, term: Any, lowering: Lowering) -> str:
        """The bits of the nearest number that a freedom may be."""
        return outside.nearest(self, term, lowering)

    def _chosen_by_function(self, term: Any, lowering: Lowering) -> str:
        """The bits that a function chooses, of which there is one for all such results in operands of these widths."""
        given = [(t, bits_for(t.lo, t.hi)[0]) for t in term.args if t.op != "const"]
        names = iter(range(len(given)))
        operands = tuple(t if t.op == "const" else _in_range(t, next(names)) for t in term.args)
        choice = make("freedom", operands, term.attrs)
        return self.call_choice(choice, [(lowering.low(t, width), f"i{width}") for t, width in given])

    def call_choice(self, choice: Any, given: list[tuple[str, str]]) -> str:
        """Call the function that resolves a freedom in variables."""
        result = f"i{choice.attrs[1]}"
        parameters = {f"%a{i}": type for i, (_, type) in enumerate(given)}
        function = self.choice_function(choice, result, parameters, self._alone)
        return self.emit(f"call {result} {function}({', '.join(f'{type} {value}' for value, type in given)})")

    def _alone(self, lines: list[str], parameters: Collection[str]) -> Emitter:
        """What writes a function of words."""
        return Emitter(lines, self.needs, self.choose)

    def choice_function(
        self,
        choice: Any,
        result: str,
        parameters: dict[str, str],
        emitter_of: Callable[[list[str], Collection[str]], Emitter],
    ) -> str:
        """The name of the function that resolves a freedom in variables, given the types of its result and of its parameters;
        `emitter_of` makes what writes it."""
        operands = (t.attrs[0] if t.op == "const" else (t.lo, t.hi) for t in choice.args)
        key = (*choice.attrs[:4], choice.attrs[5], result, *operands)
        if key not in self._choices:
            lines: list[str] = []
            emitter = emitter_of(lines, parameters)
            chosen = emitter._chosen(choice, Lowering(emitter, {name[1:]: name for name in parameters}))
            listed = ", ".join(f"{type} {name}" for name, type in parameters.items())
            optimized = "noinline optnone" if self.seldom else "noinline"
            body = "\n".join([f"({listed}) {optimized} {{", *lines, f"  ret {result} {chosen}\n}}"])
            name = f"@ptxspec_choice_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
            self.needs.add(f"define internal {result} {name}{body}")
            self._choices[key] = name
        return self._choices[key]


def _in_range(term: Any, number: int) -> Any:
    """A variable that stands for a term, and of which as much is known."""
    width, signed = bits_for(term.lo, term.hi)
    raw = variable(f"a{number}", width)
    return sign_extend(raw, width) if signed else raw


def is_wider(name: str, static: tuple[Any, ...]) -> bool:
    """Whether an operation is computed by wider arithmetic of this processor."""
    return wider_floats.has(name, static, _processor()[1])


@cache
def set_apart(name: str, type: Any, rounding: str, ftz: bool) -> tuple[str, frozenset[str], int]:
    """The name of a function that computes an operation as its definition does, what it needs, and the bits of the widest integer
    there. LLVM takes a tenth of a second for wide ones, so that they stand in a text once, and where it makes no vectors of
    them."""
    width, arity = type.width, SUPPLIED[name][1]
    term = make("call", tuple(variable(f"a{i}", width) for i in range(arity)), (name, width, type, rounding, ftz))
    body, names = meaning_of(term)
    lines: list[str] = []
    needs: set[str] = set()
    result = Lowering(Emitter(lines, needs), {n: f"%a{i}" for i, n in enumerate(names)}).low(body, width)
    widest = max(map(int, _INTEGER.findall("\n".join(lines))), default=64)
    function = f"ptxspec_{name}_{rounding}{'_ftz' if ftz else ''}_{type.name}"
    parameters = ", ".join(f"i{width} %a{i}" for i in range(arity))
    text = "\n".join(
        [f"define internal i{width} @{function}({parameters}) noinline {{", *lines, f"  ret i{width} {result}\n}}"]
    )
    return function, frozenset({text, *needs}), widest


def pays_as_vectors(text: str) -> bool:
    """Whether the text of loops is to be made vectors of: not if it has integers wider than WIDEST_IN_VECTORS."""
    return all(int(bits) <= WIDEST_IN_VECTORS for bits in _INTEGER.findall(text))


@cache
def _flushing(name: str, rounding: str, width: int) -> frozenset[str]:
    """A function whose subnormal results are zeros. The processor's own result decides, except where it is the least normal
    number: that may have been rounded up from below, which only the definition can tell."""
    type = TYPES[f"f{width}"]
    arity = SUPPLIED[name][1]
    terms = [variable(f"a{i}", width) for i in range(arity)]
    lines: list[str] = []
    needs: set[str] = set()
    plain = make("call", tuple(terms), (name, width, type, rounding, False))
    flushed = make("call", tuple(terms), (name, width, type, rounding, True))
    env = {f"a{i}": f"%a{i}" for i in range(arity)}
    quick = Lowering(Emitter(lines, needs), env).low(plain, width)
    body, names = meaning_of(flushed)
    rare: list[str] = []
    exact = Lowering(Emitter(rare, needs), {n: f"%a{i}" for i, n in enumerate(names)}).low(body, width)
    least, sign = 1 << (22 + 1 if width == 32 else 51 + 1), 1 << (width - 1)
    parameters = ", ".join(f"i{width} %a{i}" for i in range(arity))
    word, stem = f"i{width}", f"ptxspec_{name}_{rounding}"
    text = "\n".join(
        [
            f"define internal {word} @{stem}_exact_f{width}({parameters}) noinline cold {{",
            *rare,
            f"  ret {word} {exact}\n}}",
            f"define internal {word} @{stem}_ftz_f{width}({parameters}) {{",
            *lines,
            f"  %size = and {word} {quick}, {sign - 1}",
            f"  %is_least = icmp eq {word} %size, {least}",
            "  br i1 %is_least, label %look, label %plain",
            f"look:\n  %e = call {word} @{stem}_exact_f{width}({parameters})\n  ret {word} %e",
            f"plain:\n  %sign = and {word} {quick}, {sign}",
            f"  %below = icmp ult {word} %size, {least}",
            f"  %r = select i1 %below, {word} %sign, {word} {quick}\n  ret {word} %r\n}}",
        ]
    )
    return frozenset({text, *needs})


@cache
def _directed(name: str, rounding: str, width: int) -> str:
    """A function that rounds in one direction: it sets the processor's mode around one operation. Its operands go through empty
    assembly, where LLVM can know nothing of them: it computes with constants at compile time, constrained or not, and of those
    that cancel it makes +0 whatever the direction."""
    op, arity = SUPPLIED[name]
    real = _FLOATS[width]
    parameters = ", ".join(f"i{width} %a{i}" for i in range(arity))
    casts = "\n".join(
        f'  %o{i} = call i{width} asm sideeffect "", "=r,0"(i{width} %a{i}) strictfp\n  %f{i} = bitcast i{width} %o{i} to {real}'
        for i in range(arity)
    )
    operands = ", ".join(f"{real} %f{i}" for i in range(arity))
    return (
        f"define internal i{width} @ptxspec_{name}_{rounding}_f{width}({parameters}) strictfp noinline {{\n{casts}\n"
        f"  call void @llvm.set.rounding(i32 {_ROUNDING[rounding]}) strictfp\n"
        f"  %r = call {real} @llvm.experimental.constrained.{op}.f{width}({operands}, "
        'metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp\n'
        "  call void @llvm.set.rounding(i32 1) strictfp\n"
        f"  %b = bitcast {real} %r to i{width}\n  ret i{width} %b\n}}"
    )


def _directed_needs(name: str, width: int) -> list[str]:
    op, arity = SUPPLIED[name]
    real = _FLOATS[width]
    return [
        "declare void @llvm.set.rounding(i32)",
        f"declare {real} @llvm.experimental.constrained.{op}.f{width}({', '.join([real] * arity)}, metadata, metadata)",
    ]


#: per architecture, text that loads the word that says how the processor rounds, and what it does with subnormal numbers and
#: exceptions, into %name; and text that sets it. A word is that wide; the last is the one under which compiled code runs: to
#: nearest, no flushing, no traps
_ENVIRONMENTS = {
    "x86_64": (
        '  call void asm sideeffect "stmxcsr $0", "=*m,~{{memory}}"(ptr elementtype(i32) %word)\n  %{} = load i32, ptr %word',
        "  store i32 {}, ptr %word\n"
        '  call void asm sideeffect "ldmxcsr $0", "*m,~{{memory}}"(ptr elementtype(i32) %word)',
        32,
        0x1F80,
    ),
    "aarch64": (
        '  %{} = call i64 asm sideeffect "mrs $0, fpcr", "=r,~{{memory}}"()',
        '  call void asm sideeffect "msr fpcr, $0", "r,~{{memory}}"(i64 {})',
        64,
        0,
    ),
}
_ENVIRONMENTS["arm64"] = _ENVIRONMENTS["aarch64"]
_ENTERED = re.compile(r"^define (?!internal)(\w+) (@\w+)\((.*?)\)(.*?)\{$", re.MULTILINE | re.DOTALL)


def _in_environment(text: str, architecture: str, entered: Collection[str] | None = None) -> str:
    """The text with each function that is called from outside (all that are not internal, if `entered` does not name them) in the
    environment that it is written for: the caller's is set aside, and is afterwards what it was, flags included."""
    if architecture not in _ENVIRONMENTS:
        raise NotImplementedError(f"compiled code cannot set the floating-point environment of {architecture}")
    take, give, bits, environment = _ENVIRONMENTS[architecture]
    entries: list[str] = []

    def inside(match: re.Match[str]) -> str:
        result, name, parameters, rest = match.groups()
        if entered is not None and name[1:] not in entered:
            return match[0]
        types = [" ".join(p.split()[:-1]).replace(" noalias", "") for p in parameters.split(",")]
        arguments = ", ".join(f"{t} {p.split()[-1]}" for t, p in zip(types, parameters.split(","), strict=True))
        call = f"call {result} {name}_inside({arguments})"
        entries.append(
            f"define {result} {name}({arguments}) {{\n  %word = alloca i{bits}\n{take.format('callers')}\n"
            f"{give.format(environment)}\n  {call if result == 'void' else f'%result = {call}'}\n{give.format('%callers')}\n"
            f"  ret {result}{'' if result == 'void' else ' %result'}\n}}"
        )
        return f"define internal {result} {name}_inside({parameters}) noinline{rest}{{"

    return "\n".join([_ENTERED.sub(inside, text), *entries])


#: the passes that make nearly all the difference to text that an Emitter has written: that has no common expressions left, and
#: loads what it needs at once
QUICK = ("sroa", "instruction_combine", "simplify_cfg")
#: nothing unwinds through compiled code: so its functions have no frames, of which the process's unwinder would have to be told.
#: That of libgcc 13 and later ended the process when code was freed
NO_UNWINDING = "nounwind"
#: the pass that makes functions a part of those that call them, where they say so; the others go over each function
INLINING = "always_inliner"
#: what the branch back of a loop ends with of which LLVM is to take several rounds at once, in a text that is compiled without
#: vectors elsewhere; and the metadata that such a text ends with
LOOP_HINT = ", !llvm.loop !7"
LOOP_HINTS = '!7 = distinct !{!7, !8}\n!8 = !{!"llvm.loop.vectorize.enable", i1 true}'


class CodeSource:
    """All that the machine code of one module of LLVM text depends on: the text, what it needs, and how it is compiled.

    `level` is that of the code generator and of the passes before it. `passes` are names of LLVM's passes that go over each
    function, one after the other, instead of all that belong to the level. `entered` names the functions that are called from
    outside, where others call each other from library to library; None stands for all.
    Without `vectorize`, LLVM makes vectors only of loops that ask for it by LOOP_HINT.
    """

    def __init__(
        self,
        text: str,
        needs: set[str],
        *,
        vectorize: bool = True,
        level: int = 2,
        passes: Sequence[str] | None = None,
        entered: Collection[str] | None = None,
    ):
        self.vectorize, self.level, self.passes = vectorize, level, passes
        of_vectors = vectorize or LOOP_HINT in text
        self._wide = of_vectors and masked_logic.FEATURE in _processor()[1] and masked_logic.selects_wide_words(text)
        declarations = sorted(n for n in needs if n.startswith("declare"))
        definitions = sorted(n for n in needs if not n.startswith("declare"))
        text = _in_environment(text, _triple().partition("-")[0], entered)
        self.text = "\n".join([f'target triple = "{_triple()}"', *declarations, *definitions, text])

    def quick(self) -> CodeSource:
        """The same text, to be compiled by QUICK alone."""
        other = copy(self)
        other.level, other.passes = 0, QUICK
        return other

    @property
    def name(self) -> str:
        """A name of the code that this becomes."""
        import llvmlite

        how = f"{self.level} {self.passes} {self.vectorize} {masked_logic.WITHOUT} {self._wide} {NO_UNWINDING}"
        return object_code.name_of(self.text, how, *_processor(), llvmlite.__version__)

    @property
    def is_kept(self) -> bool:
        """Whether the code was made before, and is there."""
        return object_code.is_kept(self.name)

    def compiled(self) -> bytes:
        """The machine code, made now."""
        code = self._emitted(masked_logic.WITHOUT if self._wide else "")
        if not self._wide and masked_logic.FEATURE in _processor()[1] and masked_logic.may_have(code):
            code = self._emitted(masked_logic.WITHOUT)
        return code

    def _emitted(self, changes: str) -> bytes:
        machine = _target_machine(self.level, changes)
        emitted: bytes = machine.emit_object(self._optimized(machine))
        return emitted

    def _optimized(self, machine: Any) -> Any:
        """The module after LLVM's passes."""
        import llvmlite.binding as llvm

        module = llvm.parse_assembly(self.text)
        module.data_layout = str(machine.target_data)
        module.verify()
        for function in module.functions:
            function.add_function_attribute(NO_UNWINDING)
        options = llvm.create_pipeline_tuning_options(speed_level=self.level)
        options.loop_vectorization = self.vectorize
        options.slp_vectorization = False
        builder = llvm.create_pass_builder(machine, options)
        if self.passes is None:
            builder.getModulePassManager().run(module, builder)
            return module
        passes = llvm.create_new_function_pass_manager()
        for name in self.passes:
            if name != INLINING:
                getattr(passes, f"add_{name}_pass")()
                continue
            inlining = llvm.create_new_module_pass_manager()
            inlining.add_always_inliner_pass()
            inlining.run(module, builder)
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
        return module


class Library:
    """Machine code, loaded: as it was kept, or compiled now. `address(name)` is a function's address; the code lives as long as
    this. A function that is called from outside runs in a floating-point environment of its own, whatever the caller's is."""

    def __init__(self, source: CodeSource):
        import llvmlite.binding as llvm

        self.text, name = source.text, source.name
        code = object_code.load(name)
        if code is None:
            began = time.process_time()
            code = source.compiled()
            object_code.keep(name, code, time.process_time() - began)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(source.level))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name))

    def fill(self, name: str, words: Sequence[int]) -> None:
        """Give a variable of 64-bit words its values: addresses, which are known when the code is loaded and not before."""
        place = self._engine.get_global_value_address(name)
        (ctypes.c_uint64 * len(words)).from_address(place)[:] = list(words)


@cache
def _triple() -> str:
    import llvmlite.binding as llvm

    _initialize()
    return str(llvm.Target.from_default_triple().triple)


@cache
def _processor() -> tuple[str, str]:
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def has_masked_stores() -> bool:
    """Whether this processor stores some words of 32 or 64 bits of a vector, as a mask says."""
    return "+avx2" in _processor()[1].split(",")


def _target_machine(level: int, changes: str = "") -> Any:
    import llvmlite.binding as llvm

    _initialize()
    cpu, features = _processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features + changes, opt=level, jit=True)


@cache
def _wide_division() -> bool:
    """Make known to LLVM the compiler's functions that divide 128 bits, which its code calls. False if there are none."""
    import llvmlite.binding as llvm

    _initialize()
    for library in (None, "libgcc_s.so.1"):
        try:
            runtime = ctypes.CDLL(library)
            names = ("__udivti3", "__divti3", "__umodti3", "__modti3")
            addresses = [ctypes.cast(getattr(runtime, name), ctypes.c_void_p).value for name in names]
        except (OSError, AttributeError):
            continue
        for name, address in zip(names, addresses, strict=True):
            llvm.add_symbol(name, address)
        return True
    return False


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
