"""How kernels that run litmus tests are launched: placements of their instances, and what disturbs them."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec.query.litmus.programs import WARP
from ptxspec_workshop.generate.shape_requirements import ShapeRequirements
from ptxspec_workshop.generate.shape_shared import MOST_GROUPS, shared_layout


class Placement(NamedTuple):
    """How instances are placed and disturbed: bytes from an instance to the next, at least, and from a location of an instance to
    the next one (0: those of all instances lie between); how often a warp looks whether the others have come; bits of a random
    delay; accesses to scratch memory before the test, and in noise; whether locations are read first; slots of a CTA; warps and
    CTAs (for each multiprocessor) that make noise."""

    stride: int
    apart: int
    tries: int
    delays: int
    touches: int
    noise: int
    warm: bool
    slots: int = 2
    noisy_warps: int = 0
    noisy_ctas: int = 0


#: how tests are run
PLACEMENTS = (
    Placement(256, 128, tries=400, delays=0, touches=0, noise=0, warm=False),
    Placement(16, 0, tries=400, delays=15, touches=0, noise=0, warm=True, slots=4),
    Placement(32, 8, tries=400, delays=7, touches=0, noise=0, warm=True),
    Placement(8, 0, tries=400, delays=63, touches=1, noise=8, warm=True, noisy_warps=2),
    Placement(256, 64, tries=400, delays=31, touches=3, noise=12, warm=True, noisy_warps=2, noisy_ctas=1),
    Placement(8, 0, tries=400, delays=0, touches=2, noise=12, warm=False, slots=4, noisy_ctas=1),
    Placement(128, 0, tries=0, delays=255, touches=1, noise=8, warm=True, slots=1, noisy_warps=1),
    Placement(8, 0, tries=400, delays=3, touches=0, noise=0, warm=False, slots=8),
)
#: bytes of scratch memory, without a bit for parts of a word
SPAN = (1 << 20) - 4
#: warps of a multiprocessor that test, or make noise beside that, about
_WARPS = 16


class ShapeLaunch(NamedTuple):
    """A launch: CTAs, threads of each, CTAs of a cluster, and what the kernel finds among its settings; instances; bytes of the
    locations and of the counters; in shared memory, from an instance to the next, and from a variable to the next."""

    grid: int
    block: int
    cluster: int
    settings: dict[str, int]
    instances: int
    extent: int
    counters: int
    shared_stride: int
    shared_apart: int


def launch_of(kernel: ShapeRequirements, placement: Placement, multiprocessors: int, rounds: int) -> ShapeLaunch:
    """How a test is launched in a placement."""
    slots = 1 if kernel.has_barriers else placement.slots
    if kernel.shared:
        slots = max(1, min(slots, MOST_GROUPS // rounds))
    noisy = 0 if kernel.has_barriers else placement.noisy_warps
    warps = slots * kernel.warps + noisy
    at_once = multiprocessors * max(1, _WARPS // warps)
    of_team = kernel.clusters * kernel.ctas
    teams = max(1, at_once // of_team)
    silent = -(-placement.noisy_ctas * multiprocessors // of_team) * of_team
    groups = teams * slots
    instances = rounds * groups * WARP
    apart = max(placement.apart, kernel.room) if placement.apart else 0
    stride = max(placement.stride, kernel.room, kernel.locations * apart)
    apart = apart or instances * stride + 128
    extent = instances * stride + kernel.locations * apart + kernel.room
    settings = {
        "rounds": rounds, "groups": groups, "stride": stride, "apart": apart, "teams": teams, "slots": slots,
        "tries": placement.tries, "delays": placement.delays, "touches": placement.touches, "span": SPAN,
        "warm": int(placement.warm), "noise": placement.noise if noisy or silent else 0,
    }  # fmt: skip
    return ShapeLaunch(
        teams * of_team + silent, warps * WARP, kernel.ctas, settings, instances, extent, rounds * groups * 32,
        *shared_layout(kernel, bool(placement.apart)),
    )  # fmt: skip
