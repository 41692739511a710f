"""What the prover says of random pairs, held against both engines.

What is proved is computed on 1,000 operands that meet the assumption: by machines that choose differently where PTX leaves a result
open, natively and by the exact interpretation; of pairs that touch memory, and of a part of the others, by launches as well, where
nothing but the text goes in. What is refuted is replayed the same ways. Where a refinement is proved and the sides differ, what the
right side leaves must be among what the left side's terms allow. Of pairs that order memory for other threads, those that are the same
must not be unsupported, those that differ in order alone must not be proved, and what is proved is launched with a thread that
interferes.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from launched import EITHER, Left, Sides, differing, left_by
from machines import SALTS, NotJudged, compiled, machine, no_choice, one_nan, operands, shown_by
from ordering import WARP_SIZE, hold_warp, hold_with_another, ordered, warp
from questions import choosing, pair
from touching import Memory, touching

import ptxspec
from ptxspec.evidence.compiled_loops import column, compile_loops
from ptxspec.query.allowed import allowed
from ptxspec.query.evaluate import cut
from ptxspec.query.paths.options import options
from ptxspec.query.questions import Goal
from ptxspec.query.questions import ask as put
from ptxspec.query.solvers import solve
from ptxspec.query.undefined import reached
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import Bool, constant, make, truth, truth_variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.exact import NoChoice, allows
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in, is_allowed, low_bits, resolve

#: operands of each proof, and those that are drawn to find so many that meet an assumption
ROWS, DRAWN = 1000, 8000
#: pairs whose answers are checked by one piece of machine code
TOGETHER = 40
TIMEOUT = 3.0
#: one in so many straight lines is launched, too
LAUNCHED = 8
#: machines that the judge of refinements tries, where an open result goes into a further computation
TRIED = 24


class Posed(NamedTuple):
    """A question: its seed, both texts, the assumption or None, how the right side came from the left one, the relation, the
    buffers, which products and sums are contracted, whether NaNs count with their payloads, the names that are
    compared, and whether it is about the order of memory: of one thread ("ordered"), or of a warp."""

    seed: int
    left: str
    right: str
    assume: str | None
    how: str
    relation: Any
    memory: Memory | None
    contract: Any = "none"
    nan: Any = "any"
    compare: tuple[str, ...] | None = None
    about: str = ""

    @property
    def buffers(self) -> Any:
        if self.about == "warp":
            return {"m": WARP_SIZE}
        return None if self.memory is None else self.memory.buffers

    def asked(self) -> Goal:
        return put(self.left, self.right, self.assume, "portable", options(buffers=self.buffers, **self.how_asked))

    @property
    def how_asked(self) -> dict[str, Any]:
        """What the question says of freedoms."""
        return {"contract": self.contract, "nan": self.nan, "compare": self.compare, "warp": self.about == "warp"}

    @property
    def kind(self) -> str:
        return self.about or f"{self.relation}{' memory' if self.memory else ''}"


def posed(seed: int) -> Posed:
    """The question of a seed: 12 % are about the order of memory, and 2 % about that of a warp. Of the others a fifth is about results
    that PTX leaves open; of the rest 40 % are equalities of straight lines, 25 % refinements, 35 % touch memory, of either relation.
    Half of the equalities compare payloads."""
    chance = random.Random(f"about {seed}").random()
    if chance < 0.12:
        one = ordered(seed)
        return Posed(seed, *one[:4], "equal", one.memory, about="ordered")
    if chance < 0.14:
        of_lanes = warp(seed)
        return Posed(seed, of_lanes.left, of_lanes.right, None, of_lanes.how, "equal", None, about="warp")
    source = random.Random(f"posed {seed}")
    more = random.Random(f"open results of {seed}")
    nan, compare = more.choice(("any", "payloads")), ("*",) if more.random() < 0.3 else None
    if more.random() < 0.2:
        contract = more.choice(("any", "any", "none"))
        relation = more.choice(("equal", "refines"))
        return Posed(seed, *choosing(seed), relation, None, contract, nan, compare)
    found = _posed(seed, source)
    return found._replace(nan=nan, compare=compare) if found.memory is None else found._replace(nan=nan)


def _posed(seed: int, source: random.Random) -> Posed:
    kind = source.random()
    if kind < 0.65:
        return Posed(seed, *pair(seed), "equal" if kind < 0.4 else "refines", None)
    found = touching(seed)
    return Posed(seed, *found[:4], "equal" if kind < 0.88 else "refines", found.memory)


# operands -------------------------------------------------------------------------------------------------------------


def meeting(asked: Goal, seed: int) -> dict[str, list[int]]:
    """1,000 operands that meet the assumption, or as many as are found."""
    types = asked.inputs.types
    if asked.given.op == "const":
        return operands(types, seed, ROWS)
    drawn = operands(types, seed, DRAWN)
    given = compiled(asked.given, asked)
    kept = [row for row in zip(*drawn.values(), strict=True) if given(*row)][:ROWS]
    return {n: [row[k] for row in kept] for k, n in enumerate(types)}


# proofs ---------------------------------------------------------------------------------------------------------------


class Check(NamedTuple):
    """An answer, as something to compute: for each of some machines where the sides differ; the operands by name; and whether they
    must differ."""

    posed: Posed
    asked: Goal
    meaning: Meaning
    values: dict[str, list[int]]
    is_refuted: bool = False

    @property
    def columns(self) -> list[np.ndarray]:
        return [column(self.values[n], t) for n, t in self.asked.inputs.types.items()]


def parts(type: Type) -> list[tuple[int, int]]:
    """Where the elements of a result are, and how wide."""
    return [(k * type.element_step, type.element_step) for k in range(type.elements)]


def is_nan_of(bits: Any, width: int) -> Any:
    """Whether bits are a NaN of the format of that width, if there is one."""
    infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF << 52}.get(width)
    return constant(False) if infinity is None else low_bits(bits, width - 1) > infinity


def apart(posed: Posed, asked: Goal, choose: Callable[[Any], Any], excuses: bool = False) -> Bool:
    """Where the sides differ on a machine, or one breaks a rule that the other does not. With `excuses`, two NaNs do not differ."""
    memo: dict[int, Any] = {}
    first, second = asked.sides
    differs: Any = constant(False)
    for name, type in asked.compared.items():
        x, y = (resolve(side.outputs[name], choose, memo) for side in asked.sides)
        if type.kind == "pred":
            differs = differs | (truth(x) != truth(y))
            continue
        for place, width in parts(type):
            own, its = (low_bits(v >> place, width) for v in (x, y))
            excused = is_nan_of(own, width) & is_nan_of(its, width) if excuses else constant(False)
            differs = differs | ((own != its) & ~excused)
    here, there, lost = (resolve(t, choose, memo) for t in (first.faults, second.faults, asked.beyond))
    found = ~here & (there | differs)
    if posed.relation == "equal":
        found = found | (here & ~there)
    return truth(found & ~lost & resolve(asked.given, choose, memo))


def check_of(posed: Posed, machines: Sequence[Callable[[Any], Any]], values: Mapping[str, Any] | None = None) -> Check:
    asked = posed.asked()
    excuses = posed.relation == "equal" and posed.nan == "any" and values is None
    wrong = tuple(Result(TYPES["pred"], (apart(posed, asked, choose, excuses),)) for choose in machines)
    if excuses:  # and where all open NaNs are one, the others are the same bit by bit
        wrong += tuple(Result(TYPES["pred"], (apart(posed, asked, one_nan(salt)),)) for salt in SALTS)
    inputs = tuple(Input(n, t, (asked.inputs.terms[n],)) for n, t in asked.inputs.types.items())
    found = meeting(asked, posed.seed) if values is None else {n: [int(values[n])] for n in asked.inputs.types}
    return Check(posed, asked, Meaning(inputs, wrong, None), found, values is not None)


def hold(checks: Sequence[Check]) -> Counter[str]:
    """Compute answers on every row and machine: natively, and by the exact interpretation."""
    counts: Counter[str] = Counter()
    computed = [c for c in checks if c.columns and any(r.values[0].op != "const" for r in c.meaning.results)]
    native = dict(
        zip(map(id, computed), compile_loops([c.meaning for c in computed], lambda freedom: None), strict=True)
    )
    for check in checks:
        counts["operands"] += len(next(iter(check.values.values()), [0]))
        rows = list(zip(*check.values.values(), strict=True)) or [()]
        told = native[id(check)](check.columns) if id(check) in native else None
        for k, result in enumerate(check.meaning.results):
            exact = compiled(result.values[0], check.asked)
            mask = np.array([bool(exact(*row)) for row in rows])
            if told is not None:
                assert (told[k].astype(bool) == mask).all(), f"the engines differ: {check.posed}"
            if check.is_refuted:
                assert mask.all(), f"refuted, and the sides agree: {check.posed}"
            elif mask.any():
                counts += judged(check, k, rows, mask)
    return counts


def judged(check: Check, number: int, rows: Sequence[Any], mask: np.ndarray) -> Counter[str]:
    """Whether the left side allows what the right one leaves, in the rows where they differ on a machine: else the answer was
    wrong. Counts the rows."""
    counts: Counter[str] = Counter()
    where = f"machine {number}, row {int(mask.argmax())}: {check.posed}"
    assert check.posed.relation == "refines", f"proved, and false on {where} {rows[int(mask.argmax())]}"
    choose, memo = machine(SALTS[number]), {}
    right = [resolve(t, choose, memo) for t in (*check.asked.finals[1].values(), check.asked.sides[1].faults)]
    runs = [compiled(t, check.asked) for t in right]
    for i in np.flatnonzero(mask):
        *found, broken = (run(*rows[i]) for run in runs)
        wanted = {n: cut(v, t) for (n, t), v in zip(check.asked.compared.items(), found, strict=True)}
        values = dict(zip(check.asked.inputs.types, rows[i], strict=True))
        try:
            fine = not broken and accepted(check.posed, check.asked, wanted, values)
        except NotJudged:
            counts["rows not judged"] += 1
            continue
        assert fine, f"proved, and not allowed: {where} {values} {wanted}"
        counts["rows judged"] += 1
    return counts


def ways_to_contract(asked: Goal) -> list[Callable[[Any], Any]]:
    """What makes of a machine one that contracts some sums of the left side: all ways, of the first three."""
    count = sum(f.attrs[0] == "contraction" for f in freedoms_in(*asked.finals[0].values()))

    def made(chosen: tuple[int, ...], machine: Callable[[Any], Any]) -> Callable[[Any], Any]:
        met: dict[tuple[int, ...], tuple[int, Any]] = {}

        def choose(freedom: Any) -> Any:
            if freedom.attrs[0] != "contraction":
                return machine(freedom)
            place, _ = met.setdefault(tuple(map(id, freedom.args)), (len(met), freedom))
            bits = chosen[place % len(chosen)]
            return constant(bits if is_allowed(freedom, (), bits) else 0)

        return choose

    return [partial(made, chosen) for chosen in itertools.product(range(3), repeat=min(3, count))] or [lambda m: m]


def meets_undefined(terms: Iterable[Any], values: Mapping[str, Any], choose: Callable[[Any], Any]) -> bool:
    """Whether a machine meets an undefined result where it computes terms: of a selection, on the way that it takes."""
    met: list[Any] = []

    def notes(freedom: Any, operands: tuple[int, ...]) -> int:
        if freedom.attrs[2] == "undefined":
            met.append(freedom)
        chosen = choose(make(freedom.op, tuple(map(constant, operands)), freedom.attrs))
        return int(evaluate_term(chosen, {}))

    for term in terms:
        evaluate_term(term, values, notes)
    return bool(met)


def accepted(posed: Posed, asked: Goal, wanted: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether the left side may leave these results: as its terms say, or a machine shows, or, of straight lines, by `allowed`; or
    because it may meet an undefined result, after which anything may follow."""
    if any(meets_undefined(asked.finals[0].values(), values, machine(salt)) for salt in range(TRIED)):
        return True
    settled: dict[Any, int] = {}
    terms = {
        n: t if asked.compared[n].kind == "pred" else low_bits(t, asked.compared[n].width)
        for n, t in asked.finals[0].items()
    }
    try:
        return all(allows(terms[n], values, v, settled=settled) for n, v in wanted.items())
    except NoChoice:
        pass
    for salt, contract in itertools.product(range(TRIED), ways_to_contract(asked)):
        choose, memo = contract(machine(salt)), {}
        if all(evaluate_term(resolve(t, choose, memo), values) == wanted[n] for n, t in terms.items()):
            return True
    widths = {n: asked.sides[0].left[n] for n in wanted}
    if (
        posed.memory is not None
        or posed.contract != "none"
        or any(not isinstance(v, bool) and v >> widths[n].width for n, v in wanted.items())
    ):
        raise NotJudged
    own = asked.sides[0]
    read = {
        n: v if isinstance(v, bool) or own.registers[n].kind == "pred" else v & ((1 << own.registers[n].width) - 1)
        for n, v in values.items()
        if n in own.inputs
    }
    return allowed(posed.left, wanted, read)


# launches -------------------------------------------------------------------------------------------------------------


def launched(check: Check) -> Counter[str]:
    """Launch both sides of a proof on all operands, under both engines, on the chip that a profile tells of; where a side breaks a
    rule, alone."""
    posed, asked = check.posed, check.asked
    sides, counts = Sides(asked, posed.memory), Counter()
    rows = list(zip(*check.values.values(), strict=True))
    broken = [
        [bool(evaluate_term(s.faults, dict(zip(check.values, row, strict=True)), no_choice)) for row in rows]
        if s.faults.op != "const"
        else [bool(s.faults.attrs[0])] * len(rows)
        for s in asked.sides
    ]
    sound = [i for i in range(len(rows)) if not broken[0][i] and not broken[1][i]]
    for i in [i for i in range(len(rows)) if broken[0][i] or broken[1][i]][:2]:
        one = {n: [v[i]] for n, v in check.values.items()}
        for engine in ("exact", "native"):
            for side, which in enumerate(EITHER):
                told = sides.run(one, 1, engine, which)
                assert isinstance(told, str) == broken[side][i], (
                    f"{engine}: {told} on side {side}, row {i}: {posed} {one}"
                )
        counts["faults launched"] += 1
    if sound:
        some = {n: [v[i] for i in sound] for n, v in check.values.items()}
        left = [sides.run(some, len(sound), engine) for engine in ("exact", "native")]
        for engine, found in zip(("exact", "native"), left, strict=True):
            assert isinstance(found, Left), f"{engine}: {found}: {posed}"
        for i in differing(left[0], left[1], (0, 0)) | differing(left[0], left[1], (1, 1)):
            raise AssertionError(f"the engines differ in row {i}: {posed} { {n: v[i] for n, v in some.items()} }")
        for i in differing(left[0], left[0], (0, 1), asked.compared):
            row = {n: v[i] for n, v in some.items()}
            if posed.relation == "equal" and posed.nan == "any" and nans_alone(asked, left[0], i):
                continue
            assert posed.relation == "refines" and accepted(
                posed, asked, left_by(left[0], 1, i, asked.compared), row
            ), f"proved, and launches differ in row {i}: {posed} {row}"
        counts["launched"] += len(sound)
    return counts


def nans_alone(asked: Goal, found: Left, row: int) -> bool:
    """Whether the sides left NaNs in all places where they left something else."""
    if any((data[row] != found.memory[1][buffer][row]).any() for buffer, data in found.memory[0].items()):
        return False
    own, its = (left_by(found, side, row, asked.compared) for side in (0, 1))
    for name, type in asked.compared.items():
        for place, width in [] if type.kind == "pred" else parts(type):
            x, y = (constant(low_bits(constant(v[name] >> place), width).attrs[0]) for v in (own, its))
            if x.attrs != y.attrs and not (is_nan_of(x, width) & is_nan_of(y, width)).attrs[0]:
                return False
    return all(type.kind != "pred" or own[name] == its[name] for name, type in asked.compared.items())


def relaunched(posed: Posed, verdict: Any) -> bool:
    """Launch both sides of a counterexample that has no choices: they leave something else, or one breaks a rule."""
    asked, found = posed.asked(), verdict.counterexample
    if found.choices or (
        CONDITION_CODE in {*found.differing, *asked.inputs.types} and "sub" in posed.left + posed.right
    ):
        return False  # a launch reads a borrow as a carry: its complement, on an H200 (AMB-085)
    sides = Sides(asked, posed.memory)
    one = {n: [int(found.inputs.get(n, 0))] for n in asked.inputs.types}
    for engine in ("exact", "native"):
        left, right = (sides.run(one, 1, engine, which) for which in EITHER)
        if isinstance(left, str) or isinstance(right, str):
            differ = isinstance(left, str) != isinstance(right, str) and not (
                posed.relation == "refines" and isinstance(left, str)
            )
        else:
            differ = bool(differing(left, right, (0, 1), asked.compared))
        assert differ, f"{engine}: refuted, and launches agree: {posed} {found.inputs}"
    return True


# refutations ----------------------------------------------------------------------------------------------------------


def replay(posed: Posed, verdict: Any) -> Check | None:
    """Evaluate both sides of a refutation, by the exact interpretation, with the choices that it shows and no others; returns what
    is to be computed natively. Of a refinement, the left side must not allow what the right one leaves."""
    found, asked = verdict.counterexample, posed.asked()
    shown = {(c.entry, c.operation, c.type, c.operands): c.bits for c in found.choices}
    assert len(shown) == len(found.choices), f"one choice is shown as two: {posed}"

    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        if freedom.attrs[2] == "deviation":
            return operands[0]
        bits = shown[freedom.attrs[0], freedom.attrs[5], freedom.attrs[3], operands]
        assert isinstance(freedom.attrs[4], Approximation) or is_allowed(freedom, operands, bits), (
            f"a choice that is not allowed: {posed}"
        )
        return bits

    inputs = {n: found.inputs.get(n, 0) for n in asked.inputs.types}
    assert evaluate_term(asked.given, inputs, pick), f"the assumption is not met: {posed} {inputs}"
    if posed.relation == "refines":
        wanted = {n: cut(evaluate_term(asked.finals[1][n], inputs, pick), t) for n, t in asked.compared.items()}
        # what an undefined result bears on is wrong, whatever that happens to be; unless the left side does it, too
        excuse, misdeed = (
            side.faults | reached(finals.values()) for side, finals in zip(asked.sides, asked.finals, strict=True)
        )
        broken = evaluate_term(misdeed, inputs, pick)
        assert freedoms_in(excuse) or not evaluate_term(excuse, inputs), f"refuted, and excused: {posed} {inputs}"
        assert broken or not accepted(posed, asked, wanted, inputs), f"refuted, and allowed: {posed} {inputs} {wanted}"
        return None if freedoms_in(*asked.finals[0].values()) else check_of(posed, [shown_by(verdict)], inputs)
    broken = tuple(bool(evaluate_term(s.faults, inputs, pick)) for s in asked.sides)
    if any(broken):
        assert broken[0] != broken[1], f"both sides break a rule, or none: {posed} {inputs}"
        return check_of(posed, [shown_by(verdict)], inputs)
    left, right = (
        {n: cut(evaluate_term(side.outputs[n], inputs, pick), t) for n, t in asked.compared.items()}
        for side in asked.sides
    )
    apart_in = tuple(n for n in asked.compared if left[n] != right[n])
    assert set(found.differing) <= set(apart_in), f"the sides do not differ as shown: {posed}"
    if posed.nan == "payloads":
        assert apart_in == found.differing, f"the sides do not differ as shown: {posed}"
    else:
        assert any(counts_bits(asked, n, inputs, pick, (left[n], right[n])) for n in found.differing) or any(
            differs_elsewhere(asked, n, posed.seed) for n in found.differing
        ), f"the sides differ in open NaNs alone: {posed}"
    for side, values in ((found.left, left), (found.right, right)):
        last = {n: (step.writes[n], step.types[n]) for step in side for n in step.writes}
        for name in (n for n in found.differing if n in last):
            value, type = last[name]
            assert cut(value, type) == cut(values[name], type), f"the steps shown end in something else: {posed}"
    return check_of(posed, [shown_by(verdict)], inputs)


def counts_bits(asked: Goal, name: str, inputs: Mapping[str, Any], pick: Any, values: tuple[Any, Any]) -> bool:
    """Whether two different results are not both open NaNs: one is no NaN, or not another one if all NaNs that are chosen are."""
    type = asked.compared[name]
    if type.kind == "pred":
        return True

    def other(freedom: Any, operands: tuple[int, ...]) -> int:
        bits = int(pick(freedom, operands))
        return (
            bits ^ 1 if freedom.attrs[0].split("-")[-1] == "nan" and is_allowed(freedom, operands, bits ^ 1) else bits
        )

    try:
        turned = [cut(evaluate_term(side.outputs[name], inputs, other), type) for side in asked.sides]
    except KeyError:  # a choice that depends on the bits of an open NaN, and so is none itself
        return True
    for place, width in parts(type):
        mask = (1 << width) - 1
        (x, y), (u, v) = ([(w >> place) & mask for w in some] for some in (values, turned))
        nans = [is_nan_of(constant(w), width).attrs[0] for w in (x, y)]
        if x != y and (not all(nans) or x ^ u != 1 or y ^ v != 1):
            return True
    return False


def differs_elsewhere(asked: Goal, name: str, seed: int) -> bool:
    """Whether two results that are open NaNs at the inputs shown are none at others, on some machine: what is computed from the
    bits of an open NaN may happen to be these bits, as those of an exclusive disjunction with zero."""
    rows = operands(asked.inputs.types, seed, ROWS)

    for salt, row in itertools.product(SALTS, range(ROWS)):

        def pick(freedom: Any, operands: tuple[int, ...], salt: int = salt) -> int:
            chosen = machine(salt)(make(freedom.op, tuple(map(constant, operands)), freedom.attrs))
            return int(evaluate_term(chosen, {}))

        inputs = {
            n: bool(rows[n][row]) if type.kind == "pred" else rows[n][row] for n, type in asked.inputs.types.items()
        }
        if evaluate_term(asked.given, inputs, pick):
            x, y = (cut(evaluate_term(side.outputs[name], inputs, pick), asked.compared[name]) for side in asked.sides)
            if x != y and counts_bits(asked, name, inputs, pick, (x, y)):
                return True
    return False


# the campaign ---------------------------------------------------------------------------------------------------------


def ask(seeds: Iterable[int]) -> Counter[str]:
    """Ask the questions of these seeds, and hold the answers against both engines. Counts what was answered. Raises AssertionError
    for an answer that does not hold."""
    counts: Counter[str] = Counter()
    waiting: list[Check] = []
    for seed in seeds:
        one = posed(seed)
        try:
            verdict = ptxspec.prove(
                one.left,
                one.right,
                relation=one.relation,
                assume=one.assume,
                timeout=TIMEOUT,
                buffers=one.buffers,
                **one.how_asked,
            )
        except (ptxspec.PtxError, ValueError) as wrong:
            counts[type(wrong).__name__] += 1
            continue
        except Exception as failure:
            raise AssertionError(f"{one} ends in {type(failure).__name__}") from failure
        counts.update([verdict.status, f"{one.kind}: {verdict.status}", f"{one.how} {verdict.status}"])
        counts[
            f"{one.nan if one.relation == 'equal' else one.relation}, contract {one.contract}: {verdict.status}"
        ] += 1
        try:
            counts += answered(one, verdict, waiting)
            if len(waiting) >= TOGETHER:
                batch, waiting = waiting, []
                counts += hold(batch)
        except NotJudged:
            counts["not judged"] += 1
    return counts + hold(waiting)


def answered(one: Posed, verdict: Any, waiting: list[Check]) -> Counter[str]:
    """Hold an answer against launches, and have it wait for the rest."""
    counts: Counter[str] = Counter()
    if verdict.status == "unsupported":
        assert one.about or "atom" in one.left + one.right, f"unsupported: {verdict.reason}: {one}"
        assert one.how != "same", f"the same, and unsupported: {verdict.reason}: {one}"
    if one.how == "order" and verdict.status in ("proved", "exhausted"):
        asked = one.asked()
        # a load that is moved may have a guard, and break a rule wherever that holds: then no run tells where it was
        moved = re.search(r"@(!?)(\w+) ld\.\S+ d,", one.left)
        there = asked.given & ~asked.sides[0].faults
        if moved is not None and moved[2] in asked.inputs.types:
            there = there & (truth_variable(moved[2]) != bool(moved[1]))
        runs = solve(there, dict(asked.inputs.types), TIMEOUT).status
        assert runs == "unsat", f"they differ in order, and are proved: {one}"
        counts["order of what is undefined"] += 1
    if one.about == "warp":
        if verdict.status == "proved":
            counts["launches of warps"] += hold_warp(one, str(one))
        assert one.how == "order" or verdict.status != "refuted", f"the same, and refuted: {one}"
        return counts
    if verdict.status == "refuted":
        counts["refuted by a choice"] += bool(verdict.counterexample.choices)
        check = replay(one, verdict)
        if one.memory is not None or one.seed % LAUNCHED == 0:
            counts["refuted and launched"] += relaunched(one, verdict)
    elif verdict.status in ("proved", "exhausted"):
        counts["proved by the solver"] += verdict.reason != "both sides are the same term"
        check = check_of(one, [machine(salt) for salt in SALTS])
        if one.memory is not None or (one.seed % LAUNCHED == 0 and "sub" not in one.left + one.right):
            counts += launched(check)
        if one.about and one.memory is not None:
            counts["rows with another thread"] += hold_with_another(check.asked, one.memory, check.values, str(one))
    else:
        check = None
    waiting += [check] if check is not None else []
    return counts
