"""Frozen dataclasses and named tuples whose classes are made quickly: `dataclasses` compiles six functions for each class, where
all classes have the same ones here, and `typing` compiles each annotation of a named tuple. At the start of a short command
there is little that takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ("NamedTuple", "record")

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from typing import NamedTuple
else:
    from collections import _tuplegetter
    from dataclasses import MISSING, FrozenInstanceError, dataclass
    from functools import cache
    from sys import intern
    from types import CodeType, FunctionType

    @cache
    def _constructor(count: int) -> CodeType:
        """The code of __new__ for so many fields, which have other names in each class."""
        fields = "".join(f"field{i}, " for i in range(count))
        code: CodeType = eval(f"lambda _cls, {fields}: new(_cls, ({fields}))").__code__
        return code

    class _NamedTuples(type):
        """What makes the classes that name `NamedTuple` as their only base."""

        def __new__(cls, name: str, bases: tuple, body: dict) -> type:
            types = body.pop("__annotations__", {})
            fields = tuple(map(intern, types))
            if any(field.startswith("_") for field in fields):
                raise ValueError(f"a field of {name} begins with an underscore")
            defaults = {field: body.pop(field) for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"a field of {name} without a default stands behind one with a default")
            code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields), co_name="__new__")
            new = FunctionType(code, {"new": tuple.__new__}, "__new__", tuple(defaults.values()))
            new.__qualname__, new.__module__ = f"{name}.__new__", body["__module__"]
            members = {
                "__slots__": (),
                "__annotations__": types,
                "__doc__": f"{name}({', '.join(fields)})",
                "__match_args__": fields,
                "__new__": new,
                "_fields": fields,
                "_field_defaults": defaults,
                **_METHODS,
            }
            members |= {field: _tuplegetter(i, f"Alias for field number {i}") for i, field in enumerate(fields)}
            return type(name, (tuple,), {**members, **body})

    def _make(cls, values):
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changed):
        made = self._make(map(changed.pop, self._fields, self))
        if changed:
            raise ValueError(f"Got unexpected field names: {list(changed)!r}")
        return made

    def _shown(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{f}={v!r}' for f, v in zip(self._fields, self, strict=True))})"

    def _as_dictionary(self) -> dict:
        return dict(zip(self._fields, self, strict=True))

    def _plain(self) -> tuple:
        return tuple(self)

    #: what collections.namedtuple gives each class
    _METHODS = {
        "_make": classmethod(_make),
        "_replace": _replace,
        "__replace__": _replace,
        "__repr__": _shown,
        "_asdict": _as_dictionary,
        "__getnewargs__": _plain,
    }

    class _Base:
        def __mro_entries__(self, bases: tuple) -> tuple:
            assert len(bases) == 1
            return (_made_quickly,)

    NamedTuple = _Base()
    _made_quickly = type.__new__(_NamedTuples, "NamedTuple", (), {})

    def record(*, frozen: bool, eq: bool = True):
        """Make a class a frozen dataclass. Without `eq` each of its objects is equal to itself alone."""
        assert frozen

        def made(cls: type) -> type:
            cls = dataclass(init=False, repr=False, eq=False)(cls)
            fields = cls.__dataclass_fields__.values()
            cls._names = tuple(f.name for f in fields)
            cls._needed = tuple(f.name for f in fields if f.default is MISSING)
            cls._defaults = {f.name: f.default for f in fields if f.default is not MISSING}
            cls._compared = tuple(f.name for f in fields if f.compare)
            cls.__init__, cls.__repr__, cls.__setattr__, cls.__delattr__ = _init, _repr, _set, _delete
            if eq:
                cls.__eq__, cls.__hash__ = _equal, _hash
            return cls

        return made

    def _init(self, *given, **named) -> None:
        cls = type(self)
        if len(given) > len(cls._names):
            raise TypeError(f"{cls.__name__} has {len(cls._names)} fields, not {len(given)}")
        values = dict(zip(cls._names, given, strict=False))
        for name, value in named.items():
            if name in values or name not in cls._names:
                raise TypeError(f"{cls.__name__} has no field {name!r}, or it is given twice")
            values[name] = value
        for name in cls._needed:
            if name not in values:
                raise TypeError(f"{cls.__name__} needs {name!r}")
        self.__dict__.update(cls._defaults)
        self.__dict__.update(values)

    def _repr(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self._names)})"

    def _set(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _delete(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _compared(self) -> tuple:
        return tuple([getattr(self, name) for name in self._compared])

    def _equal(self, other: object) -> bool:
        return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented

    def _hash(self) -> int:
        return hash(_compared(self))
