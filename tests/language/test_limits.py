"""Loading ends, whatever the text: costs are in proportion to its length, and every limit is a complaint."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import hostile
import pytest
from effort import check, grows_in_proportion, seconds
from verdicts import HEADER, body

import ptxspec

#: the address space of the process that loads the texts, the length of their long words, and their lines
LIMIT, SIZE, LINES = 2 << 30, 400_000, 4_000


def loaded() -> dict[str, Any]:
    """What became of each text, in a process that may have 2 GiB."""
    command = [sys.executable, hostile.__file__, str(LIMIT), str(SIZE), str(LINES)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        output, errors = done.stdout, done.stderr
    except subprocess.TimeoutExpired as expired:
        output, errors = (expired.stdout or b"").decode(), "it took too long"
    found = [json.loads(line) for line in output.splitlines()]
    return {one["name"]: one for one in found} | {"": errors}


NAMES = [*hostile.GROWING, *hostile.LARGE, *hostile.SHORT]
#: what is said of those that are refused, where more is asked of it than to be a complaint
SAID = {
    "errors on one line": "and 3,900 more",
    "errors of syntax on one line": "and 3,900 more",
    "options of .target": "and 3,900 more",
    "a circle of calls without an ABI": "and 3,900 more",
    "misspelled opcodes": "and 3,900 more",
    "digits": "does not fit into 64 bits",
    "a target": "is no known target",
    "another target": "is no known target",
    "a size": "does not fit into 64 bits",
    "a version": "expected a version",
    "dimensions": "which holds at most",
    "parentheses": "operators and parentheses are open",
    "signs": "operators and parentheses are open",
    "braces of values": "nested too deep",
    "blocks in blocks": "nested too deep",
    "four billion textures": "a module has at most",
    "hints again and again": "there is no ld.global",
    "an alias of itself": "a would be an alias of itself",
    "aliases in a circle": "c is a is b is c",
    "a variable that begins as its own address": "not declared before",
}
LOADS = {
    *("aliases of aliases", "aliases of aliases, the last first", "a chain of calls", "lists of functions"),
    *("lists of labels", "variables that begin as addresses of others", "ranges of registers among names", "values"),
    *("ranges of registers after names", "sums", "blocks", "parameters", "data for a debugger", "a comment"),
    *("a pragma", "a pragma of escapes", "a line of a preprocessor", "digits after zeros", "a fraction"),
    *("a hundred times 65,536 variables", "a hundred times 65,536 registers", "many variables in .local"),
    *("sixteen million textures", "a GiB of which one byte is given", "functions that call one another"),
    "variables that begin as one another's addresses",
}


@pytest.mark.slow
def test_under_a_limit() -> None:
    """All texts in one test: the process that reads them is started once."""
    every = loaded()
    for name in NAMES:
        assert name in every, f"{name}: the process ended before: {every['']}"
        found = every[name]
        assert not found["outcome"].startswith("failed"), (name, found["outcome"])
        assert (found["outcome"] == "loaded") == (name in LOADS), (name, found["outcome"][:500])
        assert SAID.get(name, "") in found["outcome"], name
        assert len(found["outcome"]) < 400_000, name
        check(found["seconds"], 80_000)


def test_little_text_takes_little() -> None:
    """What declares much, and gives one byte of it, loads at once; so do its launches' images."""
    ptxspec.load(body("ret;"))
    for name in ("a GiB of which one byte is given", "a hundred times 65,536 variables", "sixteen million textures"):
        began = time.process_time()
        tracemalloc.start()
        module = ptxspec.load(hostile.SHORT[name])
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        own = sum(module.checked.sizes.values())  # the images, of which the host holds what is not zero
        assert peak < own + 20_000_000, (name, now, peak)
        check(time.process_time() - began, 8000)


def test_the_memory_that_a_variable_takes() -> None:
    """Of a GiB with one byte given, the process holds little."""
    command = [sys.executable, "-c", (
        "import resource, ptxspec\n"
        f"ptxspec.load({body('ret;')!r})\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"ptxspec.load({hostile.SHORT['a GiB of which one byte is given']!r})\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )]  # fmt: skip
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 100 * 1024, f"{grown} KiB"


@pytest.mark.sample(2)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", hostile.GROWING)
def test_time_is_linear(name: str) -> None:
    """Four times the lines take about four times as long; quadratic would be sixteen times."""

    def take(count: int) -> float:
        text = hostile.GROWING[name](count)
        return seconds(lambda: outcome(text))

    grows_in_proportion(take, 1000, most=8)


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", hostile.GROWING)
def test_memory_is_linear(name: str) -> None:
    def peak(count: int) -> int:
        text = hostile.GROWING[name](count)
        tracemalloc.start()
        outcome(text)
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    small, large = peak(250), peak(1000)
    assert large < 6 * max(small, 150_000), f"{small} bytes, and of four times as much {large}"


def outcome(text: str) -> str:
    try:
        ptxspec.load(text)
    except ptxspec.PtxError as error:
        return str(error)
    return "loaded"


# what is kept of many complaints ---------------------------------------------------------------------------------------


def test_the_first_hundred_are_kept_in_the_order_of_the_text() -> None:
    """Functions are checked before entries, and initial values last; what is shown first is what stands first."""
    wrong = "mov.u32 a, b;\n" * 150
    text = f"{HEADER}.entry k() {{\n{wrong}}}\n.func f() {{\n{wrong}}}\n"
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text)
    assert [d.line for d in caught.value.diagnostics] == list(range(5, 105)) and caught.value.more == 200
    assert caught.value.whole


def test_complaints_of_modules_that_are_linked() -> None:
    """Of each at most a hundred, and the others counted."""
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.link([body("mov.u32 %r1, %x;\n" * 300), body("frob;\n" * 200), body("")])
    found = caught.value
    assert len(found.diagnostics) == 200 and found.more == 300 and str(found).endswith("and 300 more")
    assert found.as_dict()["more"] == 300 and json.loads(json.dumps(found.as_dict()))["more"] == 300


def test_a_text_of_errors_is_not_read_to_its_end() -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(HEADER + ";" * 100_000)
    assert not caught.value.whole and str(caught.value).endswith("and 19,900 more; the rest is not read")


@pytest.mark.parametrize("before", [0, 50, 199, 201, 5000])
@pytest.mark.parametrize("after", [0, 50, 5000])
def test_a_part_of_a_long_line_is_quoted(before: int, after: int) -> None:
    """The caret stands below the place."""
    line = f"/*{'a' * before}*/mov.u32 %r1, %x;/*{'b' * after}*/"
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(body(line))
    (found,) = caught.value.diagnostics
    assert line[found.begins - 1 :].startswith(found.source) and len(found.source) <= 200
    _, quoted, caret = str(found).split("\n")
    assert quoted[caret.index("^") :].startswith("%x;") and len(quoted) <= 201


# what name<N> declares -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".global .b32 x<5>; .global .b32 x3;", "x3 is declared twice"),
        (".global .b32 x3; .global .b32 x<5>;", "is declared twice"),
        (".global .b32 x<5>; .global .b32 x<7>;", "is declared twice"),
        (".global .b32 x<5>; .func x3() { ret; }", "is the name of a variable and of a function"),
        (".global .b32 x<5>; .global .u64 y = x5;", "x5, whose address is the initial value, is not declared"),
        (".global .u64 y = x3; .global .b32 x<5>;", "x3, whose address is the initial value, is not declared"),
        (".entry k() { .reg .b64 r; mov.u64 r, x5; } .global .b32 x<5>;", "x5 is not declared"),
        (".entry k() { .reg .b64 r; mov.u64 r, x3; } .global .b32 x<5>;", "x3 is used before it is declared"),
        (".global .b32 x<5>; .entry k() { .reg .b64 r; mov.u64 r, x5; }", "x<5> ends with x4"),
    ],
)
def test_what_is_refused_of_ranges(text: str, message: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(HEADER + text)
    assert message in str(caught.value)


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_variables_of_ranges(engine: str) -> None:
    """In the module, in a function and in an entry; one hides another, and zeros before a number do not count."""
    import numpy as np

    out = np.zeros(4, np.uint32)
    text = (
        f"{HEADER}.global .b32 x<100>;\n.shared .b32 s<3>;\n.global .u64 p = x7;\n"
        ".func f() { .global .b32 x<9>; .reg .b32 r; ld.global.b32 r, [x8]; add.u32 r, r, 1; st.global.b32 [x8], r; ret; }\n"
        ".entry k(.param .u64 out) { .reg .b64 a, b; .reg .b32 r<9>; .local .b32 l<4>;\n"
        "call f; call f; ld.global.b32 r0, [x8]; st.shared.b32 [s2], 5; st.local.b32 [l3], 7;\n"
        "ld.shared.b32 r1, [s2]; ld.local.b32 r2, [l03]; ld.param.u64 a, [out];\n"
        "st.global.b32 [x7], 11; ld.global.u64 b, [p]; ld.global.b32 r3, [b];\n"
        "st.global.v4.b32 [a], {r0, r1, r2, r3}; ret; }\n"
    )
    for module in (ptxspec.load(text), ptxspec.link([text, f"{HEADER}.global .b32 x<50>;"])):
        module.launch("k", args=[out], engine=engine)
        assert out.tolist() == [0, 5, 7, 11]
    module = ptxspec.load(text)
    module.launch("k", args=[out], engine=engine)
    assert bytes(module.read("x7")) == b"\x0b\0\0\0" and bytes(module.read("x99")) == b"\0\0\0\0"
    with pytest.raises(KeyError):
        module.read("x100")


@pytest.mark.slow
def test_ranges_that_other_modules_see() -> None:
    first = f"{HEADER}.visible .global .b32 x<10>;"
    second = f"{HEADER}.extern .global .b32 x7; .entry k() {{ st.global.b32 [x7], 5; ret; }} .entry j() {{ ret; }}"
    module = ptxspec.link([second, first])
    module.launch("k")
    assert bytes(module.read("x7")) == b"\5\0\0\0" and bytes(module.read("x8")) == b"\0\0\0\0"
    with pytest.raises(ptxspec.PtxError, match="name<N>"):
        ptxspec.link([second, HEADER + "".join(f".visible .global .b8 v{i}_<65536>;" for i in range(5))])


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_label_twice_in_a_list(engine: str) -> None:
    """Its places count, also where two of them have one label."""
    import numpy as np

    out = np.zeros(1, np.uint32)
    text = (
        (
            f"{HEADER}.entry k(.param .u32 i, .param .u64 out) {{ .reg .b32 i, r; .reg .b64 a; ld.param.u32 i, [i];\n"
            "ld.param.u64 a, [out]; t: .branchtargets L, L, M; brx.idx i, t;\n"
            "L: mov.u32 r, 1; bra E; M: mov.u32 r, 2; E: st.global.u32 [a], r; ret; }"
        )
        .replace(".param .u32 i,", ".param .u32 n,")
        .replace("i, [i]", "i, [n]")
    )
    for i, wanted in ((0, 1), (1, 1), (2, 2)):
        ptxspec.load(text).launch("k", args=[np.uint32(i), out], engine=engine)
        assert out[0] == wanted
