"""The contents of vector files: for each form its rows, what is expected of them, and how both are written.

`README` describes a file's lines for those who get them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.evidence.compiled_loops import number_at, run_native
from ptxspec.evidence.kernels.signatures import comparable, inputs_of, modifiers_of, results_of
from ptxspec.language.forms import Form, no_page_defines, registry
from ptxspec.language.module_context import features, target_number
from ptxspec.terms import exact
from ptxspec.terms.definitions import Definition, Meaning
from ptxspec.terms.editions import Epoch, shown
from ptxspec.terms.effects import Access, Update
from ptxspec.terms.profiles import Profile
from ptxspec.terms.python_code import PythonScript
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in

README = """# Vectors

Operands and expected results of single PTX instructions, under the profile `{profile}`.

There is one file for each opcode, `<opcode>.jsonl`. Each of its lines is a JSON object and describes one form:

| key | value |
|---|---|
| `form` | the instruction, with names for its operands: `bfe.s32 d, a, b, c;` |
| `page` | the document and line that define it |
| `version`, `target` | PTX ISA version and target of the module; by default the first that have the form |
| `ptx` | a PTX module with one entry, `vector`, that executes the instruction once in each thread |
| `inputs` | name and type of each value of an operand row, in order |
| `outputs` | name and type of each value of a result row, in order |
| `rows` | the operand rows |
| `expected` | for each operand row, the result row |
| `open` | the results in `expected` that PTX leaves open; see below |
| `results` | `null`, until you fill in your results |

Every value is a string: `0x` and the hexadecimal digits of the raw bits, for every type. A predicate is `0x0` or `0x1`.

The entry takes two addresses in global memory. `in` points to 128 bytes for each thread: the values of its operand row, each in 8
bytes, little endian. `out` points to 128 bytes for each thread, for the results. Thread `%tid.x` uses the row with that number;
so a launch of one CTA executes as many rows as the CTA has threads, at most 1024. An implementation that does not run PTX ignores
`ptx` and computes the results from `form` and `rows`. What an instruction computes may depend on `version` and `target`.

An instruction that updates memory has one more input, the old value in memory (`old`), and one more output, the new value
(`new`). If the instruction reads or writes the condition code, it is the last input or output (`CC`): the bit as an addition
writes and reads it.

A value of `expected` that begins with `?` is open: PTX allows more than one result. After the `?` follows the name of an entry of
`spec/ambiguities.md`, and for an approximate result the nearest of the allowed values. For each such name, `open` says which
results are allowed:

| `decided_by` | what is allowed |
|---|---|
| `bound` | numbers within the error bound that the page states |
| `condition` | what the page states, such as any NaN |
| `anything` | all bit patterns |

`vectors.json` names the opcodes that were written, the profile, and the digests of the files. A further run of
`ptxspec vectors write` replaces only these files. It stops if one of them was changed, since that file may contain results.

To check your results against the definitions, fill in `results`: a row of hexadecimal strings for each operand row. Then run
`ptxspec vectors check FOLDER`. Of the other keys only `form` is required; `rows` are compared if they are present, and without
`version` and `target` the newest ones count. A line whose `results` are `null` or missing counts as a form without results.
Leading zeros of a value may be omitted.
"""


def written_forms(opcode: str) -> dict[str, Form]:
    """The forms of an opcode that are functions of their operands, in all variants, by their text."""
    return {str(v): v for f in _ordinary(registry().opcodes[opcode].forms) if comparable(f) for v in f.variants}


def _ordinary(forms: Iterable[Form]) -> Iterator[Form]:
    """The forms without those that differ from another in the order of their access alone: which modifiers say that, the first
    form of each definition tells."""
    ordering: dict[Definition, tuple[str, ...]] = {}
    for form in forms:
        if form.definition not in ordering:
            effect = form.meaning(form.absences[-1]).effect
            ordering[form.definition] = modifiers_of(effect) if isinstance(effect, Access) else ()
        if not any(form.modifiers.get(name) for name in ordering[form.definition]):
            yield form


class Header(NamedTuple):
    """What a module of vectors says at its beginning: PTX ISA version and target, as modules write them."""

    version: str
    target: str

    @property
    def epoch(self) -> Epoch:
        """Raises ValueError for a version or a target that PTX does not have."""
        directives = contracts.directives
        match = re.fullmatch(r"(\d)\.(\d)", self.version)
        if match is None or int(match[2]) > directives.VERSIONS.get(int(match[1]), -1):
            raise ValueError(f"PTX has no version {self.version!r}")
        if self.target not in directives.TARGETS:
            raise ValueError(f"PTX has no target {self.target!r}")
        return Epoch((int(match[1]), int(match[2])), target_number(self.target), features(self.target))


#: the first version and the first target whose modules have what surrounds the instruction: addresses of 64 bits
FIRST = ((2, 3), 20)


def header_of(form: Form, version: str | None = None, target: str | None = None) -> Header | None:
    """The beginning of the module that executes a form: the version and the target that are asked for, else the first that have
    the form. None if modules of that version and target do not have it."""
    names = [name for o in form.syntax.operands for name in (o.name, o.second) if name]  # a kernel has all of them
    of = None if target is None else target_number(target)
    since, needs = form.definition.availability(form.modifiers, of, names)
    target = target or (form.only[0] if form.only else f"sm_{max(needs, FIRST[1])}")
    supported = contracts.directives.TARGETS[target]
    header = Header(version or shown(max(since, supported, FIRST[0])), target)
    return header if form.exists(header.epoch) and header.epoch.version >= supported else None


def dated(form: Form, header: Header) -> Form:
    """The form as modules with this beginning have it."""
    return form._replace(epoch=header.epoch)


def opcodes() -> list[str]:
    """The opcodes of which `write` has something to write."""
    return [opcode for opcode in sorted(registry().opcodes) if _has_vectors(opcode)]


def _has_vectors(opcode: str) -> bool:
    """Whether a form of an opcode is a function of its operands. A definition one of whose forms acts on more than a cell is
    asked about no other form: the effect is the definition's."""
    acting: set[Definition] = set()
    for form in registry().opcodes[opcode].forms:
        if form.definition in acting:
            continue
        if comparable(form):
            return True
        if not isinstance(form.meaning(form.absences[-1]).effect, Update | None):
            acting.add(form.definition)
    return False


def wanted(requested: Sequence[str]) -> list[str]:
    """The opcodes that were asked for, or all. Raises ValueError for one of which there are no vectors."""
    for opcode in requested:
        if opcode not in registry().opcodes:
            raise ValueError(no_page_defines(opcode))
        if not _has_vectors(opcode):
            raise ValueError(f"{opcode} is no function of its operands, so that there are no vectors of it")
    return list(dict.fromkeys(requested)) or opcodes()


def undecided(meaning: Meaning, profile: Profile) -> list[Any]:
    """The freedoms of a form for which a profile has no choice."""
    return [f for f in freedoms_in(*[t for _, t in results_of(meaning)]) if not profile.chooses(f)]


def values_of(meaning: Meaning, row: Sequence[int]) -> dict[str, Any]:
    names = inputs_of(meaning)
    return {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(names, row, strict=True)}


def digits(value: int, type: Type) -> str:
    return f"{int(value):#0{2 + max(1, -(-type.width // 4))}x}"


class ExpectedResult:
    """A result of a form, written out as a Python function of the operands: what `expected` has for each row."""

    def __init__(self, type: Type, term: Any, names: Sequence[str], profile: Profile):
        parameters = {name: f"x{i}" for i, name in enumerate(names)}
        script = PythonScript(parameters.__getitem__)
        self.value = script.function(["choose", *parameters.values()], script.value(term))
        self.type, self.choose = type, profile.chosen
        #: the entries of the register whose results are approximate
        self.approximate = {f.attrs[0] for f in freedoms_in(term) if isinstance(f.attrs[4], Approximation)}

    def text(self, row: Sequence[Any]) -> str:
        """Its bits for a row of operands, or what is open there."""
        try:
            return digits(self.value(self.choose, *row), self.type)
        except exact.NoChoice as left:
            entry = left.freedom.attrs[0]
        if entry not in self.approximate:
            return f"?{entry}"
        try:
            return f"?{entry} {digits(self.value(Profile('portable').value, *row), self.type)}"
        except exact.NoChoice:
            return f"?{entry}"


def expected(cases: Sequence[tuple[Meaning, Sequence[tuple[int, ...]]]], profile: Profile) -> list[list[list[str]]]:
    """For each form, its rows of `expected`. Where nothing is open the native interpretation computes them."""
    settled = [i for i, (meaning, _) in enumerate(cases) if not undecided(meaning, profile)]
    columns = (
        run_native([cases[i][0] for i in settled], [list(cases[i][1]) for i in settled], profile.term)
        if settled
        else []
    )
    native = dict(zip(settled, columns, strict=True))
    tables = []
    for i, (meaning, table) in enumerate(cases):
        results = results_of(meaning)
        if i in native:
            texts = [
                [digits(number_at(c, i), t) for i in range(len(c))]
                for (t, _), c in zip(results, native[i], strict=True)
            ]
            tables.append([list(row) for row in zip(*texts, strict=True)])
            continue
        names = [name for name, _ in inputs_of(meaning)]
        cells = [ExpectedResult(t, term, names, profile) for t, term in results]
        predicates = [i for i, (_, type) in enumerate(inputs_of(meaning)) if type.kind == "pred"]
        rows = [[bool(v) if i in predicates else v for i, v in enumerate(row)] for row in table]
        tables.append([[cell.text(row) for cell in cells] for row in rows])
    return tables


def open_results(meaning: Meaning, profile: Profile) -> dict[str, dict[str, str]]:
    """What a profile leaves open in a form: entry of the register -> its kind, and what decides about a result."""
    results = {}
    for freedom in undecided(meaning, profile):
        slug, _, kind, _, allowed, *_ = freedom.attrs
        how = "bound" if isinstance(allowed, Approximation) else "anything" if allowed is None else "condition"
        results[slug] = {"kind": kind, "decided_by": how}
    return dict(sorted(results.items()))
