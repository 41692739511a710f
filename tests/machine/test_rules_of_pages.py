"""A rule of the machine stands on a page alone: where another is put in its place, both engines do what that says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from launching import ENGINES, kernel

import ptxspec
from ptxspec import contracts
from ptxspec.literate import finder
from ptxspec.machine import imaging
from ptxspec.machine.driver import inventory
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.machine.native import code
from ptxspec.terms.steps import Step
from ptxspec.terms.vocabulary import select

pytestmark = pytest.mark.sample(8)


def page(name: str) -> Any:
    return finder.load(f"ptxspec.spec.{name}")


def outcomes(source: str, words: int = 8, **how: Any) -> list[Any]:
    """What a kernel leaves, or the rule that it breaks, under each engine."""
    found: list[Any] = []
    for engine in ENGINES:
        out = np.zeros(words, np.uint32)
        more = how.pop("more", [])
        try:
            ptxspec.load(source).launch("k", args=[out, *more], engine=engine, **how)
            found.append(out.tolist())
        except ptxspec.LaunchError as error:
            found.append(error.rule)
    return found


class Case(NamedTuple):
    """A rule, another in its place, a program that tells them apart, and how it is launched."""

    page: str
    rule: str
    wrong: Callable[[Any], Any]
    source: str
    how: dict[str, Any] = {}


#: `deep` calls itself as often as it is told, and leaves where its variable lies in the last call
DEEP = """
.func (.reg .b32 at) deep (.reg .b32 times) {
    .local .b32 own; .reg .b32 less; .reg .b64 a; .reg .pred p; .reg .b32 kept;
    mov.u64 a, own; cvt.u32.u64 at, a; sub.u32 less, times, 1; setp.eq.u32 p, times, 0;
    @p bra OUT;
    mov.u32 kept, times; call (at), deep, (less); add.u32 kept, kept, at; setp.eq.u32 p, kept, 0; @p trap;
OUT: ret;
}
"""


def calling(times: int) -> str:
    return kernel(f"call (%r5), deep, ({times}); st.global.u32 [%rd0], %r5;", module=DEEP)


#: a chain of calls that has just as much as it needs
CHAIN = kernel(
    "call (%r5), one; st.global.u32 [%rd0], %r5;",
    module=".func (.reg .b32 r) one () { .local .b32 x; st.local.u32 [x], 7; ld.local.u32 r, [x]; ret; }",
)
#: two pieces, and an access between them, or behind what was given back
BETWEEN = kernel("alloca.u64 %rd2, 4; alloca.u64 %rd3, 4; ld.local.u32 %r5, [%rd2+8]; st.global.u32 [%rd0], 5;")
GIVEN_BACK = kernel(
    "stacksave.u64 %rd5; alloca.u64 %rd2, 8; stackrestore.u64 %rd5; ld.local.u32 %r5, [%rd2]; st.global.u32 [%rd0], 5;"
)
#: the first thread goes through a narrow loop until its turn is over, and all then draw numbers
NARROW = kernel("""
    .reg .b32 most, i; setp.eq.u32 %p0, %r1, 0; selp.u32 most, 342, 5, %p0; mov.u32 i, 0; mov.u32 %r9, 0;
    bra HEAD;
N:  add.u32 i, i, 1; setp.lt.u32 %p1, i, most; @%p1 bra N;
HEAD: atom.global.add.u32 %r5, [tickets], 1; st.global.u32 [%rd1], %r5;
    mov.u32 i, 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 2; @%p2 bra N;
""", module=".global .u32 tickets;")  # fmt: skip
#: each thread draws a number, meets the others of its CTA, and draws another
RESIDENT = kernel(
    "atom.global.add.u32 %r5, [tickets], 1; bar.sync 0; atom.global.add.u32 %r5, [tickets], 1; st.global.u32 [%rd1], %r5;",
    module=".global .u32 tickets;",
)
DYNAMIC = kernel(
    ".shared .b8 own[5]; mov.u32 %r5, more; st.shared.u8 [own], 1; st.global.u32 [%rd0], %r5;",
    module=".extern .shared .align 4 .b8 more[];",
)
SECOND = kernel(
    "ld.param.u64 %rd2, [second]; cvt.u32.u64 %r5, %rd2; cvt.u32.u64 %r6, %rd0; sub.u32 %r5, %r5, %r6;"
    "st.global.u32 [%rd0], %r5;",
    ".param .u64 out, .param .u64 second",
)
PART = kernel(".shared .b32 own; mov.u32 %r5, own; st.global.u32 [%rd1], %r5;")
WIDENED = kernel("st.global.u32 [%rd0], 0x80; ld.global.s8 %r5, [%rd0]; st.global.u32 [%rd0], %r5;")
BEHIND = kernel(
    ".shared .b32 own[4]; mov.u32 %r4, own; add.u32 %r4, %r4, 4; st.shared.u32 [%r4], 9; add.u32 %r4, %r4, 4;"
    "ld.shared.u32 %r5, [own+4]; ld.shared.u32 %r6, [%r4+-4]; mad.lo.u32 %r5, %r5, 16, %r6; st.global.u32 [%rd0], %r5;"
)
INDEX = kernel("T: .branchtargets A, B; mov.u32 %r4, 1; brx.idx %r4, T; A: ret; B: st.global.u32 [%rd0], 1;")
HEAP = kernel(
    "{ .param .b64 s; .param .b64 r; st.param.b64 [s], 4; call (r), malloc, (s); ld.param.b64 %rd2, [r];"
    "call (r), malloc, (s); ld.param.b64 %rd3, [r]; sub.u64 %rd3, %rd3, %rd2; cvt.u32.u64 %r5, %rd3;"
    "st.global.u32 [%rd0], %r5; }",
    module=".extern .func (.param .b64 r) malloc(.param .b64 size);",
)
#: all numbers up to four: each call still reads its own after the one that it makes
SUM = kernel(
    "call (%r5), sum, (4); st.global.u32 [%rd0], %r5;",
    module="""
.func (.reg .b32 r) sum (.reg .b32 n) {
    .reg .b32 less; .reg .pred p;
    mov.u32 r, 0; setp.eq.u32 p, n, 0; @p bra OUT; sub.u32 less, n, 1; call (r), sum, (less); add.u32 r, r, n;
OUT: ret;
}
""",
)
#: a piece that has all the heap, which is given back and asked for again
ALL_OF_THE_HEAP = kernel(
    f"""{{ .param .b64 s; .param .b64 r; st.param.b64 [s], {page("functions.system").HEAP - 32};
    call (r), malloc, (s); ld.param.b64 %rd2, [r]; setp.ne.u64 %p1, %rd2, 0; selp.u32 %r5, 1, 0, %p1;
    st.param.b64 [s], %rd2; call free, (s); st.param.b64 [s], {page("functions.system").HEAP - 32};
    call (r), malloc, (s); ld.param.b64 %rd3, [r]; setp.ne.u64 %p1, %rd3, 0; selp.u32 %r6, 2, 0, %p1;
    add.u32 %r5, %r5, %r6; st.global.u32 [%rd0], %r5; }}""",
    module=".extern .func (.param .b64 r) malloc(.param .b64 size); .extern .func free(.param .b64 at);",
)
TOGETHER = kernel("activemask.b32 %r5; st.global.u32 [%rd1], %r5;")
#: one lane comes so late that the machine has looked at the others before
LATE = kernel("""
    setp.ne.u32 %p0, %r1, 15; mov.u32 %r5, 0; @%p0 bra MEET;
LOOP: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 40000; @%p1 bra LOOP;
MEET: vote.sync.any.pred %p1, 1, 0xffff;
""")
WRITTEN = kernel(
    "ld.param.u64 %rd2, [image]; mov.u32 %r5, 0; sust.b.1d.b32.trap [%rd2, {%r5}], 6; suld.b.1d.b32.trap %r5, [%rd2, {%r5}];"
    "st.global.u32 [%rd0], %r5;",
    ".param .u64 out, .param .u64 image",
)


def image() -> ptxspec.Surface:
    return ptxspec.Surface(np.zeros((4, 1), np.uint32), "1d")


def state(name: str) -> Callable[[Any], Any]:
    """Spans whose bytes are all in another state."""

    def planted(right: Any) -> Any:
        own = getattr(page("functions.index"), name)
        return lambda *given: tuple(span._replace(state=own) for span in right(*given))

    return planted


CASES = {
    "where frames lie": Case(
        "functions.index", "frame_of_call", lambda right: lambda *given: right(*given) - 16, calling(3)
    ),
    "room for frames": Case(
        "functions.index", "has_room", lambda right: lambda begin, end, *more: right(begin, end + 16, *more), CHAIN
    ),
    "what calls put by": Case("functions.index", "kept", lambda right: lambda sizes: 8 * right(sizes), calling(1000)),
    "which registers calls put by": Case("functions.index", "put_by", lambda right: lambda *given: set(), SUM),
    "between pieces": Case("functions.index", "extended", state("ALIVE"), BETWEEN),
    "after they were given back": Case("functions.index", "released", state("NEVER"), GIVEN_BACK),
    "where a stack ends": Case(
        "functions.index", "may_end", lambda right: lambda to, end, begins: right(to, end, begins - 1), GIVEN_BACK
    ),
    "which ends are saved": Case("functions.index", "saved", state("NEVER"), GIVEN_BACK),
    "what tells of a saved end": Case(
        "functions.index", "was_saved", lambda right: lambda below: right(below + 1), GIVEN_BACK
    ),
    "how low a stack comes": Case("functions.index", "least_end", lambda right: lambda entry: entry + 65_536, BETWEEN),
    "when a turn ends": Case(
        "machine.schedule",
        "ends_turn",
        lambda right: lambda at, to, narrow, taken, most: right(at, to, narrow, taken - 3, most),
        NARROW,
        {"block": 8},
    ),
    "which loops are narrow": Case(
        "machine.schedule", "is_narrow", lambda right: lambda *given: False, NARROW, {"block": 8}
    ),
    "who is resident": Case(
        "machine.limits", "resident_threads", lambda right: lambda *given: 4, RESIDENT, {"grid": 2, "block": 4}
    ),
    "where buffers lie": Case(
        "machine.memory", "next_buffer", lambda right: lambda end: right(end) + 256, SECOND, {"more": np.zeros(4)}
    ),
    "the dynamic part": Case(
        "machine.memory", "dynamic_part", lambda right: lambda *given: right(*given) + 4, DYNAMIC, {"dynamic_shared": 4}
    ),
    "parts of shared memory": Case(
        "state_spaces.generic_addressing",
        "part_begins",
        lambda right: lambda rank: right(rank) * 2,
        PART,
        {"grid": 2, "cluster": 2},
    ),
    "wider registers": Case(
        "operands.type_checking", "widened", lambda right: lambda value, type, width: value, WIDENED
    ),
    "addresses in brackets": Case(
        "variables.index", "behind", lambda right: lambda a, n, *bits: right(a, 2 * n, *bits), BEHIND
    ),
    "lists of labels": Case(
        "instructions.control.index", "in_list", lambda right: lambda index, n: right(index + 1, n), INDEX
    ),
    "pieces of the heap": Case(
        "functions.system", "next_piece", lambda right: lambda at, size: right(at, size) + 16, HEAP
    ),
    "room in the heap": Case(
        "functions.system", "has_room", lambda right: lambda at, size, end: right(at, size + 1, end), ALL_OF_THE_HEAP
    ),
    "where a piece was": Case(
        "functions.system", "fits_into", lambda right: lambda size, before: right(size + 1, before), ALL_OF_THE_HEAP
    ),
    "declarations of the system's": Case("functions.system", "is_declared", lambda right: lambda *given: False, HEAP),
    "what a launch has written": Case(
        "variables.opaque_types", "may_be_read", lambda right: lambda marks, writes: right(marks * 0, writes), WRITTEN
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_a_rule_that_says_something_else(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[what]

    def found() -> list[Any]:
        how = dict(case.how)
        imaging._compiled.clear()
        given = [how.pop("more")] if "more" in how else []
        if case.source is WRITTEN:
            given = [image()]
        results: list[Any] = []
        for engine in ENGINES:
            out = np.zeros(8, np.uint32)
            try:
                ptxspec.load(case.source).launch("k", args=[out, *given], engine=engine, **how)
                results.append(out.tolist())
            except ptxspec.LaunchError as error:
                results.append(error.rule)
        return results

    before = found()
    own = page(case.page)
    monkeypatch.setattr(own, case.rule, case.wrong(getattr(own, case.rule)))
    after = found()
    assert before[0] == before[1] != after[0] == after[1]
    monkeypatch.undo()
    assert found() == before


@pytest.mark.parametrize(
    ("name", "step", "wrong", "source"),
    [
        ("warps", "members", lambda right: lambda arrived, together, masked: select(masked, arrived, 0), TOGETHER),
        ("threads", "begin", lambda right: lambda cta, threads: right(cta, threads + 1), kernel("bar.sync 0;")),
        ("threads", "begin_warp", lambda right: lambda warp, lacking: right(warp, 0),
         kernel("vote.sync.any.pred %p1, 1, 0xffffffff;")),
        ("threads", "is_stuck", lambda right: lambda some_go, others, wait: wait,
LATE),
    ],
)  # fmt: skip
def test_a_step_that_does_something_else(
    name: str, step: str, wrong: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the driver, of which each engine has its own form."""

    def forget() -> None:
        for cache in (scripted, inventory.steps, code.driver):
            cache.cache_clear()

    def found() -> list[Any]:
        return outcomes(source, 16, block=16)

    before, own = found(), page(f"machine.{name}")
    right = getattr(own, step).function
    planted = wrong(right)
    planted.__annotations__ = inspect.get_annotations(right, eval_str=True)
    monkeypatch.setattr(own, step, Step(planted))
    forget()
    try:
        after = found()
    finally:
        monkeypatch.undo()
        forget()
    assert before[0] == before[1] != after[0] == after[1]


# what the host alone asks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "what", "value", "make"),
    [
        ("textures.images", "MOST_TEXELS", 3, image),
        ("textures.images", "OF_SURFACES", ("2d",), image),
        ("textures.lookup", "may_filter", lambda *given: False, lambda: ptxspec.Texture(np.zeros((2, 2, 1), np.float32))),
        ("textures.levels", "may_bound", lambda *given: False, ptxspec.Sampler),
        ("machine.limits", "check_cta", None, None),
        ("machine.clusters", "check_clusters", None, None),
        ("machine.limits", "check_shared", None, None),
    ],
)  # fmt: skip
def test_a_permission_that_is_not_given(
    module: str, what: str, value: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = page(module)

    def refuse(*given: Any) -> None:
        raise own.Refused("planted")

    def launch() -> None:
        ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)])

    (make or launch)()
    monkeypatch.setattr(own, what, refuse if value is None else value)
    with pytest.raises(ValueError):
        (make or launch)()


def test_a_sampler_that_forces_coordinates() -> None:
    """Of a texture with a sampler of its own the texture says the most."""
    texture = ptxspec.Texture(np.zeros((2, 2, 1), np.float32), normalized_coords=True)
    forced = ptxspec.Sampler(force_unnormalized_coords=True)
    assert texture.with_sampler(ptxspec.Sampler().state).normalized
    assert not texture.with_sampler(forced.state).normalized
    assert contracts.lookups.combined(texture.state, forced.state).forced
