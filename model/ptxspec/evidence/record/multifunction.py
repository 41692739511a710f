"""All that a GPU's multifunction unit answers: `python -m ptxspec.evidence.multifunction FOLDER` on a machine that has one.

There is no second definition here. The GPU only answers: for 2^32 operands of each instruction it keeps a checksum a block of
2^23, and for a sample of operands the answers themselves. What the pages define is compiled by the native engine, on any machine,
and held against the checksums: `python -m ptxspec.evidence.multifunction FOLDER --compare [BLOCKS]` does it for as many blocks of
each instruction, evenly spread, or for all, in which case compared.json keeps the outcome. On the machine with the GPU only the
CUDA driver, ptxas and NumPy are needed.

The operand of number i is i itself for single precision, and i in the upper word where only that word of a double counts.
Pairs, and whole double-precision operands, are made from i by a hash, with zeros, subnormal numbers, infinities and NaNs more
often than by chance. The checksum of a block is the sum of mix(mix(i) + answer) modulo 2^64.
"""

from __future__ import annotations

import ctypes
import datetime
import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.recorded import FOLDER
from ptxspec.terms.core import variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.types import TYPES

#: the answers that are kept with the project
KEPT = FOLDER / "multifunction"
BLOCKS, BLOCK = 512, 1 << 23
_CTAS, _THREADS = 64, 256
_WORD = (1 << 64) - 1

# Operands --------------------------------------------------------------------------------------------------------------

#: what the hash's low four bits make of a random operand: (bits that stay, bits that are set)
_SINGLE = [
    (0x80000000, 0),  # a zero
    (0x807FFFFF, 0),  # a subnormal number
    (0xFFFFFFFF, 0x7E000000),  # a number above 2^125, or a NaN
    (0x80FFFFFF, 0x00800000),  # a number from 2^-126 to 2^-125
    (0x80000000, 0x7F800000),  # an infinity
    (0xFF800000, 0),  # a power of two
]
_DOUBLE = [
    (1 << 63, 0),
    (0x800FFFFFFFFFFFFF, 0),
    (_WORD, 0x7FF0000000000000),  # a NaN
    (0xFFF0000000000000, 0),
    (0x7FFFFFFF00000000, 0),  # a lower word of zero
    (0x000000000FFFFFFF, 0),  # a small subnormal number
    (0x7FF00000000FFFFF, 0),
    (1 << 63, 0x7FF0000000000000),
    *[(0x7FFFFFFFFFFFFFFF, 0)] * 6,  # a positive number
]


def _masks(special: list[tuple[int, int]], width: int) -> tuple[list[int], list[int]]:
    whole = [*special, *[((1 << width) - 1, 0)] * (16 - len(special))]
    return [keep for keep, _ in whole], [put for _, put in whole]


def mix(z: np.ndarray) -> np.ndarray:
    """A hash of 64 bits (the finalizer of splitmix64)."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _special(value: np.ndarray, choose: np.ndarray, special: list[tuple[int, int]], width: int) -> np.ndarray:
    keep, put = (np.array(m, np.uint64) for m in _masks(special, width))
    at = (choose & np.uint64(15)).astype(np.intp)
    return (value & keep[at]) | put[at]


def operands(kind: str, i: np.ndarray) -> list[np.ndarray]:
    """The operands of the numbers i, as columns of raw bits. `kind` is single, upper, double or pair."""
    if kind == "single":
        return [i.astype(np.uint32)]
    if kind == "upper":
        return [i << np.uint64(32)]
    value, choose = mix(i * np.uint64(2)), mix(i * np.uint64(2) + np.uint64(1))
    if kind == "double":
        return [_special(value, choose, _DOUBLE, 64)]
    first, second = value & np.uint64(0xFFFFFFFF), value >> np.uint64(32)
    return [
        _special(first, choose, _SINGLE, 32).astype(np.uint32),
        _special(second, choose >> np.uint64(8), _SINGLE, 32).astype(np.uint32),
    ]


# Instructions ----------------------------------------------------------------------------------------------------------


class Function(NamedTuple):
    """An instruction, the kind of its operands, and the page's function that says what it gives."""

    instruction: str
    kind: str
    page: str
    name: str
    static: tuple[bool, ...] = ()

    @property
    def width(self) -> int:
        return 32 if self.kind in ("single", "pair") else 64

    @property
    def meaning(self) -> Meaning:
        type = TYPES[f"f{self.width}"]
        names = ("x", "y") if self.kind == "pair" else ("x",)
        variables = [variable(n, self.width) for n in names]
        function = getattr(importlib.import_module(f"ptxspec.spec.multifunction_unit.{self.page}"), self.name)
        inputs = tuple(Input(n, type, (v,)) for n, v in zip(names, variables, strict=True))
        return Meaning(inputs, (Result(type, (function(*variables, *self.static),)),), None)


def _functions() -> Iterator[Function]:
    pages = {"rcp": "reciprocal", "rsqrt": "reciprocal_root", "sqrt": "root", "lg2": "logarithm", "ex2": "power"}
    for ftz in (True, False):
        suffix = ".ftz.f32" if ftz else ".f32"
        for opcode, page in pages.items():
            yield Function(f"{opcode}.approx{suffix}", "single", page, f"approximate_{opcode}", (ftz,))
        for opcode in ("sin", "cos"):
            yield Function(f"{opcode}.approx{suffix}", "single", "sine", f"approximate_{opcode}")
        yield Function(f"div.approx{suffix}", "pair", "reciprocal", "approximate_div", (ftz,))
        yield Function(f"div.full{suffix}", "pair", "reciprocal", "full_range_div", (ftz,))
    yield Function("tanh.approx.f32", "single", "hyperbolic_tangent", "approximate_tanh")
    yield Function("rcp.approx.ftz.f64", "upper", "reciprocal", "approximate_rcp_double")
    yield Function("rsqrt.approx.ftz.f64", "upper", "reciprocal_root", "approximate_rsqrt_upper_word")
    yield Function("rsqrt.approx.f64", "double", "reciprocal_root", "approximate_rsqrt_double")


FUNCTIONS = tuple(_functions())


def compiled(functions: Iterable[Function]) -> list[Callable[[list[np.ndarray]], np.ndarray]]:
    """For each function its definition as compiled code, from columns of operands to the results."""
    from ptxspec.evidence.agreement import compile_loops, ones

    loops = compile_loops([f.meaning for f in functions], ones, level=2)
    return [lambda columns, loop=loop: loop(columns)[0] for loop in loops]  # type: ignore[misc]


# Checksums -------------------------------------------------------------------------------------------------------------


def checksum(function: Function, run: Callable[[list[np.ndarray]], np.ndarray], block: int, part: int = 1 << 19) -> int:
    """What a definition gives for a block, computed in parts that fit into the processor's caches."""
    total = 0
    with np.errstate(over="ignore"):
        for start in range(block * BLOCK, (block + 1) * BLOCK, part):
            i = np.arange(start, start + part, dtype=np.uint64)
            answer = run(operands(function.kind, i)).astype(np.uint64)
            total += int(mix(mix(i) + answer).sum(dtype=np.uint64))
    return total & _WORD


def differing(function: Function, recorded: np.ndarray, blocks: Iterable[int]) -> list[int]:
    """Those of the blocks whose answers are not what the definition gives."""
    (run,) = compiled([function])
    return [block for block in blocks if checksum(function, run, block) != int(recorded[block])]


def table_digests() -> dict[str, str]:
    """By page, the SHA-256 digest of its table's coefficients, written in decimal with commas: all A, all B, all C."""
    found = {}
    for page in sorted({f.page for f in FUNCTIONS}):
        table = importlib.import_module(f"ptxspec.spec.multifunction_unit.{page}").TABLE
        numbers = ",".join(str(n) for column in table for n in column)
        found[page] = hashlib.sha256(numbers.encode()).hexdigest()
    return found


class Answers(NamedTuple):
    """A folder of answers, read: checksums by instruction, sample operands by kind, sample answers by instruction."""

    facts: dict[str, Any]
    blocks: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
    answers: dict[str, np.ndarray]


def read(folder: Path = KEPT) -> Answers:
    """Raises ValueError if the files are not what was recorded."""
    facts = json.loads((folder / "summary.json").read_text())
    found: dict[str, dict[str, np.ndarray]] = {}
    for name in ("blocks", "samples", "answers"):
        place = folder / f"{name}.npz"
        if hashlib.sha256(place.read_bytes()).hexdigest() != facts["digests"][name]:
            raise ValueError(f"{place}: the digest is not the recorded one")
        with np.load(place) as stored:
            found[name] = {key: stored[key] for key in stored.files}
    return Answers(facts, **found)


class Comparison(NamedTuple):
    """What holding a definition against the answers to many operands gave. A checksum tells of a block whether any operand in it
    differs; if none does, no operand does."""

    operands: int
    which: str
    blocks: int
    differing_blocks: int
    date: str
    device: str

    @property
    def differing(self) -> int | None:
        """How many operands differ; None if some do, which blocks alone do not count."""
        return None if self.differing_blocks else 0

    def __str__(self) -> str:
        if self.differing_blocks:
            return (
                f"{self.differing_blocks} of {self.blocks} blocks of {self.operands // self.blocks:,} operands differ"
            )
        return f"0 of {self.operands:,} operands differ"

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "differing": self.differing, "text": str(self)}


#: which operands the numbers stand for, by the kind of the instruction's operands
WHICH = {
    "single": "every operand",
    "upper": "every upper word",
    "double": "operands made by a hash",
    "pair": "pairs of operands made by a hash",
}


def comparisons(folder: Path = KEPT) -> dict[str, Comparison]:
    """What compared.json keeps, by instruction; {} if there is none, or if it is of other answers or of other tables."""
    try:
        kept = json.loads((folder / "compared.json").read_text())
        facts = json.loads((folder / "summary.json").read_text())
    except OSError:
        return {}
    if kept["checksums"] != facts["digests"]["blocks"] or kept["tables"] != table_digests():
        return {}
    kinds = {f.instruction: WHICH[f.kind] for f in FUNCTIONS}
    return {
        name: Comparison(facts["operands"], kinds[name], kept["blocks"], count, kept["date"], facts["device"])
        for name, count in kept["differing"].items()
    }


# Samples ---------------------------------------------------------------------------------------------------------------


def _near(patterns: Iterable[int], width: int) -> list[int]:
    """Patterns, those beside them, and all of these with the sign."""
    sign = 1 << (width - 1)
    return sorted({(p + d & (sign - 1)) | s for p in patterns for d in (-1, 0, 1) for s in (0, sign)})


def samples() -> dict[str, list[np.ndarray]]:
    """Operands by kind: the borders of exponents and of segments, whole numbers, and 900 random ones."""
    random = np.random.default_rng(20261121)
    special = [0, 1, 0x7FFFFF, 0x800000, 0x7F800000, 0x7FC00000, 0x7FFFFFFF]
    borders = [e << 23 for e in (1, 2, 64, 102, 103, 104, 125, 126, 127, 128, 129, 133, 134, 150, 252, 253, 254)]
    segments = [0x3F800000 + (s << 17) for s in range(0, 128, 3)]
    whole = [int(np.float32(n).view(np.uint32)) for n in (3, 5, 17, 100, 126, 127, 149, 150, 151)]
    edges = _near([*special, *borders, *segments, *whole], 32)
    i = random.integers(0, 1 << 32, 900, np.uint64)
    single = np.concatenate([np.array(edges, np.uint32), i.astype(np.uint32)])
    wide = _near([e << 52 for e in (0, 1, 2, 1021, 1022, 1023, 1024, 1025, 2044, 2045, 2046, 2047)], 64)
    wide += _near([(0x3FF << 52) + (s << 46) for s in range(0, 128, 5)], 64)
    double = np.concatenate([np.array(wide, np.uint64), *(operands(kind, i)[0] for kind in ("upper", "double"))])
    some = np.array(_near([*special, 0x7E800000, 0x3F800000], 32), np.uint32)
    crossed = [a.ravel() for a in np.meshgrid(some, some)]
    pair = [np.concatenate([a, b]) for a, b in zip(crossed, operands("pair", i), strict=True)]
    return {"single": [single], "upper": [double], "double": [double], "pair": pair}


# The GPU ---------------------------------------------------------------------------------------------------------------


def _mixed(d: str, s: str) -> list[str]:
    """PTX of `mix`."""
    text = [f"add.u64 {d}, {s}, 0x9E3779B97F4A7C15;"]
    for shift, factor in ((30, "0xBF58476D1CE4E5B9"), (27, "0x94D049BB133111EB"), (31, "")):
        text += [f"shr.u64 %t, {d}, {shift};", f"xor.b64 {d}, {d}, %t;"]
        text += [f"mul.lo.u64 {d}, {d}, {factor};"] if factor else []
    return text


def _made(function: Function) -> list[str]:
    """PTX of `operands`: %i to %x0, %x1."""
    if function.kind == "single":
        return ["mov.u64 %x0, %i;"]
    if function.kind == "upper":
        return ["shl.b64 %x0, %i, 32;"]
    text = ["shl.b64 %k, %i, 1;", *_mixed("%x0", "%k"), "add.u64 %k, %k, 1;", *_mixed("%w", "%k")]
    if function.kind == "pair":
        text += ["shr.u64 %x1, %x0, 32;", "and.b64 %x0, %x0, 0xFFFFFFFF;"]
    for x in ("%x0", "%x1") if function.kind == "pair" else ("%x0",):
        text += ["and.b64 %k, %w, 15;", "shl.b64 %k, %k, 3;", f"mov.u64 %a, keep{function.width};"]
        text += [
            "add.u64 %a, %a, %k;",
            "ld.const.u64 %t, [%a];",
            f"and.b64 {x}, {x}, %t;",
            f"mov.u64 %a, put{function.width};",
        ]
        text += ["add.u64 %a, %a, %k;", "ld.const.u64 %t, [%a];", f"or.b64 {x}, {x}, %t;", "shr.u64 %w, %w, 8;"]
    return text


def _executed(function: Function) -> list[str]:
    """PTX of the instruction: %x0, %x1 to %y."""
    sources = ["%x0", "%x1"] if function.kind == "pair" else ["%x0"]
    if function.width == 64:
        return [f"mov.b64 %d0, {sources[0]};", f"{function.instruction} %dy, %d0;", "mov.b64 %y, %dy;"]
    text = []
    for k, s in enumerate(sources):
        text += [f"cvt.u32.u64 %u{k}, {s};", f"mov.b32 %f{k}, %u{k};"]
    shown = ", ".join(f"%f{k}" for k in range(len(sources)))
    return [*text, f"{function.instruction} %fy, {shown};", "mov.b32 %u0, %fy;", "cvt.u64.u32 %y, %u0;"]


def kernels() -> str:
    """A module with two kernels a function: blocks<k>(sums) and sample<k>(in, out)."""
    head = [".version 9.0", ".target sm_90", ".address_size 64"]
    for width, special in ((32, _SINGLE), (64, _DOUBLE)):
        for name, mask in zip(("keep", "put"), _masks(special, width), strict=True):
            head.append(f".const .align 8 .b64 {name}{width}[16] = {{ {', '.join(map(hex, mask))} }};")
    registers = [
        ".reg .u64 %i, %k, %t, %w, %a, %x0, %x1, %y, %h, %sum, %end, %in, %out;",
        ".reg .u32 %u0, %u1;",
        ".reg .f32 %f0, %f1, %fy;",
        ".reg .f64 %d0, %dy;",
        ".reg .pred %more;",
    ]
    thread = ["mov.u32 %u0, %ctaid.x;", f"mul.wide.u32 %i, %u0, {_THREADS};", "mov.u32 %u0, %tid.x;"]
    thread += ["cvt.u64.u32 %t, %u0;", "add.u64 %i, %i, %t;"]
    for k, function in enumerate(FUNCTIONS):
        head += [
            f".visible .entry blocks{k}(.param .u64 sums)",
            "{",
            *registers,
            *thread,
            "ld.param.u64 %out, [sums];",
            "mov.u32 %u0, %ctaid.y;",
            "mul.wide.u32 %t, %u0, 8;",
            "add.u64 %out, %out, %t;",
            f"mul.wide.u32 %t, %u0, {BLOCK};",
            "add.u64 %i, %i, %t;",
            f"add.u64 %end, %t, {BLOCK};",
            "mov.u64 %sum, 0;",
            "loop:",
            *_made(function),
            *_executed(function),
            *_mixed("%h", "%i"),
            "add.u64 %h, %h, %y;",
            *_mixed("%w", "%h"),
            "add.u64 %sum, %sum, %w;",
            f"add.u64 %i, %i, {_CTAS * _THREADS};",
            "setp.lt.u64 %more, %i, %end;",
            "@%more bra loop;",
            "red.global.add.u64 [%out], %sum;",
            "ret;",
            "}",
            f".visible .entry sample{k}(.param .u64 in, .param .u64 out)",
            "{",
            *registers,
            *thread,
            "ld.param.u64 %in, [in];",
            "ld.param.u64 %out, [out];",
            "shl.b64 %t, %i, 4;",
            "add.u64 %in, %in, %t;",
            "shl.b64 %t, %i, 3;",
            "add.u64 %out, %out, %t;",
            "ld.global.u64 %x0, [%in];",
            "ld.global.u64 %x1, [%in+8];",
            *_executed(function),
            "st.global.u64 [%out], %y;",
            "ret;",
            "}",
        ]
    return "\n".join([*head, ""])


def measure(folder: Path) -> dict[str, Any]:
    """Ask the GPU, and write blocks.npz, samples.npz, answers.npz and summary.json."""
    from ptxspec.evidence import assembler
    from ptxspec.evidence.gpu import Gpu, GpuError, assemble

    gpu = Gpu()
    taken = samples()
    blocks: dict[str, dict[str, np.ndarray]] = {}
    answers: dict[str, dict[str, np.ndarray]] = {}
    for level in ("-O3", "-O0"):
        image = gpu.load(assemble(kernels(), level))
        blocks[level], answers[level] = {}, {}
        for k, function in enumerate(FUNCTIONS):
            (sums,) = _launch(gpu, image, f"blocks{k}", (_CTAS, BLOCKS), [np.zeros(BLOCKS, np.uint64)])
            blocks[level][function.instruction] = sums
            columns = taken[function.kind]
            count = len(columns[0])
            ctas = -(-count // _THREADS)
            cells = np.zeros((ctas * _THREADS, 2), np.uint64)
            for j, column in enumerate(columns):
                cells[:count, j] = column
            _, got = _launch(gpu, image, f"sample{k}", (ctas, 1), [cells, np.zeros(len(cells), np.uint64)])
            answers[level][function.instruction] = got[:count].astype(f"u{function.width // 8}")
    for found in (blocks, answers):
        for name, value in found["-O3"].items():
            if not np.array_equal(value, found["-O0"][name]):
                raise GpuError(f"{name}: other answers at -O0 than at -O3")
    folder.mkdir(parents=True, exist_ok=True)
    stored = {
        "blocks": blocks["-O3"],
        "samples": {f"{kind}{j}": column for kind, columns in taken.items() for j, column in enumerate(columns)},
        "answers": answers["-O3"],
    }
    digests = {}
    for name, arrays in stored.items():
        np.savez_compressed(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        digests[name] = hashlib.sha256((folder / f"{name}.npz").read_bytes()).hexdigest()
    facts = {
        "device": gpu.name,
        "driver": gpu.driver,
        "ptxas": assembler.version(),
        "date": datetime.date.today().isoformat(),
        "digests": digests,
        "operands": BLOCKS * BLOCK,
        "instructions": [f.instruction for f in FUNCTIONS],
    }
    (folder / "summary.json").write_text(json.dumps(facts, indent=1) + "\n")
    return facts


def _launch(gpu: Any, image: Any, name: str, grid: tuple[int, int], buffers: list[np.ndarray]) -> list[np.ndarray]:
    """Run a kernel on copies of the buffers; the copies as it leaves them."""
    function = ctypes.c_void_p()
    gpu.call("cuModuleGetFunction", ctypes.byref(function), image, name.encode())
    places = [gpu.allocate(b.nbytes) for b in buffers]
    for place, b in zip(places, buffers, strict=True):
        gpu.call("cuMemcpyHtoD_v2", place, b.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(b.nbytes))
    pointers = (ctypes.c_void_p * len(places))(*[ctypes.addressof(p) for p in places])
    gpu.call("cuLaunchKernel", function, *grid, 1, _THREADS, 1, 1, 0, None, pointers, None)
    gpu.call("cuCtxSynchronize")
    after = []
    for place, b in zip(places, buffers, strict=True):
        copy = np.empty_like(b)
        gpu.call("cuMemcpyDtoH_v2", copy.ctypes.data_as(ctypes.c_void_p), place, ctypes.c_size_t(b.nbytes))
        gpu.call("cuMemFree_v2", place)
        after.append(copy)
    return after


def main(folder: str, *options: str) -> int:
    if options[:1] != ("--compare",):
        print(json.dumps(measure(Path(folder))))
        return 0
    recorded = read(Path(folder))
    count = int(options[1]) if len(options) > 1 else BLOCKS
    wrong: dict[str, int] = {}
    for function in FUNCTIONS:
        chosen = sorted({k * BLOCKS // count for k in range(count)})
        found = differing(function, recorded.blocks[function.instruction], chosen)
        wrong[function.instruction] = len(found)
        print(f"{function.instruction:<22} {len(chosen)} blocks, {len(found)} differ {found[:8]}", flush=True)
    if count == BLOCKS:
        outcome = {
            "date": datetime.date.today().isoformat(),
            "checksums": recorded.facts["digests"]["blocks"],
            "tables": table_digests(),
            "blocks": BLOCKS,
            "differing": wrong,
        }
        Path(folder, "compared.json").write_text(json.dumps(outcome, indent=1) + "\n")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
