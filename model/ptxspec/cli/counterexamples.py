"""Counterexamples in words: the inputs, why the sides differ, and both sides step by step."""

from __future__ import annotations

from typing import Any

from ptxspec.cli.explain import not_executed
from ptxspec.cli.shared import say
from ptxspec.cli.sides import runs
from ptxspec.query.texts import line_of


def show(found: Any, why: Any) -> None:
    """Print a counterexample, and its causes."""
    for shown, value, name in runs(found.inputs):
        say("  " + line_of(shown, value, found.types[name]))
    for choice in found.choices:
        say("  " + choice_line(choice))
    for cause in why.causes:
        say(f"  cause: {cause.name}: {cause.detail}", fg="yellow")
    if why.holds_if:
        say(f"  the claim holds if {why.holds_if}", fg="green")
    for title, steps in (("left", found.left), ("right", found.right)):
        say(f"  {title}:")
        for step in steps:
            for line in step_lines(step):
                say("    " + line)


def choice_line(choice: Any) -> str:
    """A choice of a machine: `division-by-zero(0x3, 0x0) = 0x5 (.u32)`."""
    operands = ", ".join(f"{x:#x}" for x in choice.operands)
    of = f" of {choice.operation}" if choice.operation else ""
    return f"{choice.entry}{of}({operands}) = {choice.bits:#x} ({choice.type})"


def step_lines(step: Any) -> list[str]:
    """An instruction with the line that defines it, and a line for each register that it writes, in all readings."""
    guard = "" if step.guard is None else f"@{step.guard} "
    head = f"{guard + step.instruction:<36} {step.page}"
    if not step.executed:
        return [f"{head}  {not_executed(step.guard)}"]
    return [head, *("  " + written(shown, value, step.types[name]) for shown, value, name in runs(step.writes))]


def written(name: str, value: Any, type: Any) -> str:
    """What is in a register, or a sentence where it is left open."""
    return f"{name}: {value}" if isinstance(value, str) else line_of(name, value, type)
