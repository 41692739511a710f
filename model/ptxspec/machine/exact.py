"""The exact engine: every thread's instructions over Python integers. Slow, and short enough to read in one sitting."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.machine import folding
from ptxspec.machine.batch import Batch, Waiting, nobody, special_values
from ptxspec.machine.call_graph import (
    BEGINS,
    ENDS,
    FRAME,
    frame_size,
    kept_bytes,
    passed_beyond,
    returned,
    stack_moves,
)
from ptxspec.machine.engine import (
    ANSWER,
    REQUEST,
    Fault,
    Program,
    Stopped,
    asks_host,
    call_target,
    check_end,
    check_room,
    check_variable,
    constant_of,
    given,
    in_frame,
    in_part,
    requested,
    stopped,
)
from ptxspec.machine.errors import Violation
from ptxspec.machine.flow import names_read
from ptxspec.machine.memory import Memory
from ptxspec.machine.scripts import Scripts, runs
from ptxspec.machine.system import system_function
from ptxspec.terms.core import variable
from ptxspec.terms.effects import (
    Access,
    Arrive,
    Branch,
    Call,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Exit,
    ImageAccess,
    IndexedBranch,
    Jump,
    Load,
    Pause,
    Release,
    Reserve,
    Return,
    StackEnd,
    StackUse,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.machine import changing
from ptxspec.terms.python_code import written


class ExactEngine:
    """Runs a kernel by evaluating the terms of its instructions."""

    def start(self, program: Program, memory: Memory, batch: Batch, watch: Callable[[], None]) -> ExactRun:
        return ExactRun(program, memory, batch, watch)


class ExactRun:
    """One batch. `standing[b]` lists the lanes that stand at block b; the last list, those that have ended."""

    def __init__(self, program: Program, memory: Memory, batch: Batch, watch: Callable[[], None]):
        self.watch = watch
        self.fold = folding.exact
        self.program, self.memory, self.batch = program, memory, batch
        self.blocks, self.code = program.flow.blocks, program.kernel.code
        self.steps = self.turns = self.last = 0
        fairness = contracts.divergence()
        self.for_all = written(fairness.for_all(variable("turns", 64)), "turns")
        self.variables = contracts.variables()
        self.functions = contracts.functions()
        self.moves = stack_moves(program.kernel)
        self.choose = program.profile.value
        self.scripts = Scripts(program, self)
        #: for an instruction without effect, where the run of such instructions ends
        self.plain = runs(program)
        self.restart(batch)

    def restart(self, batch: Batch) -> None:
        self.batch = batch
        self.registers: list[dict[str, Any]] = [
            {name: False if type.kind == "pred" else 0 for name, type in self.program.kernel.registers.items()}
            for _ in range(batch.lanes)
        ]
        if self.moves:
            for own in self.registers:
                own[BEGINS] = own[ENDS] = self.memory.first
        names = {name for op in self.code for name in names_read(op) if name not in self.program.kernel.registers}
        self.special = special_values(names, batch.threads())
        self.changing = {name: register.meaning() for name in names if (register := changing(name)) is not None}
        self.standing: list[list[int]] = [[] for _ in range(len(self.blocks) + 1)]
        self.standing[0] = list(range(batch.lanes))
        self.busy = [0]  # the blocks at which threads stand, in order
        self.waiting: list[tuple[int, ...]] = []
        self.stacks: list[list[tuple[int, dict[str, Any], int, str]]] = [[] for _ in range(batch.lanes)]
        lanes = batch.lanes if asks_host(self.program.kernel) else 0
        self.request, self.answer = np.zeros((REQUEST, lanes), np.int64), np.zeros((ANSWER, lanes), np.int64)
        self.learned = np.zeros((2, batch.lanes + 32), np.int64)

    def run(self, budget: int) -> Stopped:
        limit = self.steps + budget
        while self.steps < limit:
            block = self.next_block()
            if block is None:
                return Stopped(None, False, self.arrived())
            lanes, self.standing[block] = self.standing[block], []
            del self.busy[bisect_left(self.busy, block)]
            self.last = block
            self.turns += 1
            for lane in lanes:
                self.watch()
                fault = self.block(block, lane)
                if fault is not None:
                    return Stopped(fault, False, nobody())
            self.steps += len(lanes) * (self.blocks[block].end - self.blocks[block].start)
        return Stopped(None, True, self.arrived())

    def arrived(self) -> Waiting:
        """The threads that have begun to wait for others since this was last asked."""
        columns = np.array(self.waiting, np.int64).reshape(-1, len(Waiting._fields)).T
        self.waiting = []
        return Waiting(*columns)

    def next_block(self) -> int | None:
        """The block whose turn it is."""
        rotate = self.for_all(self.turns)
        if not self.busy:
            return None
        return self.busy[bisect_right(self.busy, self.last) % len(self.busy) if rotate else 0]

    def block(self, number: int, lane: int) -> Fault | None:
        """Run one thread through a block and put it where it goes next."""
        block = self.blocks[number]
        goes = block.next
        if block.finishes is not None:
            return self.finish(block.finishes, lane, goes)
        registers, index = self.registers[lane], block.start - 1
        self.begun = block.start
        while index + 1 < block.end:
            index += 1
            op = self.code[index]
            self.at(index)
            effect = op.plan.meaning.effect
            self.address: int | None = None
            if effect is None:
                try:
                    self.scripts.run(index, self.plain[index])(registers, lane, {}, self.choose)
                except NoChoice as open_result:
                    return Fault(lane, self.index, None, open_result)
                index = self.plain[index] - 1
                continue
            if op.guard is not None and registers[op.guard[0]] == op.guard[1]:
                continue
            try:
                env: dict[str, Any] = {}
                match effect:
                    case Load():
                        self.load(effect, op, env, lane)
                    case Store():
                        self.store(effect, op, env, lane)
                    case Update():
                        self.load(effect, op, env, lane)
                        self.store(effect, op, env, lane)
                    case StackEnd() | Reserve() | Release():
                        self.move_stack(effect, env, lane)
                    case Stop():
                        return Fault(lane, index, None, stopped(effect))
                    case Call() if system_function(self.program.kernel, op):
                        self.ask_system(op.call, lane, index, block)
                        return None
                    case Branch() | IndexedBranch() | Call() | Return() | Exit():
                        goes = self.leads(effect, op, index, block, env, lane)
                    case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                        self.wait(effect, env, lane, index, block)
                        return None
                    case _:
                        assert_never(effect)
                self.write(index, env, lane)
            except Violation as violation:
                return Fault(lane, index, self.address, violation)
            except NoChoice as open_result:
                return Fault(lane, index, None, open_result)
        self.go(lane, goes)
        return None

    def leads(self, effect: Jump, op: Any, index: int, block: Any, env: dict[str, Any], lane: int) -> int | None:
        """The block to which an instruction sends a thread; None for its end."""
        match effect:
            case Call():
                return self.enter(effect, op, index, block, env, lane)
            case Return() if self.stacks[lane]:
                back: int = self.stacks[lane][-1][0]
                return back
            case IndexedBranch():
                (chosen,) = self.values("target", (effect.index,), env, lane)
                if chosen >= len(block.ways):
                    raise Violation("branch index", f"index {chosen} of a list of {len(block.ways)}")
                way: int | None = block.ways[chosen][1]
                return way
            case Branch() | Return() | Exit():
                taken: int | None = block.taken
                return taken
            case _:
                assert_never(effect)

    def go(self, lane: int, block: int | None) -> None:
        """Put a thread where it goes next: to a block, or among those that have ended."""
        there = self.standing[len(self.blocks) if block is None else block]
        if block is not None and not there:
            insort(self.busy, block)
        there.append(lane)
        if block is None:
            self.memory.gone[lane // self.batch.extents.threads] += 1

    def wait(self, effect: Pause, env: dict[str, Any], lane: int, index: int, block: Any) -> None:
        """Put a thread among those that wait for others."""
        if isinstance(effect, ImageAccess):
            for i, word in enumerate(self.values("request", requested(effect), env, lane)):
                word &= (1 << 64) - 1
                self.request[i, lane] = word - (word >> 63 << 64)
        number, count, value = self.values("wait", given(effect), env, lane)
        resume = len(self.blocks) if block.taken is None else block.taken
        self.waiting.append((lane, number, count, value - (value >> 63 << 64), index, resume))

    def finish(self, index: int, lane: int, goes: int | None) -> Fault | None:
        """Give a thread that waited for others its results."""
        op = self.code[index]
        if system_function(self.program.kernel, op):
            self.take_answer(op.call, lane)
            self.go(lane, goes)
            return None
        if op.call is not None:
            self.come_back(op, index, lane)
            self.go(lane, goes)
            return None
        env = self.told(op.plan.meaning.effect, lane)
        try:
            self.write(index, env, lane)
        except NoChoice as open_result:
            return Fault(lane, index, None, open_result)
        self.go(lane, goes)
        return None

    def told(self, effect: Effect | None, lane: int) -> dict[str, Any]:
        """What a thread that waited has learned, by the names that the instruction's results have for it."""
        named, values = self.learned
        match effect:
            case ImageAccess():
                return {f"%answer{i}": word & (1 << 64) - 1 for i, word in enumerate(self.answer[:, lane].tolist())}
            case Collective():
                own = lane % self.batch.extents.threads % 32
                first = lane - own
                env = {f"%lane{i}": int(values[first + i]) & (1 << 64) - 1 for i in range(32)}
                members, at_once = int(named[lane]) & 0xFFFFFFFF, int(named[lane]) >> 32 & 0xFFFFFFFF
                return {**env, "%own": own, "%members": members, "%at_once": at_once}
            case Wait():
                return {"%arrived": int(named[lane]), "%holding": int(values[lane])}
        raise AssertionError(f"no thread learns anything of {effect}")

    def at(self, index: int) -> None:
        """Note which instruction is being executed."""
        self.index = index
        self.elapsed = self.steps + index - self.begun

    def values(self, what: str, terms: Sequence[Any], env: dict[str, Any], lane: int) -> tuple[Any, ...]:
        """The values of terms of the instruction that is being executed; `what` tells them from others of it."""
        found: tuple[Any, ...] = self.scripts.values(self.index, what, terms)(
            self.registers[lane], lane, env, self.choose
        )
        return found

    def write(self, index: int, env: dict[str, Any], lane: int) -> None:
        """Let an instruction's destinations have their values."""
        self.scripts.results(index)(self.registers[lane], lane, env, self.choose)

    def part(self, lane: int) -> int:
        """Where the part of shared memory begins that belongs to the thread's CTA."""
        return self.batch.rank(lane) * self.memory.layout.PART

    def element(self, operand: tree.Indexed, start: int, index: int) -> int:
        """The address of an element, by the words of the page."""
        return self.variables.element_address(start, index, operand.scale, operand.offset, operand.bits)

    def operand(self, type: Any, width: int, operand: Any, lane: int) -> Any:
        registers = self.registers[lane]
        mask = (1 << width) - 1
        if isinstance(operand, tree.Address):
            base = 0 if operand.base is None else self.operand(None, 64, operand.base, lane)
            return base + operand.offset & mask
        if isinstance(operand, tree.Indexed):
            start = self.operand(None, 64, tree.Sum(operand.base, 0), lane)
            return self.element(operand, start, self.operand(None, 32, operand.register, lane)) & mask
        if isinstance(operand, tree.Not):
            return not registers[operand.name.text]
        offset, in_own_part = in_frame(self.program, operand), in_part(self.program, operand)
        if offset is not None:
            constant: int | None = registers[FRAME] + offset
        elif in_own_part is not None:
            constant = self.part(lane) + in_own_part
        else:
            constant = constant_of(self.program, type, operand)
        if constant is None:
            found = registers.get(operand.text)
            if isinstance(found, bool):
                return found
            if found is None:
                found = self.read_special(operand.text, lane)
                if type is not None and type.kind == "pred":
                    return bool(found)
            return found & mask
        return bool(constant) if type is not None and type.kind == "pred" else constant & mask

    def read_special(self, name: str, lane: int) -> int:
        if name in self.changing:
            return int(evaluate(self.changing[name], {"%elapsed": self.elapsed}))
        return int(self.special[name][0][lane])

    # calls ---------------------------------------------------------------------------------------------------------------

    def enter(self, effect: Call, op: Any, index: int, block: Any, env: dict[str, Any], lane: int) -> int:
        """Pass a call's arguments, open a frame, and give the block at which the function begins."""
        flow, registers, stack = self.program.flow, self.registers[lane], self.stacks[lane]
        to = op.call.function or self.values("function", (effect.function,), env, lane)[0]
        name, begins = call_target(self.program, op, block, to)
        saved = {n: registers[n] for n in flow.saved(index)}
        used = (stack[-1][2] if stack else 0) + kept_bytes(self.program.kernel, saved)
        callee = self.program.kernel.functions[name]
        if self.moves:
            frame = self.functions.next_frame(registers[ENDS])
            end = frame + frame_size(callee) + passed_beyond(self.program.kernel, op.call)
        else:
            frame = registers[FRAME] + frame_size(self.program.kernel.functions[flow.function_of(index)])
            end = frame + frame_size(callee)
        check_room(self.program, used, end)
        # of an array without a size, nothing may be passed
        pairs = zip(op.call.arguments, op.call.signature.parameters, strict=False)
        values = [self.passed(operand, formal, lane) for operand, formal in pairs]
        assert callee.signature is not None  # it is no entry
        for value, formal in zip(values, callee.signature.parameters, strict=False):
            self.receive(value, formal, frame, lane)
        if self.moves:
            self.memory.extend(lane, registers[ENDS], frame, end - frame)
            registers[BEGINS] = registers[ENDS] = end
        stack.append((block.taken, saved, used, name))
        registers[FRAME] = frame
        return begins

    def ask_system(self, call: Any, lane: int, index: int, block: Any) -> None:
        """Put a thread among those that wait for the system."""
        for i, (operand, formal) in enumerate(zip(call.arguments, call.signature.parameters, strict=True)):
            value = self.passed(operand, formal, lane)
            word = int.from_bytes(value, "little") if isinstance(value, bytes) else int(value)
            self.request[i, lane] = word - (word >> 63 << 64)
        self.waiting.append((lane, 0, -1, 0, index, block.taken))

    def take_answer(self, call: Any, lane: int) -> None:
        """Take the result of a function of the system."""
        registers = self.registers[lane]
        for operand, formal in zip(call.results, call.signature.returns, strict=True):
            number = int(self.answer[0, lane]) & (1 << 8 * formal.size) - 1
            if operand.text in registers:
                registers[operand.text] = number
            elif operand.text != "_":
                at = registers[FRAME] + self.program.kernel.places[operand.text].offset
                self.set_local(lane, at, number.to_bytes(formal.size, "little"))

    def come_back(self, op: Any, index: int, lane: int) -> None:
        """Close the frame of the function that was called, and take its results."""
        registers, kernel = self.registers[lane], self.program.kernel
        call = op.call
        _, saved, _, name = self.stacks[lane].pop()
        returns = returned(kernel, call, name)
        results = [
            registers[str(f.register)]
            if f.place is None
            else self.in_local(lane, registers[FRAME] + f.place.offset, f.size)
            for f in returns
        ]
        if self.moves:
            self.memory.cut(lane, saved[ENDS], registers[ENDS])
        else:
            registers[FRAME] -= frame_size(kernel.functions[self.program.flow.function_of(index)])
        registers.update(saved)
        for operand, value, formal in zip(call.results, results, returns, strict=True):
            if operand.text == "_":
                continue
            if operand.text in registers:
                number = value if formal.place is None else int.from_bytes(value, "little")
                registers[operand.text] = number
            else:
                to = registers[FRAME] + kernel.places[operand.text].offset
                data = value if isinstance(value, bytes) else int(value).to_bytes(formal.size, "little")
                self.set_local(lane, to, data)

    def passed(self, operand: Any, formal: Any, lane: int) -> Any:
        """An argument: a number, or the bytes of a variable."""
        offset = in_frame(self.program, operand)
        if offset is not None:
            size = self.program.kernel.places[operand.text].size if formal.is_open else formal.size
            return self.in_local(lane, self.registers[lane][FRAME] + offset, size)
        return self.operand(formal.type, formal.type.width, operand, lane)

    def receive(self, value: Any, formal: Any, frame: int, lane: int) -> None:
        if formal.place is None:
            number = int.from_bytes(value, "little") if isinstance(value, bytes) else value
            self.registers[lane][str(formal.register)] = number
        else:
            data = value if isinstance(value, bytes) else int(value).to_bytes(formal.size, "little")
            self.set_local(lane, frame + formal.place.offset, data)

    def in_local(self, lane: int, at: int, size: int) -> bytes:
        start = lane * self.memory.strides["local"] + at
        return self.memory.local[start : start + size].tobytes()

    def set_local(self, lane: int, at: int, data: bytes) -> None:
        start = lane * self.memory.strides["local"] + at
        self.memory.local[start : start + len(data)] = list(data)

    def move_stack(self, effect: StackUse, env: dict[str, Any], lane: int) -> None:
        """Reserve memory on the thread's stack, or give some back."""
        registers = self.registers[lane]
        end = env["%stack_end"] = registers[ENDS]
        match effect:
            case Reserve():
                begin, size = self.values("reserve", (effect.begin, effect.size), env, lane)
                check_room(self.program, 0, begin + size)
                self.memory.extend(lane, end, begin, size)
                self.set_local(lane, begin, bytes(size))
                registers[ENDS] = begin + size
            case Release():
                (to,) = self.values("release", (effect.end,), env, lane)
                check_end(to, registers[BEGINS], end)
                self.memory.cut(lane, to, end)
                registers[ENDS] = to
            case StackEnd():
                pass
            case _:
                assert_never(effect)

    # memory --------------------------------------------------------------------------------------------------------------

    def load(self, effect: Load | Update, op: Any, env: dict[str, Any], lane: int) -> None:
        size = effect.type.bytes
        array, at = self.place(effect, op, env, lane)
        for i in range(effect.count):
            data = array[at + i * size : at + (i + 1) * size].tobytes()
            env[f"%loaded{i}"] = int.from_bytes(data, "little")

    def store(self, effect: Store | Update, op: Any, env: dict[str, Any], lane: int) -> None:
        size = effect.type.bytes
        array, at = self.place(effect, op, env, lane)
        for i, value in enumerate(self.values("stored", effect.values, env, lane)):
            data = value.to_bytes(size, "little")
            array[at + i * size : at + (i + 1) * size] = list(data)

    def place(self, effect: Access, op: Any, env: dict[str, Any], lane: int) -> Any:
        (self.address,) = self.values("address", (effect.address,), env, lane)
        check_variable(self.program, self.index, self.address, effect.bytes)
        slot = lane // self.batch.extents.threads
        space, write = op.space or effect.space, not isinstance(effect, Load)
        return self.memory.access(space, self.address, effect.bytes, write, slot, lane)

    def resume(self, threads: Waiting) -> None:
        self.learned[:, threads.lane] = threads.named, threads.value
        for lane, block in zip(threads.lane.tolist(), threads.resume.tolist(), strict=True):
            self.go(lane, block if block < len(self.blocks) else None)

    def ended(self) -> np.ndarray:
        return np.array(self.standing[-1], np.int64)
