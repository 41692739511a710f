"""Rows of the ledger and verdicts on identities that were computed before, as data beside the recorded answers.

Computing them takes a quarter of an hour. Each is stored under a digest of the definitions that it depends on: of the pages of
its opcodes and of all pages that these import, what their fences hold. One whose definitions have changed since is not used.
"""

from __future__ import annotations

import hashlib
import json
import lzma
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

FILE = FOLDER / "computed" / "evidence.json.xz"
#: the columns of a form's row that were computed; the others are read off the form
COLUMNS = ("ptxas", "interpretations", "gpu", "unasked", "approximate", "compared")
#: the pages on which an instruction with an effect depends, though it does not import them
MACHINE = ("machine", "state_spaces", "functions")


@cache
def digest(opcodes: frozenset[str], more: str = "") -> str:
    """A digest of the definitions of some opcodes: of the fences of their pages and of all pages that these import, and for an
    instruction with an effect of the pages of the machine."""
    own = [form for opcode in opcodes for form in registry().opcodes[opcode].forms]
    modules = {form.definition.module for form in own}
    if not all(map(pure, own)):
        modules |= {name for part in MACHINE for name, _ in finder.pages("ptxspec.spec", part)}
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


def rows(computed: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that were computed here, and of all other opcodes those of the file, as far as their definitions have not changed
    since. A row of the file has its date as `computed`."""
    found = list(computed)
    known = {row["opcode"] for row in found}
    return found + [row for opcode in sorted(set(registry().opcodes) - known) for row in _rows_of(opcode)]


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
    found: dict[str, int] = {}
    for claim in identities.load_all():
        for opcode in claim.opcodes:
            found[opcode] = found.get(opcode, 0) + 1
    return found


def verdict(claim: Identity) -> dict[str, Any] | None:
    """The verdict of the file on a claim, with its date as `computed`; None if there is none, or if a definition has changed
    since."""
    kept = _read()["verdicts"].get(key(claim))
    return None if kept is None else {**kept, "computed": _read()["date"]}


def key(claim: Identity) -> str:
    known = registry().opcodes
    stated = (*claim[:6], *claim[8:])
    profile = _fences(_profiles()[claim.profile]).hex()
    return digest(frozenset(o for o in claim.opcodes if o in known), repr((stated, profile)))


@cache
def _profiles() -> dict[str, Path]:
    """The pages of the profiles, by name."""
    return {path.stem: path for _, path in finder.pages("ptxspec.spec", "profiles")}


@cache
def _read() -> dict[str, Any]:
    """What the file holds; nothing where there is none. Raises ValueError for a file that is damaged."""
    if not FILE.is_file():
        return {"date": None, "opcodes": {}, "verdicts": {}}
    try:
        found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))
    except (lzma.LZMAError, ValueError) as error:
        raise ValueError(f"{FILE.name} is damaged: {error}") from None
    return found
