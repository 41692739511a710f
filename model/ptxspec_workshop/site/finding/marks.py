"""The anchors that pages themselves do not have: at lines of Python that state an identity, a rule or a special register, at
words of tables, and at entries of the register by their numbers alone."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes

from ptxspec.base import places
from ptxspec.language.forms import registry
from ptxspec.pages import anchors, facts
from ptxspec.pages.prose import has_word
from ptxspec.pages.register import REGISTER
from ptxspec.query.identities import load_all
from ptxspec.terms.registries import RULES, SPECIAL_REGISTERS, STATIC_RULES
from ptxspec_workshop.site import contents, pages

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LINE = re.compile(r'<span id="L-(\d+)">')


@functools.cache
def lines() -> dict[str, dict[int, list[str]]]:
    """By document and line: the anchors of what is stated there."""
    _ = registry().pages  # all are loaded then
    anchors_of: dict[str, dict[int, list[str]]] = {}
    stated = [(claim.path, claim.line, anchors.identity_anchor(claim.title)) for claim in load_all()]
    stated += [(rule.path, rule.line, anchors.rule_anchor(rule.name)) for rule in RULES.values()]
    stated += [(static.path, static.line, anchors.rule_anchor(static.name)) for static in STATIC_RULES.values()]
    stated += [
        (register.path, register.line, anchors.register_anchor(register.name))
        for register in SPECIAL_REGISTERS.values()
    ]
    for path, line, anchor in stated:
        anchors_of.setdefault(pages.docname_of(path), {}).setdefault(line, []).append(anchor)
    return anchors_of


def mark_lines(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page's lines of Python the anchors of what they state."""
    anchors_here = lines().get(page) if context.get("body") else None
    if anchors_here:

        def marked(line: re.Match[str]) -> str:
            return line[0] + "".join(f'<a id="{anchor}"></a>' for anchor in sorted(anchors_here.get(int(line[1]), ())))

        context["body"] = _LINE.sub(marked, context["body"])


@functools.cache
def words() -> dict[str, tuple[str, str]]:
    """The words in the prose of pages that have anchors: each directive, type and state space with the document and the anchor,
    "" where no page names it. It is the first page that does: that of its kind, then others in the order of the manual."""
    targets: dict[str, tuple[str, str]] = {}
    order = [f"{d}.md" for d in _manual()]
    for kind, names, page in (
        ("dir", [use["name"] for use in facts.directives()], facts.DIRECTIVES),
        ("type", [f".{type['type']}" for type in facts.types()], facts.TYPES_PAGE),
        ("space", [f".{space['space']}" for space in facts.spaces()], facts.SPACES),
    ):
        folder = page.rpartition("/")[0]
        near = [page, *(p for p in order if p.startswith(folder)), *order]
        for name in names:
            mentioning = next((p for p in near if has_word(p, name)), None)
            anchor = anchors.word_anchor(kind, name) if mentioning else ""
            targets[name] = ((mentioning or page).removesuffix(".md"), anchor)
    return targets


def _manual() -> list[str]:
    """The pages of the specification in the order of the manual, but those that only list others."""
    docnames: list[str] = []

    def walk(folder: str) -> None:
        for entry in contents.children(places.DOCUMENTS, folder):
            if entry.is_folder and entry.folder != folder:
                docnames.append(entry.docname)
                walk(entry.folder)
            elif entry.docname not in docnames and not entry.docname.startswith("spec/profiles/"):
                docnames.append(entry.docname)

    walk("spec")
    return [d for d in docnames if d not in ("spec/index", "spec/changes", "spec/gaps", REGISTER)]


def mark_words(app: Sphinx, doctree: nodes.document) -> None:
    """Give the words of a page their anchors, and the entries of the register those that are their numbers."""
    docname = app.env.docname
    if docname == REGISTER:
        for section in doctree.findall(nodes.section):
            named = re.match(r"AMB-\d+", section.next_node(nodes.title).astext())
            if named and anchors.entry_anchor(named[0]) not in section["ids"]:
                section["ids"].append(anchors.entry_anchor(named[0]))
    wanted = {word: anchor for word, (document, anchor) in words().items() if document == docname and anchor}
    for literal in doctree.findall(nodes.literal) if wanted else ():
        anchor = wanted.pop(literal.astext(), None)
        if anchor is not None:
            literal["ids"].append(anchor)
