"""The directives: thin shells around the functions that compute Markdown."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.directives.other import TocTree
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ptxspec.evidence import ledger, precomputed, vector_contents
from ptxspec.literate import finder
from ptxspec.pages.register import Entry, entries
from ptxspec.query import laws
from ptxspec_workshop.mutation import score
from ptxspec_workshop.record import shape_answers
from ptxspec_workshop.site import (
    changes,
    contents,
    corner_cases,
    dependencies,
    dispute_tables,
    drawing,
    evidence_section,
    forms_list,
    fragment_pictures,
    freedoms,
    house,
    identity_tables,
    invariant_tables,
    litmus_tables,
    mapping_tables,
    mutation_section,
    opcode_table,
    pages,
    pictures,
    relation_pictures,
    rewrite_tables,
    stages,
    store,
    tensor_pictures,
    vocabulary_tables,
)
from ptxspec_workshop.site.finding import forms_data
from ptxspec_workshop.site.nodes import Details

log = logging.getLogger(__name__)
_judges: dict[Path, identity_tables.VerdictSource] = {}


class Computed(SphinxDirective):
    """A directive whose Markdown is computed. What goes wrong becomes a warning, and is visible on the page."""

    has_content = True
    warned = "computed"

    @property
    def module(self) -> str:
        return pages.module_of(self.env.docname)

    @property
    def source_folder(self) -> Path:
        return Path(self.env.srcdir)

    @property
    def build(self) -> Path:
        return self.source_folder / str(self.config.ptxspec_build)

    @property
    def register(self) -> dict[str, Entry]:
        """The register of ambiguities of this source tree."""
        dependencies.note_register(self.env, self.source_folder)
        return entries(self.source_folder)

    def depends(self, *paths: Path) -> None:
        """The page is read again when one of these files has changed: of a document, what programs read of it."""
        dependencies.note(self.env, paths)

    def kept(self, kind: str, compute: Callable[[], str], *more: object) -> str:
        """The Markdown computed from the page's definitions, from an earlier build if nothing it depends on has changed since."""
        return self.kept_of(kind, finder.sources([self.module]), compute, *more)

    def kept_of(self, kind: str, files: list[Path], compute: Callable[[], str], *more: object) -> str:
        """The same, computed from the definitions of some documents."""
        self.depends(*files, *store.model_files())
        return store.stored(self.build / "site-tables", f"{self.module}.{kind}", store.digest(files, *more), compute)

    @property
    def judge(self) -> identity_tables.VerdictSource:
        """What gives verdicts; one for the whole build."""
        path = self.build / "verdicts.json"
        if path not in _judges:
            _judges[path] = identity_tables.VerdictSource(path, self.config.ptxspec_solver_seconds)
        return _judges[path]

    def ledger(self) -> list[dict[str, Any]] | None:
        """The ledger's rows, if the checks were run."""
        path = self.build / "ledger.json"
        self.depends(path, precomputed.FILE)
        return evidence_section.read(path)

    def markdown(self) -> str:
        """What is shown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        try:
            text = self.markdown()
        except Exception as error:  # a broken page must not take the whole site down
            line = self.lineno
            if isinstance(error, corner_cases.RowError):  # MyST counts the content from the directive on
                line += self.content_offset + 1 + error.line
            where = (self.env.docname, line)
            log.warning("{%s}: %s", self.name, error, location=where, type="ptxspec", subtype=self.warned)
            text = f"{pages.gap('This could not be computed')}: {pages.code(str(error))}\n"
        holder = nodes.container(classes=["computed", self.name])
        holder.document = self.state.document
        source = self.state.document.current_source or ""
        self.state.nested_parse(StringList(text.splitlines(), source), self.content_offset, holder)
        return [holder, *self.after()]

    def after(self) -> list[nodes.Node]:
        """What follows the Markdown."""
        return []


class House(Computed):
    """Which folder of the model imports from which."""

    def markdown(self) -> str:
        self.depends(*store.model_files())
        return f"{house.picture()}\n\n{house.table()}\n"


class Stages(Computed):
    """The life of a kernel, or of a proof."""

    required_arguments = 1

    def markdown(self) -> str:
        self.depends(*store.model_files())
        return f"{stages.picture(self.arguments[0])}\n"


class CornerCases(Computed):
    """Telling operand rows, computed by the exact interpretation."""

    def markdown(self) -> str:
        module, lines, register = self.module, list(self.content), self.register
        profiles = list(pages.profiles().values())
        more = [path.read_text("utf-8") for path in profiles]
        self.depends(*profiles)
        tables = lambda: corner_cases.markdown(module, lines, register)  # noqa: E731
        return self.kept("corner-cases", tables, lines, register, more)


class Freedoms(Computed):
    """The results that are left open, and the profiles' choices."""

    def markdown(self) -> str:
        module, register, docname = self.module, self.register, self.env.docname
        profiles = list(pages.profiles().values())
        self.depends(*profiles)
        more = [path.read_text("utf-8") for path in profiles]  # whose headings are shown
        return self.kept("freedoms", lambda: freedoms.markdown(module, register, docname), register, more)


class Changes(Computed):
    """Where the version or the target of a module decides what its instructions mean."""

    def markdown(self) -> str:
        module, register = self.module, self.register
        files = finder.sources([module] if pages.forms(module) else pages.with_forms())
        return self.kept_of("changes", files, lambda: changes.markdown(module, register), register)


class Identities(Computed):
    """The identities that mention the page's instructions."""

    def markdown(self) -> str:
        self.depends(self.build / "verdicts.json", precomputed.FILE)
        return identity_tables.markdown(self.module, self.judge, self.env.docname)


class Invariants(Computed):
    """What the page claims of the machine's states."""

    def markdown(self) -> str:
        path = self.build / laws.NAME
        self.depends(path, precomputed.FILE)
        return self.kept("invariants", lambda: invariant_tables.markdown(self.module, path))


class LitmusTable(Computed):
    """What the memory model says of the programs of a shape."""

    required_arguments = 1
    final_argument_whitespace = True

    def markdown(self) -> str:
        name, docname = self.arguments[0], self.env.docname
        files = finder.sources([m for m, _ in finder.pages("ptxspec.spec", "memory_model")])
        files += shape_answers.files()
        return self.kept_of(f"litmus {name}", files, lambda: litmus_tables.markdown(name, docname))


class RelationPicture(Computed):
    """A relation of the memory model, by the name of its definition on the page, in an execution of the test below it."""

    required_arguments = 1

    def markdown(self) -> str:
        name, lines, module = self.arguments[0], list(self.content), self.module
        files = finder.sources([m for m, _ in finder.pages("ptxspec.spec", "memory_model")])
        return self.kept_of(f"relation {name}", files, lambda: relation_pictures.markdown(module, name, lines), lines)


class Sightings(Computed):
    """What a GPU was seen to do with the programs of all shapes."""

    def markdown(self) -> str:
        files = finder.sources([m for m, _ in finder.pages("ptxspec.spec", "memory_model")])
        return self.kept_of("sightings", [*files, *shape_answers.files()], litmus_tables.summary)


class RewriteTable(Computed):
    """Which rewrites the memory model allows, with the programs that tell where one is not allowed behind a line that opens
    them."""

    required_arguments = 1

    def markdown(self) -> str:
        name = self.arguments[0]
        self.depends(precomputed.REWRITES)
        files = finder.sources([m for m, _ in finder.pages("ptxspec.spec", "memory_model")])
        self.depends(*files, *store.model_files())
        return rewrite_tables.markdown(name)

    def after(self) -> list[nodes.Node]:
        return _details(self, *rewrite_tables.told(self.arguments[0]))


class MappingTable(Computed):
    """What is shown of the spelling of C++'s atomic operations, with the programs that tell where it is wrong behind a line that
    opens them."""

    required_arguments = 1

    def markdown(self) -> str:
        self.depends(precomputed.MAPPING)
        files = finder.sources([m for m, _ in finder.pages("ptxspec.spec", "memory_model")])
        self.depends(*files, *store.model_files())
        return mapping_tables.markdown(self.arguments[0])

    def after(self) -> list[nodes.Node]:
        return _details(self, *mapping_tables.told(self.arguments[0]))


def _details(directive: Computed, summary: str, text: str) -> list[nodes.Node]:
    """A text behind a line that opens it; nothing if there is none."""
    if not text:
        return []
    details = Details(summary=summary)
    details.document = directive.state.document
    source = directive.state.document.current_source or ""
    directive.state.nested_parse(StringList(text.splitlines(), source), directive.content_offset, details)
    return [details]


class Disputes(Computed):
    """What the page disputes, or says of an assembler: "disputes", "faults", "open", "extent", or "summary" of all pages."""

    required_arguments = 1

    def markdown(self) -> str:
        kind, docname, register = self.arguments[0], self.env.docname, self.register
        seconds = self.config.ptxspec_solver_seconds
        tables = partial(dispute_tables.markdown, kind, docname, register, seconds)
        self.depends(precomputed.FILE)
        if kind == "disputes":  # which ask the solver, for as long as a build may
            self.depends(*store.model_files())
            return tables()
        files = [*finder.sources(pages.with_forms()), *dispute_tables.sources()]
        return self.kept_of(f"disputes-{kind}", files, tables, register, ledger.digest(), bool(seconds))


class Evidence(Computed):
    """What was checked of the page's forms, and the forms themselves."""

    def markdown(self) -> str:
        return evidence_section.markdown(self.module, self.env.docname, self.ledger())

    def after(self) -> list[nodes.Node]:
        return _forms(self.module)


class Forms(Computed):
    """The page's forms, with operand types and availability."""

    def run(self) -> list[nodes.Node]:
        return _forms(self.module)


class FormsTable(Computed):
    """The table of all forms."""

    def markdown(self) -> str:
        self.env.note_reread()
        return forms_data.markdown()

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", forms_data.BOX, format="html"), *super().run()]


def _forms(module: str) -> list[nodes.Node]:
    count = len(pages.forms(module))
    if not count:
        return []
    details = Details(summary=evidence_section.counted(count, "form") + ", with operand types and availability")
    details += nodes.raw("", forms_list.rows_html(module), format="html")
    return [details]


class VectorFormat(Computed):
    """The format of vector files, as the README of a folder of them tells it."""

    def markdown(self) -> str:
        self.depends(Path(vector_contents.__file__))
        return vector_contents.README.format(profile="portable").partition("\n\n")[2]


class Vocabulary(Computed):
    """The words of the semantics."""

    def markdown(self) -> str:
        self.depends(*store.model_files())
        return vocabulary_tables.markdown()


class Opcodes(Computed):
    """Every opcode of PTX, with its pages or what is missing."""

    def markdown(self) -> str:
        self.env.note_reread()
        return opcode_table.markdown()


class Picture(Computed):
    """A picture of lookups, by name. Each line of the content says what is seen in one of its parts: `label: what is seen`."""

    required_arguments = 1

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        folder = self.build / "site-pictures"
        address = os.path.relpath(folder, self.source_folder).replace(os.sep, "/")
        return pictures.markdown(pictures.drawn(self.arguments[0], list(self.content)), folder, f"/{address}")


class Drawing(Computed):
    """SVGs that definitions draw: the kind, and as content the instructions, or the kernel, that are shown."""

    required_arguments = 1

    def markdown(self) -> str:
        kind, lines = self.arguments[0], list(self.content)
        documents = drawing.pages_of(lines)
        self.depends(*documents)
        more = [path.read_text("utf-8") for path in documents]
        name = hashlib.sha256("\n".join([kind, *lines]).encode()).hexdigest()[:12]
        return self.kept(f"drawing-{name}", lambda: drawing.markdown(kind, lines), kind, lines, more)


class FragmentPicture(Computed):
    """Where the elements of the matrices of a shape lie: the shape, and the types of the elements of A and of C."""

    required_arguments = 3

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return fragment_pictures.markdown(*self.arguments)


class ScalePicture(Computed):
    """Which lanes have which scales: the number of blocks."""

    required_arguments = 1

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return fragment_pictures.scales(*self.arguments)


class TilePicture(Computed):
    """Where the elements of the tiles of a shape lie, likewise."""

    required_arguments = 3

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return fragment_pictures.markdown_of_tiles(*self.arguments)


class TensorPicture(Computed):
    """How boxes of tensors lie in memory: swizzles, a tile, or pixels."""

    required_arguments = 1

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return tensor_pictures.PICTURES[self.arguments[0]]()


class WarpgroupPicture(Computed):
    """Where the elements of a warpgroup's matrices lie: the types of the elements of A and of C, and the columns of C."""

    required_arguments = 3

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return fragment_pictures.of_warpgroup(*self.arguments)


class WarpgroupMetadataPicture(Computed):
    """Where the metadata of a warpgroup's sparse matrix A lie: the type of its elements, and the selector."""

    required_arguments = 2

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return fragment_pictures.metadata(*self.arguments)


class MatrixInMemory(Computed):
    """Where the elements of a warpgroup's matrix lie in shared memory: K or MN, the swizzle, and the bits of an element."""

    required_arguments = 3

    def markdown(self) -> str:
        self.depends(*finder.sources([self.module]), *store.model_files())
        return fragment_pictures.in_memory(*self.arguments)


class Ledger(Computed):
    """What there is of every chapter, and what is missing."""

    def markdown(self) -> str:
        root, rows, judge = self.source_folder, self.ledger(), self.judge
        stated = [path for folder in ("spec", "proofs") for path in sorted((root / folder).rglob("*.md"))]
        computed = (self.build / "verdicts.json", self.build / "ledger.json", precomputed.FILE)
        made_of = [*stated, *(path for path in computed if path.is_file())]
        text = lambda: contents.front(root, rows, judge)  # noqa: E731
        return self.kept_of("front", made_of, text, rows is None, self.config.ptxspec_solver_seconds)


class Mutation(Computed):
    """How many planted mistakes are noticed."""

    def markdown(self) -> str:
        self.env.note_reread()
        self.depends(score.KEPT)
        return mutation_section.markdown(score.read())


class Pages(TocTree):
    """The pages of a folder in reading order: a table with their summaries, and their place in the sidebar.

    The folder is the argument, or that of the page. `:only:` is "toctree" or "table", where one of the two is not wanted.
    """

    optional_arguments = 1
    option_spec = {
        "caption": directives.unchanged,
        "only": lambda text: directives.choice(text, ("toctree", "table")),
    }

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        root, here = Path(self.env.srcdir), self.env.docname
        folder = self.arguments[0] if self.arguments else here.rpartition("/")[0]
        known = self.env.found_docs
        entries = [e for e in contents.children(root, folder) if e.docname in known and e.docname != here]
        only = self.options.pop("only", None)
        result: list[nodes.Node] = []
        if only != "toctree":
            holder = nodes.container(classes=["computed", "pages"])
            holder.document = self.state.document
            text = contents.listing(root, folder, entries)
            self.state.nested_parse(StringList(text.splitlines(), here), self.content_offset, holder)
            result.append(holder)
        if only != "table" and entries:
            self.options |= {"hidden": None, "titlesonly": None}
            self.content = StringList([f"/{e.docname}" for e in entries], here)
            result += super().run()
        return [n for n in result if not isinstance(n, addnodes.toctree) or n["entries"]]


DIRECTIVES = {
    "changes": Changes,
    "corner-cases": CornerCases,
    "disputes": Disputes,
    "drawing": Drawing,
    "evidence": Evidence,
    "forms": Forms,
    "forms-table": FormsTable,
    "fragments": FragmentPicture,
    "freedoms": Freedoms,
    "house": House,
    "identities": Identities,
    "invariants": Invariants,
    "litmus": LitmusTable,
    "sightings": Sightings,
    "ledger": Ledger,
    "matrix-in-memory": MatrixInMemory,
    "mutation": Mutation,
    "opcodes": Opcodes,
    "pages": Pages,
    "picture": Picture,
    "relation": RelationPicture,
    "mapping": MappingTable,
    "rewrites": RewriteTable,
    "scales": ScalePicture,
    "stages": Stages,
    "tensors": TensorPicture,
    "tiles": TilePicture,
    "vector-format": VectorFormat,
    "vocabulary": Vocabulary,
    "warpgroup": WarpgroupPicture,
    "warpgroup-metadata": WarpgroupMetadataPicture,
}
