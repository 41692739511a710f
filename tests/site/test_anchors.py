"""Anchors: each form has one that no other on its page has, and it says which form it is."""

from __future__ import annotations

import doctest
from collections import Counter

from ptxspec.language.forms import page_name, registry
from ptxspec.site import anchors


def test_every_form_has_an_anchor_of_its_own() -> None:
    found = Counter((page_name(f.definition.path), anchors.form_anchor(f)) for f in registry().forms())
    assert len(found) > 20_000 and set(found.values()) == {1}
    assert all(not set(anchor) & set(" \"'<>#%") for _, anchor in found)


def test_the_first_form_of_a_mnemonic_has_its_name() -> None:
    addresses = [anchors.form_address(f) for f in registry().opcodes["call"].find("call")]
    assert len(set(addresses)) == len(addresses) > 1
    assert all(a.startswith("spec/instructions/control/call.html#call") for a in addresses)
    assert addresses[0].endswith("#call") and "#call-f-p" in "".join(addresses)


def test_a_form_that_was_looked_up_has_the_anchor_of_the_listed_one() -> None:
    """Hints, selectors and another order of the words make no form of their own."""
    known = registry().opcodes["ld"]
    hinted = next(form.hinted for form in known.forms if form.syntax.telling)
    assert anchors.form_anchor(hinted) in {anchors.form_anchor(f) for f in known.forms}
    (found,) = registry().opcodes["fma"].find("fma.ftz.rn.f32")
    assert anchors.form_anchor(found) == "fma.rn.ftz.f32"


def test_examples() -> None:
    import ptxspec

    assert doctest.testmod(anchors, extraglobs={"ptxspec": ptxspec}).attempted == 3
    assert doctest.testmod(anchors, extraglobs={"ptxspec": ptxspec}).failed == 0
