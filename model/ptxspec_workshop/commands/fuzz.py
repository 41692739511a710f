"""`ptxspec fuzz`: random programs for an assembler, an emulator or our native engine."""

from __future__ import annotations

import itertools
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ptxspec.base.campaign_options import where_options
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.cli.failures import FAILED, Failed, user_errors
from ptxspec.cli.shared import JSON_OPTION, put_json, say

#: cases without --count and without --seconds
COUNT = 100
NOTHING_RAN = "NOTHING WAS EXECUTED: only whether the assembler accepts programs was judged, not what its code computes"


@click.command("fuzz", short_help="Test an assembler or an emulator with random programs.")
@click.option(
    "--ptxas",
    is_flag=False,
    flag_value="",
    help="Test an assembler: the ptxas at this path, or without a path the installed one.",
)
@click.option("--levels", default="0,3", show_default=True, help="The optimization levels for --ptxas, 0 to 3.")
@click.option(
    "--library", type=click.Path(exists=True, dir_okay=False), help="Test a shared library that exports ptx_run."
)
@click.option("--engine", is_flag=True, help="Test the native engine of ptxspec against the exact one.")
@click.option("--seed", default=0, show_default=True, help="The first seed.")
@click.option("--count", type=click.IntRange(1), help="The number of seeds. Default: 100, and with --seconds no limit.")
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), help="Start no further program after this many seconds."
)
@click.option(
    "--limit",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds for one answer of the target.",
)
@click.option(
    "--patience", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds to reduce a failing program."
)
@click.option("--report", type=click.Path(file_okay=False, path_type=Path), help="Write each finding to this folder.")
@click.option(
    "--journal", type=click.Path(dir_okay=False, path_type=Path), help="Keep outcomes in this file, and resume from it."
)
@click.option(
    "--again",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Test the finding in this folder again.",
)
@where_options
@JSON_OPTION
def command(
    ptxas: str | None,
    levels: str,
    library: str | None,
    engine: bool,
    seed: int,
    count: int | None,
    seconds: float | None,
    limit: float,
    patience: float,
    report: Path | None,
    journal: Path | None,
    again: Path | None,
    where: WorkerOptions,
    as_json: bool,
) -> int:
    """Run random programs through an assembler or an emulator, and check the results against the definitions:
    ptxspec fuzz --ptxas --count 100 --report findings

    A finding is a program whose result PTX does not allow, or that the target rejects, crashes on or does not finish. Name one
    target: --ptxas, --library or --engine.

    Exit status 0 if nothing is found, 1 if something is, 2 if the target could not be tested.
    """
    if sum((ptxas is not None, library is not None, engine)) != 1:
        raise Failed("name one target: --ptxas, --library or --engine")
    from ptxspec.base import campaigns
    from ptxspec_workshop.fuzz import judging

    with user_errors(status=FAILED):
        try:
            target, facts = _target(ptxas, levels, library, where)
            if again is not None:
                return _again(again, target, limit, as_json)
            kept = None if journal is None else campaigns.Journal(journal, {**facts, "limit": limit})
            for name, reply in () if kept is None else kept.known.items():
                _check_known(name, reply, f"{journal}: the outcome of {name[:40]}")
            jobs = _jobs(seed, count, seconds, target, limit, patience)
            budget = 10 * limit + 2 * patience + 600
            outcomes = campaigns.run(judging.judge, jobs, where, seconds=budget, journal=kept)
            words = ["ptxspec", "fuzz", *_named(ptxas, levels, library)]
            summary = _collected(outcomes, facts, report, shlex.join(words), as_json)
        except campaigns.MissingDask as missing:
            raise Failed(str(missing)) from None
    if as_json:
        put_json(summary)
    else:
        _show(summary)
    return int(bool(summary["findings"]))


def _check_known(name: str, reply: Any, where: str) -> None:
    """Fails for an outcome of a journal that `judge` does not give."""
    from ptxspec.base import strict
    from ptxspec_workshop.fuzz.judging import FINDING

    if not (name.isascii() and name.isdecimal() and len(name) < 20):
        raise Failed(f"{where}: that is no seed")
    if reply.kind == "done":
        try:
            value = strict.fields(reply.value, {"executed": int, "cells_not_judged": int, "finding": Any}, where)
            if value["finding"] is not None:
                strict.fields(value["finding"], FINDING, f"{where}.finding")
        except ValueError as why:
            raise Failed(str(why)) from None


def _target(ptxas: str | None, levels: str, library: str | None, where: WorkerOptions) -> tuple[Any, dict[str, Any]]:
    """Who is asked, and what is known of it."""
    from ptxspec.base import campaigns
    from ptxspec_workshop.fuzz import targets

    if library is not None:
        target: Any = targets.LibraryTarget(str(Path(library).resolve()))
        return target, target.facts()
    if ptxas is None:
        target = targets.Native()
        return target, target.facts()
    from ptxspec.evidence import assembler

    wanted = tuple(f"-O{level.strip()}" for level in levels.split(","))
    if not set(wanted) <= {"-O0", "-O1", "-O2", "-O3"}:
        raise Failed(f"--levels: numbers from 0 to 3 with commas between, not {levels!r}")
    path = ptxas or assembler.ptxas()
    (gpu,) = campaigns.values(targets.gpu, [("the GPU", None)], where._replace(jobs=1))
    target = targets.Ptxas(path, wanted, not gpu.reason)
    return target, {**target.facts(), "gpu": gpu.name, "driver": gpu.driver, "not_executed": gpu.reason}


def _named(ptxas: str | None, levels: str, library: str | None) -> list[str]:
    """The options that name who is asked."""
    if library is not None:
        return ["--library", library]
    if ptxas is None:
        return ["--engine"]
    return [*(["--ptxas", ptxas] if ptxas else ["--ptxas"]), "--levels", levels]


def _jobs(
    first: int, count: int | None, seconds: float | None, target: Any, limit: float, patience: float
) -> Iterator[tuple[str, Any]]:
    from ptxspec_workshop.fuzz.judging import Job

    end = None if seconds is None else time.monotonic() + seconds
    most = count if count is not None or seconds is not None else COUNT
    for seed in itertools.count(first) if most is None else range(first, first + most):
        if end is not None and time.monotonic() >= end:
            return
        yield str(seed), Job(seed, target, limit, patience)


def _collected(
    outcomes: Iterator[Any], facts: dict[str, Any], report: Path | None, again: str, as_json: bool
) -> dict[str, Any]:
    """What the command says: the findings, each in a folder if one is given, as they come."""
    from ptxspec.base.progress import counted
    from ptxspec_workshop.fuzz import reports

    summary: dict[str, Any] = {"target": facts, "cases": 0, "executed": 0, "cells_not_judged": 0, "findings": []}
    with counted("programs", as_json) as shown:
        for name, reply, _ in outcomes:
            summary["cases"] += 1
            if reply.kind == "done":
                finding = reply.value["finding"]
                summary["executed"] += int(reply.value["executed"] > 0)
                summary["cells_not_judged"] += reply.value["cells_not_judged"]
            else:  # what our own part did with the seed
                finding = {"seed": int(name), "kind": "internal", "who": [], "message": reply.message, "statements": []}
            if finding is not None:
                place = None
                if report is not None and reply.kind == "done":
                    place = str(reports.write(report, finding, facts, again))
                kept = {k: finding[k] for k in ("seed", "kind", "who", "message", "statements")}
                summary["findings"].append({**kept, "folder": place, "pages": finding.get("pages", [])})
            shown(summary["cases"], len(summary["findings"]))
    summary["findings"].sort(key=lambda found_case: found_case["seed"])
    summary["note"] = (
        "" if summary["executed"] else f"{NOTHING_RAN} ({facts.get('not_executed') or 'no program was run'})"
    )
    return summary


def _show(summary: dict[str, Any]) -> None:
    for finding in summary["findings"]:
        who = f" at {', '.join(filter(None, finding['who']))}" if any(finding["who"]) else ""
        say(f"seed {finding['seed']}: {finding['kind']}{who}: {finding['message']}", fg="red")
        for line in finding["statements"][:20]:
            say(f"    {line}")
        for page in finding["pages"][:10]:
            say(f"  — {page}")
        if finding["folder"]:
            say(f"  {finding['folder']}")
    say(f"{summary['cases']} programs, {summary['executed']} executed; {len(summary['findings'])} findings")
    if summary["cells_not_judged"]:
        say(f"{summary['cells_not_judged']} cells depend on what PTX leaves open, and were not judged")
    if summary["note"]:
        say(summary["note"], err=True, fg="yellow")


def _again(folder: Path, target: Any, limit: float, as_json: bool) -> int:
    """Ask a finding anew."""
    from ptxspec_workshop.fuzz import judging, reports

    case, before = reports.read(folder)
    seen = judging.look(case, target, limit)
    difference = seen.difference
    kind, message = (
        ("", "the finding does not occur any more") if difference is None else (difference.kind, difference.message)
    )
    if as_json:
        outcome = {"folder": str(folder), "before": before["kind"], "now": kind or None, "message": message}
        put_json({**outcome, "executed": seen.executed})
    else:
        say(f"{folder}: {f'{kind}: ' if kind else ''}{message}", fg="red" if difference else None)
        if not seen.executed and not difference:
            say(NOTHING_RAN, err=True, fg="yellow")
    return int(difference is not None)
