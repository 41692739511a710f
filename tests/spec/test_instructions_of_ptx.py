"""Every instruction of PTX ISA 4.1 has a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxspec.base.places import DOCUMENTS
from ptxspec.language.forms import registry

#: the instruction keywords of PTX ISA 4.1 (its Table 2), and istypep, which that table leaves out
INSTRUCTIONS = """
abs add addc and atom bar bfe bfi bfind bra brev brkpt call clz cnot copysign cos cvt cvta div ex2 exit fma isspacep istypep ld ldu
lg2 mad mad24 madc max membar min mov mul mul24 neg not or pmevent popc prefetch prefetchu prmt rcp red rem ret rsqrt sad selp set
setp shf shfl shl shr sin slct sqrt st sub subc suld suq sured sust testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2
vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 xor
""".split()


def test_the_table() -> None:
    assert len(INSTRUCTIONS) == len(set(INSTRUCTIONS)) == 98 and INSTRUCTIONS == sorted(INSTRUCTIONS)


@pytest.mark.parametrize("opcode", INSTRUCTIONS)
def test_an_instruction_has_a_page(opcode: str) -> None:
    known = registry().opcodes.get(opcode)
    assert known is not None and known.forms, f"{opcode} has no page"
    assert all(Path(DOCUMENTS, form.page.split(":")[0]).is_file() for form in known.forms)
    since = min(form.availability[0] for form in known.forms)
    assert since <= (4, 1), f"{opcode} is said to exist since PTX ISA {since} only"
