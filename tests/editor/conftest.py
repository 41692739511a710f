"""One language server for all questions that do not end it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from talking import Client


@pytest.fixture(scope="session")
def server() -> Iterator[Client]:
    """A server that links to a site."""
    client = Client(options={"site": "https://ptx.example/spec"})
    yield client
    client.kill()
