"""Makes the PTX of the workloads again, and says which differs from what is committed.

    python tests/benchmarks/workloads/build.py [NAME …]

Needs nvcc of CUDA 13.0 on the PATH; the exit status is 1 if a file has changed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def compiled(source: Path) -> str:
    """The PTX of a source. Raises CalledProcessError if nvcc refuses it, and FileNotFoundError without nvcc."""
    command = ["nvcc", "-ptx", "-arch=sm_90", "-o", "-", source.name]
    return subprocess.run(command, cwd=source.parent, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="workloads; by default all")
    given = parser.parse_args(arguments)
    changed = []
    for source in [HERE / f"{name}.cu" for name in given.names] or sorted(HERE.glob("*.cu")):
        text, target = compiled(source), source.with_suffix(".ptx")
        if not target.exists() or target.read_text() != text:
            changed.append(target.name)
            target.write_text(text)
    print(f"changed: {', '.join(changed)}" if changed else "nothing has changed")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
