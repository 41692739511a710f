"""What nvcc makes of the programs in cuda/, right and with each mistake, kept compressed so that the tests need no nvcc.

Run it after a change of a program or a mistake, where nvcc is installed: python tests/interop/cuda_compile.py [NVCC]
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from cuda_programs import PROGRAMS

HERE = Path(__file__).resolve().parent
KEPT = HERE / "cuda.json.xz"
#: the program without a mistake
RIGHT = ""


def source_of(name: str) -> str:
    """A program with the text that it includes."""
    header = (HERE / "cuda" / "hopper.cuh").read_text().replace("#pragma once\n", "")
    return (HERE / "cuda" / f"{name}.cu").read_text().replace('#include "hopper.cuh"\n', header)


def sources() -> dict[tuple[str, str], str]:
    """By the names of programs and mistakes. Raises ValueError where a mistake's text does not stand once in the source."""
    made = {}
    for name, program in PROGRAMS.items():
        source = made[name, RIGHT] = source_of(name)
        for what, (old, new) in program.mistakes.items():
            if source.count(old) != 1:
                raise ValueError(f"{name}: {what}: stands {source.count(old)} times: {old}")
            made[name, what] = source.replace(old, new)
    return made


def compiled(source: str, nvcc: str = "nvcc") -> str:
    """The PTX of a source, without comments. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "program.cu"
        at.write_text(source)
        subprocess.run([nvcc, "-arch=sm_90a", "-ptx", "-O3", "-o", "program.ptx", at], check=True, cwd=folder)
        return re.sub(r"^\s*//.*\n|^\s*\n", "", (Path(folder) / "program.ptx").read_text(), flags=re.M)


def made_of(wanted: dict[tuple[str, str], str], nvcc: str = "nvcc") -> dict[str, dict[str, str]]:
    """The PTX of some sources by program and mistake."""
    with ThreadPoolExecutor(2) as pool:
        texts = dict(zip(wanted, pool.map(lambda source: compiled(source, nvcc), wanted.values()), strict=True))
    return {name: {what: ptx for (of, what), ptx in texts.items() if of == name} for name in PROGRAMS}


@cache
def kept() -> dict[str, Any]:
    """What `made_of` gave when it was last kept."""
    found: dict[str, Any] = json.loads(lzma.decompress(KEPT.read_bytes()))
    return found


def main() -> None:
    KEPT.write_bytes(lzma.compress(json.dumps(made_of(sources(), *sys.argv[1:]), indent=0).encode(), preset=9))
    print(f"{len(sources())} texts, {KEPT.stat().st_size} bytes kept")


if __name__ == "__main__":
    main()
