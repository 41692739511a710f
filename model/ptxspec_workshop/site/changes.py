"""What changed when: where the meaning of an instruction depends on the version or the target of its module.

Run as `python -m ptxspec_workshop.site.changes` it complains of changes that no text tells of.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.base.places import DOCUMENTS
from ptxspec.language.forms import Form, page_name
from ptxspec.literate import finder
from ptxspec.pages.register import REGISTER, Entry, entry
from ptxspec.terms.definitions import Definition
from ptxspec.terms.editions import Edition, shown
from ptxspec_workshop.generate.representatives import representative
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.pages import code, forms, table

#: so many forms of a change are named; of more, one fewer and their number
_NAMED = 4


class EditionChange(NamedTuple):
    """What is so in modules of an edition, for these forms: they have `implied` modifiers without spelling them, or do not exist
    (`gone`), or the entry `slug` of the register of ambiguities tells what they mean."""

    edition: Edition
    forms: tuple[str, ...]
    page: Path
    line: int
    implied: str = ""
    gone: bool = False
    slug: str = ""


def changes(module: str) -> list[EditionChange]:
    """What changed for the forms of a page, the earliest first."""
    module_forms = forms(module)
    result = [
        c for definition in pages.definitions(module) for c in _changes(definition, _of(definition, module_forms))
    ]
    return sorted(
        result, key=lambda c: (c.edition.since, c.edition.before or (0, 0), c.edition.target, c.line, c.forms)
    )


def _of(definition: Definition, page_forms: Iterable[Form]) -> list[Form]:
    return [form for form in page_forms if form.definition is definition]


def _changes(definition: Definition, page_forms: list[Form]) -> Iterator[EditionChange]:
    place = Path(definition.path), definition.line
    for rule in definition.implications:
        concerned = (
            f
            for f in page_forms
            if rule.concerns(f.modifiers) and {s.name for s in f.syntax.slots} >= rule.modifiers.keys()
        )
        words = "".join(f".{name if value is True else value}" for name, value in rule.modifiers.items())
        yield EditionChange(rule.edition, _mnemonics(concerned), *place, implied=words)
    for removal in definition.removals:
        gone = _mnemonics(f for f in page_forms if f.removal == (removal.since, removal.target))
        yield EditionChange(Edition(since=removal.since, target=removal.target), gone, *place, gone=True)
    questions: dict[tuple[str, Edition], list[Form]] = {}
    for form in page_forms:
        for question in representative(form).changes:
            questions.setdefault(question, []).append(form)
    for (slug, edition), concerned_forms in questions.items():
        yield EditionChange(edition, _mnemonics(concerned_forms), *place, slug=slug)


def _mnemonics(concerned: Iterable[Form]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form.mnemonic for form in concerned))


def markdown(module: str, register: dict[str, Entry]) -> str:
    """The table of a page's changes; of those of all instructions, if the page has no instruction."""
    head, caption = ["In modules", "Forms", "What is so there"], "Where the version or the target decides"
    if forms(module):
        return table(head, [[_when(c), _names(c), _what(c, register)] for c in changes(module)], caption)
    ordered = sorted(
        (c for other in pages.with_forms() for c in changes(other)),
        key=lambda c: (c.edition.since, c.edition.before or (0, 0), c.edition.target, c.forms),
    )
    rows = [[_when(c), _names(c, pages.docname_of(c.page)), _what(c, register)] for c in ordered]
    return table(head, rows, f"{caption}, in all instructions")


def _when(change: EditionChange) -> str:
    return str(change.edition)


def _names(change: EditionChange, docname: str = "") -> str:
    named = change.forms if len(change.forms) <= _NAMED else change.forms[: _NAMED - 1]
    shown = ", ".join(f"[{code(f)}](/{docname}.md)" if docname else code(f) for f in named)
    more = len(change.forms) - len(named)
    return f"{shown} and {more} more" if more else shown


def _what(change: EditionChange, register: dict[str, Entry]) -> str:
    if change.implied:
        return f"mean the forms with {code(change.implied)}"
    if change.gone:
        return "do not exist"
    known = entry(register, change.slug, page_name(str(change.page)))
    return f"a later sentence of the manual stands: {known.link} <small>{known.number}</small>"


# What the text says of it ----------------------------------------------------------------------------------------------


def unmentioned(change: EditionChange, root: Path = DOCUMENTS) -> list[str]:
    """The versions and targets at which a change begins or ends and of which no text tells: its page, a page whose definitions
    that one takes, or an entry of the register that it refers to; for a sentence that was settled, the entry alone."""
    entries = _entries(root)
    if change.slug:
        text = entries.get(change.slug, "")
    else:
        prose = _prose(change.page)
        text = prose + "".join(entries.get(number, "") for number in re.findall(r"AMB-\d{3}", prose))
        module = pages.module_of(pages.docname_of(change.page))
        text += "".join(_prose(path) for path in finder.sources([module]) if path != change.page)
    marks = [shown(v) for v in change.edition.versions] + [f"sm_{t}" for t in change.edition.targets]
    return [mark for mark in marks if not re.search(rf"(?<![\d.]){re.escape(mark)}(?!\d)", text)]


@cache
def _prose(path: Path) -> str:
    """What a page says outside of its fences."""
    return re.sub(r"^(`{3,}).*?^\1", "", path.read_text("utf-8"), flags=re.M | re.S)


def _entries(root: Path) -> dict[str, str]:
    """The text of each entry of the register, by its number and its names."""
    register = (root / f"{REGISTER}.md").read_text("utf-8")
    texts: dict[str, str] = {}
    for text in re.split(r"^## ", register, flags=re.M)[1:]:
        texts |= dict.fromkeys(text.partition("\n")[0].split(), text)
    return texts


def unknown(edition: Edition) -> list[str]:
    """The versions and targets at which an edition begins or ends and that there are not."""
    page = contracts.directives
    versions = [f"PTX ISA {shown(v)}" for v in edition.versions if v[1] > page.VERSIONS.get(v[0], -1)]
    return versions + [f"sm_{t}" for t in edition.targets if f"sm_{t}" not in page.TARGETS]


def complaints() -> list[str]:
    """What is wrong with the changes of all pages: each as document:line and a message."""
    problems = []
    for module in pages.with_forms():
        for change in changes(module):
            where = f"{page_name(str(change.page))}:{change.line}"
            mentions = f"the register's entry {change.slug}" if change.slug else "the page"
            problems += [f"{where}: no text tells of {mark}; {mentions} should" for mark in unmentioned(change)]
            problems += [f"{where}: there is no {mark}" for mark in unknown(change.edition)]
            if not change.forms:
                problems.append(f"{where}: a change that concerns no form")
    return problems


def main() -> int:
    """Complain; the exit status is 1 if there was something to complain of."""
    problems = complaints()
    print("".join(f"{line}\n" for line in problems), end="")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
