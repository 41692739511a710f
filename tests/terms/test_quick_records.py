"""Records and named tuples whose classes are made quickly are what `dataclasses` and `typing` make."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any
from typing import NamedTuple as PlainTuple

import pytest

from ptxspec.base.records import NamedTuple, record


@record(frozen=True)
class Move:
    """Some fields."""

    to: str
    how: Mapping[str, Any] = field(compare=False)
    times: int = 1
    whole: tuple[int, ...] = ()

    @property
    def twice(self) -> int:
        return 2 * self.times


@dataclass(frozen=True)
class Plain:
    """The same."""

    to: str
    how: Mapping[str, Any] = field(compare=False)
    times: int = 1
    whole: tuple[int, ...] = ()


@record(frozen=True, eq=False)
class Alone:
    """Equal to itself alone."""

    name: str


class Pair(NamedTuple):
    """Two."""

    first: int
    second: list[int] | None = None

    @property
    def total(self) -> int:
        return self.first + len(self.second or ())


class PlainPair(PlainTuple):
    """Two."""

    first: int
    second: list[int] | None = None


def test_records() -> None:
    one, other = Move("a", {"x": 1}, whole=(1,)), Move(how={}, to="a", whole=(1,))
    plain = Plain("a", {"x": 1}, whole=(1,))
    assert one == other and hash(one) == hash(other) and one != Move("a", {}, 2) and one != plain
    assert repr(one) == repr(plain).replace("Plain", "Move") and one.twice == 2 and vars(one) == vars(plain)
    assert [(f.name, f.compare) for f in fields(Move)] == [(f.name, f.compare) for f in fields(Plain)]
    assert is_dataclass(Move) and Move.__match_args__ == Plain.__match_args__ and Move.__doc__ == "Some fields."
    assert (
        replace(one, times=3) == Move("a", {}, 3, (1,)) and copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    )
    match one:
        case Move(to, _, times=times):
            assert (to, times) == ("a", 1)
    with pytest.raises(FrozenInstanceError):
        one.times = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del one.to
    assert Alone("a") != Alone("a") and Alone("a").name == "a" and len({Alone("a"), Alone("a")}) == 2


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), (("a",), {}), (("a", {}), {"to": "b"}), (("a", {}), {"more": 1}), ((1, 2, 3, 4, 5), {})],
)
def test_wrong_fields(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    for made in (Move, Plain):
        with pytest.raises(TypeError):
            made(*given, **named)


def test_named_tuples() -> None:
    pair = Pair(1, [2, 3])
    assert pair == (1, [2, 3]) and pair.total == 3 and Pair(second=None, first=4) == Pair(4) == (4, None)
    assert repr(pair) == repr(PlainPair(1, [2, 3])).replace("PlainPair", "Pair") and Pair.__bases__ == (tuple,)
    for what in ("_fields", "_field_defaults", "__doc__", "__module__"):
        assert getattr(Pair, what) == getattr(PlainPair, what)
    assert list(Pair.__annotations__) == list(PlainPair.__annotations__) and Pair.__qualname__ == "Pair"
    assert pickle.loads(pickle.dumps(pair)) == pair and pair._replace(first=5).first == 5
