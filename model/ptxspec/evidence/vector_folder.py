"""A folder of vectors: which files in it are ours, and how they are replaced.

The manifest names every file that was written, with its digest. Nothing else in the folder is touched, and neither is a file of
ours that somebody has changed: it may hold results. New files are made beside the old ones and moved into their places, so that
no link is written through.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST, ABOUT = "vectors.json", "README.md"
_NAME = re.compile(r"[A-Za-z0-9_]+\.jsonl|README\.md")


def digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def own_files(folder: Path) -> dict[str, str | None]:
    """The files that were written into a folder, with their digests (None where an earlier version kept none); {} for a folder
    that is new or empty. Raises ValueError for one that holds something else."""
    if folder.is_symlink():
        raise ValueError(f"{folder} is a link: name the folder that it points to")
    if not folder.exists():
        return {}
    manifest = folder / MANIFEST
    if folder.is_dir() and not any(folder.iterdir()):
        return {}
    if not folder.is_dir() or manifest.is_symlink() or not manifest.is_file():
        raise ValueError(f"{folder} holds something else: name a folder that is new, empty or of vectors")
    try:
        facts = json.loads(manifest.read_bytes())
        files = facts.get("files") or dict.fromkeys([*(f"{n}.jsonl" for n in facts["opcodes"]), ABOUT])
        fine = facts.get("format") == FORMAT and isinstance(files, dict) and all(map(_NAME.fullmatch, files))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        fine = False
    if not fine:
        raise ValueError(f"{manifest} is none that this command wrote: name a folder that is new, empty or of vectors")
    return files


def refuse_losses(folder: Path, present: dict[str, str | None], new: set[str]) -> None:
    """Raise ValueError if writing `new` would lose something: a link, a file of somebody's, or one of ours that was changed."""
    for name in sorted(new | set(present)):
        path = folder / name
        if path.is_symlink():
            raise ValueError(f"{path} is a link, which is not written through: remove it")
        if not path.exists():
            continue
        if not path.is_file() or name not in present:
            raise ValueError(f"{path} was not written by this command: move it elsewhere, or name another folder")
        if present[name] is not None and present[name] != digest(path):
            raise ValueError(f"{path} was changed since it was written: move it elsewhere, or name another folder")


@contextmanager
def stage(folder: Path) -> Iterator[Path]:
    """A folder for new files inside another one, which is made if it is not there. What is in the former is gone afterwards."""
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if not there:
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()


def install(staged: Path, folder: Path, present: dict[str, str | None], facts: dict[str, Any]) -> list[str]:
    """Move new files into their places, remove those of ours that were not written anew, and keep account of it in the manifest.
    The names in the folder that are not ours come back."""
    files = {path.name: digest(path) for path in sorted(staged.iterdir())}
    (staged / MANIFEST).write_text(json.dumps({**facts, "files": files}, indent=1) + "\n")
    for name in files:
        os.replace(staged / name, folder / name)
    for name in set(present) - set(files):
        (folder / name).unlink(missing_ok=True)
    os.replace(staged / MANIFEST, folder / MANIFEST)
    return sorted(p.name for p in folder.iterdir() if p.name not in files and p not in (folder / MANIFEST, staged))
