"""The function of one basic block, which takes a list of lanes through its instructions."""

from __future__ import annotations

from typing import assert_never

from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import BEGINS, ENDS, RETURNED
from ptxspec.machine.engine import ANSWER, Given, fixed, given, requested
from ptxspec.machine.flow import destinations, ending, registers_read, values_of
from ptxspec.machine.native.calls import Calls
from ptxspec.machine.native.outlined import returned, word
from ptxspec.machine.native.writing import IN_ROWS, word_of
from ptxspec.machine.system import system_function
from ptxspec.terms.effects import (
    Arrive,
    Branch,
    Call,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Ending,
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
    """Writes basic blocks, one after the other, and the edges between them."""

    def write_block(self, number: int) -> None:
        self.enter_block(number)
        self.lines.append(f"block{number}:")
        if self.block.finishes is not None:
            op = self.kernel.code[self.block.finishes]
            if system_function(self.kernel, op):
                self.take_answer(op)
            elif op.call is not None:
                self.come_back(op, self.block.finishes)
            else:
                self.landing(op)
            self.finish(None)
            return
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

    def landing(self, op: Op) -> None:
        """Give a thread that waited for others its results."""
        env, effect = self.environment(op), op.plan.meaning.effect

        def learned(what: str, lane: str) -> str:
            return self.emitter.emit(f"load i64, ptr {self.at(f'learned_{what}', lane, 8)}")

        if isinstance(effect, ImageAccess):
            for i in range(ANSWER):
                env[f"%answer{i}"] = self.emitter.emit(f"load i64, ptr {self.asked_at('answer', i)}")
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
            case Update() if self.compiled.spread:
                self.update_alone(effect, self.access(op, lowering, index), env, index)
                return self.results(op, Lowering(self.emitter, env))
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

    def update_alone(self, effect: Update, pointer: str, env: dict[str, str], index: int) -> None:
        """Read, compute and write with nobody in between, while other threads of the host run threads too."""
        word, align, stem = f"i{effect.type.width}", effect.type.bytes, f"u{index}"
        cell = self.element_of(pointer, 0, effect.type.bytes)
        before = self.label("before")
        self.lines.append(
            f"  %{stem}cell = {cell}\n  %{stem}first = load atomic {word}, ptr %{stem}cell monotonic, align {align}\n"
            f"  br label %{before}\n{before}:\n  br label %{stem}try\n{stem}try:\n"
            f"  %{stem}old = phi {word} [%{stem}first, %{before}], [%{stem}seen, %{stem}try]"
        )
        env["%loaded0"] = f"%{stem}old"
        known = dict(self.emitter._seen)
        new = Lowering(self.emitter, env).low(effect.values[0], effect.type.width)
        self.lines.append(
            f"  %{stem}pair = cmpxchg ptr %{stem}cell, {word} %{stem}old, {word} {new} seq_cst seq_cst, align {align}\n"
            f"  %{stem}seen = extractvalue {{{word}, i1}} %{stem}pair, 0\n"
            f"  %{stem}done = extractvalue {{{word}, i1}} %{stem}pair, 1\n"
            f"  br i1 %{stem}done, label %{stem}on, label %{stem}try\n{stem}on:"
        )
        self.emitter._seen.clear()
        self.emitter._seen.update(known)

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
        """Keep what later blocks read, and go where the thread goes."""
        effect = None if op is None else ending(op)
        if isinstance(effect, Return) and self.kernel.functions:
            self.live_out |= self.program.flow.left_behind(self.block.end - 1)
        self.keep_registers()
        self.count_steps()
        onwards = self.edge(self.block.next)
        if op is None or effect is None:
            self.go(onwards)
            return
        match effect:
            case Stop():
                self.stop(op)
                self.go(onwards)
            case Branch() | Exit():
                self.part(op, self.edge(self.block.taken), onwards)
            case Return() if not self.kernel.functions or self.returns_to_host():
                self.part(op, self.edge(None), onwards)
            case _:
                self.act(op, effect, onwards)

    def returns_to_host(self) -> bool:
        """Whether the block belongs to the entry, from which no way leads back."""
        return self.kernel.functions[self.program.flow.function_of(self.block.end - 1)].signature is None

    def part(self, op: Op, taken: str, onwards: str) -> None:
        """Go one way where the guard lets the thread through, else the other."""
        if op.guard is None:
            self.go(taken)
            return
        predicate = self.register(op.guard[0])
        first, second = (onwards, taken) if op.guard[1] else (taken, onwards)
        self.lines.append(f"  br i1 {predicate}, label %{first}, label %{second}")

    def act(self, op: Op, effect: Ending, onwards: str) -> None:
        """What a thread does whom the guard of a block's last instruction lets through, if it is more than to go on."""
        index = self.block.end - 1
        acts = self.label("acts")
        self.part(op, acts, onwards)
        self.begin(acts)
        match effect:
            case IndexedBranch():
                self.choose(op, index)
            case Return():
                self.spill(self.program.flow.left_behind(index))
                self.put(RETURNED, str(self.program.functions[self.program.flow.function_of(index)]))
                self.follow(self.way_back())
            case Call() if system_function(self.kernel, op) is not None:
                self.ask_system(op)
                self.wait(None)
            case Call():
                self.spill(self.live_out)
                self.enter(op, index, Lowering(self.emitter, self.environment(op)))
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                self.pause(op, effect)
            case Branch() | Exit() | Stop():
                raise AssertionError("what only goes on does no more")
            case _:
                assert_never(effect)

    def keep_registers(self) -> None:
        """Store the registers that the block has changed and that later blocks read."""
        for name in sorted((self.changed & self.live_out) - IN_ROWS):
            type = self.kernel.registers[name]
            self.lines.append(f"  store {word_of(type)} {self.current[name]}, ptr {self.home(name)}")

    def stop(self, op: Op) -> None:
        """End the launch, for a thread that the guard lets through."""
        goes_on = "false"
        if op.guard is not None:
            predicate = self.register(op.guard[0])
            goes_on = predicate if op.guard[1] else self.emitter.logic("xor", predicate, "true")
        self.check(goes_on, "0", self.block.end - 1)

    def pause(self, op: Op, effect: Pause) -> None:
        """Write down what the thread gives where it waits, and end its turn."""
        lowering = Lowering(self.emitter, self.environment(op))
        if isinstance(effect, ImageAccess):
            for i, word in enumerate(requested(effect)):
                self.lines.append(f"  store i64 {lowering.low(word, 64)}, ptr {self.asked_at('request', i)}")
        self.wait(effect, lowering)

    def wait(self, effect: Pause | None, lowering: Lowering | None = None) -> None:
        """Put the thread among those that wait, with what it gives."""
        known = fixed(self.program, self.kernel.code[self.block.end - 1]) is not None
        gives = [] if known or effect is None else list(zip(Given._fields, given(effect), strict=True))
        for field, term in gives:
            assert lowering is not None
            self.lines.append(f"  store i64 {lowering.low(term, 64)}, ptr {self.at(field, '%lane', 8)}")
        self.lines.append(f"  store i64 {self.block.end - 1}, ptr {self.at('waits_at', '%lane', 8)}")
        self.spill(set() if self.block.taken is None else self.live[self.block.taken])
        self.append(str(len(self.program.flow.blocks) + 1))
        self.go("over")
