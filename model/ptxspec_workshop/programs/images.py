"""Textures, samplers and surfaces of a program that runs alone, as comments say them:

    // bind image = Texture([[1.0, 2.0], [3.0, 4.0]], "f32", filter="linear")

The words are those of `Module.bind`; the texels have one channel, and a type of PTX instead of an array's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ptxspec.terms.types import TYPES, Type

_BIND = re.compile(r"^[ \t]*//[ \t]*bind[ \t]+([\w%$]+)[ \t]*=[ \t]*(.*?)[ \t]*$", re.M)
#: how NumPy calls the types that texels have
_KINDS = {"f": "float", "u": "uint", "s": "int"}


class Unreadable(ValueError):
    """Why a comment binds nothing, in a sentence."""


class ProgramImages(NamedTuple):
    """What names of the module stand for; of surfaces, the types of texels."""

    things: dict[str, Any]
    types: dict[str, Type]

    def surfaces(self) -> list[tuple[str, Type, bytes]]:
        """The name, the type and the texels of each surface, as they are now."""
        return [(name, type, self.things[name].texels.tobytes()) for name, type in self.types.items()]


def images_of(text: str) -> ProgramImages:
    """The images of a program. Raises Unreadable, with the line."""
    images = ProgramImages({}, {})
    for match in _BIND.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        try:
            thing, type = _made(match[2])
        except (ValueError, TypeError, SyntaxError, KeyError) as why:
            raise Unreadable(f"line {line}: {match[2]} binds nothing: {why}") from None
        images.things[match[1]] = thing
        if type is not None:
            images.types[match[1]] = type
    return images


def _made(written: str) -> tuple[Any, Type | None]:
    """What a call makes, and of a surface the type of its texels."""
    from ptxspec.machine.images import Sampler, Surface, Texture

    call = ast.parse(written, mode="eval").body
    makers: dict[str, Callable[..., Any]] = {"Texture": Texture, "Surface": Surface, "Sampler": Sampler}
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in makers:
        raise ValueError(f"one of {', '.join(makers)} is called")
    taken = [ast.literal_eval(argument) for argument in call.args]
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    name = call.func.id
    if name == "Sampler":
        return Sampler(*taken, **named), None
    if len(taken) < 2 or taken[1] not in TYPES:
        raise ValueError('texels are a list of lists, and their type follows, such as "f32"')
    texels, type = _texels(taken[0], TYPES[taken[1]]), TYPES[taken[1]]
    return makers[name](texels, *taken[2:], **named), type if name == "Surface" else None


def _texels(rows: Any, type: Type) -> Any:
    """An array of texels of one channel."""
    import numpy as np

    kind = getattr(np, f"{_KINDS.get(type.kind, '')}{type.width}", None)
    if kind is None:
        raise ValueError(f"texels of type {type} are not supported")
    return np.array(_deeper(rows), kind)


def _deeper(rows: Any) -> Any:
    """The same lists, each number in a list of its own: its channels."""
    return [_deeper(row) for row in rows] if isinstance(rows, list) else [rows]
