"""Each page has what its contract lists with the types that the contract says, as mypy sees both.

Of numbers, a contract may say more than the page: a definition over terms that the model also evaluates on Python's integers has two
signatures in the contract. The page is held to the one about terms.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from ptxspec import contracts
from ptxspec.base.places import DOCUMENTS
from ptxspec.contracts import resolving
from ptxspec.literate import lint

CONTRACTS = Path(contracts.__file__).parent


def of_terms(text: str) -> str:
    """A module of contracts without the signatures about numbers."""
    tree = ast.parse(text)
    for contract in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        members = [m for m in contract.body if isinstance(m, ast.FunctionDef)]
        both = {m.name for m in members if is_overload(m)}
        contract.body = [m for m in contract.body if getattr(m, "name", "") not in both or is_about_terms(m)]
        for member in members:
            member.decorator_list = [d for d in member.decorator_list if ast.unparse(d) != "overload"]
    return ast.unparse(tree)


def is_overload(member: ast.FunctionDef) -> bool:
    return any(ast.unparse(d) == "overload" for d in member.decorator_list)


def is_about_terms(member: ast.stmt) -> bool:
    return isinstance(member, ast.FunctionDef) and is_overload(member) and "Int" in ast.unparse(member.args)


def complaints(folder: Path, *more: str) -> str:
    """What mypy says of all pages where they are taken for their contracts."""
    lint.lay_out(folder)
    kept = folder / "ptxspec" / "kept"
    kept.mkdir()
    for path in CONTRACTS.glob("*.py"):
        if path.name not in ("__init__.py", "resolving.py"):
            (kept / path.name).write_text(of_terms(path.read_text("utf-8")), "utf-8")
    (kept / "__init__.py").touch()
    lines = [f"import ptxspec.kept.{path.stem}" for path in sorted(kept.glob("[!_]*.py"))]
    for i, declared in enumerate(resolving.DECLARED):
        contract = f"ptxspec.kept.{declared.contract.__module__.rsplit('.', 1)[-1]}.{declared.contract.__name__}"
        pages = (
            [f"{declared.name}.{name}" for name in ("reciprocal", "sine")] if declared.is_family else [declared.name]
        )
        for page in pages:
            lines += [f"import ptxspec.spec.{page}", f"page{i}_{len(lines)}: {contract} = ptxspec.spec.{page}"]
    (kept / "all.py").write_text("\n".join([*lines, *more]) + "\n", "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(DOCUMENTS / "pyproject.toml"), "--cache-dir"]
    command += [str(DOCUMENTS / "build" / "mypy-contracts"), "ptxspec/kept/all.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def test_pages_have_the_types_of_their_contracts(tmp_path: Path) -> None:
    planted = "wrong: ptxspec.kept.machine.Limits = ptxspec.spec.machine.divergence"
    found = [line for line in complaints(tmp_path, planted).splitlines() if ": error: " in line]
    assert len(found) == 1, "\n".join(found)
    assert 'expression has type Module, variable has type "Limits"' in found[0]
