"""What the modifiers of accesses and fences say of the order of memory, against a table written from the manual's text."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import pytest

import ptxspec
from ptxspec.language.forms import Form
from ptxspec.terms.effects import (
    Effect,
    Fence,
    GridDependency,
    ImageAccess,
    Initiate,
    Load,
    Store,
    Update,
    orders_memory,
)
from ptxspec.terms.orders import Order, Proxy, Scope

SCOPES = {"cta": Scope.CTA, "cluster": Scope.CLUSTER, "gpu": Scope.GPU, "sys": Scope.SYS}
RELAXED, ACQUIRE, RELEASE, ACQ_REL = Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL
ASYNC, GENERIC, TENSORMAP = Proxy.ASYNC, Proxy.GENERIC, Proxy.TENSORMAP

#: by mnemonic: the order and the scope of an access
ACCESSES: dict[str, tuple[Order, Scope | None]] = {
    "ld.global.u32": (Order.WEAK, None),
    "ld.weak.shared::cta.u32": (Order.WEAK, None),
    "st.global.u32": (Order.WEAK, None),
    "ld.volatile.global.u32": (Order.VOLATILE, Scope.SYS),
    "st.volatile.shared.u32": (Order.VOLATILE, Scope.SYS),
    "ld.mmio.relaxed.sys.global.u32": (Order.MMIO, Scope.SYS),
    "st.mmio.relaxed.sys.global.u32": (Order.MMIO, Scope.SYS),
    "atom.global.add.u32": (RELAXED, Scope.GPU),
    "red.global.add.u32": (RELAXED, Scope.GPU),
    "atom.acquire.global.cas.b32": (ACQUIRE, Scope.GPU),
    "atom.cta.global.exch.b32": (RELAXED, Scope.CTA),
    "atom.release.sys.global.add.v2.f32": (RELEASE, Scope.SYS),
    "red.release.cluster.global.add.v2.f32": (RELEASE, Scope.CLUSTER),
    "discard.global.L2": (Order.WEAK, None),
    "mbarrier.init.shared.b64": (Order.WEAK, None),
    "mbarrier.arrive.shared.b64": (RELEASE, Scope.CTA),
    "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64": (RELAXED, Scope.CLUSTER),
    "mbarrier.arrive_drop.release.cluster.shared::cta.b64": (RELEASE, Scope.CLUSTER),
    "mbarrier.expect_tx.shared.b64": (RELAXED, Scope.CTA),
    "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64": (RELAXED, Scope.CLUSTER),
    "mbarrier.test_wait.shared.b64": (ACQUIRE, Scope.CTA),
    "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64": (ACQUIRE, Scope.CLUSTER),
    "mbarrier.try_wait.relaxed.cta.shared.b64": (RELAXED, Scope.CTA),
}
for word, scope in SCOPES.items():
    ACCESSES |= {f"ld.{o.value}.{word}.global.u32": (o, scope) for o in (RELAXED, ACQUIRE)}
    ACCESSES |= {f"st.{o.value}.{word}.global.u32": (o, scope) for o in (RELAXED, RELEASE)}
    ACCESSES |= {f"atom.{o.value}.{word}.global.add.u32": (o, scope) for o in (RELAXED, ACQUIRE, RELEASE, ACQ_REL)}
    ACCESSES |= {f"red.{o.value}.{word}.global.add.u32": (o, scope) for o in (RELAXED, RELEASE)}

#: by mnemonic, or by it and the number of operands
FENCES: dict[str, Effect] = {
    "membar.cta": Fence(Order.SC, Scope.CTA),
    "membar.gl": Fence(Order.SC, Scope.GPU),
    "membar.sys": Fence(Order.SC, Scope.SYS),
    "membar.proxy.alias": Fence(None, None, (Proxy.ALIAS, GENERIC)),
    "fence.proxy.alias": Fence(None, None, (Proxy.ALIAS, GENERIC)),
    "fence.proxy.async": Fence(None, None, (ASYNC, GENERIC)),
    "fence.proxy.async.global": Fence(None, None, (ASYNC, GENERIC), "global"),
    "fence.proxy.async.shared::cta": Fence(None, None, (ASYNC, GENERIC), "shared::cta"),
    "fence.proxy.async.shared::cluster": Fence(None, None, (ASYNC, GENERIC), "shared::cluster"),
    "fence.mbarrier_init.release.cluster": Fence(RELEASE, Scope.CLUSTER, (), "mbarrier_init"),
    "fence.acquire.sync_restrict::shared::cluster.cluster": Fence(
        ACQUIRE, Scope.CLUSTER, (), "sync_restrict::shared::cluster"
    ),
    "fence.release.sync_restrict::shared::cta.cluster": Fence(RELEASE, Scope.CLUSTER, (), "sync_restrict::shared::cta"),
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster": Fence(
        ACQUIRE, Scope.CLUSTER, (ASYNC, GENERIC), "sync_restrict::shared::cluster"
    ),
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster": Fence(
        RELEASE, Scope.CLUSTER, (ASYNC, GENERIC), "sync_restrict::shared::cta"
    ),
    "griddepcontrol.wait": GridDependency("wait"),
    "griddepcontrol.launch_dependents": GridDependency("launch_dependents"),
}
for word, scope in SCOPES.items():
    FENCES[f"fence.{word}"] = Fence(ACQ_REL, scope)
    FENCES |= {f"fence.{o.value}.{word}": Fence(o, scope) for o in (Order.SC, ACQ_REL, ACQUIRE, RELEASE)}
    for o in (ACQUIRE, RELEASE):
        FENCES[f"fence.proxy.tensormap::generic.{o.value}.{word}"] = Fence(o, scope, (TENSORMAP, GENERIC))

#: by mnemonic: the proxy of an access
PROXIES = {
    "ld.global.u32": GENERIC,
    "ld.u32": GENERIC,
    "ld.shared.u32": GENERIC,
    "ld.param.u32": GENERIC,
    "ld.const.u32": Proxy.CONSTANT,
    "ldu.global.u32": Proxy.CONSTANT,
    "ld.global.nc.u32": Proxy.TEXTURE,
    "ld.acquire.gpu.global.u32": GENERIC,
    "st.global.u32": GENERIC,
    "atom.global.add.u32": GENERIC,
    "cp.async.ca.shared.global": GENERIC,
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes": ASYNC,
    "cp.async.bulk.global.shared::cta.bulk_group": ASYNC,
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32": ASYNC,
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32": GENERIC,
    "mbarrier.arrive.shared.b64": GENERIC,
    "tex.2d.v4.f32.f32": Proxy.TEXTURE,
    "tld4.r.2d.v4.f32.f32": Proxy.TEXTURE,
    "suld.b.2d.v2.b32.trap": Proxy.SURFACE,
    "sust.b.2d.b32.trap": Proxy.SURFACE,
    "sured.b.add.2d.u32.trap": Proxy.SURFACE,
}


@cache
def effects(mnemonic: str) -> set[Any]:
    """The effects of the forms that are spelled so, whatever operands they have."""
    return {meaning(f) for f in ptxspec.forms(mnemonic.split(".")[0]) if f.mnemonic == mnemonic}


def meaning(form: Form) -> Effect | None:
    return form.meaning(form.absences[-1]).effect


@pytest.mark.parametrize("mnemonic", ACCESSES)
def test_the_order_and_the_scope_of_an_access(mnemonic: str) -> None:
    found = effects(mnemonic)
    assert found and all(isinstance(effect, Load | Store | Update) for effect in found)
    assert {(effect.order, effect.scope) for effect in found} == {ACCESSES[mnemonic]}
    assert {orders_memory(effect) for effect in found} == {ACCESSES[mnemonic][0] is not Order.WEAK}


@pytest.mark.parametrize("mnemonic", FENCES)
def test_what_a_fence_orders(mnemonic: str) -> None:
    assert effects(mnemonic) == {FENCES[mnemonic]}
    assert orders_memory(FENCES[mnemonic])


@pytest.mark.parametrize("mnemonic", PROXIES)
def test_the_proxy_of_an_access(mnemonic: str) -> None:
    found = effects(mnemonic)
    assert all(isinstance(effect, Load | Store | Update | Initiate | ImageAccess) for effect in found)
    assert {effect.proxy for effect in found} == {PROXIES[mnemonic]}


def test_no_fence_is_left_out() -> None:
    forms = [f for opcode in ("fence", "membar", "griddepcontrol") for f in ptxspec.forms(opcode)]
    later = "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster"  # PTX 9.4
    assert {f.mnemonic for f in forms} - {later} == FENCES.keys()


@pytest.mark.slow
def test_every_access_has_an_order_that_its_modifiers_say() -> None:
    """By the text of each mnemonic."""
    words = {o.value: o for o in Order}
    said = {"ld": Order.WEAK, "ldu": Order.WEAK, "st": Order.WEAK, "atom": RELAXED, "red": RELAXED}
    counted = 0
    for opcode, default in said.items():
        for form in ptxspec.forms(opcode):
            effect, modifiers = meaning(form), form.mnemonic.split(".")[1:]
            if isinstance(effect, Initiate):  # what it begins accesses memory later, and its completion says when
                assert modifiers[0] == "async"
                continue
            assert isinstance(effect, Load | Store | Update)
            stated = [words[m] for m in modifiers if m in words]
            order = Order.MMIO if Order.MMIO in stated else stated[0] if stated else default
            scope = next((SCOPES[m] for m in modifiers if m in SCOPES), Scope.GPU if default is RELAXED else None)
            assert effect.order is order, form
            assert effect.scope is (Scope.SYS if order is Order.VOLATILE else scope), form
            counted += order is not Order.WEAK
    assert counted > 1000


def test_the_table_has_each_order_and_scope() -> None:
    assert {(o, s) for o, s in ACCESSES.values() if s is not None} >= set(
        product((RELAXED, ACQUIRE, RELEASE, ACQ_REL), Scope)
    )
