"""The results that a page leaves open, and what each profile makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ptxspec.language.forms import Form
from ptxspec.pages.register import Entry, entry
from ptxspec.terms.core import Int
from ptxspec.terms.effects import terms_of
from ptxspec.terms.profiles import CHOICES, load
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import DEVIATION, freedoms_in
from ptxspec_workshop.generate.image_terms import image_terms
from ptxspec_workshop.generate.representatives import representative
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.pages import forms, section, table


class Freedom(NamedTuple):
    """A freedom of a page: its name, its kind, the types it has there, the number of forms it is reached from."""

    slug: str
    kind: str
    types: tuple[str, ...]
    forms: int


def below(form: Form) -> list[Int]:
    """The freedoms that the meanings of a form have, in all editions and with whatever operands are left out."""
    freedoms: list[Int] = []
    for dated in (form, *form.editions):
        for absent in dated.absences:
            meaning = dated.meaning(absent)
            terms = [v for result in meaning.results for v in result.values]
            terms += [meaning.carry] if meaning.carry is not None else []
            if meaning.effect is not None:
                terms += image_terms(dated, meaning)
                terms += [term for effect in (meaning.effect, *meaning.more) for term in terms_of(effect)]
            freedoms += freedoms_in(*terms)
    return freedoms


def reachable(module: str) -> list[Freedom]:
    """Every freedom below the meanings of a page's forms."""
    kinds: dict[str, str] = {}
    types: dict[str, set[Type]] = {}
    users: dict[str, set[str]] = {}
    for form in forms(module):
        for freedom in below(representative(form)):
            slug, _, kind, type, *_ = freedom.attrs
            kinds[slug] = kind
            types.setdefault(slug, set()).add(type)
            users.setdefault(slug, set()).add(str(form))
    result = []
    for slug in sorted(kinds):
        ordered = sorted(types[slug], key=lambda t: (t.kind, t.width, str(t)))
        result.append(Freedom(slug, kinds[slug], tuple(map(str, ordered)), len(users[slug])))
    return result


def _choice(profile: str, freedom: Freedom, docname: str) -> str:
    """A link to what a profile's page says of a freedom."""
    function = CHOICES.get(profile, {}).get(freedom.slug)
    if function is None:
        return "as documented" if freedom.kind == DEVIATION else "left open"
    place = function.__code__
    title, _ = section(Path(place.co_filename), place.co_firstlineno)
    target = f"{pages.module_of(pages.docname_of(place.co_filename)).removeprefix('ptxspec.')}.{function.__name__}"
    return f"{{ptx:def}}`{function.__name__.replace('_', ' ')} <{target}>` <small>{title}</small>"


def markdown(module: str, register: dict[str, Entry], docname: str) -> str:
    """A table of the page's freedoms, as the document `docname` has it; "" for none."""
    freedoms = reachable(module)
    if not freedoms:
        return ""
    profiles = list(pages.profiles())
    for name in profiles:
        load(name)
    links = [f"Profile [{name}](/spec/profiles/{name}.md)" for name in profiles]
    head = ["Freedom", "Kind", "Of type", "Forms", *links]
    rows = []
    for freedom in freedoms:
        known = entry(register, freedom.slug, module.removeprefix("ptxspec."))
        types = " ".join(f"`{t}`" for t in freedom.types)
        choices = [_choice(p, freedom, docname) for p in profiles]
        rows.append([f"{known.link} <small>{known.number}</small>", freedom.kind, types, str(freedom.forms), *choices])
    return table(head, rows, "Results that PTX leaves open, or that machines deviate from")
