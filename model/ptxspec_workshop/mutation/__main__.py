"""Plant mistakes in the definitions and see whether they are noticed: `python -m ptxspec_workshop.mutation`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from ptxspec.base.campaign_options import where_options
from ptxspec.base.campaigns import WorkerOptions
from ptxspec_workshop.mutation import campaign, judging, score
from ptxspec_workshop.mutation.listing import listed
from ptxspec_workshop.mutation.mutants import Mutant

#: the judgements after which the file is written, so that little is lost
SAVED = 10


@click.command()
@click.option("--only", default="", help="Only mutants whose place, as it is shown, has this in it; nothing is kept.")
@click.option("--list", "as_list", is_flag=True, help="Name the mutants, and do nothing.")
@click.option("--to", type=click.Path(path_type=Path), default=score.KEPT, help="The file in which it is kept.")
@where_options
def main(only: str, as_list: bool, to: Path, where: WorkerOptions) -> None:
    """Judge every mutant of the list, and keep what was found. What has not changed since is taken from the file."""
    mutants = [m for m in listed() if only in f"{m.id} {m}"]
    if as_list:
        for mutant in mutants:
            click.echo(f"{mutant.id}  {mutant}")
        return
    kept = score.read(to) or score.Kept({}, {})
    reached = dict(kept.mutants)

    def tell(number: int, of: int, mutant: Mutant, row: dict[str, Any]) -> None:
        text = " ".join(row[part] for part in ("status", "by", "name") if row[part])
        click.echo(f"{number}/{of} {mutant.id} {mutant}: {text}: {row['shown']}", err=True)
        reached[mutant.id] = row
        if not only and number % SAVED == 0:
            score.write(score.Kept(facts(len(listed())), reached), to)

    rows = campaign.update(mutants, {} if only else kept.mutants, tell, where)
    if not only:
        score.write(score.Kept(facts(len(rows)), rows), to)
    report(score.counted(rows.values()), rows)
    sys.exit(any(row["by"] == campaign.FAILED for row in rows.values()))


def facts(count: int) -> dict[str, Any]:
    """What a campaign's figures depend on, and how many mutants it has: those that are not kept were not judged."""
    return {
        "listed": count,
        "date": datetime.now(UTC).date().isoformat(),
        "digest": score.digest(),
        "ptxspec": metadata.version("ptxspec"),
        "z3-solver": metadata.version("z3-solver"),
    }


def report(total: score.Score, rows: dict[str, dict[str, Any]]) -> None:
    """The figures, and what was not noticed."""
    click.echo(
        f"{total.mutants} mutants: {total.killed} killed ({total.identities} by identities), {total.equivalent} equivalent, "
        f"{total.survivors} survivors, {total.undecided} undecided: {total.percent:.1f} % of {total.of}, "
        f"{total.percent_of_identities:.1f} % by identities alone"
    )
    for name, row in rows.items():
        if row["status"] in (judging.SURVIVOR, judging.UNDECIDED):
            click.echo(f"{row['status']} {name} {row['place']}: {row['name']} {row['shown']}")


if __name__ == "__main__":
    main()
