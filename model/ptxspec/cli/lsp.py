"""`ptxspec lsp`: a language server for editors."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

import click

from ptxspec.cli.failures import Failed


@click.command("lsp", short_help="Run a language server for PTX.")
@click.option(
    "--stdio",
    is_flag=True,
    help="Use the standard input and output. This is the default; some editors pass the option.",
)
@click.option(
    "--site",
    default="",
    metavar="URL",
    help="The address of the specification's site: hovers link to its pages instead of the documents on disk.",
)
def command(stdio: bool, site: str) -> int:
    """Run a language server for PTX on the standard input and output. An editor starts it. It needs the extra `lsp`:
    pip install 'ptxspec[lsp]'."""
    try:
        import pygls  # noqa: F401
    except ModuleNotFoundError:
        raise Failed("the language server needs pygls: pip install 'ptxspec[lsp]'") from None
    from ptxspec.editor.messages import Messages, put_message
    from ptxspec.editor.server import Server

    if sys.stdin is None:
        raise Failed("the standard input is closed", "file")
    output = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may stand among the messages
    server = Server(site.rstrip("/") + "/" if site else "")
    messages = Messages(sys.stdin.buffer)
    server.start_io(cast(BinaryIO, messages), output)
    if messages.refused:
        put_message(output, messages.refused)
        raise Failed(messages.refused)
    return 0 if server.ended_rightly else 1
