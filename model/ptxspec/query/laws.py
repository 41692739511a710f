"""Laws: what pages under `proofs/` claim of functions on other pages, such as those of textures, with their verdicts kept.

A page states them with `@invariant(...)`, and those that look true and are not with `@tempting(...)`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ptxspec.base import storage
from ptxspec.base.campaigns import Where
from ptxspec.base.parallel import on_all_cores
from ptxspec.query.invariants import check, of_proofs
from ptxspec.terms.steps import Claim

#: the file of verdicts that were reached
NAME = "laws.json"


def expected(claim: Claim) -> str:
    """The verdict that its page promises."""
    return "proved" if claim.holds else "refuted"


def key(claim: Claim, definitions: str) -> str:
    """What a verdict depends on: the page that states the claim, and a digest of all `definitions`."""
    page = Path(claim.path).read_text("utf-8")
    return hashlib.sha256(repr((claim.sentence, claim.holds, page, definitions)).encode()).hexdigest()


def update(definitions: str, store: str | Path | None = None, where: Where = Where()) -> list[tuple[Claim, str]]:
    """The status of every law, from `store` if it was reached before, else from the solver, on every core there is or where
    it is said. Only proofs
    and refutations are stored."""
    path = Path(store) if store is not None else storage.kept(NAME)
    claims = of_proofs()
    keys = [key(claim, definitions) for claim in claims]
    known = _stored(path)
    found = {i: known[k] for i, k in enumerate(keys) if k in known}
    found.update(on_all_cores(_one, [i for i in range(len(claims)) if i not in found], where))
    storage.write(path, {keys[i]: status for i, status in found.items() if status in ("proved", "refuted")})
    return [(claim, found[i]) for i, claim in enumerate(claims)]


def _one(i: int) -> tuple[int, str]:
    return i, check(of_proofs()[i]).status


def _stored(path: Path | None) -> dict[str, str]:
    try:
        found = json.loads(storage.own_file(path and path.absolute()))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
