"""Mistakes planted in definitions: what is planted, that it leaves nothing behind, and that each outcome can be had."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxspec
from ptxspec.base import campaigns
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.base.processes import Reply
from ptxspec.language.forms import registry
from ptxspec_workshop.mutation import campaign, score
from ptxspec_workshop.mutation.campaign import Before
from ptxspec_workshop.mutation.isolated import Ended, call
from ptxspec_workshop.mutation.judging import EQUIVALENT, KILLED, SURVIVOR, judge
from ptxspec_workshop.mutation.listing import listed, spread
from ptxspec_workshop.mutation.mutants import Mutant, mutated, of_page, source
from ptxspec_workshop.mutation.operators import OPERATORS, replacements
from ptxspec_workshop.mutation.planting import planted
from ptxspec_workshop.mutation.reach import graph


def difference(new: str = "b - a") -> Mutant:
    """A mistake in the difference of two integers that is not limited."""
    own = of_page("ptxspec.spec.instructions.integer.sub")
    return [m for m in own if (m.original, m.mutated) == ("a - b", new)][-1]


def meanings(opcode: str) -> list[Any]:
    return [form.meaning() for form in registry().opcodes[opcode].forms]


# operators -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "new"),
    [
        ("a < b", "comparison", "a <= b"),
        ("a == b", "comparison", "a != b"),
        ("low_bits(x, 5)", "mask", "x"),
        ("low_bits(x, 5)", "width", "low_bits(x, 6)"),
        ("low_bits(x, n)", "width", "low_bits(x, n - 1)"),
        ("x & 31", "mask", "x"),
        ("x & (1 << n) - 1", "mask", "x"),
        ("31", "constant", "32"),
        ("31", "constant", "30"),
        ("0", "constant", "1"),
        ("a - b", "swap", "b - a"),
        ("quotient(a, b)", "swap", "quotient(b, a)"),
        ("sign_extend(x, 8)", "twin", "low_bits(x, 8)"),
        ("sign_extend(x, 8)", "extension", "x"),
        ("minimum(a, b)", "twin", "maximum(a, b)"),
        ("select(c, x, y)", "arms", "select(c, y, x)"),
        ("x if c else y", "arms", "y if c else x"),
        ("type.signed", "flag", "not type.signed"),
        ("f(ftz=True)", "flag", "False"),
        ("f('rm')", "rounding", "'rp'"),
        ("-x", "negation", "x"),
        ("~x", "negation", "x"),
        ("a & b", "logic", "a | b"),
        ("a and b", "logic", "a or b"),
        ("a ^ b", "logic", "a | b"),
        ("a + b", "arithmetic", "a - b"),
        ("a >> b", "shift", "a << b"),
        ("is_set(x, 3)", "bit", "is_set(x, 4)"),
        ("is_nan(x, type)", "rule", "is_nan(x, type) & False"),
        ("flushed(x, type)", "flush", "x"),
        ("saturate(x, type)", "saturation", "x"),
    ],
)
def test_what_stands_in_the_place_of_an_expression(text: str, kind: str, new: str) -> None:
    found = {(r.kind, ast.unparse(r.new)) for r in replacements(ast.parse(text))}
    assert (kind, new) in found, found


@pytest.mark.slow
def test_every_operator_has_mutants_on_the_pages() -> None:
    """What is planted is of every kind: a kind that occurs nowhere would test nothing."""
    kinds = {m.kind for m in listed()}
    assert len(kinds) >= len(OPERATORS) and {"mask", "rule", "flush", "saturation", "table", "rounding"} <= kinds


# the list --------------------------------------------------------------------------------------------------------------


def test_the_list_is_long_and_covers_every_page_with_a_definition() -> None:
    mutants = listed()
    assert len(mutants) >= 500 and len({m.id for m in mutants}) == len(mutants)
    pages = {m.module for m in mutants}
    defining = {d.module for opcode in registry().opcodes.values() for _, d in opcode.lines}
    without = {module for module in defining - pages if any(graph().opcodes(m) for m in of_page(module))}
    assert without == set()


def test_the_list_is_the_same_each_time() -> None:
    module = "ptxspec.spec.arithmetic.video"
    own = of_page(module)
    assert spread(own, 9) == spread(list(reversed(own)), 9)
    assert spread(own, 5) == spread(own, 9)[:5]


def test_an_id_does_not_depend_on_the_line() -> None:
    mutant = difference()
    assert mutant._replace(line=mutant.line + 7, first_line=mutant.first_line + 7).id == mutant.id
    assert mutant._replace(number=mutant.number + 1).id != mutant.id


def test_a_place_that_is_gone_is_an_error() -> None:
    mutant = of_page("ptxspec.spec.instructions.integer.bfe")[0]
    with pytest.raises(ValueError, match="no such place"):
        mutated(mutant._replace(original="nothing"))


# in place for a while --------------------------------------------------------------------------------------------------


def test_a_planted_mistake_is_in_force_and_then_gone() -> None:
    mutant = difference()
    before = meanings("sub")
    text = Path(source(mutant.module)[0]).read_text()
    with planted(mutant):
        assert ptxspec.evaluate("sub.u32 d, a, b;", a=7, b=5) == {"d": 2**32 - 2}
    assert ptxspec.evaluate("sub.u32 d, a, b;", a=7, b=5) == {"d": 2}
    assert Path(source(mutant.module)[0]).read_text() == text
    after = meanings("sub")
    same = [x is y for m, n in zip(before, after, strict=True) for r, s in zip(m.results, n.results, strict=True)
            for x, y in zip(r.values, s.values, strict=True)]  # fmt: skip
    assert len(same) > 40 and all(same)


def test_a_mistake_on_a_shared_page_reaches_those_that_import_it() -> None:
    own = of_page("ptxspec.spec.arithmetic.video")
    mutant = next(
        m
        for m in own
        if (m.original, m.mutated)
        == ("x >> type_of_part.width * int(selector[1])", "x << type_of_part.width * int(selector[1])")
    )
    assert {"vadd", "vmad"} <= graph().opcodes(mutant) and "bfe" not in graph().opcodes(mutant)
    with planted(mutant):
        wrong = ptxspec.evaluate("vmad.u32.u32.u32 d, a.h1, b, c;", a=0x30000, b=1, c=0)
    assert wrong != ptxspec.evaluate("vmad.u32.u32.u32 d, a.h1, b, c;", a=0x30000, b=1, c=0) == {"d": 3}


def test_what_is_planted_is_gone_after_an_error() -> None:
    mutant = difference()
    with pytest.raises(KeyError), planted(mutant):
        raise KeyError
    assert ptxspec.evaluate("sub.u32 d, a, b;", a=7, b=5) == {"d": 2}


@pytest.mark.slow
def test_a_call_has_limits() -> None:
    assert call(lambda: 6 * 7, 5) == 42
    with pytest.raises(ZeroDivisionError):
        call(lambda: 1 // 0, 5)
    with pytest.raises(Ended):
        call(lambda: len([0] * (1 << 32)), 5)
    with pytest.raises(Ended):
        call(lambda: sum(i for i in iter(int, 1)), 1)


@pytest.fixture(autouse=True, scope="module")
def few_claims() -> Iterator[None]:
    """Claims about what is planted here: to read all identities takes a quarter of a minute."""
    from ptxspec_workshop.mutation import by_identities

    everything = by_identities.load_all
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_identities, "load_all", lambda: tuple(c for c in everything() if "sub" in c.opcodes))
        by_identities.claims.cache_clear()
        yield
    by_identities.claims.cache_clear()


# judgements ------------------------------------------------------------------------------------------------------------


def constructed(mutant: Mutant, new: str, monkeypatch: pytest.MonkeyPatch) -> Mutant:
    """A mutant that puts any text in the place of an expression."""
    from ptxspec_workshop.mutation import mutants as module

    old = module._each

    def each(name: str, tree: ast.Module) -> Any:
        for own, replacement in old(name, tree):
            if own == mutant:
                node = ast.copy_location(ast.parse(new, mode="eval").body, replacement.node)
                yield own._replace(mutated=new), replacement._replace(new=node)

    monkeypatch.setattr(module, "_each", each)
    return mutant._replace(mutated=new)


@pytest.mark.long
def test_a_mutant_that_is_the_original_is_equivalent(monkeypatch: pytest.MonkeyPatch) -> None:
    own = difference()
    found = judge(constructed(own, "a - b", monkeypatch))
    assert (found.status, found.by) == (EQUIVALENT, "same terms")


@pytest.mark.slow
def test_a_mutant_that_is_proved_to_be_the_original_is_equivalent(monkeypatch: pytest.MonkeyPatch) -> None:
    own = difference()
    found = judge(constructed(own, "-(b - a)", monkeypatch))
    assert (found.status, found.by) == (EQUIVALENT, "proof")


@pytest.mark.slow
def test_a_mutant_that_is_a_constant_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    own = difference()
    found = judge(constructed(own, "a * 0 + 5", monkeypatch))
    assert (found.status, found.by) == (KILLED, "identity") and "operands" in found.shown


def test_without_identities_recorded_answers_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec_workshop.mutation import by_identities, by_oracles, by_tests

    own = difference()
    monkeypatch.setattr(by_tests, "noticed", lambda mutant, first="": None)
    monkeypatch.setattr(by_identities, "claims", lambda: ())
    monkeypatch.setattr(by_oracles, "examples", lambda pages: None)
    assert judge(own)[:2] == (KILLED, "recorded answer")
    monkeypatch.setattr(by_oracles, "recorded", lambda cases: None)
    survived = judge(own)
    assert survived.status == SURVIVOR and survived.name.startswith("sub") and "with the mistake" in survived.shown


def test_a_claim_that_fails_without_a_mistake_is_a_failure_of_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec_workshop.mutation import by_identities

    claim = by_identities.claims()[0][0]._replace(
        left="sub.u32 d, a, b;", right="sub.u32 d, b, a;", assume=None, relation="equal", expected="proved"
    )
    wrong = ((claim, by_identities.terms_of(claim)),)
    monkeypatch.setattr(by_identities, "claims", lambda: wrong)
    with pytest.raises(AssertionError, match="fails without a mistake"):
        judge(difference())
    row = campaign._judge_item((difference(), Before()))
    assert row[1].by == campaign.FAILED


def of(module: str, original: str, new: str) -> Mutant:
    """A mistake on a page, by both texts."""
    return next(m for m in of_page(f"ptxspec.spec.{module}") if (m.original, m.mutated) == (original, new))


@pytest.mark.slow
def test_a_refinement_that_is_refuted_and_holds_with_the_mistake_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that is too wide refutes nothing: that a result beyond it is not allowed tells."""
    from ptxspec.query.identities import load_all
    from ptxspec_workshop.mutation import by_identities

    own = [c for c in load_all() if c.title.startswith("an approximate tangent")]
    asked = tuple((claim, by_identities.terms_of(claim)) for claim in own)
    assert {claim.expected for claim in own} == {"proved", "refuted"} and all(map(by_identities.tells, own))
    monkeypatch.setattr(by_identities, "claims", lambda: asked)
    for new, expected in (("10", "refuted"), ("12", "proved")):
        found = judge(of("instructions.floating.tanh", "11", new))
        assert (found.status, found.by) == (KILLED, "identity"), found
        assert next(c.expected for c in own if c.title == found.name) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "original", "new"),
    [
        ("instructions.synchronization.activemask", "0", "1"),
        (
            "instructions.video.vmad",
            "low_bits(saturate(scaled, type) if sat else scaled, 32)",
            "sign_extend(saturate(scaled, type) if sat else scaled, 32)",
        ),
    ],
)
def test_what_nobody_reads_means_the_same(
    module: str, original: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lanes give that only wait, and what a deviation is given beside what any profile makes of it."""
    from ptxspec_workshop.mutation import by_identities

    monkeypatch.setattr(by_identities, "claims", lambda: ())
    assert judge(of(module, original, new)).status == EQUIVALENT


def scale(new: str = "row | 7") -> Mutant:
    """A mistake in which lane holds a scale of A: pages of layouts have laws, and no fragment is executed."""
    return next(m for m in of_page("ptxspec.spec.matrices.scales") if (m.original, m.mutated) == ("row & 7", new))


def test_a_law_kills() -> None:
    from ptxspec_workshop.mutation import by_laws

    own = scale()
    found = judge(own)
    assert (found.status, found.by) == (KILLED, "law") and "operands" in found.shown
    assert found.name in {law.sentence for law in by_laws.about(own)}
    with planted(own):
        noticed = by_laws.noticed(own, ())
    assert noticed is not None
    by_laws.cross_check(noticed)
    with planted(own), pytest.raises(AssertionError, match="fails without a mistake"):
        by_laws.cross_check(noticed._replace(was=by_laws.formula(noticed.law)[0]))


def test_a_law_says_nothing_of_what_it_does_not_reach_or_what_means_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec_workshop.mutation import by_laws

    assert by_laws.about(difference()) == []
    own = constructed(scale(), "7 & row", monkeypatch)
    assert by_laws.about(own)
    with planted(own):
        assert by_laws.noticed(own, ()) is None


def test_a_law_is_known_by_what_it_says() -> None:
    from ptxspec_workshop.mutation import by_laws

    keys = [by_laws.key(law) for law, _ in by_laws.laws()]
    assert len(set(keys)) == len(keys) and all(len(key) >= 2 for key in keys)


# what is kept ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_campaign_takes_over_what_holds_still(monkeypatch: pytest.MonkeyPatch) -> None:
    own = difference()
    once = campaign.update([own], {})
    asked: list[Mutant] = []
    monkeypatch.setattr(campaign, "judge", lambda mutant, hint: asked.append(mutant) or campaign.Judgement(KILLED))
    assert campaign.update([own], once) == once and asked == []
    row = once[own.id]
    assert row["by"] == "identity"
    for stale in ({"pages": "other"}, {"claims": "other"}, {"name": "no such claim"}):
        asked.clear()
        campaign.update([own], {own.id: {**row, **stale}})
        assert asked == [own], stale


def test_what_a_law_killed_is_taken_over_while_the_law_is_there() -> None:
    own = scale()
    once = campaign.update([own], {})[own.id]
    assert once["by"] == "law" and campaign.is_known(own, once)
    for stale in ({"pages": "other"}, {"claims": "other"}, {"name": "no such law"}):
        assert not campaign.is_known(own, {**once, **stale}), stale


def test_what_an_oracle_noticed_is_put_to_the_claims_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """When there are other claims: with them it is one of theirs, else what the oracle said stands, and nothing else is asked."""
    from ptxspec_workshop.mutation import by_identities, by_laws

    own = difference()
    row = {"place": str(own), "status": KILLED, "by": "recorded answer", "name": "sub", "shown": "", "seconds": 1.0,
           "pages": campaign.pages_key(own), "claims": campaign.claims_key(own)}  # fmt: skip
    assert campaign.is_known(own, row)
    before = {own.id: {**row, "claims": "other"}}
    monkeypatch.setattr(campaign, "judge", lambda *given: pytest.fail("no oracle is asked again"))
    found = campaign.update([own], before)[own.id]
    assert (found["status"], found["by"]) == (KILLED, "identity")
    monkeypatch.setattr(by_identities, "claims", lambda: ())
    monkeypatch.setattr(by_laws, "laws", lambda: ())
    stands = campaign.update([own], before)[own.id]
    assert {**stands, "seconds": 1.0} == row
    assert campaign.judge_by_claims(own) is None


@pytest.mark.slow
def test_what_nothing_can_notice_is_not_asked_again() -> None:
    own = difference()
    row = {"pages": campaign.pages_key(own), "claims": "other", "name": ""}
    assert campaign.is_known(own, {**row, "status": EQUIVALENT, "by": "proof"})
    assert campaign.is_known(own, {**row, "status": KILLED, "by": "construction"})
    assert not campaign.is_known(own, {**row, "status": SURVIVOR, "by": ""})


def test_what_nothing_noticed_is_asked_again_when_there_are_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec_workshop.mutation import by_tests

    own = difference()
    row = campaign._row(own, campaign.Judgement(SURVIVOR), 1.0)
    assert campaign.is_known(own, row)
    first = by_tests.tests()[0]
    monkeypatch.setattr(by_tests, "about", lambda mutant: [first])
    assert not campaign.is_known(own, row)


def test_mutants_are_judged_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the process of one is a failure of the campaign, and the other is judged."""
    one, other = of_page("ptxspec.spec.instructions.integer.bfe")[:2]
    replies = {one.id: ("done", (one, campaign.Judgement(campaign.KILLED, "identity", "x"), 1.5)), other.id: ("ended",)}
    asked: list[Any] = []

    def run(judge: Any, items: Any, where: WorkerOptions) -> Iterator[campaigns.ItemOutcome]:
        asked.append((judge, where))
        for name, _ in items:
            yield campaigns.ItemOutcome(name, Reply(*replies[name]))  # type: ignore[arg-type]

    monkeypatch.setattr(campaigns, "run", run)
    found = campaign.update([one, other], {}, where=WorkerOptions(3))
    assert asked == [(campaign._judge_item, WorkerOptions(3))]
    assert found[one.id]["status"] == campaign.KILLED and found[other.id]["by"] == campaign.FAILED
    json.dumps(found)


def test_the_score_counts_what_is_undecided_as_a_survivor() -> None:
    rows = [{"status": s, "by": b} for s, b in (
        ("killed", "identity"), ("killed", "example"), ("survivor", ""), ("undecided", ""), ("equivalent", "proof"))]  # fmt: skip
    found = score.counted(rows)
    assert (found.of, found.percent, found.percent_of_identities) == (4, 50.0, 25.0)
    with pytest.raises(ValueError, match="cannot be doubtful"):
        score.counted([{"status": "doubtful", "by": ""}])


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert score.read(path) is None
    kept = score.Kept({"digest": score.digest()}, {"x-1": {"status": "killed", "by": "identity"}})
    score.write(kept, path)
    assert score.read(path) == kept and not kept.is_stale
    assert score.Kept({"digest": "of other pages"}, {}).is_stale


def sample() -> list[Mutant]:
    """Of each outcome of the campaign one mutant, that which took the least time."""
    kept = score.read()
    assert kept is not None
    known = {m.id: m for m in listed()}
    chosen: list[Mutant] = []
    for outcome in (("killed", "identity"), ("killed", "law"), ("killed", "recorded answer"), ("killed", "example"), ("killed", "construction"),
                    ("equivalent", "same terms"), ("equivalent", "proof")):  # fmt: skip
        rows = [(r["seconds"], i) for i, r in kept.mutants.items() if (r["status"], r["by"]) == outcome and i in known]
        chosen += [known[i] for _, i in sorted(rows)[:1]]
    return chosen


def agrees(mutant: Mutant) -> None:
    """A judgement made now is the one that is kept, or what is kept is known to be out of date."""
    kept = score.read()
    assert kept is not None
    row = kept.mutants[mutant.id]
    found = judge(mutant, campaign._hint(row))
    assert found.status == row["status"] or (found.status == KILLED and not campaign.is_known(mutant, row)), (
        f"{mutant}: {found}"
    )


@pytest.mark.slow
def test_a_sample_of_the_campaign_is_judged_as_it_is_kept() -> None:
    chosen = sample()
    assert len(chosen) >= 5
    for mutant in chosen:
        agrees(mutant)


@pytest.mark.long
def test_the_campaign_is_judged_as_it_is_kept() -> None:
    """Whatever is kept of mutants that the list still has; what survived may be killed by now."""
    kept = score.read()
    assert kept is not None
    known = {m.id: m for m in listed()}
    old = {i: row for i, row in kept.mutants.items() if i in known}
    found = campaign.update([known[i] for i in old], {i: {**row, "pages": "again"} for i, row in old.items()})
    worse = [row["place"] for i, row in found.items() if old[i]["status"] == KILLED and row["status"] != KILLED]
    worse += [row["place"] for row in found.values() if row["by"] == campaign.FAILED]
    assert worse == []
