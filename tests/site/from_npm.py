"""A file of npm's for tests, kept under build/, and a loud word where there is none."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NoReturn

import pytest

from ptxspec_workshop.site.trying.npm import Package, Unavailable, fetched

__all__ = ["Unavailable", "member", "not_tested"]
ROOT = Path(__file__).resolve().parents[2]


def not_tested(what: str, reason: object) -> NoReturn:
    """Skip, and say loudly what was not tested."""
    told = f"{what} NOT tested: {reason}"
    warnings.warn(told, stacklevel=2)
    pytest.skip(told)


def member(name: str, version: str, integrity: str, path: str) -> Path:
    """A file of a package, downloaded with npm if it is not there. Raises Unavailable."""
    return fetched(ROOT / "build" / "npm", Package(name, version, integrity, (path,))) / Path(path).name
