"""One at a time: what uses a module's state waits until nobody else does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ptxspec.machine.errors import LaunchError


class HasTurn(Protocol):
    """What only one thread at a time uses."""

    turn: Turn


Owner = TypeVar("Owner", bound=HasTurn)
P = ParamSpec("P")
R = TypeVar("R")


class Turn:
    """Held by the thread whose turn it is. Not to be taken twice: what would wait for itself gets a RuntimeError, with the text
    `refusal`."""

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


def alone(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Let a method wait for its object's `turn`. An error of the program that is launched has no frames of the engine in its
    traceback."""

    def waits(self: Owner, /, *args: P.args, **how: P.kwargs) -> R:
        __tracebackhide__ = True  # from pytest, which shows the caller's line then
        with self.turn:
            try:
                return method(self, *args, **how)
            except LaunchError as error:
                raise error.with_traceback(None) from None

    functools.update_wrapper(waits, method)
    return waits
