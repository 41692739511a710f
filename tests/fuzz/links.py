"""Modules that went wrong into link: it succeeds or raises PtxError, soon, and says where; and what it makes can be launched."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

import accidents
import texts as fuzzed_texts
from fuzzing import Finding

import ptxspec
from ptxspec.language.check import check

SECONDS, GIBIBYTES = 60, 3
HEADS = [".version 9.0\n.target sm_90\n.address_size 64\n"] * 6 + [
    ".version 7.0\n.target sm_70\n.address_size 64\n",
    ".version 2.0\n.target sm_20\n",
    ".version 1.5\n.target sm_13\n",
]
NAMES = ["x", "y", "f", "g", "k", "t"]
LINKAGE = ["", "", ".visible ", ".visible ", ".extern ", ".extern ", ".weak ", ".common "]


def _declaration(source: random.Random) -> str:
    """A declaration of one of a few names."""
    name, linkage = source.choice(NAMES), source.choice(LINKAGE)
    kind = source.randrange(8)
    size = source.choice(["", "[]", "[4]", "[2][3]", "[1000]"])
    type = source.choice([".u32", ".b8", ".f64", ".u64", ".align 16 .b8", ".v4 .b32"])
    if kind < 4:
        space = source.choice([".global", ".global", ".const", ".shared", ".local", ".tex", ".const[3]"])
        value = source.choice(
            ["", "", " = 5", " = {1, 2}", f" = {source.choice(NAMES)}", f" = generic({source.choice(NAMES)})+4"]
        )
        return f"{linkage}{space} {type} {name}{size}{value if '.extern' not in linkage else ''};"
    if kind == 4:
        return (
            f".global .{source.choice(['texref', 'surfref', 'samplerref'])} {name};"
            if source.random() < 0.5
            else f".alias {name}, {source.choice(NAMES)};"
        )
    takes = ", ".join(
        f".param {source.choice(['.b32', '.b64', '.f32', '.align 4 .b8'])} p{i}{source.choice(['', '', '[8]'])}"
        for i in range(source.randint(0, 2))
    )
    gives = source.choice(["", "", "(.reg .b32 r) ", "(.param .b64 r) "])
    head = f"{linkage}.func {gives}{name}({takes})" if kind < 7 else f"{linkage}.entry {name}({takes})"
    if source.random() < 0.4 or ".extern" in linkage:
        return f"{head};"
    called = source.choice(NAMES)
    body = source.choice(
        [
            "ret;",
            f"call {called}; ret;",
            f".reg .b64 a; mov.u64 a, {called}; ret;",
            f".reg .b32 a; ld.global.u32 a, [{called}+4]; ret;",
            "exit;",
            "",
        ]
    )
    return f"{head} {{ {body} }}"


def _module(source: random.Random) -> str:
    """A few declarations, most of them such as may stand in a module that others are linked to."""
    text = source.choice(HEADS)
    for _ in range(source.randint(1, 6)):
        longer = f"{text}{_declaration(source)}\n"
        if source.random() < 0.03 or _is_fine(longer):
            text = longer
    return text


def _is_fine(text: str) -> bool:
    try:
        check(text, "", 1)
    except ptxspec.PtxError:
        return False
    return True


def _apart(text: str, source: random.Random) -> list[str]:
    """A module of the corpus in two: what each has of the other's is declared there."""
    other = re.sub(r"\.visible", source.choice([".visible", ".weak", ".extern", ""]), text)
    return [text, other]


def make(seed: int) -> list[str]:
    source = random.Random(f"linking {seed}")
    if source.random() < 0.7:
        found = [_module(source) for _ in range(source.choice([1, 2, 2, 2, 3, 5]))]
        return [accidents.mutant(t, source) if source.random() < 0.1 else t for t in found]
    if source.random() < 0.5:
        found = _apart(accidents.module(source), source)
    else:
        found = [accidents.module(source) for _ in range(source.choice([2, 2, 3]))]
    return [accidents.mutant(t, source) if source.random() < 0.25 else t for t in found]


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    linked = fuzzed_texts.timed("link", lambda: ptxspec.link(texts))
    alone = [fuzzed_texts.timed("load", lambda t=t: ptxspec.load(t)) for t in texts]
    if isinstance(linked, ptxspec.PtxError):
        fuzzed_texts.complaints(linked, texts)
        return Counter(
            {
                "refused": 1,
                **({"refused together": 1} if not any(isinstance(m, ptxspec.PtxError) for m in alone) else {}),
            }
        )
    for name in linked.kernels:
        if linked.checked.kernels[name].parameters:
            continue
        found = []
        for engine in ("exact", "native"):
            try:
                found.append(linked.launch(name, engine=engine, step_limit=1000).steps)
            except (ptxspec.LaunchError, ValueError) as error:
                found.append(str(error))
        if found[0] != found[1]:
            raise Finding("engines differ", f"{name}: {found}")
    return Counter({"linked": 1})
