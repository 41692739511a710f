"""Documents are modules: what is wrong with one is said at its line."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptxspec.base import places, storage
from ptxspec.language.forms import Registry
from ptxspec.literate import finder
from ptxspec.literate.documents import DocumentError, parse, without_prose
from ptxspec.terms import TermError

PAGE = """# {name}

One line.

```syntax
{name}.type d, a;
.type = {{ .u32, .s32 }};
```

```python
from ptxspec.terms import instruction, of, select


@instruction
def {name}(a: of.type, *, type) -> of.type:
    return {body}
```
"""

Plant = Callable[..., str]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    """A function that writes pages into a package of documents of the test's own and returns the package's name."""
    package = f"ptxspec.planted_{tmp_path.name.replace('-', '_')}"
    monkeypatch.setitem(finder.ROOTS, package, tmp_path)
    finder.install()
    before = set(sys.modules)

    def write(**pages: str) -> str:
        folder = tmp_path / "instructions"
        folder.mkdir(exist_ok=True)
        for name, text in pages.items():
            (folder / f"{name}.md").write_text(textwrap.dedent(text))
        finder._listings.clear()
        return package

    yield write
    for name in set(sys.modules) - before:
        if name.startswith(package):
            del sys.modules[name]
    finder._listings.clear()


def line_of(text: str, part: str) -> int:
    """The 1-based line of a text on which `part` first stands."""
    return text[: text.index(part)].count("\n") + 1


def test_a_page_is_a_module(plant: Plant) -> None:
    package = plant(twice=PAGE.format(name="twice", body="a + a"))
    registry = Registry(package)
    assert [str(f) for f in registry.opcodes["twice"].forms] == ["twice.u32 d, a;", "twice.s32 d, a;"]
    module = importlib.import_module(f"{package}.instructions.twice")
    assert module.__doc__ == "One line."
    assert module.__file__.endswith("twice.md")
    assert inspect.getsource(module.twice.function).splitlines()[1] == "def twice(a: of.type, *, type) -> of.type:"


def test_an_exception_inside_a_fence_names_the_documents_line(plant: Plant) -> None:
    text = PAGE.format(name="fails", body="[][3]")
    registry = Registry(plant(fails=text))
    with pytest.raises(IndexError) as caught:
        registry.opcodes["fails"].forms[0].meaning()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename.endswith("instructions/fails.md")
    assert last.lineno == line_of(text, "[][3]")
    assert last.line == "return [][3]"


def test_a_syntax_error_inside_a_fence_names_the_documents_line(plant: Plant) -> None:
    text = PAGE.format(name="odd", body="a +")
    with pytest.raises(SyntaxError) as caught:
        Registry(plant(odd=text))
    assert caught.value.filename is not None and caught.value.filename.endswith("odd.md")
    assert caught.value.lineno == line_of(text, "return a +")


def test_branching_on_a_term_is_an_error_at_its_line(plant: Plant) -> None:
    text = PAGE.format(name="branchy", body="1 if a == 0 else 2")
    registry = Registry(plant(branchy=text))
    with pytest.raises(TermError, match=rf"branchy\.md:{line_of(text, '1 if')}: .*select"):
        registry.opcodes["branchy"].forms[0].meaning()


def test_a_form_defined_twice_is_an_error_at_its_line(plant: Plant) -> None:
    text = PAGE.format(name="again", body="a").replace("again.type d, a;\n", "again.type d, a;\nagain{.type} d, a;\n")
    text = text.replace("*, type)", "*, type=None)")
    registry = Registry(plant(again=text))
    with pytest.raises(DocumentError, match=rf"again\.md:{line_of(text, 'again{.type}')}: again.u32 is defined twice"):
        _ = registry.opcodes["again"].forms


def test_two_pages_cannot_define_one_form(plant: Plant) -> None:
    first = PAGE.format(name="same", body="a")
    registry = Registry(plant(same=first, other=first))
    with pytest.raises(DocumentError, match=r"same\.md:6: same.u32 is defined twice"):
        _ = registry.opcodes["same"].forms


def test_two_files_cannot_be_one_module(plant: Plant, tmp_path: Path) -> None:
    package = plant(**{"a.b": PAGE.format(name="x", body="a"), "a_b": PAGE.format(name="y", body="a")})
    with pytest.raises(ImportError, match="are both the module 'a_b'"):
        Registry(package)


def test_a_page_without_semantics_is_an_error(plant: Plant) -> None:
    with pytest.raises(DocumentError, match=r"empty\.md:1: .*without semantics"):
        Registry(plant(empty="# empty\n\nNothing.\n\n```syntax\nempty d, a;\n```\n"))


def test_a_syntax_fence_without_semantics_is_an_error_at_its_line(plant: Plant) -> None:
    text = PAGE.format(name="half", body="a") + "\n```syntax\nhalf.hi d, a;\n```\n"
    with pytest.raises(DocumentError, match=rf"half\.md:{line_of(text, 'half.hi')}: .*without semantics"):
        Registry(plant(half=text))


def test_a_definition_without_syntax_is_an_error_at_its_line(plant: Plant) -> None:
    text = (
        PAGE.format(name="bare", body="a")
        + "\n```python\n@instruction\ndef more(a: of.type) -> of.type:\n    return a\n```\n"
    )
    with pytest.raises(DocumentError, match=rf"bare\.md:{text.count(chr(10)) - 3}: more has no syntax fence"):
        Registry(plant(bare=text))


def test_a_dropped_modifier_is_an_error_at_its_line(plant: Plant) -> None:
    text = PAGE.format(name="drops", body="a").replace("drops.type", "drops{.sat}.type")
    with pytest.raises(DocumentError, match=r"drops\.md:6: drops drops the modifier \.sat"):
        Registry(plant(drops=text))


def test_a_modifier_that_no_syntax_has_is_an_error(plant: Plant) -> None:
    text = PAGE.format(name="extra", body="a").replace("*, type)", "*, type, sat=False)")
    with pytest.raises(DocumentError, match=r"no syntax line has a modifier \.sat"):
        Registry(plant(extra=text))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("# t\n\n```pyhton\nx = 1\n```\n", 3, "nobody reads a fence of 'pyhton'"),
        ("# t\n\n```\nx\n```\n", 3, "nobody reads a fence of ''"),
        ("no title\n", 1, "no title"),
        ("# t\n\n- item\n\n  ```python\n  x = 1\n  ```\n", 5, "inside another block"),
    ],
)
def test_fences_that_nobody_reads(text: str, line: int, what: str) -> None:
    with pytest.raises(DocumentError, match=what) as caught:
        parse(text, "page.md")
    assert caught.value.line == line


def test_fences_are_found_as_markdown_has_them() -> None:
    """A longer fence may show a fence; tildes are fences too."""
    text = "# t\n\n````text\n```python\nx = 1\n```\n````\n\n~~~python\ny = 2\n~~~\n"
    found = parse(text, "page.md").of("python")
    assert [(f.line, f.text) for f in found] == [(10, "y = 2\n")]


@pytest.mark.slow
def test_a_type_error_in_a_fence_is_reported_at_the_documents_line(plant: Plant, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    from ptxspec.literate.lint import complaints, lay_out

    text = PAGE.format(name="wrong", body="select(a, 1)")
    package = plant(wrong=text)
    folder = tmp_path / "laid-out"
    written = lay_out(folder, {package: tmp_path})
    config = places.DOCUMENTS / "pyproject.toml"
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(config),
        "--cache-dir",
        str(storage.kept("mypy-documents")),
    ]
    status, output = complaints([*command, *written], folder, written)
    assert status == 1
    assert f"wrong.md:{line_of(text, 'select(a, 1)')}: error" in output


def test_lint_reports_the_documents_line(plant: Plant, tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    from ptxspec.literate.lint import complaints, lay_out

    text = PAGE.format(name="unused", body="a").replace("import instruction, of, select", "import instruction, of")
    text = text.replace("    return a", "    spare = a\n    return a")
    package = plant(unused=text)
    folder = tmp_path / "laid-out"
    written = lay_out(folder, {package: tmp_path})
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--output-format", "concise"]
    status, output = complaints([*command, *written], folder, written)
    assert status == 1
    assert f"unused.md:{line_of(text, 'spare = a')}:5: F841" in output


def test_an_uncovered_branch_is_reported_at_the_documents_line(tmp_path: Path) -> None:
    """Coverage of a planted page: the branch not taken comes out under the document's name and line."""
    pytest.importorskip("coverage")
    page = tmp_path / "documents" / "page.md"
    page.parent.mkdir()
    text = "# page\n\nProse.\n\n```python\ndef sign(x):\n    if x < 0:\n        return -1\n    return 1\n```\n"
    page.write_text(text)
    script = tmp_path / "use.py"
    script.write_text(
        "from pathlib import Path\nfrom ptxspec.literate import finder\n"
        f"finder.ROOTS['ptxspec.planted'] = Path({str(page.parent)!r})\nfinder.install()\n"
        "import ptxspec.planted.page as page\nassert page.sign(3) == 1\n"
    )
    rc = tmp_path / "coverage.ini"
    rc.write_text(f"[run]\nbranch = true\nplugins = ptxspec.literate.coverage\nsource = {page.parent}\n")
    base = [sys.executable, "-m", "coverage"]
    common = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    subprocess.run([*base, "run", f"--rcfile={rc}", str(script)], **common)  # type: ignore[call-overload]
    report = subprocess.run([*base, "report", f"--rcfile={rc}", "-m"], **common).stdout  # type: ignore[call-overload]
    row = next(row for row in report.splitlines() if "page.md" in row)
    assert row.split()[-1] == str(line_of(text, "return -1"))


@pytest.mark.slow
def test_every_page_is_cached_once_it_was_loaded(tmp_path: Path) -> None:
    """A second process loads all documents without compiling one, and without the parser of Markdown."""
    code = (
        "import sys; from ptxspec.literate.finder import DocumentLoader; compiled = []; own = DocumentLoader.source_to_code; "
        "DocumentLoader.source_to_code = lambda self, data, path, **k: compiled.append(path) or own(self, data, path, **k); "
        "from ptxspec.language.forms import registry; assert len(registry().pages) > 100; "
        "print(len(compiled) > 100, len(compiled), 'markdown_it' in sys.modules)"
    )
    kept = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    told = [
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=kept
        ).stdout.split()
        for _ in range(2)
    ]
    assert told[0][0] == "True" and told[1] == ["False", "0", "False"]


def test_pages_import_neither_solver_nor_compiler() -> None:
    """The documents and the exact interpretation need nothing but markdown-it."""
    code = (
        "import sys; import ptxspec; ptxspec.evaluate('add.u32 d, a, b;', a=1, b=2); "
        "print([m for m in ('z3', 'llvmlite', 'numpy', 'sympy', 'click', 'rich') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


def test_an_error_may_be_copied_and_sent_to_another_process() -> None:
    with pytest.raises(DocumentError) as caught:
        parse("no title", "some.md")
    for again in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert str(again) == str(caught.value)
        assert (again.path, again.line, again.message) == ("some.md", 1, "the page has no title")


@pytest.mark.slow
def test_without_prose_pages_have_their_titles_and_fences_where_they_were() -> None:
    pages = [
        path for folder in ("spec", "proofs", "docs") for path in sorted((places.DOCUMENTS / folder).rglob("*.md"))
    ]
    assert len(pages) > 300
    for path in pages:
        data = path.read_bytes()
        left = without_prose(data)
        whole, bare = (parse(d.decode("utf-8"), path) for d in (data, left))
        assert bare.fences == whole.fences and bare.title == whole.title, path
        assert left.count(b"\n") <= data.count(b"\n"), path


@pytest.mark.parametrize(
    ("page", "left"),
    [
        (b"# p\n\nOne.\n", b"# p\n\nOne.\n"),
        (b"# p\n```python\nx\n```\ny\n```ptx\nz\n", b"# p\n```python\nx\n```\n\n```ptx\nz\n"),
        (b"- a\n  ```ptx\n  z\n  ```\n- b\n", b"- a\n  ```ptx\n  z\n  ```"),
        (b"````text\n```\nq\n````\nr", b"````text\n```\nq\n````"),
        (b"```x``` is code\nbehind", b"```x``` is code\nbehind"),
    ],
)
def test_what_is_prose(page: bytes, left: bytes) -> None:
    assert without_prose(page) == left
