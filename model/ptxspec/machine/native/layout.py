"""Where what a kernel works on lies: rows of registers, an element a thread; and what its blocks read, write and lead to."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language.specials import special_registers
from ptxspec.machine import hosts
from ptxspec.machine.call_graph import BEGINS, DEPTH, ENDS, FRAME, stack_moves
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.flow import Block, registers_written, result_registers, turn_successors
from ptxspec.machine.kernel_tables import threads_meet
from ptxspec.machine.memory import parts_of
from ptxspec.machine.native.context import bits_of
from ptxspec.machine.program import KernelProgram, more_words
from ptxspec.machine.special import INDEX, LAUNCH, PLACE, meaning, unchanging, variables_of
from ptxspec.terms.effects import Await, Load, Pause, Store
from ptxspec.terms.types import Type

#: bytes between two rows, so that the same thread's places in all of them do not fall into one set of a processor's cache
GAP = 192
#: how far before the end of a special register's row, in the gap, its steps are noted, and whether they hold in every warp
STEPS_NOTED, STEPS_HOLD = 128, 64
#: how many accesses of a kernel become a part of its code, at most
MOST_INLINED = 96
#: what the name of a register's home begins with; its number follows
HOME = "%home"


def spaced(size: int) -> int:
    """The distance of two rows of so many bytes."""
    return (size + 63) // 64 * 64 + GAP


class Layout:
    """Where what a kernel works on lies, for so many threads: a row a register, and a row a special register that does not
    change."""

    def __init__(self, program: KernelProgram, capacity: int, spread: bool):
        #: whether several threads of the host run it at the same time
        self.spread = spread
        self.program, self.capacity, self.checked = program, capacity, hosts.is_checked()
        kernel = program.kernel
        self.offsets: dict[str, int] = {}
        #: a number for each register
        self.homes: dict[str, int] = {}
        at = 0
        for name, type in sorted(kernel.registers.items(), key=lambda item: -item[1].width):
            self.offsets[name], self.homes[name] = at, len(self.homes)
            at += spaced(bits_of(type) // 8 * (capacity + LANES))
        self._types = [kernel.registers[name] for name in self.homes]
        self.register_bytes = at
        #: the arrays of the state spaces that have a part for each thread or CTA
        self.parts = {space: hosts.array_of(space) for space in parts_of(kernel.sizes)}
        self.stack = contracts.functions.STACK if kernel.functions else 0
        self.special_types = {
            n: special_registers()[n] for n in sorted(program.flow.special) if n in special_registers()
        }
        #: those that do not change while the program runs, and where their values lie
        row = spaced(8 * (capacity + LANES))
        self.special_offsets = {n: i * row for i, n in enumerate(unchanging(self.special_types))}
        self.special_bytes = len(self.special_offsets) * row
        #: whether nothing asks where a thread stands along a second dimension of its CTA
        self.has_one_dimension = not any(n.startswith("%tid") and n.endswith((".y", ".z")) for n in self.special_types)
        #: where the steps are noted (vectors.py) of a special register that says where a thread stands in its CTA; behind its row
        self.steps_noted = {n: at + row - STEPS_NOTED for n, at in self.special_offsets.items() if self._has_steps(n)}
        #: how many loads and stores there are
        self.accesses = sum(isinstance(op.plan.meaning.effect, Load | Store) for op in kernel.code)
        #: whether what each access takes may be written in its place
        self.has_few_accesses = self.accesses <= MOST_INLINED
        #: whether one of them says which launch it is
        self.tells_of_launch = any(LAUNCH in variables_of(meaning(n, program.clustered)) for n in self.special_offsets)
        #: whether threads wait for others: the driver has to know then which have ended
        self.meets = threads_meet(program)
        #: values that a thread gives its warp beside the first, at most
        self.more_words = more_words(program)
        self.live = program.flow.live_in
        #: bytes that narrow loops need for the threads that go through one side by side
        self.tile_bytes = 8
        #: for each block the registers that it writes
        self.writes = [self._written(block) for block in program.flow.blocks]

    def _has_steps(self, name: str) -> bool:
        """Whether warps ask how a special register goes on from lane to lane, which is the same in all CTAs."""
        reads = variables_of(meaning(name, self.program.clustered))
        is_number = self.special_types[name].kind != "pred"
        return self.program.flow.by_warps and is_number and INDEX in reads and PLACE not in reads

    def _written(self, block: Block) -> set[str]:
        code = self.program.kernel.code
        if block.finishes is None:
            return {name for op in code[block.start : block.end] for name in registers_written(op)} | (
                {BEGINS, ENDS} if stack_moves(self.program.kernel) else set()
            )
        op = code[block.finishes]
        registers = set(registers_written(op))
        if op.call is not None:
            registers |= {*result_registers(op), *self.program.flow.saved(block.finishes), *self._of_calls()}
        return registers

    def type_of(self, home: str) -> Type:
        """The type of the register that lies in a home, by the home's name."""
        return self._types[int(home.removeprefix(HOME))]

    def _of_calls(self) -> set[str]:
        return {FRAME, DEPTH} | ({BEGINS, ENDS} if stack_moves(self.program.kernel) else set())

    def divide(self, pieces: list[range]) -> None:
        """Say which blocks become one function. `entered` is then those at which a thread may come into one."""
        self.pieces = len(pieces)
        kernel, flow = self.program.kernel, self.program.flow
        piece_of = {block: i for i, piece in enumerate(pieces) for block in piece}
        self.entered = {0} if flow.blocks else set()
        for number, block in enumerate(flow.blocks):
            for to in turn_successors(block, kernel):
                if flow.chosen or to <= number or piece_of[to] != piece_of[number] or number in flow.narrow:
                    self.entered.add(to)
            last = None if block.finishes is not None else kernel.code[block.end - 1]
            if last is not None and (last.call is not None or isinstance(last.plan.meaning.effect, Pause)):
                ways = [block.taken, *(way for _, way in block.ways)]
                if isinstance(last.plan.meaning.effect, Await):  # who may go on without having what it waits for
                    ways.append(block.next)
                self.entered |= {to for to in ways if to is not None}

    def lines_of(self, block: Block) -> int:
        """About how many lines of LLVM a block becomes."""
        return 12 * (block.end - block.start) + 10
