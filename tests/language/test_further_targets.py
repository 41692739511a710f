"""A `.target` after the first one changes what is allowed from there on (AMB-208), as ptxas has it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from printing import placeless, text_of

import ptxspec
from ptxspec.evidence import assembler as tools
from ptxspec.language import formatting
from ptxspec.language.parser import parse

#: what only sm_90 has, and what was there before
NEW, OLD = "barrier.cluster.arrive;", "mov.u32 r1, %clock;"
UP, DOWN = ".target sm_90 ", ".target sm_80 "


def entry(body: str, name: str = "k", what: str = ".visible .entry") -> str:
    return f"{what} {name}() {{ .reg .b32 r<9>; .reg .b64 d<9>;\n{body} ret; }}\n"


def module(*members: str, target: str = ".target sm_80") -> str:
    return f".version 9.0\n{target}\n.address_size 64\n" + "".join(members)


#: whether each text is accepted
TEXTS = {
    "allowed from there on": (module(entry(UP + NEW)), True),
    "not before": (module(entry(NEW + UP)), False),
    "allowed no longer": (module(entry(DOWN + NEW), target=".target sm_90"), False),
    "allowed again": (module(entry(DOWN + OLD + UP + NEW), target=".target sm_90"), True),
    "the same shape before and after": (module(entry(UP + NEW + NEW + DOWN + NEW)), False),
    "a special register": (module(entry(UP + "mov.b32 r1, %cluster_ctarank;")), True),
    "a special register before": (module(entry("mov.b32 r1, %cluster_ctarank;" + UP)), False),
    "for later entries": (module(entry(UP), entry(NEW, "j")), True),
    "not for earlier entries": (module(entry(NEW, "j"), entry(UP)), False),
    "in a function": (module(entry(UP, "f", ".func"), entry(NEW)), True),
    "a function after an entry": (module(entry(UP), entry(NEW, "f", ".func"), entry(NEW, "j")), True),
    "a function before": (module(entry(NEW, "f", ".func"), entry(UP + NEW)), False),
    "beyond a scope": (module(entry("{ " + UP + "}" + NEW)), True),
    "before declarations": (module(".visible .entry k() { .target sm_90 .reg .b32 r; ret; }"), True),
    "after a label": (module(entry("L: " + UP + "bra L; ")), True),
    "at the head": (module(entry(NEW), target=".target sm_80\n.target sm_90"), True),
    "the last at the head counts": (module(entry(NEW), target=".target sm_90\n.target sm_80"), False),
    "after the size": (module(UP, entry("")), False),
    "between entries": (module(entry("", "j"), UP, entry("")), False),
    "after a guard": (module(entry("@p .target sm_90 " + NEW)), False),
    "a feature of one architecture": (module(entry(".target sm_90a wgmma.fence.sync.aligned;")), True),
    "no longer of one architecture": (module(entry(UP + "wgmma.fence.sync.aligned;"), target=".target sm_90a"), False),
    "newer than the version": (module(entry(UP)).replace("9.0", "7.0", 1), False),
    "no target": (module(entry(".target sm_1234 ")), False),
    "the same mode": (module(entry(".target sm_90, texmode_unified ")), True),
    "another mode": (module(entry(".target sm_90, texmode_independent ")), False),
    "no mode": (module(entry(UP), target=".target sm_80, texmode_independent"), True),
    "a mode at the head": (module(entry(""), target=".target sm_80\n.target sm_80, texmode_independent"), True),
}  # fmt: skip


def accepted(text: str) -> bool:
    try:
        ptxspec.load(text)
    except ptxspec.PtxError:
        return False
    return True


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_allowed(name: str) -> None:
    text, allowed = TEXTS[name]
    assert accepted(text) is allowed


@pytest.mark.parametrize("newest", [False, True])
def test_ptxas_allows_the_same(newest: bool, assembler: str) -> None:
    """13.5 does not take the features of one architecture away."""
    by = tools.newest_ptxas() if newest else assembler
    for name, (text, allowed) in TEXTS.items():
        arch = "sm_90a" if "sm_90a" in text else "sm_90"
        laxer = newest and name == "no longer of one architecture"
        assert (tools.assemble(text, arch, by=by) == []) is (allowed or laxer), name


def test_a_target_has_one_architecture() -> None:
    """ptxas takes several, of which the last counts; the manual speaks of one."""
    with pytest.raises(ptxspec.PtxError, match=r"sm_90 is no option of \.target"):
        ptxspec.load(module(entry(NEW), target=".target sm_80, sm_90"))
    with pytest.raises(ptxspec.PtxError, match="texmode_unified is no known target"):
        ptxspec.load(module(entry(".target texmode_unified ")))


def test_the_complaint_names_the_place_and_the_target() -> None:
    with pytest.raises(ptxspec.PtxError) as raised:
        ptxspec.load(module(entry(f"{UP}\n{NEW}\n{DOWN}\n{NEW}\n")))
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.line, diagnostic.column) == (8, 1) and "needs target sm_90; the module says sm_80" in str(
        diagnostic
    )


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_meanings_are_those_of_the_target_before(engine: Any) -> None:
    """Targets before sm_20 flush subnormals; ptxas 13.0 makes FADD, FADD.FTZ and FADD of these three."""
    text = """.version 3.0 .target sm_20 .address_size 64
    .visible .entry k(.param .u64 out) {
        .reg .f32 f<5>; .reg .u64 d;
        ld.param.u64 d, [out];
        mov.f32 f0, 0f00000001;
        add.f32 f1, f0, f0;
        .target sm_13
        add.f32 f2, f0, f0;
        .target sm_20
        add.f32 f3, f0, f0;
        st.global.f32 [d], f1;
        st.global.f32 [d+4], f2;
        st.global.f32 [d+8], f3;
        ret;
    }"""
    out = np.ones(3, np.uint32)
    ptxspec.load(text).launch("k", 1, 1, [out], engine=engine)
    assert out.tolist() == [2, 0, 2]


def test_a_text_is_printed_and_laid_out_as_it_was() -> None:
    text = module(entry(f"{OLD} {{ {UP}, texmode_unified {NEW} }}"), target=".target sm_80\n.target sm_80, debug")
    tree = parse(text)
    assert [t.names for t in tree.targets] == [("sm_80",), ("sm_80", "debug")]
    assert [t.names for t in tree.further_targets] == [("sm_90", "texmode_unified")]
    printed = text_of(tree)
    assert placeless(parse(printed)) == placeless(tree)
    assert "        .target sm_90, texmode_unified\n        barrier.cluster.arrive;\n" in printed
    laid_out = formatting.formatted(text)
    assert "        .target sm_90, texmode_unified\n        barrier.cluster.arrive;\n" in laid_out
    assert re.sub(r"\s", "", laid_out) == re.sub(r"\s", "", text) and formatting.formatted(laid_out) == laid_out


def test_a_fragment_may_change_its_target() -> None:
    """Where something is asked of a fragment, too."""
    flushes = "add.f32 d, a, a;"
    same = ptxspec.prove(f".target sm_20 {flushes}", f".target sm_20 .target sm_13 {flushes}", assume="a == 1")
    assert same.status == "refuted"
    same = ptxspec.prove(f".target sm_13 {flushes}", f".target sm_20 .target sm_13 {flushes}")
    assert same.status == "proved"
