"""Turns in a launch that chooses whose turn it is: spec/machine/schedule.md."""

from ptxspec.machine.driver.codes import CHOICES, CHOOSE, DRAWN, IDLE, NO_LIMIT, OUT, UNABLE
from ptxspec.machine.driver.protocol import DriverMachine
from ptxspec.machine.driver.turns import turn, turns


def chosen_turns(m: DriverMachine, limit: int) -> int:
    """Let threads run, each for one block, as they are chosen, until none can, one waits or ends, or so many steps are done."""
    while m.steps < limit:
        # what a lane gave must be read before it can give something else
        for i in range(m.landings):
            if m.counts[m.landing[i]] > 0:
                code = turn(m, m.landing[i], NO_LIMIT)
                if code:
                    return code
        able = 0
        for block in range(m.blocks):
            able += m.counts[block]
        if able == 0:
            return IDLE
        if m.chooses == DRAWN:
            if m.noted == CHOICES:
                return CHOOSE
            code = turn_of(m, m.draw(0, m.seed, able))
        else:
            if m.noted == m.given and not m.exhausted:
                return CHOOSE
            if m.exhausted:
                return turns(m, limit)
            place = place_of(m, m.choices[m.noted])
            if place < 0:
                m.fault_thread = m.choices[m.noted]
                return UNABLE
            code = turn_of(m, place)
        if code:
            return code
        if m.counts[m.blocks + 1] > 0 or m.counts[m.blocks] > m.ends_noted:
            return OUT
    return OUT


def place_of(m: DriverMachine, thread: int) -> int:
    """The place of a thread among those that can run, block by block; below 0 if it cannot."""
    place = 0
    for block in range(m.blocks):
        start = block * m.capacity
        for i in range(m.counts[block]):
            if m.lists[start + i] == thread:
                return place
            place += 1
    return -1


def turn_of(m: DriverMachine, place: int) -> int:
    """Give a turn to the thread at this place among those that can run."""
    block = 0
    while place >= m.counts[block]:
        place = place - m.counts[block]
        block += 1
    start = block * m.capacity
    thread = m.lists[start + place]
    count = m.counts[block] - 1
    m.counts[block] = count
    for i in range(place, count):
        m.lists[start + i] = m.lists[start + i + 1]
    m.choices[m.noted] = thread
    m.noted = m.noted + 1
    m.last_block = block
    m.scratch[0] = thread
    return m.threads_run(block, 1, NO_LIMIT)
