"""Compiles the CUDA kernels of the suite, each as it is right and with its fault. Needs nvcc of CUDA 13.0 on the PATH.

python tests/checks/make_suite.py [NAME…]
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).parent / "suite"
#: `.file` has paths of the machine that compiles; of these the names stay
FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"(?:[^"]*/)?([^"/]+)".*$', re.M)


def compile_kernel(source: Path, *options: str) -> str:
    """The PTX of a kernel, with the lines of CUDA that it was compiled from."""
    command = ["nvcc", "-arch=sm_90", "-ptx", "-lineinfo", *options, "-o", "-", source.name]
    made = subprocess.run(command, cwd=source.parent, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"{source.name}:\n{made.stderr}")
    if made.stderr:
        sys.stderr.write(f"{source.name}:\n{made.stderr}")
    return FILE.sub(r'\1"\2"', made.stdout).rstrip() + "\n"


def main(names: list[str]) -> None:
    for source in sorted(SUITE.glob("*.cu")):
        if not names or source.stem in names:
            source.with_suffix(".ptx").write_text(compile_kernel(source))
            source.with_suffix(".fault.ptx").write_text(compile_kernel(source, "-DFAULT"))


if __name__ == "__main__":
    main(sys.argv[1:])
