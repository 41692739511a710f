"""What nvcc makes of the sources in cuda/, kept compressed so that the tests need no nvcc.

Run it after a change of a source: python tests/corpus/compile.py
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE / "compiled.json.xz"
#: each source is compiled for these, and in one more way
PLAIN = (("sm_75",), ("sm_90",))
FURTHER = (
    ("sm_80",),
    ("sm_86",),
    ("sm_90", "-G"),
    ("sm_90", "-lineinfo"),
    ("sm_90", "-O1", "-rdc=true"),
    ("sm_75", "-use_fast_math"),
)
#: sources that need a later target, and what they are compiled for
LATER = {"clusters": (("sm_90",), ("sm_90", "-G"), ("sm_90", "-O1", "-rdc=true"))}
#: names that nvcc has nowhere else than in a linked program
SEPARATE = ("external", "globals")


def compiled(source: Path, target: str, *flags: str) -> str:
    """The module's text, without lines that name paths or releases. Raises CalledProcessError."""
    more = ("-rdc=true",) if source.stem in SEPARATE and "-rdc=true" not in flags else ()
    command = ["nvcc", "-ptx", f"-arch={target}", "-std=c++17", "-w", "-o", "-", *flags, *more, source.name]
    run = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=True)
    text = re.sub(r"^//.*\n", "", run.stdout, flags=re.M)
    return re.sub(r'"[^"\n]*/([^/"\n]+)"', r'"\1"', text)


def main() -> None:
    sources = sorted((HERE / "cuda").glob("*.cu"))
    early = [s for s in sources if s.stem not in LATER]
    wanted = [(s, w) for i, s in enumerate(early) for w in (*PLAIN, FURTHER[i % len(FURTHER)])]
    wanted += [(s, w) for s in sources for w in LATER.get(s.stem, ())]

    def one(job: tuple[Path, tuple[str, ...]]) -> tuple[str, str]:
        source, way = job
        try:
            return " ".join((source.stem, *way)), compiled(source, *way)
        except subprocess.CalledProcessError as error:
            sys.exit(f"{source.name} for {way}: {error.stderr}")

    with ThreadPoolExecutor(2) as pool:
        found = dict(pool.map(one, wanted))
    KEPT.write_bytes(lzma.compress(json.dumps(found, indent=0, sort_keys=True).encode(), preset=9))
    print(f"{len(found)} modules, {sum(map(len, found.values()))} characters, {KEPT.stat().st_size} bytes kept")


if __name__ == "__main__":
    main()
