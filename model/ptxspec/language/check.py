"""From a tree to a checked module: every name resolved, every instruction given its form.

The rules come from the pages: forms from the syntax fences, agreement of types from spec/operands/type-checking.md.
"""

from __future__ import annotations

import importlib

from ptxspec.language import pages, tree
from ptxspec.language.abi import Abi
from ptxspec.language.checked import Checked, Kernel, Op, Place, spaces, unbanked
from ptxspec.language.declarations import MOST_ALIGNED
from ptxspec.language.errors import Source
from ptxspec.language.named import Places, Range
from ptxspec.language.parser import read
from ptxspec.language.scopes import Names, labels_of_scopes
from ptxspec.terms.types import TYPES


class Checker(Abi):
    """Checks one module, collecting complaints."""

    def module_checked(self) -> Checked:
        self.preamble()
        outer, sizes = self.outer, self.sizes
        for variable in self.variables_declared():
            made = self.declare(variable, outer, sizes)
            ending = "" if variable.linkage is not None else self.own
            if isinstance(made, Range):
                outer.places.add(made.like(made.first, ending))
            elif made is not None:
                outer.add_place(made.name, made._replace(name=made.name + ending))
                self.positions.setdefault(made.name, variable.position)
        self.names_agree()
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Kernel] = {}
        for function in self.module.functions:
            if not function.is_entry:
                self.declare_function(function)
            elif function is not self.functions[function.name]:
                self.same_parameters(function)
        for directive in self.module.directives:
            if isinstance(directive, tree.Alias):
                self.declare_alias(directive)
        self.images()
        for function in sorted(self.module.functions, key=lambda f: f.is_entry):
            symbol = self.symbols[function.name]
            if function.body is None or symbol in kernels or symbol in functions:
                continue
            if function.is_entry:
                kernels[symbol] = self.kernel(function, outer, sizes["shared"])
            else:
                functions[symbol] = self.kernel(function, outer, sizes["shared"])
                sizes["shared"] = functions[symbol].sizes["shared"]  # the module has one of each
        self.unresolved()
        if self.part is None:
            self.keep_to_the_abi()
        if self.complaints:
            raise self.complaints.error()
        places = Places()
        for some in (outer.places, self.statics):
            places.update((place.name, place) for place in some.values())
            for found in some.ranges.values():
                places.add(found, found.ending)
                places.update((place.name, place) for place in found.made.values())
        second = {name: self.function_symbol(name) for name in self.aliases}
        return Checked(self.source, self.module, kernels, places, sizes, functions, self.signatures, self.used, second)

    def kernel(self, function: tree.Function, outer: Names, module_shared: int) -> Kernel:
        """A checked entry or function. All names of a function end in its own, so that they can stand beside others'."""
        symbol = self.symbols[function.name]
        kernel = Kernel(symbol, None if function.is_entry else self.signatures[symbol])
        kernel.performance = function.performance
        gone = importlib.import_module("ptxspec.spec.directives.index").GONE
        for directive in function.performance:
            self.since(directive, function.position)
            if directive in gone:
                self.before(directive, function.position)
        if function.linkage is not None:
            self.since(f".{function.linkage}", function.position)
        kernel.sizes["shared"] = module_shared
        kernel.sizes["local"] = self.sizes["local"] if function.is_entry else 0  # the module's own come first
        own = "" if function.is_entry else f"@{symbol}"
        names = Names(outer, own)
        if kernel.signature is not None:
            # the names are those of this declaration, the layout is the same
            kernel.signature = self.signature(symbol, function.returns, function.parameters, function.position)
            kernel.sizes["local"] = kernel.signature.size
            declared = (*function.returns, *function.parameters)
            formals = (*kernel.signature.returns, *kernel.signature.parameters)
            for formal, parameter in zip((f for f in formals if f.vector), declared, strict=False):
                if names.taken(parameter.name):
                    self.complain(parameter.position, f"{parameter.name} is declared twice")
                if parameter.space == "param":
                    self.may_be_passed(parameter.type, parameter.size is not None, parameter.position)
                if formal.place is not None:
                    names.add_place(parameter.name, formal.place)
                elif formal.vector > 1:
                    names.add_vector(parameter.name, formal.vector, formal.type)
                else:
                    names.add_register(parameter.name, formal.type)
            kernel.registers.update({f.register: f.type for f in formals if f.register is not None})
        if function.is_entry and function.parameters:
            self.since("a list of an entry's parameters", function.position)
        for parameter in function.parameters if function.is_entry else ():
            if not self.parameter(parameter, kernel, names):
                break
        labels = labels_of_scopes(function)
        names.labels = labels[0]
        scopes = 0
        located: tree.Location | None = None
        for item in function.body or ():
            kind = tree.type_of(item)
            if kind is tree.Instruction:
                if located is not None:
                    self.name_of_inlined(located)
                    located = None
                op = self.instruction(item, names, kernel)  # type: ignore[arg-type]
                if op is not None:
                    kernel.code.append(op)
            elif kind is tree.Label:
                unique = item.name + names.suffix  # type: ignore[union-attr]
                if unique in kernel.labels:
                    self.complain(item.position, f"the label {item.name} is defined twice")  # type: ignore[union-attr]
                elif item.name in names.registers or item.name in names.places or item.name in names.tables:  # type: ignore[union-attr]
                    self.complain(item.position, f"{item.name} is declared twice in this scope", pages.VARIABLES)  # type: ignore[union-attr]
                names.passed.add(item.name)  # type: ignore[union-attr]
                kernel.labels[unique] = len(kernel.code)
            elif kind is tree.Scope:
                if item.opens:  # type: ignore[union-attr]
                    scopes += 1
                    names = Names(names, f"{own}@{scopes}")
                    names.labels = labels[scopes]
                else:
                    names = names.outer  # type: ignore[assignment]
            elif kind in (tree.Targets, tree.Prototype) and names.taken(item.name):  # type: ignore[union-attr]
                self.complain(item.position, f"{item.name} is declared twice in this scope", pages.VARIABLES)  # type: ignore[union-attr]
            elif kind is tree.Targets:
                self.since(item.directive, item.position)  # type: ignore[union-attr]
                names.tables[item.name] = self.targets(item, names)  # type: ignore[union-attr,arg-type]
            elif kind is tree.Prototype:
                self.since(".callprototype", item.position)
                names.tables[item.name] = self.signature(  # type: ignore[union-attr]
                    item.name,  # type: ignore[union-attr]
                    item.returns,  # type: ignore[union-attr]
                    item.parameters,  # type: ignore[union-attr]
                    item.position,
                )
            elif kind is tree.Location:
                located = item  # type: ignore[assignment]
            elif kind is tree.Pragma:
                continue  # for compilers: no result depends on it
            elif item.space == "reg":  # type: ignore[union-attr]
                self.declare_register(item, names)  # type: ignore[arg-type]
            elif item.space == "param" and function.is_entry and not self.lists_parameters:  # type: ignore[union-attr]
                self.parameter_in_body(item, kernel, names)  # type: ignore[arg-type]
            elif item.space == "param":  # type: ignore[union-attr]
                self.since("a variable of a function in .param", item.position)
                self.may_be_passed(item.type, bool(item.dimensions), item.position)  # type: ignore[union-attr]
                if (item.align or 1) > MOST_ALIGNED:  # type: ignore[union-attr]
                    self.complain(
                        item.position, f"a parameter is aligned to at most {MOST_ALIGNED} bytes", pages.FUNCTIONS
                    )
                sizes = {"param": kernel.sizes["local"]}
                place = _known(names, self.declare(item, names, sizes), True)  # type: ignore[arg-type]
                if place is not None and place.type is None and not place.dimensions:
                    self.complain(item.position, "a variable in .param is no vector", pages.FUNCTIONS)
                kernel.sizes["local"] = sizes["param"]
            else:
                if "[" in item.space:  # type: ignore[union-attr]
                    item = item._replace(space=self.bank(item.space, item.position))  # type: ignore[union-attr,call-arg]
                if spaces().SPACES[unbanked(item.space)].initialized:  # type: ignore[union-attr]
                    made = self.declare(item, names, self.sizes)  # type: ignore[arg-type]
                    ending = f"@{symbol}@{len(self.statics) + len(self.statics.ranges)}"
                    if isinstance(made, Range):
                        made = made.like(made.first, ending)
                        names.places.add(made)
                        self.statics.add(made, ending)
                    elif made is not None:
                        named = self.statics[made.name + ending] = made._replace(name=made.name + ending)
                        names.add_place(made.name, named)
                    continue
                sizes = dict(kernel.sizes)
                _known(names, self.declare(item, names, sizes), item.space == "local")  # type: ignore[arg-type,union-attr]
                kernel.sizes = {k: sizes[k] for k in kernel.sizes}
        self._place_open(kernel)
        self.count_handles(function.position, kernel.places)
        at_the_end = importlib.import_module("ptxspec.spec.functions.index").AT_THE_END
        kernel.code.append(Op(self.plan(at_the_end, ()), (), None, function.position))
        return kernel

    def name_of_inlined(self, location: tree.Location) -> None:
        """Complain of instructions whose location has a function's name where no section has it."""
        name = location.inlined[0] if location.inlined else None
        if name is not None and name not in self.sections:
            self.complain(location.position, f"no section has the label {name}", "spec/directives/debugging.md")

    def _place_open(self, kernel: Kernel) -> None:
        """Let a parameter without a size follow all else that the frame holds."""
        if kernel.signature is None or not kernel.signature.parameters:
            return
        *others, last = kernel.signature.parameters
        if last.place is None or not last.is_open:  # of one that is not the last, there was a complaint
            return
        moved = last.place._replace(offset=kernel.frame_size)
        kernel.places = {n: moved if place is last.place else place for n, place in kernel.places.items()}
        kernel.signature = kernel.signature._replace(parameters=(*others, last._replace(place=moved)))

    def parameter(self, parameter: tree.Parameter, kernel: Kernel, names: Names) -> bool:
        """Lay out a parameter of an entry. False if there is no room for more."""
        if self.is_opaque(parameter.type):
            handle = self.opaque_parameter(parameter)
            if handle is not None:
                kernel.parameters.append(handle)
                kernel.parameter_types.append((TYPES["b64"], False))
                names.add_place(parameter.name, handle)
            return True
        type = self.type(parameter.type, parameter.position)
        if type.kind == "pred":
            self.complain(parameter.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
            return True
        self.may_be_passed(parameter.type, parameter.size is not None, parameter.position)
        if not self.fits_vector(type, parameter.vector, parameter.position):
            return True
        size = type.bytes * parameter.vector * (1 if parameter.size is None else parameter.size)
        align = parameter.align or type.bytes * parameter.vector
        offset = -(-kernel.sizes["param"] // align) * align
        if parameter.name in names.places:
            self.complain(parameter.position, f"{parameter.name} is declared twice")
        element = 0 if parameter.size is None else type.bytes
        place = Place(parameter.name, "param", offset, size, align, element=element)
        kernel.sizes["param"] = offset + size
        table = importlib.import_module("ptxspec.spec.machine.memory").PARAMETERS
        most = next(n for since, n, target in table if self.version >= since and self.target >= target)
        if kernel.sizes["param"] > most:
            self.complain(parameter.position, f"an entry's parameters have at most {most} bytes", pages.MEMORY)
            return False
        kernel.parameters.append(place)
        kernel.parameter_types.append((type, parameter.size is not None))
        names.add_place(parameter.name, place)
        return True

    def parameter_in_body(self, variable: tree.Variable, kernel: Kernel, names: Names) -> None:
        """A parameter of an entry that is declared among its variables."""
        sizes = variable.dimensions
        if variable.vector != 1 or variable.repeat is not None or variable.values is not None or len(sizes) > 1:
            self.complain(variable.position, "a parameter of an entry is one value or one array", pages.FUNCTIONS)
        elif sizes and sizes[0] is None:
            self.complain(variable.position, "an array without a size needs an initializer", pages.VARIABLES)
        elif names.taken(variable.name):
            self.complain(variable.position, f"{variable.name} is declared twice in this scope", pages.VARIABLES)
        else:
            size = sizes[0] if sizes else None
            found = tree.Parameter(variable.type, variable.name, variable.align, size, variable.position)
            self.parameter(found, kernel, names)


def _known(names: Names, made: Place | Range | None, framed: bool) -> Place | None:
    """Let what a declaration makes be known in a scope. Returns it, or the first of several."""
    if isinstance(made, Range):
        made = made.like(made.first._replace(framed=framed))
        names.places.add(made)
        return made.first
    if made is not None:
        names.add_place(made.name, made._replace(framed=framed))
    return made


def check(text: str, path: str = "<ptx>", part: int | None = None) -> Checked:
    """Parse and check a module. `part` is its number among those that it is to be linked with, None if it runs alone. Raises
    PtxError with every complaint found: those about syntax and, unless declarations are among what could not be read, those about
    all the rest."""
    source = Source(text, path)
    found = read(source)
    if found.module is None or not found.whole:
        raise found.build.complaints.error()
    checker = Checker(source, found.module, part)
    checker.complaints.extend(found.build.complaints)
    return checker.module_checked()
