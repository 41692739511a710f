"""What nvcc prints and what people write, and what becomes of it with one thing changed: our verdict beside that of ptxas for sm_90."""

from __future__ import annotations

import re
import resource
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mutants import Account, Mutant, Verdict, complaint, mutants, refusal, verdicts
from seeds import modules, seeds

import ptxspec
from ptxspec.language.check import check
from ptxspec.language.gaps import gaps_of
from ptxspec.literate.finder import DOCUMENTS

#: sources of which nvcc's output is refused: what the first complaint says, and why
MISSING = {"external": ("nothing defines", "other modules do; ptxas refuses it too when it is alone")}

#: what may differ: what the complaint of the one who refuses says, and the entry of the register of ambiguities, or why
KNOWN = {
    # ptxas is laxer than the text
    "we refuse: only a variable's address takes an offset here": "AMB-196",
    "we refuse: # does not fit into # bits": "AMB-197",
    "we refuse: .* cannot reach a variable in": "AMB-198",
    "we refuse: (ld|st|ldu|atom|red)\\S* needs an address in brackets here, not a variable's address": "AMB-198",
    "we refuse: .* needs a register of type .pred here, not the sink": "AMB-199",
    "we refuse: an address register has an integer": "AMB-204",
    "we refuse: a generic address has # bits [|] ((ld|st)matrix|wmma)": "AMB-204",
    "we refuse: mma\\S*m#n#k#.row.col.f#.f#.f#.f# needs a constant from # to # here": "AMB-283",
    "we refuse: there is no wmma.(load.c|store.d)\\S*.f#;": "AMB-304",
    "we refuse: an address is a register or a variable": "AMB-204",
    "we refuse: .* cannot read a special register": "AMB-204",
    "we refuse: .* not a register with a selector or a minus sign": "AMB-204",
    "we refuse: .* needs .* here, this is of type .f#x#": "AMB-204",
    "we refuse: .* here, not (a variable's address|operands in braces)": "AMB-204",
    "we refuse: there is no (testp.f|\\S*[.]pred[.])": "AMB-204",
    "we refuse: there is no st.*\\.param": "AMB-204",
    "we refuse: expected a statement, not '.([busf]#|attribute)": "AMB-205",
    "we refuse: expected a variable's name": "AMB-205",
    "we refuse: expected a statement or '}', not '.alias'": "AMB-205",
    "we refuse: expected '.noreturn', .* not '.(visible|weak|extern|func|global|const|shared)'": "AMB-205",
    "we refuse: a variable in .reg takes no attribute": "AMB-205",
    "we refuse: expected '.ptr' or a parameter's name": "AMB-205",
    "we refuse: a register is no array and has no alignment": "AMB-205",
    "we refuse: expected .* a parameter's name, not '([(]|.align|.ptr|.attribute)'": "AMB-205",
    "we refuse: expected a size, at least #": "AMB-206",
    "we refuse: # values for # elements": "AMB-206",
    "we refuse: .* needs a value of type .* here, not a floating-point constant": "AMB-207",
    "we refuse: exact bits of single precision stand alone": "AMB-207",
    "we refuse: expected a statement, not '.target'": "AMB-208",
    "we refuse: \\S+ is no target that is known": "AMB-208",
    "we refuse: expected a target, not 'sm_#.address_size'": "AMB-208",
    "we refuse: expected ',' or ';', not '.\\w+'": "AMB-209",
    "we refuse: this constant is no value of type": "AMB-160",
    "we refuse: \\w+ is an integer": "AMB-210",
    "we refuse: \\w+ was declared with another state space": "AMB-164",
    "we refuse: .* needs a value of type .* here, not an? (function|entry)'s name": "AMB-166",
    "we refuse: there is no fma.r[zmp].*bf#": "AMB-155",
    "we refuse: \\S+[.]f# needs target sm_#": "AMB-227",
    # the text is laxer than ptxas
    "ptxas refuses: Alignment of argument does not match": "alignments of registers are not compared",
    "ptxas refuses: Parsing error near '[-+*/%&|^?<>=~!(WARP_SZ]+'": "AMB-116",
    "we refuse: # belongs at the beginning of a line": "ptxas takes lines for a preprocessor anywhere",
    "ptxas refuses: ptxas error   : Pragma": "what a pragma says is not looked at",
    "we refuse: # bytes in ": "memory of this machine",
    # what is not described yet
    "we refuse: .e#m# is no type": "types that only tensors have",
    "we refuse: arrays of type": "arrays of opaque variables",
    "we refuse: there is no ld.*evict": "hints for the cache of small loads",
}


def test_the_corpus() -> None:
    assert len({name.split()[0] for name in modules()}) >= 40
    assert {name.split()[1] for name in modules()} == {"sm_75", "sm_80", "sm_86", "sm_90"}


@pytest.mark.parametrize("name", sorted(modules()))
def test_what_nvcc_prints(name: str) -> None:
    """It is accepted, or refused because of what is known to be missing."""
    ours = complaint(modules()[name])
    source = name.split()[0]
    if source in MISSING:
        assert ours is not None and re.match(MISSING[source][0], ours), ours
        return
    assert ours is None
    assert not gaps_of(check(modules()[name]))


@pytest.mark.parametrize("name", [name for name in sorted(modules()) if name.startswith("asynchronous ")])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_copies_that_finish_later_run(name: str, engine: str) -> None:
    """For an early target nvcc copies by loads and stores; without optimization, by calls of many functions."""
    values = np.arange(256, dtype=np.int32)
    found = np.zeros_like(values)
    ptxspec.load(modules()[name]).launch("_Z1kPK4int4PS_", block=64, args=[values, found], engine=engine)
    assert np.array_equal(found.reshape(64, 4), values.reshape(64, 4)[::-1])


@pytest.mark.parametrize("name", [name for name in sorted(modules()) if name.startswith("tensors ")])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_tiles_are_multiplied(name: str, engine: str) -> None:
    """B lies by columns."""
    source = np.random.default_rng(3)
    a, b = (source.integers(-9, 10, (16, 16)).astype(np.float16) for _ in "ab")
    found = np.zeros((16, 16), np.float32)
    ptxspec.load(modules()[name]).launch("_Z1kP6__halfS0_Pf", block=32, args=[a, b, found], engine=engine)
    assert np.array_equal(found, a.astype(float) @ b.T.astype(float))


def test_what_people_write() -> None:
    """All modules are accepted but for some of the declarations."""
    found = seeds("hand")
    assert len(found["written"]) >= 27 and len(found["examples"]) > 100 and len(found["forms"]) > 300
    assert [
        name for source, own in found.items() if source != "declarations" for name in own if complaint(own[name])
    ] == []


def test_what_may_differ_is_in_the_register() -> None:
    register = Path(DOCUMENTS, "spec/ambiguities.md").read_text()
    assert all(f"## {why} " in register for why in KNOWN.values() if why.startswith("AMB"))


#: for one module of at most 9,000 characters, on a machine with other work
SECONDS = 10
#: at most, for the whole process, which keeps what it has learned of all instructions
GIBIBYTES = 2


def judged(found: list[Mutant]) -> Account:
    """Both verdicts on each module. A difference that is not known fails, as does any exception, and what costs too much."""
    account = Account()
    unknown: list[str] = []
    for verdict in verdicts(found):
        assert verdict.seconds < SECONDS, verdict.mutant
        account.add([verdict])
        if (
            not verdict.crashed
            and not verdict.dropped
            and not verdict.gaps
            and not verdict.agrees
            and not known(verdict)
        ):
            unknown.append(f"{verdict.mutant.what}: {verdict.ours or verdict.theirs}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < GIBIBYTES << 20
    assert account.seen.total() + account.gaps.total() + account.dropped > 0.99 * len(found)
    assert account.dropped < 0.02 * len(found)
    assert account.gaps.total() < 0.1 * len(found)
    assert len(unknown) <= len(found) // 1000, unknown
    return account


def known(verdict: Verdict) -> bool:
    message = ("we refuse: " if verdict.ours else "ptxas refuses: ") + (verdict.ours or verdict.theirs or "")
    return any(re.match(one, re.sub(r"\d+", "#", message)) for one in KNOWN)


@cache
def of_mutants(family: str, count: int, seed: int) -> Account:
    account = judged(list(mutants(count, seed, family)))
    assert min(account.seen[True, True], account.seen[False, False]) > count // (4 if family == "nvcc" else 6)
    return account


@pytest.mark.parametrize(("family", "count"), [("nvcc", 300), ("hand", 400)])
def test_mutants(assembler: str, family: str, count: int) -> None:
    """So few say little of a rate, for which the long test is; here no difference is unknown."""
    assert of_mutants(family, count, 20261124).agreement >= 0.98


@pytest.mark.long
def test_many_modules_and_mutants(assembler: str) -> None:
    """Of each family its modules and mutants together. What people write is made of what may differ, for a good part."""
    for family, least in (("nvcc", 0.995), ("hand", 0.994)):
        changed, own = of_mutants(family, 10_000, 20261122), Account()
        own.add(verdicts(Mutant(name, text) for name, text in modules(family).items()))
        total = changed.seen.total() + own.seen.total()
        print(f"{family}: {100 * (changed.same + own.same) / total:.2f} % of {total}", changed, own, sep="\n")
        assert changed.same + own.same >= least * total, (family, str(changed), str(own))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(modules()))
def test_ptxas_takes_what_nvcc_prints(assembler: str, name: str) -> None:
    theirs = refusal(modules()[name])
    assert (theirs is None) == (name.split()[0] != "external"), theirs
