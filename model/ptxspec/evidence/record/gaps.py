"""Which forms a GPU was asked about, told from the recorded answers alone: nothing is computed and compared here.

A form that no GPU was asked about is a *gap*, unless there is a reason why none can be (ptxspec.evidence.effects.unasked).
Gaps are counted and listed; they are no failures, so that a page can be written without a GPU. An answer that differs is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ptxspec.evidence import clusters, effects, images_answered, vectors, warps
from ptxspec.evidence.vectors import Answers
from ptxspec.language.forms import Form


class Records(NamedTuple):
    """The recorded answers; None for those that are not installed."""

    vectors: Answers | None
    warps: Answers | None
    effects: Answers | None
    clusters: Answers | None


def records() -> Records:
    """All recorded answers. Raises ValueError if they are not what was recorded."""
    return Records(vectors.read(), warps.read(), effects.read(), clusters.read())


def entry(form: Form, known: Records, differing: set[str]) -> dict[str, Any] | None:
    """The ledger's cell of a form: what a GPU answered in all its variants; None if it was not asked about one of them.
    `differing` names the answers that the definitions do not give."""
    ways = (
        ([str(v) for v in form.variants], known.vectors),
        ([str(form)], known.warps),
        ([warps.key(v, absent) for v in form.variants for absent in form.absences], known.effects),
        ([str(form)], known.clusters),
    )
    found = next((cell for names, kept in ways if (cell := told(names, kept, differing))), None)
    return found or (images_answered.answered(form.mnemonic) if effects.asks_images(form) else None)


def told(names: list[str], kept: Answers | None, differing: set[str]) -> dict[str, Any] | None:
    """What one record says under all these names; None if it lacks one of them."""
    if kept is None or not all(name in kept.values for name in names):
        return None
    return {
        "agrees": differing.isdisjoint(names),
        "vectors": sum(len(kept.values[name]) for name in names),
        "date": kept.facts["date"],
        "device": kept.facts["device"],
    }


def is_gap(row: Mapping[str, Any]) -> bool:
    """Whether a row of the ledger is of a form that no GPU was asked about, though one can be."""
    return row["gpu"] is None and not row.get("unasked")


def gaps(own: Iterable[Form]) -> list[Form]:
    """The forms that no GPU was asked about, though one can be."""
    known = records()
    return [f for f in own if effects.unasked(f) is None and entry(f, known, set()) is None]
