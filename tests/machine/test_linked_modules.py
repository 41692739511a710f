"""Programs of several modules: what a name means across them, under both engines."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(4)

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
ENGINES = ("exact", "native")


def words(texts: list[str], count: int, engine: str, name: str = "k", threads: int = 1, **how: int) -> list[int]:
    """What an entry stores that takes the address of so many words."""
    out = np.zeros(count, np.uint32)
    module = ptxspec.link([HEADER + text for text in texts])
    module.launch(name, block=threads, args=[out], engine=engine, **how)
    return out.tolist()


def entry(body: str, name: str = "k", linkage: str = ".visible ") -> str:
    return f"""
{linkage}.entry {name}(.param .u64 out) {{
  .reg .u64 %o, %a, %b; .reg .u32 %r, %s, %t; .reg .pred %p;
  ld.param.u64 %o, [out];
  {body}
  ret;
}}
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_and_variables_of_another_module(engine: str) -> None:
    """Both ways: the function in the second module writes a variable of the first, and reads a constant of its own."""
    first = """
.visible .global .u32 count = 40;
.extern .func (.reg .u32 r) next(.param .u32 by);
.extern .const .u32 step;
""" + entry("call (%r), next, (5); st.global.u32 [%o], %r; ld.global.u32 %r, [count]; st.global.u32 [%o+4], %r; "
            "ld.const.u32 %r, [step]; st.global.u32 [%o+8], %r;")  # fmt: skip
    second = """
.extern .global .u32 count;
.visible .const .u32 step = 100;
.visible .func (.reg .u32 r) next(.param .u32 by) {
  .reg .u32 a, b; ld.param.u32 a, [by]; ld.global.u32 b, [count]; add.u32 b, b, a; st.global.u32 [count], b;
  ld.const.u32 a, [step]; add.u32 r, a, b; ret;
}
"""
    assert words([first, second], 3, engine) == [145, 45, 100]
    assert words([second, first], 3, engine) == [145, 45, 100]


@pytest.mark.parametrize("engine", ENGINES)
def test_names_without_linkage_are_each_modules_own(engine: str) -> None:
    """Variables in three state spaces, functions and entries of one name."""

    def module(value: int, more: str) -> str:
        return f"""
.global .u32 x = {value}; .const .u32 c = {value + 1}; .shared .u32 s;
.func (.reg .u32 r) f() {{
  .reg .u32 a; .shared .u32 own; .global .u32 kept = {value + 2};
  st.shared.u32 [s], {value + 3}; st.shared.u32 [own], {value + 4};
  ld.global.u32 r, [x]; ld.const.u32 a, [c]; add.u32 r, r, a;
  ld.shared.u32 a, [s]; add.u32 r, r, a; ld.shared.u32 a, [own]; add.u32 r, r, a; ld.global.u32 a, [kept]; add.u32 r, r, a;
  ret;
}}
{more}
"""

    one = module(10, ".extern .func (.reg .u32 r) other();" + entry(
        "st.shared.u32 [s], 7; call (%r), other, (); st.global.u32 [%o], %r; ld.shared.u32 %r, [s]; st.global.u32 [%o+4], %r;"
        "call (%r), f, (); st.global.u32 [%o+8], %r; ld.shared.u32 %r, [s]; st.global.u32 [%o+12], %r;"))  # fmt: skip
    two = module(1000, ".visible .func (.reg .u32 r) other() { call (r), f, (); ret; }" + entry("", "k", ""))
    assert words([one, two], 4, engine) == [5010, 7, 60, 13]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_weak_gives_way_to_visible(engine: str, order: tuple[int, ...]) -> None:
    uses = entry("call (%r), f, (); st.global.u32 [%o], %r; ld.global.u32 %r, [x]; st.global.u32 [%o+4], %r;")
    texts = [
        ".extern .func (.reg .u32 r) f(); .extern .global .u32 x;" + uses,
        ".weak .func (.reg .u32 r) f() { mov.u32 r, 1; ret; } .weak .global .u32 x = 1;",
        ".visible .func (.reg .u32 r) f() { mov.u32 r, 2; ret; } .visible .global .u32 x = 2;",
    ]
    assert words([texts[i] for i in order], 2, engine) == [2, 2]
    assert words(texts[:2], 2, engine) == [1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_common_variables_are_one(engine: str) -> None:
    """The one with a value, else the largest."""
    both = entry(
        "st.global.u32 [x], 5; call set, (); ld.global.u32 %r, [x]; st.global.u32 [%o], %r; ld.global.u32 %r, [y]; st.global.u32 [%o+4], %r;"
    )
    one = ".common .global .u32 x; .common .global .u32 y; .extern .func set();" + both
    two = """.common .global .u32 x[4]; .common .global .u32 y = 9;
.visible .func set() { .reg .u32 a; ld.global.u32 a, [x]; add.u32 a, a, 1; st.global.u32 [x], a; st.global.u32 [x+12], a; ret; }"""
    assert words([one, two], 2, engine) == [6, 9]


@pytest.mark.parametrize("engine", ENGINES)
def test_addresses_across_modules(engine: str) -> None:
    """A table of functions and variables of other modules, called and read through."""
    table = """
.extern .func (.param .u32 r) one(.param .u32 a); .extern .func (.param .u32 r) two(.param .u32 a); .extern .global .u32 g[2];
.visible .global .u64 table[4] = { one, two, g+4, generic(g) };
"""
    functions = """
.visible .func (.param .u32 r) one(.param .u32 a) { .reg .u32 x; ld.param.u32 x, [a]; add.u32 x, x, 1; st.param.u32 [r], x; ret; }
.visible .func (.param .u32 r) two(.param .u32 a) { .reg .u32 x; ld.param.u32 x, [a]; add.u32 x, x, 2; st.param.u32 [r], x; ret; }
.visible .global .u32 g[2] = { 70, 80 };
"""
    calls = "p: .callprototype (.param .u32 _) _ (.param .u32 _);\n" + "".join(
        f"ld.global.u64 %a, [table+{8 * i}]; call (%r), %a, (100), p; st.global.u32 [%o+{4 * i}], %r;\n"
        for i in range(2)
    )
    body = calls + "ld.global.u64 %a, [table+16]; ld.global.u32 %r, [%a]; st.global.u32 [%o+8], %r;"
    body += "ld.global.u64 %a, [table+24]; ld.u32 %r, [%a]; st.global.u32 [%o+12], %r;"
    program = ".extern .global .u64 table[4];" + entry(body)
    assert words([table, program, functions], 4, engine) == [101, 102, 80, 70]


@pytest.mark.parametrize("engine", ENGINES)
def test_shared_memory_of_several_modules(engine: str) -> None:
    """Variables of two modules, of functions and of the entry, and what the launch adds, lie apart."""
    one = """
.extern .shared .align 8 .b8 dynamic[]; .visible .shared .u32 both[2]; .shared .u32 mine[3]; .extern .func fill();
""" + entry("""
  .shared .u32 last[2];
  st.shared.u32 [both], 1; st.shared.u32 [both+4], 2; st.shared.u32 [mine], 3; st.shared.u32 [mine+8], 4; st.shared.u32 [last], 5;
  st.shared.u32 [last+4], 6; st.shared.u32 [dynamic], 7; st.shared.u32 [dynamic+4], 8; call fill, ();
  ld.shared.u32 %r, [both]; st.global.u32 [%o], %r; ld.shared.u32 %r, [both+4]; st.global.u32 [%o+4], %r;
  ld.shared.u32 %r, [mine]; st.global.u32 [%o+8], %r; ld.shared.u32 %r, [mine+8]; st.global.u32 [%o+12], %r;
  ld.shared.u32 %r, [last]; st.global.u32 [%o+16], %r; ld.shared.u32 %r, [last+4]; st.global.u32 [%o+20], %r;
  ld.shared.u32 %r, [dynamic]; st.global.u32 [%o+24], %r; ld.shared.u32 %r, [dynamic+4]; st.global.u32 [%o+28], %r;""")  # fmt: skip
    two = """
.extern .shared .u32 both[2]; .shared .u32 mine[3];
.visible .func fill() { .shared .u32 last[4]; .reg .u32 a;
  st.shared.u32 [mine], 90; st.shared.u32 [mine+8], 91; st.shared.u32 [last], 92; st.shared.u32 [last+12], 93;
  ld.shared.u32 a, [both]; add.u32 a, a, 10; st.shared.u32 [both], a; ret; }
"""
    assert words([one, two], 8, engine, dynamic_shared=8) == [11, 2, 3, 4, 5, 6, 7, 8]
    assert words([two, one], 8, engine, dynamic_shared=8) == [11, 2, 3, 4, 5, 6, 7, 8]


def test_a_size_that_another_module_knows() -> None:
    one = ".extern .shared .u32 s[]; .extern .global .u32 g[];" + entry(
        "st.shared.u32 [s+4], 6; ld.shared.u32 %r, [s+4]; st.global.u32 [%o], %r; ld.global.u32 %r, [g+8]; st.global.u32 [%o+4], %r;"
    )
    assert words(
        [one, ".visible .shared .u32 s[2]; .visible .global .align 64 .u32 g[3] = { 1, 2, 3 };"], 2, "exact"
    ) == [6, 3]


def test_alignment_is_the_greatest_that_is_asked_for() -> None:
    module = ptxspec.link([HEADER + ".global .u8 pad; .extern .global .align 64 .u32 g; .global .u64 p = g;",
                           HEADER + ".visible .global .u8 pad2; .visible .global .u32 g = 5;"])  # fmt: skip
    assert module.read("p").view(np.uint64)[0] % 64 == 0 and module.read("g").view(np.uint32)[0] == 5


def test_names_from_outside() -> None:
    """The one module's that has the name, or with the module's number."""
    texts = [".global .u32 x = 1; .global .u32 only = 5;" + entry("st.global.u32 [%o], 1;", "k", ""),
             ".global .u32 x = 2;" + entry("st.global.u32 [%o], 2;", "k", "") + entry("st.global.u32 [%o], 3;", "j", "")]  # fmt: skip
    module = ptxspec.link([HEADER + text for text in texts])
    assert sorted(module.kernels) == ["j", "k#1", "k#2"]
    assert [module.read(n)[0] for n in ("x#1", "x#2", "only")] == [1, 2, 5]
    out = np.zeros(1, np.uint32)
    for name, value in (("k#1", 1), ("k#2", 2), ("j", 3)):
        module.launch(name, args=[out])
        assert out[0] == value
    with pytest.raises(KeyError, match=r"no variable in \.global or \.const is called x; there are only, x#1, x#2"):
        module.read("x")


@pytest.mark.parametrize("engine", ENGINES)
def test_faults_name_the_module(engine: str) -> None:
    texts = [
        HEADER + ".extern .func f();" + entry("call f, ();"),
        HEADER + "\n\n.visible .func f() {\n .reg .u64 a; mov.u64 a, 0;\n st.global.u32 [a], 1;\n ret; }",
    ]
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.link(texts, ["one.ptx", "two.ptx"]).launch("k", args=[np.zeros(1, np.uint32)], engine=engine)
    where = caught.value.where
    assert (
        where is not None
        and (where.path, where.line) == ("two.ptx", 8)
        and "st.global.u32 [a], 1;" in str(caught.value)
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_variables_of_a_function_keep_their_values(engine: str) -> None:
    """They exist once, whoever calls, from launch to launch; the one of an inner scope is another."""
    text = HEADER + """
.func (.reg .u32 r) count() { .global .u32 n = 10; ld.global.u32 r, [n]; add.u32 r, r, 1; st.global.u32 [n], r; ret; }
""" + entry("""call (%r), count, (); call (%r), count, (); st.global.u32 [%o], %r;
  .global .u32 n = 100; .const .u32 n2[2] = { 7, 8 }; ld.global.u32 %r, [n]; add.u32 %r, %r, 1; st.global.u32 [n], %r; st.global.u32 [%o+4], %r;
  { .global .u32 n = 500; ld.global.u32 %r, [n]; add.u32 %r, %r, 1; st.global.u32 [n], %r; st.global.u32 [%o+8], %r; }
  ld.const.u32 %r, [n2+4]; st.global.u32 [%o+12], %r;""")  # fmt: skip
    module, out = ptxspec.load(text), np.zeros(4, np.uint32)
    module.launch("k", args=[out], engine=engine)
    assert out.tolist() == [12, 101, 501, 8]
    module.launch("k", args=[out], engine=engine)
    assert out.tolist() == [14, 102, 502, 8]
    with pytest.raises(KeyError):
        module.read("n")


@pytest.mark.parametrize("engine", ENGINES)
def test_before_a_variable_hides_the_modules_that_one_is_meant(engine: str) -> None:
    """In all state spaces that a function's variables may lie in."""
    for space in ("shared", "local", "global"):
        text = ".global .u32 v = 5;" + entry(
            f"ld.global.u32 %r, [v]; .{space} .u32 v; st.{space}.u32 [v], 6; st.global.u32 [%o], %r; ld.{space}.u32 %r, [v]; st.global.u32 [%o+4], %r;"
        )
        module, out = ptxspec.load(HEADER + text), np.zeros(2, np.uint32)
        module.launch("k", args=[out], engine=engine)
        assert out.tolist() == [5, 6] and module.read("v").view(np.uint32)[0] == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_writing_by_name(engine: str) -> None:
    text = (
        HEADER
        + ".global .u32 g[3] = { 1, 2, 3 }; .const .f32 c; .shared .u32 s;"
        + entry(
            "ld.global.u32 %r, [g+4]; st.global.u32 [%o], %r; add.u32 %r, %r, 1; st.global.u32 [g+4], %r; ld.const.u32 %r, [c]; st.global.u32 [%o+4], %r;"
        )
    )
    module, out = ptxspec.load(text), np.zeros(2, np.uint32)
    module.write("g", np.array([7, 8], np.uint32))
    module.write("c", np.float32(1.5))
    module.launch("k", args=[out], engine=engine)
    assert out.tolist() == [8, 0x3FC00000]
    assert module.read("g").view(np.uint32).tolist() == [7, 9, 3]
    module.write("g", b"\x01")
    assert bytes(module.read("g"))[:4] == b"\x01\0\0\0"
    module.write("g", np.arange(6, dtype=np.uint16)[::2])
    assert module.read("g").view(np.uint16).tolist() == [0, 2, 4, 0, 3, 0]
    with pytest.raises(ValueError, match="g has 12 bytes, not 16"):
        module.write("g", np.zeros(2))
    for name in ("s", "nothing", "k"):
        with pytest.raises(KeyError, match="there are c, g"):
            module.write(name, b"")


#: what a module may call x
SAME = {
    "variable": ".global .u32 x = 5;",
    "function": ".func x() { ret; }",
    "entry": ".entry x() { ret; }",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("visible", SAME)
@pytest.mark.parametrize("own", SAME)
def test_one_name_for_different_things(own: str, visible: str, engine: str) -> None:
    """What a module calls x is its own, in code and in initializers, whatever another module shows by that name."""
    named = "mov.u64 %a, x; st.global.u64 [%o], %a; ld.global.u64 %a, [p]; st.global.u64 [%o+8], %a;"
    texts = [f".visible {SAME[visible]}", f"{SAME[own]} .global .u64 p = x; {entry(named)}"]
    for order in (texts, texts[::-1]):
        module = ptxspec.link([HEADER + text for text in order])
        out = np.zeros(2, np.uint64)
        module.launch("k", args=[out], engine=engine)
        assert out[0] == out[1] and (out[0] >= 1 << 28) == (own == "variable")
        alone = f".visible {SAME[visible]} .global .u64 p = x; {entry(named, 'j')}"
        both = ptxspec.link([HEADER + text for text in (alone, texts[1])])
        other = np.zeros(2, np.uint64)
        both.launch("j", args=[other], engine=engine)
        both.launch("k", args=[out], engine=engine)
        assert other[0] == other[1] != out[0] == out[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_entry_and_the_function_of_its_name(engine: str) -> None:
    """Which another module shows, and which a function calls that the entry calls."""
    first = ".visible .func (.reg .u32 r) x() { mov.u32 r, 7; ret; }"
    second = ".extern .func (.reg .u32 r) x(); .visible .func (.reg .u32 r) via() { call (r), x; ret; }"
    third = ".extern .func (.reg .u32 r) via(); " + entry("call (%r), via; st.global.u32 [%o], %r;", "x", "")
    module = ptxspec.link([HEADER + text for text in (first, second, third)])
    assert module.kernels == ["x#3"]
    out = np.zeros(1, np.uint32)
    module.launch("x#3", args=[out], engine=engine)
    assert out[0] == 7
