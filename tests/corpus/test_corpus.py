"""What nvcc prints, and what becomes of it with one thing changed: our verdict beside that of ptxas for sm_90."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from mutants import complaint, modules, mutants, refusal, verdicts

#: sources of which nvcc's output is refused: what the first complaint says, and why
MISSING = {
    "asynchronous": ("cp is no instruction", "asynchronous copies are not modelled"),
    "exceptions": ("alloca: memory", "a thread's stack of variable size is not modelled"),
    "external": ("nothing defines", "other modules do; ptxas refuses it too when it is alone"),
    "tensors": ("wmma is no instruction", "tensor instructions are not modelled"),
    "variadic": (".* has no size: a variable number", "parameters of unknown size are not supported"),
}
#: of those, what is accepted, because nvcc uses none of it for an early target
EARLY = {"asynchronous sm_75"}

#: differences over mutants: what the complaint of the one who refuses says, and why
KNOWN = {
    "we refuse: only a variable's address takes an offset here": "ptxas takes the sum of a register and a number anywhere",
    "we refuse: .* cannot reach a variable in": "ptxas makes a variable's address generic where no state space is said",
    "we refuse: .* needs a register of type .pred here, not the sink": "ptxas lets setp write nothing",
    "we refuse: mov.* not operands in braces": "ptxas lets parts of a packed value be missing",
    "we refuse: .* needs a value of type .* here, not a floating-point constant": "ptxas takes bits of floats in vectors",
    "we refuse: an address is a register or a variable": "ptxas takes a special register as an address",
    "we refuse: expected a statement, not '.[busf]#": "ptxas takes a type alone as a declaration of nothing",
    "we refuse: .* needs a value of type .* here, not a function's name": "ptxas takes functions and labels for values",
    "we refuse: expected a variable's name": "ptxas lets a declaration declare nothing",
    "we refuse: # does not fit into # bits": "ptxas drops the high bits of debugging data",
    "we refuse: expected a size, at least #": "ptxas takes an array of size zero that has an initializer",
    "we refuse: there is no st.*\\.param": "ptxas lets stores to parameters have hints for the cache",
    "we refuse: an address register has an integer": "ptxas takes addresses of 16 bits",
    "we refuse: this constant is no value of type": "ptxas makes zero of a fraction for 8 or 16 bits",
    "we refuse: atom.* takes # operands, not #": "ptxas takes an operand too many",
    "ptxas refuses: Parsing error": "sizes are constant expressions here (AMB-116)",
}  # fmt: skip


def test_the_corpus() -> None:
    assert len({name.split()[0] for name in modules()}) >= 40
    assert {name.split()[1] for name in modules()} == {"sm_75", "sm_80", "sm_86", "sm_90"}


@pytest.mark.parametrize("name", sorted(modules()))
def test_what_nvcc_prints(name: str) -> None:
    """It is accepted, or refused because of what is known to be missing."""
    ours = complaint(modules()[name])
    source = name.split()[0]
    if source in MISSING and name not in EARLY:
        assert ours is not None and re.match(MISSING[source][0], ours), ours
    else:
        assert ours is None


def agreement(count: int, seed: int) -> float:
    """How often both give one verdict, where ptxas gives one. A difference that is not known fails, as does any exception."""
    seen, unknown = Counter[tuple[bool, bool]](), []
    for verdict in verdicts(mutants(count, seed)):
        if verdict.crashed:
            continue
        seen[verdict.ours is None, verdict.theirs is None] += 1
        if not verdict.agrees:
            side = "we refuse: " if verdict.ours else "ptxas refuses: "
            message = side + re.sub(r"\d+", "#", verdict.ours or verdict.theirs or "")
            if not any(re.match(known, message) for known in KNOWN):
                unknown.append((message, verdict.mutant.what))
    both = seen[True, True] + seen[False, False]
    assert seen.total() > 0.99 * count
    assert min(seen[True, True], seen[False, False]) > count // 4, seen
    assert len(unknown) <= count // 2000, unknown
    return both / seen.total()


def test_mutants(assembler: str) -> None:
    assert agreement(300, 20261124) >= 0.985


@pytest.mark.long
def test_many_mutants(assembler: str) -> None:
    assert agreement(10_000, 20261122) >= 0.995


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(modules()))
def test_ptxas_takes_what_nvcc_prints(assembler: str, name: str) -> None:
    theirs = refusal(modules()[name])
    assert (theirs is None) == (name.split()[0] != "external"), theirs
