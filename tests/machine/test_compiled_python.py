"""The small part of Python in which the driver is written: what is compiled computes what Python does, and all else is refused."""

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptxspec.machine import hosts
from ptxspec.machine.driver import inventory
from ptxspec.machine.errors import EngineFault
from ptxspec.machine.native.compiling import Array, BoundStep, Environment, compiled
from ptxspec.terms import State, requires, select, step, u32
from ptxspec.terms.native import CodeSource, Library
from ptxspec.terms.steps import Step

pytestmark = pytest.mark.sample(4)

# ruff: noqa: ANN001, ANN201, SIM102, SIM108, SIM103, RUF100
LENGTH = 16
SEVEN = 7
#: named as some of the machine are: a record of what went wrong knows those alone
ARRAYS = {"counts": 8, "lists": 4, "groups": 8}
NUMBERS = ("a", "b", "c", "record")
FIELDS = {name: i for i, name in enumerate((*NUMBERS, *ARRAYS, *(f"{n}_bytes" for n in ARRAYS)))}


class Cell(State):
    low: u32
    high: u32


@step
def swapped(cell: Cell, more: u32) -> tuple[Cell, u32]:
    """Change the fields, unless they are the same."""
    requires("barrier number", cell.low != cell.high)
    return Cell(cell.high, cell.low), select(cell.low < more, cell.low + more, more)


STEPS: dict[str, tuple[Step, tuple[str | None, ...]]] = {"swap": (swapped, ("groups",))}


class Both:
    """A machine for Python and one for machine code, which begin alike."""

    def __init__(self, functions: list[Callable[..., Any]], seed: int, checked: bool = False):
        rng = np.random.default_rng(seed)
        self.arrays = {n: rng.integers(-50, 50, LENGTH).astype(f"i{unit}") for n, unit in ARRAYS.items()}
        self.arrays["groups"] = rng.integers(0, 4, LENGTH).astype(np.int64)
        self.context = np.zeros(len(FIELDS), np.int64)
        self.record = hosts.new_record()
        self.plain: Any = type("Machine", (), {})()
        for name in ("a", "b", "c"):
            value = int(rng.integers(-100, 100))
            self.context[FIELDS[name]] = value
            setattr(self.plain, name, value)
        for name, array in self.arrays.items():
            self.context[FIELDS[name]] = array.ctypes.data
            self.context[FIELDS[f"{name}_bytes"]] = array.nbytes
            setattr(self.plain, name, array.tolist())
        self.context[FIELDS["record"]] = self.record.ctypes.data
        for name, taken in STEPS.items():
            setattr(self.plain, name, inventory.scripted_step(*taken, self.plain))
        self.plain.tell = lambda x, y: 3 * x + y
        self.code = code(functions, checked)

    def run(self, count: int, given: list[int]) -> tuple[int, int]:
        """What the last function gives, by Python and by machine code."""
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * count)(
            self.code.address("outside")
        )
        return self.function(self.plain, *given) or 0, call(self.context.ctypes.data, *given)

    function: Callable[..., Any]

    def same(self) -> None:
        """Both have become the same."""
        for name in ("a", "b", "c"):
            assert getattr(self.plain, name) == self.context[FIELDS[name]], name
        for name, array in self.arrays.items():
            assert getattr(self.plain, name) == array.tolist(), name


def world(checked: bool = False) -> Environment:
    arrays = {name: Array(unit) for name, unit in ARRAYS.items()}
    return Environment(FIELDS, arrays, {n: BoundStep(*s) for n, s in STEPS.items()}, {"tell": 2}, checked)


def code(functions: list[Callable[..., Any]], checked: bool = False) -> Library:
    needs = set(hosts.NEEDS)
    last = functions[-1]
    given = list(inspect.signature(last).parameters)[1:]
    parameters = "".join(f", i64 %g{i}" for i in range(len(given)))
    text = [
        compiled(functions, world(checked), needs),
        "define internal i64 @tell(ptr %context, i64 %x, i64 %y) {\n  %m = mul i64 %x, 3\n  %r = add i64 %m, %y\n  ret i64 %r\n}",
        f"define i64 @outside(ptr %context{parameters}) {{\n  %r = call i64 @{last.__name__}(ptr %context{parameters})\n  ret i64 %r\n}}",
        "!9 = !{}",
    ]
    return Library(CodeSource("\n".join(text), needs))


# what there is ------------------------------------------------------------------------------------------------------------


def arithmetic(m, x, y):
    """All operators, of signed numbers; division and what it leaves, of such as are not negative."""
    m.a = x + y * 3 - (x & y) + (x | 12) - (y ^ x)
    m.b = -x + ~y
    m.c = (x << 3) + (y >> 2) + (x * x) // 7 + (y * y) % SEVEN
    m.a += m.b
    m.counts[3] += m.c
    return m.a ^ m.b ^ m.c


def comparisons(m, x, y):
    """Each comparison, and what is made of them."""
    found = 0
    if x < y:
        found += 1
    if x <= y:
        found += 2
    if x > y:
        found += 4
    if x >= y:
        found += 8
    if x == y:
        found += 16
    if x != y:
        found += 32
    m.a = (x < y) + (not x) * 2 + (x == 3 or y == 3) * 4 + (x and 1) * 8
    m.b = x if x > y else y
    if x > 0 and y > 0 and x + y > 20:
        found += 64
    if not (x < 0 or y < 0 or x == y):
        found += 128
    return found


def choices(m, x, y):
    """Ways that end in the midst."""
    if x < 0:
        if y < 0:
            return 1
        elif y == 0:
            return 2
        else:
            m.a = 5
    elif x == 0:
        m.b = 6
        return 3
    else:
        if y > x:
            return m.a
        m.c = 9
    return m.b


def loops(m, x, y):
    """Counted ones, with a beginning and without, others, and ways out of them."""
    total = 0
    for i in range(LENGTH):
        if m.counts[i] < 0:
            continue
        if i > 12:
            break
        for k in range(i, LENGTH):
            if m.lists[k] == x:
                break
            total += k
        m.counts[i] = total
    i = 0
    while i < LENGTH and m.lists[i] != y:
        m.lists[i] = m.lists[i] + i
        i += 1
    while True:
        total += 1
        if total > 40 or total % 5 == 0:
            break
    for _ in range(3, 3):
        total = -1
    return total


def bounds_are_taken_once(m, x, y):
    """A counted loop goes as far as was said where it began, whatever becomes of that."""
    m.a = 5
    count = 0
    for _ in range(m.a):
        m.a = m.a + 1
        count += 1
    return count


def elements(m, x, y):
    """Numbers of 32 bits keep their sign; arrays are indexed by what is computed."""
    m.lists[(x * x) % LENGTH] = y
    m.counts[(y * y) % LENGTH] = m.lists[(x * x) % LENGTH]
    m.lists[0] = m.lists[1] + m.lists[2]
    return m.counts[(y * y) % LENGTH] + m.lists[0]


def helper(m, x):
    """One that is called, and ends without a word of what it gives in one of two cases."""
    if x > 0:
        m.c = m.c + 1
        return
    m.c = x


def twice(m, x, y):
    """One that gives a number."""
    return x + x + m.tell(x, y)


def calls(m, x, y):
    """Calls of others, whose results are used, or not; and of what the engine supplies."""
    helper(m, x)
    helper(m, y)
    m.tell(1, 2)
    return twice(m, twice(m, x, 1), y) + m.tell(y, x)


def steps(m, x, y):
    """A step that breaks its rule or changes a record."""
    which = (x * x) % (LENGTH // 2)
    broken, found = m.swap(which, y & 0xFF)
    if broken:
        return -broken
    _, m.b = m.swap(which, 3)
    _, m.a = m.swap(which, 1)
    return found


WRITTEN = {
    "arithmetic": [arithmetic], "comparisons": [comparisons], "choices": [choices], "loops": [loops], "elements": [elements],
    "bounds": [bounds_are_taken_once], "calls": [helper, twice, calls], "steps": [steps],
}  # fmt: skip


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("what", WRITTEN)
def test_machine_code_computes_what_python_does(what: str, checked: bool) -> None:
    functions = WRITTEN[what]
    rng = np.random.default_rng(5)
    outcomes = set()
    both = Both(functions, 0, checked)
    for seed in range(40):
        own = Both(functions, seed, checked) if seed < 5 else both
        own.function = functions[-1]
        few = int(rng.integers(0, 2))
        given = [int(v) for v in (rng.integers(-3, 4, 2) if few else rng.integers(-1000, 1000, 2))]
        plain, native = own.run(2, given)
        assert plain == native, given
        own.same()
        assert not own.record[hosts.WHICH]
        outcomes.add(plain)
    assert len(outcomes) > 1 or what == "bounds"


def test_what_is_beyond_an_array_is_noted_and_ends_loops() -> None:
    """With checks: a loop that would go on for ever, as what it reads is not there, ends."""

    def endless(m, x):
        while m.counts[x] >= 0 or m.counts[x] < 0:
            m.a = m.a + 1

    both = Both([endless], 1, checked=True)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(both.code.address("outside"))
    call(both.context.ctypes.data, LENGTH)
    numbered = hosts.names()[int(both.record[hosts.WHICH]) - 1]
    assert numbered == "counts"
    with pytest.raises(EngineFault, match="8 bytes at index 16 of counts, which has 128 bytes"):
        hosts.complain(both.record)


# what there is not ---------------------------------------------------------------------------------------------------------


def division(m, x):
    return x / 3


def power(m, x):
    return x**3


def listed(m, x):
    return [x][0]


def called(m, x):
    return abs(x)


def foreign(m, x):
    return x + unknown  # noqa: F821


def chained(m, x):
    return 0 < x < 5


def compared_otherwise(m, x):
    return x is None


def texts(m, x):
    m.a = "no"


def absent_number(m, x):
    return m.nothing


def absent_array(m, x):
    return m.nothings[x]


def absent_step(m, x):
    return m.leap(x)


def ended_loop(m, x):
    for i in range(x):
        m.a = i
    else:
        m.a = 0


def strides(m, x):
    for i in range(0, x, 2):
        m.a = i


def backwards(m, x):
    for i in (1, 2, 3):
        m.a = i


def attempts(m, x):
    try:
        m.a = 1
    finally:
        m.a = 2


def unreached(m, x):
    return x
    m.a = 1


def named(m, x):
    return m.tell(x=1, y=2)


def too_few(m, x):
    return m.tell(x)


def by_name(m, x):
    return twice(m, x, y=2)


def too_many(m, x):
    return twice(m, x, 2, 3)


def results_that_are_not_there(m, x):
    p, q, r = m.swap(0, x)
    return p + q + r


def other_objects(m, x):
    x.y = 3


REFUSED = [
    division, power, listed, called, foreign, chained, compared_otherwise, texts, absent_number, absent_array, absent_step,
    ended_loop, strides, backwards, attempts, unreached, named, too_few, by_name, too_many, results_that_are_not_there, other_objects,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_is_named_with_its_place(function: Callable[..., Any]) -> None:
    lines, first = inspect.getsourcelines(function)
    with pytest.raises(SyntaxError, match=r"is no part of what the driver is written in") as caught:
        compiled([twice, function], world(), set())
    path, line = str(caught.value).split(": ")[0].rsplit(":", 1)
    assert path == __file__ and first < int(line) < first + len(lines)


@pytest.mark.slow
def test_the_driver_is_of_that_part() -> None:
    """Each of its functions, the last as the first."""
    from ptxspec.machine.native import code as engine

    text = engine.driver(False, True, True, True, True).text
    assert all(f" @{f.__name__}(" in text for f in inventory.FUNCTIONS)
