"""Contracts are resolved in one place, and a page that lacks what one lists is told so."""

from __future__ import annotations

import ast
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.contracts import ContractError, resolving
from ptxspec.literate import finder
from ptxspec.literate.documents import DocumentError

MODEL = Path(ptxspec.__file__).parents[1]
#: whoever goes through the pages that there are, and loads each
READERS = {
    "ptxspec/contracts/resolving.py",
    "ptxspec_workshop/commands/page.py",
    "ptxspec_workshop/disputes/claims.py",
    "ptxspec_workshop/mutation/by_oracles.py",
    "ptxspec_workshop/mutation/mutants.py",
    "ptxspec_workshop/mutation/planting.py",
    "ptxspec_workshop/mutation/reach.py",
    "ptxspec/language/forms.py",
    "ptxspec/language/syntax.py",
    "ptxspec/pages/prose.py",
    "ptxspec/query/identities.py",
    "ptxspec/query/laws.py",
    "ptxspec_workshop/site/pages.py",
    "ptxspec/terms/profiles.py",
}

each = pytest.mark.parametrize("declared", resolving.DECLARED, ids=lambda d: f"{d.name}: {d.contract.__name__}")


class Rules(Protocol):
    @property
    def MOST(self) -> int:
        """A number."""

    def doubled(self, value: int) -> int:
        """A function."""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """Writes a page with this code, and gives the name by which it is resolved."""
    monkeypatch.setitem(finder.ROOTS, "made_up_pages", tmp_path)
    monkeypatch.setattr(resolving, "SPECIFICATION", "made_up_pages")

    def write(name: str, code: str) -> str:
        path = tmp_path / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# A page\n\nWhat it is about.\n\n```python\n{code}\n```\n", "utf-8")
        return name.replace("/", ".").replace("-", "_")

    yield write
    for folder in [f for f in finder._listings if f.is_relative_to(tmp_path)]:
        del finder._listings[folder]
    for name in [n for n in sys.modules if n.partition(".")[0] == "made_up_pages"]:
        del sys.modules[name]


@each
def test_every_contract_is_kept(declared: resolving.Declared) -> None:
    names = [declared.name]
    if declared.is_family:
        package = f"{resolving.SPECIFICATION}."
        pages = [name.removeprefix(package) for name, _ in finder.pages(f"{package}{declared.name}")]
        names = [name for name in pages if has_all(name, declared.contract)]
        assert len(names) > 1
    for name in names:
        page = resolving.resolved(name, declared.contract)
        assert page is finder.load(f"{resolving.SPECIFICATION}.{name}")
    assert resolving.names(declared.contract)


def has_all(name: str, contract: type) -> bool:
    page = finder.load(f"{resolving.SPECIFICATION}.{name}")
    return all(hasattr(page, one) for one in resolving.names(contract))


def test_a_contract_lists_properties_and_functions() -> None:
    assert resolving.names(Rules) == {"MOST": False, "doubled": True}
    listed = resolving.names(contracts.Access)
    assert listed["READABLE"] is False and listed["inside"] is True


def test_a_page_that_has_all_is_given(made_up: Callable[[str, str], str]) -> None:
    get = resolving.page(made_up("whole", "MOST = 7\n\ndef doubled(value):\n    return 2 * value"), Rules)
    resolving.DECLARED.pop()
    assert get().doubled(get().MOST) == 14
    assert get() is get()


def test_a_page_is_loaded_when_it_is_first_asked_for(made_up: Callable[[str, str], str]) -> None:
    get = resolving.page(made_up("late", "MOST = 7"), Rules)
    resolving.DECLARED.pop()
    with pytest.raises(ContractError):
        get()


def test_a_member_of_a_family(made_up: Callable[[str, str], str]) -> None:
    made_up("few/some-page", "MOST = 3\n\ndef doubled(value):\n    return value")
    get = resolving.family("few", Rules)
    resolving.DECLARED.pop()
    assert get("some_page").MOST == 3
    with pytest.raises(ContractError, match=r"few\.other:1: there is no such page"):
        get("other")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def doubled(value):\n    return value", "the page does not define MOST, which the contract"),
        ("MOST = 7", "the page does not define doubled, which the contract"),
        ("MOST = 7\ndoubled = 14", "doubled is no function, which the contract"),
    ],
)
def test_a_page_that_lacks_something(made_up: Callable[[str, str], str], code: str, said: str) -> None:
    name = made_up("lacking", code)
    with pytest.raises(ContractError) as caught:
        resolving.resolved(name, Rules)
    error = caught.value
    assert error.path.endswith("lacking.md") and error.line == 1
    assert error.message.startswith(said) and error.message.endswith(f"{Rules.__module__}.Rules asks for")
    assert isinstance(error, DocumentError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_is_no_page(made_up: Callable[[str, str], str]) -> None:
    made_up("folder/page", "MOST = 7")
    with pytest.raises(
        ContractError, match=r"made_up_pages\.nowhere:1: there is no such page, which the contract .*Rules"
    ):
        resolving.resolved("nowhere", Rules)
    with pytest.raises(ContractError, match=r"made_up_pages\.folder:1: this is a folder, no page"):
        resolving.resolved("folder", Rules)


def test_what_a_page_misses_itself_is_not_the_page(made_up: Callable[[str, str], str]) -> None:
    name = made_up("broken", "import nowhere_to_be_found")
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        resolving.resolved(name, Rules)


def test_a_contract_is_a_protocol() -> None:
    with pytest.raises(TypeError, match="a contract is a Protocol"):
        resolving.page("machine.limits", int)


def calls() -> Iterator[tuple[str, str, str]]:
    """Each call in the model by which a module is imported: (file, what is called, the first argument)."""
    for path in sorted(MODEL.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called.rsplit(".", 1)[-1] in ("import_module", "__import__") or called == "finder.load":
                    yield path.relative_to(MODEL).as_posix(), called, ast.unparse(node.args[0])


def test_the_seam_stays() -> None:
    """No page is imported by its name outside of the resolver: what the model takes from a page is in a contract."""
    found = list(calls())
    by_string = [(file, what) for file, called, what in found if called != "finder.load"]
    assert by_string == [
        ("ptxspec/__init__.py", "_PLACES[name]"),
        ("ptxspec/base/processes.py", "spec.name"),
        ("ptxspec/literate/finder.py", "name"),
        ("ptxspec/query/identities.py", "'ptxspec.query.identities'"),
    ]
    loaded = {file: what for file, called, what in found if called == "finder.load"}
    assert loaded.keys() == READERS
    assert not [what for what in loaded.values() if re.match(r"f?['\"][\w.]*['\"]$", what)]


def test_no_page_is_imported_otherwise() -> None:
    for path in sorted(MODEL.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("ptxspec.spec"), f"{path}:{node.lineno}"
            if isinstance(node, ast.Import):
                assert not any(n.name.startswith("ptxspec.spec") for n in node.names), f"{path}:{node.lineno}"


def test_contracts_come_before_whoever_uses_them() -> None:
    """What a contract needs when it is loaded is the finder alone; of terms it names types."""
    for path in (MODEL / "ptxspec" / "contracts").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxspec"):
                assert node.module.startswith(("ptxspec.contracts", "ptxspec.literate")), f"{path}:{node.lineno}"


@each
def test_the_model_uses_what_it_asks_for(declared: resolving.Declared) -> None:
    assert resolving.names(declared.contract).keys() <= used()


@cache
def used() -> set[str]:
    """Every name after a dot in the model, outside of the contracts."""
    return {
        node.attr
        for path in MODEL.rglob("*.py")
        if path.parent.name != "contracts"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
    }
