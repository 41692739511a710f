"""Every opcode of PTX: the pages that describe it, and what of it no page describes."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language.forms import opcodes, registry
from ptxspec.language.gaps import coverage, families, further_forms
from ptxspec_workshop.site.pages import code, docname_of, gap, table


def markdown() -> str:
    """How many opcodes there are, how many of them are described, and the table of all."""
    known = opcodes()
    rows = [[code(name), _pages(name) if has_page else "", _missing(name)] for name, has_page in sorted(known.items())]
    said = f"{coverage()}. The newest version is {_newest()}.\n\n"
    return said + table(["Opcode", "Pages", "Not described"], rows)


def _newest() -> str:
    versions = contracts.directives.VERSIONS
    return f"{max(versions)}.{versions[max(versions)]}"


def _pages(opcode: str) -> str:
    """Links to the pages of an opcode."""
    paths = dict.fromkeys(definition.path for _, definition in registry().opcodes[opcode].lines)
    documents = [docname_of(path) for path in paths]
    return ", ".join(f"[{document.split('/')[-2]}](/{document}.md)" for document in documents)


def _missing(opcode: str) -> str:
    """What no page describes of an opcode."""
    own = [f"{code(family.name)}: {family.what}" for family in families() if family.opcode == opcode]
    own += [more.what for more in further_forms(opcode)]
    return "<br>".join(gap(text) for text in dict.fromkeys(own))
