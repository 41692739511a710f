"""Which cases there are for textures and surfaces: every geometry, channel, filter, mode and access with some of the others, one
for each spelling that these leave out, and queries of attributes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ptxspec_workshop.generate.image_cases import (
    COUNT,
    DTYPES,
    FLOATS,
    MODES,
    SMALL,
    ImageCase,
    SurfaceCase,
    TextureCase,
)
from ptxspec_workshop.generate.image_kernels import mnemonic
from ptxspec_workshop.generate.image_queries import queries
from ptxspec_workshop.generate.image_spellings import spellings


def texture_cases() -> Iterator[TextureCase]:
    every = tuple(DTYPES)
    turn = 0

    def modes(normalized: bool = True) -> tuple[str, str, str]:
        nonlocal turn
        turn += 1
        among = MODES if normalized else MODES[2:]
        return (among[turn % len(among)], among[(turn // 2) % len(among)], among[(turn // 3) % len(among)])

    for geometry in COUNT:
        for i, channel in enumerate(every):
            for normalized in (True, False) if "cube" not in geometry else (True,):
                yield TextureCase(geometry, channel, (1, 2, 4)[i % 3], "nearest", modes(normalized), normalized)
        for channel in (*FLOATS, *SMALL):
            for normalized in (True, False) if "cube" not in geometry else (True,):
                case = TextureCase(geometry, channel, 1 + (channel == "u8"), "linear", modes(normalized), normalized)
                yield case._replace(fractions=channel in SMALL)
        for channel in SMALL:
            yield TextureCase(geometry, channel, 1, "nearest", modes(), fractions=True)
    for geometry in ("1d", "2d", "3d"):
        for mode in MODES:
            for filter in ("nearest", "linear"):
                yield TextureCase(geometry, "f32", 1, filter, (mode,) * 3)
    for geometry in ("1d", "2d", "3d", "a1d", "a2d"):
        for i, channel in enumerate(every):
            yield TextureCase(geometry, channel, (4, 1, 2)[i % 3], "nearest", modes(False), False, whole=True)
        yield TextureCase(geometry, "u8", 1, "nearest", modes(), True, True, whole=True)
    for geometry in ("2d", "a2d", "cube", "acube"):
        for i, channel in enumerate(("f32", "f16", "u8", "s16", "s8", "u32")):
            for component in "rgba"[: 4 if channel in ("f32", "u8") else 1]:
                case = TextureCase(geometry, channel, (4, 2, 4, 1, 2, 4)[i], "nearest", modes(), component=component)
                yield case._replace(fractions=channel in SMALL and component != "b")
    for geometry in ("1d", "2d", "3d", "a2d", "cube"):
        for filter in ("nearest", "linear"):
            for blend in ("nearest", "linear"):
                for channel in ("f32", "f16", "u8", "s16"):
                    case = TextureCase(geometry, channel, 1, filter, modes(), fractions=channel in SMALL, mode="level")
                    yield case._replace(mipmap_filter=blend, levels=4)
        yield TextureCase(
            geometry, "f32", 1, "linear", modes(), mode="level", mipmap_filter="linear", levels=4, bias=0.3
        )
        bounds = TextureCase(geometry, "f32", 1, "linear", modes(), mode="level", mipmap_filter="linear", levels=4)
        yield bounds._replace(bounds=(0.7, 2.2))
        if geometry != "cube":
            yield TextureCase(geometry, "u16", 1, "nearest", modes(False), False, whole=True, mode="level", levels=4)
    for geometry in ("1d", "2d", "3d", "a2d"):
        for filter in ("nearest", "linear"):
            for blend in ("nearest", "linear"):
                for channel in ("f32", "u8"):
                    case = TextureCase(geometry, channel, 1, filter, modes(), fractions=channel in SMALL, mode="grad")
                    yield case._replace(mipmap_filter=blend, levels=4)


def lookups_with_more() -> Iterator[TextureCase]:
    """With offsets, with the predicate, and with reference values."""
    modes = [(a, b, c) for a, b, c in zip(MODES, MODES[1:] + MODES[:1], MODES[2:] + MODES[:2], strict=True)]
    for geometry in ("1d", "2d", "3d", "a1d", "a2d"):
        for i, address in enumerate(modes):
            for filter in ("nearest", "linear"):
                channel = ("f32", "u8", "f16", "s16")[i]
                case = TextureCase(
                    geometry, channel, 1 + i % 2, filter, address, fractions=channel in SMALL, offset=True
                )
                yield case
                yield case._replace(channel="f32", fractions=False, mode="level", levels=4, mipmap_filter="linear")
        texels = TextureCase(geometry, "f32", 2, "linear", ("clamp", "border", "clamp"), False, offset=True)
        yield from (texels, texels._replace(filter="nearest", channel="u32"), texels._replace(resident=True))
        yield TextureCase(geometry, "s32", 1, "nearest", ("border",) * 3, False, whole=True, offset=True)
        yield TextureCase(geometry, "f32", 1, "linear", ("wrap", "clamp", "mirror"), mode="grad", levels=4, offset=True)
    for geometry in ("2d", "a2d"):
        for component in "rg":
            case = TextureCase(
                geometry, "f32", 2, "nearest", ("wrap", "border", "clamp"), component=component, offset=True
            )
            yield from (case, case._replace(address=("clamp", "mirror", "clamp")))
    for geometry in ("1d", "2d", "a1d", "a2d", "cube", "acube"):
        case = TextureCase(geometry, "f32", 2, "linear", reference=True)
        yield from (case, case._replace(mode="level", levels=3), case._replace(resident=True))
        if geometry in ("2d", "a2d", "cube", "acube"):
            yield case._replace(filter="nearest", component="r")
        if "cube" not in geometry:
            yield case._replace(offset=True)


def surface_cases() -> Iterator[SurfaceCase]:
    shapes = (("b8", 1), ("b16", 1), ("b32", 1), ("b64", 1), ("b8", 4), ("b32", 2), ("b32", 4), ("b64", 2))
    for geometry in ("1d", "2d", "3d", "a1d", "a2d"):
        for access in ("suld.b", "sust.b"):
            for i, (type, vector) in enumerate(shapes):
                for outside in ("clamp", "zero"):
                    channel, channels = (("u8", 4), ("f32", 1), ("u16", 2), ("u32", 4))[i % 4]
                    yield SurfaceCase(access, geometry, channel, channels, type, vector, outside)
    for geometry in ("1d", "2d", "3d"):
        for channel in DTYPES:
            for channels, outside in ((1, "clamp"), (2, "zero"), (4, "zero")):
                yield SurfaceCase("sust.p", geometry, channel, channels, "b32", channels, outside)
        for operation, types in (("add", ("u32", "s32", "u64")), ("min", ("u32", "s32", "u64", "s64")),
                                 ("max", ("u32", "s32", "u64", "s64")), ("and", ("b32",)), ("or", ("b32",))):  # fmt: skip
            for type in types:
                channels = 2 if "64" in type else 1
                outside = ("clamp", "zero")[len(operation) % 2]
                yield SurfaceCase("sured.b", geometry, "u32", channels, type, 1, outside, operation)
            for channel in ("u32", "s32"):
                yield SurfaceCase("sured.p", geometry, channel, 1, "b32", 1, "clamp", operation)
                if operation in ("min", "max"):
                    yield SurfaceCase("sured.p", geometry, channel, 2, "b64", 1, "zero", operation)


@cache
def cases() -> tuple[ImageCase, ...]:
    """All cases; their names differ."""
    result: list[ImageCase] = [*texture_cases(), *surface_cases()]
    result += spellings({mnemonic(case) for case in result})
    result += lookups_with_more()
    result += queries()
    return tuple({case.name: case for case in result}.values())
