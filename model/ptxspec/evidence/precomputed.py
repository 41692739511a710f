"""Rows of the ledger, verdicts on identities and laws, and what disputes come to, all computed before, as data beside the
recorded answers.

Computing them takes a quarter of an hour. Each is stored under a digest of the definitions that it depends on: of the pages of
its opcodes, or of the page of a law, and of all pages that these import, what their fences hold. One whose definitions have
changed since is not used.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ptxspec.evidence.kernels.signatures import pure
from ptxspec.evidence.location import FOLDER
from ptxspec.language.forms import forms, registry
from ptxspec.literate import finder
from ptxspec.literate.documents import fences
from ptxspec.query import identities
from ptxspec.query.identities import Identity
from ptxspec.terms.steps import StepClaim

FILE = FOLDER / "computed" / "evidence.json.xz"
#: the table of rewrites that the memory model allows
REWRITES = FOLDER / "computed" / "rewrites.json.xz"
#: what is shown of how libcu++ spells the atomic operations of C++
MAPPING = FOLDER / "computed" / "mapping.json.xz"
#: the columns of a form's row that were computed; the others are read off the form
COLUMNS = ("ptxas", "interpretations", "gpu", "unasked", "approximate", "compared")
#: the pages on which an instruction with an effect depends, though it does not import them
MACHINE = ("machine", "state_spaces", "functions")


@cache
def digest(opcodes: frozenset[str], more: str = "") -> str:
    """A digest of the definitions of some opcodes: of the fences of their pages and of all pages that these import, and for an
    instruction with an effect of the pages of the machine."""
    return _of_pages(frozenset[str]().union(*map(_pages_of, opcodes)), more)


@cache
def _pages_of(opcode: str) -> frozenset[str]:
    forms = registry().opcodes[opcode].forms
    modules = frozenset(form.definition.module for form in forms)
    return modules if all(map(pure, forms)) else modules | _machine()


@cache
def _machine() -> frozenset[str]:
    return frozenset(name for part in MACHINE for name, _ in finder.pages("ptxspec.spec", part))


def _of_pages(modules: Iterable[str], more: str) -> str:
    """A digest of the fences of some pages and of all that they import."""
    total = hashlib.sha256(more.encode())
    for path in finder.sources(sorted(modules)):
        total.update(_fences(path))
    return total.hexdigest()[:24]


@cache
def _fences(path: Path) -> bytes:
    return hashlib.sha256(fences(path.read_bytes())).digest()


@cache
def answers() -> str:
    """A digest of the facts of the recorded answers, which hold the digests of these."""
    total = hashlib.sha256()
    for path in sorted(FOLDER.rglob("*.json")):
        total.update(path.read_bytes())
    return total.hexdigest()


def rows(computed: Iterable[dict[str, Any]], opcodes: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """The rows that were computed here, and of the other ones of some opcodes, or of all, those of the file, as far as their
    definitions have not changed since. A row of the file has its date as `computed`."""
    given = list(computed)
    known = {row["opcode"] for row in given}
    asked = set(registry().opcodes if opcodes is None else opcodes)
    return given + [row for opcode in sorted(asked - known) for row in _rows_of(opcode)]


def _rows_of(opcode: str) -> list[dict[str, Any]]:
    data = _read()
    kept = data["opcodes"].get(opcode)
    if kept is None or kept["digest"] != digest(frozenset([opcode]), answers()):
        return []
    mentions = _mentions().get(opcode, 0)
    return [
        {
            **dict(zip(COLUMNS, kept["forms"][str(form)], strict=True)),
            **{"mnemonic": form.mnemonic, "form": str(form), "opcode": opcode, "page": form.page},
            **{"identities": mentions, "computed": data["date"]},
        }
        for form in forms(opcode)
        if str(form) in kept["forms"]
    ]


@cache
def _mentions() -> dict[str, int]:
    """How many identities mention each opcode."""
    counts: dict[str, int] = {}
    for claim in identities.load_all():
        for opcode in claim.opcodes:
            counts[opcode] = counts.get(opcode, 0) + 1
    return counts


def verdict(claim: Identity) -> dict[str, Any] | None:
    """The verdict of the file on a claim, with its date as `computed`; None if there is none, or if a definition has changed
    since."""
    return _verdict(key(claim))


def verdict_on_law(law: StepClaim) -> dict[str, Any] | None:
    """Likewise the verdict on a law."""
    return _verdict(key_of_law(law))


def stored(key: str) -> Any:
    """What the file holds under the digest of something else that was computed before; None if there is nothing."""
    return _read()["verdicts"].get(key)


def _verdict(key: str) -> dict[str, Any] | None:
    kept = stored(key)
    return None if kept is None else {**kept, "computed": _read()["date"]}


def key(claim: Identity) -> str:
    known = registry().opcodes
    stated = (*claim[:6], *claim[8:])
    profile = _fences(_profiles()[claim.profile]).hex()
    return digest(frozenset(o for o in claim.opcodes if o in known), repr((stated, profile)))


def key_of_law(law: StepClaim) -> str:
    """A law is a function of its page, and calls those that the page has or imports."""
    return _of_pages([law.function.__module__], repr((law.sentence, law.holds, law.function.__qualname__)))


def date() -> str:
    """The day on which what the file holds was computed."""
    return str(_read()["date"])


def key_of_launches(text: str, more: str) -> str:
    """The digest of what is launched, under any profile, and held against recorded answers."""
    opcodes = set(re.findall(r"[a-z]\w*", text)) & registry().opcodes.keys()
    profiles = {name for name, _ in finder.pages("ptxspec.spec", "profiles")}
    return _of_pages(_machine().union(profiles, *map(_pages_of, opcodes)), repr((text, more, answers())))


def key_of_rewrites() -> str:
    """The digest of the pages from which the table of rewrites is computed: of the axioms and what follows from them, and of
    races."""
    return _of_pages([f"ptxspec.spec.memory_model.{name}" for name in ("axioms", "races", "rewrites")], "")


def key_of_mapping() -> str:
    """The digest of the pages from which it is computed what is shown of C++'s atomic operations."""
    return _of_pages([f"ptxspec.spec.memory_model.{name}" for name in ("axioms", "cpp")], "")


def mapping() -> dict[str, Any] | None:
    """What is shown of C++'s atomic operations; None if there is nothing, or if a definition has changed since. Raises ValueError
    for a file that is damaged."""
    contents = _contents(MAPPING)
    return contents if contents is not None and contents["key"] == key_of_mapping() else None


def rewrites() -> dict[str, Any] | None:
    """The tables of rewrites; None if there are none, or if a definition has changed since. Raises ValueError for a file that is
    damaged."""
    contents = _contents(REWRITES)
    return contents if contents is not None and contents["key"] == key_of_rewrites() else None


@cache
def _profiles() -> dict[str, Path]:
    """The pages of the profiles, by name."""
    return {path.stem: path for _, path in finder.pages("ptxspec.spec", "profiles")}


@cache
def _read() -> dict[str, Any]:
    """What the file holds; nothing where there is none. Raises ValueError for a file that is damaged."""
    return _contents(FILE) or {"date": None, "opcodes": {}, "verdicts": {}}


def _contents(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    try:
        contents: dict[str, Any] = json.loads(lzma.decompress(file.read_bytes()))
    except (lzma.LZMAError, ValueError) as error:
        raise ValueError(f"{file.name} is damaged: {error}") from None
    return contents
