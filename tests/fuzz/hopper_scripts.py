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
from pathlib import Path
from typing import Any

from hopper_launches import ENGINES, PAGE, outcome, page, trial


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
    """Launch seeds until the time is over; the summary is written after each page."""
    began, account = time.monotonic(), Account()
    for seed in range(first, last):
        account.add(seed)
        if seed % PAGE == PAGE - 1:
            page.cache_clear()
            if summary:
                summary.write_text(json.dumps(account.as_json()))
            if time.monotonic() - began > seconds:
                break
    if summary:
        summary.write_text(json.dumps(account.as_json()))
    return account


def together(first: int, last: int, seconds: float, processes: int) -> Account:
    """The same with several processes, each with seeds of its own. One that breaks down is a disagreement."""
    share, account = -(-(last - first) // processes // PAGE) * PAGE, Account()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(i)) for i in range(processes)]
        begins = [first + i * share for i in range(processes)]
        command = [sys.executable, __file__]
        running = [
            subprocess.Popen([*command, str(b), str(min(last, b + share)), str(seconds), "1", str(f)])
            for b, f in zip(begins, files, strict=True)
        ]
        for process, file in zip(running, files, strict=True):
            if process.wait() not in (0, 1):
                account.tell(f"seeds from {begins[files.index(file)]}: exit status {process.returncode}")
            if file.exists():
                account.merge(json.loads(file.read_text()))
    return account


def main(first: str, last: str, seconds: str = "inf", processes: str = "1", summary: str = "") -> int:
    file = Path(summary) if summary else None
    many = int(processes)
    if many > 1:
        account = together(int(first), int(last), float(seconds), many)
        if file:
            file.write_text(json.dumps(account.as_json(), indent=1))
    else:
        account = campaign(int(first), int(last), float(seconds), file)
    print(account, flush=True)
    return int(bool(account.disagreements))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
