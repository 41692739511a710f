"""`ptxspec eval` knows every form: it gives a result, or it says what to do instead."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from approximations import approximate_forms
from click.testing import CliRunner

import ptxspec
from ptxspec.cli import main
from ptxspec.evidence.kernels.instruction_kernels import (
    kernel,
)
from ptxspec.language.forms import registry
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import Unsupported, description_of
from ptxspec.terms.effects import Fencing


def call(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["eval", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.sample(4)
@pytest.mark.parametrize("opcode", sorted(registry().opcodes))
def test_every_form_is_read_or_refused_with_a_way_out(opcode: str) -> None:
    """As a kernel has it, with registers for operands. Nothing else than a fragment or a hint comes out."""
    forms = registry().opcodes[opcode].forms
    for form in random.Random(opcode).sample(forms, min(len(forms), 25)):
        lines = map(str.strip, kernel(form, "k").text.splitlines())
        text = [t for t in lines if t.rstrip(";").split(" ")[0] == form.mnemonic][-1 if form.mnemonic == "ret" else 0]
        effect = form.meaning(form.absences[-1]).effect
        memory = any(o.memory for o in form.syntax.operands)
        place = "variable" in str([p.annotation for p in form.definition.sources.values()])
        try:
            fragment = read_fragment(text)
        except Unsupported as why:
            acts = effect is not None and not isinstance(effect, Fencing)
            assert acts or memory or place, text
            assert "ptxspec run" in str(why) and (not acts or f"({description_of(effect)[0]})" in str(why)), text
            continue
        except ptxspec.PtxError as error:
            assert place, (text, error)
            continue
        assert isinstance(effect, Fencing | None), text
        assert len(fragment.steps) == 1 and bool(fragment.outputs) == bool(form.definition.results)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ld.global.u32 d, [a];", "ld.global.u32 has an effect (load): it reads memory"),
        ("st.shared.f32 [a], b;", "(store): it writes memory"),
        ("atom.global.add.u32 d, [a], b;", "(update): it reads and writes memory"),
        ("red.global.add.u32 [a], b;", "(update): it reads and writes memory"),
        ("shfl.sync.idx.b32 d, a, b, c, m;", "(collective): it depends on the other lanes of the warp"),
        ("vote.sync.any.pred p, q, m;", "(collective): "),
        ("bar.sync 0;", "(barrier): it waits for other threads"),
        ("bar.red.popc.u32 d, 0, p;", "(barrier): "),
        ("bra there;", "(branch): it goes elsewhere in a kernel"),
        ("brx.idx i, list;", "(branch): "),
        ("call function;", "(call): it goes elsewhere in a kernel"),
        ("ret;", "(return): "),
        ("exit;", "(exit): it ends the thread"),
        ("trap;", "(stop): it ends the launch"),
        ("prefetch.global.L1 [a];", "fragments cannot access memory"),
        ("there: add.u32 d, a, b;", "no labels, blocks or declarations"),
    ],
)
def test_an_effect_is_refused_and_the_way_out_is_named(text: str, what: str) -> None:
    output = call(text, status=1)
    assert what in output and "put it into a kernel and launch that: ptxspec.load(text).launch(…)" in output
    assert what in json.loads(call(text, "--json", status=1))["error"]


@pytest.mark.parametrize(
    ("text", "near", "page"),
    [
        ("add.cc.u16 d, a, b;", ["add.u16", "add.cc.u32"], "spec/instructions/extended-precision/add.cc.md"),
        ("add.ftz.f64 d, a, b;", ["add.f64"], "spec/instructions/floating/add.md"),
        ("add.u33 d, a, b;", ["add.u32"], "spec/instructions/"),
        ("min.ftz.s32 d, a, b;", ["min.s32", "min.ftz.f32"], "spec/instructions/floating/min.md"),
        ("mad.rn.f33 d, a, b, c;", ["mad.rn.f32"], "spec/instructions/floating/mad.md"),
        ("ld.global.nc.u33 d, [a];", ["ld.global.nc.u32"], "spec/instructions/movement/ld.global.nc.md"),
        ("st.release.u32 [a], b;", ["st.release.gpu.u32"], "spec/instructions/movement/st.release.md"),
        ("bar.warp.synk m;", ["bar.warp.sync"], "spec/instructions/synchronization/"),
        ("div.aprox.f32 d, a, b;", ["div.approx.f32"], "spec/instructions/floating/div.md"),
        ("sqrt.approx.f64 d, a;", ["sqrt.rn.f64", "sqrt.approx.f32"], "spec/instructions/floating/sqrt.md"),
        ("vadd.u32.u32 d, a, b;", ["vadd.u32.u32.u32"], "spec/instructions/video/vadd.md"),
    ],
)
def test_a_modifier_that_the_notation_does_not_allow(text: str, near: list[str], page: str) -> None:
    """The nearest forms come from all pages of the opcode, and the page named is that of most of them."""
    found = json.loads(call(text, "--json", status=1))["diagnostics"][0]
    shown = found["message"].partition("the nearest forms are ")[2].split(", ")
    opcode = registry().opcodes[text.split(".")[0]]
    assert set(near) <= set(shown) <= {f.mnemonic for f in opcode.forms}
    assert found["page"].startswith(page)
    assert f"there is no {text.split()[0]}; " in call(text, status=1)


def test_operands_that_fit_no_form_are_answered_with_those_that_there_are() -> None:
    output = call("mov.b64 d, a, b;", status=1)
    assert "there is mov.b64 d, a; or mov.b64 " in output and "see spec/instructions/movement/mov.md" in output


def test_an_approximate_result_says_so() -> None:
    found = json.loads(call("rcp.approx.f32 d, a;", "a=3.0", "--json"))
    (chosen,) = found["chosen"]
    assert found["approximate"] is True and chosen["kind"] == "approximate" and chosen["by"] == "profile"
    found = json.loads(call("rcp.approx.f32 d, a;", "a=3.0", "--json", "--profile", "portable"))
    assert found["chosen"][0]["by"] == "nearest" and found["results"]["d"]["hex"] == "0x3eaaaaab"
    text = call("rcp.approx.f32 d, a;", "a=3.0")
    assert "(approximate: approximate-rcp, chosen by the profile hopper; PTX bounds the error only)" in text
    text = call("rcp.approx.f32 d, a;", "a=3.0", "--profile", "portable")
    assert (
        "(approximate: approximate-rcp, the nearest of the numbers that are allowed; PTX bounds the error only)" in text
    )


def test_a_result_that_is_exact_does_not_say_that_it_is_approximate() -> None:
    assert "approximate" not in call("rcp.approx.f32 d, a;", "a=0")  # an infinity, by PTX
    for words in (["rcp.approx.f32 d, a;", "a=0"], ["rcp.rn.f32 d, a;", "a=3.0"], ["div.u32 d, a, b;", "a=1", "b=0"]):
        assert json.loads(call(*words, "--json"))["approximate"] is False


APPROXIMATE = sorted({f.mnemonic for f in approximate_forms()})


@pytest.mark.parametrize("profile", ["hopper", "portable"])
@pytest.mark.parametrize("mnemonic", APPROXIMATE)
def test_every_approximate_form_says_so(mnemonic: str, profile: str) -> None:
    operands = ["a=1.7", "b=1.3"] if mnemonic.startswith("div") else ["a=1.7"]
    operands = ["a=0x3fd93e00"] if mnemonic.endswith("16x2") else operands  # 1.695, and 1.75 or 0.125
    text = f"{mnemonic} d, {', '.join(o[0] for o in operands)};"
    found: dict[str, Any] = json.loads(call(text, *operands, "--json", "--profile", profile))
    assert found["approximate"] is True
    assert "(approximate: " in call(text, *operands, "--profile", profile)


def test_an_open_result_names_the_profile() -> None:
    output = call("div.u32 d, a, b;", "a=1", "b=0", "--profile", "portable", status=1)
    assert "division-by-zero, which the profile portable leaves open\n" in output


def test_an_instruction_that_writes_nothing_says_so() -> None:
    assert call("membar.gl;").startswith("no register is written\n")
