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
    import collections
    from dataclasses import MISSING, FrozenInstanceError, dataclass

    class _NamedTuples(type):
        """What makes the classes that name `NamedTuple` as their only base."""

        def __new__(cls, name: str, bases: tuple, body: dict) -> type:
            types = body.pop("__annotations__", {})
            defaults = [body.pop(field) for field in types if field in body]
            made = collections.namedtuple(name, types, defaults=defaults, module=body["__module__"])
            made.__annotations__ = types
            for key, value in body.items():
                setattr(made, key, value)
            return made

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
