"""Steps of the pages as Python functions of words: how the exact engine takes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ptxspec.terms.python_code import PythonScript
from ptxspec.terms.steps import Step


@cache
def scripted(step: Step) -> Callable[..., Any]:
    """A step as a Python function of words: those of its records, then its operands. It gives the rule that was broken, or None
    and the words that the step gives."""
    types = {n: t for port in (*step.states, *step.operands) for n, t in port.words.items()}
    names = {name: f"w{k}" for k, name in enumerate(types)}

    def bind(name: str) -> str:
        type = types[name]
        return f"bool({names[name]} & 1)" if type.kind == "pred" else f"{names[name]} & {(1 << type.width) - 1}"

    script = PythonScript(bind)
    requirements, terms = step.meaning
    for rule, condition in requirements:
        script.say(f"if not {script.value(condition)}: return ({rule!r},)")
    outputs = "".join(f", int({script.value(term)})" for term in terms)
    # functions that a script calls are given what chooses open results; no step has any
    return script.function([*names.values(), "choose=None"], f"(None{outputs})")
