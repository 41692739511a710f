"""`ptxspec litmus`: what litmus tests may do by the memory model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ptxspec.cli.failures import ANSWER_IS_NO, DONE, FAILED, Failed, known, user_errors
from ptxspec.cli.shared import JSON_OPTION, once, put_json, read_text, say, table

PATHS = click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
#: what the names of tests in a folder end with
ENDING = ".litmus"


@click.command("litmus", short_help="Decide litmus tests by the memory model.")
@PATHS
@click.option("--model", default="9.1", show_default=True, help="The edition of the manual: 6.0, 7.5, 9.1 and so on.")
@click.option("--loops", default=2, show_default=True, help="How often a loop is taken at most.")
@click.option("--by", type=click.Choice(["enumeration", "solver"]), default="enumeration", show_default=True,
              help="How it is decided: execution by execution, or all at once.")  # fmt: skip
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for each test.")
@click.option(
    "--svg", type=click.Path(dir_okay=False, writable=True), help="Draw the execution with the outcome to a file."
)
@JSON_OPTION
def command(
    files: tuple[str, ...], model: str, loops: int, by: str, timeout: float, svg: str | None, as_json: bool
) -> int:
    """Decide litmus tests ("-": standard input; of a folder all files that end with .litmus): whether the outcome that a test
    asks about is allowed, with an execution that has it, or forbidden, with the axiom that is broken and why.

    Exit status 0 if the conditions of all tests hold as they are stated, 1 if one of them does not, or one of several tests
    cannot be decided, 2 if the only one cannot.
    """
    if not 0 < timeout <= 1e6:
        raise Failed(f"--timeout: between 0 and a million seconds, not {timeout}")
    tests = _tests(files)
    if svg is not None and len(tests) != 1:
        raise Failed("--svg draws one test")
    if len(tests) == 1:
        with user_errors(status=FAILED):
            verdict = _decided(tests[0], model, loops, by, timeout)
        if svg is not None:
            _draw(verdict, svg)
        if as_json:
            put_json({"file": tests[0], **verdict.as_dict()})
        else:
            _show(verdict)
        return _status([verdict.holds])
    reports = [_report(test, model, loops, by, timeout) for test in tests]
    if as_json:
        put_json({"tests": reports})
    else:
        rows = [[r["file"], r.get("status", "error"), _word(r), _reason(r)] for r in reports]
        table(["test", "outcome", "condition", "why"], rows, ["\t".join(row) for row in rows])
    return _status([bool(r.get("holds")) for r in reports])


def _tests(files: Sequence[str]) -> list[str]:
    tests: list[str] = []
    for file in once(files):
        if file != "-" and os.path.isdir(file):
            inside = [os.path.join(file, name) for name in os.listdir(file) if name.endswith(ENDING)]
            if not inside:
                raise Failed(f"{file}: no file in it ends with {ENDING}", "file")
            tests += sorted(inside)
        else:
            tests.append(file)
    return tests


def _decided(file: str, model: str, loops: int, by: Any, timeout: float) -> Any:
    import ptxspec

    return ptxspec.litmus(read_text(file), model, path=file, loops=loops, by=by, timeout=timeout)


def _report(file: str, model: str, loops: int, by: str, timeout: float) -> dict[str, Any]:
    """The verdict on one of several tests, or why there is none."""
    try:
        with user_errors():
            return {"file": file, **_decided(file, model, loops, by, timeout).as_dict()}
    except Exception as error:
        failure = known(error)
        if failure is None:
            raise
        return {"file": file, "error": failure.message}


def _status(holds: Sequence[bool | None]) -> int:
    return FAILED if None in holds else DONE if all(holds) else ANSWER_IS_NO


def _word(report: dict[str, Any]) -> str:
    return {True: "holds", False: "does not hold", None: "is not decided"}[report.get("holds")]


def _reason(report: dict[str, Any]) -> str:
    return str(report["error"]) if "error" in report else ", ".join(reason["axiom"] for reason in report["reasons"])


def _show(verdict: Any) -> None:
    holds = {True: "holds", False: "does not hold", None: "is not decided"}[verdict.holds]
    colour = {True: "green", False: "red", None: "yellow"}[verdict.holds]
    say(
        f"{verdict.name}: {verdict.status} in PTX {verdict.model}; the {verdict.quantifier} condition {holds}",
        fg=colour,
    )
    if verdict.witness is not None:
        _show_witness(verdict.witness)
    if verdict.liveness is not None:
        _show_liveness(verdict.liveness)
    for reason in verdict.reasons:
        count = f"{reason.executions:,} execution{'s' if reason.executions > 1 else ''}"
        say(f"\n{reason.axiom} is broken by {count}, one of them because")
        for step in reason.steps:
            say(f"  {step}")
    for note in verdict.notes:
        say(f"note: {note}", fg="yellow")


def _show_liveness(liveness: Any) -> None:
    turns = f"in {liveness.loops} turns of each loop"
    if liveness.status == "live":
        say(f"live: no thread spins forever, as far as that is seen {turns}")
    elif liveness.status == "unknown":
        say("whether a thread may spin forever was not decided in time", fg="yellow")
    else:
        who = " and ".join(liveness.threads)
        say(f"{who} may spin forever: the last turn of the loop is repeated in", fg="red")
        _show_witness(liveness.witness)


def _show_witness(witness: Any) -> None:
    say("")
    width = max((len(o.text) for o in witness.operations), default=0)
    for operation in witness.operations:
        values = (
            [] if operation.reads is None else [f"reads {operation.reads} from {witness.reads_from[operation.name]}"]
        )
        values += [] if operation.writes is None else [f"writes {operation.writes}"]
        say(f"  {operation.name}  {operation.text:{width}}  {', '.join(values)}".rstrip())
    if witness.final:
        say("in the end " + ", ".join(f"{name} = {value}" for name, value in witness.final.items()))


def _draw(verdict: Any, svg: str) -> None:
    if verdict.witness is None:
        raise Failed(f"{verdict.name}: no execution has the outcome, so that there is none to draw", "usage")
    from ptxspec.base.files import write_whole

    write_whole(Path(svg), verdict.witness.svg().encode())
