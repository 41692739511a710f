"""The line of the program that an instruction was compiled from, as `.loc` and `.file` state it.

It is needed only for a message, so nothing is kept of these directives when a module is checked: the text is read again.
"""

from __future__ import annotations

from ptxspec.base.records import NamedTuple
from ptxspec.language import tree
from ptxspec.language.diagnostics import Source
from ptxspec.language.parser import read


class Origin(NamedTuple):
    """A file, as `.file` names it, and a line of it, counted from 1."""

    path: str
    line: int


def origin(source: Source, position: int) -> Origin | None:
    """Where the instruction at a position of the text was compiled from: the location that the last `.loc` before it in its
    function states. None if there is none, or if no file has its number."""
    source, position = source.part(position)
    module = read(source).module if ".loc" in source.text else None
    if module is None:
        return None
    stated: tree.Location | None = None
    for function in sorted(module.functions, key=lambda f: f.position):
        if function.position > position:
            break
        stated = None
        for item in function.body or ():
            if isinstance(item, tree.Location) and item.position <= position:
                stated = item
    files = {d.number: d.name for d in module.directives if isinstance(d, tree.File)}
    if stated is None or stated.place[0] not in files or not stated.place[1]:
        return None
    return Origin(files[stated.place[0]], stated.place[1])
