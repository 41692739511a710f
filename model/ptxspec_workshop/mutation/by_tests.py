"""Whether one of the project's own tests notices a mutant. They hold what the definitions give against lookups and products that
a GPU answered, IEEE arithmetic, and results that somebody worked out.

A test is asked if its function, or one of its file that it calls, names a function of a page that the mistake may change, or
writes an instruction that it may change. Those that name the very function are asked first, then those that name one of its page.
The first test that fails is run again without the mistake: it has to pass there, or else it tells nothing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base.places import DOCUMENTS
from ptxspec_workshop.mutation.isolated import Ended, call
from ptxspec_workshop.mutation.mutants import TABLE, Mutant
from ptxspec_workshop.mutation.planting import planted
from ptxspec_workshop.mutation.reach import graph, keys, table_names

#: the folders of tests that are asked: of the pages, of launches, and of what a GPU answered
FOLDERS = ("tests/spec", "tests/machine")
#: tests that plant mistakes themselves, or compare all that there is
LEFT_OUT = frozenset(("test_mutation.py", "test_agreement.py"))
#: functions of tests that are asked about a mutant, and the processor's seconds for all of them
MOST, TOGETHER = 12, 90
#: bytes that tests may take: they hold arrays, and code is compiled
MEMORY = 6 << 30
#: what a test raises when there is no more of something: this is not said of a definition
LIMITS = (MemoryError, TimeoutError)


#: functions, each by its page's name and its own
Functions = Collection[tuple[str, str]]


class FailedTest(NamedTuple):
    """A test that fails, and what it says."""

    name: str
    shown: str


class Test(NamedTuple):
    """A function of a file of tests: its name for pytest, and the Python that it may execute of this file, with the names that it
    imports from pages as `page.name`."""

    name: str
    text: str


# Which tests ----------------------------------------------------------------------------------------------------------


@cache
def tests() -> tuple[Test, ...]:
    """The functions of tests, none where the project is installed without them."""
    files = (path for folder in FOLDERS for path in sorted((DOCUMENTS / folder).glob("test_*.py")))
    return tuple(test for path in files if path.name not in LEFT_OUT for test in _of_file(path))


def _of_file(path: Path) -> Iterator[Test]:
    tree = ast.parse(path.read_text("utf-8"))
    definitions: dict[str, ast.stmt] = {}
    imported: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign):
            definitions |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxspec.spec"):
            page = str(node.module).rpartition(".")[2]
            imported |= {alias.asname or alias.name: f"{page}.{alias.name}" for alias in node.names}
    for name in definitions:
        if name.startswith("test_"):
            nodes = [definitions[n] for n in _used(name, definitions)]
            named = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
            texts = [*map(ast.unparse, nodes), *(imported[n] for n in sorted(named & imported.keys()))]
            yield Test(f"{path.relative_to(DOCUMENTS)}::{name}", "\n".join(texts))


def _used(first: str, definitions: dict[str, ast.stmt]) -> list[str]:
    """A name of a file, and those of it that its Python looks up, directly or not."""
    used = [first]
    for name in used:
        names = [n.id for n in ast.walk(definitions[name]) if isinstance(n, ast.Name)]
        names += [n.arg for n in ast.walk(definitions[name]) if isinstance(n, ast.arg)]  # a fixture
        used += [n for n in dict.fromkeys(names) if n in definitions and n not in used]
    return used


def about(mutant: Mutant) -> list[Test]:
    """The tests that are asked about a mutant, the likeliest first."""
    exact, same_page, others = _named(mutant)
    opcodes = sorted(graph().opcodes(mutant))
    writes = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, opcodes))})\.") if opcodes else None
    ranked = []
    for test in tests():
        rank = next((i for i, names in enumerate((exact, same_page, others)) if _names(test.text, names)), 3)
        if rank < 3 or (writes and writes.search(test.text)):
            ranked.append((rank, len(test.text), test))
    return [test for *_, test in sorted(ranked)][:MOST]


def _named(mutant: Mutant) -> tuple[Functions, Functions, Functions]:
    """The functions and classes of pages that a mistake may change: its own, those of its page, and the others."""
    wanted, page = keys(mutant), mutant.module.rpartition(".")[2]
    names_changed = set(table_names(mutant)) if mutant.function == TABLE else {mutant.function.partition(".")[0]}
    same: set[tuple[str, str]] = set()
    others: set[tuple[str, str]] = set()
    for function in list(graph().live.values()):
        if wanted & graph().reached_by(function):
            module = str(function.__globals__["__name__"])
            (same if module == mutant.module else others).add(
                (module.rpartition(".")[2], function.__qualname__.partition(".")[0])
            )
    return {(page, name) for name in names_changed}, same, others


def _names(text: str, functions: Functions) -> bool:
    """Whether Python names one of these functions, by its page or as it is."""
    return any(re.search(rf"\b{re.escape(page)}\.{re.escape(name)}\b", text) for page, name in functions)


# What they say --------------------------------------------------------------------------------------------------------


class _FirstFailure:
    """The first test that fails, as a plugin of pytest."""

    def __init__(self, skipped: type[BaseException]) -> None:
        self.skipped = skipped
        self.failure: FailedTest | None = None

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        raised = call.excinfo
        if raised is None or self.failure is not None or issubclass(raised.type, (*LIMITS, self.skipped)):
            return
        self.failure = FailedTest(item.nodeid, f"{raised.typename}: {raised.value}")


def failing(names: Sequence[str]) -> FailedTest | None:
    """The first of some tests that fails. To be called in a process that ends afterwards: tests load modules."""
    import pytest

    first = _FirstFailure(pytest.skip.Exception)
    how = ["-x", "-q", "-m", "not long", "-p", "no:cacheprovider", "-c", str(DOCUMENTS / "pyproject.toml")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main([*how, f"--rootdir={DOCUMENTS}", *(str(DOCUMENTS / name) for name in names)], plugins=[first])
    return first.failure


def noticed(mutant: Mutant, first: str = "") -> FailedTest | None:
    """The test that fails with a mistake and not without, of those about it; that of the name `first` is tried before the
    others."""
    names = [test.name for test in about(mutant)]
    if first:
        names = [first, *(name for name in names if name != first)]

    def failing_at(
        these: Sequence[str], within: Callable[[], contextlib.AbstractContextManager[None]]
    ) -> FailedTest | None:
        def ask() -> FailedTest | None:
            with within():
                return failing(these)

        try:
            return call(ask, TOGETHER, MEMORY) if these else None
        except Ended:
            return None

    failed = failing_at(names, lambda: planted(mutant))
    if failed is None or failing_at([failed.name], contextlib.nullcontext) is not None:
        return None
    return failed
