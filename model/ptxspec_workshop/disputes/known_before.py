"""What disputes and faults of an assembler came to when the evidence was computed (`ptxspec.evidence.precomputed`)."""

from __future__ import annotations

from typing import Any

from ptxspec.evidence import precomputed
from ptxspec_workshop.disputes import readings, recorded
from ptxspec_workshop.disputes.claims import AssemblerFault, Dispute, load_all


def of_dispute(claim: Dispute) -> readings.JudgedReading | None:
    """What the file says of a dispute; None if it says nothing, or if a definition or a recorded answer has changed since."""
    kept = precomputed.stored(_key_of_dispute(claim))
    return None if kept is None else readings.JudgedReading(*kept)


def of_fault(fault: AssemblerFault) -> recorded.JudgedFault | None:
    """Likewise what the file says of a case that an assembler gets wrong."""
    kept = precomputed.stored(_key_of_fault(fault))
    if kept is None:
        return None
    differing, compared, left_out, example = kept
    ways = dict(zip(recorded.WAYS, differing, strict=True))
    return recorded.JudgedFault(ways, compared, left_out, None if example is None else tuple(example))


def computed() -> dict[str, Any]:
    """All of them, judged now, as the file holds them."""
    outcomes: dict[str, Any] = {}
    for claim in load_all().disputes:
        judged = readings.judged(claim)
        if judged.status in ("proved", "refuted"):
            outcomes[_key_of_dispute(claim)] = list(judged)
    for fault in load_all().faults:
        outcome = recorded.judged(fault)
        outcomes[_key_of_fault(fault)] = [list(outcome.differing.values()), *outcome[1:]]
    return outcomes


def _key_of_dispute(claim: Dispute) -> str:
    return precomputed.key_of_launches(f"{claim.ptx}\n{claim.reading}", repr((claim.at, claim.assume)))


def _key_of_fault(fault: AssemblerFault) -> str:
    return precomputed.key_of_launches(fault.text, repr((fault.inputs, fault.results, fault.is_open)))
