"""Products and sums that a launch may contract: against an H200's answers, and pair by pair."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.base.options import Contract, Engine
from ptxspec_workshop.generate.contraction_kernels import kernels
from ptxspec_workshop.record.contraction import answers_here, digest_of_kernel, read

pytestmark = pytest.mark.sample(4)

HEAD = ".version 8.6\n.target {target}\n.address_size 64\n"


#: so many kernels have each kind of numbers twice
FEW = 14


@pytest.mark.slow
def test_an_h200_contracts_nothing_at_o0_and_all_at_o3() -> None:
    """All kernels."""
    recorded, own = read(), kernels()
    assert recorded is not None
    assert {k.name: digest_of_kernel(k) for k in own} == {n: e["asked"] for n, e in recorded["kernels"].items()}
    ours = answers_here(own, "exact")
    assert {n: e["-O0"] for n, e in recorded["kernels"].items()} == ours["none"]
    assert {n: e["-O3"] for n, e in recorded["kernels"].items()} == ours["all"]
    assert sum(ours["none"][n] != ours["all"][n] for n in ours["none"]) > 40


@pytest.mark.slow
def test_both_engines_contract_alike() -> None:
    own = kernels()[:FEW]
    assert answers_here(own, "exact") == answers_here(own)


@pytest.mark.parametrize(("fault", "first"), [("the sign", 0), ("the operand", 42), ("a modifier", 0)])
def test_a_fault_in_the_page_is_found(fault: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a few kernels, from one on: a sum of two products is rare."""
    page, recorded = contracts.contraction, read()
    assert recorded is not None
    if fault == "the sign":
        monkeypatch.setattr(page, "opposite", lambda type, x: x)
    elif fault == "the operand":
        monkeypatch.setattr(page, "taken", lambda first, second: 1 if second else 0 if first else None)
    else:
        may = page.may_contract
        monkeypatch.setattr(page, "may_contract", lambda p, a: may({**p, "rnd": None}, {**a, "rnd": None}))
    ours = answers_here(kernels()[first : first + FEW], "exact")
    assert {n: recorded["kernels"][n]["-O3"] for n in ours["all"]} != ours["all"]
    assert {n: recorded["kernels"][n]["-O0"] for n in ours["none"]} == ours["none"]


def results(
    body: str, contract: Contract, engine: Engine, register: str = "f32", target: str = "sm_90", functions: str = ""
) -> bytes:
    """What a kernel leaves in z for 64 threads, which have a, b, c and d."""
    size = int(register[1:]) // 8
    loads = "\n".join(f"ld.global.b{8 * size} {v}, [p+{size * i}];" for i, v in enumerate("abcd"))
    text = f"""{HEAD.format(target=target)}{functions}
    .visible .entry k(.param .u64 values, .param .u64 out) {{
        .reg .b64 p, o; .reg .b32 t; .reg .{register} a, b, c, d, w, x, y, z; .reg .pred q;
        ld.param.u64 p, [values]; ld.param.u64 o, [out];
        mov.u32 t, %tid.x; mad.wide.u32 p, t, {4 * size}, p; mad.wide.u32 o, t, {size}, o;
        {loads}
        setp.ge.u32 q, t, 32; mov.b{8 * size} z, a; mov.b{8 * size} x, a;
        {body}
        st.global.b{8 * size} [o], z; ret;
    }}"""
    own = f"f{size}" if register.startswith("f") else "u4"
    values = (1 + np.random.default_rng(3).random((64, 4))).astype("f4" if own == "u4" else own).view(own)
    out = np.zeros(64, own)
    ptxspec.load(text).launch("k", 1, 64, [values, out], contract=contract, engine=engine)
    return out.tobytes()


def fused(body: str, **how: str) -> bool:
    """Whether contract="all" makes a difference, the same under both engines."""
    none, every = (results(body, contract, "exact", **how) for contract in get_args(Contract))
    assert every == results(body, "all", "native", **how)
    return none != every


#: what ptxas 13.0 makes one instruction of at -O3
CONTRACTED = {
    "a product and a sum": "mul.f32 x, a, b; add.f32 z, x, c;",
    "the product second": "mul.f32 x, a, b; add.f32 z, c, x;",
    "a difference": "mul.f32 x, a, b; sub.f32 z, x, c;",
    "what is taken away": "mul.f32 x, a, b; sub.f32 z, c, x;",
    "both flush": "mul.ftz.f32 x, a, b; sub.ftz.f32 z, c, x;",
    "the sum is clamped": "mul.f32 x, a, b; sub.f32 z, x, c; mul.f32 x, z, z; sub.sat.f32 z, x, d;",
    "two sums take one product": "mul.f32 x, a, b; sub.f32 y, x, c; add.f32 z, x, y;",
    "two products": "mul.f32 x, a, b; mul.f32 y, c, d; sub.f32 z, x, y;",
    "factors overwritten in between": "mul.f32 x, a, b; mov.f32 a, c; mov.f32 b, d; sub.f32 z, x, c;",
    "a product in its factor's place": "mul.f32 a, a, b; sub.f32 z, a, c;",
    "a sum in the product's place": "mul.f32 z, a, b; sub.f32 z, z, c;",
    "a constant": "mul.f32 x, a, 0f40490fdb; sub.f32 z, x, 0f3f800001;",
    "a guarded sum": "mul.f32 x, a, b; @q sub.f32 z, x, c;",
    "a product that is written again": "mul.f32 x, a, b; sub.f32 z, x, c; mov.f32 x, d; add.rn.f32 z, z, x;",
}
NOT_CONTRACTED = {
    "a rounding modifier on the product": "mul.rn.f32 x, a, b; sub.f32 z, x, c;",
    "a rounding modifier on the sum": "mul.f32 x, a, b; sub.rn.f32 z, x, c;",
    "the product flushes": "mul.ftz.f32 x, a, b; sub.f32 z, x, c;",
    "the sum flushes": "mul.f32 x, a, b; sub.ftz.f32 z, x, c;",
    "the product is clamped": "mul.f32 x, a, 0f3e000000; mul.sat.f32 x, x, b; sub.f32 z, x, c;",
    "something else reads the product": "mul.f32 x, a, b; sub.f32 z, x, c; max.f32 z, z, x; sub.rn.f32 z, z, x;",
    "twice the product": "mul.f32 x, a, b; add.f32 z, x, x;",
    "a guarded product": "@q mul.f32 x, a, b; sub.f32 z, x, c;",
    "a product in another block": "mul.f32 x, a, b; @q bra L; sub.f32 z, x, c; L:",
    "a product read after the block": "mul.f32 x, a, b; sub.f32 y, x, c; @q bra L; mov.f32 z, y; L: add.rn.f32 z, z, x;",
    "nothing that is written": "mul.f32 x, a, b; mov.f32 x, d; sub.f32 z, x, c;",
    "a fused multiply-add": "fma.rn.f32 x, a, b, c; sub.f32 z, x, d;",
}


@pytest.mark.parametrize("name", CONTRACTED)
def test_these_are_contracted(name: str) -> None:
    assert fused(CONTRACTED[name])


@pytest.mark.parametrize("name", NOT_CONTRACTED)
def test_these_are_not(name: str) -> None:
    assert not fused(NOT_CONTRACTED[name])


@pytest.mark.parametrize(
    ("type", "register", "target"), [("f64", "f64", "sm_90"), ("f32x2", "b64", "sm_100"), ("f16", "b16", "sm_90")]
)
def test_other_types(type: str, register: str, target: str) -> None:
    if register == "b16":
        body = "mul.f16 x, a, b; sub.f16 z, x, c;"
        assert fused(body.replace("f16", "bf16x2"), register="b32")
        register = "b32"
        body = body.replace("f16", "f16x2")
    else:
        body = f"mul.{type} x, a, b; sub.{type} z, x, c;"
    if register == "b64":
        pairs = ".reg .b64 v<4>; " + "".join(
            f"mov.b64 v{i}, {{{x}, {y}}}; " for i, (x, y) in enumerate(("ab", "bc", "cd"))
        )
        body = pairs + "mul.f32x2 v3, v0, v1; sub.f32x2 v3, v3, v2; mov.b64 {z, x}, v3;"
        register = "f32"
    assert fused(body, register=register, target=target)


def test_a_sum_in_a_function() -> None:
    function = """.func (.reg .f32 r) f(.reg .f32 u, .reg .f32 v, .reg .f32 w) {
        .reg .f32 m; mul.f32 m, u, v; sub.f32 r, m, w; ret; }"""
    assert fused("call (z), f, (a, b, c);", functions=function)
    # a product that a function leaves to its caller is read by others than its own sums
    left = function.replace("sub.f32 r, m, w;", "mul.f32 r, u, v; sub.f32 m, r, w;")
    assert not fused("call (z), f, (a, b, c);", functions=left)


def test_a_loop_carries_no_product() -> None:
    body = "mul.f32 x, a, b; L: sub.f32 z, x, z; add.rn.f32 c, c, 0f3f800000; setp.lt.f32 q, c, 0f40a00000; @q bra L;"
    assert not fused(body)


def test_steps_are_the_same() -> None:
    text = HEAD.format(target="sm_90") + (
        ".visible .entry k() { .reg .f32 a; mov.f32 a, 0f3f800001; mul.f32 a, a, a; add.f32 a, a, a; sub.f32 a, a, a; ret; }"
    )
    module = ptxspec.load(text)
    assert module.launch("k").steps == module.launch("k", contract="all").steps == 5


def test_what_is_no_way_to_contract_is_refused() -> None:
    module = ptxspec.load(HEAD.format(target="sm_90") + ".visible .entry k() { ret; }")
    with pytest.raises(ValueError, match="contract is 'none' or 'all', not 'some'"):
        module.launch("k", contract="some")  # type: ignore[arg-type]
