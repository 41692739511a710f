"""Somebody's results in vector files, held against the definitions.

A row for which several results are allowed is judged by the freedom's own condition, so that a bound decides about an approximate
result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base.parallel import on_all_cores
from ptxspec.evidence.kernels.operand_rows import table_of
from ptxspec.evidence.kernels.signatures import inputs_of, results_of
from ptxspec.evidence.vector_contents import Header, dated, digits, expected, values_of, wanted, written_forms
from ptxspec.evidence.vector_folder import FORMAT, MANIFEST
from ptxspec.language.forms import Form, registry
from ptxspec.terms import exact
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type


class Malformed(ValueError):
    """A folder of results that cannot be read: the file, the line and what is wrong with it."""


class DifferingRow(NamedTuple):
    """One row that differs; `expected` is as `write` writes it."""

    operands: list[str]
    results: list[str]
    expected: list[str]


class JudgedForm(NamedTuple):
    """What came of one form: rows compared, how many differ and the first of these, and how many nobody can judge, since an open
    result goes into a further computation there."""

    form: str
    page: str
    rows: int
    differing: int
    first: tuple[DifferingRow, ...]
    not_judged: int


_VALUE = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


class GivenResults(NamedTuple):
    """Somebody's results of one form: where they stand, the form as the line's version and target have it, and rows of bits."""

    where: str
    form: Form
    rows: list[list[int]]


def _table(value: Any, types: Sequence[Type], count: int, what: str, where: str) -> list[list[int]]:
    """Rows of hexadecimal strings as numbers. Raises Malformed."""
    if not isinstance(value, list):
        raise Malformed(f"{where}: {what} are no array of rows")
    if len(value) != count:
        raise Malformed(f"{where}: {len(value)} rows of {what}, the form has {count}")
    table = []
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
        table.append(numbers)
    return table


def read_line(text: str, where: str, known: dict[str, Form]) -> tuple[str, GivenResults | None]:
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
    form = _dated(known[name], line, where)
    meaning = form.meaning()
    if line.get("rows") is not None:
        table = table_of(form, meaning)
        rows = _table(line["rows"], [t for _, t in inputs_of(meaning)], len(table), "operands", where)
        for i, (row, given) in enumerate(zip(table, rows, strict=True)):
            if list(row) != given:
                raise Malformed(f"{where}: operands, row {i}: they are not the ones that this version writes")
    if line.get("results") is None:
        return name, None
    count = len(table_of(form, meaning))
    types = [t for t, _ in results_of(meaning)]
    return name, GivenResults(where, form, _table(line["results"], types, count, "results", where))


def _dated(form: Form, line: dict[str, Any], where: str) -> Form:
    """The form as modules of the line's version and target have it; the newest if it names neither. Raises Malformed."""
    named = [line.get(key) for key in Header._fields]
    if named == [None, None]:
        return form
    if not all(isinstance(value, str) for value in named):
        raise Malformed(f'{where}: "version" and "target" are strings such as "7.0" and "sm_80", or both are missing')
    header = Header(*named)  # type: ignore[arg-type]
    try:
        exists = form.exists(header.epoch)
    except ValueError as error:
        raise Malformed(f"{where}: {error}") from None
    if not exists:
        raise Malformed(f"{where}: modules of version {header.version} for {header.target} have no {form}")
    return dated(form, header)


def read_file(path: Path) -> tuple[dict[str, GivenResults], list[str]]:
    """(results by form, the forms without results) of an opcode's file. Raises Malformed."""
    opcode = path.stem
    if opcode not in registry().opcodes:
        raise Malformed(f"{path}: no page defines {opcode!r}")
    known = written_forms(opcode)
    results: dict[str, GivenResults | None] = {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                where = f"{path}:{number}"
                name, given = read_line(text, where, known)
                if name in results:
                    raise Malformed(f"{where}: {name} a second time")
                results[name] = given
    except UnicodeDecodeError as error:
        raise Malformed(f"{path}: no text in UTF-8: {error.reason}") from None
    given_results = {n: g for n, g in results.items() if g is not None}
    return given_results, [n for n in known if n not in given_results]


def judge(
    form: Form, given: Sequence[Sequence[int]], want: Sequence[Sequence[str]], profile: Profile, show: int
) -> JudgedForm:
    """Hold somebody's results of a form against `want`, which are its rows of `expected`."""
    meaning = form.meaning()
    table = table_of(form, meaning)
    results = results_of(meaning)
    differing = not_judged = 0
    first: list[DifferingRow] = []
    for row, bits_of_row, cells in zip(table, given, want, strict=True):
        good: bool | None = True
        if any(c.startswith("?") for c in cells):
            settled: dict[Any, int] = {}
            values = values_of(meaning, row)
            for (_, term), bits in zip(results, bits_of_row, strict=True):
                try:
                    fine = exact.allows(term, values, bits, profile.chosen, settled)
                except exact.NoChoice:
                    good = None if good else good
                    continue
                good = False if not fine else good
        else:
            good = all(int(c, 16) == bits for c, bits in zip(cells, bits_of_row, strict=True))
        not_judged += good is None
        if good is False:
            differing += 1
            if len(first) < show:
                operands = [digits(v, t) for v, (_, t) in zip(row, inputs_of(meaning), strict=True)]
                shown = [digits(v, t) for v, (t, _) in zip(bits_of_row, results, strict=True)]
                first.append(DifferingRow(operands, shown, list(cells)))
    return JudgedForm(str(form), form.page, len(table), differing, tuple(first), not_judged)


def _check_file(task: tuple[Path, str, int]) -> tuple[list[JudgedForm], list[str]]:
    path, profile, show = task
    chosen = Profile(profile)
    given, missing = read_file(path)
    forms = [(result.form, result.form.meaning()) for result in given.values()]
    want = expected([(meaning, table_of(form, meaning)) for form, meaning in forms], chosen)
    judged = [
        judge(form, result.rows, rows, chosen, show)
        for (form, _), result, rows in zip(forms, given.values(), want, strict=True)
    ]
    return judged, missing


def _expected_opcodes(folder: Path, requested: Sequence[str]) -> list[str]:
    """The opcodes that a folder of results should have: those asked for, those that its vectors.json names, else those it has."""
    if requested:
        return wanted(requested)
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
    folder: Path, requested: Sequence[str] = (), profile: str = "portable", show: int = 3
) -> tuple[list[JudgedForm], list[str]]:
    """(what came of each form that has results, the forms that have none). The first `show` differing rows of a form are kept.
    Raises Malformed for a folder that cannot be read, ValueError for an unknown opcode or profile."""
    Profile(profile)
    if not folder.is_dir():
        raise Malformed(f"{folder}: no folder")
    names = _expected_opcodes(folder, requested)
    if not names:
        raise Malformed(f"{folder}: no file <opcode>.jsonl in it")
    missing = [form for n in names if not (folder / f"{n}.jsonl").is_file() for form in written_forms(n)]
    paths = [folder / f"{n}.jsonl" for n in names if (folder / f"{n}.jsonl").is_file()]
    results: list[JudgedForm] = []
    for judged, without in on_all_cores(_check_file, [(path, profile, show) for path in paths]):
        results += judged
        missing += without
    return sorted(results), sorted(missing)
