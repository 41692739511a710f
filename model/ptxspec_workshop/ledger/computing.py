"""Computes the rows of the ledger, an opcode at a time, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base import storage
from ptxspec.base.parallel import on_all_cores
from ptxspec.evidence import ledger
from ptxspec.evidence.choices import awaited
from ptxspec.evidence.kernels.instruction_kernels import kernels_for
from ptxspec.evidence.kernels.signatures import approximate, pure
from ptxspec.evidence.ledger import NEEDS_CHOICE
from ptxspec.language.forms import Form, forms, registry
from ptxspec.query.identities import load_all
from ptxspec_workshop.compare import engines, interpretations
from ptxspec_workshop.record import gaps, multifunction_answers, refusals
from ptxspec_workshop.record.families import FAMILIES
from ptxspec_workshop.record.gaps import Records

#: operand rows a form, and how many of them the solver computes too
ROWS, SYMBOLIC = 64, 4


class Standing(NamedTuple):
    """What holds a form to account: whether ptxas accepts it; whether its interpretations agree, or both engines leave the same;
    and what a GPU answered, with whether the definitions give it. None is what was not run or not asked; an approximate form's
    interpretations may agree but for a choice (`NEEDS_CHOICE`)."""

    form: Form
    ptxas: bool | None
    interpretations: bool | str | None
    gpu: dict[str, Any] | None


def standing_of(opcode: str, store: Path | None = None, asked: Sequence[Form] | None = None) -> list[Standing]:
    """How one opcode's forms stand, or those of them that are asked for: as the rows of the store say if nothing has changed
    since, else computed now."""
    every = forms(opcode)
    known = ledger.known_rows(store or storage.kept(ledger.NAME)).get(opcode)
    if known is None:
        return standing(every if asked is None else asked)
    rows = [row for row in zip(every, known, strict=True) if asked is None or row[0] in asked]
    return [Standing(form, row["ptxas"], row["interpretations"], row["gpu"]) for form, row in rows]


def standing(opcode_forms: Sequence[Form]) -> list[Standing]:
    """How some forms of one opcode stand, computed now."""
    refused = _refused(opcode_forms)
    known = gaps.records()
    differing = _differing(opcode_forms, known)
    functions = [f for f in opcode_forms if pure(f)]
    disagreements = interpretations.compare(functions, count=ROWS, symbolic=SYMBOLIC) if functions else []
    wrong = {d.form: str(d) for d in disagreements}
    compared = {str(f) for f in functions}
    acted = engines.agreeing(f for f in opcode_forms if str(f) not in compared)
    return [
        Standing(
            form,
            None if refused is None or form.is_dropped else not any(str(v) in refused for v in form.variants),
            _agrees(form, wrong) if str(form) in compared else acted.get(str(form)),
            gaps.entry(form, known, differing),
        )
        for form in opcode_forms
    ]


def opcode_rows(opcode: str) -> list[dict[str, Any]]:
    """The rows of one opcode's forms, computed now."""
    many = multifunction_answers.comparisons()
    mentions = sum(1 for claim in load_all() if opcode in claim.opcodes)
    return [
        {
            "mnemonic": form.mnemonic,
            "form": str(form),
            "opcode": opcode,
            "page": form.page,
            "ptxas": accepted,
            "interpretations": agree,
            "identities": mentions,
            "gpu": answered,
            "unasked": gaps.unasked(form),
            "approximate": approximate(form),
            "compared": many[form.mnemonic].as_dict() if form.mnemonic in many else None,
        }
        for form, accepted, agree, answered in standing(forms(opcode))
    ]


def _refused(opcode_forms: Sequence[Form]) -> set[str] | None:
    """The forms that the assembler does not accept; None if there is none to be asked."""
    try:
        return {str(r.kernel.form) for r in refusals.refusals(kernels_for(f for f in opcode_forms if not f.is_dropped))}
    except FileNotFoundError:
        return None


def _differing(opcode_forms: Sequence[Form], known: Records) -> set[str]:
    """The names of recorded answers that the definitions do not give."""
    differing: set[str] = set()
    for name, family in FAMILIES.items():
        answers = known[name]
        if answers is not None:
            differing |= {difference.form for difference in family.compare(opcode_forms, answers)[1]}
    return differing


def _agrees(form: Form, wrong: dict[str, str]) -> bool | str:
    """Whether the interpretations agree, in all variants. Where they do outside of an approximate result that the profile
    does not choose yet, the answer is that a choice is needed."""
    return not any(str(v) in wrong for v in form.variants) and (NEEDS_CHOICE if awaited(form) else True)


def update(
    store: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    opcodes: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Compute what is missing or out of date, and write the store: for some opcodes or for all, whose rows are the result. Raises
    OSError, before any work, for a store that cannot be written. What was computed is kept if the work is interrupted."""
    store = store or storage.kept(ledger.NAME)
    storage.check_writable(store)
    of = ledger.digest()  # if a file changes while this works, what is computed is of before
    known = ledger.known_rows(store)
    wanted = sorted(registry().opcodes) if opcodes is None else list(opcodes)
    missing = [o for o in wanted if o not in known]
    # the opcodes with the most forms first, so that the processes end together
    missing.sort(key=lambda o: -len(registry().opcodes[o].forms))
    done = len(wanted) - len(missing)
    try:
        for opcode, computed_rows in on_all_cores(_computed, missing):
            known[opcode] = computed_rows
            done += 1
            if progress is not None:
                progress(opcode, done, len(wanted))
    finally:
        storage.write(store, {"digest": of, "opcodes": {o: known[o] for o in sorted(known)}})
    return [row for o in wanted for row in known[o]]


@contextmanager
def shown_progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """What shows on a terminal how far `update` is; None where the standard error stream is none."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("ledger", total=None)
        yield lambda name, n, of: bar.update(task, completed=n, total=of, description=f"ledger: {name}")


def update_and_show() -> list[dict[str, Any]]:
    """What `update` gives for all opcodes; a terminal shows how far it is. Raises OSError."""
    with shown_progress() as progress:
        return update(progress=progress)


def _computed(opcode: str) -> tuple[str, list[dict[str, Any]]]:
    return opcode, opcode_rows(opcode)


def main() -> int:
    rows = update_and_show()
    for name, count in (counts := ledger.summary(rows)).items():
        print(f"{name:<24} {count:>6}")
    for opcode, count in ledger.unanswered(rows).items():
        print(f"no GPU was asked about {opcode}: {count} form{'' if count == 1 else 's'}")
    return int(any(row["ptxas"] is False or row["interpretations"] is False for row in rows) or counts["gpu no"] > 0)
