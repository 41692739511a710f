"""Files that commands write: whole or not at all, no link written through, and nothing lost that is somebody's."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from validated import asked, call

from ptxspec.base import files
from ptxspec.evidence import vector_files, vector_folder
from ptxspec.query import records

UGLY = ".version 9.0 .target sm_90 .entry k() {ret ; // the end\n}"


def listed(path: Path) -> set[str]:
    return {p.name for p in path.iterdir()}


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes take long to begin."""
    monkeypatch.setattr(vector_files, "on_all_cores", lambda function, items: map(function, items))


# format --in-place -----------------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path) -> list[str]:
    for name in "abc":
        (tmp_path / f"{name}.ptx").write_text(UGLY)
    return [str(tmp_path / f"{name}.ptx") for name in "abc"]


def test_if_one_cannot_be_read_none_is_changed(three: list[str]) -> None:
    Path(three[1]).write_text("junk {")
    before = [Path(p).read_bytes() for p in three]
    assert "b.ptx:1:1" in call("format", "-i", *three, status=1).stderr
    assert [Path(p).read_bytes() for p in three] == before
    assert asked("format", "-i", *three, "nowhere.ptx", status=2)["kind"] == "usage"
    assert [Path(p).read_bytes() for p in three] == before


@pytest.mark.parametrize("step", ["place_for", "replace", "second replace"])
def test_if_one_cannot_be_written_none_is_changed(step: str, three: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    if step == "place_for":
        own = files.place_for

        def broken(path: Path, data: bytes) -> Path:
            calls.append(path)
            if len(calls) == 3:
                raise OSError(28, "No space left on device", str(path))
            return own(path, data)

        monkeypatch.setattr(files, "place_for", broken)
    else:
        replace = Path.replace

        def refuse(self: Path, target: Path) -> Path:
            calls.append(self)
            if len(calls) == (3 if step == "second replace" else 1):
                raise OSError(1, "Operation not permitted", str(target))
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", refuse)
    found = asked("format", "-i", *three, status=2)
    assert found["kind"] == "file" and calls
    assert all(Path(p).read_text() == UGLY for p in three)
    assert listed(Path(three[0]).parent) == {"a.ptx", "b.ptx", "c.ptx"}


def test_permissions_are_kept_and_links_stay_links(three: list[str], tmp_path: Path) -> None:
    os.chmod(three[0], 0o640)
    (tmp_path / "link.ptx").symlink_to("a.ptx")
    inside = tmp_path / "other"
    inside.mkdir()
    (inside / "far.ptx").symlink_to("../b.ptx")
    call("format", "-i", str(tmp_path / "link.ptx"), str(inside / "far.ptx"), three[0])
    assert (tmp_path / "link.ptx").is_symlink() and (inside / "far.ptx").is_symlink() and listed(inside) == {"far.ptx"}
    assert stat.S_IMODE(os.stat(three[0]).st_mode) == 0o640
    assert Path(three[0]).read_text() == Path(three[1]).read_text() != UGLY and Path(three[2]).read_text() == UGLY
    assert listed(tmp_path) == {"a.ptx", "b.ptx", "c.ptx", "link.ptx", "other"}


def test_a_file_that_must_not_be_written_is_not_replaced(three: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder would allow it."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and access(path, mode, **more))
    assert "b.ptx: Permission denied" in call("format", "-i", three[1], status=2).stderr
    assert Path(three[1]).read_text() == UGLY


def test_what_cannot_be_meant(three: list[str]) -> None:
    assert "which one?" in call("format", "-i", "--check", three[0], status=2).stderr
    assert "cannot be written in place" in call("format", "-i", "-", status=2, stdin=UGLY.encode()).stderr


def test_on_a_terminal_control_characters_of_comments_are_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.ptx").write_text(f"// \x1b[2J\n{UGLY}")
    assert "// \x1b[2J\n" in call("format", str(tmp_path / "k.ptx")).stdout
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    assert "// \\x1b[2J\n" in call("format", str(tmp_path / "k.ptx")).stdout


def test_a_file_that_is_laid_out_is_not_touched(three: list[str]) -> None:
    call("format", "-i", three[0])
    before = os.stat(three[0])
    assert asked("format", "-i", three[0])["changes"] is False
    assert os.stat(three[0]).st_ino == before.st_ino and os.stat(three[0]).st_mtime_ns == before.st_mtime_ns


def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "new", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


# vectors write ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Path:
    call("vectors write", str(tmp_path / "v"), "-o", "brev", "-o", "popc")
    return tmp_path / "v"


def test_only_what_was_written_is_deleted(written: Path) -> None:
    (written / "thesis.jsonl").write_text("years of work")
    (written / "sub").mkdir()
    found = asked("vectors write", str(written), "-o", "brev")
    assert found["left_alone"] == ["sub", "thesis.jsonl"] and (written / "thesis.jsonl").read_text() == "years of work"
    assert listed(written) == {"brev.jsonl", "README.md", "vectors.json", "thesis.jsonl", "sub"}
    assert "kept, not written by ptxspec: sub, thesis.jsonl" in call("vectors write", str(written), "-o", "brev").stderr
    assert json.loads((written / "vectors.json").read_text())["files"].keys() == {"brev.jsonl", "README.md"}


def test_results_that_were_filled_in_are_not_overwritten(written: Path) -> None:
    lines = [json.loads(line) for line in (written / "brev.jsonl").read_text().splitlines()]
    lines[0]["results"] = lines[0]["expected"]
    mine = "".join(json.dumps(line) + "\n" for line in lines)
    (written / "brev.jsonl").write_text(mine)
    before = {p.name: p.read_bytes() for p in written.iterdir()}
    for opcodes in (["-o", "brev"], ["-o", "popc"]):
        assert (
            "brev.jsonl was changed since it was written"
            in call("vectors write", str(written), *opcodes, status=2).stderr
        )
        assert {p.name: p.read_bytes() for p in written.iterdir()} == before


def test_a_file_of_somebody_where_one_of_ours_would_be(written: Path) -> None:
    call("vectors write", str(written), "-o", "brev")
    (written / "popc.jsonl").write_text("mine")
    assert (
        "popc.jsonl was not written by this command"
        in call("vectors write", str(written), "-o", "popc", status=2).stderr
    )
    assert (written / "popc.jsonl").read_text() == "mine"


@pytest.mark.parametrize("name", ["brev.jsonl", "clz.jsonl", "README.md", "vectors.json"])
def test_no_link_is_written_through(name: str, written: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (written / name).unlink(missing_ok=True)
    (written / name).symlink_to(victim)
    message = call("vectors write", str(written), "-o", "brev", "-o", "clz", status=2).stderr
    assert "is a link" in message or "holds something else" in message
    assert victim.read_text() == "precious" and (written / name).is_symlink()


def test_a_link_that_is_put_there_meanwhile_is_replaced(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    install = vector_files.install

    def late(*given: object) -> list[str]:
        for name in ("brev.jsonl", "README.md", "vectors.json"):
            (written / name).unlink()
            (written / name).symlink_to(victim)
        return install(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_files, "install", late)
    call("vectors write", str(written), "-o", "brev")
    assert victim.read_text() == "precious" and not any(p.is_symlink() for p in written.iterdir())


def test_a_link_to_a_folder_is_no_folder(written: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(written)
    assert "is a link" in call("vectors write", str(tmp_path / "link"), "-o", "brev", status=2).stderr


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", '{"format": 1}', '{"format": 2, "opcodes": []}', '{"format": 1, "opcodes": ["../x"]}',
     '{"format": 1, "opcodes": [], "files": {"../victim": null}}', '{"format": 1, "opcodes": 7}', "[" * 100_000],
)  # fmt: skip
def test_a_manifest_that_is_none_deletes_nothing(text: str, written: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "x.jsonl").write_text("precious")
    (written / "vectors.json").write_text(text)
    before = listed(written)
    assert "is none that this command wrote" in call("vectors write", str(written), "-o", "brev", status=2).stderr
    assert listed(written) == before and (tmp_path / "victim").exists() and (tmp_path / "x.jsonl").exists()


def test_a_manifest_of_an_earlier_version_is_understood(written: Path) -> None:
    facts = json.loads((written / "vectors.json").read_text())
    del facts["files"]
    (written / "vectors.json").write_text(json.dumps(facts))
    assert asked("vectors write", str(written), "-o", "brev")["left_alone"] == []
    assert listed(written) == {"brev.jsonl", "README.md", "vectors.json"}


def test_a_writing_that_fails_leaves_everything_as_it_was(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = {p.name: p.read_bytes() for p in written.iterdir()}
    monkeypatch.setattr(vector_files, "_write_opcode", fail)
    assert "No space left" in call("vectors write", str(written), "-o", "brev", status=2).stderr
    assert {p.name: p.read_bytes() for p in written.iterdir()} == before
    call("vectors write", str(tmp_path / "new" / "w"), "-o", "brev", status=2)
    assert not (tmp_path / "new" / "w").exists()


def test_hostile_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in (str(tmp_path / "file"), str(tmp_path / "file" / "x"), "/dev/null", "/proc/x", "x" * 300, ""):
        assert asked("vectors write", name, "-o", "brev", status=2)["error"]
    assert vector_folder.own_files(tmp_path / "none") == {}


# export, prove and fuzz ----------------------------------------------------------------------------------------------------

EXPORT = ("export", "-o", "bfe", "--to")
PROVE = ("prove", "neg.s32 d, a;", "not.b32 d, a;")


def test_export_makes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As README calls it."""
    monkeypatch.chdir(tmp_path)
    call("export", "--opcode", "bfe", "--to", "build/bfe.json")
    assert json.loads((tmp_path / "build/bfe.json").read_text())["opcodes"] and listed(tmp_path / "build") == {
        "bfe.json"
    }
    call(*EXPORT, "no/such/x.json", status=2)
    assert listed(tmp_path) == {"build"}


@pytest.mark.parametrize("points_to", ["file", "nothing", "itself"])
@pytest.mark.parametrize("words", [EXPORT, *((*PROVE, option) for option in ("--smtlib", "--ptx", "--certificate"))])
def test_a_link_is_replaced_and_not_followed(words: tuple[str, ...], points_to: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "file").chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to({"file": "file", "nothing": "nowhere", "itself": "link"}[points_to])
    call(*words, str(link), status=0 if words == EXPORT else 1)
    assert (tmp_path / "file").read_text() == "precious" and listed(tmp_path) == {"file", "link"}
    assert link.is_file() and not link.is_symlink() and link.stat().st_size > 100
    assert stat.S_IMODE(link.stat().st_mode) != 0o600


def test_a_device_gets_what_is_written_and_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    call(*EXPORT, os.devnull)
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in asked(*EXPORT, str(tmp_path / "pipe"), status=2)["error"]
    for option in ("--smtlib", "--ptx", "--certificate"):
        assert "cannot be written" in call(*PROVE, option, str(tmp_path / "pipe"), status=2).stderr
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and listed(tmp_path) == {"pipe"}


@pytest.mark.parametrize("option", ["--smtlib", "--ptx", "--certificate"])
def test_a_folder_that_is_missing_is_told_before_the_question_is_asked(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "prove", lambda *_, **__: pytest.fail("it was asked"))
    assert "cannot be written" in call(*PROVE, option, str(tmp_path / "a" / "b"), status=2).stderr
    assert not listed(tmp_path)


def test_a_verdict_is_told_though_its_files_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: each file is tried, the verdict is printed, then what is not written, and the status is no verdict's."""
    own = files.write_whole

    def full(path: Path, data: bytes, permissions: int | None = None) -> None:
        if path.name == "c":
            raise OSError(28, "No space left on device", str(path))
        own(path, data, permissions)

    monkeypatch.setattr(records, "write_whole", full)
    words = (*PROVE, "--certificate", str(tmp_path / "c"), "--smtlib", str(tmp_path / "s"))
    result = call(*words, status=2)
    assert "refuted: " in result.stdout and result.stderr.endswith("c is not written: No space left on device\n")
    assert (tmp_path / "s").stat().st_size > 100
    result = call(*words, "--json", status=2)
    assert json.loads(result.stdout)["status"] == "refuted" and "is not written" in result.stderr
    unsettled = call("prove", "bar.sync 0;", "mov.u32 d, a;", "--certificate", str(tmp_path / "d"), status=2)
    assert "unsupported: " in unsettled.stdout and "settles the question" in unsettled.stderr
