"""No command line ends in a traceback: every command with hostile arguments, in this process and in processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from command_lines import COMMANDS, faults, prepared, tried, words_of

#: command lines of each command in the default run, and in the long one
SHORT, LONG = 60, 10_000
#: and of those, how many in a process of their own
SHORT_ALONE, LONG_ALONE = 1, 60
EVERY = [*COMMANDS, ""]


def sweep(command: str, seeds: range, folder: Path) -> None:
    found = []
    for seed in seeds:
        here = folder / str(seed)
        here.mkdir()
        found += [(seed, fault, words_of(command, seed)[0]) for fault in tried(command, seed, here)]
        shutil.rmtree(here)
        if len(found) > 20:
            break
    assert not found, "\n".join(f"{command} {seed}: {fault}: {words}"[:1000] for seed, fault, words in found)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("command", EVERY)
@pytest.mark.slow
def test_no_command_line_ends_in_a_traceback(command: str, tmp_path: Path) -> None:
    sweep(command, range(SHORT), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("command", EVERY)
def test_no_command_line_of_very_many_ends_in_a_traceback(command: str, tmp_path: Path) -> None:
    sweep(command, range(SHORT, LONG), tmp_path)


def alone(command: str, seeds: range, folder: Path) -> None:
    """In a process of its own, with the limits as they are."""
    for seed in seeds:
        words, as_json = words_of(command, seed)
        if any(w in words for w in ("--recorded", "--update", "/dev/zero", "/dev/full")) or command == "vectors write":
            continue  # minutes
        here = folder / str(seed)
        here.mkdir()
        with prepared(here):
            pass
        call = [sys.executable, "-m", "ptxspec.cli", *map(os.fsencode, words)]
        done = subprocess.run(call, cwd=here, capture_output=True, input=b"", timeout=300)  # type: ignore[list-item]
        out, err = done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="surrogateescape")
        assert faults(command, as_json, done.returncode, out, err) == [], (
            command,
            seed,
            words,
            out[-2000:],
            err[-2000:],
        )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("command", EVERY)
def test_no_process_ends_in_a_traceback(command: str, tmp_path: Path) -> None:
    alone(command, range(SHORT_ALONE), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("command", EVERY)
def test_no_process_of_many_ends_in_a_traceback(command: str, tmp_path: Path) -> None:
    alone(command, range(SHORT_ALONE, LONG_ALONE), tmp_path)


def test_a_fault_is_found() -> None:
    """What the judge is there for."""
    good = '{"error": "x", "kind": "usage", "status": 2}'
    assert faults("eval", True, 2, good, "") == []
    assert faults("eval", True, 1, good, "") == ["status 1, and 2 is told"]
    assert faults("eval", True, 70, good.replace("2}", "70}"), "") == ["status 70"]
    assert faults("eval", True, 2, '{"error": NaN}', "")[0].startswith("JSON")
    assert faults("eval", True, 2, "", "")[0].startswith("JSON")
    assert "a traceback" in faults("eval", False, 1, "", "Traceback (most recent call last):\n")
    assert faults("eval", False, 2, "", "\x1b[2J") == ["'\\x1b' on the standard error"]
    assert faults("eval", False, 2, "", "") == ["a failure without a word"]


@pytest.mark.slow
def test_the_cases_reach_into_the_commands(tmp_path: Path) -> None:
    """Some do what they were asked, some are refused in each way."""
    from command_lines import called

    seen: dict[str, set[int]] = {}
    for command in COMMANDS:
        for seed in range(400):
            if seed >= 40 and {0, 2} <= seen[command]:
                break
            here = tmp_path / f"{command} {seed}"
            here.mkdir()
            with prepared(here):
                seen.setdefault(command, set()).add(called(words_of(command, seed)[0]).exit_code)
    assert all({0, 2} <= seen[c] for c in COMMANDS), seen
    assert all(1 in seen[c] for c in ("check", "format", "run", "eval", "prove", "forms", "vectors check", "ledger")), (
        seen
    )
