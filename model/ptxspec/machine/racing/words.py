"""What a finding says of a race: what is missing between the two accesses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.machine.errors import Where
from ptxspec.machine.operation_classes import OperationClass
from ptxspec.machine.racing.classes import OperationClasses
from ptxspec.machine.racing.shadow import SAME_CLUSTER, SAME_CTA, SAME_THREAD
from ptxspec.terms.orders import Proxy, Scope

#: scopes, from the narrowest to the widest
_SCOPES = list(Scope)


class RacingPair(NamedTuple):
    """Two accesses that race: the classes of their operations, where each is, whether each writes, how near their threads are to
    one another, and whether one instruction makes both. `missed` are the classes of a release that the later thread has read
    from and of the operation by which it did not acquire that."""

    kinds: tuple[int, int]
    places: tuple[Where, Where]
    writes: tuple[bool, bool]
    level: int
    by_one_instruction: bool
    missed: tuple[int, int] | None


def reason(classes: OperationClasses, pair: RacingPair) -> str:
    """The two accesses, and what does not order them."""
    before, now = (classes.all[kind] for kind in pair.kinds)
    what = {
        (False, True): "a read and a later write", (True, False): "a write and a later read", (True, True): "two writes",
    }[pair.writes]  # fmt: skip
    if pair.by_one_instruction:
        what = "two writes by one instruction"
    what = f"{what} of {_threads(pair)}"
    if not classes.connected(*pair.kinds, pair.level):
        proxy = now.proxy if now.proxy is not Proxy.GENERIC else before.proxy
        return (
            f"{what}, one of which goes through the {proxy.value} proxy, and no fence between proxies is between them"
        )
    reasons = [f"{what}, {_missing(pair.level)}", *_strength(classes, pair)]
    if pair.missed is not None:
        scopes = _scopes(classes.all[kind] for kind in pair.missed)
        reasons.append(
            f"the later thread read from a release, and did not acquire that: {scopes} does not include both threads"
        )
    return "; ".join(reasons)


def _threads(pair: RacingPair) -> str:
    """Whose accesses they are."""
    if pair.level == SAME_THREAD:
        return "one thread"
    if pair.level == SAME_CTA:
        return "threads of one CTA"
    if pair.level == SAME_CLUSTER:
        return "CTAs of one cluster"
    return "CTAs " + " and ".join(str(cta[0] if not any(cta[1:]) else cta) for cta in (w.cta for w in pair.places))


def _missing(level: int) -> str:
    """What would order them."""
    if level == SAME_CTA:
        return "and no bar.sync, or bar.warp.sync for lanes of a warp, is between them"
    if level == SAME_CLUSTER:
        return "and no barrier.cluster, or release that is acquired, is between them"
    return "and no release by the first that the second acquires is between them"


def _strength(classes: OperationClasses, pair: RacingPair) -> list[str]:
    """Why strong operations are not morally strong."""
    before, now = (classes.all[kind] for kind in pair.kinds)
    strong = [contracts.operations.is_strong(kind.operation()) for kind in (before, now)]
    if not any(strong):
        return []
    if not all(strong):
        return [f"the {'first' if strong[0] else 'second'} is strong, and the other one weak"]
    if classes.strong(*pair.kinds, pair.level):
        return ["both are strong, and do not access the same bytes"]
    if before.size != now.size:
        return [f"both are strong, and of {before.size} and {now.size} bytes"]
    return [f"both are strong, and {_scopes((before, now))} does not include both threads"]


def _scopes(kinds: Iterable[OperationClass]) -> str:
    """The narrowest scope of some operations."""
    return f".{min((kind.scope for kind in kinds if kind.scope is not None), key=_SCOPES.index).value}"
