"""A page can be written without a GPU: its forms are gaps, which are counted and named. What was answered stays answered."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.cli import main
from ptxspec.evidence import assembler, ledger
from ptxspec_workshop.ledger import computing
from ptxspec_workshop.record import families, gaps, image_answers
from ptxspec_workshop.record.check_recorded import check_recorded
from ptxspec_workshop.record.families import FUNCTIONS, LATER_FUNCTIONS
from ptxspec_workshop.site import evidence_section as shown

#: a page of an instruction that no GPU was asked about: there is none
PAGE = """# dp3a

The sum of four products of bytes and of a 32-bit integer.

## Syntax

```syntax
dp3a.atype.btype  d, a, b, c;
.atype = { .u32, .s32 };
.btype = { .u32, .s32 };
```

## Operands

`a` and `b` hold four bytes each, with or without a sign as their types say.

## Semantics

```python
from ptxspec.terms import Int, available, b32, instruction, low_bits, sign_extend


def byte(word: Int, signed: bool, i: int) -> Int:
    found = low_bits(word >> 8 * i, 8)
    return sign_extend(found, 8) if signed else found


@instruction
def dp3a(a: b32, b: b32, c: b32, *, atype, btype) -> b32:
    for i in range(4):
        c = c + byte(a, atype.signed, i) * byte(b, btype.signed, i)
    return c
```

## Availability

```python
available(dp3a, since="5.0", target="sm_61")
```

## Examples

```ptx
dp3a.u32.u32 d, 0x01010101, 0x01020304, 5;   // d = 15
```

## Evidence

```{evidence}
```
"""
#: the tests that ask for what each form owes
DEMANDS = {
    "test_vectors.py": "every_answer",
    "test_effects.py": "asked_or_says_why",
    "test_answers_of_warps.py": "every_answer or is_a_case",
    "test_clusters_of_the_gpu.py": "every_answer",
    "test_images_of_the_gpu.py": "that_were_recorded",
    "test_compared.py": "every_comparison",
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout that has the page too."""
    if not (DOCUMENTS / "pyproject.toml").is_file():
        pytest.skip("NO CHECKOUT: that a page can be added without a GPU was NOT tested")
    root = tmp_path_factory.mktemp("planted")
    for folder in ("model", "spec"):
        shutil.copytree(DOCUMENTS / folder, root / folder)
    for name in ("proofs", "tests", "pyproject.toml"):
        (root / name).symlink_to(DOCUMENTS / name)
    (root / "spec" / "instructions" / "integer" / "dp3a.md").write_text(PAGE)
    return root


def python(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python, run in a copy of the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(root / "model"), "PYTEST_ADDOPTS": ""}
    return subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_a_page_without_answers_is_a_gap(planted: Path) -> None:
    """It works at once, and the ledger says of it what can be said without a GPU."""
    code = (
        "import json, ptxspec; from ptxspec.evidence import ledger; from ptxspec_workshop.ledger import computing; from ptxspec_workshop.record import gaps; rows = computing.opcode_rows('dp3a'); "
        "value = ptxspec.evaluate('dp3a.s32.u32 d, a, b, c;', a=0x000080FF, b=0x0203, c=1)['d']; "
        "print(json.dumps([value, [r['form'] for r in rows if ledger.is_gap(r)], rows, ledger.summary(rows)]))"
    )
    done = python(planted, "-c", code)
    assert done.returncode == 0, done.stderr
    value, gaps, rows, summary = json.loads(done.stdout)
    assert value == 1 + (-1) * 3 + (-128) * 2 + (1 << 32)
    assert gaps == [row["form"] for row in rows] and len(rows) == summary["gpu gaps"] == 4
    assert all((row["gpu"], row["unasked"], row["interpretations"]) == (None, None, True) for row in rows)
    assert summary["gpu no"] == summary["gpu cannot be asked"] == 0


@pytest.mark.long
def test_no_test_demands_an_answer_of_a_new_page(planted: Path) -> None:
    for name, which in DEMANDS.items():
        done = python(planted, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/evidence/{name}", "-k", which)
        assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-3000:]


@pytest.mark.long
def test_a_page_that_loses_an_answered_form_is_noticed(planted: Path) -> None:
    page = planted / "spec" / "instructions" / "integer" / "popc.md"
    text = page.read_text()
    try:
        page.write_text(re.sub(r"^(\.type *= *\{ *)\.b32, ", r"\1", text, flags=re.M))
        assert page.read_text() != text
        words = ("-q", "-p", "no:cacheprovider", "tests/evidence/test_vectors.py", "-k", "every_answer")
        done = python(planted, "-m", "pytest", *words)
        assert done.returncode == 1 and "popc.b32 d, a;" in done.stdout, done.stdout[-3000:]
    finally:
        page.write_text(text)


@pytest.mark.slow
def test_an_answer_that_is_missing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = gaps.records()
    answers = known["vectors"]
    assert answers is not None
    name = "popc.b64 d, a;"
    less = answers._replace(values={k: v for k, v in answers.values.items() if k != name})
    monkeypatch.setattr(gaps, "records", lambda: {**known, "vectors": less})
    rows = computing.opcode_rows("popc")
    assert [row["form"] for row in rows if ledger.is_gap(row)] == [name]
    assert ledger.unanswered(rows) == {"popc": 1} and ledger.summary(rows)["gpu gaps"] == 1
    monkeypatch.setattr(ledger, "rows", lambda: rows)
    assert "no GPU was asked about popc: 1 form" in CliRunner().invoke(main, ["ledger"]).output
    assert "No GPU was asked about [1 form]{.gap}: `popc` (1)." in shown.unanswered(rows)
    assert shown.unanswered(rows[:1]).startswith("No GPU was asked about no form")


def test_an_answer_that_is_wrong_is_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    known = gaps.records()
    answers = known["vectors"]
    assert answers is not None
    name = "popc.b64 d, a;"
    wrong = answers._replace(values={**answers.values, name: answers.values[name] ^ 1})
    monkeypatch.setattr(gaps, "records", lambda: {**known, "vectors": wrong})
    found = {row["form"]: row["gpu"]["agrees"] for row in computing.opcode_rows("popc")}
    assert [form for form, agrees in found.items() if not agrees] == [name]


def test_a_form_for_images_that_was_not_asked_about_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    form = next(f for f in ptxspec.forms("sust") if image_answers.answered(f.mnemonic))
    asked = image_answers._recorded_names()
    mine = set(image_answers._by_mnemonic()[form.mnemonic])
    monkeypatch.setattr(image_answers, "_recorded_names", lambda: asked - {min(mine)})
    assert image_answers.answered(form.mnemonic) is None and gaps.unasked(form) is None
    reasons = {gaps.unasked(f) for f in ptxspec.forms("tex") if "2dms" in f.mnemonic.split(".")}
    assert len(reasons) == 1 and "samples" in str(reasons)


# what the ledger's digest covers -----------------------------------------------------------------------------------------


def failing() -> str:
    raise FileNotFoundError("no ptxas")


@pytest.mark.parametrize("program", ["ptxas", "z3-solver", "llvmlite", "no ptxas"])
def test_another_version_makes_the_ledger_out_of_date(
    program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = tmp_path / "ledger.json"
    row: dict[str, Any] = {"opcode": "bfe", "ptxas": True, "interpretations": True, "gpu": None, "identities": 0}
    before = ledger.digest()
    ledger.storage.write(store, {"digest": before, "opcodes": {"bfe": [row]}})
    assert ledger.rows(store) == [row]
    installed = ledger._installed
    if program == "ptxas":
        monkeypatch.setattr(assembler, "version", lambda: "99.9")
    elif program == "no ptxas":
        monkeypatch.setattr(assembler, "version", failing)
    else:
        monkeypatch.setattr(ledger, "_installed", lambda name: "99.9" if name == program else installed(name))
    ledger.versions.cache_clear()
    try:
        assert set(ledger.versions()) == {"ptxas", "z3-solver", "llvmlite"}
        assert ledger.digest() != before and ledger.rows(store) == []
    finally:
        monkeypatch.undo()
        ledger.versions.cache_clear()
    assert ledger.digest() == before and ledger.rows(store) == [row]


def test_a_better_sentence_leaves_the_ledger_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# p\n\nFirst.\n\n```python\nx = 1\n```\n\nThen.\n\n```syntax\nadd;\n```\n"
    monkeypatch.setattr(ledger, "covered", lambda: [page])

    def digest(text: str) -> str:
        page.write_text(text)
        return ledger.digest()

    assert digest(text) == digest(text.replace("Then.", "A better sentence."))
    changed = [text.replace(*pair) for pair in (("First", "1st"), ("x = 1", "x = 2"), ("Then", "A\nB"), ("add", "sub"))]
    assert len({digest(one) for one in (text, *changed)}) == 5  # a line more: what is said of lines is no longer true


@pytest.mark.slow
def test_the_digest_covers_every_file_that_a_row_is_computed_by() -> None:
    """A form of each way to be asked: nothing of this package that they load is left out."""
    code = (
        "import sys; from pathlib import Path; from ptxspec.evidence import ledger; from ptxspec_workshop.ledger import computing; "
        "[computing.opcode_rows(o) for o in ('popc', 'activemask', 'prefetchu', 'getctarank', 'istypep', 'txq')]; "
        "files = {Path(m.__file__) for n, m in sys.modules.items() if n.startswith('ptxspec') and getattr(m, '__file__', None)}; "
        "print(len(files), *sorted(files - set(ledger.covered())))"
    )
    done = python(DOCUMENTS, "-c", code)
    assert done.returncode == 0, done.stderr
    count, *missing = done.stdout.split()
    assert int(count) > 200 and missing == []
    rooms = {path.parent.name for path in ledger.covered() if path.suffix == ".py"}
    assert rooms >= {"terms", "machine", "compare", "record", "generate", "fuzzing"}


def test_forms_without_answers_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to give a reason for a form before a GPU is asked: it is a gap."""
    monkeypatch.setattr(image_answers, "_facts", lambda: None)
    queries = [*ptxspec.forms("txq"), *ptxspec.forms("suq")]
    assert all(gaps.unasked(f) is None for f in queries)


def test_what_an_h100_answered_later_closes_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that an H200 was not asked about are another family, with answers of their own; a form has those of one GPU."""
    monkeypatch.setattr(families, "_answered_by_h200", lambda: frozenset(known["vectors"].values) - {"popc.b64 d, a;"})
    known: Any = gaps.records()
    popc = ptxspec.forms("popc")
    assert [form for form in popc if LATER_FUNCTIONS.asks(form)] == [f for f in popc if str(f) == "popc.b64 d, a;"]
    (case,) = LATER_FUNCTIONS.cases(popc)
    values = {case.name: known["vectors"].values[case.name]}
    LATER_FUNCTIONS.write(tmp_path, {"device": "an H100", "date": "2020-01-01", "profile": "hopper"}, values, [])
    later = LATER_FUNCTIONS.read(tmp_path)
    assert later is not None and LATER_FUNCTIONS.compare(popc, later) == (len(values[case.name]), [])
    less = known["vectors"]._replace(values={k: v for k, v in known["vectors"].values.items() if k != case.name})
    entries = [gaps.entry(form, {**known, "vectors": less, "later vectors": later}, set()) for form in popc]
    assert sorted((e["device"] for e in entries if e), key=len)[0] == "an H100" and None not in entries
    assert None in [gaps.entry(form, {**known, "vectors": less}, set()) for form in popc]
    monkeypatch.setattr(LATER_FUNCTIONS, "read", lambda: later)
    monkeypatch.setattr(FUNCTIONS, "read", lambda: less)
    facts, (recorded,) = check_recorded(["popc"])
    assert facts["later"] == {"device": "an H100", "date": "2020-01-01"} and recorded.answered == len(popc)
    assert recorded.differing == {} and recorded.rows == 1024
