"""The model takes names from pages in one way, and a page that lacks one is told so."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.contracts import PAGES, SPECIFICATION, ContractError
from ptxspec.literate import finder
from ptxspec.literate.documents import DocumentError

MODEL = Path(ptxspec.__file__).parents[1]
#: whoever goes through the pages that there are, and loads each
READERS = {
    "ptxspec/contracts/__init__.py",
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
    "ptxspec/query/litmus/shapes.py",
    "ptxspec_workshop/site/pages.py",
    "ptxspec/terms/profiles.py",
}


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """Writes a page with this code, and gives the name by which it is resolved."""
    monkeypatch.setitem(finder.ROOTS, "made_up_pages", tmp_path)
    monkeypatch.setattr(contracts, "SPECIFICATION", "made_up_pages")

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


@pytest.mark.parametrize("name", PAGES)
def test_a_page_by_its_name(name: str) -> None:
    page = getattr(contracts, name)
    assert page is finder.load(f"{SPECIFICATION}.{PAGES[name]}")
    assert getattr(contracts, name) is page and vars(contracts)[name] is page


def test_a_page_is_loaded_when_it_is_first_named() -> None:
    code = (
        "import sys\nfrom ptxspec import contracts\n"
        "def loaded(): print(*[n for n in sys.modules if n == 'ptxspec.spec.machine.limits'])\n"
        "loaded()\ncontracts.limits\nloaded()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "\nptxspec.spec.machine.limits\n", run.stderr


def test_what_no_page_is_called() -> None:
    with pytest.raises(AttributeError, match=r"module 'ptxspec\.contracts' has no attribute 'no_such_page'"):
        contracts.__getattr__("no_such_page")
    assert not hasattr(contracts, "no_such_page")


def test_pages_of_one_kind() -> None:
    """Each page with a table is one, and no other page has the name."""
    pages = [
        name for name, _ in finder.pages(SPECIFICATION, "multifunction_unit") if hasattr(finder.load(name), "TABLE")
    ]
    assert len(pages) > 1
    for name in pages:
        assert contracts.unit_function(name.rpartition(".")[2]) is finder.load(name)
    with pytest.raises(ContractError, match=r"multifunction_unit\.other:1: there is no such page"):
        contracts.unit_function("other")


def test_a_page_that_has_what_is_asked(made_up: Callable[[str, str], str]) -> None:
    page = contracts.resolved(made_up("few/some-page", "MOST = 7\n\ndef doubled(value):\n    return 2 * value"))
    assert page.doubled(page.MOST) == 14


def test_a_page_that_lacks_something(made_up: Callable[[str, str], str]) -> None:
    page = contracts.resolved(made_up("lacking", "MOST = 7"))
    assert page.MOST == 7
    with pytest.raises(AttributeError, match=r"^module 'made_up_pages\.lacking' has no attribute 'doubled'$"):
        page.doubled(7)


def test_what_is_no_page(made_up: Callable[[str, str], str]) -> None:
    made_up("folder/page", "MOST = 7")
    with pytest.raises(ContractError, match=r"made_up_pages\.nowhere:1: there is no such page") as caught:
        contracts.resolved("nowhere")
    assert isinstance(caught.value, DocumentError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(ContractError, match=r"made_up_pages\.folder:1: this is a folder, no page"):
        contracts.resolved("folder")


def test_what_a_page_misses_itself_is_not_the_page(made_up: Callable[[str, str], str]) -> None:
    name = made_up("broken", "import nowhere_to_be_found")
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        contracts.resolved(name)


#: what the tests below look at
KINDS = (ast.Call, ast.Import, ast.ImportFrom, ast.Attribute, ast.Assign)
Nodes = list[tuple[Path, Any]]


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    """What the model's files consist of: (file, node)."""
    paths = sorted(MODEL.rglob("*.py"))
    return [
        (path, node)
        for path in paths
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, KINDS)
    ]


def calls(nodes: Nodes) -> Iterator[tuple[str, str, str]]:
    """Each call in the model by which a module is imported: (file, what is called, the first argument)."""
    for path, node in nodes:
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.rsplit(".", 1)[-1] in ("import_module", "__import__") or called == "finder.load":
                yield path.relative_to(MODEL).as_posix(), called, ast.unparse(node.args[0])


def test_the_seam_stays(nodes: Nodes) -> None:
    """No page is imported by its name outside of the resolver: what the model takes from a page is in a contract."""
    found = list(calls(nodes))
    by_string = [(file, what) for file, called, what in found if called != "finder.load"]
    assert by_string == [
        ("ptxspec/__init__.py", "_PLACES[name]"),
        ("ptxspec/base/processes.py", "spec.name"),
        ("ptxspec/cli/__init__.py", "f'{__name__}.{name}'"),
        ("ptxspec/literate/finder.py", "name"),
        ("ptxspec/query/identities.py", "'ptxspec.query.identities'"),
    ]
    loaded = {file: what for file, called, what in found if called == "finder.load"}
    assert loaded.keys() == READERS
    assert not [what for what in loaded.values() if re.match(r"f?['\"][\w.]*['\"]$", what)]


def test_no_page_is_imported_otherwise(nodes: Nodes) -> None:
    """What mypy takes the contracts for are the pages that are loaded, and no other file of the model imports one."""
    found: dict[str, dict[str, str]] = {}
    for path, node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(SPECIFICATION):
            names = {
                n.asname or n.name: f"{node.module}.{n.name}".removeprefix(f"{SPECIFICATION}.") for n in node.names
            }
            found.setdefault(path.relative_to(MODEL).as_posix(), {}).update(names)
        if isinstance(node, ast.Import):
            assert not any(n.name.startswith(SPECIFICATION) for n in node.names), f"{path}:{node.lineno}"
    assert found == {"ptxspec/contracts/__init__.py": PAGES}


def test_contracts_come_before_whoever_uses_them() -> None:
    """What the contracts need when they are loaded is the finder alone."""
    for path in (MODEL / "ptxspec" / "contracts").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxspec"):
                assert node.module.startswith(("ptxspec.contracts", "ptxspec.literate")), f"{path}:{node.lineno}"


def named(node: ast.AST) -> str:
    """The page that an expression is, by its name in the contracts, or nothing."""
    is_one = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "contracts"
    return node.attr if is_one and node.attr in PAGES else ""


def test_the_pages_have_what_the_model_takes(nodes: Nodes) -> None:
    """Without mypy, of each name that stands right behind a page's."""
    seen = set()
    for path, node in nodes:
        seen.add(named(node))
        if isinstance(node, ast.Attribute) and named(node.value):
            assert hasattr(getattr(contracts, named(node.value)), node.attr), f"{path}:{node.lineno}"
    assert seen == {"", *PAGES}


def test_who_keeps_a_page_uses_it_alone(nodes: Nodes) -> None:
    """mypy knows of `self.page` that it is a page; of another object's it would not, and check nothing."""
    kept: dict[str, set[str]] = {}
    for _, node in nodes:
        for target, value in assigned(node):
            if isinstance(target, ast.Attribute) and named(value):
                kept.setdefault(target.attr, set()).update(vars(getattr(contracts, named(value))))
    assert len(kept) > 5
    for path, node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and not named(node.value):
            of_self = isinstance(node.value.value, ast.Name) and node.value.value.id == "self"
            assert of_self or node.attr not in kept.get(node.value.attr, ()), f"{path}:{node.lineno}"


def assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned to what, one to one."""
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)  # one may be starred
        else:
            yield target, node.value
