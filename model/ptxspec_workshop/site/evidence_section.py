"""How a page's evidence is told from the rows of the ledger (ptxspec.evidence.ledger)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.evidence import ledger as book
from ptxspec.evidence import precomputed
from ptxspec.language.forms import Form
from ptxspec_workshop.site.pages import code, forms, gap, table

CHECKS = {
    "ptxas": "NVIDIA's assembler accepts the form",
    "interpretations": "exact, native and symbolic interpretation agree; with effects, both engines",
    "gpu": "a GPU gives what the definition says",
}
NOT_RUN = "not run in this build"
NOT_COMPARED = gap("not compared")


def read(path: Path) -> list[dict[str, Any]] | None:
    """The ledger's rows, and for opcodes without any those that were computed before from the same definitions; None if there
    are none."""
    try:
        state = path.stat()
    except OSError:
        return _read(path)
    return _read(path, state.st_mtime_ns, state.st_size)


@cache
def _read(path: Path, *state: int) -> list[dict[str, Any]] | None:
    """The same, read once a build as long as the file is as it was."""
    return precomputed.rows(book.rows(path)) or None


def outcome(value: Any) -> bool | None:
    """Whether a check went well; None where it was not run."""
    if isinstance(value, dict):
        if "agrees" in value:
            return outcome(value["agrees"])
        return None if not value else bool(value.get("vectors"))
    if isinstance(value, str):
        return (
            None
            if value in ("", "not run", book.NEEDS_CHOICE)
            else value in ("accepted", "agree", "agrees", "yes", "proved")
        )
    return None if value is None else bool(value)


def rows_of(rows: Iterable[dict[str, Any]], page: str, wanted: list[Form]) -> dict[str, dict[str, Any]]:
    """A page's rows by mnemonic. A row that names another page belongs to another opcode of the same name."""
    mnemonics = {f.mnemonic for f in wanted}
    return {
        row["mnemonic"]: row
        for row in rows
        if row["mnemonic"] in mnemonics
        and str(row.get("page") or page).split(":")[0].removesuffix(".md").endswith(page)
    }


def cell_of(check: str, wanted: list[Form], rows: dict[str, dict[str, Any]] | None) -> str:
    """One check's outcome over all forms, in words."""
    if rows is None:
        return NOT_RUN
    values = {form.mnemonic: rows.get(form.mnemonic, {}).get(check) for form in wanted}
    counts = Counter(outcome(v) for v in values.values())
    total = len(values)
    parts = [f"{counts[True]} of {total} forms" if total > 1 or not counts[True] else "yes"]
    if counts[False]:
        failing = sorted(m for m, v in values.items() if outcome(v) is False)
        shown = ", ".join(map(code, failing[:3])) + (", …" if len(failing) > 3 else "")
        parts.append(f"{gap('no')} for {counts[False]}: {shown}")
    needing = sum(v == book.NEEDS_CHOICE for v in values.values())
    if needing:
        parts.append(f"{gap(book.NEEDS_CHOICE)} for {needing}")
        counts[None] -= needing
    if counts[None]:
        parts.append(f"not run for {counts[None]}" if counts[True] or counts[False] or needing else NOT_RUN)
    if (needing or counts[None]) and not counts[True]:
        parts = parts[1:]
    details = [v for v in values.values() if isinstance(v, dict)]
    vectors = sum(int(v.get("vectors") or 0) for v in details)
    if vectors:
        dates = sorted({str(v["date"]) for v in details if v.get("date")})
        devices = sorted({str(v["device"]) for v in details if v.get("device")})
        where = f" on {', '.join(devices)}" if devices else ""
        parts.append(f"{vectors} vectors{where}{', ' + dates[-1] if dates else ''}")
    return "; ".join(parts)


def many_operands(wanted: list[Form], rows: dict[str, dict[str, Any]] | None) -> list[list[str]]:
    """A row of the table for each approximate form: how many of 2^32 operands differ from a GPU's answers."""
    body = []
    for mnemonic, row in (rows or {}).items():
        if not row.get("approximate") or mnemonic not in {f.mnemonic for f in wanted}:
            continue
        comparison = row.get("compared")
        text = NOT_COMPARED
        if comparison:
            count = comparison["text"] if comparison["differing"] == 0 else gap(comparison["text"])
            text = f"{count} on {comparison['device']}, {comparison['date']} ({comparison['which']})"
        body.append([f"{code(mnemonic)}: 2<sup>32</sup> operands on a GPU", text])
    return body


def markdown(module: str, page: str, rows: list[dict[str, Any]] | None) -> str:
    """The table of what was checked for a page's forms."""
    wanted = forms(module)
    page_rows = None if rows is None else rows_of(rows, page, wanted)
    body = [[text, cell_of(check, wanted, page_rows)] for check, text in CHECKS.items()]
    body += many_operands(wanted, page_rows)
    shown = table(["Check", "Outcome"], body, f"What was checked of this page's {counted(len(wanted), 'form')}")
    return "\n".join([shown, text]) if (text := when((page_rows or {}).values())) else shown


def counted(number: int, what: str) -> str:
    """A number and its noun."""
    return f"{number} {what}{'' if number == 1 else 's'}"


class Lacking(NamedTuple):
    """How many of a page's forms miss one of the checks, or fail it; and of how many others a check was not run."""

    lacking: int
    not_run: int


def lacking(module: str, page: str, rows: Iterable[dict[str, Any]]) -> Lacking:
    """What the evidence of a page's forms lacks. A form that no GPU was asked about lacks that; one without a row was not run."""
    counts = Counter[str]()
    page_rows = rows_of(rows, page, forms(module))
    for form in forms(module):
        row = page_rows.get(form.mnemonic, {})
        outcomes = {check: outcome(row.get(check)) for check in CHECKS}
        if False in outcomes.values() or book.NEEDS_CHOICE in row.values() or (row and row.get("gpu") is None):
            counts["lacking"] += 1
        elif None in outcomes.values():
            counts["not run"] += 1
    return Lacking(counts["lacking"], counts["not run"])


def when(rows: Iterable[dict[str, Any]], dates: Iterable[str] = ()) -> str:
    """On which days the rows and the verdicts were computed that this build did not compute; "" for none."""
    days = sorted({row["computed"] for row in rows if row.get("computed")} | set(dates))
    if not days:
        return ""
    return f"Computed on {', '.join(days)} from the same definitions, and not again in this build.\n"


def unanswered(rows: list[dict[str, Any]]) -> str:
    """How many forms no GPU was asked about, though one can be, and of which opcodes; then those of which there is a reason."""
    counts = book.unanswered(rows)
    reasoned = book.summary(rows)["gpu cannot be asked"]
    which = ", ".join(f"{code(opcode)} ({count})" for opcode, count in counts.items())
    total = sum(counts.values())
    sentence = f"{gap(counted(total, 'form'))}: {which}." if total else "no form that one can be asked about."
    return f"No GPU was asked about {sentence} {counted(reasoned, 'form')} more cannot be asked about.\n"
