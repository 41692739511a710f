"""How far a launch is, shown on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Callable[[int, int, int], None] | None]:
    """What a launch may call with its steps, the CTAs that have ended, and those in all: it shows them on the standard error
    while the context lasts. None if that is no terminal, or if it is to be quiet."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[steps]:,} thread-instructions"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("CTAs"),
    )
    # what the program prints goes to the standard output as it is
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bars:
        task = bars.add_task("", steps=0, total=None)
        yield lambda steps, done, total: bars.update(task, steps=steps, completed=done, total=total)


@contextmanager
def counted(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """What a campaign may call with the items that are done and those in which something was found: it shows them on the standard
    error while the context lasts, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, findings: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed} {task.description}, {task.fields[findings]} findings"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, findings=0, total=None)
        yield lambda done, findings: bars.update(task, completed=done, findings=findings)
