"""The order in which the manual is read, the lists of pages on the index pages, and the ledger on the front page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.literate.documents import parse
from ptxspec_workshop.site import evidence_section, identity_tables
from ptxspec_workshop.site.identity_tables import VerdictSource
from ptxspec_workshop.site.pages import definitions, forms, gap, module_of, table

#: the order of the manual; what is not named here comes after it, in the order of the alphabet
ORDER = {
    "spec": (
        *("index", "notation", "syntax", "state-spaces", "types", "variables", "operands", "functions", "directives"),
        *(
            "special-registers",
            "arithmetic",
            "multifunction-unit",
            "textures",
            "tensors",
            "matrices",
            "machine",
            "memory-model",
            "instructions",
            "forms",
            "profiles",
            "ambiguities",
            "changes",
        ),
    ),
    "spec/instructions": (
        *("integer", "extended", "extended-precision", "floating", "half", "half-precision", "comparison", "logic"),
        *("movement", "texture", "textures", "surface", "surfaces", "control", "synchronization", "communication"),
        *("video", "miscellaneous"),
    ),
    "spec/matrices": (
        *(
            "index",
            "fragments",
            "sparsity",
            "scales",
            "tiles",
            "warpgroups",
            "descriptors",
            "products",
            "multiplication",
        ),
    ),
    "spec/memory-model": (
        *("index", "operations", "scopes", "races", "synchronization", "causality", "coherence", "axioms", "liveness"),
        *("rewrites", "cpp", "shapes"),
    ),
    "spec/memory-model/shapes": (
        *("index", "message-passing", "chains", "store-buffering", "load-buffering", "one-location", "two-writers"),
        *("independent-reads", "atomicity", "barriers", "atomic-ref", "proxies", "sizes"),
    ),
    "spec/tensors": ("index", "maps", "tiles", "im2col", "swizzles", "boxes", "limits", "encoding"),
    "spec/profiles": ("portable",),
    "proofs": (
        "index",
        "integers",
        "bits-and-shifts",
        "comparison-and-selection",
        "conversions",
        "extended-precision",
        "floating-point",
        "video",
        "refutations",
    ),
    "docs/disputes": ("index", "integers", "floating-point", "faults-of-ptxas", "float-amounts", "open-results"),
    "docs/how-to": (
        *(
            "run-a-kernel",
            "find-a-fault",
            "look-up-an-image",
            "run-a-numba-kernel",
            "run-a-triton-kernel",
            "run-tinygrad",
        ),
        *("check-results", "check-an-implementation", "use-pytest", "settle-a-disagreement", "fuzz-a-compiler"),
        *(
            "ask-questions",
            "prove-an-identity",
            "prove-branches-and-memory",
            "prove-beside-other-threads",
            "check-a-rewrite",
            "run-a-litmus-test",
            "edit-ptx",
        ),
        *("add-an-instruction", "read-the-mutation-score"),
    ),
    "docs/reference": ("api", "command-line", "json", "vectors"),
}


class ContentsEntry(NamedTuple):
    """A page of a folder, or a folder in it by its first page: a document's name."""

    docname: str
    is_folder: bool

    @property
    def folder(self) -> str:
        return self.docname.rsplit("/", 1)[0]


def children(root: Path, folder: str, excluded: Callable[[str], bool] = lambda docname: False) -> list[ContentsEntry]:
    """What a folder of the source tree holds, in reading order. A folder without a first page stands for its pages."""
    place = root / folder
    entries: dict[str, list[ContentsEntry]] = {}
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        name = f"{folder}/{path.stem}"
        if path.is_dir() and not path.name.startswith((".", "_")):
            name = f"{folder}/{path.name}"
            first = next((n for n in ("index", "README") if (path / f"{n}.md").is_file()), None)
            if first is None:
                entries[path.name] = children(root, name, excluded)
            elif not excluded(f"{name}/{first}"):
                entries[path.name] = [ContentsEntry(f"{name}/{first}", True)]
        elif path.suffix == ".md" and not excluded(name):
            entries[path.stem] = [ContentsEntry(name, False)]
    order = ORDER.get(folder, ("index",))
    ranked = sorted(entries, key=lambda n: (order.index(n) if n in order else len(order), n))
    return [entry for name in ranked for entry in entries[name]]


def pages_below(root: Path, folder: str) -> list[str]:
    """Every page below a folder but the index pages, as documents' names."""
    paths = sorted((root / folder).rglob("*.md"))
    return [str(p.relative_to(root).with_suffix("")) for p in paths if p.stem != "index"]


def summary(root: Path, docname: str) -> tuple[str, str]:
    """(title, first paragraph without its links) of a page."""
    path = root / f"{docname}.md"
    document = parse(path.read_text("utf-8"), path)
    return document.title, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", document.summary).replace("|", "\\|")


def listing(root: Path, folder: str, entries: Iterable[ContentsEntry]) -> str:
    """A table of a folder's pages with their summaries, and how many forms each defines where any does."""
    rows = []
    count = 0
    for entry in entries:
        if entry.docname == f"{folder}/index":
            continue
        title, text = summary(root, entry.docname)
        inside = pages_below(root, entry.folder) if entry.is_folder else [entry.docname]
        number = sum(len(forms(module_of(d))) for d in inside if d.startswith("spec/"))
        count += number
        rows.append([f"[{title}](/{entry.docname}.md)", text, str(number or "")])
    if not rows:
        return ""
    if not count:
        return table(["Page", "What it says"], [row[:2] for row in rows])
    return table(["Page", "What it says", "Forms"], rows)


# The front page --------------------------------------------------------------------------------------------------------


def chapters(root: Path) -> list[tuple[str, str, list[str]]]:
    """(title, first page, pages) of every chapter, those of the instructions one by one."""
    rows = []
    for entry in children(root, "spec"):
        inner = children(root, "spec/instructions") if entry.docname == "spec/instructions/index" else [entry]
        for child in inner:
            if child.docname not in ("spec/index", "spec/instructions/index"):
                below = (pages_below(root, child.folder) if child.is_folder else []) or [child.docname]
                rows.append((summary(root, child.docname)[0], child.docname, below))
    return rows


def _verdicts(modules: list[str] | None, judge: VerdictSource) -> list[str]:
    """How many identities are proved and how many refuted, of those that use forms of some pages, or of all; and how many were
    not run, or are as no page states it."""
    known = identity_tables.identities()
    identities = (
        known if modules is None else [i for i in known if any(identity_tables.mentions(i, m) for m in modules)]
    )
    statuses = Counter(judge.status(i) for i in identities)
    held = statuses["proved"] + statuses["exhausted"]
    not_run = statuses[identity_tables.UNCHECKED]
    unsettled = sum(statuses.values()) - held - statuses["refuted"] - not_run
    more = ([gap(f"{unsettled} unsettled")] if unsettled else []) + ([f"{not_run} not run"] if not_run else [])
    return [str(held), " ".join([str(statuses["refuted"]), *(f"<small>{m}</small>" for m in more)])]


def front(root: Path, rows: list[dict[str, Any]] | None, judge: VerdictSource) -> str:
    """The ledger: what there is of every chapter, and what is missing."""
    head = ["Chapter", "Pages", "Definitions", "Forms", "Proved", "Refuted", "Lacking evidence"]
    body = []
    total = Counter[str]()
    for title, first, below in chapters(root):
        modules = [module_of(d) for d in below]
        counts = {
            "pages": len(below),
            "definitions": sum(len(definitions(m)) for m in modules),
            "forms": sum(len(forms(m)) for m in modules),
        }
        cells = [str(v) if v else "–" for v in counts.values()]
        cells += _verdicts(modules, judge) if counts["forms"] else ["–", "–"]
        total.update(counts)
        if not counts["forms"]:
            cells.append("–")
        else:
            stand = [evidence_section.lacking(module_of(d), d, rows or ()) for d in below]
            numbers = {"lacking": sum(s.lacking for s in stand), "not run": sum(s.not_run for s in stand)}
            total.update(numbers)
            cells.append(_lacking(numbers))
        body.append([f"[{title}](/{first}.md)", *cells])
    last = [str(total[k]) for k in ("pages", "definitions", "forms")]
    last += _verdicts(None, judge)
    last.append(_lacking(total))
    summary_table = table(head, [*body, ["**All**", *(f"**{c}**" for c in last)]], "What there is, and what is missing")
    if not rows:
        return summary_table
    return "\n".join([summary_table, evidence_section.unanswered(rows), evidence_section.when(rows, judge.dates)])


def _lacking(counts: Mapping[str, int]) -> str:
    """How many forms lack evidence, and of how many nothing was run."""
    not_run = f" <small>{counts['not run']} not run</small>" if counts["not run"] else ""
    return (gap(str(counts["lacking"])) if counts["lacking"] else "0") + not_run
