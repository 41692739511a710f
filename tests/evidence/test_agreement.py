"""Exact = native = symbolic for every form; what is supplied equals what is derived; ptxas accepts every form; a GPU's answers are
the definitions'."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from ptxspec.spec.arithmetic import rounding as page

import ptxspec
from ptxspec.evidence import assembler
from ptxspec.evidence.kernels import signatures
from ptxspec.evidence.kernels.instruction_kernels import (
    kernels_for,
)
from ptxspec.evidence.kernels.operand_rows import rows, special
from ptxspec.language.forms import Form, registry
from ptxspec.terms.core import variable
from ptxspec.terms.effects import Fencing
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter
from ptxspec.terms.symbolic import Script, ground
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import SHORTCUTS, meaning_of
from ptxspec_workshop.compare import engines, interpretations
from ptxspec_workshop.compare.kernel_runs import CachedMachine
from ptxspec_workshop.ledger import computing
from ptxspec_workshop.record import gaps, refusals


@cache
def pure_forms(opcode: str) -> list[Form]:
    """The forms of an opcode that are functions of values."""
    return [f for f in ptxspec.forms(opcode) if signatures.pure(f)]


@cache
def records() -> gaps.Records:
    return gaps.records()


#: opcodes whose kernels take most of the time
LABORIOUS = ("cp", "mbarrier", "mma", "wgmma", "wmma")


def opcodes() -> list[Any]:
    """All opcodes, each with the first form of every definition, and with all forms; most of the time among the slow tests."""
    slow = pytest.mark.slow
    firsts = [pytest.param(o, False, marks=slow if o in LABORIOUS else (), id=o) for o in sorted(registry().opcodes)]
    return firsts + [pytest.param(o, True, marks=slow, id=f"{o}-all") for o in sorted(registry().opcodes)]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("opcode", "every"), opcodes())
def test_every_form_stands_up(opcode: str, every: bool) -> None:
    """What the ledger says of each form: the interpretations agree, or both engines do; NVIDIA's assembler accepts it; and the
    definitions give what a GPU answered, on every row of its record."""
    firsts = {form.definition: form for form in reversed(ptxspec.forms(opcode))}
    asked = ptxspec.forms(opcode) if every else [form for form in ptxspec.forms(opcode) if form in firsts.values()]
    found = computing.standing_of(opcode, asked=asked)
    assert [one.form for one in found] == asked
    known = records()
    for one in found:
        assert one.interpretations is not False, one.form
        if one.interpretations is None:
            assert not signatures.pure(one.form), one.form
            # engines agree on products of eight columns, which those of more are held against
            of_more = opcode == "wgmma" and "n8k" not in one.form.mnemonic
            assert of_more or gaps.unasked(one.form) or gaps.entry(one.form, known, set()) is None, one.form
        assert one.ptxas is not False, one.form
        if one.gpu is not None:
            assert one.gpu["agrees"] is True and one.gpu["vectors"] > 0, one.form
        if one.ptxas is None and not one.form.is_dropped:
            pytest.skip("NO ORACLE: no ptxas; the notation was not held against NVIDIA's assembler")
    assert assembler.version() == "13.0"


def only_orders(form: Form) -> bool:
    """Whether the form does no more than to compute, or to order what others do."""
    return isinstance(form.meaning(form.absences[-1]).effect, Fencing | None)


@pytest.mark.slow
def test_every_pure_form_is_compared() -> None:
    pure = {f.definition for opcode in registry().opcodes for f in pure_forms(opcode)}
    others = {f.definition for f in ptxspec.forms() if not only_orders(f) or f.definition.results} - pure
    warps = {"shfl", "vote", "activemask", "match", "redux", "elect", "bar", "barrier"}
    warps |= {"mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"}
    # a variable's address is no value: these run in tests/machine
    assert {d.name for d in others if d.module.rsplit(".", 1)[-1].split("_")[0] not in warps} == {
        "ld", "ld_nc", "ld_ordered", "ldu", "st", "st_ordered", "bra", "ret", "exit", "mov_address", "mov_function",
        "cvta_of_variable", "mapa_of_variable", "getctarank_of_variable", "alloca", "stacksave", "stackrestore", "trap", "brkpt", "call", "call_indirect", "brx_idx", "tex", "tex_early", "tex_early_line", "tex_half", "tex_compared", "tld4", "tld4_moved", "tld4_compared", "txq",
        "setmaxnreg", "createpolicy_fractional", "createpolicy_range", "txq_sampler", "txq_forced", "suld", "sust", "sust_p", "sured", "sured_p", "suq",
        "cp_async", "cp_async_ignoring", "cp_async_commit_group", "cp_async_wait_group", "cp_async_wait_all",
        "prefetch_description",
        "cp_async_bulk", "cp_async_bulk_commit_group", "cp_async_bulk_multicast", "cp_async_bulk_prefetch_tensor",
        "cp_async_bulk_prefetch_tensor_im2col", "cp_async_bulk_tensor", "cp_async_bulk_tensor_im2col",
        "cp_async_bulk_tensor_im2col_multicast", "cp_async_bulk_tensor_multicast", "cp_async_bulk_tensor_pixels_to_global",
        "cp_async_bulk_tensor_to_global", "cp_async_bulk_to_global", "cp_async_bulk_wait_group",
        "cp_async_bulk_within_cluster", "cp_reduce_async_bulk", "cp_reduce_async_bulk_tensor",
        "cp_reduce_async_bulk_tensor_pixels", "cp_reduce_async_bulk_within_cluster", "mbarrier_test_wait",
        "mbarrier_test_wait_parity", "mbarrier_try_wait", "mbarrier_try_wait_parity", "red_async", "st_async",
        "tensormap_cp_fenceproxy",
        "multimem_ld_reduce", "multimem_st", "multimem_red", "multimem_cp_async_bulk", "multimem_cp_reduce_async_bulk",
    }  # fmt: skip
    silent = {f.definition.name for f in ptxspec.forms() if only_orders(f) and not f.definition.results}
    assert silent == {
        "applypriority", "prefetch", "prefetchu", "pmevent", "pmevent_mask", "nanosleep", "membar", "membar_proxy", "fence",
        "fence_restricted", "fence_proxy", "fence_of_description", "fence_of_copies", "griddepcontrol",
        "cp_async_bulk_prefetch",
    }  # fmt: skip


def test_engines_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [
        f
        for f in ptxspec.forms()
        if f.mnemonic in ("ld.global.v2.u16", "sust.b.2d.wt.b32.trap", "vote.ballot.b32", "barrier.cluster.wait")
    ]
    assert engines.agreeing(own) == {str(f): True for f in own}
    answers = CachedMachine.answers

    def wrong(self: CachedMachine, chosen: Any) -> Any:
        return {name: found + np.uint64(self.engine == "native") for name, found in answers(self, chosen).items()}

    monkeypatch.setattr(CachedMachine, "answers", wrong)
    monkeypatch.setattr(engines, "_known", {})
    monkeypatch.setattr(engines, "computed", lambda case, engine, rows: np.array([engine == "native"]))
    assert engines.agreeing(own) == {str(f): False for f in own}


@pytest.mark.parametrize(("interpretation", "backend"), [("native", Emitter), ("symbolic", Script)])
def test_a_wrong_definition_is_found(interpretation: str, backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: an interpretation that computes something else is reported."""
    form = next(f for f in pure_forms("add") if f.mnemonic == "add.u32")
    original = backend.binary
    monkeypatch.setattr(
        backend, "binary", lambda self, op, x, y, n: original(self, "sub" if op == "add" else op, x, y, n)
    )
    found = interpretations.compare([form], count=16, symbolic=2)
    assert found and {d.interpretation for d in found} == {interpretation} and "integer/add.md" in found[0].page


@pytest.mark.parametrize("width", [1, 2, 3, 8, 31, 33, 64, 200])
def test_the_solvers_length_of_a_number(width: int) -> None:
    ones = (1 << width) - 1
    for value in {0, ones, *(1 << i for i in range(width)), *(ones >> i for i in range(width))}:
        script = Script()
        assert ground(script, script.bit_length(script.const(value, width), width), width) == value.bit_length()


@pytest.mark.sample(4, lambda name, type, ftz, rounding, count: [(name, rounding), (name, type, ftz)])
@pytest.mark.parametrize("name", sorted(SHORTCUTS))
@pytest.mark.parametrize(
    ("type", "ftz"), [("f16", False), ("bf16", False), ("f32", False), ("f64", False), ("f32", True), ("f16", True)]
)
@pytest.mark.parametrize("rounding", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.long)])
def test_what_the_solver_supplies_is_what_the_definition_says(
    name: str, type: str, ftz: bool, rounding: str, count: int
) -> None:
    """The definition's derived meaning, evaluated exactly, against z3's own operation, wherever no NaN is involved."""
    of = TYPES[type]
    arity = {"fused": 3, "square_root": 1}.get(name, 2)
    operands = [variable(f"x{i}", of.width) for i in range(arity)]
    call = getattr(page, name)(of, rounding, ftz, *operands)
    invalid = getattr(page, f"{name}_is_invalid")(of, *operands)
    body, names = meaning_of(call)
    table = rows([of] * arity, count, f"{name}{type}{rounding}")
    compared = 0
    for row in table:
        values = {f"x{i}": v for i, v in enumerate(row)}
        if evaluate(invalid, values):
            continue
        want = evaluate(body, dict(zip(names, row, strict=True)))
        script = Script(functional=True)
        env = {n: script.const(v, of.width) for n, v in values.items()}
        assert ground(script, Lowering(script, env).low(call, of.width), of.width) == want, [hex(v) for v in row]
        compared += 1
    assert compared > count // 5


def test_rows_are_reproducible_and_cross_the_special_values() -> None:
    types = [TYPES["u32"], TYPES["pred"]]
    assert rows(types, 50, 1) == rows(types, 50, 1) != rows(types, 50, 2)
    few = rows([TYPES["pred"], TYPES["pred"]], 20)
    assert {(0, 0), (0, 1), (1, 0), (1, 1)} <= set(few)
    for type in TYPES.values():
        if type.width <= 64:
            assert all(0 <= v < 1 << type.width for v in special(type))
            assert all(0 <= v < 1 << type.width for row in rows([type], 40) for v in row)


def test_ptxas_refuses_what_it_should() -> None:
    """The oracle can say no: a form no assembler knows is reported with its kernel."""
    try:
        assembler.ptxas()
    except FileNotFoundError as why:
        pytest.skip(f"NO ORACLE: {why}")
    kernels = kernels_for([f for f in ptxspec.forms("add") if f.mnemonic in ("add.u32", "add.s64")])
    bad = kernels[0]._replace(text=kernels[0].text.replace("add.u32", "add.u33"))
    found = refusals.refusals([bad, kernels[1]])
    assert [r.kernel for r in found] == [bad]
