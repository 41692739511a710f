"""Orders, scopes and proxies: the words of modifiers become members of closed types, and no other word does."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from ptxspec.spec.machine import order as page

from ptxspec.terms import TYPES, Order, Proxy, Scope, TermError, fence_accesses, fence_proxies, integer, load, store
from ptxspec.terms.actions import tracing
from ptxspec.terms.effects import Load, seen_alone


@pytest.mark.parametrize("words", [Order, Scope, Proxy])
def test_a_word_that_is_none_is_named(words: type[Enum]) -> None:
    assert all(words(word.value) is word for word in words)
    with pytest.raises(TermError, match=rf"seq_cst is no {words.__name__.lower()} of memory accesses; there are \w+, "):
        words("seq_cst")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (lambda: page.strong("consume", "gpu"), "consume is no order"),
        (lambda: page.strong("relaxed", "gl"), "gl is no scope"),
        (lambda: page.scope_of_level("gpus"), "gpus is no scope"),
        (lambda: page.proxies("tensormap::device"), "device is no proxy"),
        (lambda: page.proxies(""), " is no proxy"),
    ],
)
def test_a_page_makes_no_default_of_a_word_that_it_does_not_know(asked: Any, named: str) -> None:
    with pytest.raises(TermError, match=named) as caught:
        asked()
    assert "order.md:" in str(caught.value)


@pytest.mark.parametrize(
    ("order", "scope"), [(Order.WEAK, Scope.GPU), (Order.ACQUIRE, None), (Order.VOLATILE, None), (None, Scope.SYS)]
)
def test_whatever_is_not_weak_has_a_scope(order: Any, scope: Any) -> None:
    word = "no order" if order is None else f"the order {order.value}"
    with tracing(), pytest.raises(TermError, match=f"{word} with {'the scope' if scope else 'no scope'}"):
        if order is None:
            fence_proxies(Proxy.ALIAS, Proxy.GENERIC, order, scope)
        elif order is Order.VOLATILE:
            store("global", integer(0), TYPES["u32"], [integer(1)], order=order, scope=scope)
        elif order is Order.ACQUIRE:
            fence_accesses(order, scope)
        else:
            load("global", integer(0), TYPES["u32"], order=order, scope=scope)


def test_accesses_differ_in_their_order_except_to_their_own_thread() -> None:
    found = []
    for strength in (page.plain(False), page.plain(True), page.strong("acquire", "cta"), page.strong("acquire", "sys")):
        for proxy in (Proxy.GENERIC, Proxy.TEXTURE):
            with tracing() as trace:
                load("global", integer(0), TYPES["u32"], **strength, proxy=proxy)
            assert isinstance(trace.effect, Load)
            found.append(trace.effect)
    assert len(set(found)) == 8 and {seen_alone(effect) for effect in found} == {found[0]}
