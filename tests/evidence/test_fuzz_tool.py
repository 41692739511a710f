"""`ptxspec fuzz` finds what is planted: in an emulator that is our machine behind a library of C, and in an assembler that is a script."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ptxspec.base.processes import run_program
from ptxspec.language.diagnostics import PtxError
from ptxspec.machine.errors import LaunchError
from ptxspec_workshop.fuzz import behaviours, cases, judging, reports, targets
from ptxspec_workshop.fuzz.cases import FuzzCase
from ptxspec_workshop.fuzz.contracted_texts import MOST, contracted_texts
from ptxspec_workshop.fuzz.judging import Job

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))
from validated import asked, call

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
SIZE = 64 * 256


class Answers(socketserver.StreamRequestHandler):
    """Our machine, in which one opcode may be another one's. Where that breaks a rule there is no answer."""

    wrong: tuple[str, str] = ("", "")

    def handle(self) -> None:
        text = self.rfile.read(int.from_bytes(self.rfile.read(8), "little")).decode()
        cells = np.frombuffer(self.rfile.read(SIZE), np.uint64).reshape(64, 32)
        name = re.findall(r"\.entry (\w+)", text)[0]
        case = FuzzCase(text.replace(*self.wrong) if self.wrong[0] else text, name, cells)
        with contextlib.suppress(PtxError, LaunchError):
            self.wfile.write(behaviours.launched(case).tobytes())


@pytest.fixture
def emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The library's path; who answers it is in this process."""
    if shutil.which("gcc") is None:
        reason = "NO GCC: that faults of an emulator are found was NOT tested"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    path = tmp_path / "libemulator.so"
    source = Path(__file__).parent / "emulator" / "forwarding.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source], check=True)
    monkeypatch.setenv("PTX_ANSWERS", str(tmp_path / "s"))
    with socketserver.UnixStreamServer(str(tmp_path / "s"), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield str(path)
        server.shutdown()
    targets._sandbox().close()


def seed_with(text: str) -> int:
    """A seed whose program has this in it, and is short."""
    found = [
        (len(cases.of_seed(s).text), s)
        for s in range(60)
        if s % cases.CONTRACTED != 7 and text in cases.of_seed(s).text
    ]
    return min(found)[1]


def test_an_emulator_that_is_right(emulator: str) -> None:
    told = judging.judge(Job(0, targets.LibraryTarget(emulator)))
    assert told == {"executed": 1, "cells_not_judged": 0, "finding": None}


@pytest.mark.slow
def test_a_wrong_instruction_is_found_and_made_small(
    emulator: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Down to the program that has it, in a report that can be asked again."""
    seed = seed_with("clz.b32 ")
    monkeypatch.setattr(Answers, "wrong", ("clz.b32 ", "popc.b32 "))
    found = judging.judge(Job(seed, targets.LibraryTarget(emulator), patience=90))["finding"]
    assert found["kind"] == "differs" and any("clz.b32 " in line for line in found["statements"])
    assert len(found["statements"]) <= 4 and found["cells"]
    assert any(page.startswith("spec/instructions/integer/clz.md:") for page in found["pages"])
    own = reports.write(tmp_path, found, {"library": emulator}, "ptxspec fuzz --library x")
    assert {p.name for p in own.iterdir()} == {
        "case.ptx",
        "in.npy",
        "expected.npy",
        "got.npy",
        "finding.json",
        "README.md",
    }
    assert f"ptxspec fuzz --library x --again {own}" in (own / "README.md").read_text()
    assert (np.load(own / "expected.npy") != np.load(own / "got.npy")).any()
    again = ("fuzz", "--library", emulator, "--again", str(own))
    assert asked(*again, status=1)["now"] == "differs"
    monkeypatch.setattr(Answers, "wrong", ("", ""))
    assert asked(*again)["now"] is None


@pytest.mark.slow
def test_a_crash_is_made_small(emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = seed_with("prmt.b32")
    monkeypatch.setenv("PTX_CRASHES", "prmt")
    targets._sandbox().close()  # the next one has the variable
    found = judging.judge(Job(seed, targets.LibraryTarget(emulator), patience=90))["finding"]
    assert found["kind"] == "crashed" and "SIGABRT" in found["message"] and "prmt" in found["text"]
    assert len(found["statements"]) <= 4


def test_a_library_that_hangs(emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTX_HANGS", "entry")
    targets._sandbox().close()
    found = judging.judge(Job(0, targets.LibraryTarget(emulator), limit=1, patience=0))["finding"]
    assert found["kind"] == "hung" and "1 seconds" in found["message"]


def script(path: Path, body: str) -> str:
    path.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "if '--version' in sys.argv:\n    print('release 0.0')\n    sys.exit()\n"
        f"text = open(sys.argv[-3]).read()\n{body}\n"
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("if 'popc' in text: print('line 9; error : no popc'); sys.exit(255)", "refused"),
        ("if 'popc' in text: os.kill(os.getpid(), 11)", "crashed"),
    ],
)
def test_an_assembler_that_fails(body: str, kind: str, tmp_path: Path) -> None:
    """At one level, at a word: the text is made small, and is accepted by the definitions still."""
    seed = seed_with("popc")
    body = f"if '-O3' in sys.argv:\n    {body}\nopen(sys.argv[-1], 'w').close()"
    own = targets.Ptxas(script(tmp_path / "ptxas", body), ("-O0", "-O3"))
    found = judging.judge(Job(seed, own, patience=10))["finding"]
    assert (found["kind"], found["who"]) == (kind, ["-O3"]) and "popc" in found["text"]
    assert len(found["text"].splitlines()) < len(cases.of_seed(seed).text.splitlines()) / 3


@pytest.mark.slow
def test_without_a_gpu_it_says_that_nothing_was_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script(tmp_path / "ptxas", "open(sys.argv[-1], 'w').close()")
    own = targets.Ptxas(path, ("-O0",))
    assert judging.judge(Job(1, own)) == {"executed": 0, "cells_not_judged": 0, "finding": None}
    if targets.gpu().reason:
        words = ("fuzz", "--ptxas", path, "--count", "1", "--jobs", "1", "--journal", str(tmp_path / "j"))
        told = asked(*words)
        assert told["note"].startswith("NOTHING WAS EXECUTED") and "there is no GPU" in told["target"]["not_executed"]
        assert "NOTHING WAS EXECUTED" in call(*words).stderr  # from the journal
        assert len((tmp_path / "j").read_text().splitlines()) == 2


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_text("no library")
    assert asked("fuzz", "--library", str(tmp_path / "no.so"), status=2)["kind"] == "file"
    assert asked("fuzz", status=2)["kind"] == "usage"
    assert asked("fuzz", "--engine", "--ptxas", status=2)["kind"] == "usage"
    assert asked("fuzz", "--ptxas", "--levels", "7", status=2)["kind"] == "usage"


def test_contraction_both_ways_is_allowed_and_nothing_else() -> None:
    case = cases.of_seed(cases.CONTRACTED - 1)
    none, every = (behaviours.launched(case, profile="hopper", contract=way) for way in ("none", "all"))  # type: ignore[arg-type]
    assert (none != every).any()
    assert not any(one.wrong.any() or one.open.any() for one in behaviours.judged(case, none, [none, every]))
    wrong = none.copy()
    same = np.argwhere((none == every) & (none != np.uint64(behaviours.FILL)))[0]
    wrong[tuple(same)] ^= np.uint64(1)
    assert behaviours.judged(case, none, [wrong])[0].wrong.sum() <= 1
    assert json.loads(json.dumps(judging.judge(Job(7, targets.Native()))))["finding"] is None


def test_a_product_may_be_fused_with_one_of_its_readers_and_kept_for_another() -> None:
    """Each of two differences is fused or not, in all four ways: 2^-24 is what the rounding of the product loses."""
    body = """.entry k(.param .u64 in, .param .u64 out) { .reg .b64 %in, %out; .reg .b32 %v<6>;
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.global.b32 %v0, [%in]; ld.global.b32 %v1, [%in+4];
        mul.f32 %v2, %v0, %v0;
        sub.f32 %v3, %v2, %v1;
        sub.f32 %v4, %v1, %v2;
        st.global.b32 [%out], %v3; st.global.b32 [%out+4], %v4; ret; }"""
    given = np.array([[1 + 2**-12, 1 + 2**-11]], np.float32).view(np.uint64)
    texts = list(contracted_texts(HEAD + body))
    left = [behaviours.launched(FuzzCase(t, "k", given), contract="all").view(np.float32).tolist()[0] for t in texts]
    assert left == [[0, 0], [0, -(2**-24)], [2**-24, 0], [2**-24, -(2**-24)]]


def test_an_approximate_result_may_be_any_that_the_bound_allows() -> None:
    """The logarithm of 58 · 2^−149: what is one unit less, or up to two more, is within the relative bound of 2^−22. The machines
    that are asked have the ends of that."""
    body = """.entry k(.param .u64 in, .param .u64 out) { .reg .b64 %in, %out; .reg .b32 %v<3>;
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.global.b32 %v0, [%in];
        lg2.approx.f32 %v1, %v0;
        st.global.b32 [%out], %v1; st.global.b32 [%out+8], %v0; ret; }"""
    case = FuzzCase(HEAD + body, "k", np.array([[58, 0]], np.uint64))
    expected = behaviours.reference(case)

    def judged(logarithm: int, copy: int) -> behaviours.JudgedAnswer:
        """What is said of an answer that is so many bits off in each of its cells."""
        return behaviours.judged(case, expected, [expected + np.array([[logarithm, copy]]).astype(np.uint64)])[0]

    assert not any(judged(off, 0).open.any() for off in (-1, 0, 2))
    assert judged(3, 0).open.tolist() == judged(-2, 0).open.tolist() == [[True, False]]
    assert not judged(1, 0).wrong.any() and judged(1, 1).wrong.tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("between", "ways"),
    [
        ("", 2),
        ("mov.b32 %v0, %v1;", 1),
        ("mov.b32 %v2, %v1;", 1),
        ("mov.b64 {%v0, %v5}, %in;", 1),
        ("mov.b32 %v5, %v0;", 2),
        ("L: mov.b32 %v5, %v1;", 1),
        ("bra L; L:", 1),
    ],
)
def test_a_sum_takes_a_product_only_if_nothing_was_written_meanwhile(between: str, ways: int) -> None:
    assert len(list(contracted_texts(f"mul.f32 %v2, %v0, %v0;\n{between}\nsub.f32 %v3, %v2, %v1;"))) == ways
    assert len(list(contracted_texts(f"mul.rn.f32 %v2, %v0, %v0;\n{between}\nsub.f32 %v3, %v2, %v1;"))) == 1


def test_a_sum_in_memory_takes_no_product() -> None:
    text = "mul.f32 %v2, %v0, %v0;\natom.global.add.f32 %v3, [%in], %v2;\n@%p red.add.f32 [%in], %v2;"
    assert list(contracted_texts(text)) == [text.replace("mul", "mul.rn")]


def test_every_way_of_a_random_kernel_is_a_program_and_that_of_all_is_among_them() -> None:
    for seed in range(cases.CONTRACTED - 1, 4 * cases.CONTRACTED, cases.CONTRACTED):
        case = cases.of_seed(seed)
        none, every = (behaviours.launched(case, profile="hopper", contract=way) for way in ("none", "all"))  # type: ignore[arg-type]
        ways = [
            behaviours.launched(case, text=text, profile="hopper", contract="all")
            for text in contracted_texts(case.text)
        ]
        assert (ways[0] == none).all() or len(ways) == MOST
        if len(ways) < MOST:
            assert any((way == every).all() for way in ways)


def test_a_case_that_nobody_can_be_asked_of() -> None:
    """One without its entry, one whose entry takes something else, and one that breaks a rule."""
    case = cases.of_seed(cases.CONTRACTED - 1)
    with pytest.raises(ValueError, match="no entry other"):
        judging.look(case._replace(name="other"), targets.Native(), 10)
    with pytest.raises(ValueError, match="no entry k of two parameters"):
        judging.look(FuzzCase(HEAD + ".entry k(.param .u64 out) { ret; }", "k", case.cells), targets.Native(), 10)
    body = ".entry k(.param .u64 in, .param .u64 out) { .reg .b64 %d; mov.b64 %d, 0; ld.global.b64 %d, [%d]; ret; }"
    with pytest.raises(LaunchError, match="out of bounds"):
        judging.look(FuzzCase(HEAD + body, "k", case.cells), targets.Native(), 10)


@pytest.mark.slow
def test_programs_keep_from_what_ptxas_is_known_to_get_wrong() -> None:
    texts = "\n".join(cases.of_seed(seed).text for seed in range(0, 240, 2))
    assert not re.search(r"@!?%\w+ v(add|sub)4\.u32\.u32\.u32\.add", texts)  # AMB-104
    assert not re.search(r"\bset\.\S+\.(b?f16)\.\1 ", texts)  # AMB-335
    amounts = [int(n, 0) for n in re.findall(r"\bshl\.b64 %\w+, %\w+, (-?\w+?)U?;", texts) if not n.startswith("%")]
    assert amounts and all(0 <= n < 64 for n in amounts)  # AMB-336


@pytest.mark.parametrize("when", ["version", "assembling"])
def test_an_assembler_that_never_stops_writing(when: str, tmp_path: Path) -> None:
    """It is ended with what it has begun, and no more is read than anybody looks at."""
    path = tmp_path / "ptxas"
    only = "" if when == "version" else 'case "$*" in *--version*) echo release 0.0; exit;; esac\n'
    path.write_text(f"#!/bin/sh\n{only}yes | cat & cat /dev/zero\n")
    path.chmod(0o755)
    own = targets.Ptxas(str(path), ("-O0",))
    if when == "version":
        with pytest.raises(OSError, match="does not stop writing"):
            own.facts()
        assert asked("fuzz", "--ptxas", str(path), "--count", "1", status=2)["kind"] == "file"
    else:
        (answer,) = own.ask(cases.of_seed(0), 60.0)
        assert answer.kind == "hung" and "of output" in answer.message and len(answer.message) <= 2000


def test_a_program_that_is_late_is_ended_with_what_it_has_begun() -> None:
    began = time.monotonic()
    found = run_program(["/bin/sh", "-c", "echo one; sleep 100 & sleep 100"], 0.5)
    assert found.late and found.output == b"one\n" and time.monotonic() - began < 60


@pytest.mark.parametrize(
    "row",
    ['["0", "done", {"executed": 1}, ""]', '["0", "done", 7, ""]', '["x", "late", null, ""]',
     '["0", "done", {"executed": 1, "cells_not_judged": 0, "finding": {"seed": 0}}, ""]'],
)  # fmt: skip
def test_a_journal_with_another_outcome_is_refused(row: str, tmp_path: Path) -> None:
    head = json.dumps({"campaign": {"engine": "native", "limit": 20.0}}, sort_keys=True)
    (tmp_path / "j").write_text(f"{head}\n{row}\n")
    error = asked("fuzz", "--engine", "--count", "1", "--journal", str(tmp_path / "j"), status=2)["error"]
    assert "the outcome of" in error


@pytest.mark.parametrize(
    ("name", "data"),
    [("finding.json", b"[" * 100_000), ("finding.json", b'{"kernel": "k"}'), ("finding.json", b'{"kernel": 1, "kind": 2}'),
     ("in.npy", b""), ("in.npy", b"PK"), ("in.npy", None), ("case.ptx", b"\xff")],
)  # fmt: skip
def test_a_finding_that_is_damaged_is_refused(name: str, data: bytes | None, tmp_path: Path) -> None:
    found = {"seed": 0, "kind": "differs", "who": [], "message": "m", "kernel": "k", "text": "t", "statements": [], "cells": [],
             "pages": [], "expected": None, "got": None}  # fmt: skip
    own = reports.write(tmp_path, found, {}, "again")
    (own / name).unlink()
    if data is None:
        os.mkfifo(own / name)
    else:
        (own / name).write_bytes(data)
    assert asked("fuzz", "--engine", "--again", str(own), status=2)["kind"] in ("usage", "file")
