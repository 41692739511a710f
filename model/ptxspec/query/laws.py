"""Laws: what pages claim of the machine's states and of functions, such as those of textures, with their verdicts kept.

A page states them with `@invariant(...)`, and those that look true and are not with `@tempting(...)`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptxspec.base import storage
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.base.parallel import on_all_cores
from ptxspec.language.forms import page_name
from ptxspec.query.invariants import check, load_all
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


def kept(claim: Claim, definitions: str, store: Path | None = None) -> dict[str, Any] | None:
    """The verdict that was reached before on the very same law and definitions, where one is stored."""
    return _stored(store or storage.kept(NAME)).get(key(claim, definitions))


def not_as_stated(claim: Claim, status: str) -> str | None:
    """What is said of a law that has another verdict than its page promises; None if it has this one."""
    if status == expected(claim):
        return None
    return f"{page_name(claim.path)}:{claim.line}: {claim.sentence}: stated {expected(claim)}, found {status}"


def update(
    definitions: str,
    store: str | Path | None = None,
    where: WorkerOptions = WorkerOptions(),
    chosen: Callable[[Claim], bool] = lambda claim: True,
) -> list[tuple[Claim, dict[str, Any]]]:
    """The verdicts on all laws, or on those `chosen`, with the `status` and the `values` that break the law, from `store` if they
    were reached before, else from the solver, on every core there is or where it is said. Only proofs and refutations are
    stored."""
    path = Path(store) if store is not None else storage.kept(NAME)
    claims = load_all()
    keys = [key(claim, definitions) for claim in claims]
    known = _stored(path)
    wanted = [i for i, claim in enumerate(claims) if chosen(claim)]
    found = {i: known[k] for i, k in enumerate(keys) if k in known}
    found.update(on_all_cores(_one, [i for i in wanted if i not in found], where))
    storage.write(path, {keys[i]: one for i, one in found.items() if one["status"] in ("proved", "refuted")})
    return [(claims[i], found[i]) for i in wanted]


def _one(i: int) -> tuple[int, dict[str, Any]]:
    found = check(load_all()[i])
    return i, {"status": found.status, "values": found.values}


def _stored(path: Path | None) -> dict[str, Any]:
    try:
        found = json.loads(storage.own_file(path and path.absolute()))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
