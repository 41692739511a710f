"""Constants added to the registers that hold addresses, and offsets of lookups without braces: our verdict beside that of both
versions of ptxas, and what their machine code does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cubins import assembled
from verdicts import body

import ptxspec
from ptxspec.base.options import Engine
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check

VARIABLES = ".shared .align 8 .b8 v[64];"
SPACES = ("const", "global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::entry")
#: what may stand for an address of 64 bits, and of 32
WIDE = (
    "%rd1",
    "%rd1+4",
    "%rd1+-4",
    "%rd1+0",
    "%rd1+0x100000000",
    "%rd1+(2*2)",
    "%fd1",
    "%fd1+4",
    "%r1",
    "%p1+4",
    "_+4",
    "4",
)
NARROW = ("%r1", "%r1+4", "%r1+-4", "%u1+4", "%s1+4", "%r1+0xffffffff", "%f1", "%f1+4", "%rd1", "%p1+4", "4")
#: sums that ptxas accepts and we do not, whatever the instruction: registers of another width, and special registers
LENIENT = ("%r1+4", "%rd1+4", "%laneid+4")


def lines() -> list[str]:
    found = [f"cvta{to}.{space}.u64 %rd2, {a};" for to, space, a in product(("", ".to"), SPACES, WIDE)]
    found += [f"mapa{space}.u64 %rd2, {a}, %r2;" for space, a in product(("", ".shared::cluster"), WIDE)]
    found += [f"mapa{space}.u32 %r3, {a}, %r2;" for space, a in product(("", ".shared::cluster"), NARROW)]
    found += [f"getctarank{space}.u64 %r3, {a};" for space, a in product(("", ".shared::cluster"), WIDE)]
    found += [f"getctarank{space}.u32 %r3, {a};" for space, a in product(("", ".shared::cluster"), NARROW)]
    return found


def ours(instruction: str) -> bool:
    try:
        check(body(instruction, module=VARIABLES))
    except ptxspec.PtxError:
        return False
    return True


def theirs(by: str) -> set[str]:
    """What ptxas accepts. An error of syntax hides what follows; so the lines with `_` are alone."""
    left = [one for one in lines() if "_+" not in one]
    while True:
        text = body("\n".join(left), module=VARIABLES)
        first = text.split("\n").index(left[0]) + 1
        wrong = {left[line - first] for line, _ in assemble(text, "sm_90", "-O0", by=by)}
        if not wrong:
            return set(left)
        left = [one for one in left if one not in wrong]


def test_every_operand(assembler: str, newest_assembler: str) -> None:
    accepted = theirs(assembler)
    assert accepted == theirs(newest_assembler)
    assert {one for one in lines() if ours(one)} == accepted
    assert sum("+" in one for one in accepted) == 5 * (2 * len(SPACES) + 2 + 2) + 5 * 4


@pytest.mark.parametrize(
    "instruction",
    [
        "cvta.shared.u64 %rd2, %r1+4;",
        "cvta.to.shared.u64 %rd2, %r1+4;",
        "cvta.to.shared.u64 %rd2, v+4;",
        "mapa.shared::cluster.u32 %r3, %rd1+4, %r2;",
        "mapa.shared::cluster.u32 %r3, %laneid+4, %r2;",
        "mapa.u64 %rd2, %rd1, %r2+4;",
        "getctarank.u64 %r3, v+4;",
        "isspacep.shared %p1, %rd1+4;",
        "add.u32 %r3, %r1+4, 1;",
    ],
)
def test_what_else_ptxas_accepts(instruction: str, assembler: str, newest_assembler: str) -> None:
    for by in (assembler, newest_assembler):
        assert assemble(body(instruction, module=VARIABLES), "sm_90", "-O0", by=by) == []
    assert not ours(instruction)


def code(instructions: str, module: str = VARIABLES) -> bytes:
    """The machine code of a kernel that does this with what it loads."""
    loads = "ld.param.u64 %rd8, [out]; ld.global.u64 %rd1, [%rd8]; ld.global.u32 %r1, [%rd8+8]; ld.global.u32 %r2, [%rd8+12];"
    stores = "st.global.u64 [%rd8], %rd2; st.global.u32 [%rd8+8], %r3;"
    zero = "mov.u64 %rd2, 0; mov.u32 %r3, 0;"
    return assembled(body(f"{loads}{zero}{instructions}{stores}", ".param .u64 out", module)).section(".text.k")


@pytest.mark.parametrize("offset", ["4", "-4", "0x7ffffffffffffff0"])
@pytest.mark.parametrize(
    "instruction",
    [
        *(f"cvta{to}.{space}.u64 %rd2, @;" for to in ("", ".to") for space in ("global", "shared", "shared::cluster")),
        "mapa.u64 %rd2, @, %r2;",
        "mapa.shared::cluster.u64 %rd2, @, %r2;",
        "getctarank.shared::cluster.u64 %r3, @;",
    ],
)
def test_machine_code_adds_the_constant_before_it_converts(instruction: str, offset: str, assembler: str) -> None:
    """In the other spaces it adds the base and the constant at once."""
    sum = code(instruction.replace("@", f"%rd1+{offset}"))
    assert sum == code(f"add.s64 %rd3, %rd1, {offset}; {instruction.replace('@', '%rd3')}")
    assert sum != code(instruction.replace("@", "%rd1")) or (offset.startswith("0x") and "global" not in instruction)


ENGINES: tuple[Engine, ...] = ("exact", "native")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_constant_is_added_before_the_address_is_converted(engine: Engine) -> None:
    """With as many bits as the register has."""
    text = """
        .shared .align 8 .b8 v[64];
        mov.u64 %rd1, 8;
        cvta.shared.u64 %rd2, %rd1+-8;  cvta.shared.u64 %rd3, v;
        cvta.to.shared.u64 %rd4, %rd3+4;
        mov.u32 %r1, 16;
        mapa.shared::cluster.u32 %r2, %r1+0xfffffff8, 0;
        getctarank.u64 %r3, %rd3+60;
        mapa.u64 %rd5, %rd3+12, 0;  cvta.to.shared.u64 %rd5, %rd5;
        ld.param.u64 %rd8, [out];
        sub.u64 %rd6, %rd2, %rd3;
        st.global.u64 [%rd8], %rd6;  st.global.u64 [%rd8+8], %rd4;  st.global.u32 [%rd8+16], %r2;
        st.global.u32 [%rd8+24], %r3;  st.global.u64 [%rd8+32], %rd5;
    """
    out = np.full(5, 99, np.uint64)
    ptxspec.load(body(text, ".param .u64 out")).launch("k", args=[out.view(np.uint64)], engine=engine)
    assert (out & 0xFFFFFFFF).tolist() == [0, 4, 8, 0, 12]


def test_fragments_have_sums_too() -> None:
    assert ptxspec.evaluate("mapa.shared::cluster.u32 d, a+8, 0;", a=0xFFFFFFFC)["d"] == 4
    assert ptxspec.prove("cvta.shared.u64 d, a+4;", "add.u64 b, a, 4; cvta.shared.u64 d, b;").status == "proved"
    assert ptxspec.prove("cvta.shared.u64 d, a+4;", "cvta.shared.u64 d, a;").status == "refuted"
    with pytest.raises(ptxspec.PtxError, match="only a variable's address takes an offset"):
        ptxspec.evaluate("add.u32 d, a+4, b;", a=1, b=2)


LOOKUP = ".global .texref t;"


@pytest.mark.parametrize("dimensions", ["1d", "2d", "3d", "a1d", "cube"])
def test_machine_code_drops_an_offset_without_braces(dimensions: str, assembler: str) -> None:
    """For which reason we do not accept one; a register of type .b32 would be a reference value."""
    where = {
        "1d": "%f1",
        "2d": "%f1, %f2",
        "3d": "%f1, %f2, %f3, %f3",
        "a1d": "%r1, %f1",
        "cube": "%f1, %f2, %f3, %f3",
    }[dimensions]
    lookup = f"tex.{dimensions}.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [t, {{{where}}}]@; mov.b32 %r3, %f0;"
    written = [lookup.replace("@", more) for more in ("", ", %s1", ", 1", ", %u1")]
    assert len({code(one, LOOKUP) for one in written}) == 1
    if dimensions != "cube":
        count = {"2d": 2, "3d": 4}.get(dimensions, 1)
        assert code(lookup.replace("@", f", {{{', '.join(['1'] * count)}}}"), LOOKUP) != code(written[0], LOOKUP)
    for one in written[1:]:
        with pytest.raises(ptxspec.PtxError, match=r"needs (braces|a value of type \.f32|\.f32)"):
            check(body(one, module=LOOKUP))
