"""Every opcode of PTX: the pages that describe it, and what of it no page describes."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language.forms import opcodes, registry
from ptxspec.site.pages import code, docname_of, gap, table


def markdown() -> str:
    """How many opcodes there are and how many have a page, and the table of all."""
    known = opcodes()
    rows = [[code(name), _pages(name) if has_page else "", _missing(name)] for name, has_page in sorted(known.items())]
    said = f"PTX has {len(known)} opcodes up to version {_newest()}; {sum(known.values())} have a page.\n\n"
    return said + table(["Opcode", "Pages", "Not described"], rows)


def _newest() -> str:
    versions = contracts.directives().VERSIONS
    return f"{max(versions)}.{versions[max(versions)]}"


def _pages(opcode: str) -> str:
    """Links to the pages of an opcode."""
    paths = dict.fromkeys(definition.path for _, definition in registry().opcodes[opcode].lines)
    documents = [docname_of(path) for path in paths]
    return ", ".join(f"[{document.split('/')[-2]}](/{document}.md)" for document in documents)


def _missing(opcode: str) -> str:
    """What no page describes of an opcode."""
    page = contracts.gaps()
    own = [f"{code(n)}: {f.what}" for n, f in page.FAMILIES.items() if n.split(".")[0].split("::")[0] == opcode]
    own += [more.what for more in page.FORMS.get(opcode, ())]
    return "<br>".join(gap(text) for text in dict.fromkeys(own))
