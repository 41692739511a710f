"""Turns: which threads run next, and for how long."""

from ptxspec.machine.driver.codes import IDLE, NO_LIMIT, OUT
from ptxspec.machine.driver.places import enqueue
from ptxspec.machine.driver.protocol import DriverMachine


def turns(m: DriverMachine, limit: int) -> int:
    """Let threads run until none can, or so many steps are done."""
    while m.steps < limit:
        block = m.last_block
        looked = 0
        while True:
            block += 1
            if block >= m.blocks:
                block = 0
            if m.counts[block] > 0:
                break
            looked += 1
            if looked >= m.blocks:
                return IDLE
        code = turn(m, block, limit)
        if code:
            return code
    # what a lane gave must be read before it can give something else
    for i in range(m.landings):
        if m.counts[m.landing[i]] > 0:
            code = turn(m, m.landing[i], NO_LIMIT)
            if code:
                return code
    return OUT


def turn(m: DriverMachine, block: int, limit: int) -> int:
    """Give a turn to each thread that stands at a block, as long as there are steps left."""
    count = m.counts[block]
    m.counts[block] = 0
    m.last_block = block
    start = block * m.capacity
    if m.in_order:
        for i in range(count):
            m.scratch[i] = i
    else:
        for i in range(count):
            m.scratch[i] = m.lists[start + i]
    code = m.threads_run(block, count, limit)
    m.in_order = 0
    if code:
        return code
    for i in range(m.taken, count):
        enqueue(m, m.scratch[i], block)
    return 0
