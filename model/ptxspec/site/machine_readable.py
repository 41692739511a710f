"""What the built site has for programs: the ISA as JSON, under the name that `ptxspec_isa` of conf.py gives, and its schema."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ptxspec.evidence import ledger
from ptxspec.files import write_whole
from ptxspec.site import store
from ptxspec.site.export import isa
from ptxspec.site.finding import forms_data
from ptxspec.site.pages import sources, with_forms

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: below the folder of the documents
SCHEMAS = ("docs/reference/schemas/export.json", "docs/reference/schemas/common.json")


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the files into the site that was built; from an earlier build if nothing that they depend on has changed since."""
    name = str(app.config.ptxspec_isa)
    if error is not None or not name or app.builder.format != "html":
        return
    out, root = Path(app.outdir), Path(app.srcdir)
    kept = root / str(app.config.ptxspec_build) / "site-tables"
    ours = sorted((Path(__file__).parent / "export").glob("*.py"))
    digest = store.digest([*sources(with_forms()), *sorted((root / "spec").rglob("*.md")), *ours], ledger.digest())
    text = store.stored(kept, "isa", digest, lambda: isa.text_of(isa.exported()))
    write_whole(out / name, text.encode("ascii"))
    write_whole(out / "_static" / forms_data.FILE, forms_data.text_of(json.loads(text)).encode())
    for schema in SCHEMAS:
        if (root / schema).is_file():
            shutil.copyfile(root / schema, out / Path(schema).name)
