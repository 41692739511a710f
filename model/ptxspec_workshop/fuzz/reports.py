"""Findings as folders: the PTX, what it was given, what is expected and what was got, and how to run it again."""

from __future__ import annotations

import io
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec import __version__
from ptxspec.base import strict
from ptxspec.base.files import write_whole
from ptxspec_workshop.fuzz import cases
from ptxspec_workshop.fuzz.cases import FuzzCase

#: what a folder has
TEXT, GIVEN, EXPECTED, GOT, FACTS, REPORT = "case.ptx", "in.npy", "expected.npy", "got.npy", "finding.json", "README.md"


def write(folder: Path, finding: Mapping[str, Any], facts: Mapping[str, Any], again: str) -> Path:
    """Write a finding into a folder of its own below `folder`, and say which. `facts` say who was asked, `again` is the command
    that asks it anew, to which the folder's name is added. Raises OSError."""
    destination = folder / f"{finding['kind']}-{finding['seed']}"
    destination.mkdir(parents=True, exist_ok=True)
    given = cases.of_seed(finding["seed"]).cells
    write_whole(destination / TEXT, finding["text"].encode())
    tables = {GIVEN: given}
    tables |= {n: _rows(finding[key]) for n, key in ((EXPECTED, "expected"), (GOT, "got")) if finding[key] is not None}
    for name, table in tables.items():
        data = io.BytesIO()
        np.save(data, table)
        write_whole(destination / name, data.getvalue())
    small = {key: value for key, value in finding.items() if key not in ("text", "expected", "got")}
    versions = {"ptxspec": __version__, "python": platform.python_version(), "numpy": np.__version__}
    contents = {**small, "target": dict(facts), "versions": versions}
    write_whole(destination / FACTS, (json.dumps(contents, indent=1) + "\n").encode())
    write_whole(destination / REPORT, _report(finding, facts, versions, f"{again} --again {destination}").encode())
    return destination


def read(folder: Path) -> tuple[FuzzCase, dict[str, Any]]:
    """The case of a finding's folder, and what was found. Raises OSError, and ValueError for a folder that is no finding's."""
    for name in (FACTS, GIVEN, TEXT):
        if (folder / name).exists() and not (folder / name).is_file():
            raise ValueError(f"{folder / name} is no file")
    try:
        facts = strict.loaded((folder / FACTS).read_text())
    except ValueError as why:
        raise ValueError(f"{folder / FACTS} is no finding: {why}") from None
    if not isinstance(facts, dict) or not all(isinstance(facts.get(name), str) for name in ("kernel", "kind")):
        raise ValueError(f"{folder / FACTS} is no finding")
    try:
        cells = np.load(folder / GIVEN, allow_pickle=False)
    except (EOFError, MemoryError) as why:
        raise ValueError(f"{folder / GIVEN} is no array: {why}") from None
    if not isinstance(cells, np.ndarray):  # an archive of several
        raise ValueError(f"{folder / GIVEN} is no array")
    if cells.ndim != 2 or cells.dtype != np.uint64:
        raise ValueError(f"{folder / GIVEN} has no rows of 8-byte cells")
    return FuzzCase((folder / TEXT).read_text(), str(facts["kernel"]), cells), facts


def _rows(texts: list[str]) -> np.ndarray:
    return np.array([[int(t[i : i + 16], 16) for i in range(0, len(t), 16)] for t in texts], np.uint64)


def _report(finding: Mapping[str, Any], facts: Mapping[str, Any], versions: Mapping[str, Any], again: str) -> str:
    who = ", ".join(filter(None, finding["who"]))
    lines = [
        f"# {finding['kind']}{f' at {who}' if who else ''}: seed {finding['seed']}",
        "",
        finding["message"],
        "",
        "```ptx",
        *finding["statements"],
        "```",
        "",
        f"The whole module is in `{TEXT}`; its kernel `{finding['kernel']}` is launched with one CTA of 64 threads.",
        f"The first parameter is the address of `{GIVEN}`, a row of 8-byte cells for each thread; the second that of as many",
        "cells of 0xa5a5a5a5a5a5a5a5, in which each thread leaves its registers in the order in which it was given them.",
        "",
    ]
    if finding["cells"]:
        lines += ["| thread | cell | expected | got |", "|---|---|---|---|"]
        lines += [f"| {c['thread']} | `{c['cell']}` | {c['expected']} | {c['got']} |" for c in finding["cells"]]
        lines += ["", f"All cells are in `{EXPECTED}` and `{GOT}`.", ""]
    lines += ["The instructions are defined at", "", *(f"- {page}" for page in finding["pages"]), ""]
    context = {**facts, **versions}
    lines += ["Who was asked, by whom:", "", *(f"- {name}: {value}" for name, value in context.items()), ""]
    return "\n".join([*lines, "To ask again:", "", "```console", f"$ {again}", "```", ""])
