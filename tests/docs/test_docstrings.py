"""Every public name has an example in its docstring, and the examples run."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.base import options
from ptxspec.literate import finder
from ptxspec.terms import vocabulary

#: classes that the machinery uses throughout: their own docstring shows what others need of them
OF_THE_MACHINERY = {"Form", "Type"}
#: what a name is that has no docstring: a set of words
SETS = {name for name in ptxspec.__all__ if get_origin(getattr(ptxspec, name)) is not None}
FLAGS = doctest.NORMALIZE_WHITESPACE


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name and thing that has a docstring of ours, members of classes included."""
    for name in ptxspec.__all__:
        thing = getattr(ptxspec, name)
        if name in SETS:
            continue
        yield name, thing
        if inspect.isclass(thing) and name not in OF_THE_MACHINERY:
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    yield f"{name}.{member}", value


DOCUMENTED = dict(documented())
#: members that the machinery needs and nobody else does
INTERNAL = {"Surface.image", "Texture.image", "Texture.with_sampler"}


def examples(name: str) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(recurse=False, exclude_empty=True)
    scope = {"ptxspec": ptxspec, "np": np}
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    assert text, f"{name} has no docstring"
    return [t for t in finder.find(DOCUMENTED[name], name, module=False, globs=scope) if t.examples]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(set(DOCUMENTED) - INTERNAL))
def test_a_public_docstring_has_examples_that_run(name: str) -> None:
    found = examples(name)
    assert found, f"{name}: no example (>>>) in the docstring"
    said: list[str] = []
    for one in found:
        result = doctest.DocTestRunner(optionflags=FLAGS).run(one, out=said.append)
        assert not result.failed, "".join(said)


def test_internal_members_are_there() -> None:
    assert set(DOCUMENTED) > INTERNAL


def test_public_names_are_listed_and_found() -> None:
    """`dir` knows the names before they are asked for, and each can be had."""
    code = "import ptxspec; print(*[n for n in dir(ptxspec) if not n.startswith('_')])"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(ptxspec.__all__) <= set(run.stdout.split())
    assert sorted(ptxspec.__all__, key=lambda n: (n.islower(), n)) == ptxspec.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ptxspec.nothing  # noqa: B018


def test_whatever_is_returned_or_raised_can_be_named() -> None:
    """The types in the signatures of public functions, and those named after Raises, are public."""
    known = {"ValueError", "TypeError", "KeyError", "OSError", "MemoryError"}
    for name, thing in DOCUMENTED.items():
        text = (inspect.getdoc(thing) or "").partition("Raises")[2].partition(".")[0]
        for word in text.replace(",", " ").split():
            if word[0].isupper() and word.endswith(("Error", "Choice", "Unsupported")):
                assert word in {*ptxspec.__all__, *known}, f"{name} raises {word}"
    for name, thing in DOCUMENTED.items():
        if name.split(".")[0] in OF_THE_MACHINERY or name in INTERNAL:
            continue
        said = dict(vars(thing).get("__annotations__", {})) if inspect.isclass(thing) else {}
        function = thing.fget if isinstance(thing, property) else thing
        if inspect.isfunction(function):
            said["return"] = inspect.signature(function).return_annotation
        for what, annotation in said.items():
            named = set(re.findall(r"(?<!np\.)\b[A-Z]\w+", str(annotation)))
            assert named <= {*ptxspec.__all__, "Any", "None", "Literal", "ForwardRef"}, (
                f"{name}: {what} is {annotation}"
            )


def test_the_sets_of_words_are_those_of_the_machinery() -> None:
    page = finder.load("ptxspec.spec.textures.images")
    assert get_args(options.Geometry) == tuple(page.AXES)
    assert get_args(options.SurfaceGeometry) == page.OF_SURFACES
    assert get_args(options.AddressMode) == tuple(contracts.addressing.HOST_NAMES)
    assert get_args(options.FilterMode) == tuple(contracts.opaque_types.WORDS["filter_mode"])
    assert vocabulary.DEVIATION in get_args(options.Freedom)
    for name in SETS:
        assert getattr(options, name) is getattr(ptxspec, name)
    code = inspect.getsource(vocabulary)
    assert all(f'_freedom("{kind}"' in code for kind in get_args(options.Freedom) if kind != vocabulary.DEVIATION)
    assert code.count('_freedom("') == len(get_args(options.Freedom)) - 1
