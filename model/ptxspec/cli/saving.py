"""`run --save`: which arguments are written to which files, checked before the launch."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

from ptxspec.cli.failures import Failed

_SAVE = re.compile(r"([0-9]{1,9})=(.+)", re.S)


def saves(texts: tuple[str, ...], values: list[Any]) -> list[tuple[int, Path]]:
    """(index of an argument, file) for each `--save`. Fails for what could not be done after the launch."""
    targets: list[tuple[int, Path]] = []
    for text in texts:
        match = _SAVE.fullmatch(text)
        if match is None:
            raise Failed(f"--save: {text[:80]!r} is not N=FILE.npy, with the number of an argument")
        index, path = (
            int(match[1]),
            Path(os.path.realpath(os.path.dirname(match[2]) or "."), os.path.basename(match[2])),
        )
        _check(index, path, match[2], values)
        if any(path == other for _, other in targets):
            raise Failed(f"--save: two arguments cannot be written to one file, {match[2]}")
        targets.append((index, path))
    return targets


def _check(index: int, path: Path, shown: str, values: list[Any]) -> None:
    if index >= len(values):
        raise Failed(f"--save: there is no argument {index}; there are {len(values)}, counted from 0")
    if not getattr(values[index], "ndim", 0):
        raise Failed(f"--save: argument {index} is no array")
    if path.suffix != ".npy":
        raise Failed(f"--save: {shown}: the name of the file ends in .npy")
    if not path.parent.is_dir():
        raise Failed(f"--save: {shown}: there is no such folder", "file")
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise Failed(f"--save: {shown}: that is no file", "file")
    is_there = path.exists() and not path.is_symlink()
    if not os.access(path.parent, os.W_OK) or (is_there and not os.access(path, os.W_OK)):
        raise Failed(f"--save: {shown}: it cannot be written", "file")


def save(targets: list[tuple[int, Path]], values: list[Any]) -> None:
    """Write the arrays, each file whole or not at all. Raises OSError."""
    import numpy as np

    from ptxspec.base.files import write_whole

    for index, path in targets:
        data = io.BytesIO()
        np.save(data, values[index], allow_pickle=False)
        write_whole(path, data.getvalue())
