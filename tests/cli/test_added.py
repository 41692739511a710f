"""Commands, and parts of them, that other packages add: they are looked up when they are asked for, and not before."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import click
import pytest
from click.testing import CliRunner

from ptxspec.cli import Commands, added, check, main
from ptxspec.cli.failures import Failed


@click.command("greet", help="Say hello.")
def greet() -> None:
    click.echo("hello")


def sum_of(values: list[int]) -> int:
    return sum(values)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """A group with one command of its own, to which a package adds another, and a part of one."""
    places = {"greet": f"{__name__}:greet", "check.sum": f"{__name__}:sum_of", "check": f"{__name__}:greet"}
    points = {name: EntryPoint(name, place, added.GROUP) for name, place in places.items()}
    monkeypatch.setattr(added, "_points", lambda: points)
    return Commands("ptxspec", commands={"check": check.command})


def test_a_command_that_is_added_is_one_of_the_group(group: Commands) -> None:
    assert CliRunner().invoke(group, ["greet"]).output == "hello\n"
    shown = CliRunner().invoke(group, ["--help"]).output
    assert "greet  Say hello." in shown and "check.sum" not in shown and sorted(group.commands) == ["check", "greet"]


def test_none_takes_the_place_of_a_command_that_is_here(group: Commands) -> None:
    assert "Usage: ptxspec check" in CliRunner().invoke(group, ["check", "--help"]).output
    assert group.list_commands(click.Context(group)) == ["check", "greet"]
    assert group.commands["check"] is check.command


def test_a_command_is_imported_when_it_is_called() -> None:
    code = (
        "import sys; from ptxspec.cli import main; main(['format', '--help'], standalone_mode=False); "
        "print(*sorted(m for m in sys.modules if m.startswith('ptxspec.cli.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    imported = run.stdout.splitlines()[-1].split()
    assert "ptxspec.cli.format" in imported and not {"ptxspec.cli.run", "ptxspec.cli.prove"} & set(imported)
    unknown = subprocess.run([sys.executable, "-m", "ptxspec", "chekc"], capture_output=True, text=True)
    assert "Did you mean 'check'?" in unknown.stderr


def test_a_part_of_a_command(group: Commands) -> None:
    assert added.part("check.sum")([3, 4]) == 7
    with pytest.raises(Failed, match=r"the entry point ledger\.update of the group ptxspec\.commands"):
        added.part("ledger.update")


def test_commands_that_are_here_do_not_look_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(added, "_points", lambda: asked.append("") or {})
    assert CliRunner().invoke(main, ["eval", "add.u32 d, a, b;", "a=1", "b=2"]).exit_code == 0 and not asked
    assert CliRunner().invoke(main, ["nothing"]).exit_code == 2 and asked


def test_what_this_distribution_adds() -> None:
    added._points.cache_clear()
    assert added.commands().keys() == {"export", "fuzz"} <= set(main.list_commands(click.Context(main)))
    assert all(callable(added.part(name)) for name in ("ledger.update", "vectors.recorded"))
