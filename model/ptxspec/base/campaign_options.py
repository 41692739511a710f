"""The options of all commands that run campaigns: who does the work."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ptxspec.base.campaigns import WorkerOptions

_JOBS = click.option(
    "--jobs", type=click.IntRange(1, 4096), help="Worker processes on this machine. Default: one for each processor."
)
_SCHEDULER = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Use the workers of the Dask scheduler at this address (host and port) instead; needs the extra 'campaigns'.",
)


def where_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options --jobs and --scheduler, which it takes as one argument, `where`."""

    @wraps(function)
    def command(*given: Any, jobs: int | None, scheduler: str | None, **more: Any) -> Any:
        return function(*given, where=WorkerOptions(jobs, scheduler), **more)

    return _JOBS(_SCHEDULER(command))
