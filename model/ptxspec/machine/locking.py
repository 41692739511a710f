"""Locks: what uses a module's state waits until nobody else does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ptxspec.machine.errors import LaunchError


class HasLock(Protocol):
    """What only one thread at a time uses."""

    lock: NonReentrantLock


Owner = TypeVar("Owner", bound=HasLock)
P = ParamSpec("P")
R = TypeVar("R")


class NonReentrantLock:
    """A lock that one thread at a time holds. A thread that takes it twice would wait for itself: it gets a RuntimeError with the
    text `refusal`."""

    def __init__(self, refusal: str) -> None:
        self._refusal, threads = refusal, threading.RLock()
        self.acquire, self.release = threads.acquire, threads.release
        #: whether a thread has taken it: who sees that after `acquire` has taken it before
        self.is_taken = False

    def __enter__(self) -> None:
        self.acquire()
        if self.is_taken:
            self.release()
            raise self.refused()
        self.is_taken = True

    def __exit__(self, *error: object) -> None:
        self.is_taken = False
        self.release()

    def refused(self) -> RuntimeError:
        """What a thread gets that takes it twice."""
        return RuntimeError(self._refusal)


def locked(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Let a method wait for its object's `lock`. An error of the program that is launched has no frames of the engine in its
    traceback."""

    def wrapper(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # from pytest, which shows the caller's line then
        lock = self.lock
        lock.acquire()  # `with lock` takes two calls more, which count where a launch takes microseconds
        if lock.is_taken:
            lock.release()
            raise lock.refused()
        lock.is_taken = True
        try:
            return method(self, *args, **kwargs)
        except LaunchError as error:
            raise error.with_traceback(None) from None
        finally:
            lock.is_taken = False
            lock.release()

    functools.update_wrapper(wrapper, method)
    return wrapper
