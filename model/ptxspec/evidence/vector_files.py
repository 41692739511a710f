"""Vector files, for other implementations: what to execute, on which operands, and what comes out.

`write` makes a folder with a file an opcode, JSON Lines, a form a line; what stands in a line, vector_contents.py says. Whoever
fills in results has them held against the definitions by vector_results.py. Neither needs a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ptxspec.base.parallel import on_all_cores
from ptxspec.evidence.kernels.instruction_kernels import (
    kernel,
)
from ptxspec.evidence.kernels.instruction_modules import (
    alone,
)
from ptxspec.evidence.kernels.operand_rows import table_of
from ptxspec.evidence.kernels.signatures import inputs_of, results_of
from ptxspec.evidence.vector_contents import (
    README,
    Header,
    dated,
    digits,
    expected,
    header_of,
    open_results,
    wanted,
    written_forms,
)
from ptxspec.evidence.vector_folder import ABOUT, FORMAT, install, own_files, refuse_losses, stage
from ptxspec.language.forms import Form
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Update
from ptxspec.terms.profiles import Profile


def _named(form: Form, meaning: Meaning) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Name and type of every value that goes in and comes out."""
    count = meaning.effect.count if isinstance(meaning.effect, Update) else 0
    shown = {CONDITION_CODE: "CC", "%loaded0": "old"}
    shown |= {f"%loaded{i}": f"old.{i}" for i in range(count) if count > 1}
    ins = [{"name": shown.get(n, n), "type": str(t).lstrip(".")} for n, t in inputs_of(meaning)]
    names: list[str] = []
    spelled = [n for o in form.destinations for n in (o.name, o.second) if n]
    for name, result in zip(spelled, meaning.results, strict=False):
        several = len(result.values) > 1
        names += [f"{name}.{i}" if several else name for i in range(len(result.values))]
    types = [str(t).lstrip(".") for t, _ in results_of(meaning)]
    more = ["new"] if count == 1 else [f"new.{i}" for i in range(count)]
    more += ["CC"] if meaning.carry is not None else []
    names = [*names[: len(types) - len(more)], *more]
    return ins, [{"name": n, "type": t} for n, t in zip(names, types, strict=True)]


def lines_of(opcode: str, profile: str, version: str | None = None, target: str | None = None) -> Iterator[str]:
    """The lines of an opcode's file, of those forms that modules of the version and the target have."""
    chosen = Profile(profile)
    headers = [(form, header_of(form, version, target)) for form in written_forms(opcode).values()]
    placed = [(dated(form, header), header) for form, header in headers if header is not None]
    forms = [form for form, _ in placed]
    meanings = [form.meaning() for form in forms]
    tables = [table_of(form, meaning) for form, meaning in zip(forms, meanings, strict=True)]
    answers = expected(list(zip(meanings, tables, strict=True)), chosen)
    for (form, header), meaning, table, rows in zip(placed, meanings, tables, answers, strict=True):
        ins, outs = _named(form, meaning)
        types = [t for _, t in inputs_of(meaning)]
        line = {
            "form": str(form),
            "page": form.page,
            **header._asdict(),
            "ptx": alone(kernel(form, "vector"), *header),
            "inputs": ins,
            "outputs": outs,
            "rows": [[digits(v, t) for v, t in zip(row, types, strict=True)] for row in table],
            "expected": rows,
            "open": open_results(meaning, chosen),
            "results": None,
        }
        yield json.dumps(line, separators=(",", ":"))


def _write_opcode(task: tuple[str, str, Path, str | None, str | None]) -> tuple[str, int, int]:
    opcode, profile, folder, version, target = task
    forms = rows = 0
    with open(folder / f"{opcode}.jsonl", "w", encoding="utf-8") as file:
        for line in lines_of(opcode, profile, version, target):
            file.write(line + "\n")
            forms += 1
            rows += len(json.loads(line)["rows"])
    return opcode, forms, rows


def write(
    folder: Path,
    requested: Sequence[str] = (),
    profile: str = "portable",
    version: str | None = None,
    target: str | None = None,
) -> dict[str, Any]:
    """Write the vectors of some opcodes, or of all, into a folder; what was written. The modules have the PTX ISA version and the
    target that are asked for, and forms that these do not have are left out; by default each module has the first that have
    its form. Raises ValueError for an opcode that has no vectors, for an unknown profile, version or target, and for a folder
    that holds something else, or something that would be lost."""
    Profile(profile)
    _ = Header(version or "1.0", target or "sm_20").epoch
    names = wanted(requested)
    present = own_files(folder)
    refuse_losses(folder, present, {ABOUT, *(f"{name}.jsonl" for name in names)})
    with stage(folder) as staged:
        done = sorted(on_all_cores(_write_opcode, [(name, profile, staged, version, target) for name in names]))
        facts = {
            "format": FORMAT,
            "profile": profile,
            "opcodes": names,
            "forms": sum(f for _, f, _ in done),
            "rows": sum(r for _, _, r in done),
        }
        (staged / ABOUT).write_text(README.format(profile=profile))
        left_alone = install(staged, folder, present, facts)
    return {**facts, "left_alone": left_alone}
