"""Modules as people write them: the second family beside what nvcc prints.

`written` holds modules of all versions of PTX; the pages' examples and the declarations that other tests ask ptxas about are wrapped
into modules; and of every definition some forms are put into entries, a few in each.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import ptxspec
from ptxspec.evidence.kernels.instruction_kernels import (
    TODAY,
    FormKernel,
    kernel,
    module_for,
    names_sampler,
)
from ptxspec.language.forms import Form, page_name, registry
from ptxspec.literate.finder import document_of
from ptxspec.query.fragments import read_fragment
from ptxspec_workshop.programs.examples import is_program

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "language"))  # of these tests, some have texts that are modules

#: versions, each with a target
ERAS = (
    "1.4 sm_13", "1.5 sm_12", "2.0 sm_20", "2.3 sm_20", "3.0 sm_30", "3.1 sm_35", "4.0 sm_35", "4.3 sm_53", "5.1 sm_60", "6.0 sm_60",
    "6.4 sm_70", "6.5 sm_75", "7.2 sm_80", "7.8 sm_86", "8.1 sm_89", "8.5 sm_90", "9.0 sm_90",
)  # fmt: skip
#: forms of each definition
FORMS = 6
#: what an operand or a hint needs
LATE = {".b128": "8.3", "L1::": "7.8", "L2::": "7.8", "%x0, nothing": "2.3"}


def nvcc() -> dict[str, str]:
    """What nvcc printed, by the source's name and nvcc's flags."""
    return json.loads(lzma.decompress((HERE / "compiled.json.xz").read_bytes()))


def written() -> dict[str, str]:
    """Modules of all versions, by the names of their files."""
    return {path.stem: path.read_text() for path in sorted((HERE / "written").glob("*.ptx"))}


def _is_later(line: str) -> bool:
    """Whether an instruction of an example is one that no module for sm_90 has yet, and ptxas 13.0 does not know."""
    mnemonic, _, operands = line.split("//")[0].strip().partition(" ")
    opcode = registry().opcodes.get(mnemonic.split(".")[0])
    found = opcode.find(mnemonic) if opcode is not None else []
    found = [f for f in found if len(f.places) == operands.count(",") + 1] or found
    return bool(found) and all(f.removal is None and module_for(f) != TODAY for f in found)


def examples() -> dict[str, str]:
    """The pages' examples, whose registers are declared here, without what came later or is for one architecture alone."""
    found = {}
    for page in registry().pages.values():
        for fence in document_of(page).of("ptx"):
            if re.search(r"[.]target sm_\d+[af]\b", fence.text):
                continue
            if is_program(fence.text):
                found[f"{page_name(page.__file__)}:{fence.line}"] = fence.text
                continue
            registers = {n: t for n, t in read_fragment(fence.text).registers.items() if re.fullmatch(r"%?[\w$]+", n)}
            declared = "".join(f"\t.reg {type} {name};\n" for name, type in registers.items())
            lines = "".join(f"\t{line}\n" for line in fence.text.strip().splitlines() if not _is_later(line))
            head = ".version 9.0\n.target sm_90\n.address_size 64\n\n"
            found[f"{page_name(page.__file__)}:{fence.line}"] = (
                f"{head}.entry example ()\n{{\n{declared}{lines}\tret;\n}}\n"
            )
    return found


def declarations() -> dict[str, str]:
    """Declarations that other tests ask ptxas about, a line of theirs in each module, most of them well-formed."""
    import test_declarations_of_ptxas as declared
    import test_ptxas as small
    import test_ptxas_syntax as syntax
    import verdicts

    found = {}
    for i, line in enumerate(declared.lines(declared.CASES)):
        found[f"declaration {i}"] = verdicts.HEADER + re.sub(r"([;{]) (?=[.\w])", r"\1\n\t", line) + "\n"
    for i, line in enumerate(syntax.cases(syntax.MODULES)):
        found[f"syntax {i}"] = verdicts.HEADER + line.replace("\\n", "\n") + "\n"
    for i, line in enumerate(syntax.cases(syntax.INSTRUCTIONS)):
        text = verdicts.body("\t" + line.replace("\\n", "\n"), syntax.PARAMETERS, syntax.VARIABLES, syntax.REGISTERS)
        found[f"instruction {i}"] = text.replace("; .", ";\n.")
    for name, text in small.GOOD.items():
        found[f"small: {name}"] = text.replace("; ", ";\n\t")
    return found


def _exists(form: Form, absent: tuple[str, ...], era: str) -> bool:
    version, target = era.split()
    now = (tuple(map(int, version.split("."))), int(target.removeprefix("sm_").rstrip("a")))
    operands = [o for o in form.syntax.operands if o.name not in absent]
    names = [name for o in operands for name in (o.name, o.second) if name]
    since, gone = form.definition.availability(form.modifiers, now[1], names), form.removal
    return (
        now[0] >= since[0]
        and now[1] >= since[1]
        and (not form.only or era.split()[1] in form.only)
        and (gone is None or now[0] < gone[0] or now[1] < gone[1])
    )


#: names that a kernel declares for its one instruction
_ALONE = re.compile(r"\b(?:target|list|given|taken|kept)\b")


def _module(kernels: list[FormKernel], era: str) -> str:
    """The instructions of some kernels in one entry, with the declarations that they need and nothing else."""
    declared: dict[str, list[str]] = {}
    body: list[str] = []
    for letter, one in zip("abcdefgh", kernels, strict=False):
        lines = [line.strip().replace("%x", f"%{letter}") for line in one.text.split("\n")]
        end = lines.index("target:")
        for line in lines:
            if register := re.fullmatch(rf"\.reg (\.\w+) (%{letter}\d+);", line):
                declared.setdefault(register[1], []).append(register[2])
        body += [line for line in lines[:end] if line.startswith((".param", "st.param", "list:"))] + [lines[end - 1]]
        if _ALONE.search("\n".join(lines[:end])):
            body.append("target:")
    used = "\n".join(body)
    for register, type in (("%in", ".u64"), ("%at", ".u64"), ("%at32", ".u32"), ("%t", ".u32"), ("%policy", ".b64")):
        if re.search(rf"{register}\b", used):
            declared.setdefault(type, []).append(register)
    number = tuple(map(int, era.split()[0].split(".")))
    target = era.split()[1] + (", texmode_independent" if any(map(names_sampler, kernels)) else "")
    opaque = ".global .{} {};" if number >= (1, 5) else ".tex .u32 {1};"
    module = [
        f".version {era.split()[0]}", f".target {target}", *([".address_size 64"] if number >= (2, 3) else []), "",
        *([".const .align 16 .b8 constant[64];"] if "constant" in used else []),
        *([".global .align 16 .b8 shared_by_all[64];"] if "shared_by_all" in used else []),
        *(opaque.format(t, n) for t, n in (("texref", "some_texture"), ("surfref", "some_surface"), ("samplerref", "some_sampler")) if n in used),
        *([".func nothing () { ret; }"] if "nothing" in used else []),
        *([".func takes (.param .b32 x) { ret; }"] if "takes" in used else []),
        *([".func (.param .b32 y) gives () { ret; }"] if "gives" in used else []),
        *([".func (.param .b32 y) both (.param .b32 x) { ret; }"] if "both" in used else []),
        f".visible .entry k ({'.param .align 16 .b8 argument[64]' if 'argument' in used else ''})", "{",
        *(f"\t.reg {type} {', '.join(names)};" for type, names in declared.items()),
        *(["\t.shared .align 16 .b8 cell[64];"] if "cell" in used else []),
        *(["\t.local .align 16 .b8 own[64];"] if re.search(r"\bown\b", used) else []),
        *(line if line == "target:" else f"\t{line}" for line in body), "\tret;", "}", "",
    ]  # fmt: skip
    return "\n".join(module)


def forms(seed: int = 1) -> dict[str, str]:
    """Some forms of every definition, in versions that have them. The same ones for a seed every time."""
    return _of_forms((form for form in ptxspec.forms() if not form.is_dropped), ERAS, seed)


def hopper(seed: int = 1) -> dict[str, str]:
    """Some forms of every definition of Hopper's asynchronous instructions: objects, copies, and products of warpgroups. The same
    ones for a seed every time."""
    words = ("wgmma", "mbarrier", "tensormap", "async", "setmaxnreg", "elect", "griddepcontrol", "cluster", "mapa")
    some = (form for form in ptxspec.forms() if any(word in form.mnemonic for word in words))
    return _of_forms((form for form in some if not form.only or "sm_90a" in form.only), ("9.0 sm_90a",), seed)


def _of_forms(wanted: Iterable[Form], versions: Sequence[str], seed: int) -> dict[str, str]:
    """Some of these forms of every definition, in such of the versions as have them."""
    rng = random.Random(seed)
    by_definition: dict[int, list[Form]] = {}
    for form in wanted:
        by_definition.setdefault(id(form.definition), []).append(form)
    chosen: dict[tuple[str, bool], list[FormKernel]] = {}
    found = {}
    for own in by_definition.values():
        for form in rng.sample(own, min(FORMS, len(own))):
            one = kernel(rng.choice(form.variants), "k", absent := rng.choice(form.absences))
            first = max((since for what, since in LATE.items() if what in one.text), default="")
            eras = [era for era in versions if era >= first and _exists(form, absent, era)]
            if not eras:
                continue
            if _ALONE.search(one.text.split("target:")[0]):
                era = rng.choice(eras)
                found[f"{form.mnemonic} in {era}"] = _module([one], era)
            else:
                chosen.setdefault((rng.choice(eras), names_sampler(one)), []).append(one)
    for (era, _), kernels in chosen.items():
        for i in range(0, len(kernels), 3):
            few = kernels[i : i + 3]
            found[f"{', '.join(k.form.mnemonic for k in few)} in {era}"] = _module(few, era)
    return found


#: where each family's modules come from
FAMILIES: dict[str, tuple[Callable[[], dict[str, str]], ...]] = {
    "nvcc": (nvcc,),
    "hand": (written, examples, declarations, forms),
    "hopper": (hopper,),
}


#: of which family new modules can be made, from seeds
DRAWN: dict[str, Callable[[int], dict[str, str]]] = {"hand": forms, "hopper": hopper}


def drawn(family: str, count: int, seed: int) -> dict[str, str]:
    """So many new modules of a family by name, from as many seeds as that takes, this one first. Those that are drawn for the family
    itself are not among them."""
    before = set(modules(family).values())
    found: dict[str, str] = {}
    while len(found) < count:
        for name, text in DRAWN[family](seed).items():
            if text not in before:
                found[f"{name}, seed {seed}"] = text
                before.add(text)
        seed += 1
    return dict([*found.items()][:count])


@cache
def seeds(family: str) -> dict[str, dict[str, str]]:
    """A family's modules by source and name."""
    return {source.__name__: source() for source in FAMILIES[family]}


def modules(family: str = "nvcc") -> dict[str, str]:
    """A family's modules by name; that of nvcc has one source, which is not said."""
    found = seeds(family)
    if len(found) == 1:
        return next(iter(found.values()))
    return {f"{source}: {name}": text for source, own in found.items() for name, text in own.items()}
