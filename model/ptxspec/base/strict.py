"""Values for JSON, read strictly: by the annotations of who takes them, and compared with what they should be."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin


def loaded(text: str) -> Any:
    """The value of a text of JSON as RFC 8259 has it, in which no name stands twice in an object. Raises ValueError."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("a name stands twice in an object")
        return members

    def refused(name: str) -> Any:
        raise ValueError(f"{name} is no number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def plain(value: Any) -> Any:
    """A value as it is read again from JSON: lists for tuples, and "nan", "inf" or "-inf" for what is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    return list(map(plain, value)) if isinstance(value, list | tuple) else value


def fields(value: Any, named: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The fields of an object, which has these names and no others, each of the type that an annotation says. Raises ValueError
    that names the field."""
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'it'} is no object")
    prefix = where and f"{where}."
    for name in named:
        if name not in value:
            raise ValueError(f"{prefix}{name} is missing")
    for name in value:
        if name not in named:
            raise ValueError(f"{prefix}{str(name)[:60]} is no field")
    return {name: typed(value[name], kind, f"{prefix}{name}") for name, kind in named.items()}


def typed(value: Any, kind: Any, where: str) -> Any:
    """The value as one of a type: an array of JSON as a tuple, where that is one. Raises ValueError that says where it is."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        for alternative in inner:
            try:
                return typed(value, alternative, where)
            except ValueError:
                continue
    elif origin is Literal:
        if any(type(value) is type(literal) and value == literal for literal in inner):
            return value
    elif origin is tuple and isinstance(value, list):
        each = [inner[0]] * len(value) if inner[-1] is ... else inner
        if len(each) == len(value):
            return tuple(typed(v, k, f"{where}[{i}]") for i, (v, k) in enumerate(zip(value, each, strict=True)))
    elif origin in (list, Sequence) and isinstance(value, list):
        return [typed(v, inner[0], f"{where}[{i}]") for i, v in enumerate(value)]
    elif origin in (dict, Mapping) and isinstance(value, dict):
        return {str(n): typed(v, inner[1], f"{where}.{n}") for n, v in value.items()}
    elif kind is float and type(value) in (int, float):
        if abs(value) < 1 << 1000 and math.isfinite(value):
            return float(value)
    elif kind in (None, types.NoneType) and value is None:
        return None
    elif origin is None and type(value) is kind:
        return value
    raise ValueError(f"{where} is no {_named(kind)}: {_shown(value)}")


def difference(was: Any, now: Any, where: str) -> str:
    """Where two values for JSON differ first, and how; "" if they are the same, types and the order of names included."""
    if type(was) is not type(now):
        return f"{where} was {_shown(was)}, and is {_shown(now)}"
    if isinstance(was, dict):
        if list(was) != list(now):
            return f"{where} has the fields {_shown(list(was))}, and should have {_shown(list(now))}"
        return next((text for n in was if (text := difference(was[n], now[n], f"{where}.{n}"))), "")
    if isinstance(was, list):
        if len(was) != len(now):
            return f"{where} has {len(was)} elements, and should have {len(now)}"
        pairs = enumerate(zip(was, now, strict=True))
        return next((text for i, (a, b) in pairs if (text := difference(a, b, f"{where}[{i}]"))), "")
    return "" if was == now else f"{where} was {_shown(was)}, and is {_shown(now)}"


def _named(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(repr(value) for value in get_args(kind))
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "something nested deeply"
    return text if len(text) < 100 else f"{text[:100]}…"
