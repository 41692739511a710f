"""The identities that mention a page's instructions, with their verdicts."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

from ptxspec.language.forms import registry
from ptxspec.site import pages
from ptxspec.site.pages import code, gap, opcodes, table

_QUERY = "ptxspec.query.identities"


@cache
def identities() -> list[Any] | None:
    """Every identity that a page states; None where this model cannot check identities."""
    try:
        query = importlib.import_module(_QUERY)
    except ModuleNotFoundError as missing:
        if missing.name != _QUERY:
            raise
        return None
    query.load_all()
    found = query.IDENTITIES
    return list(found.values()) if isinstance(found, dict) else list(found)


def mentions(identity: Any, module: str) -> bool:
    """Whether an identity uses a form of the page: an opcode may have forms on several pages."""
    if not opcodes(module) & set(identity.opcodes):
        return False
    table = registry().opcodes
    used = re.findall(r"(?:^|[;\s])([a-z]\w*(?:\.[\w:]+)*)", f"{identity.left}\n{identity.right}")
    found = [form for m in used if m.split(".")[0] in table for form in table[m.split(".")[0]].find(m)]
    return any(form.definition.module == module for form in found) if found else True


@cache
def status(identity: Any) -> str:
    """The verdict's word; "unknown" and the like are verdicts too."""
    return str(importlib.import_module(_QUERY).verdict(identity).status)


def verdict_text(found: str, expected: str) -> str:
    """The verdict, and whether it is the one that the page expects."""
    if found == expected:
        return f"{found}, as stated"
    return f"{gap(found)}, stated as {expected}"


def markdown(module: str) -> str:
    """A table of the identities, or a sentence that says there are none."""
    known = identities()
    if known is None:
        return "No identity was checked in this build.\n"
    found = [i for i in known if mentions(i, module)]
    if not found:
        return "No page states an identity of these instructions yet.\n"
    rows = []
    for identity in found:
        place = f"[{_plain(identity.title)}](/{pages.docname_of(identity.path)}.md) <small>line {identity.line}</small>"
        condition = code(identity.assume) if identity.assume else "always"
        sides = [_sides(identity.left), _sides(identity.right)]
        rows.append([place, *sides, condition, verdict_text(status(identity), identity.expected)])
    return table(["Identity", "One side", "Other side", "Where", "Verdict"], rows, "Identities that use these instructions")


def _plain(text: str) -> str:
    return re.sub(r"[\[\]|]", " ", text)


def _sides(text: str) -> str:
    """PTX in a table's cell: an instruction a line."""
    return "<br>".join(code(part.strip() + ";") for part in text.split(";") if part.strip())
