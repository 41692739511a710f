"""`ptxspec vectors`: what it writes, and that results are judged and bad files are refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ptxspec
from ptxspec.cli import main
from ptxspec.evidence import assembler, vector_contents, vector_results
from ptxspec.evidence.kernels import operand_rows
from ptxspec.evidence.kernels.instruction_kernels import (
    kernel,
)
from ptxspec.evidence.kernels.instruction_modules import (
    alone,
)
from ptxspec_workshop.record import multifunction_answers, refusals
from ptxspec_workshop.record.families import FUNCTIONS

Lines = dict[str, dict[str, Any]]


def call(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["vectors", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == status, result.output
    return result.output


def lines_in(folder: Path, opcode: str) -> Lines:
    return {line["form"]: line for line in map(json.loads, (folder / f"{opcode}.jsonl").read_text().splitlines())}


def put(folder: Path, opcode: str, lines: Lines) -> None:
    (folder / f"{opcode}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines.values()))


@pytest.fixture
def brev(tmp_path: Path) -> Path:
    call("write", str(tmp_path / "v"), "-o", "brev")
    return tmp_path / "v"


@pytest.fixture(scope="module")
def rcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "v"
    call("write", str(folder), "-o", "rcp")
    return folder


def reversed_bits(line: dict[str, Any]) -> list[list[str]]:
    """The oracle: digits backwards."""
    width = int(line["inputs"][0]["type"][1:])
    return [[hex(int(f"{int(a, 16):0{width}b}"[::-1], 2))] for (a,) in line["rows"]]


def solved(folder: Path) -> Lines:
    lines = lines_in(folder, "brev")
    for line in lines.values():
        line["results"] = reversed_bits(line)
    return lines


def test_what_is_written_is_what_an_oracle_computes(brev: Path) -> None:
    lines = lines_in(brev, "brev")
    assert set(lines) == {"brev.b32 d, a;", "brev.b64 d, a;"}
    for line in lines.values():
        assert [[int(d, 16)] for (d,) in line["expected"]] == [[int(d, 16)] for (d,) in reversed_bits(line)]
        assert line["open"] == {} and line["results"] is None and len(line["rows"]) == 512
        assert line["page"].startswith("spec/instructions/logic/") or line["page"].startswith(
            "spec/instructions/integer/"
        )
    assert json.loads((brev / "vectors.json").read_text())["rows"] == 1024
    text = (brev / "README.md").read_text()
    assert "profile `portable`" in text and all(f"`{key}`" in text for key in lines["brev.b32 d, a;"])


@pytest.mark.parametrize(
    "opcode",
    ["brev", "addc", pytest.param("setp", marks=pytest.mark.long), pytest.param("red", marks=pytest.mark.long)],
)
def test_the_kernels_give_what_is_expected(opcode: str, tmp_path: Path) -> None:
    """Through the front end and the machine, which know nothing of the vectors."""
    folder = tmp_path / "v"
    call("write", str(folder), "-o", opcode, "--profile", "hopper")
    lines = lines_in(folder, opcode)
    assert set(lines) == set(vector_contents.written_forms(opcode))
    for name in random.Random(opcode).sample(sorted(lines), 2):
        line, count = lines[name], 40
        given, got = np.zeros((count, 16), np.uint64), np.zeros((count, 16), np.uint64)
        for i, row in enumerate(line["rows"][:count]):
            given[i, : len(row)] = [int(v, 16) for v in row]
        module = ptxspec.load(line["ptx"])
        module.launch("vector", 1, count, [given, got])
        width = len(line["outputs"])
        assert got[:, :width].tolist() == [[int(v, 16) for v in row] for row in line["expected"][:count]], name


def test_a_kernel_declares_what_it_uses_at_the_first_version_of_its_form(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    call("write", str(folder), "-o", "bfe")
    line = lines_in(folder, "bfe")["bfe.u32 d, a, b, c;"]
    assert (line["version"], line["target"]) == ("2.3", "sm_20")
    assert line["ptx"].startswith(".version 2.3\n.target sm_20\n.address_size 64\n.visible .entry vector(")
    declared = {name for text in re.findall(r"\.reg \.\w+ (.*);", line["ptx"]) for name in text.split(", ")}
    body = line["ptx"].partition("ld.param")[2]
    assert declared == set(re.findall(r"%\w+", body)) - {"%tid"}
    assert all(word not in line["ptx"] for word in (".shared", ".local", ".const", ".global .", ".func", "argument"))


@pytest.mark.parametrize(
    "text",
    [
        "atom.shared.add.u32 d, [a], b;",
        "addc.cc.u32 d, a, b;",
        "cvt.rn.satfinite.e4m3x2.f32 d, a, b;",
        "min.s8x4 d, a, b;",
    ],
)
def test_the_assembler_takes_the_kernel(text: str) -> None:
    """At the form's own version and target, which is the first that has the target, too."""
    try:
        assembler.newest_ptxas()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    form = vector_contents.written_forms(text.partition(".")[0].split(" ")[0])[text]
    header = vector_contents.header_of(form)
    assert header is not None
    by, arch = refusals.assembler_for(*header)
    assert assembler.assemble(alone(kernel(form, "vector"), *header), arch, by=by) == []


def test_kernels_for_a_version_and_a_target(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    call("write", str(folder), "-o", "min", "--ptx-version", "6.0", "--target", "sm_70")
    lines = lines_in(folder, "min")
    assert {(line["version"], line["target"]) for line in lines.values()} == {("6.0", "sm_70")}
    assert "min.s32 d, a, b;" in lines and not any("bf16" in form for form in lines)  # which came with 7.0
    for options, message in (
        (("--ptx-version", "6.9"), "PTX has no version '6.9'"),
        (("--ptx-version", "six"), "PTX has no version 'six'"),
        (("--target", "sm_71"), "PTX has no target 'sm_71'"),
    ):
        assert message in call("write", str(tmp_path / "w"), "-o", "min", *options, status=2)
    assert not (tmp_path / "w").exists()


def test_results_are_judged_as_of_their_version(tmp_path: Path) -> None:
    """What an integer minimum is, no version changed; a line may name none, but not half of it or one without the form."""
    folder = tmp_path / "v"
    call("write", str(folder), "-o", "brev")
    lines = solved(folder)
    put(folder, "brev", lines)
    assert "0 differ" in call("check", str(folder))
    for changed, message in (
        ({"version": None, "target": None}, None),
        ({"version": None}, '"version" and "target" are strings'),
        ({"version": "1.4", "target": "sm_10"}, "modules of version 1.4 for sm_10 have no brev.b32 d, a;"),
        ({"target": "sm_7"}, "PTX has no target 'sm_7'"),
    ):
        put(folder, "brev", {name: line | changed for name, line in lines.items()})
        output = call("check", str(folder), status=0 if message is None else 2)
        assert (message or "0 differ") in output


def test_right_results_pass_and_wrong_ones_are_shown(brev: Path) -> None:
    lines = solved(brev)
    put(brev, "brev", lines)
    assert call("check", str(brev)) == "2 forms, 1,024 rows, of which 0 differ\n"
    for i in range(5):
        lines["brev.b64 d, a;"]["results"][7 + i] = ["0x5"]
    put(brev, "brev", lines)
    output = call("check", str(brev), status=1)
    assert "brev.b64 d, a;  5 of 512 rows differ" in output and "and 2 more" in output and "brev.b32" not in output
    found = json.loads(call("check", str(brev), "--json", "--show", "1", status=1))
    (wrong,) = found["differing"]
    assert found["rows_differing"] == wrong["differing"] == 5 and found["missing"] == []
    (first,) = wrong["first"]
    row = lines["brev.b64 d, a;"]["rows"][7]
    assert first["operands"] == row and int(first["results"][0], 16) == 5 and first["expected"] != first["results"]


def test_a_form_without_results_is_missing(brev: Path) -> None:
    lines = solved(brev)
    lines["brev.b32 d, a;"]["results"] = None
    put(brev, "brev", lines)
    assert "1 forms have no results: brev.b32 d, a;" in call("check", str(brev), status=1)
    assert json.loads(call("check", str(brev), "--partial", "--json"))["missing"] == ["brev.b32 d, a;"]
    del lines["brev.b32 d, a;"]
    put(brev, "brev", lines)
    assert json.loads(call("check", str(brev), "--json", status=1))["missing"] == ["brev.b32 d, a;"]
    (brev / "brev.jsonl").unlink()
    found = json.loads(call("check", str(brev), "--json", status=1))
    assert len(found["missing"]) == 2 and found["forms"] == 0
    assert call("check", str(brev), "--partial", status=1)  # nothing was held against anything


def test_only_form_and_results_are_needed(tmp_path: Path, brev: Path) -> None:
    lines = {n: {"form": n, "results": line["results"]} for n, line in solved(brev).items()}
    (tmp_path / "own").mkdir()
    put(tmp_path / "own", "brev", lines)
    assert "2 forms" in call("check", str(tmp_path / "own"))


# Approximate and other open results --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bound_decides_about_an_approximate_result(rcp: Path) -> None:
    line = lines_in(rcp, "rcp")["rcp.approx.f32 d, a;"]
    assert line["open"]["approximate-rcp"] == {"kind": "approximate", "decided_by": "bound"}
    assert line["open"]["nan"]["decided_by"] == "condition"
    open_cells = [c for (c,) in line["expected"] if c.startswith("?approximate-rcp ")]
    assert len(open_cells) > 200

    def answered(cell: str, far: int) -> str:
        """Some NaN for a NaN, and a number so many units in the last place from the nearest one."""
        return "0x7fc12345" if cell == "?nan" else hex(int(cell.split()[-1], 16) + (far if cell[0] == "?" else 0))

    def checked(far: int, status: int) -> dict[str, Any]:
        results = [[answered(cell, far)] for (cell,) in line["expected"]]
        put(rcp, "rcp", {line["form"]: {"form": line["form"], "results": results}})
        return json.loads(call("check", str(rcp), "--partial", "--json", "--show", "512", status=status))

    assert checked(0, 0)["rows"] == 512
    found = checked(3, 1)  # all but the subnormal results, whose units are wide
    assert found["rows_differing"] > 0.9 * len(open_cells)
    assert all(row["expected"][0].startswith("?approximate-rcp 0x") for row in found["differing"][0]["first"])


def test_what_a_gpu_answered_is_allowed() -> None:
    """Recorded answers of the multifunction unit, some 900 of each, are within the bounds of the pages."""
    answers = multifunction_answers.read()
    for name, kind in (
        ("rcp.approx.f32", "single0"),
        ("sqrt.approx.f32", "single0"),
        ("ex2.approx.ftz.f32", "single0"),
    ):
        pairs = zip(answers.samples[kind].tolist(), answers.answers[name].tolist(), strict=True)
        for a, d in random.Random(name).sample(list(pairs), 60):
            assert ptxspec.allowed(f"{name} d, a;", {"d": d}, a=a), (name, hex(a), hex(d))


def test_under_a_profile_that_chooses_everything_nothing_is_open(tmp_path: Path) -> None:
    call("write", str(tmp_path / "v"), "-o", "rem", "--profile", "hopper")
    lines = lines_in(tmp_path / "v", "rem")
    assert all(
        line["open"] == {} and not any("?" in c for row in line["expected"] for c in row) for line in lines.values()
    )
    for line in lines.values():
        line["results"] = line["expected"]
    put(tmp_path / "v", "rem", lines)
    assert "0 differ" in call("check", str(tmp_path / "v"), "--profile", "hopper")
    assert "0 differ" in call("check", str(tmp_path / "v"))  # what a machine chooses is allowed
    for line in lines.values():  # a remainder by zero may be anything
        line["results"] = [
            ["0x1234"] if int(b, 16) == 0 else d for (_, b), d in zip(line["rows"], line["expected"], strict=True)
        ]
    put(tmp_path / "v", "rem", lines)
    assert "0 differ" in call("check", str(tmp_path / "v"))
    assert "rows differ" in call("check", str(tmp_path / "v"), "--profile", "hopper", status=1)


def test_an_open_result_in_a_further_computation_is_counted_and_not_passed_over() -> None:
    form = vector_contents.written_forms("cvt")["cvt.rp.ftz.sat.f16.f32 d, a;"]
    profile = vector_contents.Profile("portable")
    (want,) = vector_contents.expected([(form.meaning(), operand_rows.table_of(form, form.meaning()))], profile)
    given = [[0 if c.startswith("?") else int(c, 16) for c in row] for row in want]
    found = vector_results.judge(form, given, want, profile, 3)
    assert found.differing == 0 and found.not_judged == sum(row == ["?flush-in-conversions"] for row in want) > 0
    given = [[v ^ 1 for v in row] for row in given]
    assert vector_results.judge(form, given, want, profile, 3).differing == len(want) - found.not_judged


# Bad input -------------------------------------------------------------------------------------------------------------

BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no object": (lambda line: [1, 2], 'no object with a "form"'),
    "no form": (lambda line: {"results": line["results"]}, 'no object with a "form"'),
    "another form": (lambda line: line | {"form": "brev.b16 d, a;"}, "no vectors of the form 'brev.b16 d, a;'"),
    "a row too few": (lambda line: line | {"results": line["results"][1:]}, "511 rows of results, the form has 512"),
    "a number": (lambda line: line | {"results": [[5], *line["results"][1:]]}, 'row 0: 5 is no string such as "0x1f"'),
    "two values": (lambda line: line | {"results": [["0x1", "0x2"], *line["results"][1:]]}, "not an array of 1 values"),
    "no digits": (lambda line: line | {"results": [["0xg"], *line["results"][1:]]}, '"0xg" is no string'),
    "a sign": (lambda line: line | {"results": [["-0x1"], *line["results"][1:]]}, '"-0x1" is no string'),
    "too wide": (
        lambda line: line | {"results": [["0x100000000"], *line["results"][1:]]},
        "0x100000000 does not fit .b32",
    ),
    "no array": (lambda line: line | {"results": "0x1"}, "results are no array of rows"),
    "other operands": (
        lambda line: line | {"rows": [["0x77"], *line["rows"][1:]]},
        "not the ones that this version writes",
    ),
    "operands missing": (lambda line: line | {"rows": []}, "0 rows of operands"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_line_that_is_wrong_is_named(what: str, brev: Path) -> None:
    change, message = BROKEN[what]
    lines = solved(brev)
    lines["brev.b32 d, a;"] = change(lines["brev.b32 d, a;"])
    put(brev, "brev", lines)
    output = call("check", str(brev), status=2)
    assert message in output and "brev.jsonl:1: " in output
    assert message in json.loads(call("check", str(brev), "--json", status=2))["error"]


def test_files_that_are_wrong_are_named(brev: Path, tmp_path: Path) -> None:
    good = (brev / "brev.jsonl").read_text()
    for text, message in (
        (good + good, "a second time"),
        ("}{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"form": "brev.b32 d, a;", "results": ' + "9" * 5000 + "}", "brev.jsonl:1: "),
    ):
        (brev / "brev.jsonl").write_text(text)
        assert message in call("check", str(brev), status=2)
    (brev / "brev.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "no text in UTF-8" in call("check", str(brev), status=2)
    (brev / "brev.jsonl").write_text("")
    (brev / "frob.jsonl").write_text("")
    assert "no page defines 'frob'" in call("check", str(brev), status=2)
    for text, message in (
        ("{", "no JSON"),
        ("[]", "not the format 1"),
        ('{"format": 1, "opcodes": 7}', "no array of names"),
    ):
        (brev / "vectors.json").write_text(text)
        assert message in call("check", str(brev), status=2)
    (tmp_path / "empty").mkdir()
    assert "no file <opcode>.jsonl" in call("check", str(tmp_path / "empty"), status=2)
    assert "no folder" in call("check", str(tmp_path / "nowhere"), status=2)


def test_what_is_asked_for_must_make_sense(tmp_path: Path) -> None:
    for words, message in (
        (["write", str(tmp_path / "v"), "-o", "frob"], "no page defines 'frob'"),
        (["write", str(tmp_path / "v"), "-o", "bra"], "bra is no function of its operands"),
        (["write", str(tmp_path / "v"), "--profile", "nobody"], "no profile is called 'nobody'"),
        (["check"], "name a folder of results, or --recorded"),
        (["check", str(tmp_path), "--recorded"], "and not both"),
        (["check", "--recorded", "-o", "frob"], "no page defines 'frob'"),
        (["check", "--recorded", "-o", "bra"], "no answers of this opcode"),
    ):
        assert message in call(*words, status=2)
    assert not (tmp_path / "v").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    assert "holds something else" in call("write", str(tmp_path / "mine"), "-o", "brev", status=2)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_no_junk_gets_past_the_reader(brev: Path) -> None:
    """Edited files are either read or refused with a message; nothing else comes out of them."""
    lines = solved(brev)
    for line in lines.values():  # small, so that edits hit everything
        del line["ptx"], line["expected"], line["rows"]
    put(brev, "brev", lines)
    good = (brev / "brev.jsonl").read_bytes()
    source = random.Random("junk")
    known = vector_contents.written_forms("brev")
    refused = 0
    for _ in range(300):
        data = bytearray(good)
        for _ in range(source.randint(1, 4)):
            at = source.randrange(min(len(data), source.choice([120, len(data)])))
            kind = source.randrange(4)
            if kind == 0:
                data[at] = source.randrange(256)
            elif kind == 1:
                del data[at : at + source.randint(1, 40)]
            elif kind == 2:
                data[at:at] = source.choice(
                    [b"null", b"[", b"]", b'"', b"{}", b"1e999", b"-0x1", b"\\ud800", b"NaN", b"\n"]
                )
            else:
                data[at:at] = data[at : at + source.randint(1, 40)]
        (brev / "brev.jsonl").write_bytes(bytes(data))
        try:
            given, missing = vector_results.read_file(brev / "brev.jsonl")
        except vector_results.Malformed as error:
            assert "brev.jsonl" in str(error)
            refused += 1
            continue
        assert set(given) | set(missing) == set(known)
        for name, one in given.items():
            assert len(one.rows) == 512 and all(len(row) == 1 and row[0] >> int(name[6:8]) == 0 for row in one.rows)
    assert 150 < refused < 300


# The recorded answers --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_recorded_answers() -> None:
    assert "4 forms, 2,048 rows; 0 forms differ" in call("check", "--recorded", "-o", "bfe")
    found = json.loads(call("check", "--recorded", "-o", "bfe", "-o", "popc", "--json"))
    assert found["device"] == "NVIDIA H200" and found["forms"] == 6 and found["differing"] == []


def test_a_recorded_answer_that_differs_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = FUNCTIONS.read()
    assert answers is not None
    name = "popc.b32 d, a;"
    changed = answers._replace(values={**answers.values, name: answers.values[name] ^ 1})
    monkeypatch.setattr(FUNCTIONS, "read", lambda: changed)
    output = call("check", "--recorded", "-o", "popc", status=1)
    assert f"{name}  512 rows differ" in output and "the GPU 0x" in output
    (found,) = json.loads(call("check", "--recorded", "-o", "popc", "--json", status=1))["differing"]
    assert found["form"] == name and found["rows"] == 512
    monkeypatch.setattr(FUNCTIONS, "read", lambda: None)
    assert "pip install ./tests/vectors" in call("check", "--recorded", "-o", "popc", status=2)
