"""What the box of a page answers is what `ptxspec.evaluate` gives: in this Python, and in Chromium with Pyodide's."""

from __future__ import annotations

import html
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")

from browser import ROOT, chromium
from docutils import nodes

import ptxspec
from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.query.fragments import read_fragment
from ptxspec.query.texts import operand_names, taken_as
from ptxspec_workshop.site.trying import answers, archive, box, npm
from ptxspec_workshop.site.trying.pyodide import PYODIDE

BFE = "ptxspec.spec.instructions.integer.bfe"
#: chapters whose pages evaluate nothing: all their instructions have effects
WITHOUT = {"control", "matrix", "surfaces", "synchronization"}


def ask(**question: Any) -> Any:
    return json.loads(answers.reply(json.dumps(question)))


# What the box is told --------------------------------------------------------------------------------------------------


def test_a_page_offers_its_own_forms() -> None:
    found = ask(page=BFE)
    assert found["mnemonics"] == ["bfe.u32", "bfe.u64", "bfe.s32", "bfe.s64"]
    assert found["profiles"][:1] == ["hopper"] and "portable" in found["profiles"]
    assert ask(page=BFE, mnemonic="bfe.s32") == ["bfe.s32 d, a, b, c;"]
    load = ask(page="ptxspec.spec.instructions.movement.ld")
    assert load["mnemonics"] == [] and ".entry" in load["program"]


def test_constants_and_vectors_of_a_form_are_written_as_they_must_be() -> None:
    lop3, mov = "ptxspec.spec.instructions.logic.lop3", "ptxspec.spec.instructions.movement.mov"
    assert ask(page=lop3, mnemonic="lop3.b32") == ["lop3.b32 d, a, b, c, $immLut;"]
    assert ask(page=mov, mnemonic="mov.v2.b16") == ["mov.v2.b16 {d0, d1}, {a0, a1};"]


def test_results_have_readings_and_say_what_is_open() -> None:
    found = ask(text="div.u32 d, a, b;", operands={"a": "7", "b": "0", "x": "1"}, profile="hopper")
    assert found["operands"] == [
        {"name": "a", "type": ".u32", "text": "7", "predicate": False},
        {"name": "b", "type": ".u32", "text": "0", "predicate": False},
    ]
    assert found["open"] and found["error"] is None
    assert found["results"][0]["readings"] == [["unsigned", "4294967295"], ["signed", "-1"], ["hex", "0xffffffff"]]
    (chosen,) = found["chosen"]
    assert (chosen["kind"], chosen["slug"], chosen["bits"]) == ("unspecified", "division-by-zero", "0xffffffff")
    assert chosen["entry"]["page"].startswith("spec/ambiguities.html#amb-")
    open_result = ask(text="div.u32 d, a, b;", operands={"a": "7", "b": "0"}, profile="portable")
    assert open_result["results"] == [] and "portable leaves the result open" in open_result["error"]
    assert open_result["entry"] == chosen["entry"]


@pytest.mark.parametrize(
    ("text", "operands", "said"),
    [
        ("bfe.s33 d, a, b, c;", {}, "did you mean .s32"),
        ("add.u32 d, a, b;", {"a": "1.5"}, "1.5 is no integer"),
        ("add.f32 d, a, b;", {"a": "one"}, "no number"),
        ("ld.u32 d, [a];", {}, "reads memory"),
        ("bar.sync 0;", {}, "waits for other threads"),
        ("add.u32 d, a", {}, "add.u32"),
        ("", {}, "No register is written."),
    ],
)
def test_what_cannot_be_computed_is_said(text: str, operands: dict[str, str], said: str) -> None:
    found = ask(text=text, operands=operands, profile="hopper")
    assert found["results"] == [] and said in found["error"]


def test_an_operand_without_a_text_gets_a_value() -> None:
    found = ask(text="selp.f32 d, a, b, p;", operands={"a": " "}, profile="hopper")
    assert [(o["name"], o["text"], o["predicate"]) for o in found["operands"]] == [
        ("a", "1.0", False),
        ("b", "1.0", False),
        ("p", "true", True),
    ]


def test_a_package_with_another_digest_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"{PYODIDE.folder}.tgz").write_bytes(b"another")
    with pytest.raises(npm.Unavailable, match="does not have the digest"):
        npm.fetched(tmp_path, PYODIDE)
    assert not list(tmp_path.iterdir())


def test_without_npm_the_reason_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(npm.Unavailable, match="npm is not installed"):
        npm.fetched(tmp_path / "cache", PYODIDE)


def page_with(caption: str) -> nodes.section:
    """A page's section of corner cases, with one table."""
    return nodes.section(
        "",
        nodes.title("", "Corner cases"),
        nodes.paragraph("", "In words."),
        nodes.container("", nodes.table("", nodes.title("", "", nodes.literal("", caption)))),
    )


def test_the_box_stands_before_the_tables_and_knows_their_forms() -> None:
    section = page_with("lop3.b32 d, a, b, c, immLut;")
    box.add_to(section, "ptxspec.spec.instructions.logic.lop3")
    (placed,) = section.findall(nodes.raw)
    assert section.index(placed) == 2
    forms = html.unescape(placed.astext().partition('data-forms="')[2].partition('"')[0])
    assert json.loads(forms) == {"lop3.b32 d, a, b, c, immLut;": "lop3.b32 d, a, b, c, $immLut;"}


# In a browser ----------------------------------------------------------------------------------------------------------


def written(bits: int, type: Any, source: random.Random) -> str:
    """A value as a reader might write it: a truth value, bits, or a number."""
    if type.kind == "pred":
        return "true" if bits else "false"
    if type.name in ("f32", "f64") and source.random() < 0.3:
        return source.choice(["nan", "-nan", "-0", "0", "inf", "-inf", "1", "-2.5", "0.1", "1e30", "1e-40"])
    if type.name == f"s{type.width}" and source.random() < 0.4:
        return str(bits - (1 << type.width) if bits >> (type.width - 1) else bits)
    return f"{bits:#x}"


def questions(count: int, seed: int = 1) -> list[tuple[str, dict[str, str], str]]:
    """(text, operands, profile) of so many evaluations, from every page that has any, in turn."""
    from ptxspec_workshop.site.pages import with_forms

    source = random.Random(seed)
    pages = [page for page in with_forms() if answers.mnemonics(page)]
    assert len(pages) > 80
    source.shuffle(pages)
    found = []
    for i in range(count):
        page = pages[i % len(pages)]
        text = source.choice(answers.texts(page, source.choice(answers.mnemonics(page))))
        text = text.replace("$immLut", f"{source.randrange(256):#x}")
        assert "$" not in text
        read = read_fragment(text)
        operands = {
            name: written(source.choice(special(taken_as(read, name))), taken_as(read, name), source)
            for name in operand_names(read)
        }
        found.append((text, operands, source.choice(["hopper", "hopper", "portable"])))
    return found


#: what the sample might miss: operands of 128 bits, NaNs, signed zeros, packed values, predicates, half precision, video
PICKED: list[tuple[str, dict[str, str], str]] = [
    ("mov.b128 d, {a, b};", {"a": "0x0123456789abcdef", "b": "-1"}, "hopper"),
    ("mov.b128 {d, e}, a;", {"a": "0xfedcba98765432100123456789abcdef"}, "hopper"),
    ("add.f32 d, a, b;", {"a": "-0", "b": "-0"}, "hopper"),
    ("add.f32 d, a, b;", {"a": "nan", "b": "1"}, "portable"),
    ("min.NaN.f32 d, a, b;", {"a": "0x7fc00001", "b": "-inf"}, "hopper"),
    ("fma.rn.f16x2 d, a, b, c;", {"a": "0x3c007c00", "b": "0x80000001", "c": "0xfbff7bff"}, "hopper"),
    ("add.rn.bf16 d, a, b;", {"a": "1.5", "b": "-0"}, "hopper"),
    ("setp.lt.and.s32 p|q, a, b, c;", {"a": "-1", "b": "1", "c": "false"}, "hopper"),
    ("addc.cc.u32 d, a, b;", {"a": "0xffffffff", "b": "0", "CC.CF": "true"}, "hopper"),
    ("vadd4.s32.u32.s32.sat d, a, b, c;", {"a": "0x807f01ff", "b": "0xff80017f", "c": "0"}, "hopper"),
    ("lop3.b32 d, a, b, c, 0x96;", {"a": "0xf0", "b": "0xcc", "c": "0xaa"}, "hopper"),
    ("div.u32 d, a, b;", {"a": "7", "b": "0"}, "portable"),
]


def expected(text: str, operands: dict[str, str], profile: str) -> dict[str, str] | None:
    """By register, the bits that `ptxspec.evaluate` gives, as the box writes them; None where it leaves a result open. The texts
    of operands are read as the command line reads them, which tests/cli holds against other readers."""
    from ptxspec.query.texts import values_of_texts

    read = read_fragment(text)
    bits = {n: v for n, v in values_of_texts(read, operands).items() if n in operands}
    try:
        results = ptxspec.evaluate(text, bits, profile=profile)
    except ptxspec.NoChoice:
        return None
    shown = {}
    for name, value in results.items():
        type = results.types[name]
        shown[name] = str(value).lower() if type.kind == "pred" else f"{value:#0{-(-type.width // 4) + 2}x}"
    return shown


PAGE = """<!doctype html><html data-content_root="./"><head><meta charset="utf-8"><title>a page</title>
<link rel="stylesheet" href="trying.css"><script defer src="_static/trying/files.js"></script><script defer src="trying.js"></script></head>
<body><div class="trying" data-page="{page}" data-forms="{forms}"></div>
<div class="corner-cases"><table><caption><code>lop3.b32 d, a, b, c, immLut;</code></caption>
<thead><tr><th><code>a</code> <code>b32</code></th><th><code>b</code></th><th><code>c</code></th><th><code>immLut</code></th><th>result <code>d</code></th></tr></thead>
<tbody><tr><td><code>0xf0</code></td><td><code>0xcc</code></td><td><code>0xaa</code> <small>170</small></td><td><code>0x96</code></td><td><code>0x96</code></td></tr></tbody>
</table></div></body></html>"""

#: puts a question into the box as a reader does, and waits for the answer
PUT = """async ([text, operands, profile]) => {
  const box = document.querySelector("div.trying"), type = (e, value) => { e.value = value; e.dispatchEvent(new Event(e.tagName === "SELECT" ? "change" : "input")); };
  const answered = async (act) => {
    const before = box.dataset.answered; act();
    for (let i = 0; i < 4000 && box.dataset.answered === before; i++) await new Promise((done) => setTimeout(done, 2));
  };
  const selected = document.querySelector("#trying-profile");
  if (selected.value !== profile) await answered(() => type(selected, profile));
  await answered(() => type(document.querySelector("#trying-text"), text));
  const began = performance.now();
  for (const [name, value] of Object.entries(operands)) {
    const input = document.querySelector(`[data-operand="${CSS.escape(name)}"]`);
    if (input.value !== value) await answered(() => type(input, value));
  }
  const found = {};
  for (const p of document.querySelectorAll(".trying-result")) {
    const reading = p.querySelector("[data-reading=hex], [data-reading=predicate]");
    found[p.dataset.result] = reading.querySelector("code").textContent;
  }
  const error = document.querySelector(".trying-error");
  return { found, error: error && error.textContent, took: performance.now() - began };
}"""


def prepared() -> Path:
    """The files that a site carries, kept between builds. Without npm the test says that it did not run."""
    try:
        return archive.prepared(ROOT / "build" / "trying")
    except npm.Unavailable as why:
        pytest.skip(f"NO PYODIDE: the box in which readers evaluate instructions was NOT tested: {why}")


@contextmanager
def opened_box(folder: Path) -> Iterator[Any]:
    """A browser with a page whose box is open; it was opened by the button of a row."""
    static = Path(answers.__file__).parents[1] / "static"
    (folder / "_static").mkdir()
    (folder / "_static" / "trying").symlink_to(prepared())
    for name in ("trying.js", "trying.css"):
        (folder / name).write_bytes((static / name).read_bytes())
    forms = {"lop3.b32 d, a, b, c, immLut;": "lop3.b32 d, a, b, c, $immLut;"}
    page = "ptxspec.spec.instructions.logic.lop3"
    (folder / "page.html").write_text(PAGE.format(page=page, forms=html.escape(json.dumps(forms), quote=True)))
    with chromium() as browser:
        tab = browser.new_page()
        failed: list[str] = []
        tab.on("pageerror", lambda error: failed.append(str(error)))
        tab.goto((folder / "page.html").as_uri())
        tab.click("td.trying-buttons button:text('try')")
        tab.wait_for_selector(".trying-result, .trying-error", timeout=60_000)
        yield tab
        assert failed == []


def compare(tab: Any, asked: list[tuple[str, dict[str, str], str]]) -> list[float]:
    """Put questions into the box, and hold its answers against `ptxspec.evaluate`. Returns how many milliseconds each took, once
    its instruction was known."""
    wrong, took = [], []
    for text, operands, profile in asked:
        want = expected(text, operands, profile)
        got = tab.evaluate(PUT, [text, operands, profile])
        took.append(got["took"] / max(1, len(operands)))
        is_open = got["error"] is not None and "leaves the result open" in got["error"]
        if (want is None) != is_open or (want is not None and got["found"] != want):
            wrong.append((text, operands, profile, want, got))
    assert wrong == []
    return took


@pytest.mark.slow
def test_the_box_in_a_browser_computes_what_evaluate_does(tmp_path: Path) -> None:
    with opened_box(tmp_path) as tab:
        assert tab.input_value("#trying-text") == "lop3.b32 d, a, b, c, 0x96;"
        assert tab.inner_text("[data-result=d] [data-reading=hex] code") == "0x00000096"
        compare(tab, PICKED)


@pytest.mark.long
def test_the_box_computes_what_evaluate_does_for_every_chapter(tmp_path: Path) -> None:
    asked = [*PICKED, *questions(240)]
    assert len(asked) >= 200
    with opened_box(tmp_path) as tab:
        took = sorted(compare(tab, asked))
    assert took[len(took) // 2] < 100  # milliseconds
