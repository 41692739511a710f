"""Meanings with editions: modules of two versions, or for two targets, get each its own, under both engines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ptxspec
from ptxspec.base import places
from ptxspec.evidence.kernels.operand_rows import table_of
from ptxspec.language.forms import Registry, registry
from ptxspec.literate import finder
from ptxspec.pages.register import entries
from ptxspec.terms import TermError
from ptxspec.terms.core import integer
from ptxspec.terms.definitions import Definition
from ptxspec.terms.editions import NEWEST, Edition, Epoch, before, beginnings
from ptxspec.terms.profiles import CHOICES
from ptxspec_workshop.record.families import FUNCTIONS
from ptxspec_workshop.site import changes

ENGINES = ("exact", "native")
MODULE = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 cells) {{
  .reg .u64 p; .reg .b32 x, y, d;
  ld.param.u64 p, [cells]; ld.global.b32 x, [p]; ld.global.b32 y, [p+4];
  {instruction} d, x, y;
  st.global.b32 [p], d; ret;
}}"""


def run(version: str, target: str, instruction: str, x: int, y: int, engine: str) -> int:
    cells = np.array([x, y], np.uint32)
    text = MODULE.format(version=version, target=target, instruction=instruction)
    ptxspec.load(text).launch("k", args=[cells], engine=engine, profile="hopper")
    return int(cells[0])


# The mechanism: an instruction of its own -------------------------------------------------------------------------------

PAGE = """# aged

One line.

```syntax
aged{.ftz}.type  d, a, b;
.type = { .u32 };
```

```python
from ptxspec.terms import instruction, of, removed, settled


@instruction
def aged(a: of.type, b: of.type, *, ftz=False, type) -> of.type:
    if settled("ripe", since="8.0", before="9.0"):
        return a * b
    if settled("ripe", target="sm_80"):
        return a + b
    return a - b


removed(aged, since="6.4", target="sm_70", ftz=True)
```
"""


@pytest.fixture
def aged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Definition]:
    package = f"ptxspec.planted_{tmp_path.name.replace('-', '_')}"
    monkeypatch.setitem(finder.ROOTS, package, tmp_path)
    (tmp_path / "instructions").mkdir()
    (tmp_path / "instructions" / "aged.md").write_text(PAGE)
    finder._listings.clear()
    opcode = Registry(package).opcodes["aged"]
    monkeypatch.setitem(registry().opcodes, "aged", opcode)
    yield opcode.forms[0].definition
    for name in [n for n in sys.modules if n.startswith(package)]:
        del sys.modules[name]
    finder._listings.clear()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_module_gets_the_meaning_of_its_edition(aged: Definition, engine: str) -> None:
    found = [run(*epoch, "aged.u32", 7, 5, engine) for epoch in EPOCHS]
    assert found == [7 * 5, 7 * 5, 7 * 5, 7 + 5, 7 - 5, 7 + 5, 7 - 5]


EPOCHS = [
    ("8.0", "sm_70"), ("8.0", "sm_90"), ("8.8", "sm_90"), ("9.0", "sm_90"), ("7.8", "sm_75"), ("7.8", "sm_80"), ("9.0", "sm_75"),
]  # fmt: skip


def test_a_fragment_says_its_version_or_is_of_the_newest(aged: Definition) -> None:
    for (version, target), want in zip(EPOCHS, [35, 35, 35, 12, 2, 12, 2], strict=True):
        text = f".version {version}\n.target {target}\naged.u32 d, a, b;"
        for _ in range(3):  # what is asked again is kept
            assert ptxspec.evaluate(text, a=7, b=5) == {"d": want}
        assert ptxspec.evaluate(text, a=np.array([7, 7]), b=5)["d"].tolist() == [want, want]
        assert ptxspec.prove(text, "aged.u32 d, a, b;").status == ("proved" if want == 12 else "refuted")
    assert ptxspec.evaluate("aged.u32 d, a, b;", a=7, b=5) == {"d": 12}
    assert ptxspec.evaluate(".version 8.8 aged.u32 d, a, b;", a=7, b=5) == {"d": 35}
    assert ptxspec.evaluate(".target sm_75 aged.u32 d, a, b;", a=7, b=5) == {"d": 2}


def test_a_form_has_as_many_meanings_as_it_has_editions(aged: Definition) -> None:
    form, flushed = registry().opcodes["aged"].forms
    early, late = Edition(since=(8, 0), before=(9, 0)), Edition(target=80)
    assert form.changes == [("ripe", late), ("ripe", early)]
    modules = [(v, t) for v in ((7, 0), (7, 8), (8, 0), (8, 8), (9, 0)) for t in (60, 75, 80, 90)]
    meanings = {id(aged.meaning(form.modifiers, (), Epoch(v, t))) for v, t in modules}
    # a difference and a sum before 8.0, the product, and the two again: what was answered alike is one meaning
    assert len(meanings) == 3
    assert len({id(f.meaning()) for f in form.editions}) == len(form.editions) == 2
    assert form.meaning() is aged.meaning(form.modifiers, (), NEWEST)
    # modules that have the other form are for targets before sm_70, or of versions before 6.4
    assert flushed.meaning() is aged.meaning(flushed.modifiers, (), Epoch((9, 0), 69))
    assert flushed.meaning() is not form.meaning()


def test_linked_modules_keep_their_editions(aged: Definition) -> None:
    callee = """.version 8.0
.target sm_90
.address_size 64
.visible .func (.reg .u32 r) old(.reg .u32 x, .reg .u32 y) { aged.u32 r, x, y; ret; }"""
    caller = """.version 9.0
.target sm_90
.address_size 64
.extern .func (.reg .u32 r) old(.reg .u32 x, .reg .u32 y);
.visible .entry k(.param .u64 out) { .reg .u64 o; .reg .u32 d, e;
  ld.param.u64 o, [out]; aged.u32 d, 7, 5; call (e), old, (7, 5); st.global.v2.u32 [o], {d, e}; ret; }"""
    for engine in ENGINES:
        out = np.zeros(2, np.uint32)
        ptxspec.link([caller, callee]).launch("k", args=[out], engine=engine)
        assert out.tolist() == [12, 35]


def test_what_does_not_ask_has_one_meaning() -> None:
    for form in ptxspec.forms("bfe"):
        assert not form.changes and not form.editions
        early = form.definition.meaning(form.modifiers, (), Epoch((2, 0), 20))
        assert early is form.meaning()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ('settled("ripe")', "say since when"),
        ('settled("ripe", since="nine")', "'nine' is no version of PTX ISA"),
        ('settled("ripe", target="80")', "'80' is no target"),
    ],
)
def test_a_word_that_says_no_edition(word: str, said: str) -> None:
    with pytest.raises(TermError, match=said):
        eval(word, {"settled": ptxspec.terms.settled})


def test_editions() -> None:
    window = Edition((6, 4), (9, 0), 70, 90)
    inside = [(v, t) for v in ((6, 3), (6, 4), (8, 8), (9, 0)) for t in (69, 70, 89, 90) if window.holds(Epoch(v, t))]
    assert inside == [((6, 4), 70), ((6, 4), 89), ((8, 8), 70), ((8, 8), 89)]
    assert not window.holds(NEWEST) and Edition().holds(NEWEST)
    assert len(beginnings([window])) == 9
    assert str(window) == "from sm_70 on, before sm_90, from PTX ISA 6.4 on, before PTX ISA 9.0"
    for version, target in (((1, 4), 10), ((2, 0), 10), ((6, 4), 70)):
        gone = Edition(version, None, target)
        assert not gone.holds(before(version, target)) and before(version, target) < NEWEST


# The cases --------------------------------------------------------------------------------------------------------------

ONE, TWO, INFINITY, SIGN, NAN = 0x3F800000, 0x40000000, 0x7F800000, 0x80000000, 0x7FFFFFFF
#: 2^126, the next number, 2^127, the greatest number
LIMIT, HUGE = 0x7E800000, (0x7E800001, 0x7F000000, 0x7F7FFFFF)
STRANGE = 0x12345678


def early_and_late(division: str) -> None:
    """What a quotient by a huge divisor may be, before PTX ISA 9.0 and from there on."""
    for y in HUGE:
        for x, sign in ((ONE, 0), (TWO | SIGN, SIGN), (0, 0), (SIGN, SIGN), (0x7F7FFFFF, 0)):
            for version in ("4.1", "8.8"):
                assert ptxspec.allowed(f".version {version} {division} d, a, b;", {"d": STRANGE}, a=x, b=y)
            for text in (f"{division} d, a, b;", f".version 9.0 {division} d, a, b;"):
                for s in (0, SIGN):
                    assert not ptxspec.allowed(text, {"d": STRANGE | s}, a=x, b=y | s)
                    assert ptxspec.allowed(text, {"d": sign ^ s}, a=x, b=y | s)
                    assert not ptxspec.allowed(text, {"d": sign ^ s ^ SIGN}, a=x, b=y | s)
        for x in (INFINITY, INFINITY | SIGN):
            assert ptxspec.allowed(f".version 8.8 {division} d, a, b;", {"d": INFINITY}, a=x, b=y)
            assert ptxspec.allowed(f"{division} d, a, b;", {"d": NAN}, a=x, b=y)
            assert not ptxspec.allowed(f"{division} d, a, b;", {"d": x}, a=x, b=y)
    for version in ("8.8", "9.0"):  # up to 2^126 nothing changed, nor for subnormal divisors
        text = f".version {version} {division} d, a, b;"
        assert not ptxspec.allowed(text, {"d": STRANGE}, a=TWO, b=LIMIT)
        assert ptxspec.allowed(text, {"d": ONE}, a=LIMIT, b=LIMIT)
        assert ptxspec.allowed(text, {"d": INFINITY}, a=INFINITY, b=LIMIT)
        assert ptxspec.allowed(text, {"d": STRANGE}, a=ONE, b=1) is (".ftz" not in division)


@pytest.mark.parametrize("division", ["div.approx.f32", "div.approx.ftz.f32"])
def test_approximate_quotients_by_huge_divisors(division: str) -> None:
    early_and_late(division)


def test_a_form_that_ended_before_keeps_what_it_meant() -> None:
    """`div.f32` is one of modules before 1.4, with a fragment's version or without."""
    for head in ("", ".version 1.3 "):
        assert ptxspec.allowed(f"{head}div.f32 d, a, b;", {"d": STRANGE}, a=ONE, b=HUGE[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_machine_may_not_choose_what_is_settled(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that gave something odd would show it in modules before 9.0 alone."""
    monkeypatch.setitem(CHOICES["hopper"], "approximate-div", lambda type, a, b, ftz: integer(STRANGE))
    for x, y, want in ((ONE, HUGE[1], 0), (ONE | SIGN, HUGE[2], SIGN), (INFINITY, HUGE[0], NAN), (ONE, TWO, STRANGE)):
        for division in ("div.approx.f32", "div.approx.ftz.f32"):
            assert run("8.8", "sm_90", division, x, y, engine) == STRANGE
            assert run("4.1", "sm_30", division, x, y, engine) == STRANGE
            assert run("9.0", "sm_90", division, x, y, engine) == want


def test_a_condition_that_is_swapped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    form = next(f for f in ptxspec.forms("div") if f.mnemonic == "div.approx.f32")
    early_and_late(form.mnemonic)
    page = form.definition.function.__globals__
    right: Callable[..., bool] = page["settled"]
    for wrong in (lambda *a, **k: not right(*a, **k), lambda *a, **k: right(*a, since="8.0"), lambda *a, **k: False):
        with monkeypatch.context() as planted:
            planted.setitem(page, "settled", wrong)
            planted.setattr(form.definition, "_instances", {})
            with pytest.raises(AssertionError):
                early_and_late(form.mnemonic)
    early_and_late(form.mnemonic)


@pytest.mark.parametrize("name", ["div.approx.f32", "div.approx.ftz.f32", "div.f32"])
def test_what_the_gpu_answered_is_what_was_settled(name: str) -> None:
    answers = FUNCTIONS.read()
    assert answers is not None
    form = next(f for f in ptxspec.forms("div") if f.mnemonic == name)
    met = 0
    for (a, b), (d,) in zip(table_of(form, form.meaning()), answers.values[str(form)], strict=True):
        if LIMIT < b & ~SIGN < INFINITY and a & ~SIGN <= INFINITY:
            met += 1  # of 512 rows
            assert d == (NAN if a & ~SIGN == INFINITY else (a ^ b) & SIGN), (hex(a), hex(b))
    assert met >= 10


def test_targets_before_sm_20_flush() -> None:
    """A modifier that is implied is a change of the same kind, in fragments too."""
    add = "add.f32 d, a, b;"
    assert ptxspec.prove(f".target sm_13 {add}", "add.ftz.f32 d, a, b;").status == "proved"
    assert ptxspec.prove(f".target sm_20 {add}", add).status == "proved"
    assert ptxspec.evaluate(f".target sm_13 {add}", a=1, b=1) == {"d": 0}
    assert ptxspec.evaluate(f".target sm_20 {add}", a=1, b=1) == ptxspec.evaluate(add, a=1, b=1) == {"d": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".version 4.9 add.u32 d, a, b;", "1:10: there is no PTX ISA 4.9; the latest is 9.5"),
        (".version 4.1 .target sm_90 add.u32 d, a, b;", "1:22: sm_90 needs PTX ISA 7.8; the module says 4.1"),
        (".target sm_9 add.u32 d, a, b;", "1:9: sm_9 is no known target"),
        (".version add.u32 d, a, b;", "1:10: expected a version such as 9.0"),
        (".version 1.4 bfe.u32 d, a, b, c;", "1:14: bfe.u32 needs PTX ISA 2.0; the module says 1.4"),
        (".version 1.4 div.f32 d, a, b;", "1:14: div.f32 does not exist from PTX ISA 1.4 on"),
        ("add.u32 d, a, b; .version 4.1", "expected a statement, not '.version'"),
    ],
)
def test_a_fragments_version_is_checked(text: str, said: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.evaluate(text)
    assert said in str(caught.value)


# What the text says of it -----------------------------------------------------------------------------------------------


@pytest.mark.slow  # `make lint` asks the same
def test_every_change_is_told_of() -> None:
    assert changes.complaints() == []


def test_a_boundary_that_no_text_mentions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (settled,) = (c for c in changes.changes("ptxspec.spec.instructions.floating.div") if c.slug)
    assert changes.unmentioned(settled) == []
    assert changes.unmentioned(settled._replace(edition=Edition(since=(8, 7)))) == ["8.7"]
    assert changes.unmentioned(settled._replace(edition=Edition(since=(9, 0), target=75))) == ["sm_75"]
    assert changes.unmentioned(settled._replace(slug="no-such-entry")) == ["9.0"]
    flushing = changes.changes("ptxspec.spec.instructions.floating.abs")[0]
    assert changes.unmentioned(flushing) == []
    assert changes.unmentioned(flushing._replace(edition=Edition(before_target=30))) == ["sm_30"]
    assert changes.unknown(Edition(since=(8, 9))) == ["PTX ISA 8.9"]
    assert changes.unknown(Edition(target=71)) == ["sm_71"]
    planted = [settled._replace(edition=Edition(since=(8, 7)))]
    monkeypatch.setattr(changes, "changes", lambda module: planted if module.endswith("floating.div") else [])
    (said,) = changes.complaints()
    assert "div.md" in said and "no text tells of 8.7" in said and changes.main() == 1


@pytest.mark.slow
def test_the_pages_show_their_changes() -> None:
    """Every page with a change has the table, and no other; the page of all changes has what the others have."""
    register = entries(places.DOCUMENTS)
    shown = changes.markdown("ptxspec.spec.changes", register)
    count = 0
    for module in changes.pages.with_forms():
        found = changes.changes(module)
        count += len(found)
        text = Path(finder.load(module).__file__ or "").read_text()
        assert ("```{changes}" in text) is bool(found), module
        assert not found or changes.markdown(module, register).count("\n") == len(found) + 4
    assert shown.count("\n") == count + 4 and count >= 40
    assert "[approximate-div](/spec/ambiguities.md#amb-064" in shown
    assert "from sm_70 on, from PTX ISA 6.4 on | [`vote.ballot.b32`]" in shown
