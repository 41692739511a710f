"""The ledger: for every form, what holds it to account. `python -m ptxspec.evidence.ledger` brings it up to date.

A row says whether ptxas accepts the form, whether the three interpretations agree on it (of a form with an effect, whether both
engines leave the same), how many identities mention its opcode, and how many vectors a GPU has answered; of an approximate form
also how many of 2^32 operands differ from a GPU's answers. What was not run is null, and shown as a gap. Rows are computed an
opcode at a time and kept in `build/ledger.json`, away from a checkout in the user's folder for caches, under a digest of
everything they depend on.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.base import storage
from ptxspec.base.parallel import on_all_cores
from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence.record.location import FOLDER
from ptxspec.literate.documents import read_by_programs

if TYPE_CHECKING:
    from ptxspec.evidence.record.gaps import Records
    from ptxspec.language.forms import Form

NAME = "ledger.json"
#: what the interpretations of an approximate form would have to agree on, and do not have yet
NEEDS_CHOICE = "needs a profile's choice"
#: operand rows a form, and how many of them the solver computes too
ROWS, SYMBOLIC = 64, 4


@cache
def versions() -> dict[str, str | None]:
    """Of the programs that a row's checks ask: what each calls itself, None for one that is not there."""
    from ptxspec.evidence.record import assembler

    found: dict[str, str | None] = {name: _installed(name) for name in ("z3-solver", "llvmlite")}
    try:
        found["ptxas"] = assembler.version()
    except (OSError, subprocess.CalledProcessError):
        found["ptxas"] = None
    return found


def _installed(name: str) -> str | None:
    """The version of a package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def covered() -> list[Path]:
    """The files that a row depends on: the pages with their definitions and proofs; the machinery but for the site and the
    command, all rooms of the evidence among it; and the facts of recorded answers, which hold the digests of these."""
    model = Path(__file__).resolve().parents[1]
    places = [(DOCUMENTS / "spec", "**/*.md"), (DOCUMENTS / "proofs", "**/*.md")]
    folders = ("base", "literate", "terms", "contracts", "language", "machine", "query", "evidence")
    places += [(model / folder, "**/*.py") for folder in folders]
    places.append((FOLDER, "**/*.json"))
    return [path for folder, pattern in places for path in sorted(folder.glob(pattern))]


def digest() -> str:
    """Of all files that are covered, and of the versions of the programs asked: rows of another digest are out of date."""
    total = hashlib.sha256(json.dumps(versions(), sort_keys=True).encode())
    for path in covered():
        total.update(read_by_programs(path))
    return total.hexdigest()


def rows(store: Path | None = None) -> list[dict[str, Any]]:
    """The rows as they were last computed; [] if they never were, or if something has changed since. Opcodes that were not
    computed have none."""
    return [row for own in _known(store or storage.kept(NAME)).values() for row in own]


class Standing(NamedTuple):
    """What holds a form to account: whether ptxas accepts it; whether its interpretations agree, or both engines leave the same;
    and what a GPU answered, with whether the definitions give it. None is what was not run or not asked; an approximate form's
    interpretations may agree but for a choice (`NEEDS_CHOICE`)."""

    form: Form
    ptxas: bool | None
    interpretations: bool | str | None
    gpu: dict[str, Any] | None


def standing_of(opcode: str, store: Path | None = None) -> list[Standing]:
    """How one opcode's forms stand: as the rows of the store say if nothing has changed since, else computed now."""
    from ptxspec.language.forms import forms

    known = _known(store or storage.kept(NAME)).get(opcode)
    if known is None:
        return standing(opcode)
    pairs = zip(forms(opcode), known, strict=True)
    return [Standing(f, row["ptxas"], row["interpretations"], row["gpu"]) for f, row in pairs]


def _known(store: Path | None) -> dict[str, list[dict[str, Any]]]:
    """The rows of a store by opcode; none if something has changed since."""
    try:
        found = json.loads(storage.own_file(store and store.absolute()))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or found.get("digest") != digest():
        return {}
    by_opcode: dict[str, list[dict[str, Any]]] = found["opcodes"]
    return by_opcode


def standing(opcode: str) -> list[Standing]:
    """How one opcode's forms stand, computed now."""
    from ptxspec.evidence.compare import engines, interpretations
    from ptxspec.evidence.generate.signatures import pure
    from ptxspec.evidence.record import gaps
    from ptxspec.language.forms import forms

    own = forms(opcode)
    refused = _refused(own)
    known = gaps.records()
    differing = _differing(own, known)
    functions = [f for f in own if pure(f)]
    disagreements = interpretations.compare(functions, count=ROWS, symbolic=SYMBOLIC) if functions else []
    wrong = {d.form: str(d) for d in disagreements}
    compared = {str(f) for f in functions}
    acted = engines.agreeing(f for f in own if str(f) not in compared)
    return [
        Standing(
            form,
            None if refused is None or form.is_dropped else not any(str(v) in refused for v in form.variants),
            _agrees(form, wrong) if str(form) in compared else acted.get(str(form)),
            gaps.entry(form, known, differing),
        )
        for form in own
    ]


def opcode_rows(opcode: str) -> list[dict[str, Any]]:
    """The rows of one opcode's forms, computed now."""
    from ptxspec.evidence.generate.signatures import approximate
    from ptxspec.evidence.record import gaps, multifunction_answers
    from ptxspec.query.identities import load_all

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
        for form, accepted, agree, answered in standing(opcode)
    ]


def _refused(own: Sequence[Form]) -> set[str] | None:
    """The forms that the assembler does not accept; None if there is none to be asked."""
    from ptxspec.evidence.generate.instruction_kernels import (
        kernels_for,
    )
    from ptxspec.evidence.record import assembler

    try:
        return {str(r.kernel.form) for r in assembler.refusals(kernels_for(f for f in own if not f.is_dropped))}
    except FileNotFoundError:
        return None


def _differing(own: Sequence[Form], known: Records) -> set[str]:
    """The names of recorded answers that the definitions do not give."""
    from ptxspec.evidence.record.families import FAMILIES

    found: set[str] = set()
    for name, family in FAMILIES.items():
        answers = known[name]
        if answers is not None:
            found |= {difference.form for difference in family.compare(own, answers)[1]}
    return found


def _agrees(form: Form, wrong: dict[str, str]) -> bool | str:
    """Whether the interpretations agree, in all variants. Where they do outside of an approximate result that the profile
    does not choose yet, the answer is that a choice is needed."""
    from ptxspec.evidence.compare.choices import awaited

    return not any(str(v) in wrong for v in form.variants) and (NEEDS_CHOICE if awaited(form) else True)


def update(
    store: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    opcodes: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Compute what is missing or out of date, and write the store: for some opcodes or for all, whose rows are the result. Raises
    OSError, before any work, for a store that cannot be written. What was computed is kept if the work is interrupted."""
    from ptxspec.language.forms import registry

    store = store or storage.kept(NAME)
    storage.check_writable(store)
    of = digest()  # if a file changes while this works, what is computed is of before
    known = _known(store)
    wanted = sorted(registry().opcodes) if opcodes is None else list(opcodes)
    missing = [o for o in wanted if o not in known]
    # the opcodes with the most forms first, so that the processes end together
    missing.sort(key=lambda o: -len(registry().opcodes[o].forms))
    done = len(wanted) - len(missing)
    try:
        for opcode, own in on_all_cores(_one, missing):
            known[opcode] = own
            done += 1
            if progress is not None:
                progress(opcode, done, len(wanted))
    finally:
        storage.write(store, {"digest": of, "opcodes": {o: known[o] for o in sorted(known)}})
    return [row for o in wanted for row in known[o]]


def absent(found: list[dict[str, Any]]) -> list[str]:
    """The opcodes of which there are no rows."""
    from ptxspec.language.forms import registry

    return sorted(set(registry().opcodes) - {row["opcode"] for row in found})


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


def _one(opcode: str) -> tuple[str, list[dict[str, Any]]]:
    return opcode, opcode_rows(opcode)


def summary(found: list[dict[str, Any]]) -> dict[str, int]:
    """Counts over the rows: forms, and for each kind of evidence how many forms have it, lack it, or fail."""
    counts = {"forms": len(found)}
    for kind in ("ptxas", "interpretations"):
        for name, value in (("yes", True), ("no", False), ("not run", None)):
            counts[f"{kind} {name}"] = sum(1 for row in found if row[kind] is value)
    counts[f"interpretations: {NEEDS_CHOICE}"] = sum(1 for row in found if row["interpretations"] == NEEDS_CHOICE)
    counts["with identities"] = sum(1 for row in found if row["identities"])
    agrees = [row["gpu"] and bool(row["gpu"]["agrees"]) for row in found]
    counts |= {"gpu yes": agrees.count(True), "gpu no": agrees.count(False), "gpu not run": agrees.count(None)}
    counts["gpu cannot be asked"] = sum(1 for row in found if row["gpu"] is None and row.get("unasked"))
    counts["gpu gaps"] = sum(unanswered(found).values())
    approximate = [row.get("compared") for row in found if row.get("approximate")]
    counts["approximate forms"] = len(approximate)
    counts["0 of 2^32 differ"] = sum(1 for one in approximate if one and one["differing"] == 0)
    counts["some of 2^32 differ"] = sum(1 for one in approximate if one and one["differing"] != 0)
    counts["2^32 not compared"] = approximate.count(None)
    return counts


def unanswered(found: list[dict[str, Any]]) -> dict[str, int]:
    """How many forms no GPU was asked about though one can be, of each opcode that has such gaps."""
    from ptxspec.evidence.record.gaps import is_gap

    return dict(Counter(row["opcode"] for row in found if is_gap(row)))


def main() -> int:
    with shown_progress() as progress:
        found = update(progress=progress)
    for name, count in (counts := summary(found)).items():
        print(f"{name:<24} {count:>6}")
    for opcode, count in unanswered(found).items():
        print(f"no GPU was asked about {opcode}: {count} form{'' if count == 1 else 's'}")
    return int(any(row["ptxas"] is False or row["interpretations"] is False for row in found) or counts["gpu no"] > 0)


if __name__ == "__main__":
    sys.exit(main())
