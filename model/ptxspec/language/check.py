"""From a tree to a checked module: every name resolved, every instruction given its form.

The rules come from the pages: forms from the syntax fences, agreement of types from spec/operands/type-checking.md.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

from ptxspec.language import tree
from ptxspec.language.errors import Diagnostic, PtxError, Source
from ptxspec.language.forms import Form, Opcode, page_name, registry
from ptxspec.language.parser import parse_source
from ptxspec.literate.notation import Operand
from ptxspec.terms.definitions import Immediate, Meaning, Special, VectorOf, operand_type
from ptxspec.terms.types import TYPES, Type

_MEMORY = "spec/machine/memory.md"
_RULES = "ptxspec.spec.operands.type_checking"
#: variables in memory that `name<N>` may declare
MOST_REPEATED = 65_536
#: spaces whose variables have addresses
ADDRESSABLE = ("const", "global", "local", "param", "shared")


class Place(NamedTuple):
    """A variable in memory: its state space, its offset there (from the start of what this module or function has in that
    space), its size in bytes, and the bytes it begins with (None: not initialized)."""

    name: str
    space: str
    offset: int
    size: int
    align: int
    initial: bytes | None = None
    exported: bool = False


class Plan(NamedTuple):
    """How the operands of an instruction of one shape fill one form. `roles` has, for each operand as written, what it is:
    ("in", name), ("out", index), or a tuple of such for an operand in braces or a pair."""

    form: Form
    meaning: Meaning
    roles: tuple[Any, ...]


class Op(NamedTuple):
    """A checked instruction. Register names are those of the scope it stands in."""

    plan: Plan
    operands: tuple[tree.Operand, ...]
    guard: tuple[str, bool] | None
    position: int


class Kernel:
    """A checked entry. `code` holds the instructions; `labels` maps a name to an index into it."""

    def __init__(self, name: str):
        self.name = name
        self.parameters: list[Place] = []
        self.parameter_types: list[tuple[Type, bool]] = []
        self.registers: dict[str, Type] = {}
        self.places: dict[str, Place] = {}
        self.code: list[Op] = []
        self.labels: dict[str, int] = {}
        self.sizes = {"shared": 0, "local": 0, "param": 0}
        self.performance: dict[str, tuple[int, ...]] = {}


class Checked(NamedTuple):
    """A checked module."""

    source: Source
    tree: tree.Module
    kernels: dict[str, Kernel]
    places: dict[str, Place]
    sizes: dict[str, int]


class _Names:
    """The registers of one scope and of those around it. Ranges (`%r<100>`) are kept as ranges."""

    def __init__(self, outer: _Names | None, suffix: str):
        self.outer, self.suffix = outer, suffix
        self.registers: dict[str, Type] = {}
        self.ranges: dict[str, tuple[int, Type]] = {}
        self.places: dict[str, Place] = {}
        self.labels: set[str] = set()

    def register(self, name: str) -> tuple[str, Type] | None:
        """(its unique name, its type)"""
        found = self.registers.get(name)
        if found is None and self.ranges:
            digits = len(name) - len(name.rstrip("0123456789"))
            for split in range(len(name) - digits, len(name)):  # the prefix may itself end in digits
                entry = self.ranges.get(name[:split])
                number = name[split:]
                short = len(number) < 12 and (number[0] != "0" or number == "0")
                if entry and short and int(number) < entry[0]:
                    found = self.registers[name] = entry[1]
                    break
        if found is not None:
            return name + self.suffix, found
        return self.outer.register(name) if self.outer else None

    def place(self, name: str) -> tuple[str, Place] | None:
        """(its unique name, the variable)"""
        found = self.places.get(name)
        if found is not None:
            return name + self.suffix, found
        return self.outer.place(name) if self.outer else None

    def label(self, name: str) -> str | None:
        """Its unique name."""
        if name in self.labels:
            return name + self.suffix
        return self.outer.label(name) if self.outer else None


def _labels_of_scopes(function: tree.Function) -> list[set[str]]:
    """The labels of each scope, by the scope's number: branches may come before their labels."""
    found: list[set[str]] = [set()]
    stack = [0]
    for item in function.body:
        if isinstance(item, tree.Scope):
            if item.opens:
                stack.append(len(found))
                found.append(set())
            else:
                stack.pop()
        elif isinstance(item, tree.Label):
            found[stack[-1]].add(item.name)
    return found


def special_register(name: str) -> Type | None:
    """The type of a special register (with its component), or None if the pages define none of that name."""
    return special_registers().get(name)


def special_since(name: str) -> tuple[int, int]:
    """The PTX ISA version that brought a special register."""
    from ptxspec.terms.machine import SPECIAL_REGISTERS

    return SPECIAL_REGISTERS[name.split(".")[0]].since


_specials: dict[str, Type] = {}


def special_registers() -> dict[str, Type]:
    if not _specials:
        registry()
        from ptxspec.terms.machine import SPECIAL_REGISTERS

        for register in SPECIAL_REGISTERS.values():
            for name in register.names:
                _specials[name] = register.type
    return _specials


class Checker:
    """Checks one module, collecting complaints."""

    def __init__(self, source: Source, module: tree.Module):
        self.source, self.module = source, module
        self.complaints: list[Diagnostic] = []
        self.table = registry().opcodes
        self.rules = importlib.import_module(_RULES)
        self.specials = special_registers()
        self.limits: dict[str, int] = importlib.import_module("ptxspec.spec.machine.memory").LIMITS
        self._plans: dict[tuple, Plan | str] = {}
        self.version = module.version
        self.target = _target_number(module.target[0])

    def complain(self, position: int, message: str, page: str | None = None) -> None:
        self.complaints.append(self.source.diagnostic(position, message, page))

    def module_checked(self) -> Checked:
        sizes = dict.fromkeys(ADDRESSABLE, 0)
        outer = _Names(None, "")
        for variable in self.module.variables:
            if variable.space == "reg":
                self.complain(variable.position, "registers are declared inside functions")
                continue
            for place in self.declare(variable, outer, sizes):
                outer.places[place.name] = place
        kernels: dict[str, Kernel] = {}
        for function in self.module.functions:
            if function.name in kernels:
                self.complain(function.position, f"{function.name} is defined twice")
                continue
            kernels[function.name] = self.kernel(function, outer, sizes["shared"])
        if self.complaints:
            raise PtxError(self.complaints)
        return Checked(self.source, self.module, kernels, dict(outer.places), sizes)

    # declarations --------------------------------------------------------------------------------------------------------

    def type(self, name: str, position: int) -> Type:
        found = TYPES.get(name)
        if found is None or found.width == 128:
            self.complain(position, f".{name} is no type that a variable can have", "spec/operands/type-checking.md")
            return TYPES["b32"]
        return found

    def declare(self, variable: tree.Variable, names: _Names, sizes: dict[str, int]) -> list[Place]:
        """Lay out the variables of one declaration in their state space."""
        type = self.type(variable.type, variable.position)
        if type.kind == "pred":
            self.complain(variable.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
            return []
        if names.places.get(variable.name) or names.registers.get(variable.name):
            self.complain(variable.position, f"{variable.name} is declared twice in this scope")
            return []
        dimensions = list(variable.dimensions)
        values = variable.values
        if dimensions and dimensions[0] is None:
            if isinstance(values, list):
                dimensions[0] = len(values)
            elif variable.linkage == "extern" and variable.space == "shared":
                dimensions[0] = 0  # as large as the launch says
            else:
                self.complain(variable.position, "an array without a size needs an initializer")
                return []
        if any(d is None or d < 0 for d in dimensions):
            self.complain(variable.position, "only an array's first dimension may be left out")
            return []
        count = 1
        for d in dimensions:
            count *= d or 0
        size = type.bytes * variable.vector * count
        align = variable.align or type.bytes * variable.vector
        if align & (align - 1) or align <= 0:
            self.complain(variable.position, f"an alignment is a power of two, not {align}")
            return []
        if max(align, size * (variable.repeat or 1)) > self.limits[variable.space]:
            most = self.limits[variable.space]
            self.complain(variable.position, f"{size} bytes in .{variable.space}, which holds at most {most}", _MEMORY)
            return []
        initial = None
        if variable.space in ("global", "const"):
            initial = bytes(size)
            if values is not None:
                initial = self.image(variable, type, [int(d or 0) for d in dimensions])
        elif values is not None:
            self.complain(variable.position, f"a variable in .{variable.space} cannot be initialized")
        found = []
        repeat = 1 if variable.repeat is None else variable.repeat
        if repeat > MOST_REPEATED:
            self.complain(variable.position, f"one declaration makes at most {MOST_REPEATED} variables")
            return []
        for i in range(repeat):
            offset = -(-sizes[variable.space] // align) * align
            name = variable.name if variable.repeat is None else f"{variable.name}{i}"
            dynamic = variable.linkage == "extern" and variable.space == "shared"
            found.append(Place(name, variable.space, -1 if dynamic else offset, size, align, initial))
            if not dynamic:
                sizes[variable.space] = offset + size
        if sizes[variable.space] > self.limits[variable.space]:
            most = self.limits[variable.space]
            self.complain(
                variable.position,
                f"these are too many variables: .{variable.space} holds at most {most} bytes",
                _MEMORY,
            )
        return found

    def image(self, variable: tree.Variable, type: Type, dimensions: list[int]) -> bytes:
        """The bytes of an initializer: numbers, nested as the dimensions are, the rest zeros."""
        if variable.vector > 1:
            dimensions = [*dimensions, variable.vector]
        data = bytearray()

        def put(values: Any, dims: list[int]) -> None:
            size = type.bytes
            for d in dims:
                size *= d
            start = len(data)
            if dims:
                if not isinstance(values, list):
                    self.complain(variable.position, "an array's initializer is a list in braces")
                elif len(values) > dims[0]:
                    self.complain(variable.position, f"{len(values)} values for {dims[0]} elements")
                else:
                    for value in values:
                        put(value, dims[1:])
            elif isinstance(values, tree.Number | tree.Real):
                if not constant_fits(values, type):
                    self.complain(variable.position, f"this constant is no value of type {type}")
                    return
                data.extend(constant_bits(values, type).to_bytes(type.bytes, "little"))
            else:
                self.complain(variable.position, "only numbers are supported in initializers yet")
            data.extend(bytes(max(0, start + size - len(data))))

        put(variable.values, dimensions)
        return bytes(data)

    # functions -----------------------------------------------------------------------------------------------------------

    def kernel(self, function: tree.Function, outer: _Names, module_shared: int) -> Kernel:
        kernel = Kernel(function.name)
        kernel.performance = function.performance
        kernel.sizes["shared"] = module_shared
        names = _Names(outer, "")
        for parameter in function.parameters:
            type = self.type(parameter.type, parameter.position)
            if type.kind == "pred":
                self.complain(parameter.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
                continue
            size = type.bytes * (1 if parameter.size is None else parameter.size)
            align = parameter.align or type.bytes
            offset = -(-kernel.sizes["param"] // align) * align
            if parameter.name in names.places:
                self.complain(parameter.position, f"{parameter.name} is declared twice")
            place = Place(parameter.name, "param", offset, size, align)
            kernel.sizes["param"] = offset + size
            if kernel.sizes["param"] > self.limits["param"]:
                self.complain(parameter.position, f".param holds at most {self.limits['param']} bytes", _MEMORY)
                break
            kernel.parameters.append(place)
            kernel.parameter_types.append((type, parameter.size is not None))
            names.places[parameter.name] = place
        labels = _labels_of_scopes(function)
        names.labels = labels[0]
        scopes = 0
        for item in function.body:
            kind = type_of(item)
            if kind is tree.Instruction:
                op = self.instruction(item, names, kernel)  # type: ignore[arg-type]
                if op is not None:
                    kernel.code.append(op)
            elif kind is tree.Label:
                unique = item.name + names.suffix  # type: ignore[union-attr]
                if unique in kernel.labels:
                    self.complain(item.position, f"the label {item.name} is defined twice")  # type: ignore[union-attr]
                kernel.labels[unique] = len(kernel.code)
            elif kind is tree.Scope:
                if item.opens:  # type: ignore[union-attr]
                    scopes += 1
                    names = _Names(names, f"@{scopes}")
                    names.labels = labels[scopes]
                else:
                    names = names.outer  # type: ignore[assignment]
            elif item.space == "reg":  # type: ignore[union-attr]
                self.declare_register(item, names)  # type: ignore[arg-type]
            elif item.space == "param":  # type: ignore[union-attr]
                self.complain(item.position, "parameters of calls are not supported yet")
            else:
                spaces = dict(kernel.sizes, **{"global": 0, "const": 0})
                if item.space in ("global", "const"):  # type: ignore[union-attr]
                    self.complain(item.position, "variables of a function in .global and .const are not supported yet")
                    continue
                for place in self.declare(item, names, spaces):  # type: ignore[arg-type]
                    names.places[place.name] = place
                kernel.sizes = {k: spaces[k] for k in kernel.sizes}
        return kernel

    def declare_register(self, variable: tree.Variable, names: _Names) -> None:
        if variable.vector != 1 or variable.dimensions:
            self.complain(variable.position, "vector registers are not supported yet; use one register an element")
            return
        type = self.type(variable.type, variable.position)
        if variable.values is not None:
            self.complain(variable.position, "a register cannot be initialized")
        if variable.repeat is None:
            if variable.name in names.registers or variable.name in names.places:
                self.complain(variable.position, f"{variable.name} is declared twice in this scope")
            names.registers[variable.name] = type
        else:
            known = names.ranges.get(variable.name)
            if known is not None:
                self.complain(variable.position, f"{variable.name}<…> is declared twice in this scope")
            names.ranges[variable.name] = (variable.repeat, type)

    # instructions --------------------------------------------------------------------------------------------------------

    def instruction(self, item: tree.Instruction, names: _Names, kernel: Kernel) -> Op | None:
        """The instruction's form, or None after a complaint."""
        guard = None
        if item.guard is not None:
            found = names.register(item.guard[0])
            if found is None or found[1].kind != "pred":
                what = "is not declared" if found is None else f"is of type {found[1]}, not a predicate"
                self.complain(item.position, f"the guard {item.guard[0]} {what}")
                return None
            kernel.registers[found[0]] = found[1]
            guard = (found[0], item.guard[1])
        operands: list[tree.Operand] = []
        shape: list[Any] = []
        for i, operand in enumerate(item.operands):
            resolved, kind = self.resolve(operand, names, kernel)
            if isinstance(kind, str) and kind.startswith("?"):
                self.complain(self.operand_position(item, i), kind[1:])
                return None
            operands.append(resolved)
            shape.append(kind)
        key = (item.mnemonic, *shape)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self.plan(item.mnemonic, tuple(shape))
        if isinstance(plan, tuple) and not isinstance(plan, Plan):
            index, message, page = plan
            at = item.position if index is None else self.operand_position(item, index)
            self.complain(at, message, page)
            return None
        return Op(plan, tuple(operands), guard, item.position)  # type: ignore[arg-type]

    def operand_position(self, item: tree.Instruction, index: int) -> int:
        """The offset of an operand, found by reading the instruction once more."""
        from ptxspec.language.parser import Parser

        part = Parser(Source(self.source.text, self.source.path), item.position)
        part.i = 1
        for _ in range(index):
            part.operand()
            part.i += 1
        return part.starts[part.i]

    def resolve(self, operand: tree.Operand, names: _Names, kernel: Kernel) -> tuple[tree.Operand, Any]:
        """The operand with its names made unique, and its kind; a kind that begins with "?" is a complaint."""
        kind = type_of(operand)
        if kind is tree.Name:
            text = operand.text  # type: ignore[union-attr]
            found = names.register(text)
            if found is not None:
                kernel.registers[found[0]] = found[1]
                return (operand if found[0] == text else tree.Name(found[0])), found[1]
            if text == "_":
                return operand, "_"
            special = self.specials.get(text)
            if special is not None:
                since = special_since(text)
                if self.version < since:
                    return operand, f"?{text} needs PTX ISA {since[0]}.{since[1]}"
                return operand, ("special", special)
            variable = names.place(text)
            if variable is not None:
                unique, place = variable
                kernel.places[unique] = place
                return (operand if unique == text else tree.Name(unique)), ("place", place.space)
            label = names.label(text)
            if label is not None:
                return (operand if label == text else tree.Name(label)), "label"
            if text.startswith("%") and text.split(".")[0] in {s.split(".")[0] for s in self.specials}:
                return operand, f"?{text} is a special register's name, without or with a wrong component"
            return operand, f"?{text} is not declared"
        if kind is tree.Number:
            return operand, "integer"
        if kind is tree.Real:
            return operand, f"float{operand.width}"  # type: ignore[union-attr]
        if kind is tree.Address:
            if operand.base is None:  # type: ignore[union-attr]
                return operand, ("memory", None)
            base, of = self.resolve(operand.base, names, kernel)  # type: ignore[union-attr]
            if isinstance(of, str):
                return operand, of if of.startswith("?") else f"?{operand.base.text} is no address"  # type: ignore[union-attr]
            return tree.Address(base, operand.offset), ("memory", of)  # type: ignore[union-attr,arg-type]
        if kind is tree.Sum:
            base, of = self.resolve(operand.base, names, kernel)  # type: ignore[union-attr,arg-type]
            if isinstance(of, str) and of.startswith("?"):
                return operand, of
            if isinstance(of, tuple) and of[0] == "place" and not isinstance(of, Type):
                return tree.Sum(base, operand.offset), of  # type: ignore[union-attr,arg-type]
            return operand, "?only a variable's address takes an offset here"
        if kind is tree.Not:
            name, of = self.resolve(operand.name, names, kernel)  # type: ignore[union-attr]
            if isinstance(of, str) and of.startswith("?"):
                return operand, of
            return tree.Not(name), ("not", of)  # type: ignore[arg-type]
        members = operand.elements if kind is tree.Braces else (operand.first, operand.second)  # type: ignore[union-attr]
        resolved = [self.resolve(m, names, kernel) for m in members]
        for _, of in resolved:
            if isinstance(of, str) and of.startswith("?"):
                return operand, of
        parts = tuple(r for r, _ in resolved)
        kinds = tuple(k for _, k in resolved)
        if kind is tree.Braces:
            return tree.Braces(parts), ("braces", kinds)  # type: ignore[arg-type]
        return tree.Pair(*parts), ("pair", kinds)  # type: ignore[arg-type]

    def plan(self, mnemonic: str, shape: tuple[Any, ...]) -> Any:
        """The plan for an instruction of this shape, or (operand's index, complaint, page)."""
        opcode = self.table.get(mnemonic.split(".")[0])
        if opcode is None:
            return None, f"{mnemonic.split('.')[0]} is no instruction that the pages define", None
        return select_form(opcode, mnemonic, shape, self.rules, self.version, self.target)


def select_form(
    opcode: Opcode, mnemonic: str, shape: tuple[Any, ...], rules: Any, version: tuple[int, int], target: int
) -> Any:
    """The one form of `mnemonic` that operands of this shape fit, or a complaint."""
    forms = opcode.find(mnemonic)
    if not forms:
        page = page_name(opcode.lines[0][1].path)
        near = ", ".join(opcode.nearest(mnemonic))
        return None, f"there is no {mnemonic}; the nearest forms are {near}", page
    fitting, reasons = [], []
    for form in forms:
        plan = fit(form, shape, rules)
        if isinstance(plan, Plan):
            fitting.append(plan)
        else:
            reasons.append((plan[0], plan[1], page_name(form.definition.path)))
    if not fitting:
        return max(reasons, key=lambda r: -1 if r[0] is None else r[0])
    plan = fitting[0]
    if len({p.form.definition.line for p in fitting}) > 1:
        return None, f"two definitions claim this {mnemonic}: " + ", ".join(p.form.page for p in fitting), None
    since, needed = plan.form.availability
    page = page_name(plan.form.definition.path)
    if version < since:
        return None, f"{mnemonic} needs PTX ISA {since[0]}.{since[1]}; the module says {version[0]}.{version[1]}", page
    if target < needed:
        return None, f"{mnemonic} needs target sm_{needed}; the module says sm_{target}", page
    return plan


def fit(form: Form, shape: tuple[Any, ...], rules: Any) -> Any:
    """A Plan, or (operand's index, reason) why the operands do not fit the form."""
    places = form.places
    required = sum(1 for p in places if not p[0].optional)
    if not required <= len(shape) <= len(places):
        count = str(required) if required == len(places) else f"{required} to {len(places)}"
        return None, f"{form.mnemonic} takes {count} operands, not {len(shape)}"
    absent = tuple(o.name for p in places[len(shape) :] for o in p)
    results = list(form.definition.results)
    outputs = 0
    roles: list[Any] = []
    for index, (group, kind) in enumerate(zip(places, shape, strict=False)):
        kinds: tuple[Any, ...] = (kind,)
        if group[0].group:
            if not _is(kind, "braces") or len(kind[1]) != len(group):
                return index, f"{len(group)} operands in braces are needed here"
            kinds = kind[1]
        members: list[Any] = []
        for operand, one in zip(group, kinds, strict=True):
            parameter = form.definition.sources.get(operand.name)
            problem: str | None
            if parameter is not None:
                problem, role = _source(form, operand, parameter.annotation, one, rules)
            else:
                wanted: list[Any] = [results.pop(0)] + ([results.pop(0)] if operand.second else [])
                problem, role = _destination(form, operand, wanted, one, rules, outputs)
                outputs += len(wanted)
            if problem:
                return index, problem
            members.append(role)
        roles.append(("each", tuple(members)) if group[0].group else members[0])
    return Plan(form, form.meaning(absent), tuple(roles))


def _is(kind: Any, name: str) -> bool:
    return isinstance(kind, tuple) and not isinstance(kind, Type) and kind[0] == name


def _describe(kind: Any) -> str:
    if isinstance(kind, Type):
        return f"a register of type {kind}"
    if isinstance(kind, str):
        names = {"integer": "an integer constant", "_": "the sink _", "label": "a label"}
        return names.get(kind, "a floating-point constant")
    return {
        "special": "a special register",
        "place": "a variable's address",
        "memory": "an address in brackets",
        "not": "a negated predicate",
        "braces": "operands in braces",
        "pair": "two destinations",
    }[kind[0]]


def _value_problem(form: Form, wanted: Any, kind: Any, rules: Any, destination: bool = False) -> str | None:
    """Why an operand of this kind cannot stand for a value of the type, or None."""
    if _is(kind, "special") and not form.definition.special_registers:
        return f"{form.mnemonic} cannot read a special register: move it to a register first"
    of = kind[1] if _is(kind, "special") and not destination else kind
    if isinstance(of, Type):
        agree = rules.agrees_when_wider if form.definition.wider else rules.agrees
        if agree(wanted, of):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {of}"
    if not destination:
        if of == "integer" and constant_fits(tree.Number(0), wanted):
            return None
        if of in ("float32", "float64") and constant_fits(tree.Real(0, int(of[5:])), wanted):
            return None
    return f"{form.mnemonic} needs {'a register' if destination else 'a value'} of type {wanted} here, not {_describe(kind)}"


def _source(form: Form, operand: Operand, annotation: Any, kind: Any, rules: Any) -> tuple[str | None, Any]:
    role = ("in", operand.name)
    wanted = operand_type(annotation, form.modifiers)
    if isinstance(annotation, Immediate):
        return (None if kind == "integer" else f"{form.mnemonic} needs an integer constant here"), role
    if isinstance(wanted, Special):
        return _special_problem(form, operand, wanted, kind), role
    if isinstance(wanted, VectorOf):
        element = wanted.element
        assert isinstance(element, Type)
        if not form.modifiers.get("vec"):
            return _value_problem(form, element, kind, rules), role
        count = int(form.modifiers["vec"][1:])
        if not _is(kind, "braces") or len(kind[1]) != count:
            return f"{form.mnemonic} needs {count} registers in braces here", role
        return next((p for p in (_value_problem(form, element, k, rules) for k in kind[1]) if p), None), role
    if _is(kind, "not"):
        if not operand.negatable:
            return "this operand cannot be negated", role
        kind = kind[1]
    return _value_problem(form, wanted, kind, rules), role


def _special_problem(form: Form, operand: Operand, wanted: Special, kind: Any) -> str | None:
    if wanted.name == "address":
        if not _is(kind, "memory"):
            return f"{form.mnemonic} needs an address in brackets here, not {_describe(kind)}"
        base = kind[1]
        if isinstance(base, Type):
            if base.kind in ("f", "pred") or base.width < 32:
                return f"an address register has an integer or bit-size type of 32 or 64 bits, not {base}"
        elif base is not None:
            if base[0] != "place":
                return "an address is a register or a variable, with an offset"
            space = str(form.modifiers.get("ss") or "").split("::")[0]
            if space != base[1]:
                return f"{form.mnemonic} cannot reach a variable in .{base[1]}: say its state space"
        return None
    if wanted.name == "variable_address":
        if not _is(kind, "place"):
            return f"{form.mnemonic} needs a variable's name here, not {_describe(kind)}"
        named = form.modifiers.get("space")
        if named is not None and str(named).split("::")[0] != kind[1]:
            return f"the variable is in .{kind[1]}, not in .{named}"
        return None
    if wanted.name == "label":
        return None if kind == "label" else f"{form.mnemonic} needs a label here, not {_describe(kind)}"
    return f"{form.mnemonic}: operands that are {wanted.name} are not supported yet"


def _destination(
    form: Form, operand: Operand, wanted: list[Any], kind: Any, rules: Any, first: int
) -> tuple[str | None, Any]:
    role: Any = ("out", first)
    types = [operand_type(w, form.modifiers) for w in wanted]
    if isinstance(types[0], VectorOf):
        element = types[0].element
        assert isinstance(element, Type)
        if not form.modifiers.get("vec"):
            return _written_problem(form, element, kind, rules), role
        count = int(form.modifiers["vec"][1:])
        if not _is(kind, "braces") or len(kind[1]) != count:
            return f"{form.mnemonic} needs {count} registers in braces here", role
        return next((p for p in (_written_problem(form, element, k, rules) for k in kind[1]) if p), None), role
    if _is(kind, "pair"):
        if operand.second is None:
            return f"{form.mnemonic} has one destination", role
        problems = [_written_problem(form, t, k, rules, True) for t, k in zip(types, kind[1], strict=True)]  # type: ignore[arg-type]
        return next((p for p in problems if p), None), role
    return _written_problem(form, types[0], kind, rules), role  # type: ignore[arg-type]


def _written_problem(form: Form, wanted: Type, kind: Any, rules: Any, one_of_two: bool = False) -> str | None:
    if kind == "_" and one_of_two:
        return None
    return _value_problem(form, wanted, kind, rules, destination=True)


def type_of(item: Any) -> type:
    return item.__class__


def constant_fits(value: tree.Number | tree.Real, type: Type) -> bool:
    """Whether a constant may stand for a value of the type: see spec/operands/type-checking.md."""
    if isinstance(value, tree.Number):
        return not type.is_float
    return type.is_float or (type.kind == "b" and type.width == value.width)


def constant_bits(value: tree.Number | tree.Real, type: Type) -> int:
    """A constant's bits as a value of a type: integers keep their low bits, floating-point numbers are rounded to nearest.
    A single written as 0f… keeps its exact bits where a single is wanted."""
    if isinstance(value, tree.Number):
        if type.kind == "pred":
            return int(value.value != 0)
        return value.value & ((1 << type.width) - 1)
    if value.width == type.width:
        return value.bits
    from ptxspec.terms.core import constant
    from ptxspec.terms.exact import evaluate
    from ptxspec.terms.vocabulary import select

    formats = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
    rounding = importlib.import_module("ptxspec.spec.arithmetic.rounding")
    source, bits = TYPES[f"f{value.width}"], constant(value.bits)
    number = rounding.converted(type, "rn", bits, source)
    return evaluate(select(formats.is_nan(bits, source), formats.carried_nan(type, bits, source), number), {})


def _target_number(target: str) -> int:
    match = re.match(r"(?:sm|compute)_(\d+)", target)
    return int(match[1]) if match else 0


def check(text: str, path: str = "<ptx>") -> Checked:
    """Parse and check a module. Raises PtxError with every complaint found."""
    source = Source(text, path)
    module = parse_source(source)
    if _target_number(module.target[0]) == 0:
        raise source.error(module.target_position, f"{module.target[0]} is no target that is known")
    return Checker(source, module).module_checked()
