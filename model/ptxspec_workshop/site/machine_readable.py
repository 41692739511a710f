"""What the built site has for programs: the ISA as JSON, under the name that `ptxspec_isa` of conf.py gives, and its schema."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util.parallel import parallel_available

from ptxspec.base import places
from ptxspec.base.files import write_whole
from ptxspec.evidence import ledger, precomputed
from ptxspec.language.forms import registry
from ptxspec.literate import finder
from ptxspec.pages import anchors
from ptxspec_workshop.site import freedoms, store
from ptxspec_workshop.site.export import evidence, forms, isa
from ptxspec_workshop.site.finding import forms_data

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: below the folder of the documents
SCHEMAS = ("docs/reference/schemas/export.json", "docs/reference/schemas/common.json")


#: the processes that describe opcodes, by their builds
_processes: dict[int, multiprocessing.process.BaseProcess] = {}


def _folder(app: Sphinx) -> Path:
    """Where the descriptions of opcodes are kept between builds."""
    return Path(app.srcdir) / str(app.config.ptxspec_build) / "site-tables"


def begin(app: Sphinx, env: Any) -> None:
    """Describe the opcodes in a process of its own while Sphinx writes the pages."""
    if parallel_available and app.parallel > 1 and app.config.ptxspec_isa and app.builder.format == "html":
        made = multiprocessing.get_context("fork").Process(target=_describe, args=(_folder(app),), daemon=True)
        made.start()
        _processes[id(app)] = made


def _describe(folder: Path) -> None:
    with contextlib.suppress(Exception):  # `write` does again what went wrong, and says so
        isa.exported(opcode=_kept(folder))


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the files into the site that was built; what is said of an opcode is that of an earlier build, if nothing that it
    depends on has changed since."""
    if (made := _processes.pop(id(app), None)) is not None:
        made.join()
    name = str(app.config.ptxspec_isa)
    if error is not None or not name or app.builder.format != "html":
        return
    out, root = Path(app.outdir), Path(app.srcdir)
    exported = isa.exported(opcode=_kept(_folder(app)))
    write_whole(out / name, isa.text_of(exported).encode("ascii"))
    write_whole(out / "_static" / forms_data.FILE, forms_data.text_of(exported).encode())
    for schema in SCHEMAS:
        if (root / schema).is_file():
            shutil.copyfile(root / schema, out / Path(schema).name)


def _kept(folder: Path) -> Callable[[str, isa.Register], dict[str, Any]]:
    """What makes the description of an opcode, or takes the one that is kept in a folder."""
    ours = [*sorted(Path(forms.__file__).parent.glob("*.py")), Path(freedoms.__file__), Path(anchors.__file__)]
    gaps = places.DOCUMENTS / "spec" / "gaps.md"
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in precomputed.rows(ledger.rows()):
        rows.setdefault(row["mnemonic"].split(".")[0], []).append(row)

    def opcode(name: str, register: isa.Register) -> dict[str, Any]:
        known = registry().opcodes
        homes = {definition.module for _, definition in known[name].lines} if name in known else set[str]()
        checked = rows.get(name) or ledger.digest()
        more = (sorted(register.items()), checked, evidence.identities()[name])
        key = store.digest([*finder.sources(sorted(homes)), gaps, *ours], *more)
        text = store.stored(folder, f"isa.{name}", key, lambda: json.dumps(forms.opcode(name, register)))
        stored: dict[str, Any] = json.loads(text)
        return stored

    return opcode
