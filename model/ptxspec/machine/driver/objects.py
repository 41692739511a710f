"""Threads that wait for objects in memory: a step of spec/machine/asynchrony.md."""

from ptxspec import contracts
from ptxspec.machine.driver.codes import COMPLETION, OBJECT
from ptxspec.machine.driver.places import begin_wait, end_wait, enqueue
from ptxspec.machine.driver.protocol import DriverMachine

AFTER_LANDING: int = contracts.asynchrony.AFTER_LANDING
GO_ON: int = contracts.asynchrony.GO_ON
ARE_STUCK: int = contracts.asynchrony.ARE_STUCK


def wait_for_object(m: DriverMachine, thread: int) -> int:
    """A thread has taken a step on an object, and waits for the object to change."""
    begin_wait(m, thread, OBJECT)
    m.awaiting[m.awaiting_count] = thread
    m.awaiting_count = m.awaiting_count + 1
    return 0


def release_from_objects(m: DriverMachine, others_run: int) -> int:
    """Let those that wait for objects take their steps anew where some object has changed; where nothing else can run, let them
    do what the page says."""
    changed = m.object_changes != m.object_changes_seen
    if not changed and (others_run or m.released > 0):
        return 0
    what = m.look_at_objects(0, changed)
    if what == ARE_STUCK:
        return 0
    if what == AFTER_LANDING and m.land_objects():
        return COMPLETION
    m.object_changes_seen = m.object_changes
    for i in range(m.awaiting_count):
        thread = m.awaiting[i]
        end_wait(m, thread)
        if what == GO_ON:
            enqueue(m, thread, m.beyond[m.waits_at[thread]])
        else:
            enqueue(m, thread, m.resume[m.waits_at[thread]])
    m.awaiting_count = 0
    return 0
