"""Cases for textures and surfaces that are there for an instruction's spelling: one for every form that no other case has, with a
few rows and a small image. Accesses with .trap stay inside."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ptxspec.language.forms import Form, forms
from ptxspec_workshop.generate.image_cases import MODES, SurfaceCase, TextureCase

#: no interface of CUDA makes textures with several samples
UNREACHABLE = ("2dms", "a2dms")
#: formats whose texels the widest access fits
_BYTES = (("u8", 4), ("f32", 4), ("u16", 2), ("u32", 4))
_FORMATTED = (("u8", 4), ("f32", 2), ("s16", 4), ("u32", 1), ("f16", 4), ("s8", 2))


def spellings(known: Collection[str]) -> Iterator[TextureCase | SurfaceCase]:
    """Of all forms but those whose spelling is known."""
    seen = set(known)
    for opcode in ("tex", "tld4", "suld", "sust", "sured"):
        for turn, form in enumerate(forms(opcode)):
            if form.mnemonic not in seen and form.modifiers["geom"] not in UNREACHABLE:
                seen.add(form.mnemonic)
                yield _texture(form, turn) if opcode.startswith("t") else _surface(form, turn)


def _texture(form: Form, turn: int) -> TextureCase:
    modifiers = form.modifiers
    whole, floating = modifiers["ctype"].name == "s32", modifiers["dtype"].name.startswith("f")
    modes = MODES[2:] if whole else MODES
    mode = next((word for word in ("level", "grad") if modifiers.get(word)), "")
    channel = ("f32", "u8", "f16")[turn % 3] if floating else ("u32", "s8", "u16")[turn % 3]
    return TextureCase(
        str(modifiers["geom"]), channel, (1, 2, 4)[turn % 3], "linear" if floating and turn % 2 else "nearest",
        (modes[turn % len(modes)],) * 3, not whole or mode == "grad", floating and channel == "u8", whole, mode,
        levels=2 if mode else 1, component=str(modifiers.get("comp", "")), spelling=form.mnemonic,
    )  # fmt: skip


def _surface(form: Form, turn: int) -> SurfaceCase:
    modifiers = form.modifiers
    formatted = "p" in modifiers
    type = modifiers["dtype" if "dtype" in modifiers else "ctype"].name
    if "op" in modifiers:
        channel, channels = ("us"[turn % 2] if formatted else "u") + "32", 2 if "64" in type else 1
    else:
        channel, channels = (_FORMATTED if formatted else _BYTES)[turn % (6 if formatted else 4)]
    access = f"{form.syntax.opcode}.{'p' if formatted else 'b'}"
    vector = int(str(modifiers.get("vec", "v1"))[1:])
    operation = str(modifiers.get("op", ""))
    return SurfaceCase(
        access,
        str(modifiers["geom"]),
        channel,
        channels,
        type,
        vector,
        str(modifiers["clamp"]),
        operation,
        form.mnemonic,
    )
