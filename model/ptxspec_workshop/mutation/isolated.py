"""A call in a process of its own, with limits: a mistake may make a definition of endless numbers."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: bytes that a call may take beside what there was before
MEMORY = 1 << 30


class Ended(Exception):
    """The process ended before the call did: it needed more seconds, or more memory, than it was given."""


def call(function: Callable[[], T], seconds: int, memory: int = MEMORY) -> T:
    """function() in a copy of this process, which may compute for so many seconds and take so many bytes more. What it returns or
    raises is handed on; Ended is raised if it does neither. Needs an operating system that forks."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run(function, seconds, memory, reader, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    if not data:
        raise Ended(f"no answer within {seconds} seconds and {memory >> 20} MiB")
    done, value = pickle.loads(data)
    if not done:
        raise value
    return value  # type: ignore[no-any-return]  # what the function returned


def _run(function: Callable[[], Any], seconds: int, memory: int, reader: int, writer: int) -> None:
    """The child's life."""
    status = 1
    try:
        os.close(reader)
        _limit(seconds, memory)
        try:
            answer: Any = (True, function())
            data = pickle.dumps(answer)
        except MemoryError:
            data = b""
        except Exception as error:
            data = _portable(error)
        with os.fdopen(writer, "wb") as stream:
            stream.write(data)
        status = 0
    finally:
        os._exit(status)


def _portable(error: Exception) -> bytes:
    """An exception as bytes; one that cannot be pickled as its text."""
    with contextlib.suppress(Exception):
        data = pickle.dumps((False, error))
        pickle.loads(data)
        return data
    return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _limit(seconds: int, memory: int) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))  # the child begins at zero, but for what it copied
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 1))
    with open("/proc/self/statm") as file:
        there = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (there + memory, resource.RLIM_INFINITY))
