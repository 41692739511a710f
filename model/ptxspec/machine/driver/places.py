"""Where threads stand and go: what all parts of the driver use."""

from ptxspec import contracts
from ptxspec.machine.driver.codes import MISUSE, NOT_WAITING
from ptxspec.machine.driver.protocol import DriverMachine

LANES: int = contracts.warps.LANES
EVERYONE: int = contracts.warps.EVERYONE
BARRIERS: int = contracts.barriers.BARRIERS


def enqueue(m: DriverMachine, thread: int, block: int) -> None:
    """Put a thread where it goes on, or among those that have ended."""
    count = m.counts[block]
    m.lists[block * m.capacity + count] = thread
    m.counts[block] = count + 1
    if block == m.blocks:
        cta = thread // m.threads
        m.gone[cta] = m.gone[cta] + 1


def make_ready(m: DriverMachine, thread: int) -> None:
    """Let a thread go on behind the instruction at which it waits."""
    enqueue(m, thread, m.resume[m.waits_at[thread]])


def begin_wait(m: DriverMachine, thread: int, where: int) -> None:
    """Let a thread wait."""
    m.wait_state[thread] = where
    m.waiting = m.waiting + 1


def end_wait(m: DriverMachine, thread: int) -> None:
    """A thread waits no longer."""
    m.wait_state[thread] = NOT_WAITING
    m.waiting = m.waiting - 1
    m.released = m.released + 1


def fault(m: DriverMachine, step: int, rule: int, thread: int) -> int:
    """A thread waits against a rule, which a step has found broken."""
    m.fault_step = step
    m.fault_rule = rule
    m.fault_thread = thread
    m.fault_op = m.waits_at[thread]
    return MISUSE
