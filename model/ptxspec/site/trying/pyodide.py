"""Pyodide, Python compiled to WebAssembly: one version of it, from npm, with the digest that it must have."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from ptxspec.files import write_whole

VERSION = "314.0.7"
#: of the package's archive, as npm's registry gives it
INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
#: the files of the package that are taken
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
#: seconds for a download
_PATIENCE = 240


class Unavailable(Exception):
    """Why the site cannot carry Pyodide, in a sentence."""


def package(cache: Path) -> Path:
    """A folder below `cache` that has the package's FILES, downloaded with npm if they are not there. Raises Unavailable."""
    folder = cache / f"pyodide-{VERSION}"
    if all((folder / name).is_file() for name in FILES):
        return folder
    archive = cache / f"pyodide-{VERSION}.tgz"
    if not archive.is_file():
        _download(cache)
    if not archive.is_file():
        raise Unavailable(f"npm pack wrote no {archive.name}")
    if integrity(archive.read_bytes()) != INTEGRITY:
        archive.unlink()
        raise Unavailable(f"{archive.name} does not have the digest {INTEGRITY}")
    folder.mkdir(exist_ok=True)
    with tarfile.open(archive) as packed:
        for name in FILES:
            member = packed.extractfile(f"package/{name}")
            if member is None:
                raise Unavailable(f"{archive.name} has no {name}")
            write_whole(folder / name, member.read())
    return folder


def integrity(data: bytes) -> str:
    """The digest of an archive as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")


def _download(cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed, with which Pyodide is downloaded")
    cache.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", f"pyodide@{VERSION}", "--silent", "--pack-destination", str(cache)]
    try:
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"npm could not download Pyodide {VERSION}: {error}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise Unavailable(f"npm could not download Pyodide {VERSION}: {' '.join(said)[:300]}")
