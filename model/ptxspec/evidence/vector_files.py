"""Vectors as text, for other implementations: what to execute, on which operands, and what comes out.

`write` makes a folder with a file an opcode, JSON Lines, a form a line; `README` says what stands in a line. `check` holds a
folder whose lines have results in them against the definitions. Neither needs a GPU. A row for which several results are
allowed is judged by the freedom's own condition, so that a bound decides about an approximate result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.evidence import vectors, warps
from ptxspec.evidence.agreement import inputs_of, number_at, results_of, run_native
from ptxspec.evidence.folder import ABOUT, FORMAT, MANIFEST, install, own_files, refuse_losses, stage
from ptxspec.evidence.kernels import kernel, module
from ptxspec.evidence.recorded import MISSING
from ptxspec.evidence.vectors import comparable, table_of
from ptxspec.language.forms import Form, no_page_defines, registry
from ptxspec.parallel import on_all_cores
from ptxspec.terms import exact
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Update
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in

README = """# Vectors

Operands and expected results of single PTX instructions, under the profile `{profile}`.

There is a file an opcode, `<opcode>.jsonl`. Each of its lines is a JSON object and describes one form:

| key | value |
|---|---|
| `form` | the instruction, with names for its operands: `bfe.s32 d, a, b, c;` |
| `page` | the document and line that define it |
| `ptx` | a PTX module with one entry, `vector`, that executes the instruction once a thread |
| `inputs` | name and type of each value of an operand row, in order |
| `outputs` | name and type of each value of a result row, in order |
| `rows` | the operand rows |
| `expected` | for each operand row, the result row |
| `open` | what PTX leaves open in `expected`; see below |
| `results` | `null`: to be filled in |

Every value is a string of hexadecimal digits after `0x`, the raw bits, whatever its type. A predicate is `0x0` or `0x1`.

The entry takes two addresses in global memory. `in` points to 128 bytes a thread: the row's values, each in 8 bytes, little
endian. `out` points to 128 bytes a thread likewise: the results. Thread `%tid.x` has the row of that number from there, so that a
launch of one CTA takes as many rows as the CTA has threads, 1024 at most. A third parameter of 64 bytes is not read. Whoever does
not run PTX ignores `ptx` and computes the results from `form` and `rows`.

An instruction that updates memory has one more input, what stands in memory before (`old`), and one more output, what stands
there afterwards (`new`). The condition code, where it is read or written, is the last input or output (`CC`): the bit as
an addition writes and reads it.

A value of `expected` that begins with `?` is open: more than one result is allowed there. After the `?` comes the name of an
entry of `spec/ambiguities.md`, and of an approximate result the nearest of the allowed values. `open` says of each such name
what decides about a result:

| `decided_by` | what is allowed |
|---|---|
| `bound` | numbers within the bound of the error that the page states |
| `condition` | what the page states, such as any NaN |
| `anything` | all bit patterns |

`vectors.json` says which opcodes were written, under which profile, and the digests of the files. Writing again replaces these
files and no others; it refuses where one of them was changed, for it may hold results.

To hold results against the definitions, fill in `results`: a row of hexadecimal strings for each operand row. Then run
`ptxspec vectors check FOLDER`. Of the other keys only `form` must stay; `rows` are compared if they are there. A line whose
`results` are `null` or missing counts as a form without results. A value may be written without leading zeros.
"""


class Malformed(ValueError):
    """A folder of results that cannot be read: the file, the line and what is wrong with it."""


class Row(NamedTuple):
    """One row that differs; `expected` is as `write` writes it."""

    operands: list[str]
    results: list[str]
    expected: list[str]


class Judged(NamedTuple):
    """What came of one form: rows compared, how many differ and the first of these, and how many nobody can judge, since an open
    result goes into a further computation there."""

    form: str
    page: str
    rows: int
    differing: int
    first: tuple[Row, ...]
    not_judged: int


def written_forms(opcode: str) -> dict[str, Form]:
    """The forms of an opcode that are functions of their operands, in all variants, by their text."""
    return {str(v): v for f in registry().opcodes[opcode].forms if comparable(f) for v in f.variants}


def opcodes() -> list[str]:
    """The opcodes of which `write` has something to write."""
    return [o for o, own in sorted(registry().opcodes.items()) if any(map(comparable, own.forms))]


def wanted(asked: Sequence[str]) -> list[str]:
    """The opcodes that were asked for, or all. Raises ValueError for one of which there are no vectors."""
    known = opcodes()
    for opcode in asked:
        if opcode not in registry().opcodes:
            raise ValueError(no_page_defines(opcode))
        if opcode not in known:
            raise ValueError(f"{opcode} is no function of its operands, so that there are no vectors of it")
    return list(dict.fromkeys(asked)) or known


# What is expected ------------------------------------------------------------------------------------------------------


def undecided(meaning: Meaning, profile: Profile) -> list[Any]:
    """The freedoms of a form for which a profile has no choice."""
    return [f for f in freedoms_in(*[t for _, t in results_of(meaning)]) if not profile.chooses(f)]


def _values(meaning: Meaning, row: Sequence[int]) -> dict[str, Any]:
    names = inputs_of(meaning)
    return {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(names, row, strict=True)}


def _hex(value: int, type: Type) -> str:
    return f"{int(value):#0{2 + max(1, -(-type.width // 4))}x}"


def _cell(type: Type, term: Any, values: dict[str, Any], profile: Profile) -> str:
    """A value of `expected`: its bits, or what is open there."""
    try:
        return _hex(exact.evaluate(term, values, profile.chosen), type)
    except exact.NoChoice as left:
        entry = left.freedom.attrs[0]
    if not any(isinstance(f.attrs[4], Approximation) and f.attrs[0] == entry for f in freedoms_in(term)):
        return f"?{entry}"
    try:
        return f"?{entry} {_hex(exact.evaluate(term, values, Profile('portable').value), type)}"
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
                [_hex(number_at(c, i), t) for i in range(len(c))] for (t, _), c in zip(results, native[i], strict=True)
            ]
            found.append([list(row) for row in zip(*texts, strict=True)])
            continue
        rows = [_values(meaning, row) for row in table]
        found.append([[_cell(t, term, values, profile) for t, term in results] for values in rows])
    return found


def open_results(meaning: Meaning, profile: Profile) -> dict[str, dict[str, str]]:
    """What a profile leaves open in a form: entry of the register -> its kind, and what decides about a result."""
    found = {}
    for freedom in undecided(meaning, profile):
        slug, _, kind, _, allowed = freedom.attrs
        how = "bound" if isinstance(allowed, Approximation) else "anything" if allowed is None else "condition"
        found[slug] = {"kind": kind, "decided_by": how}
    return dict(sorted(found.items()))


# Writing ---------------------------------------------------------------------------------------------------------------


def _named(form: Form, meaning: Meaning) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Name and type of every value that goes in and comes out."""
    count = meaning.effect.count if isinstance(meaning.effect, Update) else 0
    said = {CONDITION_CODE: "CC", "%loaded0": "old"}
    said |= {f"%loaded{i}": f"old.{i}" for i in range(count) if count > 1}
    ins = [{"name": said.get(n, n), "type": str(t).lstrip(".")} for n, t in inputs_of(meaning)]
    names: list[str] = []
    spelled = [n for o in form.destinations for n in (o.name, o.second) if n]
    for name, result in zip(spelled, meaning.results, strict=False):
        several = len(result.values) > 1
        names += [f"{name}.{i}" if several else name for i in range(len(result.values))]
    types = [str(t).lstrip(".") for t, _ in results_of(meaning)]
    more = ["new"] if count == 1 else [f"new.{i}" for i in range(count)]
    more += ["CC"] if meaning.carry is not None else []
    names = [*names[: len(types) - len(more)], *more]
    return ins, [{"name": n, "type": t} for n, t in zip(names, types, strict=True)]


def lines_of(opcode: str, profile: str) -> Iterator[str]:
    """The lines of an opcode's file."""
    chosen = Profile(profile)
    own = list(written_forms(opcode).values())
    meanings = [form.meaning() for form in own]
    tables = [table_of(form, meaning) for form, meaning in zip(own, meanings, strict=True)]
    answers = expected(list(zip(meanings, tables, strict=True)), chosen)
    for form, meaning, table, rows in zip(own, meanings, tables, answers, strict=True):
        ins, outs = _named(form, meaning)
        types = [t for _, t in inputs_of(meaning)]
        line = {
            "form": str(form),
            "page": form.page,
            "ptx": module([kernel(form, "vector")]),
            "inputs": ins,
            "outputs": outs,
            "rows": [[_hex(v, t) for v, t in zip(row, types, strict=True)] for row in table],
            "expected": rows,
            "open": open_results(meaning, chosen),
            "results": None,
        }
        yield json.dumps(line, separators=(",", ":"))


def _write_one(task: tuple[str, str, Path]) -> tuple[str, int, int]:
    opcode, profile, folder = task
    forms = rows = 0
    with open(folder / f"{opcode}.jsonl", "w", encoding="utf-8") as file:
        for line in lines_of(opcode, profile):
            file.write(line + "\n")
            forms += 1
            rows += len(json.loads(line)["rows"])
    return opcode, forms, rows


def write(folder: Path, asked: Sequence[str] = (), profile: str = "portable") -> dict[str, Any]:
    """Write the vectors of some opcodes, or of all, into a folder; what was written. Raises ValueError for an opcode that has
    none, for an unknown profile, and for a folder that holds something else, or something that would be lost."""
    Profile(profile)
    names = wanted(asked)
    own = own_files(folder)
    refuse_losses(folder, own, {ABOUT, *(f"{name}.jsonl" for name in names)})
    with stage(folder) as staged:
        done = sorted(on_all_cores(_write_one, [(name, profile, staged) for name in names]))
        facts = {
            "format": FORMAT,
            "profile": profile,
            "opcodes": names,
            "forms": sum(f for _, f, _ in done),
            "rows": sum(r for _, _, r in done),
        }
        (staged / ABOUT).write_text(README.format(profile=profile))
        left_alone = install(staged, folder, own, facts)
    return {**facts, "left_alone": left_alone}


# Reading ---------------------------------------------------------------------------------------------------------------

_VALUE = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


class Given(NamedTuple):
    """Somebody's results of one form: rows of bits, and where they stand."""

    where: str
    rows: list[list[int]]


def _table(value: Any, types: Sequence[Type], count: int, what: str, where: str) -> list[list[int]]:
    """Rows of hexadecimal strings as numbers. Raises Malformed."""
    if not isinstance(value, list):
        raise Malformed(f"{where}: {what} are no array of rows")
    if len(value) != count:
        raise Malformed(f"{where}: {len(value)} rows of {what}, the form has {count}")
    found = []
    for i, row in enumerate(value):
        if not isinstance(row, list) or len(row) != len(types):
            raise Malformed(f"{where}: {what}, row {i}: not an array of {len(types)} values")
        numbers = []
        for cell, type in zip(row, types, strict=True):
            if not isinstance(cell, str) or not _VALUE.fullmatch(cell):
                shown = json.dumps(cell)[:40]
                raise Malformed(f'{where}: {what}, row {i}: {shown} is no string such as "0x1f"')
            number = int(cell, 16)
            if number >> type.width:
                raise Malformed(f"{where}: {what}, row {i}: {cell} does not fit {type}")
            numbers.append(number)
        found.append(numbers)
    return found


def read_line(text: str, where: str, known: dict[str, Form]) -> tuple[str, Given | None]:
    """(form, its results or None) of a line. Raises Malformed."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{where}: no JSON: {str(error)[:80]}") from None
    if not isinstance(line, dict) or not isinstance(line.get("form"), str):
        raise Malformed(f'{where}: no object with a "form"')
    name = line["form"]
    if name not in known:
        raise Malformed(f"{where}: there are no vectors of the form {name[:80]!r}")
    meaning = known[name].meaning()
    if line.get("rows") is not None:
        table = table_of(known[name], meaning)
        rows = _table(line["rows"], [t for _, t in inputs_of(meaning)], len(table), "operands", where)
        for i, (own, given) in enumerate(zip(table, rows, strict=True)):
            if list(own) != given:
                raise Malformed(f"{where}: operands, row {i}: they are not the ones that this version writes")
    if line.get("results") is None:
        return name, None
    count = len(table_of(known[name], meaning))
    types = [t for t, _ in results_of(meaning)]
    return name, Given(where, _table(line["results"], types, count, "results", where))


def read_file(path: Path) -> tuple[dict[str, Given], list[str]]:
    """(results by form, the forms without results) of an opcode's file. Raises Malformed."""
    opcode = path.stem
    if opcode not in registry().opcodes:
        raise Malformed(f"{path}: no page defines {opcode!r}")
    known = written_forms(opcode)
    found: dict[str, Given | None] = {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                where = f"{path}:{number}"
                name, given = read_line(text, where, known)
                if name in found:
                    raise Malformed(f"{where}: {name} a second time")
                found[name] = given
    except UnicodeDecodeError as error:
        raise Malformed(f"{path}: no text in UTF-8: {error.reason}") from None
    given_results = {n: g for n, g in found.items() if g is not None}
    return given_results, [n for n in known if n not in given_results]


# Judging ---------------------------------------------------------------------------------------------------------------


def judge(
    form: Form, given: Sequence[Sequence[int]], want: Sequence[Sequence[str]], profile: Profile, show: int
) -> Judged:
    """Hold somebody's results of a form against `want`, which are its rows of `expected`."""
    meaning = form.meaning()
    table = table_of(form, meaning)
    results = results_of(meaning)
    differing = not_judged = 0
    first: list[Row] = []
    for row, own, cells in zip(table, given, want, strict=True):
        good: bool | None = True
        if any(c.startswith("?") for c in cells):
            settled: dict[Any, int] = {}
            values = _values(meaning, row)
            for (_, term), bits in zip(results, own, strict=True):
                try:
                    fine = exact.allows(term, values, bits, profile.chosen, settled)
                except exact.NoChoice:
                    good = None if good else good
                    continue
                good = False if not fine else good
        else:
            good = all(int(c, 16) == bits for c, bits in zip(cells, own, strict=True))
        not_judged += good is None
        if good is False:
            differing += 1
            if len(first) < show:
                operands = [_hex(v, t) for v, (_, t) in zip(row, inputs_of(meaning), strict=True)]
                shown = [_hex(v, t) for v, (t, _) in zip(own, results, strict=True)]
                first.append(Row(operands, shown, list(cells)))
    return Judged(str(form), form.page, len(table), differing, tuple(first), not_judged)


def _check_one(task: tuple[Path, str, int]) -> tuple[list[Judged], list[str]]:
    path, profile, show = task
    chosen = Profile(profile)
    given, missing = read_file(path)
    known = written_forms(path.stem)
    own = [(known[name], known[name].meaning()) for name in given]
    want = expected([(meaning, table_of(form, meaning)) for form, meaning in own], chosen)
    found = [
        judge(form, one.rows, rows, chosen, show)
        for (form, _), one, rows in zip(own, given.values(), want, strict=True)
    ]
    return found, missing


def _expected_opcodes(folder: Path, asked: Sequence[str]) -> list[str]:
    """The opcodes that a folder of results should have: those asked for, those that its vectors.json names, else those it has."""
    if asked:
        return wanted(asked)
    here = sorted(p.stem for p in folder.glob("*.jsonl"))
    path = folder / MANIFEST
    if not path.is_file():
        return here
    try:
        facts = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{path}: no JSON: {str(error)[:80]}") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise Malformed(f'{path}: not the format {FORMAT}, which "format" would say')
    names = facts.get("opcodes")
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise Malformed(f'{path}: "opcodes" is no array of names')
    unknown = [n for n in names if n not in registry().opcodes]
    if unknown:
        raise Malformed(f"{path}: no page defines {unknown[0][:40]!r}")
    return sorted({*names, *here})


def check(
    folder: Path, asked: Sequence[str] = (), profile: str = "portable", show: int = 3
) -> tuple[list[Judged], list[str]]:
    """(what came of each form that has results, the forms that have none). The first `show` differing rows of a form are kept.
    Raises Malformed for a folder that cannot be read, ValueError for an unknown opcode or profile."""
    Profile(profile)
    if not folder.is_dir():
        raise Malformed(f"{folder}: no folder")
    names = _expected_opcodes(folder, asked)
    if not names:
        raise Malformed(f"{folder}: no file <opcode>.jsonl in it")
    missing = [form for n in names if not (folder / f"{n}.jsonl").is_file() for form in written_forms(n)]
    paths = [folder / f"{n}.jsonl" for n in names if (folder / f"{n}.jsonl").is_file()]
    found: list[Judged] = []
    for judged, without in on_all_cores(_check_one, [(path, profile, show) for path in paths]):
        found += judged
        missing += without
    return sorted(found), sorted(missing)


# The recorded answers --------------------------------------------------------------------------------------------------


class Recorded(NamedTuple):
    """What came of one opcode's recorded answers: rows compared, the forms answered and those not, and by form how many rows
    differ, with the first of them."""

    opcode: str
    rows: int
    answered: int
    unanswered: int
    differing: dict[str, tuple[int, str]]


def _answered_forms(opcode: str) -> list[str]:
    """The names under which answers of an opcode's forms are recorded."""
    met = [(f, absent) for f in registry().opcodes[opcode].forms if warps.meets(f) for absent in f.absences]
    return [*written_forms(opcode), *[warps.key(f, absent) for f, absent in met]]


def _recorded_one(opcode: str) -> Recorded:
    own = registry().opcodes[opcode].forms
    rows = 0
    differing: dict[str, tuple[int, str]] = {}
    here: set[str] = set()
    for recorder in (vectors, warps):
        answers = recorder.read()
        if answers is None:
            continue
        here |= set(answers.values)
        count, differences = recorder.compare(own, answers)
        rows += count
        for one in differences:
            before, first = differing.get(one.form, (0, str(one)))
            differing[one.form] = (before + 1, first)
    names = _answered_forms(opcode)
    answered = sum(name in here for name in names)
    return Recorded(opcode, rows, answered, len(names) - answered, differing)


def check_recorded(asked: Sequence[str] = ()) -> tuple[dict[str, Any], list[Recorded]]:
    """(the facts of the recorded answers, what came of each opcode). Raises ValueError if there are none, or none of one that
    was asked for."""
    answers = vectors.read()
    if answers is None:
        raise ValueError(MISSING)
    for opcode in asked:
        if opcode not in registry().opcodes:
            raise ValueError(no_page_defines(opcode))
        if not _answered_forms(opcode):
            raise ValueError(f"{opcode}: no answers of this opcode can be recorded")
    names = list(dict.fromkeys(asked)) or [o for o in sorted(registry().opcodes) if _answered_forms(o)]
    facts: dict[str, Any] = {k: answers.facts[k] for k in ("device", "date", "profile") if k in answers.facts}
    return facts, sorted(on_all_cores(_recorded_one, names))
