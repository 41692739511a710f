"""What campaigns of the tests ask: other processes import it from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


class Wrong(Exception):
    """An exception that does not survive a pickle."""

    def __init__(self, one: int, other: int):
        super().__init__(f"{one} {other}")


def square(number: int) -> int:
    return number * number


def slow_square(item: tuple[str, int]) -> int:
    """Says in a file that it was asked, and takes its time."""
    folder, number = item
    with open(Path(folder, f"{number}.asked"), "a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.3)
    return number * number


def behaves(how: str) -> Any:
    """Answers, or does what nobody hopes for."""
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "leave":
        os._exit(3)
    if how == "hang":
        time.sleep(1000)
    if how == "raise":
        raise ValueError("as it is wanted")
    if how == "strange":
        raise Wrong(1, 2)
    if how == "print":
        print("said to nobody who asks")
        os.system("echo said by another process")
    if how == "orphan" and os.fork() == 0:  # lives on, and holds what it has inherited
        time.sleep(20)
    if how == "orphan":
        os._exit(4)
    return how


def once(path: str) -> str:
    """Ends its process the first time."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"
