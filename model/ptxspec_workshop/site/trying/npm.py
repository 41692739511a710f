"""Files of npm's packages: one version of each, with the digest that it must have, downloaded once."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import NamedTuple

from ptxspec.base.files import write_whole

#: seconds for a download
_PATIENCE = 240


class Unavailable(Exception):
    """Why the files of a package cannot be had, in a sentence."""


class Package(NamedTuple):
    """A version of a package, the digest of its archive as npm's registry gives it, and the files of it that are taken."""

    name: str
    version: str
    integrity: str
    files: tuple[str, ...]

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


def fetched(cache: Path, package: Package) -> Path:
    """A folder below `cache` that has a package's files, by their last names, downloaded if they are not there. Raises
    Unavailable."""
    folder, archive = cache / package.folder, cache / f"{package.folder}.tgz"
    if all((folder / Path(name).name).is_file() for name in package.files):
        return folder
    if not archive.is_file():
        _download(cache, f"{package.name}@{package.version}")
    if not archive.is_file():
        raise Unavailable(f"npm pack wrote no {archive.name}")
    if integrity(archive.read_bytes()) != package.integrity:
        archive.unlink()
        raise Unavailable(f"{archive.name} does not have the digest {package.integrity}")
    folder.mkdir(exist_ok=True)
    with tarfile.open(archive) as packed:
        for name in package.files:
            member = packed.extractfile(f"package/{name}")
            if member is None:
                raise Unavailable(f"{archive.name} has no {name}")
            write_whole(folder / Path(name).name, member.read())
    return folder


def integrity(data: bytes) -> str:
    """The digest of an archive as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")


def _download(cache: Path, wanted: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is not installed, with which {wanted} is downloaded")
    cache.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", wanted, "--silent", "--pack-destination", str(cache)]
    try:
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"npm could not download {wanted}: {error}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise Unavailable(f"npm could not download {wanted}: {' '.join(errors)[:300]}")
