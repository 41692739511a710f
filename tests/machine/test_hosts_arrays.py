"""Compiled code touches the host's arrays through one seam; with PTXSPEC_CHECKED set every access is checked there.

What the engine takes from its own data, such as the block that a thread returns to, is checked in any case.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launching import CHECKS_ALONE, HEADER, MADE_FAST, kernel

import ptxspec
from ptxspec.machine import hosts, imaging
from ptxspec.machine.call_graph import BEGINS, DEPTH, ENDS, FRAME
from ptxspec.machine.driver import inventory
from ptxspec.machine.errors import EngineFault
from ptxspec.machine.native import code, image_loops
from ptxspec.machine.native import engine as native
from ptxspec.machine.native.context import ARRAYS, CONTEXT, FIELD
from ptxspec.machine.operations import ARRAYS as OF_OPERATIONS
from ptxspec.terms.native import CodeSource

pytestmark = pytest.mark.sample(8)

HERE = Path(__file__).parent
#: calls with recursion and results, memory of every space, barriers, warps, a stack whose pieces come and go, printed texts
DEEP = """
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .b8 format[4] = {104, 105, 10, 0};
.const .u32 table[4] = {1, 2, 3, 4};
.global .u32 total;
.func (.param .b32 r) plain(.param .b32 n) { .reg .u32 m; ld.param.u32 m, [n]; st.param.b32 [r], m; ret; }
.func (.reg .u32 r) deep(.param .b32 n, .reg .u64 a) {
  .reg .u32 m, x; .reg .u64 p; .reg .pred q; .param .b32 in, out; .local .u32 own[2];
  ld.param.u32 m, [n]; st.local.u32 [own+4], m; setp.eq.u32 q, m, 0; @q bra DONE;
  sub.u32 x, m, 1; st.param.b32 [in], x; call (x), deep, (in, a); st.param.b32 [in], x; call (out), plain, (in); ld.param.b32 x, [out];
  alloca.u64 p, 8; st.local.u32 [p], x; ld.local.u32 x, [p]; add.u32 m, m, x;
DONE: ld.local.u32 x, [own+4]; bar.sync 0; add.u32 r, m, x; ret;
}
"""
BODY = """
  .shared .u32 s[64]; .local .u32 mine[4]; .param .b32 n, r, c; .param .b64 f, g;
  mov.u64 %rd3, s; mad.wide.u32 %rd3, %r1, 4, %rd3; st.shared.u32 [%rd3], %r1; bar.sync 0; ld.shared.u32 %r5, [%rd3];
  mov.u32 %r6, 4; st.param.b32 [n], %r6; call (%r7), deep, (n, %rd3);
  st.local.u32 [mine+8], %r7; ld.const.u32 %r8, [table+4]; shfl.sync.idx.b32 %r9, %r8, 0, 31, 0xffffffff;
  cvta.global.u64 %rd4, format; st.param.b64 [f], %rd4; mov.u64 %rd5, 0; st.param.b64 [g], %rd5;
  setp.eq.u32 %p1, %r1, 0; @!%p1 bra QUIET; call (c), vprintf, (f, g); QUIET:
  cvta.local.u64 %rd6, mine; ld.u32 %r10, [%rd6+8]; atom.global.add.u32 %r11, [total], 1;
  add.u32 %r12, %r10, %r9; st.global.u32 [%rd1], %r12;
  activemask.b32 %r13; mov.u32 %r14, 3; bar.sync %r14; bar.sync 4, 64; setp.lt.u32 %p2, %r1, 5; bar.red.popc.u32 %r15, 2, %p2;
  mov.u32 %r16, 0; LOOP: add.u32 %r16, %r16, 1; setp.lt.u32 %p3, %r16, %r1; @%p3 bra LOOP;
"""
SOURCE = kernel(BODY, module=DEEP)
CLUSTERS = kernel(
    ".shared .u32 s[4]; st.shared.u32 [s], %r1; barrier.cluster.arrive; barrier.cluster.wait; mov.u64 %rd3, s;"
    "mapa.shared::cluster.u64 %rd4, %rd3, 1; ld.shared::cluster.u32 %r5, [%rd4]; st.global.u32 [%rd1], %r5;"
    "barrier.cluster.arrive; barrier.cluster.wait;"
)
BANKS = ".version 2.1\n.target sm_20\n.extern .const[2] .b32 two[];\n" + (
    ".entry k(.param .u64 out) { .reg .u64 o; .reg .u32 r; ld.param.u64 o, [out]; ld.const[2].u32 r, [two+4]; st.global.u32 [o], r; exit; }"
)
LOOPS = kernel(
    "mov.u32 %r5, 0; LOOP: mov.u32 %r6, %tid.x; mad.lo.u32 %r5, %r5, 3, %r6; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 1000; @%p1 bra LOOP; st.global.u32 [%rd1], %r5;"
)
COPIES = kernel(
    ".shared .u32 s[132]; mov.u32 %r4, s; mad.lo.u32 %r4, %r1, 16, %r4; cp.async.ca.shared.global [%r4], [%rd1], 4;"
    "cp.async.commit_group; cp.async.ca.shared.global [%r4+4], [%rd1], 4, 3; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r5, [%r4];"
    "cp.async.wait_all; ld.shared.u32 %r6, [%r4+4]; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r1; st.global.u32 [%rd1], %r5;"
)
#: an object that threads wait for, at first in vain, on which a bulk copy and a carried store complete; and a reduction
OBJECTS = kernel("""
  .shared .align 16 .u32 s[8]; .shared .align 8 .b64 o; setp.ne.u32 %p1, %r1, 0;
  @!%p1 mbarrier.init.shared.b64 [o], 1; bar.sync 0; mov.u32 %r5, 0;
VAIN: mbarrier.test_wait.parity.shared.b64 %p2, [o], 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 3; @%p2 bra VAIN;
  bar.sync 0; @%p1 bra LOOK;
  mbarrier.arrive.expect_tx.shared.b64 _, [o], 20;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0], 16, [o];
  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [s+16], %r3, [o];
LOOK: mbarrier.test_wait.parity.shared.b64 %p2, [o], 0; @!%p2 bra LOOK;
  ld.shared.u32 %r5, [s]; ld.shared.u32 %r6, [s+16]; add.u32 %r5, %r5, %r6; st.global.u32 [%rd1+16], %r5; bar.sync 0; @%p1 bra DONE;
  fence.proxy.async; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0+240], [s+16], 16;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; mbarrier.inval.shared.b64 [o];
DONE:
""")
IMAGE = f"""{HEADER}.visible .entry k(.param .u64 out, .param .surfref s) {{ .reg .u64 o; .reg .u32 r; .reg .u32 x;
  ld.param.u64 o, [out]; mov.u32 x, %tid.x; shl.b32 x, x, 2; sust.b.1d.b32.trap [s, {{x}}], {{x}};
  add.u32 x, x, 16; suld.b.1d.b32.trap {{r}}, [s, {{x}}]; st.global.u32 [o], r; ret; }}"""

#: the same, in a launch that is told of each access
TOLD_IMAGE = f"{IMAGE}\n"
OWNED = kernel(
    "ld.param.u64 %rd3, [more]; ld.param.u64 %rd4, [last]; mad.wide.u32 %rd3, %r1, 4, %rd3; ld.u32 %r5, [%rd3];"
    "atom.global.add.u32 %r6, [%rd4+4], 1; add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; st.global.u32 [%rd1], %r5;",
    ".param .u64 out, .param .u64 more, .param .u64 last",
)
#: a piece of the heap, which each thread stores to and loads from
ALLOCATED = kernel(
    "{ .reg .u64 p; call (p), malloc, (8); st.u32 [p+4], %r1; ld.u32 %r5, [p+4]; call free, (p); } st.global.u32 [%rd1], %r5;",
    module=".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n",
)
#: a product of matrices, for which the lanes of a warp give one another several words each
MATRICES = kernel(
    ".reg .b32 %m<4>; mov.u32 %m0, %r1; mov.u32 %m1, 0;"
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%m2, %m3}, {%m0}, {%m0}, {%m1, %m1}; st.global.u32 [%rd1], %m2;"
)


#: launches that choose whose turn it is, and that count
CHOSEN = kernel("atom.global.add.u32 %r5, [%rd0+4], 1; st.global.u32 [%rd1+64], %r5;")
COUNTED = kernel(
    "setp.lt.u32 %p1, %r1, 9; @%p1 ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 3; st.global.u32 [%rd1], %r5;"
)


def launch(source: str, copies: str = "early") -> list[int]:
    """What one of the kernels leaves, under the native engine."""
    module = ptxspec.load(source)
    how: dict[str, Any] = {"grid": 4, "block": 16, "cluster": 2} if source is CLUSTERS else {"block": 33}
    how = {"block": 32} if source is MATRICES else how
    how = {"grid": 4, "block": 4, "cluster": 2} if source is OBJECTS else how
    how |= {"schedule": "random:5"} if source is CHOSEN else {}
    more: list[Any] = []
    if source is BANKS:
        module.write("two", np.arange(8, dtype=np.uint32))
        how = {}
    if source is OWNED:
        memory = ptxspec.Memory()
        more = [memory.put(np.arange(40, dtype=np.uint32)), memory.allocate(8)]
    if source in (IMAGE, TOLD_IMAGE):
        more = [ptxspec.Surface(np.arange(8, dtype=np.uint32)[:, None], geometry="1d")]
        how = {"block": 4}
    how |= {"counts": True, "observers": [ptxspec.Trace()]} if source in (COUNTED, TOLD_IMAGE) else {}
    out = np.zeros(64, np.uint32)
    module.launch("k", args=[out, *more], printed=lambda text: None, copies=copies, **how)
    return out.tolist()


SOURCES = {
    "functions": SOURCE,
    "loops": LOOPS,
    "clusters": CLUSTERS,
    "banks": BANKS,
    "images": IMAGE,
    "images that are observed": TOLD_IMAGE,
    "owned": OWNED,
    "heap": ALLOCATED,
    "matrices": MATRICES,
    "copies": COPIES,
    "objects": OBJECTS,
    "a schedule": CHOSEN,
    "counts": COUNTED,
}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hosts.VARIABLE, "1")


@pytest.mark.parametrize("what", SOURCES)
def test_results_are_the_same(what: str, checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = launch(SOURCES[what])
    monkeypatch.setenv(hosts.VARIABLE, "0")
    assert found == launch(SOURCES[what]) and any(found)


# the seam ------------------------------------------------------------------------------------------------------------------

#: pointers that the seam made, into the context, into tables, or to what lies in the function itself; arrays lie elsewhere for as
#: long as the code runs, which the context says
_SAFE = re.compile(r"(%[\w.]+) = (?:call ptr @ptxspec_host\(|getelementptr i64, ptr %context, i64 \d+$|alloca |"
                   r"getelementptr [^,]*, ptr @(?:ptxspec_table_\w+|pieces), )")  # fmt: skip
_INSIDE = re.compile(r"(%[\w.]+) = getelementptr (?:\[\d+ x i8\]|i64), ptr (%[\w.]+), i64 \d+$")
_PHI = re.compile(r"(%[\w.]+) = phi ptr (.*)")
_TOUCHED = re.compile(r"ptr (%[\w.]+)")
_FUNCTION = re.compile(r"^define (?:internal )?\S.*? @(\w+)\((.*?)\)[^(]*?\{$(.*?)^\}", re.DOTALL | re.MULTILINE)
#: parameters through which a function gets what the seam has made: the record of a step, and where a turn is counted
_GIVEN = re.compile(r"%row\d+|%turn|%record|%context")


def raw(text: str) -> list[str]:
    """The lines of functions that touch memory through a pointer that did not come from the seam."""
    wrong = []
    for name, parameters, body in _FUNCTION.findall(text):
        if name.startswith("ptxspec_"):
            continue
        safe = {p.split()[-1] for p in parameters.split(",") if p.strip() and _GIVEN.fullmatch(p.split()[-1])}
        for line in map(str.strip, body.splitlines()):
            inside, phi = _INSIDE.match(line), _PHI.match(line)
            if (found := _SAFE.match(line)) is not None:
                safe.add(found[1])
            elif inside is not None and inside[2] in safe:
                safe.add(inside[1])
            elif phi is not None and set(re.findall(r"\[(%[\w.]+),", phi[2])) <= safe:
                safe.add(phi[1])
            elif re.match(r"%record = load ptr, ptr %record_at\b", line):
                safe.add("%record")
            elif re.search(r" load ptr, ptr ", line):  # an array's beginning, which is no place of it yet
                wrong += [line] * (not set(_TOUCHED.findall(line)) <= safe)
            elif (
                re.search(r"\b(?:load|store) |@llvm\.mem(?:cpy|set)", line) and not set(_TOUCHED.findall(line)) <= safe
            ):
                wrong.append(f"{name}: {line}")
    return wrong


def functions(texts: list[str]) -> set[str]:
    return {name for text in texts for name, _, _ in _FUNCTION.findall(text)}


@pytest.mark.parametrize("what", SOURCES)
def test_no_access_goes_past_the_seam(what: str, checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every load and store of the compiled text goes to a pointer that the seam made, or into the context."""
    texts: list[str] = []

    class KeptSource(CodeSource):
        def __init__(self, text: str, *args: Any, **how: Any):
            texts.append(text)
            super().__init__(text, *args, **how)

    monkeypatch.setattr(code, "CodeSource", KeptSource)
    monkeypatch.setattr(image_loops, "CodeSource", KeptSource)
    imaging._compiled.clear()
    code.driver.cache_clear()
    launch(SOURCES[what])
    code.driver.cache_clear()
    made = functions(texts)
    assert made >= {"piece0", "turns", "begin", "take", "drive", "step_arrive_at_cta"} | {
        f.__name__ for f in inventory.FUNCTIONS
    }
    assert made >= ({"narrow1", "committed1"} if what == "loops" else set())
    assert texts and [line for text in texts for line in raw(text)] == []
    planted = re.sub(
        r"call ptr @ptxspec_host\(ptr %record, ptr (%\w+),[^)]*\)", r"getelementptr i8, ptr \1, i64 %thread", texts[-1]
    )
    assert raw(planted)


# the checks ----------------------------------------------------------------------------------------------------------------


def tampering(
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[native.NativeRun], None],
    when: Callable[[native.NativeRun], bool] = lambda run: True,
) -> None:
    """Let `change` happen to the engine's data before it runs for the first time that `when` holds. The driver comes back to the host
    after each turn of a thread."""
    plain, done = native.NativeRun.run, [False]

    def run(self: native.NativeRun) -> int:
        self.set("round_length", 1)
        self.set("pause_at", 0)
        if not done[0] and when(self):
            done[0] = True
            change(self)
        return plain(self)

    monkeypatch.setattr(native.NativeRun, "run", run)


#: which kernel touches each array
TOUCHES = {**dict.fromkeys(ARRAYS, SOURCE), "gone": CLUSTERS, "banks": BANKS, "tile": LOOPS, "heap_states": ALLOCATED}
TOUCHES |= dict.fromkeys(("words", "learned_words", "warps"), MATRICES)
TOUCHES |= dict.fromkeys(("choosing", "choices"), CHOSEN) | dict.fromkeys((*hosts.COUNTERS, "events"), COUNTED)
TOUCHES |= dict.fromkeys(("cluster_head", "cluster_barriers", "visits"), CLUSTERS) | dict.fromkeys(
    OF_OPERATIONS, COPIES
)
#: where threads wait for objects, and what there is of an operation that does more than copy
TOUCHES |= dict.fromkeys(("awaiting", "beyond", "vain_at", "vigils"), OBJECTS)
TOUCHES |= dict.fromkeys((name for name in OF_OPERATIONS if name.startswith("operation_")), OBJECTS)
#: the array that no kernel of PTX touches: that of registers in flight (see test_registers_in_flight.py)
OF_OTHER_PAGES = (hosts.REGISTERS,)
#: how pieces land where an array is touched
LANDING = {"unlanded_operations": "each", "draws": "random:1"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in OF_OTHER_PAGES])
def test_an_array_that_is_too_short_is_found_out(name: str, checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine code is told that the array has no bytes; of registers, special ones and the tile each row has its own part."""
    if name in ("registers", "special", "tile"):
        pytest.skip("their parts have a length that is compiled in: see the test of a thread beyond them")
    tampering(monkeypatch, lambda run: run.context.__setitem__(FIELD[f"{name}_bytes"], 0))
    with pytest.raises(EngineFault, match=rf"index \d+ of {name}, which has 0 bytes"):
        launch(TOUCHES[name], LANDING.get(name, "early"))


def test_the_widest_access_at_the_end_of_memory(checked: None) -> None:
    """What looks whether its bytes are there looks at no byte beyond the array in which that is noted."""
    source = kernel("discard.global.L2 [%rd0], 128;")
    ptxspec.load(source).launch("k", args=[np.zeros(128, np.uint8)])
    for size in (1, 64, 127):
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            ptxspec.load(source).launch("k", args=[np.zeros(size, np.uint8)])


def test_every_array_of_the_context_has_a_length() -> None:
    pointers = {name for name in CONTEXT if f"{name}_bytes" in CONTEXT}
    assert pointers == set(ARRAYS) <= set(hosts.names())


@pytest.mark.parametrize("thread", [5000, 2**31 - 1, -1])
def test_a_thread_beyond_the_registers(thread: int, checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where threads stand at the kernel's first block, one of them is none."""
    begun = lambda run: run.get("steps") > 0  # noqa: E731
    tampering(monkeypatch, lambda run: run.arrays["lists"].__setitem__(3, thread), begun)
    with pytest.raises(EngineFault, match=r"special|registers|slot_of"):
        launch(SOURCE)


def test_a_list_that_says_it_is_longer_than_it_is(checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    tampering(monkeypatch, lambda run: run.arrays["counts"].fill(10**9), lambda run: run.get("steps") > 0)
    with pytest.raises(EngineFault, match=r"of (lists|scratch), which has"):
        launch(SOURCE)


def test_an_image_that_is_too_short(checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = image_loops.CompiledImageLoop.__call__

    def short(self: Any, held: imaging.ImageBuffer, *rest: Any) -> int:
        return plain(self, held._replace(data=held.data[:4]), *rest)

    monkeypatch.setattr(image_loops.CompiledImageLoop, "__call__", short)
    with pytest.raises(EngineFault, match="of an image, which has 4 bytes"):
        launch(IMAGE)


def test_notes_of_an_image_that_are_too_short(checked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = image_loops.CompiledImageLoop.__call__

    def short(self: Any, held: Any, count: int, requests: Any, answers: Any, noted: np.ndarray) -> int:
        return plain(self, held, count, requests, answers, noted[:0])

    monkeypatch.setattr(image_loops.CompiledImageLoop, "__call__", short)
    with pytest.raises(EngineFault, match="of what is noted of an image, which has 0 bytes"):
        launch(TOLD_IMAGE)


def stack_words(run: native.NativeRun) -> np.ndarray:
    stack = run.arrays["stack"]
    return stack[: len(stack) // 8 * 8].view(np.int64)


def register(run: native.NativeRun, name: str) -> np.ndarray:
    at = run.layout.offsets[name]
    return run.arrays["registers"][at : at + 8 * run.layout.capacity].view(np.int64)


def inside(run: native.NativeRun) -> bool:
    """Whether all threads wait in the innermost function."""
    return run.get("steps") > 0 and bool((register(run, DEPTH)[:33] >= 5 * 8).all())


#: what is done to the engine's data while threads wait in a function, and what is said of it
CONTROL: dict[str, tuple[Callable[[Any], None], str]] = {
    "blocks to return to": (lambda run: stack_words(run).fill(10**6), "the block to return to: 1000000"),
    "blocks below zero": (lambda run: stack_words(run).fill(-3), "the block to return to: -3"),
    "no depth": (lambda run: register(run, DEPTH).fill(0), "the depth of the stack: -8"),
    "a great depth": (lambda run: register(run, DEPTH).fill(1 << 40), "the depth of the stack: 1099511627776"),
    "a frame beyond": (lambda run: register(run, FRAME).fill(1 << 33), "the frame: 8589934592"),
    "an end beyond": (lambda run: register(run, ENDS).fill(1 << 33), "the end of the stack: 8589934592"),
    "a beginning beyond": (lambda run: register(run, BEGINS).fill(0), ""),
}


@pytest.mark.parametrize("mode", ["0", "1"])
@pytest.mark.parametrize("what", CONTROL)
def test_what_the_engine_takes_from_its_own_data(what: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With or without the checks of every access."""
    change, message = CONTROL[what]
    monkeypatch.setenv(hosts.VARIABLE, mode)
    tampering(monkeypatch, change, inside)
    if not message:
        launch(SOURCE)
        return
    with pytest.raises(EngineFault, match=message):
        launch(SOURCE)


def test_the_arrays_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    tampering(monkeypatch, lambda run: register(run, FRAME).fill(1 << 33), inside)
    out = np.full(64, 7, np.uint32)
    with pytest.raises(EngineFault):
        ptxspec.load(SOURCE).launch("k", block=33, args=[out], printed=lambda text: None)
    assert (out == 7).all()


# the engines' tests, with every access checked -------------------------------------------------------------------------------


def under_checks(*files: str, **more: str) -> None:
    """Run tests in a process of their own, with more in its environment."""
    environment = {**os.environ, hosts.VARIABLE: "1", **more}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *(str(HERE / f) for f in files)]
    done = subprocess.run(command, env=environment, cwd=HERE.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_engines_with_every_access_checked() -> None:
    under_checks(
        "test_calls.py",
        "test_barriers.py",
        **{CHECKS_ALONE: "1"},
    )


@pytest.mark.long
def test_all_of_the_machine_with_every_access_checked() -> None:
    under_checks(*sorted(p.name for p in HERE.glob("test_*.py") if p != Path(__file__)))


@pytest.mark.long
def test_all_of_the_machine_with_code_made_fast() -> None:
    """Short launches run code that is made quickly; here they run what long ones do."""
    others = (Path(__file__).name, "test_limits_of_launches.py")
    under_checks(*sorted(p.name for p in HERE.glob("test_*.py") if p.name not in others), **{MADE_FAST: "1"})
