"""What a finding says of a race: what is missing between the two accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec import contracts
from ptxspec.machine.errors import Where
from ptxspec.machine.racing.classes import OperationClass, OperationClasses
from ptxspec.machine.racing.shadow import SAME_CLUSTER, SAME_CTA, SAME_THREAD
from ptxspec.terms.orders import Proxy

if TYPE_CHECKING:
    from ptxspec.machine.racing.checker import Suspect
    from ptxspec.machine.racing.knowledge import Knowledge


def reason(
    classes: OperationClasses, knowledge: Knowledge, s: Suspect, kinds: tuple[int, int], where: Where, other: Where
) -> str:
    """The two accesses, and what does not order them. `kinds` are the classes of the earlier access and of the later one."""
    before, now = (classes.all[kind] for kind in kinds)
    level = knowledge.level(s.other, s.thread)
    what = {
        (0, 1): "a read and a later write", (1, 0): "a write and a later read", (1, 1): "two writes",
    }[s.wrote, s.writes]  # fmt: skip
    if s.op == s.by and s.writes == s.wrote:
        what = "two writes by one instruction"
    lines = [f"{what} of {'one thread' if level == SAME_THREAD else _near(level, where, other)}"]
    if not classes.connected(*kinds, level):
        proxy = now.proxy if now.proxy is not Proxy.GENERIC else before.proxy
        lines.append(f"one of which goes through the {proxy.value} proxy, and no fence between proxies is between them")
        return ", ".join(lines)
    lines.append(_missing(level, where, other))
    if (strength := _strength(before, now, classes, kinds, level)) is not None:
        lines.append(strength)
    if (missed := knowledge.missed.get(s.thread)) is not None:
        lines.append(_missed(classes, knowledge, *missed, s.thread))
    return "; ".join([", ".join(lines[:2]), *lines[2:]])


def _near(level: int, where: Where, other: Where) -> str:
    """Whose they are."""
    if level == SAME_CTA:
        return "threads of one CTA"
    return "threads of a cluster" if level == SAME_CLUSTER else f"CTAs {_shown(other.cta)} and {_shown(where.cta)}"


def _shown(place: tuple[int, int, int]) -> str:
    return str(place[0]) if not any(place[1:]) else str(place)


def _missing(level: int, where: Where, other: Where) -> str:
    """What would order them."""
    if level == SAME_CTA:
        return "no bar.sync, and for lanes of a warp no bar.warp.sync, is between them"
    if level == SAME_CLUSTER:
        return "no barrier.cluster is between them, and no release that is acquired"
    return "no release by the first that the second acquires is between them"


def _strength(
    before: OperationClass, now: OperationClass, classes: OperationClasses, kinds: tuple[int, int], level: int
) -> str | None:
    """Why strong operations are not morally strong."""
    strong = [contracts.operations.is_strong(one.operation()) for one in (before, now)]
    if strong == [False, False]:
        return None
    if not all(strong):
        return f"the {'first' if strong[0] else 'second'} is strong, the other one is weak"
    if classes.strong(*kinds, level):
        return "both are strong, but do not access the same bytes"
    if before.size != now.size:
        return f"both are strong, but of {before.size} and {now.size} bytes"
    narrow = min((one.scope for one in (before, now) if one.scope is not None), key=list(type(before.scope)).index)  # type: ignore[arg-type]
    return f"both are strong, but .{narrow.value} does not include both threads"


def _missed(classes: OperationClasses, knowledge: Knowledge, release: object, kind: int, thread: int) -> str:
    """What the later thread has read and could not acquire."""
    first, last = classes.all[release.kind], classes.all[kind]  # type: ignore[attr-defined]
    scopes = " and ".join(dict.fromkeys(f".{one.scope.value}" for one in (first, last) if one.scope is not None))
    return f"what the later thread read from a release, it did not acquire: scopes {scopes} do not include both threads"
