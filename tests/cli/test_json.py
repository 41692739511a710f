"""--json: every command's successes and failures, by the schemas in docs/reference/schemas/."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import ValidationError
from validated import COMMANDS, ROOT, SCHEMAS, STATUSES, asked, call, strictly, validated, validator

import ptxspec
from ptxspec.cli import failures, main
from ptxspec.cli.shared import dumped

SAXPY = str(ROOT / "docs" / "examples" / "saxpy" / "saxpy.ptx")
ARGUMENTS = ["-a", "u32=4", "-a", "f32=2", "-a", "f32[4]=1,nan,inf,-inf", "-a", "f32[4]=zeros"]
STORE = (
    ".version 8.0 .target sm_80 .address_size 64 .entry k(.param .u64 out) { .reg .b64 %p;\n"
    "  ld.param.u64 %p, [out];   st.global.u32 [%p+4], 7; ret; }"
)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.ptx").write_text(Path(SAXPY).read_text().replace("fma.rn.f32", "fma.rx.f32"))
    return str(tmp_path / "bad.ptx")


@pytest.mark.parametrize("command", [*COMMANDS, "", "common"])
def test_every_command_has_a_schema_that_is_one(command: str) -> None:
    validator(command)


def test_there_is_no_schema_without_a_command_and_the_guide_names_them_all() -> None:
    names = {path.name for path in SCHEMAS.iterdir()}
    assert names == {f"{c.replace(' ', '-')}.json" for c in COMMANDS} | {
        "common.json",
        "ptxspec.json",
        "certificate.json",
    }
    text = (SCHEMAS.parent / "json.md").read_text()
    assert all(f"(schemas/{name})" in text for name in names)


def test_the_guide_has_every_kind_of_failure_and_every_exit_status() -> None:
    text = (SCHEMAS.parent / "json.md").read_text()
    failure = json.loads((SCHEMAS / "common.json").read_text())["$defs"]["failure"]["properties"]
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) - {"kind"} == set(failure["kind"]["enum"])
    told = {int(n) for n in re.findall(r"^\| (\d+) \|", text, re.M)}
    own = {v for n, v in vars(failures).items() if n.isupper() and isinstance(v, int)}
    assert told == own | {ptxspec.Verdict("vacuous").exit_status} >= set(failure["status"]["enum"])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_schema_does_not_take_anything(command: str) -> None:
    """A schema under which everything is valid would test nothing."""
    for value in (
        {},
        [],
        7,
        "x",
        {"error": "x"},
        {"error": "x", "kind": "usage"},
        {"error": "x", "kind": "text", "status": 1},
    ):
        with pytest.raises(ValidationError):
            validator(command).validate(value)


@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_usage_errors_are_objects(command: str) -> None:
    for words in (["--frobnicate"], ["--profile"]):
        found = asked(command, *words, status=2)
        assert found["kind"] == "usage" and found["error"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("check", []),
        ("format", []),
        ("run", []),
        ("eval", []),
        ("prove", ["add.u32 d, a, b;"]),
        ("find", ["add.u32 d, a, b;"]),
        ("find", ["add.u32 d, a, b;", "--where", "d == 1", "--timeout", "nan"]),
        ("explain", []),
        ("synthesize", ["add.u32 d, a, b;"]),
        ("vectors write", []),
        ("run", [SAXPY, "--engine", "quantum"]),
        ("run", [SAXPY, "--step-limit", "many"]),
        ("prove", ["mov.u32 d, a;", "mov.u32 d, a;", "--timeout", "soon"]),
        ("prove", ["mov.u32 d, a;", "mov.u32 d, a;", "--timeout", "nan"]),
        ("check", ["no such file.ptx"]),
        ("check", ["."]),
        ("vectors check", []),
        ("vectors check", ["--show", "-1", "x"]),
        ("", ["frobnicate"]),
    ],
)
def test_missing_arguments_bad_choices_and_unknown_commands(command: str, words: list[str]) -> None:
    assert asked(command, *words, status=2)["kind"] == "usage"


def test_check(bad: str) -> None:
    assert asked("check", SAXPY)["kernels"]["saxpy"]["instructions"] > 10
    (found,) = asked("check", bad, status=1)["diagnostics"]
    assert found["column"] == 2 and found["page"] == "spec/instructions/floating/fma.md"
    assert len(asked("check", bad, SAXPY, status=1)["files"]) == 2


def test_format(bad: str) -> None:
    assert "fma.rx.f32" in asked("format", bad)["text"]
    assert asked("format", "-i", bad)["changes"] is True and asked("format", "--check", bad)["changes"] is False
    Path(bad).write_bytes(b"junk")
    assert asked("format", bad, status=1)["diagnostics"][0]["line"] == 1


def test_bytes_that_are_no_utf8_are_shown_and_not_lost_in_the_file(tmp_path: Path) -> None:
    text = b".version 9.0\n.target sm_90\n// caf\xe9\n.entry k() { ret; }\n"
    file = tmp_path / os.fsdecode(b"caf\xe9.ptx")
    file.write_bytes(text)
    found = asked("format", str(file))
    assert "// caf\\xe9\n" in found["text"] and found["file"].endswith("caf\\xe9.ptx")
    call("format", "-i", str(file))
    assert b"// caf\xe9\n" in file.read_bytes() and b"    ret;" in file.read_bytes()
    assert "caf\\xe9.ptx: no errors" in call("check", str(file)).stdout
    assert "caf\\xe9" in asked("check", str(file))["file"]


def test_run_says_what_is_no_number_in_strings() -> None:
    found = asked("run", SAXPY, "-b", "32", *ARGUMENTS)
    assert found["changed"] == {"3": [2.0, "nan", "inf", "-inf"]} and found["thread_instructions"] > 0


def test_a_fault_has_fields(tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(STORE)
    for engine in ("native", "exact"):
        found = asked("run", str(file), "-g", "1", "-b", "3", "-a", "u32[1]=zeros", "--engine", engine, status=1)
        fault = found["fault"]
        assert found["kind"] == "fault" and fault["rule"] == "out of bounds" and fault["page"].startswith("spec/")
        assert (fault["thread"], fault["cta"]) == ([0, 0, 0], [0, 0, 0])
        assert (fault["file"], fault["line"], fault["column"]) == (str(file), 2, 29)
        assert fault["instruction"] == "st.global.u32 [%p+4], 7;" and isinstance(fault["address"], int)
        assert fault["note"] and fault["note"] in found["error"]


def test_a_fault_of_nobody_has_the_same_fields(tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(".version 8.0 .target sm_80 .entry k() { a: bra a; }")
    fault = asked("run", str(file), "--step-limit", "1000", status=1)["fault"]
    assert fault["rule"] == "step limit" and fault["thread"] is None and fault["line"] is None


def test_run_of_a_text_that_is_wrong(bad: str) -> None:
    assert asked("run", bad, status=1)["diagnostics"][0]["message"].startswith("there is no fma.rx.f32")


def test_eval() -> None:
    found = asked("eval", "rcp.approx.f32 d, a; @p mov.u32 e, 1; setp.lt.f32 q, a, d;", "a=0", "p=false", "e=5")
    assert found["results"]["d"]["float"] == "inf" and found["results"]["q"]["predicate"] is True
    assert [s["executed"] for s in found["steps"]] == [True, False, True] and found["results"]["e"]["unsigned"] == 5
    assert found["steps"][1]["guard"] == "p" and found["results"]["d"]["type"] == ".f32"
    assert asked("eval", "sqrt.rn.f32 d, a;", "a=-1")["results"]["d"]["float"] == "nan"
    assert asked("eval", "rem.u32 d, a, b;", "a=1", "b=0", "--profile", "portable", status=1)["kind"] == "open"
    assert asked("eval", "bar.sync 0;", status=1)["kind"] == "unsupported"
    assert asked("eval", "frob.u32 d, a;", status=1)["kind"] == "text"


def test_prove() -> None:
    assert asked("prove", "add.u32 d, a, b", "add.u32 d, b, a")["status"] == "proved"
    found = asked("prove", "min.f32 d, a, b; setp.lt.f32 p, a, b;", "add.f32 d, a, b; setp.lt.f32 p, b, a;", status=1)
    assert found["status"] == "refuted" and found["counterexample"]["inputs"].keys() == {"a", "b"}
    assert asked("prove", "bar.sync 0;", "mov.u32 d, a;", status=2)["status"] == "unsupported"
    assert asked("prove", "frob d;", "mov.u32 d, a;", status=2)["kind"] == "text"
    assert asked("prove", "mov.u32 d, a;", "mov.u32 e, a;", status=2)["kind"] == "usage"
    assert asked("prove", "mov.u32 d, a;", "mov.u32 d, a;", "--profile", "nobody", status=2)["kind"] == "usage"


def test_why_a_claim_fails() -> None:
    found = asked("prove", "shl.b32 d, a, b;", "mov.b32 d, a; @p shl.b32 d, a, b;", "-a", "not p", status=1)
    assert {s["executed"] for s in found["counterexample"]["right"]} == {True, False}
    found = asked("prove", "shl.b32 d, a, b;", "and.b32 n, b, 31; shl.b32 d, a, n;", status=1)["counterexample"]
    assert found["why"]["assume"] == "b < 32" and found["inputs"]["a"]["type"] == ".b32"


def test_find() -> None:
    found = asked("find", "add.sat.s32 d, a, b;", "--where", "d == 0x7fffffff and a < 16", "--count", "2")
    assert [f["inputs"]["a"]["unsigned"] for f in found["found"]] == [0, 1] and found["status"] == "found"
    assert found["found"][0]["results"]["d"]["hex"] == "0x7fffffff"
    none = asked("find", "popc.b32 d, a;", "--where", "d == 33", status=1)
    assert none["status"] == "none" and none["found"] == [] and none["complete"]
    open_one = asked("find", "div.u32 d, a, b;", "-w", "d == 7 and b == 0", "--profile", "portable")["found"][0]
    assert open_one["choices"][0]["entry"] == "division-by-zero"
    assert asked("find", "popc.b32 d, a;", "--where", "e == 33", status=2)["kind"] == "usage"
    assert asked("find", "bar.sync 0;", "--where", "d == 33", status=2)["kind"] == "unsupported"
    assert asked("find", "frob d;", "--where", "d == 33", status=2)["kind"] == "text"


def test_explain() -> None:
    found = asked("explain", "bfe.s32 d, a, b, c; @p mov.b32 d, 1;", "a=0x80", "b=4", "c=300", "p=false")
    first, second = found["steps"]
    assert first["lines"][-1]["conditions"][0]["value"] is False and first["reads"]["c"]["unsigned"] == 300
    assert first["chosen"][0]["entry"] == "field-beyond-255"
    assert second["executed"] is False and second["lines"] == [] and second["guard"] == "p"
    deeper = asked("explain", "add.f32 d, a, b;", "a=1.5", "b=2", "--depth", "4")
    assert max(line["depth"] for line in deeper["steps"][0]["lines"]) == 3
    assert asked("explain", "div.u32 d, a, b;", "a=1", "b=0", "--profile", "portable", status=1)["kind"] == "open"
    assert asked("explain", "add.f32 d, a, b;", "a=1.5", status=2)["kind"] == "usage"
    assert asked("explain", "add.f32 d, a, b;", "a=1.5", "b=2", "--depth", "0", status=2)["kind"] == "usage"


def test_synthesize() -> None:
    found = asked("synthesize", "not.b32 n, b; and.b32 d, a, n;", "--with", "lop3.b32")
    assert found["status"] == "found" and found["proof"] == "proved" and found["length"] == 1
    none = asked("synthesize", "popc.b32 d, a;", "--with", "and.b32", "--most", "1", status=1)
    assert none["status"] == "none" and none["text"] == "" and none["excluded"]
    assert asked("synthesize", "popc.b32 d, a;", "--with", "ld.global.u32", status=2)["kind"] == "unsupported"
    assert asked("synthesize", "popc.b32 d, a;", "--with", "frob", status=2)["kind"] == "usage"
    assert asked("synthesize", "popc.b32 d, a;", "--with", "and.b32", "--constant", "x", status=2)["kind"] == "usage"


def test_forms() -> None:
    assert len(asked("forms", "bfe")) == 4 and asked("forms")["bfe"] == 4
    found = asked("forms", "bfee", status=1)
    assert found["kind"] == "unknown" and "the nearest opcodes are bfe" in found["error"]
    assert "the nearest forms are " in asked("forms", "bfe.u33", status=1)["error"]
    for command in ("forms", "ledger"):
        gap = asked(command, "tcgen05", status=1)
        assert gap["kind"] == "gap" and "tcgen05 is PTX, but no page describes it" in gap["error"]
        assert {"tcgen05.mma", "tcgen05.ld"} <= {g["name"] for g in gap["gaps"]}
        assert all(g["target"].startswith("sm_100") and g["page"] == "spec/gaps.md" for g in gap["gaps"])
        assert asked(command, "frob", status=1)["kind"] == "unknown"
    assert asked("forms", "tcgen05.mma", status=1)["gaps"][0]["name"] == "tcgen05.mma"
    assert asked("forms", "tex.grad.cube", status=1)["gaps"][0]["since"] == "4.3"


def test_vectors(tmp_path: Path) -> None:
    found = asked("vectors write", str(tmp_path / "v"), "-o", "brev")
    assert found["forms"] == 2 and found["left_alone"] == []
    assert len(asked("vectors check", str(tmp_path / "v"), status=1)["missing"]) == 2
    assert asked("vectors check", "--recorded", "-o", "popc")["rows"] == 1024
    assert (
        "the nearest opcodes are brev" in asked("vectors write", str(tmp_path / "w"), "-o", "brve", status=2)["error"]
    )
    assert asked("vectors check", str(tmp_path / "nowhere"), status=2)["kind"] == "usage"


def test_differing_vectors(tmp_path: Path) -> None:
    call("vectors write", str(tmp_path / "v"), "-o", "brev")
    file = tmp_path / "v" / "brev.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line["results"] = [["0x0"] for _ in line["rows"]]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(asked("vectors check", str(tmp_path / "v"), status=1)["differing"]) == 2


def test_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec.evidence import ledger, precomputed
    from ptxspec_workshop.ledger import computing

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "rows", lambda: [])
    monkeypatch.setattr(precomputed, "rows", list)  # nothing was computed before
    assert asked("ledger", status=1)["kind"] == "missing"
    rows = computing.opcode_rows("bfe")
    monkeypatch.setattr(ledger, "rows", lambda: rows)
    assert asked("ledger")["summary"]["forms"] == asked("ledger", "bfe")["summary"]["forms"] == 4
    assert asked("ledger", "bfe")["not_computed"] == [] and asked("ledger", "add")["not_computed"] == ["add"]


def test_what_is_no_number_is_a_string_at_any_depth() -> None:
    value = {"a": [math.nan, (math.inf, -math.inf)], "b": {"c": 1.5}, math.inf: 1}  # type: ignore[dict-item]
    assert strictly(dumped(value)) == {"a": ["nan", ["inf", "-inf"]], "b": {"c": 1.5}, "inf": 1}
    assert strictly(dumped("\udcff \ud800 é")) == "\\udcff \\ud800 é" and strictly(dumped("\udcff")) == "\\xff"
    with pytest.raises(ValueError):
        strictly("[NaN]")


def test_json_that_is_asked_for_behind_two_dashes_is_an_operand() -> None:
    result = CliRunner().invoke(main, ["eval", "neg.s32 d, a;", "--", "--json"])
    assert result.exit_code == 2 and "'--json' is not name=value" in result.stderr and not result.stdout


def test_an_internal_error_has_a_status_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 is an answer, and a crash is none."""
    from ptxspec.language import check

    monkeypatch.setattr(check, "check", lambda text, path: {}["k"])
    found = asked("check", SAXPY, status=70)
    assert found["kind"] == "internal" and "KeyError: 'k'" in found["error"] and "PTXSPEC_TRACEBACK" in found["error"]
    monkeypatch.setattr(check, "check", lambda text, path: bytearray(1 << 60))
    assert asked("check", SAXPY, status=2)["kind"] == "resources"
    assert all(70 not in statuses for statuses in STATUSES.values())


def test_a_validator_finds_what_is_wrong() -> None:
    assert validated("forms", '{"error": "x", "kind": "unknown", "status": 1}')
    with pytest.raises(ValidationError):
        validated("forms", '{"error": "x", "kind": "surprise", "status": 1}')


def test_a_race_names_both_places(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(
        ".version 8.0 .target sm_80 .address_size 64 .entry k(.param .u64 out) { .reg .b64 %p; .reg .b32 %x;\n"
        ".shared .align 4 .b32 s; ld.param.u64 %p, [out]; cp.async.ca.shared.global [s], [%p], 4;\n"
        "  cp.async.commit_group; cp.async.wait_group 1;\n  ld.shared.u32 %x, [s]; st.global.u32 [%p], %x; ret; }"
    )
    run = ("run", str(tmp_path / "k.ptx"), "-a", "u32[1]=5", "--block", "2")
    for more in (
        (),
        ("--engine", "exact"),
        ("--engine", "exact", "--copies", "late"),
        ("--copies", "random:7"),
        ("--engine", "exact", "--copies", "each"),
    ):
        fault = asked(*run, *more, status=1)["fault"]
        assert fault["rule"] == "copy not waited for" and fault["line"] == 4
        other = fault["other"]
        assert (other["line"], other["thread"], other["instruction"][:8]) == (2, [0, 0, 0], "cp.async")
    for wrong in (("--copies", "7"), ("--engine", "exact", "--copies", "never")):
        assert asked(*run, *wrong, status=2)["kind"] == "usage"


def test_a_run_contracts_what_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(
        ".version 8.0 .target sm_80 .address_size 64 .entry k(.param .u64 out) { .reg .b64 %p; .reg .f32 %x, %y;\n"
        "ld.param.u64 %p, [out]; ld.global.f32 %x, [%p]; mul.f32 %y, %x, %x; sub.f32 %y, %y, %x;\n"
        "st.global.f32 [%p], %y; ret; }"
    )
    run = ("run", str(tmp_path / "k.ptx"), "-a", "f32[1]=1.1")
    one, other = (asked(*run, "--contract", how)["changed"]["0"] for how in ("none", "all"))
    assert asked(*run)["changed"]["0"] == one != other
    assert asked(*run, "--contract", "some", status=2)["kind"] == "usage"


def test_export(tmp_path: Path) -> None:
    found = asked("export", "-o", "bfe", "-o", "brev")
    assert [o["opcode"] for o in found["opcodes"]] == ["bfe", "brev"] and not found["whole"]
    assert call("export", "-o", "bfe", "-o", "brev").stdout == call("export", "-o", "brev", "-o", "bfe").stdout
    file = tmp_path / "isa.json"
    said = asked("export", "-o", "bfe", "--to", str(file))
    assert said == {"file": str(file), "bytes": file.stat().st_size, "opcodes": 1, "forms": 4}
    assert validated("export", file.read_text())["opcodes"][0]["opcode"] == "bfe"
    assert "1 opcodes, 4 forms" in call("export", "-o", "bfe", "--to", str(file)).stdout
    assert asked("export", "-o", "bfee", status=1)["kind"] == "unknown"
    assert asked("export", "-o", "bfe", "--to", str(tmp_path / "nowhere" / "deep" / "x"), status=2)["kind"] == "file"
    assert not (tmp_path / "nowhere").exists()
