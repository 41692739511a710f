"""What the extension does to pages as they are written: exponents, anchors of lines, less HTML."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx")

from docutils import nodes
from docutils.utils import new_document

from ptxspec_workshop.site import layout, transforms


def raised(text: str) -> str:
    document = new_document("page")
    document += nodes.paragraph("", "", nodes.Text(text), nodes.literal("", "2^3"))
    transforms.raise_exponents(SimpleNamespace(), document)
    return "".join(
        f"<{n.astext()}>" if isinstance(n.parent, nodes.superscript) else n.astext()
        for n in document.findall(nodes.Text)
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("from 2^−126 to 2^127", "from 2<−126> to 2<127>2^3"),
        ("off by 2^-8 or 2^−22.5, no more", "off by 2<−8> or 2<−22.5>, no more2^3"),
        ("2^(x − 127) of 10^n", "2<x − 127> of 10<n>2^3"),
        ("x ^ y, and a^b", "x ^ y, and a^b2^3"),
    ],
)
def test_exponents_are_raised_in_prose_alone(text: str, shown: str) -> None:
    assert raised(text) == shown


def test_unseen_html_is_left_out() -> None:
    before = '<td class="x"><p><code class="docutils literal notranslate"><span class="pre">a</span> <span class="pre">b</span></code></p></td>'
    context = {"body": before + '<td><p>one</p>\n<p>two</p></td><span class="n">x</span><span class="k">if</span>'}
    layout.slim(None, "", "", context, None)  # type: ignore[arg-type]
    assert context["body"] == (
        '<td class="x"><code>a b</code></td><td><p>one</p>\n<p>two</p></td>x<span class="k">if</span>'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '<a href="#x"><span class="std std-ref">what <em>it</em> is</span></a>',
            '<a href="#x">what <em>it</em> is</a>',
        ),
        ('<a class="headerlink" href="#x" title="Link to this heading">¶</a>', '<a class="headerlink" href="#x">¶</a>'),
        ('<div class="table-wrapper colwidths-auto docutils">', '<div class="table-wrapper docutils">'),
        ('<code class="docutils literal notranslate" id="type-u8">', '<code id="type-u8">'),
    ],
)
def test_what_no_style_asks_for_is_left_out(before: str, after: str) -> None:
    context = {"body": before, "toc": '<li><a class="reference internal" href="#x">x</a></li>'}
    layout.slim(None, "", "", context, None)  # type: ignore[arg-type]
    assert context == {"body": after, "toc": '<li><a class="reference" href="#x">x</a></li>'}


def test_maps_to_the_sources_of_the_theme_are_left_out(tmp_path: Path) -> None:
    styles = tmp_path / "_static" / "styles"
    styles.mkdir(parents=True)
    for name in ("furo.css", "furo.css.map"):
        (styles / name).write_text("x")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=str(tmp_path))
    layout.drop_source_maps(app, None)  # type: ignore[arg-type]
    assert [path.name for path in styles.iterdir()] == ["furo.css"]


def test_a_line_with_an_anchor_has_one_number() -> None:
    """Which the style counts; an anchor of a rule stands before the number that Pygments wrote."""
    line = '<span id="L-16"><a id="rule-out-of-bounds"></a><span class="linenos">16</span>rule</span>'
    context = {"body": f"<pre><span></span>{line}</pre>"}
    layout.slim(None, "", "", context, None)  # type: ignore[arg-type]
    assert "linenos" not in context["body"] and 'id="rule-out-of-bounds"' in context["body"]


def test_html_is_made_less_once(tmp_path: Path) -> None:
    """What is minified already would lose closing tags that it needs."""
    pytest.importorskip("minify_html")
    page = tmp_path / "page.html"
    page.write_text(
        '<!doctype html>\n<html lang="en"><head><title>a</title></head><body><p class="b">c</p></body></html>'
    )
    app = SimpleNamespace(
        config=SimpleNamespace(ptxspec_minify=True), builder=SimpleNamespace(format="html"), outdir=str(tmp_path)
    )
    layout.minify(app, None)  # type: ignore[arg-type]
    once, state = page.read_text(), page.stat().st_mtime_ns
    assert once.startswith("<!doctype html><html lang=en>") and "<p class=b>c" in once
    layout.minify(app, None)  # type: ignore[arg-type]
    assert (page.read_text(), page.stat().st_mtime_ns) == (once, state)
