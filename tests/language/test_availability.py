"""From which version and target on a form exists, where the rules of a page are about types: ours, and that of ptxas 13.0."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check
from ptxspec.terms.availability import available
from ptxspec.terms.core import TermError

PACKS = ["sat.s8.s32.b32", "sat.u4.s32.b32", "sat.s2.s32.b32"]
MODULES = [("6.4", "sm_75"), ("6.5", "sm_70"), ("6.5", "sm_72"), ("6.5", "sm_75"), ("1.5", "sm_12")]


@pytest.mark.parametrize(("version", "target"), MODULES)
def test_packs_came_with_a_version_and_with_targets(version: str, target: str, assembler: str) -> None:
    """Those of fewer than eight bits with a later target."""
    head = f".version {version}\n.target {target}\n.entry k() {{ .reg .b32 r<4>;\n"
    lines = [f"cvt.pack.{one} r0, r1, r2, r3;" for one in PACKS]
    refused = {line for line, _ in assemble(head + "\n".join(lines) + "\nret; }\n", "sm_90", "-O0", by=assembler)}
    for at, line in enumerate(lines, head.count("\n") + 1):
        if at in refused:
            with pytest.raises(ptxspec.PtxError, match=r"needs (PTX ISA 6\.5|target sm_7[25])"):
                check(f"{head}{line}\nret; }}\n")
        else:
            check(f"{head}{line}\nret; }}\n")
    assert (not refused) == ((version, target) == ("6.5", "sm_75"))


def test_a_rule_about_a_type_says_the_type() -> None:
    """A rule whose string no modifier equals would bear on no form, and all would exist from the first version on."""
    definition = next(f.definition for f in ptxspec.forms("cvt") if f.definition.name == "cvt_pack_below")
    before = list(definition.rules)
    with pytest.raises(TermError, match=r"dtype is a type, TYPES\['u8'\]"):
        available(definition, since="6.5", dtype=("u8", "s8"))
    assert definition.rules == before
