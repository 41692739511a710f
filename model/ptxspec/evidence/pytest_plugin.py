"""For pytest: results in vector files as tests, and a fixture that launches a kernel and compares.

`pytest --ptx-vectors DIR` has a test for each opcode with results in the folder, as `ptxspec vectors check` judges them. The
fixture `ptx_kernel` runs PTX. Nothing else of ptxspec is loaded unless one of these is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ptxspec", "the specification of PTX")
    group.addoption("--ptx-vectors", type=Path, metavar="DIR", help="hold the results in the folder's vector files")
    group.addoption("--ptx-profile", default="portable", help="who chooses what PTX leaves open (portable)")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    folder = config.getoption("--ptx-vectors")
    if folder is not None:
        items += _opcodes(session, folder, config.getoption("--ptx-profile"))


def _opcodes(session: pytest.Session, folder: Path, profile: str) -> Iterator[pytest.Item]:
    """A test for each file of results. Raises UsageError for a folder without any."""
    names = sorted(path.stem for path in folder.glob("*.jsonl"))
    if not names:
        raise pytest.UsageError(f"--ptx-vectors: {folder} has no file <opcode>.jsonl")
    for name in names:
        yield OpcodeItem.from_parent(session, name=f"ptx-vectors::{name}", folder=folder, opcode=name, profile=profile)


class Wrong(Exception):
    """Results that are not allowed, or missing."""


class OpcodeItem(pytest.Item):
    """The results of one opcode."""

    def __init__(self, *, folder: Path, opcode: str, profile: str, **rest: Any):
        super().__init__(**rest)
        self.folder, self.opcode, self.profile = folder, opcode, profile

    def runtest(self) -> None:
        from ptxspec.evidence import vector_results

        judged, missing = vector_results.check(self.folder, [self.opcode], self.profile)
        lines = [f"no results: {form}" for form in missing]
        for judgement in judged:
            if judgement.differing:
                lines.append(
                    f"{judgement.form}  {judgement.differing} of {judgement.rows} rows differ  — {judgement.page}"
                )
                lines += [
                    f"  ({', '.join(row.operands)}): {', '.join(row.results)}, expected {', '.join(row.expected)}"
                    for row in judgement.first
                ]
        if lines:
            raise Wrong("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Wrong):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.folder / f"{self.opcode}.jsonl", None, self.name


@pytest.fixture
def ptx_kernel() -> Callable[..., Any]:
    """`ptx_kernel(source, args, expected, …)` launches an entry and compares what it leaves in the arrays among its arguments.

    `source` is PTX, or the path of a file; `entry` names the entry, if there are several. `expected` has a value an argument:
    what the array is to be (None: not looked at), to the bit unless `rtol` or `atol` are given, as NumPy has them. `how` is what
    `Module.launch` takes, such as `grid`, `block`, `engine` and `profile`. It gives the arguments."""

    def run(
        source: str | Path,
        args: Sequence[Any],
        expected: Sequence[Any],
        *,
        entry: str | None = None,
        rtol: float = 0.0,
        atol: float = 0.0,
        **how: Any,
    ) -> Sequence[Any]:
        import numpy as np

        import ptxspec

        if len(expected) != len(args):
            raise TypeError(f"{len(expected)} expected values for {len(args)} arguments")
        text, path = (source.read_text(), str(source)) if isinstance(source, Path) else (source, "<ptx>")
        module = ptxspec.load(text, path)
        if entry is None:
            (entry,) = module.kernels
        module.launch(entry, args=args, **how)
        for i, (array, want) in enumerate(zip(args, expected, strict=True)):
            if want is None:
                continue
            if rtol or atol:
                np.testing.assert_allclose(array, want, rtol=rtol, atol=atol, err_msg=f"argument {i}")
            else:
                np.testing.assert_array_equal(array, want, err_msg=f"argument {i}")
        return args

    return run
