"""`ptxspec prove`: ask whether two fragments compute the same results."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ptxspec.cli.failures import ANSWER_IS_NO, DONE, FAILED, Failed, user_errors
from ptxspec.cli.shared import JSON_OPTION, put_json, read_text, say
from ptxspec.cli.sides import buffers_of, text_of

OUT = click.Path(dir_okay=False)


@click.command("prove", short_help="Prove that two sides compute the same, or refute it.")
@click.argument("left", required=False)
@click.argument("right", required=False)
@click.option("--assume", "-a", help="A condition on the inputs, such as 'a != 0 and b < 32'.")
@click.option("--refines", is_flag=True, help="Ask whether LEFT allows every behaviour of RIGHT.")
@click.option(
    "--profile",
    default="portable",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open; portable,hopper names one for each side.",
)
@click.option(
    "--contract",
    type=click.Choice(["none", "all", "any"]),
    help="Which products and sums without rounding modifiers are contracted to fused multiply-adds: any stands for every choice "
    "of an assembler. Default: none, and with --refines any.",
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    help="Seconds for the solver, and as many for running every input if the solver gives up.",
)
@click.option("--unroll", default=16, show_default=True, help="The most iterations of a loop that are followed.")
@click.option(
    "--invariant", help="A condition that holds at the start of each iteration of the only loop, such as 's == 3*i'."
)
@click.option(
    "--buffer",
    "-b",
    "buffers",
    multiple=True,
    metavar="NAME=BYTES",
    help="The buffer that a register or a parameter points to: its size, as in p=64, p='64 shared align 8' or p='64 read-only', "
    "and 'private' if no other thread accesses it, as in p='64 private'; or an address in another buffer, as in q=p+16.",
)
@click.option(
    "--compare",
    multiple=True,
    metavar="NAME",
    help="Compare this register, or the bytes of this buffer; '*' stands for all that both sides write. By default registers "
    "whose last value a later instruction of each side reads are not compared.",
)
@click.option(
    "--nan",
    type=click.Choice(["any", "payloads"]),
    default="any",
    show_default=True,
    help="Whether a NaN whose bits PTX leaves open equals any other such NaN, or its bits are compared.",
)
@click.option(
    "--context",
    type=click.Choice(["any", "alone"]),
    help="Beside which other threads the claim is meant: any, or none. Default: any if a side orders memory for other threads, "
    "else alone.",
)
@click.option("--alone", is_flag=True, help="The same as --context alone.")
@click.option("--warp", is_flag=True, help="Execute both sides by the 32 lanes of a warp.")
@click.option(
    "--solver",
    type=click.Choice(["z3", "bitwuzla", "portfolio"]),
    default="z3",
    show_default=True,
    help="The solver; portfolio runs both in parallel.",
)
@click.option("--smtlib", type=OUT, help="Write the query to this file in SMT-LIB 2.")
@click.option("--ptx", type=OUT, help="Write a kernel that shows the counterexample to this file.")
@click.option(
    "--certificate", type=OUT, help="Write a certificate to this file: what --check needs to check the verdict again."
)
@click.option(
    "--check",
    "checked",
    type=click.Path(dir_okay=False),
    help="Check the certificate in this file again; takes no fragments.",
)
@JSON_OPTION
def command(left: str | None, right: str | None, checked: str | None, as_json: bool, **options: Any) -> int:
    """Ask whether two fragments, functions or kernels compute the same results for all inputs; or, with --refines, whether LEFT
    allows every behaviour of RIGHT: ptxspec prove "shl.b32 d, a, 1;" "add.u32 d, a, a;"

    A side is PTX text, @FILE, or the path of a .ptx file.

    Exit status 0 if proved, or if every input was run and the sides agree; 1 if refuted; 3 if no input meets the assumption;
    2 otherwise. With --check, 0 if the certificate holds, 1 if it does not.
    """
    options["relation"] = "refines" if options.pop("refines") else "equal"
    options["profile"] = _profiles(options["profile"])
    options["buffers"] = buffers_of(options["buffers"])
    options["compare"] = options["compare"] or None
    if options.pop("alone"):
        if options["context"] == "any":
            raise Failed("--alone and --context any: a thread is beside others or it is not", "usage")
        options["context"] = "alone"
    timeout = options["timeout"]
    if not (math.isfinite(timeout) and 0 < timeout <= 1e6):
        raise Failed(f"--timeout: between 0 and a million seconds, not {timeout}")
    if checked is not None:
        if left is not None:
            raise Failed("--check takes a certificate, which has the fragments")
        return _check(checked, as_json)
    if left is None or right is None:
        raise Failed("two fragments are needed, or --check with a certificate")
    with user_errors(status=FAILED), _progress(as_json) as progress:
        import ptxspec
        from ptxspec.query.records import NotWritten

        lost: NotWritten | None = None
        try:
            verdict = ptxspec.prove(text_of(left), text_of(right), progress=progress, **options)
        except NotWritten as why:
            lost, verdict = why, why.verdict
    if as_json:
        put_json(_as_dict(verdict))
    else:
        _show(verdict)
    if lost is not None:
        say(str(lost), err=True, fg="red")
        return FAILED
    if options["ptx"] is not None and verdict.counterexample is None:
        say(f"{options['ptx']} is not written: there is no counterexample to show", err=True)
    return int(verdict.exit_status)


def _profiles(text: str) -> str | tuple[str, str]:
    """One profile for both sides, or one for each."""
    left, comma, right = text.partition(",")
    return (left, right) if comma else left


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What shows how many inputs were run, on a terminal alone."""
    if as_json or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    shown: list[Any] = []

    def update(run: int, total: int) -> None:
        if not shown:  # the bar begins with the first input: most questions are settled before
            from rich.console import Console
            from rich.progress import Progress

            bar = Progress(transient=True, console=Console(stderr=True))
            bar.start()
            shown.extend((bar, bar.add_task("inputs", total=total)))
        shown[0].update(shown[1], completed=run)

    try:
        yield update
    finally:
        if shown:
            shown[0].stop()


def _check(path: str, as_json: bool) -> int:
    """Check a certificate again."""
    with user_errors(status=FAILED):
        text = read_text(path)
        from ptxspec.base import strict
        from ptxspec.query import records

        try:
            made = strict.loaded(text)
        except ValueError as why:
            raise Failed(f"{path}: no certificate: {why}") from None
        try:
            result = records.check(made)
        except ValueError as why:
            raise Failed(f"{path}: {why}") from None
    if as_json:
        put_json(result._asdict())
    else:
        say(f"{'holds' if result.holds else 'does not hold'}: {result.said}", fg="green" if result.holds else "red")
        for line in result.statement:
            say(f"  {line}")
        for note in result.notes:
            say(f"  {note}")
    return DONE if result.holds else ANSWER_IS_NO


def _as_dict(verdict: Any) -> dict[str, Any]:
    shown: dict[str, Any] = verdict.as_dict()
    if verdict.counterexample is not None:
        shown["counterexample"]["why"] = verdict.counterexample.why().as_dict()
    return shown


def _show(verdict: Any) -> None:
    from ptxspec.cli import counterexamples
    from ptxspec.query.statement import MOST

    colour = {"proved": "green", "exhausted": "green", "refuted": "red"}.get(verdict.status, "yellow")
    say(f"{verdict.status}: {verdict.reason} ({verdict.seconds:.2f} s)", fg=colour)
    for line in verdict.statement.words(MOST) if verdict.statement is not None else ():
        say(f"  {line}")
    if verdict.witness is not None:
        _show_witness(verdict.witness)
    if verdict.counterexample is not None:
        counterexamples.show(verdict.counterexample, verdict.counterexample.why())


def _show_witness(witness: Any) -> None:
    """The programs that tell the sides apart, and what each may do."""
    for side, text in (("left", witness.left), ("right", witness.right)):
        forbidden = f"forbidden by {' and '.join(witness.axioms)}" if witness.axioms else "that of no execution"
        allows = "allowed" if side == witness.allowed_by else forbidden
        say(f"with the {side} side the outcome is {allows}:")
        for line in text.strip().splitlines():
            say(f"  {line}")
