"""The contents of vector files: for each form its rows, what is expected of them, and how both are written.

`README` describes a file's lines for those who get them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxspec.evidence.compare.compiled_loops import number_at, run_native
from ptxspec.evidence.generate.function_cases import comparable
from ptxspec.evidence.generate.signatures import inputs_of, results_of
from ptxspec.language.forms import Form, no_page_defines, registry
from ptxspec.terms import exact
from ptxspec.terms.definitions import Definition, Meaning
from ptxspec.terms.effects import Update
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in

README = """# Vectors

Operands and expected results of single PTX instructions, under the profile `{profile}`.

There is one file for each opcode, `<opcode>.jsonl`. Each of its lines is a JSON object and describes one form:

| key | value |
|---|---|
| `form` | the instruction, with names for its operands: `bfe.s32 d, a, b, c;` |
| `page` | the document and line that define it |
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
so a launch of one CTA executes as many rows as the CTA has threads, at most 1024. The entry does not read its third parameter, of
64 bytes. An implementation that does not run PTX ignores `ptx` and computes the results from `form` and `rows`.

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
`ptxspec vectors check FOLDER`. Of the other keys only `form` is required; `rows` are compared if they are present. A line whose
`results` are `null` or missing counts as a form without results. Leading zeros of a value may be omitted.
"""


def written_forms(opcode: str) -> dict[str, Form]:
    """The forms of an opcode that are functions of their operands, in all variants, by their text."""
    return {str(v): v for f in registry().opcodes[opcode].forms if comparable(f) for v in f.variants}


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


def wanted(asked: Sequence[str]) -> list[str]:
    """The opcodes that were asked for, or all. Raises ValueError for one of which there are no vectors."""
    for opcode in asked:
        if opcode not in registry().opcodes:
            raise ValueError(no_page_defines(opcode))
        if not _has_vectors(opcode):
            raise ValueError(f"{opcode} is no function of its operands, so that there are no vectors of it")
    return list(dict.fromkeys(asked)) or opcodes()


def undecided(meaning: Meaning, profile: Profile) -> list[Any]:
    """The freedoms of a form for which a profile has no choice."""
    return [f for f in freedoms_in(*[t for _, t in results_of(meaning)]) if not profile.chooses(f)]


def values_of(meaning: Meaning, row: Sequence[int]) -> dict[str, Any]:
    names = inputs_of(meaning)
    return {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(names, row, strict=True)}


def digits(value: int, type: Type) -> str:
    return f"{int(value):#0{2 + max(1, -(-type.width // 4))}x}"


def cell_text(type: Type, term: Any, values: dict[str, Any], profile: Profile) -> str:
    """A value of `expected`: its bits, or what is open there."""
    try:
        return digits(exact.evaluate(term, values, profile.chosen), type)
    except exact.NoChoice as left:
        entry = left.freedom.attrs[0]
    if not any(isinstance(f.attrs[4], Approximation) and f.attrs[0] == entry for f in freedoms_in(term)):
        return f"?{entry}"
    try:
        return f"?{entry} {digits(exact.evaluate(term, values, Profile('portable').value), type)}"
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
    found = []
    for i, (meaning, table) in enumerate(cases):
        results = results_of(meaning)
        if i in native:
            texts = [
                [digits(number_at(c, i), t) for i in range(len(c))]
                for (t, _), c in zip(results, native[i], strict=True)
            ]
            found.append([list(row) for row in zip(*texts, strict=True)])
            continue
        rows = [values_of(meaning, row) for row in table]
        found.append([[cell_text(t, term, values, profile) for t, term in results] for values in rows])
    return found


def open_results(meaning: Meaning, profile: Profile) -> dict[str, dict[str, str]]:
    """What a profile leaves open in a form: entry of the register -> its kind, and what decides about a result."""
    found = {}
    for freedom in undecided(meaning, profile):
        slug, _, kind, _, allowed, _ = freedom.attrs
        how = "bound" if isinstance(allowed, Approximation) else "anything" if allowed is None else "condition"
        found[slug] = {"kind": kind, "decided_by": how}
    return dict(sorted(found.items()))
