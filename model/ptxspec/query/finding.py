"""Inputs of a fragment for which a condition over its operands and results holds: the simplest ones, or a proof of none."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import reduce
from operator import or_
from typing import Any, Literal

from ptxspec.query.assumptions import assumption, condition
from ptxspec.query.evaluate import readings
from ptxspec.query.fragments import read_fragment
from ptxspec.query.minimal import rank
from ptxspec.query.questions import inputs_of, taken_types
from ptxspec.query.solvers import SolverAnswer, solve
from ptxspec.query.trials import combinations
from ptxspec.query.verdicts import OpenChoice
from ptxspec.terms.core import Bool, constant, truth
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import FALSE, Approximation, freedoms_in, is_allowed, low_bits, resolve

#: inputs that may be asked for, and combinations that are tried where the solver cannot know a result
MOST, TRIALS = 1000, 2000
#: inputs of the solver's that need not stand up to the exact interpretation before the search ends
REFUSED = 8


class Finding(dict[str, Any]):
    """Inputs that meet the condition, confirmed by the exact interpretation: a dict from each input to its bits, an unsigned int,
    or a bool for a predicate. `results` has the final bits of the registers that the fragment writes, except open results that
    the condition does not depend on. `types` has the types of inputs and results. `choices` lists the results that PTX leaves
    open, as a machine chose them.

    >>> (found,) = ptxspec.find("add.sat.s32 d, a, b;", "d == 0x7fffffff and a == 1")
    >>> found, found.results, str(found.types["a"])
    ({'a': 1, 'b': 2147483647}, {'d': 2147483647}, '.s32')
    """

    results: dict[str, Any]
    types: dict[str, Type]
    choices: tuple[OpenChoice, ...]

    def as_dict(self) -> dict[str, Any]:
        """The inputs and results with all their readings, and the choices, for JSON.

        >>> (found,) = ptxspec.find("neg.s32 d, a;", "d == 1")
        >>> found.as_dict()["inputs"]["a"]["signed"]
        -1
        """
        return {
            "inputs": {n: self._read(n, v) for n, v in self.items()},
            "results": {n: self._read(n, v) for n, v in self.results.items()},
            "choices": [c.as_dict() for c in self.choices],
        }

    def _read(self, name: str, value: Any) -> dict[str, Any]:
        return {**readings(value, self.types[name]), "type": str(self.types[name])}


class Findings(list[Finding]):
    """The list of the inputs that `find` found, the simplest first. `status` is "found", "none" (proved: there are none) or
    "unknown". `complete` is True if it is proved that there are no others, and `ordered` if it is proved that no others are
    simpler. `reason` explains the status in words. `seconds` is the time that it took.

    >>> found = ptxspec.find("popc.b32 d, a;", "d == 33")
    >>> found, found.status, found.reason
    ([], 'none', 'proved none: no inputs meet the condition')
    >>> found = ptxspec.find("popc.b32 d, a;", "d == 32", count=3)
    >>> found, found.status, found.complete
    ([{'a': 4294967295}], 'found', True)
    """

    def __init__(
        self,
        findings: Iterable[Finding],
        status: Literal["found", "none", "unknown"],
        reason: str,
        complete: bool,
        ordered: bool,
        seconds: float,
    ):
        super().__init__(findings)
        self.status, self.reason, self.complete, self.ordered = status, reason, complete, ordered
        self.seconds = seconds

    @property
    def exit_status(self) -> int:
        """The exit status of `ptxspec find`: 0 if inputs are found, 1 if it is proved that there are none, 2 if that is not
        known.

        >>> ptxspec.find("popc.b32 d, a;", "d == 33").exit_status
        1
        """
        return {"found": 0, "none": 1}.get(self.status, 2)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> ptxspec.find("popc.b32 d, a;", "d == 33").as_dict()["complete"]
        True
        """
        return {
            "status": self.status,
            "reason": self.reason,
            "complete": self.complete,
            "ordered": self.ordered,
            "seconds": round(self.seconds, 3),
            "found": [finding.as_dict() for finding in self],
        }


def find(
    text: str,
    where: str,
    *,
    count: int = 1,
    assume: str | None = None,
    profile: str = "hopper",
    timeout: float = 60.0,
) -> Findings:
    """Find inputs of a straight-line fragment for which the condition `where` holds: at most `count`, all different, the simplest
    first; or prove that there are none.

    `where` is a Python expression over inputs and results. A name stands for the register as an unsigned number; a register that
    the fragment writes has its final value. signed(d), nan(d), infinite(d), zero(d), subnormal(d) and negative(d) interpret a
    register, and real(d) is its exact number, to compare with a decimal or with another: "real(d) == 0.5". `assume` is a
    condition on the inputs alone, in which a name is the register's value before the fragment. `profile` chooses the results that
    PTX leaves open. For a result that it does not choose, inputs qualify if some machine's choice meets the condition. `timeout`
    is in seconds, for the whole search.

    The exact interpretation confirms all inputs found. The input that the fragment reads first counts most in the order of
    simplicity, which the guide "Ask questions" describes. Raises PtxError if the text has errors; AssumptionError for a condition
    with an error, such as a name that is neither an input nor a result; Unsupported for instructions whose results depend on more
    than the registers of one thread; and ValueError for any other wrong argument.

    >>> for one in ptxspec.find("add.sat.s32 d, a, b;", "d == 0x7fffffff and a < 16", count=3):
    ...     print({name: hex(value) for name, value in one.items()})
    {'a': '0x0', 'b': '0x7fffffff'}
    {'a': '0x1', 'b': '0x7fffffff'}
    {'a': '0x1', 'b': '0x7ffffffe'}
    >>> found = ptxspec.find("mul.f32 d, a, a;", "real(d) == 0.25")
    >>> hex(found[0]["a"]), found.status
    ('0x3f000000', 'found')
    """
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"a timeout of {timeout} seconds: a positive number is needed")
    if not 1 <= count <= MOST:
        raise ValueError(f"a count of {count}: 1 to {MOST:,} inputs can be asked for")
    return _InputSearch(text, where, assume, profile, count, timeout).run()


class _InputSearch:
    """One input after the other, each from the solver, with those that came before kept out."""

    def __init__(self, text: str, where: str, assume: str | None, profile: str, count: int, timeout: float):
        self.began = time.monotonic()
        self.count, self.deadline = count, self.began + timeout
        self.fragment, self.profile = read_fragment(text), Profile(profile)
        self.inputs = inputs_of(self.fragment.inputs, self.fragment.registers)
        self.types, left = taken_types(self.inputs, self.fragment), self.fragment.left
        memo: dict[int, Any] = {}
        settled = {name: resolve(term, self.profile.settled, memo) for name, term in self.fragment.outputs.items()}
        self.results = {n: t if left[n].kind == "pred" else low_bits(t, left[n].width) for n, t in settled.items()}
        given = self.inputs.read(self.fragment.inputs)
        #: what has to hold
        self.claim = assumption(assume, given, self.inputs.types) & self.inputs.guaranteed
        names, otherwise = {**given, **self.results}, "neither an input nor a result"
        self.claim = self.claim & condition(where, names, {**self.types, **left}, otherwise)
        self.read = [n for n in self.inputs.types if n in self.fragment.inputs]
        self.findings: list[Finding] = []
        self.ordered = True
        self.approximate = any(isinstance(f.attrs[4], Approximation) for f in freedoms_in(self.claim))
        #: inputs of the solver that did not stand up to the replay, which it must not name again
        self.refused = 0

    def run(self) -> Findings:
        why = ""
        if self.approximate:  # which the solver takes for any number: it is asked for a proof of none only
            self.try_values()
        claim = self.claim
        for finding in self.findings:
            claim = claim & self.differs_from(finding)
        while len(self.findings) < self.count and not why:
            left = self.deadline - time.monotonic()
            answer = solve(claim, self.types, left, surely=True) if left > 0 else SolverAnswer("timeout", {}, {})
            if answer.status != "sat":
                why = answer.status
                break
            self.ordered &= answer.simplest
            shown = self.replayed(answer.values, answer.choices)
            if shown is not None:
                self.findings.append(shown)
            else:
                self.refused += 1
                why = "unsat" if self.refused == REFUSED else ""
            claim = claim & self.differs_from(answer.values)
        return self.outcome(why)

    def outcome(self, why: str) -> Findings:
        """What the search has come to; `why` says what ended it, if that is not the count."""
        self.findings.sort(key=self.rank)
        proved = why == "unsat" and not self.refused
        ordered = proved or (self.ordered and not self.approximate)
        seconds = time.monotonic() - self.began
        if self.findings:
            reason = f"{len(self.findings)} found" + (", and proved that there are no others" if proved else "")
            if why and not proved:
                reason += f"; whether there are others is open: {self.words(why)}"
            if not ordered:
                reason += "; there may be simpler ones"
            return Findings(self.findings, "found", reason, proved, ordered, seconds)
        if proved:
            return Findings([], "none", "proved none: no inputs meet the condition", True, True, seconds)
        return Findings([], "unknown", self.words(why), False, False, seconds)

    def words(self, why: str) -> str:
        tried = f", and {TRIALS:,} combinations of simple values at most were tried" if self.approximate else ""
        if why == "unsat":
            return f"{self.refused} inputs of the solver's did not stand up to the exact interpretation{tried}"
        return f"the solver says: {why}, after {time.monotonic() - self.began:.1f} s{tried}"

    def rank(self, values: Mapping[str, Any]) -> list[tuple[int, int]]:
        return [rank(values[name], self.types[name]) for name in self.read]

    def differs_from(self, values: Mapping[str, Any]) -> Bool:
        """That some input is another than in `values`."""
        return reduce(or_, (truth(self.inputs.terms[n] != constant(values[n])) for n in self.read), FALSE)

    def try_values(self) -> None:
        """Find what simple values there are, with approximate results as the profile has them."""
        types = self.types
        for values in itertools.islice(combinations(types), TRIALS):
            if len(self.findings) == self.count or time.monotonic() > self.deadline:
                return
            shown = self.replayed(values, {})
            if shown is not None:
                self.findings.append(shown)

    def replayed(self, values: Mapping[str, Any], chosen: Mapping[Any, int]) -> Finding | None:
        """The inputs among some values, by the exact interpretation; None if the condition does not hold, or rests on a result
        that nothing chooses."""
        met: dict[Any, OpenChoice] = {}

        def choose(freedom: Any, operands: tuple[int, ...]) -> int:
            key = freedom.attrs, operands
            bits = chosen.get(key)
            if bits is None or isinstance(freedom.attrs[4], Approximation):
                bits = self.profile.value(freedom, operands)
            if not is_allowed(freedom, operands, bits):
                raise NoChoice(freedom)
            met[key] = OpenChoice(freedom.attrs[0], operands, bits, freedom.attrs[3], freedom.attrs[5])
            return bits

        memo: dict[int, Any] = {}
        try:
            if not evaluate_term(self.claim, values, choose, memo):
                return None
        except NoChoice:
            return None
        finding = Finding((name, values[name]) for name in self.read)
        finding.results = {}
        for name, term in self.results.items():
            with suppress(NoChoice):  # the condition does not depend on it
                finding.results[name] = evaluate_term(term, values, choose, memo)
        finding.types = {**self.types, **self.fragment.left}
        finding.choices = tuple(met.values())
        return finding
