"""The function that gives threads of one warp their turn together: an element of a vector for each lane.

Lanes are bits of a mask, from the lowest on. A register is a vector in a home of the function's (`native/registers.py` has the
homes of one thread), of which LLVM makes registers of the processor. Each block is written twice: for lanes of which none is
elsewhere, which may change all elements of a home, and for lanes that have parted from others, which leave theirs as they are
(`warp_edges.py`). What is not done in vectors is done by a function of one lane, for one lane after the other
(`lane_functions.py`).
"""

from __future__ import annotations

import re
from typing import assert_never, cast

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.driver.places import BARRIERS, LANES
from ptxspec.machine.flow import ending, successors
from ptxspec.machine.kernel_tables import barrier_of_all
from ptxspec.machine.native.context import bits_of, field_at, llvm_type
from ptxspec.machine.native.exchanges import OWN, ExchangeLowering
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.instructions import ComputationEmitter
from ptxspec.machine.native.lane_functions import LaneFunctions, stored_type
from ptxspec.machine.native.layout import HOME, Layout
from ptxspec.machine.native.narrow import OVER
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import IN_ROWS, Registers
from ptxspec.machine.native.text import FAILED, FunctionText
from ptxspec.machine.native.uniform import constants, uniform
from ptxspec.machine.native.warp_accesses import WarpAccesses
from ptxspec.machine.native.warp_edges import NONE, WarpEdges
from ptxspec.machine.native.warp_registers import (
    FAR,
    NUMBERS,
    TRUTHS,
    WORD,
    Attempt,
    WarpHomes,
    WarpRows,
    number_of,
    of_warp,
    shape_types,
    vector_of,
)
from ptxspec.machine.native.warp_turns import AGAIN, TURN_LANES, TURN_NEXT, TURN_TAKEN, enqueue_text, wait_text
from ptxspec.machine.program import arrival_operands, constant_arrival
from ptxspec.terms.core import variable
from ptxspec.terms.effects import (
    Arrive,
    Await,
    Branch,
    Call,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Exit,
    Fencing,
    ImageAccess,
    IndexedBranch,
    Load,
    Pause,
    Report,
    Return,
    Stop,
    Store,
    Wait,
)
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.types import Type
from ptxspec.terms.vectors import NoVectors, VectorEmitter
from ptxspec.terms.vocabulary import FALSE

#: how the text names where a register lies
_HOME, _FAR = re.compile(rf"{HOME}\d+"), re.compile(rf"{FAR}\d+")


class WarpFunction:
    """The function of a warp's turn in a kernel."""

    def __init__(self, layout: Layout, needs: set[str]):
        self.layout, self.needs = layout, needs
        text = self.text = FunctionText(layout, needs, of_warp)
        self.emitter = cast(VectorEmitter, text.emitter)
        self.kernel, self.flow = text.kernel, text.flow
        alike = uniform(layout)
        rows = WarpRows(text, alike)
        self.homes = WarpHomes(text, rows, alike)
        self.edges = WarpEdges(text, self.homes, rows, constants(layout))
        self.registers = Registers(text, self.homes)
        self.operands = OperandEmitter(text, self.registers)
        self.computing = ComputationEmitter(text, self.registers, self.operands)
        self.lanes = LaneFunctions(layout, needs)
        #: memory of the function beside the homes, by its name
        self.places: dict[str, str] = {}
        self.accesses = WarpAccesses(text, self.operands)
        needs |= {f"declare {WORD} @llvm.ctpop.{WORD}({WORD})", f"declare {WORD} @llvm.cttz.{WORD}({WORD}, i1)"}

    def function(self) -> str:
        """The LLVM text of the function, and of those that it calls."""
        text, lines = self.text, self.text.lines
        while self.edges.todo:
            self.block(*self.edges.todo.pop(0))
        self.edges.dispatch()
        self.edges.enter()
        homes, self.memory = self._homes("\n".join(lines))
        places = [f"  {name} = alloca {type}" for name, type in self.places.items()]
        head = Head(text, {"turn_length"})
        # a call that a turn has once counts where turns are short; where it is called again, LLVM makes less of longer code
        inlined = "alwaysinline" if self.layout.entered == {0} else "noinline"
        return "\n".join(
            [
                *self.lanes.texts,
                *self.accesses.functions.texts,
                enqueue_text(self.layout),
                wait_text(self.layout),
                f"define internal i64 @warp(ptr noalias %context, i64 %base, {WORD} %given, i64 %start, i64 %before, ptr %turn,",
                f"    ptr %memory) {inlined} {{",
                "entry:",
                *homes,
                *places,
                f"  %places = alloca {NUMBERS}\n  store {NUMBERS} zeroinitializer, ptr %places",
                f"  %running = alloca {WORD}\n  store {WORD} %given, ptr %running",
                f"  %active = alloca {WORD}\n  store {WORD} %given, ptr %active",
                f"  %next_other = alloca i32\n  store i32 {NONE}, ptr %next_other",
                f"  %taken_so_far = {TURN_TAKEN}\n  %so_far = load i64, ptr %taken_so_far",
                "  %taken = alloca i64\n  store i64 %so_far, ptr %taken",
                "  %executed_so_far = load i64, ptr %turn",
                "  %executed = alloca i64\n  store i64 %executed_so_far, ptr %executed",
                "  %acting = alloca i32",
                "  %thread = add i64 %base, 0",
                "  %given_first = call i32 @llvm.cttz.i32(i32 %given, i1 true)\n  %given_lane = zext i32 %given_first to i64",
                "  %given_thread = add i64 %base, %given_lane",
                *head.fields(),
                *[field_at(f"failed_{what}") for what in ("address", "op", "why", "thread")],
                *head.places(),
                "  br label %enter",
                *lines,
                *text.faults,
                "over:\n  %sum = load i64, ptr %executed\n  store i64 %sum, ptr %turn\n  ret i64 " + str(OVER),
                "fault:\n  %who = load i32, ptr %acting\n  %who_first = call i32 @llvm.cttz.i32(i32 %who, i1 false)\n"
                "  %who_lane = zext i32 %who_first to i64\n  %who_thread = add i64 %base, %who_lane\n"
                f"  store i64 %who_thread, ptr %failed_thread_at\n  ret i64 {FAILED}",
                "}",
            ]
        )

    def _homes(self, text: str) -> tuple[list[str], int]:
        """Lines that make the homes that a text names, and find the memory that it does; and how many bytes that has. The widest
        come first, so that each vector lies at a multiple of its size."""
        used, distant = set(_HOME.findall(text)), set(_FAR.findall(text))
        lines, at, registers = [], 0, self.kernel.registers
        for name in sorted(registers, key=lambda n: (-bits_of(registers[n]), n)):
            number = self.layout.homes[name]
            if f"{FAR}{number}" in distant:
                lines.append(f"  {FAR}{number} = getelementptr i8, ptr %memory, i64 {at}")
                at += LANES * bits_of(registers[name]) // 8
            if f"{HOME}{number}" in used:
                home, type = f"{HOME}{number}", self.homes.type_of(name)
                lines.append(f"  {home} = alloca {type}\n  store {type} zeroinitializer, ptr {home}")
        for name in sorted(self.homes.shaped):
            home, word = f"{HOME}{self.layout.homes[name]}", llvm_type(registers[name])
            lines += [
                f"  {home}_{part} = alloca {type}\n  store {type} zeroinitializer, ptr {home}_{part}"
                for part, type in shape_types(word).items()
            ]
        return lines, at

    # blocks ---------------------------------------------------------------------------------------------------------

    def block(self, number: int, apart: bool) -> None:
        """Write a block, for lanes that have parted from others or not, and what leads on from it."""
        text, lines = self.text, self.text.lines
        self.edges.apart = apart
        text.enter_block(number)
        self.registers.forget()
        text.begin(self.edges.label(number))
        block = text.block
        self.mask = self.homes.mask = self.edges.word("active")
        self.active = self.emitter.truths(self.mask)
        if block.finishes is not None:
            self._by_lanes(block.finishes, self.mask, finishes=True)
            self._keep_registers()
            self.edges.go(block.next, self.mask)
            return
        ops = self.kernel.code[block.start : block.end]
        terminator = ops[-1] if ending(ops[-1]) else None
        if self.flow.observed.counts:
            self._count("count_entries", number, self.mask)
        for index, op in enumerate(ops, block.start):
            text.index = index
            if op.guard is not None and self.flow.observed.counts:
                self._count("count_active", index, self._acting(op))
            if op is not terminator:
                effect = op.plan.meaning.effect
                if effect is None or isinstance(effect, Fencing):
                    self._compute(op, index)
                else:
                    self._act(op, effect, index)
        if block.end > block.start:
            n = self.flow.steps(block.start, block.end)
            name = text.label("taken")
            lines.append(
                f"  %{name} = load i64, ptr %taken\n  %{name}n = add i64 %{name}, {n}\n  store i64 %{name}n, ptr %taken"
            )
            self._execute(n, self.mask)
        self._finish(terminator)

    def _count(self, array: str, place: int, lanes: str) -> None:
        """Add a number of lanes to a counter."""
        self.text.count(array, place, number_of(self.emitter, lanes))

    def _execute(self, n: int, lanes: str) -> None:
        """Count that lanes execute so many instructions."""
        name, wide = self.text.label("steps"), number_of(self.emitter, lanes)
        self.text.lines.append(
            f"  %{name} = load i64, ptr %executed\n  %{name}m = mul i64 {wide}, {n}\n"
            f"  %{name}s = add i64 %{name}, %{name}m\n  store i64 %{name}s, ptr %executed"
        )

    def _keep_registers(self) -> None:
        """Store the registers that the block has changed and that later blocks read."""
        for name in sorted((self.registers.changed & self.text.live_out) - IN_ROWS):
            value = self.registers.current[name]
            if not self.edges.apart:
                self.homes.keep_shape(name, self.emitter.shape(value))
            if self.edges.apart and name not in self.homes.uniform:
                old = self.homes.load(name)
                element = llvm_type(self.kernel.registers[name])
                vector = vector_of(element)
                value = self.emitter.vector(
                    f"select {TRUTHS} {self.active}, {vector} {self.emitter.spread(value, element)}, {vector} {old}"
                )
            self.homes.store(name, value)
        if self.text.number == 0:
            self.edges.store(self.edges.early, self.mask)

    # instructions ---------------------------------------------------------------------------------------------------

    def _compute(self, op: Op, index: int) -> None:
        """An instruction that only computes: in vectors if that can be, else lane by lane."""
        attempt = Attempt(self.text, self.registers)
        try:
            self.computing.write(op)
        except NoVectors:
            attempt.undo()
            self._by_lanes(index, self._acting(op))

    def _acting(self, op: Op) -> str:
        """The lanes that an instruction's guard lets through."""
        if op.guard is None:
            return self.mask
        bits = self.emitter.bits(self.registers.read(op.guard[0]))
        if op.guard[1]:
            bits = self.emitter.binary("xor", bits, "-1", LANES)
        return self.emitter.binary("and", bits, self.mask, LANES)

    def _act(self, op: Op, effect: Effect, index: int) -> None:
        """An instruction that touches memory."""
        acting = self._acting(op)
        if isinstance(effect, Load | Store) and not self.layout.checked and index not in self.text.program.overruns:
            if self.accesses.write(op, effect, index, acting, self.registers, self.edges.apart, self._by_lanes):
                return
        if isinstance(effect, Report):  # seldom, and nothing comes of it
            for name in self.lanes.of(index).registers:  # before the branch, so that it dominates all uses
                self.registers.read(name)
            n, none = self.text.label("report"), self.emitter.compare("eq", acting, "0", LANES)
            known = self.emitter.known()
            self.text.lines.append(f"  br i1 {none}, label %{n}.none, label %{n}.some, !prof !0\n{n}.some:")
            self._by_lanes(index, acting)
            self.emitter.go_back(known)
            self.text.lines.append(f"  br label %{n}.none\n{n}.none:")
            return
        self._by_lanes(index, acting)

    def _by_lanes(self, index: int, acting: str, finishes: bool = False) -> None:
        """Have an instruction done for one lane after the other, and let its results be registers' values."""
        text, e, lines = self.text, self.emitter, self.text.lines
        function, types = self.lanes.of(index, finishes), self.kernel.registers
        words = ["ptr %context", "i64 %base", f"{WORD} {acting}"]
        for name in function.registers:
            words.append(self._laid(self.registers.read(name), types[name], f"r{self.layout.homes[name]}"))
        for name in function.special:
            type = self.layout.special_types[name]
            words.append(
                self._laid(self.homes.special(name), type, f"s{sorted(self.layout.special_types).index(name)}")
            )
        for name in function.results:
            old = self.registers.read(name) if self.kernel.code[index].guard is not None else "0"
            words.append(self._laid(old, types[name], f"o{self.layout.homes[name]}"))
        n = text.label("lanes")
        lines.append(
            f"  %{n}.code = call i64 {function.name}({', '.join(words)})\n  %{n}.good = icmp eq i64 %{n}.code, 0\n"
            f"  br i1 %{n}.good, label %{n}.on, label %{n}.bad, !prof !0\n{n}.on:"
        )
        text.faults.append(f"{n}.bad:\n  ret i64 %{n}.code")
        for name in function.results:
            element = stored_type(types[name])
            value = e.fresh()
            lines.append(f"  {value} = load {vector_of(element)}, ptr %o{self.layout.homes[name]}")
            e.varying.add(value)
            if types[name].kind == "pred":
                value = e.vector(f"trunc {vector_of('i8')} {value} to {TRUTHS}")
            self.registers.set(name, value)

    def _laid(self, value: str, type: Type, place: str) -> str:
        """Lay a value where the lanes find theirs, or give theirs."""
        e, element = self.emitter, stored_type(type)
        value = e.spread(value, llvm_type(type)) if type.kind != "pred" or value != "0" else "zeroinitializer"
        if type.kind == "pred" and value != "zeroinitializer":
            value = e.vector(f"zext {TRUTHS} {value} to {vector_of('i8')}")
        self.places[f"%{place}"] = vector_of(element)
        self.text.lines.append(f"  store {vector_of(element)} {value}, ptr %{place}")
        return f"ptr %{place}"

    # ends of blocks -------------------------------------------------------------------------------------------------

    def _finish(self, op: Op | None) -> None:
        """Keep what later blocks read, and go where the lanes go. `op` is the instruction that ends the block, if one does."""
        text, block = self.text, self.text.block
        effect = None if op is None else ending(op)
        if op is None or effect is None:
            self._keep_registers()
            self.edges.go(block.next, self.mask)
            return
        acting = self._acting(op)
        match effect:
            case Stop():
                self._keep_registers()
                text.lines.append(f"  store {WORD} {acting}, ptr %acting")
                text.check(self.emitter.compare("eq", acting, "0", LANES), "0", block.end - 1)
                self.edges.go(block.next, self.mask)
            case Branch() | Exit() | Return():
                self._keep_registers()
                self._part(op, acting, block.taken)
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait():
                self._pause(op, effect, acting)
            case IndexedBranch():
                self._keep_registers()
                self._choose(effect, op, acting)
            case Call() | ImageAccess() | Await():
                raise AssertionError("a kernel that has these is executed thread by thread")
            case _:
                assert_never(effect)

    def _others(self, acting: str) -> str:
        """The lanes that are at the block but not among these."""
        rest = self.emitter.binary("xor", acting, "-1", LANES)
        return self.emitter.binary("and", self.mask, rest, LANES)

    def _part(self, op: Op, acting: str, taken: int | None) -> None:
        """Let the lanes go one way that the guard lets through, the others another."""
        text, lines, onwards = self.text, self.text.lines, self.text.block.next
        if op.guard is None:
            self.edges.go(taken, self.mask)
            return
        rest = self._others(acting)
        e = self.emitter
        none, all_of_them = e.compare("eq", acting, "0", LANES), e.compare("eq", rest, "0", LANES)
        first, second, third, both = (text.label(s) for s in ("stay", "some", "leave", "both"))
        never_part = not e.varies(self.registers.read(op.guard[0]))
        lines.append(f"  br i1 {none}, label %{first}, label %{third if never_part else second}")
        if not never_part:
            lines.append(f"{second}:\n  br i1 {all_of_them}, label %{third}, label %{both}")
        known = e.known()
        for label, to in ((first, onwards), (third, taken)):
            text.begin(label)
            e.go_back(known)
            self.edges.go(to, self.mask)
        if never_part:
            return
        text.begin(both)
        e.go_back(known)
        ways = sorted([(_number(taken), acting, taken), (_number(onwards), rest, onwards)], key=lambda way: way[0])
        (_, near_lanes, near), (_, far_lanes, far) = ways
        if far is None or self._only_ends(far):  # they end: the others are as they were
            if far is not None:
                self._execute(self.flow.steps(self.flow.blocks[far].start, self.flow.blocks[far].end), far_lanes)
            self.edges.leave(len(self.flow.blocks), far_lanes)
            self.edges.go(near, near_lanes)
            return
        self.edges.part(near, far)
        self.edges.settle(far, far_lanes)
        was, self.edges.apart = self.edges.apart, True
        self.edges.go(near, near_lanes)
        self.edges.apart = was

    def _only_ends(self, number: int) -> bool:
        """Whether nothing is done in a block but to end the thread, and no block comes behind it: so lanes that go there may end
        at once, before the others of their turn, which nobody can tell."""
        block, last = self.flow.blocks[number], number == len(self.flow.blocks) - 1
        if not last or block.finishes is not None or block.end - block.start != 1 or self.flow.observed.counts:
            return False
        op = self.kernel.code[block.start]
        return op.guard is None and isinstance(ending(op), Exit | Return) and block.taken is None

    def _pause(self, op: Op, effect: Pause, acting: str) -> None:
        """Let lanes wait, and the others go on."""
        text, block = self.text, self.text.block
        self._keep_registers()
        index = block.end - 1
        if isinstance(effect, Collective) and not self.edges.apart:  # lanes that have parted are no whole warp
            self._meet_at_once(op, effect, acting)
        if not (isinstance(effect, Arrive | Wait | ClusterArrive | ClusterWait) and constant_arrival(text.program, op)):
            self._by_lanes(index, acting)
        self.edges.spill(set() if block.taken is None else self.layout.live[block.taken], acting)
        if isinstance(effect, Wait):
            self._pass_at_once(op, acting)
        text.lines.append(f"  call void @wait_lanes(ptr %context, i64 %base, i64 {index}, {WORD} {acting})")
        self.edges.stop(acting)
        if op.guard is None:
            self.edges.resume()
            return
        rest = self._others(acting)
        some, none = text.label("some"), text.label("none")
        text.lines.append(
            f"  br i1 {self.emitter.compare('eq', rest, '0', LANES)}, label %{none}, label %{some}\n{none}:"
        )
        known = self.emitter.known()
        self.edges.resume()
        text.begin(some)
        self.emitter.go_back(known)
        self.edges.go(block.next, rest)

    def _meet_at_once(self, op: Op, effect: Collective, acting: str) -> None:
        """Let lanes go on that do not wait at a collective, with what they learn there; the others come to what is written
        next."""
        text, e, landing, page = self.text, self.emitter, self.text.block.taken, contracts.schedule
        assert landing is not None
        behind = self.flow.blocks[landing]
        attempt = Attempt(text, self.registers)
        number, block, live_out = text.number, text.block, text.live_out
        try:
            lowering = Lowering(e, self.operands.environment(op))
            _, named, value = (lowering.low(term, 64) for term in arrival_operands(effect))
            more = [lowering.low(word, 64) for word in effect.more]
            lanes, mask = variable("%lanes", LANES), None if effect.mask is None else variable("%mask", 64)
            holds = page.goes_on_at_once(lanes, mask, effect.aligned, effect.warps)
            if holds is FALSE or self.edges.ends_turn(landing) is not FALSE:
                return
            at_once = Lowering(e, {"%lanes": acting, "%mask": named}).truth(holds)
            if at_once in e.varying:  # the whole warp comes, if any do
                at_once = e.compare("eq", e.bits(at_once), "-1", LANES)
            go, wait = text.label("at_once"), text.label("wait")
            text.lines.append(f"  br i1 {at_once}, label %{go}, label %{wait}")
            known = e.known()
            text.begin(go)
            numbers = ", ".join(f"i32 {k}" for k in range(LANES))
            lane_numbers = e.vector(f"add {NUMBERS} zeroinitializer, <{numbers}>")
            env = self.operands.environment(op) | {"%members": "-1", "%at_once": "-1", OWN: lane_numbers}
            for name, result in self.operands.results(op, ExchangeLowering(e, env, [value, *more])):
                self.registers.set(name, result)
        except NoVectors:
            attempt.undo()
            return
        text.number, text.block = landing, behind
        text.live_out = set().union(*[self.layout.live[s] for s in successors(behind)])
        self._keep_registers()
        self.edges.go(behind.next, acting)
        text.number, text.block, text.live_out = number, block, live_out
        attempt.restore()
        text.begin(wait)
        e.go_back(known)

    def _pass_at_once(self, op: Op, acting: str) -> None:
        """Let lanes go on that do not wait at a barrier, and whose registers are in their rows; the others come to what is
        written next. The function is called again for them: if it went on, LLVM would make too much of a kernel with many
        barriers."""
        text, e, following = self.text, self.emitter, self.text.block.taken
        number = barrier_of_all(text.program, op)
        if number is None or following is None or self.edges.ends_turn(following) is not FALSE:
            return
        place = e.binary("add", e.binary("mul", "%slot", str(BARRIERS), 64), str(number), 64)
        used = e.emit(f"load i64, ptr {text.at('in_use', place, 8)}")
        alive = e.emit(f"load i64, ptr {text.at('cta_states', '%slot', 8)}")
        names = {"%lanes": acting, "%alive": alive, "%used": used}
        lanes, threads, uses = variable("%lanes", LANES), variable("%alive", 64), variable("%used", 64)
        passes = contracts.schedule.passes_at_once(lanes, threads, uses != 0)
        go, wait = text.label("passes"), text.label("waits")
        text.lines.append(f"  br i1 {Lowering(e, names).truth(passes)}, label %{go}, label %{wait}")
        text.begin(go)
        n = text.label("again")
        text.lines.append(
            f"  %{n}.next_at = {TURN_NEXT}\n  store i64 {following}, ptr %{n}.next_at\n"
            f"  %{n}.lanes_at = {TURN_LANES}\n  store {WORD} {acting}, ptr %{n}.lanes_at\n"
            f"  %{n}.taken = load i64, ptr %taken\n  store i64 %{n}.taken, ptr %taken_so_far\n"
            f"  %{n}.sum = load i64, ptr %executed\n  store i64 %{n}.sum, ptr %turn\n  ret i64 {AGAIN}"
        )
        text.begin(wait)

    def _choose(self, effect: IndexedBranch, op: Op, acting: str) -> None:
        """Let each lane go on at that one of several blocks that its index says."""
        text, e, block = self.text, self.emitter, self.text.block
        chosen = Lowering(e, self.operands.environment(op)).low(effect.index, 64)
        in_list = contracts.control_flow.in_list(variable("%index", 64), len(block.ways))
        listed = e.bits(Lowering(e, {"%index": chosen}).truth(in_list))
        wrong = e.binary("and", acting, e.binary("xor", listed, "-1", LANES), LANES)
        first = e.emit(f"call i32 @llvm.cttz.i32(i32 {wrong}, i1 false)")
        lane = e.binary("and", first, str(LANES - 1), 32)
        value = chosen
        if chosen in e.varying:
            value = e.emit(f"extractelement {vector_of('i64')} {chosen}, i32 {lane}")
        text.lines.append(f"  store {WORD} {wrong}, ptr %acting")
        text.check(e.compare("eq", wrong, "0", LANES), value, block.end - 1)
        self.edges.part(*(way for _, way in block.ways), block.next if op.guard is not None else None)
        targets: dict[int | None, list[int]] = {}
        for k, way in block.ways:
            targets.setdefault(way, []).append(k)
        for target, numbers in targets.items():
            lanes = "0"
            for k in numbers:
                lanes = e.binary("or", lanes, e.bits(e.compare("eq", chosen, str(k), 64)), LANES)
            self.edges.settle(target, e.binary("and", lanes, acting, LANES))
        if op.guard is not None:
            self.edges.settle(block.next, self._others(acting))
        text.lines.append("  br label %dispatch")


def _number(block: int | None) -> int:
    return NONE if block is None else block
