"""A CTA that exits while a bulk copy may still read its shared memory: reported, whatever the schedule, unless a thread has waited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import test_tensor_copies

import ptxspec

ENGINES = ("exact", "native")
OPERATIONS = {
    "copy": "cp.async.bulk.global.shared::cta.bulk_group [out], [s], 64;",
    "reduction": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [out], [s], 64;",
}
COMMIT = "cp.async.bulk.commit_group;"
WAITED = {
    "read": f"{COMMIT} cp.async.bulk.wait_group.read 0;",
    "complete": f"{COMMIT} cp.async.bulk.wait_group 0;",
    "read, of two groups": f"{COMMIT} {COMMIT} cp.async.bulk.wait_group.read 1;",
}


def findings(body: str, block: int = 1, ends: str = "ret;", **how: Any) -> tuple[ptxspec.LaunchFinding, ...]:
    text = f"""
.version 8.4 .target sm_90 .address_size 64
.visible .entry k(.param .u64 to) {{
.shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar; .reg .b64 out; .reg .b32 t, r; .reg .pred p, over;
ld.param.u64 out, [to]; mov.u32 r, %ctaid.x; mad.wide.u32 out, r, 64, out; mov.u32 t, %tid.x; setp.ne.u32 p, t, 0;
{body}
{ends}
}}"""
    usual: dict[str, Any] = {"check": "race", "findings": "collect", "args": [np.zeros(64, np.uint32)], "block": block}
    return ptxspec.load(text).launch("k", **(usual | how)).findings


@pytest.mark.sample(4)
@pytest.mark.parametrize("copies", ["early", "late", "each", "random:2"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", OPERATIONS)
def test_a_cta_waits_for_what_reads_its_shared_memory(what: str, engine: str, copies: str) -> None:
    for waited in WAITED.values():
        assert findings(OPERATIONS[what] + waited, engine=engine, copies=copies) == ()
    for left in ("", COMMIT, f"cp.async.bulk.wait_group 0; {COMMIT}", f"{COMMIT} cp.async.wait_all;"):
        (found,) = findings(OPERATIONS[what] + left, engine=engine, copies=copies)
        assert found.kind == "source of a copy" and found.page.startswith("spec/machine/asynchrony.md")
        assert (found.space, found.address, found.size) == ("shared", 0, 64)
        assert found.where.instruction == "ret;" and found.other is not None
        assert found.other.instruction == OPERATIONS[what]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wait_leaves_the_last_group(engine: str) -> None:
    copy, other = OPERATIONS["copy"], OPERATIONS["copy"].replace("[out], [s]", "[out+64], [s+64]")
    (found,) = findings(copy + COMMIT + other + COMMIT + "cp.async.bulk.wait_group.read 1;", engine=engine)
    assert found.other is not None and found.other.instruction == other


@pytest.mark.parametrize("schedule", ["auto", "round-robin", "warps", "random:1", "random:5"])
@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_thread_that_began_it_can_wait(engine: str, schedule: str) -> None:
    copy, wait = f"@!p {OPERATIONS['copy']} @!p {COMMIT}", "cp.async.bulk.wait_group.read 0;"
    how: dict[str, Any] = {"block": 64, "engine": engine, "schedule": schedule}
    assert findings(f"{copy} {wait} barrier.sync 0;", **how) == ()
    (found,) = findings(f"{copy} @p {wait} barrier.sync 0;", **how)
    assert found.where.thread == (0, 0, 0) and found.count == 1
    (found,) = findings(f"{copy} barrier.sync 0;", grid=3, **how)
    assert found.count == 3


@pytest.mark.parametrize("ends", ["@!p exit; ret;", "bra E; E:"])
def test_where_a_thread_exits_is_told_if_that_is_one_place(ends: str) -> None:
    for engine in ENGINES:
        (found,) = findings(OPERATIONS["copy"], ends=ends, engine=engine)
        assert found.where.instruction == OPERATIONS["copy"] and found.other is None


@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_only_writes_shared_memory_may_be_left(engine: str, copies: str) -> None:
    bar = "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;"
    load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [out], 64, [bar];"
    for body in (
        "cp.async.ca.shared.global [s], [out], 16; cp.async.commit_group;", bar + load,
        "cp.async.bulk.prefetch.L2.global [out], 64;",
    ):  # fmt: skip
        assert findings(body, engine=engine, copies=copies) == ()


@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_to_another_cta_is_waited_for_at_its_mbarrier(engine: str, copies: str) -> None:
    """The CTA that copies exits when the one that waits says so."""
    body = """
.reg .b32 there, bar_there, at, bar_at; mov.u32 at, s; mov.u32 bar_at, bar; mov.u32 r, %cluster_ctarank;
mapa.shared::cluster.u32 there, at, 1; mapa.shared::cluster.u32 bar_there, bar_at, 1; setp.eq.u32 p, r, 1;
@p mbarrier.init.shared.b64 [bar], 1; @p mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;
@!p cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there+128], [s], 64, [bar_there];
@!p bra DONE;
WAIT
DONE: barrier.cluster.arrive; barrier.cluster.wait;"""
    wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared.b64 over, [bar], 0; @!over bra W;"
    how: dict[str, Any] = {"engine": engine, "copies": copies, "grid": 2, "cluster": 2}
    assert findings(body.replace("WAIT", wait), **how) == ()
    (found,) = findings(body.replace("WAIT", ""), **how)
    assert found.kind == "source of a copy" and found.where.cta == (0, 0, 0)


@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "what", ["cp.async.bulk.tensor.2d.global.shared::cta", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add"]
)
def test_boxes_are_read_too(what: str, engine: str, copies: str) -> None:
    stored = f"{what}.bulk_group [%map, {{0, 0}}], [room]; {COMMIT}"
    how: dict[str, Any] = {"engine": engine, "copies": copies, "check": "race", "findings": "collect"}
    for wait, kinds in (("", ["source of a copy"]), ("cp.async.bulk.wait_group.read 0;", [])):
        tensor = ptxspec.TensorMap(np.zeros((4, 8), np.float32), box=(8, 4))
        outcome = test_tensor_copies.launched(stored + wait, tensor, np.zeros(1024, np.uint32), **how)
        assert [finding.kind for finding in outcome.findings] == kinds


def test_without_the_check_nothing_is_told() -> None:
    for engine in ENGINES:
        assert findings(OPERATIONS["copy"], engine=engine, check=None) == ()
        kinds = [found.kind for found in findings(OPERATIONS["copy"], engine=engine, check="uninitialized")]
        assert kinds == ["uninitialized"]
