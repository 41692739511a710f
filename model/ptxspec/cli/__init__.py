"""The command `ptxspec`. Each of its commands has a file of its own here and takes --json."""

from __future__ import annotations

import click

from ptxspec.cli import check, eval, format, forms, ledger, prove, run, vectors


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ptxspec")
def main() -> None:
    """An executable specification of NVIDIA's PTX instruction set."""


for _module in (run, check, format, eval, prove, forms, vectors, ledger):
    main.add_command(_module.command)
