"""How long PTX text takes to load, by size and by kind: to find its statements (scan), to make its tree, and to check that, which
is to resolve its names and find the form of each instruction. Seconds are the processor's, of this process alone.

The goal is 120,000 lines a second, however long the module is.
"""

from __future__ import annotations

import json
import lzma
import re
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import ptxspec
from ptxspec.base import collection
from ptxspec.language.check import check
from ptxspec.language.parser import parse
from ptxspec.language.syntax import syntax
from ptxspec.language.words import Split

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT.parent / "docs" / "examples" / "matmul" / "matmul.ptx"
CORPUS = ROOT / "corpus" / "compiled.json.xz"
SIZES, GOAL = (10_000, 100_000, 300_000), 120_000


def kernels(lines: int) -> str:
    """A module of about so many lines: one kernel, repeated under other names."""
    text = EXAMPLE.read_text()
    head, _, kernel = text.partition(".visible .entry")
    one = ".visible .entry" + kernel
    return head + "".join(one.replace("matmul", f"matmul{i}") for i in range(max(1, lines // one.count("\n"))))


def compiled(lines: int) -> str:
    """What nvcc made of many sources, in one module: what is defined outside functions gets another name in each copy."""
    modules = json.loads(lzma.decompress(CORPUS.read_bytes()))
    usable: list[tuple[str, re.Pattern[str]]] = []
    for name, text in sorted(modules.items()):
        if name.split()[1:] != ["sm_90"]:
            continue
        try:
            check(text)
        except ptxspec.PtxError:
            continue
        tree = parse(text)
        names = {f.name for f in tree.functions if f.linkage != "extern"} | {v.name for v in tree.variables}
        body = text[text.index(".address_size") :].partition("\n")[2]
        usable.append((body, re.compile(rf"(?<![\w$%])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w$])")))
    return _copies(".version 9.0\n.target sm_90\n.address_size 64\n", usable, lines)


def workloads(lines: int) -> str:
    """The kernels of the workloads beside this file, in one module, under other names in each copy."""
    usable = []
    for path in sorted((ROOT / "benchmarks" / "workloads").glob("*.ptx")):
        text = path.read_text()
        tree = parse(text)
        names = {f.name for f in tree.functions if f.linkage != "extern"} | {v.name for v in tree.variables}
        body = text[text.index(".address_size") :].partition("\n")[2]
        usable.append((body, re.compile(rf"(?<![\w$%])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w$.])")))
    return _copies(".version 9.0\n.target sm_90a\n.address_size 64\n", usable, lines)


def _copies(head: str, bodies: list[tuple[str, re.Pattern[str]]], lines: int) -> str:
    """Bodies of modules one after the other until there are so many lines, with what is named in them under other names."""
    parts = [head]
    count = copy = 0
    while count < lines:
        body, named = bodies[copy % len(bodies)]
        parts.append(named.sub(lambda match, copy=copy: f"{match[0]}_{copy}", body))  # type: ignore[misc]
        count += parts[-1].count("\n")
        copy += 1
    return "".join(parts)


def straight(lines: int) -> str:
    """One kernel without a branch, in which every line has other registers and numbers."""
    kinds = [
        "add.s32 %r{a}, %r{b}, {n};",
        "mad.lo.s32 %r{a}, %r{b}, %r{c}, %r{a};",
        "ld.global.f32 %f{a}, [%rd{b}+{m}];",
        "fma.rn.f32 %f{a}, %f{b}, %f{c}, 0f3F{k:06X};",
        "setp.lt.u32 %p{p}, %r{a}, {n};",
        "@%p{p} st.global.v2.u32 [%rd{b}+{m}], {{%r{a}, %r{c}}};",
        "cvt.rn.f32.s32 %f{a}, %r{b};",
        "selp.b32 %r{a}, %r{b}, %r{c}, %p{p};",
    ]
    text = [
        kinds[i % len(kinds)].format(
            a=i % 4000, b=i * 7 % 4000, c=i * 31 % 4000, p=i % 60, n=i, m=i % 512 * 4, k=i * 977 % (1 << 24)
        )
        for i in range(lines)
    ]
    registers = "\n".join(
        f".reg .{kind} %{name}<{n}>;" for kind, name, n in
        (("pred", "p", 60), ("b32", "r", 4000), ("f32", "f", 4000), ("b64", "rd", 4000))
    )  # fmt: skip
    head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry straight()\n{\n"
    return f"{head}{registers}\n" + "\n".join(text) + "\nret;\n}\n"


KINDS: dict[str, Callable[[int], str]] = {
    "one kernel, repeated": kernels,
    "what nvcc printed": compiled,
    "kernels of the workloads": workloads,
    "straight lines": straight,
}


@collection.paused()
def scanned(text: str) -> Split:
    """The statements of a text."""
    return syntax().runs.split(text)


def seconds(function: Callable[[str], object], text: str) -> float:
    """The least of three. What is made is let go after the time is taken."""
    found = []
    for _ in range(3):
        began = time.process_time()
        made = function(text)
        found.append(time.process_time() - began)
        del made
    return min(found)


def main() -> None:
    check(EXAMPLE.read_text())  # the pages are loaded once
    table = Table(title="loading PTX: seconds of the processor")
    for column in ("module", "lines", "scan", "tree", "check", "all", "lines a second", "goal"):
        table.add_column(column, justify="left" if column == "module" else "right")
    for name, make in KINDS.items():
        for lines in SIZES:
            text = make(lines)
            count, scan, tree, both = (
                text.count("\n"),
                seconds(scanned, text),
                seconds(parse, text),
                seconds(check, text),
            )
            verdict = "kept" if count / both >= GOAL else "MISSED"
            parts = (f"{part:.3f}" for part in (scan, tree - scan, both - tree, both))
            table.add_row(name, f"{count:,}", *parts, f"{count / both:,.0f}", verdict)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
