"""What an H100 answered about instructions that change or copy a tensor map, and about others that stand beside them."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec_workshop.generate import map_cases
from ptxspec_workshop.record import gaps
from ptxspec_workshop.record.families import FAMILIES, OBJECTS

pytestmark = pytest.mark.sample(4)

MAPS = ptxspec.forms("tensormap")
OTHERS = [
    f
    for o in ("cp", "mbarrier")
    for f in ptxspec.forms(o)
    if f.mnemonic in ("cp.async.bulk.prefetch.L2.global", "mbarrier.pending_count.b64")
]


@pytest.mark.parametrize("form", [*MAPS, *OTHERS], ids=str)
def test_only_the_objects_ask_about_a_form_which_was_answered(form: ptxspec.Form) -> None:
    assert [name for name, family in FAMILIES.items() if family.asks(form)] == ["objects"]
    answered = gaps.entry(form, gaps.records(), set())
    assert answered is not None and answered["agrees"] and "H100" in answered["device"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_an_h100_and_the_machine_change_maps_alike(engine: str) -> None:
    kept = OBJECTS.read()
    assert kept is not None
    count, differing = OBJECTS.compare([*MAPS, *OTHERS], kept, engine)  # type: ignore[arg-type]
    assert count == 64 * 32 + 128 * 4 and differing == []


def test_every_constant_and_every_bit_is_asked() -> None:
    kept = OBJECTS.read()
    assert kept is not None
    for form in MAPS:
        (case,) = OBJECTS.cases([form])
        text, before, after = case.text("k"), case.launches[0].cells, kept.values[str(form)]
        for name in ("ord", "number"):
            for constant in form.definition.constants(name, form.modifiers) or ():
                assert f", {constant}" in text
        if form.mnemonic.startswith("tensormap.cp_fenceproxy"):
            assert (before == after).all() and text.count(form.mnemonic) == map_cases.WARP
        else:
            changed = np.bitwise_or.reduce(before ^ after, axis=0)
            kinds = {"address": 64, "rank": 3, "stride": 100, "extent": 15, "number": 1}
            least = next(bits for kind, bits in kinds.items() if form.definition.name.endswith(kind))
            assert sum(int(word).bit_count() for word in changed) >= least, str(form)
