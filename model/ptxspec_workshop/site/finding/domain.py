"""The domain `ptx`: roles that lead to what the site has names for, such as {ptx:insn}`add` and {ptx:sreg}`%tid`, here and, by
`objects.inv`, from other sites."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

from ptxspec_workshop.site.finding.things import KINDS, Thing, form_things, modifiers, things

#: kinds whose names are words, not code
IN_WORDS = ("concept", "amb", "rule", "def", "identity")


class PtxDomain(Domain):
    """Each kind of thing is a type of object and a role of its name. Nothing is declared: the definitions say what there is."""

    name = "ptx"
    label = "PTX"
    object_types = {kind: ObjType(title, kind) for kind, title in KINDS.items()}
    roles = {kind: XRefRole(innernodeclass=nodes.inline if kind in IN_WORDS else nodes.literal) for kind in KINDS}

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: pending_xref,
        contnode: nodes.Element,
    ) -> nodes.reference | None:
        thing = named(typ).get(target)
        if thing is None or not _is_there(thing, env):
            return None
        return make_refnode(builder, fromdocname, thing.docname, thing.anchor, contnode)

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: nodes.Element,
    ) -> list[tuple[str, nodes.reference]]:
        return []

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        return iter(self._objects())

    def _objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        for kind in KINDS:
            for name, thing in named(kind).items():
                if _is_there(thing, self.env):
                    yield name, name, kind, thing.docname, thing.anchor, 1

    def merge_domaindata(self, docnames: Any, otherdata: Any) -> None:
        """A process that read some of the documents has nothing to add."""


@functools.cache
def named(kind: str) -> dict[str, Thing]:
    """The things of a kind by name; of several with one name the first."""
    by_name: dict[str, Thing] = {}
    for thing in form_things() if kind == "form" else (thing for thing in things() if thing.kind == kind):
        by_name.setdefault(thing.name, thing)
    return by_name


def _is_there(thing: Thing, env: BuildEnvironment) -> bool:
    """Whether a site has a thing: of a modifier, which the index tells of, a page with it."""
    documents = modifiers()[thing.name] if thing.kind == "mod" else [thing.docname]
    return any(docname in env.found_docs for docname in documents)
