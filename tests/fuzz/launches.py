"""Whole random modules, launched some times under the exact engine and under the native one: every byte, every step and every
diagnostic is the same. A case is a module with its launches; `launches` in what was seen counts pairs of launches."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from fuzzing import Finding, Unfit

import ptxspec
from ptxspec.literate.finder import install
from ptxspec.machine.native import code
from ptxspec_workshop.generate.fuzzing import layout, random_module, statement_kinds
from ptxspec_workshop.generate.fuzzing.surroundings import ModuleImage, Surroundings

install()
SCHEDULE: Any = importlib.import_module("ptxspec.spec.machine.schedule")
LIMITS: Any = importlib.import_module("ptxspec.spec.machine.limits")

SECONDS, GIBIBYTES = 60, 8
LAUNCHES = 10
ENGINES = ("exact", "native")
#: fast code at once, after the first launch, and when it is worth its time
PATIENCE = (0.0, 1e-9, code.PATIENCE)
STEPS = 100_000
#: of an outcome, in the order in which they are compared
PARTS = ("rule", "where", "address", "note", "text", "steps", "unit", "printed", "out", "surfaces", "variables")


def make(seed: int) -> list[str]:
    return [random_module.varied(seed).text()]


class Launch(NamedTuple):
    """What a launch is given beside its arrays."""

    grid: tuple[int, int]
    block: tuple[int, int]
    cluster: int | None
    dynamic: int
    mode: int
    limit: int
    rows: np.ndarray
    block_of_bytes: bytes
    schedule: str
    times: int = 1
    """how often it is repeated with the same arrays"""

    @property
    def threads(self) -> int:
        return self.grid[0] * self.grid[1] * self.block[0] * self.block[1]


def planned(seed: int, module: Surroundings) -> list[Launch]:
    """The launches of a seed's module."""
    source = random.Random(f"launches {seed}")
    return [drawn(source, module) for _ in range(LAUNCHES)]


def drawn(source: random.Random, module: Surroundings) -> Launch:
    """A launch of a module."""
    cluster = source.choice([None, 1, 2, 4]) if "clusters" in module.features else source.choice([None] * 9 + [2])
    wide = source.choices(
        [1, 2, source.randint(3, 8), source.randint(9, 31), 32, 33, 40, 64], (8, 8, 35, 15, 8, 10, 8, 8)
    )[0]
    block = (wide, 1) if source.random() < 0.8 else (max(1, wide // 3), 3)
    grid = (source.choice([1, 1, 2, 3]) if block[0] < 30 else 1, source.choice([1, 1, 1, 2]) if block[0] < 9 else 1)
    grid = (grid[0] * (cluster or 1), grid[1])
    dynamic = 0
    if "dynamic" in module.features:
        dynamic = source.choice([64, 64, 100, 4096]) if source.random() < 0.93 else source.choice([0, 4, 60])
    mode = source.randint(1, module.hazards) if module.hazards and source.random() < 0.3 else 0
    limit = STEPS if source.random() < 0.97 else source.randint(1, 2000)
    rows = layout.inputs(source.randrange(1 << 32))
    schedule = source.choice(["round-robin", "warps"])
    return Launch(grid, block, cluster, dynamic, mode, limit, rows, source.randbytes(64), schedule)


def image(shape: ModuleImage, seed: int) -> Any:
    """The image that stands for a name."""
    rng = np.random.default_rng(seed)
    axes = {"1d": (7,), "2d": (5, 6), "3d": (3, 4, 5), "a1d": (3, 7), "a2d": (2, 4, 5), "cube": (6, 4, 4)}[
        shape.geometry
    ]
    if shape.opaque == "surfref":
        texels = rng.integers(0, 100, (*axes, shape.channels)).astype(shape.dtype)
        return ptxspec.Surface(texels, shape.geometry)
    texels = (
        rng.normal(0, 50, (*axes, shape.channels))
        if "float" in shape.dtype
        else rng.integers(0, 120, (*axes, shape.channels))
    ).astype(shape.dtype)
    modes = ["wrap", "mirror", "clamp", "border"] if shape.normalized else ["clamp", "border"]
    return ptxspec.Texture(
        texels, shape.geometry, filter=shape.filter, normalized_coords=shape.normalized, address=str(rng.choice(modes)),
        read="normalized_float" if shape.fractions else "element",
    )  # fmt: skip


class Loaded:
    """A module under one engine, with what it is bound to."""

    def __init__(self, text: str, engine: str, module: Surroundings, seed: int):
        try:
            self.module = ptxspec.load(text)
        except ptxspec.PtxError as error:
            raise Unfit(str(error)) from None
        self.engine = engine
        self.surfaces = []
        for bank, name in enumerate(("one", "two", "ten")):
            if name in self.module.checked.places:
                self.module.write(name, np.random.default_rng(bank).bytes(64))
        for i, shape in enumerate((*module.textures, *module.surfaces)):
            if shape.name in self.module.checked.places:
                thing = image(shape, seed + i)
                self.module.bind(shape.name, thing)
                self.surfaces += [thing] if shape.opaque == "surfref" else []

    def outcome(self, launch: Launch) -> dict[str, Any]:
        """What a launch did, part by part."""
        rows, out = launch.rows.copy(), np.zeros((launch.threads, layout.CELLS), np.uint64)
        rows.flags.writeable = False
        printed: list[str] = []
        self.module.write("mode", launch.mode.to_bytes(4, "little"))
        found: dict[str, Any] = {"rule": "", "steps": [], "unit": "none"}
        before = out.copy()
        try:
            prepared = self.module.prepared(
                "k", launch.grid, launch.block, engine=self.engine, cluster=launch.cluster, dynamic_shared=launch.dynamic,
                step_limit=launch.limit, printed=printed.append, schedule=launch.schedule,
            )  # fmt: skip
            found["unit"] = "warps" if prepared._plan.program.flow.by_warps else "threads"
            for _ in range(launch.times):
                before = out.copy()
                found["steps"].append(prepared.launch([rows, out, launch.block_of_bytes]).steps)
        except ptxspec.LaunchError as error:
            found |= {
                "rule": error.rule,
                "note": error.note,
                "where": error.where,
                "address": error.address,
                "text": str(error),
            }
            if not np.array_equal(out, before):
                raise Finding("arrays after a fault", f"{self.engine}: {error}\nthe array was changed") from None
        except ValueError as error:  # for arguments that do not fit
            found["rule"] = f"ValueError: {error}"
        found["printed"] = "".join(printed)
        found["out"] = out.tobytes()
        found["surfaces"] = [s.texels.tobytes() for s in self.surfaces]
        found["variables"] = [
            bytes(self.module.read(n))
            for n in ("seen", "cells_of_all", "common_of_all")
            if n in self.module.checked.places
        ]
        return found


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    module = random_module.varied(seed).surroundings
    return compared(seed, module, texts, planned(seed, module))


def compared(
    seed: int,
    module: Surroundings,
    texts: Sequence[str],
    launches: Sequence[Launch],
    patience: Sequence[float] = PATIENCE,
) -> Counter[str]:
    """What was seen in the launches of a module, which are the same under both engines. One of `patience` is how soon fast code
    is made."""
    with _knobs(seed, patience):
        return _compared(seed, module, texts, launches)


def _compared(seed: int, module: Surroundings, texts: Sequence[str], launches: Sequence[Launch]) -> Counter[str]:
    exact, native = (Loaded(texts[0], engine, module, seed) for engine in ENGINES)
    seen: Counter[str] = Counter()
    for number, launch in enumerate(launches):
        one, other = exact.outcome(launch), native.outcome(launch)
        for part in PARTS:
            if one.get(part) != other.get(part):
                raise Finding(f"{part} differ", _shown(number, launch, one, other, part))
        seen.update(("launches", f"wanted: {launch.schedule}", f"unit: {other['unit']}"))
        seen[f"rule: {one['rule'].split(':')[0]}" if one["rule"] else "ended"] += 1
    marks = np.frombuffer(bytes(native.module.read("seen")), np.uint8)
    seen.update({f"executed: {what}": 1 for what, mark in zip(statement_kinds.PLACES, marks, strict=False) if mark})
    return seen


@contextmanager
def _knobs(seed: int, patience: Sequence[float]) -> Iterator[None]:
    """Numbers on which no result depends, and which both engines share: smaller ones bring what is rare otherwise, several batches,
    turns that are over, blocks that are preferred no more. They are as before afterwards."""
    source = random.Random(f"knobs {seed}")
    resident = source.choice([2048, 128, 64, 64, 64])
    round_, turn = source.choice([100_000, 1000, 60]), source.choice([1024, 1024, 100, 1])
    large, piece = source.choice([(code.LARGE, code.PIECE)] * 4 + [(0, 200), (0, 2000)])
    knobs = {
        (code, "LARGE"): large,
        (code, "PIECE"): piece,
        (code, "PATIENCE"): source.choice(patience),
        (LIMITS, "RESIDENT"): resident,
        (LIMITS, "RESIDENT_WITH_IMAGES"): resident,
        (LIMITS, "RESIDENT_IN_CLUSTERS"): max(resident, 256),
        (SCHEDULE, "ROUND"): round_,
        (SCHEDULE, "TURN"): turn,
    }
    before = {knob: getattr(*knob) for knob in knobs}
    try:
        for knob, value in knobs.items():
            setattr(*knob, value)
        yield
    finally:
        for knob, value in before.items():
            setattr(*knob, value)


def _shown(number: int, launch: Launch, one: dict[str, Any], other: dict[str, Any], part: str) -> str:
    shown = f"launch {number}: grid {launch.grid}, block {launch.block}, cluster {launch.cluster}, mode {launch.mode}, "
    shown += f"limit {launch.limit}, {launch.schedule}\n"
    a, b = one.get(part), other.get(part)
    if part in ("out",):
        x, y = (np.frombuffer(v, np.uint64).reshape(-1, layout.CELLS) for v in (a, b))
        rows, names = np.argwhere(x != y)[:8], layout.CELL_NAMES
        return shown + "\n".join(f"thread {t} {names[c]}: exact {x[t, c]:#x}, native {y[t, c]:#x}" for t, c in rows)
    return shown + f"exact: {one.get('text') or str(a)[:600]}\nnative: {other.get('text') or str(b)[:600]}"
