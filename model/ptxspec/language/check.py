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
from ptxspec.terms.definitions import CONDITION_CODE, Immediate, Meaning, Special, VectorOf, operand_type
from ptxspec.terms.types import TYPES, Type

_MEMORY = "spec/machine/memory.md"
_FUNCTIONS = "spec/functions/index.md"
_CONTROL = "spec/instructions/control/index.md"
_VARIABLES = "spec/variables/index.md"
_DIRECTIVES = "spec/directives/index.md"
_STATE_SPACES = "spec/state-spaces/index.md"
_RULES = "ptxspec.spec.operands.type_checking"
#: variables in memory that `name<N>` may declare
MOST_REPEATED = 65_536
#: the greatest alignment of what is passed to a function
MOST_ALIGNED = 128
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
    framed: bool = False
    """whether it lies in the frame of a function's activation: the offset counts from there, in local memory"""
    names: tuple[tuple[int, str, int], ...] = ()
    """(offset, name, addend): where the initial bytes are the address of something"""
    element: int = 0
    """the bytes of an element, if this is an array"""

    @property
    def aligned(self) -> int:
        """The alignment that it has in any case: what is declared, or that of its type where that is greater."""
        return max(self.align, self.element or self.size)


class Formal(NamedTuple):
    """A parameter or a result of a function. In the space .param it has a place in the frame, else a register."""

    type: Type
    is_array: bool
    place: Place | None
    register: str | None

    @property
    def size(self) -> int:
        return self.type.bytes if self.place is None else self.place.size

    @property
    def shape(self) -> tuple[Any, ...]:
        """What must be the same where two lists are to fit together."""
        return self.type.width, self.is_array, self.size, self.place is None

    @property
    def declared(self) -> tuple[Any, ...]:
        """What two declarations of one function must have in common."""
        return self.type, self.is_array, self.size, None if self.place is None else self.place.aligned


class Signature(NamedTuple):
    """What a function takes and gives, and how many bytes of its frame that fills."""

    name: str
    returns: tuple[Formal, ...]
    parameters: tuple[Formal, ...]
    size: int
    position: int


class Call(NamedTuple):
    """What a call passes. `function` is None for an indirect call; `known` are those that it may reach, None if it is not
    said."""

    function: str | None
    signature: Signature
    arguments: tuple[tree.Operand, ...]
    results: tuple[tree.Operand, ...]
    known: tuple[str, ...] | None


class Plan(NamedTuple):
    """How the operands of an instruction of one shape fill one form. `roles` has, for each operand as written, what it is:
    ("in", name), ("out", index), or a tuple of such for an operand in braces or a pair. `limits` has (operand's number, most) for
    each constant whose size is limited."""

    form: Form
    meaning: Meaning
    roles: tuple[Any, ...]
    limits: tuple[tuple[int, int], ...] = ()


class Op(NamedTuple):
    """A checked instruction. Register names are those of the scope it stands in."""

    plan: Plan
    operands: tuple[tree.Operand, ...]
    guard: tuple[str, bool] | None
    position: int
    call: Call | None = None
    targets: tuple[str, ...] = ()
    """the labels that an indirect branch may go to"""
    framed: bool = False
    """whether an access to .param goes to the frame"""


class Kernel:
    """A checked entry or function. `code` holds the instructions; `labels` maps a name to an index into it."""

    def __init__(self, name: str, signature: Signature | None = None):
        self.name = name
        self.signature = signature
        self.functions: dict[str, Kernel] = {}
        self.starts: dict[str, int] = {}
        self.parameters: list[Place] = []
        self.parameter_types: list[tuple[Type, bool]] = []
        self.registers: dict[str, Type] = {}
        self.places: dict[str, Place] = {}
        self.code: list[Op] = []
        self.labels: dict[str, int] = {}
        self.sizes = {"shared": 0, "local": 0, "param": 0}
        self.performance: dict[str, tuple[int, ...]] = {}


class Checked(NamedTuple):
    """A checked module. `functions` are those with a body, `signatures` all that are declared."""

    source: Source
    tree: tree.Module
    kernels: dict[str, Kernel]
    places: dict[str, Place]
    sizes: dict[str, int]
    functions: dict[str, Kernel]
    signatures: dict[str, Signature]


#: which element of a vector a selector names
_COMPONENTS = {c: i for selectors in ("xyzw", "rgba") for i, c in enumerate(selectors)}


class _Names:
    """The registers of one scope and of those around it. Ranges (`%r<100>`) are kept as ranges."""

    def __init__(self, outer: _Names | None, suffix: str):
        self.outer, self.suffix = outer, suffix
        self.registers: dict[str, Type] = {}
        self.ranges: dict[str, tuple[int, Type]] = {}
        #: vectors of registers by name, and such ranges of them: how many elements
        self.vectors: dict[str, tuple[int, Type]] = {}
        self.vector_ranges: dict[str, tuple[int, int, Type]] = {}
        self.places: dict[str, Place] = {}
        #: the names before <…>, of registers and of variables
        self.prefixes: set[str] = set()
        #: all labels, and those that have been passed
        self.labels: set[str] = set()
        self.passed: set[str] = set()
        self.tables: dict[str, tree.Targets | Signature] = {}

    def table(self, name: str) -> tree.Targets | Signature | None:
        """What an indirect branch or call may reach."""
        scope: _Names | None = self
        while scope is not None:
            if name in scope.tables:
                return scope.tables[name]
            scope = scope.outer
        return None

    def own_register(self, name: str) -> tuple[str, Type] | None:
        """What `register` says, of this scope alone. The digits at a name's end are all its number's, which may begin
        with zeros."""
        found = self.registers.get(name)
        if found is None and "." in name:
            base, _, selector = name.partition(".")
            vector, place = self.own_vector(base), _COMPONENTS.get(selector)
            if vector is None or place is None or place >= len(vector[0]):
                return None
            return vector[0][place], vector[1]
        if found is None and self.ranges:
            prefix = name.rstrip("0123456789")
            entry = self.ranges.get(prefix)
            digits = name[len(prefix) :]
            number = digits.lstrip("0") or "0"
            if entry is None or not digits or len(number) > 12 or int(number) >= entry[0]:
                return None
            name, found = prefix + number, entry[1]
        return None if found is None else (name + self.suffix, found)

    def own_vector(self, name: str) -> tuple[tuple[str, ...], Type] | None:
        """(the unique names of a vector's elements, their type), of this scope alone."""
        found = self.vectors.get(name)
        if found is None and self.vector_ranges:
            prefix = name.rstrip("0123456789")
            entry = self.vector_ranges.get(prefix)
            number = name[len(prefix) :].lstrip("0") or "0"
            if entry is None or len(prefix) == len(name) or len(number) > 12 or int(number) >= entry[0]:
                return None
            name, found = prefix + number, entry[1:]
        return None if found is None else (tuple(f"{name}.{c}{self.suffix}" for c in "xyzw"[: found[0]]), found[1])

    def vector(self, name: str) -> tuple[tuple[str, ...], Type] | None:
        scope: _Names | None = self
        while scope is not None:
            found = scope.own_vector(name)
            if found is not None:
                return found
            if scope.taken(name):
                return None
            scope = scope.outer
        return None

    def register(self, name: str) -> tuple[str, Type] | None:
        """(its unique name, its type)"""
        scope: _Names | None = self
        base = name.partition(".")[0]
        while scope is not None:
            found = scope.own_register(name)
            if found is not None:
                return found
            if base != name and scope.taken(base):
                return None
            if name in scope.places or name in scope.passed:  # hides a register further out
                return None
            scope = scope.outer
        return None

    def place(self, name: str) -> tuple[str, Place] | None:
        """(its unique name, the variable)"""
        scope: _Names | None = self
        while scope is not None:
            found = scope.places.get(name)
            if found is not None:
                return name + scope.suffix, found
            if name in scope.passed:
                return None
            scope = scope.outer
        return None

    def label(self, name: str) -> str | None:
        """Its unique name."""
        scope: _Names | None = self
        while scope is not None:
            if name in scope.labels:
                return name + scope.suffix
            scope = scope.outer
        return None

    def taken(self, name: str, count: int | None = None) -> bool:
        """Whether something of this scope has the name already, or one of those that `name<count>` stands for."""
        if count is None:
            if name in self.places or name in self.passed:
                return True
            return self.own_register(name) is not None or self.own_vector(name) is not None
        if name in self.prefixes:
            return True
        known = self.registers.keys() | self.places.keys() | self.vectors.keys()
        if count <= len(known):
            return any(f"{name}{i}" in known for i in range(count))
        numbers = (k[len(name) :] for k in known if k.startswith(name))
        return any(n.isdecimal() and (n[0] != "0" or n == "0") and len(n) < 12 and int(n) < count for n in numbers)


def _labels_of_scopes(function: tree.Function) -> list[set[str]]:
    """The labels of each scope, by the scope's number: branches may come before their labels."""
    found: list[set[str]] = [set()]
    stack = [0]
    for item in function.body or ():
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


def special_origin(name: str) -> Any:
    """What the pages say of a special register, given with its component."""
    from ptxspec.terms.machine import SPECIAL_REGISTERS

    return SPECIAL_REGISTERS[name.split(".")[0]]


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
        self.signatures: dict[str, Signature] = {}
        self.outer = _Names(None, "")
        self.linkages: dict[str, str | None] = {}
        self._addresses_of: list[tuple[int, str]] = []
        self._passed: dict[str, tuple[Type | None, Place | None]] = {}
        self.version = module.version
        self.target = _target_number(module.target[0])

    def complain(self, position: int, message: str, page: str | None = None) -> None:
        self.complaints.append(self.source.diagnostic(position, message, page))

    def module_checked(self) -> Checked:
        self.preamble()
        sizes = dict.fromkeys(ADDRESSABLE, 0)
        outer = self.outer
        positions: dict[str, int] = {}
        for variable in self.module.variables:
            if variable.space == "reg":
                self.complain(variable.position, "registers are declared inside functions")
                continue
            for place in self.declare(variable, outer, sizes):
                outer.places[place.name] = place
                positions[place.name] = variable.position
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Kernel] = {}
        for function in self.module.functions:
            if not function.is_entry:
                self.declare_function(function)
        for function in sorted(self.module.functions, key=lambda f: f.is_entry):
            if function.body is None:
                continue
            if function.name in kernels or function.name in functions:
                self.complain(function.position, f"{function.name} is defined twice")
                continue
            if function.name in positions:
                later = max(function.position, positions[function.name])
                self.complain(later, f"{function.name} is the name of a variable and of a function", _VARIABLES)
            if function.is_entry:
                kernels[function.name] = self.kernel(function, outer, sizes["shared"])
            else:
                functions[function.name] = self.kernel(function, outer, sizes["shared"])
                sizes["shared"] = functions[function.name].sizes["shared"]  # the module has one of each
        for position, name in self._addresses_of:
            at = self.signatures[name].position if name in self.signatures else positions.get(name, position)
            if at >= position:
                self.complain(position, f"{name}, whose address is wanted here, is not declared before")
        if self.complaints:
            raise PtxError(sorted(self.complaints, key=lambda d: (d.line, d.column)))
        return Checked(self.source, self.module, kernels, dict(outer.places), sizes, functions, self.signatures)

    def formals(self, parameters: tuple[tree.Parameter, ...], at: int, suffix: str) -> tuple[tuple[Formal, ...], int]:
        """Parameters laid out from offset `at` of a frame on, and where they end."""
        found = []
        for parameter in parameters:
            type = self.type(parameter.type, parameter.position)
            if parameter.space == "reg":
                if parameter.size is not None or parameter.align is not None:
                    self.complain(parameter.position, "a register is no array and has no alignment", _FUNCTIONS)
                found.append(Formal(type, False, None, parameter.name + suffix))
                continue
            if type.kind == "pred":
                self.complain(parameter.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
                continue
            align = parameter.align or type.bytes
            if align <= 0 or align & (align - 1):
                self.complain(parameter.position, f"an alignment is a power of two, not {align}")
                continue
            if align > MOST_ALIGNED:
                self.complain(parameter.position, f"a parameter is aligned to at most {MOST_ALIGNED} bytes", _FUNCTIONS)
                continue
            at = -(-at // align) * align
            size = type.bytes * (1 if parameter.size is None else parameter.size)
            element = 0 if parameter.size is None else type.bytes
            place = Place(parameter.name, "param", at, size, align, framed=True, element=element)
            found.append(Formal(type, parameter.size is not None, place, None))
            at += size
            if at > self.limits["param"]:
                self.complain(parameter.position, f".param holds at most {self.limits['param']} bytes", _MEMORY)
                break
        return tuple(found), at

    def signature(
        self, name: str, returns: tuple[tree.Parameter, ...], parameters: tuple[tree.Parameter, ...], position: int
    ) -> Signature:
        suffix = f"@{name}"
        given, end = self.formals(returns, 0, suffix)
        taken, end = self.formals(parameters, end, suffix)
        return Signature(name, given, taken, end, position)

    def declare_function(self, function: tree.Function) -> None:
        found = self.signature(function.name, function.returns, function.parameters, function.position)
        known = self.signatures.setdefault(function.name, found)
        if [[f.declared for f in fs] for fs in known[1:3]] != [[f.declared for f in fs] for fs in found[1:3]]:
            self.complain(function.position, f"{function.name} was declared with other parameters before", _FUNCTIONS)
        before = self.linkages.setdefault(function.name, function.linkage)
        if function.linkage != before and (function.linkage is not None or before not in ("visible", "weak")):
            shown = f".{before}" if before else "without a word about its linkage"
            self.complain(function.position, f"{function.name} was declared {shown} before", _FUNCTIONS)

    def preamble(self) -> None:
        """Whether the module's version and target exist, and agree."""
        page = importlib.import_module("ptxspec.spec.directives.index")
        module = self.module
        major, minor = module.version
        if minor > page.VERSIONS.get(major, -1):
            last = max(page.VERSIONS)
            latest = f"the latest is {last}.{page.VERSIONS[last]}"
            self.complain(module.version_position, f"there is no PTX ISA {major}.{minor}; {latest}", _DIRECTIVES)
            return
        target, *options = module.target
        since = page.TARGETS.get(re.sub("^compute_", "sm_", target))
        if since is None:
            self.complain(module.target_position, f"{target} is no target that is known", _DIRECTIVES)
        elif module.version < since:
            needs = f"{target} needs PTX ISA {since[0]}.{since[1]}; the module says {major}.{minor}"
            self.complain(module.target_position, needs, _DIRECTIVES)
        for option, position in zip(options, module.option_positions, strict=True):
            found = page.OPTIONS.get(option)
            if found is None:
                self.complain(position, f"{option} is no option of .target", _DIRECTIVES)
                continue
            first, before = found
            if module.version < first:
                needs = f"{option} needs PTX ISA {first[0]}.{first[1]}; the module says {major}.{minor}"
                self.complain(position, needs, _DIRECTIVES)
            if before is not None and self.target >= before:
                self.complain(position, f"{option} is for targets before sm_{before}", _DIRECTIVES)
        modes = [p for o, p in zip(options, module.option_positions, strict=True) if o.startswith("texmode_")]
        if len(set(options) & {"texmode_unified", "texmode_independent"}) > 1:
            self.complain(modes[-1], "a module has one texture mode", _DIRECTIVES)
        if module.address_size_position is not None:
            self.since(".address_size", module.address_size_position)
            if module.address_size == 32:
                self.complain(module.address_size_position, "addresses of 32 bits are not supported", _DIRECTIVES)
        for what, position in module.uses:
            self.since(what, position)

    def since(self, directive: str, position: int) -> None:
        """Complain of a directive that is newer than the module's version."""
        first = importlib.import_module("ptxspec.spec.directives.index").SINCE.get(directive, (1, 0))
        if self.version < first:
            major, minor = self.version
            needs = f"{directive} needs PTX ISA {first[0]}.{first[1]}; the module says {major}.{minor}"
            self.complain(position, needs, _DIRECTIVES)
        needed = importlib.import_module("ptxspec.spec.directives.index").NEEDS.get(directive, 0)
        if self.target < needed:
            needs = f"{directive} needs target sm_{needed}; the module says sm_{self.target}"
            self.complain(position, needs, _DIRECTIVES)

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
        if variable.linkage is not None:
            self.since(f".{variable.linkage}", variable.position)
        if type.kind == "pred":
            self.complain(variable.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
            return []
        if names.taken(variable.name, variable.repeat):
            self.complain(variable.position, f"{_written(variable)} is declared twice in this scope", _VARIABLES)
            return []
        if variable.repeat is not None:
            names.prefixes.add(variable.name)
        if type.width * variable.vector > 128:
            self.complain(variable.position, "a vector has at most 128 bits", _VARIABLES)
            return []
        dimensions = list(variable.dimensions)
        values = variable.values
        if dimensions and dimensions[0] is None:
            if isinstance(values, list):
                dimensions[0] = len(values)
                if not values:
                    self.complain(variable.position, "an array without a size needs a value", _VARIABLES)
                    return []
            elif variable.linkage == "extern" and variable.space == "shared":
                dimensions[0] = 0  # as large as the launch says
            else:
                self.complain(variable.position, "an array without a size needs an initializer", _VARIABLES)
                return []
        count = 1
        for d in dimensions:
            count *= d or 0
        size = type.bytes * variable.vector * count
        align = variable.align or type.bytes * variable.vector
        if max(align, size * (variable.repeat or 1)) > self.limits[variable.space]:
            most = self.limits[variable.space]
            self.complain(variable.position, f"{size} bytes in .{variable.space}, which holds at most {most}", _MEMORY)
            return []
        initial = None
        addresses: list[tuple[int, str, int]] = []
        if variable.space in ("global", "const"):
            initial = bytes(size)
            if values is not None:
                initial = self.image(variable, type, [int(d or 0) for d in dimensions], addresses)
        elif values is not None:
            self.complain(variable.position, f"a variable in .{variable.space} cannot be initialized", _STATE_SPACES)
        found = []
        repeat = 1 if variable.repeat is None else variable.repeat
        if repeat > MOST_REPEATED:
            self.complain(variable.position, f"one declaration makes at most {MOST_REPEATED} variables")
            return []
        for i in range(repeat):
            offset = -(-sizes[variable.space] // align) * align
            name = variable.name
            if variable.repeat is not None:  # no name reaches a variable whose prefix ends in a digit
                name = f"{name}<{i}>" if name[-1].isdecimal() else f"{name}{i}"
            dynamic = variable.linkage == "extern" and variable.space == "shared"
            at = -1 if dynamic else offset
            element = type.bytes if dimensions else 0
            found.append(Place(name, variable.space, at, size, align, initial, names=tuple(addresses), element=element))
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

    def image(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: list[tuple[int, str, int]]
    ) -> bytes:
        """The bytes of an initializer: numbers, nested as the dimensions are but one after the other however long the inner
        lists are, and zeros for the rest. Where they are the address of something, that is added to `names`."""
        shape = [*dimensions, variable.vector] if variable.vector > 1 else dimensions
        size = type.bytes
        for d in shape:
            size *= d
        data = bytearray()
        if type.kind == "f" and type.width == 16:
            self.complain(variable.position, "a variable of type .f16 has no initializer", _VARIABLES)
            return bytes(size)

        def put(values: Any, depth: int) -> None:
            wrong = None
            if depth < len(shape):
                most = shape[depth]
                if not isinstance(values, list):
                    wrong = "an array's or a vector's initializer is a list in braces"
                elif len(values) > most:
                    wrong = f"{len(values)} values for {most} elements"
                elif depth == len(dimensions) and len(values) < most:
                    wrong = f"{len(values)} values for a vector of {most}"
                else:
                    for value in values:
                        put(value, depth + 1)
            elif isinstance(values, list):
                wrong = "one value is needed here, not a list in braces"
            elif isinstance(values, tree.Name | tree.Generic | tree.Sum) and type.kind == "u" and type.width == 64:
                base, addend = (values, 0) if isinstance(values, tree.Name) else values
                if isinstance(values, tree.Generic):
                    place = self.outer.places.get(base.text)
                    if place is None or place.space not in ("global", "const"):
                        self.complain(
                            variable.position, f"{base.text} is no variable with a generic address", _VARIABLES
                        )
                        return
                    addend += importlib.import_module("ptxspec.spec.state_spaces.generic_addressing").base(place.space)
                place = self.outer.places.get(base.text)
                if place is not None and place.space not in ("global", "const"):
                    wrong = f"{base.text} lies in .{place.space}, where no module's variable points"
                names.append((len(data), base.text, addend))
                self._addresses_of.append((variable.position, base.text))
                data.extend(bytes(8))
            elif not isinstance(values, tree.Number | tree.Real):
                wrong = "only numbers and addresses are supported in initializers yet"
            elif not constant_fits(values, type, initial=True):
                wrong = f"this constant is no value of type {type}"
            else:
                data.extend(constant_bits(values, type).to_bytes(type.bytes, "little"))
            if wrong is not None:
                self.complain(variable.position, wrong, _VARIABLES)

        put(variable.values, 0)
        return bytes(data.ljust(size, b"\0"))

    # functions -----------------------------------------------------------------------------------------------------------

    def kernel(self, function: tree.Function, outer: _Names, module_shared: int) -> Kernel:
        """A checked entry or function. All names of a function end in its own, so that they can stand beside others'."""
        kernel = Kernel(function.name, None if function.is_entry else self.signatures[function.name])
        kernel.performance = function.performance
        page = importlib.import_module("ptxspec.spec.directives.index")
        for directive in function.performance:
            self.since(directive, function.position)
            gone = page.GONE.get(directive)
            if gone is not None and self.version >= gone:
                self.complain(function.position, f"{directive} is gone since PTX ISA {gone[0]}.{gone[1]}", _DIRECTIVES)
        if function.linkage is not None:
            self.since(f".{function.linkage}", function.position)
        kernel.sizes["shared"] = module_shared
        own = "" if function.is_entry else f"@{function.name}"
        names = _Names(outer, own)
        if kernel.signature is not None:
            # the names are those of this declaration, the layout is the same
            kernel.signature = self.signature(function.name, function.returns, function.parameters, function.position)
            kernel.sizes["local"] = kernel.signature.size
            declared = (*function.returns, *function.parameters)
            for formal, parameter in zip(
                (*kernel.signature.returns, *kernel.signature.parameters), declared, strict=False
            ):
                if parameter.name in names.places or parameter.name in names.registers:
                    self.complain(parameter.position, f"{parameter.name} is declared twice")
                if formal.place is not None:
                    names.places[parameter.name] = formal.place
                else:
                    names.registers[parameter.name] = formal.type
                    kernel.registers[parameter.name + own] = formal.type
        for parameter in function.parameters if function.is_entry else ():
            type = self.type(parameter.type, parameter.position)
            if type.kind == "pred":
                self.complain(parameter.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
                continue
            size = type.bytes * (1 if parameter.size is None else parameter.size)
            align = parameter.align or type.bytes
            offset = -(-kernel.sizes["param"] // align) * align
            if parameter.name in names.places:
                self.complain(parameter.position, f"{parameter.name} is declared twice")
            element = 0 if parameter.size is None else type.bytes
            place = Place(parameter.name, "param", offset, size, align, element=element)
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
        for item in function.body or ():
            kind = type_of(item)
            if kind is tree.Instruction:
                op = self.instruction(item, names, kernel)  # type: ignore[arg-type]
                if op is not None:
                    kernel.code.append(op)
            elif kind is tree.Label:
                unique = item.name + names.suffix  # type: ignore[union-attr]
                if unique in kernel.labels:
                    self.complain(item.position, f"the label {item.name} is defined twice")  # type: ignore[union-attr]
                elif item.name in names.registers or item.name in names.places or item.name in names.tables:  # type: ignore[union-attr]
                    self.complain(item.position, f"{item.name} is declared twice in this scope", _VARIABLES)  # type: ignore[union-attr]
                names.passed.add(item.name)  # type: ignore[union-attr]
                kernel.labels[unique] = len(kernel.code)
            elif kind is tree.Scope:
                if item.opens:  # type: ignore[union-attr]
                    scopes += 1
                    names = _Names(names, f"{own}@{scopes}")
                    names.labels = labels[scopes]
                else:
                    names = names.outer  # type: ignore[assignment]
            elif kind in (tree.Targets, tree.Prototype) and (item.name in names.tables or names.taken(item.name)):  # type: ignore[union-attr]
                self.complain(item.position, f"{item.name} is declared twice in this scope", _VARIABLES)  # type: ignore[union-attr]
            elif kind is tree.Targets:
                names.tables[item.name] = item  # type: ignore[union-attr,assignment]
            elif kind is tree.Prototype:
                names.tables[item.name] = self.signature(  # type: ignore[union-attr]
                    item.name,  # type: ignore[union-attr]
                    item.returns,  # type: ignore[union-attr]
                    item.parameters,  # type: ignore[union-attr]
                    item.position,
                )
            elif item.space == "reg":  # type: ignore[union-attr]
                self.declare_register(item, names)  # type: ignore[arg-type]
            elif item.space == "param":  # type: ignore[union-attr]
                if (item.align or 1) > MOST_ALIGNED:  # type: ignore[union-attr]
                    self.complain(item.position, f"a parameter is aligned to at most {MOST_ALIGNED} bytes", _FUNCTIONS)
                spaces = {"param": kernel.sizes["local"]}
                for place in self.declare(item, names, spaces):  # type: ignore[arg-type]
                    names.places[place.name] = place._replace(framed=True)
                kernel.sizes["local"] = spaces["param"]
            else:
                spaces = dict(kernel.sizes, **{"global": 0, "const": 0})
                if item.space in ("global", "const"):  # type: ignore[union-attr]
                    self.complain(item.position, "variables of a function in .global and .const are not supported yet")
                    continue
                for place in self.declare(item, names, spaces):  # type: ignore[arg-type]
                    names.places[place.name] = place._replace(framed=place.space == "local")
                kernel.sizes = {k: spaces[k] for k in kernel.sizes}
        if not function.is_entry:
            kernel.code.append(Op(self.plan("ret", ()), (), None, function.position))  # the end of a function returns
        return kernel

    def declare_register(self, variable: tree.Variable, names: _Names) -> None:
        if variable.dimensions:
            self.complain(variable.position, "there are no arrays of registers", _VARIABLES)
            return
        type = self.type(variable.type, variable.position)
        if variable.values is not None:
            self.complain(variable.position, "a register cannot be initialized")
        if variable.vector != 1 and (type.kind == "pred" or type.width * variable.vector > 128):
            self.complain(variable.position, "a vector has at most 128 bits, and no predicates", _VARIABLES)
            return
        if names.taken(variable.name, variable.repeat):
            self.complain(variable.position, f"{_written(variable)} is declared twice in this scope", _VARIABLES)
        if variable.vector != 1:
            if variable.repeat is None:
                names.vectors[variable.name] = (variable.vector, type)
                return
            names.prefixes.add(variable.name)
            if not variable.name[-1].isdecimal():
                names.vector_ranges[variable.name] = (variable.repeat, variable.vector, type)
            return
        if variable.repeat is None:
            names.registers[variable.name] = type
        else:
            names.prefixes.add(variable.name)
            if not variable.name[-1].isdecimal():  # else no name reaches them
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
        if not isinstance(plan, Plan) and any(type_of(o) is tree.Element for o in item.operands):
            # an element's name is its address or, where that is wanted, what lies there
            elements = [type_of(o) is tree.Element for o in item.operands]
            shape = [("memory", k) if e else k for e, k in zip(elements, shape, strict=True)]
            other = self.plan(item.mnemonic, tuple(shape))
            if isinstance(other, Plan):
                plan = other
                operands = [tree.Address(*o) if e else o for e, o in zip(elements, operands, strict=True)]
        if isinstance(plan, Plan) and plan.form.definition.constant_ranges:
            self.constants_in_range(item, plan)
        if isinstance(plan, tuple) and not isinstance(plan, Plan):
            index, message, page = plan
            at = item.position if index is None else self.operand_position(item, index)
            self.complain(at, message, page)
            return None
        for i, most in plan.limits:  # type: ignore[union-attr]
            if not 0 <= operands[i].value <= most:  # type: ignore[union-attr]
                page = page_name(plan.form.definition.path)  # type: ignore[union-attr]
                at = self.operand_position(item, i)
                self.complain(at, f"{item.mnemonic} takes a constant from 0 to {most} here", page)
                return None
        if plan.meaning.uses_carry:  # type: ignore[union-attr]
            kernel.registers[CONDITION_CODE] = TYPES["pred"]
        modifiers = plan.form.modifiers  # type: ignore[union-attr]
        if modifiers.get("ss") == "param::entry" or str(modifiers.get("space")).split("::")[0] == "param":
            for operand in operands:
                base = operand.base if isinstance(operand, tree.Address | tree.Sum) else operand
                place = kernel.places.get(base.text) if isinstance(base, tree.Name) else None
                if place is not None and place.framed:
                    problem = f"{item.mnemonic} reaches an entry's parameters, not a function's"
                    self.complain(item.position, problem, _FUNCTIONS)
                    return None
        op = Op(plan, tuple(operands), guard, item.position)  # type: ignore[arg-type]
        effect = plan.meaning.effect  # type: ignore[union-attr]
        if effect is None:
            return op
        if effect.kind == "call":
            return self.call(op, item, names)
        if effect.kind == "branch" and effect.fields["among"] is not None:
            return self.branch_among(op, item, names, kernel)
        if effect.fields.get("space") == "param":
            base = next((o.base for o in operands if isinstance(o, tree.Address)), None)
            place = kernel.places.get(base.text) if base is not None else None
            framed = place.framed if place is not None else kernel.signature is not None
            taken = kernel.signature.parameters if kernel.signature is not None else ()
            formals = (*kernel.signature.returns, *taken) if kernel.signature is not None else ()
            if guard is not None and place is not None and framed and all(f.place is not place for f in formals):
                self.complain(item.position, "what passes an argument or a result of a call has no guard", _FUNCTIONS)
            if effect.kind != "load" and (not framed or any(f.place is place is not None for f in taken)):
                self.complain(item.position, "an entry's or a function's parameters are not written", _FUNCTIONS)
            op = op._replace(framed=framed)
        return op

    def branch_among(self, op: Op, item: tree.Instruction, names: _Names, kernel: Kernel) -> Op | None:
        """An indirect branch with its labels."""
        list_name = operand_of(op, op.plan.meaning.effect.fields["among"].name).text  # type: ignore[union-attr]
        table = names.table(list_name)
        if not isinstance(table, tree.Targets) or table.directive != ".branchtargets":
            self.complain(item.position, f"{list_name} is no list of labels (.branchtargets)", _CONTROL)
            return None
        labels = [names.label(target.text) for target in table.targets]
        for target, label in zip(table.targets, labels, strict=True):
            if label is None:
                self.complain(table.position, f"{target.text} is no label of this function", _CONTROL)
                return None
        return op._replace(targets=tuple(labels))  # type: ignore[arg-type]

    def call(self, op: Op, item: tree.Instruction, names: _Names) -> Op | None:
        """A call with what it passes, held against what the function takes."""
        fields = op.plan.meaning.effect.fields  # type: ignore[union-attr]
        given = {role[1]: o for role, o in zip(op.plan.roles, op.operands, strict=True)}
        arguments = given["p"].elements if "p" in given else ()  # type: ignore[union-attr]
        results = given["r"].elements if "r" in given else ()  # type: ignore[union-attr]
        known: tuple[str, ...] | None
        if isinstance(fields["function"], Special):
            function = given[fields["function"].name].text  # type: ignore[union-attr]
            signature, known = self.signatures[function], (function,)
            if signature.position > item.position:
                self.complain(item.position, f"{function} is called before it is declared", _FUNCTIONS)
                return None
        else:
            function = None
            list_name = given["t"].text  # type: ignore[union-attr]
            table = names.table(list_name)
            if isinstance(table, tree.Targets) and table.directive == ".calltargets":
                known = tuple(target.text for target in table.targets)
                for name in known:
                    if name not in self.signatures:
                        self.complain(table.position, f"{name} is no function", _FUNCTIONS)
                        return None
                signature = self.signatures[known[0]]
            elif isinstance(table, Signature):
                signature, known = table, None
            else:
                self.complain(item.position, f"{list_name} is neither .callprototype nor .calltargets", _CONTROL)
                return None
            if any(f.place is None for f in (*signature.returns, *signature.parameters)):
                self.complain(item.position, "indirect calls with .reg parameters are not supported yet", _FUNCTIONS)
                return None
        shown = function or "the function"
        for what, actuals, formals in (
            ("arguments", arguments, signature.parameters),
            ("results", results, signature.returns),
        ):
            if len(actuals) != len(formals):
                self.complain(item.position, f"{shown} has {len(formals)} {what}, the call {len(actuals)}", _FUNCTIONS)
                return None
            for actual, formal in zip(actuals, formals, strict=True):
                problem = self.passing_problem(actual, formal, names, what == "results")
                if problem:
                    self.complain(item.position, f"{shown}: {problem}", _FUNCTIONS)
                    return None
        return op._replace(call=Call(function, signature, tuple(arguments), tuple(results), known))

    def passing_problem(self, actual: Any, formal: Formal, names: _Names, is_result: bool) -> str | None:
        """Why an operand of a call cannot stand for a parameter, or None. Its name is the unique one already."""
        if not isinstance(actual, tree.Name):
            if is_result:
                return "a result goes into a register or a variable"
            if formal.is_array or not constant_fits(actual, formal.type):
                return f"a constant is no value of type {formal.type}"
            return None
        register, place = self._passed.get(actual.text, (None, None))
        if place is not None:
            if not place.framed or place.space != "param":
                return f"{actual.text} lies in .{place.space}, not in .param of this function"
            if formal.place is None:
                return f"{actual.text} is in .param, the parameter is a register"
            if place.size != formal.size:
                return f"{place.size} bytes for a parameter of {formal.size}"
            if place.aligned != formal.place.aligned:
                return f"{actual.text} is aligned to {place.aligned} bytes, the parameter to {formal.place.aligned}"
            return None
        if register is None:
            return f"{actual.text} cannot be passed"
        if formal.is_array:
            return f"a register for an array of {formal.size} bytes"
        if self.rules.agrees(formal.type, register):
            return None
        return f"a register of type {register} for one of type {formal.type}"

    def constants_in_range(self, item: tree.Instruction, plan: Plan) -> None:
        definition = plan.form.definition
        for index, (role, operand) in enumerate(zip(plan.roles, item.operands, strict=True)):
            allowed = definition.constant_ranges.get(role[1]) if role[0] == "in" else None
            if allowed is None or not isinstance(operand, tree.Number):
                continue
            type = operand_type(definition.sources[role[1]].annotation, plan.form.modifiers)
            if constant_bits(operand, type) not in allowed:  # type: ignore[arg-type]
                step = f", a multiple of {allowed.step}" if allowed.step > 1 else ""
                wanted = f"a constant from {allowed.start} to {allowed[-1]}{step}"
                message = f"{plan.form.mnemonic} needs {wanted} here, not {operand.value}"
                self.complain(self.operand_position(item, index), message, page_name(definition.path))

    def operand_position(self, item: tree.Instruction, index: int) -> int:
        """The offset of an operand, found by reading the instruction once more."""
        from ptxspec.language.parser import Parser

        part = Parser(Source(self.source.text, self.source.path), item.position)
        part.i, part.mnemonic = 1, item.mnemonic
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
                origin = special_origin(text)
                if self.version < origin.since:
                    return operand, f"?{text} needs PTX ISA {origin.since[0]}.{origin.since[1]}"
                if self.target < origin.target:
                    return operand, f"?{text} needs target sm_{origin.target}"
                return operand, ("special", special, origin.also)
            vector = names.vector(text)
            if vector is not None:
                elements, type = vector
                kernel.registers.update(dict.fromkeys(elements, type))
                return tree.Braces(tuple(map(tree.Name, elements))), ("braces", (type,) * len(elements))
            variable = names.place(text)
            if variable is not None:
                unique, place = variable
                kernel.places[unique] = place
                return (operand if unique == text else tree.Name(unique)), ("place", place.space)
            if text in self.signatures:
                return operand, "function"
            if names.table(text) is not None:
                return operand, "table"
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
        if kind is tree.Element:
            return self.resolve_element(operand, names, kernel)  # type: ignore[arg-type]
        if kind is tree.Not:
            name, of = self.resolve(operand.name, names, kernel)  # type: ignore[union-attr]
            if isinstance(of, str) and of.startswith("?"):
                return operand, of
            return tree.Not(name), ("not", of)  # type: ignore[arg-type]
        if kind is tree.Parens:
            return self.resolve_list(operand, names, kernel)  # type: ignore[arg-type]
        if kind is tree.Part:
            base, of = self.resolve(operand.name, names, kernel)  # type: ignore[union-attr]
            if isinstance(of, str) and of.startswith("?"):
                return operand, of
            return base, ("part", of, operand.selector, operand.negated)  # type: ignore[union-attr]
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

    def resolve_element(self, operand: tree.Element, names: _Names, kernel: Kernel) -> tuple[tree.Operand, Any]:
        """The address of an element of an array."""
        base, of = self.resolve(operand.base, names, kernel)
        if isinstance(of, str) and of.startswith("?"):
            return operand, of
        place = kernel.places.get(base.text) if isinstance(base, tree.Name) else None
        if place is None or not place.element or isinstance(of, Type):
            return operand, f"?{operand.base.text} is no array, and has no elements"
        if operand.register is not None:
            return operand, "?an index in a register is not supported yet: compute the address of the element"
        assert isinstance(base, tree.Name)
        return tree.Sum(base, operand.offset * place.element), of

    def resolve_list(self, operand: tree.Parens, names: _Names, kernel: Kernel) -> tuple[tree.Operand, Any]:
        """The arguments or results of a call: their names made unique, and noted with what they are."""
        elements: list[Any] = []
        for element in operand.elements:
            resolved, kind = self.resolve(element, names, kernel)
            if isinstance(kind, str) and kind.startswith("?"):
                return operand, kind
            if isinstance(resolved, tree.Braces):
                return operand, "?vectors as arguments are not supported yet: pass their elements"
            if isinstance(resolved, tree.Name):
                is_register = isinstance(kind, Type)
                place = None if is_register else kernel.places.get(resolved.text)
                self._passed[resolved.text] = (kind if is_register else None, place)
            elements.append(resolved)
        return tree.Parens(tuple(elements)), "list"

    def plan(self, mnemonic: str, shape: tuple[Any, ...]) -> Any:
        """The plan for an instruction of this shape, or (operand's index, complaint, page)."""
        opcode = self.table.get(mnemonic.split(".")[0])
        if opcode is None:
            return None, f"{mnemonic.split('.')[0]} is no instruction that the pages define", None
        return select_form(opcode, mnemonic, shape, self.rules, (self.version, self.target))


def select_form(
    opcode: Opcode, mnemonic: str, shape: tuple[Any, ...], rules: Any, module: tuple[tuple[int, int], int] | None
) -> Any:
    """The one form of `mnemonic` that operands of this shape fit, or a complaint. `module` is the version and the target that the
    form must exist for; None: it may be of any."""
    forms = opcode.find(mnemonic)
    if not forms:
        near = opcode.nearest(mnemonic)
        return None, f"there is no {mnemonic}; the nearest forms are {', '.join(near)}", opcode.page_of_most(near)
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
    if module is None:
        return plan
    version, target = module
    since, needed = plan.form.availability
    page = page_name(plan.form.definition.path)
    if version < since:
        return None, f"{mnemonic} needs PTX ISA {since[0]}.{since[1]}; the module says {version[0]}.{version[1]}", page
    if target < needed:
        return None, f"{mnemonic} needs target sm_{needed}; the module says sm_{target}", page
    gone = plan.form.removal
    if gone is not None and version >= gone[0] and target >= gone[1]:
        (major, minor), first = gone
        since_when = "" if (major, minor) == (1, 0) else f" from PTX ISA {major}.{minor} on"
        return None, f"{mnemonic} does not exist{since_when} for sm_{first} and later", page
    return _flushing(plan, shape, rules, target)


def _flushing(plan: Plan, shape: tuple[Any, ...], rules: Any, target: int) -> Plan:
    """The plan for a target: early ones execute every form that may have `.ftz` as if it had."""
    form = plan.form
    page = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
    if target >= page.FLUSHES_BEFORE or form.modifiers.get("ftz") or all(s.name != "ftz" for s in form.syntax.slots):
        return plan
    found = fit(form._replace(modifiers={**form.modifiers, "ftz": True}), shape, rules)
    assert isinstance(found, Plan)
    return found._replace(form=form)


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
    marks: dict[str, str | bool] = {}
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
            own, problem = _marks(form, operand, one)
            if problem:
                return index, problem
            marks |= own
            one = one[1] if _is(one, "part") else one
            if parameter is not None:
                problem, role = _source(form, operand, parameter.annotation, one, rules)
            else:
                wanted: list[Any] = [results.pop(0)] + ([results.pop(0)] if operand.second else [])
                problem, role = _destination(form, operand, wanted, one, rules, outputs)
                problem = None if one == "_" and operand.group else problem
                outputs += len(wanted)
            if problem:
                return index, problem
            members.append(role)
        if group[0].group and all(one == "_" for one in kinds):
            return index, "one of these must be a register, not the sink _"
        roles.append(("each", tuple(members)) if group[0].group else members[0])
    limits = []
    for index, role in enumerate(roles):
        annotation = form.definition.sources[role[1]].annotation if role[0] == "in" else None
        if isinstance(annotation, Immediate) and annotation.most is not None:
            limits.append((index, annotation.most))
    form = form._replace(marks=marks)
    return Plan(form, form.meaning(absent), tuple(roles), tuple(limits))


def _marks(form: Form, operand: Operand, kind: Any) -> tuple[dict[str, str | bool], str | None]:
    """What an operand carries, by the names that the definition has for it; and why it may not, or None."""
    selector, negated = kind[2:] if _is(kind, "part") else (None, False)
    marks: dict[str, str | bool] = {}
    if _is(kind, "part") and not isinstance(kind[1], Type):
        return marks, f"only a register takes a selector or a minus sign, not {_describe(kind[1])}"
    if selector is not None:
        if operand.selector is None:
            return marks, f"{form.mnemonic} takes no selector here, and so not .{selector}"
        if selector not in operand.selector.options:
            allowed = operand.selector.spelled
            return marks, f".{selector} selects nothing of this operand of {form.mnemonic}; it takes {allowed}"
        marks[operand.selector.name] = selector
    if negated and not operand.sign:
        return marks, "this operand cannot be negated"
    if operand.sign == "-" and not negated:
        return marks, "this operand must be negated"
    if negated:
        marks[operand.negation] = True
    return marks, None


def _is(kind: Any, name: str) -> bool:
    return isinstance(kind, tuple) and not isinstance(kind, Type) and kind[0] == name


def _describe(kind: Any) -> str:
    if isinstance(kind, Type):
        return f"a register of type {kind}"
    if isinstance(kind, str):
        names = {"integer": "an integer constant", "_": "the sink _", **dict(_KINDS.values())}
        return names.get(kind, "a floating-point constant")
    return {
        "special": "a special register",
        "place": "a variable's address",
        "memory": "an address in brackets",
        "not": "a negated predicate",
        "braces": "operands in braces",
        "pair": "two destinations",
        "part": "a register with a selector or a minus sign",
    }[kind[0]]


def _value_problem(form: Form, wanted: Any, kind: Any, rules: Any, destination: bool = False) -> str | None:
    """Why an operand of this kind cannot stand for a value of the type, or None."""
    if _is(kind, "special") and not form.definition.may_read_special_registers(form.modifiers):
        return f"{form.mnemonic} cannot read a special register: move it to a register first"
    agree = rules.agrees_when_wider if form.definition.wider else rules.agrees
    if _is(kind, "special") and not destination:
        if not wanted.is_float and any(agree(wanted, of) for of in kind[1:2] + kind[2]):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {kind[1]}"
    of = kind
    if isinstance(of, Type):
        if agree(wanted, of):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {of}"
    if form.definition.registers and not destination:
        return f"{form.mnemonic} needs a register of type {wanted} here, not {_describe(kind)}"
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
        problems = (_value_problem(form, element, k, rules) for k in kind[1])
        return next((p for p in problems if p), None) or _mixed(kind[1]), role
    if _is(kind, "not"):
        if not operand.negatable and wanted.kind != "pred":
            return "this operand cannot be negated", role
        kind = kind[1]
    return _value_problem(form, wanted, kind, rules), role


#: operands that are no values: the kind that an operand must have, and what that is called
_KINDS = {
    "label": ("label", "a label"),
    "function_name": ("function", "a function's name"),
    "function_address": ("function", "a function's name"),
    "list_of_operands": ("list", "operands in parentheses"),
    "target_list": ("table", "a list of targets or a prototype"),
}


def operand_of(op: Op, name: str) -> Any:
    """The operand that stands for a parameter of the definition."""
    for role, operand in zip(op.plan.roles, op.operands, strict=True):
        if role == ("in", name):
            return operand
    raise AssertionError(f"{op.plan.form} has no operand {name}")


def _special_problem(form: Form, operand: Operand, wanted: Special, kind: Any) -> str | None:
    if wanted.name == "address":
        if not _is(kind, "memory"):
            return f"{form.mnemonic} needs an address in brackets here, not {_describe(kind)}"
        base = kind[1]
        spaces = [w for w in (m.split("::")[0] for m in form.mnemonic.split(".")[1:]) if w in ADDRESSABLE]
        if isinstance(base, Type):
            if base.kind in ("f", "pred") or base.width < 32:
                return f"an address register has an integer or bit-size type of 32 or 64 bits, not {base}"
            if base.width == 32 and (not spaces or spaces[0] == "global"):
                return "a generic address, and one in .global, has 64 bits"
        elif base is None:
            if spaces != ["local"]:
                return "an address that is a number alone is one of .local"
        else:
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
    if wanted.name in _KINDS:
        expected, what = _KINDS[wanted.name]
        return None if kind == expected else f"{form.mnemonic} needs {what} here, not {_describe(kind)}"
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
        return _vector_problem(form, element, kind[1], rules), role
    if _is(kind, "pair"):
        if operand.second is None:
            return f"{form.mnemonic} has one destination", role
        problems = [_written_problem(form, t, k, rules, True) for t, k in zip(types, kind[1], strict=True)]  # type: ignore[arg-type]
        if kind[1] == ("_", "_"):
            return "one of the two must be a register, not the sink _", role
        return next((p for p in problems if p), None), role
    if operand.paired:
        return f"{form.mnemonic} writes a pair: {operand.name}|{operand.second}", role
    return _written_problem(form, types[0], kind, rules), role  # type: ignore[arg-type]


def _vector_problem(form: Form, element: Type, kinds: tuple[Any, ...], rules: Any) -> str | None:
    """Why operands in braces cannot take a vector, or None."""
    if all(k == "_" for k in kinds):
        return "one of these must be a register, not the sink _"
    problems = (_written_problem(form, element, k, rules, True) for k in kinds)
    return next((p for p in problems if p), None) or _mixed(kinds)


def _mixed(kinds: tuple[Any, ...]) -> str | None:
    widths = {k.width for k in kinds if isinstance(k, Type)}
    return "the registers of a vector are equally wide" if len(widths) > 1 else None


def _written_problem(form: Form, wanted: Type, kind: Any, rules: Any, one_of_several: bool = False) -> str | None:
    if kind == "_" and (one_of_several or form.definition.discards):
        return None
    return _value_problem(form, wanted, kind, rules, destination=True)


def type_of(item: Any) -> type:
    return item.__class__


def _written(variable: tree.Variable) -> str:
    return variable.name if variable.repeat is None else f"{variable.name}<…>"


def constant_fits(value: tree.Number | tree.Real, type: Type, initial: bool = False) -> bool:
    """Whether a constant may stand for a value of the type, as an operand or as what a variable begins as: see
    spec/operands/type-checking.md."""
    if isinstance(value, tree.Number):
        return not type.is_float
    if initial and type.kind == "b" and type.width in (32, 64):
        return True
    return type.is_float or (type.kind == "b" and type.width == value.width)


def constant_bits(value: tree.Number | tree.Real, type: Type) -> int:
    """A constant's bits as a value of a type: integers keep their low bits, floating-point numbers are rounded to nearest.
    A single written as 0f… keeps its exact bits, also where a double is wanted."""
    if isinstance(value, tree.Number):
        if type.kind == "pred":
            return int(value.value != 0)
        return value.value & ((1 << type.width) - 1)
    if value.width == type.width or (value.width, type.width) == (32, 64):
        return value.bits
    if type.kind == "b":  # what a variable begins as
        type = TYPES[f"f{type.width}"]
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
    return Checker(source, module).module_checked()
