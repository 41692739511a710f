"""Campaigns: the same work for many items, in processes of this machine or on a Dask cluster, which may die, hang, and be
interrupted: an item whose process ends is reported like any other, and a journal has what was reached.

>>> from ptxspec.base import campaigns
>>> [outcome.reply.value for outcome in campaigns.run(len, [("one", "abc")])]
[3]
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from ptxspec.base import strict
from ptxspec.base.processes import Process, Reply, importable
from ptxspec.base.records import NamedTuple

T = TypeVar("T")
R = TypeVar("R")

#: how to have what a cluster needs
INSTALL = "a campaign on a cluster needs Dask: pip install 'ptxspec[campaigns]'"
#: seconds in which a scheduler must answer
CONNECTING = 30
#: items that are under way for each worker: it begins the next one at once
AHEAD = 2
_own = threading.local()
#: a line of a journal: the name of an item, and the fields of its Reply
_ROW = tuple[str, Literal["done", "ended", "late"], Any, str]


class MissingDask(Exception):
    """A scheduler's address was given where Dask is not installed."""


class WorkerOptions(NamedTuple):
    """Who does the work: `jobs` processes of this machine (as many as it has processors, if None), or the workers of the Dask
    scheduler at an address such as "tcp://10.0.0.1:8786"."""

    jobs: int | None = None
    scheduler: str | None = None


class ItemOutcome(NamedTuple):
    """What became of an item. `known` says that it is of a journal and was not done again."""

    name: str
    reply: Reply
    known: bool = False


def run(
    judge: Callable[[T], Any],
    items: Iterable[tuple[str, T]],
    where: WorkerOptions = WorkerOptions(),
    *,
    seconds: float | None = None,
    journal: Journal | None = None,
) -> Iterator[ItemOutcome]:
    """judge(item) for items with their names, in the order in which they are done. The judge is a function that other processes
    can import by its name; each call runs in a process of its worker's, which goes on if the call ends it. Such an item is tried
    once more, as something else may have ended the process; if it ends that one too, or takes more than `seconds`, its outcome
    says so. Items are taken from an iterator as there is room for them.

    What a journal knows is handed on and not done again; what is reached is added to it. Raises ValueError for a judge of
    a script, MissingDask, and OSError for a scheduler that does not answer."""
    judge = importable(judge)
    left = iter(items)
    with _executor(where) as (executor, room):
        waiting: dict[Future[Reply], str] = {}
        more = True
        while more or waiting:
            while more and len(waiting) < room():
                name, item = next(left, (None, None))
                if name is None:
                    more = False
                elif journal is not None and name in journal.known:
                    yield ItemOutcome(name, journal.known[name], True)
                else:
                    waiting[executor.submit(_judged, judge, item, seconds)] = name
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                name, reply = waiting.pop(future), _reply(future)
                if journal is not None:
                    journal.add(name, reply)
                yield ItemOutcome(name, reply)


def values(
    judge: Callable[[T], R],
    items: Iterable[tuple[str, T]],
    where: WorkerOptions = WorkerOptions(),
    *,
    journal: Journal | None = None,
) -> Iterator[R]:
    """What judge(item) returns for each item, in the order in which they are done: for work in which nothing may go wrong. Raises
    what the judge raises, with where it did in a note, and ChildProcessError for an item that ends its process."""
    for outcome in run(judge, items, where, journal=journal):
        kind, value, message = outcome.reply
        if kind == "raised":
            value.add_note(message)
            raise value
        if kind != "done":
            raise ChildProcessError(f"{outcome.name}: {message}")
        yield value


def _judged(judge: Callable[[T], Any], item: T, seconds: float | None) -> Reply:
    """Runs in a thread of a worker, on this machine or another, which has a process of its own."""
    if not hasattr(_own, "process"):
        _own.process = Process()
    reply: Reply = _own.process.ask(judge, item, seconds)
    return _own.process.ask(judge, item, seconds) if reply.kind == "ended" else reply


def _reply(future: Future[Reply]) -> Reply:
    """A future's reply; of a Dask worker that ended again and again, that it did. Raises OSError where the cluster is gone."""
    try:
        error = future.exception()
    except CancelledError:
        raise OSError("the Dask cluster is gone; what was under way is lost, and a journal has the rest") from None
    if error is None:
        return future.result()
    if type(error).__name__ == "KilledWorker":
        return Reply("ended", message=str(error))
    raise error


@contextmanager
def _executor(where: WorkerOptions) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Who takes work, and a function that says for how many items there is room now."""
    if where.scheduler is not None:
        with _dask(where.scheduler) as dask_executor:
            yield dask_executor
        return
    jobs = where.jobs or os.cpu_count() or 1
    processes: list[Process] = []
    executor = ThreadPoolExecutor(jobs, initializer=partial(_begin, processes))
    try:
        yield executor, lambda: jobs * AHEAD
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.close()
        executor.shutdown()


def _begin(processes: list[Process]) -> None:
    _own.process = Process()
    processes.append(_own.process)


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, Callable[[], int]]]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingDask(INSTALL) from None
    try:
        client = Client(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise OSError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        executor = client.get_executor(pure=False)
        try:
            yield executor, lambda: AHEAD * max(1, sum(client.nthreads().values()))
        finally:
            executor.shutdown(wait=False)


# journals ----------------------------------------------------------------------------------------------------------------


class Journal:
    """A file of outcomes: a line that says which campaign it is of, then a line each. What a judge returns is kept as JSON. An
    item whose judge raised an exception is not kept, since the fault is the judge's.

    `campaign` is what the outcomes depend on. Raises ValueError for a file of another campaign or of something else, OSError for
    one that cannot be read or written."""

    def __init__(self, path: str | Path, campaign: Mapping[str, Any]):
        self.path, self.known = Path(path), dict[str, Reply]()
        head = json.dumps({"campaign": dict(campaign)}, sort_keys=True)
        data = self._read()
        whole = data[: data.rfind(b"\n") + 1]  # of a line that was being written nothing is believed
        first, *lines = whole.decode(errors="replace").splitlines() or [""]
        if whole and first != head:
            raise ValueError(f"{self.path} is no journal of this campaign; it begins with {first[:200]!r}")
        if data and not whole:
            raise ValueError(f"{self.path} is no journal")
        for number, line in enumerate(lines, 2):
            try:
                name, kind, value, message = strict.typed(strict.loaded(line), _ROW, "it")
            except ValueError as why:
                raise ValueError(f"{self.path} is no journal: line {number} is no outcome: {why}") from None
            self.known[name] = Reply(kind, value, message)
        if len(whole) < len(data):
            with self._opened(os.O_RDWR) as file:
                file.truncate(len(whole))
        if not whole:
            self._write(head)

    def add(self, name: str, reply: Reply) -> None:
        """Keep an outcome. Raises TypeError for a value that JSON has not."""
        if reply.kind != "raised":
            self._write(json.dumps([name, *reply]))

    def _write(self, line: str) -> None:
        with self._opened(os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
            file.write(line.encode() + b"\n")

    def _read(self) -> bytes:
        try:
            with self._opened(os.O_RDONLY) as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def _opened(self, how: int) -> BinaryIO:
        """The file, which is a regular one: a pipe is not waited for, and no link is written through."""
        extra = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        if self.path.is_symlink():
            raise ValueError(f"{self.path} is a link: name the file that it points to")
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"{self.path} is no journal, and no file")
        number = os.open(self.path, how | extra, 0o666)
        return open(number, "rb" if how == os.O_RDONLY else "r+b" if how == os.O_RDWR else "ab")
