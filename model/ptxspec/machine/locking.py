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
        self._lock, self._refusal = threading.Lock(), refusal
        self._holder: int | None = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        if self._holder == me:
            raise RuntimeError(self._refusal)
        self._lock.acquire()
        self._holder = me

    def __exit__(self, *error: object) -> None:
        self._holder = None
        self._lock.release()


def locked(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Let a method wait for its object's `lock`. An error of the program that is launched has no frames of the engine in its
    traceback."""

    def wrapper(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # from pytest, which shows the caller's line then
        with self.lock:
            try:
                return method(self, *args, **kwargs)
            except LaunchError as error:
                raise error.with_traceback(None) from None

    functools.update_wrapper(wrapper, method)
    return wrapper
