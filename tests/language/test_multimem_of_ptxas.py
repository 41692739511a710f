"""Multimem instructions: our verdict beside those of ptxas 13.0 and 13.5, for every form, and for what may stand beside a form."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble

WIDTHS = {
    "b8": 8, "b16": 16, "b32": 32, "b64": 64, "u16": 16, "u32": 32, "u64": 64, "s32": 32, "s64": 64, "f16": 16, "bf16": 16,
    "f16x2": 32, "bf16x2": 32, "f32": 32, "f64": 64,
}  # fmt: skip
REGISTERS = ".reg .b8 %c<9>; .reg .b16 %h<9>; .reg .b32 %r<10>; .reg .b64 %rd<20>; .reg .f32 %f<9>; .reg .f64 %fd<9>;"
HEADING = 5


def module(instructions: list[str], version: str) -> str:
    head = f".version {version}\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n{REGISTERS}\n"
    return head + "\n".join(instructions) + "\nret;\n}\n"


def instruction(mnemonic: str) -> str:
    """An instruction with operands that suit its modifiers."""
    words = mnemonic.split(".")
    if "bulk" in words:
        return f"{mnemonic} [%rd0], [%rd1], %r0;"
    type = words[-1]
    count = next((int(w[1:]) for w in words if w in ("v2", "v4", "v8")), 0)
    letter = {"f32": "f", "f64": "fd"}.get(type) or {8: "c", 16: "h", 32: "r", 64: "rd"}[WIDTHS[type]]
    registers = [f"%{letter}{i}" for i in range(max(count, 1))]
    value = "{" + ", ".join(registers) + "}" if count else registers[0]
    return f"{mnemonic} {value}, [%rd9];" if "ld_reduce" in words else f"{mnemonic} [%rd9], {value};"


def refused(instructions: list[str], version: str, by: str) -> set[int]:
    """The numbers of the instructions that an assembler refuses."""
    return {line - HEADING - 1 for line, _ in assemble(module(instructions, version), "sm_90", "-O0", by=by)}


def complaints(text: str) -> list[str]:
    """What we say of a module."""
    try:
        ptxspec.load(text)
    except ptxspec.PtxError as error:
        return [one.message for one in error.diagnostics]
    return []


@pytest.fixture(params=["13.0", "13.5"])
def either_assembler(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("assembler" if request.param == "13.0" else "newest_assembler"))


def forms(version: str) -> list[str]:
    since = tuple(map(int, version.split(".")))
    return [instruction(f.mnemonic) for f in ptxspec.forms("multimem") if f.availability[0] == since]


@pytest.mark.sample(8)
@pytest.mark.parametrize("version", ["8.1", "8.2", "9.1"])
def test_every_form_is_taken(version: str, either_assembler: str, request: pytest.FixtureRequest) -> None:
    if version == "9.1" and "13.5" not in request.node.name:
        pytest.skip("ptxas 13.0 knows PTX up to 9.0")
    every = forms(version)
    assert len(every) == {"8.1": 2534, "8.2": 240, "9.1": 28}[version]
    for first in range(0, len(every), 400):
        assert not refused(every[first : first + 400], version, either_assembler)
    assert not complaints(module(every, version))


def beside() -> Iterator[str]:
    """Mnemonics with modifiers that are of multimem instructions, in their order, whether or not they may be together."""
    kinds = {"ld_reduce": ["add", "min", "and", "inc"], "st": [""], "red": ["add", "max", "or", "exch"]}
    for kind, operations in kinds.items():
        accumulations = ["", "acc::f32"] if kind == "ld_reduce" else [""]
        for op, acc, vec, type in product(operations, accumulations, ["", "v2", "v4", "v8"], WIDTHS):
            yield ".".join(w for w in ("multimem", kind, op, acc, vec, type) if w)
        orders = [
            "weak",
            "relaxed",
            "sys",
            "acquire.sys",
            "release.sys",
            "acq_rel.gpu",
            "weak.gpu",
            "volatile",
            "relaxed.cta",
        ]
        for order, space in product(orders, ["", "global", "shared"]):
            yield ".".join(w for w in ("multimem", kind, order, space, operations[0], "u32") if w)


@pytest.mark.slow
def test_what_may_stand_together(either_assembler: str) -> None:
    every = [instruction(mnemonic) for mnemonic in beside()]
    theirs: set[int] = set()
    for number in range(0, len(every), 300):
        theirs |= {number + i for i in refused(every[number : number + 300], "8.6", either_assembler)}
    ours = {i for i, one in enumerate(every) if complaints(module([one], "8.6"))}
    assert not [(every[i], "we refuse" if i in ours else "we take") for i in sorted(ours ^ theirs)]


#: modifiers in other orders than that of the page: which words belong to the opcode
ORDERS = {
    "multimem.weak.ld_reduce.global.add.u32": False,
    "multimem.add.ld_reduce.u32": False,
    "multimem.global.st.u32": False,
    "multimem.ld_reduce.global.weak.add.u32": True,
    "multimem.ld_reduce.u32.add": True,
    "multimem.ld_reduce.sys.relaxed.add.u32": True,
    "multimem.st.u32.global": True,
    "multimem.red.add.release.sys.u32": True,
    "multimem.ld_reduce.v2.add.f32": True,
    "multimem.ld_reduce.add.v2.acc::f32.bf16x2": True,
    "multimem.ld_reduce.add.acc::f32.bf16x2.v2": True,
    "multimem.ld_reduce.acc::f32.add.v2.bf16x2": True,
    "multimem.st.v2.global.f32": True,
    "multimem.red.v2.add.f32": True,
}
#: the same of copies
COPIES = {
    "multimem.cp.bulk.async.global.shared::cta.bulk_group": False,
    "multimem.async.cp.bulk.global.shared::cta.bulk_group": False,
    "multimem.cp.async.bulk.shared::cta.global.bulk_group": False,
    "multimem.cp.async.bulk.bulk_group.global.shared::cta": True,
    "multimem.cp.async.bulk.global.bulk_group.shared::cta": True,
    "multimem.cp.async.reduce.bulk.global.shared::cta.bulk_group.add.u32": False,
    "multimem.cp.reduce.async.bulk.add.global.shared::cta.bulk_group.u32": True,
    "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.u32.add": True,
}


def with_operands(mnemonic: str) -> str:
    if "bulk" in mnemonic:
        return f"{mnemonic} [%rd0], [%rd1], %r0;"
    register = "%f" if mnemonic.endswith(".f32") else "%r"
    value = f"{{{register}0, {register}1}}" if "v2" in mnemonic else f"{register}0"
    return f"{mnemonic} {value}, [%rd9];" if "ld_reduce" in mnemonic else f"{mnemonic} [%rd9], {value};"


@pytest.mark.parametrize("mnemonic", ORDERS)
def test_orders_of_modifiers(mnemonic: str, either_assembler: str) -> None:
    text = with_operands(mnemonic)
    assert (not refused([text], "8.6", either_assembler)) == ORDERS[mnemonic] == (not complaints(module([text], "8.6")))


@pytest.mark.parametrize("mnemonic", COPIES)
def test_orders_of_modifiers_of_copies(mnemonic: str, newest_assembler: str) -> None:
    text = with_operands(mnemonic)
    assert (not refused([text], "9.1", newest_assembler)) == COPIES[mnemonic] == (not complaints(module([text], "9.1")))


OPERANDS = {
    "multimem.st.u32 [%rd9], 1;": True,
    "multimem.st.f32 [%rd9], 0f3f800000;": True,
    "multimem.st.f32 [%rd9], 1;": False,
    "multimem.st.f16x2 [%rd9], 1;": False,
    "multimem.red.add.f16x2 [%rd9], 1;": False,
    "multimem.red.add.f64 [%rd9], 0d3ff0000000000000;": True,
    "multimem.ld_reduce.add.u32 %rd0, [%rd9];": False,
    "multimem.ld_reduce.add.u32 _, [%rd9];": False,
    "multimem.ld_reduce.add.v2.f32 {%f0, _}, [%rd9];": True,
    "multimem.ld_reduce.and.b32 %f0, [%rd9];": True,
    "multimem.ld_reduce.add.u32 %f0, [%rd9];": False,
    "multimem.ld_reduce.add.f32 %r0, [%rd9];": True,
    "multimem.ld_reduce.add.f16x2 %f0, [%rd9];": False,
    "multimem.st.u32 [%rd9], %rd0;": False,
    "multimem.st.v2.f32 [%rd9], {%f0, 0f00000000};": True,
    "multimem.red.add.v2.f32 [%rd9], {%f0, 0f00000000};": True,
    "multimem.st.v2.f16 [%rd9], {%r0, %r1};": False,
    "multimem.ld_reduce.add.u32 %r0, [%rd9+4];": True,
    "multimem.ld_reduce.add.u32 %r0, [64];": False,
    "multimem.ld_reduce.add.noftz.f16x2 %r0, [%rd9];": False,
    "multimem.red.add.L2::cache_hint.u32 [%rd9], %r0, %rd1;": False,
}


@pytest.mark.parametrize("text", OPERANDS)
def test_operands(text: str, either_assembler: str) -> None:
    assert (not refused([text], "8.6", either_assembler)) == OPERANDS[text] == (not complaints(module([text], "8.6")))
