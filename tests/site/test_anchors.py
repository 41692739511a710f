"""Anchors: each form has one that no other on its page has, and it says which form it is."""

from __future__ import annotations

import doctest
from collections import Counter

from ptxspec.language.forms import page_name, registry
from ptxspec.pages import anchors


def test_every_form_has_an_anchor_of_its_own() -> None:
    found = Counter((page_name(f.definition.path), anchors.form_anchor(f)) for f in registry().forms())
    assert len(found) > 20_000 and set(found.values()) == {1}
    assert all(not set(anchor) & set(" \"'<>#%") for _, anchor in found)


def test_an_anchor_is_the_form_s_own_spelling() -> None:
    """So that a line which is added to a page moves no other form's."""
    addresses = [anchors.form_address(f) for f in registry().opcodes["call"].find("call")]
    assert len(set(addresses)) == len(addresses) > 1
    assert {"#call-f", "#call-f-list-p", "#call-list-r-f"} <= {
        a.removeprefix("spec/instructions/control/call.html") for a in addresses
    }
    for form in registry().opcodes["bar"].forms:
        alone = form._replace(syntax=form.syntax._replace(line=form.syntax.line + 7))
        assert anchors.form_anchor(alone) == anchors.form_anchor(form)


def test_a_form_that_was_looked_up_has_the_anchor_of_the_listed_one() -> None:
    """Hints, selectors and another order of the words make no form of their own."""
    known = registry().opcodes["ld"]
    hinted = next(form.hinted for form in known.forms if form.syntax.telling)
    assert anchors.form_anchor(hinted) in {anchors.form_anchor(f) for f in known.forms}
    (found,) = registry().opcodes["fma"].find("fma.ftz.rn.f32")
    assert anchors.form_anchor(found) == "fma.rn.ftz.f32-d-a-b-c"


def test_examples() -> None:
    import ptxspec

    assert doctest.testmod(anchors, extraglobs={"ptxspec": ptxspec}).attempted == 7
    assert doctest.testmod(anchors, extraglobs={"ptxspec": ptxspec}).failed == 0
