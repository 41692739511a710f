"""A process that is asked one thing after another, and may end or hang: whoever asks goes on.

`python -m ptxspec.base.processes` is the process. It reads functions with their arguments and answers what they return or raise.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from ptxspec.base.records import NamedTuple

T = TypeVar("T")

#: seconds in which a process has imported what it is asked
STARTING = 300.0
#: seconds beyond its limit after which a process ends itself, should nobody else end it
GRACE = 30
#: characters of a process's last words that are kept
LAST_WORDS = 2000
_LENGTH = 8
#: bytes that are read of what a program writes
MOST_OUTPUT = 1 << 20


class Reply(NamedTuple):
    """What came of a question. `kind` is "done" (`value` is what the function returned), "raised" (`value` is the exception),
    "ended" (the process ended before it answered) or "late" (it was ended, for it did not answer in time); `message` says in
    words what went wrong."""

    kind: Literal["done", "raised", "ended", "late"]
    value: Any = None
    message: str = ""


class ProgramResult(NamedTuple):
    """What came of a program: how it ended, and what it wrote. `late` says that it did not end in time, and `wrote_much` that it
    wrote more than anybody reads: it was ended then."""

    status: int
    output: bytes
    late: bool = False
    wrote_much: bool = False


def run_program(command: Sequence[str], seconds: float, most: int = MOST_OUTPUT) -> ProgramResult:
    """Run a program that may do anything: both of its outputs are read, to so many bytes. It and what it has begun are ended
    after so many seconds. Raises OSError for what cannot be run."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            output = process.stdout.read(most + 1)
            if len(output) > most:
                _kill(process)
            status = process.wait()
        finally:
            timer.cancel()
            _kill(process)  # and what it has left behind
    return ProgramResult(status, output[:most], late.is_set(), len(output) > most)


class Process:
    """A process, begun when it is first asked and again after it has ended. With `listens` what it writes to the standard error
    is no one's but the message's of a reply, if the process ended. One thread asks at a time."""

    def __init__(self, listens: bool = False):
        self._listens = listens
        self._process: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        self._late = False

    def ask(self, function: Callable[[T], Any], argument: T, seconds: float | None = None) -> Reply:
        """What the function makes of the argument, in `seconds` of real time if they are given. Both travel as pickles: the
        function is one that other processes can import by its name. Raises ValueError for one of a script."""
        question = pickle.dumps((importable(function), argument, seconds))
        process = self._begun()
        assert process.stdin is not None and process.stdout is not None
        self._late = False
        try:
            _write(process.stdin, question)
            if self._read(process, STARTING) is not None:  # imported
                data = self._read(process, seconds)
                if data is not None:
                    return Reply(*pickle.loads(data))
        except BrokenPipeError:
            pass
        except BaseException:
            self.close()
            raise
        return self._gone(seconds)

    def close(self) -> None:
        """End the process, and those that it began."""
        process = self._process
        if process is None:
            return
        _kill(process)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process = None

    def _begun(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            if self._words is not None:
                self._words.seek(0)
                self._words.truncate()
            return self._process
        self.close()
        if self._listens and self._words is None:
            self._words = tempfile.TemporaryFile()  # it lives as long as this object
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env={**os.environ, "PYTHONPATH": _path()},
            start_new_session=True,
        )
        return self._process

    def _read(self, process: subprocess.Popen[bytes], seconds: float | None) -> bytes | None:
        """The next message, or None if there is none: the process has ended, or is ended for being late."""
        assert process.stdout is not None
        if seconds is None:
            return _read(process.stdout)

        def end() -> None:
            self._late = True
            _kill(process)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            return _read(process.stdout)
        finally:
            timer.cancel()

    def _gone(self, seconds: float | None) -> Reply:
        process = self._process
        if process is None:  # somebody closed it
            return Reply("ended", message="it was ended from outside")
        _kill(process)  # what it began, if it has gone itself
        status = process.wait()
        words = self._last_words()
        self.close()
        if self._late:
            within = STARTING if seconds is None else seconds
            return Reply("late", message=f"no answer within {within:g} seconds{words}")
        return Reply("ended", message=f"the process ended with {_named(status)}{words}")

    def _last_words(self) -> str:
        if self._words is None:
            return ""
        self._words.seek(0)
        message = self._words.read().decode(errors="backslashreplace").strip()[-LAST_WORDS:]
        return f": {message}" if message else ""


def importable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as other processes can import it: that of a module which was run by `python -m` under the module's name.
    Raises ValueError for one of a script."""
    if getattr(function, "__module__", None) != "__main__":
        return function
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None:
        raise ValueError(f"other processes cannot import {function.__qualname__}, which stands in a script")
    imported: Callable[..., Any] = getattr(importlib.import_module(spec.name), function.__qualname__)
    return imported


def portable(error: BaseException) -> BaseException:
    """An exception that travels as a pickle: itself, or one that has its text."""
    with contextlib.suppress(Exception):
        return pickle.loads(pickle.dumps(error))  # type: ignore[no-any-return]  # what was pickled
    return RuntimeError(f"{type(error).__name__}: {error}")


def _path() -> str:
    """Where the process finds modules: as this one does."""
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(dict.fromkeys([here, *(p or os.getcwd() for p in sys.path)]))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # of its own session, and those that it began
        else:
            process.kill()


def _named(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(_LENGTH, "little") + data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """A message, or None at the end of the stream."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "little")
    if len(head) < _LENGTH:
        return None
    data = stream.read(size)
    return data if len(data) == size else None


# the process itself ------------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer questions until there are no more. What is printed goes to the standard error."""
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if hasattr(os, "register_at_fork"):  # or a copy that lives on would keep the stream open
        os.register_at_fork(after_in_child=lambda: os.close(answers))
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(questions, "rb") as ins, os.fdopen(answers, "wb", closefd=False) as outs:
        while (question := _read(ins)) is not None:
            with contextlib.suppress(BrokenPipeError):
                _answer(question, outs)


def _answer(question: bytes, outs: IO[bytes]) -> None:
    try:
        function, argument, seconds = pickle.loads(question)
        _write(outs, b"")
    except Exception as error:
        _write(outs, b"")
        _write(outs, pickle.dumps(_raised(error)))
        return
    if seconds is not None and hasattr(signal, "alarm"):  # also if whoever asks was killed
        signal.alarm(int(seconds) + GRACE)
    try:
        data = pickle.dumps(("done", function(argument)))
    except Exception as error:
        data = pickle.dumps(_raised(error))
    if seconds is not None and hasattr(signal, "alarm"):
        signal.alarm(0)
    _write(outs, data)


def _raised(error: Exception) -> tuple[str, BaseException, str]:
    return "raised", portable(error), "".join(traceback.format_exception(error))[-6000:]


if __name__ == "__main__":
    main()
