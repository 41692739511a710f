"""From which version and target on every form exists: our pages beside ptxas 13.0 and 13.5, of which the stricter one counts."""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.evidence.assembler import assemble, newest_ptxas, ptxas
from ptxspec.evidence.kernels.instruction_kernels import (
    kernel,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.language.check import check
from ptxspec.language.forms import Form

Version = tuple[int, int]
TARGETS = contracts.directives.TARGETS
VERSIONS = [(major, minor) for major, last in contracts.directives.VERSIONS.items() for minor in range(last + 1)]
#: the newest version that ptxas 13.0 knows
OLDER = (9, 0)
#: the names that another target has now
NOW = {"sm_101": "sm_110", "sm_101a": "sm_110a", "sm_101f": "sm_110f"}
#: how often ptxas is asked that has died
TRIES = 20
#: so many kernels of a module, where all are accepted and where none is: some errors hide others
TOGETHER = {True: 200, False: 50}
#: modules in which both accept instructions that the manual, and our pages, have in later ones only
EARLIER = {
    ((1, 0), "sm_11"): "atom in global memory, of PTX 1.1", ((1, 1), "sm_10"): "brackets around all coordinates",
    ((1, 2), "sm_12"): "double precision, made single", ((9, 0), "sm_12"): "double precision, made single",
    ((1, 3), "sm_13"): "rounded quotients and roots", ((9, 0), "sm_13"): "carries of 64 bits",
    ((4, 2), "sm_20"): "carries of 64 bits", ((9, 0), "sm_21"): "shared::cta and what comes with it",
    ((5, 1), "sm_30"): "instructions of a warp", ((5, 1), "sm_53"): "negation in half precision",
    ((5, 1), "sm_70"): "the memory consistency model", ((6, 2), "sm_70"): "nanosleep, of PTX 6.3",
}  # fmt: skip


class Probe(NamedTuple):
    """A kernel of one form, the module that it stands in, and whether our pages say that this is one of those that have it."""

    text: str
    instruction: str
    version: Version
    target: str
    exists: bool


def number(target: str) -> int:
    return int(re.sub(r"\D", "", target))


def plain() -> list[str]:
    """The targets whose number alone counts."""
    return [t for t in TARGETS if t[-1].isdigit()]


def written(form: Form, absent: tuple[str, ...], second: bool) -> list[str]:
    """The names of the operands of an instruction."""
    operands = [o for o in form.syntax.operands if o.name not in absent]
    return [*(o.name for o in operands), *(o.second for o in operands if o.second and second)]


def probes(form: Form, absent: tuple[str, ...], second: bool) -> Iterator[Probe]:
    """The first module that has an instruction, and the last ones before it by version and by target."""
    whole = kernel(form, "k", absent)
    line = whole.instruction if second else re.sub(r"\|%x\d+(?=[,;])", "", whole.instruction)
    text = whole.text.replace(whole.instruction, line)
    since, least = form.definition.availability(form.modifiers, operands=written(form, absent, second))
    target = form.only[0] if form.only else next(t for t in plain() if number(t) >= least)
    first = max(since, TARGETS[target])
    yield Probe(text, line, first, target, True)
    before = VERSIONS[max(VERSIONS.index(first) - 1, 0)]
    if before < since and TARGETS[target] <= before:
        yield Probe(text, line, before, target, False)
    lower = [t for t in plain() if number(t) < least]
    if lower and not form.only:
        earlier = max(lower, key=number)
        newest = first if form.removal else max(first, OLDER)
        yield Probe(text, line, newest, earlier, False)


def found(forms: list[Form]) -> Iterator[Probe]:
    for form in forms:
        if form.is_dropped:
            continue
        has_second = any(o.second and not o.paired for o in form.syntax.operands)
        for variant in [form, form.hinted] if form.syntax.telling else [form]:
            for absent in {variant.absences[0], variant.absences[-1]}:
                for second in (True, False) if has_second else (True,):
                    yield from probes(variant, absent, second)


def some_of_each(forms: list[Form]) -> list[Form]:
    """Forms among which each definition has each availability, and each value of each modifier."""
    seen: set[object] = set()
    chosen = []
    for form in forms:
        own = form.definition
        has = {(own, form.availability, form.only), *((own, *pair) for pair in form.modifiers.items())}
        if not has <= seen:
            seen |= has
            chosen.append(form)
    return chosen


def answer_of(text: str, arch: str, by: str) -> list[tuple[int, str]]:
    """The errors of ptxas. It is asked again where it has died: 13.5 does, two times of three, of the address of a function in 128
    bits."""
    errors: list[tuple[int, str]] = []
    for _ in range(TRIES):
        errors = assemble(text, arch, "-O0", by=by)
        if all(line for line, _ in errors):
            break
    return errors


def refused(some: list[Probe], by: str) -> set[int]:
    """The numbers of the probes of one module whose instruction ptxas does not accept."""
    version, target = some[0].version, NOW.get(some[0].target, some[0].target)
    arch = target if number(target) > 90 or target[-1] in "af" else "sm_90"
    left, found = dict(enumerate(some)), set()
    while left:
        text = module_around([p.text for p in left.values()], ".".join(map(str, version)), some[0].target)
        lines = text.split("\n")
        starts = [i for i, line in enumerate(lines, 1) if line.startswith(".visible .entry")]
        wrong = set()
        for line, _ in answer_of(text, arch, by):
            at = bisect.bisect_right(starts, line) - 1
            assert at >= 0, (version, target, lines[line - 1])
            key = list(left)[at]
            wrong.add(key)
            if left[key].instruction == lines[line - 1]:
                found.add(key)
        if not wrong:
            break
        left = {k: p for k, p in left.items() if k not in wrong}
    return found


def needs_more(probe: Probe) -> bool:
    """Whether the module lacks something else that the kernel needs: functions with parameters, the address of a function, opaque
    variables but for textures, fewer than four coordinates in brackets; ptxas reads a volume by its gradients through handles,
    which came with 4.0."""
    opcode = probe.instruction.split(".")[0].split()[0]
    if opcode == "tex" and probe.version < (1, 2):
        return True
    if "some_surface" in probe.instruction:
        return probe.version < (1, 5)
    if "some_sampler" in probe.instruction:
        return probe.version < ((4, 0) if ".grad.3d." in probe.instruction else (1, 5))
    return (opcode == "call" and "(" in probe.instruction and number(probe.target) < 20) or (
        opcode == "mov" and "nothing" in probe.instruction and probe.version < (2, 1)
    )


def compare(some: list[Probe]) -> tuple[list[str], list[str]]:
    """The instructions that a ptxas does not accept in the first module that has them, and those that both accept in one that has
    not."""
    modules: dict[object, list[Probe]] = defaultdict(list)
    for probe in some:
        if not needs_more(probe):
            modules[probe.version, probe.target, probe.exists, "some_sampler" in probe.text].append(probe)
    late, early = [], []
    for own in modules.values():
        exists = own[0].exists
        for i in range(0, len(own), TOGETHER[exists]):
            part = own[i : i + TOGETHER[exists]]
            said = [refused(part, by) for by in ([ptxas()] if part[0].version <= OLDER else []) + [newest_ptxas()]]
            wrong = set.union(*said) if exists else set(range(len(part))) - set.union(*said)
            place = f"{part[0].version} {part[0].target}"
            if exists:
                late += [f"{place}: {part[k].instruction.strip()}" for k in wrong]
            elif (part[0].version, part[0].target) not in EARLIER:
                early += [f"{place}: {part[k].instruction.strip()}" for k in wrong]
    return late, early


def agree(forms: list[Form]) -> int:
    some = list(found(forms))
    late, early = compare(some)
    assert not late, late[:20]
    assert not early, early[:20]
    return len(some)


@pytest.mark.slow
@pytest.mark.one_in(4)
@pytest.mark.parametrize("part", range(8))
def test_some_forms_of_each_definition(part: int, assembler: str, newest_assembler: str) -> None:
    assert agree(some_of_each(list(ptxspec.forms()))[part::8]) > 500


@pytest.mark.long
@pytest.mark.parametrize("opcode", sorted({form.syntax.opcode for form in ptxspec.forms()}))
def test_every_form(opcode: str, assembler: str, newest_assembler: str) -> None:
    assert agree(list(ptxspec.forms(opcode))) > 0


def test_one_sided_fences_came_later_than_others() -> None:
    """With ptxas 13.5; 13.0 takes them as early as any fence."""
    forms = {f.mnemonic: f.availability for f in ptxspec.forms("fence")}
    for sem in ("acquire", "release"):
        assert {forms[f"fence.{sem}.{scope}"] for scope in ("cta", "cluster", "gpu", "sys")} == {((8, 6), 90)}
    assert forms["fence.acq_rel.gpu"] == forms["fence.gpu"] == ((6, 0), 70)


def test_a_rule_may_be_about_an_operand(assembler: str) -> None:
    """An operand that may be omitted can have come later than the instruction."""
    lookup = "tex.2d.v4.f32.f32 {f, f, f, f}%s, [t, {f, f}]%s;"
    offset, resident = lookup % ("", ", {i, i}"), lookup % ("|p", "")
    cases = [
        ("4.2", "sm_30", lookup % ("", ""), None), ("4.2", "sm_30", offset, "with e needs PTX ISA 4.3"),
        ("4.3", "sm_20", offset, "with e needs target sm_30"), ("4.3", "sm_30", offset, None),
        ("7.0", "sm_60", resident, "with p needs PTX ISA 7.1"), ("7.1", "sm_53", resident, "with p needs target sm_60"),
        ("7.1", "sm_60", resident, None),
    ]  # fmt: skip
    for version, target, instruction, why in cases:
        text = (
            f".version {version}\n.target {target}\n.address_size 64\n.global .texref t;\n.entry k() {{ .reg .f32 f; .reg .s32 i;"
            f" .reg .pred p;\n{instruction}\nret; }}\n"
        )
        assert bool(assemble(text, "sm_90", "-O0", by=assembler)) is (why is not None), (version, target, instruction)
        if why is None:
            check(text)
        else:
            with pytest.raises(ptxspec.PtxError, match=why):
                check(text)
