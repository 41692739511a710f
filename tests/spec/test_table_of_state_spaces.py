"""The table of state spaces: what it shows is what is read, and what is read is what ptxas and the engines do."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.literate.finder import install

install()
PAGE = importlib.import_module("ptxspec.spec.state_spaces.index")
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"


def shown() -> dict[str, tuple[str, ...]]:
    """The rows of the page's table by the names that the data has."""
    with open(PAGE.__file__) as file:
        rows = re.findall(r"^\| `\.(\w+)`( of a function|) .*?\|(.+)\|$", file.read(), flags=re.M)
    found = {}
    for name, of, cells in rows:
        _, addresses, initialized, access, shared = (cell.strip() for cell in cells.split("|"))
        found.setdefault(name + ("::func" if of else ""), (addresses, initialized, access, shared))
    return found


def test_the_table_is_the_data() -> None:
    table = shown()
    assert table.keys() == PAGE.SPACES.keys()
    for name, (addresses, initialized, access, shared) in table.items():
        space = PAGE.SPACES[name]
        assert space.addressable == (not addresses.startswith("no")), name
        assert space.initialized == (initialized == "yes"), name
        assert space.written == ("write" in access), name
        assert space.shared_by == shared, name


@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize("name", [n for n in PAGE.SPACES if n not in ("sreg", "tex", "param", "param::func", "reg")])
def test_ptxas_says_the_same(name: str) -> None:
    """Of initializers, of stores, of addresses, and of how wide a register with an address is."""
    space = PAGE.SPACES[name]

    def accepted(body: str, module: str = "") -> bool:
        text = f"{HEADER}{module}\n.entry k() {{ .reg .u32 r; .reg .u64 d; {body} ret; }}"
        ours = True
        try:
            ptxspec.load(text)
        except ptxspec.PtxError:
            ours = False
        assert ours == (not assemble(text)), text
        return ours

    declared = f".{name} .u32 x"
    assert accepted(f"{declared} = 5;") == space.initialized
    assert accepted(f"{declared}; mov.u64 d, x; ld.{name}.u32 r, [d];") == space.addressable
    assert accepted(f"{declared}; st.{name}.u32 [x], r;") == space.written
    assert accepted(f"st.{name}.u32 [d], r;") == space.written
    assert accepted(f"ld.{name}.u32 r, [r];") == (space.address_bits == 32)
    assert accepted("ld.u32 r, [r];") == (PAGE.GENERIC_BITS == 32)
    assert accepted(f"ld.{name}.u32 r, [16];") == (name == PAGE.OF_NUMBERS)
    assert accepted(f"ld.{name}.u32 r, [x];", f"{declared};") == (name != "local")


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("name", [n for n, s in PAGE.SPACES.items() if s.written and s.addressable and "::" not in n])
def test_who_shares_a_variable(name: str, engine: str) -> None:
    """Each thread adds one to it, and no two at once, for the block is one; the greatest sum says among how many it is shared."""
    text = f"""{HEADER}.entry k(.param .u64 out) {{ .{name} .u32 x; .reg .u64 d; .reg .u32 r, s;
  ld.param.u64 d, [out]; ld.{name}.u32 r, [x]; add.u32 r, r, 1; st.{name}.u32 [x], r; atom.global.max.u32 s, [d], r; ret; }}"""
    module = ptxspec.load(text)
    sums = []
    for _ in range(2):
        out = np.zeros(1, np.uint32)
        module.launch("k", grid=3, block=5, args=[out], engine=engine)
        sums.append(int(out[0]))
    wanted = {"a thread": [1, 1], "a CTA": [5, 5], "a context": [15, 30]}[PAGE.SPACES[name].shared_by]
    assert sums == wanted
