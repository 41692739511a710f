"""The forms of a warpgroup's products, and the table of their shapes and types, against what ptxas takes: all forms, and texts that
are nearly right."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ptxspec.spec.matrices import warpgroups

import ptxspec
from ptxspec.evidence.assembler import ptxas
from ptxspec.language.forms import forms
from ptxspec.terms import TYPES

#: an instruction that no module has: its error keeps ptxas from making machine code of the others
WRONG = "no.such.instruction;"
REGISTERS = """.reg .f32 f<140>; .reg .s32 s<140>; .reg .b32 h<140>; .reg .b32 a<8>; .reg .b64 da, db; .reg .pred p; .reg .b32 m;"""


#: the operands that may be registers
VARIABLES = {"metadata": "m", "scale_d": "p"}


class Spelling(NamedTuple):
    """An instruction: what is in its modifiers and operands, right or wrong."""

    sparse: bool
    columns: int
    depth: int
    dtype: str
    atype: str
    btype: str
    operation: str
    satfinite: bool
    d_registers: int
    a_registers: int
    """0 for a descriptor"""
    operands: tuple[str, ...]
    """those behind the descriptor of B"""
    version: str = "9.0"

    def __str__(self) -> str:
        sparse, limited = ".sp" * self.sparse, ".satfinite" * self.satfinite
        types = f"{limited}.{self.dtype}.{self.atype}.{self.btype}{self.operation}"
        name = f"wgmma.mma_async{sparse}.sync.aligned.m64n{self.columns}k{self.depth}{types}"
        d = ", ".join(f"{ {'f16': 'h', 'f32': 'f'}.get(self.dtype, 's') }{i}" for i in range(self.d_registers))
        a = "{" + ", ".join(f"a{i}" for i in range(self.a_registers)) + "}" if self.a_registers else "da"
        return f"{name} {{{d}}}, {a}, db, {', '.join(self.operands)};"


def spelled(sparse: bool, columns: int, dtype: str, factors: tuple[str, str], in_registers: bool) -> Spelling:
    """A form as the page says it, if it says so."""
    atype, btype = factors
    family = warpgroups.family_of(dtype, atype, btype)
    assert family is not None
    names = warpgroups.operand_names(family, sparse, in_registers)[3:]
    operands = tuple(VARIABLES.get(name) or str(warpgroups.constants(name, TYPES[atype])[0]) for name in names)
    d_registers = warpgroups.accumulator_registers(TYPES[dtype], columns)
    return Spelling(
        sparse,
        columns,
        warpgroups.depth(TYPES[atype], sparse),
        dtype,
        atype,
        btype,
        ".and.popc" if atype == "b1" else "",
        False,
        d_registers,
        warpgroups.A_REGISTERS if in_registers else 0,
        operands,
    )


def every_form() -> Iterator[Spelling]:
    for family in warpgroups.FAMILIES:
        choices = product((False, True)[: 1 + family.sparse], family.columns, family.sums, (False, True))
        for (sparse, columns, dtype, in_registers), factors in product(choices, product(family.factors, repeat=2)):
            form = spelled(sparse, columns, dtype, factors, in_registers)
            yield form
            if family.saturates:
                yield form._replace(satfinite=True)


def is_form(text: Spelling) -> bool:
    """What the page says of a spelling."""
    family = warpgroups.family_of(text.dtype, text.atype, text.btype)
    if family is None or (text.sparse and not family.sparse) or (text.satfinite and not family.saturates):
        return False
    if f"m64n{text.columns}k{text.depth}" not in warpgroups.shape_words(family, text.sparse):
        return False
    right = spelled(text.sparse, text.columns, text.dtype, (text.atype, text.btype), text.a_registers > 0)
    same = ("d_registers", "a_registers", "operation")
    if any(getattr(text, field) != getattr(right, field) for field in same):
        return False
    names = warpgroups.operand_names(family, text.sparse, text.a_registers > 0)[3:]
    if len(text.operands) != len(names):
        return False
    least = warpgroups.since(text.atype, text.btype, text.sparse)
    if [int(n) for n in text.version.split(".")] < [int(n) for n in least.split(".")]:
        return False
    return all(
        VARIABLES.get(name) == value or value in map(str, warpgroups.constants(name, TYPES[text.atype]))
        for name, value in zip(names, text.operands, strict=True)
    )


FACTORS = [name for family in warpgroups.FAMILIES for name in family.factors]


def changed(form: Spelling, source: random.Random) -> Spelling:
    """A form with one or two things changed."""
    for _ in range(source.choice((1, 1, 1, 2))):
        form = form._replace(**one_change(form, source))
    return form


def registers(dtype: str, columns: int) -> int:
    """How many registers D has with so many columns, if one at least is needed and no more are declared."""
    return max(1, min(columns // (4 if dtype == "f16" else 2), 130))


CHANGES = (
    "columns depth types mixed sums d a operands operands constant constant sparse satfinite operation version".split()
)


def one_change(form: Spelling, source: random.Random) -> dict[str, Any]:
    which = source.choice(CHANGES)
    operands = list(form.operands)
    place = source.randrange(len(operands))
    match which:
        case "columns":
            columns = 8 * source.randint(0, 33) + source.choice((0, 0, 0, 4))
            return {"columns": columns, "d_registers": registers(form.dtype, columns)}
        case "depth":
            return {"depth": source.choice((4, 8, 16, 32, 64, 128, 256, 512))}
        case "types":
            return {"atype": (other := source.choice(FACTORS)), "btype": other}
        case "mixed":
            return {"btype": source.choice(FACTORS)}
        case "sums":
            dtype = source.choice(("f16", "f32", "s32"))
            return {"dtype": dtype, "d_registers": registers(dtype, form.columns)}
        case "d":
            return {"d_registers": max(1, form.d_registers + source.choice((-2, -1, 1, 2)))}
        case "a":
            return {"a_registers": source.choice([n for n in (0, 1, 2, 3, 4, 5, 8) if n != form.a_registers])}
        case "operands":
            if source.random() < 0.5 and len(operands) > 1:
                del operands[place]
            else:
                operands.insert(place, source.choice(("1", "0", "m")))  # ptxas takes a predicate as metadata
            return {"operands": tuple(operands)}
        case "constant":
            operands[place] = source.choice(("-2", "-1", "0", "1", "2", "3", "4"))
            return {"operands": tuple(operands)}
        case "sparse":
            return {"sparse": not form.sparse}
        case "satfinite":
            return {"satfinite": not form.satfinite}
        case "operation":
            return {"operation": source.choice(("", ".and.popc", ".xor.popc", ".and", ".popc"))}
    return {"version": source.choice(("8.0", "8.1", "8.2", "8.3", "8.4"))}


def refused(texts: list[str], version: str, folder: Path, target: str = warpgroups.TARGET) -> set[int]:
    """Those that ptxas refuses, by their numbers."""
    head = f".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ {REGISTERS} {WRONG}\n"
    path = folder / "forms.ptx"
    path.write_text(head + "\n".join(texts) + "\nret; }\n")
    run = subprocess.run(
        [ptxas(), f"-arch={target}", str(path), "-o", str(folder / "forms.cubin")], capture_output=True, text=True
    )
    errors = re.findall(r"line (\d+); error", run.stdout + run.stderr)
    assert "4" in errors, "ptxas did not come to its end"
    return {int(line) - 5 for line in errors if int(line) > 4}


def complained(texts: list[str], version: str, target: str = warpgroups.TARGET) -> set[int]:
    """Those that the checker refuses, by their numbers: each in a module, since few complaints are listed of one."""
    head = f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ {REGISTERS}\n"
    return {i for i, text in enumerate(texts) if is_refused(f"{head}{text}\nret; }}\n")}


def is_refused(text: str) -> bool:
    try:
        ptxspec.load(text)
    except ptxspec.PtxError:
        return True
    return False


def differing(spellings: list[Spelling], folder: Path) -> list[str]:
    """Where the table, the checker and ptxas do not agree."""
    found = []
    for version in sorted({text.version for text in spellings}):
        texts = [text for text in spellings if text.version == version]
        spelled_out = [str(text) for text in texts]
        wrong, ours = refused(spelled_out, version, folder), complained(spelled_out, version)
        for i, text in enumerate(texts):
            if is_form(text) == (i in wrong) or (i in ours) != (i in wrong):
                found.append(
                    f"{text} {version}: ptxas {i not in wrong}, checker {i not in ours}, table {is_form(text)}"
                )
    return found


def mutants(count: int) -> list[Spelling]:
    source = random.Random("forms of warpgroups")
    table = list(every_form())
    return [changed(source.choice(table), source) for _ in range(count)]


def test_how_many_forms_there_are() -> None:
    """Of f16 two sums, of bf16 and tf32 one, of eight bits four pairs and two sums: 12 times 32 numbers of columns, dense and sparse,
    with A in registers or not. Of integers four pairs, with and without .satfinite, of bits one: with 18 numbers of columns."""
    table = set(every_form())
    assert len(table) == 12 * 32 * 2 * 2 + 4 * 2 * 18 * 2 * 2 + 18 * 2
    assert all(is_form(form) for form in table)


def test_the_pages_have_the_forms_of_the_table() -> None:
    table = {(str(form).split(" ")[0], form.a_registers > 0) for form in every_form()}
    products = [form for form in forms("wgmma") if "shape" in form.modifiers]
    assert {(form.mnemonic, "a_desc" not in str(form)) for form in products} == table
    assert len(products) == len(table)


@pytest.mark.usefixtures("assembler")
@pytest.mark.slow
def test_ptxas_agrees_on_some(tmp_path: Path) -> None:
    source = random.Random("sample")
    some = source.sample(list(every_form()), 60) + mutants(240)
    assert differing(some, tmp_path) == []
    taken = sum(map(is_form, some))
    assert 80 < taken < len(some) - 80


@pytest.mark.long
@pytest.mark.usefixtures("assembler")
def test_ptxas_agrees_on_all(tmp_path: Path) -> None:
    assert differing([*every_form(), *mutants(8_000)], tmp_path) == []


@pytest.mark.usefixtures("assembler")
def test_no_other_target_has_them(tmp_path: Path) -> None:
    text = str(next(every_form()))
    assert not refused([text], "9.0", tmp_path)
    for target in ("sm_90", "sm_100a", "sm_120a"):
        assert refused([text], "9.0", tmp_path, target) == complained([text], "9.0", target) == {0}
