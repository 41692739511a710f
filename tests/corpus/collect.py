"""What today's tools print, kept compressed so that the tests need none of them: Numba, Triton and tinygrad of the kernels in
tests/interop, nvcc 13.5 of the sources in cuda/ and of those in inline/, which are assembly as libraries of matrix products write it.

Run it after a change of a kernel or a tool, where the tool is installed: python tests/corpus/collect.py TOOL…, with nvcc=PATH for an
nvcc and triton=PATH for the ptxas that Triton uses. What is kept of the other tools stays.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
KEPT = HERE / "today.json.xz"
sys.path.append(str(HERE.parent / "interop"))

#: each kernel or source is compiled for some of these, in turn
TARGETS = {
    "numba": ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "sm_86", "sm_89", "sm_103"),
    "triton": ("sm_80", "sm_90", "sm_120", "sm_89", "sm_100"),
    "nvcc": ("sm_75", "sm_100", "sm_90", "sm_120", "sm_80", "sm_103", "sm_89", "sm_121", "sm_90a", "sm_100f", "sm_110", "sm_120a", "sm_87"),
}  # fmt: skip
#: of the 13.0 corpus: one that is long, and one whose names other modules define
LEFT_OUT = ("wide_small_floats", "external")


def without_names(text: str) -> str:
    """A module without comments that stand alone, and without folders in its strings."""
    text = re.sub(r"^\s*//.*\n", "", text, flags=re.M)
    return re.sub(r'"[^"\n]*/([^/"\n]+)"', r'"\1"', text)


def numba(_: str) -> tuple[str, dict[str, str]]:
    import numba_cuda
    from numba_kernels import CASES

    from ptxspec.adapters.numba import compiled

    found = {}
    for i, (name, case) in enumerate(sorted(CASES.items())):
        made = case(np.random.default_rng(1))
        for target in np.take(TARGETS["numba"], (i, i + 3), mode="wrap"):
            number = int(target.removeprefix("sm_"))
            ptx = compiled(made.function, made.signature, divmod(number, 10)).ptx
            found[f"{name} {target}"] = shorter(without_names(ptx))
    return numba_cuda.__version__, found


def shorter(text: str) -> str:
    """A module whose mangled names, hundreds of characters long, are numbered instead."""
    names = dict.fromkeys(re.findall(r"\b_Z\w{60,}", text))
    for i, name in enumerate(names):
        text = re.sub(rf"\b{name}(?!\w*\b_Z)", f"_Z{i}", text) if name in text else text
    return text


def triton(path: str) -> tuple[str, dict[str, str]]:
    """The version of PTX is that of the ptxas that Triton is to use, if one is given."""
    if path:
        os.environ["TRITON_PTXAS_PATH"] = os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = path
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        import triton
        import triton_kernels
        from triton_cases import CASES

        from ptxspec.adapters.triton import compiled

        for i, (name, case) in enumerate(CASES.items()):
            for target in np.take(TARGETS["triton"], (i, i + 2), mode="wrap"):
                number = max(case.target, int(target.removeprefix("sm_")))
                function = getattr(triton_kernels, case.function)
                kernel = compiled(function, case.signature, number, **case.options)
                found[f"{name} sm_{number}"] = without_names(kernel.ptx)
    return triton.__version__, found


def tinygrad(_: str) -> tuple[str, dict[str, str]]:
    """Run in a process for each target, since tinygrad's device has one."""
    found = {}
    for target in ("sm_80", "sm_89"):
        code = f"import collect; collect._tinygrad({target!r})"
        run = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True)
        version, texts = json.loads(run.stdout.splitlines()[-1])
        step = 1 if target == "sm_80" else 2
        found |= {f"{name} {target}": text for name, text in list(texts.items())[::step]}
    return version, found


def _tinygrad(target: str) -> None:
    from importlib.metadata import version

    import ptxspec
    from ptxspec.adapters import tinygrad as adapter

    adapter.install(target)
    from tinygrad import Tensor
    from tinygrad.helpers import CACHELEVEL
    from tinygrad_kernels import CASES, TENSOR_CORES

    CACHELEVEL.value = 0
    texts: dict[str, str] = {}
    load = ptxspec.load
    ptxspec.load = lambda text, path: texts.setdefault(text, path) and load(text, path)
    for case in {**CASES, **TENSOR_CORES}.values():
        case.ours(*(Tensor(np.ascontiguousarray(a), device="CUDA").realize() for a in case.arrays)).numpy()
    numbered = {f"{path.removesuffix('.ptx')} {i}": text for i, (text, path) in enumerate(texts.items())}
    print(json.dumps((version("tinygrad"), numbered)))


def nvcc(path: str) -> tuple[str, dict[str, str]]:
    path = path or "nvcc"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    found = {}
    sources = [source for source in sorted((HERE / "cuda").glob("*.cu")) if source.stem not in LEFT_OUT]
    for i, source in enumerate(sources):
        few = [
            t
            for t in np.take(TARGETS["nvcc"], (i, i + 4, i + 7), mode="wrap")
            if source.stem != "clusters" or t >= "sm_90" or "1" in t
        ]
        for target in few:
            found[f"{source.stem} {target}"] = _printed(path, source, target)
    for source in sorted((HERE / "inline").glob("*.cu")):
        for target in re.findall(r"sm_\w+", source.read_text().splitlines()[0]):
            found[f"inline {source.stem} {target}"] = _printed(path, source, target)
    return re.search(r"V([\d.]+)", said)[1], found  # type: ignore[index]


def _printed(path: str, source: Path, target: str) -> str:
    separate = ["-rdc=true"] if source.stem == "globals" else []
    command = [path, "-ptx", f"-arch={target}", "-std=c++17", "-w", *separate, "-o", "-", source.name]
    run = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=True)
    return without_names(run.stdout)


TOOLS: dict[str, Callable[[str], tuple[str, dict[str, str]]]] = {
    "numba": numba, "triton": triton, "tinygrad": tinygrad, "nvcc": nvcc,
}  # fmt: skip


@cache
def kept() -> dict[str, Any]:
    """By the tool's name its `version` and its `modules` by name."""
    found: dict[str, Any] = json.loads(lzma.decompress(KEPT.read_bytes()))
    return found


def main() -> None:
    found = dict(kept()) if KEPT.exists() else {}
    for word in sys.argv[1:]:
        tool, _, path = word.partition("=")
        version, modules = TOOLS[tool](path)
        found[tool] = {"version": version, "modules": modules}
        print(f"{tool} {version}: {len(modules)} modules, {sum(map(len, modules.values()))} characters")
    KEPT.write_bytes(lzma.compress(json.dumps(found, indent=0, sort_keys=True).encode(), preset=9))
    print(f"{sum(len(own['modules']) for own in found.values())} modules, {KEPT.stat().st_size} bytes kept")


if __name__ == "__main__":
    main()
