"""The claims under proofs/: each is decided as its page states, means something, and notices a change."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ptxspec.query.identities import Identity, kept, load_all
from ptxspec.query.laws import of_proofs
from ptxspec.query.questions import ask as put
from ptxspec.query.questions import assumed, inputs_of, question
from ptxspec.query.solvers import solve

CLAIMS = load_all()
BY_TITLE = {claim.title: claim for claim in CLAIMS}
PAGES = sorted((Path(__file__).parents[2] / "proofs").glob("*.md"))
TIMEOUT = 300.0  # of wall-clock time, which other processes may share; a few seconds are enough for each


def name(claim: Identity) -> str:
    return f"{Path(claim.path).stem}: {claim.title}"


def each(claims: list[Identity]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("claim", claims, ids=name)


def a_fourth(claims: list[Identity]) -> pytest.MarkDecorator:
    """Each fourth claim of every page by default, and the others in the long tests."""
    marked = [pytest.param(c, marks=() if k % 4 == 0 else pytest.mark.long) for k, c in enumerate(claims)]
    return pytest.mark.parametrize("claim", marked, ids=list(map(name, claims)))


def ask(claim: Identity) -> Any:
    return claim.check(timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("left", "opcodes"),
    [
        ("min.s32 d, a, b;", {"min"}),
        (".target sm_13 mad.f32 d, a, b, c;", {"mad"}),
        (".version 1.3\n.target sm_13\nsin.f32 d, a;", {"sin"}),
        ("@!p bra L; add.u32 d, d, 1; L: st.shared::cta.u32 [p], d;", {"bra", "add", "st"}),
    ],
)
def test_a_claim_is_about_its_opcodes(left: str, opcodes: set[str]) -> None:
    claim = CLAIMS[0]._replace(left=left, right="mov.u32 d, 0;")
    assert claim.opcodes == opcodes | {"mov"}


#: pages whose claims need the solver for floating point: a tenth of the claims, half of the time of all
LABORIOUS = ("floating-point", "floating-refutations", "refutations")


@pytest.mark.sample(12, lambda claim: [claim.path])
@pytest.mark.parametrize(
    "claim",
    [pytest.param(c, marks=pytest.mark.slow if Path(c.path).stem in LABORIOUS else ()) for c in CLAIMS],
    ids=name,
)
def test_verdict_is_as_stated(claim: Identity) -> None:
    """`make proofs` keeps its verdicts, which are as good until a definition or the machinery changes."""
    verdict = kept(claim) or ask(claim).as_dict()
    assert claim.is_as_stated(verdict["status"]), f"{claim.page}: {verdict}"


# what a claim is worth ------------------------------------------------------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.one_in(3)
@each([claim for claim in CLAIMS if claim.assume])
def test_condition_can_be_met_and_not_met(claim: Identity) -> None:
    """A condition that no input meets would make the claim true; one that all meet should not be there."""
    (left, right), types, _ = question(claim.left, claim.right, claim.how)
    read = dict.fromkeys((*left.inputs, *right.inputs))
    inputs = inputs_of(read, types)
    given = assumed(claim.assume, inputs.read(read), inputs.types, claim.how)
    anyway = inputs.guaranteed & left.given & right.given
    for condition in (given, ~given):
        assert solve(condition & anyway, inputs.types, TIMEOUT).status == "sat", claim.page


@pytest.mark.sample(3)
@a_fourth([claim for claim in CLAIMS if claim.expected == "proved" and claim.assume and claim.how.are_plain])
def test_the_opposite_is_refuted(claim: Identity) -> None:
    """With every result of the right side inverted, a proof would be one of nothing."""
    _, types, outputs = question(claim.left, claim.right)
    kinds = {n: "pred" if types[n].kind == "pred" else f"b{max(types[n].width, 16)}" for n in outputs}
    inverted = "".join(f"not.{kinds[n]} {n}, {n};" for n in outputs)
    verdict = ask(claim._replace(right=claim.right + inverted))
    assert verdict.status == "refuted", f"{claim.page}: {verdict}"


@pytest.mark.sample(3)
@pytest.mark.one_in(3)
@each([claim for claim in CLAIMS if claim.expected == "proved" and not claim.how.are_plain])
def test_the_opposite_is_refuted_of_memory_and_warps(claim: Identity) -> None:
    """Where accesses and lanes are followed, both sides may well become one term: so all these have something to lose."""
    _, types, outputs = question(claim.left, claim.right, claim.how)
    spaces = {buffer.name: buffer.space for buffer in claim.how.buffers}
    changed: dict[str, str] = {}
    for name in outputs:
        of, _, number = name.partition("[")
        kind = "pred" if types[name].kind == "pred" else f"b{max(types[name].width, 16)}"
        stored = f"st.{spaces.get(of)}.u8 [{of}+{number[:-1]}], 0xa5;"
        if claim.warp:  # by one lane, and behind what others have stored
            stored = f"bar.warp.sync -1; mov.u32 self, %laneid; setp.eq.u32 one, self, 0; @one {stored}"
        changed.setdefault(of, stored if of in spaces else f"not.{kind} {of}, {of};")
    assert changed
    for text in changed.values():
        verdict = ask(claim._replace(right=claim.right + text))
        assert verdict.status == "refuted", f"{claim.page}: {text} {verdict}"


def test_titles_are_unique() -> None:
    assert [title for title, n in Counter(claim.title for claim in CLAIMS).items() if n > 1] == []


@pytest.mark.sample(3)
@pytest.mark.one_in(4)
@each(list(CLAIMS))
def test_sides_share_inputs_and_results_only(claim: Identity) -> None:
    """A name that one side writes for itself must not be the other's input, nor be compared by accident."""
    (left, right), _, outputs = question(claim.left, claim.right, claim.how)
    for one, other in ((left, right), (right, left)):
        assert not (set(one.outputs) - set(outputs)) & set(other.inputs), claim.page
    registers = set(outputs)
    if not claim.how.are_plain:  # as many as lanes have, or as a buffer has bytes, count once
        registers = {name.partition("[")[0] for name in outputs} - {buffer.name for buffer in claim.how.buffers}
    assert len(registers) <= 2, f"{claim.page} compares {outputs}"


@pytest.mark.slow
def test_few_claims_are_trivial() -> None:
    """Where both sides are the very same term, the solver was not needed. Claims about memory and warps are so more often, as
    accesses and lanes are followed before: the test of their opposites shows what they are worth."""
    plain = [claim for claim in CLAIMS if claim.how.are_plain]
    assert sum(is_one_term(claim) for claim in plain) <= len(plain) // 50
    texts = [(claim.left, claim.right) for claim in CLAIMS if not claim.how.are_plain]
    assert len(texts) >= 60 and all(left != right for left, right in texts)


def is_one_term(claim: Identity) -> bool:
    asked = put(claim.left, claim.right, claim.assume, claim.profile)
    differ = [asked.unequal(name) for name in asked.compared]
    return all(one.op == "const" and not one.attrs[0] for one in differ)


def test_workers_number_identities_as_whoever_asks_them() -> None:
    """In whatever order pages were loaded: here the last page that states any is loaded first."""
    program = (
        "from ptxspec.literate import finder; finder.load('ptxspec.proofs.words_and_tiles')\n"
        "from ptxspec.query import identities\n"
        "print([claim.title for claim in identities.load_all()])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert CLAIMS[-1].path.endswith("words-and-tiles.md") and told.strip() == str([claim.title for claim in CLAIMS])


def test_there_are_enough() -> None:
    counts = Counter(claim.expected for claim in CLAIMS)
    assert counts["proved"] >= 70 and counts["refuted"] >= 12


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_shows_its_claims(page: Path) -> None:
    """The index states nothing; every other page states identities or laws, and ends with their table."""
    text = page.read_text("utf-8")
    identities = sum(Path(claim.path) == page for claim in CLAIMS)
    laws = sum(Path(law.path) == page for law in of_proofs())
    assert identities == len(re.findall(r"^(?:identity|refuted)\(", text, re.MULTILINE))
    assert laws == len(re.findall(r"^@(?:invariant|tempting)\(", text, re.MULTILINE))
    if page.stem == "index":
        assert identities == laws == 0
    else:
        table = "identities" if identities else "invariants"
        assert bool(identities) != bool(laws) and text.endswith(f"```{{{table}}}\n```\n")


# what a proof notices -------------------------------------------------------------------------------------------------

#: title, what is replaced (once, on whichever side has it first), by what
MUTANTS = [
    ("negation is complement plus one", "add.s32 d, x, 1", "add.s32 d, x, 2"),
    ("a signed mean without overflow", "shr.s32 z, y, 1", "shr.u32 z, y, 1"),
    ("a 64-bit sum from 32-bit halves", "setp.lt.u32 carry, low, al", "setp.le.u32 carry, low, al"),
    ("a 64-bit difference from 32-bit halves", "@borrow sub", "@!borrow sub"),
    ("signed sad from the extremes", "min.s32", "min.u32"),
    ("a saturated sum from the signs", "0x7fffffff", "0x80000000"),
    ("mul24 of small numbers", "mul24.lo.u32", "mul24.lo.s32"),
    ("a sixteen-bit number divided by ten", "0xcccd", "0xcccc"),
    ("three digits divided by a hundred", "41;", "40;"),
    ("divisible by three", "0x55555555", "0x55555554"),
    ("signed division by a power of two", "shr.u32 y, x, 30", "shr.u32 y, x, 31"),
    ("the carry of a full adder: the majority", "0xe8", "0xe9"),
    ("counting ones in parallel", "0x0f0f0f0f", "0x1f0f0f0f"),
    ("trailing zeros, by reversing or by counting", "sub.u32 z, a, 1", "sub.u32 z, a, 2"),
    ("two rotations are one", "add.u32 s, b, 11", "add.u32 s, b, 12"),
    ("a 64-bit signed right shift by halves", "shr.s32 far", "shr.u32 far"),
    ("inserting what was extracted", "bfi.b32 d, x, a, s, l", "bfi.b32 d, x, a, l, s"),
    ("between two bounds in one comparison", "setp.lt.u32 q", "setp.le.u32 q"),
    ("a 64-bit comparison by halves", "setp.lt.u32 x, al, bl", "setp.lt.s32 x, al, bl"),
    ("the complement of less is greater or equal or unordered", "setp.geu.f32", "setp.ge.f32"),
    ("keys for sorting", "and.b32 n, m, 0x7fffffff", "and.b32 n, m, 0x3fffffff"),
    ("slct by a floating-point number", "setp.ge.f32", "setp.geu.f32"),
    ("limited to a byte", "255", "254"),
    ("rounding toward zero in two steps", "cvt.rz.f32.f64", "cvt.rn.f32.f64"),
    ("rounding to odd, then to nearest", "or.b32 z, x, lost", "xor.b32 z, x, lost"),
    ("an integer by halves", "fma.rn.f32", "fma.rz.f32"),
    ("leading zeros from an exponent", "158", "157"),
    ("half to single precision by a multiplication", "0f77800000", "0f77000000"),
    ("a byte as a fraction and back", "255.0", "254.0"),
    ("plus +0, rounded down", "add.rm.f32", "add.rz.f32"),
    ("three times by sums", "mul.rn.f32", "mul.rz.f32"),
    ("a difference by fma", "-1.0", "1.0"),
    ("toward zero is down or up, as the sign has it", "slct.f32.s32 d, x, y", "slct.f32.s32 d, y, x"),
    ("nearest is down or up", "add.rm.f32", "add.rz.f32"),
    ("down is not above nearest", "add.rm.f32", "add.rp.f32"),
    ("Sterbenz's lemma", "sub.rm.f32", "add.rm.f32"),
    ("the error of a sum is a number", "sub.rn.f32 x, s, a", "sub.rz.f32 x, s, b"),
    ("the sign of a difference tells the order", "sub.rn.f32", "sub.rn.ftz.f32"),
    ("a saturated product", "cvt.sat.f32.f32", "cvt.f32.f32"),
    ("a sum is flushed before and after", "add.ftz.f32", "add.f32"),
    ("a 64-bit sum by two words and a carry", "addc.u32 high", "add.u32 high"),
    ("a 64-bit difference by two words and a borrow", "sub.cc.u32 low", "add.cc.u32 low"),
    ("the upper half of a 128-bit sum", "addc.cc.u32 s1", "addc.u32 s1"),
    ("the upper half of a 128-bit difference", "subc.cc.u32 s2", "sub.cc.u32 s2"),
    ("a 128-bit difference takes back a sum", "subc.u64 e, t, y", "addc.u64 e, t, y"),
    ("a 64-bit absolute value by two words", "subc.u32 h", "sub.u32 h"),
    ("a wide product plus a number, by halves", "madc.hi.u32", "mad.hi.u32"),
    ("a signed byte is the top of a word", "shr.s32", "shr.u32"),
    ("two words as a vector", "[p+8]", "[p+4]"),
    ("four bytes as a word", "0x5410", "0x5411"),
    ("a butterfly through shared memory", "xor.b32 r, y, 36", "xor.b32 r, y, 40"),
    ("a ballot is a union of bits", "selp.u32 x, 1, 0", "selp.u32 x, 0, 1"),
    ("whoever holds nought", "selp.b32 d, x, y", "selp.b32 d, y, x"),
    ("a matrix transposed by shuffles", "0x7632", "0x7633"),
]


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("title", "old", "new"), MUTANTS, ids=[f"{t}: {new}" for t, _, new in MUTANTS])
def test_changed_claim_is_refuted(title: str, old: str, new: str) -> None:
    claim = BY_TITLE[title]
    assert claim.expected == "proved"
    side = "left" if old in claim.left else "right"
    changed = getattr(claim, side).replace(old, new, 1)
    assert changed != getattr(claim, side), f"{claim.page} does not say {old!r}"
    verdict = ask(claim._replace(**{side: changed}))
    assert verdict.status == "refuted", f"{claim.page}: {verdict}"


#: title, a weaker condition (None for none) under which the claim is false
WEAKENED = [
    ("limits in order commute", None),
    ("sad by abs, of numbers that are not negative", "signed(a) >= 0"),
    ("odd squares", None),
    ("mul24 of small numbers", "a < 0x1000000 and b <= 0x1000000"),
    ("division rounded up", "a <= 0xfffffff9"),
    ("three digits divided by a hundred", "a < 2000"),
    ("a remainder by one subtraction", "b <= a and a - b <= b"),
    ("clearing the lowest 1 leaves one bit less", None),
    ("two left shifts are one", None),
    ("clamped or wrapped, below 32", "c <= 32"),
    ("a funnel shift to the left is one to the right", "c <= 33"),
    ("extracting what was inserted", "s <= 32 and l <= 32 and s + l <= 33"),
    ("an index within an array", None),
    ("numbers compare as integers if the first is not negative", "not nan(a) and not nan(b)"),
    ("24 bits through single precision", "a <= 0x1000001"),
    ("large numbers are integers", "0x4affffff <= a and a <= 0x7f800000"),
    ("plus −0", None),
    ("plus +0, for all but −0", "not nan(a)"),
    ("half by the exponent", "(a & 0x7f800000) >= 0x00800000 and (a & 0x7f800000) < 0x7f800000"),
    ("a product that needs no saturation", "a <= 0x3f800000 and b <= 0x3f800001"),
    ("a subnormal factor counts as zero", "subnormal(a) and not nan(b)"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("title", "assume"), WEAKENED, ids=[f"{t}: {a}" for t, a in WEAKENED])
def test_conditions_are_needed(title: str, assume: str | None) -> None:
    claim = BY_TITLE[title]
    assert claim.expected == "proved" and claim.assume != assume
    verdict = ask(claim._replace(assume=assume))
    assert verdict.status == "refuted", f"{claim.page}: {verdict}"
