"""Machine code that is kept on disk: found again, made anew where it is not whole, and never more than there is room for."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptxspec.base import storage
from ptxspec.terms import object_code
from ptxspec.terms.native import QUICK, CodeSource, Library

TEXT = "define i64 @answer(i64 %more) {{\n  %r = add i64 %more, {}\n  ret i64 %r\n}}"


@pytest.fixture
def folder(private_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for what is kept, where all code is worth it."""
    monkeypatch.setattr(storage, "kept", lambda name: private_path / name)
    monkeypatch.setattr(object_code, "WORTH", 0.0)
    monkeypatch.setenv(object_code.VARIABLE, "1")
    return private_path / "code"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of code that was made and handed over to be kept."""
    found: list[str] = []
    plain = object_code.keep

    def noted(name: str, code: bytes, seconds: float) -> None:
        found.append(name)
        plain(name, code, seconds)

    monkeypatch.setattr(object_code, "keep", noted)
    return found


def answer(number: int, **how: Any) -> int:
    library = Library(CodeSource(TEXT.format(number), set(), **how))
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("answer"))(0)


def test_code_is_kept_and_found_again(folder: Path, made: list[str]) -> None:
    assert [answer(42), answer(42)] == [42, 42]
    assert len(made) == 1 and [p.name for p in folder.iterdir()] == [f"{made[0]}.o"]


def test_each_text_and_each_way_to_compile_it_has_its_own(folder: Path, made: list[str]) -> None:
    assert [answer(1), answer(2), answer(1, level=0), answer(1, passes=QUICK), answer(1, vectorize=False)] == [
        1,
        2,
        1,
        1,
        1,
    ]
    assert len(set(made)) == 5


def test_another_processor_has_its_own(folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec.terms import native

    answer(7)
    cpu, features = native._processor()
    monkeypatch.setattr(native, "_processor", lambda: (cpu, f"{features}," if features else ""))
    answer(7)
    assert len(set(made)) == 2


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d[:40] + b"\x90" + d[41:], lambda d: b"", lambda d: d[:32],
                                    lambda d: d + b"\0", lambda d: b"x" * 100])  # fmt: skip
def test_a_file_that_is_damaged_is_made_anew(damage: Any, folder: Path, made: list[str]) -> None:
    answer(5)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    assert answer(5) == 5 and len(made) == 2
    assert path.read_bytes() == whole


def test_nothing_is_read_or_written_where_it_is_forbidden(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(object_code.VARIABLE, "0")
    assert answer(3) == 3 and not folder.exists()
    monkeypatch.setenv(object_code.VARIABLE, "1")
    answer(3)
    (path,) = folder.iterdir()
    path.write_bytes(b"")
    monkeypatch.setenv(object_code.VARIABLE, "0")
    assert answer(3) == 3 and path.read_bytes() == b""


def test_what_is_soon_made_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_code, "WORTH", 1e9)
    assert answer(3) == 3 and not folder.exists()


def test_a_place_where_nothing_can_be_written(folder: Path) -> None:
    folder.write_text("a file, and no folder")
    assert answer(9) == 9 and folder.read_text() == "a file, and no folder"


def test_the_oldest_go_where_there_is_no_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [object_code.name_of(str(i)) for i in range(6)]
    object_code.keep("of what size", bytes(100), 1.0)
    (size,) = {p.stat().st_size for p in folder.iterdir()}
    (folder / "of what size.o").unlink()
    monkeypatch.setattr(object_code, "ROOM", 4 * size)
    monkeypatch.setattr(object_code, "SELDOM", 1)
    for i, name in enumerate(names):
        object_code.keep(name, bytes(100), 1.0)
        os.utime(folder / f"{name}.o", (i, i))
        assert sum(p.stat().st_size for p in folder.iterdir()) <= object_code.ROOM
    assert [object_code.load(name) is not None for name in names] == [False, False, True, True, True, True]


def test_some_make_room_for_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """About one of sixteen, as many as were kept since the last one."""
    monkeypatch.setattr(object_code, "ROOM", 10_000)
    names = [object_code.name_of(str(i)) for i in range(100)]
    several = 0
    for name in names:
        object_code.keep(name, bytes(1000), 1.0)
        total = sum(p.stat().st_size for p in folder.iterdir())
        if object_code.makes_room(name):
            several += 1
            assert total <= object_code.ROOM + 100  # what a file has beside the code
        assert object_code.load(name) == bytes(1000)
    assert 2 <= several <= 16


def test_parts_of_a_name_are_kept_apart() -> None:
    assert object_code.name_of("a", "bc") != object_code.name_of("ab", "c")


def test_another_process_finds_it(private_path: Path) -> None:
    """It takes the code that the first has made, and computes the same."""
    program = f"""
import ctypes, pathlib, sys
from ptxspec.base import storage
storage.kept = lambda name: pathlib.Path({str(private_path)!r}) / name
from ptxspec.terms import object_code, native
object_code.WORTH = 0.0
native.CodeSource.compiled, plain = lambda self: (print("made"), plain(self))[1], native.CodeSource.compiled
library = native.Library(native.CodeSource({TEXT.format(11)!r}, set()))
print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("answer"))(0))
"""
    environment = {**os.environ, object_code.VARIABLE: "1"}
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["made\n11\n", "11\n"]
