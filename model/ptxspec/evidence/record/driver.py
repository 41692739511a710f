"""What a GPU computes for every form: `python -m ptxspec.evidence.gpu FOLDER` on a machine that has one.

Each form runs alone in a kernel whose operands come from memory (kernels.py), assembled by ptxas at -O0 and at -O3. The answers
are compared with the definitions under a profile and written to FOLDER/answers.npz, with a summary in FOLDER/answers.json. Only
the CUDA driver and ptxas are needed.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ptxspec.evidence import assembler, clusters, effects, warps
from ptxspec.evidence.agreement import results_of
from ptxspec.evidence.kernels import Kernel, cell_types, kernel, module, words
from ptxspec.evidence.vectors import ROWS, SEED, comparable, expected, read, table_of, write, wrong
from ptxspec.language.forms import Form, forms
from ptxspec.terms.profiles import Profile

#: bytes from one thread's row of cells to the next
STRIDE = 128
_CHUNK = 96
#: of how many rows of a form that differ the values are printed
SHOWN = 6


class GpuError(Exception):
    """A call of the CUDA driver failed."""


#: the attribute of a launch that says the extents of a cluster
_CLUSTER_DIMENSION = 4


class _Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute; its value is a union of 64 bytes."""

    _fields_ = [
        ("what", ctypes.c_int),
        ("before", ctypes.c_int),
        ("cluster", ctypes.c_uint * 3),
        ("rest", ctypes.c_uint * 13),
    ]

    def __init__(self, what: int, cluster: tuple[int, int, int]):
        super().__init__(what=what, cluster=cluster)


class _Launch(ctypes.Structure):
    """The driver's CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class Gpu:
    """The first CUDA device, through the driver's C interface."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.name, self.driver = name.value.decode(), f"{version.value // 1000}.{version.value % 1000 // 10}"
        self._context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self.call("cuCtxSetCurrent", self._context)

    def call(self, function: str, *arguments: Any) -> None:
        status = getattr(self.cuda, function)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise GpuError(f"{function}: {(text.value or b'').decode()} ({status})")

    def allocate(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def load(self, cubin: bytes) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(handle), cubin)
        return handle

    def run(
        self,
        image: ctypes.c_void_p,
        name: str,
        data: np.ndarray,
        into: ctypes.c_uint64,
        out_of: ctypes.c_uint64,
        argument: bytes = bytes(64),
        grid: tuple[int, int, int] = (1, 1, 1),
        block: int | None = None,
        cluster: tuple[int, int, int] | None = None,
    ) -> np.ndarray:
        """Launch one CTA with a thread a row of `data`, or a grid of CTAs of `block` threads, perhaps in clusters; the rows of
        output cells. `argument` is the kernel's third parameter."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), image, name.encode())
        self.call("cuMemcpyHtoD_v2", into, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        answer = np.full_like(data, 0xA5A5A5A5A5A5A5A5)
        self.call("cuMemcpyHtoD_v2", out_of, answer.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(answer.nbytes))
        spare = (ctypes.c_uint8 * len(argument)).from_buffer_copy(argument)
        pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(p) for p in (into, out_of, spare)])
        launch = _Launch(grid, (block or len(data), 1, 1))
        attribute = _Attribute(_CLUSTER_DIMENSION, cluster=cluster or (1, 1, 1))
        if cluster is not None:
            launch.attributes, launch.count = ctypes.pointer(attribute), 1
        self.call("cuLaunchKernelEx", ctypes.byref(launch), function, pointers, None)
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", answer.ctypes.data_as(ctypes.c_void_p), out_of, ctypes.c_size_t(answer.nbytes))
        return answer


def assemble(text: str, level: str) -> bytes:
    """A module's machine code for sm_90."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(text)
        subprocess.run([assembler.ptxas(), "-arch=sm_90", "-w", level, str(source), "-o", str(target)], check=True)
        return target.read_bytes()


def cells(kernels: Sequence[Kernel], tables: Sequence[list[tuple[int, ...]]]) -> list[np.ndarray]:
    """Each kernel's operand rows as its input buffer."""
    found = []
    for own, table in zip(kernels, tables, strict=True):
        data = np.zeros((len(table), STRIDE // 8), np.uint64)
        width = len(cell_types(own.inputs))
        data[:, :width] = np.array([words(row, own.inputs) for row in table], np.uint64).reshape(len(table), width)
        found.append(data)
    return found


Chunk = list[tuple[Form, tuple[str, ...]]]
T = TypeVar("T")


def assembled_modules(chunks: Iterable[T], text: Callable[[T], str]) -> Iterator[tuple[T, dict[str, bytes]]]:
    """Each chunk with the machine code of its module at both levels; as many assemblers run as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting: deque[tuple[T, dict[str, Future[bytes]]]] = deque()
        for chunk in chunks:
            own = text(chunk)
            waiting.append((chunk, {o: pool.submit(assemble, own, o) for o in ("-O0", "-O3")}))
            if len(waiting) > (os.cpu_count() or 1):
                done, code = waiting.popleft()
                yield done, {o: f.result() for o, f in code.items()}
        for done, code in waiting:
            yield done, {o: f.result() for o, f in code.items()}


def _kernels(chunk: Chunk) -> list[Kernel]:
    return [kernel(f, f"k{i}", absent) for i, (f, absent) in enumerate(chunk)]


def _module(chunk: Chunk) -> str:
    removal = chunk[0][0].removal
    return module(_kernels(chunk), *assembler.FORMER[removal[1]]) if removal else module(_kernels(chunk))


def main(folder: str, *opcodes: str, profile: str = "hopper") -> int:
    """Record everything; with `opcodes`, the forms of these that are functions of their operands, and all effects. The other
    answers of the folder are kept, if the same device, driver and assembler gave them."""
    gpu = Gpu()
    choices = Profile(profile)
    asked = [f for f in forms() if comparable(f) and (not opcodes or f.syntax.opcode in opcodes)]
    cases = [(v, absent) for f in asked for v in f.variants for absent in f.absences]
    into, out_of = gpu.allocate(ROWS * STRIDE), gpu.allocate(ROWS * STRIDE)
    answers: dict[str, np.ndarray] = {}
    summary: list[dict[str, Any]] = []
    chunks = []
    for gone in (None, *assembler.FORMER):  # a module has one version and target
        same = [c for c in cases if (c[0].removal[1] if c[0].removal else None) == gone]
        chunks += [same[begin : begin + _CHUNK] for begin in range(0, len(same), _CHUNK)]
    for chunk, code in assembled_modules(chunks, _module):
        kernels = _kernels(chunk)
        meanings = [f.meaning(absent) for f, absent in chunk]
        tables = [table_of(f, m) for (f, _), m in zip(chunk, meanings, strict=True)]
        own_cases = [(f, m) for (f, _), m in zip(chunk, meanings, strict=True)]
        ours = expected(own_cases, tables, choices)
        images = {level: gpu.load(cubin) for level, cubin in code.items()}
        for own, meaning, table, data, want in zip(
            kernels, meanings, tables, cells(kernels, tables), ours, strict=True
        ):
            types = cell_types(t for t, _ in results_of(meaning))
            got = {level: gpu.run(image, own.name, data, into, out_of) for level, image in images.items()}
            narrow = {
                level: [
                    (g[:, i] & np.uint64((1 << max(t.width, 16 if t.kind == "pred" else 0)) - 1))
                    for i, t in enumerate(types)
                ]
                for level, g in got.items()
            }
            differs = {
                level: wrong(meaning, table, np.stack(columns, axis=1), want, choices)
                for level, columns in narrow.items()
            }
            levels = np.any([a != b for a, b in zip(narrow["-O0"], narrow["-O3"], strict=True)], axis=0)
            form = str(own.form)
            answers[form] = np.stack(narrow["-O3"], axis=1).astype(f"u{max(max(t.bytes, 1) for t in types)}")
            row = {
                "form": form,
                "rows": len(table),
                "O0": int(differs["-O0"].sum()),
                "O3": int(differs["-O3"].sum()),
                "levels": int(levels.sum()),
            }
            summary.append(row)
            for i in np.flatnonzero(differs["-O0"] | differs["-O3"] | levels)[:SHOWN]:
                operands = ", ".join(map(hex, table[i]))
                shown = "not allowed" if want is None else [hex(int(w)) for w in want[i]]
                gave = {level: [hex(int(n[i])) for n in columns] for level, columns in narrow.items()}
                print(f"{form} of {operands}: ours {shown}, -O0 {gave['-O0']}, -O3 {gave['-O3']}")
        for image in images.values():
            gpu.call("cuModuleUnload", image)
    facts = {
        "device": gpu.name,
        "driver": gpu.driver,
        "ptxas": assembler.version(),
        "date": datetime.date.today().isoformat(),
        "rows": ROWS,
        "seed": SEED,
        "profile": profile,
    }
    differing = [r for r in summary if r["O0"] or r["O3"] or r["levels"]]
    if opcodes:
        before = read(Path(folder))
        if before is None or any(before.facts[k] != facts[k] for k in ("device", "driver", "ptxas", "seed", "profile")):
            raise GpuError(
                f"{folder} has no answers of this device, driver and assembler to which others could be added"
            )
        wanted = {str(v): v for f in forms() if comparable(f) for v in f.variants}
        both = {**before.values, **answers}
        answers = {name: both[name] for name in wanted}
        differing = [
            d for d in before.facts["differences"] if wanted[d["form"]].syntax.opcode not in opcodes
        ] + differing
    write(Path(folder), facts, answers, differing)
    print(json.dumps(facts))
    print(f"{len(summary)} forms, {len(differing)} with differences")
    by_opcode: dict[str, list[int]] = {}
    for r in differing:
        counts = by_opcode.setdefault(r["form"].split(".")[0], [0, 0, 0, 0])
        for i, value in enumerate((1, r["O0"], r["O3"], r["levels"])):
            counts[i] += value
    for opcode, counts in sorted(by_opcode.items()):
        print(f"{opcode:<8} forms {counts[0]:>4}  rows -O0 {counts[1]:>6}  -O3 {counts[2]:>6}  -O0/-O3 {counts[3]:>6}")
    answered, unlike = warps.record(gpu, Path(folder), facts)
    print(f"{answered} forms of warps and barriers, {unlike} with differences")
    answered, unlike = effects.record(gpu, Path(folder), facts)
    print(f"{answered} forms with effects, {unlike} with differences")
    answered, unlike = clusters.record(gpu, Path(folder), facts)
    print(f"{answered} kernels in clusters, {unlike} with differences")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
