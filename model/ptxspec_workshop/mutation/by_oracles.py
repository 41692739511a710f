"""Whether something that does not come from the definitions notices a mutant: what an H200 answered, and the pages' examples,
whose results somebody wrote down.

Recorded answers to functions are compared by the exact interpretation: no shortcut of a processor stands in for a definition.
They must be what the definitions give under the chip's profile, and among what they allow under none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.kernels.signatures import approximate, inputs_of, results_of
from ptxspec.language.forms import Form, page_name
from ptxspec.literate import finder
from ptxspec.terms import exact
from ptxspec.terms.profiles import Profile
from ptxspec.terms.python_code import PythonScript
from ptxspec_workshop.compare.image_runs import computed
from ptxspec_workshop.generate import function_cases, image_sweeps
from ptxspec_workshop.generate.effect_cases import asks_images
from ptxspec_workshop.generate.image_cases import ImageCase, QueryCase, TextureCase
from ptxspec_workshop.generate.image_kernels import mnemonic
from ptxspec_workshop.mutation.meanings import FormVariant
from ptxspec_workshop.programs.examples import failures
from ptxspec_workshop.record.families import FAMILIES, FUNCTIONS, LATER_FUNCTIONS
from ptxspec_workshop.record.image_answers import KEPT

#: seconds for the recorded answers of functions, about one mutant: all rows of a form are looked at, of form after form
SECONDS = 6.0
#: forms of one mutant whose kernels are run, in each family
RUN = 4
#: seconds for images, about one mutant, and rows of a case: all that a case for a surface has, since its last bytes are compared
IMAGE_SECONDS, ROWS = 15.0, 200


class Noticed(NamedTuple):
    """What noticed a mutant: the kind of oracle, its name, and what it was about."""

    kind: str
    name: str
    shown: str


# Examples --------------------------------------------------------------------------------------------------------------


def examples(pages: Iterable[str]) -> Noticed | None:
    """An example of these pages that does not leave what its comments say."""
    for module in pages:
        loaded = finder.load(module)
        for fence in finder.document_of(loaded).of("ptx"):
            where = f"{page_name(str(loaded.__file__))}:{fence.line}"
            try:
                wrong = failures(fence.text)
            except exact.NoChoice as error:
                return Noticed("example", where, str(error))
            if wrong:
                return Noticed("example", where, wrong[0])
    return None


# Recorded answers ------------------------------------------------------------------------------------------------------


@cache
def answers() -> dict[str, Any]:
    """The recorded answers by family."""
    return {name: family.read() for name, family in FAMILIES.items()}


def recorded(cases: Sequence[FormVariant]) -> Noticed | None:
    """A recorded answer that is not what the definitions give, or allow, to one of these cases. First those that are functions of
    their operands, each with its rows; then a few of those whose kernels have to be run."""
    known = _answers_of_functions()
    others = []
    begun = time.process_time()
    for case in cases:
        if time.process_time() - begun > SECONDS:
            break
        if str(case.form) in known and FUNCTIONS.asks(case.form):
            noticed = _of_function(case, known[str(case.form)])
            if noticed is not None:
                return noticed
        else:
            others.append(case)
    return _of_kernels(others)


@cache
def _answers_of_functions() -> dict[str, np.ndarray]:
    """The recorded answers to functions, by form, whichever GPU gave them: all have one profile."""
    kept = (answers()[name] for name in FAMILIES if FAMILIES[name] in (FUNCTIONS, LATER_FUNCTIONS))
    return {form: rows for known in kept if known is not None for form, rows in known.values.items()}


def _of_function(case: FormVariant, answered: np.ndarray) -> Noticed | None:
    same_form = [c for c in function_cases.cases([case.form]) if c.name == str(case.form)]
    for function_case in same_form[:1]:
        table = function_case.table
        run, profile = _scripted(function_case.meaning), Profile("hopper")
        near = approximate(case.form)
        for i in range(len(table)):
            want = tuple(int(v) for v in answered[i])
            got = run(profile.value, *table[i])
            if got is not None and got != want:
                return Noticed(
                    "recorded answer", str(case.form), f"{_shown(table[i])}: {_shown(got)}, not {_shown(want)}"
                )
            if near and i % 16 == 0 and not _allowed(function_case.meaning, table[i], want):
                return Noticed("recorded answer", str(case.form), f"{_shown(table[i])}: {_shown(want)} is not allowed")
    return None


def _allowed(meaning: Any, row: Sequence[int], bits: Sequence[int]) -> bool:
    """Whether the definitions allow these results without a profile."""
    values = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(inputs_of(meaning), row, strict=True)}
    settled: dict[Any, int] = {}
    choose = Profile("portable").chosen
    try:
        return all(
            exact.allows(t, values, b, choose, settled) for (_, t), b in zip(results_of(meaning), bits, strict=True)
        )
    except exact.NoChoice:
        return True  # an open result goes into a further computation


def _scripted(meaning: Any) -> Any:
    """A meaning as a function of what chooses and of its operands; None is returned where nothing chooses."""
    names = {name: (f"w{k}", type) for k, (name, type) in enumerate(inputs_of(meaning))}

    def bind(name: str) -> str:
        text, type = names[name]
        return f"bool({text})" if type.kind == "pred" else text

    script = PythonScript(bind)
    outputs = "".join(f"int({script.value(term)}), " for _, term in results_of(meaning))
    run = script.function(["choose", *(text for text, _ in names.values())], f"({outputs})")

    def result(choose: Any, *row: int) -> tuple[int, ...] | None:
        try:
            return tuple(run(choose, *row))
        except exact.NoChoice:
            return None

    return result


def _shown(values: Iterable[int]) -> str:
    return ", ".join(map(hex, values))


def _of_kernels(cases: Sequence[FormVariant]) -> Noticed | None:
    """The same for forms with effects: their kernels are run. Of each family a few forms are tried, spread over all."""
    forms = list({str(case.form): case.form for case in cases}.values())
    for name, family in FAMILIES.items():
        known = answers()[name]
        if family in (FUNCTIONS, LATER_FUNCTIONS) or known is None:
            continue
        answered = [f for f in forms if family.asks(f) and any(n in known.values for n in family.names(f))]
        for form in answered[:: max(1, -(-len(answered) // RUN))]:
            differing = family.compare([form], known)[1]
            if differing:
                return Noticed("recorded answer", differing[0].form, str(differing[0]))
    return None


# Images ----------------------------------------------------------------------------------------------------------------


@cache
def _images() -> tuple[dict[str, list[ImageCase]], dict[str, np.ndarray]]:
    """The cases for textures and surfaces by their opcodes, and the answers by their names. Some rows of a few cases are known to
    differ from the definitions; these cases tell nothing."""
    with np.load(KEPT / "answers.npz") as kept:
        answered = {name: kept[name] for name in kept.files}
    differing = json.loads((KEPT / "answers.json").read_text("utf-8"))["differing"]  # without a mistake, too
    by_opcode: dict[str, list[ImageCase]] = {}
    for case in image_sweeps.cases():
        if case.name in answered and case.name not in differing:
            by_opcode.setdefault(mnemonic(case).split(".")[0], []).append(case)
    return by_opcode, answered


def prepare(forms: Sequence[Form]) -> None:
    """Read what will be asked about mutants that may change these forms, once for all of them."""
    answers()
    if any(asks_images(form) for form in {form.syntax.opcode: form for form in forms}.values()):
        _images()


def looked_up(cases: Iterable[FormVariant]) -> Noticed | None:
    """A recorded lookup, or access of a surface, that these opcodes do not give: of each kind as many as the time allows."""
    opcodes = dict.fromkeys(case.form.syntax.opcode for case in cases if asks_images(case.form))
    by_opcode, answered = _images() if opcodes else ({}, {})
    begun = time.process_time()
    for opcode in opcodes:
        for case in in_turns(by_opcode.get(opcode, [])):
            if time.process_time() - begun > IMAGE_SECONDS:
                return None
            results = computed(case, "native", most=ROWS)
            want = answered[case.name][: len(results)]
            if results.shape != want.shape or (results != want).any():
                return Noticed("recorded lookup", case.name, f"differs in {opcode}")
    return None


def in_turns(cases: Iterable[ImageCase]) -> Iterator[ImageCase]:
    """One case of each kind after the other, then a second one of each: kinds of access, operation and geometry, and how a
    texture is looked up. Those that are there for a spelling come last."""
    kinds: dict[Any, list[ImageCase]] = {}
    for case in sorted(cases, key=lambda case: bool(case.spelling)):
        if isinstance(case, QueryCase):
            kind: Any = case.spelling, case.image.geometry
        elif isinstance(case, TextureCase):
            kind = case.geometry, case.mode, case.filter, case.whole, case.component, case.fractions
        else:
            kind = case.access, case.operation, case.geometry
        kinds.setdefault((bool(case.spelling), *kind), []).append(case)
    for turn in range(max(map(len, kinds.values()), default=0)):
        yield from (cases_of_kind[turn] for cases_of_kind in kinds.values() if turn < len(cases_of_kind))
