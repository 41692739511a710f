"""One instruction, or a few: operands by name in, results by name out."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ptxspec.base.options import Freedom
from ptxspec.language.specials import first_name, special_registers
from ptxspec.query.fragments import read_fragment
from ptxspec.query.numbers import InvalidValue, nearest
from ptxspec.query.outcomes import SymbolicFragment
from ptxspec.query.repeated import CachedFragment, for_arrays, known_profile, remember, repeated
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import DEVIATION

if TYPE_CHECKING:
    import numpy as np


#: what goes in for a register
Operand: TypeAlias = "int | float | np.number[Any] | np.bool_"
#: operands of many evaluations
Array: TypeAlias = "np.ndarray[Any, Any]"


class Chosen(NamedTuple):
    """A result that PTX leaves open, and the value that was used. `kind` is the kind of the freedom, `entry` its name in the
    register of ambiguities, and `bits` the value. `by` is "profile" if the profile chose it, or "nearest" if it is the allowed
    number nearest to the exact result. The kind "deviation" is an erratum: the profile's GPU returns another result than PTX
    states.

    >>> results = ptxspec.evaluate("div.u32 d, a, b;", a=1, b=0)
    >>> results.chosen
    [Chosen(kind='unspecified', entry='division-by-zero', bits=4294967295, by='profile')]
    """

    kind: Freedom
    entry: str
    bits: int
    by: Literal["profile", "nearest"] = "profile"


class Executed(NamedTuple):
    """An instruction of a fragment: its text, the document and line that define it, and the registers that it wrote, as raw bits.
    `guard` is its guard predicate, with "!" if it is negated, or None. `executed` is False if the guard was false; `writes` then
    has the registers' old values.

    >>> first, second = ptxspec.evaluate("setp.lt.u32 p, a, b; @!p mov.u32 d, a;", a=1, b=2, d=7).steps
    >>> first.writes, first.guard, second.executed, second.guard
    ({'p': True}, None, False, '!p')
    """

    text: str
    page: str
    writes: dict[str, Any]
    executed: bool
    guard: str | None


class Results(dict[str, Any]):
    """The results of a fragment: a dict from each register that it writes to the register's final bits, an unsigned int, or a
    bool for a predicate. A result is as wide as the destination type of the form that wrote it last, even if the register is
    wider. `types` has these types, and those of the registers that are only read. `inputs` has the operands as bits. `chosen`
    lists the results that PTX leaves open and the values used for them. `steps` lists the instructions with what each wrote.

    >>> results = ptxspec.evaluate("add.f32 d, a, b; setp.gt.f32 p, d, 1.0;", a=1.0, b=0x3f000000)
    >>> results, results.types["d"].width, results.inputs
    ({'d': 1069547520, 'p': True}, 32, {'a': 1065353216, 'b': 1056964608})
    >>> [(step.text, step.writes) for step in results.steps]
    [('add.f32 d, a, b;', {'d': 1069547520}), ('setp.gt.f32 p, d, 1.0;', {'p': True})]
    """

    types: dict[str, Type]
    inputs: dict[str, Any]
    chosen: list[Chosen]
    steps: list[Executed]


def evaluate(
    text: str,
    inputs: Mapping[str, Operand | Array] | None = None,
    /,
    *,
    profile: str = "hopper",
    **operands: Operand | Array,
) -> Results:
    """Execute a straight-line fragment on one thread, by the exact interpretation, and return the registers that it writes.

    `operands` are the values of the registers that the fragment reads before it writes them. A bool is for a predicate. An int is
    the register's bits, a negative one in two's complement, even for a floating-point operand: a=1 is then the least subnormal
    number. A float is a number, rounded to the operand's format: a=1.0 is one. (The command `ptxspec eval` takes text, in which 1
    is a number and 0x1 is bits.) `inputs` has operands by name, for names that no keyword argument can have:
    {"%r1": 3, "profile": 1}. Results are raw bits. Without a version and a target at its beginning, as in
    `.version 3.0 .target sm_13`, the text has the newest PTX ISA and target that have its instructions.

    Operands may also be NumPy arrays that broadcast to one shape; each element is an operand. The results are then arrays of
    unsigned integers, or of bool, with elements of at most 64 bits. Compiled code, the native interpretation, computes them,
    without `steps` and `chosen`, and releases Python's global interpreter lock. If `profile` takes the nearest number for an
    approximate result, Python computes it element by element.

    Raises PtxError if the text has errors; TypeError for operands that are missing, unknown, given twice, too large or of the
    wrong kind; Unsupported for instructions whose results depend on more than the registers of one thread; and NoChoice if a
    result is needed that PTX leaves open and `profile` does not choose.

    >>> ptxspec.evaluate("bfe.s32 d, a, b, c;", a=0x80, b=4, c=8)
    {'d': 8}
    >>> ptxspec.evaluate("add.u32 %r1, %r1, n;", {"%r1": 2}, n=-1)
    {'%r1': 1}
    >>> ptxspec.evaluate(".target sm_13 add.f32 d, a, b;", a=1, b=1), ptxspec.evaluate("add.f32 d, a, b;", a=1, b=1)
    ({'d': 0}, {'d': 2})
    >>> ptxspec.evaluate("popc.b32 d, a;", a=np.arange(8))["d"]
    array([0, 1, 1, 2, 1, 2, 2, 3], dtype=uint32)
    """
    given: Mapping[str, Any] = operands if inputs is None else joined(inputs, operands)
    again = repeated(text) if text.__class__ is str else None
    for value in given.values():
        if getattr(value, "shape", ()):
            from ptxspec.query.arrays import evaluated

            return evaluated(again or for_arrays(text), given, profile)
    if again is None:
        fragment = read_fragment(text)
        again = remember(text, fragment)
        if again is None:
            return executed(fragment, values_of_inputs(fragment, given), profile)
    values = again.quick(given)
    return executed_again(again, values_of_inputs(again.fragment, given) if values is None else values, profile)


def executed_again(again: CachedFragment, values: dict[str, Any], profile: str) -> Results:
    """What `executed` gives, by the function that the fragment is written out to."""
    fragment = again.fragment
    if len(values) < len(fragment.inputs):  # a guard may leave a register without a value
        return executed(fragment, values, profile)
    run, choices = again.script(profile)
    chosen: dict[Any, Chosen] = {}

    def note(freedom: Any, bits: int, documented: int | None) -> None:
        if bits != documented:
            chosen[freedom] = choice_of(freedom, bits, choices)

    def choose(freedom: Any, arguments: tuple[int, ...]) -> int:
        bits = choices.value(freedom, arguments)
        note(freedom, bits, None)
        return bits

    values_written = iter(run(choose, note, *[values[name] for name in fragment.inputs]))
    results = Results()
    results.steps = steps = []
    for step in fragment.steps:
        writes = {name: next(values_written) for name in step.writes}
        done = step.holds is None or next(values_written)
        steps.append(Executed(step.text, f"{step.page}:{step.line}", writes, done, step.guard))
        results.update(writes)
    results.types = {**fragment.registers, **fragment.left}
    results.inputs, results.chosen = values, list(chosen.values())
    return results


def choice_of(freedom: Any, bits: int, choices: Profile) -> Chosen:
    """What a profile chose, or took the nearest number for."""
    by: Literal["profile", "nearest"] = "profile" if choices.chooses(freedom) else "nearest"
    return Chosen(freedom.attrs[2], freedom.attrs[0], bits, by)


def executed(fragment: SymbolicFragment, values: dict[str, Any], profile: str) -> Results:
    """Execute a fragment on the bits of its inputs. Raises as `evaluate` does."""
    choices = known_profile(profile)
    chosen: list[Chosen] = []

    def choose(freedom: Any, arguments: tuple[int, ...]) -> int:
        bits = choices.value(freedom, arguments)
        if freedom.attrs[2] != DEVIATION or bits != arguments[0]:
            chosen.append(choice_of(freedom, bits, choices))
        return bits

    memo: dict[int, Any] = {}
    results = Results()
    results.steps = []
    for step in fragment.steps:
        writes = {}
        for name, term in step.writes.items():
            try:
                writes[name] = cut(evaluate_term(term, values, choose, memo), step.types[name])
            except KeyError as missing:
                if missing.args[0] != name:
                    raise TypeError(f"the operand {missing.args[0]} has no value when {step.text} reads it") from None
                # else a guard left the register as it was: without a value
        done = step.holds is None or bool(evaluate_term(step.holds, values, choose, memo))
        results.steps.append(Executed(step.text, f"{step.page}:{step.line}", writes, done, step.guard))
        results.update(writes)
    types = {**fragment.registers, **{n: t for n, t in fragment.left.items() if n in results}}
    results.types, results.inputs, results.chosen = types, values, chosen
    return results


def joined(inputs: Mapping[str, Any] | None, operands: dict[str, Any]) -> dict[str, Any]:
    """The operands of a call, those given as a mapping and those given by keywords. Raises TypeError for one given both ways."""
    if inputs is None:
        return operands
    if not isinstance(inputs, Mapping) or not all(isinstance(name, str) for name in inputs):
        raise TypeError(f'operands are given by name: {{"a": …}} or a=…, not as {inputs.__class__.__name__}')
    twice = [name for name in inputs if name in operands]
    if twice:
        raise TypeError(f"the operand {twice[0]} is given twice")
    return {**inputs, **operands}


def values_of_inputs(
    fragment: SymbolicFragment, operands: Mapping[str, Any], bits: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """What a fragment reads before it is written, by name, as bits, which `bits` makes of a value (if not as_bits). Raises
    TypeError for operands that do not fit it."""
    bits = as_bits if bits is None else bits
    given = {first_name(name): value for name, value in operands.items()}
    specials = _special_values(n for n in fragment.inputs if n not in fragment.registers)
    values: dict[str, Any] = {}
    for name in fragment.inputs:
        if name in given:
            type = fragment.registers.get(name)
            if type is None:
                raise TypeError(f"{name} is a special register, whose value a single thread has already")
            values[name] = bits(name, given.pop(name), fragment.formats.get(name, type), fragment.taken.get(name))
        elif name in specials:
            values[name] = specials[name]
        elif name not in fragment.carried:
            by_keyword = name.isidentifier() and not iskeyword(name) and name != "profile"
            how = "" if by_keyword else f': pass it as {{"{name}": …}}, after the text'
            taken = fragment.taken.get(name, fragment.registers[name])
            raise TypeError(f"the operand {name} ({taken}) has no value{how}")
    if given:
        raise TypeError(f"{', '.join(map(str, given))}: no operand of that name is read before it is written")
    return values


def cut(value: Any, type: Type) -> Any:
    """What a result of that type has of a register's value: the low bits, or the truth value."""
    return value if type.kind == "pred" else value & ((1 << type.width) - 1)


def as_bits(name: str, value: Any, type: Type, taken: Type | None = None) -> Any:
    """A Python value as the bits of a register, which an instruction takes as a value of the type `taken`. Of NumPy's it takes
    scalars, and arrays without dimensions."""
    if getattr(value, "shape", ()):
        raise TypeError(f"{name}: an array of shape {tuple(value.shape)} is no operand; pass one element")
    if type.kind == "pred":
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise TypeError(f"{name} is a predicate: pass True or False")
    number = value
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, bool):
        raise TypeError(f"{name} is {type}, not a predicate")
    if isinstance(value, float):
        if taken is not None and taken.is_integer:
            raise TypeError(f"{name} is {taken}: {value} is no integer; pass an int")
        if type.width not in (16, 32, 64):
            raise TypeError(f"{name} is {type}: no floating-point number has that width")
        if type.name == "bf16" and math.isfinite(value):
            sign = 1 << (type.width - 1) if math.copysign(1.0, value) < 0 else 0
            try:
                return sign | nearest(Fraction(abs(value)), type)
            except InvalidValue:
                raise TypeError(f"{name} is {type}: {value} is beyond its range") from None
        if type.name == "bf16":  # the upper half of a single
            return as_bits(name, value, TYPES["f32"]) >> 16
        if type.name != f"f{type.width}" and type.kind != "b":
            raise TypeError(f"{name} is {type}: pass its bits")
        if getattr(number, "dtype", None) == f"f{type.width // 8}":
            return int.from_bytes(number.tobytes(), sys.byteorder)  # whatever NaN it is
        try:
            return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[type.width], value), "little")
        except OverflowError:
            raise TypeError(f"{name} is {type}: {value} is beyond its range") from None
    if not isinstance(value, int):
        raise TypeError(f"{name}: {value.__class__.__name__} is no operand; pass an int, a float or a bool")
    if not -(1 << (type.width - 1)) <= value < 1 << type.width:
        raise TypeError(f"{name} is {type}: {value} does not fit")
    return value & ((1 << type.width) - 1)


def _special_values(names: Iterable[str]) -> dict[str, int]:
    """Special registers as the only thread of the only CTA reads them."""
    from ptxspec.machine.batch import Extents
    from ptxspec.machine.special import SpecialValues, unchanging

    constant = unchanging(names)
    if not constant:
        return {}
    alone = SpecialValues(constant, False, Extents((1, 1, 1), (1, 1, 1)))
    kinds = special_registers()
    values = {name: alone.read(name, 0, 0) for name in constant}
    return {name: bool(value) if kinds[name].kind == "pred" else value for name, value in values.items()}


def readings(bits: Any, type: Type) -> dict[str, Any]:
    """The ways to read a register's bits: hex, unsigned, signed and, where the width is a format's, floating point."""
    if isinstance(bits, bool | Bool) or type.kind == "pred":
        return {"predicate": bool(bits)}
    width = type.width
    shown: dict[str, Any] = {
        "hex": f"{bits:#0{width // 4 + 2}x}",
        "unsigned": bits,
        "signed": bits - (1 << width) if bits >> (width - 1) else bits,
    }
    if type.name == "bf16":
        shown["float"] = readings(bits << 16, TYPES["f32"])["float"]
    elif width in (16, 32, 64) and type.elements == 1:
        data = bits.to_bytes(width // 8, "little")
        shown["float"] = struct.unpack({16: "<e", 32: "<f", 64: "<d"}[width], data)[0]
    return shown
