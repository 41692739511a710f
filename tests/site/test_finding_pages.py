"""Finding: seventy searches, the index, the roles of the domain `ptx` and its objects, and the table of all forms."""

from __future__ import annotations

import doctest
import functools
import gzip
import http.server
import io
import itertools
import json
import re
import threading
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("furo")

import site_links
from browser import ROOT, chromium, whole_site
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from ptxspec.language import gaps
from ptxspec.pages import anchors, facts
from ptxspec_workshop.site import cuda_names
from ptxspec_workshop.site.export import isa
from ptxspec_workshop.site.finding import forms_data, general_index, marks, search_data, sections, things

STATIC = Path(search_data.__file__).parents[1] / "static"
#: a search finds its page first so often, in so many milliseconds, with so many bytes loaded
FOUND, MILLISECONDS, BYTES = 57, 300, 1_000_000
#: bytes of the index, compressed
PACKED = 500_000


def searches() -> dict[str, str]:
    """The searches, each with the page it must find first. Names of CUDA C++ are among them where pages tell some."""
    groups: dict[str, dict[str, str]] = tomllib.loads((ROOT / "tests/site/searches.toml").read_text())
    found = {query: page for group in groups.values() for query, page in group.items()}
    assert len(found) == 70 and all((ROOT / f"{page}.md").is_file() for page in found.values())
    if not cuda_names.names():
        for query in (*groups["cuda"], "atmoicAdd"):
            del found[query]
    return found


def allowed(count: int) -> int:
    """How many of so many searches must be right: three of sixty may fail."""
    return count - (60 - FOUND)


@functools.cache
def data() -> str:
    """The file that the search looks through, of all pages."""
    own = [path for folder in ("spec", "proofs", "docs") for path in (ROOT / folder).rglob("*.md")]
    names = [str(path.relative_to(ROOT).with_suffix("")) for path in own]
    return search_data.text_of(search_data.records(ROOT, ["index", *names]))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """A tab of Chromium with the search and its data, and no site."""
    page = browser.new_page()
    for text in ((STATIC / "vendor/minisearch.min.js").read_text(), data(), (STATIC / "search.js").read_text()):
        page.add_script_tag(content=text)
    page.evaluate("globalThis.search = new PtxspecSearch(PTXSPEC_SEARCH, MiniSearch), search.words, null")
    return page


# The search ------------------------------------------------------------------------------------------------------------


def test_searches_find_their_pages_first(tab: Any) -> None:
    wanted, wrong, slow = searches(), [], []
    for query, page in wanted.items():
        first, took = tab.evaluate(
            """query => {
              const began = performance.now(), ids = search.find(query);
              return [ids.length ? search.result(ids[0]).address : "", performance.now() - began];
            }""",
            query,
        )
        if re.sub(r"\.html(#.*)?$", "", first) != page:
            wrong.append(f"{query}: {first}")
        if took > MILLISECONDS:
            slow.append(f"{query}: {took:.0f} ms")
    assert len(wanted) - len(wrong) >= allowed(len(wanted)), wrong
    assert not slow


#: rules of programs that run and of texts, and pages that state such
RULES = ("misaligned", "takes_unified", "is_an_alignment", "version_has", "has_handles_for")
STATED = (
    "spec/machine/memory",
    "spec/variables/index",
    "spec/variables/attributes",
    "spec/variables/opaque-types",
    "spec/matrices/tiles",
)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_found_by_its_sentence(tab: Any, name: str) -> None:
    (rule,) = [t for t in things.things() if (t.kind, t.name) == ("rule", name)]
    found = tab.evaluate("text => search.find(text).map((id) => search.result(id).address)", rule.about)
    assert found[0] == rule.address, found[:3]


def test_every_word_of_a_rule_s_sentence_leads_to_it() -> None:
    """Of rules of programs that run and of texts; also where the sentence is too long to be shown."""
    some = [r for r in search_data.records(ROOT, STATED) if r.kind == "rule"]
    index, words = search_data.index(some), {}
    for word, fields in zip(index["words"].split(" "), index["places"], strict=True):
        numbers = (itertools.accumulate(number >> 3 for number in field) for field in fields if field)
        words[word] = set(itertools.chain.from_iterable(numbers))
    rows = {rule["name"]: rule for rule in (*facts.rules(), *facts.static_rules())}
    for number, record in enumerate(some):
        rule = rows[record.shown]
        told = set(search_data.tokens(re.sub(r"\w*\{[^}]*\}\w*", " ", rule["sentence"]))) - search_data._EMPTY
        assert told and all(number in words[word] for word in told), record
        assert record.address == f"{rule['page'].removesuffix('.md')}.html#{rule['anchor']}"
        assert "}}" not in record.about and ":." not in record.about
    abouts = {r.shown: r.about for r in some}
    assert abouts.keys() >= {"misaligned", "takes_unified"} and "{value}" in abouts["is_an_alignment"]
    assert abouts["has_handles_for"] == "a module has at most 16777215 textures, samplers and surfaces"
    assert any(len(r.about) < len(r.text) for r in some)


def test_the_index_is_small() -> None:
    assert len(gzip.compress(data().encode())) < PACKED
    assert len(data().encode()) < BYTES


def test_the_index_is_what_minisearch_makes_of_the_same_words(tab: Any) -> None:
    """The file has the index in a short form: unpacked it is what MiniSearch would have made in the browser."""
    some = search_data.records(ROOT, ["spec/instructions/integer/bfe"])[:9]
    texts = [{"id": i, **{f: search_data.searched(r, f) for f in search_data.FIELDS}} for i, r in enumerate(some)]
    short = search_data.index(some)
    both = tab.evaluate(
        """([short, fields, texts, empty]) => {
          const none = new Set(empty);
          const words = (text) => (text.toLowerCase().match(/[\\p{L}\\p{N}_]+/gu) || []).map((w) => w.replace(/^_+/, ""));
          const stem = (w) => (w.length > 4 && w.endsWith("s") && !w.endsWith("ss") ? w.slice(0, -1) : w);
          const made = new MiniSearch({ fields, tokenize: (t) => words(t).filter(Boolean).map(stem).filter((w) => !none.has(w)), processTerm: (w) => w });
          made.addAll(texts);
          const data = { ...PTXSPEC_SEARCH, kind: [], index: short, fields };
          const ours = new PtxspecSearch(data, MiniSearch).words;
          return [made, ours].map((one) => JSON.parse(JSON.stringify(one)));
        }""",
        [short, search_data.FIELDS, texts, sorted(search_data._EMPTY)],
    )
    made, ours = (
        {
            word: {f: {d: min(n, 7) for d, n in own.items()} for f, own in places.items()}
            for word, places in one["index"]
        }
        for one in both
    )
    assert made == ours and len(made) > 40
    assert both[0]["fieldLength"] == both[1]["fieldLength"] and both[0]["fieldIds"] == both[1]["fieldIds"]


def test_words_of_a_text() -> None:
    for module in (search_data, sections):
        result = doctest.testmod(module)
        assert result.attempted and not result.failed


# Things with names -----------------------------------------------------------------------------------------------------


def test_every_thing_has_a_place_of_its_own() -> None:
    known = things.things()
    assert {thing.kind for thing in known} | {"cuda", "form"} == set(things.KINDS) == set(things.SINGULAR)
    assert all((ROOT / f"{thing.docname}.md").is_file() for thing in known if thing.kind != "mod")
    for kind in ("identity", "def", "sreg", "rule", "amb", "mod", "word"):
        own = Counter((t.docname, t.anchor) for t in known if t.kind == kind)
        assert own and set(own.values()) == {1} and all(anchor for _, anchor in own), kind
    # a word that no page names has none; every other one has
    unnamed = {t.name for t in known if t.kind in ("dir", "type", "space") and not t.anchor}
    assert unnamed <= {".u128", ".s128", ".u2", ".s2", ".u4", ".s4", ".u3", ".u20", ".s21", ".branchtargets", ".v2"}


def test_forms_have_names_and_anchors() -> None:
    known = list(things.form_things())
    assert len({t.name for t in known}) == len(known) > 20_000
    assert next(t for t in known if t.name == "bfe.s32").anchor == "bfe.s32-d-a-b-c"


def test_what_no_page_describes_is_found_and_is_in_the_index() -> None:
    """By the family, and by the opcode where none of it is described."""
    found = {thing.name: thing for thing in things.things() if thing.kind == "gap"}
    assert {gap.name for gap in gaps.families()} <= found.keys()
    assert {"tcgen05"} <= found.keys() and not {"cp", "multimem", "st", "red", "mbarrier", "wgmma"} & found.keys()
    assert "PTX 8.6, sm_100" in found["tcgen05.mma"].about and found["tcgen05"].docname == "spec/gaps"
    (group,) = [g for g in general_index.groups(["spec/gaps"], lambda d: f"{d}.html") if g["kind"] == "gap"]
    assert len(group["rows"]) == len(found)


def test_messages_of_ptxas_and_terms_of_cuda_lead_to_pages() -> None:
    found = {t.name: t.docname for t in things.things() if t.kind == "concept"}
    groups = tomllib.loads((ROOT / "tests/site/searches.toml").read_text())
    wanted = groups["messages-of-ptxas"] | groups["terms-of-cuda"]
    assert wanted and wanted.items() <= found.items()


def test_concepts_lead_to_sections_that_there_are() -> None:
    for thing in things.things():
        if thing.kind in ("concept", "gap") and thing.anchor:
            found = {part.anchor for part in sections.sections(ROOT / f"{thing.docname}.md")}
            assert thing.anchor in found, thing


# A small site ----------------------------------------------------------------------------------------------------------

SMALL = (
    "spec/notation",
    "spec/instructions/integer/add",
    "spec/instructions/integer/bfe",
    "spec/instructions/comparison/setp",
    "spec/special-registers/thread-coordinates",
    "spec/directives/index",
    "spec/types/index",
    "spec/machine/memory",
    "spec/forms",
    "proofs/narrow-formats",
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of a few pages. It takes seconds; objects, anchors and the pages that nobody wrote can be seen in no other way."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "index.md").write_text(
        "# Front\n\n{ptx:insn}`bfe`, {ptx:sreg}`%tid`, {ptx:dir}`.maxntid`, {ptx:form}`bfe.s32`, {ptx:rule}`misaligned`, {ptx:rule}`lies_in_memory`,"
        " {ptx:type}`.u32`, {ptx:insn}`nothing`\n"
    )
    for page in SMALL:
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{page}.md").write_text((ROOT / f"{page}.md").read_text("utf-8"))
    settings: dict[str, Any] = {
        "extensions": ["myst_parser", "ptxspec_workshop.site"],
        "html_theme": "furo",
        "myst_enable_extensions": ["attrs_inline"],
        "myst_heading_anchors": 3,
        "ptxspec_solver_seconds": 0.0,
        "exclude_patterns": ["build"],
    }
    with patch_docutils(), docutils_namespace():
        told = io.StringIO()  # links to pages that are not there
        app = Sphinx(str(folder), None, str(folder / "site"), str(folder / "trees"), "html", settings, None, told)
        app.build()
    site = folder / "site"
    some = json.loads(isa.text_of(isa.exported(["bfe", "brev", "add"])))
    (site / "_static" / forms_data.FILE).write_text(forms_data.text_of(some))
    return site


def objects(site: Path) -> dict[tuple[str, str], str]:
    """The objects of a site's inventory: (type, name) and address."""
    inventory = (site / "objects.inv").read_bytes()
    text = zlib.decompress(inventory[inventory.index(b"zlib.\n") + 6 :]).decode()
    found = {}
    for line in text.splitlines():
        name, kind, _, address, _ = re.fullmatch(r"(.+?) (\S+:\S+) (-?\d+) (\S*) (.*)", line).groups()  # type: ignore[union-attr]
        if kind.startswith("ptx:"):
            found[kind.removeprefix("ptx:"), name] = address.replace("$", name)
    return found


@pytest.mark.slow
def test_every_object_has_its_anchor_in_the_site(small: Path) -> None:
    found = objects(small)
    counts = Counter(kind for kind, _ in found)
    assert set(counts) >= {"insn", "form", "mod", "type", "dir", "sreg", "rule", "def", "identity"}
    known: dict[str, frozenset[str]] = {}
    missing = []
    for (kind, name), address in found.items():
        page, _, anchor = address.partition("#")
        known.setdefault(page, site_links.read(small / page).names)
        if anchor and anchor not in known[page]:
            missing.append(f"{kind} {name}: {address}")
    assert not missing
    assert found["sreg", "%tid"].endswith("thread-coordinates.html#sreg-tid")
    assert found["form", "bfe.s32"] == found["form", "bfe.s32 d, a, b, c"]
    assert found["insn", "bfe"] == found["insn", "integer/bfe"] == "spec/instructions/integer/bfe.html"


def test_roles_lead_to_things(small: Path) -> None:
    front = (small / "index.html").read_text()
    for target in (
        "integer/bfe.html",
        "thread-coordinates.html#sreg-tid",
        "directives/index.html#dir-maxntid",
        "integer/bfe.html#bfe.s32-d-a-b-c",
        "machine/memory.html#rule-misaligned",
        "types/index.html#rule-lies_in_memory",
        "types/index.html#type-u32",
    ):
        assert f'{target}"' in front, target
    assert re.search(r"<code[^>]*>nothing</code>|<code[^>]*><span[^>]*>nothing", front)


def test_tables_lead_to_where_things_are_stated(small: Path) -> None:
    page = (small / "proofs/narrow-formats.html").read_text()
    links = re.findall(r'href="#(identity-[^"]+)"', page)
    assert len(links) > 3 and set(links) <= site_links.read(small / "proofs/narrow-formats.html").names
    assert "line " not in "".join(re.findall(r"<small>(.*?)</small>", page))


def test_the_index_lists_every_kind(small: Path) -> None:
    text = (small / "genindex.html").read_text()
    for group in ("insn", "mod", "type", "dir", "sreg", "rule", "concept"):
        assert f'<section id="index-{group}">' in text
    assert '<dt id="mod-sat">' in text and '<dt id="mod-rn">' not in text  # no page of this site has it
    assert re.search(r'<code>bfe</code></dt><dd><a href="[^"]*integer/bfe.html">bfe</a>', text)
    assert "spec/forms.html?q=bfe" in text


def test_the_search_of_a_site_shows_links_in_their_order(small: Path, browser: Any) -> None:
    assert not (small / "searchindex.js").exists()
    page = browser.new_page()
    page.goto(f"{(small / 'index.html').as_uri()}")
    page.fill("input.sidebar-search", "bfe.s32")
    page.press("input.sidebar-search", "Enter")
    page.wait_for_selector("#search-results[data-query='bfe.s32']")
    assert "search.html?q=bfe.s32" in page.url
    assert page.get_attribute("#search-results li:first-child a", "href").endswith("spec/instructions/integer/bfe.html")
    page.fill("#search-query", "%tid.x")
    page.wait_for_selector("#search-results[data-query='%tid.x']")
    page.press("#search-query", "Tab")
    page.keyboard.press("Enter")  # the first result, by the keyboard alone
    page.wait_for_url("**/thread-coordinates.html#sreg-tid")


def test_the_table_of_forms_is_filtered_in_the_browser(small: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{(small / 'spec/forms.html').as_uri()}?q=add&type=.f32")
    page.wait_for_selector("#forms-table tbody tr")
    shown = page.locator("#forms-table tbody tr td:first-child").all_inner_texts()
    assert shown and all(text.startswith("add") and "f32" in text for text in shown)
    page.select_option("select[name=type]", "")
    page.fill("#forms-table input[name=q]", "bfe")
    page.select_option("select[name=since]", "1.0")
    assert page.inner_text("#forms-table [role=status]") == "No form"
    page.select_option("select[name=since]", "2.0")
    assert page.locator("#forms-table tbody tr").count() == 4
    page.fill("#forms-table input[name=q]", "")
    page.select_option("select[name=since]", "")
    first = page.inner_text("#forms-table tbody tr:first-child")
    page.focus("#forms-table .form-pager button:last-child")
    page.keyboard.press("Enter")
    assert page.inner_text("#forms-table tbody tr:first-child") != first
    page.fill("#forms-table input[name=q]", "bfe.s32")
    page.click("#forms-table tbody a")
    page.wait_for_url("**/integer/bfe.html#bfe.s32-d-a-b-c")
    assert page.evaluate("document.getElementById('bfe.s32-d-a-b-c').closest('details').open")
    page.goto(f"{(small / 'spec/instructions/integer/bfe.html').as_uri()}#bfe.u64")
    page.wait_for_function("document.getElementById('bfe.u64-d-a-b-c').closest('details').open")


@pytest.mark.parametrize("anchor", ["setp.lt.and.f32-p-q-a-b-c", "setp.lt.and.f32"])
def test_a_form_among_many_is_found(small: Path, browser: Any, anchor: str) -> None:
    """A pattern stands for it, which is shown."""
    page = browser.new_page()
    page.goto(f"{(small / 'spec/instructions/comparison/setp.html').as_uri()}#{anchor}")
    page.wait_for_selector("details.forms[open] i.found")
    (shown,) = page.locator("i.found").all_inner_texts()
    assert "setp.lt.and.f32" in {one.partition("-")[0] for one in site_links.of_pattern(shown, "p")}
    page.wait_for_function("document.querySelector('i.found').getBoundingClientRect().bottom < innerHeight")
    page.evaluate("location.hash = '#setp.lt.and.f33'")
    page.wait_for_selector("i.found", state="detached")


def test_the_table_has_every_form_of_an_export() -> None:
    value = json.loads(isa.text_of(isa.exported(["bfe", "setp", "call"])))
    told = json.loads(forms_data.text_of(value).partition("=")[2].rstrip(";\n"))
    addresses = set()
    for *cells, first, rests in told["groups"]:
        row = {c: told["columns"][c][n] for c, n in zip(forms_data.COLUMNS, cells, strict=True)}
        addresses |= {f"{row['page']}#{first}{rest}{row['anchor']}" for rest in rests.split(" ")}
    wanted = {anchors.form_address(f) for n in ("bfe", "setp", "call") for f in anchors_forms(n)}
    assert addresses == wanted
    assert {"exact", "unspecified"} <= set(told["columns"]["exactness"])


def anchors_forms(opcode: str) -> list[Any]:
    from ptxspec.language.forms import registry

    return registry().opcodes[opcode].forms


def test_marks_are_of_lines_that_there_are() -> None:
    for document, own in marks.lines().items():
        count = len((ROOT / f"{document}.md").read_text("utf-8").splitlines())
        assert all(0 < line <= count for line in own)


# The whole site --------------------------------------------------------------------------------------------------------


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """A site over HTTP, nothing compressed; its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def measured(browser: Any, address: str) -> tuple[str, float, int]:
    """What a search finds first, after how many milliseconds, and with how many bytes, in a browser that has nothing yet."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address)
    page.wait_for_function("document.getElementById('search-results').dataset.query")
    first = page.get_attribute("#search-results li:first-child a", "href") or ""
    took = float(page.get_attribute("#search-results", "data-milliseconds"))
    context.close()
    return first, took, int(sum(sizes))


@pytest.mark.long
def test_searches_of_the_whole_site(browser: Any) -> None:
    from urllib.parse import quote

    wanted, wrong = searches(), []
    with served(whole_site()) as address:
        for query, page in wanted.items():
            tries = [measured(browser, f"{address}/search.html?q={quote(query)}")]
            while tries[-1][1] > MILLISECONDS and len(tries) < 3:  # a machine that is busy with other things
                tries.append(measured(browser, f"{address}/search.html?q={quote(query)}"))
            first, took, size = tries[-1]
            if re.sub(r"\.html(#.*)?$", "", first.removeprefix("./")) != page or took > MILLISECONDS or size > BYTES:
                wrong.append(f"{query}: {first}, {took:.0f} ms, {size} bytes")
    assert len(wanted) - len(wrong) >= allowed(len(wanted)), wrong


@pytest.mark.long
def test_every_object_of_the_whole_site_has_its_anchor() -> None:
    site = whole_site()
    known: dict[str, frozenset[str]] = {}
    missing = []
    for (kind, name), address in objects(site).items():
        page, _, anchor = address.partition("#")
        known.setdefault(page, site_links.read(site / page).names)
        if anchor and anchor not in known[page]:
            missing.append(f"{kind} {name}: {address}")
    assert not missing
