"""NVIDIA's assembler as an oracle: where it is, and what it says of a module."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path


@cache
def ptxas() -> str:
    """The assembler's path: NVIDIA's wheel (nvidia-cuda-nvcc) if it is installed, else the machine's. Raises
    FileNotFoundError if there is none."""
    try:
        import nvidia  # type: ignore[import-untyped]  # the wheel has no types

        for place in nvidia.__path__:
            for path in sorted(Path(place).glob("**/bin/ptxas")):
                return str(path)
    except ImportError:
        pass
    found_on_path = shutil.which("ptxas")
    if found_on_path is None:
        raise FileNotFoundError("no ptxas: install NVIDIA's nvidia-cuda-nvcc wheel, or put ptxas on the PATH")
    return found_on_path


@cache
def newest_ptxas() -> str:
    """The path of ptxas 13.5, which knows PTX 9.1 to 9.5; `make install` puts it beside the packages, since two versions of one
    wheel can't be installed together. Raises FileNotFoundError if it is not there."""
    for path in sorted(Path(sys.prefix, "ptxas-13.5").glob("nvidia/*/bin/ptxas")):
        return str(path)
    raise FileNotFoundError("no ptxas 13.5: make install brings it, on Linux on x86_64")


def version() -> str:
    """What ptxas calls itself, e.g. "13.0"."""
    text = subprocess.run([ptxas(), "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"release (\d+\.\d+)", text)
    return match[1] if match else text.strip()


def assemble(text: str, arch: str = "sm_90", *flags: str, by: str | None = None) -> list[tuple[int, str]]:
    """The errors ptxas reports for a module: (line, message) pairs; [] if it accepts it. `by` is the path of another ptxas."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "module.ptx")
        source.write_text(text)
        run = subprocess.run(
            [by or ptxas(), f"-arch={arch}", *flags, str(source), "-o", str(Path(folder, "module.cubin"))],
            capture_output=True,
            text=True,
        )
        output = run.stdout + run.stderr
    errors = [(int(m[1]), m[2].strip()) for m in re.finditer(r"line (\d+); \w+\s*: (.*)", output) if "error" in m[0]]
    if run.returncode and not errors:
        errors = [(0, output.strip())]
    return errors
