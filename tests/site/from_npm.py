"""A package of npm's, for tests: one version of it, with the digest that it must have, kept under build/."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import warnings
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: seconds for a download
PATIENCE = 240


class Unavailable(Exception):
    """Why a package cannot be had, in a sentence."""


def not_tested(what: str, reason: object) -> NoReturn:
    """Skip, and say loudly what was not tested."""
    told = f"{what} NOT tested: {reason}"
    warnings.warn(told, stacklevel=2)
    pytest.skip(told)


def member(name: str, version: str, integrity: str, path: str) -> Path:
    """A file of a package, downloaded with npm if it is not there. Raises Unavailable."""
    cache = ROOT / "build" / "npm"
    archive, kept = cache / f"{name}-{version}.tgz", cache / f"{name}-{version}" / Path(path).name
    if kept.is_file():
        return kept
    if not archive.is_file():
        _download(f"{name}@{version}", cache)
    data = archive.read_bytes()
    digest = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")
    if digest != integrity:
        archive.unlink()
        raise Unavailable(f"{archive.name} has the digest {digest}, not {integrity}")
    kept.parent.mkdir(exist_ok=True)
    with tarfile.open(archive) as packed:
        found = packed.extractfile(f"package/{path}")
        assert found is not None, path
        part = kept.with_suffix(".part")
        part.write_bytes(found.read())
        part.replace(kept)
    archive.unlink()
    return kept


def _download(package: str, cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is not installed, with which {package} is downloaded")
    cache.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", package, "--silent", "--pack-destination", str(cache)]
    try:
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm did not download {package} within {PATIENCE} seconds") from None
    if done.returncode:
        raise Unavailable(f"npm could not download {package}: {done.stderr.strip()[-300:]}")
