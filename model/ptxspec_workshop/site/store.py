"""Computed Markdown, kept between builds under a digest of all that it was computed from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ptxspec.literate.documents import read_by_programs

_MODEL = Path(__file__).resolve().parents[2]
#: the parts of the model that decide what a table holds
_PARTS = (
    "ptxspec/literate/*.py",
    "ptxspec/terms/*.py",
    "ptxspec/language/forms.py",
    "ptxspec/evidence/kernels/operand_rows.py",
    "ptxspec/evidence/kernels/signatures.py",
    "ptxspec/pages/register.py",
    "ptxspec_workshop/site/corner_cases.py",
    "ptxspec_workshop/site/invariant_tables.py",
    "ptxspec_workshop/site/numerals.py",
    "ptxspec_workshop/site/pages.py",
    "ptxspec/query/laws.py",
    "ptxspec/query/litmus/*.py",
    "ptxspec/query/rewrites/*.py",
    "ptxspec/query/mapping/*.py",
    "ptxspec_workshop/site/litmus_tables.py",
    "ptxspec_workshop/site/relation_pictures.py",
    "ptxspec_workshop/record/shape_answers.py",
    "ptxspec_workshop/generate/shape_requirements.py",
    "ptxspec_workshop/site/rewrite_tables.py",
    "ptxspec_workshop/site/mapping_tables.py",
)


@cache
def model_files() -> list[Path]:
    """The files of the model that decide what a table holds."""
    by_part = {part: list(_MODEL.glob(part)) for part in _PARTS}
    lost = [part for part, paths in by_part.items() if not paths]
    if lost:
        raise FileNotFoundError(f"no file of the model is {lost[0]}, on which the site's tables depend")
    return sorted(path for paths in by_part.values() for path in paths)


@cache
def _model_digest() -> bytes:
    return b"".join(hashlib.sha256(path.read_bytes()).digest() for path in model_files())


def digest(files: Iterable[Path], *more: object) -> str:
    """A name for the contents of some files, of the model, and of whatever else matters."""
    total = hashlib.sha256(_model_digest())
    for path in files:
        total.update(hashlib.sha256(read_by_programs(path)).digest())
    total.update(repr(more).encode())
    return total.hexdigest()[:24]


def stored(folder: Path, name: str, key: str, compute: Callable[[], str]) -> str:
    """The text kept for this name and digest, else what `compute` gives, which is kept from then on."""
    path = folder / f"{name}-{key}.md"
    if path.is_file():
        return path.read_text("utf-8")
    text = compute()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-{'?' * len(key)}.md"):
        old.unlink(missing_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}")
    scratch.write_text(text, "utf-8")
    scratch.replace(path)
    return text
