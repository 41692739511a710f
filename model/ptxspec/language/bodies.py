"""Entries and functions with a body, statement by statement."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.call_checks import CallChecks
from ptxspec.language.checked import Kernel, Op, Place, Plan, unbanked
from ptxspec.language.entry_parameters import EntryParameters
from ptxspec.language.form_selection import Misfit
from ptxspec.language.instructions import Instructions
from ptxspec.language.known_shapes import KnownInstructions
from ptxspec.language.module_context import Context
from ptxspec.language.named import Range
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.scopes import Names, labels_of_scopes
from ptxspec.language.signatures import SignatureLayout
from ptxspec.language.variables import VariableLayout


class _Body:
    """One body that is being read: its kernel, the scope that is open, and what ends the names of scopes."""

    def __init__(self, kernel: Kernel, function: tree.Function, names: Names, suffix: str):
        self.kernel, self.function, self.names, self.suffix = kernel, function, names, suffix
        #: the labels of each scope, and how many scopes there were
        self.labels = labels_of_scopes(function)
        names.labels = self.labels[0]
        self.scopes = 0
        #: a place in the source whose instructions have not come
        self.located: tree.Location | None = None
        #: the instructions of the scope whose shape is known, and of those around it
        self.known: list[KnownInstructions] = []


class Bodies:
    """Checks entries and functions."""

    def __init__(
        self,
        context: Context,
        opaque: OpaqueVariables,
        layout: SignatureLayout,
        variables: VariableLayout,
        calls: CallChecks,
        instructions: Instructions,
        entry_parameters: EntryParameters,
    ):
        self.context, self.opaque, self.layout, self.variables = context, opaque, layout, variables
        self.calls, self.instructions, self.entry_parameters = calls, instructions, entry_parameters

    def kernel(self, function: tree.Function, outer: Names) -> Kernel:
        """A checked entry or function. All names of a function end in its own, so that they can stand beside others'."""
        context = self.context
        symbol = context.symbols[function.name]
        if context.changes:  # the body that was checked before may be of another target
            self.instructions.known.forget()
        kernel = Kernel(symbol, None if function.is_entry else context.signatures[symbol])
        kernel.performance = function.performance
        self._heading(function)
        kernel.sizes |= {space: context.sizes[space] for space in contracts.state_spaces.once()}
        if function.is_entry:  # in its frame the module's own come first
            kernel.sizes[contracts.state_spaces.OF_FRAMES] = context.sizes[contracts.state_spaces.OF_FRAMES]
        suffix = "" if function.is_entry else f"@{symbol}"
        names = Names(outer, suffix)
        if kernel.signature is not None:
            self._formals(kernel, function, names)
        if function.is_entry and function.parameters:
            context.since("a list of an entry's parameters", function.position)
        for parameter in function.parameters if function.is_entry else ():
            if not self.entry_parameters.parameter(parameter, kernel, names):
                break
        self._statements(_Body(kernel, function, names, suffix))
        self._place_open(kernel)
        self.opaque.count_handles(function.position, kernel.places, context.target_at(function.end))
        at_the_end = contracts.functions.AT_THE_END
        plan = self.instructions.plan(at_the_end, (), function.end)
        if isinstance(plan, Plan):
            kernel.code.append(Op(plan, (), None, function.position))
        elif isinstance(plan, Misfit) and not context.complaints.count:  # a target that is none has been complained of
            context.complain(function.position, plan.why, plan.page)
        return kernel

    def _heading(self, function: tree.Function) -> None:
        """Complain of directives and linkages that the module's version does not have."""
        for directive in function.performance:
            self.context.since(directive, function.position)
            self.context.before(directive, function.position)
        if function.linkage is not None:
            self.context.since(f".{function.linkage}", function.position)

    def _formals(self, kernel: Kernel, function: tree.Function, names: Names) -> None:
        """Let a function's results and parameters be known in its body. The names are those of this declaration, the layout is
        the same."""
        signature = self.layout.signature(kernel.name, function.returns, function.parameters, function.position)
        kernel.signature = signature
        kernel.sizes[contracts.state_spaces.OF_FRAMES] = signature.size
        declared = (*function.returns, *function.parameters)
        formals = (*signature.returns, *signature.parameters)
        for formal, parameter in zip((f for f in formals if f.vector), declared, strict=False):
            if names.taken(parameter.name):
                self.context.complain(parameter.position, f"{parameter.name} is declared twice")
            if parameter.space == "param":
                self.context.may_be_passed(parameter.type, parameter.size is not None, parameter.position)
            if formal.place is not None:
                names.add_place(parameter.name, formal.place)
            elif formal.vector > 1:
                names.add_vector(parameter.name, formal.vector, formal.type)
            else:
                names.add_register(parameter.name, formal.type)
        kernel.registers.update({f.register: f.type for f in formals if f.register is not None})

    def _statements(self, body: _Body) -> None:
        kernel, code = body.kernel, body.kernel.code
        instruction = self.instructions.instruction
        body.known.append(self.instructions.scope(body.names, kernel))
        find = body.known[-1].find
        for item in body.function.body or ():
            if isinstance(item, tree.Instruction):
                if body.located is not None:
                    self.name_of_inlined(body.located)
                    body.located = None
                op = find(item) or instruction(item, body.names, kernel)
                if op is not None:
                    code.append(op)
            elif isinstance(item, tree.Label):
                self._label(item, body)
            elif isinstance(item, tree.ScopeBrace):
                self._scope(item, body)
                find = body.known[-1].find
            elif isinstance(item, tree.Targets | tree.Prototype):
                self._table(item, body.names)
                body.known[-1].declared()
            elif isinstance(item, tree.Location):
                body.located = item
            elif isinstance(item, tree.Variable):
                self._variable(item, body)
                body.known[-1].declared()
            elif isinstance(item, tree.ArchitectureTarget):  # see preamble.py
                self.instructions.known.forget()
            else:
                assert isinstance(item, tree.Pragma)  # for compilers: no result depends on it

    def _label(self, item: tree.Label, body: _Body) -> None:
        names, labels = body.names, body.kernel.labels
        unique = item.name + names.suffix
        if unique in labels:
            self.context.complain(item.position, f"the label {item.name} is defined twice")
        elif item.name in names.registers or item.name in names.places or item.name in names.tables:
            self.context.complain(item.position, f"{item.name} is declared twice in this scope", cited.VARIABLES)
        names.passed.add(item.name)
        body.known[-1].passed(item.name)
        labels[unique] = len(body.kernel.code)

    def _scope(self, item: tree.ScopeBrace, body: _Body) -> None:
        if item.opens:
            body.scopes += 1
            body.names = Names(body.names, f"{body.suffix}@{body.scopes}")
            body.names.labels = body.labels[body.scopes]
            body.known.append(self.instructions.scope(body.names, body.kernel))
        else:
            assert body.names.outer is not None
            body.names = body.names.outer
            body.known.pop()

    def _table(self, item: tree.Targets | tree.Prototype, names: Names) -> None:
        """A list of labels or functions, or a prototype."""
        if names.taken(item.name):
            self.context.complain(item.position, f"{item.name} is declared twice in this scope", cited.VARIABLES)
        elif isinstance(item, tree.Targets):
            self.context.since(item.directive, item.position)
            names.tables[item.name] = self.calls.targets(item, names)
        else:
            self.context.since(".callprototype", item.position)
            names.tables[item.name] = self.layout.signature(item.name, item.returns, item.parameters, item.position)

    def _variable(self, item: tree.Variable, body: _Body) -> None:
        kernel, names = body.kernel, body.names
        if item.space == "reg":
            self.variables.declare_register(item, names)
            return
        if item.space == "param":
            if body.function.is_entry and not self.context.lists_parameters:
                self.entry_parameters.parameter_in_body(item, kernel, names)
            else:
                self._passing(item, kernel, names)
            return
        if "[" in item.space:
            item = item._replace(space=self.context.bank(item.space, item.position))
        if contracts.state_spaces.SPACES[unbanked(item.space)].initialized:
            self._static(item, kernel.name, names)
            return
        sizes = dict(kernel.sizes)
        _known(names, self.variables.declare(item, names, sizes), item.space == contracts.state_spaces.OF_FRAMES)
        kernel.sizes = {k: sizes[k] for k in kernel.sizes}

    def _passing(self, item: tree.Variable, kernel: Kernel, names: Names) -> None:
        """A variable in .param, which passes an argument or takes a result."""
        self.context.since("a variable of a function in .param", item.position)
        self.context.may_be_passed(item.type, bool(item.dimensions), item.position)
        self.context.require(contracts.functions.parameters_are_aligned, item.position, item.align or 1)
        sizes = {item.space: kernel.sizes[contracts.state_spaces.OF_FRAMES]}
        _known(names, self.variables.declare(item, names, sizes), True)
        kernel.sizes[contracts.state_spaces.OF_FRAMES] = sizes[item.space]

    def _static(self, item: tree.Variable, symbol: str, names: Names) -> None:
        """A variable that there is one of, whoever calls the function."""
        statics = self.context.statics
        made = self.variables.declare(item, names, self.context.sizes)
        ending = f"@{symbol}@{len(statics) + len(statics.ranges)}"
        if isinstance(made, Range):
            made = made.like(made.first, ending)
            names.places.add(made)
            statics.add(made, ending)
        elif made is not None:
            named = statics[made.name + ending] = made._replace(name=made.name + ending)
            names.add_place(made.name, named)

    def name_of_inlined(self, location: tree.Location) -> None:
        """Complain of instructions whose location has a function's name where no section has it."""
        name = location.inlined[0] if location.inlined else None
        if name is not None and name not in self.context.sections:
            self.context.complain(location.position, f"no section has the label {name}", "spec/directives/debugging.md")

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


def _known(names: Names, made: Place | Range | None, framed: bool) -> None:
    """Let what a declaration makes be known in a scope."""
    if isinstance(made, Range):
        names.places.add(made.like(made.first._replace(framed=framed)))
    elif made is not None:
        names.add_place(made.name, made._replace(framed=framed))
