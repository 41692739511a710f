"""Asynchronous operations of a launch: which are in flight, what they touch, and when their pieces land. Steps of
spec/machine/asynchrony.md.

Both engines take these functions where a thread comes to an instruction: the exact one runs them, the native one compiles them
into a kernel that initiates operations. A location is an address of the host under the native engine; `in_flight.py` gives those
of the exact one. An operation in flight has a number, from 1 on; 0 is none. A thread's operations are a list, in the order in
which they were initiated. For each line of bytes there is a list of the operations that write there, and one of those that read
there; several lines share a list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxspec import contracts
from ptxspec.machine.events import EventKind
from ptxspec.machine.operations import MOST_CLASSES, Clusters, OperationsMachine
from ptxspec.terms.registries import OBJECT_BITS

_page, _limits = contracts.asynchrony, contracts.limits
PIECES: int = _page.PIECES
EARLY, LATE, EACH, RANDOM = (_page.LANDING[way] for way in ("early", "late", "each", "random"))
AT_ONCE: int = _page.AT_ONCE
BEFORE_A_TURN: int = _page.BEFORE_A_TURN
LATEST: int = _page.LATEST
BEHIND_A_PHASE: int = _page.BEHIND_A_PHASE
OPERATIONS: int = _limits.OPERATIONS
LINES: int = _limits.LINES
LINE_LOG2: int = _limits.LINE_LOG2
OBJECT: int = _page.OBJECT
#: how many lists of operations there are for lines, a power of two, and which half of them is which
LISTS = 1 << 14
TARGET, SOURCE = 0, LISTS
READ, WRITE, INITIATE, END, REPORT = (
    int(kind) for kind in (EventKind.READ, EventKind.WRITE, EventKind.INITIATE, EventKind.END, EventKind.REPORT)
)


#: instead of a completion mechanism: that of an object in memory, and that of an operation which is complete whatever its own
#: says
LIVES, COMPLETE = -1, -2


# From the beginning of an operation to its end --------------------------------------------------------------------------


def operation_begins(
    m: OperationsMachine,
    mechanism: int,
    thread: int,
    op: int,
    target: int,
    size: int,
    source: int,
    read: int,
    unit: int,
    lead: int,
    reorder: int,
    fill: int,
    completes: int,
    change: int,
    follows: int,
    carries: int,
    low: int,
    high: int,
) -> int:
    """A thread initiates an operation, which completes on the object at a location, or on none (0), changes memory by a step, by
    its number from 1 on, or writes it (0), and follows those of a mechanism, by its number from 1 on, or none (0). It may carry
    what it writes, in two words. Its number; 0 if there is no room for it."""
    number = is_noted(m, mechanism, thread, op, target, size, source, read, completes, change, carries)
    if number == 0:
        return 0
    m.initiate(number, target, size, source, read, unit, lead, reorder, fill)
    m.operation_follows[number] = follows
    m.operation_low[number] = low
    m.operation_high[number] = high
    there = object_at(m, completes)
    m.operation_lives[number] = there != 0
    if there:
        m.operation_low[there] = m.operation_low[there] + 1
        if follows == 0:
            m.operation_follows[there] = mechanism + 1
    m.operation_mark[number] = 0 if completes else m.mark(thread, mechanism)
    if m.observes_operations:
        m.tell_operation(INITIATE, op, thread, number, target if size else source, size)
    at_once = m.landing_way == RANDOM and m.draw_landing(0, m.landing_seed, AT_ONCE) == 0
    if m.landing_way == EARLY or at_once:
        pieces_land(m, number)
    if at_once:
        completes_on_object(m, number)
    elif m.landing_way != EARLY or completes:
        m.unlanded_operations[m.unlanded] = number
        m.unlanded = m.unlanded + 1
        m.operation_place[number] = m.unlanded
    return number


def is_noted(
    m: OperationsMachine,
    mechanism: int,
    thread: int,
    op: int,
    target: int,
    size: int,
    source: int,
    read: int,
    completes: int,
    change: int,
    carries: int,
) -> int:
    """A thread has something more in flight. Its number; 0 if there is no room for it."""
    listed = 0 if carries else read
    room = lines_of(m, target, size) + lines_of(m, source, listed)
    if m.lines + room > LINES:
        return 0
    number = m.free_operation
    if number:
        m.free_operation = m.operation_next[number]
    elif m.operations == OPERATIONS:
        return 0
    else:
        m.operations = m.operations + 1
        number = m.operations
    m.lines = m.lines + room
    m.operation_thread[number] = thread
    m.operation_op[number] = op
    m.operation_mechanism[number] = mechanism
    m.operation_object[number] = completes
    m.operation_change[number] = change
    m.operation_carries[number] = carries
    m.operation_listed[number] = listed
    m.operation_next[number] = 0
    m.operation_place[number] = 0
    m.operation_before[number] = m.last_operation[thread]
    if m.first_operation[thread]:
        m.operation_next[m.last_operation[thread]] = number
    else:
        m.first_operation[thread] = number
    m.last_operation[thread] = number
    list_lines(m, TARGET, number, target, size)
    list_lines(m, SOURCE, number, source, listed)
    return number


def operations_end(m: OperationsMachine, thread: int) -> None:
    """Those of a thread's operations end that it knows to be complete."""
    number = m.first_operation[thread]
    while number:
        following = m.operation_next[number]
        if m.operation_mechanism[number] == COMPLETE:
            complete = 1
        elif m.operation_object[number]:
            complete = m.operation_mark[number]
        else:
            complete = m.is_known_complete(thread, m.operation_mechanism[number], m.operation_mark[number])
        if complete:
            operation_leaves(m, number)
        elif m.operation_object[number] == 0 and m.operation_listed[number]:
            if m.is_known_read(thread, m.operation_mechanism[number], m.operation_mark[number]):
                source_is_free(m, number)
        number = following


def operation_leaves(m: OperationsMachine, number: int) -> None:
    """An operation ends, and is none of its thread's any more."""
    thread = m.operation_thread[number]
    before = m.operation_before[number]
    following = m.operation_next[number]
    if before:
        m.operation_next[before] = following
    else:
        m.first_operation[thread] = following
    if following:
        m.operation_before[following] = before
    else:
        m.last_operation[thread] = before
    operation_ends(m, number)


def source_is_free(m: OperationsMachine, number: int) -> None:
    """A thread knows that an operation has read its source: others may write there."""
    if m.operation_place[number]:
        rest_lands(m, number)
    _, _, source, _ = m.footprint(number)
    listed = m.operation_listed[number]
    unlist_lines(m, SOURCE, number, source, listed)
    m.lines = m.lines - lines_of(m, source, listed)
    m.operation_listed[number] = 0


def operation_ends(m: OperationsMachine, number: int) -> None:
    """An operation is in flight no longer."""
    if m.operation_place[number]:
        rest_lands(m, number)
    target, size, source, _ = m.footprint(number)
    listed = m.operation_listed[number]
    unlist_lines(m, TARGET, number, target, size)
    unlist_lines(m, SOURCE, number, source, listed)
    m.lines = m.lines - lines_of(m, target, size) - lines_of(m, source, listed)
    if m.observes_operations:
        if m.operation_mechanism[number] != LIVES:
            m.tell_operation(END, m.operation_op[number], m.operation_thread[number], number, 0, 0)
    m.operation_next[number] = m.free_operation
    m.free_operation = number


def batch_ends(m: OperationsMachine) -> None:
    """The resident CTAs have ended: no operation outlives them, and no object is told of one."""
    if m.reports_faults:
        what_is_left(m)
    for thread in range(m.slots * m.threads):
        number = m.first_operation[thread]
        while number:
            following = m.operation_next[number]
            operation_ends(m, number)
            number = following
        m.first_operation[thread] = 0
        m.last_operation[thread] = 0
    for i in range(m.slots * m.threads * m.record_words):
        m.completion[i] = 0


def what_is_left(m: OperationsMachine) -> None:
    """CTAs have ended: tell of operations in flight that may still read, and of objects that have learned of too much."""
    for thread in range(m.slots * m.threads):
        number = m.first_operation[thread]
        while number:
            if m.operation_lives[number]:
                there = object_at(m, m.operation_object[number])
                _, size, _, _ = m.footprint(number)
                if there and m.operation_follows[number] == 0:
                    m.operation_high[there] = m.operation_high[there] + size
            if m.reports_faults:
                if m.operation_listed[number]:
                    _, _, source, read = m.footprint(number)
                    m.tell_operation(REPORT, m.operation_op[number], thread, number, source, read)
            number = m.operation_next[number]
    for thread in range(m.slots * m.threads):
        number = m.first_operation[thread]
        while number:
            if m.operation_mechanism[number] == LIVES:
                looks_for_excess(m, number)
            number = m.operation_next[number]


def looks_for_excess(m: OperationsMachine, number: int) -> None:
    """Tell of an object on which operations have completed that have delivered more than it knew of."""
    if m.operation_follows[number]:
        place = m.operation_object[number]
        excess = m.excess(m.operation_follows[number] - 1, m.read_object(place), m.operation_high[number])
        if m.reports_faults:
            if excess:
                m.tell_operation(REPORT, m.operation_op[number], m.operation_thread[number], -number, place, excess)


def completes_on_object(m: OperationsMachine, number: int) -> None:
    """All pieces of an operation have landed. If it completes on an object, that learns it, and the operation ends, with those
    that it follows."""
    place = m.operation_object[number]
    if place:
        if m.operation_follows[number]:
            those_before_complete(m, number)
        broken = 0
        there = 0
        if m.operation_lives[number]:
            there = object_at(m, place)
            if there == 0:
                m.completion_fault = number
                m.completion_rule = 0
                return
            m.operation_low[there] = m.operation_low[there] - 1
        _, size, _, _ = m.footprint(number)
        mechanism = m.operation_mechanism[number]
        if m.observes_operations:
            m.tell_bytes(READ, m.operation_op[number], m.operation_thread[number], -number, place, OBJECT_BITS // 8)
        before = m.read_object(place)
        word, broken = m.complete(mechanism, before, size)
        if broken:
            m.completion_fault = number
            m.completion_rule = broken
            return
        if there and m.phase_of(before) != m.phase_of(word):
            m.operation_carries[there] = m.turns
        m.object_changes = m.object_changes + 1
        m.write_object(place, word)
        if m.observes_operations:
            m.tell_bytes(WRITE, m.operation_op[number], m.operation_thread[number], -number, place, OBJECT_BITS // 8)
        m.operation_mark[number] = 1
        if m.operation_follows[number]:
            operations_end(m, m.operation_thread[number])
        else:
            operation_leaves(m, number)


def those_before_complete(m: OperationsMachine, number: int) -> None:
    """An operation is complete that follows others: these are, too."""
    mechanism = m.operation_follows[number] - 1
    earlier = m.first_operation[m.operation_thread[number]]
    while earlier != number:
        if m.operation_mechanism[earlier] == mechanism:
            if m.operation_place[earlier]:
                rest_lands(m, earlier)
            m.operation_mechanism[earlier] = COMPLETE
        earlier = m.operation_next[earlier]


# Objects in memory ------------------------------------------------------------------------------------------------------


def object_at(m: OperationsMachine, place: int) -> int:
    """The object that has begun at a location; 0 if there is none."""
    if place == 0:
        return 0
    node = m.line_list[TARGET + (place >> LINE_LOG2) % LISTS]
    while node:
        number = m.node_operation[node]
        if m.operation_mechanism[number] == LIVES and m.operation_object[number] == place:
            return number
        node = m.node_next[node]
    return 0


def object_begins(m: OperationsMachine, thread: int, op: int, place: int) -> int:
    """A thread lets an object begin at a location. Its number; 0 if there is no room for it."""
    number = is_noted(m, LIVES, thread, op, place, OBJECT, place, 0, place, 0, 0)
    if number:
        m.initiate(number, place, OBJECT, place, 0, 0, 0, 0, 0)
        m.operation_mark[number] = 0
        m.operation_carries[number] = m.turns - turns_behind_a_phase(m)
        m.operation_follows[number] = 0
        m.operation_lives[number] = 0
        m.operation_low[number] = 0
        m.operation_high[number] = 0
        m.object_changes = m.object_changes + 1
    return number


def may_end(m: OperationsMachine, place: int) -> int:
    """Whether the object at a location may end: there is one, and no operation in flight is to complete on it."""
    number = object_at(m, place)
    return number != 0 and m.operation_low[number] == 0


def object_ends(m: OperationsMachine, place: int) -> None:
    """The object at a location ends."""
    number = object_at(m, place)
    m.object_changes = m.object_changes + 1
    operation_leaves(m, number)


def object_changes_now(m: OperationsMachine) -> None:
    """A step has changed an object."""
    m.object_changes = m.object_changes + 1


def completion_breaks(m: OperationsMachine) -> int:
    """The operation that has completed on an object against a rule; 0 if none has."""
    return m.completion_fault


def may_begin(m: OperationsMachine, place: int) -> int:
    """Whether an object may begin at a location."""
    return may_write(m, place, OBJECT, 0, 0)


# Pieces -----------------------------------------------------------------------------------------------------------------


def turn_begins(m: OperationsMachine) -> int:
    """Before a thread has its turn: pieces may land. The operation that completes against a rule; 0 if none does."""
    if m.unlanded == 0:
        return m.completion_fault
    if m.landing_way == LATE or m.landing_way == EARLY:
        m.turns = m.turns + 1
        if m.turns % LATEST == 0:
            those_on_objects_complete(m, turns_behind_a_phase(m))
        return m.completion_fault
    count = 1
    if m.landing_way == RANDOM:
        count = m.draw_landing(0, m.landing_seed, BEFORE_A_TURN)
    while count > 0 and m.unlanded > 0:
        count = count - 1
        number = m.unlanded_operations[0]
        piece = 0
        if m.landing_way == RANDOM:
            number = m.unlanded_operations[m.draw_landing(0, m.landing_seed, m.unlanded)]
            piece = m.draw_landing(0, m.landing_seed, PIECES)
        looked_at = 0
        while looked_at < PIECES and m.has_landed(number, piece):
            piece = (piece + 1) % PIECES
            looked_at += 1
        piece_lands(m, number, piece)
        while looked_at < PIECES and m.has_landed(number, piece):
            piece = (piece + 1) % PIECES
            looked_at += 1
        if looked_at == PIECES:
            all_have_landed(m, number)
            completes_on_object(m, number)
    return m.completion_fault


def objects_complete(m: OperationsMachine) -> int:
    """No thread can run: the operations in flight land that complete on objects. The one that does so against a rule; 0 if none
    does."""
    m.turns = m.turns + 1
    return those_on_objects_complete(m, 1)


def turns_behind_a_phase(m: OperationsMachine) -> int:
    """How many turns threads have, where some can run, before other operations complete on an object."""
    return BEHIND_A_PHASE * m.slots * m.threads


def those_on_objects_complete(m: OperationsMachine, turns: int) -> int:
    """The operations in flight land that complete on objects, but none on one of which another has completed a phase so few turns
    ago: those that wait for the phase go on before. The one that completes against a rule; 0 if none does."""
    i = m.unlanded
    while i > 0:
        i = i - 1
        if i < m.unlanded:
            number = m.unlanded_operations[i]
            if m.operation_object[number] and not is_behind_a_phase(m, number, turns):
                rest_lands(m, number)
                completes_on_object(m, number)
    return m.completion_fault


def is_behind_a_phase(m: OperationsMachine, number: int, turns: int) -> int:
    """Whether an operation is to complete on an object of which another one has completed a phase so few turns ago."""
    if m.operation_lives[number] == 0:
        return 0
    there = object_at(m, m.operation_object[number])
    return there != 0 and m.turns - m.operation_carries[there] < turns


def rest_lands(m: OperationsMachine, number: int) -> None:
    """The pieces of an operation land that have not."""
    pieces_land(m, number)
    all_have_landed(m, number)


def pieces_land(m: OperationsMachine, number: int) -> None:
    """The pieces of an operation are written that have not been."""
    if m.is_whole(number):
        begin, before, copied, source, behind = m.land_all(number)
        copy(m, number, begin, before, copied, source, behind)
    else:
        piece = 0
        while piece < PIECES and m.is_piece(number, piece):
            if not m.has_landed(number, piece):
                piece_lands(m, number, piece)
            piece = piece + 1


def piece_lands(m: OperationsMachine, number: int, piece: int) -> None:
    """A piece is written."""
    begin, before, copied, source, behind = m.land(number, piece)
    copy(m, number, begin, before, copied, source, behind)


def copy(m: OperationsMachine, number: int, begin: int, before: int, copied: int, source: int, behind: int) -> None:
    """From so far behind the beginning of an operation's target on, so many bytes are filled, so many copied from a location or
    changed by what lies there, and so many filled behind them."""
    target, _, _, _ = m.footprint(number)
    change = m.operation_change[number]
    carries = m.operation_carries[number]
    to = target + begin + before
    if before:
        m.fill_bytes(target + begin, before, m.fill_of(number))
    if change:
        change_elements(m, number, change - 1, to, source, copied)
    elif carries:
        if copied:
            m.write_carried(to, begin, copied, m.operation_low[number], m.operation_high[number])
    else:
        m.copy_bytes(to, source, copied)
    if behind:
        m.fill_bytes(to + copied, behind, m.fill_of(number))
    if m.observes_operations:
        op = m.operation_op[number]
        thread = m.operation_thread[number]
        if carries == 0:
            m.tell_bytes(READ, op, thread, number, source, copied)
        m.tell_bytes(WRITE, op, thread, number, target + begin, before + copied + behind)


def change_elements(m: OperationsMachine, number: int, change: int, target: int, source: int, count: int) -> None:
    """The elements in so many bytes at a location become what a step makes of them and of what lies at another one, or of what
    the operation carries."""
    size = m.element_size(change)
    at = 0
    while at < count:
        if m.operation_carries[number] == 0:
            value = m.read_element(source + at, size)
        elif at == 0:
            value = m.operation_low[number]
        else:
            value = m.operation_high[number]
        old = m.read_element(target + at, size)
        m.write_element(target + at, size, m.change(change, old, value))
        at = at + size


def all_have_landed(m: OperationsMachine, number: int) -> None:
    """No piece of an operation is left that has not landed."""
    place = m.operation_place[number]
    m.unlanded = m.unlanded - 1
    last = m.unlanded_operations[m.unlanded]
    m.unlanded_operations[place - 1] = last
    m.operation_place[last] = place
    m.operation_place[number] = 0


# What they touch --------------------------------------------------------------------------------------------------------


def lines_of(m: OperationsMachine, begin: int, size: int) -> int:
    """How many lines a range of bytes touches."""
    if size == 0:
        return 0
    return (begin + size - 1 >> LINE_LOG2) - (begin >> LINE_LOG2) + 1


def list_lines(m: OperationsMachine, which: int, number: int, begin: int, size: int) -> None:
    """Let an operation be in the lists of the lines that it writes, or reads."""
    first = begin >> LINE_LOG2
    for line in range(first, first + lines_of(m, begin, size)):
        node = m.free_node
        if node:
            m.free_node = m.node_next[node]
        else:
            m.nodes = m.nodes + 1
            node = m.nodes
        at = which + line % LISTS
        m.node_operation[node] = number
        m.node_next[node] = m.line_list[at]
        m.line_list[at] = node


def unlist_lines(m: OperationsMachine, which: int, number: int, begin: int, size: int) -> None:
    """Let an operation be in these lists no longer."""
    first = begin >> LINE_LOG2
    for line in range(first, first + lines_of(m, begin, size)):
        at = which + line % LISTS
        before = 0
        node = m.line_list[at]
        while m.node_operation[node] != number:
            before = node
            node = m.node_next[node]
        if before:
            m.node_next[before] = m.node_next[node]
        else:
            m.line_list[at] = m.node_next[node]
        m.node_next[node] = m.free_node
        m.free_node = node


def nearness(m: Clusters, thread: int, other: int) -> int:
    """How near two threads are: in one CTA (0), one cluster (1), or neither."""
    cta = thread // m.threads
    there = other // m.threads
    if cta == there:
        return 0
    return 1 if cta // m.cluster == there // m.cluster else 2


def may_read(m: OperationsMachine, begin: int, size: int, thread: int, spared: int) -> int:
    """Whether no operation in flight writes any of so many bytes, but by changes that are spared."""
    return are_spared(m, TARGET, begin, size, thread, spared)


def may_write(m: OperationsMachine, begin: int, size: int, thread: int, spared: int) -> int:
    """Whether, besides, none reads them."""
    return are_spared(m, TARGET, begin, size, thread, spared) and are_spared(m, SOURCE, begin, size, thread, 0)


def is_spared(m: OperationsMachine, number: int, thread: int, spared: int) -> int:
    """Whether a thread may touch what an operation changes, as AsynchronousUse.spared_by has it."""
    if spared == 0 or m.operation_change[number] == 0:
        return 0
    which = m.class_of_change(m.operation_change[number] - 1)
    return spared >> (which + MOST_CLASSES * nearness(m, thread, m.operation_thread[number])) & 1


def are_spared(m: OperationsMachine, which: int, begin: int, size: int, thread: int, spared: int) -> int:
    """Whether no operation in flight writes, or reads, any of so many bytes, but by changes that are spared."""
    first = begin >> LINE_LOG2
    for line in range(first, first + lines_of(m, begin, size)):
        node = m.line_list[which + line % LISTS]
        while node:
            number = m.node_operation[node]
            if which == SOURCE:
                fine = m.spares_source(number, begin, size)
            elif is_spared(m, number, thread, spared):
                fine = 1
            else:
                fine = m.spares_target(number, begin, size)
            if not fine:
                return 0
            node = m.node_next[node]
    return 1


#: every one of these functions
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    operation_begins, is_noted, pieces_land, those_before_complete, object_at, object_begins, may_end, object_ends,
    object_changes_now, completion_breaks, may_begin, operations_end, operation_leaves, source_is_free, operation_ends,
    batch_ends, what_is_left, looks_for_excess, completes_on_object, turn_begins, objects_complete,
    those_on_objects_complete, turns_behind_a_phase, is_behind_a_phase, rest_lands,
    piece_lands, copy, change_elements, all_have_landed, lines_of, list_lines, unlist_lines, may_read, may_write,
    nearness, is_spared, are_spared,
)  # fmt: skip
