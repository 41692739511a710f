"""What the site has names for: instructions, families that no page describes, forms, modifiers, types, state spaces,
directives, special registers, names of CUDA C++, entries of the register, rules, words, definitions, identities. Each has a
kind, a name and a place."""

from __future__ import annotations

import functools
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ptxspec.terms
from ptxspec.base.places import DOCUMENTS
from ptxspec.language import gaps
from ptxspec.language.forms import page_name, registry
from ptxspec.pages import facts
from ptxspec.pages.anchors import form_anchor, identity_anchor, word_anchor
from ptxspec.pages.prose import title_and_summary
from ptxspec.pages.register import REGISTER
from ptxspec.query.identities import load_all
from ptxspec.terms.registries import STATIC_RULES
from ptxspec_workshop.site import code_links, contents, cuda_names, pages, vocabulary_tables
from ptxspec_workshop.site.finding import marks
from ptxspec_workshop.site.finding.sections import plain

#: each kind with its name for readers, in the order of the index
KINDS = {
    "insn": "Instructions",
    "gap": "Not described yet",
    "mod": "Modifiers",
    "type": "Types",
    "space": "State spaces",
    "dir": "Directives",
    "sreg": "Special registers",
    "cuda": "CUDA C++",
    "concept": "Concepts",
    "amb": "The register of ambiguities",
    "rule": "Rules",
    "word": "Words of definitions",
    "def": "Definitions",
    "identity": "Identities",
    "form": "Forms",
}
#: what one of each kind is called
SINGULAR = {
    **{"insn": "instruction", "mod": "modifier", "type": "type", "space": "state space", "dir": "directive"},
    **{
        "sreg": "special register",
        "cuda": "CUDA C++",
        "concept": "concept",
        "amb": "entry of the register",
        "rule": "rule",
        "gap": "not described yet",
    },
    **{"word": "word of definitions", "def": "definition", "identity": "identity", "form": "form"},
}
#: concepts, each with the section that tells of it
CONCEPTS = Path(__file__).with_name("concepts.toml")


class Thing(NamedTuple):
    """A thing with a name: its kind (one of KINDS), how it is written, the document and the anchor ("" for the top of the page)
    where it is, and a sentence about it or ""."""

    kind: str
    name: str
    docname: str
    anchor: str = ""
    about: str = ""

    @property
    def address(self) -> str:
        """Below the site's."""
        return f"{self.docname}.html" + (f"#{self.anchor}" if self.anchor else "")


@functools.cache
def things() -> tuple[Thing, ...]:
    """Everything that the site has a name for, but the forms, in the order of the kinds and of the manual."""
    by_kind = {kind: [*make()] for kind, make in _MAKERS.items()}
    return tuple(thing for kind in KINDS if kind in by_kind for thing in by_kind[kind])


def form_things() -> Iterator[Thing]:
    """Every form, by its mnemonic; of several with one mnemonic the first has that name, and all have it with their operands."""
    listed: set[str] = set()
    for form in registry().forms():
        docname = page_name(form.definition.path).removesuffix(".md")
        names = {form.mnemonic, str(form).removesuffix(";")} - listed
        listed |= names
        yield from (Thing("form", name, docname, form_anchor(form)) for name in sorted(names))


@functools.cache
def instruction_pages() -> dict[str, list[str]]:
    """The pages of each opcode, in the order of the manual."""
    order = {entry: i for i, entry in enumerate(_reading_order())}
    documents: dict[str, set[str]] = {}
    for module in pages.with_forms():
        docname = pages.docname_of(pages.forms(module)[0].definition.path)
        for opcode in pages.opcodes(module):
            documents.setdefault(opcode, set()).add(docname)
    return {name: sorted(documents[name], key=lambda d: (order.get(d, len(order)), d)) for name in sorted(documents)}


def _reading_order() -> list[str]:
    chapters = [e.folder for e in contents.children(DOCUMENTS, "spec/instructions") if e.is_folder]
    return [e.docname for chapter in chapters for e in contents.children(DOCUMENTS, chapter)]


def chapter(docname: str) -> str:
    """The chapter of an instruction's page: the name of its folder."""
    return docname.split("/")[-2]


def shown_title(docname: str) -> str:
    """The title of an instruction's page, with its chapter where another page has the same title."""
    title = title_and_summary(f"{docname}.md")[0]
    return f"{title} ({chapter(docname)})" if _titles()[title] > 1 else title


@functools.cache
def _titles() -> Counter[str]:
    documents = {d for docnames in instruction_pages().values() for d in docnames}
    return Counter(title_and_summary(f"{d}.md")[0] for d in documents)


def _instructions() -> Iterator[Thing]:
    """By opcode: the first page; by chapter and opcode, or page if that is of one opcode: each. `add` is `integer/add`, and there
    are `floating/add` and `movement/ld.acquire`."""
    titles: set[str] = set()
    for opcode, documents in instruction_pages().items():
        for i, document in enumerate(documents):
            title, about = title_and_summary(f"{document}.md")
            if i == 0:
                yield Thing("insn", opcode, document, "", about)
            if title not in {opcode, *titles}:
                yield Thing("insn", title, document, "", about)
                titles.add(title)
            is_shared = len(pages.opcodes(pages.module_of(document))) > 1
            name = opcode if is_shared else document.split("/")[-1]
            yield Thing("insn", f"{chapter(document)}/{name}", document, "", about)


def _gaps() -> Iterator[Thing]:
    """By family and, of an opcode that has no page, by opcode."""
    listed: set[str] = set()
    for gap in gaps.families():
        about = f"{gap.what[0].upper()}{gap.what[1:]}: PTX {gap.since}, {gap.target}. No page describes it yet."
        names = {gap.name} if gap.opcode in instruction_pages() else {gap.opcode, gap.name}
        yield from (Thing("gap", name, "spec/gaps", "families", about) for name in sorted(names - listed))
        listed |= names


@functools.cache
def modifiers() -> dict[str, list[str]]:
    """The pages that have each modifier (`.rn`), types left out, in the order of the manual."""
    order = _reading_order()
    documents: dict[str, set[str]] = {}
    types = {f".{thing['type']}" for thing in facts.types()}
    for module in pages.with_forms():
        page_forms = pages.forms(module)
        docname = pages.docname_of(page_forms[0].definition.path)
        for line in {form.syntax for form in page_forms}:
            for slot in line.slots:
                for option in slot.options:
                    if f".{option}" not in types:
                        documents.setdefault(f".{option}", set()).add(docname)
    return {name: sorted(documents[name], key=order.index) for name in sorted(documents)}


def _modifiers() -> Iterator[Thing]:
    for name, documents in modifiers().items():
        yield Thing("mod", name, "genindex", word_anchor("mod", name), f"A modifier of {len(documents)} pages.")


def _types() -> Iterator[Thing]:
    for type in facts.types():
        yield _word("type", f".{type['type']}", type["summary"])


def _spaces() -> Iterator[Thing]:
    for space in facts.spaces():
        yield _word("space", f".{space['space']}", f"A state space, shared by {space['shared_by']}.")


def _directives() -> Iterator[Thing]:
    for use in facts.directives():
        yield _word("dir", use["name"], use["summary"])


def _word(kind: str, name: str, about: str) -> Thing:
    return Thing(kind, name, *marks.words()[name], plain(about))


def _registers() -> Iterator[Thing]:
    for register in facts.special_registers():
        yield Thing(
            "sreg",
            register["name"],
            register["page"].removesuffix(".md"),
            register["anchor"],
            plain(register["summary"]),
        )


def _cuda() -> Iterator[Thing]:
    """The names of CUDA C++ by which readers look for an instruction or a special register: what a name is directly compiled to
    comes before what is a part of it. A name with a component, such as `threadIdx.x`, is found without it too."""
    listed: set[tuple[str, str]] = set()
    for name in sorted(cuda_names.names(), key=lambda name: not name.direct):
        docname = name.page.removesuffix(".md")
        for spelled in (name.plain, name.plain.partition(".")[0]):
            if spelled and (spelled, docname) not in listed:
                listed.add((spelled, docname))
                yield Thing("cuda", spelled, docname, "", title_and_summary(f"{docname}.md")[1])


def _concepts() -> Iterator[Thing]:
    for names, place in tomllib.loads(CONCEPTS.read_text("utf-8")).items():
        docname, _, anchor = place.partition("#")
        yield from (Thing("concept", name.strip(), docname, anchor) for name in names.split(","))


def _entries() -> Iterator[Thing]:
    for entry in facts.ambiguities():
        yield Thing("amb", entry["number"], REGISTER, entry["anchor"], entry["question"])


def _rules() -> Iterator[Thing]:
    """The rules of programs that run, then those of texts."""
    rows = [(rule, rule["sentence"]) for rule in facts.rules()]
    rows += [(rule, STATIC_RULES[rule["name"]].outline) for rule in facts.static_rules()]
    for rule, about in rows:
        yield Thing("rule", rule["name"], rule["page"].removesuffix(".md"), rule["anchor"], about)


def _words() -> Iterator[Thing]:
    meanings = {name: meaning for rows in vocabulary_tables.words().values() for _, meaning, name in rows}
    for name in sorted(set(ptxspec.terms.__all__)):
        if name in meanings:
            yield Thing("word", name, code_links.WORDS, vocabulary_tables.target(name), meanings[name])


def _definitions() -> Iterator[Thing]:
    """The names that the pages' Python defines, with the pages' modules before them."""
    for name, docname in sorted(code_links.documents().items()):
        known = code_links.names(DOCUMENTS, docname)
        for bound in sorted(name for names in known.defined.values() for name in names):
            yield Thing("def", f"{name.removeprefix('ptxspec.')}.{bound}", docname, f"def-{bound}")


def _identities() -> Iterator[Thing]:
    for claim in load_all():
        yield Thing("identity", claim.title, pages.docname_of(claim.path), identity_anchor(claim.title))


_MAKERS = {
    "insn": _instructions,
    "gap": _gaps,
    "mod": _modifiers,
    "type": _types,
    "space": _spaces,
    "dir": _directives,
    "sreg": _registers,
    "cuda": _cuda,
    "concept": _concepts,
    "amb": _entries,
    "rule": _rules,
    "word": _words,
    "def": _definitions,
    "identity": _identities,
}
