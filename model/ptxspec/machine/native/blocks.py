"""The function of one basic block, which takes a list of lanes through its instructions."""

from __future__ import annotations

from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.engine import ANSWER, requested
from ptxspec.machine.flow import destinations, ending, registers_read, values_of
from ptxspec.machine.link import BEGINS, ENDS, RETURNED
from ptxspec.machine.native.calls import Calls
from ptxspec.machine.native.context import FAULT, FIELD, bits_of
from ptxspec.machine.native.outlined import returned, word
from ptxspec.machine.system import system_function
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.machine import changing


def moves_stack(op: Op) -> bool:
    effect = op.plan.meaning.effect
    return effect is not None and effect.kind == "stack"


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
        env = self.environment(op)
        assert op.plan.meaning.effect is not None

        def learned(what: str, lane: str) -> str:
            return self.emitter.emit(f"load i64, ptr {self.at(f'learned_{what}', lane, 8)}")

        if op.plan.meaning.effect.kind == "image":
            for i in range(ANSWER):
                env[f"%answer{i}"] = self.emitter.emit(f"load i64, ptr {self.word_of('answer', i)}")
        elif op.plan.meaning.effect.kind == "gather":
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
        pointer = "" if effect.kind == "stack" else self.access(op, lowering, index)
        values = []
        if effect.kind == "stack":
            values = self.move_stack(op, env, index)
        elif effect.kind in ("load", "update"):
            type = effect.fields["type"]
            for i in range(effect.fields["count"]):
                self.lines.append(
                    f"  %e{index}_{i} = {self.element_of(pointer, i, type.bytes)}\n"
                    f"  %l{index}_{i} = load i{type.width}, ptr %e{index}_{i}, align {min(type.bytes, 8)}"
                )
                env[f"%loaded{i}"] = f"%l{index}_{i}"
            lowering = Lowering(self.emitter, env)
            for i, value in enumerate(effect.fields.get("values", ())):
                word = lowering.low(value, type.width)
                self.lines.append(f"  store i{type.width} {word}, ptr %e{index}_{i}, align {min(type.bytes, 8)}")
            values = self.results(op, lowering)
        else:
            type = effect.fields["type"]
            for i, value in enumerate(effect.fields["values"]):
                word = lowering.low(value, type.width)
                self.lines.append(
                    f"  %e{index}_{i} = {self.element_of(pointer, i, type.bytes)}\n"
                    f"  store i{type.width} {word}, ptr %e{index}_{i}, align {min(type.bytes, 8)}"
                )
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
        e = self.emitter
        index = self.block.end - 1
        effect = None if op is None else op.plan.meaning.effect
        leaves = effect is not None and effect.kind == "return" and bool(self.kernel.functions)
        if leaves:
            self.live_out |= self.program.flow.left_behind(index)
            leaves = self.kernel.functions[self.program.flow.function_of(index)].signature is not None
        for name in sorted(self.changed & self.live_out):
            type = self.kernel.registers[name]
            value = self.current[name]
            if type.kind == "pred":
                value = e.emit(f"zext i1 {value} to i8")
            self.lines.append(
                f"  store i{bits_of(type)} {value}, ptr {self.where(name)}, align {min(bits_of(type), 64) // 8}"
            )
        ended = len(self.program.flow.blocks)
        next_list = str(ended if self.block.next is None else self.block.next)
        if op is None:
            self.append(next_list)
            return
        assert effect is not None
        if effect.kind == "stop":
            goes_on = "false"
            if op.guard is not None:
                predicate = self.register(op.guard[0])
                goes_on = predicate if op.guard[1] else e.logic("xor", predicate, "true")
            self.check(goes_on, "0", self.block.end - 1)
            self.append(next_list)
            return
        asks_system = system_function(self.kernel, op) is not None
        if (effect.kind == "call" or self.block.ways) and not asks_system:
            self.depart(op, next_list)
            return
        if leaves:
            self.put(RETURNED, str(self.program.functions[self.program.flow.function_of(index)]))
            taken = self.way_back()
        elif effect.kind in ("barrier", "gather", "image") or asks_system:
            taken = str(ended + 1)
            lowering = Lowering(e, self.environment(op))
            if effect.kind == "image":
                for i, word in enumerate(requested(effect)):
                    self.lines.append(f"  store i64 {lowering.low(word, 64)}, ptr {self.word_of('request', i)}")
            if asks_system:
                self.ask_system(op)
            is_barrier = effect.kind == "barrier"
            number = lowering.low(effect.fields["barrier"], 64) if is_barrier else "0"
            named = effect.fields.get("threads" if is_barrier else "mask")
            count = str((1 << 64) - 1) if named is None else lowering.low(named, 64)
            resume = str(ended if self.block.taken is None else self.block.taken)
            for field, value in (
                ("number", number),
                ("named", count),
                ("value", "0" if asks_system else lowering.low(effect.fields["value"], 64)),
                ("waits_at", str(self.block.end - 1)),
                ("resume", resume),
            ):
                self.lines.append(f"  store i64 {value}, ptr {self.at(field, '%lane', 8)}")
        else:
            taken = str(ended if self.block.taken is None else self.block.taken)
        if op.guard is not None:
            predicate = self.register(op.guard[0])
            first, second = (next_list, taken) if op.guard[1] else (taken, next_list)
            taken = e.select(predicate, first, second, 64)
        self.append(taken)

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
