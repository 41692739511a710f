"""What tests of several folders share."""

from __future__ import annotations

import gc
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import private
import pytest

from ptxspec.evidence.assembler import newest_ptxas, ptxas

#: These processes hold millions of terms, forms and tests that stay. To look for cycles among them as often as Python does by itself
#: took a tenth of the time.
gc.set_threshold(50_000, 20, 20)

#: a parameter with more values than these lists cases
FEW = 8


@pytest.fixture(scope="session")
def assembler() -> str:
    """NVIDIA's assembler; without it a test that asks for it says loudly that it did not run."""
    try:
        return ptxas()
    except FileNotFoundError as missing:
        reason = f"NO PTXAS: that our verdicts agree with the assembler's was NOT tested ({missing})"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def newest_assembler() -> str:
    """NVIDIA's assembler for PTX 9.5; without it a test that asks for it says loudly that it did not run."""
    try:
        return newest_ptxas()
    except FileNotFoundError as missing:
        reason = (
            f"NO PTXAS 13.5: that our verdicts on PTX 9.1 to 9.5 agree with the assembler's was NOT tested ({missing})"
        )
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)


@pytest.fixture
def private_path() -> Iterator[Path]:
    """An empty folder to which each step is a folder that nobody else can write; without one a test says loudly that it did not
    run."""
    try:
        made = private.folder()
    except OSError as why:
        reason = f"NO PRIVATE FOLDER: how machine code is kept was NOT tested ({why})"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with made as name:
        yield Path(name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Which cases of a test run by default.

    Of a test marked `one_in(n)` one case of every n does, by turns the first, the second and so on, since the first of every two may
    all be of one engine; the others run with the long tests.

    Of a test marked `sample(n)`, by itself or with its file, those do that are the first with the value of one of several parameters,
    such as the engine, and one of every n by a digest of its name, so that a further case changes nothing about the others. The
    others run with the slow tests. A parameter of more than a few values lists cases: they are no kinds, of which each has to have
    one. `sample(n, keys)` says what must not be without a case instead: `keys` takes the parameters."""
    met: Counter[str] = Counter()
    covered: set[tuple[str, object]] = set()
    values = _values(items)
    for item in items:
        function = item.nodeid.partition("[")[0]
        if (mark := item.get_closest_marker("one_in")) is not None:
            turn, place = divmod(met[function], mark.args[0])
            if place != turn % mark.args[0]:
                item.add_marker(pytest.mark.long)
            met[function] += 1
        mark, call = item.get_closest_marker("sample"), getattr(item, "callspec", None)
        if mark is not None and call is not None and not any(map(item.get_closest_marker, ("slow", "long"))):
            n, keys = mark.args if len(mark.args) > 1 else (*mark.args, None)
            several = call.params if len(call.params) > 1 else {}
            few = [(k, _plain(v)) for k, v in several.items() if len(values[function, k]) <= FEW]
            own = {(function, key) for key in ([None, *few] if keys is None else keys(**call.params))}
            if own <= covered and zlib.crc32(item.nodeid.encode()) % n:
                item.add_marker(pytest.mark.slow)
            covered |= own


def _values(items: list[pytest.Item]) -> defaultdict[tuple[str, str], set[object]]:
    """The values of each parameter of a test."""
    found: defaultdict[tuple[str, str], set[object]] = defaultdict(set)
    for item in items:
        if (call := getattr(item, "callspec", None)) is not None:
            for name, value in call.params.items():
                found[item.nodeid.partition("[")[0], name].add(_plain(value))
    return found


def _plain(value: object) -> object:
    """What tells the values of a parameter apart."""
    return value if isinstance(value, str | int | float) else id(value)
