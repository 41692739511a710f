"""The function of one basic block, which takes a list of lanes through its instructions."""

from __future__ import annotations

from typing import assert_never

from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.call_graph import BEGINS, ENDS, RETURNED
from ptxspec.machine.engine import ANSWER, given, requested
from ptxspec.machine.flow import destinations, ending, registers_read, values_of
from ptxspec.machine.native.calls import Calls
from ptxspec.machine.native.context import FAULT, FIELD, bits_of
from ptxspec.machine.native.outlined import returned, word
from ptxspec.machine.system import system_function
from ptxspec.terms.effects import (
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
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.machine import changing


def moves_stack(op: Op) -> bool:
    return isinstance(op.plan.meaning.effect, StackUse)


class BlockText(Calls):
    """Writes the function of one basic block."""

    def text(self) -> str:
        if self.block.finishes is not None:
            op = self.kernel.code[self.block.finishes]
            if system_function(self.kernel, op):
                self.take_answer(op)
            elif op.call is not None:
                self.come_back(op, self.block.finishes)
            else:
                self.landing(op)
            self.finish(None)
            return self.function()
        ops = self.kernel.code[self.block.start : self.block.end]
        terminator = ops[-1] if ending(ops[-1]) else None
        # what a guarded access or a check may branch around is loaded before it, so that it dominates all uses
        for op in ops:
            if moves_stack(op):
                self.register(ENDS)
                self.register(BEGINS)
            for name in sorted(registers_read(op, self.kernel)):
                self.register(name)
            for _, _, operand in values_of(op):
                if isinstance(operand, tree.Name) and operand.text in self.compiled.special_types:
                    if changing(operand.text) is not None:
                        continue
                    self.read_special(operand.text)
        for index, op in enumerate(ops, self.block.start):
            self.index = index
            if op is not terminator:
                self.instruction(op, index)
        self.finish(terminator)
        return self.function()

    def landing(self, op: Op) -> None:
        """Give a thread that waited for others its results."""
        env, effect = self.environment(op), op.plan.meaning.effect

        def learned(what: str, lane: str) -> str:
            return self.emitter.emit(f"load i64, ptr {self.at(f'learned_{what}', lane, 8)}")

        if isinstance(effect, ImageAccess):
            for i in range(ANSWER):
                env[f"%answer{i}"] = self.emitter.emit(f"load i64, ptr {self.word_of('answer', i)}")
        elif isinstance(effect, Collective):
            both = learned("named", "%lane")
            env["%members"] = self.emitter.truncate(both, 64, 32)
            env["%at_once"] = self.emitter.truncate(self.emitter.binary("lshr", both, "32", 64), 64, 32)
            in_cta = self.emitter.binary("sub", "%lane", self.emitter.binary("mul", "%slot", "%threads", 64), 64)
            own = self.emitter.binary("and", in_cta, "31", 64)
            first = self.emitter.binary("sub", "%lane", own, 64)
            env["%own"] = self.emitter.truncate(own, 64, 32)
            for i in range(32):
                env[f"%lane{i}"] = learned("value", self.emitter.binary("add", first, str(i), 64))
        else:
            env["%arrived"] = self.emitter.truncate(learned("named", "%lane"), 64, 32)
            env["%holding"] = self.emitter.truncate(learned("value", "%lane"), 64, 32)
        for name, value in self.results(op, Lowering(self.emitter, env)):
            self.set(name, value)

    def computed(self, op: Op, env: dict[str, str], lowering: Lowering) -> list[tuple[str, str]]:
        """What an instruction without an effect gives its registers."""
        name = self.outlined.results(op) if self.outlined is not None else None
        if name is None:
            return self.results(op, lowering)
        given = {v.attrs[0]: f"{word(type, v.attrs[1])} {env[v.attrs[0]]}" for type, v, _ in values_of(op)}
        all_of_it = self.emitter.emit(f"call {returned(op)} {name}({', '.join(given.values())})")
        found = []
        for i, (register, type, _) in enumerate(destinations(op)):
            value = self.emitter.emit(f"extractvalue {returned(op)} {all_of_it}, {i}")
            if type.kind != "pred":
                width = self.kernel.registers[register].width
                value = lowering.resize(value, type.width, width, type.signed)
            found.append((register, value))
        return found

    def acted(
        self, op: Op, effect: Effect, env: dict[str, str], lowering: Lowering, index: int
    ) -> list[tuple[str, str]]:
        """Emit what an instruction with an effect does; what registers get by that."""
        match effect:
            case StackEnd() | Reserve() | Release():
                return self.move_stack(op, effect, env, index)
            case Load() | Update():
                type, pointer = effect.type, self.access(op, lowering, index)
                for i in range(effect.count):
                    self.lines.append(
                        f"  %e{index}_{i} = {self.element_of(pointer, i, type.bytes)}\n"
                        f"  %l{index}_{i} = load i{type.width}, ptr %e{index}_{i}, align {min(type.bytes, 8)}"
                    )
                    env[f"%loaded{i}"] = f"%l{index}_{i}"
                lowering = Lowering(self.emitter, env)
                for i, value in enumerate(effect.values if isinstance(effect, Update) else ()):
                    word = lowering.low(value, type.width)
                    self.lines.append(f"  store i{type.width} {word}, ptr %e{index}_{i}, align {min(type.bytes, 8)}")
                return self.results(op, lowering)
            case Store():
                type, pointer = effect.type, self.access(op, lowering, index)
                for i, value in enumerate(effect.values):
                    word = lowering.low(value, type.width)
                    self.lines.append(
                        f"  %e{index}_{i} = {self.element_of(pointer, i, type.bytes)}\n"
                        f"  store i{type.width} {word}, ptr %e{index}_{i}, align {min(type.bytes, 8)}"
                    )
                return []
            case Branch() | IndexedBranch() | Call() | Return() | Exit() | Stop():
                raise AssertionError("what ends a block stands in its midst")
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                raise AssertionError("what ends a block stands in its midst")
            case _:
                assert_never(effect)

    def instruction(self, op: Op, index: int) -> None:
        env = self.environment(op)
        lowering = Lowering(self.emitter, env)
        effect = op.plan.meaning.effect
        if effect is None:
            values = self.computed(op, env, lowering)
            if op.guard is not None:  # all of them before any is set: the guard may be among them
                values = [(name, self.merged(op, name, value)) for name, value in values]
            for name, value in values:
                self.set(name, value)
            return
        skip = inside = None
        before = dict(self.current)
        if op.guard is not None:
            inside, skip, join = self.label("inside"), self.label("skip"), self.label("join")
            predicate = self.register(op.guard[0])
            first, second = (skip, inside) if op.guard[1] else (inside, skip)
            self.lines.append(f"  br i1 {predicate}, label %{first}, label %{second}")
            self.begin(inside)
            known = dict(self.emitter._seen)
            lowering = Lowering(self.emitter, dict(env))
        values = self.acted(op, effect, env, lowering, index)
        if op.guard is None:
            for name, value in values:
                self.set(name, value)
            return
        arrived = self.label("arrived")
        self.lines.append(f"  br label %{arrived}")
        self.begin(arrived)
        self.lines.append(f"  br label %{join}")
        self.begin(str(skip))
        self.lines.append(f"  br label %{join}")
        self.begin(join)
        self.emitter._seen.clear()
        self.emitter._seen.update(known)
        for name, value in values:
            register = self.kernel.registers[name]
            word = "i1" if register.kind == "pred" else f"i{register.width}"
            merged = f"%m{index}_{len(self.lines)}"
            self.lines.append(f"  {merged} = phi {word} [{value}, %{arrived}], [{before[name]}, %{skip}]")
            self.set(name, merged)

    def finish(self, op: Op | None) -> None:
        """Store what later blocks read and append the lane to the list of the block it goes to."""
        effect = None if op is None else ending(op)
        leaves = isinstance(effect, Return) and bool(self.kernel.functions)
        function = self.program.flow.function_of(self.block.end - 1)
        if leaves:
            self.live_out |= self.program.flow.left_behind(self.block.end - 1)
        self.leave_registers()
        next_list = str(self.ended(self.block.next))
        if op is None or effect is None:
            self.append(next_list)
            return
        match effect:
            case Stop():
                self.stop(op)
                self.append(next_list)
                return
            case Call() if system_function(self.kernel, op) is not None:
                self.ask_system(op)
                taken = self.wait("0", str((1 << 64) - 1), "0")
            case Call() | IndexedBranch():
                self.depart(op, next_list)
                return
            case Return() if leaves and self.kernel.functions[function].signature is not None:
                self.put(RETURNED, str(self.program.functions[function]))
                taken = self.way_back()
            case Branch() | Return() | Exit():
                taken = str(self.ended(self.block.taken))
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                taken = self.pause(op, effect)
            case _:
                assert_never(effect)
        if op.guard is not None:
            predicate = self.register(op.guard[0])
            first, second = (next_list, taken) if op.guard[1] else (taken, next_list)
            taken = self.emitter.select(predicate, first, second, 64)
        self.append(taken)

    def leave_registers(self) -> None:
        """Store the registers that the block has changed and that later blocks read."""
        for name in sorted(self.changed & self.live_out):
            type = self.kernel.registers[name]
            value = self.current[name]
            if type.kind == "pred":
                value = self.emitter.emit(f"zext i1 {value} to i8")
            self.lines.append(
                f"  store i{bits_of(type)} {value}, ptr {self.where(name)}, align {min(bits_of(type), 64) // 8}"
            )

    def stop(self, op: Op) -> None:
        """End the launch, for a thread that the guard lets through."""
        goes_on = "false"
        if op.guard is not None:
            predicate = self.register(op.guard[0])
            goes_on = predicate if op.guard[1] else self.emitter.logic("xor", predicate, "true")
        self.check(goes_on, "0", self.block.end - 1)

    def pause(self, op: Op, effect: Pause) -> str:
        """Write down what the thread gives where it waits; the list of those that do."""
        lowering = Lowering(self.emitter, self.environment(op))
        if isinstance(effect, ImageAccess):
            for i, word in enumerate(requested(effect)):
                self.lines.append(f"  store i64 {lowering.low(word, 64)}, ptr {self.word_of('request', i)}")
        return self.wait(*(lowering.low(term, 64) for term in given(effect)))

    def wait(self, number: str, named: str, value: str) -> str:
        """Write down where the thread waits, with what, and where it goes on; the list of those that wait."""
        resume = str(self.ended(self.block.taken))
        for field, written in (
            ("number", number),
            ("named", named),
            ("value", value),
            ("waits_at", str(self.block.end - 1)),
            ("resume", resume),
        ):
            self.lines.append(f"  store i64 {written}, ptr {self.at(field, '%lane', 8)}")
        return str(len(self.program.flow.blocks) + 1)

    def function(self) -> str:
        lane_at = hosts.pointer(self.compiled.checked, "scratch", "%scratch", "%k", 4, 4, "%scratch_bytes")
        return "\n".join(
            [
                f"define {self.linkage}i64 @block{self.number}(ptr noalias %context, ptr noalias %scratch, i64 %n) {{",
                "entry:",
                *self.fields(
                    {"registers", "threads", "scratch_bytes"} if self.compiled.checked else {"registers", "threads"}
                ),
                f"  %fault_address_at = getelementptr i64, ptr %context, i64 {FIELD['fault_address']}",
                f"  %fault_op_at = getelementptr i64, ptr %context, i64 {FIELD['fault_op']}",
                f"  %fault_why_at = getelementptr i64, ptr %context, i64 {FIELD['fault_why']}",
                f"  %fault_lane_at = getelementptr i64, ptr %context, i64 {FIELD['fault_lane']}",
                "  br label %each",
                "each:",
                "  %k = phi i64 [0, %entry], [%k1, %next]",
                f"  %lane_at = {lane_at}",
                "  %lane32 = load i32, ptr %lane_at",
                "  %lane = zext i32 %lane32 to i64",
                *self.places(),
                *self.lines,
                "  br label %next",
                "next:",
                "  %k1 = add i64 %k, 1",
                "  %again = icmp ult i64 %k1, %n",
                "  br i1 %again, label %each, label %done",
                "done:",
                "  ret i64 0",
                *self.faults,
                "fault:" if self.faults else "",
                f"  store i64 %lane, ptr %fault_lane_at\n  ret i64 {FAULT}" if self.faults else "",
                "}",
            ]
        )
