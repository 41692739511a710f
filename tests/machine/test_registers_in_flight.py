"""Registers that are the target or the source of an asynchronous operation, by instructions of a page of the test's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from own_pages import documents_with, run

from ptxspec import contracts
from ptxspec.terms import TermError, b32, initiate_load, initiate_store, of, s32, u32, u64, vector
from ptxspec.terms import integer as whole
from ptxspec.terms.definitions import Definition
from ptxspec.terms.effects import Initiate
from ptxspec.terms.in_registers import InRegisters
from ptxspec.terms.types import TYPES

pytestmark = pytest.mark.sample(4)

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the pages with that of `bring` and `send`."""
    return documents_with(tmp_path_factory.mktemp("documents"), bring="instructions/movement")


def check(documents: Path, program: str) -> None:
    """Run a program that ends well, with what `bringing.py` has."""
    lines = [f"sys.path.insert(0, {str(HERE)!r})", "from bringing import *", *program.splitlines(), "print('done')"]
    assert run(documents, "\n".join(lines)) == "done\n"


# values -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_type_and_vector_comes_and_goes(documents: Path) -> None:
    """Registers of each width, one and several, of the type's width and of wider ones."""
    check(documents, EVERY_TYPE)


EVERY_TYPE = '''
widths = {"b8": 16, "u8": 16, "b16": 16, "u16": 16, "s16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32,
          "b64": 64, "u64": 64, "s64": 64, "f64": 64, "b128": 128}
kinds = {"f32": "f32", "f64": "f64"}
lines, come, go, covered, at = [], [], [], [], 0
def put(type, count, register):
    """A copy of one place to the same place, through registers."""
    global at, covered
    size = int(type[1:]) // 8
    at = -(-at // (size * count)) * size * count
    names = [f"x{len(lines)}_{i}" for i in range(count)]
    lines.append(f".reg .{register} {', '.join(names)};")
    vector, listed = (f".v{count}", "{" + ", ".join(names) + "}") if count > 1 else ("", names[0])
    come.append(f"bring.global{vector}.{type} {listed}, [p+{at}];")
    go.append(f"send.global{vector}.{type} [q+{at}], {listed};")
    covered += range(at, at + size * count)
    at += size * count
for type, width in widths.items():
    bits = int(type[1:])
    for count in (1, 2, 4):
        if bits * count <= 128:
            put(type, count, kinds.get(type, f"b{width}"))
for type, register in (("u8", "u32"), ("b8", "b64"), ("u16", "u32"), ("b16", "b32"), ("u32", "u64"), ("b32", "b64")):
    for count in (1, 2, 4):
        if int(type[1:]) * count <= 128:
            put(type, count, register)
size = -(-at // 16) * 16
body = "\\n".join([f"mul.wide.u32 w, t, {size - 32}; add.u64 p, p, w; add.u64 q, q, w;", *lines, *come, "cp.async.wait_all;", *go,
                  "cp.async.wait_all;"])
data = np.random.default_rng(7).integers(1, 256, 3 * size, dtype=np.uint8)
module = ptxspec.load(text(body))
left = []
for engine, copies in WAYS:
    out = np.zeros(3 * size, np.uint8)
    module.launch("k", block=3, args=[data, out], engine=engine, copies=copies)
    left.append(out)
right = np.zeros((3, size), np.uint8)
right[:, covered] = data.reshape(3, size)[:, covered]
assert all((out.reshape(3, size) == right).all() for out in left)
'''


def test_above_a_narrower_value_come_zeros(documents: Path) -> None:
    check(
        documents,
        """
mine = "mov.b32 a, -1; mov.b64 w, -1; bring.u8 a, [p+4]; bring.b32 w, [p]; cp.async.wait_all;"
assert results(mine + "st.global.b32 [q], a; st.global.b64 [q+8], w;") == [[2, 0, 1, 0, 0, 0, 0, 0], [10, 0, 9, 0, 0, 0, 0, 0]]
""",
    )


@pytest.mark.slow
def test_vectors_that_share_registers_in_other_orders(documents: Path) -> None:
    """Whatever the order, a register lies at one place: what is no single range there becomes several."""
    check(
        documents,
        """
take = "st.global.v4.b32 [q], {a, b, c, d};"
assert results(f"bring.v4.b32 {{a, b, c, d}}, [p]; cp.async.wait_all; {take}")[1][:4] == [9, 10, 11, 12]
for order in ("dcba", "badc", "acbd", "cdab", "bcda"):
    listed = "{" + ", ".join(order) + "}"
    rows = results(f"bring.v4.b32 {{a, b, c, d}}, [p]; cp.async.wait_all; bring.v4.b32 {listed}, [p+16]; cp.async.wait_all; {take}")
    assert rows[1][:4] == [13 + order.index(name) for name in "abcd"], (order, rows)
    rows = results(f"bring.v4.b32 {{a, b, c, d}}, [p]; cp.async.wait_all; send.v4.b32 [q], {listed}; cp.async.wait_all;")
    assert rows[1][:4] == [9 + "abcd".index(name) for name in order], (order, rows)
rows = results("bring.v2.b32 {b, c}, [p]; bring.v2.b32 {a, d}, [p+8]; cp.async.wait_all; send.v4.b32 [q], {a, a, d, b}; cp.async.wait_all;")
assert rows[0][:4] == [3, 3, 4, 1]
""",
    )


@pytest.mark.slow
def test_operations_on_registers_complete_on_an_object(documents: Path) -> None:
    """Which counts the bytes that have come: a thread that sees them there may read its registers."""
    check(
        documents,
        """
body = '''.shared .align 8 .b64 o; .reg .b32 at;
mov.u32 at, o; mad.lo.u32 at, t, 0, at; @!z bring.begin.shared [o]; bar.sync 0;
bring.counted.v2.b32 {a, b}, [p], [o]; bring.counted.b32 c, [p+20], [o];
LOOK: ld.shared.b64 w, [o]; setp.lt.u64 z, w, 24; @z bra LOOK;
add.u32 a, a, b; add.u32 a, a, c; st.global.b32 [q], a;'''
for way in WAYS:
    assert [row[0] for row in outcome(text(body), *way)[0]] == [1 + 2 + 6, 9 + 10 + 14], way
early = body.replace("LOOK:", "add.u32 d, b, 1; LOOK:")
raced = [outcome(text(early), *way) for way in WAYS]
assert all(reported(r)[:2] == ("copy not waited for", "b") for r in raced), raced
""",
    )


# races ------------------------------------------------------------------------------------------------------------------

RACES: dict[str, tuple[str, str, str, int, int]] = {
    # what is done: the body, the rule's beginning, the register, and the numbers of both lines in the body
    "read": ("bring.b32 a, [p];\nadd.u32 b, a, 1;\ncp.async.wait_all;", "copy", "a", 1, 0),
    "write": ("bring.b32 a, [p];\nmov.b32 a, 1;\ncp.async.wait_all;", "copy", "a", 1, 0),
    "read in a vector": ("bring.b32 c, [p];\nst.global.v4.b32 [q], {b, b, c, d};", "copy", "c", 1, 0),
    "write in a vector": ("bring.v2.b32 {c, d}, [p];\nld.global.v2.b32 {b, d}, [p];", "copy", "d", 1, 0),
    "read an address": ("bring.b64 w, [p];\nld.global.b32 a, [w];", "copy", "w", 1, 0),
    "read an address of a copy": ("bring.b64 w, [p];\nbring.b32 a, [w];", "copy", "w", 1, 0),
    "one group too few": (
        "bring.b32 a, [p];\ncp.async.commit_group;\nbring.b32 b, [p];\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
        "add.u32 c, a, 0;\nadd.u32 c, b, 0;", "copy", "b", 6, 2,
    ),
    "not committed": ("bring.b32 a, [p];\ncp.async.wait_group 0;\nadd.u32 b, a, 1;", "copy", "a", 2, 0),
    "two of one register": ("bring.b32 a, [p];\nbring.b32 a, [p+4];\ncp.async.wait_all;", "copy", "a", 1, 0),
    "two that share one": ("bring.v2.b32 {a, b}, [p];\nbring.v2.b32 {b, c}, [p+8];\ncp.async.wait_all;", "copy", "b", 1, 0),
    "one register twice": ("bring.v2.b32 {a, a}, [p];", "copy", "a", 0, 0),
    "send what comes": ("bring.b32 a, [p];\nsend.b32 [q], a;\ncp.async.wait_all;", "copy", "a", 1, 0),
    "bring what goes": ("send.b32 [q], a;\nbring.b32 a, [p];\ncp.async.wait_all;", "source", "a", 1, 0),
    "write what goes": ("send.v2.b32 [q], {a, b};\nmov.b32 b, 2;\ncp.async.wait_all;", "source", "b", 1, 0),
    "write what goes in part": ("send.b8 [q], a;\nmov.b32 a, 2;\ncp.async.wait_all;", "source", "a", 1, 0),
    "of a warp": ("bring.b32 a, [p];\nshfl.sync.idx.b32 b, a, 0, 31, 3;", "copy", "a", 1, 0),
    "from a warp": ("bring.b32 a, [p];\nshfl.sync.idx.b32 a, b, 0, 31, 3;", "copy", "a", 1, 0),
    "from a warp, with its guard": (
        "bring.b32 a, [p]; setp.eq.u32 z, t, t;\n@z shfl.sync.idx.b32 a|z, b, 0, 31, 3;", "copy", "a", 1, 0,
    ),
    "an index": ("bring.b32 a, [p];\nL: .branchtargets M; \nbrx.idx a, L;\nM:", "copy", "a", 2, 0),
    "in a loop": ("mov.b32 b, 0;\nAGAIN: bring.b32 a, [p];\nadd.u32 b, b, 1; setp.lt.u32 z, b, 2; @z bra AGAIN;", "copy", "a", 1, 1),
}  # fmt: skip


@pytest.mark.slow
def test_nobody_touches_a_register_in_flight(documents: Path) -> None:
    """The same is reported under both engines, whenever pieces land: the register, by its name, and both instructions."""
    check(
        documents,
        f"""
for name, (body, rule, register, line, other) in {RACES!r}.items():
    rules = {{"copy": "copy not waited for", "source": "source of a copy"}}
    found, wanted = race(body), (rules[rule], register, FIRST + line, FIRST + other)
    thread = int("from a warp" in name)  # those that waited go on in another order
    assert found[:4] == wanted and found.threads == (thread, thread), (name, found, wanted)
""",
    )


#: of each what is no race, and the words that it leaves in the second thread
RIGHT: dict[str, tuple[str, list[int]]] = {
    "wait for all": ("bring.b32 a, [p]; cp.async.wait_all; st.global.b32 [q], a;", [9]),
    "wait for a group": (
        "bring.b32 a, [p]; cp.async.commit_group; bring.b32 b, [p+4]; cp.async.commit_group; cp.async.wait_group 1; mov.b32 c, a;"
        "cp.async.wait_group 0; st.global.v2.b32 [q], {c, b};", [9, 10],
    ),
    "others meanwhile": ("bring.v2.b32 {a, b}, [p]; mov.b32 c, 7; add.u32 d, c, c; st.global.b32 [q], d; cp.async.wait_all;", [14]),
    "read what goes": ("mov.b32 a, 5; send.b32 [q], a; add.u32 b, a, 1; st.global.b32 [q+4], b; cp.async.wait_all;", [5, 6]),
    "send twice": ("mov.b32 a, 5; send.b32 [q], a; send.b32 [q+4], a; cp.async.wait_all;", [5, 5]),
    "write when it has gone": ("mov.b32 a, 5; send.b32 [q], a; cp.async.wait_all; mov.b32 a, 6; st.global.b32 [q+4], a;", [5, 6]),
    "a guard that is false": ("mov.b32 a, 3; @!t2 bring.b32 a, [p]; add.u32 a, a, 1; st.global.b32 [q], a;", [4]),
    "accesses with a guard that is false": (
        "bring.b32 a, [p]; @!t2 add.u32 b, a, 1; @!t2 mov.b32 a, 2; cp.async.wait_all; st.global.b32 [q], a;", [9],
    ),
    "no wait at all": ("bring.v4.b32 {a, b, c, d}, [p]; send.b64 [q], p; st.global.b32 [q+8], 1;", []),
    "an address that comes": (
        "st.global.b64 [q], q; bring.b64 w, [q]; cp.async.wait_all; st.global.b32 [w], 4; st.global.b32 [w+4], 5;", [4, 5],
    ),
    "the address itself": ("st.global.b64 [q+8], 77; bring.b64 w, [q+8]; cp.async.wait_all; st.global.b64 [q], w;", [77, 0]),
    "into its own address": ("bring.b64 p, [p]; cp.async.wait_all; st.global.b64 [q], p;", [9, 10]),
    "of a warp": ("bring.b32 a, [p]; cp.async.wait_all; shfl.sync.bfly.b32 a|z, a, 1, 31, 3; st.global.b32 [q], a;", [1]),
    "of a warp, with its guard": (
        "bring.b32 a, [p]; cp.async.wait_all; setp.eq.u32 z, t, t; @z shfl.sync.up.b32 a|z, a, 1, 0, 3; @!z mov.b32 b, 3;"
        "add.u32 a, a, b; st.global.b32 [q], a;", [1],
    ),
    "a guard that the instruction writes": (
        "bring.b32 a, [p]; cp.async.wait_all; setp.eq.u32 z, t, t; @z shfl.sync.idx.b32 a|z, t, 9, 0, 3; st.global.b32 [q], a;",
        [1],
    ),
    "a loop": (
        "mov.b32 b, 0; mov.b32 c, 0; AGAIN: bring.b32 a, [p]; cp.async.wait_all; add.u32 c, c, a; add.u64 p, p, 4;"
        "add.u32 b, b, 1; setp.lt.u32 z, b, 3; @z bra AGAIN; st.global.b32 [q], c;", [9 + 10 + 11],
    ),
    "an index": (
        "bring.b32 a, [p]; cp.async.wait_all; shr.u32 a, a, 3; L: .branchtargets N, M; brx.idx a, L; M: st.global.b32 [q], 5; N:", [5],
    ),
}  # fmt: skip


@pytest.mark.slow
def test_what_is_no_race(documents: Path) -> None:
    check(
        documents,
        f"""
for name, (body, words) in {RIGHT!r}.items():
    rows = results(".reg .pred t2; setp.lt.u32 t2, t, 9; " + body)
    assert rows[1][:len(words)] == words, (name, rows)
""",
    )


@pytest.mark.slow
def test_only_some_lanes_initiate(documents: Path) -> None:
    """The others have the register as it is; one that has not waited is told by its own number."""
    check(
        documents,
        """
some = "mov.b32 a, 7; @z bring.b32 a, [p]; @z cp.async.wait_all; st.global.b32 [q], a;"
assert [row[0] for row in results(some)] == [7, 9]
assert race(some.replace("@z cp.async.wait_all;", "\\n")) == Race("copy not waited for", "a", FIRST + 1, FIRST, (1, 1))
apart = "mov.b32 a, 7; @z bra MINE; add.u32 a, a, 1; bra BOTH; MINE: bring.b32 a, [p]; cp.async.wait_all; BOTH: st.global.b32 [q], a;"
assert [row[0] for row in results(apart)] == [8, 9]
many = [outcome(text(some), *way, block=64)[0] for way in WAYS]
assert all([row[0] for row in rows] == [7, 9, *[7] * 62] for rows in many)
""",
    )


@pytest.mark.slow
def test_memory_is_as_it_is_for_other_copies(documents: Path) -> None:
    """What lies at the other end of an operation obeys the rules of memory, and is reported by its address."""
    check(
        documents,
        """
def fault(body, rule, note=""):
    errors = [outcome(text(body), *way) for way in WAYS]
    assert len({str(e) for e in errors}) == 1 and errors[0].rule == rule and note in errors[0].note, errors
    assert errors[0].address is not None, errors[0]
fault("bring.v2.b32 {a, b}, [p+4];", "misaligned", "8 bytes")
fault("send.v4.b32 [q+8], {a, b, c, d};", "misaligned", "16 bytes")
fault("bring.v4.b32 {a, b, c, d}, [p]; cp.async.wait_all; bring.v4.b32 {b, a, c, d}, [p+8];", "misaligned", "16 bytes")
fault("bring.v2.b32 {a, b}, [p+64];", "out of bounds")
fault("mov.b32 b, 64; bring.shared.b32 a, [b];", "out of bounds")
fault("bring.b32 a, [p]; st.global.b32 [p], 1;", "source of a copy", "from there")
fault("send.b32 [q], a; ld.global.b32 b, [q];", "copy not waited for", "to there")
fault("send.b32 [q], a; bring.b32 b, [q];", "copy not waited for", "to there")
fault("bring.b32 a, [p]; send.b32 [p], b;", "source of a copy", "from there")
""",
    )


# functions --------------------------------------------------------------------------------------------------------------

FUNCTIONS = """
.func (.reg .b32 r) taken(.reg .b64 f) { .reg .b32 x; bring.b32 x, [f]; cp.async.wait_all; mov.b32 r, x; ret; }
.func (.reg .b32 r) direct(.reg .b64 f) { bring.b32 r, [f]; cp.async.wait_all; }
.func (.reg .b32 r) forgets(.reg .b64 f) { bring.b32 r, [f]; ret; }
.func (.reg .b32 r) over(.reg .b32 v, .reg .b64 f) { add.u32 r, v, 100; bring.b32 v, [f]; cp.async.wait_all; add.u32 r, r, v; ret; }
.func (.reg .b32 r) again(.reg .b32 n, .reg .b64 f) { .reg .pred y; mov.b32 r, n; TOP: bring.b32 n, [f]; cp.async.wait_all;
    setp.lt.u32 y, r, 20; @y add.u32 r, r, n; @y bra TOP; ret; }
.func waits() { cp.async.wait_all; ret; }
.func (.reg .b32 r) left(.reg .b64 f) { .reg .b32 x; add.u32 r, x, 0; bring.b32 x, [f]; ret; }
"""


@pytest.mark.slow
def test_registers_are_in_flight_across_calls(documents: Path) -> None:
    """Those of the caller while a function runs, which may wait for them; parameters and results of a function."""
    check(
        documents,
        f"""
functions = {FUNCTIONS!r}
for body, wanted in {{
    "call (a), taken, (p); st.global.b32 [q], a;": [1, 9],
    "call (a), direct, (p); st.global.b32 [q], a;": [1, 9],
    "mov.b32 b, 5; call (a), over, (b, p); add.u32 a, a, b; st.global.b32 [q], a;": [111, 119],
    "mov.b32 b, 5; call (a), again, (b, p); st.global.b32 [q], a;": [20, 23],
    "bring.b32 b, [p]; call waits; st.global.b32 [q], b;": [1, 9],
    "bring.b32 b, [p+4]; call (a), taken, (p); add.u32 a, a, b; st.global.b32 [q], a;": [3, 19],
    "bring.b32 a, [p+4]; call (a), taken, (p); st.global.b32 [q], a;": [1, 9],
    "mov.b32 a, 4; @z call (a), direct, (p); st.global.b32 [q], a;": [4, 9],
    "call (a), left, (p); call waits; call (a), left, (p+4); st.global.b32 [q], a;".replace("(p+4)", "(p)"): [1, 9],
}}.items():
    assert [row[0] for row in results(body, functions)] == wanted, (body, results(body, functions))
def raced(body):
    return race(body, functions)
assert raced("call (a), forgets, (p);\\nst.global.b32 [q], a;") == Race("copy not waited for", "r", 3, 3, (0, 0))
assert raced("bring.b32 a, [p];\\ncall (b), over, (a, p);") == Race("copy not waited for", "a", FIRST + 1, FIRST, (0, 0))
assert raced("bring.b32 b, [p];\\nmov.b32 b, 1;\\ncall waits;") == Race("copy not waited for", "b", FIRST + 1, FIRST, (0, 0))
assert raced("call (a), left, (p);\\ncall (a), left, (p);") == Race("copy not waited for", "x", 3, 3, (0, 0))
""",
    )


@pytest.mark.slow
def test_what_is_not_supported_is_refused_by_name(documents: Path) -> None:
    check(
        documents,
        """
def refused(body, *words, module=""):
    for engine, copies in WAYS[::4]:
        try:
            outcome(text(body, module), engine, copies)
        except NotImplementedError as error:
            assert all(word in str(error) for word in words), error
        else:
            raise AssertionError(body)
calls_itself = ".func down(.reg .b32 n, .reg .b64 f) { .reg .pred y; .reg .b32 own; bring.b32 own, [f]; setp.eq.u32 y, n, 0; @y ret; sub.u32 n, n, 1; call down, (n, f); ret; }"
refused("call down, (t, p);", "down", "own", "may call itself", module=calls_itself)
refused("send.b32 [q], 7;", "k: send.b32", "only what a register holds")
refused("send.v2.b32 [q], {a, 7};", "k: send.v2.b32", "only what a register holds")
refused("bring.v2.b32 {a, _}, [p];", "k: bring.v2.b32", "_ is no register")
refused("{ .reg .s64 wide; bring.s32 wide, [p]; }", "k: bring.s32", "no sign can be extended", "wide has 64 bits")
plain = calls_itself.replace("bring.b32 own, [f]", "mov.b32 own, 1")
assert [row[0] for row in results("call down, (t, p); bring.b32 a, [p]; cp.async.wait_all; st.global.b32 [q], a;", plain)] == [1, 9]

for fragment in ("bring.b32 d, [p];", "send.b32 [p], d;"):
    verdict = ptxspec.prove(fragment, "mov.b32 d, 1;")
    assert verdict.status == "unsupported" and fragment.split()[0] in verdict.reason and "asynchronous" in verdict.reason, verdict
    try:
        ptxspec.evaluate(fragment, p=16, d=1)
    except ptxspec.Unsupported as error:
        assert fragment.split()[0] in str(error)
    else:
        raise AssertionError(fragment)
""",
    )


# launches ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("checked", ["0", "1"])
def test_launches_of_all_kinds(documents: Path, checked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a launch counts, what observers are told, what registers begin with, and the options of a schedule."""
    monkeypatch.setenv("PTXSPEC_CHECKED", checked)
    check(
        documents,
        """
body = "@z add.u32 a, a, 1; bring.v2.b32 {a, b}, [p]; cp.async.wait_all; add.u32 a, a, b; send.b32 [q], a; cp.async.wait_all;"
def same(**how):
    left = [outcome(text(body), *way, **how) for way in WAYS]
    assert all(one == left[0] for one in left) and [row[0] for row in left[0][0]] == [3, 19], left
for schedule in ("round-robin", "random:5", "warps"):
    same(schedule=schedule)
same(seed=3)

# an instruction is counted once, and the bytes of memory that it moves
counts = []
for engine, copies in WAYS:
    data, out = np.arange(1, 17, dtype=np.uint32), np.zeros(16, np.uint32)
    counted = ptxspec.load(text(body)).launch("k", block=2, args=[data, out], engine=engine, copies=copies, counts=True).counts
    counts.append([tuple(count) for count in counted.instructions if count.line == FIRST])
assert all(one == counts[0] for one in counts), counts
assert [(c[1].split()[0], c[2], c[3], c[4], c[5]) for c in counts[0]] == [
    ("add.u32", 2, 1, {}, {}), ("bring.v2.b32", 2, 2, {"global": 16}, {}), ("cp.async.wait_all;", 2, 2, {}, {}),
    ("add.u32", 2, 2, {}, {}), ("send.b32", 2, 2, {}, {"global": 8}), ("cp.async.wait_all;", 2, 2, {}, {}),
], counts[0]

# observers are told of registers as of memory, in the space of registers
traces = []
for engine in ("exact", "native"):
    trace = ptxspec.Trace(threads=[1])
    ptxspec.load(text(body)).launch("k", block=2, args=[data, out], engine=engine, copies="late", observers=[trace])
    traces.append([tuple(e._replace(address=0)) if e.space == "global" else tuple(e) for e in trace.events if e.line == FIRST])
assert traces[0] == traces[1]
kinds = [(e[0], e[3], e[6], e[7]) for e in traces[0] if e[0] != "EXECUTE"]
assert kinds == [
    ("READ", "reg", 4, 0), ("WRITE", "reg", 4, 1), ("INITIATE", "reg", 8, 0),
    ("READ", "global", 8, 9 + (10 << 32)), ("WRITE", "reg", 8, 9 + (10 << 32)), ("END", "", 0, 0),
    ("READ", "reg", 4, 9), ("READ", "reg", 4, 10), ("WRITE", "reg", 4, 19),
    ("INITIATE", "global", 4, 0), ("READ", "reg", 4, 19), ("WRITE", "global", 4, 19), ("END", "", 0, 0),
], kinds
assert sum(e[0] == "EXECUTE" for e in traces[0]) == 6

# a register that may be in flight begins as others do
for seed in (None, 11):
    begun = [outcome(text("st.global.b32 [q], a; bring.b32 a, [p]; cp.async.wait_all; st.global.b32 [q+4], a;"), *way, seed=seed)[0] for way in WAYS]
    assert all(one == begun[0] for one in begun) and [row[1] for row in begun[0]] == [1, 9]
    assert all((row[0] == 0) is (seed is None) for row in begun[0]), begun
""",
    )


def test_rows_that_are_too_short_are_found_out(documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine code is told that there are no rows."""
    monkeypatch.setenv("PTXSPEC_CHECKED", "1")
    check(
        documents,
        """
from ptxspec.machine.errors import EngineFault
from ptxspec.machine.native import engine
from ptxspec.machine.native.context import FIELD
plain = engine.NativeRun.run
def shortened(run):
    run.context[FIELD["space_reg_bytes"]] = 0
    return plain(run)
engine.NativeRun.run = shortened
try:
    outcome(text("bring.b32 a, [p]; cp.async.wait_all; st.global.b32 [q], a;"), "native", "early")
except EngineFault as fault:
    assert "of space_reg, which has 0 bytes" in str(fault), fault
else:
    raise AssertionError("nothing was found out")
""",
    )


@pytest.mark.slow
def test_threads_of_later_ctas_find_nothing_in_their_registers(documents: Path) -> None:
    """Rows serve one batch of CTAs after the other, and no operation outlives its batch."""
    resident = contracts.limits.resident_threads(False, False) // 64
    check(
        documents,
        f"""
source = text("mov.u32 b, %ctaid.x; mad.lo.u32 b, b, 64, t; ld.param.u64 q, [out]; mul.wide.u32 w, b, 4; add.u64 q, q, w; ld.param.u64 p, [in];"
              "st.global.b32 [q], a; bring.b32 a, [p];")
for engine in ("exact", "native"):
    out = np.full({2 * resident * 64}, 7, np.uint32)
    ptxspec.load(source).launch("k", grid={2 * resident}, block=64, args=[np.array([5], np.uint32), out], engine=engine, copies="late")
    assert not out.any(), engine
""",
    )


@pytest.mark.slow
def test_a_large_kernel(documents: Path) -> None:
    """One that is compiled in pieces, with accesses set apart."""
    check(
        documents,
        """
many = "\\n".join(f"add.u32 a, a, b; xor.b32 c, a, {i}; max.u32 a, a, c;" for i in range(250))
right = f"bring.v4.b32 {{a, b, c, d}}, [p];\\ncp.async.wait_all;\\n{many}\\nst.global.b32 [q], a;"
assert outcome(text(right), "native", "late") == outcome(text(right), "exact", "early")
wrong = [outcome(text(right.replace("cp.async.wait_all;", "")), *way) for way in (("native", "late"), ("exact", "each"))]
assert reported(wrong[0]) == reported(wrong[1]) == Race("copy not waited for", "a", FIRST + 2, FIRST, (0, 0))
""",
    )


def test_what_registers_hold_where_a_thread_ends(documents: Path) -> None:
    """As far as what was brought has landed."""
    check(
        documents,
        """
from ptxspec_workshop.programs.leaving import left
source = '''.version 9.0 .target sm_90 .address_size 64
.global .b32 data[2] = {5, 6};
.visible .entry k() { .reg .b32 a, b, c; bring.global.v2.b32 {a, b}, [data]; cp.async.wait_all; add.u32 b, b, 1; mov.b32 c, 3; ret; }'''
(thread,) = left(ptxspec.load(source), "k", print)
assert thread.registers == {"a": 5, "b": 7, "c": 3}, thread
""",
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_programs(documents: Path, part: int) -> None:
    """Both engines, whenever pieces land, do what a model does that knows registers and lists of copies alone."""
    check(
        documents,
        f"""
seen = set()
for seed in range({100 * part}, {100 * part + 25}):
    program = RandomProgram(seed)
    first = next((plain for plain in program.threads if plain.race), None)
    source = text("\\n".join(program.lines))
    ends = [outcome(source, *way) for way in WAYS]
    if first is None:
        rows = [[plain.registers[r] for r in REGISTERS] + [0, 0] for plain in program.threads]
        assert all(end[:2] == (rows, [plain.sent for plain in program.threads]) for end in ends), (seed, source, rows, ends)
    else:
        assert len({{str(end) for end in ends}}) == 1, (seed, source, ends)
        found = reported(ends[0])
        assert (found.rule, found.register, found.other) in {{(rule, r, line) for rule, r, line in first.race}}, (seed, source, found)
        assert found.line == first.line and found.threads == (first.thread,) * 2, (seed, source, found)
    seen.add(None if first is None else min(first.race)[0])
assert seen == {{None, "copy not waited for", "source of a copy"}}, seen
""",
    )


# definitions ------------------------------------------------------------------------------------------------------------


def meaning(function: Any, **modifiers: Any) -> Any:
    """What a function means, whose annotations are evaluated as those of pages are."""
    function.__annotations__ = inspect.get_annotations(function, eval_str=True)
    return Definition(function).meaning(modifiers)


GROUPS = contracts.asynchrony.ASYNC_GROUPS


def test_a_definition_says_what_is_in_flight() -> None:
    def some(a: u32, *, vec, type) -> vector[of.type]:
        return initiate_load("global", a, type, int(vec[1:]), GROUPS)

    def signed(a: u32, b: s32) -> None:
        initiate_store("global", a, TYPES["s32"], [b], GROUPS)

    loaded = meaning(some, vec="v2", type=TYPES["s16"])
    assert isinstance(loaded.effect, Initiate) and isinstance(loaded.effect.to, InRegisters)
    assert loaded.results[0].values == loaded.effect.to.values and loaded.effect.to.bytes == 4
    assert int(loaded.effect.size) == int(loaded.effect.align) == 4 and loaded.effect.together == 2
    stored = meaning(signed).effect
    assert isinstance(stored.source, InRegisters) and [v.attrs for v in stored.source.values] == [("b", 32)]


def test_a_definition_does_not_compute_with_what_is_in_flight() -> None:
    def more(a: u32) -> u32:
        return initiate_load("global", a, TYPES["u32"], 1, GROUPS)[0] + 1

    def forgotten(a: u32) -> u32:
        initiate_load("global", a, TYPES["u32"], 1, GROUPS)
        return whole(1)

    def exchanged(a: u32) -> tuple[b32, b32]:
        first, second = initiate_load("global", a, TYPES["b32"], 2, GROUPS)
        return second, first

    def wider(a: u32) -> u64:
        return initiate_load("global", a, TYPES["u32"], 1, GROUPS)[0]

    def negated(a: u32, b: u32) -> None:
        initiate_store("global", a, TYPES["u32"], [-b], GROUPS)

    def narrower(a: u32, b: u32) -> None:
        initiate_store("global", a, TYPES["u8"], [b], GROUPS)

    def predicate(a: u32) -> None:
        initiate_load("global", a, TYPES["pred"], 1, GROUPS)

    for function, said in (
        (more, "does not return the values that arrive later"), (forgotten, "does not return"), (exchanged, "does not return"),
        (wider, "as .u32"), (negated, "registers as they are"), (narrower, "operands of 8 bits"), (predicate, "no predicate"),
    ):  # fmt: skip
        with pytest.raises(TermError, match=said):
            meaning(function)


# kernels without them ---------------------------------------------------------------------------------------------------


def test_other_kernels_have_nothing_of_it(documents: Path) -> None:
    """A kernel of other copies is run as it was checked, its machine code touches no row, and a launch has none."""
    check(
        documents,
        """
from ptxspec.machine.events import UNOBSERVED
from ptxspec.machine.native.code import Code
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.program import program
from ptxspec.machine.registers_in_flight import locate_registers
from ptxspec.terms.profiles import Profile

class Written:
    def __init__(self, layout):
        self.layout, self.count = layout, len(layout.program.flow.blocks)

copies = ".shared .align 16 .b8 s[64]; cp.async.ca.shared.global [s], [p], 4; cp.async.wait_all; ld.shared.b32 a, [s]; st.global.b32 [q], a;"
for body, has in ((copies, False), ("add.u32 a, a, b;", False), ("bring.b32 a, [p];", True)):
    checked = ptxspec.load(text(body)).checked
    kernel, row = locate_registers(checked.kernels["k"])
    ready = program(checked, "k", Profile("hopper", None), False, observed=UNOBSERVED)
    written, needs = Code._whole(Written(Layout(ready, 64, False)))
    assert (kernel is not checked.kernels["k"]) is has and bool(row.size) is has and bool(ready.row.size) is has
    assert ("space_reg" in written) is has and (ready.kernel is not checked.kernels["k"]) is has
    assert ("reg" in ready.sizes(0)) is has
""",
    )
