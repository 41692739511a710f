"""Events as compiled code notes them, for launches that are observed: rows of an array. When it is full, the host is told."""

from __future__ import annotations

from functools import cache

from ptxspec.machine import hosts
from ptxspec.machine.events import MOST_NOTED, UNIT, WORDS, EventKind
from ptxspec.machine.native.context import FIELD, field_text

#: the fields that an event is given beside its kind and its instruction, all numbers of 64 bits
GIVEN = WORDS[3:]


@cache
def event(checked: bool) -> frozenset[str]:
    """What calls of `event` need, which notes an event if that `holds`."""
    given = "".join(f", i64 %{word}" for word in ("kind", "instruction", *GIVEN))
    words = {word: f"%{word}" for word in WORDS}
    return _noting(checked, f"event(ptr %context, i1 %holds{given})", "%holds", "", words)


@cache
def access_event(checked: bool, inline: bool) -> frozenset[str]:
    """What calls of `access_event` need, which notes an access of 64 bits at most: `what` has its kind, its size from bit 8 on,
    and its instruction from bit 32 on. It is given no more than processors pass in registers, or becomes a part of the code."""
    parts = """  %kind = and i64 %what, 255
  %beside = lshr i64 %what, 8
  %size = and i64 %beside, 16777215
  %instruction = lshr i64 %what, 32
"""
    given = ("kind", "first", "instruction", "thread", "location", "size", "value")
    words = dict.fromkeys(WORDS, "0") | {word: f"%{word}" for word in given}
    head = "access_event(ptr %context, i64 %what, i64 %thread, i64 %location, i64 %value)"
    return _noting(checked, head, "true", parts, words, "alwaysinline" if inline else "noinline")


#: tells of the events that have been noted; how many there are then
_TELLING = f"""define internal i64 @tell_events(ptr %context) noinline cold {{
  %tell_at = getelementptr i64, ptr %context, i64 {FIELD["tell_at"]}
  %address = load i64, ptr %tell_at
  %function = inttoptr i64 %address to ptr
  %told = call i64 %function()
  %noted_at = getelementptr i64, ptr %context, i64 {FIELD["noted_events"]}
  %left = load i64, ptr %noted_at
  ret i64 %left
}}"""


def _noting(
    checked: bool, head: str, holds: str, before: str, words: dict[str, str], attributes: str = "noinline"
) -> frozenset[str]:
    """A function that notes a row of these words if something holds, and tells of all rows first where there is no room; `before`
    is text that makes the words of what the function is given."""
    row = hosts.pointer(checked, "events", "%events", "%number", 8 * len(WORDS), 8 * len(WORDS), "%events_bytes")
    stores = "\n".join(
        f"  %{word}_cell = getelementptr i64, ptr %row, i64 {i}\n  store i64 {words[word]}, ptr %{word}_cell"
        for i, word in enumerate(WORDS)
    )
    fields = ("events", "first", *(("record", "events_bytes") if checked else ()))
    text = f"""define internal i64 @{head} {attributes} {{
entry:
  %noted_at = getelementptr i64, ptr %context, i64 {FIELD["noted_events"]}
  br i1 {holds}, label %look, label %done
look:
  %before = load i64, ptr %noted_at
  %full = icmp uge i64 %before, {MOST_NOTED}
  br i1 %full, label %tell, label %note
tell:
  %after = call i64 @tell_events(ptr %context)
  br label %note
note:
  %number = phi i64 [%before, %look], [%after, %tell]
{chr(10).join(field_text(name, changes=True) for name in fields)}
  %row = {row}
{before}{stores}
  %following = add i64 %number, 1
  store i64 %following, ptr %noted_at
  br label %done
done:
  ret i64 0
}}"""
    return frozenset({text, _TELLING, *hosts.NEEDS})


def call_of_access(kind: EventKind, instruction: int, thread: str, location: str, size: int, value: str) -> str:
    """Text that calls `access_event`."""
    what = int(kind) | size << 8 | instruction << 32
    return f"call i64 @access_event(ptr %context, i64 {what}, i64 {thread}, i64 {location}, i64 {value})"


def call(kind: EventKind | str, instruction: int | str, thread: str, holds: str = "true", **given: str) -> str:
    """Text that calls `event`; what is not given is 0."""
    words = (str(int(kind)) if isinstance(kind, EventKind) else kind, str(instruction), thread)
    rest = (given.get(word, "0") for word in GIVEN[1:])
    return f"call i64 @event(ptr %context, i1 {holds}, {', '.join(f'i64 {word}' for word in (*words, *rest))})"


#: what the driver calls to tell of an event
OF_DRIVER = f"""define internal i64 @tell(ptr %context, i64 %kind, i64 %op, i64 %thread, i64 %value) {{
  %noted = {call("%kind", "%op", "%thread", value="%value")}
  ret i64 0
}}"""

#: what the functions of asynchronous operations call: to tell of one, and of so many bytes that are read or written
OF_OPERATIONS = f"""define internal i64 @tell_operation(ptr %context, i64 %kind, i64 %op, i64 %thread, i64 %number, i64 %target,
    i64 %size) {{
  %noted = {call("%kind", "%op", "%thread", location="%target", size="%size", operation="%number")}
  ret i64 0
}}
define internal i64 @tell_bytes(ptr %context, i64 %kind, i64 %op, i64 %thread, i64 %number, i64 %place, i64 %count) {{
entry:
  %word = alloca i64
  br label %look
look:
  %at = phi i64 [0, %entry], [%following, %inside]
  %more = icmp ult i64 %at, %count
  br i1 %more, label %inside, label %done
inside:
  %left = sub i64 %count, %at
  %is_last = icmp ult i64 %left, {UNIT}
  %size = select i1 %is_last, i64 %left, i64 {UNIT}
  %location = add i64 %place, %at
  %from = inttoptr i64 %location to ptr
  store i64 0, ptr %word
  call void @llvm.memcpy.p0.p0.i64(ptr %word, ptr %from, i64 %size, i1 false)
  %value = load i64, ptr %word
  %noted = {call("%kind", "%op", "%thread", location="%location", size="%size", value="%value", operation="%number")}
  %following = add i64 %at, {UNIT}
  br label %look
done:
  ret i64 0
}}"""
