"""Every instruction of PTX ISA 4.1 has a page, or stands in the list of those that are missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptxspec
from ptxspec.language.forms import registry
from ptxspec.literate.documents import parse
from ptxspec.literate.finder import DOCUMENTS

#: the instruction keywords of PTX ISA 4.1 (its Table 2), and istypep, which that table leaves out
INSTRUCTIONS = """
abs add addc and atom bar bfe bfi bfind bra brev brkpt call clz cnot copysign cos cvt cvta div ex2 exit fma isspacep istypep ld ldu
lg2 mad mad24 madc max membar min mov mul mul24 neg not or pmevent popc prefetch prefetchu prmt rcp red rem ret rsqrt sad selp set
setp shf shfl shl shr sin slct sqrt st sub subc suld suq sured sust testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2
vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 xor
""".split()
INDEX = DOCUMENTS / "spec" / "instructions" / "index.md"
MISSING = parse(INDEX.read_text(), INDEX).of("text")[0].text.split()


def test_the_table() -> None:
    assert len(INSTRUCTIONS) == len(set(INSTRUCTIONS)) == 98 and INSTRUCTIONS == sorted(INSTRUCTIONS)


@pytest.mark.parametrize("opcode", INSTRUCTIONS)
def test_an_instruction_has_a_page_or_is_said_to_be_missing(opcode: str) -> None:
    known = registry().opcodes.get(opcode)
    if opcode in MISSING:
        assert known is None, f"{opcode} has a page: take it off the list in {INDEX.name}"
        return
    assert known is not None and known.forms, f"{opcode} has no page, and is not in the list of {INDEX.name}"
    assert all(Path(DOCUMENTS, form.page.split(":")[0]).is_file() for form in known.forms)
    since = min(form.availability[0] for form in known.forms)
    assert since <= (4, 1), f"{opcode} is said to exist since PTX ISA {since} only"


def test_what_is_missing_is_textures_and_surfaces_alone() -> None:
    assert set(MISSING) == {"tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"}
    assert len(MISSING) == len(set(MISSING))


@pytest.mark.parametrize("opcode", MISSING)
def test_a_missing_instruction_is_refused_by_name(opcode: str) -> None:
    text = f".version 4.1\n.target sm_35\n.address_size 64\n.entry k() {{ .reg .b32 %r; {opcode}.b32 %r, %r; ret; }}\n"
    with pytest.raises(ptxspec.PtxError, match=rf"\b{re.escape(opcode)}\b"):
        ptxspec.load(text)
