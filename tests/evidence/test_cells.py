"""Forms that update memory, and those that use the condition code, in evidence: what goes in, what comes out, and their kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence import compiled_loops
from ptxspec.evidence.kernels import operand_rows, signatures
from ptxspec.evidence.kernels.instruction_kernels import (
    cell_types,
    kernel,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module,
)
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Update
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES
from ptxspec_workshop.compare import interpretations
from ptxspec_workshop.generate.function_cases import cells_of
from ptxspec_workshop.generate.representatives import representatives
from ptxspec_workshop.record import stored_answers
from ptxspec_workshop.record.families import FUNCTIONS


@cache
def updates() -> list[Form]:
    return [f for o in ("atom", "red") for f in ptxspec.forms(o) if isinstance(f.meaning().effect, Update)]


@cache
def carries() -> list[Form]:
    opcodes = ("add", "addc", "mad", "madc", "sub", "subc")
    return [f for o in opcodes for f in ptxspec.forms(o) if f.meaning().uses_carry]


def form(mnemonic: str) -> Form:
    """The form that updates memory or uses the condition code."""
    own = (f for f in ptxspec.forms(mnemonic.partition(".")[0]) if f.mnemonic == mnemonic)
    return next(f for f in own if isinstance(f.meaning().effect, Update) or f.meaning().uses_carry)


def test_what_goes_in_and_what_comes_out() -> None:
    cas = form("atom.global.cas.b16").meaning()
    assert signatures.inputs_of(cas) == [("b", TYPES["b16"]), ("c", TYPES["b16"]), ("%loaded0", TYPES["b16"])]
    assert [t for t, _ in signatures.results_of(cas)] == [TYPES["b16"]] * 2
    red = form("red.add.f64").meaning()
    assert signatures.inputs_of(red) == [("b", TYPES["f64"]), ("%loaded0", TYPES["f64"])]
    assert [t for t, _ in signatures.results_of(red)] == [TYPES["f64"]]
    subc = form("subc.cc.u32").meaning()
    assert signatures.inputs_of(subc)[-1] == ("CC.CF", TYPES["pred"]) and subc.borrows
    assert [t for t, _ in signatures.results_of(subc)] == [TYPES["u32"], TYPES["pred"]]
    assert not any(f.meaning().borrows for f in carries() if not f.syntax.opcode.startswith("sub"))


@pytest.mark.slow
def test_no_other_form_uses_the_condition_code() -> None:
    assert [f for f in representatives(ptxspec.forms()) if f.meaning().uses_carry] == carries()


@pytest.mark.slow
def test_one_form_stands_for_all_its_orderings() -> None:
    """A thread by itself cannot see an ordering or a scope. None of the meanings is left out."""

    def key(f: Form) -> Any:
        meaning = f.meaning()
        assert isinstance(meaning.effect, Update)
        return meaning.results, meaning.effect.values, meaning.effect.space

    asked = [f for f in updates() if signatures.comparable(f)]
    assert {key(f) for f in asked} == {key(f) for f in updates() if not signatures.undefined(f.meaning())}
    assert len(asked) == len({key(f) for f in asked})
    assert all(signatures.pure(f) for f in updates())
    words = {"relaxed", "acquire", "release", "acq_rel", "gpu", "sys", "cluster"}
    assert all(words.isdisjoint(f.mnemonic.split(".")) for f in asked)


#: forms of every kind of cell and every operation, for launches that take longer
SAMPLE = [
    *[f"atom{s}.{o}" for s in ("", ".global", ".shared", ".shared::cta") for o in ("inc.u32", "cas.b64", "min.s32")],
    *[f"atom{s}.{o}" for s in ("", ".global", ".shared") for o in ("add.f32", "add.noftz.f16", "cas.b16", "exch.b32")],
    *[
        f"red{s}.{o}"
        for s in ("", ".global", ".shared")
        for o in ("dec.u32", "add.f32", "add.f64", "max.u64", "xor.b32")
    ],
    *["add.cc.u32", "addc.u64", "addc.cc.s32", "sub.cc.u64", "subc.s32", "subc.cc.u32", "mad.hi.cc.s32"],
    *["madc.lo.u64", "madc.hi.cc.u32"],
    *["atom.global.add.v4.f32", "atom.min.noftz.v8.bf16", "atom.global.add.noftz.v2.f16x2", "red.max.noftz.v4.f16"],
    *["atom.global.cas.b128", "atom.shared.cas.b128", "atom.exch.b128"],
]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_the_kernels_ask_what_the_comparison_computes(engine: str) -> None:
    """The kernels that a GPU is given, run on the machine here: rows come in and answers go out where they should."""
    forms = [form(m) for m in SAMPLE]
    assert set(SAMPLE) <= {f.mnemonic for f in [*updates(), *carries()] if signatures.comparable(f)}
    kernels = [kernel(f, f"k{i}") for i, f in enumerate(forms)]
    meanings = [f.meaning() for f in forms]
    rows = 24 if engine == "exact" else 128
    tables = [operand_rows.table_of(f, m)[-rows:] for f, m in zip(forms, meanings, strict=True)]
    want = compiled_loops.run_native(meanings, tables, Profile("hopper").term)
    loaded = ptxspec.load(module(kernels))
    for own, meaning, data, expected in zip(kernels, meanings, map(cells_of, kernels, tables), want, strict=True):
        assert len(own.inputs) == len(signatures.inputs_of(meaning))
        out = np.full_like(data, 0xA5A5A5A5A5A5A5A5)
        loaded.launch(own.name, 1, rows, [data, out, bytes(64)], engine=engine)
        flat = np.concatenate([c.astype(np.uint64).reshape(rows, -1) for c in expected], axis=1)
        for i, type in enumerate(cell_types(t for t, _ in signatures.results_of(meaning))):
            mask = np.uint64((1 << (16 if type.kind == "pred" else type.width)) - 1)
            assert (out[:, i] & mask).tolist() == flat[:, i].tolist(), f"{own.form}, result {i}"


def test_additions_set_and_read_the_bit() -> None:
    """Around a subtraction, too: a machine may keep the complement of a borrow, and that is what is asked (AMB-085)."""
    for f in carries():
        lines = kernel(f, "k").text.splitlines()
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{f.mnemonic} "))
        others = [
            line.split()[0]
            for line in [*lines[:at], *lines[at + 1 :]]
            if line.split()[0][:4] in ("add.", "addc", "sub.", "subc")
        ]
        carrying = {o for o in others if ".cc" in o or o.startswith(("addc", "subc"))}
        assert carrying and carrying <= {"add.cc.u32", "addc.u32"}


# answers that are made up -----------------------------------------------------------------------------------------------

ORACLES: dict[str, Callable[..., list[int]]] = {
    "atom.global.add.u32": lambda b, old: [old, (old + b) % 2**32],
    "atom.shared.inc.u32": lambda b, old: [old, 0 if old >= b else old + 1],
    "atom.dec.u32": lambda b, old: [old, b if old == 0 or old > b else old - 1],
    "atom.cas.b64": lambda b, c, old: [old, c if b == old else old],
    "red.shared.min.u64": lambda b, old: [min(old, b)],
    "red.max.s32": lambda b, old: [max(old, b, key=lambda v: v - (v >> 31 << 32))],
    "atom.exch.b32": lambda b, old: [old, b],
    "addc.cc.u32": lambda a, b, cc: [(a + b + cc) % 2**32, (a + b + cc) >> 32],
    "subc.cc.s64": lambda a, b, cc: [(a - b - 1 + cc) % 2**64, int(a >= b + 1 - cc)],  # a borrow's complement
    "mad.hi.cc.u32": lambda a, b, c: [((a * b >> 32) + c) % 2**32, ((a * b >> 32) + c) >> 32],
    "madc.lo.cc.u64": lambda a, b, c, cc: [(a * b + c + cc) % 2**64, (a * b % 2**64 + c + cc) >> 64],
}


@pytest.mark.parametrize("mnemonic", ORACLES)
def test_answers_are_compared_with_old_and_new_values(mnemonic: str) -> None:
    """Answers by plain integers are the definition's, and one that is wrong, in any column, is found."""
    own = form(mnemonic)
    table = operand_rows.table_of(own, own.meaning())
    right = np.array([ORACLES[mnemonic](*row) for row in table], dtype=np.uint64)
    facts = {"profile": "hopper"}
    count, differences = FUNCTIONS.compare([own], stored_answers.Answers(facts, {str(own): right}))
    assert count == operand_rows.ROWS == len(table) and not differences
    for column in range(right.shape[1]):
        wrong = right.copy()
        wrong[11, column] ^= np.uint64(1)
        _, differences = FUNCTIONS.compare([own], stored_answers.Answers(facts, {str(own): wrong}))
        assert [d.operands for d in differences] == [table[11]]


def test_rows_bring_about_what_matters() -> None:
    """Among the rows of cas some swap, and of inc and dec some begin again."""
    for mnemonic, least in (("atom.cas.b32", 4), ("atom.inc.u32", 50), ("atom.dec.u32", 50)):
        own = form(mnemonic)
        table = operand_rows.table_of(own, own.meaning())
        if "cas" in mnemonic:
            found = sum(b == old for b, _, old in table)
        else:
            found = sum(old >= b if "inc" in mnemonic else old == 0 or old > b for b, old in table)
        assert least <= found < len(table)


# what the comparison notices --------------------------------------------------------------------------------------------


def test_a_disagreement_is_reported_for_every_form_that_means_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = [form(m) for m in ("atom.global.inc.u32", "atom.relaxed.gpu.global.inc.u32", "red.global.inc.u32")]
    assert interpretations.compare(alike, count=64, symbolic=4) == []
    emitter = importlib.import_module("ptxspec.terms.native").Emitter
    original = emitter.binary
    monkeypatch.setattr(
        emitter, "binary", lambda self, op, x, y, n: original(self, "sub" if op == "add" else op, x, y, n)
    )
    found = interpretations.compare(alike, count=64, symbolic=4)
    assert {d.form for d in found} == {str(v) for f in alike for v in f.variants}
    assert all("atom.md" in d.page or "red.md" in d.page for d in found)


def test_the_address_of_a_cell_is_in_global_memory() -> None:
    """So that a sum by a generic address flushes, as one in global memory does, and one in shared memory does not."""

    def new(mnemonic: str) -> Any:
        return signatures.results_of(form(mnemonic).meaning())[-1][1]

    assert new("red.add.f32") is new("red.global.add.f32")
    assert new("red.add.f32") is not new("red.shared.add.f32")
