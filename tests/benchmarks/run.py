"""All benchmarks in one run: tables, files of their figures, and plots.

    python tests/benchmarks/run.py [--folder build/bench] [--docs] [--only NAME …] [--workers 1] [--repeats 5]

`--docs` writes the plots and the table that the documentation shows. With `--only` the workloads of these names are measured, and
nothing else. `--workers` and `--repeats` are those of the workloads (suite.py).
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import distribution
import interpreters
import kernels
import loading
import lookups
import questions
import scaling
import startup
import suite

import ptxspec

ROOT = Path(__file__).resolve().parents[2]


def plots(found: dict[str, Any], folder: Path) -> list[Path]:
    """A plot of the kernels beside gcc, and one of the cost by the number of threads; nothing without matplotlib."""
    pyplot = suite.pyplot()
    if pyplot is None:
        return []
    made = []
    rows = found["kernels"]
    figure, axes = pyplot.subplots(figsize=(7, 3.2))
    for offset, (key, label) in enumerate((("one", "one core"), ("all", f"{kernels.CORES} cores"), ("c", "gcc -O3"))):
        times = [row.get(key, 0) * 1e3 for row in rows]
        axes.bar([i + 0.27 * (offset - 1) for i in range(len(rows))], times, 0.25, label=label)
    axes.set_yscale("log")
    axes.set_ylabel("launch, ms")
    axes.set_xticks(range(len(rows)), [row["kernel"] for row in rows])
    axes.legend(frameon=False)
    made.append(folder / "kernels.svg")
    figure.tight_layout()
    figure.savefig(made[-1], metadata={"Date": None})
    figure, axes = pyplot.subplots(figsize=(7, 3.2))
    points = found["threads"]
    axes.plot([p["threads"] for p in points], [p["ns"] for p in points], marker="o")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("threads")
    axes.set_ylabel("ns a thread-instruction, one core")
    made.append(folder / "threads.svg")
    figure.tight_layout()
    figure.savefig(made[-1], metadata={"Date": None})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="workloads; without it all, and the other benchmarks")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    words = [
        "--workers",
        f"{given.workers}",
        "--repeats",
        f"{given.repeats}",
        "--json",
        f"{given.folder / 'workloads.json'}",
    ]
    if given.only:
        suite.main([*words, "--only", *given.only])
        return
    found: dict[str, Any] = {"ptxspec": ptxspec.__version__, "processor": platform.processor(), "cores": kernels.CORES}
    found |= kernels.main([]) | scaling.main([])
    report = given.folder / "bench.json"
    report.write_text(json.dumps(found, indent=1))
    workloads = suite.main([*words, *(["--docs"] if given.docs else [])])
    made = plots(found, ROOT / "docs" / "reference" if given.docs else given.folder)
    made += suite.plot(workloads, given.folder / "workloads.svg")
    print(*(path for path in (report, *made)), sep="\n")
    distribution.main(["--json", str(given.folder / "distribution.json"), *(["--docs"] if given.docs else [])])
    startup.main(["--json", str(given.folder / "startup.json")])
    loading.main()
    if libraries := interpreters.installed():
        interpreters.main([*libraries, "--json", str(given.folder / "interpreters.json")])
    lookups.main()
    questions.main(["--json", str(given.folder / "questions.json")])


if __name__ == "__main__":
    main()
