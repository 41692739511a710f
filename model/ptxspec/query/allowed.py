"""Whether somebody's results are among those that the definitions allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxspec.query.evaluate import Operand, as_bits, joined, values_of_inputs
from ptxspec.query.fragments import read_fragment
from ptxspec.terms.exact import allows
from ptxspec.terms.profiles import Profile


def allowed(
    text: str,
    results: Mapping[str, Operand],
    inputs: Mapping[str, Operand] | None = None,
    /,
    *,
    profile: str = "portable",
    **operands: Operand,
) -> bool:
    """Whether a straight-line fragment may leave behind `results` (register -> value) for these operands.

    Values are given as `evaluate` takes them, operands also as a mapping `inputs`.
    A result that PTX leaves open may be whatever the condition of its freedom says:
    any NaN, a number within the bound of an approximate instruction, or any bits at all. `profile` may narrow that down: where
    it has a choice, nothing else is allowed.

    Raises PtxError for text that is wrong, Unsupported for instructions that one thread's registers do not decide, TypeError for
    operands or results that are missing, unknown or too large, and NoChoice where an open result goes into a further
    computation, so that what is allowed cannot be told.

    >>> ptxspec.allowed("rcp.approx.f32 d, a;", {"d": 0.33333334}, a=3.0)
    True
    >>> ptxspec.allowed("rcp.approx.f32 d, a;", {"d": 0.3333}, {"a": 3.0})
    False
    """
    fragment = read_fragment(text)
    values = values_of_inputs(fragment, joined(inputs, operands))
    if not results:
        raise TypeError("no results to look at")
    unknown = [name for name in results if name not in fragment.outputs]
    if unknown:
        raise TypeError(f"{', '.join(unknown)}: the text writes no register of that name")
    choose = Profile(profile).chosen
    settled: dict[Any, int] = {}
    found = True
    for name, value in results.items():
        bits = as_bits(name, value, fragment.formats.get(name, fragment.registers[name]), fragment.left[name])
        try:
            found = allows(fragment.outputs[name], values, bits, choose, settled) and found
        except KeyError as missing:
            raise TypeError(f"the operand {missing.args[0]} has no value when it is read") from None
    return found
