"""The box of a page whose instructions have effects leaves what the page's example says: with NumPy, with what travels to the
browser in its place, and in Chromium."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")

from browser import ROOT, chromium
from docutils import nodes

import ptxspec
from ptxspec_workshop.programs import alone, examples
from ptxspec_workshop.programs.images import images_of
from ptxspec_workshop.programs.leaving import shape
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.trying import answers, archive, box, npm
from ptxspec_workshop.site.trying import programs as boxes

EFFECTS = [page for page in pages.with_forms() if not answers.mnemonics(page)]
HEAD = ".version 9.0 .target sm_90 .address_size 64 .global .u32 out; .visible .entry k() "
#: programs that break a rule, the words of the error, and what is said of where
FAULTS = {
    "misaligned": (".reg .u64 a; mov.u64 a, out; st.global.u32 [a+2], 1; ret;", "program:1"),
    "out of bounds": (".reg .u64 a; mov.u64 a, out; st.global.u32 [a+64], 1; ret;", "address 0x"),
    "aligned": (
        ".reg .u32 t; .reg .pred p; mov.u32 t, %tid.x; setp.eq.u32 p, t, 0; @p bar.sync 1; @!p bar.sync 2; ret;",
        "lanes 0x00000002 are at bar.sync 2",
    ),
    "stuck warp": (
        ".reg .u32 t; .reg .pred p; mov.u32 t, %tid.x; setp.eq.u32 p, t, 0; @p bar.warp.sync 3; @!p barrier.sync 1, 64; ret;",
        "wait for lanes 0x00000003",
    ),
    "stuck barrier": ("barrier.sync 1, 64; ret;", "2 threads wait at barrier 1 for 64"),
    "barrier count": (".reg .u32 n; mov.u32 n, 33; barrier.sync 1, n; ret;", "33 threads"),
    "unbound": (".reg .b32 d; txq.width.b32 d, [image]; ret;", "nothing is bound to image"),
}  # fmt: skip


def fault(rule: str) -> str:
    head = HEAD.replace(".visible", ".global .texref image; .visible") + ".reqntid 2"
    return f"{head} {{ {FAULTS[rule][0]} }}"


def ask(**question: Any) -> Any:
    return json.loads(answers.reply(json.dumps(question)))


@pytest.mark.parametrize("page", EFFECTS)
def test_every_page_without_a_form_to_evaluate_has_a_program(page: str) -> None:
    offered = ask(page=page)
    text = offered["program"]
    assert text is not None and offered["mnemonics"] == []
    found = ask(program=text, values={})
    assert found["program"] == text and found["fields"] == offered["fields"]
    ends = examples.endings(text)
    assert bool(found["error"]) == bool(ends)
    assert all(found["error"].startswith(f"{rule}:") and f"program:{line}:" in found["error"] for line, rule in ends)
    assert examples.failures(text) == []
    if not ends:
        shown = {one["name"] for one in (*found["alike"], *found["different"])}
        assert {c.name for c in examples.claims(text)} <= shown | {h["name"] for h in found["memory"]} | set(
            text.split()
        )
    said = [section for section in opcodes_in(text) if section in pages.opcodes(page)]
    assert said, "the program executes an instruction of its page"


def opcodes_in(text: str) -> set[str]:
    module = ptxspec.load(text)
    kernels = (*module.checked.kernels.values(), *module.checked.functions.values())
    return {op.plan.form.syntax.opcode for kernel in kernels for op in kernel.code}


@pytest.mark.sample(3)
@pytest.mark.parametrize("page", EFFECTS)
def test_the_native_engine_leaves_the_same_in_memory(page: str) -> None:
    text = boxes.program_of(page)
    assert text is not None
    ran = alone.run(text)
    module, images = ptxspec.load(text), images_of(text)
    for name, thing in images.things.items():
        module.bind(name, thing)
    kernel = alone.entry_of(module)
    try:
        module.launch(kernel.name, *shape(kernel))
    except ptxspec.LaunchError as error:
        assert ran.error is not None and ran.error.rule == error.rule
    else:
        assert ran.error is None
    assert [h.after for h in ran.held] == list(alone.contents(module, images).values())


@pytest.mark.parametrize("page", [p for p in EFFECTS if p.rpartition(".")[2] in ("atom", "shfl", "trap", "sust")])
def test_a_wrong_claim_is_noticed(page: str) -> None:
    text = boxes.program_of(page)
    assert text is not None
    value = re.compile(r"( = \{?|ends the launch: )(\w+)(?=[^\n]*$)", re.M)
    before = [(m, text[text.rfind("\n", 0, m.start()) : m.start()]) for m in value.finditer(text)]
    changed = [m for m, line in before if "//" in line and "bind" not in line]
    assert changed
    for match in changed:
        other = (
            "misaligned"
            if "ends" in match[1]
            else "false"
            if match[2] == "true"
            else "99"
            if match[2].isdigit()
            else "true"
        )
        assert examples.failures(text[: match.start(2)] + other + text[match.end(2) :]) != []


@pytest.mark.parametrize("rule", FAULTS)
def test_an_error_is_the_sentence_of_the_engine(rule: str) -> None:
    found = ask(program=fault(rule), values={})
    assert found["error"].startswith(f"{rule}:") and FAULTS[rule][1] in found["error"]
    assert found["alike"] == found["different"] == found["memory"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "{ st.global.u32 [outt], 1; ret; }", "program:1:"),
        (".version 9.0 .target sm_90 .address_size 64", "a program has one entry, this one has 0"),
        (".version 9.0 .target sm_90 .address_size 64 .entry k(.param .u32 p) { ret; }", "takes parameters"),
        ("// bind x = open('file')\n" + HEAD + "{ ret; }", "line 1: open('file') binds nothing"),
    ],
)
def test_what_is_no_program_is_said(text: str, said: str) -> None:
    assert said in ask(program=text, values={})["error"]


def test_what_is_typed_goes_into_the_text() -> None:
    text = HEAD.replace("out;", "out = 5;") + "{ .reg .f32 f; mov.f32 f, 1.0; red.global.add.u32 [out], 3; ret; }"
    assert [(f["name"], f["text"]) for f in ask(program=text, values={})["fields"]] == [("out", "5"), ("f", "1.0")]
    found = ask(program=text, values={"out": "0x10", "f": "-0"})
    assert "out = 0x10;" in found["program"] and "mov.f32 f, 0f80000000;" in found["program"]
    assert found["alike"][0]["readings"] == [["float", "-0.0"], ["hex", "0x80000000"]]
    assert found["memory"][0]["rows"] == [{"place": "out", "before": "16", "after": "19"}]
    assert "f is .f32: 'one' is no number" in ask(program=text, values={"f": "one"})["error"]
    assert "out is .u32: -1 is out of range" in ask(program=text, values={"out": "-1"})["error"]


@pytest.mark.slow
def test_arrays_that_travel_answer_as_numpy_does(tmp_path: Path) -> None:
    """Every program, and errors of several kinds, by a Python in which the module `numpy` is the one of the browser."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_bytes(Path(answers.__file__).with_name("arrays.py").read_bytes())
    texts = [text for page in EFFECTS if (text := boxes.program_of(page))] + [fault(rule) for rule in FAULTS]
    work = (
        "import json, sys, numpy; from ptxspec_workshop.site.trying import programs; assert not hasattr(numpy, 'linalg');"
        "json.dump([programs.answer(text, {}) for text in json.load(sys.stdin)], sys.stdout)"
    )
    path = f"{tmp_path}:{ROOT / 'model'}"
    run = subprocess.run(
        [sys.executable, "-c", work], input=json.dumps(texts), capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout) == [json.loads(json.dumps(boxes.answer(text, {}))) for text in texts]


def test_the_box_stands_behind_the_example() -> None:
    section = nodes.section("", nodes.title("", "Examples"), nodes.paragraph("", "A program."))
    box.add_program(section, "ptxspec.spec.instructions.movement.ld")
    (placed,) = section.findall(nodes.raw)
    assert section.index(placed) == 2 and 'data-page="ptxspec.spec.instructions.movement.ld"' in placed.astext()


# In a browser ----------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html><html data-content_root="./"><head><meta charset="utf-8"><title>a page</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="trying.css">
<script defer src="_static/trying/files.js"></script><script defer src="trying.js"></script></head>
<body><div class="trying" data-page="{page}" data-forms="{{}}"></div></body></html>"""
#: a page of each of several chapters, and two that end with an error
CHAPTERS = (
    "control.bra",
    "synchronization.atom",
    "movement.shfl",
    "matrix.mma",
    "textures.tex",
    "surfaces.sust",
    "miscellaneous.trap",
)


@contextmanager
def site_of(folder: Path) -> Iterator[Any]:
    """Chromium on a folder with pages that have nothing but a box."""
    static = Path(answers.__file__).parents[1] / "static"
    try:
        files = archive.prepared(ROOT / "build" / "trying")
    except npm.Unavailable as why:
        pytest.skip(f"NO PYODIDE: the box in which readers run programs was NOT tested: {why}")
    (folder / "_static").mkdir()
    (folder / "_static" / "trying").symlink_to(files)
    for name in ("trying.js", "trying.css"):
        (folder / name).write_bytes((static / name).read_bytes())
    with chromium() as browser:
        yield browser


def opened(browser: Any, folder: Path, name: str) -> Any:
    page = f"ptxspec.spec.instructions.{name}"
    (folder / f"{name}.html").write_text(PAGE.format(page=page))
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.goto((folder / f"{name}.html").as_uri())
    tab.click("button.trying-open")
    tab.wait_for_selector("[data-answered='1']", timeout=90_000)
    return tab


def shown(tab: Any) -> dict[str, list[str]]:
    """By register, its first reading, or the value of each thread; by variable, its elements afterwards."""
    found = {
        row.get_attribute("data-result"): [row.locator(".trying-reading code").first.inner_text()]
        for row in tab.locator(".trying-result").all()
    }
    for table in tab.locator(".trying-results table").all():
        heads = [head.split(" ")[0] for head in table.locator("thead th").all_inner_texts()[1:]]
        rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
        name = table.get_attribute("data-table")
        columns = dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True))
        found |= columns if name == "registers" else {name: columns["after"]}
    return found


def wanted(text: str) -> dict[str, list[str]]:
    """The same, as it is answered here."""
    told = ask(program=text, values={})
    found = {one["name"]: [one["readings"][0][1]] for one in told["alike"]}
    found |= {one["name"]: one["values"] for one in told["different"]}
    return found | {one["name"]: [row["after"] for row in one["rows"]] for one in told["memory"]}


@pytest.mark.slow
def test_programs_run_in_a_browser(tmp_path: Path) -> None:
    with site_of(tmp_path) as browser:
        for name in CHAPTERS:
            tab = opened(browser, tmp_path, name)
            text = boxes.program_of(f"ptxspec.spec.instructions.{name}")
            assert text is not None and tab.input_value("#trying-program").strip() == text.strip()
            assert shown(tab) == wanted(text)
            errors = tab.locator(".trying-error").all_inner_texts()
            assert errors == ([] if name != "miscellaneous.trap" else [ask(program=text, values={})["error"]])
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390, f"{name}: something is clipped"
            tab.close()


@pytest.mark.slow
def test_a_changed_program_runs_in_a_browser(tmp_path: Path) -> None:
    with site_of(tmp_path) as browser:
        begun = time.perf_counter()
        tab = opened(browser, tmp_path, "synchronization.atom")
        first = time.perf_counter() - begun
        tab.fill("[data-field=counter]", "0x20")
        begun = time.perf_counter()
        tab.press("#trying-program", "Control+Enter")
        tab.wait_for_selector("[data-answered='2']")
        later = time.perf_counter() - begun
        assert "counter = 0x20" in tab.input_value("#trying-program")
        assert shown(tab)["counter"] == ["44"] and shown(tab)["d"] == ["32", "35", "38", "41"]
        tab.fill("#trying-program", tab.input_value("#trying-program").replace("[counter]", "[countre]"))
        tab.click("button:text('Run')")
        tab.wait_for_selector("[data-answered='3']")
        error = tab.inner_text(".trying-error")
        assert error.startswith("program:6:") and "countre" in error
        print(f"first answer {first:.1f} s, a later one {later:.2f} s")
        assert later < 5  # seconds
