"""How a text may be laid out: white space, comments, line ends, labels, scopes, and names that stand for many."""

from __future__ import annotations

import pytest
from verdicts import HEADER, MARK, bits_of, body, complaints, refused

import ptxspec

# white space and comments --------------------------------------------------------------------------------------------

PROGRAM = (
    HEADER
    + """
.visible .entry k(.param .u64 p)
{
\t.reg .u32 %r<4>;
\tmov.u32 %r1, 5;
L:\tadd.u32 %r1, %r1, 1;
\tbra L;
}
"""
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n", " \n\t", "\f\n"])
def test_line_ends(end: str) -> None:
    """ptxas takes all of these too."""
    assert ptxspec.load(PROGRAM.replace("\n", end)).kernels == ["k"]


def test_lines_are_counted_by_their_feeds() -> None:
    """With carriage returns before them or not; a column counts characters."""
    for end in ("\n", "\r\n"):
        text = body("mov.u32 %r1, 1;\nmov.u32 %r1, ¦%x;").replace("\n", end)
        assert refused(text).line == 9


def test_everything_on_one_line() -> None:
    """But for what ends a // comment."""
    assert ptxspec.load(PROGRAM.replace("\n", " ").replace("\t", "")).kernels == ["k"]


def test_as_little_space_as_possible() -> None:
    text = ".version 9.0 .target sm_90 .address_size 64 .entry k(.param.u64 p)"
    text += "{.reg.u32 %r<4>;mov.u32%r1,5;L:add.u32 %r1,%r1,1;bra L;}"
    assert ptxspec.load(text).kernels == ["k"]


def test_as_much_space_as_possible() -> None:
    """Between all tokens, comments too; a mnemonic and a directive are tokens."""
    spaces = ' \t/* a */\n// b ; { " \n'
    text = (
        ".version|9.0|.target|sm_90|,|debug|.address_size|64|.entry|k|(|.param|.u64|p|)|{|.reg|.u32|%r|<|4|>|;|@|!|%p"
    )
    text += "|mov.u32|%r1|,|-|5|;|L|:|ld.param.u32|%r1|,|[|p|+|4|]|;|bra|L|;|}|"
    text = text.replace("|{|", "|{|.reg|.pred|%p|;|")
    assert ptxspec.load(text.replace("|", spaces)).kernels == ["k"]


@pytest.mark.parametrize(
    "comment",
    ["/**/", "/***/", "/* * / */", "/* // */", "/* /* */", "// */ /* \n", "//\n", "///\n", "/*\n\n*/", "/* \" */",
     "// \"\n", "/*/*/",
     "/* é ☃ */", "// é\n"],
)  # fmt: skip
def test_comments(comment: str) -> None:
    """Not nested, anywhere between tokens."""
    assert bits_of(f"mov.u32{comment} %r1{comment},{comment}7{comment};{comment} cvt.u64.u32 %rd1, %r1;") == 7


def test_a_comment_at_the_end_of_the_text() -> None:
    for comment in ("//", "// x", "/**/", "/* x */"):
        assert ptxspec.load(PROGRAM + comment).kernels == ["k"]


def test_positions_after_comments() -> None:
    """A comment of many lines moves what follows it, by its lines."""
    assert refused(body("/* one\ntwo\n three */ mov.u32 %r1, ¦%x; // four")).line == 10


@pytest.mark.parametrize(
    "space",
    ["\u00a0", "\u2003", "\u3000", "\x0b", "\x1c", "\u2028"],
)
def test_spaces_that_are_none(space: str) -> None:
    complaints(body(f"mov.u32{space}%r1, 1;"))


@pytest.mark.parametrize(
    "text", ["mov.u32 ¦\x00%r1, 1;", "¦é", "mov.u32 %r1, ¦é;", "¦\ufeff", "¦\x7f", "mov.u32 %r1, 1¦\\;"]
)
def test_characters_that_are_none(text: str) -> None:
    assert refused(body(text)).message.startswith("cannot read ")


@pytest.mark.parametrize("name", ["%é", "aé", "$ß", "%r²", "_ж"])
def test_names_of_other_scripts(name: str) -> None:
    complaints(body(f".reg .u32 {name}; mov.u32 {name}, 1;"))


@pytest.mark.parametrize("text", ["mov .u64 %rd1, 1;", "mov\n.u64\n%rd1, 1;", "mov/* */.u64 %rd1, 1;"])
def test_blanks_before_modifiers(text: str) -> None:
    assert bits_of(text) == 1


@pytest.mark.parametrize("text", ["mov. u32 %r1, 1;", "mov.u32 % r1, 1;", ". reg .u32 x;"])
def test_tokens_are_not_torn_apart(text: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(body(text))


# names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["x", "X", "x1", "x_", "a$b", "$x", "$1", "_x", "__", "_$", "%x", "%1", "%_x", "%$",
    "mov", "add", "ret",
             "WARP", "sm_90", "x" * 300, "reg", "e5", "f3F800000", "U"],
)  # fmt: skip
def test_names_of_registers(name: str) -> None:
    """A letter and more, or one of _ $ % and at least one more; a name is no keyword."""
    assert bits_of(f".reg .b64 {name}; mov.u64 {name}, 7; mov.u64 %rd1, {name};") == 7


def test_case_matters() -> None:
    assert bits_of(".reg .b64 a, A; mov.u64 a, 1; mov.u64 A, 2; mov.u64 %rd1, a;") == 1


@pytest.mark.parametrize("name", ["L", "L1", "$L__BB0_2", "_L", "%L", "mov", "add", "ret", "bra", "k", "p", "x$y"])
def test_names_of_labels(name: str) -> None:
    """Also on the line of an instruction, or several at one."""
    text = f"mov.u64 %rd1, 1; bra {name}; mov.u64 %rd1, 2; {name}:{name}_2:{name}_3: add.u64 %rd1, %rd1, 1; bra M; M:"
    assert bits_of(text) == 2


def test_a_kernel_may_be_called_anything() -> None:
    module = ptxspec.load(
        HEADER + ".entry mov() { ret; } .entry $1() { ret; } .entry %x() { ret; } .entry _Z3foov() { ret; }"
    )
    assert module.kernels == ["mov", "$1", "%x", "_Z3foov"]


def test_a_sign_alone_is_no_name() -> None:
    refused(body(".reg .u32 ¦%;"))


# registers by the dozen ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "used", "known"),
    [
        ("x<5>", "x0", True), ("x<5>", "x4", True), ("x<5>", "x5", False), ("x<5>", "x", False), ("x<5>", "x05", False),
        ("x<5>", "x-1", False), ("x<0>", "x0", False), ("x<1>", "x0", True), ("x<12>", "x11", True), ("x<12>",
        "x12", False),
        ("x1<5>", "x10", False), ("x1<5>", "x14", False), ("x1<5>", "x15", False), ("x1<5>", "x1", False), ("x1<12>",
        "x111", False), ("x<5>", "x04", True), ("x<5>", "x00000000000000", True), ("x<9>", "x08", True),
        ("x<10>", "x010", False), ("x<100000>", "x99999", True), ("x<5>", "x99999999999999999999", False), ("x_<3>",
        "x_2", True),
        ("x<5>", "X1", False), ("x<3>", "x2y", False), ("x<010>", "x7", True), ("x<010>", "x8", False), ("x<0x10>",
        "x15", True),
    ],
)  # fmt: skip
def test_ranges(declared: str, used: str, known: bool) -> None:
    """`x<N>` are the registers x0 to x(N−1). A name's last digits are all its number's, and zeros before it do not count."""
    text = f".reg .b64 {declared}; mov.u64 {{}}, 7; mov.u64 %rd1, {{}};"
    if known:
        assert bits_of(text.format(used, used)) == 7
    else:
        complaints(body(text.format(used, used)))


def test_ranges_beside_names() -> None:
    """In one declaration, of one type; a number with zeros before it is the same register; a prefix that ends in a digit."""
    assert (
        bits_of(
            ".reg .b64 x, x<3>, y<2>; mov.u64 x, 1; mov.u64 x2, 2; mov.u64 y1, 4; add.u64 x, x, x2; add.u64 %rd1, x, y1;"
        )
        == 7
    )
    assert (
        bits_of(
            ".reg .b64 z<13>; .reg .b32 z1<3>, z013; mov.u64 z12, 5; mov.u32 z013, 9; mov.u64 z01, 8; add.u64 %rd1, z12, z1;"
        )
        == 13
    )


def test_ranges_of_variables() -> None:
    module = ptxspec.load(HEADER + ".global .u32 v<3>; .global .u8 w;")
    places = [module.checked.places[name] for name in ("v0", "v1", "v2", "w")]
    assert [(p.name, p.offset) for p in places] == [("v0", 0), ("v1", 4), ("v2", 8), ("w", 12)]


@pytest.mark.parametrize(
    "text", [".reg .u32 x<5>; .reg .f32 ¦x3;", ".reg .f32 x3; .reg .u32 ¦x<5>;", ".shared .u32 x3; .reg .u32 ¦x<5>;"]
)
def test_ranges_and_names_that_collide(text: str) -> None:
    assert "declared twice" in refused(body(text)).message


def test_a_register_of_thousands_of_digits() -> None:
    refused(body(f".reg .u32 x<5>; mov.u32 ¦x{'1' * 5000}, 1;"))


# scopes --------------------------------------------------------------------------------------------------------------


def test_a_register_of_an_inner_scope_hides_the_outer() -> None:
    text = """
        mov.u64 %rd1, 1;
        mov.u64 %rd2, 100;
        {
            .reg .b32 %rd1;
            .reg .b64 %rd0, %rd2;
            mov.u32 %rd1, 5;
            mov.u64 %rd2, 7;
            { .reg .b16 %rd1; mov.u16 %rd1, 9; }
            cvt.u64.u32 %rd0, %rd1;
            add.u64 %rd3, %rd0, %rd2;
        }
        add.u64 %rd1, %rd1, %rd2;
        add.u64 %rd1, %rd1, %rd3;
    """
    assert bits_of(text) == 1 + 100 + 12


def test_scopes_side_by_side_have_registers_of_their_own() -> None:
    text = """
        { .reg .b64 t; mov.u64 t, 5; mov.u64 %rd1, t; }
        { .reg .b64 t; add.u64 %rd1, %rd1, t; { .reg .pred t; setp.eq.u64 t, %rd1, 5; @t add.u64 %rd1, %rd1, 10; } }
        { .reg .f32 t; mov.f32 t, 1.0; }
        {} { { } }
    """
    assert bits_of(text) == 15


def test_registers_end_with_their_scope() -> None:
    assert "t is not declared" in refused(body("{ .reg .u32 t; } mov.u32 ¦t, 1;")).message
    assert "t is not declared" in refused(body("{ { .reg .u32 t; } mov.u32 ¦t, 1; }")).message


def test_a_register_hides_a_parameter_and_a_special_register() -> None:
    text = body(
        "{ .reg .b64 p; mov.u64 p, 1; .reg .b64 %tid; mov.u64 %tid, 5; } ld.param.u64 %rd1, [p];", ".param .u64 p"
    )
    assert ptxspec.load(text).kernels == ["k"]


def test_a_functions_variable_hides_the_modules() -> None:
    text = body(".shared .b8 v[8]; ld.shared.u32 %r1, [v];", module=".global .u32 v;")
    assert ptxspec.load(text).kernels == ["k"]


def test_kernels_have_names_of_their_own() -> None:
    text = body("L: mov.u32 %r1, 1; bra L;") + body("L: { .reg .f32 %r1; mov.f32 %r1, 1.0; } bra L;").removeprefix(
        HEADER
    ).replace("entry k", "entry other")
    assert ptxspec.load(text).kernels == ["k", "other"]
    complaints(body("L: ret;") + body("bra L;").removeprefix(HEADER).replace("entry k", "entry other"))


def test_variables_of_inner_scopes_hide_the_outer() -> None:
    text = """
        .shared .b64 v;
        .local .b64 w;
        st.shared.u64 [v], 1;
        st.local.u64 [w], 10;
        { .shared .b64 v; .local .b64 w; st.shared.u64 [v], 2; st.local.u64 [w], 20; }
        { .local .b64 v; st.local.u64 [v], 3; }
        ld.shared.u64 %rd1, [v];
        ld.local.u64 %rd2, [w];
        add.u64 %rd1, %rd1, %rd2;
    """
    assert bits_of(text) == 11


def test_variables_end_with_their_scope() -> None:
    refused(body("{ .shared .u32 v; mov.u32 %r1, v; } mov.u32 %r1, ¦v;"))


def test_labels_of_scopes() -> None:
    block = "{ bra L; mov.u64 %rd1, 9; L: add.u64 %rd1, %rd1, 1; }"
    assert bits_of(f"mov.u64 %rd1, 0; {block} {block}") == 2


def test_labels_end_with_their_scope() -> None:
    refused(body("{ L: ret; } bra ¦L;"))


def test_a_label_of_an_inner_scope_hides_the_outer() -> None:
    text = """
        mov.u64 %rd1, 0;
        bra M;
        L: mov.u64 %rd1, 100; bra M;
        { bra L; mov.u64 %rd1, 50; L: add.u64 %rd1, %rd1, 3; }
        M: add.u64 %rd1, %rd1, 1;
        setp.gt.u64 %p1, %rd1, 3;
        @%p1 bra OUT;
        { { bra L; } mov.u64 %rd1, 60; L: add.u64 %rd1, %rd1, 7; { L: add.u64 %rd1, %rd1, 20; } }
        bra M;
        OUT:
    """
    assert bits_of(text) == 29


def test_a_branch_out_of_a_scope_and_into_one() -> None:
    """Outwards the label is seen from within."""
    assert bits_of("mov.u64 %rd1, 1; { { bra L; } mov.u64 %rd1, 2; } L: add.u64 %rd1, %rd1, 5;") == 6


@pytest.mark.parametrize(
    "text",
    ["mov.u32 ¦x, 1; .reg .u32 x;", "mov.u32 %r1, ¦x; .shared .u32 x;", "{ mov.u32 ¦x, 1; .reg .u32 x; }"],
)
def test_declarations_come_first(text: str) -> None:
    refused(body(text))


def test_before_its_declaration_the_outer_register_is_meant() -> None:
    assert bits_of("mov.u64 %rd1, 1; { mov.u64 %rd1, 2; .reg .b64 %rd1; mov.u64 %rd1, 3; }") == 2


def test_scopes_nested_deeply() -> None:
    assert bits_of("{" * 60 + "mov.u64 %rd1, 1;" + "}" * 60) == 1
    assert "nested too deep" in complaints(body("{" * 3000 + "mov.u64 %rd1, 1;" + "}" * 3000))[0].message


def test_braces_nested_deeply() -> None:
    complaints(HEADER + ".global .u32 x = " + "{" * 5000 + "1" + "}" * 5000 + ";")


# directives ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '.file 1 "a.cu"', '.file 1 "a.cu", 1234, 567', '.pragma "nounroll";', '.pragma "a", "b";', ".global .u32 x;",
        ".visible .global .u32 x;", ".weak .global .u32 x;", ".extern .global .u32 x;", ".shared .u32 x;",
        ".extern .shared .align 16 .b8 x[];", ".const .align 8 .f64 x[2] = {1.0};", ".global .v4 .f32 x;", "",
        ".entry e() {}",
        ".entry e {}", ".weak .entry e() {}", ".visible .entry e(.param .u64 .ptr .global .align 16 p) {}",
        ".entry e(.param .u64 .ptr p) {}", ".entry e() .maxntid 1, 2, 3 .minnctapersm 4 {}",
        ".entry e() .reqntid 8 .maxnreg 32 {}",
        ".entry e() { .pragma \"x\"; .loc 1 2 3 }",
    ],
)  # fmt: skip
def test_directives(text: str) -> None:
    """All of which ptxas takes; what bears on speed or debugging alone changes nothing."""
    assert ptxspec.load(HEADER + text).kernels == (["e"] if ".entry" in text else [])


@pytest.mark.parametrize("text", [".file 1", '.file 1 "a.cu", 5 .file 2'])
def test_a_file_without_a_name(text: str) -> None:
    complaints(HEADER + text)


@pytest.mark.parametrize("text", [".file 1 ¦foo", ".file 1 ¦.version", ".file 1 ¦{"])
def test_a_file_whose_name_is_no_string(text: str) -> None:
    assert refused(HEADER + text).message.startswith("expected")


# sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ".global .u8 ¦x[18446744073709551615];",
        ".global .u8 ¦x[1099511627776][1099511627776];",
        ".const .u8 ¦x[9223372036854775807];",
    ],
)
def test_variables_of_absurd_sizes(text: str) -> None:
    refused(HEADER + text)


def test_a_parameter_that_is_a_predicate() -> None:
    refused(HEADER + ".entry k(.param .pred ¦p) { ret; }")


@pytest.mark.parametrize(
    "text",
    [
        ".entry k(.param .b8 ¦p[40000]) {}", ".const .u8 ¦x[70000];", ".const .u8 x[65536]; .const .u8 ¦y;",
        ".shared .u8 ¦x[232449];",
        ".entry k() { .local .u8 ¦x[524289]; }", ".global .u64 ¦x[18446744073709551615];",
        ".shared .u32 ¦x<100000000>;",
        ".entry k(.param .b8 p[32764], .param .u8 ¦q) {}",
    ],
)  # fmt: skip
def test_more_than_a_space_holds(text: str) -> None:
    """Said at once, however much more, with the page that says how much there is."""
    found = refused(HEADER + text)
    assert "at most" in found.message and found.page is not None
    assert found.page.startswith(("spec/state-spaces/index.md:", "spec/machine/memory.md:"))


@pytest.mark.parametrize(
    "text",
    [
        ".entry k(.param .b8 p[-4]) {}", ".entry k(.param .b8 p[0]) {}", ".entry k(.param .align 3 .b8 p[4]) {}",
        ".entry k(.param .align 0 .b8 p[4]) {}", ".entry k(.param .v2 .u32 p) {}",
        ".entry k(.param .u32 p,) {}", ".entry k() .maxntid -1 {}", ".entry k() .maxntid 0 {}",
        ".entry k() .maxntid 32 .reqntid 32 {}", ".global .align 0 .u32 x;", ".global .v4 .f64 x;",
        ".global .v2 .v4 .f32 x;",
        ".global .u8 x[0];", ".global .u32 x[2] = {1,};", ".global .v4 .u32 x = {1, 2};",
        ".global .u32 k; .entry k() {}", ".visible .local .u32 x;", ".extern .param .u32 x;", ".global .u32 x[] = {};",
    ],
)  # fmt: skip
def test_sizes_that_are_none(text: str) -> None:
    complaints(HEADER + text)


def test_the_mark_is_no_character_of_ptx() -> None:
    complaints(HEADER + MARK)


@pytest.mark.parametrize(
    "text",
    [".entry k() { .reg .u32 x<-1>; }", ".global .u32 x<-3>;", ".global .u32 x<4>[2];", ".global .u32 x<2> = 5;",
     ".extern .global .u32 x = 5;"],
)  # fmt: skip
def test_ranges_that_are_none(text: str) -> None:
    complaints(HEADER + text)
