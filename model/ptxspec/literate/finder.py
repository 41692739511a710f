"""The import finder: `ptxspec.spec.instructions.integer.bfe` is `spec/instructions/integer/bfe.md`.

Compiled pages are cached as Python caches any source file, in `__pycache__` beside the document, or among the user's files
where none can be written there: installing a package compiles no documents. What the loader learns from the prose (title,
summary, fences) travels in the same cache entry, as the module's `__document__`, so that a cached page is loaded without
parsing any Markdown.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ptxspec.base.places import DOCUMENTS
from ptxspec.literate.documents import Document, Fence, blanked, parse

#: raise it (at most to 255) when the loader puts something else into a cache entry
FORMAT = 2

#: the packages whose modules are documents, and their folders
ROOTS = {
    "ptxspec.spec": DOCUMENTS / "spec",
    "ptxspec.proofs": DOCUMENTS / "proofs",
    "ptxspec.disputes": DOCUMENTS / "docs" / "disputes",
}


def module_name(file_name: str) -> str:
    """The module's name for a file's or folder's: hyphens and dots become underscores."""
    return re.sub(r"[-.]", "_", file_name)


class DocumentLoader(importlib.machinery.SourceFileLoader):
    """Loads one document. Inherits Python's own handling of cached byte code."""

    # typeshed's signature lacks _optimize, with which Python calls this
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        text = bytes(data).decode("utf-8")
        document = parse(text, str(path))
        tree = ast.parse(blanked(text, document), str(path))
        record = (document.title, document.summary, tuple(tuple(fence) for fence in document.fences))
        constants = [
            ast.Assign([ast.Name("__document__", ast.Store())], _constant(record), lineno=1),
            ast.Assign([ast.Name("__doc__", ast.Store())], _constant(document.summary), lineno=1),
        ]
        for node in constants:
            ast.fix_missing_locations(node)
        # a `from __future__` must stay first
        head = 0
        while head < len(tree.body) and _is_future(tree.body[head]):
            head += 1
        tree.body[head:head] = constants
        return compile(tree, str(path), "exec", dont_inherit=True, optimize=_optimize)

    def path_stats(self, path: str) -> dict[str, Any]:
        stats = dict(super().path_stats(path))
        # an entry of another format does not match. Python writes the time that is given here into the entry, but not the size
        stats["mtime"] = int(stats["mtime"]) ^ FORMAT << 24
        return stats

    def get_data(self, path: str) -> bytes:
        try:
            return super().get_data(path)
        except OSError:
            if not path.endswith(".pyc"):
                raise
            from ptxspec.base.storage import own_code

            return own_code(_instead(path))

    # typeshed has other names for the parameters than Python calls this with
    def set_data(self, path: str, data: bytes, *, _mode: int = 0o666) -> None:  # type: ignore[override]
        super().set_data(path, data, _mode=_mode)
        try:
            written = super().get_data(path) == data
        except OSError:
            written = False
        if not written:
            from ptxspec.base.storage import keep_code

            keep_code(_instead(path), data)

    def get_source(self, fullname: str) -> str:
        text = Path(self.path).read_text("utf-8")
        return blanked(text, parse(text, self.path))


def _instead(path: str) -> Path | None:
    """The file that has a page's byte code where `path` cannot be written, if there is a place for one."""
    import hashlib

    from ptxspec.base.storage import kept

    return kept(f"pages/{hashlib.sha256(path.encode()).hexdigest()[:32]}.pyc")


def _constant(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([_constant(v) for v in value], ast.Load())
    return ast.Constant(value)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


class DocumentFinder:
    """Finds the modules below the packages of documents."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        root, folder = next(
            ((r, f) for r, f in ROOTS.items() if fullname == r or fullname.startswith(r + ".")), (None, None)
        )
        if root is None or folder is None:
            return None
        place: Path = folder
        parts = fullname[len(root) :].strip(".").split(".") if fullname != root else []
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            match = _entries(place).get(part)
            if match is None or (not last and not match.is_dir()):
                return None
            place = match
        if place.is_dir():
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        return importlib.util.spec_from_file_location(fullname, str(place), loader=DocumentLoader(fullname, str(place)))


_listings: dict[Path, dict[str, Path]] = {}


def _entries(folder: Path) -> dict[str, Path]:
    if folder not in _listings:
        found: dict[str, Path] = {}
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if entry.is_dir() and not entry.name.startswith(("_", ".")):
                name = module_name(entry.name)
            elif entry.suffix == ".md":
                name = module_name(entry.stem)
            else:
                continue
            if name in found:
                raise ImportError(f"{entry} and {found[name]} are both the module {name!r}")
            found[name] = entry
        _listings[folder] = found
    return _listings[folder]


def pages(root: str = "ptxspec.spec", below: str = "") -> Iterator[tuple[str, Path]]:
    """(module name, path) of every document below a package, in the order of the file names."""
    package = f"{root}.{below}".rstrip(".")
    spec = DocumentFinder.find_spec(package)
    if spec is None:
        return
    if spec.submodule_search_locations is None:
        assert spec.origin is not None  # it is a document
        yield package, Path(spec.origin)
        return
    for name, place in _entries(Path(spec.submodule_search_locations[0])).items():
        if place.is_dir():
            yield from pages(package, name)
        else:
            yield f"{package}.{name}", place


def load(name: str) -> ModuleType:
    """The page of a module's name, such as "ptxspec.spec.machine.limits". Raises ModuleNotFoundError. What the model takes
    from one page it takes by its name in `ptxspec.contracts`; this is for whoever goes through the pages that there are."""
    install()
    return importlib.import_module(name)


def document_of(module: ModuleType) -> Document:
    """The Document a module was loaded from (its path is the one the code was compiled under)."""
    title, summary, fences = module.__document__
    return Document(str(module.__file__), title, summary, tuple(Fence(*fence) for fence in fences))


def sources(modules: Iterable[str]) -> list[Path]:
    """The documents of some modules and of all that they import, directly or not."""
    found: dict[str, Path] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        if name not in found:
            found[name], imported = _source(name)
            todo += imported
    return sorted(found.values())


@cache
def _source(module: str) -> tuple[Path, tuple[str, ...]]:
    """The document of a module, and the pages that it imports."""
    loaded = load(module)
    fences = document_of(loaded).of("python")
    nodes = [node for fence in fences for node in ast.walk(ast.parse(fence.text))]
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (name := node.module or "").startswith(tuple(ROOTS)):
            is_folder = hasattr(load(name), "__path__")
            imported += [f"{name}.{alias.name}" for alias in node.names] if is_folder else [name]
    return Path(loaded.__file__ or ""), tuple(name for name in imported if name.startswith(tuple(ROOTS)))


def install() -> None:
    """Put the finder on `sys.meta_path`, once."""
    if not any(isinstance(finder, type) and finder.__name__ == "DocumentFinder" for finder in sys.meta_path):
        sys.meta_path.insert(0, DocumentFinder)
