"""What a litmus test has in shared memory, in the kernels that run it: each instance of a CTA has a place of its own there, and
another one in each round, so that all are filled once, before the first round."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxspec import contracts
from ptxspec.query.litmus.programs import WARP
from ptxspec.terms.core import constant
from ptxspec.terms.exact import evaluate
from ptxspec_workshop.generate.shape_requirements import ShapeRequirements

#: warps' worth of instances for which a CTA has places, over all rounds
MOST_GROUPS = 24
#: bytes of a place for a variable
_ROOM = 16
#: accesses to memory for each round, one after the other, that take longer than all copies of a CTA
_PATIENCE = 128
#: an operation that goes on beside its thread
ASYNCHRONOUS = re.compile(r"(?<!proxy)\.async\b")


def shared_layout(kernel: ShapeRequirements, together: bool) -> tuple[int, int]:
    """Bytes from an instance to the next one, and from a variable to the next one: the variables of an instance lie together, or
    those of all instances."""
    return (_ROOM * len(kernel.shared), _ROOM) if together else (_ROOM, _ROOM * WARP * MOST_GROUPS)


def shared_begun(kernel: ShapeRequirements) -> Iterator[str]:
    """All places are filled, and then the threads of the cluster wait for one another: other proxies and CTAs may access what is
    there."""
    if not kernel.shared:
        return
    yield f".shared .align {_ROOM} .b8 pieces[{_ROOM * len(kernel.shared) * WARP * MOST_GROUPS}];"
    yield ".reg .b32 %pieces, %piece, %between;"
    yield f"mov.u32 %pieces, pieces; ld.global.u32 %between, [%settings+{kernel.of_shared + 8 * len(kernel.shared)}];"
    yield f"mov.u32 %x, %tid.x; mov.u32 %z, %ntid.x; mul.lo.u32 %group, %rounds, %slots; mul.lo.u32 %group, %group, {WARP};"
    yield "FILL:\nsetp.ge.u32 %p, %x, %group; @%p bra FILLED;"
    yield "mad.lo.u32 %piece, %x, %between, %pieces; add.u32 %x, %x, %z;"
    for place, name in enumerate(kernel.shared):
        yield f"ld.global.u32 %y, [%settings+{kernel.of_shared + 8 * place}]; add.u32 %y, %y, %piece;"
        yield _filled(kernel, name)
    yield "bra.uni FILL;\nFILLED:\nfence.mbarrier_init.release.cluster; fence.proxy.async;"
    yield _MEET if kernel.ctas > 1 else "barrier.sync 0;"


_MEET = "barrier.cluster.arrive; barrier.cluster.wait;"


def _filled(kernel: ShapeRequirements, name: str) -> str:
    """What a variable holds at first."""
    variable = kernel.test.variables[name]
    if variable.is_object:
        expected = contracts.objects.Mbarrier.unpacked(constant(variable.initial)).expected
        return f"mbarrier.init.shared.b64 [%y], {evaluate(expected, {})};"
    values = "{%key, %instance, %instance, %instance}"
    return f"mov.u32 %key, {variable.initial}; mov.u32 %instance, 0; st.shared.v4.b32 [%y], {values};"


def shared_of_instance(kernel: ShapeRequirements) -> Iterator[str]:
    """The place of an instance: the same one in all CTAs of its cluster."""
    if kernel.shared:
        yield f"rem.u32 %key, %group, %slots; mad.lo.u32 %key, %round, %slots, %key; and.b32 %y, %instance, {WARP - 1};"
        yield f"mad.lo.u32 %key, %key, {WARP}, %y; mad.lo.u32 %piece, %key, %between, %pieces;"


def shared_ended(kernel: ShapeRequirements) -> Iterator[str]:
    """No CTA ends while an operation that goes on beside a thread, or another CTA, may access its shared memory."""
    if not kernel.shared:
        return
    if any(ASYNCHRONOUS.search(line) for body in kernel.bodies for line, _ in body.lines):
        yield "cp.async.wait_all; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; mov.u32 %z, 0; mov.u32 %y, 0;"
        yield f"mul.lo.u32 %x, %rounds, {_PATIENCE};"
        yield "DRAIN:\nand.b32 %y, %y, %span; cvt.u64.u32 %at, %y; add.u64 %at, %scratch, %at;"
        yield "ld.volatile.global.u32 %y, [%at]; add.u32 %sum, %sum, %y; add.u32 %z, %z, 1;"
        yield "setp.lt.u32 %p, %z, %x; @%p bra DRAIN;"
    if kernel.ctas > 1:
        yield _MEET
