"""Accesses to images as events: both engines tell the same, of the texels that the lookup's rule reads, where NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_textures_and_surfaces import ENGINES, look_up, surface_kernel, words

import ptxspec
from ptxspec import EventKind

pytestmark = pytest.mark.sample(8)

ACCESSES = (EventKind.READ, EventKind.WRITE)
RNG = np.random.default_rng(7)
D = "{%y0, %y1, %y2, %y3}"
TWO, THREE, FOUR = "{%x0, %x1}", "{%x0, %x1, %x2, %x3}", "{%x0, %x1, %x2, %x3}"


def real(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def observed(text: str, rows: np.ndarray, engine: str, thing: Any, **how: Any) -> tuple[list[ptxspec.Event], Any]:
    """The events of accesses to the image that is bound, by a launch of one thread a row, and the launch's counts."""
    trace = ptxspec.Trace(ACCESSES)
    module = ptxspec.load(text)
    module.bind("s" if isinstance(thing, ptxspec.Surface) else "t", thing)
    out = np.zeros_like(rows)
    outcome = module.launch("k", 1, len(rows), [rows, out], engine=engine, observers=[trace], counts=True, **how)
    assert not trace.dropped
    return trace.events, outcome.counts


def both(text: str, rows: np.ndarray, make: Any, **how: Any) -> list[ptxspec.Event]:
    """The events at the image, which are the same under both engines, as are all others; the counts are what they add up to."""
    (exact, counts), (native, others) = (observed(text, rows, engine, make(), **how) for engine in ENGINES)
    assert exact == native and counts == others
    of_images = [event for event in native if event.space == "image"]
    for kind, counted in (("READ", counts.read), ("WRITE", counts.written)):
        assert counted.get("image", 0) == sum(event.size for event in of_images if event.kind == kind)
    return of_images


def at(texels: np.ndarray, *index: int) -> int:
    """The byte offset of a texel."""
    return int(np.ravel_multi_index((*index, 0), texels.shape)) * texels.itemsize


def bits(texels: np.ndarray, *index: int) -> int:
    """The number whose bytes are those of a texel."""
    return int.from_bytes(np.ascontiguousarray(texels[index]).tobytes(), "little")


#: (geometry, the array without its channels, what stands for the coordinates)
GEOMETRIES = {
    "1d": ((9,), "{%x0}"), "2d": ((5, 7), TWO), "3d": ((4, 5, 6), FOUR), "a1d": ((3, 9), TWO), "a2d": ((3, 5, 7), FOUR),
}  # fmt: skip
KINDS = {"f32": (np.float32, 1), "f32 x 4": (np.float32, 4), "f16 x 2": (np.float16, 2), "u8 x 4": (np.uint8, 4)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize("address", ["wrap", "clamp", "border"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_both_engines_tell_the_same_of_lookups(geometry: str, address: str, filter: str, kind: str) -> None:
    shape, coordinates = GEOMETRIES[geometry]
    dtype, channels = KINDS[kind]
    texels = RNG.integers(0, 200, (*shape, channels)).astype(dtype)
    how = {"address": address, "filter": filter, "normalized_coords": address == "wrap"}
    how |= {"read": "normalized_float"} if dtype is np.uint8 else {}
    positions = RNG.uniform(-3, 9, (4, 12)) * (1 / 6 if address == "wrap" else 1)
    positions[:, 0], positions[:, 1] = 2.5, -50.0  # inside in every direction, and outside
    rows = words(*positions)
    if geometry.startswith("a"):
        rows[:, 0] = RNG.integers(0, 5, 12)
    text = look_up(f"tex.{geometry}.v4.f32.f32 {D}, [t, {coordinates}];")
    events = both(text, rows, lambda: ptxspec.Texture(texels, geometry, **how))
    dimensions = len(shape) - geometry.startswith("a")
    most = 2**dimensions if filter == "linear" else 1
    numbers = [sum(event.thread == thread for event in events) for thread in range(12)]
    assert max(numbers) == most and min(numbers) == (0 if address == "border" else most)
    assert {event.size for event in events} == {texels.itemsize * channels}
    for event in events:
        assert event.value == int.from_bytes(texels.tobytes()[event.address : event.address + event.size], "little")


@pytest.mark.parametrize(
    "instruction",
    [
        "tex.level.2d.v4.f32.f32 D, [t, {%x0, %x1}], %x2;",
        "tex.grad.2d.v4.f32.f32 D, [t, {%x0, %x1}], {%x2, %x3}, {%x3, %x2};",
        "tex.level.2d.v4.f32.s32 D, [t, {%x0, %x1}], %x2;",
        "tex.2d.v4.f32.f32 D, [t, {%x0, %x1}], {1, -2};",
        "mov.u64 %d1, t; tex.2d.v4.f32.f32 D, [%d1, {%x0, %x1}];",
        "tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [t, {%x0, %x1}]; mov.b32 %y0, 0; mov.b32 %y1, 0; mov.b32 %y2, 0; mov.b32 %y3, 0;",
        "setp.lt.s32 %p, %x1, 0; @%p tex.2d.v4.f32.f32 D, [t, {%x0, %x1}]; @!%p tld4.g.2d.v4.f32.f32 D, [t, {%x1, %x0}];",
        "tld4.r.2d.v4.f32.f32 D, [t, {%x0, %x1}], {3, 1};",
        "txq.width.b32 %y0, [t]; mov.b32 %y1, 0; mov.b32 %y2, 0; mov.b32 %y3, 0;",
    ],
)
@pytest.mark.parametrize("mipmap_filter", ["nearest", "linear"])
def test_both_engines_tell_the_same_of_levels_offsets_and_gathers(instruction: str, mipmap_filter: str) -> None:
    chain = [real(8 >> n, 8 >> n, 2) for n in range(4)]
    how = {"normalized_coords": True, "filter": "linear", "address": ("border", "wrap")}
    text = look_up(".reg .pred %p; .reg .b16 %h<4>; " + instruction.replace("D", D))
    rows = words(*RNG.uniform(-0.4, 1.4, (2, 8)), *RNG.uniform(0, 2.5, (2, 8)))
    if ".s32" in instruction:
        rows = words(*RNG.integers(-1, 7, (2, 8)), RNG.integers(-1, 5, 8))
    events = both(text, rows, lambda: ptxspec.Texture(chain, mipmap_filter=mipmap_filter, **how))
    assert bool(events) == ("txq" not in instruction)
    for event in events:
        assert event.value == int.from_bytes(
            b"".join(level.tobytes() for level in chain)[event.address : event.address + event.size], "little"
        )


@pytest.mark.parametrize("mode", ["tex.cube", "tex.acube", "tld4.r.cube", "tld4.r.acube"])
def test_both_engines_tell_the_same_of_cubes(mode: str) -> None:
    faces = real(12 if "acube" in mode else 6, 4, 4, 1)
    coordinates = "{%x3, %x0, %x1, %x2}" if "acube" in mode else FOUR
    text = look_up(f"{mode}.v4.f32.f32 {D}, [t, {coordinates}];")
    rows = words(*RNG.standard_normal((3, 20)), RNG.integers(0, 2, 20))
    geometry = mode.rpartition(".")[2]
    events = both(text, rows, lambda: ptxspec.Texture(faces, geometry, filter="linear", normalized_coords=True))
    assert len(events) == 4 * 20 and {event.value for event in events} <= {int(x) for x in faces.view(np.uint32).flat}


@pytest.mark.parametrize("outside", ["clamp", "zero"])
@pytest.mark.parametrize(
    "instruction",
    [
        "suld.b.1d.b32.M %y0, [s, {%x0}];", "suld.b.2d.v2.b16.M {%h0, %h1}, [s, {%x0, %x1}]; mov.b32 %y0, 0;",
        "suld.b.3d.v4.b32.M {%y0, %y1, %y2, %y3}, [s, {%x0, %x1, %x2, %x2}];",
        "suld.b.a2d.v2.b64.M {%d0, %d1}, [s, {%x2, %x0, %x1, %x1}]; mov.b32 %y0, 0;",
        "sust.b.a1d.v4.b8.M [s, {%x2, %x0}], {%x0, %x1, %x2, %x3}; mov.b32 %y0, 0;",
        "sust.b.2d.v4.b32.M [s, {%x0, %x1}], {%x0, %x1, %x2, %x3}; mov.b32 %y0, 0;",
        "sust.p.2d.v2.b32.M [s, {%x1, %x0}], {%x2, %x3}; mov.b32 %y0, 0;",
        "sured.b.add.2d.u64.M [s, {%x0, %x1}], 3; mov.b32 %y0, 0;", "sured.p.max.1d.b32.M [s, {%x1}], %x2; mov.b32 %y0, 0;",
    ],
)  # fmt: skip
def test_both_engines_tell_the_same_of_surfaces(instruction: str, outside: str) -> None:
    geometry = next(g for g in ("a1d", "a2d", "1d", "2d", "3d") if f".{g}." in instruction)
    texels = RNG.integers(
        0, 1 << 16, {"1d": (9, 4), "2d": (5, 7, 4), "3d": (3, 5, 7, 4), "a1d": (3, 9, 4), "a2d": (3, 5, 7, 4)}[geometry]
    )
    text = surface_kernel(".reg .b16 %h<2>; " + instruction.replace(".M", f".{outside}"))
    rows = words(RNG.integers(-2, 9, 16) * 16, RNG.integers(-2, 8, 16), RNG.integers(-1, 4, 16), RNG.integers(0, 9, 16))
    rows[:2] = words([0, -16], [1, -2], [1, -1], [3, 3])  # inside in every direction, and outside
    events = both(text, rows, lambda: ptxspec.Surface(texels.astype(np.uint16), geometry))
    threads = {event.thread for event in events}
    assert len(threads) == 16 if outside == "clamp" else 0 < len(threads) < 16
    elements = int(instruction.partition(".v")[2][:1] or 1) if ".p." not in instruction else 1
    each = elements * (2 if "sured" in instruction else 1)
    assert len(events) == each * len(threads)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_nearest_texel_is_where_numpy_has_it(engine: str) -> None:
    image, volume, layers = real(5, 7, 2), real(3, 4, 5, 1), real(3, 4, 5, 1)
    rows = words(np.array([2.5, 6.9, 0.0]), np.array([1.5, 4.2, 3.0]), np.array([0.5, 2.9, 1.0]))
    text = look_up(f"tex.2d.v4.f32.f32 {D}, [t, {TWO}];")
    events, _ = observed(text, rows, engine, ptxspec.Texture(image))
    line = 1 + text[: text.index("tex.2d")].count("\n")
    assert [event for event in events if event.space == "image"] == [
        ptxspec.Event("READ", thread, line, "image", 0, at(image, y, x), 8, bits(image, y, x), 0)
        for thread, (y, x) in enumerate([(1, 2), (4, 6), (3, 0)])
    ]
    text = look_up(f"tex.3d.v4.f32.f32 {D}, [t, {FOUR}];")
    events, _ = observed(text, rows[:2], engine, ptxspec.Texture(volume, "3d", address="clamp"))
    assert [e.address for e in events if e.space == "image"] == [at(volume, 0, 1, 2), at(volume, 2, 3, 4)]
    text = look_up(f"tex.a2d.v4.f32.s32 {D}, [t, {FOUR}];")
    events, _ = observed(text, words([2, 1], [4, 0], [3, 9]), engine, ptxspec.Texture(layers, "a2d"))
    assert [(e.thread, e.address) for e in events if e.space == "image"] == [(0, at(layers, 2, 3, 4))]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_linear_lookup_reads_four_texels_and_a_gather_too(engine: str) -> None:
    image = real(5, 7, 1)
    rows = words(np.array([2.25, 0.25, 7.5]), np.array([3.5, 1.25, 0.5]))
    corners = {0: [(3, 1), (3, 2), (4, 1), (4, 2)], 1: [(0, 0), (1, 0)], 2: []}
    for instruction in ("tex.2d", "tld4.r.2d"):
        text = look_up(f"{instruction}.v4.f32.f32 {D}, [t, {TWO}];")
        events, _ = observed(text, rows, engine, ptxspec.Texture(image, address="border", filter="linear"))
        reads = [(e.kind, e.thread, e.address, e.value) for e in events if e.space == "image"]
        assert reads == [
            ("READ", thread, at(image, *index), bits(image, *index))
            for thread, texels in corners.items()
            for index in texels
        ]
    clamped, _ = observed(text, rows[1:2], engine, ptxspec.Texture(image, address="clamp", filter="linear"))
    assert [e.address for e in clamped if e.space == "image"] == [0, 0, at(image, 1, 0), at(image, 1, 0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_levels_follow_one_another(engine: str) -> None:
    chain = [real(4 >> n, 8 >> n, 1) for n in range(3)]
    text = look_up(f"tex.level.2d.v4.f32.f32 {D}, [t, {TWO}], %x2;")
    rows = words(np.array([0.3, 0.3]), np.array([0.6, 0.6]), np.array([1.0, 0.5]))
    texture = ptxspec.Texture(chain, normalized_coords=True, mipmap_filter="linear")
    first, second = at(chain[0], 2, 2), chain[0].nbytes + at(chain[1], 1, 1)
    third = chain[0].nbytes + chain[1].nbytes + at(chain[2], 0, 0)
    events, _ = observed(text, rows, engine, texture)
    assert [(e.thread, e.address) for e in events if e.space == "image"] == [
        (0, second), (0, third), (1, first), (1, second)
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_places_in_a_surface(engine: str) -> None:
    def accesses(instruction: str, rows: np.ndarray) -> list[tuple[Any, ...]]:
        surface = ptxspec.Surface(texels)
        events, _ = observed(surface_kernel(instruction), rows, engine, surface)
        return [(e.kind, e.thread, e.address, e.size, e.value) for e in events if e.space == "image"]

    texels = np.arange(48, dtype=np.uint16).reshape(3, 4, 4)
    rows = words([8, 24, 0], [1, 2, 3], [7, 8, 9], [5, 6, 0])
    a, b = at(texels, 1, 1), at(texels, 2, 3)
    assert accesses("suld.b.2d.v2.b32.zero {%y0, %y1}, [s, {%x0, %x1}];", rows) == [
        ("READ", 0, a, 4, 20 | 21 << 16), ("READ", 0, a + 4, 4, 22 | 23 << 16),
        ("READ", 1, b, 4, 44 | 45 << 16), ("READ", 1, b + 4, 4, 46 | 47 << 16),
    ]  # fmt: skip
    last = at(texels, 2, 0)
    stores = accesses("sust.b.2d.v2.b32.clamp [s, {%x0, %x1}], {%x2, %x3}; mov.b32 %y0, 0;", rows)
    assert stores == [
        ("WRITE", 0, a, 4, 7), ("WRITE", 0, a + 4, 4, 5), ("WRITE", 1, b, 4, 8), ("WRITE", 1, b + 4, 4, 6),
        ("WRITE", 2, last, 4, 9), ("WRITE", 2, last + 4, 4, 0),
    ]  # fmt: skip
    formatted = accesses("sust.p.2d.v4.b32.zero [s, {%x1, %x1}], {%x2, %x3, %x2, 1}; mov.b32 %y0, 0;", rows[:1])
    assert formatted == [("WRITE", 0, a, 8, 7 | 5 << 16 | 7 << 32 | 1 << 48)]
    sums = accesses("sured.b.add.2d.u32.zero [s, {8, 1}], %x2; mov.b32 %y0, 0;", rows[:2])
    word = 20 | 21 << 16
    assert sums == [
        ("READ", 0, a, 4, word), ("WRITE", 0, a, 4, word + 7), ("READ", 1, a, 4, word + 7), ("WRITE", 1, a, 4, word + 15)
    ]  # fmt: skip


#: a texture and a surface with the same texels, another one by name, and one that is passed by value
SEVERAL = look_up(
    "tex.2d.v4.f32.s32 {%y0, %y1, %y2, %y3}, [t, {0, 0}]; suld.b.2d.b32.trap %y0, [s, {4, 0}]; ld.param.u64 %d1, [own];"
    "suld.b.2d.b32.trap %y1, [%d1, {8, 0}]; @%p tex.2d.v4.f32.s32 {%y0, %y1, %y2, %y3}, [u, {1, 1}];",
    ".global .texref t; .global .texref u; .global .surfref s;",
    ", .param .u64 own",
).replace(".reg .b64 %rows", ".reg .pred %p; setp.eq.u32 %p, 0, 0; .reg .b64 %rows")


@pytest.mark.parametrize("engine", ENGINES)
def test_images_have_numbers_names_and_proxies(engine: str) -> None:
    class Watching:
        kinds = frozenset(ACCESSES)

        def begin(self, launch: ptxspec.ObservedLaunch) -> None:
            self.launch, self.seen = launch, []

        def observe(self, events: np.ndarray) -> None:
            for event in events[events["space"] == self.launch.spaces.index("image")]:
                proxy = self.launch.instructions[event["instruction"]].proxy
                self.seen.append((self.launch.images[event["owner"]], int(event["address"]), proxy))

    module, watching = ptxspec.load(SEVERAL), Watching()
    shared = ptxspec.Surface(real(2, 3, 1))
    module.bind("s", shared)
    module.bind("t", ptxspec.Texture(shared))
    module.bind("u", ptxspec.Texture(real(2, 2, 1)))
    rows = words([0])
    arguments = [rows, np.zeros_like(rows), ptxspec.Surface(real(1, 4, 1))]
    module.launch("k", 1, 1, arguments, engine=engine, observers=[watching])  # type: ignore[list-item]
    together, other, passed = ("t", "s"), ("u",), ("argument 2 (own)",)
    assert watching.launch.images == (together, other, passed)
    assert watching.seen == [
        (together, 0, "texture"), (together, 4, "surface"), (passed, 8, "surface"), (other, 12, "texture")
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_machine_does_not_read_is_no_event(engine: str) -> None:
    """An H200 finds no texels with integer coordinates in one dimension; PTX knows no such thing."""
    text, line = look_up(f"tex.1d.v4.f32.s32 {D}, [t, {{%x0}}];"), ptxspec.Texture(real(4, 1), "1d")
    for profile, reads in (("portable", 1), ("hopper", 0)):
        events, _ = observed(text, words([2]), engine, line, profile=profile)
        assert sum(event.space == "image" for event in events) == reads
    moved = look_up(f"tex.1d.v4.f32.f32 {D}, [t, {{%x0}}], {{%x1}};")
    line = ptxspec.Texture(real(4, 1), "1d", address=("clamp", "border"))
    events, _ = observed(moved, words([0, 0], [1, -1]), engine, line, profile="hopper")
    assert [event.thread for event in events if event.space == "image"] == [0]


def test_accesses_before_a_fault_are_told() -> None:
    text = surface_kernel("suld.b.2d.b32.trap %y0, [s, {%x0, %x1}];")
    streams, texels = [], real(2, 4, 1)
    for engine in ENGINES:
        trace, module = ptxspec.Trace(ACCESSES), ptxspec.load(text)
        module.bind("s", ptxspec.Surface(texels))
        with pytest.raises(ptxspec.LaunchError, match="outside"):
            rows = words([4, 0, 16, 8], [1, 0, 0, 0])
            module.launch("k", 1, 4, [rows, np.zeros_like(rows)], engine=engine, observers=[trace])
        streams.append(trace.events)
    assert streams[0] == streams[1]
    assert [(e.thread, e.address) for e in streams[0] if e.space == "image"] == [(0, 20), (1, 0)]


@pytest.mark.slow
def test_more_accesses_than_are_noted_at_once() -> None:
    """Of 1000 threads, eight texels each, thread by thread."""
    volume = real(4, 4, 4, 1)
    rows = words(*RNG.uniform(0, 4, (3, 1000)))
    text = look_up(f"tex.3d.v4.f32.f32 {D}, [t, {FOUR}];")
    events = both(text, rows, lambda: ptxspec.Texture(volume, "3d", filter="linear", address="clamp"))
    assert [event.thread for event in events] == [thread for thread in range(1000) for _ in range(8)]


def test_several_workers_count_the_same() -> None:
    module = ptxspec.load(surface_kernel("suld.b.2d.v2.b32.zero {%y0, %y1}, [s, {%x0, %x1}];"))
    module.bind("s", ptxspec.Surface(real(2, 4, 1)))
    rows = words(np.arange(-8, 56, 8), [0] * 8)
    alone, together = (
        module.launch("k", 64, 8, [rows, np.zeros_like(rows)], counts=True, workers=n).counts for n in (1, 3)
    )
    assert alone == together and alone.read["image"] == 64 * 2 * 8 and "image" not in alone.written


def test_unless_accesses_are_observed_nothing_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine code for lookups says nothing of notes, and neither engine has room for them."""
    from ptxspec.machine import imaging
    from ptxspec.machine.native import image_loops
    from ptxspec.terms.native import CodeSource, Library

    texts: list[str] = []

    class KeptLibrary(Library):
        def __init__(self, source: CodeSource):
            texts.append(source.text)
            super().__init__(source)

    monkeypatch.setattr(image_loops, "Library", KeptLibrary)
    module, rows = ptxspec.load(look_up(f"tex.2d.v4.f32.f32 {D}, [t, {TWO}];")), words([0], [0])
    module.bind("t", ptxspec.Texture(real(2, 2, 1)))

    def text(**how: Any) -> str:
        imaging._compiled.clear()
        module.launch("k", 1, 1, [rows, np.zeros_like(rows)], **how)
        return texts.pop()

    plain = text()
    assert "noted" not in plain
    assert text(observers=[ptxspec.Trace([EventKind.EXECUTE, EventKind.EXIT])]) == plain
    counting, telling = text(counts=True), text(observers=[ptxspec.Trace([EventKind.READ])])
    assert plain.count("store") < counting.count("store") < telling.count("store")

    def none(*_: Any) -> Any:
        raise AssertionError("an access was noted")

    monkeypatch.setattr(imaging, "noted_words", none)
    module.launch("k", 1, 1, [rows, np.zeros_like(rows)], engine="exact", observers=[ptxspec.Trace([EventKind.EXIT])])
    with pytest.raises(AssertionError, match="was noted"):
        module.launch("k", 1, 1, [rows, np.zeros_like(rows)], engine="exact", counts=True)
