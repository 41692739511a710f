"""One instruction, or a few: operands by name in, results by name out."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ptxspec.language.specials import first_name, special_registers
from ptxspec.query.fragments import Fragment, read_fragment
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import DEVIATION


class Chosen(NamedTuple):
    """A result that PTX leaves open: the kind of freedom, its entry in the register of ambiguities, the bits that were taken,
    and by what: the "profile" chose them, or they are the "nearest" of those allowed to the exact result. Of the kind "deviation"
    it is another result than PTX states."""

    kind: str
    entry: str
    bits: int
    by: str = "profile"


class Results(dict[str, Any]):
    """Register -> its final bits as an unsigned number, or a bool for a predicate. A result has as many bits as the form that
    wrote it last gives to its destination; a wider register, which other instructions may ask for, holds them extended. `types`
    gives those types, and those of the registers that are only read; `inputs` is what was put in, `chosen` what was left open on
    the way, `steps` what each instruction wrote."""

    types: dict[str, Type]
    inputs: dict[str, Any]
    chosen: list[Chosen]
    steps: list[tuple[str, str, dict[str, Any]]]


def evaluate(text: str, *, profile: str = "hopper", **operands: int | float | bool) -> Results:
    """Execute a straight-line fragment on one thread, by the exact interpretation.

    `operands` are the registers read before they are written: an int (negative ones as two's complement), a float (rounded to
    the register's width), or a bool for a predicate. Registers whose names are no Python identifiers go in as **{"%r1": 3}.
    Results are raw bits. Raises PtxError for text that is wrong, TypeError for operands missing, unknown or too large, and
    NoChoice where `profile` leaves open a result that was needed.
    """
    fragment = read_fragment(text)
    values = values_of_inputs(fragment, operands)
    choices = Profile(profile)
    chosen: list[Chosen] = []

    def choose(freedom: Any, arguments: tuple[int, ...]) -> int:
        bits = choices.value(freedom, arguments)
        if freedom.attrs[2] != DEVIATION or bits != arguments[0]:
            by = "profile" if choices.chooses(freedom) else "nearest"
            chosen.append(Chosen(freedom.attrs[2], freedom.attrs[0], bits, by))
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
        results.steps.append((step.text, f"{step.page}:{step.line}", writes))
        results.update(writes)
    types = {**fragment.registers, **{n: t for n, t in fragment.left.items() if n in results}}
    results.types, results.inputs, results.chosen = types, values, chosen
    return results


def values_of_inputs(fragment: Fragment, operands: Mapping[str, Any]) -> dict[str, Any]:
    """What a fragment reads before it is written, by name, as bits. Raises TypeError for operands that do not fit it."""
    given = {first_name(name): value for name, value in operands.items()}
    specials = _special_values(n for n in fragment.inputs if n not in fragment.registers)
    values: dict[str, Any] = {}
    for name in fragment.inputs:
        if name in given:
            type = fragment.registers.get(name)
            if type is None:
                raise TypeError(f"{name} is a special register, which a single thread has by itself")
            values[name] = as_bits(name, given.pop(name), fragment.formats.get(name, type))
        elif name in specials:
            values[name] = specials[name]
        elif name not in fragment.carried:
            how = "" if name.isidentifier() else f': pass it as **{{"{name}": …}}'
            raise TypeError(f"the operand {name} ({fragment.registers[name]}) has no value{how}")
    if given:
        raise TypeError(f"{', '.join(given)}: no operand of that name is read before it is written")
    return values


def cut(value: Any, type: Type) -> Any:
    """What a result of that type has of a register's value: the low bits, or the truth value."""
    return value if type.kind == "pred" else value & ((1 << type.width) - 1)


def as_bits(name: str, value: Any, type: Type) -> Any:
    """A Python value as the bits of a register."""
    if type.kind == "pred":
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise TypeError(f"{name} is a predicate: pass True or False")
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, bool):
        raise TypeError(f"{name} is {type}, not a predicate")
    if isinstance(value, float):
        if type.width not in (16, 32, 64):
            raise TypeError(f"{name} is {type}: no floating-point number has that width")
        if type.name == "bf16":  # the upper half of a single; an even one, if two are as near
            kept, rest = divmod(as_bits(name, value, TYPES["f32"]), 1 << 16)
            return kept + (math.isfinite(value) and rest + (kept & 1) > 1 << 15)
        if type.name != f"f{type.width}" and type.kind != "b":
            raise TypeError(f"{name} is {type}: pass its bits")
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
    wanted = list(names)
    if not wanted:
        return {}
    import numpy as np

    from ptxspec.machine.batch import Extents, Threads, special_values

    one = np.zeros(1, np.int64)
    found = special_values(wanted, Threads(Extents((1, 1, 1), (1, 1, 1)), one, one))
    kinds = special_registers()
    return {
        name: bool(values[0]) if kinds[name].kind == "pred" else int(values[0]) for name, (values, _) in found.items()
    }


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
    elif width in (16, 32, 64) and type.lanes == 1:
        data = bits.to_bytes(width // 8, "little")
        shown["float"] = struct.unpack({16: "<e", 32: "<f", 64: "<d"}[width], data)[0]
    return shown
