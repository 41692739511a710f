"""Accidents that happen to modules: kinds of changes, and how often each is made."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

TYPES = "pred b8 s8 u8 b16 f16 s16 u16 b32 f32 s32 u32 b64 f64 s64 u64".split()
SPACES = "global shared local const param".split()
WORDS = (
    "sat ftz rn rz rm rp rni rzi lo hi wide eq ne lt le gt ge lo hi and or xor sync aligned volatile relaxed acquire release"
    " gpu cta sys v2 v4 nc ca cg cs approx full uni cc clamp wrap l r add min max exch cas to"
).split()
OPERANDS = (
    "0 1 -1 255 4294967295 4294967296 0f3F800000 0d3FF0000000000000 1.5 _ WARP_SZ %tid.x %laneid %clock64 0x7F".split()
)
VERSIONS = "9.0 8.8 8.0 7.8 7.0 6.5 6.4 6.0 5.0 4.2 3.2 3.0 9.6".split()
#: none that is later than the one that is assembled for
TARGETS = "sm_90 sm_89 sm_87 sm_86 sm_80 sm_75 sm_72 sm_70 sm_61 sm_60 sm_53 sm_50 sm_35 sm_30 sm_20".split()
_TOKEN = re.compile(r"\s+|//[^\n]*|\"[^\"\n]*\"|[\w$%]+(?:::\w+)?|\.[A-Za-z]\w*(?:::\w+)*|.", re.S)
_STATEMENT = re.compile(r"^[ \t]*(?:@|[a-z])[^;{}\n]*;[ \t]*\n", re.M)
_DECLARATION = re.compile(r"^[^\n]*\.(?:reg|param|shared|local|global|const)\b[^\n]*\n", re.M)


def _one(rng: random.Random, text: str, pattern: str | re.Pattern[str], new: object) -> str | None:
    """The text with one match of a pattern replaced: by a word, or by what a function of the match gives."""
    found = list(re.finditer(pattern, text))
    if not found:
        return None
    match = rng.choice(found)
    made = new(match) if callable(new) else new
    return text[: match.start()] + str(made) + text[match.end() :]


def mutated(kind: str, text: str, rng: random.Random) -> str | None:
    """One accident of a kind, or None if the module has nothing for it."""
    statements = list(_STATEMENT.finditer(text))
    if kind == "a type":
        return _one(rng, text, r"(?<=\.)(?:[bsu](?:8|16|32|64)|f(?:32|64)|pred)\b", rng.choice(TYPES))
    if kind == "a width":
        return _one(rng, text, r"(?<=\.[busf])(?:8|16|32|64)\b", rng.choice(["8", "16", "32", "64"]))
    if kind == "a sign":
        return _one(rng, text, r"(?<=\.)[bus](?=(?:8|16|32|64)\b)", rng.choice("bus"))
    if kind == "a space":
        return _one(rng, text, rf"(?<=\.)(?:{'|'.join(SPACES)})\b", rng.choice(SPACES))
    if kind == "a modifier":
        return _one(rng, text, rf"(?<=\.)(?:{'|'.join(WORDS)})\b", rng.choice(WORDS))
    if kind == "a modifier more":
        return _one(rng, text, r"(?<=\n)[ \t]*[a-z]\w*(?=\.)", lambda m: m[0] + "." + rng.choice(WORDS + SPACES))
    if kind == "a modifier less":
        return _one(rng, text, r"(?<=[a-z\d])\.[a-z]\w*(?=[. \t])", "")
    if kind == "two modifiers":
        return _one(rng, text, r"(\.[a-z]\w*)(\.[a-z]\w*)(?=[ \t.])", lambda m: m[2] + m[1])
    if kind == "an operand":
        names = re.findall(r"(?<=[ ,{\[])%?[\w$]+(?=[,;}\]+])", text) or ["%r1"]
        other = rng.choice([rng.choice(OPERANDS), rng.choice(names), rng.choice(names)])
        return _one(rng, text, r"(?<=[ \t,{\[])[%\w$]+(?=[,;}\]])", other)
    if kind == "a register of its kind":
        return _one(rng, text, r"(%[a-z]+)\d+(?=[,;}\]])", lambda m: m[1] + str(rng.randrange(1, 60)))
    if kind == "an operand less":
        return _one(rng, text, r", *[^,;{}()\[\]\n]+(?=;)", "")
    if kind == "an operand more":
        return _one(rng, text, r"(, *[^,;{}()\[\]\n]+)(?=;)", lambda m: m[1] * 2)
    if kind == "a number":
        values = [*"0123456789", "-1", "16", "17", "32", "64", "128", "65536", "4294967296"]
        return _one(rng, text, r"(?<=[ ,\[<+(])-?\d+(?=[,;\]>)\n ])", rng.choice(values))
    if kind == "an offset":
        return _one(rng, text, r"(?<=[\w\]])(?=\])", rng.choice(["+4", "+1", "-4", "+-8", "+%r1", "+0", "+4294967296"]))
    if kind == "a sign or a selector":
        return _one(
            rng,
            text,
            r"(?<=[ ,])(%\w+)(?=[,;])",
            lambda m: rng.choice(["-", "!", "~", ""]) + m[1] + rng.choice(["", ".x", ".b0", "+4"]),
        )
    if kind == "a guard":
        return _one(rng, text, r"(?<=\n\t)(?=[a-z]\w*[. ])", rng.choice(["@%p1 ", "@!%p1 ", "@%r1 ", "@!", "@ !%p2 "]))
    if kind == "a statement less" and statements:
        match = rng.choice(statements)
        return text[: match.start()] + text[match.end() :]
    if kind == "a statement twice" and statements:
        match = rng.choice(statements)
        return text[: match.end()] + match[0] + text[match.end() :]
    if kind == "a statement elsewhere" and len(statements) > 1:
        match, other = rng.choice(statements), rng.choice(statements)
        return text[: other.end()] + match[0] + text[other.end() :]
    if kind == "a declaration less":
        return _one(rng, text, _DECLARATION, "")
    if kind == "a declaration twice":
        return _one(rng, text, _DECLARATION, lambda m: m[0] * 2)
    if kind == "an alignment":
        return _one(
            rng, text, r"(?<=\.align )\d+", rng.choice(["0", "1", "2", "3", "4", "8", "16", "128", "256", "-1"])
        )
    if kind == "a linkage":
        words = [".visible ", ".extern ", ".weak ", ".common ", ""]
        return _one(
            rng,
            text,
            r"(?:\.visible |\.extern |\.weak )|(?<=\n)(?=\.(?:global|entry|func|shared|const))",
            rng.choice(words),
        )
    if kind == "a version":
        return _one(rng, text, r"(?<=\.version )[\d.]+", rng.choice(VERSIONS))
    if kind == "a target":
        return _one(rng, text, r"(?<=\.target )\w+", rng.choice(TARGETS))
    if kind == "a directive":
        words = [
            ".maxntid 32",
            ".reqntid 32, 2",
            ".minnctapersm 2",
            ".maxnreg 32",
            ".noreturn",
            '.pragma "nounroll";',
            ".maxclusterrank 2",
        ]
        return _one(rng, text, r"(?<=\))\n", lambda m: "\n" + rng.choice(words) + "\n")
    if kind in _REPLACED:
        pattern, words = _REPLACED[kind]
        word = rng.choice(words)
        return _one(rng, text, pattern, lambda m: word.replace("□", m[0]))
    if kind in _MORE:
        return _MORE[kind](text, rng)
    if kind.startswith("a token"):
        tokens: list[str] = _TOKEN.findall(text)
        places = [i for i, t in enumerate(tokens) if t.strip() and not t.startswith("//")]
        at = rng.choice(places)
        if kind == "a token less":
            tokens[at] = ""
        elif kind == "a token twice":
            tokens[at] += rng.choice(["", " "]) + tokens[at]
        else:
            tokens[at] = tokens[rng.choice(places)]
        return "".join(tokens)
    return None


#: what is done to modules of nvcc, and how often
KINDS = {
    "a type": 6, "a width": 4, "a sign": 6, "a space": 4, "a modifier": 6, "a modifier more": 4, "a modifier less": 4,
    "two modifiers": 3, "an operand": 8, "a register of its kind": 4, "an operand less": 2, "an operand more": 2,
    "a number": 5, "an offset": 3, "a sign or a selector": 3, "a guard": 3, "a statement less": 3, "a statement twice": 2,
    "a statement elsewhere": 4, "a declaration less": 2, "a declaration twice": 1, "an alignment": 3, "a linkage": 4,
    "a version": 3, "a target": 3, "a directive": 2, "a token less": 5, "a token twice": 4, "a token for another": 3,
}  # fmt: skip


#: versions and targets of today
LATER_VERSIONS = "9.5 9.4 9.3 9.2 9.1 9.0 8.8 8.7 8.6 8.4 8.0 7.8 7.0 6.4 9.6".split()
LATER_TARGETS = (
    "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_110 sm_110a sm_110f sm_120"
    " sm_120a sm_120f sm_121 sm_121a sm_121f sm_107"
).split()


# what modules of people need besides ------------------------------------------------------------------------------------

#: versions with the targets of their time
ERAS = (
    "1.0 sm_10", "1.1 sm_11", "1.2 sm_12", "1.3 sm_13", "1.4 sm_13", "1.5 sm_13", "2.0 sm_20", "2.1 sm_20", "2.2 sm_20", "2.3 sm_20",
    "3.0 sm_30", "3.1 sm_35", "3.2 sm_35", "4.0 sm_35", "4.1 sm_50", "4.3 sm_53", "5.0 sm_60", "5.1 sm_61", "6.0 sm_70", "6.1 sm_70",
    "6.2 sm_70", "6.3 sm_75", "6.4 sm_75", "7.0 sm_80", "7.1 sm_86", "7.2 sm_86", "7.4 sm_87", "7.5 sm_86", "7.6 sm_86", "7.7 sm_86",
    "8.0 sm_90", "8.3 sm_90", "8.6 sm_90", "8.8 sm_90", "9.0 sm_90", "9.0 sm_80", "9.0 sm_70", "9.0 sm_50", "9.0 sm_20",
)  # fmt: skip
LITERALS = tuple(
    "0x1F 0X1f 017 018 0b101 0B1 0b2 1U 0xffU -1 1. .5 1e5 1.5e-3 1.5f 0f3F800000 0F3f800000 0f3F80000 0d3FF0000000000000 0d3FF0"
    ' 18446744073709551615 18446744073709551616 4294967296 2147483648 -2147483649 65536 256 128 WARP_SZ _ "x" 1_000 0x 1.0e 0'.split()
)
NAMES = tuple("add WARP_SZ _ %tid.x $ % %1 _1 $x 1x a.b %a.b generic texref x__y _$ tid %laneid ret k p r mask".split())
OPERATORS = tuple("+ - * / % << >> < > <= >= == != & | ^ && || ? : ~ ! = , ;".split())
OTHER_TYPES = tuple(
    "f16 f16x2 bf16 b128 tf32 texref surfref samplerref u128 e4m3 v2 b4 f8 u1 bf16x2 pred b8 s8".split()
)
DIRECTIVES = (
    ".maxntid 32", ".maxntid 8, 4, 2", ".maxntid 1, 2, 3, 4", ".reqntid 16", ".minnctapersm 1", ".maxnctapersm 1", ".maxnreg 16",
    ".reqnctapercluster 2", ".explicitcluster", ".blocksareclusters", ".maxclusterrank 4", ".noreturn", ".abi_preserve 4",
    ".abi_preserve_control 4", '.pragma "nounroll";', ".pragma nounroll;", '.file 3 "more.cu"', '.file 3 "more.cu", 5, 6', ".loc 1 2 3",
    ".loc 1 2", ".loc 1 2 3;", ".section .debug_str { .b8 1 }", ".alias x, y;", ".visible", ".extern", ".weak", ".common", ".entry extra () {}",
    ".func more ();", ".func (.reg .u32 r) more (.reg .u32 a) { ret; }", ".func (.param .u32 r) more (.param .u32 a[2]);", ".version 8.0",
    ".address_size 64", ".reg .u32 extra;", ".reg .v4 .u32 extra;", ".reg .f32 extra<4>;", ".local .u32 extra[2];",
    ".shared .f64 extra;", ".const .u32 extra = 1;", ".global .u32 extra[] = { 1, 2 };", ".param .u32 extra;", ".param .b8 extra[3];",
    ".tex .u32 extra;", ".global .texref extra;", ".global .samplerref extra;", "extra: .branchtargets more;", "extra: .calltargets more;",
    "extra: .callprototype _ ();", "extra: .callprototype (.param .u32 _) _ (.reg .f32 _);", ".attribute(.managed)", ".sreg .u32 extra;",
    ".reg .pred extra, extra;", ".global .align 4 .v2 .u16 extra = { 1, 2 };", ";", "{ }", "{ .reg .u8 extra; }", "ret;", "extra:",
)  # fmt: skip
_BRACES = r"\{[^{};\n]*\}"


def _insert(rng: random.Random, text: str, what: str) -> str | None:
    """With something more between two lines, or behind a semicolon or a brace."""
    return _one(rng, text, r"(?<=[;{}])[ \t]*(?:\n|$)|(?<=\))\s*(?=[{\n])", lambda m: f"\n{what}\n" + m[0].lstrip("\n"))


def _list(text: str, rng: random.Random) -> str | None:
    def changed(match: re.Match[str]) -> str:
        items = match[0][1:-1].split(",")
        at = rng.randrange(len(items))
        way = rng.randrange(5)
        if way == 0:
            items.insert(at, items[at] if items[at].strip() else " 1")
        elif way == 1:
            del items[at]
        elif way == 2:
            items[at] = f" {{{items[at]} }}"
        elif way == 3:
            items[at] = " " + rng.choice(LITERALS)
        else:
            items[at] += rng.choice([",", " 1", ", {}", "+1", ", _"])
        return "{" + ",".join(items) + "}"

    return _one(rng, text, _BRACES, changed)


def _again(text: str, rng: random.Random) -> str | None:
    """A name of the module declared in another place."""
    names = re.findall(r"(?<![.\w])(?:[A-Za-z]\w*|[%$_]\w+)", text) or ["x"]
    name = rng.choice(names)
    ways = (".reg .u32 {};", ".reg .pred {};", ".reg .b64 {}<2>;", ".local .u32 {};", ".shared .b8 {}[4];", ".global .u32 {};", ".const .f32 {} = 1.0;",
            "{}:", ".param .u32 {};", ".entry {} () {{}}", ".func {} ();", "{{ .reg .u32 {}; }}", "{}: .branchtargets L;", ".global .texref {};")  # fmt: skip
    return _insert(rng, text, rng.choice(ways).format(name))


def _moved(pattern: str) -> Callable[[str, random.Random], str | None]:
    """What a pattern finds, in another place."""

    def move(text: str, rng: random.Random) -> str | None:
        found = list(re.finditer(pattern, text))
        if not found:
            return None
        match = rng.choice(found)
        return _insert(rng, text[: match.start()] + text[match.end() :], match[0].strip())

    return move


def _era(text: str, rng: random.Random) -> str:
    version, target = rng.choice(ERAS).split()
    text = re.sub(r"(?<=\.version )[\d.]+", version, text, count=1)
    text = re.sub(r"(?<=\.target )\w+", target, text, count=1)
    if tuple(map(int, version.split("."))) < (2, 3) and rng.random() < 0.8:
        text = re.sub(r"\.address_size\s+64", "", text, count=1)
    return text


_NAME = r"(?<![.\w%$])[%$]?[A-Za-z_]\w*"
_WORD = r"\.[a-z]\w*(?:::\w+)?"
_DIRECTIVE = r"\.(?:maxntid|reqntid|maxnreg|minnctapersm|file|loc|pragma|address_size|version|target|alias|noreturn|explicitcluster)"
#: what is replaced, and by one of what; □ is what was there
_REPLACED: dict[str, tuple[str, tuple[str, ...]]] = {
    "a dimension": (
        r"\[[\w ]*\](?=[^;]*[;,=])",
        ("", "[]", "[0]", "[2]", "[-1]", "[1+1]", "[2.0]", "[3U]", "□□", "[WARP_SZ]", "[1][]"),
    ),
    "an address": (
        r"(?<=[ ,]\[)([%$\w]+)(?=[\]+])",
        ("□+4", "□+1", "□+-4", "□-4", "□+4*2", "□+4294967296", "□[1]", "□+x", "□.x", "4", "x"),
    ),
    "an array": (
        r"(?<=\w)(?=\s*(?:;|,|=|\)))",
        ("[2]", "[]", "<3>", "[2][2]", "<0>", "[0]", "[4", "<2>[2]", "<-1>"),
    ),
    "a value": (
        r"(?<=[\w\]>])(?=\s*;)",
        (" = 1", " = 1.0", " = { 1, 2 }", " = { { 1 } }", " = generic(x)", " = x", " = {}", " = 0xff(3)", " = { filter_mode = linear }", ' = "a"'),
    ),
    "a nesting": (_BRACES, ("{ □ }", "□, □", "{}", "{ { □ } }", "□ □")),
    "an operator": (r"(?<=[\w)]) *[-+*/%<>&|^]{1,2} *(?=[\w(])", OPERATORS),
    "an operation": (
        r"(?<=[ ,({])\d[\w.]*(?=[ ,;)}])",
        ("(□)", "-□", "□+1", "□*2", "~□", "!□", "□<<2", "□?1:2", "(.s64)□", "+□", "(□", "□)", "- -□", "□%0", "□>1", "□-1"),
    ),
    "a literal": (r"(?<=[ ,\[({+])-?\d[\w.]*(?=[ ,;\])}\n])", LITERALS),
    "a suffix": (r"(?<=\w)(?=[ ,;\])}])", ("U", "u", "L", "f", ".x", ".b0", ".h1", ".y.x", "1", "0", "a", "+1", "[0]", "[1]", "$")),
    "a dot": (r"\.(?=[a-z])|(?<=[ \t])(?=[a-z])", ("", ".")),
    "a mark": (r"[;{}()\[\],:<>]", ("", "", "□□", *";{}()[],:<>|")),
    "a blank": (r"\s+|(?<=\w)(?=\W)|(?<=\W)(?=\w)", ("", " ")),
    "a name": (_NAME, NAMES),
    "a label": (
        r"(?<=[;{}\n])[ \t]*(?=[a-z@.])",
        ("L: ", "L: L: ", "%L: ", "k: ", "1: ", "add: ", "L : ", "x: { ", "_: "),
    ),
    "a component": (
        r"(?<=\.)[xyzwrgba](?=\W)|(?<=[%\w]\w)(?=[,;])",
        ("x", "y", "w", "r", "a", ".x", ".z", ".q", ".b1", ".xy"),
    ),
    "an argument of a directive": (
        r"(?:(?<=\.maxntid )|(?<=\.maxnreg )|(?<=\.align )|(?<=\.loc )|(?<=\.file ))[^\n;{}.]+",
        ("0", "1", "-1", "x", "", "1.5", "1, 2", "□, 1", "□ 1", "2*2", "WARP_SZ", "4294967296", '"x"'),
    ),
    "another type": (r"(?<=\.)(?:[bsu](?:8|16|32|64)|f(?:16|32|64)|pred|texref|samplerref|surfref)\b", OTHER_TYPES),
    "a later version": (r"(?<=\.version )[\d.]+", tuple(LATER_VERSIONS)),
    "a later target": (r"(?<=\.target )\w+", tuple(LATER_TARGETS)),
    "a vector": (
        r"\.v[248] |(?=\.[busf]\d)",
        ("", ".v2 ", ".v4 ", ".v3 ", ".v8 ", ".align 8 ", ".align 2 ", ".ptr ", ".v2.v2 "),
    ),
    "a parameter": (
        r"(?<=\()(?=\))|(?<=[\w\]])(?=\s*\)\s*[;{\n])",
        (", .param .u32 extra", ", .reg .u32 extra", ", .param .b8 extra[3]", ", .param .u64 .ptr .global extra", ".param .b32 extra",
         ".reg .f64 extra", ", .param .align 8 .b64 extra", ", _", ", 1", ","),
    ),
    "a parameter less": (r"(?:,\s*)?\.(?:param|reg)[^,;()]*(?=[,)])", ("",)),
    "an attribute": (
        r"\.(?:global|shared|const|param|local|reg) ",
        ("□.attribute(.managed) ", "□.align 16 ", "□.align 3 ", "□.attribute(.unified(1, 2)) ", "□.attribute() ", "□.ptr ", "□.volatile "),
    ),
    "another space": (
        r"\.(?:reg|param|shared|local|global|const)\b",
        (".reg", ".param", ".shared", ".local", ".global", ".const", ".tex", ".sreg", ".const[2]", ".shared::cta", ".shared::cluster", ".generic", ""),
    ),
}  # fmt: skip

_MORE: dict[str, Callable[[str, random.Random], str | None]] = {
    "a list": _list,
    "a letter": lambda text, rng: _one(rng, text, r"[A-Za-z]", lambda m: m[0].swapcase()),
    "a name for another": lambda text, rng: _one(rng, text, _NAME, rng.choice(re.findall(_NAME, text))),
    "a word for another": lambda text, rng: _one(rng, text, _WORD, rng.choice(re.findall(_WORD, text))),
    "a name again": _again,
    "a declaration elsewhere": _moved(r"[ \t]*\.(?:reg|param|shared|local|global|const|tex)\b[^;(){}]*;"),
    "a label elsewhere": _moved(r"(?m)^\s*[\w$%]+:"),
    "a directive more": lambda text, rng: _insert(rng, text, rng.choice(DIRECTIVES)),
    "a directive elsewhere": _moved(rf"[ \t]*{_DIRECTIVE}\b[^\n;{{}}]*;?"),
    "an era": _era,
}


#: what is done to modules of today's tools: what is done to nvcc's of 13.0, and more where words came since
TODAY = {
    **{kind: often for kind, often in KINDS.items() if kind not in ("a version", "a target")},
    "a later version": 3, "a later target": 3, "a word for another": 5, "another type": 4, "a vector": 3,
}  # fmt: skip
#: what is done to modules of people, and how often: all that is done to nvcc's, and more
HAND = {**{kind: max(1, often // 2) for kind, often in KINDS.items()}, **dict.fromkeys((*_REPLACED, *_MORE), 3)}
del HAND["a later version"], HAND["a later target"]
del HAND["an offset"]  # which would go into the dimensions of arrays
