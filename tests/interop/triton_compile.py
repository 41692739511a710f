"""What Triton makes of the kernels in triton_kernels.py, kept compressed so that the tests need no Triton.

Run it after a change of a kernel, where Triton is installed: python tests/interop/triton_compile.py
"""

from __future__ import annotations

import json
import lzma
import os
import re
import sys
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from triton_cases import CASES

from ptxspec.adapters.triton import TritonKernel, from_facts
from ptxspec.adapters.triton import compiled as compiled_kernel

HERE = Path(__file__).resolve().parent
KEPT = HERE / "triton.json.xz"


def compiled() -> dict[str, Any]:
    """Triton's version, and by the case's name the target and the kernel, without lines and names of source files."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        import triton
        import triton_kernels as kernels

        found = {}
        for name, case in CASES.items():
            kernel = compiled_kernel(getattr(kernels, case.function), case.signature, case.target, **case.options)
            found[name] = {"target": case.target, **asdict(kernel), "ptx": without_paths(kernel.ptx)}
    return {"triton": triton.__version__, "kernels": found}


def without_paths(ptx: str) -> str:
    return re.sub(r'"[^"\n]*/([^/"\n]+)"', r'"\1"', ptx)


@cache
def kept() -> dict[str, Any]:
    """What `compiled` gave when it was last kept."""
    found: dict[str, Any] = json.loads(lzma.decompress(KEPT.read_bytes()))
    return found


def kernel_of(name: str) -> TritonKernel:
    """The kernel that is kept of a case, to be launched."""
    facts = kept()["kernels"][name]
    return from_facts({key: facts[key] for key in facts if key != "target"})


def main() -> None:
    found = compiled()
    if sys.argv[1:] == ["--print"]:
        print(json.dumps(found))
        return
    KEPT.write_bytes(lzma.compress(json.dumps(found, indent=0, sort_keys=True).encode(), preset=9))
    print(f"{len(found['kernels'])} kernels by Triton {found['triton']}, {KEPT.stat().st_size} bytes kept")


if __name__ == "__main__":
    main()
