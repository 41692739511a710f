"""The functions of machine/asynchrony.py, compiled for a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import ptxspec.machine.native.events as events
from ptxspec.machine import hosts
from ptxspec.machine.events import RACE
from ptxspec.machine.native.compiling import Array, BoundStep, Environment, compiled
from ptxspec.machine.native.context import FIELD, field_text
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.operations import ARRAYS, AsynchronousUse

#: what the functions of machine/asynchrony.py ask an engine for
_SUPPLIED = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define internal i64 @read_object(ptr %context, i64 %place) alwaysinline {
  %at = inttoptr i64 %place to ptr
  %word = load i64, ptr %at
  ret i64 %word
}
define internal i64 @write_object(ptr %context, i64 %place, i64 %word) alwaysinline {
  %at = inttoptr i64 %place to ptr
  store i64 %word, ptr %at
  ret i64 0
}
define internal i64 @copy_bytes(ptr %context, i64 %target, i64 %source, i64 %count) alwaysinline {
  %to = inttoptr i64 %target to ptr
  %from = inttoptr i64 %source to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %count, i1 false)
  ret i64 0
}
define internal i64 @read_element(ptr %context, i64 %place, i64 %size) alwaysinline {
  %at = inttoptr i64 %place to ptr
  switch i64 %size, label %eight [i64 1, label %one i64 2, label %two i64 4, label %four]
one:
  %b1 = load i8, ptr %at
  %w1 = zext i8 %b1 to i64
  ret i64 %w1
two:
  %b2 = load i16, ptr %at
  %w2 = zext i16 %b2 to i64
  ret i64 %w2
four:
  %b4 = load i32, ptr %at
  %w4 = zext i32 %b4 to i64
  ret i64 %w4
eight:
  %w8 = load i64, ptr %at
  ret i64 %w8
}
define internal i64 @write_element(ptr %context, i64 %place, i64 %size, i64 %value) alwaysinline {
  %at = inttoptr i64 %place to ptr
  switch i64 %size, label %eight [i64 1, label %one i64 2, label %two i64 4, label %four]
one:
  %b1 = trunc i64 %value to i8
  store i8 %b1, ptr %at
  ret i64 0
two:
  %b2 = trunc i64 %value to i16
  store i16 %b2, ptr %at
  ret i64 0
four:
  %b4 = trunc i64 %value to i32
  store i32 %b4, ptr %at
  ret i64 0
eight:
  store i64 %value, ptr %at
  ret i64 0
}
define internal i64 @write_carried(ptr %context, i64 %target, i64 %begin, i64 %count, i64 %low, i64 %high) {
  %words = alloca [2 x i64]
  %second = getelementptr [2 x i64], ptr %words, i64 0, i64 1
  store i64 %low, ptr %words
  store i64 %high, ptr %second
  %from = getelementptr i8, ptr %words, i64 %begin
  %to = inttoptr i64 %target to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %count, i1 false)
  ret i64 0
}
define internal i64 @fill_bytes(ptr %context, i64 %target, i64 %count, i64 %fill) {
  %to = inttoptr i64 %target to ptr
  %are_zeros = icmp eq i64 %fill, 0
  br i1 %are_zeros, label %zeros, label %begin
zeros:
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %count, i1 false)
  ret i64 0
begin:
  %two = trunc i64 %fill to i16
  br label %head
head:
  %at = phi i64 [ 0, %begin ], [ %next, %body ]
  %is_there = icmp ult i64 %at, %count
  br i1 %is_there, label %body, label %done
body:
  %place = getelementptr i8, ptr %to, i64 %at
  store i16 %two, ptr %place, align 1
  %next = add i64 %at, 2
  br label %head
done:
  ret i64 0
}"""


def functions(layout: Layout) -> frozenset[str]:
    """What calls of the functions of machine/asynchrony.py need, and of `thread_advances`, for a kernel that uses some."""
    used = layout.program.asynchronous
    assert used is not None
    observed = layout.program.flow.observed
    return functions_of(used, layout.checked, observed.operations, RACE in observed.checks)


@cache
def functions_of(used: AsynchronousUse, checked: bool, observes: bool, reports: bool) -> frozenset[str]:
    """The same for a kernel that uses so much, in a launch that observes operations and reports their faults, or does not."""
    from ptxspec.machine import asynchrony  # with a page that few kernels need

    steps = {name: BoundStep(*taken) for name, taken in used.steps().items()}
    arrays = {name: Array(8) for name in ARRAYS}
    supplied = {
        "copy_bytes": 3, "fill_bytes": 3, "write_carried": 5, "read_element": 2, "write_element": 3, "read_object": 1,
        "write_object": 2, "tell_operation": 6, "tell_bytes": 6,
    }  # fmt: skip
    constants = {"observes_operations": int(observes), "reports_faults": int(reports)}
    world = Environment(FIELD, arrays, steps, supplied, checked, constants)
    needs = set(hosts.NEEDS)
    if observes:
        needs |= {*events.event(checked), events.OF_OPERATIONS}
    text = compiled(asynchrony.FUNCTIONS, world, needs)
    return frozenset({"\n".join([_SUPPLIED, text, *_advances(used, checked)]), *needs})


def _advances(used: AsynchronousUse, checked: bool) -> Iterator[str]:
    """For each step of a completion mechanism a function `thread_advances0(context, thread, …)`: the thread takes the step, and
    its operations that are complete end."""
    for i, (_, step) in enumerate(used.advances):
        array, words = "completion", used.record_words
        given = "".join(f", i64 %a{k}" for k in range(len(step.operands)))
        row = hosts.pointer(checked, array, f"%{array}", "%thread", 8 * words, 8 * words, f"%{array}_bytes")
        fields = [array, "record", f"{array}_bytes"] if checked else [array]
        yield "\n".join(
            [
                f"define internal i64 @thread_advances{i}(ptr %context, i64 %thread{given}) {{",
                *(field_text(name, changes=True) for name in fields),
                f"  %row = {row}",
                f"  %taken = call {{i64}} @step_advance{i}(ptr %row{given})",
                "  %ended = call i64 @operations_end(ptr %context, i64 %thread)",
                "  ret i64 0\n}",
            ]
        )


def ending(layout: Layout, needs: set[str]) -> str:
    """LLVM text of `end_batch(context)`: the threads of a batch have ended; and of `land_objects(context)`: the operations land
    that complete on objects. Gives the one that does so against a rule, or 0."""
    used, ends, lands = layout.program.asynchronous, "", "  ret i64 0\n"
    if used is not None:
        needs |= functions(layout)
        ends = "  call i64 @batch_ends(ptr %context)\n"
        lands = "  %broken = call i64 @objects_complete(ptr %context)\n  ret i64 %broken\n"
    return (
        f"define i64 @end_batch(ptr %context) {{\n{ends}  ret i64 0\n}}\n"
        f"define i64 @land_objects(ptr %context) {{\n{lands}}}"
    )
