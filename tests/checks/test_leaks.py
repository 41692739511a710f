"""Memory of the heap that is not freed: what a launch with `check="leak"` reports, what it is silent of, and what a module tells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ptxspec

ENGINES = ("native", "exact")
SCHEDULES = ("round-robin", "warps", *(f"random:{seed}" for seed in range(8)))
#: each thread asks for 24 bytes, and does something with their address, %b
TEXT = """.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .global .u64 kept[16];
.visible .entry k(.param .u64 out) {
    .reg .b64 %a, %b, %c; .reg .b32 %t, %x; .reg .pred %p; .shared .u64 s[16];
    ld.param.u64 %a, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %a, %t, 8, %a;
    { .param .b64 n, r; st.param.b64 [n], 24;
    call (r), malloc, (n);
    ld.param.b64 %b, [r]; }
    BODY
    ret;
}
.visible .entry drop(.param .u64 at) { .reg .u64 p; ld.param.u64 p, [at]; call free, (p); ret; }
.visible .entry link(.param .u64 at) { .reg .u64 p, q; ld.param.u64 p, [at]; call (q), malloc, (8); st.u64 [p], q; ret; }
"""
CALL = 13
FREE = "{ .param .b64 p; st.param.b64 [p], %b; call free, (p); }"


def launch(body: str, engine: str, schedule: str = "auto", check: str = "leak", **how: object) -> ptxspec.Outcome:
    module, out = ptxspec.load(TEXT.replace("BODY", body), "k.ptx"), np.zeros(16, np.uint64)
    return module.launch(
        "k", block=8, args=[out], engine=engine, schedule=schedule, check=check, findings="collect", **how
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "first", "count"),
    [
        ("", 0, 8),
        ("setp.lt.u32 %p, %t, 3; @%p bra E; " + FREE + " E:", 0, 3),
        ("setp.ge.u32 %p, %t, 3; @%p bra E; " + FREE + " E:", 3, 5),
        ("st.u64 [%b], %b;", 0, 8),  # a piece that points to itself
        ("mov.u64 %c, s; mad.wide.u32 %c, %t, 8, %c; st.shared.u64 [%c], %b;", 0, 8),  # where the CTA alone sees it
        ("sub.u64 %b, %b, 1; st.global.u64 [%a], %b;", 0, 8),  # before the piece
        ("add.u64 %b, %b, 25; st.global.u64 [%a], %b;", 0, 8),  # beyond the byte behind it
        ("st.global.u64 [%a], %b; st.global.u64 [%a], 0;", 0, 8),
    ],
)  # fmt: skip
def test_pieces_that_nothing_points_to_are_reported(body: str, first: int, count: int, engine: str) -> None:
    """In every schedule the same: the first thread's piece, and how many there are."""
    for schedule in SCHEDULES:
        (leak,) = launch(body, engine, schedule).findings
        assert (leak.kind, leak.count, leak.size, leak.space, leak.other) == ("leak", count, 24, "global", None)
        assert (leak.where.thread, leak.where.cta, leak.where.line) == ((first, 0, 0), (0, 0, 0), CALL)
        assert leak.where.instruction == "call (r), malloc, (n);" and leak.page.startswith("spec/functions/system.md:")
        assert f"{count} pieces that malloc returned, {24 * count} bytes together, are not freed" in leak.note


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "body",
    [
        FREE,
        "st.global.u64 [%a], %b;",
        "add.u64 %b, %b, 23; st.global.u64 [%a], %b;",
        "add.u64 %b, %b, 24; st.global.u64 [%a], %b;",  # the end of an array
        "or.b64 %b, %b, 0x7fff000000000001; st.global.u64 [%a], %b;",  # marks
        "mov.u64 %c, kept; mad.wide.u32 %c, %t, 8, %c; st.global.u64 [%c], %b;",
        "atom.global.exch.b64 %c, [kept], %b; st.u64 [%b], %c;",  # a list
        "atom.global.exch.b64 %c, [kept+8], %b; st.u32 [%b+4], %c; shr.u64 %c, %c, 32; st.u32 [%b+8], %c;",  # packed
    ],
)
def test_pieces_that_something_points_to_are_no_leaks(body: str, engine: str) -> None:
    for schedule in ("round-robin", "random:1"):
        assert launch(body, engine, schedule).findings == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_pointers_in_memory_of_the_caller_and_in_older_pieces(engine: str) -> None:
    """What is linked to a piece of an earlier launch may be freed by a later one, wherever the host keeps that piece's address."""
    module, memory = ptxspec.load(TEXT.replace("BODY", "st.global.u64 [%a], %b;")), ptxspec.Memory()
    owned = memory.allocate(128)
    module.launch("k", block=8, args=[owned], engine=engine, check="leak")
    first = memory.view(owned, np.uint64)[0]
    memory.view(owned)[:] = 0
    module.launch("link", args=[first], engine=engine, check="leak")
    module.launch("link", args=[int(owned) + 64], memory=memory, engine=engine, check="leak")
    # the one before is lost, which this launch has not asked for
    module.launch("link", args=[first], engine=engine, check="leak")
    assert [(left.where.line, left.count) for left in module.leaks()] == [(CALL, 8), (19, 3)]
    module.launch("drop", args=[first], engine=engine, check="all")
    assert [(left.kind, left.count) for left in module.leaks()] == [("leak", 7), ("leak", 3)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_launch_that_leaks_ends_in_an_error(engine: str) -> None:
    """It leaves nothing behind, as after any other error."""
    module, out = ptxspec.load(TEXT.replace("BODY", "")), np.zeros(16, np.uint64)
    for check in ("leak", "all"):
        with pytest.raises(ptxspec.LaunchError, match="leak: 8 pieces") as caught:
            module.launch("k", block=8, args=[out], engine=engine, check=check)
        assert caught.value.rule == "leak" and len(caught.value.findings) == 1
        assert module.leaks() == ()
    for check in (None, "race", "uninitialized"):
        assert module.launch("k", block=8, args=[out], engine=engine, check=check).findings == ()
    assert module.leaks()[0].count == 24
    assert module.launch("k", args=[out], engine=engine, check="leak", findings="collect").findings[0].count == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_at_most_a_hundred_are_kept(engine: str) -> None:
    calls = "".join(f"call (%b), malloc, ({8 * i});" for i in range(1, 131))
    outcome = launch(calls, engine)
    assert len(outcome.findings) == 100 and outcome.findings_omitted == 8 * 31
    assert [leak.size for leak in outcome.findings] == [24, *range(8, 8 * 100, 8)]


def test_engines_report_the_same_with_lines_of_cuda() -> None:
    text = (Path(__file__).parent / "suite" / "l_list.fault.ptx").read_text()

    def leaks(engine: str) -> list[tuple[object, ...]]:
        args = [np.arange(32, dtype=np.int32), np.zeros(8, np.int32)]
        outcome = ptxspec.load(text).launch("k", block=8, args=args, check="leak", findings="collect", engine=engine)
        return [tuple(leak) for leak in outcome.findings]

    (native,) = leaks("native")
    assert leaks("exact") == [native] and native[2].origin == ("l_list.cu", 12)


def test_a_pointer_in_a_surface() -> None:
    text = TEXT.replace(".visible .global", ".global .surfref image; .visible .global").replace(
        "BODY", "shl.b32 %x, %t, 3; sust.b.1d.b64.trap [image, {%x}], %b;"
    )
    for width, count in ((8, 0), (4, 4)):
        module, out = ptxspec.load(text.replace(".trap", ".zero")), np.zeros(16, np.uint64)
        module.bind("image", ptxspec.Surface(np.zeros((width, 2), np.uint32), "1d"))
        outcome = module.launch("k", block=8, args=[out], check="leak", findings="collect")
        assert sum(leak.count for leak in outcome.findings) == count


def test_memory_of_the_host() -> None:
    """Whoever allocated it: each piece has the line of the program."""
    memory = ptxspec.Memory()
    first, _ = memory.allocate(16, name="first"), memory.put(np.zeros(3, np.uint8), name="second")
    memory.register(np.zeros(2, np.uint32), name="third")
    line = sys._getframe().f_lineno
    assert {(leak.name, leak.size, leak.path, leak.line - line) for leak in memory.leaks()} == {
        ("first", 16, __file__, -2), ("second", 3, __file__, -2), ("third", 8, __file__, -1),
    }  # fmt: skip
    memory.free(first)
    assert [leak.name for leak in memory.leaks() if leak.address < 2**45] == ["second"]
    memory.multicast(64, 2, name="sums")
    assert {leak.name for leak in memory.leaks()} == {"second", "third", "sums of device 0", "sums of device 1"}
    assert str(memory.leaks()[0]).startswith(f"leak: {memory.leaks()[0].name} is not freed\n  at {__file__}:")


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(TEXT.replace("BODY", ""))
    options = ["--kernel", "k", "--block", "8", "--arg", "u64[16]=zeros", "--check", "leak"]
    words = [sys.executable, "-m", "ptxspec", "run", str(path), *options]
    run = subprocess.run(words, capture_output=True, text=True)
    assert run.returncode == 1 and "leak: 8 pieces that malloc returned" in run.stdout + run.stderr
    run = subprocess.run([*words, "--findings", "collect", "--json"], capture_output=True, text=True)
    (leak,) = json.loads(run.stdout)["findings"]
    assert (leak["kind"], leak["line"], leak["count"], leak["other"]) == ("leak", CALL, 8, None)
