"""Identities: claims that two fragments compute the same, stated in the documents under `proofs/`.

A page states them with `identity(...)`, and those that look true and are not with `refuted(...)`.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base import storage
from ptxspec.base.campaigns import Where
from ptxspec.base.options import Relation
from ptxspec.base.parallel import on_all_cores
from ptxspec.language.forms import page_name
from ptxspec.literate.documents import read_by_programs
from ptxspec.literate.stating import called_at, trimmed
from ptxspec.query import laws
from ptxspec.query.equivalence import prove
from ptxspec.query.paths.options import Options, options
from ptxspec.query.results import ALL
from ptxspec.query.verdicts import Verdict

#: what registers point to: so many bytes of memory, as in 64 or "64 shared align 8"
Buffers = Mapping[str, int | str] | None


class Identity(NamedTuple):
    """A claim. `expected` is "proved" or "refuted"; `path` and `line` say where it stands. `buffers` says what registers point
    to, `warp` that the lanes of a warp execute both sides, `relation` whether the sides are equal or the right one refines the
    left one: see ptxspec.prove. All names that both sides write are compared, and NaNs with their payloads."""

    title: str
    left: str
    right: str
    assume: str | None
    profile: str
    expected: str
    path: str
    line: int
    buffers: tuple[tuple[str, str], ...] = ()
    warp: bool = False
    relation: Relation = "equal"

    @property
    def how(self) -> Options:
        """What the question says beside its texts."""
        return options(buffers=dict(self.buffers), warp=self.warp, compare=(ALL,), nan="payloads")

    @property
    def opcodes(self) -> frozenset[str]:
        """The opcodes of both sides."""
        return _opcodes_of(self.left + ";" + self.right)

    @property
    def page(self) -> str:
        return f"{page_name(self.path)}:{self.line}"

    def is_as_stated(self, status: str) -> bool:
        """Whether a verdict is the one that the page states: what was run on every input holds as what was proved does."""
        return status == self.expected or (status == "exhausted" and self.expected == "proved")

    def not_as_stated(self, verdict: Mapping[str, Any]) -> str | None:
        """What is said of a claim that has another verdict than its page states; None if it has this one."""
        if self.is_as_stated(verdict["status"]):
            return None
        return f"{self.page}: {self.title}: stated {self.expected}, found {verdict['status']} ({verdict['reason']})"

    def check(self, timeout: float = 300.0) -> Verdict:
        """Ask the solver."""
        return prove(
            self.left,
            self.right,
            relation=self.relation,
            assume=self.assume,
            profile=self.profile,
            contract="none",
            timeout=timeout,
            buffers=dict(self.buffers),
            warp=self.warp,
            compare=(ALL,),
            nan="payloads",
        )


#: an opcode, behind what stands before instructions: others, guards, labels, and the version and the target of a fragment
_OPCODE = re.compile(r"(?:^|;|@!?\S+|\w:(?!:)|\.(?:version|target)\s+\S+)\s*([a-z]\w*)")
#: the file of verdicts that were reached
NAME = "verdicts.json"
#: the verdicts that are stored: those that settle a claim
SETTLED = ("proved", "refuted", "exhausted")
#: the verdicts after which they are stored, so that little is lost
SAVED = 50
#: every identity of the pages loaded so far, in order
IDENTITIES: list[Identity] = []


class Stating(NamedTuple):
    """States claims of which a verdict is expected."""

    expected: str

    def __call__(
        self,
        title: str,
        left: str,
        right: str,
        *,
        assume: str | None = None,
        profile: str = "portable",
        buffers: Buffers = None,
        warp: bool = False,
        relation: Relation = "equal",
    ) -> Identity:
        """State a claim of two fragments; see ptxspec.prove for what it means."""
        pointed = tuple((name, str(size)) for name, size in (buffers or {}).items())
        sides = trimmed(left), trimmed(right)
        named = " ".join(title.split())
        claim = Identity(named, *sides, assume, profile, self.expected, *called_at(), pointed, warp, relation)
        IDENTITIES.append(claim)
        return claim


#: states that two fragments agree wherever `assume` holds, or that the right one refines the left one there
identity = Stating("proved")
#: states a claim that looks true and is not: the solver must find a counterexample
refuted = Stating("refuted")


@cache
def load_all() -> tuple[Identity, ...]:
    """Every identity of every page under proofs/. Their order is that of pages and lines, in whatever order pages were loaded:
    workers name identities by their numbers."""
    from ptxspec.literate import finder

    for name, _ in finder.pages("ptxspec.proofs"):
        finder.load(name)
    return tuple(sorted(IDENTITIES, key=lambda claim: (claim.path, claim.line)))


def verdict(claim: Identity, store: str | Path | None = None) -> dict[str, Any]:
    """The verdict on a claim as a dictionary, from `store` if it was reached before on the very same claim and definitions,
    else reached now, where the answers that solvers gave before to the very same queries are taken again. Only verdicts that
    settle a claim are stored."""
    path = Path(store) if store is not None else storage.kept(NAME)
    known, key = laws.stored(path), _key(claim)
    if key not in known:
        verdict: dict[str, Any] = claim.check().as_dict()
        if verdict["status"] not in SETTLED:
            return verdict
        known[key] = verdict
        storage.write(path, known)
    kept: dict[str, Any] = known[key]
    return kept


def kept(claim: Identity, store: Path | None = None) -> dict[str, Any] | None:
    """The verdict that was reached before on the very same claim and definitions, where one is stored."""
    return laws.stored(store or storage.kept(NAME)).get(_key(claim))


def update(
    store: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    chosen: Callable[[Identity], bool] = lambda claim: True,
    where: Where = Where(),
) -> list[tuple[Identity, dict[str, Any]]]:
    """The verdicts on all claims, or on those `chosen`. What is not stored is reached now, on every core there is or where it is
    said. If that is interrupted, what was reached is stored."""
    path = Path(store) if store is not None else storage.kept(NAME)
    claims = load_all()
    keys = [_key(c) for c in claims]
    known = {k: v for k, v in laws.stored(path).items() if k in keys}
    wanted = [i for i, claim in enumerate(claims) if chosen(claim)]
    missing = [i for i in wanted if keys[i] not in known]
    reached: dict[int, dict[str, Any]] = {}
    try:
        for number, (i, verdict) in enumerate(on_all_cores(_one, missing, where), 1):
            reached[i] = verdict
            if verdict["status"] in SETTLED:
                known[keys[i]] = verdict
            if number % SAVED == 0:
                storage.write(path, known)
            if progress is not None:
                progress(number, len(missing))
    finally:
        storage.write(path, known)
    return [(claims[i], reached[i] if i in reached else known[keys[i]]) for i in wanted]


def _one(i: int) -> tuple[int, dict[str, Any]]:
    return i, load_all()[i].check().as_dict()


@cache
def _opcodes_of(text: str) -> frozenset[str]:
    return frozenset(_OPCODE.findall(text))


def _key(claim: Identity) -> str:
    return hashlib.sha256(repr((claim[:6], claim[8:], definitions())).encode()).hexdigest()


@cache
def definitions() -> str:
    """A digest of all that a verdict depends on: the pages and the machinery."""
    from ptxspec.base.places import DOCUMENTS

    digest = hashlib.sha256()
    model = Path(__file__).resolve().parents[1]
    folders = ("literate", "terms", "contracts", "language", "query")  # a claim is read before it is asked
    places = [(DOCUMENTS / "spec", "**/*.md"), *((model / folder, "**/*.py") for folder in folders)]
    for place, pattern in places:
        for path in sorted(place.glob(pattern)):
            digest.update(read_by_programs(path))
    return digest.hexdigest()


def command() -> None:
    """Bring the verdicts up to date: `python -m ptxspec.query.identities [--jobs N] [--scheduler ADDRESS]`."""
    import click

    from ptxspec.base.campaign_options import where_options

    @click.command(help="Prove what the pages under proofs/ state; what was proved before is taken from the store.")
    @where_options
    def proofs(where: Where) -> None:
        sys.exit(main(where))

    proofs()


def main(where: Where = Where()) -> int:
    """Bring the verdicts up to date, and say what is not as it is stated: the exit status."""
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task("proofs", total=None)
        verdicts = update(progress=lambda n, of: bar.update(task, completed=n, total=of), where=where)
    wrong = list(filter(None, (claim.not_as_stated(verdict) for claim, verdict in verdicts)))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    counts = {status: sum(1 for _, v in verdicts if v["status"] == status) for status in SETTLED}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    print(f"{len(verdicts)} identities: {summary}, {len(wrong)} not as stated")
    return int(not _laws_hold(where) or bool(wrong))


def _laws_hold(where: Where = Where()) -> bool:
    """Whether the solver says of every law what its page says; tell how many there are."""
    verdicts = laws.update(definitions(), where=where)
    wrong = list(filter(None, (laws.not_as_stated(law, verdict["status"]) for law, verdict in verdicts)))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    proved, refuted = (sum(verdict["status"] == status for _, verdict in verdicts) for status in ("proved", "refuted"))
    counts = f"{proved} proved, {refuted} refuted, {len(wrong)} not as stated"
    print(f"{len(verdicts)} laws of states and functions: {counts}")
    return not wrong


if __name__ == "__main__":  # the pages state their identities to the module as it is imported, not to this one
    sys.exit(importlib.import_module("ptxspec.query.identities").command())
