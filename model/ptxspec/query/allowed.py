"""Whether somebody's results are among those that the definitions allow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_
from typing import Any

from ptxspec.query.evaluate import Operand, as_bits, joined, values_of_inputs
from ptxspec.query.fragments import read_fragment
from ptxspec.query.solvers import solve
from ptxspec.terms.core import Bool, constant
from ptxspec.terms.exact import NoChoice, allows
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import FALSE, TRUE, Approximation, freedoms_in, low_bits, resolve, substitute

#: seconds for results that only a solver can tell of
PATIENCE = 60.0


def allowed(
    text: str,
    results: Mapping[str, Operand],
    inputs: Mapping[str, Operand] | None = None,
    /,
    *,
    profile: str = "portable",
    **operands: Operand,
) -> bool:
    """Whether PTX allows `results` (register -> value), all of them together, as results of a straight-line fragment for these
    operands.

    Operands and results are written as the operands of `evaluate`; `inputs` has operands by name. PTX may allow several values
    for a result that it leaves open: any NaN, any number within the error bound of an approximate instruction, or any bits. But
    for equal operands the same freedom has the same value, as for `prove`. If `profile` chooses a result, only that value is
    allowed.

    Raises PtxError if the text has errors; Unsupported for instructions whose results depend on more than the registers of one
    thread; TypeError for operands or results that are missing, unknown or too large; and NoChoice if the answer is not known,
    because another instruction reads an approximate result, or because the solver gives up.

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
    choices = Profile(profile)
    settled: dict[Any, int] = {}
    further: dict[str, Any] = {}
    for name, value in results.items():
        type = fragment.left[name]
        exact = name in fragment.formats or type.kind == "pred"  # else a register has the bits of a form's type only
        bits = as_bits(name, value, type if exact else type.bits, type)
        term = fragment.outputs[name]
        term = term if type.kind == "pred" else low_bits(term, type.width)
        try:
            if not allows(term, values, bits, choices.chosen, settled):
                return False
        except NoChoice:
            further[name] = (term, bits)
        except KeyError as missing:
            raise TypeError(f"the operand {missing.args[0]} has no value when it is read") from None
    return not further or _jointly(list(further.values()), values, choices, settled)


def _jointly(wanted: list[tuple[Any, Any]], values: dict[str, Any], choices: Profile, settled: dict[Any, int]) -> bool:
    """Whether some machine gives all these terms their values, where `settled` says what it has chosen already."""
    inputs = {name: constant(value) for name, value in values.items()}

    def choose(freedom: Any) -> Any:
        if choices.chooses(freedom):
            return choices.term(freedom)
        operands = tuple(a.attrs[0] if a.op == "const" else None for a in freedom.args)
        known = settled.get((freedom.attrs, operands))
        return freedom if known is None else constant(known)

    claim = reduce(and_, (resolve(substitute(term, inputs), choose) == bits for term, bits in wanted), TRUE)
    if claim.op == "const":
        return bool(claim.attrs[0])
    left = freedoms_in(claim)
    for freedom in left:
        if isinstance(freedom.attrs[4], Approximation):
            raise NoChoice(freedom)
    # the choices made before bear on those left, where they are of the same freedom and its operands take the same values
    before: Bool = TRUE
    for freedom in left:
        for (attrs, operands), bits in settled.items():
            if attrs == freedom.attrs and len(operands) == len(freedom.args):
                others = (term != value for term, value in zip(freedom.args, operands, strict=True))
                before = before & (reduce(or_, others, FALSE) | (freedom == bits))
    answer = solve(claim & before, {}, PATIENCE, purpose="a machine that leaves the results")
    if answer.status not in ("sat", "unsat"):
        raise NoChoice(left[0])
    return answer.status == "sat"
