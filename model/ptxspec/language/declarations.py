"""Declarations: directives, variables with their initializers, registers, signatures."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.building.declarations import OPEN
from ptxspec.language.checked import Formal, Place, Pointer, Signature, spaces, unbanked
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.named import Range
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.scopes import Names
from ptxspec.language.suggestions import did_you_mean
from ptxspec.terms.types import Type

_LINKING = "spec/functions/linking.md"
#: so many names of a circle are told
_MOST_NAMED = 8
#: the greatest alignment of what is passed to a function
MOST_ALIGNED = 128


class Declarations(OpaqueVariables):
    """Checks what a module declares."""

    def formals(
        self, parameters: tuple[tree.Parameter, ...], at: int, suffix: str, are_results: bool = False
    ) -> tuple[tuple[Formal, ...], int]:
        """Parameters laid out from offset `at` of a frame on, and where they end."""
        found = []
        for parameter in parameters:
            if self.is_opaque(parameter.type):
                problem = f"a function has no parameters of type .{parameter.type}: pass the handle"
                self.complain(parameter.position, problem, cited.FUNCTIONS)
                continue
            type = self.type(parameter.type, parameter.position)
            if parameter.space == "reg":
                if parameter.size is not None:
                    self.complain(parameter.position, "a register is no array", cited.FUNCTIONS)
                if parameter.vector > 1:
                    if self.fits_vector(type, parameter.vector, parameter.position):
                        names = [f"{parameter.name}.{c}{suffix}" for c in "xyzw"[: parameter.vector]]
                        lengths = (parameter.vector, 0, 0, 0)
                        found += [Formal(type, False, None, n, i) for n, i in zip(names, lengths, strict=False)]
                    continue
                found.append(Formal(type, False, None, parameter.name + suffix))
                continue
            self.since("a parameter or a result of a function in .param", parameter.position)
            if type.kind == "pred":
                self.complain(parameter.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
                continue
            if parameter.size == OPEN:
                self.since("a parameter without a size", parameter.position)
                if parameter is not parameters[-1] or are_results:
                    what = f"{parameter.name} has no size, which only a function's last parameter may lack"
                    self.complain(parameter.position, what, cited.FUNCTIONS)
            if not self.fits_vector(type, parameter.vector, parameter.position):
                continue
            align = parameter.align or type.bytes * parameter.vector
            if align > MOST_ALIGNED:
                self.complain(
                    parameter.position, f"a parameter is aligned to at most {MOST_ALIGNED} bytes", cited.FUNCTIONS
                )
                continue
            at = -(-at // align) * align
            size = type.bytes * parameter.vector * (1 if parameter.size is None else max(0, parameter.size))
            element = 0 if parameter.size is None else type.bytes
            place = Place(
                parameter.name,
                "param",
                at,
                size,
                align,
                framed=True,
                element=element,
                type=type if parameter.vector == 1 and type.lanes == 1 else None,
                dimensions=bool(element),
            )
            found.append(Formal(type, parameter.size is not None, place, None, parameter.vector))
            at += size
            if at > self.limits["local"]:
                self.complain(parameter.position, f".local holds at most {self.limits['local']} bytes", cited.MEMORY)
                break
        return tuple(found), at

    def fits_vector(self, type: Type, length: int, position: int) -> bool:
        """Whether there may be a vector of a type; complains if not."""
        if length == 1 or (type.kind != "pred" and type.width * length <= 128):
            return True
        self.complain(position, "a vector has at most 128 bits, and no predicates", cited.VARIABLES)
        return False

    def signature(
        self, name: str, returns: tuple[tree.Parameter, ...], parameters: tuple[tree.Parameter, ...], position: int
    ) -> Signature:
        suffix = f"@{name}"
        given, end = self.formals(returns, 0, suffix, True)
        if len(returns) > 1 and any(r.space == "param" for r in returns):
            self.complain(returns[1].position, "several results are all registers", cited.FUNCTIONS)
        taken, end = self.formals(parameters, end, suffix)
        return Signature(name, given, taken, end, position)

    def declare_function(self, function: tree.Function) -> None:
        symbol = self.symbols[function.name]
        found = self.signature(symbol, function.returns, function.parameters, function.position)
        known = self.signatures.setdefault(symbol, found)
        if [[f.declared for f in fs] for fs in known[1:3]] != [[f.declared for f in fs] for fs in found[1:3]]:
            self.complain(
                function.position, f"{function.name} was declared with other parameters before", cited.FUNCTIONS
            )

    def same_parameters(self, entry: tree.Function) -> None:
        """Complain if an entry's declarations differ in their parameters."""
        first = self.functions[entry.name]
        lists = [[(p.type, p.vector, p.size, p.align) for p in f.parameters] for f in (first, entry)]
        if first.is_entry and lists[0] != lists[1]:
            self.complain(entry.position, f"{entry.name} was declared with other parameters before", cited.FUNCTIONS)

    def declare_alias(self, alias: tree.Alias) -> None:
        """A second name of a function. Both have been declared, this one without a body."""
        self.since(".alias", alias.position)
        functions = self._with_a_body
        problem = None
        for name in (alias.name, alias.of):
            found = self.signatures.get(self.symbols.get(name, name))
            if name in functions and functions[name].is_entry:
                problem = f"{name} is an entry, not a function"
            elif found is None or found.position > alias.position:
                problem = f"{name} is not declared before"
        if problem is None:
            one, other = (self.signatures[self.symbols[name]] for name in (alias.name, alias.of))
            if alias.name in functions:
                problem = f"{alias.name} has a body, and is no other function's name"
            elif alias.name in self.aliases:
                problem = f"{alias.name} is another name of {self.aliases[alias.name]} already"
            elif [[f.declared for f in fs] for fs in one[1:3]] != [[f.declared for f in fs] for fs in other[1:3]]:
                problem = f"{alias.name} was declared with other parameters than {alias.of}"
            elif self.functions[alias.of].linkage in ("weak", "extern"):
                problem = f"{alias.of} is .{self.functions[alias.of].linkage}, and has no other name"
            elif self.aliased(alias.of) == alias.name:
                problem = self._circle(alias)
        if problem is not None:
            self.complain(alias.position, problem, cited.FUNCTIONS)
        else:
            self.aliases[alias.name] = self._nearer[alias.name] = alias.of

    @cached_property
    def _with_a_body(self) -> dict[str, tree.Function]:
        return {f.name: f for f in self.module.functions if f.body is not None}

    def _circle(self, alias: tree.Alias) -> str:
        """What is wrong with an alias that leads back to its own name."""
        names, name = [alias.name], alias.of
        while name != alias.name and len(names) < _MOST_NAMED:
            names.append(name)
            name = self.aliases[name]
        names.append("…" if name != alias.name else name)
        if len(names) == 2:
            return f"{alias.name} would be another name of itself"
        return f"{alias.name} would be another name of itself: {' is '.join(names)}"

    def aliased(self, name: str) -> str:
        """The function that a name stands for. Names on the way are led closer to it, so that no way is gone twice."""
        way = []
        while name in self._nearer:
            way.append(name)
            name = self._nearer[name]
        for passed in way:
            self._nearer[passed] = name
        return name

    def function_symbol(self, name: str) -> str:
        """The name by which a function or an entry is known when modules are linked."""
        name = self.aliased(name)
        return self.symbols.get(name, name)

    def preamble(self) -> None:
        """Whether the module's version and target exist, and agree."""
        page = contracts.directives()
        module = self.module
        major, minor = module.version
        if minor > page.VERSIONS.get(major, -1):
            last = max(page.VERSIONS)
            latest = f"the latest is {last}.{page.VERSIONS[last]}"
            self.complain(module.version_position, f"there is no PTX ISA {major}.{minor}; {latest}", cited.DIRECTIVES)
            return
        target, *options = module.target
        since = page.TARGETS.get(re.sub("^compute_", "sm_", target))
        if since is None:
            hint = did_you_mean(target, page.TARGETS)
            self.complain(module.target_position, f"{target} is no target that is known{hint}", cited.DIRECTIVES)
        elif module.version < since:
            needs = f"{target} needs PTX ISA {since[0]}.{since[1]}; the module says {major}.{minor}"
            self.complain(module.target_position, needs, cited.DIRECTIVES)
        for option, position in zip(options, module.option_positions, strict=True):
            found = page.OPTIONS.get(option)
            if found is None:
                said = f"{option} is no option of .target{did_you_mean(option, page.OPTIONS)}"
                self.complain(position, said, cited.DIRECTIVES)
                continue
            first, before = found
            if module.version < first:
                needs = f"{option} needs PTX ISA {first[0]}.{first[1]}; the module says {major}.{minor}"
                self.complain(position, needs, cited.DIRECTIVES)
            if before is not None and self.target >= before:
                self.complain(position, f"{option} is for targets before sm_{before}", cited.DIRECTIVES)
        modes = [p for o, p in zip(options, module.option_positions, strict=True) if o.startswith("texmode_")]
        if len(set(options) & {"texmode_unified", "texmode_independent"}) > 1:
            self.complain(modes[-1], "a module has one texture mode", cited.DIRECTIVES)
        if module.address_size_position is not None:
            self.since(".address_size", module.address_size_position)
            if module.address_size == 32:
                self.complain(module.address_size_position, "addresses of 32 bits are not supported", cited.DIRECTIVES)
        for what, position in module.uses:
            self.since(what, position)

    def declare(self, variable: tree.Variable, names: Names, sizes: dict[str, int]) -> Place | Range | None:
        """Lay out the variables of one declaration in their state space; None after a complaint."""
        if variable.linkage is not None:
            self.since(f".{variable.linkage}", variable.position)
        if self.is_opaque(variable.type, variable.space):
            return self.opaque_variables(variable, names, inside=names.outer is not None)
        type = self.type(variable.type, variable.position)
        if type.kind == "pred":
            self.complain(variable.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
            return None
        if names.taken(variable.name, variable.repeat):
            self.complain(variable.position, f"{_written(variable)} is declared twice in this scope", cited.VARIABLES)
            return None
        if "[" in variable.space:
            return self.beginning_of_bank(variable, type)
        if variable.repeat is not None:
            names.prefixes.add(variable.name)
        if not self.fits_vector(type, variable.vector, variable.position):
            return None
        if variable.space == "param" and variable.vector > 1 and not variable.dimensions:
            what = "a variable in .param is a value or an array, not a vector"
            self.complain(variable.position, what, cited.STATE_SPACES)
            return None
        dimensions = list(variable.dimensions)
        values = variable.values
        if dimensions and dimensions[0] is None:
            if values is not None:
                page = contracts.initializers()
                try:
                    dimensions[0] = page.first_dimension(values)
                except page.Refused as refused:
                    self.complain(variable.position, str(refused), cited.INITIALIZERS)
                    return None
            elif variable.linkage == "extern" and (variable.space == "shared" or self.part is not None):
                dimensions[0] = 0  # as large as the launch says, or another module
            elif variable.linkage == "extern":
                self.complain(
                    variable.position, f"nothing defines {variable.name}, and its size is not known", _LINKING
                )
                return None
            else:
                self.complain(variable.position, "an array without a size needs an initializer", cited.VARIABLES)
                return None
        most = self.limits[variable.space]
        size = _bytes(type.bytes * variable.vector, dimensions, most)
        align = variable.align or type.bytes * variable.vector
        if size is None or max(align, size * (variable.repeat or 1)) > most:
            given = "more bytes" if size is None else f"{size} bytes"
            self.complain(variable.position, f"{given} in .{variable.space}, which holds at most {most}", cited.MEMORY)
            return None
        initial = None
        pointers: tuple[Pointer, ...] = ()
        if spaces().SPACES[variable.space].initialized:
            initial = b""
            if values is not None:
                sizes_known = [int(d or 0) for d in dimensions]
                if names is self.outer:  # it may name variables that come after a first declaration of this one
                    self._images.append((variable, type, sizes_known))
                else:
                    initial, pointers = self.image(variable, type, sizes_known, names)
        elif values is not None:
            self.complain(
                variable.position, f"a variable in .{variable.space} cannot be initialized", cited.STATE_SPACES
            )
        offset = -(-sizes[variable.space] // align) * align
        dynamic = variable.linkage == "extern" and variable.space == "shared" and size == 0
        place = Place(
            variable.name,
            variable.space,
            -1 if dynamic else offset,
            size,
            align,
            initial,
            variable.linkage,
            pointers=pointers,
            element=type.bytes if dimensions else 0,
            type=type if variable.vector == 1 and type.lanes == 1 else None,
            dimensions=len(dimensions),
        )
        made: Place | Range = place
        end = offset + size
        if variable.repeat is not None:
            made = Range(variable.repeat, place, -(-size // align) * align, variable.position)
            end = offset + made.size if variable.repeat else sizes[variable.space]
        if not dynamic:
            sizes[variable.space] = end
        if sizes[variable.space] > most:
            self.complain(
                variable.position,
                f"these are too many variables: .{variable.space} holds at most {most} bytes",
                cited.MEMORY,
            )
        return made

    def beginning_of_bank(self, variable: tree.Variable, type: Type) -> Place | None:
        """A variable in a bank of constants other than the first."""
        if variable.linkage != "extern" or not variable.dimensions or variable.dimensions[0]:
            what = f"a variable in .{variable.space} is .extern, and an array whose first size is left empty"
            self.complain(variable.position, what, cited.BANKS)
            return None
        align = variable.align or type.bytes * variable.vector
        return Place(variable.name, variable.space, 0, 0, align, linkage=variable.linkage, element=type.bytes)

    def declare_register(self, variable: tree.Variable, names: Names) -> None:
        if variable.dimensions:
            self.complain(variable.position, "there are no arrays of registers", cited.VARIABLES)
            return
        type = self.type(variable.type, variable.position)
        if variable.values is not None:
            self.complain(variable.position, "a register cannot be initialized")
        if not self.fits_vector(type, variable.vector, variable.position):
            return
        if names.taken(variable.name, variable.repeat):
            self.complain(variable.position, f"{_written(variable)} is declared twice in this scope", cited.VARIABLES)
        if variable.vector != 1:
            if variable.repeat is None:
                names.add_vector(variable.name, variable.vector, type)
                return
            names.prefixes.add(variable.name)
            if not variable.name[-1].isdecimal():
                names.vector_ranges[variable.name] = (variable.repeat, variable.vector, type)
            return
        if variable.repeat is None:
            names.add_register(variable.name, type)
        else:
            names.prefixes.add(variable.name)
            if not variable.name[-1].isdecimal():  # else no name reaches them
                names.ranges[variable.name] = (variable.repeat, type)

    def image(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: Names
    ) -> tuple[bytes, tuple[Pointer, ...]]:
        """The bytes of an initializer, which zeros follow, and where addresses belong into them:
        spec/variables/initializers.md."""
        page = contracts.initializers()
        data = bytearray()
        pointers: list[Pointer] = []
        try:
            if type.lane.is_float and type.lane.width == 16:
                raise page.Refused(f"a variable of type .{type} has no initializer")
            for value in page.leaves(variable.values, dimensions, variable.vector):
                number = self._initial_number(value, type, page)
                if number is None:
                    number = 0
                    pointers.append(self._pointer(value, type, names, page, variable.position, len(data)))
                data.extend(number.to_bytes(type.bytes, "little"))
        except page.Refused as refused:
            self.complain(variable.position, str(refused), cited.INITIALIZERS)
            return b"", ()
        return bytes(data), tuple(pointers)

    def images(self) -> None:
        """The bytes of the module's variables, once all of them are declared."""
        for variable, type, dimensions in self._images:
            place = self.outer.places.get(variable.name)
            if place is not None:
                initial, pointers = self.image(variable, type, dimensions, self.outer)
                self.outer.places[variable.name] = place._replace(initial=initial, pointers=pointers)

    def _initial_number(self, value: Any, type: Type, page: contracts.Initializers) -> int | None:
        """The bits of a value of an initializer that is a number, None if it is an address."""
        mask = None
        if isinstance(value, tree.Masked):
            mask, value = value
        if not isinstance(value, tree.Number | tree.Real):
            return None
        takes = page.takes_integer if isinstance(value, tree.Number) else page.takes_real
        if not takes(type.kind, type.width):
            raise page.Refused(f"this constant is no value of type {type}")
        if mask is not None:
            assert isinstance(value, tree.Number)
            return page.masked(mask, value.value % (1 << 64))
        return constant_bits(value, type)

    def _pointer(
        self, value: Any, type: Type, names: Names, page: contracts.Initializers, position: int, offset: int
    ) -> Pointer:
        """An address in an initializer."""
        mask = None
        if isinstance(value, tree.Masked):
            mask, value = value
        allowed = page.ADDRESS_TYPES if mask is None else page.MASKED_ADDRESS_TYPES
        if isinstance(value, tree.Part):
            raise page.Refused(f"{value.name.text}.{value.selector} has no address")
        if type.name not in allowed:
            kinds = ", ".join(f".{name}" for name in allowed)
            what = "an address" if mask is None else "a byte of an address"
            raise page.Refused(f"{what} goes into a variable of type {kinds}, not {type}")
        base, addend = (value, 0) if isinstance(value, tree.Name) else value
        generic = isinstance(value, tree.Generic)
        name = base.text
        found = names.place(name)
        function = self.functions.get(name)
        if found is None and function is not None and function.position < position:
            self.used.setdefault(self.function_symbol(name), position)
            if not function.is_entry:
                self.pointed.append(position)
            if not isinstance(value, tree.Name):
                raise page.Refused(f"{name} is a function: its address has no offset and no generic()")
            self.since(
                "an entry as an initial value" if function.is_entry else "an address as an initial value", position
            )
            return Pointer(offset, type.bytes if mask is None else 1, self.function_symbol(name), mask=mask)
        if found is None or (self.outer.places.get(name) is found[1] and self.position_of(name) >= position):
            raise page.Refused(f"{name}, whose address is wanted here, is not declared before")
        place = found[1]
        if unbanked(place.space) not in page.ADDRESS_SPACES:
            raise page.Refused(f"{name} lies in .{place.space}, where no initializer points")
        self.since("an address as an initial value", position)
        return Pointer(offset, type.bytes if mask is None else 1, place.name, addend, generic, mask)


def _bytes(element: int, dimensions: list[int | None], most: int) -> int | None:
    """The size of an array, None for one that is far beyond what there may be."""
    size = element
    for d in dimensions:
        size *= d or 0
        if size > most << 64:
            return None
    return size


def _written(variable: tree.Variable) -> str:
    return variable.name if variable.repeat is None else f"{variable.name}<…>"
