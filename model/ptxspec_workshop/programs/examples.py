"""The examples of pages, and what they say of themselves: comments that state what a register or a variable holds at the end.

An example is a sequence of instructions, which a single thread executes, or a program: a module with an entry. Of a program,
`d = 3` says that the register holds 3 in every thread, or the variable in memory. `d = {3, 4}` says it of the first thread and
the second, or of the elements of an array; `...` stands for others, of which nothing is said. `out[1] = 4` is one element.
`ends the launch: trap` stands where an instruction breaks this rule.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxspec.query.evaluate import evaluate
from ptxspec.terms.types import Type
from ptxspec_workshop.programs.alone import ProgramOutcome, VariableContents, run

_COMMENT = re.compile(r"//([^\n]*)")
_CLAIM = re.compile(r"(?<![\w%$.\]])([\w%$.]+)(?:\[(\d+)\])? = (\{[^}]*\}|-?[\w.]+)")
_ENDS = re.compile(r"ends the launch: ([a-z ]*[a-z])")
_FLOAT = re.compile(r"-?\d+\.\d*(e-?\d+)?|-?inf")


#: seconds that a program may take
SECONDS = 20.0


class StatedValue(NamedTuple):
    """What a comment states: on which line, of what, of which element, and the texts of the values."""

    line: int
    name: str
    element: int | None
    values: list[str]
    is_list: bool
    is_open: bool
    """whether nothing is said of the values that follow"""

    @property
    def shown(self) -> str:
        place = "" if self.element is None else f"[{self.element}]"
        return f"line {self.line}: {self.name}{place}"


def is_program(text: str) -> bool:
    """Whether an example is a module with an entry, and not a sequence of instructions."""
    return ".entry" in text


def claims(text: str) -> list[StatedValue]:
    """What the comments state of registers and variables, in order."""
    result = []
    for number, line in enumerate(text.splitlines(), 1):
        comment = _COMMENT.search(line)
        if comment is None or comment[1].split()[:1] == ["bind"]:
            continue
        for name, element, written in _CLAIM.findall(comment[1]):
            values = re.findall(r"[^\s,{}]+", written)
            is_open = values[-1:] == ["..."]
            listed = written.startswith("{")
            values = values[: len(values) - is_open]
            result.append(StatedValue(number, name, int(element) if element else None, values, listed, is_open))
    return result


def endings(text: str) -> list[tuple[int, str]]:
    """The lines at which a launch is said to end, and the rules."""
    lines = enumerate(text.splitlines(), 1)
    return [(n, m[1]) for n, line in lines if (c := _COMMENT.search(line)) and (m := _ENDS.search(c[1]))]


def bits_of(text: str, width: int) -> int | bool:
    """What a comment says of a register, as the bits of one of that width."""
    if text in ("true", "false"):
        return text == "true"
    if _FLOAT.fullmatch(text):
        return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[width], float(text)), "little")
    return int(text, 0) & ((1 << width) - 1)


def complaints(text: str) -> list[str]:
    """What is wrong with an example of a page, a sentence each: it states nothing, or `failures`. Raises what these raise."""
    return failures(text) if claims(text) or endings(text) else ["an example that states nothing"]


def failures(text: str) -> list[str]:
    """What an example leaves that is not what its comments state, a sentence each. Raises what `evaluate` or `run` raises."""
    return of_program(text, run(text, SECONDS)) if is_program(text) else _of_instructions(text)


def _of_instructions(text: str) -> list[str]:
    results = evaluate(text)
    differences = []
    for claim in claims(text):
        if claim.name not in results:
            differences.append(f"{claim.shown}: nothing writes it")
        elif results[claim.name] != bits_of(claim.values[0], results.types[claim.name].width):
            differences.append(f"{claim.shown} = {int(results[claim.name]):#x}, not {claim.values[0]}")
    return differences


def of_program(text: str, outcome: ProgramOutcome) -> list[str]:
    """The same of a program that was run."""
    wanted, ended = endings(text), []
    if outcome.error is not None:
        ended = [(outcome.error.where.line if outcome.error.where else 0, outcome.error.rule)]
    differences = [] if ended == wanted else [f"the launch ended with {ended}, not {wanted}: {outcome.error}"]
    held = {variable.name: variable for variable in outcome.held}
    for claim in claims(text):
        if claim.name in held:
            differences += _of_variable(claim, held[claim.name])
        elif claim.name in outcome.types and outcome.error is not None:
            differences.append(f"{claim.shown}: a launch that has ended with an error leaves no registers")
        elif claim.name in outcome.types:
            values = [thread.registers[claim.name] for thread in outcome.threads]
            differences += _compared(claim, values, outcome.types[claim.name], everywhere=not claim.is_list)
        else:
            differences.append(f"{claim.shown}: no register of the entry and no variable is called that")
    return differences


def _of_variable(claim: StatedValue, held: VariableContents) -> list[str]:
    values = held.after if claim.element is None else held.after[claim.element : claim.element + 1]
    return _compared(claim, values, held.type, everywhere=False)


def _compared(claim: StatedValue, values: Sequence[Any], type: Type, everywhere: bool) -> list[str]:
    """What a claim says of values, one by one or of each of them."""
    stated = claim.values * len(values) if everywhere else claim.values
    if len(values) < len(stated) or (len(values) > len(stated) and not claim.is_open):
        return [f"{claim.shown} has {len(values)} values, not {len(stated)}"]
    wanted = [bits_of(text, type.width) for text in stated]
    return [
        f"{claim.shown} = {int(value):#x}, not {int(bits):#x}, in place {i}"
        for i, (value, bits) in enumerate(zip(values, wanted, strict=False))
        if value != bits
    ]
