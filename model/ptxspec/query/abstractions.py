"""Claims about more than is asked: what holds by the laws of integers alone, or of all functions, holds of these operations, too.

Solvers take an operation of IEEE 754, or a product of two inputs, apart into bits: a quotient or a fused multiply-add of 32 bits
keeps them busy for minutes. Often a claim needs nothing of it but that equal operands have equal results. So the operation is put
as a freedom without a condition, which is a function of its operands, too. The same product has one name: a remainder is written
with the quotient, and a factor of which only parts are multiplied elsewhere is the sum of its parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.polynomials import Normal
from ptxspec.query.questions import FIRST, Goal, Means
from ptxspec.query.solvers import SolverAnswer, journal, solve
from ptxspec.query.solvers.domains import demanded, domains
from ptxspec.query.solvers.formula import SolverFormula
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, constant, make_int, truth, truth_variable, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import (
    FALSE,
    TRUE,
    absolute,
    bit_length,
    low_bits,
    maximum,
    meaning_of,
    rebuilt,
    select,
    sign_extend,
    substitute,
    within,
)

#: the name for answers that the laws give
LAWS = "laws of integers"
#: seconds for each class of inputs
EACH = 20.0
#: the operation that multiplies, as definitions call it
PRODUCT = "product"
#: operations of which the first two operands may be exchanged, where the result is a number
COMMUTATIVE = ("sum", PRODUCT, "fused")
#: functions of which two at a time are looked at, and products of parts that are named instead of products, at most
MOST = 64
#: products of which two at a time are looked at, whether one has the other's factors with zeros at their ends
FEW = 8
#: what stands in the place of an operation's entry in the register of ambiguities
OPERATION = "operation"


def by_laws(claim: Bool, goal: Goal, what: str) -> bool:
    """Whether nothing makes a claim about products or quotients true of inputs that a goal is about, by the laws of sums,
    products and carries alone. Then the claim is recorded, of which no solver was asked, and what the laws make of it."""
    if not has_products(claim):
        return False
    normal = _normal(claim, goal)
    if normal is not FALSE:
        return False
    purpose = f"{what}, by the laws of sums, products and carries"
    journal.note(journal.Query(what, SolverFormula(goal.given & claim, goal.taken).text()))
    journal.note(journal.Query(purpose, SolverFormula(normal, goal.taken).text(), "unsat", LAWS))
    return True


def of_all_functions(claim: Bool, goal: Goal, means: Means, what: str) -> bool:
    """Whether nothing makes a claim true of inputs that a goal is about, whatever functions the operations of IEEE 754, or
    products and quotients, are. Only a query that says so is recorded; of the others nothing follows, since no operation need be
    as they have it."""
    for weaker in _weaker(claim, goal):
        weaker = goal.given & weaker
        with journal.journal() as queries:
            limit = min(means.timeout, FIRST)
            purpose = f"{what}, of any functions"
            answer = solve(weaker, goal.taken, limit, solver=means.solver, purpose=purpose, simple=False)
        if answer.status == "unsat":
            for query in queries:
                journal.note(query)
            return True
    return False


def of_classes(claim: Bool, goal: Goal, means: Means, what: str) -> SolverAnswer | None:
    """The answer to a claim that multiplies numbers of half precision in two formats, by their significands, for each class of
    the inputs: "unsat" if nothing makes it true, or inputs to look at, of which nothing follows by itself; None if neither."""
    formats = {t.attrs for t in below(claim) if t.op == "call" and t.attrs[0] == PRODUCT}
    are_halves = all(t.kind in ("f", "bf") and t.width == 16 and t.elements == 1 for t in goal.taken.values())
    if len(formats) < 2 or not (are_halves and 0 < len(goal.taken) <= MOST_INPUTS):
        return None
    claim = with_meanings(claim)
    solver = "z3" if means.solver == "portfolio" else means.solver  # each is decided before others were started
    with journal.journal() as queries:
        for part in subdomains(goal.taken):
            given = truth(part.put(goal.given) & part.holds)
            normal = Normal(given, domains(given, part.types)).term(part.put(claim))
            weaker = given & with_any_significands(normal)
            purpose, limit = f"{what}, of any products of significands: {part.name}", min(means.timeout, EACH)
            answer = solve(weaker, part.types, limit, solver=solver, purpose=purpose, simple=False)
            if answer.status == "sat":
                values = {name: evaluate(term, answer.values) for name, term in part.inputs.items()}
                return SolverAnswer("sat", values, {})
            if answer.status != "unsat":
                return None
    for query in queries:
        journal.note(query)
    return SolverAnswer("unsat", {}, {})


def _weaker(claim: Bool, goal: Goal) -> Iterator[Bool]:
    """Claims that something makes true if something makes the claim true, and that solvers find easier."""
    if has_products(claim):
        yield with_any_products(_normal(claim, goal))
    claim = given_that(goal.given, claim)
    for of_others in (False, True):
        weaker = with_any_functions(claim, of_others)
        if weaker is not claim:
            yield weaker


def _normal(claim: Bool, goal: Goal) -> Bool:
    normal: Bool = Normal(goal.given, domains(goal.given, goal.inputs.types)).term(claim)
    return normal


# operations of IEEE 754 -----------------------------------------------------------------------------------------------


def with_any_functions(claim: Bool, of_others: bool) -> Bool:
    """A claim with operations of IEEE 754 as functions that are not known: all of them, or with `of_others` those alone that take
    the result of another one. Operands may be exchanged, where that makes no difference. If nothing makes it true, nothing makes
    the claim true."""
    exchangeable: list[Any] = []

    def replace(term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "call" or (of_others and not any(t.op == "call" for t in below(*args))):
            return None
        operation, width, type, *_ = term.attrs
        function = make_int("freedom", args, (OPERATION, width, "unspecified", type, None, term.attrs, ""))
        if operation in COMMUTATIVE:
            exchangeable.append(function)
        return function

    weaker: Bool = rebuilt(claim, replace, {})
    return weaker & exchanged(exchangeable)


def with_meanings(claim: Bool) -> Bool:
    """A claim with operations of IEEE 754 as their definitions have them, in integers."""

    def replace(term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "call":
            return None
        body, names = meaning_of(term)
        operands = [low_bits(a, term.attrs[1]) for a in args]
        return substitute(body, dict(zip(names, operands, strict=True)))

    expanded: Bool = rebuilt(claim, replace, {})
    return expanded


def exchanged(functions: list[Any]) -> Bool:
    """That functions have the same value where their first two operands are exchanged."""
    holds: Bool = TRUE
    for first, second in itertools.combinations(functions[:MOST], 2):
        if first.attrs == second.attrs:
            (x, y, *more), (u, v, *others) = first.args, second.args
            same = reduce(and_, (a == b for a, b in zip(more, others, strict=True)), (x == v) & (y == u))
            holds = holds & (~same | (first == second))
    return holds


def given_that(condition: Bool, claim: Bool) -> Bool:
    """A claim that has the same truth where a condition holds, in which its parts count as true."""
    known = {}
    for part in demanded(condition):
        known[id(part)] = TRUE
        if part.op == "not":
            known[id(part.args[0])] = FALSE
    simpler: Bool = rebuilt(claim, lambda t, args: known.get(id(t)), {})
    return simpler


# products and quotients -----------------------------------------------------------------------------------------------


def with_any_products(claim: Bool) -> Bool:
    """A claim with products and quotients of two inputs as functions that are not known, and facts that hold of them. If nothing
    makes it true, nothing makes the claim true. The claim itself, if it has none."""
    if not has_products(claim):
        return claim
    without = rebuilt(claim, _without_remainder, None)
    factors = [f for t in below(without) if t.op == "mul" and _is_open(t) for f in t.args]
    parted: dict[int, tuple[Any, int]] = {}
    for factor in factors:
        whole, place = _part(factor)
        if whole is not None and any(f is whole for f in factors):
            parted.setdefault(id(whole), (whole, place))
    names = _Names(parted)
    return names.named(without) & exchanged(names.products)


def with_any_significands(claim: Bool) -> Bool:
    """The same, where one product is another one of longer factors, with zeros at their ends: as those of significands are, of
    one number in two formats."""
    names = _Names({})
    weaker = names.named(claim)
    for product in names.products:
        x, y = product.args
        weaker = weaker & ((product == 0) == ((x == 0) | (y == 0)))
    for first, second in itertools.combinations(names.products[:FEW], 2):
        if first.attrs[1] != second.attrs[1]:
            weaker = weaker & _shifted(*sorted((first, second), key=lambda name: name.attrs[1]))
    return weaker


def _shifted(product: Any, longer: Any) -> Bool:
    """That a product is another one's with zeros at its end, if its factors are the other one's with zeros at their ends."""
    (x, y), (u, v) = product.args, longer.args
    i, j = (maximum(bit_length(long) - bit_length(short), 0) for short, long in ((x, u), (y, v)))
    holds: Bool = ~((u == x << i) & (v == y << j)) | (longer == product << (i + j))
    return holds


def has_products(claim: Bool) -> bool:
    """Whether a claim has products or quotients of two numbers that are no constants."""
    return any(t.op in ("mul", "quotient", "remainder") and _is_open(t) for t in below(claim))


def _is_open(term: Any) -> bool:
    """Whether neither operand is a constant."""
    return all(a.op != "const" for a in term.args)


def below(*terms: Any) -> list[Any]:
    """Some terms and all below them, each once."""
    seen: dict[int, Any] = {}
    stack = list(terms)
    while stack:
        t = stack.pop()
        if id(t) not in seen:
            seen[id(t)] = t
            stack.extend(t.args)
    return list(seen.values())


def _without_remainder(term: Any, args: tuple[Any, ...]) -> Any:
    """x - (x / y) * y, which is x where y is 0."""
    if term.op != "remainder" or args[1].op == "const":
        return None
    x, y = args
    low, high = term.lo, term.hi
    return within(x - make_int("quotient", (x, y)) * y, low, high)


def _part(term: Any) -> tuple[Any, int]:
    """(the term, the bit) if a term is another's bits below some bit, or from it on; else (None, 0)."""
    if term.op == "low":
        inner, place = _part(term.args[0])
        return (inner, place) if inner is not None else (term.args[0], term.attrs[0])
    if term.op == "shr" and term.args[1].op == "const":
        return term.args[0], term.args[1].attrs[0]
    return None, 0


class _Names:
    """Names of products and quotients."""

    def __init__(self, parted: dict[int, tuple[Any, int]]):
        self.parted = parted
        self.facts: list[Bool] = []
        self.count = 0
        self.products: list[Any] = []
        self._known: dict[tuple[str, int, int], Any] = {}

    def named(self, claim: Bool) -> Bool:
        """A claim with names for products and quotients, and the facts that hold of them."""
        weaker: Bool = rebuilt(claim, self.replace, None)
        return reduce(and_, self.facts, weaker)

    def replace(self, term: Any, args: tuple[Any, ...]) -> Any:
        if term.op == "mul" and all(a.op != "const" for a in args):
            return self.product(*args)
        if term.op == "quotient" and args[1].op != "const":
            return self.quotient(*args)
        return None

    def product(self, x: Int, y: Int) -> Int:
        """A product, or the sum of the products of its factors' parts."""
        total: Int = constant(0)
        for a, i in self._parts(x):
            for b, j in self._parts(y):
                part = self._product(a, b)
                part = part << (i + j) if i + j else part
                total = part if total.op == "const" else total + part
        return total

    def _parts(self, x: Int) -> list[tuple[Int, int]]:
        if id(x) not in self.parted or self.count > MOST:
            return [(x, 0)]
        place = self.parted[id(x)][1]
        return [(low_bits(x, place), 0), (x >> place, place)]

    def _product(self, x: Int, y: Int) -> Int:
        if x.op == "const" or y.op == "const":
            return x * y
        if ("mul", id(y), id(x)) in self._known:
            return self._known["mul", id(y), id(x)]  # type: ignore[no-any-return]
        return self._named("mul", x, y, x * y)

    def quotient(self, x: Int, y: Int) -> Int:
        key = ("quotient", id(x), id(y))
        if key in self._known:
            return self._known[key]  # type: ignore[no-any-return]
        name = self._named("quotient", x, y, make_int("quotient", (x, y)))
        rest = x - self.product(name, y)
        size = absolute(y)
        self.facts.append((y == 0) & (name == 0) | ~(y == 0) & (absolute(rest) < size) & ~((rest < 0) & ~(x < 0)))
        self.facts.append(~((rest > 0) & (x < 0)))
        return name

    def _named(self, what: str, x: Int, y: Int, itself: Int) -> Int:
        """The name of a number, of which the range of the term itself is known."""
        key = (what, id(x), id(y))
        if key not in self._known:
            self.count += 1
            width, signed = bits_for(itself.lo, itself.hi)
            attrs = (OPERATION, width, "unspecified", TYPES["b64"], None, what, "")
            name = make_int("freedom", (x, y), attrs)
            if what == "mul":
                self.products.append(name)
            number = sign_extend(name, width) if signed else name
            self.facts.append(~(number < itself.lo) & ~(constant(itself.hi) < number))
            self._known[key] = within(number, itself.lo, itself.hi)
        return self._known[key]  # type: ignore[no-any-return]


# inputs of half precision by their classes -----------------------------------------------------------------------------
# A number that is zero, subnormal or normal is read in three ways, and a solver that has all of them before it at once loses
# itself among shifts. So a claim is put for each class by itself, where an input is a sign and a magnitude of known range.

#: the most inputs that are looked at by their classes
MOST_INPUTS = 2


class Class(NamedTuple):
    """The magnitudes from `low` to `high`, as patterns, and what they are called."""

    name: str
    low: int
    high: int


class Subdomain(NamedTuple):
    """A class for each input: its name, what the inputs are, in which types the parts of them are that are variables, and what
    holds of these."""

    name: str
    inputs: dict[str, Any]
    types: dict[str, Type]
    holds: Bool

    def put(self, term: Bool) -> Bool:
        """A condition on the inputs, for those of the case."""
        condition: Bool = substitute(term, self.inputs)
        return condition


def subdomains(types: Mapping[str, Type]) -> Iterator[Subdomain]:
    """Cases that have all inputs of these types among them. Small numbers are taken apart by their highest bit, where all others
    are normal."""
    for chosen in itertools.product(*map(_classes, types.values())):
        names = [part.name for part in chosen]
        if BEYOND in names:
            first = names.index(BEYOND)
            if any(name != SMALL for name in names[first + 1 :]):
                continue  # one of them has them all, whatever the inputs after it are
            rest = [Class("anything", 0, (1 << (t.width - 1)) - 1) for t in [*types.values()][first + 1 :]]
            yield _subdomain(types, [*chosen[: first + 1], *rest])
        elif names.count(SMALL) == 1:
            place = names.index(SMALL)
            binades = [Class("zero", 0, 0)]  # and the numbers of each highest bit
            for bit in (1 << i for i in range(chosen[place].high.bit_length())):
                binades.append(Class(f"subnormal from {bit:#x}", bit, 2 * bit - 1))
            for binade in binades:
                yield _subdomain(types, [*chosen[:place], binade, *chosen[place + 1 :]])
        else:
            yield _subdomain(types, chosen)


#: what is below the normal numbers, and above them
SMALL, BEYOND = "zero or subnormal", "infinite or a NaN"


def _classes(type: Type) -> list[Class]:
    page = contracts.floating_point
    least, infinity = 1 << (page.precision(type) - 1), page.infinity(type)
    return [
        Class("normal", least, infinity - 1),
        Class(SMALL, 0, least - 1),
        Class(BEYOND, infinity, (1 << (type.width - 1)) - 1),
    ]


def _subdomain(types: Mapping[str, Type], classes: Any) -> Subdomain:
    inputs: dict[str, Any] = {}
    parts: dict[str, Type] = {}
    holds: Any = TRUE
    for (name, type), part in zip(types.items(), classes, strict=True):
        sign, size = f"{name}.sign", f"{name}.magnitude"
        magnitude = variable(size, type.width)
        parts |= {sign: TYPES["pred"], size: TYPES[f"u{type.width}"]}
        holds = holds & ~(magnitude < part.low) & ~(constant(part.high) < magnitude)
        inputs[name] = select(truth_variable(sign), 1 << (type.width - 1), 0) + magnitude
    description = ", ".join(f"{name} is {part.name}" for name, part in zip(types, classes, strict=True))
    return Subdomain(description, inputs, parts, holds)
