"""Textures and surfaces in kernels, against what an H200 answered to the same kernels (tests/vectors/images)."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec_workshop.compare.image_runs import computed
from ptxspec_workshop.generate.image_cases import ImageCase, QueryCase, SurfaceCase, TextureCase
from ptxspec_workshop.generate.image_kernels import kernel_text, mnemonic
from ptxspec_workshop.generate.image_spellings import UNREACHABLE
from ptxspec_workshop.generate.image_sweeps import cases

pytestmark = pytest.mark.sample(4)

_FOLDER = Path(DOCUMENTS, "tests/vectors/images")
EVERY = {case.name: case for case in cases()}
#: the default run takes one case of so many
SOME = 12


@cache
def answers() -> dict[str, np.ndarray]:
    with np.load(_FOLDER / "answers.npz") as kept:
        return {name: kept[name] for name in kept}


def names() -> set[str]:
    """The cases that have answers; it reads none of these."""
    with np.load(_FOLDER / "answers.npz") as kept:
        return set(kept.files)


@cache
def facts() -> dict[str, Any]:
    return json.loads((_FOLDER / "answers.json").read_text())


#: those that were asked about; others are gaps (test_gaps.py)
ASKED = names()
CASES = {name: case for name, case in EVERY.items() if name in ASKED}


def differing(case: ImageCase, found: np.ndarray) -> int:
    """In how many rows, or bytes of a surface, something else was answered."""
    wanted = answers()[case.name][: len(found)]
    assert found.shape == wanted.shape
    return int((found != wanted).any(axis=1).sum() if found.ndim == 2 else (found != wanted).sum())


@pytest.mark.slow
def test_the_answers_are_those_that_were_recorded() -> None:
    own = sorted(answers().items())
    assert hashlib.sha256(b"".join(n.encode() + a.tobytes() for n, a in own)).hexdigest() == facts()["digest"]
    assert set(answers()) == set(CASES) and facts()["levels differ"] == []
    queries = {f.mnemonic for opcode in ("txq", "suq") for f in ptxspec.forms(opcode)}
    sizes = {name for name in queries if name.split(".")[-2] in ("width", "height", "depth")}
    assert len(sizes) == 9 and sizes <= {mnemonic(case) for case in CASES.values()}
    assert set(facts()["refused"]) == queries - sizes  # CUDA's driver has no such attributes (AMB-190)
    assert not any(name.startswith(tuple(queries)) for name in facts()["differing"])
    textures = sum(isinstance(case, TextureCase) for case in CASES.values())
    assert textures >= 400 and len(CASES) - textures >= 150
    asked = {mnemonic(case) for case in CASES.values()}
    every = {f.mnemonic for o in ("tex", "tld4", "suld", "sust", "sured", "txq", "suq") for f in ptxspec.forms(o)}
    assert asked <= {m for m in every if not any(g in m.split(".") for g in UNREACHABLE)}
    assert all("(7" in stopped for stopped in facts()["traps"].values()) and len(facts()["traps"]) >= 15


def test_only_gradients_and_some_offsets_differ() -> None:
    known = facts()["differing"]
    moved = {name for name in known if "grad" not in name}
    assert all(name.startswith("1d ") and " linear " in name and " offset" in name for name in moved)  # AMB-365
    assert all(known[name] <= 2 for name in moved) and len(moved) <= 4
    assert all(name.endswith(".s32") or count <= 9 for name, count in known.items())  # AMB-226


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sorted(CASES)[::SOME])
def test_some_cases(name: str) -> None:
    case = CASES[name]
    assert differing(case, computed(case)) == facts()["differing"].get(name, 0)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(CASES) - set(sorted(CASES)[::SOME])))
def test_all_cases(name: str) -> None:
    case = CASES[name]
    assert differing(case, computed(case)) == facts()["differing"].get(name, 0)


def of_each_kind() -> list[str]:
    kinds: dict[Any, str] = {}
    for name, case in CASES.items():
        if isinstance(case, QueryCase):
            kinds.setdefault((case.spelling, case.image.geometry), name)
        elif isinstance(case, SurfaceCase):
            kinds.setdefault((case.access, case.geometry, case.outside), name)
        else:
            kinds.setdefault(
                (case.geometry, case.filter, case.mode, case.whole, case.component, case.mipmap_filter), name
            )
    return sorted(kinds.values())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", of_each_kind()[::4])
def test_both_engines_agree(name: str) -> None:
    case, rows = CASES[name], 12
    native, exact = computed(case, "native", rows), computed(case, "exact", rows)
    assert np.array_equal(native, exact)


def test_kernels_are_accepted_by_ptxas(assembler: str) -> None:
    from ptxspec.evidence.assembler import assemble

    texts = sorted({kernel_text(case) for case in CASES.values()})
    for text in texts[:: len(texts) // 20]:
        assert assemble(text, "sm_90", "-O0") == []
