"""Instructions of a kernel as Python functions, for the exact engine: what they compute, and what they ask of the machine.

A function is given a thread's registers, its thread, values that the machine has supplied (such as what was loaded), and what
chooses among open results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Op, sum_bits
from ptxspec.machine.call_graph import FRAME
from ptxspec.machine.flow import destinations, values_of
from ptxspec.machine.program import KernelProgram, constant_of, in_frame, in_part
from ptxspec.terms.core import variable
from ptxspec.terms.effects import Fencing
from ptxspec.terms.python_code import PythonScript
from ptxspec.terms.registries import changing
from ptxspec.terms.types import Type

#: what a function is given: (registers, thread, supplied values by name, choice)
PARAMETERS = ("r", "thread", "given", "choose")
Function = Callable[[dict[str, Any], int, dict[str, Any], Any], Any]


def runs(program: KernelProgram) -> dict[int, int]:
    """For each instruction that only computes, or orders accesses, the instruction behind the last of those that follow it in its
    block. Each access is complete before the next, so that ordering them takes nothing."""
    ends: dict[int, int] = {}
    code = program.kernel.code
    for block in program.flow.blocks:
        end = block.end
        for index in reversed(range(block.start, block.end)):
            if isinstance(code[index].plan.meaning.effect, Fencing | None):
                ends[index] = end
            else:
                end = index
    return ends


class Scripts:
    """The functions of one program, each made when it is first asked for. `machine` reads what no register holds: it has
    `element`, `read_special`, `part` and `at`."""

    def __init__(self, program: KernelProgram, machine: Any):
        self.program, self.machine = program, machine
        self._made: dict[tuple[Any, ...], Function] = {}

    def values(self, index: int, what: str, terms: Sequence[Any]) -> Function:
        """What gives the values of these terms of an instruction, as a tuple. `what` names them."""
        key = (index, what)
        if key not in self._made:
            writing = InstructionScript(self, self.program.kernel.code[index])
            expressions = "".join(f"{writing.script.value(term)}, " for term in terms)
            self._made[key] = writing.script.function(PARAMETERS, f"({expressions})")
        return self._made[key]

    def results(self, index: int) -> Function:
        """What writes the destinations of an instruction; its guard is not looked at."""
        key = (index, "results")
        if key not in self._made:
            writing = InstructionScript(self, self.program.kernel.code[index])
            for name, value in writing.results():
                writing.script.say(f"r[{name!r}] = {value}")
            self._made[key] = writing.script.function(PARAMETERS)
        return self._made[key]

    def argument(self, index: int, k: int, type: Type) -> Function:
        """What gives the k-th argument of a call, as a value of this type."""
        key = (index, "argument", k)
        if key not in self._made:
            op = self.program.kernel.code[index]
            assert op.call is not None
            writing = InstructionScript(self, op)
            self._made[key] = writing.script.function(
                PARAMETERS, writing.operand(type, type.width, op.call.arguments[k])
            )
        return self._made[key]

    def run(self, start: int, end: int) -> Function:
        """What executes instructions without effects one after the other."""
        key = (start, end)
        if key not in self._made:
            self._made[key] = RunScript(self, start, end).function()
        return self._made[key]


class InstructionScript:
    """The script of one instruction, or of one after the other: `current` has the expressions of registers that the script has
    written already."""

    def __init__(self, scripts: Scripts, op: Op):
        self.scripts, self.program = scripts, scripts.program
        self.script = PythonScript(self.bind)
        self.machine = self.script.refer(scripts.machine, "m")
        self.current: dict[str, str] = {}
        self.rules = contracts.type_checking
        #: by the names that terms have for them, the expressions to which an operand adds something
        self.bases: dict[str, str] = {}
        self.begin(op)

    def begin(self, op: Op) -> None:
        """Go on with another instruction."""
        self.op = op
        self.operands = {v.attrs[0]: (type, v.attrs[1], operand) for type, v, operand in values_of(op)}

    def bind(self, name: str) -> str:
        """The expression of a variable of the instruction's meaning."""
        if name in self.bases:
            return self.bases[name]
        if name not in self.operands:
            return f"given[{name!r}]"
        return self.operand(*self.operands[name])

    def register(self, name: str) -> str:
        return self.current.get(name, f"r[{name!r}]")

    def operand(self, type: Any, width: int, operand: Any) -> str:
        mask = (1 << width) - 1
        if isinstance(operand, tree.Address):
            size = sum_bits(self.program.kernel, operand, self.program.address_size)
            base = "0" if operand.base is None else self.operand(None, 64, operand.base)
            if not operand.offset:
                return f"({base}) & {mask & (1 << size) - 1}"
            name = f"%base{len(self.bases)}"
            self.bases[name] = base
            behind = self.script.value(contracts.variables.behind(variable(name, 64), operand.offset, size))
            return f"{behind} & {mask}"
        if isinstance(operand, tree.Not):
            return f"not {self.register(operand.name.text)}"
        if isinstance(operand, tree.Indexed):
            start, index = self.operand(None, 64, tree.Sum(operand.base, 0)), self.operand(None, 32, operand.register)
            where = self.script.refer(operand)
            return f"{self.machine}.element({where}, {start}, {index}) & {mask}"
        offset = in_frame(self.program, operand)
        if offset is not None:
            return f"({self.register(FRAME)} + {offset}) & {mask}"
        offset = in_part(self.program, operand)
        if offset is not None:
            return f"({self.machine}.part(thread) + {offset}) & {mask}"
        constant = constant_of(self.program, type, operand)
        if constant is not None:
            return repr(bool(constant) if type is not None and type.kind == "pred" else constant & mask)
        register_type = self.program.kernel.registers.get(operand.text)
        if register_type is None:
            return self.special(operand.text, type, mask)
        value = self.register(operand.text)
        return value if register_type.kind == "pred" or register_type.width <= width else f"{value} & {mask}"

    def special(self, name: str, type: Any, mask: int) -> str:
        read = f"{self.machine}.read_special({name!r}, thread)"
        return f"bool({read})" if type is not None and type.kind == "pred" else f"{read} & {mask}"

    def results(self) -> list[tuple[str, str]]:
        """(register, the expression of its new value) of all destinations; none is written before all are known."""
        values = []
        for name, type, term in destinations(self.op):
            register_type = self.program.kernel.registers[name]
            if register_type.width > type.width:
                term = self.rules.widened(term, type, register_type.width)
            values.append((name, self.script.value(term)))
        return values


class RunScript(InstructionScript):
    """The script of instructions without effects. Registers are read when they are needed and written at the end."""

    def __init__(self, scripts: Scripts, start: int, end: int):
        self.start, self.end = start, end
        super().__init__(scripts, scripts.program.kernel.code[start])

    def function(self) -> Function:
        script = self.script
        for index in range(self.start, self.end):
            self.begin(self.program.kernel.code[index])
            script.forget()  # what variables are called is the instruction's own
            if self._notes_where(self.op):
                script.say(f"{self.machine}.at({index})")
            self._execute()
        for name, value in self.current.items():
            script.say(f"r[{name!r}] = {value}")
        return script.function(PARAMETERS)

    def _notes_where(self, op: Op) -> bool:
        """Whether the machine must know that it is at this instruction: it may complain there, or read a clock."""
        terms = [value for _, _, value in destinations(op)]
        reads = any(isinstance(o, tree.Name) and changing(o.text) for _, _, o in values_of(op))
        return reads or any(self.script.is_lazy(term) for term in terms)

    def _execute(self) -> None:
        script, guard = self.script, self.op.guard
        if guard is None:
            for name, value in self.results():
                self.current[name] = script.name(value)
            return
        old = {name: self.register(name) for name, _, _ in destinations(self.op)}
        new = {name: script.fresh() for name in old}
        script.say(f"if {'not ' if guard[1] else ''}{self.register(guard[0])}:")
        with script.indented():
            for name, value in self.results():
                script.say(f"{new[name]} = {value}")
            script.say("pass")
        script.say("else:")
        with script.indented():
            for name, value in old.items():
                script.say(f"{new[name]} = {value}")
            script.say("pass")
        self.current |= new
