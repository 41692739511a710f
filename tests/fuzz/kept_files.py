"""Files of answers and of code that are kept between runs, as an accident or somebody else could leave them.

A case is a scene: steps that lead to a folder, a file in it, how the folder is named, what fails meanwhile, and who reads. What is
planted there counts only where nobody else could have put it; nothing is waited for, and nothing elsewhere is changed."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import random
import signal
import socket
import sqlite3
import stat
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "model")]

import private  # noqa: E402
from fuzzing import Finding, Unfit  # noqa: E402

from ptxspec.base import files, storage  # noqa: E402
from ptxspec.language import syntax, tables  # noqa: E402
from ptxspec.query import identities, laws  # noqa: E402
from ptxspec.query.solvers import kept  # noqa: E402
from ptxspec.query.solvers.answers import SolverReply  # noqa: E402
from ptxspec.terms import object_code  # noqa: E402

SECONDS, GIBIBYTES = 5, 4
#: seconds of real time after which a case hangs
PATIENCE = 5
KEY, OTHER = b"k" * 32, b"o" * 32
PLANTED, MADE = "planted", "made"

#: steps: whether what lies behind them is believed as data, and as code
STEPS = {
    "plain": (True, True),
    "link": (True, True),
    "absolute link": (True, True),
    "up": (True, True),
    "missing": (True, True),
    "sticky": (True, False),
    "for all": (False, False),
    "for a group": (False, False),
    "of another": (False, False),
    "link of another": (False, False),
    "file": (False, False),
    "circle": (False, False),
}
#: files: whether they are believed where their folder is
FILES = {
    "good": True,
    "nothing": False,
    "other key": False,
    "one bit": False,
    "shorter": False,
    "longer": False,
    "empty": False,
    "random": False,
    "other value": False,
    "nested": False,
    "FIFO": False,
    "socket": False,
    "folder": False,
    "link": False,
    "link to nothing": False,
    "link to itself": False,
    "link to zeros": False,
    "of another": False,
    "for all": False,
    "endless": False,
}
#: what may be read of such a file or not: it has no digest
BARE = {("one bit", "answers"), ("one bit", "verdicts"), ("one bit", "laws"), ("longer", "answers")}
NAMED = ("as it is", "XDG_CACHE_HOME", "relative", "HOME", "relative HOME", "no home")
FAILS = ("nothing", "full", "only read", "no more files")
READERS = ("answers", "code", "pages", "remembered", "verdicts", "laws", "parser")


def make(seed: int) -> list[str]:
    """A scene, a line for each of its parts."""
    source = random.Random(f"kept {seed}")
    steps = source.choices(["plain"] * 12 + list(STEPS), k=source.choice([1, 1, 2, 3]))
    parts = {
        "reader": source.choice(READERS),
        "steps": ", ".join(steps),
        "file": source.choice(["good"] * 15 + list(FILES)),
        "named": source.choice(["as it is"] * 3 + list(NAMED)),
        "fails": source.choice(["nothing"] * 4 + list(FAILS)),
        "number": str(source.randrange(1 << 30)),
    }
    return ["".join(f"{name}: {part}\n" for name, part in parts.items())]


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    try:
        parts = dict(line.split(": ", 1) for line in texts[0].splitlines())
        scene = Scene(parts)
    except (KeyError, ValueError, IndexError) as why:
        raise Unfit(str(why)) from None
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(private.folder()))
        stack.callback(make_removable, home)
        stack.callback(scene.let_go)
        return scene.played(home)


def make_removable(home: Path) -> None:
    for place, folders, _ in os.walk(home):
        for name in folders:
            if not os.path.islink(os.path.join(place, name)):
                os.chmod(os.path.join(place, name), 0o755)


class Scene:
    def __init__(self, parts: dict[str, str]):
        self.reader, self.file, self.named, self.fails = (parts[n] for n in ("reader", "file", "named", "fails"))
        self.steps = parts["steps"].split(", ")
        self.random = random.Random(parts["number"])
        known = self.reader in READERS and self.file in FILES and self.named in NAMED and self.fails in FAILS
        if not known or not set(self.steps) <= set(STEPS):
            raise ValueError("no such scene")
        self.foreign: set[tuple[int, int]] = set()
        self._held: list[int] = []

    def let_go(self) -> None:
        for number in self._held:
            os.close(number)

    def played(self, home: Path) -> Counter[str]:
        outside = home / "outside"
        (outside / "code").mkdir(parents=True)
        (outside / "precious").write_text("precious")
        (outside / "code" / "precious.o").write_text("precious")
        place = self._folder(home)
        name = {"code": "code/name.o", "pages": "pages/name.pyc", "answers": kept.NAME, "verdicts": identities.NAME,
                "laws": laws.NAME}.get(self.reader, f"thing-{storage_version()}")  # fmt: skip
        with self._place(home, place, name) as is_named:
            if is_named:
                self._plant(place / name, outside)
            before = state(outside)
            reads = getattr(self, f"_{self.reader}")
            seen = self._watched(lambda: reads(name))
            if state(outside) != before:
                raise Finding("elsewhere", "a file that is none of the cache's was changed")
        behind = [STEPS[step][self.reader in ("code", "pages")] for step in self.steps]
        is_believed = all(behind) and is_named and "missing" not in self.steps and FILES[self.file]
        if (self.file, self.reader) in BARE:
            return Counter({"without a digest": 1})
        if seen != (PLANTED if is_believed else MADE):
            raise Finding("believed" if seen == PLANTED else "not believed", f"it gave {seen!r}")
        return Counter({seen: 1, f"file {self.file}": 1, f"reader {self.reader}": 1, f"named {self.named}": 1})

    # what is there ------------------------------------------------------------------------------------------------------

    def _folder(self, home: Path) -> Path:
        """The path to which the steps lead, one by one."""
        path = home
        for i, step in enumerate(self.steps):
            if step == "missing":
                return path.joinpath(*(f"missing{j}" for j in range(i, len(self.steps))))
            here = path.resolve()
            new = path / f"step{i}"
            if step in ("link", "absolute link", "link of another"):
                (here / f"behind{i}").mkdir()
                new.symlink_to((here if step == "absolute link" else Path()) / f"behind{i}")
                if step == "link of another":
                    self._give_away(new)
            elif step == "circle":
                new.symlink_to(f"step{i}")
                return new.joinpath(*(f"step{j}" for j in range(i + 1, len(self.steps))))
            elif step == "file":
                new.write_text("a file")
                return new.joinpath(*(f"step{j}" for j in range(i + 1, len(self.steps))))
            else:
                new.mkdir()
                new.chmod({"sticky": 0o1777, "for all": 0o777, "for a group": 0o775}.get(step, 0o755))
                if step == "of another":
                    self._give_away(new)
            path = new / ".." / f"step{i}" if step == "up" else new
        return path

    def _give_away(self, path: Path) -> None:
        """Let a file seem to be another user's."""
        found = os.lstat(path)
        self.foreign.add((found.st_dev, found.st_ino))
        # once it is removed, a file that is made may else have its number
        self._held.append(os.open(path, os.O_PATH | os.O_NOFOLLOW))

    def _plant(self, path: Path, outside: Path) -> None:
        if "missing" in self.steps or "file" in self.steps or "circle" in self.steps:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        data = getattr(self, f"_good_{self.reader}", self._good_remembered)(path)
        kind = self.file
        if kind in (
            "good",
            "of another",
            "for all",
            "one bit",
            "shorter",
            "longer",
            "other key",
            "other value",
            "nested",
        ):
            path.write_bytes(self._damaged(data))
            path.chmod(0o666 if kind == "for all" else 0o644)
            if kind == "of another":
                self._give_away(path)
        elif kind in ("empty", "random"):
            path.write_bytes(self.random.randbytes(0 if kind == "empty" else self.random.randrange(1, 400)))
        elif kind == "FIFO":
            os.mkfifo(path)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as end, contextlib.chdir(path.parent):
                end.bind(path.name)
        elif kind == "folder":
            path.mkdir()
        elif kind == "link":
            (outside / "good").write_bytes(data)
            path.symlink_to(outside / "good")
        elif kind.startswith("link"):
            path.symlink_to({"link to nothing": "nowhere", "link to itself": path.name}.get(kind, "/dev/zero"))
        elif kind == "endless":
            with open(path, "wb") as file:
                file.truncate(1 << 40)

    def _damaged(self, data: bytes) -> bytes:
        at = self.random.randrange(len(data))
        if self.file == "one bit":
            return data[:at] + bytes([data[at] ^ 1 << self.random.randrange(8)]) + data[at + 1 :]
        if self.file == "shorter":
            return data[:at]
        if self.file == "longer":
            return data + self.random.randbytes(self.random.randrange(1, 100))
        return data

    def _sealed(self, value: Any, key: bytes = KEY) -> bytes:
        """A file of `remembered`, which is whole also where it should not be believed."""
        key = OTHER if self.file == "other key" else key
        text = json.dumps(value)
        if self.file == "other value":
            text = self.random.choice(["null", "7", "[]", "{}", '{"words": 1}', "NaN", "{", '"x', "\x00", '"made up'])
        elif self.file == "nested":
            text = "[" * 100_000 + "]" * 100_000
        return storage._sealed(text.encode(), key)

    # who reads ------------------------------------------------------------------------------------------------------------

    def _good_remembered(self, path: Path) -> bytes:
        return self._sealed([PLANTED])

    def _remembered(self, name: str) -> str:
        def read(value: Any) -> str:
            if not isinstance(value, list) or len(value) != 1:
                raise ValueError("no list of one")
            return str(value[0])

        found = storage.remembered("thing", KEY, lambda: [MADE], read)
        if self._is_kept() and storage.remembered("thing", KEY, lambda: ["other"], read) != found:
            raise Finding("not kept", "what was made is made again")
        return found

    def _good_parser(self, path: Path) -> bytes:
        value = tables.plain(syntax.prepared())
        value["words"][0][1] = PLANTED
        return self._sealed(value)

    def _parser(self, name: str) -> str:
        made = storage.remembered("thing", KEY, lambda: tables.plain(syntax.prepared()), tables.read)
        return PLANTED if made.words[0].called == PLANTED else MADE

    def _good_code(self, path: Path) -> bytes:
        return storage._sealed(PLANTED.encode(), OTHER if self.file in ("other key", "other value", "nested") else b"")

    def _code(self, name: str) -> str:
        found = (object_code.load("name") or MADE.encode()).decode()
        with patch.object(object_code, "ROOM", self.random.choice([0, 1 << 20])):
            object_code.keep("name", found.encode(), 1.0)
        if self._is_kept() and object_code.load("name") != found.encode():
            raise Finding("not kept", "code that was made is not found")
        return found

    _good_pages = _good_code

    def _pages(self, name: str) -> str:
        try:
            found = storage.own_code(storage.kept(name)).decode()
        except OSError:
            found = MADE
        storage.keep_code(storage.kept(name), found.encode())
        return found

    def _good_answers(self, path: Path) -> bytes:
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(sqlite3.connect(f"{folder}/a")) as file:
            file.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, said TEXT NOT NULL)")
            said = json.dumps({"status": "unsat", "model": {}, "by": PLANTED})
            if self.file == "other value":
                said = self.random.choice(
                    ["null", "[]", '{"status": "sat"}', '{"status": "sat", "model": 3, "by": "x"}']
                )
            elif self.file == "nested":
                said = "[" * 100_000
            file.execute("INSERT INTO answers VALUES (?, ?)", (OTHER if self.file == "other key" else KEY, said))
            file.commit()
            return Path(folder, "a").read_bytes()

    def _answers(self, name: str) -> str:
        found = kept.find(KEY)
        kept.keep(OTHER, SolverReply("unsat", {}, "z3"))
        kept.find(OTHER)
        return PLANTED if found is not None and found.by == PLANTED else MADE

    def _good_verdicts(self, path: Path) -> bytes:
        text = json.dumps({"key": PLANTED})
        if self.file in ("other key", "other value"):
            text = self.random.choice(["null", "[]", "{}", "{", "NaN", '"'])
        return ("[" * 100_000 if self.file == "nested" else text).encode()

    def _verdicts(self, name: str) -> str:
        return str(laws.stored(storage.kept(name)).get("key", MADE))

    _good_laws = _good_verdicts

    def _laws(self, name: str) -> str:
        return str(laws.stored(storage.kept(name)).get("key", MADE))

    def _is_kept(self) -> bool:
        """Whether what is made now has to be found the next time."""
        if self.named not in ("as it is", "XDG_CACHE_HOME", "HOME") or self.fails != "nothing" or self.file == "folder":
            return False
        return all(STEPS[step][self.reader in ("code", "pages")] for step in self.steps)

    # while it is read -------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _place(self, home: Path, place: Path, name: str) -> Iterator[bool]:
        """Within, `kept` names the folder in one way or another; whether it leads there."""
        here = home / "here"
        here.mkdir()
        environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.chdir(here))
            if self.named == "as it is":
                stack.enter_context(patch.object(storage, "kept", lambda own: place / self._own(own, name)))
                yield True
                return
            stack.enter_context(patch.object(storage, "DOCUMENTS", home / "installed"))
            plain_kept = storage.kept
            stack.enter_context(patch.object(storage, "kept", lambda own: plain_kept(self._own(own, name))))
            if self.named == "XDG_CACHE_HOME":
                environment |= {"XDG_CACHE_HOME": str(place), "HOME": str(here)}
            elif self.named == "HOME":
                environment["HOME"] = str(place)
            else:  # the working directory has what would be taken if a relative path were
                environment |= {"relative": {"XDG_CACHE_HOME": ".cache"}, "relative HOME": {"HOME": "."}}.get(
                    self.named, {}
                )
                self._plant(here / ".cache" / "ptxspec" / name, here)
                self._plant(here / "~" / ".cache" / "ptxspec" / name, here)
                stack.enter_context(patch.object(pwd, "getpwuid", no_user))
            stack.enter_context(patch.dict(os.environ, environment, clear=True))
            before = state(here)
            if self.named in ("XDG_CACHE_HOME", "HOME"):
                folder = place / "ptxspec" if self.named == "XDG_CACHE_HOME" else place / ".cache" / "ptxspec"
                self._plant(folder / name, home / "outside")
                yield "missing" not in self.steps
            else:
                yield False
                if state(here) != before:
                    raise Finding("elsewhere", "a file in the working directory was changed")

    def _own(self, asked: str, name: str) -> str:
        """The name of the file that is planted, where it is asked for under that of the version."""
        return name if asked.startswith("thing") or asked == f"code/{Path(name).name}" else asked

    def _watched(self, reads: Callable[[], str]) -> str:
        def late(*_: object) -> None:
            raise Finding("hangs", f"after {PATIENCE} s")

        storage._told = False
        before = signal.signal(signal.SIGALRM, late)
        signal.alarm(PATIENCE)
        try:
            with contextlib.ExitStack() as stack:
                said = stack.enter_context(warnings.catch_warnings(record=True))
                warnings.simplefilter("always")
                for what in ("lstat", "fstat"):
                    stack.enter_context(patch.object(os, what, self._as_seen(getattr(os, what))))
                stack.enter_context(patch.object(storage, "_is_private", lambda group: False))
                stack.enter_context(
                    patch.object(os, "fsync", failing(28) if self.fails == "full" else lambda number: None)
                )
                if self.fails == "only read":
                    stack.enter_context(patch.object(os, "mkdir", failing(30)))
                if self.fails in ("only read", "no more files"):
                    number = 30 if self.fails == "only read" else 24
                    stack.enter_context(patch.object(files.tempfile, "mkstemp", failing(number)))
                found = reads()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        told = [w for w in said if issubclass(w.category, storage.NotKept)]
        if len(told) > 1 or (self.named in ("relative HOME", "no home") and not told):
            raise Finding("told", f"{len(told)} times: {[str(w.message) for w in told]}")
        return found

    def _as_seen(self, true: Callable[..., os.stat_result]) -> Callable[..., Any]:
        def seen(*words: Any, **more: Any) -> Any:
            found = true(*words, **more)
            if (found.st_dev, found.st_ino) not in self.foreign:
                return found
            own = {n: getattr(found, n) for n in ("st_mode", "st_size", "st_gid", "st_dev", "st_ino", "st_mtime")}
            return SimpleNamespace(**own, st_uid=os.geteuid() + 4321)

        return seen


def no_user(*_: object) -> Any:
    raise KeyError("no such user")


def failing(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


def storage_version() -> str:
    from ptxspec import __version__

    return f"{__version__}-{sys.implementation.cache_tag}"


def state(folder: Path) -> list[tuple[str, int, bytes]]:
    """All that is in a folder: paths, kinds with permissions, contents."""
    found = []
    for place, folders, names in os.walk(folder):
        for name in sorted([*folders, *names]):
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            data = Path(path).read_bytes() if stat.S_ISREG(mode) and os.path.getsize(path) < 1 << 20 else b""
            found.append((path, mode, data))
    return sorted(found)
