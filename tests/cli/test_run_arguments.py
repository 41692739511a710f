"""`run`: arguments and files are checked before the launch, and messages say what is wrong with which."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from effort import at_most
from validated import asked, call

KERNEL = """.version 8.0 .target sm_80 .address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 ran[5] = {114, 97, 110, 10, 0};
.entry k(.param .u64 array, .param .u32 number) { .reg .b64 %a, %n; .reg .b32 %x, %r;
  ld.param.u64 %a, [array]; ld.param.u32 %x, [number]; st.global.u32 [%a], %x; mov.u64 %n, ran; cvta.global.u64 %n, %n;
  call (%r), vprintf, (%n, 0); ret; }
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "k.ptx").write_text(KERNEL)
    return str(tmp_path / "k.ptx")


def stored(kernel: str, array: str, number: str) -> int:
    (value, *_) = asked("run", kernel, "-a", array, "-a", number)["changed"]["0"]
    return value


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("s32=-5", 2**32 - 5),
        ("b32=-1", 2**32 - 1),
        ("u32=0x10", 16),
        ("u32=4294967295", 2**32 - 1),
        ("b32=4294967295", 2**32 - 1),
        ("s32=0xffffffff", 2**32 - 1),
    ],
)
def test_numbers(kernel: str, number: str, value: int) -> None:
    assert stored(kernel, "u32[2]=zeros", number) == value


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["u32=-1"], "argument 0 is u32: -1 is out of range, which is 0 to 4294967295"),
        (["u32=4294967296"], "argument 0 is u32: 4294967296 is out of range"),
        (["s8=128"], "argument 0 is s8: 128 is out of range, which is -128 to 127"),
        (["u32=1.5"], "argument 0 is u32: 1.5 is no integer"),
        (["u32="], "argument 0 is u32: '' is no number"),
        (["u32=1e400000000"], "is no integer"),
        (["f32=1e39"], "argument 0 is f32: 1e39 is beyond the range"),
        (["f32=one"], "argument 0 is f32: 'one' is no number"),
        (["u32"], "argument 0: 'u32' is not type=value, type[count]=values or @file.npy"),
        (["q=1"], "argument 0: 'q' is no type; 'q=1' is not type=value"),
        (["u128=1"], "'u128' is no type"),
        (["u32=1", "f32[]=zeros"], "argument 1: f32[]: the extents of an array are numbers with commas"),
        (["f32[-1]=zeros"], "argument 0: f32[-1]: the extents"),
        (["f32[2,,2]=zeros"], "argument 0: f32[2,,2]: the extents"),
        (["f32[4"], "is not type=value"),
        (["f32[4]=1,2,3"], "argument 0: f32[4] has 4 elements, and 3 are given"),
        (["f32[4]=ones"], "1 are given: 'ones' is neither zeros, arange, random nor numbers with commas"),
        (["f32[4]="], "argument 0: f32[4] has 4 elements, and 0 are given"),
        (["u8[3]=1,2,256"], "argument 0 is u8: element 2: 256 is out of range, which is 0 to 255"),
        (
            ["f32[99999999999]=zeros"],
            "argument 0: f32[99999999999] has 399,999,999,996 bytes; the arrays of a launch may have 1 GiB",
        ),
        (["f32[999999,999999,999999]=random"], "argument 0: f32[999999,999999,999999] has"),
        (
            ["u8[1073741824]=zeros", "u8[1]=zeros"],
            "argument 1: u8[1] has 1 bytes; the arrays of a launch may have 1 GiB together",
        ),
        (["f32[0,999999999999999999]=zeros"], "an array has at most 32 extents"),
        (["f32[" + "1," * 40 + "1]=zeros"], "an array has at most 32 extents"),
        (["@"], "argument 0: "),
        (["@nowhere.npy"], "argument 0: nowhere.npy: No such file"),
        (["@."], "Is a directory"),
        (["@/dev/null"], "/dev/null: no .npy file"),
    ],
)
def test_an_argument_that_is_none_is_named(kernel: str, words: list[str], message: str) -> None:
    given = [word for text in words for word in ("-a", text)]
    assert message in call("run", kernel, *given, status=2).stderr
    assert message in asked("run", kernel, *given, status=2)["error"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-g", "0"], "grid (0, 1, 1): each extent is at least 1"),
        (["-g", "-1"], "--grid: extents are one to three numbers"),
        (["-g", "1,2,3,4"], "--grid: extents are"),
        (["-g", "9" * 5000], "--grid: extents are"),
        (["-b", "1025"], "at most (1024, 1024, 64)"),
        (["-b", "٣"], "--block: extents are"),
        (["-c", ""], "--cluster: extents are"),
        (["-k", "\x1b[31mred"], "no entry is called '\\x1b[31mred'; there are k"),
        (["--profile", "nobody"], "no profile is called 'nobody'"),
        (["--dynamic-shared", "-1"], "-1 is not in the range"),
        (["--dynamic-shared", "99999999"], "bytes of shared memory"),
        (["--step-limit", "-1"], "-1 is not in the range"),
        (["--engine", "quantum"], "'quantum' is not one of"),
    ],
)
def test_the_other_options(kernel: str, words: list[str], message: str) -> None:
    assert message in call("run", kernel, "-a", "u32[1]=zeros", "-a", "u32=1", *words, status=2).stderr


def test_a_module_without_an_entry_and_one_with_two(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(".version 8.0 .target sm_80 .func f() { ret; }")
    assert "the module has no entry" in call("run", str(tmp_path / "k.ptx"), status=2).stderr
    (tmp_path / "k.ptx").write_text(".version 8.0 .target sm_80 .entry a() { ret; } .entry b() { ret; }")
    assert "which entry? --kernel one of a, b" in call("run", str(tmp_path / "k.ptx"), status=2).stderr


# Arrays from files -----------------------------------------------------------------------------------------------------


def test_an_array_from_a_file_is_left_alone(kernel: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.uint32))
    before = (tmp_path / "x.npy").read_bytes()
    assert asked("run", kernel, "-a", f"@{tmp_path}/x.npy", "-a", "u32=9")["changed"]["0"] == [9, 1, 2]
    assert (tmp_path / "x.npy").read_bytes() == before


class Trap:
    """What a pickle could do."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("/tmp/this-must-not-be-there",)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (np.array([{}, None], object), "its elements are object"),
        (np.array([Trap()], object), "its elements are object"),
        (np.array(["text"]), "an array of plain numbers is needed"),
        (np.zeros(2, "i4,f4"), "an array of plain numbers is needed"),
        (np.zeros(2, complex), "an array of plain numbers is needed"),
        (np.zeros(2, ">u4"), "an array in this byte order is needed"),
    ],
)
def test_arrays_that_are_not_taken(kernel: str, tmp_path: Path, made: np.ndarray, message: str) -> None:
    np.save(tmp_path / "x.npy", made, allow_pickle=True)
    assert message in asked("run", kernel, "-a", f"@{tmp_path}/x.npy", "-a", "u32=9", status=2)["error"]
    assert not Path("/tmp/this-must-not-be-there").exists()


def test_damaged_files(kernel: str, tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.arange(100, dtype=np.uint32))
    good = file.read_bytes()
    huge = good.replace(b"(100,)", b"(10**12,)").replace(b"(100,), }    ", b"(99999999,), }")
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<u4', 'fortran_order': False, 'shape': (-5,), }"
    for data in (
        b"",
        good[:5],
        good[:20],
        good[:100],
        good[:200],
        b"PK\x03\x04",
        huge,
        good[:6] + b"\x09\x00" + good[8:],
        header.ljust(128) + b"\n",
    ):
        file.write_bytes(data)
        assert asked("run", kernel, "-a", f"@{file}", "-a", "u32=9", status=2)["kind"] == "file", data[:40]
    np.savez(tmp_path / "x.npz", np.zeros(3))
    assert "no .npy file" in asked("run", kernel, "-a", f"@{tmp_path}/x.npz", "-a", "u32=9", status=2)["error"]
    np.save(file, np.uint32(5))  # a scalar of another size than the parameter
    assert "argument 0" in asked("run", kernel, "-a", f"@{file}", "-a", "u32=9", status=2)["error"]


# --save ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0"], "--save: '0' is not N=FILE.npy"),
        (["x=y.npy"], "is not N=FILE.npy"),
        (["-1=y.npy"], "is not N=FILE.npy"),
        (["0="], "is not N=FILE.npy"),
        (["2=TMP/y.npy"], "--save: there is no argument 2; there are 2, counted from 0"),
        (["99999999999999999999=TMP/y.npy"], "is not N=FILE.npy"),
        (["1=TMP/y.npy"], "--save: argument 1 is no array"),
        (["0=TMP/y"], "the name of the file ends in .npy"),
        (["0=TMP/no/y.npy"], "there is no such folder"),
        (["0=TMP/folder.npy"], "that is no file"),
        (["0=TMP/y.npy", "0=TMP/../TMPNAME/y.npy"], "two arguments cannot be written to one file"),
    ],
)
def test_saves_are_checked_before_the_launch(kernel: str, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "folder.npy").mkdir()
    given = [w for text in words for w in ("-s", text.replace("TMPNAME", tmp_path.name).replace("TMP", str(tmp_path)))]
    result = call("run", kernel, "-a", "u32[1]=zeros", "-a", "u32=3", *given, status=2)
    assert message in result.stderr and "ran" not in result.stdout and not (tmp_path / "y.npy").exists()


def test_a_folder_that_cannot_be_written(kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and access(path, mode, **more))
    result = call("run", kernel, "-a", "u32[1]=zeros", "-a", "u32=3", "-s", f"0={tmp_path}/y.npy", status=2)
    assert "it cannot be written" in result.stderr and "ran" not in result.stdout


def test_a_file_is_saved_whole(kernel: str, tmp_path: Path) -> None:
    words = ["run", kernel, "-a", "u32[2,2]=arange", "-a", "u32=3"]
    (tmp_path / "y.npy").write_bytes(b"old")
    (tmp_path / "link.npy").symlink_to("y.npy")
    call(*words, "-s", f"0={tmp_path}/link.npy")  # in the place of the link
    assert np.load(tmp_path / "link.npy").tolist() == [[3, 1], [2, 3]] and not (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "y.npy").read_bytes() == b"old"
    call(*words, "-s", f"0={tmp_path}/y.npy")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k.ptx", "link.npy", "y.npy"]
    before = (tmp_path / "y.npy").read_bytes()
    call(*words, "-g", "2000,60000", "--step-limit", "10", "-s", f"0={tmp_path}/y.npy", status=1)
    assert (tmp_path / "y.npy").read_bytes() == before


def test_a_refusal_takes_no_time(kernel: str) -> None:
    with at_most(8000):
        call("run", kernel, "-a", "f64[999999999]=random", "-a", "u32=3", status=2)
