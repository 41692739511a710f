"""The command `ptxspec`. Each of its commands has a file of its own here, or in a package that adds it, and takes --json.

A command is imported when it is called, or help is asked for, and what a question needs when it is asked.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from ptxspec.cli import added
from ptxspec.cli.failures import DONE, FAILED, NOBODY_READS, Failed, known, unexpected
from ptxspec.cli.shared import put_json, say

NAME = "ptxspec"
#: the commands here, each in the module of its name
COMMANDS = (
    "check", "eval", "explain", "find", "format", "forms", "ledger", "litmus", "lsp", "page", "prove", "run", "synthesize",
    "vectors",
)  # fmt: skip
# Python looks for cycles at its end, in all that there is: that would take a tenth of the time of a short command
atexit.register(gc.freeze)


class Commands(click.Group):
    """The group of all commands. However one of them ends, there is a message and an exit status, and no traceback."""

    def __init__(self, *args: Any, names: Sequence[str] = (), **more: Any):
        """`names` are those of modules beside this one, each with a command of its name, which is imported when it is asked
        for."""
        super().__init__(*args, **more)
        self._names = names

    # click declares two overloads, for standalone_mode or not, and this is both
    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **more: Any) -> Any:  # type: ignore[override]
        if not more.pop("standalone_mode", True) or "_PTXSPEC_COMPLETE" in os.environ:
            return super().main(args, prog_name or NAME, standalone_mode=False, **more)
        words = list(sys.argv[1:] if args is None else args)
        with warnings.catch_warnings():
            warnings.showwarning = _shown
            sys.exit(status_of(lambda: self._called(words, **more), words))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands; they are commands of this group from then on."""
        for name in (*self._names, *added.commands()):
            self.get_command(ctx, name)
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name: one of these, or one that another package adds."""
        if cmd_name in self._names:
            self._import(cmd_name)
        elif cmd_name not in self.commands and cmd_name in added.commands():
            self.add_command(added.commands()[cmd_name].load(), cmd_name)
        elif cmd_name not in self.commands:  # one of these may be meant
            for name in self._names:
                self._import(name)
        return super().get_command(ctx, cmd_name)

    def _import(self, name: str) -> None:
        if name not in self.commands:
            self.add_command(import_module(f"{__name__}.{name}").command)

    def _called(self, words: list[str], **more: Any) -> Any:
        """What a command returns: its exit status, or None."""
        try:
            with self.make_context(NAME, list(words), **more) as context:
                return self.invoke(context)
        except click.exceptions.Exit as ended:
            return ended.exit_code


def _shown(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """A warning: in one line where it is one of ours."""
    if category.__module__.startswith(NAME):
        say(f"{NAME}: {message}", err=True, fg="yellow")
    else:
        _plainly(message, category, filename, lineno, file, line)


_plainly = warnings.showwarning


def status_of(call: Callable[[], Any], words: list[str]) -> int:
    """The exit status of a command, whose output has been written."""
    if sys.stdout is None:
        say("the standard output is closed", err=True)
        return FAILED
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the encoding has not is escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            status = _outcome(call, words)
        except KeyboardInterrupt as error:  # while a failure was told
            status = _tell(error, words)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _drop_output()
        return NOBODY_READS
    except (Failed, OSError) as error:  # the failure could not be told either
        message = error.message if isinstance(error, Failed) else f"cannot write the output: {error.strerror or error}"
        with suppress(Failed, OSError):
            say(message, err=True)
        _drop_output()
        return FAILED


def _outcome(call: Callable[[], Any], words: list[str]) -> int:
    try:
        status = call()
        return status if type(status) is int else DONE
    except SystemExit as ended:
        return ended.code if type(ended.code) is int else DONE if ended.code is None else FAILED
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        return _tell(error, words)


def _tell(error: BaseException, words: list[str]) -> int:
    """Say what went wrong. Where JSON is asked for, that is what is said on the standard output."""
    failed = known(error) or unexpected(error)
    if "--json" in (words[: words.index("--")] if "--" in words else words):
        put_json(failed.as_dict())
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message(), err=True)
    else:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            say(f"{error.ctx.get_usage()}\nsee {error.ctx.command_path} --help", err=True)
        prefix = "" if failed.kind == "interrupted" else "error: "
        say(f"{prefix}{failed.message}", err=True, fg="red")
    return failed.status


def _drop_output() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain of it at its end."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass


@click.group(cls=Commands, names=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ptxspec")
def main() -> None:
    """An executable specification of NVIDIA's PTX instruction set."""
