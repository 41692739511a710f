"""What all tests of the machine share."""

from __future__ import annotations

from zlib import crc32

import pytest

from ptxspec.machine.native import code


@pytest.fixture(autouse=True)
def one_half_runs_fast_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of tests are short, and run the code that is made quickly; those of one half run what is made for long launches."""
    if crc32(request.node.nodeid.encode()) & 1:
        monkeypatch.setattr(code, "PATIENCE", 0.0)
