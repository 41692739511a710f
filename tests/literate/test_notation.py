"""The manual's syntax notation."""

from __future__ import annotations

import pytest

from ptxspec.literate.documents import DocumentError, Fence
from ptxspec.literate.notation import SyntaxLine, parse


def lines(text: str) -> list[SyntaxLine]:
    (found,) = parse([Fence("syntax", 10, text)], "page.md")
    return found


def mnemonics(text: str) -> list[str]:
    return [m for line in lines(text) for m, _ in line.mnemonics()]


def test_sets_and_optional_modifiers() -> None:
    found = mnemonics("add{.rnd}{.ftz}.f32 d, a, b;\n.rnd = { .rn, .rz };\n")
    assert found == [
        "add.f32", "add.ftz.f32", "add.rn.f32", "add.rn.ftz.f32", "add.rz.f32", "add.rz.ftz.f32",
    ]  # fmt: skip


def test_inline_alternatives() -> None:
    assert mnemonics("mul{.hi,.lo}.u32 d, a, b;") == ["mul.u32", "mul.hi.u32", "mul.lo.u32"]


def test_two_sets_defined_together_and_members_without_dots() -> None:
    text = "cvt.dtype.atype d, a;\n.dtype = .atype = { u8, u16 };"
    assert mnemonics(text) == ["cvt.u8.u8", "cvt.u8.u16", "cvt.u16.u8", "cvt.u16.u16"]


def test_sets_over_several_lines_and_comments() -> None:
    found = lines(
        "ld{.ss}.type d, [a];  // load\n.ss = { .global,   // a space\n        .shared };\n.type = { .u32 };\n"
    )
    assert found[0].comment == "load"
    assert [s.options for s in found[0].slots] == [("global", "shared"), ("u32",)]


def test_a_set_is_one_of_its_paragraph_or_stands_in_one_without_lines() -> None:
    text = "f.x.y d;\n.y = { .c };\n\n// as above\nf.x.y d, a;  // more\n.y = { .d };\n\n.x = { .a, .b };\n"
    assert mnemonics(text) == ["f.a.c", "f.b.c", "f.a.d", "f.b.d"]
    assert [line.line for line in lines(text)] == [10, 14]
    fences = ["f.x d;", "f.x d, a;\n.x = { .b };", ".x = { .a };"]
    found = parse([Fence("syntax", 9 * i, text) for i, text in enumerate(fences)], "page.md")
    assert [[m for line in own for m, _ in line.mnemonics()] for own in found] == [["f.a"], ["f.b"], []]


def test_operands() -> None:
    (line,) = lines("setp.lt.and.s32 p[|q], a, {!}c, [x], {d, e}, v+imm{, b};")
    names = [(o.name, o.memory, o.second, o.negatable, o.optional, o.offset, o.group) for o in line.operands]
    assert names == [
        ("p", False, "q", False, False, False, 0),
        ("a", False, None, False, False, False, 0),
        ("c", False, None, True, False, False, 0),
        ("x", True, None, False, False, False, 0),
        ("d", False, None, False, False, False, 1),
        ("e", False, None, False, False, False, 1),
        ("v", False, None, False, False, True, 0),
        ("b", False, None, False, True, False, 0),
    ]


def test_selectors_and_signs() -> None:
    (line,) = lines("v.u32 d{.mask}, {-}a{.asel}, -b, {, c};\n.mask = { .b0, .h[0-1] };\n.asel = { .h[0-3][2-3] };")
    d, a, _, c = line.operands
    assert d.selector is not None and d.selector == ("mask", ("b0", "h0", "h1"), ".b0, .h[0-1]")
    assert a.selector is not None and a.selector.spelled == ".h[0-3][2-3]"
    assert a.selector.options == ("h02", "h03", "h12", "h13", "h22", "h23", "h32", "h33")
    assert [o.sign for o in line.operands] == ["", "{-}", "-", ""] and c.optional and c.selector is None
    assert a.negation == "a_negated" and line.signs == {"b_negated": True}
    assert [m for m, _ in line.mnemonics()] == ["v.u32"], "selectors and signs are no part of the mnemonic"


def test_a_constant_may_be_added_to_a_register() -> None:
    (line,) = lines("cvta.u64 p, a{+imm}, b{.asel}{, c};\n.asel = { .h0 };")
    assert [(o.name, o.sum, o.offset, o.optional) for o in line.operands] == [
        ("p", False, False, False),
        ("a", True, False, False),
        ("b", False, False, False),
        ("c", False, False, True),
    ]
    assert line.operands[1].addend == "a_offset"


def test_ranges_in_the_set_of_a_modifier() -> None:
    assert mnemonics("p.k d;\n.k = { .f[2-4], .x };") == ["p.f2", "p.f3", "p.f4", "p.x"]


def test_no_operands() -> None:
    (line,) = lines("ret{.uni};")
    assert line.operands == () and mnemonics("ret{.uni};") == ["ret", "ret.uni"]


def test_matching_is_the_inverse_of_enumeration() -> None:
    (line,) = lines("cvt{.rnd}{.ftz}{.sat}.dtype.atype d, a;\n.rnd = {.rn, .rz};\n.dtype = .atype = {.u8, .f32};")
    for mnemonic, bound in line.mnemonics():
        assert line.bindings(tuple(mnemonic.split(".")[1:])) == bound
    assert line.bindings(("ftz", "rn", "u8", "f32")) is None
    assert line.bindings(("u8",)) is None


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("add.u32 d, a, b", 10, "must end with ';'"),
        ("add.type d;\n.type = { .u32 };\n.type = { .s32 };", 12, "defined twice"),
        ("add.u32 d;\n\n.other = { .u32 };", 12, "no syntax line uses the set .other"),
        ("add.type d;\n.type = { .u32, .u32 };", 11, "lists a member twice"),
        ("add.type.type d;\n.type = { .u32 };", 10, "stands twice"),
        ("\n.Add d;", 11, "begins with an opcode"),
        ("add.u32 d, [a;", 10, "cannot read the operand"),
        ("add.u32 d, a b;", 10, "cannot read the operand"),
        ("add.x d;\n.x = { .u32 .s32 };", 11, "names separated by commas"),
        ("add.u32 d, a+imm{+imm};", 10, "cannot read the operand"),
        ("add.u32 d, a{+immediate};", 10, "cannot read the operand"),
        ("add.u32 d, a{.asel};", 10, "a selector .asel, which is no set"),
        ("add.u32 d, a{.asel}{.bsel};\n.asel = .bsel = { .b0 };", 10, "cannot read the operand"),
        ("add.u32 d, a;\n.asel = { .b0 };", 11, "no syntax line uses the set .asel"),
        (".x = { .a };\n\nadd.x d, a;\n\n.x = { .b };", 14, "defined twice"),
        ("add.x d, a;\n.x = { .a };\n\n.x = { .b };", 13, "no syntax line uses the set .x"),
        ("add.u32 d, a{.asel};\n.asel = { .b[0-3 };", 11, "names separated by commas"),
        ("add.u32 d, a{.asel};\n.asel = { .b[0-3], .b2 };", 11, "lists a member twice"),
        ("add.u32 d, a{.asel};\n.asel = { .b[3-0] };", 11, "an empty range"),
    ],
)
def test_what_cannot_be_read_is_an_error_at_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(DocumentError, match=what) as caught:
        lines(text)
    assert caught.value.line == line


def test_hints_make_no_forms_and_stand_anywhere() -> None:
    text = "ld{.ss}{{.evict}}{{.L2::cache_hint}}.type d, [a]{{, policy}};\n.ss = { .global };\n.evict = { .L1::x, .L1::y };"
    (line,) = lines(text + "\n.type = { .u32 };")
    assert [m for m, _ in line.mnemonics()] == ["ld.u32", "ld.global.u32"]
    assert line.bindings(("global", "u32")) == {"ss": "global", "type": "u32"}
    bound = {"ss": "global", "type": "u32", "evict": "L1::y", "L2_cache_hint": True}
    for words in ("global.L1::y.L2::cache_hint.u32", "L2::cache_hint.global.u32.L1::y"):
        assert line.bindings(tuple(words.split("."))) == bound
    assert line.bindings(("L1::x", "L1::y", "u32")) is None and line.bindings(("L1::z", "u32")) is None
    assert line.spelled(bound) == "ld.global.L1::y.L2::cache_hint.u32"
    assert [o.name for o in line.with_hints(bound).operands] == ["d", "a", "policy"]
    assert [slot.name for slot in line.telling] == ["evict", "L2_cache_hint"]
    assert line.with_hints({"evict": "L1::x"}) is line and [o.name for o in line.operands] == ["d", "a"]


def test_a_hint_of_one_set_tells_what_is_so_anyway() -> None:
    (line,) = lines("ld{{.order}}{{.size}}.u32 d, [a];\n.order = { .weak };\n.size = { .L2::64B, .L2::128B };")
    assert [slot.name for slot in line.hints] == ["order", "size"] and [slot.name for slot in line.telling] == ["size"]
    assert line.bindings(("u32", "weak")) == {"order": "weak", "u32": True} == line.bindings(("weak", "u32"))


@pytest.mark.parametrize("text", ["ld.u32 d, [a]{{, p}};", "ld{{.x}}.u32 d{{, p}};\n.x = { .y };"])
def test_an_operand_in_double_braces_needs_a_hint_that_stands_for_itself(text: str) -> None:
    with pytest.raises(DocumentError, match="there is none"):
        lines(text)
