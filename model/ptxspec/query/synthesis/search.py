"""The search for the shortest sequence: by length, with constants that are often of use, then with constants of any value."""

from __future__ import annotations

import itertools
import math
import random
import re
import time
from collections.abc import Sequence as Several
from functools import reduce
from operator import or_
from typing import Any, Literal, NamedTuple

import numpy as np

from ptxspec.query.assumptions import assumption
from ptxspec.query.equivalence import prove
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import SymbolicFragment, Unsupported
from ptxspec.query.paths.options import options
from ptxspec.query.questions import Inputs, ask, inputs_of, taken_types
from ptxspec.query.repeated import known_profile
from ptxspec.query.results import ALL
from ptxspec.query.solvers import solve
from ptxspec.query.solvers.domains import is_quick
from ptxspec.query.solvers.exhaustion import exhaust
from ptxspec.query.synthesis.sequences import Argument, SearchSpace, Sequence, sequences
from ptxspec.query.synthesis.templates import MACHINE, OperandSlot, templates_of
from ptxspec.query.trials import combinations
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, constant, truth, variable, variable_of
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.loops import storage
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, substitute

#: instructions that a sequence may have, constants of any value among its operands, and seconds for one sequence's constants
LONGEST, HOLES, EACH = 6, 3, 5.0


class Synthesis(NamedTuple):
    """The answer of `synthesize`. `status` is "found", "none" (proved: no sequence of these instructions, up to the length
    `most`, computes the result), or "unknown" (some sequences could not be decided in time). `text` is the sequence, `length` the
    number of its instructions, and `verdict` the proof that it computes the same as the fragment. `excluded` says which sequences
    were ruled out, for each length that was searched.

    >>> found = ptxspec.synthesize("add.u32 x, a, a; add.u32 d, x, x;", ["shl.b32"])
    >>> found.text, found.verdict.status
    ('shl.b32 d, a, 2;', 'proved')
    >>> none = ptxspec.synthesize("popc.b32 d, a;", ["and.b32", "shr.u32"], most=1)
    >>> none.status, none.excluded
    ('none', ('length 1: 5 sequences, whatever their constants',))
    """

    status: Literal["found", "none", "unknown"]
    reason: str
    text: str = ""
    length: int = 0
    verdict: Verdict | None = None
    excluded: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def exit_status(self) -> int:
        """The exit status of `ptxspec synthesize`: 0 if a sequence is found, 1 if there is none, 2 if that is not known.

        >>> ptxspec.synthesize("popc.b32 d, a;", ["and.b32"], most=1).exit_status
        1
        """
        return {"found": 0, "none": 1}.get(self.status, 2)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> ptxspec.synthesize("add.u32 d, a, a;", ["shl.b32"]).as_dict()["text"]
        'shl.b32 d, a, 1;'
        """
        fields: dict[str, Any] = self._asdict()
        del fields["verdict"]
        proof = "" if self.verdict is None else self.verdict.status
        return {**fields, "proof": proof, "excluded": list(self.excluded), "seconds": round(self.seconds, 3)}


def synthesize(
    text: str,
    opcodes: Several[str],
    *,
    most: int = 3,
    result: str | None = None,
    constants: Several[int] = (),
    assume: str | None = None,
    profile: str = "portable",
    timeout: float = 60.0,
) -> Synthesis:
    """Find the shortest sequence of instructions that computes one result of a fragment, for every input that meets the condition
    `assume`, and prove that it does.

    `opcodes` are the instructions that the sequence may have, with all their modifiers: "lop3.b32", "shf.l.wrap.b32". `most` is
    the greatest length, at most 6. `result` is the register to compute; by default the one that the fragment writes last.
    Operands of the sequence are the inputs, earlier results, and constants. The search first tries the constants in the fragment,
    0, 1, −1, the width, the width minus 1 and `constants`; then the solver finds constants of any value, for at most three
    operands. `profile` is the profile of the proof. `timeout` is in seconds, for the whole search.

    Raises PtxError if the text has errors; AssumptionError for a condition with an error; Unsupported for instructions with
    effects, or with operands that a sequence cannot have; and ValueError for any other wrong argument.

    >>> ptxspec.synthesize("shr.u32 x, a, 4; and.b32 d, x, 0xff;", ["bfe.u32", "shl.b32"]).text
    'bfe.u32 d, a, 4, 8;'
    >>> ptxspec.synthesize("shl.b32 x, a, 8; shr.u32 y, a, 24; or.b32 d, x, y;", ["shf.l.wrap.b32"]).text
    'shf.l.wrap.b32 d, a, a, 8;'
    """
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"a timeout of {timeout} seconds: a positive number is needed")
    if not 1 <= most <= LONGEST:
        raise ValueError(f"a length of {most}: 1 to {LONGEST} instructions can be asked for")
    if isinstance(opcodes, str) or not opcodes:
        raise ValueError("opcodes is a list of instructions, as in ['lop3.b32']")
    began = time.monotonic()
    target = target_of(text, result, assume)
    search = _SequenceSearch(target, tuple(opcodes), tuple(constants), profile, began + timeout)
    return search.run(most)._replace(seconds=time.monotonic() - began)


class _SequenceSearch:
    def __init__(self, target: Target, opcodes: tuple[str, ...], more: tuple[int, ...], profile: str, deadline: float):
        self.target, self.profile, self.deadline = target, profile, deadline
        templates = tuple(templates_of(opcodes))
        widths = tuple(0 if target.types[n].kind == "pred" else target.types[n].width for n in target.names)
        self.shape = SearchSpace(templates, widths, target.width, _constants(target, more), 0)
        self.excluded: list[str] = []
        #: sequences of which it is not known whether they equal the target
        self.open = 0
        self.closest = ""
        self.result: Synthesis | None = None

    def run(self, most: int) -> Synthesis:
        def unknown(why: str) -> Synthesis:
            return Synthesis("unknown", why + self.closest, excluded=tuple(self.excluded))

        for length in range(1, most + 1):
            tested, open_before = 0, self.open
            for with_holes in (False, True):
                tested += self.tried(length, with_holes)
                if self.result is not None:
                    return self.result
                if time.monotonic() >= self.deadline:
                    return unknown(f"the time ran out at length {length}, after {tested:,} sequences")
            left = self.open - open_before
            but = f"but for {left:,} left open" if left else "whatever their constants"
            self.excluded.append(f"length {length}: {tested:,} sequences, {but}")
        if self.open:
            return unknown(f"{self.open:,} sequences could not be decided")
        why = f"none up to length {most}: {'; '.join(self.excluded)}; at most {HOLES} constants in each"
        return Synthesis("none", why, excluded=tuple(self.excluded))

    def tried(self, length: int, with_holes: bool) -> int:
        """How many sequences of a length were tried: those of registers and of constants that are often of use, or those with
        holes for constants. The search ends where one is found."""
        count = 0
        shape = self.shape._replace(holes=HOLES) if with_holes else self.shape
        columns = _Columns(self.target, shape)
        for sequence in sequences(shape, length):
            if time.monotonic() >= self.deadline:
                break
            if with_holes:
                if all(o.hole is None for instruction in sequence for o in instruction.operands):
                    continue
                count += 1
                self.fill(sequence)
            else:
                count += not any(o.constant is not None for instruction in sequence for o in instruction.operands)
                if np.array_equal(columns.of(sequence), columns.wanted):
                    self.offer(sequence)
            if self.result is not None:
                break
        return count

    def fill(self, sequence: Sequence) -> None:
        """Look for constants of a sequence with holes."""
        for _ in range(4):  # as a counterexample of the proof is a further row
            rows = len(self.target.rows)
            filled = Holes(self.target, sequence).filled(self.deadline, EACH)
            if filled.status == "none":
                return
            if filled.status == "open":
                break
            self.offer(with_constants(sequence, filled.constants))
            if self.result is not None or len(self.target.rows) == rows:
                return
        self.open += 1

    def offer(self, sequence: Sequence) -> None:
        """A sequence that does what the target does on all rows: proved, it is what was looked for."""
        text = self.written(sequence)
        verdict = self.judged(text)
        if verdict.status in ("proved", "exhausted"):
            unknown = f"; whether one is shorter is open for {self.open:,} sequences"
            count = len(sequence)
            reason = f"{count} instruction{'s' if count > 1 else ''}{unknown if self.open else ', and none shorter'}"
            self.result = Synthesis("found", reason, text, count, verdict, tuple(self.excluded))
        elif verdict.status == "refuted" and verdict.counterexample is not None:
            if not self.add_row(verdict.counterexample.inputs):  # alike on the chip, and not on every machine
                self.note(text, verdict)
        elif verdict.status != "refuted":
            self.open += 1
            self.note(text, verdict)

    def judged(self, text: str) -> Verdict:
        """The verdict on a sequence: by every input, if they are few, else as `prove` has it."""
        target, left = self.target, self.deadline - time.monotonic()
        if left <= 0:
            return Verdict("unknown", "no time was left for the proof")
        strict = options(compare=(ALL,), nan="payloads")
        goal = ask(target.text, text, target.assume, self.profile, strict)
        if not is_quick(goal.differs, goal.given, goal.taken):
            strictly: dict[str, Any] = {"compare": strict.compare, "nan": strict.nan, "profile": self.profile}
            return prove(target.text, text, assume=target.assume, timeout=left / 2, **strictly)
        run = exhaust(goal.differs, goal.given, goal.taken, left)
        if run.status == "equal":
            return Verdict("exhausted", f"{run.reason}, and both sides agree on each")
        if run.status == "found":
            self.add_row(run.values)
            return Verdict("refuted", "an input was found by running them all")
        return Verdict("unknown", run.reason)

    def add_row(self, row: dict[str, Any]) -> bool:
        """Have sequences tested on further operands. Whether these are new."""
        target = self.target
        row = {name: row.get(name, 0) for name in target.types}
        if row in target.rows:
            return False
        target.rows.append(row)
        target.wanted.append(target.value(row))
        return True

    def note(self, text: str, verdict: Verdict) -> None:
        rows = len(self.target.rows)
        self.closest = self.closest or f"; {text} agrees on {rows} operands, and is {verdict.status}: {verdict.reason}"

    def written(self, sequence: Sequence) -> str:
        """The sequence as PTX."""
        names = list(self.target.names)
        results = [*self.target.temporaries(len(sequence) - 1), self.target.result]
        lines = []
        for instruction, destination in zip(sequence, results, strict=True):
            places = zip(instruction.operands, instruction.template.places, strict=True)
            lines.append(instruction.template.written(destination, [_operand(o, p, names) for o, p in places]))
            names.append(destination)
        return " ".join(lines)


def _operand(operand: Argument, place: OperandSlot, names: list[str]) -> str:
    if operand.register is not None:
        return names[operand.register]
    value = operand.constant
    assert value is not None
    if value == (1 << place.type.width) - 1 and place.type.kind in "bs":
        return "-1"
    if place.type.is_float:
        return {32: f"0f{value:08x}", 64: f"0d{value:016x}"}.get(place.type.width, hex(value))
    return str(value) if value <= 64 else hex(value)


def _constants(target: Target, more: tuple[int, ...]) -> tuple[int, ...]:
    """Constants that are often of use, as the bits of the widths that occur."""
    widths = {t.width for t in (*target.types.values(), target.type) if t.kind != "pred"} or {32}
    words = (value & ((1 << width) - 1) for value in (0, 1, -1, *target.numbers(), *more) for width in widths)
    return tuple(dict.fromkeys([*words, *(value for width in widths for value in (width - 1, width))]))


class _Columns:
    """What sequences leave, for all rows: for a beginning that one has in common with the sequence before, it is known."""

    def __init__(self, target: Target, shape: SearchSpace):
        self.target, self.shape = target, shape
        self.known: list[tuple[Any, np.ndarray]] = []
        self.begin()

    def begin(self) -> None:
        self.rows = len(self.target.rows)
        self.inputs, self.wanted = self.target.columns(), self.target.wanted_column()
        self.known = []

    def of(self, sequence: Sequence) -> np.ndarray:
        """What a sequence leaves."""
        if self.rows != len(self.target.rows):
            self.begin()
        same = 0
        while same < len(self.known) and same < len(sequence) and self.known[same][0] is sequence[same]:
            same += 1
        del self.known[same:]
        for instruction in sequence[same:]:
            registers = [*self.inputs, *(column for _, column in self.known)]
            operands = [
                registers[o.register] if o.register is not None else np.full(self.rows, o.constant, np.uint64)
                for o in instruction.operands
            ]
            self.known.append((instruction, instruction.template.column(operands)))
        return self.known[-1][1]


#: operands that the first question is about, and questions of one sequence
FIRST, QUESTIONS = 4, 64


class Filled(NamedTuple):
    """What came of the holes of a sequence: constants that suit every operand tried ("found"), a proof that there are none
    ("none"), or neither ("open")."""

    status: str
    constants: tuple[int, ...] = ()


class Holes:
    """The holes of one sequence."""

    def __init__(self, target: Target, sequence: Sequence):
        self.target, self.sequence = target, sequence
        self.places: list[OperandSlot] = []
        for instruction in sequence:
            operands = zip(instruction.template.places, instruction.operands, strict=True)
            self.places += [place for place, operand in operands if operand.hole is not None]
        self.types: dict[str, Type] = {f"%h{i}": place.type for i, place in enumerate(self.places)}
        self.term = term_of(target, sequence)
        #: that each constant is one that its place takes, and suits the rows asked for so far
        self.conditions: Bool = TRUE
        for name, place in zip(self.types, self.places, strict=True):
            word, values = variable(name, place.type.width), place.allowed
            if isinstance(values, range) and values.step == 1:
                self.conditions = self.conditions & ((word >= values.start) & (word < values.stop))
            elif values is not None:
                self.conditions = self.conditions & reduce(or_, (word == value for value in values), FALSE)

    def filled(self, deadline: float, each: float) -> Filled:
        """Constants with which the sequence agrees with the target on every row."""
        for number in range(min(FIRST, len(self.target.rows))):
            self.ask_for(number)
        for _ in range(QUESTIONS):
            left = min(each, deadline - time.monotonic())
            if left <= 0:
                return Filled("open")
            answer = solve(self.conditions, self.types, left, simple=False)
            if answer.status != "sat":
                return Filled("none" if answer.status == "unsat" else "open")
            constants = tuple(answer.values[name] for name in self.types)
            wrong = self.first_wrong(constants)
            if wrong is None:
                # others that suit as well and are simpler, if they are found
                answer = solve(self.conditions, self.types, max(0.01, min(each, deadline - time.monotonic())))
                simpler = tuple(answer.values[name] for name in self.types) if answer.status == "sat" else constants
                return Filled("found", simpler if self.first_wrong(simpler) is None else constants)
            self.ask_for(wrong)
        return Filled("open")

    def ask_for(self, number: int) -> None:
        """Have the constants suit a row."""
        row, wanted = self.target.rows[number], self.target.wanted[number]
        result = substitute(self.term, {n: constant(row[n]) for n in self.target.names})
        holds = result == (truth(wanted) if isinstance(wanted, bool) else wanted)
        self.conditions = self.conditions & holds

    def first_wrong(self, constants: tuple[int, ...]) -> int | None:
        """The first row on which the sequence does something else."""
        term = substitute(self.term, {n: constant(c) for n, c in zip(self.types, constants, strict=True)})
        choose = known_profile(MACHINE).value
        for number, (row, wanted) in enumerate(zip(self.target.rows, self.target.wanted, strict=True)):
            try:
                if evaluate_term(term, row, choose) != wanted:
                    return number
            except NoChoice:
                return number
        return None


def term_of(target: Target, sequence: Sequence) -> Any:
    """What a sequence leaves, over the target's inputs and its holes."""
    registers: list[Any] = []
    for name in target.names:
        type = target.types[name]
        registers.append(variable_of(name, type))
    for instruction in sequence:
        template, operands = instruction.template, []
        for operand, place in zip(instruction.operands, template.places, strict=True):
            if operand.register is not None:
                operands.append(registers[operand.register])
            elif operand.hole is not None:
                operands.append(variable(f"%h{operand.hole}", place.type.width))
            else:
                assert operand.constant is not None
                operands.append(constant(operand.constant))
        value = template.applied(operands)
        registers.append(value if template.width == 0 else low_bits(value, template.width))
    return registers[-1]


def with_constants(sequence: Sequence, constants: tuple[int, ...]) -> Sequence:
    """The sequence with constants in its holes."""

    def filled(operand: Argument) -> Argument:
        return operand if operand.hole is None else Argument(constant=constants[operand.hole])

    return tuple(instruction._replace(operands=tuple(map(filled, instruction.operands))) for instruction in sequence)


#: vectors of simple operands, of random ones, and how many are drawn for these at most
SIMPLE, RANDOM, DRAWN = 96, 96, 10_000


class Target(NamedTuple):
    """`text` is the fragment, `result` the register that counts, `type` its type; `names` are the inputs in order, `types`
    theirs; `rows` are operands, and `wanted` what the result is for each."""

    text: str
    result: str
    type: Type
    names: tuple[str, ...]
    types: dict[str, Type]
    assume: str | None
    rows: list[dict[str, Any]]
    wanted: list[Any]
    fragment: SymbolicFragment

    @property
    def width(self) -> int:
        return 0 if self.type.kind == "pred" else self.type.width

    def value(self, row: dict[str, Any]) -> Any:
        """What the result is for some operands."""
        return _value(self.fragment, self.result, row)

    def columns(self) -> list[np.ndarray]:
        """The operands as columns, one for each input."""
        return [np.array([row[n] for row in self.rows], storage(self.types[n])) for n in self.names]

    def wanted_column(self) -> np.ndarray:
        return np.array(self.wanted, storage(self.type))

    def temporaries(self, count: int) -> list[str]:
        """Names that the fragment does not have."""
        free = (f"t{i}" for i in itertools.count() if f"t{i}" not in self.fragment.registers)
        return list(itertools.islice(free, count))

    def numbers(self) -> list[int]:
        """The integers in the text."""
        literals = re.findall(r"(?<![\w.%$])-?(?:0[xX][0-9a-fA-F]+|[0-9]+)(?![\w.])", self.text)
        return [int(n, 0) if not re.fullmatch(r"-?0[0-9]+", n) else int(n, 8) for n in literals]


def target_of(text: str, result: str | None, assume: str | None) -> Target:
    """The target that a text is. Raises ValueError for a result that it does not write, or one of more than 64 bits, and
    Unsupported for a text that orders memory."""
    fragment = read_fragment(text)
    if fragment.orders:
        raise Unsupported(f"{fragment.orders[0].text} orders memory for other threads, which no sequence does")
    if not fragment.outputs:
        raise ValueError("the fragment writes no register")
    name = result or next(iter([step for step in fragment.steps if step.writes][-1].writes))
    if name not in fragment.outputs:
        raise ValueError(f"{name} is no result of the fragment; there are {', '.join(fragment.outputs)}")
    inputs = inputs_of(fragment.inputs, fragment.registers)
    types = taken_types(inputs, fragment)
    wide = [n for n, t in {**types, name: fragment.left[name]}.items() if t.width > 64]
    if wide:
        raise ValueError(f"{wide[0]} has more than 64 bits, which sequences cannot have")
    special = [n for n in fragment.inputs if n not in fragment.registers]
    if special:
        raise ValueError(f"{special[0]} is a special register, which sequences cannot read")
    rows = list(_rows(inputs, types, assume))
    if not rows:
        raise ValueError("no operands that meet the assumption were met")
    wanted = [_value(fragment, name, row) for row in rows]
    return Target(text, name, fragment.left[name], tuple(fragment.inputs), types, assume, rows, wanted, fragment)


def _value(fragment: SymbolicFragment, name: str, row: dict[str, Any]) -> Any:
    type, term = fragment.left[name], fragment.outputs[name]
    settled = term if type.kind == "pred" else low_bits(term, type.width)
    return evaluate_term(settled, row, known_profile(MACHINE).value)


def _rows(inputs: Inputs, types: dict[str, Type], assume: str | None) -> Any:
    """Simple and random operands that meet the assumption, taking turns."""
    given = assumption(assume, inputs.terms, inputs.types) & inputs.guaranteed
    source = random.Random(0)

    def drawn() -> Any:
        for _ in range(DRAWN):
            yield {n: source.choice(_random(t, source)) for n, t in types.items()}

    def meeting(rows: Any, count: int) -> Any:
        return itertools.islice((row for row in rows if evaluate_term(given, row)), count)

    seen = set()
    pairs = itertools.zip_longest(meeting(combinations(types), SIMPLE), meeting(drawn(), RANDOM))
    for row in itertools.chain.from_iterable(pairs):
        if row is not None and tuple(row.values()) not in seen:
            seen.add(tuple(row.values()))
            yield row


def _random(type: Type, source: random.Random) -> list[Any]:
    """Operands of several kinds: any bits, few bits, and those near the end of the range."""
    if type.kind == "pred":
        return [False, True]
    bits = source.getrandbits(type.width)
    return [bits, bits, bits >> source.randrange(type.width), (1 << type.width) - 1 - (bits >> (type.width - 4))]
