"""Gaps: instructions that PTX has and no page describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple
from ptxspec.language.checked import Checked, Kernel, Missing
from ptxspec.language.diagnostics import Diagnostic, PtxError
from ptxspec.language.forms import Opcode, opcode_of, opcodes, registry
from ptxspec.language.suggestions import did_you_mean
from ptxspec.terms.editions import Epoch, shown


class GapError(PtxError):
    """A launch of an entry that may reach an instruction of PTX that no page of the specification describes. `diagnostics` are
    these instructions, as for `PtxError`.

    >>> module = ptxspec.load('''.version 8.6 .target sm_100a
    ... .entry k() { tcgen05.fence::before_thread_sync; ret; }
    ... .entry other() { ret; }''', "k.ptx")
    >>> module.launch("other").steps
    1
    >>> try:
    ...     module.launch("k")
    ... except ptxspec.GapError as error:
    ...     print(error.diagnostics[0].line, error.diagnostics[0].message)
    2 tcgen05.fence::before_thread_sync is PTX (an order among accesses to tensor memory), but no page describes it
    """


class Gap(NamedTuple):
    """A family of instructions that no page describes: its name, what it is, and the first PTX version and the target or targets
    that have it. `page` lists it."""

    name: str
    what: str
    since: str
    target: str
    page: str = "spec/gaps.md"

    @property
    def opcode(self) -> str:
        return opcode_of(self.name)

    def __str__(self) -> str:
        return f"{self.name}: {self.what} (PTX {self.since}, {self.target})"


def families(beginning: str = "") -> list[Gap]:
    """The families that no page describes and whose names begin with these words, or which a mnemonic that begins so is of, or
    the further forms of an opcode with a page; without any words, all families.

    >>> [str(gap) for gap in families("st.bulk")]
    ['st.bulk: zeros in many bytes (PTX 8.6, sm_100)']
    """
    page = contracts.gaps
    family = page.family_of(beginning)
    names = [
        n
        for n in page.FAMILIES
        if n == family or not beginning or f"{n}.".startswith((f"{beginning}.", f"{beginning}::"))
    ]
    gaps = [_gap(name, page.FAMILIES[name]) for name in names]
    known = registry().opcodes.get(opcode_of(beginning))
    more = page.further_form(beginning, frozenset(known.words)) if known is not None and not gaps else None
    return gaps if more is None else [_gap(beginning, more)]


def further_forms(opcode: str) -> list[Gap]:
    """What of an opcode that has a page no page describes, beside families."""
    return [_gap(opcode, more) for more in contracts.gaps.FORMS.get(opcode, ())]


def _gap(name: str, family: Any) -> Gap:
    return Gap(name, family.what, shown(family.since), " ".join(family.only) or f"sm_{family.needs}")


class Coverage(NamedTuple):
    """The opcodes of PTX that pages describe wholly, those that they describe in part, and those that they do not describe; and
    how many families of instructions are not described. An opcode that has a page and of which families or forms are among the
    gaps is described in part."""

    wholly: list[str]
    in_part: list[str]
    not_at_all: list[str]
    families: int

    def __str__(self) -> str:
        return (
            f"PTX has {sum(map(len, self[:3]))} opcodes: {len(self.wholly)} are described, {len(self.in_part)} in part and "
            f"{len(self.not_at_all)} not; {self.families} families of instructions are not described"
        )


def coverage() -> Coverage:
    """How much of PTX the pages describe."""
    gaps = families()
    missing = {gap.opcode for gap in gaps} | set(contracts.gaps.FORMS)
    known = opcodes()
    return Coverage(
        sorted(name for name, has_page in known.items() if has_page and name not in missing),
        sorted(name for name, has_page in known.items() if has_page and name in missing),
        sorted(name for name, has_page in known.items() if not has_page),
        len(gaps),
    )


def gaps_of(checked: Checked) -> list[Diagnostic]:
    """What is said of each gap of a module, in the order of the text."""
    return diagnostics_of_gaps(checked, (*checked.kernels.values(), *checked.functions.values()))


def diagnostics_of_gaps(checked: Checked, kernels: Iterable[Kernel]) -> list[Diagnostic]:
    """What is said of each gap of some entries and functions of a module, in the order of the text."""
    gaps = sorted((gap for kernel in kernels for gap in kernel.gaps), key=lambda gap: gap.position)
    return [gap.diagnostic(checked.source) for gap in gaps]


def missing(mnemonic: str, opcode: Opcode | None, module: Epoch | None) -> Missing | str | None:
    """What an instruction that no page describes is of; a str says why a module of this version and target (None: of any) does
    not have it. None if PTX has no such instruction. `opcode` is what pages say of its opcode."""
    page = contracts.gaps
    family: contracts.gaps.Family | contracts.gaps.Further
    name = page.family_of(mnemonic)
    if name is None:
        more = page.further_form(mnemonic, frozenset(opcode.words)) if opcode is not None else None
        if more is None:
            return None
        result, family = Missing(mnemonic, more.what), more
    else:
        family = page.FAMILIES[name]
        foreign = page.foreign(mnemonic, name)
        if foreign:
            if opcode is not None and any(m.startswith(f"{name}.") for m in opcode.lasting.mnemonics):
                return None
            longer = (f.removeprefix(f"{name}.") for f in page.FAMILIES if f.startswith(f"{name}."))
            words = sorted({*family.words, *(f.split(".")[0] for f in longer)})
            instead = did_you_mean(f".{foreign[0]}", (f".{word}" for word in words))
            return f"there is no {mnemonic}: {name} has no .{foreign[0]}{instead}"
        result = Missing(name, family.what)
    early = None if module is None else too_early(mnemonic, family.since, family.needs, module, family.only)
    return early or result


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
