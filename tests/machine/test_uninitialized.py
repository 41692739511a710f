"""Launches with `check="uninitialized"`: what is reported where, under both engines, and what is not."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from launching import kernel, text

import ptxspec
from ptxspec import contracts
from ptxspec.machine.findings import LaunchFinding
from ptxspec_workshop.generate.fuzzing import layout, random_program

pytestmark = pytest.mark.sample(8)

USES = contracts.initialization
SCHEDULES = ["round-robin", "warps", "random:3"]
BOTH = ["exact", "native"]
#: a variable of each kind that nobody has written, and how it gets into %r10; the corrected twin writes it first
SOURCES: dict[str, tuple[str, str, str, str]] = {
    "register": ("", "mov.b32 %r11, 7;", "mov.b32 %r10, %r11;", ""),
    "predicate": ("", "setp.eq.u32 %p5, %r1, %r1;", "selp.b32 %r10, 7, 9, %p5;", ""),
    "carry": ("", "add.cc.u32 %r11, %r1, %r1;", "addc.u32 %r10, 3, 4;", ""),
    "shared": (
        ".shared .align 8 .b32 cell[64];",
        "shl.b32 %r12, %r1, 2; mov.b32 %r13, cell; add.u32 %r12, %r12, %r13; st.shared.b32 [%r12], 7;",
        "shl.b32 %r12, %r1, 2; mov.b32 %r13, cell; add.u32 %r12, %r12, %r13; ld.shared.b32 %r10, [%r12];",
        "shared",
    ),
    "local": (".local .b32 own[4];", "st.local.b32 [own+4], 7;", "ld.local.b32 %r10, [own+4];", "local"),
    "half a word": (
        ".local .b32 own[4];",
        "st.local.b16 [own+6], 7;",
        "st.local.b16 [own+4], 7; ld.local.b32 %r10, [own+4];",
        "local",
    ),
    "vector": (
        ".local .align 16 .b32 own[4];",
        "st.local.b32 [own+4], 7;",
        "st.local.b32 [own], 7; ld.local.v2.b32 {%r9, %r10}, [own];",
        "local",
    ),
    "generic": (
        ".local .align 16 .b32 own[4];",
        "st.local.b32 [own+4], 7;",
        "mov.u64 %rd8, own; cvta.local.u64 %rd8, %rd8; ld.b32 %r10, [%rd8+4];",
        "local",
    ),
    "through arithmetic": ("", "mov.b32 %r11, 7;", "add.u32 %r10, %r11, 1; mul.lo.u32 %r10, %r10, 3; and.b32 %r10, %r10, 31;", ""),
}  # fmt: skip
#: how %r10 matters
MATTERS: dict[str, tuple[str, str]] = {
    "branch": ("setp.eq.u32 %p6, %r10, 7; @%p6 bra OUT; OUT:", USES.BRANCH),
    "guard of an access": ("setp.eq.u32 %p6, %r10, 7; @%p6 st.global.b32 [%rd1], 1;", USES.GUARD),
    "address": ("popc.b32 %r14, %r10; and.b32 %r14, %r14, 4; cvt.u64.u32 %rd9, %r14; add.u64 %rd9, %rd9, %rd0; ld.global.b32 %r15, [%rd9];", USES.ADDRESS),
    "store": ("st.global.b32 [%rd1], %r10;", USES.STORED),
    "generic store": ("st.b32 [%rd1], %r10;", USES.STORED),
    "atomic": ("red.global.add.u32 [%rd1], %r10;", USES.UPDATED),
    "barrier": ("popc.b32 %r14, %r10; and.b32 %r14, %r14, 7; bar.sync %r14;", USES.BARRIER),
    "vote": ("setp.eq.u32 %p6, %r10, 7; vote.sync.ballot.b32 %r15, %p6, -1;", USES.GIVEN),
}  # fmt: skip


def found(source: str, **how: Any) -> list[LaunchFinding]:
    """The findings of a launch of 64 threads."""
    options = {
        "grid": 1,
        "block": 64,
        "args": [np.zeros(64, np.uint32)],
        "check": "uninitialized",
        "findings": "collect",
    }
    return list(ptxspec.load(source, "k.ptx").launch("k", **{**options, **how}).findings)


def told(findings: list[LaunchFinding]) -> list[tuple[Any, ...]]:
    return [(f.note, f.where.instruction, f.other and f.other.instruction, f.space, f.size, f.count) for f in findings]


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("matters", MATTERS)
@pytest.mark.parametrize("source", SOURCES)
def test_each_source_where_it_matters(source: str, matters: str, engine: str) -> None:
    declared, written, read, space = SOURCES[source]
    use, why = MATTERS[matters]
    (finding, *_) = findings = found(kernel(f"{declared}\n{read}\n{use}"), engine=engine)
    assert {f.kind for f in findings} == {"uninitialized"}
    assert why in {f.note.split(", and ")[1] for f in findings}
    assert finding.space == space and bool(finding.size) == bool(space)
    assert finding.other is not None and finding.other.instruction in read
    assert finding.page.startswith("spec/machine/initialization.md")
    assert found(kernel(f"{declared}\n{written}\n{read}\n{use}"), engine=engine) == []


@pytest.mark.parametrize("source", SOURCES)
def test_engines_and_schedules_agree(source: str) -> None:
    declared, _, read, _ = SOURCES[source]
    module = kernel(f"{declared}\n{read}\nst.global.b32 [%rd1], %r10;")
    reported = [told(found(module, engine=e, schedule=s)) for e in BOTH for s in SCHEDULES]
    assert reported[0] and all(other == reported[0] for other in reported)
    assert reported[0][0][-1] == 64


def test_a_report_in_a_block_of_its_own() -> None:
    """What it reads, the instructions behind it read too."""
    module = kernel(
        "bra L; L: st.global.b32 [%rd1], %r10; bra M; M: st.global.b32 [%rd1], %r10; add.u64 %rd1, %rd1, 0;"
    )
    reported = [told(found(module, engine=e, schedule=s)) for e in BOTH for s in SCHEDULES]
    assert len(reported[0]) == 2 and all(other == reported[0] for other in reported)


def test_a_launch_raises_what_it_found() -> None:
    module = ptxspec.load(kernel("st.global.b32 [%rd1], %r10;"))
    words = np.ones(64, np.uint32)
    with pytest.raises(ptxspec.LaunchError, match="%r10 was not initialized") as caught:
        module.launch("k", block=64, args=[words], check="uninitialized")
    assert caught.value.rule == "uninitialized" and len(caught.value.findings) == 1 and (words == 1).all()
    assert caught.value.page is not None and caught.value.page.startswith("spec/machine/initialization.md")
    module.launch("k", block=64, args=[words])
    assert (words == 0).all()


# what passes it on, and what does not ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(
    "body",
    [
        "and.b32 %r11, %r10, 0; st.global.b32 [%rd1], %r11;",
        "or.b32 %r11, %r10, -1; st.global.b32 [%rd1], %r11;",
        "xor.b32 %r11, %r10, %r10; st.global.b32 [%rd1], %r11;",
        "sub.u32 %r11, %r10, %r10; st.global.b32 [%rd1], %r11;",
        "setp.eq.u32 %p1, %r1, %r1; selp.b32 %r11, 5, %r10, %p1; st.global.b32 [%rd1], %r11;",
        "bfi.b32 %r11, 3, %r10, 0, 32; st.global.b32 [%rd1], %r11;",
        "prmt.b32 %r11, %r1, %r10, 0x3210; st.global.b32 [%rd1], %r11;",
        "mov.b64 %rd5, {%r1, %r10}; cvt.u32.u64 %r11, %rd5; st.global.b32 [%rd1], %r11;",
        "mov.b64 %rd5, {%r10, %r1}; mov.b64 {%r11, %r12}, %rd5; st.global.b32 [%rd1], %r12;",
        "shl.b32 %r11, %r10, 32; st.global.b32 [%rd1], %r11;",
        "st.global.b16 [%rd1], %r1; bfi.b32 %r11, 3, %r10, 0, 16; cvt.u16.u32 %h1, %r11; st.global.b16 [%rd1], %h1;",
        "mul.lo.u32 %r11, %r10, 256; cvt.u8.u32 %h1, %r11; st.global.b8 [%rd1], %h1;",
        "@%p1 mov.b32 %r11, %r10; mov.b32 %r11, 4; st.global.b32 [%rd1], %r11;",
        "setp.ne.u32 %p1, %r1, %r1; @!%p1 mov.b32 %r11, 4; st.global.b32 [%rd1], %r11;",
        ".local .align 8 .b32 own[4]; st.local.b32 [own], 3; ld.local.v2.b32 {%r10, %r11}, [own]; st.global.b32 [%rd1], %r10;",
    ],
)  # fmt: skip
def test_what_does_not_depend_on_it(body: str, engine: str) -> None:
    assert found(kernel(body), engine=engine) == []


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(
    "body",
    [
        "and.b32 %r11, %r10, 1; st.global.b32 [%rd1], %r11;",
        "selp.b32 %r11, 5, 6, %p1; st.global.b32 [%rd1], %r11;",
        "setp.ne.u32 %p1, %r1, %r1; @%p1 mov.b32 %r11, 4; st.global.b32 [%rd1], %r11;",
        "@%p1 mov.b32 %r1, 4; st.global.b32 [%rd1], %r1;",
        "prmt.b32 %r11, %r1, %r10, 0x3214; st.global.b32 [%rd1], %r11;",
        "mov.b64 %rd5, {%r1, %r10}; shr.u64 %rd5, %rd5, 31; cvt.u32.u64 %r11, %rd5; st.global.b32 [%rd1], %r11;",
        "cvt.rn.f32.u32 %f1, %r10; st.global.f32 [%rd1], %f1;",
        "add.f32 %f1, %f2, 0f00000000; st.global.f32 [%rd1], %f1;",
        "st.global.v2.b32 [%rd0], {%r1, %r10};",
        "div.u32 %r11, %r1, %r10; st.global.b32 [%rd1], %r11;",
        "vote.sync.any.pred %p2, %p1, -1;",
        "mov.b32 %r11, -1; shfl.sync.bfly.b32 %r12, %r10, 1, 31, %r11; st.global.b32 [%rd1], %r12;",
        "shfl.sync.bfly.b32 %r12, %r1, 1, 31, -1; add.u32 %r12, %r12, %r10; st.global.b32 [%rd1], %r12;",
    ],
)  # fmt: skip
def test_what_depends_on_it(body: str, engine: str) -> None:
    assert found(kernel(body), engine=engine) != []


@pytest.mark.parametrize("engine", BOTH)
def test_lanes_pass_on_what_they_have(engine: str) -> None:
    """Of two lanes one has a value; the other gets it, and gives none."""
    body = """
    and.b32 %r20, %r1, 1;  setp.eq.u32 %p1, %r20, 0;
    @%p1 mov.b32 %r10, 7;
    shfl.sync.bfly.b32 %r12, %r10, 1, 31, -1;
    @!%p1 st.global.b32 [%rd1], %r12;"""
    assert found(kernel(body), engine=engine) == []
    (finding,) = found(kernel(body.replace("@!%p1 st", "st")), engine=engine)
    assert finding.count == 32 and finding.where.thread == (0, 0, 0) and finding.note.startswith("%r10 ")


@pytest.mark.parametrize("engine", BOTH)
def test_shared_memory_of_other_threads(engine: str) -> None:
    body = """.shared .align 4 .b32 cells[64];
    mov.u32 %r12, cells;  mad.lo.u32 %r13, %r1, 4, %r12;
    GUARD st.shared.b32 [%r13], %r1;
    bar.sync 0;
    xor.b32 %r14, %r1, 63;  mad.lo.u32 %r14, %r14, 4, %r12;
    ld.shared.b32 %r10, [%r14];
    st.global.b32 [%rd1], %r10;"""
    assert found(kernel(body.replace("GUARD", "")), engine=engine) == []
    guarded = body.replace("GUARD", "setp.lt.u32 %p1, %r1, 60; @%p1")
    (finding,) = found(kernel(guarded), engine=engine)
    assert (finding.count, finding.space, finding.address, finding.size) == (4, "shared", 240 + 12, 4)
    assert finding.where.thread == (0, 0, 0) and "ld.shared" in str(finding.other and finding.other.instruction)


@pytest.mark.parametrize("engine", BOTH)
def test_atomics_on_shared_memory(engine: str) -> None:
    body = """.shared .align 4 .b32 sum;
    setp.eq.u32 %p1, %r1, 0;  INIT
    bar.sync 0;
    atom.shared.add.u32 %r10, [sum], 1;
    bar.sync 0;  ld.shared.b32 %r11, [sum];  st.global.b32 [%rd1], %r11;"""
    assert found(kernel(body.replace("INIT", "@%p1 st.shared.b32 [sum], 0;")), engine=engine) == []
    (finding,) = found(kernel(body.replace("INIT", "")), engine=engine)
    assert USES.READ_BY_UPDATE in finding.note and finding.count == 1 and finding.space == "shared"
    exchange = body.replace("INIT", "").replace(
        "atom.shared.add.u32 %r10, [sum], 1", "atom.shared.exch.b32 %r10, [sum], 1"
    )
    assert found(kernel(exchange), engine=engine) == []
    assert len(found(kernel(exchange + "st.global.b32 [%rd1], %r10;"), engine=engine)) == 1


# memory that the host allocates ----------------------------------------------------------------------------------------

COPIES = kernel(
    "ld.param.u64 %rd4, [from]; mad.wide.u32 %rd5, %r0, 4, %rd4; ld.global.b32 %r10, [%rd5]; st.global.b32 [%rd1], %r10;",
    ".param .u64 out, .param .u64 from",
)


@pytest.mark.parametrize("engine", BOTH)
def test_allocated_memory(engine: str) -> None:
    module, memory = ptxspec.load(COPIES), ptxspec.Memory()
    words, empty, between = memory.put(np.arange(64, dtype=np.uint32)), memory.allocate(256), memory.allocate(256)

    def copied(to: Any, source: Any) -> list[LaunchFinding]:
        outcome = module.launch(
            "k", block=64, args=[to, source], engine=engine, check="uninitialized", findings="collect"
        )
        return list(outcome.findings)

    (finding,) = copied(words, empty)
    assert (finding.count, finding.space, finding.address, finding.size) == (64, "global", int(empty), 4)
    assert copied(between, empty) == []  # nobody sees it
    assert copied(np.zeros(64, np.uint32), between)[0].count == 64
    memory.write(empty, np.zeros(32, np.uint32))
    assert copied(words, empty)[0].count == 32
    assert copied(empty, words) == [] and copied(words, empty) == []
    assert copied(words, between)[0].count == 64
    memory.view(between, np.uint32, 64)  # who has a view may write
    assert copied(words, between) == []


@pytest.mark.parametrize("engine", BOTH)
def test_launches_that_do_not_look_may_write_it(engine: str) -> None:
    module, memory = ptxspec.load(COPIES), ptxspec.Memory()
    first, second = memory.allocate(256), memory.allocate(256)
    module.launch("k", block=64, args=[first, second], engine=engine)
    assert not module.launch("k", block=64, args=[second, first], engine=engine, check="uninitialized").findings


@pytest.mark.parametrize("engine", BOTH)
def test_a_launch_that_fails_has_initialized_nothing(engine: str) -> None:
    module, memory = ptxspec.load(COPIES), ptxspec.Memory()
    words, empty = memory.put(np.zeros(64, np.uint32)), memory.allocate(256)
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        module.launch("k", block=65, args=[empty, words], engine=engine, check="uninitialized")
    outcome = module.launch(
        "k", block=64, args=[words, empty], engine=engine, check="uninitialized", findings="collect"
    )
    assert outcome.findings[0].count == 64


# functions, operations, parameters ---------------------------------------------------------------------------------------

FUNCTIONS = """
.func (.param .b32 d) sum(.param .align 8 .b8 s[8]) { .reg .b32 a, b; .local .b32 own[2];
    ld.param.b32 a, [s];  ld.param.b32 b, [s+4];  add.u32 a, a, b;  st.local.b32 [own], a;  ld.local.b32 b, [own];
    st.param.b32 [d], b;  ret; }
.func (.reg .b32 d) first(.reg .b32 a, .reg .b32 b) { mov.b32 d, a;  ret; }
"""


@pytest.mark.parametrize("engine", BOTH)
def test_calls_pass_it_on(engine: str) -> None:
    passed = """{{ .param .align 8 .b8 s[8]; .param .b32 d;
    st.param.b32 [s], 1;  {}  call (d), sum, (s);  ld.param.b32 %r10, [d]; }}  st.global.b32 [%rd1], %r10;"""
    assert found(kernel(passed.format("st.param.b32 [s+4], 2;"), module=FUNCTIONS), engine=engine) == []
    assert len(found(kernel(passed.format(""), module=FUNCTIONS), engine=engine)) == 1
    registers = "call (%r12), first, ({}); st.global.b32 [%rd1], %r12;"
    assert found(kernel(registers.format("%r1, %r10"), module=FUNCTIONS), engine=engine) == []
    (finding,) = found(kernel(registers.format("%r10, %r1"), module=FUNCTIONS), engine=engine)
    assert finding.note.startswith("%r10 ") and finding.count == 64


@pytest.mark.parametrize("engine", BOTH)
def test_frames_begin_anew(engine: str) -> None:
    function = """.func (.reg .b32 d) again(.reg .b32 a) { .local .b32 own; .reg .pred p; setp.eq.u32 p, a, 0;
    @p st.local.b32 [own], a;  ld.local.b32 d, [own];  ret; }"""
    calls = "mov.b32 %r11, {}; call (%r10), again, (%r11); {} call (%r10), again, (%r11); st.global.b32 [%rd1], %r10;"
    assert found(kernel(calls.format(0, ""), module=function), engine=engine) == []
    (finding,) = found(kernel(calls.format(0, "mov.b32 %r11, 1;"), module=function), engine=engine)
    assert finding.space == "local"


@pytest.mark.parametrize("engine", BOTH)
def test_what_the_stack_gets(engine: str) -> None:
    body = "alloca.u64 %rd5, 16; {} ld.local.b32 %r10, [%rd5]; st.global.b32 [%rd1], %r10;"
    assert found(kernel(body.format("st.local.b32 [%rd5], 1;")), engine=engine) == []
    assert len(found(kernel(body.format("")), engine=engine)) == 1


@pytest.mark.parametrize("engine", BOTH)
def test_what_threads_allocate(engine: str) -> None:
    module = ".extern .func (.param .b64 d) malloc(.param .b64 size);\n.extern .func free(.param .b64 at);"
    body = """{{ .param .b64 s; .param .b64 d;  st.param.b64 [s], 16;  call (d), malloc, (s);  ld.param.b64 %rd5, [d]; }}
    {} ld.b32 %r10, [%rd5];  st.global.b32 [%rd1], %r10;
    {{ .param .b64 s;  st.param.b64 [s], %rd5;  call free, (s); }}"""
    assert found(kernel(body.format("st.b32 [%rd5], 1;"), module=module), engine=engine) == []
    for _ in range(2):
        (finding,) = found(kernel(body.format(""), module=module), engine=engine)
        assert finding.space == "global" and finding.count == 64


@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize("engine", BOTH)
def test_asynchronous_copies(engine: str, copies: str) -> None:
    body = """.shared .align 16 .b8 tile[1024];
    mov.u32 %r12, tile;  mad.lo.u32 %r12, %r1, 16, %r12;  and.b32 %r13, %r1, 7;  mad.wide.u32 %rd5, %r13, 16, %rd0;
    cp.async.ca.shared.global [%r12], [%rd5], 16, 8;  cp.async.wait_all;
    ld.shared.b32 %r10, [%r12+{}];  st.global.b32 [%rd0+252], %r10;"""
    assert found(kernel(body.format(12)), engine=engine, copies=copies) == []
    assert found(kernel(body.format(4)), engine=engine, copies=copies) == []
    memory = ptxspec.Memory()
    at = memory.allocate(256)
    assert found(kernel(body.format(12)), engine=engine, copies=copies, args=[at]) == []
    branch = kernel(body.format(4) + "setp.eq.u32 %p1, %r10, 5; @%p1 bra OUT; OUT:")
    assert len(found(branch, engine=engine, copies=copies, args=[at])) == 1


@pytest.mark.parametrize("engine", BOTH)
def test_padding_of_parameters(engine: str) -> None:
    """A structure that is passed says where it has padding."""
    pair = np.dtype([("a", np.uint8), ("b", np.uint32)], align=True)
    module = kernel(
        "ld.param.b32 %r10, [s+{}]; st.global.b32 [%rd1], %r10;", ".param .u64 out, .param .align 8 .b8 s[8]"
    )
    value = np.zeros(1, pair)[0]
    args = [np.zeros(64, np.uint32), value]
    assert found(module.replace("{}", "4"), engine=engine, args=args) == []
    (finding,) = found(module.replace("{}", "0"), engine=engine, args=args)
    assert finding.space == "param" and finding.address == 8
    assert found(module.replace("{}", "0"), engine=engine, args=[args[0], bytes(8)]) == []


@pytest.mark.parametrize("engine", BOTH)
def test_parts_of_a_cluster(engine: str) -> None:
    body = """.shared .align 4 .b32 cell;
    mov.u32 %r10, %cluster_ctarank;  xor.b32 %r11, %r10, 1;  mov.u32 %r12, cell;  mapa.shared::cluster.u32 %r13, %r12, %r11;
    setp.eq.u32 %p1, %r10, 0;  {} st.shared::cluster.b32 [%r13], %r10;
    barrier.cluster.arrive;  barrier.cluster.wait;
    ld.shared.b32 %r14, [cell];  st.global.b32 [%rd1], %r14;
    barrier.cluster.arrive;  barrier.cluster.wait;"""
    how: dict[str, Any] = {"engine": engine, "grid": 2, "block": 32, "cluster": 2}
    assert found(kernel(body.format("")), **how) == []
    (finding,) = found(kernel(body.format("@%p1")), **how)
    assert finding.count == 32 and finding.where.cta == (0, 0, 0)


def test_what_is_not_known_is_refused() -> None:
    module = ".func take(.param .align 4 .b8 s[]) { .reg .b32 a; ld.param.b32 a, [s]; ret; }"
    body = "{ .param .align 4 .b8 s[8]; st.param.b32 [s], 1; call take, (s); }"
    with pytest.raises(ValueError, match="does not know arrays without a size"):
        found(kernel(body, module=module))
    with pytest.raises(ptxspec.LaunchError, match="mask") as caught:
        found(kernel("vote.sync.any.pred %p2, %p3, %r10;"))
    assert USES.MASK in {finding.note.split(", and ")[1] for finding in caught.value.findings}


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_steps_are_those_of_the_text(engine: str, schedule: str) -> None:
    """And of a clock that counts them."""
    body = """.shared .b32 cells[64]; .reg .b32 began, ended;
    mov.u32 %r12, cells; mad.lo.u32 %r12, %r1, 4, %r12; mov.u32 began, %clock; st.shared.b32 [%r12], %r1; bar.sync 0;
    ld.shared.b32 %r10, [%r12]; mov.u32 ended, %clock; sub.u32 ended, ended, began; mad.lo.u32 %r10, ended, 100, %r10;
    st.global.b32 [%rd1], %r10;"""
    module, results = ptxspec.load(kernel(body)), []
    for check in (None, "uninitialized"):
        words = np.zeros(32, np.uint32)
        outcome = module.launch("k", block=32, args=[words], check=check, engine=engine, schedule=schedule)
        results.append((outcome.steps, words.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("engine", BOTH)
def test_observers_and_counts_see_the_text_alone(engine: str) -> None:
    body = """.shared .b32 cells[64];
    mov.u32 %r12, cells; mad.lo.u32 %r12, %r1, 4, %r12; st.shared.b32 [%r12], %r1; bar.sync 0;
    setp.lt.u32 %p1, %r1, 20; @%p1 ld.shared.b32 %r10, [%r12]; @%p1 add.u32 %r10, %r10, 1; @%p1 st.global.b32 [%rd1], %r10;
    shfl.sync.bfly.b32 %r11, %r10, 1, 31, -1;"""
    seen = []
    for check in (None, "uninitialized"):
        module, trace = ptxspec.load(kernel(body)), ptxspec.Trace()
        how: dict[str, Any] = {"block": 32, "args": [np.zeros(32, np.uint32)], "engine": engine, "check": check}
        counts = module.launch("k", **how, counts=True).counts
        module.launch("k", **how, observers=[trace])
        assert counts is not None
        seen.append((counts.instructions, sorted(trace.events)))  # a lane waits twice where it passes on a shadow
    assert seen[0] == seen[1]


@pytest.mark.parametrize("engine", BOTH)
def test_all_checks_at_once(engine: str) -> None:
    body = """.shared .b32 cells[64];
    mov.u32 %r12, cells; mad.lo.u32 %r12, %r1, 4, %r12; xor.b32 %r13, %r12, 128; {} st.shared.b32 [%r12], %r1; {}
    ld.shared.b32 %r10, [%r13]; st.global.b32 [%rd1], %r10;"""
    assert found(kernel(body.format("", "bar.sync 0;")), engine=engine, check="all") == []
    guarded = body.format("setp.ne.u32 %p1, %r1, 5; @%p1", "bar.sync 0;")
    assert {f.kind for f in found(kernel(guarded), engine=engine, check="all")} == {"uninitialized"}
    assert "race" in {f.kind for f in found(kernel(body.format("", "")), engine=engine, check="all")}


# random programs ---------------------------------------------------------------------------------------------------------


class Program:
    """A kernel of random instructions on a few registers, of which some are not written, and words of shared and local memory."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.labels = 0
        likely = self.rng.choice([0.7, 1, 1])
        lines = [f"mov.b32 {r}, {self.rng.randrange(1 << 32)};" for r in self.registers if self.rng.random() < likely]
        lines += [
            f"setp.ne.u32 {p}, %r1, {self.rng.randrange(64)};" for p in self.predicates if self.rng.random() < likely
        ]
        for at in range(0, 16, 4):
            if self.rng.random() < likely:
                lines.append(f"st.shared.b32 [%r50+{at}], {self.registers[0]}; st.local.b32 [own+{at}], 5;")
        lines += [self.line() for _ in range(self.rng.randint(6, 24))]
        self.text = kernel(
            ".shared .align 4 .b8 cells[1024]; .local .align 4 .b8 own[16];\n"
            "mov.u32 %r50, cells; mad.lo.u32 %r50, %r1, 16, %r50;\n" + "\n".join(lines)
        )

    registers = [f"%r{i}" for i in range(10, 16)]
    predicates = ["%p1", "%p2"]

    def line(self) -> str:
        rng = self.rng
        d, a, b, c = (rng.choice(self.registers) for _ in range(4))
        p, number = (
            rng.choice(self.predicates),
            rng.choice([0, 1, 3, 8, 16, 31, 0xFF, 0xFFFF0000, rng.randrange(1 << 32)]),
        )
        guard = rng.choice(["", "", "", f"@{p} ", f"@!{p} "])
        offset, width = rng.choice([(0, 32), (4, 32), (8, 16), (10, 16), (8, 32), (13, 8), (12, 32), (3, 8)])
        space, base = rng.choice([("shared", "%r50"), ("local", "own")])
        half = "%h1" if width < 32 else ""
        kind = rng.randrange(12)
        plain = rng.choice(
            ["and.b32", "or.b32", "xor.b32", "add.u32", "sub.u32", "mul.lo.u32", "shl.b32", "shr.u32", "max.s32"]
        )
        match kind:
            case 0 | 1 | 2:
                return f"{guard}{plain} {d}, {a}, {rng.choice([b, str(number)])};"
            case 3:
                return f"{guard}setp.{rng.choice(['eq', 'lt', 'ge'])}.s32 {p}, {a}, {rng.choice([b, str(number)])};"
            case 4:
                return f"{guard}selp.b32 {d}, {a}, {b}, {p};"
            case 5:
                return f"{guard}prmt.b32 {d}, {a}, {b}, {rng.randrange(1 << 16)};"
            case 6:
                return f"{guard}bfi.b32 {d}, {a}, {b}, {rng.randrange(32)}, {rng.randrange(33)};"
            case 7 | 8:
                moved = f"cvt.u16.u32 %h1, {a}; " if half else ""
                return f"{moved}{guard}st.{space}.b{width} [{base}+{offset}], {half or a};"
            case 9:
                moved = f" cvt.u32.u16 {d}, %h1;" if half else ""
                return f"{guard}ld.{space}.b{width} {half or d}, [{base}+{offset}];{moved}"
            case 10:
                self.labels += 1
                return f"@{p} bra L{self.labels}; {plain} {d}, {a}, {c}; L{self.labels}:"
            case _:
                return f"{guard}st.global.b32 [%rd1], {a};"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Engines and schedules agree; and where nothing is reported, results do not depend on what was there."""
    program = Program(seed)
    reported = [told(found(program.text, engine=e, schedule=s)) for e in BOTH for s in SCHEDULES[:2]]
    assert all(sorted(map(repr, other)) == sorted(map(repr, reported[0])) for other in reported), program.text
    if not reported[0]:
        module, results = ptxspec.load(program.text), []
        for begins in (None, 1, 2, 3):
            words = np.zeros(64, np.uint32)
            module.launch("k", block=64, args=[words], seed=begins)
            results.append(words.tolist())
        assert all(other == results[0] for other in results), program.text


@pytest.mark.slow
def test_random_programs_are_of_both_kinds() -> None:
    silent = [not found(Program(seed).text, engine="native") for seed in range(60)]
    assert 5 < sum(silent) < 55


def generated(seed: int) -> tuple[str, str, np.ndarray]:
    """The text of a generated program that does not load one of its registers, its name, and its input."""
    (program,) = random_program.made([seed])
    lines = random_program.module([program]).splitlines()
    loads = [i for i, line in enumerate(lines) if re.match(r"ld\.global\.b(16|32|64) %\w+, \[%in", line)]
    del lines[random.Random(seed).choice(loads)]
    return "\n".join(lines), program.name, layout.inputs(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5100, 5112))
def test_generated_programs(seed: int) -> None:
    """Over the forms of today: engines agree, and results that are not reported do not depend on what the register held."""
    source, name, start = generated(seed)
    module, reported, results = ptxspec.load(source), [], []
    how: dict[str, Any] = {"block": layout.THREADS, "check": "uninitialized", "findings": "collect"}
    for engine, begins in (("exact", None), ("native", None), ("native", 1), ("native", 2)):
        out = np.zeros_like(start)
        findings = module.launch(name, args=[start, out], engine=engine, seed=begins, **how).findings
        reported.append(told(list(findings)))
        results.append(out.view(np.uint64).reshape(layout.THREADS, -1))
    assert reported[0] == reported[1] and (results[0] == results[1]).all()
    if all(USES.STORED in note for note, *_ in reported[1]):  # the way of the threads is the same
        stores = {str(store) for _, store, *_ in reported[1]}
        places = {int(place) // 8 for store in stores for place in re.findall(r"%out\+(\d+)", store)}
        places |= {192 // 8 for store in stores if "[%cg]" in store}  # the cell of a thread, which lies in `out`
        alike = [k for k in range(results[0].shape[1]) if k not in places]
        assert (results[2][:, alike] == results[3][:, alike]).all()


def test_the_text_of_a_finding() -> None:
    (finding,) = found(
        text(".shared .b32 s; ld.param.u64 %rd1, [out]; ld.shared.u32 %r1, [s]; st.global.u32 [%rd1], %r1; ret;"),
        block=1,
    )
    assert str(finding).splitlines() == [
        "uninitialized: a value was not initialized, and it is stored to memory that the host sees",
        "  thread (0, 0, 0) of CTA (0, 0, 0)",
        "  at k.ptx:8: st.global.u32 [%rd1], %r1;",
        "  address 0x0 of .shared, 4 bytes",
        "  after",
        "  thread (0, 0, 0) of CTA (0, 0, 0)",
        "  at k.ptx:8: ld.shared.u32 %r1, [s];",
        f"  see {finding.page}",
    ]


# asynchronous operations on other CTAs, and on boxes -------------------------------------------------------------------------

REMOTE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) .reqnctapercluster 2 {{
.shared .align 16 .b32 room[4]; .shared .align 8 .b64 bar; .reg .b64 %out; .reg .b32 %rank, %next, %to, %there, %v, %given; .reg .pred %p;
ld.param.u64 %out, [out]; mov.u32 %rank, %cluster_ctarank; xor.b32 %next, %rank, 1;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;
{before}
barrier.cluster.arrive; barrier.cluster.wait;
mov.u32 %to, room; mapa.shared::cluster.u32 %to, %to, %next; mov.u32 %there, bar; mapa.shared::cluster.u32 %there, %there, %next;
{operation}
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p, [bar], 0; @!%p bra WAIT;
ld.shared.u32 %v, [room]; mad.wide.u32 %out, %rank, 4, %out; st.global.u32 [%out], %v;
barrier.cluster.arrive; barrier.cluster.wait; ret; }}"""
STORE = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%to], %given, [%there];"
REDUCE = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%to], %given, [%there];"
GIVEN, FILLED = "mov.u32 %given, 7;", "st.shared.u32 [room], 1;"


def generic(operation: str) -> str:
    """The operation with generic addresses."""
    wide = "".join(
        f"cvt.u64.u32 %{name}64, %{name}; cvta.shared::cluster.u64 %{name}64, %{name}64; " for name in ("to", "there")
    )
    named = operation.replace(".shared::cluster", "").replace("[%to]", "[%to64]").replace("[%there]", "[%there64]")
    return f".reg .b64 %to64, %there64; {wide}{named}"


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(
    ("operation", "before", "told_of"),
    [
        (STORE, GIVEN, []),
        (STORE, "", ["%given was not initialized, and an asynchronous operation depends on it"]),
        (REDUCE, GIVEN + FILLED, []),
        (REDUCE, FILLED, ["%given was not initialized, and an asynchronous operation depends on it"]),
        (REDUCE, GIVEN, ["an atomic operation reads it"]),
        (generic(STORE), GIVEN, []),
        (
            generic(STORE).replace("%to64, %to64;", "%to64, %to64; add.u64 %to64, %to64, 4;"),
            GIVEN,
            ["a value was not initialized"],
        ),
        (generic(STORE), "", ["%given was not initialized, and an asynchronous operation depends on it"]),
        (generic(REDUCE), GIVEN + FILLED, []),
        (generic(REDUCE), GIVEN, ["an atomic operation reads it"]),
    ],
)
def test_what_an_operation_carries_or_changes(operation: str, before: str, told_of: list[str], engine: str) -> None:
    how: dict[str, Any] = {"engine": engine, "check": "uninitialized", "findings": "collect", "grid": 2}
    module, out = ptxspec.load(REMOTE.format(operation=operation, before=before)), np.zeros(2, np.uint32)
    notes = [finding.note for finding in module.launch("k", args=[out], **how).findings]
    assert len(notes) >= len(told_of) and bool(notes) == bool(told_of), notes
    assert all(any(text in note for note in notes) for text in told_of), notes


BOXES = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .align 64 .b8 other[128]) .reqnctapercluster 2 {
.shared .align 1024 .b8 room[512]; .shared .align 8 .b64 bar; .reg .b64 %map, %other; .reg .b32 %rank; .reg .pred %p;
mov.b64 %map, map; cvta.param.u64 %map, %map; mov.b64 %other, other; cvta.param.u64 %other, %other;
mov.u32 %rank, %cluster_ctarank; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
barrier.cluster.arrive; barrier.cluster.wait;
setp.eq.u32 %p, %rank, 0;
@%p cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [room], [%map, {-16, 0}], [bar], 3;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p, [bar], 0; @!%p bra WAIT;
setp.eq.u32 %p, %rank, 1;
@!%p bra END;
cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%other, {0, 0}], [room]; cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
END: barrier.cluster.arrive; barrier.cluster.wait; ret; }"""


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.slow
def test_boxes_are_initialized_where_they_are_copied(engine: str) -> None:
    """In each CTA that a copy names, what lies outside of the tensor among it; and nowhere else."""
    how: dict[str, Any] = {"engine": engine, "check": "uninitialized", "findings": "collect", "grid": 2}
    numbers, stored = np.arange(128, dtype=np.uint32).reshape(4, 32), np.zeros((4, 32), np.uint32)
    boxes = [ptxspec.TensorMap(array, box=(32, 4), swizzle="128B") for array in (numbers, stored)]
    assert ptxspec.load(BOXES).launch("k", args=boxes, **how).findings == ()
    assert (stored[:, 16:] == numbers[:, :16]).all() and not stored[:, :16].any()
    nothing = BOXES.replace(", 3;", ", 1;").replace("[bar], 512", "[bar], 0")
    notes = [finding.note for finding in ptxspec.load(nothing).launch("k", args=boxes, **how).findings]
    assert notes and all("it is stored to memory that the host sees" in note for note in notes)
