"""The word by which a definition says that its meaning changed from one edition of PTX to another."""

from __future__ import annotations

from ptxspec.terms.actions import current
from ptxspec.terms.core import blame
from ptxspec.terms.editions import NEWEST, Edition, edition


def settled(
    slug: str,
    *,
    since: str = "1.0",
    before: str | None = None,
    target: str = "sm_10",
    before_target: str | None = None,
) -> bool:
    """Whether a sentence stands in the module's edition: its PTX ISA version is `since` or later but earlier than `before`, and
    its target is `target` or later but earlier than `before_target`. `slug` is the entry of the register of ambiguities that
    tells of the change. The answer is Python's, known when the form's term is built. Without a module it is that of the newest
    edition."""
    window = edition(since, before, target, before_target)
    if window == Edition():
        raise blame(f"settled({slug!r}): say since when, or before which version or target")
    trace = current()
    holds = window.holds(NEWEST if trace is None else trace.epoch)
    if trace is not None:
        trace.editions[slug, window] = holds
    return holds
