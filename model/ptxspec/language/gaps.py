"""Gaps: instructions that PTX has and no page describes."""

from __future__ import annotations

from collections.abc import Iterable

from ptxspec import contracts
from ptxspec.language.checked import Checked, Kernel, Missing
from ptxspec.language.diagnostics import Diagnostic, PtxError
from ptxspec.language.forms import Opcode
from ptxspec.language.suggestions import did_you_mean
from ptxspec.terms.editions import Epoch


class GapError(PtxError):
    """A launch of an entry that may reach an instruction of PTX that no page of the specification describes. `diagnostics` are
    these instructions, as for `PtxError`.

    >>> module = ptxspec.load('''.version 8.0 .target sm_90
    ... .entry k() { cp.async.bulk.commit_group; ret; }
    ... .entry other() { ret; }''', "k.ptx")
    >>> module.launch("other").steps
    1
    >>> try:
    ...     module.launch("k")
    ... except ptxspec.GapError as error:
    ...     print(error.diagnostics[0].line, error.diagnostics[0].message)
    2 cp.async.bulk.commit_group is PTX (a group of copies of many bytes), but no page describes it
    """


def gaps_of(checked: Checked) -> list[Diagnostic]:
    """What is said of each gap of a module, in the order of the text."""
    return told(checked, (*checked.kernels.values(), *checked.functions.values()))


def told(checked: Checked, kernels: Iterable[Kernel]) -> list[Diagnostic]:
    """What is said of each gap of some entries and functions of a module, in the order of the text."""
    gaps = sorted((gap for kernel in kernels for gap in kernel.gaps), key=lambda gap: gap.position)
    return [gap.diagnostic(checked.source) for gap in gaps]


def missing(mnemonic: str, opcode: Opcode | None, module: Epoch | None) -> Missing | str | None:
    """What an instruction that no page describes is of; a str says why a module of this version and target (None: of any) does
    not have it. None if PTX has no such instruction. `opcode` is what pages say of its opcode."""
    page = contracts.gaps()
    name = page.family_of(mnemonic)
    if name is None:
        more = page.further_form(mnemonic, frozenset(opcode.words)) if opcode is not None else None
        if more is None:
            return None
        found, family = Missing(mnemonic, more.what), more
    else:
        family = page.FAMILIES[name]
        foreign = page.foreign(mnemonic, name)
        if foreign:
            instead = did_you_mean(f".{foreign[0]}", (f".{word}" for word in sorted(family.words)))
            return f"there is no {mnemonic}: {name} has no .{foreign[0]}{instead}"
        found = Missing(name, family.what)
    early = None if module is None else too_early(mnemonic, family.since, family.needs, module, family.only)
    return early or found


def too_early(
    mnemonic: str, since: tuple[int, int], needs: int, module: Epoch, only: tuple[str, ...] = ()
) -> str | None:
    """Why a module has not what came with a version and a target, or is only on targets with some features, or None."""
    if module.version < since:
        major, minor = module.version
        return f"{mnemonic} needs PTX ISA {since[0]}.{since[1]}; the module says {major}.{minor}"
    if not module.has(only):
        which = ", ".join(only[:-1]) + f" or {only[-1]}" if len(only) > 1 else only[0]
        return f"{mnemonic} needs target {which}; the module says {module.target_name}"
    if module.target < needs:
        return f"{mnemonic} needs target sm_{needs}; the module says {module.target_name}"
    return None
