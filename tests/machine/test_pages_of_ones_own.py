"""What a page of one's own adds, without a change of the model: a state space, for both engines and the prover; an asynchronous copy; a
way to wait for copies, and an object in memory on which they complete; an instruction that 128 threads execute together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from own_pages import documents_with, run

pytestmark = pytest.mark.sample(4)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the pages with those that are the test's own."""
    movement, synchronization = "instructions/movement", "instructions/synchronization"
    return documents_with(
        tmp_path_factory.mktemp("documents"),
        scratch="state-spaces",
        wide=movement,
        fetch=movement,
        tally=synchronization,
        wgsum=synchronization,
    )


KERNEL = """
    TEXT = '''.version 9.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 out) {
        .scratch .align 8 .b8 own[64];  .reg .u32 t, a, r, s;  .reg .u64 p, w;
        ld.param.u64 p, [out];  mov.u32 t, %tid.x;  mad.lo.u32 s, t, 3, 5;
        mov.u32 a, own;  st.scratch.u32 [a+OFFSET], s;  bar.sync 0;
        ld.scratch.u32 r, [own+8];  mul.wide.u32 w, t, 4;  add.u64 p, p, w;  st.global.u32 [p], r;  ret;
    }'''
"""


@pytest.mark.slow
def test_each_thread_has_memory_of_its_own_in_both_engines(documents: Path) -> None:
    program = f"""
    {KERNEL}
    for engine in ("exact", "native"):
        out = np.zeros(96, np.uint32)
        ptxspec.load(TEXT.replace("OFFSET", "8")).launch("k", grid=1, block=96, args=[out], engine=engine)
        assert (out == 3 * np.arange(96) + 5).all(), (engine, out)
    print("same")
    """
    assert run(documents, program) == "same\n"


def test_its_rules_are_those_of_every_space(documents: Path) -> None:
    program = f"""
    {KERNEL}
    for engine in ("exact", "native"):
        for offset, rule in (("10", "misaligned"), ("64", "out of bounds"), ("4096", "out of bounds")):
            try:
                ptxspec.load(TEXT.replace("OFFSET", offset)).launch("k", grid=1, block=2, args=[np.zeros(2, np.uint32)], engine=engine)
            except ptxspec.LaunchError as error:
                assert error.rule == rule and "own" in str(error) or rule == "misaligned", str(error)
            else:
                raise AssertionError(offset)
    try:
        ptxspec.load(TEXT.replace("OFFSET", "8").replace("own[64]", "own[5000]"))
    except ptxspec.PtxError as error:
        print(".scratch, which holds at most 4096" in str(error))
    """
    assert run(documents, program) == "True\n"


def test_proofs_follow_it(documents: Path) -> None:
    program = """
    stored = ".scratch .align 4 .b8 t[8]; st.scratch.u32 [t+4], a; st.scratch.u32 [t], 7; ld.scratch.u32 d, [t+4];"
    print(ptxspec.prove(stored, "mov.u32 d, a;").status)
    print(ptxspec.prove(stored.replace("[t], 7", "[t+4], 7"), "mov.u32 d, a;").status)
    print(ptxspec.prove("ld.u32 d, [p];", "ld.scratch.u32 d, [q];", buffers={"p": 8, "q": "8 scratch"}).status)
    """
    assert run(documents, program).split() == ["proved", "refuted", "refuted"]


COPIES = """
    TEXT = '''.version 9.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 in, .param .u64 out) {
        .shared .align 32 .b8 s[64];  .reg .b64 p, q, w;  .reg .b32 a, t;
        ld.param.u64 p, [in];  ld.param.u64 q, [out];  mov.u32 a, s;  mov.u32 t, %tid.x;
        mad.lo.u32 a, t, 32, a;  mul.wide.u32 w, t, 32;  add.u64 p, p, w;  add.u64 q, q, w;
        cp.async.wide.shared.global [a+OFFSET], [p];
        WAIT
        ld.shared.b64 w, [a+24];  st.global.b64 [q+24], w;  ld.shared.b64 w, [a];  st.global.b64 [q], w;  ret;
    }'''

    def launched(engine, copies, offset="0", wait="cp.async.wait_all;"):
        out = np.zeros(8, np.uint64)
        module = ptxspec.load(TEXT.replace("OFFSET", offset).replace("WAIT", wait))
        try:
            module.launch("k", block=2, args=[np.arange(8, dtype=np.uint64) + 1, out], engine=engine, copies=copies)
        except ptxspec.LaunchError as error:
            return error.rule
        return out.tolist()
"""


@pytest.mark.slow
def test_a_copy_of_32_bytes_finishes_later_and_races_as_others_do(documents: Path) -> None:
    program = f"""
    {COPIES}
    for how in [(engine, copies) for engine in ("exact", "native") for copies in ("early", "late", "each", "random:7")]:
        assert launched(*how) == [1, 0, 0, 4, 5, 0, 0, 8], how
        assert launched(*how, wait="cp.async.commit_group; cp.async.wait_group 0;") == [1, 0, 0, 4, 5, 0, 0, 8], how
        assert launched(*how, wait="") == "copy not waited for", how
        assert launched(*how, wait="cp.async.commit_group; cp.async.wait_group 1;") == "copy not waited for", how
        assert launched(*how, offset="16") == "misaligned", how
        assert launched(*how, offset="32") == "out of bounds", how
    print("same")
    """
    assert run(documents, program) == "same\n"


FETCHES = """
    TEXT = '''.version 9.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 in, .param .u64 out) {
        .shared .align 8192 .b8 s[16384];  .reg .b64 p, q, w;  .reg .b32 a, b, t;  .reg .pred z;
        ld.param.u64 p, [in];  ld.param.u64 q, [out];  mov.u32 a, s;
        cp.async.ca.shared.global [a+8], [p], 8;  FIRST
        mov.u32 t, 8;
    FILL: add.u32 b, a, t;  add.u32 t, t, 8;  cvt.u64.u32 w, t;  st.shared.u64 [b+8], w;  setp.lt.u32 z, t, 16368;  @z bra FILL;
        fetch.shared.global [q], [a];  BETWEEN
        fetch.shared.global [q+8192], [a+8192];
        LAST
        ret;
    }'''

    def launched(engine, copies="early", first="cp.async.wait_all;", between="", last="fetch.wait 0;"):
        memory = ptxspec.Memory()
        out = memory.allocate(16384, align=8192)
        text = TEXT.replace("FIRST", first).replace("BETWEEN", between).replace("LAST", last)
        try:
            ptxspec.load(text).launch("k", args=[np.array([77], np.uint64), out], engine=engine, copies=copies)
        except ptxspec.LaunchError as error:
            return error.rule
        return memory.view(out, np.uint64, 2048).tolist()
"""


@pytest.mark.slow
@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_way_to_wait_for_copies(documents: Path, checked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large copies of shared memory into memory of the caller, beside others that a thread waits for in another way."""
    monkeypatch.setenv("PTXSPEC_CHECKED", checked)
    program = f"""
    {FETCHES}
    right = [0, 77, *range(16, 16369, 8)]
    right += [0] * (2048 - len(right))
    for how in [(engine, copies) for engine in ("exact", "native") for copies in ("early", "late", "each", "random:3")]:
        assert launched(*how) == right, (how, launched(*how))
        assert launched(*how, last="") == right, how  # no copy outlives the launch
        assert launched(*how, between="st.shared.u64 [a+8200], w;") != "source of a copy", how
        assert launched(*how, between="st.shared.u64 [a+8184], w;") == "source of a copy", how
        assert launched(*how, last="fetch.wait 1; ld.u64 w, [q+8184]; st.shared.u64 [a], w;") == right, how
        assert launched(*how, last="fetch.wait 1; ld.u64 w, [q+8192];") == "copy not waited for", how
        assert launched(*how, last="fetch.wait 2; ld.u64 w, [q+8184];") == "copy not waited for", how
        assert launched(*how, first="fetch.wait 0;", last="cp.async.wait_all;") == "copy not waited for", how
    print("same")
    """
    assert run(documents, program) == "same\n"


TALLIES = """
    TEXT = '''.version 9.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 in, .param .u64 out) {
        .shared .align 16 .b8 s[2048];  .shared .align 8 .b64 o;
        .reg .b64 p, q, w;  .reg .b32 a, t, n, i;  .reg .b16 h;  .reg .pred z, d;
        ld.param.u64 p, [in];  ld.param.u64 q, [out];  mov.u32 t, %tid.x;  mov.u32 n, %ntid.x;  cvt.u16.u32 h, n;
        setp.eq.u32 z, t, 0;  @z tally.init.shared [o], h;  bar.sync 0;
        mul.wide.u32 w, t, 256;  add.u64 p, p, w;  add.u64 q, q, w;  mov.u32 a, s;  mad.lo.u32 a, t, 256, a;
        tally.arrive.shared [o], EXPECTED;
        tally.fetch.shared.global [a], [p], [o];  AFTER
    LOOK: tally.test.shared d, [o], 0;  BETWEEN  @!d bra LOOK;
        xor.b32 a, a, 256;  mov.u32 i, 0;
    TAKE: ld.shared.u64 w, [a];  st.global.u64 [q], w;  add.u32 a, a, 8;  add.u64 q, q, 8;
        add.u32 i, i, 1;  setp.lt.u32 d, i, 32;  @d bra TAKE;
        ret;
    }'''

    def launched(engine, copies="early", expected="256", after="", between="", **how):
        data, out = np.arange(8 * 32, dtype=np.uint64), np.zeros(8 * 32, np.uint64)
        text = TEXT.replace("EXPECTED", expected).replace("BETWEEN", between).replace("AFTER", after)
        try:
            ptxspec.load(text).launch("k", block=8, args=[data, out], engine=engine, copies=copies, **how)
        except ptxspec.LaunchError as error:
            return error.rule
        return out.reshape(8, 32).tolist()
"""


@pytest.mark.slow
@pytest.mark.parametrize("checked", ["0", "1"])
def test_copies_complete_on_an_object_in_memory(documents: Path, checked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thread sees all copies, its own and others', when the object says that they have come; not before."""
    monkeypatch.setenv("PTXSPEC_CHECKED", checked)
    program = f"""
    {TALLIES}
    right = np.arange(8 * 32).reshape(4, 2, 32)[:, ::-1].reshape(8, 32).tolist()
    for how in [(engine, copies) for engine in ("exact", "native") for copies in ("early", "late", "each", "random:3")]:
        assert launched(*how) == right, how
        assert launched(*how, after="tally.init.shared [o], 0; tally.arrive.shared [o], 0;") == "tally", how
        assert launched(*how, between="ld.u64 w, [p]; ld.shared.u64 w, [a];") == "copy not waited for" or how[1] == "early", how
        assert launched(*how, after="st.global.u64 [p], w;") == "source of a copy" or how[1] == "early", how
        assert launched(*how, expected="240", step_limit=100_000) == "step limit", how
    assert launched("exact", schedule="random:5") == launched("native", schedule="random:5") == right
    print("same")
    """
    assert run(documents, program) == "same\n"


SUMS = """
    TEXT = '''.version 9.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 out) {
        .reg .b64 p, w, d;  .reg .b32 t, c, n, i;  .reg .pred q;
        ld.param.u64 p, [out];  mov.u32 t, %tid.x;  mov.u32 c, %ctaid.x;  mov.u32 n, %ntid.x;
        mad.lo.u32 i, c, n, t;  mul.wide.u32 w, i, 8;  add.u64 p, p, w;
        BEFORE
        wgsum.sync.aligned d, i, t;
        st.global.u64 [p], d;
        AGAIN
        ret;
    }'''

    def launched(engine, before="", again="", block=256, **how):
        out = np.zeros((2 * block, 2), np.uint32)
        try:
            ptxspec.load(TEXT.replace("BEFORE", before).replace("AGAIN", again)).launch(
                "k", grid=2, block=block, args=[out], engine=engine, **how)
        except ptxspec.LaunchError as error:
            return error
        return out
"""


@pytest.mark.slow
def test_an_instruction_of_128_threads(documents: Path) -> None:
    program = f"""
    {SUMS}
    i = np.arange(512, dtype=np.uint64)
    group = i // 128
    wanted = np.stack([(2 * group * 128 + 127) * 64, (i % 128) * 1000 + (i % 256) // 128 * 128 + 127], axis=1).astype(np.uint32)
    late = "setp.lt.u32 q, t, 100; @q bra GO; bar.warp.sync -1; GO: bar.warp.sync -1;"
    for engine in ("exact", "native"):
        assert (launched(engine) == wanted).all(), engine
        assert (launched(engine, schedule="random:3", block=128)[:128] == wanted[:128]).all(), engine
        twice = launched(engine, again="cvt.u32.u64 i, d; wgsum.sync.aligned d, i, t; st.global.u64 [p], d;")
        assert (twice[:, 0] == (wanted[:, 0].astype(np.uint64) * 128).astype(np.uint32)).all(), engine
    print("same")
    """
    assert run(documents, program) == "same\n"


@pytest.mark.slow
def test_warps_that_do_not_come_together(documents: Path) -> None:
    program = f"""
    {SUMS}
    for engine in ("exact", "native"):
        ended = launched(engine, "setp.ge.u32 q, t, 224; @q exit;")
        assert ended.rule == "aligned group" and "only warps 4, 5, 6 of the CTA came" in ended.note, ended
        few = launched(engine, block=64)
        assert few.rule == "aligned group" and "4 warps together" in few.note, few
        apart = launched(engine, "setp.lt.u32 q, t, 32; @!q bra HERE; wgsum.sync.aligned d, i, t; HERE:")
        assert apart.rule == "aligned group", apart
        half = launched(engine, "setp.ge.u32 q, t, 240; @q exit;")
        assert half.rule == "stuck warp", half
    try:
        print(ptxspec.prove("wgsum.sync.aligned d, a, b;", "cvt.u64.u32 d, a;", warp=True).reason)
    except Exception as error:
        print(error)
    """
    assert "4 warps execute it together, and one is followed" in run(documents, program)


def test_without_the_page_there_is_no_such_space() -> None:
    program = 'ptxspec.load(".version 9.0 .target sm_90 .scratch .b32 x;")'
    done = subprocess.run(
        [sys.executable, "-c", "import ptxspec; " + program], capture_output=True, text=True, timeout=120
    )
    assert "PtxError" in done.stderr and ".scratch" in done.stderr
