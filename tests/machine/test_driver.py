"""The driver's machine: what is declared, what the engines lay out, and what the pages give are the same."""

import ast
import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest

from ptxspec.machine import driver
from ptxspec.machine.driver import inventory, protocol
from ptxspec.machine.driver.turns import turn

SUPPLIED = {"threads_run": 3, "take_ctas": 2, "begin": 0, "end_batch": 0, "land_objects": 0, "tell": 4}


def _methods():
    return {
        name: f
        for name, f in vars(protocol.DriverMachine).items()
        if inspect.isfunction(f) and not name.startswith("_")
    }


def test_arrays_are_those_that_are_laid_out():
    assert sorted(protocol.ARRAYS) == sorted(inventory.columns())


def test_steps_and_supplied_functions_are_those_that_are_declared():
    assert _methods().keys() == inventory.steps().keys() | SUPPLIED.keys()


@pytest.mark.parametrize("name", inventory.steps())
def test_a_step_takes_and_gives_as_many_numbers_as_are_declared(name):
    step, arrays = inventory.steps()[name]
    declared = inspect.signature(protocol.DriverMachine.__dict__[name], eval_str=True)
    taken = sum(len(port.words) if array is None else 1 for port, array in zip(step.states, arrays, strict=True))
    assert len(declared.parameters) - 1 == taken + len(step.operands)
    gives = bool(step.meaning.requirements) + len(step.results)
    kind = declared.return_annotation
    assert gives == (0 if kind is None else 1 if kind is int else len(kind.__args__))


def _read():
    """The attributes of `m` in all of the driver."""
    trees = (ast.parse(path.read_text()) for path in Path(driver.__file__).parent.glob("*.py"))
    return {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "m"
    }


def test_the_driver_uses_all_that_is_declared_and_nothing_else():
    of_a_turn = {"turn_length"}  # the engines read it
    assert _read() | inventory.rows().keys() | of_a_turn == {*protocol.NUMBERS, *protocol.ARRAYS, *_methods()}


def test_threads_that_begin_are_in_order_and_in_no_list():
    """The first turn is given to all of them; who has none then stands in a list, as after every other turn."""
    seen = []

    def run_three(block, count, limit):
        seen.append((m.in_order, block, m.scratch[:count], limit))
        m.taken = 3
        return 0

    m = SimpleNamespace(
        blocks=2, in_order=1, counts=[5, 0], lists=[9] * 16, scratch=[8] * 8, capacity=8, taken=0, threads_run=run_three
    )
    turn(m, 0, 100)
    assert m.in_order == 0 and m.counts == [2, 0] and m.lists[:2] == [3, 4]
    m.lists[8:11] = [7, 6, 5]
    m.counts[1] = 3
    turn(m, 1, 50)
    assert seen == [(1, 0, [0, 1, 2, 3, 4], 100), (0, 1, [7, 6, 5], 50)] and m.counts == [2, 0]
