"""Random scripts of Hopper's instructions, right or wrong, under both engines:
`python tests/fuzz/hopper_scripts.py FIRST LAST [SECONDS [PROCESSES [SUMMARY]]]`.

Both engines must leave the same, or say the same: the rule, the note, and the places. With a summary, it is written to a file as
JSON: how launches ended, in how many each definition was drawn, and what disagreed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hopper_launches import ENGINES, PAGE, outcome, page, trial

#: seconds between two times that a summary is written
OFTEN = 5


class Account:
    """What launches came to: how often they broke which rule, in how many each definition was drawn, and what disagreed."""

    def __init__(self) -> None:
        self.launches, self.outcomes = Counter[str](), Counter[str]()
        self.drawn, self.completed, self.forms = Counter[str](), Counter[str](), set[str]()
        self.disagreements: list[str] = []

    def add(self, seed: int) -> None:
        try:
            exact, native = (outcome(seed, engine) for engine in ENGINES)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return self.tell(
                f"seed {seed}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
            )
        of, kind = page(seed // PAGE), native[0]
        self.launches["warpgroup" if of.in_warpgroup else "cluster"] += 1
        self.outcomes[kind] += 1
        steps = {of.steps[int(cell) & 255] for row in trial(seed).rows for cell in row}
        self.forms.update(step.form for step in steps if step.form)
        names = {step.definition for step in steps if step.definition}
        self.drawn.update(names)
        if kind == "left":
            self.completed.update(names)
        if exact != native:
            self.tell(f"seed {seed}: {str(exact)[:900]} | {str(native)[:900]}")

    def tell(self, what: str) -> None:
        self.disagreements.append(what)
        print(what, flush=True)

    def merge(self, other: dict[str, Any]) -> None:
        for name in ("launches", "outcomes", "drawn", "completed"):
            getattr(self, name).update(other[name])
        self.forms.update(other["forms"])
        self.disagreements += other["disagreements"]

    def as_json(self) -> dict[str, Any]:
        return {name: sorted(v) if isinstance(v, set) else v for name, v in vars(self).items()}

    def __str__(self) -> str:
        total, right = self.launches.total(), self.outcomes["left"]
        return (
            f"{total} launches ({dict(self.launches)}), of which {right} end well; {len(self.drawn)} definitions,"
            f" {len(self.forms)} forms; {len(self.disagreements)} disagreements"
        )


def campaign(first: int, last: int, seconds: float, summary: Path | None = None) -> Account:
    """Launch seeds until the time is over. The summary is written as it goes."""
    began, account = time.monotonic(), Account()
    written = began
    for seed in range(first, last):
        if (now := time.monotonic()) - began > seconds:
            break
        if summary and now - written > OFTEN:
            written = now
            write(summary, account)
        account.add(seed)
        if seed % PAGE == PAGE - 1:
            page.cache_clear()
    if summary:
        write(summary, account)
    return account


def write(file: Path, account: Account) -> None:
    """Write a summary in one step."""
    beside = file.with_suffix(".part")
    beside.write_text(json.dumps(account.as_json()))
    beside.rename(file)


def merged(files: Iterable[Path]) -> Account:
    """The sum of summaries."""
    account = Account()
    for file in files:
        if file.exists():
            account.merge(json.loads(file.read_text()))
    return account


def together(first: int, last: int, seconds: float, processes: int, summary: Path | None) -> Account:
    """The same with several processes, each with seeds of its own. One that breaks down is a disagreement."""
    share = -(-(last - first) // processes // PAGE) * PAGE
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{first + i * share}.json") for i in range(processes)]
        running = []
        for file in files:
            begin = int(file.stem)
            command = [
                sys.executable,
                __file__,
                str(begin),
                str(min(last, begin + share)),
                str(seconds),
                "1",
                str(file),
            ]
            running.append(subprocess.Popen(command))
        while any(process.poll() is None for process in running):
            time.sleep(OFTEN)
            if summary:
                write(summary, merged(files))
        account = merged(files)
        for process, file in zip(running, files, strict=True):
            if process.returncode not in (0, 1):
                account.tell(f"seeds from {file.stem}: exit status {process.returncode}")
    return account


def main(first: str, last: str, seconds: str = "inf", processes: str = "1", summary: str = "") -> int:
    file = Path(summary) if summary else None
    if int(processes) > 1:
        account = together(int(first), int(last), float(seconds), int(processes), file)
        if file:
            write(file, account)
    else:
        account = campaign(int(first), int(last), float(seconds), file)
    print(account, flush=True)
    return int(bool(account.disagreements))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
