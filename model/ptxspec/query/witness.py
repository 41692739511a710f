"""A module that shows a counterexample: a kernel that runs both sides on its inputs and stores what each leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ptxspec.language.building.modules import FragmentHeading
from ptxspec.language.diagnostics import PtxError, Source
from ptxspec.language.parser import ended, parse_fragment
from ptxspec.language.specials import first_name
from ptxspec.query.outcomes import SymbolicFragment, Unsupported
from ptxspec.query.verdicts import Counterexample
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.types import Type

#: the versions and targets that are tried, one after the other, for fragments that name none
TARGETS = (("8.0", "sm_80"), ("9.0", "sm_90"), ("9.0", "sm_90a"), ("9.0", "sm_100a"), ("9.0", "sm_120a"))
#: bytes for each result
SLOT = 16
#: the kernel
NAME = "show"


def kernel(sides: tuple[SymbolicFragment, SymbolicFragment], counterexample: Counterexample) -> str:
    """The text of a module with the entry `show(.u64 out)`. It stores what the left side leaves in the compared registers, in a
    slot of 16 bytes each in the order of `found.compared`, and then in as many what the right side leaves. Inputs are loaded from
    variables, so that no compiler computes the results. A value that a special register had is an input like any other. Raises
    Unsupported where no module takes both sides, as where they are of different targets, and where the difference does
    not show."""
    heading, other = map(_heading, sides)
    if (heading and (heading.version, heading.target)) != (other and (other.version, other.target)):
        raise Unsupported("no kernel shows this counterexample: the sides are of different versions or targets")
    body = "\n".join(_lines(sides, counterexample))
    tried = list(TARGETS)
    if heading is not None:
        numbers = [".".join(map(str, heading.version))] if heading.version else [v for v, _ in TARGETS]
        targets = [heading.target] if heading.target else [t for _, t in TARGETS]
        tried = [(version, target) for version in numbers for target in targets]
    why: object = None
    for version, target in tried:
        text = f"{_comment(sides, counterexample)}.version {version}\n.target {target}\n.address_size 64\n\n{body}\n"
        try:
            shows = bool(counterexample.choices) or _differs(text, len(counterexample.compared))
        except PtxError as error:
            why = error
            continue
        if shows:
            return text
        why = f"the sides agree for {target} with the version {version}"
    raise Unsupported(f"no kernel shows this counterexample: {why}")


def _differs(text: str, count: int) -> bool:
    """Whether the kernel stores different results, when it is launched here. Raises PtxError."""
    import numpy as np

    from ptxspec.language.check import check
    from ptxspec.machine.module import Module

    results = np.zeros(2 * SLOT * count, np.uint8)
    Module(check(text, "<the counterexample's kernel>")).launch(NAME, 1, 1, [results])
    return bool((results[: SLOT * count] != results[SLOT * count :]).any())


def _heading(side: SymbolicFragment) -> FragmentHeading | None:
    heading, _ = parse_fragment(Source(ended(side.text), "<side>"))
    return heading


def _comment(sides: tuple[SymbolicFragment, SymbolicFragment], counterexample: Counterexample) -> str:
    lines = ["This kernel shows inputs for which two fragments leave different results."]
    for which, side in zip(("Left:", "Right:"), sides, strict=True):
        lines += [which, *(f"  {line.strip()}" for line in side.text.strip().splitlines())]
    inputs = ", ".join(f"{n} = {int(v):#x}" for n, v in counterexample.inputs.items())
    lines += [f"They differ in {', '.join(counterexample.differing)}, with {inputs or 'no inputs'}."]
    names = list(counterexample.compared)
    lines += [f"{NAME}(out) stores, {SLOT} bytes each: {', '.join(names)} of the left side, then of the right side."]
    if counterexample.choices:
        entries = ", ".join(dict.fromkeys(choice.entry for choice in counterexample.choices))
        lines += [f"PTX leaves a result open here ({entries}): a chip may choose so that they agree."]
    return "".join(f"// {line}\n" for line in lines) + "\n"


def _lines(sides: tuple[SymbolicFragment, SymbolicFragment], counterexample: Counterexample) -> Iterator[str]:
    variables = {name: f"$in{i}" for i, name in enumerate(counterexample.inputs)}
    for name, variable in variables.items():
        yield _variable(variable, name, counterexample.inputs[name], counterexample.types[name])
    yield f"\n.visible .entry {NAME}(.param .u64 out)\n{{"
    yield "  .reg .u64 $out;\n  .reg .b32 $word;"
    yield "  ld.param.u64 $out, [out];\n  cvta.to.global.u64 $out, $out;"
    for i, side in enumerate(sides):
        yield f"  // the {('left', 'right')[i]} side\n  {{"
        at = i * SLOT * len(counterexample.compared)
        yield from (f"    {line}" for line in _side(side, counterexample, variables, at))
        yield "  }"
    yield "  ret;\n}"


def _variable(variable: str, name: str, value: Any, type: Type) -> str:
    width = max(32, type.width) if type.kind == "pred" else type.width
    if width == 128:
        low = (1 << 64) - 1
        return f".visible .global .align 16 .b64 {variable}[2] = {{{value & low:#x}, {value >> 64:#x}}}; // {name}"
    return f".visible .global .align 8 .b{width} {variable} = {int(value):#x}; // {name}"


def _side(side: SymbolicFragment, counterexample: Counterexample, variables: dict[str, str], at: int) -> Iterator[str]:
    """One side in a block of its own: its registers, its inputs, its text, and the stores of its results."""
    specials = [name for name in side.inputs if name not in side.registers]
    registers = {name: f"$special{i}" for i, name in enumerate(specials)}
    types = {n: t for n, t in side.registers.items() if n != CONDITION_CODE}
    types |= {registers[n]: counterexample.types[n] for n in specials}
    for name, type in types.items():
        yield f".reg .{'pred' if type.kind == 'pred' else f'b{type.width}'} {name};"
    for name in sorted(side.inputs, key=lambda n: n == CONDITION_CODE):  # the flag last
        yield from _load(registers.get(name, name), variables[name], counterexample.types[name])
    yield from _text(side, registers)
    for i, (name, type) in sorted(
        enumerate(counterexample.compared.items()), key=lambda item: item[1][0] != CONDITION_CODE
    ):
        yield from _store(name, side.left[name] if type.kind == "pred" else type, side, at + i * SLOT)


def _load(register: str, variable: str, type: Type) -> Iterator[str]:
    if register == CONDITION_CODE:
        yield f"ld.global.b32 $word, [{variable}];"
        yield "add.cc.u32 $word, $word, 0xffffffff;"
    elif type.kind == "pred":
        yield f"ld.global.b32 $word, [{variable}];"
        yield f"setp.ne.u32 {register}, $word, 0;"
    elif type.width == 128:
        halves = f"ld.global.v2.b64 {{$low, $high}}, [{variable}]; mov.b128 {register}, {{$low, $high}};"
        yield f"{{ .reg .b64 $low, $high; {halves} }}"
    else:
        yield f"ld.global.b{type.width} {register}, [{variable}];"


def _text(side: SymbolicFragment, registers: dict[str, str]) -> Iterable[str]:
    """A side's instructions, with registers in the place of special registers."""

    def replaced(match: re.Match[str]) -> str:
        return registers.get(first_name(match[0]), match[0])

    lines = [step.text for step in side.steps] if _heading(side) is not None else ended(side.text).strip().splitlines()
    return [re.sub(r"%\w+(\.[a-z]\b)?", replaced, line.strip()) for line in lines]


def _store(name: str, type: Type, side: SymbolicFragment, at: int) -> Iterator[str]:
    """The store of a result: as many of its bits as are compared. What is left of the slot is zero before."""
    if name == CONDITION_CODE:
        yield f"addc.u32 $word, 0, 0;\nst.global.b32 [$out+{at}], $word;"
    elif type.kind == "pred":
        yield f"selp.b32 $word, 1, 0, {name};"
        yield f"st.global.b32 [$out+{at}], $word;"
    elif side.registers[name].width == 128:
        halves = f"mov.b128 {{$low, $high}}, {name}; st.global.v2.b64 [$out+{at}], {{$low, $high}};"
        yield f"{{ .reg .b64 $low, $high; {halves} }}"
    else:
        width = min(type.width, side.registers[name].width)
        yield f"st.global.b{width} [$out+{at}], {name};"
