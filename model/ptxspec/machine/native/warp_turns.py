"""Turns of warps: which threads have theirs together, and where they go from there."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.machine import hosts
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.context import field_at, field_text
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.narrow import OVER
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.native.threads import BAD
from ptxspec.machine.native.warp_registers import NUMBERS, TRUTHS, WORD
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter

#: what a warp's function gives where the lanes of a turn go on at another block, after which it is called again
AGAIN = 3
#: words that it is given and gives: the instructions that the lanes have executed in their turn; those that the turn has had,
#: each once; the block at which lanes go on; and which lanes
TURN = 4
TURN_TAKEN, TURN_NEXT, TURN_LANES = (f"getelementptr i64, ptr %turn, i64 {k}" for k in range(1, TURN))


def enqueue_text(layout: Layout) -> str:
    """LLVM text of `enqueue_lanes(context, base, which, lanes)`: threads of a warp come to the end of a list, in their order."""
    text = FunctionText(layout, set())
    e, lines = text.emitter, text.lines
    counts = text.at("counts", "%which", 8)
    start = e.binary("mul", "%which", str(layout.capacity), 64)
    lines.append(
        f"  %standing = load i64, ptr {counts}\n  %many32 = call i32 @llvm.ctpop.i32(i32 %lanes)\n"
        f"  %many = zext i32 %many32 to i64\n  %stand = add i64 %standing, %many\n  store i64 %stand, ptr {counts}"
    )
    begin = e.binary("add", start, "%standing", 64)
    if layout.program.clustered:  # a CTA counts its threads that have ended
        cell = text.at("gone", "%slot", 8)
        lines.append(
            f"  %ended = load i64, ptr {cell}\n  %is_end = icmp eq i64 %which, {len(layout.program.flow.blocks)}\n"
            f"  %more = select i1 %is_end, i64 %many, i64 0\n  %now_ended = add i64 %ended, %more\n"
            f"  store i64 %now_ended, ptr {cell}"
        )
    lines.append(
        "  %base32 = trunc i64 %base to i32\n  %is_whole = icmp eq i32 %lanes, -1\n  br i1 %is_whole, label %whole, label %look"
    )
    known = e.known()
    text.begin("whole")
    steps = ", ".join(f"i32 {k}" for k in range(LANES))
    lines.append(
        f"  %first_of = insertelement {NUMBERS} poison, i32 %base32, i64 0\n"
        f"  %same = shufflevector {NUMBERS} %first_of, {NUMBERS} poison, <{LANES} x i32> zeroinitializer\n"
        f"  %numbers = add {NUMBERS} %same, <{steps}>\n"
        f"  store {NUMBERS} %numbers, ptr {text.at('lists', begin, 4, 4 * LANES)}, align 4\n  ret void"
    )
    text.begin("look")
    e.go_back(known)
    lines.append(
        f"  %left = phi {WORD} [%lanes, %entry], [%fewer, %do]\n  %slot_in = phi i64 [{begin}, %entry], [%next_slot, %do]\n"
        f"  %some = icmp ne {WORD} %left, 0\n  br i1 %some, label %do, label %done\ndo:\n"
        f"  %first = call {WORD} @llvm.cttz.i32({WORD} %left, i1 true)\n  %one = add i32 %base32, %first"
    )
    lines.append(
        f"  store i32 %one, ptr {text.at('lists', '%slot_in', 4)}\n  %next_slot = add i64 %slot_in, 1\n"
        f"  %less = sub {WORD} %left, 1\n  %fewer = and {WORD} %left, %less\n  br label %look\ndone:\n  ret void"
    )
    head = Head(text, set())
    return "\n".join(
        [
            f"define internal void @enqueue_lanes(ptr noalias %context, i64 %base, i64 %which, {WORD} %lanes) {{",
            "entry:",
            "  %thread = add i64 %base, 0",
            *head.fields(),
            *head.places(),
            *lines,
            "}",
        ]
    )


def wait_text(layout: Layout) -> str:
    """LLVM text of `wait_lanes(context, base, op, lanes)`: threads of a warp wait at an instruction."""
    text = FunctionText(layout, set())
    lines, last = text.lines, len(layout.program.flow.blocks) + 1
    lines.append(
        f"  %op32 = trunc i64 %op to i32\n  %is_whole = icmp eq {WORD} %lanes, -1\n"
        "  br i1 %is_whole, label %whole, label %look\nwhole:"
    )
    known = text.emitter.known()
    lines.append(
        f"  %all = insertelement {NUMBERS} poison, i32 %op32, i64 0\n"
        f"  %every = shufflevector {NUMBERS} %all, {NUMBERS} poison, <{LANES} x i32> zeroinitializer\n"
        f"  store {NUMBERS} %every, ptr {text.at('waits_at', '%base', 4, 4 * LANES)}, align 4\n  br label %done"
    )
    text.emitter.go_back(known)
    lines.append(
        f"look:\n  %left = phi {WORD} [%lanes, %entry], [%fewer, %do]\n  %some = icmp ne {WORD} %left, 0\n"
        f"  br i1 %some, label %do, label %done\ndo:\n  %first = call {WORD} @llvm.cttz.i32({WORD} %left, i1 true)\n"
        f"  %lane = zext {WORD} %first to i64\n  %one = add i64 %base, %lane"
    )
    lines.append(
        f"  store i32 %op32, ptr {text.at('waits_at', '%one', 4)}\n  %less = sub {WORD} %left, 1\n"
        f"  %fewer = and {WORD} %left, %less\n  br label %look\ndone:"
    )
    return "\n".join(
        [
            f"define internal void @wait_lanes(ptr noalias %context, i64 %base, i64 %op, {WORD} %lanes) {{",
            "entry:",
            *Head(text, set()).fields(),
            *lines,
            f"  call void @enqueue_lanes(ptr %context, i64 %base, i64 {last}, {WORD} %lanes)\n  ret void\n}}",
        ]
    )


def turns_of_warps(layout: Layout, memory: int) -> str:
    """LLVM text of `turns(context, block, count, limit)`, as in threads.py, for turns of warps. `memory` is
    how many bytes of it a warp's function needs."""
    lines: list[str] = []
    e = Emitter(lines, set(), stem="joins")
    page = contracts.schedule
    joins = page.joins(variable("%warp", 64), variable("%last", 64), variable("%other", 64), variable("%number", 64))
    names = {"%warp": "%warp", "%last": "%last", "%other": "%other", "%number": "%number"}
    condition = Lowering(e, names).truth(joins)
    checked = layout.checked

    def cell(k: str, count: int = 1) -> str:
        return hosts.pointer(checked, "scratch", "%scratch", k, 4, 4 * count, "%scratch_bytes")

    fields = "\n".join(
        [
            *(field_text(n) for n in ("scratch", "record", "scratch_bytes", "threads")),
            field_text("in_order", changes=True),
            field_at("steps"),
            field_at("taken"),
        ]
    )

    joined = "\n".join(lines)
    return f"""
define i64 @turns(ptr noalias %context, i64 %block, i64 %count, i64 %limit) {{
entry:
  %turn = alloca [{TURN} x i64]
  %turn_taken = {TURN_TAKEN}
  %turn_next = {TURN_NEXT}
  %turn_lanes = {TURN_LANES}
  %memory = alloca [{max(memory, 1)} x i8], align 512
{fields}
  %begun = load i64, ptr %steps_at
  %is_ordered = icmp ne i64 %in_order, 0
  %more_threads = add i64 %threads, {LANES - 1}
  %warps_each = lshr i64 %more_threads, {LANES.bit_length() - 1}
  br label %each
each:
  %k = phi i64 [0, %entry], [%behind, %likely], [%behind, %next_read]
  %steps0 = phi i64 [%begun, %entry], [%steps1, %likely], [%steps1, %next_read]
  %thread_at = {cell("%k")}
  %thread32 = load i32, ptr %thread_at
  %thread = zext i32 %thread32 to i64
  %f.cta = udiv i64 %thread, %threads
  %f.start = mul i64 %f.cta, %threads
  %f.in = sub i64 %thread, %f.start
  %f.of = lshr i64 %f.in, {LANES.bit_length() - 1}
  %f.first = mul i64 %f.cta, %warps_each
  %warp = add i64 %f.first, %f.of
  %f.lane = and i64 %f.in, {LANES - 1}
  %own_base = sub i64 %thread, %f.lane
  %f.begin = sub i64 %f.in, %f.lane
  %bit64 = shl i64 1, %f.lane
  %bit = trunc i64 %bit64 to i32
  %k1 = add i64 %k, 1
  %above = add i64 %f.in, {LANES}
  %is_whole = icmp ule i64 %above, %threads
  %is_first = icmp eq i64 %f.lane, 0
  %all_k = add i64 %k, {LANES}
  %is_there = icmp ule i64 %all_k, %count
  %may1 = and i1 %is_whole, %is_first
  %may = and i1 %may1, %is_there
  %left1 = sub i64 %threads, %f.in
  %left2 = add i64 %left1, %f.lane
  %is_last = icmp ult i64 %left2, {LANES}
  %left = select i1 %is_last, i64 %left2, i64 {LANES}
  br i1 %may, label %compare, label %look
compare:
  br i1 %is_ordered, label %go, label %read
read:
  %all_at = {cell("%k", LANES)}
  %all32 = load {NUMBERS}, ptr %all_at, align 4
  %in0 = insertelement {NUMBERS} poison, i32 %thread32, i64 0
  %in1 = shufflevector {NUMBERS} %in0, {NUMBERS} poison, <{LANES} x i32> zeroinitializer
  %due = add {NUMBERS} %in1, <{", ".join(f"i32 {i}" for i in range(LANES))}>
  %equal = icmp eq {NUMBERS} %all32, %due
  %equal32 = bitcast {TRUTHS} %equal to i32
  %is_warp = icmp eq i32 %equal32, -1
  br i1 %is_warp, label %go, label %look
look:
  %end = phi i64 [%k1, %each], [%k1, %read], [%end1, %join]
  %last = phi i64 [%thread, %each], [%thread, %read], [%number, %join]
  %lanes = phi i32 [%bit, %each], [%bit, %read], [%lanes1, %join]
  %is_more = icmp ult i64 %end, %count
  br i1 %is_more, label %following, label %go
following:
  %other_at = {cell("%end")}
  %other32 = load i32, ptr %other_at
  %number = zext i32 %other32 to i64
  %o.lane = sub i64 %number, %own_base
  %is_same = icmp ult i64 %o.lane, %left
  %next_warp = add i64 %warp, 1
  %other = select i1 %is_same, i64 %warp, i64 %next_warp
{joined}
  br i1 {condition}, label %join, label %go
join:
  %bit1 = shl i64 1, %o.lane
  %bit2 = trunc i64 %bit1 to i32
  %lanes1 = or i32 %lanes, %bit2
  %end1 = add i64 %end, 1
  br label %look
go:
  %behind = phi i64 [%all_k, %compare], [%all_k, %read], [%end, %look], [%end, %following], [%next_k, %next],
    [%next_k, %next_read]
  %together = phi i32 [-1, %compare], [-1, %read], [%lanes, %look], [%lanes, %following], [-1, %next], [-1, %next_read]
  %base = phi i64 [%own_base, %compare], [%own_base, %read], [%own_base, %look], [%own_base, %following], [%next_base, %next],
    [%next_base, %next_read]
  %in = phi i64 [%f.begin, %compare], [%f.begin, %read], [%f.begin, %look], [%f.begin, %following], [%next_in, %next],
    [%next_in, %next_read]
  %steps = phi i64 [%steps0, %compare], [%steps0, %read], [%steps0, %look], [%steps0, %following], [%steps1, %next],
    [%steps1, %next_read]
  store i64 0, ptr %turn
  store i64 0, ptr %turn_taken
  br label %call
call:
  %given = phi i32 [%together, %go], [%given1, %again]
  %start = phi i64 [%block, %go], [%start1, %again]
  %outcome = call i64 @warp(ptr %context, i64 %base, i32 %given, i64 %start, i64 %steps, ptr %turn, ptr %memory)
  %goes_on = icmp eq i64 %outcome, {AGAIN}
  br i1 %goes_on, label %again, label %had
again:
  %given1 = load i32, ptr %turn_lanes
  %start1 = load i64, ptr %turn_next
  br label %call
had:
  %took = load i64, ptr %turn
  %steps1 = add i64 %steps, %took
  %good = icmp eq i64 %outcome, {OVER}
  br i1 %good, label %on, label %bad, !prof !0
on:
  %others = icmp ult i64 %behind, %count
  %room = icmp ult i64 %steps1, %limit
  %more = and i1 %others, %room
  br i1 %more, label %likely, label %done
likely:
  %next_k = add i64 %behind, {LANES}
  %next_base = add i64 %base, {LANES}
  %next_in = add i64 %in, {LANES}
  %next_end = add i64 %in, {2 * LANES}
  %next_there = icmp ule i64 %next_k, %count
  %next_whole = icmp ule i64 %next_end, %threads
  %next_may = and i1 %next_there, %next_whole
  br i1 %next_may, label %next, label %each
next:
  br i1 %is_ordered, label %go, label %next_read
next_read:
  %next_at = {cell("%behind", LANES)}
  %next32 = load {NUMBERS}, ptr %next_at, align 4
  %next_base32 = trunc i64 %next_base to i32
  %next_in0 = insertelement {NUMBERS} poison, i32 %next_base32, i64 0
  %next_in1 = shufflevector {NUMBERS} %next_in0, {NUMBERS} poison, <{LANES} x i32> zeroinitializer
  %next_order = add {NUMBERS} %next_in1, <{", ".join(f"i32 {i}" for i in range(LANES))}>
  %next_equal = icmp eq {NUMBERS} %next32, %next_order
  %next_equal32 = bitcast {TRUTHS} %next_equal to i32
  %next_is_warp = icmp eq i32 %next_equal32, -1
  br i1 %next_is_warp, label %go, label %each
done:
  store i64 %steps1, ptr %steps_at
  store i64 %behind, ptr %taken_at
  ret i64 0
{BAD}
}}"""
