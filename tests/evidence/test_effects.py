"""Loads, stores, ordered updates and control flow do on our machine what an H200 did, in every form."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.language.forms import Form, registry
from ptxspec.terms.effects import Load, Store
from ptxspec_workshop.generate import effect_cases, memory_kernels
from ptxspec_workshop.record import gaps, stored_answers
from ptxspec_workshop.record.families import CLUSTERS, EFFECTS, FUNCTIONS, MATRICES, OBJECTS, WARPGROUPS, WARPS

ANSWERS = EFFECTS.read()
#: those that were asked about; forms that were not are gaps (test_gaps.py)
OPCODES = sorted({name.split()[0].split(".")[0].rstrip(";") for name in ANSWERS.values} if ANSWERS is not None else [])


@cache
def asked(opcode: str) -> list[Form]:
    """The forms of an opcode whose effects a GPU is asked about."""
    return [f for f in ptxspec.forms(opcode) if effect_cases.kind(f) is not None]


def form(mnemonic: str) -> Form:
    return next(f for f in asked(mnemonic.split(".")[0]) if f.mnemonic == mnemonic)


@pytest.mark.slow
def test_both_engines_do_the_same() -> None:
    """A form of each kind, space and width."""
    wanted = (
        "ld.const.v4.u8 ld.param.v2.b64 ld.local.s16 ld.shared.v4.f32 ld.shared::cluster.u32 ld.acquire.gpu.global.u64 "
        "ld.global.nc.v2.u32 ldu.global.v4.u8 ld.volatile.f64 st.local.v2.u16 st.shared.v4.b32 st.param.v2.f64 "
        "st.release.sys.global.u8 st.cs.v2.u64 atom.acq_rel.cta.shared.cas.b64 red.release.gpu.global.add.noftz.f16 bra bra.uni "
        "brx.idx call exit ret bar.arrive barrier.sync fence.sc.gpu prefetchu.L1 bar.warp.sync nanosleep.u32"
    )
    own = [form(m) for m in wanted.split()]
    assert ANSWERS is not None
    count, differences = EFFECTS.compare(own, ANSWERS, "native")
    assert count >= 32 * len(own) and not differences


@pytest.mark.slow
def test_every_form_is_asked_or_says_why_not() -> None:
    assert ANSWERS is not None
    in_family = [f for opcode in registry().opcodes for f in asked(opcode)]
    assert set(ANSWERS.values) <= {c.name for c in effect_cases.cases(in_family)}  # none is left over
    known = gaps.records()
    reasons = {}
    for f in ptxspec.forms():
        if effect_cases.asks_images(f):  # test_images_of_the_gpu.py
            continue
        ways = [
            FUNCTIONS.asks(f),
            WARPS.asks(f),
            EFFECTS.asks(f),
            MATRICES.asks(f),
            CLUSTERS.asks(f),
            OBJECTS.asks(f),
            WARPGROUPS.asks(f),
            gaps.unasked(f) is not None,
        ]
        assert ways.count(True) == 1 or (not any(ways) and gaps.entry(f, known, set()) is None), str(f)
        if ways[-1]:
            reasons[str(f)] = gaps.unasked(f)
    opcodes = {name.split()[0].split(".")[0].rstrip(";") for name in reasons}
    assert opcodes >= {
        *("mov", "cvta", "isspacep", "istypep", "trap", "brkpt"),
        *("createpolicy", "discard", "alloca", "stacksave", "stackrestore", "mapa", "getctarank"),
    }


def test_where_the_assembler_disagrees_with_itself_is_in_the_register() -> None:
    """As in the forms without an order: NaNs of sums of double precision in shared memory (AMB-088)."""
    assert ANSWERS is not None
    assert ANSWERS.facts["device"] == "NVIDIA H200"
    found = ANSWERS.facts["differences"]
    assert found and all(".shared" in d["form"] and ".add.f64" in d["form"] for d in found)
    assert all(d["levels"] and not d["O3"] for d in found)


@pytest.mark.slow
def test_loads_and_stores_against_plain_bytes() -> None:
    """The answers themselves, by an oracle that knows nothing of kernels: bytes of the row, in the order of memory."""
    assert ANSWERS is not None
    moving = [f for opcode in OPCODES for f in asked(opcode) if memory_kernels.moves(f)]
    for case in effect_cases.cases(moving):
        if case.name not in ANSWERS.values:
            continue
        effect = case.form.meaning().effect
        assert isinstance(effect, Load | Store)
        size, vec = effect.type.bytes, case.form.modifiers.get("vec")
        count = int(vec[1:]) if vec else 1
        answer = ANSWERS.values[case.name]
        for row in (0, 7, 31):
            if isinstance(effect, Load):
                data = memory_kernels.image()[16 * row : 16 * row + size * count]
                want = [data[size * i : size * (i + 1)].ljust(8, b"\xa5") for i in range(count)]
                assert answer[row].tobytes() == b"".join(want).ljust(32, b"\xa5"), case.name
            else:
                data = b"".join(case.cells[row].tobytes()[8 * i : 8 * i + size] for i in range(count))
                got = answer[row].tobytes()
                assert got.startswith(data), case.name
                beside = 4 if effect.space == "param" and len(data) < 4 else len(data)  # AMB-203
                assert set(got[beside:]) <= {0xA5}, case.name


def test_a_narrow_store_to_an_argument_clears_its_word() -> None:
    """AMB-203."""
    assert ANSWERS is not None
    for mnemonic, size in (("st.param.b8", 1), ("st.param.u16", 2), ("st.param.v2.s8", 2)):
        case, *_ = effect_cases.cases([form(mnemonic)])
        for row in ANSWERS.values[case.name]:
            assert row.tobytes()[size:8] == bytes(4 - size) + b"\xa5" * 4
    assert memory_kernels.judged(form("st.param.b8")) == (1 << 64) - 1 - 0xFFFFFF00
    assert memory_kernels.judged(form("st.param.b32")) == memory_kernels.judged(form("st.global.b8")) == (1 << 64) - 1


def test_a_wrong_answer_is_found() -> None:
    assert ANSWERS is not None
    for mnemonic in (
        "ld.global.cg.u16",
        "st.shared.v2.b8",
        "atom.acquire.gpu.global.inc.u32",
        "brx.idx",
        "st.param.u8",
    ):
        case, *_ = effect_cases.cases([form(mnemonic)])
        wrong: dict[str, Any] = {case.name: ANSWERS.values[case.name].copy()}
        wrong[case.name][5, 0] ^= np.uint64(1)
        count, found = EFFECTS.compare([case.form], stored_answers.Answers(ANSWERS.facts, wrong))
        assert count == len(case.cells) and [(d.form, d.row) for d in found] == [(case.name, 5)]
