"""Whether the predicate of set and setp with a connective may be a constant: our verdict beside those of ptxas 13.0 and 13.5, for every
pair of types (AMB-319)."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check

#: what is tried in place of `c`; the first is a register
TRIED = ("%pc", "1", "0", "!1")
BITS = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}
TYPES = (*(f"{kind}{width}" for width in (16, 32, 64) for kind in "bus"), "f32", "f64")
DECLARED = ".reg .pred %p, %pc; " + " ".join(f".reg .{t} %{t}x, %{t}y;" for t in TYPES)
HEAD = f".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{DECLARED}\n"


def of_types(opcode: str, operator: str = "eq", connective: str = "and", ftz: bool = False) -> list[str]:
    """The forms with one operator and one connective."""
    found = []
    for form in ptxspec.forms(opcode):
        own = form.modifiers
        if (own.get("CmpOp"), own.get("BoolOp"), bool(own.get("ftz"))) == (operator, connective, ftz):
            found.append(form.mnemonic)
    return found


def written(mnemonic: str, c: str) -> str:
    """The form with registers for its other operands."""
    opcode, *words = mnemonic.split(".")
    source = BITS.get(words[-1], words[-1])
    into = BITS.get(words[-2], words[-2])
    return f"{mnemonic} {'%p' if opcode == 'setp' else f'%{into}x'}, %{source}x, %{source}y, {c};"


def refused_by(instructions: list[str], by: str) -> set[str]:
    """Those that an assembler refuses. It stops at many errors, and is asked again without those that it named."""
    first, left, found = HEAD.count("\n") + 1, instructions, set[str]()
    while lines := {line for line, _ in assemble(HEAD + "\n".join(left) + "\nret;\n}\n", "sm_90", "-O0", by=by)}:
        named = {left[line - first] for line in lines}
        found |= named
        left = [one for one in left if one not in named]
    return found


def refused_here(instructions: list[str]) -> set[str]:
    try:
        check(HEAD + "\n".join(instructions) + "\nret;\n}\n")
    except ptxspec.PtxError as error:
        return {instructions[one.line - HEAD.count("\n") - 1] for one in error.diagnostics}
    return set()


def has_bf16(mnemonic: str) -> bool:
    return bool({"bf16", "bf16x2"} & set(mnemonic.split(".")))


@pytest.mark.parametrize(("opcode", "pairs", "without"), [("set", 72, 20), ("setp", 15, 2)])
def test_every_pair_of_types(opcode: str, pairs: int, without: int, assembler: str, newest_assembler: str) -> None:
    forms = of_types(opcode)
    assert len(forms) == pairs and sum(map(has_bf16, forms)) == without
    tried = [written(form, c) for form in forms for c in TRIED]
    refused = {written(form, c) for form in forms if has_bf16(form) for c in TRIED[1:]}
    assert refused_here(tried) == refused
    assert refused_by(tried, assembler) == refused
    assert refused_by(tried, newest_assembler) == refused


def test_operators_connectives_and_flushing_change_nothing(assembler: str, newest_assembler: str) -> None:
    """Of every way to write them, one form with a constant that is taken and one whose constant is not."""
    taken, refused = set[str](), set[str]()
    for operator in ("lt", "geu", "num", "nan"):
        for connective in ("and", "or", "xor"):
            for ftz in (False, True):
                taken |= {f"set.{operator}.{connective}{'.ftz' * ftz}.{t}" for t in ("f16.f32", "u32.f16x2")}
                taken.add(f"setp.{operator}.{connective}{'.ftz' * ftz}.f16x2")
            refused |= {f"set.{operator}.{connective}.{t}" for t in ("bf16.f32", "bf16x2.bf16x2", "s16.bf16")}
            refused.add(f"setp.{operator}.{connective}.bf16")
    tried = [written(form, "1") for form in sorted(taken | refused)]
    wanted = {written(form, "1") for form in refused}
    assert refused_here(tried) == wanted
    assert refused_by(tried, assembler) == wanted
    assert refused_by(tried, newest_assembler) == wanted


def test_the_complaint_names_the_operand() -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        check(f"{HEAD}{written('set.eq.and.bf16.f32', '1')}\nret;\n}}\n")
    (one,) = caught.value.diagnostics
    assert one.message == "set.eq.and.bf16.f32 needs a register of type .pred here, not an integer constant"
