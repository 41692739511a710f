"""Which modules link, beside the verdict of nvlink. A case's modules are parted by @@."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from functools import cache
from pathlib import Path

import pytest
from verdicts import HEADER

import ptxspec
from ptxspec.evidence.assembler import ptxas

CASES = r"""
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u32 x = 5;
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .global .u32 x = 5;
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .global .u32 y = 5;
    .extern .global .u32 x; .visible .entry k(){ ret; } @@ .global .u32 y = 5;
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .weak .global .u32 x = 5;
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .common .global .u32 x;
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u64 x = 5;
    .extern .global .u64 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u32 x = 5;
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .f32 x = 1.0;
    .extern .global .u32 x[]; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u32 x[5];
    .extern .global .u32 x[3]; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u32 x[5];
    .extern .global .u32 x[5]; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u32 x[3];
    .extern .global .align 16 .u32 x[5]; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .visible .global .u32 x[5];
    .extern .const .u32 x; .visible .entry k(){ .reg .u32 r; ld.const.u32 r,[x]; st.local.u32 [r], r; ret; } @@ .visible .global .u32 x=5;
    .extern .const .u32 x; .visible .entry k(){ .reg .u32 r; ld.const.u32 r,[x]; st.local.u32 [r], r; ret; } @@ .visible .const .u32 x=5;
    .visible .global .u32 x = 5; @@ .visible .global .u32 x = 5;
    .visible .global .u32 x; @@ .visible .global .u32 x;
    .visible .global .u32 x = 5; @@ .weak .global .u32 x = 6;
    .weak .global .u32 x = 5; @@ .visible .global .u32 x = 6;
    .weak .global .u32 x = 5; @@ .weak .global .u32 x = 6;
    .weak .global .u32 x = 5; @@ .weak .global .u64 x = 6;
    .weak .global .u32 x = 5; @@ .weak .global .u32 x[4];
    .weak .global .u32 x = 5; @@ .visible .global .u64 x = 6;
    .common .global .u32 x; @@ .common .global .u32 x;
    .common .global .u32 x; @@ .common .global .u64 x;
    .common .global .u32 x; @@ .common .global .u32 x[8];
    .common .global .u32 x = 5; @@ .common .global .u32 x = 6;
    .common .global .u32 x = 5; @@ .common .global .u32 x;
    .common .global .u32 x; @@ .visible .global .u32 x = 5;
    .common .global .u32 x; @@ .visible .global .u64 x = 5;
    .common .global .u32 x; @@ .weak .global .u32 x = 5;
    .common .global .u32 x[8]; @@ .weak .global .u32 x = 5;
    .global .u32 x = 5; @@ .global .u32 x = 6;
    .global .u32 x = 5; @@ .visible .global .u32 x = 6;
    .extern .func f(); .visible .entry k(){ call f; ret; } @@ .visible .func f(){ ret; }
    .extern .func f(); .visible .entry k(){ call f; ret; } @@ .func f(){ ret; }
    .extern .func f(); .visible .entry k(){ call f; ret; } @@ .weak .func f(){ ret; }
    .extern .func f(); .visible .entry k(){ call f; ret; } @@ .global .u32 y;
    .extern .func f(); .visible .entry k(){ ret; } @@ .global .u32 y;
    .extern .func f(); .visible .entry k(){ call f; ret; } @@ .visible .func f(.reg .u32 a){ ret; }
    .extern .func f(); .visible .entry k(){ call f; ret; } @@ .visible .func f(.param .u32 a){ ret; }
    .extern .func f(.param .u32 a); .visible .entry k(){ .param .u32 a; call f, (a); ret; } @@ .visible .func f(.param .u64 a){ ret; }
    .extern .func f(.param .u32 a); .visible .entry k(){ .param .u32 a; call f, (a); ret; } @@ .visible .func f(.param .f32 a){ ret; }
    .extern .func f(.param .b32 a); .visible .entry k(){ .param .b32 a; call f, (a); ret; } @@ .visible .func f(.param .u32 a){ ret; }
    .extern .func f(.param .align 4 .b8 a[8]); .visible .entry k(){ .param .align 4 .b8 a[8]; call f, (a); ret; } @@ .visible .func f(.param .align 8 .b8 a[8]){ ret; }
    .extern .func (.param .u32 r) f(); .visible .entry k(){ .param .u32 r; call (r), f; ret; } @@ .visible .func f(){ ret; }
    .extern .func (.reg .u32 r) f(); .visible .entry k(){ .reg .u32 r; call (r), f; ret; } @@ .visible .func (.param .u32 r) f(){ ret; }
    .visible .func f(){ ret; } @@ .visible .func f(){ ret; }
    .visible .func f(){ ret; } @@ .weak .func f(){ ret; }
    .weak .func f(){ ret; } @@ .weak .func f(){ ret; }
    .weak .func f(){ ret; } @@ .weak .func f(.param .u32 x){ ret; }
    .weak .func f(){ ret; } @@ .visible .func f(.param .u32 x){ ret; }
    .func f(){ ret; } @@ .func f(){ ret; }
    .func f(){ ret; } @@ .visible .func f(){ ret; }
    .visible .entry k(){ ret; } @@ .visible .entry k(){ ret; }
    .weak .entry k(){ ret; } @@ .weak .entry k(){ ret; }
    .weak .entry k(){ ret; } @@ .visible .entry k(){ ret; }
    .entry k(){ ret; } @@ .entry k(){ ret; }
    .entry k(){ ret; } @@ .visible .entry k(){ ret; }
    .visible .func x(){ ret; } @@ .visible .global .u32 x;
    .visible .entry x(){ ret; } @@ .visible .global .u32 x;
    .visible .entry x(){ ret; } @@ .visible .func x(){ ret; }
    .extern .func x(); .visible .entry k(){ call x; ret; } @@ .visible .entry x(){ ret; }
    .extern .func x(); .visible .entry k(){ call x; ret; } @@ .visible .global .u32 x;
    .extern .entry x(); .visible .entry k(){ .reg .u64 a; mov.u64 a, x; st.global.u64 [a], a; ret; } @@ .visible .entry x(){ ret; }
    .extern .entry x(); .visible .entry k(){ .reg .u64 a; mov.u64 a, x; st.global.u64 [a], a; ret; } @@ .global .u32 y;
    .extern .shared .u32 s[]; .visible .entry k(){ st.shared.u32 [s], 1; ret; } @@ .extern .shared .u32 s[]; .visible .entry j(){ st.shared.u32 [s], 1; ret; }
    .extern .shared .u32 s[]; .visible .entry k(){ st.shared.u32 [s], 1; ret; } @@ .visible .shared .u32 s[4];
    .extern .shared .u32 s[4]; .visible .entry k(){ st.shared.u32 [s], 1; ret; } @@ .visible .shared .u32 s[4];
    .extern .shared .u32 s[4]; .visible .entry k(){ st.shared.u32 [s], 1; ret; } @@ .global .u32 y;
    .visible .shared .u32 s[4]; .visible .entry k(){ st.shared.u32 [s], 1; ret; } @@ .visible .shared .u32 s[4]; .visible .entry j(){ st.shared.u32 [s], 1; ret; }
    .extern .global .u32 x; .global .u64 p = x; @@ .visible .global .u32 x;
    .extern .global .u32 x; .global .u64 p = generic(x)+4; @@ .visible .global .u32 x;
    .extern .func f(); .global .u64 p = f; @@ .visible .func f() {ret;}
    .extern .const .u32 x; .const .u64 p = x; @@ .visible .const .u32 x;
    .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b); .visible .entry k(){ .param .b32 r; .param .b64 x; call (r), vprintf, (x,x); ret; } @@ .global .u32 y;
    .visible .const .u8 a[40000]; @@ .visible .const .u8 b[40000];
    .func f(); .visible .entry k(){ call f; ret; } @@ .visible .func f(){ ret; }
    .extern .func a(); .visible .entry k(){ call a; ret; } @@ .visible .func b(){ ret; } .func a(); .alias a, b;
    .extern .func a(); .visible .entry k(){ call a; ret; } @@ .visible .func b(){ ret; } .visible .func a(); .alias a, b;
    .extern .func a(); .visible .entry k(){ call a; ret; } @@ .visible .func b(){ ret; } .weak .func a(); .alias a, b;
    .extern .func a(); .visible .entry k(){ call a; ret; } @@ .func b(){ ret; } .func a(); .alias a, b;
    .extern .func a(); .visible .entry k(){ call a; ret; } @@ .func b(){ ret; } .visible .func a(); .alias a, b;
    .extern .func a(); .visible .entry k(){ ret; } @@ .func b(){ ret; } .visible .func a(); .alias a, b;
    .visible .func b(){ ret; } .func a(); .alias a, b; @@ .visible .func a(){ ret; }
    .visible .func b(){ ret; } .func a(); .alias a, b; @@ .func a(){ ret; }
    .visible .func b(){ ret; } .visible .func a(); .alias a, b; @@ .visible .func a(){ ret; }
    .visible .func b(){ ret; } .visible .func a(); .alias a, b; @@ .weak .func a(){ ret; }
    .visible .func b(){ ret; } .weak .func a(); .alias a, b; @@ .visible .func a(){ ret; }
    .visible .func b(){ ret; } .visible .func a(); .alias a, b; @@ .visible .func c(){ ret; } .visible .func a(); .alias a, c;
    .visible .func b(){ ret; } .visible .func a(); .alias a, b; @@ .weak .func b(){ ret; }
    .visible .func b(){ ret; } .visible .func a(); .alias a, b; @@ .extern .func a(.param .b32 x); .visible .entry k(){ .param .b32 x; call a, (x); ret; }
    .visible .func b(){ ret; } .visible .func a(); .alias a, b; @@ .visible .global .u32 a;
    .extern .func f(.param .align 8 .b8 a[]); .visible .entry k(){ .param .align 8 .b8 a[8]; call f, (a); ret; } @@ .visible .func f(.param .align 8 .b8 a[]){ ret; }
    .extern .func f(.param .align 8 .b8 a[]); .visible .entry k(){ call f, (); ret; } @@ .visible .func f(.param .align 8 .b8 a[]){ ret; }
    .extern .func f(.param .align 8 .b8 a[8]); .visible .entry k(){ .param .align 8 .b8 a[8]; call f, (a); ret; } @@ .visible .func f(.param .align 8 .b8 a[]){ ret; }
    .extern .func f(.param .align 8 .b8 a[]); .visible .entry k(){ .param .align 8 .b8 a[8]; call f, (a); ret; } @@ .visible .func f(.param .align 8 .b8 a[8]){ ret; }
    .extern .func f(.reg .v2 .b32 a); .visible .entry k(){ .reg .v2 .b32 a; call f, (a); ret; } @@ .visible .func f(.reg .v2 .b32 a){ ret; }
    .extern .func f(.reg .v2 .b32 a); .visible .entry k(){ .reg .v2 .b32 a; call f, (a); ret; } @@ .visible .func f(.reg .b32 a, .reg .b32 b){ ret; }
    .visible .func f(); .visible .entry k(){ call f; ret; } @@ .visible .func f(){ ret; }
    .weak .func f(); .visible .entry k(){ call f; ret; } @@ .visible .func f(){ ret; }
    .visible .func f(){ret;} .visible .entry k(){ call f; ret; } @@ .extern .func f(); .visible .func g() { call f; ret; }
    .extern .global .u32 x; .visible .entry k(){ st.global.u32 [x], 1; ret; } @@ .extern .global .u32 x; .visible .entry j(){ st.global.u32 [x], 1; ret; }
"""


@cache
def nvlink() -> str:
    beside = Path(ptxas()).with_name("nvlink")
    found = str(beside) if beside.is_file() else shutil.which("nvlink")
    if found is None:
        reason = "NO NVLINK: that our verdicts agree with the linker's was NOT tested"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    return found


def cases() -> list[str]:
    return [line.strip() for line in CASES.strip().splitlines()]


def modules(case: str) -> list[str]:
    return [HEADER + module.strip() for module in case.split("@@")]


def links(case: str) -> bool:
    try:
        ptxspec.link(modules(case))
    except ptxspec.PtxError as refused:
        assert all(d.path.startswith("<ptx ") and d.line >= 1 for d in refused.diagnostics)
        return False
    return True


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize("case", cases())
def test_verdicts(case: str, tmp_path: Path) -> None:
    objects = []
    theirs = True
    linker = nvlink()
    for i, text in enumerate(modules(case)):
        source, made = tmp_path / f"{i}.ptx", tmp_path / f"{i}.o"
        source.write_text(text)
        run = subprocess.run([ptxas(), "-arch=sm_90", "-c", str(source), "-o", str(made)], capture_output=True)
        theirs &= run.returncode == 0
        objects.append(str(made))
    if theirs:
        run = subprocess.run([linker, "-arch=sm_90", *objects, "-o", str(tmp_path / "all")], capture_output=True)
        theirs = run.returncode == 0
        if not theirs and not run.stdout + run.stderr:
            return  # it broke down
    assert links(case) == theirs


def test_both_verdicts_are_there() -> None:
    verdicts = [links(case) for case in cases()]
    assert min(verdicts.count(True), verdicts.count(False)) > 30


def complaint(*texts: str) -> str:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.link([HEADER + text for text in texts], [f"{name}.ptx" for name in "abc"[: len(texts)]])
    return str(caught.value)


def test_complaints_say_where() -> None:
    definition = ".visible .global .u32 x;"
    assert complaint(definition, "\n" + definition).startswith("b.ptx:5:23: x is defined twice\n.visible")
    use = ".extern .func f();\n.entry k() {\n  call f;\n  ret;\n}"
    assert complaint(use, "").startswith(
        "a.ptx:6:3: no module defines f\n  call f;\n  ^\nsee spec/functions/linking.md"
    )
    assert "c.ptx:4:22: y has 4 bytes here and 8 in another module" in complaint(
        "", ".visible .global .u64 y;", ".extern .global .u32 y;"
    )


def test_complaints_of_all_modules_together() -> None:
    found = complaint(".global .u32 x = 1.5;", ".visible .global .u32 y;", ".entry k() { frob; }")
    assert "a.ptx:4:14" in found and "c.ptx:4:14" in found


def test_nothing_to_link() -> None:
    with pytest.raises(ValueError, match="nothing to link"):
        ptxspec.link([])


def test_an_array_without_a_size_has_no_functions_name() -> None:
    """Found by the fuzzer of links: one module calls t a function, another an array that the launch sizes."""
    one = ".version 9.0\n.target sm_90\n.extern .func (.param .b64 r) t(.param .f32 p0, .param .b8 p1);\n"
    other = ".version 2.0\n.target sm_20\n.extern .shared .b8 t[];\n"
    for texts in ([one, other], [other, one]):
        with pytest.raises(
            ptxspec.PtxError, match="t is a variable, a function or an entry, and not all of these at once"
        ):
            ptxspec.link(texts)
