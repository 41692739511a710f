"""`.alias`: a second name of a function."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from verdicts import HEADER, refused

import ptxspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from mutants import refusal

TARGET = ".func (.param .u32 r) b(.param .u32 x) { .reg .u32 y; ld.param.u32 y, [x]; add.u32 y, y, 7; st.param.u32 [r], y; ret; }\n"
SAME = ".func (.param .u32 r) a(.param .u32 x);\n"
ENTRY = """.global .u64 known = a;
.entry k(.param .u64 out) {
    .reg .u32 x; .reg .u64 p, f, g; .reg .pred q;
    call (x), a, (5);
    mov.u64 f, a; mov.u64 g, b;
    setp.eq.u64 q, f, g; @q add.u32 x, x, 100;
    ld.global.u64 f, [known];
    setp.eq.u64 q, f, g; @q add.u32 x, x, 1000;
    T: .calltargets a;
    call (x), f, (x), T;
    ld.param.u64 p, [out]; st.global.u32 [p], x; ret;
}
"""


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_call_by_the_second_name(engine: str) -> None:
    """It is the same function: its address is one."""
    out = np.zeros(1, np.uint32)
    text = HEADER + TARGET + SAME + ".alias a, b;\n" + ENTRY
    ptxspec.load(text).launch("k", args=[out], engine=engine)
    assert out[0] == 5 + 7 + 100 + 1000 + 7


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_second_name_among_several_modules(engine: str) -> None:
    """Each module may have its own."""
    out = np.zeros(1, np.uint32)
    first = HEADER + TARGET + SAME + ".alias a, b;\n" + ENTRY
    second = first.replace("add.u32 y, y, 7;", "add.u32 y, y, 50;").replace(".entry k", ".entry j")
    module = ptxspec.link([first, second])
    for name, added in (("k", 7), ("j", 50)):
        module.launch(name, args=[out], engine=engine)
        assert out[0] == 5 + added + 100 + 1000 + added


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("linkage", ["", ".visible ", ".weak "])
def test_a_second_name_that_other_modules_see(linkage: str, engine: str) -> None:
    """It is one function for all, called by name and by address, and kept in a variable, and it prevails over a weak one."""
    own = HEADER + ".visible " + TARGET + linkage + SAME + ".alias a, b;"
    weak = HEADER + ".weak " + TARGET.replace(" b(", " a(").replace("y, 7;", "y, 50;")
    user = HEADER + ".extern " + SAME + ".extern " + SAME.replace(" a(", " b(") + ENTRY
    for texts in ([user, own], [own, user], [weak, own, user], [own, weak, user], [user, weak, own]):
        out = np.zeros(1, np.uint32)
        ptxspec.link(texts).launch("k", args=[out], engine=engine)
        assert out[0] == 5 + 7 + 100 + 1000 + 7


def test_a_second_name_that_other_modules_do_not_see() -> None:
    own = HEADER + TARGET + ".visible " + SAME + ".alias a, b;"
    with pytest.raises(ptxspec.PtxError, match="no module defines a"):
        ptxspec.link([HEADER + ".extern " + SAME + ".entry k() { .reg .u32 x; call (x), a, (5); ret; }", own])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TARGET + "¦.alias a, b;", "a is not declared before"),
        (SAME + "¦.alias a, b;\n" + TARGET, "b is not declared before"),
        (TARGET + SAME.replace(";", "{ ret; }") + "¦.alias a, b;", "a has a body"),
        (TARGET + ".func a(.param .u32 x);¦.alias a, b;", "with other parameters"),
        (".entry b() { ret; } .func a(); ¦.alias a, b;", "b is an entry"),
        (TARGET + SAME + ".alias a, b; ¦.alias a, b;", "an alias of b already"),
        (TARGET + "¦.alias b, b;", "b has a body"),
        (".weak " + TARGET + SAME + "¦.alias a, b;", "b is .weak"),
        (".extern " + TARGET.split("{")[0] + ";" + SAME + "¦.alias a, b;", "b is .extern"),
    ],
)
def test_what_is_refused(text: str, message: str, assembler: str) -> None:
    assert message in refused(HEADER + text).message
    assert refusal(HEADER + text.replace("¦", "")) is not None


@pytest.mark.parametrize(
    "text",
    [
        TARGET + SAME + ".alias a, b;", ".visible " + TARGET + ".visible " + SAME + ".alias a, b;",
        TARGET + SAME + SAME.replace(" a(", " c(") + ".alias a, b; .alias c, a;",
        SAME + TARGET.split("{")[0] + "; .alias a, b;\n" + TARGET, TARGET + SAME + ".entry k() { call a, (1); }\n.alias a, b;",
    ],
)  # fmt: skip
def test_what_is_accepted(text: str, assembler: str) -> None:
    text = text.replace("call a, (1);", ".reg .u32 x; call (x), a, (1);")
    ptxspec.load(HEADER + text)
    assert refusal(HEADER + text) is None


def test_the_version() -> None:
    text = f".version 6.2\n.target sm_70\n.address_size 64\n{TARGET}{SAME}¦.alias a, b;"
    assert ".alias needs PTX ISA 6.3" in refused(text).message
