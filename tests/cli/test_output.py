"""What reaches a terminal, what happens when nobody reads, and how a command is interrupted: in processes of their own."""

from __future__ import annotations

import array
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from validated import ROOT, asked, call, strictly

import ptxspec
from ptxspec.base.escaping import LINES, printable
from ptxspec.cli import shared

SAXPY = str(ROOT / "docs" / "examples" / "saxpy" / "saxpy.ptx")
PTXSPEC = [sys.executable, "-m", "ptxspec.cli"]
#: what would clear a screen, ring, turn text around and rename a window
NASTY = "\x1b[2J\x07\u202e\x9b1m\r\x00\x7f\x1b]0;x\x07"


def clean(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


def start(*words: str | bytes, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PTXSPEC, *words], capture_output=True, timeout=120, **more)  # type: ignore[call-overload,no-any-return]


# Control characters ----------------------------------------------------------------------------------------------------


def test_printable() -> None:
    assert printable("a\tb\nc é 漢 ∞", LINES) == "a\tb\nc é 漢 ∞" and printable("a\nb") == "a\\x0ab"
    assert printable(NASTY) == "\\x1b[2J\\x07\\u202e\\x9b1m\\x0d\\x00\\x7f\\x1b]0;x\\x07"
    assert printable("\udcff\ud800\U000e0001") == "\\xff\\ud800\\U000e0001"
    assert printable(printable(NASTY)) == printable(NASTY)
    assert all(clean(printable(chr(c))) for c in range(0x3000))


def test_control_characters_of_a_source_are_shown_escaped(tmp_path: Path) -> None:
    file = tmp_path / f"k{NASTY.replace(chr(0), '')}.ptx"
    for text in (
        f".version 8.0 .target sm_80 .entry k() {{ {NASTY} }}",
        f'.version 8.0 .target sm_80 .entry k() {{ foo "{NASTY}"; }}',
    ):
        file.write_text(text)
        for words in (["check"], ["run"], ["format"]):
            result = call(*words, str(file), status=1)
            assert clean(result.stderr) and "\\x1b[2J" in result.stderr and clean(result.stdout)
            assert asked(*words, str(file), status=1)["diagnostics"]


def test_control_characters_of_arguments_are_shown_escaped() -> None:
    for words in (["eval", NASTY], ["eval", f"frob.{NASTY} d;"], ["prove", NASTY, NASTY], ["forms", NASTY], ["forms", f"add{NASTY}"],
                  ["run", SAXPY, "-k", NASTY], ["run", SAXPY, "-a", NASTY], ["run", SAXPY, "-a", f"f32[1]={NASTY}"], [NASTY],
                  ["run", f"--{NASTY}"], ["vectors", "check", "--recorded", "-o", NASTY], ["eval", "neg.s32 d, a;", f"{NASTY}=1"],
                  ["eval", "neg.s32 d, a;", f"a={NASTY}"], ["prove", "mov.u32 d,a", "mov.u32 d,a", "-a", NASTY]):  # fmt: skip
        from click.testing import CliRunner

        from ptxspec.cli import main

        result = CliRunner().invoke(main, words)
        assert isinstance(result.exception, SystemExit) and result.exit_code in (1, 2), (words, result.exc_info)
        assert clean(result.stderr) and clean(result.stdout) and result.stderr, words


def test_what_threads_print_is_escaped_as_text_and_whole_as_json(tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    line = "a\t\x1b[2J\u202e\r\n".encode() + b"\xff\x00"
    file.write_text(
        ".version 8.0 .target sm_80 .address_size 64 .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"
        f".global .align 1 .b8 line[{len(line)}] = {{{', '.join(map(str, line))}}};"
        ".entry k() { .reg .b64 %f; .reg .b32 %r; mov.u64 %f, line; cvta.global.u64 %f, %f; call (%r), vprintf, (%f, 0); ret; }"
    )
    assert call("run", str(file)).stdout.startswith("a\t\\x1b[2J\\u202e\\x0d\n")
    assert asked("run", str(file))["printed"].startswith("a\t\x1b[2J\u202e\r\n")


def test_python_prints_them_escaped_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ptxspec.load(
        ".version 8.0 .target sm_80 .address_size 64 .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"
        ".global .align 1 .b8 line[3] = {27, 10, 0};"
        ".entry k() { .reg .b64 %f; .reg .b32 %r; mov.u64 %f, line; cvta.global.u64 %f, %f; call (%r), vprintf, (%f, 0); ret; }"
    )
    module.launch("k", engine="exact")
    assert capsys.readouterr().out == "\x1b\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    module.launch("k", engine="exact")
    assert capsys.readouterr().out == "\\x1b\n"


def test_tables_are_for_terminals_and_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.table(("x",), [["a\x1b"]], ["plain \x1b"])
    assert capsys.readouterr().out == "plain \\x1b\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shared.table(("x",), [["a\x1b[2J [red]"]], ["plain"])
    out = capsys.readouterr().out
    assert "a\\x1b[2J [red]" in out and "plain" not in out and "\x1b[2J" not in out


# Streams ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_pipe_that_is_closed_early_is_no_error_message() -> None:
    for words in (["forms"], ["forms", "cvt"], ["--help"], ["forms", "--json"], ["check", SAXPY]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([*PTXSPEC, *words], stdout=writing, stderr=subprocess.PIPE, timeout=120)
        os.close(writing)
        assert done.returncode == 141 and done.stderr == b"", (words, done.stderr)


def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PTXSPEC, "forms", "bfe"], stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert (
        done.returncode == 2
        and b"cannot write the output: No space left" in done.stderr
        and b"Traceback" not in done.stderr
    )


def test_closed_streams() -> None:
    """As `ptxspec forms bfe >&-` has them."""
    for closed, words in (
        (">&-", "forms bfe"),
        (">&-", "forms bfe --json"),
        ("<&-", "check -"),
        ("<&-", "check - --json"),
    ):
        done = subprocess.run(
            ["sh", "-c", f'"$0" -m ptxspec.cli {words} {closed}', sys.executable], capture_output=True, timeout=120
        )
        assert done.returncode == 2 and b"is closed" in done.stderr + done.stdout, (closed, words, done)
        assert b"Traceback" not in done.stderr
    done = subprocess.run(
        ["sh", "-c", '"$0" -m ptxspec.cli forms frob 2>&-', sys.executable], capture_output=True, timeout=120
    )
    assert done.returncode == 1


def test_an_encoding_that_has_not_every_character() -> None:
    for more in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        done = start("eval", "add.u32 d, a, b", "a=1", "b=é", env={**os.environ, **more})
        assert done.returncode == 2 and b"is no number" in done.stderr and b"Traceback" not in done.stderr
        assert start("eval", "add.u32 d, a, b", "a=1", "b=1", env={**os.environ, **more}).returncode == 0


@pytest.mark.slow
def test_bytes_that_are_no_utf8_as_arguments(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe.ptx"
    Path(os.fsdecode(name)).write_text(Path(SAXPY).read_text())
    done = start("check", name)
    assert done.returncode == 0 and b"\\xff\\xfe.ptx: no errors" in done.stdout
    for words in (
        [b"eval", b"\xff"],
        [b"forms", b"\xff\xfe"],
        [b"check", b"\xff"],
        [b"\xff"],
        [b"run", name, b"-a", b"u32=\xff"],
    ):
        done = start(*words)
        assert done.returncode in (1, 2) and b"Traceback" not in done.stderr and b"\xff" not in done.stderr
        assert done.stderr, words
        done = start(*words, "--json")
        assert strictly(done.stdout.decode())["error"]


#: the command with the handler that a shell leaves it in the foreground; in the background the signal is ignored
LISTENING = [
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); print('.', file=sys.stderr, flush=True); "
    "from ptxspec.cli import main; main()",
]


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """How long a process has been running on a processor, as Linux tells."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(words: list[str], text: bytes, works: float) -> tuple[int, bytes, bytes]:
    """(status, output, errors) of a command that is interrupted once it has read a text: while it waits for more, or if it
    `works`, after so many seconds of that. However busy the machine is, it is there by then."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*LISTENING, *words], **pipes) as process:  # type: ignore[call-overload]
        assert process.stderr.readline() == b".\n"
        process.stdin.write(text)
        process.stdin.flush()
        unread = array.array("i", [1])
        while unread[0] and process.poll() is None:
            fcntl.ioctl(process.stdin, termios.FIONREAD, unread)
            time.sleep(0.01)
        if works:
            process.stdin.close()
            process.stdin, begun = None, processor_seconds(process)
            while process.poll() is None and processor_seconds(process) < begun + works:
                time.sleep(0.05)
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(5)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            process.kill()
        out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.parametrize("words", [["check", "-"], ["check", "-", "--json"]])
def test_an_interrupt_is_told_in_a_line(words: list[str]) -> None:
    """While it waits for its input."""
    status, out, err = interrupted(words, b"// ", 0)
    assert status == 130 and b"Traceback" not in err, err
    assert strictly(out.decode())["kind"] == "interrupted" if "--json" in words else err == b"interrupted\n"


def test_an_interrupt_of_a_launch() -> None:
    text = b".version 8.0 .target sm_80 .entry k() { a: bra a; }"
    status, out, err = interrupted(["run", "-", "--step-limit", str(10**15)], text, 0.5)
    assert status == 130 and b"Traceback" not in err and err.strip().endswith(b"interrupted"), (out, err)


# Files -----------------------------------------------------------------------------------------------------------------


def test_files_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "empty.ptx").write_bytes(b"")
    (tmp_path / "loop.ptx").symlink_to("loop.ptx")
    for command in ("check", "format", "run"):
        assert asked(command, str(tmp_path / "empty.ptx"), status=1)["diagnostics"]
        for name in (str(tmp_path), str(tmp_path / "loop.ptx"), str(tmp_path / "no"), "/dev/null/x", "x" * 300, ""):
            assert asked(command, name, status=2)["error"]
    assert "can be read once only" in call("check", "-", "-", status=2).stderr


def test_a_file_without_an_end_is_not_read_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LARGEST_SOURCE", 1 << 20)
    for command in ("check", "format", "run"):
        assert asked(command, "/dev/zero", status=2)["error"] == "/dev/zero: a source has at most 1 MiB"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "k.ptx")

    (tmp_path / "k.ptx").write_text("")
    monkeypatch.setattr(shared, "open", refuse, raising=False)
    assert asked("check", str(tmp_path / "k.ptx"), status=2) == {
        "error": f"{tmp_path / 'k.ptx'}: Permission denied", "kind": "file", "status": 2,
    }  # fmt: skip
