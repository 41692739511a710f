"""What the search looks through: a record for each page, each section and each thing with a name, as one file for the browser.

The words of a record are matched by MiniSearch (static/vendor), by the rules of static/search.js.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base.places import DOCUMENTS
from ptxspec.pages import facts
from ptxspec.pages.register import REGISTER
from ptxspec.query.identities import load_all
from ptxspec.terms.types import TYPES
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.finding.sections import plain, sections
from ptxspec_workshop.site.finding.things import SINGULAR, Thing, instruction_pages, shown_title, things

#: the file below the site's folder for what is static, and the name of the value in it
FILE, VALUE = "search-data.js", "PTXSPEC_SEARCH"
#: things that have records of their own; the others are found by the sections that they stand in
NAMED = ("gap", "type", "space", "dir", "sreg", "cuda", "concept", "amb", "rule", "word", "mod")
#: words that are in every text
_EMPTY = frozenset(
    "a an and are as at be but by for from has have if in into is it its may no not of on one only or other so that the their "
    "them then there these they this those to two was what when where which who whose with".split()
)
_WORD = re.compile(r"\w+")
#: so many letters of a sentence are shown at most
MOST = 120


#: the fields that words are looked for in
FIELDS = ("shown", "names", "about", "text")


class SearchRecord(NamedTuple):
    """What can be found: kind, how it is shown, address, a sentence about it, other names to be found by, and its text."""

    kind: str
    shown: str
    address: str
    about: str
    names: str
    text: str


def records(root: Path, documents: Iterable[str]) -> list[SearchRecord]:
    """The records of some documents below a folder, the manual's order deciding between equals."""
    docnames = sorted(documents)
    return [*_pages(root, docnames), *_things(set(docnames))]


def _pages(root: Path, documents: list[str]) -> list[SearchRecord]:
    result = []
    modifiers = _modifiers()
    opcodes: dict[str, list[str]] = {}
    for opcode, places in instruction_pages().items():
        for place in places:
            opcodes.setdefault(place, []).append(opcode)
    claims: dict[str, list[tuple[int, str]]] = {}
    for claim in load_all():
        claims.setdefault(pages.docname_of(claim.path), []).append((claim.line, claim.title))
    for docname in documents:
        path = root / f"{docname}.md"
        parts = sections(path) if path.is_file() else []
        for part, until in zip(parts, [*(p.line for p in parts[1:]), 1 << 30], strict=True):
            titles = [title for line, title in claims.get(docname, ()) if part.line < line < until]
            text = " ".join([plain(part.text), *titles])
            if part is not parts[0]:
                if part.text and not (docname == REGISTER and part.title.startswith("AMB-")):  # a thing with a name
                    shown = f"{part.title} – {parts[0].title}"
                    result.append(SearchRecord("section", shown, f"{docname}.html#{part.anchor}", part.about, "", text))
                continue
            names = " ".join([*opcodes.get(docname, ()), *sorted(modifiers.get(docname, ()))])
            kind = "insn" if docname in opcodes else "page"
            shown = shown_title(docname) if kind == "insn" else part.title
            result.append(SearchRecord(kind, shown, f"{docname}.html", part.about, names, text))
    return result


def _modifiers() -> dict[str, set[str]]:
    """The modifiers of each page with their types, without the dots, and the types that forms end with together, with dots."""
    words: dict[str, set[str]] = {}
    for module in pages.with_forms():
        page_forms = pages.forms(module)
        docname = pages.docname_of(page_forms[0].definition.path)
        words[docname] = {word for form in page_forms for word in form.mnemonic.split(".")[1:]}
        words[docname] |= {".".join(types) for form in page_forms if len(types := _types(form.mnemonic)) > 1}
        words[docname] |= {o for form in page_forms for slot in form.syntax.slots for o in slot.options if slot.hint}
    return words


def _types(mnemonic: str) -> list[str]:
    """The types that a mnemonic ends with."""
    return [*takewhile(TYPES.__contains__, reversed(mnemonic.split(".")))][::-1]


def _things(documents: set[str]) -> list[SearchRecord]:
    result = []
    texts = {part.title.split()[0]: part.text for part in sections(DOCUMENTS / f"{REGISTER}.md")}
    for thing in things():
        if thing.kind in NAMED and (thing.docname in documents or thing.kind == "mod"):
            about = plain(thing.about)
            shown = about if len(about) <= MOST else about[:MOST].rpartition(" ")[0] + " …"
            rest = about if shown != about else ""
            text = plain(texts[thing.name]) if thing.kind == "amb" else rest
            result.append(SearchRecord(thing.kind, thing.name, thing.address, shown, " ".join(_names(thing)), text))
    return result


def _names(thing: Thing) -> list[str]:
    """What a thing is also found by: the names of an entry of the register."""
    return [slug for slug, e in facts.known_entries().items() if e.number == thing.name] if thing.kind == "amb" else []


def tokens(text: str) -> list[str]:
    """The words of a text as static/search.js tells them: in small letters, plurals with their singulars.

    >>> tokens("Two `%tid` registers, __popc")
    ['two', 'tid', 'register', 'popc']
    """
    return [stem(word) for word in (w.lstrip("_") for w in _WORD.findall(text.lower())) if word]


def stem(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


def index(indexed: list[SearchRecord]) -> dict[str, Any]:
    """Which records have which words, for static/search.js to make an index of MiniSearch's of it: the words, each with a list of
    numbers for each field. A number is the distance to the next record, times 8, and how often the word is there, at most 7."""
    terms: dict[str, list[Counter[int]]] = {}
    lengths: list[list[int]] = []
    for number, record in enumerate(indexed):
        lengths.append([])
        for field, name in enumerate(FIELDS):
            words_here = [word for word in tokens(searched(record, name)) if word not in _EMPTY]
            lengths[-1].append(len(set(words_here)))
            for word in words_here:
                terms.setdefault(word, [Counter() for _ in FIELDS])[field][number] += 1
    ordered = sorted(terms)
    return {
        "lengths": lengths,
        "words": " ".join(ordered),
        "places": [[_packed(words_here) for words_here in terms[word]] for word in ordered],
    }


def _packed(counts: Counter[int]) -> list[int] | int:
    """Where a word is; 0 for nowhere."""
    packed, last = [], 0
    for number in sorted(counts):
        packed.append((number - last) * 8 + min(counts[number], 7))
        last = number
    return packed or 0


def searched(record: SearchRecord, field: str) -> str:
    """What of a field words are looked for in: of the names those without a dot, which stand for combinations."""
    if field == "about" and record.kind in ("page", "section", "amb"):
        return ""  # its text begins so
    text = str(getattr(record, field))
    return " ".join(n for n in text.split() if "." not in n) if field == "names" else text


def text_of(indexed: list[SearchRecord]) -> str:
    """The file for the browser: the records field by field but for their texts, and the index. Kinds are numbers, and of an
    address on the page of the record before there is the anchor alone."""
    kinds = SINGULAR | {"page": "page", "section": "section"}
    value: dict[str, Any] = {"kinds": kinds, "fields": FIELDS}
    for field in SearchRecord._fields:
        if field != "text":
            value[field] = [getattr(record, field) for record in indexed]
    numbers = {kind: number for number, kind in enumerate(kinds)}
    value["kind"] = [numbers[kind] for kind in value["kind"]]
    before = ["", *(address.partition("#")[0] for address in value["address"])]
    value["address"] = [
        address.removeprefix(page) if address.startswith(f"{page}#") else address
        for page, address in zip(before, value["address"], strict=False)
    ]
    value["index"] = index(indexed)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"{VALUE}={text};\n"
