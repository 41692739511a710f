"""Machines that choose differently where PTX leaves a result open, and operands to try them on."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ptxspec import contracts
from ptxspec.query.questions import Goal
from ptxspec.terms.core import Bool, integer, truth, truth_variable, variable
from ptxspec.terms.python_code import written
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, low_bits, select, substitute

#: what tells the machines apart
SALTS = (1, 0xC0FFEE, 0x5DEECE66D)


def machine(salt: int) -> Callable[[Any], Any]:
    """A machine: a choice, as a term, for every freedom, that is a function of its name and its operands' values, and allowed."""

    def choose(freedom: Any) -> Any:
        slug, width, kind, type, allowed, operation, *_ = freedom.attrs
        if kind == "deviation":
            return freedom.args[0]
        mixed = integer(zlib.crc32(f"{slug} {operation} {type} {salt}".encode()))
        for operand in freedom.args:
            mixed = low_bits((mixed ^ low_bits(operand, 64)) * 0x9E3779B97F4A7C15, 64)
            mixed = mixed ^ (mixed >> 29)
        bits = low_bits(mixed >> 7, width)
        if allowed is None or isinstance(allowed, Approximation):
            return bits
        top, ones = 1 << (width - 1), (1 << width) - 1
        infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF << 52}.get(width, 0)
        chosen: Any = integer(ones if allowed(integer(ones)).attrs[0] else 0)
        for one in (bits & top, bits | infinity | 1, bits):
            chosen = select(allowed(one), one, chosen)
        return chosen

    return choose


def one_nan(salt: int) -> Callable[[Any], Any]:
    """The same machine, but with one NaN for all results that may be any NaN."""
    other = machine(salt)

    def choose(freedom: Any) -> Any:
        if freedom.attrs[0].split("-")[-1] == "nan" and freedom.attrs[3].is_float:
            return integer((1 << (freedom.attrs[1] - 1)) - 1)
        return other(freedom)

    return choose


def shown_by(verdict: Any) -> Callable[[Any], Any]:
    """The machine that a counterexample shows: each choice, as a term, where the freedom's operands are those shown."""
    choices = verdict.counterexample.choices

    def choose(freedom: Any) -> Any:
        slug, width, kind, type, _, operation, *_ = freedom.attrs
        if kind == "deviation":
            return freedom.args[0]
        chosen: Any = integer(0)
        for one in choices:
            known = (one.entry, one.operation, one.type) == (slug, operation, type)
            if known and len(one.operands) == len(freedom.args):
                here: Any = truth(True)
                for term, value in zip(freedom.args, one.operands, strict=True):
                    here = here & (term == value)
                chosen = select(here, one.bits, chosen)
        return low_bits(chosen, width)

    return choose


class NotJudged(Exception):
    """The judge cannot say: an open result goes into a further computation that no machine tried shows."""


# operands -------------------------------------------------------------------------------------------------------------

_SPECIAL = [0, 1, 2, 3, 5, 7, 8, 31, 32, 255, 256, 300, 2**31, 2**31 - 1, 2**32 - 1, 0x7FC00000, 0xFFC12345, 0x7F800001,
            *(struct.unpack("<I", struct.pack("<f", f))[0] for f in (0.0, 1.0, -1.0, 0.5, 1e10, -1e-40, float("inf")))]  # fmt: skip


def operands(types: Mapping[str, Type], seed: int, count: int) -> dict[str, list[int]]:
    """Values of the inputs: numbers at the ends of things, alike in several inputs, and random ones. Beginnings of buffers are
    where a launch may have them."""
    rng = np.random.default_rng(seed)

    def some() -> np.ndarray:
        random_bits = rng.integers(0, 2**64, count, np.uint64) >> rng.integers(0, 64, count).astype(np.uint64)
        found = np.where(rng.random(count) < 0.6, rng.choice(np.array(_SPECIAL, np.uint64), count), random_bits)
        return np.where(rng.random(count) < 0.15, np.uint64(0) - found, found)

    alike, common = rng.random(count) < 0.15, some()
    found = {}
    for name, type in types.items():
        values = np.where(alike, common, some())
        if name in ("m", "n"):
            at = np.uint64(contracts.generic_addressing.GLOBAL_BASE if type.width == 64 else 0x100)
            values = (
                at
                + (rng.integers(0, 64, count, np.uint64) << np.uint64(5 if name == "m" else 4))
                + np.uint64(name == "n") * np.uint64(1 << 12)
            )
        mask = np.uint64((1 << type.width) - 1 if type.kind != "pred" else 1)
        found[name] = (values & mask).tolist()
    return found


def plain(terms: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of inputs, variables that Python has names for."""
    return {
        n: truth_variable(f"in{k}") if isinstance(v, Bool) else variable(f"in{k}", v.attrs[1])
        for k, (n, v) in enumerate(terms.items())
    }


def compiled(term: Any, asked: Goal) -> Callable[..., Any]:
    """A term without open results as a function of a row of inputs, by the exact interpretation."""
    run = written(
        substitute(term, plain(asked.inputs.terms)), "choose", *(f"in{k}" for k in range(len(asked.inputs.terms)))
    )
    return lambda *row: run(no_choice, *row)


def no_choice(freedom: Any, operands: tuple[int, ...]) -> int:
    raise NotJudged(f"the machine has not chosen {freedom.attrs[0]}")
