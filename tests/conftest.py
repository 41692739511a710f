"""What tests of several folders share."""

from __future__ import annotations

import warnings

import pytest

from ptxspec.evidence.record.assembler import ptxas


@pytest.fixture(scope="session")
def assembler() -> str:
    """NVIDIA's assembler; without it a test that asks for it says loudly that it did not run."""
    try:
        return ptxas()
    except FileNotFoundError as missing:
        reason = f"NO PTXAS: that our verdicts agree with the assembler's was NOT tested ({missing})"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
