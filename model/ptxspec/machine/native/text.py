"""What is being written: lines of LLVM for some blocks of a kernel, and what is known while they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ptxspec.machine.native.events as events
from ptxspec import contracts
from ptxspec.machine import hosts
from ptxspec.machine.events import EventKind
from ptxspec.machine.flow import Block, successors
from ptxspec.machine.native.context import FIELD, OWN
from ptxspec.machine.native.layout import Layout
from ptxspec.terms.native import Emitter

#: what a turn's code gives where the engine's own data are wrong
WRONG = -3
#: what it gives where its thread broke a rule
FAILED = -2
#: no block: what is written leads from one to another, or to the outside
_BETWEEN = Block(0, 0, None, None)


class FunctionText:
    """The lines of one function, the block and the instruction that they have come to, and the ways to form pointers and to
    check."""

    def __init__(self, layout: Layout, needs: set[str], emitter: Callable[..., Emitter] = Emitter):
        self.layout, self.program = layout, layout.program
        self.kernel, self.flow = self.program.kernel, self.program.flow
        self.lines: list[str] = []
        self.emitter = emitter(self.lines, needs, self.program.profile.compiled)
        self.labels = 0
        #: what a failed check leads to
        self.faults: list[str] = []
        #: how many bytes each pointer was formed for whose elements are reached one by one
        self.held: dict[str, int] = {}
        #: values and widths of the registers that the instruction reads, for what is said if it breaks a rule
        self.shown: list[tuple[str, int]] = []
        self.number, self.block, self.index = -1, _BETWEEN, 0
        #: the array of local memory, the bytes of a thread's, and those from one thread's to the next
        self.frames = hosts.array_of(contracts.state_spaces.OF_FRAMES)
        self.frames_size, self.frames_stride = f"%{self.frames}_size", f"%{self.frames}_stride"
        #: the registers that are read behind the block
        self.live_out: set[str] = set()

    def enter_block(self, number: int) -> None:
        """Go on with a block."""
        self.number, self.block = number, self.flow.blocks[number]
        self.index = self.block.start
        self.live_out = set().union(*[self.layout.live[s] for s in successors(self.block)])
        self.emitter.forget()

    def leave_blocks(self) -> None:
        """Go on between the blocks."""
        self.block = _BETWEEN
        self.emitter.forget()

    @property
    def op(self) -> int:
        """The index of the instruction that is being written."""
        return self.index if self.block.finishes is None else self.block.finishes

    def label(self, stem: str) -> str:
        self.labels += 1
        return f"{stem}{self.labels}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def at(
        self, array: str, index: str, unit: int, size: int | str | None = None, *, base: str = "", length: str = ""
    ) -> str:
        """The pointer to `size` bytes of one of the host's arrays (one unit, if that is not said), `index` units of so many bytes
        from its beginning. `base` and `length` are those of a part of the array."""
        count = unit if size is None else size
        text = hosts.pointer(
            self.layout.checked, array, base or f"%{array}", index, unit, count, length or f"%{array}_bytes", self.op
        )
        pointer = self.emitter.emit(text)
        if isinstance(count, int):
            self.held[pointer] = max(count, self.held.get(pointer, 0))
        return pointer

    def element_of(self, pointer: str, index: int, unit: int) -> str:
        """The pointer to an element of what a pointer was formed for."""
        return hosts.within(pointer, self.held[pointer], index, unit)

    def fill(self, pointer: str, byte: int, size: str) -> None:
        """Set so many bytes, for which the pointer was formed."""
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 {byte}, i64 {self.span(size)}, i1 false)")

    def copy(self, to: str, pointer: str, size: int | str) -> None:
        """Copy so many bytes, for which both pointers were formed."""
        self.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {pointer}, i64 {self.span(str(size))}, i1 false)"
        )

    def span(self, size: str) -> str:
        if not self.layout.checked:
            return size
        name = f"%span{len(self.lines)}"
        self.lines.append(f"  {name} = {hosts.span(size)}")
        return name

    def request_at(self, field: str, number: int) -> str:
        """Where a word lies that the thread gives or gets."""
        place = self.emitter.binary("add", "%thread", str(number * self.layout.capacity), 64)
        return self.at(field, place, 8)

    def more_at(self, array: str, thread: str, number: int) -> str:
        """Where one of the values lies that a thread gives its warp beside the first."""
        first = self.emitter.binary("mul", thread, str(self.layout.more_words), 64)
        return self.at(array, self.emitter.binary("add", first, str(number), 64), 8)

    def count(self, array: str, place: int, by: str = "1") -> None:
        """Add to a counter, in a launch that counts."""
        if self.flow.observed.counts:
            at, name = self.at(array, str(place), 8), f"%count{len(self.lines)}"
            self.lines.append(
                f"  {name} = load i64, ptr {at}\n  {name}n = add i64 {name}, {by}\n  store i64 {name}n, ptr {at}"
            )

    def event(self, kind: EventKind, holds: str = "true", index: int | None = None, **given: str) -> None:
        """Note an event of the instruction that is being written, or of another one, if that kind is observed."""
        if kind in self.flow.observed.kinds:
            self.emitter.needs |= events.event(self.layout.checked)
            noted = events.call(kind, self.op if index is None else index, "%thread", holds, **given)
            self.lines.append(f"  %event{len(self.lines)} = {noted}")

    def access_event(self, kind: EventKind, location: str, size: int, value: str) -> None:
        """Note that the instruction that is being written accesses so many bytes, eight at most, which hold a value."""
        self.emitter.needs |= events.access_event(self.layout.checked, self.layout.has_few_accesses)
        noted = events.call_of_access(kind, self.op, "%thread", location, size, value)
        self.lines.append(f"  %event{len(self.lines)} = {noted}")

    def enqueue(self, which: str) -> None:
        """Put the thread at the end of a list of those that stand at a block, have ended, or wait."""
        e = self.emitter
        cell = self.at("counts", which, 8)
        standing = f"%{self.label('standing')}"
        self.lines.append(
            f"  {standing} = load i64, ptr {cell}\n  {standing}x = add i64 {standing}, 1\n"
            f"  store i64 {standing}x, ptr {cell}"
        )
        start = e.binary("mul", which, str(self.layout.capacity), 64)
        slot = self.at("lists", e.binary("add", start, standing, 64), 4)
        number = f"%{self.label('own')}"
        self.lines.append(f"  {number} = trunc i64 %thread to i32\n  store i32 {number}, ptr {slot}")
        ended = str(len(self.flow.blocks))
        if not self.program.clustered or (which.isdigit() and which != ended):
            return
        # where there are clusters, a CTA counts its threads that have ended
        cell = self.at("gone", "%slot", 8)
        name = f"%ended{len(self.lines)}"
        self.lines.append(
            f"  {name} = load i64, ptr {cell}\n"
            f"  {name}is = icmp eq i64 {which}, {ended}\n  {name}one = zext i1 {name}is to i64\n"
            f"  {name}more = add i64 {name}, {name}one\n  store i64 {name}more, ptr {cell}"
        )

    def local_at(self, address: str, size: int | str) -> str:
        start = self.emitter.binary("mul", "%thread", self.frames_stride, 64)
        return self.at(self.frames, self.emitter.binary("add", start, address, 64), 1, size)

    def check(self, condition: str, address: str, index: int, why: int | str = OWN) -> None:
        """Go on if the condition holds, else report the fault: the address, or another number that it is about, and which check
        of the instruction failed."""
        good, bad = self.label("good"), self.label("bad")
        self.lines.append(f"  br i1 {condition}, label %{good}, label %{bad}, !prof !0")
        self.faults.append(
            f"{bad}:\n{''.join(self._noted(bad))}  store i64 {address}, ptr %failed_address_at\n"
            f"  store i64 {index}, ptr %failed_op_at\n  store i64 {why}, ptr %failed_why_at\n  br label %fault"
        )
        self.begin(good)

    def _noted(self, bad: str) -> Iterator[str]:
        """The text that notes what the registers of the instruction hold, in a block that a failed check leads to."""
        for i, (value, width) in enumerate(self.shown):
            word = f"%{bad}_word{i}" if width < 64 else value
            if width < 64:
                yield f"  {word} = zext i{width} {value} to i64\n"
            place = f"%{bad}_at{i}"
            yield f"  {place} = getelementptr i64, ptr %context, i64 {FIELD['failed_value0'] + i}\n"
            yield f"  store i64 {word}, ptr {place}\n"

    def trust(self, what: str, value: str, condition: str) -> None:
        """Go on if what compiled code took from its own data is as it must be, else end the launch: that is a mistake of ours."""
        good, bad = self.label("good"), self.label("broken")
        self.lines.append(f"  br i1 {condition}, label %{good}, label %{bad}, !prof !0")
        self.faults.append(f"{bad}:\n{hosts.note(what, value, self.op)}\n  ret i64 {WRONG}")
        self.begin(good)

    def trust_at_most(self, what: str, value: str, most: int | str) -> None:
        self.trust(what, value, self.emitter.compare("ule", value, str(most), 64))
