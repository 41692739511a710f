"""Evaluations explained: the statements of a definition, their values for the operands, and where they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ptxspec
from ptxspec.base import places


def source_at(page: str) -> str:
    path, _, line = page.partition(":")
    root = (
        Path(places.DOCUMENTS).parent
        if path.startswith("spec/") and not (places.DOCUMENTS / path).exists()
        else places.DOCUMENTS
    )
    return (root / path).read_text().splitlines()[int(line) - 1].strip()


def test_the_steps_of_a_definition_with_values() -> None:
    (step,) = ptxspec.explain("bfe.s32 d, a, b, c;", a=0xF0, b=4, c=4).steps
    values = {v.name: v.value for line in step.lines for v in line.values}
    assert values == {"start": 4, "length": 4, "shifted": 15, "field": -1, "returns": -1}
    assert step.writes == {"d": 0xFFFFFFFF} and step.reads == {"a": 0xF0, "b": 4, "c": 4}
    for line in step.lines:  # each line of the document begins with what its statement begins with
        said = source_at(line.page)
        assert said.split("=")[0].split("(")[0].strip() == line.source.split("=")[0].split("(")[0].strip()


def test_other_operands_have_other_values_and_conditions() -> None:
    def last(c: int) -> tuple[object, object]:
        (step,) = ptxspec.explain("bfe.u32 d, a, b, c;", a=0xFFFF, b=4, c=c).steps
        return step.lines[-1].conditions[0].value, [x.entry for x in step.chosen]

    assert last(8) == (True, [])
    assert last(300) == (False, ["field-beyond-255"])


def test_the_values_are_those_before_the_statement() -> None:
    """A condition is that of the names as they were, also where the statement binds one of them anew."""
    (step,) = ptxspec.explain("add.f32 d, a, b;", a=1.5, b=2.0, depth=4).steps
    packed = [line for line in step.lines if line.function == "rounded"]
    assert packed
    for line in packed:
        for condition in line.conditions:
            if condition.name == "pattern < 1 << p - 1":
                assert condition.value is False
    assert step.writes == {"d": 0x40600000}


def test_an_instruction_that_its_guard_skips_has_no_steps() -> None:
    text = "setp.lt.u32 p, a, b; @p add.u32 d, a, 1; @!p sub.u32 d, a, 1;"
    for a, b, did in ((1, 2, (True, True, False)), (2, 1, (True, False, True))):
        found = ptxspec.explain(text, a=a, b=b, d=9)
        assert tuple(s.executed for s in found.steps) == did
        assert all(bool(s.lines) == s.executed for s in found.steps)
        assert found.results == ptxspec.evaluate(text, a=a, b=b, d=9)


def test_depth_looks_into_functions_and_no_further_than_asked() -> None:
    def deepest(depth: int) -> tuple[int, set[str]]:
        (step,) = ptxspec.explain("add.f32 d, a, b;", a=1.5, b=2.0, depth=depth).steps
        return max(line.depth for line in step.lines), {line.page.partition(":")[0] for line in step.lines}

    assert deepest(1) == (0, {"spec/instructions/floating/add.md"})
    level, pages = deepest(2)
    assert level == 1 and "spec/arithmetic/rounding.md" in pages  # the sum, whose term stands for its body, too
    assert deepest(3)[0] == 2
    with pytest.raises(ValueError, match="depth"):
        ptxspec.explain("add.f32 d, a, b;", a=1.5, b=2.0, depth=0)


def test_readings_by_the_type() -> None:
    (step,) = ptxspec.explain("add.f32 d, a, b;", a=1.5, b=2.0).steps
    assert step.lines[0].values[0].text == "0x3fc00000 = 1.5 (.f32)"
    (step,) = ptxspec.explain("add.u32 d, a, b;", a=300, b=-1).steps
    assert step.lines[-1].values[0].text == "4294967595 = 0x10000012b"  # exact, before bits are dropped
    assert step.as_dict()["writes"]["d"]["hex"] == "0x0000012b"


def test_carries_and_registers_written_before() -> None:
    found = ptxspec.explain("add.cc.u32 d, a, b; addc.u32 e, a, d;", a=0xFFFFFFFF, b=2)
    assert found.steps[1].reads == {"a": 0xFFFFFFFF, "b": 1}
    assert found.results["e"] == 1
    assert any(v.value == 1 << 32 | 1 for line in found.steps[1].lines for v in line.values)


def test_what_is_chosen_is_named_and_only_where_it_counts() -> None:
    (step,) = ptxspec.explain("add.f32 d, a, b;", a=1.5, b=2.0, depth=4).steps
    assert step.chosen == []  # the NaN that the sum does not give
    (step,) = ptxspec.explain("add.f32 d, a, b;", a=float("inf"), b=float("-inf")).steps
    assert [c.entry for c in step.chosen] == ["nan"]
    with pytest.raises(ptxspec.NoChoice):
        ptxspec.explain("add.f32 d, a, b;", a=float("inf"), b=float("-inf"), profile="portable")


def test_tracing_ends_with_the_question() -> None:
    before = sys.gettrace()
    ptxspec.explain("add.u32 d, a, b;", a=1, b=2)
    assert sys.gettrace() is before
    with pytest.raises(ptxspec.Unsupported):
        ptxspec.explain("bar.sync 0;")
    with pytest.raises(TypeError, match="b"):
        ptxspec.explain("add.u32 d, a, b;", a=1)
    assert sys.gettrace() is before
