"""Queries, kernels and certificates in files: others read them, and a certificate fails when it should."""

from __future__ import annotations

import copy
import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3
from click.testing import CliRunner

import ptxspec
from ptxspec.cli import main
from ptxspec.query import records
from ptxspec.query.solvers import bitwuzla_solver, kept
from ptxspec.terms.symbolic import Script

sys.path.insert(0, str(Path(__file__).parents[2] / "cli"))
from validated import validator

QUESTIONS = [
    (("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;"), {"assume": "a != 0"}, "unsat"),
    (("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;"), {}, "sat"),
    (("add.f32 d, a, b;", "add.f32 d, b, a;"), {"profile": "hopper"}, "unsat"),
    (("add.rz.f32 d, a, b;", "add.rn.f32 d, a, b;"), {"profile": "hopper"}, "sat"),
    (("add.ftz.f32 d, a, b;", "add.ftz.f32 d, b, a;"), {"nan": "payloads"}, "sat"),
    (("div.u32 d, a, b;", "div.u32 d, a, b; mov.u32 e, %tid.x;"), {"assume": "%r == 0 or a > b"}, None),
    (("addc.u32 d, %r1, 0;", "mov.u32 d, %r1;"), {"assume": "not CC.CF"}, "unsat"),
]


@pytest.mark.parametrize(("sides", "options", "status"), [q for q in QUESTIONS if q[2]])
def test_other_solvers_read_a_query_and_answer_the_same(sides: Any, options: Any, status: str) -> None:
    text = records.smtlib_text(records.recorded(*sides, **options))
    assert text.startswith("; For all values of ") and all(f";   {side}" in text for side in sides)
    assert "fp.to_ieee_bv" not in text  # z3's own
    solver = z3.Solver()
    solver.from_string(text)
    assert str(solver.check()) == status
    if bitwuzla_solver.is_installed() and "FloatingPoint 10 24" not in text:  # which Bitwuzla refuses
        import bitwuzla

        parser = bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options())
        parser.parse(text.replace("(check-sat)\n(exit)\n", ""), True, False)
        assert str(parser.bitwuzla().check_sat()).lower().endswith(status)


def test_without_a_query_a_script_says_so() -> None:
    text = records.smtlib_text(records.recorded("mov.u32 d, 5;", "mov.u32 d, 5;"))
    assert "no solver was asked" in text and "(assert false)" in text
    with pytest.raises(ptxspec.Unsupported, match="there is no query"):
        records.smtlib_text(records.recorded("bar.sync 0;", "mov.u32 d, a;"))


# kernels -------------------------------------------------------------------------------------------------------------------

SHOWN = [
    ("neg.s32 d, a;", "not.b32 d, a;"),
    ("addc.u32 d, %r1, 0;", "mov.u32 d, %r1;"),
    ("mov.u32 d, %laneid; add.u64 e, a, b;", "mov.u32 d, %tid.x; mov.u64 e, a;"),
    ("setp.lt.s32 p, a, b;", "setp.lt.u32 p, a, b;"),
    ("mov.b128 {x, y, z, w}, a; mov.b128 d, {x, y, w, z};", "mov.b128 d, a;"),
    ("cvt.s8.s32 d, a;", "and.b32 d, a, 0xff;"),
    ("add.f16 d, a, b;", "sub.f16 d, a, b;"),
    ("setp.eq.u32 p, a, 0; @p mov.b32 d, a; @!p mov.b32 d, b;", "mov.b32 d, b;"),
    ("div.u32 d, a, 0;", "mov.u32 d, 5;"),
    (".target sm_90 add.f32 d, a, b;", ".target sm_90 sub.f32 d, a, b;"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("left", "right"), SHOWN)
def test_a_kernel_shows_what_the_counterexample_says(left: str, right: str, assembler: str, tmp_path: Path) -> None:
    record = records.recorded(left, right)
    text, found = records.ptx_text(record), record.verdict.counterexample
    assert found is not None
    target = re.search(r"^\.target (\S+)", text, re.M)
    assert target is not None
    file = tmp_path / "k.ptx"
    file.write_text(text)
    subprocess.run([assembler, "-arch", target[1], str(file), "-o", str(tmp_path / "k")], check=True)
    results = np.zeros((2, len(found.compared), 16), np.uint8)
    ptxspec.load(text).launch("show", 1, 1, [results])
    for i, name in enumerate(found.compared):
        sides = [int.from_bytes(results[side, i].tobytes(), "little") for side in (0, 1)]
        assert (sides[0] != sides[1]) == (name in found.differing)
        if not found.choices:
            for steps, value in zip((found.left, found.right), sides, strict=True):
                said = [(s.writes[name], s.types[name].width) for s in steps if name in s.writes]
                assert not said or said[-1][0] == value & ((1 << said[-1][1]) - 1)


def test_what_a_kernel_cannot_show_is_refused() -> None:
    for sides in ((".target sm_13 add.f32 d, a, b;", "sub.f32 d, a, b;"), ("add.u32 d, a, b;", "add.u32 d, b, a;")):
        with pytest.raises(ptxspec.Unsupported, match=r"different versions or targets|no counterexample"):
            records.ptx_text(records.recorded(*sides))


# certificates --------------------------------------------------------------------------------------------------------------

PROVED = ("mul.lo.u32 d, a, 9;", "shl.b32 x, a, 3; add.u32 d, x, a;")
REFUTED = ("shr.s32 d, a, 1;", "div.s32 d, a, 2;")
CONTRACTED = ("mul.f32 x, a, b; add.f32 d, x, c;", "fma.rn.f32 d, a, b, c;")
LOOP = """.reg .u32 i; mov.u32 i, 0; mov.u32 s, 0; L: setp.ge.u32 p, i, n; @p bra D; add.u32 s, s, 3; add.u32 i, i, 1; bra L;
D: mov.u32 d, s;"""


def made(*sides: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(records.certificate(records.recorded(*sides, **options))))
    validator("certificate").validate(found)
    return found


@pytest.mark.parametrize(
    ("sides", "options", "status"),
    [
        (PROVED, {}, "proved"),
        (PROVED, {"assume": "a < 5"}, "proved"),
        (REFUTED, {"profile": "hopper"}, "refuted"),
        (("div.u32 d, a, 0;", "mov.u32 d, 5;"), {}, "refuted"),
        (("addc.u32 d, %r1, 0;", "mov.u32 d, %r1;"), {}, "refuted"),
        (PROVED, {"assume": "a < 5 and a > 7"}, "vacuous"),
        (("mov.u32 d, 5;", "mov.u32 d, 5;"), {}, "proved"),
        (("div.u32 d, a, 0;", "mov.u32 d, -1;"), {"relation": "refines"}, "proved"),
        (("div.u32 d, a, b;", "mov.u32 d, -1;"), {"relation": "refines"}, "refuted"),
        (("ld.u32 d, [p];", "ld.u16 d, [p];"), {"buffers": {"p": 4}, "assume": "p[2] == 0 and p[3] == 0"}, "proved"),
        (("ld.u32 d, [q];", "ld.u32 d, [p];"), {"buffers": {"p": 4, "q": ("p", 0)}}, "proved"),
        ((LOOP, "mul.lo.u32 d, n, 3;"), {"invariant": "s == 3*i and i <= n", "assume": "n < 1000"}, "proved"),
        ((LOOP, "mul.lo.u32 d, n, 3;"), {"assume": "n < 4"}, "proved"),
        (CONTRACTED, {"contract": "all", "profile": "hopper"}, "proved"),
        (PROVED, {"profile": ("hopper", "portable")}, "proved"),
        (("mov.u32 d, %laneid; add.u32 d, d, a;", "mov.u32 e, %laneid; add.u32 d, a, e;"), {"warp": True}, "proved"),
        (PROVED, {"solver": "portfolio"}, "proved"),
        (("ld.global.u8 d, [q];", "ld.u8 d, [p+4];"), {"buffers": {"p": 8, "q": ("p", 4)}}, "proved"),
        (
            (
                "st.global.u32 [p], a; fence.sc.gpu; sub.u32 d, a, b;",
                "st.global.u32 [p], a; fence.sc.gpu; sub.u32 e, b, a; neg.s32 d, e;",
            ),
            {"buffers": {"p": 8}},
            "proved",
        ),
    ],
)
def test_a_certificate_holds(sides: Any, options: Any, status: str) -> None:
    """And says what was checked: the statement of the question."""
    certificate = made(*sides, **options)
    assert certificate["verdict"]["status"] == status
    assert {q["status"] for q in certificate["queries"]} <= {"sat", "unsat"}
    checked = records.check(certificate)
    assert checked.holds and checked.said.startswith(status) and not checked.notes, checked
    statement = ptxspec.prove(*sides, **options).statement
    assert statement is not None and list(checked.statement) == statement.words()


def placed(certificate: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The certificate with another value in one place, or without it."""
    found = copy.deepcopy(certificate)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    holder = functools.reduce(lambda part, step: part[step], steps, found)
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("verdict/statement/words", ["a + 1 = a"]),
        ("verdict/statement/words/0", "a + 1 = a"),
        ("verdict/statement/compared", {"d": ".u8"}),
        ("verdict/statement/compared/e", ".u32"),
        ("verdict/statement/assume", "a == 7"),
        ("verdict/statement/notes", ["nothing is compared"]),
        ("verdict/statement/contract", "all"),
        ("queries/0/status", "sat"),
        ("queries/0/text", "(assert false)"),
        ("queries/0/purpose", "nothing"),
        ("question/assume", "a < 6"),
        ("question/left", "mul.lo.u32 d, a, 8;"),
        ("question/right", "shl.b32 x, a, 3; add.u32 e, x, a;"),
        ("question/invariant", "garbage"),
        ("question/contract", "all"),
        ("question/relation", "refines"),
        ("question/left", "frobnicate"),
        ("pages", {"spec/instructions/integer/add.md": "0" * 64}),
    ],
)
def test_a_forged_part_does_not_hold(path: str, value: Any) -> None:
    certificate = made(*PROVED, assume="a < 5")
    assert records.check(certificate).holds
    assert not records.check(placed(certificate, path, value)).holds


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("question/contract", "garbage", "question.contract is no"),
        ("question/invariant", 7, "question.invariant is no"),
        ("question/unroll", True, "question.unroll is no"),
        ("question/unroll", 1.0, "question.unroll is no"),
        ("question/timeout", 5, "question.timeout is no field"),
        ("question/assume", None, "question.assume is missing"),
        ("question/buffers", {"p": [1]}, "question.buffers is no"),
        ("question", [], "question is no"),
        ("queries/0/agreed", ["z3"], "agreed is no field"),
        ("queries/0/status", "perhaps", r"queries\[0\].status is no"),
        ("queries/0", 3, r"queries\[0\] is no object"),
        ("queries", {}, "queries is no"),
        ("verdict", "proved", "verdict is no"),
        ("verdict", None, "verdict is missing"),
        ("pages", None, "pages is missing"),
        ("pages/spec", "x", "pages.spec is no digest"),
        ("timeout", "60", "timeout is no"),
        ("timeout", 0, "timeout is no"),
        ("timeout", float("nan"), "timeout is no"),
        ("timeout", 10**400, "timeout is no"),
        ("solver", "yices", "solver is no"),
        ("format", 1, "format 3"),
        ("format", True, "format 3"),
        ("more", 1, "more is no field"),
    ],
)
def test_what_is_malformed_is_refused_by_the_name_of_the_field(path: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        records.check(placed(made(*PROVED), path, value))


def test_each_query_stands_once_and_in_its_place() -> None:
    certificate = made(*PROVED, assume="a < 5")
    assert len(certificate["queries"]) == 2
    for queries in ([*certificate["queries"]] * 2, certificate["queries"][::-1], certificate["queries"][:1], []):
        assert not records.check({**certificate, "queries": queries}).holds
    invariant = made(LOOP, "mul.lo.u32 d, n, 3;", invariant="s == 3*i and i <= n", assume="n < 1000")
    assert len(invariant["queries"]) == 3 and all(q["purpose"] for q in invariant["queries"])
    assert not records.check({**invariant, "queries": invariant["queries"][::-1]}).holds


def test_a_forged_counterexample_does_not_hold() -> None:
    certificate = made("div.u32 d, a, 0; mov.b32 x, a;", "mov.u32 d, 5; mov.b32 y, a;")
    assert records.check(certificate).holds
    start = "verdict/counterexample"
    for path, value in {
        f"{start}/inputs/a/unsigned": 12345,
        f"{start}/inputs/a/hex": "0x00000001",
        f"{start}/inputs/b": {"unsigned": 3},
        f"{start}/inputs": {},
        f"{start}/differing": ["x"],
        f"{start}/compared": {"d": ".u8"},
        f"{start}/choices/0/bits": 5,
        f"{start}/choices/0/entry": "made-up",
        f"{start}/choices": [],
        f"{start}/left": [],
        f"{start}/left/0/writes/d": 77,
        f"{start}/right/0/page": "spec/instructions/integer/add.md:1",
        f"{start}": None,
        f"{start}/why": "x",
    }.items():
        assert not records.check(placed(certificate, path, value)).holds, path


def test_a_definition_that_changes_the_query_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = [made(*PROVED), made(*REFUTED, profile="hopper")]
    binary = Script.binary
    monkeypatch.setattr(Script, "binary", lambda self, op, x, y, n: binary(self, "or" if op == "add" else op, x, y, n))
    monkeypatch.setattr(Script, "const", lambda self, value, n: f"#b{value:0{n}b}")
    for certificate in certificates:
        checked = records.check(certificate)
        assert not checked.holds and "another query" in checked.said


def test_a_certificate_that_claims_something_else_does_not_hold() -> None:
    proved, refuted = made(*PROVED), made(*REFUTED, profile="hopper")
    other = copy.deepcopy(proved)
    other["queries"][0]["text"] = other["queries"][0]["text"][:-2]
    assert not records.check(other).holds
    lied = copy.deepcopy(refuted)
    for shown in lied["verdict"]["counterexample"]["inputs"].values():
        shown["unsigned"] = 0
    assert not records.check(lied).holds  # the half of zero is zero
    for claimed, status in ((proved, "refuted"), (refuted, "proved")):
        wrong = copy.deepcopy(claimed)
        wrong["verdict"]["status"] = status
        wrong["verdict"].setdefault("counterexample", {"inputs": {"a": {"unsigned": 1}}})
        checked = records.check(wrong)
        assert not checked.holds and f"the verdict was {status}" in checked.said


def test_a_page_that_changed_without_changing_the_query_is_a_note() -> None:
    certificate = made(*PROVED)
    page = next(iter(certificate["pages"]))
    certificate["pages"][page] = "0" * 64
    checked = records.check(certificate)
    assert checked.holds and checked.notes == (f"{page} is another than it was",)


def test_answers_that_were_kept_are_no_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = "neg.s32 d, a;", "not.b32 d, a;"
    certificate = made(*sides)
    monkeypatch.setattr(
        kept, "find", lambda key: pytest.fail("an answer was looked up") if kept._is_used.get() else None
    )
    assert records.check(certificate).holds


def test_what_settles_nothing_has_no_certificate() -> None:
    hard = "div.u64 q, a, b; div.u64 d, q, c;", "mul.lo.u64 m, b, c; div.u64 d, a, m;"
    small = "b != 0 and c != 0 and b < 65536 and c < 65536"
    for sides, assume in ((("bar.sync 0;", "mov.u32 d, a;"), None), (hard, small)):
        with pytest.raises(ptxspec.Unsupported, match="settles the question"), kept.kept_at(None):
            records.certificate(records.recorded(*sides, assume=assume, profile="hopper", timeout=0.3))
    with pytest.raises(ValueError, match="no certificate"):
        records.check({"format": 99, "question": {}})


def test_options_that_mean_nothing_are_errors() -> None:
    with pytest.raises(ValueError, match="no contraction is called 'x'"):
        ptxspec.prove(*PROVED, contract="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neither side has one"):
        ptxspec.prove(*PROVED, invariant="a == 1")


def test_what_is_not_decided_has_no_script() -> None:
    record = records.recorded("fence.proxy.alias; add.u32 d, a, b;", "add.u32 d, b, a;")
    assert record.verdict.status == "unsupported" and record.verdict.statement is None
    with pytest.raises(ptxspec.Unsupported, match="there is no query: the sides order memory"):
        records.smtlib_text(record)


@pytest.mark.slow
def test_a_program_of_several_threads_is_certified_and_has_no_script() -> None:
    record = records.recorded("fence.sc.gpu; add.u32 d, a, b;", "add.u32 d, b, a;")
    assert record.verdict.status == "refuted" and record.verdict.witness is not None
    with pytest.raises(ptxspec.Unsupported, match="there is no query: beside other threads"):
        records.smtlib_text(record)
    made = records.certificate(record)
    assert made["verdict"]["witness"]["allowed_by"] == "right" and records.check(made).holds
    made["verdict"]["witness"]["axioms"] = ["Coherence"]
    assert not records.check(made).holds
    alone = records.recorded("fence.sc.gpu; add.u32 d, a, b;", "add.u32 d, b, a;", context="alone")
    assert alone.verdict.status == "proved" and records.check(records.certificate(alone)).holds


# the command ---------------------------------------------------------------------------------------------------------------


def call(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["prove", *words])
    assert result.exit_code == status, result.output
    return result.output


def test_the_command_writes_files_and_checks_them(tmp_path: Path) -> None:
    files = {name: str(tmp_path / name) for name in ("smtlib", "ptx", "certificate")}
    words = [word for name, file in files.items() for word in (f"--{name}", file)]
    call("neg.s32 d, a;", "not.b32 d, a;", *words, status=1)
    assert all(Path(file).stat().st_size > 100 for file in files.values())
    said = call("--check", files["certificate"])
    assert "holds: refuted again" in said and "For all values of a (.s32), both sides leave the same in d" in said
    changed = Path(files["certificate"]).read_text().replace("neg.s32 d, a;", "abs.s32 d, a;")
    Path(files["certificate"]).write_text(changed)
    said = json.loads(call("--check", files["certificate"], "--json", status=1))
    validator("prove").validate(said)
    assert not said["holds"] and "another query" in said["said"]


def test_the_command_refuses_what_makes_no_sense(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{")
    (tmp_path / "y").write_text("[]")
    (tmp_path / "z").write_text('{"format": 3, "format": 3}')
    (tmp_path / "deep").write_text("[" * 100_000)
    for words in (
        ["--check", str(tmp_path / "z")],
        ["--check", str(tmp_path / "deep")],
        ["--check", str(tmp_path / "x")],
        ["--check", str(tmp_path / "y")],
        ["--check", str(tmp_path / "missing")],
        ["--check", str(tmp_path / "x"), "mov.u32 d, a;"],
        ["mov.u32 d, a;"],
        ["neg.s32 d, a;", "not.b32 d, a;", "--smtlib", str(tmp_path / "x" / "y")],
        ["neg.s32 d, a;", "not.b32 d, a;", "--solver", "yices"],
    ):
        call(*words, status=2)


def test_a_kernel_of_a_proof_is_not_written_and_said_not_to_be(tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    assert "is not written" in call("add.u32 d, a, b;", "add.u32 d, b, a;", "--ptx", str(file))
    assert not file.exists()
