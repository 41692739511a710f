"""Every page: its parts in order, its examples, its freedoms in the register, its forms unique."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptxspec
from ptxspec import contracts
from ptxspec.base.places import DOCUMENTS
from ptxspec.language.forms import page_name, registry
from ptxspec.literate.finder import document_of, install, pages
from ptxspec.pages import facts
from ptxspec.query.fragments import read_fragment
from ptxspec.terms import editions
from ptxspec.terms.effects import terms_of
from ptxspec.terms.profiles import CHOICES, Profile
from ptxspec.terms.vocabulary import INTRINSICS, SHORTCUTS, freedoms_in
from ptxspec_workshop.generate.image_terms import image_terms
from ptxspec_workshop.generate.representatives import representatives
from ptxspec_workshop.programs import examples
from ptxspec_workshop.site import changes

install()
INSTRUCTIONS = [p for n, p in pages("ptxspec.spec", "instructions") if p.stem != "index"]
PARTS = [
    "Syntax", "Operands", "Semantics", "Corner cases", "Freedoms", "Availability", "Examples", "Identities", "Evidence",
    "See also",
]  # fmt: skip
#: the kinds of results that PTX leaves open without a bound
OPEN = ("unspecified", "undefined", "machine-specific")


@pytest.mark.parametrize("path", INSTRUCTIONS, ids=page_name)
def test_a_page_has_its_parts_in_their_order(path: Path) -> None:
    text = re.sub(r"^(`{3,}).*?^\1", "", path.read_text(), flags=re.M | re.S)
    found = re.findall(r"^## (.+)$", text, flags=re.M)
    assert all(part in PARTS for part in found), found
    assert found == sorted(found, key=PARTS.index)
    assert "Semantics" in found and "Availability" in found
    assert not re.search(r"^## \w+\n\n```\{(freedoms|identities|evidence)\}", path.read_text(), re.M), (
        "the site adds it"
    )
    assert re.match(r"# \S.*\n\n\S", text), "a title, then one line that says what the instruction does"


#: the line under See also that names the section of NVIDIA's manual: its title, its anchor, and its number in each edition cited
SECTION = re.compile(
    r"- NVIDIA's manual: \[(?P<title>[^\]]+)\]"
    r"\(https://docs\.nvidia\.com/cuda/parallel-thread-execution/index\.html#(?P<anchor>[a-z0-9-]+)\)"
    r", (?P<numbers>9(?:\.\d+)+ in edition 9\.[0-9](?:, 8(?:\.\d+)+ in edition 4\.1)?)"
)


def test_every_instruction_page_links_to_its_sections_of_the_manual() -> None:
    """The current section of each opcode, of the instruction and not of its chapter, beside the number of 4.1 where that has one."""
    cited: dict[str, str] = {}
    for name, path in pages("ptxspec.spec", "instructions"):
        page = page_name(path)
        opcodes = {opcode for opcode, modules in registry().index.items() if name in modules}
        lines = [line for line in path.read_text().splitlines() if "parallel-thread-execution" in line]
        for line in lines:
            found = SECTION.fullmatch(line)
            assert found, f"{page}: {line}"
            named = re.findall(r"[a-z]\w*", found["title"].partition(": ")[2])
            assert opcodes & set(named), f"{page}: a section is not about its instructions: {line}"
            opcodes -= set(named)
            words = set(found["anchor"].split("-"))
            assert words & set(named) or words & {"wmma", "sparse"}, f"{page}: a chapter's anchor"
            current = found["numbers"].partition(",")[0]
            assert cited.setdefault(found["anchor"], current) == current, f"{page}: another number for one section"
        assert not opcodes, f"{page}: no link to the manual's section about {opcodes}"
    assert len(set(cited.values())) == len(cited)


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_every_form_is_enumerated_once(step: int) -> None:
    forms = ptxspec.forms()
    assert len(forms) > 4500
    for form in forms[::step]:
        assert any(f.definition is form.definition for f in registry().opcodes[form.syntax.opcode].find(form.mnemonic))


#: the definitions whose instructions change nothing: hints, and what only takes time or is counted
WITHOUT_EFFECT = {
    "applypriority", "cp_async_bulk_prefetch", "prefetch", "prefetchu", "pmevent", "pmevent_mask", "nanosleep",
}  # fmt: skip


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_form_has_a_meaning(every: bool) -> None:
    """By default the first form of each definition."""
    firsts = {form.definition: form for form in reversed(ptxspec.forms())}
    for form in representatives(ptxspec.forms() if every else firsts.values()):
        for absent in form.absences:
            meaning = form.meaning(absent)
            assert bool(meaning.results or meaning.effect) != (form.definition.name in WITHOUT_EFFECT), form


@pytest.mark.slow
def test_every_freedom_stands_in_the_register_and_hopper_chooses() -> None:
    register = (Path(registry().pages["ptxspec.spec.ambiguities"].__file__)).read_text()
    entries = re.findall(r"^## (AMB-\d{3}) (\S+(?: \S+)*)$", register, flags=re.M)
    numbers, names = [n for n, _ in entries], [s for _, own in entries for s in own.split()]
    slugs = set(names)
    assert len(slugs) == len(names)
    assert numbers == sorted(set(numbers))
    hopper = Profile("hopper")
    met, chosen = set(), set()
    open_now = {entry["number"] for entry in facts.ambiguities() if entry["open"]}
    number_of = {s: n for n, own in entries for s in own.split()}
    for form in (edition for f in representatives(ptxspec.forms()) for edition in (f, *f.editions)):
        meaning = form.meaning()
        stored = [t for effect in (meaning.effect, *meaning.more) if effect is not None for t in terms_of(effect)]
        reached = image_terms(form, meaning)
        for freedom in freedoms_in(*[v for r in meaning.results for v in r.values], *stored, *reached):
            met.add(freedom.attrs[0])
            if freedom.attrs[2] in OPEN and form.epoch is None:
                assert number_of[freedom.attrs[0]] in open_now, f"{form}: a newer text settles {freedom.attrs[0]}"
            ranges = tuple((a.lo, a.hi) for a in freedom.args)  # of a constant they say which it is
            if freedom.attrs[0] in CHOICES["hopper"] and (freedom.attrs[:4], ranges) not in chosen:
                chosen.add((freedom.attrs[:4], ranges))
                assert 0 <= hopper.term(freedom).lo
    # what the machine's pages leave open, whatever the instruction is
    tensor = contracts.tensor_maps.TensorDescription.variables("map")
    of_boxes = (contracts.boxes.stored_bytes(tensor.rank), contracts.tensor_maps.fill(tensor))
    met |= {freedom.attrs[0] for freedom in freedoms_in(contracts.access.ignores_upper_halves(), *of_boxes)}
    assert met <= slugs, met - slugs
    assert met == set(CHOICES["hopper"])
    assert "portable" not in CHOICES


def test_every_entry_of_the_register_has_its_four_parts() -> None:
    text = Path(registry().pages["ptxspec.spec.ambiguities"].__file__).read_text()
    for entry in re.split(r"^## ", text, flags=re.M)[1:]:
        parts = re.findall(r"^\*\*(\w+)\.\*\*", entry, flags=re.M)
        assert parts == ["Question", "Reading", "Edition", "Evidence"], entry.splitlines()[0]


@pytest.mark.slow
def test_every_entry_has_the_edition_that_raises_it_and_the_one_that_settles_it() -> None:
    def known(text: str) -> tuple[int, int]:
        major, minor = editions.version(text)
        assert minor <= contracts.directives.VERSIONS[major], text
        return major, minor

    entries = facts.ambiguities()
    assert len(entries) > 200
    for entry in entries:
        assert (entry["settled"] is None) is (entry["open"] is not None)
        if entry["raised"]:
            assert known(entry["raised"]) <= known(entry["settled"] or entry["open"]), entry["number"]
        else:
            assert known(entry["settled"]), entry["number"]
    assert {entry["open"] for entry in entries} == {None, "9.4"}, "one edition is the newest that was read"
    by_number = {entry["number"]: entry for entry in entries}
    for module in changes.pages.with_forms():
        for change in changes.changes(module):
            if change.slug:  # a definition that tests a version names the one that the register has
                entry = by_number[facts.known_entries()[change.slug].number]
                versions = list(map(editions.shown, change.edition.versions))
                assert entry["settled"] in versions or not versions  # what depends on the target alone


def test_what_launches_do_not_show_of_the_memory_model_is_the_first_gap() -> None:
    """The pages whose accesses and fences it orders lead to it."""
    gaps = Path(registry().pages["ptxspec.spec.gaps"].__file__)
    prose = re.sub(r"^(`{3,}).*?^\1", "", gaps.read_text(), flags=re.M | re.S)
    assert re.findall(r"^## (.+)$", prose, flags=re.M)[0] == "What launches do not show"
    spec = gaps.parent
    pages = [f"instructions/movement/{n}.md" for n in ("ld", "ld.acquire", "st", "st.release")]
    pages += [f"instructions/synchronization/{n}.md" for n in ("fence", "membar", "atom", "red")]
    for page in (*pages, "machine/memory.md"):
        assert "memory-model/index.md" in (spec / page).read_text(), page


def test_only_a_sequentially_consistent_fence_orders_a_store_before_a_load() -> None:
    """The table on the page, by the patterns of PTX: a release orders what is before a later store, an acquire what is after an
    earlier load."""
    page = Path(registry().pages["ptxspec.spec.instructions.synchronization.fence"].__file__).read_text()
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in re.findall(r"^\| .*\|$", page, flags=re.M)
    ]
    head = next(row for row in rows if row[0] == "before the fence")
    kinds = [cell.strip("`.") for cell in head[2:]]
    stated = {tuple(cells[:2]): cells[2:] for cells in rows if cells[0] in ("a load", "a store")}
    assert len(stated) == 4
    for (before, after), cells in stated.items():
        by = {"release": after == "a store", "acquire": before == "a load", "sc": True}
        by["acq_rel"] = by["release"] or by["acquire"]
        assert {k: c == "ordered" for k, c in zip(kinds, cells, strict=True)} == {k: by[k] for k in kinds}, (
            before,
            after,
        )


def test_the_trusted_list_is_short() -> None:
    """What the native and symbolic interpretations supply instead of deriving."""
    from ptxspec.terms import native, symbolic

    assert set(SHORTCUTS) == {"sum", "product", "fused", "ratio", "square_root"}
    intrinsics = {"converted", "from_integer", "to_integer", "to_integral", "rounded_sum"}
    assert set(INTRINSICS) == intrinsics == set(native.INTRINSICS)
    assert set(native.SUPPLIED) <= set(SHORTCUTS) and set(symbolic.SUPPLIED) <= set(SHORTCUTS)


# examples --------------------------------------------------------------------------------------------------------------

EXAMPLES = [
    (page_name(module.__file__), fence.line, fence.text)
    for module in registry().pages.values()
    for fence in document_of(module).of("ptx")
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("page", "line", "text"), EXAMPLES, ids=[f"{p}:{n}" for p, n, _ in EXAMPLES])
def test_an_example_leaves_behind_what_its_comments_say(page: str, line: int, text: str) -> None:
    assert examples.complaints(text) == [], f"{page}:{line}"


def test_examples_that_read_nothing_they_did_not_write() -> None:
    for page, line, text in EXAMPLES:
        if examples.is_program(text):
            continue
        fragment = read_fragment(text)
        assert [n for n in fragment.inputs if n in fragment.registers] == [], f"{page}:{line}"


@pytest.mark.parametrize("path", sorted((DOCUMENTS / "spec" / "machine").glob("[!i]*.md")), ids=lambda path: path.stem)
def test_a_page_of_the_machine_tells_ptx_from_the_model(path: Path) -> None:
    """Behind its summary: what PTX says, and what is this model's choice."""
    blocks = path.read_text().split("\n\n")
    assert re.fullmatch(r"- \*\*PTX\*\* [^*]+\.\n- \*\*This model\*\* [^*]+\.", blocks[2]), blocks[2]
