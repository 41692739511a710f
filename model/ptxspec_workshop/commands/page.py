"""One page after a change of it: `python -m ptxspec_workshop.commands.page bfe`, or `make page PAGE=bfe`.

Every check is one that the tests, `make lint`, `make ledger` and `make proofs` make of all pages. A line tells how each went, and
below it stand the lines of the documents that are wrong.
"""

from __future__ import annotations

import re
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click

from ptxspec.base import places
from ptxspec.cli.page import path_of
from ptxspec.cli.shared import say
from ptxspec.language.diagnostics import PtxError
from ptxspec.language.forms import page_name, registry
from ptxspec.literate import finder, lint
from ptxspec.literate.documents import DocumentError
from ptxspec.query import identities, laws
from ptxspec_workshop.ledger import computing
from ptxspec_workshop.programs import examples

#: the complaints of one check that are shown
SHOWN = 20
#: how a sentence of `programs.examples` begins that is about a line; a complaint of a linter, behind which comes a summary
_LINE, _COMPLAINT = re.compile(r"line (\d+): "), re.compile(r"\S+:\d+:")
#: a line of a document in a traceback, which may be that of another process
_FRAME = re.compile(r'File "([^"\n]+\.md)", line (\d+)')


class CheckResult(NamedTuple):
    """What a check found: what is wrong, a sentence each that begins with a place, and what it checked ("" for nothing)."""

    wrong: Sequence[str]
    what: str


class Page(NamedTuple):
    """A page that was loaded: its module, its name in messages, and the opcodes that it defines."""

    module: ModuleType
    name: str
    opcodes: list[str]


def load(name: str) -> Page:
    """The page of a name such as "spec/machine/barriers.md", loaded and bound. Raises what it raises."""
    (module_name,) = [
        module for root in finder.ROOTS for module, path in finder.pages(root) if page_name(str(path)) == name
    ]
    module = finder.load(module_name)
    opcodes = [opcode for opcode, pages in registry().index.items() if module_name in pages]
    return Page(module, name, opcodes)


def loads(page: Page) -> CheckResult:
    """Its syntax lines fit its definitions, no two lines define one form, and each form has a meaning. Raises what is raised."""
    forms = [form for opcode in page.opcodes for form in registry().opcodes[opcode].forms if _is_here(page, form.page)]
    for form in forms:
        for absent in form.absences:
            form.meaning(absent)
    what = (
        f"{_many(len(forms), 'form')} of {', '.join(page.opcodes)}" if page.opcodes else "a page without instructions"
    )
    return CheckResult([], what)


def linted(path: Path) -> CheckResult:
    """What ruff and mypy say of its Python."""
    outcomes = list(lint.outputs([path]))
    wrong: list[str] = []
    for status, output in outcomes:
        lines = output.splitlines()
        if status:  # without a complaint, it did not run
            wrong += [line for line in lines if _COMPLAINT.match(line)] or [f"{page_name(str(path))}:1: {output}"]
    return CheckResult(wrong, "ruff, mypy" if outcomes else "")


def of_examples(page: Page) -> CheckResult:
    """Its examples leave what their comments state."""
    wrong: list[str] = []
    fences = finder.document_of(page.module).of("ptx")
    for fence in fences:
        # so that lines of the example are lines of the page
        text = "\n" * (fence.line - 1) + fence.text
        try:
            sentences = examples.complaints(text)
        except Exception as error:
            wrong += complaints_of(error, page.name, fence.line)
        else:
            wrong += [_placed(sentence, page.name, fence.line) for sentence in sentences]
    return CheckResult(wrong, _many(len(fences), "example") if fences else "")


def of_evidence(page: Page) -> CheckResult:
    """What holds its forms to account: the assembler, the other interpretations, the recorded answers of a GPU."""
    standings = [
        standing
        for opcode in page.opcodes
        for standing in computing.standing_of(opcode)
        if _is_here(page, standing.form.page)
    ]
    wrong: list[str] = []
    for form, ptxas, agree, gpu in standings:
        if ptxas is False:
            wrong.append(f"{form.page}: ptxas does not accept {form}")
        if agree is False:
            wrong.append(f"{form.page}: the interpretations differ on {form}")
        if gpu is not None and gpu["agrees"] is False:
            wrong.append(f"{form.page}: a GPU has answered otherwise for {form}")
    accepted = (
        "ptxas was not run"
        if all(standing.ptxas is None for standing in standings)
        else _of(standings, "ptxas", "accepted by ptxas")
    )
    compared = _of(standings, "interpretations", "compared under each interpretation")
    answered = _of(standings, "gpu", "answered by a GPU")
    return CheckResult(
        wrong, f"{_many(len(standings), 'form')}: {accepted}, {compared}, {answered}" if standings else ""
    )


def of_laws(page: Page) -> CheckResult:
    """The solver says of its invariants and tempting claims what they say themselves."""
    verdicts = laws.update(identities.definitions(), chosen=lambda law: page_name(law.path) == page.name)
    wrong = [
        complaint for law, verdict in verdicts if (complaint := laws.not_as_stated(law, verdict["status"])) is not None
    ]
    return CheckResult(wrong, _many(len(verdicts), "claim") if verdicts else "")


def of_identities(page: Page) -> CheckResult:
    """The identities that it states, or that mention its opcodes, have the verdicts that are stated."""
    opcodes = frozenset(page.opcodes)
    verdicts = identities.update(chosen=lambda c: bool(opcodes & c.opcodes) or page_name(c.path) == page.name)
    wrong = [complaint for claim, verdict in verdicts if (complaint := claim.not_as_stated(verdict)) is not None]
    return CheckResult(wrong, _many(len(verdicts), "identity", "identities") if verdicts else "")


def _many(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def _is_here(page: Page, place: str) -> bool:
    """Whether a place such as "spec/machine/barriers.md:12" is on a page."""
    return place.rpartition(":")[0] == page.name


def _of(standings: Sequence[computing.Standing], what: str, words: str) -> str:
    """How many forms a check was made of."""
    count = sum(getattr(standing, what) is not None for standing in standings)
    return f"{'all' if count == len(standings) else count} {words}"


def _placed(sentence: str, page: str, line: int) -> str:
    """A sentence of `programs.examples` behind its place."""
    match = _LINE.match(sentence)
    return f"{page}:{match[1]}: {sentence[match.end() :]}" if match else f"{page}:{line}: {sentence}"


def complaints_of(error: Exception, page: str, line: int) -> list[str]:
    """What an error says, behind the innermost line of a document that it came from; behind `line` of `page` for an error of PTX
    that names none. Raises any other error: it is none of the page."""
    if isinstance(error, DocumentError):
        return [f"{page_name(error.path)}:{error.line}: {error.message}"]
    if isinstance(error, PtxError):
        return [f"{page}:{diagnostic.line}: {diagnostic.message}" for diagnostic in error.diagnostics]
    if isinstance(error, SyntaxError) and error.filename:
        return [f"{page_name(error.filename)}:{error.lineno}: {error.msg}"]
    frames = _FRAME.findall("".join(traceback.format_exception(error)))
    if frames:
        path, number = frames[-1]
        return [f"{page_name(path)}:{number}: {type(error).__name__}: {str(error).removeprefix(f'{path}:{number}: ')}"]
    if isinstance(error, ValueError):
        return [f"{page}:{line}: {error}"]
    raise error


def _shown(name: str, check: Callable[[], CheckResult], page: str) -> bool:
    """Make a check, and tell how it went; whether all is fine."""
    began = time.perf_counter()
    try:
        wrong, what = check()
    except Exception as error:
        wrong, what = complaints_of(error, page, 1), "ended with an error"
    outcome = "WRONG" if wrong else "fine" if what else "none"
    say(f"{name:<10} {outcome:<5} {time.perf_counter() - began:6.1f} s  {what}".rstrip(), fg="red" if wrong else None)
    for sentence in wrong[:SHOWN]:
        say(f"  {sentence}")
    if len(wrong) > SHOWN:
        say(f"  and {len(wrong) - SHOWN} more")
    return not wrong


@click.command()
@click.argument("name", metavar="PAGE")
def command(name: str) -> None:
    """Check one page, named as for `ptxspec page`: bfe, machine/barriers, spec/machine/barriers.md. The exit status is 1 if
    anything is wrong."""
    name = path_of(name)
    say(name)
    loaded: list[Page] = []

    def loading() -> CheckResult:
        page = load(name)
        checked = loads(page)
        loaded.append(page)
        return checked

    fine = [_shown("loads", loading, name), _shown("lint", partial(linted, places.DOCUMENTS / name), name)]
    checks = {"examples": of_examples, "evidence": of_evidence, "laws": of_laws, "identities": of_identities}
    for title, check in checks.items():
        if loaded:
            fine.append(_shown(title, partial(check, loaded[0]), name))
        else:
            say(f"{title:<10} not run: the page does not load")
    sys.exit(int(not all(fine)))


if __name__ == "__main__":
    command()
