"""What other packages add to the command line: entry points of the group `ptxspec.commands`.

An entry point with a plain name, such as `fuzz`, is a command. One with a point in its name, such as `ledger.update`, is a
function that a command calls for a part of its work. Entry points are read when help is shown or when something is asked for
that is not here, since reading them takes a while.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ptxspec.cli.failures import Failed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ptxspec.commands"


@cache
def _points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # which takes longer to import than most commands do

    return {point.name: point for point in entry_points(group=GROUP)}


def commands() -> dict[str, EntryPoint]:
    """The commands that are added, by name; `load` gives the click command."""
    return {name: point for name, point in _points().items() if "." not in name}


def part(name: str) -> Any:
    """The function of a name such as "ledger.update". Raises Failed if no installed package has it."""
    if name not in _points():
        raise Failed(f"no installed package has the entry point {name} of the group {GROUP}: install ptxspec again")
    return _points()[name].load()
