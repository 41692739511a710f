"""The machine code of a kernel, and that of the driver."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import ptxspec.machine.native.events as events
from ptxspec.machine import hosts
from ptxspec.machine.driver import inventory
from ptxspec.machine.driver.codes import IN_TURNS
from ptxspec.machine.native.asynchrony import ending
from ptxspec.machine.native.beginning import beginning
from ptxspec.machine.native.compiling import Array, BoundStep, Environment, compiled
from ptxspec.machine.native.context import FIELD, field_text
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.narrow import narrow_texts
from ptxspec.machine.native.outlined import OutlinedFunctions
from ptxspec.machine.native.threads import OF_ONE, TurnFunction, of_several, turns_text
from ptxspec.machine.native.warp_turns import turns_of_warps
from ptxspec.machine.native.warps import WarpFunction
from ptxspec.terms.native import INLINING, LOOP_HINTS, QUICK, CodeSource, Library

#: from so many blocks or instructions on, LLVM's level 0 is all that a kernel's code is worth
MANY_BLOCKS, MANY_INSTRUCTIONS = 500, 20_000
#: seconds that fast code takes LLVM for each character of the text, about. When code that was made quickly has run as long,
#: it is made fast: so no launch takes more than twice the time of the better choice
PATIENCE = 1.2e-6
#: a kernel whose text has more lines is compiled with the quick passes, and in pieces of about PIECE lines: LLVM takes more than
#: twice the time for a text that is twice as long, and between two pieces a launch may be ended
LARGE, PIECE = 8_000, 4_000

#: the functions that the driver calls, by the fields of the context that have their addresses
ENTRIES = {
    "turns": "threads_run_at",
    "begin": "begin_at",
    "end_batch": "end_batch_at",
    "land_objects": "land_objects_at",
}

#: the passes for turns of warps: all others together take LLVM eight times as long, for hardly quicker code
OF_WARPS = (INLINING, "sroa", "instruction_combine", "simplify_cfg", "new_gvn", "sinking", "simplify_cfg")

_WEIGHTS = f'!0 = !{{!"branch_weights", i32 2000, i32 1}}\n!9 = !{{}}\n{LOOP_HINTS}'
_MEMORY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
_OUTLINED = re.compile(r"^(.*)(@outlined_\d+)\b", re.M)


class Code:
    """`entries` are the addresses of what a kernel's threads do in their turns, of what makes a batch ready, and of what ends a
    batch. `watch` is called before and after LLVM has worked on a text.

    The code is made quickly, unless fast code was made before and kept. Who runs it tells of the seconds by `note`; when these
    have become as many as fast code takes to make, `improve` makes that."""

    def __init__(self, layout: Layout, watch: Callable[[], None]):
        self.layout, self.watch = layout, watch
        self.count = len(layout.program.flow.blocks)
        self.libraries: list[Library] = []
        self._improving = threading.Lock()
        #: the source of fast code that was not made yet, and the seconds of running after which it is worth its time
        self._fast: CodeSource | None = None
        self._left = 0.0
        #: whether no faster code will be made, so that nobody has to note the seconds
        self.is_final = True
        whole = self._whole()
        if whole is None:
            self._pieces()
            return
        fast = self._source(*whole, OF_WARPS if layout.program.flow.by_warps else None)
        if self._is_large or not PATIENCE or fast.is_kept:
            self._enter(self._library(fast))
            return
        self._enter(self._library(fast.quick()))
        self._fast, self._left, self.is_final = fast, PATIENCE * len(fast.text), False

    @property
    def is_due(self) -> bool:
        """Whether fast code is worth its time now."""
        return self._fast is not None and self._left <= 0

    def note(self, seconds: float) -> None:
        """Note that the code has run so long."""
        self._left -= seconds

    def improve(self) -> None:
        """Make fast code, if nobody else does. What runs the code that was made quickly may go on with it."""
        if not self._improving.acquire(blocking=False):
            return
        try:
            if self._fast is not None:
                self._enter(self._library(self._fast))
                self._fast, self.is_final = None, True
        finally:
            self._improving.release()

    def _enter(self, library: Library) -> None:
        """Note where the functions begin that the driver calls."""
        self.entries = tuple(library.address(name) for name in ENTRIES)

    @property
    def _is_large(self) -> bool:
        return self.count >= MANY_BLOCKS or len(self.layout.program.kernel.code) >= MANY_INSTRUCTIONS

    def _source(self, text: str, needs: set[str], passes: Sequence[str] | None = None) -> CodeSource:
        level = 0 if self._is_large else 2
        text = f"{_MEMORY}\n{text}\n{_WEIGHTS}"
        return CodeSource(text, needs | hosts.NEEDS, vectorize=False, level=level, passes=passes, entered=())

    def _library(self, source: CodeSource) -> Library:
        self.watch()
        self.libraries.append(Library(source))
        self.watch()
        return self.libraries[-1]

    def _whole(self) -> tuple[str, set[str]] | None:
        """The text of a small kernel, and what it needs; None for a large one."""
        needs: set[str] = set()
        by_warps = self.layout.program.flow.by_warps
        if sum(b.end - b.start for b in self.layout.program.flow.blocks) > LARGE and not by_warps:
            return None
        self.layout.divide([range(self.count)])
        if by_warps:
            function = WarpFunction(self.layout, needs)
            warp = function.function()
            turns = turns_of_warps(self.layout, function.memory)
            return "\n".join([warp, turns, beginning(self.layout, needs), ending(self.layout, needs)]), needs
        piece = TurnFunction(self.layout, 0, range(self.count), needs).function(LARGE)
        if piece is None or piece.count("\n") > LARGE:
            return None
        loops = narrow_texts(self.layout, needs)
        turns = turns_text(self.layout, OF_ONE)
        return "\n".join([piece, loops, turns, beginning(self.layout, needs), ending(self.layout, needs)]), needs

    def _pieces(self) -> None:
        """Compile a large kernel piece by piece."""
        outlined = OutlinedFunctions(self.layout)
        shared: dict[str, int] = {}
        addresses: list[int] = []
        ranges = list(self._ranges())
        self.layout.divide(ranges)
        for number, members in enumerate(ranges):
            self.watch()
            needs: set[str] = set()
            text = TurnFunction(self.layout, number, members, needs, outlined).function()
            assert text is not None
            for name, body, needed in outlined.take():
                shared[name] = self._library(self._source(body, needed, QUICK)).address(name[1:])
            text, called = _by_a_table(text)
            library = self._library(self._source(text, needs, QUICK))
            library.fill("outlined", [shared[name] for name in called])
            addresses += [library.address(f"piece{number}")] * len(members)
        text = (
            f"@pieces = global [{self.count} x i64] zeroinitializer\n{turns_text(self.layout, of_several(self.count))}"
        )
        needs = set()
        text += narrow_texts(self.layout, needs) + beginning(self.layout, needs) + "\n" + ending(self.layout, needs)
        library = self._library(self._source(text, needs))
        library.fill("pieces", addresses)
        self._enter(library)

    def _ranges(self) -> Iterator[range]:
        """Blocks that become one piece."""
        begin, lines = 0, 0
        for number, block in enumerate(self.layout.program.flow.blocks):
            lines += self.layout.lines_of(block)
            if lines > PIECE and number > begin:
                yield range(begin, number)
                begin, lines = number, self.layout.lines_of(block)
        yield range(begin, self.count)


def _by_a_table(text: str) -> tuple[str, list[str]]:
    """A piece that calls the functions set apart by addresses in its table `@outlined`, and their names in the table's order: a
    text with the addresses themselves would be another one in every process, and its machine code never found again."""
    places: dict[str, int] = {}
    calls = 0

    def call(match: re.Match[str]) -> str:
        nonlocal calls
        calls += 1
        at = places.setdefault(match[2], len(places))
        return f"  %outlined{calls} = load ptr, ptr getelementptr (i64, ptr @outlined, i64 {at})\n{match[1]}%outlined{calls}"

    text = _OUTLINED.sub(call, text)
    return f"@outlined = global [{len(places)} x i64] zeroinitializer\n{text}", list(places)


@cache
def driver(checked: bool, meets: bool, chosen: bool, observes: bool, each_arrival: bool) -> Library:
    """The machine code of the driver, `drive(context)`: for kernels whose threads meet others somewhere, or do not; for launches
    that choose whose turn it is, or do not, and in which its events are observed, or are not, and each arrival at a barrier of a
    whole CTA is one of these, or is not."""
    fields = {name: place for name, place in FIELD.items() if not name.startswith("%")}
    arrays = {name: Array(column.unit) for name, column in inventory.columns().items()}
    steps = {name: BoundStep(*taken) for name, taken in inventory.steps().items()}
    known = {"meets": int(meets), "observes": int(observes), "each_arrival": int(each_arrival)} | (
        {} if chosen else {"chooses": IN_TURNS}
    )
    supplied = {"threads_run": 3, "take_ctas": 2, "begin": 0, "end_batch": 0, "land_objects": 0, "tell": 4}
    world = Environment(fields, arrays, steps, supplied, checked, known)
    needs = set(hosts.NEEDS)
    if observes:
        needs |= {*events.event(checked), events.OF_DRIVER}
    text = "\n".join(
        [
            compiled(inventory.FUNCTIONS, world, needs),
            _through("threads_run", "threads_run_at", 3),
            _TAKING,
            _through("begin", "begin_at", 0),
            _through("end_batch", "end_batch_at", 0),
            _through("land_objects", "land_objects_at", 0),
            "define i64 @drive(ptr %context) {\n  %r = call i64 @run(ptr %context)\n  ret i64 %r\n}",
            _WEIGHTS,
        ]
    )
    return Library(CodeSource(text, needs, entered=("drive",)))


#: `take_ctas`: several workers, each in a thread of the host, have one number of the first CTA that none has taken
_TAKING = f"""define internal i64 @take_ctas(ptr %context, i64 %start, i64 %until) {{
{field_text("next_cta")}
  %pair = cmpxchg ptr %next_cta, i64 %start, i64 %until monotonic monotonic
  %first = extractvalue {{i64, i1}} %pair, 0
  ret i64 %first
}}"""


def _through(name: str, field: str, count: int) -> str:
    """A function that calls the kernel's own, whose address the context has."""
    parameters = "".join(f", i64 %a{i}" for i in range(count))
    return (
        f"define internal i64 @{name}(ptr %context{parameters}) {{\n"
        f"  %at = getelementptr i64, ptr %context, i64 {FIELD[field]}\n  %address = load i64, ptr %at\n"
        f"  %function = inttoptr i64 %address to ptr\n  %r = call i64 %function(ptr %context{parameters})\n  ret i64 %r\n}}"
    )
