"""Drawings: SVGs that the definitions draw. What is shown is found by executing the page's instructions, never by hand.

A page asks for one by a directive whose argument is a kind and whose content is instructions, or a kernel, and values:

    ```{drawing} bits
    bfe.s32 d, a, 4, 8;
    ```

The files of this folder are of three sorts: `canvas.py` draws; `sources.py` and `courses.py` find out what is so; each of
the others joins the two for one kind.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from pathlib import Path

from ptxspec.language.forms import registry
from ptxspec.literate import finder
from ptxspec_workshop.site.drawing import bits, chains, courses, memory, number_lines, truth, votes, warps, windows
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request, opcodes, parsed

#: what draws each kind
KINDS: dict[str, Callable[[Request], list[Panel]]] = {
    "bits": bits.drawn_bits,
    "bytes": memory.drawn,
    "carries": chains.drawn,
    "course": courses.drawn_course,
    "elements": bits.drawn_elements,
    "lanes": courses.drawn_lines,
    "moves": warps.drawn_moves,
    "number-line": number_lines.drawn,
    "truth-table": truth.drawn,
    "votes": votes.drawn,
    "windows": windows.drawn,
}


def pages_of(lines: Sequence[str]) -> list[Path]:
    """The documents on which what the lines of a directive show depends: those of their instructions with all that they import,
    and those of the machine."""
    index = registry().index
    modules = {page for opcode in opcodes(lines) for page in index[opcode]}
    machine = {path for _, path in finder.pages("ptxspec.spec", "machine")}
    return sorted({*finder.sources(sorted(modules)), *machine})


def drawn(kind: str, lines: Sequence[str]) -> list[Panel]:
    """The SVGs that the lines of a directive ask for.

    Raises ValueError for an unknown kind and for what cannot be drawn so, RowError if it is known which line is wrong.
    """
    if kind not in KINDS:
        raise ValueError(f"no drawing is of the kind {kind!r}; there are {', '.join(KINDS)}")
    return KINDS[kind](parsed(lines))


def markdown(kind: str, lines: Sequence[str]) -> str:
    """The same as figures, side by side where there is room, each with the instruction that it shows. A kernel stands above
    them."""
    figures = []
    before = ""
    for panel in drawn(kind, lines):
        caption = ""
        if "\n" in panel.code:
            before = f"~~~~ptx\n{panel.code}\n~~~~\n\n"
        elif panel.code:
            note = f" <small>{html.escape(panel.note)}</small>" if panel.note else ""
            caption = f"<figcaption><code>{html.escape(panel.code)}</code>{note}</figcaption>"
        figures.append(f"<figure>{panel.svg}{caption}</figure>")
    return f'{before}<div class="drawings">{"".join(figures)}</div>\n'
